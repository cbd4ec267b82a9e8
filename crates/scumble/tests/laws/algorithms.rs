//! Laws of algorithms: every entry of the catalogue × every choice of its parameters × random
//! tables × random models.

use super::cases::{
    self, Case, Draw, algorithm, cases, combinations, draws, k_anonymity, ordered_cases,
    requirements,
};
use super::naive::{self, Classes};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use scumble::algorithm::{Goal, Requirement};
use scumble::catalogue::{ALGORITHMS, METRICS};
use scumble::class::Run;
use scumble::model::Concern;
use scumble::publish::{Outcome, judge, make};
use scumble::release::{Form, Generalized, Member, Release, Shape};
use scumble::risk::assess;
use scumble::table::Table;
use scumble::utility::Subject;
use std::collections::BTreeMap;

pub type Law = Result<(), TestCaseError>;

pub fn check<S: Strategy>(number: u32, drawn: S, law: impl Fn(S::Value) -> Law) {
    TestRunner::new(ProptestConfig::with_cases(number))
        .run(&drawn, law)
        .unwrap_or_else(|e| panic!("{e}"));
}

/// Runs one algorithm: its form, or nothing if it refuses.
pub fn run(
    name: &str,
    given: &BTreeMap<String, String>,
    table: &Table,
    goal: &[Requirement],
    seed: u64,
) -> Option<Form> {
    let entry = ALGORITHMS.iter().find(|e| e.name == name).expect("is in the catalogue");
    let goal = Goal::new(table, goal);
    if !goal.unfit().is_empty() {
        return None;
    }
    let progress = |done, all| {
        assert!(done <= all);
        true
    };
    match algorithm(entry, given)?.anonymize(table, &goal, seed, &progress) {
        Ok(form) => Some(form),
        Err(refusal) => {
            assert!(!refusal.0.is_empty(), "the refusal of {name} gives no reason");
            None
        }
    }
}

fn mondrian(
    words: [&str; 3],
    table: &Table,
    goal: &[Requirement],
    seed: u64,
) -> Option<Generalized> {
    let names = ["partition", "cut", "recoding"];
    let given = names.iter().zip(words).map(|(n, w)| ((*n).to_owned(), w.to_owned())).collect();
    run("mondrian", &given, table, goal, seed).map(generalized)
}

/// What an algorithm that generalizes made.
pub fn generalized(form: Form) -> Generalized {
    match form {
        Form::Generalized(form) => form,
        Form::Anatomized(_) => panic!("it should generalize"),
    }
}

/// Regions with how many records of which row they hold.
pub fn classes(form: &Generalized) -> Classes {
    let mut classes = Classes::new();
    for class in &form.classes {
        let rows = classes.entry(class.region.to_vec()).or_default();
        class.members.iter().for_each(|m| *rows.entry(m.row).or_default() += u64::from(m.count));
    }
    classes
}

fn show(given: &BTreeMap<String, String>, goal: &[Requirement]) -> String {
    let asked: Vec<_> = goal.iter().map(|r| (r.name, &r.parameters, r.attribute, &r.on)).collect();
    format!("{given:?} {asked:?}")
}

#[test]
fn every_algorithm_keeps_its_laws_or_refuses() {
    check(
        480,
        (cases(20), draws(), any::<u64>(), prop::array::uniform3(0u32..1000)),
        |(case, draws, seed, params)| {
            let (table, goal) = (&case.table, requirements(&draws, &case.table));
            for entry in ALGORITHMS {
                for given in combinations(entry.parameters, &params) {
                    if algorithm(entry, &given).is_none() {
                        continue;
                    }
                    let shown = show(&given, &goal);
                    let promises = || goal.iter().map(|r| r.model.promise());
                    let searched = promises().all(|p| p.monotone && !p.wide && !p.region);
                    let Some(form) = run(entry.name, &given, table, &goal, seed) else {
                        let all: Vec<(u32, u64)> =
                            (0u32..).zip(table.counts.iter().map(|&n| n.into())).collect();
                        let possible =
                            goal.iter().all(|r| naive::keeps(r, table, &table.top(), &all));
                        // Suppression of guarded values generalizes nothing.
                        let suppresses = given.get("repair").is_some_and(|r| r == "suppress");
                        prop_assert!(
                            !possible
                                || !searched
                                || suppresses
                                || PARTICULAR.contains(&entry.name),
                            "{} refused for nothing: {}",
                            entry.name,
                            shown
                        );
                        continue;
                    };
                    everybody_is_somewhere(table, &form)?;
                    regions_are_right(table, &form)?;
                    every_class_keeps_every_model(table, &form, &goal, &shown)?;
                    let again = run(entry.name, &given, table, &goal, seed)
                        .expect("it did not refuse before");
                    same(&form, &again)?;
                    if let Some(other) = run(entry.name, &given, table, &goal, seed.wrapping_add(1))
                    {
                        everybody_is_somewhere(table, &other)?;
                        every_class_keeps_every_model(table, &other, &goal, &shown)?;
                    } else {
                        prop_assert!(
                            !searched,
                            "{} refused with another seed: {}",
                            entry.name,
                            shown
                        );
                    }
                }
            }
            Ok(())
        },
    );
}

