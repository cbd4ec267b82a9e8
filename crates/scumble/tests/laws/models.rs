//! Laws of models, for every entry of the catalogue with parameters of its own kinds.

use super::cases::{self, Case, KINDS, build, parameters};
use super::naive;
use proptest::prelude::*;
use scumble::algorithm::Goal;
use scumble::catalogue::{Entry, Kind, MODELS, Parameters};
use scumble::class::{EquivalenceClass, Histogram};
use scumble::exact::effective_l;
use scumble::model::{
    Belief, Bound, Concern, Context, Distance, Measured, Model, Verdict, distance, frontier,
    smallest_c,
};
use scumble::release::Shape;
use scumble::table::{Attribute, Distribution};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// A class of these counts by code, without a region.
pub fn class(counts: &[u64]) -> EquivalenceClass {
    EquivalenceClass {
        region: Vec::new(),
        count: counts.iter().sum(),
        histograms: vec![Histogram::dense(counts)],
    }
}

/// The sensitive attribute of a kind, and the distribution of all classes together.
pub fn whole(kind: usize, classes: &[Vec<u64>]) -> (Attribute, Distribution) {
    let column = cases::column(kind);
    let (taxonomy, _) =
        scumble::encode::encode("s", &column.rule, column.rows, column.texts, &[]).expect("right");
    let mut counts = vec![0; taxonomy.leaves()];
    for class in classes {
        (0..counts.len()).for_each(|i| counts[i] += class.get(i).copied().unwrap_or(0));
    }
    let attribute = Attribute::new("s", taxonomy);
    let distribution = Distribution::new(attribute.taxonomy.clone(), counts);
    (attribute, distribution)
}

/// Models that look at nothing but the histogram of one attribute. The others have their laws on
/// whole tables.
fn plain_models() -> impl Iterator<Item = &'static Entry<Box<dyn Model>>> {
    let plain = |e: &&Entry<Box<dyn Model>>| {
        let stranger =
            |p: &scumble::catalogue::Parameter| matches!(p.kind, Kind::Guard | Kind::Register);
        !e.parameters.iter().any(stranger) && {
            let promise = build(e, &parameters(e.name, e.parameters, &[1, 1, 1], &[])).promise();
            promise.concerns != Concern::Joint && !promise.region
        }
    };
    MODELS.iter().filter(plain)
}

/// Two or more classes of a table, as counts of the values of a sensitive attribute of some kind.
fn partitions() -> impl Strategy<Value = (usize, Vec<Vec<u64>>)> {
    let class =
        prop::collection::vec(prop_oneof![2 => Just(0u64), 5 => 0u64..7, 1 => 0u64..400], 4)
            .prop_filter("a class has records", |c| c.iter().any(|&n| n > 0));
    (0..KINDS, prop::collection::vec(class, 2..6))
}

fn context(of: &(Attribute, Distribution)) -> Context<'_> {
    Context {
        quasi: &[],
        sensitive: std::slice::from_ref(&of.0),
        distributions: std::slice::from_ref(&of.1),
        attribute: 0,
        population: None,
        shape: Shape::Regions,
        on: None,
    }
}

pub fn judge(
    model: &dyn Model,
    of: &(Attribute, Distribution),
    class: &EquivalenceClass,
) -> Verdict {
    model.judge(&context(of), class)
}

