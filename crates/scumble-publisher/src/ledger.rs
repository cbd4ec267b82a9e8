//! The ledger: what was published, to whom, about whom; the memory that a gate needs.
//!
//! Entries are appended and never changed, and each carries a hash of itself and the one before,
//! keyed with the ledger's key, so that without the key no change goes unnoticed ([`Ledger::open`]
//! checks the chain every time); that the end was cut off is noticed by the [`Head`]. Beside them
//! the ledger keeps who was in which group of each release, as pseudonyms. Nothing in it names a
//! person or tells a value that was not published.
//!
//! Whoever publishes holds the lock from before the history is read until the release is recorded.
//! A release is announced ([`Entry::Intent`]) before its folder gets its name, and confirmed
//! afterwards; what a crash leaves open is resolved by whoever next opens the ledger with the lock.
//! Nobody is taken for dead without evidence: a release is abandoned only where its hidden folder
//! is found and nobody holds the lock of that folder.

mod entry;
mod files;
mod head;
mod key;
mod memory;
mod open;
mod persons;
mod postgres;
mod private;
pub mod records;
mod shows;
mod spelling;
mod sqlite;
mod store;

pub use entry::{Described, Entry, Kept, OpenColumn, Place, Row, Shown, Verdict, hex};
pub(crate) use files::label;
pub use files::{Counts, Groups, Members, read_places, write_places, write_pseudonyms};
pub use head::Head;
pub use key::{Key, Pseudonym};
pub(crate) use memory::{Added, New, Recollection};
pub(crate) use open::{Open, Openly};
pub use persons::Persons;
pub(crate) use persons::{Made as PseudonymsMade, pseudonyms};
pub(crate) use shows::{Label, Shows, guarded, observed};
pub(crate) use spelling::{Comparison, asked, fold, folded_pseudonyms};

use crate::answer::words;
use crate::dp::identity::Identity;
use crate::dp::purse::{Cap, Caps, Line, Paid};
use crate::observer::{Observer, Silent};
use crate::policy_file::PolicyFile;
use crate::publish::staging::{self, Found};
use crate::release::{manifest, own};
use head::Noted;
use schemars::JsonSchema;
use scumble::failure::{Action, Argument, Failure, Failures, Remedy};
use scumble::inference::Located;
use scumble::policy::is_postgres;
use scumble::taxonomy::iso_date;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use store::{Store, dispossessed, lost};

/// Where a ledger is, with its key and its head.
#[derive(Clone, Debug)]
pub struct Whereabouts {
    /// A folder, or the address of a database.
    pub ledger: String,
    /// The file of the key.
    pub key: PathBuf,
    /// Where the number and hash of the last entry are noted.
    pub head: Head,
}

impl Whereabouts {
    /// Of a ledger that is named relative to a folder. The key of a folder stands beside it, unless
    /// it is named; the head stands beside the key.
    pub fn new(base: &Path, ledger: &str, key: Option<&str>, head: Option<&str>) -> Whereabouts {
        let is_database = is_postgres(ledger);
        let place = if is_database {
            ledger.to_owned()
        } else {
            beside(base, ledger).display().to_string()
        };
        let key = match key {
            Some(key) => beside(base, key),
            None if is_database => beside(base, "ledger.key"),
            None => PathBuf::from(format!("{}.key", place.trim_end_matches('/'))),
        };
        let address = head.filter(|head| is_postgres(head));
        let file = match head.filter(|_| address.is_none()) {
            Some(head) => beside(base, head),
            None => key.with_extension("head"),
        };
        let name = match is_database {
            true => place.clone(),
            false => std::path::absolute(&place)
                .map_or_else(|_| place.clone(), |path| path.display().to_string()),
        };
        Whereabouts { ledger: place, key, head: Head::new(file, &name, address) }
    }

