//! Answer of `inspect`.

use super::words;
use crate::table::columns::{Dialect, ReadOptions};
use schemars::JsonSchema;
use scumble::table::Role;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Answer of `inspect`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Inspection {
    /// Version of the JSON answers.
    pub version: u32,
    /// Records.
    pub rows: u64,
    /// Size of the source.
    pub bytes: u64,
    /// How the text is written, if the source is CSV.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub dialect: Option<Written>,
    /// Cell texts taken for "missing": those of the options, and common ones that occur.
    pub missing: Vec<String>,
    /// The columns in the order of the source.
    pub columns: Vec<ColumnProfile>,
    /// The largest sets that were searched.
    pub max_columns: usize,
    /// How many minimal sets were found; [`Inspection::singling_out`] lists the first of them.
    pub minimal_sets: u64,
    /// The minimal sets of columns that single somebody out: no proper subset of any does. Fewest
    /// columns first, then most people.
    pub singling_out: Vec<SinglingOutSet>,
    /// All suggested quasi-identifiers together. Not minimal: this is what an adversary who knows
    /// all of them can do.
    pub together: SinglingOutSet,
    /// What the steward should think about.
    pub warnings: Vec<String>,
    /// Seconds per phase: `read`, `profile`, `search`, `total`.
    pub seconds: BTreeMap<String, f64>,
    /// The draft policy that was written, if one was.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub draft: Option<String>,
    /// How the steward told us to read, for the draft.
    #[serde(skip)]
    pub read: ReadOptions,
}

/// How a CSV file is written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Written {
    /// What separates cells.
    pub delimiter: String,
    /// What encloses cells; `None` if quotes mean nothing.
    pub quote: Option<String>,
}

/// A column, and what it may be to an adversary.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ColumnProfile {
    /// Its name.
    pub name: String,
    /// What its values are.
    pub kind: Kind,
    /// Distinct values, without the missing one.
    pub distinct: u64,
    /// Rows without a value.
    pub missing: u64,
    /// Values that occur in one row only.
    pub unique_values: u64,
    /// Share of the rows that have the commonest value, or none if that is commoner.
    pub commonest_share: f64,
    /// Effective number of values: exp of the entropy, so n equally frequent values count n.
    /// Missing is a value here.
    pub effective_values: f64,
    /// The suggested role.
    #[serde(with = "super::role")]
    #[schemars(with = "super::role::RoleName")]
    pub role: Role,
    /// Whether its values all differ and it is the best column to tell persons apart.
    pub person: bool,
    /// Why this role, in one sentence.
    pub reason: String,
    /// A rule that covers all values, as a policy writes it: for its role, or for the case that it
    /// becomes a quasi-identifier.
    pub taxonomy: String,
    /// Values of the data, only if they were asked for.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub values: Option<Values>,
}

/// Some values of a column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Values {
    /// The commonest values.
    pub commonest: Vec<String>,
    /// The least: by number or date if all values are, otherwise by text.
    pub least: Option<String>,
    /// The greatest.
    pub greatest: Option<String>,
}

/// Columns that tell some rows from all others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SinglingOutSet {
    /// Their names in the order of the source.
    pub columns: Vec<String>,
    /// Rows that nobody shares these columns' values with.
    pub people: u64,
    /// Their share of all rows.
    pub share: f64,
}

words! {
    /// What the values of a column are.
    pub enum Kind {
        /// Numbers.
        Number = "number",
        /// Dates.
        Date = "date",
        /// Codes, or numbers that name things.
        Code = "code",
        /// Texts.
        Text = "text",
        /// Two values.
        Flag = "flag",
        /// One value.
        Constant = "constant",
        /// No value at all.
        Empty = "empty",
    }
}

impl Written {
    /// How a dialect is written.
    pub(crate) fn of(dialect: Dialect) -> Written {
        let text = |byte: u8| char::from(byte).to_string();
        Written {
            delimiter: text(dialect.delimiter),
            quote: (dialect.quote != 0).then(|| text(dialect.quote)),
        }
    }
}
