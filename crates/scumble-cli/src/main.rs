//! The `scumble` command: arguments in, answers out. Decisions are made in the libraries.

mod attack;
mod bug;
mod dp;
mod engine;
mod ledger;
mod remedy;
mod reproduce;
mod semantics;
mod show;
mod taxonomy;
mod terminal;
mod watch;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};
use scumble::failure::{Action, Failure, Failures, Remedy};
use scumble::policy::{Source, Sweep};
use scumble::{catalogue, glossary};
use scumble_publisher::answer::Failed;
use scumble_publisher::answer::schema::{Schemas, schema};
use scumble_publisher::check::CheckRequest;
use scumble_publisher::inspect::InspectRequest;
use scumble_publisher::observer::Observer;
use scumble_publisher::policy_file::PolicyFile;
use scumble_publisher::publish::compare::CompareRequest;
use scumble_publisher::publish::{PublishRequest, Repair};
use scumble_publisher::publisher::Publisher;
use scumble_publisher::query;
use scumble_publisher::table::columns::ReadOptions;
use scumble_publisher::table::origin;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Publish tables about people so that the people stay hidden and the data stay useful.
///
/// Exit status: 0 published or kept, 1 refused or broken (an answer), 2 failed (an error; nothing
/// was written), 130 cancelled by Ctrl-C (nothing was written; what was complete before exits as it
/// would have).
#[derive(Parser)]
#[command(name = "scumble", version, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// Answer as JSON on standard output
    #[arg(long, global = true, display_order = 100)]
    json: bool,
}

