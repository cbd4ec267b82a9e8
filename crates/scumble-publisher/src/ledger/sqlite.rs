//! A ledger in a folder: SQLite for the entries, a file for each kept file, and a file that is
//! locked while somebody publishes.

use super::entry::Row;
use super::private;
use super::store::{RESTORE, Store, VERSION, held, lost, other_version, overtaken, wait_for};
use crate::observer::{Observer, Silent};
use crate::publish::durable;
use rusqlite::{Connection, ErrorCode, OpenFlags, params};
use scumble::failure::{Argument, Failure, Failures, Remedy};
use std::collections::HashSet;
use std::fs::{self, File, TryLockError};
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Name of the database in the folder.
const DATABASE: &str = "ledger.sqlite";

/// Marks the database as ours: "scum".
const APPLICATION: i64 = 0x7363_756d;

/// The tables. No entry is ever changed; whoever tries must take the triggers away first, and the
/// chain still tells.
const SCHEMA: &str = "
    CREATE TABLE entries (number INTEGER PRIMARY KEY, body TEXT NOT NULL, hash TEXT NOT NULL);
    CREATE TRIGGER entries_stay BEFORE UPDATE ON entries BEGIN SELECT RAISE(ABORT, 'entries are never changed'); END;
    CREATE TRIGGER entries_remain BEFORE DELETE ON entries BEGIN SELECT RAISE(ABORT, 'entries are never removed'); END;";

/// A ledger in a folder.
pub struct Sqlite {
    folder: PathBuf,
    connection: Connection,
    lock: Option<File>,
}

impl Sqlite {
    /// Opens the ledger of a folder; `None` if there is none and none is to be made.
    pub fn open(folder: &Path, make: bool) -> Result<Option<Sqlite>, Failures> {
        let path = folder.join(DATABASE);
        if !path.exists() {
            if has_files(folder) {
                return Err(lost(&folder.display().to_string()));
            }
            if !make {
                return Ok(None);
            }
        }
        if make {
            let made = private::make_folder(&folder.join("kept"))
                // SQLite gives its journals the permissions of the database.
                .and_then(|()| private::writing().open(&path).map(drop));
            made.map_err(|e| {
                Failure::io(
                    "cannot-write",
                    format!(
                        "the ledger `{}` cannot be written: {}",
                        folder.display(),
                        crate::describe(&e)
                    ),
                )
                .file(folder)
                .remedy(
                    Remedy::words("say where it should be with `ledger` in the policy or ")
                        .and_give(Argument::Ledger),
                )
            })?;
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let flags = if make { flags | OpenFlags::SQLITE_OPEN_CREATE } else { flags };
        let connection =
            Connection::open_with_flags(&path, flags).map_err(|e| trouble(folder, &e))?;
        let mut store = Sqlite { folder: folder.to_path_buf(), connection, lock: None };
        Ok(store.prepare(make)?.then_some(store))
    }

    /// Whether the tables are there, of this version and ours, if need be after making them.
    fn prepare(&mut self, make: bool) -> Result<bool, Failures> {
        let (version, application, empty) = self.versions()?;
        if application != APPLICATION && (version != 0 || !empty) {
            let database = self.folder.join(DATABASE);
            return Err(Failure::data(
                "not-a-ledger",
                format!("`{}` is not a ledger", database.display()),
            )
            .hint("name another folder with `ledger`")
            .into());
        }
        if version != 0 && version != VERSION {
            return Err(other_version(&self.name(), version));
        }
        if version == VERSION || !make {
            return Ok(version == VERSION);
        }
        self.lock(Duration::from_secs(60), &Silent)?;
        // Somebody else may have been faster.
        let made = match self.versions()? {
            (0, ..) if has_files(&self.folder) => Err(lost(&self.name())),
            (0, ..) => self.run(|c| {
                let change = c.unchecked_transaction()?;
                change.execute_batch(SCHEMA)?;
                let marks = format!(
                    "PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION}"
                );
                change.execute_batch(&marks)?;
                change.commit()
            }),
            _ => Ok(()),
        };
        self.lock = None;
        made.map(|()| true)
    }

    /// Version and mark of the database, and whether nothing is in it: of one moment, because
    /// somebody may be making it.
    fn versions(&self) -> Result<(i64, i64, bool), Failures> {
        self.run(|c| {
            c.busy_timeout(Duration::from_secs(10))?;
            // Extra: what was committed is on the disk. With `FULL` the folder is not synced after
            // the journal is removed, and a power cut may bring the journal back, which undoes the
            // entry.
            c.execute_batch("PRAGMA synchronous = EXTRA; PRAGMA trusted_schema = OFF")?;
            let moment = c.unchecked_transaction()?;
            let empty =
                moment.query_row("SELECT count(*) = 0 FROM sqlite_schema", [], |r| r.get(0))?;
            let version = moment.query_row("PRAGMA user_version", [], |r| r.get(0))?;
            let application = moment.query_row("PRAGMA application_id", [], |r| r.get(0))?;
            moment.commit()?;
            Ok((version, application, empty))
        })
    }

    fn run<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, Failures> {
        work(&self.connection).map_err(|e| trouble(&self.folder, &e))
    }

    fn kept(&self, hash: &str) -> PathBuf {
        self.folder.join("kept").join(format!("{hash}.parquet"))
    }

    /// What the file is called until an entry names it.
    fn unnamed(&self, hash: &str) -> PathBuf {
        self.kept(hash).with_extension("unnamed")
    }

    fn holder(&self) -> String {
        let text = fs::read_to_string(self.folder.join("lock")).unwrap_or_default();
        if text.trim().is_empty() { String::new() } else { format!(" ({})", text.trim()) }
    }
}

impl Store for Sqlite {
    fn name(&self) -> String {
        self.folder.display().to_string()
    }

