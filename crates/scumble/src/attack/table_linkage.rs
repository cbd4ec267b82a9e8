//! # Table linkage
//!
//! Finds out who is in the release at all.
//!
//! ## What the adversary knows
//! A register of everybody who may be in the release (`population`). Where she knows who is in it
//! there is nothing to find out.
//!
//! ## What she does
//! A class of f records must be filled with f of the F people of the register who fit it: each of
//! them is in the release with probability f/F (δ-presence). Who fits no class is not in it. Every
//! release is attacked by itself.
//!
//! ## What it says
//! The number of people who surely are in the release, and surely are not; the smallest and largest
//! probability among those who fit somewhere.
//!
//! ## Limits
//! A person who fits several classes (local recoding, a register with few quasi-identifiers) is
//! given the sum of f/F over them, at most 1: a bound, not the exact probability.
//!
//! ## Reference
//! Nergiz, Atzori and Clifton, "Hiding the presence of individuals from shared databases", 2007.

use super::{Attack, Crowd, Figure, In, Membership, Needs, Report, Scene};
use crate::catalogue::Entry;
use crate::failure::{Argument, Failure, Remedy};
use crate::progress::Progress;

pub(super) const ENTRY: Entry<Box<dyn Attack>> = Entry {
    name: "table-linkage",
    summary: "who is in the release at all",
    source: include_str!("table_linkage.rs"),
    parameters: &[],
    build: |_| Ok(Box::new(TableLinkage)),
};

struct TableLinkage;

impl Attack for TableLinkage {
    fn needs(&self) -> Needs {
        Needs { people: true, releases: 1 }
    }

    fn run(&self, scene: &Scene, progress: Progress<'_>) -> Result<Report, Failure> {
        let crowd = scene.people()?;
        if crowd.membership != Membership::Population {
            return Err(Failure::usage(
                "needs-population",
                "`table-linkage` needs a register of everybody who may be in the release",
            )
            .remedy(
                Remedy::words("say ")
                    .and_give_value(Argument::RegisterIs, "population")
                    .then(" if it is one"),
            ));
        }
        let mut found = vec![0.0f64; crowd.kinds.len()];
        let mut least = f64::INFINITY;
        let mut nowhere = vec![true; crowd.kinds.len()];
        for release in 0..scene.releases.len() {
            progress.step(release as u64, scene.releases.len() as u64)?;
            for (kind, &p) in presence(scene, crowd, release).iter().enumerate() {
                found[kind] = found[kind].max(p);
                if p > 0.0 {
                    nowhere[kind] = false;
                    least = least.min(p);
                }
            }
        }
        let people = |test: &dyn Fn(usize) -> bool| -> u64 {
            crowd
                .kinds
                .iter()
                .enumerate()
                .filter(|(kind, _)| test(*kind))
                .map(|(_, alike)| alike.people)
                .sum()
        };
        let worst = found.iter().copied().fold(0.0, f64::max);
        let figures = vec![
            Figure::count(
                "surely_in",
                people(&|k| found[k] >= 1.0),
                "people who surely are in a release",
            ),
            Figure::count("surely_not", people(&|k| nowhere[k]), "people who surely are in none"),
            Figure::share("worst", worst, "the largest probability of being in a release"),
            Figure::share(
                "least",
                if least.is_finite() { least } else { 0.0 },
                "the smallest, of people who fit",
            )
            .higher_is_better(),
        ];
        let estimators = vec!["probability of being in a release"];
        Ok(Report { figures, risk: Some(found), estimators, ..Report::default() })
    }
}

/// Probability that the people of each kind are in a release.
pub(super) fn presence(scene: &Scene, crowd: &Crowd, release: usize) -> Vec<f64> {
    let mut fitting = vec![0u64; scene.releases[release].groups.len()];
    for (kind, alike) in crowd.kinds.iter().enumerate() {
        crowd
            .candidates(kind, release)
            .iter()
            .for_each(|c| fitting[c.group as usize] += alike.people);
    }
    let classes = &scene.releases[release].release.classes;
    let share = |group: u32| {
        let (records, people) = (classes[group as usize].count, fitting[group as usize]);
        // A class with more records than people who fit it holds all of them, and strangers.
        if records >= people { 1.0 } else { records as f64 / people as f64 }
    };
    let of_kind = |kind: usize| match (crowd.kinds[kind].places[release].1, crowd.membership) {
        (In::Yes, _) => 1.0,
        (In::No, _) => 0.0,
        // Nothing bounds how many strangers there are.
        (In::Maybe, Membership::Some | Membership::Members) => 1.0,
        (In::Maybe, Membership::Population) => {
            crowd.candidates(kind, release).iter().map(|c| share(c.group)).sum::<f64>().min(1.0)
        }
    };
    (0..crowd.kinds.len()).map(of_kind).collect()
}
