//! Freeform attacks X → a on a table whose attributes are each shown by one cut: every observable set of values X, at any
//! level, and what the records that match it tell about the values of the other attributes.
//!
//! Only values that matter are kept: those that can be observed (parts of X) and those that can be attacked (targets, not
//! observable and sensitive). A cell counts as the smallest of them that covers it; cells that are alike in this are one,
//! and rows that are alike are one row. Values of an attribute are numbered from general to special, each before those
//! below it, so that the rows under a value are a run of the rows sorted by number.
//!
//! The search refines the rows attribute by attribute (a bottom-up cube), with all values that can be observed and not
//! only those of one level. Where the worst threat alone is wanted, a branch ends when its rows hold no target that could be
//! worse than what is known, when it has one row, or when a value leaves the rows as they are.

use super::{observability, sensitivity};
use crate::class::Run;
use crate::exact::Ratio;
use crate::table::{Attribute, number_tuples_of};
use hashbrown::{HashMap, HashSet};
use rayon::prelude::*;
use std::borrow::Cow;
use std::cmp::Reverse;
use std::sync::RwLock;

/// From when on a value is observable, and a threat a breach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thresholds {
    /// σ_o: values at least as observable as this can be observed.
    pub observability: Ratio,
    /// σ_t: a threat above this is a breach.
    pub threat: Ratio,
    /// p: the adversary knows at most so many values of a person; any number, if absent.
    pub known: Option<usize>,
}

/// What the records show of one attribute: a number for each record, and the run that a number stands for.
pub struct Column<'a> {
    /// Which attribute.
    pub attribute: usize,
    /// One per record.
    pub codes: Cow<'a, [u32]>,
    /// One per code.
    pub runs: Cow<'a, [Run]>,
}

/// A value that matters.
#[derive(Clone, Debug)]
struct Value {
    run: Run,
    /// Whether it can be part of X.
    observable: bool,
    /// Its number among all targets.
    target: Option<u32>,
    /// Whether the release shows it, and not only values below it.
    in_cut: bool,
    /// The numbers of the values below it, itself first.
    numbers: std::ops::Range<u32>,
    /// The smallest observable value above it.
    above: Option<u32>,
}

/// An attribute with its values that matter. Value i has the number i + 1; 0 is what none of them covers.
#[derive(Clone, Debug)]
struct Axis {
    attribute: usize,
    values: Vec<Value>,
    /// By number: the observable values that cover it.
    observable: Vec<Vec<u32>>,
    /// By number: the targets that cover it.
    targets: Vec<Vec<u32>>,
    /// The number of each row.
    column: Vec<u32>,
}

/// A value that may be attacked.
#[derive(Clone, Copy, Debug)]
struct Target {
    axis: usize,
    value: usize,
    s: Ratio,
    /// The same, near enough to see when exact arithmetic is not needed.
    near: f64,
}

/// The rows of a table in the terms of freeform attacks.
pub struct Cube {
    axes: Vec<Axis>,
    targets: Vec<Target>,
    counts: Vec<u64>,
    known: usize,
}

/// A breach X → a.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breach {
    /// X without the roots: attributes with their values.
    pub known: Vec<(usize, Run)>,
    /// a: an attribute and its value.
    pub value: (usize, Run),
    /// Records that match X.
    pub support: u64,
    /// Those of them that match a.
    pub with: u64,
    /// (with / support) · s(a).
    pub threat: Ratio,
    /// Whether a is shown in the release, as Definition 3.3 wants it; otherwise it is more general (Definition 3.4).
    pub shown: bool,
    /// Whether no more general X breaches a.
    pub minimal: bool,
}

/// All breaches.
#[derive(Clone, Debug, Default)]
pub struct Breaches {
    /// How many there are (Definition 3.4).
    pub all: u64,
    /// How many of them attack a value that the release shows (Definition 3.3).
    pub shown: u64,
    /// The minimal ones, those that threaten most first.
    pub minimal: Vec<Breach>,
    /// The others, as many as were asked for.
    pub others: Vec<Breach>,
    /// Records whose own value some breach attacks.
    pub people: u64,
}