#[derive(Subcommand)]
enum Command {
    /// Profile a table: columns, likely roles, column sets that single people out
    Inspect {
        #[arg(help = table_help())]
        data: PathBuf,
        #[command(flatten)]
        rows: RowsArguments,
        /// Write a commented policy that `publish` accepts
        #[arg(long, value_name = "POLICY")]
        draft: Option<PathBuf>,
        /// Largest number of columns an adversary combines
        #[arg(long, value_name = "N", default_value_t = 3)]
        max_columns: usize,
        /// Show values of the data (they are personal data)
        #[arg(long)]
        show_values: bool,
        /// The first line names the columns, although it looks like a record: years, say
        #[arg(long)]
        header: bool,
        #[command(flatten)]
        dialect: DialectArguments,
    },
    /// Make a release by a policy, judge it, and write it if it keeps the policy's promises
    Publish {
        /// The policy, a TOML file; paths in it are relative to its folder
        policy: PathBuf,
        /// Do everything but write
        #[arg(long)]
        dry_run: bool,
        /// Replace the release if it exists
        #[arg(long)]
        replace: bool,
        /// Write the release to this folder instead of the policy's
        #[arg(long, value_name = "FOLDER")]
        to: Option<PathBuf>,
        /// Reproducible randomness, for testing; the manifest says so
        #[arg(long, value_name = "NUMBER")]
        seed: Option<u64>,
        /// Show whom the witness of a model is about, and what the gate would let be known
        /// (personal data; not written)
        #[arg(long)]
        show_values: bool,
        /// If the gate refuses, publish the remedy with this number; without a number, the best one
        /// that drops no column, suppresses nobody and shows no quasi-identifier more exactly
        #[arg(long, value_name = "NUMBER", num_args = 0..=1, default_missing_value = "0", hide_default_value = true)]
        repair: Option<u64>,
        /// If the gate refuses, do not look for changes that pass
        #[arg(long, conflicts_with = "repair")]
        no_remedies: bool,
        /// If the gate refuses, write everybody who would be exposed into this CSV file (rows of
        /// the extract; values only with --show-values)
        #[arg(long, value_name = "FILE")]
        exposed: Option<PathBuf>,
        #[command(flatten)]
        engine: engine::Arguments,
        #[command(flatten)]
        ledger: LedgerArguments,
        /// Wait so many seconds for others who publish with the same ledger
        #[arg(long, value_name = "SECONDS", default_value_t = 60)]
        wait: u64,
        #[command(flatten)]
        picture: PictureArguments,
    },
    /// Say what a table or release satisfies: k, every ℓ, t, risks; and whether it keeps its
    /// promises
    Check {
        #[arg(help = release_help())]
        data: PathBuf,
        #[command(flatten)]
        rows: RowsArguments,
        /// Columns an adversary knows, where no manifest or policy tells
        #[arg(long, value_name = "A,B,…", value_delimiter = ',')]
        quasi_identifiers: Vec<String>,
        /// Columns an adversary wants to know
        #[arg(long, value_name = "A,B,…", value_delimiter = ',')]
        sensitive: Vec<String>,
        /// Roles, taxonomies and promises from this policy
        #[arg(long)]
        policy: Option<PathBuf>,
        /// A register of the population, with quasi-identifiers as columns
        #[arg(long, value_name = "FILE")]
        register: Option<PathBuf>,
        /// How many people the table is a sample of: estimates how many records are unique among
        /// them
        #[arg(long, value_name = "NUMBER")]
        population: Option<u64>,
        /// Show whom the witness of a model is about (personal data)
        #[arg(long)]
        show_values: bool,
        #[command(flatten)]
        engine: engine::Arguments,
        #[command(flatten)]
        picture: PictureArguments,
        #[command(flatten)]
        dialect: DialectArguments,
    },
    /// Attack releases as an adversary would who knows some people, and say what she finds out
    ///
    /// Exit status: 0, or 1 if a condition of `--fail-on` is met.
    Attack(Box<attack::Arguments>),
    /// Explain what can be inferred about a person from releases: the published facts that force it
    Why(Box<attack::WhyArguments>),
    /// Estimate how many records have each value of a column that was randomized (`perturb = { keep
    /// = … }`)
    Estimate {
        /// A release's folder
        release: PathBuf,
        /// The column
        column: String,
    },
    /// Carry out policies as dry runs and show side by side what they risk, lose, and let a
    /// recipient count
    Compare {
        /// Policies; paths in them are relative to their folders
        #[arg(required = true)]
        policies: Vec<PathBuf>,
        /// COUNT queries, one per line, whose answers are compared with the truth (see `query`)
        #[arg(long, value_name = "FILE", conflicts_with = "queries")]
        workload: Option<PathBuf>,
        /// How many random queries to ask instead
        #[arg(long, value_name = "N", default_value_t = 1000)]
        queries: usize,
        /// Reproducible randomness
        #[arg(long, value_name = "NUMBER")]
        seed: Option<u64>,
        /// Draw loss and risk as SVG
        #[arg(long, value_name = "FILE")]
        picture: Option<PathBuf>,
        /// The loss in the picture
        #[arg(long, value_name = "NAME", default_value = "gcp")]
        metric: String,
        /// Carry out the policies with each of these values of a key, as in `k=2,5,11,25`,
        /// `gate.candidates=2,3`, `models.2.l=3` or `algorithm=mondrian,datafly`; several are
        /// combined
        #[arg(long, value_name = "KEY=VALUE,…")]
        set: Vec<String>,
    },
    /// Estimate from a release how many records meet conditions; with `--dp`, ask the data under a
    /// privacy budget
    ///
    /// Of a release, a query is `age in [30, 40] and job in (Writer, Dancer) and disease = HIV`:
    /// ranges of numbers, dates and ordered categories, also with `>=`, `>`, `<=`, `<`; values or
    /// groups of values of the others; quotes around names with spaces.
    ///
    /// With `--dp` a query is SQL: `SELECT sex, COUNT(*), AVG(age) FROM patients WHERE … GROUP BY
    /// sex`. It is answered from the data of the policy, with noise, and paid from the policy's
    /// budget. Exit status: 0 answered, 1 refused.
    Query {
        /// The release's folder; with `--dp` a policy with a `[queries]` section
        release: PathBuf,
        /// The query
        query: Option<String>,
        /// A file of queries, one per line; `#` starts a comment
        #[arg(long, value_name = "FILE", conflicts_with = "query")]
        workload: Option<PathBuf>,
        #[command(flatten)]
        dp: dp::Arguments,
    },
    /// Check the certificate of a release from its folder alone: every figure is measured again
    ///
    /// Exit status: 0 if everything that can be checked is true, 1 if not.
    Verify {
        /// The release's folder
        release: PathBuf,
    },
    /// Copy the rows of a release into a new table of a database, which is there whole or not at
    /// all
    ///
    /// An anatomized release makes a table for each of its files: NAME, NAME_sensitive,
    /// NAME_counterfeits. Passwords come from `PGPASSWORD` or a `.pgpass` file.
    Load {
        /// The release's folder
        release: PathBuf,
        /// The database: `postgres://user@host/database`, or the file of an SQLite one, which is
        /// made if need be
        #[arg(long, value_name = "DATABASE")]
        into: String,
        /// The table to make, as `name` or in PostgreSQL `schema.name`
        #[arg(long, value_name = "NAME")]
        table: String,
    },
    /// Look at what was published, check the record of it, and add what was published elsewhere
    Ledger {
        #[command(subcommand)]
        command: ledger::Command,
    },
    /// Make a table of made-up records with the counts of the data, under differential privacy
    ///
    /// Exit status: 0 published, 1 refused by the budget.
    Synthesize(dp::SynthesizeArguments),
    /// Tell what a price, or a mechanism on few data sets, means for an adversary's beliefs
    ///
    /// Plays the Bayesian games of Ganta, Kasiviswanathan and Smith: what somebody believes after
    /// a transcript of the data, and of the data with a person's record replaced; how far the two
    /// are apart; the smallest ε and δ; and what the theorems say of the price.
    Semantics(semantics::Arguments),
    /// Run a scheduler or an executor, for tables that one machine cannot count
    Cluster {
        #[command(subcommand)]
        command: engine::Command,
    },
    /// Build or check how values generalize
    Taxonomy {
        #[command(subcommand)]
        command: taxonomy::Command,
    },
    /// Explain a word of the field, or print the manual page of a model, algorithm, attack, metric,
    /// perturbation or mechanism; without a name, list them
    Explain {
        /// For example `k-anonymity` or `"equivalence class"`
        #[arg(num_args = 0..)]
        name: Vec<String>,
    },
    /// Recompute the worked examples and experiments of the literature, and compare
    ///
    /// Exit status: 0 if everything is as expected, 1 if not.
    Reproduce(reproduce::Arguments),
    /// Print the JSON Schema of an answer or of a file of a release, or list them
    Schema {
        /// Its name, as `publish` or `manifest`
        name: Option<String>,
    },
    /// Write the example hospital: data, register, taxonomies, policies
    Example {
        /// Where to
        #[arg(default_value = "hospital")]
        folder: PathBuf,
        /// Another seed gives other people
        #[arg(long, default_value_t = 2026)]
        seed: u64,
        /// How many patients
        #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
        patients: u32,
    },
}