/// What a wide model measures of classes with these counts.
pub fn judge_whole(name: &str, given: &[(&str, String)], counts: &[Vec<u64>]) -> Measured {
    let entry = MODELS.iter().find(|e| e.name == name).expect("is in the catalogue");
    let given = given.iter().map(|(name, text)| ((*name).to_owned(), text.clone())).collect();
    let model = build(entry, &Parameters::read(name, entry.parameters, &given).expect("right"));
    let classes: Vec<EquivalenceClass> = counts.iter().map(|c| class(c)).collect();
    let of = whole(4, counts);
    model.fits(&context(&of)).expect("fits");
    model.judge_all(&context(&of), &classes).expect("wide").measured
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_model_keeps_its_laws((kind, counts) in partitions(), draws in prop::array::uniform3(0u32..1000)) {
        let table = whole(kind, &counts);
        let classes: Vec<EquivalenceClass> = counts.iter().map(|c| class(c)).collect();
        for entry in plain_models() {
            let parameters = parameters(entry.name, entry.parameters, &draws, &cases::values(&table.0.taxonomy));
            let model = build(entry, &parameters);
            let verdicts: Vec<Verdict> = classes.iter().map(|c| judge(&*model, &table, c)).collect();
            for (a, va) in classes.iter().zip(&verdicts) {
                prop_assert_eq!(*va, judge(&*build(entry, &parameters), &table, a), "{} is a function", entry.name);
                prop_assert!(!va.holds || a.count >= model.promise().least, "{} holds below its least", entry.name);
                agrees_with_measure(entry.name, &*model, va)?;
                for (b, vb) in classes.iter().zip(&verdicts) {
                    let worse = if va.holds && !vb.holds { model.promise().must_be.is_worse(va.measured, vb.measured) } else { false };
                    prop_assert!(!worse, "{}: {:?} holds but is worse than {:?}", entry.name, va, vb);
                    if model.promise().monotone && va.holds && vb.holds {
                        prop_assert!(judge(&*model, &table, &a.merge(b)).holds, "{}: {:?} + {:?}", entry.name, a, b);
                    }
                }
            }
            size_decides(&*model, &table, &classes)?;
        }
    }

    /// SPEC 1.5: the worst figure of a table never gets worse when two of its classes are merged.
    #[test]
    fn merging_never_makes_a_table_worse((kind, counts) in partitions(), draws in prop::array::uniform3(0u32..1000)) {
        let table = whole(kind, &counts);
        let classes: Vec<EquivalenceClass> = counts.iter().map(|c| class(c)).collect();
        let merged: Vec<EquivalenceClass> =
            std::iter::once(classes[0].merge(&classes[1])).chain(classes[2..].iter().cloned()).collect();
        for entry in plain_models() {
            let values = cases::values(&table.0.taxonomy);
            let model = build(entry, &parameters(entry.name, entry.parameters, &draws, &values));
            if !model.promise().monotone {
                continue;
            }
            let worst = |classes: &[EquivalenceClass]| {
                let measured = classes.iter().map(|c| judge(&*model, &table, c).measured);
                measured.reduce(|a, b| if model.promise().must_be.is_worse(b, a) { b } else { a }).expect("classes")
            };
            let (before, after) = (worst(&classes), worst(&merged));
            let slack = match (before, after) {
                // exp(H) is shown as the nearest number; equal figures may differ in the last
                // place.
                (Measured::Real(b), Measured::Real(a)) => (a - b).abs() < 1e-12 * b,
                _ => false,
            };
            let worse = model.promise().must_be.is_worse(after, before);
            prop_assert!(slack || !worse, "{}: {} became {}", entry.name, before, after);
        }
    }

    #[test]
    fn distances_are_what_a_transport_costs((kind, counts) in partitions()) {
        let table = whole(kind, &counts);
        for counts in &counts {
            let histogram: BTreeMap<u32, u64> =
                (0u32..).zip(counts.iter().copied()).filter(|&(_, n)| n > 0).collect();
            for (name, which) in
                [("equal", Distance::Equal), ("ordered", Distance::Ordered), ("hierarchical", Distance::Hierarchical)]
            {
                let exact = distance(which, &Histogram::dense(counts), &table.1);
                let (cost, unit) = naive::earth_mover(name, &histogram, &table.1);
                prop_assert_eq!(exact, scumble::exact::Ratio::new(cost, unit), "{}", name);
            }
        }
    }

    /// Machanavajjhala et al. 2007: ruling out one value costs at most one ℓ, at the same c.
    #[test]
    fn a_negation_costs_at_most_one_l(counts in prop::collection::vec(1u64..30, 2..7), out in 0usize..7) {
        let mut left = counts.clone();
        left.remove(out % counts.len());
        for (l, c) in frontier(&counts) {
            prop_assert_eq!(c, smallest_c(&counts, l));
            let after = smallest_c(&left, l - 1);
            prop_assert!(after.compare(c) != Ordering::Greater, "ℓ = {}: {} became {}", l, c, after);
        }
        prop_assert!(effective_l(&counts) <= counts.len() as f64 + 1e-9);
    }
}

