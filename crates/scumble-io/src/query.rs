//! COUNT queries asked of a release on disk, answered as its recipient would: with nothing but the release.
//!
//! The estimates are those of [`scumble::query`], and `compare` makes them in the same way. What a recipient does not know
//! is assumed or said to be unknown: a masked text may be any of the same length with a digit in every masked place, and a
//! suppressed value may be any that the release shows elsewhere. A value that is neither shown nor among these is unknown:
//! no number is made up for it, so that the counts of the known values add up to no more than the whole.

use crate::answer::VERSION;
use crate::publisher::{Carried, Watcher};
use crate::release::{manifest, reader, recipient};
use rayon::prelude::*;
use scumble::problem::{Problem, Problems};
use scumble::query::{Bound, Condition, Errors, Query, Test, relative_error};
use scumble::release::Release;
use scumble::taxonomy::{ROOT, Rule};
use serde::Serialize;
use std::borrow::Cow;
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
    /// Expected number of records; absent if the release does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimate: Option<f64>,
    /// The values of the query that the release does not know.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<String>,
}

/// So many masked digits at most are written out, and so many texts in all.
const DIGITS: usize = 6;
const TEXTS: usize = 2_000_000;

/// Estimates the answers from a release.
pub fn query(folder: &Path, queries: &[Query], watcher: &dyn Watcher) -> Result<Answered, Problems> {
    let named = |name: &str, rule: Option<&Rule>, labels: &[&str]| masked_texts(queries, name, rule, labels);
    let (release, warnings) = reader::open(folder, &named, watcher)?;
    let mut problems = Problems::default();
    let mut answers = Vec::new();
    for query in queries {
        match estimate(query, &release) {
            Ok((estimate, unknown)) => {
                // Of a value that is unknown any number of the suppressed records may be.
                let estimate = unknown.is_empty().then_some(estimate);
                answers.push(Count { query: query.to_string(), estimate, unknown });
            }
            Err(problem) => problems.push(problem),
        }
    }
    problems.or(())?;
    let folder = folder.display().to_string();
    Ok(Answered { version: VERSION, release: folder, rows: release.records(), answers, warnings })
}

/// What a recipient estimates of the values that she knows, and the values that are unknown to her.
fn estimate(query: &Query, release: &Release) -> Result<(f64, Vec<String>), Problem> {
    let mut known = query.clone();
    let unknown = known.take_unknown(&release.quasi, &release.sensitive);
    Ok((known.bind(&release.quasi, &release.sensitive)?.estimate(release), unknown))
}

/// How far the recipient's estimates are from the truth. Values that are unknown to her count as if nobody had them.
pub(crate) fn errors_as_read(carried: &Carried, queries: &[Query]) -> Result<Option<Errors>, Problems> {
    let Some(made) = carried.made.as_ref().filter(|_| !queries.is_empty()) else { return Ok(None) };
    let mut table = Cow::Borrowed(&carried.extract.table);
    let bound = queries.iter().map(|q| q.bind(&table.quasi, &table.sensitive)).collect::<Result<Vec<Bound>, _>>()?;
    let mut release = Cow::Borrowed(&made.release);
    if bound.iter().any(Bound::joins_sensitive) && !carried.policy.joins_sensitive() {
        table.to_mut().join_sensitive();
        release = Cow::Owned(Release::of(&table, &made.form));
    }
    let described = manifest::described(&carried.policy, &carried.extract, &release)?;
    let named = |name: &str, rule: Option<&Rule>, labels: &[&str]| masked_texts(queries, name, rule, labels);
    let read = recipient::as_read(&release, &described, &[], &named)?;
    let error = |(query, truth): (&Query, &Bound)| -> Result<f64, Problem> {
        let (estimate, _) = estimate(query, &read)?;
        Ok(relative_error(truth.count(&table), estimate, table.records()))
    };
    let all = queries.par_iter().zip(&bound).map(error).collect::<Result<Vec<f64>, Problem>>()?;
    Ok(Some(Errors::of(all)))
}

/// Every text that the masked labels of a column may stand for, if a query names values of it, the masked places are digits
/// and the texts not too many.
fn masked_texts(queries: &[Query], name: &str, rule: Option<&Rule>, labels: &[&str]) -> Vec<String> {
    let conditions = queries.iter().flat_map(|q| &q.conditions).filter(|c| c.attribute == name);
    let asked: Vec<&String> = conditions.flat_map(values).collect();
    if asked.is_empty() || !matches!(rule, Some(Rule::Prefix(_))) {
        return Vec::new();
    }
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    // A suppressed text is as long as the others are.
    let longest = labels.iter().map(|l| l.len()).max().unwrap_or(0);
    let mut all = Vec::new();
    for label in labels.iter().filter(|l| l.ends_with('*')) {
        let kept = label.trim_end_matches('*');
        let masked = if *label == ROOT { longest } else { label.len() - kept.len() };
        if masked <= DIGITS && digits(kept) {
            all.extend((0..10usize.pow(masked as u32)).map(|n| format!("{kept}{n:0masked$}")));
        }
        if all.len() > TEXTS {
            return Vec::new();
        }
    }
    all
}

/// The values that a condition names.
fn values(condition: &Condition) -> &[String] {
    match &condition.test {
        Test::In(values) => values,
        Test::Range(..) => &[],
    }
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
