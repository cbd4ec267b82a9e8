//! What a ledger records, entry by entry. An entry is never changed; what was wrong is corrected by
//! a later one.

use crate::answer::Model;
use crate::dp::identity::Identity;
use crate::dp::purse::{Cap, Paid};
use schemars::JsonSchema;
use scumble::table::Role;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// An entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "lowercase")]
pub enum Entry {
    /// The ledger begins.
    Opened {
        /// When.
        at: String,
        /// What wrote it.
        made_by: String,
        /// What the key makes of a known text: another key makes something else of it.
        key_check: String,
    },
    /// A release is about to be written. It counts as published unless a later entry says
    /// otherwise.
    Intent(Box<Described>),
    /// The release of an intent has its place.
    Released {
        /// Number of the intent's entry.
        intent: u64,
        /// When.
        at: String,
        /// SHA-256 of its manifest, which has those of its data files.
        sha256: String,
        /// Whether it was found out only later that it was complete.
        #[serde(skip_serializing_if = "std::ops::Not::not", default)]
        recovered: bool,
    },
    /// The release of an intent was not written.
    Abandoned {
        /// Number of the intent's entry.
        intent: u64,
        /// When.
        at: String,
        /// Why.
        because: String,
    },
    /// A release that was made elsewhere.
    Added(Box<Described>),
    /// A privacy budget was spent.
    Spent {
        /// When.
        at: String,
        /// On which data.
        dataset: String,
        /// Who asked, if that is known.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        recipient: Option<String>,
        /// What was paid.
        spends: Vec<Paid>,
        /// Whether the noise came from a seed: then whoever knows it knows the truth, and the
        /// ledger is one for tests.
        #[serde(skip_serializing_if = "std::ops::Not::not", default)]
        seeded: bool,
    },
    /// What data of a name are recognised by under another.
    Data {
        /// When.
        at: String,
        /// What they are called.
        dataset: String,
        /// What they are recognised by.
        identity: Identity,
    },
    /// The budget of some data was set, or raised on purpose.
    Budget {
        /// When.
        at: String,
        /// Which data.
        dataset: String,
        /// What everybody may spend together.
        limit: Cap,
        /// What each recipient may spend.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        each: Option<Cap>,
    },
    /// What was answered for a price. It is published, so it may be kept.
    Answered {
        /// Number of the entry with the price.
        spent: u64,
        /// When.
        at: String,
        /// Name of the file with the answer, as JSON.
        answer: String,
    },
    /// Nobody has the release any more, or ever had it.
    Withdrawn {
        /// Number of its entry.
        release: u64,
        /// When.
        at: String,
        /// Why.
        because: String,
    },
}

impl Entry {
    /// Number of the release's entry, of an entry of this number that is about a release.
    pub fn about(&self, number: u64) -> Option<u64> {
        match self {
            Entry::Intent(_) | Entry::Added(_) => Some(number),
            Entry::Released { intent, .. } | Entry::Abandoned { intent, .. } => Some(*intent),
            Entry::Withdrawn { release, .. } => Some(*release),
            Entry::Opened { .. } | Entry::Spent { .. } | Entry::Data { .. } => None,
            Entry::Budget { .. } | Entry::Answered { .. } => None,
        }
    }
}

/// A release as the ledger knows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Described {
    /// When it was recorded.
    pub at: String,
    /// Random, and in its manifest.
    pub id: String,
    /// What it is called: the name of its folder.
    pub name: String,
    /// Where it was written, on which machine.
    pub place: Place,
    /// Who publishes it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub publisher: Option<String>,
    /// Who is given it; everybody, if empty.
    pub recipients: Vec<String>,
    /// SHA-256 of the policy.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub policy: Option<String>,
    /// How it was made.
    pub method: String,
    /// Records in it.
    pub rows: u64,
    /// Records left out.
    pub suppressed: u64,
    /// The protected columns that it shows: its sensitive attributes, guarded freeform columns, and
    /// what an earlier release protected.
    pub attributes: Vec<String>,
    /// How it shows each of them; empty if all are sensitive and unchanged.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub shown: Vec<Shown>,
    /// The other columns that it shows, which nothing protected when it was published. Absent where
    /// that is not known: in entries of earlier builds, and of releases that were made elsewhere.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub open: Option<Vec<OpenColumn>>,
    /// Who is in which group, and what the groups show: names of files that the ledger keeps.
    pub kept: Kept,
    /// Promises with measured values.
    #[serde(serialize_with = "crate::answer::parameters::recorded")]
    pub models: Vec<Model>,
    /// What the gate said: by adversary, how many people's value is certain, how many of them
    /// newly.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub gate: Vec<Verdict>,
    /// The release that it stands in place of.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub replaces: Option<String>,
    /// Present if the randomness came from a given seed.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub seeded: bool,
}

