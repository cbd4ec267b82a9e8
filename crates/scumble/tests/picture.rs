//! The picture of a partitioning: it is an SVG, it shows every class, and it shows no more than the
//! release.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use scumble::attack::Chart;
use scumble::class::{EquivalenceClass, Run};
use scumble::encode::encode;
use scumble::picture::{lines, partitioning};
use scumble::policy::Policy;
use scumble::publish::{Outcome, make};
use scumble::release::{Release, Shape};
use scumble::table::{Attribute, Table};
use scumble::taxonomy::{Granularity, Intervals, Prefix, Rule, Taxonomy, Unit};
use std::collections::{BTreeMap, BTreeSet};

/// A rectangle as drawn: left, top, right, bottom, hover text.
type Drawn = (f64, f64, f64, f64, String);

const NUMBER: Rule =
    Rule::Intervals(Intervals { widths: Vec::new(), low: None, high: None, unit: Unit::Finest });

/// Publishes columns of texts by a policy that names each of them as a quasi-identifier.
fn publish(policy: &str, columns: &[(&str, Vec<String>)]) -> Release {
    let policy = Policy::parse("test.toml", policy).unwrap_or_else(|p| panic!("{p}"));
    let (mut quasi, mut codes) = (Vec::new(), Vec::new());
    for attribute in policy.quasi() {
        let (name, column) = columns.iter().find(|(name, _)| *name == attribute.name).unwrap();
        let values: Vec<&str> =
            column.iter().map(String::as_str).collect::<BTreeSet<_>>().into_iter().collect();
        let rule = attribute.taxonomy.as_ref().unwrap();
        let (taxonomy, leaves) = encode(name, rule, None, &values, &policy.missing).unwrap();
        let leaf: BTreeMap<&str, u32> = values.into_iter().zip(leaves).collect();
        codes.push(column.iter().map(|v| leaf[v.as_str()]).collect());
        quasi.push(Attribute::new(&attribute.name, taxonomy));
    }
    let (table, _) = Table::collapse(quasi, Vec::new(), codes);
    match make(&table, &*policy.algorithm.algorithm, &policy.requirements, 1, &|_, _| true) {
        Outcome::Made(made) => made.release,
        Outcome::Refused(problems) => panic!("{problems:?}"),
    }
}

/// A policy over columns given as `name = taxonomy`.
fn policy(attributes: &[(&str, &str)], k: u64, recoding: &str) -> String {
    let line = |(name, rule): &(&str, &str)| {
        format!("\"{name}\" = {{ role = \"quasi-identifier\", taxonomy = {rule} }}\n")
    };
    let attributes: String = attributes.iter().map(line).collect();
    format!(
        "source = \"x.csv\"\n[attributes]\n{attributes}[[models]]\nname = \"k-anonymity\"\nk = {k}\n\
         [algorithm]\nname = \"mondrian\"\nrecoding = \"{recoding}\"\n[release]\nto = \"x\"\n"
    )
}

