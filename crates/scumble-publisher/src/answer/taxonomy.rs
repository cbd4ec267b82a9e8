//! Answers of `taxonomy build` and `taxonomy check`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Answer of `taxonomy build`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BuiltTaxonomy {
    /// Version of the JSON answers.
    pub version: u32,
    /// The column whose values it covers.
    pub column: String,
    /// Number of values.
    pub values: u64,
    /// Number of levels above them.
    pub levels: u64,
    /// The file it was written to; absent if it was written to standard output.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub file: Option<String>,
    /// Its lines, the value first; absent if it was written to a file.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rows: Option<Vec<Vec<String>>>,
}

/// Answer of `taxonomy check`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckedTaxonomy {
    /// Version of the JSON answers.
    pub version: u32,
    /// The file.
    pub taxonomy: String,
    /// Number of values.
    pub values: u64,
    /// Number of levels above them.
    pub levels: u64,
    /// The label of the root.
    pub root: String,
    /// The table that it was held against, if one was given.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub against: Option<Against>,
}

/// A column that a taxonomy was held against.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Against {
    /// The table.
    pub data: String,
    /// Its column.
    pub column: String,
    /// Number of its values that the taxonomy does not cover.
    pub missing: u64,
    /// The values; only if they were asked for.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub missing_values: Vec<String>,
}
