//! Attacks on releases on disk, by an adversary who knows what is given to her.

use crate::answer::VERSION;
use crate::check;
use crate::columns::{self, Column, Columns, ReadOptions};
use crate::manifest;
use crate::publisher::{Clock, Watcher, write_whole};
use crate::source::{read_register, to_register};
use hashbrown::{HashMap, HashSet};
use scumble::attack::facts::{self, Statement};
use scumble::attack::{Attack, Chart, Crowd, Figure, In, Knowledge, Membership, Report, Scene, score};
use scumble::catalogue::{ATTACKS, Entry, MINIMALITY, Parameters, STATISTICS, did_you_mean};
use scumble::picture;
use scumble::problem::{Problem, Problems};
use scumble::register::Register;
use scumble::taxonomy::Rule;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What is attacked, by whom.
pub struct Options<'a> {
    /// Folders of releases.
    pub releases: Vec<PathBuf>,
    /// The sensitive attribute; needed if the releases share several.
    pub attribute: Option<String>,
    /// People with quasi-identifiers.
    pub register: Option<PathBuf>,
    /// What the register says about membership.
    pub membership: Membership,
    /// Columns of the register that say who is in each release: `yes`, `no`, or nothing if it is not known.
    pub members: Vec<String>,
    /// The column of the register (and the truth) that names people.
    pub name: Option<String>,
    /// A table with people's true values; also the register, if none is given.
    pub truth: Option<PathBuf>,
    /// What else is known, as statements.
    pub facts: Option<PathBuf>,
    /// People with quasi-identifiers and the sensitive attribute: what the adversary believes beforehand.
    pub reference: Option<PathBuf>,
    /// Go on with people whose values a taxonomy does not know: they fit only what is suppressed.
    pub allow_unknown: bool,
    /// Parameters of attacks, as `key=value`.
    pub with: Vec<String>,
    /// Conditions on figures, such as `pvp_100 > 0.01`: if one is met, the answer is no.
    pub fail_on: Vec<String>,
    /// Write what was found about everybody into this CSV file.
    pub people: Option<PathBuf>,
    /// Draw the attack's chart into this file.
    pub picture: Option<PathBuf>,
    /// How many of the people most at risk are listed.
    pub top: usize,
    /// List the values that are believed of them, too.
    pub show_values: bool,
    /// Makes what is sampled reproducible.
    pub seed: Option<u64>,
    /// Who wants to know.
    pub watcher: &'a dyn Watcher,
}

/// Answer of `attack`.
#[derive(Clone, Debug, Serialize)]
pub struct Attacked {
    /// [`VERSION`].
    pub version: u32,
    /// The releases.
    pub releases: Vec<String>,
    /// The sensitive attribute.
    pub attribute: String,
    /// What each attack came to.
    pub attacks: Vec<Outcome>,
    /// Conditions of `--fail-on` that are met.
    pub failed: Vec<String>,
    /// What the reader should know.
    pub warnings: Vec<String>,
    /// Seconds per phase: `read`, `locate`, and each attack by its name.
    pub seconds: BTreeMap<String, f64>,
}

/// What an attack came to.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// Its name.
    pub attack: String,
    /// What the adversary was given.
    pub adversary: Adversary,
    /// Number of people attacked; absent where it looks at classes alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub people: Option<u64>,
    /// Numbers by name.
    pub figures: BTreeMap<String, f64>,
    /// The same in order, with words.
    #[serde(skip)]
    pub told: Vec<Figure>,
    /// The people most at risk.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub top: Vec<Person>,
    /// What was found, in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<String>,
    /// What must be borne in mind.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// What an adversary knows.
#[derive(Clone, Debug, Serialize)]
pub struct Adversary {
    /// Quasi-identifiers that she knows of people; none if she has no register.
    pub knows: Vec<String>,
    /// What she knows of membership: `members`, `population` or `some`; absent without a register.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub register_is: Option<&'static str>,
    /// Number of releases that she has.
    pub releases: usize,
    /// Number of other things that she knows.
    pub facts: usize,
    /// Parameters of the attack.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, String>,
}

/// Somebody in an answer.
#[derive(Clone, Debug, Serialize)]
pub struct Person {
    /// Row in the register, the first after the header being 1.
    pub row: u64,
    /// Name, if a column names people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// How much she is at risk: the belief in her likeliest value, or the probability of a link.
    pub risk: f64,
    /// Number of groups that she may be in, by release.
    pub groups: Vec<u64>,
    /// Values that are possible, with their probabilities; only where values are asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<(String, f64)>,
}