/// Which ledger.
#[derive(clap::Args)]
pub struct LedgerArguments {
    /// The ledger: a folder, or the address of a PostgreSQL database [default: what the policy
    /// says, or `ledger` beside it]
    #[arg(long, value_name = "WHERE")]
    ledger: Option<String>,
    /// The file of its key [default: `ledger.key` beside it]
    #[arg(long, value_name = "FILE")]
    key: Option<String>,
    /// What remembers its last entry, so that a cut end is found: a file [default: `ledger.head`
    /// beside the key], or the address of another PostgreSQL database
    #[arg(long, value_name = "WHERE")]
    head_file: Option<String>,
}

/// Which rows of a database.
#[derive(clap::Args)]
struct RowsArguments {
    /// The table or view, if the data are a database
    #[arg(long, value_name = "NAME", conflicts_with = "query")]
    table: Option<String>,
    /// A query, if the data are a database
    #[arg(long, value_name = "SQL")]
    query: Option<String>,
}

/// What names a table.
fn table_help() -> String {
    let titles = scumble_publisher::table::format::titles();
    format!(
        "{titles} file, or a folder of them; or a database: `postgres://…`, or the file of an \
         SQLite one"
    )
}

/// What names a table or a release.
fn release_help() -> String {
    let titles = scumble_publisher::table::format::titles();
    format!(
        "A release's folder; a {titles} file, or a folder of them; or a database, as for `inspect`"
    )
}

