//! Answer of `reproduce`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Answer of `reproduce`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reproduction {
    /// Version of the JSON answers.
    pub version: u32,
    /// Pages of worked examples.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub examples: Vec<WorkedPage>,
    /// Values of the papers that are worked out here.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub items: Vec<Item>,
    /// The experiments, if any were carried out.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub experiments: Option<Reproduced>,
}

/// A page of worked examples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkedPage {
    /// The file.
    pub page: String,
    /// Its heading.
    pub title: String,
    /// What was worked out.
    pub values: Vec<WorkedValue>,
}

/// A value of a worked example.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkedValue {
    /// Line of the page.
    pub line: usize,
    /// What the page says.
    pub expected: String,
    /// Whether it is so.
    pub holds: bool,
    /// What came out instead.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub found: Option<String>,
}

/// The experiments on one table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reproduced {
    /// Version of the JSON answers.
    pub version: u32,
    /// What the data are called.
    pub data: String,
    /// Number of records.
    pub records: u64,
    /// One after another.
    pub items: Vec<Item>,
    /// Pictures that were drawn.
    pub pictures: Vec<String>,
    /// Seconds by experiment.
    pub seconds: BTreeMap<String, f64>,
}

/// A value of a paper, and ours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Item {
    /// The experiment.
    pub id: String,
    /// What is measured.
    pub what: String,
    /// What the paper says; empty where it says nothing.
    pub paper: String,
    /// What came out here.
    pub ours: String,
    /// How it was done.
    pub settings: String,
    /// Whether ours is what can be expected, where that is known: the paper's value on the paper's
    /// data, or a law.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub holds: Option<bool>,
}

/// Answer of `reproduce --list`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Experiments {
    /// Version of the JSON answers.
    pub version: u32,
    /// What can be reproduced.
    pub experiments: Vec<Experiment>,
}

/// Something that can be reproduced.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Experiment {
    /// Its name.
    pub name: String,
    /// What it is about.
    pub about: String,
}

impl Reproduction {
    /// Whether everything came out as expected.
    pub fn holds(&self) -> bool {
        let experiments = self.experiments.iter().flat_map(|r| &r.items);
        self.examples.iter().flat_map(|page| &page.values).all(|value| value.holds)
            && self.items.iter().chain(experiments).all(|item| item.holds != Some(false))
    }
}
