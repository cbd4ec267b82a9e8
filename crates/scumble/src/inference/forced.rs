//! What no world allows, and what every world has.
//!
//! Counts come in families that count nobody twice: the people themselves, the facts of each
//! release, what else is known. Parts in which all values are alike need nothing else (see
//! [`super::even`]). Two families make a transport network (see [`super::network`]), and what it
//! fixes shrinks the others. This is repeated until nothing changes. It is complete for one
//! release. With more, what is left falls into parts that have nothing to do with each other; small
//! ones are decided by searching worlds (see [`super::search`]), in large ones the outcomes that
//! are left are taken for possible, and that is said.
//!
//! The work is limited, and counted in looks at edges of networks and members of constraints. The
//! networks of a pass share what is left in proportion to their size, and so do the parts that are
//! searched, so that the answer does not depend on the machine. What is found within the limit is
//! proven; what a network that was not finished, or a search, might still exclude is undecided.

use super::effort::{Effort, Exhausted};
use super::even::even;
use super::evidence::{Component, Evidence, Source};
use super::network::{Assignment, HUB, Infeasible, Network, Node, OPEN, Scratch, Settled};
use super::reasons::{Contradiction, Reasons};
use super::search;
use crate::progress::Watch;
use hashbrown::{HashMap, HashSet};
use rayon::prelude::*;

/// Parts with more outcomes than this are not searched.
const LARGE: usize = 400;

/// Outcomes of a network in the making between two questions whether to go on: some hundredths of a
/// second.
const BUILT: u64 = 1 << 18;

/// What follows with certainty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forced {
    /// For each outcome, whether somebody of its kind may have it.
    pub possible: Vec<bool>,
    /// Outcomes that are taken for possible although no world with them was looked for, or none was
    /// found within the limits of the search; rising. They pass all transport networks.
    pub undecided: Vec<u32>,
    /// Whether work or time was used up before all networks and searches were through.
    pub exhausted: Option<Exhausted>,
    /// Steps that it took.
    pub work: u64,
    pub(super) log: Log,
}

/// How everything came to be fixed, so that it can be explained later.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Log {
    /// For each outcome how many people have it, or [`OPEN`].
    pub fixed: Vec<u32>,
    /// When it was fixed: twice the number of the pass if by a network, and one more if by what its
    /// kind has otherwise; [`Log::SEARCH`] or [`Log::NEVER`].
    pub stamps: Vec<u32>,
    /// The families of the networks of each pass.
    pub passes: Vec<(u32, u32)>,
    /// The family of each fact.
    pub family_of: Vec<u32>,
}

impl Log {
    pub const NEVER: u32 = u32::MAX;
    pub const SEARCH: u32 = u32::MAX - 1;

    /// The node of an outcome in a family, [`HUB`] if the family does not count it.
    pub fn node(&self, evidence: &Evidence, outcome: u32, kind: u32, family: u32) -> u32 {
        if family == PEOPLE {
            return evidence.facts().len() as u32 + kind;
        }
        let mut facts = evidence.facts_of(outcome).iter();
        facts.find(|&&f| self.family_of[f as usize] == family).map_or(HUB, |&f| f)
    }
}

impl Forced {
    /// The value that everybody of a kind has in every world.
    pub fn certain(&self, evidence: &Evidence, kind: u32) -> Option<u32> {
        let mut values = self.values(evidence, kind);
        let first = values.next()?;
        values.next().is_none().then_some(first)
    }

    /// The values that somebody of a kind may have, rising.
    pub fn values<'a>(
        &'a self,
        evidence: &'a Evidence,
        kind: u32,
    ) -> impl Iterator<Item = u32> + 'a {
        let possible = evidence.outcomes_of(kind).filter(|&o| self.possible[o as usize]);
        let mut last = None;
        possible
            .map(|o| evidence.outcomes()[o as usize].value)
            .filter(move |&v| last.replace(v) != Some(v))
    }
}

/// What is impossible in every world, or why there is no world; however much work that takes.
pub fn forced(evidence: &Evidence) -> Result<Forced, Contradiction> {
    forced_within(evidence, u64::MAX, &Watch::silent())
}