/// How a CSV file is written, where detection is not wanted.
#[derive(clap::Args)]
struct DialectArguments {
    /// What separates cells (detected unless given)
    #[arg(long, value_name = "CHARACTER", value_parser = one_byte)]
    delimiter: Option<u8>,
    /// What encloses cells (detected unless given)
    #[arg(long, value_name = "CHARACTER", value_parser = one_byte)]
    quote: Option<u8>,
}

#[derive(clap::Args)]
struct PictureArguments {
    /// Draw the classes as SVG
    #[arg(long, value_name = "FILE")]
    picture: Option<PathBuf>,
    /// The two quasi-identifiers of the picture [default: the first two]
    #[arg(long, value_name = "X,Y", requires = "picture", value_parser = two_names)]
    axes: Option<(String, String)>,
}

fn one_byte(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        [b] => Ok(*b),
        _ if text == "\\t" || text == "tab" => Ok(b'\t'),
        _ => Err("must be one character, such as `;`, or `tab`".into()),
    }
}

fn two_names(text: &str) -> Result<(String, String), String> {
    let (x, y) = text.split_once(',').ok_or("must be two column names, as in `age,zip`")?;
    Ok((x.trim().to_owned(), y.trim().to_owned()))
}

impl DialectArguments {
    fn options(&self) -> ReadOptions {
        ReadOptions { delimiter: self.delimiter, quote: self.quote, ..ReadOptions::default() }
    }
}

impl PictureArguments {
    fn wanted(self) -> Option<(PathBuf, Option<(String, String)>)> {
        self.picture.map(|file| (file, self.axes))
    }
}

/// What a command came to: the text for a person, the JSON for a program, and whether the answer is
/// yes.
struct Answer {
    text: String,
    json: serde_json::Value,
    yes: bool,
}

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(e) => return misused(&e),
    };
    let json = arguments.json;
    let undone = undone(&arguments.command);
    match bug::told(|| run(arguments.command)) {
        Ok(answer) => {
            let printed = if json {
                terminal::print_json(&answer.json)
            } else {
                terminal::print(&answer.text)
            };
            // Too late to be cancelled. The status is that of the answer: whoever takes 130 for
            // "nothing was published" would be wrong about a release that is there and recorded.
            if watch::interrupted() {
                let complete = match answer.json["outcome"].as_str() {
                    Some("published") => "the release is complete",
                    _ => "the answer is complete",
                };
                eprintln!("interrupted too late: {complete}");
            }
            match printed {
                Err(e) => {
                    terminal::problems(&not_printed(&e, &answer.json));
                    ExitCode::from(2)
                }
                Ok(()) if answer.yes => ExitCode::SUCCESS,
                Ok(()) => ExitCode::from(1),
            }
        }
        Err(problems) => {
            if json {
                // The failures follow on standard error in any case.
                let _ = terminal::print_json(&failed(&problems));
            }
            if watch::interrupted() && is_cancelled(&problems) {
                eprintln!("interrupted: {undone}");
                return ExitCode::from(INTERRUPTED);
            }
            terminal::problems(&problems);
            ExitCode::from(2)
        }
    }
}

/// Help, the version, or what is wrong with the arguments. A program that asked for JSON is answered
/// so even if its other arguments are not understood.
fn misused(e: &clap::Error) -> ExitCode {
    let json = std::env::args_os().take_while(|a| a != "--").any(|a| a == "--json");
    if json && e.use_stderr() {
        let _ = terminal::print_json(&failed(&usage(e).into()));
    }
    e.exit()
}

