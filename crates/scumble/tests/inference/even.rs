//! Where all values are alike.

use rand::{SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;
use scumble::exact::Fraction;
use scumble::inference::worlds::{Options, worlds};
use scumble::inference::{Evidence, Located, WORK, forced, infer};

const VALUES: u32 = 4;

/// Releases of windows of people in groups that have every value once; who has which value; and
/// whether one group of the last release has one value twice.
fn invariant(releases: u32, people: u32, spoilt: bool) -> (Evidence, Vec<u32>) {
    let mut rng = ChaCha8Rng::seed_from_u64(u64::from(releases));
    let truth: Vec<u32> = (0..people).map(|p| p % VALUES).collect();
    let mut located = vec![vec![Located::absent(); releases as usize]; people as usize];
    let mut groups = Vec::new();
    for release in 0..releases {
        let window = release * 40..people - (releases - release) * 40;
        let mut of: Vec<Vec<u32>> = vec![Vec::new(); VALUES as usize];
        window.for_each(|p| of[truth[p as usize] as usize].push(p));
        of.iter_mut().for_each(|people| people.shuffle(&mut rng));
        let mut histograms = vec![(0..VALUES).map(|v| (v, 1)).collect::<Vec<_>>(); of[0].len()];
        for people in &of {
            for (group, &person) in (0u32..).zip(people) {
                located[person as usize][release as usize] = Located::at(group);
            }
        }
        if spoilt && release == releases - 1 {
            // The first of value 0 in the second group goes to the first.
            located[of[0][1] as usize][release as usize] = Located::at(0);
            histograms[0][0].1 = 2;
            histograms[1].remove(0);
        }
        groups.push(histograms);
    }
    (Evidence::new(&groups, located.into_iter().map(|place| (1, place))), truth)
}

/// Whether everybody having these values meets all facts.
fn is_world(evidence: &Evidence, values: &[u32]) -> bool {
    let mut counts = vec![0u64; evidence.facts().len()];
    for (kind, &value) in (0u32..).zip(values) {
        let Some(outcome) =
            evidence.outcomes_of(kind).find(|&o| evidence.outcomes()[o as usize].value == value)
        else {
            return evidence.outcomes_of(kind).all(|o| evidence.facts_of(o).is_empty());
        };
        evidence.facts_of(outcome).iter().for_each(|&f| counts[f as usize] += 1);
    }
    evidence.facts().iter().zip(counts).all(|(fact, count)| (fact.low..=fact.high).contains(&count))
}

#[test]
fn everybody_may_have_every_value_after_any_number_of_releases() {
    for releases in 1..=5 {
        let (evidence, truth) = invariant(releases, 1200, false);
        for turn in 0..VALUES {
            let turned: Vec<u32> = truth.iter().map(|v| (v + turn) % VALUES).collect();
            assert!(is_world(&evidence, &turned), "values are alike");
        }
        let found = infer(&evidence, WORK, &|_, _| true).expect("there is a world");
        assert!(found.forced.undecided.is_empty() && found.forced.possible.iter().all(|&p| p));
        let shares = worlds(
            &evidence,
            &found.forced.possible,
            &Options { budget: 0, ..Options::default() },
            &|_, _| true,
        );
        let shares = shares.expect("there is a world");
        assert_eq!((shares.exact, shares.unknown), (evidence.people(), 0));
        for kind in 0..evidence.kinds().len() as u32 {
            let outcomes = evidence.outcomes_of(kind);
            for o in outcomes.clone() {
                let even = Fraction::new(1u32, outcomes.len() as u32);
                assert_eq!(shares.fraction[o as usize].as_ref(), Some(&even));
                assert!((found.beliefs.probability[o as usize] - even.to_f64()).abs() < 1e-12);
            }
        }
    }
}

#[test]
fn one_uneven_group_is_enough_to_look_closer() {
    for releases in 2..=4 {
        let (evidence, truth) = invariant(releases, 1200, true);
        assert!(is_world(&evidence, &truth));
        assert!(!is_world(&evidence, &truth.iter().map(|v| (v + 1) % VALUES).collect::<Vec<_>>()));
        let found = forced(&evidence).expect("there is a world");
        let lacking =
            |k: u32| evidence.outcomes_of(k).all(|o| evidence.outcomes()[o as usize].value != 0);
        assert_eq!(
            (0..evidence.kinds().len() as u32).filter(|&k| lacking(k)).count() as u32
                - absent(&evidence),
            3
        );
        let large = releases > 1;
        assert_eq!(found.undecided.is_empty(), !large, "nobody took it for even");
    }
}

fn absent(evidence: &Evidence) -> u32 {
    let nowhere = |k: &u32| evidence.outcomes_of(*k).all(|o| evidence.facts_of(o).is_empty());
    (0..evidence.kinds().len() as u32).filter(nowhere).count() as u32
}
