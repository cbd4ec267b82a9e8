//! All worlds of a small part at once: one kind after another, with the counts of the open facts as
//! the state.

use super::graph::Graph;
use crate::inference::{Evidence, Fact};
use crate::progress::Watch;
use dashu_int::UBig;
use hashbrown::{HashMap, HashTable};
use std::hash::BuildHasher;
use std::ops::{Range, RangeInclusive};

/// States and edges between two questions whether to go on: some hundredths of a second, as numbers
/// of worlds may be long.
pub(super) const ASKED: u64 = 4096;

/// Every way to a world. Layers of states, from one state before the first step to one after the
/// last; every path is a world of kinds, and stands for as many worlds of people as the product of
/// its edges' ways.
#[derive(Default)]
pub(super) struct Programme {
    steps: Vec<Step>,
    /// The logarithm of the ways that all worlds have in common; the edges leave them out.
    pub(super) ln_common: f64,
}

/// The way from one layer of states to the next.
struct Step {
    /// States of the layer it starts from.
    states: usize,
    /// By state that they start from, rising.
    edges: Vec<Edge>,
}

/// A transition between states: `n` people get an outcome, of the `left` people of their kind who
/// have none yet.
struct Edge {
    from: u32,
    to: u32,
    outcome: u32,
    n: u32,
    left: u32,
}

/// Numbers of ways to choose so many of so many people.
#[derive(Default)]
pub(super) struct Ways(HashMap<(u32, u32), UBig>);

impl Ways {
    /// The number of worlds times the ways to choose n of `left` people.
    fn choose(&mut self, worlds: &UBig, left: u32, n: u32) -> UBig {
        let n = n.min(left - n);
        if n == 0 {
            return worlds.clone();
        }
        if !self.0.contains_key(&(left, n)) {
            let chosen = match self.0.get(&(left, n - 1)) {
                Some(fewer) => fewer * (left - n + 1) / n,
                None => (0..n).fold(UBig::ONE, |x, i| x * (left - i) / (i + 1)),
            };
            self.0.insert((left, n), chosen);
        }
        worlds * &self.0[&(left, n)]
    }
}

impl Programme {
    /// All worlds, taking the kinds in this order; `None` if there would be more than `limit`
    /// states and edges, or if it is stopped.
    pub(super) fn new(
        evidence: &Evidence,
        graph: &Graph,
        order: &[u32],
        limit: usize,
        watch: &Watch<'_>,
    ) -> Option<Programme> {
        let mut unfolding = Unfolding::new(evidence, graph, limit, watch)?;
        order.iter().try_for_each(|&kind| unfolding.take(kind))?;
        Some(unfolding.programme)
    }

    /// For every state of every layer, the number of worlds from there on; `None` if it is stopped.
    pub(super) fn ahead(&self, ways: &mut Ways, watch: &Watch<'_>) -> Option<Vec<Vec<UBig>>> {
        let mut ahead = vec![vec![UBig::ONE]];
        for step in self.steps.iter().rev() {
            let next = &ahead[ahead.len() - 1];
            let mut here = vec![UBig::ZERO; step.states];
            for e in &step.edges {
                watch.work(1, ASKED).then_some(())?;
                // A layer without states has no edges before it.
                here[e.from as usize] += ways.choose(&next[e.to as usize], e.left, e.n);
            }
            ahead.push(here);
        }
        ahead.reverse();
        Some(ahead)
    }

    /// For every outcome the number of people who have it, over all worlds; `None` if it is
    /// stopped.
    pub(super) fn people(
        &self,
        ahead: &[Vec<UBig>],
        outcomes: usize,
        ways: &mut Ways,
        watch: &Watch<'_>,
    ) -> Option<Vec<UBig>> {
        let mut people = vec![UBig::ZERO; outcomes];
        let mut behind = vec![UBig::ONE];
        for (step, next) in self.steps.iter().zip(&ahead[1..]) {
            let mut there = vec![UBig::ZERO; next.len()];
            for e in &step.edges {
                watch.work(1, ASKED).then_some(())?;
                let worlds = ways.choose(&behind[e.from as usize], e.left, e.n);
                if e.n > 0 {
                    people[e.outcome as usize] += &worlds * &next[e.to as usize] * e.n;
                }
                there[e.to as usize] += worlds;
            }
            behind = there;
        }
        Some(people)
    }
}