/// A mistake in the arguments as a failure: the first paragraph of what is told to people.
fn usage(e: &clap::Error) -> Failure {
    let text = e.render().to_string();
    let lines = || text.lines().map(str::trim);
    let message: Vec<&str> = lines().take_while(|line| !line.is_empty()).collect();
    let message = message.join(" ");
    let code = match e.kind() {
        ErrorKind::InvalidSubcommand | ErrorKind::MissingSubcommand => "unknown-command",
        ErrorKind::UnknownArgument => "unknown-argument",
        ErrorKind::MissingRequiredArgument
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => "missing-argument",
        ErrorKind::ArgumentConflict => "conflicting-arguments",
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => "wrong-value",
        _ => "wrong-arguments",
    };
    let tips: Vec<&str> = lines().filter_map(|line| line.strip_prefix("tip: ")).collect();
    Failure::usage(code, message.trim_start_matches("error: ")).hint(tips.join("; "))
}

/// The answer to a program when a command fails.
fn failed(failures: &Failures) -> serde_json::Value {
    // What cannot be written is told on standard error in any case.
    serde_json::to_value(Failed::from(failures)).unwrap_or_default()
}

/// The exit code of a command that was interrupted, as shells have it.
const INTERRUPTED: u8 = 130;

/// Whether a run was cancelled, and nothing else went wrong.
fn is_cancelled(problems: &Failures) -> bool {
    problems.0.iter().all(|p| p.kind == scumble::failure::Kind::Cancelled)
}

/// What a command that is cancelled did not do.
fn undone(command: &Command) -> &'static str {
    match command {
        Command::Load { .. } => "nothing was loaded",
        Command::Query { dp, .. } if dp.dp => "nothing was answered, and nothing was paid",
        Command::Example { .. } => "nothing was written",
        Command::Publish { .. } | Command::Synthesize(_) => "nothing was published",
        _ => "there is no answer",
    }
}

/// The answer could not be written to standard output. One that was paid for is not lost.
fn not_printed(e: &std::io::Error, answer: &serde_json::Value) -> Failures {
    let problem = Failure::io(
        "not-printed",
        format!("the answer cannot be written: {}", scumble_publisher::describe(e)),
    );
    match answer["recorded"].as_u64().filter(|_| answer["outcome"] == "answered") {
        Some(entry) => problem.remedy(
            Remedy::words("it is paid and recorded: ")
                .and_run(Action::RepeatAnswer { entry })
                .then(" prints it again"),
        ),
        None => problem,
    }
    .into()
}

fn to_json(answer: &impl serde::Serialize) -> Result<serde_json::Value, Failures> {
    serde_json::to_value(answer).map_err(|e| {
        Failure::bug("not-json", format!("the answer cannot be written as JSON: {e}")).into()
    })
}

