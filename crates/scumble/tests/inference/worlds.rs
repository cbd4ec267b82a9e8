//! The share of worlds against enumeration.

use super::naive;
use scumble::exact::Fraction;
use scumble::inference::Evidence;
use scumble::inference::worlds::{NoWorlds, Options, Worlds, worlds};

fn all(evidence: &Evidence) -> Vec<bool> {
    vec![true; evidence.outcomes().len()]
}

fn run(evidence: &Evidence, options: &Options) -> Worlds {
    worlds(evidence, &all(evidence), options, &|_, _| true).expect("there is a world")
}

/// The number of worlds, and the share of each outcome: the people who have it over all worlds, by enumeration.
fn enumerate(evidence: &Evidence) -> (u64, Vec<Fraction>) {
    let found = naive::worlds(evidence);
    let weight = |w: &naive::World| naive::weight(evidence, w) as u64;
    let total: u64 = found.iter().map(weight).sum();
    let kind_of = evidence.kind_of();
    let share = |o: usize| {
        let people: u64 = found.iter().map(|w| weight(w) * u64::from(w[o])).sum();
        Fraction::new(people, total * u64::from(evidence.kinds()[kind_of[o] as usize].people))
    };
    (total, (0..evidence.outcomes().len()).map(share).collect())
}

#[test]
fn small_parts_equal_enumeration() {
    for seed in 0..5000 {
        let evidence = naive::random(seed);
        let (total, shares) = enumerate(&evidence);
        let possible: Vec<bool> = shares.iter().map(|s| !s.is_zero()).collect();
        for possible in [all(&evidence), possible] {
            let found = worlds(&evidence, &possible, &Options::default(), &|_, _| true).expect("there is a world");
            let exact: Vec<Fraction> = found.fraction.into_iter().map(|f| f.expect("a small part")).collect();
            assert_eq!(exact, shares, "seed {seed}");
            assert!((found.log_worlds - (total as f64).ln()).abs() < 1e-9, "seed {seed}");
            assert_eq!((found.exact, found.sampled), (evidence.people(), None));
            assert!(found.error.iter().all(|&e| e == 0.0));
        }
    }
}

#[test]
fn figure_1() {
    let evidence = naive::figure_1();
    let found = run(&evidence, &Options::default());
    assert!((found.log_worlds - 16f64.ln()).abs() < 1e-12);
    let told = |person: u32| {
        let outcomes = evidence.outcomes_of(person - 1);
        let letter = |o: u32| char::from_u32(evidence.outcomes()[o as usize].value).expect("a letter");
        let share = |o: u32| found.fraction[o as usize].as_ref().and_then(Fraction::ratio).expect("exact").to_string();
        let told = outcomes.map(|o| format!("{} {}", letter(o), share(o))).filter(|t| !t.ends_with(" 0"));
        told.collect::<Vec<_>>().join(", ")
    };
    for person in 1..=4 {
        assert_eq!(told(person), "D 1/4, F 1/2, P 1/4");
    }
    for (person, expected) in [(5, "F 1/2, P 1/2"), (6, "F 1/2, P 1/2"), (7, "D 1"), (8, "F 1/2, H 1/2")] {
        assert_eq!(told(person), expected);
    }
    for (person, expected) in [(9, "F 1/2, H 1/2"), (10, "L 1"), (11, "H 1/2, P 1/2"), (12, "H 1/2, P 1/2")] {
        assert_eq!(told(person), expected);
    }
    for (person, expected) in [(13, "D 1"), (14, "D 1/2, P 1/2"), (15, "D 1/2, P 1/2")] {
        assert_eq!(told(person), expected);
    }
}

#[test]
fn maximum_entropy_may_understate() {
    let evidence = naive::not_bayesian();
    let found = run(&evidence, &Options::default());
    let a = |person: u32| evidence.outcomes_of(person - 1).start as usize;
    assert_eq!(found.fraction[a(1)], Some(Fraction::new(2u8, 3u8)));
    for person in 2..=5 {
        assert_eq!(found.fraction[a(person)], Some(Fraction::new(1u8, 3u8)));
    }
    let p = 0.575_049;
    let mut entropy = vec![0.0; evidence.outcomes().len()];
    for (person, share) in [(1, p), (2, p / 2.0), (3, p / 2.0), (4, 1.0 - p), (5, 1.0 - p)] {
        (entropy[a(person)], entropy[a(person) + 1]) = (share, 1.0 - share);
    }
    let distance = found.compare(&evidence, &entropy);
    assert!((distance.understated.0 - (2.0 / 3.0 - p)).abs() < 1e-9);
    assert!((distance.overstated.0 - (2.0 / 3.0 - p)).abs() < 1e-9);
    let mean = (3.0 * (2.0 / 3.0 - p) + 2.0 * (1.0 / 3.0 - p / 2.0)) / 5.0;
    assert!((distance.mean - mean).abs() < 1e-9);
}

