//! The experiments of the literature, carried out again: the paper's value beside ours, with the
//! settings, and the figures as pictures.

mod composition;
mod examples;
mod private;
mod republication;
mod series;

pub use examples::examples;

use rand::RngExt;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use scumble::algorithm::{Algorithm, Requirement};
use scumble::attack::Chart;
use scumble::catalogue::{ALGORITHMS, MODELS, Parameters, did_you_mean};
use scumble::failure::{Failure, Failures};
use scumble::history::PastGroup;
use scumble::picture;
use scumble::policy::Policy;
use scumble::publish::{Made, Outcome, make};
use scumble::table::{Attribute, Table};
use scumble::taxonomy::{Intervals, Rule, Taxonomy};
use scumble_publisher::answer::{Item, Reproduced, VERSION};
use scumble_publisher::observer::{Observer, Phase};
use scumble_publisher::publish::source;
use scumble_publisher::publish::{Clock, write_whole};
use scumble_publisher::publisher::Publisher;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What to reproduce, with what.
pub struct Options<'a> {
    /// A policy that names the data; its quasi-identifiers and first sensitive attribute are used.
    pub policy: String,
    /// The folder that its paths are relative to.
    pub base: PathBuf,
    /// What the data are called in the answer.
    pub data: String,
    /// Experiments by their names; all if none is given.
    pub only: Vec<String>,
    /// A folder for the pictures.
    pub pictures: Option<PathBuf>,
    /// Of everything that is random.
    pub seed: u64,
    /// Who wants to know.
    pub observer: &'a dyn Observer,
}

