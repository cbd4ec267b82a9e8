//! The ledger: what was published, to whom, about whom; the memory that a gate needs.
//!
//! Entries are appended and never changed, and each carries the hash of the one before, so that any change shows
//! ([`Ledger::open`] checks the chain every time). Beside them the ledger keeps who was in which group of each release,
//! as pseudonyms. Nothing in it names a person or tells a value that was not published.
//!
//! Whoever publishes holds the lock from before the history is read until the release is recorded. A release is announced
//! ([`Entry::Intent`]) before its folder gets its name, and confirmed afterwards; what a crash leaves open is resolved by
//! whoever next opens the ledger with the lock.

mod entry;
mod files;
mod key;
mod memory;
mod postgres;
mod spelling;
mod sqlite;
mod store;

pub use entry::{Described, Entry, Kept, Place, Row, Verdict, hex};
pub(crate) use files::label;
pub use files::{Counts, Groups, Members, read_places, write_places, write_pseudonyms};
pub use key::{Key, Pseudonym};
pub(crate) use memory::{Added, New, Recollection, pseudonyms};
pub(crate) use spelling::{Comparison, folded_pseudonyms};

use crate::dp::purse::{Line, Paid};
use crate::release::manifest;
use crate::staging;
use entry::BEGINNING;
use scumble::inference::Located;
use scumble::policy::is_postgres;
use scumble::problem::{Problem, Problems};
use scumble::taxonomy::iso_date;
use sha2::{Digest, Sha256};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use store::{Store, lost};

/// Where a ledger is, and its key.
#[derive(Clone, Debug)]
pub struct Whereabouts {
    /// A folder, or the address of a database.
    pub ledger: String,
    /// The file of the key.
    pub key: PathBuf,
}

impl Whereabouts {
    /// Of a ledger that is named relative to a folder. The key of a folder stands beside it, unless it is named.
    pub fn new(base: &Path, ledger: &str, key: Option<&str>) -> Whereabouts {
        let is_database = is_postgres(ledger);
        let place = if is_database { ledger.to_owned() } else { beside(base, ledger).display().to_string() };
        let key = match key {
            Some(key) => beside(base, key),
            None if is_database => beside(base, "ledger.key"),
            None => PathBuf::from(format!("{}.key", place.trim_end_matches('/'))),
        };
        Whereabouts { ledger: place, key }
    }

    fn store(&self, make: bool) -> Result<Option<Box<dyn Store>>, Problems> {
        if self.ledger.starts_with("postgres") && self.ledger.contains("://") {
            let store = postgres::Postgres::open(&self.ledger, make)?;
            return Ok(store.map(|s| Box::new(s) as Box<dyn Store>));
        }
        let store = sqlite::Sqlite::open(Path::new(&self.ledger), make)?;
        Ok(store.map(|s| Box::new(s) as Box<dyn Store>))
    }
}

fn beside(base: &Path, path: &str) -> PathBuf {
    crate::source::beside(base, path)
}

/// How a release stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It was announced, and is neither confirmed nor abandoned: it counts as published.
    Announced,
    /// It was published.
    Published,
    /// It was made elsewhere.
    Added,
    /// It was never written.
    Abandoned,
    /// It was published, and nobody has it.
    Withdrawn,
}

impl Standing {
    /// Whether somebody may have it.
    pub fn counts(self) -> bool {
        matches!(self, Standing::Announced | Standing::Published | Standing::Added)
    }

    /// In a word.
    pub fn word(self) -> &'static str {
        match self {
            Standing::Announced => "announced",
            Standing::Published => "published",
            Standing::Added => "added",
            Standing::Abandoned => "abandoned",
            Standing::Withdrawn => "withdrawn",
        }
    }
}

/// A release of the ledger.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// Number of its entry.
    pub number: u64,
    /// What is known of it.
    pub described: Described,
    /// How it stands.
    pub standing: Standing,
    /// SHA-256 of its manifest, which has those of its data files, once it is published.
    pub sha256: Option<String>,
}

/// An open ledger.
pub struct Ledger {
    store: Box<dyn Store>,
    key: Key,
    rows: Vec<Row>,
    releases: Vec<Recorded>,
    spent: Vec<Line>,
    /// What was found to be resolved when it was opened, in words.
    pub resolved: Vec<String>,
}

/// Who is in a release, and the places that they are in where these are not groups.
pub type Attendance = (Members, Option<Vec<Located>>);

/// How to open a ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// To look at it. What a crash left open is resolved if nobody is publishing.
    Read,
    /// To write to it.
    Write {
        /// For so long it waits for others.
        wait: Duration,
        /// Whether it is made if it is not there.
        make: bool,
    },
}

