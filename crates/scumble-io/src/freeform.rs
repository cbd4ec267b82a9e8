//! Freeform attacks on releases on disk, and what `check` says of them.

use crate::answer::{Number, VERSION};
use crate::attack::{Adversary, Attacked, Outcome, Tested, conditions, given, test};
use crate::engine::Engine;
use crate::publisher::{Clock, Watcher};
use crate::release::reader::{self, Understood};
use scumble::algorithm::Requirement;
use scumble::attack::freeform::{ENTRY, Found, Freeform, words};
use scumble::catalogue::Parameters;
use scumble::class::Run;
use scumble::freeform::Breach;
use scumble::problem::{Problem, Problems};
use scumble::release::Release;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A breach X → a in an answer.
#[derive(Clone, Debug, Serialize)]
pub struct BreachNote {
    /// X: values by attribute; nothing is known of the others.
    pub known: BTreeMap<String, String>,
    /// The attribute that is attacked.
    pub attribute: String,
    /// a.
    pub value: String,
    /// Records that match X.
    pub support: u64,
    /// Those of them that match a.
    pub records: u64,
    /// Their share, times the sensitivity of a.
    pub threat: Number,
    /// Whether a is shown in the release, and not only values below it.
    pub shown: bool,
    /// Whether no more general X breaches a.
    pub minimal: bool,
}

/// What `check` says of the freeform attacks on what it was given.
#[derive(Clone, Debug, Serialize)]
pub struct FreeformNote {
    /// Parameters of the attack.
    pub parameters: BTreeMap<String, String>,
    /// Numbers by name, as of the attack.
    pub figures: BTreeMap<String, f64>,
    /// Minimal breaches first; of a table that was not published only where values are asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub breaches: Vec<BreachNote>,
    /// The same in words.
    #[serde(skip)]
    pub words: Vec<String>,
}

impl BreachNote {
    fn of(release: &Release, b: &Breach) -> BreachNote {
        let label = |&(i, run): &(usize, Run)| {
            (release.quasi[i].name.clone(), release.quasi[i].taxonomy.label(run).into_owned())
        };
        let (attribute, value) = label(&b.value);
        BreachNote {
            known: b.known.iter().map(label).collect(),
            attribute,
            value,
            support: b.support,
            records: b.with,
            threat: b.threat.into(),
            shown: b.shown,
            minimal: b.minimal,
        }
    }
}

/// How many breaches `check` lists.
const LISTED: usize = 10;

/// The attacks that a promise of FF-anonymity is about, where it is broken and they can be told.
pub(crate) fn broken(release: &Release, r: &Requirement, show_values: bool) -> Option<FreeformNote> {
    let attack = Freeform { thresholds: r.model.freeform()?, list: LISTED };
    let found = attack.run(release, r.on.as_deref()).ok()?;
    let listed = || found.listed(if show_values { LISTED } else { 0 });
    Some(FreeformNote {
        parameters: r.parameters.texts(),
        figures: found.figures().into_iter().map(|f| (f.name, f.value)).collect(),
        breaches: listed().map(|b| BreachNote::of(release, b)).collect(),
        words: listed().map(|b| words(release, b)).collect(),
    })
}

/// What is attacked.
pub struct Options<'a> {
    /// Folders of releases.
    pub releases: &'a [PathBuf],
    /// A policy that says which values are sensitive and observable, if not the releases themselves.
    pub policy: Option<&'a Path>,
    /// Parameters of the attack, as `key=value`.
    pub with: &'a [String],
    /// Conditions on figures: if one is met, the answer is no.
    pub fail_on: &'a [String],
    /// Who counts the releases, if not this process.
    pub engine: Option<&'a dyn Engine>,
    /// Who wants to know.
    pub watcher: &'a dyn Watcher,
}

/// Whether every release says which of its values are sensitive and promises FF-anonymity, so that the attack needs nothing
/// else; and whether some has a sensitive attribute for the others.
pub(crate) fn is_said(folders: &[PathBuf]) -> (bool, bool) {
    let manifests: Vec<_> = folders.iter().filter_map(|folder| crate::release::manifest::read(folder).ok()).collect();
    let promised = |m: &crate::release::manifest::Manifest| m.models.iter().any(|model| model.name == "ff-anonymity");
    let said = manifests.len() == folders.len() && !folders.is_empty() && manifests.iter().all(promised);
    (said, manifests.iter().any(|m| m.columns.iter().any(|c| c.role == "sensitive")))
}

