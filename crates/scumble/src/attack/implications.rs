//! # Implications
//!
//! Uses the worst implications between people that an adversary may know.
//!
//! ## What the adversary knows
//! Who is in which class, and k implications "if these people have these values, then one of those
//! people has one of those values". What they say need not be known; the worst ones are taken.
//!
//! ## What she does
//! She weighs every way to deal the values of the classes to their people that the implications
//! allow. The strongest belief that any k implications can bring about is computed exactly (see
//! `ck-safety`, which promises that it stays below c). Every release is attacked by itself.
//!
//! ## What it says
//! The strongest belief about anybody for 0, 1, … implications, and how many make somebody's value
//! certain.
//!
//! ## Limits
//! A bound: the worst implications need not be true. Knowledge of frequencies is not expressed by
//! implications: see `bayes` and `definetti`.
//!
//! ## Reference
//! Martin, Kifer, Machanavajjhala, Gehrke and Halpern, "Worst-case background knowledge for
//! privacy-preserving data publishing", 2007.

use super::{Attack, Chart, Figure, Needs, Report, Scene, View};
use crate::catalogue::{Entry, Kind, Parameter};
use crate::exact::Fraction;
use crate::failure::Failure;
use crate::model::disclosures_by_implications;
use crate::progress::Progress;

pub(super) const ENTRY: Entry<Box<dyn Attack>> = Entry {
    name: "implications",
    summary: "the strongest belief that any k implications between people bring about",
    source: include_str!("implications.rs"),
    parameters: &[Parameter {
        name: "implications",
        kind: Kind::Count(0, 100),
        default: Some("5"),
        about: "so many are known, at most",
    }],
    build: |p| Ok(Box::new(Implications { most: p.count("implications") as usize })),
};

struct Implications {
    most: usize,
}

impl Attack for Implications {
    fn needs(&self) -> Needs {
        Needs { people: false, releases: 1 }
    }

    fn tells_of_people(&self) -> bool {
        false
    }

    fn run(&self, scene: &Scene, progress: Progress<'_>) -> Result<Report, Failure> {
        let mut lines = Vec::new();
        let mut worst = vec![Fraction::whole(0); self.most + 1];
        for (view, done) in scene.releases.iter().zip(0..) {
            progress.step(done, scene.releases.len() as u64)?;
            let found = self.disclosures(view);
            let line = found.iter().enumerate().map(|(k, p)| (k as f64, p.to_f64())).collect();
            lines.push((view.name.clone(), line));
            worst = worst.into_iter().zip(found).map(|(a, b)| a.max(b)).collect();
        }
        let figure = |(k, p): (usize, &Fraction)| {
            Figure::share(
                format!("implications_{k}"),
                p.to_f64(),
                format!("the strongest belief with {k} implications"),
            )
        };
        let figures = worst.iter().enumerate().map(figure).collect();
        let certain = worst.iter().position(|p| *p == Fraction::whole(1));
        let findings = match certain {
            Some(0) => vec!["somebody's value is certain without any implication".into()],
            Some(k) => vec![format!("{k} implications can make somebody's value certain")],
            None => vec![format!("{} implications make nobody's value certain", self.most)],
        };
        let chart = Chart {
            title: "Implications".into(),
            x: "implications known".into(),
            y: "the strongest belief that they bring about".into(),
            lines,
        };
        Ok(Report { figures, findings, chart: Some(chart), ..Report::default() })
    }
}

impl Implications {
    /// By number of implications.
    fn disclosures(&self, view: &View) -> Vec<Fraction> {
        let counts = |group: &Vec<(u32, u64)>| group.iter().map(|&(_, n)| n).collect::<Vec<u64>>();
        let classes: Vec<Vec<u64>> =
            view.groups.iter().filter(|g| !g.is_empty()).map(counts).collect();
        // A class of v values is given away by v − 1 implications, all about one of its people.
        let fewest = classes.iter().map(Vec::len).min().unwrap_or(1);
        let mut found = disclosures_by_implications(classes, self.most.min(fewest - 1));
        found.resize(self.most + 1, Fraction::whole(1));
        found
    }
}