/// The same within some work, and as long as the watch goes on: what is left then is undecided, and
/// taken for possible.
pub fn forced_within(
    evidence: &Evidence,
    work: u64,
    watch: &Watch<'_>,
) -> Result<Forced, Contradiction> {
    let solved = solve(evidence, true, work, watch);
    solved.map_err(|refuted| {
        Reasons::within(evidence, &refuted.log).watched(watch).contradiction(&refuted.seed)
    })
}

/// Where a contradiction was found.
#[derive(Clone, Debug)]
pub(super) enum Seed {
    /// A kind has no outcome that is left.
    Kind(u32),
    /// These facts, perhaps with others.
    Facts(Vec<u32>),
}

/// There is no world: where that was found, how it came to it, and the steps that it took.
pub(super) struct Refuted {
    pub seed: Seed,
    pub log: Log,
    pub work: u64,
}

/// The same, and of a contradiction only where it was found. Without a search of the parts that are
/// left, they are not decided.
pub(super) fn solve(
    evidence: &Evidence,
    search: bool,
    work: u64,
    watch: &Watch<'_>,
) -> Result<Forced, Box<Refuted>> {
    let mut engine = Engine::new(evidence, work, watch);
    if let Err(seed) = engine.run() {
        let work = work - engine.left;
        return Err(Box::new(Refuted { seed, work, log: engine.into_log() }));
    }
    let even = std::mem::take(&mut engine.even);
    let unfinished = engine.unfinished();
    let left = engine.left;
    let possible: Vec<bool> = engine.assignment.fixed.iter().map(|&n| n > 0).collect();
    let exhausted = unfinished.is_some().then_some(Exhausted::Work);
    let mut forced = Forced {
        possible,
        undecided: Vec::new(),
        exhausted,
        work: work - left,
        log: engine.into_log(),
    };
    if watch.stopped() {
        // What belongs together no longer matters.
        let kinds = (0..evidence.kinds().len() as u32).filter(|&kind| !even[kind as usize]);
        for kind in kinds {
            let mut left = evidence.outcomes_of(kind).filter(|&o| forced.possible[o as usize]);
            if left.clone().nth(1).is_some() {
                forced.undecided.extend(&mut left);
            }
        }
        forced.exhausted = Some(Exhausted::Time);
        return Ok(forced);
    }
    let Some(parts) = evidence.components_of(&forced.possible, |kind| !even[kind as usize]) else {
        let seed = broken(evidence, &forced.possible);
        return Err(Box::new(Refuted { seed, log: forced.log, work: forced.work }));
    };
    if !search {
        forced.undecided = parts.into_iter().flat_map(|part| part.outcomes).collect();
        forced.undecided.sort_unstable();
        return Ok(forced);
    }
    let deciding = Deciding { family_of: &forced.log.family_of, unfinished, watch };
    let searched = parts.iter().filter(|part| deciding.searches(part));
    let per_outcome = left / searched.map(|part| part.outcomes.len() as u64).sum::<u64>().max(1);
    let found: Vec<_> = parts.par_iter().map(|part| deciding.decide(part, per_outcome)).collect();
    for (part, found) in parts.iter().zip(found) {
        let (verdicts, work, spent) = found;
        forced.work += work;
        forced.exhausted = forced.exhausted.max(spent.then_some(Exhausted::Work));
        let Some(verdicts) = verdicts else {
            let seed = Seed::Facts(part.facts.clone());
            return Err(Box::new(Refuted { seed, log: forced.log, work: forced.work }));
        };
        for (&outcome, verdict) in part.outcomes.iter().zip(verdicts) {
            match verdict {
                Some(true) => {}
                Some(false) => {
                    forced.possible[outcome as usize] = false;
                    forced.log.stamps[outcome as usize] = Log::SEARCH;
                }
                None => forced.undecided.push(outcome),
            }
        }
    }
    forced.undecided.sort_unstable();
    forced.exhausted = forced.exhausted.max(watch.stopped().then_some(Exhausted::Time));
    Ok(forced)
}

/// How parts are decided after the networks.
struct Deciding<'a> {
    family_of: &'a [u32],
    /// Per outcome: whether a network that counts it is not finished. None if all are.
    unfinished: Option<Vec<bool>>,
    watch: &'a Watch<'a>,
}

