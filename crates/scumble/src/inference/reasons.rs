//! Why something is impossible: facts that suffice for it.
//!
//! A network fixes an outcome by a cut: the facts on one side of it, and what was fixed before of
//! the edges that cross it, suffice. Which network and when is in the log of [`super::forced`]; the
//! cut is found again when it is asked for. Then facts are left out as long as the rest suffices.

use super::evidence::Evidence;
use super::forced::{Forced, Log, Seed, solve};
use super::network::{HUB, Network, Node, Scratch};
use crate::progress::Watch;
use hashbrown::{HashMap, HashSet};

/// More facts than this, that suffice by networks alone, are not made fewer by searching.
const SEARCHED: usize = 40;

/// Work that making a reason shorter may take, one set of facts after another: about a second. A
/// reason that is still long then stays so.
const TRIED: u64 = 100_000_000;

/// Facts that no world meets together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contradiction {
    /// The facts, rising; without any one of them the others can be met, as far as the engine can
    /// tell, unless they are so many that to try it would take too long. None if people of one kind
    /// have no outcome at all: their groups have no value in common.
    pub facts: Vec<u32>,
    /// The people whom these facts count: numbers of their kinds, rising.
    pub kinds: Vec<u32>,
}

/// Finds reasons in some evidence.
pub struct Reasons<'a> {
    evidence: &'a Evidence,
    log: &'a Log,
    kind_of: Vec<u32>,
    /// The kinds that fact f counts are `kinds[first[f]..first[f + 1]]`.
    first: Vec<u32>,
    kinds: Vec<u32>,
    /// Cancels the search.
    pub(super) watch: Option<&'a Watch<'a>>,
}

