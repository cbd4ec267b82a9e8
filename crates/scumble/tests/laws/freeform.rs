//! Freeform attacks and FF-anonymity against the definitions of the paper, written out: all cuts,
//! all sets of values, all values.

use super::algorithms::{Law, check, generalized, run};
use super::cases::build;
use proptest::prelude::*;
use scumble::algorithm::{Goal, Requirement};
use scumble::catalogue::{METRICS, MODELS, Parameters};
use scumble::class::{EquivalenceClass, Run};
use scumble::encode::encode;
use scumble::exact::Ratio;
use scumble::freeform::cube::Thresholds;
use scumble::freeform::{Breach, Observability, Sensitivity, Specification, attach};
use scumble::model::cube_of;
use scumble::publish::judge;
use scumble::release::Release;
use scumble::table::{Attribute, Table};
use scumble::taxonomy::{Rule, Taxonomy, Tree};
use scumble::utility::Subject;
use std::collections::{BTreeMap, BTreeSet};

type Cut = Vec<Run>;

fn leaf(label: &str) -> Tree {
    Tree { label: label.into(), children: Vec::new() }
}

fn node(label: &str, children: Vec<Tree>) -> Tree {
    Tree { label: label.into(), children }
}

fn number(text: &str) -> Ratio {
    Ratio::parse(text).expect("a number")
}

fn thresholds(observability: &str, threat: &str, known: Option<usize>) -> Thresholds {
    Thresholds { observability: number(observability), threat: number(threat), known }
}

/// A table of these columns: tree, specification, texts of the records.
fn table(columns: Vec<(&str, Tree, Specification, Vec<&str>)>) -> Table {
    let (mut attributes, mut codes) = (Vec::new(), Vec::new());
    for (name, tree, specification, texts) in columns {
        let mut values = texts.clone();
        values.sort_unstable();
        values.dedup();
        let (taxonomy, leaves) =
            encode(name, &Rule::Nested(tree), None, &values, &[]).expect("right");
        codes.push(
            texts.iter().map(|t| leaves[values.binary_search(t).expect("its own")]).collect(),
        );
        attributes
            .push(attach(Attribute::new(name, taxonomy), Some(&specification)).expect("right"));
    }
    Table::collapse(attributes, Vec::new(), codes).0
}

/// Every cut below a node.
fn cuts_below(t: &Taxonomy, node: Run) -> Vec<Cut> {
    let mut all = vec![vec![node]];
    let mut below: Vec<Cut> = vec![vec![]];
    let children = t.children(node);
    if children.is_empty() {
        return all;
    }
    for child in children {
        let of_child = cuts_below(t, child);
        below = below.iter().flat_map(|a| of_child.iter().map(|b| [&a[..], b].concat())).collect();
    }
    all.extend(below);
    all
}

/// One cut of each attribute, in every way.
fn all_cuts(table: &Table) -> Vec<Vec<Cut>> {
    table.quasi.iter().fold(vec![vec![]], |all, a| {
        let each = cuts_below(&a.taxonomy, a.taxonomy.root());
        all.iter()
            .flat_map(|x| each.iter().map(|c| [&x[..], std::slice::from_ref(c)].concat()))
            .collect()
    })
}

fn show(cut: &Cut, leaf: u32) -> Run {
    *cut.iter().find(|run| run.contains(leaf)).expect("a cut covers every leaf")
}

/// The generalized table: what each row shows, and how many records it is.
fn generalize(table: &Table, cuts: &[Cut]) -> Vec<(Vec<Run>, u64)> {
    let row = |r: usize| (0..cuts.len()).map(|d| show(&cuts[d], table.quasi_codes[d][r])).collect();
    (0..table.rows()).map(|r| (row(r), u64::from(table.counts[r]))).collect()
}

/// The nodes that are a run or cover it, by the ladder.
fn ancestors(t: &Taxonomy, run: Run) -> BTreeSet<Run> {
    let above =
        (0..=t.levels()).map(|level| t.at_level(run.first, level)).filter(|node| node.covers(run));
    above.chain([run]).collect()
}

/// s and o by the definitions, from the leaves.
struct Said<'a> {
    specification: &'a [Specification],
    table: &'a Table,
}

