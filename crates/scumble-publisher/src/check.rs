//! What a table or a release satisfies, whoever made it.
//!
//! A release is recognised by its manifest, which tells the roles and how values were recoded. A
//! raw table needs a policy, or the names of its columns. Classes are formed by equal published
//! values, exactly as a recipient would.

use crate::answer::{
    Checked, Checking, Groups, Model, Number, Persons, PopulationUniques, Reason, Risks, VERSION,
    Worse,
};
use crate::attack::freeform;
use crate::failure::broken_promise;
use crate::observer::{Observer, Phase};
use crate::policy_file::PolicyFile;
use crate::publish::source::{read_options, to_register};
use crate::publish::{picture_axes, write_picture};
use crate::publisher::Task;
use crate::release::certificate;
use crate::release::folder::{self, Item};
use crate::release::manifest::{self, Manifest};
use crate::release::reader::{
    Meaning, Plan, changed, column, from_manifest, from_policy, is_altered, read_tables, understand,
};
use crate::release::recipient::Wanted;
use crate::table::columns::{self, ReadOptions};
use crate::table::origin;
use rayon::prelude::*;
use scumble::algorithm::Requirement;
use scumble::catalogue::{MODELS, Parameters, did_you_mean_column};
use scumble::failure::{Action, Argument, Failure, Failures, Remedy};
use scumble::model::Concern;
use scumble::policy::{AttributePolicy, Policy, Source};
use scumble::progress::Watch;
use scumble::publish::judge;
use scumble::register::PEOPLE;
use scumble::release::{Release, Shape};
use scumble::risk::assess;
use scumble::table::{Role, number_tuples, published};
use scumble::taxonomy::{Decimal, Rule, Scale};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// What to check, and against what.
#[derive(Clone, Debug, Default)]
pub struct CheckRequest {
    /// Columns an adversary knows; needed if neither policy nor manifest tells.
    pub quasi: Vec<String>,
    /// Columns an adversary wants to know.
    pub sensitive: Vec<String>,
    /// A policy that tells roles, taxonomies and what must hold.
    pub policy: Option<PolicyFile>,
    /// A register of the population with the quasi-identifiers as columns.
    pub register: Option<PathBuf>,
    /// How many people the table is a sample of; then uniques among them are estimated.
    pub population: Option<u64>,
    /// Draw the classes into this file, in these two quasi-identifiers (or the first two).
    pub picture: Option<(PathBuf, Option<(String, String)>)>,
    /// How the table is written, where neither policy nor manifest tells.
    pub read: ReadOptions,
    /// Tell the publisher whom a witness is about.
    pub show_values: bool,
}

/// Checks a table or a release.
pub(crate) fn check(data: &Source, options: Task<'_, CheckRequest>) -> Result<Checked, Failures> {
    let start = Instant::now();
    let (mut plan, mut extra) = plan(data, options)?;
    options.publisher.observer.phase(if options.publisher.engine.is_some() {
        Phase::Count
    } else {
        Phase::Read
    });
    let files = read_tables(&plan, options.publisher)?;
    if files.records.rows == 0 {
        return Err(Failure::data("no-records", format!("`{data}` has no records")).into());
    }
    let register = match &options.register {
        Some(path) => Some(read_register(path, &mut plan, options)?),
        None => None,
    };
    options.publisher.observer.go_on()?;
    options.publisher.observer.phase(Phase::Judge);
    let altered = is_altered(&plan, &files);
    let people = |name: &str, _: Option<&Rule>, _: &[&str]| {
        let known = register.as_ref().and_then(|r| column(r, name).ok());
        known.map_or_else(Vec::new, |c| c.values.iter().map(str::to_owned).collect())
    };
    let matters = register.is_some() || options.picture.is_some();
    let meaning = Meaning { matters, together: false, named: &people };
    let release =
        understand(&plan, &plan.requirements, &files, &meaning).map_err(|mut problems| {
            if altered {
                let reason = changed();
                problems.push(Failure::from(&reason));
            }
            problems
        })?;
    let population = register
        .as_ref()
        .map(|r| locate(&release, r, &mut plan.warnings, options.publisher.observer))
        .transpose()?;
    options.publisher.observer.go_on()?;
    let mut answer = answer(&plan, &release, population.as_deref(), options.show_values, start)?;
    answer.risk.population_uniques =
        options.population.map(|people| PopulationUniques::of(&answer.sizes, people));
    if altered {
        extra.reasons.insert(0, changed());
    }
    answer.persons = extra.persons(&plan, &files.records)?;
    if let Some(name) = extra.person.as_ref().filter(|_| files.records.weights.is_some()) {
        answer.warnings.push(format!(
            "`{name}` names the persons, and an engine does not count them: several rows of one person are not noticed"
        ));
    }
    if let Some(reason) = answer.persons.as_ref().and_then(Persons::broken) {
        extra.reasons.push(reason);
    }
    if !extra.reasons.is_empty() {
        answer.keeps = Some(false);
        answer.reasons.splice(0..0, extra.reasons);
    }
    if plan.what == Checking::Table {
        // Nobody said that it may be shown: the smallest class of an extract is mostly one person.
        answer
            .models
            .iter_mut()
            .chain(&mut answer.promises)
            .flat_map(|m| &mut m.worst)
            .for_each(|w| w.region.clear());
        if !options.show_values {
            answer.promises.iter_mut().for_each(|m| m.witness = None);
        }
    }
    options.publisher.observer.go_on()?;
    if let Some((file, axes)) = &options.picture {
        let quasi: Vec<&str> = plan.quasi.iter().map(|w| w.name.as_str()).collect();
        let (x, y) = picture_axes(&quasi, axes.as_ref())?;
        write_picture(&release, x, y, &data.to_string(), file)?;
    }
    Ok(answer)
}

