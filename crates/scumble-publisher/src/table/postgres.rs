//! PostgreSQL: connecting, reading a table or a query, and making a table.
//!
//! Rows come and go by COPY in its binary format (`binary.rs`), which needs no quoting and loses
//! nothing. What is read is read in one transaction that sees one state of the database and can
//! write nothing; what is made is made in one transaction, read back and compared before it is
//! committed, so it is there whole or not at all.
//!
//! Passwords come from the environment (`PGPASSWORD`) or from a password file (`PGPASSFILE`,
//! `~/.pgpass`), never from a policy or an argument. Nothing but messages to the person at the
//! terminal names the server.

mod binary;

use crate::table::arrow::{Coder, distribute};
use crate::table::columns::{
    Choose, Column, Columns, Progress, ReadOptions, check_names, select, threads,
};
use crate::table::guard::Meter;
use crate::table::load::Table;
use crate::table::origin::no_table;
use arrow_schema::Field;
use binary::{Fault, Kind, Stream};
use postgres::config::Host;
use postgres::error::SqlState;
use postgres::{Client, Config, Error, IsolationLevel, NoTls, Transaction};
use scumble::failure::{Failure, Failures};
use scumble::policy::Rows;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Longer names are cut off by the server, silently.
const LONGEST_NAME: usize = 63;

/// Connects to what messages call `what`; the connection, and the address without anything secret.
pub(crate) fn connect(address: &str, what: &str) -> Result<(Client, String), Failures> {
    let mut config: Config = address.parse().map_err(|e: Error| {
        Failure::usage(
            "wrong-address",
            format!("the address of the {what} cannot be understood: {}", told(&e)),
        )
        .hint("write it as `postgres://user@host:5432/database`")
    })?;
    let name = shown(&config);
    if config.get_password().is_some() {
        // Policies are read by many, and so are the arguments of a process.
        return Err(Failure::usage(
            "password-in-address",
            format!("the address of the {what} `{name}` holds a password"),
        )
        .hint(
            "leave it out; give it in the environment variable `PGPASSWORD` or in a `.pgpass` file",
        )
        .into());
    }
    if let Some(password) = password(&config) {
        config.password(password);
    }
    config.application_name(&format!(
        "scumble, process {} on {}",
        std::process::id(),
        crate::ledger::machine()
    ));
    config.connect_timeout(Duration::from_secs(10));
    let client = config.connect(NoTls).map_err(|e| {
        Failure::io(
            "database-unreachable",
            format!("the {what} `{name}` cannot be reached: {}", told(&e)),
        )
        .hint("is the server running, may you connect, and is `PGPASSWORD` or a password file set?")
    })?;
    Ok((client, name))
}

/// An address without anything secret.
pub(crate) fn without_secrets(address: &str) -> String {
    address.parse().map_or_else(|_| "postgres://…".to_owned(), |config| shown(&config))
}

/// The address without anything secret.
fn shown(config: &Config) -> String {
    let host = match config.get_hosts().first() {
        Some(Host::Tcp(host)) => host.clone(),
        Some(Host::Unix(path)) => path.display().to_string(),
        None => String::new(),
    };
    let port = config.get_ports().first().map_or(String::new(), |p| format!(":{p}"));
    format!("postgres://{host}{port}/{}", config.get_dbname().or(config.get_user()).unwrap_or(""))
}

/// The password of the environment, or of the password file's first line that fits.
fn password(config: &Config) -> Option<String> {
    if let Ok(password) = std::env::var("PGPASSWORD") {
        return Some(password);
    }
    let home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".pgpass"));
    let file = std::env::var_os("PGPASSFILE").map(PathBuf::from).or_else(home)?;
    let text = std::fs::read_to_string(file).ok()?;
    let host = match config.get_hosts().first() {
        Some(Host::Tcp(host)) => host.clone(),
        _ => "localhost".into(),
    };
    let port = config.get_ports().first().map_or_else(|| "5432".to_owned(), u16::to_string);
    let user = config.get_user().unwrap_or("").to_owned();
    let wanted = [host, port, config.get_dbname().unwrap_or(&user).to_owned(), user];
    text.lines().filter(|l| !l.starts_with('#')).find_map(|line| fitting(line, &wanted))
}

