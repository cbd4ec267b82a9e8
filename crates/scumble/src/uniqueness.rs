//! How many people are unique in a population, estimated from a release that is a sample of it.
//!
//! A record alone in its class matters if the person is alone in the population too. Given are the
//! number S_j of classes of each size j, n = Σ j·S_j records in u = Σ S_j classes, and the size N
//! of the population; π = n/N. The release is taken for a simple random sample. Every estimator
//! assumes a shape of the population, so the figures are statistics, not guarantees: with small π
//! those of Zayatz and SNB are often far too high.
//!
//! - **Zayatz** (1991): classes of the population have the sizes of those of the sample. A class of
//!   j people shows one record with the hypergeometric probability h(j) = j·C(N−j, n−1)/C(N, n), so
//!   that a record alone in the sample is alone in the population with probability S₁·h(1)/Σ
//!   S_j·h(j).
//! - **Pitman** (Pitman 1996, Hoshino 2001): people come to old or new classes by Pitman's sampling
//!   formula with parameters θ > 0 and 0 < α < 1, estimated by maximum likelihood. In the
//!   population E S₁ = N·(θ+α)(θ+α+1)…(θ+α+N−2) / (θ+1)(θ+2)…(θ+N−1).
//! - **SNB**, slide negative binomial (Chen and Keller-McNulty 1998): the number K of classes of
//!   the population is estimated by Shlosser's formula K = u + S₁·Σ(1−π)^i·S_i / Σ
//!   i·π(1−π)^(i−1)·S_i, and the sizes less one are negative binomial, with parameters such that u
//!   classes and S₁ uniques are expected in the sample.
//! - **Dankar** (Dankar, El Emam, Neisa and Roffey 2012): Pitman if π ≤ 0.1, otherwise the lower of
//!   Zayatz and SNB.
//!
//! No record alone in its class means no estimated uniques, and there are never more of them, in
//! proportion, than records alone in their class. If the release is the whole population they are
//! counted, not estimated.

use std::collections::BTreeMap;

/// Which estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Estimator {
    Zayatz,
    Pitman,
    Snb,
    Dankar,
}

impl Estimator {
    /// Every estimator with its name in a policy.
    pub const ALL: [(&'static str, Estimator); 4] = [
        ("dankar", Estimator::Dankar),
        ("pitman", Estimator::Pitman),
        ("zayatz", Estimator::Zayatz),
        ("snb", Estimator::Snb),
    ];

    /// The estimator of a name.
    pub fn named(name: &str) -> Option<Estimator> {
        Estimator::ALL.iter().find(|(n, _)| *n == name).map(|(_, estimator)| *estimator)
    }
}

/// The estimated share of the records whose people are alone in the population, which is also the
/// share of such people. `sizes` has the number of classes of each size; a population smaller than
/// the sample is the sample.
pub fn unique_share(sizes: &BTreeMap<u64, u64>, population: u64, estimator: Estimator) -> f64 {
    let sizes: Vec<(f64, f64)> =
        sizes.iter().map(|(&size, &classes)| (size as f64, classes as f64)).collect();
    let alone = sizes.iter().find(|(size, _)| *size == 1.0).map_or(0.0, |(_, classes)| *classes);
    let records: f64 = sizes.iter().map(|(size, classes)| size * classes).sum();
    let classes: f64 = sizes.iter().map(|(_, classes)| classes).sum();
    if alone == 0.0 {
        return 0.0;
    }
    let sample =
        Sample { sizes, alone, records, classes, population: (population as f64).max(records) };
    let most = alone / records;
    if sample.population == records {
        return most;
    }
    let people = match estimator {
        Estimator::Zayatz => sample.zayatz(),
        Estimator::Pitman => sample.pitman(),
        Estimator::Snb => sample.snb(),
        Estimator::Dankar if sample.fraction() <= 0.1 => sample.pitman(),
        Estimator::Dankar => sample.zayatz().min(sample.snb()),
    };
    (people / sample.population).clamp(0.0, most)
}

/// What the estimators know.
struct Sample {
    /// Sizes of classes with their number, rising.
    sizes: Vec<(f64, f64)>,
    alone: f64,
    records: f64,
    classes: f64,
    population: f64,
}

impl Sample {
    fn fraction(&self) -> f64 {
        self.records / self.population
    }

