//! Attacks on releases on disk, by an adversary who knows what is given to her.

mod as_tests;
mod conditions;
mod counted;
mod found;
pub mod freeform;
mod material;
pub mod minimality;
pub mod statistics;
pub mod why;

use crate::answer::{AttackOutcome, AttackTarget, Attacked, StatisticsAttacked, Tested, VERSION};
use crate::observer::{Phase, Timed};
use crate::policy_file::PolicyFile;
use crate::publish::engine::without_engine;
use crate::publish::{Clock, write_whole};
use crate::publisher::Task;
pub use as_tests::Tests;
pub use conditions::Figures;
pub(crate) use conditions::{conditions, test};
use found::told;
pub(crate) use material::{Material, read};
use scumble::attack::{Attack, Chart, Membership, Scene, Target};
use scumble::catalogue::{ATTACKS, Entry, FREEFORM, MINIMALITY, Parameters, did_you_mean};
use scumble::failure::{Argument, Failure, Failures, Remedy};
use scumble::picture;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What is attacked, by whom.
#[derive(Clone, Debug, Default)]
pub struct AttackRequest {
    /// Names of attacks; all that what is given suffices for, if there are none.
    pub names: Vec<String>,
    /// Folders of releases.
    pub releases: Vec<PathBuf>,
    /// A policy. `minimality` attacks what it would publish; to `freeform` it says which values of
    /// the releases are sensitive and observable.
    pub policy: Option<PolicyFile>,
    /// A file of published statistics, which are attacked in place of releases.
    pub statistics: Option<PathBuf>,
    /// The sensitive attribute; needed if the releases share several.
    pub attribute: Option<String>,
    /// People with quasi-identifiers.
    pub register: Option<PathBuf>,
    /// What the register says about membership.
    pub membership: Membership,
    /// Columns of the register that say who is in each release: `yes`, `no`, or nothing if it is
    /// not known.
    pub members: Vec<String>,
    /// The column of the register (and the truth) that names people.
    pub name: Option<String>,
    /// A table with people's true values; also the register, if none is given.
    pub truth: Option<PathBuf>,
    /// What else is known, as statements.
    pub facts: Option<PathBuf>,
    /// People with quasi-identifiers and the sensitive attribute: what the adversary believes
    /// beforehand.
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
    /// How many of the people most at risk are listed; five, if nothing is said, and none if an
    /// engine counts people.
    pub top: Option<usize>,
    /// List the values that are believed of them, too.
    pub show_values: bool,
    /// Makes what is sampled reproducible.
    pub seed: Option<u64>,
    /// Seconds that `inference` or an explanation may take, [`SECONDS`] if nothing is said. What was
    /// found out by then is told, and what was not.
    pub seconds: Option<u64>,
}

/// Seconds that `inference` or an explanation may take, unless the request says something else. Its
/// counted work (`effort`) mostly ends earlier.
pub const SECONDS: u64 = 300;

impl Attacked {
    /// As tests.
    pub fn tests(&self) -> Tests<'_> {
        let figures =
            self.attacks.iter().map(|o| (o.attack.as_str(), o.figures.as_slice())).collect();
        Tests { attacked: self.releases.clone(), figures, conditions: &self.conditions }
    }
}

/// Names of what a register may be.
pub const REGISTERS: [(&str, Membership); 3] = [
    ("members", Membership::Members),
    ("population", Membership::Population),
    ("some", Membership::Some),
];

/// What attacks came to, by what they were carried out on: `target` tells which.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum AttackAnswer {
    /// On releases or a policy.
    Releases(Attacked),
    /// On statistics.
    Statistics(StatisticsAttacked),
}

impl AttackAnswer {
    /// Conditions that are met, in words: if there are any, the answer is no.
    pub fn failed(&self) -> &[String] {
        match self {
            AttackAnswer::Releases(a) => &a.failed,
            AttackAnswer::Statistics(a) => &a.failed,
        }
    }

    /// As tests.
    pub fn tests(&self) -> Tests<'_> {
        match self {
            AttackAnswer::Releases(a) => a.tests(),
            AttackAnswer::Statistics(a) => a.tests(),
        }
    }
}

