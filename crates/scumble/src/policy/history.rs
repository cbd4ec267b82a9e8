//! How the people, columns and values of earlier releases are recognised: `[history]`.

use super::reader::{Reader, Section};
use crate::catalogue::did_you_mean;
use crate::failure::Failure;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// What a policy says about earlier releases of its ledger.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HistoryPolicy {
    /// Renamed columns: the name now, and the one in earlier releases.
    pub columns: BTreeMap<String, String>,
    /// Renamed values of a column, by its name now: the value now, and the one in earlier releases.
    /// One to one.
    pub values: BTreeMap<String, BTreeMap<String, String>>,
    /// Differences from earlier releases that are no mistake.
    pub meant: BTreeSet<Difference>,
}

/// A difference from earlier releases with which people or their values are not recognised.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Difference {
    /// Most of the people who return have another value.
    Changed,
    /// Hardly anybody of the earlier releases returns.
    NewPeople,
    /// A sensitive column is new, and one of the earlier ones is gone.
    NewColumns,
    /// Values or persons differ from earlier ones only in case, blanks, accents or leading zeros.
    Spelling,
    /// No column names the persons, and earlier releases know them.
    NoPersons,
}

impl Difference {
    /// Every difference with its name in a policy.
    pub const ALL: [(&'static str, Difference); 5] = [
        ("changed", Difference::Changed),
        ("new-people", Difference::NewPeople),
        ("new-columns", Difference::NewColumns),
        ("spelling", Difference::Spelling),
        ("no-persons", Difference::NoPersons),
    ];

    /// Its name in a policy.
    pub fn name(self) -> &'static str {
        Difference::ALL.iter().find(|(_, d)| *d == self).map_or("", |(name, _)| name)
    }
}

impl HistoryPolicy {
    /// What a column was called in earlier releases.
    pub fn earlier_column<'a>(&'a self, name: &'a str) -> &'a str {
        self.columns.get(name).map_or(name, String::as_str)
    }

    /// What a column of earlier releases is called now.
    pub fn column_now<'a>(&'a self, earlier: &'a str) -> &'a str {
        self.columns.iter().find(|(_, before)| *before == earlier).map_or(earlier, |(now, _)| now)
    }

    /// What a value of a column was in earlier releases.
    pub fn earlier_value<'a>(&'a self, column: &str, value: &'a str) -> &'a str {
        self.values.get(column).and_then(|values| values.get(value)).map_or(value, String::as_str)
    }

    /// What a value of earlier releases is now.
    pub fn value_now<'a>(&'a self, column: &str, earlier: &'a str) -> &'a str {
        let of =
            self.values.get(column).and_then(|values| values.iter().find(|(_, e)| *e == earlier));
        of.map_or(earlier, |(now, _)| now)
    }
}

impl<'a> Reader<'a> {
    /// What the policy says about earlier releases; `columns` are those that it publishes.
    pub(super) fn history(&self, root: &Section<'a>, columns: &[&str]) -> HistoryPolicy {
        let mut history = HistoryPolicy::default();
        let Some(section) = self.section(root, "history") else { return history };
        self.only(&section, &["columns", "values", "meant"]);
        if let Some(names) = self.section(&section, "columns") {
            self.must_be_columns(&names, columns);
            history.columns = self.renamed(&names);
        }
        if let Some(of) = self.section(&section, "values") {
            self.must_be_columns(&of, columns);
            for key in of.table.keys() {
                if let Some(values) = self.section(&of, key.get_ref()) {
                    history.values.insert(key.get_ref().to_string(), self.renamed(&values));
                }
            }
        }
        for name in self.texts_at(&section, "meant").unwrap_or_default() {
            match Difference::ALL.iter().find(|(n, _)| *n == name) {
                Some((_, difference)) => _ = history.meant.insert(*difference),
                None => {
                    let problem = Failure::policy(
                        "unknown-entry",
                        format!("`{}` knows no difference `{name}`", section.path("meant")),
                    );
                    self.report(
                        section.at,
                        problem.hint(did_you_mean(&name, Difference::ALL.map(|(n, _)| n))),
                    );
                }
            }
        }
        history
    }

    fn must_be_columns(&self, section: &Section<'a>, columns: &[&str]) {
        for (key, value) in
            section.table.iter().filter(|(key, _)| !columns.contains(&&**key.get_ref()))
        {
            let problem = Failure::policy(
                "not-published",
                format!("`{}` is no published column", section.path(key.get_ref())),
            );
            self.report(
                value.span().start,
                problem.hint(did_you_mean(key.get_ref(), columns.iter().copied())),
            );
        }
    }

    /// Names now and before. Two of now must not be one of before: earlier people would be taken
    /// for each other.
    fn renamed(&self, section: &Section<'a>) -> BTreeMap<String, String> {
        let mut renamed: BTreeMap<String, String> = BTreeMap::new();
        for (key, value) in section.table {
            let Some(earlier) = self.text_of(section, key.get_ref(), value) else { continue };
            if renamed.values().any(|other| *other == earlier) {
                let problem = Failure::policy(
                    "conflicting-keys",
                    format!("`{}` has `{earlier}` twice", section.path(key.get_ref())),
                );
                self.report(
                    value.span().start,
                    problem.hint("each may have been only one of before"),
                );
            }
            renamed.insert(key.get_ref().to_string(), earlier);
        }
        renamed
    }
}
