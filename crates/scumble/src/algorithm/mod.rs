//! Ways to make a release.

use crate::catalogue::{Entry, Parameters};
use crate::class::{EquivalenceClass, Run};
use crate::failure::{Failure, Failures};
use crate::model::{Bound, Context, Measured, Model, Verdict};
use crate::progress::Progress;
use crate::publish::judge;
use crate::register::{Population, Register};
use crate::release::{Form, Member, Members, Release, Shape, project};
use crate::table::{Attribute, Distribution, Table};
use hashbrown::HashMap;
use std::sync::Arc;

mod anatomy;
mod bottom_up;
mod churn;
mod cut;
mod datafly;
mod full_domain;
mod grouping;
mod history_guided;
mod incognito;
mod k_optimize;
mod lattice;
mod local;
mod m_invariance;
mod microaggregation;
mod mondrian;
mod newcomers;
mod samarati;
mod sibling;
mod specialize;
mod top_down;

pub use incognito::{Solutions, solutions};

/// Every algorithm. A new one is a file and a line here (and its `mod` line above).
pub const ALGORITHMS: &[Entry<Box<dyn Algorithm>>] = &[
    mondrian::ENTRY,
    local::ENTRY,
    lattice::ENTRY,
    incognito::ENTRY,
    samarati::ENTRY,
    datafly::ENTRY,
    top_down::ENTRY,
    specialize::ENTRY,
    bottom_up::ENTRY,
    k_optimize::ENTRY,
    microaggregation::ENTRY,
    sibling::ENTRY,
    anatomy::ENTRY,
    history_guided::ENTRY,
    m_invariance::ENTRY,
];

/// Makes releases.
///
/// Laws (run over the whole catalogue in `tests/laws.rs`): every record is in exactly one class or
/// suppressed; every region contains the values of its records; every class keeps the goal, or the
/// algorithm refuses; the same table, goal and seed give the same form.
pub trait Algorithm: Send + Sync {
    /// Makes a form of the table in which every class keeps the goal, or says why there is none.
    /// `progress` is told the records done of all. When it is late, an algorithm that improves what
    /// it has returns the best so far; when it is cancelled, anything may be returned, soon.
    fn anonymize(
        &self,
        table: &Table,
        goal: &Goal<'_>,
        seed: u64,
        progress: Progress<'_>,
    ) -> Result<Form, Refusal>;

    /// Whether ranges that it publishes end at values of the data, whatever unit the policy
    /// declares. Then the leaves of numbers and dates are values.
    fn shows_exact_ends(&self) -> bool {
        false
    }

    /// Whether it looks at what earlier releases said ([`Table::past`]).
    fn remembers(&self) -> bool {
        false
    }

    /// How it works on a table that is counted elsewhere and too large to be here, if it can.
    fn elsewhere(&self) -> Option<Elsewhere<'_>> {
        None
    }
}

