//! Limits of parameters: at the largest values that the catalogue accepts, everything in it runs on
//! a small table, and the process stays small. A test binary of its own, because its peak of memory
//! is measured.

#[allow(dead_code)]
#[path = "attacks/cases.rs"]
mod attacks;
#[allow(dead_code)]
#[path = "laws/cases.rs"]
mod cases;

use cases::{Case, algorithm, combinations, k_anonymity, required};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use scumble::attack::{Attack, on_releases};
use scumble::catalogue::{ALGORITHMS, ATTACKS, Entry, Kind, MODELS, PEOPLE, Parameter, Parameters};
use scumble::publish::{judge, make};
use scumble::release::Release;
use std::collections::BTreeMap;

/// Bytes that the process may have used at its peak: far more than small tables need, far less than
/// a machine has.
const PEAK: u64 = 1 << 30;

/// Panics if the process ever used more than [`PEAK`], as far as the system tells.
fn stayed_small(after: &str) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse().ok());
    assert!(peak.is_none_or(|kilobytes: u64| kilobytes * 1024 < PEAK), "{after}: {peak:?} kB");
}

/// The parameter lists of the whole catalogue.
fn lists() -> Vec<(&'static str, &'static [Parameter])> {
    let models = MODELS.iter().map(|e| (e.name, e.parameters));
    let algorithms = ALGORITHMS.iter().map(|e| (e.name, e.parameters));
    let attacks = ATTACKS.iter().map(|e| (e.name(), e.parameters()));
    models.chain(algorithms).chain(attacks).collect()
}

/// Every combination of choices, with counts and numbers as large, and with numbers as small, as
/// the catalogue accepts.
fn extremes(list: &'static [Parameter]) -> Vec<BTreeMap<String, String>> {
    let mut all = Vec::new();
    for number in ["0.000000000000000001", "999999999999999999"] {
        for mut given in combinations(list, &[5, 16, 3]) {
            for p in list {
                let text = match p.kind {
                    Kind::Count(_, most) => most.to_string(),
                    Kind::Number(least, most) => {
                        let fits = Some(number).filter(|n| p.kind.parse(n).is_some());
                        fits.or(most.filter(|_| number.starts_with('9')))
                            .unwrap_or(least)
                            .to_owned()
                    }
                    _ => continue,
                };
                given.insert(p.name.to_owned(), text);
            }
            all.push(given);
        }
    }
    all
}

/// Some small tables of every kind of column.
fn tables() -> Vec<Case> {
    let mut runner = TestRunner::deterministic();
    (0..6).map(|_| cases::cases(12).new_tree(&mut runner).expect("a case").current()).collect()
}

#[test]
fn counts_beyond_their_limit_are_refused_with_the_limit() {
    let mut counts = 0;
    for (name, list) in lists() {
        for p in list {
            let Kind::Count(least, most) = p.kind else { continue };
            counts += 1;
            assert!(least <= most && most <= PEOPLE, "{name}: {}", p.name);
            for text in [(most + 1).to_string(), u64::MAX.to_string(), "9".repeat(40)] {
                assert_eq!(p.kind.parse(&text), None, "{name}: {} = {text}", p.name);
                let given = list.iter().map(|p| (p.name.to_owned(), text.clone())).collect();
                let problems = Parameters::read(name, list, &given).expect_err("too large");
                assert!(
                    problems.iter().any(|p| p.message.contains(&format!("to {most}"))),
                    "{problems:?}"
                );
            }
        }
    }
    assert!(counts > 20);
}

#[test]
fn models_at_their_limits_judge_small_releases() {
    for Case { table, .. } in tables() {
        let form = cases::algorithm(&ALGORITHMS[0], &BTreeMap::new()).expect("defaults");
        let requirements = [k_anonymity(2)];
        let goal = scumble::algorithm::Goal::new(&table, &requirements);
        let Ok(form) = form.anonymize(&table, &goal, 1, &|_, _| true) else { continue };
        let release = Release::of(&table, &form);
        let nothing = Release { classes: Vec::new(), ..release.clone() };
        for entry in MODELS {
            for given in extremes(entry.parameters) {
                let parameters = Parameters::read(entry.name, entry.parameters, &given)
                    .expect("within the limits");
                // What makes no sense together is refused; what is built must be able to judge.
                let Ok(model) = (entry.build)(&parameters) else { continue };
                let requirement = [required(entry, parameters, model, 0, None, &table)];
                for release in [&release, &nothing] {
                    let _ = judge(release, &requirement);
                }
                stayed_small(entry.name);
            }
        }
    }
}

#[test]
fn algorithms_at_their_limits_run_on_small_tables() {
    for Case { table, .. } in tables() {
        for entry in ALGORITHMS {
            for given in extremes(entry.parameters) {
                if let Some(algorithm) = algorithm(entry, &given) {
                    let _ = make(&table, algorithm.as_ref(), &[k_anonymity(3)], 1, &|_, _| true);
                    stayed_small(entry.name);
                }
            }
        }
    }
}

#[test]
fn attacks_at_their_limits_run_on_small_releases() {
    let people = attacks::people(&mut ChaCha8Rng::seed_from_u64(3), 3, 4, 3);
    let register = attacks::register(&people);
    for release in [attacks::generalized(&people), attacks::anatomized(&people)] {
        for entry in on_releases() {
            for given in extremes(entry.parameters) {
                run(entry, &given, &attacks::scene(release.clone(), Some(&register)));
                stayed_small(entry.name);
            }
        }
    }
}

fn run(
    entry: &Entry<Box<dyn Attack>>,
    given: &BTreeMap<String, String>,
    scene: &scumble::attack::Scene,
) {
    // A register is another file; there is none here.
    let given = given.iter().filter(|(name, _)| {
        entry
            .parameters
            .iter()
            .all(|p| p.name != name.as_str() || !matches!(p.kind, Kind::Register))
    });
    let given = given.map(|(name, text)| (name.clone(), text.clone())).collect();
    let Ok(parameters) = Parameters::read(entry.name, entry.parameters, &given) else { return };
    if let Ok(attack) = (entry.build)(&parameters) {
        let _ = attack.run(scene, &|_, _| true);
    }
}
