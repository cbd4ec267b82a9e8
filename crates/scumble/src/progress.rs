//! Progress and cancellation of long computations, without a clock.
//!
//! Whoever starts a long computation hands in a [`Progress`]. The computation tells it how far it
//! has come and is told whether to go on. Everything that takes long on a large table asks at
//! least every tenth of a second of work, so that a cancelled run ends soon.
//!
//! There are two reasons to stop. *Cancelled* ([`Report::at`] answers `false`) means that nobody
//! wants the result: a function returns as soon as it can, with [`Failure::cancelled`] or
//! with a result that its caller throws away. *Late* ([`Report::is_late`]) means that time is up
//! and a result is wanted all the same: an algorithm that improves what it has returns the best so
//! far. The two are told apart because an algorithm that is late must still find something that
//! may be published. In what judges, work is counted rather than timed, so that every machine comes
//! to the same answer; the clock is only the outer limit.

use crate::failure::Failure;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Where a long computation reports to. A closure of two numbers that answers whether to go on is
/// one; `&|_, _| true` is for those who want to hear nothing.
pub type Progress<'a> = &'a dyn Report;

/// Takes reports of progress. Called from several threads.
pub trait Report: Sync {
    /// Takes how much is done of how much (0 if that is not known). Whether to go on: once it
    /// answers `false`, the computation is cancelled.
    fn at(&self, done: u64, total: u64) -> bool;

    /// Whether time is up, so that what was found so far must do.
    fn is_late(&self) -> bool {
        false
    }
}

impl<F: Fn(u64, u64) -> bool + Sync> Report for F {
    fn at(&self, done: u64, total: u64) -> bool {
        self(done, total)
    }
}

impl dyn Report + '_ {
    /// The same as [`Report::at`] for a search that has a result already: whether to look for a
    /// better one.
    pub fn improves(&self, done: u64, total: u64) -> bool {
        self.at(done, total) && !self.is_late()
    }

    /// The same as [`Report::at`], with a failure if it is cancelled.
    pub fn step(&self, done: u64, total: u64) -> Result<(), Failure> {
        if self.at(done, total) { Ok(()) } else { Err(Failure::cancelled()) }
    }
}

/// Adds up the work of several threads and remembers that it was cancelled.
///
/// [`Watch::stopped`] costs one load and may be asked in every turn of a loop; somebody has to
/// call [`Watch::add`] or [`Watch::go_on`] now and then, which ask the reporter.
///
/// A watch that is [timed](Watch::timed) stops when time is up, too. Whoever holds it asks
/// [`Watch::check`] whether the result is still wanted, and [`Watch::out_of_time`] whether it is
/// incomplete.
pub struct Watch<'a> {
    progress: Progress<'a>,
    done: AtomicU64,
    total: u64,
    /// Units of work since the reporter was last asked.
    unasked: AtomicU64,
    stopped: AtomicBool,
    /// Whether being late is a reason to stop.
    timed: bool,
    /// Whether it stopped for that reason.
    out_of_time: AtomicBool,
}

