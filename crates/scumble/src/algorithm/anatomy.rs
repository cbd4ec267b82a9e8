//! # anatomy
//!
//! Publishes the quasi-identifiers as they are, and the sensitive values by groups of records, in a
//! second table.
//!
//! ## Method
//! Records are put into groups in which no value of the sensitive attribute occurs twice. Buckets
//! of records with the same value are made; as long as ℓ buckets are not empty, the next group
//! takes one record from each of the ℓ largest. At most ℓ − 1 records remain, all with different
//! values; each joins a group, chosen at random, that lacks its value. The release has two tables.
//! One has a line per record: the quasi-identifiers, unchanged, and the number of the group. The
//! other has a line per group and combination of sensitive values: the number of the group, the
//! values, and how many records of the group have them. Group numbers are given at random.
//!
//! - `grouping = "random"` takes any record of a bucket, as the paper does.
//! - `grouping = "near"` puts people with similar quasi-identifiers together, so that counts over
//!   ranges are estimated better: the records are cut at the median of the widest quasi-identifier
//!   again and again, as long as both sides can still be grouped (if the median does not do, where
//!   it does, nearest to it), and each part is grouped by itself.
//!
//! With several sensitive attributes `attribute` names the one whose values differ within a group.
//! Every model that is about a sensitive attribute must hold in every group; groups in which one
//! does not are merged.
//!
//! ## Guarantee
//! If no value of the attribute is held by more than one record in ℓ, every group has at least ℓ
//! records, all with different values (more records, where groups had to be merged for another
//! model); otherwise the algorithm refuses. Whoever knows a person's group, and nothing else,
//! believes in a value with confidence at most 1/ℓ. Knowing how values go with quasi-identifiers
//! over all groups can raise that (Kifer 2009).
//!
//! The quasi-identifiers are not protected at all: whoever knows them sees whether a person is in
//! the table (table linkage). Models of identity such as `k-anonymity` are judged on them as they
//! are, and mostly cannot be kept.
//!
//! ## Cost
//! O(n) for n records at random, O(n log n) near, on all cores; memory of a few copies of the
//! codes.
//!
//! ## Departures from the paper
//! `near`, and merging for other models than distinct ℓ-diversity.
//!
//! ## Reference
//! Xiao and Tao, "Anatomy: simple and effective privacy preservation", 2006.

use super::grouping::{Job, NOTE, identity, not_eligible, records, repair};
use super::{Algorithm, Elsewhere, Goal, Progress, Refusal};
use crate::catalogue::{Entry, Kind, Parameter, did_you_mean};
use crate::failure::Failure;
use crate::release::{Anatomized, Form, Shape};
use crate::table::Table;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

pub(super) const ENTRY: Entry<Box<dyn Algorithm>> = Entry {
    name: "anatomy",
    summary: "quasi-identifiers as they are; sensitive values by group, in a table of their own",
    source: include_str!("anatomy.rs"),
    parameters: &[
        Parameter {
            name: "l",
            kind: Kind::Count(2, 1000),
            default: None,
            about: "how many records a group has at least, all with different values",
        },
        Parameter {
            name: "attribute",
            kind: Kind::Sensitive,
            default: Some(""),
            about: "whose values differ within a group; may be left out if the models are about one attribute only",
        },
        Parameter {
            name: "grouping",
            kind: Kind::Choice(&["random", "near"]),
            default: Some("random"),
            about: "any records together, or those with similar quasi-identifiers",
        },
    ],
    build: |p| {
        let near = p.word("grouping") == "near";
        Ok(Box::new(Anatomy { l: p.count("l"), attribute: p.text("attribute").into(), near }))
    },
};

struct Anatomy {
    l: u64,
    /// Name of the attribute; empty if it is the only one that the models are about.
    attribute: String,
    near: bool,
}

impl Algorithm for Anatomy {
    fn anonymize(
        &self,
        table: &Table,
        goal: &Goal<'_>,
        seed: u64,
        progress: Progress<'_>,
    ) -> Result<Form, Refusal> {
        let distributions = goal.distributions.clone();
        let goal = &Goal::among(
            goal.requirements,
            goal.quasi,
            goal.sensitive,
            distributions,
            Shape::Groups,
        );
        let mut reasons = goal.unfit();
        let about = self.about(table, goal).map_err(|problem| reasons.push(problem)).ok();
        reasons
            .extend(about.and_then(|about| not_eligible(ENTRY.name, self.l, table, goal, about)));
        if reasons.is_empty() {
            reasons.extend(identity(ENTRY.name, table, goal));
        }
        let Some(about) = about.filter(|_| reasons.is_empty()) else {
            return Err(Refusal(reasons));
        };
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let job = Job::new(table, about, self.l);
        let records = records(table, &mut random);
        let total = table.records();
        progress.at(total / 2, total);
        let groups = job.groups(records, self.near, &mut random);
        let mut groups = repair(table, goal, groups, None)?;
        groups.shuffle(&mut random);
        progress.at(total, total);
        let notes = vec![NOTE.into()];
        Ok(Form::Anatomized(Anatomized {
            groups,
            counterfeits: Vec::new(),
            suppressed: Vec::new(),
            notes,
        }))
    }

    fn elsewhere(&self) -> Option<Elsewhere<'_>> {
        (!self.near).then_some(Elsewhere::Sensitive)
    }
}

impl Anatomy {
    /// The sensitive attribute whose values differ within a group.
    fn about(&self, table: &Table, goal: &Goal<'_>) -> Result<usize, Failure> {
        let published = table.published_sensitive();
        let names = || published.iter().map(|a| a.name.as_str());
        if !self.attribute.is_empty() {
            return published.iter().position(|a| a.name == self.attribute).ok_or_else(|| {
                Failure::policy(
                    "not-sensitive",
                    format!(
                        "`anatomy` names `{}`, which is no sensitive attribute",
                        self.attribute
                    ),
                )
                .hint(did_you_mean(&self.attribute, names()))
            });
        }
        let mut asked: Vec<usize> = goal.requirements.iter().filter_map(|r| r.attribute).collect();
        asked.retain(|&a| a < published.len());
        asked.sort_unstable();
        asked.dedup();
        match (&asked[..], published) {
            ([one], _) => Ok(*one),
            ([], [_]) => Ok(0),
            (_, []) => Err(Failure::policy(
                "no-sensitive-attribute",
                "`anatomy` needs a sensitive attribute, and there is none",
            )
            .hint("give a column `role = \"sensitive\"`, or use an algorithm that generalizes")),
            _ => Err(Failure::policy(
                "ambiguous-attribute",
                "`anatomy` does not know which sensitive attribute must differ within a group",
            )
            .hint(format!(
                "say `attribute = …` under [algorithm]: one of `{}`",
                names().collect::<Vec<_>>().join("`, `")
            ))),
        }
    }
}
