//! Why something is impossible: facts that suffice for it, none of which can be left out.

use super::evidence::Evidence;
use super::forced::{Seed, solve};

/// Facts that no world meets together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contradiction {
    /// The facts, rising; without any one of them the others can be met, as far as the engine can tell. None if people of
    /// one kind have no outcome at all: their groups have no value in common.
    pub facts: Vec<u32>,
    /// The people whom these facts count: numbers of their kinds, rising.
    pub kinds: Vec<u32>,
}

/// Finds reasons in some evidence.
pub struct Reasons<'a> {
    evidence: &'a Evidence,
    /// The kinds that fact f counts are `kinds[first[f]..first[f + 1]]`.
    first: Vec<u32>,
    kinds: Vec<u32>,
}

impl<'a> Reasons<'a> {
    /// Gets ready to explain this evidence.
    pub fn new(evidence: &'a Evidence) -> Reasons<'a> {
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
        Reasons { evidence, first, kinds }
    }

    /// Facts that make an outcome impossible, rising; none can be left out, as far as the engine can tell. `None` if the
    /// engine does not find it impossible.
    pub fn excluded(&self, outcome: u32) -> Option<Vec<u32>> {
        let kind = (0..self.evidence.kinds().len() as u32).collect::<Vec<_>>();
        let kind = kind.partition_point(|&k| self.evidence.outcomes_of(k).end <= outcome) as u32;
        let mut facts = Vec::new();
        facts_about(self.evidence, kind, &mut facts);
        self.explain(facts, Some((kind, outcome)))
    }

    /// The contradiction that was found somewhere.
    pub(super) fn contradiction(&self, seed: &Seed) -> Contradiction {
        let facts = match seed {
            Seed::Kind(kind) if self.evidence.outcomes_of(*kind).is_empty() => {
                return Contradiction { facts: Vec::new(), kinds: vec![*kind] };
            }
            Seed::Kind(kind) => {
                let mut facts = Vec::new();
                facts_about(self.evidence, *kind, &mut facts);
                facts
            }
            Seed::Facts(facts) => facts.clone(),
        };
        let facts = self.explain(facts, None).unwrap_or_default();
        let kinds = self.counted(&facts);
        Contradiction { facts, kinds }
    }

    /// Facts around the given ones that refute the goal, or each other, made as few as can be.
    fn explain(&self, mut facts: Vec<u32>, goal: Option<(u32, u32)>) -> Option<Vec<u32>> {
        facts.sort_unstable();
        facts.dedup();
        while !self.refuted(&facts, goal) {
            let before = facts.len();
            facts = self.grown(&facts);
            if facts.len() == before {
                return None;
            }
        }
        Some(self.shrunk(facts, goal))
    }

    /// The facts, and those about the people whom they count.
    fn grown(&self, facts: &[u32]) -> Vec<u32> {
        let mut grown = facts.to_vec();
        let mut about = Vec::new();
        for kind in self.counted(facts) {
            facts_about(self.evidence, kind, &mut about);
            grown.extend_from_slice(&about);
        }
        grown.sort_unstable();
        grown.dedup();
        grown
    }

    /// Leaves out as many as can be, many at a time first.
    fn shrunk(&self, mut facts: Vec<u32>, goal: Option<(u32, u32)>) -> Vec<u32> {
        let mut chunk = facts.len().div_ceil(2);
        while chunk > 0 {
            let mut at = 0;
            while at < facts.len() {
                let end = (at + chunk).min(facts.len());
                let fewer: Vec<u32> = facts[..at].iter().chain(&facts[end..]).copied().collect();
                if self.refuted(&fewer, goal) {
                    facts = fewer;
                } else {
                    at = end;
                }
            }
            chunk = if chunk == 1 { 0 } else { chunk.div_ceil(2).min(facts.len().max(1)) };
        }
        facts
    }

    /// Whether these facts alone refute the goal, or each other.
    fn refuted(&self, facts: &[u32], goal: Option<(u32, u32)>) -> bool {
        let mut kinds = self.counted(facts);
        if let Some((kind, _)) = goal {
            if let Err(at) = kinds.binary_search(&kind) {
                kinds.insert(at, kind);
            }
        }
        let part = self.evidence.only(facts, kinds);
        match solve(&part.evidence) {
            Err(_) => true,
            Ok(forced) => goal.is_some_and(|(_, outcome)| {
                let local = part.outcomes.binary_search(&outcome);
                local.is_ok_and(|o| !forced.possible[o])
            }),
        }
    }

    /// The kinds that the facts count, rising.
    fn counted(&self, facts: &[u32]) -> Vec<u32> {
        let kinds = |&f: &u32| &self.kinds[self.first[f as usize] as usize..self.first[f as usize + 1] as usize];
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
