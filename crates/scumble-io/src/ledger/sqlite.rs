//! A ledger in a folder: SQLite for the entries, a file for each kept file, and a file that is locked while somebody
//! publishes.

use super::entry::Row;
use super::store::{RESTORE, Store, held, lost, overtaken, wait_for};
use rusqlite::{Connection, ErrorCode, OpenFlags, params};
use scumble::problem::{Problem, Problems};
use std::collections::HashSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Name of the database in the folder.
const DATABASE: &str = "ledger.sqlite";

/// Stands beside the database once it has entries, so that one that was emptied is not taken for a new one.
const BEGUN: &str = "begun";

/// Marks the database as ours: "scum".
const APPLICATION: i64 = 0x7363_756d;

/// What turns each version of the schema into the next. The first makes an empty database a ledger.
const MIGRATIONS: &[&str] = &[
    "CREATE TABLE entries (number INTEGER PRIMARY KEY, body TEXT NOT NULL, hash TEXT NOT NULL)",
    // No entry is ever changed; whoever tries must take the triggers away first, and the chain of hashes still tells.
    "CREATE TRIGGER entries_stay BEFORE UPDATE ON entries BEGIN SELECT RAISE(ABORT, 'entries are never changed'); END;
     CREATE TRIGGER entries_remain BEFORE DELETE ON entries BEGIN SELECT RAISE(ABORT, 'entries are never removed'); END",
];

/// A ledger in a folder.
pub struct Sqlite {
    folder: PathBuf,
    connection: Connection,
    lock: Option<File>,
}

impl Sqlite {
    /// Opens the ledger of a folder; `None` if there is none and none is to be made.
    pub fn open(folder: &Path, make: bool) -> Result<Option<Sqlite>, Problems> {
        let path = folder.join(DATABASE);
        if !path.exists() {
            if begun(folder) {
                return Err(lost(&folder.display().to_string()));
            }
            if !make {
                return Ok(None);
            }
        }
        let failed = |e: &std::io::Error| {
            Problems::from(
                Problem::new(format!("the ledger `{}` cannot be written: {}", folder.display(), crate::describe(e)))
                    .hint("say where it should be with `ledger` in the policy or `--ledger`"),
            )
        };
        if make {
            fs::create_dir_all(folder.join("kept")).map_err(|e| failed(&e))?;
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let flags = if make { flags | OpenFlags::SQLITE_OPEN_CREATE } else { flags };
        let connection = Connection::open_with_flags(&path, flags).map_err(|e| trouble(folder, &e))?;
        let mut store = Sqlite { folder: folder.to_path_buf(), connection, lock: None };
        store.prepare()?;
        Ok(Some(store))
    }

    /// Sees that the schema is ours and of this version; an older one is brought forward, with a copy of what was.
    fn prepare(&mut self) -> Result<(), Problems> {
        let (version, application, empty) = self.versions()?;
        let newest = MIGRATIONS.len() as i64;
        if version > newest {
            return Err(Problem::new(format!(
                "the ledger `{}` has version {version}, and this scumble knows {newest}",
                self.folder.display()
            ))
            .hint("use a newer scumble")
            .into());
        }
        if application != APPLICATION && (version != 0 || !empty) {
            let database = self.folder.join(DATABASE);
            return Err(Problem::new(format!("`{}` is not a ledger", database.display()))
                .hint("name another folder with `ledger`")
                .into());
        }
        if version == newest {
            return Ok(());
        }
        self.lock(Duration::from_secs(60))?;
        // Somebody else may have been faster.
        let (version, ..) = self.versions()?;
        if version == 0 && begun(&self.folder) {
            return Err(lost(&self.name()));
        }
        if version > 0 && version < newest {
            let backup = self.folder.join(format!("{DATABASE}.version-{version}"));
            fs::copy(self.folder.join(DATABASE), &backup).and_then(|_| File::open(&backup)?.sync_all()).map_err(
                |e| Problem::new(format!("the ledger cannot be copied before it is changed: {}", crate::describe(&e))),
            )?;
        }
        let result = self.run(|c| {
            let change = c.unchecked_transaction()?;
            for migration in MIGRATIONS.iter().skip(version as usize) {
                change.execute_batch(migration)?;
            }
            change.execute_batch(&format!("PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {newest}"))?;
            change.commit()
        });
        self.lock = None;
        result
    }

    /// Version and mark of the database, and whether nothing is in it: of one moment, because somebody may be making it.
    fn versions(&self) -> Result<(i64, i64, bool), Problems> {
        self.run(|c| {
            c.busy_timeout(Duration::from_secs(10))?;
            // Full: what was committed is on the disk.
            c.execute_batch("PRAGMA synchronous = FULL; PRAGMA trusted_schema = OFF")?;
            let moment = c.unchecked_transaction()?;
            let empty = moment.query_row("SELECT count(*) = 0 FROM sqlite_schema", [], |r| r.get(0))?;
            let version = moment.query_row("PRAGMA user_version", [], |r| r.get(0))?;
            let application = moment.query_row("PRAGMA application_id", [], |r| r.get(0))?;
            moment.commit()?;
            Ok((version, application, empty))
        })
    }

    fn run<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, Problems> {
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

    fn lock(&mut self, wait: Duration) -> Result<(), Problems> {
        let name = self.name();
        let mut file = self.lock_file()?;
        let attempt = || attempt(&mut file, &name);
        wait_for(wait, attempt, || held(&name, &self.holder()))?;
        self.lock = Some(file);
        Ok(())
    }

    fn try_lock(&mut self) -> Result<bool, Problems> {
        let name = self.name();
        let mut file = self.lock_file()?;
        let got = attempt(&mut file, &name)?;
        self.lock = got.then_some(file);
        Ok(got)
    }

    fn unlock(&mut self) -> Result<(), Problems> {
        self.lock = None;
        Ok(())
    }

    fn entries(&mut self) -> Result<Vec<Row>, Problems> {
        self.run(|c| {
            let mut statement = c.prepare("SELECT number, body, hash FROM entries ORDER BY number")?;
            let row = |r: &rusqlite::Row<'_>| {
                Ok(Row { number: r.get::<_, i64>(0)? as u64, body: r.get(1)?, hash: r.get(2)? })
            };
            statement.query_map([], row)?.collect()
        })
    }

    fn append(&mut self, row: &Row) -> Result<(), Problems> {
        let insert = "INSERT INTO entries (number, body, hash) VALUES (?1, ?2, ?3)";
        match self.connection.execute(insert, params![row.number as i64, row.body, row.hash]) {
            Ok(_) => Ok(()),
            Err(e) if e.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => Err(overtaken(&self.name())),
            Err(e) => Err(trouble(&self.folder, &e)),
        }
    }

    fn put(&mut self, hash: &str, bytes: &[u8]) -> Result<(), Problems> {
        // A file of that name holds that: it got the name only when it was complete.
        if self.kept(hash).exists() {
            return Ok(());
        }
        let path = self.unnamed(hash);
        let write = || {
            let mut file = File::create(&path)?;
            file.write_all(bytes)?;
            file.sync_all()?;
            File::open(self.folder.join("kept"))?.sync_all()
        };
        write().map_err(|e| {
            let _ = fs::remove_file(&path);
            Problem::new(format!("the ledger `{}` cannot be written: {}", self.name(), crate::describe(&e))).into()
        })
    }

    fn get(&mut self, hash: &str) -> Result<Vec<u8>, Problems> {
        let path = self.kept(hash);
        // It has no name yet if the run that added its entry was killed then, and may get it at this moment.
        let read = fs::read(&path).or_else(|_| fs::read(self.unnamed(hash))).or_else(|_| fs::read(&path));
        read.map_err(|e| {
            Problem::new(format!("a file of the ledger, `{}`, cannot be read: {}", path.display(), crate::describe(&e)))
                .hint("restore the ledger's folder from a copy; entries and files belong together")
                .into()
        })
    }

    fn begun(&mut self) -> Result<bool, Problems> {
        Ok(begun(&self.folder))
    }

    fn tidy(&mut self, named: &HashSet<String>, forgotten: &HashSet<String>) -> Result<(), Problems> {
        if !self.folder.join(BEGUN).exists() {
            let _ =
                fs::write(self.folder.join(BEGUN), "This ledger has entries. If its database is gone, restore it.\n");
        }
        let Ok(files) = fs::read_dir(self.folder.join("kept")) else { return Ok(()) };
        for path in files.flatten().map(|f| f.path()) {
            let hash = path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
            let unnamed = path.extension().is_some_and(|e| e == "unnamed");
            // A file with its name that no entry knows is left alone: the database may be an older copy, and whoever puts
            // the right one back needs it. What cannot be moved or removed does no harm.
            let _ = match unnamed {
                true if named.contains(&hash) => fs::rename(&path, self.kept(&hash)),
                true => fs::remove_file(&path),
                false if forgotten.contains(&hash) && !named.contains(&hash) => fs::remove_file(&path),
                false => Ok(()),
            };
        }
        Ok(())
    }
}

impl Sqlite {
    fn lock_file(&self) -> Result<File, Problems> {
        let path = self.folder.join("lock");
        OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path).map_err(|e| {
            Problem::new(format!("the ledger `{}` cannot be locked: {}", self.name(), crate::describe(&e))).into()
        })
    }
}

