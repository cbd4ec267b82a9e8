//! Differential privacy: mechanisms with their prices, budgets that last, queries with a
//! sensitivity, and what it means.
//!
//! A mechanism and its price are one thing: every file of a mechanism draws with exact arithmetic
//! ([`dice`]) and says what the draw costs as a [`accountant::Spend`]. Prices add up in the
//! [`accountant`] and are held against a [`budget`]. [`query`] and [`sql`] turn text into
//! measurements with a sensitivity, or say why it has none. [`semantics`] tells what a price means
//! for what an adversary believes.
//!
//! Neighbours are data sets of which one has one person more, with all of that person's rows,
//! unless a page says otherwise. Randomness comes in as an argument; nothing here knows the
//! system's.

use crate::catalogue::manual;

pub mod accountant;
pub mod budget;
pub mod dice;
pub mod exponential;
pub mod gaussian;
pub mod laplace;
pub mod parallel;
pub mod permute_and_flip;
pub mod quantile;
pub mod query;
pub mod randomized_response;
pub mod semantics;
pub mod sparse_vector;
pub mod sql;
pub mod synthetic;
pub mod threshold;

/// A mechanism, or a page about prices.
pub struct Page {
    /// What it is: `mechanism` or `price`.
    pub kind: &'static str,
    /// Name in commands.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// The file that implements it; its `//!` comment is the manual page.
    pub source: &'static str,
}

impl Page {
    /// The manual page.
    pub fn manual(&self) -> String {
        manual(self.source, &[], "")
    }
}

const fn mechanism(name: &'static str, summary: &'static str, source: &'static str) -> Page {
    Page { kind: "mechanism", name, summary, source }
}

const fn price(name: &'static str, summary: &'static str, source: &'static str) -> Page {
    Page { kind: "price", name, summary, source }
}

/// Every mechanism. A new one is a file and a line here (and its `mod` line above).
pub const MECHANISMS: &[Page] = &[
    mechanism(
        "laplace",
        "whole numbers with discrete Laplace (geometric) noise",
        include_str!("laplace.rs"),
    ),
    mechanism(
        "gaussian",
        "whole numbers with discrete Gaussian noise",
        include_str!("gaussian.rs"),
    ),
    mechanism("exponential", "a choice, the better the likelier", include_str!("exponential.rs")),
    mechanism(
        "permute-and-flip",
        "a choice, never worse than `exponential`",
        include_str!("permute_and_flip.rs"),
    ),
    mechanism("quantile", "a quantile, chosen on a grid", include_str!("quantile.rs")),
    mechanism("threshold", "groups whose keys are not public", include_str!("threshold.rs")),
    mechanism(
        "randomized-response",
        "everybody tosses coins",
        include_str!("randomized_response.rs"),
    ),
    mechanism(
        "synthetic",
        "a table of made-up records from noisy counts",
        include_str!("synthetic.rs"),
    ),
    mechanism(
        "sparse-vector",
        "the first of many questions above a threshold",
        include_str!("sparse_vector.rs"),
    ),
];

/// Pages about what answers cost and what that means.
pub const PRICES: &[Page] = &[
    price("accountant", "what a list of answers costs together", include_str!("accountant.rs")),
    price("budget", "how much may be spent in all", include_str!("budget.rs")),
    price(
        "parallel",
        "questions about different people are paid once",
        include_str!("parallel.rs"),
    ),
    price("dp-queries", "questions in SQL that have a sensitivity", include_str!("query.rs")),
    price(
        "semantic-privacy",
        "what a price means for an adversary's beliefs",
        include_str!("semantics.rs"),
    ),
];
