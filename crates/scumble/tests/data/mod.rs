//! Data sets that are not part of the project (`SCUMBLE_DATA`, or `shared/data` beside the
//! repository), and how tests use them.

use scumble::algorithm::Requirement;
use scumble::catalogue::{ALGORITHMS, Entry, MODELS, Parameters};
use scumble::encode::encode;
use scumble::model::Concern;
use scumble::publish::{Made, Outcome, make};
use scumble::table::{Attribute, Table};
use scumble::taxonomy::Rule;
use std::path::PathBuf;

/// The text of a file, or nothing, and a message, if it is not there.
pub fn read(path: &str) -> Option<String> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data");
    let folder =
        std::env::var_os("SCUMBLE_DATA").map_or_else(|| PathBuf::from(beside), PathBuf::from);
    let path = folder.join(path);
    let text = std::fs::read_to_string(&path).ok();
    if text.is_none() {
        println!("skipped: there are no data at {}", path.display());
    }
    text
}

/// An attribute and the code of every record; `file` are the lines of its taxonomy, if the rule is
/// a file.
pub fn encoded(
    name: &str,
    rule: &Rule,
    file: Option<Vec<Vec<String>>>,
    texts: &[&str],
) -> (Attribute, Vec<u32>) {
    let mut values = texts.to_vec();
    values.sort_unstable();
    values.dedup();
    let (taxonomy, leaves) =
        encode(name, rule, file, &values, &[]).expect("covered by its taxonomy");
    let code = |text: &&str| leaves[values.binary_search(text).expect("is there")];
    (Attribute::new(name, taxonomy), texts.iter().map(code).collect())
}

fn built<T>(
    entries: &[Entry<T>],
    name: &str,
    given: &[(&str, &str)],
) -> (&'static str, Parameters, T) {
    let entry = entries.iter().find(|e| e.name == name).expect("is in the catalogue");
    let given = given.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
    let parameters = Parameters::read(entry.name, entry.parameters, &given).expect("right");
    let made = (entry.build)(&parameters).expect("possible");
    (entry.name, parameters, made)
}

/// A model, about the first sensitive attribute if it is about one.
pub fn model(name: &str, given: &[(&str, &str)]) -> Requirement {
    let (name, parameters, model) = built(MODELS, name, given);
    let attribute = (model.promise().concerns == Concern::Sensitive).then_some(0);
    Requirement { name, parameters, model, attribute, on: None, register: None }
}

/// What an algorithm makes of a table.
pub fn publish(table: &Table, name: &str, given: &[(&str, &str)], goal: &[Requirement]) -> Made {
    let (_, _, algorithm) = built(ALGORITHMS, name, given);
    match make(table, &*algorithm, goal, 0, &|_, _| true) {
        Outcome::Made(made) => *made,
        Outcome::Refused(reasons) => panic!("{reasons:?}"),
    }
}
