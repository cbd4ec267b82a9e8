//! # k-anonymity
//!
//! Every record shares its quasi-identifier values with at least k − 1 others.
//!
//! ## Definition
//! Every equivalence class has at least k records. With several quasi-identifier sets (`on =
//! [...]`, one requirement each) the classes are formed by the columns of that set alone;
//! k-anonymity on a set implies it on every subset, not the other way round.
//!
//! ## Protects against
//! Record linkage: an adversary who knows a person's quasi-identifiers finds at least k candidate
//! records, so the probability of naming the right one is at most 1/k.
//!
//! ## Does not protect against
//! Attribute linkage: if the candidates share a sensitive value, it is learned without naming the
//! record (homogeneity). Background knowledge, several releases of the same people, and knowledge
//! of columns that were not called quasi-identifiers.
//!
//! ## Reference
//! Samarati and Sweeney 1998; Sweeney, "k-anonymity: a model for protecting privacy", 2002.

use super::{Bound, Concern, Context, Measured, Model, Promise, Verdict};
use crate::catalogue::{Entry, Kind, PEOPLE, Parameter};
use crate::class::EquivalenceClass;
use crate::exact::Ratio;

pub(super) const ENTRY: Entry<Box<dyn Model>> = Entry {
    name: "k-anonymity",
    summary: "every class has at least k records",
    source: include_str!("k_anonymity.rs"),
    parameters: &[Parameter {
        name: "k",
        kind: Kind::Count(1, PEOPLE),
        default: None,
        about: "the smallest class allowed",
    }],
    build: |p| Ok(Box::new(KAnonymity { k: p.count("k") })),
};

struct KAnonymity {
    k: u64,
}

impl Model for KAnonymity {
    fn judge(&self, _: &Context<'_>, class: &EquivalenceClass) -> Verdict {
        Verdict {
            holds: class.count >= self.k,
            measured: Measured::Exact(Ratio::whole(class.count)),
        }
    }

    fn promise(&self) -> Promise {
        Promise {
            least: self.k,
            size_decides: true,
            ..Promise::new(Ratio::whole(self.k), Bound::AtLeast, Concern::Identity)
        }
    }
}
