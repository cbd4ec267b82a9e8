//! A published value is a word of the policy: told by its text and the rule alone, without the data.

use super::cases::{algorithm, combinations, k_anonymity};
use proptest::prelude::*;
use scumble::catalogue::ALGORITHMS;
use scumble::encode::encode;
use scumble::publish::{Outcome, make};
use scumble::release::{Release, Shape};
use scumble::table::{Attribute, Table};
use scumble::taxonomy::{Decimal, Granularity, Intervals, Rule, Unit};
use std::collections::{BTreeMap, BTreeSet};

/// A person: age, day of birth (year, month, day), postcode, illness.
type Person = (u32, (u32, u32, u32), u32, u32);

fn rules() -> [Rule; 4] {
    let decimal = |n: i64| Decimal { mantissa: n, decimals: 0 };
    let widths = vec![decimal(5), decimal(10)];
    let ages = Intervals { widths, low: Some(decimal(20)), high: Some(decimal(90)), unit: Unit::Finest };
    let months = vec![Granularity::Month, Granularity::Year];
    [Rule::Intervals(ages), Rule::Dates(months), Rule::Prefix(vec![3]), Rule::Flat]
}

fn table(people: &[Person]) -> Table {
    let texts = |p: &Person| {
        let (year, month, day) = p.1;
        [p.0.to_string(), format!("{year}-{month:02}-{day:02}"), format!("43{:03}", p.2), format!("illness {}", p.3)]
    };
    let rows: Vec<[String; 4]> = people.iter().map(texts).collect();
    let (mut attributes, mut codes) = (Vec::new(), Vec::new());
    for (i, (name, rule)) in ["age", "birth", "zip", "illness"].into_iter().zip(rules()).enumerate() {
        let distinct: BTreeSet<&str> = rows.iter().map(|row| row[i].as_str()).collect();
        let distinct: Vec<&str> = distinct.into_iter().collect();
        let (taxonomy, leaves) = encode(name, &rule, None, &distinct, &[]).expect("right");
        let leaf = |row: &[String; 4]| leaves[distinct.binary_search(&row[i].as_str()).expect("is there")];
        codes.push(rows.iter().map(leaf).collect());
        attributes.push(Attribute::new(name, taxonomy));
    }
    let sensitive = attributes.split_off(3);
    Table::collapse(attributes, sensitive, codes).0
}

/// The kind of a label of each column, or nothing if it is no word of its rule. Labels of one level have one kind.
fn kind(column: usize, label: &str) -> Option<&'static str> {
    let number = |text: &str| text.parse::<u32>().ok().filter(|n| n % 5 == 0 && (20..=90).contains(n));
    let month = |text: &str| {
        let (year, month) = text.split_once('-')?;
        let right = year.len() == 4 && month.len() == 2 && (1..=12).contains(&month.parse::<u32>().ok()?);
        right.then_some(())
    };
    match column {
        _ if label == "*" => Some("everything"),
        0 => {
            if let Some(end) = label.strip_prefix('<').or_else(|| label.strip_prefix(">=")) {
                return number(end).map(|n| if n == 20 || n == 90 { "open" } else { "range" });
            }
            let (from, to) = label.strip_prefix('[')?.strip_suffix(')')?.split_once(", ")?;
            let (from, to) = (number(from)?, number(to)?);
            match to.checked_sub(from)? {
                0 => None,
                5 => Some("five"),
                10 if from % 10 == 0 => Some("ten"),
                _ => Some("range"),
            }
        }
        1 => match label.strip_prefix('[') {
            Some(range) => {
                let (from, to) = range.strip_suffix(']')?.split_once(", ")?;
                month(from)?;
                month(to)?;
                (from < to).then_some("range")
            }
            None if label.len() == 4 => label.parse::<u32>().ok().map(|_| "year"),
            None => month(label).map(|()| "month"),
        },
        _ => match label.strip_suffix("**") {
            Some(kept) => (kept.len() == 3 && kept.parse::<u32>().is_ok()).then_some("three"),
            None => (label.len() == 5 && label.parse::<u32>().is_ok()).then_some("whole"),
        },
    }
}

/// The published rows, and the distinct labels of each column.
type Published = (Vec<Vec<String>>, Vec<BTreeSet<String>>);

/// What an algorithm publishes in each column; nothing if it refuses, or shows representatives.
fn published(name: &str, people: &[Person], k: u64) -> Option<Published> {
    let entry = ALGORITHMS.iter().find(|e| e.name == name).expect("is in the catalogue");
    let table = table(people);
    // What must be given is drawn, everything else is as by default.
    let required =
        |(name, _): &(String, String)| entry.parameters.iter().any(|p| p.name == name && p.default.is_none());
    let drawn = combinations(entry.parameters, &[0]).swap_remove(0);
    let given: BTreeMap<String, String> = drawn.into_iter().filter(required).collect();
    let algorithm = algorithm(entry, &given)?;
    let Outcome::Made(made) = make(&table, &*algorithm, &[k_anonymity(k)], 7, &|_, _| true) else { return None };
    let release: &Release = &made.release;
    let rows: Vec<Vec<String>> = match release.shape {
        Shape::Representatives => return None,
        Shape::Groups => {
            let leaf = |(a, &code): (&Attribute, &u32)| a.taxonomy.leaf(code).to_owned();
            let texts = |codes: &[u32]| release.quasi.iter().zip(codes).map(leaf).collect();
            release.records_by_group.iter().map(|r| texts(&r.codes)).collect()
        }
        Shape::Regions => release.classes.iter().map(|class| release.labels(class)).collect(),
    };
    let columns = (0..3).map(|i| rows.iter().map(|row| row[i].clone()).collect()).collect();
    Some((rows, columns))
}

fn people() -> impl Strategy<Value = Vec<Person>> {
    let birth = (1950u32..1953, 1u32..13, 1u32..29);
    prop::collection::vec((15u32..98, birth, prop::sample::select(vec![107u32, 108, 205, 250, 999]), 0u32..4), 2..16)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn labels_are_words_of_the_policy(people in people(), k in 1u64..4, who: prop::sample::Index, day in 1u32..29) {
        // The same people, one of them with another day and another age in the same cells.
        let mut moved = people.clone();
        let one = who.index(people.len());
        moved[one].1.2 = day;
        let age = people[one].0;
        moved[one].0 = if age < 20 { 34 - age } else if age >= 90 { 187 - age } else { age / 5 * 5 + 4 - age % 5 };
        for entry in ALGORITHMS {
            let Some((rows, columns)) = published(entry.name, &people, k) else { continue };
            for (i, labels) in columns.iter().enumerate() {
                for label in labels {
                    prop_assert!(kind(i, label).is_some(), "{} publishes `{}`", entry.name, label);
                }
                let kinds: BTreeSet<&str> = labels.iter().filter_map(|l| kind(i, l)).filter(|k| *k != "open").collect();
                if ["lattice", "incognito", "samarati", "datafly"].contains(&entry.name) {
                    prop_assert!(kinds.len() <= 1 && !kinds.contains("range"), "{}: {:?}", entry.name, labels);
                }
            }
            let again = published(entry.name, &moved, k).map(|(rows, _)| rows);
            prop_assert_eq!(Some(rows), again, "{} tells what is inside a cell", entry.name);
        }
    }
}