/// Carries out attacks: those that are named, or all that what is given suffices for.
pub(crate) fn attack(options: Task<'_, AttackRequest>) -> Result<AttackAnswer, Failures> {
    let target = target(&options)?;
    must_be_used(&options, target)?;
    if options.publisher.engine.is_some() {
        must_be_countable(target)?;
    }
    match target {
        Target::Statistics => statistics::attack(options).map(AttackAnswer::Statistics),
        Target::Policy => minimality::attack(options).map(AttackAnswer::Releases),
        Target::Values => freeform::attack(options).map(AttackAnswer::Releases),
        Target::Releases => on_releases(options).map(AttackAnswer::Releases),
    }
}

/// What is attacked, by what was given and named.
fn target(request: &AttackRequest) -> Result<Target, Failures> {
    if request.statistics.is_some() {
        return Ok(Target::Statistics);
    }
    if request.names == [FREEFORM.name] {
        return Ok(Target::Values);
    }
    if request.policy.is_none() {
        return Ok(Target::Releases);
    }
    if !request.releases.is_empty() {
        return Err(Failure::usage(
            "conflicting-arguments",
            "a policy and releases go together only for `freeform`",
        )
        .hint("`minimality` attacks what the policy would publish; leave one of them out")
        .into());
    }
    if let Some(name) = request.names.iter().find(|n| *n != MINIMALITY.name) {
        return Err(Failure::usage(
            "unknown-attack",
            format!("`{name}` attacks releases, not a policy"),
        )
        .hint("publish it and attack the release; `minimality` takes the policy")
        .into());
    }
    Ok(Target::Policy)
}

/// Refuses what was given and would have no effect: an attack that ignores it would look as if it
/// had taken it into account.
fn must_be_used(request: &AttackRequest, target: Target) -> Result<(), Failures> {
    let (what, used): (&str, &[Argument]) = match target {
        Target::Releases => return Ok(()),
        Target::Statistics => ("statistics", &[Argument::Register, Argument::Name]),
        Target::Values => ("freeform values", &[Argument::Release, Argument::Policy]),
        Target::Policy => (
            "a policy",
            &[
                Argument::Policy,
                Argument::Attribute,
                Argument::Seed,
                Argument::People,
                Argument::ShowValues,
            ],
        ),
    };
    let given = [
        (Argument::Release, !request.releases.is_empty()),
        (Argument::Policy, request.policy.is_some()),
        (Argument::Attribute, request.attribute.is_some()),
        (Argument::Register, request.register.is_some()),
        (Argument::In, !request.members.is_empty()),
        (Argument::Name, request.name.is_some()),
        (Argument::Truth, request.truth.is_some()),
        (Argument::Facts, request.facts.is_some()),
        (Argument::Reference, request.reference.is_some()),
        (Argument::AllowUnknown, request.allow_unknown),
        (Argument::Seed, request.seed.is_some()),
        (Argument::People, request.people.is_some()),
        (Argument::Picture, request.picture.is_some()),
        (Argument::Top, request.top.is_some()),
        (Argument::Seconds, request.seconds.is_some()),
        (Argument::ShowValues, request.show_values),
    ];
    let mut problems = Failures::default();
    for &(argument, _) in given.iter().filter(|(name, given)| *given && !used.contains(name)) {
        problems.push(
            Failure::usage(
                "useless-argument",
                format!("the attack on {what} makes no use of `{argument}`"),
            )
            .argument(argument)
            .remedy(Remedy::leave_out(argument)),
        );
    }
    problems.or(())
}

/// Refuses what an engine cannot count.
fn must_be_countable(target: Target) -> Result<(), Failures> {
    let what = match target {
        Target::Releases | Target::Values => return Ok(()),
        Target::Statistics => {
            "statistics are about single persons, and the engine brings only distinct rows"
        }
        Target::Policy => {
            "`minimality` runs the algorithm many times, which needs the table in this process"
        }
    };
    Err(Failure::usage("not-with-engine", what).remedy(without_engine()).into())
}

