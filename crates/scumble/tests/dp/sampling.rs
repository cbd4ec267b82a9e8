//! Samplers: their exact distributions by trying every roll, and statistical tests of what they
//! draw.

use dashu_int::UBig;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use scumble::dp::dice::{Dice, Fair, discrete_gaussian, discrete_laplace, exp_coin};
use scumble::dp::exponential::{self, Choice};
use scumble::dp::laplace::Laplace;
use scumble::dp::permute_and_flip;
use scumble::dp::quantile::Quantile;
use scumble::dp::randomized_response::Survey;
use scumble::dp::sparse_vector::AboveThreshold;
use scumble::dp::threshold::Threshold;
use scumble::exact::{Fraction, Ratio};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Dice that go through every face in turn. A path whose probability falls below the cutoff is
/// given up.
struct Tree {
    /// The choices of the path, of how many.
    path: Vec<(u64, u64)>,
    at: usize,
    chance: f64,
    cutoff: f64,
}

impl Tree {
    fn choose(&mut self, among: u64, chance: impl Fn(u64) -> f64) -> u64 {
        if self.at == self.path.len() {
            self.path.push((0, among));
        }
        let choice = self.path[self.at].0;
        self.at += 1;
        self.chance *= chance(choice);
        if self.chance < self.cutoff {
            resume_unwind(Box::new(()));
        }
        choice
    }
}

impl Dice for Tree {
    fn roll(&mut self, sides: &UBig) -> UBig {
        let sides = u64::try_from(sides.clone()).unwrap();
        self.choose(sides, |_| 1.0 / sides as f64).into()
    }

    fn flip(&mut self, num: &UBig, sides: &UBig) -> bool {
        let heads = Fraction::new(num.clone(), sides.clone()).to_f64();
        self.choose(2, |tails| if tails == 0 { heads } else { 1.0 - heads }) == 0
    }
}

/// The probability of each outcome, up to the mass that was given up, which is returned too.
fn distribution<T: Ord>(cutoff: f64, draw: impl Fn(&mut dyn Dice) -> T) -> (BTreeMap<T, f64>, f64) {
    let mut tree = Tree { path: Vec::new(), at: 0, chance: 1.0, cutoff };
    let (mut chances, mut rest) = (BTreeMap::new(), 1.0);
    loop {
        (tree.at, tree.chance) = (0, 1.0);
        if let Ok(outcome) = catch_unwind(AssertUnwindSafe(|| draw(&mut tree))) {
            *chances.entry(outcome).or_insert(0.0) += tree.chance;
            rest -= tree.chance;
        }
        tree.path.truncate(tree.at);
        while tree.path.last().is_some_and(|(choice, among)| choice + 1 == *among) {
            tree.path.pop();
        }
        match tree.path.last_mut() {
            Some(last) => last.0 += 1,
            None => return (chances, rest),
        }
    }
}

fn fraction(text: &str) -> Fraction {
    Fraction::parse(text).unwrap()
}

fn small(n: &dashu_int::IBig) -> i64 {
    i64::try_from(n.clone()).unwrap()
}

/// What was found is below the truth by at most the mass given up. Samplers that begin again when
/// they reject give up much; but every round has the same distribution, so that what was found has
/// the shape of the truth.
fn agrees(found: &BTreeMap<i64, f64>, rest: f64, truth: impl Fn(i64) -> f64) {
    assert!(rest < 0.3, "{rest}");
    for x in -1..=1 {
        let found = found.get(&x).copied().unwrap_or(0.0) / (1.0 - rest);
        assert!((found / truth(x) - 1.0).abs() < 0.1, "P({x}) is about {found}, not {}", truth(x));
    }
    let mut missing = 0.0;
    for x in -6..=6 {
        let found = found.get(&x).copied().unwrap_or(0.0);
        let difference = truth(x) - found;
        assert!(difference > -1e-12, "P({x}) is {found}, not {}", truth(x));
        missing += difference;
    }
    assert!(missing <= rest + 1e-12, "{missing} {rest}");
}

#[test]
fn the_coin_of_e_to_the_minus_gamma_is_exact() {
    for gamma in ["0", "1/3", "1", "3/2", "5/2"] {
        let gamma = fraction(gamma);
        let (found, rest) = distribution(1e-9, |dice| exp_coin(dice, &gamma));
        let heads = found.get(&true).copied().unwrap_or(0.0);
        assert!(
            rest < 1e-5 && (heads - (-gamma.to_f64()).exp()).abs() <= rest + 1e-12,
            "{gamma}: {heads}"
        );
    }
}

