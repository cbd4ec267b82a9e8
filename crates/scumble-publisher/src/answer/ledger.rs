//! Answers of the `ledger` commands.

use super::Model;
use crate::ledger::{Standing, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Answer of `ledger list`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Listed {
    /// Version of the JSON answers.
    pub version: u32,
    /// The ledger.
    pub ledger: String,
    /// Number of entries.
    pub entries: u64,
    /// Hash of the last one.
    pub head: String,
    /// The releases.
    pub releases: Vec<Listing>,
    /// Answers that were paid from privacy budgets, by data and recipient.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub paid: Vec<PaidFor>,
    /// What the reader should know.
    pub warnings: Vec<String>,
}

/// Answers that were paid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PaidFor {
    /// On which data.
    pub dataset: String,
    /// Who asked, if that is known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub recipient: Option<String>,
    /// How many prices were paid.
    pub prices: u64,
}

/// A release in a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Listing {
    /// Number of its entry.
    pub entry: u64,
    /// When it was recorded.
    pub at: String,
    /// What it is called.
    pub name: String,
    /// How it stands.
    pub standing: Standing,
    /// Who publishes it, if that is told.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub publisher: Option<String>,
    /// Who was given it; everybody, if empty.
    pub recipients: Vec<String>,
    /// How it was made.
    pub method: String,
    /// Records in it.
    pub rows: u64,
    /// Its sensitive attributes.
    pub attributes: Vec<String>,
}

/// Answer of `ledger show`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ShownRelease {
    /// Version of the JSON answers.
    pub version: u32,
    /// The release.
    #[serde(flatten)]
    pub listing: Listing,
    /// Its number in its manifest.
    pub id: String,
    /// Where it was written.
    pub folder: String,
    /// On which machine.
    pub machine: String,
    /// SHA-256 of its manifest, which has those of its data files.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sha256: Option<String>,
    /// SHA-256 of its policy.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub policy: Option<String>,
    /// Records left out.
    pub suppressed: u64,
    /// Number of people whose group the ledger knows.
    pub people: u64,
    /// Number of groups.
    pub groups: u64,
    /// Promises with measured values.
    pub models: Vec<Model>,
    /// What the gate said.
    pub gate: Vec<Verdict>,
    /// Releases that share people with it.
    pub shares: Vec<SharedPeople>,
    /// What the reader should know.
    pub warnings: Vec<String>,
}

/// People whom a release shares with another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SharedPeople {
    /// The other release.
    pub release: String,
    /// How many people are in both.
    pub people: u64,
}

/// Answer of `ledger verify`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VerifiedLedger {
    /// Version of the JSON answers.
    pub version: u32,
    /// The ledger.
    pub ledger: String,
    /// Whether nothing was changed.
    pub sound: bool,
    /// Entries that follow from each other.
    pub entries: u64,
    /// Files that are as they were written.
    pub files: u64,
    /// Releases whose data are where they were written, and the same.
    pub in_place: u64,
    /// Hash of the last entry: write it down somewhere else, and later ask for it with `--head`.
    pub head: String,
    /// What is wrong.
    pub problems: Vec<String>,
    /// What is not wrong and should be known: releases that were moved.
    pub warnings: Vec<String>,
}

/// People whom an added release exposes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExposedPeople {
    /// The sensitive attribute.
    pub attribute: String,
    /// People whose value it makes certain, alone or with what the ledger holds.
    pub people: u64,
}

/// Answer of `ledger add` and `ledger withdraw`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Noted {
    /// Version of the JSON answers.
    pub version: u32,
    /// The ledger.
    pub ledger: String,
    /// Number of the release's entry, by which `ledger show` finds it.
    pub entry: u64,
    /// The release.
    pub name: String,
    /// People who are in it, or may be.
    pub people: u64,
    /// Of them, those of whom it is known in which group they are.
    pub located: u64,
    /// People whose value becomes certain with an added release, by attribute.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub exposed: Vec<ExposedPeople>,
    /// What the reader should know.
    pub warnings: Vec<String>,
}

/// Answer of `ledger headroom`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Headroom {
    /// Version of the JSON answers.
    pub version: u32,
    /// The policy.
    pub policy: String,
    /// Releases in the ledger that share people with the extract.
    pub earlier: u64,
    /// People of the extract by how many values are still possible for them, by what was published
    /// before: attribute, values, people. Those of whom nothing was published have no limit and are
    /// not counted.
    pub left: Vec<Left>,
    /// How many more releases pass, with all sensitive attributes and with each alone.
    pub columns: Vec<Room>,
    /// What the reader should know.
    pub warnings: Vec<String>,
}

/// How many people have how many possible values left.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Left {
    /// The sensitive attribute.
    pub attribute: String,
    /// Possible values.
    pub values: u64,
    /// People.
    pub people: u64,
}

/// How many more releases pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Room {
    /// The sensitive attributes that are published.
    pub attributes: Vec<String>,
    /// So many releases pass one after another.
    pub releases: u64,
    /// Whether it was stopped there without a refusal: there is room for more.
    pub more: bool,
    /// Why the next one is refused.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub because: Vec<String>,
    /// People whom the refused release would expose.
    pub exposed: u64,
    /// Cohorts that are exposed most: a column, its value as the coarsest level tells it, people of
    /// the cohort, exposed ones.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub cohorts: Vec<Cohort>,
}

/// People who have a value in common.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cohort {
    /// Quasi-identifier.
    pub column: String,
    /// Its value, generalized as far as it still tells people apart.
    pub value: String,
    /// People of the extract.
    pub people: u64,
    /// Of them, exposed.
    pub exposed: u64,
}
