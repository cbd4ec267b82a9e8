//! # recursive (c,ℓ)-diversity
//!
//! The most frequent sensitive value of a class is not too frequent, even after ℓ − 2 others have
//! been ruled out.
//!
//! ## Definition
//! With the counts of a class in falling order r₁ ≥ r₂ ≥ … ≥ r_m: r₁ < c · (r_ℓ + r_{ℓ+1} + … +
//! r_m). The inequality is strict, as in the paper. ℓ = 1 is r₁ < c · n. The measured value is r₁ /
//! (r_ℓ + … + r_m), the smallest c that is not enough; it is infinite if the class has fewer than ℓ
//! values.
//!
//! ## Protects against
//! Homogeneity, skew, and an adversary with negation statements ("she does not have s"): each
//! ruled-out value lowers ℓ by at most one, with the same c.
//!
//! ## Does not protect against
//! Similarity of the values; stronger background knowledge; several releases.
//!
//! ## Reference
//! Machanavajjhala, Gehrke, Kifer and Venkitasubramaniam, "ℓ-diversity: privacy beyond
//! k-anonymity", 2006/2007.

use super::diversity::Diversity;
use super::{Measured, Model};
use crate::catalogue::{Entry, Kind, PEOPLE, Parameter};
use crate::exact::Ratio;

pub(super) const ENTRY: Entry<Box<dyn Model>> = Entry {
    name: "recursive-l-diversity",
    summary: "the most frequent value stays below c times the rest, ℓ − 1 values left out",
    source: include_str!("recursive_l_diversity.rs"),
    parameters: &[
        Parameter {
            name: "c",
            kind: Kind::Number("0", None),
            default: None,
            about: "the factor, exclusive",
        },
        Parameter {
            name: "l",
            kind: Kind::Count(1, PEOPLE),
            default: None,
            about: "the rank from which the rest is summed",
        },
    ],
    build: |p| Ok(Box::new(Diversity::Recursive { c: p.number("c"), l: p.count("l") })),
};

/// The smallest c that is not enough for ℓ: r₁ / (r_ℓ + … + r_m). `counts` in any order, without
/// zeros.
pub fn smallest_c(counts: &[u64], l: u64) -> Measured {
    let mut sorted = counts.to_vec();
    sorted.sort_unstable_by(|a, b| b.cmp(a));
    let rest: u64 = sorted.iter().skip(usize::try_from(l.max(1)).unwrap_or(usize::MAX) - 1).sum();
    match (sorted.first(), rest) {
        (_, 0) | (None, _) => Measured::Infinite,
        (Some(&most), rest) => Measured::Exact(Ratio::new(most.into(), rest.into())),
    }
}

/// The whole frontier: for every ℓ from 2 to the number of values the smallest c that is not
/// enough.
pub fn frontier(counts: &[u64]) -> Vec<(u64, Measured)> {
    (2..=counts.len() as u64).map(|l| (l, smallest_c(counts, l))).collect()
}
