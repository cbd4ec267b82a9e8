//! What one adversary learns from what she has, before and with the new release.

use super::memory::{Adversary, Crowd, Memory};
use super::reasons::{Reason, contradiction};
use super::rows::Rows;
use super::{Gate, Limit, Panelist, RESPONSE_EPSILON, Strongest};
use crate::exact::Ratio;
use crate::failure::Failure;
use crate::inference::worlds::{Options, Worlds, worlds};
use crate::inference::{Beliefs, Evidence, Forced, Inference, Outcome, forced_unless, infer};
use crate::progress::{Progress, Watch};
use hashbrown::HashMap;
use std::collections::BTreeMap;
use std::sync::Arc;

/// More undecided possibilities than this are left so, and said, unless beliefs are judged.
const SOLVED: usize = 500_000;

/// Work that one belief may take, of what was published before, with the new release, and of that
/// alone: some ten seconds each on one core.
const WORK: u64 = 2_000_000_000;

/// Values that are believed with less, and are neither proven nor excluded, count as impossible.
const NOTHING: f64 = 1e-5;

/// Beliefs are solved to about ten digits; what is no further than this above a threshold stands on
/// it.
const ROUNDING: f64 = 1e-9;

/// What an adversary learns, and whether the gate allows it.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Who she is and what she has.
    pub adversary: Adversary,
    /// Whether the gate judges her; otherwise she is only told of.
    pub judged: bool,
    /// People in any release that she has.
    pub people: u64,
    /// People whose value is certain to her.
    pub certain: u64,
    /// Of them, those whose value was certain before.
    pub already: u64,
    /// People whose value the new release makes certain, as far as the gate counts them.
    pub newly: u64,
    /// People whose value earlier releases made certain, as it was counted when they were
    /// published.
    pub spent: u64,
    /// The strongest belief that is allowed, if that is limited.
    pub limit: Option<Limit>,
    /// The fewest values that are possible for anybody.
    pub fewest: u64,
    /// The strongest belief about anybody, and whose it is.
    pub strongest: (f64, Option<Panelist>),
    /// The same two among people for whom the new release makes it worse: these are judged.
    pub worse: (u64, f64, Option<Panelist>),
    /// The largest ε of randomized response that releases about one person's value add up to;
    /// nothing if none is randomized.
    pub response: Option<f64>,
    /// For each confidence that the gate asks for: the share of the new release's people of whom it
    /// is reached newly.
    pub pvp: Vec<(Ratio, f64)>,
    /// Whom the release exposes beyond what is allowed, the worst first.
    pub breaches: Vec<Breach>,
    /// What must be borne in mind.
    pub notes: Vec<String>,
    /// Which thresholds are broken, in words.
    pub broken: Vec<String>,
    /// What it is judged by, until it is explained.
    learnt: Option<Arc<Learnt>>,
}

impl Seen {
    /// Finds reasons for the worst breaches. That takes longer than the verdict, and nothing of the
    /// verdict depends on it.
    pub fn explain(&mut self, memory: &Memory, progress: Progress<'_>) {
        if let Some(learnt) = self.learnt.take() {
            let watch = Watch::new(progress, 0);
            learnt.explain(memory, &self.adversary.releases, &mut self.breaches, &watch);
        }
    }

    /// Whether what she learns may be published.
    pub fn holds(&self) -> bool {
        self.broken.is_empty()
    }

    /// Number of people whom the release exposes beyond what is allowed; somebody who is exposed in
    /// two ways counts once.
    pub fn exposed(&self) -> u64 {
        let mut people: Vec<u32> =
            self.breaches.iter().flat_map(|b| b.people.iter().copied()).collect();
        people.sort_unstable();
        people.dedup();
        people.len() as u64
    }
}

/// People who are alike, and what becomes known of them.
#[derive(Clone, Debug)]
pub struct Breach {
    /// What.
    pub what: What,
    /// Their numbers.
    pub people: Vec<u32>,
    /// The value that is certain, or believed in most.
    pub value: Option<u32>,
    /// How many values were possible, or how strong the belief was, before.
    pub before: f64,
    /// And now.
    pub after: f64,
    /// Why, for the worst, once that was looked for.
    pub reason: Option<Reason>,
    /// Number of their kind; `u32::MAX` if they have none.
    pub(super) kind: u32,
}

