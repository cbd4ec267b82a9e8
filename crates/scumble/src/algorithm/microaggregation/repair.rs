//! Groups that break a model are merged with others.

use super::space::Space;
use crate::algorithm::{Goal, joined};
use crate::class::{EquivalenceClass, Histogram, Run};
use crate::progress::Watch;
use crate::release::Member;
use crate::table::Table;
use hashbrown::HashMap;
use std::collections::VecDeque;

/// So many near groups are tried for one with which the models hold.
const TRIED: usize = 16;
/// Groups that are compared between two questions whether to go on: some hundredths of a second.
const ASKED: u64 = 1_000_000;

/// A group of records and what models see of it.
pub(super) struct Part {
    pub members: Vec<Member>,
    pub class: EquivalenceClass,
    /// Sum of the records' coordinates.
    sum: Vec<f64>,
}

impl Part {
    pub fn new(table: &Table, space: &Space, members: Vec<Member>) -> Part {
        let histogram = |codes: &Vec<u32>| {
            Histogram::of(members.iter().map(|m| (codes[m.row as usize], u64::from(m.count))))
        };
        let class = EquivalenceClass {
            region: Vec::new(),
            count: members.iter().map(|m| u64::from(m.count)).sum(),
            histograms: table.sensitive_codes.iter().map(histogram).collect(),
        };
        Part { class, sum: space.sum(&members), members }
    }

    fn merge(self, other: Part) -> Part {
        let sum = self.sum.iter().zip(&other.sum).map(|(a, b)| a + b).collect();
        let class = self.class.merge(&other.class);
        Part { members: joined([self.members, other.members].concat()), class, sum }
    }

    /// By how much the sum of squares grows if both become one (Ward).
    fn cost(&self, other: &Part) -> f64 {
        let (n, m) = (self.class.count as f64, other.class.count as f64);
        let off = self.sum.iter().zip(&other.sum).map(|(a, b)| a / n - b / m);
        n * m / (n + m) * off.map(|x| x * x).sum::<f64>()
    }
}

/// Merges what breaks the goal with what is near, until all keep it; nothing if even all together
/// do not, or if it is cancelled.
pub(super) fn merge_failing(
    goal: &Goal<'_>,
    parts: Vec<Part>,
    watch: &Watch<'_>,
) -> Option<Vec<Part>> {
    let fails = |part: &Part| !goal.holds(&part.class);
    let mut failing: VecDeque<usize> = (0..parts.len()).filter(|&i| fails(&parts[i])).collect();
    let mut parts: Vec<Option<Part>> = parts.into_iter().map(Some).collect();
    while let Some(i) = failing.pop_front() {
        if !watch.work(parts.len() as u64, ASKED) {
            return None;
        }
        // It may have been merged since, or hold since.
        let Some(part) = parts[i].take_if(|part| fails(part)) else { continue };
        let other = companion(goal, &parts, &part)?;
        parts[other] = parts[other].take().map(|other| other.merge(part));
        failing.push_back(other);
    }
    Some(parts.into_iter().flatten().collect())
}

/// The nearest part with which the goal holds, if it is among the first; otherwise the nearest.
fn companion(goal: &Goal<'_>, parts: &[Option<Part>], part: &Part) -> Option<usize> {
    let others =
        parts.iter().enumerate().filter_map(|(i, other)| other.as_ref().map(|o| (part.cost(o), i)));
    let mut others: Vec<(f64, usize)> = others.collect();
    let nearer = |a: &(f64, usize), b: &(f64, usize)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
    if others.len() > TRIED {
        others.select_nth_unstable_by(TRIED, nearer);
        others.truncate(TRIED);
    }
    others.sort_unstable_by(nearer);
    let helps = |&&(_, i): &&(f64, usize)| {
        parts[i].as_ref().is_some_and(|other| goal.holds(&other.class.merge(&part.class)))
    };
    others.iter().find(helps).or(others.first()).map(|&(_, i)| i)
}

/// Makes one part of those that show the same.
pub(super) fn join_equal(
    parts: Vec<Part>,
    regions: Vec<Box<[Run]>>,
) -> (Vec<Part>, Vec<Box<[Run]>>) {
    let mut place: HashMap<Box<[Run]>, usize> = HashMap::new();
    let mut joined: Vec<(Option<Part>, Box<[Run]>)> = Vec::new();
    for (part, region) in parts.into_iter().zip(regions) {
        match place.get(&region) {
            Some(&i) => {
                joined[i].0 = joined[i].0.take().map(|before| before.merge(part));
            }
            None => {
                place.insert(region.clone(), joined.len());
                joined.push((Some(part), region));
            }
        }
    }
    joined.into_iter().filter_map(|(part, region)| part.map(|part| (part, region))).unzip()
}
