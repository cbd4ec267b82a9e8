//! Semantics: the figures of the paper, and its theorems on finite mechanisms.

use proptest::prelude::*;
use scumble::dp::randomized_response::Survey;
use scumble::dp::semantics::*;
use scumble::exact::Fraction;

fn fraction(a: u64, b: u64) -> Fraction {
    Fraction::new(a, b)
}

#[test]
fn calculators_of_the_paper() {
    // G3.2 and E3.8.
    let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
    assert!(
        near(proposition_15(0.1).at_most, 0.105170918)
            && near(proposition_15(0.5).at_most, 0.648721271)
    );
    assert!(near(theorem_16(0.1, 0.0, 1).0.at_most, 0.349858808));
    assert!(
        theorem_16(0.5, 0.0, 1).0.empty && (theorem_16(0.5, 0.0, 1).0.at_most - 3.48).abs() < 0.005
    );
    assert!(
        near(theorem_16(0.1, 1e-6, 1).0.at_most, 0.351858808)
            && near(lemma_19(0.1, 1e-6).2, 0.001018097)
    );
    assert!(
        near(theorem_16(0.05, 1e-8, 1).0.at_most, 0.162034243)
            && near(lemma_19(0.05, 1e-8).2, 0.000100380)
    );
    assert!(!theorem_16(0.2310, 0.0, 1).0.empty && theorem_16(0.2311, 0.0, 1).0.empty);
    assert!(!proposition_15(0.69).empty && proposition_15(std::f64::consts::LN_2 + 1e-12).empty);
    assert!(!by_odds(50.0).empty || by_odds(50.0).at_most == 1.0);
    assert!(near(posterior_at_most(0.5, 3f64.ln(), false), 0.75));
}

#[test]
fn the_game_of_two_coins() {
    // G3.5.
    let survey = Survey::two_coins();
    let mechanism =
        Finite::new(1, 2, |records| (0..2).map(|t| survey.chance(t, records[0] as u64)).collect());
    let prior = [fraction(1, 2), fraction(1, 2)];
    let posteriors = mechanism.posteriors(&prior, 1, 0);
    assert_eq!(posteriors[0], Some(vec![fraction(1, 4), fraction(3, 4)]));
    assert_eq!(posteriors[1], Some(vec![fraction(1, 2), fraction(1, 2)]));
    let apart =
        statistical_difference(posteriors[0].as_ref().unwrap(), posteriors[1].as_ref().unwrap());
    assert_eq!(apart, fraction(1, 4));
    assert_eq!(mechanism.factor(), Some(Fraction::whole(3)));
    assert!(proposition_15(3f64.ln()).empty);
    assert!(
        apart.to_f64() <= by_odds(3f64.ln()).at_most
            && (by_odds(3f64.ln()).at_most - 0.5).abs() < 1e-12
    );
}

#[test]
fn a_random_record_is_no_privacy() {
    // G3.4.
    for n in 2..5 {
        let sanitizer = random_record(n, 2);
        assert_eq!(sanitizer.factor(), None, "no ε holds");
        for (a, b) in sanitizer.neighbours() {
            let (p, q) = (&sanitizer.chances[a], &sanitizer.chances[b]);
            assert_eq!(statistical_difference(p, q), fraction(1, n as u64));
            for factor in [1, 2, 1_000_000] {
                assert_eq!(smallest_delta(p, q, &Fraction::whole(factor)), fraction(1, n as u64));
            }
        }
    }
}

/// A distribution from weights.
fn normalized(weights: &[u64]) -> Vec<Fraction> {
    let sum: u64 = weights.iter().sum();
    weights.iter().map(|w| fraction(*w, sum)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn posteriors_of_all_games_stay_within_the_bounds(
        weights in prop::collection::vec(prop::collection::vec(1u64..9, 3), 4),
        prior in prop::collection::vec(1u64..20, 4),
    ) {
        let rows: Vec<Vec<Fraction>> = weights.iter().map(|w| normalized(w)).collect();
        let mechanism = Finite { persons: 2, values: 2, chances: rows };
        let prior = normalized(&prior);
        let epsilon = mechanism.factor().unwrap().to_f64().ln();
        for transcript in 0..3 {
            let all = mechanism.posteriors(&prior, transcript, 0);
            let real = all[0].as_ref().unwrap();
            for without in &all[1..] {
                let apart = statistical_difference(real, without.as_ref().unwrap()).to_f64();
                prop_assert!(apart <= by_odds(epsilon).at_most + 1e-12);
                prop_assert!(by_odds(epsilon).at_most <= proposition_15(epsilon).at_most + 1e-12);
            }
            // One person's odds, the other's record fixed.
            for (a, b) in mechanism.neighbours() {
                let odds = |p: &[Fraction]| p[a].over(&p[b]).to_f64();
                prop_assert!(odds(real) <= epsilon.exp() * odds(&prior) * (1.0 + 1e-9));
            }
        }
    }

    #[test]
    fn smallest_delta_is_the_worst_over_all_sets(
        p in prop::collection::vec(0u64..9, 5), q in prop::collection::vec(0u64..9, 5), factor in 1u64..6,
    ) {
        prop_assume!(p.iter().sum::<u64>() > 0 && q.iter().sum::<u64>() > 0);
        let (p, q, factor) = (normalized(&p), normalized(&q), fraction(factor, 2).plus(&fraction(1, 2)));
        let chance = |d: &[Fraction], set: u32| {
            let inside = (0..5).filter(|i| set >> i & 1 == 1);
            inside.fold(Fraction::whole(0), |sum, i| sum.plus(&d[i]))
        };
        let worst = (0..32).map(|set| {
            let (p, q) = (chance(&p, set), chance(&q, set));
            p.less(&q.times(&factor)).max(q.less(&p.times(&factor)))
        });
        prop_assert_eq!(smallest_delta(&p, &q, &factor), worst.max().unwrap());
    }

    #[test]
    fn lemma_19_holds_for_small_joint_distributions(
        x in prop::collection::vec(1u64..12, 6), y in prop::collection::vec(1u64..12, 6), tenth in 1u64..20,
    ) {
        // Joint distributions of two values and three transcripts; δ is the smallest for this ε.
        let (x, y) = (normalized(&x), normalized(&y));
        let epsilon = tenth as f64 / 10.0;
        let factor = Fraction::parse(&format!("{:.12}", epsilon.exp())).unwrap();
        let delta = smallest_delta(&x, &y, &factor).to_f64() + 1e-9;
        let (after, delta_after, failing) = lemma_19(epsilon, delta);
        let after = Fraction::parse(&format!("{:.12}", after.exp())).unwrap();
        let mut failed = 0.0;
        for t in 0..3 {
            let given = |d: &[Fraction]| {
                let sum = d[t].plus(&d[3 + t]);
                (vec![d[t].over(&sum), d[3 + t].over(&sum)], sum.to_f64())
            };
            let ((a, chance), (b, _)) = (given(&x), given(&y));
            if smallest_delta(&a, &b, &after).to_f64() > delta_after + 1e-9 {
                failed += chance;
            }
        }
        prop_assert!(failed <= failing + 1e-9, "{failed} {failing}");
    }
}
