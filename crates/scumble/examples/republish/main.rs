//! How long the inference engine takes on people who were published several times, each time in other groups.
//!
//! `cargo run --release --example republish -- PEOPLE DISTINCT RELEASES`: everybody is in every release, in random groups of
//! DISTINCT different values (as anatomy makes them), or of ten people of whatever values if DISTINCT is 10; values are as
//! frequent as occupations among Adult.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use scumble::inference::{Evidence, Located, Unsolved, maximum_entropy};

/// How often each occupation occurs in Adult.
const OCCUPATIONS: [u32; 14] = [4038, 4030, 3992, 3721, 3584, 3212, 1966, 1572, 1350, 989, 912, 644, 143, 9];

fn main() {
    let mut arguments = std::env::args().skip(1).map(|a| a.parse::<usize>().expect("a number"));
    let mut next = |default| arguments.next().unwrap_or(default);
    let (people, distinct, releases) = (next(7200), next(5), next(2));
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let all: u32 = OCCUPATIONS.iter().sum();
    let mut truth: Vec<u32> = (0..14u32)
        .flat_map(|v| {
            std::iter::repeat_n(v, (people as u64 * u64::from(OCCUPATIONS[v as usize]) / u64::from(all)) as usize)
        })
        .collect();
    let rest = people - truth.len();
    truth.extend((0..rest as u32).map(|i| i % 14));
    let mut groups = Vec::new();
    let mut located: Vec<Vec<Located>> = vec![Vec::with_capacity(releases); people];
    for _ in 0..releases {
        let make = if distinct == 10 { tens } else { anatomize };
        let (group_of, histograms) = make(&truth, distinct, &mut rng);
        for (person, &group) in group_of.iter().enumerate() {
            located[person].push(Located::at(group));
        }
        groups.push(histograms);
    }
    let start = std::time::Instant::now();
    let evidence = Evidence::new(&groups, located.into_iter().map(|l| (1, l)));
    println!(
        "{people} people, {releases} releases, {distinct} distinct values: {} outcomes, {} facts, built in {:.3} s",
        evidence.outcomes().len(),
        evidence.facts().len(),
        start.elapsed().as_secs_f64()
    );
    let start = std::time::Instant::now();
    let possible = stand_in::possible(&evidence, &truth);
    let count = possible.iter().filter(|&&p| p).count();
    println!("stand-in: {count} possible, {:.3} s", start.elapsed().as_secs_f64());
    for _ in 0..(if people < 100_000 { 5 } else { 1 }) {
        let before = scumble::inference::entropy::newton::PRODUCTS.load(std::sync::atomic::Ordering::Relaxed);
        let start = std::time::Instant::now();
        match maximum_entropy(&evidence, &possible, &|_, _| ()) {
            Ok(b) => println!(
                "entropy {:.3} nats, violation {:.1e}, {} steps, {} parts, {} excluded, least {:.1e}, {} products, {:.3} s",
                b.entropy,
                b.violation,
                b.iterations,
                b.parts,
                b.excluded.len(),
                b.probability.iter().filter(|&&p| p > 0.0).fold(1.0, |a: f64, &b| a.min(b)),
                scumble::inference::entropy::newton::PRODUCTS.load(std::sync::atomic::Ordering::Relaxed) - before,
                start.elapsed().as_secs_f64()
            ),
            Err(Unsolved::Suspects(s)) => println!("{} suspects, {:.3} s", s.len(), start.elapsed().as_secs_f64()),
            Err(e) => println!("{e:?}"),
        }
    }
}

mod stand_in;

type Histogram = Vec<(u32, u64)>;

/// Random groups of one person for each of the `distinct` values that most people are left with; the rest join groups
/// that lack their value.
fn anatomize(truth: &[u32], distinct: usize, rng: &mut ChaCha8Rng) -> (Vec<u32>, Vec<Histogram>) {
    let mut buckets: Vec<Vec<u32>> = vec![Vec::new(); 14];
    for (person, &value) in truth.iter().enumerate() {
        buckets[value as usize].push(person as u32);
    }
    buckets.iter_mut().for_each(|b| b.shuffle(rng));
    let mut group_of = vec![u32::MAX; truth.len()];
    let mut groups: Vec<Histogram> = Vec::new();
    loop {
        let mut order: Vec<usize> = (0..14).filter(|&v| !buckets[v].is_empty()).collect();
        if order.len() < distinct {
            break;
        }
        order.shuffle(rng);
        order.sort_by_key(|&v| std::cmp::Reverse(buckets[v].len()));
        order.truncate(distinct);
        for &value in &order {
            let person = buckets[value].pop().expect("not empty");
            group_of[person as usize] = groups.len() as u32;
        }
        order.sort_unstable();
        groups.push(order.into_iter().map(|v| (v as u32, 1)).collect());
    }
    let rest: Vec<u32> = buckets.concat();
    let mut at = 0;
    for person in rest {
        let value = truth[person as usize];
        while groups[at].iter().any(|&(v, _)| v == value) {
            at += 1;
        }
        groups[at].push((value, 1));
        groups[at].sort_unstable();
        group_of[person as usize] = at as u32;
        at += 1;
    }
    (group_of, groups)
}

/// Random groups of so many people.
fn tens(truth: &[u32], size: usize, rng: &mut ChaCha8Rng) -> (Vec<u32>, Vec<Histogram>) {
    let mut people: Vec<u32> = (0..truth.len() as u32).collect();
    people.shuffle(rng);
    let mut group_of = vec![0; truth.len()];
    let mut groups = Vec::new();
    for (group, members) in (0..).zip(people.chunks(size)) {
        let mut values: Vec<u32> = members.iter().map(|&p| truth[p as usize]).collect();
        values.sort_unstable();
        groups.push(values.chunk_by(|a, b| a == b).map(|v| (v[0], v.len() as u64)).collect());
        members.iter().for_each(|&p| group_of[p as usize] = group);
    }
    (group_of, groups)
}
