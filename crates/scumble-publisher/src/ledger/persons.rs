//! Who the persons of an extract are, and what a ledger calls them.

use super::key::{Key, Pseudonym};
use crate::table::columns::Column;
use rayon::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};

/// The column that names the persons of an extract. It leaves the process only as pseudonyms.
pub struct Persons {
    column: Column,
    made: Made,
}

/// Pseudonyms that were made already, with the check of their key. All extracts of one source share
/// them: the keyed hash of every person is the dearest part of judging a large release.
#[derive(Clone, Default)]
pub(crate) struct Made(Arc<Mutex<Option<Keyed>>>);

/// The check of a key, and the pseudonyms under it.
type Keyed = (String, Arc<[Pseudonym]>);

impl Persons {
    /// Persons by the column that names them, and the pseudonyms that its source has so far.
    pub(crate) fn new(column: Column, made: Made) -> Persons {
        Persons { column, made }
    }

    /// The column, as it was read.
    pub(crate) fn column(&self) -> &Column {
        &self.column
    }

    /// The pseudonyms under a key, record by record. They are made once for each key.
    pub(crate) fn pseudonyms(&self, key: &Key) -> Arc<[Pseudonym]> {
        let check = key.check();
        let mut made = self.made.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*made {
            Some((of, people)) if *of == check => people.clone(),
            _ => {
                let people: Arc<[Pseudonym]> = pseudonyms(key, &self.column).into();
                *made = Some((check, people.clone()));
                people
            }
        }
    }
}

/// The pseudonyms of a column that names people, row by row.
pub(crate) fn pseudonyms(key: &Key, persons: &Column) -> Vec<Pseudonym> {
    let names: Vec<&str> = persons.values.iter().collect();
    let of_code: Vec<Pseudonym> = names.par_iter().map(|name| key.pseudonym(name)).collect();
    persons.codes.iter().map(|&code| of_code[code as usize]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::dictionary::Dictionary;

    #[test]
    fn pseudonyms_are_made_once_for_each_key() {
        let mut values = Dictionary::new();
        let codes = ["p1", "p2", "p1"].map(|name| values.intern(name)).to_vec();
        let column = Column { name: "id".into(), values, codes, arrow: None };
        let persons = Persons::new(column.clone(), Made::default());
        let (key, other) = (Key::passing().expect("a key"), Key::passing().expect("a key"));
        let first = persons.pseudonyms(&key);
        assert_eq!(first[..], pseudonyms(&key, &column)[..]);
        assert_eq!(first[0], first[2]);
        assert!(Arc::ptr_eq(&first, &persons.pseudonyms(&key)));
        // Another extract of the same source needs not make them again.
        let again = Persons::new(column, persons.made.clone());
        assert!(Arc::ptr_eq(&first, &again.pseudonyms(&key)));
        assert_ne!(first[..], persons.pseudonyms(&other)[..]);
    }
}
