//! A ledger that a team shares: in a PostgreSQL database.
//!
//! The right to publish is an advisory lock of the session, so it ends with the connection.

use super::entry::Row;
use super::store::{Store, VERSION, held, other_version, overtaken, wait_for};
use crate::observer::{Observer, Silent};
use crate::table::postgres::{connect, told};
use postgres::error::SqlState;
use postgres::{Client, Error};
use scumble::failure::{Failure, Failures};
use std::collections::HashSet;
use std::time::Duration;

/// The tables. No entry is ever changed; whoever tries must take the triggers away first, and the
/// chain still tells.
const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS scumble_ledger (version bigint NOT NULL);
    CREATE TABLE scumble_entries (number bigint PRIMARY KEY, body text NOT NULL, hash text NOT NULL);
    CREATE TABLE scumble_kept (hash text, part int, bytes bytea NOT NULL, PRIMARY KEY (hash, part));
    CREATE FUNCTION scumble_stay() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'entries are never changed'; END $$;
    CREATE TRIGGER entries_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON scumble_entries
      EXECUTE FUNCTION scumble_stay();";

/// The number of our advisory lock: "scumble" in letters.
const LOCK: i64 = 0x73_63_75_6d_62_6c_65;

/// Kept files are stored in parts of so many bytes.
const PART: usize = 16 << 20;

/// A ledger in a database.
pub struct Postgres {
    client: Client,
    /// The address without anything secret.
    name: String,
}

impl Postgres {
    /// Connects; makes the tables if they are not there and may be made.
    pub fn open(address: &str, make: bool) -> Result<Option<Postgres>, Failures> {
        let (client, name) = connect(address, "ledger")?;
        let mut store = Postgres { client, name };
        // The lock of a machine that is gone, and could not say so, is free after two minutes
        // instead of two hours.
        let alive = "SET tcp_keepalives_idle = 60; SET tcp_keepalives_interval = 10; SET tcp_keepalives_count = 6";
        store.run(|c| c.batch_execute(alive))?;
        Ok(store.prepare(make)?.then_some(store))
    }

    /// Whether the tables are there, of this version, if need be after making them.
    fn prepare(&mut self, make: bool) -> Result<bool, Failures> {
        let version = self.version()?;
        if version != 0 && version != VERSION {
            return Err(other_version(&self.name, version));
        }
        if version == VERSION || !make {
            return Ok(version == VERSION);
        }
        self.lock(Duration::from_secs(60), &Silent)?;
        // Somebody else may have been faster.
        if self.version()? == 0 {
            let commands = format!(
                "{SCHEMA} DELETE FROM scumble_ledger; INSERT INTO scumble_ledger VALUES ({VERSION})"
            );
            // Several commands in one message are one transaction.
            self.run(|c| c.batch_execute(&commands))?;
        }
        self.unlock()?;
        Ok(true)
    }

    fn version(&mut self) -> Result<i64, Failures> {
        let there: bool = self
            .run(|c| c.query_one("SELECT to_regclass('scumble_ledger') IS NOT NULL", &[]))?
            .get(0);
        if !there {
            return Ok(0);
        }
        let row = self.run(|c| c.query_opt("SELECT version FROM scumble_ledger", &[]))?;
        Ok(row.map_or(0, |r| r.get(0)))
    }

    fn run<T>(
        &mut self,
        work: impl FnOnce(&mut Client) -> Result<T, Error>,
    ) -> Result<T, Failures> {
        work(&mut self.client).map_err(|e| trouble(&self.name, &e))
    }

    /// Who has the lock, as far as the server tells.
    fn holder(&mut self) -> String {
        // Other databases of the server may hold ledgers too.
        let ask = "SELECT a.application_name FROM pg_locks l JOIN pg_stat_activity a USING (pid)
                   WHERE l.locktype = 'advisory' AND l.granted AND (l.classid::bigint << 32 | l.objid::bigint) = $1
                   AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())";
        let row = self.client.query_opt(ask, &[&LOCK]).ok().flatten();
        row.map_or(String::new(), |r| format!(" ({})", r.get::<_, String>(0)))
    }
}

