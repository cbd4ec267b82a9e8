//! What follows from the releases that one adversary has.

use super::memory::{Crowd, Memory};
use super::reasons::contradiction;
use super::rows::Rows;
use super::seen::Breach;
use super::{Gate, Panelist};
use crate::exact::Ratio;
use crate::failure::Failure;
use crate::inference::worlds::{Options, Worlds, worlds};
use crate::inference::{
    Beliefs, Evidence, Exhausted, Forced, Inference, Outcome, forced_within, infer_from,
};
use crate::progress::Watch;
use hashbrown::HashMap;
use std::collections::BTreeMap;

/// More undecided possibilities than this are left so, and said, unless beliefs are judged.
pub(super) const SOLVED: usize = 500_000;

/// Values that are believed with less, and are neither proven nor excluded, count as impossible.
const NOTHING: f64 = 1e-5;

/// What follows from some releases.
#[derive(Debug)]
pub(super) struct Learnt {
    pub crowd: Crowd,
    pub evidence: Evidence,
    pub forced: Forced,
    /// The belief of maximum entropy, where beliefs are judged.
    beliefs: Option<Beliefs>,
    /// The share of worlds, likewise.
    worlds: Option<Worlds>,
    /// Outcomes that are neither proven nor excluded, and believed with next to nothing: they count
    /// as impossible. Rising.
    doubtful: Vec<u32>,
    /// Whether everything was looked for; otherwise only what flows prove.
    complete: bool,
    /// Whether beliefs are judged that have to be solved or counted.
    judged: bool,
    /// Whether work or time was used up.
    pub exhausted: Option<Exhausted>,
}

/// What is known of the people of a kind.
#[derive(Clone, Copy, Default)]
pub(super) struct Known {
    /// Values that are possible; 0 if nothing is known of them.
    pub candidates: u64,
    /// The value, if it is certain.
    pub certain: Option<u32>,
    /// Values that each release allows.
    pub intersection: u64,
    /// The strongest belief: value, probability, whose.
    pub strongest: (u32, f64, Option<Panelist>),
    /// Whether a belief that is judged did not settle.
    pub unsettled: bool,
    /// What was used up before it was found out what is known of them.
    pub undecided: Option<Exhausted>,
}

impl Known {
    /// Whether each of the values that every release allows is believed with this confidence.
    pub fn reaches(&self, confidence: Ratio) -> bool {
        self.intersection > 0 && confidence <= Ratio::new(1, u128::from(self.intersection))
    }
}

/// How many values earlier releases leave possible for the people of the new one.
pub(super) fn left(memory: &Memory, watch: &Watch<'_>) -> Result<BTreeMap<u64, u64>, Failure> {
    let mut left = BTreeMap::new();
    let Some(new) = memory.releases.len().checked_sub(1) else { return Ok(left) };
    let earlier: Vec<usize> = (0..new).collect();
    let gate = Gate { panel: Vec::new(), ..Gate::default() };
    let before = learn(memory, &gate, &earlier, watch)?;
    let known = before.everything(memory, &gate);
    for (person, _) in
        memory.releases[new].place.iter().enumerate().filter(|(_, place)| **place != 0)
    {
        if !memory.is_judged(person as u32) {
            continue;
        }
        let values = known[before.crowd.kind_of[person] as usize].candidates;
        *left.entry(values).or_default() += u64::from(values > 0);
    }
    left.remove(&0);
    Ok(left)
}

/// What flows prove from these releases. What they leave undecided, and beliefs, are for
/// [`Learnt::deepen`].
pub(super) fn learn(
    memory: &Memory,
    gate: &Gate,
    releases: &[usize],
    watch: &Watch<'_>,
) -> Result<Learnt, Failure> {
    let crowd = memory.crowd(releases);
    let evidence = memory.evidence(&crowd, releases, watch);
    watch.go_on();
    watch.check()?;
    let forced = forced_within(&evidence, gate.work, watch);
    watch.check()?;
    let forced = forced.map_err(|c| contradiction(memory, releases, &crowd, &evidence, &c))?;
    let exhausted = forced.exhausted;
    Ok(Learnt {
        crowd,
        evidence,
        forced,
        beliefs: None,
        worlds: None,
        doubtful: Vec::new(),
        complete: false,
        judged: false,
        exhausted,
    })
}

