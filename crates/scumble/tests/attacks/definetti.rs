//! The deFinetti attack against all ways to deal the values, one after the other.

use super::cases::{
    Person, anatomized, attack, believed, figure, generalized, near, orders, people, register, run,
    scene,
};
use super::data;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use scumble::attack::{Scene, score};
use scumble::register::{Register, RegisterColumn};
use scumble::table::Table;
use scumble::taxonomy::{Rule, parse_rows};
use std::collections::BTreeSet;

/// Label of people who are not in the release.
const ABSENT: u32 = 10;

/// How likely the people have these labels: each in turn is predicted from those before.
fn likelihood(attributes: &[Vec<u32>], labels: &[u32], prior: f64) -> f64 {
    let mut likelihood = 1.0;
    for column in attributes {
        let cells = column.iter().collect::<BTreeSet<_>>().len() as f64;
        for i in 0..column.len() {
            let before = (0..i).filter(|&j| labels[j] == labels[i]);
            let same = before.clone().filter(|&j| column[j] == column[i]).count() as f64;
            likelihood *= (same + prior) / (before.count() as f64 + cells * prior);
        }
    }
    likelihood
}

/// What is believed of everybody: `groups` are the labels of each group, strangers get what is
/// left.
fn twin(
    people: &[Person],
    attributes: &[Vec<u32>],
    groups: &[Vec<u32>],
    prior: f64,
) -> Vec<[f64; 11]> {
    let mut ways: Vec<(Vec<u32>, f64)> = vec![(Vec::new(), 1.0)];
    for (group, labels) in groups.iter().enumerate() {
        let seated = people.iter().filter(|p| p.group as usize == group).count();
        // Of orders that differ only in what strangers have, each counts.
        let orders = orders(labels.clone());
        let longer = |(way, n): &(Vec<u32>, f64)| {
            orders.iter().map(|o| ([&way[..], &o[..seated]].concat(), *n)).collect::<Vec<_>>()
        };
        ways = ways.iter().flat_map(longer).collect();
    }
    let mut sums = vec![[0.0; 11]; people.len()];
    let mut all = 0.0;
    for (way, n) in &ways {
        let weight = n * likelihood(attributes, way, prior);
        all += weight;
        way.iter().enumerate().for_each(|(person, &label)| sums[person][label as usize] += weight);
    }
    sums.iter_mut().flatten().for_each(|p| *p /= all);
    sums
}

fn values_of(people: &[Person], groups: u32) -> Vec<Vec<u32>> {
    let of = |group| people.iter().filter(|p| p.group == group).map(|p| p.value).collect();
    (0..groups).map(of).collect()
}

#[test]
fn anatomized_releases_are_as_by_enumeration() {
    for seed in 0..60 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let groups = rng.random_range(1..=3);
        let people = people(&mut rng, groups, 3, 3);
        let prior = [0.5, 1.0, 2.0][rng.random_range(0..3usize)];
        let attributes =
            [people.iter().map(|p| p.a).collect(), people.iter().map(|p| p.b).collect()];
        let expected = twin(&people, &attributes, &values_of(&people, groups), prior);
        let register = register(&people);
        let scene = scene(anatomized(&people), Some(&register));
        let report = run("definetti", &[("prior", &prior.to_string())], &scene);
        for (row, person) in people.iter().enumerate() {
            // Any record that shows the person's values may be the person's.
            let alike: Vec<usize> = (0..people.len())
                .filter(|&i| (people[i].a, people[i].b) == (person.a, person.b))
                .collect();
            let found = believed(&scene, &report, row);
            for value in 0..10 {
                let mean =
                    alike.iter().map(|&i| expected[i][value]).sum::<f64>() / alike.len() as f64;
                assert!(
                    near(found[value], mean),
                    "seed {seed}, row {row}: {} for {mean}",
                    found[value]
                );
            }
        }
        assert_eq!(figure(&report, "error"), 0.0);
    }
}

/// Some people are not in the register, and some of the register are not in the release.
#[test]
fn generalized_releases_are_as_by_enumeration() {
    for seed in 0..60 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let groups = rng.random_range(1..=3);
        let all = people(&mut rng, groups, 3, 3);
        let mut known: Vec<Person> = all.iter().copied().filter(|_| rng.random_bool(0.7)).collect();
        let mut labels = values_of(&all, groups);
        for group in 0..groups {
            for _ in 0..[0, 0, 1, 2][rng.random_range(0..4usize)] {
                known.push(Person {
                    group,
                    a: rng.random_range(0..2),
                    b: rng.random_range(0..3),
                    value: 0,
                });
            }
        }
        known.sort_by_key(|p| p.group);
        if known.is_empty() {
            continue;
        }
        for (group, labels) in labels.iter_mut().enumerate() {
            let seated = known.iter().filter(|p| p.group as usize == group).count();
            labels.resize(seated.max(labels.len()), ABSENT);
        }
        let attributes = [
            known.iter().map(|p| p.group).collect(),
            known.iter().map(|p| p.a).collect(),
            known.iter().map(|p| p.b).collect(),
        ];
        let expected = twin(&known, &attributes, &labels, 1.0);
        let register = register(&known);
        let scene = scene(generalized(&all), Some(&register));
        let report = run("definetti", &[], &scene);
        for (row, expected) in expected.iter().enumerate() {
            let found = believed(&scene, &report, row);
            for value in 0..10 {
                let present = expected[value] / (1.0 - expected[ABSENT as usize]);
                assert!(
                    near(found[value], present),
                    "seed {seed}, row {row}: {} for {present}",
                    found[value]
                );
            }
        }
    }
}

