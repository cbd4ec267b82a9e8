//! COUNT queries asked of a release on disk, answered as its recipient would: with nothing but the
//! release.
//!
//! The estimates are those of [`scumble::query`], and `compare` makes them in the same way. What a
//! recipient does not know is assumed or said to be unknown: a masked text may be any of the same
//! length with a digit in every masked place, and a suppressed value may be any that the release
//! shows elsewhere. A value that is neither shown nor among these is unknown: no number is made up
//! for it, so that the counts of the known values add up to no more than the whole.

pub mod estimate;

use crate::answer::{Answered, Count, VERSION};
use crate::observer::{Observer, Phase};
use crate::publish::Carried;
use crate::publisher::Publisher;
use crate::release::{manifest, reader, recipient};
use rayon::prelude::*;
use scumble::failure::{Argument, Failure, Failures, Remedy};
use scumble::progress::Watch;
use scumble::query::{Bound, Condition, Errors, Query, Test, relative_error};
use scumble::release::Release;
use scumble::taxonomy::{ROOT, Rule};
use std::borrow::Cow;
use std::path::Path;

/// So many masked digits at most are written out, and so many texts in all.
const DIGITS: usize = 6;
const TEXTS: usize = 2_000_000;

/// Estimates the answers from a release.
pub(crate) fn query(
    folder: &Path,
    queries: &[Query],
    publisher: &Publisher<'_>,
) -> Result<Answered, Failures> {
    let named = |name: &str, rule: Option<&Rule>, labels: &[&str]| {
        masked_texts(queries, name, rule, labels)
    };
    let (release, warnings) = reader::open(folder, &named, publisher)?;
    let mut problems = Failures::default();
    let mut answers = Vec::new();
    let observer = publisher.observer;
    observer.phase(Phase::Query);
    for (done, query) in (0..).zip(queries) {
        observer.at(done, queries.len() as u64);
        observer.go_on()?;
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
fn estimate(query: &Query, release: &Release) -> Result<(f64, Vec<String>), Failure> {
    let mut known = query.clone();
    let unknown = known.take_unknown(&release.quasi, &release.sensitive);
    Ok((known.bind(&release.quasi, &release.sensitive)?.estimate(release), unknown))
}

/// How far the recipient's estimates are from the truth. Values that are unknown to her count as if
/// nobody had them.
pub(crate) fn errors_as_read(
    carried: &Carried,
    queries: &[Query],
    observer: &dyn Observer,
) -> Result<Option<Errors>, Failures> {
    let Some(made) = carried.made.as_ref().filter(|_| !queries.is_empty()) else { return Ok(None) };
    let mut table = Cow::Borrowed(&carried.extract.table);
    let bound = queries
        .iter()
        .map(|q| q.bind(&table.quasi, &table.sensitive))
        .collect::<Result<Vec<Bound>, _>>()?;
    let mut release = Cow::Borrowed(&made.release);
    if bound.iter().any(Bound::joins_sensitive) && !carried.policy.joins_sensitive() {
        table.to_mut().join_sensitive();
        release = Cow::Owned(Release::of(&table, &made.form));
    }
    let described = manifest::described(&carried.policy, &carried.extract, &release)?;
    let named = |name: &str, rule: Option<&Rule>, labels: &[&str]| {
        masked_texts(queries, name, rule, labels)
    };
    let read = recipient::as_read(&release, &described, &[], &named)?;
    let progress = |done, total| observer.at(done, total);
    let watch = Watch::new(&progress, queries.len() as u64);
    let error = |(query, truth): (&Query, &Bound)| -> Result<f64, Failure> {
        watch.add(1);
        watch.check()?;
        let (estimate, _) = estimate(query, &read)?;
        Ok(relative_error(truth.count(&table), estimate, table.records()))
    };
    let all = queries.par_iter().zip(&bound).map(error).collect::<Result<Vec<f64>, Failure>>()?;
    Ok(Some(Errors::of(all)))
}

/// Every text that the masked labels of a column may stand for, if a query names values of it, the
/// masked places are digits and the texts not too many.
fn masked_texts(
    queries: &[Query],
    name: &str,
    rule: Option<&Rule>,
    labels: &[&str],
) -> Vec<String> {
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
pub fn read(text: Option<&str>, workload: Option<&Path>) -> Result<Vec<Query>, Failures> {
    match (text, workload) {
        (Some(text), None) => Ok(vec![Query::parse(text)?]),
        (None, Some(path)) => crate::publish::compare::read_workload(path),
        _ => Err(Failure::usage("no-question", "what should be counted?")
            .remedy(
                Remedy::words("give a query, as in `age in [30, 40] and disease = HIV`, or ")
                    .and_give(Argument::Workload),
            )
            .into()),
    }
}
