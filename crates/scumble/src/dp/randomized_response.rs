//! Randomized response: everybody answers with the help of coins, and nobody needs to be trusted.
//!
//! # Definition
//!
//! Among m values a person gives the true one with probability `keep`, and otherwise one of the m
//! values drawn evenly, which may be the true one. With two values and keep = 1/2 these are the two
//! coins of the textbook: heads, answer truly; tails, toss again and answer *yes* for heads, *no*
//! for tails. Then P(yes | yes) = 3/4 and P(yes | no) = 1/4.
//!
//! # Price
//!
//! ε = ln(1 + m·keep/(1 − keep)) for each person, where neighbours replace a person's value; ln 3
//! for two coins. Without any δ, and against the collector too.
//!
//! # Use
//!
//! If x of n people answered v, an unbiased estimate of how many have v is (x − n(1 −
//! keep)/m)/keep: for two coins 2x − n/2. Its standard deviation grows with √n, so it takes
//! thousands of people. In a policy, `perturb = { keep = … }` publishes a column this way and
//! `scumble estimate` estimates.
//!
//! # Departures from the paper
//!
//! Warner asks the opposite question instead of tossing again; the distribution is the same for
//! another `keep`.
//!
//! # Reference
//!
//! Warner, *Randomized response: a survey technique for eliminating evasive answer bias*, 1965.

use super::accountant::Spend;
use super::dice::{Dice, coin, small};
use crate::exact::{Fraction, Ratio, Rational};

/// Coins of a survey.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Survey {
    /// Probability of the true value without looking at the other values; above 0 and below 1.
    pub keep: Ratio,
    /// Number of values.
    pub values: u64,
}

impl Survey {
    /// Two coins, *yes* and *no*.
    pub fn two_coins() -> Survey {
        Survey { keep: Ratio::new(1, 2), values: 2 }
    }

    /// What a person with this value answers.
    pub fn respond(&self, value: u64, dice: &mut dyn Dice) -> u64 {
        let kept = Fraction::from(self.keep);
        if coin(dice, kept.num(), kept.den()) { value } else { small(dice, self.values) }
    }

    /// P(answer | truth).
    pub fn chance(&self, answer: u64, truth: u64) -> Fraction {
        let other = Fraction::whole(1).less(&self.keep.into()).over(&Fraction::whole(self.values));
        if answer == truth { other.plus(&self.keep.into()) } else { other }
    }

    /// e^ε.
    pub fn factor(&self) -> Fraction {
        self.chance(0, 0).over(&self.chance(0, 1))
    }

    /// ε, rounded up to nine decimals.
    pub fn spend(&self) -> Spend {
        let epsilon = (self.factor().to_f64().ln() * 1e9).floor() + 1.0;
        Spend::Pure { epsilon: Fraction::new(epsilon as u64, 1_000_000_000u64) }
    }

    /// How many of n people have a value that x answered, on average exactly right.
    pub fn estimate(&self, x: u64, n: u64) -> Rational {
        let by_chance = Fraction::whole(n).times(&self.chance(0, 1));
        let ratio = |f: &Fraction| {
            Rational::new(f.num().clone(), f.den().clone()).unwrap_or(Rational::whole(0))
        };
        let estimate = Rational::whole(x).minus(&ratio(&by_chance));
        estimate.over(&Rational::from(self.keep)).unwrap_or(Rational::whole(0))
    }

    /// Variance of the estimated share of people with a value that a share π has.
    pub fn variance(&self, share: f64, n: u64) -> f64 {
        let keep = self.keep.to_f64();
        let q = share * keep + self.chance(0, 1).to_f64();
        q * (1.0 - q) / (n as f64 * keep * keep)
    }
}
