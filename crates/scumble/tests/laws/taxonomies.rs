//! Laws of taxonomies: the fixed columns of `cases`, and random ones of every rule.

use super::cases::{KINDS, column};
use super::naive;
use proptest::prelude::*;
use scumble::class::Run;
use scumble::encode::encode;
use scumble::taxonomy::{
    Decimal, Granularity, Intervals, Prefix, ROOT, Rule, Scale, Taxonomy, Unit, parse_date,
    parse_rows, write_rows,
};
use std::collections::BTreeSet;

fn runs(t: &Taxonomy) -> impl Iterator<Item = Run> {
    let leaves = t.leaves() as u32;
    (0..leaves).flat_map(move |first| (first..leaves).map(move |last| Run { first, last }))
}

/// Every run that a release may show, by brute force: any range that does not mix in the missing
/// value, or any node.
fn publishable(t: &Taxonomy) -> BTreeSet<Run> {
    let nodes =
        (0..t.leaves() as u32).flat_map(|leaf| (0..=t.levels()).map(move |level| (leaf, level)));
    let mut all: BTreeSet<Run> = nodes.map(|(leaf, level)| t.at_level(leaf, level)).collect();
    if t.is_ordered() {
        all = runs(t).filter(|r| t.missing().is_none_or(|m| r.last != m || r.first == m)).collect();
        all.insert(t.root());
    }
    all
}

fn laws(t: &Taxonomy) -> Result<(), TestCaseError> {
    let shown = publishable(t);
    for run in runs(t) {
        let smallest = shown.iter().filter(|r| r.covers(run)).min_by_key(|r| r.width()).copied();
        prop_assert_eq!(Some(t.cover(run)), smallest, "cover of {:?}", run);
        prop_assert_eq!(t.cover(run), naive::cover(t, run.first, run.last));
        for other in runs(t).filter(|r| r.covers(run)) {
            prop_assert!(
                t.size(run) <= t.size(other) && t.loss(run) <= t.loss(other),
                "{:?} in {:?}",
                run,
                other
            );
        }
        prop_assert!(t.size(run) >= 1 && (0.0..=1.0).contains(&t.loss(run)));
        children_divide(t, run)?;
    }
    let mut labels = BTreeSet::new();
    for &run in &shown {
        let label = t.label(run);
        prop_assert_eq!(t.parse(&label), Some(run), "`{}`", label);
        prop_assert!(labels.insert(label.to_string()), "`{}` stands for two runs", label);
    }
    prop_assert!(t.leaves() < 2 || t.loss(t.root()) == 1.0 || t.size(t.root()) == 1);
    levels_nest(t)?;
    nodes_are_visited(t)
}

/// The children of the lowest node over a run lie side by side and make up the node.
fn children_divide(t: &Taxonomy, run: Run) -> Result<(), TestCaseError> {
    let level = naive::meeting_level(t, &[run.first, run.last]);
    let node = t.at_level(run.first, level);
    let children = t.children(run);
    if node.first == node.last {
        prop_assert!(children.is_empty());
        return Ok(());
    }
    let lower: BTreeSet<Run> =
        (node.first..=node.last).map(|leaf| t.at_level(leaf, level - 1)).collect();
    prop_assert_eq!(children, lower.into_iter().collect::<Vec<_>>());
    Ok(())
}

/// Every node is a run; a level is a partition; a level is coarser than the one below; the last is
/// the root.
fn levels_nest(t: &Taxonomy) -> Result<(), TestCaseError> {
    for leaf in 0..t.leaves() as u32 {
        prop_assert_eq!(t.at_level(leaf, 0), Run { first: leaf, last: leaf });
        prop_assert_eq!(t.at_level(leaf, t.levels()), t.root());
        for level in 0..=t.levels() {
            let run = t.at_level(leaf, level);
            prop_assert!(run.contains(leaf));
            prop_assert!((run.first..=run.last).all(|other| t.at_level(other, level) == run));
            prop_assert!(level == 0 || run.covers(t.at_level(leaf, level - 1)));
        }
    }
    Ok(())
}