impl Cube {
    /// The records as attacks see them; nothing if some attribute is not shown by a cut. Targets are values of a
    /// sensitivity above `least`.
    pub fn new(
        quasi: &[Attribute],
        columns: &[Column<'_>],
        counts: &[u64],
        thresholds: &Thresholds,
        least: Ratio,
    ) -> Option<Cube> {
        let mut targets = Vec::new();
        let mut made: Vec<(Axis, Vec<u32>, &Column<'_>)> = Vec::new();
        for column in columns {
            let attribute = &quasi[column.attribute];
            let (cells, cell_of) = cells(column)?;
            let (axis, numbers) = axis(attribute, column.attribute, &cells, thresholds, least);
            if !axis.values.is_empty() {
                made.push((axis, cell_of.iter().map(|&cell| numbers[cell as usize]).collect(), column));
            }
        }
        for (i, (axis, ..)) in made.iter_mut().enumerate() {
            for v in 0..axis.values.len() {
                let s = sensitivity(&quasi[axis.attribute], axis.values[v].run);
                if let Some(number) = &mut axis.values[v].target {
                    *number = targets.len() as u32;
                    targets.push(Target { axis: i, value: v, s, near: s.to_f64() });
                }
            }
            axis.index();
        }
        let sizes: Vec<u64> = made.iter().map(|(axis, ..)| axis.values.len() as u64 + 1).collect();
        let number = |axis: usize, row: usize| made[axis].1[made[axis].2.codes[row] as usize];
        let (row_of, firsts) = number_tuples_of(counts.len(), &sizes, number);
        let mut sums = vec![0; firsts.len()];
        row_of.iter().zip(counts).for_each(|(&row, n)| sums[row as usize] += n);
        let columns: Vec<Vec<u32>> =
            (0..made.len()).map(|axis| firsts.iter().map(|&row| number(axis, row as usize)).collect()).collect();
        let axes: Vec<Axis> =
            made.into_iter().zip(columns).map(|((axis, ..), column)| Axis { column, ..axis }).collect();
        Some(Cube { axes, targets, counts: sums, known: thresholds.known.unwrap_or(usize::MAX) })
    }

    /// The largest threat of any attack.
    pub fn worst(&self) -> Ratio {
        self.above(Ratio::whole(0), None, &self.all_targets(), false).unwrap_or(Ratio::whole(0))
    }

    /// Whether some threat is above this.
    pub fn breaks(&self, threat: Ratio) -> bool {
        self.above(threat, None, &self.all_targets(), true).is_some()
    }

    /// Whether some threat is above this, of attacks that X or a takes part in with one of these values of an attribute.
    pub fn breaks_at(&self, threat: Ratio, attribute: usize, values: &[Run]) -> bool {
        let Some(axis) = self.axes.iter().position(|a| a.attribute == attribute) else { return false };
        let of_axis = |t: &Target| t.axis == axis && values.contains(&self.axes[axis].values[t.value].run);
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
        self.known > 0 && chosen.into_iter().any(|v| self.above(threat, Some((axis, v)), &all, true).is_some())
    }

    fn all_targets(&self) -> Vec<bool> {
        vec![true; self.targets.len()]
    }

    /// The largest threat above a floor, if there is one; or the first that is found.
    fn above(&self, floor: Ratio, fixed: Option<(usize, usize)>, wanted: &[bool], first: bool) -> Option<Ratio> {
        let worst = Worst { best: RwLock::new(floor), floor, wanted, first };
        self.search(fixed, &worst, &|| Tally::new(self));
        let best = worst.best.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        (best > floor).then_some(best)
    }

    /// Every breach. Of those that are not minimal at most `others` are kept.
    pub fn breaches(&self, threat: Ratio, others: usize) -> Breaches {
        let mut found = Breaches::default();
        let mut minimal: HashMap<Key, Breach> = HashMap::new();
        let mut exposed = vec![false; self.counts.len()];
        let longest = self.known.min(self.axes.iter().filter(|a| a.is_observable()).count());
        for length in 0..=longest {
            let pass = Pass { threat, length, minimal: &minimal, others };
            let mut states = self.search(None, &pass, &|| Found::new(self));
            let mut new: Vec<(Key, Breach)> =
                states.iter_mut().flat_map(|s| std::mem::take(&mut s.candidates)).collect();
            for state in states {
                found.all += state.all;
                found.shown += state.shown;
                found.others.extend(state.others);
                state.exposed.iter().for_each(|&row| exposed[row as usize] = true);
            }
            // More general sets of as many values come first, so that what is minimal is known before it is asked for.
            new.sort_by_cached_key(|(key, _)| (self.depth(&key.0), key.clone()));
            for (key, breach) in new {
                if self.generalized(&key, &minimal, false) {
                    found.others.push(breach);
                } else {
                    minimal.insert(key, Breach { minimal: true, ..breach });
                }
            }
            found.others.truncate(others);
        }
        found.people = self.counts.iter().zip(&exposed).filter(|(_, e)| **e).map(|(n, _)| n).sum();
        found.minimal = minimal.into_values().collect();
        let order = |b: &Breach| (Reverse(b.threat), Reverse(b.with), b.known.len(), b.known.clone(), b.value);
        found.minimal.sort_by_cached_key(order);
        found.others.sort_by_cached_key(order);
        found
    }

    /// How many observable values stand above those of X.
    fn depth(&self, x: &[(u16, u32)]) -> usize {
        let ways = |&(axis, value): &(u16, u32)| self.chain(axis as usize, value).count();
        x.iter().map(ways).sum()
    }

    /// An observable value and those above it.
    fn chain(&self, axis: usize, value: u32) -> impl Iterator<Item = u32> {
        std::iter::successors(Some(value), move |&v| self.axes[axis].values[v as usize].above)
    }

    /// Whether a more general X is among these, with the same target; with fewer values only if that is asked.
    fn generalized(&self, (x, target): &Key, among: &HashMap<Key, Breach>, fewer: bool) -> bool {
        let mut sets: Vec<Vec<(u16, u32)>> = vec![Vec::new()];
        for &(axis, value) in x {
            let mut longer = Vec::new();
            for set in &sets {
                for v in self.chain(axis as usize, value) {
                    longer.push(set.iter().copied().chain([(axis, v)]).collect());
                }
            }
            if fewer {
                longer.append(&mut sets);
            }
            sets = longer;
        }
        sets.into_iter().any(|set| set != *x && among.contains_key(&(set, *target)))
    }

    /// Carries a search out, on all cores. `fixed` is a value that every X has. Returns the state of each part, in order.
    fn search<V: Visit>(
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
                (all.into_iter().filter(under).collect(), vec![(axis as u16, value as u32)], self.known - 1)
            }
        };
        let mut first = state();
        if rows.is_empty() || !visit.visit(self, &x, &rows, &mut first) || left == 0 {
            return vec![first];
        }
        let mut parts: Vec<(usize, u32)> = Vec::new();
        for (axis, of) in self.axes.iter().enumerate().filter(|(axis, _)| fixed.is_none_or(|(f, _)| f != *axis)) {
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
                rows.iter().copied().filter(|&row| numbers.contains(&of.column[row as usize])).collect::<Vec<u32>>()
            };
            let under_it = under(value);
            let same = |v: Option<u32>| v.map_or(rows.len(), |v| under(v).len()) == under_it.len();
            if !under_it.is_empty() && !(V::LAZY && same(of.values[value as usize].above)) {
                walk.into_value(axis, value, &under_it, left);
            }
            walk.state
        };
        std::iter::once(first).chain(parts.par_iter().map(part).collect::<Vec<_>>()).collect()
    }
}