/// The password of a line `host:port:database:user:password` if the others fit; `*` fits
/// everything, `\` escapes.
fn fitting(line: &str, wanted: &[String; 4]) -> Option<String> {
    let mut fields = vec![String::new()];
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => fields.last_mut()?.extend(letters.next()),
            ':' if fields.len() < 5 => fields.push(String::new()),
            other => fields.last_mut()?.push(other),
        }
    }
    let password = fields.get(4)?.clone();
    fields
        .iter()
        .zip(wanted)
        .all(|(field, wanted)| field == "*" || field == wanted)
        .then_some(password)
}

/// Classes of errors whose messages speak of connections, rights, names and resources: no others
/// are repeated, because they may quote a person's values.
const TELLABLE: [&str; 13] =
    ["08", "0A", "25", "28", "3D", "3F", "40", "42", "53", "54", "55", "57", "58"];

/// An error in plain words; the server's own where they cannot hold values. What a function raises
/// may hold anything, whatever class it says it is of.
pub(crate) fn told(e: &Error) -> String {
    match e.as_db_error() {
        Some(e) => {
            let raised = e.routine() == Some("exec_stmt_raise");
            let tellable = TELLABLE.iter().any(|class| e.code().code().starts_with(class));
            if tellable && !raised {
                return e.message().to_owned();
            }
            format!("the server cannot work with some value (error {})", e.code().code())
        }
        None => {
            use std::error::Error;
            e.source().map_or_else(|| e.to_string(), |cause| cause.to_string())
        }
    }
}

/// The names of the columns.
pub(crate) fn header(address: &str, rows: &Rows) -> Result<Vec<String>, Failures> {
    let (mut client, server) = connect(address, "database")?;
    let mut view = view(&mut client, &server)?;
    let relation = Relation::find(&mut view, rows, &server)?;
    let names = relation.fields.into_iter().map(|f| f.name).collect();
    check_names(Path::new(&relation.name), names)
}

/// Reads the wanted columns.
pub(crate) fn read(
    address: &str,
    rows: &Rows,
    options: &ReadOptions,
    wanted: Option<&[String]>,
    progress: Progress<'_>,
) -> Result<Columns, Failures> {
    let (mut client, server) = connect(address, "database")?;
    let mut view = view(&mut client, &server)?;
    let relation = Relation::find(&mut view, rows, &server)?;
    relation.read(&mut view, options, wanted, progress)
}

/// Reads the columns that are chosen once the header is known, of one state of the database.
pub(crate) fn read_chosen(
    address: &str,
    rows: &Rows,
    options: &ReadOptions,
    choose: Choose<'_>,
    progress: Progress<'_>,
) -> Result<Columns, Failures> {
    let (mut client, server) = connect(address, "database")?;
    let mut view = view(&mut client, &server)?;
    let relation = Relation::find(&mut view, rows, &server)?;
    let names = relation.fields.iter().map(|f| f.name.clone()).collect();
    let wanted = choose(&check_names(Path::new(&relation.name), names)?)?;
    relation.read(&mut view, options, Some(&wanted), progress)
}

/// One state of the database, in which nothing can be changed.
fn view<'a>(client: &'a mut Client, server: &str) -> Result<Transaction<'a>, Failures> {
    let builder =
        client.build_transaction().isolation_level(IsolationLevel::RepeatableRead).read_only(true);
    builder.start().map_err(|e| unusable(server, &e))
}

/// Something with rows and columns.
struct Relation {
    /// What messages call it.
    name: String,
    /// As it stands in a FROM.
    from: String,
    fields: Vec<Described>,
    /// About how many rows it has; 0 if that is not known.
    rows: u64,
}

struct Described {
    name: String,
    /// How it is read, or the name of a type that is not.
    kind: Result<Kind, String>,
}

impl Relation {
    fn find(view: &mut Transaction<'_>, rows: &Rows, server: &str) -> Result<Relation, Failures> {
        let (from, estimate) = match rows {
            Rows::Table(name) => find_table(view, name, server)?,
            // The line end, because the query may end with a comment.
            Rows::Query(query) => {
                (format!("({}\n) AS t", query.trim_end().trim_end_matches(';')), 0)
            }
        };
        let name = rows.to_string();
        let statement =
            view.prepare(&format!("SELECT * FROM {from}")).map_err(|e| refused(&name, &e))?;
        let describe = |c: &postgres::Column| Described {
            name: c.name().to_owned(),
            kind: Kind::of(c.type_(), c.type_modifier()).ok_or_else(|| c.type_().name().to_owned()),
        };
        Ok(Relation {
            fields: statement.columns().iter().map(describe).collect(),
            name,
            from,
            rows: estimate,
        })
    }

