//! # average risk
//!
//! On average over the records, the probability of naming the right person is small.
//!
//! ## Definition
//! The risk of a record is 1/f, f the size of its class; with a register it is 1/F, F the number of
//! people of the register who fit the class (at least f, see `k-map`). The mean over all published
//! records must be at most `threshold`. Without a register that is the number of classes divided by
//! the number of records (the prosecutor's average), with one it is Σ f/F divided by the number of
//! records (the marketer's).
//!
//! The promise is about the release as a whole. A class does its part if the risk of its own
//! records is at most the threshold; if every class does, the mean is.
//!
//! ## Protects against
//! An adversary who links many records and is content with a share of right matches. Regulators ask
//! for maximum or average risk; 0.09 and 0.05 are common thresholds.
//!
//! ## Does not protect against
//! The linkage of a single record: some may be unique while the mean is small. Combine it with
//! k-anonymity or k-map. It says nothing about sensitive values.
//!
//! ## Reference
//! El Emam, "Guide to the de-identification of personal health information", 2013; ISO/IEC
//! 27559:2022, 7.3.2.

use super::{Bound, Concern, Context, Measured, Model, Promise, Verdict};
use crate::catalogue::{Entry, Kind, Parameter};
use crate::class::EquivalenceClass;
use crate::exact::{Fraction, Ratio};
use crate::failure::Failure;
use rayon::prelude::*;
use std::collections::BTreeMap;

pub(super) const ENTRY: Entry<Box<dyn Model>> = Entry {
    name: "average-risk",
    summary: "the mean probability of naming the right person is small",
    source: include_str!("average_risk.rs"),
    parameters: &[
        Parameter {
            name: "threshold",
            kind: Kind::Number("0", Some("1")),
            default: None,
            about: "the largest mean risk of a record",
        },
        Parameter {
            name: "register",
            kind: Kind::Register,
            default: Some(""),
            about: "the people among whom an adversary looks; without one, those of the release",
        },
    ],
    build: |p| {
        Ok(Box::new(AverageRisk {
            threshold: p.number("threshold"),
            register: p.register().is_some(),
        }))
    },
};

/// With more denominators the exact sum is only computed where floating point cannot decide.
const FEW: usize = 500;

struct AverageRisk {
    threshold: Ratio,
    register: bool,
}

impl Model for AverageRisk {
    fn judge(&self, cx: &Context<'_>, class: &EquivalenceClass) -> Verdict {
        let risk = Ratio::new(1, cx.candidates(class).max(1).into());
        Verdict { holds: risk <= self.threshold, measured: Measured::Exact(risk) }
    }

    fn promise(&self) -> Promise {
        // Monotone as a part: whoever fits a class fits every class that it is merged into.
        Promise {
            region: self.register,
            wide: true,
            ..Promise::new(self.threshold, Bound::AtMost, Concern::Identity)
        }
    }

    fn fits(&self, cx: &Context<'_>) -> Result<(), Failure> {
        if self.register { cx.has_register("average-risk") } else { Ok(()) }
    }

    fn judge_all(&self, cx: &Context<'_>, classes: &[EquivalenceClass]) -> Option<Verdict> {
        let candidates: Vec<u64> =
            classes.par_iter().map(|class| cx.candidates(class).max(1)).collect();
        // Classes that fit equally many people first: the fewer denominators, the smaller the sum.
        let mut records: BTreeMap<u64, u64> = BTreeMap::new();
        classes
            .iter()
            .zip(candidates)
            .for_each(|(class, people)| *records.entry(people).or_default() += class.count);
        let all = classes.iter().map(|class| class.count).sum::<u64>().max(1);
        let nearly =
            records.iter().map(|(&people, &n)| n as f64 / people as f64).sum::<f64>() / all as f64;
        if records.len() > FEW && (nearly - self.threshold.to_f64()).abs() > 1e-9 {
            // The sum of so many positive numbers is wrong by far less than that.
            return Some(Verdict {
                holds: nearly < self.threshold.to_f64(),
                measured: Measured::Real(nearly),
            });
        }
        let matches = records.iter().map(|(&people, &n)| Fraction::new(n, people));
        let sum = matches.fold(Fraction::whole(0), |sum, part| sum.plus(&part));
        let mean = sum.over(&Fraction::whole(all));
        Some(Verdict { holds: mean <= self.threshold.into(), measured: Measured::from(&mean) })
    }
}
