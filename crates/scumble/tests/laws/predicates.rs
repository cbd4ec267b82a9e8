//! Laws of the predicate language: expressions mean what a plain evaluation of their trees says,
//! and mistakes are shown.

use super::models::{class, judge, whole};
use proptest::prelude::*;
use scumble::catalogue::{MODELS, Parameters};
use scumble::failure::Failure;
use scumble::model::Model;
use std::collections::BTreeMap;

/// The values of the flat column of the cases.
const VALUES: [&str; 4] = ["red", "green", "blue", "grey"];

#[derive(Clone, Debug)]
enum Number {
    Tenths(u32),
    Name(&'static str),
    Rank(usize),
    Of(&'static str, Vec<usize>),
    Negative(Box<Number>),
    Both(char, Box<Number>, Box<Number>),
}

#[derive(Clone, Debug)]
enum Truth {
    Compare(&'static str, Number, Number),
    Both(&'static str, Box<Truth>, Box<Truth>),
    Not(Box<Truth>),
}

impl Number {
    /// With as few brackets as the rules of precedence allow.
    fn show(&self, within: u8) -> String {
        match self {
            Number::Tenths(n) => format!("{}.{}", n / 10, n % 10),
            Number::Name(name) => (*name).into(),
            Number::Rank(i) => format!("rank({i})"),
            Number::Of(name, values) => {
                let values: Vec<String> =
                    values.iter().map(|&v| format!("'{}'", VALUES[v])).collect();
                format!("{name}({})", values.join(", "))
            }
            Number::Negative(a) => format!("-{}", a.show(3)),
            Number::Both(c, a, b) => {
                let own = if "+-".contains(*c) { 1 } else { 2 };
                brackets(format!("{} {c} {}", a.show(own), b.show(own + 1)), own < within)
            }
        }
    }

    /// Numerator and denominator; nothing when dividing by zero.
    fn value(
        &self,
        class: &BTreeMap<&str, i128>,
        table: &BTreeMap<&str, i128>,
    ) -> Option<(i128, i128)> {
        let mut counts: Vec<i128> = class.values().copied().filter(|&n| n > 0).collect();
        counts.sort_unstable();
        let size: i128 = counts.iter().sum();
        Some(match self {
            Number::Tenths(n) => (i128::from(*n), 10),
            Number::Name("size") => (size, 1),
            Number::Name("distinct") => (counts.len() as i128, 1),
            Number::Name("max") => (*counts.last()?, 1),
            Number::Name(_) => (*counts.first()?, 1),
            Number::Rank(i) => (counts.iter().rev().nth(i - 1).copied().unwrap_or(0), 1),
            Number::Of(name, values) => {
                let from = if *name == "table_share" { table } else { class };
                let listed = (0..VALUES.len()).filter(|v| values.contains(v));
                let sum = listed.map(|v| from[VALUES[v]]).sum();
                (sum, if *name == "count" { 1 } else { from.values().sum() })
            }
            Number::Negative(a) => {
                let (n, d) = a.value(class, table)?;
                (-n, d)
            }
            Number::Both(c, a, b) => {
                let ((n, d), (m, e)) = (a.value(class, table)?, b.value(class, table)?);
                let (num, den) = match c {
                    '+' => (n * e + m * d, d * e),
                    '-' => (n * e - m * d, d * e),
                    '*' => (n * m, d * e),
                    _ => (n * e, d * m),
                };
                if den == 0 {
                    return None;
                }
                (num * den.signum(), den.abs())
            }
        })
    }
}

fn brackets(text: String, needed: bool) -> String {
    if needed { format!("({text})") } else { text }
}

impl Truth {
    fn show(&self, within: u8) -> String {
        match self {
            Truth::Compare(c, a, b) => {
                brackets(format!("{} {c} {}", a.show(0), b.show(0)), within > 4)
            }
            Truth::Not(a) => format!("not {}", a.show(3)),
            Truth::Both(word, a, b) => {
                let own = if *word == "or" { 1 } else { 2 };
                brackets(format!("{} {word} {}", a.show(own), b.show(own + 1)), own < within)
            }
        }
    }

    fn is_true(&self, class: &BTreeMap<&str, i128>, table: &BTreeMap<&str, i128>) -> bool {
        match self {
            Truth::Compare(c, a, b) => {
                let (Some((n, d)), Some((m, e))) = (a.value(class, table), b.value(class, table))
                else {
                    return false;
                };
                let (left, right) = (n * e, m * d);
                match *c {
                    "<" => left < right,
                    "<=" => left <= right,
                    ">" => left > right,
                    ">=" => left >= right,
                    "=" => left == right,
                    _ => left != right,
                }
            }
            Truth::Not(a) => !a.is_true(class, table),
            Truth::Both("and", a, b) => a.is_true(class, table) && b.is_true(class, table),
            Truth::Both(_, a, b) => a.is_true(class, table) || b.is_true(class, table),
        }
    }
}

fn numbers() -> impl Strategy<Value = Number> {
    let values = prop::collection::vec(0..VALUES.len(), 1..4);
    let leaf = prop_oneof![
        (0u32..40).prop_map(Number::Tenths),
        prop::sample::select(vec!["size", "distinct", "max", "min"]).prop_map(Number::Name),
        (1usize..6).prop_map(Number::Rank),
        (prop::sample::select(vec!["count", "share", "table_share"]), values)
            .prop_map(|(n, v)| Number::Of(n, v)),
    ];
    leaf.prop_recursive(3, 5, 2, |inner| {
        let both = (prop::sample::select(vec!['+', '-', '*', '/']), inner.clone(), inner.clone());
        prop_oneof![
            1 => inner.prop_map(|a| Number::Negative(Box::new(a))),
            4 => both.prop_map(|(c, a, b)| Number::Both(c, Box::new(a), Box::new(b))),
        ]
    })
}

fn truths() -> impl Strategy<Value = Truth> {
    let compare = prop::sample::select(vec!["<", "<=", ">", ">=", "=", "!="]);
    let leaf = (compare, numbers(), numbers()).prop_map(|(c, a, b)| Truth::Compare(c, a, b));
    leaf.prop_recursive(3, 6, 2, |inner| {
        let both = (prop::sample::select(vec!["and", "or"]), inner.clone(), inner.clone());
        prop_oneof![
            1 => inner.prop_map(|a| Truth::Not(Box::new(a))),
            4 => both.prop_map(|(w, a, b)| Truth::Both(w, Box::new(a), Box::new(b))),
        ]
    })
}

fn predicate(expression: &str) -> Result<Box<dyn Model>, Failure> {
    let entry = MODELS.iter().find(|e| e.name == "predicate").expect("is in the catalogue");
    let given = BTreeMap::from([("expression".to_owned(), expression.to_owned())]);
    (entry.build)(&Parameters::read(entry.name, entry.parameters, &given).expect("a text"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn expressions_mean_what_they_say(
        truth in truths(),
        counts in prop::collection::vec(prop::collection::vec(0u64..6, 4), 2..4),
    ) {
        prop_assume!(counts.iter().all(|c| c.iter().any(|&n| n > 0)));
        let table = whole(4, &counts);
        let named = |counts: &[u64]| -> BTreeMap<&str, i128> {
            VALUES.iter().map(|v| (*v, counts[table.0.taxonomy.find(v).expect("a value") as usize].into())).collect()
        };
        let text = truth.show(0);
        let model = predicate(&text).unwrap_or_else(|problem| panic!("{text}: {problem}"));
        let overall = named(&table.1.counts);
        for counts in &counts {
            let expected = truth.is_true(&named(counts), &overall);
            prop_assert_eq!(judge(&*model, &table, &class(counts)).holds, expected, "{}", text);
        }
    }

    #[test]
    fn no_expression_panics(text in "([a-z_]{1,5}|[0-9.]{1,3}|'[a-z]?'?|[-+*/<>=!(),\" é]|and|or|not|size|share|rank){0,20}") {
        if let Err(problem) = predicate(&text) {
            prop_assert!(problem.message.contains("character ") && problem.remedy.is_some(), "{}", problem);
        }
    }
}

#[test]
fn mistakes_are_shown_where_they_are() {
    let right = "distinct >= 3 and max / size <= 0.5 and share('HIV', \"it''s\") <= 2 * table_share('O''Neill')";
    assert!(predicate(right).is_ok());
    for (wrong, at, words) in [
        ("", 1, "not the end"),
        ("distinct >=", 12, "not the end"),
        ("distinct >= and size > 1", 13, "not `and`"),
        ("dinstinct >= 2", 1, "did you mean `distinct`"),
        ("distinct", 1, "neither true nor false"),
        ("size > 1 size", 10, "expected an operator"),
        ("size = = 2", 8, "not `=`"),
        ("1 < size < 9", 10, "join comparisons"),
        ("size and size > 1", 6, "compare the number first"),
        ("not size", 1, "compare the number first"),
        ("-(size > 1) = 2", 1, "is for numbers"),
        ("(size > 1", 10, "expected `)`"),
        ("share(HIV) < 1", 7, "a value in quotes"),
        ("share('HIV' < 1", 13, "expected `)`"),
        ("share('HIV) < 1", 7, "has no end"),
        ("'HIV' < 1", 1, "share('…')"),
        ("rank(0) < 1", 6, "counted from 1"),
        ("rank(1.5) < 1", 6, "counted from 1"),
        ("1.2.3 < 1", 1, "a decimal number"),
        ("size > 1 && max < 2", 10, "means nothing"),
    ] {
        let problem =
            predicate(wrong).err().unwrap_or_else(|| panic!("`{wrong}` is wrong")).to_string();
        assert!(
            problem.contains(&format!("character {at}:")) && problem.contains(words),
            "`{wrong}`: {problem}"
        );
    }
    assert!(predicate(&"(".repeat(100_000)).is_err());
    assert!(predicate(&vec!["size > 1"; 200].join(" and ")).is_err());
    assert!(predicate(&vec!["size > 1"; 100].join(" and ")).is_ok());
}

#[test]
fn what_is_divided_by_zero_compares_with_nothing() {
    let table = whole(4, &[vec![1, 2]]);
    let holds =
        |text: &str| judge(&*predicate(text).expect("right"), &table, &class(&[1, 2])).holds;
    for never in ["1 / 0 = 1", "1 / 0 != 1", "0 < size / (size - size)", "1 / (1 / 0) = 0"] {
        assert!(!holds(never), "{never}");
    }
    assert!(holds("not 1 / 0 = 1") && holds("size = 3 or 1 / 0 = 1"));
}

/// Numbers of any length are computed exactly.
#[test]
fn large_numbers_are_exact() {
    let table = whole(4, &[vec![1, 2]]);
    let holds =
        |text: &str| judge(&*predicate(text).expect("right"), &table, &class(&[1, 2])).holds;
    let large = "99999999999999999999999999999999999999";
    assert!(holds(&format!("{large} * {large} * {large} + 1 > {large} * {large} * {large}")));
    assert!(holds("0.1 + 0.2 = 0.3 and 1 / 3 * 3 = 1 and 2 - 3 = -1"));
}
