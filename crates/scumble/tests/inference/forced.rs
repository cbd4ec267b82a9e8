//! What is impossible and what is certain, against all worlds.

use super::naive;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use scumble::inference::{Evidence, Known, Located, Reasons, forced};

#[test]
fn possible_is_what_some_world_has() {
    for seed in 0..4000 {
        let evidence = naive::random(seed);
        let worlds = naive::worlds(&evidence);
        let possible: Vec<bool> =
            (0..evidence.outcomes().len()).map(|o| worlds.iter().any(|w| w[o] > 0)).collect();
        let forced = forced(&evidence).unwrap_or_else(|c| panic!("seed {seed}: {c:?}"));
        assert_eq!(forced.possible, possible, "seed {seed}");
        assert!(forced.undecided.is_empty(), "seed {seed}");
    }
}

#[test]
fn figure_1_discloses_three_patients() {
    let evidence = naive::figure_1();
    let forced = forced(&evidence).expect("there is a world");
    let excluded: Vec<String> = (0..15)
        .flat_map(|kind| evidence.outcomes_of(kind).map(move |o| (kind, o)))
        .filter(|&(_, o)| !forced.possible[o as usize])
        .map(|(kind, o)| {
            format!(
                "{}{}",
                kind + 1,
                char::from_u32(evidence.outcomes()[o as usize].value).expect("letter")
            )
        })
        .collect();
    assert_eq!(excluded, ["7F", "7P", "10F", "10H", "13H", "13P", "14F", "15F"]);
    let certain: Vec<u32> =
        (0..15).filter(|&k| forced.certain(&evidence, k).is_some()).map(|k| k + 1).collect();
    assert_eq!(certain, [7, 10, 13]);
    assert_eq!(forced.certain(&evidence, 9), Some(u32::from('L')));
    assert_eq!(forced.values(&evidence, 13).collect::<Vec<_>>(), [u32::from('D'), u32::from('P')]);
}

/// Fourteen has no flu: flu twice among 1 … 4, once in each group of the other release that holds
/// them.
#[test]
fn figure_1_reason() {
    let evidence = naive::figure_1();
    let flu =
        evidence.outcomes_of(13).find(|&o| evidence.outcomes()[o as usize].value == u32::from('F'));
    let found = forced(&evidence).expect("there is a world");
    let facts =
        Reasons::new(&evidence, &found).excluded(flu.expect("in her group")).expect("impossible");
    assert_eq!(facts.len(), 3);
    let flu = |f: &u32| format!("{:?}", evidence.facts()[*f as usize].source).contains("value: 70");
    assert!(facts.iter().all(flu));
}

#[test]
fn reasons_suffice_and_none_can_be_left_out() {
    for seed in 0..600 {
        let evidence = naive::random(seed);
        let forced = forced(&evidence).expect("there is a world");
        let reasons = Reasons::new(&evidence, &forced);
        for outcome in 0..evidence.outcomes().len() as u32 {
            let reason = reasons.excluded(outcome);
            assert_eq!(
                reason.is_none(),
                forced.possible[outcome as usize],
                "seed {seed}, outcome {outcome}"
            );
            let Some(facts) = reason else { continue };
            let allowed =
                |facts: &[u32]| worlds_of(&evidence, facts).iter().any(|w| w[outcome as usize] > 0);
            assert!(!allowed(&facts), "seed {seed}, outcome {outcome}");
            let used = reasons.sufficient(outcome).expect("impossible");
            assert!(!allowed(&used), "seed {seed}, outcome {outcome}");
            for left_out in 0..facts.len() {
                assert!(allowed(&without(&facts, left_out)), "seed {seed}, outcome {outcome}");
            }
        }
    }
}

