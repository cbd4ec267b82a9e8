//! What a recipient can still do: estimates and metrics against twins that spread records one by
//! one.

use super::algorithms::{Law, check};
use super::cases::{self, Case, algorithm, cases, combinations, k_anonymity};
use proptest::prelude::*;
use scumble::catalogue::{ALGORITHMS, METRICS};
use scumble::class::Run;
use scumble::publish::{Made, Outcome, make};
use scumble::query::{
    Bound, Condition, End, Generator, Query, Selection, Test, errors, parse_workload,
    relative_error,
};
use scumble::release::{Anatomized, Form, Generalized, Member, Members, Release, Shape};
use scumble::table::{Attribute, Table};
use scumble::taxonomy::{Decimal, Scale, Taxonomy};
use scumble::utility::Subject;
use std::collections::BTreeMap;

/// A domain value: its text, or nothing.
type Point = Vec<String>;

/// Every domain value under a run, as its text.
fn values(t: &Taxonomy, run: Run) -> Vec<String> {
    let missing = t.missing().filter(|&m| m == run.last);
    let last = if missing.is_some() { run.last.checked_sub(1) } else { Some(run.last) };
    let real = last.filter(|&last| run.first <= last).map(|last| (run.first, last));
    let mut texts: Vec<String> = match (real, t.scale()) {
        (None, _) => Vec::new(),
        (Some((first, last)), Scale::Number(grid)) => {
            let (first, last) = t.cells(Run::new(first, last)).expect("numbers");
            (first..=last).map(|p| Decimal::show(p, grid.decimals)).collect()
        }
        // Days are compared as numbers, which is all that counts here.
        (Some((first, last)), Scale::Date(_)) => {
            let (first, last) = t.cells(Run::new(first, last)).expect("days");
            (first..=last).map(|p| p.to_string()).collect()
        }
        (Some((first, last)), _) => (first..=last).map(|leaf| t.leaf(leaf).to_owned()).collect(),
    };
    texts.extend(missing.map(|_| String::new()));
    texts
}

/// The text of a leaf among those domain values.
fn value(t: &Taxonomy, leaf: u32) -> String {
    match t.scale() {
        _ if t.missing() == Some(leaf) => String::new(),
        Scale::Number(grid) => Decimal::show(t.position(leaf), grid.decimals),
        Scale::Date(_) => t.position(leaf).to_string(),
        _ => t.leaf(leaf).to_owned(),
    }
}

/// What an unknown record of the release may be, and how likely: every combination of domain values
/// and sensitive codes.
fn worlds(release: &Release) -> Vec<(Point, Vec<u32>, f64)> {
    let published = scumble::table::published(&release.sensitive).len();
    let mut all = Vec::new();
    for (i, class) in release.classes.iter().enumerate() {
        let mut points: Vec<(Point, f64)> = Vec::new();
        if release.shape == Shape::Groups {
            for r in release.records_by_group.iter().filter(|r| r.group as usize == i) {
                let texts = release
                    .quasi
                    .iter()
                    .zip(&r.codes)
                    .map(|(a, &c)| value(&a.taxonomy, c))
                    .collect();
                points.push((texts, r.count as f64));
            }
        } else {
            points.push((Vec::new(), class.count as f64));
            for (a, &run) in release.quasi.iter().zip(&class.region) {
                let values = values(&a.taxonomy, run);
                let each = 1.0 / values.len() as f64;
                let with = |(p, w): &(Point, f64), v: &String| {
                    ([&p[..], std::slice::from_ref(v)].concat(), w * each)
                };
                points =
                    points.iter().flat_map(|p| values.iter().map(move |v| with(p, v))).collect();
            }
        }
        let mut sensitive: Vec<(Vec<u32>, f64)> = vec![(Vec::new(), 1.0)];
        for h in &class.histograms[..published] {
            let with = |(codes, w): &(Vec<u32>, f64), &(code, n): &(u32, u64)| {
                ([&codes[..], &[code]].concat(), w * n as f64 / class.count as f64)
            };
            sensitive =
                sensitive.iter().flat_map(|s| h.0.iter().map(move |v| with(s, v))).collect();
        }
        for (point, w) in &points {
            all.extend(sensitive.iter().map(|(codes, v)| (point.clone(), codes.clone(), w * v)));
        }
    }
    all
}

