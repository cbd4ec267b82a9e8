//! Exact bounds against the corners of small polytopes.

use super::naive;
use dashu_int::IBig;
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use scumble::exact::{Fraction, gcd};
use scumble::inference::lp::{Program, Solution};
use scumble::inference::{Effort, Evidence, Known};

/// A fraction for the twin: numbers stay small.
#[derive(Clone, Copy, PartialEq)]
struct Small(i128, i128);

impl Small {
    fn new(n: i128, d: i128) -> Small {
        let g = gcd(n.unsigned_abs(), d.unsigned_abs()) as i128 * d.signum();
        Small(n / g, d / g)
    }
    fn minus_product(self, a: Small, b: Small) -> Small {
        Small::new(self.0 * a.1 * b.1 - a.0 * b.0 * self.1, self.1 * a.1 * b.1)
    }
    fn over(self, other: Small) -> Small {
        Small::new(self.0 * other.1, self.1 * other.0)
    }
}

/// Gauss–Jordan on [A | b] with pivots in the given columns. The pivot row of each column, and
/// whether what is left of b in rows without pivot is nothing.
fn eliminate(rows: &mut [Vec<Small>], columns: &[usize]) -> (Vec<Option<usize>>, bool) {
    let mut used = vec![false; rows.len()];
    let mut pivots = Vec::new();
    for &column in columns {
        let pivot = (0..rows.len()).find(|&r| !used[r] && rows[r][column].0 != 0);
        pivots.push(pivot);
        let Some(pivot) = pivot else { continue };
        used[pivot] = true;
        let lead = rows[pivot][column];
        rows[pivot].iter_mut().for_each(|n| *n = n.over(lead));
        let row = rows[pivot].clone();
        for r in (0..rows.len()).filter(|&r| r != pivot) {
            let factor = rows[r][column];
            if factor.0 != 0 {
                rows[r].iter_mut().zip(&row).for_each(|(n, &m)| *n = n.minus_product(factor, m));
            }
        }
    }
    let consistent =
        (0..rows.len()).filter(|&r| !used[r]).all(|r| rows[r].last().expect("b").0 == 0);
    (pivots, consistent)
}

/// The most and the fewest people with these outcomes over all corners of {x ≥ 0 : people, facts},
/// if not too many.
fn corners(evidence: &Evidence, facts: &[u32], outcomes: &[u32]) -> Option<Option<(Small, Small)>> {
    let n = evidence.outcomes().len();
    let slacks = 2 * facts.len();
    let row = |on: &dyn Fn(usize) -> i128, b: u64| {
        let mut row: Vec<Small> = (0..n + slacks).map(|c| Small(on(c), 1)).collect();
        row.push(Small(i128::from(b), 1));
        row
    };
    let mut rows = Vec::new();
    for (k, kind) in (0..).zip(evidence.kinds()) {
        rows.push(row(
            &|c| i128::from(evidence.outcomes_of(k).contains(&(c as u32))),
            kind.people.into(),
        ));
    }
    for (i, &f) in facts.iter().enumerate() {
        let counts = |c: usize| i128::from(c < n && evidence.facts_of(c as u32).contains(&f));
        rows.push(row(
            &|c| counts(c) + i128::from(c == n + 2 * i),
            evidence.facts()[f as usize].high,
        ));
        rows.push(row(
            &|c| counts(c) - i128::from(c == n + 2 * i + 1),
            evidence.facts()[f as usize].low,
        ));
    }
    let all: Vec<usize> = (0..n + slacks).collect();
    let (pivots, consistent) = eliminate(&mut rows, &all);
    if !consistent {
        return Some(None);
    }
    let rank = pivots.iter().flatten().count();
    let ways =
        (0..rank).fold(1u128, |w, i| w.saturating_mul((all.len() - i) as u128) / (i as u128 + 1));
    if ways > 1_000 {
        return None;
    }
    let mut best: Option<(Small, Small)> = None;
    let mut choice: Vec<usize> = (0..rank).collect();
    loop {
        let mut rows = rows.clone();
        let (pivots, _) = eliminate(&mut rows, &choice);
        let value = |p: &Option<usize>| p.map(|r| *rows[r].last().expect("b"));
        if pivots.iter().all(|p| value(p).is_some_and(|v| v.0 >= 0)) {
            let asked =
                choice.iter().zip(&pivots).filter(|(c, _)| outcomes.contains(&(**c as u32)));
            let sum = asked
                .filter_map(|(_, p)| value(p))
                .fold(Small(0, 1), |s, v| s.minus_product(Small(-1, 1), v));
            let less = |a: Small, b: Small| a.0 * b.1 < b.0 * a.1;
            best = Some(best.map_or((sum, sum), |(low, high)| {
                (if less(sum, low) { sum } else { low }, if less(high, sum) { sum } else { high })
            }));
        }
        let Some(i) = (0..rank).rev().find(|&i| choice[i] < all.len() - rank + i) else {
            return Some(best);
        };
        choice[i] += 1;
        (i + 1..rank).for_each(|j| choice[j] = choice[j - 1] + 1);
    }
}