/// A model of the catalogue with these parameters.
fn model(name: &str, given: &[(&str, &str)]) -> Box<dyn Model> {
    let entry = MODELS.iter().find(|e| e.name == name).expect("is in the catalogue");
    let given = given.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    build(entry, &Parameters::read(name, entry.parameters, &given).expect("right"))
}

proptest! {
    /// With nothing harmless and nothing forbidden the disclosure models are recursive
    /// (c,ℓ)-diversity, and so is robustness to j negations with ℓ less j.
    #[test]
    fn some_models_are_recursive_in_disguise((kind, counts) in partitions(), c in 1u32..60, l in 2u32..5, j in 0u32..3) {
        let table = whole(kind, &counts);
        let (c, l, more) = (format!("{}.{}", c / 10, c % 10), l.to_string(), (l + j).to_string());
        let recursive = [("c", c.as_str()), ("l", l.as_str())];
        let negated = [("c", c.as_str()), ("l", l.as_str()), ("j", &j.to_string()), ("kind", "recursive")];
        let pairs = [
            (model("recursive-l-diversity", &recursive), model("positive-disclosure-recursive-l-diversity", &recursive)),
            (
                model("recursive-l-diversity", &recursive),
                model(
                    "negative-positive-disclosure-recursive-l-diversity",
                    &[recursive[0], recursive[1], ("c2", "0.5")],
                ),
            ),
            (model("recursive-l-diversity", &[recursive[0], ("l", &more)]), model("negation-robustness", &negated)),
        ];
        for (plain, other) in pairs {
            for counts in &counts {
                prop_assert_eq!(judge(&*plain, &table, &class(counts)), judge(&*other, &table, &class(counts)));
            }
        }
    }
}

/// `holds` is what the comparison of measure and requirement says.
fn agrees_with_measure(
    name: &str,
    model: &dyn Model,
    verdict: &Verdict,
) -> Result<(), TestCaseError> {
    let order = match verdict.measured {
        Measured::Exact(measured) => measured.cmp(&model.promise().required),
        Measured::Infinite => Ordering::Greater,
        Measured::Real(x) => {
            let required = model.promise().required.to_f64();
            if (x - required).abs() < 1e-9 * required {
                return Ok(()); // too near to be told from the floating-point number
            }
            x.total_cmp(&required)
        }
    };
    let kept = match (order, model.promise().must_be) {
        (Ordering::Equal, bound) => bound != Bound::Below,
        (Ordering::Less, bound) => bound != Bound::AtLeast,
        (Ordering::Greater, bound) => bound == Bound::AtLeast,
    };
    prop_assert_eq!(verdict.holds, kept, "{}: {:?} of {}", name, verdict, model.promise().required);
    Ok(())
}

/// A model whose size decides holds exactly from its `least` on, whatever is in the class.
fn size_decides(
    model: &dyn Model,
    of: &(Attribute, Distribution),
    classes: &[EquivalenceClass],
) -> Result<(), TestCaseError> {
    if model.promise().size_decides {
        for class in classes {
            prop_assert_eq!(judge(model, of, class).holds, class.count >= model.promise().least);
            let blind =
                EquivalenceClass { histograms: vec![Histogram::default()], ..class.clone() };
            prop_assert_eq!(judge(model, of, class), judge(model, of, &blind));
        }
    }
    Ok(())
}

