//! What one adversary learns, before and with the new release, and what the gate makes of it.

use super::learn::{Known, Learnt, SOLVED, learn};
use super::memory::{Adversary, Memory};
use super::reasons::Reason;
use super::{Gate, Limit, Panelist, RESPONSE_EPSILON, Strongest};
use crate::exact::Ratio;
use crate::failure::Failure;
use crate::inference::Exhausted;
use crate::progress::{Progress, Watch};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Beliefs are solved to about ten digits; what is no further than this above a threshold stands on
/// it.
const ROUNDING: f64 = 1e-9;

/// What an adversary learns, and whether the gate allows it.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The adversary, and the releases that she has.
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
    /// Whether everybody on the panel was asked for beliefs; otherwise `strongest` is that of the
    /// intersection alone, which may be too weak.
    pub believed: bool,
    /// The same two among people for whom the new release makes it worse: these are judged.
    pub worse: (u64, f64, Option<Panelist>),
    /// The largest ε of randomized response that releases about one person's value add up to;
    /// nothing if none is randomized.
    pub response: Option<f64>,
    /// For each confidence that the gate asks for: the share of the new release's people of whom it
    /// is reached newly.
    pub pvp: Vec<(Ratio, f64)>,
    /// What was used up before everything was found out, if anything.
    pub exhausted: Option<Exhausted>,
    /// People of whom it was not found out what the new release makes known: they count as exposed.
    pub undecided: u64,
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
            let watch = Watch::timed(progress, 0);
            learnt.explain(memory, &self.adversary.releases, &mut self.breaches, &watch);
            if watch.out_of_time() {
                self.notes.push("time was up before all reasons were found".into());
            }
        }
    }

    /// Takes note that time was up before somebody on the panel came to a belief: where the policy
    /// gives a limit, that counts as if everybody in the new release were exposed.
    pub fn lacks(&mut self, panelist: Panelist, memory: &Memory) {
        let (who, name) = (&self.adversary.name, panelist.name());
        let new = self.adversary.releases.last().map(|&new| &memory.releases[new]);
        let members = new.map_or(0, |r| r.place.iter().filter(|&&p| p != 0).count());
        let text = format!(
            "what {who} would believe of {members} people by `{name}` was not found out before time was up"
        );
        self.exhausted = Some(Exhausted::Time);
        if self.judged && self.limit.is_some_and(|limit| limit.given) {
            self.undecided = self.undecided.max(members as u64);
            self.broken.push(text + ", and may be more than is allowed");
        } else {
            self.notes.push(text);
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
    /// Perhaps any of these: work or time was used up before it was found out.
    Undecided,
    /// More than the ε of randomized response that is allowed.
    Response,
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

    /// The same without a limit on beliefs.
    fn without_limit(&self) -> Gate {
        Gate { posterior: None, promised: BTreeMap::new(), protected_before: None, ..self.clone() }
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
    let views = Views::new(memory, gate, &adversary.releases, watch)?;
    let quick = views.judge(memory, &gate.without_limit(), definetti, adversary.clone());
    let undecided = views.after.forced.undecided.len();
    let decided = views.after.forced.exhausted.is_none() && (undecided == 0 || undecided > SOLVED);
    let settled = decided || !quick.holds();
    // A limit that the policy gives is answered in full; by default, what decides is enough.
    let enough = settled && limit.is_none_or(|limit| !limit.given && !quick.holds());
    let (views, mut seen) = if enough {
        (views, Seen { limit, ..quick })
    } else {
        let views = views.deepen(memory, gate, &adversary.releases, watch)?;
        let seen = views.judge(memory, gate, definetti, adversary);
        (views, seen)
    };
    if !seen.breaches.is_empty() {
        seen.learnt = Some(Arc::new(views.after));
    }
    Ok(seen)
}

/// What follows with the new release, without it, and from it alone.
struct Views {
    after: Learnt,
    before: Learnt,
    /// None where what the new release tells alone is judged as well: otherwise that is the models'
    /// business.
    alone: Option<Learnt>,
}

impl Views {
    /// What flows prove from all of these releases, of which the last is new.
    fn new(
        memory: &Memory,
        gate: &Gate,
        releases: &[usize],
        watch: &Watch<'_>,
    ) -> Result<Views, Failure> {
        let (new, earlier) = (releases.len() - 1, &releases[..releases.len() - 1]);
        let default = gate.limit(&memory.attribute).is_some_and(|limit| !limit.given);
        let judged_alone = memory.unprotected || gate.written && !default;
        let after = learn(memory, gate, releases, watch)?;
        let before = learn(memory, gate, earlier, watch)?;
        let alone =
            if judged_alone { None } else { Some(learn(memory, gate, &releases[new..], watch)?) };
        Ok(Views { after, before, alone })
    }

    /// The same with beliefs. Those before matter only where one goes beyond the limit now, or
    /// where all of them are asked for.
    fn deepen(
        self,
        memory: &Memory,
        gate: &Gate,
        releases: &[usize],
        watch: &Watch<'_>,
    ) -> Result<Views, Failure> {
        let (new, earlier) = (releases.len() - 1, &releases[..releases.len() - 1]);
        let after = self.after.deepen(memory, gate, releases, watch)?;
        let is_beyond = |limit: Limit| {
            let known = after.everything(memory, gate);
            limit.given || known.iter().any(|now| limit.exceeded_by(now.strongest.1))
        };
        let beyond = gate.limit(&memory.attribute).is_some_and(is_beyond);
        let other = if beyond { gate.clone() } else { gate.without_limit() };
        let before = self.before.deepen(memory, &other, earlier, watch)?;
        let alone = self.alone.map(|a| a.deepen(memory, &other, &releases[new..], watch));
        Ok(Views { after, before, alone: alone.transpose()? })
    }

    /// Compares what is known, kind by kind, and says what the gate makes of it.
    fn judge(
        &self,
        memory: &Memory,
        gate: &Gate,
        definetti: Option<&Strongest>,
        adversary: Adversary,
    ) -> Seen {
        let Views { after, before, alone } = self;
        let releases = adversary.releases.clone();
        let new = releases[releases.len() - 1];
        let limit = gate.limit(&memory.attribute);
        let default = limit.is_some_and(|l| !l.given);
        let mut seen = Seen {
            spent: memory.spent(&adversary),
            limit,
            judged: gate.everybody || !adversary.everybody,
            adversary,
            people: 0,
            certain: 0,
            already: 0,
            newly: 0,
            fewest: u64::MAX,
            strongest: (0.0, None),
            believed: limit.is_some(),
            worse: (u64::MAX, 0.0, None),
            response: None,
            pvp: Vec::new(),
            exhausted: self.exhausted(),
            undecided: 0,
            breaches: Vec::new(),
            notes: memory.notes.iter().cloned().chain(after.notes(gate)).collect(),
            broken: Vec::new(),
            learnt: None,
        };
        let mut reached = vec![0u64; gate.pvp.len()];
        let mut breaches: Vec<Breach> = Vec::new();
        let mut responses = 0;
        let known_after = after.everything(memory, gate);
        let known_before = before.everything(memory, gate);
        let known_alone = alone.as_ref().map(|a| a.everything(memory, gate));
        for (kind, &(people, person)) in (0u32..).zip(&after.crowd.kinds) {
            if !memory.is_judged(person) {
                continue;
            }
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
            let coarser = after.refines(memory, kind, before, kind_before);
            let unmeasured =
                Known { candidates: 0, intersection: 0, strongest: (0, 0.0, None), ..told };
            // A belief that time cut short is none either.
            let cut_short = told.undecided == Some(Exhausted::Time);
            let was = if coarser {
                unmeasured
            } else if cut_short {
                Known { strongest: (0, 0.0, None), ..told }
            } else {
                told
            };
            let by_itself = alone.as_ref().zip(known_alone.as_ref());
            let by_itself =
                by_itself.map(|(a, known)| known[a.crowd.kind_of[person as usize] as usize]);
            // What was believed before, or would be by a release that the limit by default does not
            // judge alone.
            let by_itself = by_itself.filter(|a| a.undecided != Some(Exhausted::Time));
            let alone_strongest = by_itself.filter(|_| default).map_or(0.0, |a| a.strongest.1);
            let floor = was.strongest.1.max(alone_strongest);
            seen.count(people, &was, &now, floor);
            for what in exposures(gate, limit, &was, by_itself.as_ref(), &now, floor) {
                match what {
                    What::Certain => seen.newly += u64::from(people),
                    What::Undecided => seen.undecided += u64::from(people),
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
        seen.verdict(gate, members, &reached, responses);
        breaches.retain(|b| seen.counts(gate, b.what));
        after.name(&mut breaches);
        breaches.extend(learnt_by_definetti(gate, definetti, &mut seen));
        breaches.sort_by(|a, b| {
            a.what.cmp(&b.what).then(b.after.total_cmp(&a.after)).then(a.people.cmp(&b.people))
        });
        if seen.judged {
            seen.breaches = breaches;
        } else {
            seen.notes.extend(
                std::mem::take(&mut seen.broken).into_iter().map(|b| format!("not judged: {b}")),
            );
        }
        seen
    }

    /// What was used up, before and with the release.
    fn exhausted(&self) -> Option<Exhausted> {
        let alone = self.alone.as_ref().and_then(|alone| alone.exhausted);
        self.after.exhausted.max(self.before.exhausted).max(alone)
    }
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
    // A belief that did not settle before is no worse for being unsettled still. Where work or time
    // was used up before anything was found out, nothing is known of before either.
    let unsettled = limit.is_some_and(|limit| limit.given) && now.unsettled && !was.unsettled;
    if (unsettled || now.undecided.is_some()) && !found.contains(&What::Posterior) {
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
    fn verdict(&mut self, gate: &Gate, members: u64, reached: &[u64], responses: u64) {
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
        if self.undecided > 0 {
            self.broken.push(self.not_found_out());
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

    /// Says of how many people it was not found out what becomes known, and why.
    fn not_found_out(&self) -> String {
        let (who, undecided) = (&self.adversary.name, self.undecided);
        match (self.limit, self.exhausted) {
            (Some(Limit { most, .. }), None | Some(Exhausted::Work)) => format!(
                "what {who} would believe of {undecided} people was not settled within its limit of work, and may be more than \
                 the {most} that is allowed"
            ),
            (None, None | Some(Exhausted::Work)) => format!(
                "what {who} would learn of {undecided} people was not found out within its limit of work, and may be more than \
                 is allowed"
            ),
            (_, Some(Exhausted::Time)) => format!(
                "what {who} would learn of {undecided} people was not found out before time was up, and may be more than is \
                 allowed"
            ),
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
