//! Answer of `compare`.

use super::{Loss, Model, Outcome, Reason, Risks};
use crate::publish::compare::label;
use schemars::JsonSchema;
use scumble::policy::Chosen;
use scumble::query::Errors;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Answer of `compare`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Compared {
    /// Version of the JSON answers.
    pub version: u32,
    /// In the order they were given.
    pub policies: Vec<ComparedPolicy>,
    /// Where the chart is, if one was drawn.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub picture: Option<String>,
}

/// What became of one policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedPolicy {
    /// The policy's file.
    pub policy: String,
    /// What was set in it for this comparison, in place of what it says.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub set: Vec<Chosen>,
    /// `would publish` or `refused`.
    pub outcome: Outcome,
    /// Name of the algorithm.
    pub algorithm: String,
    /// Records that would be published.
    pub rows: u64,
    /// Equivalence classes.
    pub classes: u64,
    /// Records left out.
    pub suppressed: u64,
    /// Every requirement with what was measured.
    pub models: Vec<Model>,
    /// Risk of re-identification; absent if it was refused.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub risk: Option<Risks>,
    /// Every metric by name, also those that take long.
    pub utility: BTreeMap<String, Loss>,
    /// Relative error of the queries; absent if none were asked.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub queries: Option<QueryErrors>,
    /// Why it was refused.
    pub reasons: Vec<Reason>,
    /// What the steward should know.
    pub warnings: Vec<String>,
    /// Seconds per phase.
    pub seconds: BTreeMap<String, f64>,
}

impl ComparedPolicy {
    /// The policy's file with what was set in it.
    pub fn label(&self) -> String {
        label(&self.policy, &self.set)
    }
}

/// How far estimates of queries are from the truth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QueryErrors {
    /// Number of queries.
    pub number: usize,
    /// Median of the relative error.
    pub median: f64,
    /// Nine tenths of the queries have at most this error.
    pub p90: f64,
    /// Mean of the relative error.
    pub mean: f64,
}

impl From<Errors> for QueryErrors {
    fn from(e: Errors) -> QueryErrors {
        QueryErrors { number: e.queries, median: e.median, p90: e.p90, mean: e.mean }
    }
}
