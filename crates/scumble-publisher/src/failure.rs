//! Failures as they cross a boundary: in answers, in JSON, to programs.
//!
//! The failures of the core are not serializable; [`Reason`] is, both ways. It is used for what went
//! wrong and for why something was refused.

use schemars::JsonSchema;
use scumble::failure::codes;
use scumble::failure::{Action, Argument, Failure, Kind, Part, Remedy, Subject};
use serde::{Deserialize, Serialize};

/// What went wrong, or why something was refused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reason {
    /// Whose turn it is.
    pub kind: FailureKind,
    /// Stable name of what went wrong.
    pub code: String,
    /// What it is about; absent if nothing in particular.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub subject: Option<ReasonSubject>,
    /// What is wrong, for people.
    pub message: String,
    /// What can be done about it, for people: the remedy as a sentence.
    #[serde(default)]
    pub hint: Option<String>,
    /// The same for programs; empty if there is nothing to do.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub remedy: Vec<Step>,
}

/// The kind of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    /// The request is wrong.
    Usage,
    /// The policy is wrong.
    Policy,
    /// Data, a release or another input file is wrong.
    Data,
    /// The system, a disk, a network or a database failed.
    Io,
    /// What was asked is understood, and the answer is no.
    Refused,
    /// Somebody else is at work; the same request may pass later.
    Busy,
    /// The caller cancelled the run.
    Cancelled,
    /// A mistake of this program; please report it.
    Bug,
}

/// What a failure is about.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReasonSubject {
    /// A file, folder or database.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub file: Option<String>,
    /// A line of the file, from 1.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub line: Option<u64>,
    /// A column of a table, by name.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub column: Option<String>,
    /// A key of the policy, with its tables.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub key: Option<String>,
    /// A row of a table, from 1.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub row: Option<u64>,
    /// An argument of the request.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub argument: Option<String>,
}

/// A part of a remedy. Read one after the other, the parts are a sentence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "step", rename_all = "kebab-case")]
pub enum Step {
    /// Words between the others.
    Words {
        /// The words.
        words: String,
    },
    /// Give an argument, or change it.
    Give {
        /// The argument.
        argument: String,
        /// The value that it should have; absent if any will do.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        value: Option<String>,
    },
    /// Leave out an argument.
    LeaveOut {
        /// The argument.
        argument: String,
    },
    /// Write `key = value` into the policy.
    Set {
        /// The key.
        key: String,
        /// The value, as TOML.
        value: String,
    },
    /// Run an action.
    Run {
        /// The action.
        action: NextAction,
    },
}

/// Something a person can do next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "name", rename_all = "kebab-case")]
pub enum NextAction {
    /// Inspect a table.
    Inspect,
    /// Publish by a policy.
    Publish,
    /// Write the taxonomy of a column to a file.
    BuildTaxonomy,
    /// Compare a column with its taxonomy.
    CheckTaxonomy {
        /// The column.
        column: String,
    },
    /// List the entries of the ledger.
    ListLedger,
    /// Show an entry of the ledger.
    ShowLedger,
    /// Take back a release that was added to the ledger.
    WithdrawRelease,
    /// Add a release that was published elsewhere to the ledger.
    AddRelease,
    /// Verify the ledger.
    VerifyLedger,
    /// Print an answer that was paid for.
    RepeatAnswer {
        /// The entry of the ledger.
        entry: u64,
    },
    /// Read a manual page.
    Explain {
        /// Its name.
        topic: String,
    },
    /// Start the scheduler of a cluster.
    StartScheduler,
    /// Start an executor of a cluster.
    StartExecutor,
}

impl From<&Failure> for Reason {
    fn from(failure: &Failure) -> Reason {
        let remedy = failure.remedy.as_ref();
        Reason {
            kind: failure.kind.into(),
            code: failure.code.to_owned(),
            subject: failure.subject.as_deref().map(ReasonSubject::from),
            message: failure.message.clone(),
            hint: remedy.map(ToString::to_string),
            remedy: remedy.map_or_else(Vec::new, |r| r.0.iter().map(Step::from).collect()),
        }
    }
}