impl Said<'_> {
    fn s(&self, d: usize, run: Run) -> Ratio {
        let t = &self.table.quasi[d].taxonomy;
        let named = |label: &str, leaf: u32| {
            ancestors(t, Run::new(leaf, leaf)).iter().any(|&n| t.label(n) == label)
        };
        let leaves: Vec<u32> = (run.first..=run.last).collect();
        let guarded = |leaf: &&u32| self.specification[d].guarding.iter().any(|g| named(g, **leaf));
        let (some, all) = (leaves.iter().filter(guarded).count() as u128, leaves.len() as u128);
        match self.specification[d].sensitivity {
            Sensitivity::Aggregate => Ratio::new(some, all),
            Sensitivity::NonAggregate => Ratio::new(some, all * all),
            Sensitivity::Given(_) => panic!("not drawn"),
        }
    }

    fn o(&self, d: usize, run: Run) -> Ratio {
        match &self.specification[d].observability {
            Observability::BySensitivity => {
                let sensitive = |leaf| self.s(d, Run::new(leaf, leaf)) == Ratio::whole(1);
                Ratio::whole(u64::from(!(run.first..=run.last).all(sensitive)))
            }
            Observability::Believed { belief, beliefs, alpha } => {
                let t = &self.table.quasi[d].taxonomy;
                if run.first == run.last {
                    let said = beliefs.iter().find(|(name, _)| name == t.leaf(run.first));
                    return said.map_or(*belief, |(_, b)| *b);
                }
                let most = t.children(run).iter().map(|&c| self.o(d, c)).max().expect("children");
                let sum = Ratio::new(
                    most.num() * alpha.den() + alpha.num() * most.den(),
                    most.den() * alpha.den(),
                );
                sum.min(Ratio::whole(1))
            }
        }
    }
}

/// X without roots, the attribute and value attacked, the threat, whether the value is shown.
type Attack = (Vec<(usize, Run)>, (usize, Run), Ratio, bool);

/// Definition 3.4 word by word; roots in X are no observation.
fn attacks(said: &Said<'_>, rows: &[(Vec<Run>, u64)], t: &Thresholds) -> Vec<Attack> {
    let table = said.table;
    let dims = table.quasi.len();
    let shown: Vec<BTreeSet<Run>> =
        (0..dims).map(|d| rows.iter().map(|(r, _)| r[d]).collect()).collect();
    let plus: Vec<BTreeSet<Run>> = (0..dims)
        .map(|d| shown[d].iter().flat_map(|&r| ancestors(&table.quasi[d].taxonomy, r)).collect())
        .collect();
    let root = |d: usize| table.quasi[d].taxonomy.root();
    let mut found = Vec::new();
    for a in 0..dims {
        let mut sets: Vec<Vec<(usize, Run)>> = vec![vec![]];
        for d in (0..dims).filter(|d| *d != a) {
            let observable: Vec<Run> = plus[d]
                .iter()
                .copied()
                .filter(|&v| v != root(d) && said.o(d, v) >= t.observability)
                .collect();
            let longer: Vec<Vec<(usize, Run)>> = sets
                .iter()
                .flat_map(|x| observable.iter().map(|&v| [&x[..], &[(d, v)]].concat()))
                .collect();
            sets.extend(longer);
        }
        for x in sets.into_iter().filter(|x| t.known.is_none_or(|p| x.len() <= p)) {
            let matching: Vec<&(Vec<Run>, u64)> =
                rows.iter().filter(|(r, _)| x.iter().all(|&(d, v)| v.covers(r[d]))).collect();
            let support: u64 = matching.iter().map(|(_, n)| n).sum();
            for &v in plus[a].iter().filter(|&&v| said.o(a, v) < t.observability) {
                let with: u64 =
                    matching.iter().filter(|(r, _)| v.covers(r[a])).map(|(_, n)| n).sum();
                if with == 0 {
                    continue;
                }
                let s = said.s(a, v);
                let threat = Ratio::new(u128::from(with) * s.num(), u128::from(support) * s.den());
                found.push((x.clone(), (a, v), threat, shown[a].contains(&v)));
            }
        }
    }
    found
}

fn breaches(said: &Said<'_>, rows: &[(Vec<Run>, u64)], t: &Thresholds) -> Vec<Attack> {
    let mut all: Vec<Attack> =
        attacks(said, rows, t).into_iter().filter(|(_, _, threat, _)| *threat > t.threat).collect();
    all.sort_by_key(|(x, a, ..)| (x.clone(), *a));
    all
}