/// Whether a domain value meets a condition, by its text.
fn meets(t: &Taxonomy, text: &str, test: &Test) -> bool {
    let number = |text: &str| match t.scale() {
        Scale::Number(_) => text.parse::<f64>().ok(),
        Scale::Date(_) => text
            .parse::<f64>()
            .ok()
            .or_else(|| scumble::taxonomy::parse_date(text).map(|d| d as f64)),
        _ => (0..t.leaves() as u32).position(|leaf| t.leaf(leaf) == text).map(|p| p as f64),
    };
    match test {
        Test::In(list) => list.iter().any(|wanted| {
            let leaf = (0..t.leaves() as u32).find(|&leaf| value(t, leaf) == text);
            let below = leaf.is_some_and(|leaf| {
                (0..=t.levels()).any(|l| t.label(t.at_level(leaf, l)) == *wanted)
            });
            wanted == text
                || (t.scale() == &Scale::Nominal && below)
                || (!text.is_empty() && number(wanted) == number(text) && number(text).is_some())
        }),
        Test::Range(low, high) => {
            let Some(x) = number(text).filter(|_| !text.is_empty()) else { return false };
            let end = |e: &Option<End>| {
                e.as_ref().map(|e| (number(&e.value).expect("drawn from the column"), e.included))
            };
            end(low).is_none_or(|(y, included)| y < x || (included && y == x))
                && end(high).is_none_or(|(y, included)| x < y || (included && y == x))
        }
    }
}

/// A condition on an attribute, drawn.
fn condition(a: &Attribute, draw: [u8; 3]) -> Condition {
    let t = &a.taxonomy;
    let real = (t.leaves() - usize::from(t.missing().is_some())) as u32;
    let leaf = |d: u8| t.leaf(u32::from(d) % real.max(1)).to_owned();
    let end = |d: u8, included| Some(End { value: leaf(d), included });
    let test = match (real, draw[2] % 6) {
        (0, _) => Test::In(vec![String::new()]),
        (_, 0) if t.is_ordered() => Test::Range(end(draw[0], true), None),
        (_, 1) if t.is_ordered() => Test::Range(None, end(draw[0], false)),
        (_, 2 | 3) if t.is_ordered() => Test::Range(end(draw[0], draw[2] > 99), end(draw[1], true)),
        (_, 4) if !t.is_ordered() => {
            let run =
                t.at_level(u32::from(draw[0]) % real, usize::from(draw[1]) % (t.levels() + 1));
            Test::In(vec![t.label(run).into_owned()])
        }
        (_, 5) => Test::In(vec![leaf(draw[0]), String::new()]),
        _ => Test::In(vec![leaf(draw[0]), leaf(draw[1])]),
    };
    Condition { attribute: a.name.clone(), test }
}

fn query(table: &Table, draws: &[[u8; 4]]) -> Query {
    let attributes: Vec<&Attribute> =
        table.quasi.iter().chain(table.published_sensitive()).collect();
    let one = |d: &[u8; 4]| {
        condition(attributes[usize::from(d[3]) % attributes.len()], [d[0], d[1], d[2]])
    };
    Query { conditions: draws.iter().map(one).collect() }
}

fn queries() -> impl Strategy<Value = Vec<[u8; 4]>> {
    prop::collection::vec(prop::array::uniform4(any::<u8>()), 0..=4)
}

/// Groups of neighbouring records, whatever they are.
fn anatomy(table: &Table, size: usize) -> Form {
    let all: Vec<Member> =
        (0u32..).zip(&table.counts).map(|(row, &count)| Member { row, count }).collect();
    let (kept, out) = all.split_at(all.len() - usize::from(all.len() > 3));
    let groups = kept.chunks(size).map(<[Member]>::to_vec).collect();
    Form::Anatomized(Anatomized {
        groups,
        counterfeits: Vec::new(),
        suppressed: out.to_vec(),
        notes: Vec::new(),
    })
}