impl<'a> Watch<'a> {
    /// A computation of so much work; 0 if that is not known.
    pub fn new(progress: Progress<'a>, total: u64) -> Watch<'a> {
        Watch {
            progress,
            done: AtomicU64::new(0),
            total,
            unasked: AtomicU64::new(0),
            stopped: AtomicBool::new(false),
            timed: false,
            out_of_time: AtomicBool::new(false),
        }
    }

    /// The same for a search that ends with what it has when time is up.
    pub fn timed(progress: Progress<'a>, total: u64) -> Watch<'a> {
        Watch { timed: true, ..Watch::new(progress, total) }
    }

    /// Of a computation that nobody watches or cancels.
    pub fn silent() -> Watch<'static> {
        Watch::new(&|_, _| true, 0)
    }

    /// Tells that so much more is done. Whether to go on.
    pub fn add(&self, done: u64) -> bool {
        let done = self.done.fetch_add(done, Ordering::Relaxed).saturating_add(done);
        // A computation of unknown size counts what it has done all the same.
        let done = if self.total == 0 { done } else { done.min(self.total) };
        self.ask(done)
    }

    /// Tells the reporter how much is done. Whether to go on.
    fn ask(&self, done: u64) -> bool {
        if self.stopped() {
            return false;
        }
        if !self.progress.at(done, self.total) {
            self.stopped.store(true, Ordering::Relaxed);
        } else if self.timed && self.progress.is_late() {
            self.out_of_time.store(true, Ordering::Relaxed);
            self.stopped.store(true, Ordering::Relaxed);
        }
        !self.stopped()
    }

    /// Tells that so much more is nearly done, without adding it. Whether to go on.
    pub fn peek(&self, nearly: u64) -> bool {
        let done = self.done.load(Ordering::Relaxed).saturating_add(nearly).min(self.total);
        self.ask(done)
    }

    /// Asks whether to go on, without news.
    pub fn go_on(&self) -> bool {
        self.add(0)
    }

    /// Counts work that is not told, and asks whether to go on once per `every` units of it: for
    /// inner loops.
    pub fn work(&self, units: u64, every: u64) -> bool {
        let unasked = self.unasked.fetch_add(units, Ordering::Relaxed).saturating_add(units);
        if unasked >= every {
            self.unasked.store(0, Ordering::Relaxed);
            return self.go_on();
        }
        !self.stopped()
    }

    /// Whether it was cancelled or, if it is timed, time is up.
    pub fn stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Whether it stopped because time was up, and not because it was cancelled.
    pub fn out_of_time(&self) -> bool {
        self.out_of_time.load(Ordering::Relaxed)
    }

    /// Whether time is up ([`Report::is_late`]).
    pub fn is_late(&self) -> bool {
        self.progress.is_late()
    }

    /// A failure if it was cancelled. That time is up is no failure.
    pub fn check(&self) -> Result<(), Failure> {
        if self.stopped() && !self.out_of_time() { Err(Failure::cancelled()) } else { Ok(()) }
    }
}

/// A watch is a reporter for the parts of its computation, whose sizes it does not know: it asks
/// its own reporter whether to go on, and whether time is up.
impl Report for Watch<'_> {
    fn at(&self, _done: u64, _total: u64) -> bool {
        self.go_on() || self.out_of_time()
    }

    fn is_late(&self) -> bool {
        self.out_of_time() || self.progress.is_late()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watch_adds_up_and_stays_stopped() {
        let told = AtomicU64::new(0);
        let progress = |done, total| {
            assert!(done <= total);
            told.store(done, Ordering::Relaxed);
            done < 7
        };
        let watch = Watch::new(&progress, 10);
        assert!(watch.add(3) && watch.go_on() && watch.check().is_ok());
        assert!(!watch.add(4), "the reporter says no");
        assert!(watch.stopped() && watch.check().is_err());
        assert!(!watch.add(100), "and is not asked again");
        assert_eq!(told.load(Ordering::Relaxed), 7);
    }

    #[test]
    fn work_in_inner_loops_is_asked_about_now_and_then() {
        let asked = AtomicU64::new(0);
        let progress = |_, _| asked.fetch_add(1, Ordering::Relaxed) < 1;
        let watch = Watch::new(&progress, 0);
        let turns = (0..1000).take_while(|_| watch.work(1, 100)).count();
        assert_eq!((turns, asked.load(Ordering::Relaxed)), (199, 2));
    }

    /// A closure is a reporter that is never late.
    #[test]
    fn late_is_not_cancelled() {
        struct Late;
        impl Report for Late {
            fn at(&self, _: u64, _: u64) -> bool {
                true
            }
            fn is_late(&self) -> bool {
                true
            }
        }
        let (late, silent): (Progress<'_>, Progress<'_>) = (&Late, &|_, _| true);
        assert!(late.at(0, 0) && !late.improves(0, 0));
        assert!(silent.improves(0, 0));
        let patient = Watch::new(late, 0);
        assert!(patient.go_on() && !patient.stopped(), "it was not told to look at the time");
        let timed = Watch::timed(late, 0);
        assert!(!timed.go_on() && timed.stopped() && timed.out_of_time());
        assert!(timed.check().is_ok(), "what was found is wanted");
        let inner = Watch::timed(&timed, 0);
        assert!(!inner.go_on() && inner.out_of_time() && inner.check().is_ok());
        let cancelled = Watch::timed(&|_, _| false, 0);
        assert!(!cancelled.go_on() && !cancelled.out_of_time() && cancelled.check().is_err());
        let inner = Watch::timed(&cancelled, 0);
        assert!(!inner.go_on() && !inner.out_of_time() && inner.check().is_err());
    }
}