/// The lecture's example: tuples of two normal numbers, rounded.
fn normal(tuples: usize) -> Vec<(&'static str, Vec<String>)> {
    let mut rng = ChaCha8Rng::seed_from_u64(25);
    // The sum of twelve uniform numbers is as normal as the eye can tell, on every machine alike.
    let mut draw = || ((0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0) * 15.0 + 50.0;
    let (x, y) =
        (0..tuples).map(|_| (draw().round().to_string(), draw().round().to_string())).unzip();
    vec![("x", x), ("y", y)]
}

/// A release put together by hand: classes by the codes they span, with their counts.
fn release(quasi: Vec<(&str, Taxonomy)>, classes: &[(&[(u32, u32)], u64)]) -> Release {
    let attribute = |(name, taxonomy): (&str, Taxonomy)| Attribute::new(name, taxonomy);
    let class = |(region, count): &(&[(u32, u32)], u64)| EquivalenceClass {
        region: region.iter().map(|&(first, last)| Run::new(first, last)).collect(),
        count: *count,
        histograms: Vec::new(),
    };
    Release {
        quasi: quasi.into_iter().map(attribute).collect(),
        sensitive: Vec::new(),
        classes: classes.iter().map(class).collect(),
        suppressed: 0,
        shape: Shape::Regions,
        records_by_group: Vec::new(),
        counterfeits: Vec::new(),
        counted: None,
    }
}

fn taxonomy(rule: &Rule, values: &[&str], missing: bool) -> Taxonomy {
    Taxonomy::generate(rule, "column", values, missing).unwrap()
}

/// Tags are balanced, attributes quoted, entities known: what a reader of XML insists on.
fn assert_well_formed(svg: &str) {
    let mut open = Vec::new();
    let mut rest = svg;
    while let Some(at) = rest.find('<') {
        assert_text(&rest[..at]);
        let end = rest.find('>').expect("a tag is closed");
        let tag = &rest[at + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "closed as it was opened");
            continue;
        }
        let (name, attributes) =
            tag.trim_end_matches('/').split_once(' ').unwrap_or((tag.trim_end_matches('/'), ""));
        let parts: Vec<&str> = attributes.split('"').collect();
        assert!(parts.len() % 2 == 1, "quotes are balanced in <{tag}>");
        for (i, part) in parts.iter().enumerate() {
            let key = part.trim();
            assert!(i % 2 == 1 || key.is_empty() || key.ends_with('='), "`{part}` in <{tag}>");
            assert_text(part);
        }
        if !tag.ends_with('/') {
            open.push(name);
        }
        assert!(!open.is_empty(), "there is one root");
    }
    assert!(open.is_empty() && rest.trim().is_empty());
    assert!(svg.starts_with("<svg ") && !svg.contains("<script") && !svg.contains("href"));
}

fn assert_text(text: &str) {
    assert!(!text.contains(|c: char| c.is_control() && c != '\n') && !text.contains('>'), "{text}");
    for (at, _) in text.match_indices('&') {
        let known = ["amp;", "lt;", "gt;", "quot;", "#39;"];
        assert!(known.iter().any(|e| text[at + 1..].starts_with(e)), "{text}");
    }
}

fn section<'a>(svg: &'a str, class: &str) -> &'a str {
    let from = svg.find(&format!("<g class=\"{class}\"")).unwrap();
    &svg[from..from + svg[from..].find("</g>").unwrap()]
}

fn drawn(svg: &str) -> Vec<Drawn> {
    let number = |line: &str, key: &str| -> f64 {
        let from = line.find(&format!(" {key}=\"")).unwrap() + key.len() + 3;
        line[from..].split('"').next().unwrap().parse().unwrap()
    };
    let rectangle = |line: &str| {
        let (x, y) = (number(line, "x"), number(line, "y"));
        let title = line.split("<title>").nth(1).unwrap().split("</title>").next().unwrap();
        (x, y, x + number(line, "width"), y + number(line, "height"), title.to_owned())
    };
    section(svg, "classes").lines().filter(|l| l.starts_with("<rect")).map(rectangle).collect()
}

/// The texts of the axes: labels of ticks and bands, and the names.
fn labels(svg: &str) -> Vec<String> {
    let lines = section(svg, "labels").lines().filter(|l| l.starts_with("<text"));
    lines.map(|l| l.split('>').nth(1).unwrap().split('<').next().unwrap().to_owned()).collect()
}

fn area(r: &Drawn) -> f64 {
    (r.2 - r.0) * (r.3 - r.1)
}

