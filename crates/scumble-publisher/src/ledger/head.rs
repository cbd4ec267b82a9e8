//! The head of a ledger: number and hash of an entry, noted in a file apart from the ledger, and in a
//! table of another database if one is named.
//!
//! The chain tells that entries follow from each other, and not that the last of them are still
//! there: a ledger whose end was cut off, or that was put back from an older copy, is a shorter
//! chain that holds. The file is written after every entry and compared whenever the ledger is
//! opened. It stands beside the key unless it is named; where whoever can change the ledger cannot
//! change it, it also holds against them. With the address of a PostgreSQL database in its place,
//! the file stays beside the key and the head is noted and compared in both.
//!
//! While a release is being announced the file also says which hidden folder was made for it: if
//! the run is killed before the ledger knows of the release, the next one removes that folder.

use super::entry::{Row, hex};
use crate::publish::durable;
use crate::table::postgres::{connect, told, without_secrets};
use postgres::Client;
use scumble::failure::{Failure, Failures};
use sha2::{Digest, Sha256};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Stands in the file, so that it is not taken for something else.
const TITLE: &str = "scumble ledger head: number and hash of the last entry, compared whenever the ledger is opened";

/// Where a head is noted: in a file, and in a table of a database if one is named.
#[derive(Clone, Debug)]
pub struct Head {
    file: PathBuf,
    table: Option<HeadTable>,
}

impl Head {
    /// A head in this file, and for the ledger of this name in the database of an address.
    pub fn new(file: PathBuf, ledger: &str, address: Option<&str>) -> Head {
        let table = address.map(|address| HeadTable::new(address, ledger));
        Head { file, table }
    }

    /// Whether the head of this ledger is noted anywhere: then the ledger was there.
    pub fn is_noted(&self) -> Result<bool, Failures> {
        let Some(table) = self.table.as_ref().filter(|_| !self.file.exists()) else {
            return Ok(self.file.exists());
        };
        Ok(table.read()?.is_some())
    }