fn is_minimal(breach: &Attack, all: &[Attack]) -> bool {
    let wider = |other: &Attack| {
        other.1 == breach.1
            && other.0 != breach.0
            && other.0.iter().all(|(d, v)| breach.0.iter().any(|(e, w)| d == e && v.covers(*w)))
    };
    !all.iter().any(wider)
}

fn classes(rows: &[(Vec<Run>, u64)]) -> Vec<EquivalenceClass> {
    let mut merged: BTreeMap<Vec<Run>, u64> = BTreeMap::new();
    rows.iter().for_each(|(region, n)| *merged.entry(region.clone()).or_default() += n);
    merged
        .into_iter()
        .map(|(region, count)| EquivalenceClass { region, count, histograms: Vec::new() })
        .collect()
}

fn told(b: &Breach) -> Attack {
    let mut known = b.known.clone();
    known.sort_unstable();
    (known, b.value, b.threat, b.shown)
}

fn requirement(t: &Thresholds, on: Option<Vec<usize>>) -> Requirement {
    let entry = MODELS.iter().find(|e| e.name == "ff-anonymity").expect("is in the catalogue");
    let given = [
        ("observability", t.observability.to_string()),
        ("threat", t.threat.to_string()),
        ("known", t.known.unwrap_or(0).to_string()),
    ];
    let given = given.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect();
    let parameters = Parameters::read(entry.name, entry.parameters, &given).expect("numbers");
    let model = build(entry, &parameters);
    Requirement { name: entry.name, parameters, model, attribute: None, on, register: None }
}

/// Three small trees.
fn tree(kind: usize) -> (Tree, &'static [&'static str]) {
    match kind % 3 {
        0 => (node("*", vec![leaf("f"), leaf("m")]), &["f", "m"]),
        1 => {
            let (v, b) = (
                node("v", vec![leaf("flu"), leaf("aids")]),
                node("b", vec![leaf("coli"), leaf("tb")]),
            );
            (node("*", vec![v, b]), &["flu", "aids", "coli", "tb"])
        }
        _ => {
            let high = node("high", vec![leaf("9"), leaf("8"), leaf("7")]);
            (node("*", vec![high, leaf("1")]), &["9", "8", "7", "1"])
        }
    }
}

/// A specification for a tree, drawn.
fn specification(kind: usize, draw: u32) -> Specification {
    let guarding: &[&[&str]] = match kind % 3 {
        0 => &[&[], &["m"], &["*"]],
        1 => &[&["aids", "tb"], &["aids", "b"], &[]],
        _ => &[&["high"], &["9"], &["*"]],
    };
    let guarding = guarding[draw as usize % 3].iter().map(|g| (*g).to_owned()).collect();
    let sensitivity = if (draw / 3).is_multiple_of(4) {
        Sensitivity::NonAggregate
    } else {
        Sensitivity::Aggregate
    };
    let (_, texts) = tree(kind);
    let believed = |belief: &str, alpha: &str, named: &str| Observability::Believed {
        belief: number(belief),
        beliefs: vec![(texts[0].to_owned(), number(named))],
        alpha: number(alpha),
    };
    let observability = match draw / 12 % 4 {
        0 | 1 => Observability::BySensitivity,
        2 => believed("0", "1", "0"),
        _ => believed("0.2", "0.3", "0.9"),
    };
    Specification { guarding, sensitivity, observability }
}

fn drawn() -> impl Strategy<Value = (Table, Vec<Specification>, Thresholds)> {
    let columns = prop::collection::vec((0usize..3, 0u32..48), 2..=3);
    let records = prop::collection::vec(prop::array::uniform3(0usize..4), 1..=9);
    let limits = (
        prop::sample::select(vec!["1", "0.5", "0.3"]),
        prop::sample::select(vec!["0.5", "0.4", "0.7", "0.2"]),
        prop::sample::select(vec![None, Some(1), Some(2)]),
    );
    (columns, records, limits).prop_map(|(columns, records, (o, t, known))| {
        let specifications: Vec<Specification> =
            columns.iter().map(|&(kind, draw)| specification(kind, draw)).collect();
        let names = ["a", "b", "c"];
        let column = |(i, &(kind, _)): (usize, &(usize, u32))| {
            let (tree, texts) = tree(kind);
            let of_records = records.iter().map(|r| texts[r[i] % texts.len()]).collect();
            (names[i], tree, specifications[i].clone(), of_records)
        };
        let table = table(columns.iter().enumerate().map(column).collect());
        (table, specifications, thresholds(o, t, known))
    })
}

