//! Maximum entropy against the examples of the literature, the form of the optimum and a slow
//! independent solver.

use super::naive;
use scumble::inference::{Beliefs, Evidence, Located, NoBelief, WORK, maximum_entropy};

fn solve(evidence: &Evidence, possible: &[bool]) -> Beliefs {
    maximum_entropy(evidence, possible, WORK, &|_, _| true).expect("there is a belief")
}

/// Outcomes that occur in a world.
fn possible(evidence: &Evidence) -> Vec<bool> {
    let worlds = naive::worlds(evidence);
    (0..evidence.outcomes().len()).map(|o| worlds.iter().any(|w| w[o] > 0)).collect()
}

fn near(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance
}

fn beliefs_of(evidence: &Evidence, beliefs: &Beliefs, person: u32) -> Vec<(char, f64)> {
    let values = beliefs.values(evidence, person - 1);
    values.filter(|v| v.1 > 0.0).map(|(v, p)| (char::from_u32(v).expect("a letter"), p)).collect()
}

#[test]
fn figure_1_to_nine_digits() {
    let evidence = naive::figure_1();
    // Once with what is impossible known, once left to be found.
    for possible in [possible(&evidence), vec![true; 39]] {
        let beliefs = solve(&evidence, &possible);
        assert!(near(beliefs.entropy, 14.0 * 2f64.ln(), 1e-9), "{}", beliefs.entropy);
        assert!(near(beliefs.value_entropy(&evidence), 9.704060528, 1e-9));
        assert!(beliefs.violation < 1e-9);
        type Row = (&'static [u32], &'static [(char, f64)]);
        let expected: [Row; 7] = [
            (&[1, 2, 3, 4], &[('D', 0.25), ('F', 0.5), ('P', 0.25)]),
            (&[5, 6], &[('F', 0.5), ('P', 0.5)]),
            (&[7, 13], &[('D', 1.0)]),
            (&[8, 9], &[('F', 0.5), ('H', 0.5)]),
            (&[10], &[('L', 1.0)]),
            (&[11, 12], &[('H', 0.5), ('P', 0.5)]),
            (&[14, 15], &[('D', 0.5), ('P', 0.5)]),
        ];
        for (people, expected) in expected {
            for &person in people {
                let found = beliefs_of(&evidence, &beliefs, person);
                assert_eq!(found.len(), expected.len(), "{person}: {found:?}");
                for (f, e) in found.iter().zip(expected) {
                    assert!(f.0 == e.0 && near(f.1, e.1, 1e-9), "{person}: {found:?}");
                }
            }
        }
    }
    let found = solve(&evidence, &[true; 39]).excluded.len();
    assert_eq!(found, 8, "7F 7P 10F 10H 13H 13P 14F 15F");
}

#[test]
fn one_release_of_figure_1() {
    let first: [(&[u32], &str); 4] = [
        (&[1, 2, 3, 4], "DFFP"),
        (&[5, 6, 7], "DFP"),
        (&[8, 9, 10], "FHL"),
        (&[11, 12, 13], "PDH"),
    ];
    let second: [(&[u32], &str); 4] =
        [(&[1, 2, 12], "DFP"), (&[3, 4, 11], "DFP"), (&[5, 8, 9], "FHP"), (&[6, 7, 10], "FHP")];
    for (people, release, variables, entropy) in
        [(13, first, 39, 14.046393681), (12, second, 36, 13.183347464)]
    {
        let evidence = naive::releases(people, &[&release]);
        assert_eq!(evidence.outcomes().len(), variables);
        let beliefs = solve(&evidence, &vec![true; variables]);
        assert!(near(beliefs.entropy, entropy, 1e-9), "{}", beliefs.entropy);
    }
}

#[test]
fn not_bayesian() {
    let evidence = naive::not_bayesian();
    let beliefs = solve(&evidence, &possible(&evidence));
    let a = |person: u32| beliefs.values(&evidence, person - 1).next().expect("a").1;
    let p = a(1);
    assert!(near((1.0 - p).powi(3) * (2.0 - p), p.powi(4), 1e-9) && near(p, 0.575049, 1e-6), "{p}");
    for (person, expected) in [(2, p / 2.0), (3, p / 2.0), (4, 1.0 - p), (5, 1.0 - p)] {
        assert!(near(a(person), expected, 1e-9));
    }
}

