//! A table whose attributes are each shown by one cut, in the terms of freeform attacks X → a:
//! every observable set of values X, at any level, and what the records that match it tell about
//! the values of the other attributes.
//!
//! Only values that matter are kept: those that can be observed (parts of X) and those that can be
//! attacked (targets, not observable and sensitive). A cell counts as the smallest of them that
//! covers it; cells that are alike in this are one, and rows that are alike are one row. Values of
//! an attribute are numbered from general to special, each before those below it, so that the rows
//! under a value are a run of the rows sorted by number.

use super::{observability, sensitivity};
use crate::class::Run;
use crate::exact::Ratio;
use crate::table::{Attribute, number_tuples_of};
use hashbrown::HashSet;
use std::borrow::Cow;
use std::cmp::Reverse;

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

/// What the records show of one attribute: a number for each record, and the run that a number
/// stands for.
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
pub(super) struct Value {
    pub(super) run: Run,
    /// Whether it can be part of X.
    pub(super) observable: bool,
    /// Its number among all targets.
    pub(super) target: Option<u32>,
    /// Whether the release shows it, and not only values below it.
    pub(super) in_cut: bool,
    /// The numbers of the values below it, itself first.
    pub(super) numbers: std::ops::Range<u32>,
    /// The smallest observable value above it.
    pub(super) above: Option<u32>,
}

/// An attribute with its values that matter. Value i has the number i + 1; 0 is what none of them
/// covers.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    pub(super) attribute: usize,
    pub(super) values: Vec<Value>,
    /// By number: the observable values that cover it.
    pub(super) observable: Vec<Vec<u32>>,
    /// By number: the targets that cover it.
    pub(super) targets: Vec<Vec<u32>>,
    /// The number of each row.
    pub(super) column: Vec<u32>,
}

/// A value that may be attacked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    pub(super) axis: usize,
    pub(super) value: usize,
    pub(super) s: Ratio,
    /// The same, near enough to see when exact arithmetic is not needed.
    pub(super) near: f64,
}

/// The rows of a table in the terms of freeform attacks.
pub struct Cube {
    pub(super) axes: Vec<Axis>,
    pub(super) targets: Vec<Target>,
    pub(super) counts: Vec<u64>,
    pub(super) known: usize,
}

impl Cube {
    /// The records as attacks see them; nothing if some attribute is not shown by a cut. Targets
    /// are values of a sensitivity above `least`.
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
                made.push((
                    axis,
                    cell_of.iter().map(|&cell| numbers[cell as usize]).collect(),
                    column,
                ));
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
        let columns: Vec<Vec<u32>> = (0..made.len())
            .map(|axis| firsts.iter().map(|&row| number(axis, row as usize)).collect())
            .collect();
        let axes: Vec<Axis> = made
            .into_iter()
            .zip(columns)
            .map(|((axis, ..), column)| Axis { column, ..axis })
            .collect();
        Some(Cube { axes, targets, counts: sums, known: thresholds.known.unwrap_or(usize::MAX) })
    }
}

impl Axis {
    pub(super) fn is_observable(&self) -> bool {
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
    pub(super) fn sort(&self, rows: &[u32], sorted: &mut Vec<u32>) -> Vec<u32> {
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

/// The runs that are shown, in order, and the place among them of what each code stands for;
/// nothing if two overlap.
fn cells(column: &Column<'_>) -> Option<(Vec<Run>, Vec<u32>)> {
    let mut occurs = vec![false; column.runs.len()];
    column.codes.iter().for_each(|&code| occurs[code as usize] = true);
    let mut cells: Vec<Run> =
        column.runs.iter().zip(&occurs).filter(|(_, o)| **o).map(|(run, _)| *run).collect();
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
fn axis(
    attribute: &Attribute,
    index: usize,
    cells: &[Run],
    thresholds: &Thresholds,
    least: Ratio,
) -> (Axis, Vec<u32>) {
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
    values.sort_by_key(|v| {
        (covered(v.run).start, Reverse(covered(v.run).end), Reverse(v.run.width()))
    });
    let mut numbers = vec![0; cells.len()];
    let mut open: Vec<usize> = Vec::new();
    for i in 0..values.len() {
        let cells = covered(values[i].run);
        while open.last().is_some_and(|&above| {
            covered(values[above].run).end < cells.end
                || cells.start >= covered(values[above].run).end
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
    let axis = Axis {
        attribute: index,
        values,
        observable: Vec::new(),
        targets: Vec::new(),
        column: Vec::new(),
    };
    (axis, numbers)
}

impl Target {
    /// (with / of) · s, if it is above a bound.
    pub(super) fn threat(&self, with: u64, of: u64, bound: Ratio) -> Option<Ratio> {
        if with as f64 / of as f64 * self.near < bound.to_f64() - 1e-9 {
            return None;
        }
        // Where the terms of the product would be too large, the threat is taken for the largest it
        // can be.
        let threat = Ratio::new(with.into(), of.into()).times(self.s).unwrap_or(self.s);
        (threat > bound).then_some(threat)
    }
}
