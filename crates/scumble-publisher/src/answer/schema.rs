//! The JSON Schemas of everything that is written as JSON: answers, and the files of a release.

use super::{
    Answered, Attacked, BuiltTaxonomy, Checked, CheckedTaxonomy, Compared, Estimated, Experiments,
    Explained, Failed, Headroom, Inspection, Listed, Loaded, Noted, PrivatelyAnswered, Published,
    Reproduction, SemanticsAnswer, ShownRelease, StatisticsAttacked, Synthesized, VERSION,
    Verified, VerifiedLedger,
};
use crate::release::certificate::Certificate;
use crate::release::manifest::Manifest;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use scumble::catalogue::did_you_mean;
use scumble::failure::Failure;
use serde::{Deserialize, Serialize};

/// Something that is written as JSON, and its schema.
pub struct SchemaEntry {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// Makes the JSON Schema.
    pub schema: fn() -> Schema,
}

/// Everything that is written as JSON.
pub const SCHEMAS: &[SchemaEntry] = &[
    entry::<Published>("publish", "answer of `publish`"),
    entry::<Checked>("check", "answer of `check`"),
    entry::<Inspection>("inspect", "answer of `inspect`"),
    entry::<Attacked>("attack", "answer of `attack`"),
    entry::<StatisticsAttacked>("attack-statistics", "answer of `attack` on published statistics"),
    entry::<Explained>("why", "answer of `why`"),
    entry::<Compared>("compare", "answer of `compare`"),
    entry::<Answered>("query", "answer of `query`"),
    entry::<PrivatelyAnswered>(
        "private-query",
        "answer of `query` under differential privacy, and of `ledger answer`",
    ),
    entry::<Estimated>("estimate", "answer of `estimate`"),
    entry::<Synthesized>("synthesize", "answer of `synthesize`, and manifest of a synthetic table"),
    entry::<SemanticsAnswer>("semantics", "answer of `semantics`"),
    entry::<Verified>("verify", "answer of `verify`"),
    entry::<Loaded>("load", "answer of `load`"),
    entry::<Listed>("ledger-list", "answer of `ledger list`"),
    entry::<ShownRelease>("ledger-show", "answer of `ledger show`"),
    entry::<VerifiedLedger>("ledger-verify", "answer of `ledger verify`"),
    entry::<Noted>("ledger-note", "answer of `ledger add` and `ledger withdraw`"),
    entry::<Headroom>("headroom", "answer of `ledger headroom`"),
    entry::<BuiltTaxonomy>("taxonomy-build", "answer of `taxonomy build`"),
    entry::<CheckedTaxonomy>("taxonomy-check", "answer of `taxonomy check`"),
    entry::<Reproduction>("reproduce", "answer of `reproduce`"),
    entry::<Experiments>("reproduce-list", "list of what `reproduce` can do"),
    entry::<Failed>("failure", "answer of any command that failed"),
    entry::<Schemas>("schemas", "list of the schemas"),
    SchemaEntry { name: "policy", about: "a policy as data", schema: policy_schema },
    entry::<Manifest>("manifest", "`manifest.json` of a release"),
    entry::<Certificate>("certificate", "`certificate.json` of a release"),
];

const fn entry<T: JsonSchema>(name: &'static str, about: &'static str) -> SchemaEntry {
    SchemaEntry { name, about, schema: schema_of::<T> }
}

/// The schema of what is written, where an absent field is not required.
fn schema_of<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>()
}

/// The schema of policies, with the formats that releases can have.
fn policy_schema() -> Schema {
    let mut schema = scumble::policy::spec::schema();
    let place = "/$defs/ReleaseSpec/properties/format";
    if let Some(format) = schema.pointer_mut(place).and_then(|f| f.as_object_mut()) {
        let names = crate::table::format::written().into_iter().map(Into::into);
        let names = names.chain([serde_json::Value::Null]);
        format.insert("enum".into(), names.collect());
    }
    schema
}

/// The schema of a name.
pub fn schema(name: &str) -> Result<&'static SchemaEntry, Failure> {
    SCHEMAS.iter().find(|entry| entry.name == name).ok_or_else(|| {
        Failure::usage("unknown-entry", format!("there is no schema `{name}`"))
            .hint(did_you_mean(name, SCHEMAS.iter().map(|entry| entry.name)))
    })
}

/// The names of all schemas.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Schemas {
    /// Version of the JSON answers.
    pub version: u32,
    /// Every schema.
    pub schemas: Vec<SchemaNote>,
}

/// A schema in a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SchemaNote {
    /// Its name.
    pub name: String,
    /// What it describes.
    pub about: String,
}

impl Schemas {
    /// All of them.
    pub fn all() -> Schemas {
        let note = |entry: &SchemaEntry| SchemaNote {
            name: entry.name.to_owned(),
            about: entry.about.to_owned(),
        };
        Schemas { version: VERSION, schemas: SCHEMAS.iter().map(note).collect() }
    }
}