impl Learnt {
    /// The same with beliefs and what their solution proves. Solving for beliefs may prove more to
    /// be impossible than flows do, where people who have to do with each other are many: it is
    /// done if anything was left undecided, or if beliefs are judged.
    pub fn deepen(
        self,
        memory: &Memory,
        gate: &Gate,
        releases: &[usize],
        watch: &Watch<'_>,
    ) -> Result<Learnt, Failure> {
        let Learnt { crowd, evidence, forced, mut exhausted, .. } = self;
        let wrong = |c| contradiction(memory, releases, &crowd, &evidence, &c);
        let limited = gate.limit(&memory.attribute).is_some();
        let wants = |panelist| limited && gate.panel.contains(&panelist);
        let judged = wants(Panelist::MaximumEntropy) || wants(Panelist::Worlds);
        let solved =
            wants(Panelist::MaximumEntropy) || (1..=SOLVED).contains(&forced.undecided.len());
        let (forced, beliefs) = if solved && watch.go_on() {
            let found = infer_from(&evidence, forced, gate.work, watch);
            watch.check()?;
            let Inference { forced, beliefs } = found.map_err(wrong)?;
            (forced, Some(beliefs))
        } else {
            (forced, None)
        };
        let counted = wants(Panelist::Worlds).then(|| {
            let options = Options { budget: 0, ..Options::default() };
            worlds(&evidence, &forced.possible, &options, watch)
        });
        watch.check()?;
        let worlds = counted.transpose().map_err(|e| {
            Failure::refused("not-counted", format!("worlds could not be counted: {e}"))
        })?;
        let believed =
            |o: &u32| beliefs.as_ref().is_none_or(|b| b.probability[*o as usize] >= NOTHING);
        let doubtful = forced.undecided.iter().copied().filter(|o| !believed(o)).collect();
        let of_beliefs = beliefs.as_ref().and_then(|b| b.exhausted);
        let of_time = watch.out_of_time().then_some(Exhausted::Time);
        exhausted = exhausted.max(of_beliefs).max(of_time);
        Ok(Learnt {
            crowd,
            evidence,
            forced,
            beliefs,
            worlds,
            doubtful,
            complete: true,
            judged,
            exhausted,
        })
    }

    /// What is known of every kind of the crowd.
    pub fn everything(&self, memory: &Memory, gate: &Gate) -> Vec<Known> {
        let kinds = 0..self.crowd.kinds.len() as u32;
        match &memory.rows {
            None => kinds.map(|kind| self.known(gate, kind)).collect(),
            Some(rows) => kinds.map(|kind| self.known_of_rows(rows, gate, kind)).collect(),
        }
    }

    /// The values that are told apart and possible for somebody of a kind.
    fn candidates(&self, rows: &Rows, kind: u32) -> Vec<u32> {
        rows.candidates(self.possible(kind).into_iter().filter(|v| *v != Outcome::UNKNOWN))
    }

    /// Whether values are told apart now that were one before.
    pub fn refines(&self, memory: &Memory, kind: u32, before: &Learnt, kind_before: u32) -> bool {
        let Some(rows) = &memory.rows else { return false };
        rows.refines(&before.candidates(rows, kind_before), &self.candidates(rows, kind))
    }

