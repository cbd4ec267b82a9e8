//! # negative/positive-disclosure recursive (c₁,c₂,ℓ)-diversity
//!
//! Positive-disclosure recursive (c,ℓ)-diversity, and nobody is known *not* to have certain values.
//!
//! ## Definition
//! Every class is positive-disclosure recursive (c,ℓ)-diverse (the paper's c₁ is `c`), and every
//! value listed in `forbidden`, whose negative disclosure does harm, has at least a share `c2` of
//! every class. The paper gives c₂ in per cent; here it is a share, 5 % is 0.05. A node of the
//! taxonomy stands for every value under it. The measured value is that of positive-disclosure
//! recursive (c,ℓ)-diversity; it is infinite if a forbidden value is too rare, because no c would
//! do.
//!
//! ## Protects against
//! What positive-disclosure recursive (c,ℓ)-diversity protects against, and the conclusion that
//! somebody is free of a condition: that says much where most people have it, and where the others
//! are then the more likely to.
//!
//! ## Does not protect against
//! Negative disclosure of values that are not listed; disclosure of harmless values; similarity of
//! the values; several releases. A value that is rarer than c₂ in the whole table cannot be
//! promised.
//!
//! ## Reference
//! Machanavajjhala, Gehrke, Kifer and Venkitasubramaniam, "ℓ-diversity: privacy beyond
//! k-anonymity", 2007.

use super::positive_disclosure_recursive_l_diversity::{C, HARMLESS, L, PositiveDisclosure};
use super::{Context, Measured, Model, Promise, Verdict};
use crate::catalogue::{Entry, Kind, Parameter};
use crate::class::{EquivalenceClass, Histogram};
use crate::exact::Ratio;
use crate::failure::Failure;

pub(super) const ENTRY: Entry<Box<dyn Model>> = Entry {
    name: "negative-positive-disclosure-recursive-l-diversity",
    summary: "the same, and nobody is known not to have certain values",
    source: include_str!("negative_positive_disclosure_recursive_l_diversity.rs"),
    parameters: &[
        C,
        L,
        HARMLESS,
        Parameter {
            name: "c2",
            kind: Kind::Number("0", Some("1")),
            default: None,
            about: "the smallest share of a forbidden value in a class",
        },
        Parameter {
            name: "forbidden",
            kind: Kind::Values,
            default: Some("[]"),
            about: "the values that nobody may be known not to have",
        },
    ],
    build: |p| {
        Ok(Box::new(NegativePositiveDisclosure {
            positive: PositiveDisclosure::read(p),
            c2: p.number("c2"),
            forbidden: p.list("forbidden").to_vec(),
        }))
    },
};

struct NegativePositiveDisclosure {
    positive: PositiveDisclosure,
    c2: Ratio,
    forbidden: Vec<String>,
}

impl NegativePositiveDisclosure {
    /// Whether every forbidden value is frequent enough.
    fn all_likely(&self, cx: &Context<'_>, histogram: &Histogram) -> bool {
        if self.c2.num() == 0 {
            return true;
        }
        let forbidden = cx.leaves_of(&self.forbidden);
        let total = histogram.total().max(1);
        let enough = |&&(code, n): &&(u32, u64)| {
            forbidden.contains(code) && Ratio::new(n.into(), total.into()) >= self.c2
        };
        histogram.0.iter().filter(enough).count() == forbidden.count()
    }
}

impl Model for NegativePositiveDisclosure {
    fn judge(&self, cx: &Context<'_>, class: &EquivalenceClass) -> Verdict {
        if self.all_likely(cx, &class.histograms[cx.attribute]) {
            self.positive.judge(cx, class)
        } else {
            Verdict { holds: false, measured: Measured::Infinite }
        }
    }

    fn promise(&self) -> Promise {
        self.positive.promise()
    }

    fn fits(&self, cx: &Context<'_>) -> Result<(), Failure> {
        cx.knows(ENTRY.name, &self.positive.harmless)?;
        cx.knows(ENTRY.name, &self.forbidden)
    }
}