    fn zayatz(&self) -> f64 {
        let (n, all) = (self.records, self.population);
        // C(N−j, n−1)/C(N, n) is n/N for j = 1, and times (N−j−n+1)/(N−j) for the next j.
        let (mut chance, mut j, mut expected) = (n / all, 1.0, 0.0);
        for &(size, classes) in &self.sizes {
            while j < size && chance > 0.0 {
                chance *= ((all - j - n + 1.0) / (all - j)).max(0.0);
                j += 1.0;
            }
            expected += classes * size * chance;
        }
        let alone_too = self.alone * self.fraction() / expected;
        self.alone * alone_too / self.fraction()
    }

    fn pitman(&self) -> f64 {
        let (n, u, all) = (self.records, self.classes, self.population);
        if u == n {
            return all; // nothing in the sample tells of a second person of any class
        }
        let likeliest_theta = |alpha: f64| {
            let within: f64 =
                self.sizes.iter().map(|&(size, k)| k * ln_rising(1.0 - alpha, size - 1.0)).sum();
            let likelihood = |ln_theta: f64| {
                let theta = ln_theta.exp();
                (u - 1.0) * alpha.ln() + ln_rising(theta / alpha + 1.0, u - 1.0)
                    - ln_rising(theta + 1.0, n - 1.0)
                    + within
            };
            highest(likelihood, 1e-3f64.ln(), (4.0 * n * n + 10.0).ln(), 60)
        };
        let (alpha, _) = highest(|alpha| likeliest_theta(alpha).1, 1e-6, 1.0 - 1e-6, 50);
        let theta = likeliest_theta(alpha).0.exp();
        all * (ln_rising(theta + alpha, all - 1.0) - ln_rising(theta + 1.0, all - 1.0)).exp()
    }