impl Store for Postgres {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn lock(&mut self, wait: Duration, observer: &dyn Observer) -> Result<(), Failures> {
        if self.try_lock()? {
            return Ok(());
        }
        let by = self.holder();
        let name = self.name.clone();
        wait_for((wait, observer), || self.try_lock(), || held(&name, &by))
    }

    fn try_lock(&mut self) -> Result<bool, Failures> {
        Ok(self.run(|c| c.query_one("SELECT pg_try_advisory_lock($1)", &[&LOCK]))?.get(0))
    }

    fn holds(&mut self) -> Result<bool, Failures> {
        let ask = "SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted
                   AND pid = pg_backend_pid() AND (classid::bigint << 32 | objid::bigint) = $1)";
        Ok(self.run(|c| c.query_one(ask, &[&LOCK]))?.get(0))
    }

    fn unlock(&mut self) -> Result<(), Failures> {
        self.run(|c| c.query_one("SELECT pg_advisory_unlock($1)", &[&LOCK])).map(drop)
    }

    fn entries(&mut self) -> Result<Vec<Row>, Failures> {
        let rows = self.run(|c| {
            c.query("SELECT number, body, hash FROM scumble_entries ORDER BY number", &[])
        })?;
        let row = |r: &postgres::Row| Row {
            number: r.get::<_, i64>(0) as u64,
            body: r.get(1),
            hash: r.get(2),
        };
        Ok(rows.iter().map(row).collect())
    }

    fn append(&mut self, row: &Row) -> Result<(), Failures> {
        let insert = "INSERT INTO scumble_entries (number, body, hash) VALUES ($1, $2, $3)";
        match self.client.execute(insert, &[&(row.number as i64), &row.body, &row.hash]) {
            Ok(_) => Ok(()),
            Err(e) if e.code() == Some(&SqlState::UNIQUE_VIOLATION) => Err(overtaken(&self.name)),
            Err(e) => Err(trouble(&self.name, &e)),
        }
    }

    fn put(&mut self, hash: &str, bytes: &[u8]) -> Result<(), Failures> {
        self.run(|c| {
            let mut change = c.transaction()?;
            for (part, bytes) in (0i32..).zip(bytes.chunks(PART)) {
                let insert = "INSERT INTO scumble_kept (hash, part, bytes) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
                change.execute(insert, &[&hash, &part, &bytes])?;
            }
            change.commit()
        })
    }

    fn get(&mut self, hash: &str) -> Result<Vec<u8>, Failures> {
        let rows = self.run(|c| {
            c.query("SELECT bytes FROM scumble_kept WHERE hash = $1 ORDER BY part", &[&hash])
        })?;
        if rows.is_empty() {
            return Err(Failure::data(
                "ledger-damaged",
                format!("a file of the ledger `{}` is missing: {hash}", self.name),
            )
            .hint("restore the database from a copy; entries and files belong together")
            .into());
        }
        Ok(rows.iter().flat_map(|r| r.get::<_, Vec<u8>>(0)).collect())
    }

    fn begun(&mut self) -> Result<bool, Failures> {
        Ok(self.run(|c| c.query_one("SELECT EXISTS (SELECT FROM scumble_kept)", &[]))?.get(0))
    }

    fn tidy(&mut self, named: &HashSet<String>, _: &HashSet<String>) -> Result<(), Failures> {
        // Entries and files are one database, which is restored as one: what no entry names belongs
        // to none.
        let named: Vec<&String> = named.iter().collect();
        self.run(|c| c.execute("DELETE FROM scumble_kept WHERE hash <> ALL($1)", &[&named]))
            .map(drop)
    }
}

fn trouble(name: &str, e: &Error) -> Failures {
    Failure::io("cannot-use-ledger", format!("the ledger `{name}` cannot be used: {}", told(e)))
        .into()
}
