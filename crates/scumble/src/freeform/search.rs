//! The search for freeform attacks: refines the rows attribute by attribute (a bottom-up cube),
//! with all values that can be observed and not only those of one level.
//!
//! Where the worst threat alone is wanted, a branch ends when its rows hold no target that could be
//! worse than what is known, when it has one row, or when a value leaves the rows as they are.

use super::cube::{Cube, Target, Value};
use crate::class::Run;
use crate::exact::Ratio;
use rayon::prelude::*;
use std::sync::RwLock;

impl Cube {
    /// The largest threat of any attack.
    pub fn worst(&self) -> Ratio {
        self.above(Ratio::whole(0), None, &self.all_targets(), false).unwrap_or(Ratio::whole(0))
    }

    /// Whether some threat is above this.
    pub fn breaks(&self, threat: Ratio) -> bool {
        self.above(threat, None, &self.all_targets(), true).is_some()
    }

    /// Whether some threat is above this, of attacks that X or a takes part in with one of these
    /// values of an attribute.
    pub fn breaks_at(&self, threat: Ratio, attribute: usize, values: &[Run]) -> bool {
        let Some(axis) = self.axes.iter().position(|a| a.attribute == attribute) else {
            return false;
        };
        let of_axis =
            |t: &Target| t.axis == axis && values.contains(&self.axes[axis].values[t.value].run);
        let wanted: Vec<bool> = self.targets.iter().map(of_axis).collect();
        if wanted.iter().any(|w| *w) && self.above(threat, None, &wanted, true).is_some() {
            return true;
        }
        let chosen = |v: &usize| {
            let value = &self.axes[axis].values[*v];
            value.observable && values.contains(&value.run)
        };
        let chosen: Vec<usize> = (0..self.axes[axis].values.len()).filter(chosen).collect();
        let all = self.all_targets();
        self.known > 0
            && chosen.into_iter().any(|v| self.above(threat, Some((axis, v)), &all, true).is_some())
    }

    fn all_targets(&self) -> Vec<bool> {
        vec![true; self.targets.len()]
    }

    /// The largest threat above a floor, if there is one; or the first that is found.
    fn above(
        &self,
        floor: Ratio,
        fixed: Option<(usize, usize)>,
        wanted: &[bool],
        first: bool,
    ) -> Option<Ratio> {
        let worst = Worst { best: RwLock::new(floor), floor, wanted, first };
        self.search(fixed, &worst, &|| Tally::new(self));
        let best = worst.best.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        (best > floor).then_some(best)
    }

    /// Carries a search out, on all cores. `fixed` is a value that every X has. Returns the state
    /// of each part, in order.
    pub(super) fn search<V: Visit>(
        &self,
        fixed: Option<(usize, usize)>,
        visit: &V,
        state: &(dyn Fn() -> V::State + Sync),
    ) -> Vec<V::State> {
        let all: Vec<u32> = (0..self.counts.len() as u32).collect();
        let (rows, x, left) = match fixed {
            None => (all, Vec::new(), self.known),
            Some((axis, value)) => {
                let numbers = &self.axes[axis].values[value].numbers;
                let under = |row: &u32| numbers.contains(&self.axes[axis].column[*row as usize]);
                (
                    all.into_iter().filter(under).collect(),
                    vec![(axis as u16, value as u32)],
                    self.known - 1,
                )
            }
        };
        let mut first = state();
        if rows.is_empty() || !visit.visit(self, &x, &rows, &mut first) || left == 0 {
            return vec![first];
        }
        let mut parts: Vec<(usize, u32)> = Vec::new();
        for (axis, of) in
            self.axes.iter().enumerate().filter(|(axis, _)| fixed.is_none_or(|(f, _)| f != *axis))
        {
            let observable = (0u32..).zip(&of.values).filter(|(_, v)| v.observable);
            parts.extend(observable.map(|(v, _)| (axis, v)));
        }
        let part = |&(axis, value): &(usize, u32)| {
            let mut walk = Walk {
                cube: self,
                visit,
                state: state(),
                x: x.clone(),
                fixed: fixed.map(|(a, _)| a),
                pool: Vec::new(),
            };
            let of = &self.axes[axis];
            let under = |v: u32| {
                let numbers = &of.values[v as usize].numbers;
                rows.iter()
                    .copied()
                    .filter(|&row| numbers.contains(&of.column[row as usize]))
                    .collect::<Vec<u32>>()
            };
            let under_it = under(value);
            let same = |v: Option<u32>| v.map_or(rows.len(), |v| under(v).len()) == under_it.len();
            let known_already = V::LAZY && same(of.values[value as usize].above);
            if !under_it.is_empty() && !known_already {
                walk.enter(axis, value, &under_it, left);
            }
            walk.state
        };
        std::iter::once(first).chain(parts.par_iter().map(part).collect::<Vec<_>>()).collect()
    }
}

/// What is done with every X.
pub(super) trait Visit: Sync {
    /// What one part of the search knows.
    type State: Send;
    /// Whether sets that match the same rows as a more general one need not be looked at.
    const LAZY: bool;
    /// Looks at X and the rows that match it; whether more special sets are wanted.
    fn visit(&self, cube: &Cube, x: &[(u16, u32)], rows: &[u32], state: &mut Self::State) -> bool;
    /// X is left again.
    fn leave(&self, _state: &mut Self::State) {}
}