    fn lock(&mut self, wait: Duration, observer: &dyn Observer) -> Result<(), Failures> {
        let name = self.name();
        let mut file = self.lock_file()?;
        let attempt = || attempt(&mut file, &name);
        wait_for((wait, observer), attempt, || held(&name, &self.holder()))?;
        self.lock = Some(file);
        Ok(())
    }

    fn try_lock(&mut self) -> Result<bool, Failures> {
        let name = self.name();
        let mut file = self.lock_file()?;
        let got = attempt(&mut file, &name)?;
        self.lock = got.then_some(file);
        Ok(got)
    }

    fn holds(&mut self) -> Result<bool, Failures> {
        let Some(file) = &self.lock else { return Ok(false) };
        // Whoever removes the file lets others lock a new one.
        Ok(durable::is_at(file, &self.folder.join("lock")))
    }

    fn unlock(&mut self) -> Result<(), Failures> {
        self.lock = None;
        Ok(())
    }

    fn entries(&mut self) -> Result<Vec<Row>, Failures> {
        self.run(|c| {
            let mut statement =
                c.prepare("SELECT number, body, hash FROM entries ORDER BY number")?;
            let row = |r: &rusqlite::Row<'_>| {
                Ok(Row { number: r.get::<_, i64>(0)? as u64, body: r.get(1)?, hash: r.get(2)? })
            };
            statement.query_map([], row)?.collect()
        })
    }

    fn append(&mut self, row: &Row) -> Result<(), Failures> {
        let insert = "INSERT INTO entries (number, body, hash) VALUES (?1, ?2, ?3)";
        match self.connection.execute(insert, params![row.number as i64, row.body, row.hash]) {
            Ok(_) => Ok(()),
            Err(e) if e.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => {
                Err(overtaken(&self.name()))
            }
            Err(e) => Err(trouble(&self.folder, &e)),
        }
    }

    fn put(&mut self, hash: &str, bytes: &[u8]) -> Result<(), Failures> {
        // A file of that name holds that: it got the name only when it was complete.
        if self.kept(hash).exists() {
            return Ok(());
        }
        let path = self.unnamed(hash);
        let written = private::write(&path, bytes)
            .and_then(|()| durable::sync_folder(&self.folder.join("kept")));
        written.map_err(|e| {
            let _ = fs::remove_file(&path);
            Failure::io(
                "cannot-write",
                format!("the ledger `{}` cannot be written: {}", self.name(), crate::describe(&e)),
            )
            .into()
        })
    }