/// Attacks releases, each by itself.
pub fn attack(options: &Options<'_>) -> Result<Attacked, Problems> {
    let mut clock = Clock::new();
    let conditions = conditions(options.fail_on)?;
    if options.releases.is_empty() {
        return Err(Problem::new("there is no release to attack").hint("name one with `--release FOLDER`").into());
    }
    if let Some(engine) = options.engine {
        let asked = options.releases.iter().map(|folder| reader::asked(folder)).collect::<Result<Vec<_>, _>>()?;
        engine.estimate_all(&asked, options.watcher)?;
    }
    let (attacks, warnings) = outcomes(options, &mut clock)?;
    let figures: Vec<_> = attacks.iter().map(|r: &Outcome| (r.attack.as_str(), &r.figures)).collect();
    let tested = test(&conditions, &figures)?;
    Ok(Attacked {
        version: VERSION,
        releases: options.releases.iter().map(|r| r.display().to_string()).collect(),
        attribute: String::new(),
        failed: tested.iter().filter(|t| t.met).map(Tested::words).collect(),
        conditions: tested,
        attacks,
        warnings,
        engine: options.engine.map(|e| e.report()),
        seconds: clock.seconds,
    })
}

/// What the attack comes to on each release, and what the reader should know.
pub(crate) fn outcomes(options: &Options<'_>, clock: &mut Clock) -> Result<(Vec<Outcome>, Vec<String>), Problems> {
    let (mut attacks, mut warnings) = (Vec::new(), Vec::new());
    for folder in options.releases {
        let understood = reader::open_by(folder, options.policy, options.engine, options.watcher)?;
        clock.lap("read");
        options.watcher.phase(ENTRY.name);
        attacks.push(outcome(&understood, options)?);
        warnings.extend(understood.warnings);
        clock.lap(ENTRY.name);
    }
    Ok((attacks, warnings))
}

/// What the attack comes to on one release.
fn outcome(of: &Understood, options: &Options<'_>) -> Result<Outcome, Problems> {
    let promised = of.requirements.iter().find(|r| r.model.freeform().is_some());
    let parameters = parameters(promised, options)?;
    let attack = (ENTRY.build)(&parameters)?;
    let release = &of.release;
    let on = promised.and_then(|r| r.on.as_deref());
    let found: Found = attack.run(release, on)?;
    let figures = found.figures();
    let names = release.quasi.iter().map(|a| a.name.clone()).collect::<Vec<_>>();
    let knows = names.into_iter().enumerate().filter(|(i, _)| on.is_none_or(|on| on.contains(i)));
    let values = |p: usize| if p == 1 { "one value".into() } else { format!("{p} values") };
    let notes =
        attack.thresholds.known.map(|p| format!("only knowledge of at most {} of a person was tried", values(p)));
    Ok(Outcome {
        attack: ENTRY.name.into(),
        adversary: Adversary {
            knows: knows.map(|(_, name)| name).collect(),
            register_is: None,
            releases: 1,
            facts: 0,
            parameters: parameters.texts(),
        },
        people: None,
        figures: figures.iter().map(|f| (f.name.clone(), f.value)).collect(),
        told: figures,
        top: Vec::new(),
        findings: found.listed(attack.list).map(|b| words(release, b)).collect(),
        breaches: found.listed(attack.list).map(|b| BreachNote::of(release, b)).collect(),
        notes: notes.into_iter().collect(),
    })
}

/// What was given, and for the rest what is promised.
fn parameters(promised: Option<&Requirement>, options: &Options<'_>) -> Result<Parameters, Problems> {
    let mut problems = Problems::default();
    let mut all = given(options.with, || ENTRY.parameters.iter().map(|p| p.name), &mut problems);
    for (name, value) in promised.map_or_else(BTreeMap::new, |r| r.parameters.texts()) {
        all.entry(name).or_insert(value);
    }
    if promised.is_none() {
        for name in ["observability", "threat"].into_iter().filter(|name| !all.contains_key(*name)) {
            let problem =
                Problem::new(format!("`freeform` needs `{name}`, and the release promises no `ff-anonymity`"));
            problems.push(problem.hint(format!("give `--with {name}=…`, from 0 to 1, or a policy with the model")));
        }
    }
    problems.or(())?;
    Parameters::read(ENTRY.name, ENTRY.parameters, &all).map_err(Problems)
}