impl Breach {
    /// Somebody about whom randomized responses add up to too much.
    fn response(memory: &Memory, releases: &[usize], person: u32) -> Breach {
        let (before, _) = memory.response(person, &releases[..releases.len() - 1]);
        let (after, _) = memory.response(person, releases);
        Breach {
            what: What::Response,
            people: Vec::new(),
            value: None,
            before,
            after,
            reason: None,
            kind: u32::MAX,
        }
    }
}

/// What becomes known of somebody.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// Her value.
    Certain,
    /// That it is one of too few.
    Candidates,
    /// That it is likely this one.
    Posterior,
    /// That it is one of few, by what each release allows.
    Intersection,
    /// Perhaps that it is likely a certain one: the belief did not settle within its limit of work.
    Undecided,
    /// More than the ε of randomized response that is allowed.
    Response,
}

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
}

/// What is known of the people of a kind.
#[derive(Clone, Copy, Default)]
struct Known {
    /// Values that are possible; 0 if nothing is known of them.
    candidates: u64,
    /// The value, if it is certain.
    certain: Option<u32>,
    /// Values that each release allows.
    intersection: u64,
    /// The strongest belief: value, probability, whose.
    strongest: (u32, f64, Option<Panelist>),
    /// Whether a belief that is judged did not settle.
    unsettled: bool,
}

impl Gate {
    /// The largest ε that randomized responses may add up to.
    pub fn response_limit(&self) -> Ratio {
        self.response_epsilon.unwrap_or(Ratio::new(RESPONSE_EPSILON.into(), 1))
    }

    /// Whether randomized responses of so many releases are too much. The ε of a single release is
    /// the policy's own choice unless it states a limit. A sum of logarithms never meets a limit
    /// other than 0 exactly, so rounding is held against the release.
    fn exceeded_by(&self, epsilon: f64, releases: u64) -> bool {
        (releases > 1 || self.response_epsilon.is_some())
            && epsilon > self.response_limit().to_f64() * (1.0 - 1e-12)
    }
}

/// What an adversary learns.
pub(super) fn look(
    memory: &Memory,
    gate: &Gate,
    definetti: Option<&Strongest>,
    adversary: Adversary,
    watch: &Watch<'_>,
) -> Result<Seen, Failure> {
    // First what flows alone prove, which is fast; only if that lets the release pass, everything
    // that can be found out. Beliefs are left to the second look: what is not solved is no measure
    // of what was believed before.
    let limit = gate.limit(&memory.attribute);
    let unlimited =
        Gate { posterior: None, promised: BTreeMap::new(), protected_before: None, ..gate.clone() };
    let (mut quick, undecided) =
        look_with(memory, &unlimited, definetti, adversary.clone(), (false, watch))?;
    quick.limit = limit;
    let settled = !quick.holds() || undecided == 0 || undecided > SOLVED;
    // A limit that the policy gives is answered in full; by default, what decides is enough.
    if settled && limit.is_none_or(|limit| !limit.given && !quick.holds()) {
        return Ok(quick);
    }
    Ok(look_with(memory, gate, definetti, adversary, (true, watch))?.0)
}

