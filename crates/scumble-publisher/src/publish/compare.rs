//! Policies side by side: each carried out as a dry run, then what it risks, what it loses, and how
//! well a recipient can count with what it would publish.
//!
//! A sweep carries one policy out with several values of a key. Policies that read the same source
//! in the same way share it: it is read once.

use crate::answer::{Compared, ComparedPolicy, Outcome, QueryErrors, Risks, VERSION};
use crate::observer::Phase;
use crate::policy_file::PolicyFile;
use crate::publish::source::{Source, wanted};
use crate::publish::{Carried, Clock, How, carry_out_on, write_whole};
use crate::publisher::{Publisher, Task};
use crate::query::errors_as_read;
use scumble::catalogue::{METRICS, did_you_mean};
use scumble::failure::{Argument, Failure, Failures, Remedy};
use scumble::picture::{Point, comparison};
use scumble::policy::{self, Chosen, Policy, Sweep};
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
    /// Keys of the policies with values to try; with several, every combination is.
    pub set: Vec<Sweep>,
}

impl Default for CompareRequest {
    fn default() -> CompareRequest {
        CompareRequest {
            seed: None,
            workload: None,
            queries: 1000,
            metric: "gcp".into(),
            picture: None,
            set: Vec::new(),
        }
    }
}

/// A policy that is compared.
struct Variant<'a> {
    file: &'a PolicyFile,
    /// What was set in it.
    set: Vec<Chosen>,
    policy: Policy,
}

/// The policies of the files, each with every combination of values.
fn variants<'a>(files: &'a [PolicyFile], set: &[Sweep]) -> Result<Vec<Variant<'a>>, Failures> {
    if set.is_empty() {
        let policies = Failures::all(files.iter().map(PolicyFile::policy))?;
        let variant = |(file, policy)| Variant { file, set: Vec::new(), policy };
        return Ok(files.iter().zip(policies).map(variant).collect());
    }
    let mut all = Vec::new();
    for file in files {
        let specs = file.spec()?.sweep(set).map_err(|e| within(e, &file.short_name()))?;
        for (set, spec) in specs {
            let policy = spec.policy().map_err(|e| within(e, &label(&file.short_name(), &set)))?;
            all.push(Variant { file, set, policy });
        }
    }
    Ok(all)
}

/// What a policy is called with what was set in it.
pub(crate) fn label(name: &str, set: &[Chosen]) -> String {
    if set.is_empty() {
        return name.to_owned();
    }
    let set: Vec<String> = set.iter().map(|c| format!("{} = {}", c.key, c.value)).collect();
    format!("{name} with {}", set.join(", "))
}

fn within(mut problems: Failures, name: &str) -> Failures {
    for problem in &mut problems.0 {
        problem.message = format!("`{name}`: {}", problem.message);
    }
    problems
}

/// What decides how the source of a policy is read.
#[derive(Clone, PartialEq)]
struct Reading {
    base: PathBuf,
    source: policy::Source,
    delimiter: Option<u8>,
    quote: Option<u8>,
    missing: Vec<String>,
}

impl Reading {
    fn of(variant: &Variant<'_>) -> Reading {
        let policy = &variant.policy;
        Reading {
            base: variant.file.base.clone(),
            source: policy.source.clone(),
            delimiter: policy.delimiter,
            quote: policy.quote,
            missing: policy.missing.clone(),
        }
    }
}

/// The sources that were read.
#[derive(Default)]
struct Sources(Vec<(Reading, Source)>);

impl Sources {
    /// The source of a policy: read now, with the columns that later policies want of it, or
    /// already here.
    fn of(
        &mut self,
        variant: &mut Variant<'_>,
        later: &[Variant<'_>],
        publisher: &Publisher<'_>,
    ) -> Result<Source, Failures> {
        let reading = Reading::of(variant);
        let (policy, base) = (&mut variant.policy, &variant.file.base);
        for (known, source) in &self.0 {
            if *known == reading
                && let Some(source) = source.for_policy(policy, base, publisher)?
            {
                return Ok(source);
            }
        }
        publisher.observer.phase(Phase::Read);
        let alike = later.iter().filter(|other| Reading::of(other) == reading);
        let mut more: Vec<String> = alike.flat_map(|other| wanted(&other.policy)).collect();
        more.sort();
        more.dedup();
        let source = Source::read_with(policy, base, &more, None, publisher)?;
        if later.iter().any(|other| Reading::of(other) == reading) {
            self.0.push((reading, source.clone()));
        }
        Ok(source)
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
    let mut variants = variants(files, &options.set)?;
    let shared = shared(&variants);
    let mut queries = options.workload.as_deref().map(read_workload).transpose()?;
    let (mut rows, mut sources) = (Vec::new(), Sources::default());
    variants.reverse();
    while let Some(mut variant) = variants.pop() {
        let mut clock = Clock::new();
        let source = sources.of(&mut variant, &variants, options.publisher)?;
        let Variant { file, set, policy } = variant;
        let algorithm = policy.algorithm.name.to_owned();
        let (base, seed, publisher) = (&file.base, options.seed, options.publisher);
        let how = How { base, seed, all: true, keeper: None, engine: None, publisher };
        let carried = carry_out_on(source, policy, &how, &mut clock)?;
        let table = &carried.extract.table;
        let queries = queries.get_or_insert_with(|| random(table, &shared, options));
        options.publisher.observer.phase(Phase::Query);
        let asked = errors_as_read(&carried, queries, options.publisher.observer);
        options.publisher.observer.go_on()?;
        let asked = asked.map_err(|problems| within(problems, &label(&file.name, &set)))?;
        options.publisher.observer.go_on()?;
        let Carried { made, answer, .. } = carried;
        rows.push(ComparedPolicy {
            policy: file.name.clone(),
            set,
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
fn shared(variants: &[Variant<'_>]) -> Vec<String> {
    let names =
        |p: &Policy| p.quasi().chain(p.sensitive()).map(|a| a.name.clone()).collect::<Vec<_>>();
    let mut all = variants.iter().map(|variant| names(&variant.policy));
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
        label: r.label(),
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
