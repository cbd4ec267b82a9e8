//! Where a ledger is kept: entries in the order they were written, and files named by the hash of
//! what is in them.

use super::entry::Row;
use crate::observer::Observer;
use scumble::failure::{Action, Failure, Failures, Remedy};
use std::collections::HashSet;
use std::time::{Duration, Instant};

/// Version of a ledger's tables, and of how its entries are chained.
pub const VERSION: i64 = 3;

/// A place that keeps a ledger. Everything that returns `Ok` is there after a power cut.
pub trait Store {
    /// What messages call it.
    fn name(&self) -> String;

    /// Waits for the right to write, for as long as is given or until the run is cancelled; while
    /// one has it, nobody else does.
    /// It ends with the value, and with the process whatever happens to it.
    fn lock(&mut self, wait: Duration, observer: &dyn Observer) -> Result<(), Failures>;

    /// Tries to get the right to write.
    fn try_lock(&mut self) -> Result<bool, Failures>;

    /// Whether the right to write is still ours: a server may have ended the session, or somebody
    /// removed the lock.
    fn holds(&mut self) -> Result<bool, Failures>;

    /// Gives the right back.
    fn unlock(&mut self) -> Result<(), Failures>;

    /// All entries in their order.
    fn entries(&mut self) -> Result<Vec<Row>, Failures>;

    /// Adds an entry. Refuses if there is one with its number.
    fn append(&mut self, row: &Row) -> Result<(), Failures>;

    /// Keeps a file for an entry that is about to be added. One that is there is left as it is.
    fn put(&mut self, hash: &str, bytes: &[u8]) -> Result<(), Failures>;

    /// A file; its hash is checked by the caller.
    fn get(&mut self, hash: &str) -> Result<Vec<u8>, Failures>;

    /// Whether there ever were entries, as far as it shows without them.
    fn begun(&mut self) -> Result<bool, Failures>;

    /// Puts the files in order after entries were added or a run was killed: those of `named` stay,
    /// those of `forgotten` go, and so does what was put for an entry that never came.
    fn tidy(
        &mut self,
        named: &HashSet<String>,
        forgotten: &HashSet<String>,
    ) -> Result<(), Failures>;
}

/// Somebody else has the right to write.
pub fn held(name: &str, by: &str) -> Failures {
    Failure::busy(
        "ledger-locked",
        format!("somebody else is publishing with the ledger `{name}`{by}"),
    )
    .file(name)
    .hint("wait until that is done; a release is judged against everything published before it")
    .into()
}

/// A ledger of another version.
pub fn other_version(name: &str, version: i64) -> Failures {
    let message =
        format!("the ledger `{name}` has version {version}, and this scumble knows {VERSION}");
    let remedy = if version > VERSION {
        Remedy::words("use a newer scumble")
    } else {
        Remedy::words(
            "its entries can be changed without a trace: publish with the scumble that made it, or begin another ledger \
             and record its releases there with ",
        )
        .and_run(Action::AddRelease)
    };
    Failure::data("unknown-version", message).file(name).remedy(remedy).into()
}

/// Whoever has the right to write lost it.
pub fn dispossessed(name: &str) -> Failures {
    Failure::busy("ledger-lock-lost", format!("the lock of the ledger `{name}` was lost while the release was made"))
        .hint("nothing was published; publish again, so that the release is judged against what others added meanwhile")
        .into()
}

/// There were entries, and there are none: a new ledger in its place would know nothing of what was
/// published.
pub fn lost(name: &str) -> Failures {
    Failure::data("ledger-damaged", format!("the ledger `{name}` is damaged: its entries are gone"))
        .hint(RESTORE)
        .into()
}

/// What to do about a ledger that cannot be read.
pub const RESTORE: &str = "restore it from a copy; do not publish without it, because nobody would know what was published";

/// Tries again and again until it works or time is up.
pub fn wait_for(
    (wait, observer): (Duration, &dyn Observer),
    mut attempt: impl FnMut() -> Result<bool, Failures>,
    held: impl FnOnce() -> Failures,
) -> Result<(), Failures> {
    let begun = Instant::now();
    loop {
        if attempt()? {
            return Ok(());
        }
        if begun.elapsed() >= wait {
            return Err(held());
        }
        observer.go_on()?;
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Somebody else wrote in the meantime although we had the right to.
pub fn overtaken(name: &str) -> Failures {
    Failure::busy("ledger-overtaken", format!("the ledger `{name}` has grown while this release was made"))
        .hint("nothing was published; publish again, so that the release is judged against what was added")
        .into()
}
