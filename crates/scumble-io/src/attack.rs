//! Attacks on releases on disk, by an adversary who knows what is given to her.

mod as_tests;
mod conditions;
mod counted;
mod found;
mod material;

use crate::answer::VERSION;
use crate::engine::{Engine, Report};
use crate::freeform::{self, BreachNote};
use crate::publisher::{Clock, Watcher, write_whole};
pub use as_tests::Tests;
pub use conditions::{Figures, Tested};
pub(crate) use conditions::{conditions, test};
use found::told;
pub(crate) use material::{Material, read};
use scumble::attack::{Attack, Chart, Figure, Membership, Scene};
use scumble::catalogue::{ATTACKS, Entry, FREEFORM, MINIMALITY, Parameters, STATISTICS, did_you_mean};
use scumble::picture;
use scumble::problem::{Problem, Problems};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

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
    /// Who counts people and releases, if not this process.
    pub engine: Option<&'a dyn Engine>,
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
    /// Every condition with the figures that it was held against.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Tested>,
    /// What the reader should know.
    pub warnings: Vec<String>,
    /// What the engine did, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine: Option<Report>,
    /// Seconds per phase: `read` (with locating people), each attack by its name, and `total`.
    pub seconds: BTreeMap<&'static str, f64>,
}

impl Attacked {
    /// As tests.
    pub fn tests(&self) -> Tests<'_> {
        let figures = self.attacks.iter().map(|o| (o.attack.as_str(), &o.figures)).collect();
        Tests { attacked: self.releases.clone(), figures, conditions: &self.conditions }
    }
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
    /// Freeform attacks that are breaches.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub breaches: Vec<BreachNote>,
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
    /// What the risk is, or how the belief is come by.
    pub estimator: &'static str,
    /// Number of groups that she may be in, by release.
    pub groups: Vec<u64>,
    /// Values that are possible, with their probabilities; only where values are asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<(String, f64)>,
}

/// Names of what a register may be.
pub const REGISTERS: [(&str, Membership); 3] =
    [("members", Membership::Members), ("population", Membership::Population), ("some", Membership::Some)];

/// Carries out attacks: those that are named, or all that what is given suffices for.
pub fn attack(names: &[String], options: &Options<'_>) -> Result<Attacked, Problems> {
    let alone = freeform::Options {
        releases: &options.releases,
        policy: None,
        with: &options.with,
        fail_on: &options.fail_on,
        engine: options.engine,
        watcher: options.watcher,
    };
    if options.engine.is_some() {
        counted::must_be_counts(options)?;
    }
    let (said, for_others) = if names.is_empty() { freeform::is_said(&options.releases) } else { (false, true) };
    if said && !for_others {
        if options.people.is_some() {
            return Err(nothing_of_people("`freeform` looks at values, not at people").into());
        }
        return freeform::attack(&alone);
    }
    let mut clock = Clock::new();
    let conditions = conditions(&options.fail_on)?;
    let wanted = wanted(names, options)?;
    let material = read(options)?;
    clock.lap("read");
    let scene = &material.scene;
    let mut ready: Vec<(&Wanted, Box<dyn Attack>)> = Vec::new();
    for wanted in &wanted {
        let attack = (wanted.0.build)(&wanted.1)?;
        match lack(wanted.0.name, &*attack, scene) {
            None => ready.push((wanted, attack)),
            Some(_) if names.is_empty() => (),
            Some(lack) => return Err(lack.into()),
        }
    }
    if options.people.is_some() {
        must_tell_of_people(&ready, scene)?;
    }
    let mut results: Vec<(Outcome, Option<Chart>)> = Vec::new();
    let mut skipped = Vec::new();
    let mut people = String::new();
    for ((entry, parameters), attack) in ready {
        options.watcher.phase(entry.name);
        match attack.run(scene, &|done, all| options.watcher.at(done, all)) {
            Ok(report) => results.push(told(entry.name, parameters, report, &material, options, &mut people)),
            Err(problem) if names.is_empty() => {
                skipped.push(format!("`{}` was left out: {}", entry.name, problem.message))
            }
            Err(problem) => return Err(problem.into()),
        }
        clock.lap(entry.name);
    }
    if said {
        let (found, _) = freeform::outcomes(&freeform::Options { with: &[], ..alone }, &mut clock)?;
        results.extend(found.into_iter().map(|outcome| (outcome, None)));
    }
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
    let conditions = test(&conditions, &figures)?;
    Ok(Attacked {
        version: VERSION,
        releases: options.releases.iter().map(|r| r.display().to_string()).collect(),
        attribute: scene.attribute.clone(),
        attacks: results,
        failed: conditions.iter().filter(|t| t.met).map(Tested::words).collect(),
        conditions,
        warnings: material.warnings.iter().cloned().chain(skipped).collect(),
        engine: options.engine.map(|e| e.report()),
        seconds: clock.seconds,
    })
}

/// An attack that is not in the table of those on releases.
fn unknown(name: &str) -> Problem {
    if name == MINIMALITY.name {
        return Problem::new("`minimality` runs the algorithm again, so it needs the policy")
            .hint("give `--policy FILE`");
    }
    if name == FREEFORM.name {
        return Problem::new("`freeform` looks at all attributes, and is carried out by itself")
            .hint("name no other attack beside it");
    }
    if STATISTICS.iter().any(|e| e.name == name) {
        return Problem::new(format!("`{name}` attacks published statistics")).hint("give `--statistics FILE`");
    }
    Problem::new(format!("there is no attack `{name}`")).hint(did_you_mean(name, ATTACKS.iter().map(|e| e.name)))
}

type Wanted = (&'static Entry<Box<dyn Attack>>, Parameters);

/// Refuses a file about everybody if nothing could be written into it; said before the work.
fn must_tell_of_people(ready: &[(&Wanted, Box<dyn Attack>)], scene: &Scene) -> Result<(), Problem> {
    if scene.people.is_none() {
        return Err(nothing_of_people("without a register there is nobody to look for"));
    }
    if ready.iter().all(|(_, attack)| !attack.tells_of_people()) {
        return Err(nothing_of_people("these attacks look at classes, not at people"));
    }
    Ok(())
}

/// There is nothing to write about everybody, because of this.
fn nothing_of_people(because: &str) -> Problem {
    Problem::new(format!("what was found about everybody cannot be written: {because}"))
        .hint("give `--register FILE`, and an attack on people; or leave out `--people`")
}

/// The attacks that are asked for, with their parameters.
fn wanted(names: &[String], options: &Options<'_>) -> Result<Vec<Wanted>, Problems> {
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
fn lack(name: &str, attack: &dyn Attack, scene: &Scene) -> Option<Problem> {
    let needs = attack.needs();
    if scene.releases.len() < needs.releases {
        let problem = Problem::new(format!("`{name}` needs {} releases", needs.releases));
        return Some(problem.hint("name them with `--release FOLDER`, once each"));
    }
    let nobody = scene.people().err().filter(|_| needs.people)?;
    Some(Problem { message: format!("`{name}` needs people to look for"), ..nobody })
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
