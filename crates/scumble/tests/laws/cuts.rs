//! Laws of single-dimensional recoding: one cut per quasi-identifier, and nothing finer is left.

use super::algorithms::{Law, check, classes, generalized, run};
use super::cases::{Case, KINDS, cases, draws, k_anonymity, requirements};
use super::naive::{self, Classes};
use proptest::prelude::*;
use scumble::algorithm::{Goal, Requirement};
use scumble::catalogue::METRICS;
use scumble::class::{EquivalenceClass, Run};
use scumble::release::{Form, Generalized, Release};
use scumble::table::Table;
use scumble::taxonomy::Taxonomy;
use scumble::utility::Subject;
use std::collections::{BTreeMap, BTreeSet};

/// A set of runs that covers every leaf once.
type Cut = Vec<Run>;

fn sub_tree() -> impl Iterator<Item = (&'static str, BTreeMap<String, String>)> {
    let score = |word: &str| BTreeMap::from([("score".to_owned(), word.to_owned())]);
    ["top-down", "bottom-up"].into_iter().flat_map(move |name| {
        ["loss", "information-gain"].into_iter().map(move |word| (name, score(word)))
    })
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

/// The runs that a run may be replaced by: the children of its node, or two ranges, after the
/// manual page.
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
        let pieces: BTreeSet<Run> =
            (run.first..=run.last).map(|leaf| t.at_level(leaf, level)).collect();
        return vec![pieces.into_iter().collect()];
    }
    let parted = |leaf: u32| vec![Run::new(run.first, leaf), Run::new(leaf + 1, run.last)];
    match t.missing() {
        Some(m) if run.last == m => vec![parted(m - 1)],
        _ => (run.first..run.last).map(parted).collect(),
    }
}

/// Whether the classes that these cuts make keep every requirement, each on its own columns. The
/// most general table is judged as a whole, where that is how a requirement is judged.
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
                            if d == dim && run.contains(leaf) {
                                find(&pieces, leaf)
                            } else {
                                shown[d][&leaf]
                            }
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
            joined =
                joined.iter().flat_map(|a| below.iter().map(|b| [&a[..], b].concat())).collect();
        }
        all.extend(joined);
    }
    all
}

/// One cut of each attribute, in every way.
fn combined(each: Vec<BTreeSet<Cut>>) -> Vec<Vec<Cut>> {
    each.iter().fold(vec![vec![]], |all, one| {
        all.iter()
            .flat_map(|a| one.iter().map(|c| [&a[..], std::slice::from_ref(c)].concat()))
            .collect()
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
        let kept: Vec<_> =
            all.iter().filter(|cuts| valid(table, &goal, |d, leaf| find(&cuts[d], leaf))).collect();
        for (name, given) in sub_tree() {
            let Some(form) = run(name, &given, table, &goal, 0) else {
                prop_assert!(kept.is_empty(), "{} refused though something is valid", name);
                continue;
            };
            let shown = shown(table, &classes(&generalized(form)))?;
            let finer = |cuts: &&&Vec<Cut>| {
                let pairs = || {
                    shown
                        .iter()
                        .zip(cuts.iter())
                        .flat_map(|(s, cut)| s.iter().map(|(&l, &r)| (r, find(cut, l))))
                };
                pairs().all(|(mine, other)| mine.covers(other))
                    && pairs().any(|(mine, other)| mine != other)
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

/// Every recoding that k-optimize may choose: ranges of any ends on ordered scales, nodes on
/// others.
fn recodings(table: &Table) -> Vec<Vec<Cut>> {
    let places = |run: Run| {
        (run.first..run.last)
            .map(|l| vec![Run::new(run.first, l), Run::new(l + 1, run.last)])
            .collect()
    };
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
            *labels.entry(table.sensitive_codes[0][r as usize]).or_default() +=
                u64::from(table.counts[r as usize])
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
                    let region = (0..cuts.len())
                        .map(|d| find(&cuts[d], table.quasi_codes[d][row]))
                        .collect();
                    groups.entry(region).or_default().push(row as u32);
                }
                charge(
                    table,
                    k,
                    cost == "discernibility",
                    &groups.into_values().collect::<Vec<_>>(),
                )
            });
            let best = all
                .filter(|&(_, out)| out <= limit && out < table.records())
                .map(|(cost, _)| cost)
                .min();
            let form = run("k-optimize", &given, table, &[k_anonymity(k)], 0).map(generalized);
            let groups = form.map(|form| {
                let kept = form.classes.iter().map(|c| c.members.iter().map(|m| m.row).collect());
                let out = form.suppressed.iter().map(|m| vec![m.row]);
                (kept.collect::<Vec<_>>(), out.collect::<Vec<_>>())
            });
            let found = groups.map(|(kept, out)| {
                let out: u64 =
                    out.iter().flatten().map(|&r| u64::from(table.counts[r as usize])).sum();
                let each = if cost == "discernibility" { table.records() } else { 1 };
                charge(table, 0, cost == "discernibility", &kept).0 + out * each
            });
            prop_assert_eq!(found, best, "{} with k = {}", cost, k);
        }
        Ok(())
    });
}