/// The search finds exactly the breaches of the definition, on every cut; and says right which are
/// minimal, how large the worst threat is and how many people are concerned.
#[test]
fn breaches_are_those_of_the_definition() {
    check(150, drawn(), |(table, specification, t)| -> Law {
        let said = Said { specification: &specification, table: &table };
        for cuts in all_cuts(&table) {
            let rows = generalize(&table, &cuts);
            let expected = breaches(&said, &rows, &t);
            let cube = cube_of(&table.quasi, None, &classes(&rows), &t, t.threat).expect("a cut");
            let found = cube.breaches(t.threat, usize::MAX);
            let mut all: Vec<Attack> =
                found.minimal.iter().chain(&found.others).map(told).collect();
            all.sort_by_key(|(x, a, ..)| (x.clone(), *a));
            prop_assert_eq!(&all, &expected, "{:?}", cuts);
            prop_assert_eq!(found.all, expected.len() as u64);
            prop_assert_eq!(found.shown, expected.iter().filter(|b| b.3).count() as u64);
            let minimal: BTreeSet<_> = found.minimal.iter().map(|b| (told(b).0, b.value)).collect();
            let least =
                expected.iter().filter(|b| is_minimal(b, &expected)).map(|b| (b.0.clone(), b.1));
            prop_assert_eq!(minimal, least.collect::<BTreeSet<_>>());
            let exposed = |(r, _): &&(Vec<Run>, u64)| {
                expected.iter().any(|(x, (a, v), ..)| {
                    v.covers(r[*a]) && x.iter().all(|&(d, w)| w.covers(r[d]))
                })
            };
            prop_assert_eq!(found.people, rows.iter().filter(exposed).map(|(_, n)| n).sum::<u64>());
            let worst =
                attacks(&said, &rows, &t).iter().map(|a| a.2).max().unwrap_or(Ratio::whole(0));
            let whole =
                cube_of(&table.quasi, None, &classes(&rows), &t, Ratio::whole(0)).expect("a cut");
            prop_assert_eq!(whole.worst(), worst);
            prop_assert_eq!(whole.breaks(t.threat), !expected.is_empty());
        }
        Ok(())
    });
}

/// Corollary 3.1, on all pairs of cuts.
#[test]
fn generalization_breaches_nothing_new() {
    check(60, drawn(), |(table, specification, t)| -> Law {
        let said = Said { specification: &specification, table: &table };
        let all: Vec<(Vec<Cut>, Vec<Attack>)> = all_cuts(&table)
            .into_iter()
            .map(|c| (c.clone(), breaches(&said, &generalize(&table, &c), &t)))
            .collect();
        for (general, fewer) in &all {
            for (special, more) in &all {
                let is_general = general
                    .iter()
                    .zip(special)
                    .all(|(g, s)| s.iter().all(|&run| show(g, run.first).covers(run)));
                if is_general {
                    prop_assert!(
                        fewer
                            .iter()
                            .all(|(x, a, ..)| more.iter().any(|(y, b, ..)| x == y && a == b))
                    );
                }
            }
        }
        Ok(())
    });
}

/// What an algorithm shows, as cuts of the leaves that occur.
fn cut_of(table: &Table, form: &scumble::release::Generalized) -> Vec<BTreeMap<u32, Run>> {
    let mut shown = vec![BTreeMap::new(); table.quasi.len()];
    for class in &form.classes {
        for m in &class.members {
            for (d, &run) in class.region.iter().enumerate() {
                shown[d].insert(table.quasi_codes[d][m.row as usize], run);
            }
        }
    }
    shown
}