    fn get(&mut self, hash: &str) -> Result<Vec<u8>, Failures> {
        let path = self.kept(hash);
        // It has no name yet if the run that added its entry was killed then, and may get it at
        // this moment.
        let read =
            fs::read(&path).or_else(|_| fs::read(self.unnamed(hash))).or_else(|_| fs::read(&path));
        read.map_err(|e| {
            Failure::io(
                "cannot-read",
                format!(
                    "a file of the ledger, `{}`, cannot be read: {}",
                    path.display(),
                    crate::describe(&e)
                ),
            )
            .hint("restore the ledger's folder from a copy; entries and files belong together")
            .into()
        })
    }

    fn begun(&mut self) -> Result<bool, Failures> {
        Ok(has_files(&self.folder))
    }

    fn tidy(
        &mut self,
        named: &HashSet<String>,
        forgotten: &HashSet<String>,
    ) -> Result<(), Failures> {
        let Ok(files) = fs::read_dir(self.folder.join("kept")) else { return Ok(()) };
        for path in files.flatten().map(|f| f.path()) {
            let hash =
                path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
            let unnamed = path.extension().is_some_and(|e| e == "unnamed");
            // A file with its name that no entry knows is left alone: the database may be an older
            // copy, and whoever puts the right one back needs it. What cannot be moved or removed
            // does no harm.
            let _ = match unnamed {
                true if named.contains(&hash) => fs::rename(&path, self.kept(&hash)),
                true => fs::remove_file(&path),
                false if forgotten.contains(&hash) && !named.contains(&hash) => {
                    fs::remove_file(&path)
                }
                false => Ok(()),
            };
        }
        Ok(())
    }
}

impl Sqlite {
    fn lock_file(&self) -> Result<File, Failures> {
        let path = self.folder.join("lock");
        private::writing().open(&path).map_err(|e| {
            Failure::io(
                "cannot-use-ledger",
                format!("the ledger `{}` cannot be locked: {}", self.name(), crate::describe(&e)),
            )
            .into()
        })
    }
}

/// Tries to lock the file, and notes whose it is now. The system takes the lock back when a process
/// ends, however it ends.
fn attempt(file: &mut File, name: &str) -> Result<bool, Failures> {
    match file.try_lock() {
        Ok(()) => {
            let note = format!("process {}, since {}\n", std::process::id(), super::now());
            let _ = file
                .set_len(0)
                .and_then(|()| file.rewind())
                .and_then(|()| file.write_all(note.as_bytes()));
            Ok(true)
        }
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(e)) => Err(Failure::io(
            "cannot-use-ledger",
            format!("the ledger `{name}` cannot be locked: {}", crate::describe(&e)),
        )
        .into()),
    }
}

/// Whether files are kept, as they are only for entries.
fn has_files(folder: &Path) -> bool {
    fs::read_dir(folder.join("kept")).is_ok_and(|mut files| files.next().is_some())
}

/// What is wrong with the database.
fn trouble(folder: &Path, e: &rusqlite::Error) -> Failures {
    let name = folder.display();
    let problem = match e.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Failure::data(
            "ledger-damaged",
            format!("the ledger `{name}` is damaged: its database cannot be read"),
        )
        .hint(RESTORE),
        Some(ErrorCode::DiskFull) => Failure::io(
            "disk-full",
            format!("the ledger `{name}` cannot be written: the disk is full"),
        ),
        Some(ErrorCode::ReadOnly) => Failure::io(
            "cannot-write",
            format!("the ledger `{name}` cannot be written: it is read-only"),
        ),
        Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => Failure::io(
            "cannot-use-ledger",
            format!("the ledger `{name}` cannot be opened: permission denied, or no such folder"),
        ),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            held(&name.to_string(), "").0.remove(0)
        }
        _ => Failure::io("cannot-use-ledger", format!("the ledger `{name}` cannot be used: {e}")),
    };
    problem.into()
}
