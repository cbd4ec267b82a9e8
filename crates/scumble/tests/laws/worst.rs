//! What an adversary may believe at worst, by trying every piece of knowledge in every possible
//! world.

use proptest::prelude::*;
use scumble::exact::Ratio;
use std::collections::BTreeSet;

/// Up to 128 worlds as a set of bits: those in which something is true.
type Worlds = u128;

/// Which worlds there are: for every person the value in each world. Persons of a class stand
/// together.
pub struct Possible {
    pub worlds: Vec<Vec<usize>>,
}

impl Possible {
    pub fn new(classes: &[Vec<usize>]) -> Possible {
        let mut worlds: BTreeSet<Vec<usize>> = BTreeSet::from([Vec::new()]);
        for class in classes {
            let mut orders = BTreeSet::new();
            permute(class.clone(), 0, &mut orders);
            worlds = worlds
                .iter()
                .flat_map(|w| orders.iter().map(move |o| [&w[..], &o[..]].concat()))
                .collect();
        }
        Possible { worlds: worlds.into_iter().collect() }
    }

    fn people(&self) -> usize {
        self.worlds[0].len()
    }

    /// The worlds in which the person has the value.
    fn atom(&self, person: usize, value: usize) -> Worlds {
        let has = |(i, w): (usize, &Vec<usize>)| if w[person] == value { 1 << i } else { 0 };
        self.worlds.iter().enumerate().map(has).sum()
    }

    fn all(&self) -> Worlds {
        if self.worlds.len() == 128 { Worlds::MAX } else { (1 << self.worlds.len()) - 1 }
    }
}

fn permute(mut values: Vec<usize>, at: usize, found: &mut BTreeSet<Vec<usize>>) {
    if at == values.len() {
        found.insert(values);
        return;
    }
    for i in at..values.len() {
        values.swap(at, i);
        permute(values.clone(), at + 1, found);
    }
}

fn share(of: Worlds, among: Worlds) -> Ratio {
    Ratio::new((of & among).count_ones().into(), among.count_ones().max(1).into())
}

/// The worst belief after any k implications between statements about people: every set of them is
/// tried.
pub fn worst_implications(possible: &Possible, distinct: usize, k: usize) -> Ratio {
    let atoms: Vec<Worlds> = (0..possible.people())
        .flat_map(|p| (0..distinct).map(move |v| possible.atom(p, v)))
        .collect();
    let all = possible.all();
    let mut told: BTreeSet<Worlds> =
        atoms.iter().flat_map(|a| atoms.iter().map(move |b| (all & !a) | b)).collect();
    told.insert(all);
    let mut left: BTreeSet<Worlds> = BTreeSet::from([all]);
    for _ in 0..k {
        left =
            left.iter().flat_map(|l| told.iter().map(move |t| l & t)).filter(|&l| l != 0).collect();
    }
    let beliefs = left.iter().flat_map(|&l| atoms.iter().map(move |&a| share(a, l)));
    beliefs.max().unwrap_or(Ratio::whole(0))
}

/// Every choice of `n` of these, or all if they are fewer.
fn choices(of: &[usize], n: usize) -> Vec<Vec<usize>> {
    let Some((first, rest)) = of.split_first().filter(|_| n > 0) else { return vec![Vec::new()] };
    if of.len() <= n {
        return vec![of.to_vec()];
    }
    let with = choices(rest, n - 1).into_iter().map(|c| [&[*first], &c[..]].concat());
    with.chain(choices(rest, n)).collect()
}

/// The worst belief that somebody has `value` after ruling out l values, knowing k people, and m
/// who imply the target.
pub fn worst_skyline(
    possible: &Possible,
    distinct: usize,
    value: usize,
    [l, k, m]: [usize; 3],
) -> Ratio {
    let mut worst = Ratio::whole(0);
    let others: Vec<usize> = (0..distinct).filter(|&v| v != value).collect();
    for target in 0..possible.people() {
        let has = possible.atom(target, value);
        let people: Vec<usize> = (0..possible.people()).filter(|&p| p != target).collect();
        for out in choices(&others, l) {
            let left = out.iter().fold(possible.all(), |left, &v| left & !possible.atom(target, v));
            for known in choices(&people, k) {
                let free: Vec<usize> =
                    people.iter().copied().filter(|p| !known.contains(p)).collect();
                // Whatever the known people have in some world that is left.
                let seen: BTreeSet<Worlds> = (0..possible.worlds.len())
                    .map(|w| {
                        known.iter().fold(left, |l, &p| l & possible.atom(p, possible.worlds[w][p]))
                    })
                    .collect();
                for like in choices(&free, m) {
                    let implied = like
                        .iter()
                        .fold(Worlds::MAX, |all, &p| all & (has | !possible.atom(p, value)));
                    worst = seen.iter().map(|s| share(has, s & implied)).fold(worst, Ratio::max);
                }
            }
        }
    }
    worst
}

/// Classes of two to four people, in at most 128 worlds.
pub fn classes() -> impl Strategy<Value = Vec<Vec<usize>>> {
    let class = prop::collection::vec(0usize..4, 1..=4);
    prop::collection::vec(class, 1..=2).prop_filter("few worlds", |c| {
        c.iter().map(Vec::len).sum::<usize>() <= 6 && Possible::new(c).worlds.len() <= 128
    })
}