/// X as axes with values, by rising axis, and the target.
type Key = (Vec<(u16, u32)>, u32);

/// What is done with every X.
trait Visit: Sync {
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
    fn into_value(&mut self, axis: usize, value: u32, rows: &[u32], left: usize) {
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
            let of_rows = sorted.iter().flat_map(|&row| &of.observable[of.column[row as usize] as usize]);
            let mut values: Vec<u32> = of_rows.copied().collect();
            values.sort_unstable();
            values.dedup();
            let range = |v: u32| {
                let numbers = &of.values[v as usize].numbers;
                let at = |number: u32| sorted.partition_point(|&row| of.column[row as usize] < number);
                at(numbers.start)..at(numbers.end)
            };
            for value in values {
                let rows_of = range(value);
                let above = of.values[value as usize].above.map(|v| range(v).len());
                if !lazy(rows_of.len(), above) {
                    self.into_value(axis, value, &sorted[rows_of], left);
                }
            }
        } else {
            let starts = of.sort(rows, &mut sorted);
            let range = |v: &Value| starts[v.numbers.start as usize] as usize..starts[v.numbers.end as usize] as usize;
            for (value, v) in (0u32..).zip(&of.values).filter(|(_, v)| v.observable) {
                let rows_of = range(v);
                let above = v.above.map(|v| range(&of.values[v as usize]).len());
                if !rows_of.is_empty() && !lazy(rows_of.len(), above) {
                    self.into_value(axis, value, &sorted[rows_of], left);
                }
            }
        }
        self.pool.push(sorted);
    }
}

impl Axis {
    fn is_observable(&self) -> bool {
        self.values.iter().any(|v| v.observable)
    }