/// The minimal search ends at one of the true minimal FF-anonymizations, the optimal one at the
/// best; if there is none they say so.
#[test]
fn searches_end_where_they_should() {
    check(120, (drawn(), 1u64..4), |((table, specification, t), k)| -> Law {
        let said = Said { specification: &specification, table: &table };
        let gcp = METRICS.iter().find(|m| m.name == "loss").expect("is there").measure;
        let goals =
            [vec![requirement(&t, None)], vec![requirement(&t, None), anonymity_on_first(k)]];
        for goal in goals {
            if !Goal::new(&table, &goal).unfit().is_empty() {
                continue; // nothing to guard
            }
            let keeps = |cuts: &Vec<Cut>| {
                let rows = generalize(&table, cuts);
                let mut sizes: BTreeMap<Run, u64> = BTreeMap::new();
                rows.iter().for_each(|(r, n)| *sizes.entry(r[0]).or_default() += n);
                breaches(&said, &rows, &t).is_empty()
                    && (goal.len() == 1 || sizes.values().all(|&n| n >= k))
            };
            let safe: Vec<Vec<Cut>> = all_cuts(&table).into_iter().filter(keeps).collect();
            let release = |cuts: &Vec<Cut>| {
                let classes = classes(&generalize(&table, cuts));
                Release { classes, ..Release::unchanged(&table) }
            };
            let loss =
                |r: &Release| gcp(&Subject { release: r, k: 1, truth: None }).expect("regions");
            let best = safe.iter().map(|c| loss(&release(c))).fold(f64::INFINITY, f64::min);
            for search in ["minimal", "optimal"] {
                let given = BTreeMap::from([("search".to_owned(), search.to_owned())]);
                let Some(form) = run("specialize", &given, &table, &goal, 0) else {
                    prop_assert!(safe.is_empty(), "refused, but {:?} is safe", safe[0]);
                    continue;
                };
                let made = Release::of(&table, &form);
                prop_assert!(judge(&made, &goal).expect("fits").iter().all(|j| j.holds));
                if search == "optimal" {
                    prop_assert!(
                        (loss(&made) - best).abs() < 1e-9,
                        "{} is not {}",
                        loss(&made),
                        best
                    );
                }
                let shown = cut_of(&table, &generalized(form));
                let finer = |cuts: &&Vec<Cut>| {
                    let pairs = || {
                        shown
                            .iter()
                            .zip(cuts.iter())
                            .flat_map(|(s, c)| s.iter().map(|(&l, &r)| (r, show(c, l))))
                    };
                    pairs().all(|(mine, other)| mine.covers(other))
                        && pairs().any(|(mine, other)| mine != other)
                };
                prop_assert!(safe.iter().find(finer).is_none(), "{} is not minimal", search);
            }
        }
        Ok(())
    });
}

fn anonymity_on_first(k: u64) -> Requirement {
    Requirement { on: Some(vec![0]), ..super::cases::k_anonymity(k) }
}

/// What is suppressed keeps the promise, and every other value is shown as it is.
#[test]
fn suppression_hides_guarded_values_and_nothing_else() {
    check(120, drawn(), |(table, specification, t)| -> Law {
        let said = Said { specification: &specification, table: &table };
        let goal = [requirement(&t, None)];
        let given = BTreeMap::from([("repair".to_owned(), "suppress".to_owned())]);
        if !Goal::new(&table, &goal).unfit().is_empty() {
            return Ok(());
        }
        let Some(form) = run("specialize", &given, &table, &goal, 0) else {
            let top: Vec<Cut> = table.quasi.iter().map(|a| vec![a.taxonomy.root()]).collect();
            prop_assert!(!breaches(&said, &generalize(&table, &top), &t).is_empty());
            return Ok(());
        };
        for (d, shown) in cut_of(&table, &generalized(form)).iter().enumerate() {
            let taxonomy = &table.quasi[d].taxonomy;
            for (&leaf, &run) in shown {
                let attacked = ancestors(taxonomy, Run::new(leaf, leaf))
                    .iter()
                    .any(|&v| said.o(d, v) < t.observability && said.s(d, v) > t.threat);
                prop_assert_eq!(run, if attacked { taxonomy.root() } else { Run::new(leaf, leaf) });
            }
        }
        Ok(())
    });
}

