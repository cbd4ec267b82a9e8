//! Replays the console sessions of `tests/sessions/`.
//!
//! A page is prose with `console` blocks. Every section (`## …`) starts in a fresh copy of
//! `sessions/clinic` (the page of attacks: of `examples/republished`, that of freeform attacks: of
//! `examples/freeform`), runs its commands there, and must print what the page says, with the exit
//! status where it is not 0. `TRYCMD=overwrite` writes what was printed into the pages; read the
//! difference before committing it.

use std::fs;
use std::path::{Path, PathBuf};

/// Besides `scumble`: what a person would use to look at files and to spoil them.
const TOOLS: [&str; 6] = ["cat", "cp", "ls", "mkdir", "sed", "truncate"];

fn replay(page: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sessions");
    let page = folder.join(page);
    let text = fs::read_to_string(&page).expect("the page is there");
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let sections = sections(&text);
    for (i, section) in sections.iter().enumerate() {
        let place = scratch.path().join(format!("{i:02}.in"));
        let fixture = match page.file_name().and_then(|name| name.to_str()) {
            Some("attack.md") => "../../../../examples/republished",
            Some("freeform.md") => "../../../../examples/freeform",
            _ => "clinic",
        };
        copy(&folder.join(fixture), &place);
        fs::write(scratch.path().join(format!("{i:02}.md")), section)
            .expect("a section is written");
    }
    let run = || {
        let cases = trycmd::TestCases::new();
        cases.env("LC_ALL", "C").register_bin("scumble", Path::new(env!("CARGO_BIN_EXE_scumble")));
        for tool in TOOLS {
            cases.register_bin(tool, find(tool));
        }
        cases.case(scratch.path().join("*.md"));
    };
    if std::env::var("TRYCMD").as_deref() == Ok("overwrite") {
        // It may complain about what it corrects.
        let _ = std::panic::catch_unwind(run);
        let read = |i| {
            fs::read_to_string(scratch.path().join(format!("{i:02}.md")))
                .expect("a section is there")
        };
        let whole: String = (0..sections.len()).map(read).collect();
        fs::write(&page, whole.split_inclusive('\n').map(timeless).collect::<String>())
            .expect("the page is written");
    } else {
        run();
    }
}

/// A line without the seconds that it tells, which differ from run to run.
fn timeless(line: &str) -> String {
    let line = &undated(line);
    let phases =
        ["read", "anonymize", "judge", "attack", "repair", "write", "verify", "total", "seconds"];
    let elided = phases
        .iter()
        .map(|p| format!("\"{p}\": "))
        .find(|key| line.trim_start().starts_with(key.as_str()));
    match line.find(|c: char| c != ' ').map(|indent| line.split_at(indent)) {
        Some((indent, rest)) if rest.starts_with("time: ") => format!("{indent}time: [..]\n"),
        Some((indent, rest)) if rest.starts_with("seconds  ") => format!("{indent}seconds  [..]\n"),
        Some((indent, rest))
            if elided.is_some() && !rest.contains(['{', '[']) && rest.matches('"').count() == 2 =>
        {
            format!("{indent}{}[..]\n", elided.unwrap_or_default())
        }
        _ => line.to_owned(),
    }
}

/// A line without moments, hashes of what holds moments, and places, which differ from run to run.
fn undated(line: &str) -> String {
    for (start, end) in [
        ("  head: ", "\n"),
        ("  written to    ", "\n"),
        ("\"head\": ", "\n"),
        ("\"machine\": ", "\n"),
        ("\"folder\": ", "\n"),
    ] {
        if let Some(at) = line.find(start) {
            return format!("{}[..]{end}", &line[..at + start.len()]);
        }
    }
    let moment =
        |word: &str| word.len() == 20 && word.ends_with('Z') && word.as_bytes()[10] == b'T';
    let word =
        line.split(|c: char| c.is_whitespace() || "\"),".contains(c)).find(|word| moment(word));
    word.map_or_else(|| line.to_owned(), |word| line.replace(word, "[..]"))
}

/// The page cut before every `## `; what stands before the first is a section too.
fn sections(text: &str) -> Vec<String> {
    let mut sections = vec![String::new()];
    let mut fenced = false;
    for line in text.split_inclusive('\n') {
        fenced ^= line.starts_with("```");
        if line.starts_with("## ") && !fenced {
            sections.push(String::new());
        }
        sections.last_mut().expect("there is a first").push_str(line);
    }
    sections
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("the fixture is there").flatten() {
        if entry.path().is_dir() {
            copy(&entry.path(), &to.join(entry.file_name()));
        } else {
            fs::copy(entry.path(), to.join(entry.file_name())).expect("a fixture file");
        }
    }
}

fn find(tool: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .map(|p| p.join(tool))
        .find(|p| p.exists())
        .unwrap_or_else(|| tool.into())
}

macro_rules! pages {
    ($($name:ident: $page:literal),* $(,)?) => {
        $(#[test]
        fn $name() {
            replay($page);
        })*

        #[test]
        fn every_page_is_replayed() {
            let listed = [$($page),*];
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sessions");
            for entry in fs::read_dir(folder).expect("the folder is there").flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                assert!(!name.ends_with(".md") || listed.contains(&name.as_str()), "{name} is not replayed");
            }
        }
    };
}

pages! {
    publish: "publish.md",
    check: "check.md",
    inspect: "inspect.md",
    taxonomy: "taxonomy.md",
    explain: "explain.md",
    hospital: "hospital.md",
    wrong_policy: "wrong-policy.md",
    wrong_data: "wrong-data.md",
    wrong_release: "wrong-release.md",
    impossible: "impossible.md",
    edge_cases: "edge-cases.md",
    utility: "utility.md",
    perturb: "perturb.md",
    register: "register.md",
    anatomy: "anatomy.md",
    witness: "witness.md",
    statistics: "statistics.md",
    attack: "attack.md",
    ledger: "ledger.md",
    freeform: "freeform.md",
    dp: "dp.md",
    semantics: "semantics.md",
    sources: "sources.md",
}

/// The example in the repository is the one that the command writes.
#[test]
fn the_example_in_the_repository_is_current() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let made = scratch.path().join("hospital");
    let run = std::process::Command::new(env!("CARGO_BIN_EXE_scumble"))
        .arg("example")
        .arg(&made)
        .output();
    assert!(run.expect("the command starts").status.success());
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/hospital");
    let data = ["patients.csv", "register.csv", "clinic.csv"];
    let policies = ["policy.toml", "strict.toml", "clinic.toml", "questions.toml"];
    let files = data.iter().chain(&policies);
    let taxonomies =
        ["nationality", "occupation", "diagnosis"].map(|n| format!("taxonomies/{n}.csv"));
    for file in files.map(|f| (*f).to_owned()).chain(taxonomies) {
        let read =
            |folder: &Path| fs::read(folder.join(&file)).unwrap_or_else(|e| panic!("{file}: {e}"));
        assert!(
            read(&made) == read(&kept),
            "{file}: run `scumble example` and replace examples/hospital"
        );
    }
}