impl Deciding<'_> {
    /// Whether what is left of a part was possible in one transport network that was finished: its
    /// vertices are whole numbers, so that every outcome that it left open is possible.
    fn is_settled(&self, part: &Component) -> bool {
        let family = |fact: u32| self.family_of[fact as usize];
        let is_finished =
            |o: &u32| self.unfinished.as_ref().is_none_or(|unfinished| !unfinished[*o as usize]);
        part.facts.windows(2).all(|f| family(f[0]) == family(f[1]))
            && part.outcomes.iter().all(is_finished)
    }

    /// Whether a part is searched.
    fn searches(&self, part: &Component) -> bool {
        part.outcomes.len() <= LARGE && !self.is_settled(part)
    }

    /// Which outcomes of a part are possible, as far as it can be said with so much work for each
    /// (nothing if the part has no world); the work that it took, and whether it was all there was.
    fn decide(&self, part: &Component, per_outcome: u64) -> (Option<Vec<Option<bool>>>, u64, bool) {
        let outcomes = part.outcomes.len();
        if !self.searches(part) {
            let verdict = self.is_settled(part).then_some(true);
            return (Some(vec![verdict; outcomes]), 0, false);
        }
        let work = per_outcome.saturating_mul(outcomes as u64);
        let effort = Effort::watched(work, Some(self.watch));
        let verdicts = search::possible(&part.evidence, &effort);
        (verdicts, work - effort.left(), effort.is_spent())
    }
}

/// A fact that nobody who is left can meet.
fn broken(evidence: &Evidence, possible: &[bool]) -> Seed {
    let mut low = vec![0u64; evidence.facts().len()];
    let mut high = low.clone();
    for kind in 0..evidence.kinds().len() as u32 {
        let left: Vec<u32> = evidence.outcomes_of(kind).filter(|&o| possible[o as usize]).collect();
        let people = u64::from(evidence.kinds()[kind as usize].people);
        for &outcome in &left {
            for &fact in evidence.facts_of(outcome) {
                high[fact as usize] += people;
                low[fact as usize] += if left.len() == 1 { people } else { 0 };
            }
        }
    }
    let facts = (0u32..).zip(evidence.facts()).zip(low.iter().zip(&high));
    Seed::Facts(
        facts
            .filter(|((_, f), (low, high))| **low > f.high || **high < f.low)
            .map(|((f, _), _)| f)
            .collect(),
    )
}

/// The network between two families, in connected parts.
struct Pair {
    left: u32,
    right: u32,
    networks: Vec<Network>,
    /// In which of them each outcome is.
    at: Vec<u32>,
    /// Those that changed.
    waiting: Vec<u32>,
    built: bool,
}

impl Pair {
    fn waits(&self) -> bool {
        !self.built || !self.waiting.is_empty()
    }

    /// The network of an outcome has changed.
    fn touch(&mut self, outcome: u32) {
        let at = self.at[outcome as usize];
        if self.networks.get(at as usize).is_some_and(|network| !network.is_empty()) {
            self.waiting.push(at);
        }
    }

    fn put(&mut self, network: Network) {
        let number = self.networks.len() as u32;
        network.outcomes().iter().for_each(|&o| self.at[o as usize] = number);
        self.networks.push(network);
    }
}

/// Settles some networks, each within so many steps for an edge.
fn settle(
    networks: &mut [Network],
    assignment: &Assignment,
    scratch: &mut Scratch,
    per_edge: u64,
    watch: &Watch<'_>,
) -> Result<Settled, Infeasible> {
    let mut settled = Settled::default();
    for network in networks {
        let work = per_edge.saturating_mul(network.len());
        let effort = Effort::watched(work, Some(watch));
        network.settle(assignment, scratch, &mut settled, &effort)?;
        settled.work += work - effort.left();
    }
    Ok(settled)
}

/// The family of the people themselves: each kind is a count.
const PEOPLE: u32 = 0;
const NOWHERE: u32 = u32::MAX;

struct Engine<'a> {
    evidence: &'a Evidence,
    assignment: Assignment,
    /// For each kind, whether it needs no network because all its values are alike.
    even: Vec<bool>,
    /// For each kind how many outcomes are open.
    open: Vec<u32>,
    /// How it came to that; what is fixed is in `assignment`.
    log: Log,
    pairs: Vec<Pair>,
    /// Work that is left.
    left: u64,
    watch: &'a Watch<'a>,
}

