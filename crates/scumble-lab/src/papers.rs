//! Worked examples of the literature that run: the pages of `papers/`, whose format
//! `papers/README.md` describes.
//!
//! A page is prose with a table, a policy and lines that say what the literature (or our
//! recomputation of it) expects.

mod case;

use case::Blocks;

/// Every page: its name and text. A new one is a file and a line here.
pub const PAPERS: &[(&str, &str)] = &[
    ("anatomy-2006.md", include_str!("../../../papers/anatomy-2006.md")),
    ("bayes-optimal-2006.md", include_str!("../../../papers/bayes-optimal-2006.md")),
    ("definetti-2009.md", include_str!("../../../papers/definetti-2009.md")),
    ("ff-anonymity-2009.md", include_str!("../../../papers/ff-anonymity-2009.md")),
    ("full-domain-2002.md", include_str!("../../../papers/full-domain-2002.md")),
    ("l-diversity-2007.md", include_str!("../../../papers/l-diversity-2007.md")),
    ("likeness-2012.md", include_str!("../../../papers/likeness-2012.md")),
    ("linking-2010.md", include_str!("../../../papers/linking-2010.md")),
    ("m-invariance-2007.md", include_str!("../../../papers/m-invariance-2007.md")),
    ("microaggregation-2002.md", include_str!("../../../papers/microaggregation-2002.md")),
    ("mondrian-2006.md", include_str!("../../../papers/mondrian-2006.md")),
    (
        "multiple-quasi-identifiers-2010.md",
        include_str!("../../../papers/multiple-quasi-identifiers-2010.md"),
    ),
    ("personalized-2006.md", include_str!("../../../papers/personalized-2006.md")),
    ("presence-2007.md", include_str!("../../../papers/presence-2007.md")),
    ("queries-2010.md", include_str!("../../../papers/queries-2010.md")),
    ("recoding-schemes-2010.md", include_str!("../../../papers/recoding-schemes-2010.md")),
    ("t-closeness-2007.md", include_str!("../../../papers/t-closeness-2007.md")),
    ("top-down-2005.md", include_str!("../../../papers/top-down-2005.md")),
    ("worst-case-knowledge-2007.md", include_str!("../../../papers/worst-case-knowledge-2007.md")),
];

/// A line of a page that expects something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// Line in the page.
    pub line: usize,
    /// What is expected.
    pub text: String,
    /// What is wrong with it, if something is.
    pub wrong: Option<String>,
}

/// Runs a page: every line that expects something, and whatever is wrong with the page itself.
pub fn run(text: &str) -> Vec<Checked> {
    let mut checked = Vec::new();
    let mut expected = false;
    let mut blocks = Blocks::default();
    let mut lines = (1..).zip(text.lines());
    while let Some((start, line)) = lines.next() {
        let Some(kind) = line.strip_prefix("```") else { continue };
        let body: Vec<(usize, &str)> = lines.by_ref().take_while(|(_, l)| *l != "```").collect();
        let mut wrong = |line: usize, text: &str, wrong: String| {
            checked.push(Checked { line, text: text.to_owned(), wrong: Some(wrong) });
        };
        if body.iter().any(|(_, l)| l.starts_with("```")) {
            wrong(start, line, "the block is not closed".into());
        }
        let content: String = body.iter().map(|(_, l)| format!("{l}\n")).collect();
        if kind != "expect" {
            if let Err(e) = blocks.take(kind, content) {
                wrong(start, line, e);
            }
            continue;
        }
        expected |= body.iter().any(|(_, l)| is_expectation(l));
        match blocks.case() {
            Ok(case) => {
                let asked = body.iter().filter(|(_, l)| is_expectation(l));
                checked.extend(asked.map(|&(line, l)| Checked {
                    line,
                    text: l.to_owned(),
                    wrong: case.line(l).err(),
                }));
            }
            Err(e) => wrong(start, line, e),
        }
    }
    if !expected {
        checked.push(Checked {
            line: 1,
            text: String::new(),
            wrong: Some("nothing is expected".into()),
        });
    }
    checked
}

/// Lines may be empty or comments.
fn is_expectation(line: &str) -> bool {
    !line.trim().is_empty() && !line.starts_with('#')
}
