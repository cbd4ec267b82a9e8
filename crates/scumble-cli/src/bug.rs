//! Panics, told as what they are: a bug of this program, with a place and without data.

use scumble::failure::{Failure, Failures};
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::sync::{Mutex, PoisonError};

/// Where the first panic was.
static PLACE: Mutex<Option<String>> = Mutex::new(None);

/// Does the work of a command. If it panics, what it was about to write is taken back while the
/// stack unwinds, and the failure says that this is a bug. The text of a panic may quote data, so it
/// is printed only to whoever asks for a backtrace.
pub fn told<T>(work: impl FnOnce() -> Result<T, Failures>) -> Result<T, Failures> {
    let loud = std::panic::take_hook();
    let backtrace = std::env::var_os("RUST_BACKTRACE").is_some_and(|v| v != "0");
    std::panic::set_hook(Box::new(move |info| {
        note(info);
        if backtrace {
            loud(info);
        }
    }));
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(panicked().into()))
}

fn note(info: &PanicHookInfo<'_>) {
    let mut place = PLACE.lock().unwrap_or_else(PoisonError::into_inner);
    if place.is_none() {
        *place = info.location().map(|at| format!(" at {}:{}", at.file(), at.line()));
    }
}

fn panicked() -> Failure {
    let place = PLACE.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or_default();
    Failure::bug("panic", format!("scumble stopped in the middle of its work{place}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use scumble::failure::Kind;

    #[test]
    fn a_panic_is_told_as_a_bug_without_its_text() {
        let told = told(|| -> Result<(), Failures> {
            let value = "the diagnosis of Ann";
            std::thread::scope(|s| {
                let thread = s.spawn(|| panic!("{value}"));
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
        });
        let failure = &told.expect_err("it panics").0[0];
        assert_eq!((failure.kind, failure.code), (Kind::Bug, "panic"));
        let text = failure.to_string();
        assert!(text.contains("bug.rs:") && text.contains("please report"), "{text}");
        assert!(text.contains(env!("CARGO_PKG_VERSION")) && !text.contains("Ann"), "{text}");
        assert!(told_nothing().is_ok());
    }

    fn told_nothing() -> Result<(), Failures> {
        told(|| Ok(()))
    }
}