/// The same, with or without beliefs and what their solution proves; and how many possibilities are
/// undecided.
fn look_with(
    memory: &Memory,
    gate: &Gate,
    definetti: Option<&Strongest>,
    adversary: Adversary,
    (beliefs, watch): (bool, &Watch<'_>),
) -> Result<(Seen, usize), Failure> {
    let releases = adversary.releases.clone();
    let (new, earlier) = (releases[releases.len() - 1], &releases[..releases.len() - 1]);
    let limit = gate.limit(&memory.attribute);
    let after = learn(memory, gate, &releases, beliefs, watch)?;
    let known_after = after.everything(memory, gate);
    // Beliefs before matter only where one goes beyond the limit now, or where all of them are
    // asked for.
    let beyond = limit
        .is_some_and(|l| l.given || known_after.iter().any(|now| l.exceeded_by(now.strongest.1)));
    let unlimited =
        Gate { posterior: None, promised: BTreeMap::new(), protected_before: None, ..gate.clone() };
    let other = if beyond { gate } else { &unlimited };
    let before = learn(memory, other, earlier, beliefs, watch)?;
    // What the new release tells alone is the models' business where the policy has no gate, or
    // gives no limit.
    let default = limit.is_some_and(|l| !l.given);
    let judged_alone = memory.unprotected || gate.written && !default;
    let alone =
        if judged_alone { None } else { Some(learn(memory, other, &[new], beliefs, watch)?) };
    let judged = gate.everybody || !adversary.everybody;
    let mut seen = Seen {
        spent: memory.spent(&adversary),
        limit,
        adversary,
        judged,
        people: 0,
        certain: 0,
        already: 0,
        newly: 0,
        fewest: u64::MAX,
        strongest: (0.0, None),
        worse: (u64::MAX, 0.0, None),
        response: None,
        pvp: Vec::new(),
        breaches: Vec::new(),
        notes: memory.notes.iter().cloned().chain(after.notes(gate)).collect(),
        broken: Vec::new(),
        learnt: None,
    };
    let mut reached = vec![0u64; gate.pvp.len()];
    let mut breaches: Vec<Breach> = Vec::new();
    let (mut undecided, mut responses) = (0, 0);
    let known_before = before.everything(memory, gate);
    let known_alone = alone.as_ref().map(|a| a.everything(memory, gate));
    for (kind, &(people, person)) in (0u32..).zip(&after.crowd.kinds) {
        let now = known_after[kind as usize];
        if seen.respond(memory, gate, person) {
            responses += u64::from(people);
            breaches.push(Breach { kind, ..Breach::response(memory, &releases, person) });
        }
        if now.candidates == 0 {
            // In a release that says nothing of her, or nothing that is secret.
            let there = memory.rows.is_some()
                && releases.iter().any(|&r| memory.releases[r].place[person as usize] != 0);
            seen.people += if there { u64::from(people) } else { 0 };
            continue;
        }
        let kind_before = before.crowd.kind_of[person as usize];
        let told = known_before[kind_before as usize];
        // What was known may have been coarser: then it is no measure of what is known now.
        let coarser = after.refines(memory, kind, &before, kind_before);
        let unmeasured =
            Known { candidates: 0, intersection: 0, strongest: (0, 0.0, None), ..told };
        let was = if coarser { unmeasured } else { told };
        let by_itself = alone.as_ref().zip(known_alone.as_ref());
        let by_itself =
            by_itself.map(|(a, known)| known[a.crowd.kind_of[person as usize] as usize]);
        // What was believed before, or would be by a release that the limit by default does not
        // judge alone.
        let alone_strongest = by_itself.filter(|_| default).map_or(0.0, |a| a.strongest.1);
        let floor = was.strongest.1.max(alone_strongest);
        seen.count(people, &was, &now, floor);
        for what in exposures(gate, limit, &was, by_itself.as_ref(), &now, floor) {
            match what {
                What::Certain => seen.newly += u64::from(people),
                What::Undecided => undecided += u64::from(people),
                _ => (),
            }
            let (b, a) = what.measure(&told, &now);
            let value = now.certain.or((what == What::Posterior).then_some(now.strongest.0));
            breaches.push(Breach {
                what,
                people: Vec::new(),
                value,
                before: b,
                after: a,
                reason: None,
                kind,
            });
        }
        if memory.releases[new].place[person as usize] != 0 {
            for (sum, (confidence, _)) in reached.iter_mut().zip(&gate.pvp) {
                let reaches = |known: &Known| known.reaches(*confidence);
                *sum += if reaches(&now) && !reaches(&was) { u64::from(people) } else { 0 };
            }
        }
    }
    let members = memory.releases[new].place.iter().filter(|&&p| p != 0).count() as u64;
    seen.verdict(gate, members, &reached, undecided, responses);
    breaches.retain(|b| seen.counts(gate, b.what));
    after.name(&mut breaches);
    breaches.extend(learnt_by_definetti(gate, definetti, &mut seen));
    breaches.sort_by(|a, b| {
        a.what.cmp(&b.what).then(b.after.total_cmp(&a.after)).then(a.people.cmp(&b.people))
    });
    let left = after.forced.undecided.len();
    if seen.judged {
        seen.breaches = breaches;
        seen.learnt = (!seen.breaches.is_empty()).then(|| Arc::new(after));
    } else {
        seen.notes.extend(
            std::mem::take(&mut seen.broken).into_iter().map(|b| format!("not judged: {b}")),
        );
    }
    Ok((seen, left))
}

/// How many values earlier releases leave possible for the people of the new one.
pub(super) fn left(memory: &Memory, watch: &Watch<'_>) -> Result<BTreeMap<u64, u64>, Failure> {
    let mut left = BTreeMap::new();
    let Some(new) = memory.releases.len().checked_sub(1) else { return Ok(left) };
    let earlier: Vec<usize> = (0..new).collect();
    let gate = Gate { panel: Vec::new(), ..Gate::default() };
    let before = learn(memory, &gate, &earlier, false, watch)?;
    let known = before.everything(memory, &gate);
    for (person, _) in
        memory.releases[new].place.iter().enumerate().filter(|(_, place)| **place != 0)
    {
        let values = known[before.crowd.kind_of[person] as usize].candidates;
        *left.entry(values).or_default() += u64::from(values > 0);
    }
    left.remove(&0);
    Ok(left)
}

impl Limit {
    /// Whether a belief is stronger, beyond the precision of its solution.
    fn exceeded_by(self, belief: f64) -> bool {
        belief > self.most.to_f64() + ROUNDING
    }
}

/// What the new release makes worse than the gate allows for people of whom this was and is known.
/// `floor` is the belief that must be exceeded besides the limit.
fn exposures(
    gate: &Gate,
    limit: Option<Limit>,
    was: &Known,
    alone: Option<&Known>,
    now: &Known,
    floor: f64,
) -> Vec<What> {
    let mut found = Vec::new();
    // A coarser value may have been certain before: then the one that is certain now is another.
    let known = |k: &Known| k.certain == now.certain;
    if now.certain.is_some() && !known(was) && !alone.filter(|_| !gate.written).is_some_and(known) {
        found.push(What::Certain);
    }
    let fewer = was.candidates == 0 || now.candidates < was.candidates;
    if gate.candidates.is_some_and(|least| now.candidates < least) && fewer {
        found.push(What::Candidates);
    }
    let surer = now.strongest.1 > floor + ROUNDING;
    if limit.is_some_and(|limit| limit.exceeded_by(now.strongest.1)) && surer {
        found.push(What::Posterior);
    }
    // What was undecided before is no worse for being so still.
    if limit.is_some_and(|limit| limit.given)
        && now.unsettled
        && !was.unsettled
        && !found.contains(&What::Posterior)
    {
        found.push(What::Undecided);
    }
    if gate.pvp.iter().any(|(confidence, _)| now.reaches(*confidence) && !was.reaches(*confidence))
    {
        found.push(What::Intersection);
    }
    found
}

impl What {
    fn measure(self, was: &Known, now: &Known) -> (f64, f64) {
        match self {
            What::Certain | What::Candidates => (was.candidates as f64, now.candidates as f64),
            What::Posterior | What::Undecided => (was.strongest.1, now.strongest.1),
            What::Intersection => (was.intersection as f64, now.intersection as f64),
            What::Response => (0.0, 0.0),
        }
    }
}

impl Known {
    /// Whether each of the values that every release allows is believed with this confidence.
    fn reaches(&self, confidence: Ratio) -> bool {
        self.intersection > 0 && confidence <= Ratio::new(1, u128::from(self.intersection))
    }
}

impl Seen {
    fn count(&mut self, people: u32, was: &Known, now: &Known, floor: f64) {
        let people = u64::from(people);
        self.people += people;
        self.certain += if now.certain.is_some() { people } else { 0 };
        self.already +=
            if was.certain.is_some() && was.certain == now.certain { people } else { 0 };
        self.fewest = self.fewest.min(now.candidates);
        if now.strongest.1 > self.strongest.0 {
            self.strongest = (now.strongest.1, now.strongest.2);
        }
        if was.candidates == 0 || now.candidates < was.candidates {
            self.worse.0 = self.worse.0.min(now.candidates);
        }
        if now.strongest.1 > floor + ROUNDING && now.strongest.1 > self.worse.1 {
            (self.worse.1, self.worse.2) = (now.strongest.1, now.strongest.2);
        }
    }

    /// Adds up the randomized responses about a person: whether the new release makes them more
    /// than is allowed.
    fn respond(&mut self, memory: &Memory, gate: &Gate, person: u32) -> bool {
        let releases = &self.adversary.releases;
        let new = releases[releases.len() - 1];
        let (spent, times) = memory.response(person, releases);
        if times == 0 {
            return false;
        }
        self.response = Some(self.response.unwrap_or(0.0).max(spent));
        let (more, _) = memory.response(person, &[new]);
        more > 0.0 && gate.exceeded_by(spent, times)
    }

    /// Says which thresholds are broken.
    fn verdict(
        &mut self,
        gate: &Gate,
        members: u64,
        reached: &[u64],
        undecided: u64,
        responses: u64,
    ) {
        if self.fewest == u64::MAX {
            self.fewest = 0;
        }
        let (who, newly) = (&self.adversary.name, self.newly);
        if self.too_many_certain(gate) {
            let people = if newly == 1 {
                "one person's value".into()
            } else {
                format!("the values of {newly} people")
            };
            let (allowed, spent) = (gate.certain, self.spent);
            let earlier = match spent {
                0 => String::new(),
                _ => format!(" over the whole series, and earlier releases made {spent} certain"),
            };
            self.broken.push(format!(
                "{people} would be certain to {who}; at most {allowed} may be{earlier}"
            ));
        }
        if let Some(least) = gate.candidates.filter(|&least| self.worse.0 < least) {
            let fewest = self.worse.0;
            self.broken.push(format!(
                "as few as {fewest} values would be left possible of a person to {who}; at least {least} must be"
            ));
        }
        if let Some(Limit { most, .. }) = self.limit.filter(|limit| limit.exceeded_by(self.worse.1))
        {
            let (belief, by) = (self.worse.1, self.worse.2.map_or("", Panelist::name));
            self.broken.push(format!(
                "{who} would believe in a person's value with {belief:.4} (`{by}`); at most {most} is allowed"
            ));
        }
        if let Some(Limit { most, .. }) = self.limit.filter(|_| undecided > 0) {
            self.broken.push(format!(
                "what {who} would believe of {undecided} people was not settled within its limit of work, and may be more than \
                 the {most} that is allowed"
            ));
        }
        if let Some(spent) = self.response {
            let most = gate.response_limit();
            let single = if gate.response_epsilon.is_none() { " for several releases" } else { "" };
            self.notes.push(format!(
                "randomized responses about a person add up to an ε of as much as {spent:.4}; at most {most} is allowed{single}"
            ));
        }
        if let Some(spent) = self.response.filter(|_| responses > 0) {
            let people =
                if responses == 1 { "one person".into() } else { format!("{responses} people") };
            let most = gate.response_limit();
            self.broken.push(format!(
                "randomized responses about {people} would add up to an ε of as much as {spent:.4} to {who}; at most {most} \
                 is allowed"
            ));
        }
        for ((confidence, most), &people) in gate.pvp.iter().zip(reached) {
            let share = Ratio::new(u128::from(people), u128::from(members.max(1)));
            self.pvp.push((*confidence, share.to_f64()));
            if share > *most {
                let share = 100.0 * share.to_f64();
                self.broken.push(format!(
                    "{who} would be confident with {confidence} or more of {share:.2} % of the people; at most a share of \
                     {most} is allowed"
                ));
            }
        }
    }

    /// Whether more people's values become certain than are left of the allowance of the whole
    /// series.
    fn too_many_certain(&self, gate: &Gate) -> bool {
        self.newly > 0 && self.newly.saturating_add(self.spent) > gate.certain
    }

    /// Whether breaches of this sort break a threshold.
    fn counts(&self, gate: &Gate, what: What) -> bool {
        match what {
            What::Certain => self.too_many_certain(gate),
            What::Candidates | What::Posterior | What::Undecided | What::Response => true,
            What::Intersection => self
                .pvp
                .iter()
                .zip(&gate.pvp)
                .any(|((_, share), (_, most))| *share > most.to_f64() + ROUNDING),
        }
    }
}

/// What the new release tells about how quasi-identifiers and values go together.
fn learnt_by_definetti(gate: &Gate, definetti: Option<&Strongest>, seen: &mut Seen) -> Vec<Breach> {
    let Some(beliefs) = definetti.filter(|_| gate.panel.contains(&Panelist::DeFinetti)) else {
        return Vec::new();
    };
    let strongest = beliefs.iter().map(|b| b.1).fold(0.0, f64::max);
    if strongest > seen.strongest.0 {
        seen.strongest = (strongest, Some(Panelist::DeFinetti));
    }
    // What the new release alone teaches is judged only where the policy gives a limit.
    let Some(limit) = seen.limit.filter(|limit| limit.given) else { return Vec::new() };
    let most = limit.most;
    let beyond = |(person, &(value, p)): (u32, &(u32, f64))| {
        let breach = Breach {
            what: What::Posterior,
            people: vec![person],
            value: Some(value),
            before: 0.0,
            after: p,
            reason: None,
            kind: u32::MAX,
        };
        limit.exceeded_by(p).then_some(breach)
    };
    let found: Vec<Breach> = (0u32..).zip(beliefs).filter_map(beyond).collect();
    if !found.is_empty() && !seen.broken.iter().any(|b| b.contains("would believe")) {
        let who = &seen.adversary.name;
        seen.broken.push(format!(
            "{who} would believe in a person's value with {strongest:.4} (`definetti`); at most {most} is allowed"
        ));
    }
    found
}

/// What follows from these releases. Solving for beliefs may prove more to be impossible than flows
/// do, where people who have to do with each other are many: it is done if anything was left
/// undecided, or if beliefs are judged.
fn learn(
    memory: &Memory,
    gate: &Gate,
    releases: &[usize],
    beliefs: bool,
    watch: &Watch<'_>,
) -> Result<Learnt, Failure> {
    let crowd = memory.crowd(releases);
    let evidence = memory.evidence(&crowd, releases);
    let wrong = |c| contradiction(memory, releases, &crowd, &evidence, &c);
    let limit = gate.limit(&memory.attribute);
    let wants = |panelist| beliefs && limit.is_some() && gate.panel.contains(&panelist);
    let ask = |_, _| watch.go_on();
    watch.go_on();
    let first = forced_unless(&evidence, watch).map_err(wrong)?;
    watch.check()?;
    let (forced, beliefs) = if wants(Panelist::MaximumEntropy)
        || beliefs && (1..=SOLVED).contains(&first.undecided.len())
    {
        let Inference { forced, beliefs } = infer(&evidence, WORK, &ask).map_err(wrong)?;
        (forced, Some(beliefs))
    } else {
        (first, None)
    };
    let counted = wants(Panelist::Worlds).then(|| {
        let options = Options { budget: 0, ..Options::default() };
        worlds(&evidence, &forced.possible, &options, &ask)
    });
    watch.check()?;
    let worlds = counted.transpose().map_err(|e| {
        Failure::refused("not-counted", format!("worlds could not be counted: {e}"))
    })?;
    let believed = |o: &u32| beliefs.as_ref().is_none_or(|b| b.probability[*o as usize] >= NOTHING);
    let doubtful = forced.undecided.iter().copied().filter(|o| !believed(o)).collect();
    Ok(Learnt { crowd, evidence, forced, beliefs, worlds, doubtful })
}

impl Learnt {
    /// What is known of every kind of the crowd.
    fn everything(&self, memory: &Memory, gate: &Gate) -> Vec<Known> {
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
    fn refines(&self, memory: &Memory, kind: u32, before: &Learnt, kind_before: u32) -> bool {
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
        let unsettled = self.is_unsettled(gate, kind);
        let mut known =
            Known { candidates, certain, intersection, strongest: (first, 0.0, None), unsettled };
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
        let unsettled =
            self.beliefs.as_ref().filter(|_| judged).map_or(&[][..], |b| &b.unsettled[..]);
        let outcomes = self.evidence.outcomes_of(kind);
        unsettled
            .get(unsettled.partition_point(|&o| o < outcomes.start))
            .is_some_and(|o| outcomes.contains(o))
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

    fn notes(&self, gate: &Gate) -> Vec<String> {
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
                "the maximum-entropy belief about {people} people did not settle within its limit of work; so far a count is \
                 missed by {:.2e} people at most",
                b.violation
            ));
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
    fn name(&self, breaches: &mut [Breach]) {
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
