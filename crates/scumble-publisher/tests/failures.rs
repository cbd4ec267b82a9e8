//! Failures: every kind can be told apart by a program, every code is in the table, and no library
//! names what only a front end has.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use scumble::failure::codes::CODES;
use scumble::failure::{Action, Argument, Failure, Failures, Kind, Part, Remedy};
use scumble::policy::Policy;
use scumble_publisher::answer::{Outcome, Published, Reason};
use scumble_publisher::failure::FailureKind;
use scumble_publisher::ledger::{Access, Ledger, Whereabouts};
use scumble_publisher::observer::{Event, Observer, Phase, Silent};
use scumble_publisher::policy_file::PolicyFile;
use scumble_publisher::publish::{PublishRequest, Repair};
use scumble_publisher::publisher::Publisher;
use scumble_publisher::table::columns::{ReadOptions, read};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The source files below a folder of the repository.
fn sources(of: &str) -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(of);
    let mut folders = vec![root];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder of sources") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let text = std::fs::read_to_string(&path).expect("a source file");
                files.push((path, text));
            }
        }
    }
    assert!(!files.is_empty(), "{of} has no sources");
    files
}

/// The code without lines of comments, and with every literal on one line.
fn code_of(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    let mut code = String::new();
    for line in lines {
        match line.strip_suffix('\\') {
            Some(begun) => code.push_str(begun.trim_start()),
            None => {
                code.push_str(line.trim_start());
                code.push('\n');
            }
        }
    }
    code
}

/// Whether a line names a flag or a subcommand of the command.
fn names_the_command(line: &str) -> bool {
    let letter = |rest: &str| rest.starts_with(|c: char| c.is_ascii_lowercase());
    let after = |mark: &str| line.match_indices(mark).any(|(at, m)| letter(&line[at + m.len()..]));
    after("--") || after("`scumble ")
}

