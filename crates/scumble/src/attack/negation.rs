//! # Negation
//!
//! Rules out values that a person does not have.
//!
//! ## What the adversary knows
//! Who is in which class, and j negation statements about a person: "she does not have s". What
//! they say need not be known; the worst choice is taken.
//!
//! ## What she does
//! She strikes the records with those values from the person's class. A value of n_s records is
//! then believed with n_s / (n − the records struck). It is worst to strike the j most frequent
//! values behind the most frequent one; at least one value is left. Every release is attacked by
//! itself.
//!
//! ## What it says
//! For 0, 1, … j statements: the strongest belief that they leave, the mean over all records of the
//! strongest belief in their class, and the records whose class they leave with one value. With
//! people also how much each is at risk.
//!
//! ## Limits
//! The statements are the worst ones, and need not be true of anybody. Statements that are known,
//! about known people, are facts for `inference`. Knowledge of other kinds: `implications`,
//! `skyline`.
//!
//! ## Reference
//! Machanavajjhala, Gehrke, Kifer and Venkitasubramaniam, "ℓ-diversity: privacy beyond
//! k-anonymity", 2006/2007.

use super::attribute_linkage::believed;
use super::{Attack, Chart, Figure, Needs, Report, Scene};
use crate::catalogue::{Entry, Kind, Parameter};
use crate::exact::Ratio;
use crate::failure::Failure;
use crate::progress::Progress;
use rayon::prelude::*;

pub(super) const ENTRY: Entry<Box<dyn Attack>> = Entry {
    name: "negation",
    summary: "what is left when values are ruled out",
    source: include_str!("negation.rs"),
    parameters: &[Parameter {
        name: "statements",
        kind: Kind::Count(0, MOST),
        default: Some("1"),
        about: "so many values are ruled out, at most",
    }],
    build: |p| Ok(Box::new(Negation { statements: p.count("statements") })),
};

struct Negation {
    statements: u64,
}

/// The report has three figures for each number of values ruled out.
const MOST: u64 = 1000;

impl Attack for Negation {
    fn needs(&self) -> Needs {
        Needs { people: false, releases: 1 }
    }

    fn run(&self, scene: &Scene, progress: Progress<'_>) -> Result<Report, Failure> {
        let most = self.statements as usize;
        let groups: Vec<&Vec<(u32, u64)>> =
            scene.releases.iter().flat_map(|view| &view.groups).collect();
        let falling: Vec<Vec<u64>> =
            groups.par_iter().map(|g| falling(g.iter().map(|&(_, n)| n))).collect();
        let records = falling.iter().flatten().sum::<u64>().max(1) as f64;
        let (mut figures, mut worst, mut mean) = (Vec::new(), Vec::new(), Vec::new());
        for j in 0..=most {
            progress.step(j as u64, most as u64 + 1)?;
            let left: Vec<(Ratio, u64)> = falling
                .par_iter()
                .filter(|counts| !counts.is_empty())
                .map(|counts| strongest(counts, j))
                .collect();
            let largest = left.iter().map(|&(share, _)| share).max().map_or(0.0, Ratio::to_f64);
            let sum: f64 = left.iter().map(|&(share, n)| share.to_f64() * n as f64).sum();
            let certain =
                left.iter().filter(|(share, _)| *share == Ratio::whole(1)).map(|(_, n)| n).sum();
            let with = format!("with {j} ruled out");
            figures.push(Figure::share(
                format!("worst_{j}"),
                largest,
                format!("the strongest belief {with}"),
            ));
            figures.push(Figure::share(
                format!("mean_{j}"),
                sum / records,
                format!("mean over records {with}"),
            ));
            figures.push(Figure::count(
                format!("certain_{j}"),
                certain,
                format!("records of classes in which one value is left {with}"),
            ));
            worst.push((j as f64, largest));
            mean.push((j as f64, sum / records));
        }
        let chart = Chart {
            title: "Negation".into(),
            x: "values ruled out".into(),
            y: "belief in the likeliest value that is left".into(),
            lines: vec![("worst".into(), worst), ("mean".into(), mean)],
        };
        let risk = scene.people.as_ref().map(|crowd| {
            let of_kind = |kind| {
                let releases = 0..scene.releases.len();
                let left =
                    releases.map(|release| ruled_out(believed(scene, crowd, kind, release), most));
                left.fold(0.0, f64::max)
            };
            (0..crowd.kinds.len()).into_par_iter().map(of_kind).collect()
        });
        let estimators = vec!["by counting records, the likeliest other values ruled out"];
        Ok(Report { figures, risk, estimators, chart: Some(chart), ..Report::default() })
    }
}

fn falling(counts: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut counts: Vec<u64> = counts.collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    counts
}

/// The strongest belief in a class after j values are ruled out, and the records of the class.
fn strongest(falling: &[u64], j: usize) -> (Ratio, u64) {
    let left: u64 = falling[0] + falling.iter().skip(j + 1).sum::<u64>();
    (Ratio::new(falling[0].into(), left.into()), falling.iter().sum())
}

/// The same for beliefs.
fn ruled_out(mut believed: Vec<(u32, f64)>, j: usize) -> f64 {
    believed.sort_unstable_by(|a, b| b.1.total_cmp(&a.1));
    let Some(&(_, first)) = believed.first() else { return 0.0 };
    let rest: f64 = believed.iter().skip(j + 1).map(|(_, p)| p).sum();
    first / (first + rest)
}
