//! Freeform attacks on releases on disk, and what `check` says of them.

use crate::answer::{
    Adversary, AttackOutcome, AttackTarget, Attacked, BreachNote, FreeformAttacks, Tested, VERSION,
};
use crate::attack::{AttackRequest, conditions, given, test};
use crate::observer::Phase;
use crate::publish::Clock;
use crate::publisher::Task;
use crate::release::reader::{self, Understood};
use scumble::algorithm::Requirement;
use scumble::attack::freeform::{ENTRY, Found, Freeform, words};
use scumble::catalogue::Parameters;
use scumble::class::Run;
use scumble::failure::{Argument, Failure, Failures, Remedy};
use scumble::freeform::Breach;
use scumble::release::Release;
use scumble::table::Role;
use std::collections::BTreeMap;
use std::path::PathBuf;

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
pub(crate) fn broken(
    release: &Release,
    r: &Requirement,
    show_values: bool,
) -> Option<FreeformAttacks> {
    let attack = Freeform { thresholds: r.model.freeform()?, list: LISTED };
    let found = attack.run(release, r.on.as_deref()).ok()?;
    let listed = || found.listed(if show_values { LISTED } else { 0 });
    Some(FreeformAttacks {
        parameters: r.parameters.texts(),
        figures: found.figures().into_iter().map(Into::into).collect(),
        breaches: listed().map(|b| BreachNote::of(release, b)).collect(),
        words: listed().map(|b| words(release, b)).collect(),
    })
}

/// Whether every release says which of its values are sensitive and promises FF-anonymity, so that
/// the attack needs nothing else; and whether some has a sensitive attribute for the others.
pub(crate) fn is_said(folders: &[PathBuf]) -> (bool, bool) {
    let manifests: Vec<_> =
        folders.iter().filter_map(|folder| crate::release::manifest::read(folder).ok()).collect();
    let promised = |m: &crate::release::manifest::Manifest| {
        m.models.iter().any(|model| model.name == "ff-anonymity")
    };
    let said =
        manifests.len() == folders.len() && !folders.is_empty() && manifests.iter().all(promised);
    (said, manifests.iter().any(|m| m.columns.iter().any(|c| c.role == Role::Sensitive)))
}

/// Attacks releases, each by itself.
pub(crate) fn attack(options: Task<'_, AttackRequest>) -> Result<Attacked, Failures> {
    let mut clock = Clock::new();
    let conditions = conditions(&options.fail_on)?;
    if options.releases.is_empty() {
        return Err(Failure::usage("no-release", "there is no release to attack")
            .remedy(Remedy::words("name one with ").and_give(Argument::Release))
            .into());
    }
    if let Some(engine) = options.publisher.engine {
        let asked = options
            .releases
            .iter()
            .map(|folder| reader::asked(folder))
            .collect::<Result<Vec<_>, _>>()?;
        engine.estimate_all(&asked, options.publisher.observer)?;
    }
    let (attacks, warnings) = outcomes(options, &options.with, &mut clock)?;
    let figures: Vec<_> =
        attacks.iter().map(|r: &AttackOutcome| (r.attack.as_str(), r.figures.as_slice())).collect();
    let tested = test(&conditions, &figures)?;
    Ok(Attacked {
        version: VERSION,
        target: AttackTarget::Releases,
        releases: options.releases.iter().map(|r| r.display().to_string()).collect(),
        attribute: String::new(),
        failed: tested.iter().filter(|t| t.met).map(Tested::words).collect(),
        conditions: tested,
        attacks,
        warnings,
        engine: options.publisher.engine.map(|e| e.report()),
        seconds: clock.seconds,
    })
}

/// What the attack comes to on each release, and what the reader should know.
pub(crate) fn outcomes(
    options: Task<'_, AttackRequest>,
    with: &[String],
    clock: &mut Clock,
) -> Result<(Vec<AttackOutcome>, Vec<String>), Failures> {
    let (mut attacks, mut warnings) = (Vec::new(), Vec::new());
    for folder in &options.releases {
        let understood = reader::open_by(folder, options.policy.as_ref(), options.publisher)?;
        clock.lap("read");
        options.publisher.observer.phase(Phase::Run(ENTRY.name));
        attacks.push(outcome(&understood, with)?);
        warnings.extend(understood.warnings);
        clock.lap(ENTRY.name);
    }
    Ok((attacks, warnings))
}

/// What the attack comes to on one release.
fn outcome(of: &Understood, with: &[String]) -> Result<AttackOutcome, Failures> {
    let promised = of.requirements.iter().find(|r| r.model.freeform().is_some());
    let parameters = parameters(promised, with)?;
    let attack = (ENTRY.build)(&parameters)?;
    let release = &of.release;
    let on = promised.and_then(|r| r.on.as_deref());
    let found: Found = attack.run(release, on)?;
    let figures = found.figures();
    let names = release.quasi.iter().map(|a| a.name.clone()).collect::<Vec<_>>();
    let knows = names.into_iter().enumerate().filter(|(i, _)| on.is_none_or(|on| on.contains(i)));
    let values = |p: usize| if p == 1 { "one value".into() } else { format!("{p} values") };
    let notes = attack
        .thresholds
        .known
        .map(|p| format!("only knowledge of at most {} of a person was tried", values(p)));
    Ok(AttackOutcome {
        attack: ENTRY.name.into(),
        adversary: Adversary {
            knows: knows.map(|(_, name)| name).collect(),
            register_is: None,
            releases: 1,
            facts: 0,
            parameters: parameters.texts(),
        },
        people: None,
        figures: figures.into_iter().map(Into::into).collect(),
        top: Vec::new(),
        findings: found.listed(attack.list).map(|b| words(release, b)).collect(),
        breaches: found.listed(attack.list).map(|b| BreachNote::of(release, b)).collect(),
        notes: notes.into_iter().collect(),
    })
}

/// What was given, and for the rest what is promised.
fn parameters(promised: Option<&Requirement>, with: &[String]) -> Result<Parameters, Failures> {
    let mut problems = Failures::default();
    let mut all = given(with, || ENTRY.parameters.iter().map(|p| p.name), &mut problems);
    for (name, value) in promised.map_or_else(BTreeMap::new, |r| r.parameters.texts()) {
        all.entry(name).or_insert(value);
    }
    if promised.is_none() {
        for name in ["observability", "threat"].into_iter().filter(|name| !all.contains_key(*name))
        {
            let problem = Failure::usage(
                "missing-parameter",
                format!("`freeform` needs `{name}`, and the release promises no `ff-anonymity`"),
            );
            problems.push(
                problem.remedy(
                    Remedy::give_value(Argument::With, format!("{name}=…"))
                        .then(", from 0 to 1, or a policy with the model"),
                ),
            );
        }
    }
    problems.or(())?;
    Parameters::read(ENTRY.name, ENTRY.parameters, &all).map_err(Failures)
}
