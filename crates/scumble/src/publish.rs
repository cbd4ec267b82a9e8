//! From a table and a policy to a judged release: read this first.
//!
//! An algorithm makes a form; the classes it made are judged again, independently of how it came to
//! them; what was lost is measured. No algorithm is believed: [`judge`] takes a [`Release`], and
//! the Publisher calls it a second time on what it reads back from disk.

use crate::algorithm::{Algorithm, Goal, Requirement};
use crate::class::EquivalenceClass;
use crate::exact::Ratio;
use crate::failure::Failure;
use crate::model::{Concern, Measured, Witness};
use crate::progress::Progress;
use crate::release::{Form, Release, Shape, project};
use crate::table::Table;
use crate::utility::{METRICS, Metric, Subject, Told};
use rayon::prelude::*;
use std::borrow::Cow;

/// What came of it.
pub enum Outcome {
    /// A release that keeps every promise.
    Made(Box<Made>),
    /// There is none, and why.
    Refused(Vec<Failure>),
}

/// A judged release, with the publisher's side of it.
pub struct Made {
    /// Who is where.
    pub form: Form,
    /// What the recipient sees.
    pub release: Release,
    /// One judgement per requirement, in their order.
    pub judgements: Vec<Judgement>,
}

/// How a requirement stands over the whole release.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// Whether every class keeps it.
    pub holds: bool,
    /// The worst measured value.
    pub measured: Measured,
    /// What was asked.
    pub required: Ratio,
    /// The worst class.
    pub worst: Option<EquivalenceClass>,
    /// Of whom it tells most, if the model can say so.
    pub witness: Option<Witness>,
    /// Number of classes that break it.
    pub broken: u64,
    /// Number of classes judged.
    pub classes: u64,
    /// Whether the release was judged as a whole. Then a broken class is one that does not do its
    /// part, and the release may keep the promise all the same.
    pub wide: bool,
}

impl Judgement {
    /// How it is broken.
    pub fn words(&self, name: &str) -> String {
        if self.wide {
            return format!("the release breaks `{name}`: it measures {}", self.measured);
        }
        format!(
            "{} of {} classes break `{name}`: the worst measures {}",
            self.broken, self.classes, self.measured
        )
    }
}

/// Anonymizes and judges. What was cancelled is refused by [`cancelled`].
pub fn make(
    table: &Table,
    algorithm: &dyn Algorithm,
    requirements: &[Requirement],
    seed: u64,
    progress: Progress<'_>,
) -> Outcome {
    let goal = Goal::new(table, requirements);
    let unfit = goal.unfit();
    if !unfit.is_empty() {
        return Outcome::Refused(unfit);
    }
    let form = algorithm.anonymize(table, &goal, seed, progress);
    if !progress.at(table.records(), table.records()) {
        return Outcome::Refused(vec![Failure::cancelled()]);
    }
    let form = match form {
        Ok(form) => form,
        Err(refusal) => return Outcome::Refused(refusal.0),
    };
    judged(table, form, requirements)
}

/// Judges what was made.
pub fn judged(table: &Table, form: Form, requirements: &[Requirement]) -> Outcome {
    let release = Release::of(table, &form);
    let judgements = match judge(&release, requirements) {
        Ok(judgements) => judgements,
        Err(unfit) => return Outcome::Refused(unfit),
    };
    let broken: Vec<Failure> = requirements
        .iter()
        .zip(&judgements)
        .filter(|(_, j)| !j.holds)
        .map(|(r, j)| {
            Failure::refused(
                "promise-broken",
                format!("{}{}", j.words(r.name), r.about(&release.sensitive)),
            )
        })
        .collect();
    if broken.is_empty() {
        Outcome::Made(Box::new(Made { form, release, judgements }))
    } else {
        Outcome::Refused(broken)
    }
}

/// Judges every class of a release by every requirement, or says which of them cannot be judged on
/// such a release.
pub fn judge(
    release: &Release,
    requirements: &[Requirement],
) -> Result<Vec<Judgement>, Vec<Failure>> {
    let distributions = release.distributions();
    let goal =
        Goal::among(requirements, &release.quasi, &release.sensitive, distributions, release.shape);
    let unfit = goal.unfit();
    if !unfit.is_empty() {
        return Err(unfit);
    }
    let identity = requirements.iter().any(|r| r.model.promise().concerns == Concern::Identity);
    let identities = if identity { release.identities() } else { Cow::default() };
    Ok((0..requirements.len()).map(|i| judge_one(&goal, release, &identities, i)).collect())
}

/// Judges the i-th requirement. `identities` are those of the release; only a model that concerns
/// identity needs them.
pub(crate) fn judge_one(
    goal: &Goal<'_>,
    release: &Release,
    identities: &[EquivalenceClass],
    i: usize,
) -> Judgement {
    let r = &goal.requirements[i];
    let promise = r.model.promise();
    let all = if promise.concerns == Concern::Identity { identities } else { &release.classes };
    // Groups are told apart by their numbers, whatever columns are known.
    let told_apart = release.shape == Shape::Groups && promise.concerns != Concern::Identity;
    let on = r.on.as_ref().filter(|_| !told_apart);
    let projected = on.map(|on| project(&release.quasi, all, on));
    let classes = projected.as_deref().unwrap_or(all);
    let verdicts: Vec<_> = classes.par_iter().map(|class| goal.judge(i, class)).collect();
    let worst = (0..classes.len()).reduce(|a, b| {
        if promise.must_be.is_worse(verdicts[b].measured, verdicts[a].measured) { b } else { a }
    });
    let broken = verdicts.iter().filter(|v| !v.holds).count() as u64;
    let cx = goal.context(i);
    let whole = r.model.judge_all(&cx, classes);
    Judgement {
        holds: whole.map_or(broken == 0, |verdict| verdict.holds),
        measured: whole
            .or(worst.map(|w| verdicts[w]))
            .map_or(Measured::Exact(Ratio::whole(0)), |v| v.measured),
        required: promise.required,
        worst: worst.map(|w| classes[w].clone()),
        witness: worst.and_then(|w| r.model.witness(&cx, &classes[w])),
        broken,
        classes: classes.len() as u64,
        wide: whole.is_some(),
    }
}

/// The metrics of a release by name, those that say something about it; with those that take long
/// if `all` are wanted. `k` is what the policy asks for, if it does. Without the table those that
/// compare with the truth say nothing.
pub fn measure(
    table: Option<&Table>,
    made: &Made,
    k: Option<u64>,
    all: bool,
) -> Vec<(&'static str, f64)> {
    let release = &made.release;
    let k = k.unwrap_or_else(|| release.classes.iter().map(|c| c.count).min().unwrap_or(1));
    let subject = Subject { release, k, truth: table.map(|table| (table, &made.form)) };
    let wanted: Vec<&Metric> =
        METRICS.iter().filter(|m| all || m.told != Told::Comparison).collect();
    let measured: Vec<_> =
        wanted.par_iter().map(|m| Some((m.name, (m.measure)(&subject)?))).collect();
    measured.into_iter().flatten().collect()
}