/// A column that a release shows and does not protect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpenColumn {
    /// Column name.
    pub name: String,
    /// How it is shown.
    pub shown: Shown,
}

/// How a release shows a column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shown {
    /// Its role in the policy.
    pub role: String,
    /// How its values were changed before anything else: names of steps with parameters. Blanked
    /// values are not named.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub perturbed: Vec<(String, String)>,
    /// Digits after the point of its true values.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub decimals: u32,
    /// The ε of randomized response.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub epsilon: Option<f64>,
    /// The values of a freeform column that are guarded, as the key writes them; those of another
    /// role all are.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub guarded: Vec<String>,
    /// Whether nothing protected it when the release was published. Known from where the column is
    /// listed, so it is not written.
    #[serde(skip)]
    pub open: bool,
}

impl Shown {
    /// Sensitive, and as it is.
    pub fn sensitive() -> Shown {
        Shown::in_role(Role::Sensitive)
    }

    /// In a role, and as it is.
    pub fn in_role(role: Role) -> Shown {
        let name = Role::ALL.iter().find(|(_, of)| *of == role).map_or("", |(name, _)| name);
        Shown {
            role: name.into(),
            perturbed: Vec::new(),
            decimals: 0,
            epsilon: None,
            guarded: Vec::new(),
            open: false,
        }
    }
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// Where a release was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Name of the machine.
    pub machine: String,
    /// The folder.
    pub folder: String,
}

/// Names of the files that the ledger keeps of a release: hashes of what is in them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// Who is in which group; absent if no column names the persons.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub members: Option<String>,
    /// What the groups are called, and how many of their values stand for nobody.
    pub groups: String,
    /// How often each row of protected columns occurs in each group.
    pub counts: String,
    /// Where it is not known in which of several groups somebody is: the places that `members`
    /// names.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub places: Option<String>,
    /// Pseudonyms of folded names, of people whose names are not folded: by them another spelling
    /// of a person is noticed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub folded: Option<String>,
    /// How often each row of all columns occurs in each group, the open ones among them: read only
    /// where a later release protects one of those.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub open: Option<String>,
    /// Everybody's tags of open columns, and her group where those of `open` are finer.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub open_members: Option<String>,
}

impl Kept {
    /// All of them.
    pub fn names(&self) -> impl Iterator<Item = &String> {
        self.members
            .iter()
            .chain([&self.groups, &self.counts])
            .chain(&self.places)
            .chain(&self.folded)
            .chain(&self.open)
            .chain(&self.open_members)
    }
}

/// What the gate said of an adversary.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// The sensitive attribute.
    pub attribute: String,
    /// Who.
    pub adversary: String,
    /// Releases that she has, this one among them.
    pub releases: u64,
    /// People in any of them.
    pub people: u64,
    /// People whose value is certain to her.
    pub certain: u64,
    /// Of them, those whose value this release made certain.
    pub newly: u64,
    /// The fewest possible values of anybody; absent if nothing was told of anybody's value.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub fewest: Option<u64>,
    /// The strongest belief about anybody; absent if none short of certainty was looked at.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub strongest: Option<f64>,
    /// Whose belief it is.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub by: String,
    /// The largest ε that randomized responses about one person add up to.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub response: Option<f64>,
    /// By confidence in per cent: the share of people of whom it is reached newly.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub pvp: BTreeMap<String, f64>,
}

/// An entry as it is stored: its text, and the hash that chains it to the one before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Number, from 1.
    pub number: u64,
    /// The entry as JSON, byte by byte as it was hashed.
    pub body: String,
    /// Keyed hash of the hash before, the number and the body.
    pub hash: String,
}

impl Row {
    /// What it says.
    pub fn entry(&self) -> serde_json::Result<Entry> {
        serde_json::from_str(&self.body)
    }
}

/// Bytes as text.
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, b| {
        let _ = write!(text, "{b:02x}");
        text
    })
}
