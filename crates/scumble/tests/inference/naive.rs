//! Evidence of all kinds, and every world of it by enumeration.

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use scumble::inference::{Evidence, Known, Located};

pub type Groups = Vec<Vec<Vec<(u32, u64)>>>;

/// Releases given as groups of (people, values), and who is in them.
pub fn releases(people: u32, releases: &[&[(&[u32], &str)]]) -> Evidence {
    let histogram = |values: &str| {
        let mut values: Vec<u32> = values.chars().map(u32::from).collect();
        values.sort_unstable();
        values.chunk_by(|a, b| a == b).map(|v| (v[0], v.len() as u64)).collect::<Vec<_>>()
    };
    let groups: Groups =
        releases.iter().map(|r| r.iter().map(|(_, values)| histogram(values)).collect()).collect();
    let place = |person: u32, release: &[(&[u32], &str)]| {
        let group = release.iter().position(|(people, _)| people.contains(&person));
        group.map_or_else(Located::absent, |g| Located::at(g as u32))
    };
    Evidence::new(
        &groups,
        (1..=people).map(|p| (1, releases.iter().map(|r| place(p, r)).collect())),
    )
}

/// Figure 1 of Wang et al.: people 1 … 15 are kinds 0 … 14; values are the letters F, P, D, H, L.
pub fn figure_1() -> Evidence {
    releases(
        15,
        &[
            &[
                (&[1, 2, 3, 4], "DFFP"),
                (&[5, 6, 7], "DFP"),
                (&[8, 9, 10], "FHL"),
                (&[11, 12, 13], "PDH"),
            ],
            &[
                (&[1, 2, 14], "DFP"),
                (&[3, 4, 15], "DFP"),
                (&[5, 8, 11], "FHP"),
                (&[6, 9, 12], "FHP"),
            ],
        ],
    )
}

/// Evidence in which maximum entropy and the share of worlds differ.
pub fn not_bayesian() -> Evidence {
    releases(5, &[&[(&[2, 3, 4], "abb"), (&[1, 5], "ab")], &[(&[2, 3, 5], "abb"), (&[1, 4], "ab")]])
}

/// Random evidence that has a world: a few people in one to three releases, some absent, some hard
/// to locate, some alike, sometimes with something else known.
pub fn random(seed: u64) -> Evidence {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (groups, located, values) = deal_groups(&mut rng);
    let mut kinds: Vec<(u32, Vec<Located>)> = Vec::new();
    let alike = rng.random_bool(0.5);
    for place in located {
        match kinds.iter_mut().find(|(_, p)| alike && *p == place) {
            Some((n, _)) => *n += 1,
            None => kinds.push((1, place)),
        }
    }
    let evidence = Evidence::new(&groups, kinds.clone());
    if rng.random_bool(0.7) { evidence } else { knowing(evidence, &mut rng, values) }
}

/// The same people twice: those who are alike together, and everybody apart; and the kind that
/// everybody is of.
pub fn random_and_told_apart(seed: u64) -> (Evidence, Evidence, Vec<u32>) {
    let (groups, located, _) = deal_groups(&mut ChaCha8Rng::seed_from_u64(seed));
    let mut kinds: Vec<(u32, Vec<Located>)> = Vec::new();
    let mut kind_of = Vec::new();
    for place in &located {
        let kind = kinds.iter().position(|(_, p)| p == place).unwrap_or_else(|| {
            kinds.push((0, place.clone()));
            kinds.len() - 1
        });
        kinds[kind].0 += 1;
        kind_of.push(kind as u32);
    }
    (
        Evidence::new(&groups, kinds),
        Evidence::new(&groups, located.into_iter().map(|l| (1, l))),
        kind_of,
    )
}

/// Groups of releases, where everybody is, and the number of values.
fn deal_groups(rng: &mut impl Rng) -> (Groups, Vec<Vec<Located>>, u32) {
    let people = rng.random_range(2..=8usize);
    let values = rng.random_range(2..=4u32);
    let truth: Vec<u32> = (0..people).map(|_| rng.random_range(0..values)).collect();
    let mut groups: Groups = Vec::new();
    let mut located: Vec<Vec<Located>> = vec![Vec::new(); people];
    for _ in 0..rng.random_range(1..=3) {
        let count = rng.random_range(1..=people.min(4)) as u32;
        let mut histograms = vec![Vec::new(); count as usize];
        for person in 0..people {
            if rng.random_bool(0.15) {
                located[person].push(absent(rng, count));
                continue;
            }
            let group = rng.random_range(0..count);
            histograms[group as usize].push(truth[person]);
            let mut place = Located::at(group);
            if rng.random_bool(0.1) {
                place.groups.push(rng.random_range(0..count));
                place.groups.sort_unstable();
                place.groups.dedup();
            }
            place.may_be_absent = rng.random_bool(0.1);
            located[person].push(place);
        }
        groups.push(histograms.into_iter().map(histogram).collect());
    }
    (groups, located, values)
}

