//! Ways to make a release.

use crate::catalogue::{Entry, Parameters};
use crate::class::{EquivalenceClass, Run};
use crate::model::{Bound, Context, Measured, Model};
use crate::problem::Problem;
use crate::release::Form;
use crate::table::{Distribution, Table};
use hashbrown::HashMap;

mod bottom_up;
mod cut;
mod datafly;
mod full_domain;
mod incognito;
mod lattice;
mod mondrian;
mod samarati;
mod top_down;

pub use incognito::{Solutions, solutions};

/// Every algorithm. A new one is a file and a line here (and its `mod` line above).
pub const ALGORITHMS: &[Entry<Box<dyn Algorithm>>] = &[
    mondrian::ENTRY,
    lattice::ENTRY,
    incognito::ENTRY,
    samarati::ENTRY,
    datafly::ENTRY,
    top_down::ENTRY,
    bottom_up::ENTRY,
];

/// Makes releases.
///
/// Laws (run over the whole catalogue in `tests/laws.rs`): every record is in exactly one class or suppressed; every
/// region contains the values of its records; every class keeps the goal, or the algorithm refuses; the same table,
/// goal and seed give the same form.
pub trait Algorithm: Send + Sync {
    /// Makes a form of the table in which every class keeps the goal, or says why there is none.
    /// `progress` is called with records done and records in all.
    fn anonymize(&self, table: &Table, goal: &Goal<'_>, seed: u64, progress: Progress<'_>) -> Result<Form, Refusal>;
}

/// Told from time to time how many records are done, of how many.
pub type Progress<'a> = &'a (dyn Fn(u64, u64) + Sync);

/// What a release must satisfy: the policy's requirements, and the distribution of the table they are judged against.
pub struct Goal<'a> {
    /// All of them must hold in every class.
    pub requirements: &'a [Requirement],
    /// Of the table's sensitive attributes.
    pub distributions: &'a [Distribution],
}

/// A model as a policy asks for it: about which attribute, on which columns.
pub struct Requirement {
    /// Name in the catalogue.
    pub name: &'static str,
    /// As written and defaulted.
    pub parameters: Parameters,
    /// The model.
    pub model: Box<dyn Model>,
    /// Index of the sensitive attribute it is about; `None` for models that concern identity.
    pub attribute: Option<usize>,
    /// Indices of the quasi-identifiers whose classes it is about; `None` for all.
    pub on: Option<Vec<usize>>,
}

impl Goal<'_> {
    /// Whether the class keeps every requirement.
    ///
    /// A requirement on some columns only is tested on the full class: its classes are unions of full classes, so for
    /// a monotone model that is sufficient.
    pub fn holds(&self, class: &EquivalenceClass) -> bool {
        self.requirements.iter().all(|r| self.keeps(r, class))
    }

    /// Whether the class keeps one of the requirements.
    pub fn keeps(&self, r: &Requirement, class: &EquivalenceClass) -> bool {
        let cx = Context { distributions: self.distributions, attribute: r.attribute.unwrap_or(0) };
        class.count >= r.model.promise().least && r.model.judge(&cx, class).holds
    }

    /// Which classes must be left out so that the others, published alone, keep the goal; `None` if they have more than
    /// `limit` records. The classes are those of the whole table.
    ///
    /// What remains is judged again as what is published, until nothing more fails: by the distributions of the
    /// published records, and on some columns only by the classes that are left.
    pub fn leave_out(&self, classes: &[EquivalenceClass], limit: u64) -> Option<Vec<bool>> {
        let mut out = vec![false; classes.len()];
        let mut distributions = self.distributions.to_vec();
        loop {
            let failing = self.failing(classes, &out, &distributions);
            if failing.is_empty() {
                return Some(out);
            }
            failing.into_iter().for_each(|i| out[i] = true);
            let left_out = classes.iter().zip(&out).filter(|(_, out)| **out);
            if left_out.map(|(class, _)| class.count).sum::<u64>() > limit {
                return None;
            }
            let kept = || classes.iter().zip(&out).filter(|(_, out)| !**out).map(|(class, _)| class);
            for (i, distribution) in distributions.iter_mut().enumerate() {
                let mut counts = vec![0; distribution.counts.len()];
                kept().flat_map(|class| &class.histograms[i].0).for_each(|&(code, n)| counts[code as usize] += n);
                *distribution = Distribution::new(distribution.taxonomy.clone(), counts);
            }
        }
    }

    /// The classes, of those not out, that break a requirement when they are published together.
    fn failing(&self, classes: &[EquivalenceClass], out: &[bool], distributions: &[Distribution]) -> Vec<usize> {
        let published: Vec<usize> = (0..classes.len()).filter(|&i| !out[i]).collect();
        let mut failing = Vec::new();
        for r in self.requirements {
            let cx = Context { distributions, attribute: r.attribute.unwrap_or(0) };
            let Some(on) = &r.on else {
                failing.extend(published.iter().filter(|&&i| !r.model.judge(&cx, &classes[i]).holds));
                continue;
            };
            let mut alike: HashMap<Vec<Run>, Vec<usize>> = HashMap::new();
            for &i in &published {
                alike.entry(on.iter().map(|&d| classes[i].region[d]).collect()).or_default().push(i);
            }
            for together in alike.into_values() {
                let merged = together[1..].iter().fold(classes[together[0]].clone(), |a, &i| a.merge(&classes[i]));
                if !r.model.judge(&cx, &merged).holds {
                    failing.extend(together);
                }
            }
        }
        failing
    }

    /// A class needs at least so many records.
    pub fn least(&self) -> u64 {
        self.requirements.iter().map(|r| r.model.promise().least).max().unwrap_or(1).max(1)
    }

    /// Whether sizes alone decide, so that histograms need not be counted.
    pub fn size_decides(&self) -> bool {
        self.requirements.iter().all(|r| r.model.promise().size_decides)
    }

    /// Why not even the most general table keeps the goal; empty if it does. `whole` is the table as one class.
    pub fn impossible(&self, table: &Table, whole: &EquivalenceClass) -> Vec<Problem> {
        let mut reasons = Vec::new();
        for r in self.requirements {
            let cx = Context { distributions: self.distributions, attribute: r.attribute.unwrap_or(0) };
            let verdict = r.model.judge(&cx, whole);
            if verdict.holds {
                continue;
            }
            let about = match r.attribute {
                Some(s) => format!(" for `{}`", table.sensitive[s].name),
                None => String::new(),
            };
            let asked: Vec<String> = r.parameters.0.iter().map(|(name, value)| format!("{name} = {value}")).collect();
            reasons.push(
                Problem::new(format!(
                    "`{}`{about} with {} cannot be met: even the whole table as one class measures {}",
                    r.name,
                    asked.join(", "),
                    verdict.measured
                ))
                .hint(match r.model.promise().must_be {
                    Bound::AtLeast => format!("at most {} can be asked of these data", verdict.measured),
                    _ if verdict.measured == Measured::Infinite => "no larger bound helps; ask for a smaller ℓ".into(),
                    Bound::AtMost | Bound::Below => {
                        format!("more than {} must be allowed for these data", verdict.measured)
                    }
                }),
            );
        }
        reasons
    }
}

/// Why an algorithm made nothing: an answer, not an error.
#[derive(Debug)]
pub struct Refusal(pub Vec<Problem>);
