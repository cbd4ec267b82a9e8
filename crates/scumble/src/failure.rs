//! What went wrong, as data: a kind, a stable code, the subject, a message and a remedy.
//!
//! A parser or check collects every [`Failure`] it finds and returns them together, so that a
//! policy with three mistakes is corrected in one round.
//!
//! Libraries never name a flag, a button or a parameter of a front end. A remedy names an
//! [`Argument`] or an [`Action`], and the front end turns it into its own words: the command writes
//! `--memory 4GB`, a web page shows a field.

pub mod codes;

use std::fmt;
use std::path::Path;

/// Whose turn it is after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The caller asked for something that cannot be asked: arguments that contradict each other,
    /// or lack one.
    Usage,
    /// The policy is wrong.
    Policy,
    /// Data, a release or another input file is not what it must be.
    Data,
    /// The system, a disk, a network or a database did not do what it was asked.
    Io,
    /// What was asked is understood, and the answer is no.
    Refused,
    /// Somebody else is at work there; the same request may pass later.
    Busy,
    /// The caller cancelled the run.
    Cancelled,
    /// A mistake of this program.
    Bug,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Kind; 8] = [
        Kind::Usage,
        Kind::Policy,
        Kind::Data,
        Kind::Io,
        Kind::Refused,
        Kind::Busy,
        Kind::Cancelled,
        Kind::Bug,
    ];

    /// The name, as it is written in answers.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Usage => "usage",
            Kind::Policy => "policy",
            Kind::Data => "data",
            Kind::Io => "io",
            Kind::Refused => "refused",
            Kind::Busy => "busy",
            Kind::Cancelled => "cancelled",
            Kind::Bug => "bug",
        }
    }

    /// Whose turn it is, in a sentence.
    pub fn meaning(self) -> &'static str {
        match self {
            Kind::Usage => "The request is wrong: ask otherwise.",
            Kind::Policy => "The policy is wrong: edit it.",
            Kind::Data => "Data, a release or another input file is not what it must be.",
            Kind::Io => "The system, a disk, a network or a database failed.",
            Kind::Refused => "What was asked is understood, and the answer is no.",
            Kind::Busy => "Somebody else is at work there: try again later.",
            Kind::Cancelled => "The caller cancelled the run.",
            Kind::Bug => "A mistake of this program: please report it.",
        }
    }
}

/// One thing that is wrong. The message names it; the remedy says what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Whose turn it is.
    pub kind: Kind,
    /// Stable name of what went wrong, for programs.
    pub code: &'static str,
    /// What it is about, for programs; the message names it, too.
    pub subject: Option<Box<Subject>>,
    /// What is wrong; names file, line, column or policy key. No full stop at the end of a single
    /// sentence.
    pub message: String,
    /// What can be done about it.
    pub remedy: Option<Remedy>,
}

/// What a failure is about. Everything that is known is set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// A file, folder or database.
    pub file: Option<String>,
    /// A line of the file, from 1.
    pub line: Option<u64>,
    /// A column of a table, by name.
    pub column: Option<String>,
    /// A key of the policy, with its tables: `attributes.age.role`.
    pub key: Option<String>,
    /// A row of a table, from 1.
    pub row: Option<u64>,
    /// An argument of the request.
    pub argument: Option<Argument>,
}

impl Failure {
    fn of(kind: Kind, code: &'static str, message: impl Into<String>) -> Failure {
        Failure { kind, code, subject: None, message: message.into(), remedy: None }
    }

    /// The request is wrong.
    pub fn usage(code: &'static str, message: impl Into<String>) -> Failure {
        Failure::of(Kind::Usage, code, message)
    }

    /// The policy is wrong.
    pub fn policy(code: &'static str, message: impl Into<String>) -> Failure {
        Failure::of(Kind::Policy, code, message)
    }

    /// Data, a release or another input file is wrong.
    pub fn data(code: &'static str, message: impl Into<String>) -> Failure {
        Failure::of(Kind::Data, code, message)
    }

