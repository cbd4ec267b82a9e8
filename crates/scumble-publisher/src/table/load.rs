//! A release into a database: `scumble load`.
//!
//! The folder is the release, with its manifest and certificate; a table is a copy of its rows for
//! those who work in a database. So this is a step of its own after publishing, which the ledger
//! need not know of, and which can be done again when it fails: the tables are made in one
//! transaction, read back and compared before it ends.

use crate::answer::{LoadOutcome, Loaded, LoadedTable, VERSION};
use crate::observer::{Observer, Phase};
use crate::publish::Clock;
use crate::release::folder;
use crate::release::manifest::{self, Manifest};
use crate::release::reader::must_be_release;
use crate::table::columns::{self, Column, Columns};
use crate::{table::postgres, table::sqlite};
use arrow_schema::DataType;
use scumble::failure::{Argument, Failure, Failures, Remedy};
use scumble::policy::{check_address, is_postgres};
use std::path::Path;

/// A table to be made.
pub(crate) struct Table<'a> {
    pub name: String,
    pub columns: &'a Columns,
}

impl Table<'_> {
    /// Whether the same rows came back, in the same order: row by row and column by column.
    pub fn compare(&self, read: &Columns) -> Result<(), Failures> {
        let differs = |what: &str| {
            Failure::data("not-loaded", format!("the table `{}` does not hold what was written: {what}", self.name))
                .hint("it was not made; publish the release as CSV, which is loaded as text, or load it elsewhere")
        };
        if read.rows != self.columns.rows {
            return Err(differs("another number of rows").into());
        }
        if read.columns.len() != self.columns.columns.len() {
            return Err(differs("another number of columns").into());
        }
        for (ours, theirs) in self.columns.columns.iter().zip(&read.columns) {
            if !same(ours, theirs) {
                return Err(differs(&format!("column `{}`", ours.name)).into());
            }
        }
        Ok(())
    }
}

/// Whether two columns hold the same. Values are numbered by first appearance, so equal columns
/// have equal codes. Floating numbers of different widths may be written differently and be the
/// same.
fn same(ours: &Column, theirs: &Column) -> bool {
    let floating = ours.arrow.as_ref().is_some_and(|kind| kind.is_floating());
    let number = |text: &str| text.parse::<f64>().ok().filter(|_| floating);
    let equal = |(a, b): (&str, &str)| a == b || number(a).is_some_and(|a| number(b) == Some(a));
    let values = ours.values.len() == theirs.values.len()
        && ours.values.iter().zip(theirs.values.iter()).all(equal);
    ours.name == theirs.name && values && ours.codes == theirs.codes
}

/// There is a table with this name.
pub(crate) fn exists(name: &str) -> Failures {
    Failure::usage("table-exists", format!("there is a table `{name}` already"))
        .remedy(
            Remedy::words("choose another name with ")
                .and_give(Argument::Table)
                .then(", or drop it yourself if it may go"),
        )
        .into()
}

/// Copies the rows of a release into tables of a database: a `postgres://` address, or the file of
/// an SQLite database.
pub(crate) fn load(
    folder: &Path,
    into: &str,
    table: &str,
    observer: &dyn Observer,
) -> Result<Loaded, Failures> {
    let mut clock = Clock::new();
    if is_postgres(into) {
        check_address(into)?;
    }
    must_be_release(folder)?;
    observer.phase(Phase::Read);
    let files = read(&manifest::read(folder)?, folder, observer)?;
    clock.lap("read");
    observer.phase(Phase::Load);
    let name =
        |stem: &str| if stem == "data" { table.to_owned() } else { format!("{table}_{stem}") };
    let tables: Vec<Table<'_>> =
        files.iter().map(|(stem, _, columns)| Table { name: name(stem), columns }).collect();
    let progress = |done, total| observer.at(done, total);
    let into = if is_postgres(into) {
        postgres::load(into, &tables, &progress)?
    } else {
        sqlite::load(Path::new(into), &tables, &progress)?
    };
    clock.lap("write");
    let made = |(stem, file, read): &(&str, String, Columns)| LoadedTable {
        table: name(stem),
        file: file.clone(),
        rows: read.rows as u64,
    };
    Ok(Loaded {
        version: VERSION,
        outcome: LoadOutcome::Loaded,
        release: folder.display().to_string(),
        into,
        tables: files.iter().map(made).collect(),
        seconds: clock.seconds,
    })
}

/// The data files of a release, each with what its table is called after; they must be the ones
/// that were published.
fn read(
    m: &Manifest,
    folder: &Path,
    observer: &dyn Observer,
) -> Result<Vec<(&'static str, String, Columns)>, Failures> {
    let options = manifest::read_options(m);
    let mut wanted = vec![("data", &m.data.file, &m.data.sha256)];
    if let Some(a) = &m.anatomized {
        wanted.push(("sensitive", &a.file, &a.sha256));
        wanted.extend(a.counterfeits.as_ref().map(|c| ("counterfeits", &c.file, &c.sha256)));
    }
    let mut files = Vec::new();
    for (stem, file, sha256) in wanted {
        let mut read =
            columns::read(&folder::file(folder, file)?, &options, None, &|done, total| {
                observer.at(done, total)
            })?;
        if read.sha256.as_ref() != Some(sha256) {
            let message =
                format!("`{}` is not the file that was published", folder.join(file).display());
            let hint = "its hash differs from the manifest's: take the release from where it was published";
            return Err(Failure::data("changed-since-published", message).hint(hint).into());
        }
        // Numbers of groups and records are numbers, also in CSV.
        let numbers: Vec<&String> =
            m.anatomized.iter().flat_map(|a| [&a.group, &a.count]).collect();
        for column in read.columns.iter_mut().filter(|c| numbers.contains(&&c.name)) {
            column.arrow = Some(DataType::Int64);
        }
        files.push((stem, file.clone(), read));
    }
    Ok(files)
}