/// Everything the catalogue makes of a table, and groups.
fn forms(case: &Case, draws: &[u32; 3], k: u64) -> Vec<Form> {
    let mut forms = vec![anatomy(&case.table, 3)];
    for entry in ALGORITHMS {
        // One of the combinations; the laws of algorithms go through all of them.
        let all = combinations(entry.parameters, draws);
        let Some(algorithm) = algorithm(entry, &all[draws[0] as usize % all.len()]) else {
            continue;
        };
        if let Outcome::Made(made) =
            make(&case.table, &*algorithm, &[k_anonymity(k)], 1, &|_, _| true)
        {
            forms.push(made.form);
        }
    }
    forms
}

/// The estimate is the expectation over all worlds, each record by itself.
#[test]
fn an_estimate_is_the_mean_of_all_worlds() {
    let drawn = (cases(10), queries(), prop::array::uniform3(0u32..1000), 1u64..4);
    check(240, drawn, |(case, draws, params, k)| {
        // Without the joint of sensitive attributes they are independent in every class.
        let mut table = case.table.clone();
        let published = table.published_sensitive().len();
        table.sensitive.truncate(published);
        table.sensitive_codes.truncate(published);
        let query = query(&table, &draws);
        let bound = query.bind(&table.quasi, &table.sensitive).expect("drawn from the columns");
        for form in forms(&case, &params, k) {
            let release = Release::of(&table, &form);
            let too_many = |c: &scumble::class::EquivalenceClass| {
                release
                    .quasi
                    .iter()
                    .zip(&c.region)
                    .map(|(a, &r)| a.taxonomy.size(r))
                    .product::<u64>()
                    > 3_000
            };
            if release.shape == Shape::Representatives || release.classes.iter().any(too_many) {
                continue;
            }
            let expected: f64 = worlds(&release)
                .iter()
                .map(|(point, codes, w)| w * admits(&table, &query, point, codes))
                .sum();
            let found = bound.translate(&table, &release).estimate(&release);
            prop_assert!(
                (found - expected).abs() < 1e-6,
                "{}: {} instead of {}",
                query,
                found,
                expected
            );
        }
        same_text(&query)?;
        let truth: f64 = (0..case.records[0].len())
            .map(|record| {
                let point: Point = table
                    .quasi
                    .iter()
                    .zip(&case.records)
                    .map(|(a, c)| value(&a.taxonomy, c[record]))
                    .collect();
                let codes: Vec<u32> = case.records[table.quasi.len()..][..published]
                    .iter()
                    .map(|c| c[record])
                    .collect();
                admits(&table, &query, &point, &codes)
            })
            .sum();
        prop_assert_eq!(bound.count(&table) as f64, truth);
        let unchanged = Release::unchanged(&case.table);
        let itself = query
            .bind(&case.table.quasi, &case.table.sensitive)
            .expect("as before")
            .estimate(&unchanged);
        prop_assert!(
            (itself - truth).abs() < 1e-6,
            "{}: an unchanged table says {} and not {}",
            query,
            itself,
            truth
        );
        Ok(())
    });
}

/// 1 if a point meets every condition.
fn admits(table: &Table, query: &Query, point: &Point, codes: &[u32]) -> f64 {
    let met = query.conditions.iter().all(|c| {
        match table.quasi.iter().position(|a| a.name == c.attribute) {
            Some(i) => meets(&table.quasi[i].taxonomy, &point[i], &c.test),
            None => {
                let i = table
                    .sensitive
                    .iter()
                    .position(|a| a.name == c.attribute)
                    .expect("an attribute");
                let t = &table.sensitive[i].taxonomy;
                meets(t, &value(t, codes[i]), &c.test)
            }
        }
    });
    f64::from(u8::from(met))
}

fn same_text(query: &Query) -> Law {
    let text = query.to_string();
    prop_assert_eq!(&Query::parse(&text).expect("what is written can be read"), query, "{}", text);
    Ok(())
}