impl Ledger {
    /// Opens a ledger and checks its chain; `None` if there is none and none is to be made.
    pub fn open(place: &Whereabouts, access: Access) -> Result<Option<Ledger>, Problems> {
        let make = matches!(access, Access::Write { make: true, .. });
        let Some(mut store) = place.store(make)? else { return Ok(None) };
        let locked = match access {
            Access::Write { wait, .. } => store.lock(wait).map(|()| true)?,
            // A folder that cannot be written to can still be looked at.
            Access::Read => store.try_lock().unwrap_or(false),
        };
        let rows = store.entries()?;
        if rows.is_empty() && store.begun()? {
            return Err(lost(&store.name()));
        }
        if rows.is_empty() && !make {
            return Ok(None);
        }
        let key = Key::open(&place.key, rows.is_empty())?;
        let mut ledger =
            Ledger { store, key, rows: Vec::new(), releases: Vec::new(), spent: Vec::new(), resolved: Vec::new() };
        if rows.is_empty() {
            let made_by = format!("scumble {}", env!("CARGO_PKG_VERSION"));
            ledger.append(&Entry::Opened { at: now(), made_by, key_check: ledger.key.check() })?;
        }
        for row in rows {
            ledger.take(row)?;
        }
        if locked {
            ledger.resolve()?;
        }
        if locked && access == Access::Read {
            // Others may publish while this one is looked at.
            ledger.store.unlock()?;
        }
        Ok(Some(ledger))
    }

    /// What messages call it.
    pub fn name(&self) -> String {
        self.store.name()
    }

    /// The key.
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// The entries as they are stored.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The entry of a number, if there is one.
    pub fn row(&self, number: u64) -> Option<&Row> {
        self.rows.get(usize::try_from(number).ok()?.checked_sub(1)?)
    }

    /// Hash of the last entry.
    pub fn head(&self) -> &str {
        self.rows.last().map_or(BEGINNING, |r| &r.hash)
    }

    /// Every release, in the order of their entries.
    pub fn releases(&self) -> &[Recorded] {
        &self.releases
    }

    /// What was spent of privacy budgets.
    pub fn spent(&self) -> &[Line] {
        &self.spent
    }

    /// Those that somebody may have.
    pub fn given(&self) -> impl Iterator<Item = &Recorded> {
        self.releases.iter().filter(|r| r.standing.counts())
    }

    /// Takes an entry that was read: checks that it follows from the one before, and what it means.
    fn take(&mut self, row: Row) -> Result<(), Problems> {
        let expected = self.rows.len() as u64 + 1;
        let hash = Row::hash(self.head(), expected, &row.body);
        if row.number != expected || row.hash != hash {
            return Err(Problem::new(format!(
                "the ledger `{}` was changed: entry {expected} is not the one that was written",
                self.name()
            ))
            .hint("restore it from a copy; `scumble ledger verify` tells how far it can be trusted")
            .into());
        }
        let entry: Entry = row.entry().map_err(|e| {
            Problem::new(format!("entry {expected} of the ledger `{}` cannot be understood: {e}", self.name()))
                .hint("use a newer scumble")
        })?;
        self.rows.push(row);
        self.understand(expected, entry)
    }

    fn understand(&mut self, number: u64, entry: Entry) -> Result<(), Problems> {
        let set = |releases: &mut Vec<Recorded>, of: u64, standing, sha256: Option<String>| {
            if let Some(r) = releases.iter_mut().find(|r| r.number == of) {
                r.standing = standing;
                r.sha256 = sha256.or(r.sha256.take());
            }
        };
        match entry {
            Entry::Opened { key_check, .. } if key_check != self.key.check() => {
                return Err(Problem::new(format!("the key does not belong to the ledger `{}`", self.name()))
                    .hint("name the file of its key with `key` in the policy or `--key`")
                    .into());
            }
            Entry::Opened { .. } => {}
            Entry::Intent(d) => self.record(number, *d, Standing::Announced),
            Entry::Added(d) => self.record(number, *d, Standing::Added),
            Entry::Released { intent, sha256, .. } => {
                set(&mut self.releases, intent, Standing::Published, Some(sha256));
            }
            Entry::Abandoned { intent, .. } => set(&mut self.releases, intent, Standing::Abandoned, None),
            Entry::Spent { dataset, recipient, spends, .. } => {
                if spends.iter().any(|s| s.spend().is_none()) {
                    return Err(Problem::new(format!(
                        "entry {number} of the ledger `{}` holds a price that is no number",
                        self.name()
                    ))
                    .hint("restore it from a copy: as long as it is unknown what was spent, nothing is answered")
                    .into());
                }
                let line = |spend: Paid| Line { dataset: dataset.clone(), recipient: recipient.clone(), spend };
                self.spent.extend(spends.into_iter().map(line));
            }
            Entry::Withdrawn { release, .. } => set(&mut self.releases, release, Standing::Withdrawn, None),
        }
        Ok(())
    }