/// A release that is too large to be counted: what is sampled is the same for any number of
/// threads.
#[test]
fn threads_change_nothing() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let mut people = people(&mut rng, 10, 80, 4);
    people.iter_mut().for_each(|p| p.a = p.value / 2);
    let register = register(&people);
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        pool.install(|| {
            let scene = scene(anatomized(&people), Some(&register));
            run("definetti", &[("sweeps", "40")], &scene)
        })
    };
    let (one, three) = (with(1), with(3));
    assert_eq!(one.beliefs, three.beliefs);
    assert_eq!(one.figures, three.figures);
    assert!(figure(&one, "error") > 0.0);
    // Who shows a = 0 has one of two values, and it is learnt.
    assert!(figure(&one, "mean_gain") > 0.15);
}

/// What is fitted adds up: for everybody, and for every value of a group.
#[test]
fn what_is_fitted_keeps_to_the_counts() {
    for seed in 0..30 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let people = people(&mut rng, 4, 9, 4);
        let register = register(&people);
        let scene = scene(generalized(&people), Some(&register));
        let report = run("definetti", &[("method", "fit")], &scene);
        let found: Vec<[f64; 10]> =
            (0..people.len()).map(|row| believed(&scene, &report, row)).collect();
        assert!(found.iter().all(|p| near(p.iter().sum(), 1.0)), "seed {seed}");
        for person in &people {
            let mut rows = (0..people.len()).filter(|&row| people[row].group == person.group);
            let sum: f64 = rows.clone().map(|row| found[row][person.value as usize]).sum();
            let count =
                rows.by_ref().filter(|&row| people[row].value == person.value).count() as f64;
            assert!((sum - count).abs() < 0.1, "seed {seed}: {sum} for {count}");
        }
    }
}

/// Without people to look for, the records themselves are attacked; and classes that do not show
/// who is in them cannot be.
#[test]
fn records_are_people_too() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let people = people(&mut rng, 3, 3, 3);
    let report = run("definetti", &[], &scene(anatomized(&people), None));
    let with = run("definetti", &[], &scene(anatomized(&people), Some(&register(&people))));
    assert!(report.beliefs.is_none());
    assert!(figure(&report, "worst") >= figure(&with, "worst"));
    let refused = attack("definetti", &[]).run(&scene(generalized(&people), None), &|_, _| true);
    assert!(refused.is_err_and(|problem| problem.message.contains("who is in the classes")));
}

const ADULT: [&str; 8] = [
    "age",
    "workclass",
    "education",
    "marital-status",
    "race",
    "sex",
    "native-country",
    "salary-class",
];

/// Adult with flat taxonomies, its rows as a register, and the occupation of each row.
fn adult() -> Option<(Table, Register, Vec<String>)> {
    let rows = parse_rows("adult", &data::read("adult/adult.csv")?).expect("a table");
    let (mut attributes, mut codes, mut columns) = (Vec::new(), Vec::new(), Vec::new());
    for name in ADULT.into_iter().chain(["occupation"]) {
        let at = rows[0].iter().position(|h| h == name).expect("the column");
        let texts: Vec<&str> = rows[1..].iter().map(|r| r[at].as_str()).collect();
        let (attribute, of_rows) = data::encoded(name, &Rule::Flat, None, &texts);
        let leaf = |code: u32| attribute.taxonomy.leaf(code).to_owned();
        let texts = (0..attribute.taxonomy.leaves() as u32).map(leaf).collect();
        columns.push(RegisterColumn { name: name.into(), codes: of_rows.clone(), texts });
        attributes.push(attribute);
        codes.push(of_rows);
    }
    let occupations = columns.pop().expect("the last");
    let truth =
        occupations.codes.iter().map(|&code| occupations.texts[code as usize].clone()).collect();
    let sensitive = attributes.split_off(ADULT.len());
    let (table, _) = Table::collapse(attributes, sensitive, codes);
    Some((table, Register { columns, weights: Vec::new() }, truth))
}

/// Adult anatomized at ℓ = 5: the attack guesses more occupations right than the shares in the
/// groups allow.
#[test]
fn occupations_of_adult_are_learnt() {
    let Some((table, register, truth)) = adult() else { return };
    let goal = [data::model("distinct-l-diversity", &[("l", "5")])];
    let made = data::publish(&table, "anatomy", &[("l", "5")], &goal);
    let scene: Scene = scene(made.release, Some(&register));
    let code = |text: &String| scene.values.iter().position(|v| v == text).map(|v| v as u32);
    let truth: Vec<Option<u32>> = truth.iter().map(code).collect();
    let right = |name: &str, given: &[(&str, &str)]| {
        let report = run(name, given, &scene);
        let crowd = report.crowd(&scene).expect("people");
        let scored = score(crowd, report.beliefs.as_ref().expect("beliefs"), &truth);
        report
            .figures
            .iter()
            .chain(&scored)
            .for_each(|f| println!("{name} {} = {}", f.name, f.value));
        scored.iter().find(|f| f.name == "right").expect("a score").value
    };
    let learnt = right("definetti", &[("sweeps", "20")]);
    let fitted = right("definetti", &[("method", "fit")]);
    let counted = right("attribute-linkage", &[]);
    assert!(
        counted < 0.25 && learnt > counted + 0.05 && fitted > counted + 0.1,
        "{learnt}, {fitted} and {counted}"
    );
}