    /// Of the ledger that is named, relative to where one stands; else of the policy's; else of the
    /// folder `ledger` where one stands.
    pub fn find(
        policy: Option<&PolicyFile>,
        ledger: Option<&str>,
        key: Option<&str>,
        head: Option<&str>,
    ) -> Result<Whereabouts, Failures> {
        let Some(file) = policy.filter(|_| ledger.is_none()) else {
            return Ok(Whereabouts::new(Path::new(""), ledger.unwrap_or("ledger"), key, head));
        };
        let policy = file.policy()?;
        let (key, head) = (key.or(policy.key.as_deref()), head.or(policy.head.as_deref()));
        let named = policy.ledger.as_deref().unwrap_or("ledger");
        Ok(Whereabouts::new(&file.base, named, key, head))
    }

    fn store(&self, make: bool) -> Result<Option<Box<dyn Store>>, Failures> {
        if self.ledger.starts_with("postgres") && self.ledger.contains("://") {
            let store = postgres::Postgres::open(&self.ledger, make)?;
            return Ok(store.map(|s| Box::new(s) as Box<dyn Store>));
        }
        let store = sqlite::Sqlite::open(Path::new(&self.ledger), make)?;
        Ok(store.map(|s| Box::new(s) as Box<dyn Store>))
    }
}

impl Whereabouts {
    /// There is a key or a head and no ledger: a new one in its place would know nothing of what
    /// was published and spent.
    fn orphaned(&self) -> Failures {
        let left = match self.key.exists() {
            true => format!("key `{}` is", self.key.display()),
            false => format!("head {} is", self.head.places()),
        };
        let message = format!("the ledger `{}` is gone, and its {left} still there", self.ledger);
        Failure::data("ledger-lost", message)
            .hint(format!(
                "restore the ledger from a copy: what was published and spent is known to nobody else; to begin a new one \
                 on purpose, move `{}` and {} away or name others",
                self.key.display(),
                self.head.places()
            ))
            .into()
    }
}

fn beside(base: &Path, path: &str) -> PathBuf {
    crate::publish::source::beside(base, path)
}

words! {
    /// How a release stands.
    pub enum Standing {
        /// It was announced, and is neither confirmed nor abandoned: it counts as published.
        Announced = "announced",
        /// It was published.
        Published = "published",
        /// It was made elsewhere.
        Added = "added",
        /// It was never written.
        Abandoned = "abandoned",
        /// It was published, and nobody has it.
        Withdrawn = "withdrawn",
    }
}

