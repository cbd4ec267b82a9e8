//! Policies side by side: each carried out as a dry run, then what it risks, what it loses, and how
//! well a recipient can count with what it would publish.

use crate::answer::{Compared, ComparedPolicy, Outcome, QueryErrors, Risks, VERSION};
use crate::observer::Phase;
use crate::policy_file::PolicyFile;
use crate::publish::{Carried, Clock, How, carry_out, write_whole};
use crate::publisher::Task;
use crate::query::errors_as_read;
use scumble::catalogue::{METRICS, did_you_mean};
use scumble::failure::{Argument, Failure, Failures, Remedy};
use scumble::picture::{Point, comparison};
use scumble::policy::Policy;
use scumble::query::{Generator, Query, parse_workload};
use scumble::risk::assess;
use scumble::table::{Attribute, Table};
use std::path::{Path, PathBuf};

/// How random queries are drawn: on two quasi-identifiers and a sensitive attribute, admitting five
/// per cent.
pub const RANDOM: Generator = Generator { predicates: 2, selectivity: 0.05 };

/// What to compare by.
#[derive(Clone, Debug)]
pub struct CompareRequest {
    /// Makes the releases reproducible.
    pub seed: Option<u64>,
    /// A file of queries, instead of random ones.
    pub workload: Option<PathBuf>,
    /// Number of random queries.
    pub queries: usize,
    /// The loss of the chart: a metric.
    pub metric: String,
    /// Where to draw the chart.
    pub picture: Option<PathBuf>,
}

impl Default for CompareRequest {
    fn default() -> CompareRequest {
        CompareRequest {
            seed: None,
            workload: None,
            queries: 1000,
            metric: "gcp".into(),
            picture: None,
        }
    }
}

/// Compares policies.
pub(crate) fn compare(
    files: &[PolicyFile],
    options: Task<'_, CompareRequest>,
) -> Result<Compared, Failures> {
    if !METRICS.iter().any(|m| m.name == options.metric) {
        let hint = did_you_mean(&options.metric, METRICS.iter().map(|m| m.name));
        return Err(Failure::usage(
            "unknown-entry",
            format!("there is no metric `{}`", options.metric),
        )
        .hint(hint)
        .into());
    }
    let policies = Failures::all(files.iter().map(PolicyFile::policy))?;
    let shared = shared(&policies);
    let mut queries = options.workload.as_deref().map(read_workload).transpose()?;
    let mut rows = Vec::new();
    for (file, policy) in files.iter().zip(policies) {
        let mut clock = Clock::new();
        let algorithm = policy.algorithm.name.to_owned();
        let (base, seed, publisher) = (&file.base, options.seed, options.publisher);
        let how = How { base, seed, all: true, keeper: None, engine: None, publisher };
        let carried = carry_out(policy, &how, &mut clock)?;
        let table = &carried.extract.table;
        let queries = queries.get_or_insert_with(|| random(table, &shared, options));
        options.publisher.observer.phase(Phase::Query);
        let asked = errors_as_read(&carried, queries, options.publisher.observer);
        options.publisher.observer.go_on()?;
        let asked = asked.map_err(|mut problems| {
            problems
                .0
                .iter_mut()
                .for_each(|p| p.message = format!("`{}`: {}", file.name, p.message));
            problems
        })?;
        options.publisher.observer.go_on()?;
        let Carried { made, answer, .. } = carried;
        rows.push(ComparedPolicy {
            policy: file.name.clone(),
            outcome: if made.is_some() { Outcome::WouldPublish } else { Outcome::Refused },
            algorithm,
            rows: answer.rows,
            classes: answer.classes,
            suppressed: answer.suppressed,
            models: answer.models,
            risk: made.as_ref().map(|made| Risks::from(&assess(&made.release, None))),
            utility: answer.utility,
            queries: asked.map(QueryErrors::from),
            reasons: answer.reasons,
            warnings: answer.warnings,
            seconds: answer.seconds,
        });
    }
    let mut answer = Compared { version: VERSION, policies: rows, picture: None };
    if let Some(file) = &options.picture {
        write_whole(file, &chart(&answer.policies, &options.metric)?)?;
        answer.picture = Some(file.display().to_string());
    }
    Ok(answer)
}

/// The attributes that every policy publishes.
fn shared(policies: &[Policy]) -> Vec<String> {
    let names =
        |p: &Policy| p.quasi().chain(p.sensitive()).map(|a| a.name.clone()).collect::<Vec<_>>();
    let mut all = policies.iter().map(names);
    let first = all.next().unwrap_or_default();
    all.fold(first, |kept, names| kept.into_iter().filter(|n| names.contains(n)).collect())
}

/// Queries about what all policies publish, so that each is asked the same.
fn random(table: &Table, shared: &[String], options: Task<'_, CompareRequest>) -> Vec<Query> {
    fn among<'a>(list: &'a [Attribute], shared: &[String]) -> Vec<&'a Attribute> {
        list.iter().filter(|a| shared.contains(&a.name)).collect()
    }
    let (quasi, sensitive) =
        (among(&table.quasi, shared), among(table.published_sensitive(), shared));
    if quasi.is_empty() {
        return Vec::new();
    }
    RANDOM.draw(&quasi, &sensitive, options.queries, options.seed.unwrap_or(1))
}

/// Reads a file of queries.
pub fn read_workload(path: &Path) -> Result<Vec<Query>, Failures> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|e| {
        Failure::io(
            "cannot-read",
            format!("workload `{name}` cannot be read: {}", crate::describe(&e)),
        )
    })?;
    parse_workload(&name, &text)
}

/// Loss against risk. Where the metric says nothing about some release, all are drawn by the error
/// of the queries.
fn chart(rows: &[ComparedPolicy], metric: &str) -> Result<String, Failures> {
    let drawn: Vec<(&ComparedPolicy, f64)> = rows
        .iter()
        .filter_map(|r| Some((r, r.risk.as_ref()?.prosecutor.average.to_f64())))
        .collect();
    let by_metric: Option<Vec<f64>> =
        drawn.iter().map(|(r, _)| Some(r.utility.get(metric)?.value)).collect();
    let by_queries = || {
        drawn.iter().map(|(r, _)| Some(r.queries.as_ref()?.median)).collect::<Option<Vec<f64>>>()
    };
    let (name, losses) = match by_metric {
        Some(losses) => (format!("loss: {metric}"), losses),
        None => match by_queries() {
            Some(losses) => ("loss: median relative error of the queries".to_owned(), losses),
            None => {
                return Err(Failure::usage(
                    "no-picture",
                    format!("`{metric}` says nothing about some of the releases"),
                )
                .remedy(
                    Remedy::words("choose another ")
                        .and_give(Argument::Metric)
                        .then(", or ask queries"),
                )
                .into());
            }
        },
    };
    let point = |((r, risk), loss): (&(&ComparedPolicy, f64), f64)| Point {
        label: r.policy.clone(),
        loss,
        risk: *risk,
    };
    let points: Vec<Point> = drawn.iter().zip(losses).map(point).collect();
    Ok(comparison(
        &points,
        &name,
        "average risk of re-identification",
        "Risk and loss of the releases",
    ))
}
