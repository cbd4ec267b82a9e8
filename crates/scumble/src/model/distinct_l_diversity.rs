//! # distinct ℓ-diversity
//!
//! Every equivalence class holds at least ℓ different values of the sensitive attribute.
//!
//! ## Definition
//! The number of distinct sensitive values in each class is at least ℓ. The missing value counts as
//! a value of its own. Implies k-anonymity with k = ℓ.
//!
//! ## Protects against
//! Homogeneity: nobody's value is certain from one release, and ruling out ℓ − 2 values still
//! leaves two.
//!
//! ## Does not protect against
//! Skew: one value may make up nearly the whole class, so it is nearly certain (see entropy and
//! recursive ℓ-diversity). Similarity: the ℓ values may mean nearly the same (see t-closeness).
//! Several releases.
//!
//! ## Reference
//! Machanavajjhala, Gehrke, Kifer and Venkitasubramaniam, "ℓ-diversity: privacy beyond
//! k-anonymity", 2006/2007.

use super::Model;
use super::diversity::Diversity;
use crate::catalogue::{Entry, Kind, PEOPLE, Parameter};
use crate::exact::Ratio;

pub(super) const ENTRY: Entry<Box<dyn Model>> = Entry {
    name: "distinct-l-diversity",
    summary: "every class has at least ℓ different sensitive values",
    source: include_str!("distinct_l_diversity.rs"),
    parameters: &[Parameter {
        name: "l",
        kind: Kind::Count(1, PEOPLE),
        default: None,
        about: "the fewest values allowed",
    }],
    build: |p| Ok(Box::new(Diversity::Distinct(Ratio::whole(p.count("l"))))),
};