impl Persons {
    /// Counts the persons of each class.
    fn of(plan: &Plan, read: &columns::Columns, name: &str) -> Result<Persons, Failures> {
        let person = column(read, name)?;
        let mut codes: Vec<&[u32]> = Vec::new();
        for w in &plan.quasi {
            codes.push(&column(read, &w.name)?.codes);
        }
        let size = |codes: &&[u32]| codes.iter().max().map_or(1, |&most| u64::from(most) + 1);
        let number = |codes: &[&[u32]]| match codes.is_empty() {
            true => (vec![0; read.rows], vec![0]),
            false => number_tuples(codes, &codes.iter().map(size).collect::<Vec<_>>()),
        };
        let (class_of, classes) = number(&codes);
        let (_, pairs) = number(&[&class_of, &person.codes]);
        let mut persons_in = vec![0u64; classes.len()];
        pairs.iter().for_each(|&first| persons_in[class_of[first as usize] as usize] += 1);
        let mut records = vec![0u64; person.values.len()];
        person.codes.iter().for_each(|&code| records[code as usize] += 1);
        Ok(Persons {
            column: name.to_owned(),
            number: records.iter().filter(|&&n| n > 0).count() as u64,
            repeated: records.iter().filter(|&&n| n > 1).count() as u64,
            smallest: persons_in.into_iter().min().unwrap_or(0),
        })
    }

    /// Why no model that counts records can be relied on, if persons have several.
    fn broken(&self) -> Option<Reason> {
        let people = if self.repeated == 1 {
            "one person has".into()
        } else {
            format!("{} persons have", self.repeated)
        };
        (self.repeated > 0).then(|| {
            let message = format!(
                "column `{}` names the persons, and {people} more than one row: the models count rows, and the smallest \
                 class holds {} persons",
                self.column, self.smallest
            );
            let failure = Failure::data("repeated-person", message).column(&self.column);
            Reason::from(&failure.hint("give one row per person"))
        })
    }
}

/// What speaks against a table or release whatever its classes are.
#[derive(Default)]
struct Beside {
    /// The column that names the persons, if the table has it.
    person: Option<String>,
    reasons: Vec<Reason>,
}

impl Beside {
    fn persons(&self, plan: &Plan, read: &columns::Columns) -> Result<Option<Persons>, Failures> {
        // What an engine counted has no persons.
        let here = self
            .person
            .as_ref()
            .filter(|name| read.weights.is_none() && column(read, name).is_ok());
        here.map(|name| Persons::of(plan, read, name)).transpose()
    }