/// Tries to lock the file, and notes whose it is now. The system takes the lock back when a process ends, however it ends.
fn attempt(file: &mut File, name: &str) -> Result<bool, Problems> {
    match file.try_lock() {
        Ok(()) => {
            let note = format!("process {}, since {}\n", std::process::id(), super::now());
            let _ = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| file.write_all(note.as_bytes()));
            Ok(true)
        }
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(e)) => {
            Err(Problem::new(format!("the ledger `{name}` cannot be locked: {}", crate::describe(&e))).into())
        }
    }
}

/// Whether there ever were entries: their files are kept only for them, and so is the mark.
fn begun(folder: &Path) -> bool {
    let kept = || fs::read_dir(folder.join("kept")).is_ok_and(|mut files| files.next().is_some());
    folder.join(BEGUN).exists() || kept()
}

/// What is wrong with the database.
fn trouble(folder: &Path, e: &rusqlite::Error) -> Problems {
    let name = folder.display();
    let problem = match e.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            Problem::new(format!("the ledger `{name}` is damaged: its database cannot be read")).hint(RESTORE)
        }
        Some(ErrorCode::DiskFull) => Problem::new(format!("the ledger `{name}` cannot be written: the disk is full")),
        Some(ErrorCode::ReadOnly) => Problem::new(format!("the ledger `{name}` cannot be written: it is read-only")),
        Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            Problem::new(format!("the ledger `{name}` cannot be opened: permission denied, or no such folder"))
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => held(&name.to_string(), "").0.remove(0),
        _ => Problem::new(format!("the ledger `{name}` cannot be used: {e}")),
    };
    problem.into()
}