    fn read(
        &self,
        transaction: &mut Transaction<'_>,
        options: &ReadOptions,
        wanted: Option<&[String]>,
        progress: Progress<'_>,
    ) -> Result<Columns, Failures> {
        let path = Path::new(&self.name);
        let names = check_names(path, self.fields.iter().map(|f| f.name.clone()).collect())?;
        let chosen = select(path, &names, wanted)?;
        let kinds = self.kinds(&chosen)?;
        // Rows in the order in which they stand, whatever else the server is doing: the same seed,
        // the same release.
        let calm =
            "SET LOCAL synchronize_seqscans = off; SET LOCAL max_parallel_workers_per_gather = 0";
        transaction.batch_execute(calm).map_err(|e| refused(&self.name, &e))?;
        let list: Vec<String> = chosen.iter().map(|&i| quoted(&names[i])).collect();
        let copy = format!(
            "COPY (SELECT {} FROM {}) TO STDOUT (FORMAT binary)",
            list.join(", "),
            self.from
        );
        let copy = transaction.copy_out(&copy).map_err(|e| refused(&self.name, &e))?;
        let fault = |fault| self.fault(fault, &chosen);
        let mut stream = Stream::open(copy, kinds.clone()).map_err(fault)?;
        let workers = threads(options).min(chosen.len()).max(1);
        let mut done = 0;
        let next = || {
            let batch = stream.batch().map_err(fault)?;
            done += batch.as_ref().map_or(0, |(rows, _)| *rows as u64);
            // An estimate may be too low.
            progress.step(done, if self.rows == 0 { 0 } else { self.rows.max(done) })?;
            Ok(batch)
        };
        // A server is asked for what it has, and trusted with its size.
        let meter = Arc::new(Meter::unlimited());
        let problem = |i: usize, _| self.fault(Fault::Value(i), &chosen);
        let (rows, coders) = distribute(chosen.len(), workers, &meter, next, problem)?;
        let column = |((coder, kind), &i): ((Coder, Kind), &usize)| -> Column {
            coder.column(&Field::new(&names[i], kind.arrow(), true))
        };
        let columns = coders.into_iter().zip(kinds).zip(&chosen).map(column).collect();
        Ok(Columns {
            rows,
            columns,
            bytes: stream.bytes(),
            dialect: None,
            sha256: None,
            weights: None,
        })
    }

    fn kinds(&self, chosen: &[usize]) -> Result<Vec<Kind>, Failures> {
        let (mut kinds, mut problems) = (Vec::new(), Failures::default());
        for field in chosen.iter().map(|&i| &self.fields[i]) {
            match &field.kind {
                Ok(kind) => kinds.push(kind.clone()),
                Err(kind) => {
                    let (name, column) = (&self.name, &field.name);
                    let message = format!(
                        "column `{column}` of `{name}` has the type `{kind}`, which is not read"
                    );
                    problems.push(Failure::data("unreadable-type", message).hint(format!(
                        "cast it in a query, as in `query = \"SELECT {column}::text AS {column}, … FROM …\"`; a column \
                         with the role `identifier` is not read at all"
                    )));
                }
            }
        }
        problems.or(kinds)
    }

    fn fault(&self, fault: Fault, chosen: &[usize]) -> Failures {
        let name = &self.name;
        match fault {
            Fault::Value(i) => {
                let column = chosen.get(i).map_or("", |&i| &self.fields[i].name);
                Failure::data("unreadable-value", format!(
                    "column `{column}` of `{name}` has an infinite or very distant date, or text that is not UTF-8"
                ))
                .hint("turn such values into others in a query, or leave their rows out there")
                .into()
            }
            Fault::Damaged => Failure::data(
                "database-damaged",
                format!("what the server sent of `{name}` cannot be understood"),
            )
            .hint("is it PostgreSQL, and is the connection sound?")
            .into(),
            Fault::Cut(e) => match e.get_ref().and_then(|e| e.downcast_ref::<Error>()) {
                Some(e) => refused(name, e),
                None => Failure::io(
                    "cannot-read",
                    format!("reading `{name}` ended too early: {}", crate::describe(&e)),
                )
                .into(),
            },
        }
    }
}

