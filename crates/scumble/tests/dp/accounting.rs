//! The accountant and the budget: the figures of the literature, and composition by brute force.

use proptest::prelude::*;
use scumble::dp::accountant::*;
use scumble::dp::budget::Limit;
use scumble::dp::gaussian;
use scumble::exact::Fraction;

fn fraction(text: &str) -> Fraction {
    Fraction::parse(text).unwrap()
}

fn pure(epsilon: &str) -> Spend {
    Spend::Pure { epsilon: fraction(epsilon) }
}

fn gaussian_of(rho: &str) -> Spend {
    let epsilon = (zcdp_tight(fraction(rho).to_f64(), 1e-9) * 1e9).ceil() as u64;
    Spend::Gaussian {
        rho: fraction(rho),
        epsilon: Fraction::new(epsilon, 1_000_000_000u64),
        delta: fraction("1e-9"),
    }
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 6e-7 * b.abs().max(1.0)
}

fn bound(spends: &[Spend], delta: &str, name: &str) -> f64 {
    let all = bounds(spends, &fraction(delta));
    all.iter().find(|b| b.name == name).unwrap().epsilon.unwrap()
}

#[test]
fn compositions_of_the_literature() {
    // G5.7.
    let hundred = vec![pure("0.1"); 100];
    for (name, expected) in [
        ("basic", 10.0),
        ("advanced", 5.850235),
        ("zcdp", 5.298526),
        ("kairouz", 5.298110),
        ("optimal", 4.306791),
    ] {
        assert!(
            near(bound(&hundred, "1e-5", name), expected),
            "{name} {}",
            bound(&hundred, "1e-5", name)
        );
    }
    let ten = vec![pure("1"); 10];
    for (name, expected) in [
        ("basic", 10.0),
        ("advanced", 33.8054),
        ("zcdp", 21.622581),
        ("kairouz", 10.0),
        ("optimal", 9.999977),
    ] {
        assert!(
            (bound(&ten, "1e-6", name) - expected).abs() < 1e-4,
            "{name} {}",
            bound(&ten, "1e-6", name)
        );
    }
    assert_eq!(total(&hundred, &fraction("1e-5")).unwrap().name, "optimal");
    assert!(near(zcdp(0.5, 1e-5), 5.298526) && near(zcdp(0.1, 1e-6), 2.450788));
    for (alpha, gaussian, b1, b10) in [
        (2.0, 0.0625, 0.619124, 0.00964421),
        (4.0, 0.125, 0.813689, 0.01899121),
        (8.0, 0.25, 0.910199, 0.03567677),
    ] {
        assert!(near(rdp_gaussian(alpha, 4.0), gaussian));
        assert!(near(rdp_laplace(alpha, 1.0), b1) && near(rdp_laplace(alpha, 10.0), b10));
        // Discrete noise in ever smaller units comes to the same.
        assert!((rdp_discrete_laplace(alpha, 1e5, 1e5) - b1).abs() < 1e-5);
    }
    assert!(near(gaussian::classical_sigma(1.0, 0.5, 1e-5), 9.689611));
}

#[test]
fn lemma_12_adds_up() {
    // G3.3.
    let of = |e: &str, d: &str| Spend::Approximate { epsilon: fraction(e), delta: fraction(d) };
    let spends = [of("0.1", "1e-6"), of("0.2", "2e-6"), of("0.3", "0")];
    let all = bounds(&spends, &fraction("3e-6"));
    assert_eq!(all[0].epsilon, Some(0.6));
    assert_eq!(bounds(&spends, &fraction("2.9e-6"))[0].epsilon, None);
    assert_eq!(parallel(&spends), Some(of("0.3", "2e-6")));
}

