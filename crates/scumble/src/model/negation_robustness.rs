//! # negation robustness
//!
//! Every class stays ℓ-diverse after an adversary has ruled out any j sensitive values.
//!
//! ## Definition
//! An adversary knows j negation statements about a person ("she does not have s") and strikes the
//! records with those values from the person's class. Whichever j values they are, what is left
//! must be ℓ-diverse in the sense of `kind`. The person has some value, so one is always left. The
//! measured value is that of the worst choice:
//!
//! - `distinct`: the number of values less j.
//! - `recursive`: worst is to strike the j values behind the most frequent one. For ℓ ≥ 2 this is
//!   recursive (c,ℓ + j)- diversity.
//! - `entropy`: worst is to strike j values whose counts are neighbours in the order of counts,
//!   because entropy rises and then falls with a single count; all such choices are tried. Striking
//!   the most frequent value often helps.
//!
//! ## Protects against
//! What ℓ-diversity protects against, with a stated amount of background knowledge in hand.
//!
//! ## Does not protect against
//! More than j statements; knowledge of other kinds, such as implications between people;
//! similarity of the values; several releases.
//!
//! ## Reference
//! Machanavajjhala, Gehrke, Kifer and Venkitasubramaniam, "ℓ-diversity: privacy beyond
//! k-anonymity", 2006/2007, on negation statements.

use super::diversity::{self, Diversity};
use super::{Concern, Context, Model, Promise, Verdict};
use crate::catalogue::{Entry, Kind, PEOPLE, Parameter};
use crate::class::EquivalenceClass;

pub(super) const ENTRY: Entry<Box<dyn Model>> = Entry {
    name: "negation-robustness",
    summary: "every class stays ℓ-diverse when any j values are ruled out",
    source: include_str!("negation_robustness.rs"),
    parameters: &[
        Parameter {
            name: "j",
            kind: Kind::Count(0, PEOPLE),
            default: None,
            about: "how many values are ruled out",
        },
        diversity::L,
        diversity::KIND,
        diversity::C,
    ],
    build: |p| Ok(Box::new(NegationRobustness { j: p.count("j"), diversity: Diversity::read(p) })),
};

struct NegationRobustness {
    j: u64,
    diversity: Diversity,
}

impl Model for NegationRobustness {
    fn judge(&self, cx: &Context<'_>, class: &EquivalenceClass) -> Verdict {
        let mut sorted = class.histograms[cx.attribute].counts();
        sorted.sort_unstable_by(|a, b| b.cmp(a));
        let j = usize::try_from(self.j).unwrap_or(usize::MAX).min(sorted.len().saturating_sub(1));
        let last = sorted.len() - j;
        let starts = match self.diversity {
            // The first value is worth most in the numerator; the ones behind it in the rest.
            Diversity::Distinct(_) | Diversity::Recursive { .. } => 1.min(last)..=1.min(last),
            Diversity::Entropy(_) => 0..=last,
        };
        let must_be = self.promise().must_be;
        let mut worst: Option<Verdict> = None;
        for start in starts {
            // If the count that comes back equals the one that goes, nothing has changed.
            if worst.is_some() && sorted[start - 1] == sorted[start + j - 1] {
                continue;
            }
            let left = [&sorted[..start], &sorted[start + j..]].concat();
            let verdict = self.diversity.verdict(&left);
            worst = Some(match worst {
                Some(w) if !must_be.is_worse(verdict.measured, w.measured) => {
                    Verdict { holds: w.holds && verdict.holds, ..w }
                }
                Some(w) => Verdict { holds: w.holds && verdict.holds, ..verdict },
                None => verdict,
            });
        }
        worst.unwrap_or_else(|| self.diversity.verdict(&sorted))
    }

    fn promise(&self) -> Promise {
        let promise = self.diversity.promise_about(Concern::Sensitive);
        // One value is always left, which is enough for ℓ = 1.
        let more = if self.diversity.fewest() > 1 { self.j } else { 0 };
        Promise { least: promise.least.saturating_add(more), ..promise }
    }
}