/// A table or view as it stands in a FROM, and about how many rows it has.
fn find_table(
    view: &mut Transaction<'_>,
    wanted: &str,
    server: &str,
) -> Result<(String, u64), Failures> {
    let ask = "SELECT n.nspname, c.relname, pg_table_is_visible(c.oid), c.reltuples
               FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
               WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
               AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\\_%' ORDER BY 1, 2";
    let rows = view.query(ask, &[]).map_err(|e| unusable(server, &e))?;
    let mut names = Vec::new();
    for row in &rows {
        let (schema, name, visible, about): (String, String, bool, f32) =
            (row.get(0), row.get(1), row.get(2), row.get(3));
        let whole = format!("{schema}.{name}");
        if whole == wanted || visible && name == wanted {
            return Ok((
                format!("{}.{} AS t", quoted(&schema), quoted(&name)),
                about.max(0.0) as u64,
            ));
        }
        names.push(if visible { name } else { whole });
    }
    Err(no_table(wanted, server, &names))
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Makes tables in one transaction, each read back and compared before they are there. What
/// messages call the database.
pub(crate) fn load(
    address: &str,
    tables: &[Table<'_>],
    progress: Progress<'_>,
) -> Result<String, Failures> {
    let (mut client, server) = connect(address, "database")?;
    let mut change = client.transaction().map_err(|e| unusable(&server, &e))?;
    let total: u64 = 2 * tables.iter().map(|t| t.columns.rows as u64).sum::<u64>();
    let mut before = 0;
    for table in tables {
        let rows = table.columns.rows as u64;
        let new = New::of(table)?;
        new.make(&mut change, &|done, _| progress.at(before + done, total))?;
        before += rows;
        let read =
            new.relation.read(&mut change, &ReadOptions::default(), None, &|done: u64, _| {
                progress.at((before + done).min(total), total)
            })?;
        before += rows;
        table.compare(&read)?;
    }
    // The last moment at which nothing is there.
    progress.step(total, total)?;
    change.commit().map_err(|e| {
        Failure::io(
            "load-unconfirmed",
            format!("`{server}` did not confirm that the table is there: {}", told(&e)),
        )
        .hint("see whether it is before you load it again; it is there whole or not at all")
    })?;
    Ok(server)
}

/// A table that is to be made.
struct New<'a> {
    table: &'a Table<'a>,
    kinds: Vec<Kind>,
    relation: Relation,
}

impl<'a> New<'a> {
    fn of(table: &'a Table<'a>) -> Result<New<'a>, Failures> {
        let columns = &table.columns.columns;
        let parts: Vec<&str> = table.name.split('.').collect();
        let mut problems = Failures::default();
        if parts.len() > 2 || parts.iter().any(|p| p.is_empty()) {
            let problem = Failure::usage(
                "wrong-table-name",
                format!("`{}` is not the name of a table", table.name),
            );
            problems.push(problem.hint("write it as `name` or `schema.name`"));
        }
        for name in parts.iter().copied().chain(columns.iter().map(|c| c.name.as_str())) {
            if name.len() > LONGEST_NAME {
                let problem = Failure::usage(
                    "wrong-table-name",
                    format!("PostgreSQL has no names as long as `{name}`"),
                );
                problems.push(problem.hint(format!("a name has up to {LONGEST_NAME} bytes")));
            }
        }
        let kinds: Vec<Kind> = columns.iter().map(|c| Kind::for_column(c.arrow.as_ref())).collect();
        let field = |(c, kind): (&Column, &Kind)| Described {
            name: c.name.clone(),
            kind: Ok(kind.clone()),
        };
        let fields = columns.iter().zip(&kinds).map(field).collect();
        let from = parts.iter().map(|p| quoted(p)).collect::<Vec<_>>().join(".");
        let relation =
            Relation { name: table.name.clone(), from, fields, rows: table.columns.rows as u64 };
        problems.or(New { table, kinds, relation })
    }

    fn make(&self, change: &mut Transaction<'_>, progress: Progress<'_>) -> Result<(), Failures> {
        let (name, to) = (&self.table.name, &self.relation.from);
        let read = self.table.columns;
        let column = |(c, kind): (&Column, &Kind)| format!("{} {}", quoted(&c.name), kind.sql());
        let columns: Vec<String> = read.columns.iter().zip(&self.kinds).map(column).collect();
        change.batch_execute(&format!("CREATE TABLE {to} ({})", columns.join(", "))).map_err(
            |e| match e.code() {
                Some(&SqlState::DUPLICATE_TABLE) => crate::table::load::exists(name),
                Some(&SqlState::INVALID_SCHEMA_NAME) => Failure::usage(
                    "no-such-schema",
                    format!("`{name}` names a schema that is not there"),
                )
                .hint("make it first: `CREATE SCHEMA …`")
                .into(),
                _ => not_made(name, &told(&e)),
            },
        )?;
        let cells: Result<Vec<Vec<Vec<u8>>>, Failures> =
            read.columns.iter().zip(&self.kinds).map(encoded).collect();
        let cells = cells?;
        let copy = change.copy_in(&format!("COPY {to} FROM STDIN (FORMAT binary)"));
        let mut out =
            BufWriter::with_capacity(1 << 16, copy.map_err(|e| not_made(name, &told(&e)))?);
        let mut stopped = None;
        let mut write = || -> std::io::Result<()> {
            out.write_all(&binary::HEAD)?;
            for row in 0..read.rows {
                out.write_all(&(cells.len() as i16).to_be_bytes())?;
                for (cells, column) in cells.iter().zip(&read.columns) {
                    out.write_all(&cells[column.codes[row] as usize])?;
                }
                if row % 10_000 == 0 {
                    stopped = progress.step(row as u64, read.rows as u64).err();
                    if stopped.is_some() {
                        return Ok(());
                    }
                }
            }
            out.write_all(&binary::TAIL)
        };
        let sent = write();
        if let Some(cancelled) = stopped {
            // A copy that is not finished is undone, and the transaction with it.
            return Err(cancelled.into());
        }
        let sent = sent.and_then(|()| out.into_inner().map_err(|e| e.into_error()));
        let lost = |e: std::io::Error| match e.get_ref().and_then(|e| e.downcast_ref::<Error>()) {
            Some(e) => not_made(name, &told(e)),
            None => not_made(name, &crate::describe(&e)),
        };
        sent.map_err(lost)?.finish().map_err(|e| not_made(name, &told(&e))).map(drop)
    }
}

