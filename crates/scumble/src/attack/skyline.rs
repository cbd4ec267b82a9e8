//! # Skyline
//!
//! Uses the worst knowledge of three kinds: about a person, about others, and about others like the
//! person.
//!
//! ## What the adversary knows
//! Who is in which class. About a person and a value besides: ℓ values that the person does not
//! have, the values of k other people, and m people for each of whom "if she has it, the person has
//! it". What they say need not be known; the worst is taken.
//!
//! ## What she does
//! She weighs every way to deal the values of the classes to their people that is left. The
//! strongest belief that so much knowledge can bring about is computed exactly (see
//! `privacy-skyline`, which promises that it stays below c). Every release is attacked by itself;
//! of several the worst counts.
//!
//! ## What it says
//! The strongest belief about anybody for every amount of knowledge up to (ℓ, k, m), as a table.
//!
//! ## Limits
//! A bound: the worst knowledge need not be true. Knowledge of other kinds: `implications`,
//! `bayes`, `definetti`.
//!
//! ## Reference
//! Chen, LeFevre and Ramakrishnan, "Privacy skyline: privacy with multidimensional adversarial
//! knowledge", 2007.

use super::{Attack, Chart, Figure, Needs, Report, Scene};
use crate::catalogue::{Entry, Kind, Parameter};
use crate::class::Histogram;
use crate::exact::Fraction;
use crate::failure::Failure;
use crate::model::disclosures_by_skyline;
use crate::progress::Progress;

pub(super) const ENTRY: Entry<Box<dyn Attack>> = Entry {
    name: "skyline",
    summary: "the strongest belief given ℓ ruled-out values, k known people and m likely alike",
    source: include_str!("skyline.rs"),
    parameters: &[
        Parameter {
            name: "l",
            kind: Kind::Count(0, MOST),
            default: Some("2"),
            about: "values that the person does not have",
        },
        Parameter {
            name: "k",
            kind: Kind::Count(0, MOST),
            default: Some("2"),
            about: "other people whose values are known",
        },
        Parameter {
            name: "m",
            kind: Kind::Count(0, MOST),
            default: Some("2"),
            about: "people whose having a value implies the person's",
        },
    ],
    build: |p| Ok(Box::new(Skyline { most: ["l", "k", "m"].map(|name| p.count(name) as usize) })),
};

/// The table has so many lines and columns at most.
const MOST: u64 = 20;

struct Skyline {
    /// ℓ, k and m.
    most: [usize; 3],
}

impl Attack for Skyline {
    fn needs(&self) -> Needs {
        Needs { people: false, releases: 1 }
    }

    fn tells_of_people(&self) -> bool {
        false
    }

    fn run(&self, scene: &Scene, progress: Progress<'_>) -> Result<Report, Failure> {
        let [most_l, k, m] = self.most;
        let releases: Vec<Vec<Histogram>> = scene
            .releases
            .iter()
            .map(|view| view.groups.iter().cloned().map(Histogram).collect())
            .collect();
        // By ℓ, k and m.
        let mut worst = vec![vec![vec![Fraction::whole(0); m + 1]; k + 1]; most_l + 1];
        for (l, worst) in worst.iter_mut().enumerate() {
            for found in releases.iter().map(|classes| {
                progress.step(l as u64, most_l as u64 + 1)?;
                Ok::<_, Failure>(disclosures_by_skyline(classes, [l, k, m]))
            }) {
                let found = found?;
                let pairs = worst.iter_mut().flatten().zip(found.into_iter().flatten());
                pairs
                    .filter(|(worst, found)| found > *worst)
                    .for_each(|(worst, found)| *worst = found);
            }
        }
        let most = worst[most_l][k][m].to_f64();
        let figures = vec![
            Figure::share(
                "worst",
                most,
                format!("the strongest belief with (ℓ, k, m) = ({most_l}, {k}, {m})"),
            ),
            Figure::share(
                "knowing_nothing",
                worst[0][0][0].to_f64(),
                "the strongest belief with (0, 0, 0)",
            ),
        ];
        let findings = table(&worst);
        let chart = Chart {
            title: "Skyline".into(),
            x: "people who imply the person's value (m)".into(),
            y: "the strongest belief".into(),
            lines: lines(&worst),
        };
        Ok(Report { figures, findings, chart: Some(chart), ..Report::default() })
    }
}

/// One line for each (ℓ, k), and one column for each m.
fn table(worst: &[Vec<Vec<Fraction>>]) -> Vec<String> {
    let columns = (0..worst[0][0].len()).map(|m| format!("{:>8}", format!("m = {m}")));
    let mut table = vec![format!("{:<16}{}", "", columns.collect::<String>())];
    for (l, by_k) in worst.iter().enumerate() {
        for (k, by_m) in by_k.iter().enumerate() {
            let cells: String = by_m.iter().map(|p| format!("{:>8.4}", p.to_f64())).collect();
            table.push(format!("{:<16}{cells}", format!("ℓ = {l}, k = {k}")));
        }
    }
    table
}

fn lines(worst: &[Vec<Vec<Fraction>>]) -> Vec<(String, Vec<(f64, f64)>)> {
    let line =
        |by_m: &[Fraction]| by_m.iter().enumerate().map(|(m, p)| (m as f64, p.to_f64())).collect();
    let of_l = |(l, by_k): (usize, &Vec<Vec<Fraction>>)| {
        by_k.iter()
            .enumerate()
            .map(|(k, by_m)| (format!("ℓ = {l}, k = {k}"), line(by_m)))
            .collect::<Vec<_>>()
    };
    worst.iter().enumerate().flat_map(of_l).collect()
}
