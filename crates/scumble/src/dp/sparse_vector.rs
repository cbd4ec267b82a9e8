//! Sparse vector: which of many questions is the first whose answer is above a threshold.
//!
//! # Definition
//!
//! The threshold gets discrete Laplace noise of scale 2Δ/ε once, every count discrete Laplace noise
//! of scale 4Δ/ε, where a person changes a count by at most Δ. Questions are answered *below* until
//! a noisy count reaches the noisy threshold: that one is answered *above*, and nothing after it.
//!
//! # Price
//!
//! ε, without any δ, however many questions were answered *below*. To go on after an *above*, begin
//! again and pay again.
//!
//! # Use
//!
//! Monitoring: ask every day whether a count has passed an alarm, pay once per alarm. It gives no
//! numbers; a number of the question found is paid apart.
//!
//! # Departures from the paper
//!
//! None. Several published variants draw no new threshold, or give out the noisy count: those are
//! not private (Lyu, Su, Li 2017), and there is no way to have them here.
//!
//! # Reference
//!
//! Dwork, Naor, Reingold, Rothblum, Vadhan, STOC 2009; Dwork, Roth 2014, Algorithm 1; Lyu, Su, Li,
//! *Understanding the sparse vector technique*, VLDB 2017.

use super::accountant::Spend;
use super::dice::{Dice, discrete_laplace};
use crate::exact::Fraction;
use dashu_int::IBig;

/// Questions asked until one is above.
pub struct AboveThreshold {
    threshold: IBig,
    scale: Fraction,
    epsilon: Fraction,
    over: bool,
}

impl AboveThreshold {
    /// Begins, with noise on the threshold.
    pub fn new(
        threshold: i64,
        sensitivity: u64,
        epsilon: &Fraction,
        dice: &mut dyn Dice,
    ) -> AboveThreshold {
        let unit = Fraction::whole(sensitivity).over(epsilon);
        let threshold =
            IBig::from(threshold) + discrete_laplace(dice, &unit.times(&Fraction::whole(2)));
        AboveThreshold {
            threshold,
            scale: unit.times(&Fraction::whole(4)),
            epsilon: epsilon.clone(),
            over: false,
        }
    }

    /// Whether this count is above; nothing once one was.
    pub fn ask(&mut self, count: i64, dice: &mut dyn Dice) -> Option<bool> {
        if self.over {
            return None;
        }
        self.over = IBig::from(count) + discrete_laplace(dice, &self.scale) >= self.threshold;
        Some(self.over)
    }

    /// What it costs in all.
    pub fn spend(&self) -> Spend {
        Spend::Pure { epsilon: self.epsilon.clone() }
    }
}
