//! Attacks on published statistics in a file.
//!
//! The file has one statistic per line and these columns: `statistic` (count, sum or mean), `of` (the name of the number;
//! may be empty for counts), `over` (names of people, or a condition on the register), `value` (as published), and
//! optionally `people` (how many), `noise` (its standard deviation), `unit` (what the value was rounded to; 0 if it was
//! not; otherwise its decimals tell), `note` (not read).

use crate::answer::{Number, VERSION};
use crate::attack::{Figures, Tested, Tests, conditions, given, test};
use crate::columns::{self, Columns, ReadOptions};
use crate::publisher::Watcher;
use crate::source::to_register;
use scumble::attack::Figure;
use scumble::attack::statistics::{
    Average, Differences, Disclosure, Line, Method, People, STATISTICS, Statistic, averaging, differencing, read,
};
use scumble::catalogue::{Entry, Parameters, did_you_mean};
use scumble::problem::{Problem, Problems};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What is attacked, and what is known of the people.
pub struct Options<'a> {
    /// The file of statistics.
    pub statistics: PathBuf,
    /// People on whom conditions are looked up.
    pub register: Option<PathBuf>,
    /// The column of the register that names people.
    pub name: Option<String>,
    /// Parameters of attacks, as `key=value`.
    pub with: Vec<String>,
    /// Conditions on figures, such as `determined > 0`: if one is met, the answer is no.
    pub fail_on: Vec<String>,
    /// Who wants to know.
    pub watcher: &'a dyn Watcher,
}

/// Answer of `attack --statistics`.
#[derive(Clone, Debug, Serialize)]
pub struct Attacked {
    /// [`VERSION`].
    pub version: u32,
    /// The file of statistics.
    pub statistics: String,
    /// What each attack came to.
    pub attacks: Vec<Outcome>,
    /// Conditions of `--fail-on` that are met.
    pub failed: Vec<String>,
    /// Every condition with the figures that it was held against.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Tested>,
}

impl Attacked {
    /// As tests.
    pub fn tests(&self) -> Tests<'_> {
        let figures = self.attacks.iter().map(|o| (o.attack, &o.figures)).collect();
        Tests { attacked: vec![self.statistics.clone()], figures, conditions: &self.conditions }
    }
}

/// What an attack came to.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// Its name.
    pub attack: &'static str,
    /// Numbers by name.
    pub figures: BTreeMap<String, f64>,
    /// The same in order, with words.
    #[serde(skip)]
    pub told: Vec<Figure>,
    /// What follows about people; of `differencing`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub disclosures: Vec<Disclosed>,
    /// What repeated statistics come to; of `averaging`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub averages: Vec<Averaged>,
}

/// Something that follows about people.
#[derive(Clone, Debug, Serialize)]
pub struct Disclosed {
    /// `value`, `everybody`, `nobody` or `small count`.
    pub finding: &'static str,
    /// Of which number; empty where people are counted.
    pub of: String,
    /// How many people it is about.
    pub size: u64,
    /// Who they are, if they are not too many.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub people: Vec<String>,
    /// Their value, or the sum of their values.
    pub value: Number,
    /// How far rounding may have moved it.
    pub within: Number,
    /// Standard deviation of the noise in it; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deviation: Option<f64>,
    /// How it follows, in figures.
    pub formula: String,
    /// The lines of the file that it follows from.
    pub lines: Vec<usize>,
}

/// A statistic that was published several times.
#[derive(Clone, Debug, Serialize)]
pub struct Averaged {
    /// `count`, `sum` or `mean`.
    pub statistic: &'static str,
    /// Of which number.
    pub of: String,
    /// Over whom.
    pub over: String,
    /// How often it was published.
    pub answers: u64,
    /// The mean of the answers.
    pub estimate: f64,
    /// Its standard error.
    pub error: f64,
    /// The interval that holds the true value with 95 % confidence.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// Whether the deviation of the noise was published, or learnt from the answers.
    pub noise_known: bool,
    /// What the true value is a multiple of.
    pub unit: f64,
    /// How many answers narrow the interval to half a unit to either side.
    pub needed: u64,
    /// Whether there are so many.
    pub narrow: bool,
    /// The lines of the file.
    pub lines: Vec<usize>,
}

/// So many people are named at most.
const NAMED: usize = 100;

