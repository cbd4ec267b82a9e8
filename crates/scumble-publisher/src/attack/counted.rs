//! An attack on people and releases that an engine counts: distinct rows, and how many people each
//! stands for.

use super::AttackRequest;
use crate::publish::engine::without_engine;
use crate::publish::engine::{Asked, Engine};
use crate::publish::source::to_register;
use crate::publisher::Task;
use crate::release::manifest;
use crate::release::reader;
use crate::table::columns::ReadOptions;
use scumble::attack::attribute_of_all;
use scumble::failure::{Argument, Failure, Failures, Remedy};
use scumble::register::Register;
use scumble::table::Role;
use std::path::{Path, PathBuf};

/// What only the default engine can do; said before anything is read.
pub(super) fn must_be_counts(options: Task<'_, AttackRequest>) -> Result<(), Failures> {
    let mut problems = Failures::default();
    let single = [
        (Argument::Name, options.name.is_some()),
        (Argument::People, options.people.is_some()),
        (Argument::Top, options.top.is_some_and(|top| top > 0)),
        (Argument::ShowValues, options.show_values),
    ];
    for &(argument, _) in single.iter().filter(|(_, given)| *given) {
        let problem = Failure::usage(
            "not-with-engine",
            format!(
                "`{argument}` is about single persons, and the engine brings only distinct rows"
            ),
        );
        problems.push(
            problem
                .argument(argument)
                .remedy(without_engine().then(", or leave out ").and_leave_out(argument)),
        );
    }
    let apart = options
        .register
        .as_ref()
        .zip(options.truth.as_ref())
        .is_some_and(|(register, truth)| register != truth);
    if apart {
        let message =
            "the truth is another table than the register, and the engine does not know who is who";
        let remedy = Remedy::give(Argument::Truth)
            .then(" alone, a table with the quasi-identifiers too, or leave out ")
            .and_leave_out(Argument::Engine)
            .then(" and ")
            .and_leave_out(Argument::Cluster);
        problems.push(Failure::usage("not-with-engine", message).remedy(remedy));
    }
    problems.or(())
}

/// The sensitive attribute, from the manifests: it is counted with the people, so it must be known
/// before.
pub(super) fn attribute(options: Task<'_, AttackRequest>) -> Result<String, Failures> {
    let sensitive = |folder: &PathBuf| -> Result<Vec<String>, Failures> {
        let columns = manifest::read(folder)?.columns.into_iter();
        Ok(columns.filter(|c| c.role == Role::Sensitive).map(|c| c.name).collect())
    };
    let releases = options.releases.iter().map(sensitive).collect::<Result<Vec<_>, _>>()?;
    Ok(attribute_of_all(&releases, options.attribute.as_deref())?)
}

/// Asks the engine how much all tables are, before one of them is counted.
pub(super) fn estimate(
    engine: &dyn Engine,
    tables: Vec<Asked>,
    options: Task<'_, AttackRequest>,
) -> Result<(), Failures> {
    let releases = options
        .releases
        .iter()
        .map(|folder| reader::asked(folder))
        .collect::<Result<Vec<_>, _>>()?;
    engine.estimate_all(
        &tables.into_iter().chain(releases).collect::<Vec<_>>(),
        options.publisher.observer,
    )
}

/// A table of people.
pub(super) fn asked(table: &Path, wanted: Vec<String>) -> Asked {
    Asked { table: table.to_path_buf(), options: ReadOptions::default(), wanted }
}

/// A table that was read or counted, as a register. What was counted stands for so many people,
/// each of which may stand for several.
pub(super) fn register(table: &crate::table::columns::Columns) -> Result<Register, Failures> {
    let mut register = to_register(table, &[])?;
    let Some(rows) = &table.weights else { return Ok(register) };
    if register.weights.is_empty() {
        register.weights = rows.clone();
        return Ok(register);
    }
    for (people, rows) in register.weights.iter_mut().zip(rows) {
        *people = people.checked_mul(*rows).ok_or_else(|| {
            Failure::data("register-too-large", "the register stands for too many people")
        })?;
    }
    Ok(register)
}
