//! Every worked example in `papers/` is right, and every page is run.

use scumble_lab::papers::{PAPERS, run};
use std::path::Path;

/// What is wrong with a page.
fn wrong(text: &str) -> Vec<String> {
    let wrong = |c: scumble_lab::papers::Checked| {
        c.wrong.map(|e| format!("line {}: `{}`: {e}", c.line, c.text))
    };
    run(text).into_iter().filter_map(wrong).collect()
}

#[test]
fn every_paper_is_right() {
    let all = PAPERS
        .iter()
        .flat_map(|(name, text)| wrong(text).into_iter().map(move |e| format!("{name}, {e}")));
    let all: Vec<String> = all.collect();
    assert!(all.is_empty(), "\n{}", all.join("\n"));
}

#[test]
fn every_page_is_run() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers");
    let files = std::fs::read_dir(&folder)
        .expect("papers/ is there")
        .map(|f| f.expect("a file").file_name());
    let mut pages: Vec<String> = files.map(|f| f.to_string_lossy().into_owned()).collect();
    pages.retain(|f| f.ends_with(".md") && f != "README.md");
    pages.sort();
    assert_eq!(pages, PAPERS.iter().map(|(name, _)| (*name).to_owned()).collect::<Vec<_>>());
}

/// The harness itself: what it does not understand is wrong, not ignored.
#[test]
fn what_is_not_understood_is_wrong() {
    let paper = "```csv\nA,S\n1,x\n1,y\n```\n```toml\nsource = \"a.csv\"\n[attributes]\nA = { role = \"quasi-identifier\", \
                 taxonomy = { number = true } }\nS = \"sensitive\"\n[[models]]\nname = \"k-anonymity\"\nk = 2\n[algorithm]\n\
                 name = \"mondrian\"\n[release]\nto = \"r\"\n```\n";
    let with = |line: &str| wrong(&format!("{paper}```expect\n{line}\n```\n"));
    for right in [
        "k = 2",
        "entropy-l(S) = 2",
        "entropy-l(S) ~ 2.00",
        "class 1 : x 1, y 1",
        "raw k = 2",
        "link 1 : 2 records, x 1/2, y 1/2",
        "count \"A >= 1 and S = y\" = 1",
    ] {
        assert_eq!(with(right), Vec::<String>::new(), "{right}");
    }
    for bad in [
        "k = 3",
        "k",
        "q = 2",
        "k(B) = 2",
        "distinct-l = 2",
        "distinct-l(T) = 2",
        "refused",
        "class 2 : x 1",
        "class 1 : x 2",
        "t(S, equal) = 0.01",
        "t(S, far) = 0",
        "raw nothing",
        "entropy-l(S) ~ 2.01",
        "entropy-l(S) = 2.00001",
        "rows = many",
        "holds k-anonymity(k = 3)",
        "breaks k-anonymity(k = 2)",
        "holds m-invariance(m = 2)",
        "risk burglar max = 1/2",
        "k = 2 : x",
        "count \"A = 1\" = 1",
        "count \"B = 1\" = 2",
        "count A = 1 = 2",
    ] {
        assert_eq!(with(bad).len(), 1, "{bad}: {:?}", with(bad));
    }
    assert_eq!(wrong(paper), ["line 1: ``: nothing is expected"]);
    assert_eq!(wrong("```rust\n```\n").len(), 2);
    assert!(
        wrong(&format!("```toml\n{paper}```expect\nk = 2\n```\n"))
            .iter()
            .any(|e| e.contains("not closed"))
    );
    assert_eq!(wrong("```expect\nk = 2\n```\n").len(), 1);
}