    /// Where it is noted, as messages call it: the file, or the table where there is no file.
    pub fn places(&self) -> String {
        match self.table.as_ref().filter(|_| !self.file.exists()) {
            Some(table) => format!("in {table}"),
            None => format!("`{}`", self.file.display()),
        }
    }

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
                format!("`{}` does not hold the head of a ledger", self.file.display()),
            )
            .hint("name another file for the head, or restore this one from a copy")
            .into());
        }
        Ok(noted)
    }

    fn text(&self) -> Result<Option<String>, Failures> {
        match fs::read_to_string(&self.file) {
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

    /// Compares what was noted with the entries, in each place: whether all are there and up to
    /// date; and the places where nothing is. An entry that was noted and is not in the chain is an
    /// error.
    pub fn compare(&self, ledger: &str, rows: &[Row]) -> Result<(Noted, Vec<String>), Failures> {
        let file = (format!("`{}`", self.file.display()), self.read()?);
        let mut places = vec![file];
        if let Some(table) = &self.table {
            places.push((table.to_string(), table.read()?));
        }
        let (mut least, mut absent) = (Noted::Last, Vec::new());
        for (place, noted) in places {
            let noted = is_among(ledger, rows, &place, noted)?;
            least = least.min(noted);
            absent.extend((noted == Noted::Nothing).then_some(place));
        }
        Ok((least, absent))
    }

    /// Notes the last entry, durably, and a hidden folder that is about to be made. Only whoever
    /// holds the ledger's lock does.
    pub fn note(&self, row: &Row, writing: Option<&Path>) -> Result<(), Failures> {
        let mut text = format!("{TITLE}\n{} {}\n", row.number, row.hash);
        if let Some(folder) = writing {
            text += &format!("writing {}\n", folder.display());
        }
        durable::create_folders(durable::folder_of(&self.file))
            .and_then(|()| durable::replace(&self.file, text.as_bytes()))
            .map_err(|e| self.trouble("written", &e))?;
        // What is about to be written concerns this machine alone.
        match &self.table {
            Some(table) if writing.is_none() => table.note(row),
            _ => Ok(()),
        }
    }

    /// Removes what a run that was killed left.
    pub fn remove_leftover(&self) {
        let _ = fs::remove_file(durable::hidden(&self.file, "partial"));
    }

    fn trouble(&self, what: &str, e: &std::io::Error) -> Failures {
        let message = format!(
            "the ledger's head `{}` cannot be {what}: {}",
            self.file.display(),
            crate::describe(e)
        );
        Failure::io("cannot-use-ledger", message)
            .hint("name another file for it with `head` in the policy")
            .into()
    }
}

/// Whether what a place remembers is an entry of the chain.
fn is_among(
    ledger: &str,
    rows: &[Row],
    place: &str,
    noted: Option<(u64, String)>,
) -> Result<Noted, Failures> {
    let Some((number, hash)) = noted else { return Ok(Noted::Nothing) };
    let row = number.checked_sub(1).and_then(|i| rows.get(usize::try_from(i).ok()?));
    if row.is_none_or(|row| row.hash != hash) {
        return Err(Failure::data("ledger-changed", format!(
            "the ledger `{ledger}` was changed: entry {number}, which {place} remembers, is missing or another one; the \
             end was cut off, or an older copy was put back",
        ))
        .hint(format!(
            "restore the ledger as it was; if going back to an older one is meant, remove what {place} remembers",
        ))
        .into());
    }
    Ok(if number == rows.len() as u64 { Noted::Last } else { Noted::Earlier })
}

/// A table of heads in a PostgreSQL database: one that is not the ledger's, where whoever can change
/// the ledger cannot change it.
#[derive(Clone, Debug)]
struct HeadTable {
    address: String,
    /// Stands for the ledger. Its name is not told to another server.
    ledger: String,
}

/// A head only goes on. Whoever means to go back must delete it.
const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS scumble_heads (
      ledger text PRIMARY KEY, number bigint NOT NULL, hash text NOT NULL, noted timestamptz NOT NULL DEFAULT now());
    CREATE OR REPLACE FUNCTION scumble_go_on() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN
        IF NEW.number < OLD.number THEN RAISE EXCEPTION 'the head of a ledger does not go back'; END IF;
        RETURN NEW;
      END $$;
    CREATE OR REPLACE TRIGGER heads_go_on BEFORE UPDATE ON scumble_heads
      FOR EACH ROW EXECUTE FUNCTION scumble_go_on();";

impl HeadTable {
    fn new(address: &str, ledger: &str) -> HeadTable {
        let name = hex(&Sha256::digest(format!("scumble ledger {ledger}"))[..16]);
        HeadTable { address: address.to_owned(), ledger: name }
    }

    fn open(&self) -> Result<Client, Failures> {
        Ok(connect(&self.address, "head of the ledger")?.0)
    }

    fn read(&self) -> Result<Option<(u64, String)>, Failures> {
        let mut client = self.open()?;
        let there = client
            .query_one("SELECT to_regclass('scumble_heads') IS NOT NULL", &[])
            .map_err(|e| self.trouble(&e))?;
        if !there.get::<_, bool>(0) {
            return Ok(None);
        }
        let ask = "SELECT number, hash FROM scumble_heads WHERE ledger = $1";
        let row = client.query_opt(ask, &[&self.ledger]).map_err(|e| self.trouble(&e))?;
        Ok(row.map(|row| (row.get::<_, i64>(0) as u64, row.get(1))))
    }

    fn note(&self, row: &Row) -> Result<(), Failures> {
        let mut client = self.open()?;
        let there = client
            .query_one("SELECT to_regclass('scumble_heads') IS NOT NULL", &[])
            .map_err(|e| self.trouble(&e))?;
        if !there.get::<_, bool>(0) {
            client.batch_execute(SCHEMA).map_err(|e| self.trouble(&e))?;
        }
        let insert = "INSERT INTO scumble_heads (ledger, number, hash) VALUES ($1, $2, $3)
                      ON CONFLICT (ledger) DO UPDATE SET number = $2, hash = $3, noted = now()";
        client
            .execute(insert, &[&self.ledger, &(row.number as i64), &row.hash])
            .map(drop)
            .map_err(|e| self.trouble(&e))
    }

    fn trouble(&self, e: &postgres::Error) -> Failures {
        let message = format!("{self} cannot be used: {}", told(e));
        Failure::io("cannot-use-ledger", message).into()
    }
}

impl std::fmt::Display for HeadTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the table `scumble_heads` of `{}`", without_secrets(&self.address))
    }
}

/// What is noted; the least of several places counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Noted {
    /// Nothing is.
    Nothing,
    /// An entry that others follow.
    Earlier,
    /// The last one.
    Last,
}