    /// Identifiers that a table has are published with it.
    fn identifiers(policy: &Policy, names: &[String]) -> Beside {
        let here = |a: &&AttributePolicy| a.role == Role::Identifier && names.contains(&a.name);
        let identifiers: Vec<&str> =
            policy.attributes.iter().filter(here).map(|a| a.name.as_str()).collect();
        let person = policy
            .attributes
            .iter()
            .find(|a| a.person && names.contains(&a.name))
            .map(|a| a.name.clone());
        let mut reasons = Vec::new();
        if !identifiers.is_empty() {
            let names = identifiers.join("`, `");
            let message = format!("the table has identifiers, which name people: `{names}`");
            let failure = Failure::data("has-identifiers", message).column(identifiers[0]);
            reasons.push(Reason::from(&failure.hint(
                "a release has none; to see what a table without them would keep, leave the columns out",
            )));
        }
        Beside { person, reasons }
    }

    /// Files in the folder of a release that nobody speaks of.
    fn strangers(folder: &Path, m: &Manifest) -> Result<Beside, Failures> {
        let mut known: Vec<&str> = vec![manifest::FILE, certificate::FILE];
        known.extend(m.files().into_iter().map(|(name, _)| name).chain(m.taxonomies()));
        let strange = |item: &Item| !item.is_file || !known.contains(&item.name.as_str());
        let strangers: Vec<String> =
            folder::items(folder)?.into_iter().filter(strange).map(|i| i.name).collect();
        let mut reasons = Vec::new();
        if !strangers.is_empty() {
            let names = strangers.join("`, `");
            let message =
                format!("the folder has files that are no part of the release: `{names}`");
            let failure = Failure::data("strange-files", message).file(folder);
            reasons.push(Reason::from(&failure.hint("nobody looked at them; take them away")));
        }
        Ok(Beside { person: None, reasons })
    }
}

/// Finds out roles and rules: from the manifest, the policy, or the command line.
fn plan(data: &Source, options: Task<'_, CheckRequest>) -> Result<(Plan, Beside), Failures> {
    let folder = match data {
        Source::File(path) if path.is_dir() && path.join(manifest::FILE).exists() => Some(path),
        _ => None,
    };
    if let Some(folder) = folder {
        let manifest = manifest::read(folder)?;
        let beside = Beside::strangers(folder, &manifest)?;
        let plan = from_manifest(&manifest, folder)?;
        return match &options.policy {
            Some(file) => {
                let (policy, publisher) = (file.policy()?, options.publisher);
                Ok((plan.promised_by(policy, &file.base, publisher)?, beside))
            }
            None => Ok((plan, beside)),
        };
    }
    let read = |policy: Option<&Policy>| policy.map_or_else(|| options.read.clone(), read_options);
    let names = |policy: Option<&Policy>| match options.publisher.engine {
        Some(engine) => engine.header(origin::file(data)?, &read(policy)),
        None => options.publisher.header(data, &read(policy)),
    };
    if let Some(file) = &options.policy {
        let policy = file.policy()?;
        let beside = Beside::identifiers(&policy, &names(Some(&policy))?);
        let mut plan = from_policy(policy, &file.base, data.clone(), options.publisher)?;
        if options.publisher.engine.is_none() {
            plan.beside.extend(beside.person.clone());
        }
        return Ok((plan, beside));
    }
    let names = names(None)?;
    let mut problems = Failures::default();
    if options.quasi.is_empty() {
        problems.push(
            Failure::usage("no-quasi-identifiers", "which columns are quasi-identifiers?").remedy(
                Remedy::words("name them with ")
                    .and_give(Argument::QuasiIdentifiers)
                    .then(", or give ")
                    .and_give(Argument::Policy)
                    .then("; ")
                    .and_run(Action::Inspect)
                    .then(" suggests some"),
            ),
        );
    }
    let familiar = options.quasi.iter().chain(&options.sensitive).any(|name| names.contains(name));
    for name in options.quasi.iter().chain(&options.sensitive).filter(|n| !names.contains(n)) {
        let hint = did_you_mean_column(name, &names, familiar);
        problems.push(
            Failure::usage("no-such-column", format!("`{name}` is not a column of `{data}`"))
                .hint(hint),
        );
    }
    problems.or(())?;
    let wanted = |names: &[String]| names.iter().map(|name| Wanted::named(name)).collect();
    let plan = Plan {
        what: Checking::Table,
        source: data.clone(),
        read: options.read.clone(),
        quasi: wanted(&options.quasi),
        sensitive: wanted(&options.sensitive),
        guards: Vec::new(),
        beside: Vec::new(),
        missing: vec![String::new()],
        requirements: Vec::new(),
        sha256: None,
        columns: None,
        told: Vec::new(),
        anatomized: None,
        shape: Shape::Regions,
        warnings: Vec::new(),
    };
    Ok((plan, Beside::default()))
}