    fn record(&mut self, number: u64, described: Described, standing: Standing) {
        self.releases.push(Recorded { number, described, standing, sha256: None });
    }

    /// Appends an entry; its number.
    pub fn append(&mut self, entry: &Entry) -> Result<u64, Problems> {
        let number = self.rows.len() as u64 + 1;
        let body = serde_json::to_string(entry)
            .map_err(|e| Problem::new(format!("an entry of the ledger cannot be written: {e}")))?;
        let row = Row::new(self.head(), number, body);
        self.store.append(&row)?;
        self.rows.push(row);
        self.understand(number, entry.clone())?;
        if matches!(entry, Entry::Intent(_) | Entry::Added(_)) {
            self.tidy()?;
        }
        Ok(number)
    }

    /// Keeps a file; its name.
    pub fn keep(&mut self, bytes: &[u8]) -> Result<String, Problems> {
        let hash = hex(&Sha256::digest(bytes));
        self.store.put(&hash, bytes)?;
        Ok(hash)
    }

    /// A file that was kept.
    pub fn kept(&mut self, hash: &str) -> Result<Vec<u8>, Problems> {
        let bytes = self.store.get(hash)?;
        if hex(&Sha256::digest(&bytes)) != hash {
            return Err(Problem::new(format!("a file that the ledger `{}` keeps was changed: {hash}", self.name()))
                .hint("restore it from a copy")
                .into());
        }
        Ok(bytes)
    }

    /// Who is in a release: the people, and the places that they are in where these are not groups.
    pub fn members(&mut self, of: &Described) -> Result<Option<Attendance>, Problems> {
        let Some(hash) = &of.kept.members else { return Ok(None) };
        let members = Members::read(self.kept(hash)?, of.attributes.len())?;
        let places = of.kept.places.as_ref().map(|hash| read_places(self.kept(hash)?)).transpose()?;
        Ok(Some((members, places)))
    }

    /// Resolves what a crash left open: a release that has its place is confirmed, one that has not is abandoned. What
    /// was announced on another machine stays open, and counts as published.
    fn resolve(&mut self) -> Result<(), Problems> {
        let open: Vec<Recorded> = self.releases.iter().filter(|r| r.standing == Standing::Announced).cloned().collect();
        for release in open {
            let Place { machine: on, folder } = &release.described.place;
            if *on != machine() {
                self.resolved.push(format!(
                    "`{}` was announced on {on} and not confirmed; it counts as published until `scumble ledger list` is \
                     run there",
                    release.described.name
                ));
                continue;
            }
            let folder = Path::new(folder);
            staging::restore(folder);
            let there = manifest::read(folder).ok().filter(|m| m.id.as_deref() == Some(&release.described.id));
            let (intent, at) = (release.number, now());
            match there {
                Some(_) => {
                    let sha256 = manifest::sha256(folder)?;
                    self.append(&Entry::Released { intent, at, sha256, recovered: true })?;
                    let word = "was published by a run that ended before it could say so; it is recorded now";
                    self.resolved.push(format!("`{}` {word}", release.described.name));
                }
                None => {
                    let because = "the run that announced it ended before it was written".into();
                    self.append(&Entry::Abandoned { intent, at, because })?;
                    let word = "was announced by a run that ended before it was written; it was not published";
                    self.resolved.push(format!("`{}` {word}", release.described.name));
                }
            }
        }
        self.tidy()
    }

    /// Puts the files in order: those of releases that anybody may have had stay.
    fn tidy(&mut self) -> Result<(), Problems> {
        let (abandoned, others): (Vec<&Recorded>, _) =
            self.releases.iter().partition(|r| r.standing == Standing::Abandoned);
        let names = |of: Vec<&Recorded>| of.iter().flat_map(|r| r.described.kept.names().cloned()).collect();
        let (named, forgotten): (HashSet<String>, HashSet<String>) = (names(others), names(abandoned));
        self.store.tidy(&named, &forgotten)
    }

    /// Says that an announced release was not written after all.
    pub fn abandon(&mut self, intent: u64, because: &str) -> Result<(), Problems> {
        self.append(&Entry::Abandoned { intent, at: now(), because: because.into() })?;
        self.tidy()
    }
}

/// The time, in UTC, to the second.
pub fn now() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    let (day, rest) = ((seconds / 86_400) as i64, seconds % 86_400);
    format!("{}T{:02}:{:02}:{:02}Z", iso_date(day), rest / 3600, rest / 60 % 60, rest % 60)
}

/// The name of this machine.
pub fn machine() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    if name.trim().is_empty() { "this machine".into() } else { name.trim().into() }
}

#[cfg(test)]
mod tests;
