//! Answer of `synthesize`.

use super::{Balance, Cost, Mechanism, Outcome, Reason, words};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Answer of `synthesize`, and its manifest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Synthesized {
    /// Version of the JSON answers.
    pub version: u32,
    /// What became of it.
    pub outcome: Outcome,
    /// The folder.
    pub release: String,
    /// What it is.
    pub form: SyntheticForm,
    /// Synthetic records.
    pub rows: u64,
    /// Its columns.
    pub columns: Vec<String>,
    /// Pairs of columns whose counts were measured.
    pub pairs: Vec<[String; 2]>,
    /// What is protected.
    pub unit: String,
    /// Which data sets must look alike.
    pub neighbours: String,
    /// ε of the table.
    pub epsilon: f64,
    /// δ of the table.
    pub delta: f64,
    /// The noise.
    pub mechanism: Mechanism,
    /// What it costs.
    pub cost: Cost,
    /// The budget after it.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub budgets: Vec<Balance>,
    /// Hash of each file.
    pub sha256: BTreeMap<String, String>,
    /// Why it was refused.
    pub reasons: Vec<Reason>,
    /// What the reader should know.
    pub warnings: Vec<String>,
    /// Seconds per phase.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub seconds: BTreeMap<String, f64>,
}

words! {
    /// The form of a synthetic table.
    pub enum SyntheticForm {
        /// Records that stand for nobody.
        Synthetic = "synthetic",
    }
}
