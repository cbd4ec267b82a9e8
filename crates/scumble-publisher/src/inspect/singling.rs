//! Minimal sets of columns that single somebody out.
//!
//! # Method
//!
//! Level by level, as Apriori does for frequent sets: a set that leaves a row alone is an answer
//! and is not extended, because its supersets are not minimal; a set is tried only if none of its
//! subsets is an answer. Rows are first collapsed to distinct ones. A set leaves a row alone if and
//! only if its class holds one distinct row and that stands for one record, so a count that stops
//! at two is enough.
//!
//! All sets with the same columns but the last are done together, because they share the numbering
//! of those columns: a set costs one pass over the distinct rows.
//!
//! # Reference
//!
//! The quasi-identifiers of Def. 1 in Ganta, Kasiviswanathan, Smith, *Composition attacks and
//! auxiliary information in data privacy*, KDD 2008; the search is Agrawal and Srikant's, VLDB
//! 1994.

use rayon::prelude::*;
use scumble::progress::{Progress, Watch};
use scumble::table::number_tuples;
use std::collections::HashSet;

/// How many row visits one level may cost; about ten seconds on two cores.
pub(super) const WORK: u64 = 2_000_000_000;

/// How many sets one level may try, however short the table: they are all held in memory.
const MOST_SETS: u64 = 500_000;

/// A column to search: a code for each record, and how many records have each code.
pub(super) struct Lane<'a> {
    pub codes: &'a [u32],
    pub counts: &'a [u64],
}

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// The sets, each rising, with the number of records they single out.
    pub sets: Vec<(Vec<usize>, u64)>,
    /// What was left out.
    pub limits: Vec<Limit>,
}

/// Sets of this many columns were searched among the first columns only.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Limit {
    pub columns: usize,
    pub among: usize,
}

/// Distinct rows of the columns that are worth extending.
struct Collapsed {
    columns: Vec<Vec<u32>>,
    sizes: Vec<u64>,
    /// Records per row; two stands for more.
    weights: Vec<u8>,
}

