//! Golden figures on the UCI Adult data with the taxonomies that come with them. The data are not part of the project;
//! without them (`SCUMBLE_DATA`, or `shared/data` beside the repository) nothing is tested.

use scumble::algorithm::{Goal, Requirement, solutions};
use scumble::catalogue::{ALGORITHMS, Entry, METRICS, MODELS, Parameters};
use scumble::encode::encode;
use scumble::publish::{Outcome, make};
use scumble::release::Release;
use scumble::table::{Attribute, Table};
use scumble::taxonomy::{Rule, parse_rows};
use scumble::utility::Subject;
use std::path::PathBuf;

const QUASI: [&str; 7] = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass"];

/// Adult with every taxonomy as a plain file, or nothing if it is not there.
fn adult() -> Option<Table> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data");
    let folder = std::env::var_os("SCUMBLE_DATA").map_or_else(|| PathBuf::from(beside), PathBuf::from).join("adult");
    let read = |path: PathBuf| parse_rows("data", &std::fs::read_to_string(path).ok()?).ok();
    let Some(rows) = read(folder.join("adult.csv")) else {
        println!("skipped: there are no data at {}", folder.display());
        return None;
    };
    let (mut attributes, mut codes) = (Vec::new(), Vec::new());
    for name in QUASI.into_iter().chain(["occupation"]) {
        let at = rows[0].iter().position(|h| h == name).expect("the column");
        let mut values: Vec<&str> = rows[1..].iter().map(|r| r[at].as_str()).collect();
        values.sort_unstable();
        values.dedup();
        let path = format!("hierarchies/adult_hierarchy_{name}.csv");
        let file = read(folder.join(&path)).expect("its taxonomy");
        let rule = Rule::File { path, ordered: false };
        let (taxonomy, leaves) = encode(name, &rule, Some(file), &values, &[]).expect("covered by its taxonomy");
        let code = |r: &Vec<String>| leaves[values.binary_search(&r[at].as_str()).expect("is there")];
        codes.push(rows[1..].iter().map(code).collect());
        attributes.push(Attribute::new(name, taxonomy));
    }
    let sensitive = attributes.split_off(QUASI.len());
    Some(Table::collapse(attributes, sensitive, codes).0)
}

fn built<T>(entries: &[Entry<T>], name: &str, given: &[(&str, &str)]) -> (&'static str, Parameters, T) {
    let entry = entries.iter().find(|e| e.name == name).expect("is in the catalogue");
    let given = given.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
    let parameters = Parameters::read(entry.name, entry.parameters, &given).expect("right");
    let made = (entry.build)(&parameters).expect("possible");
    (entry.name, parameters, made)
}

fn model(name: &str, given: &[(&str, &str)]) -> Requirement {
    let (name, parameters, model) = built(MODELS, name, given);
    let attribute = (model.promise().concerns == scumble::model::Concern::Sensitive).then_some(0);
    Requirement { name, parameters, model, attribute, on: None, register: None }
}

fn publish(table: &Table, name: &str, given: &[(&str, &str)], goal: &[Requirement]) -> Release {
    let (_, _, algorithm) = built(ALGORITHMS, name, given);
    match make(table, &*algorithm, goal, 0, &|_, _| true) {
        Outcome::Made(made) => made.release,
        Outcome::Refused(reasons) => panic!("{reasons:?}"),
    }
}

fn gcp(release: &Release) -> f64 {
    let metric = METRICS.iter().find(|m| m.name == "gcp").expect("is in the catalogue");
    (metric.measure)(&Subject { release, k: 5, truth: None }).expect("it applies to regions")
}

/// The lowest level of every quasi-identifier at which its published values stand.
fn levels(release: &Release) -> Vec<usize> {
    let level = |d: usize| {
        let t = &release.quasi[d].taxonomy;
        let mut shown = release.classes.iter().map(|c| c.region[d]);
        (0..=t.levels()).find(|&l| shown.clone().all(|run| t.at_level(run.first, l) == run)).unwrap_or_else(|| {
            panic!("{:?} stands at no level", shown.next());
        })
    };
    (0..release.quasi.len()).map(level).collect()
}

#[test]
fn the_optimum_of_adult_is_known() {
    let Some(table) = adult() else { return };
    let goal = [model("k-anonymity", &[("k", "5")])];
    let release = publish(&table, "lattice", &[], &goal);
    assert_eq!((levels(&release), release.suppressed), (vec![0, 4, 0, 1, 3, 2, 2], 0));
    assert_eq!(format!("{:.5}", gcp(&release)), "0.63331");
    let release = publish(&table, "lattice", &[("suppress", "0.04")], &goal);
    assert_eq!(release.suppressed, 1038);
    assert_eq!(format!("{:.5}", gcp(&release)), "0.18885");
}

/// Greedy cuts through single nodes reach what the best levels lose.
#[test]
fn sub_tree_recoding_of_adult_is_known() {
    let Some(table) = adult() else { return };
    let goal = [model("k-anonymity", &[("k", "5")])];
    for name in ["top-down", "bottom-up"] {
        let release = publish(&table, name, &[], &goal);
        assert_eq!((format!("{:.5}", gcp(&release)), release.classes.len()), ("0.63331".into(), 20));
    }
}

#[test]
fn no_other_full_domain_algorithm_loses_less() {
    let Some(table) = adult() else { return };
    let goal = [model("k-anonymity", &[("k", "10")]), model("distinct-l-diversity", &[("l", "3")])];
    for suppress in ["0", "0.02"] {
        let loss = |name| gcp(&publish(&table, name, &[("suppress", suppress)], &goal));
        let best = loss("lattice");
        assert!((best - loss("incognito")).abs() < 1e-12);
        assert!(best <= loss("samarati") && best <= loss("datafly"));
    }
}

/// Samarati's node is one of the minimal ones of least height.
#[test]
fn samarati_finds_one_of_the_lowest_solutions() {
    let Some(table) = adult() else { return };
    let goal = [model("k-anonymity", &[("k", "5")])];
    let found = solutions(&table, &Goal::new(&table, &goal), 0).expect("few nodes");
    println!("{} solutions, {} minimal, {} tests", found.all.len(), found.minimal.len(), found.tested);
    let height = |levels: &Vec<usize>| levels.iter().sum::<usize>();
    let lowest = found.all.iter().map(height).min();
    let of_samarati = levels(&publish(&table, "samarati", &[], &goal));
    assert!(found.minimal.contains(&of_samarati));
    assert_eq!(Some(height(&of_samarati)), lowest);
}
