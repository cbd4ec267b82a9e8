//! Synthetic table: made-up records whose one- and two-column counts are those of the data, but for
//! noise.
//!
//! # Method
//!
//! 1. *Measure* the counts of every column.
//! 2. *Choose* pairs of columns that make a tree: one pair after another, by `permute-and-flip`,
//!    each that joins two parts and whose counts are farthest from what the single columns would
//!    predict. Pairs that are given are not chosen.
//! 3. *Measure* the counts of those pairs.
//! 4. *Fit*: estimates of one column are averaged by their precision and made non-negative with one
//!    common total; the counts of a pair are fitted to its two columns by iterative proportional
//!    fitting, which changes nothing but what it must. The distribution of greatest entropy with
//!    the pairs of a tree is the product along the tree.
//! 5. *Sample* along the tree, with as many records of each kind as expected, rounded at random.
//!
//! # Guarantee
//!
//! The price, for everything that is ever done with the table and with the fitted counts: steps 4
//! and 5 use only what was measured. No record is a person's. Models such as k-anonymity say
//! nothing about such a table: they are about records of persons.
//!
//! # Cost
//!
//! Three tenths of the price go to single columns, two to the choice, five to the pairs. One pass
//! over the rows for every pair of columns.
//!
//! # Departures from the paper
//!
//! McKenna et al. choose by the exponential mechanism and fit by mirror descent over a junction
//! tree. The keys of every column must be public; each column has one more, empty, for missing and
//! other values.
//!
//! # Reference
//!
//! McKenna, Miklau, Sheldon, *Winning the NIST contest: a scalable and general approach to
//! differentially private synthetic data*, 2021; Barak et al., *Privacy, accuracy, and consistency
//! too*, PODS 2007; Chow, Liu 1968.

use super::accountant::Spend;
use super::dice::{Dice, shuffled, small};
use super::exponential::Choice;
use super::gaussian::{Gaussian, rho_for};
use super::laplace::Laplace;
use super::permute_and_flip;
use super::query::{NoiseKind, Price};
use crate::exact::Fraction;
use crate::failure::Failure;
use crate::progress::{Progress, Watch};
use dashu_int::{IBig, UBig};
use rayon::prelude::*;

/// What to make, and at what price.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// Number of keys of each column, the empty one included.
    pub sizes: Vec<usize>,
    /// Rows per person.
    pub rows: u64,
    /// What may be spent.
    pub price: Price,
    /// Pairs that are measured in any case; without a cycle.
    pub pairs: Vec<(usize, usize)>,
}

/// Fitted counts of one or two columns.
#[derive(Clone, Debug)]
pub struct Marginal {
    /// The columns.
    pub columns: Vec<usize>,
    /// A count for each combination of keys, the last column's changing fastest.
    pub counts: Vec<f64>,
}

/// What was made.
pub struct Synthetic {
    /// Fitted counts: single columns, then pairs.
    pub marginals: Vec<Marginal>,
    /// The key of every record, column by column.
    pub columns: Vec<Vec<u32>>,
}

/// Units of a score: a choice is made on whole numbers.
const UNITS: f64 = 1000.0;

impl Recipe {
    /// How many pairs must be chosen.
    fn open(&self) -> usize {
        self.sizes.len().saturating_sub(1 + self.pairs.len())
    }

    /// ε or ρ of a single column, of a choice, of a pair.
    fn shares(&self) -> [Fraction; 3] {
        let parts = if self.open() > 0 { [3u64, 2, 5] } else { [4, 0, 6] };
        let among =
            [self.sizes.len(), self.open().max(1), self.sizes.len().saturating_sub(1).max(1)];
        let whole = match self.price.noise {
            NoiseKind::Laplace => self.price.epsilon.clone(),
            NoiseKind::Gaussian => rho_for(self.price.epsilon.to_f64(), self.price.delta.to_f64()),
        };
        let share = |i: usize| whole.times(&Fraction::new(parts[i], 10 * among[i] as u64));
        [share(0), share(1), share(2)]
    }