/// Carries out attacks on releases.
fn on_releases(options: Task<'_, AttackRequest>) -> Result<Attacked, Failures> {
    let names = &options.names;
    if options.publisher.engine.is_some() {
        counted::must_be_counts(options)?;
    }
    let (said, for_others) =
        if names.is_empty() { freeform::is_said(&options.releases) } else { (false, true) };
    if said && !for_others {
        if options.people.is_some() {
            return Err(nothing_of_people("`freeform` looks at values, not at people").into());
        }
        return freeform::attack(options);
    }
    let mut clock = Clock::new();
    let conditions = conditions(&options.fail_on)?;
    let wanted = wanted(options)?;
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
    let mut results: Vec<(AttackOutcome, Option<Chart>)> = Vec::new();
    let mut skipped = Vec::new();
    let mut people = String::new();
    for ((entry, parameters), attack) in ready {
        options.publisher.observer.phase(Phase::Run(entry.name));
        let seconds = options.seconds.unwrap_or(SECONDS) as f64;
        let report = attack.run(scene, &Timed::new(options.publisher.observer, Some(seconds)));
        options.publisher.observer.go_on()?;
        match report {
            Ok(report) => {
                results.push(told(entry.name, parameters, report, &material, options, &mut people))
            }
            Err(problem) if names.is_empty() => {
                skipped.push(format!("`{}` was left out: {}", entry.name, problem.message))
            }
            Err(problem) => return Err(problem.into()),
        }
        clock.lap(entry.name);
    }
    if said {
        let (found, _) = freeform::outcomes(options, &[], &mut clock)?;
        results.extend(found.into_iter().map(|outcome| (outcome, None)));
    }
    let charts: Vec<(&str, &Chart)> = results
        .iter()
        .filter_map(|(r, chart)| Some((r.attack.as_str(), chart.as_ref()?)))
        .collect();
    options.publisher.observer.go_on()?;
    if let Some(file) = &options.people {
        write_whole(file, &people)?;
    }
    if let Some(file) = &options.picture {
        draw(file, &charts)?;
    }
    let results: Vec<AttackOutcome> = results.into_iter().map(|(r, _)| r).collect();
    let figures: Vec<Figures<'_>> =
        results.iter().map(|r| (r.attack.as_str(), r.figures.as_slice())).collect();
    let conditions = test(&conditions, &figures)?;
    Ok(Attacked {
        version: VERSION,
        target: AttackTarget::Releases,
        releases: options.releases.iter().map(|r| r.display().to_string()).collect(),
        attribute: scene.attribute.clone(),
        attacks: results,
        failed: conditions.iter().filter(|t| t.met).map(Tested::words).collect(),
        conditions,
        warnings: material.warnings.iter().cloned().chain(skipped).collect(),
        engine: options.publisher.engine.map(|e| e.report()),
        seconds: clock.seconds,
    })
}

/// An attack that is not in the table of those on releases.
fn unknown(name: &str) -> Failure {
    if name == MINIMALITY.name {
        return Failure::usage(
            "needs-policy",
            "`minimality` runs the algorithm again, so it needs the policy",
        )
        .remedy(Remedy::give(Argument::Policy));
    }
    if name == FREEFORM.name {
        return Failure::usage(
            "attack-alone",
            "`freeform` looks at all attributes, and is carried out by itself",
        )
        .hint("name no other attack beside it");
    }
    if scumble::attack::on_statistics().any(|e| e.name == name) {
        let message = format!("`{name}` attacks published statistics");
        return Failure::usage("needs-statistics", message)
            .remedy(Remedy::give(Argument::Statistics));
    }
    Failure::usage("unknown-attack", format!("there is no attack `{name}`"))
        .hint(did_you_mean(name, ATTACKS.iter().map(|e| e.name())))
}

