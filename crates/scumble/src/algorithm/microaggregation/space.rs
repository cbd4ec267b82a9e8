//! From the quasi-identifiers of a table to points in space.
//!
//! Every attribute becomes some coordinates with mean 0 and, together, variance 1, so that each
//! counts alike. The squared distance of two categories is what covering both would lose in their
//! taxonomy. That is a distance in space: each node above a category, up to the root, is a
//! coordinate, and the coordinate of a node is the root of half of what its parent loses more than
//! itself.

use super::points::{Group, Points};
use crate::algorithm::joined;
use crate::class::Run;
use crate::release::Member;
use crate::table::{Attribute, Table};
use crate::taxonomy::Taxonomy;
use std::collections::{BTreeMap, VecDeque};

/// A taxonomy with more nodes than this is projected to so many coordinates, by signs that are the
/// same for every node everywhere. Distances are then right within about a quarter.
const WIDE: usize = 32;

/// The distinct points of a table, with the rows at each.
pub(super) struct Space {
    pub points: Points,
    /// Rows of the table by point.
    rows: Vec<Vec<u32>>,
    /// The point of each row.
    point_of: Vec<u32>,
}

impl Space {
    /// Points stand in the order of their codes and rows in that of their sensitive values, so that
    /// nothing depends on the order of the table.
    pub fn of(table: &Table) -> Space {
        let codes = |row: u32| table.quasi_codes.iter().map(move |c| c[row as usize]);
        let all =
            |row: u32| codes(row).chain(table.sensitive_codes.iter().map(move |c| c[row as usize]));
        let mut order: Vec<u32> = (0..table.rows() as u32).collect();
        order.sort_unstable_by(|&a, &b| all(a).cmp(all(b)));
        let rows: Vec<Vec<u32>> =
            order.chunk_by(|&a, &b| codes(a).eq(codes(b))).map(<[u32]>::to_vec).collect();
        let counts: Vec<u32> =
            rows.iter().map(|rows| rows.iter().map(|&r| table.counts[r as usize]).sum()).collect();
        let blocks: Vec<Vec<Vec<f64>>> = table
            .quasi
            .iter()
            .zip(&table.quasi_codes)
            .map(|(attribute, codes)| {
                let codes: Vec<u32> = rows.iter().map(|rows| codes[rows[0] as usize]).collect();
                coordinates(attribute, &codes, &counts)
            })
            .collect();
        let columns: Vec<&Vec<f64>> = blocks.iter().flatten().collect();
        let coordinates = (0..rows.len()).flat_map(|p| columns.iter().map(move |c| c[p])).collect();
        let mut point_of = vec![0; table.rows()];
        for (point, rows) in (0u32..).zip(&rows) {
            rows.iter().for_each(|&row| point_of[row as usize] = point);
        }
        Space { points: Points::new(columns.len(), coordinates, counts), rows, point_of }
    }

    /// Sum of the records' coordinates.
    pub fn sum(&self, members: &[Member]) -> Vec<f64> {
        self.points.sum(
            &members.iter().map(|m| (self.point_of[m.row as usize], m.count)).collect::<Group>(),
        )
    }

    /// The records of each group. Those of one point go round its rows, one by one, so that a group
    /// gets different sensitive values where there are some.
    pub fn deal(&self, table: &Table, groups: &[Group]) -> Vec<Vec<Member>> {
        let mut queues: Vec<VecDeque<Member>> = self
            .rows
            .iter()
            .map(|rows| {
                rows.iter().map(|&row| Member { row, count: table.counts[row as usize] }).collect()
            })
            .collect();
        let deal = |group: &Group| {
            let mut members: Vec<Member> = Vec::new();
            for &(point, count) in group {
                let queue = &mut queues[point as usize];
                for _ in 0..count {
                    let Some(mut first) = queue.pop_front() else { break };
                    members.push(Member { row: first.row, count: 1 });
                    first.count -= 1;
                    queue.extend((first.count > 0).then_some(first));
                }
            }
            joined(members)
        };
        groups.iter().map(deal).collect()
    }
}

