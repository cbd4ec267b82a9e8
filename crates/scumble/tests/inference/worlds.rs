//! The share of worlds against enumeration.

use super::naive;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use scumble::exact::Fraction;
use scumble::inference::worlds::{NoWorlds, Options, Worlds, worlds};
use scumble::inference::{Evidence, Located, forced};

fn all(evidence: &Evidence) -> Vec<bool> {
    vec![true; evidence.outcomes().len()]
}

fn run(evidence: &Evidence, options: &Options) -> Worlds {
    worlds(evidence, &all(evidence), options, &|_, _| true).expect("there is a world")
}

/// The number of worlds, and the share of each outcome: the people who have it over all worlds, by
/// enumeration.
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
            let found = worlds(&evidence, &possible, &Options::default(), &|_, _| true)
                .expect("there is a world");
            let exact: Vec<Fraction> =
                found.fraction.into_iter().map(|f| f.expect("a small part")).collect();
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
        let letter =
            |o: u32| char::from_u32(evidence.outcomes()[o as usize].value).expect("a letter");
        let share = |o: u32| {
            found.fraction[o as usize]
                .as_ref()
                .and_then(Fraction::ratio)
                .expect("exact")
                .to_string()
        };
        let told =
            outcomes.map(|o| format!("{} {}", letter(o), share(o))).filter(|t| !t.ends_with(" 0"));
        told.collect::<Vec<_>>().join(", ")
    };
    for person in 1..=4 {
        assert_eq!(told(person), "D 1/4, F 1/2, P 1/4");
    }
    for (person, expected) in
        [(5, "F 1/2, P 1/2"), (6, "F 1/2, P 1/2"), (7, "D 1"), (8, "F 1/2, H 1/2")]
    {
        assert_eq!(told(person), expected);
    }
    for (person, expected) in
        [(9, "F 1/2, H 1/2"), (10, "L 1"), (11, "H 1/2, P 1/2"), (12, "H 1/2, P 1/2")]
    {
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
    let groups = vec![vec![vec![(1, 400_000), (2, 350_000), (7, 250_000)], vec![(2, 3), (3, 1)]]];
    let evidence =
        Evidence::new(&groups, [(1_000_000, vec![Located::at(0)]), (4, vec![Located::at(1)])]);
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
    let evidence = naive::releases(
        3,
        &[&[(&[1, 2, 3], "abc")], &[(&[1, 2], "ac"), (&[3], "c")], &[(&[1, 3], "bc")]],
    );
    assert!(naive::worlds(&evidence).is_empty());
    let told = worlds(&evidence, &all(&evidence), &drawn(1, 1000), &|_, _| true);
    assert_eq!(told, Err(NoWorlds::Contradiction));
}

/// Nothing is counted exactly.
fn drawn(seed: u64, budget: u64) -> Options {
    Options { seed, budget, states: 0, error: 0.02, ..Options::default() }
}

/// How far drawn shares are from the exact ones, in standard errors: the largest, and the mean
/// square. Outcomes that no world had are left out of the mean: their error is a bound.
struct Off {
    largest: f64,
    square: f64,
}

fn compare(found: &Worlds, exact: &[f64]) -> Off {
    let off = |o: usize| (found.probability[o] - exact[o]).abs() / found.error[o];
    let drawn = || (0..exact.len()).filter(|&o| found.error[o] > 0.0);
    let seen = || drawn().filter(|&o| found.probability[o] > 0.01 && found.probability[o] < 0.99);
    let square = seen().map(|o| off(o).powi(2)).sum::<f64>() / seen().count().max(1) as f64;
    Off { largest: drawn().map(off).fold(0.0, f64::max), square }
}

