//! Answer of a command that failed.

use super::{Reason, VERSION, words};
use schemars::JsonSchema;
use scumble::failure::Failures;
use serde::{Deserialize, Serialize};

/// Answer of any command that failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Failed {
    /// Version of the JSON answers.
    pub version: u32,
    /// `failed`: a refusal is an answer of the command itself.
    pub outcome: FailedOutcome,
    /// Everything that went wrong.
    pub failures: Vec<Reason>,
}

words! {
    /// That a command failed.
    pub enum FailedOutcome {
        /// It failed.
        Failed = "failed",
    }
}

impl From<&Failures> for Failed {
    fn from(failures: &Failures) -> Failed {
        let failures = failures.0.iter().map(Reason::from).collect();
        Failed { version: VERSION, outcome: FailedOutcome::Failed, failures }
    }
}
