//! # population uniqueness
//!
//! Few of the records belong to people who are alone in the population with what the release shows
//! of them.
//!
//! ## Definition
//! The release is taken for a random sample of a population of N people. From the number of classes
//! of each size a statistical model estimates which share of the records belongs to people who are
//! unique in the population. It must be at most `threshold`. Estimators (`scumble` documents the
//! equations in `uniqueness.rs`):
//!
//! - `dankar` chooses: `pitman` if at most a tenth of the population is in the release, otherwise
//!   the lower of `zayatz` and `snb`.
//! - `pitman`: Pitman's sampling formula, fitted by maximum likelihood.
//! - `zayatz`: classes of the population are as large as those of the sample.
//! - `snb`: class sizes are negative binomial.
//!
//! The estimate is 0 if no record is alone in its class, and at most the share of those that are.
//! The promise is about the release as a whole; a class of two or more records does its part.
//!
//! ## Protects against
//! Linkage with certainty: who finds one person who fits a record cannot be sure that there is no
//! other.
//!
//! ## Does not protect against
//! An adversary who knows that the person is in the release (`k-anonymity`), or is content with a
//! good chance (`k-map`, `average-risk`). An estimate is no guarantee: where the sample is not
//! random, or the population has another shape, it may be wrong by far. It says nothing about
//! sensitive values.
//!
//! ## Reference
//! Dankar, El Emam, Neisa and Roffey, "Estimating the re-identification risk of clinical data
//! sets", 2012; Pitman 1996; Hoshino 2001; Zayatz 1991; Chen and Keller-McNulty 1998.

use super::{Bound, Concern, Context, Measured, Model, Promise, Verdict};
use crate::catalogue::{Entry, Kind, PEOPLE, Parameter};
use crate::class::EquivalenceClass;
use crate::exact::Ratio;
use crate::uniqueness::{Estimator, unique_share};
use std::collections::BTreeMap;

pub(super) const ENTRY: Entry<Box<dyn Model>> = Entry {
    name: "population-uniqueness",
    summary: "few records are estimated to be unique in the population",
    source: include_str!("population_uniqueness.rs"),
    parameters: &[
        Parameter {
            name: "threshold",
            kind: Kind::Number("0", Some("1")),
            default: None,
            about: "the largest estimated share of records whose people are unique in the population",
        },
        Parameter {
            name: "population",
            kind: Kind::Count(1, PEOPLE),
            default: None,
            about: "how many people the release is a sample of",
        },
        Parameter {
            name: "estimator",
            kind: Kind::Choice(&["dankar", "pitman", "zayatz", "snb"]),
            default: Some("dankar"),
            about: "the statistical model of the population",
        },
    ],
    build: |p| {
        let estimator = Estimator::named(p.word("estimator")).unwrap_or(Estimator::Dankar);
        let (threshold, population) = (p.number("threshold"), p.count("population"));
        Ok(Box::new(PopulationUniqueness { threshold, population, estimator }))
    },
};

struct PopulationUniqueness {
    threshold: Ratio,
    population: u64,
    estimator: Estimator,
}

impl Model for PopulationUniqueness {
    fn judge(&self, _: &Context<'_>, class: &EquivalenceClass) -> Verdict {
        let alone = Ratio::whole(u64::from(class.count == 1));
        Verdict { holds: alone <= self.threshold, measured: Measured::Exact(alone) }
    }

    fn promise(&self) -> Promise {
        Promise { wide: true, ..Promise::new(self.threshold, Bound::AtMost, Concern::Identity) }
    }

    fn judge_all(&self, _: &Context<'_>, classes: &[EquivalenceClass]) -> Option<Verdict> {
        let mut sizes = BTreeMap::new();
        classes.iter().for_each(|class| *sizes.entry(class.count).or_default() += 1);
        let share = unique_share(&sizes, self.population, self.estimator);
        Some(Verdict { holds: share <= self.threshold.to_f64(), measured: Measured::Real(share) })
    }
}