/// Carries out attacks on statistics: those that are named, or all.
pub fn attack(names: &[String], options: &Options<'_>) -> Result<Attacked, Problems> {
    let conditions = conditions(&options.fail_on)?;
    let methods = wanted(names, &options.with)?;
    let file = options.statistics.display().to_string();
    let read = Lines::read(&options.statistics)?;
    let mut outcomes = Vec::new();
    for (name, method) in methods {
        options.watcher.phase(name);
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
    let figures: Vec<Figures<'_>> = outcomes.iter().map(|o| (o.attack, &o.figures)).collect();
    let conditions = test(&conditions, &figures)?;
    let failed = conditions.iter().filter(|t| t.met).map(Tested::words).collect();
    Ok(Attacked { version: VERSION, statistics: file, attacks: outcomes, failed, conditions })
}

fn wanted(names: &[String], with: &[String]) -> Result<Vec<(&'static str, Method)>, Problems> {
    let mut problems = Problems::default();
    for name in names.iter().filter(|name| !STATISTICS.iter().any(|e| e.name == **name)) {
        problems.push(
            Problem::new(format!("`{name}` is no attack on statistics"))
                .hint(did_you_mean(name, STATISTICS.iter().map(|e| e.name))),
        );
    }
    let entries: Vec<&'static Entry<Method>> =
        STATISTICS.iter().filter(|e| names.is_empty() || names.iter().any(|n| n == e.name)).collect();
    let given = given(with, || entries.iter().flat_map(|e| e.parameters).map(|p| p.name), &mut problems);
    let mut methods = Vec::new();
    for entry in entries {
        match Parameters::read(entry.name, entry.parameters, &given) {
            Ok(parameters) => methods.push((entry.name, (entry.build)(&parameters)?)),
            Err(more) => problems.0.extend(more),
        }
    }
    problems.or(methods)
}

fn people(options: &Options<'_>) -> Result<People, Problems> {
    let Some(path) = &options.register else { return Ok(People::named()) };
    let table = columns::read(path, &ReadOptions::default(), None, &|done, total| options.watcher.at(done, total))?;
    Ok(People::of_register(to_register(&table, &[])?, options.name.as_deref())?)
}

/// Says which file the problems are in.
fn in_file(file: &str, problems: Problems) -> Problems {
    let name = |p: Problem| Problem { message: format!("`{file}`, {}", p.message), ..p };
    Problems(problems.0.into_iter().map(name).collect())
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
    fn read(path: &Path) -> Result<Lines, Problems> {
        let header = columns::header(path, &ReadOptions::default())?;
        let mut problems = Problems::default();
        let missing: Vec<&str> = NEEDED.into_iter().filter(|n| !header.iter().any(|h| h == n)).collect();
        if !missing.is_empty() {
            let message = format!("`{}` is no file of statistics: it lacks `{}`", path.display(), missing.join("`, `"));
            return Err(Problem::new(message)
                .hint("the first line names the columns: `statistic,of,over,value`")
                .into());
        }
        for name in header.iter().filter(|h| !COLUMNS.contains(&h.as_str())) {
            problems.push(
                Problem::new(format!("`{}` has a column `{name}` that means nothing", path.display()))
                    .hint(did_you_mean(name, COLUMNS)),
            );
        }
        problems.or(())?;
        let table = columns::read(path, &ReadOptions::default(), None, &|_, _| ())?;
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let begins: Vec<usize> = record_lines(&text).into_iter().skip(1).collect();
        let numbers = if begins.len() == table.rows { begins } else { (2..table.rows + 2).collect() };
        Ok(Lines { table, numbers })
    }

    fn statistics(&self, file: &str, people: Option<&mut People>) -> Result<Vec<Statistic>, Problems> {
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

/// The numbers of the lines on which records of a CSV text begin: not blank ones, and none within quotes.
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

fn differences(name: &'static str, statistics: &[Statistic], people: &People, found: Differences) -> Outcome {
    let disclosed = |d: &Disclosure| {
        let mut lines: Vec<usize> = d.terms.iter().map(|t| statistics[t.statistic].line).collect();
        lines.sort_unstable();
        let who = if d.people.len() > NAMED { &[][..] } else { &d.people };
        Disclosed {
            finding: d.finding.name(),
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
    Outcome { disclosures, ..Outcome::of(name, found.figures) }
}

fn averages(name: &'static str, statistics: &[Statistic]) -> Outcome {
    let (found, figures) = averaging(statistics);
    let averaged = |a: &Average| {
        let first = &statistics[a.statistics[0]];
        Averaged {
            statistic: first.kind.name(),
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
    Outcome { averages: found.iter().map(averaged).collect(), ..Outcome::of(name, figures) }
}

impl Outcome {
    fn of(attack: &'static str, told: Vec<Figure>) -> Outcome {
        let figures = told.iter().map(|f| (f.name.clone(), f.value)).collect();
        Outcome { attack, figures, told, disclosures: Vec::new(), averages: Vec::new() }
    }
}
