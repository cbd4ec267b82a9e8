//! # Attribute linkage
//!
//! Finds out people's sensitive values from the records they fit, without having to know which is
//! theirs.
//!
//! ## What the adversary knows
//! The quasi-identifiers of people (a register), and that they are in the release; without a
//! register, the release alone.
//!
//! ## What she does
//! In the records that a person fits she counts the sensitive values: a person is believed to have
//! a value with the share of these records that have it. In an anatomized release a record's values
//! are those of its group. Every release is attacked by itself; of several, the one that tells most
//! about a person counts (see `intersection` and `inference` for what they tell together).
//!
//! Where people may not be in a release (`--register-is population` or `some`), this is believed in
//! case they are, and nobody of them counts as certain.
//!
//! Over the release it is a rule "who shows these quasi-identifiers has s" with support (records of
//! the class) and confidence (share that has s). A class in which everybody has the same value
//! gives everybody away: homogeneity.
//!
//! ## What it says
//! How many people's value is certain, how strongly the others' are believed; classes with one
//! value; the strongest rules.
//!
//! ## Limits
//! Beliefs are shares of records. An adversary who knows more about people (how quasi-identifiers
//! and values go together, other people's values) may believe something else: see `bayes`,
//! `definetti`, `negation`.
//!
//! ## Reference
//! Fung, Wang, Chen and Yu, "Privacy-preserving data publishing: a survey of recent developments",
//! 2010; Machanavajjhala et al., "ℓ-diversity: privacy beyond k-anonymity", 2006 (homogeneity).

use super::{Attack, Beliefs, Crowd, Figure, Needs, Report, Scene, View};
use crate::catalogue::{Entry, Kind, Parameter};
use crate::exact::Ratio;
use crate::failure::Failure;
use crate::progress::Progress;
use rayon::prelude::*;
use std::cmp::Reverse;

pub(super) const ENTRY: Entry<Box<dyn Attack>> = Entry {
    name: "attribute-linkage",
    summary: "people's sensitive values from the records they fit; homogeneous classes, rules",
    source: include_str!("attribute_linkage.rs"),
    parameters: &[
        Parameter {
            name: "confidence",
            kind: Kind::Number("0", Some("1")),
            default: Some("0.9"),
            about: "rules of at least this confidence are counted",
        },
        Parameter {
            name: "rules",
            kind: Kind::Count(0, 1_000_000),
            default: Some("5"),
            about: "so many of the strongest rules are shown",
        },
    ],
    build: |p| {
        Ok(Box::new(AttributeLinkage {
            confidence: p.number("confidence"),
            rules: p.count("rules") as usize,
        }))
    },
};

/// How beliefs are come by.
pub(super) const COUNTED: &str = "by counting records";

struct AttributeLinkage {
    confidence: Ratio,
    rules: usize,
}

/// Who is in this class has this value.
struct Rule<'a> {
    view: &'a View,
    group: usize,
    value: u32,
    /// Records of the class that have the value, and all.
    counts: (u64, u64),
}

impl Attack for AttributeLinkage {
    fn needs(&self) -> Needs {
        Needs { people: false, releases: 1 }
    }

