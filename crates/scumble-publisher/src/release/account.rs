//! What is said of a release: in the answer, in the manifest and in the certificate.
//!
//! It is computed from a release as a recipient reads it, in one place, so that nothing of an
//! earlier attempt and nothing that the files do not show can stand there.

use crate::answer::{Groups, Loss, Model, Published};
use scumble::policy::Policy;
use scumble::publish::Judgement;
use scumble::release::Release;
use scumble::utility::{METRICS, Subject, Told};
use std::collections::BTreeMap;

/// The figures of a release.
pub(crate) struct Account {
    pub rows: u64,
    pub classes: u64,
    pub groups: Option<Groups>,
    pub suppressed: u64,
    pub models: Vec<Model>,
    pub utility: BTreeMap<String, f64>,
}

impl Account {
    /// The figures of a release as it is read, with the judgements of it and what was lost.
    pub fn of(
        policy: &Policy,
        (read, judgements): (&Release, &[Judgement]),
        utility: BTreeMap<String, f64>,
    ) -> Account {
        Account {
            rows: read.records(),
            classes: read.sizes().iter().map(|(_, n)| n).sum(),
            groups: Groups::of(read),
            suppressed: read.suppressed,
            models: policy
                .requirements
                .iter()
                .zip(judgements)
                .map(|(r, j)| Model::of(read, r, j))
                .collect(),
            utility,
        }
    }

    /// Puts the figures into an answer, in place of any that are there.
    pub fn tell(&self, answer: &mut Published) {
        answer.rows = self.rows;
        answer.classes = self.classes;
        answer.groups = self.groups;
        answer.suppressed = self.suppressed;
        answer.models.clone_from(&self.models);
        answer.utility = (self.utility.iter())
            .filter_map(|(name, &value)| Some((name.clone(), Loss::of(name, value)?)))
            .collect();
    }

    /// The figures of a release as it is read, by metric: those that everybody may know. `k` is
    /// what the policy asks for, if it does.
    pub fn losses(read: &Release, k: Option<u64>) -> impl Iterator<Item = (&'static str, f64)> {
        let k = k.unwrap_or_else(|| read.classes.iter().map(|c| c.count).min().unwrap_or(1));
        let subject = Subject { release: read, k, truth: None };
        let told = METRICS.iter().filter(|m| m.told == Told::Everybody);
        told.filter_map(move |m| Some((m.name, (m.measure)(&subject)?)))
    }

    /// The metrics that recipients may know: those that follow from the release alone.
    pub fn public_utility(&self) -> BTreeMap<String, f64> {
        let told = METRICS.iter().filter(|m| m.told == Told::Everybody);
        told.filter_map(|m| Some((m.name.to_owned(), rounded(*self.utility.get(m.name)?))))
            .collect()
    }
}

/// Four significant digits: a figure in full precision is an equation about the records.
pub(super) fn rounded(figure: f64) -> f64 {
    format!("{figure:.3e}").parse().unwrap_or(figure)
}