#[test]
fn normal_tails_and_calibration() {
    for (x, expected) in [
        (0.0, 0.5),
        (1.0, 0.158_655_253_931_457_05),
        (1.9, 0.028_716_559_816_001_8),
        (2.1, 0.017_864_420_562_816_546),
        (6.0, 9.865_876_450_376_98e-10),
        (10.0, 7.619_853_024_160_525e-24),
    ] {
        assert!((gaussian::above(x) / expected - 1.0).abs() < 1e-12, "{x} {}", gaussian::above(x));
    }
    for (epsilon, delta) in [(0.5, 1e-5), (1.0, 1e-6), (3.0, 1e-9)] {
        let sigma = gaussian::analytic_sigma(1.0, epsilon, delta);
        assert!((gaussian::analytic_delta(1.0, epsilon, sigma) / delta - 1.0).abs() < 1e-6);
        assert!(epsilon > 1.0 || sigma < gaussian::classical_sigma(1.0, epsilon, delta));
        let variance = gaussian::calibrated_variance(1, epsilon, delta);
        assert!(
            gaussian::discrete_delta(1, epsilon, variance) <= delta
                && variance < sigma * sigma * 1.2
        );
        let rho = gaussian::rho_for(epsilon, delta);
        assert!(
            zcdp_tight(rho.to_f64(), delta) <= epsilon
                && zcdp_tight(rho.to_f64() * 1.001, delta) > epsilon
        );
    }
}

#[test]
fn the_discrete_laplace_curve_is_its_sum() {
    for (shift, scale) in [(1.0, 1.0), (1.0, 3.0), (2.0, 1.0), (5.0, 2.5), (7.0, 0.5)] {
        for alpha in [1.5, 2.0, 4.0, 8.0f64] {
            let q: f64 = (-1.0f64 / scale).exp();
            let log = |x: f64| ((1.0 - q) / (1.0 + q)).ln() - x.abs() / scale;
            let term =
                |x: i32| (alpha * log(x.into()) + (1.0 - alpha) * log(f64::from(x) - shift)).exp();
            let divergence = (-300..=300).map(term).sum::<f64>().ln() / (alpha - 1.0);
            let found = rdp_discrete_laplace(alpha, shift, scale);
            assert!(
                (found - divergence).abs() < 1e-9,
                "{shift} {scale} {alpha}: {found} {divergence}"
            );
            assert!(found <= rdp_pure(alpha, shift / scale) + 1e-12);
        }
    }
}

