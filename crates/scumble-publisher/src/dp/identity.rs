//! By what data are recognised when they come under another name.
//!
//! A budget protects persons, and a path does not tell who they are: a copy, a link, a folder with
//! the same file, or the next extract of the same people would each begin a budget of its own. So
//! the ledger records, keyed, what the contents of files hash to, and a sketch of the set of
//! persons: the smallest of their pseudonyms. From two sketches follows, nearly, how many persons
//! two tables share.

use crate::ledger::{Key, hex};
use crate::table::columns::{self, Column};
use scumble::failure::Failures;
use scumble::policy::Source;
use serde::{Deserialize, Serialize};

/// Pseudonyms that a sketch keeps.
const SKETCH: usize = 128;

/// Data whose smaller part shares one person in so many with others are taken for the same.
const SHARED: f64 = 0.1;

/// What a ledger recognises data by.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Identity {
    /// Keyed hashes of the contents of its files, in order; none where they come from a database.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub files: Vec<String>,
    /// Who is in them, where a column names the persons.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub persons: Option<Persons>,
}

/// A set of persons.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Persons {
    /// How many they are.
    pub number: u64,
    /// The smallest pseudonyms, in order.
    pub sketch: Vec<String>,
}

/// What an [`Identity`] is made of, before there is a key.
#[derive(Clone, Debug, Default)]
pub struct Traits {
    /// SHA-256 of each file.
    pub files: Vec<String>,
    /// Their names.
    pub persons: Option<Vec<String>>,
}

impl Traits {
    /// Of a source that was read, with the column that names its persons.
    pub fn of(source: &Source, person: Option<&Column>) -> Result<Traits, Failures> {
        let files = match source {
            Source::File(path) => columns::file_hashes(path)?,
            Source::Postgres { .. } | Source::Sqlite { .. } | Source::Memory(_) => Vec::new(),
        };
        let names = |column: &Column| column.values.iter().map(str::to_owned).collect();
        Ok(Traits { files, persons: person.map(names) })
    }

    /// Whether the same data would be recognised, even if they were changed a little.
    pub fn is_telling(&self) -> bool {
        self.persons.is_some()
    }

    /// As a ledger with this key records it.
    pub fn keyed(&self, key: &Key) -> Identity {
        let keyed = |text: &str| hex(&key.pseudonym(text).to_be_bytes());
        let mut files: Vec<String> =
            self.files.iter().map(|sha256| keyed(&format!("file {sha256}"))).collect();
        files.sort();
        let persons = self.persons.as_ref().map(|names| {
            let mut sketch: Vec<String> = names.iter().map(|name| keyed(name)).collect();
            sketch.sort();
            sketch.dedup();
            let number = sketch.len() as u64;
            sketch.truncate(SKETCH);
            Persons { number, sketch }
        });
        Identity { files, persons }
    }
}

impl Identity {
    /// Whether these are the same data, or data about the same persons.
    pub fn matches(&self, other: &Identity) -> bool {
        let same_file = self.files.iter().any(|file| other.files.contains(file));
        let same_persons = match (&self.persons, &other.persons) {
            (Some(a), Some(b)) => a.shared_with(b) >= SHARED,
            _ => false,
        };
        same_file || same_persons
    }
}

impl Persons {
    /// About how much of the smaller set is in both.
    fn shared_with(&self, other: &Persons) -> f64 {
        let mut union: Vec<&String> = self.sketch.iter().chain(&other.sketch).collect();
        union.sort();
        union.dedup();
        // The smallest of both together are a sample of the union.
        union.truncate(SKETCH);
        let both = |p: &&&String| {
            self.sketch.binary_search(p).is_ok() && other.sketch.binary_search(p).is_ok()
        };
        let jaccard = union.iter().filter(both).count() as f64 / union.len().max(1) as f64;
        let shared = jaccard / (1.0 + jaccard) * (self.number + other.number) as f64;
        shared / self.number.min(other.number).max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn people(range: std::ops::Range<u32>) -> Traits {
        Traits { files: Vec::new(), persons: Some(range.map(|n| format!("p{n}")).collect()) }
    }

    /// The estimate is right within what a sample of 128 can be wrong, and exact for small sets.
    #[test]
    fn persons_in_both_are_estimated_from_sketches() {
        let key = Key::passing().expect("a key");
        let share = |a: std::ops::Range<u32>, b: std::ops::Range<u32>| {
            let (a, b) = (people(a).keyed(&key), people(b).keyed(&key));
            a.persons.expect("persons").shared_with(&b.persons.expect("persons"))
        };
        assert_eq!(share(0..40, 40..80), 0.0);
        assert!(
            (share(0..40, 20..60) - 0.5).abs() < 1e-9 && (share(0..10, 0..100) - 1.0).abs() < 1e-9
        );
        assert!((share(0..20_000, 0..20_000) - 1.0).abs() < 1e-9);
        // Five standard deviations of a share of one third among 128.
        assert!((share(0..20_000, 10_000..30_000) - 0.5).abs() < 0.25);
        assert_eq!(share(0..20_000, 20_000..40_000), 0.0);
    }

    #[test]
    fn the_same_file_is_the_same_data() {
        let key = Key::passing().expect("a key");
        let of = |files: &[&str]| {
            Traits { files: files.iter().map(|f| (*f).into()).collect(), persons: None }.keyed(&key)
        };
        assert!(of(&["a"]).matches(&of(&["b", "a"])) && !of(&["a"]).matches(&of(&["b"])));
        assert!(!Identity::default().matches(&Identity::default()));
        let other = Key::passing().expect("a key");
        assert_ne!(
            of(&["a"]),
            Traits { files: vec!["a".into()], persons: None }.keyed(&other),
            "it is keyed"
        );
    }
}
