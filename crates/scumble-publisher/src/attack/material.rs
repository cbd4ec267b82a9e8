//! What an attack is given, read from disk: releases, people, statements, the truth.

use super::{AttackRequest, counted};
use crate::observer::Phase;
use crate::publish::engine::{Asked, What};
use crate::publisher::Task;
use crate::release::manifest;
use crate::release::reader;
use crate::table::columns::{self, Column, Columns, ReadOptions};
use hashbrown::{HashMap, HashSet};
use scumble::attack::facts::{self, Statement};
use scumble::attack::{In, Knowledge, Scene};
use scumble::catalogue::did_you_mean_column;
use scumble::failure::{Argument, Failure, Failures, Remedy};
use scumble::register::Register;
use scumble::taxonomy::Rule;
use std::path::Path;
use std::sync::Arc;

/// Everything that was read.
pub(crate) struct Material {
    pub scene: Scene,
    pub names: Option<Arc<Column>>,
    pub truth: Option<Vec<Option<u32>>>,
    pub warnings: Vec<String>,
}

pub(crate) fn read(options: Task<'_, AttackRequest>) -> Result<Material, Failures> {
    if options.releases.is_empty() {
        return Err(Failure::usage("no-release", "there is no release to attack")
            .remedy(Remedy::words("name one with ").and_give(Argument::Release))
            .into());
    }
    let statements = match &options.facts {
        Some(path) => read_facts(path)?,
        None => Vec::new(),
    };
    let mut quasi: Vec<String> = Vec::new();
    for folder in &options.releases {
        reader::must_be_release(folder)?;
        let columns = manifest::read(folder)?.columns.into_iter().filter(|c| c.is_generalized());
        for column in columns {
            if !quasi.contains(&column.name) {
                quasi.push(column.name);
            }
        }
    }
    let people = options.register.as_ref().or(options.truth.as_ref());
    if people.is_none() && !statements.is_empty() {
        return Err(Failure::usage("needs-register", "facts are about people")
            .argument(Argument::Facts)
            .remedy(Remedy::give(Argument::Register))
            .into());
    }
    let wanted =
        people.map(|path| people_columns(path, &quasi, &statements, options)).transpose()?;
    let reference = options
        .reference
        .as_ref()
        .map(|path| reference_columns(path, &quasi, options))
        .transpose()?;
    if let Some(engine) = options.publisher.engine {
        let tables =
            [people.zip(wanted.as_ref()), options.reference.as_ref().zip(reference.as_ref())];
        let asked =
            tables.into_iter().flatten().map(|(path, names)| counted::asked(path, names.clone()));
        counted::estimate(engine, asked.collect(), options)?;
    }
    let table =
        people.zip(wanted).map(|(path, names)| table(path, names, Phase::ReadRegister, options));
    let table = table.transpose()?;
    let register = table.as_ref().map(counted::register).transpose()?;
    let mut warnings = Vec::new();
    let mut releases = Vec::new();
    for folder in &options.releases {
        let named = |name: &str, _: Option<&Rule>, _: &[&str]| texts(register.as_ref(), name);
        let (release, more) = reader::open(folder, &named, options.publisher)?;
        warnings.extend(more);
        releases.push((folder.display().to_string(), release));
    }
    let rows =
        register.as_ref().map(|r| facts::rows(&statements, r)).transpose()?.unwrap_or_default();
    options.publisher.observer.phase(Phase::Locate);
    let knowledge = match (&register, &table) {
        (Some(register), Some(table)) => {
            check_people(register, &releases, options)?;
            Some(Knowledge {
                register,
                membership: options.membership,
                told: told_membership(table, register, options)?,
                apart: facts::apart(&rows),
            })
        }
        _ => None,
    };
    let mut scene = Scene::watched(
        releases,
        options.attribute.as_deref(),
        knowledge.as_ref(),
        seed(options),
        &|done, total| options.publisher.observer.at(done, total),
    )?;
    if let Some((path, names)) = options.reference.as_ref().zip(reference) {
        scene.reference =
            Some(counted::register(&self::table(path, names, Phase::ReadReference, options)?)?);
    }
    if scene.people.is_some() {
        scene.known = facts::known(&statements, &rows, &scene)?;
        scene.statements = statements.iter().map(|s| s.text.clone()).collect();
    }
    let truth = options.truth.as_ref().zip(table.as_ref());
    let truth = truth.map(|(path, table)| read_truth(path, table, &scene, options)).transpose()?;
    let names = options
        .name
        .as_ref()
        .zip(table)
        .and_then(|(name, t)| t.columns.into_iter().find(|c| c.name == *name));
    let names = names.map(Arc::new);
    if let Some(names) = names.clone() {
        scene.name = Box::new(move |row| names.values.get(names.codes[row]).to_owned());
    }
    if options.publisher.engine.is_some() && scene.people.is_some() {
        scene.name = Box::new(|_| "somebody".into());
        warnings.push("people were counted: who is most at risk is not listed".into());
    }
    Ok(Material { scene, names, truth, warnings })
}