impl Standing {
    /// Whether somebody may have it.
    pub fn counts(self) -> bool {
        matches!(self, Standing::Announced | Standing::Published | Standing::Added)
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
    place: Whereabouts,
    store: Box<dyn Store>,
    key: Key,
    rows: Vec<Row>,
    releases: Vec<Recorded>,
    spent: Vec<Line>,
    identities: Vec<(String, Identity)>,
    caps: Vec<(String, Caps)>,
    /// Answers by the number of their price's entry, as names of kept files.
    answers: Vec<(u64, String)>,
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
    pub fn open(place: &Whereabouts, access: Access) -> Result<Option<Ledger>, Failures> {
        Ledger::open_unless(place, access, &Silent)
    }

    /// The same; waiting for others and reading end when the run is cancelled.
    pub fn open_unless(
        place: &Whereabouts,
        access: Access,
        observer: &dyn Observer,
    ) -> Result<Option<Ledger>, Failures> {
        // Asked first: key and head are there only after the first entry was written.
        let keyed = place.key.exists() || place.head.is_noted()?;
        let make = matches!(access, Access::Write { make: true, .. });
        let Some(mut store) = place.store(make && !keyed)? else {
            return if keyed { Err(place.orphaned()) } else { Ok(None) };
        };
        let locked = match access {
            Access::Write { wait, .. } => store.lock(wait, observer).map(|()| true)?,
            // A folder that cannot be written to can still be looked at.
            Access::Read => store.try_lock().unwrap_or(false),
        };
        let rows = store.entries()?;
        if !rows.is_empty() {
            observer.go_on()?;
        }
        if rows.is_empty() && keyed {
            return Err(place.orphaned());
        }
        if rows.is_empty() && store.begun()? {
            return Err(lost(&store.name()));
        }
        if rows.is_empty() && !make {
            return Ok(None);
        }
        let mut ledger = match rows.first() {
            None => Ledger::begin(place, store)?,
            Some(first) => {
                let key = key_of(place, &store.name(), first)?;
                Ledger::of(place, store, key)
            }
        };
        for row in rows {
            ledger.take(row)?;
        }
        ledger.compare_head(locked, access)?;
        if locked {
            ledger.resolve()?;
            ledger.remove_leftovers();
        }
        if locked && access == Access::Read {
            // Others may publish while this one is looked at.
            ledger.store.unlock()?;
        }
        Ok(Some(ledger))
    }

    /// A new ledger with its first entry. The key gets its name after that entry, so that a key
    /// without entries is known to have lost its ledger, whenever this run ends.
    fn begin(place: &Whereabouts, store: Box<dyn Store>) -> Result<Ledger, Failures> {
        let draft = Key::draft(&place.key)?;
        let mut ledger = Ledger::of(place, store, draft.key.clone());
        let made_by = format!("scumble {}", env!("CARGO_PKG_VERSION"));
        // If this fails, the draft stays: the entry may be there all the same, and the next run
        // finds its key by it.
        ledger.append(&Entry::Opened { at: now(), made_by, key_check: ledger.key.check() })?;
        draft.settle()?;
        Ok(ledger)
    }

    fn of(place: &Whereabouts, store: Box<dyn Store>, key: Key) -> Ledger {
        Ledger {
            place: place.clone(),
            store,
            key,
            rows: Vec::new(),
            releases: Vec::new(),
            spent: Vec::new(),
            identities: Vec::new(),
            caps: Vec::new(),
            answers: Vec::new(),
            resolved: Vec::new(),
        }
    }

    /// Compares the entries with the head that was noted, and notes the last one.
    fn compare_head(&mut self, locked: bool, access: Access) -> Result<(), Failures> {
        let head = self.place.head.clone();
        let (noted, absent) = head.compare(&self.name(), &self.rows)?;
        // A run that was killed between the first entry and its note is no reason to worry.
        for place in absent.iter().filter(|_| self.rows.len() > 1) {
            self.resolved.push(format!(
                "{place} was not there: whether entries of the ledger were cut off earlier is not known; it is kept from now on",
            ));
        }
        if !locked {
            return Ok(());
        }
        let Some(last) = self.rows.last().filter(|_| noted != Noted::Last) else { return Ok(()) };
        match head.note(last, head.writing().as_deref()) {
            // Whoever only looks is not kept from it.
            Err(problems) if access == Access::Read => {
                self.resolved.extend(problems.0.into_iter().map(|p| p.message));
                Ok(())
            }
            other => other,
        }
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

    /// Hash of the last entry; empty before the first.
    pub fn head(&self) -> &str {
        self.rows.last().map_or("", |r| &r.hash)
    }

    /// Every release, in the order of their entries.
    pub fn releases(&self) -> &[Recorded] {
        &self.releases
    }

    /// What was spent of privacy budgets.
    pub fn spent(&self) -> &[Line] {
        &self.spent
    }

    /// What data of a name were recognised by, in the order in which they were recorded.
    pub fn identities(&self) -> &[(String, Identity)] {
        &self.identities
    }

    /// Budgets that were set, by the names of data.
    pub fn caps(&self) -> &[(String, Caps)] {
        &self.caps
    }

    /// The answer that was given for the price of an entry, as JSON.
    pub fn answer(&mut self, spent: u64) -> Result<Vec<u8>, Failures> {
        let Some((_, hash)) = self.answers.iter().rev().find(|(number, _)| *number == spent) else {
            let known: Vec<String> =
                self.answers.iter().rev().take(10).map(|(n, _)| n.to_string()).collect();
            let hint = match known.as_slice() {
                [] => "no answer is recorded".into(),
                _ => format!("the last answers are those of {}", known.join(", ")),
            };
            return Err(Failure::usage(
                "no-answer",
                format!("entry {spent} of the ledger `{}` has no answer", self.name()),
            )
            .hint(hint)
            .into());
        };
        let hash = hash.clone();
        self.kept(&hash)
    }

    /// Those that somebody may have.
    pub fn given(&self) -> impl Iterator<Item = &Recorded> {
        self.releases.iter().filter(|r| r.standing.counts())
    }

    /// Takes an entry that was read: checks that it follows from the one before, and what it means.
    fn take(&mut self, row: Row) -> Result<(), Failures> {
        let expected = self.rows.len() as u64 + 1;
        let hash = self.key.link(self.head(), expected, &row.body);
        if row.number != expected || row.hash != hash {
            return Err(Failure::data(
                "ledger-changed",
                format!(
                    "the ledger `{}` was changed: entry {expected} is not the one that was written",
                    self.name()
                ),
            )
            .remedy(
                Remedy::words("restore it from a copy; ")
                    .and_run(Action::VerifyLedger)
                    .then(" tells how far it can be trusted"),
            )
            .into());
        }
        let entry: Entry = row.entry().map_err(|e| {
            Failure::data(
                "unknown-version",
                format!(
                    "entry {expected} of the ledger `{}` cannot be understood: {e}",
                    self.name()
                ),
            )
            .hint("use a newer scumble")
        })?;
        self.rows.push(row);
        self.understand(expected, entry)
    }

    fn understand(&mut self, number: u64, entry: Entry) -> Result<(), Failures> {
        let set = |releases: &mut Vec<Recorded>, of: u64, standing, sha256: Option<String>| {
            if let Some(r) = releases.iter_mut().find(|r| r.number == of) {
                r.standing = standing;
                r.sha256 = sha256.or(r.sha256.take());
            }
        };
        match entry {
            Entry::Opened { .. } => {}
            Entry::Intent(d) => self.record(number, *d, Standing::Announced),
            Entry::Added(d) => self.record(number, *d, Standing::Added),
            Entry::Released { intent, sha256, .. } => {
                set(&mut self.releases, intent, Standing::Published, Some(sha256));
            }
            Entry::Abandoned { intent, .. } => {
                set(&mut self.releases, intent, Standing::Abandoned, None)
            }
            Entry::Data { dataset, identity, .. } => self.identities.push((dataset, identity)),
            Entry::Budget { dataset, limit, each, .. } => {
                let read = |cap: &Cap| {
                    cap.limit().ok_or_else(|| {
                        Failure::data("ledger-damaged", format!("entry {number} of the ledger holds a budget that is no number")).hint(
                            "restore it from a copy: as long as it is unknown what may be spent, nothing is answered",
                        )
                    })
                };
                let caps =
                    Caps { limit: read(&limit)?, each: each.as_ref().map(read).transpose()? };
                self.caps.push((dataset, caps));
            }
            Entry::Answered { spent, answer, .. } => self.answers.push((spent, answer)),
            Entry::Spent { dataset, recipient, spends, seeded, .. } => {
                if spends.iter().any(|s| s.spend().is_none()) {
                    return Err(Failure::data("ledger-damaged", format!(
                        "entry {number} of the ledger `{}` holds a price that is no number",
                        self.name()
                    ))
                    .hint("restore it from a copy: as long as it is unknown what was spent, nothing is answered")
                    .into());
                }
                let line = |spend: Paid| Line {
                    dataset: dataset.clone(),
                    recipient: recipient.clone(),
                    spend,
                    seeded,
                };
                self.spent.extend(spends.into_iter().map(line));
            }
            Entry::Withdrawn { release, .. } => {
                set(&mut self.releases, release, Standing::Withdrawn, None)
            }
        }
        Ok(())
    }

    fn record(&mut self, number: u64, described: Described, standing: Standing) {
        self.releases.push(Recorded { number, described, standing, sha256: None });
    }

    /// Appends an entry; its number.
    pub fn append(&mut self, entry: &Entry) -> Result<u64, Failures> {
        let adds = matches!(entry, Entry::Intent(_) | Entry::Added(_));
        if adds {
            // Who lost the lock may also have lost the files that were put for the entry.
            self.must_hold()?;
        }
        let number = self.rows.len() as u64 + 1;
        let body = serde_json::to_string(entry).map_err(|e| {
            Failure::bug("not-json", format!("an entry of the ledger cannot be written: {e}"))
        })?;
        let hash = self.key.link(self.head(), number, &body);
        let row = Row { number, body, hash };
        self.store.append(&row)?;
        self.rows.push(row.clone());
        self.understand(number, entry.clone())?;
        self.place.head.note(&row, None)?;
        if adds || matches!(entry, Entry::Answered { .. }) {
            self.tidy()?;
        }
        Ok(number)
    }

    /// Says that a hidden folder is about to be made for a release that is not announced yet.
    pub fn will_write(&mut self, folder: &Path) -> Result<(), Failures> {
        self.rows.last().map_or(Ok(()), |last| self.place.head.note(last, Some(folder)))
    }

    /// Removes what runs that were killed left: beside the ledger, beside releases, and the folder
    /// of a release that was never announced.
    fn remove_leftovers(&self) {
        key::remove_leftovers(&self.place.key);
        for Recorded { described, standing, .. } in &self.releases {
            let folder = Path::new(&described.place.folder);
            if matches!(standing, Standing::Published | Standing::Abandoned) {
                staging::sweep(folder, &described.id);
            }
            if *standing == Standing::Published && described.replaces.is_some() && folder.exists() {
                staging::discard(folder, own::release);
            }
        }
        let head = &self.place.head;
        head.remove_leftover();
        if let (Some(folder), Some(last)) = (head.writing(), self.rows.last())
            && staging::remove_unused(&folder)
        {
            // If it cannot be noted now, the folder is looked for again.
            let _ = head.note(last, None);
        }
    }

    /// Refuses to go on if the right to write was lost: others may have written since.
    pub fn must_hold(&mut self) -> Result<(), Failures> {
        if self.store.holds()? { Ok(()) } else { Err(dispossessed(&self.name())) }
    }

    /// Records that an announced release has its place. That is true whatever happened to the
    /// ledger meanwhile: if it was lost or has grown, it is opened again, and if somebody took the
    /// release for abandoned, it counts again.
    pub fn confirm(&mut self, intent: u64, folder: &Path) -> Result<(), Failures> {
        let sha256 = manifest::sha256(folder)?;
        let entry = Entry::Released { intent, at: now(), sha256, recovered: false };
        let Err(problems) = self.append(&entry) else { return Ok(()) };
        let _ = self.store.unlock();
        let again = Ledger::open(&self.place, Access::Write { wait: AGAIN, make: false });
        let Ok(Some(mut again)) = again else { return Err(problems) };
        let id = |ledger: &Ledger| {
            let release = ledger.releases.iter().find(|r| r.number == intent);
            release.map(|r| (r.described.id.clone(), r.standing))
        };
        match (id(self), id(&again)) {
            (Some((ours, _)), Some((theirs, standing))) if ours == theirs => {
                if standing != Standing::Published {
                    again.append(&entry)?;
                }
                *self = again;
                Ok(())
            }
            _ => Err(problems),
        }
    }

    /// Keeps a file; its name.
    pub fn keep(&mut self, bytes: &[u8]) -> Result<String, Failures> {
        let hash = hex(&Sha256::digest(bytes));
        self.store.put(&hash, bytes)?;
        Ok(hash)
    }

    /// A file that was kept.
    pub fn kept(&mut self, hash: &str) -> Result<Vec<u8>, Failures> {
        let bytes = self.store.get(hash)?;
        if hex(&Sha256::digest(&bytes)) != hash {
            return Err(Failure::data(
                "ledger-changed",
                format!("a file that the ledger `{}` keeps was changed: {hash}", self.name()),
            )
            .hint("restore it from a copy")
            .into());
        }
        Ok(bytes)
    }

    /// Who is in a release: the people, and the places that they are in where these are not groups.
    pub fn members(&mut self, of: &Described) -> Result<Option<Attendance>, Failures> {
        let Some(hash) = &of.kept.members else { return Ok(None) };
        let members = Members::read(self.kept(hash)?, of.attributes.len())?;
        let places =
            of.kept.places.as_ref().map(|hash| read_places(self.kept(hash)?)).transpose()?;
        Ok(Some((members, places)))
    }

    /// Resolves what a crash left open: a release that has its place is confirmed; one whose hidden
    /// folder is there and belongs to nobody any more is abandoned. Where neither is to be seen, as
    /// from another machine or another container, nothing is known: the release stays open, and
    /// counts as published.
    fn resolve(&mut self) -> Result<(), Failures> {
        let open: Vec<Recorded> =
            self.releases.iter().filter(|r| r.standing == Standing::Announced).cloned().collect();
        for Recorded { number: intent, described, .. } in open {
            let Described { id, name, place: Place { machine, folder }, .. } = &described;
            let (path, at) = (Path::new(folder), now());
            let word = match staging::found(path, id) {
                Found::Complete => {
                    let sha256 = manifest::sha256(path)?;
                    self.append(&Entry::Released { intent, at, sha256, recovered: true })?;
                    "was published by a run that ended before it could say so; it is recorded now"
                        .to_owned()
                }
                Found::Abandoned => {
                    let because = "the run that announced it ended before it was written".into();
                    self.append(&Entry::Abandoned { intent, at, because })?;
                    "was announced by a run that ended before it was written; it was not published"
                        .to_owned()
                }
                Found::Unfinished => {
                    "is being written by a run that lost its lock; it counts as published"
                        .to_owned()
                }
                Found::Nothing => format!(
                    "was announced on {machine} and not confirmed, and nothing of it is to be seen at `{folder}` from here; it \
                     counts as published until the ledger is listed where it was written, or until it is withdrawn"
                ),
            };
            self.resolved.push(format!("`{name}` {word}"));
        }
        self.tidy()
    }

    /// Puts the files in order: those of releases that anybody may have had stay.
    fn tidy(&mut self) -> Result<(), Failures> {
        let (abandoned, others): (Vec<&Recorded>, _) =
            self.releases.iter().partition(|r| r.standing == Standing::Abandoned);
        let names = |of: Vec<&Recorded>| {
            of.iter().flat_map(|r| r.described.kept.names().cloned()).collect()
        };
        let (mut named, forgotten): (HashSet<String>, HashSet<String>) =
            (names(others), names(abandoned));
        named.extend(self.answers.iter().map(|(_, hash)| hash.clone()));
        self.store.tidy(&named, &forgotten)
    }

    /// Says that an announced release was not written after all.
    pub fn abandon(&mut self, intent: u64, because: &str) -> Result<(), Failures> {
        self.append(&Entry::Abandoned { intent, at: now(), because: because.into() })?;
        self.tidy()
    }
}

/// How long a confirmation waits for others.
const AGAIN: Duration = Duration::from_secs(60);

/// The key of a ledger whose first entry is given.
fn key_of(place: &Whereabouts, ledger: &str, first: &Row) -> Result<Key, Failures> {
    let check = match first.entry() {
        Ok(Entry::Opened { key_check, .. }) => key_check,
        // The chain will tell what is wrong.
        _ => String::new(),
    };
    let key = Key::open(&place.key, &check)?;
    if !check.is_empty() && key.check() != check {
        return Err(Failure::data(
            "wrong-ledger-key",
            format!("the key does not belong to the ledger `{ledger}`"),
        )
        .remedy(
            Remedy::words("name the file of its key with `key` in the policy or ")
                .and_give(Argument::Key),
        )
        .into());
    }
    Ok(key)
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