#[test]
fn contradictions_are_irreducible() {
    let mut seen = 0;
    for seed in 0..2000 {
        let evidence = disturbed(seed);
        let worlds = naive::worlds(&evidence);
        let Err(contradiction) = forced(&evidence) else {
            assert!(!worlds.is_empty(), "seed {seed}");
            continue;
        };
        seen += 1;
        assert!(worlds.is_empty(), "seed {seed}");
        let facts = &contradiction.facts;
        if facts.is_empty() {
            let [kind] = contradiction.kinds[..] else { panic!("seed {seed}") };
            assert!(evidence.outcomes_of(kind).is_empty(), "seed {seed}");
            continue;
        }
        assert!(worlds_of(&evidence, facts).is_empty(), "seed {seed}");
        for left_out in 0..facts.len() {
            assert!(
                !worlds_of(&evidence, &without(facts, left_out)).is_empty(),
                "seed {seed}: {facts:?}"
            );
        }
    }
    assert!(seen > 500, "{seen}");
}

/// Two releases of a few hundred people: what they have stays possible, and what is left after
/// leaving out the impossible has nothing more to give.
#[test]
fn the_truth_stays_possible() {
    for seed in 0..40 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let (people, values) = (rng.random_range(20..400usize), rng.random_range(2..8u32));
        let truth: Vec<u32> = (0..people).map(|_| rng.random_range(0..values)).collect();
        let size = rng.random_range(2..8);
        let group_of: Vec<Vec<u32>> = (0..rng.random_range(2..4))
            .map(|_| {
                (0..people).map(|_| rng.random_range(0..people.div_ceil(size) as u32)).collect()
            })
            .collect();
        let groups: naive::Groups = group_of
            .iter()
            .map(|of| {
                (0..people.div_ceil(size))
                    .map(|g| histogram(&truth, of, g as u32, values))
                    .collect()
            })
            .collect();
        let located = |p: usize| group_of.iter().map(|of| Located::at(of[p])).collect();
        let evidence = Evidence::new(&groups, (0..people).map(|p| (1, located(p))));
        let found = forced(&evidence).expect("the truth is a world");
        for (kind, &value) in (0u32..).zip(&truth) {
            assert!(found.values(&evidence, kind).any(|v| v == value), "seed {seed}");
        }
        let mut of_parts = found.possible.clone();
        for part in evidence.components(&found.possible).expect("a world") {
            let again = forced(&part.evidence).expect("the truth is a world");
            part.outcomes
                .iter()
                .zip(again.possible)
                .for_each(|(&o, possible)| of_parts[o as usize] = possible);
        }
        assert_eq!(of_parts, found.possible, "seed {seed}");
    }
}

fn histogram(truth: &[u32], group_of: &[u32], group: u32, values: u32) -> Vec<(u32, u64)> {
    let count =
        |v| truth.iter().zip(group_of).filter(|&(&t, &g)| (t, g) == (v, group)).count() as u64;
    (0..values).map(|v| (v, count(v))).filter(|&(_, n)| n > 0).collect()
}

#[test]
fn a_kind_without_a_value_contradicts() {
    let evidence = naive::releases(2, &[&[(&[1, 2], "ab")], &[(&[1], "c")]]);
    let contradiction = forced(&evidence).expect_err("no value in common");
    assert_eq!((contradiction.facts, contradiction.kinds), (vec![], vec![0]));
}

fn without(facts: &[u32], left_out: usize) -> Vec<u32> {
    [&facts[..left_out], &facts[left_out + 1..]].concat()
}

/// The worlds that meet some of the facts.
fn worlds_of(evidence: &Evidence, facts: &[u32]) -> Vec<naive::World> {
    naive::worlds(&evidence.only(facts, (0..evidence.kinds().len() as u32).collect()).evidence)
}

/// Random evidence of which something else is said besides, whether it is so or not.
fn disturbed(seed: u64) -> Evidence {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let evidence = naive::random(seed);
    let known: Vec<Known> = (0..rng.random_range(1..=3))
        .map(|_| {
            let kinds: Vec<u32> =
                (0..evidence.kinds().len() as u32).filter(|_| rng.random_bool(0.5)).collect();
            let values: Vec<u32> = (0..4).filter(|_| rng.random_bool(0.5)).collect();
            let low = rng.random_range(0..=3);
            Known { kinds, values, low, high: low + rng.random_range(0..=1) }
        })
        .collect();
    evidence.knowing(&known)
}