/// How an algorithm works on a table that is not here.
pub enum Elsewhere<'a> {
    /// Part by part.
    Parts(&'a dyn Divide),
    /// By levels of generalization.
    Levels(&'a dyn Recode),
    /// The quasi-identifiers do not matter to it: it gets a table with their taxonomies and without
    /// their codes.
    Sensitive,
}

/// An algorithm that divides the table into parts that go on by themselves, and decides about a
/// part by counts of it.
pub trait Divide: Sync {
    /// Where to cut a part: a quasi-identifier, and the runs of it that are not empty. `counts` has
    /// a table for every quasi-identifier, with that one's codes and the sensitive ones of the
    /// whole part, the others' being 0.
    fn cut(&self, goal: &Goal<'_>, counts: &[Table], region: &[Run]) -> Option<(usize, Vec<Run>)>;

    /// The classes of a part that is here as a whole.
    fn finish(&self, goal: &Goal<'_>, part: &Table, region: &[Run]) -> Vec<Members>;

    /// What a part shows that is a class by itself.
    fn shows(&self, counts: &[Table], region: &[Run]) -> Box<[Run]>;
}

/// An algorithm that decides about levels of generalization, each by the table as it is shown at
/// them.
pub trait Recode: Sync {
    /// Makes a form in which every class keeps the goal, and the table that it is of. `counts` are
    /// the records of each leaf, per quasi-identifier.
    fn recode(
        &self,
        goal: &Goal<'_>,
        counts: Vec<Vec<u64>>,
        counter: &mut dyn Counter,
        progress: Progress<'_>,
    ) -> Result<(Table, Form), Stopped>;
}

/// Counts a table as it is shown by recodings.
pub trait Counter {
    /// About how many rows it has by each of them.
    fn rows(&mut self, recodings: &[Recoding]) -> Result<Vec<u64>, Failures>;

    /// The table itself; about so many rows may be here ([`Counter::fits`]).
    fn table(&mut self, recoding: &Recoding) -> Result<Table, Failures>;

    /// How many combinations of quasi-identifiers occur so often: pairs of a number of records and
    /// a number of combinations.
    fn sizes(&mut self, recoding: &Recoding) -> Result<Vec<(u64, u64)>, Failures>;

    /// What is wrong with so many rows, if they are too many to be here.
    fn fits(&self, rows: u64) -> Result<(), Failure>;
}

/// For each quasi-identifier the leaf that every leaf is taken for.
pub type Recoding = Vec<Vec<u32>>;

/// Why there is no form of a table that is counted elsewhere.
pub enum Stopped {
    /// There is none.
    Refused(Vec<Failure>),
    /// It could not be counted.
    Failed(Failures),
}

impl From<Failures> for Stopped {
    fn from(problems: Failures) -> Stopped {
        Stopped::Failed(problems)
    }
}

impl From<Refusal> for Stopped {
    fn from(refusal: Refusal) -> Stopped {
        Stopped::Refused(refusal.0)
    }
}

/// What a release must satisfy: the policy's requirements, and what they are judged against.
pub struct Goal<'a> {
    /// All of them must hold in every class.
    pub requirements: &'a [Requirement],
    /// The quasi-identifiers that regions are written in.
    pub quasi: &'a [Attribute],
    /// The sensitive attributes.
    pub sensitive: &'a [Attribute],
    /// Their distributions.
    pub distributions: Vec<Distribution>,
    /// The register of each requirement that names one, located by the quasi-identifiers.
    populations: Vec<Option<Arc<Population>>>,
    /// What a region tells.
    shape: Shape,
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
    /// The register that a parameter names, once it is read.
    pub register: Option<Arc<Register>>,
}

impl Requirement {
    /// The sensitive attribute as it appears in messages: ` for `disease``, or nothing.
    pub fn about(&self, sensitive: &[Attribute]) -> String {
        self.attribute.map_or(String::new(), |s| format!(" for `{}`", sensitive[s].name))
    }
}

impl<'a> Goal<'a> {
    /// The goal of anonymizing a table.
    pub fn new(table: &'a Table, requirements: &'a [Requirement]) -> Goal<'a> {
        Goal::among(
            requirements,
            &table.quasi,
            &table.sensitive,
            table.distributions(),
            Shape::Regions,
        )
    }

    /// The goal among these attributes, with these distributions.
    pub fn among(
        requirements: &'a [Requirement],
        quasi: &'a [Attribute],
        sensitive: &'a [Attribute],
        distributions: Vec<Distribution>,
        shape: Shape,
    ) -> Goal<'a> {
        let locate = |r: &Requirement| {
            let told = r.attribute.map(|s| &sensitive[s]);
            r.register.as_ref().map(|register| Arc::new(register.among(quasi, told)))
        };
        let populations = requirements.iter().map(locate).collect();
        Goal { requirements, quasi, sensitive, distributions, populations, shape }
    }

    /// The same goal, judged against other distributions: those of the records that remain.
    pub fn against(&self, distributions: Vec<Distribution>) -> Goal<'a> {
        Goal { distributions, populations: self.populations.clone(), ..*self }
    }

    /// What the model of the i-th requirement may look at.
    pub fn context(&self, i: usize) -> Context<'_> {
        Context {
            quasi: self.quasi,
            sensitive: self.sensitive,
            distributions: &self.distributions,
            attribute: self.requirements[i].attribute.unwrap_or(0),
            population: self.populations[i].as_deref(),
            shape: self.shape,
            on: self.requirements[i].on.as_deref(),
        }
    }

    /// Why a requirement cannot be judged here at all; empty if all can.
    pub fn unfit(&self) -> Vec<Failure> {
        let requirements = self.requirements.iter().enumerate();
        requirements.filter_map(|(i, r)| r.model.fits(&self.context(i)).err()).collect()
    }

    /// The verdict of the i-th requirement on a class.
    pub fn judge(&self, i: usize, class: &EquivalenceClass) -> Verdict {
        self.requirements[i].model.judge(&self.context(i), class)
    }

    /// Whether the classes together keep the i-th requirement, if it is about the release as a
    /// whole.
    pub fn holds_as_a_whole(&self, i: usize, classes: &[EquivalenceClass]) -> bool {
        let r = &self.requirements[i];
        let projected = r.on.as_ref().map(|on| project(self.quasi, classes, on));
        let classes = projected.as_deref().unwrap_or(classes);
        r.model.judge_all(&self.context(i), classes).is_none_or(|verdict| verdict.holds)
    }

    /// Whether some requirement looks at regions.
    pub fn needs_regions(&self) -> bool {
        self.requirements.iter().any(|r| r.model.promise().region)
    }

    /// Whether every requirement stays kept when classes are merged.
    pub fn is_monotone(&self) -> bool {
        self.requirements.iter().all(|r| r.model.promise().monotone)
    }

    /// Whether the class keeps every requirement.
    ///
    /// A requirement on some columns only is tested on the full class: its classes are unions of
    /// full classes, so for a monotone model that is sufficient.
    pub fn holds(&self, class: &EquivalenceClass) -> bool {
        (0..self.requirements.len()).all(|i| self.keeps(i, class))
    }

    /// Whether the class keeps the i-th requirement.
    pub fn keeps(&self, i: usize, class: &EquivalenceClass) -> bool {
        class.count >= self.requirements[i].model.promise().least && self.judge(i, class).holds
    }

    /// Which classes must be left out so that the others, published alone, keep the goal; `None` if
    /// they have more than `limit` records. The classes are those of the whole table.
    ///
    /// What remains is judged again as what is published, until nothing more fails: by the
    /// distributions of the published records, and on some columns only by the classes that are
    /// left.
    pub fn leave_out(&self, classes: &[EquivalenceClass], limit: u64) -> Option<Vec<bool>> {
        let mut out = vec![false; classes.len()];
        let mut left = limit;
        let mut goal = self.against(self.distributions.clone());
        loop {
            let before = left;
            let failing = goal.failing(classes, &out, &mut left)?;
            if left == before {
                return Some(out);
            }
            out = failing;
            let kept =
                || classes.iter().zip(&out).filter(|(_, out)| !**out).map(|(class, _)| class);
            for (i, distribution) in goal.distributions.iter_mut().enumerate() {
                let mut counts = vec![0; distribution.counts.len()];
                kept()
                    .flat_map(|class| &class.histograms[i].0)
                    .for_each(|&(code, n)| counts[code as usize] += n);
                *distribution = Distribution::new(distribution.taxonomy.clone(), counts);
            }
        }
    }

    /// The classes, unless those that fail by themselves have more than `left` records, so that
    /// [`Goal::leave_out`] would give up. Most candidates of a search end here, and few of their
    /// classes need to be made.
    pub fn unless_hopeless(
        &self,
        classes: impl Iterator<Item = EquivalenceClass>,
        mut left: u64,
    ) -> Option<Vec<EquivalenceClass>> {
        let by_themselves = |r: &usize| {
            let requirement = &self.requirements[*r];
            requirement.on.is_none() && !requirement.model.promise().wide
        };
        let by_themselves: Vec<usize> =
            (0..self.requirements.len()).filter(by_themselves).collect();
        let unless_too_many = |class: EquivalenceClass| {
            let keeps = by_themselves.iter().all(|&r| self.judge(r, &class).holds);
            left = left.checked_sub(if keeps { 0 } else { class.count })?;
            Some(class)
        };
        classes.map(unless_too_many).collect()
    }

    /// The classes that are out, and those of the others that break a requirement when they are
    /// published together. A requirement about the release as a whole blames the classes that do
    /// not do their part, if it is broken. Gives up when the new ones have more records than
    /// `left`, which is counted down.
    fn failing(
        &self,
        classes: &[EquivalenceClass],
        out: &[bool],
        left: &mut u64,
    ) -> Option<Vec<bool>> {
        let published: Vec<usize> = (0..classes.len()).filter(|&i| !out[i]).collect();
        let mut failing = out.to_vec();
        let mut fails = |i: usize| {
            let new = !std::mem::replace(&mut failing[i], true);
            *left = left.checked_sub(if new { classes[i].count } else { 0 })?;
            Some(())
        };
        for (r, requirement) in self.requirements.iter().enumerate() {
            if requirement.model.promise().wide {
                let published: Vec<EquivalenceClass> =
                    published.iter().map(|&i| classes[i].clone()).collect();
                if self.holds_as_a_whole(r, &published) {
                    continue;
                }
            }
            let Some(on) = &requirement.on else {
                published
                    .iter()
                    .filter(|&&i| !self.judge(r, &classes[i]).holds)
                    .try_for_each(|&i| fails(i))?;
                continue;
            };
            let mut alike: HashMap<Vec<Run>, Vec<usize>> = HashMap::new();
            for &i in &published {
                alike
                    .entry(on.iter().map(|&d| classes[i].region[d]).collect())
                    .or_default()
                    .push(i);
            }
            for together in alike.into_values() {
                let members: Vec<EquivalenceClass> =
                    together.iter().map(|&i| classes[i].clone()).collect();
                if project(self.quasi, &members, on)
                    .iter()
                    .any(|merged| !self.judge(r, merged).holds)
                {
                    together.into_iter().try_for_each(&mut fails)?;
                }
            }
        }
        Some(failing)
    }

    /// How far the class is from keeping the goal, for searches that need a direction: 0 if it
    /// does, otherwise the sum of what is missing, each requirement counting at most 1.
    pub fn shortfall(&self, class: &EquivalenceClass) -> f64 {
        let missing = |i: usize| {
            let (promise, verdict) = (self.requirements[i].model.promise(), self.judge(i, class));
            if verdict.holds && class.count >= promise.least {
                return 0.0;
            }
            let (asked, measured) = (promise.required.to_f64(), verdict.measured.to_f64());
            let gap = if promise.must_be == Bound::AtLeast {
                (asked - measured) / asked
            } else {
                measured - asked
            };
            if gap.is_nan() { 1.0 } else { gap.clamp(1e-3, 1.0) }
        };
        (0..self.requirements.len()).map(missing).sum()
    }

    /// A class needs at least so many records.
    pub fn least(&self) -> u64 {
        self.requirements.iter().map(|r| r.model.promise().least).max().unwrap_or(1).max(1)
    }

    /// Whether sizes alone decide, so that histograms need not be counted.
    pub fn size_decides(&self) -> bool {
        self.requirements.iter().all(|r| r.model.promise().size_decides)
    }

    /// What was made, if it keeps the goal. For algorithms that test classes on the way and then
    /// show, or join, more than they tested: harmless for monotone requirements only.
    pub fn confirm(&self, table: &Table, form: Form) -> Result<Form, Refusal> {
        let judgements = judge(&Release::of(table, &form), self.requirements).map_err(Refusal)?;
        let broken: Vec<Failure> = (self.requirements.iter().zip(&judgements))
            .filter(|(_, j)| !j.holds)
            .map(|(r, j)| {
                Failure::refused("promise-broken", format!("{}{}", j.words(r.name), r.about(self.sensitive)))
                    .hint("merging classes may break this model; try `lattice`, which judges whole releases")
            })
            .collect();
        if broken.is_empty() { Ok(form) } else { Err(Refusal(broken)) }
    }

    /// Why not even the most general table keeps the goal; empty if it does. `whole` is the table
    /// as one class.
    pub fn impossible(&self, whole: &EquivalenceClass) -> Vec<Failure> {
        let mut reasons = Vec::new();
        for (i, r) in self.requirements.iter().enumerate() {
            if let Some(problem) = r.model.hopeless(&self.context(i)) {
                reasons.push(problem);
                continue;
            }
            let together = r.model.judge_all(&self.context(i), std::slice::from_ref(whole));
            let verdict = together.unwrap_or_else(|| self.judge(i, whole));
            if verdict.holds {
                continue;
            }
            let about = r.about(self.sensitive);
            let asked: Vec<String> =
                r.parameters.0.iter().map(|(name, value)| format!("{name} = {value}")).collect();
            reasons.push(
                Failure::refused("cannot-be-met", format!(
                    "`{}`{about} with {} cannot be met: even the whole table as one class measures {}",
                    r.name,
                    asked.join(", "),
                    verdict.measured
                ))
                .hint(match r.model.promise().must_be {
                    _ if !r.model.promise().monotone => {
                        "the model may hold for smaller classes all the same: try `lattice`, which looks at every \
                         generalization"
                            .into()
                    }
                    Bound::AtLeast => format!("at most {} can be asked of these data", verdict.measured),
                    _ if verdict.measured == Measured::Infinite => {
                        "no larger bound helps; ask for less in the other parameters, such as a smaller ℓ or k".into()
                    }
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
pub struct Refusal(pub Vec<Failure>);

/// Members in the order of their rows, each row once.
fn joined(mut members: Vec<Member>) -> Vec<Member> {
    members.sort_unstable_by_key(|m| m.row);
    members.dedup_by(|next, kept| {
        let same = next.row == kept.row;
        if same {
            kept.count += next.count;
        }
        same
    });
    members
}