type Wanted = (&'static Entry<Box<dyn Attack>>, Parameters);

/// Refuses a file about everybody if nothing could be written into it; said before the work.
fn must_tell_of_people(ready: &[(&Wanted, Box<dyn Attack>)], scene: &Scene) -> Result<(), Failure> {
    if scene.people.is_none() {
        return Err(nothing_of_people("without a register there is nobody to look for"));
    }
    if ready.iter().all(|(_, attack)| !attack.tells_of_people()) {
        return Err(nothing_of_people("these attacks look at classes, not at people"));
    }
    Ok(())
}

/// There is nothing to write about everybody, because of this.
fn nothing_of_people(because: &str) -> Failure {
    Failure::usage(
        "needs-people",
        format!("what was found about everybody cannot be written: {because}"),
    )
    .remedy(
        Remedy::give(Argument::Register)
            .then(", and an attack on people; or leave out ")
            .and_leave_out(Argument::People),
    )
}

/// The attacks that are asked for, with their parameters.
fn wanted(options: Task<'_, AttackRequest>) -> Result<Vec<Wanted>, Failures> {
    let names = &options.names;
    let mut problems = Failures::default();
    let mut entries: Vec<&'static Entry<Box<dyn Attack>>> = Vec::new();
    for name in names {
        match scumble::attack::on_releases().find(|e| e.name == *name) {
            Some(entry) => entries.push(entry),
            None => problems.push(unknown(name)),
        }
    }
    if names.is_empty() {
        entries = scumble::attack::on_releases().collect();
    }
    let given = given(
        &options.with,
        || entries.iter().flat_map(|e| e.parameters).map(|p| p.name),
        &mut problems,
    );
    if options.seconds.is_some() && entries.iter().all(|e| e.name != "inference") {
        let argument = Argument::Seconds;
        let message = format!("of attacks on releases only `inference` makes use of `{argument}`");
        let useless = Failure::usage("useless-argument", message);
        problems.push(useless.argument(argument).remedy(Remedy::leave_out(argument)));
    }
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
    problems: &mut Failures,
) -> BTreeMap<String, String> {
    let mut given: BTreeMap<String, String> = BTreeMap::new();
    for text in with {
        match text.split_once('=') {
            Some((key, value)) => {
                drop(given.insert(key.trim().to_owned(), value.trim().to_owned()))
            }
            None => problems.push(
                Failure::usage("wrong-parameter", format!("the parameter `{text}` has no `=`"))
                    .argument(Argument::With)
                    .remedy(Remedy::words("write ").and_give(Argument::With)),
            ),
        }
    }
    for key in given.keys().filter(|k| !known().any(|p| p == *k)) {
        let problem = Failure::usage(
            "unknown-parameter",
            format!("none of these attacks has a parameter `{key}`"),
        );
        problems.push(problem.hint(did_you_mean(key, known())));
    }
    given
}

/// What an attack lacks, and the remedy.
fn lack(name: &str, attack: &dyn Attack, scene: &Scene) -> Option<Failure> {
    let needs = attack.needs();
    if scene.releases.len() < needs.releases {
        let problem =
            Failure::usage("needs-releases", format!("`{name}` needs {} releases", needs.releases));
        return Some(problem.remedy(
            Remedy::words("name them with ").and_give(Argument::Release).then(", once each"),
        ));
    }
    let nobody = scene.people().err().filter(|_| needs.people)?;
    Some(Failure { message: format!("`{name}` needs people to look for"), ..nobody })
}

/// Draws charts: one into the file itself, several into files beside it that have the attack's name
/// in theirs.
fn draw(file: &Path, charts: &[(&str, &Chart)]) -> Result<(), Failures> {
    if charts.is_empty() {
        return Err(Failure::usage("no-picture", "none of these attacks has a picture")
            .remedy(Remedy::leave_out(Argument::Picture))
            .into());
    }
    for (attack, chart) in charts {
        let file = if let [_] = charts { file.to_path_buf() } else { beside(file, attack) };
        write_whole(&file, &picture::lines(chart))?;
    }
    Ok(())
}

/// `risk.svg` → `risk-intersection.svg`.
fn beside(file: &Path, attack: &str) -> PathBuf {
    let part =
        |p: Option<&std::ffi::OsStr>| p.map_or(String::new(), |p| p.to_string_lossy().into_owned());
    let (stem, extension) = (part(file.file_stem()), part(file.extension()));
    file.with_file_name(if extension.is_empty() {
        format!("{stem}-{attack}")
    } else {
        format!("{stem}-{attack}.{extension}")
    })
}