/// Anatomy's own example: 3 records of age 38 in a group where half have a heart disease
/// (papers/queries-2010.md).
#[test]
fn groups_estimate_as_in_the_paper() {
    let case = cases::Case::line(10);
    let ages = ["1", "1", "1", "2", "2", "2", "6", "8", "8", "8"];
    let diseases = ["1", "1", "2", "1", "2", "2", "3", "3", "4", "4"];
    let find = |a: &Attribute, texts: &[&str]| {
        texts.iter().map(|t| a.taxonomy.find(t).expect("1 to 10")).collect()
    };
    let (quasi, sensitive) = (case.table.quasi.clone(), case.table.published_sensitive().to_vec());
    let records = vec![find(&quasi[0], &ages), find(&sensitive[0], &diseases)];
    let (table, row_of) = Table::collapse(quasi, sensitive, records);
    let group = |rows: &[u32]| rows.iter().map(|&row| Member { row, count: 1 }).collect::<Vec<_>>();
    let form = Form::Anatomized(Anatomized {
        groups: vec![group(&row_of[..6]), group(&row_of[6..])],
        counterfeits: Vec::new(),
        suppressed: Vec::new(),
        notes: Vec::new(),
    });
    let release = Release::of(&table, &form);
    let bound = Query::parse("COUNT number = 8 and value = 4")
        .and_then(|q| q.bind(&table.quasi, &table.sensitive))
        .expect("right");
    assert_eq!((bound.count(&table), bound.estimate(&release)), (2, 1.5));
    let errors = errors(&[bound], &table, &release);
    assert_eq!((errors.queries, errors.median, errors.p90, errors.mean), (1, 0.25, 0.25, 0.25));
}

/// Two sensitive attributes are counted together where they are joined.
#[test]
fn joined_sensitive_attributes_are_counted_together() {
    let records: Vec<[u8; 6]> = (0..8).map(|i| [0, i % 2, i % 2, 0, 0, 0]).collect();
    let case = Case::of(&[(0, false)], &[(4, false), (5, false)], &records);
    let release = Release::unchanged(&case.table);
    let names: Vec<&str> =
        case.table.published_sensitive().iter().map(|a| a.name.as_str()).collect();
    let text = format!("'{}' = red and '{}' = Engineer", names[0], names[1]);
    let bound = Query::parse(&text)
        .and_then(|q| q.bind(&case.table.quasi, &case.table.sensitive))
        .expect("right");
    assert!(bound.joins_sensitive());
    assert_eq!((bound.count(&case.table), bound.estimate(&release)), (4, 4.0));
    let mut apart = release.clone();
    apart.sensitive.truncate(2);
    assert_eq!(bound.estimate(&apart), 2.0, "independent within the class");
}

#[test]
fn wrong_queries_say_where() {
    let case = Case::of(&[(0, false), (5, false)], &[(4, false)], &[[1; 6], [2; 6]]);
    let (number, job) = (&case.table.quasi[0].name, &case.table.quasi[1].name);
    for (text, place, words) in [
        ("", "column 1", "name of an attribute"),
        ("age", "column 4", "expected `in`"),
        ("age in 3", "column 8", "expected `[`"),
        ("age in [3, 4", "column 13", "expected `,`"),
        ("age in [3, 4, 5]", "column 17", "two ends"),
        ("age in (3, 4) or", "column 15", "expected `and`"),
        ("age = 'x", "column 7", "not closed"),
        ("ä = ", "column 5", "expected a value"),
        ("age >= 3 and", "column 13", "name of an attribute"),
    ] {
        let problem = Query::parse(text).expect_err(text).message;
        assert!(problem.contains(place) && problem.contains(words), "{text}: {problem}");
    }
    let wrong = |text: &str| {
        let query = Query::parse(text).expect("it can be read");
        query.bind(&case.table.quasi, &case.table.sensitive).expect_err(text).message
    };
    assert!(wrong("agee = 3").contains("no quasi-identifier"));
    assert!(wrong("guard = 3").contains("no quasi-identifier"), "it is not published");
    assert!(wrong(&format!("'{number}' >= many")).contains("no number"));
    assert!(wrong(&format!("'{job}' = Baker")).contains("no value or group"));
    assert!(wrong(&format!("'{job}' >= Writer")).contains("no order"));
    let problems =
        parse_workload("w.txt", "# both wrong\n\nage ! 3\nage = 3 # right\n  x in [1]\n")
            .expect_err("two")
            .0;
    let messages: Vec<&str> = problems.iter().map(|p| p.message.as_str()).collect();
    assert!(
        messages.len() == 2 && messages[0].contains("line 3") && messages[1].contains("line 5"),
        "{messages:?}"
    );
    assert_eq!(
        parse_workload("w.txt", "count\nCOUNT a=1 AND b in (x,'y z')").expect("right").len(),
        2
    );
    assert!(parse_workload("w.txt", "\n# nothing\n").is_err());
}

