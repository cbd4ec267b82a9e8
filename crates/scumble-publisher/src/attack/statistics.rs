//! Attacks on published statistics in a file.
//!
//! The file has one statistic per line and these columns: `statistic` (count, sum or mean), `of`
//! (the name of the number; may be empty for counts), `over` (names of people, or a condition on
//! the register), `value` (as published), and optionally `people` (how many), `noise` (its standard
//! deviation), `unit` (what the value was rounded to; 0 if it was not; otherwise its decimals
//! tell), `note` (not read).

use crate::answer::{
    Averaged, Disclosed, StatisticsAttacked, StatisticsOutcome, StatisticsTarget, Tested, VERSION,
};
use crate::attack::{AttackRequest, Figures, Tests, conditions, given, test};
use crate::observer::Phase;
use crate::publish::source::to_register;
use crate::publisher::Task;
use crate::table::columns::{self, Columns, ReadOptions};
use scumble::attack::statistics::{
    Average, Differences, Disclosure, Line, Method, People, Statistic, averaging, differencing,
    read,
};
use scumble::attack::{Figure, on_statistics};
use scumble::catalogue::{Entry, Parameters, did_you_mean};
use scumble::failure::{Argument, Failure, Failures, Remedy};
use std::path::Path;

impl StatisticsAttacked {
    /// As tests.
    pub fn tests(&self) -> Tests<'_> {
        let figures =
            self.attacks.iter().map(|o| (o.attack.as_str(), o.figures.as_slice())).collect();
        Tests { attacked: vec![self.statistics.clone()], figures, conditions: &self.conditions }
    }
}

/// So many people are named at most.
const NAMED: usize = 100;

/// Carries out attacks on statistics: those that are named, or all.
pub(crate) fn attack(options: Task<'_, AttackRequest>) -> Result<StatisticsAttacked, Failures> {
    let Some(path) = &options.statistics else {
        return Err(Failure::usage("needs-statistics", "there are no statistics to attack")
            .remedy(Remedy::give(Argument::Statistics))
            .into());
    };
    let conditions = conditions(&options.fail_on)?;
    let methods = wanted(&options.names, &options.with)?;
    let file = path.display().to_string();
    let read = Lines::read(path)?;
    let mut outcomes = Vec::new();
    for (name, method) in methods {
        options.publisher.observer.phase(Phase::Run(name));
        options.publisher.observer.go_on()?;
        outcomes.push(match method {
            Method::Differencing(threshold) => {
                let mut people = people(options)?;
                let statistics = read.statistics(&file, Some(&mut people))?;
                let found = differencing(&statistics, threshold).map_err(|p| in_file(&file, p))?;
                differences(name, &statistics, &people, found)
            }
            Method::Averaging => averages(name, &read.statistics(&file, None)?),
        });
    }
    let figures: Vec<Figures<'_>> =
        outcomes.iter().map(|o| (o.attack.as_str(), o.figures.as_slice())).collect();
    let conditions = test(&conditions, &figures)?;
    let failed = conditions.iter().filter(|t| t.met).map(Tested::words).collect();
    Ok(StatisticsAttacked {
        version: VERSION,
        target: StatisticsTarget::Statistics,
        statistics: file,
        attacks: outcomes,
        failed,
        conditions,
    })
}

fn wanted(names: &[String], with: &[String]) -> Result<Vec<(&'static str, Method)>, Failures> {
    let mut problems = Failures::default();
    for name in names.iter().filter(|name| !on_statistics().any(|e| e.name == **name)) {
        problems.push(
            Failure::usage("unknown-attack", format!("`{name}` is no attack on statistics"))
                .hint(did_you_mean(name, on_statistics().map(|e| e.name))),
        );
    }
    let entries: Vec<&'static Entry<Method>> =
        on_statistics().filter(|e| names.is_empty() || names.iter().any(|n| n == e.name)).collect();
    let given =
        given(with, || entries.iter().flat_map(|e| e.parameters).map(|p| p.name), &mut problems);
    let mut methods = Vec::new();
    for entry in entries {
        match Parameters::read(entry.name, entry.parameters, &given) {
            Ok(parameters) => methods.push((entry.name, (entry.build)(&parameters)?)),
            Err(more) => problems.0.extend(more),
        }
    }
    problems.or(methods)
}

fn people(options: Task<'_, AttackRequest>) -> Result<People, Failures> {
    let Some(path) = &options.register else { return Ok(People::named()) };
    let table = options.publisher.read(&path.as_path().into(), &ReadOptions::default(), None)?;
    Ok(People::of_register(to_register(&table, &[])?, options.name.as_deref())?)
}

/// Says which file the problems are in.
fn in_file(file: &str, problems: Failures) -> Failures {
    let name = |p: Failure| Failure { message: format!("`{file}`, {}", p.message), ..p };
    Failures(problems.0.into_iter().map(name).collect())
}