/// The example of the paper, as far as its figure can be reconstructed (G1.3).
fn example() -> (Table, Vec<Specification>, Thresholds) {
    let diseases = node(
        "ANY_Disease",
        vec![
            node("VI", vec![leaf("Flu"), leaf("AIDS")]),
            node("BI", vec![leaf("E.Coli"), leaf("TB")]),
        ],
    );
    let bracket =
        |label: &str, incomes: [&str; 3]| node(label, incomes.iter().map(|i| leaf(i)).collect());
    let incomes = node(
        "ANY_Income",
        vec![
            bracket("High", ["190K", "170K", "160K"]),
            bracket("Middle", ["90K", "80K", "70K"]),
            bracket("Low", ["30K", "20K", "10K"]),
        ],
    );
    let guarding = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect();
    let specifications = vec![
        Specification::default(),
        Specification {
            guarding: guarding(&["ANY_Income"]),
            observability: Observability::Believed {
                belief: number("0"),
                beliefs: vec![],
                alpha: number("1"),
            },
            ..Specification::default()
        },
        Specification { guarding: guarding(&["AIDS", "TB"]), ..Specification::default() },
    ];
    let records = [
        ["F", "190K", "Flu"],
        ["F", "90K", "AIDS"],
        ["F", "160K", "TB"],
        ["F", "80K", "TB"],
        ["M", "190K", "AIDS"],
        ["M", "160K", "AIDS"],
        ["M", "30K", "E.Coli"],
        ["M", "20K", "E.Coli"],
    ];
    let column = |i: usize| records.iter().map(|r| r[i]).collect::<Vec<&str>>();
    let table = table(vec![
        ("Sex", node("ANY_Sex", vec![leaf("F"), leaf("M")]), specifications[0].clone(), column(0)),
        ("Income", incomes, specifications[1].clone(), column(1)),
        ("Disease", diseases, specifications[2].clone(), column(2)),
    ]);
    (table, specifications, thresholds("1", "1/2", None))
}

fn label(table: &Table, (d, run): (usize, Run)) -> String {
    table.quasi[d].taxonomy.label(run).into_owned()
}

fn words(table: &Table, b: &Breach) -> String {
    let known: Vec<String> = b.known.iter().map(|&v| label(table, v)).collect();
    format!("{} -> {} {}", known.join(","), label(table, b.value), b.threat)
}

/// G1.3: three breaches; 90 cuts, 66 safe tables, three minimal ones; after the repair nothing, the
/// worst threat is 1/2.
#[test]
fn the_example_of_the_paper() {
    let (table, specification, t) = example();
    let said = Said { specification: &specification, table: &table };
    let raw = Release::unchanged(&table);
    let cube = |release: &Release| {
        cube_of(&table.quasi, None, &release.classes, &t, t.threat).expect("a cut")
    };
    let found = cube(&raw).breaches(t.threat, 100);
    let minimal: Vec<String> = found.minimal.iter().map(|b| words(&table, b)).collect();
    assert_eq!(minimal, ["M,High -> AIDS 1", "Flu -> 190K 1"]);
    assert_eq!(
        found.others.iter().map(|b| words(&table, b)).collect::<Vec<_>>(),
        ["F,Flu -> 190K 1"]
    );
    assert_eq!((found.all, found.shown, found.people), (3, 3, 3));

    let all = all_cuts(&table);
    assert_eq!(all.len(), 90);
    let safe: Vec<&Vec<Cut>> =
        all.iter().filter(|c| breaches(&said, &generalize(&table, c), &t).is_empty()).collect();
    let tables: BTreeSet<Vec<(Vec<Run>, u64)>> =
        safe.iter().map(|c| generalize(&table, c)).collect();
    assert_eq!(tables.len(), 66);
    let more_general = |a: &[(Vec<Run>, u64)], b: &[(Vec<Run>, u64)]| {
        a.iter().zip(b).all(|(x, y)| x.0.iter().zip(&y.0).all(|(g, s)| g.covers(*s)))
    };
    let least: Vec<_> =
        tables.iter().filter(|a| !tables.iter().any(|b| b != *a && more_general(a, b))).collect();
    assert_eq!(least.len(), 3);

    for search in ["minimal", "optimal"] {
        let given = BTreeMap::from([("search".to_owned(), search.to_owned())]);
        let form =
            run("specialize", &given, &table, &[requirement(&t, None)], 0).expect("it is feasible");
        let made = Release::of(&table, &form);
        assert_eq!(cube(&made).breaches(t.threat, 10).all, 0);
        let shown = cut_of(&table, &generalized(form));
        let of_row = |r: usize| {
            (0..table.quasi.len()).map(|d| shown[d][&table.quasi_codes[d][r]]).collect::<Vec<Run>>()
        };
        let rows: Vec<(Vec<Run>, u64)> =
            (0..table.rows()).map(|r| (of_row(r), u64::from(table.counts[r]))).collect();
        assert!(least.contains(&&rows), "{search}");
    }
    // T3: Flu and AIDS are VI.
    let viral: Vec<Cut> = table
        .quasi
        .iter()
        .map(|a| {
            let vi = a.taxonomy.parse("VI");
            let leaves = (0..a.taxonomy.leaves() as u32)
                .map(|l| Run::new(l, l))
                .filter(|l| !vi.is_some_and(|vi| vi.covers(*l)));
            leaves.chain(vi).collect()
        })
        .collect();
    let repaired = Release { classes: classes(&generalize(&table, &viral)), ..raw };
    assert_eq!(
        cube_of(&table.quasi, None, &repaired.classes, &t, Ratio::whole(0)).expect("a cut").worst(),
        number("1/2")
    );
    let judged = judge(&repaired, &[requirement(&t, None)]).expect("fits");
    assert!(judged[0].holds);
    let form = run(
        "specialize",
        &BTreeMap::from([("repair".into(), "suppress".into())]),
        &table,
        &[requirement(&t, None)],
        0,
    );
    let hidden = Release::of(&table, &form.expect("feasible"));
    assert!(hidden.classes.iter().all(|c| hidden.labels(c)[1] == "ANY_Income"));
    let diseases: BTreeSet<String> =
        hidden.classes.iter().map(|c| hidden.labels(c)[2].clone()).collect();
    assert_eq!(diseases, BTreeSet::from(["ANY_Disease".into(), "Flu".into(), "E.Coli".into()]));
}