/// Whatever is written is a query or a problem, and a query is read back as it is shown.
#[test]
fn any_text_is_a_query_or_a_problem() {
    let words = prop::sample::select(vec![
        "a", "b c", "COUNT", "and", "in", "=", "<=", ">", "[", "]", "(", ")", ",", "'", "\"", "#",
        "ä", "3", " ",
    ]);
    check(2000, prop::collection::vec(words, 0..14), |words| {
        let text = words.concat();
        if let Ok(query) = Query::parse(&text) {
            let values = |c: &Condition| match &c.test {
                Test::In(values) => values.clone(),
                Test::Range(..) => Vec::new(),
            };
            let both = |t: &String| t.contains('"') && t.contains('\'');
            if !query.conditions.iter().any(|c| both(&c.attribute) || values(c).iter().any(both)) {
                same_text(&query)?;
            }
        }
        Ok(())
    });
}

/// Ranges between the places of a scale, and calendar units.
#[test]
fn ranges_fall_between_places() {
    let case = Case::of(
        &[(0, false), (2, true)],
        &[(4, false)],
        &[
            [1, 0, 0, 0, 0, 0],
            [2, 1, 0, 0, 0, 0],
            [4, 2, 1, 0, 0, 0],
            [5, 7, 1, 0, 0, 0],
            [6, 4, 0, 0, 0, 0],
        ],
    );
    let (number, day) = (&case.table.quasi[0].name, &case.table.quasi[1].name);
    for (text, count) in [
        (format!("'{number}' >= 1.55"), 4),
        (format!("'{number}' > 2"), 3),
        (format!("'{number}' < 5.49"), 2),
        (format!("'{number}' <= 5.5"), 3),
        (format!("'{number}' = 5.50"), 1),
        (format!("'{number}' = 5.55"), 0),
        (format!("'{number}' in [5.5, 99999999999999999]"), 3),
        (format!("'{number}' >= 2 and '{number}' <= 8"), 3),
        (format!("'{day}' = 2024"), 3),
        (format!("'{day}' = 2024-02"), 1),
        (format!("'{day}' in (2023-12, \"\")"), 2),
        (format!("'{day}' < 2024-02-29"), 2),
    ] {
        let bound =
            Query::parse(&text).and_then(|q| q.bind(&case.table.quasi, &case.table.sensitive));
        assert_eq!(bound.map(|b| b.count(&case.table)), Ok(count), "{text}");
    }
}

/// b of |A| values with b = ⌈|A| · s^(1/q)⌉, so that at least s of all combinations are admitted,
/// and not many more.
#[test]
fn random_queries_have_their_selectivity() {
    let case = Case::line(1000);
    let (quasi, sensitive) = (&case.table.quasi, case.table.published_sensitive());
    let (by_quasi, by_value): (Vec<&Attribute>, Vec<&Attribute>) =
        (quasi.iter().collect(), sensitive.iter().collect());
    let generator = Generator { predicates: 3, selectivity: 0.05 };
    let drawn = generator.draw(&by_quasi, &by_value, 200, 7);
    assert_eq!(drawn, generator.draw(&by_quasi, &by_value, 200, 7));
    assert_ne!(drawn, generator.draw(&by_quasi, &by_value, 200, 8));
    // Both conditions admit ⌈1000 · √0.05⌉ = 224 of 1000 values.
    for query in &drawn {
        assert_eq!(query.conditions.len(), 2);
        for c in &query.conditions {
            let alone = Query { conditions: vec![c.clone()] }
                .bind(quasi, sensitive)
                .expect("drawn from the domain");
            assert_eq!(alone.count(&case.table), 224, "{query}");
        }
    }
    // number = value in this table, so a query counts what its range and its values share: 50 on
    // average.
    let bound: Vec<Bound> =
        drawn.iter().map(|q| q.bind(quasi, sensitive).expect("drawn")).collect();
    let mean = bound.iter().map(|b| b.count(&case.table)).sum::<u64>() as f64 / 200.0;
    assert!((mean - 50.0).abs() < 5.0, "{mean}");
    let all = Generator { predicates: 0, selectivity: 1.0 }.draw(&by_quasi, &[], 1, 1);
    assert_eq!(all[0].bind(quasi, sensitive).expect("no conditions").count(&case.table), 1000);
    assert_eq!(
        (relative_error(0, 0.0, 0), relative_error(0, 2.0, 1000), relative_error(4, 3.0, 1000)),
        (0.0, 2.0, 0.25)
    );
}