/// Reads the quasi-identifiers that the register has. Those it lacks are unknown to its owner.
fn read_register(
    path: &Path,
    plan: &mut Plan,
    options: Task<'_, CheckRequest>,
) -> Result<columns::Columns, Failures> {
    let source = Source::from(path);
    let header = options.publisher.header(&source, &ReadOptions::default())?;
    let (shared, lacking): (Vec<String>, Vec<String>) =
        plan.quasi.iter().map(|w| w.name.clone()).partition(|name| header.contains(name));
    if shared.is_empty() {
        let names = lacking.join("`, `");
        return Err(Failure::data(
            "register-lacks-columns",
            format!("the register `{}` has no quasi-identifier as a column", path.display()),
        )
        .hint(format!("it should have some of `{names}`"))
        .into());
    }
    if !lacking.is_empty() {
        let names = lacking.join("`, `");
        plan.warnings.push(format!(
            "the register lacks `{names}`: people are matched by the other quasi-identifiers"
        ));
    }
    options.publisher.observer.phase(Phase::ReadRegister);
    let weights = header.iter().filter(|name| *name == PEOPLE && !shared.contains(name)).cloned();
    let shared: Vec<String> = shared.iter().cloned().chain(weights).collect();
    options.publisher.read(&source, &ReadOptions::default(), Some(&shared))
}

/// How many people of the register fit each class, by the quasi-identifiers that the register has.
fn locate(
    release: &Release,
    register: &columns::Columns,
    warnings: &mut Vec<String>,
    observer: &dyn Observer,
) -> Result<Vec<u64>, Failures> {
    let progress = |done, total| observer.at(done, total);
    let watch = Watch::new(&progress, 0);
    let register = to_register(register, &[])?;
    for attribute in &release.quasi {
        let Some(c) = register.columns.iter().find(|c| c.name == attribute.name) else { continue };
        let known = |v: &str| {
            attribute.taxonomy.find(v).is_some() || attribute.taxonomy.leaf_below(v).is_some()
        };
        let outside: Vec<bool> = c.texts.iter().map(|v| !known(v)).collect();
        let rows = c.codes.iter().enumerate().filter(|(_, code)| outside[**code as usize]);
        let people: u64 = rows.map(|(row, _)| register.people_of(row)).sum();
        if people > 0 {
            let name = &attribute.name;
            warnings.push(format!(
                "{people} people of the register have a `{name}` outside the taxonomy: they fit only `*`"
            ));
        }
    }
    if release.shape == Shape::Representatives {
        // Nobody is a centroid: people belong to the nearest one.
        let found = scumble::attack::locate(release, &register, &watch);
        watch.check()?;
        let mut people = vec![0; release.classes.len()];
        for (row, &set) in found.set_of.iter().enumerate() {
            let weight = register.people_of(row);
            found.sets[set as usize].iter().for_each(|c| people[c.group as usize] += weight);
        }
        return Ok(people);
    }
    let population = register.among(&release.quasi, None);
    let identities = release.identities();
    let fitting = identities.par_iter().map(|class| {
        // Once cancelled, the counts are thrown away.
        if watch.work(1, 1000) { population.fitting(&class.region) } else { 0 }
    });
    let fitting = fitting.collect();
    watch.check()?;
    Ok(fitting)
}