#[test]
fn every_manual_page_has_its_headings() {
    let model =
        ["## Definition", "## Protects against", "## Does not protect against", "## Reference"];
    let algorithm =
        ["## Method", "## Guarantee", "## Cost", "## Departures from the paper", "## Reference"];
    let models = MODELS.iter().map(|e| (e.name, e.manual(), &model[..]));
    let algorithms =
        scumble::catalogue::ALGORITHMS.iter().map(|e| (e.name, e.manual(), &algorithm[..]));
    for (name, page, headings) in models.chain(algorithms) {
        for heading in headings {
            assert!(page.lines().any(|line| line == *heading), "`{name}` has no {heading}");
        }
        assert_eq!(scumble::catalogue::explain(name).as_ref(), Some(&page));
    }
}

#[test]
fn what_concerns_identity_needs_no_histogram() {
    let table = whole(4, &[vec![2, 3]]);
    for entry in plain_models() {
        let model = build(entry, &parameters(entry.name, entry.parameters, &[1, 1, 1], &[]));
        if model.promise().concerns == Concern::Identity {
            let bare = EquivalenceClass { region: Vec::new(), count: 5, histograms: Vec::new() };
            assert_eq!(
                judge(&*model, &table, &bare),
                judge(&*model, &table, &class(&[2, 3])),
                "{}",
                entry.name
            );
        }
    }
}

/// The laws of every model on classes of whole tables, with registers, guards and regions.
#[test]
fn every_model_keeps_its_laws_on_tables() {
    let drawn = (cases::cases(14), cases::draws(), prop::collection::vec(0usize..3, 14));
    let law = |(case, draws, parts): (Case, Vec<cases::Draw>, Vec<usize>)| {
        let table = &case.table;
        let classes: Vec<EquivalenceClass> = (0..3)
            .map(|part| {
                (0..table.rows() as u32)
                    .filter(|&r| parts[r as usize] == part)
                    .collect::<Vec<u32>>()
            })
            .filter(|rows| !rows.is_empty())
            .map(|rows| naive::class(table, &rows))
            .collect();
        for r in cases::requirements(&draws, table) {
            let goal = Goal::new(table, std::slice::from_ref(&r));
            if !goal.unfit().is_empty() {
                continue;
            }
            let promise = r.model.promise();
            let verdicts: Vec<Verdict> = classes.iter().map(|c| goal.judge(0, c)).collect();
            for (a, va) in classes.iter().zip(&verdicts) {
                prop_assert!(
                    !va.holds || a.count >= promise.least,
                    "{} holds below its least",
                    r.name
                );
                agrees_with_measure(r.name, &*r.model, va)?;
                for (b, vb) in classes.iter().zip(&verdicts).filter(|(b, _)| *b != a) {
                    let mut both = a.merge(b);
                    for (attribute, run) in table.quasi.iter().zip(&mut both.region) {
                        *run = attribute.taxonomy.cover(*run);
                    }
                    if promise.monotone && va.holds && vb.holds {
                        prop_assert!(
                            goal.judge(0, &both).holds,
                            "{} {:?}: {:?} + {:?}",
                            r.name,
                            r.parameters,
                            a,
                            b
                        );
                    }
                }
            }
            let whole = r.model.judge_all(&goal.context(0), &classes);
            prop_assert_eq!(whole.is_some(), promise.wide, "{} says whether it is wide", r.name);
            if let Some(whole) = whole {
                agrees_with_measure(r.name, &*r.model, &whole)?;
                if let Some(holds) = naive::keeps_as_a_whole(&r, table, &classes) {
                    prop_assert_eq!(
                        whole.holds,
                        holds,
                        "{} {:?}: {:?}",
                        r.name,
                        r.parameters,
                        whole
                    );
                }
                let parts = verdicts.iter().all(|v| v.holds);
                prop_assert!(
                    !parts || whole.holds,
                    "{} {:?}: all do their part, {:?}",
                    r.name,
                    r.parameters,
                    whole
                );
            }
        }
        Ok(())
    };
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(1500));
    runner.run(&drawn, law).unwrap_or_else(|e| panic!("{e}"));
}