    /// ε of a choice: with Gaussian noise, that whose ε²/2 is its share of ρ.
    fn choice(&self) -> Fraction {
        let share = self.shares()[1].clone();
        match self.price.noise {
            NoiseKind::Laplace => share,
            NoiseKind::Gaussian => {
                let epsilon = ((2.0 * share.to_f64()).sqrt() * 1e9 * (1.0 - 1e-9)).floor();
                Fraction::new(epsilon as u64, 1_000_000_000u64)
            }
        }
    }

    /// What it costs, before anything is done: one price for each step, or one for all with
    /// Gaussian noise.
    pub fn spends(&self) -> Vec<Spend> {
        let [single, _, pair] = self.shares();
        if self.price.noise == NoiseKind::Gaussian {
            let Price { epsilon, delta, .. } = self.price.clone();
            return vec![Spend::Gaussian {
                rho: rho_for(epsilon.to_f64(), delta.to_f64()),
                epsilon,
                delta,
            }];
        }
        let pure = |epsilon: &Fraction, n: usize| vec![Spend::Pure { epsilon: epsilon.clone() }; n];
        let n = self.sizes.len();
        [pure(&single, n), pure(&self.choice(), self.open()), pure(&pair, n.saturating_sub(1))]
            .concat()
    }

    /// Counts with noise, and the variance of it.
    fn measure(
        &self,
        counts: &[u64],
        share: &Fraction,
        dice: &mut dyn Dice,
        watch: &Watch<'_>,
    ) -> (Vec<f64>, f64) {
        let sensitivity = UBig::from(self.rows);
        let float = |n: IBig| n.to_f64().value();
        match self.price.noise {
            NoiseKind::Laplace => {
                let noise = Laplace { sensitivity, epsilon: share.clone() };
                let variance = 2.0 * noise.scale().to_f64().powi(2);
                (
                    counts
                        .iter()
                        .map(|&n| go_on(watch, || float(noise.draw(&n.into(), dice))))
                        .collect(),
                    variance.max(1e-9),
                )
            }
            NoiseKind::Gaussian => {
                let noise = Gaussian { sensitivity, rho: share.clone() };
                let variance = noise.variance().to_f64();
                (
                    counts
                        .iter()
                        .map(|&n| go_on(watch, || float(noise.draw(&n.into(), dice))))
                        .collect(),
                    variance.max(1e-9),
                )
            }
        }
    }

    /// Makes a table from columns of keys.
    pub fn synthesize(&self, data: &[&[u32]], dice: &mut dyn Dice) -> Synthetic {
        match self.synthesize_unless(data, dice, &|_, _| true) {
            Ok(made) => made,
            Err(_) => unreachable!("nobody cancels it"),
        }
    }

    /// The same; it can be cancelled, which gives nothing back of what was paid for it.
    pub fn synthesize_unless(
        &self,
        data: &[&[u32]],
        dice: &mut dyn Dice,
        progress: Progress<'_>,
    ) -> Result<Synthetic, Failure> {
        // Measuring, choosing pairs, measuring pairs, fitting them, drawing records.
        let steps = self.sizes.len() as u64;
        let watch = Watch::new(progress, 5 * steps);
        let [single, _, pair] = self.shares();
        let counts = |i: usize| {
            let mut counts = vec![0u64; self.sizes[i]];
            data[i].iter().for_each(|&code| counts[code as usize] += 1);
            counts
        };
        let singles: Vec<(Vec<f64>, f64)> = (0..self.sizes.len())
            .map(|i| self.measure(&counts(i), &single, dice, &watch))
            .collect();
        watch.add(steps);
        watch.check()?;
        let edges = self.tree(data, &singles, dice, &watch);
        watch.add(steps);
        watch.check()?;
        let measured = |&(a, b): &(usize, usize)| {
            watch.add(1);
            self.measure(&self.together(data, a, b), &pair, dice, &watch)
        };
        let pairs: Vec<(Vec<f64>, f64)> = edges.iter().map(measured).collect();
        watch.check()?;
        let total = total(&singles);
        let ones = self.ones(&singles, &edges, &pairs, total);
        let twos: Vec<Vec<f64>> = edges
            .iter()
            .zip(&pairs)
            .map(|(&(a, b), (noisy, _))| {
                watch.add(1);
                fitted(noisy, &ones[a], &ones[b], &watch)
            })
            .collect();
        watch.check()?;
        let columns = self.sample(&ones, &edges, &twos, total, (dice, &watch));
        watch.check()?;
        let one = |(i, counts): (usize, Vec<f64>)| Marginal { columns: vec![i], counts };
        let two = |(&(a, b), counts): (&(usize, usize), Vec<f64>)| Marginal {
            columns: vec![a, b],
            counts,
        };
        let marginals =
            ones.into_iter().enumerate().map(one).chain(edges.iter().zip(twos).map(two)).collect();
        Ok(Synthetic { marginals, columns })
    }

