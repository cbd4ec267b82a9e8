//! Laws of anatomy: groups of different values, and what the two tables of its release tell.

use super::algorithms::{Law, check, run};
use super::cases::{Case, cases, k_anonymity};
use proptest::prelude::*;
use scumble::algorithm::Requirement;
use scumble::catalogue::{MODELS, Parameters};
use scumble::exact::Ratio;
use scumble::publish::judge;
use scumble::release::{Anatomized, Form, Release};
use scumble::table::Table;
use std::collections::{BTreeMap, BTreeSet};

const GROUPINGS: [&str; 2] = ["random", "near"];

fn words(given: &[(&str, &str)]) -> BTreeMap<String, String> {
    given.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}

fn anatomy(
    grouping: &str,
    l: u64,
    table: &Table,
    goal: &[Requirement],
    seed: u64,
) -> Option<Anatomized> {
    let name = &table.sensitive[0].name;
    let given = words(&[("l", &l.to_string()), ("grouping", grouping), ("attribute", name)]);
    anatomized(run("anatomy", &given, table, goal, seed)?)
}

fn anatomized(form: Form) -> Option<Anatomized> {
    match form {
        Form::Anatomized(form) => Some(form),
        Form::Generalized(_) => panic!("it should not generalize"),
    }
}

/// distinct ℓ-diversity of the first sensitive attribute.
fn diverse(l: u64) -> Requirement {
    let entry =
        MODELS.iter().find(|e| e.name == "distinct-l-diversity").expect("is in the catalogue");
    let parameters =
        Parameters::read(entry.name, entry.parameters, &words(&[("l", &l.to_string())]))
            .expect("a count");
    let model = (entry.build)(&parameters).expect("a count is all it needs");
    Requirement {
        name: entry.name,
        parameters,
        model,
        attribute: Some(0),
        on: None,
        register: None,
    }
}

/// The first sensitive value of every record of every group.
fn values(table: &Table, form: &Anatomized) -> Vec<Vec<u32>> {
    let of = |m: &scumble::release::Member| {
        std::iter::repeat_n(table.sensitive_codes[0][m.row as usize], m.count as usize)
    };
    form.groups.iter().map(|g| g.iter().flat_map(of).collect()).collect()
}

fn frequencies(values: impl IntoIterator<Item = u32>) -> Vec<usize> {
    let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
    values.into_iter().for_each(|v| *counts.entry(v).or_default() += 1);
    counts.into_values().collect()
}

/// The values of all records.
fn column(case: &Case) -> &[u32] {
    &case.records[case.table.quasi.len()]
}

#[test]
fn groups_have_different_values_or_no_groups_are_possible() {
    check(600, (cases(30), 2u64..6, any::<u64>()), |(case, l, seed)| {
        let n = column(&case).len();
        let eligible =
            frequencies(column(&case).iter().copied()).into_iter().all(|c| c * l as usize <= n);
        for grouping in GROUPINGS {
            let made = anatomy(grouping, l, &case.table, &[diverse(l)], seed);
            prop_assert_eq!(made.is_some(), eligible, "{}", grouping);
            let Some(form) = made else { continue };
            prop_assert!(form.suppressed.is_empty());
            for group in values(&case.table, &form) {
                prop_assert!(
                    group.len() as u64 >= l && (group.len() as u64) < 2 * l,
                    "{} records",
                    group.len()
                );
                prop_assert!(frequencies(group).iter().all(|&c| c == 1), "a value occurs twice");
            }
            prop_assert!(grouping == "near" || form.groups.len() as u64 == n as u64 / l);
        }
        Ok(())
    });
}

/// Every way to put n records into groups, each as the group of every record.
fn groupings(n: usize) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for _ in 0..n {
        let longer = |of: &Vec<usize>| {
            let next = of.iter().max().map_or(0, |m| m + 1);
            (0..=next).map(|g| [&of[..], &[g]].concat()).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(longer).collect();
    }
    all
}

