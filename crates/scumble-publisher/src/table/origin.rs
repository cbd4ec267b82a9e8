//! Where a table comes from: files, PostgreSQL, SQLite or memory. Whoever reads a source reads it here, and
//! need not know which.

use crate::publish::engine::without_engine;
use crate::table::columns::{self, Choose, Columns, Progress, ReadOptions};
use crate::table::memory::Tables;
use crate::{table::postgres, table::sqlite};
use scumble::catalogue::did_you_mean;
use scumble::failure::{Argument, Failure, Failures, Remedy};
use scumble::policy::{Rows, Source, check_address, is_postgres};
use std::path::Path;

/// The names of the columns, without reading the data.
pub fn header(
    tables: &Tables,
    source: &Source,
    options: &ReadOptions,
) -> Result<Vec<String>, Failures> {
    match source {
        Source::File(path) => columns::header(path, options),
        Source::Postgres { address, rows } => postgres::header(address, rows),
        Source::Sqlite { file, rows } => sqlite::header(file, rows),
        Source::Memory(name) => tables.header(name),
    }
}

/// Reads the `wanted` columns (all, if `None`), in the order of the source. No others are asked
/// for.
pub fn read(
    tables: &Tables,
    source: &Source,
    options: &ReadOptions,
    wanted: Option<&[String]>,
    progress: Progress<'_>,
) -> Result<Columns, Failures> {
    match source {
        Source::File(path) => columns::read(path, options, wanted, progress),
        Source::Postgres { address, rows } => {
            postgres::read(address, rows, options, wanted, progress)
        }
        Source::Sqlite { file, rows } => sqlite::read(file, rows, options, wanted, progress),
        Source::Memory(name) => tables.read(name, options, wanted, progress),
    }
}

/// Reads the columns that are chosen once the header is known.
pub fn read_chosen(
    tables: &Tables,
    source: &Source,
    options: &ReadOptions,
    choose: Choose<'_>,
    progress: Progress<'_>,
) -> Result<Columns, Failures> {
    match source {
        Source::File(path) => columns::read_chosen(path, options, choose, progress),
        Source::Postgres { address, rows } => {
            postgres::read_chosen(address, rows, options, choose, progress)
        }
        Source::Sqlite { file, rows } => sqlite::read_chosen(file, rows, choose, progress),
        Source::Memory(name) => {
            let wanted = choose(&tables.header(name)?)?;
            tables.read(name, options, Some(&wanted), progress)
        }
    }
}

/// What the arguments of a command name: a file, or with a table or a query a database.
pub fn named(
    data: &Path,
    table: Option<String>,
    query: Option<String>,
) -> Result<Source, Failures> {
    let rows = table.map(Rows::Table).or(query.map(Rows::Query));
    let address = data.to_str().filter(|text| is_postgres(text));
    if let Some(address) = address {
        check_address(address)?;
    }
    match (address, rows) {
        (Some(address), Some(rows)) => Ok(Source::Postgres { address: address.to_owned(), rows }),
        (Some(_), None) => Err(Failure::usage("no-table", "which table of the database?")
            .remedy(
                Remedy::words("name it with ")
                    .and_give(Argument::Table)
                    .then(", or give ")
                    .and_give(Argument::Query),
            )
            .into()),
        (None, Some(rows)) => Ok(Source::Sqlite { file: data.to_path_buf(), rows }),
        (None, None) => Ok(Source::from(data)),
    }
}

/// Of more tables than these only one with a similar name is told.
const LISTED: usize = 30;

/// A database does not have the table.
pub(crate) fn no_table(wanted: &str, database: &str, tables: &[String]) -> Failures {
    let near = did_you_mean(wanted, tables.iter().map(String::as_str));
    let hint = match tables.len() {
        0 => "the database has no tables".into(),
        n if n > LISTED && !near.starts_with("did") => {
            format!("it has {n} tables, and none with a similar name")
        }
        _ => near,
    };
    Failure::usage("no-such-table", format!("there is no table `{wanted}` in `{database}`"))
        .hint(hint)
        .into()
}

/// The files of a source, for an engine that reads nothing else.
pub fn file(source: &Source) -> Result<&Path, Failures> {
    match source {
        Source::File(path) => Ok(path),
        Source::Memory(_) => Err(Failure::usage(
            "not-with-engine",
            format!("`{source}` is in the memory of this process, and an engine reads files"),
        )
        .remedy(without_engine())
        .into()),
        Source::Postgres { .. } | Source::Sqlite { .. } => Err(Failure::usage(
            "not-with-engine",
            format!("`{source}` is in a database, which no engine reads"),
        )
        .remedy(without_engine().then(", or write the table to Parquet files first"))
        .into()),
    }
}
