//! How much may be spent in all, by everybody, for as long as the data exist.
//!
//! # Method
//!
//! A budget is an (ε, δ) for everything that is ever answered. People choose the next question, and its price, after
//! seeing the last answer; most composition theorems do not allow that. Two do, and a list of prices is within the budget
//! if it is by either of them:
//!
//! - **basic**: Σ εᵢ ≤ ε and Σ δᵢ ≤ δ/2, where nothing was answered with Gaussian noise;
//! - **zcdp**: Σ ρᵢ is worth at most ε at δ/2 (`zcdp-tight` of the accountant), and Σ δᵢ ≤ δ/2.
//!
//! # Guarantee
//!
//! Everything ever answered is (ε, δ)-differentially private together, however questions and prices were chosen. A record
//! of all answers either stayed within *basic* to the end, and then no loss exceeds ε but with the answers' own δᵢ, in all
//! δ/2; or it stayed within *zcdp* to the end (Σ ρᵢ only grows), and then it could have come from a process that stops
//! there, of which the theorem speaks, with δ/2. The sum of both is δ. That is why one δ is halved and why the tighter
//! bounds of a fixed batch are not used here. With δ = 0 only *basic* remains.
//!
//! # Cost
//!
//! Linear in the number of answers; the arithmetic of *basic* is exact, that of *zcdp* is rounded against the asker.
//!
//! # Reference
//!
//! Rogers, Roth, Ullman, Vadhan, *Privacy odometers and filters*, 2016; Whitehouse, Ramdas, Rogers, Wu, *Fully adaptive
//! composition*, 2023.

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
    /// The ε that is spent, by the better of the two ways; nothing if neither applies, because too much δ is spent or a
    /// Gaussian answer has no δ to stand on.
    pub epsilon: Option<f64>,
    /// The δ that single answers have spent.
    pub delta: Fraction,
    /// The way that spends less.
    pub way: &'static str,
}

impl Limit {
    /// How these prices stand.
    pub fn judge(&self, spends: &[Spend]) -> Standing {
        let zero = || Fraction::whole(0);
        let half = self.delta.times(&Fraction::new(1u8, 2u8));
        let delta = spends.iter().fold(zero(), |sum, s| sum.plus(&s.delta()));
        if delta > half {
            return Standing { within: false, epsilon: None, delta, way: "basic" };
        }
        let epsilons: Option<Vec<Fraction>> = spends.iter().map(Spend::epsilon).collect();
        let basic = epsilons.map(|all| all.iter().fold(zero(), |a, b| a.plus(b)));
        let rho = spends.iter().fold(zero(), |a, b| a.plus(&b.rho())).to_f64();
        let zcdp = (!half.is_zero()).then(|| zcdp_tight(rho, half.to_f64()) * (1.0 + 1e-10));
        let by_basic = basic.as_ref().is_some_and(|sum| *sum <= self.epsilon);
        // The limit as a float may be above the limit by half a unit in the last place: far less than was added above.
        let by_zcdp = zcdp.is_some_and(|e| e <= self.epsilon.to_f64());
        let (basic, zcdp) = (basic.map(|b| b.to_f64()), zcdp);
        let way = if zcdp.unwrap_or(f64::INFINITY) < basic.unwrap_or(f64::INFINITY) { "zcdp" } else { "basic" };
        let epsilon = if way == "zcdp" { zcdp } else { basic };
        Standing { within: by_basic || by_zcdp, epsilon, delta, way }
    }

    /// Whether nothing may be spent.
    pub fn is_nothing(&self) -> bool {
        self.epsilon.is_zero()
    }
}
