//! Attacks on published statistics: the lecture's example, and brute force on small random systems.

use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use scumble::attack::statistics::{
    Disclosure, Finding, Kind, Line, People, Statistic, averaging, differencing, read,
};
use scumble::exact::{Ratio, Rational};
use scumble::register::{Register, RegisterColumn};
use std::collections::BTreeSet;

fn names(people: impl IntoIterator<Item = u32>) -> String {
    people.into_iter().map(|p| format!("p{p}")).collect::<Vec<_>>().join(" ")
}

fn line<'a>(
    number: usize,
    statistic: &'a str,
    of: &'a str,
    over: &'a str,
    value: &'a str,
) -> Line<'a> {
    Line { number, statistic, of, over, value, ..Line::default() }
}

fn statistics(lines: &[Line<'_>]) -> Vec<Statistic> {
    read(lines, Some(&mut People::named())).unwrap_or_else(|p| panic!("{p}"))
}

fn number(text: &str) -> Rational {
    let (num, den) = text.split_once('/').unwrap_or((text, "1"));
    Rational::new(num.parse::<i64>().unwrap(), den.parse::<i64>().unwrap()).unwrap()
}

/// G2.7 with the erratum E2.1: the second mean is 728, not 648.
#[test]
fn two_means_give_the_income_of_the_one_who_is_left() {
    let (all, but_one) = (names(1..=50), names(1..=49));
    let published = statistics(&[
        line(2, "mean", "income", &all, "732"),
        line(3, "mean", "income", &but_one, "728"),
    ]);
    let found = differencing(&published, 5).unwrap().disclosures;
    let [one] = &found[..] else { panic!("{found:?}") };
    assert_eq!((one.people.as_slice(), one.finding), (&[49][..], Finding::Value));
    assert_eq!(one.formula(&published), "50 · 732 − 49 · 728 = 928");
    assert_eq!((&one.value, one.within.to_string().as_str()), (&number("928"), "49.5"));
    // Not rounded at all.
    let exact = [("732", &all), ("728", &but_one)];
    let exact =
        exact.map(|(value, over)| Line { unit: "0", ..line(1, "mean", "income", over, value) });
    let one = &differencing(&statistics(&exact), 5).unwrap().disclosures[0];
    assert!(one.value == number("928") && one.within.is_zero() && one.deviation == 0.0);
    // The noises 3.4 and −1.2 of the example, here as standard deviations.
    let noisy = [("735.4", "3.4", &all), ("726.8", "1.2", &but_one)];
    let noisy =
        noisy.map(|(value, noise, over)| Line { noise, ..line(1, "mean", "income", over, value) });
    let one = &differencing(&statistics(&noisy), 5).unwrap().disclosures[0];
    assert_eq!(one.value.to_string(), "1156.8");
    let error = one.value.minus(&number("928"));
    assert_eq!(
        error,
        number("50").times(&number("34/10")).plus(&number("49").times(&number("12/10")))
    );
    assert_eq!(error.to_string(), "228.8");
    assert!((one.deviation - (170f64.powi(2) + 58.8f64.powi(2)).sqrt()).abs() < 1e-9);
}

/// Whether a vector is a combination of rows: the slow way, in fractions.
fn in_row_space(rows: &[Vec<i64>], vector: &[i64]) -> bool {
    let rank = |rows: &[Vec<i64>]| {
        let mut rows: Vec<Vec<Rational>> =
            rows.iter().map(|r| r.iter().map(|&x| Rational::whole(x)).collect()).collect();
        let mut rank = 0;
        for column in 0..vector.len() {
            let Some(pivot) = (rank..rows.len()).find(|&i| !rows[i][column].is_zero()) else {
                continue;
            };
            rows.swap(rank, pivot);
            let row = rows[rank].clone();
            for other in &mut rows[rank + 1..] {
                let factor = other[column].over(&row[column]).unwrap();
                other.iter_mut().zip(&row).for_each(|(x, y)| *x = x.minus(&factor.times(y)));
            }
            rank += 1;
        }
        rank
    };
    let with = [rows, &[vector.to_vec()]].concat();
    rank(rows) == rank(&with)
}

fn indicator(set: &[u32], people: usize) -> Vec<i64> {
    (0..people as u32).map(|p| set.contains(&p).into()).collect()
}

/// A random system of sums: the people of each statistic, and everybody's value.
fn random_system(random: &mut ChaCha8Rng) -> (usize, Vec<Vec<u32>>, Vec<i64>) {
    let people = random.random_range(1..=8usize);
    let sets = (0..random.random_range(1..=8)).map(|_| {
        let density = random.random_range(0.3..0.9);
        let mut set: Vec<u32> =
            (0..people as u32).filter(|_| random.random_bool(density)).collect();
        if set.is_empty() {
            set.push(random.random_range(0..people as u32));
        }
        set
    });
    let sets: Vec<Vec<u32>> = sets.collect();
    (people, sets, (0..people).map(|_| random.random_range(-50..50)).collect())
}

fn sum_statistic(set: &[u32], value: Rational) -> Statistic {
    Statistic {
        line: 1,
        kind: Kind::Sum,
        of: "x".into(),
        over: names(set.iter().copied()),
        people: set.to_vec(),
        text: value.to_string(),
        value,
        unit: Rational::whole(0),
        noise: None,
    }
}

fn total(values: &[i64], set: &[u32]) -> i64 {
    set.iter().map(|&p| values[p as usize]).sum()
}

#[test]
fn determined_people_and_sets_are_those_of_linear_algebra() {
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let (mut alone, mut together) = (0, 0);
    for round in 0..1500 {
        let (people, sets, values) = random_system(&mut random);
        let rows: Vec<Vec<i64>> = sets.iter().map(|set| indicator(set, people)).collect();
        let published: Vec<Statistic> = sets
            .iter()
            .map(|set| sum_statistic(set, Rational::whole(total(&values, set))))
            .collect();
        let threshold = random.random_range(2..=5);
        let found = differencing(&published, threshold).unwrap().disclosures;
        for d in &found {
            assert_eq!(d.value, Rational::whole(total(&values, &d.people)), "round {round}");
            let times = |s: usize| {
                d.terms.iter().find(|t| t.statistic == s).map_or(number("0"), |t| t.times.clone())
            };
            let sum = |p: usize| {
                (0..rows.len())
                    .fold(number("0"), |x, s| x.plus(&times(s).times(&Rational::whole(rows[s][p]))))
            };
            assert!(
                (0..people)
                    .all(|p| sum(p) == Rational::whole(d.people.contains(&(p as u32)) as i64))
            );
        }
        let told: BTreeSet<Vec<u32>> = found.into_iter().map(|d| d.people).collect();
        let determined = |set: &[u32]| in_row_space(&rows, &indicator(set, people));
        let single: Vec<u32> = (0..people as u32).filter(|&p| determined(&[p])).collect();
        alone += single.len();
        for p in 0..people as u32 {
            assert_eq!(
                told.contains(&vec![p]),
                single.contains(&p),
                "round {round}, person {p}: {sets:?}"
            );
        }
        // Sets that are determined, hold nobody who is and no smaller such set.
        let mut least: Vec<Vec<u32>> = Vec::new();
        let mut subsets: Vec<Vec<u32>> = (1u32..1 << people)
            .map(|m| (0..people as u32).filter(|p| m >> p & 1 == 1).collect())
            .collect();
        subsets.sort_by_key(Vec::len);
        for set in subsets.into_iter().filter(|s| s.len() > 1 && (s.len() as u64) < threshold) {
            let smaller = least.iter().any(|l| l.iter().all(|p| set.contains(p)));
            if !smaller && !set.iter().any(|p| single.contains(p)) && determined(&set) {
                least.push(set);
            }
        }
        together += least.len();
        let kinds = |set: &[u32]| {
            let of = |p: u32| sets.iter().map(|s| s.contains(&p)).collect::<Vec<_>>();
            set.iter().map(|&p| of(p)).collect::<BTreeSet<_>>().len()
        };
        for set in &told {
            assert!(set.len() == 1 || least.contains(set), "round {round}: {set:?}");
        }
        for set in least.iter().filter(|set| kinds(set) <= 3) {
            assert!(told.contains(set), "round {round}: {set:?} of {sets:?}");
        }
    }
    assert!(alone > 500 && together > 300, "{alone} {together}");
}

#[test]
fn what_rounding_leaves_holds_the_truth() {
    let mut random = ChaCha8Rng::seed_from_u64(8);
    let mut found = 0;
    for _ in 0..500 {
        let (_, sets, values) = random_system(&mut random);
        let published = sets.iter().map(|set| {
            let unit = [1i64, 5, 10][random.random_range(0..3)];
            let mean = random.random_bool(0.5);
            let size = if mean { set.len() as i64 } else { 1 };
            // The nearest multiple of the unit, halves up.
            let units = (2 * total(&values, set) + unit * size).div_euclid(2 * unit * size);
            let value = Rational::whole(units * unit);
            let kind = if mean { Kind::Mean } else { Kind::Sum };
            Statistic { kind, unit: Rational::whole(unit), ..sum_statistic(set, value) }
        });
        let published: Vec<Statistic> = published.collect();
        for d in differencing(&published, 4).expect("rounded values do not contradict").disclosures
        {
            let truth = Rational::whole(total(&values, &d.people));
            assert!(d.value.minus(&truth).magnitude() <= d.within, "{d:?} {truth}");
            found += 1;
        }
    }
    assert!(found > 500, "{found}");
}

/// Dinur and Nissim: enough counts of random groups tell everything about everybody.
#[test]
fn many_counts_reconstruct_a_column() {
    let mut random = ChaCha8Rng::seed_from_u64(9);
    let people = 60u32;
    let ill: Vec<bool> = (0..people).map(|_| random.random_bool(0.3)).collect();
    let statistic = |set: Vec<u32>| {
        let count = set.iter().filter(|&&p| ill[p as usize]).count();
        Statistic { kind: Kind::Count, ..sum_statistic(&set, Rational::whole(count)) }
    };
    let sets: Vec<Vec<u32>> =
        (0..90).map(|_| (0..people).filter(|_| random.random_bool(0.5)).collect()).collect();
    let told = |published: &[Statistic]| -> Vec<Disclosure> {
        differencing(published, 5)
            .unwrap()
            .disclosures
            .into_iter()
            .filter(|d| d.people.len() == 1)
            .collect()
    };
    let published: Vec<Statistic> = sets.into_iter().map(statistic).collect();
    let found = told(&published);
    assert_eq!(found.len(), people as usize);
    for d in found {
        let expected = if ill[d.people[0] as usize] { Finding::Everybody } else { Finding::Nobody };
        assert_eq!(d.finding, expected);
    }
    assert!(told(&published[..40]).is_empty());
}

#[test]
fn the_shortest_combination_is_told() {
    let [abcd, abc, ab, cd, a, d] = ["a b c d", "a b c", "a b", "c d", "a", "d"];
    let published = statistics(&[
        line(2, "sum", "x", abcd, "10"),
        line(3, "sum", "x", ab, "3"),
        line(4, "sum", "x", cd, "7"),
        line(5, "sum", "x", abc, "6"),
        line(6, "sum", "x", a, "1"),
    ]);
    let found = differencing(&published, 5).unwrap().disclosures;
    let formulas: Vec<String> = found.iter().map(|d| d.formula(&published)).collect();
    assert_eq!(formulas, ["1 = 1", "3 − 1 = 2", "6 − 3 = 3", "10 − 6 = 4"]);
    assert!(found.iter().all(|f| f.people.len() == 1) && d == "d");
}

#[test]
fn counts_tell_when_few_or_all_are_counted() {
    let (all, some) = (names(1..=40), names(1..=37));
    let published = statistics(&[
        line(2, "count", "", &all, "40"),
        line(3, "count", "", &some, "37"),
        line(4, "count", "HIV", &all, "9"),
        line(5, "count", "HIV", &some, "6"),
        line(6, "count", "Flu", &all, "4"),
    ]);
    let found = differencing(&published, 5).unwrap();
    let shown: Vec<(&str, &str, usize, String)> = found
        .disclosures
        .iter()
        .map(|d| (d.finding.name(), d.of.as_str(), d.people.len(), d.value.to_string()))
        .collect();
    let expected = [
        ("everybody", "HIV", 3, "3".to_owned()),
        ("small count", "", 3, "3".into()),
        ("small count", "Flu", 40, "4".into()),
    ];
    assert_eq!(shown, expected);
    let figure = |name: &str| found.figures.iter().find(|f| f.name == name).map(|f| f.value);
    assert_eq!(
        (figure("determined"), figure("small_counts"), figure("people")),
        (Some(3.0), Some(2.0), Some(40.0))
    );
}

fn register() -> Register {
    let column = |name: &str, cells: &[&str]| RegisterColumn {
        name: name.into(),
        texts: cells.iter().map(|&c| c.to_owned()).collect(),
        codes: (0..cells.len() as u32).collect(),
    };
    let columns = vec![
        column("name", &["Ann Lee", "Bob", "Cid", "Dee"]),
        column("job", &["Engineer", "Engineer", "Writer", "Engineer"]),
        column("age", &["30", "35.0", "50", "41"]),
    ];
    Register::new(columns).unwrap()
}

#[test]
fn conditions_are_looked_up_in_a_register() {
    let lines = [
        line(2, "mean", "income", "job = Engineer", "50"),
        line(3, "mean", "income", "age in [30, 40] and job = Engineer", "40"),
        line(4, "sum", "income", "'Ann Lee' Cid", "90"),
        Line { people: "4", ..line(5, "sum", "income", "*", "230") },
    ];
    let mut people = People::of_register(register(), Some("name")).unwrap();
    let published = read(&lines, Some(&mut people)).unwrap();
    assert_eq!(published[1].people, [0, 1]);
    let found = differencing(&published, 2).unwrap().disclosures;
    let told: Vec<String> = found
        .iter()
        .map(|d| format!("{}: {}", people.label(d.people[0]), d.formula(&published)))
        .collect();
    let cid = "Cid: −3 · 50 + 230 = 80";
    assert!(told.contains(&"Dee: 3 · 50 − 2 · 40 = 70".into()) && told.len() == 4, "{told:?}");
    assert!(told.contains(&cid.replace("−3 · 50 + 230", "230 − 3 · 50")), "{told:?}");
}

#[test]
fn what_is_wrong_is_said_with_its_line() {
    let told = |line: Line<'_>, people: Option<&mut People>| {
        read(&[line], people).unwrap_err().to_string()
    };
    let good = line(7, "mean", "income", "job = Engineer", "50");
    let mut rows = People::of_register(register(), None).unwrap();
    let mut named = People::of_register(register(), Some("name")).unwrap();
    for (wrong, expected) in [
        (
            Line { statistic: "median", ..good },
            "line 7: `median` is no statistic\n  hint: did you mean `mean`?",
        ),
        (Line { of: " ", ..good }, "line 7: it is not said what the mean is of"),
        (Line { value: "1,5", ..good }, "line 7: the value `1,5` is no number"),
        (Line { noise: "-1", ..good }, "line 7: `-1` in column `noise` is no number"),
        (Line { unit: "x", ..good }, "line 7: `x` in column `unit` is no number"),
        (Line { people: "2", ..good }, "line 7: it says 2 people, but `job = Engineer` are 3"),
        (Line { over: "", ..good }, "line 7: it is not said who"),
        (
            Line { over: "jobb = Engineer", ..good },
            "line 7: the register has no column `jobb`\n  hint: did you mean `job`?",
        ),
        (Line { over: "job = ", ..good }, "line 7: the query, column"),
        (Line { over: "age > 99", ..good }, "line 7: nobody of the register meets"),
        (Line { over: "Bob Zoe", ..good }, "line 7: `Zoe` is not in the register"),
        (Line { over: "Bob 'Ann", ..good }, "line 7: a quote is not closed"),
        (Line { over: "Bob Bob", ..good }, "line 7: somebody is named twice"),
    ] {
        let text = told(wrong, Some(&mut named));
        assert!(text.starts_with(expected) && text.contains("hint: "), "{text}");
    }
    let text = told(Line { over: "Bob", ..good }, Some(&mut rows));
    assert!(text.contains("say which column does with"), "{text}");
    let text = told(good, Some(&mut People::named()));
    assert!(text.contains("give the people with"), "{text}");
    assert!(read(&[], None).is_err());
    let contradiction = statistics(&[
        line(2, "sum", "x", "a b", "10"),
        line(3, "sum", "x", "a", "4"),
        line(4, "sum", "x", "b", "8"),
        line(5, "sum", "y", "a", "8"),
    ]);
    let text = differencing(&contradiction, 5).unwrap_err().to_string();
    assert!(text.starts_with("the statistics of lines 2, 3, 4 contradict each other"), "{text}");
}

