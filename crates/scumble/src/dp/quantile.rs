//! Quantile: a number of a public grid with about the right share of the values below it.
//!
//! # Definition
//!
//! For the quantile a/b the loss of a number c is |(b − a)·(values below c) − a·(values above c)|.
//! A value more or less changes it by at most max(a, b − a). One of the numbers of the grid
//! (between the bounds, in steps of the unit) is chosen by `permute-and-flip`.
//!
//! # Price
//!
//! ε, without any δ.
//!
//! # Use
//!
//! Medians and quartiles of numbers with bounds. The noise is in the rank: with probability 1 − β
//! the answer stands at most (2m·max(a, b − a)/bε)·ln(grid/β) ranks from the quantile, for m rows
//! per person. A coarser unit makes the grid smaller.
//!
//! # Departures from the paper
//!
//! `permute-and-flip` instead of the exponential mechanism, and a loss that is right for neighbours
//! that add or remove a person, for whom the number of values is not public.
//!
//! # Reference
//!
//! Smith, *Privacy-preserving statistical estimation with optimal convergence rates*, STOC 2011.

use super::dice::Dice;
use super::exponential::Choice;
use super::permute_and_flip;
use crate::exact::{Fraction, Ratio};

/// A quantile of values on a grid of so many places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quantile {
    /// Which: between 0 and 1.
    pub at: Ratio,
    /// Rows per person.
    pub rows: u64,
    /// The price.
    pub epsilon: Fraction,
}

/// The grid may have so many places at most: each may be tried in turn.
pub const GRID: u64 = 1_000_000;

impl Quantile {
    /// The place chosen, where `counts` says how many values stand on each place of the grid; there
    /// must be one.
    pub fn draw(&self, counts: &[u64], dice: &mut dyn Dice) -> usize {
        let losses = self.losses(counts);
        permute_and_flip::choose(&self.choice(&losses), dice)
    }

    /// The answer's rank is wrong by at most this with probability 1 − β.
    pub fn within(&self, places: usize, beta: f64) -> f64 {
        let losses = vec![0; places];
        self.choice(&losses).within(beta) / self.at.den() as f64
    }

    fn choice<'a>(&self, losses: &'a [u64]) -> Choice<'a> {
        let (a, b) = self.terms();
        Choice { losses, sensitivity: a.max(b - a) * self.rows, epsilon: self.epsilon.clone() }
    }

    fn terms(&self) -> (u64, u64) {
        let small = |n: u128| u64::try_from(n).unwrap_or(u64::MAX);
        (small(self.at.num()), small(self.at.den()))
    }

    fn losses(&self, counts: &[u64]) -> Vec<u64> {
        let (a, b) = self.terms();
        let all: u64 = counts.iter().sum();
        let mut below = 0;
        let loss = |&here: &u64| {
            let (low, high) = ((b - a) * below, a * (all - below - here));
            below += here;
            low.abs_diff(high)
        };
        counts.iter().map(loss).collect()
    }
}
