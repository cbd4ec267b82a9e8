//! Answer of a private query: numbers with noise, paid from a budget.

use super::{Reason, words};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Answer of `query --dp`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PrivatelyAnswered {
    /// Version of the JSON answers.
    pub version: u32,
    /// What became of the batch.
    pub outcome: PrivateOutcome,
    /// What is protected.
    pub unit: String,
    /// Which data sets must look alike.
    pub neighbours: String,
    /// How sure intervals are.
    pub confidence: f64,
    /// One per question, in order.
    pub answers: Vec<PrivateAnswer>,
    /// What the questions cost together.
    pub cost: Cost,
    /// Numbers of questions that are about different people and paid once.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub together: Vec<Vec<usize>>,
    /// The budget after them.
    pub budgets: Vec<Balance>,
    /// Number of the ledger's entry with the price, by which the answer can be had again.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub recorded: Option<u64>,
    /// Whether the noise came from a seed, which makes it worthless as protection.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub test: bool,
    /// Why it was refused.
    pub reasons: Vec<Reason>,
    /// What the reader should know.
    pub warnings: Vec<String>,
    /// Seconds per phase.
    pub seconds: BTreeMap<String, f64>,
}

/// A question and its answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PrivateAnswer {
    /// The question.
    pub query: String,
    /// ε paid for it.
    pub epsilon: f64,
    /// δ paid for it.
    pub delta: f64,
    /// What was measured, with the noise of each.
    pub measurements: Vec<Measurement>,
    /// How many rows a group needs to be shown, where keys are not public.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub threshold: Option<u64>,
    /// Headings.
    pub columns: Vec<String>,
    /// One per group; empty before it is answered.
    pub rows: Vec<Vec<Cell>>,
}

/// One measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measurement {
    /// What is measured.
    pub of: String,
    /// Its mechanism.
    pub mechanism: Mechanism,
    /// How much one person changes it, in units.
    pub sensitivity: f64,
    /// Scale of Laplace noise, deviation of Gaussian noise, in units.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub scale: Option<f64>,
}

/// A key, or a number with its interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Cell {
    /// A key of a group.
    Key(String),
    /// An estimate.
    Number {
        /// Nothing where the noise leaves nothing.
        value: Option<f64>,
        /// Lower end.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        low: Option<f64>,
        /// Upper end.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        high: Option<f64>,
        /// Ranks by which a quantile may be wrong.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        ranks: Option<f64>,
    },
}

/// What a batch costs by itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cost {
    /// ε at `delta`, by the best theorem.
    pub epsilon: Option<f64>,
    /// The δ of the budget.
    pub delta: f64,
    /// The theorem.
    pub by: Option<String>,
    /// Every theorem's word.
    pub bounds: BTreeMap<String, Option<f64>>,
}

/// What everything spent of a budget means for what somebody believes of a person, whatever else
/// they know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Meaning {
    /// A probability of one half becomes at most this.
    pub half_becomes: f64,
    /// But with this probability.
    pub failing: f64,
    /// By which bound.
    pub by: String,
}

/// How a budget stands after the batch (before it, if it was refused).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Balance {
    /// Whose: `all`, or a recipient.
    pub of: String,
    /// ε of the budget.
    pub epsilon: f64,
    /// δ of the budget.
    pub delta: f64,
    /// ε spent.
    pub spent: Option<f64>,
    /// By which way of adding up.
    pub by: String,
    /// Answers paid so far.
    pub answers: u64,
    /// What all of them together mean.
    pub meaning: Meaning,
}

words! {
    /// What became of a batch of private queries.
    pub enum PrivateOutcome {
        /// It was paid and answered.
        Answered = "answered",
        /// The budget does not allow it: nothing was paid.
        Refused = "refused",
        /// The budget allows it: nothing was read or paid.
        WouldAnswer = "would answer",
    }
}

words! {
    /// A mechanism of differential privacy.
    pub enum Mechanism {
        /// Laplace noise.
        Laplace = "laplace",
        /// Gaussian noise.
        Gaussian = "gaussian",
        /// Permute and flip, for quantiles.
        PermuteAndFlip = "permute-and-flip",
    }
}