impl<'a> Engine<'a> {
    fn new(evidence: &'a Evidence, work: u64, watch: &'a Watch<'a>) -> Engine<'a> {
        let (family_of, families) = families(evidence);
        let pair = |left, right| Pair {
            left,
            right,
            networks: Vec::new(),
            at: Vec::new(),
            waiting: Vec::new(),
            built: false,
        };
        let mut pairs: Vec<Pair> = (1..families).map(|f| pair(PEOPLE, f)).collect();
        pairs.extend((1..families).flat_map(|a| (a + 1..families).map(move |b| pair(a, b))));
        let assignment = Assignment {
            fixed: vec![OPEN; evidence.outcomes().len()],
            kind_of: evidence.kind_of(),
            room: evidence.kinds().iter().map(|k| k.people).collect(),
        };
        let open = (0..evidence.kinds().len() as u32)
            .map(|k| evidence.outcomes_of(k).len() as u32)
            .collect();
        let stamps = vec![Log::NEVER; evidence.outcomes().len()];
        let log = Log { fixed: Vec::new(), stamps, passes: vec![(PEOPLE, PEOPLE)], family_of };
        let even = even(evidence);
        Engine { evidence, assignment, even, open, log, pairs, left: work, watch }
    }

    fn into_log(self) -> Log {
        Log { fixed: self.assignment.fixed, ..self.log }
    }

    /// Fixes what can be fixed; the networks of people are small, so they come first.
    fn run(&mut self) -> Result<(), Seed> {
        if let Some(fact) = self.evidence.facts().iter().position(|f| f.low > f.high) {
            return Err(Seed::Facts(vec![fact as u32]));
        }
        (0..self.evidence.kinds().len() as u32).try_for_each(|kind| self.narrow(kind))?;
        while let Some(pair) = (0..self.pairs.len()).find(|&p| self.pairs[p].waits()) {
            if !self.watch.go_on() || self.left == 0 {
                break;
            }
            self.log.passes.push((self.pairs[pair].left, self.pairs[pair].right));
            self.settle(pair)?;
        }
        Ok(())
    }

    /// What follows for a kind from what is fixed of it.
    fn narrow(&mut self, kind: u32) -> Result<(), Seed> {
        let (room, open) = (self.assignment.room[kind as usize], self.open[kind as usize]);
        if open == 0 {
            return if room == 0 { Ok(()) } else { Err(Seed::Kind(kind)) };
        }
        if room > 0 && open > 1 {
            return Ok(());
        }
        for outcome in self.evidence.outcomes_of(kind) {
            if self.assignment.fixed[outcome as usize] == OPEN {
                self.fix(outcome, room, 1);
            }
        }
        Ok(())
    }

    /// Fixes an outcome, by a network (0) or by what its kind has otherwise (1).
    fn fix(&mut self, outcome: u32, people: u32, by: u32) {
        let kind = self.assignment.kind_of[outcome as usize] as usize;
        self.assignment.fixed[outcome as usize] = people;
        self.log.stamps[outcome as usize] = 2 * (self.log.passes.len() as u32 - 1) + by;
        self.assignment.room[kind] -= people;
        self.open[kind] -= 1;
        for pair in self.pairs.iter_mut().filter(|p| p.built) {
            pair.touch(outcome);
        }
    }

    /// Settles the networks of a pair that changed.
    fn settle(&mut self, pair: usize) -> Result<(), Seed> {
        if !self.pairs[pair].built {
            self.build(pair);
        }
        if !self.pairs[pair].built {
            return Ok(());
        }
        let Pair { networks, waiting, .. } = &mut self.pairs[pair];
        let mut numbers = std::mem::take(waiting);
        numbers.sort_unstable();
        numbers.dedup();
        let mut waiting: Vec<Network> =
            numbers.iter().map(|&n| std::mem::take(&mut networks[n as usize])).collect();
        let chunk = (waiting.len() / 64).clamp(1, 512);
        let (assignment, watch) = (&self.assignment, self.watch);
        let per_edge = self.left / waiting.iter().map(Network::len).sum::<u64>().max(1);
        let chunks = waiting.par_chunks_mut(chunk);
        let settled: Vec<_> = chunks
            .map_init(Scratch::default, |scratch, networks| {
                settle(networks, assignment, scratch, per_edge, watch)
            })
            .collect();
        for (number, network) in numbers.into_iter().zip(waiting) {
            self.pairs[pair].networks[number as usize] = network;
        }
        for settled in &settled {
            if let Err(cut) = settled {
                return Err(self.facts_of_nodes(&cut.0));
            }
        }
        for Settled { fixed, parts, work } in settled.into_iter().flatten() {
            self.left -= work.min(self.left);
            parts.into_iter().for_each(|network| self.pairs[pair].put(network));
            self.apply(&fixed)?;
        }
        // Too little for one look at each edge is as good as nothing.
        self.left = if per_edge == 0 { 0 } else { self.left };
        Ok(())
    }

    /// For each outcome, whether a network that counts it was not made or not finished; nothing if
    /// all networks are finished.
    fn unfinished(&self) -> Option<Vec<bool>> {
        let count = self.evidence.outcomes().len();
        if self.pairs.iter().any(|pair| !pair.built) {
            return Some(vec![true; count]);
        }
        let mut unfinished = vec![false; count];
        let mut any = false;
        for pair in &self.pairs {
            let waits = pair.waiting.iter().map(|&n| &pair.networks[n as usize]);
            let cut_short = pair.networks.iter().filter(|network| network.is_unfinished());
            for network in waits.chain(cut_short).filter(|network| !network.is_empty()) {
                any = true;
                network.outcomes().iter().for_each(|&o| unfinished[o as usize] = true);
            }
        }
        any.then_some(unfinished)
    }

    fn apply(&mut self, fixed: &[(u32, u32)]) -> Result<(), Seed> {
        for &(outcome, people) in fixed {
            let kind = self.assignment.kind_of[outcome as usize];
            let before = self.assignment.fixed[outcome as usize];
            if before != OPEN {
                // Its kind settled it meanwhile.
                if before != people {
                    return Err(Seed::Facts(self.facts_about(kind)));
                }
                continue;
            }
            if people > self.assignment.room[kind as usize] {
                return Err(Seed::Facts(self.facts_about(kind)));
            }
            self.fix(outcome, people, 0);
            self.narrow(kind)?;
            if people > 0 && self.assignment.room[kind as usize] > 0 {
                self.touch(kind);
            }
        }
        Ok(())
    }

    /// Fewer people of a kind are left: its edges take less.
    fn touch(&mut self, kind: u32) {
        for outcome in self.evidence.outcomes_of(kind) {
            for pair in self.pairs.iter_mut().filter(|p| p.built) {
                pair.touch(outcome);
            }
        }
    }

    fn facts_about(&self, kind: u32) -> Vec<u32> {
        self.evidence
            .outcomes_of(kind)
            .flat_map(|o| self.evidence.facts_of(o).iter().copied())
            .collect()
    }

    fn facts_of_nodes(&self, nodes: &[u32]) -> Seed {
        let facts = self.evidence.facts().len() as u32;
        let about = |&n: &u32| if n < facts { vec![n] } else { self.facts_about(n - facts) };
        Seed::Facts(nodes.iter().flat_map(about).collect())
    }

    fn node(&self, outcome: u32, family: u32) -> u32 {
        self.log.node(self.evidence, outcome, self.assignment.kind_of[outcome as usize], family)
    }

    /// Makes the networks of a pair from the outcomes that are open, and counts who is fixed. Once it
    /// is stopped, they stay unmade.
    fn build(&mut self, pair: usize) {
        let (left, right) = (self.pairs[pair].left, self.pairs[pair].right);
        let mut ends: Vec<(u32, u32, u32)> = Vec::new();
        let mut taken = vec![0u64; self.evidence.facts().len()];
        for outcome in 0..self.evidence.outcomes().len() as u32 {
            if !self.watch.work(1, BUILT) {
                return;
            }
            let people = self.assignment.fixed[outcome as usize];
            if people == OPEN {
                if self.even[self.assignment.kind_of[outcome as usize] as usize] {
                    continue;
                }
                let (left, right) = (self.node(outcome, left), self.node(outcome, right));
                if left != HUB || right != HUB {
                    ends.push((left, right, outcome));
                }
            } else if people > 0 {
                self.evidence
                    .facts_of(outcome)
                    .iter()
                    .for_each(|&f| taken[f as usize] += u64::from(people));
            }
        }
        let network = self.network(ends, &taken);
        let pair = &mut self.pairs[pair];
        pair.built = true;
        pair.at = vec![NOWHERE; self.evidence.outcomes().len()];
        for part in network.split(&mut Scratch::default()) {
            pair.put(part);
        }
        pair.waiting = (0..pair.networks.len() as u32).collect();
    }

    /// The network of the edges of single outcomes; those of a kind that have the same ends become
    /// one.
    fn network(&self, ends: Vec<(u32, u32, u32)>, taken: &[u64]) -> Network {
        let mut network = Network::default();
        let facts = self.evidence.facts().len();
        let mut place = vec![NOWHERE; facts + self.evidence.kinds().len()];
        let mut add = |end: u32, is_left: bool| {
            if end == HUB || place[end as usize] != NOWHERE {
                return;
            }
            let (low, high) = match self.evidence.facts().get(end as usize) {
                Some(fact) => {
                    let taken = taken[end as usize];
                    (fact.low.saturating_sub(taken), fact.high.saturating_sub(taken))
                }
                None => {
                    let people = u64::from(self.assignment.room[end as usize - facts]);
                    (people, people)
                }
            };
            place[end as usize] = network.push_node(Node { id: end, low, high }, is_left);
        };
        ends.iter().for_each(|&(left, ..)| add(left, true));
        ends.iter().for_each(|&(_, right, _)| add(right, false));
        let place = |end: u32| if end == HUB { HUB } else { place[end as usize] };
        let kind = |outcome: u32| self.assignment.kind_of[outcome as usize];
        let mut alike: Vec<(u32, u32, u32)> = Vec::new();
        for of_kind in ends.chunk_by(|a, b| kind(a.2) == kind(b.2)) {
            alike.clear();
            alike.extend_from_slice(of_kind);
            alike.sort_unstable();
            for same in alike.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
                let (left, right, outcome) = same[0];
                let people = self.assignment.room[kind(outcome) as usize];
                network.push_edge(place(left), place(right), people, same.iter().map(|e| e.2));
            }
        }
        network
    }
}

