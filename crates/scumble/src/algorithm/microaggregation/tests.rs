//! Slow twins of the groupings: MDAV as its manual says, and every possible grouping of a few
//! records.

use super::points::{Group, Points};
use super::{anneal, mdav, path};
use crate::progress::{Report, Watch};
use proptest::prelude::*;

/// Few places and many records at some, so that ties and divided points are frequent.
fn some_points(most: usize, dims: usize) -> impl Strategy<Value = Points> {
    let coordinates = prop::collection::vec((-3i32..4, 0u32..4), dims);
    prop::collection::vec((coordinates, 1u32..4), 1..=most).prop_map(move |points| {
        let at = points
            .iter()
            .flat_map(|(x, _)| x.iter().map(|&(x, part)| f64::from(x) + f64::from(part) / 3.0));
        Points::new(dims, at.collect(), points.iter().map(|(_, n)| *n).collect())
    })
}

fn everything(points: &Points) -> Group {
    (0u32..).zip(points.counts().iter().copied()).collect()
}

fn size(group: &[(u32, u32)]) -> u64 {
    group.iter().map(|&(_, n)| u64::from(n)).sum()
}

fn distance(points: &Points, point: u32, place: &[f64]) -> f64 {
    points.at(point).iter().zip(place).map(|(a, b)| (a - b) * (a - b)).sum()
}

/// Sum of squared distances from the centroids.
fn cost(points: &Points, groups: &[Group]) -> f64 {
    let sse = |group: &Group| -> f64 {
        let centroid = points.centroid(group);
        group.iter().map(|&(point, n)| f64::from(n) * distance(points, point, &centroid)).sum()
    };
    groups.iter().map(sse).sum()
}

/// Every record once, and sizes of k to 2k − 1 wherever there are k records.
fn right(points: &Points, groups: &[Group], k: u64) -> Result<(), TestCaseError> {
    let mut found = vec![0; points.len()];
    for group in groups {
        prop_assert!(groups.len() == 1 || (k..2 * k).contains(&size(group)), "{}", size(group));
        for &(point, n) in group {
            prop_assert!(n > 0);
            found[point as usize] += n;
        }
    }
    prop_assert_eq!(&found[..], points.counts());
    Ok(())
}

/// MDAV on a list of single records.
fn naive_mdav(points: &Points, k: usize) -> Vec<Group> {
    let mut rest: Vec<u32> =
        everything(points).into_iter().flat_map(|(p, n)| (0..n).map(move |_| p)).collect();
    let mut groups = Vec::new();
    let farthest = |rest: &[u32], place: &[f64]| {
        let far = |p: &u32| distance(points, *p, place);
        rest.iter()
            .copied()
            .min_by(|a, b| far(b).total_cmp(&far(a)).then(a.cmp(b)))
            .expect("there are records")
    };
    let around = |rest: &mut Vec<u32>, center: u32| {
        let near = |p: &u32| distance(points, *p, points.at(center));
        rest.sort_by(|a, b| near(a).total_cmp(&near(b)).then(a.cmp(b)));
        rest.drain(..k).map(|p| (p, 1)).collect::<Group>()
    };
    while rest.len() >= 2 * k {
        let singles: Group = rest.iter().map(|&p| (p, 1)).collect();
        let r = farthest(&rest, &points.centroid(&singles));
        let both = rest.len() >= 3 * k;
        groups.push(around(&mut rest, r));
        if both {
            let s = farthest(&rest, points.at(r));
            groups.push(around(&mut rest, s));
        }
    }
    groups.push(rest.iter().map(|&p| (p, 1)).collect());
    groups
}

fn sorted(groups: &[Group]) -> Vec<Vec<u32>> {
    let records = |g: &Group| {
        let mut records: Vec<u32> = g.iter().flat_map(|&(p, n)| (0..n).map(move |_| p)).collect();
        records.sort_unstable();
        records
    };
    groups.iter().map(records).collect()
}