fn absent(rng: &mut impl Rng, groups: u32) -> Located {
    let mut place = Located::absent();
    if rng.random_bool(0.2) {
        place.groups.push(rng.random_range(0..groups));
    }
    place
}

fn histogram(mut values: Vec<u32>) -> Vec<(u32, u64)> {
    values.sort_unstable();
    values.chunk_by(|a, b| a == b).map(|v| (v[0], v.len() as u64)).collect()
}

/// A statement that one of the worlds meets.
fn knowing(evidence: Evidence, rng: &mut impl Rng, values: u32) -> Evidence {
    let worlds = worlds(&evidence);
    let Some(world) = worlds.get(rng.random_range(0..worlds.len().max(1))) else { return evidence };
    let kinds: Vec<u32> =
        (0..evidence.kinds().len() as u32).filter(|_| rng.random_bool(0.5)).collect();
    let about: Vec<u32> = (0..values).filter(|_| rng.random_bool(0.5)).collect();
    let counts = |o: usize| {
        kinds.contains(&evidence.kind_of()[o]) && about.contains(&evidence.outcomes()[o].value)
    };
    let people = (0..world.len()).filter(|&o| counts(o)).map(|o| u64::from(world[o])).sum::<u64>();
    let low = people.saturating_sub(rng.random_range(0..=1));
    let high = people + rng.random_range(0..=1);
    evidence.knowing(&[Known { kinds, values: about, low, high }])
}

/// A world: how many people have each outcome.
pub type World = Vec<u32>;

/// Every world that meets all facts.
pub fn worlds(evidence: &Evidence) -> Vec<World> {
    let mut found = Vec::new();
    let mut counts = vec![0u64; evidence.facts().len()];
    let mut world = vec![0u32; evidence.outcomes().len()];
    deal(
        evidence,
        0,
        0,
        evidence.kinds().first().map_or(0, |k| k.people),
        &mut counts,
        &mut world,
        &mut found,
    );
    found
}

/// Deals the outcomes of a kind from `at` on to its last `left` people, then those of the next
/// kinds.
fn deal(
    evidence: &Evidence,
    kind: usize,
    at: usize,
    left: u32,
    counts: &mut [u64],
    world: &mut World,
    found: &mut Vec<World>,
) {
    if kind == evidence.kinds().len() {
        if evidence.facts().iter().zip(&*counts).all(|(f, &n)| f.low <= n && n <= f.high) {
            found.push(world.clone());
        }
        return;
    }
    let end = evidence.outcomes_of(kind as u32).end as usize;
    let at = at.max(evidence.outcomes_of(kind as u32).start as usize);
    if left == 0 {
        let people = evidence.kinds().get(kind + 1).map_or(0, |k| k.people);
        return deal(evidence, kind + 1, 0, people, counts, world, found);
    }
    if at == end {
        return;
    }
    for n in 0..=left {
        world[at] = n;
        evidence.facts_of(at as u32).iter().for_each(|&f| counts[f as usize] += u64::from(n));
        if evidence
            .facts_of(at as u32)
            .iter()
            .all(|&f| counts[f as usize] <= evidence.facts()[f as usize].high)
        {
            deal(evidence, kind, at + 1, left - n, counts, world, found);
        }
        evidence.facts_of(at as u32).iter().for_each(|&f| counts[f as usize] -= u64::from(n));
    }
    world[at] = 0;
}

/// In how many ways the people of a world could be told apart: Π people! / Π n!.
pub fn weight(evidence: &Evidence, world: &World) -> f64 {
    let factorial = |n: u32| (1..=n).map(f64::from).product::<f64>();
    let above: f64 = evidence.kinds().iter().map(|k| factorial(k.people)).product();
    above / world.iter().map(|&n| factorial(n)).product::<f64>()
}
