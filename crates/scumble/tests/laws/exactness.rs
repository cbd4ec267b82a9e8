//! The arithmetic of verdicts against arithmetic written out by hand.

use super::naive;
use proptest::prelude::*;
use scumble::exact::{Ratio, effective_l, entropy_at_least};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn entropy_is_decided_as_by_hand(counts in prop::collection::vec(0u64..40, 1..7), p in 1u64..900, q in 1u64..150) {
        prop_assume!(counts.iter().any(|&c| c > 0));
        let exact = entropy_at_least(&counts, Ratio::new(p.into(), q.into()));
        prop_assert_eq!(exact, naive::entropy_at_least(&counts, p, q));
    }

    /// Thresholds next to the entropy itself, where floating point cannot tell.
    #[test]
    fn entropy_is_decided_at_its_own_value(counts in prop::collection::vec(1u64..12, 1..6), off in -2i64..=2) {
        let scale = 1u64 << 50;
        let p = ((effective_l(&counts) * scale as f64) as i64 + off) as u64;
        let exact = entropy_at_least(&counts, Ratio::new(p.into(), scale.into()));
        prop_assert_eq!(exact, naive::entropy_at_least(&counts, p, scale));
    }

    /// A multiple of a histogram has the same entropy, so the same verdict.
    #[test]
    fn entropy_does_not_change_with_scale(counts in prop::collection::vec(0u64..9, 1..6), by in 1u64..1_000_000, l in 10u128..60) {
        prop_assume!(counts.iter().any(|&c| c > 0));
        let many: Vec<u64> = counts.iter().map(|c| c * by).collect();
        let l = Ratio::new(l, 10);
        prop_assert_eq!(entropy_at_least(&counts, l), entropy_at_least(&many, l));
    }

    #[test]
    fn ratios_are_ordered_as_fractions(a in any::<u64>(), b in 1..u64::MAX, c in any::<u64>(), d in 1..u64::MAX) {
        let (x, y) = (Ratio::new(a.into(), b.into()), Ratio::new(c.into(), d.into()));
        let cross = (u128::from(a) * u128::from(d)).cmp(&(u128::from(c) * u128::from(b)));
        prop_assert_eq!(x.cmp(&y), cross);
        prop_assert_eq!(x == y, cross.is_eq());
        prop_assert_eq!(Ratio::parse(&x.to_string()), Some(x));
    }

    #[test]
    fn decimals_are_read_digit_by_digit(int in 0u64..1_000_000, frac in "[0-9]{0,9}", exponent in -6i32..6) {
        let digits: u128 = format!("{int}{frac}").parse().expect("digits");
        let power = exponent - frac.len() as i32;
        let ten = 10u128.pow(power.unsigned_abs());
        let expected = if power < 0 { Ratio::new(digits, ten) } else { Ratio::new(digits * ten, 1) };
        prop_assert_eq!(Ratio::parse(&format!("{int}.{frac}e{exponent}")), Some(expected));
    }

    #[test]
    fn nothing_else_is_a_number(text in "[-+0-9./eE_ x]{0,12}") {
        if let Some(ratio) = Ratio::parse(&text) {
            prop_assert!(text.contains(|c: char| c.is_ascii_digit()), "{text}");
            let by_hand = match text.replace('_', "").split('/').map(str::trim).collect::<Vec<_>>()[..] {
                [one] => one.parse::<f64>().ok(),
                [a, b] => a.parse::<f64>().ok().zip(b.parse::<f64>().ok()).map(|(a, b)| a / b),
                _ => None,
            };
            let near = by_hand.is_some_and(|x| (x - ratio.to_f64()).abs() <= 1e-9 * x.abs());
            prop_assert!(near, "`{}` was read as {}, by hand {:?}", text, ratio, by_hand);
        }
    }
}

/// Counts that are not equal but whose effective ℓ is whole: 8⁸ = 4⁸ · 4⁴ lies on the threshold.
#[test]
fn entropy_on_the_threshold_is_enough() {
    for (counts, l) in [(vec![4, 1, 1, 1, 1], 4), (vec![8, 2, 2, 2, 2], 4), (vec![2, 2, 2, 2], 4)] {
        assert!(naive::entropy_at_least(&counts, l, 1));
        assert!(entropy_at_least(&counts, Ratio::whole(l)), "{counts:?}");
        let beyond = Ratio::new(u128::from(l) * 1_000_000_000_000_000 + 1, 1_000_000_000_000_000);
        assert!(!entropy_at_least(&counts, beyond), "{counts:?}");
    }
}