    /// Exact counts of two columns together.
    fn together(&self, data: &[&[u32]], a: usize, b: usize) -> Vec<u64> {
        let width = self.sizes[b];
        let mut counts = vec![0u64; self.sizes[a] * width];
        data[a]
            .iter()
            .zip(data[b])
            .for_each(|(&x, &y)| counts[x as usize * width + y as usize] += 1);
        counts
    }

    /// The pairs of a tree over all columns: those given, and those chosen.
    fn tree(
        &self,
        data: &[&[u32]],
        singles: &[(Vec<f64>, f64)],
        dice: &mut dyn Dice,
        watch: &Watch<'_>,
    ) -> Vec<(usize, usize)> {
        let n = self.sizes.len();
        let mut part: Vec<usize> = (0..n).collect();
        let mut edges = self.pairs.clone();
        for &(a, b) in &self.pairs {
            let (from, to) = (part[a], part[b]);
            part.iter_mut().filter(|p| **p == from).for_each(|p| *p = to);
        }
        if edges.len() + 1 >= n {
            return edges;
        }
        let all: Vec<(usize, usize)> =
            (0..n).flat_map(|a| (a + 1..n).map(move |b| (a, b))).collect();
        let scores: Vec<u64> = all
            .par_iter()
            .map(|&(a, b)| if watch.go_on() { self.score(data, singles, a, b) } else { 0 })
            .collect();
        let epsilon = self.choice();
        // Rounding a score down may add one to what a person changes, and so may rounding of the
        // arithmetic.
        let sensitivity = self.rows * UNITS as u64 + 2;
        while edges.len() + 1 < n {
            let left: Vec<usize> =
                (0..all.len()).filter(|&i| part[all[i].0] != part[all[i].1]).collect();
            let best = left.iter().map(|&i| scores[i]).max().unwrap_or(0);
            let losses: Vec<u64> = left.iter().map(|&i| best - scores[i]).collect();
            let choice = Choice { losses: &losses, sensitivity, epsilon: epsilon.clone() };
            let (a, b) = all[left[permute_and_flip::choose(&choice, dice)]];
            let (from, to) = (part[a], part[b]);
            part.iter_mut().filter(|p| **p == from).for_each(|p| *p = to);
            edges.push((a, b));
        }
        edges
    }

    /// How far two columns are from what the noisy single ones predict, in thousandths of a row: a
    /// row more or less changes it by at most one row.
    fn score(&self, data: &[&[u32]], singles: &[(Vec<f64>, f64)], a: usize, b: usize) -> u64 {
        let total = total(singles);
        let counts = self.together(data, a, b);
        let share = |i: usize, code: usize| singles[i].0[code].max(0.0) / total;
        let width = self.sizes[b];
        let apart = |(cell, &n): (usize, &u64)| {
            (n as f64 - total * share(a, cell / width) * share(b, cell % width)).abs()
        };
        (counts.iter().enumerate().map(apart).sum::<f64>() * UNITS) as u64
    }

    /// The counts of single columns, from everything that was measured about them.
    fn ones(
        &self,
        singles: &[(Vec<f64>, f64)],
        edges: &[(usize, usize)],
        pairs: &[(Vec<f64>, f64)],
        total: f64,
    ) -> Vec<Vec<f64>> {
        let estimate = |i: usize| {
            let (noisy, variance) = &singles[i];
            let mut sums: Vec<f64> = noisy.iter().map(|n| n / variance).collect();
            let mut weight = 1.0 / variance;
            for (&(a, b), (counts, variance)) in edges.iter().zip(pairs) {
                let width = self.sizes[b];
                let (others, of): (usize, Box<dyn Fn(usize) -> usize>) = match i {
                    _ if i == a => (width, Box::new(move |cell| cell / width)),
                    _ if i == b => (self.sizes[a], Box::new(move |cell| cell % width)),
                    _ => continue,
                };
                let variance = variance * others as f64;
                counts.iter().enumerate().for_each(|(cell, n)| sums[of(cell)] += n / variance);
                weight += 1.0 / variance;
            }
            on_simplex(&sums.iter().map(|s| s / weight).collect::<Vec<_>>(), total)
        };
        (0..self.sizes.len()).map(estimate).collect()
    }