/// The witness of a class is what the definition finds among all people and all values: the largest
/// change, of the first person and the first value where it is reached more than once.
#[test]
fn the_witness_is_who_is_told_most_about() {
    let which = MODELS.iter().position(|e| e.name == "bayes-optimal").expect("is in the catalogue");
    let drawn = (cases::cases(9), 0u32..21, 0usize..2, prop::collection::vec(0usize..2, 9));
    let law = |(case, theta, attribute, parts): (Case, u32, usize, Vec<usize>)| {
        let table = &case.table;
        let rows = |part| {
            (0..table.rows() as u32).filter(|&r| parts[r as usize] == part).collect::<Vec<u32>>()
        };
        let readings = [0, 1].map(|reading| (which, [theta, reading, 0], attribute, 0));
        for r in cases::requirements(&readings, table) {
            let goal = Goal::new(table, std::slice::from_ref(&r));
            for rows in [rows(0), rows(1)].iter().filter(|rows| !rows.is_empty()) {
                let class = naive::class(table, rows);
                let values =
                    class.histograms[r.attribute.expect("about one")].0.iter().copied().collect();
                let told = naive::told(&r, table, &class.region, &values);
                let expected =
                    told.and_then(|told| told.into_iter().rev().max_by_key(naive::change));
                let found = r.model.witness(&goal.context(0), &class).map(|w| {
                    let leaves = w.person.iter().map(|(_, place)| place / 2).collect::<Vec<u32>>();
                    let Belief { value, prior, posterior } = w.belief;
                    (
                        leaves,
                        value,
                        prior.ratio().expect("small"),
                        posterior.ratio().expect("small"),
                    )
                });
                let measured = found
                    .as_ref()
                    .map_or(Measured::Infinite, |w| Measured::Exact(naive::change(w)));
                prop_assert_eq!(goal.judge(0, &class).measured, measured);
                prop_assert_eq!(found, expected, "{:?}", r.parameters);
            }
        }
        Ok(())
    };
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(600));
    runner.run(&drawn, law).unwrap_or_else(|e| panic!("{e}"));
}

/// The twin that judges algorithms agrees with the models themselves, on whole tables.
#[test]
fn twins_agree_with_their_models() {
    let config = ProptestConfig::with_cases(1500);
    let drawn = (cases::cases(14), cases::draws());
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let law = |(case, draws): (Case, Vec<cases::Draw>)| {
        let table = &case.table;
        // A class of every other row: neither the table itself nor a single record.
        let rows: Vec<(u32, u64)> =
            (0..table.rows()).step_by(2).map(|r| (r as u32, u64::from(table.counts[r]))).collect();
        let histogram =
            |codes: &Vec<u32>| Histogram::of(rows.iter().map(|&(row, n)| (codes[row as usize], n)));
        let class = EquivalenceClass {
            region: table.top(),
            count: rows.iter().map(|(_, n)| n).sum(),
            histograms: table.sensitive_codes.iter().map(histogram).collect(),
        };
        for r in cases::requirements(&draws, table) {
            let goal = Goal::new(table, std::slice::from_ref(&r));
            if !goal.unfit().is_empty() {
                continue;
            }
            let verdict = goal.judge(0, &class);
            prop_assert_eq!(
                verdict.holds,
                naive::keeps(&r, table, &class.region, &rows),
                "{} {:?}: {:?}",
                r.name,
                r.parameters,
                verdict
            );
        }
        Ok(())
    };
    runner.run(&drawn, law).unwrap_or_else(|e| panic!("{e}"));
}
