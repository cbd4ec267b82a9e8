//! How much may be spent in all, by everybody, for as long as the data exist.
//!
//! # Method
//!
//! A budget is an (ε, δ) for everything that is ever answered. People choose the next question, and
//! its price, after seeing the last answer; most composition theorems do not allow that. Two do,
//! and a list of prices is within the budget if it is by either of them:
//!
//! - **basic**: Σ εᵢ ≤ ε and Σ δᵢ ≤ δ/2;
//! - **zcdp**: Σ ρᵢ is worth at most ε at δ/4 (`zcdp-tight` of the accountant), and the δᵢ of
//!   answers that have no ρ without a δ are at most δ/4 in sum.
//!
//! # Guarantee
//!
//! Everything ever answered is (ε, δ)-differentially private together, however questions and prices
//! were chosen. A record of all answers either stayed within *basic* to the end, and then it could
//! have come from a process that stops where *basic* ends, of which the theorem of Rogers et al.
//! speaks, with δ/2; or it stayed within *zcdp* to the end, and then from one that stops where
//! *zcdp* ends, of which that of Whitehouse et al. speaks, with δ/4 + δ/4. The two sets of records
//! together have δ. That is why δ is divided, and why the tighter bounds of a fixed batch are not
//! used here. With δ = 0 only *basic* remains.
//!
//! # Cost
//!
//! Linear in the number of answers; the arithmetic of *basic* is exact, that of *zcdp* is rounded
//! against the asker.
//!
//! # Reference
//!
//! Rogers, Roth, Ullman, Vadhan, *Privacy odometers and filters*, 2016; Whitehouse, Ramdas, Rogers,
//! Wu, *Fully adaptive composition*, 2023.

use super::accountant::{Spend, zcdp_tight};
use crate::exact::Fraction;

/// What may be spent in all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    /// ε.
    pub epsilon: Fraction,
    /// δ; 0 for pure differential privacy.
    pub delta: Fraction,
}

/// How a list of prices stands against a budget.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// Whether it is within.
    pub within: bool,
    /// The ε that is spent, by the better of the two ways; nothing if neither applies, because too
    /// much δ is spent.
    pub epsilon: Option<f64>,
    /// The δ that single answers have spent.
    pub delta: Fraction,
    /// The way that spends less.
    pub way: &'static str,
}

impl Limit {
    /// How these prices stand.
    pub fn judge(&self, spends: &[Spend]) -> Standing {
        let sum = |of: &dyn Fn(&Spend) -> Fraction| {
            spends.iter().fold(Fraction::whole(0), |a, s| a.plus(&of(s)))
        };
        let part = |n: u8| self.delta.times(&Fraction::new(1u8, n));
        let (delta, exact) = (sum(&Spend::delta), sum(&Spend::epsilon));
        let basic = (delta <= part(2)).then(|| exact.to_f64());
        let quarter = part(4);
        let concentrated = !quarter.is_zero() && sum(&Spend::slack) <= quarter;
        let zcdp = concentrated
            .then(|| zcdp_tight(sum(&Spend::rho).to_f64(), quarter.to_f64()) * (1.0 + 1e-10));
        let by_basic = basic.is_some() && exact <= self.epsilon;
        // The limit as a float may be above the limit by half a unit in the last place: far less
        // than was added above.
        let by_zcdp = zcdp.is_some_and(|e| e <= self.epsilon.to_f64());
        let way = if zcdp.unwrap_or(f64::INFINITY) < basic.unwrap_or(f64::INFINITY) {
            "zcdp"
        } else {
            "basic"
        };
        let epsilon = if way == "zcdp" { zcdp } else { basic };
        Standing { within: by_basic || by_zcdp, epsilon, delta, way }
    }
}