    /// Finds out by number which values cover it.
    fn index(&mut self) {
        let of_kind = |wanted: &dyn Fn(&Value) -> Option<u32>| {
            let mut by_number = vec![Vec::new(); self.values.len() + 1];
            for (i, value) in self.values.iter().enumerate() {
                let Some(which) = wanted(value) else { continue };
                let which = if which == u32::MAX { i as u32 } else { which };
                value.numbers.clone().for_each(|n: u32| by_number[n as usize].push(which));
            }
            by_number
        };
        let observable = of_kind(&|v| v.observable.then_some(u32::MAX));
        let targets = of_kind(&|v| v.target);
        (self.observable, self.targets) = (observable, targets);
    }

    /// Sorts rows by their number on this axis; returns where each number starts.
    fn sort(&self, rows: &[u32], sorted: &mut Vec<u32>) -> Vec<u32> {
        let mut starts = vec![0u32; self.values.len() + 3];
        for &row in rows {
            starts[self.column[row as usize] as usize + 2] += 1;
        }
        for i in 2..starts.len() {
            starts[i] += starts[i - 1];
        }
        sorted.resize(rows.len(), 0);
        for &row in rows {
            let place = &mut starts[self.column[row as usize] as usize + 1];
            sorted[*place as usize] = row;
            *place += 1;
        }
        starts
    }
}

/// The runs that are shown, in order, and the place among them of what each code stands for; nothing if two overlap.
fn cells(column: &Column<'_>) -> Option<(Vec<Run>, Vec<u32>)> {
    let mut occurs = vec![false; column.runs.len()];
    column.codes.iter().for_each(|&code| occurs[code as usize] = true);
    let mut cells: Vec<Run> = column.runs.iter().zip(&occurs).filter(|(_, o)| **o).map(|(run, _)| *run).collect();
    cells.sort_unstable();
    cells.dedup();
    if cells.windows(2).any(|w| w[1].first <= w[0].last) {
        return None;
    }
    let place = |run: &Run| cells.binary_search(run).map_or(0, |i| i as u32);
    let places = column.runs.iter().map(place).collect();
    Some((cells, places))
}

/// The values of an attribute that matter, and the number of each cell.
fn axis(attribute: &Attribute, index: usize, cells: &[Run], thresholds: &Thresholds, least: Ratio) -> (Axis, Vec<u32>) {
    let taxonomy = &attribute.taxonomy;
    let mut runs: HashSet<Run> = cells.iter().copied().collect();
    for &cell in cells {
        // Where one is known, so are all above it.
        let _ = taxonomy.above(cell).into_iter().take_while(|&node| runs.insert(node)).count();
    }
    let matters = |run: Run| {
        let observable = observability(attribute, run) >= thresholds.observability;
        let target = !observable && sensitivity(attribute, run) > least;
        let part = observable && run != taxonomy.root();
        (part || target).then(|| Value {
            run,
            observable: part,
            target: target.then_some(0),
            in_cut: cells.binary_search(&run).is_ok(),
            numbers: 0..0,
            above: None,
        })
    };
    let covered = |run: Run| {
        let first = cells.partition_point(|cell| cell.first < run.first);
        first..cells.partition_point(|cell| cell.last <= run.last).max(first)
    };
    let mut values: Vec<Value> = runs.into_iter().filter_map(matters).collect();
    values.sort_by_key(|v| (covered(v.run).start, Reverse(covered(v.run).end), Reverse(v.run.width())));
    let mut numbers = vec![0; cells.len()];
    let mut open: Vec<usize> = Vec::new();
    for i in 0..values.len() {
        let cells = covered(values[i].run);
        while open.last().is_some_and(|&above| {
            covered(values[above].run).end < cells.end || cells.start >= covered(values[above].run).end
        }) {
            open.pop();
        }
        values[i].above = open.iter().rev().find(|&&v| values[v].observable).map(|&v| v as u32);
        values[i].numbers = i as u32 + 1..i as u32 + 2;
        for &above in &open {
            values[above].numbers.end = i as u32 + 2;
        }
        numbers[cells].fill(i as u32 + 1);
        open.push(i);
    }
    let axis = Axis { attribute: index, values, observable: Vec::new(), targets: Vec::new(), column: Vec::new() };
    (axis, numbers)
}

/// Counts of the records that match targets.
struct Tally {
    counts: Vec<u64>,
    touched: Vec<u32>,
}

