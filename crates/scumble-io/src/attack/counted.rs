//! An attack on people and releases that an engine counts: distinct rows, and how many people each stands for.

use super::Options;
use crate::columns::ReadOptions;
use crate::engine::{Asked, Engine};
use crate::release::manifest;
use crate::release::reader;
use crate::source::to_register;
use scumble::attack::attribute_of_all;
use scumble::problem::{Problem, Problems};
use scumble::register::Register;
use std::path::{Path, PathBuf};

/// What only the default engine can do; said before anything is read.
pub(super) fn must_be_counts(options: &Options<'_>) -> Result<(), Problems> {
    let mut problems = Problems::default();
    let single = [
        ("--name", options.name.is_some()),
        ("--people", options.people.is_some()),
        ("--top", options.top > 0),
        ("--show-values", options.show_values),
    ];
    for (option, _) in single.iter().filter(|(_, given)| *given) {
        let problem =
            Problem::new(format!("`{option}` is about single persons, and the engine brings only distinct rows"));
        problems.push(problem.hint(format!("leave out `--engine` and `--cluster`, or leave out `{option}`")));
    }
    let apart =
        options.register.as_ref().zip(options.truth.as_ref()).is_some_and(|(register, truth)| register != truth);
    if apart {
        let message = "the truth is another table than the register, and the engine does not know who is who";
        let hint =
            "give `--truth` alone, a table with the quasi-identifiers too, or leave out `--engine` and `--cluster`";
        problems.push(Problem::new(message).hint(hint));
    }
    problems.or(())
}

/// The sensitive attribute, from the manifests: it is counted with the people, so it must be known before.
pub(super) fn attribute(options: &Options<'_>) -> Result<String, Problems> {
    let sensitive = |folder: &PathBuf| -> Result<Vec<String>, Problems> {
        let columns = manifest::read(folder)?.columns.into_iter();
        Ok(columns.filter(|c| c.role == "sensitive").map(|c| c.name).collect())
    };
    let releases = options.releases.iter().map(sensitive).collect::<Result<Vec<_>, _>>()?;
    Ok(attribute_of_all(&releases, options.attribute.as_deref())?)
}

/// Asks the engine how much all tables are, before one of them is counted.
pub(super) fn estimate(engine: &dyn Engine, tables: Vec<Asked>, options: &Options<'_>) -> Result<(), Problems> {
    let releases = options.releases.iter().map(|folder| reader::asked(folder)).collect::<Result<Vec<_>, _>>()?;
    engine.estimate_all(&tables.into_iter().chain(releases).collect::<Vec<_>>(), options.watcher)
}

/// A table of people.
pub(super) fn asked(table: &Path, wanted: Vec<String>) -> Asked {
    Asked { table: table.to_path_buf(), options: ReadOptions::default(), wanted }
}

/// A table that was read or counted, as a register. What was counted stands for so many people, each of which may stand for
/// several.
pub(super) fn register(table: &crate::columns::Columns) -> Result<Register, Problems> {
    let mut register = to_register(table, &[])?;
    let Some(rows) = &table.weights else { return Ok(register) };
    if register.weights.is_empty() {
        register.weights = rows.clone();
        return Ok(register);
    }
    for (people, rows) in register.weights.iter_mut().zip(rows) {
        *people = people.checked_mul(*rows).ok_or_else(|| Problem::new("the register stands for too many people"))?;
    }
    Ok(register)
}
