//! Attacks with background knowledge against everything that an adversary may know.

use super::cases::{
    Person, believed, column, figure, generalized, near, orders, people, register, run, scene,
};
use super::worst::{Possible, classes, worst_implications, worst_skyline};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use scumble::exact::Ratio;
use scumble::register::Register;
use std::collections::BTreeMap;

/// The release of these classes, given as values.
fn of_classes(classes: &[Vec<usize>]) -> Vec<Person> {
    let person = |group: usize, value: usize| Person {
        group: group as u32,
        a: 0,
        b: 0,
        value: value as u32,
    };
    classes
        .iter()
        .enumerate()
        .flat_map(|(g, class)| class.iter().map(move |&v| person(g, v)))
        .collect()
}

#[test]
fn implications_and_the_skyline_are_the_worst_of_all_knowledge() {
    let mut runner = TestRunner::new(ProptestConfig::with_cases(40));
    let law = |classes: Vec<Vec<usize>>| {
        let possible = Possible::new(&classes);
        let scene = scene(generalized(&of_classes(&classes)), None);
        let report = run("implications", &[("implications", "2")], &scene);
        for k in 0..3 {
            let worst = worst_implications(&possible, 4, k).to_f64();
            prop_assert!(near(figure(&report, &format!("implications_{k}")), worst), "k = {}", k);
        }
        for point in (0..8).map(|i| [i / 4, i / 2 % 2, i % 2]) {
            let [l, k, m] = point.map(|n| n.to_string());
            let report = run("skyline", &[("l", &l), ("k", &k), ("m", &m)], &scene);
            let worst = (0..4)
                .map(|value| worst_skyline(&possible, 4, value, point))
                .max()
                .map(Ratio::to_f64);
            prop_assert!(near(figure(&report, "worst"), worst.unwrap_or(0.0)), "{:?}", point);
        }
        Ok(())
    };
    runner.run(&classes(), law).unwrap_or_else(|e| panic!("{e}"));
}

/// A smaller point of a table is the same as a table that ends there.
#[test]
fn the_table_of_the_skyline_is_made_of_points() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let scene = scene(generalized(&people(&mut rng, 4, 9, 5)), None);
    let table = run("skyline", &[("l", "2"), ("k", "2"), ("m", "2")], &scene).findings;
    assert_eq!(table.len(), 10);
    for (i, line) in table[1..].iter().enumerate() {
        for m in 0..3 {
            let [l, k, m_] = [i / 3, i % 3, m].map(|n| n.to_string());
            let worst =
                figure(&run("skyline", &[("l", &l), ("k", &k), ("m", &m_)], &scene), "worst");
            let cell = line.split_whitespace().rev().nth(2 - m).expect("a cell");
            assert_eq!(cell, format!("{worst:.4}"));
        }
    }
}

/// The strongest belief that is left after ruling out any j of these values; one is always left.
fn worst_negation(counts: &BTreeMap<u32, u64>, j: usize) -> Ratio {
    let values: Vec<u32> = counts.keys().copied().collect();
    let mut worst = Ratio::whole(0);
    for out in 0..1u32 << values.len() {
        let left: Vec<u64> =
            (0..values.len()).filter(|i| out & (1 << i) == 0).map(|i| counts[&values[i]]).collect();
        if out.count_ones() as usize <= j && !left.is_empty() {
            let most = *left.iter().max().expect("some are left");
            worst = worst.max(Ratio::new(most.into(), left.iter().sum::<u64>().into()));
        }
    }
    worst
}

#[test]
fn negations_are_the_worst_of_all_choices() {
    for seed in 0..100 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let groups = rng.random_range(1..=3);
        let people = people(&mut rng, groups, 12, 5);
        let register = register(&people);
        let scene = scene(generalized(&people), Some(&register));
        let report = run("negation", &[("statements", "3")], &scene);
        let mut counts = vec![BTreeMap::new(); groups as usize];
        people.iter().for_each(|p| *counts[p.group as usize].entry(p.value).or_insert(0u64) += 1);
        for j in 0..=3 {
            let of_class: Vec<Ratio> = counts.iter().map(|c| worst_negation(c, j)).collect();
            let of_person = || people.iter().map(|p| of_class[p.group as usize]);
            let worst = of_class.iter().copied().max().expect("a class").to_f64();
            let mean = of_person().map(Ratio::to_f64).sum::<f64>() / people.len() as f64;
            let certain = of_person().filter(|&p| p == Ratio::whole(1)).count() as f64;
            assert!(near(figure(&report, &format!("worst_{j}")), worst), "seed {seed}");
            assert!(near(figure(&report, &format!("mean_{j}")), mean), "seed {seed}");
            assert_eq!(figure(&report, &format!("certain_{j}")), certain, "seed {seed}");
            if j == 3 {
                let risk = report.risk.as_ref().expect("people are at risk");
                let kind_of = &report.crowd(&scene).expect("people").kind_of;
                assert!(
                    of_person()
                        .zip(kind_of)
                        .all(|(p, &kind)| near(risk[kind as usize], p.to_f64()))
                );
            }
        }
    }
}

/// How often a person with these quasi-identifiers has each value.
type Reference = BTreeMap<(u32, u32, u32), Vec<f64>>;

