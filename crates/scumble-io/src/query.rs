//! COUNT queries asked of a release on disk, answered as its recipient would: with nothing but the release.
//!
//! The estimates are those of [`scumble::query`]. What a recipient does not know is assumed: a masked text may be any of
//! the same length, with a digit in every masked place; a value that is suppressed to `*` may be any value that the
//! release shows elsewhere or the query names.

use crate::answer::VERSION;
use crate::publisher::Watcher;
use crate::release::reader;
use scumble::problem::{Problem, Problems};
use scumble::query::{Condition, Query, Test};
use scumble::taxonomy::{ROOT, Rule};
use serde::Serialize;
use std::path::Path;

/// Answer of `query`.
#[derive(Clone, Debug, Serialize)]
pub struct Answered {
    /// [`VERSION`].
    pub version: u32,
    /// The release's folder.
    pub release: String,
    /// Records published.
    pub rows: u64,
    /// One per query, in order.
    pub answers: Vec<Count>,
    /// What the reader should know.
    pub warnings: Vec<String>,
}

/// A query and its answer.
#[derive(Clone, Debug, Serialize)]
pub struct Count {
    /// The query.
    pub query: String,
    /// Expected number of records.
    pub estimate: f64,
}

/// So many masked digits at most are written out.
const DIGITS: usize = 6;

/// Estimates the answers from a release.
pub fn query(folder: &Path, queries: &[Query], watcher: &dyn Watcher) -> Result<Answered, Problems> {
    let named = |name: &str, rule: Option<&Rule>, labels: &[&str]| {
        let mut values: Vec<String> =
            queries.iter().flat_map(|q| &q.conditions).flat_map(|c| values(c, name)).collect();
        match rule {
            Some(Rule::Prefix(_)) if !values.is_empty() => {
                values.retain(|v| !v.ends_with('*'));
                values.extend(unmasked(labels, &values));
                values
            }
            None | Some(Rule::Flat) => values,
            _ => Vec::new(),
        }
    };
    let (release, warnings) = reader::open(folder, &named, watcher)?;
    let mut problems = Problems::default();
    let mut answers = Vec::new();
    for query in queries {
        match query.bind(&release.quasi, &release.sensitive) {
            Ok(bound) => answers.push(Count { query: query.to_string(), estimate: bound.estimate(&release) }),
            Err(problem) => problems.push(problem),
        }
    }
    problems.or(())?;
    let folder = folder.display().to_string();
    Ok(Answered { version: VERSION, release: folder, rows: release.records(), answers, warnings })
}

/// The values that a condition names of a column.
fn values(condition: &Condition, name: &str) -> Vec<String> {
    match &condition.test {
        Test::In(values) if condition.attribute == name => values.clone(),
        _ => Vec::new(),
    }
}

/// Every text that the masked labels may stand for, if the masked places are digits and not too many.
fn unmasked(labels: &[&str], asked: &[String]) -> Vec<String> {
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let longest = labels.iter().copied().chain(asked.iter().map(String::as_str)).map(str::len).max().unwrap_or(0);
    let mut all = Vec::new();
    for label in labels.iter().filter(|l| l.ends_with('*')) {
        let kept = label.trim_end_matches('*');
        let masked = if *label == ROOT { longest } else { label.len() - kept.len() };
        if masked <= DIGITS && digits(kept) {
            all.extend((0..10usize.pow(masked as u32)).map(|n| format!("{kept}{n:0masked$}")));
        }
    }
    all
}

/// Reads one query, or a file of them.
pub fn read(text: Option<&str>, workload: Option<&Path>) -> Result<Vec<Query>, Problems> {
    match (text, workload) {
        (Some(text), None) => Ok(vec![Query::parse(text)?]),
        (None, Some(path)) => crate::compare::read_workload(path),
        _ => Err(Problem::new("what should be counted?")
            .hint("give a query, as in `age in [30, 40] and disease = HIV`, or `--workload FILE`")
            .into()),
    }
}