    /// The system, a disk, a network or a database failed.
    pub fn io(code: &'static str, message: impl Into<String>) -> Failure {
        Failure::of(Kind::Io, code, message)
    }

    /// The answer is no.
    pub fn refused(code: &'static str, message: impl Into<String>) -> Failure {
        Failure::of(Kind::Refused, code, message)
    }

    /// Somebody else is at work.
    pub fn busy(code: &'static str, message: impl Into<String>) -> Failure {
        Failure::of(Kind::Busy, code, message)
    }

    /// The caller cancelled the run.
    pub fn cancelled() -> Failure {
        Failure::of(Kind::Cancelled, "cancelled", "cancelled")
    }

    /// A mistake of this program. The message must not hold values of data: people will send it.
    pub fn bug(code: &'static str, message: impl Into<String>) -> Failure {
        Failure::of(Kind::Bug, code, message).remedy(Remedy::words(concat!(
            "this is a bug in scumble ",
            env!("CARGO_PKG_VERSION"),
            ", not a mistake of yours: please report it with this message"
        )))
    }

    /// The same failure with advice in words, which name keys of the policy but no arguments.
    pub fn hint(self, words: impl Into<String>) -> Failure {
        self.remedy(Remedy::words(words))
    }

    /// The same failure with a remedy. An empty one is none.
    pub fn remedy(mut self, remedy: Remedy) -> Failure {
        self.remedy = Some(remedy).filter(|r| !r.0.is_empty());
        self
    }

    /// The subject, to set parts of it.
    pub fn subject(&mut self) -> &mut Subject {
        self.subject.get_or_insert_default()
    }

    /// The same failure, about a file, folder or database.
    pub fn file(mut self, path: impl AsRef<Path>) -> Failure {
        self.subject().file = Some(path.as_ref().display().to_string());
        self
    }

    /// The same failure, about a line.
    pub fn line(mut self, line: u64) -> Failure {
        self.subject().line = Some(line);
        self
    }

    /// The same failure, about a column.
    pub fn column(mut self, name: impl Into<String>) -> Failure {
        self.subject().column = Some(name.into());
        self
    }

    /// The same failure, about a key of the policy.
    pub fn key(mut self, key: impl Into<String>) -> Failure {
        self.subject().key = Some(key.into());
        self
    }

    /// The same failure, about a row.
    pub fn row(mut self, row: u64) -> Failure {
        self.subject().row = Some(row);
        self
    }

    /// The same failure, about an argument.
    pub fn argument(mut self, argument: Argument) -> Failure {
        self.subject().argument = Some(argument);
        self
    }

    /// The same failure with something before its message, such as the line it is about.
    pub fn within(mut self, place: impl fmt::Display) -> Failure {
        self.message = format!("{place}{}", self.message);
        self
    }
}

/// What can be done about a failure: a sentence whose parts that a front end knows by its own names
/// are typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remedy(pub Vec<Part>);

/// A part of a remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Words between the others.
    Words(String),
    /// Give an argument, with this value if there is one; or change it.
    Give(Argument, Option<String>),
    /// Leave out an argument.
    LeaveOut(Argument),
    /// Write `key = value` into the policy.
    Set {
        /// The key, below its tables: `ledger`, `attributes.age.role`.
        key: String,
        /// The value, as TOML.
        value: String,
    },
    /// Run an action.
    Run(Action),
}

impl Remedy {
    /// Advice in words.
    pub fn words(words: impl Into<String>) -> Remedy {
        Remedy::default().then(words)
    }

    /// Begins with an argument that should be given.
    pub fn give(argument: Argument) -> Remedy {
        Remedy::words("give ").and_give(argument)
    }

    /// Begins with an argument that should be given this value.
    pub fn give_value(argument: Argument, value: impl Into<String>) -> Remedy {
        Remedy::words("give ").and_give_value(argument, value)
    }

