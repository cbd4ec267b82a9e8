//! The best way to cut a sequence of records into groups, by a shortest path: optimal for one
//! ordered attribute.

use super::points::{Group, Points};
use crate::progress::Watch;

/// Records of groups that are tried between two questions whether to go on: some hundredths of a
/// second.
const ASKED: u64 = 1_000_000;

/// Groups of k to 2k − 1 records, neighbours in the given order of all points, with the least sum
/// of squares.
///
/// With one coordinate and the points in its order no other groups are better. Fewer than 2k
/// records are one group.
pub(super) fn cut(points: &Points, order: &[u32], k: usize, watch: &Watch<'_>) -> Vec<Group> {
    let records: Vec<u32> =
        order.iter().flat_map(|&p| (0..points.counts()[p as usize]).map(move |_| p)).collect();
    let n = records.len();
    if n < 2 * k {
        return if n == 0 { Vec::new() } else { vec![collect(&records)] };
    }
    // least[end]: the least cost of the records before `end`, and the size of the last group that
    // gives it.
    let mut least = vec![(f64::INFINITY, 0); n + 1];
    least[0].0 = 0.0;
    let mut mean = vec![0.0; points.dims()];
    for end in k..=n {
        if !watch.work(k as u64, ASKED) {
            return vec![collect(&records)];
        }
        mean.fill(0.0);
        let mut cost = 0.0;
        for size in 1..=(2 * k - 1).min(end) {
            // Welford's update: nothing large is subtracted.
            let share = 1.0 / size as f64;
            for (mean, x) in mean.iter_mut().zip(points.at(records[end - size])) {
                let off = x - *mean;
                *mean += off * share;
                cost += off * (x - *mean);
            }
            let whole = least[end - size].0 + cost;
            if size >= k && whole < least[end].0 {
                least[end] = (whole, size);
            }
        }
    }
    let (mut groups, mut end) = (Vec::new(), n);
    while end > 0 {
        let size = least[end].1;
        groups.push(collect(&records[end - size..end]));
        end -= size;
    }
    groups
}

/// A stretch of records as a group.
fn collect(records: &[u32]) -> Group {
    records.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as u32)).collect()
}