#[test]
fn one_release_says_count_by_size() {
    let groups = vec![vec![vec![(0, 3), (1, 1), (2, 6)], vec![(1, 2), (2, 2)]]];
    let evidence = Evidence::new(
        &groups,
        [(10, vec![Located::at(0)]), (1, vec![Located::at(1)]), (3, vec![Located::at(1)])],
    );
    let beliefs = solve(&evidence, &[true; 7]);
    let expected = [0.3, 0.1, 0.6, 0.5, 0.5, 0.5, 0.5];
    assert!(beliefs.probability.iter().zip(expected).all(|(p, e)| near(*p, e, 1e-12)));
    for (distinct, entropy) in [(2, 4990.66), (3, 7910.01), (5, 11587.95)] {
        let groups = vec![vec![(0..distinct).map(|v| (v, 1)).collect(); 7200 / distinct as usize]];
        let kinds = (0..7200 / distinct).map(|g| (distinct, vec![Located::at(g)]));
        let evidence = Evidence::new(&groups, kinds);
        let beliefs = solve(&evidence, &vec![true; evidence.outcomes().len()]);
        assert!(near(beliefs.entropy, entropy, 0.005) && beliefs.violation < 1e-9);
    }
}

#[test]
fn contradictions_are_proven() {
    // Two people, one in each release's only a; the releases disagree on how often a occurs among
    // the same people.
    let evidence = naive::releases(3, &[&[(&[1, 2, 3], "aab")], &[(&[1, 2, 3], "abb")]]);
    let Err(NoBelief { facts }) =
        maximum_entropy(&evidence, &vec![true; evidence.outcomes().len()], WORK, &|_, _| true)
    else {
        panic!("no world")
    };
    assert!(!facts.is_empty());
}

/// The optimum meets every fact, and its probabilities are products of factors of the facts; a fact
/// that leaves room has the factor one, and a factor above one is for a lower bound.
fn assert_optimal(evidence: &Evidence, possible: &[bool], beliefs: &Beliefs) {
    let mut counts = vec![0.0; evidence.facts().len()];
    for kind in 0..evidence.kinds().len() as u32 {
        let outcomes = || {
            evidence
                .outcomes_of(kind)
                .filter(|&o| possible[o as usize] && beliefs.probability[o as usize] > 0.0)
        };
        let people = f64::from(evidence.kinds()[kind as usize].people);
        assert!(near(
            evidence.outcomes_of(kind).map(|o| beliefs.probability[o as usize]).sum(),
            1.0,
            1e-12
        ));
        let rest = |o: u32| {
            let factors: f64 =
                evidence.facts_of(o).iter().map(|&f| beliefs.multiplier[f as usize]).sum();
            beliefs.probability[o as usize].ln() - factors
        };
        if outcomes().count() > 1 {
            let first = rest(outcomes().next().expect("an outcome"));
            assert!(outcomes().all(|o| near(rest(o), first, 1e-9)));
        }
        for outcome in outcomes() {
            let mass = people * beliefs.probability[outcome as usize];
            evidence.facts_of(outcome).iter().for_each(|&f| counts[f as usize] += mass);
        }
    }
    for ((fact, count), &y) in evidence.facts().iter().zip(counts).zip(&beliefs.multiplier) {
        let (low, high) = (fact.low as f64, fact.high as f64);
        assert!(low - 1e-9 <= count && count <= high + 1e-9, "{count} {fact:?}");
        if low < high {
            assert!(y <= 0.0 || near(count, low, 1e-8), "{y} {count} {fact:?}");
            assert!(y >= 0.0 || near(count, high, 1e-8), "{y} {count} {fact:?}");
        }
    }
}

/// Scaling to one fact after another, for long.
fn by_scaling(evidence: &Evidence, possible: &[bool]) -> Vec<f64> {
    let mut p: Vec<f64> = possible.iter().map(|&p| f64::from(u8::from(p))).collect();
    let mut factor = vec![0.0f64; evidence.facts().len()];
    let kind_of = evidence.kind_of();
    let people = |o: usize| f64::from(evidence.kinds()[kind_of[o] as usize].people);
    let counted: Vec<Vec<usize>> = (0..evidence.facts().len() as u32)
        .map(|f| {
            (0..p.len())
                .filter(|&o| possible[o] && evidence.facts_of(o as u32).contains(&f))
                .collect()
        })
        .collect();
    for _ in 0..20_000 {
        let mut change = 0.0f64;
        for (f, fact) in evidence.facts().iter().enumerate() {
            let count: f64 = counted[f].iter().map(|&o| people(o) * p[o]).sum();
            if count == 0.0 {
                continue;
            }
            let (up, down) = (
                factor[f] + (fact.low as f64 / count).ln(),
                factor[f] + (fact.high as f64 / count).ln(),
            );
            let next = if fact.low == fact.high || up > 0.0 { up } else { down.min(0.0) };
            counted[f].iter().for_each(|&o| p[o] *= (next - factor[f]).exp());
            change = change.max((next - factor[f]).abs());
            factor[f] = next;
        }
        for kind in 0..evidence.kinds().len() as u32 {
            let sum: f64 = evidence.outcomes_of(kind).map(|o| p[o as usize]).sum();
            evidence.outcomes_of(kind).for_each(|o| p[o as usize] /= sum);
            change = change.max((sum - 1.0).abs());
        }
        if change < 1e-12 {
            break;
        }
    }
    p
}

