//! What somebody believes after noisy answers, by enumerating every outcome: never more than the
//! bound, but with the probability that it states.

use scumble::dp::accountant::Spend;
use scumble::dp::semantics::{posterior_at_most, rise};
use scumble::exact::Fraction;

/// Outcomes of an answer: their chances if the person has one value, and if they have the other.
type Game = Vec<(f64, f64)>;

/// Noise of these weights on a number that the two values change by `shift`.
fn shifted(weight: impl Fn(f64) -> f64, shift: i64, reach: i64) -> Game {
    let all: f64 = (-reach..=reach).map(|x| weight(x as f64)).sum();
    let chance = |x: i64| if x.abs() <= reach { weight(x as f64) / all } else { 0.0 };
    (-reach..=reach + shift).map(|o| (chance(o), chance(o - shift))).collect()
}

/// Discrete Gaussian noise: adding or removing the person changes the number by one, another value
/// of theirs by two.
fn gaussian(variance: f64) -> (Game, Spend) {
    let game =
        shifted(|x| (-x * x / (2.0 * variance)).exp(), 2, (30.0 * variance.sqrt()) as i64 + 4);
    let text = |x: f64| Fraction::parse(&format!("{x:.12}")).expect("a number");
    // What ε and δ it is sold as does not matter to the bound.
    let spend = Spend::Gaussian { rho: text(0.5 / variance), epsilon: text(0.1), delta: text(0.3) };
    (game, spend)
}

fn laplace(scale: f64) -> (Game, Spend) {
    let game = shifted(|x| (-x.abs() / scale).exp(), 2, (40.0 * scale) as i64 + 4);
    let scale = Fraction::parse(&format!("{scale:.6}")).expect("a number");
    (game, Spend::Laplace { sensitivity: Fraction::whole(1), scale })
}

/// Keys that are not public: with the probability δ the answer tells who is there, otherwise it is
/// randomized.
fn leaky(epsilon: f64, delta: f64) -> (Game, Spend) {
    let yes = epsilon.exp() / (1.0 + epsilon.exp());
    let rest = 1.0 - delta;
    let game = vec![
        (delta, 0.0),
        (0.0, delta),
        (rest * yes, rest * (1.0 - yes)),
        (rest * (1.0 - yes), rest * yes),
    ];
    let text = |x: f64| Fraction::parse(&format!("{x:.12}")).expect("a number");
    (game, Spend::Approximate { epsilon: text(epsilon), delta: text(delta) })
}

/// Both answers.
fn both(a: &Game, b: &Game) -> Game {
    a.iter().flat_map(|x| b.iter().map(move |y| (x.0 * y.0, x.1 * y.1))).collect()
}

/// How likely it is that somebody with a belief of one half ends above `bound`, in the worse of the
/// two cases. What the cut ends of the noise make certain is not counted: their chance is below
/// 10⁻¹⁵.
fn exceeding(game: &Game, bound: f64) -> f64 {
    let above = |(p, q): &&(f64, f64)| p + q > 1e-18 && p.max(*q) / (p + q) > bound + 1e-9;
    let (p, q) = game.iter().filter(above).fold((0.0, 0.0), |(p, q), x| (p + x.0, q + x.1));
    p.max(q)
}

#[test]
fn beliefs_stay_within_the_bound_of_everything_that_was_paid() {
    let answers = [
        gaussian(1.0),
        gaussian(6.0),
        gaussian(50.0),
        laplace(1.0),
        laplace(4.0),
        leaky(0.3, 0.001),
        leaky(0.1, 0.02),
    ];
    for (a, first) in &answers {
        for failing in [0.2, 0.01, 1e-6] {
            let one = rise(std::slice::from_ref(first), failing);
            assert!(exceeding(a, one.at_most) <= one.failing + 1e-9, "{first:?} {one:?}");
            for (b, second) in &answers {
                let spends = [first.clone(), second.clone()];
                let two = rise(&spends, failing);
                let found = exceeding(&both(a, b), two.at_most);
                assert!(found <= two.failing + 1e-9, "{spends:?} {two:?} {found}");
            }
        }
    }
}

/// The belief that pure answers allow is never exceeded, and some answer reaches it.
#[test]
fn pure_answers_keep_the_bound_in_any_case() {
    for scale in [1.0, 3.0, 10.0] {
        let (game, spend) = laplace(scale);
        let bound = rise(&[spend], 1e-6);
        assert_eq!((bound.failing, bound.by), (0.0, "basic"));
        assert_eq!(exceeding(&game, bound.at_most), 0.0);
        assert!(exceeding(&game, bound.at_most - 1e-6) > 0.2);
    }
}

/// Reading a converted ε as if it were pure promises too much: with a large δ the belief is
/// exceeded every third time.
#[test]
fn a_converted_epsilon_is_no_bound() {
    let (game, spend) = gaussian(20.0);
    let converted = posterior_at_most(0.5, spend.epsilon().to_f64(), true);
    assert!(exceeding(&game, converted) > 0.3);
    assert!(rise(&[spend], 1e-6).at_most > converted);
}

/// The price of the second answer depends on the first: somebody who looked promising is asked
/// about more closely.
#[test]
fn prices_that_follow_the_answers_keep_the_bound() {
    let (first, paid) = gaussian(8.0);
    for failing in [0.3, 0.05, 0.001] {
        for chasing in [false, true] {
            let mut failed = (0.0, 0.0);
            for &(p, q) in first.iter().filter(|(p, q)| p + q > 1e-18) {
                let close = (p > q) == chasing;
                let (second, price) = gaussian(if close { 2.0 } else { 100.0 });
                let bound = rise(&[paid.clone(), price], failing);
                for (a, b) in second.iter().map(|(a, b)| (p * a, q * b)) {
                    if a + b > 1e-18 && a.max(b) / (a + b) > bound.at_most {
                        failed = (failed.0 + a, failed.1 + b);
                    }
                }
            }
            assert!(failed.0.max(failed.1) <= failing, "{failing} {failed:?}");
        }
    }
}

#[test]
fn nothing_paid_means_nothing_learned() {
    assert_eq!(rise(&[], 1e-6).at_most, 0.5);
    let large = Spend::Approximate { epsilon: fraction(1, 10), delta: fraction(1, 5) };
    assert_eq!(rise(&[large], 1e-6).failing, 1.0, "a δ of a fifth promises nothing");
}

fn fraction(a: u64, b: u64) -> Fraction {
    Fraction::new(a, b)
}