/// Algorithms that may refuse although the whole table as one class keeps the models: their
/// releases are no classes of generalized records.
const PARTICULAR: [&str; 3] = ["anatomy", "history-guided", "m-invariance"];

pub fn everybody_is_somewhere(table: &Table, form: &Form) -> Law {
    let mut found = vec![0u64; table.rows()];
    let groups: Vec<&Vec<Member>> = match form {
        Form::Generalized(form) => form.classes.iter().map(|c| &c.members).collect(),
        Form::Anatomized(form) => form.groups.iter().collect(),
    };
    for m in groups.into_iter().flatten().chain(form.suppressed()) {
        prop_assert!(m.count > 0);
        found[m.row as usize] += u64::from(m.count);
    }
    let there: Vec<u64> = table.counts.iter().map(|&n| n.into()).collect();
    prop_assert_eq!(found, there);
    Ok(())
}

/// Regions contain their records, can be published and read back, and are in order and different.
fn regions_are_right(table: &Table, form: &Form) -> Law {
    let Form::Generalized(form) = form else { return Ok(()) };
    prop_assert!(form.classes.windows(2).all(|w| w[0].region < w[1].region));
    let written_in = form.quasi.as_ref().unwrap_or(&table.quasi);
    for class in &form.classes {
        prop_assert!(!class.members.is_empty());
        for (i, (attribute, &run)) in written_in.iter().zip(&class.region).enumerate() {
            let own = |m: &Member| {
                let text = table.quasi[i].taxonomy.leaf(table.quasi_codes[i][m.row as usize]);
                attribute.taxonomy.find(text).is_some_and(|leaf| run.contains(leaf))
            };
            prop_assert!(form.shape != Shape::Regions || class.members.iter().all(own));
            prop_assert_eq!(attribute.taxonomy.cover(run), run);
            let label = attribute.taxonomy.label(run);
            prop_assert_eq!(
                attribute.taxonomy.parse(&label),
                Some(run),
                "`{}` of {}",
                label,
                attribute.name
            );
        }
    }
    Ok(())
}

/// Judged by twins that share nothing with the models. A requirement on some columns is judged on
/// the records that the recipient cannot tell apart by those columns, and by the distribution of
/// the records that are published.
fn every_class_keeps_every_model(
    table: &Table,
    form: &Form,
    goal: &[Requirement],
    shown: &str,
) -> Law {
    let release = Release::of(table, form);
    if let Ok(judgements) = judge(&release, goal) {
        for (r, j) in goal.iter().zip(judgements).filter(|(r, _)| r.model.promise().wide) {
            prop_assert!(j.holds, "{} fails on the whole: {}", r.name, shown);
        }
    }
    // What was left out is not there to be judged, or judged against.
    let mut table = table.clone();
    form.suppressed().iter().for_each(|m| table.counts[m.row as usize] -= m.count);
    let classes: Vec<(Vec<Run>, &Vec<Member>)> = match form {
        Form::Generalized(form) => {
            form.classes.iter().map(|c| (c.region.to_vec(), &c.members)).collect()
        }
        Form::Anatomized(form) => {
            release.classes.iter().map(|c| c.region.clone()).zip(&form.groups).collect()
        }
    };
    let grouped = |r: &&Requirement| {
        release.shape != Shape::Groups || r.model.promise().concerns != Concern::Identity
    };
    for r in goal.iter().filter(|r| !r.model.promise().wide).filter(grouped) {
        let mut groups: BTreeMap<Vec<Run>, Vec<(u32, u64)>> = BTreeMap::new();
        for (i, (region, members)) in classes.iter().enumerate() {
            let on = |d: &usize| r.on.as_ref().is_none_or(|on| on.contains(d));
            let shown =
                |d: usize| if on(&d) { region[d] } else { release.quasi[d].taxonomy.root() };
            let mut key: Vec<Run> = (0..region.len()).map(shown).collect();
            if release.shape == Shape::Groups {
                key.push(Run::new(i as u32, i as u32));
            }
            groups
                .entry(key)
                .or_default()
                .extend(members.iter().map(|m| (m.row, u64::from(m.count))));
        }
        for (region, rows) in groups {
            let own = region
                .iter()
                .zip(&release.quasi)
                .zip(&table.quasi)
                .all(|((_, a), b)| a.taxonomy.leaves() == b.taxonomy.leaves());
            if r.model.promise().region && !own {
                continue; // written in other attributes than the twin's register
            }
            let region = &region[..table.quasi.len()];
            prop_assert!(
                naive::keeps(r, &table, region, &rows),
                "{} fails in {:?}: {}",
                r.name,
                region,
                shown
            );
        }
    }
    Ok(())
}