fn metric(name: &str, subject: &Subject<'_>) -> Option<f64> {
    let metric = METRICS.iter().find(|m| m.name == name).expect("is in the catalogue");
    (metric.measure)(subject)
}

/// The members of every class or group, with the index of the class.
fn members(form: &Form) -> Vec<&[Member]> {
    match form {
        Form::Generalized(form) => form.classes.iter().map(|c| &c.members[..]).collect(),
        Form::Anatomized(form) => form.groups.iter().map(Vec::as_slice).collect(),
    }
}

/// Record by record, after the manual pages.
#[test]
fn metrics_are_what_their_manual_says() {
    check(240, (cases(12), prop::array::uniform3(0u32..1000), 1u64..4), |(case, params, k)| {
        let table = &case.table;
        for form in forms(&case, &params, k) {
            let release = Release::of(table, &form);
            let subject = Subject { release: &release, k, truth: Some((table, &form)) };
            let near = |name: &str, expected: Option<f64>| -> Law {
                let found = metric(name, &subject);
                let same = match (found, expected) {
                    (Some(a), Some(b)) => (a - b).abs() < 1e-9 * b.abs().max(1.0),
                    (a, b) => a == b,
                };
                prop_assert!(
                    same,
                    "{} of {:?} is {:?} and not {:?}",
                    name,
                    release.shape,
                    found,
                    expected
                );
                Ok(())
            };
            near("classification", Some(classification(table, &form)))?;
            near("sse", sse(table, &form, &release))?;
            if release.shape == Shape::Representatives {
                for name in ["gcp", "iloss", "entropy", "distribution", "kl"] {
                    near(name, None)?;
                }
                continue;
            }
            if release.shape == Shape::Groups {
                near("gcp", Some(release.suppressed as f64 / table.records() as f64))?;
                near("discernibility", None)?;
                near("c_avg", None)?;
            }
            near("entropy", Some(entropy(table, &form, &release)))?;
            near("distribution", Some(distribution(table, &form, &release)))?;
            // Only an upper bound where classes overlap, which some of these do.
            let divergence = metric("kl", &subject).expect("it applies");
            prop_assert!(
                divergence >= kl(table, &release) - 1e-9,
                "{} below {}",
                divergence,
                kl(table, &release)
            );
        }
        let release = Release::unchanged(table);
        let rows = (0..table.rows() as u32).map(|row| Members {
            region: table
                .quasi_codes
                .iter()
                .map(|c| Run::new(c[row as usize], c[row as usize]))
                .collect(),
            members: vec![Member { row, count: table.counts[row as usize] }],
        });
        let form = Form::Generalized(Generalized::new(rows.collect(), Vec::new()));
        let subject = Subject { release: &release, k, truth: Some((table, &form)) };
        for name in ["entropy", "distribution", "correlation", "sse"] {
            prop_assert!(
                metric(name, &subject).is_none_or(|x| x.abs() < 1e-9),
                "an unchanged table loses {}",
                name
            );
        }
        let published = table.published_sensitive().len();
        prop_assert!(published > 1 || metric("kl", &subject).expect("it applies").abs() < 1e-9);
        Ok(())
    });
}

fn code(table: &Table, dim: usize, m: &Member) -> u32 {
    table.quasi_codes[dim][m.row as usize]
}

fn classification(table: &Table, form: &Form) -> f64 {
    let attributes = table.published_sensitive().len();
    let mut wrong = 0.0;
    for s in 0..attributes {
        for class in members(form) {
            let mut seen: BTreeMap<u32, u64> = BTreeMap::new();
            class.iter().for_each(|m| {
                *seen.entry(table.sensitive_codes[s][m.row as usize]).or_default() +=
                    u64::from(m.count)
            });
            wrong += (seen.values().sum::<u64>()
                - seen.values().max().expect("a class has records")) as f64;
        }
        wrong += form.suppressed().iter().map(|m| f64::from(m.count)).sum::<f64>();
    }
    wrong / (attributes as u64 * table.records()) as f64
}