#[test]
fn random_evidence_has_the_form_of_the_optimum_and_equals_scaling() {
    for seed in 0..3000 {
        let evidence = naive::random(seed);
        let possible = possible(&evidence);
        let beliefs = maximum_entropy(&evidence, &possible, WORK, &|_, _| true);
        let beliefs = beliefs.unwrap_or_else(|e| panic!("seed {seed}: {e:?}"));
        assert!(beliefs.violation < 1e-9 && beliefs.excluded.is_empty(), "seed {seed}");
        assert!(beliefs.unsettled.is_empty(), "seed {seed}");
        assert_optimal(&evidence, &possible, &beliefs);
        for (o, slow) in by_scaling(&evidence, &possible).into_iter().enumerate() {
            assert!(
                near(beliefs.probability[o], slow, 1e-6),
                "seed {seed}: {} {slow}",
                beliefs.probability[o]
            );
        }
    }
}

#[test]
fn what_is_impossible_is_found_and_proven_or_named() {
    let mut named = 0;
    for seed in 0..3000 {
        let evidence = naive::random(seed);
        let integral = possible(&evidence);
        match maximum_entropy(&evidence, &vec![true; integral.len()], WORK, &|_, _| true) {
            Ok(beliefs) if beliefs.unsettled.is_empty() => {
                assert!(beliefs.excluded.iter().all(|&o| !integral[o as usize]), "seed {seed}");
                assert_optimal(&evidence, &vec![true; integral.len()], &beliefs);
            }
            Ok(beliefs) => {
                named += 1;
                assert!(beliefs.suspects.iter().any(|&o| !integral[o as usize]), "seed {seed}");
            }
            Err(_) => panic!("seed {seed} has a world"),
        }
    }
    assert!(named < 30, "{named} of 3000 are not proven");
}

/// Two releases of groups of ten, people dealt by steps that share no factor.
fn crossing(people: u32) -> Evidence {
    let value = |p: u32| (p * p + p / 7) % 11;
    let place = |p: u32, r: u32| if r == 0 { p / 10 } else { (p * 7 + 3) % people / 10 };
    let mut groups: naive::Groups = vec![vec![Vec::new(); people as usize / 10]; 2];
    for (p, r) in (0..people).flat_map(|p| [(p, 0), (p, 1)]) {
        let group: &mut Vec<(u32, u64)> = &mut groups[r as usize][place(p, r) as usize];
        match group.binary_search_by_key(&value(p), |g| g.0) {
            Ok(at) => group[at].1 += 1,
            Err(at) => group.insert(at, (value(p), 1)),
        }
    }
    Evidence::new(
        &groups,
        (0..people).map(|p| (1, (0..2).map(|r| Located::at(place(p, r))).collect())),
    )
}

#[test]
fn little_work_gives_a_belief_that_is_said_not_to_have_settled() {
    let evidence = crossing(600);
    let possible = vec![true; evidence.outcomes().len()];
    let outcomes = possible.len() as u64;
    let mut last = f64::INFINITY;
    for passes in [20, 60, 200, 20_000] {
        let beliefs = maximum_entropy(&evidence, &possible, passes * outcomes, &|_, _| true)
            .expect("there is a world");
        let sums = (0..evidence.kinds().len() as u32)
            .map(|kind| beliefs.values(&evidence, kind).map(|(_, p)| p).sum::<f64>());
        assert!(
            sums.into_iter().all(|sum| near(sum, 1.0, 1e-9)),
            "probabilities of everybody, settled or not"
        );
        let settled = beliefs.unsettled.is_empty();
        // Work decides, and the violation says by how much: nothing is called settled that is not.
        assert!(settled == (beliefs.violation < 1e-4), "{passes} passes: {}", beliefs.violation);
        last = beliefs.violation;
        assert_eq!(
            maximum_entropy(&evidence, &possible, passes * outcomes, &|_, _| true),
            Ok(beliefs),
            "by work, not time"
        );
    }
    assert!(last < 1e-8, "enough work settles it");
}

#[test]
fn the_same_for_any_number_of_threads() {
    // Large enough for several chunks.
    let evidence = crossing(6000);
    let possible = vec![true; evidence.outcomes().len()];
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        pool.install(|| maximum_entropy(&evidence, &possible, WORK, &|_, _| true))
    };
    assert!(evidence.outcomes().len() > 10_000);
    assert_eq!(with(1), with(3));
}
