//! Laws of microaggregation: what a group shows, computed again from the texts of its records.

use super::cases::{Case, algorithm, cases, draws, k_anonymity, requirements};
use proptest::prelude::*;
use scumble::algorithm::{Goal, Requirement};
use scumble::catalogue::{ALGORITHMS, METRICS};
use scumble::release::{Form, Generalized, Member, Release, Shape};
use scumble::table::{Attribute, Table};
use scumble::taxonomy::{Scale, parse_date};
use scumble::utility::Subject;
use std::collections::BTreeMap;

/// What microaggregation makes, or nothing if it refuses.
fn run(given: &[(&str, &str)], table: &Table, goal: &[Requirement], seed: u64) -> Option<Form> {
    let entry =
        ALGORITHMS.iter().find(|e| e.name == "microaggregation").expect("is in the catalogue");
    let given: BTreeMap<String, String> =
        given.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
    let goal = Goal::new(table, goal);
    let fits = goal.unfit().is_empty();
    fits.then(|| algorithm(entry, &given)?.anonymize(table, &goal, seed, &|_, _| true).ok())
        .flatten()
}

fn generalized(form: &Form) -> &Generalized {
    match form {
        Form::Generalized(form) => form,
        Form::Anatomized(_) => panic!("microaggregation makes classes"),
    }
}

fn sse(table: &Table, form: &Form) -> Option<f64> {
    let metric = METRICS.iter().find(|m| m.name == "sse").expect("is in the catalogue");
    (metric.measure)(&Subject {
        release: &Release::of(table, form),
        k: 1,
        truth: Some((table, form)),
    })
}

/// The texts of a column in a class, one per record; a missing one is empty.
fn texts<'a>(attribute: &'a Attribute, codes: &[u32], members: &[Member]) -> Vec<&'a str> {
    let text = |m: &Member| {
        std::iter::repeat_n(attribute.taxonomy.leaf(codes[m.row as usize]), m.count as usize)
    };
    members.iter().flat_map(text).collect()
}

/// What a class of these texts must show, as its manual says.
fn shown(attribute: &Attribute, texts: &[&str], decimals: usize) -> String {
    let taxonomy = &attribute.taxonomy;
    let leaf = |text: &&str| taxonomy.find(text).or(taxonomy.missing()).expect("its own");
    if *taxonomy.scale() == Scale::Nominal {
        let often = |text: &&str| texts.iter().filter(|t| *t == text).count();
        let best = texts.iter().max_by_key(|&text| (often(text), std::cmp::Reverse(leaf(text))));
        return best.expect("there are records").to_string();
    }
    let mut known: Vec<&str> = texts.iter().copied().filter(|text| !text.is_empty()).collect();
    if 2 * known.len() < texts.len() {
        return String::new();
    }
    if let Scale::Number(grid) = taxonomy.scale() {
        let mean = known.iter().map(|text| text.parse::<f64>().expect("a number")).sum::<f64>()
            / known.len() as f64;
        return format!("{mean:.*}", decimals + grid.decimals as usize);
    }
    known.sort_by_key(leaf);
    known[(known.len() - 1) / 2].to_owned()
}