    /// Begins with an argument that should be left out.
    pub fn leave_out(argument: Argument) -> Remedy {
        Remedy::words("leave out ").and_leave_out(argument)
    }

    /// Begins with an action.
    pub fn run(action: Action) -> Remedy {
        Remedy::default().and_run(action)
    }

    /// More words. Nothing is put between the parts.
    pub fn then(mut self, words: impl Into<String>) -> Remedy {
        self.0.push(Part::Words(words.into()));
        self.0.retain(|part| *part != Part::Words(String::new()));
        self
    }

    /// An argument to be given.
    pub fn and_give(mut self, argument: Argument) -> Remedy {
        self.0.push(Part::Give(argument, None));
        self
    }

    /// An argument to be given this value.
    pub fn and_give_value(mut self, argument: Argument, value: impl Into<String>) -> Remedy {
        self.0.push(Part::Give(argument, Some(value.into())));
        self
    }

    /// An argument to be left out.
    pub fn and_leave_out(mut self, argument: Argument) -> Remedy {
        self.0.push(Part::LeaveOut(argument));
        self
    }

    /// An entry of the policy.
    pub fn and_set(mut self, key: impl Into<String>, value: impl Into<String>) -> Remedy {
        self.0.push(Part::Set { key: key.into(), value: value.into() });
        self
    }

    /// An action.
    pub fn and_run(mut self, action: Action) -> Remedy {
        self.0.push(Part::Run(action));
        self
    }
}

impl<T: Into<String>> From<T> for Remedy {
    fn from(words: T) -> Remedy {
        Remedy::words(words)
    }
}

/// Arguments of requests that remedies name.
macro_rules! arguments {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// An argument of a request, whatever a front end calls it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Argument {
            $($(#[$doc])* $variant,)*
        }

        impl Argument {
            /// Every argument.
            pub const ALL: &[Argument] = &[$(Argument::$variant,)*];

            /// The name, as it is written in answers.
            pub fn name(self) -> &'static str {
                match self {
                    $(Argument::$variant => $name,)*
                }
            }
        }
    };
}

arguments! {
    /// Accept people of the register who fit no class.
    AllowUnknown = "allow-unknown",
    /// The sensitive attribute to attack.
    Attribute = "attribute",
    /// The cluster that computes.
    Cluster = "cluster",
    /// The δ of an answer.
    Delta = "delta",
    /// The engine that computes.
    Engine = "engine",
    /// The ε of an answer.
    Epsilon = "epsilon",
    /// What the adversary knows besides.
    Facts = "facts",
    /// Conditions under which an attack counts as a failed test.
    FailOn = "fail-on",
    /// Take the first line of a file for its header.
    Header = "header",
    /// Columns of the register that tell who is in which release.
    In = "in",
    /// The file of the ledger's key.
    Key = "key",
    /// The ledger.
    Ledger = "ledger",
    /// The mechanism that draws noise.
    Mechanism = "mechanism",
    /// How much memory may be used.
    Memory = "memory",
    /// The loss to draw.
    Metric = "metric",
    /// The column that names people.
    Name = "name",
    /// The file with what is inferred of everybody.
    People = "people",
    /// The picture to draw.
    Picture = "picture",
    /// The policy.
    Policy = "policy",
    /// Columns an adversary knows.
    QuasiIdentifiers = "quasi-identifiers",
    /// The query.
    Query = "query",
    /// Agree to a larger budget.
    RaiseBudget = "raise-budget",
    /// Who asks.
    Recipient = "recipient",
    /// The adversary's reference table.
    Reference = "reference",
    /// The register of people whom the adversary knows.
    Register = "register",
    /// Whom the register lists.
    RegisterIs = "register-is",
    /// A release.
    Release = "release",
    /// Replace the release that is there.
    Replace = "replace",
    /// The seed of randomness.
    Seed = "seed",
    /// Show values of the data.
    ShowValues = "show-values",
    /// The folder for what does not fit into memory.
    Spill = "spill",
    /// Published statistics.
    Statistics = "statistics",
    /// The table of a database.
    Table = "table",
    /// The folder of the release.
    To = "to",
    /// How many people to list.
    Top = "top",
    /// How long an answer may take.
    Seconds = "seconds",
    /// The true values.
    Truth = "truth",
    /// A parameter of an attack, as `key=value`.
    With = "with",
    /// A file of queries.
    Workload = "workload",
}