/// On some two thousand outcomes no error is off by more than 5.5 (chance would make one in ten
/// thousand such tests fail), and their squares are 1 on average, within what chance and the width
/// of error estimates allow.
#[test]
fn drawn_worlds_agree_with_enumeration_within_their_error() {
    let (mut squares, mut parts, mut unsettled) = (0.0, 0u32, 0u32);
    for seed in 0..250 {
        let evidence = naive::random(seed);
        let (_, shares) = enumerate(&evidence);
        let possible: Vec<bool> = shares.iter().map(|s| !s.is_zero()).collect();
        let found = worlds(&evidence, &possible, &drawn(seed, 4_000), &|_, _| true)
            .expect("there is a world");
        assert_eq!(found.unknown, 0, "seed {seed}");
        if found.sampled.is_none() {
            continue;
        }
        parts += 1;
        // Where a kind always has the same counts, chains that are stuck would look the same: it
        // need not settle.
        let counts = naive::worlds(&evidence);
        let varies = |o: usize| counts.iter().any(|w| w[o] != counts[0][o]);
        unsettled += u32::from((0..shares.len()).any(|o| varies(o) && !found.knows(o as u32)));
        let exact: Vec<f64> = shares.iter().map(Fraction::to_f64).collect();
        let off = compare(&found, &exact);
        assert!(off.largest < 5.5, "seed {seed}: off by {}", off.largest);
        squares += off.square;
    }
    assert!(parts > 100 && unsettled * 20 < parts, "{parts} parts, {unsettled} unsettled");
    let mean = squares / f64::from(parts);
    assert!(mean > 0.6 && mean < 1.4, "{mean}");
}

/// People in a row; groups of so many neighbours in each release, which begin at so many. Exact
/// counting only has to look at a few people at once, however long the row is.
fn row(people: u32, values: u32, releases: &[(u32, u32)], seed: u64) -> Evidence {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let truth: Vec<u32> = (0..people).map(|_| rng.random_range(0..values)).collect();
    let group = |person: u32, (size, begin): (u32, u32)| (person + size - begin) / size;
    let mut groups = Vec::new();
    for &release in releases {
        let mut histograms =
            vec![std::collections::BTreeMap::new(); group(people - 1, release) as usize + 1];
        for person in 0..people {
            *histograms[group(person, release) as usize]
                .entry(truth[person as usize])
                .or_insert(0) += 1;
        }
        groups.push(histograms.into_iter().map(|h| h.into_iter().collect()).collect());
    }
    let located = |p: u32| releases.iter().map(|&r| Located::at(group(p, r))).collect();
    Evidence::new(&groups, (0..people).map(|p| (1, located(p))))
}

#[test]
fn drawn_worlds_agree_with_long_parts_that_can_be_counted() {
    let two: &[(u32, u32)] = &[(4, 0), (4, 2)];
    let three: &[(u32, u32)] = &[(6, 0), (6, 2), (6, 4)];
    for (releases, people, values, seed) in
        [(two, 120, 3, 1), (two, 200, 4, 2), (three, 90, 3, 3), (three, 120, 2, 4)]
    {
        let evidence = row(people, values, releases, seed);
        let possible = forced(&evidence).expect("there is a world").possible;
        let find = |options| {
            worlds(&evidence, &possible, &options, &|_, _| true).expect("there is a world")
        };
        let exact = find(Options::default());
        assert_eq!(exact.exact, u64::from(people), "counted");
        let found = find(drawn(seed, 20_000));
        let sampled = found.sampled.expect("drawn");
        let off = compare(&found, &exact.probability);
        assert!(
            sampled.people > 40 && sampled.unsettled == 0 && sampled.largest_error < 0.04,
            "{sampled:?}"
        );
        assert!(
            off.largest < 5.5 && off.square > 0.4 && off.square < 1.8,
            "{} {}",
            off.largest,
            off.square
        );
    }
}

/// Two worlds between which no two values can be exchanged: everybody passes hers on to the next.
#[test]
fn worlds_of_three_values_that_no_swap_connects() {
    let evidence = naive::releases(3, &[&[(&[1, 2, 3], "abc")], &[(&[1, 2, 3], "abc")]]);
    let has = |o: u32| evidence.outcomes()[o as usize].value;
    let allowed = [['a', 'b'], ['b', 'c'], ['c', 'a']].map(|two| two.map(u32::from));
    let kind_of = evidence.kind_of();
    let possible: Vec<bool> =
        (0..9).map(|o| allowed[kind_of[o as usize] as usize].contains(&has(o))).collect();
    let found = worlds(&evidence, &possible, &drawn(3, 100_000), &|_, _| true).expect("two worlds");
    assert_eq!(found.sampled.expect("drawn").unsettled, 0);
    for o in (0..9).filter(|&o| possible[o]) {
        assert!((found.probability[o] - 0.5).abs() < 5.0 * found.error[o] && found.error[o] < 0.05);
    }
}

