//! Policies side by side: each carried out as a dry run, then what it risks, what it loses, and how well a recipient
//! can count with what it would publish.

use crate::answer::{Model, Reason, Risks, VERSION};
use crate::publisher::{Carried, Clock, How, Watcher, base_of, carry_out, read_policy, write_whole};
use crate::query::errors_as_read;
use scumble::catalogue::{METRICS, did_you_mean};
use scumble::picture::{Point, comparison};
use scumble::policy::Policy;
use scumble::problem::{Problem, Problems};
use scumble::query::{Errors, Generator, Query, parse_workload};
use scumble::risk::assess;
use scumble::table::{Attribute, Table};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// How random queries are drawn: on two quasi-identifiers and a sensitive attribute, admitting five per cent.
pub const RANDOM: Generator = Generator { predicates: 2, selectivity: 0.05 };

/// What to compare by.
pub struct Options<'a> {
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
    /// Who wants to know.
    pub watcher: &'a dyn Watcher,
}

/// Answer of `compare`.
#[derive(Clone, Debug, Serialize)]
pub struct Compared {
    /// [`VERSION`].
    pub version: u32,
    /// In the order they were given.
    pub policies: Vec<Row>,
    /// Where the chart is, if one was drawn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub picture: Option<String>,
}

/// What became of one policy.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The policy's file.
    pub policy: String,
    /// `would publish` or `refused`.
    pub outcome: &'static str,
    /// Name of the algorithm.
    pub algorithm: String,
    /// Records that would be published.
    pub rows: u64,
    /// Equivalence classes.
    pub classes: u64,
    /// Records left out.
    pub suppressed: u64,
    /// Every requirement with what was measured.
    pub models: Vec<Model>,
    /// Risk of re-identification; absent if it was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub risk: Option<Risks>,
    /// Every metric by name, also those that take long.
    pub utility: BTreeMap<&'static str, f64>,
    /// Relative error of the queries; absent if none were asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queries: Option<Asked>,
    /// Why it was refused.
    pub reasons: Vec<Reason>,
    /// What the steward should know.
    pub warnings: Vec<String>,
    /// Seconds per phase.
    pub seconds: BTreeMap<&'static str, f64>,
}

/// How far estimates of queries are from the truth.
#[derive(Clone, Debug, Serialize)]
pub struct Asked {
    /// Number of queries.
    pub number: usize,
    /// Median of the relative error.
    pub median: f64,
    /// Nine tenths of the queries have at most this error.
    pub p90: f64,
    /// Mean of the relative error.
    pub mean: f64,
}

impl From<Errors> for Asked {
    fn from(e: Errors) -> Asked {
        Asked { number: e.queries, median: e.median, p90: e.p90, mean: e.mean }
    }
}

/// Compares policies.
pub fn compare(paths: &[PathBuf], options: &Options<'_>) -> Result<Compared, Problems> {
    if !METRICS.iter().any(|m| m.name == options.metric) {
        let hint = did_you_mean(&options.metric, METRICS.iter().map(|m| m.name));
        return Err(Problem::new(format!("there is no metric `{}`", options.metric)).hint(hint).into());
    }
    let (mut policies, mut problems) = (Vec::new(), Problems::default());
    for path in paths {
        match read_policy(path) {
            Ok(policy) => policies.push(policy),
            Err(more) => problems.0.extend(more.0),
        }
    }
    problems.or(())?;
    let shared = shared(&policies);
    let mut queries = options.workload.as_deref().map(read_workload).transpose()?;
    let mut rows = Vec::new();
    for (path, policy) in paths.iter().zip(policies) {
        let mut clock = Clock::new();
        let algorithm = policy.algorithm.name.to_owned();
        let (base, seed, watcher) = (base_of(path), options.seed, options.watcher);
        let how = How { base: &base, seed, all: true, keeper: None, engine: None, watcher };
        let carried = carry_out(policy, &how, &mut clock)?;
        let table = &carried.extract.table;
        let queries = queries.get_or_insert_with(|| random(table, &shared, options));
        options.watcher.phase("asking queries");
        let asked = errors_as_read(&carried, queries).map_err(|mut problems| {
            problems.0.iter_mut().for_each(|p| p.message = format!("`{}`: {}", path.display(), p.message));
            problems
        })?;
        let Carried { made, answer, .. } = carried;
        rows.push(Row {
            policy: path.display().to_string(),
            outcome: if made.is_some() { "would publish" } else { "refused" },
            algorithm,
            rows: answer.rows,
            classes: answer.classes,
            suppressed: answer.suppressed,
            models: answer.models,
            risk: made.as_ref().map(|made| Risks::from(&assess(&made.release, None))),
            utility: answer.utility,
            queries: asked.map(Asked::from),
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
    let names = |p: &Policy| p.quasi().chain(p.sensitive()).map(|a| a.name.clone()).collect::<Vec<_>>();
    let mut all = policies.iter().map(names);
    let first = all.next().unwrap_or_default();
    all.fold(first, |kept, names| kept.into_iter().filter(|n| names.contains(n)).collect())
}

/// Queries about what all policies publish, so that each is asked the same.
fn random(table: &Table, shared: &[String], options: &Options<'_>) -> Vec<Query> {
    fn among<'a>(list: &'a [Attribute], shared: &[String]) -> Vec<&'a Attribute> {
        list.iter().filter(|a| shared.contains(&a.name)).collect()
    }
    let (quasi, sensitive) = (among(&table.quasi, shared), among(table.published_sensitive(), shared));
    if quasi.is_empty() {
        return Vec::new();
    }
    RANDOM.draw(&quasi, &sensitive, options.queries, options.seed.unwrap_or(1))
}

/// Reads a file of queries.
pub fn read_workload(path: &Path) -> Result<Vec<Query>, Problems> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path)
        .map_err(|e| Problem::new(format!("workload `{name}` cannot be read: {}", crate::describe(&e))))?;
    parse_workload(&name, &text)
}

/// Loss against risk. Where the metric says nothing about some release, all are drawn by the error of the queries.
fn chart(rows: &[Row], metric: &str) -> Result<String, Problems> {
    let drawn: Vec<(&Row, f64)> = rows.iter().filter_map(|r| Some((r, r.risk.as_ref()?.prosecutor.average))).collect();
    let by_metric: Option<Vec<f64>> = drawn.iter().map(|(r, _)| r.utility.get(metric).copied()).collect();
    let by_queries = || drawn.iter().map(|(r, _)| Some(r.queries.as_ref()?.median)).collect::<Option<Vec<f64>>>();
    let (name, losses) = match by_metric {
        Some(losses) => (format!("loss: {metric}"), losses),
        None => match by_queries() {
            Some(losses) => ("loss: median relative error of the queries".to_owned(), losses),
            None => {
                return Err(Problem::new(format!("`{metric}` says nothing about some of the releases"))
                    .hint("choose another `--metric`, or ask queries")
                    .into());
            }
        },
    };
    let point = |((r, risk), loss): (&(&Row, f64), f64)| Point { label: r.policy.clone(), loss, risk: *risk };
    let points: Vec<Point> = drawn.iter().zip(losses).map(point).collect();
    Ok(comparison(&points, &name, "average risk of re-identification", "Risk and loss of the releases"))
}