/// The coordinates of an attribute, column by column, for points with these codes.
fn coordinates(attribute: &Attribute, codes: &[u32], counts: &[u32]) -> Vec<Vec<f64>> {
    let taxonomy = &attribute.taxonomy;
    let mut columns = if taxonomy.is_ordered() {
        places(taxonomy, codes, counts)
    } else {
        nodes(taxonomy, codes)
    };
    standardize(&mut columns, counts);
    let weight = attribute.weight.max(0.0).sqrt();
    columns.iter_mut().flatten().for_each(|x| *x *= weight);
    columns
}

/// The place on an ordered scale. Where values are missing, a second coordinate says so: those
/// records stand at the mean and as far from it as two values are from each other on average.
fn places(taxonomy: &Taxonomy, codes: &[u32], counts: &[u32]) -> Vec<Vec<f64>> {
    let missing = taxonomy.missing();
    let known = |code: &u32| Some(*code) != missing;
    let mut places: Vec<f64> =
        codes.iter().map(|&c| if known(&c) { taxonomy.position(c) as f64 } else { 0.0 }).collect();
    let weights: Vec<u32> =
        codes.iter().zip(counts).map(|(c, &n)| if known(c) { n } else { 0 }).collect();
    standardize(std::slice::from_mut(&mut places), &weights);
    if codes.iter().all(known) {
        return vec![places];
    }
    places.iter_mut().zip(codes).filter(|(_, c)| !known(c)).for_each(|(x, _)| *x = 0.0);
    let lacks =
        codes.iter().map(|c| if known(c) { 0.0 } else { std::f64::consts::SQRT_2 }).collect();
    vec![places, lacks]
}

/// One coordinate per node of the taxonomy, the root left out; or [`WIDE`] of them.
fn nodes(taxonomy: &Taxonomy, codes: &[u32]) -> Vec<Vec<f64>> {
    let mut paths: BTreeMap<u32, Vec<(Run, f64)>> = BTreeMap::new();
    for &code in codes {
        paths.entry(code).or_insert_with(|| path(taxonomy, code));
    }
    let mut number: BTreeMap<Run, usize> =
        paths.values().flatten().map(|&(run, _)| (run, 0)).collect();
    number.values_mut().enumerate().for_each(|(i, n)| *n = i);
    let wide = number.len() > WIDE;
    let mut columns = vec![vec![0.0; codes.len()]; if wide { WIDE } else { number.len() }];
    for (point, code) in codes.iter().enumerate() {
        for (run, x) in &paths[code] {
            if wide {
                let signs = scatter(number[run] as u64);
                for (bit, column) in columns.iter_mut().enumerate() {
                    column[point] += if signs >> bit & 1 == 1 { *x } else { -*x };
                }
            } else {
                columns[number[run]][point] = *x;
            }
        }
    }
    columns
}

/// The nodes from a leaf up to below the root that lose less than their parents, with their
/// coordinates.
fn path(taxonomy: &Taxonomy, leaf: u32) -> Vec<(Run, f64)> {
    let mut runs: Vec<Run> =
        (0..=taxonomy.levels()).map(|level| taxonomy.at_level(leaf, level)).collect();
    runs.push(taxonomy.root());
    runs.dedup();
    let step =
        |pair: &[Run]| (pair[0], ((taxonomy.loss(pair[1]) - taxonomy.loss(pair[0])) / 2.0).sqrt());
    runs.windows(2).map(step).collect()
}

/// 64 bits that look random, from a number (the finalizer of SplitMix64).
fn scatter(number: u64) -> u64 {
    let mut z = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Moves the columns to mean 0 and scales them to a variance of 1 together, if they have one.
fn standardize(columns: &mut [Vec<f64>], counts: &[u32]) {
    let total: f64 = counts.iter().map(|&n| f64::from(n)).sum();
    if total == 0.0 {
        return;
    }
    let mean = |column: &[f64]| {
        column.iter().zip(counts).map(|(x, &n)| x * f64::from(n)).sum::<f64>() / total
    };
    let mut variance = 0.0;
    for column in columns.iter_mut() {
        let middle = mean(column);
        column.iter_mut().for_each(|x| *x -= middle);
        variance +=
            column.iter().zip(counts).map(|(x, &n)| x * x * f64::from(n)).sum::<f64>() / total;
    }
    let scale = if variance > 0.0 { variance.sqrt().recip() } else { 0.0 };
    columns.iter_mut().flatten().for_each(|x| *x *= scale);
}