impl<'a> Reasons<'a> {
    /// Gets ready to explain what was found in this evidence.
    pub fn new(evidence: &'a Evidence, forced: &'a Forced) -> Reasons<'a> {
        Reasons::within(evidence, &forced.log)
    }

    pub(super) fn within(evidence: &'a Evidence, log: &'a Log) -> Reasons<'a> {
        let mut first = vec![0u32; evidence.facts().len() + 2];
        let mut pairs: Vec<(u32, u32)> = Vec::new();
        let mut seen = Vec::new();
        for kind in 0..evidence.kinds().len() as u32 {
            facts_about(evidence, kind, &mut seen);
            pairs.extend(seen.iter().map(|&f| (f, kind)));
        }
        pairs.iter().for_each(|&(f, _)| first[f as usize + 2] += 1);
        (2..first.len()).for_each(|f| first[f] += first[f - 1]);
        let mut kinds = vec![0; pairs.len()];
        for (fact, kind) in pairs {
            let at = &mut first[fact as usize + 1];
            kinds[*at as usize] = kind;
            *at += 1;
        }
        Reasons { evidence, log, kind_of: evidence.kind_of(), first, kinds, watch: None }
    }

    /// The same; once it is cancelled, reasons are made no shorter.
    pub fn watched(self, watch: &'a Watch<'a>) -> Reasons<'a> {
        Reasons { watch: Some(watch), ..self }
    }

    /// Facts that make an outcome impossible, rising; none can be left out, as far as the engine
    /// can tell, unless they are so many (hundreds) that to try it would take too long. `None` if
    /// it is possible or not decided.
    pub fn excluded(&self, outcome: u32) -> Option<Vec<u32>> {
        let kind = self.kind_of[outcome as usize];
        self.explain(self.sufficient(outcome)?, Some((kind, outcome)))
    }

    /// Facts that make an outcome impossible, rising: all that the engine used. Cheaper than
    /// [`Reasons::excluded`], but some may not be needed. `None` if the outcome is possible or not
    /// decided.
    pub fn sufficient(&self, outcome: u32) -> Option<Vec<u32>> {
        let stamp = self.log.stamps[outcome as usize];
        let impossible = stamp == Log::SEARCH || self.log.fixed[outcome as usize] == 0;
        impossible.then(|| self.used(HashSet::new(), vec![outcome]))
    }

    /// The contradiction that was found somewhere.
    pub(super) fn contradiction(&self, seed: &Seed) -> Contradiction {
        let (facts, outcomes) = match seed {
            Seed::Kind(kind) if self.evidence.outcomes_of(*kind).is_empty() => {
                return Contradiction { facts: Vec::new(), kinds: vec![*kind] };
            }
            Seed::Kind(kind) => (HashSet::new(), self.evidence.outcomes_of(*kind).collect()),
            Seed::Facts(facts) => {
                let outcomes = self
                    .counted(facts)
                    .into_iter()
                    .flat_map(|k| self.evidence.outcomes_of(k))
                    .collect();
                (facts.iter().copied().collect(), outcomes)
            }
        };
        let facts = self.explain(self.used(facts, outcomes), None).unwrap_or_default();
        let kinds = self.counted(&facts);
        Contradiction { facts, kinds }
    }

    /// All facts that were used to fix these outcomes, and those given.
    fn used(&self, mut facts: HashSet<u32>, mut waiting: Vec<u32>) -> Vec<u32> {
        waiting.retain(|&o| self.log.stamps[o as usize] != Log::NEVER);
        let mut seen: HashSet<u32> = waiting.iter().copied().collect();
        let mut scratch = Scratch::default();
        let mut earlier = Vec::new();
        while let Some(outcome) = waiting.pop() {
            earlier.clear();
            match self.log.stamps[outcome as usize] {
                Log::SEARCH => self.searched(outcome, &mut facts, &mut earlier),
                stamp if stamp % 2 == 1 => {
                    self.siblings(self.kind_of[outcome as usize], stamp, &mut earlier)
                }
                _ => self.cut(outcome, &mut scratch, &mut facts, &mut earlier),
            }
            waiting.extend(earlier.iter().copied().filter(|&o| seen.insert(o)));
        }
        let mut facts: Vec<u32> = facts.into_iter().collect();
        facts.sort_unstable();
        facts
    }

    /// The outcomes of a kind that were fixed before.
    fn siblings(&self, kind: u32, stamp: u32, earlier: &mut Vec<u32>) {
        earlier.extend(
            self.evidence.outcomes_of(kind).filter(|&o| self.log.stamps[o as usize] < stamp),
        );
    }

    /// The facts of the part that was searched, and what was fixed before of the people whom they
    /// count.
    fn searched(&self, outcome: u32, facts: &mut HashSet<u32>, earlier: &mut Vec<u32>) {
        let mut waiting = vec![self.kind_of[outcome as usize]];
        let mut seen: HashSet<u32> = waiting.iter().copied().collect();
        let mut of_part: HashSet<u32> = HashSet::new();
        while let Some(kind) = waiting.pop() {
            self.siblings(kind, Log::SEARCH, earlier);
            let open = self
                .evidence
                .outcomes_of(kind)
                .filter(|&o| self.log.stamps[o as usize] >= Log::SEARCH);
            for &fact in open.flat_map(|o| self.evidence.facts_of(o)) {
                if of_part.insert(fact) {
                    waiting.extend(self.counted(&[fact]).into_iter().filter(|&k| seen.insert(k)));
                }
            }
        }
        facts.extend(of_part);
    }

    /// The facts of the cut that fixed an outcome, and what it used that was fixed before.
    fn cut(
        &self,
        outcome: u32,
        scratch: &mut Scratch,
        facts: &mut HashSet<u32>,
        earlier: &mut Vec<u32>,
    ) {
        let stamp = self.log.stamps[outcome as usize];
        let (left, right) = self.log.passes[stamp as usize / 2];
        let Some((side, closed)) = self.network(outcome).cut_at(outcome, scratch) else { return };
        let count = self.evidence.facts().len() as u32;
        let inside: HashSet<u32> = side.iter().copied().collect();
        for &node in &side {
            if node < count {
                facts.insert(node);
            }
            for other in self.outcomes_at(node) {
                let is_in = |family| inside.contains(&self.node(other, family));
                let (from, to) = (is_in(left), is_in(right));
                if from == to {
                    continue;
                }
                // Out of the closed side flows as much as can be, into it as little as can be.
                let most = from == closed;
                let kind = self.kind_of[other as usize];
                let people = self.evidence.kinds()[kind as usize].people;
                if self.log.stamps[other as usize] >= stamp {
                    if most && people > 1 {
                        self.siblings(kind, stamp, earlier);
                    }
                } else if self.log.fixed[other as usize] != if most { people } else { 0 } {
                    earlier.push(other);
                }
            }
        }
    }

    fn node(&self, outcome: u32, family: u32) -> u32 {
        self.log.node(self.evidence, outcome, self.kind_of[outcome as usize], family)
    }

    /// The outcomes that a node counts.
    fn outcomes_at(&self, node: u32) -> Vec<u32> {
        let facts = self.evidence.facts().len() as u32;
        if node >= facts {
            return self.evidence.outcomes_of(node - facts).collect();
        }
        let of_kinds = self.counted(&[node]).into_iter().flat_map(|k| self.evidence.outcomes_of(k));
        of_kinds.filter(|&o| self.evidence.facts_of(o).contains(&node)).collect()
    }

    /// The connected network in which an outcome was fixed, as it was then.
    fn network(&self, outcome: u32) -> Network {
        let stamp = self.log.stamps[outcome as usize];
        let (left, right) = self.log.passes[stamp as usize / 2];
        let ends = |o: u32| [self.node(o, left), self.node(o, right)];
        let mut edges: HashSet<u32> = HashSet::new();
        let mut nodes: HashSet<u32> = ends(outcome).into_iter().filter(|&n| n != HUB).collect();
        let mut waiting: Vec<u32> = nodes.iter().copied().collect();
        while let Some(node) = waiting.pop() {
            for o in self.outcomes_at(node) {
                if self.log.stamps[o as usize] >= stamp && edges.insert(o) {
                    waiting.extend(ends(o).into_iter().filter(|&n| n != HUB && nodes.insert(n)));
                }
            }
        }
        let mut edges: Vec<(u32, [u32; 2], u32)> =
            edges.into_iter().map(|o| (self.kind_of[o as usize], ends(o), o)).collect();
        edges.sort_unstable();
        let mut network = Network::default();
        let mut place: HashMap<u32, u32> = HashMap::from([(HUB, HUB)]);
        for side in 0..2 {
            for (_, ends, _) in &edges {
                let node = ends[side];
                if !place.contains_key(&node) {
                    place.insert(node, network.push_node(self.bounds(node, stamp), side == 0));
                }
            }
        }
        for same in edges.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            let (kind, [left, right], _) = same[0];
            let left_over = self.bounds(self.evidence.facts().len() as u32 + kind, stamp).high;
            network.push_edge(
                place[&left],
                place[&right],
                left_over as u32,
                same.iter().map(|e| e.2),
            );
        }
        network
    }

    /// What a node had to count at some time.
    fn bounds(&self, node: u32, stamp: u32) -> Node {
        let facts = self.evidence.facts().len();
        let (low, high) = match self.evidence.facts().get(node as usize) {
            Some(fact) => (fact.low, fact.high),
            None => {
                let people = u64::from(self.evidence.kinds()[node as usize - facts].people);
                (people, people)
            }
        };
        let earlier =
            self.outcomes_at(node).into_iter().filter(|&o| self.log.stamps[o as usize] < stamp);
        let taken = earlier.map(|o| u64::from(self.log.fixed[o as usize])).sum::<u64>();
        Node { id: node, low: low.saturating_sub(taken), high: high.saturating_sub(taken) }
    }

    /// The given facts refute the goal, or each other: made as few as can be. Networks alone are
    /// tried first, as a search takes long where there is nothing to find; but a search may do with
    /// fewer facts.
    fn explain(&self, facts: Vec<u32>, goal: Option<(u32, u32)>) -> Option<Vec<u32>> {
        let mut left = TRIED;
        let by_networks = self.refuted(&facts, goal, false, &mut left);
        let facts = if by_networks { self.shrunk(facts, goal, false) } else { facts };
        if by_networks && facts.len() > SEARCHED {
            return Some(facts);
        }
        left = TRIED;
        let refuted = by_networks || self.refuted(&facts, goal, true, &mut left);
        refuted.then(|| self.shrunk(facts, goal, true))
    }

    /// Leaves out as many as can be, many at a time first.
    fn shrunk(&self, mut facts: Vec<u32>, goal: Option<(u32, u32)>, search: bool) -> Vec<u32> {
        let mut left = TRIED;
        let mut chunk = facts.len().div_ceil(2);
        while chunk > 0 && !self.watch.is_some_and(Watch::stopped) {
            let mut at = 0;
            while at < facts.len() {
                let end = (at + chunk).min(facts.len());
                let fewer: Vec<u32> = facts[..at].iter().chain(&facts[end..]).copied().collect();
                if left == 0 {
                    return facts;
                }
                if self.refuted(&fewer, goal, search, &mut left) {
                    facts = fewer;
                } else {
                    at = end;
                }
            }
            chunk = if chunk == 1 { 0 } else { chunk.div_ceil(2).min(facts.len().max(1)) };
        }
        facts
    }

    /// The number of facts and of outcomes of the people whom they count: what it takes to look at
    /// them.
    fn size(&self, facts: &[u32]) -> usize {
        let outcomes: usize =
            self.counted(facts).into_iter().map(|kind| self.evidence.outcomes_of(kind).len()).sum();
        facts.len() + outcomes + 1
    }

    /// Whether these facts alone refute the goal, or each other, as far as the work that is left
    /// tells.
    fn refuted(
        &self,
        facts: &[u32],
        goal: Option<(u32, u32)>,
        search: bool,
        left: &mut u64,
    ) -> bool {
        // To take the facts out of the evidence is work, too.
        *left = left.saturating_sub(10 * self.size(facts) as u64);
        let mut kinds = self.counted(facts);
        if let Some((kind, _)) = goal
            && let Err(at) = kinds.binary_search(&kind)
        {
            kinds.insert(at, kind);
        }
        let part = self.evidence.only(facts, kinds);
        let silent = Watch::silent();
        match solve(&part.evidence, search, *left, self.watch.unwrap_or(&silent)) {
            Err(refuted) => {
                *left = left.saturating_sub(refuted.work);
                true
            }
            Ok(forced) => {
                *left = left.saturating_sub(forced.work);
                goal.is_some_and(|(_, outcome)| {
                    let local = part.outcomes.binary_search(&outcome);
                    local.is_ok_and(|o| !forced.possible[o])
                })
            }
        }
    }

    /// The kinds that the facts count, rising.
    fn counted(&self, facts: &[u32]) -> Vec<u32> {
        let kinds = |&f: &u32| {
            &self.kinds[self.first[f as usize] as usize..self.first[f as usize + 1] as usize]
        };
        let mut counted: Vec<u32> = facts.iter().flat_map(kinds).copied().collect();
        counted.sort_unstable();
        counted.dedup();
        counted
    }
}

/// The facts that count some outcome of a kind, rising.
fn facts_about(evidence: &Evidence, kind: u32, facts: &mut Vec<u32>) {
    facts.clear();
    facts.extend(evidence.outcomes_of(kind).flat_map(|o| evidence.facts_of(o)));
    facts.sort_unstable();
    facts.dedup();
}