fn seed(options: Task<'_, AttackRequest>) -> u64 {
    // What is sampled need not be secret, so the default may be the same every time.
    options.seed.unwrap_or(1)
}

fn texts(register: Option<&Register>, name: &str) -> Vec<String> {
    let column = register.and_then(|r| r.columns.iter().find(|c| c.name == name));
    column.map_or_else(Vec::new, |c| c.texts.clone())
}

fn read_facts(path: &Path) -> Result<Vec<Statement>, Failures> {
    let text = std::fs::read_to_string(path).map_err(|e| {
        Failure::io(
            "cannot-read",
            format!("`{}` cannot be read: {}", path.display(), crate::describe(&e)),
        )
    })?;
    facts::parse(&text).map_err(|problems| {
        let name =
            |p: Failure| Failure { message: format!("`{}`, {}", path.display(), p.message), ..p };
        Failures(problems.0.into_iter().map(name).collect())
    })
}

fn header(path: &Path, options: Task<'_, AttackRequest>) -> Result<Vec<String>, Failures> {
    match options.publisher.engine {
        Some(engine) => engine.header(path, &ReadOptions::default()),
        None => options.publisher.header(&path.into(), &ReadOptions::default()),
    }
}

/// Reads or counts columns of a table of people.
fn table(
    path: &Path,
    names: Vec<String>,
    phase: Phase,
    options: Task<'_, AttackRequest>,
) -> Result<Columns, Failures> {
    options.publisher.observer.phase(phase);
    let read = ReadOptions::default();
    match options.publisher.engine {
        Some(engine) => {
            let asked = Asked { table: path.to_path_buf(), options: read, wanted: names };
            engine.count(&asked, What::Table, options.publisher.observer)
        }
        None => options.publisher.read(&path.into(), &read, Some(&names)),
    }
}

/// The columns of a reference that matter.
fn reference_columns(
    path: &Path,
    quasi: &[String],
    options: Task<'_, AttackRequest>,
) -> Result<Vec<String>, Failures> {
    let mut names = header(path, options)?;
    if options.publisher.engine.is_some() {
        let attribute = counted::attribute(options)?;
        names.retain(|n| quasi.contains(n) || *n == attribute || n == scumble::register::PEOPLE);
    }
    Ok(names)
}

