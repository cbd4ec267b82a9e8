//! Quasi-identifiers as the search sees them.

use crate::class::Run;
use crate::table::Attribute;

/// A generalized value while it is searched for. On an ordered scale the lowest and highest value;
/// in a tree a value and how many levels above it the node is.
pub(super) type Cell = (u32, u32);

/// A quasi-identifier as the search sees it: only values that occur, numbered in the order of their
/// codes.
pub(super) enum Axis {
    /// Every run can be published. `place` is scaled so that a difference is a loss.
    Line { place: Vec<f32>, missing: u32 },
    /// Only nodes can. `up` and `loss` have one entry per value and level; `meet` tells the level
    /// of the lowest node over two values: for few values every two of them, for many the highest
    /// such level among 2^r neighbours, row by row.
    Tree { levels: usize, up: Vec<u32>, loss: Vec<f32>, values: usize, meet: Vec<u8> },
}

/// Trees with at most so many values get a table of meeting levels (this many squared bytes).
const TABLED: usize = 256;

/// The table of [`Axis::Tree`].
fn meetings(n: usize, levels: usize, up: &[u32]) -> Vec<u8> {
    let level = |a: usize, b: usize| {
        (0..levels).find(|l| up[a * levels + l] == up[b * levels + l]).unwrap_or(0) as u8
    };
    if n <= TABLED {
        return (0..n)
            .flat_map(|a| (0..n).map(move |b| (a, b)))
            .map(|(a, b)| level(a, b))
            .collect();
    }
    let mut meet: Vec<u8> = (0..n).map(|a| level(a, (a + 1).min(n - 1))).collect();
    let mut reach = 1;
    while 2 * reach < n {
        let row = meet.len() - n;
        meet.extend(
            (0..n)
                .map(|a| meet[row + a].max(meet[row + (a + reach).min(n - 1)]))
                .collect::<Vec<u8>>(),
        );
        reach *= 2;
    }
    meet
}

impl Axis {
    /// `values` are the codes that occur, rising.
    pub(super) fn new(attribute: &Attribute, values: &[u32]) -> Axis {
        let t = &attribute.taxonomy;
        if t.is_ordered() {
            let domain = (t.size(t.root()) - 1).max(1) as f64;
            let start = t.position(values[0]);
            let place = values
                .iter()
                .map(|&v| (t.position(v).abs_diff(start) as f64 / domain) as f32)
                .collect();
            let missing = t
                .missing()
                .and_then(|m| values.binary_search(&m).ok())
                .map_or(u32::MAX, |i| i as u32);
            return Axis::Line { place, missing };
        }
        let levels = t.levels() + 1;
        let runs: Vec<Run> =
            values.iter().flat_map(|&v| (0..levels).map(move |l| t.at_level(v, l))).collect();
        let up: Vec<u32> = runs.iter().map(|run| run.first).collect();
        let loss = runs.iter().map(|&run| t.loss(run) as f32).collect();
        let meet = meetings(values.len(), levels, &up);
        Axis::Tree { levels, up, loss, values: values.len(), meet }
    }

    /// The least general cell over both.
    #[inline]
    pub(super) fn join(&self, a: Cell, b: Cell) -> Cell {
        match self {
            Axis::Line { .. } => (a.0.min(b.0), a.1.max(b.1)),
            Axis::Tree { values, meet, .. } => {
                let (x, y) = (a.0 as usize, b.0 as usize);
                let met = if *values <= TABLED {
                    meet[x * values + y]
                } else if x == y {
                    0
                } else {
                    // Leaves stand in depth-first order: two values meet where the farthest
                    // neighbours between them do.
                    let (first, last) = (x.min(y), x.max(y));
                    let row = (last - first).ilog2() as usize;
                    meet[row * values + first].max(meet[row * values + last - (1 << row)])
                };
                (a.0, a.1.max(b.1).max(u32::from(met)))
            }
        }
    }

    /// The cell of a value itself.
    pub(super) fn cell(&self, value: u32) -> Cell {
        if self.is_tree() { (value, 0) } else { (value, value) }
    }

    pub(super) fn is_tree(&self) -> bool {
        matches!(self, Axis::Tree { .. })
    }

    /// Which child of a cell a value is in; on a line, which half of the values.
    pub(super) fn children(
        &self,
        cell: Cell,
        values: impl Iterator<Item = u32>,
    ) -> impl Fn(u32) -> u32 {
        let mut values: Vec<u32> = if self.is_tree() { Vec::new() } else { values.collect() };
        let half = values.len() / 2;
        let median = if values.is_empty() { 0 } else { *values.select_nth_unstable(half).1 };
        // The upper half begins at the median, unless that is the lowest value of all.
        let median = median.max(cell.0 + 1);
        move |value| match self {
            Axis::Line { missing, .. } if cell.1 == *missing => u32::from(value == *missing),
            Axis::Line { .. } => u32::from(value >= median),
            Axis::Tree { levels, up, .. } => {
                up[value as usize * levels + (cell.1 as usize).saturating_sub(1)]
            }
        }
    }

    #[inline]
    pub(super) fn loss(&self, cell: Cell) -> f32 {
        match self {
            Axis::Line { missing, .. } if cell.1 == *missing => {
                f32::from(u8::from(cell.0 < cell.1))
            }
            Axis::Line { place, .. } => place[cell.1 as usize] - place[cell.0 as usize],
            Axis::Tree { levels, loss, .. } => loss[cell.0 as usize * levels + cell.1 as usize],
        }
    }
}
