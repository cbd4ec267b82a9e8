//! What an attack found, as the answer tells it.

use super::AttackRequest;
use super::material::Material;
use crate::answer::{Adversary, AttackOutcome, Figure, Person, ValueProbability};
use crate::publisher::Task;
use crate::table::write::quoted;
use scumble::attack::{Chart, Crowd, Report, score};
use scumble::catalogue::Parameters;
use std::fmt::Write;

/// An attack's report as the answer tells it. What was found about everybody is added to `people`,
/// if that is wanted.
pub(super) fn told(
    name: &str,
    parameters: &Parameters,
    mut report: Report,
    material: &Material,
    options: Task<'_, AttackRequest>,
    people: &mut String,
) -> (AttackOutcome, Option<Chart>) {
    let scene = &material.scene;
    let mut outcome = AttackOutcome {
        attack: name.into(),
        adversary: Adversary::of(material, parameters),
        people: scene.people.as_ref().map(Crowd::people),
        figures: Vec::new(),
        top: Vec::new(),
        findings: std::mem::take(&mut report.findings),
        breaches: Vec::new(),
        notes: std::mem::take(&mut report.notes),
    };
    let mut figures = std::mem::take(&mut report.figures);
    if let Some(crowd) = report.crowd(scene) {
        if let (Some(beliefs), Some(truth)) = (&report.beliefs, &material.truth) {
            figures.extend(score(crowd, beliefs, truth));
        }
        let found = Found { crowd, report: &report, material };
        // Who was counted cannot be listed.
        let usual = if options.publisher.engine.is_some() { 0 } else { 5 };
        let top = options.top.unwrap_or(usual);
        let ranked = found.ranked(top);
        outcome.top = ranked
            .into_iter()
            .map(|(row, risk)| found.person(row, risk, options.show_values))
            .collect();
        if options.people.is_some() && (report.beliefs.is_some() || report.risk.is_some()) {
            found.write(name, people);
        }
    }
    outcome.figures = figures.into_iter().map(Figure::from).collect();
    (outcome, report.chart)
}

impl Adversary {
    fn of(material: &Material, parameters: &Parameters) -> Adversary {
        let crowd = material.scene.people.as_ref();
        Adversary {
            knows: crowd.map_or_else(Vec::new, |c| c.known.clone()),
            register_is: crowd.map(|c| c.membership.into()),
            releases: material.scene.releases.len(),
            facts: material.scene.known.len(),
            parameters: parameters.texts(),
        }
    }
}

/// What an attack found out about people.
struct Found<'a> {
    crowd: &'a Crowd,
    report: &'a Report,
    material: &'a Material,
}

impl Found<'_> {
    fn risk(&self, kind: usize) -> Option<f64> {
        match (&self.report.risk, &self.report.beliefs) {
            (Some(risk), _) => risk.get(kind).copied(),
            (None, Some(beliefs)) => beliefs.best(kind).map(|(_, p)| p),
            (None, None) => None,
        }
    }

    /// The rows most at risk, the first rows of equals.
    fn ranked(&self, top: usize) -> Vec<(usize, f64)> {
        let mut rows: Vec<(usize, f64)> = (self.crowd.kind_of.iter().enumerate())
            .filter_map(|(row, &kind)| Some((row, self.risk(kind as usize)?)))
            .filter(|(_, risk)| *risk > 0.0)
            .collect();
        let order = |a: &(usize, f64), b: &(usize, f64)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
        if top < rows.len() {
            rows.select_nth_unstable_by(top, order);
            rows.truncate(top);
        }
        rows.sort_unstable_by(order);
        rows
    }

    fn name(&self, row: usize) -> Option<&str> {
        self.material.names.as_ref().map(|c| c.values.get(c.codes[row]))
    }

    fn values(&self, kind: usize) -> Vec<ValueProbability> {
        let pairs = self.report.beliefs.as_ref().map_or(&[][..], |b| b.of(kind));
        let mut pairs: Vec<(u32, f64)> = pairs.to_vec();
        pairs.sort_by(|a, b| b.1.total_cmp(&a.1));
        pairs
            .into_iter()
            .map(|(v, probability)| {
                let value = self.material.scene.values[v as usize].clone();
                ValueProbability { value, probability }
            })
            .collect()
    }

    fn groups(&self, kind: usize) -> Vec<u64> {
        (0..self.material.scene.releases.len())
            .map(|r| self.crowd.candidates(kind, r).len() as u64)
            .collect()
    }

    fn person(&self, row: usize, risk: f64, show_values: bool) -> Person {
        let kind = self.crowd.kind_of[row] as usize;
        let values = if show_values { self.values(kind) } else { Vec::new() };
        Person {
            row: row as u64 + 1,
            name: self.name(row).map(str::to_owned),
            risk,
            estimator: self.report.estimator(kind).to_owned(),
            groups: self.groups(kind),
            values,
        }
    }

    /// One line for every row of the register. `certain` says whether the value is: `yes`, `no`, or
    /// nothing where the attack is not about values.
    fn write(&self, attack: &str, text: &mut String) {
        if text.is_empty() {
            let groups: String =
                (1..=self.material.scene.releases.len()).map(|i| format!(",groups_{i}")).collect();
            let name = self
                .material
                .names
                .as_ref()
                .map_or(String::new(), |c| format!(",{}", quoted(&c.name, b',')));
            let _ = writeln!(text, "attack,row{name},risk,estimator,certain{groups},values");
        }
        for (row, &kind) in self.crowd.kind_of.iter().enumerate() {
            let kind = kind as usize;
            let name = self.name(row).map_or(String::new(), |n| format!(",{}", quoted(n, b',')));
            let risk = self.risk(kind).map_or(String::new(), |r| format!("{r:.6}"));
            let groups: String = self.groups(kind).iter().map(|n| format!(",{n}")).collect();
            let values: Vec<String> = self
                .values(kind)
                .iter()
                .map(|v| format!("{} {:.6}", v.value, v.probability))
                .collect();
            let beliefs = self.report.beliefs.as_ref().filter(|b| !b.of(kind).is_empty());
            let certain = beliefs.map_or("", |b| if b.is_certain(kind) { "yes" } else { "no" });
            let estimator = if risk.is_empty() { "" } else { self.report.estimator(kind) };
            let (row, estimator) = (row + 1, quoted(estimator, b','));
            let values = quoted(&values.join("; "), b',');
            let _ = writeln!(
                text,
                "{attack},{row}{name},{risk},{estimator},{certain}{groups},{values}"
            );
        }
    }
}