fn nodes_are_visited(t: &Taxonomy) -> Result<(), TestCaseError> {
    let mut seen: BTreeSet<Run> =
        (0..t.leaves() as u32).map(|leaf| Run { first: leaf, last: leaf }).collect();
    let mut wrong = Vec::new();
    t.visit_nodes(|height, children| {
        let run = Run { first: children[0].first, last: children[children.len() - 1].last };
        let level = naive::meeting_level(t, &[run.first, run.last]);
        let before = children.iter().all(|c| seen.contains(c));
        if !before
            || level != height as usize
            || t.at_level(run.first, level) != run
            || !seen.insert(run)
        {
            wrong.push((height, run));
        }
    });
    prop_assert!(wrong.is_empty(), "{:?}", wrong);
    let nodes =
        (0..t.leaves() as u32).flat_map(|leaf| (0..=t.levels()).map(move |level| (leaf, level)));
    prop_assert_eq!(seen, nodes.map(|(leaf, level)| t.at_level(leaf, level)).collect());
    prop_assert!(t.height() as usize >= t.levels());
    Ok(())
}

/// Written as a file and read again it is the same tree.
fn survives_a_file(t: &Taxonomy) -> Result<(), TestCaseError> {
    let rows = t.rows();
    if rows.is_empty() || rows[0].iter().all(String::is_empty) {
        return Ok(()); // nothing but missing values
    }
    let written =
        parse_rows("f", &write_rows(&rows)).map_err(|e| TestCaseError::fail(e.to_string()))?;
    prop_assert_eq!(&written, &rows);
    let again = Taxonomy::from_rows("f", written, t.is_ordered(), t.missing().is_some());
    let again = again.map_err(|e| TestCaseError::fail(e.to_string()))?;
    prop_assert_eq!(
        (again.leaves(), again.levels(), again.missing()),
        (t.leaves(), t.levels(), t.missing())
    );
    for leaf in 0..t.leaves() as u32 {
        prop_assert_eq!(again.leaf(leaf), t.leaf(leaf));
        (0..=t.levels()).try_for_each(|l| {
            prop_assert_eq!(again.at_level(leaf, l), t.at_level(leaf, l));
            Ok(())
        })?;
    }
    Ok(())
}

/// A number in units of 10⁻⁶, read by hand.
fn micro(text: &str) -> i128 {
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |d| (-1, d));
    let (int, frac) = digits.split_once('.').unwrap_or((digits, ""));
    sign * format!("{int}{frac:0<6}")
        .parse::<i128>()
        .unwrap_or_else(|_| panic!("`{text}` is a number"))
}

/// Whether a label of a number scale contains the value.
fn number_in(label: &str, value: &str) -> bool {
    let v = micro(value);
    if let Some(low) = label.strip_prefix('<') {
        return v < micro(low);
    }
    if let Some(high) = label.strip_prefix(">=") {
        return v >= micro(high);
    }
    if label == ROOT || label == value {
        return true;
    }
    let inner = label.strip_prefix('[').expect("a range starts with a bracket");
    let (from, to) = inner.split_once(", ").expect("a range has two ends");
    micro(from) <= v
        && match (to.strip_suffix(')'), to.strip_suffix(']')) {
            (Some(to), _) => v < micro(to),
            (_, Some(to)) => v <= micro(to),
            _ => false,
        }
}

