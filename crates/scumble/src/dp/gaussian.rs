//! Gaussian mechanism: whole numbers with discrete Gaussian noise.
//!
//! # Definition
//!
//! A vector of whole numbers of which one person changes the Euclidean length by at most Δ (its L2
//! sensitivity) is answered with noise x on each, P(x) proportional to e^(−x²/2σ²), σ² = Δ²/2ρ.
//!
//! # Price
//!
//! ρ of zero-concentrated differential privacy; at a δ that is chosen when adding up, an ε (see
//! `accountant`). No ε holds without a δ. The measurements of one question are paid together.
//!
//! # Use
//!
//! Many counts of the same persons: prices add up as ρ, so a hundred answers cost ten times as much
//! as one in ε, not a hundred times. In a query, `--mechanism gaussian` takes (ε, δ) and uses the
//! largest ρ that is worth it.
//!
//! # Departures from the paper
//!
//! Calibration of a single answer to (ε, δ): the analytic σ (Balle and Wang 2018) of real noise,
//! then enlarged until the exact δ of the discrete noise, a sum, is at most δ. The classical σ =
//! Δ√(2 ln(1.25/δ))/ε is larger and holds for ε ≤ 1 only.
//!
//! # Reference
//!
//! Dwork, Roth, *The algorithmic foundations of differential privacy*, 2014; Balle, Wang,
//! *Improving the Gaussian mechanism*, ICML 2018; Canonne, Kamath, Steinke, *The discrete Gaussian
//! for differential privacy*, 2020.

use super::accountant::zcdp_tight;
use super::dice::{Dice, discrete_gaussian};
use crate::exact::Fraction;
use dashu_int::{IBig, UBig};

/// Noise for a sensitivity at a price.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gaussian {
    /// A person changes the numbers by at most this, in Euclidean length.
    pub sensitivity: UBig,
    /// The price; above 0.
    pub rho: Fraction,
}

impl Gaussian {
    /// σ².
    pub fn variance(&self) -> Fraction {
        let square = Fraction::new(&self.sensitivity * &self.sensitivity, 2u8);
        square.over(&self.rho)
    }

    /// The number with noise.
    pub fn draw(&self, value: &IBig, dice: &mut dyn Dice) -> IBig {
        value + discrete_gaussian(dice, &self.variance())
    }

    /// How far the noise goes with probability 1 − α. The tails of the discrete distribution are at
    /// most those of the real one a unit further in.
    pub fn within(&self, alpha: f64) -> f64 {
        if self.sensitivity.is_zero() {
            return 0.0;
        }
        let (mut low, mut high) = (0.0, 40.0);
        for _ in 0..100 {
            let middle = (low + high) / 2.0;
            if 2.0 * above(middle) <= alpha { high = middle } else { low = middle }
        }
        (high * self.variance().to_f64().sqrt()).ceil() + 1.0
    }
}

/// The largest ρ, to twelve digits, that is worth at most ε at δ.
pub fn rho_for(epsilon: f64, delta: f64) -> Fraction {
    let (mut low, mut high) = (0.0, epsilon);
    while zcdp_tight(high, delta) < epsilon {
        high *= 2.0;
    }
    for _ in 0..200 {
        let middle = (low + high) / 2.0;
        if zcdp_tight(middle, delta) * (1.0 + 1e-9) <= epsilon {
            low = middle
        } else {
            high = middle
        }
    }
    // Whole digits below the number found.
    let scale = 10f64.powi(12 - low.log10().floor() as i32);
    let digits = (low * scale).floor();
    Fraction::parse(&format!("{digits:.0}/{scale:.0}")).unwrap_or_else(|| Fraction::whole(0))
}

/// σ of the classical calibration, for ε at most 1.
pub fn classical_sigma(sensitivity: f64, epsilon: f64, delta: f64) -> f64 {
    sensitivity * (2.0 * (1.25 / delta).ln()).sqrt() / epsilon
}

/// δ of real Gaussian noise: Balle and Wang 2018, Theorem 8.
pub fn analytic_delta(sensitivity: f64, epsilon: f64, sigma: f64) -> f64 {
    let (half, far) = (sensitivity / (2.0 * sigma), epsilon * sigma / sensitivity);
    above(far - half) - epsilon.exp() * above(far + half)
}

/// The smallest σ of real noise for (ε, δ).
pub fn analytic_sigma(sensitivity: f64, epsilon: f64, delta: f64) -> f64 {
    let (mut low, mut high) = (0.0, sensitivity);
    while analytic_delta(sensitivity, epsilon, high) > delta {
        high *= 2.0;
    }
    for _ in 0..200 {
        let middle = (low + high) / 2.0;
        if analytic_delta(sensitivity, epsilon, middle) > delta {
            low = middle
        } else {
            high = middle
        }
    }
    high
}

/// δ of discrete noise on one whole number that changes by `shift`: Canonne, Kamath and Steinke
/// 2020, Theorem 7.
pub fn discrete_delta(shift: u64, epsilon: f64, variance: f64) -> f64 {
    let (shift, sigma) = (shift as f64, variance.sqrt());
    let weight = |x: f64| (-x * x / (2.0 * variance)).exp();
    let reach = (40.0 * sigma + shift).ceil() as i64;
    let tail = |from: f64| {
        let first = from.floor() as i64 + 1;
        // From the far end, so that small terms are added first.
        (first..=reach).rev().map(|x| weight(x as f64)).sum::<f64>()
    };
    let all: f64 = (-reach..=reach).map(|x| weight(x as f64)).sum();
    let far = epsilon * variance / shift;
    (tail(far - shift / 2.0) - epsilon.exp() * tail(far + shift / 2.0)) / all
}

/// σ² of discrete noise for one answer at (ε, δ): the analytic one, enlarged by hundredths until
/// its δ is small enough.
pub fn calibrated_variance(shift: u64, epsilon: f64, delta: f64) -> f64 {
    let mut variance = analytic_sigma(shift as f64, epsilon, delta).powi(2);
    while discrete_delta(shift, epsilon, variance) > delta * (1.0 - 1e-9) {
        variance *= 1.01;
    }
    variance
}

/// P(X > x) of the standard normal distribution, with full relative accuracy: a series near 0,
/// Lentz's continued fraction further out.
pub fn above(x: f64) -> f64 {
    if x < 0.0 {
        return 1.0 - above(-x);
    }
    let density = (-x * x / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    if x < 2.0 {
        let (mut term, mut sum, mut n) = (x, x, 1.0);
        while term > sum * 1e-17 {
            n += 2.0;
            term *= x * x / n;
            sum += term;
        }
        return 0.5 - density * sum;
    }
    let mut fraction = x;
    for n in (1..=400).rev() {
        fraction = x + f64::from(n) / fraction;
    }
    density / fraction
}