#[test]
fn discrete_laplace_has_its_exact_distribution() {
    for scale in ["1", "1/2", "2/3", "2"] {
        let scale = fraction(scale);
        let (found, rest) = distribution(1e-6, |dice| small(&discrete_laplace(dice, &scale)));
        let q = (-1.0 / scale.to_f64()).exp();
        agrees(&found, rest, |x| (1.0 - q) / (1.0 + q) * q.powi(x.unsigned_abs() as i32));
    }
}

#[test]
fn discrete_gaussian_has_its_exact_distribution() {
    for variance in ["1/4", "1/2", "1"] {
        let variance = fraction(variance);
        let (found, rest) = distribution(1e-6, |dice| small(&discrete_gaussian(dice, &variance)));
        let weight = |x: i64| (-((x * x) as f64) / (2.0 * variance.to_f64())).exp();
        let all: f64 = (-20..=20).map(weight).sum();
        agrees(&found, rest, |x| weight(x) / all);
    }
}

#[test]
fn choices_have_their_exact_distributions_and_keep_their_price() {
    let epsilon = fraction("1");
    let chances = |losses: &[u64], permute: bool| {
        let choice = Choice { losses, sensitivity: 1, epsilon: epsilon.clone() };
        distribution(1e-6, |dice| match permute {
            true => permute_and_flip::choose(&choice, dice),
            false => exponential::choose(&choice, dice),
        })
    };
    let (found, rest) = chances(&[0, 1, 2], false);
    let weights: Vec<f64> = [0.0f64, 1.0, 2.0].iter().map(|l| (-l / 2.0).exp()).collect();
    for (c, w) in weights.iter().enumerate() {
        assert!((found[&c] - w / weights.iter().sum::<f64>()).abs() <= rest, "{c}");
    }
    // Two candidates, the worse with a coin of p: taken if it comes first and its coin says so.
    let (found, rest) = chances(&[0, 1], true);
    let p = (-0.5f64).exp();
    assert!((found[&1] - p / 2.0).abs() <= rest && (found[&0] - (1.0 - p / 2.0)).abs() <= rest);
    // Every pair of losses that differ by at most 1 is within e^ε.
    for permute in [false, true] {
        for (a, b) in [([0, 1, 2], [1, 0, 1]), ([3, 3, 2], [2, 4, 3]), ([0, 0, 0], [1, 1, 0])] {
            let ((p, rest_p), (q, rest_q)) = (chances(&a, permute), chances(&b, permute));
            for c in 0..3 {
                assert!(
                    p[&c] <= epsilon.to_f64().exp() * (q[&c] + rest_q)
                        && q[&c] <= 2.719 * (p[&c] + rest_p)
                );
            }
        }
    }
}

#[test]
fn sparse_vector_keeps_its_price() {
    let run = |counts: [i64; 2]| {
        distribution(1e-6, |dice| {
            let mut above = AboveThreshold::new(0, 1, &fraction("4"), dice);
            counts.map(|count| above.ask(count, dice))
        })
    };
    for (a, b) in [([0, 0], [1, 1]), ([0, 1], [1, 0]), ([-1, 1], [0, 0])] {
        let ((p, rest_p), (q, rest_q)) = (run(a), run(b));
        assert!(rest_p < 0.2 && rest_q < 0.2, "{rest_p}");
        for outcome in p.keys() {
            let factor = 4f64.exp();
            assert!(
                p[outcome] <= factor * (q[outcome] + rest_q)
                    && q[outcome] <= factor * (p[outcome] + rest_p)
            );
        }
        assert!(p.keys().all(|outcome| outcome[0] != Some(true) || outcome[1].is_none()));
    }
}

#[test]
fn two_coins_are_those_of_the_textbook() {
    // G2.6.
    let survey = Survey::two_coins();
    assert_eq!(survey.chance(1, 1), fraction("3/4"));
    assert_eq!(survey.chance(1, 0), fraction("1/4"));
    assert_eq!(survey.factor(), Fraction::whole(3));
    assert!((survey.spend().epsilon().to_f64() - 1.098612289).abs() < 2e-9);
    assert!(survey.spend().epsilon().to_f64() >= 3f64.ln());
    assert_eq!(survey.estimate(400, 1000).to_string(), "300");
    let q: f64 = 0.3 / 2.0 + 0.25;
    assert!((survey.variance(0.3, 1000) - 4.0 * q * (1.0 - q) / 1000.0).abs() < 1e-15);
    for survey in [survey, Survey { keep: Ratio::new(2, 5), values: 3 }] {
        for truth in 0..survey.values {
            let (found, rest) = distribution(0.0, |dice| survey.respond(truth, dice));
            assert!(rest.abs() < 1e-12);
            for answer in 0..survey.values {
                assert!((found[&answer] - survey.chance(answer, truth).to_f64()).abs() < 1e-12);
            }
        }
    }
}

