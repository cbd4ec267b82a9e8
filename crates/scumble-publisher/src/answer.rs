//! What commands answer: small versioned structures, apart from the types they are made from.
//!
//! Every answer can be written as JSON, read back to an equal value, and has a JSON Schema. There
//! is one file per command. Names are stable, and new ones may be added; [`VERSION`] rises when a
//! name changes its meaning.

mod attack;
mod check;
mod compare;
mod failed;
mod figure;
mod inspect;
mod ledger;
mod load;
mod model;
pub(crate) mod parameters;
mod private;
mod publish;
mod query;
mod reproduce;
pub(crate) mod role;
pub mod schema;
mod semantics;
mod statistics;
mod synthesize;
mod taxonomy;
mod verify;
mod why;

pub use crate::failure::Reason;
pub use attack::{
    Adversary, AttackOutcome, AttackTarget, Attacked, BreachNote, Person, RegisterIs, Tested,
    ValueProbability,
};
pub use check::{
    Checked, Checking, FreeformAttacks, Persons, PopulationUniques, RiskFigures, Risks,
};
pub use compare::{Compared, ComparedPolicy, QueryErrors};
pub use failed::{Failed, FailedOutcome};
pub use figure::{Better, Figure, Loss, Unit};
pub use inspect::{ColumnProfile, Inspection, Kind, SinglingOutSet, Values, Written};
pub use ledger::{
    Cohort, ExposedPeople, Headroom, Left, Listed, Listing, Noted, PaidFor, Room, SharedPeople,
    ShownRelease, VerifiedLedger,
};
pub use load::{LoadOutcome, Loaded, LoadedTable};
pub use model::{Model, MustBe, Number, Witness, Worse};
pub use private::{
    Balance, Cell, Cost, Meaning, Measurement, Mechanism, PrivateAnswer, PrivateOutcome,
    PrivatelyAnswered,
};
pub use publish::{
    EngineReport, Exposed, Exposure, Groups, Limits, Outcome, Passage, Perturbed, Published,
    Record, Remedy, Tried,
};
pub(crate) use publish::{exposed_header, exposed_lines};
pub use query::{Answered, Count, Estimate, Estimated};
pub use reproduce::{
    Experiment, Experiments, Item, Reproduced, Reproduction, WorkedPage, WorkedValue,
};
pub use semantics::{
    DataSetBelief, GameDistance, MechanismMeaning, SemanticBound, SemanticPrice, SemanticsAnswer,
    SmallestDelta, TranscriptGames,
};
pub use statistics::{
    Averaged, Disclosed, Finding, StatisticKind, StatisticsAttacked, StatisticsOutcome,
    StatisticsTarget,
};
pub use synthesize::{Synthesized, SyntheticForm};
pub use taxonomy::{Against, BuiltTaxonomy, CheckedTaxonomy};
pub use verify::{CheckedClaim, PublishersWord, Verified, VerifyOutcome};
pub use why::{
    Because, Believed, Between, Claimed, Explained, FactNote, LocatedIn, PossibleOutcome, Premise,
    ProofKind,
};

/// Version of the JSON answers. The manifest and the certificate of a release have their own.
pub const VERSION: u32 = 2;

/// An enum whose variants are words: the same in JSON, in files and for people.
macro_rules! words {
    (
        $(#[$about:meta])*
        pub enum $name:ident { $($(#[$meaning:meta])* $variant:ident = $word:literal,)* }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        pub enum $name {
            $($(#[$meaning])* #[serde(rename = $word)] $variant,)*
        }

        impl $name {
            /// The word for it, as in JSON.
            pub fn word(self) -> &'static str {
                match self {
                    $($name::$variant => $word,)*
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.word())
            }
        }
    };
}
pub(crate) use words;

/// Whether a number that is absent when it is 0 is.
pub(crate) fn is_zero(number: &u64) -> bool {
    *number == 0
}
