//! Laws of single-dimensional recoding: one cut per quasi-identifier, and nothing finer is left.

use super::algorithms::{Law, check, classes, generalized, run};
use super::cases::{Case, KINDS, cases, draws, requirements};
use super::naive::{self, Classes};
use proptest::prelude::*;
use scumble::algorithm::Requirement;
use scumble::class::Run;
use scumble::table::Table;
use scumble::taxonomy::Taxonomy;
use std::collections::{BTreeMap, BTreeSet};

/// A set of runs that covers every leaf once.
type Cut = Vec<Run>;

fn sub_tree() -> impl Iterator<Item = (&'static str, BTreeMap<String, String>)> {
    let score = |word: &str| BTreeMap::from([("score".to_owned(), word.to_owned())]);
    ["top-down", "bottom-up"]
        .into_iter()
        .flat_map(move |name| ["loss", "information-gain"].into_iter().map(move |word| (name, score(word))))
}

/// The run that each value shows: one for each, in all records.
fn shown(table: &Table, classes: &Classes) -> Result<Vec<BTreeMap<u32, Run>>, TestCaseError> {
    let mut shown = vec![BTreeMap::new(); table.quasi.len()];
    for (region, rows) in classes {
        for &row in rows.keys() {
            for (d, &run) in region.iter().enumerate() {
                let known = *shown[d].entry(table.quasi_codes[d][row as usize]).or_insert(run);
                prop_assert_eq!(known, run, "a value is shown in two ways");
            }
        }
    }
    Ok(shown)
}

/// The runs that a run may be replaced by: the children of its node, or two ranges, after the manual page.
fn refinements(t: &Taxonomy, run: Run) -> Vec<Cut> {
    if run.first == run.last {
        return Vec::new();
    }
    if !t.is_ordered() || t.levels() > 1 {
        let level = (0..=t.levels()).rev().find(|&l| {
            t.at_level(run.first, l) != run
                && run.first <= t.at_level(run.first, l).first
                && t.at_level(run.first, l).last <= run.last
        });
        let level = level.expect("a node has something below it");
        let pieces: BTreeSet<Run> = (run.first..=run.last).map(|leaf| t.at_level(leaf, level)).collect();
        return vec![pieces.into_iter().collect()];
    }
    let parted = |leaf: u32| vec![Run::new(run.first, leaf), Run::new(leaf + 1, run.last)];
    match t.missing() {
        Some(m) if run.last == m => vec![parted(m - 1)],
        _ => (run.first..run.last).map(parted).collect(),
    }
}

/// Whether the classes that these cuts make keep every requirement, each on its own columns.
fn valid(table: &Table, goal: &[Requirement], show: impl Fn(usize, u32) -> Run) -> bool {
    goal.iter().all(|r| {
        let mut groups: BTreeMap<Vec<Run>, Vec<(u32, u64)>> = BTreeMap::new();
        let seen = |d: usize| r.on.as_ref().is_none_or(|on| on.contains(&d));
        for row in 0..table.rows() {
            let shown = |d: usize| match seen(d) {
                true => show(d, table.quasi_codes[d][row]),
                false => table.quasi[d].taxonomy.root(),
            };
            let key = (0..table.quasi.len()).map(shown).collect();
            groups.entry(key).or_default().push((row as u32, table.counts[row].into()));
        }
        groups.iter().all(|(region, rows)| naive::keeps(r, table, region, rows))
    })
}

fn find(cut: &[Run], leaf: u32) -> Run {
    *cut.iter().find(|run| run.contains(leaf)).expect("a cut covers every leaf")
}

#[test]
fn sub_tree_recoding_leaves_nothing_to_specialize() {
    check(400, (cases(20), draws()), |(case, draws)| {
        let (table, goal) = (&case.table, requirements(&draws, &case.table));
        for (name, given) in sub_tree() {
            let Some(form) = run(name, &given, table, &goal, 0) else { continue };
            let shown = shown(table, &classes(&generalized(form)))?;
            prop_assert!(valid(table, &goal, |d, leaf| shown[d][&leaf]));
            if goal.iter().any(|r| !r.model.promise().monotone) {
                continue;
            }
            for (dim, values) in shown.iter().enumerate() {
                for &run in values.values() {
                    for pieces in refinements(&table.quasi[dim].taxonomy, run) {
                        let finer = |d: usize, leaf: u32| {
                            if d == dim && run.contains(leaf) { find(&pieces, leaf) } else { shown[d][&leaf] }
                        };
                        prop_assert!(
                            !valid(table, &goal, finer),
                            "{} {:?}: {:?} could be {:?}",
                            name,
                            given,
                            run,
                            pieces
                        );
                    }
                }
            }
        }
        Ok(())
    });
}

/// Every cut of an attribute below a run.
fn cuts(t: &Taxonomy, run: Run) -> BTreeSet<Cut> {
    let mut all = BTreeSet::from([vec![run]]);
    for pieces in refinements(t, run) {
        let mut joined: BTreeSet<Cut> = BTreeSet::from([vec![]]);
        for piece in pieces {
            let below = cuts(t, piece);
            joined = joined.iter().flat_map(|a| below.iter().map(|b| [&a[..], b].concat())).collect();
        }
        all.extend(joined);
    }
    all
}

/// Of all cuts there are, none that keeps the goal is finer than the result.
#[test]
fn no_valid_cut_is_finer() {
    let drawn = (
        prop::collection::vec((0..KINDS, any::<bool>()), 1..=2),
        prop::collection::vec(prop::array::uniform6(0u8..8), 1..=9),
        draws(),
    );
    check(200, drawn, |(quasi, records, draws)| -> Law {
        let case = Case::of(&quasi, &[(4, false)], &records);
        let (table, goal) = (&case.table, requirements(&draws, &case.table));
        let each: Vec<Vec<Cut>> =
            table.quasi.iter().map(|a| cuts(&a.taxonomy, a.taxonomy.root()).into_iter().collect()).collect();
        let mut all: Vec<Vec<&Cut>> = vec![vec![]];
        for one in &each {
            all = all.iter().flat_map(|a| one.iter().map(|c| [&a[..], &[c]].concat())).collect();
        }
        let kept: Vec<_> = all.iter().filter(|cuts| valid(table, &goal, |d, leaf| find(cuts[d], leaf))).collect();
        for (name, given) in sub_tree() {
            let Some(form) = run(name, &given, table, &goal, 0) else {
                prop_assert!(kept.is_empty(), "{} refused though something is valid", name);
                continue;
            };
            let shown = shown(table, &classes(&generalized(form)))?;
            let finer = |cuts: &&&Vec<&Cut>| {
                let pairs =
                    || shown.iter().zip(cuts.iter()).flat_map(|(s, cut)| s.iter().map(|(&l, &r)| (r, find(cut, l))));
                pairs().all(|(mine, other)| mine.covers(other)) && pairs().any(|(mine, other)| mine != other)
            };
            prop_assert!(kept.iter().find(finer).is_none(), "{} {:?}", name, given);
            let same = |cuts: &&&Vec<&Cut>| {
                shown.iter().zip(cuts.iter()).all(|(s, c)| s.iter().all(|(&l, &r)| find(c, l) == r))
            };
            prop_assert!(kept.iter().any(|cuts| same(&cuts)), "{} is no cut", name);
        }
        Ok(())
    });
}
