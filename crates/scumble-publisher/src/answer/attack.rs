//! Answer of `attack`.

use super::{EngineReport, Figure, Number, words};
use schemars::JsonSchema;
use scumble::attack::Membership;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Answer of `attack`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Attacked {
    /// Version of the JSON answers.
    pub version: u32,
    /// What was attacked.
    pub target: AttackTarget,
    /// The releases.
    pub releases: Vec<String>,
    /// The sensitive attribute.
    pub attribute: String,
    /// What each attack came to.
    pub attacks: Vec<AttackOutcome>,
    /// Conditions of `--fail-on` that are met.
    pub failed: Vec<String>,
    /// Every condition with the figures that it was held against.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub conditions: Vec<Tested>,
    /// What the reader should know.
    pub warnings: Vec<String>,
    /// What the engine did, if there was one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub engine: Option<EngineReport>,
    /// Seconds per phase: `read` (with locating people), each attack by its name, and `total`.
    pub seconds: BTreeMap<String, f64>,
}

/// What an attack came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AttackOutcome {
    /// Its name.
    pub attack: String,
    /// What the adversary was given.
    pub adversary: Adversary,
    /// Number of people attacked; absent where it looks at classes alone.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub people: Option<u64>,
    /// The numbers it came to.
    pub figures: Vec<Figure>,
    /// The people most at risk.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub top: Vec<Person>,
    /// What was found, in words.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub findings: Vec<String>,
    /// Freeform attacks that are breaches.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub breaches: Vec<BreachNote>,
    /// What must be borne in mind.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub notes: Vec<String>,
}

/// What an adversary knows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Adversary {
    /// Quasi-identifiers that she knows of people; none if she has no register.
    pub knows: Vec<String>,
    /// What she knows of membership; absent without a register.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub register_is: Option<RegisterIs>,
    /// Number of releases that she has.
    pub releases: usize,
    /// Number of other things that she knows.
    pub facts: usize,
    /// Parameters of the attack.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default, with = "super::parameters")]
    #[schemars(with = "BTreeMap<String, super::parameters::Parameter>")]
    pub parameters: BTreeMap<String, String>,
}

/// A value and how likely it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ValueProbability {
    /// The value.
    pub value: String,
    /// Its probability.
    pub probability: f64,
}

/// Somebody in an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Person {
    /// Row in the register, the first after the header being 1.
    pub row: u64,
    /// Name, if a column names people.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub name: Option<String>,
    /// How much she is at risk: the belief in her likeliest value, or the probability of a link.
    pub risk: f64,
    /// What the risk is, or how the belief is come by.
    pub estimator: String,
    /// Number of groups that she may be in, by release.
    pub groups: Vec<u64>,
    /// Values that are possible, with their probabilities; only where values are asked for.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub values: Vec<ValueProbability>,
}

/// A condition and a figure that it was held against.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tested {
    /// The condition as it was written.
    pub condition: String,
    /// The attack whose figure it is.
    pub attack: String,
    /// The figure.
    pub value: f64,
    /// Whether the condition is met: then the test has failed.
    pub met: bool,
}

/// A breach X → a in an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BreachNote {
    /// X: values by attribute; nothing is known of the others.
    pub known: BTreeMap<String, String>,
    /// The attribute that is attacked.
    pub attribute: String,
    /// a.
    pub value: String,
    /// Records that match X.
    pub support: u64,
    /// Those of them that match a.
    pub records: u64,
    /// Their share, times the sensitivity of a.
    pub threat: Number,
    /// Whether a is shown in the release, and not only values below it.
    pub shown: bool,
    /// Whether no more general X breaches a.
    pub minimal: bool,
}

words! {
    /// What was attacked, if not statistics.
    pub enum AttackTarget {
        /// Releases.
        Releases = "releases",
        /// A policy: what it would publish, and how.
        Policy = "policy",
    }
}

words! {
    /// What a register says about membership.
    pub enum RegisterIs {
        /// Its people are in the releases, if they fit.
        Members = "members",
        /// Everybody in the releases is among its people.
        Population = "population",
        /// Neither.
        Some = "some",
    }
}

impl From<Membership> for RegisterIs {
    fn from(membership: Membership) -> RegisterIs {
        match membership {
            Membership::Members => RegisterIs::Members,
            Membership::Population => RegisterIs::Population,
            Membership::Some => RegisterIs::Some,
        }
    }
}
