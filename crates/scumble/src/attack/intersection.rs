//! # Intersection
//!
//! Looks people up in several releases and keeps the values that all of them allow.
//!
//! ## What the adversary knows
//! The quasi-identifiers of people (a register) who are in at least two of the releases, and that a
//! person's value is the same in all of them.
//!
//! ## What she does
//! In every release she finds the values of the class that a person fits: their number is the
//! effective anonymity there (EA). The person's value is in all of these sets, so in their
//! intersection: the effective anonymity after (ÊA). Each value that is left is believed with 1/ÊA,
//! her confidence. A person is vulnerable if ÊA is smaller than the smallest EA.
//!
//! ## What it says
//! Over the people who are found in at least two releases: mean EA in each release and mean ÊA, the
//! share who are vulnerable, and PVP_C, the share of whom she is confident with C per cent or more
//! (PVP_100: a perfect breach), with what C came to in the best single release beside it. An empty
//! intersection means that the assumption failed (the value changed, or the person is in the wrong
//! class): such people are counted apart and in no other figure.
//!
//! ## Limits
//! It looks at which values occur, not how often, nor at what the values of other people imply:
//! `inference` does, and finds at least as much.
//!
//! ## Reference
//! Ganta, Kasiviswanathan and Smith, "Composition attacks and auxiliary information in data
//! privacy", 2008.

use super::{Attack, Beliefs, Chart, Crowd, Figure, Needs, Report, Scene};
use crate::catalogue::{Entry, Kind, Parameter};
use crate::failure::Failure;
use crate::progress::{Progress, Watch};
use rayon::prelude::*;

pub(super) const ENTRY: Entry<Box<dyn Attack>> = Entry {
    name: "intersection",
    summary: "the values that several releases all allow",
    source: include_str!("intersection.rs"),
    parameters: &[Parameter {
        name: "levels",
        kind: Kind::Text("100 50 25"),
        default: Some("100 50 25"),
        about: "confidence levels C in per cent, for PVP_C",
    }],
    build: |p| {
        let level = |text: &str| text.parse::<f64>().ok().filter(|c| *c > 0.0 && *c <= 100.0);
        let levels: Option<Vec<f64>> =
            p.text("levels").split([' ', ',']).filter(|t| !t.is_empty()).map(level).collect();
        let levels = levels.ok_or_else(|| {
            Failure::usage("wrong-parameter", "`levels` of `intersection` must be numbers above 0 and up to 100, such as `100 50 25`")
        })?;
        Ok(Box::new(Intersection { levels }))
    },
};

struct Intersection {
    levels: Vec<f64>,
}

/// What becomes of the people of a kind.
struct Found {
    people: u64,
    /// Number of values in each release; 0 where they are not found.
    before: Vec<u64>,
    /// Values that all releases allow.
    left: Vec<u32>,
    /// Records that fit them, in the releases where they are found.
    records: u64,
}

impl Found {
    fn releases(&self) -> u64 {
        self.before.iter().filter(|n| **n > 0).count() as u64
    }

    fn smallest(&self) -> u64 {
        self.before.iter().copied().filter(|&n| n > 0).min().unwrap_or(0)
    }
}

/// Kinds of people between two questions whether to go on: some hundredths of a second.
const KINDS: u64 = 10_000;

impl Attack for Intersection {
    fn needs(&self) -> Needs {
        Needs { people: true, releases: 2 }
    }

