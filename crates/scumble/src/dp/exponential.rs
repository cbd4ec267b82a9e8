//! Exponential mechanism: a choice among public candidates, the better the likelier.
//!
//! # Definition
//!
//! Candidate c has a loss that one person changes by at most Δ. It is chosen with probability
//! proportional to e^(−ε·loss(c)/2Δ).
//!
//! # Price
//!
//! ε, without any δ.
//!
//! # Use
//!
//! Where the answer is not a number: the most frequent diagnosis of a public list, the best of some
//! models. With probability 1 − β the loss of the choice is at most (2Δ/ε)(ln candidates + ln 1/β)
//! above the best. `permute-and-flip` is never worse and costs the same; this one is here for
//! comparison and because its probabilities are simple.
//!
//! # Departures from the paper
//!
//! No weight is ever computed: a candidate is drawn evenly and kept with probability e^(−γ),
//! decided by exact coins.
//!
//! # Reference
//!
//! McSherry, Talwar, *Mechanism design via differential privacy*, FOCS 2007.

use super::dice::{Dice, exp_coin, small};
use crate::exact::Fraction;

/// Losses of candidates, and how much of them a person can change.
pub struct Choice<'a> {
    /// One for each candidate; the least is the best.
    pub losses: &'a [u64],
    /// A person changes a loss by at most this; above 0.
    pub sensitivity: u64,
    /// The price.
    pub epsilon: Fraction,
}

impl Choice<'_> {
    /// What a candidate is kept with, as −ln of the probability: ε(loss − least)/2Δ.
    pub(super) fn penalty(&self, candidate: usize, least: u64) -> Fraction {
        let worse = Fraction::whole(self.losses[candidate] - least);
        worse.times(&self.epsilon).over(&Fraction::new(2 * u128::from(self.sensitivity), 1u8))
    }

    pub(super) fn least(&self) -> u64 {
        self.losses.iter().copied().min().unwrap_or(0)
    }

    /// With probability 1 − β the loss of the choice is above the least by at most this.
    pub fn within(&self, beta: f64) -> f64 {
        let tail = (self.losses.len() as f64).ln() + (1.0 / beta).ln();
        2.0 * self.sensitivity as f64 / self.epsilon.to_f64() * tail
    }
}

/// The number of the chosen candidate. There must be one.
pub fn choose(choice: &Choice<'_>, dice: &mut dyn Dice) -> usize {
    let least = choice.least();
    loop {
        let candidate = small(dice, choice.losses.len() as u64) as usize;
        if exp_coin(dice, &choice.penalty(candidate, least)) {
            return candidate;
        }
    }
}
