//! Exact sampling: every draw is made of uniform whole numbers and comparisons of whole numbers.
//!
//! Noise computed in floating point has gaps and bumps in its lowest bits that depend on the true
//! answer, and an adversary who looks at them learns the answer (Mironov 2012). Nothing here is a
//! float: probabilities are fractions, e^−γ is decided by a series of coins whose odds are
//! fractions, and results are whole numbers in units that the caller chose before looking at data.
//! The samplers are those of Canonne, Kamath and Steinke 2020.
//!
//! All randomness comes through [`Dice`], one uniform number below a bound at a time. A caller
//! gives a source of bits; a test gives dice that try every face, and so computes the exact
//! distribution of a sampler.

use crate::exact::Fraction;
use dashu_int::ops::{BitTest, SquareRoot};
use dashu_int::{IBig, UBig};
use rand::Rng;

/// A source of uniform whole numbers.
pub trait Dice {
    /// A number below `sides`, each equally likely. `sides` is not zero.
    fn roll(&mut self, sides: &UBig) -> UBig;

    /// Whether a roll is below `num`: true with probability num / sides. Dice that try everything
    /// need not try every face for it.
    fn flip(&mut self, num: &UBig, sides: &UBig) -> bool {
        self.roll(sides) < *num
    }
}

/// Dice made of uniform bits.
pub struct Fair<R>(pub R);

impl<R: Rng> Dice for Fair<R> {
    /// As many bits as the bound has, until they are below it.
    fn roll(&mut self, sides: &UBig) -> UBig {
        let bits = (sides - UBig::ONE).bit_len();
        if bits <= 64 {
            let Ok(bound) = u128::try_from(sides) else {
                unreachable!("a bound of at most 65 bits")
            };
            loop {
                let drawn = if bits == 0 { 0 } else { self.0.next_u64() >> (64 - bits) };
                if u128::from(drawn) < bound {
                    return drawn.into();
                }
            }
        }
        let mut bytes = vec![0u8; bits.div_ceil(8)];
        loop {
            self.0.fill_bytes(&mut bytes);
            let drawn = UBig::from_le_bytes(&bytes) >> (bytes.len() * 8 - bits);
            if drawn < *sides {
                return drawn;
            }
        }
    }
}

/// True with probability num / den, which is at most 1.
pub fn coin(dice: &mut dyn Dice, num: &UBig, den: &UBig) -> bool {
    // No number is rolled where nothing is open.
    if num.is_zero() || num >= den {
        return !num.is_zero();
    }
    dice.flip(num, den)
}

/// True with probability e^−γ.
///
/// For γ ≤ 1, coins of γ/1, γ/2, γ/3, … are tossed until one fails; the number of tosses is odd
/// with probability e^−γ. A larger γ is so many ones and a rest.
pub fn exp_coin(dice: &mut dyn Dice, gamma: &Fraction) -> bool {
    let whole = gamma.num() / gamma.den();
    let mut done = UBig::ZERO;
    while done < whole {
        if !small_exp_coin(dice, &UBig::ONE, &UBig::ONE) {
            return false;
        }
        done += UBig::ONE;
    }
    small_exp_coin(dice, &(gamma.num() - whole * gamma.den()), gamma.den())
}

/// True with probability e^−(num / den), for num ≤ den.
fn small_exp_coin(dice: &mut dyn Dice, num: &UBig, den: &UBig) -> bool {
    let mut tosses = 1u64;
    let mut sides = den.clone();
    while coin(dice, num, &sides) {
        tosses += 1;
        sides += den;
    }
    tosses % 2 == 1
}

/// x with probability proportional to e^(−|x| / scale): the discrete Laplace, or two-sided
/// geometric, distribution.
///
/// With scale = t/s: a number u + t·v has a geometric distribution with ratio e^(−1/t) if u below t
/// is kept with probability e^(−u/t) and v counts successes of e^−1; divided by s, rounded down,
/// its ratio is e^(−s/t). A sign is drawn, and −0 is drawn again.
pub fn discrete_laplace(dice: &mut dyn Dice, scale: &Fraction) -> IBig {
    let (t, s) = (scale.num(), scale.den());
    if t.is_zero() {
        return IBig::ZERO;
    }
    loop {
        let u = dice.roll(t);
        if !small_exp_coin(dice, &u, t) {
            continue;
        }
        let mut x = u;
        while small_exp_coin(dice, &UBig::ONE, &UBig::ONE) {
            x += t;
        }
        let size = IBig::from(x / s);
        let negative = coin(dice, &UBig::ONE, &UBig::from(2u8));
        match (negative, size == IBig::ZERO) {
            (true, true) => continue,
            (true, false) => return -size,
            (false, _) => return size,
        }
    }
}

/// x with probability proportional to e^(−x² / 2·variance): the discrete Gaussian distribution.
///
/// A discrete Laplace y of scale t = ⌊σ⌋ + 1 is kept with probability e^(−(|y| − σ²/t)² / 2σ²).
pub fn discrete_gaussian(dice: &mut dyn Dice, variance: &Fraction) -> IBig {
    let (n, d) = (variance.num(), variance.den());
    if n.is_zero() {
        return IBig::ZERO;
    }
    let t = (n / d).sqrt() + UBig::ONE;
    let scale = Fraction::new(t.clone(), UBig::ONE);
    let below = n * d * &t * &t * UBig::from(2u8);
    loop {
        let y = discrete_laplace(dice, &scale);
        let away = IBig::from(y.clone().into_parts().1 * &t * d) - IBig::from(n.clone());
        let away = away.into_parts().1;
        if exp_coin(dice, &Fraction::new(&away * &away, below.clone())) {
            return y;
        }
    }
}

/// An order of so many things, each as likely as any other.
pub fn shuffled(dice: &mut dyn Dice, n: usize) -> Vec<u32> {
    let mut order: Vec<u32> = (0..n as u32).collect();
    for i in (1..n).rev() {
        let j = small(dice, i as u64 + 1);
        order.swap(i, j as usize);
    }
    order
}

/// A number below a small bound.
pub fn small(dice: &mut dyn Dice, sides: u64) -> u64 {
    u64::try_from(dice.roll(&UBig::from(sides))).unwrap_or(0)
}