#[test]
fn one_release_gives_the_share_in_the_group() {
    use scumble::inference::Located;
    let groups = vec![vec![vec![(1, 400_000), (2, 350_000), (7, 250_000)], vec![(2, 3), (3, 1)]]];
    let evidence = Evidence::new(&groups, [(1_000_000, vec![Located::at(0)]), (4, vec![Located::at(1)])]);
    let found = run(&evidence, &Options::default());
    let expected = [(2u8, 5u8), (7, 20), (1, 4), (3, 4), (1, 4)];
    let expected: Vec<_> = expected.into_iter().map(|(a, b)| Some(Fraction::new(a, b))).collect();
    assert_eq!(found.fraction, expected);
    // 1 000 000! / (400 000! 350 000! 250 000!) worlds, times 4.
    let entropy = [0.4f64, 0.35, 0.25].iter().map(|p| -p * p.ln()).sum::<f64>() * 1e6;
    assert!((found.log_worlds / entropy - 1.0).abs() < 1e-4);
}

#[test]
fn contradictions_are_told() {
    let evidence = naive::releases(2, &[&[(&[1, 2], "ab")], &[(&[1, 2], "bc")]]);
    let told = worlds(&evidence, &all(&evidence), &Options::default(), &|_, _| true);
    assert_eq!(told, Err(NoWorlds::Contradiction));
    // Each of the three must have a or b, and a and b are there for one each.
    let evidence = naive::releases(3, &[&[(&[1, 2, 3], "abc")], &[(&[1, 2], "ac"), (&[3], "c")]]);
    let told = worlds(&evidence, &all(&evidence), &Options::default(), &|_, _| true);
    assert_eq!(told, Err(NoWorlds::Contradiction));
    // Two of the three must have c.
    let evidence = naive::releases(3, &[&[(&[1, 2, 3], "abc")], &[(&[1, 2], "ac"), (&[3], "c")], &[(&[1, 3], "bc")]]);
    assert!(naive::worlds(&evidence).is_empty());
    let told = worlds(&evidence, &all(&evidence), &drawn(1, 1000), &|_, _| true);
    assert_eq!(told, Err(NoWorlds::Contradiction));
}

/// Nothing is counted exactly, and blocks are too small for all people at once.
fn drawn(seed: u64, budget: u64) -> Options {
    Options { seed, budget, states: 0, block: 30, ..Options::default() }
}

#[test]
fn drawn_worlds_agree_with_enumeration_within_their_error() {
    let (mut outcomes, mut squares) = (0u32, 0.0);
    let (mut parts, mut unfound, mut off) = (0, 0, 0);
    for seed in 0..300 {
        let evidence = naive::random(seed);
        let (_, shares) = enumerate(&evidence);
        let possible: Vec<bool> = shares.iter().map(|s| !s.is_zero()).collect();
        let found = match worlds(&evidence, &possible, &drawn(seed, 4000), &|_, _| true) {
            Ok(found) => found,
            Err(why) => {
                assert!(matches!(why, NoWorlds::NotFound { .. }));
                unfound += 1;
                continue;
            }
        };
        let Some(sampled) = found.sampled.filter(|s| s.unsettled == 0) else { continue };
        parts += 1;
        assert!(sampled.largest_error > 0.0 && sampled.effective > 0.0);
        let errors = |o: usize| (found.probability[o] - shares[o].to_f64()).abs() / found.error[o];
        // Smaller errors are those of outcomes that blocks give exactly.
        let errors: Vec<f64> = (0..shares.len()).filter(|&o| found.error[o] > 5e-3).map(errors).collect();
        off += usize::from(errors.iter().any(|&e| e > 5.0));
        outcomes += errors.len() as u32;
        squares += errors.iter().map(|e| e * e).sum::<f64>();
    }
    let mean = squares / f64::from(outcomes);
    assert!(parts > 100 && unfound <= 3 && off == 0, "{parts} parts, {unfound} unfound, {off} off");
    // Neither bold nor timid.
    assert!(mean > 0.3 && mean < 1.5, "{mean}");
}

#[test]
fn without_a_budget_nothing_is_drawn() {
    let evidence = naive::figure_1();
    let told = run(&evidence, &drawn(1, 0));
    let parts = evidence.components(&all(&evidence)).expect("there is a world");
    let unknown: u64 = parts.iter().map(|p| p.evidence.people()).sum();
    assert_eq!((told.exact, told.sampled), (evidence.people() - unknown, None));
    let outcomes: usize = parts.iter().map(|p| p.outcomes.len()).sum();
    assert_eq!((0..39).filter(|&o| !told.knows(o)).count(), outcomes);
    assert!(told.compare(&evidence, &vec![0.0; 39]).mean <= 1.0);
}

#[test]
fn the_same_worlds_are_drawn_with_any_number_of_threads() {
    let evidence = naive::figure_1();
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        pool.install(|| run(&evidence, &drawn(7, 4000)))
    };
    let one = with(1);
    assert!(one.sampled.is_some());
    assert_eq!(one, with(3));
    assert_ne!(one, run(&evidence, &drawn(8, 4000)));
}