    /// What is known where values stand for several, or only some are secret: those that are not
    /// are one value.
    fn known_of_rows(&self, rows: &Rows, gate: &Gate, kind: u32) -> Known {
        let possible = self.candidates(rows, kind);
        let (secret, others): (Vec<u32>, Vec<u32>) =
            possible.iter().partition(|v| rows.is_secret(**v));
        let Some(&first) = secret.first() else { return Known::default() };
        let candidates = secret.len() as u64 + u64::from(!others.is_empty());
        let unknown = self.possible(kind).contains(&Outcome::UNKNOWN);
        let certain = (candidates == 1 && !unknown).then_some(first);
        let allowed =
            self.evidence.outcomes_of(kind).map(|o| self.evidence.outcomes()[o as usize].value);
        let intersection = rows.candidates(allowed.filter(|v| *v != Outcome::UNKNOWN)).len() as u64;
        let mut known = Known {
            candidates,
            certain,
            intersection,
            strongest: (first, 0.0, None),
            unsettled: self.is_unsettled(gate, kind),
            undecided: self.undecided(kind),
        };
        for &panelist in &gate.panel {
            let beliefs = match panelist {
                Panelist::Intersection => vec![(first, 1.0 / intersection as f64)],
                Panelist::MaximumEntropy => match &self.beliefs {
                    Some(beliefs) => self.spread(rows, beliefs.values(&self.evidence, kind)),
                    None => continue,
                },
                Panelist::Worlds => match self.shares(kind) {
                    Some(shares) => self.spread(rows, shares.into_iter()),
                    None => continue,
                },
                Panelist::DeFinetti => continue,
            };
            let secret = beliefs.into_iter().filter(|(v, _)| rows.is_secret(*v));
            if let Some((value, p)) =
                secret.max_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, p)| *p > known.strongest.1)
            {
                known.strongest = (value, p, Some(panelist));
            }
        }
        known
    }

    /// Beliefs in the values that are told apart: those below a label are equally likely.
    fn spread(&self, rows: &Rows, beliefs: impl Iterator<Item = (u32, f64)>) -> Vec<(u32, f64)> {
        let mut sums: BTreeMap<u32, f64> = BTreeMap::new();
        for (value, p) in beliefs.filter(|(v, _)| *v != Outcome::UNKNOWN) {
            rows.spread(value)
                .into_iter()
                .for_each(|(v, share)| *sums.entry(v).or_default() += p * share);
        }
        sums.into_iter().collect()
    }

    fn known(&self, gate: &Gate, kind: u32) -> Known {
        let real = |v: &u32| *v != Outcome::UNKNOWN;
        let possible = self.possible(kind);
        let more = possible.len().saturating_sub(1) as u64;
        let first = possible.first().copied();
        let Some(first) = first.filter(|v| real(v) || more > 0) else { return Known::default() };
        let candidates = possible.iter().filter(|v| real(v)).count() as u64;
        let mut last = None;
        let allowed =
            self.evidence.outcomes_of(kind).map(|o| self.evidence.outcomes()[o as usize].value);
        let intersection =
            allowed.filter(|v| real(v) && last.replace(*v) != Some(*v)).count() as u64;
        let mut known = Known {
            candidates,
            certain: (more == 0).then_some(first),
            intersection,
            strongest: (first, 0.0, None),
            unsettled: self.is_unsettled(gate, kind),
            undecided: self.undecided(kind),
        };
        for &panelist in &gate.panel {
            let belief = self.belief(kind, panelist, intersection);
            if let Some((value, p)) = belief.filter(|(_, p)| *p > known.strongest.1) {
                known.strongest = (value, p, Some(panelist));
            }
        }
        known
    }

    /// The values that count as possible for a kind, rising.
    fn possible(&self, kind: u32) -> Vec<u32> {
        let possible =
            |o: &u32| self.forced.possible[*o as usize] && self.doubtful.binary_search(o).is_err();
        let values = self.evidence.outcomes_of(kind).filter(possible);
        let mut values: Vec<u32> =
            values.map(|o| self.evidence.outcomes()[o as usize].value).collect();
        values.dedup();
        values
    }

    /// Whether the belief of maximum entropy about a kind is on the panel and did not settle.
    fn is_unsettled(&self, gate: &Gate, kind: u32) -> bool {
        let judged = gate.panel.contains(&Panelist::MaximumEntropy);
        let beliefs = self.beliefs.as_ref().filter(|_| judged);
        beliefs.is_some_and(|beliefs| self.is_among(&beliefs.unsettled, kind))
    }

    /// Whether an outcome of a kind is among some, which rise.
    fn is_among(&self, outcomes: &[u32], kind: u32) -> bool {
        let of_kind = self.evidence.outcomes_of(kind);
        let first = outcomes.get(outcomes.partition_point(|&o| o < of_kind.start));
        first.is_some_and(|o| of_kind.contains(o))
    }

    /// What was used up before it was found out what is known of a kind; nothing if it is known, or
    /// was not looked for. A belief that settled, or worlds that were counted, tell which values are
    /// possible even where flows did not get so far.
    fn undecided(&self, kind: u32) -> Option<Exhausted> {
        if !self.complete {
            return None;
        }
        let believed = self.beliefs.as_ref().is_some_and(|b| !self.is_among(&b.unsettled, kind));
        let counts = |w: &Worlds| self.evidence.outcomes_of(kind).all(|o| w.knows(o));
        if believed || self.worlds.as_ref().is_some_and(counts) || self.possible(kind).len() < 2 {
            return None;
        }
        let flows = self.forced.exhausted.filter(|_| self.is_among(&self.forced.undecided, kind));
        // Beliefs that did not settle within their work are judged as the policy's limit says.
        let beliefs = self.exhausted.filter(|by| self.judged && *by == Exhausted::Time);
        flows.max(beliefs)
    }

    /// The value that somebody on the panel believes in most.
    fn belief(&self, kind: u32, panelist: Panelist, intersection: u64) -> Option<(u32, f64)> {
        let strongest = |values: &mut dyn Iterator<Item = (u32, f64)>| {
            let known = values.filter(|(v, _)| *v != Outcome::UNKNOWN);
            known.max_by(|a, b| a.1.total_cmp(&b.1))
        };
        match panelist {
            Panelist::Intersection => {
                let outcomes = self
                    .evidence
                    .outcomes_of(kind)
                    .map(|o| self.evidence.outcomes()[o as usize].value);
                let first = outcomes.filter(|v| *v != Outcome::UNKNOWN).min()?;
                Some((first, 1.0 / intersection.max(1) as f64))
            }
            Panelist::MaximumEntropy => {
                strongest(&mut self.beliefs.as_ref()?.values(&self.evidence, kind))
            }
            Panelist::Worlds => strongest(&mut self.shares(kind)?.into_iter()),
            Panelist::DeFinetti => None,
        }
    }

    /// The share of worlds of each value, where worlds were counted.
    fn shares(&self, kind: u32) -> Option<Vec<(u32, f64)>> {
        let worlds = self.worlds.as_ref()?;
        let outcomes = self.evidence.outcomes_of(kind);
        if !outcomes.clone().all(|o| worlds.knows(o)) {
            return None;
        }
        let mut sums: Vec<(u32, f64)> = Vec::new();
        for o in outcomes {
            let (value, p) =
                (self.evidence.outcomes()[o as usize].value, worlds.probability[o as usize]);
            match sums.last_mut() {
                Some((v, sum)) if *v == value => *sum += p,
                _ => sums.push((value, p)),
            }
        }
        Some(sums)
    }

    pub fn notes(&self, gate: &Gate) -> Vec<String> {
        let mut notes = Vec::new();
        let undecided = self.forced.undecided.len();
        if undecided > 0 {
            let doubtful = self.doubtful.len();
            let possible = undecided - doubtful;
            notes.push(match doubtful {
                0 => format!("{undecided} possibilities were neither proven nor excluded and count as possible"),
                _ => format!(
                    "{undecided} possibilities were neither proven nor excluded: {doubtful} of them are believed with next \
                     to nothing and count as impossible, the other {possible} as possible"
                ),
            });
        }
        if let Some(b) = self.beliefs.as_ref().filter(|b| !b.unsettled.is_empty()) {
            let kinds =
                (0u32..).zip(&self.crowd.kinds).filter(|(kind, _)| self.is_unsettled(gate, *kind));
            let people: u64 = kinds.map(|(_, (people, _))| u64::from(*people)).sum();
            notes.push(format!(
                "the maximum-entropy belief about {people} people did not settle {}; so far a count is missed by {:.2e} \
                 people at most",
                match b.exhausted {
                    Some(Exhausted::Time) => "before time was up",
                    _ => "within its limit of work",
                },
                b.violation
            ));
        }
        match self.exhausted {
            Some(Exhausted::Time) => notes.push(
                "time was up before everything was found out; `seconds` of the gate is how long a judgement may take"
                    .into(),
            ),
            Some(Exhausted::Work) if self.forced.exhausted.is_some() => notes.push(
                "the limit of work was reached before flows had excluded everything that they can".into(),
            ),
            _ => (),
        }
        let counted = self.worlds.as_ref().filter(|_| gate.panel.contains(&Panelist::Worlds));
        let people = self.evidence.people();
        if let Some(left) = counted.map(|w| people - w.exact).filter(|&left| left > 0) {
            notes.push(format!(
                "worlds were not counted for {left} of {people} people, who have to do with too many others"
            ));
        }
        notes
    }

    /// Names the people of breaches, which know their kinds.
    pub fn name(&self, breaches: &mut [Breach]) {
        let mut wanted: HashMap<u32, Vec<u32>> =
            breaches.iter().map(|b| (b.kind, Vec::new())).collect();
        for (person, kind) in (0u32..).zip(&self.crowd.kind_of) {
            if let Some(people) = wanted.get_mut(kind) {
                people.push(person);
            }
        }
        for breach in breaches {
            breach.people = wanted.get(&breach.kind).cloned().unwrap_or_default();
        }
    }
}
