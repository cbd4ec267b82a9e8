//! Ways to deal the values, sampled.
//!
//! The probabilities of naive Bayes are integrated out: what is left are counts of people by cell
//! and label. Swapping the labels of two people changes a few of them.

use super::Posterior;
use super::deal::{Deal, Group};
use super::fit::expected;
use crate::progress::{Progress, Watch};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

/// Number of chains. Their spread is the standard error.
pub const CHAINS: u64 = 8;
/// People between two questions whether to go on: some hundredths of a second.
const PEOPLE: u64 = 100_000;

/// What is believed, by place, from `sweeps` samples of each chain; anything, once cancelled.
pub fn sample(
    deal: &Deal,
    prior: f64,
    sweeps: u64,
    seed: u64,
    progress: Progress<'_>,
) -> Posterior {
    let watch = Watch::new(progress, CHAINS * (sweeps.div_ceil(4) + sweeps));
    let start = expected(deal, prior, &watch);
    let warm_up = sweeps.div_ceil(4);
    let run = |number: u64| {
        let mut chain = Chain::new(deal, prior, &start, seed, number);
        let mut seen = vec![0u32; deal.all_places()];
        for sweep in 0..warm_up + sweeps {
            if watch.stopped() {
                break;
            }
            chain.sweep(&watch);
            if sweep >= warm_up {
                chain.see(&mut seen);
            }
            watch.add(1);
        }
        // Sums of whole numbers do not depend on the order in which chains end.
        let squares: Vec<u128> = seen.iter().map(|&n| u128::from(n).pow(2)).collect();
        (seen.into_iter().map(u64::from).collect::<Vec<u64>>(), squares)
    };
    let both = |a: (Vec<u64>, Vec<u128>), b: (Vec<u64>, Vec<u128>)| {
        (
            a.0.iter().zip(&b.0).map(|(a, b)| a + b).collect(),
            a.1.iter().zip(&b.1).map(|(a, b)| a + b).collect(),
        )
    };
    let (sums, squares) =
        (0..CHAINS).into_par_iter().map(run).reduce_with(both).unwrap_or_default();
    let chains = CHAINS as f64;
    let (mut believed, mut errors) =
        (Vec::with_capacity(sums.len()), Vec::with_capacity(sums.len()));
    for unit in 0..deal.units() {
        let samples = deal.people(unit) as f64 * sweeps as f64;
        for place in deal.places(unit) {
            let mean = sums[place] as f64 / chains / samples;
            let square = squares[place] as f64 / chains / samples.powi(2);
            believed.push(mean);
            errors.push(((square - mean * mean).max(0.0) / (chains - 1.0)).sqrt());
        }
    }
    Posterior { believed, errors: Some(errors) }
}

/// One way to deal the values, and the counts that its likelihood depends on.
struct Chain<'a> {
    deal: &'a Deal,
    random: ChaCha8Rng,
    /// The unit of everybody, group after group, and which label of the group each has.
    unit_of: Vec<u32>,
    label_of: Vec<u32>,
    /// People by cell and label, with the prior.
    counts: Vec<f64>,
    /// People by label who are no strangers.
    known: Vec<f64>,
    /// The prior of all cells of each attribute.
    widths: Vec<f64>,
}

