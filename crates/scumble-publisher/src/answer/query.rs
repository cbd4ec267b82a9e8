//! Answers of `query` and `estimate`: counts that a recipient estimates from a release.

use super::Number;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Answer of `query`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answered {
    /// Version of the JSON answers.
    pub version: u32,
    /// The release's folder.
    pub release: String,
    /// Records published.
    pub rows: u64,
    /// One per query, in order.
    pub answers: Vec<Count>,
    /// What the reader should know.
    pub warnings: Vec<String>,
}

/// A query and its answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Count {
    /// The query.
    pub query: String,
    /// Expected number of records; absent if the release does not tell.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub estimate: Option<f64>,
    /// The values of the query that the release does not know.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub unknown: Vec<String>,
}

/// Answer of `estimate`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimated {
    /// Version of the JSON answers.
    pub version: u32,
    /// The column.
    pub column: String,
    /// Probability with which a value was left as it was.
    pub keep: Number,
    /// Records with a value.
    pub records: u64,
    /// By value, those shown most often first.
    pub values: Vec<Estimate>,
}

/// One value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// As published.
    pub value: String,
    /// Records that show it.
    pub shown: u64,
    /// Records that have it, estimated without bias; chance may take it below 0.
    pub estimated: f64,
    /// Standard error of the estimate: what the randomization alone makes it wrong by.
    pub error: f64,
}