/// Shares of the values for everybody: sixths, some of them nothing. As a table it is weighed by
/// the people.
fn reference(rng: &mut ChaCha8Rng, people: &[Person]) -> (Reference, Register) {
    let mut shares: Reference = BTreeMap::new();
    let (mut rows, mut weights) = (Vec::new(), Vec::new());
    for p in people {
        let q = (p.group, p.a, p.b);
        let drawn = || {
            let mut sixths = vec![0.0; 3];
            (0..6).for_each(|_| sixths[rng.random_range(0..3usize)] += 1.0);
            sixths
        };
        for (value, &n) in shares.entry(q).or_insert_with(drawn).iter().enumerate() {
            rows.push((q, value as u32));
            weights.push(n as u64);
        }
    }
    let columns = vec![
        column("group", rows.iter().map(|((g, ..), _)| *g)),
        column("a", rows.iter().map(|((_, a, _), _)| *a)),
        column("b", rows.iter().map(|((.., b), _)| *b)),
        column("s", rows.iter().map(|(_, value)| *value)),
    ];
    (shares, Register { columns, weights })
}

/// What is believed of somebody in a class of these people afterwards, by the definition; nothing
/// if it contradicts.
fn posterior(
    reference: &Reference,
    class: &[&Person],
    who: &Person,
    members: bool,
) -> Option<Vec<f64>> {
    let share = |p: &Person, value: u32| reference[&(p.group, p.a, p.b)][value as usize];
    let mut likely = [0.0; 3];
    if members {
        let who = class.iter().position(|p| *p == who).expect("is in it");
        for order in orders(class.iter().map(|p| p.value).collect()) {
            let weight: f64 = class.iter().zip(&order).map(|(p, &value)| share(p, value)).product();
            likely[order[who] as usize] += weight;
        }
    } else {
        for value in 0..3 {
            let n = class.iter().filter(|p| p.value == value).count() as f64;
            let all: f64 = class.iter().map(|p| share(p, value)).sum();
            if n > 0.0 && all == 0.0 {
                return None;
            }
            likely[value as usize] = if n > 0.0 { n * share(who, value) / all } else { 0.0 };
        }
    }
    let sum: f64 = likely.iter().sum();
    (sum > 0.0).then(|| likely.iter().map(|x| x / sum).collect())
}

#[test]
fn bayes_is_what_the_definition_says() {
    let mut contradicted = 0;
    for seed in 0..150 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let groups = rng.random_range(1..=3);
        let people = people(&mut rng, groups, 4, 3);
        let (shares, reference) = reference(&mut rng, &people);
        let register = register(&people);
        let mut scene = scene(generalized(&people), Some(&register));
        scene.reference = Some(reference);
        for reading in ["tuple", "members"] {
            let report = run("bayes", &[("reading", reading)], &scene);
            let (mut largest, mut sum, mut judged, mut rises) = (0.0f64, 0.0, 0, 0);
            for (row, person) in people.iter().enumerate() {
                let class: Vec<&Person> =
                    people.iter().filter(|p| p.group == person.group).collect();
                let found = believed(&scene, &report, row);
                let Some(after) = posterior(&shares, &class, person, reading == "members") else {
                    assert_eq!(found, [0.0; 10], "seed {seed}, {reading}, row {row}");
                    continue;
                };
                let before = shares[&(person.group, person.a, person.b)].iter().map(|n| n / 6.0);
                assert!(
                    after.iter().zip(&found).all(|(a, b)| near(*a, *b)),
                    "seed {seed}, {reading}, row {row}"
                );
                let gain =
                    before.clone().zip(&after).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                (largest, sum, judged) = (largest.max(gain), sum + gain, judged + 1);
                let above = |p: f64| p > 0.5 + 1e-12;
                rises += u32::from(after.iter().any(|&p| above(p)) && !before.clone().any(above));
            }
            contradicted += people.len() - judged;
            assert!(near(figure(&report, "largest_gain"), largest), "seed {seed}, {reading}");
            assert!(
                near(figure(&report, "mean_gain"), sum / judged.max(1) as f64),
                "seed {seed}, {reading}"
            );
            assert_eq!(figure(&report, "contradicted"), (people.len() - judged) as f64);
            assert_eq!(
                figure(&report, "rises_above_50"),
                f64::from(rises),
                "seed {seed}, {reading}"
            );
            assert_eq!(figure(&report, "unknown"), 0.0);
        }
    }
    assert!(contradicted > 0);
}

/// Whom the reference does not know is counted apart.
#[test]
fn bayes_says_whom_it_cannot_judge() {
    let someone = |a: u32| Person { group: 0, a, b: 0, value: a };
    let (people, mut rng) = ([someone(0), someone(1)], ChaCha8Rng::seed_from_u64(2));
    let (_, reference) = reference(&mut rng, &people);
    let more = [people[0], people[1], Person { b: 2, ..people[0] }];
    let mut scene = scene(generalized(&people), Some(&register(&more)));
    scene.reference = Some(reference);
    let report = run("bayes", &[], &scene);
    assert_eq!(figure(&report, "unknown"), 1.0);
    assert!(!report.notes.is_empty());
}