/// The least cost of all groupings of these records into groups of at least k.
fn least_cost(points: &Points, k: usize) -> f64 {
    fn try_all(
        points: &Points,
        records: &[u32],
        k: usize,
        groups: &mut Vec<Group>,
        least: &mut f64,
    ) {
        let Some((&next, others)) = records.split_first() else {
            if groups.iter().all(|g| g.len() >= k) {
                *least = least.min(cost(points, groups));
            }
            return;
        };
        for i in 0..groups.len() {
            groups[i].push((next, 1));
            try_all(points, others, k, groups, least);
            groups[i].pop();
        }
        groups.push(vec![(next, 1)]);
        try_all(points, others, k, groups, least);
        groups.pop();
    }
    let records: Vec<u32> = sorted(&[everything(points)]).concat();
    let mut least = f64::INFINITY;
    try_all(points, &records, k, &mut Vec::new(), &mut least);
    least
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn mdav_is_what_its_manual_says(points in some_points(60, 3), k in 1usize..7) {
        let groups = mdav::mdav(&points, k as u64, &Watch::silent());
        prop_assert_eq!(sorted(&groups), sorted(&naive_mdav(&points, k)));
        right(&points, &groups, k as u64)?;
    }

    #[test]
    fn annealing_is_never_worse_and_never_below_the_optimum(points in some_points(4, 2), k in 1usize..4, seed: u64) {
        prop_assume!(points.records() <= 9 && points.records() >= k as u64);
        let first = mdav::mdav(&points, k as u64, &Watch::silent());
        let start = cost(&points, &first);
        let better = anneal::improve(&points, first, k, 1, seed, &|_, _| true);
        right(&points, &better, k as u64)?;
        let (found, least) = (cost(&points, &better), least_cost(&points, k));
        prop_assert!(found <= start + 1e-9 && found >= least - 1e-9, "{} {} {}", start, found, least);
    }

    #[test]
    fn one_ordered_attribute_is_cut_optimally(points in some_points(5, 1), k in 1usize..5) {
        prop_assume!(points.records() <= 9 && points.records() >= k as u64);
        let mut order: Vec<u32> = (0..points.len() as u32).collect();
        order.sort_by(|&a, &b| points.at(a)[0].total_cmp(&points.at(b)[0]));
        let groups = path::cut(&points, &order, k, &Watch::silent());
        right(&points, &groups, k as u64)?;
        prop_assert!((cost(&points, &groups) - least_cost(&points, k)).abs() < 1e-9);
    }
}

/// Time is up from the beginning.
struct Late;

impl Report for Late {
    fn at(&self, _: u64, _: u64) -> bool {
        true
    }

    fn is_late(&self) -> bool {
        true
    }
}

/// Enough records for several blocks: nobody is lost at a border, and threads do not matter.
#[test]
fn blocks_keep_everybody_and_repeat() {
    let at = (0..18_000u64).map(|i| ((i * 7919 + i * i * 31) % 10_007) as f64 / 997.0).collect();
    let points = Points::new(2, at, vec![1; 9000]);
    let first = mdav::mdav(&points, 5, &Watch::silent());
    let start = cost(&points, &first);
    let better = anneal::improve(&points, first.clone(), 5, 2, 1, &|_, _| true);
    right(&points, &better, 5).expect("sizes");
    assert!(cost(&points, &better) < start);
    let hurried = anneal::improve(&points, first.clone(), 5, u64::MAX, 1, &Late);
    right(&points, &hurried, 5).expect("sizes");
    let sorted = |mut groups: Vec<Group>| {
        groups.sort();
        groups
    };
    let cancelled = anneal::improve(&points, first.clone(), 5, u64::MAX, 1, &|_, _| false);
    assert_eq!(sorted(cancelled), sorted(first.clone()), "nothing is improved any more");
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
    assert_eq!(better, pool.install(|| anneal::improve(&points, first, 5, 2, 1, &|_, _| true)));
}
