//! Answer of `load`.

use super::words;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Loaded {
    /// Version of the JSON answers.
    pub version: u32,
    /// What became of it.
    pub outcome: LoadOutcome,
    /// The release's folder.
    pub release: String,
    /// The database, without a user.
    pub into: String,
    /// The tables that were made.
    pub tables: Vec<LoadedTable>,
    /// Seconds per phase.
    pub seconds: BTreeMap<String, f64>,
}

/// A table that was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadedTable {
    /// Its name.
    pub table: String,
    /// The file whose rows it has.
    pub file: String,
    /// How many.
    pub rows: u64,
}

words! {
    /// What became of a release that is loaded.
    pub enum LoadOutcome {
        /// Its tables were made.
        Loaded = "loaded",
    }
}
