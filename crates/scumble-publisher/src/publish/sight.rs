//! What everybody learns from a new release, attribute by attribute.

use crate::answer::{Passage, Reason, exposed_lines};
use crate::ledger::{New, Recollection};
use crate::publish::source::{Cell, Extract, Place as Column};
use scumble::attack::{In, Knowledge, Membership, Scene, on_releases};
use scumble::catalogue::Parameters;
use scumble::failure::{Argument, Failure, Failures, Remedy};
use scumble::gate::{Gate, Memory, Panelist, Seen, Strongest, judge};
use scumble::progress::{Progress, Report};
use scumble::register::{Register, RegisterColumn};
use scumble::table::published;
use std::collections::BTreeMap;

/// What everybody learns about a sensitive attribute.
pub(crate) struct Sight {
    memory: Memory,
    /// The number in it of everybody in the extract.
    number_of: Vec<u32>,
    seen: Vec<Seen>,
}

impl Sight {
    /// Puts a new release together with what is remembered of an attribute, for everybody who has
    /// it: about everybody's newest value, and about values that some people had before.
    pub fn all_of(
        recollection: &Recollection,
        gate: &Gate,
        extract: &Extract,
        new: &New<'_>,
        attribute: &str,
        progress: Progress<'_>,
    ) -> Result<Vec<Sight>, Failures> {
        let mut sights = vec![Sight::of(recollection, gate, extract, new, attribute, progress)?];
        for age in 1..=sights[0].memory.replaced() {
            progress.step(0, 0)?;
            let (mut memory, number_of) = recollection.memory(new, attribute, age);
            // The allowance of the whole series is one for all values of a person.
            if let Some(new) = memory.releases.last_mut() {
                let seen = sights.iter().flat_map(|sight| &sight.seen);
                new.newly = seen.map(|s| (s.adversary.name.clone(), s.newly)).collect();
            }
            let seen = judge(&memory, gate, None, progress)?;
            sights.push(Sight { memory, number_of, seen });
        }
        Ok(sights)
    }

    fn of(
        recollection: &Recollection,
        gate: &Gate,
        extract: &Extract,
        new: &New<'_>,
        attribute: &str,
        progress: Progress<'_>,
    ) -> Result<Sight, Failures> {
        progress.step(0, 0)?;
        let (memory, number_of) = recollection.memory(new, attribute, 0);
        let asked = gate.panel.contains(&Panelist::DeFinetti);
        let learns = published(&new.release.sensitive).iter().any(|a| a.name == attribute);
        let definetti = (asked && learns).then(|| {
            let beliefs = match definetti(extract, new, attribute, &UntilLate(progress)) {
                Err(_) if progress.at(0, 0) && progress.is_late() => return Ok(None),
                beliefs => beliefs?,
            };
            let mut strongest: Strongest = vec![(0, 0.0); memory.people];
            for (record, belief) in beliefs.into_iter().enumerate() {
                if let Some((code, p)) = belief.and_then(|(text, p)| Some((memory.find(&text)?, p)))
                {
                    strongest[number_of[record] as usize] = (code, p);
                }
            }
            Ok::<_, Failures>(Some(strongest))
        });
        let definetti = definetti.transpose()?;
        let mut seen = judge(&memory, gate, definetti.as_ref().and_then(Option::as_ref), progress)?;
        if definetti.is_some_and(|beliefs| beliefs.is_none()) {
            seen.iter_mut().for_each(|seen| seen.lacks(Panelist::DeFinetti, &memory));
        }
        Ok(Sight { memory, number_of, seen })
    }

    /// Whether what everybody learns may be published.
    pub fn holds(&self) -> bool {
        self.seen.iter().all(Seen::holds)
    }

    /// Why not, and what would help.
    pub fn reasons(&self, show_values: bool) -> Vec<Reason> {
        self.seen.iter().flat_map(|seen| reasons(&self.memory, seen, show_values)).collect()
    }

    /// The records of the extract whose people are exposed, rising.
    pub fn records(&self) -> Vec<u32> {
        let mut exposed = vec![false; self.memory.people];
        for breach in self.seen.iter().flat_map(|s| &s.breaches) {
            breach.people.iter().for_each(|&p| exposed[p as usize] = true);
        }
        let of = (0u32..).zip(&self.number_of);
        of.filter(|(_, p)| exposed[**p as usize]).map(|(record, _)| record).collect()
    }