#[test]
fn fresh_noise_averages_out() {
    let noisy = |number: usize, value: &'static str| Line {
        noise: "4",
        ..line(number, "count", "HIV", "ward = 3", value)
    };
    let mut lines: Vec<Line<'_>> =
        ["18.5", "25.1", "20.2", "16.2"].iter().zip(2..).map(|(v, n)| noisy(n, v)).collect();
    lines[1].over = " ward   =  3";
    lines.extend(["7", "7"].iter().zip(6..).map(|(v, n)| line(n, "mean", "age", "b a", v)));
    lines.extend(
        ["7.0", "7.4", "6.6"]
            .iter()
            .zip(8..)
            .map(|(v, n)| line(n, "mean", "height", ["a b", "b a"][n % 2], v)),
    );
    let published = read(&lines, None).unwrap();
    let (averages, figures) = averaging(&published);
    let [ward, height] = &averages[..] else { panic!("{averages:?}") };
    assert_eq!((ward.statistics.as_slice(), ward.noise_known), (&[0, 1, 2, 3][..], true));
    assert!((ward.estimate - 20.0).abs() < 1e-12 && (ward.error - 2.0).abs() < 1e-12);
    assert!((ward.interval.0 - 16.08).abs() < 0.001 && (ward.interval.1 - 23.92).abs() < 0.001);
    // 1.96 · 4 / √n ≤ ½.
    assert_eq!((ward.needed, ward.is_narrow()), (246, false));
    assert!(
        (height.estimate - 7.0).abs() < 1e-12 && (height.error - 0.4 / 3f64.sqrt()).abs() < 1e-9
    );
    assert!(
        (height.interval.1 - height.estimate - 4.303 * height.error).abs() < 1e-9
            && !height.noise_known
    );
    assert_eq!(figures.iter().find(|f| f.name == "repeated").map(|f| f.value), Some(2.0));
    let precise = [("7", "0.1"), ("7.2", "0.2")]
        .map(|(v, noise)| Line { noise, ..line(1, "sum", "x", "a", v) });
    let weighed = &averaging(&read(&precise, None).unwrap()).0[0];
    assert!((weighed.estimate - 7.04).abs() < 1e-12 && weighed.needed > 1);
    assert_eq!(published[0].noise, Some(Ratio::whole(4)));
}

proptest! {
    #[test]
    fn no_line_makes_the_reader_panic(
        cells in proptest::collection::vec("[a-z0-9 =<>'\"()\\[\\],.*é-]{0,12}|count|sum|mean|1e9|99999999999999999999", 7),
    ) {
        let [statistic, of, over, value, people, noise, unit] = [0, 1, 2, 3, 4, 5, 6].map(|i: usize| cells[i].as_str());
        let line = Line { number: 1, statistic, of, over, value, people, noise, unit };
        for given in [None, Some(People::named()), Some(People::of_register(register(), Some("name")).unwrap())] {
            for line in [line, Line { statistic: "sum", value: "3", ..line }] {
                if let Ok(statistics) = read(&[line], given.clone().as_mut()) {
                    let _ = (differencing(&statistics, 5), averaging(&statistics));
                }
            }
        }
    }
}
