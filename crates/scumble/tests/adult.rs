//! Golden figures on the UCI Adult data with the taxonomies that come with them. The data are not
//! part of the project; without them (`SCUMBLE_DATA`, or `shared/data` beside the repository)
//! nothing is tested.

use data::{encoded, model};
use scumble::algorithm::{Goal, Requirement, solutions};
use scumble::catalogue::METRICS;
use scumble::class::{EquivalenceClass, Run};
use scumble::exact::Ratio;
use scumble::freeform::{Observability, Specification, attach};
use scumble::model::cube_of;
use scumble::release::{Form, Release};
use scumble::table::Table;
use scumble::taxonomy::{Rule, parse_rows};
use scumble::utility::Subject;
use std::collections::{BTreeMap, BTreeSet};

mod data;

const QUASI: [&str; 7] =
    ["sex", "age", "race", "marital-status", "education", "native-country", "workclass"];

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
        let (attribute, code) =
            encoded(name, &Rule::File { path, ordered: false, public: false }, Some(file), &texts);
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
        (0..=t.levels())
            .find(|&l| shown.clone().all(|run| t.at_level(run.first, l) == run))
            .unwrap_or_else(|| {
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
        assert_eq!(
            (format!("{:.5}", gcp(&release)), release.classes.len()),
            ("0.63331".into(), 20)
        );
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
    println!(
        "{} solutions, {} minimal, {} tests",
        found.all.len(),
        found.minimal.len(),
        found.tested
    );
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
        let goal: Vec<Requirement> =
            more.into_iter().chain([model("k-anonymity", &[("k", "5")])]).collect();
        let local = gcp(&publish(&table, "local", &[("effort", effort)], &goal));
        println!("local loses {local:.4}, ARX {arx}");
        assert!(local < arx, "{local} against {arx}");
    }
}

/// Adult with all nine columns freeform: two have guarded values, the others are believed to be
/// observable more or less.
fn freeform_adult() -> Option<Table> {
    let read = |path: &str| Some(parse_rows("data", &data::read(path)?).expect("rows"));
    let rows = read("adult/adult.csv")?;
    let number = |text| Ratio::parse(text).expect("a number");
    let believed = |belief, alpha| Specification {
        observability: Observability::Believed {
            belief: number(belief),
            beliefs: Vec::new(),
            alpha: number(alpha),
        },
        ..Specification::default()
    };
    let guarded = |values: &[&str]| Specification {
        guarding: values.iter().map(|v| (*v).to_owned()).collect(),
        ..Specification::default()
    };
    let said = [
        ("sex", believed("1", "0")),
        ("age", believed("0.2", "0.3")),
        ("race", believed("1", "0")),
        ("marital-status", believed("0.5", "0.3")),
        ("education", believed("0.3", "0.3")),
        ("native-country", believed("0.5", "0.3")),
        ("workclass", believed("0.3", "0.3")),
        (
            "occupation",
            guarded(&["Priv-house-serv", "Protective-serv", "Armed-Forces", "Handlers-cleaners"]),
        ),
        ("salary-class", guarded(&[">50K"])),
    ];
    let (mut attributes, mut codes) = (Vec::new(), Vec::new());
    for (name, specification) in &said {
        let at = rows[0].iter().position(|h| h == name).expect("the column");
        let texts: Vec<&str> = rows[1..].iter().map(|r| r[at].as_str()).collect();
        let path = format!("adult/hierarchies/adult_hierarchy_{name}.csv");
        let file = read(&path).expect("its taxonomy");
        let (attribute, code) =
            encoded(name, &Rule::File { path, ordered: false, public: false }, Some(file), &texts);
        codes.push(code);
        attributes.push(attach(attribute, Some(specification)).expect("right"));
    }
    Some(Table::collapse(attributes, Vec::new(), codes).0)
}

/// Steps are judged by what is new; here every step that was left is judged as a whole table.
#[test]
fn no_step_beyond_a_minimal_release_is_safe() {
    let Some(table) = freeform_adult() else { return };
    let goal =
        [model("ff-anonymity", &[("observability", "0.5"), ("threat", "0.6"), ("known", "3")])];
    let thresholds = goal[0].model.freeform().expect("it is");
    let made = data::publish(&table, "specialize", &[], &goal);
    let Form::Generalized(form) = &made.form else { panic!("it generalizes") };
    let breaks = |show: &dyn Fn(usize, u32, Run) -> Run| {
        let mut counts: BTreeMap<Vec<Run>, u64> = BTreeMap::new();
        for (class, m) in form.classes.iter().flat_map(|c| c.members.iter().map(move |m| (c, m))) {
            let cell = |d: usize| show(d, table.quasi_codes[d][m.row as usize], class.region[d]);
            *counts.entry((0..table.quasi.len()).map(cell).collect()).or_default() +=
                u64::from(m.count);
        }
        let class = |(region, count)| EquivalenceClass { region, count, histograms: Vec::new() };
        let classes: Vec<EquivalenceClass> = counts.into_iter().map(class).collect();
        let cube =
            cube_of(&table.quasi, None, &classes, &thresholds, thresholds.threat).expect("cuts");
        cube.breaks(thresholds.threat)
    };
    assert!(!breaks(&|_, _, run| run));
    let mut steps = 0;
    for (d, attribute) in table.quasi.iter().enumerate() {
        let shown: BTreeSet<Run> = form.classes.iter().map(|c| c.region[d]).collect();
        for node in shown.into_iter().filter(|run| run.width() > 1) {
            let children = attribute.taxonomy.children(node);
            let child =
                |leaf: u32| *children.iter().find(|c| c.contains(leaf)).expect("below the node");
            let step = |dim: usize, leaf: u32, run: Run| {
                if dim == d && run == node { child(leaf) } else { run }
            };
            assert!(
                breaks(&step),
                "{} could show what is below {}",
                attribute.name,
                attribute.taxonomy.label(node)
            );
            steps += 1;
        }
    }
    assert!(steps > 5, "{steps} steps are left: the release is almost the table itself");
}