#[test]
fn the_lecture_figure_tiles_the_plane() {
    let number = "{ number = true }";
    let made = publish(&policy(&[("x", number), ("y", number)], 25, "region"), &normal(1000));
    let svg = partitioning(&made, 0, 1, "Mondrian: 1000 tuples, 2-D normal data, k = 25");
    assert_well_formed(&svg);
    let smallest = made.classes.iter().map(|c| c.count).min().unwrap();
    assert!(smallest >= 25 && svg.contains(&format!("1000 records, smallest class {smallest}<")));
    let rectangles = drawn(&svg);
    assert_eq!(rectangles.len(), made.classes.len());
    for (i, a) in rectangles.iter().enumerate() {
        for b in &rectangles[..i] {
            let apart =
                a.2 <= b.0 + 0.01 || b.2 <= a.0 + 0.01 || a.3 <= b.1 + 0.01 || b.3 <= a.1 + 0.01;
            assert!(apart, "{a:?} and {b:?} overlap");
        }
    }
    // In leaf codes the regions fill the domain; on the sheet each has the share of the plot that
    // its range has of the domain. What is missing to the whole is between neighbouring values in
    // the tails, where no tuple is.
    let taxonomies = [&made.quasi[0].taxonomy, &made.quasi[1].taxonomy];
    let cells: u64 = made
        .classes
        .iter()
        .map(|c| c.region.iter().map(|r| u64::from(r.width())).product::<u64>())
        .sum();
    assert_eq!(cells, taxonomies.iter().map(|t| t.leaves() as u64).product::<u64>());
    let size = |c: &EquivalenceClass| {
        (0..2).map(|i| taxonomies[i].size(c.region[i]) as f64).product::<f64>()
    };
    let domain: f64 = taxonomies.iter().map(|t| t.size(t.root()) as f64).product();
    let plot = |f: fn(f64, f64) -> f64, side: fn(&Drawn) -> f64| {
        rectangles.iter().map(side).reduce(f).unwrap()
    };
    let plot = (plot(f64::max, |r| r.2) - plot(f64::min, |r| r.0))
        * (plot(f64::max, |r| r.3) - plot(f64::min, |r| r.1));
    let expected: f64 = made.classes.iter().map(size).sum::<f64>() / domain * plot;
    let total: f64 = rectangles.iter().map(area).sum();
    assert!((total - expected).abs() < 0.001 * plot, "{total} of {expected}");
    assert!(expected > 0.95 * plot, "{expected} of {plot}");
}

#[test]
fn every_class_is_drawn_and_always_alike() {
    let mut columns = normal(600);
    columns.push(("sex", (0..600).map(|i| ["F", "M", ""][i % 3].to_owned()).collect()));
    let rules =
        [("x", "{ number = true }"), ("y", "{ number = true }"), ("sex", "{ flat = true }")];
    let made = publish(&policy(&rules, 5, "tight"), &columns);
    for (x, y) in [(0, 1), (0, 2), (2, 1), (1, 1)] {
        let svg = partitioning(&made, x, y, "title");
        assert_well_formed(&svg);
        assert_eq!(svg, partitioning(&made, x, y, "title"));
        let mut expected: BTreeMap<String, u64> = BTreeMap::new();
        for class in &made.classes {
            let label = |i: usize| {
                let label = made.quasi[i].taxonomy.label(class.region[i]).into_owned();
                format!(
                    "{} {}",
                    made.quasi[i].name,
                    if label.is_empty() { "missing" } else { &label }
                )
            };
            *expected.entry(format!("{} × {}", label(x), label(y))).or_default() += class.count;
        }
        let mut titles: Vec<String> =
            expected.into_iter().map(|(what, n)| format!("{what}: {n} records")).collect();
        let rectangles = drawn(&svg);
        assert!(
            rectangles.windows(2).all(|w| area(&w[0]) >= area(&w[1]) - 60.0),
            "large ones lie below"
        );
        let mut found: Vec<String> = rectangles.into_iter().map(|r| r.4).collect();
        found.sort();
        titles.sort();
        assert_eq!(found, titles);
    }
}

#[test]
fn a_leaf_that_no_class_publishes_is_not_labelled() {
    let zips = ["13053", "13068", "14850", "14853"];
    let ages = ["20", "30", "40"];
    let quasi = |zips: &[&str]| {
        vec![
            ("age", taxonomy(&NUMBER, &ages, false)),
            (
                "zip",
                taxonomy(
                    &Rule::Prefix(Prefix { length: Some(5), ..Prefix::default() }),
                    zips,
                    false,
                ),
            ),
        ]
    };
    let classes: [(&[(u32, u32)], u64); 3] =
        [(&[(0, 1), (0, 1)], 5), (&[(2, 2), (0, 1)], 5), (&[(0, 2), (3, 3)], 7)];
    let svg = partitioning(&release(quasi(&zips), &classes), 0, 1, "t");
    assert_well_formed(&svg);
    let shown = labels(&svg);
    assert!(shown.contains(&"130**".into()) && shown.contains(&"14853".into()), "{shown:?}");
    for hidden in ["13053", "13068", "14850"] {
        assert!(!svg.contains(hidden), "{hidden}");
    }
    // A release of the same classes from data with more leaves below the same nodes looks the same.
    let more = ["13001", "13053", "13068", "14853"];
    let classes: [(&[(u32, u32)], u64); 3] =
        [(&[(0, 2), (0, 2)], 5), (&[(3, 3), (0, 2)], 5), (&[(0, 3), (3, 3)], 7)];
    let ages = ["20", "29", "30", "40"];
    let quasi = vec![
        ("age", taxonomy(&NUMBER, &ages, false)),
        (
            "zip",
            taxonomy(&Rule::Prefix(Prefix { length: Some(5), ..Prefix::default() }), &more, false),
        ),
    ];
    assert_eq!(svg, partitioning(&release(quasi, &classes), 0, 1, "t"));
}

