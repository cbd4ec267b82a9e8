//! Blocks of people who are counted together, and the evidence about them when everybody else is settled.

use super::graph::Graph;
use crate::inference::{Evidence, Fact};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// What a block is made in, kept for the next one. Marks are numbers of blocks.
pub(super) struct Blocks {
    pub(super) block: u32,
    /// The last block that a kind was in, or near; that a fact counts people of.
    pub(super) kind_in: Vec<u32>,
    kind_near: Vec<u32>,
    fact_in: Vec<u32>,
    /// Of the kinds that are near: how many of their facts count people of the block.
    shared: Vec<u32>,
    near: Vec<u32>,
    /// The number of a fact in the evidence about the block, and the other way round.
    number: Vec<u32>,
    facts: Vec<u32>,
    evidence: Evidence,
}

/// People of a kind who are redrawn.
#[derive(Clone, Copy)]
pub(super) struct Redrawn {
    pub(super) kind: u32,
    pub(super) people: u32,
}

/// At a fact that counts more kinds than this, only some of them are looked at as neighbours.
const NEIGHBOURS: usize = 32;

impl Blocks {
    pub(super) fn new(kinds: usize, facts: usize) -> Blocks {
        Blocks {
            block: 0,
            kind_in: vec![0; kinds],
            kind_near: vec![0; kinds],
            fact_in: vec![0; facts],
            shared: vec![0; kinds],
            near: Vec::new(),
            number: vec![u32::MAX; facts],
            facts: Vec::new(),
            evidence: Evidence::default(),
        }
    }

    /// A block of about so many people around somebody: again and again the kind whose facts count most of it already.
    pub(super) fn around(
        &mut self,
        whole: &Evidence,
        graph: &Graph,
        centre: u32,
        size: u32,
        rng: &mut ChaCha8Rng,
    ) -> Vec<Redrawn> {
        self.block += 1;
        self.near.clear();
        self.kind_near[centre as usize] = self.block;
        let (mut kind, mut left, mut block) = (centre, size, Vec::new());
        loop {
            self.kind_in[kind as usize] = self.block;
            let people = whole.kinds()[kind as usize].people.min(left);
            block.push(Redrawn { kind, people });
            left -= people;
            if left == 0 {
                return block;
            }
            self.join(kind, graph, rng);
            let nearness =
                |k: u32| self.shared[k as usize] as f32 / graph.facts(k).len() as f32 + rng.random::<f32>() * 0.5;
            let near: Vec<f32> = self.near.iter().copied().map(nearness).collect();
            let Some(next) = (0..near.len()).max_by(|&a, &b| near[a].total_cmp(&near[b])) else { return block };
            kind = self.near.swap_remove(next);
        }
    }

    /// Takes the neighbours of a kind into account.
    fn join(&mut self, kind: u32, graph: &Graph, rng: &mut ChaCha8Rng) {
        for &fact in graph.facts(kind) {
            if std::mem::replace(&mut self.fact_in[fact as usize], self.block) == self.block {
                continue;
            }
            let kinds = graph.kinds(fact);
            let first = if kinds.len() > NEIGHBOURS { rng.random_range(0..kinds.len()) } else { 0 };
            for i in first..first + kinds.len().min(NEIGHBOURS) {
                let other = kinds[i % kinds.len()] as usize;
                if self.kind_near[other] != self.block {
                    self.kind_near[other] = self.block;
                    self.shared[other] = 0;
                    self.near.push(other as u32);
                }
                self.shared[other] += 1;
            }
        }
    }

    /// The evidence about the people of a block when the facts count so many of the others already.
    pub(super) fn evidence(&mut self, whole: &Evidence, block: &[Redrawn], counts: &[u64]) -> &Evidence {
        self.evidence.clear();
        for &Redrawn { kind, people } in block {
            for outcome in whole.outcomes_of(kind) {
                for &fact in whole.facts_of(outcome) {
                    if self.number[fact as usize] == u32::MAX {
                        self.number[fact as usize] = self.facts.len() as u32;
                        self.facts.push(fact);
                        let (count, fact) = (counts[fact as usize], whole.facts()[fact as usize]);
                        let (low, high) = (fact.low.saturating_sub(count), fact.high - count);
                        self.evidence.push_fact(Fact { low, high, ..fact });
                    }
                }
                let facts = whole.facts_of(outcome).iter().map(|&f| self.number[f as usize]);
                self.evidence.push_outcome(whole.outcomes()[outcome as usize].value, facts);
            }
            self.evidence.push_kind(people);
        }
        self.facts.drain(..).for_each(|f| self.number[f as usize] = u32::MAX);
        &self.evidence
    }
}

/// Who has what, as far as it goes.
pub(super) struct Assignment<'a> {
    pub(super) evidence: &'a Evidence,
    /// People with each outcome.
    pub(super) world: Vec<u32>,
    /// How many people each fact counts.
    pub(super) counts: Vec<u64>,
}

impl<'a> Assignment<'a> {
    /// Nobody has anything.
    pub(super) fn new(evidence: &'a Evidence) -> Assignment<'a> {
        Assignment { evidence, world: vec![0; evidence.outcomes().len()], counts: vec![0; evidence.facts().len()] }
    }

    /// So many more people have the outcome.
    pub(super) fn give(&mut self, outcome: u32, n: u32) {
        self.world[outcome as usize] += n;
        self.evidence.facts_of(outcome).iter().for_each(|&f| self.counts[f as usize] += u64::from(n));
    }

    /// So many fewer.
    pub(super) fn take(&mut self, outcome: u32, n: u32) {
        self.world[outcome as usize] -= n;
        self.evidence.facts_of(outcome).iter().for_each(|&f| self.counts[f as usize] -= u64::from(n));
    }

    /// Takes the outcomes of some people away, whoever they are.
    pub(super) fn take_from(&mut self, redrawn: &Redrawn, rng: &mut ChaCha8Rng) -> Vec<(u32, u32)> {
        let mut left = self.evidence.kinds()[redrawn.kind as usize].people;
        let mut wanted = redrawn.people;
        let mut taken = Vec::new();
        for outcome in self.evidence.outcomes_of(redrawn.kind) {
            // Each of the people with the outcome is among those wanted, as likely as anybody who is left.
            let mut n = 0;
            for _ in 0..self.world[outcome as usize] {
                if wanted == left || (wanted > 0 && rng.random_range(0..left) < wanted) {
                    n += 1;
                    wanted -= 1;
                }
                left -= 1;
            }
            if n > 0 {
                taken.push((outcome, n));
                self.take(outcome, n);
            }
        }
        taken
    }
}