/// Fair dice with a fixed seed.
fn dice(seed: u64) -> Fair<ChaCha20Rng> {
    Fair(ChaCha20Rng::seed_from_u64(seed))
}

/// The quantile of chi-square with so many degrees of freedom at 1 − 10⁻⁶ (Wilson and Hilferty).
fn chi_square_limit(degrees: f64) -> f64 {
    let z = 4.753_424;
    degrees * (1.0 - 2.0 / (9.0 * degrees) + z * (2.0 / (9.0 * degrees)).sqrt()).powi(3)
}

/// Pearson's goodness of fit at α = 10⁻⁶; outcomes expected fewer than ten times are counted
/// together.
fn fits(draws: &[i64], chance: impl Fn(i64) -> f64) {
    let n = draws.len() as f64;
    let mut counts: BTreeMap<i64, f64> = BTreeMap::new();
    draws.iter().for_each(|x| *counts.entry(*x).or_insert(0.0) += 1.0);
    let (mut statistic, mut cells, mut seen, mut expected) = (0.0, 0.0, 0.0, 0.0);
    for x in -2000..=2000 {
        let e = n * chance(x);
        if e >= 10.0 {
            let o = counts.get(&x).copied().unwrap_or(0.0);
            (statistic, cells, seen, expected) =
                (statistic + (o - e).powi(2) / e, cells + 1.0, seen + o, expected + e);
        }
    }
    if n - expected > 1.0 {
        statistic += (seen - expected).powi(2) / (n - expected);
        cells += 1.0;
    }
    assert!(statistic <= chi_square_limit(cells - 1.0), "χ² = {statistic} with {cells} cells");
}

#[test]
fn drawn_noise_passes_pearsons_test() {
    let mut dice = dice(1);
    for scale in ["10", "7/3", "100/7"] {
        let scale = fraction(scale);
        let draws: Vec<i64> =
            (0..60_000).map(|_| small(&discrete_laplace(&mut dice, &scale))).collect();
        let q = (-1.0 / scale.to_f64()).exp();
        fits(&draws, |x| (1.0 - q) / (1.0 + q) * q.powi(x.unsigned_abs() as i32));
    }
    for variance in ["100", "20/3", "1/5"] {
        let variance = fraction(variance);
        let draws: Vec<i64> =
            (0..60_000).map(|_| small(&discrete_gaussian(&mut dice, &variance))).collect();
        let weight = |x: i64| (-((x * x) as f64) / (2.0 * variance.to_f64())).exp();
        let all: f64 = (-2000..=2000).map(weight).sum();
        fits(&draws, |x| weight(x) / all);
    }
    // The test can fail: noise of a slightly different scale does not pass.
    let draws: Vec<i64> =
        (0..60_000).map(|_| small(&discrete_laplace(&mut dice, &fraction("21/2")))).collect();
    let q = (-0.1f64).exp();
    let wrong = || fits(&draws, |x| (1.0 - q) / (1.0 + q) * q.powi(x.unsigned_abs() as i32));
    assert!(catch_unwind(AssertUnwindSafe(wrong)).is_err());
}

/// Whether draws on neighbouring data show that ε does not hold: some half-line is more probable by
/// more than e^ε, beyond what Hoeffding's inequality allows at α = 10⁻⁶ over all half-lines.
fn falsified(a: &[i64], b: &[i64], epsilon: f64) -> bool {
    let share = |draws: &[i64], k: i64| {
        draws.iter().filter(|x| **x >= k).count() as f64 / draws.len() as f64
    };
    let slack = ((2.0 * 200.0 / 1e-6f64).ln() / (2.0 * a.len() as f64)).sqrt();
    (-50..=50).any(|k| {
        let (p, q) = (share(a, k), share(b, k));
        let above = |p: f64, q: f64| p - slack > epsilon.exp() * (q + slack);
        above(p, q) || above(q, p) || above(1.0 - p, 1.0 - q) || above(1.0 - q, 1.0 - p)
    })
}

