//! # datafly
//!
//! Generalizes the quasi-identifier with the most distinct values, again and again, and leaves out
//! what remains.
//!
//! ## Method
//! While too many records are in classes that do not keep the models, take the quasi-identifier
//! that shows the most distinct values (ties: the order of the policy) one level up. Then leave out
//! the classes that still do not.
//!
//! - `limit = "share"`: at most the share `suppress` of the records may be left out, none by
//!   default. `limit = "k"`: at most as many as the smallest class may have, as the paper has it;
//!   leave `suppress` away then.
//!
//! ## Guarantee
//! Every class that is published keeps every model. The generalization is neither minimal nor
//! optimal, and often goes further than it would have to: `lattice` finds the best. If not even the
//! most general table keeps the models, with the allowed number of records left out, it refuses.
//!
//! ## Cost
//! The sum of all levels, times the distinct rows: it suits many quasi-identifiers.
//!
//! ## Departures from the paper
//! The paper is about k-anonymity; here any model decides which classes fail.
//!
//! ## Reference
//! Sweeney, "Achieving k-anonymity privacy protection using generalization and suppression", 2002.

use super::full_domain::{self, Lattice, SUPPRESS, Test};
use super::{Algorithm, Goal, Progress, Refusal};
use crate::catalogue::{Entry, Kind, Parameter, Parameters};
use crate::exact::Ratio;
use crate::failure::Failure;
use crate::release::{Form, Generalized};
use crate::table::Table;
use std::sync::Arc;

pub(super) const ENTRY: Entry<Box<dyn Algorithm>> = Entry {
    name: "datafly",
    summary: "greedy full-domain generalization; small classes are left out",
    source: include_str!("datafly.rs"),
    parameters: &[
        SUPPRESS,
        Parameter {
            name: "limit",
            kind: Kind::Choice(&["share", "k"]),
            default: Some("share"),
            about: "leave out the share `suppress` at most, or as many as the smallest class",
        },
    ],
    build: |p| {
        if p.word("limit") == "k" && p.number("suppress") != Ratio::whole(0) {
            return Err(Failure::policy(
                "conflicting-keys",
                "`limit = \"k\"` and `suppress` both say how many records may be left out",
            )
            .hint("remove one of them"));
        }
        Ok(Box::new(Datafly(p.clone())))
    },
};

struct Datafly(Parameters);

impl Algorithm for Datafly {
    fn anonymize(
        &self,
        table: &Table,
        goal: &Goal<'_>,
        _seed: u64,
        progress: Progress<'_>,
    ) -> Result<Form, Refusal> {
        if table.rows() == 0 {
            return Ok(Form::Generalized(Generalized::new(Vec::new(), Vec::new())));
        }
        let limit = if self.0.word("limit") == "k" {
            goal.least()
        } else {
            full_domain::limit(&self.0, table.records())
        };
        let lattice = Lattice::new(table, goal, limit);
        let top = lattice.frame.top();
        let steps = top.iter().sum::<usize>() as u64 + 1;
        let mut levels = vec![0; top.len()];
        let mut set = Arc::new(lattice.frequency_set(&levels));
        for step in 0..steps {
            if !progress.at(lattice.frame.records * step / steps, lattice.frame.records) {
                return Err(Refusal(vec![Failure::cancelled()]));
            }
            if let Test::Keeps(out) = lattice.test(&levels, &set) {
                return Ok(lattice.form(&levels, &set, &out));
            }
            let open = (0..top.len()).filter(|&d| levels[d] < top[d]);
            // Of equals the last one is found, hence from behind.
            let Some(dim) = open.rev().max_by_key(|&d| lattice.distinct(d, levels[d])) else {
                break;
            };
            levels[dim] += 1;
            set = Arc::new(lattice.roll_up(&set, &levels));
        }
        Err(lattice.refusal())
    }
}