    fn run(&self, scene: &Scene, progress: Progress<'_>) -> Result<Report, Failure> {
        progress.step(0, 1)?;
        let mut rules: Vec<Rule<'_>> =
            scene.releases.iter().flat_map(|view| self.rules(view)).collect();
        let homogeneous = || rules.iter().filter(|r| r.counts.0 == r.counts.1);
        let mut figures = vec![
            Figure::count(
                "homogeneous",
                homogeneous().count() as u64,
                "classes in which everybody has the same value",
            ),
            Figure::count(
                "homogeneous_records",
                homogeneous().map(|r| r.counts.1).sum(),
                "records in such classes",
            ),
            Figure::count(
                "rules",
                rules.len() as u64,
                format!("rules of confidence {} or more", self.confidence.to_f64()),
            ),
        ];
        let strongest = scene.releases.iter().flat_map(|v| &v.groups).filter_map(|g| {
            let total: u64 = g.iter().map(|(_, n)| n).sum();
            g.iter()
                .map(|&(_, n)| n)
                .max()
                .map(|most| Ratio::new(most.into(), u128::from(total.max(1))))
        });
        let strongest = strongest.max().map_or(0.0, Ratio::to_f64);
        figures.push(Figure::share("confidence", strongest, "the strongest rule's confidence"));
        rules.sort_by_key(|r| {
            (Reverse(Ratio::new(r.counts.0.into(), r.counts.1.into())), Reverse(r.counts.1))
        });
        let findings = rules.iter().take(self.rules).map(|r| r.words(scene)).collect();
        let Some(crowd) = &scene.people else {
            return Ok(Report { figures, findings, ..Report::default() });
        };
        let beliefs = beliefs(scene, crowd);
        let (summary, mut chart) = beliefs.summary(crowd, COUNTED);
        chart.title = "Attribute linkage".into();
        figures.splice(0..0, summary);
        let (beliefs, estimators) = (Some(beliefs), vec![COUNTED]);
        Ok(Report {
            figures,
            beliefs,
            estimators,
            chart: Some(chart),
            findings,
            ..Report::default()
        })
    }
}

impl AttributeLinkage {
    fn rules<'a>(&self, view: &'a View) -> Vec<Rule<'a>> {
        let of_group = |(group, histogram): (usize, &Vec<(u32, u64)>)| {
            let all: u64 = histogram.iter().map(|(_, n)| n).sum();
            let strong = |n: u64| Ratio::new(n.into(), u128::from(all.max(1))) >= self.confidence;
            let pairs: Vec<(u32, u64)> =
                histogram.iter().copied().filter(|&(_, n)| strong(n)).collect();
            pairs.into_iter().map(move |(value, n)| Rule { view, group, value, counts: (n, all) })
        };
        view.groups.par_iter().enumerate().flat_map_iter(of_group).collect()
    }
}

impl Rule<'_> {
    fn words(&self, scene: &Scene) -> String {
        let (with, all) = self.counts;
        let value = &scene.values[self.value as usize];
        let shown = self.view.shown(self.group);
        format!("{shown} → {} = {value}: {with} of {all} records", scene.attribute)
    }
}

/// What is believed of everybody from one release: the one that tells most.
pub(super) fn beliefs(scene: &Scene, crowd: &Crowd) -> Beliefs {
    let of_kind = |kind: usize| {
        let from = (0..scene.releases.len()).map(|release| believed(scene, crowd, kind, release));
        let best = |pairs: &[(u32, f64)]| pairs.iter().map(|(_, p)| *p).fold(0.0, f64::max);
        from.reduce(|a, b| if best(&b) > best(&a) { b } else { a }).unwrap_or_default()
    };
    let kinds: Vec<Vec<(u32, f64)>> = (0..crowd.kinds.len()).into_par_iter().map(of_kind).collect();
    Beliefs::new(kinds).given_presence(crowd)
}

/// What is believed of people of a kind from one release: the share of each value among the records
/// that they fit.
pub(super) fn believed(
    scene: &Scene,
    crowd: &Crowd,
    kind: usize,
    release: usize,
) -> Vec<(u32, f64)> {
    let candidates = crowd.candidates(kind, release);
    let groups = &scene.releases[release].groups;
    let all: u64 = candidates.iter().map(|c| c.records).sum();
    let mut believed: Vec<(u32, f64)> = Vec::new();
    for candidate in candidates {
        let histogram = &groups[candidate.group as usize];
        let size: u64 = histogram.iter().map(|(_, n)| n).sum();
        for &(value, n) in histogram {
            // One division of whole numbers, so that certainty is exactly 1 where one group is
            // fitted.
            let share = if candidates.len() == 1 {
                n as f64 / size as f64
            } else {
                n as f64 * candidate.records as f64 / (size as f64 * all as f64)
            };
            match believed.iter_mut().find(|(v, _)| *v == value) {
                Some((_, p)) => *p += share,
                None => believed.push((value, share)),
            }
        }
    }
    believed
}
