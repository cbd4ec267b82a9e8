//! Worlds one after another: a block of people is redrawn uniformly given everybody else, again and again.

use super::blocks::{Assignment, Blocks, Redrawn};
use super::graph::Graph;
use super::programme::Programme;
use super::tally::Tally;
use crate::inference::Evidence;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

/// Batches of a chain that are counted; before them a quarter as many are drawn and forgotten.
pub(super) const BATCHES: u64 = 16;

/// Sweeps of a chain for each sweep of a batch.
pub(super) const SWEEPS: u64 = BATCHES + BATCHES / 4;

/// The most people of a block.
const BLOCK: u32 = 96;

/// A chain of worlds. Which people make a block never depends on their own outcomes, so that redrawing them keeps all
/// worlds equally likely.
pub(super) struct Chain<'a> {
    evidence: &'a Evidence,
    graph: &'a Graph,
    rng: ChaCha8Rng,
    world: Assignment<'a>,
    blocks: Blocks,
    /// How many people a block should have, and how many states and edges it may.
    size: u32,
    limit: usize,
    cost: Cost,
    tally: Tally,
}

/// What the blocks of a sweep cost.
#[derive(Default)]
struct Cost {
    blocks: u64,
    /// Those that had to be made smaller.
    too_large: u64,
    /// States and edges of all.
    size: u64,
}

impl<'a> Chain<'a> {
    /// A chain from a world.
    pub(super) fn new(graph: &'a Graph, world: Assignment<'a>, rng: ChaCha8Rng, limit: usize) -> Chain<'a> {
        let evidence = world.evidence;
        let (kinds, outcomes, facts) = (evidence.kinds().len(), evidence.outcomes().len(), evidence.facts().len());
        let (tally, blocks) = (Tally::new(kinds, outcomes), Blocks::new(kinds, facts));
        Chain { evidence, graph, rng, world, blocks, size: 8, limit, cost: Cost::default(), tally }
    }

    /// Redraws everybody until the chain has forgotten where it began, then so many times for each batch. `None` if
    /// `go_on` says so.
    pub(super) fn run(mut self, sweeps: u64, go_on: impl Fn() -> bool) -> Option<Tally> {
        for _ in 0..sweeps * (BATCHES / 4) {
            if !go_on() {
                return None;
            }
            self.sweep(None);
            self.resize();
        }
        for batch in 0..BATCHES {
            for _ in 0..sweeps {
                if !go_on() {
                    return None;
                }
                self.sweep(Some((batch * 2 / BATCHES) as usize));
            }
            self.tally.close_batch(self.evidence);
        }
        Some(self.tally)
    }

    /// Larger blocks mix better, until they are too large to be redrawn.
    fn resize(&mut self) {
        let cost = std::mem::take(&mut self.cost);
        if cost.too_large * 20 > cost.blocks {
            self.size = (self.size * 4 / 5).max(2);
        } else if cost.size < cost.blocks * self.limit as u64 / 8 {
            self.size = (self.size * 5 / 4 + 1).min(BLOCK);
        }
    }

    /// Redraws everybody at least once; `half` is the half of the chain that it counts for.
    fn sweep(&mut self, half: Option<usize>) {
        let mut centres: Vec<u32> = (0..self.evidence.kinds().len() as u32).collect();
        centres.shuffle(&mut self.rng);
        let before = self.blocks.block;
        for centre in centres {
            if self.blocks.kind_in[centre as usize] <= before {
                let block = self.blocks.around(self.evidence, self.graph, centre, self.size, &mut self.rng);
                self.redraw(&block, half);
            }
        }
    }

    /// Redraws the people of a block, or of a first part of it that is small enough.
    fn redraw(&mut self, block: &[Redrawn], half: Option<usize>) {
        let mut taken: Vec<_> = block.iter().map(|r| self.world.take_from(r, &mut self.rng)).collect();
        let mut size = block.len();
        self.cost.blocks += 1;
        while size > 0 {
            let evidence = self.blocks.evidence(self.evidence, &block[..size], &self.world.counts);
            let graph = Graph::new(evidence);
            let order = graph.order(usize::MAX).unwrap_or_default();
            if let Some(programme) = Programme::new(evidence, &graph, &order, self.limit) {
                self.draw(&programme, &block[..size], half);
                break;
            }
            self.cost.too_large += u64::from(size == block.len());
            size /= 2;
            for (outcome, n) in taken.drain(size..).flatten() {
                self.world.give(outcome, n);
            }
        }
        // Those who were left as they are count as they are. Whether they were left depends on the others, so that leaving
        // them out of the count would bias it.
        if let Some(half) = half {
            for redrawn in &block[size..] {
                let people = f64::from(self.evidence.kinds()[redrawn.kind as usize].people);
                let outcomes = self.evidence.outcomes_of(redrawn.kind);
                let shares = outcomes.map(|o| (o, f64::from(self.world.world[o as usize]) / people));
                self.tally.count(redrawn.kind, half, shares);
            }
        }
    }

    /// Draws outcomes for the people of a block and counts, for each kind, the share that is expected given everybody
    /// outside of the block: it scatters less than the share that is drawn.
    fn draw(&mut self, programme: &Programme, block: &[Redrawn], half: Option<usize>) {
        self.cost.size += programme.size() as u64;
        let ahead = programme.ahead::<f64>(&mut ());
        let outcomes = || block.iter().flat_map(|r| self.evidence.outcomes_of(r.kind));
        if let Some(half) = half {
            let mut people = vec![0.0; outcomes().count()];
            programme.people(&ahead, &mut (), &mut people);
            let mut at = 0;
            for redrawn in block {
                let all = f64::from(self.evidence.kinds()[redrawn.kind as usize].people);
                let range = self.evidence.outcomes_of(redrawn.kind);
                let expected = people[at..].iter().map(|n| n / ahead[0][0]);
                at += range.len();
                let shares = range.zip(expected).map(|(o, n)| (o, (f64::from(self.world.world[o as usize]) + n) / all));
                self.tally.count(redrawn.kind, half, shares);
            }
        }
        let outcomes: Vec<u32> = outcomes().collect();
        let mut given = Vec::with_capacity(block.len());
        programme.draw(&ahead, &mut self.rng, |outcome, n| given.push((outcomes[outcome as usize], n)));
        given.into_iter().for_each(|(outcome, n)| self.world.give(outcome, n));
    }
}