impl Argument {
    /// The argument with this name.
    pub fn named(name: &str) -> Option<Argument> {
        Argument::ALL.iter().copied().find(|a| a.name() == name)
    }
}

impl fmt::Display for Argument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Something a person can do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Inspect a table.
    Inspect,
    /// Publish by a policy.
    Publish,
    /// Write the taxonomy of a column to a file.
    BuildTaxonomy,
    /// Compare a column with its taxonomy, and list what is missing.
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

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Action::Inspect => f.write_str("inspecting the table"),
            Action::Publish => f.write_str("publishing"),
            Action::BuildTaxonomy => f.write_str("building a taxonomy"),
            Action::CheckTaxonomy { column } => {
                write!(f, "checking `{column}` against its taxonomy")
            }
            Action::ListLedger => f.write_str("listing the ledger"),
            Action::ShowLedger => f.write_str("showing the entry of the ledger"),
            Action::WithdrawRelease => f.write_str("withdrawing the release from the ledger"),
            Action::AddRelease => f.write_str("adding releases to the ledger"),
            Action::VerifyLedger => f.write_str("verifying the ledger"),
            Action::RepeatAnswer { entry } => write!(f, "repeating answer {entry}"),
            Action::Explain { topic } => write!(f, "the manual page `{topic}`"),
            Action::StartScheduler => f.write_str("the scheduler of the cluster"),
            Action::StartExecutor => f.write_str("an executor of the cluster"),
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Part::Words(words) => f.write_str(words),
            Part::Give(argument, None) | Part::LeaveOut(argument) => write!(f, "`{argument}`"),
            Part::Give(argument, Some(value)) => write!(f, "`{argument} = {value}`"),
            Part::Set { key, value } => write!(f, "`{key} = {value}`"),
            Part::Run(action) => action.fmt(f),
        }
    }
}

impl fmt::Display for Remedy {
    /// Writes the sentence with the names that answers use. Front ends write their own.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|part| part.fmt(f))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if let Some(remedy) = &self.remedy {
            write!(f, "\n  hint: {remedy}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Failure {}

/// All failures found in one go; never empty when returned as an error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Failures(pub Vec<Failure>);

impl Failures {
    /// All values, or everything that is wrong.
    pub fn all<T>(
        results: impl IntoIterator<Item = Result<T, Failures>>,
    ) -> Result<Vec<T>, Failures> {
        let (mut values, mut failures) = (Vec::new(), Failures::default());
        for result in results {
            match result {
                Ok(value) => values.push(value),
                Err(more) => failures.0.extend(more.0),
            }
        }
        failures.or(values)
    }

    /// Adds one.
    pub fn push(&mut self, failure: Failure) {
        self.0.push(failure);
    }

    /// `Ok(value)` if nothing was found.
    pub fn or<T>(self, value: T) -> Result<T, Failures> {
        if self.0.is_empty() { Ok(value) } else { Err(self) }
    }

    /// Whether the run was cancelled.
    pub fn cancelled(&self) -> bool {
        self.0.iter().any(|f| f.kind == Kind::Cancelled)
    }
}

impl From<Failure> for Failures {
    fn from(failure: Failure) -> Failures {
        Failures(vec![failure])
    }
}

impl fmt::Display for Failures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, failure) in self.0.iter().enumerate() {
            if i > 0 {
                writeln!(f)?;
            }
            write!(f, "{failure}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Failures {}