fn same(a: &Form, b: &Form) -> Law {
    prop_assert_eq!(a.suppressed(), b.suppressed());
    match (a, b) {
        (Form::Generalized(a), Form::Generalized(b)) => {
            prop_assert_eq!(a.classes.len(), b.classes.len());
            for (a, b) in a.classes.iter().zip(&b.classes) {
                prop_assert_eq!((&a.region, &a.members), (&b.region, &b.members));
            }
        }
        (Form::Anatomized(a), Form::Anatomized(b)) => {
            prop_assert_eq!((&a.groups, &a.counterfeits), (&b.groups, &b.counterfeits));
        }
        _ => prop_assert!(false, "another form"),
    }
    Ok(())
}

/// What `make` publishes is what the judge, the risk and the metrics say of it.
#[test]
fn made_releases_are_judged_right() {
    check(
        360,
        (cases(16), draws(), any::<u64>(), prop::array::uniform3(0u32..1000)),
        |(case, draws, seed, params)| {
            let (table, goal) = (&case.table, requirements(&draws, &case.table));
            for entry in ALGORITHMS {
                for given in combinations(entry.parameters, &params) {
                    let Some(algorithm) = algorithm(entry, &given) else { continue };
                    let Outcome::Made(made) = make(table, &*algorithm, &goal, seed, &|_, _| true)
                    else {
                        continue;
                    };
                    let release = &made.release;
                    prop_assert_eq!(release.records() + release.suppressed, table.records());
                    prop_assert_eq!(made.judgements.len(), goal.len());
                    for judgement in judge(release, &goal).expect("it was judged before") {
                        prop_assert!(judgement.holds && (judgement.broken == 0 || judgement.wide));
                        prop_assert!(judgement.classes > 0 || release.records() == 0);
                    }
                    let everybody: Vec<u64> =
                        release.identities().iter().map(|c| c.count + 3).collect();
                    for population in [None, Some(&everybody[..])] {
                        let risk = assess(release, population);
                        prop_assert!(risk.prosecutor.max >= risk.journalist.max);
                        prop_assert!(risk.prosecutor.average + 1e-12 >= risk.journalist.average);
                        prop_assert!(risk.journalist.average + 1e-12 >= risk.marketer.average);
                        prop_assert_eq!(
                            risk.sizes.iter().map(|(size, n)| size * n).sum::<u64>(),
                            release.records()
                        );
                    }
                    let subject = Subject { release, k: 1, truth: Some((table, &made.form)) };
                    for (metric, value) in
                        METRICS.iter().filter_map(|m| Some((m.name, (m.measure)(&subject)?)))
                    {
                        prop_assert!(value.is_finite() && value >= 0.0, "{} is {}", metric, value);
                        let shares =
                            ["gcp", "classification", "entropy", "distribution", "correlation"];
                        prop_assert!(
                            !shares.contains(&metric) || value <= 1.0,
                            "{} is {}",
                            metric,
                            value
                        );
                    }
                }
            }
            Ok(())
        },
    );
}