/// G1.4: by Definition 3.3 a generalization may breach what was safe; by Definition 3.4 it was not
/// safe.
#[test]
fn the_plain_definition_is_not_monotone() {
    let specification = Specification {
        guarding: vec!["a1".into()],
        observability: Observability::Believed {
            belief: number("0"),
            beliefs: vec![],
            alpha: number("0"),
        },
        ..Specification::default()
    };
    let x = node("*", vec![leaf("x"), leaf("y")]);
    let root = node("*", vec![node("a", vec![leaf("a1"), leaf("a2")]), leaf("b")]);
    let table = table(vec![
        ("X", x, Specification::default(), vec!["x", "x", "y"]),
        ("A", root, specification, vec!["a2", "a2", "b"]),
    ]);
    let t = thresholds("1", "0.4", None);
    let found = |classes: &[EquivalenceClass]| {
        let found = cube_of(&table.quasi, None, classes, &t, t.threat)
            .expect("a cut")
            .breaches(t.threat, 10);
        (found.shown, found.all, found.minimal.iter().map(|b| words(&table, b)).collect::<Vec<_>>())
    };
    let raw = Release::unchanged(&table);
    assert_eq!(found(&raw.classes), (0, 1, vec!["x -> a 1/2".to_owned()]));
    let a = table.quasi[1].taxonomy.parse("a").expect("a node");
    let cuts = vec![
        vec![Run::new(0, 0), Run::new(1, 1)],
        vec![a, table.quasi[1].taxonomy.parse("b").expect("a leaf")],
    ];
    assert_eq!(found(&classes(&generalize(&table, &cuts))), (1, 1, vec!["x -> a 1/2".to_owned()]));
}

/// The table that shows nothing breaches, and the attribute is named.
#[test]
fn what_cannot_be_met_names_the_attribute() {
    let (table, mut specification, t) = example();
    specification[1].observability = Observability::BySensitivity;
    let income = attach(table.quasi[1].clone(), Some(&specification[1])).expect("right");
    let table =
        Table { quasi: vec![table.quasi[0].clone(), income, table.quasi[2].clone()], ..table };
    let goal = [requirement(&t, None)];
    for name in ["specialize", "top-down", "mondrian", "lattice"] {
        let entry =
            scumble::catalogue::ALGORITHMS.iter().find(|e| e.name == name).expect("is there");
        let parameters =
            Parameters::read(name, entry.parameters, &BTreeMap::new()).expect("defaults");
        let algorithm = (entry.build)(&parameters).expect("defaults");
        let refusal = algorithm
            .anonymize(&table, &Goal::new(&table, &goal), 0, &|_, _| true)
            .expect_err("infeasible");
        assert!(
            refusal.0[0].message.contains("shows nothing of `Income`"),
            "{name}: {}",
            refusal.0[0]
        );
    }
}
