//! Answer of `check`.

use super::words;
use super::{BreachNote, Figure, Groups, Model, Number, Reason};
use schemars::JsonSchema;
use scumble::risk::{MaxAverage, Risk};
use scumble::uniqueness::{Estimator, unique_share};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Answer of `check`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Checked {
    /// Version of the JSON answers.
    pub version: u32,
    /// What was checked.
    pub what: Checking,
    /// Records.
    pub rows: u64,
    /// Equivalence classes.
    pub classes: u64,
    /// Size of the smallest class.
    pub k: u64,
    /// The groups, if the release is anatomized.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub groups: Option<Groups>,
    /// Every model with what was measured.
    pub models: Vec<Model>,
    /// What was promised, by a policy or the manifest, and whether it is kept; empty if nothing
    /// was.
    pub promises: Vec<Model>,
    /// Whether all promises are kept; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub keeps: Option<bool>,
    /// The persons, if the table has a column for them.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub persons: Option<Persons>,
    /// Promises that are broken, in words.
    pub reasons: Vec<Reason>,
    /// Freeform attacks, of every promise of FF-anonymity that is broken.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub freeform: Vec<FreeformAttacks>,
    /// Re-identification risk.
    pub risk: Risks,
    /// Records alone in their class.
    pub uniques: u64,
    /// Number of classes of each size.
    pub sizes: BTreeMap<u64, u64>,
    /// What the reader should know.
    pub warnings: Vec<String>,
    /// Seconds it took: `total`.
    pub seconds: BTreeMap<String, f64>,
}

/// The persons of a table that has a column for them. Classes count records, so where a person has
/// several a class protects fewer people than it has records.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Persons {
    /// The column that names them.
    pub column: String,
    /// How many there are.
    pub number: u64,
    /// How many of them have more than one record.
    pub repeated: u64,
    /// The fewest persons in a class.
    pub smallest: u64,
}

/// What `check` says of the freeform attacks on what it was given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FreeformAttacks {
    /// Parameters of the attack.
    #[serde(with = "super::parameters")]
    #[schemars(with = "BTreeMap<String, super::parameters::Parameter>")]
    pub parameters: BTreeMap<String, String>,
    /// The numbers, as of the attack.
    pub figures: Vec<Figure>,
    /// Minimal breaches first; of a table that was not published only where values are asked for.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub breaches: Vec<BreachNote>,
    /// The same in words.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub words: Vec<String>,
}

/// Risk figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Risks {
    /// Knows that the person is in the table.
    pub prosecutor: RiskFigures,
    /// Has a register of the population.
    pub journalist: RiskFigures,
    /// Matches everybody.
    pub marketer: RiskFigures,
    /// Whether a register was given; otherwise the table was taken for the population.
    pub register: bool,
    /// Estimated uniques of the population, if its size was given.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub population_uniques: Option<PopulationUniques>,
}

/// The share of records whose people are estimated to be unique in the population.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PopulationUniques {
    /// How many people the table was said to be a sample of.
    pub population: u64,
    /// By Dankar's rule, which chooses one of the others.
    pub share: f64,
    /// By every estimator.
    pub estimates: BTreeMap<String, f64>,
}

/// The largest and the mean risk of a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RiskFigures {
    /// The largest.
    pub max: Number,
    /// The mean.
    pub average: Number,
}

words! {
    /// What `check` looks at.
    pub enum Checking {
        /// A table that was not published by scumble.
        Table = "table",
        /// A release, with its manifest.
        Release = "release",
    }
}

impl PopulationUniques {
    /// From the number of classes of each size.
    pub fn of(sizes: &BTreeMap<u64, u64>, population: u64) -> PopulationUniques {
        let estimate = |(name, estimator): (&str, Estimator)| {
            (name.to_owned(), unique_share(sizes, population, estimator))
        };
        let estimates: BTreeMap<String, f64> = Estimator::ALL.into_iter().map(estimate).collect();
        PopulationUniques {
            population,
            share: unique_share(sizes, population, Estimator::Dankar),
            estimates,
        }
    }
}

impl From<MaxAverage> for RiskFigures {
    fn from(f: MaxAverage) -> RiskFigures {
        RiskFigures { max: f.max.into(), average: Number::real(f.average) }
    }
}

impl From<&Risk> for Risks {
    fn from(r: &Risk) -> Risks {
        Risks {
            prosecutor: r.prosecutor.into(),
            journalist: r.journalist.into(),
            marketer: r.marketer.into(),
            register: r.register,
            population_uniques: None,
        }
    }
}
