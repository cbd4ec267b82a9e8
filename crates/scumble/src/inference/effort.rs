//! A limit on the work of a search, counted in steps: a clock would give another answer on another
//! machine.

use crate::progress::Watch;
use std::sync::atomic::{AtomicU64, Ordering};

/// Steps between two questions whether to go on: some hundredths of a second.
const ASKED: u64 = 4_000_000;

/// Steps that are left. A step handles one number, or a few.
pub struct Effort<'a> {
    left: AtomicU64,
    /// Who may cancel the search: then nothing is left.
    watch: Option<&'a Watch<'a>>,
}

impl<'a> Effort<'a> {
    /// So many steps.
    pub fn new(steps: u64) -> Effort<'a> {
        Effort { left: AtomicU64::new(steps), watch: None }
    }

    /// So many steps of a search that can be cancelled.
    pub fn watched(steps: u64, watch: Option<&'a Watch<'a>>) -> Effort<'a> {
        Effort { left: AtomicU64::new(steps), watch }
    }

    /// Takes some steps; `None` if they are more than are left, and then none is left.
    ///
    /// To be called by one thread only: otherwise it would depend on chance who is stopped.
    pub fn spend(&self, steps: u64) -> Option<()> {
        let goes_on = self.watch.is_none_or(|watch| watch.work(steps, ASKED));
        let left = self.left.load(Ordering::Relaxed).checked_sub(steps).filter(|_| goes_on);
        self.left.store(left.unwrap_or(0), Ordering::Relaxed);
        left.map(|_| ())
    }

    /// Whether the search was cancelled: no answer is wanted any more.
    pub fn is_cancelled(&self) -> bool {
        self.watch.is_some_and(Watch::stopped)
    }

    /// Whether nothing is left.
    pub fn is_spent(&self) -> bool {
        self.left.load(Ordering::Relaxed) == 0
    }
}
