//! # entropy ℓ-diversity
//!
//! The sensitive values of every class are as unpredictable as ℓ equally likely ones.
//!
//! ## Definition
//! The entropy H of the sensitive values in each class is at least ln ℓ; equivalently the effective
//! ℓ = exp(H) is at least ℓ. ℓ need not be whole. The measured value is exp(H); the decision is
//! taken by exact integer comparison, so a class of exactly ℓ equally frequent values holds.
//!
//! ## Protects against
//! Homogeneity and, better than distinct ℓ-diversity, near-certainty by skew.
//!
//! ## Does not protect against
//! A single value up to a fairly large share (entropy is an average); similarity of the values;
//! several releases. It cannot be met at all if the whole table's entropy is below ln ℓ.
//!
//! ## Reference
//! Machanavajjhala, Gehrke, Kifer and Venkitasubramaniam, "ℓ-diversity: privacy beyond
//! k-anonymity", 2006/2007.

use super::Model;
use super::diversity::Diversity;
use crate::catalogue::{Entry, Kind, Parameter};

pub(super) const ENTRY: Entry<Box<dyn Model>> = Entry {
    name: "entropy-l-diversity",
    summary: "the entropy of every class is at least ln ℓ",
    source: include_str!("entropy_l_diversity.rs"),
    parameters: &[Parameter {
        name: "l",
        kind: Kind::Number("1", None),
        default: None,
        about: "the smallest effective number of values, exp(entropy)",
    }],
    build: |p| Ok(Box::new(Diversity::Entropy(p.number("l")))),
};