/// An experiment: its name, what it is about, and how it is done.
type Experiment = (&'static str, &'static str, fn(&Laboratory<'_>) -> Result<Findings, Failures>);

/// Every experiment.
const EXPERIMENTS: [Experiment; 7] = [
    (
        "composition",
        "X1, X2, X4: intersection of two k-anonymous releases (Ganta et al. 2008, Figures 1 to 3)",
        composition::composition,
    ),
    ("cuts", "X3: how Mondrian's rule for cuts changes the risk", composition::cuts),
    (
        "diversity",
        "X5: the same with ℓ-diversity and t-closeness (Ganta et al. 2008, Figure 4)",
        composition::diversity,
    ),
    (
        "locating",
        "X11: who is found by the nearest centroid (Ganta et al. 2008, section 2)",
        composition::locating,
    ),
    (
        "republication",
        "X6 to X9: entropy of one and two releases, and cost (Wang et al. 2008, Figures 2 to 5); X12: ten releases in three ways",
        republication::republication,
    ),
    (
        "privacy",
        "averaging, differencing and intersection against differential privacy, and what counts are worth",
        private::privacy,
    ),
    ("mondrian", "X10: a partitioning of 1000 normal points (the lecture's figure)", mondrian),
];

/// The experiments: names and what they are about.
pub fn experiments() -> impl Iterator<Item = (&'static str, &'static str)> {
    EXPERIMENTS.iter().map(|&(name, about, _)| (name, about))
}

/// What came of an experiment.
#[derive(Default)]
struct Findings {
    items: Vec<Item>,
    charts: Vec<(&'static str, String)>,
}

impl Findings {
    fn draw(&mut self, name: &'static str, chart: &Chart) {
        self.charts.push((name, picture::lines(chart)));
    }
}

/// The data of the experiments and how they are used.
struct Laboratory<'a> {
    table: Table,
    /// The distinct row of every record.
    row_of: Vec<u32>,
    /// Whether the paper's own data are used, so that its values can be expected.
    adult: bool,
    seed: u64,
    observer: &'a dyn Observer,
}

/// Carries out the experiments.
pub fn reproduce(options: &Options<'_>) -> Result<Reproduced, Failures> {
    let mut problems = Failures::default();
    for name in options.only.iter().filter(|n| !EXPERIMENTS.iter().any(|(e, ..)| e == n)) {
        let hint = did_you_mean(name, EXPERIMENTS.iter().map(|(e, ..)| *e));
        problems.push(
            Failure::usage("unknown-entry", format!("there is no experiment `{name}`")).hint(hint),
        );
    }
    problems.or(())?;
    let mut clock = Clock::new();
    options.observer.phase(Phase::Read);
    let mut policy = Policy::parse("the policy of the experiments", &options.policy)?;
    let laboratory = Laboratory::new(&mut policy, &options.base, options)?;
    clock.lap("read");
    if let Some(folder) = &options.pictures {
        std::fs::create_dir_all(folder).map_err(|e| {
            Failure::io(
                "cannot-write",
                format!(
                    "`{}` cannot be made: {}",
                    folder.display(),
                    scumble_publisher::describe(&e)
                ),
            )
        })?;
    }
    let (mut items, mut pictures) = (Vec::new(), Vec::new());
    for (name, _, experiment) in EXPERIMENTS {
        if !options.only.is_empty() && !options.only.iter().any(|n| n == name) {
            continue;
        }
        options.observer.phase(Phase::Run(name));
        let findings = experiment(&laboratory)?;
        items.extend(findings.items);
        for (picture, svg) in findings.charts {
            let Some(folder) = &options.pictures else { continue };
            let file = folder.join(format!("{picture}.svg"));
            write_whole(&file, &svg)?;
            pictures.push(file.display().to_string());
        }
        clock.lap(name);
    }
    let records = laboratory.row_of.len() as u64;
    Ok(Reproduced {
        version: VERSION,
        data: options.data.clone(),
        records,
        items,
        pictures,
        seconds: clock.seconds,
    })
}

impl<'a> Laboratory<'a> {
    fn new(
        policy: &mut Policy,
        base: &Path,
        options: &Options<'a>,
    ) -> Result<Laboratory<'a>, Failures> {
        let extract =
            source::load(policy, base, options.seed, &Publisher::observed_by(options.observer))?;
        let mut table = extract.table;
        if table.sensitive.is_empty() {
            return Err(Failure::data(
                "no-sensitive-attribute",
                "the data of the experiments need a sensitive attribute",
            )
            .into());
        }
        // The papers have one sensitive attribute.
        table.sensitive.truncate(1);
        table.sensitive_codes.truncate(1);
        let row_of: Vec<u32> = (0u32..)
            .zip(&table.counts)
            .flat_map(|(row, &n)| std::iter::repeat_n(row, n as usize))
            .collect();
        let adult = row_of.len() == 30_162;
        Ok(Laboratory { table, row_of, adult, seed: options.seed, observer: options.observer })
    }

    fn rng(&self, stream: u64) -> ChaCha8Rng {
        ChaCha8Rng::seed_from_u64(self.seed.wrapping_mul(1_000_003).wrapping_add(stream))
    }

    /// All records in random order.
    fn shuffled(&self, rng: &mut ChaCha8Rng) -> Vec<u32> {
        let mut records: Vec<u32> = (0..self.row_of.len() as u32).collect();
        records.shuffle(rng);
        records
    }

    /// The table of some records.
    fn part(&self, records: &[u32]) -> Part {
        let columns = self.columns(records);
        let (table, row_of) =
            Table::collapse(self.table.quasi.clone(), self.table.sensitive.clone(), columns);
        Part { table, row_of }
    }

    /// The same with what earlier releases said about them.
    fn part_with_past(&self, records: &[u32], groups: Vec<PastGroup>, group_of: Vec<u32>) -> Part {
        let (quasi, sensitive) = (self.table.quasi.clone(), self.table.sensitive.clone());
        let columns = self.columns(records);
        let (table, row_of) =
            Table::collapse_with_past(quasi, sensitive, columns, groups, group_of);
        Part { table, row_of }
    }

    fn columns(&self, records: &[u32]) -> Vec<Vec<u32>> {
        let codes = |column: &Vec<u32>| -> Vec<u32> {
            records.iter().map(|&r| column[self.row_of[r as usize] as usize]).collect()
        };
        self.table.quasi_codes.iter().chain(&self.table.sensitive_codes).map(codes).collect()
    }

    fn sensitive(&self, record: u32) -> u32 {
        self.table.sensitive_codes[0][self.row_of[record as usize] as usize]
    }
}

/// Some records as a table of their own.
struct Part {
    table: Table,
    /// The distinct row of each of them, in the order they were given.
    row_of: Vec<u32>,
}

/// An algorithm by name.
fn algorithm(name: &str, parameters: &[(&str, &str)]) -> Result<Box<dyn Algorithm>, Failures> {
    let entry = ALGORITHMS.iter().find(|e| e.name == name);
    let entry =
        entry.ok_or_else(|| Failure::bug("internal", format!("there is no algorithm `{name}`")))?;
    Ok((entry.build)(&read(entry.name, entry.parameters, parameters)?)?)
}

/// A requirement by name; about the sensitive attribute, if it is about one.
fn requirement(name: &str, parameters: &[(&str, String)]) -> Result<Requirement, Failures> {
    let entry = MODELS.iter().find(|e| e.name == name);
    let entry =
        entry.ok_or_else(|| Failure::bug("internal", format!("there is no model `{name}`")))?;
    let given: Vec<(&str, &str)> = parameters.iter().map(|(k, v)| (*k, v.as_str())).collect();
    let parameters = read(entry.name, entry.parameters, &given)?;
    let model = (entry.build)(&parameters)?;
    let attribute = (model.promise().concerns != scumble::model::Concern::Identity).then_some(0);
    Ok(Requirement { name: entry.name, parameters, model, attribute, on: None, register: None })
}

fn read(
    name: &str,
    parameters: &'static [scumble::catalogue::Parameter],
    given: &[(&str, &str)],
) -> Result<Parameters, Failures> {
    let given: BTreeMap<String, String> =
        given.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    Parameters::read(name, parameters, &given).map_err(Failures)
}

/// Makes a release, or says why there is none.
fn release(
    part: &Part,
    how: &dyn Algorithm,
    requirements: &[Requirement],
    seed: u64,
) -> Result<Made, Failures> {
    match make(&part.table, how, requirements, seed, &|_, _| true) {
        Outcome::Made(made) => Ok(*made),
        Outcome::Refused(problems) => Err(Failures(problems)),
    }
}

fn percent(x: f64) -> String {
    format!("{:.1} %", 100.0 * x)
}

/// X10: a thousand normal points, k = 25.
fn mondrian(laboratory: &Laboratory<'_>) -> Result<Findings, Failures> {
    let mut rng = laboratory.rng(10);
    let mut normal = || {
        // Box and Muller.
        let (u, v): (f64, f64) =
            (rng.random_range(f64::MIN_POSITIVE..1.0), rng.random_range(0.0..1.0));
        ((-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos() * 100.0).round() as i64
    };
    let points: Vec<[i64; 2]> = (0..1000).map(|_| [normal(), normal()]).collect();
    let axis = |i: usize, name: &str| -> Result<(Attribute, Vec<u32>), Failures> {
        let texts: Vec<String> = points.iter().map(|p| p[i].to_string()).collect();
        let mut values: Vec<&str> = texts.iter().map(String::as_str).collect();
        values.sort_unstable();
        values.dedup();
        let rule = Rule::Intervals(Intervals::default());
        let taxonomy = Taxonomy::generate(&rule, name, &values, false)?;
        let codes = texts.iter().map(|t| taxonomy.find(t).unwrap_or(0)).collect();
        Ok((Attribute::new(name, taxonomy), codes))
    };
    let ((x, x_codes), (y, y_codes)) = (axis(0, "x")?, axis(1, "y")?);
    let (table, row_of) = Table::collapse(vec![x, y], Vec::new(), vec![x_codes, y_codes]);
    let k = [requirement("k-anonymity", &[("k", "25".into())])?];
    let made = release(
        &Part { table, row_of },
        &*algorithm("mondrian", &[("recoding", "region")])?,
        &k,
        1,
    )?;
    let sizes = || made.release.classes.iter().map(|c| c.count);
    let (least, most) = (sizes().min().unwrap_or(0), sizes().max().unwrap_or(0));
    let mut findings = Findings::default();
    findings.items.push(Item {
        id: "X10".into(),
        what: "regions of 1000 normal points at k = 25".into(),
        paper: "a picture".into(),
        ours: format!("{} regions of {least} to {most} points", made.release.classes.len()),
        settings: "strict Mondrian, nearest allowable cut, regions".into(),
        holds: Some(least >= 25 && made.release.records() == 1000),
    });
    let svg = picture::partitioning(&made.release, 0, 1, "1000 normal points, k = 25");
    findings.charts.push(("mondrian", svg));
    Ok(findings)
}
