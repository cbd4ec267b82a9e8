//! How long the inference engine takes on people who were published several times, each time in
//! other groups.
//!
//! `cargo run --release --example republish -- PEOPLE DISTINCT RELEASES VALUES [FILE [STEPS]]`:
//! everybody is in every release, in random groups of DISTINCT different values (as anatomy makes
//! them), or of ten people of whatever values if DISTINCT is 10; there are VALUES values (14 unless
//! given), as frequent as occupations among Adult. The fewer there are, the less two releases tell
//! apart and the more is left to find out. What is left for maximum entropy after forced values is
//! written to FILE, for `bench/peers/maxent_scipy.py`. With STEPS, worlds are drawn as well, with
//! so many steps for each person, and compared with maximum entropy.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use scumble::inference::worlds::{Options, worlds};
use scumble::inference::{Evidence, Located, WORK, forced, maximum_entropy};
use std::fmt::Write;
use std::time::Instant;

/// How often each occupation occurs in Adult.
const OCCUPATIONS: [u32; 14] =
    [4038, 4030, 3992, 3721, 3584, 3212, 1966, 1572, 1350, 989, 912, 644, 143, 9];

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut next = |default| arguments.next().map_or(default, |a| a.parse().expect("a number"));
    let (people, distinct, releases, values) = (next(7200), next(5), next(2), next(14));
    let file = arguments.next();
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let all: u32 = OCCUPATIONS[..values].iter().sum();
    let mut truth: Vec<u32> = (0..values as u32)
        .flat_map(|v| {
            std::iter::repeat_n(
                v,
                (people as u64 * u64::from(OCCUPATIONS[v as usize]) / u64::from(all)) as usize,
            )
        })
        .collect();
    let rest = people - truth.len();
    truth.extend((0..rest as u32).map(|i| i % values as u32));
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
    let start = Instant::now();
    let evidence = Evidence::new(&groups, located.into_iter().map(|l| (1, l)));
    let built = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let forced = forced(&evidence).expect("there is a world");
    let flows = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let beliefs = maximum_entropy(&evidence, &forced.possible, WORK, &|_, _| true);
    let solved = start.elapsed().as_secs_f64();
    let certain = (0..people as u32).filter(|&k| forced.certain(&evidence, k).is_some()).count();
    let steps = arguments.next().map(|a| a.parse().expect("a number"));
    let drawn = steps.map_or_else(String::new, |budget| {
        let options = Options { seed: 1, budget, ..Options::default() };
        let probability = beliefs.as_ref().map(|b| &b.probability).ok();
        draw(&evidence, &forced.possible, &options, probability, &truth)
    });
    let told = match beliefs {
        Ok(b) => format!(
            "\"entropy\": {:.3}, \"violation\": {:.1e}, \"parts\": {}, \"steps\": {}, \"proven\": {}, \"vanishing\": {}, \
             \"unsettled\": {}",
            b.entropy,
            b.violation,
            b.parts,
            b.iterations,
            b.excluded.len(),
            b.vanishing.len(),
            b.unsettled.len()
        ),
        Err(_) => "\"unsolved\": \"a contradiction\"".to_owned(),
    };
    println!(
        "{{\"rows\": {people}, \"releases\": {releases}, \"outcomes\": {}, \"facts\": {}, \"certain\": {:.4}, \"undecided\": {}, \
         {told}{drawn}, \"seconds\": {{\"build\": {built:.4}, \"forced\": {flows:.4}, \"entropy\": {solved:.4}, \"total\": {:.4}}}}}",
        evidence.outcomes().len(),
        evidence.facts().len(),
        certain as f64 / people as f64,
        forced.undecided.len(),
        built + flows + solved
    );
    if let Some(file) = file {
        std::fs::write(file, left(&evidence, &forced.possible))
            .expect("a file that can be written");
    }
}

/// Draws worlds and says what came of it, and how far maximum entropy is from it.
fn draw(
    evidence: &Evidence,
    possible: &[bool],
    options: &Options,
    belief: Option<&Vec<f64>>,
    truth: &[u32],
) -> String {
    let start = Instant::now();
    let found = worlds(evidence, possible, options, &|_, _| true).expect("there is a world");
    let took = start.elapsed().as_secs_f64();
    let mut told = format!(
        ", \"exact\": {}, \"left_out\": {}, \"worlds\": {took:.3}",
        found.exact, found.unknown
    );
    if let Some(s) = found.sampled {
        let _ = write!(
            told,
            ", \"sampled\": {}, \"believed\": {}, \"unsettled\": {}, \"error\": {:.4}, \"effective\": {:.0}, \"unseen\": {}",
            s.people, s.believed, s.unsettled, s.largest_error, s.effective, s.unseen
        );
    }
    // The truth is one of the worlds: on average it is as likely as the shares say.
    let known = |kind: u32| evidence.outcomes_of(kind).all(|o| found.knows(o));
    let kinds = || (0..truth.len() as u32).filter(|&k| known(k));
    let true_outcomes = || {
        kinds().flat_map(|k| {
            evidence
                .outcomes_of(k)
                .filter(move |&o| evidence.outcomes()[o as usize].value == truth[k as usize])
        })
    };
    let mean = |p: &[f64]| {
        true_outcomes().map(|o| p[o as usize]).sum::<f64>() / kinds().count().max(1) as f64
    };
    let squares = |p: &[f64]| {
        kinds().flat_map(|k| evidence.outcomes_of(k)).map(|o| p[o as usize].powi(2)).sum::<f64>()
            / kinds().count().max(1) as f64
    };
    let missed = true_outcomes().filter(|&o| found.probability[o as usize] == 0.0).count();
    let _ = write!(
        told,
        ", \"truth\": {:.4}, \"expected\": {:.4}, \"missed\": {missed}",
        mean(&found.probability),
        squares(&found.probability)
    );
    if let Some(belief) = belief {
        let _ = write!(
            told,
            ", \"truth_by_entropy\": {:.4}, \"expected_by_entropy\": {:.4}",
            mean(belief),
            squares(belief)
        );
        let distance = found.compare(evidence, belief);
        let (under, over) = (distance.understated.0, distance.overstated.0);
        let _ = write!(
            told,
            ", \"understated\": {under:.4}, \"overstated\": {over:.4}, \"mean\": {:.4}",
            distance.mean
        );
    }
    told
}

/// What is left to find out, as text: a line `fact LOW HIGH` for each fact, numbered from 0; a line
/// `kind PEOPLE` for each kind and after it a line `outcome FACT …` for each of its outcomes.
fn left(evidence: &Evidence, possible: &[bool]) -> String {
    let (mut facts, mut kinds, mut first) = (String::new(), String::new(), 0);
    for part in evidence.components(possible).expect("there is a world") {
        for fact in part.evidence.facts() {
            writeln!(facts, "fact {} {}", fact.low, fact.high).expect("memory");
        }
        for (number, kind) in (0u32..).zip(part.evidence.kinds()) {
            writeln!(kinds, "kind {}", kind.people).expect("memory");
            for outcome in part.evidence.outcomes_of(number) {
                kinds.push_str("outcome");
                part.evidence
                    .facts_of(outcome)
                    .iter()
                    .for_each(|f| write!(kinds, " {}", first + f).expect("memory"));
                kinds.push('\n');
            }
        }
        first += part.evidence.facts().len() as u32;
    }
    facts + &kinds
}

type Histogram = Vec<(u32, u64)>;

/// Random groups of one person for each of the `distinct` values that most people are left with;
/// the rest join groups that lack their value.
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
            assert!(
                at < groups.len(),
                "a value is too frequent for groups of {distinct} different ones"
            );
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
