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
    /// What manifest and certificate say and no folder can prove: the publisher's word. All else
    /// that they say was checked.
    pub word: Vec<PublishersWord>,
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

/// A part of manifest or certificate that is the publisher's word.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PublishersWord {
    /// Where it stands: file and fields, `*` for any one of a list or map, `**` for all below.
    pub path: String,
    /// What it says.
    pub about: String,
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