/// A count that can no longer break its fact.
const FREE: u32 = u32::MAX;

/// The programme while it grows. A state is a row: the people left of the kind at hand, and the
/// count of each open fact.
struct Unfolding<'a> {
    evidence: &'a Evidence,
    graph: &'a Graph,
    limit: usize,
    size: usize,
    /// People of kinds to come that each fact may count.
    to_come: Vec<u64>,
    /// The open facts; the count of the i-th stands at i + 1 in a row.
    open: Vec<u32>,
    /// Where a fact stands in a row, 0 if it is not open.
    place: Vec<u32>,
    rows: Vec<u32>,
    width: usize,
    programme: Programme,
    watch: &'a Watch<'a>,
}

/// What a fact asks of a row after a step.
struct Check {
    place: usize,
    low: u64,
    high: u64,
    /// People of later kinds that it may count.
    to_come: u64,
    /// Whether it may count those who are left of the kind.
    left: bool,
}

impl<'a> Unfolding<'a> {
    fn new(
        evidence: &'a Evidence,
        graph: &'a Graph,
        limit: usize,
        watch: &'a Watch<'a>,
    ) -> Option<Unfolding<'a>> {
        if evidence.people() >= u64::from(FREE) {
            return None;
        }
        let mut to_come = vec![0; evidence.facts().len()];
        for (kind, k) in (0u32..).zip(evidence.kinds()) {
            graph.facts(kind).iter().for_each(|&f| to_come[f as usize] += u64::from(k.people));
        }
        let place = vec![0; to_come.len()];
        let (open, rows, programme) = (Vec::new(), vec![0], Programme::default());
        Some(Unfolding {
            evidence,
            graph,
            limit,
            size: 1,
            to_come,
            open,
            place,
            rows,
            width: 1,
            programme,
            watch,
        })
    }

    /// Deals outcomes to the people of a kind. One person gets any of them in one step; of several
    /// people so many get the first, so many of the others the second, and so on.
    fn take(&mut self, kind: u32) -> Option<()> {
        let people = self.evidence.kinds()[kind as usize].people;
        for &fact in self.graph.facts(kind) {
            self.to_come[fact as usize] -= u64::from(people);
            if self.place[fact as usize] == 0 {
                self.open.push(fact);
                self.place[fact as usize] = self.open.len() as u32;
            }
        }
        let outcomes = self.evidence.outcomes_of(kind);
        if people == 1 {
            return self.step(kind, Some(1), outcomes.clone(), outcomes.end..outcomes.end);
        }
        outcomes.clone().try_for_each(|outcome| {
            let all = (outcome == outcomes.start).then_some(people);
            self.step(kind, all, outcome..outcome + 1, outcome + 1..outcomes.end)
        })
    }

    /// One step: a number of people get one of the outcomes `now`; the outcomes `later` are for who
    /// is left. `all` are the people of the kind if it is its first step.
    fn step(
        &mut self,
        kind: u32,
        all: Option<u32>,
        now: Range<u32>,
        later: Range<u32>,
    ) -> Option<()> {
        let width = self.open.len() + 1;
        let checks = self.checks(kind, &later);
        let complete =
            |place: usize| checks.iter().any(|c| c.place == place && c.to_come == 0 && !c.left);
        let kept: Vec<usize> = (0..width).filter(|&place| !complete(place)).collect();
        let mut next = Rows { width: kept.len(), rows: Vec::new(), known: HashTable::new() };
        let mut edges = Vec::new();
        let (mut row, mut changed) = (vec![0; width], vec![0; width]);
        for (from, start) in (0u32..).zip(self.rows.chunks_exact(self.width)) {
            row[..self.width].copy_from_slice(start);
            row[self.width..].fill(0);
            row[0] = all.unwrap_or(row[0]);
            self.watch.work(1, ASKED).then_some(())?;
            for outcome in now.clone() {
                for n in self.range(outcome, &row, later.is_empty()) {
                    changed.copy_from_slice(&row);
                    changed[0] -= n;
                    for &fact in self.evidence.facts_of(outcome) {
                        let count = &mut changed[self.place[fact as usize] as usize];
                        *count = if *count == FREE { FREE } else { *count + n };
                    }
                    if settle(&mut changed, &checks) {
                        let to = next.number(kept.iter().map(|&place| changed[place]));
                        edges.push(Edge { from, to, outcome, n, left: row[0] });
                    }
                }
                if self.size + edges.len() + next.len() > self.limit {
                    return None;
                }
            }
        }
        self.size += edges.len() + next.len();
        self.take_out_common(&mut edges);
        self.programme.steps.push(Step { states: self.rows.len() / self.width, edges });
        (self.rows, self.width) = (next.rows, next.width);
        self.open.iter().for_each(|&f| self.place[f as usize] = 0);
        self.open = kept[1..].iter().map(|&place| self.open[place - 1]).collect();
        (1..).zip(&self.open).for_each(|(place, &f)| self.place[f as usize] = place);
        Some(())
    }

    /// Where as many people are chosen in every world, the ways to choose them, which may be
    /// astronomically many, cancel.
    fn take_out_common(&mut self, edges: &mut [Edge]) {
        let Some(&Edge { n, left, .. }) = edges.first() else { return };
        if n < left && edges.iter().all(|e| e.n == n && e.left == left) {
            let ways = (0..n.min(left - n)).map(|i| (f64::from(left - i) / f64::from(i + 1)).ln());
            self.programme.ln_common += ways.sum::<f64>();
            edges.iter_mut().for_each(|e| e.left = n);
        }
    }

    /// What the facts of a kind ask of rows when the outcomes `later` are still to be dealt.
    fn checks(&self, kind: u32, later: &Range<u32>) -> Vec<Check> {
        let open = self.graph.facts(kind).iter().filter(|&&f| self.place[f as usize] > 0);
        let check = |&fact: &u32| {
            let Fact { low, high, .. } = self.evidence.facts()[fact as usize];
            let left = later.clone().any(|o| self.evidence.facts_of(o).contains(&fact));
            Check {
                place: self.place[fact as usize] as usize,
                low,
                high,
                to_come: self.to_come[fact as usize],
                left,
            }
        };
        open.map(check).collect()
    }

    /// How many people may get an outcome: all who are left if it is the last, otherwise as many as
    /// its facts allow.
    fn range(&self, outcome: u32, row: &[u32], last: bool) -> RangeInclusive<u32> {
        let left = row[0];
        if last {
            return left..=left;
        }
        let room = |&f: &u32| match row[self.place[f as usize] as usize] {
            FREE => u64::MAX,
            count => self.evidence.facts()[f as usize].high - u64::from(count),
        };
        let most = self.evidence.facts_of(outcome).iter().map(room).min().unwrap_or(u64::MAX);
        0..=most.min(left.into()) as u32
    }
}