/// What every value of every quasi-identifier shows.
type Labels = Vec<BTreeMap<u32, String>>;

/// Every value is shown by a node above it, and a label has one meaning: the values that show it.
fn labels(table: &Table, form: &Generalized) -> Result<Labels, TestCaseError> {
    let written_in = form.quasi.as_ref().unwrap_or(&table.quasi);
    let mut shown = vec![BTreeMap::new(); table.quasi.len()];
    for class in &form.classes {
        for m in &class.members {
            for (d, &run) in class.region.iter().enumerate() {
                let label = written_in[d].taxonomy.label(run).into_owned();
                let code = table.quasi_codes[d][m.row as usize];
                let known = shown[d].entry(code).or_insert_with(|| label.clone());
                prop_assert_eq!(&*known, &label, "a value is shown in two ways");
                let node = table.quasi[d].taxonomy.parse(&label);
                prop_assert!(
                    node.is_some_and(|node| node.contains(code)),
                    "`{}` is no node above the value",
                    label
                );
            }
        }
    }
    Ok(shown)
}

#[test]
fn siblings_lose_no_more_than_sub_trees_and_say_what_they_mean() {
    check(400, (cases(20), draws()), |(case, draws)| {
        let (table, goal) = (&case.table, requirements(&draws, &case.table));
        let loss = METRICS.iter().find(|m| m.name == "loss").expect("is there").measure;
        let made = |name: &str| run(name, &BTreeMap::new(), table, &goal, 0);
        let (sub_tree, sibling) = (made("top-down"), made("sibling"));
        prop_assert_eq!(sub_tree.is_some(), sibling.is_some());
        let (Some(sub_tree), Some(sibling)) = (sub_tree, sibling) else { return Ok(()) };
        let of = |form: &Form| {
            let release = Release::of(table, form);
            loss(&Subject { release: &release, k: 1, truth: None }).expect("regions")
        };
        prop_assert!(of(&sibling) <= of(&sub_tree) + 1e-12, "{} > {}", of(&sibling), of(&sub_tree));
        let form = generalized(sibling);
        let shown = labels(table, &form)?;
        for (d, attribute) in form.quasi.iter().flatten().enumerate() {
            let (own, given) = (&attribute.taxonomy, &table.quasi[d].taxonomy);
            prop_assert_eq!(own.leaves(), given.leaves());
            for (label, apart) in own.exceptions() {
                // All below the label but what is below its exceptions, and nothing else.
                let (run, node) =
                    (own.parse(label).expect("shown"), given.parse(label).expect("a node"));
                let meant: BTreeSet<&str> =
                    (run.first..=run.last).map(|leaf| own.leaf(leaf)).collect();
                let apart: Vec<Run> =
                    apart.iter().map(|label| given.parse(label).expect("a node")).collect();
                let kept = (node.first..=node.last)
                    .filter(|&leaf| !apart.iter().any(|run| run.contains(leaf)));
                prop_assert_eq!(
                    meant,
                    kept.map(|leaf| given.leaf(leaf)).collect::<BTreeSet<&str>>()
                );
            }
        }
        let searched =
            goal.iter().map(|r| r.model.promise()).all(|p| p.monotone && !p.region && !p.wide);
        if searched {
            nothing_more_can_be_shown_by_itself(table, &goal, &shown)?;
        }
        Ok(())
    });
}

/// Of the values that show a label, those below another node, or between two places.
fn nothing_more_can_be_shown_by_itself(table: &Table, goal: &[Requirement], shown: &Labels) -> Law {
    for (dim, values) in shown.iter().enumerate() {
        let taxonomy = &table.quasi[dim].taxonomy;
        if taxonomy.is_ordered() {
            continue;
        }
        let nodes: BTreeSet<Run> = (0..taxonomy.leaves() as u32)
            .flat_map(|leaf| {
                (0..=taxonomy.levels()).map(move |level| taxonomy.at_level(leaf, level))
            })
            .collect();
        for label in values.values().collect::<BTreeSet<_>>() {
            for &node in &nodes {
                let moves = |leaf: &u32| node.contains(*leaf) && values[leaf] == *label;
                let all = values.keys().filter(|leaf| values[leaf] == *label).count();
                let moved = values.keys().filter(|leaf| moves(leaf)).count();
                if moved == 0 || moved == all {
                    continue;
                }
                // Runs are only names here: every label has one of its own.
                let name = |d: usize, leaf: u32| {
                    let label = &shown[d][&leaf];
                    let first =
                        shown[d].iter().find(|(_, other)| *other == label).expect("itself").0;
                    Run::new(*first, *first)
                };
                let finer = |d: usize, leaf: u32| {
                    if d == dim && moves(&leaf) { Run::new(1000, 1000) } else { name(d, leaf) }
                };
                prop_assert!(
                    !valid(table, goal, finer),
                    "{:?} of `{}` could be shown apart",
                    node,
                    label
                );
            }
        }
    }
    Ok(())
}