fn answer(
    plan: &Plan,
    release: &Release,
    population: Option<&[u64]>,
    show_values: bool,
    start: Instant,
) -> Result<Checked, Failures> {
    let risk = assess(release, population);
    let judgements = judge(release, &plan.requirements).map_err(Failures)?;
    let mut promises: Vec<Model> =
        plan.requirements.iter().zip(&judgements).map(|(r, j)| Model::of(release, r, j)).collect();
    if show_values {
        promises.iter_mut().zip(&judgements).for_each(|(m, j)| m.show_person(release, j));
    }
    let values = show_values || plan.what == Checking::Release;
    let freeform = (plan.requirements.iter().zip(&judgements))
        .filter(|(_, j)| !j.holds)
        .filter_map(|(r, _)| freeform::broken(release, r, values))
        .collect();
    let reasons = plan
        .requirements
        .iter()
        .zip(&judgements)
        .filter(|(_, j)| !j.holds)
        .map(|(r, j)| broken_promise(&j.words(r.name)))
        .collect();
    let mut warnings = plan.warnings.clone();
    if !risk.register {
        warnings.push(
            "no register: journalist and marketer risk take the table for the whole population"
                .into(),
        );
    }
    Ok(Checked {
        version: VERSION,
        what: plan.what,
        rows: release.records(),
        classes: risk.sizes.values().sum(),
        groups: Groups::of(release),
        k: risk.sizes.keys().next().copied().unwrap_or(0),
        models: measured(release),
        keeps: (!promises.is_empty()).then(|| judgements.iter().all(|j| j.holds)),
        promises,
        persons: None,
        reasons,
        freeform,
        risk: Risks::from(&risk),
        uniques: risk.uniques,
        sizes: risk.sizes,
        warnings,
        seconds: BTreeMap::from([("total".to_owned(), start.elapsed().as_secs_f64())]),
    })
}

/// How far each rank of recursive ℓ-diversity is reported.
const RANKS: u64 = 5;

/// Every model in its most lenient form, for what it measures.
fn measured(release: &Release) -> Vec<Model> {
    let mut asked: Vec<Requirement> = Vec::new();
    let mut ask = |name: &str, attribute: Option<usize>, given: &[(&str, String)]| {
        let given: BTreeMap<String, String> =
            given.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect();
        let Some(entry) = MODELS.iter().find(|e| e.name == name) else { return };
        let Ok(parameters) = Parameters::read(entry.name, entry.parameters, &given) else { return };
        let Ok(model) = (entry.build)(&parameters) else { return };
        debug_assert_eq!(model.promise().concerns == Concern::Sensitive, attribute.is_some());
        asked.push(Requirement {
            name: entry.name,
            parameters,
            model,
            attribute,
            on: None,
            register: None,
        });
    };
    ask("k-anonymity", None, &[("k", "1".into())]);
    for (i, attribute) in published(&release.sensitive).iter().enumerate() {
        ask("distinct-l-diversity", Some(i), &[("l", "1".into())]);
        ask("entropy-l-diversity", Some(i), &[("l", "1".into())]);
        for l in 2..=RANKS {
            ask("recursive-l-diversity", Some(i), &[("c", "1".into()), ("l", l.to_string())]);
        }
        let t = &attribute.taxonomy;
        let t_close = |d: &str| [("t", "1".to_owned()), ("distance", d.to_owned())];
        ask("t-closeness", Some(i), &t_close("equal"));
        let numbers = (0..t.leaves() as u32)
            .all(|c| Some(c) == t.missing() || Decimal::parse(t.leaf(c)).is_some());
        if *t.scale() != Scale::Nominal || numbers {
            ask("t-closeness", Some(i), &t_close("ordered"));
        }
        if t.levels() > 1 && *t.scale() == Scale::Nominal {
            ask("t-closeness", Some(i), &t_close("hierarchical"));
        }
    }
    // These models look at classes alone, so they can be judged on any release.
    let judgements = judge(release, &asked).unwrap_or_default();
    let shown = ["l", "distance"];
    asked
        .iter()
        .zip(&judgements)
        .map(|(r, j)| {
            let keep = |(k, _): &(&&str, _)| {
                shown.contains(*k) && (**k != "l" || r.name == "recursive-l-diversity")
            };
            let parameters =
                r.parameters.0.iter().filter(keep).map(|(k, v)| ((*k).to_owned(), v.to_string()));
            Model {
                name: r.name.into(),
                attribute: r.attribute.map(|i| release.sensitive[i].name.clone()),
                on: None,
                parameters: parameters.collect(),
                holds: None,
                measured: Number::from(j.measured),
                required: None,
                must_be: None,
                worst: j.worst.as_ref().map(|class| Worse::of(release, class, r)),
                witness: None,
            }
        })
        .collect()
}