/// Finds the minimal sets of at most `max_columns` columns. If a level would cost more than `work`
/// row visits, it is restricted to as many of the first columns as fit. Once cancelled, sets are
/// missing.
pub(super) fn minimal_sets(
    lanes: &[Lane<'_>],
    max_columns: usize,
    work: u64,
    progress: Progress<'_>,
) -> Found {
    let mut found = Found::default();
    if max_columns == 0 {
        return found;
    }
    let mut rest = Vec::new();
    for (i, lane) in lanes.iter().enumerate() {
        match lane.counts.iter().filter(|&&n| n == 1).count() {
            0 => rest.push(i),
            people => found.sets.push((vec![i], people as u64)),
        }
    }
    if max_columns == 1 || rest.len() < 2 {
        return found;
    }
    let table = Collapsed::of(lanes, &rest);
    let limit = (work / table.weights.len().max(1) as u64).clamp(1, MOST_SETS);
    let (mut level, mut among) = ((0..rest.len()).map(|i| vec![i]).collect::<Vec<_>>(), rest.len());
    for size in 2..=max_columns {
        let (tasks, fits) = tasks(&level, among, limit);
        if fits < among {
            found.limits.push(Limit {
                columns: size,
                among: fits + found.sets.iter().filter(|s| s.0.len() == 1).count(),
            });
            among = fits;
        }
        if tasks.is_empty() {
            break;
        }
        let mut next = Vec::new();
        for (set, people) in table.search(&level, &tasks, progress) {
            if people > 0 {
                found.sets.push((set.iter().map(|&i| rest[i]).collect(), people));
            } else {
                next.push(set);
            }
        }
        next.sort_unstable();
        level = next;
    }
    found
}

/// The sets of the next level, as members of this one (by index) and the columns to add to each.
/// With them, how many of the first columns could be considered without exceeding the limit.
fn tasks(level: &[Vec<usize>], among: usize, limit: u64) -> (Vec<(usize, Vec<usize>)>, usize) {
    let known: HashSet<&[usize]> = level.iter().map(Vec::as_slice).collect();
    if let Some(tasks) = extensions(level, &known, among, limit) {
        return (tasks, among);
    }
    // Fewer columns never make more sets, so the largest number that fits is found by halving.
    let (mut fits, mut too_many, mut best) = (0, among, Vec::new());
    while fits + 1 < too_many {
        let middle = fits.midpoint(too_many);
        match extensions(level, &known, middle, limit) {
            Some(tasks) => (fits, best) = (middle, tasks),
            None => too_many = middle,
        }
    }
    (best, fits)
}

/// As [`tasks`], for the first `among` columns; `None` if there are more sets than the limit.
fn extensions(
    level: &[Vec<usize>],
    known: &HashSet<&[usize]>,
    among: usize,
    limit: u64,
) -> Option<Vec<(usize, Vec<usize>)>> {
    let (mut tasks, mut count, mut subset) = (Vec::new(), 0, Vec::new());
    for (parent, set) in level.iter().enumerate() {
        let last = *set.last()?;
        let mut columns = Vec::new();
        for column in last + 1..among {
            // The set without the new column is the parent itself; the others must have been found
            // harmless too.
            let minimal = (0..set.len()).all(|without| {
                subset.clear();
                subset
                    .extend(set.iter().enumerate().filter(|(i, _)| *i != without).map(|(_, &c)| c));
                subset.push(column);
                known.contains(subset.as_slice())
            });
            if minimal {
                columns.push(column);
                count += 1;
                if count > limit {
                    return None;
                }
            }
        }
        if !columns.is_empty() {
            tasks.push((parent, columns));
        }
    }
    Some(tasks)
}

impl Collapsed {
    fn of(lanes: &[Lane<'_>], chosen: &[usize]) -> Collapsed {
        let sizes: Vec<u64> = chosen.iter().map(|&i| lanes[i].counts.len() as u64).collect();
        let records: Vec<&[u32]> = chosen.iter().map(|&i| lanes[i].codes).collect();
        let (row_of, firsts) = number_tuples(&records, &sizes);
        let mut weights = vec![0u8; firsts.len()];
        for &row in &row_of {
            let weight = &mut weights[row as usize];
            *weight = (*weight + 1).min(2);
        }
        let first = |codes: &[u32]| firsts.iter().map(|&r| codes[r as usize]).collect();
        Collapsed { columns: records.into_iter().map(first).collect(), sizes, weights }
    }

    /// Every set of the tasks with the number of records it singles out.
    fn search(
        &self,
        level: &[Vec<usize>],
        tasks: &[(usize, Vec<usize>)],
        progress: Progress<'_>,
    ) -> Vec<(Vec<usize>, u64)> {
        let watch = Watch::new(progress, tasks.iter().map(|t| t.1.len() as u64).sum());
        let results = tasks.par_iter().flat_map_iter(|(parent, columns)| {
            let set = &level[*parent];
            if !watch.go_on() {
                return Vec::new();
            }
            let (numbers, groups) = self.number(set);
            let each = columns.iter().take_while(|_| watch.add(1)).map(|&column| {
                let people = self.alone(&numbers, groups, column);
                (set.iter().copied().chain([column]).collect::<Vec<_>>(), people)
            });
            each.collect()
        });
        results.collect()
    }

    /// The class of each row on a set of columns, and how many classes there are.
    fn number(&self, set: &[usize]) -> (Vec<u32>, u64) {
        if let [column] = set {
            return (self.columns[*column].clone(), self.sizes[*column]);
        }
        let columns: Vec<&[u32]> = set.iter().map(|&c| self.columns[c].as_slice()).collect();
        let sizes: Vec<u64> = set.iter().map(|&c| self.sizes[c]).collect();
        let (numbers, firsts) = number_tuples(&columns, &sizes);
        (numbers, firsts.len() as u64)
    }

    /// How many records are alone in their class when a column is added to a numbering.
    fn alone(&self, numbers: &[u32], groups: u64, column: usize) -> u64 {
        let (codes, size) = (&self.columns[column], self.sizes[column]);
        let room = groups.saturating_mul(size);
        let rows = numbers.iter().zip(codes).zip(&self.weights);
        // Where the pairs are few, or most of them occur, a place for each is faster than hashing.
        if room <= (8 * self.weights.len() as u64).max(1 << 16) {
            let mut counts = vec![0u8; room as usize];
            for ((&group, &code), &weight) in rows {
                let count = &mut counts[(u64::from(group) * size + u64::from(code)) as usize];
                *count = count.saturating_add(weight);
            }
            return counts.iter().filter(|&&n| n == 1).count() as u64;
        }
        let (classes, firsts) = number_tuples(&[numbers, codes], &[groups, size]);
        let mut counts = vec![0u8; firsts.len()];
        for (&class, &weight) in classes.iter().zip(&self.weights) {
            counts[class as usize] = counts[class as usize].saturating_add(weight);
        }
        counts.iter().filter(|&&n| n == 1).count() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn run(columns: &[Vec<u32>], max_columns: usize, work: u64) -> Found {
        let count = |codes: &Vec<u32>| {
            let mut counts = vec![0u64; codes.iter().max().map_or(0, |&m| m as usize + 1)];
            codes.iter().for_each(|&c| counts[c as usize] += 1);
            counts
        };
        let counts: Vec<Vec<u64>> = columns.iter().map(count).collect();
        let lanes: Vec<Lane<'_>> =
            columns.iter().zip(&counts).map(|(codes, counts)| Lane { codes, counts }).collect();
        minimal_sets(&lanes, max_columns, work, &|_, _| true)
    }

    fn alone(columns: &[Vec<u32>], set: &[usize]) -> u64 {
        let rows = columns[0].len();
        let tuple = |row: usize| set.iter().map(|&c| columns[c][row]).collect::<Vec<_>>();
        (0..rows)
            .filter(|&r| (0..rows).filter(|&other| tuple(other) == tuple(r)).count() == 1)
            .count() as u64
    }

    fn brute_force(columns: &[Vec<u32>], max_columns: usize) -> Vec<(Vec<usize>, u64)> {
        let sets = (1u32..1 << columns.len())
            .map(|mask| (0..columns.len()).filter(|i| mask >> i & 1 == 1).collect());
        let all: Vec<(Vec<usize>, u64)> = sets
            .map(|set: Vec<usize>| (set.clone(), alone(columns, &set)))
            .filter(|(_, people)| *people > 0)
            .collect();
        let below = |a: &[usize], b: &[usize]| a.len() < b.len() && a.iter().all(|c| b.contains(c));
        let minimal = |set: &[usize]| !all.iter().any(|(other, _)| below(other, set));
        let small = |set: &[usize]| set.len() <= max_columns;
        let mut sets: Vec<_> =
            all.iter().filter(|(set, _)| small(set) && minimal(set)).cloned().collect();
        sets.sort();
        sets
    }

    proptest! {
        /// The search finds what trying all subsets finds.
        #[test]
        fn minimal_sets_are_those_of_brute_force(
            rows in prop::collection::vec(prop::array::uniform5(0u32..3), 1..40), copies in 1usize..4, max in 1usize..6,
        ) {
            let rows: Vec<[u32; 5]> = rows.iter().flat_map(|r| std::iter::repeat_n(*r, if r[0] == 0 { copies } else { 2 })).collect();
            let columns: Vec<Vec<u32>> = (0..5).map(|c| rows.iter().map(|r| r[c]).collect()).collect();
            let mut found = run(&columns, max, WORK);
            found.sets.sort();
            prop_assert_eq!(found.sets, brute_force(&columns, max));
            prop_assert!(found.limits.is_empty());
        }
    }

    #[test]
    fn many_columns_are_searched_as_far_as_the_work_allows() {
        // Bit i of a row number is column i; every row is there, so only all columns together
        // single out.
        let columns: Vec<Vec<u32>> =
            (0..6).map(|c| (0..64).map(|r| r >> c & 1).collect()).collect();
        assert_eq!(run(&columns, 6, WORK).sets, [(vec![0, 1, 2, 3, 4, 5], 64)]);
        // Three sets of two columns are all that fits: those of the first three columns.
        let found = run(&columns, 6, 64 * 3);
        assert_eq!(found.sets, []);
        assert_eq!(found.limits, [Limit { columns: 2, among: 3 }]);
    }

    #[test]
    fn wide_columns_are_hashed() {
        // 2 000 pairs of 1 000 values each would need a million places, many more than rows.
        let rows: Vec<(u32, u32)> = (0..1000).flat_map(|i| [(i, i), (i, (i + 1) % 1000)]).collect();
        let columns = vec![rows.iter().map(|r| r.0).collect(), rows.iter().map(|r| r.1).collect()];
        assert_eq!(run(&columns, 3, WORK).sets, [(vec![0, 1], 2000)]);
    }
}