/// A walk down from some X.
struct Walk<'a, V: Visit> {
    cube: &'a Cube,
    visit: &'a V,
    state: V::State,
    x: Vec<(u16, u32)>,
    fixed: Option<usize>,
    /// Lists of rows that may be used again.
    pool: Vec<Vec<u32>>,
}

/// Of fewer rows than this only the values are looked at that they have.
const FEW: usize = 16;

impl<V: Visit> Walk<'_, V> {
    fn enter(&mut self, axis: usize, value: u32, rows: &[u32], left: usize) {
        self.x.push((axis as u16, value));
        if self.visit.visit(self.cube, &self.x, rows, &mut self.state) && left > 1 {
            for next in axis + 1..self.cube.axes.len() {
                if self.fixed != Some(next) && self.cube.axes[next].is_observable() {
                    self.refine(next, rows, left - 1);
                }
            }
        }
        self.visit.leave(&mut self.state);
        self.x.pop();
    }

    /// Every observable value of an axis that some of the rows have.
    fn refine(&mut self, axis: usize, rows: &[u32], left: usize) {
        let of = &self.cube.axes[axis];
        let mut sorted = self.pool.pop().unwrap_or_default();
        sorted.clear();
        let lazy = |len: usize, above: Option<usize>| V::LAZY && above.unwrap_or(rows.len()) == len;
        if rows.len() < FEW {
            sorted.extend_from_slice(rows);
            sorted.sort_unstable_by_key(|&row| of.column[row as usize]);
            let of_rows =
                sorted.iter().flat_map(|&row| &of.observable[of.column[row as usize] as usize]);
            let mut values: Vec<u32> = of_rows.copied().collect();
            values.sort_unstable();
            values.dedup();
            let range = |v: u32| {
                let numbers = &of.values[v as usize].numbers;
                let at =
                    |number: u32| sorted.partition_point(|&row| of.column[row as usize] < number);
                at(numbers.start)..at(numbers.end)
            };
            for value in values {
                let rows_of = range(value);
                let above = of.values[value as usize].above.map(|v| range(v).len());
                if !lazy(rows_of.len(), above) {
                    self.enter(axis, value, &sorted[rows_of], left);
                }
            }
        } else {
            let starts = of.sort(rows, &mut sorted);
            let range = |v: &Value| {
                starts[v.numbers.start as usize] as usize..starts[v.numbers.end as usize] as usize
            };
            for (value, v) in (0u32..).zip(&of.values).filter(|(_, v)| v.observable) {
                let rows_of = range(v);
                let above = v.above.map(|v| range(&of.values[v as usize]).len());
                if !rows_of.is_empty() && !lazy(rows_of.len(), above) {
                    self.enter(axis, value, &sorted[rows_of], left);
                }
            }
        }
        self.pool.push(sorted);
    }
}

/// Counts of the records that match targets.
pub(super) struct Tally {
    pub counts: Vec<u64>,
    pub touched: Vec<u32>,
}

impl Tally {
    pub fn new(cube: &Cube) -> Tally {
        Tally { counts: vec![0; cube.targets.len()], touched: Vec::new() }
    }

    /// Counts the wanted targets of axes that X leaves free. Returns the number of records.
    pub fn count(
        &mut self,
        cube: &Cube,
        x: &[(u16, u32)],
        rows: &[u32],
        wanted: impl Fn(u32) -> bool,
    ) -> u64 {
        self.touched.drain(..).for_each(|t| self.counts[t as usize] = 0);
        for (i, axis) in cube.axes.iter().enumerate() {
            if x.iter().any(|&(a, _)| a as usize == i) {
                continue;
            }
            for &row in rows {
                for &target in &axis.targets[axis.column[row as usize] as usize] {
                    if !wanted(target) {
                        continue;
                    }
                    let count = &mut self.counts[target as usize];
                    if *count == 0 {
                        self.touched.push(target);
                    }
                    *count += cube.counts[row as usize];
                }
            }
        }
        rows.iter().map(|&row| cube.counts[row as usize]).sum()
    }
}

/// Looks for the largest threat.
struct Worst<'a> {
    best: RwLock<Ratio>,
    floor: Ratio,
    wanted: &'a [bool],
    /// Whether any threat above the floor will do.
    first: bool,
}

impl Worst<'_> {
    fn best(&self) -> Ratio {
        *self.best.read().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Visit for Worst<'_> {
    type State = Tally;
    const LAZY: bool = true;

    fn visit(&self, cube: &Cube, x: &[(u16, u32)], rows: &[u32], tally: &mut Tally) -> bool {
        let before = self.best();
        if self.first && before > self.floor {
            return false;
        }
        let dangerous = |t: u32| self.wanted[t as usize] && cube.targets[t as usize].s > before;
        let of = tally.count(cube, x, rows, dangerous);
        let threat =
            |&t: &u32| cube.targets[t as usize].threat(tally.counts[t as usize], of, before);
        if let Some(most) = tally.touched.iter().filter_map(threat).max() {
            let mut best = self.best.write().unwrap_or_else(|poisoned| poisoned.into_inner());
            *best = most.max(*best);
        }
        // With one row the threat is what it is, whatever else is known.
        rows.len() > 1 && !tally.touched.is_empty()
    }
}