    /// Records along the tree.
    fn sample(
        &self,
        ones: &[Vec<f64>],
        edges: &[(usize, usize)],
        twos: &[Vec<f64>],
        total: f64,
        (dice, watch): (&mut dyn Dice, &Watch<'_>),
    ) -> Vec<Vec<u32>> {
        let records = total.round() as usize;
        let mut columns: Vec<Option<Vec<u32>>> = vec![None; self.sizes.len()];
        if let Some(first) = columns.first_mut() {
            *first = Some(spread(&ones[0], records, dice));
        }
        while let Some((edge, (from, to))) = next(edges, &columns) {
            watch.add(1);
            let parent = columns[from].clone().unwrap_or_default();
            let (rows, width, forward) =
                (self.sizes[from], self.sizes[edges[edge].1], edges[edge].0 == from);
            let mut child = vec![0u32; records];
            let mut places: Vec<Vec<u32>> = vec![Vec::new(); rows];
            parent.iter().enumerate().for_each(|(row, &key)| places[key as usize].push(row as u32));
            for (key, places) in places.iter().enumerate().filter(|(_, p)| !p.is_empty()) {
                let chance =
                    |k: usize| twos[edge][if forward { key * width + k } else { k * width + key }];
                let weights: Vec<f64> = (0..self.sizes[to]).map(chance).collect();
                let drawn = spread(&weights, places.len(), dice);
                places.iter().zip(drawn).for_each(|(&row, key)| child[row as usize] = key);
            }
            columns[to] = Some(child);
        }
        let order = shuffled(dice, records);
        let mixed = |c: Option<Vec<u32>>| {
            let c = c.unwrap_or_default();
            order.iter().map(|&row| c[row as usize]).collect()
        };
        columns.into_iter().map(mixed).collect()
    }
}

/// An edge from a column that is there to one that is not.
fn next(edges: &[(usize, usize)], columns: &[Option<Vec<u32>>]) -> Option<(usize, (usize, usize))> {
    edges.iter().enumerate().find_map(|(i, &(a, b))| match (&columns[a], &columns[b]) {
        (Some(_), None) => Some((i, (a, b))),
        (None, Some(_)) => Some((i, (b, a))),
        _ => None,
    })
}

/// The number of records, from the sums of all columns by their precision.
fn total(singles: &[(Vec<f64>, f64)]) -> f64 {
    let weight = |(counts, variance): &(Vec<f64>, f64)| 1.0 / (counts.len() as f64 * variance);
    let sum: f64 = singles.iter().map(|s| weight(s) * s.0.iter().sum::<f64>()).sum();
    (sum / singles.iter().map(weight).sum::<f64>()).max(1.0)
}

/// The nearest non-negative numbers with this sum.
pub fn on_simplex(counts: &[f64], total: f64) -> Vec<f64> {
    let mut sorted = counts.to_vec();
    sorted.sort_by(|a, b| b.total_cmp(a));
    let (mut sum, mut shift) = (0.0, 0.0);
    for (i, x) in sorted.iter().enumerate() {
        sum += x;
        let candidate = (sum - total) / (i + 1) as f64;
        if *x > candidate {
            shift = candidate;
        }
    }
    counts.iter().map(|x| (x - shift).max(0.0)).collect()
}

/// Draws of noise, and cells of a table, between two questions whether to go on: some hundredths of
/// a second.
const DRAWS: u64 = 10_000;
const CELLS: u64 = 1_000_000;

/// A number, or nothing once it is cancelled.
fn go_on(watch: &Watch<'_>, number: impl FnOnce() -> f64) -> f64 {
    if watch.work(1, DRAWS) { number() } else { 0.0 }
}

/// A table fitted to its two margins: rows and columns are scaled in turn. What is zero everywhere
/// in a row that should have something becomes as the margins say.
fn fitted(noisy: &[f64], rows: &[f64], columns: &[f64], watch: &Watch<'_>) -> Vec<f64> {
    let (width, total) = (columns.len(), rows.iter().sum::<f64>().max(1e-300));
    let faint = |cell: usize| 1e-6 * rows[cell / width] * columns[cell % width] / total;
    let mut table: Vec<f64> =
        noisy.iter().enumerate().map(|(cell, n)| n.max(0.0) + faint(cell)).collect();
    for _ in 0..200 {
        if !watch.work(noisy.len() as u64, CELLS) {
            return table;
        }
        let mut worst = 0.0f64;
        for (row, &target) in rows.iter().enumerate() {
            let cells = &mut table[row * width..(row + 1) * width];
            scale(cells.iter_mut(), target, &mut worst);
        }
        for (column, &target) in columns.iter().enumerate() {
            scale(table.iter_mut().skip(column).step_by(width), target, &mut worst);
        }
        if worst < 1e-9 * total {
            break;
        }
    }
    settle(&mut table, rows, columns);
    table
}

/// Makes the margins right where scaling has not come to its end: what is too much is taken away in
/// proportion, what is then missing is added as the margins miss it (Altschuler, Weed, Rigollet
/// 2017).
fn settle(table: &mut [f64], rows: &[f64], columns: &[f64]) {
    let width = columns.len();
    let sum_row =
        |table: &[f64], row: usize| table[row * width..(row + 1) * width].iter().sum::<f64>();
    let sum_column =
        |table: &[f64], column: usize| table.iter().skip(column).step_by(width).sum::<f64>();
    for (row, target) in rows.iter().enumerate() {
        let factor = (target / sum_row(table, row).max(1e-300)).min(1.0);
        table[row * width..(row + 1) * width].iter_mut().for_each(|c| *c *= factor);
    }
    for (column, target) in columns.iter().enumerate() {
        let factor = (target / sum_column(table, column).max(1e-300)).min(1.0);
        table.iter_mut().skip(column).step_by(width).for_each(|c| *c *= factor);
    }
    let short: Vec<f64> = (0..rows.len()).map(|r| (rows[r] - sum_row(table, r)).max(0.0)).collect();
    let low: Vec<f64> = (0..width).map(|c| (columns[c] - sum_column(table, c)).max(0.0)).collect();
    let missing: f64 = short.iter().sum();
    if missing > 0.0 {
        table
            .iter_mut()
            .enumerate()
            .for_each(|(i, c)| *c += short[i / width] * low[i % width] / missing);
    }
}

/// Scales cells to a sum.
fn scale<'a>(cells: impl Iterator<Item = &'a mut f64>, target: f64, worst: &mut f64) {
    let cells: Vec<&mut f64> = cells.collect();
    let sum: f64 = cells.iter().map(|c| **c).sum();
    *worst = worst.max((sum - target).abs());
    if sum > 0.0 {
        cells.into_iter().for_each(|c| *c *= target / sum);
    }
}

/// So many draws with these weights: each key as often as expected, rounded down, the rest drawn;
/// in random order.
fn spread(weights: &[f64], draws: usize, dice: &mut dyn Dice) -> Vec<u32> {
    let sum: f64 = weights.iter().sum();
    let share = |w: f64| if sum > 0.0 { w / sum } else { 1.0 / weights.len() as f64 };
    let expected: Vec<f64> = weights.iter().map(|&w| share(w) * draws as f64).collect();
    let mut all: Vec<u32> = Vec::with_capacity(draws);
    for (key, e) in expected.iter().enumerate() {
        all.extend(std::iter::repeat_n(key as u32, e.floor() as usize));
    }
    let rests: Vec<f64> = expected.iter().map(|e| e - e.floor()).collect();
    let open: f64 = rests.iter().sum();
    while all.len() < draws {
        let mut at = small(dice, 1 << 53) as f64 / (1u64 << 53) as f64 * open;
        let key = rests.iter().position(|r| {
            at -= r;
            at < 0.0
        });
        all.push(key.unwrap_or(0) as u32);
    }
    all.truncate(draws);
    let order = shuffled(dice, all.len());
    order.into_iter().map(|i| all[i as usize]).collect()
}