/// What is unchanged loses nothing, and k-anonymity on all columns is k-anonymity on some.
#[test]
fn an_unchanged_table_loses_nothing() {
    check(240, cases(16), |case| {
        let release = Release::unchanged(&case.table);
        for metric in METRICS.iter().filter(|m| ["gcp", "iloss"].contains(&m.name)) {
            prop_assert_eq!(
                (metric.measure)(&Subject { release: &release, k: 1, truth: None }),
                Some(0.0)
            );
        }
        prop_assert_eq!(
            release.classes.iter().map(|c| c.count).max(),
            Some(naive::largest_point(&case))
        );
        let smallest =
            |classes: &[scumble::class::EquivalenceClass]| classes.iter().map(|c| c.count).min();
        for some in 1..1usize << case.table.quasi.len() {
            let on: Vec<usize> =
                (0..case.table.quasi.len()).filter(|d| some & (1 << d) != 0).collect();
            let projected = release.project(&on);
            prop_assert_eq!(projected.iter().map(|c| c.count).sum::<u64>(), release.records());
            prop_assert!(smallest(&projected) >= smallest(&release.classes));
        }
        Ok(())
    });
}

fn strict_cases() -> impl Strategy<Value = (Case, Vec<Draw>)> {
    (cases(20), draws())
}

/// The packed, parallel implementation gives the classes of the naive one.
#[test]
fn strict_mondrian_is_what_its_manual_says() {
    check(660, strict_cases(), |(case, draws)| {
        let goal = requirements(&draws, &case.table);
        for (cut, recoding) in
            [("nearest", "tight"), ("nearest", "region"), ("median", "tight"), ("median", "region")]
        {
            let twin = naive::Mondrian {
                table: &case.table,
                requirements: &goal,
                median: cut == "median",
                tight: recoding == "tight",
            };
            let form = mondrian(["strict", cut, recoding], &case.table, &goal, 0);
            prop_assert_eq!(form.as_ref().map(classes), twin.run(), "{} {}", cut, recoding);
        }
        Ok(())
    });
}

/// The same with tables large enough to be cut on several threads.
#[test]
fn many_rows_are_cut_as_few_are() {
    let mut state = 1u64;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u8 % 8
    };
    let records: Vec<[u8; 6]> = (0..6000).map(|_| std::array::from_fn(|_| next())).collect();
    let case = cases::Case::of(
        &[(0, false), (1, false), (2, true), (3, false), (7, false)],
        &[(4, false)],
        &records,
    );
    assert!(
        case.table.rows() > 4200,
        "{} distinct rows are too few for two threads",
        case.table.rows()
    );
    let goal = vec![k_anonymity(200)];
    for recoding in ["tight", "region"] {
        let twin = naive::Mondrian {
            table: &case.table,
            requirements: &goal,
            median: false,
            tight: recoding == "tight",
        };
        let form =
            mondrian(["strict", "nearest", recoding], &case.table, &goal, 0).expect("6000 records");
        assert_eq!(Some(classes(&form)), twin.run());
    }
}

#[test]
fn strict_regions_are_disjoint_and_do_not_depend_on_the_order_of_rows() {
    check(450, strict_cases(), |(case, draws)| {
        let goal = requirements(&draws, &case.table);
        let other = case.reversed();
        for (cut, recoding) in [("nearest", "region"), ("nearest", "tight"), ("median", "region")] {
            let form = mondrian(["strict", cut, recoding], &case.table, &goal, 0);
            let reversed = mondrian(["strict", cut, recoding], &other.table, &goal, 7);
            prop_assert_eq!(form.is_some(), reversed.is_some());
            let (Some(form), Some(reversed)) = (form, reversed) else { continue };
            let release = Release::of(&case.table, &Form::Generalized(form));
            prop_assert_eq!(
                &release.classes,
                &Release::of(&other.table, &Form::Generalized(reversed)).classes
            );
            if case.misses_ordered() {
                continue;
            }
            for (i, a) in release.classes.iter().enumerate() {
                for b in &release.classes[..i] {
                    let apart = a
                        .region
                        .iter()
                        .zip(&b.region)
                        .any(|(a, b)| a.last < b.first || b.last < a.first);
                    // Tight regions of categories show the lowest node, which may reach into a
                    // neighbour's.
                    prop_assert!(
                        apart || (recoding == "tight" && !case.all_ordered()),
                        "{:?} {:?}",
                        a.region,
                        b.region
                    );
                }
            }
        }
        Ok(())
    });
}