impl From<&Reason> for Failure {
    /// The failure that was told. One of another version, whose code is not known here, has the code
    /// `foreign`; steps that are not known are left out.
    fn from(reason: &Reason) -> Failure {
        let steps: Vec<Part> = reason.remedy.iter().filter_map(Step::part).collect();
        Failure {
            kind: reason.kind.into(),
            code: codes::find(&reason.code).unwrap_or("foreign"),
            subject: reason.subject.as_ref().map(|s| Box::new(Subject::from(s))),
            message: reason.message.clone(),
            remedy: Some(Remedy(steps)).filter(|r| !r.0.is_empty()),
        }
    }
}

/// A requirement that a release breaks, in the words of its judgement.
pub(crate) fn broken_promise(words: &str) -> Reason {
    Reason::from(&Failure::refused("promise-broken", words))
}

impl From<&Subject> for ReasonSubject {
    fn from(s: &Subject) -> ReasonSubject {
        ReasonSubject {
            file: s.file.clone(),
            line: s.line,
            column: s.column.clone(),
            key: s.key.clone(),
            row: s.row,
            argument: s.argument.map(|a| a.name().to_owned()),
        }
    }
}

impl From<&ReasonSubject> for Subject {
    fn from(s: &ReasonSubject) -> Subject {
        Subject {
            file: s.file.clone(),
            line: s.line,
            column: s.column.clone(),
            key: s.key.clone(),
            row: s.row,
            argument: s.argument.as_deref().and_then(Argument::named),
        }
    }
}

impl From<&Part> for Step {
    fn from(part: &Part) -> Step {
        let named = |argument: &Argument| argument.name().to_owned();
        match part {
            Part::Words(words) => Step::Words { words: words.clone() },
            Part::Give(argument, value) => {
                Step::Give { argument: named(argument), value: value.clone() }
            }
            Part::LeaveOut(argument) => Step::LeaveOut { argument: named(argument) },
            Part::Set { key, value } => Step::Set { key: key.clone(), value: value.clone() },
            Part::Run(action) => Step::Run { action: action.into() },
        }
    }
}

impl Step {
    /// The part of a remedy, if its argument is known.
    fn part(&self) -> Option<Part> {
        Some(match self {
            Step::Words { words } => Part::Words(words.clone()),
            Step::Give { argument, value } => Part::Give(Argument::named(argument)?, value.clone()),
            Step::LeaveOut { argument } => Part::LeaveOut(Argument::named(argument)?),
            Step::Set { key, value } => Part::Set { key: key.clone(), value: value.clone() },
            Step::Run { action } => Part::Run(action.into()),
        })
    }
}

/// Two enums with the same variants, each made from the other.
macro_rules! both_ways {
    ($core:ident, $boundary:ident, $($variant:ident $({ $field:ident })?),*) => {
        impl From<&$core> for $boundary {
            fn from(of: &$core) -> $boundary {
                match of {
                    $($core::$variant $({ $field })? => {
                        $boundary::$variant $({ $field: $field.clone() })?
                    })*
                }
            }
        }

        impl From<&$boundary> for $core {
            fn from(of: &$boundary) -> $core {
                match of {
                    $($boundary::$variant $({ $field })? => {
                        $core::$variant $({ $field: $field.clone() })?
                    })*
                }
            }
        }
    };
}

both_ways!(Kind, FailureKind, Usage, Policy, Data, Io, Refused, Busy, Cancelled, Bug);
both_ways!(
    Action,
    NextAction,
    Inspect,
    Publish,
    BuildTaxonomy,
    CheckTaxonomy { column },
    ListLedger,
    ShowLedger,
    WithdrawRelease,
    AddRelease,
    VerifyLedger,
    RepeatAnswer { entry },
    Explain { topic },
    StartScheduler,
    StartExecutor
);

impl From<Kind> for FailureKind {
    fn from(kind: Kind) -> FailureKind {
        (&kind).into()
    }
}

impl From<FailureKind> for Kind {
    fn from(kind: FailureKind) -> Kind {
        (&kind).into()
    }
}