/// It refuses only where no groups at all, of whatever sizes, would keep the adversary below 1/ℓ.
#[test]
fn what_it_refuses_nobody_can_do() {
    check(120, (cases(7), 2u64..4), |(case, l)| {
        let column = column(&case);
        let keeps = |of: &Vec<usize>| {
            let groups = of.iter().max().map_or(0, |m| m + 1);
            (0..groups).all(|g| {
                let group: Vec<u32> =
                    column.iter().zip(of).filter(|(_, i)| **i == g).map(|(v, _)| *v).collect();
                let n = group.len();
                frequencies(group).into_iter().all(|c| c * l as usize <= n)
            })
        };
        let possible = groupings(column.len()).iter().any(keeps);
        for grouping in GROUPINGS {
            prop_assert_eq!(
                anatomy(grouping, l, &case.table, &[diverse(l)], 1).is_some(),
                possible
            );
        }
        Ok(())
    });
}

/// Whoever looks a person up in both tables believes in no value more than 1/ℓ: the groups that
/// show the person's quasi-identifiers, each as likely as it has such records, and in each the
/// share of the value.
#[test]
fn the_adversary_is_never_surer_than_one_in_l() {
    check(300, (cases(30), 2u64..5, any::<u64>()), |(case, l, seed)| {
        for grouping in GROUPINGS {
            let Some(form) = anatomy(grouping, l, &case.table, &[diverse(l)], seed) else {
                continue;
            };
            let release = Release::of(&case.table, &Form::Anatomized(form));
            tables_agree(&case, &release)?;
            let mut people: BTreeMap<&[u32], Vec<(usize, u64)>> = BTreeMap::new();
            for r in &release.records_by_group {
                people.entry(&r.codes).or_default().push((r.group as usize, r.count));
            }
            for groups in people.into_values() {
                let n: u64 = groups.iter().map(|(_, n)| n).sum();
                for value in 0..case.table.sensitive[0].taxonomy.leaves() as u32 {
                    let share = |g: usize| {
                        let class = &release.classes[g];
                        let count = class.histograms[0]
                            .0
                            .iter()
                            .find(|(v, _)| *v == value)
                            .map_or(0, |(_, n)| *n);
                        count as f64 / class.count as f64
                    };
                    let belief: f64 =
                        groups.iter().map(|&(g, c)| c as f64 / n as f64 * share(g)).sum();
                    prop_assert!(belief <= 1.0 / l as f64 + 1e-12, "{} of {}", belief, l);
                }
            }
        }
        Ok(())
    });
}

/// Both tables count the same records, and the first shows them as they are.
fn tables_agree(case: &Case, release: &Release) -> Law {
    let mut sizes = vec![0; release.classes.len()];
    for r in &release.records_by_group {
        sizes[r.group as usize] += r.count;
        let region = &release.classes[r.group as usize].region;
        prop_assert!(region.iter().zip(&*r.codes).all(|(run, &code)| run.contains(code)));
    }
    let counts: Vec<u64> = release.classes.iter().map(|c| c.count).collect();
    prop_assert_eq!(sizes, counts);
    prop_assert!(
        release
            .records_by_group
            .windows(2)
            .all(|w| (w[0].group, &w[0].codes) < (w[1].group, &w[1].codes))
    );
    let shown: Vec<_> = release.identities().iter().map(|c| (c.region.clone(), c.count)).collect();
    let own: Vec<_> = Release::unchanged(&case.table)
        .classes
        .iter()
        .map(|c| (c.region.clone(), c.count))
        .collect();
    prop_assert_eq!(shown, own);
    Ok(())
}

