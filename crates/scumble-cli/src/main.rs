//! The `scumble` command: arguments in, answers out. Decisions are made in the libraries.

mod attack;
mod dp;
mod engine;
mod example;
mod ledger;
mod reproduce;
mod show;
mod taxonomy;
mod terminal;
mod watch;

use clap::{Parser, Subcommand};
use scumble::catalogue;
use scumble::policy::Source;
use scumble::problem::{Problem, Problems};
use scumble_io::columns::ReadOptions;
use scumble_io::publisher::{Repair, Watcher};
use scumble_io::release::verify;
use scumble_io::staging::Slot;
use scumble_io::{check, compare, inspect, load, origin, publisher, query};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Publish tables about people so that the people stay hidden and the data stay useful.
///
/// Exit status: 0 published or kept, 1 refused or broken (an answer), 2 failed (an error; nothing was written).
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
        /// CSV, Parquet or Arrow file, or a folder of them; or a database: `postgres://…`, or the file of an SQLite one
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
        /// Show whom the witness of a model is about, and what the gate would let be known (personal data; not written)
        #[arg(long)]
        show_values: bool,
        /// If the gate refuses, publish the remedy with this number; without a number, the best one that drops no
        /// column, suppresses nobody and shows no quasi-identifier more exactly
        #[arg(long, value_name = "NUMBER", num_args = 0..=1, default_missing_value = "0", hide_default_value = true)]
        repair: Option<u64>,
        /// If the gate refuses, do not look for changes that pass
        #[arg(long, conflicts_with = "repair")]
        no_remedies: bool,
        /// If the gate refuses, write everybody who would be exposed into this CSV file (rows of the extract; values only
        /// with --show-values)
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
    /// Say what a table or release satisfies: k, every ℓ, t, risks; and whether it keeps its promises
    Check {
        /// A release's folder; a CSV, Parquet or Arrow file, or a folder of them; or a database, as for `inspect`
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
        /// How many people the table is a sample of: estimates how many records are unique among them
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
    /// Estimate how many records have each value of a column that was randomized (`perturb = { keep = … }`)
    Estimate {
        /// A release's folder
        release: PathBuf,
        /// The column
        column: String,
    },
    /// Carry out policies as dry runs and show side by side what they risk, lose, and let a recipient count
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
    },
    /// Estimate from a release how many records meet conditions; with `--dp`, ask the data under a privacy budget
    ///
    /// Of a release, a query is `age in [30, 40] and job in (Writer, Dancer) and disease = HIV`: ranges of numbers, dates and ordered
    /// categories, also with `>=`, `>`, `<=`, `<`; values or groups of values of the others; quotes around names with
    /// spaces.
    ///
    /// With `--dp` a query is SQL: `SELECT sex, COUNT(*), AVG(age) FROM patients WHERE … GROUP BY sex`. It is answered from
    /// the data of the policy, with noise, and paid from the policy's budget. Exit status: 0 answered, 1 refused.
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
    /// Copy the rows of a release into a new table of a database, which is there whole or not at all
    ///
    /// An anatomized release makes a table for each of its files: NAME, NAME_sensitive, NAME_counterfeits. Passwords come from
    /// `PGPASSWORD` or a `.pgpass` file.
    Load {
        /// The release's folder
        release: PathBuf,
        /// The database: `postgres://user@host/database`, or the file of an SQLite one, which is made if need be
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
    /// Print the manual page of a model, algorithm, attack, metric or perturbation; without a name, list them
    Explain {
        /// For example `k-anonymity`
        name: Option<String>,
    },
    /// Recompute the worked examples and experiments of the literature, and compare
    ///
    /// Exit status: 0 if everything is as expected, 1 if not.
    Reproduce(reproduce::Arguments),
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
    /// The ledger: a folder, or the address of a PostgreSQL database [default: what the policy says, or `ledger` beside it]
    #[arg(long, value_name = "WHERE")]
    ledger: Option<String>,
    /// The file of its key [default: `ledger.key` beside it]
    #[arg(long, value_name = "FILE")]
    key: Option<String>,
    /// The file that remembers its last entry, so that a cut end is found [default: `ledger.head` beside the key]
    #[arg(long, value_name = "FILE")]
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

/// What a command came to: the text for a person, the JSON for a program, and whether the answer is yes.
struct Answer {
    text: String,
    json: serde_json::Value,
    yes: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let json = arguments.json;
    match run(arguments.command) {
        Ok(answer) => {
            let printed = if json { terminal::print_json(&answer.json) } else { terminal::print(&answer.text) };
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
                let list: Vec<_> =
                    problems.0.iter().map(|p| serde_json::json!({ "message": p.message, "hint": p.hint })).collect();
                let failed = serde_json::json!({ "version": 1, "outcome": "failed", "problems": list });
                // The problems follow on standard error in any case.
                let _ = terminal::print_json(&failed);
            }
            terminal::problems(&problems);
            ExitCode::from(2)
        }
    }
}