#[test]
fn neighbouring_data_do_not_falsify_epsilon() {
    let mut dice = dice(2);
    let mut draws = |value: i64, epsilon: &str| -> Vec<i64> {
        let noise = Laplace { sensitivity: 1u8.into(), epsilon: fraction(epsilon) };
        (0..100_000).map(|_| small(&noise.draw(&value.into(), &mut dice))).collect()
    };
    assert!(!falsified(&draws(10, "1"), &draws(11, "1"), 1.0));
    // The test can fail: half the price is refuted.
    assert!(falsified(&draws(10, "1"), &draws(11, "1"), 0.5));
}

/// Whether a recipient who believes that noise is b·ln(u), u a multiple of 2⁻⁵³, can exclude that
/// the true value is v.
fn excluded(seen: f64, v: f64, b: f64) -> bool {
    let near = (-((seen - v).abs()) / b).exp() * 2f64.powi(53);
    let reach = 40.0;
    let makes = |k: f64| {
        let noise = -b * (k * 2f64.powi(-53)).ln();
        v + noise == seen || v - noise == seen
    };
    !(-40..=40).any(|d| makes((near + f64::from(d) / 40.0 * reach).round()))
}

#[test]
fn the_attack_on_floating_point_noise_finds_nothing_here() {
    use rand::RngExt;
    let mut random = ChaCha20Rng::seed_from_u64(3);
    let mut naive = |v: f64| {
        let u = (random.random::<u64>() >> 11) as f64 * 2f64.powi(-53);
        let sign = if random.random::<bool>() { 1.0 } else { -1.0 };
        v - sign * u.max(2f64.powi(-53)).ln()
    };
    let seen: Vec<f64> = (0..2000).map(|_| naive(0.0)).collect();
    let wrong = seen.iter().filter(|y| excluded(**y, 1.0, 1.0)).count();
    let right = seen.iter().filter(|y| excluded(**y, 0.0, 1.0)).count();
    assert!(
        right == 0 && wrong > 500,
        "the attack works on floating-point noise: {wrong} of 2000, {right} in error"
    );
    // Noise on whole numbers: what one value can give, the other can, with odds within e^ε,
    // exactly.
    let noise = Laplace { sensitivity: 1u8.into(), epsilon: fraction("1") };
    let from = |v: i64| distribution(1e-6, |dice| small(&noise.draw(&v.into(), dice)));
    let ((p, rest_p), (q, rest_q)) = (from(0), from(1));
    for y in -3..=4 {
        assert!(p[&y] <= 1f64.exp() * (q[&y] + rest_q) && q[&y] <= 1f64.exp() * (p[&y] + rest_p));
    }
}

#[test]
fn intervals_hold_as_often_as_they_say() {
    for (sensitivity, epsilon) in [(1u8, "1"), (3, "1/2"), (50, "2"), (1, "5")] {
        let noise = Laplace { sensitivity: sensitivity.into(), epsilon: fraction(epsilon) };
        let q = (-1.0 / noise.scale().to_f64()).exp();
        let beyond = |t: f64| 2.0 * q.powf(t + 1.0) / (1.0 + q);
        let t = noise.within(0.05);
        assert!(beyond(t) <= 0.05 + 1e-12, "{t}");
        assert!(t == 0.0 || beyond(t - 1.0) > 0.05, "{t} is not the smallest");
    }
}

#[test]
fn thresholds_are_the_smallest_that_hide_a_person() {
    for (rows, epsilon, delta) in
        [(1, "1", "1e-6"), (1, "1/10", "1e-8"), (4, "1", "1e-5"), (1, "20", "1e-2")]
    {
        let threshold = Threshold { rows, epsilon: fraction(epsilon), delta: fraction(delta) };
        let rate = threshold.epsilon.to_f64() / rows as f64;
        let appears = |least: u64| {
            rows as f64 * (-rate * (least - rows) as f64).exp() / (1.0 + (-rate).exp())
        };
        let least = threshold.least();
        assert!(appears(least) <= threshold.delta.to_f64());
        assert!(
            least == rows + 1 || appears(least - 1) > threshold.delta.to_f64() * (1.0 - 1e-6),
            "{least}"
        );
    }
}

#[test]
fn quantiles_are_drawn_near_the_truth_and_their_losses_move_little() {
    let quantile = Quantile { at: Ratio::new(1, 4), rows: 1, epsilon: fraction("1") };
    let mut counts = vec![0u64; 100];
    (0..4000).for_each(|i| counts[i % 80] += 1);
    let mut dice = dice(4);
    for _ in 0..50 {
        let place = quantile.draw(&counts, &mut dice);
        // At β = 10⁻⁶ the rank is within some hundred of 1000, and each place has 50.
        assert!(place.abs_diff(20) as f64 <= quantile.within(100, 1e-6) / 50.0 + 1.0, "{place}");
    }
}
