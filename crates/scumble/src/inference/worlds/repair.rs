//! A first world: as many people as possible get an outcome; whoever has none takes one from somebody else, who then has
//! none, until nobody is left without.

use super::blocks::Assignment;
use super::graph::Graph;
use crate::inference::Evidence;
use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use std::cmp::Reverse;

/// Moves of the first round for each person; every round has twice as many.
const MOVES: u64 = 500;

/// How often, at the beginning of a round and at its end, an outcome is taken from two people where one would do.
const SPLITS: (f32, f32) = (5e-3, 1e-5);

/// Looks for a world, with at most so many moves.
pub(super) fn find<'a>(
    evidence: &'a Evidence,
    graph: &'a Graph,
    rng: &mut ChaCha8Rng,
    budget: u64,
) -> Option<Assignment<'a>> {
    let mut repair = Repair::new(evidence, graph, rng);
    let (mut moves, mut left) = (MOVES * evidence.people(), budget);
    while left > 0 {
        moves = moves.min(left);
        if repair.cool(moves, rng) {
            return Some(repair.assignment);
        }
        left -= moves;
        moves *= 2;
    }
    None
}

/// An assignment in which no fact counts too many.
///
/// Between two releases, whoever is without an outcome stands for a value that one of them still has to give and another
/// value that the other has. Taking an outcome from one person moves this gap about and never changes its values; taking
/// it from two splits the gap into two that can meet others. So splits are needed, and must become rare.
struct Repair<'a> {
    evidence: &'a Evidence,
    graph: &'a Graph,
    assignment: Assignment<'a>,
    /// People without an outcome, by kind.
    without: Vec<u32>,
    /// Kinds with people without an outcome, and some others.
    troubled: Vec<u32>,
    /// The outcome that somebody of a kind lost last, which is not taken back at once.
    lost: Vec<u32>,
}

impl<'a> Repair<'a> {
    /// Everybody gets an outcome at random that no fact forbids, as far as there is one.
    fn new(evidence: &'a Evidence, graph: &'a Graph, rng: &mut ChaCha8Rng) -> Repair<'a> {
        let mut assignment = Assignment::new(evidence);
        let mut troubled: Vec<u32> = (0..evidence.kinds().len() as u32).collect();
        troubled.shuffle(rng);
        let mut without: Vec<u32> = evidence.kinds().iter().map(|k| k.people).collect();
        for &kind in &troubled {
            let mut outcomes: Vec<u32> = evidence.outcomes_of(kind).collect();
            outcomes.shuffle(rng);
            for outcome in outcomes {
                let room = |&f: &u32| evidence.facts()[f as usize].high - assignment.counts[f as usize];
                let most = evidence.facts_of(outcome).iter().map(room).min().unwrap_or(u64::MAX);
                let n = most.min(without[kind as usize].into()) as u32;
                assignment.give(outcome, n);
                without[kind as usize] -= n;
            }
        }
        let lost = vec![u32::MAX; without.len()];
        Repair { evidence, graph, assignment, without, troubled, lost }
    }

    /// Moves, with ever fewer splits; answers whether it has become a world.
    fn cool(&mut self, moves: u64, rng: &mut ChaCha8Rng) -> bool {
        let (first, last) = SPLITS;
        for done in 0..moves {
            if self.troubled.is_empty() {
                if !self.fill(rng) {
                    return true;
                }
                continue;
            }
            let at = rng.random_range(0..self.troubled.len());
            let kind = self.troubled[at];
            if self.without[kind as usize] == 0 {
                self.troubled.swap_remove(at);
                continue;
            }
            let splits = first * (last / first).powf(done as f32 / moves as f32);
            let outcome = self.choose(kind, rng.random::<f32>() < splits, rng);
            self.without[kind as usize] -= 1;
            self.give(outcome, kind, rng);
        }
        false
    }

    /// What somebody of the kind takes: something that is free, or else from one other person, or from two to split; every
    /// other time rather something that too few have.
    fn choose(&self, kind: u32, split: bool, rng: &mut ChaCha8Rng) -> u32 {
        let filling = rng.random::<bool>();
        let fact = |f: &u32| (self.assignment.counts[*f as usize], self.evidence.facts()[*f as usize]);
        let rank = |outcome: u32| {
            let facts = self.evidence.facts_of(outcome).iter().map(fact);
            let losers = facts.clone().filter(|(count, f)| *count >= f.high).count();
            let wanted = if split && losers > 0 { losers.abs_diff(2) + 1 } else { losers };
            let fills = facts.filter(|(count, f)| filling && *count < f.low).count();
            (2 * wanted + usize::from(self.lost[kind as usize] == outcome), Reverse(fills))
        };
        let ranked = self.evidence.outcomes_of(kind).map(|outcome| (rank(outcome), rng.random::<u32>(), outcome));
        ranked.min().map_or(0, |(_, _, outcome)| outcome)
    }

    /// Gives an outcome to somebody of the kind; where a fact now counts too many, somebody else loses hers.
    fn give(&mut self, outcome: u32, kind: u32, rng: &mut ChaCha8Rng) {
        self.assignment.give(outcome, 1);
        for &fact in self.evidence.facts_of(outcome) {
            if self.assignment.counts[fact as usize] > self.evidence.facts()[fact as usize].high {
                let kinds = self.graph.kinds(fact);
                let first = rng.random_range(0..kinds.len());
                let others = kinds[first..].iter().chain(&kinds[..first]).filter(|&&k| k != kind).chain([&kind]);
                let counted =
                    |o: &u32| self.assignment.world[*o as usize] > 0 && self.evidence.facts_of(*o).contains(&fact);
                let loser = |&k: &u32| self.evidence.outcomes_of(k).find(counted).map(|o| (k, o));
                if let Some((loser, outcome)) = others.copied().find_map(|k| loser(&k)) {
                    self.lose(loser, outcome);
                }
            }
        }
    }

    fn lose(&mut self, kind: u32, outcome: u32) {
        self.assignment.take(outcome, 1);
        self.without[kind as usize] += 1;
        self.lost[kind as usize] = outcome;
        self.troubled.push(kind);
    }

    /// Where nobody is without an outcome and facts still count too few, somebody changes hers for each; answers whether
    /// there are such facts.
    fn fill(&mut self, rng: &mut ChaCha8Rng) -> bool {
        let few = |f: &u32| self.assignment.counts[*f as usize] < self.evidence.facts()[*f as usize].low;
        let few: Vec<u32> = (0..self.evidence.facts().len() as u32).filter(few).collect();
        for &fact in &few {
            let kinds = self.graph.kinds(fact);
            let kind = kinds[rng.random_range(0..kinds.len())];
            let counts = |o: &u32| self.evidence.facts_of(*o).contains(&fact);
            let outcomes = self.evidence.outcomes_of(kind);
            let to: Vec<u32> = outcomes.clone().filter(counts).collect();
            let from = outcomes.filter(|o| !counts(o)).find(|&o| self.assignment.world[o as usize] > 0);
            if let Some(from) = from {
                self.lose(kind, from);
                self.without[kind as usize] -= 1;
                self.give(to[rng.random_range(0..to.len())], kind, rng);
            }
        }
        !few.is_empty()
    }
}
