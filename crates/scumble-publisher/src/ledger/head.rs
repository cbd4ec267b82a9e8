//! The head of a ledger: number and hash of an entry, noted in a file apart from the ledger.
//!
//! The chain tells that entries follow from each other, and not that the last of them are still
//! there: a ledger whose end was cut off, or that was put back from an older copy, is a shorter
//! chain that holds. The file is written after every entry and compared whenever the ledger is
//! opened. It stands beside the key unless it is named; where whoever can change the ledger cannot
//! change it, it also holds against them.
//!
//! While a release is being announced the file also says which hidden folder was made for it: if
//! the run is killed before the ledger knows of the release, the next one removes that folder.

use super::entry::Row;
use crate::publish::durable;
use scumble::failure::{Failure, Failures};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Stands in the file, so that it is not taken for something else.
const TITLE: &str = "scumble ledger head: number and hash of the last entry, compared whenever the ledger is opened";

/// Where a head is noted.
#[derive(Clone, Debug)]
pub struct Head(pub PathBuf);

impl Head {
    /// The number and hash that were noted, if any were.
    fn read(&self) -> Result<Option<(u64, String)>, Failures> {
        let Some(text) = self.text()? else { return Ok(None) };
        let noted = text.lines().nth(1).filter(|_| text.starts_with("scumble ledger head"));
        let noted = noted.and_then(|line| line.split_once(' '));
        let noted =
            noted.and_then(|(number, hash)| Some((number.parse().ok()?, hash.trim().to_owned())));
        if noted.is_none() {
            return Err(Failure::data(
                "not-a-ledger-head",
                format!("`{}` does not hold the head of a ledger", self.0.display()),
            )
            .hint("name another file for the head, or restore this one from a copy")
            .into());
        }
        Ok(noted)
    }

    fn text(&self) -> Result<Option<String>, Failures> {
        match fs::read_to_string(&self.0) {
            Ok(text) => Ok(Some(text)),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
            Err(e) => Err(self.trouble("read", &e)),
        }
    }

    /// The hidden folder that was made for a release before it was announced.
    pub fn writing(&self) -> Option<PathBuf> {
        let text = self.text().ok()??;
        text.lines().nth(2)?.strip_prefix("writing ").map(PathBuf::from)
    }

    /// Compares what was noted with the entries: whether the file is there and up to date. An entry
    /// that was noted and is not in the chain is an error.
    pub fn compare(&self, ledger: &str, rows: &[Row]) -> Result<Noted, Failures> {
        let Some((number, hash)) = self.read()? else { return Ok(Noted::Nothing) };
        let row = number.checked_sub(1).and_then(|i| rows.get(usize::try_from(i).ok()?));
        if row.is_none_or(|row| row.hash != hash) {
            return Err(Failure::data("ledger-changed", format!(
                "the ledger `{ledger}` was changed: entry {number}, which `{}` remembers, is missing or another one; the \
                 end was cut off, or an older copy was put back",
                self.0.display()
            ))
            .hint(format!(
                "restore the ledger as it was; if going back to an older one is meant, remove `{}`",
                self.0.display()
            ))
            .into());
        }
        Ok(if number == rows.len() as u64 { Noted::Last } else { Noted::Earlier })
    }

    /// Notes the last entry, durably, and a hidden folder that is about to be made. Only whoever
    /// holds the ledger's lock does.
    pub fn note(&self, row: &Row, writing: Option<&Path>) -> Result<(), Failures> {
        let mut text = format!("{TITLE}\n{} {}\n", row.number, row.hash);
        if let Some(folder) = writing {
            text += &format!("writing {}\n", folder.display());
        }
        durable::create_folders(durable::folder_of(&self.0))
            .and_then(|()| durable::replace(&self.0, text.as_bytes()))
            .map_err(|e| self.trouble("written", &e))
    }

    /// Removes what a run that was killed left.
    pub fn remove_leftover(&self) {
        let _ = fs::remove_file(durable::hidden(&self.0, "partial"));
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.0
    }

    fn trouble(&self, what: &str, e: &std::io::Error) -> Failures {
        let message = format!(
            "the ledger's head `{}` cannot be {what}: {}",
            self.0.display(),
            crate::describe(e)
        );
        Failure::io("cannot-use-ledger", message)
            .hint("name another file for it with `head` in the policy")
            .into()
    }
}

/// What is noted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noted {
    /// Nothing is.
    Nothing,
    /// An entry that others follow.
    Earlier,
    /// The last one.
    Last,
}
