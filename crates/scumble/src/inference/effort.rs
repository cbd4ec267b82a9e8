//! A limit on the work of a search, counted in steps: a clock would give another answer on another machine.

use std::sync::atomic::{AtomicU64, Ordering};

/// Steps that are left. A step handles one number, or a few.
#[derive(Debug)]
pub struct Effort(AtomicU64);

impl Effort {
    /// So many steps.
    pub fn new(steps: u64) -> Effort {
        Effort(AtomicU64::new(steps))
    }

    /// Takes some steps; `None` if they are more than are left, and then none is left.
    ///
    /// To be called by one thread only: otherwise it would depend on chance who is stopped.
    pub fn spend(&self, steps: u64) -> Option<()> {
        let left = self.0.load(Ordering::Relaxed).checked_sub(steps);
        self.0.store(left.unwrap_or(0), Ordering::Relaxed);
        left.map(|_| ())
    }

    /// Whether nothing is left.
    pub fn is_spent(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }
}
