//! A limit on the work of a search, counted in steps: a clock would give another answer on another
//! machine.

use crate::progress::Watch;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU64, Ordering};

/// Steps between two questions whether to go on: some hundredths of a second.
const ASKED: u64 = 1_000_000;

/// Why a search ended before everything was decided.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Exhausted {
    /// The counted work was used up: every machine ends here.
    Work,
    /// Time was up.
    Time,
}

/// Steps that are left. A step handles one number, or a few.
pub struct Effort<'a> {
    left: AtomicU64,
    /// Cancels the search: then nothing is left.
    watch: Option<&'a Watch<'a>>,
}

impl<'a> Effort<'a> {
    /// A limit of this many steps.
    pub fn new(steps: u64) -> Effort<'a> {
        Effort { left: AtomicU64::new(steps), watch: None }
    }

    /// A limit of this many steps for a search that can be cancelled.
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

    /// Whether the search was cancelled or time is up: nothing more is to be found out.
    pub fn is_stopped(&self) -> bool {
        self.watch.is_some_and(Watch::stopped)
    }

    /// Steps that are left.
    pub fn left(&self) -> u64 {
        self.left.load(Ordering::Relaxed)
    }

    /// Whether nothing is left.
    pub fn is_spent(&self) -> bool {
        self.left() == 0
    }
}