#[test]
fn ticks_are_round_and_ends_that_are_not_published_stay_hidden() {
    let ages = taxonomy(&NUMBER, &["17.25", "33.50", "61.75"], true);
    let days = taxonomy(
        &Rule::Dates(vec![Granularity::Year]),
        &["1931-02-03", "1962-05-06", "2003-08-09"],
        true,
    );
    let quasi = || vec![("age", ages.clone()), ("born", days.clone())];
    let ranges: [(&[(u32, u32)], u64); 3] =
        [(&[(0, 1), (0, 2)], 4), (&[(2, 2), (0, 1)], 4), (&[(3, 3), (3, 3)], 4)];
    let shown = labels(&partitioning(&release(quasi(), &ranges), 0, 1, "t"));
    for expected in ["20", "25", "60", "1940", "2000", "missing"] {
        assert!(shown.iter().any(|l| l == expected), "{expected} in {shown:?}");
    }
    let svg = partitioning(&release(quasi(), &[(&[(0, 3), (0, 3)], 9)]), 0, 1, "t");
    assert_eq!(labels(&svg), ["*", "*", "age", "born"]);
    assert!(drawn(&svg)[0].4 == "age * × born *: 9 records");
}

#[test]
fn text_is_escaped_and_nothing_is_cut() {
    let odd = [
        "<b> & \"c\"",
        "'d'\u{1}",
        "a very long label that would never fit beside an axis in full length",
    ];
    let flat = taxonomy(&Rule::Flat, &odd, false);
    let name = "name <of> the & column ".repeat(20);
    let classes: [(&[(u32, u32)], u64); 3] =
        [(&[(0, 0), (0, 0)], 1), (&[(1, 1), (1, 1)], 2), (&[(2, 2), (2, 2)], 3)];
    let made = release(vec![(&name, flat.clone()), ("b", flat)], &classes);
    let svg = partitioning(&made, 0, 1, &"A <title> & \"more\" of it ".repeat(30));
    assert_well_formed(&svg);
    assert!(labels(&svg).iter().any(|l| l == "&lt;b&gt; &amp; &quot;c&quot;"));
    assert!(svg.contains(": 1 record<"));
    assert_well_formed(&partitioning(
        &release(vec![("a", taxonomy(&NUMBER, &[], true))], &[]),
        0,
        0,
        "",
    ));
}

#[test]
fn points_are_visible_and_too_many_are_not_all_drawn() {
    let values: Vec<String> = (0..100).map(|i| (i * i * 977).to_string()).collect();
    let values: Vec<&str> = values.iter().map(String::as_str).collect();
    let runs: Vec<[(u32, u32); 2]> =
        (0..10_000).map(|i| [(i / 100, i / 100), (i % 100, i % 100)]).collect();
    let classes: Vec<(&[(u32, u32)], u64)> =
        runs.iter().zip(1..).map(|(r, n)| (&r[..], n)).collect();
    let number = taxonomy(&NUMBER, &values, false);
    let svg = partitioning(
        &release(vec![("x", number.clone()), ("y", number)], &classes),
        0,
        1,
        "points",
    );
    assert_well_formed(&svg);
    let rectangles = drawn(&svg);
    assert!(svg.contains("only the largest 5000 of 10000 regions are drawn"));
    assert_eq!(rectangles.len(), 5000);
    assert!(svg.len() < 1_000_000, "{}", svg.len());
    assert!(rectangles.iter().all(|r| r.2 - r.0 >= 1.9 && r.3 - r.1 >= 1.9));
}