impl Tally {
    fn new(cube: &Cube) -> Tally {
        Tally { counts: vec![0; cube.targets.len()], touched: Vec::new() }
    }

    /// Counts the wanted targets of axes that X leaves free. Returns the number of records.
    fn count(&mut self, cube: &Cube, x: &[(u16, u32)], rows: &[u32], wanted: impl Fn(u32) -> bool) -> u64 {
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

impl Target {
    /// (with / of) · s, if it is above a bound.
    fn threat(&self, with: u64, of: u64, bound: Ratio) -> Option<Ratio> {
        if with as f64 / of as f64 * self.near < bound.to_f64() - 1e-9 {
            return None;
        }
        // Where the terms of the product would be too large, the threat is taken for the largest it can be.
        let threat = Ratio::new(with.into(), of.into()).times(self.s).unwrap_or(self.s);
        (threat > bound).then_some(threat)
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
        let threat = |&t: &u32| cube.targets[t as usize].threat(tally.counts[t as usize], of, before);
        if let Some(most) = tally.touched.iter().filter_map(threat).max() {
            let mut best = self.best.write().unwrap_or_else(|poisoned| poisoned.into_inner());
            *best = most.max(*best);
        }
        // With one row the threat is what it is, whatever else is known.
        rows.len() > 1 && !tally.touched.is_empty()
    }
}

/// Looks for all breaches with so many values known.
struct Pass<'a> {
    threat: Ratio,
    length: usize,
    /// Those with fewer that are minimal.
    minimal: &'a HashMap<Key, Breach>,
    others: usize,
}

struct Found {
    tally: Tally,
    /// Targets that a part of X breaches already, one list for each of its lengths.
    breached: Vec<Vec<u32>>,
    all: u64,
    shown: u64,
    candidates: Vec<(Key, Breach)>,
    others: Vec<Breach>,
    exposed: Vec<u32>,
}

impl Found {
    fn new(cube: &Cube) -> Found {
        Found {
            tally: Tally::new(cube),
            breached: Vec::new(),
            all: 0,
            shown: 0,
            candidates: Vec::new(),
            others: Vec::new(),
            exposed: Vec::new(),
        }
    }
}

impl Visit for Pass<'_> {
    type State = Found;
    const LAZY: bool = false;

    fn visit(&self, cube: &Cube, x: &[(u16, u32)], rows: &[u32], state: &mut Found) -> bool {
        let of = state.tally.count(cube, x, rows, |_| true);
        let breach = |&t: &u32| {
            let threat = cube.targets[t as usize].threat(state.tally.counts[t as usize], of, self.threat)?;
            Some((t, threat))
        };
        let mut breached: Vec<(u32, Ratio)> = state.tally.touched.iter().filter_map(breach).collect();
        let more = x.len() < self.length && !state.tally.touched.is_empty();
        if x.len() == self.length {
            breached.sort_unstable_by_key(|(t, _)| *t);
            for &(t, threat) in &breached {
                self.found(cube, x, rows, (t, threat, of), state);
            }
        }
        if !x.is_empty() {
            state.breached.push(breached.into_iter().map(|(t, _)| t).collect());
        }
        more
    }

    fn leave(&self, state: &mut Found) {
        state.breached.pop();
    }
}

impl Pass<'_> {
    fn found(
        &self,
        cube: &Cube,
        x: &[(u16, u32)],
        rows: &[u32],
        (t, threat, of): (u32, Ratio, u64),
        state: &mut Found,
    ) {
        let target = cube.targets[t as usize];
        let value = &cube.axes[target.axis].values[target.value];
        state.all += 1;
        state.shown += u64::from(value.in_cut);
        let key: Key = (x.to_vec(), t);
        let implied = state.breached.iter().any(|b| b.contains(&t)) || cube.generalized(&key, self.minimal, true);
        if implied && state.others.len() >= self.others {
            return;
        }
        let known = |&(axis, value): &(u16, u32)| {
            let axis = &cube.axes[axis as usize];
            (axis.attribute, axis.values[value as usize].run)
        };
        let breach = Breach {
            known: x.iter().map(known).collect(),
            value: (cube.axes[target.axis].attribute, value.run),
            support: of,
            with: state.tally.counts[t as usize],
            threat,
            shown: value.in_cut,
            minimal: false,
        };
        if implied {
            state.others.push(breach);
            return;
        }
        let column = &cube.axes[target.axis].column;
        state.exposed.extend(rows.iter().filter(|&&row| value.numbers.contains(&column[row as usize])));
        state.candidates.push((key, breach));
    }
}