/// Names of what a register may be.
pub const REGISTERS: [(&str, Membership); 3] =
    [("members", Membership::Members), ("population", Membership::Population), ("some", Membership::Some)];

/// Everything that was read.
pub(crate) struct Material {
    pub scene: Scene,
    pub names: Option<Arc<Column>>,
    truth: Option<Vec<Option<u32>>>,
    pub warnings: Vec<String>,
}

/// Carries out attacks: those that are named, or all that what is given suffices for.
pub fn attack(names: &[String], options: &Options<'_>) -> Result<Attacked, Problems> {
    let mut clock = Clock::new();
    let conditions = conditions(&options.fail_on)?;
    let wanted = wanted(names, options)?;
    let material = read(options)?;
    clock.lap("read");
    let scene = &material.scene;
    let mut results: Vec<(Outcome, Option<Chart>)> = Vec::new();
    let mut skipped = Vec::new();
    let mut people = String::new();
    let mut seconds: BTreeMap<String, f64> = BTreeMap::new();
    for (entry, parameters) in &wanted {
        let attack = (entry.build)(parameters)?;
        if let Some(lack) = lack(&*attack, scene) {
            if names.is_empty() {
                continue;
            }
            return Err(Problem::new(format!("`{}` {}", entry.name, lack.0)).hint(lack.1).into());
        }
        options.watcher.phase(entry.name);
        let start = std::time::Instant::now();
        match attack.run(scene, &|done, all| options.watcher.at(done, all)) {
            Ok(report) => results.push(told(entry.name, parameters, report, &material, options, &mut people)),
            Err(problem) if names.is_empty() => {
                skipped.push(format!("`{}` was left out: {}", entry.name, problem.message))
            }
            Err(problem) => return Err(problem.into()),
        }
        seconds.insert(entry.name.into(), start.elapsed().as_secs_f64());
    }
    seconds.extend(clock.seconds.into_iter().map(|(name, s)| (name.to_owned(), s)));
    let charts: Vec<(&str, &Chart)> =
        results.iter().filter_map(|(r, chart)| Some((r.attack.as_str(), chart.as_ref()?))).collect();
    if let Some(file) = &options.people {
        write_whole(file, &people)?;
    }
    if let Some(file) = &options.picture {
        draw(file, &charts)?;
    }
    let results: Vec<Outcome> = results.into_iter().map(|(r, _)| r).collect();
    let figures: Vec<Figures<'_>> = results.iter().map(|r| (r.attack.as_str(), &r.figures)).collect();
    let failed = failed(&conditions, &figures)?;
    Ok(Attacked {
        version: VERSION,
        releases: options.releases.iter().map(|r| r.display().to_string()).collect(),
        attribute: scene.attribute.clone(),
        attacks: results,
        failed,
        warnings: material.warnings.iter().cloned().chain(skipped).collect(),
        seconds,
    })
}

/// An attack that is not in the table of those on releases.
fn unknown(name: &str) -> Problem {
    if name == MINIMALITY.name {
        return Problem::new("`minimality` runs the algorithm again, so it needs the policy")
            .hint("give `--policy FILE`");
    }
    if STATISTICS.iter().any(|e| e.name == name) {
        return Problem::new(format!("`{name}` attacks published statistics")).hint("give `--statistics FILE`");
    }
    Problem::new(format!("there is no attack `{name}`")).hint(did_you_mean(name, ATTACKS.iter().map(|e| e.name)))
}

