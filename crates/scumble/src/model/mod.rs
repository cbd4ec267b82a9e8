//! Privacy models: what a release promises about every equivalence class.

use crate::catalogue::Entry;
use crate::class::EquivalenceClass;
use crate::exact::Ratio;
use crate::table::Distribution;
use std::cmp::Ordering;
use std::fmt;

mod distinct_l_diversity;
mod entropy_l_diversity;
mod k_anonymity;
mod recursive_l_diversity;
mod t_closeness;

pub use recursive_l_diversity::{frontier, smallest_c};
pub use t_closeness::{Distance, distance};

/// Every model. A new one is a file and a line here (and its `mod` line above).
pub const MODELS: &[Entry<Box<dyn Model>>] = &[
    k_anonymity::ENTRY,
    distinct_l_diversity::ENTRY,
    entropy_l_diversity::ENTRY,
    recursive_l_diversity::ENTRY,
    t_closeness::ENTRY,
];

/// What a model may look at besides the class: what is known about the whole table.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// Distribution of every sensitive attribute over the table.
    pub distributions: &'a [Distribution],
    /// Which of them this requirement is about; 0 for models that concern identity only.
    pub attribute: usize,
}

/// A privacy model with its parameters.
///
/// Laws (run over the whole catalogue in `tests/laws.rs`): a verdict depends only on the class and the context; it holds
/// exactly if the measured value is on the right side of what is required; if the promise is monotone, the merge of two
/// classes that hold, holds; a class with fewer records than the promise's least does not hold.
pub trait Model: Send + Sync {
    /// Whether the class keeps the promise, and what was measured.
    fn judge(&self, cx: &Context<'_>, class: &EquivalenceClass) -> Verdict;

    /// What is promised.
    fn promise(&self) -> Promise;
}

/// What a model promises about every class, as far as algorithms and reports need to know.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Promise {
    /// What is asked for, in the units of [`Verdict::measured`].
    pub required: Ratio,
    /// On which side of it the measured value must be.
    pub must_be: Bound,
    /// Whether it is about a sensitive attribute (and must be judged for each), or about identity.
    pub concerns: Concern,
    /// Whether it stays kept when classes are merged. Only then may an algorithm stop splitting at it.
    pub monotone: bool,
    /// A class needs at least so many records to keep it.
    pub least: u64,
    /// Whether the size of the class alone decides; lets an algorithm skip histograms.
    pub size_decides: bool,
}

/// On which side of what is required the measured value must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Bound {
    AtLeast,
    AtMost,
    Below,
}

/// What a model protects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Concern {
    /// Who a record belongs to.
    Identity,
    /// What a sensitive attribute says about a person.
    Sensitive,
}

/// The judgement of one class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    /// Whether the promise is kept, decided exactly.
    pub holds: bool,
    /// What was measured.
    pub measured: Measured,
}

/// A measured value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Measured {
    /// Exactly this.
    Exact(Ratio),
    /// Irrational: shown as the nearest floating-point number, but judged exactly.
    Real(f64),
    /// No finite value would do.
    Infinite,
}

impl Measured {
    /// For comparison and display.
    pub fn to_f64(self) -> f64 {
        match self {
            Measured::Exact(r) => r.to_f64(),
            Measured::Real(x) => x,
            Measured::Infinite => f64::INFINITY,
        }
    }

    /// Orders measured values of one model.
    pub fn compare(self, other: Measured) -> Ordering {
        match (self, other) {
            (Measured::Exact(a), Measured::Exact(b)) => a.cmp(&b),
            (a, b) => a.to_f64().total_cmp(&b.to_f64()),
        }
    }
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Measured::Exact(r) if r.den() == 1 => write!(f, "{r}"),
            Measured::Exact(r) if r.den() < 1000 => write!(f, "{r} ≈ {:.4}", r.to_f64()),
            Measured::Exact(r) => write!(f, "{:.4}", r.to_f64()),
            Measured::Real(x) => write!(f, "{x:.4}"),
            Measured::Infinite => f.write_str("∞"),
        }
    }
}

impl Bound {
    /// Whether the measured value `a` is worse than `b`.
    pub fn is_worse(self, a: Measured, b: Measured) -> bool {
        a.compare(b) == if self == Bound::AtLeast { Ordering::Less } else { Ordering::Greater }
    }

    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Bound::AtLeast => "at least",
            Bound::AtMost => "at most",
            Bound::Below => "below",
        }
    }
}