impl<'a> Chain<'a> {
    fn new(deal: &'a Deal, prior: f64, start: &[f64], seed: u64, number: u64) -> Chain<'a> {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(number);
        let mut chain = Chain {
            deal,
            random,
            unit_of: Vec::new(),
            label_of: Vec::new(),
            counts: vec![prior; deal.cells() * deal.labels()],
            known: vec![0.0; deal.labels()],
            widths: deal.attributes.iter().map(|a| a.len() as f64 * prior).collect(),
        };
        deal.groups.iter().for_each(|group| chain.seat(group, start));
        chain
    }

    /// Deals the labels of a group at random, one person after the other, by the expected shares.
    fn seat(&mut self, group: &Group, start: &[f64]) {
        let deal = self.deal;
        let mut left: Vec<u64> = group.labels.iter().map(|(_, n)| *n).collect();
        for unit in group.units.clone() {
            let shares = &start[deal.places(unit)];
            for _ in 0..deal.people(unit) {
                let weight =
                    |l: usize| shares[l].max(1e-12) * left[l] as f64 / group.labels[l].1 as f64;
                let mut at = self.random.random::<f64>() * (0..left.len()).map(weight).sum::<f64>();
                let passed = |l: &usize| {
                    at -= weight(*l);
                    at < 0.0 && left[*l] > 0
                };
                let last = || left.iter().rposition(|&n| n > 0).unwrap_or_default();
                let label = (0..left.len()).find(passed).unwrap_or_else(last);
                left[label] -= 1;
                self.unit_of.push(unit as u32);
                self.label_of.push(label as u32);
                self.put(unit, group.labels[label].0, 1.0);
            }
        }
    }

    /// Counts a person of a unit, or takes her away.
    fn put(&mut self, unit: usize, label: u32, change: f64) {
        let (deal, labels) = (self.deal, self.deal.labels());
        let Some(cells) = deal.cells_of(unit) else { return };
        cells
            .iter()
            .for_each(|&cell| self.counts[cell as usize * labels + label as usize] += change);
        self.known[label as usize] += change;
    }

    /// Everybody once: tries to swap the person's label with that of another person of the group.
    fn sweep(&mut self, watch: &Watch<'_>) {
        let deal = self.deal;
        let mut first = 0;
        for group in &deal.groups {
            let size = group.units.clone().map(|u| deal.people(u)).sum::<u64>() as usize;
            if !watch.work(size as u64, PEOPLE) {
                return;
            }
            if group.labels.len() > 1 && group.units.len() > 1 {
                for one in first..first + size {
                    let other = first + self.random.random_range(0..size);
                    self.try_swap(group, one, other);
                }
            }
            first += size;
        }
    }

    fn try_swap(&mut self, group: &Group, one: usize, other: usize) {
        let (u, v) = (self.unit_of[one] as usize, self.unit_of[other] as usize);
        let (i, j) = (self.label_of[one], self.label_of[other]);
        // People of a unit are alike.
        if u == v || i == j {
            return;
        }
        let (a, b) = (group.labels[i as usize].0, group.labels[j as usize].0);
        let ratio = self.ratio(u, v, a, b);
        if ratio >= 1.0 || self.random.random::<f64>() < ratio {
            self.label_of.swap(one, other);
            self.put(u, a, -1.0);
            self.put(v, b, -1.0);
            self.put(u, b, 1.0);
            self.put(v, a, 1.0);
        }
    }

    /// By how much likelier it is that a person of `u` has b and one of `v` a than the other way
    /// round, as it is now.
    fn ratio(&self, u: usize, v: usize, a: u32, b: u32) -> f64 {
        let labels = self.deal.labels();
        let count = |cell: u32, label: u32| self.counts[cell as usize * labels + label as usize];
        match (self.deal.cells_of(u), self.deal.cells_of(v)) {
            (Some(u), Some(v)) => {
                let differ = u.iter().zip(v).filter(|(x, y)| x != y);
                let factor = |(&x, &y): (&u32, &u32)| {
                    count(y, a) * count(x, b) / ((count(x, a) - 1.0) * (count(y, b) - 1.0))
                };
                differ.map(factor).product()
            }
            // With a stranger: only one person has another label afterwards.
            (Some(u), None) => self.moved(u, a, b),
            (None, Some(v)) => self.moved(v, b, a),
            (None, None) => 1.0,
        }
    }

    /// By how much likelier it is that a person has this label than the one she has.
    fn moved(&self, cells: &[u32], from: u32, to: u32) -> f64 {
        let (labels, known) = (self.deal.labels(), |label: u32| self.known[label as usize]);
        let count = |cell: u32, label: u32| self.counts[cell as usize * labels + label as usize];
        let factor = |(&cell, width): (&u32, &f64)| {
            let after = count(cell, to) / (known(to) + width);
            after * (known(from) - 1.0 + width) / (count(cell, from) - 1.0)
        };
        cells.iter().zip(&self.widths).map(factor).product()
    }

    /// Counts what everybody has.
    fn see(&self, seen: &mut [u32]) {
        for (&unit, &label) in self.unit_of.iter().zip(&self.label_of) {
            seen[self.deal.places(unit as usize).start + label as usize] += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::deal::Deal;
    use super::super::exact;
    use super::*;
    use crate::exact::Ratio;

    /// What is sampled is what is counted, but for what the standard error allows.
    #[test]
    fn samples_are_near_what_is_counted() {
        for seed in 0..12 {
            let deal = Deal::random(seed);
            let exactly = exact::count(&deal, Ratio::whole(1)).expect("few ways");
            let sampled = sample(&deal, 1.0, 4000, seed, &|_, _| true);
            let errors = sampled.errors.expect("it is sampled");
            for (place, p) in exactly.iter().enumerate() {
                let (found, p) = (sampled.believed[place], p.to_f64());
                // Eight chains tell the error only roughly.
                assert!(
                    (found - p).abs() <= 6.0 * errors[place] + 0.005,
                    "seed {seed}: {found} for {p}"
                );
                assert!(errors[place] < 0.03, "seed {seed}: {}", errors[place]);
            }
        }
    }
}