/// The columns that a file of statistics may have.
const COLUMNS: [&str; 8] = ["statistic", "of", "over", "value", "people", "noise", "unit", "note"];
/// Those that it must have.
const NEEDED: [&str; 3] = ["statistic", "over", "value"];

/// A file of statistics as it was read.
struct Lines {
    table: Columns,
    /// The line on which each record begins.
    numbers: Vec<usize>,
}

impl Lines {
    fn read(path: &Path) -> Result<Lines, Failures> {
        let header = columns::header(path, &ReadOptions::default())?;
        let mut problems = Failures::default();
        let missing: Vec<&str> =
            NEEDED.into_iter().filter(|n| !header.iter().any(|h| h == n)).collect();
        if !missing.is_empty() {
            let message = format!(
                "`{}` is no file of statistics: it lacks `{}`",
                path.display(),
                missing.join("`, `")
            );
            return Err(Failure::data("no-such-column", message)
                .hint("the first line names the columns: `statistic,of,over,value`")
                .into());
        }
        for name in header.iter().filter(|h| !COLUMNS.contains(&h.as_str())) {
            problems.push(
                Failure::data(
                    "unknown-column",
                    format!("`{}` has a column `{name}` that means nothing", path.display()),
                )
                .hint(did_you_mean(name, COLUMNS)),
            );
        }
        problems.or(())?;
        let table = columns::read(path, &ReadOptions::default(), None, &|_, _| true)?;
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let begins: Vec<usize> = record_lines(&text).into_iter().skip(1).collect();
        let numbers =
            if begins.len() == table.rows { begins } else { (2..table.rows + 2).collect() };
        Ok(Lines { table, numbers })
    }

    fn statistics(
        &self,
        file: &str,
        people: Option<&mut People>,
    ) -> Result<Vec<Statistic>, Failures> {
        let cell = |name: &str, row: usize| {
            let column = self.table.columns.iter().find(|c| c.name == name);
            column.map_or("", |c| c.values.get(c.codes[row]))
        };
        let line = |row: usize| Line {
            number: self.numbers[row],
            statistic: cell("statistic", row),
            of: cell("of", row),
            over: cell("over", row),
            value: cell("value", row),
            people: cell("people", row),
            noise: cell("noise", row),
            unit: cell("unit", row),
        };
        let lines: Vec<Line<'_>> = (0..self.table.rows).map(line).collect();
        read(&lines, people).map_err(|p| in_file(file, p))
    }
}

/// The numbers of the lines on which records of a CSV text begin: not blank ones, and none within
/// quotes.
fn record_lines(text: &str) -> Vec<usize> {
    let mut inside = false;
    let mut begins = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if !inside && !line.is_empty() {
            begins.push(number);
        }
        inside ^= line.matches('"').count() % 2 == 1;
    }
    begins
}

fn differences(
    name: &'static str,
    statistics: &[Statistic],
    people: &People,
    found: Differences,
) -> StatisticsOutcome {
    let disclosed = |d: &Disclosure| {
        let mut lines: Vec<usize> = d.terms.iter().map(|t| statistics[t.statistic].line).collect();
        lines.sort_unstable();
        let who = if d.people.len() > NAMED { &[][..] } else { &d.people };
        Disclosed {
            finding: d.finding.into(),
            of: d.of.clone(),
            size: d.people.len() as u64,
            people: who.iter().map(|&p| people.label(p)).collect(),
            value: (&d.value).into(),
            within: (&d.within).into(),
            deviation: (d.deviation > 0.0).then_some(d.deviation),
            formula: d.formula(statistics),
            lines,
        }
    };
    let disclosures = found.disclosures.iter().map(disclosed).collect();
    StatisticsOutcome { disclosures, ..StatisticsOutcome::of(name, found.figures) }
}

fn averages(name: &'static str, statistics: &[Statistic]) -> StatisticsOutcome {
    let (found, figures) = averaging(statistics);
    let averaged = |a: &Average| {
        let first = &statistics[a.statistics[0]];
        Averaged {
            statistic: first.kind.into(),
            of: first.of.clone(),
            over: first.over.clone(),
            answers: a.statistics.len() as u64,
            estimate: a.estimate,
            error: a.error,
            low: a.interval.0,
            high: a.interval.1,
            noise_known: a.noise_known,
            unit: a.unit,
            needed: a.needed,
            narrow: a.is_narrow(),
            lines: a.statistics.iter().map(|&i| statistics[i].line).collect(),
        }
    };
    StatisticsOutcome {
        averages: found.iter().map(averaged).collect(),
        ..StatisticsOutcome::of(name, figures)
    }
}

impl StatisticsOutcome {
    fn of(attack: &str, told: Vec<Figure>) -> StatisticsOutcome {
        let figures = told.into_iter().map(Into::into).collect();
        StatisticsOutcome {
            attack: attack.to_owned(),
            figures,
            disclosures: Vec::new(),
            averages: Vec::new(),
        }
    }
}
