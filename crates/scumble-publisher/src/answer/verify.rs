//! Answer of `verify`.

use super::words;
use crate::release::certificate::{Certificate, ColumnRole};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Answer of `verify`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verified {
    /// Version of the JSON answers.
    pub version: u32,
    /// Whether the certificate is true.
    pub outcome: VerifyOutcome,
    /// The release's folder.
    pub release: String,
    /// Whether every claim is true and could be checked.
    pub holds: bool,
    /// The roles that all of it rests on.
    pub columns: Vec<ColumnRole>,
    /// Claims that were checked.
    pub checked: Vec<CheckedClaim>,
    /// Claims and columns that cannot be vouched for from the release.
    pub unchecked: Vec<String>,
    /// What the publisher says beside the claims, which cannot be checked from one release.
    pub word: Vec<String>,
    /// The certificate.
    pub certificate: Certificate,
}

/// A claim that was checked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckedClaim {
    /// What is claimed.
    pub claim: String,
    /// What the certificate says.
    pub said: String,
    /// What was found.
    pub found: String,
    /// Whether it is true.
    pub holds: bool,
}

words! {
    /// Whether a certificate is true.
    pub enum VerifyOutcome {
        /// Every claim was checked and is true.
        Verified = "verified",
        /// A claim is false.
        False = "false",
        /// Nothing is false, but something that is claimed cannot be checked.
        Incomplete = "incomplete",
    }
}