/// k-anonymity is judged on the quasi-identifiers as they are.
#[test]
fn identity_is_not_protected_by_groups() {
    check(300, (cases(24), 1u64..4, any::<u64>()), |(case, k, seed)| {
        let smallest =
            Release::unchanged(&case.table).classes.iter().map(|c| c.count).min().unwrap_or(0);
        let possible = anatomy("random", 2, &case.table, &[diverse(2)], seed).is_some();
        let goal = [diverse(2), k_anonymity(k)];
        let made = anatomy("random", 2, &case.table, &goal, seed);
        prop_assert_eq!(made.is_some(), possible && smallest >= k);
        if let Some(form) = made {
            let judgements =
                judge(&Release::of(&case.table, &Form::Anatomized(form)), &goal).expect("they fit");
            prop_assert!(judgements[1].holds);
            prop_assert_eq!(judgements[1].measured.to_f64(), smallest as f64);
        }
        Ok(())
    });
}

/// A record that remains joins any group, not always the first, and every group number is as
/// likely.
#[test]
fn what_remains_goes_anywhere() {
    let records: Vec<[u8; 6]> = [0, 1, 2, 3, 0, 1, 2, 3, 4].map(|v| [v, v, 0, 0, 0, 0]).to_vec();
    let case = Case::of(&[(0, false)], &[(0, false)], &records);
    assert_eq!(frequencies(column(&case).iter().copied()).len(), 5, "the last value occurs once");
    let (mut larger, mut joined) = (BTreeMap::<usize, u32>::new(), BTreeSet::new());
    for seed in 0..400 {
        let form = anatomy("random", 2, &case.table, &[diverse(2)], seed).expect("it is eligible");
        let at = form.groups.iter().position(|g| g.len() == 3).expect("nine records in pairs");
        *larger.entry(at).or_default() += 1;
        let mut values = values(&case.table, &form).swap_remove(at);
        values.sort_unstable();
        joined.insert(values);
    }
    assert!(larger.len() == 4 && larger.values().all(|n| (70..=130).contains(n)), "{larger:?}");
    assert!(joined.len() > 4, "{joined:?}");
}

#[test]
fn near_groups_are_near() {
    let records: Vec<[u8; 6]> = (0..2000u32)
        .map(|i| [(i * 7 % 8) as u8, (i / 8 % 8) as u8, (i / 64 % 8) as u8, (i % 5) as u8, 0, 0])
        .collect();
    let case = Case::of(&[(0, false), (1, false), (0, false)], &[(0, false)], &records);
    let spread = |grouping: &str| -> f64 {
        let form = anatomy(grouping, 3, &case.table, &[diverse(3)], 5).expect("it is eligible");
        let release = Release::of(&case.table, &Form::Anatomized(form));
        let loss = |c: &scumble::class::EquivalenceClass| -> f64 {
            release.quasi.iter().zip(&c.region).map(|(a, &run)| a.taxonomy.loss(run)).sum()
        };
        release.classes.iter().map(|c| loss(c) * c.count as f64).sum()
    };
    let (near, random) = (spread("near"), spread("random"));
    assert!(near * 4.0 < random, "{near} and {random}");
}

/// With two sensitive attributes groups are made of the one that is named; the models of the other
/// hold in every group.
#[test]
fn other_attributes_are_protected_by_merging() {
    check(200, (cases(30), any::<u64>()), |(case, seed)| {
        if case.table.published_sensitive().len() < 2 {
            return Ok(());
        }
        let goal = [diverse(2), Requirement { attribute: Some(1), ..diverse(2) }];
        let unnamed = words(&[("l", "2")]);
        prop_assert!(
            run("anatomy", &unnamed, &case.table, &goal, seed).is_none(),
            "which one was not said"
        );
        let Some(form) = anatomy("near", 2, &case.table, &goal, seed) else { return Ok(()) };
        let release = Release::of(&case.table, &Form::Anatomized(form));
        for class in &release.classes {
            prop_assert!(class.histograms[..2].iter().all(|h| h.distinct() >= 2));
            let most = class.histograms[0].counts().into_iter().max().unwrap_or(0);
            prop_assert!(Ratio::new(most.into(), class.count.into()) <= Ratio::new(1, 2));
        }
        Ok(())
    });
}