type Wanted = Vec<(&'static Entry<Box<dyn Attack>>, Parameters)>;

/// The attacks that are asked for, with their parameters.
fn wanted(names: &[String], options: &Options<'_>) -> Result<Wanted, Problems> {
    let mut problems = Problems::default();
    let mut entries: Vec<&'static Entry<Box<dyn Attack>>> = Vec::new();
    for name in names {
        match ATTACKS.iter().find(|e| e.name == *name) {
            Some(entry) => entries.push(entry),
            None => problems.push(unknown(name)),
        }
    }
    if names.is_empty() {
        entries = ATTACKS.iter().collect();
    }
    let given = given(&options.with, || entries.iter().flat_map(|e| e.parameters).map(|p| p.name), &mut problems);
    let mut wanted = Vec::new();
    for entry in entries {
        match Parameters::read(entry.name, entry.parameters, &given) {
            Ok(parameters) => wanted.push((entry, parameters)),
            // Attacks that were not asked for by name and lack something are left out.
            Err(_) if names.is_empty() => (),
            Err(more) => problems.0.extend(more),
        }
    }
    problems.or(wanted)
}

/// Parameters as they are given, `key=value`; each must be known to an attack.
pub(crate) fn given<'a, K: Iterator<Item = &'a str>>(
    with: &[String],
    known: impl Fn() -> K,
    problems: &mut Problems,
) -> BTreeMap<String, String> {
    let mut given: BTreeMap<String, String> = BTreeMap::new();
    for text in with {
        match text.split_once('=') {
            Some((key, value)) => drop(given.insert(key.trim().to_owned(), value.trim().to_owned())),
            None => problems.push(Problem::new(format!("`--with {text}` has no `=`")).hint("write `--with key=value`")),
        }
    }
    for key in given.keys().filter(|k| !known().any(|p| p == *k)) {
        let problem = Problem::new(format!("none of these attacks has a parameter `{key}`"));
        problems.push(problem.hint(did_you_mean(key, known())));
    }
    given
}

/// What an attack lacks, and the remedy.
fn lack(attack: &dyn Attack, scene: &Scene) -> Option<(String, &'static str)> {
    let needs = attack.needs();
    if scene.releases.len() < needs.releases {
        return Some((format!("needs {} releases", needs.releases), "name them with `--release FOLDER`, once each"));
    }
    (needs.people && scene.people.is_none()).then(|| {
        let hint = "give `--register FILE`, a table of people with quasi-identifiers, or `--truth FILE`";
        ("needs people to look for".into(), hint)
    })
}

pub(crate) fn read(options: &Options<'_>) -> Result<Material, Problems> {
    if options.releases.is_empty() {
        return Err(Problem::new("there is no release to attack").hint("name one with `--release FOLDER`").into());
    }
    let statements = match &options.facts {
        Some(path) => read_facts(path)?,
        None => Vec::new(),
    };
    let mut quasi: Vec<String> = Vec::new();
    let mut sensitive: Vec<String> = Vec::new();
    for folder in &options.releases {
        check::must_be_release(folder)?;
        for c in manifest::read(folder)?.columns {
            match c.role.as_str() {
                "quasi-identifier" if !quasi.contains(&c.name) => quasi.push(c.name),
                "sensitive" if !sensitive.contains(&c.name) => sensitive.push(c.name),
                _ => (),
            }
        }
    }
    let people = options.register.as_ref().or(options.truth.as_ref());
    let table = people.map(|path| read_people(path, &quasi, &statements, options)).transpose()?;
    if table.is_none() && !statements.is_empty() {
        return Err(Problem::new("`--facts` are about people").hint("give `--register FILE`").into());
    }
    let register = table.as_ref().map(|t| to_register(t, &[])).transpose()?;
    let mut warnings = Vec::new();
    let mut releases = Vec::new();
    for folder in &options.releases {
        let named = |name: &str, rule: Option<&Rule>, _: &[&str]| match rule {
            Some(Rule::File { .. }) => Vec::new(),
            _ => texts(register.as_ref(), name),
        };
        let (release, more) = check::open(folder, &named, options.watcher)?;
        warnings.extend(more);
        releases.push((folder.display().to_string(), release));
    }
    let rows = register.as_ref().map(|r| facts::rows(&statements, r)).transpose()?.unwrap_or_default();
    options.watcher.phase("locating people");
    let knowledge = match (&register, &table) {
        (Some(register), Some(table)) => {
            check_people(register, &releases, options)?;
            Some(Knowledge {
                register,
                membership: options.membership,
                told: told_membership(table, options)?,
                apart: facts::apart(&rows),
            })
        }
        _ => None,
    };
    let mut scene = Scene::new(releases, options.attribute.as_deref(), knowledge.as_ref(), seed(options))?;
    if let Some(path) = &options.reference {
        options.watcher.phase("reading the reference");
        scene.reference = Some(read_register(path, &[], &|done, total| options.watcher.at(done, total))?);
    }
    if scene.people.is_some() {
        scene.known = facts::known(&statements, &rows, &scene)?;
        scene.statements = statements.iter().map(|s| s.text.clone()).collect();
    }
    let truth = options.truth.as_ref().zip(table.as_ref());
    let truth = truth.map(|(path, table)| read_truth(path, table, &scene, options)).transpose()?;
    let names = options.name.as_ref().zip(table).and_then(|(name, t)| t.columns.into_iter().find(|c| c.name == *name));
    let names = names.map(Arc::new);
    if let Some(names) = names.clone() {
        scene.name = Box::new(move |row| names.values.get(names.codes[row]).to_owned());
    }
    Ok(Material { scene, names, truth, warnings })
}

fn seed(options: &Options<'_>) -> u64 {
    // What is sampled need not be secret, so the default may be the same every time.
    options.seed.unwrap_or(1)
}

fn texts(register: Option<&Register>, name: &str) -> Vec<String> {
    let column = register.and_then(|r| r.columns.iter().find(|c| c.name == name));
    column.map_or_else(Vec::new, |c| c.texts.clone())
}

fn read_facts(path: &Path) -> Result<Vec<Statement>, Problems> {
    let text = std::fs::read_to_string(path)
        .map_err(|e| Problem::new(format!("`{}` cannot be read: {}", path.display(), crate::describe(&e))))?;
    facts::parse(&text).map_err(|problems| {
        let name = |p: Problem| Problem { message: format!("`{}`, {}", path.display(), p.message), ..p };
        Problems(problems.0.into_iter().map(name).collect())
    })
}

/// Reads the columns of a register that matter.
fn read_people(
    path: &Path,
    quasi: &[String],
    statements: &[Statement],
    options: &Options<'_>,
) -> Result<Columns, Problems> {
    let header = columns::header(path, &ReadOptions::default())?;
    let mut problems = Problems::default();
    let asked = options.name.iter().chain(&options.members).cloned().chain(facts::columns(statements));
    let asked: Vec<String> = asked.collect();
    for name in asked.iter().filter(|n| !header.contains(n)) {
        let problem = Problem::new(format!("`{}` has no column `{name}`", path.display()));
        problems.push(problem.hint(did_you_mean(name, header.iter().map(String::as_str))));
    }
    problems.or(())?;
    let mut names: Vec<String> = quasi.iter().filter(|n| header.contains(n)).cloned().collect();
    if names.is_empty() {
        let quasi: Vec<String> = quasi.iter().map(|n| format!("`{n}`")).collect();
        let message = format!("the register `{}` has no quasi-identifier as a column", path.display());
        return Err(Problem::new(message).hint(format!("it should have some of {}", quasi.join(", "))).into());
    }
    for name in asked {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if header.iter().any(|n| n == scumble::register::PEOPLE) {
        names.push(scumble::register::PEOPLE.into());
    }
    options.watcher.phase("reading the register");
    columns::read(path, &ReadOptions::default(), Some(&names), &|done, total| options.watcher.at(done, total))
}

/// People must be named once, and have values that the releases' taxonomies know.
fn check_people(
    register: &Register,
    releases: &[(String, scumble::release::Release)],
    options: &Options<'_>,
) -> Result<(), Problems> {
    let mut problems = Problems::default();
    let column = |name: &str| register.columns.iter().find(|c| c.name == name);
    if let Some(c) = options.name.as_deref().and_then(column) {
        let mut seen = HashSet::new();
        let again = c.codes.iter().filter(|code| !seen.insert(**code)).count();
        if again > 0 {
            let message = format!("column `{}` of the register names {again} people more than once", c.name);
            problems.push(Problem::new(message).hint("every person must be one row; leave the others out"));
        }
    }
    for (name, release) in releases.iter().filter(|_| !options.allow_unknown) {
        for attribute in &release.quasi {
            let Some(c) = column(&attribute.name) else { continue };
            let known = |t: &String| attribute.taxonomy.find(t).is_some() || attribute.taxonomy.leaf_below(t).is_some();
            let outside: Vec<bool> = c.texts.iter().map(|t| !known(t)).collect();
            let people = c.codes.iter().filter(|&&code| outside[code as usize]).count();
            let is_given = release.shape != scumble::release::Shape::Representatives;
            if people > 0 && is_given {
                let values = outside.iter().filter(|o| **o).count();
                let message = format!(
                    "{people} people of the register have one of {values} values of `{}` that its taxonomy in `{name}` does not know",
                    attribute.name
                );
                problems.push(Problem::new(message).hint(
                    "correct the register, or say `--allow-unknown`: then these people fit only what is suppressed",
                ));
            }
        }
    }
    problems.or(())
}

/// What the register says about everybody's membership, by release.
fn told_membership(table: &Columns, options: &Options<'_>) -> Result<Vec<Option<Vec<In>>>, Problems> {
    if options.members.is_empty() {
        return Ok(Vec::new());
    }
    if options.members.len() != options.releases.len() {
        let (columns, releases) = (options.members.len(), options.releases.len());
        return Err(Problem::new(format!("{columns} columns say who is in {releases} releases"))
            .hint("give `--in COLUMN` once for each `--release`, in the same order")
            .into());
    }
    let mut problems = Problems::default();
    let mut told = Vec::new();
    for name in &options.members {
        let Some(column) = table.columns.iter().find(|c| c.name == *name) else { continue };
        let word = |text: &str| match text.trim().to_ascii_lowercase().as_str() {
            "yes" | "true" | "1" => Some(In::Yes),
            "no" | "false" | "0" => Some(In::No),
            "" | "?" | "maybe" => Some(In::Maybe),
            _ => None,
        };
        let words: Vec<Option<In>> = column.values.iter().map(word).collect();
        let strange = column.codes.iter().filter(|&&c| words[c as usize].is_none()).count();
        if strange > 0 {
            let message =
                format!("column `{name}` of the register says something else than yes or no for {strange} people");
            problems.push(Problem::new(message).hint("write `yes`, `no`, or nothing where it is not known"));
        }
        let of = |code: &u32| words[*code as usize].unwrap_or(In::Maybe);
        told.push(Some(column.codes.iter().map(of).collect()));
    }
    problems.or(told)
}

/// The true value of each row of the register.
fn read_truth(
    path: &Path,
    people: &Columns,
    scene: &Scene,
    options: &Options<'_>,
) -> Result<Vec<Option<u32>>, Problems> {
    let header = columns::header(path, &ReadOptions::default())?;
    let attribute = &scene.attribute;
    if !header.contains(attribute) {
        let hint = did_you_mean(attribute, header.iter().map(String::as_str));
        return Err(Problem::new(format!("the truth `{}` has no column `{attribute}`", path.display()))
            .hint(hint)
            .into());
    }
    let mut wanted = vec![attribute.clone()];
    wanted.extend(options.name.clone().filter(|n| header.contains(n)));
    options.watcher.phase("reading the truth");
    let read =
        columns::read(path, &ReadOptions::default(), Some(&wanted), &|done, total| options.watcher.at(done, total))?;
    let column = |name: &str| read.columns.iter().find(|c| c.name == name);
    let Some(values) = column(attribute) else { return Ok(Vec::new()) };
    let code: HashMap<&str, u32> = scene.values.iter().map(String::as_str).zip(0..).collect();
    let codes: Vec<Option<u32>> = values.values.iter().map(|v| code.get(v).copied()).collect();
    let of_row = |row: usize| codes[values.codes[row] as usize];
    let same = options.register.as_ref().is_none_or(|register| register == path);
    if same {
        return Ok((0..read.rows).map(of_row).collect());
    }
    let names = options.name.as_deref().and_then(|n| Some((column(n)?, people.columns.iter().find(|c| c.name == n)?)));
    let Some((there, here)) = names else {
        return Err(Problem::new("who of the truth is who of the register is not known")
            .hint("name a column that both have with `--name COLUMN`")
            .into());
    };
    let mut row_of: HashMap<&str, usize> = HashMap::new();
    for (row, &code) in there.codes.iter().enumerate() {
        row_of.insert(there.values.get(code), row);
    }
    let of_person = |code: &u32| row_of.get(here.values.get(*code)).and_then(|&row| of_row(row));
    Ok(here.codes.iter().map(of_person).collect())
}

/// An attack's report as the answer tells it. What was found about everybody is added to `people`, if that is wanted.
fn told(
    name: &str,
    parameters: &Parameters,
    mut report: Report,
    material: &Material,
    options: &Options<'_>,
    people: &mut String,
) -> (Outcome, Option<Chart>) {
    let scene = &material.scene;
    let mut outcome = Outcome {
        attack: name.into(),
        adversary: Adversary::of(material, parameters),
        people: scene.people.as_ref().map(Crowd::people),
        figures: BTreeMap::new(),
        told: Vec::new(),
        top: Vec::new(),
        findings: std::mem::take(&mut report.findings),
        notes: std::mem::take(&mut report.notes),
    };
    let mut figures = std::mem::take(&mut report.figures);
    if let Some(crowd) = report.crowd(scene) {
        if let (Some(beliefs), Some(truth)) = (&report.beliefs, &material.truth) {
            figures.extend(score(crowd, beliefs, truth));
        }
        let found = Found { crowd, report: &report, material };
        let ranked = found.ranked(options.top);
        outcome.top = ranked.into_iter().map(|(row, risk)| found.person(row, risk, options.show_values)).collect();
        if options.people.is_some() {
            found.write(name, people);
        }
    }
    outcome.figures = figures.iter().map(|f| (f.name.clone(), f.value)).collect();
    outcome.told = figures;
    (outcome, report.chart)
}

impl Adversary {
    fn of(material: &Material, parameters: &Parameters) -> Adversary {
        let crowd = material.scene.people.as_ref();
        let word = |c: &Crowd| REGISTERS.iter().find(|(_, m)| *m == c.membership).map_or("", |(n, _)| *n);
        Adversary {
            knows: crowd.map_or_else(Vec::new, |c| c.known.clone()),
            register_is: crowd.map(word),
            releases: material.scene.releases.len(),
            facts: material.scene.known.len(),
            parameters: parameters.0.iter().map(|(k, v)| ((*k).to_owned(), v.to_string())).collect(),
        }
    }
}

/// What an attack found out about people.
struct Found<'a> {
    crowd: &'a Crowd,
    report: &'a Report,
    material: &'a Material,
}

impl Found<'_> {
    fn risk(&self, kind: usize) -> Option<f64> {
        match (&self.report.risk, &self.report.beliefs) {
            (Some(risk), _) => risk.get(kind).copied(),
            (None, Some(beliefs)) => beliefs.best(kind).map(|(_, p)| p),
            (None, None) => None,
        }
    }

    /// The rows most at risk, the first rows of equals.
    fn ranked(&self, top: usize) -> Vec<(usize, f64)> {
        let mut rows: Vec<(usize, f64)> = (self.crowd.kind_of.iter().enumerate())
            .filter_map(|(row, &kind)| Some((row, self.risk(kind as usize)?)))
            .filter(|(_, risk)| *risk > 0.0)
            .collect();
        let order = |a: &(usize, f64), b: &(usize, f64)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
        if top < rows.len() {
            rows.select_nth_unstable_by(top, order);
            rows.truncate(top);
        }
        rows.sort_unstable_by(order);
        rows
    }

    fn name(&self, row: usize) -> Option<&str> {
        self.material.names.as_ref().map(|c| c.values.get(c.codes[row]))
    }

    fn values(&self, kind: usize) -> Vec<(String, f64)> {
        let pairs = self.report.beliefs.as_ref().map_or(&[][..], |b| b.of(kind));
        let mut pairs: Vec<(u32, f64)> = pairs.to_vec();
        pairs.sort_by(|a, b| b.1.total_cmp(&a.1));
        pairs.into_iter().map(|(v, p)| (self.material.scene.values[v as usize].clone(), p)).collect()
    }

    fn groups(&self, kind: usize) -> Vec<u64> {
        (0..self.material.scene.releases.len()).map(|r| self.crowd.candidates(kind, r).len() as u64).collect()
    }

    fn person(&self, row: usize, risk: f64, show_values: bool) -> Person {
        let kind = self.crowd.kind_of[row] as usize;
        let values = if show_values { self.values(kind) } else { Vec::new() };
        Person { row: row as u64 + 1, name: self.name(row).map(str::to_owned), risk, groups: self.groups(kind), values }
    }

    /// One line for every row of the register.
    fn write(&self, attack: &str, text: &mut String) {
        if text.is_empty() {
            let groups: String = (1..=self.material.scene.releases.len()).map(|i| format!(",groups_{i}")).collect();
            let name = self.material.names.as_ref().map_or(String::new(), |c| format!(",{}", csv_cell(&c.name)));
            let _ = writeln!(text, "attack,row{name},risk{groups},values");
        }
        for (row, &kind) in self.crowd.kind_of.iter().enumerate() {
            let kind = kind as usize;
            let name = self.name(row).map_or(String::new(), |n| format!(",{}", csv_cell(n)));
            let risk = self.risk(kind).map_or(String::new(), |r| format!("{r:.6}"));
            let groups: String = self.groups(kind).iter().map(|n| format!(",{n}")).collect();
            let values: Vec<String> = self.values(kind).iter().map(|(v, p)| format!("{v} {p:.6}")).collect();
            let _ = writeln!(text, "{attack},{}{name},{risk}{groups},{}", row + 1, csv_cell(&values.join("; ")));
        }
    }
}

