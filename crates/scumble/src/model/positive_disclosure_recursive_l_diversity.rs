//! # positive-disclosure recursive (c,ℓ)-diversity
//!
//! Recursive (c,ℓ)-diversity in which some values, such as "healthy", may become known.
//!
//! ## Definition
//! `harmless` lists the values whose positive disclosure does no harm; a node of the taxonomy
//! stands for every value under it. With the counts of a class in falling order r₁ ≥ r₂ ≥ … ≥ r_m,
//! let r_y be the largest count of a value that is not harmless. An adversary rules out the ℓ − 2
//! most frequent other values; r_y must be less than c times what then remains beside it:
//!
//! - if y ≤ ℓ − 1: r_y < c · (r_ℓ + … + r_m);
//! - if y > ℓ − 1: r_y < c · (r_{ℓ−1} + … + r_{y−1} + r_{y+1} + … + r_m).
//!
//! The measured value is the quotient, the smallest c that is not enough; 0 if all values of the
//! class are harmless. If nothing is listed it is recursive (c,ℓ)-diversity. ℓ is at least 2.
//!
//! ## Protects against
//! What recursive (c,ℓ)-diversity protects against, for the values that are not harmless, at less
//! cost where a harmless value is by far the most frequent.
//!
//! ## Does not protect against
//! Disclosure of harmless values, and disclosure that a person does not have a value (see
//! negative-positive-disclosure-recursive-l-diversity). Similarity of the values; several releases.
//!
//! ## Reference
//! Machanavajjhala, Gehrke, Kifer and Venkitasubramaniam, "ℓ-diversity: privacy beyond
//! k-anonymity", 2007.

use super::{Bound, Concern, Context, Measured, Model, Promise, Verdict};
use crate::catalogue::{Entry, Kind, PEOPLE, Parameter, Parameters};
use crate::class::{EquivalenceClass, Histogram};
use crate::exact::Ratio;
use crate::failure::Failure;
use std::cmp::Reverse;

pub(super) const C: Parameter = Parameter {
    name: "c",
    kind: Kind::Number("0", None),
    default: None,
    about: "the factor, exclusive",
};
pub(super) const L: Parameter = Parameter {
    name: "l",
    kind: Kind::Count(2, PEOPLE),
    default: None,
    about: "the adversary rules out ℓ − 2 values",
};
pub(super) const HARMLESS: Parameter = Parameter {
    name: "harmless",
    kind: Kind::Values,
    default: Some("[]"),
    about: "the values that may become known",
};

pub(super) const ENTRY: Entry<Box<dyn Model>> = Entry {
    name: "positive-disclosure-recursive-l-diversity",
    summary: "recursive (c,ℓ)-diversity in which harmless values may become known",
    source: include_str!("positive_disclosure_recursive_l_diversity.rs"),
    parameters: &[C, L, HARMLESS],
    build: |p| Ok(Box::new(PositiveDisclosure::read(p))),
};

pub(super) struct PositiveDisclosure {
    c: Ratio,
    l: u64,
    pub(super) harmless: Vec<String>,
}

impl PositiveDisclosure {
    pub(super) fn read(p: &Parameters) -> PositiveDisclosure {
        PositiveDisclosure {
            c: p.number("c"),
            l: p.count("l"),
            harmless: p.list("harmless").to_vec(),
        }
    }

    /// The smallest c that is not enough.
    fn smallest_c(&self, cx: &Context<'_>, histogram: &Histogram) -> Measured {
        let harmless = cx.leaves_of(&self.harmless);
        let mut ranked: Vec<(u64, bool)> =
            histogram.0.iter().map(|&(code, n)| (n, harmless.contains(code))).collect();
        ranked.sort_unstable_by_key(|&(n, _)| Reverse(n));
        let Some(y) = ranked.iter().position(|(_, harmless)| !harmless) else {
            return Measured::Exact(Ratio::whole(0));
        };
        let (most, _) = ranked.remove(y);
        let ruled_out = usize::try_from(self.l - 2).unwrap_or(usize::MAX);
        match ranked.iter().skip(ruled_out).map(|(n, _)| n).sum::<u64>() {
            0 => Measured::Infinite,
            rest => Measured::Exact(Ratio::new(most.into(), rest.into())),
        }
    }
}

impl Model for PositiveDisclosure {
    fn judge(&self, cx: &Context<'_>, class: &EquivalenceClass) -> Verdict {
        let measured = self.smallest_c(cx, &class.histograms[cx.attribute]);
        Verdict { holds: matches!(measured, Measured::Exact(c) if c < self.c), measured }
    }

    fn promise(&self) -> Promise {
        // A class of harmless values may have any size.
        let least = if self.harmless.is_empty() { self.l } else { 1 };
        Promise { least, ..Promise::new(self.c, Bound::Below, Concern::Sensitive) }
    }

    fn fits(&self, cx: &Context<'_>) -> Result<(), Failure> {
        cx.knows(ENTRY.name, &self.harmless)
    }
}
