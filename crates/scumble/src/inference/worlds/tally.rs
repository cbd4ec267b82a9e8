//! What chains saw, and how well it is known.

use crate::inference::Evidence;

/// What one chain saw: means of the expected share of every outcome among the people of its kind.
pub(super) struct Tally {
    /// In the batch at hand: how often each kind was redrawn, and the sum of the shares of each outcome.
    redraws: Vec<u32>,
    shares: Vec<f64>,
    halves: [Half; 2],
    batches: u32,
    /// Sum of the batch means, and of their squares.
    means: Vec<f64>,
    squares: Vec<f64>,
}

/// The first or the second half of a chain.
#[derive(Clone)]
struct Half {
    redraws: Vec<u32>,
    shares: Vec<f64>,
    squares: Vec<f64>,
}

impl Tally {
    pub(super) fn new(kinds: usize, outcomes: usize) -> Tally {
        let none = || vec![0.0; outcomes];
        let half = Half { redraws: vec![0; kinds], shares: none(), squares: none() };
        let halves = [half.clone(), half];
        Tally { redraws: vec![0; kinds], shares: none(), halves, batches: 0, means: none(), squares: none() }
    }

    /// Counts a redraw of a kind.
    pub(super) fn count(&mut self, kind: u32, half: usize, shares: impl Iterator<Item = (u32, f64)>) {
        let half = &mut self.halves[half];
        self.redraws[kind as usize] += 1;
        half.redraws[kind as usize] += 1;
        for (outcome, share) in shares {
            self.shares[outcome as usize] += share;
            half.shares[outcome as usize] += share;
            half.squares[outcome as usize] += share * share;
        }
    }

    /// Ends a batch, in which every kind was redrawn.
    pub(super) fn close_batch(&mut self, evidence: &Evidence) {
        self.batches += 1;
        for kind in 0..evidence.kinds().len() as u32 {
            let redraws = f64::from(std::mem::take(&mut self.redraws[kind as usize]));
            for outcome in evidence.outcomes_of(kind) {
                let mean = std::mem::take(&mut self.shares[outcome as usize]) / redraws;
                self.means[outcome as usize] += mean;
                self.squares[outcome as usize] += mean * mean;
            }
        }
    }
}

/// A share that was estimated.
pub(super) struct Estimate {
    pub(super) share: f64,
    pub(super) error: f64,
    pub(super) r_hat: f64,
    /// Whether no redraw ever gave it another chance: it may be so, or the chains may be stuck.
    pub(super) stuck: bool,
}

/// Variances below this are rounding.
const SAME: f64 = 1e-12;

/// The estimate of an outcome of a kind from several chains.
pub(super) fn estimate(chains: &[Tally], kind: u32, outcome: u32) -> Estimate {
    let at = outcome as usize;
    let batches: u32 = chains.iter().map(|c| c.batches).sum();
    let (sum, squares) = chains.iter().fold((0.0, 0.0), |(s, q), c| (s + c.means[at], q + c.squares[at]));
    let within_batches = variance(f64::from(batches), sum, squares) / f64::from(batches);
    let chain_means = chains.iter().map(|c| c.means[at] / f64::from(c.batches));
    let between_chains = variance_of(chain_means) / chains.len() as f64;
    let halves = || chains.iter().flat_map(|c| &c.halves);
    let count = |h: &Half| f64::from(h.redraws[kind as usize]);
    let within =
        halves().map(|h| variance(count(h), h.shares[at], h.squares[at])).sum::<f64>() / halves().count() as f64;
    let between = variance_of(halves().map(|h| h.shares[at] / count(h)));
    let redraws: f64 = halves().map(count).sum();
    let n = redraws / halves().count() as f64;
    let r_hat = match (within > SAME, between > SAME) {
        (true, _) => (((n - 1.0) / n * within + between) / within).sqrt(),
        (false, true) => f64::INFINITY,
        (false, false) => 1.0,
    };
    let share = sum / f64::from(batches);
    let constant = within <= SAME;
    let stuck = constant && !(1e-12..=1.0 - 1e-12).contains(&share);
    // Where every redraw gave the same, something else may just not have come up; where chains are stuck, each of them is
    // worth one draw.
    let least = match (constant, stuck) {
        (_, true) => 1.0 / (chains.len() as f64 + 2.0),
        (true, _) => 1.0 / (redraws + 2.0),
        (false, _) => 0.0,
    };
    Estimate { share, error: within_batches.max(between_chains).sqrt().max(least), r_hat, stuck }
}

/// The sample variance of n numbers with this sum and sum of squares; rounding does not make it negative.
fn variance(n: f64, sum: f64, squares: f64) -> f64 {
    if n < 2.0 { 0.0 } else { ((squares - sum * sum / n) / (n - 1.0)).max(0.0) }
}

fn variance_of(numbers: impl Iterator<Item = f64>) -> f64 {
    let (n, sum, squares) = numbers.fold((0.0, 0.0, 0.0), |(n, s, q), x| (n + 1.0, s + x, q + x * x));
    variance(n, sum, squares)
}