    fn snb(&self) -> f64 {
        let (p, u) = (self.fraction(), self.classes);
        let q = 1.0 - p;
        let unseen: f64 = self.sizes.iter().map(|&(i, k)| q.powf(i) * k).sum();
        let seen_once: f64 = self.sizes.iter().map(|&(i, k)| i * p * q.powf(i - 1.0) * k).sum();
        let all = u + self.alone * unseen / seen_once;
        // With sizes 1 + NB(α, β): the chance that a class is not seen is q·A, A = ((1 − β)/(1 −
        // βq))^α, and that it is seen once p·A·(1 + c), c = αβq/(1 − βq). Both are given; c falls
        // from −ln A·q/p to 0 as β rises from 0 to 1.
        let a = (1.0 - u / all) / q;
        if a >= 1.0 {
            return all;
        }
        let c = self.alone / (all * p * a) - 1.0;
        if c <= 0.0 {
            return all * a;
        }
        if -a.ln() * q / p <= c {
            return all * (a.ln() / p).exp();
        }
        let alpha = |beta: f64| a.ln() / ((-beta).ln_1p() - (-beta * q).ln_1p());
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..100 {
            let beta = f64::midpoint(low, high);
            if beta < 1.0 && alpha(beta) * beta * q / (1.0 - beta * q) > c {
                low = beta
            } else {
                high = beta
            }
        }
        let beta = f64::midpoint(low, high);
        if beta < 1.0 { all * (alpha(beta) * (-beta).ln_1p()).exp() } else { all * a }
    }
}

/// ln (a·(a+1)·…·(a+m−1)), accurate also where a is huge or m is.
fn ln_rising(mut a: f64, mut m: f64) -> f64 {
    let mut sum = 0.0;
    while m > 0.0 && a < 16.0 {
        sum += a.ln();
        a += 1.0;
        m -= 1.0;
    }
    if m <= 0.0 {
        return sum;
    }
    // The difference of two Stirling series, in which the large terms are subtracted on paper.
    let rest = |x: f64| 1.0 / (12.0 * x) - 1.0 / (360.0 * x.powi(3)) + 1.0 / (1260.0 * x.powi(5));
    sum + (a + m - 0.5) * (m / a).ln_1p() + m * a.ln() - m + rest(a + m) - rest(a)
}

/// Where a function with one peak is highest between two places, and how high: golden section.
fn highest(f: impl Fn(f64) -> f64, mut low: f64, mut high: f64, steps: u32) -> (f64, f64) {
    const GOLDEN: f64 = 0.618_033_988_749_894_8;
    let place = |low: f64, high: f64| (high - GOLDEN * (high - low), low + GOLDEN * (high - low));
    let (mut a, mut b) = place(low, high);
    let (mut at_a, mut at_b) = (f(a), f(b));
    for _ in 0..steps {
        if at_a >= at_b {
            (high, b, at_b) = (b, a, at_a);
            a = place(low, high).0;
            at_a = f(a);
        } else {
            (low, a, at_a) = (a, b, at_b);
            b = place(low, high).1;
            at_b = f(b);
        }
    }
    if at_a >= at_b { (a, at_a) } else { (b, at_b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::seq::SliceRandom;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    #[test]
    fn rising_factorials() {
        for (a, m) in [(0.3, 5.0), (1.0, 170.0), (20.5, 40.0), (1e9, 3.0), (7.0, 0.0)] {
            let slow: f64 = (0..m as u32).map(|i| (a + f64::from(i)).ln()).sum();
            assert!((ln_rising(a, m) - slow).abs() <= 1e-11 * slow.abs().max(1.0), "{a} {m}");
        }
    }

    /// Sizes of the classes of some people.
    fn sizes(people: &[[u32; 4]]) -> BTreeMap<u64, u64> {
        let mut classes: BTreeMap<[u32; 4], u64> = BTreeMap::new();
        people.iter().for_each(|p| *classes.entry(*p).or_default() += 1);
        let mut sizes = BTreeMap::new();
        classes.values().for_each(|&size| *sizes.entry(size).or_default() += 1);
        sizes
    }

    /// A made-up city: 40 districts, ages about 40, sex, and a number that is mostly small.
    fn city(rng: &mut ChaCha8Rng) -> Vec<[u32; 4]> {
        let person = |rng: &mut ChaCha8Rng| {
            let age: u32 = (0..12).map(|_| rng.random_range(0..=6u32)).sum::<u32>() + 4;
            let rare = (0..30).take_while(|_| rng.random_bool(0.75)).count() as u32;
            [rng.random_range(0..40), age, rng.random_range(0..2), rare]
        };
        (0..50_000).map(|_| person(rng)).collect()
    }

    /// The bands are what is claimed: Pitman within 30 % of the truth in samples from 5 % on, all
    /// within 40 % in half of the population.
    #[test]
    fn estimates_are_near_the_truth() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut people = city(&mut rng);
        let truth =
            *sizes(&people).get(&1).expect("somebody is unique") as f64 / people.len() as f64;
        people.shuffle(&mut rng);
        let at = |fraction: f64, estimator| {
            let sample = sizes(&people[..(people.len() as f64 * fraction) as usize]);
            unique_share(&sample, people.len() as u64, estimator) / truth
        };
        for fraction in [0.05, 0.1, 0.2, 0.5] {
            let ratio = at(fraction, Estimator::Pitman);
            assert!((0.7..1.3).contains(&ratio), "Pitman at {fraction}: {ratio} times {truth}");
        }
        for (name, estimator) in Estimator::ALL {
            let ratio = at(0.5, estimator);
            assert!((0.6..1.4).contains(&ratio), "{name}: {ratio} times {truth}");
            assert!((at(1.0, estimator) - 1.0).abs() < 1e-12, "{name} counts the whole population");
        }
        assert_eq!(at(0.05, Estimator::Dankar), at(0.05, Estimator::Pitman));
        assert_eq!(
            at(0.5, Estimator::Dankar),
            at(0.5, Estimator::Zayatz).min(at(0.5, Estimator::Snb))
        );
    }

    #[test]
    fn the_ends_are_exact() {
        for (_, estimator) in Estimator::ALL {
            assert_eq!(unique_share(&BTreeMap::from([(2, 5), (7, 1)]), 1000, estimator), 0.0);
            assert_eq!(unique_share(&BTreeMap::new(), 1000, estimator), 0.0);
            assert_eq!(unique_share(&BTreeMap::from([(1, 3), (2, 1)]), 2, estimator), 3.0 / 5.0);
            for sizes in [
                BTreeMap::from([(1, 1)]),
                BTreeMap::from([(1, 40)]),
                BTreeMap::from([(1, 1), (900, 1)]),
            ] {
                for population in [1, 41, 1000, 1 << 40] {
                    let share = unique_share(&sizes, population, estimator);
                    assert!((0.0..=1.0).contains(&share), "{share} of {sizes:?} in {population}");
                }
            }
        }
    }
}
