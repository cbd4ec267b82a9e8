//! Full-domain algorithms against all nodes of the lattice, tried one by one.

use super::cases::{self, Case, algorithm, cases, draws, k_anonymity, requirements};
use super::naive::{self, Classes};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use scumble::algorithm::{Goal, Requirement, solutions};
use scumble::catalogue::{ALGORITHMS, METRICS, Parameters};
use scumble::class::{EquivalenceClass, Run};
use scumble::exact::Ratio;
use scumble::model::{Bound, Concern, Context, Measured, Model, Promise, Verdict};
use scumble::release::{Form, Generalized, Member, Members, Release, Shape};
use scumble::table::Table;
use scumble::utility::Subject;
use std::collections::BTreeMap;

/// Levels, what is published at them, and who is left out.
#[derive(Clone)]
struct Node {
    levels: Vec<usize>,
    classes: Classes,
    out: BTreeMap<u32, u64>,
}

/// Tries every node: classes that fail are taken out until nothing fails among what is left.
fn every_node(table: &Table, goal: &[Requirement], limit: u64) -> Vec<Node> {
    let mut nodes = vec![Vec::new()];
    for a in &table.quasi {
        let longer = |levels: Vec<usize>| {
            (0..=a.taxonomy.levels()).map(move |l| [&levels[..], &[l]].concat())
        };
        nodes = nodes.into_iter().flat_map(longer).collect();
    }
    nodes.into_iter().filter_map(|levels| settle(table, goal, limit, levels)).collect()
}

fn shown(table: &Table, levels: &[usize], row: usize) -> Vec<Run> {
    let cell = |d: usize| table.quasi[d].taxonomy.at_level(table.quasi_codes[d][row], levels[d]);
    (0..levels.len()).map(cell).collect()
}

fn settle(table: &Table, goal: &[Requirement], limit: u64, levels: Vec<usize>) -> Option<Node> {
    let mut classes = Classes::new();
    for row in 0..table.rows() {
        let class = classes.entry(shown(table, &levels, row)).or_default();
        class.insert(row as u32, table.counts[row].into());
    }
    let mut out = BTreeMap::new();
    loop {
        let mut counts = vec![0; table.rows()];
        classes.values().flatten().for_each(|(&row, &n)| counts[row as usize] = n as u32);
        let published = Table { counts, ..table.clone() };
        let mut failing: Vec<Vec<Run>> = Vec::new();
        for r in goal {
            if r.model.promise().wide && holds_as_a_whole(&published, r, &classes) {
                continue;
            }
            let on: Vec<usize> = r.on.clone().unwrap_or_else(|| (0..table.quasi.len()).collect());
            let key = |region: &Vec<Run>| -> Vec<Run> { on.iter().map(|&d| region[d]).collect() };
            for region in classes.keys() {
                let alike = classes.iter().filter(|(other, _)| key(other) == key(region));
                let rows: Vec<(u32, u64)> =
                    alike.flat_map(|(_, rows)| rows.iter().map(|(&r, &n)| (r, n))).collect();
                let shown = |d: usize| {
                    if on.contains(&d) { region[d] } else { table.quasi[d].taxonomy.root() }
                };
                let merged: Vec<Run> = (0..region.len()).map(shown).collect();
                if !naive::keeps(r, &published, &merged, &rows) {
                    failing.push(region.clone());
                }
            }
        }
        if failing.is_empty() {
            return (!classes.is_empty()).then_some(Node { levels, classes, out });
        }
        failing.iter().for_each(|region| out.extend(classes.remove(region).unwrap_or_default()));
        if out.values().sum::<u64>() > limit {
            return None;
        }
    }
}

/// Whether the classes together keep a requirement about the release as a whole.
fn holds_as_a_whole(published: &Table, r: &Requirement, classes: &Classes) -> bool {
    let class = |(region, rows): (&Vec<Run>, &BTreeMap<u32, u64>)| {
        let rows: Vec<u32> = rows.keys().copied().collect();
        EquivalenceClass { region: region.clone(), ..naive::class(published, &rows) }
    };
    let classes: Vec<EquivalenceClass> = classes.iter().map(class).collect();
    Goal::new(published, std::slice::from_ref(r)).holds_as_a_whole(0, &classes)
}

impl Node {
    fn form(&self) -> Form {
        let member = |(&row, &count): (&u32, &u64)| Member { row, count: count as u32 };
        let class = |(region, rows): (&Vec<Run>, &BTreeMap<u32, u64>)| Members {
            region: region.clone().into(),
            members: rows.iter().map(member).collect(),
        };
        let classes = self.classes.iter().map(class).collect();
        Form::Generalized(Generalized::new(classes, self.out.iter().map(member).collect()))
    }