fn run(command: Command) -> Result<Answer, Failures> {
    match command {
        Command::Publish {
            policy,
            dry_run,
            replace,
            to,
            seed,
            show_values,
            repair,
            no_remedies,
            exposed,
            engine,
            ledger,
            wait,
            picture,
        } => {
            let engine = engine.open()?;
            let observer = watch::Terminal::new();
            let publisher =
                Publisher { engine: engine::asked(&engine), ..Publisher::observed_by(&observer) };
            watch::also_stop(engine::stopper(&engine));
            let request = PublishRequest {
                seed,
                dry_run,
                replace,
                show_values,
                to,
                picture: picture.wanted(),
                ledger: ledger.ledger,
                key: ledger.key,
                head: ledger.head_file,
                wait: Duration::from_secs(wait),
                repair: match repair {
                    None if no_remedies => Repair::Off,
                    None => Repair::List,
                    Some(0) => Repair::Best,
                    Some(number) => Repair::Number(number),
                },
                exposed,
            };
            let answer = PolicyFile::read(&policy).and_then(|p| publisher.publish(&p, &request));
            observer.clear();
            let answer = answer?;
            Ok(Answer {
                text: show::published(&answer),
                json: to_json(&answer)?,
                yes: answer.outcome != scumble_publisher::answer::Outcome::Refused,
            })
        }
        Command::Check {
            data,
            rows,
            quasi_identifiers,
            sensitive,
            policy,
            register,
            population,
            show_values,
            engine,
            picture,
            dialect,
        } => {
            let data = origin::named(&data, rows.table, rows.query)?;
            let engine = engine.open()?;
            let observer = watch::Terminal::new();
            let publisher =
                Publisher { engine: engine::asked(&engine), ..Publisher::observed_by(&observer) };
            if engine.is_some() {
                watch::also_stop(engine::stopper(&engine));
            }
            let request = CheckRequest {
                quasi: quasi_identifiers,
                sensitive,
                policy: policy.as_deref().map(PolicyFile::read).transpose()?,
                register,
                population,
                picture: picture.wanted(),
                read: dialect.options(),
                show_values,
            };
            let answer = publisher.check(&data, &request);
            observer.clear();
            let answer = answer?;
            Ok(Answer {
                text: show::checked(&answer),
                json: to_json(&answer)?,
                yes: answer.keeps != Some(false),
            })
        }
        Command::Inspect { data, rows, draft, max_columns, show_values, header, dialect } => {
            let data = origin::named(&data, rows.table, rows.query)?;
            let read = dialect.options();
            let request = InspectRequest {
                read,
                max_columns,
                show_values,
                header,
                draft,
                ..Default::default()
            };
            inspect_command(&data, &request)
        }
        Command::Attack(arguments) => attack::run(*arguments),
        Command::Why(arguments) => attack::why(*arguments),
        Command::Estimate { release, column } => {
            let answer = Publisher::default().estimate(&release, &column)?;
            Ok(Answer { text: show::estimated(&answer), json: to_json(&answer)?, yes: true })
        }
        Command::Compare { policies, workload, queries, seed, picture, metric, set } => {
            let observer = watch::Terminal::new();
            let set = Failures::all(set.iter().map(|text| Ok(Sweep::parse(text)?)))?;
            let request = CompareRequest { seed, workload, queries, metric, picture, set };
            let files = policies.iter().map(|path| PolicyFile::read(path));
            let answer = Failures::all(files)
                .and_then(|files| Publisher::observed_by(&observer).compare(&files, &request));
            observer.clear();
            let answer = answer?;
            Ok(Answer { text: show::compared(&answer), json: to_json(&answer)?, yes: true })
        }
        Command::Query { release, query: text, workload: None, dp } if dp.dp => {
            dp::run(&release, text, dp)
        }
        Command::Query { release, query: text, workload, .. } => {
            let queries = query::read(text.as_deref(), workload.as_deref())?;
            let observer = watch::Terminal::new();
            let answer = Publisher::observed_by(&observer).query(&release, &queries);
            observer.clear();
            let answer = answer?;
            Ok(Answer { text: show::answered(&answer), json: to_json(&answer)?, yes: true })
        }
        Command::Verify { release } => {
            let observer = watch::Terminal::new();
            let answer = Publisher::observed_by(&observer).verify(&release);
            observer.clear();
            let answer = answer?;
            Ok(Answer { text: show::verified(&answer), json: to_json(&answer)?, yes: answer.holds })
        }
        Command::Load { release, into, table } => {
            let observer = watch::Terminal::new();
            let answer = Publisher::observed_by(&observer).load(&release, &into, &table);
            observer.clear();
            let answer = answer?;
            Ok(Answer { text: show::loaded(&answer), json: to_json(&answer)?, yes: true })
        }
        Command::Ledger { command } => ledger::run(command),
        Command::Synthesize(arguments) => dp::synthesize(arguments),
        Command::Semantics(arguments) => semantics::run(arguments),
        Command::Cluster { command } => engine::run(command),
        Command::Taxonomy { command } => taxonomy::run(command),
        Command::Explain { name } => explain(&name.join(" ")),
        Command::Reproduce(arguments) => reproduce::run(&arguments),
        Command::Schema { name: Some(name) } => {
            let json = (schema(&name)?.schema)().to_value();
            Ok(Answer { text: format!("{json:#}\n"), json, yes: true })
        }
        Command::Schema { name: None } => {
            let answer = Schemas::all();
            let rows: Vec<Vec<String>> =
                answer.schemas.iter().map(|s| vec![s.name.clone(), s.about.clone()]).collect();
            Ok(Answer { text: show::table(&rows), json: to_json(&answer)?, yes: true })
        }
        Command::Example { folder, seed, patients } => {
            example_command(&folder, seed, patients as usize)
        }
    }
}

