//! SQLite: reading a table or a query of a file, and making a table in one.
//!
//! A column of SQLite may hold values of any type. Each is written as the same value of a Parquet
//! file would be; a column of whole numbers only, or of floating ones only, is called one. The file
//! is opened so that nothing can be changed, and a table is made in one transaction, read back and
//! compared before it is committed.

use crate::table::columns::{
    Choose, Column, Columns, Progress, ReadOptions, check_names, select, unreadable,
};
use crate::table::dictionary::Dictionary;
use crate::table::load::{Table, exists};
use crate::table::origin::no_table;
use arrow_array::Float64Array;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::DataType;
use hashbrown::HashMap;
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior, params_from_iter};
use scumble::failure::{Failure, Failures};
use scumble::policy::Rows;
use std::path::Path;
use std::time::Duration;

/// The names of the columns.
pub(crate) fn header(file: &Path, rows: &Rows) -> Result<Vec<String>, Failures> {
    let connection = open(file)?;
    names(&connection, &find(&connection, rows, file)?, rows)
}

/// Reads the wanted columns.
pub(crate) fn read(
    file: &Path,
    rows: &Rows,
    _: &ReadOptions,
    wanted: Option<&[String]>,
    progress: Progress<'_>,
) -> Result<Columns, Failures> {
    read_by(file, rows, &|_| Ok(wanted.map(<[String]>::to_vec)), progress)
}

/// Reads the columns that are chosen once the header is known.
pub(crate) fn read_chosen(
    file: &Path,
    rows: &Rows,
    choose: Choose<'_>,
    progress: Progress<'_>,
) -> Result<Columns, Failures> {
    read_by(file, rows, &|names| choose(names).map(Some), progress)
}

/// Says which columns to read of those that there are; all, if `None`.
type Pick<'a> = &'a dyn Fn(&[String]) -> Result<Option<Vec<String>>, Failures>;

fn read_by(
    file: &Path,
    rows: &Rows,
    pick: Pick<'_>,
    progress: Progress<'_>,
) -> Result<Columns, Failures> {
    let connection = open(file)?;
    // What the names say stays true until the rows are read.
    connection.execute_batch("BEGIN").map_err(|e| trouble(file, &e))?;
    let from = find(&connection, rows, file)?;
    let wanted = pick(&names(&connection, &from, rows)?)?;
    let about = match rows {
        // Quick, and right unless many rows were deleted; a view has no such thing.
        Rows::Table(_) => {
            connection.query_row(&format!("SELECT max(_rowid_) FROM {from}"), [], |r| r.get(0)).ok()
        }
        Rows::Query(_) => None,
    };
    let tell =
        |done: u64| progress.step(done, about.map_or(0, |n: i64| done.max(n.unsigned_abs())));
    let bytes = file.metadata().map_err(|e| unreadable(file, &e))?.len();
    Ok(Columns { bytes, ..read_from(&connection, &from, rows, wanted.as_deref(), &tell)? })
}