/// The values of a column, each with its length, as they go to the server. The empty text is NULL,
/// as it is everywhere.
fn encoded((column, kind): (&Column, &Kind)) -> Result<Vec<Vec<u8>>, Failures> {
    let cell = |text: &str| {
        kind.cell(text).ok_or_else(|| {
            let message = format!(
                "column `{}` has a value that cannot be written as {}",
                column.name,
                kind.sql()
            );
            Failure::data("not-loaded", message)
                .hint("publish the release as CSV: then all columns are loaded as text")
                .into()
        })
    };
    column.values.iter().map(cell).collect()
}

fn not_made(name: &str, why: &str) -> Failures {
    Failure::io("not-made", format!("the table `{name}` was not made: {why}")).into()
}

fn unusable(server: &str, e: &Error) -> Failures {
    Failure::io("database-unusable", format!("the database `{server}` cannot be used: {}", told(e)))
        .into()
}

fn refused(name: &str, e: &Error) -> Failures {
    let problem = Failure::io("cannot-read", format!("`{name}` cannot be read: {}", told(e)));
    match e.code() {
        Some(&SqlState::INSUFFICIENT_PRIVILEGE) => {
            problem.hint("whoever owns it can `GRANT SELECT` on it").into()
        }
        Some(&SqlState::READ_ONLY_SQL_TRANSACTION) => {
            problem.hint("a source is only read: take out what would change the database").into()
        }
        _ => problem.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_file_is_read_as_psql_reads_it() {
        let wanted = ["db.example".to_owned(), "5432".into(), "releases".into(), "steward".into()];
        assert_eq!(
            fitting("db.example:5432:releases:steward:secret", &wanted).as_deref(),
            Some("secret")
        );
        assert_eq!(fitting("*:*:*:steward:a\\:b:c", &wanted).as_deref(), Some("a:b:c"));
        assert_eq!(fitting("*:*:*:else:secret", &wanted), None);
        assert_eq!(fitting("*:*:steward", &wanted), None);
    }
}
