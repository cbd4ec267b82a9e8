//! Laplace mechanism: whole numbers with discrete Laplace noise, which is also called geometric.
//!
//! # Definition
//!
//! A vector of whole numbers of which one person changes the sum of absolute values by at most Δ
//! (its L1 sensitivity) is answered with noise x on each, P(x) proportional to e^(−|x| ε/Δ).
//! Decimal numbers are counted in a unit that is fixed beforehand, such as cents.
//!
//! # Price
//!
//! ε, without any δ.
//!
//! # Use
//!
//! Counts, sums, histograms. With a probability of 95 % the noise is at most about 3Δ/ε. Where few
//! answers are wanted this is the mechanism; where many are, `gaussian` adds up more slowly.
//!
//! # Departures from the paper
//!
//! The paper's noise is a real number. A computer's is not, and the difference shows the true
//! answer (Mironov 2012), so the noise is drawn on whole numbers with exact arithmetic: same price,
//! no weak bits.
//!
//! # Reference
//!
//! Dwork, McSherry, Nissim, Smith, *Calibrating noise to sensitivity*, TCC 2006; Ghosh,
//! Roughgarden, Sundararajan, *Universally utility-maximizing privacy mechanisms*, STOC 2009;
//! Canonne, Kamath, Steinke 2020.

use super::accountant::Spend;
use super::dice::{Dice, discrete_laplace};
use crate::exact::Fraction;
use dashu_int::{IBig, UBig};

/// Noise for a sensitivity at a price.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Laplace {
    /// A person changes the numbers by at most this, in sum.
    pub sensitivity: UBig,
    /// The price; above 0.
    pub epsilon: Fraction,
}

impl Laplace {
    /// Scale of the noise, Δ/ε.
    pub fn scale(&self) -> Fraction {
        Fraction::new(self.sensitivity.clone(), UBig::ONE).over(&self.epsilon)
    }

    /// The number with noise.
    pub fn draw(&self, value: &IBig, dice: &mut dyn Dice) -> IBig {
        value + discrete_laplace(dice, &self.scale())
    }

    /// What it costs. `one` says that a person changes only one of the numbers.
    pub fn spend(&self, one: bool) -> Spend {
        if one && !self.sensitivity.is_zero() {
            let sensitivity = Fraction::new(self.sensitivity.clone(), UBig::ONE);
            return Spend::Laplace { sensitivity, scale: self.scale() };
        }
        Spend::Pure { epsilon: self.epsilon.clone() }
    }

    /// How far the noise goes with probability 1 − α: the smallest t with P(|x| > t) = 2q^(t+1)/(1
    /// + q) ≤ α, q = e^(−ε/Δ).
    pub fn within(&self, alpha: f64) -> f64 {
        let rate = 1.0 / self.scale().to_f64();
        if self.sensitivity.is_zero() {
            return 0.0;
        }
        let tail = (alpha * (1.0 + (-rate).exp()) / 2.0).ln();
        // A little more before rounding up, so that rounding errors never make it smaller.
        (tail / -rate - 1.0 + 1e-9).ceil().max(0.0)
    }
}
