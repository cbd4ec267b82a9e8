//! Golden figures on the UCI Adult data with the taxonomies that come with them. The data are not part of the project;
//! without them (`SCUMBLE_DATA`, or `shared/data` beside the repository) nothing is tested.

use data::{encoded, model};
use scumble::algorithm::{Goal, Requirement, solutions};
use scumble::catalogue::METRICS;
use scumble::release::Release;
use scumble::table::Table;
use scumble::taxonomy::{Rule, parse_rows};
use scumble::utility::Subject;

mod data;

const QUASI: [&str; 7] = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass"];

/// Adult with every taxonomy as a plain file, or nothing if it is not there.
fn adult() -> Option<Table> {
    let read = |path: &str| Some(parse_rows("data", &data::read(path)?).expect("rows"));
    let rows = read("adult/adult.csv")?;
    let (mut attributes, mut codes) = (Vec::new(), Vec::new());
    for name in QUASI.into_iter().chain(["occupation"]) {
        let at = rows[0].iter().position(|h| h == name).expect("the column");
        let texts: Vec<&str> = rows[1..].iter().map(|r| r[at].as_str()).collect();
        let path = format!("adult/hierarchies/adult_hierarchy_{name}.csv");
        let file = read(&path).expect("its taxonomy");
        let (attribute, code) = encoded(name, &Rule::File { path, ordered: false }, Some(file), &texts);
        codes.push(code);
        attributes.push(attribute);
    }
    let sensitive = attributes.split_off(QUASI.len());
    Some(Table::collapse(attributes, sensitive, codes).0)
}

fn publish(table: &Table, name: &str, given: &[(&str, &str)], goal: &[Requirement]) -> Release {
    data::publish(table, name, given, goal).release
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

/// What ARX's iterative local recoding loses with the same taxonomies.
#[test]
fn local_recoding_loses_less_than_arx() {
    let Some(table) = adult() else { return };
    let cases = [
        (0.0305, "4", None),
        (0.0345, "4", Some(model("distinct-l-diversity", &[("l", "3")]))),
        (0.475, "1", Some(model("t-closeness", &[("t", "0.2")]))),
    ];
    for (arx, effort, more) in cases {
        let goal: Vec<Requirement> = more.into_iter().chain([model("k-anonymity", &[("k", "5")])]).collect();
        let local = gcp(&publish(&table, "local", &[("effort", effort)], &goal));
        println!("local loses {local:.4}, ARX {arx}");
        assert!(local < arx, "{local} against {arx}");
    }
}