    fn height(&self) -> usize {
        self.levels.iter().sum()
    }

    /// By the definition on the manual page.
    fn lost(&self, table: &Table, metric: &str) -> f64 {
        // The parameter `gcp` means the loss over the domains of the extract.
        let metric = if metric == "gcp" { "loss" } else { metric };
        if let Some(known) = METRICS.iter().find(|m| m.name == metric) {
            let Form::Generalized(form) = self.form() else {
                panic!("full-domain forms are generalized")
            };
            let shown = table.quasi.iter().zip(&self.levels).map(|(a, &level)| a.shown_at(level));
            let form = Form::Generalized(form.written_in(shown.collect(), Shape::Regions));
            let release = &Release::of(table, &form);
            let subject = Subject { release, k: 1, truth: Some((table, &form)) };
            return (known.measure)(&subject).expect("it applies to regions");
        }
        let mut sum = 0.0;
        for (d, a) in table.quasi.iter().enumerate() {
            for row in 0..table.rows() {
                let out = self.out.contains_key(&(row as u32));
                let level = if out { a.taxonomy.levels() } else { self.levels[d] };
                let records = |run: Run| -> f64 {
                    let inside =
                        (0..table.rows()).filter(|&r| run.contains(table.quasi_codes[d][r]));
                    inside.map(|r| f64::from(table.counts[r])).sum()
                };
                let at = |level| records(a.taxonomy.at_level(table.quasi_codes[d][row], level));
                let cell = match metric {
                    "precision" => level as f64 / a.taxonomy.levels() as f64,
                    _ => -(at(0) / at(level)).log2(),
                };
                sum += f64::from(table.counts[row]) * cell;
            }
        }
        sum
    }
}

/// Not monotone: a class must not have a multiple of three records.
struct NotThree;

impl Model for NotThree {
    fn judge(&self, _: &Context<'_>, class: &EquivalenceClass) -> Verdict {
        let rest = class.count % 3;
        Verdict { holds: rest != 0, measured: Measured::Exact(Ratio::whole(rest)) }
    }

    fn promise(&self) -> Promise {
        Promise {
            monotone: false,
            ..Promise::new(Ratio::whole(1), Bound::AtLeast, Concern::Identity)
        }
    }
}

fn not_three(on: Option<Vec<usize>>) -> Requirement {
    let parameters = Parameters::default();
    Requirement {
        name: "not-three",
        parameters,
        model: Box::new(NotThree),
        attribute: None,
        on,
        register: None,
    }
}

fn run(name: &str, given: &[(&str, &str)], table: &Table, goal: &Goal<'_>) -> Option<Node> {
    let entry = ALGORITHMS.iter().find(|e| e.name == name).expect("is in the catalogue");
    let given = given.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
    let form =
        algorithm(entry, &given).expect("possible").anonymize(table, goal, 0, &|_, _| true).ok()?;
    let Form::Generalized(form) = form else { panic!("full-domain forms are generalized") };
    let mut classes = Classes::new();
    for class in &form.classes {
        let rows = class.members.iter().map(|m| (m.row, u64::from(m.count)));
        classes.insert(class.region.to_vec(), rows.collect());
    }
    Some(Node {
        levels: Vec::new(),
        classes,
        out: form.suppressed.iter().map(|m| (m.row, m.count.into())).collect(),
    })
}

const METRIC_NAMES: [&str; 6] = ["gcp", "iloss", "precision", "entropy", "discernibility", "c_avg"];