/// No class of `cut = "nearest"` has a cut left, on any attribute.
#[test]
fn nearest_cuts_leave_nothing_to_cut() {
    check(450, strict_cases(), |(case, draws)| {
        let goal = requirements(&draws, &case.table);
        if case.misses_ordered() {
            return Ok(()); // classes that show the root for "or missing" are joined afterwards
        }
        let twin =
            naive::Mondrian { table: &case.table, requirements: &goal, median: false, tight: true };
        for recoding in ["tight", "region"] {
            let Some(form) = mondrian(["strict", "nearest", recoding], &case.table, &goal, 0)
            else {
                continue;
            };
            for rows in classes(&form).values() {
                let rows: Vec<u32> = rows.keys().copied().collect();
                prop_assert!(!twin.can_be_cut(&rows), "{:?} can be cut", rows);
            }
        }
        Ok(())
    });
}

/// LeFevre et al. 2006: strict classes have at most 2d(k − 1) + m records, m those at the most
/// frequent point. It holds where every place is tried and everything is ordered; with `cut =
/// "median"` it does not.
#[test]
fn strict_classes_are_bounded() {
    check(600, (ordered_cases(40), 1u64..6), |(case, k)| {
        let d = case.table.quasi.len() as u64;
        let bound = 2 * d * (k - 1) + naive::largest_point(&case);
        if let Some(form) =
            mondrian(["strict", "nearest", "tight"], &case.table, &[k_anonymity(k)], 0)
        {
            for rows in classes(&form).values() {
                let size: u64 = rows.values().sum();
                prop_assert!((k..=bound).contains(&size), "{} is not in {}..={}", size, k, bound);
            }
        }
        Ok(())
    });
}

/// Relaxed classes have at most 2k − 1 records, unless the recipient could not tell their parts
/// apart: records at one point, and parts with equal regions, are one class whatever the algorithm
/// does.
#[test]
fn relaxed_classes_are_bounded() {
    check(600, (ordered_cases(40), 1u64..6, any::<u64>()), |(case, k, seed)| {
        let goal = [k_anonymity(k)];
        let distinct = case.table.quasi_codes.iter().all(|codes| {
            let mut codes = codes.clone();
            codes.sort_unstable();
            codes.windows(2).all(|w| w[0] < w[1])
        });
        let points = naive::largest_point(&case);
        for recoding in ["tight", "region"] {
            let Some(form) = mondrian(["relaxed", "nearest", recoding], &case.table, &goal, seed)
            else {
                continue;
            };
            for rows in classes(&form).values() {
                let size: u64 = rows.values().sum();
                prop_assert!(size >= k);
                prop_assert!(!(distinct && points == 1) || size < 2 * k, "{} of k = {}", size, k);
            }
        }
        Ok(())
    });
    // All values different: the bound itself.
    for (n, k) in [(40u32, 3u64), (41, 3), (7, 2), (100, 7)] {
        let case = cases::Case::line(n);
        for recoding in ["tight", "region"] {
            let form = mondrian(["relaxed", "median", recoding], &case.table, &[k_anonymity(k)], 1)
                .expect("n ≥ k");
            assert!(classes(&form).values().all(|c| (k..2 * k).contains(&c.values().sum())));
        }
    }
}

/// A table without records is an answer, not a crash.
#[test]
fn nobody_is_no_reason_to_panic() {
    let mut case = cases::Case::line(3);
    case.table.quasi_codes[0].clear();
    case.table.sensitive_codes[0].clear();
    case.table.counts.clear();
    for entry in ALGORITHMS {
        for draws in [(0, [1, 1, 1], 0, 0), (4, [20, 0, 0], 0, 0)] {
            let goal = requirements(&[draws], &case.table);
            let given = combinations(entry.parameters, &[0]).swap_remove(0);
            let algorithm = algorithm(entry, &given).expect("the first choices are possible");
            match make(&case.table, &*algorithm, &goal, 0, &|_, _| true) {
                Outcome::Made(made) => assert_eq!(made.release.records(), 0),
                Outcome::Refused(reasons) => assert!(!reasons.is_empty()),
            }
        }
    }
}