/// Equal, or numbers that differ by one unit of the last digit.
fn alike(a: &str, b: &str, decimals: Option<usize>) -> bool {
    let near = |(a, b): (f64, f64)| {
        decimals.is_some_and(|d| (a - b).abs() < 1.000_001 * 0.1f64.powi(d as i32))
    };
    a == b || a.parse().ok().zip(b.parse().ok()).is_some_and(near)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_class_shows_its_averages(case in cases(20), draws in draws(), seed: u64, best: bool) {
        let method = if best { "best" } else { "mdav" };
        let goal = requirements(&draws, &case.table);
        let Some(form) = run(&[("method", method), ("effort", "1"), ("decimals", "2")], &case.table, &goal, seed)
        else { return Ok(()) };
        let form = generalized(&form);
        prop_assert_eq!(form.shape, Shape::Representatives);
        let quasi = form.quasi.as_ref().expect("its own attributes");
        for class in &form.classes {
            for (i, attribute) in case.table.quasi.iter().enumerate() {
                let texts = texts(attribute, &case.table.quasi_codes[i], &class.members);
                let shows = quasi[i].taxonomy.label(class.region[i]);
                let decimals = match attribute.taxonomy.scale() {
                    Scale::Number(grid) => Some(2 + grid.decimals as usize),
                    _ => None,
                };
                let right = shown(attribute, &texts, 2);
                // Groups that show the same are joined; their mean may then round otherwise.
                prop_assert!(alike(&shows, &right, decimals), "{} is not {}", shows, right);
            }
        }
    }

    /// Nothing depends on the order of the table, and searching is never worse than not searching.
    #[test]
    fn order_is_nothing_and_search_is_no_loss(case in cases(24), k in 1u64..5, seed: u64) {
        let (goal, other) = (vec![k_anonymity(k)], case.reversed());
        let mut found = Vec::new();
        for method in ["best", "mdav"] {
            let given = [("method", method), ("effort", "1"), ("decimals", "9")];
            let (a, b) = (run(&given, &case.table, &goal, seed), run(&given, &other.table, &goal, seed));
            prop_assert_eq!(a.is_some(), b.is_some());
            let (Some(a), Some(b)) = (a, b) else { return Ok(()) };
            prop_assert_eq!(&Release::of(&case.table, &a).classes, &Release::of(&other.table, &b).classes);
            found.extend(sse(&case.table, &a));
        }
        let numbers = |a: &Attribute| matches!(a.taxonomy.scale(), Scale::Number(_)) && a.taxonomy.missing().is_none();
        // Where only numbers are averaged the metric is what is searched for.
        if let (true, [best, mdav]) = (case.table.quasi.iter().all(numbers), &found[..]) {
            prop_assert!(*best <= mdav + 1e-6, "{} > {}", best, mdav);
        }
    }

    /// The metric, from texts.
    #[test]
    fn squared_errors_are_right(case in cases(16), k in 1u64..5) {
        let Some(form) = run(&[("method", "mdav")], &case.table, &[k_anonymity(k)], 0) else { return Ok(()) };
        let made = generalized(&form);
        let mut shares = Vec::new();
        for (i, attribute) in case.table.quasi.iter().enumerate() {
            let place = |text: &str| match attribute.taxonomy.scale() {
                Scale::Number(_) => text.parse::<f64>().ok(),
                Scale::Date(_) => parse_date(text).map(|day| day as f64),
                _ => None,
            };
            let quasi = &made.quasi.as_ref().expect("its own")[i];
            let mut pairs = Vec::new();
            for class in &made.classes {
                let shows = place(&quasi.taxonomy.label(class.region[i]));
                let own = texts(attribute, &case.table.quasi_codes[i], &class.members);
                pairs.extend(own.into_iter().filter_map(|text| Some((place(text)?, shows))));
            }
            let mean = pairs.iter().map(|(x, _)| x).sum::<f64>() / pairs.len() as f64;
            let all: f64 = pairs.iter().map(|(x, _)| (x - mean).powi(2)).sum();
            let moved: f64 = pairs.iter().map(|(x, shows)| (x - shows.unwrap_or(mean)).powi(2)).sum();
            if all > 1e-9 {
                shares.push(moved / all);
            }
        }
        let expected = (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64);
        match (expected, sse(&case.table, &form)) {
            (Some(a), Some(b)) => prop_assert!((a - b).abs() < 1e-9, "{} is not {}", b, a),
            (a, b) => prop_assert_eq!(a, b),
        }
    }
}

/// A line of numbers, two by two.
#[test]
fn a_line_is_cut_into_neighbours() {
    let case = Case::line(6);
    let form = run(&[("decimals", "1")], &case.table, &[k_anonymity(2)], 0).expect("six records");
    let release = Release::of(&case.table, &form);
    let labels: Vec<Vec<String>> = release.classes.iter().map(|c| release.labels(c)).collect();
    assert_eq!(labels, [["1.5"], ["3.5"], ["5.5"]]);
    // Three groups of two: ½ each, of 17½.
    assert!((sse(&case.table, &form).expect("numbers") - 1.5 / 17.5).abs() < 1e-12);
}