/// The laws of all four algorithms on one table.
fn check(table: &Table, goal: &[Requirement], share: u64) -> Result<(), TestCaseError> {
    let limit = share * table.records() / 100;
    let suppress = format!("{}.{:02}", share / 100, share % 100);
    let nodes = every_node(table, goal, limit);
    let goal = Goal::new(table, goal);

    let found = solutions(table, &goal, limit).expect("a small lattice");
    let all: Vec<Vec<usize>> = nodes.iter().map(|n| n.levels.clone()).collect();
    let below = |a: &[usize], b: &[usize]| a != b && a.iter().zip(b).all(|(a, b)| a <= b);
    let minimal: Vec<Vec<usize>> =
        all.iter().filter(|b| !all.iter().any(|a| below(a, b))).cloned().collect();
    prop_assert_eq!((&found.all, &found.minimal), (&all, &minimal));

    for metric in METRIC_NAMES {
        let best = nodes.iter().map(|n| n.lost(table, metric)).min_by(f64::total_cmp);
        for name in ["lattice", "incognito"] {
            let made = run(name, &[("suppress", &suppress), ("metric", metric)], table, &goal);
            let of = |made: &Node| {
                let same = nodes.iter().find(|n| {
                    n.classes == made.classes && n.lost(table, metric) <= best.unwrap_or(0.0) + 1e-6
                });
                same.map(|n| n.lost(table, metric))
            };
            match (&made, best) {
                (None, None) => {}
                (Some(made), Some(best)) => {
                    let lost = of(made);
                    prop_assert!(
                        lost.is_some_and(|lost| (lost - best).abs() <= 1e-9 * best.max(1.0)),
                        "{} by {}: {:?}, the best is {}",
                        name,
                        metric,
                        lost,
                        best
                    );
                }
                _ => prop_assert!(
                    false,
                    "{} by {}: made {}, possible {:?}",
                    name,
                    metric,
                    made.is_some(),
                    best
                ),
            }
        }
    }

    // The first node of least height.
    let lowest = nodes.iter().min_by_key(|n| (n.height(), n.levels.clone()));
    for (name, given) in [
        ("samarati", vec![("suppress", suppress.as_str())]),
        ("incognito", vec![("suppress", suppress.as_str()), ("metric", "height")]),
    ] {
        let made = run(name, &given, table, &goal);
        prop_assert_eq!(
            made.map(|m| (m.classes, m.out)),
            lowest.cloned().map(|m| (m.classes, m.out)),
            "{}",
            name
        );
    }

    let made = run("datafly", &[("suppress", &suppress)], table, &goal);
    let expected = datafly(table, &nodes);
    prop_assert_eq!(
        made.map(|m| (m.classes, m.out)),
        expected.cloned().map(|m| (m.classes, m.out))
    );
    Ok(())
}

/// Raises the quasi-identifier that shows most, until a node keeps the goal.
fn datafly<'a>(table: &Table, nodes: &'a [Node]) -> Option<&'a Node> {
    let mut levels = vec![0; table.quasi.len()];
    loop {
        if let Some(node) = nodes.iter().find(|n| n.levels == levels) {
            return Some(node);
        }
        let values = |d: usize| {
            let mut runs: Vec<Run> =
                (0..table.rows()).map(|row| shown(table, &levels, row)[d]).collect();
            runs.sort_unstable();
            runs.dedup();
            runs.len()
        };
        let open = (0..levels.len()).filter(|&d| levels[d] < table.quasi[d].taxonomy.levels());
        let dim = open.min_by_key(|&d| (std::cmp::Reverse(values(d)), d))?;
        levels[dim] += 1;
    }
}

fn small(case: &Case) -> bool {
    case.table.quasi.iter().map(|a| a.taxonomy.levels() + 1).product::<usize>() <= 100
}

#[test]
fn full_domain_algorithms_are_what_trying_every_node_says() {
    let shares = prop::sample::select(vec![0u64, 0, 10, 25, 40, 100]);
    let drawn = (cases(12), draws(), shares, 0u8..6);
    let law = |(mut case, draws, share, odd): (Case, Vec<cases::Draw>, u64, u8)| {
        if !small(&case) {
            return Ok(());
        }
        case.table
            .quasi
            .iter_mut()
            .zip([1.0, 2.5, 0.5, 0.0])
            .for_each(|(a, weight)| a.weight = weight);
        let mut goal = requirements(&draws, &case.table);
        match odd {
            0 => goal.push(not_three(None)),
            1 => goal.push(not_three(Some(vec![0]))),
            _ => {}
        }
        check(&case.table, &goal, share)
    };
    TestRunner::new(ProptestConfig::with_cases(300))
        .run(&drawn, law)
        .unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn more_records_and_k_anonymity_alone() {
    let drawn = (cases(60), 2u64..5, prop::sample::select(vec![0u64, 2, 5, 10, 30]));
    let law = |(case, k, share): (Case, u64, u64)| {
        if small(&case) { check(&case.table, &[k_anonymity(k)], share) } else { Ok(()) }
    };
    TestRunner::new(ProptestConfig::with_cases(150))
        .run(&drawn, law)
        .unwrap_or_else(|e| panic!("{e}"));
}

/// Sweeney's limit: as many records as the smallest class may be left out.
#[test]
fn datafly_leaves_out_as_many_as_the_smallest_class() {
    let drawn = (cases(30), 2u64..5);
    let law = |(case, k): (Case, u64)| {
        if !small(&case) {
            return Ok(());
        }
        let (table, goal) = (&case.table, [k_anonymity(k)]);
        let nodes = every_node(table, &goal, k);
        let made = run("datafly", &[("limit", "k")], table, &Goal::new(table, &goal));
        prop_assert_eq!(
            made.map(|m| (m.classes, m.out)),
            datafly(table, &nodes).cloned().map(|m| (m.classes, m.out))
        );
        Ok(())
    };
    TestRunner::new(ProptestConfig::with_cases(200))
        .run(&drawn, law)
        .unwrap_or_else(|e| panic!("{e}"));
}
