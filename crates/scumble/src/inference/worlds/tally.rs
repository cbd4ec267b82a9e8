//! What chains saw, and how well it is known.

use super::draft::Roster;
use crate::inference::{Evidence, Kind};

/// Batches of a chain.
pub(super) const BATCHES: u64 = 16;

/// Batches that make a longer one.
const LONGER: u32 = 4;

/// What one chain saw: how many people had each outcome, on average over the worlds that it
/// visited.
pub(super) struct Tally {
    /// Worlds of the batch at hand.
    now: u64,
    /// People with each outcome, since which world, and the sum over the worlds of the batch before
    /// that.
    people: Vec<u32>,
    since: Vec<u64>,
    sum: Vec<u64>,
    /// Sum over all worlds of the square of the number of people.
    squares: Vec<f64>,
    worlds: u64,
    batches: u32,
    /// The sum of the means of the batches, and of their squares.
    means: Vec<f64>,
    batch_squares: Vec<f64>,
    /// The mean of the longer batch at hand, and the sum of the squares of those before.
    longer: Vec<f64>,
    longer_squares: Vec<f64>,
    /// The mean of the first half.
    first_half: Vec<f64>,
}

impl Tally {
    pub(super) fn new(roster: &Roster, world: &[u32]) -> Tally {
        let n = roster.all_outcomes();
        let none = || vec![0.0; n];
        let mut people = vec![0; n];
        world.iter().for_each(|&o| people[o as usize] += 1);
        Tally {
            now: 0,
            people,
            since: vec![0; n],
            sum: vec![0; n],
            squares: none(),
            worlds: 0,
            batches: 0,
            means: none(),
            batch_squares: none(),
            longer: none(),
            longer_squares: none(),
            first_half: none(),
        }
    }

    /// Somebody has another outcome from the next world on.
    pub(super) fn change(&mut self, before: u32, now: u32) {
        if before != now {
            self.add_up(before as usize);
            self.add_up(now as usize);
            self.people[before as usize] -= 1;
            self.people[now as usize] += 1;
        }
    }

    /// The chain is at a world.
    pub(super) fn visit(&mut self) {
        self.now += 1;
    }

    fn add_up(&mut self, outcome: usize) {
        let worlds = self.now - std::mem::replace(&mut self.since[outcome], self.now);
        let people = self.people[outcome];
        self.sum[outcome] += worlds * u64::from(people);
        self.squares[outcome] += worlds as f64 * f64::from(people).powi(2);
    }

    /// Ends a batch.
    pub(super) fn close_batch(&mut self) {
        self.batches += 1;
        for outcome in 0..self.people.len() {
            self.add_up(outcome);
            self.since[outcome] = 0;
            let mean = std::mem::take(&mut self.sum[outcome]) as f64 / self.now as f64;
            self.means[outcome] += mean;
            self.batch_squares[outcome] += mean * mean;
            self.longer[outcome] += mean / f64::from(LONGER);
            if self.batches.is_multiple_of(LONGER) {
                self.longer_squares[outcome] += std::mem::take(&mut self.longer[outcome]).powi(2);
            }
            if u64::from(self.batches) == BATCHES / 2 {
                self.first_half[outcome] = self.means[outcome] / f64::from(self.batches);
            }
        }
        self.worlds += std::mem::take(&mut self.now);
    }

    /// Batches that are complete.
    pub(super) fn batches(&self) -> u64 {
        self.batches.into()
    }

    fn mean(&self, outcome: usize) -> f64 {
        self.means[outcome] / f64::from(self.batches)
    }
}

/// A share that was estimated.
#[derive(Clone, Copy, Debug)]
pub(super) struct Estimate {
    pub(super) share: f64,
    pub(super) error: f64,
    pub(super) r_hat: f64,
    /// As many independent worlds would give an estimate of the same error; 0 if all that were
    /// drawn are alike.
    pub(super) effective: f64,
}

impl Estimate {
    /// How near it is to 0 or 1; 0 if as many people had it in all worlds.
    fn rarity(&self) -> f64 {
        if self.effective > 0.0 { self.share.min(1.0 - self.share) } else { 0.0 }
    }
}