/// The leaves of the table that a run of the release stands for.
fn leaves(table: &Taxonomy, shown: &Taxonomy, run: Run) -> Vec<u32> {
    (0..table.leaves() as u32)
        .filter(|&l| shown.find(table.leaf(l)).is_some_and(|c| run.contains(c)))
        .collect()
}

fn entropy(table: &Table, form: &Form, release: &Release) -> f64 {
    let (mut lost, mut most) = (0.0, 0.0);
    for (dim, a) in table.quasi.iter().enumerate() {
        let records = |leaf: &u32| -> f64 {
            (0..table.rows())
                .filter(|&r| table.quasi_codes[dim][r] == *leaf)
                .map(|r| f64::from(table.counts[r]))
                .sum()
        };
        let all = table.records() as f64;
        for row in 0..table.rows() {
            most -=
                f64::from(table.counts[row]) * (records(&table.quasi_codes[dim][row]) / all).log2();
        }
        for (i, class) in
            members(form).iter().enumerate().filter(|_| release.shape != Shape::Groups)
        {
            let shown =
                leaves(&a.taxonomy, &release.quasi[dim].taxonomy, release.classes[i].region[dim]);
            let under: f64 = shown.iter().map(records).sum();
            lost -= class
                .iter()
                .map(|m| f64::from(m.count) * (records(&code(table, dim, m)) / under).log2())
                .sum::<f64>();
        }
        lost -= form
            .suppressed()
            .iter()
            .map(|m| f64::from(m.count) * (records(&code(table, dim, m)) / all).log2())
            .sum::<f64>();
    }
    if most == 0.0 { 0.0 } else { lost / most }
}

fn distribution(table: &Table, form: &Form, release: &Release) -> f64 {
    if release.records() == 0 {
        return 1.0;
    }
    let mut sum = 0.0;
    for (dim, a) in table.quasi.iter().enumerate() {
        let mut apart: BTreeMap<String, f64> = BTreeMap::new();
        for row in 0..table.rows() {
            let share = f64::from(table.counts[row]) / table.records() as f64;
            *apart.entry(value(&a.taxonomy, table.quasi_codes[dim][row])).or_default() += share;
        }
        for (i, class) in members(form).iter().enumerate() {
            for m in *class {
                let texts = match release.shape {
                    Shape::Groups => vec![value(&a.taxonomy, code(table, dim, m))],
                    _ => values(&release.quasi[dim].taxonomy, release.classes[i].region[dim]),
                };
                let each = f64::from(m.count) / release.records() as f64 / texts.len() as f64;
                texts.iter().for_each(|t| *apart.entry(t.clone()).or_default() -= each);
            }
        }
        sum += apart.values().map(|x| x.abs()).sum::<f64>() / 2.0;
    }
    sum / table.quasi.len() as f64
}

fn sse(table: &Table, form: &Form, release: &Release) -> Option<f64> {
    let mut ratios = Vec::new();
    for (dim, a) in table.quasi.iter().enumerate() {
        let t = &a.taxonomy;
        if !matches!(t.scale(), Scale::Number(_) | Scale::Date(_)) {
            continue;
        }
        let number = |t: &Taxonomy, leaf: u32| match t.scale() {
            _ if t.missing() == Some(leaf) => None,
            Scale::Number(grid) => Some(t.position(leaf) as f64 / 10f64.powi(grid.decimals as i32)),
            Scale::Date(_) => Some(t.position(leaf) as f64),
            _ => None,
        };
        let records: Vec<f64> = (0..table.rows())
            .filter_map(|r| {
                Some(vec![number(t, table.quasi_codes[dim][r])?; table.counts[r] as usize])
            })
            .flatten()
            .collect();
        let mean = records.iter().sum::<f64>() / records.len() as f64;
        let total: f64 = records.iter().map(|x| (x - mean).powi(2)).sum();
        if records.is_empty() || total < 1e-12 {
            continue;
        }
        let error = |m: &Member, from: Option<f64>| match (number(t, code(table, dim, m)), from) {
            (Some(x), Some(from)) => f64::from(m.count) * (x - from).powi(2),
            _ => 0.0,
        };
        let mut sum: f64 = form.suppressed().iter().map(|m| error(m, Some(mean))).sum();
        for (i, class) in
            members(form).iter().enumerate().filter(|_| release.shape != Shape::Groups)
        {
            let shown = &release.quasi[dim].taxonomy;
            let run = release.classes[i].region[dim];
            let unit = 10f64.powi(shown.scale().decimals() as i32);
            let middle =
                Some(shown.cells(run).map_or(mean, |(a, b)| (a as f64 + b as f64) / 2.0 / unit));
            sum += class.iter().map(|m| error(m, middle)).sum::<f64>();
        }
        ratios.push(sum / total);
    }
    (!ratios.is_empty()).then(|| ratios.iter().sum::<f64>() / ratios.len() as f64)
}