fn open(file: &Path) -> Result<Connection, Failures> {
    if !file.metadata().map_err(|e| unreadable(file, &e))?.is_file() {
        return Err(Failure::data(
            "not-a-database",
            format!("`{}` is not an SQLite database", file.display()),
        )
        .into());
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(file, flags).map_err(|e| trouble(file, &e))?;
    connection.busy_timeout(Duration::from_secs(10)).map_err(|e| trouble(file, &e))?;
    Ok(connection)
}

/// The table, view or query as it stands in a FROM.
fn find(connection: &Connection, rows: &Rows, file: &Path) -> Result<String, Failures> {
    let wanted = match rows {
        // The line end, because the query may end with a comment.
        Rows::Query(query) => {
            return Ok(format!("({}\n) AS t", query.trim_end().trim_end_matches(';')));
        }
        Rows::Table(name) => name,
    };
    let tables = tables(connection).map_err(|e| trouble(file, &e))?;
    // SQLite would also find it with other capitals; then one table could have two budgets.
    if tables.contains(wanted) {
        return Ok(format!("{} AS t", quoted(wanted)));
    }
    Err(no_table(wanted, &file.display().to_string(), &tables))
}

fn tables(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let ask = "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND substr(name, 1, 7) <> 'sqlite_'";
    connection.prepare(ask)?.query_map([], |r| r.get(0))?.collect()
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn names(connection: &Connection, from: &str, rows: &Rows) -> Result<Vec<String>, Failures> {
    let statement =
        connection.prepare(&format!("SELECT * FROM {from}")).map_err(|e| refused(rows, &e))?;
    check_names(Path::new(&rows.to_string()), statement.column_names().map(str::to_owned).collect())
}

fn read_from(
    connection: &Connection,
    from: &str,
    of: &Rows,
    wanted: Option<&[String]>,
    tell: &dyn Fn(u64) -> Result<(), Failure>,
) -> Result<Columns, Failures> {
    let names = names(connection, from, of)?;
    let chosen = select(Path::new(&of.to_string()), &names, wanted)?;
    // With the table's name before it a column is never taken for a text in quotes.
    let list: Vec<String> = chosen.iter().map(|&i| format!("t.{}", quoted(&names[i]))).collect();
    let list = if list.is_empty() { "1".into() } else { list.join(", ") };
    let mut statement =
        connection.prepare(&format!("SELECT {list} FROM {from}")).map_err(|e| refused(of, &e))?;
    let mut lanes: Vec<Lane> = chosen.iter().map(|_| Lane::default()).collect();
    let mut rows = statement.query([]).map_err(|e| refused(of, &e))?;
    let mut count = 0;
    while let Some(row) = rows.next().map_err(|e| refused(of, &e))? {
        for (i, lane) in lanes.iter_mut().enumerate() {
            let value = row.get_ref(i).map_err(|e| refused(of, &e))?;
            lane.add(value).map_err(|what| {
                let message =
                    format!("column `{}` of `{of}` has a value that is {what}", names[chosen[i]]);
                Failure::data("unreadable-value", message)
                    .hint("write it as text in a query, for example with `hex`, or leave it out")
            })?;
        }
        count += 1;
        if count % 10_000 == 0 {
            tell(count as u64)?;
        }
    }
    let columns = chosen.iter().zip(lanes).map(|(&i, lane)| lane.column(&names[i])).collect();
    Ok(Columns { rows: count, columns, bytes: 0, dialect: None, sha256: None, weights: None })
}

/// A column on the way.
#[derive(Default)]
struct Lane {
    values: Dictionary,
    codes: Vec<u32>,
    /// Codes of floating numbers by their bits, because their texts are slow to make.
    floats: HashMap<u64, u32>,
    whole: bool,
    text: bool,
}

impl Lane {
    fn add(&mut self, value: ValueRef<'_>) -> Result<(), &'static str> {
        let code = match value {
            ValueRef::Null => self.values.intern(""),
            ValueRef::Integer(number) => {
                self.whole = true;
                self.values.intern(&number.to_string())
            }
            ValueRef::Real(number) => {
                let values = &mut self.values;
                *self
                    .floats
                    .entry(number.to_bits())
                    .or_insert_with(|| values.intern(&float_text(number)))
            }
            ValueRef::Text(bytes) => {
                self.text = true;
                self.values.intern_bytes(bytes).map_err(|_| "not UTF-8")?
            }
            ValueRef::Blob(_) => return Err("a blob"),
        };
        self.codes.push(code);
        Ok(())
    }

    fn column(self, name: &str) -> Column {
        let arrow = match (self.whole, !self.floats.is_empty(), self.text) {
            (true, false, false) => Some(DataType::Int64),
            (false, true, false) => Some(DataType::Float64),
            _ => None,
        };
        Column { name: name.to_owned(), values: self.values, codes: self.codes, arrow }
    }
}

/// As a floating number of a Parquet file is written.
fn float_text(number: f64) -> String {
    let array = Float64Array::from(vec![number]);
    let text =
        ArrayFormatter::try_new(&array, &FormatOptions::default()).map(|f| f.value(0).to_string());
    text.unwrap_or_else(|_| number.to_string())
}

/// Makes tables in one transaction, each read back and compared before they are there. The file is
/// made if it is not there.
pub(crate) fn load(
    file: &Path,
    tables: &[Table<'_>],
    progress: Progress<'_>,
) -> Result<String, Failures> {
    let new = !file.exists();
    let made = make(file, tables, progress);
    if made.is_err() && new {
        // Nothing of ours was committed to it.
        let _ = std::fs::remove_file(file);
    }
    made.map(|()| file.display().to_string())
}

fn make(file: &Path, new: &[Table<'_>], progress: Progress<'_>) -> Result<(), Failures> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let failed = |e: &rusqlite::Error| trouble(file, e);
    let mut connection = Connection::open_with_flags(file, flags).map_err(|e| failed(&e))?;
    connection.busy_timeout(Duration::from_secs(10)).map_err(|e| failed(&e))?;
    // A table that was loaded is there after a power cut: `FULL` does not sync the folder when the
    // journal is removed.
    connection.execute_batch("PRAGMA synchronous = EXTRA").map_err(|e| failed(&e))?;
    let change = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(|e| failed(&e))?;
    let total: u64 = new.iter().map(|t| t.columns.rows as u64).sum();
    let mut before = 0;
    for table in new {
        let rows = Rows::Table(table.name.clone());
        if tables(&change)
            .map_err(|e| failed(&e))?
            .iter()
            .any(|t| t.eq_ignore_ascii_case(&table.name))
        {
            return Err(exists(&table.name));
        }
        let tell = |done| progress.step(before + done, total);
        insert(&change, table, &tell, &failed)?;
        let from = find(&change, &rows, file)?;
        before += table.columns.rows as u64;
        let tell = |_| progress.step(before, total);
        table.compare(&read_from(&change, &from, &rows, None, &tell)?)?;
    }
    // The last moment at which nothing is there.
    progress.step(total, total)?;
    change.commit().map_err(|e| failed(&e))
}

fn insert(
    change: &Connection,
    table: &Table<'_>,
    tell: &dyn Fn(u64) -> Result<(), Failure>,
    failed: &dyn Fn(&rusqlite::Error) -> Failures,
) -> Result<(), Failures> {
    let read = table.columns;
    let column = |c: &Column| format!("{} {}", quoted(&c.name), sql(c.arrow.as_ref()));
    let columns: Vec<String> = read.columns.iter().map(column).collect();
    let to = quoted(&table.name);
    change
        .execute_batch(&format!("CREATE TABLE {to} ({})", columns.join(", ")))
        .map_err(|e| failed(&e))?;
    let cells: Vec<Vec<Value>> = read.columns.iter().map(values).collect();
    let places = vec!["?"; cells.len()].join(", ");
    let mut statement =
        change.prepare(&format!("INSERT INTO {to} VALUES ({places})")).map_err(|e| failed(&e))?;
    for row in 0..read.rows {
        let cells = cells.iter().zip(&read.columns).map(|(cells, c)| &cells[c.codes[row] as usize]);
        statement.execute(params_from_iter(cells)).map_err(|e| failed(&e))?;
        if row % 10_000 == 0 {
            tell(row as u64)?;
        }
    }
    Ok(())
}

/// The type of a column that has this one in its file.
fn sql(of: Option<&DataType>) -> &'static str {
    match of {
        Some(DataType::Dictionary(_, value)) => sql(Some(value)),
        Some(DataType::UInt64) => "TEXT",
        Some(kind) if kind.is_integer() => "INTEGER",
        Some(kind) if kind.is_floating() => "REAL",
        _ => "TEXT",
    }
}

/// The values of a column; the empty text is NULL, as it is everywhere.
fn values(column: &Column) -> Vec<Value> {
    let kind = sql(column.arrow.as_ref());
    let value = |text: &str| match kind {
        _ if text.is_empty() => Value::Null,
        "INTEGER" => text.parse().map_or_else(|_| Value::Text(text.into()), Value::Integer),
        "REAL" => text.parse().map_or_else(|_| Value::Text(text.into()), Value::Real),
        _ => Value::Text(text.into()),
    };
    column.values.iter().map(value).collect()
}

fn refused(rows: &Rows, e: &rusqlite::Error) -> Failures {
    let why = match e {
        // The message without the text around it, of which part is ours.
        rusqlite::Error::SqlInputError { msg, .. } => msg.clone(),
        // What a function says while rows are read may quote them: only the kind of the error is
        // told.
        rusqlite::Error::SqliteFailure(kind, _) => kind.to_string(),
        e => e.to_string(),
    };
    Failure::io("cannot-read", format!("`{rows}` cannot be read: {why}")).into()
}

fn trouble(file: &Path, e: &rusqlite::Error) -> Failures {
    let name = file.display();
    let problem = match e.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => {
            Failure::data("not-a-database", format!("`{name}` is not an SQLite database"))
        }
        Some(ErrorCode::DatabaseCorrupt) => {
            Failure::data("database-damaged", format!("the database `{name}` is damaged"))
        }
        Some(ErrorCode::DiskFull) => {
            Failure::io("disk-full", format!("`{name}` cannot be written: the disk is full"))
        }
        Some(ErrorCode::ReadOnly) => {
            Failure::io("cannot-write", format!("`{name}` cannot be written: it is read-only"))
        }
        Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => Failure::io(
            "database-unusable",
            format!("`{name}` cannot be opened: permission denied, or no such folder"),
        ),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            Failure::busy("database-locked", format!("`{name}` is locked by another program"))
                .hint("wait until that is done")
        }
        _ => Failure::io("database-unusable", format!("`{name}` cannot be used: {e}")),
    };
    problem.into()
}