/// More work than small programs take.
pub fn plenty() -> Effort<'static> {
    Effort::new(u64::MAX)
}

/// A program that may take little work is solved as one that may take any, or not at all.
#[test]
fn the_work_of_a_program_is_limited() {
    let (mut given_up, mut solved) = (0, 0);
    for seed in 0..300 {
        let evidence = naive::random(seed);
        let facts: Vec<u32> = (0..evidence.facts().len() as u32).collect();
        let program = Program::new(&evidence);
        let whole = program.maximum(&facts, &[0], &plenty()).expect("enough work");
        for work in [0, 10, 100, 1000] {
            match program.maximum(&facts, &[0], &Effort::new(work)) {
                None => given_up += 1,
                Some(solution) => {
                    assert_eq!(format!("{solution:?}"), format!("{whole:?}"), "seed {seed}");
                    solved += 1;
                }
            }
        }
    }
    assert!(given_up > 300 && solved > 300, "{given_up} given up, {solved} solved");
}

/// Something known that need not be true.
pub fn rumour(evidence: Evidence, rng: &mut impl Rng) -> Evidence {
    let kinds = (0..evidence.kinds().len() as u32).filter(|_| rng.random_bool(0.5)).collect();
    let values = (0..4).filter(|_| rng.random_bool(0.5)).collect();
    let low = rng.random_range(0..3);
    evidence.knowing(&[Known { kinds, values, low, high: low + rng.random_range(0..2) }])
}

#[test]
fn bounds_are_those_of_all_corners() {
    let (mut bounded, mut contradicted) = (0, 0);
    for seed in 0..4000 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut evidence = naive::random(seed);
        if rng.random_bool(0.5) {
            evidence = rumour(evidence, &mut rng);
        }
        let last = evidence.facts().len() as u32;
        let facts: Vec<u32> =
            (0..last).filter(|&f| rng.random_bool(0.4) || f + 1 == last).collect();
        let outcomes: Vec<u32> =
            (0..evidence.outcomes().len() as u32).filter(|_| rng.random_bool(0.2)).collect();
        let Some(corners) = corners(&evidence, &facts, &outcomes) else { continue };
        let program = Program::new(&evidence);
        for (upper, solution) in [
            (true, program.maximum(&facts, &outcomes, &plenty())),
            (false, program.minimum(&facts, &outcomes, &plenty())),
        ] {
            match (solution.expect("enough work"), corners) {
                (Solution::Bound(value, proof), Some((low, high))) => {
                    let exact = if upper { high } else { low };
                    assert_eq!(
                        value,
                        Fraction::new(exact.0 as u128, exact.1 as u128),
                        "seed {seed}"
                    );
                    assert!(proof.verify(&evidence, &outcomes), "seed {seed}");
                    assert_eq!(proof.upper, upper);
                    assert!(proof.facts.iter().all(|m| facts.contains(&m.0)));
                    assert_eq!(
                        proof.bound(&evidence) * exact.1,
                        &proof.times * exact.0,
                        "seed {seed}"
                    );
                    bounded += 1;
                }
                (Solution::Contradiction(proof), None) => {
                    assert!(proof.verify(&evidence, &[]), "seed {seed}");
                    assert!(
                        proof.times == IBig::ZERO && proof.bound(&evidence) < IBig::ZERO,
                        "seed {seed}"
                    );
                    contradicted += 1;
                }
                (solution, corners) => panic!("seed {seed}: {solution:?} {}", corners.is_some()),
            }
        }
    }
    println!("{bounded} bounds, {contradicted} contradictions");
    assert!(bounded > 500 && contradicted > 100);
}

/// Of any two of three people at most one has a: one and a half of them, says every sum.
#[test]
fn a_bound_need_not_be_whole() {
    let evidence = naive::releases(4, &[&[(&[1, 2, 3, 4], "aabb")]]);
    let pair = |a, b| Known { kinds: vec![a, b], values: vec!['a'.into()], low: 0, high: 1 };
    let evidence = evidence.knowing(&[pair(0, 1), pair(1, 2), pair(0, 2)]);
    let outcomes: Vec<u32> = (0..3).map(|k| evidence.outcomes_of(k).start).collect();
    let facts: Vec<u32> = (0..evidence.facts().len() as u32).collect();
    let program = Program::new(&evidence);
    let Some(Solution::Bound(most, proof)) = program.maximum(&facts, &outcomes, &plenty()) else {
        panic!("there are worlds")
    };
    assert_eq!(most, Fraction::new(3u8, 2u8));
    assert!(proof.verify(&evidence, &outcomes));
    assert_eq!(proof.times, IBig::from(2));
    assert_eq!(proof.facts, [2, 3, 4].map(|f| (f, IBig::ONE)));
}
