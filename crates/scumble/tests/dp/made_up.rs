//! Synthetic tables: what they cost, and that their counts are those of the data where the noise is
//! small.

use proptest::prelude::*;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use scumble::dp::accountant::Spend;
use scumble::dp::dice::Fair;
use scumble::dp::query::{NoiseKind, Price};
use scumble::dp::synthetic::{Recipe, on_simplex};
use scumble::exact::Fraction;

fn recipe(sizes: &[usize], epsilon: &str, pairs: &[(usize, usize)], noise: NoiseKind) -> Recipe {
    let price = Price {
        epsilon: Fraction::parse(epsilon).unwrap(),
        delta: Fraction::parse("1e-9").unwrap(),
        noise,
    };
    Recipe { sizes: sizes.to_vec(), rows: 1, price, pairs: pairs.to_vec() }
}

/// Three columns: the second follows the first, the third is apart.
fn data(n: u32) -> Vec<Vec<u32>> {
    vec![
        (0..n).map(|i| i % 4).collect(),
        (0..n).map(|i| i % 4 / 2).collect(),
        (0..n).map(|i| i / 7 % 3).collect(),
    ]
}

#[test]
fn the_price_is_the_price() {
    let zero = || Fraction::whole(0);
    for pairs in [&[][..], &[(0, 1)], &[(0, 1), (1, 2)]] {
        let recipe = recipe(&[4, 2, 3], "1", pairs, NoiseKind::Laplace);
        let sum = recipe.spends().iter().fold(zero(), |a, s| a.plus(&s.epsilon()));
        assert_eq!(sum, Fraction::whole(1));
    }
    let gaussian = recipe(&[4, 2, 3], "1", &[], NoiseKind::Gaussian);
    let rho = gaussian.spends().iter().fold(zero(), |a, s| a.plus(&s.rho()));
    assert!(scumble::dp::accountant::zcdp_tight(rho.to_f64(), 1e-9) <= 1.0);
    assert!(matches!(gaussian.spends()[..], [Spend::Gaussian { .. }]));
}

#[test]
fn with_little_noise_the_counts_are_those_of_the_data() {
    let columns = data(2800);
    let data: Vec<&[u32]> = columns.iter().map(Vec::as_slice).collect();
    for noise in [NoiseKind::Laplace, NoiseKind::Gaussian] {
        let recipe = recipe(&[5, 3, 4], "500", &[], noise);
        let mut dice = Fair(ChaCha20Rng::seed_from_u64(5));
        let made = recipe.synthesize(&data, &mut dice);
        assert!(
            made.marginals.iter().any(|m| m.columns == [0, 1]),
            "the pair that belongs together is chosen"
        );
        let records = made.columns[0].len();
        assert!(records.abs_diff(2800) <= 3, "{records}");
        // The second column follows the first in all but a few records.
        let wrong = (0..records).filter(|&i| made.columns[1][i] != made.columns[0][i] / 2).count();
        assert!(wrong <= 10, "{wrong}");
        for value in 0..3 {
            let count = made.columns[2].iter().filter(|&&c| c == value).count();
            let truth = columns[2].iter().filter(|&&c| c == value).count();
            assert!(count.abs_diff(truth) <= 10, "{count} {truth}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn fitted_counts_agree_with_each_other(seed in 0u64..1000, epsilon in 1u32..40, n in 20u32..400) {
        let columns = data(n);
        let data: Vec<&[u32]> = columns.iter().map(Vec::as_slice).collect();
        let sizes = [5, 3, 4];
        let recipe = recipe(&sizes, &format!("{epsilon}/10"), &[], NoiseKind::Laplace);
        let made = recipe.synthesize(&data, &mut Fair(ChaCha20Rng::seed_from_u64(seed)));
        let one = |i: usize| &made.marginals[i].counts;
        let total: f64 = one(0).iter().sum();
        for (i, &size) in sizes.iter().enumerate() {
            prop_assert!(one(i).iter().all(|&n| n >= 0.0) && (one(i).iter().sum::<f64>() - total).abs() < 1e-6 * total);
            prop_assert!(made.columns[i].len() == made.columns[0].len());
            prop_assert!(made.columns[i].iter().all(|&c| (c as usize) < size));
        }
        for pair in &made.marginals[3..] {
            let (a, b) = (pair.columns[0], pair.columns[1]);
            for key in 0..sizes[a] {
                let sum: f64 = pair.counts[key * sizes[b]..(key + 1) * sizes[b]].iter().sum();
                prop_assert!((sum - one(a)[key]).abs() < 1e-6 * total.max(1.0), "{sum} {}", one(a)[key]);
            }
        }
    }

    #[test]
    fn the_simplex_is_met_nearest(counts in prop::collection::vec(-50.0f64..100.0, 1..8), total in 1.0f64..200.0) {
        let found = on_simplex(&counts, total);
        prop_assert!((found.iter().sum::<f64>() - total).abs() < 1e-9 * total.max(1.0) * 10.0);
        // The distance is stationary: all that are above 0 were shifted by the same amount, the
        // others by no less.
        let shift = counts.iter().zip(&found).filter(|(_, f)| **f > 0.0).map(|(c, f)| c - f).fold(f64::NAN, f64::max);
        for (c, f) in counts.iter().zip(&found) {
            let moved = if *f > 0.0 { (c - f - shift).abs() < 1e-9 } else { *c <= shift + 1e-9 };
            prop_assert!(moved);
        }
    }
}