/// The columns of a register that matter.
fn people_columns(
    path: &Path,
    quasi: &[String],
    statements: &[Statement],
    options: Task<'_, AttackRequest>,
) -> Result<Vec<String>, Failures> {
    let header = header(path, options)?;
    let mut problems = Failures::default();
    let asked =
        options.name.iter().chain(&options.members).cloned().chain(facts::columns(statements));
    let asked: Vec<String> = asked.collect();
    let familiar = asked.iter().chain(quasi).any(|name| header.contains(name));
    for name in asked.iter().filter(|n| !header.contains(n)) {
        let problem = Failure::usage(
            "no-such-column",
            format!("`{}` has no column `{name}`", path.display()),
        );
        problems.push(problem.hint(did_you_mean_column(name, &header, familiar)));
    }
    problems.or(())?;
    let mut names: Vec<String> = quasi.iter().filter(|n| header.contains(n)).cloned().collect();
    if names.is_empty() {
        let quasi: Vec<String> = quasi.iter().map(|n| format!("`{n}`")).collect();
        let message =
            format!("the register `{}` has no quasi-identifier as a column", path.display());
        return Err(Failure::data("register-lacks-columns", message)
            .hint(format!("it should have some of {}", quasi.join(", ")))
            .into());
    }
    for name in asked {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if header.iter().any(|n| n == scumble::register::PEOPLE) {
        names.push(scumble::register::PEOPLE.into());
    }
    // What was counted has no rows that could be found again in the truth: it is counted with the
    // people.
    if options.publisher.engine.is_some() && options.truth.is_some() {
        let attribute = counted::attribute(options)?;
        if !header.contains(&attribute) {
            return Err(no_truth(path, &attribute, &header));
        }
        if !names.contains(&attribute) {
            names.push(attribute);
        }
    }
    Ok(names)
}

/// People must be named once, and have values that the releases' taxonomies know.
fn check_people(
    register: &Register,
    releases: &[(String, scumble::release::Release)],
    options: Task<'_, AttackRequest>,
) -> Result<(), Failures> {
    let mut problems = Failures::default();
    let column = |name: &str| register.columns.iter().find(|c| c.name == name);
    if let Some(c) = options.name.as_deref().and_then(column) {
        let mut seen = HashSet::new();
        let again = c.codes.iter().filter(|code| !seen.insert(**code)).count();
        if again > 0 {
            let message =
                format!("column `{}` of the register names {again} people more than once", c.name);
            problems.push(
                Failure::data("repeated-name", message)
                    .hint("every person must be one row; leave the others out"),
            );
        }
    }
    for (name, release) in releases.iter().filter(|_| !options.allow_unknown) {
        for attribute in &release.quasi {
            let Some(c) = column(&attribute.name) else { continue };
            let known = |t: &String| {
                attribute.taxonomy.find(t).is_some() || attribute.taxonomy.leaf_below(t).is_some()
            };
            let outside: Vec<bool> = c.texts.iter().map(|t| !known(t)).collect();
            let people: u64 = c
                .codes
                .iter()
                .enumerate()
                .filter(|(_, code)| outside[**code as usize])
                .map(|(row, _)| register.people_of(row))
                .sum();
            let is_given = release.shape != scumble::release::Shape::Representatives;
            if people > 0 && is_given {
                let values = outside.iter().filter(|o| **o).count();
                let message = format!(
                    "{people} people of the register have one of {values} values of `{}` that its taxonomy in `{name}` does not know",
                    attribute.name
                );
                problems.push(
                    Failure::data("unknown-in-register", message).remedy(
                        Remedy::words("correct the register, or say ")
                            .and_give(Argument::AllowUnknown)
                            .then(": then these people fit only what is suppressed"),
                    ),
                );
            }
        }
    }
    problems.or(())
}

/// What the register says about everybody's membership, by release.
fn told_membership(
    table: &Columns,
    register: &Register,
    options: Task<'_, AttackRequest>,
) -> Result<Vec<Option<Vec<In>>>, Failures> {
    if options.members.is_empty() {
        return Ok(Vec::new());
    }
    if options.members.len() != options.releases.len() {
        let (columns, releases) = (options.members.len(), options.releases.len());
        return Err(Failure::usage(
            "wrong-number-of-columns",
            format!("{columns} columns say who is in {releases} releases"),
        )
        .remedy(Remedy::give(Argument::In).then(" once for each release, in the same order"))
        .into());
    }
    let mut problems = Failures::default();
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
        let strange =
            column.codes.iter().enumerate().filter(|(_, c)| words[**c as usize].is_none());
        let strange: u64 = strange.map(|(row, _)| register.people_of(row)).sum();
        if strange > 0 {
            let message = format!(
                "column `{name}` of the register says something else than yes or no for {strange} people"
            );
            problems.push(
                Failure::data("wrong-membership", message)
                    .hint("write `yes`, `no`, or nothing where it is not known"),
            );
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
    options: Task<'_, AttackRequest>,
) -> Result<Vec<Option<u32>>, Failures> {
    let attribute = &scene.attribute;
    let code: HashMap<&str, u32> = scene.values.iter().map(String::as_str).zip(0..).collect();
    if options.publisher.engine.is_some() {
        let values = people.columns.iter().find(|c| c.name == *attribute);
        let values = values
            .ok_or_else(|| Failure::bug("internal", format!("`{attribute}` was not counted")))?;
        let codes: Vec<Option<u32>> = values.values.iter().map(|v| code.get(v).copied()).collect();
        return Ok(values.codes.iter().map(|&c| codes[c as usize]).collect());
    }
    let header = columns::header(path, &ReadOptions::default())?;
    if !header.contains(attribute) {
        return Err(no_truth(path, attribute, &header));
    }
    let mut wanted = vec![attribute.clone()];
    wanted.extend(options.name.clone().filter(|n| header.contains(n)));
    options.publisher.observer.phase(Phase::ReadTruth);
    let read = columns::read(path, &ReadOptions::default(), Some(&wanted), &|done, total| {
        options.publisher.observer.at(done, total)
    })?;
    let column = |name: &str| read.columns.iter().find(|c| c.name == name);
    let Some(values) = column(attribute) else { return Ok(Vec::new()) };
    let codes: Vec<Option<u32>> = values.values.iter().map(|v| code.get(v).copied()).collect();
    let of_row = |row: usize| codes[values.codes[row] as usize];
    let same = options.register.as_ref().is_none_or(|register| register == path);
    if same {
        return Ok((0..read.rows).map(of_row).collect());
    }
    let names = options
        .name
        .as_deref()
        .and_then(|n| Some((column(n)?, people.columns.iter().find(|c| c.name == n)?)));
    let Some((there, here)) = names else {
        return Err(Failure::usage(
            "needs-names",
            "who of the truth is who of the register is not known",
        )
        .remedy(Remedy::words("name a column that both have with ").and_give(Argument::Name))
        .into());
    };
    let mut row_of: HashMap<&str, usize> = HashMap::new();
    for (row, &code) in there.codes.iter().enumerate() {
        row_of.insert(there.values.get(code), row);
    }
    let of_person = |code: &u32| row_of.get(here.values.get(*code)).and_then(|&row| of_row(row));
    Ok(here.codes.iter().map(of_person).collect())
}

fn no_truth(path: &Path, attribute: &str, header: &[String]) -> Failures {
    let problem = Failure::data(
        "no-such-column",
        format!("the truth `{}` has no column `{attribute}`", path.display()),
    );
    problem.hint(did_you_mean_column(attribute, header, false)).into()
}