    /// Finds reasons for what everybody learns. That takes longer than the verdict, which does not
    /// depend on it.
    pub fn explain(&mut self, progress: Progress<'_>) {
        for seen in &mut self.seen {
            seen.explain(&self.memory, progress);
        }
    }

    /// Everybody who is exposed, as lines of a CSV file.
    pub fn exposed_lines(&self, show_values: bool) -> String {
        self.seen.iter().map(|seen| exposed_lines(&self.memory, seen, show_values)).collect()
    }

    /// What everybody learns, as the answer tells it.
    pub fn passages<'a>(
        &'a self,
        gate: &'a Gate,
        show_values: bool,
    ) -> impl Iterator<Item = Passage> + 'a {
        self.seen.iter().map(move |seen| Passage::of(&self.memory, gate, seen, show_values))
    }
}

/// Cancels what cannot be cut short when time is up.
struct UntilLate<'a>(Progress<'a>);

impl Report for UntilLate<'_> {
    fn at(&self, done: u64, total: u64) -> bool {
        self.0.improves(done, total)
    }
}

/// Why the gate refuses, and what would help.
fn reasons(memory: &Memory, seen: &Seen, show_values: bool) -> Vec<Reason> {
    let attribute = &memory.attribute;
    let which = if memory.judged.is_some() { ", as it was before it changed" } else { "" };
    let mut reasons = Vec::new();
    for (i, broken) in seen.broken.iter().enumerate() {
        let message = format!("`{attribute}`{which}: {broken}");
        let mut failure = Failure::refused("exposes-people", message).column(attribute);
        if !show_values && i + 1 == seen.broken.len() {
            failure = failure.remedy(
                Remedy::default()
                    .and_give(Argument::ShowValues)
                    .then(" tells the values and the reasons"),
            );
        }
        reasons.push(Reason::from(&failure));
    }
    reasons
}

/// What somebody believes of everybody who learns from the new release how quasi-identifiers and
/// values go together: the likeliest value of each record's person.
fn definetti(
    extract: &Extract,
    new: &New<'_>,
    attribute: &str,
    progress: Progress<'_>,
) -> Result<Vec<Option<(String, f64)>>, Failures> {
    let column = |cell: &Cell| {
        let Column::Quasi(i) = cell.place else { return None };
        let taxonomy = &extract.table.quasi[i].taxonomy;
        let codes = extract
            .rows
            .of_records()
            .iter()
            .map(|&row| extract.table.quasi_codes[i][row as usize])
            .collect();
        let texts =
            (0..taxonomy.leaves() as u32).map(|leaf| taxonomy.leaf(leaf).to_owned()).collect();
        Some(RegisterColumn { name: cell.name.clone(), texts, codes })
    };
    let register = Register::new(extract.layout.iter().filter_map(column).collect())?;
    let told =
        new.groups.iter().map(|&g| if g == New::NOWHERE { In::No } else { In::Yes }).collect();
    let knowledge = Knowledge {
        register: &register,
        membership: Membership::Members,
        told: vec![Some(told)],
        apart: None,
    };
    let scene = Scene::watched(
        vec![(new.name.clone(), new.release.clone())],
        Some(attribute),
        Some(&knowledge),
        0,
        progress,
    )?;
    let entry = on_releases().find(|e| e.name == "definetti");
    let entry = entry.ok_or_else(|| Failure::bug("internal", "there is no attack `definetti`"))?;
    let parameters =
        Parameters::read(entry.name, entry.parameters, &BTreeMap::new()).map_err(Failures)?;
    let report = (entry.build)(&parameters)?.run(&scene, progress)?;
    let (Some(crowd), Some(beliefs)) = (report.crowd(&scene), &report.beliefs) else {
        return Ok(Vec::new());
    };
    let best = |kind: &u32| {
        beliefs.best(*kind as usize).map(|(v, p)| (scene.values[v as usize].clone(), p))
    };
    Ok(crowd.kind_of.iter().map(best).collect())
}
