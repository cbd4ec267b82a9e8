//! Progress and cancellation, as one protocol: whoever starts a run hands in an [`Observer`].
//!
//! A run reports [`Event`]s and asks [`Observer::cancelled`] often enough that every phase on a
//! million rows returns within half a second. A cancelled run returns a failure of the kind
//! `cancelled`, leaves nothing behind, and leaves the ledger as it was.

use scumble::failure::{Failure, Failures};
use scumble::progress::Report;
use serde::Serialize;
use std::time::Instant;

/// Receives progress events of a run, and can cancel it.
pub trait Observer: Sync {
    /// Takes an event. Called from several threads.
    fn event(&self, event: Event<'_>);

    /// Whether the run should stop. Once true, it must stay true.
    fn cancelled(&self) -> bool {
        false
    }
}

/// What a run reports.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event<'a> {
    /// A phase begins.
    Phase(Phase),
    /// How much of the phase is done; the total is 0 if it is not known.
    Progress {
        /// Done so far.
        done: u64,
        /// Of so much.
        total: u64,
    },
    /// Something worth knowing now and not only at the end.
    Note(&'a str),
}

/// A phase of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// The history is read from the ledger.
    ReadLedger,
    /// An engine estimates how large the source is.
    Estimate,
    /// The source or a release is read.
    Read,
    /// An engine counts the source.
    Count,
    /// An engine reads the distinct values of columns.
    ReadValues,
    /// Columns are profiled.
    Profile,
    /// Column sets that single people out are searched for.
    SingleOut,
    /// The algorithm runs.
    Anonymize,
    /// An engine divides the table level by level.
    Divide,
    /// Promises are judged.
    Judge,
    /// A release is attacked together with earlier ones.
    Gate,
    /// Reasons of a refusal are searched for.
    Explain,
    /// Changes that the gate would let pass are searched for.
    Repair,
    /// Files are written.
    Write,
    /// What was written is read back and judged.
    ReadBack,
    /// Rows go into a database.
    Load,
    /// The register is read.
    ReadRegister,
    /// The adversary's reference table is read.
    ReadReference,
    /// The true values are read.
    ReadTruth,
    /// People are located in releases.
    Locate,
    /// An attack, a paper's experiment or another entry of a catalogue runs.
    Run(&'static str),
    /// Beliefs are computed.
    Infer,
    /// Queries are asked.
    Query,
    /// Noise is drawn.
    Draw,
    /// A synthetic table is measured and fitted.
    Fit,
}

impl Phase {
    /// The phase in words, for people.
    pub fn words(self) -> &'static str {
        match self {
            Phase::ReadLedger => "reading the ledger",
            Phase::Estimate => "estimating",
            Phase::Read => "reading",
            Phase::Count => "counting",
            Phase::ReadValues => "reading values",
            Phase::Profile => "profiling",
            Phase::SingleOut => "searching",
            Phase::Anonymize => "anonymizing",
            Phase::Divide => "dividing",
            Phase::Judge => "checking",
            Phase::Gate => "attacking it together with earlier releases",
            Phase::Explain => "looking for the reasons",
            Phase::Repair => "looking for a release that passes",
            Phase::Write => "writing",
            Phase::ReadBack => "checking what was written",
            Phase::Load => "loading",
            Phase::ReadRegister => "reading the register",
            Phase::ReadReference => "reading the reference",
            Phase::ReadTruth => "reading the truth",
            Phase::Locate => "locating people",
            Phase::Run(name) => name,
            Phase::Infer => "inferring",
            Phase::Query => "asking queries",
            Phase::Draw => "drawing",
            Phase::Fit => "measuring and fitting",
        }
    }
}

impl dyn Observer + '_ {
    /// A phase begins.
    pub fn phase(&self, phase: Phase) {
        self.event(Event::Phase(phase));
    }

    /// Reports how much of the phase is done. Whether to go on.
    pub fn at(&self, done: u64, total: u64) -> bool {
        self.event(Event::Progress { done, total });
        !self.cancelled()
    }

    /// Something worth knowing now.
    pub fn note(&self, text: &str) {
        self.event(Event::Note(text));
    }

    /// A failure if the run is cancelled.
    pub fn go_on(&self) -> Result<(), Failures> {
        if self.cancelled() { Err(Failure::cancelled().into()) } else { Ok(()) }
    }
}

/// Tells an observer the progress of a search that has only so much time.
pub(crate) struct Timed<'a> {
    observer: &'a dyn Observer,
    begun: Instant,
    seconds: Option<f64>,
}

impl<'a> Timed<'a> {
    /// A search that begins now.
    pub fn new(observer: &'a dyn Observer, seconds: Option<f64>) -> Timed<'a> {
        Timed { observer, begun: Instant::now(), seconds }
    }
}

impl Report for Timed<'_> {
    fn at(&self, done: u64, total: u64) -> bool {
        self.observer.at(done, total)
    }

    fn is_late(&self) -> bool {
        self.seconds.is_some_and(|seconds| self.begun.elapsed().as_secs_f64() >= seconds)
    }
}

/// An observer that hears nothing and never cancels.
pub struct Silent;

impl Observer for Silent {
    fn event(&self, _event: Event<'_>) {}
}