/// Lines of these many points, named and shaped by their number.
fn chart(sizes: &[usize], name: impl Fn(usize) -> String, y: &str) -> Chart {
    let point = |line: usize, i: usize, n: usize| {
        (i as f64, ((line + 1) as f64 * i as f64 / n as f64 / 40.0).min(1.0))
    };
    let line = |(i, &n): (usize, &usize)| (name(i), (0..n).map(|k| point(i, k, n)).collect());
    Chart {
        title: "t".into(),
        x: "k".into(),
        y: y.into(),
        lines: sizes.iter().enumerate().map(line).collect(),
    }
}

/// The label boxes of the legend, from above: top and text.
fn legend(svg: &str) -> Vec<(f64, String)> {
    let y = |l: &str| l.split(" y=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap();
    let lines = section(svg, "legend").lines().filter(|l| l.starts_with("<text"));
    lines
        .map(|l| (y(l), l.split('>').nth(1).unwrap().split('<').next().unwrap().to_owned()))
        .collect()
}

#[test]
fn labels_of_lines_keep_apart_however_many() {
    for n in [1, 2, 5, 12, 30, 60] {
        let svg = lines(&chart(
            &vec![6; n],
            |i| format!("line {i} <&> with a name that needs room"),
            "share",
        ));
        assert_well_formed(&svg);
        let labels = legend(&svg);
        assert!(
            labels.len() >= n && labels.windows(2).all(|w| w[1].0 - w[0].0 >= 15.9),
            "{n}: {labels:?}"
        );
        let height: f64 =
            svg.split("height=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap();
        assert!(
            labels.iter().all(|l| l.0 > 20.0 && l.0 < height - 4.0),
            "{n}: {height} {labels:?}"
        );
        let styles: BTreeSet<&str> =
            section(&svg, "lines").lines().filter_map(|l| l.split(" stroke=").nth(1)).collect();
        let style = |s: &&str| s.split('>').next().unwrap().to_owned();
        assert_eq!(
            styles.iter().map(style).collect::<BTreeSet<_>>().len(),
            n.min(35),
            "told apart"
        );
    }
}

#[test]
fn few_points_are_marked_and_all_lines_are_told() {
    let svg = lines(&chart(&[5, 101], |i| format!("line {i}"), "share of people"));
    assert_well_formed(&svg);
    assert_eq!(section(&svg, "points").matches("<title>").count(), 5);
    assert!(svg.contains("<title>line 0: k 4, share of people 2 %</title>"), "{svg}");
    assert!(
        svg.contains("line 0: 0 % at 0, 0.5 % at 1,")
            && svg.contains("line 1: 101 points from 0 % at 0 to")
    );
    assert!(section(&svg, "marks").contains(">5 %<"));
    let plain = lines(&chart(&[5], |_| String::new(), "entropy"));
    assert!(legend(&plain).is_empty() && !plain.contains('%'));
}

#[test]
fn lines_survive_what_is_no_number() {
    let nan = f64::NAN;
    let odd =
        vec![(0.0, 1.0), (1.0, nan), (2.0, 3.0), (3.0, f64::INFINITY), (4.0, -2.0), (5.0, 1.0)];
    let title = "A <title> & \"more\" of it ".repeat(30);
    let name = "a very long name of an axis, ".repeat(9);
    let many = (0..100).map(|i| (f64::from(i), if i % 3 == 1 { 2.0 } else { nan })).collect();
    let all = vec![("odd".to_owned(), odd), (String::new(), Vec::new()), ("alone".into(), many)];
    for (chart, points) in [
        (Chart { title, x: name.clone(), y: name, lines: all }, 4 + 33),
        (Chart { title: String::new(), x: "x".into(), y: "y".into(), lines: Vec::new() }, 0),
        (
            Chart {
                title: String::new(),
                x: "x".into(),
                y: "y".into(),
                lines: vec![("l".into(), vec![(0.0, 0.0)])],
            },
            1,
        ),
    ] {
        let svg = lines(&chart);
        assert_well_formed(&svg);
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        assert_eq!(section(&svg, "points").matches("<title>").count(), points);
        if chart.title.is_empty() {
            assert!(svg.contains("<title>y by x</title>"));
        }
    }
}