#[test]
fn no_library_names_a_flag_or_a_subcommand() {
    let mut found = Vec::new();
    for of in ["crates/scumble/src", "crates/scumble-publisher/src", "crates/scumble-cluster/src"] {
        for (path, text) in sources(of) {
            // A certificate tells its reader, who has no front end yet, which program checks it.
            // The glossary is printed by the command, and says where its words are met.
            if path.ends_with("release/certificate.rs") || path.ends_with("src/glossary.rs") {
                continue;
            }
            let code = code_of(&text);
            for line in code.lines().filter(|line| names_the_command(line)) {
                found.push(format!("{}: {line}", path.display()));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
    assert!(names_the_command("hint(\"give `--memory`\")"));
    assert!(names_the_command(&code_of("\"write it with `scumble \\\n    taxonomy build`\"")));
    assert!(!names_the_command("let x = a - -b; // this scumble"));
}

/// The codes with which failures are made in the sources.
fn used() -> Vec<(String, String)> {
    let constructors = ["usage", "policy", "data", "io", "refused", "busy", "bug"];
    let mut used = Vec::new();
    for (path, text) in sources("crates") {
        if !path.components().any(|c| c.as_os_str() == "src") || path.ends_with("src/failure.rs") {
            continue;
        }
        let code = code_of(&text);
        for kind in constructors {
            let mark = format!("Failure::{kind}(");
            for (at, _) in code.match_indices(&mark) {
                let rest = code[at + mark.len()..].trim_start();
                let literal = rest.strip_prefix('"').and_then(|rest| rest.split_once('"'));
                let place = format!("{}, `{mark}`", path.display());
                match literal {
                    Some((name, _)) => used.push((name.to_owned(), place)),
                    // The command's usage errors choose one of several.
                    None => {
                        assert!(path.ends_with("scumble-cli/src/main.rs"), "{place}: {rest:.40}")
                    }
                }
            }
        }
    }
    used
}

#[test]
fn every_code_is_in_the_table_once_and_is_used() {
    let names: Vec<&str> = CODES.iter().map(|(name, _)| *name).collect();
    assert!(names.windows(2).all(|w| w[0] < w[1]), "sorted, without repetition");
    for (name, meaning) in CODES {
        let kebab = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        assert!(name.chars().all(kebab) && !name.starts_with('-'), "{name}");
        assert!(meaning.ends_with('.') && meaning.len() > 10, "{name}: {meaning}");
    }
    let used = used();
    assert!(used.len() > 400, "only {} failures were found", used.len());
    for (code, place) in &used {
        assert!(names.contains(&code.as_str()), "{place}: `{code}` is not in the table");
    }
    let used: BTreeSet<&str> = used.iter().map(|(code, _)| code.as_str()).collect();
    // Made without a literal: cancellations, what another version told, usage of the command.
    let others = [
        "cancelled",
        "foreign",
        "conflicting-arguments",
        "missing-argument",
        "unknown-argument",
        "unknown-command",
        "wrong-arguments",
    ];
    for name in names {
        assert!(used.contains(name) || others.contains(&name), "`{name}` is used nowhere");
    }
}

#[test]
fn the_page_of_failures_is_that_of_the_table() {
    let mut page = String::from(
        "# Failures\n\nMade from the tables of the code by `tests/failures.rs`; \
         `SCUMBLE_OVERWRITE=1 cargo test --workspace --test failures` writes it.\n\n\
         A failure has a kind, a code, a subject (`file`, `line`, `column`, `key`, `row`, `argument`; \
         those that are known), a message and a remedy.\nThe kind says whose turn it is:\n\n\
         | kind | meaning |\n| --- | --- |\n",
    );
    for kind in Kind::ALL {
        page.push_str(&format!("| `{}` | {} |\n", kind.name(), kind.meaning()));
    }
    page.push_str(
        "\nA remedy is a list of steps that read as a sentence: `words`, `give` (an argument, with a \
         value or without), `leave-out` (an argument), `set` (a key of the policy), `run` (an action).\n\n\
         Codes are stable, and each has one meaning:\n\n| code | meaning |\n| --- | --- |\n",
    );
    for (name, meaning) in CODES {
        page.push_str(&format!("| `{name}` | {meaning} |\n"));
    }
    page.push_str("\nArguments that remedies and subjects name: ");
    let names: Vec<String> = Argument::ALL.iter().map(|a| format!("`{a}`")).collect();
    page.push_str(&format!("{}.\n", names.join(", ")));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/failures.md");
    if std::env::var_os("SCUMBLE_OVERWRITE").is_some() {
        std::fs::write(&path, &page).expect("the page is written");
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(there == page, "docs/failures.md is stale; SCUMBLE_OVERWRITE=1 writes it");
}

#[test]
fn a_failure_survives_json_both_ways() {
    let remedy = Remedy::give_value(Argument::Memory, "4GB")
        .then(", leave out ")
        .and_leave_out(Argument::Engine)
        .then(", write ")
        .and_set("ledger", "false")
        .then(", or see ")
        .and_run(Action::CheckTaxonomy { column: "zip".into() });
    let failure = Failure::refused("memory-limit", "too much")
        .file("a.csv")
        .line(3)
        .column("zip")
        .key("attributes.zip")
        .row(2)
        .argument(Argument::Memory)
        .remedy(remedy);
    let json = serde_json::to_string(&Reason::from(&failure)).unwrap();
    let reason: Reason = serde_json::from_str(&json).unwrap();
    assert_eq!(Failure::from(&reason), failure);
    assert_eq!(
        reason.hint.as_deref(),
        Some(
            "give `memory = 4GB`, leave out `engine`, write `ledger = false`, or see checking `zip` \
             against its taxonomy"
        )
    );
    let newer = json.replace("memory-limit", "of-the-future");
    let reason: Reason = serde_json::from_str(&newer).unwrap();
    assert_eq!(Failure::from(&reason).code, "foreign");
}

const POLICY: &str = "source = \"x.csv\"\n[release]\nto = \"out\"\n[attributes]\n\
    age = { role = \"quasi-identifier\", taxonomy = { number = true } }\n\
    job = \"sensitive\"\n[[models]]\nname = \"k-anonymity\"\nk = 2\n[algorithm]\nname = \"mondrian\"\n";
const TABLE: &str = "age,job\n30,a\n31,b\n40,a\n41,b\n";

fn extract(policy: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("x.csv"), TABLE).expect("a table");
    std::fs::write(folder.path().join("policy.toml"), policy).expect("a policy");
    folder
}

fn published(folder: &Path, observer: &dyn Observer) -> Result<Published, Failures> {
    let request = PublishRequest { seed: Some(1), repair: Repair::Off, ..Default::default() };
    let policy = PolicyFile::read(&folder.join("policy.toml"))?;
    Publisher::observed_by(observer).publish(&policy, &request)
}

fn only(result: Result<impl Sized, Failures>) -> Failure {
    let mut failures = result.err().expect("a failure").0;
    assert_eq!(failures.len(), 1, "{failures:?}");
    failures.remove(0)
}

#[test]
fn a_wrong_policy_tells_file_line_and_key() {
    let text = POLICY.replace("k = 2", "k = \"many\"");
    let failure = only(Policy::parse("policy.toml", &text));
    assert_eq!((failure.kind, failure.code), (Kind::Policy, "wrong-parameter"));
    let subject = failure.subject.expect("a subject");
    assert_eq!(subject.file.as_deref(), Some("policy.toml"));
    let text = POLICY.replace("job = \"sensitive\"", "job = \"sensitiv\"");
    let failure = only(Policy::parse("policy.toml", &text));
    assert_eq!((failure.kind, failure.code), (Kind::Policy, "unknown-role"));
    let subject = failure.subject.expect("a subject");
    assert_eq!((subject.line, subject.key.as_deref()), (Some(6), Some("attributes.job")));
    assert!(failure.remedy.is_some_and(|r| r.to_string().contains("sensitive")));
}

#[test]
fn wrong_data_tell_file_line_and_column() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("x.csv");
    std::fs::write(&path, b"a,b\n1,2\n3,\xff\n").expect("a table");
    let failure = only(read(&path, &ReadOptions::default(), None, &|_, _| true));
    assert_eq!((failure.kind, failure.code), (Kind::Data, "not-utf8"));
    let subject = failure.subject.expect("a subject");
    assert_eq!(subject.file, Some(path.display().to_string()));
    assert_eq!((subject.line, subject.column.as_deref()), (Some(3), Some("b")));
}

#[test]
fn the_system_is_told_apart_from_the_caller() {
    let nowhere = Path::new("/nowhere/x.csv");
    let failure = only(read(nowhere, &ReadOptions::default(), None, &|_, _| true));
    assert_eq!((failure.kind, failure.code), (Kind::Io, "not-found"));
    assert_eq!(failure.subject.and_then(|s| s.file).as_deref(), Some("/nowhere/x.csv"));

    let folder = extract(POLICY);
    published(folder.path(), &Silent).expect("a release");
    let failure = only(published(folder.path(), &Silent));
    assert_eq!((failure.kind, failure.code), (Kind::Usage, "exists-already"));
    let remedy = failure.remedy.expect("a remedy");
    assert!(remedy.0.contains(&Part::Give(Argument::Replace, None)), "{remedy:?}");
    assert!(remedy.0.contains(&Part::Give(Argument::To, None)), "{remedy:?}");
}

#[test]
fn what_cannot_be_met_is_refused() {
    let folder = extract(&POLICY.replace("k = 2", "k = 9"));
    let answer = published(folder.path(), &Silent).expect("an answer");
    assert_eq!(answer.outcome, Outcome::Refused);
    let reason = &answer.reasons[0];
    assert_eq!((reason.kind, reason.code.as_str()), (FailureKind::Refused, "cannot-be-met"));
}

/// A refusal is an answer to a request that was understood. What the caller wrote wrongly is not.
#[test]
fn mistakes_of_policy_and_data_are_no_refusals() {
    let model = "name = \"k-anonymity\"\nk = 2";
    let cases = [
        ("name = \"k-map\"\nk = 2\nregister = \"r.csv\"", Kind::Data, "register-lacks-columns"),
        (
            "name = \"positive-disclosure-recursive-l-diversity\"\nc = 2\nl = 2\nharmless = [\"nope\"]",
            Kind::Policy,
            "unknown-value",
        ),
        (
            "name = \"privacy-skyline\"\nl = 1\nk = 1\nm = 1\nc = 0.9\nvalues = [\"nope\"]",
            Kind::Policy,
            "unknown-value",
        ),
        (
            "name = \"delta-presence\"\nmin = 0.9\nmax = 0.1\nregister = \"q.csv\"",
            Kind::Policy,
            "conflicting-keys",
        ),
        ("name = \"predicate\"\nexpression = \"size >=\"", Kind::Policy, "wrong-expression"),
        (
            "name = \"bayes-optimal\"\ntheta = 0.9\nreference = \"q.csv\"",
            Kind::Data,
            "reference-lacks-column",
        ),
    ];
    for (instead, kind, code) in cases {
        let folder = extract(&POLICY.replace(model, instead));
        std::fs::write(folder.path().join("r.csv"), "town,street\nX,Y\n").expect("a register");
        std::fs::write(folder.path().join("q.csv"), "age,people\n30,5\n").expect("a register");
        let failure = only(published(folder.path(), &Silent));
        assert_eq!((failure.kind, failure.code), (kind, code), "{instead}: {}", failure.message);
    }
    let with_algorithm = |algorithm: &str| {
        let text = POLICY.replace("name = \"mondrian\"", algorithm);
        let text = text.replace("job = \"sensitive\"", "job = \"insensitive\"");
        only(published(extract(&text).path(), &Silent))
    };
    let failure = with_algorithm("name = \"anatomy\"\nl = 2");
    assert_eq!((failure.kind, failure.code), (Kind::Policy, "no-sensitive-attribute"));
}

#[test]
fn people_of_a_register_who_cannot_be_placed_are_counted() {
    let text = POLICY
        .replace("name = \"k-anonymity\"\nk = 2", "name = \"k-map\"\nk = 1\nregister = \"r.csv\"")
        .replace(
            "job = \"sensitive\"",
            "job = { role = \"quasi-identifier\", taxonomy = { prefix = true, length = 3 } }",
        );
    let folder = extract(&text);
    let register = "age,job,people\n30,a,1\n7773q,b,4\n40,ZQLONG,2\n41,b,1\n";
    std::fs::write(folder.path().join("r.csv"), register).expect("a register");
    let answer = published(folder.path(), &Silent).expect("an answer");
    let about = |what: &str| answer.warnings.iter().any(|w| w.contains(what));
    assert!(
        about("4 people of the register `r.csv` cannot be placed by `age`"),
        "{:?}",
        answer.warnings
    );
    assert!(
        about("2 people of the register `r.csv` cannot be placed by `job`"),
        "{:?}",
        answer.warnings
    );
    assert!(!about("7773q") && !about("ZQLONG"), "{:?}", answer.warnings);
}

#[test]
fn a_number_without_an_interval_is_out_of_range() {
    let text = POLICY.replace("{ number = true }", "{ intervals = [5, 10] }");
    let folder = extract(&text);
    let table = TABLE.to_owned() + "999999999999999999,a\n999999999999999999,b\n";
    std::fs::write(folder.path().join("x.csv"), table).expect("a table");
    let failure = only(published(folder.path(), &Silent));
    assert_eq!((failure.kind, failure.code), (Kind::Data, "number-too-large"));
    assert!(failure.message.contains("out of range") && !failure.message.contains("999"));
}

#[test]
fn a_detour_through_nothing_makes_no_folder() {
    let folder = extract(&POLICY.replace("to = \"out\"", "to = \"a/../b/c/../d\""));
    published(folder.path(), &Silent).expect("a release");
    assert!(folder.path().join("b/d/data.csv").exists());
    for other in ["a", "b/c"] {
        assert!(!folder.path().join(other).exists(), "{other}");
    }
}

#[test]
fn a_ledger_in_use_is_busy() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let place = Whereabouts::new(folder.path(), "ledger", None, None);
    let write = || Access::Write { wait: Duration::ZERO, make: true };
    let _held = Ledger::open(&place, write()).expect("a ledger");
    let failure = only(Ledger::open(&place, write()));
    assert_eq!((failure.kind, failure.code), (Kind::Busy, "ledger-locked"));
    assert!(failure.subject.and_then(|s| s.file).is_some_and(|f| f.contains("ledger")));
}

struct Cancels;

impl Observer for Cancels {
    fn event(&self, _: Event<'_>) {}

    fn cancelled(&self) -> bool {
        true
    }
}

#[test]
fn a_cancelled_run_says_so() {
    let failures = (&Cancels as &dyn Observer).go_on().expect_err("cancelled");
    assert!(failures.cancelled());
    let failure = only(Err::<(), _>(failures));
    assert_eq!((failure.kind, failure.code), (Kind::Cancelled, "cancelled"));
}

#[test]
fn a_bug_asks_for_a_report() {
    let failure = Failure::bug("internal", "nothing was counted");
    assert_eq!(failure.kind, Kind::Bug);
    let text = failure.to_string();
    assert!(text.contains("bug") && text.contains("please report"), "{text}");
    assert!(text.contains(env!("CARGO_PKG_VERSION")), "{text}");
}

/// Panics when the release is written and read back.
struct Panics;

impl Observer for Panics {
    fn event(&self, event: Event<'_>) {
        assert!(event != Event::Phase(Phase::ReadBack), "in the middle of it");
    }
}

#[test]
fn a_panic_leaves_nothing_half_written() {
    let folder = extract(POLICY);
    let run = || published(folder.path(), &Panics);
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err());
    assert!(!folder.path().join("out").exists());
    // The announced release leaves its empty hidden folder, by which the next run knows of it.
    for partial in partial(folder.path()) {
        assert_eq!(std::fs::read_dir(partial).expect("a folder").count(), 0);
    }
    let answer = published(folder.path(), &Silent).expect("the next one is not in its way");
    assert_eq!(answer.outcome, Outcome::Published);
    assert_eq!(partial(folder.path()), Vec::<PathBuf>::new());
}

/// The hidden folders of releases that are being written.
fn partial(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths.filter(|path| path.display().to_string().contains(".partial-")).collect()
}
