//! Answer of `semantics`.

use super::Number;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a price, or a mechanism, means for the beliefs of an adversary.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SemanticsAnswer {
    /// Version of the JSON answers.
    pub version: u32,
    /// The mechanism that was given as a table.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mechanism: Option<MechanismMeaning>,
    /// The price that the bounds are of: the one that was given, or the mechanism's own; absent if
    /// it has none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub price: Option<SemanticPrice>,
    /// Bounds that follow from the price alone.
    pub bounds: Vec<SemanticBound>,
}

/// A finite mechanism, and the games that are played with it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MechanismMeaning {
    /// Whose records a data set holds.
    pub people: Vec<String>,
    /// The values that a record may have.
    pub values: Vec<String>,
    /// What the mechanism may say.
    pub transcripts: Vec<String>,
    /// Number of data sets.
    pub data_sets: u64,
    /// The record that replaces a person's own in the person's game.
    pub default: String,
    /// The largest ratio of the chances of a transcript under neighbours, e^ε; absent if some
    /// transcript is possible under one of two neighbours only: then no ε holds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ratio: Option<Number>,
    /// The smallest ε of the mechanism; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub epsilon: Option<f64>,
    /// The largest statistical difference between two neighbours.
    pub total_variation: Number,
    /// The smallest δ, for the ε that was asked for.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub smallest_delta: Option<SmallestDelta>,
    /// The games after each transcript that the prior allows.
    pub games: Vec<TranscriptGames>,
    /// The largest distance of a posterior from that of game 0, over people and transcripts.
    pub worst: GameDistance,
}

/// The smallest δ with which a mechanism is (ε, δ)-differentially private.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SmallestDelta {
    /// The ε.
    pub epsilon: f64,
    /// The δ. It is exact if e^ε is a rational number, otherwise rounded up.
    pub delta: Number,
}

/// What an adversary believes after a transcript, in every game.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TranscriptGames {
    /// The transcript.
    pub transcript: String,
    /// How likely it is in game 0.
    pub chance: Number,
    /// For each person, how far the belief of the person's game is from that of game 0.
    pub distances: Vec<GameDistance>,
    /// The belief of game 0, over data sets with their records in the order of the people, and of
    /// each person's game. Data sets that the prior excludes are absent.
    pub posteriors: Vec<DataSetBelief>,
}

/// How far the belief of one person's game is from that of game 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GameDistance {
    /// Whose record is replaced in the game.
    pub person: String,
    /// The transcript.
    pub transcript: String,
    /// Statistical difference of the two beliefs; 1 if the transcript is impossible in the
    /// person's game.
    pub distance: Number,
}

/// The belief in one data set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DataSetBelief {
    /// The records, in the order of the people.
    pub records: Vec<String>,
    /// The belief before anything is seen.
    pub prior: Number,
    /// The belief in game 0, and in the game of each person; null where the transcript is
    /// impossible in that game.
    pub beliefs: Vec<Option<Number>>,
}

/// A price of differential privacy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SemanticPrice {
    /// ε.
    pub epsilon: f64,
    /// δ.
    pub delta: f64,
    /// How many people the data are about.
    pub people: u64,
}

/// A bound on how far beliefs may differ.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SemanticBound {
    /// Which result it is: `proposition-15`, `odds`, `theorem-16` or `lemma-19`.
    pub name: String,
    /// For whom it holds at once: `everybody` or `one person`.
    pub about: String,
    /// How far beliefs with and without a person's record may differ, as a formula.
    pub says: String,
    /// The bound.
    pub at_most: f64,
    /// Whether it says nothing: every distance is at most 1, or it may fail with probability 1.
    pub empty: bool,
    /// The probability with which it may not hold.
    pub failing: f64,
}
