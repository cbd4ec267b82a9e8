//! Answer of `attack` on published statistics.

use super::{Figure, Number, Tested, words};
use schemars::JsonSchema;
use scumble::attack::statistics as differences;
use serde::{Deserialize, Serialize};

/// Answer of `attack --statistics`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StatisticsAttacked {
    /// Version of the JSON answers.
    pub version: u32,
    /// What was attacked.
    pub target: StatisticsTarget,
    /// The file of statistics.
    pub statistics: String,
    /// What each attack came to.
    pub attacks: Vec<StatisticsOutcome>,
    /// Conditions of `--fail-on` that are met.
    pub failed: Vec<String>,
    /// Every condition with the figures that it was held against.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub conditions: Vec<Tested>,
}

/// What an attack came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StatisticsOutcome {
    /// Its name.
    pub attack: String,
    /// The numbers it came to.
    pub figures: Vec<Figure>,
    /// What follows about people; of `differencing`.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub disclosures: Vec<Disclosed>,
    /// What repeated statistics come to; of `averaging`.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub averages: Vec<Averaged>,
}

/// Something that follows about people.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Disclosed {
    /// What follows.
    pub finding: Finding,
    /// Of which number; empty where people are counted.
    pub of: String,
    /// How many people it is about.
    pub size: u64,
    /// Who they are, if they are not too many.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub people: Vec<String>,
    /// Their value, or the sum of their values.
    pub value: Number,
    /// How far rounding may have moved it.
    pub within: Number,
    /// Standard deviation of the noise in it; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub deviation: Option<f64>,
    /// How it follows, in figures.
    pub formula: String,
    /// The lines of the file that it follows from.
    pub lines: Vec<usize>,
}

/// A statistic that was published several times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Averaged {
    /// What was computed.
    pub statistic: StatisticKind,
    /// Of which number.
    pub of: String,
    /// Over whom.
    pub over: String,
    /// How often it was published.
    pub answers: u64,
    /// The mean of the answers.
    pub estimate: f64,
    /// Its standard error.
    pub error: f64,
    /// The interval that holds the true value with 95 % confidence.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// Whether the deviation of the noise was published, or learnt from the answers.
    pub noise_known: bool,
    /// What the true value is a multiple of.
    pub unit: f64,
    /// How many answers narrow the interval to half a unit to either side.
    pub needed: u64,
    /// Whether there are so many.
    pub narrow: bool,
    /// The lines of the file.
    pub lines: Vec<usize>,
}

words! {
    /// What was attacked.
    pub enum StatisticsTarget {
        /// Published statistics.
        Statistics = "statistics",
    }
}

words! {
    /// What follows about people.
    pub enum Finding {
        /// The value of one person, or the sum over a small set.
        Value = "value",
        /// Everybody of the set has what was counted.
        Everybody = "everybody",
        /// Nobody of the set has it.
        Nobody = "nobody",
        /// Few people were counted.
        SmallCount = "small count",
    }
}

words! {
    /// What a statistic is.
    pub enum StatisticKind {
        /// How many they are, or how many of them have something.
        Count = "count",
        /// The sum of a number of theirs.
        Sum = "sum",
        /// The mean of a number of theirs.
        Mean = "mean",
    }
}

impl From<differences::Finding> for Finding {
    fn from(finding: differences::Finding) -> Finding {
        match finding {
            differences::Finding::Value => Finding::Value,
            differences::Finding::Everybody => Finding::Everybody,
            differences::Finding::Nobody => Finding::Nobody,
            differences::Finding::SmallCount => Finding::SmallCount,
        }
    }
}

impl From<differences::Kind> for StatisticKind {
    fn from(kind: differences::Kind) -> StatisticKind {
        match kind {
            differences::Kind::Count => StatisticKind::Count,
            differences::Kind::Sum => StatisticKind::Sum,
            differences::Kind::Mean => StatisticKind::Mean,
        }
    }
}
