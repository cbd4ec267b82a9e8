//! Threshold: groups whose keys are not public are answered only if they are large enough.
//!
//! # Definition
//!
//! That a group exists may say that one person is in the data. So every group of the data gets a
//! count with discrete Laplace noise of scale m/ε, where a person has at most m rows, and only
//! groups with a noisy count of at least τ are answered. τ is the smallest number with m·P(m +
//! noise ≥ τ) ≤ δ: groups of one person alone appear with a probability of at most δ.
//!
//! # Price
//!
//! (ε, δ) with the counts; ε pays for the noise, δ for the keys. Other aggregates of the groups are
//! paid apart.
//!
//! # Use
//!
//! GROUP BY without a list of public keys. Where the keys are known beforehand (sexes, departments,
//! years), give them: that costs no δ, and no small group disappears.
//!
//! # Departures from the paper
//!
//! Korolova et al. add the noise before truncating at real numbers; here both are whole numbers.
//!
//! # Reference
//!
//! Korolova, Kenthapadi, Mishra, Ntoulas, *Releasing search queries and clicks privately*, WWW
//! 2009; Wilson et al., *Differentially private SQL with bounded user contribution*, PETS 2020.

use super::accountant::Spend;
use crate::exact::Fraction;

/// How many noisy rows a group needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Threshold {
    /// Rows per person.
    pub rows: u64,
    /// The price of the counts.
    pub epsilon: Fraction,
    /// The price of the keys; above 0.
    pub delta: Fraction,
}

impl Threshold {
    /// τ. P(x ≥ t) of discrete Laplace noise is q^t/(1 + q) for t ≥ 1, with q = e^(−ε/m).
    pub fn least(&self) -> u64 {
        let rate = self.epsilon.to_f64() / self.rows as f64;
        let tail = self.delta.to_f64() * (1.0 + (-rate).exp()) / self.rows as f64;
        // A little more before rounding up, so that rounding errors never make it smaller.
        let beyond = (-tail.ln() / rate * (1.0 + 1e-12) + 1e-9).ceil().max(1.0);
        self.rows.saturating_add(beyond as u64)
    }

    /// What counts and keys cost together.
    pub fn spend(&self) -> Spend {
        Spend::Approximate { epsilon: self.epsilon.clone(), delta: self.delta.clone() }
    }
}