/// The answer could not be written to standard output. One that was paid for is not lost.
fn not_printed(e: &std::io::Error, answer: &serde_json::Value) -> Problems {
    let problem = Problem::new(format!("the answer cannot be written: {}", scumble_io::describe(e)));
    match answer["recorded"].as_u64().filter(|_| answer["outcome"] == "answered") {
        Some(entry) => {
            problem.hint(format!("it is paid and recorded: `scumble ledger answer {entry}` prints it again"))
        }
        None => problem,
    }
    .into()
}

fn to_json(answer: &impl serde::Serialize) -> Result<serde_json::Value, Problems> {
    serde_json::to_value(answer).map_err(|e| Problem::new(format!("the answer cannot be written as JSON: {e}")).into())
}

fn run(command: Command) -> Result<Answer, Problems> {
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
            let slot = Slot::default();
            let engine = engine.open()?;
            watch::clean_up_on_interrupt(&slot, engine::stopper(&engine));
            let watcher = watch::Terminal::new();
            let picture = picture.wanted();
            let options = publisher::Options {
                seed,
                dry_run,
                replace,
                show_values,
                to,
                picture,
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
                slot,
                engine: engine::asked(&engine),
                watcher: &watcher,
            };
            let answer = publisher::publish(&policy, &options);
            watcher.clear();
            let answer = answer?;
            Ok(Answer { text: show::published(&answer), json: to_json(&answer)?, yes: answer.outcome != "refused" })
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
            if engine.is_some() {
                watch::clean_up_on_interrupt(&Slot::default(), engine::stopper(&engine));
            }
            let watcher = watch::Terminal::new();
            let options = check::Options {
                quasi: quasi_identifiers,
                sensitive,
                policy,
                register,
                population,
                picture: picture.wanted(),
                read: dialect.options(),
                show_values,
                engine: engine::asked(&engine),
                watcher: &watcher,
            };
            let answer = check::check(&data, &options);
            watcher.clear();
            let answer = answer?;
            Ok(Answer { text: show::checked(&answer), json: to_json(&answer)?, yes: answer.keeps != Some(false) })
        }
        Command::Inspect { data, rows, draft, max_columns, show_values, dialect } => {
            let data = origin::named(&data, rows.table, rows.query)?;
            inspect_command(&data, draft, max_columns, show_values, &dialect)
        }
        Command::Attack(arguments) => attack::run(*arguments),
        Command::Why(arguments) => attack::why(*arguments),
        Command::Estimate { release, column } => {
            let answer = scumble_io::estimate::estimate(&release, &column)?;
            Ok(Answer { text: show::estimated(&answer), json: to_json(&answer)?, yes: true })
        }
        Command::Compare { policies, workload, queries, seed, picture, metric } => {
            let watcher = watch::Terminal::new();
            let options = compare::Options { seed, workload, queries, metric, picture, watcher: &watcher };
            let answer = compare::compare(&policies, &options);
            watcher.clear();
            let answer = answer?;
            Ok(Answer { text: show::compared(&answer), json: to_json(&answer)?, yes: true })
        }
        Command::Query { release, query: text, workload: None, dp } if dp.dp => dp::run(&release, text, dp),
        Command::Query { release, query: text, workload, .. } => {
            let queries = query::read(text.as_deref(), workload.as_deref())?;
            let watcher = watch::Terminal::new();
            let answer = query::query(&release, &queries, &watcher);
            watcher.clear();
            let answer = answer?;
            Ok(Answer { text: show::answered(&answer), json: to_json(&answer)?, yes: true })
        }
        Command::Verify { release } => {
            let watcher = watch::Terminal::new();
            let answer = verify::verify(&release, &watcher);
            watcher.clear();
            let answer = answer?;
            Ok(Answer { text: show::verified(&answer), json: to_json(&answer)?, yes: answer.holds })
        }
        Command::Load { release, into, table } => {
            let watcher = watch::Terminal::new();
            let answer = load::load(&release, &into, &table, &watcher);
            watcher.clear();
            let answer = answer?;
            Ok(Answer { text: show::loaded(&answer), json: to_json(&answer)?, yes: true })
        }
        Command::Ledger { command } => ledger::run(command),
        Command::Synthesize(arguments) => dp::synthesize(arguments),
        Command::Cluster { command } => engine::run(command),
        Command::Taxonomy { command } => taxonomy::run(command),
        Command::Explain { name } => explain(name.as_deref()),
        Command::Reproduce(arguments) => reproduce::run(&arguments),
        Command::Example { folder, seed, patients } => example_command(&folder, seed, patients as usize),
    }
}