    fn run(&self, scene: &Scene, progress: Progress<'_>) -> Result<Report, Failure> {
        let crowd = scene.people()?;
        let watch = Watch::new(progress, 0);
        let kinds = (0..crowd.kinds.len()).into_par_iter();
        let found = kinds.map(|kind| watch.work(1, KINDS).then(|| look_up(scene, crowd, kind)));
        let found: Vec<Found> = found.collect::<Option<_>>().ok_or_else(Failure::cancelled)?;
        let in_two = |f: &&Found| f.releases() >= 2;
        let empty: u64 =
            found.iter().filter(in_two).filter(|f| f.left.is_empty()).map(|f| f.people).sum();
        let counted: Vec<&Found> =
            found.iter().filter(|f| f.releases() >= 2 && !f.left.is_empty()).collect();
        let all: u64 = counted.iter().map(|f| f.people).sum();
        if all == 0 {
            return Err(Failure::data(
                "nobody-shared",
                "nobody of the register is found in two releases",
            )
            .hint("intersect releases that share people"));
        }
        let mean = |of: &dyn Fn(&Found) -> f64| {
            counted.iter().map(|f| f.people as f64 * of(f)).sum::<f64>() / all as f64
        };
        let share = |test: &dyn Fn(&Found) -> bool| mean(&|f| f64::from(u8::from(test(f))));
        let drop = |f: &Found| f.smallest() - f.left.len() as u64;
        let mut figures = vec![
            Figure::count("people", all, "people found in at least two releases").descriptive(),
        ];
        for (i, view) in scene.releases.iter().enumerate() {
            let there: u64 = counted.iter().filter(|f| f.before[i] > 0).map(|f| f.people).sum();
            let sum: u64 = counted.iter().map(|f| f.people * f.before[i]).sum();
            let value = sum as f64 / there.max(1) as f64;
            figures.push(
                Figure::number(
                    format!("ea_{}", i + 1),
                    value,
                    format!("mean number of values in {}", view.name),
                )
                .higher_is_better(),
            );
        }
        figures.push(
            Figure::number(
                "ea_after",
                mean(&|f| f.left.len() as f64),
                "mean number of values left together",
            )
            .higher_is_better(),
        );
        let vulnerable: u64 = counted.iter().filter(|f| drop(f) > 0).map(|f| f.people).sum();
        figures.push(Figure::count(
            "vp",
            vulnerable,
            "vulnerable people: fewer values left than in any one release",
        ));
        figures.push(Figure::share("vp_share", vulnerable as f64 / all as f64, "of these people"));
        figures.push(Figure::number(
            "drop",
            mean(&|f| drop(f) as f64),
            "mean number of values lost",
        ));
        for &level in &self.levels {
            let reached = |values: u64| values > 0 && 100.0 / values as f64 >= level;
            let (after, before) =
                (share(&|f| reached(f.left.len() as u64)), share(&|f| reached(f.smallest())));
            figures.push(Figure::share(
                format!("pvp_{level}"),
                after,
                format!("confidence of {level} % or more (PVP_{level})"),
            ));
            figures.push(Figure::share(
                format!("before_{level}"),
                before,
                "of them from one release alone",
            ));
        }
        figures.push(
            Figure::number(
                "class",
                mean(&|f| f.records as f64 / f.releases() as f64),
                "mean number of records that fit a person in a release",
            )
            .higher_is_better(),
        );
        figures.push(
            Figure::count(
                "empty",
                empty,
                "people with an empty intersection: counted in nothing else",
            )
            .descriptive(),
        );
        let beliefs = Beliefs::new(found.iter().map(|f| {
            let values = if f.releases() >= 2 { &f.left[..] } else { &[] };
            values.iter().map(|&v| (v, 1.0 / values.len() as f64))
        }))
        .given_presence(crowd);
        let levels = || (1..=100).map(f64::from);
        let line = |of: &dyn Fn(&Found) -> u64| -> Vec<(f64, f64)> {
            levels().map(|c| (c / 100.0, share(&|f| 100.0 / of(f).max(1) as f64 >= c))).collect()
        };
        let chart = Chart {
            title: "Intersection".into(),
            x: "confidence".into(),
            y: "share of people whose value is found with at least this confidence".into(),
            lines: vec![
                ("all releases together".into(), line(&|f| f.left.len() as u64)),
                ("the best single release".into(), line(&Found::smallest)),
            ],
        };
        let (beliefs, estimators) = (Some(beliefs), vec!["by intersection: all values left alike"]);
        Ok(Report { figures, beliefs, estimators, chart: Some(chart), ..Report::default() })
    }
}

fn look_up(scene: &Scene, crowd: &Crowd, kind: usize) -> Found {
    let mut found = Found {
        people: crowd.kinds[kind].people,
        before: Vec::new(),
        left: Vec::new(),
        records: 0,
    };
    let mut first = true;
    for (release, view) in scene.releases.iter().enumerate() {
        let candidates = crowd.candidates(kind, release);
        let mut values: Vec<u32> = candidates
            .iter()
            .flat_map(|c| view.groups[c.group as usize].iter().map(|&(value, _)| value))
            .collect();
        if candidates.len() > 1 {
            values.sort_unstable();
            values.dedup();
        }
        found.before.push(values.len() as u64);
        found.records += candidates.iter().map(|c| c.records).sum::<u64>();
        if values.is_empty() {
            continue;
        }
        if std::mem::take(&mut first) {
            found.left = values;
        } else {
            found.left.retain(|v| values.binary_search(v).is_ok());
        }
    }
    found
}
