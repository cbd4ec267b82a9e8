//! Answer of `why`.

use super::{Number, words};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Answer of `why`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Explained {
    /// Version of the JSON answers.
    pub version: u32,
    /// The person.
    pub person: String,
    /// Row in the register, the first after the header being 1.
    pub row: u64,
    /// How many people are exactly like this one to the adversary, herself included.
    pub alike: u64,
    /// Values that are possible, likeliest first.
    pub values: Vec<Believed>,
    /// What was asked about, or everything that is certain or impossible, with reasons.
    pub inferences: Vec<Because>,
    /// What the reader should know.
    pub warnings: Vec<String>,
}

/// A value and how much it is believed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Believed {
    /// The value.
    pub value: String,
    /// Probability by maximum entropy.
    pub probability: f64,
    /// The least and the most probability that any belief consistent with the facts can give it, of
    /// this one person. Absent where it takes too long.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub bounds: Option<Between>,
    /// The least and the most of the people who are alike who have it, herself included; absent if
    /// she is alone, or where it takes too long.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub of_alike: Option<Between>,
}

/// The least and the most that a number can be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Between {
    /// The least.
    pub low: Number,
    /// The most.
    pub high: Number,
}

/// An inference and its reasons.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Because {
    /// The value.
    pub value: String,
    /// What is inferred.
    pub claim: Claimed,
    /// The probability that is bounded; absent for what is certain or impossible.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub bound: Option<Number>,
    /// Sentences: the facts, and what follows.
    pub sentences: Vec<String>,
    /// How the facts give it.
    pub proof: ProofKind,
    /// The published facts.
    pub facts: Vec<FactNote>,
    /// Everybody whom the facts count or may count, and what can be true of them.
    pub premises: Vec<Premise>,
    /// How often the left side of the inference is counted in the combination; absent if it is no
    /// sum.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub times: Option<String>,
    /// Whether the combination was checked by plain arithmetic.
    pub verified: bool,
    /// Whether the proof fails without any one of the facts.
    pub irreducible: bool,
    /// Whether it was proven that no fewer facts suffice.
    pub smallest: bool,
}

/// People who are alike to the adversary, and what can be true of one of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Premise {
    /// How many.
    pub people: u64,
    /// Their rows in the register, from 1; none if they are not in it.
    pub rows: Vec<u64>,
    /// Whether the inference is about them.
    pub asked: bool,
    /// By release: the groups that they may be in, as the facts name them, and whether they may be
    /// in none.
    pub located: Vec<LocatedIn>,
    /// Everything that can be true of one of them, by what their groups show.
    pub outcomes: Vec<PossibleOutcome>,
    /// What "each of them has one outcome" is multiplied by in the sum; absent if it is no sum.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub times: Option<String>,
}

/// Where people are in a release.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LocatedIn {
    /// Names of the groups.
    pub groups: Vec<String>,
    /// Whether they may be in none of them.
    pub may_be_absent: bool,
}

/// One thing that can be true of a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PossibleOutcome {
    /// The value; absent if the person is in no release, so that nothing is said of it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub value: Option<String>,
    /// The facts that count a person of whom it is true: places in the list of facts, from 0.
    pub counted_by: Vec<usize>,
}

/// A published fact in a proof.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FactNote {
    /// Number of the release, from 1; absent for something else that is known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub release: Option<u32>,
    /// The group.
    pub group: String,
    /// The value; empty for something else that is known.
    pub value: String,
    /// How many people at least.
    pub low: u64,
    /// How many people at most.
    pub high: u64,
    /// What it is multiplied by in the sum; absent if it is no sum.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub times: Option<String>,
}

words! {
    /// What is inferred about a value.
    pub enum Claimed {
        /// The person has it.
        Certain = "certain",
        /// The person does not have it.
        Impossible = "impossible",
        /// Its probability is at least the bound.
        AtLeast = "at least",
        /// Its probability is at most the bound.
        AtMost = "at most",
        /// The facts contradict each other.
        Contradiction = "contradiction",
    }
}

words! {
    /// How facts prove an inference.
    pub enum ProofKind {
        /// By a sum of multiples of them.
        Sum = "sum",
        /// By trying all ways to deal values to these people.
        Trying = "trying",
    }
}
