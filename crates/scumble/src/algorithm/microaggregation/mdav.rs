//! Maximum distance to average vector: groups of k around the outermost records.

use super::points::{Group, Points, add};
use super::tree::Tree;
use crate::progress::Watch;

/// Pairs of groups between two questions whether to go on: some hundredths of a second.
const ASKED: u64 = 16;

/// The groups, k records in each and up to 2k − 1 in the last. Fewer than 2k records are one group.
pub(super) fn mdav(points: &Points, k: u64, watch: &Watch<'_>) -> Vec<Group> {
    let mut left = points.records();
    let mut groups = Vec::new();
    if left == 0 {
        return groups;
    }
    let mut tree = Tree::new(points);
    let mut sum = points.sum(&tree.rest().collect::<Group>());
    let mut around = |tree: &mut Tree<'_>, center: u32, left: &mut u64| {
        let group = take_nearest(points, tree, center, k);
        group.iter().for_each(|&(p, n)| add(&mut sum, points.at(p), -f64::from(n)));
        *left -= k;
        groups.push(group);
        sum.iter().map(|s| s / *left as f64).collect::<Vec<f64>>()
    };
    let mut centroid = points.centroid(&tree.rest().collect::<Group>());
    // Cancelled, it leaves one large group.
    while left >= 2 * k && watch.work(1, ASKED) {
        let Some((_, r)) = tree.farthest(&centroid) else { break };
        let both = left >= 3 * k;
        centroid = around(&mut tree, r, &mut left);
        if both {
            let Some((_, s)) = tree.farthest(points.at(r)) else { break };
            centroid = around(&mut tree, s, &mut left);
        }
    }
    if left > 0 {
        groups.push(tree.rest().collect());
    }
    groups
}

/// Takes k records, the nearest to a point, out of the tree.
fn take_nearest(points: &Points, tree: &mut Tree<'_>, center: u32, k: u64) -> Group {
    let mut need = k;
    let mut group = Group::new();
    for (_, point) in tree.nearest(points.at(center), k) {
        let count = u64::from(tree.left(point)).min(need) as u32;
        tree.take(point, count);
        need -= u64::from(count);
        group.push((point, count));
    }
    group
}