/// The variances of means of ever longer stretches all estimate the error, the longer the less they
/// suffer from draws that depend on each other, and the more from chance. The larger one of the
/// shortest two is believed unless a longer one is larger than chance makes it but once in ten
/// thousand: these are the χ² quantiles, divided by their degrees of freedom.
const QUANTILES: [(f64, f64); 2] = [(7.0, 29.878 / 7.0), (3.0, 21.108 / 3.0)];

/// What was estimated of a part.
pub(super) struct Drawn {
    pub(super) estimates: Vec<Estimate>,
    /// Worlds that were visited.
    pub(super) worlds: u64,
    /// As how many independent worlds they are worth, for the outcome for which they are worth
    /// least.
    pub(super) effective: f64,
    /// What [beliefs](super::beliefs) say instead, if chains find them good.
    pub(super) believed: Option<Vec<Estimate>>,
}

/// Below so many independent worlds, or above this R̂, a share is not settled.
const EFFECTIVE: f64 = 100.0;
const R_HAT: f64 = 1.05;

/// Fewer people are not enough to compare beliefs with chains on average.
const COMPARED: u64 = 100;

/// Shares nearer to 0 or 1 say little about how many worlds are independent. As many are taken for
/// independent as the other shares of the same person tell of, and no more than all but one in so
/// many shares of the part.
const RARE: f64 = 0.01;
const SLOWEST: usize = 20;

impl Drawn {
    /// The estimates of all outcomes from several chains.
    pub(super) fn new(chains: &[Tally], evidence: &Evidence) -> Drawn {
        let kinds = (0u32..).zip(evidence.kinds());
        let of_kind = |(kind, k): (u32, &Kind)| {
            let people = k.people;
            evidence.outcomes_of(kind).map(move |outcome| estimate(chains, outcome, people))
        };
        let estimates: Vec<Estimate> = kinds.flat_map(of_kind).collect();
        let frequent = |rarest: f64| {
            let mut effective: Vec<f64> =
                estimates.iter().filter(|e| e.rarity() > rarest).map(|e| e.effective).collect();
            effective.sort_unstable_by(f64::total_cmp);
            effective
        };
        let frequent =
            [RARE, 0.0].map(frequent).into_iter().find(|f| !f.is_empty()).unwrap_or(vec![0.0]);
        let (least, most_have) = (frequent[0], frequent[frequent.len() / SLOWEST]);
        let worlds = chains.iter().map(|c| c.worlds).sum();
        let mut drawn = Drawn { estimates, worlds, effective: least, believed: None };
        for kind in 0..evidence.kinds().len() as u32 {
            let outcomes =
                evidence.outcomes_of(kind).start as usize..evidence.outcomes_of(kind).end as usize;
            let estimates = &mut drawn.estimates[outcomes];
            let frequent = estimates.iter().filter(|e| e.rarity() > RARE).map(|e| e.effective);
            let effective = frequent.fold(most_have, f64::min);
            for estimate in estimates {
                // It is expected less than once in so many worlds: that it came up, or did not, was
                // chance.
                if estimate.rarity() * effective < 1.0 {
                    estimate.error = estimate.error.max(1.0 / (effective + 2.0));
                    estimate.effective = effective;
                }
            }
        }
        drawn
    }

    /// Takes over beliefs if chains find them as good as enough worlds.
    pub(super) fn believe(&mut self, chains: &[Tally], beliefs: &[f64], evidence: &Evidence) {
        let square = off(chains, beliefs, evidence);
        let believe = |&share: &f64| {
            let error = (square * share * (1.0 - share)).sqrt().max(square);
            Estimate { share, error, r_hat: 1.0, effective: 1.0 / square }
        };
        let good = evidence.people() >= COMPARED && square * EFFECTIVE <= 1.0;
        self.believed = good.then(|| beliefs.iter().map(believe).collect());
    }

    /// Whether everybody's shares are settled.
    pub(super) fn all_settled(&self) -> bool {
        self.estimates.iter().all(Drawn::is_settled)
    }

