//! Laws of single-dimensional recoding: one cut per quasi-identifier, and nothing finer is left.

use super::algorithms::{Law, check, classes, generalized, run};
use super::cases::{Case, KINDS, cases, draws, k_anonymity, requirements};
use super::naive::{self, Classes};
use proptest::prelude::*;
use scumble::algorithm::{Goal, Requirement};
use scumble::class::{EquivalenceClass, Run};
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

/// Whether the classes that these cuts make keep every requirement, each on its own columns. The most general table is
/// judged as a whole, where that is how a requirement is judged.
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
        let top = groups.keys().all(|region| *region == table.top());
        if top && r.model.promise().wide {
            let all: Vec<u32> = (0..table.rows() as u32).collect();
            let whole = EquivalenceClass { region: table.top(), ..naive::class(table, &all) };
            return Goal::new(table, std::slice::from_ref(r)).holds_as_a_whole(0, &[whole]);
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
fn cuts(run: Run, refinements: &dyn Fn(Run) -> Vec<Cut>) -> BTreeSet<Cut> {
    let mut all = BTreeSet::from([vec![run]]);
    for pieces in refinements(run) {
        let mut joined: BTreeSet<Cut> = BTreeSet::from([vec![]]);
        for piece in pieces {
            let below = cuts(piece, refinements);
            joined = joined.iter().flat_map(|a| below.iter().map(|b| [&a[..], b].concat())).collect();
        }
        all.extend(joined);
    }
    all
}

/// One cut of each attribute, in every way.
fn combined(each: Vec<BTreeSet<Cut>>) -> Vec<Vec<Cut>> {
    each.iter().fold(vec![vec![]], |all, one| {
        all.iter().flat_map(|a| one.iter().map(|c| [&a[..], std::slice::from_ref(c)].concat())).collect()
    })
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
        if goal.iter().any(|r| !r.model.promise().monotone) {
            return Ok(()); // what is valid may then lie beyond cuts that are not
        }
        let each = |t: &Taxonomy| cuts(t.root(), &|run| refinements(t, run));
        let all = combined(table.quasi.iter().map(|a| each(&a.taxonomy)).collect());
        let kept: Vec<_> = all.iter().filter(|cuts| valid(table, &goal, |d, leaf| find(&cuts[d], leaf))).collect();
        for (name, given) in sub_tree() {
            let Some(form) = run(name, &given, table, &goal, 0) else {
                prop_assert!(kept.is_empty(), "{} refused though something is valid", name);
                continue;
            };
            let shown = shown(table, &classes(&generalized(form)))?;
            let finer = |cuts: &&&Vec<Cut>| {
                let pairs =
                    || shown.iter().zip(cuts.iter()).flat_map(|(s, cut)| s.iter().map(|(&l, &r)| (r, find(cut, l))));
                pairs().all(|(mine, other)| mine.covers(other)) && pairs().any(|(mine, other)| mine != other)
            };
            prop_assert!(kept.iter().find(finer).is_none(), "{} {:?}", name, given);
            let same = |cuts: &&&Vec<Cut>| {
                shown.iter().zip(cuts.iter()).all(|(s, c)| s.iter().all(|(&l, &r)| find(c, l) == r))
            };
            prop_assert!(kept.iter().any(|cuts| same(&cuts)), "{} is no cut", name);
        }
        Ok(())
    });
}

/// Every recoding that k-optimize may choose: ranges of any ends on ordered scales, nodes on others.
fn recodings(table: &Table) -> Vec<Vec<Cut>> {
    let places =
        |run: Run| (run.first..run.last).map(|l| vec![Run::new(run.first, l), Run::new(l + 1, run.last)]).collect();
    let each = |t: &Taxonomy| match t.is_ordered() {
        true => cuts(t.root(), &places),
        false => cuts(t.root(), &|run| refinements(t, run)),
    };
    combined(table.quasi.iter().map(|a| each(&a.taxonomy)).collect())
}

/// What a recoding costs if classes of fewer than k are left out, and how many records those are.
fn charge(table: &Table, k: u64, discernibility: bool, groups: &[Vec<u32>]) -> (u64, u64) {
    let (mut cost, mut left_out) = (0, 0);
    for rows in groups {
        let mut labels: BTreeMap<u32, u64> = BTreeMap::new();
        rows.iter().for_each(|&r| {
            *labels.entry(table.sensitive_codes[0][r as usize]).or_default() += u64::from(table.counts[r as usize])
        });
        let size: u64 = labels.values().sum();
        let minority = size - labels.values().max().expect("somebody");
        left_out += if size < k { size } else { 0 };
        cost += match (discernibility, size < k) {
            (true, true) => size * table.records(),
            (true, false) => size * size,
            (false, true) => size,
            (false, false) => minority,
        };
    }
    (cost, left_out)
}

#[test]
fn nothing_costs_less_than_k_optimize() {
    let drawn = (
        prop::collection::vec((0..KINDS, any::<bool>()), 1..=2),
        prop::collection::vec(prop::array::uniform6(0u8..8), 1..=16),
        1u64..5,
        prop::sample::select(vec!["1", "0.3", "0"]),
    );
    check(300, drawn, |(quasi, records, k, suppress)| -> Law {
        let case = Case::of(&quasi, &[(4, false)], &records);
        let table = &case.table;
        let limit = match suppress {
            "0.3" => table.records() * 3 / 10,
            share => share.parse::<u64>().expect("0 or 1") * table.records(),
        };
        for cost in ["discernibility", "classification"] {
            let given = [("cost", cost), ("suppress", suppress), ("nodes", "1000000")];
            let given = given.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
            let all = recodings(table).into_iter().map(|cuts| {
                let mut groups: BTreeMap<Vec<Run>, Vec<u32>> = BTreeMap::new();
                for row in 0..table.rows() {
                    let region = (0..cuts.len()).map(|d| find(&cuts[d], table.quasi_codes[d][row])).collect();
                    groups.entry(region).or_default().push(row as u32);
                }
                charge(table, k, cost == "discernibility", &groups.into_values().collect::<Vec<_>>())
            });
            let best = all.filter(|&(_, out)| out <= limit && out < table.records()).map(|(cost, _)| cost).min();
            let form = run("k-optimize", &given, table, &[k_anonymity(k)], 0).map(generalized);
            let groups = form.map(|form| {
                let kept = form.classes.iter().map(|c| c.members.iter().map(|m| m.row).collect());
                let out = form.suppressed.iter().map(|m| vec![m.row]);
                (kept.collect::<Vec<_>>(), out.collect::<Vec<_>>())
            });
            let found = groups.map(|(kept, out)| {
                let out: u64 = out.iter().flatten().map(|&r| u64::from(table.counts[r as usize])).sum();
                let each = if cost == "discernibility" { table.records() } else { 1 };
                charge(table, 0, cost == "discernibility", &kept).0 + out * each
            });
            prop_assert_eq!(found, best, "{} with k = {}", cost, k);
        }
        Ok(())
    });
}