/// Whether a label of a date scale contains the day, told by its text alone.
fn day_in(label: &str, day: &str) -> bool {
    if label == ROOT || label == day {
        return true;
    }
    if let Some(range) = label.strip_prefix('[') {
        let (from, to) = range.trim_end_matches(']').split_once(", ").expect("two ends");
        return from <= day && day <= to; // years of four digits are in the order of their text
    }
    if let Some((year, quarter)) = label.split_once("-Q") {
        let month: u32 = day[5..7].parse().expect("a month");
        return day.starts_with(year) && quarter == month.div_ceil(3).to_string();
    }
    if let Some(monday) = label.strip_prefix("week of ") {
        let (monday, day) = (parse_date(monday).expect("a day"), parse_date(day).expect("a day"));
        return (monday + 3) % 7 == 0 && (monday..monday + 7).contains(&day);
    }
    match label.strip_suffix("0s") {
        Some(decade) => day.starts_with(decade) && decade.len() == 3,
        None => day.starts_with(label),
    }
}

/// Every label above a value, and every published range over it, contains it.
fn labels_contain(
    t: &Taxonomy,
    contains: impl Fn(&str, &str) -> bool,
) -> Result<(), TestCaseError> {
    for row in t.rows() {
        for label in &row[1..] {
            prop_assert!(contains(label, &row[0]), "`{}` is not in `{}`", row[0], label);
        }
    }
    for run in runs(t) {
        let label = t.label(run);
        for leaf in (run.first..=run.last).filter(|&leaf| Some(leaf) != t.missing()) {
            prop_assert!(
                contains(&label, t.leaf(leaf)),
                "`{}` is not in `{}`",
                t.leaf(leaf),
                label
            );
        }
    }
    Ok(())
}

/// On a scale the size of a range is the number of units between its ends, and the missing value is
/// one more.
fn sizes_are_counted(t: &Taxonomy, place: impl Fn(&str) -> i128) -> Result<(), TestCaseError> {
    for run in runs(t) {
        let shown = naive::cover(t, run.first, run.last);
        let places = (shown.first..=shown.last)
            .filter(|&leaf| Some(leaf) != t.missing())
            .map(|leaf| place(t.leaf(leaf)));
        let places: Vec<i128> = places.collect();
        let span = places
            .iter()
            .max()
            .zip(places.iter().min())
            .map_or(0, |(most, least)| most - least + 1);
        let missing = i128::from(t.missing().is_some_and(|m| shown.contains(m)));
        prop_assert_eq!(i128::from(t.size(run)), span + missing, "{:?}", run);
    }
    Ok(())
}

fn generate(
    rule: &Rule,
    values: &BTreeSet<String>,
    missing: bool,
) -> Result<Taxonomy, scumble::failure::Failures> {
    let values: Vec<&str> = values.iter().map(String::as_str).collect();
    Taxonomy::generate(rule, "column", &values, missing)
}

