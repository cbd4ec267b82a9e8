//! What an adversary may believe at worst, by trying every piece of knowledge in every possible world.

use super::algorithms::check;
use super::cases::values;
use super::models::judge_whole;
use proptest::prelude::*;
use scumble::exact::Ratio;
use scumble::model::Measured;
use std::collections::BTreeSet;

/// Up to 128 worlds as a set of bits: those in which something is true.
type Worlds = u128;

/// Which worlds there are: for every person the value in each world. Persons of a class stand together.
struct Possible {
    worlds: Vec<Vec<usize>>,
}

impl Possible {
    fn new(classes: &[Vec<usize>]) -> Possible {
        let mut worlds: BTreeSet<Vec<usize>> = BTreeSet::from([Vec::new()]);
        for class in classes {
            let mut orders = BTreeSet::new();
            permute(class.clone(), 0, &mut orders);
            worlds = worlds.iter().flat_map(|w| orders.iter().map(move |o| [&w[..], &o[..]].concat())).collect();
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

/// The worst belief after any k implications between statements about people: every set of them is tried.
fn worst_implications(possible: &Possible, distinct: usize, k: usize) -> Ratio {
    let atoms: Vec<Worlds> =
        (0..possible.people()).flat_map(|p| (0..distinct).map(move |v| possible.atom(p, v))).collect();
    let all = possible.all();
    let mut told: BTreeSet<Worlds> = atoms.iter().flat_map(|a| atoms.iter().map(move |b| (all & !a) | b)).collect();
    told.insert(all);
    let mut left: BTreeSet<Worlds> = BTreeSet::from([all]);
    for _ in 0..k {
        left = left.iter().flat_map(|l| told.iter().map(move |t| l & t)).filter(|&l| l != 0).collect();
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

/// The worst belief that somebody has `value` after ruling out l values, knowing k people, and m who imply the target.
fn worst_skyline(possible: &Possible, distinct: usize, value: usize, [l, k, m]: [usize; 3]) -> Ratio {
    let mut worst = Ratio::whole(0);
    let others: Vec<usize> = (0..distinct).filter(|&v| v != value).collect();
    for target in 0..possible.people() {
        let has = possible.atom(target, value);
        let people: Vec<usize> = (0..possible.people()).filter(|&p| p != target).collect();
        for out in choices(&others, l) {
            let left = out.iter().fold(possible.all(), |left, &v| left & !possible.atom(target, v));
            for known in choices(&people, k) {
                let free: Vec<usize> = people.iter().copied().filter(|p| !known.contains(p)).collect();
                // Whatever the known people have in some world that is left.
                let seen: BTreeSet<Worlds> = (0..possible.worlds.len())
                    .map(|w| known.iter().fold(left, |l, &p| l & possible.atom(p, possible.worlds[w][p])))
                    .collect();
                for like in choices(&free, m) {
                    let implied = like.iter().fold(Worlds::MAX, |all, &p| all & (has | !possible.atom(p, value)));
                    worst = seen.iter().map(|s| share(has, s & implied)).fold(worst, Ratio::max);
                }
            }
        }
    }
    worst
}

/// Classes of two to four people, in at most 128 worlds.
fn classes() -> impl Strategy<Value = Vec<Vec<usize>>> {
    let class = prop::collection::vec(0usize..4, 1..=4);
    prop::collection::vec(class, 1..=2).prop_filter("few worlds", |c| {
        c.iter().map(Vec::len).sum::<usize>() <= 6 && Possible::new(c).worlds.len() <= 128
    })
}

fn counts(classes: &[Vec<usize>]) -> Vec<Vec<u64>> {
    let count = |class: &Vec<usize>| (0..4).map(|v| class.iter().filter(|&&x| x == v).count() as u64).collect();
    classes.iter().map(count).collect()
}

fn exactly(measured: Measured) -> Ratio {
    match measured {
        Measured::Exact(r) => r,
        other => panic!("{other} is not exact"),
    }
}

#[test]
fn ck_safety_is_the_worst_of_all_implications() {
    check(60, classes(), |classes| {
        for k in 0..3 {
            let measured = judge_whole("ck-safety", &[("c", "0.5".into()), ("k", k.to_string())], &counts(&classes));
            let worst = worst_implications(&Possible::new(&classes), 4, k);
            prop_assert_eq!(exactly(measured), worst, "k = {}", k);
        }
        Ok(())
    });
}

#[test]
fn the_skyline_is_the_worst_of_all_such_knowledge() {
    check(60, (classes(), 0usize..4), |(classes, value)| {
        let label = &values(&super::models::whole(4, &[]).0.taxonomy)[value];
        for point in (0..27).map(|i| [i / 9, i / 3 % 3, i % 3]) {
            let given = ["l", "k", "m"].iter().zip(point).map(|(name, n)| (*name, n.to_string()));
            let given: Vec<(&str, String)> =
                given.chain([("c", "0.5".into()), ("values", format!("[\"{label}\"]"))]).collect();
            let measured = judge_whole("privacy-skyline", &given, &counts(&classes));
            let worst = worst_skyline(&Possible::new(&classes), 4, value, point);
            prop_assert_eq!(exactly(measured), worst, "{:?}", point);
        }
        Ok(())
    });
}
