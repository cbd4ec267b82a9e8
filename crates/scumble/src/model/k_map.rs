//! # k-map
//!
//! Every record could belong to at least k people of a register.
//!
//! ## Definition
//! F, the number of people of the register who fit what a class shows, is at least k for every
//! class. People are matched by the quasi-identifiers that the register has as columns. A register
//! that lacks some of the people of the release is taken as completed by them, so F is never below
//! the number f of records. Their values are placed by the whole taxonomy file of a column, also
//! where only the published part of it goes with a release: checking takes register and file.
//!
//! k-anonymity asks that f ≥ k. Since F ≥ f, k-map asks for less: it suits a release of few people
//! out of a large population that the publisher knows as well as the adversary does.
//!
//! ## Protects against
//! Record linkage by an adversary who has the register and does not know who is in the release (the
//! journalist): a record is attributed to the right person with a probability of at most 1/k.
//!
//! ## Does not protect against
//! An adversary who knows that a person is in the release (the prosecutor): only the f records of
//! the class remain. An adversary with more columns than the register, or a register of fewer
//! people. Learning that somebody is in the release (`delta-presence`), or a sensitive value that
//! the class shares.
//!
//! ## Reference
//! Sweeney, "k-anonymity: a model for protecting privacy", 2002; El Emam and Dankar, "Protecting
//! privacy using k-anonymity", 2008.

use super::{Bound, Concern, Context, Measured, Model, Promise, Verdict};
use crate::catalogue::{Entry, Kind, PEOPLE, Parameter};
use crate::class::EquivalenceClass;
use crate::exact::Ratio;
use crate::failure::Failure;

pub(super) const ENTRY: Entry<Box<dyn Model>> = Entry {
    name: "k-map",
    summary: "every class fits at least k people of a register",
    source: include_str!("k_map.rs"),
    parameters: &[
        Parameter {
            name: "k",
            kind: Kind::Count(1, PEOPLE),
            default: None,
            about: "the fewest people that a class may fit",
        },
        Parameter {
            name: "register",
            kind: Kind::Register,
            default: None,
            about: "the people, with quasi-identifiers as columns; a column `people` counts those of a row",
        },
    ],
    build: |p| Ok(Box::new(KMap { k: p.count("k") })),
};

struct KMap {
    k: u64,
}

impl Model for KMap {
    fn judge(&self, cx: &Context<'_>, class: &EquivalenceClass) -> Verdict {
        let people = cx.candidates(class);
        Verdict { holds: people >= self.k, measured: Measured::Exact(Ratio::whole(people)) }
    }

    fn promise(&self) -> Promise {
        // Monotone: whoever fits a class fits every class that it is merged into.
        Promise {
            region: true,
            ..Promise::new(Ratio::whole(self.k), Bound::AtLeast, Concern::Identity)
        }
    }

    fn fits(&self, cx: &Context<'_>) -> Result<(), Failure> {
        cx.has_register("k-map")
    }
}