    /// Whether chains agree about a share, and moved enough to know it.
    pub(super) fn is_settled(estimate: &Estimate) -> bool {
        estimate.r_hat <= R_HAT && estimate.effective >= EFFECTIVE
    }

    /// Whether everything is settled with errors no larger than this.
    pub(super) fn is_enough(&self, error: f64) -> bool {
        self.estimates.iter().all(|e| Drawn::is_settled(e) && e.error <= error)
    }
}

/// How far chains find beliefs off: the mean square, beside that of a single world.
///
/// Two chains that know nothing of each other err independently, so that what both find a belief
/// off by, multiplied, is on average the square of what it is off by. The pair of chains that
/// agrees most against the beliefs (or least, if that is more) decides: that is no less than what
/// chance makes of chains that moved little, and what all chains have in common because they have
/// not forgotten where they began counts against the beliefs, too.
pub(super) fn off(chains: &[Tally], beliefs: &[f64], evidence: &Evidence) -> f64 {
    let kind_of = evidence.kind_of();
    let people = |o: usize| f64::from(evidence.kinds()[kind_of[o] as usize].people);
    let by_one: f64 = beliefs.iter().enumerate().map(|(o, b)| people(o) * b * (1.0 - b)).sum();
    let off = |chain: &Tally, o: usize| chain.mean(o) / people(o) - beliefs[o];
    let both = |a: &Tally, b: &Tally| {
        (0..beliefs.len()).map(|o| people(o) * off(a, o) * off(b, o)).sum::<f64>()
    };
    let pairs =
        chains.iter().enumerate().flat_map(|(i, a)| chains[..i].iter().map(move |b| (a, b)));
    let most = pairs.map(|(a, b)| both(a, b).abs()).fold(0.0, f64::max) / by_one.max(1.0);
    // Where nothing seems open, somebody might still be otherwise in a world that was not found.
    most.max(1.0 / (evidence.people() as f64 * chains.len() as f64))
}

/// The estimate of an outcome that so many people might have.
fn estimate(chains: &[Tally], outcome: u32, people: u32) -> Estimate {
    let at = outcome as usize;
    let n = chains.len() as f64;
    let batches = n * BATCHES as f64;
    let sum = |what: &dyn Fn(&Tally) -> f64| chains.iter().map(what).sum::<f64>();
    let share = sum(&|c| c.mean(at)) / n;
    let batch = variance(batches, share, sum(&|c| c.batch_squares[at]));
    let stretches = batches / f64::from(LONGER);
    let longer = variance(stretches, share, sum(&|c| c.longer_squares[at]));
    let second = |c: &Tally| 2.0 * c.mean(at) - c.first_half[at];
    let halves = variance(2.0 * n, share, sum(&|c| c.first_half[at].powi(2) + second(c).powi(2)));
    let whole = variance(n, share, sum(&|c| c.mean(at).powi(2)));
    let mut error = (batch / batches).max(longer / stretches);
    for ((freedom, quantile), variance) in QUANTILES.into_iter().zip([halves, whole]) {
        error = error.max(variance / (freedom + 1.0) / quantile);
    }
    // The variance of the number of people from world to world, within the halves.
    let squares = sum(&|c| c.squares[at] / c.worlds as f64) / n;
    let within = squares - sum(&|c| (c.first_half[at].powi(2) + second(c).powi(2)) / 2.0) / n;
    let r_hat = match (within > SAME, halves > SAME) {
        (true, _) => (1.0 + halves / within).sqrt(),
        (false, true) => f64::INFINITY,
        (false, false) => 1.0,
    };
    let effective = if error > SAME { (squares - share * share).max(0.0) / error } else { 0.0 };
    let people = f64::from(people);
    Estimate { share: share / people, error: error.sqrt() / people, r_hat, effective }
}

/// Variances below this are rounding.
const SAME: f64 = 1e-12;

/// The sample variance of n numbers with this mean and sum of squares; rounding does not make it
/// negative.
fn variance(n: f64, mean: f64, squares: f64) -> f64 {
    ((squares - mean * mean * n) / (n - 1.0)).max(0.0)
}