fn csv_cell(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

/// Draws charts: one into the file itself, several into files beside it that have the attack's name in theirs.
fn draw(file: &Path, charts: &[(&str, &Chart)]) -> Result<(), Problems> {
    if charts.is_empty() {
        return Err(Problem::new("none of these attacks has a picture").hint("leave out `--picture`").into());
    }
    for (attack, chart) in charts {
        let file = if let [_] = charts { file.to_path_buf() } else { beside(file, attack) };
        write_whole(&file, &picture::lines(chart))?;
    }
    Ok(())
}

/// `risk.svg` → `risk-intersection.svg`.
fn beside(file: &Path, attack: &str) -> PathBuf {
    let part = |p: Option<&std::ffi::OsStr>| p.map_or(String::new(), |p| p.to_string_lossy().into_owned());
    let (stem, extension) = (part(file.file_stem()), part(file.extension()));
    file.with_file_name(if extension.is_empty() {
        format!("{stem}-{attack}")
    } else {
        format!("{stem}-{attack}.{extension}")
    })
}

/// A condition on a figure.
pub(crate) struct Condition {
    text: String,
    /// Of this attack only.
    attack: Option<String>,
    figure: String,
    above: bool,
    /// Whether the limit itself is meant, too.
    or_equal: bool,
    limit: f64,
}

/// Reads conditions such as `pvp_100 > 0.01` or `intersection.pvp_100>=1%`.
pub(crate) fn conditions(texts: &[String]) -> Result<Vec<Condition>, Problems> {
    let mut problems = Problems::default();
    let mut conditions = Vec::new();
    for text in texts {
        let found =
            [">=", "<=", ">", "<"].iter().find_map(|op| text.split_once(op).map(|(a, b)| (*op, a.trim(), b.trim())));
        let number = |t: &str| match t.strip_suffix('%') {
            Some(percent) => percent.trim().parse::<f64>().ok().map(|p| p / 100.0),
            None => t.parse::<f64>().ok(),
        };
        let condition = found.and_then(|(op, figure, limit)| {
            let (attack, figure) = figure.split_once('.').map_or((None, figure), |(a, f)| (Some(a.to_owned()), f));
            let (above, or_equal) = (op.starts_with('>'), op.ends_with('='));
            let limit = number(limit)?;
            Some(Condition { text: text.clone(), attack, figure: figure.to_owned(), above, or_equal, limit })
        });
        match condition {
            Some(condition) => conditions.push(condition),
            None => problems.push(
                Problem::new(format!("`--fail-on \"{text}\"` is not understood"))
                    .hint("write a figure and a limit, as in `pvp_100 > 0.01` or `intersection.certain > 0`"),
            ),
        }
    }
    problems.or(conditions)
}

/// Figures of an attack by name.
pub(crate) type Figures<'a> = (&'a str, &'a BTreeMap<String, f64>);

/// The conditions that are met by the figures of attacks.
pub(crate) fn failed(conditions: &[Condition], figures: &[Figures<'_>]) -> Result<Vec<String>, Problems> {
    let mut problems = Problems::default();
    let mut failed = Vec::new();
    for c in conditions {
        let mut seen = false;
        for (attack, figures) in figures.iter().filter(|(name, _)| c.attack.as_ref().is_none_or(|a| a == name)) {
            let Some(&value) = figures.get(&c.figure) else { continue };
            seen = true;
            let beyond = if c.above { value > c.limit } else { value < c.limit };
            if beyond || c.or_equal && value == c.limit {
                failed.push(format!("{}: {attack} is {value}", c.text));
            }
        }
        if !seen {
            let known = figures.iter().flat_map(|(_, figures)| figures.keys().map(String::as_str));
            let problem = Problem::new(format!("no attack that was carried out has a figure `{}`", c.figure));
            problems.push(problem.hint(did_you_mean(&c.figure, known)));
        }
    }
    problems.or(failed)
}