/// Lines of a random tree: every leaf has a path of letters, and a node's label is the path to it.
fn tree_rows() -> impl Strategy<Value = Vec<Vec<String>>> {
    (1usize..4).prop_flat_map(|depth| {
        prop::collection::vec(prop::collection::vec(0u8..3, depth), 1..9).prop_map(move |paths| {
            let row = |(i, path): (usize, &Vec<u8>)| {
                let node = |level: usize| {
                    path[..level].iter().map(|b| (b'a' + b) as char).collect::<String>()
                };
                let mut row = vec![format!("leaf {i}")];
                row.extend((1..=depth).rev().map(|level| format!("node {}", node(level))));
                row.push("all".into());
                row
            };
            paths.iter().enumerate().map(row).collect()
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn fixed_columns_keep_the_laws(kind in 0..KINDS, some in 1u32..128, missing in any::<bool>()) {
        let column = column(kind);
        let mut values: Vec<&str> = (0..column.texts.len()).filter(|i| some & (1 << i) != 0).map(|i| column.texts[i]).collect();
        if missing || values.is_empty() {
            values.push("NA");
        }
        let (t, codes) = encode("c", &column.rule, column.rows, &values, &["NA".into()]).map_err(|e| TestCaseError::fail(e.to_string()))?;
        for (value, &code) in values.iter().zip(&codes) {
            prop_assert_eq!(t.leaf(code), if *value == "NA" { "" } else { value });
        }
        laws(&t)?;
        survives_a_file(&t)?;
    }

    #[test]
    fn trees_of_files_keep_the_laws(rows in tree_rows(), missing in any::<bool>(), ordered in any::<bool>()) {
        let mut rows = rows;
        if ordered {
            rows.sort_by(|a, b| a[1..].iter().rev().cmp(b[1..].iter().rev()));
        }
        let t = Taxonomy::from_rows("f", rows.clone(), ordered, missing).map_err(|e| TestCaseError::fail(e.to_string()))?;
        prop_assert_eq!(t.scale(), if ordered { &Scale::Ordinal } else { &Scale::Nominal });
        laws(&t)?;
        survives_a_file(&t)?;
        for row in &rows {
            for (level, label) in row.iter().enumerate() {
                // The leaves under a label are those of the lines that have it in this column.
                let below: BTreeSet<u32> = rows.iter().filter(|r| r[level] == *label).filter_map(|r| t.find(&r[0])).collect();
                let mut run: Vec<u32> = t.parse(label).map(|r| (r.first..=r.last).collect()).unwrap_or_default();
                run.retain(|&leaf| Some(leaf) != t.missing());
                prop_assert_eq!(run, below.into_iter().collect::<Vec<_>>(), "`{}`", label);
            }
        }
    }

    #[test]
    fn numbers_keep_the_laws(
        values in prop::collection::btree_set("-?[1-9][0-9]{0,2}(\\.[1-9])?", 0..8),
        widths in prop::sample::select(vec![vec![], vec!["5"], vec!["5", "10"], vec!["0.5", "2", "8"], vec!["7", "70"]]),
        low in prop::option::of(-9i64..9), high in prop::option::of(10i64..60), missing in any::<bool>(),
    ) {
        prop_assume!(missing || !values.is_empty());
        let decimal = |n: i64| Decimal::parse(&n.to_string());
        let widths = widths.iter().filter_map(|w| Decimal::parse(w)).collect();
        let rule = Rule::Intervals(Intervals { widths, low: low.and_then(decimal), high: high.and_then(decimal), unit: Unit::Exact });
        let t = generate(&rule, &values, missing).map_err(|e| TestCaseError::fail(e.to_string()))?;
        prop_assert!((1..t.leaves() as u32).all(|leaf| t.position(leaf - 1) <= t.position(leaf)));
        let Scale::Number(scumble::taxonomy::Grid { decimals, .. }) = *t.scale() else { return Err(TestCaseError::fail("numbers are numbers")) };
        sizes_are_counted(&t, |text| micro(text) / 10i128.pow(6 - decimals))?;
        laws(&t)?;
        survives_a_file(&t)?;
        labels_contain(&t, number_in)?;
    }

    #[test]
    fn dates_keep_the_laws(
        days in prop::collection::btree_set((1000u32..2100, 1u32..13, 1u32..29), 0..8),
        units in prop::sample::select(vec![
            vec![], vec![Granularity::Week], vec![Granularity::Month, Granularity::Quarter, Granularity::Year, Granularity::Decade],
            vec![Granularity::Quarter], vec![Granularity::Year], vec![Granularity::Month, Granularity::Decade],
        ]),
        missing in any::<bool>(),
    ) {
        prop_assume!(missing || !days.is_empty());
        let days: BTreeSet<String> = days.iter().map(|(y, m, d)| format!("{y}-{m:02}-{d:02}")).collect();
        let t = generate(&Rule::Dates(units).exact(), &days, missing).map_err(|e| TestCaseError::fail(e.to_string()))?;
        sizes_are_counted(&t, |text| parse_date(text).expect("a day").into())?;
        laws(&t)?;
        survives_a_file(&t)?;
        labels_contain(&t, day_in)?;
    }

    /// Values may contain the mask itself; then the taxonomy is right or refused, never ambiguous.
    #[test]
    fn prefixes_keep_the_laws(
        values in prop::collection::btree_set("[ab*]{1,4}", 0..8),
        keep in prop::sample::select(vec![vec![], vec![3], vec![2, 1], vec![9, 2]]), missing in any::<bool>(),
        length in prop::sample::select(vec![None, Some(3), Some(4), Some(6)]),
    ) {
        prop_assume!(missing || !values.is_empty());
        let starred = values.iter().any(|v| v.contains('*'));
        let long = values.iter().any(|v| length.is_some_and(|length| v.len() > length));
        match generate(&Rule::Prefix(Prefix { keep, length }), &values, missing) {
            Err(problems) => prop_assert!(starred || long, "{}", problems),
            Ok(t) => {
                prop_assert!(!long);
                laws(&t)?;
                survives_a_file(&t)?;
                labels_contain(&t, |label, value| {
                    label == ROOT || label == value || value.starts_with(label.trim_end_matches('*')) || starred
                })?;
            }
        }
    }

    #[test]
    fn flat_values_keep_the_laws(values in prop::collection::btree_set("[a*]{1,3}", 0..6), missing in any::<bool>()) {
        prop_assume!(missing || !values.is_empty());
        match generate(&Rule::Flat, &values, missing) {
            Err(problems) => prop_assert!(values.contains(ROOT), "{}", problems),
            Ok(t) => {
                laws(&t)?;
                survives_a_file(&t)?;
            }
        }
    }

    #[test]
    fn flat_numbers_stand_in_their_order(values in prop::collection::btree_set("-?[1-9][0-9]{0,3}(\\.[1-9])?", 2..9)) {
        let t = generate(&Rule::Flat, &values, false).map_err(|e| TestCaseError::fail(e.to_string()))?;
        prop_assert!((1..t.leaves() as u32).all(|leaf| micro(t.leaf(leaf - 1)) <= micro(t.leaf(leaf))));
    }

    /// Whatever a file contains, it is a taxonomy that keeps the laws or a list of problems.
    #[test]
    fn no_file_panics(text in "([abc*]{0,2}[;;;\n\n\"]){0,20}", ordered in any::<bool>(), missing in any::<bool>()) {
        if let Ok(rows) = parse_rows("f", &text) {
            match Taxonomy::from_rows("f", rows, ordered, missing) {
                Ok(t) => laws(&t)?,
                Err(problems) => prop_assert!(!problems.0.is_empty()),
            }
        }
    }

    #[test]
    fn fields_survive_quoting(rows in prop::collection::vec(prop::collection::vec("[a;\", ]{0,5}", 2..4), 1..5)) {
        prop_assume!(rows.iter().all(|r| r.iter().any(|f| !f.trim().is_empty())));
        let text = write_rows(&rows);
        prop_assert_eq!(parse_rows("f", &text).map_err(|e| TestCaseError::fail(e.to_string()))?, rows, "{}", text);
    }
}

/// A text that is empty and a text that means missing are both published as nothing, so they are
/// one value.
#[test]
fn an_empty_text_is_missing() {
    for rule in [
        Rule::Flat,
        Rule::Prefix(Prefix::default()),
        Rule::Intervals(Intervals::default()),
        Rule::Dates(vec![]),
    ] {
        let values: &[&str] = if matches!(rule, Rule::Dates(_)) {
            &["2024-01-01", "", "NA"]
        } else {
            &["12", "", "NA"]
        };
        let (t, codes) = encode("c", &rule, None, values, &["NA".into()])
            .unwrap_or_else(|e| panic!("{rule:?}: {e}"));
        assert_eq!((t.leaves(), codes[1], Some(codes[2])), (2, codes[2], t.missing()), "{rule:?}");
    }
}

/// A column without values has no taxonomy; it must not have a broken one.
#[test]
fn a_column_without_values_is_a_problem() {
    for rule in [
        Rule::Flat,
        Rule::Prefix(Prefix::default()),
        Rule::Intervals(Intervals::default()),
        Rule::Dates(vec![]),
    ] {
        assert!(encode("c", &rule, None, &[], &["NA".into()]).is_err(), "{rule:?}");
    }
}
