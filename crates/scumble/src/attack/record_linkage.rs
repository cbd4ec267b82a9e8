//! # Record linkage
//!
//! Looks for the record of every person of a register.
//!
//! ## What the adversary knows
//! The quasi-identifiers of people, as far as the register has them; and whether they are in the
//! release: surely (`members`), or only that nobody else is (`population`), or neither (`some`).
//!
//! ## What she does
//! She looks for the records that a person fits: by containment where values are generalized
//! (ranges, nodes of a taxonomy, what is left of a node beside its published siblings), by equal
//! values in an anatomized release, by the nearest centroid in a microaggregated one. If c records
//! fit, she takes one of them: she is right with probability 1/c if the person is in the release.
//! If she does not know that, the probability that the person is in it comes in, too (see
//! `table-linkage`). Every release is attacked by itself.
//!
//! ## What it says
//! The number of people who are linked to a single record, the largest and the mean probability of
//! a right link, and how many people fit nowhere.
//!
//! ## Limits
//! A record that is found says nothing yet about sensitive values: see `attribute-linkage`. What
//! the nearest centroid finds need not be the person's group; a person's own is the nearest one for
//! about seven in ten people in census data.
//!
//! ## Reference
//! Fung, Wang, Chen and Yu, "Privacy-preserving data publishing: a survey of recent developments",
//! 2010; Sweeney, "k-anonymity: a model for protecting privacy", 2002.

use super::table_linkage::presence;
use super::{Attack, Chart, Figure, Needs, Report, Scene};
use crate::catalogue::Entry;
use crate::failure::Failure;
use crate::progress::Progress;

pub(super) const ENTRY: Entry<Box<dyn Attack>> = Entry {
    name: "record-linkage",
    summary: "how many records fit each person",
    source: include_str!("record_linkage.rs"),
    parameters: &[],
    build: |_| Ok(Box::new(RecordLinkage)),
};

struct RecordLinkage;

impl Attack for RecordLinkage {
    fn needs(&self) -> Needs {
        Needs { people: true, releases: 1 }
    }

    fn run(&self, scene: &Scene, progress: Progress<'_>) -> Result<Report, Failure> {
        let crowd = scene.people()?;
        let mut linked = vec![0.0f64; crowd.kinds.len()];
        let mut fewest = vec![u64::MAX; crowd.kinds.len()];
        for release in 0..scene.releases.len() {
            progress.step(release as u64, scene.releases.len() as u64)?;
            let presence = presence(scene, crowd, release);
            for kind in 0..crowd.kinds.len() {
                let records: u64 = crowd.candidates(kind, release).iter().map(|c| c.records).sum();
                if records > 0 {
                    linked[kind] = linked[kind].max(presence[kind] / records as f64);
                    fewest[kind] = fewest[kind].min(records);
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
        let all = crowd.people().max(1) as f64;
        let mean =
            crowd.kinds.iter().zip(&linked).map(|(alike, p)| alike.people as f64 * p).sum::<f64>()
                / all;
        let smallest = fewest.iter().copied().min().filter(|&n| n != u64::MAX).unwrap_or(0);
        let figures = vec![
            Figure::count(
                "unique",
                people(&|k| fewest[k] == 1),
                "people whom a single record fits",
            ),
            Figure::count("fewest", smallest, "records that fit a person who fits any, at least")
                .higher_is_better(),
            Figure::share(
                "worst",
                linked.iter().copied().fold(0.0, f64::max),
                "the surest link of anybody",
            ),
            Figure::share("mean", mean, "mean probability of a right link"),
            Figure::share(
                "linked_20",
                people(&|k| linked[k] > 0.2) as f64 / all,
                "of people: linked with more than 20 %",
            ),
            Figure::count(
                "not_found",
                people(&|k| fewest[k] == u64::MAX),
                "people whom no record fits",
            )
            .higher_is_better(),
        ];
        let steps = (0..=100).map(|i| f64::from(i) / 100.0);
        let curve = steps
            .map(|c| (c, people(&|k| linked[k] >= c && linked[k] > 0.0) as f64 / all))
            .collect();
        let chart = Chart {
            title: "Record linkage".into(),
            x: "probability".into(),
            y: "share of people who are linked with at least this probability".into(),
            lines: vec![(String::new(), curve)],
        };
        let estimators = vec!["probability of the right record"];
        Ok(Report {
            figures,
            risk: Some(linked),
            estimators,
            chart: Some(chart),
            ..Report::default()
        })
    }
}