/// The smallest ε at δ of randomized responses, by trying all answers to all of them.
fn by_force(epsilons: &[f64], delta: f64) -> f64 {
    let excess = |epsilon: f64| {
        (0..1u32 << epsilons.len())
            .map(|bits| {
                let (mut p, mut loss) = (1.0, 0.0);
                for (i, e) in epsilons.iter().enumerate() {
                    let yes = bits >> i & 1 == 1;
                    p *= if yes { e.exp() / (1.0 + e.exp()) } else { 1.0 / (1.0 + e.exp()) };
                    loss += if yes { *e } else { -e };
                }
                p * (1.0 - (epsilon - loss).exp()).max(0.0)
            })
            .sum::<f64>()
    };
    let (mut low, mut high) = (0.0, epsilons.iter().sum());
    if excess(low) <= delta {
        return 0.0;
    }
    for _ in 0..80 {
        let middle = (low + high) / 2.0;
        if excess(middle) <= delta { high = middle } else { low = middle }
    }
    high
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn optimal_composition_is_that_of_brute_force(
        tenths in prop::collection::vec(1u64..30, 1..9), digits in 1i32..6,
    ) {
        let delta = 10f64.powi(-digits);
        let spends: Vec<Spend> = tenths.iter().map(|t| pure(&format!("{t}/10"))).collect();
        let found = bound(&spends, &format!("1e-{digits}"), "optimal");
        let epsilons: Vec<f64> = tenths.iter().map(|t| *t as f64 / 10.0).collect();
        let truth = by_force(&epsilons, delta);
        prop_assert!(found >= truth * (1.0 - 1e-12) && found <= truth + 1e-6, "{found} {truth}");
    }

    #[test]
    fn no_bound_of_a_fixed_batch_is_below_the_optimal_one(
        tenths in prop::collection::vec(1u64..30, 1..40), digits in 1i32..9,
    ) {
        let spends: Vec<Spend> = tenths.iter().map(|t| pure(&format!("{t}/10"))).collect();
        let delta = fraction(&format!("1e-{digits}"));
        let best = bound(&spends, &format!("1e-{digits}"), "optimal");
        for b in bounds(&spends, &delta) {
            prop_assert!(b.epsilon.unwrap() >= best - 1e-6, "{} {:?} {best}", b.name, b.epsilon);
        }
        let sum = tenths.iter().sum::<u64>() as f64 / 10.0;
        prop_assert!(total(&spends, &delta).unwrap().epsilon.unwrap() <= sum + 1e-9);
    }

    #[test]
    fn a_grid_that_rounds_is_never_below(
        parts in prop::collection::vec((1u64..90, 1u64..1000), 1..7), digits in 1i32..6,
    ) {
        // Denominators without a small common multiple: prices are rounded up. Brute force needs
        // e^ε to be a number.
        let spends: Vec<Spend> = parts.iter().map(|(a, b)| pure(&format!("{a}/{b}"))).collect();
        let epsilons: Vec<f64> = parts.iter().map(|(a, b)| *a as f64 / *b as f64).collect();
        let found = bound(&spends, &format!("1e-{digits}"), "optimal");
        let truth = by_force(&epsilons, 10f64.powi(-digits));
        prop_assert!(found >= truth * (1.0 - 1e-9) && found <= truth * 1.001 + 1e-3, "{found} {truth}");
    }

    #[test]
    fn a_budget_never_allows_more_after_spending(
        tenths in prop::collection::vec((1u64..20, 0u8..3), 1..60), epsilon in 1u64..20,
    ) {
        let limit = Limit { epsilon: Fraction::whole(epsilon), delta: fraction("1e-6") };
        let mut spends = Vec::new();
        let (mut spent, mut within) = (0.0, true);
        for (tenth, kind) in tenths {
            spends.push(match kind {
                0 => pure(&format!("{tenth}/10")),
                1 => gaussian_of(&format!("{tenth}/100")),
                _ => Spend::Approximate { epsilon: fraction(&format!("{tenth}/10")), delta: fraction("1e-8") },
            });
            let standing = limit.judge(&spends);
            prop_assert!(within || !standing.within);
            let now = standing.epsilon.unwrap_or(f64::INFINITY);
            prop_assert!(now >= spent - 1e-9);
            prop_assert!(!standing.within || now <= epsilon as f64 + 1e-9);
            (spent, within) = (now, standing.within);
        }
    }
}

#[test]
fn budgets_are_decided_exactly_at_the_limit() {
    let limit = Limit { epsilon: fraction("1"), delta: Fraction::whole(0) };
    // Ten tenths are one, whatever floating point thinks.
    assert!(limit.judge(&vec![pure("0.1"); 10]).within);
    assert!(!limit.judge(&[vec![pure("0.1"); 10], vec![pure("1e-12")]].concat()).within);
    // Without δ, Gaussian noise has no ε.
    assert!(!limit.judge(&[gaussian_of("1e-6")]).within);
    // With one, many small answers fit that would not by addition.
    let limit = Limit { epsilon: fraction("6"), delta: fraction("2e-5") };
    let standing = limit.judge(&vec![pure("0.1"); 100]);
    assert!(standing.within && standing.way == "zcdp" && standing.epsilon.unwrap() < 5.45);
    // A small Gaussian answer costs little after large pure ones.
    let limit = Limit { epsilon: fraction("3"), delta: fraction("1e-6") };
    let standing = limit.judge(&[pure("2"), gaussian_of("0.0005")]);
    assert!(standing.within && standing.way == "basic" && standing.epsilon.unwrap() < 2.25);
}