/// The family of each fact, and the number of families with the people: a release each; things
/// known share one as long as they count nobody twice.
fn families(evidence: &Evidence) -> (Vec<u32>, u32) {
    let mut releases: Vec<u32> = Vec::new();
    let mut clashes: HashSet<(u32, u32)> = HashSet::new();
    let known = |f: u32| matches!(evidence.facts()[f as usize].source, Source::Known(_));
    for fact in evidence.facts() {
        if let Source::Published { release, .. } = fact.source {
            releases.push(release);
        }
    }
    releases.sort_unstable();
    releases.dedup();
    if (0..evidence.facts().len() as u32).any(known) {
        for outcome in 0..evidence.outcomes().len() as u32 {
            let told: Vec<u32> =
                evidence.facts_of(outcome).iter().copied().filter(|&f| known(f)).collect();
            for (i, &a) in told.iter().enumerate() {
                clashes.extend(told[i + 1..].iter().map(|&b| (a, b)));
            }
        }
    }
    let mut members: Vec<Vec<u32>> = Vec::new();
    let numbers: HashMap<u32, u32> = releases.iter().copied().zip(1..).collect();
    let first = releases.len() as u32 + 1;
    let mut family_of = Vec::with_capacity(evidence.facts().len());
    for (number, fact) in (0u32..).zip(evidence.facts()) {
        family_of.push(match fact.source {
            Source::Published { release, .. } => numbers[&release],
            Source::Known(_) => {
                let free = members
                    .iter()
                    .position(|m| m.iter().all(|&other| !clashes.contains(&(other, number))));
                let family = free.unwrap_or_else(|| {
                    members.push(Vec::new());
                    members.len() - 1
                });
                members[family].push(number);
                first + family as u32
            }
        });
    }
    (family_of, first + members.len() as u32)
}