/// Whether every fact can still be met; marks the counts that can no longer break theirs, so that
/// states do not differ in what does not matter.
fn settle(row: &mut [u32], checks: &[Check]) -> bool {
    for check in checks {
        let count = row[check.place];
        if count == FREE {
            continue;
        }
        let most =
            u64::from(count) + check.to_come + if check.left { u64::from(row[0]) } else { 0 };
        if u64::from(count) > check.high || most < check.low {
            return false;
        }
        if u64::from(count) >= check.low && most <= check.high {
            row[check.place] = FREE;
        }
    }
    true
}

/// Distinct rows, numbered as they come.
struct Rows {
    width: usize,
    rows: Vec<u32>,
    known: HashTable<u32>,
}

impl Rows {
    fn len(&self) -> usize {
        self.known.len()
    }

    /// The number of a row.
    fn number(&mut self, row: impl Iterator<Item = u32>) -> u32 {
        let start = self.rows.len();
        self.rows.extend(row);
        let (rows, row) = self.rows.split_at(start);
        let hash = |row: &[u32]| foldhash::fast::FixedState::with_seed(0x5c).hash_one(row);
        let at = |number: u32| number as usize * self.width;
        let found =
            self.known.find(hash(row), |&number| &rows[at(number)..at(number) + self.width] == row);
        if let Some(&number) = found {
            self.rows.truncate(start);
            return number;
        }
        let number = self.known.len() as u32;
        let all = &self.rows;
        self.known
            .insert_unique(hash(&all[start..]), number, |&n| hash(&all[at(n)..at(n) + self.width]));
        number
    }
}
