//! A published value is a word of the policy: told by its text and the rule alone, without the
//! data.

use super::cases::{algorithm, combinations, k_anonymity};
use proptest::prelude::*;
use scumble::catalogue::ALGORITHMS;
use scumble::encode::encode;
use scumble::publish::{Outcome, make};
use scumble::release::{Release, Shape};
use scumble::table::{Attribute, Table};
use scumble::taxonomy::{Decimal, Granularity, Intervals, Prefix, Rule, Unit};
use std::collections::{BTreeMap, BTreeSet};

/// A person: age, day of birth (year, month, day), postcode, illness.
type Person = (u32, (u32, u32, u32), u32, u32);

/// How postcodes may be masked, with labels of three characters or of any number of them.
fn masks() -> [Prefix; 3] {
    [(vec![3], None), (vec![3], Some(7)), (vec![], Some(7))]
        .map(|(keep, length)| Prefix { keep, length })
}

fn rules(zip: &Prefix) -> [Rule; 4] {
    let decimal = |n: i64| Decimal { mantissa: n, decimals: 0 };
    let widths = vec![decimal(5), decimal(10)];
    let ages =
        Intervals { widths, low: Some(decimal(20)), high: Some(decimal(90)), unit: Unit::Finest };
    let months = vec![Granularity::Month, Granularity::Year];
    [Rule::Intervals(ages), Rule::Dates(months), Rule::Prefix(zip.clone()), Rule::Flat]
}

/// The text of a postcode; those above 999 are longer than the others.
fn postcode(zip: u32) -> String {
    format!("43{:03}{}", zip % 1000, if zip < 1000 { "" } else { "-9" })
}

fn table(people: &[Person], zip: &Prefix) -> Table {
    let texts = |p: &Person| {
        let (year, month, day) = p.1;
        [
            p.0.to_string(),
            format!("{year}-{month:02}-{day:02}"),
            postcode(p.2),
            format!("illness {}", p.3),
        ]
    };
    let rows: Vec<[String; 4]> = people.iter().map(texts).collect();
    let (mut attributes, mut codes) = (Vec::new(), Vec::new());
    for (i, (name, rule)) in
        ["age", "birth", "zip", "illness"].into_iter().zip(rules(zip)).enumerate()
    {
        let distinct: BTreeSet<&str> = rows.iter().map(|row| row[i].as_str()).collect();
        let distinct: Vec<&str> = distinct.into_iter().collect();
        let (taxonomy, leaves) = encode(name, &rule, None, &distinct, &[]).expect("right");
        let leaf =
            |row: &[String; 4]| leaves[distinct.binary_search(&row[i].as_str()).expect("is there")];
        codes.push(rows.iter().map(leaf).collect());
        attributes.push(Attribute::new(name, taxonomy));
    }
    let sensitive = attributes.split_off(3);
    Table::collapse(attributes, sensitive, codes).0
}

