//! Permute-and-flip: a choice among public candidates, never worse than the exponential mechanism.
//!
//! # Definition
//!
//! Candidates are tried in random order; candidate c is taken with probability e^(−ε·(loss(c) −
//! least loss)/2Δ), where one person changes a loss by at most Δ. The best is taken whenever its
//! turn comes, so somebody is.
//!
//! # Price
//!
//! ε, without any δ.
//!
//! # Use
//!
//! As `exponential`, with up to half its expected loss. Quantiles are drawn with it.
//!
//! # Departures from the paper
//!
//! None; coins of probability e^(−γ) are exact.
//!
//! # Reference
//!
//! McKenna, Sheldon, *Permute-and-flip: a new mechanism for differentially private selection*,
//! NeurIPS 2020.

use super::dice::{Dice, exp_coin, small};
use super::exponential::Choice;

/// The number of the chosen candidate. There must be one.
pub fn choose(choice: &Choice<'_>, dice: &mut dyn Dice) -> usize {
    let least = choice.least();
    let mut order: Vec<u32> = (0..choice.losses.len() as u32).collect();
    // The order is drawn as far as it is needed.
    let mut tried = 0;
    loop {
        let next = tried + small(dice, (order.len() - tried) as u64) as usize;
        order.swap(tried, next);
        let candidate = order[tried] as usize;
        if exp_coin(dice, &choice.penalty(candidate, least)) {
            return candidate;
        }
        tried += 1;
    }
}