fn explain(name: &str) -> Result<Answer, Failures> {
    if name.is_empty() {
        return Ok(everything_explained());
    }
    let topic = glossary::topic(name).ok_or_else(|| {
        Failure::usage("unknown-entry", format!("there is no word and no method `{name}`"))
            .hint(glossary::suggestion(name))
    })?;
    let json = serde_json::json!({
        "name": topic.name,
        "kinds": topic.kinds,
        "page": topic.page,
        "related": topic.related,
        "manual": topic.manual,
    });
    Ok(Answer { json, text: topic.page, yes: true })
}

/// Every method with its line, and every word.
fn everything_explained() -> Answer {
    let methods = catalogue::everything();
    let rows: Vec<Vec<String>> = methods
        .iter()
        .map(|(kind, name, about)| vec![(*kind).into(), (*name).into(), (*about).into()])
        .collect();
    let mut text = format!("{}\nWords:\n", show::table(&rows));
    let mut line = String::new();
    for word in glossary::WORDS {
        if !line.is_empty() && line.len() + word.name.len() > 94 {
            text.push_str(&format!("  {line},\n"));
            line.clear();
        }
        line.push_str(if line.is_empty() { "" } else { ", " });
        line.push_str(word.name);
    }
    text.push_str(&format!(
        "  {line}\n\n`scumble explain NAME` prints the manual page of a method or explains a word.\n"
    ));
    let words = glossary::WORDS.iter().map(|w| ("word", w.name, w.summary()));
    let json = methods.iter().copied().chain(words).map(|(kind, name, summary)| {
        serde_json::json!({ "kind": kind, "name": name, "summary": summary })
    });
    Answer { json: json.collect(), text, yes: true }
}

fn example_command(folder: &Path, seed: u64, patients: usize) -> Result<Answer, Failures> {
    if folder.exists() {
        let hint = "name another folder, as in `scumble example hospital-2`";
        return Err(Failure::usage(
            "exists-already",
            format!("`{}` exists already", folder.display()),
        )
        .hint(hint)
        .into());
    }
    let observer: &dyn Observer = &watch::Terminal::new();
    let staging = scumble_publisher::publish::staging::Staging::begin(folder, None, None)?;
    let files = scumble_lab::example::files(seed, patients);
    for file in &files {
        observer.go_on()?;
        let path = staging.path().join(file.path);
        let made = path
            .parent()
            .map_or(Ok(()), std::fs::create_dir_all)
            .and_then(|()| std::fs::write(&path, &file.text));
        made.map_err(|e| {
            Failure::io(
                "cannot-write",
                format!("writing `{}` failed: {}", file.path, scumble_publisher::describe(&e)),
            )
        })?;
    }
    staging.commit()?;
    let names: Vec<&str> = files.iter().map(|f| f.path).collect();
    let policy = folder.join("policy.toml");
    let text = format!(
        "Wrote the example hospital to {}: {}\n\nNow publish it:\n\n    scumble publish {}\n",
        folder.display(),
        names.join(", "),
        policy.display()
    );
    Ok(Answer {
        text,
        json: serde_json::json!({ "folder": folder.display().to_string(), "files": names }),
        yes: true,
    })
}

fn inspect_command(data: &Source, request: &InspectRequest) -> Result<Answer, Failures> {
    let observer = watch::Terminal::new();
    let publisher = Publisher::observed_by(&observer);
    let answer = publisher.inspect(data, request);
    observer.clear();
    let answer = answer?;
    let mut text = show::inspected(&answer);
    if let Some(draft) = &answer.draft {
        text.push_str(&format!(
            "\nWrote a draft policy to {draft}. Read it, correct it, then:\n\n    scumble publish {draft}\n",
        ));
    }
    Ok(Answer { text, json: to_json(&answer)?, yes: true })
}
