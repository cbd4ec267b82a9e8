//! What an untrusted file may do to the process: a panic of the library that decodes it becomes a
//! failure, and the memory that it asks for is bounded by a multiple of its size.
//!
//! Columnar formats state the sizes of what they hold, repeat values for next to nothing, and are
//! decoded by libraries that check much and not everything. A file of a few kilobytes could stop
//! the process or take all memory. So sizes that a file states are compared with [`Meter`] before
//! they are believed, what is decoded is counted while it grows, and every call into such a library
//! is made through [`guarded`].

use scumble::failure::{Failure, Failures};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};

/// A file may take so many times its size in memory.
pub const MULTIPLE: u64 = 64;
/// So much memory any file may take.
pub const AT_LEAST: u64 = 1 << 30;
/// The environment variable that replaces both: bytes, or a number with `K`, `M`, `G` or `T`.
pub const VARIABLE: &str = "SCUMBLE_MEMORY";

thread_local! {
    /// Whether a panic of this thread is caught and told otherwise.
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Something panicked, and was stopped there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Panicked;

/// Calls into a library that may panic on what it decodes. The panic is not printed: its message
/// may hold data.
pub(crate) fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, Panicked> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let loud = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !QUIET.get() {
                loud(info);
            }
        }));
    });
    let before = QUIET.replace(true);
    // What the work was about to change is dropped with it: callers stop at the first failure.
    let result = catch_unwind(AssertUnwindSafe(work)).map_err(|_| Panicked);
    QUIET.set(before);
    result
}

/// Memory that what is decoded from a file takes, and how much it may take.
#[derive(Debug)]
pub(crate) struct Meter {
    used: AtomicU64,
    limit: u64,
}

impl Meter {
    /// For a file of this size.
    pub fn new(bytes: u64) -> Result<Meter, Failures> {
        let limit = match std::env::var(VARIABLE) {
            Ok(text) => parse(&text).ok_or_else(|| {
                Failure::usage(
                    "wrong-environment",
                    format!("`{VARIABLE}` must be a number of bytes such as `4G`, not `{text}`"),
                )
            })?,
            Err(_) => AT_LEAST.max(bytes.saturating_mul(MULTIPLE)),
        };
        Ok(Meter { used: AtomicU64::new(0), limit })
    }

    /// For what is not a file, or is counted elsewhere.
    pub fn unlimited() -> Meter {
        Meter { used: AtomicU64::new(0), limit: u64::MAX }
    }

    /// Counts so many bytes more; whether they are still within the limit.
    pub fn take(&self, bytes: u64) -> bool {
        let before = self.used.fetch_add(bytes, Ordering::Relaxed);
        before.saturating_add(bytes) <= self.limit
    }

    /// Counts bytes that the file says it needs.
    pub fn claim(&self, path: &Path, bytes: u128) -> Result<(), Failures> {
        match u64::try_from(bytes) {
            Ok(bytes) if self.take(bytes) => Ok(()),
            _ => Err(self.too_large(path)),
        }
    }

    /// The file needs more than it may.
    pub fn too_large(&self, path: &Path) -> Failures {
        let message =
            format!("`{}` would take more than {} of memory", path.display(), shown(self.limit));
        let hint = format!(
            "a file may take {MULTIPLE} times its size, and at least {}; if it is to be trusted, allow more with the \
             environment variable `{VARIABLE}`, such as `{VARIABLE}=16G`",
            shown(AT_LEAST)
        );
        Failure::refused("memory-limit", message).hint(hint).into()
    }
}

fn parse(text: &str) -> Option<u64> {
    let text = text.trim();
    let power = match text.bytes().last()?.to_ascii_uppercase() {
        b'K' => 10,
        b'M' => 20,
        b'G' => 30,
        b'T' => 40,
        _ => return text.parse().ok(),
    };
    text[..text.len() - 1].trim().parse::<u64>().ok()?.checked_mul(1 << power)
}

/// Bytes in the largest unit of which there is at least one.
fn shown(bytes: u64) -> String {
    match bytes {
        0..0x10_0000 => format!("{bytes} bytes"),
        0x10_0000..0x4000_0000 => format!("{} MB", bytes >> 20),
        _ => format!("{} GB", bytes >> 30),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_failure_and_others_stay_loud() {
        assert_eq!(guarded(|| 1).ok(), Some(1));
        assert!(guarded(|| -> u8 { panic!("of a dependency") }).is_err());
        assert!(guarded(|| guarded(|| panic!("within")).is_err()).is_ok_and(|inner| inner));
        assert!(!QUIET.get());
    }

    #[test]
    fn sizes_are_read_with_their_units() {
        let all =
            [("17", Some(17)), ("4k", Some(4096)), (" 2 G", Some(2 << 30)), ("1T", Some(1 << 40))];
        for (text, bytes) in
            all.into_iter().chain([("", None), ("G", None), ("-1", None), ("99999999T", None)])
        {
            assert_eq!(parse(text), bytes, "{text}");
        }
    }

    #[test]
    fn a_meter_refuses_what_goes_beyond_its_limit() {
        let meter = Meter { used: AtomicU64::new(0), limit: 100 };
        assert!(meter.take(60) && meter.take(40) && !meter.take(1));
        assert!(meter.claim(Path::new("x"), u128::MAX).is_err());
    }
}