/// The kind of a label of each column, or nothing if it is no word of its rule. Labels of one level
/// have one kind.
fn kind(column: usize, label: &str, zip: &Prefix) -> Option<String> {
    let number =
        |text: &str| text.parse::<u32>().ok().filter(|n| n % 5 == 0 && (20..=90).contains(n));
    let month = |text: &str| {
        let (year, month) = text.split_once('-')?;
        let right =
            year.len() == 4 && month.len() == 2 && (1..=12).contains(&month.parse::<u32>().ok()?);
        right.then_some(())
    };
    if column == 2 && label != "*" {
        return zip_kind(label, zip);
    }
    let kind = match column {
        _ if label == "*" => Some("everything"),
        0 => {
            if let Some(end) = label.strip_prefix('<').or_else(|| label.strip_prefix(">=")) {
                let open = |n| if n == 20 || n == 90 { "open" } else { "range" };
                return number(end).map(|n| open(n).to_owned());
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
        _ => match label.strip_prefix('[') {
            Some(range) => {
                let (from, to) = range.strip_suffix(']')?.split_once(", ")?;
                month(from)?;
                month(to)?;
                (from < to).then_some("range")
            }
            None if label.len() == 4 => label.parse::<u32>().ok().map(|_| "year"),
            None => month(label).map(|()| "month"),
        },
    };
    kind.map(str::to_owned)
}

/// The kind of a postcode: whole, or the number of characters that it keeps.
fn zip_kind(label: &str, zip: &Prefix) -> Option<String> {
    let kept = label.trim_end_matches('*');
    if kept == label {
        return (label.len() == 5 || label.len() == 7).then(|| "whole".to_owned());
    }
    let masked = zip.length.map_or(1, |length| length - kept.len());
    let right = label.len() - kept.len() == masked;
    (right && (zip.keep.is_empty() || zip.keep.contains(&kept.len())))
        .then(|| kept.len().to_string())
}

/// The published rows, and the distinct labels of each column.
type Published = (Vec<Vec<String>>, Vec<BTreeSet<String>>);

/// What an algorithm publishes in each column; nothing if it refuses, or shows representatives.
fn published(name: &str, people: &[Person], zip: &Prefix, k: u64) -> Option<Published> {
    let entry = ALGORITHMS.iter().find(|e| e.name == name).expect("is in the catalogue");
    let table = table(people, zip);
    // What must be given is drawn, everything else is as by default.
    let required = |(name, _): &(String, String)| {
        entry.parameters.iter().any(|p| p.name == name && p.default.is_none())
    };
    let drawn = combinations(entry.parameters, &[0]).swap_remove(0);
    let given: BTreeMap<String, String> = drawn.into_iter().filter(required).collect();
    let algorithm = algorithm(entry, &given)?;
    let Outcome::Made(made) = make(&table, &*algorithm, &[k_anonymity(k)], 7, &|_, _| true) else {
        return None;
    };
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
    prop::collection::vec(
        (15u32..98, birth, prop::sample::select(vec![107u32, 108, 205, 250, 999]), 0u32..4),
        2..16,
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    #[test]
    fn labels_are_words_of_the_policy(people in people(), k in 1u64..4, who: prop::sample::Index, day in 1u32..29) {
        // The same people, one of them with another day and another age in the same cells.
        let mut moved = people.clone();
        let one = who.index(people.len());
        moved[one].1.2 = day;
        let age = people[one].0;
        moved[one].0 = if age < 20 { 34 - age } else if age >= 90 { 187 - age } else { age / 5 * 5 + 4 - age % 5 };
        // And with a longer postcode, together with whoever has the same.
        let zip = people[one].2;
        moved.iter_mut().filter(|p| p.2 == zip).for_each(|p| p.2 += 1000);
        let (short, long) = (postcode(zip), postcode(zip + 1000));
        for (entry, zip) in ALGORITHMS.iter().flat_map(|e| masks().map(|zip| (e, zip))) {
            let Some((rows, columns)) = published(entry.name, &people, &zip, k) else { continue };
            for (i, labels) in columns.iter().enumerate() {
                for label in labels {
                    prop_assert!(kind(i, label, &zip).is_some(), "{} publishes `{}`", entry.name, label);
                }
                let kinds: BTreeSet<String> =
                    labels.iter().filter_map(|l| kind(i, l, &zip)).filter(|k| k != "open").collect();
                if ["lattice", "incognito", "samarati", "datafly"].contains(&entry.name) {
                    prop_assert!(kinds.len() <= 1 && !kinds.contains("range"), "{}: {:?}", entry.name, labels);
                }
            }
            let again = published(entry.name, &moved, &zip, k).map(|(mut rows, _)| {
                // Only a postcode that is shown as it is tells its length.
                rows.iter_mut().filter(|row| row[2] == long).for_each(|row| row[2].clone_from(&short));
                rows
            });
            prop_assert_eq!(Some(rows), again, "{} tells what is inside a cell", entry.name);
        }
    }
}
