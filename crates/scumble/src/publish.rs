//! From a table and a policy to a judged release: read this first.
//!
//! An algorithm makes a form; the classes it made are judged again, independently of how it came to them; what was lost
//! is measured. No algorithm is believed: [`judge`] takes a [`Release`], and the Publisher calls it a second time on
//! what it reads back from disk.

use crate::algorithm::{Algorithm, Goal, Progress, Requirement};
use crate::class::EquivalenceClass;
use crate::exact::Ratio;
use crate::model::{Context, Measured};
use crate::problem::Problem;
use crate::release::{Form, Release};
use crate::table::{Distribution, Table};
use crate::utility::METRICS;
use rayon::prelude::*;

/// What came of it.
pub enum Outcome {
    /// A release that keeps every promise.
    Made(Box<Made>),
    /// There is none, and why.
    Refused(Vec<Problem>),
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
    /// Number of classes that break it.
    pub broken: u64,
    /// Number of classes judged.
    pub classes: u64,
}

/// Anonymizes and judges.
pub fn make(
    table: &Table,
    algorithm: &dyn Algorithm,
    requirements: &[Requirement],
    seed: u64,
    progress: Progress<'_>,
) -> Outcome {
    let distributions = table.distributions();
    let goal = Goal { requirements, distributions: &distributions };
    let form = match algorithm.anonymize(table, &goal, seed, progress) {
        Ok(form) => form,
        Err(refusal) => return Outcome::Refused(refusal.0),
    };
    let release = Release::of(table, &form);
    let judgements = judge(&release, requirements);
    let broken: Vec<Problem> = requirements
        .iter()
        .zip(&judgements)
        .filter(|(_, j)| !j.holds)
        .map(|(r, j)| {
            Problem::new(format!(
                "{} of {} classes break `{}`: the worst measures {}",
                j.broken, j.classes, r.name, j.measured
            ))
        })
        .collect();
    if broken.is_empty() {
        Outcome::Made(Box::new(Made { form, release, judgements }))
    } else {
        Outcome::Refused(broken)
    }
}

/// Judges every class of a release by every requirement.
pub fn judge(release: &Release, requirements: &[Requirement]) -> Vec<Judgement> {
    let distributions = release.distributions();
    requirements.iter().map(|r| judge_one(release, &distributions, r)).collect()
}

fn judge_one(release: &Release, distributions: &[Distribution], r: &Requirement) -> Judgement {
    let projected = r.on.as_ref().map(|on| release.project(on));
    let classes = projected.as_ref().unwrap_or(&release.classes);
    let cx = Context { distributions, attribute: r.attribute.unwrap_or(0) };
    let verdicts: Vec<_> = classes.par_iter().map(|class| r.model.judge(&cx, class)).collect();
    let promise = r.model.promise();
    let worst = (0..classes.len())
        .reduce(|a, b| if promise.must_be.is_worse(verdicts[b].measured, verdicts[a].measured) { b } else { a });
    let broken = verdicts.iter().filter(|v| !v.holds).count() as u64;
    Judgement {
        holds: broken == 0,
        measured: worst.map_or(Measured::Exact(Ratio::whole(0)), |i| verdicts[i].measured),
        required: promise.required,
        worst: worst.map(|i| classes[i].clone()),
        broken,
        classes: classes.len() as u64,
    }
}

/// Every metric of a release by name. `k` is what the policy asks for, if it does.
pub fn measure(release: &Release, k: Option<u64>) -> Vec<(&'static str, f64)> {
    let k = k.unwrap_or_else(|| release.classes.iter().map(|c| c.count).min().unwrap_or(1));
    METRICS.iter().map(|m| (m.name, (m.measure)(release, k))).collect()
}