/// A ring of pairs has two worlds, which differ in everybody.
#[test]
fn worlds_that_differ_in_everybody() {
    for people in [6, 24, 60] {
        let pair = |p: u32| vec![Located::at(p / 2), Located::at(p.div_ceil(2) % (people / 2))];
        let groups = vec![vec![vec![(0, 1), (1, 1)]; people as usize / 2]; 2];
        let evidence = Evidence::new(&groups, (0..people).map(|p| (1, pair(p))));
        let found = run(&evidence, &drawn(5, 50_000));
        assert_eq!(found.sampled.expect("drawn").unsettled, 0, "{people} people");
        for o in 0..evidence.outcomes().len() {
            let (share, error) = (found.probability[o], found.error[o]);
            assert!(
                (share - 0.5).abs() < 5.0 * error,
                "{people} people: {share} ± {error}, {:?}",
                found.sampled
            );
        }
    }
}

/// What releases say that put people in groups of so many in these orders.
fn published(truth: &[u32], orders: &[Vec<u32>], size: usize) -> Evidence {
    let mut located = vec![Vec::new(); truth.len()];
    let mut groups = Vec::new();
    for order in orders {
        let histogram = |(group, members): (usize, &[u32])| {
            let mut histogram = std::collections::BTreeMap::new();
            for &person in members {
                located[person as usize].push(Located::at(group as u32));
                *histogram.entry(truth[person as usize]).or_insert(0u64) += 1;
            }
            histogram.into_iter().collect()
        };
        groups.push(order.chunks(size).enumerate().map(histogram).collect());
    }
    Evidence::new(&groups, located.into_iter().map(|l| (1, l)))
}

/// Groups that cross at random, with too few steps for chains: the truth is as likely as the
/// beliefs say on average.
#[test]
fn beliefs_about_crossing_groups_are_as_sure_as_they_may_be() {
    let (people, size) = (1200u32, 10);
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    let truth: Vec<u32> =
        (0..people).map(|_| rng.random_range(0..8u32).min(rng.random_range(0..12))).collect();
    let orders = [0, 1].map(|_| {
        let mut order: Vec<u32> = (0..people).collect();
        order.shuffle(&mut rng);
        order
    });
    let evidence = published(&truth, &orders, size);
    let possible = forced(&evidence).expect("there is a world").possible;
    let found =
        worlds(&evidence, &possible, &drawn(1, 4000), &|_, _| true).expect("there is a world");
    let sampled = found.sampled.expect("drawn");
    assert!(
        sampled.believed > 1000 && sampled.unsettled == 0 && sampled.largest_error <= 0.05,
        "{sampled:?}"
    );
    let (mut surprise, mut variance) = (0.0, 0.0);
    for person in 0..people {
        let of = || evidence.outcomes_of(person).map(|o| (o, found.probability[o as usize]));
        let expected: f64 = of().map(|(_, p)| p * p).sum();
        let told: f64 = of()
            .filter(|(o, _)| evidence.outcomes()[*o as usize].value == truth[person as usize])
            .map(|(_, p)| p)
            .sum();
        surprise += told - expected;
        variance += of().map(|(_, p)| p * p * p).sum::<f64>() - expected * expected;
    }
    assert!(
        surprise.abs() < 4.0 * variance.sqrt(),
        "{surprise} with a deviation of {}",
        variance.sqrt()
    );
}

/// With too few steps to learn anything, nothing is said to be known.
#[test]
fn what_has_not_settled_is_not_known() {
    let evidence = row(400, 4, &[(5, 0), (5, 2)], 9);
    let possible = forced(&evidence).expect("there is a world").possible;
    let found = worlds(&evidence, &possible, &drawn(1, 1), &|_, _| true).expect("there is a world");
    let sampled = found.sampled.expect("drawn");
    assert!(sampled.unsettled > 0);
    let unknown = (0..evidence.kinds().len() as u32)
        .filter(|&k| !evidence.outcomes_of(k).all(|o| found.knows(o)));
    assert_eq!(unknown.count() as u64, sampled.unsettled);
}

#[test]
fn drawing_can_be_stopped() {
    let evidence = naive::figure_1();
    let told = worlds(&evidence, &all(&evidence), &drawn(1, 1000), &|_, _| false);
    assert_eq!(told, Err(NoWorlds::Stopped));
}

#[test]
fn without_a_budget_nothing_is_drawn() {
    let evidence = naive::figure_1();
    let told = run(&evidence, &drawn(1, 0));
    let parts = evidence.components(&all(&evidence)).expect("there is a world");
    let unknown: u64 = parts.iter().map(|p| p.evidence.people()).sum();
    assert_eq!(
        (told.exact, told.unknown, told.sampled),
        (evidence.people() - unknown, unknown, None)
    );
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