/// The divergence from what all classes together make of every row, without those left out.
fn kl(table: &Table, release: &Release) -> f64 {
    if release.suppressed > 0 {
        return 0.0;
    }
    let mut expected: BTreeMap<(Point, Vec<u32>), f64> = BTreeMap::new();
    let few = |c: &scumble::class::EquivalenceClass| {
        release.quasi.iter().zip(&c.region).map(|(a, &r)| a.taxonomy.size(r)).product::<u64>()
            <= 20_000
    };
    if table.published_sensitive().len() > 1 || !release.classes.iter().all(few) {
        return 0.0;
    }
    worlds(release).into_iter().for_each(|(p, s, w)| *expected.entry((p, s)).or_default() += w);
    let n = table.records() as f64;
    (0..table.rows())
        .map(|r| {
            let point: Point = table
                .quasi
                .iter()
                .zip(&table.quasi_codes)
                .map(|(a, c)| value(&a.taxonomy, c[r]))
                .collect();
            // Rows that differ only in what is not published are one to a recipient.
            let same = |q: &usize| {
                table.quasi_codes.iter().all(|c| c[r] == c[*q])
                    && table.sensitive_codes[0][r] == table.sensitive_codes[0][*q]
            };
            let p: f64 =
                (0..table.rows()).filter(same).map(|q| f64::from(table.counts[q])).sum::<f64>() / n;
            let q = expected[&(point, vec![table.sensitive_codes[0][r]])] / n;
            f64::from(table.counts[r]) / n * (p / q).log2()
        })
        .sum()
}

/// Two columns that always agree keep V = 1 as they are, and have V = 0 in one class.
#[test]
fn association_is_lost_in_one_class() {
    let records: Vec<[u8; 6]> = (0..8).map(|i| [i % 2, i % 2, i % 2, 0, 0, 0]).collect();
    let case = Case::of(&[(4, false), (5, false)], &[(4, false)], &records);
    let lost = |k: u64| {
        let entry = ALGORITHMS.iter().find(|e| e.name == "mondrian").expect("is in the catalogue");
        let algorithm = algorithm(entry, &BTreeMap::new()).expect("defaults");
        let Outcome::Made(made) =
            make(&case.table, &*algorithm, &[k_anonymity(k)], 1, &|_, _| true)
        else {
            panic!("8 records")
        };
        let Made { form, release, .. } = *made;
        metric("correlation", &Subject { release: &release, k, truth: Some((&case.table, &form)) })
    };
    assert_eq!((lost(4), lost(5)), (Some(0.0), Some(1.0)));
}

/// Values of one taxonomy in another: by place on number scales, by text elsewhere.
#[test]
fn selections_are_translated() {
    let case =
        Case::of(&[(0, false), (5, false)], &[(4, false)], &[[1; 6], [2; 6], [3; 6], [4; 6]]);
    let t = &case.table.quasi[0].taxonomy;
    let whole = Case::line(12);
    let coarse = &whole.table.quasi[0].taxonomy;
    // 2 and 3 of whole numbers are 2.0 to 3.9 of tenths.
    let fine = Selection::new(vec![(2, 3)], false).translate(coarse, t);
    assert_eq!(fine, Selection::new(vec![(20, 39)], false));
    let jobs = &case.table.quasi[1].taxonomy;
    let artists = Selection::of_run(jobs, jobs.parse("Artist").expect("a node"));
    assert_eq!(artists.translate(jobs, &jobs.clone()), artists);
    assert!((artists.share(jobs, jobs.root()) - 2.0 / jobs.leaves() as f64).abs() < 1e-12);
}