fn explain(name: Option<&str>) -> Result<Answer, Problems> {
    let everything = catalogue::everything();
    let Some(name) = name else {
        let rows: Vec<Vec<String>> = everything
            .iter()
            .map(|(kind, name, about)| vec![(*kind).into(), (*name).into(), (*about).into()])
            .collect();
        let json = everything
            .iter()
            .map(|(kind, name, about)| serde_json::json!({ "kind": kind, "name": name, "summary": about }));
        let text = format!("{}\n`scumble explain NAME` prints the manual page.\n", show::table(&rows));
        return Ok(Answer { text, json: json.collect(), yes: true });
    };
    let page = catalogue::explain(name).ok_or_else(|| {
        let hint = catalogue::did_you_mean(name, everything.iter().map(|(_, name, _)| *name));
        Problem::new(format!("there is no model, algorithm, attack, metric or perturbation `{name}`")).hint(hint)
    })?;
    Ok(Answer { json: serde_json::json!({ "name": name, "page": page }), text: page, yes: true })
}

fn example_command(folder: &Path, seed: u64, patients: usize) -> Result<Answer, Problems> {
    if folder.exists() {
        let hint = "name another folder, as in `scumble example hospital-2`";
        return Err(Problem::new(format!("`{}` exists already", folder.display())).hint(hint).into());
    }
    let slot = Slot::default();
    watch::clean_up_on_interrupt(&slot, || ());
    let staging = scumble_io::staging::Staging::begin(folder, None, &slot, None)?;
    let files = example::files(seed, patients);
    for file in &files {
        let path = staging.path().join(file.path);
        let made =
            path.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| std::fs::write(&path, &file.text));
        made.map_err(|e| Problem::new(format!("writing `{}` failed: {}", file.path, scumble_io::describe(&e))))?;
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
    Ok(Answer { text, json: serde_json::json!({ "folder": folder.display().to_string(), "files": names }), yes: true })
}

fn inspect_command(
    data: &Source,
    draft: Option<PathBuf>,
    max_columns: usize,
    show_values: bool,
    dialect: &DialectArguments,
) -> Result<Answer, Problems> {
    if let Some(draft) = draft.as_ref().filter(|d| d.exists()) {
        return Err(Problem::new(format!("`{}` exists already", draft.display()))
            .hint("write the draft to another file; yours may hold decisions")
            .into());
    }
    let watcher = watch::Terminal::new();
    let options = inspect::InspectOptions { read: dialect.options(), max_columns, show_values, ..Default::default() };
    let answer = inspect::inspect(data, &options, &|phase, done, total| {
        watcher.phase(phase);
        watcher.at(done, total);
    });
    watcher.clear();
    let answer = answer?;
    let mut text = show::inspected(&answer);
    if let Some(draft) = draft {
        let source = source_beside(data, &draft);
        publisher::write_whole(&draft, &inspect::draft(&answer, &source))?;
        text.push_str(&format!(
            "\nWrote a draft policy to {}. Read it, correct it, then:\n\n    scumble publish {0}\n",
            draft.display()
        ));
    }
    Ok(Answer { text, json: to_json(&answer)?, yes: true })
}

/// How a policy written to `draft` names the data: by a path from its own folder.
fn source_beside(data: &Source, draft: &Path) -> Source {
    let whole = |p: &Path| p.canonicalize().unwrap_or_else(|_| p.to_path_buf());
    let folder = whole(&publisher::base_of(draft));
    let from_there = |path: &Path| whole(path).strip_prefix(&folder).map_or_else(|_| whole(path), Path::to_path_buf);
    match data {
        Source::File(path) => Source::File(from_there(path)),
        Source::Sqlite { file, rows } => Source::Sqlite { file: from_there(file), rows: rows.clone() },
        Source::Postgres { .. } => data.clone(),
    }
}
