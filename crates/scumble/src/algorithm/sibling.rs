//! # sibling
//!
//! Sub-tree recoding in which a node may stand for some of its values only, while the others are
//! shown by themselves.
//!
//! ## Method
//! As `top-down`, every value is shown in the same way in all records. But to lift Engineer to
//! Professional does not force Lawyer up too: Professional then denotes the professionals other
//! than lawyers. So a category may be shown by any node above it, and a label stands for those
//! values below it that are not shown by another label of their own. The search specializes: of the
//! values that show a node those below another node are shown by that one, the rest go on as
//! before; always where it saves most loss, as long as all classes keep the models. It is made
//! twice, from the root and from the result of `top-down`, and the better release is taken.
//! Numbers, dates and ordered files are treated as in `top-down`: a range says what it stands for.
//!
//! The labels of such a release do not mean what the taxonomy says. The release therefore comes
//! with taxonomies of its own, in which Professional has no Lawyer, and its manifest lists the
//! exceptions.
//!
//! ## Guarantee
//! Every class keeps every model, and the certainty penalty (`gcp`) is at most that of `top-down`.
//! With monotone models no further value or group of values can be shown by itself. Models that
//! look at regions are judged on sub-tree recodings only: there the result is that of `top-down`.
//!
//! ## Cost
//! About that of `top-down` for each value or node that is shown by itself.
//!
//! ## Departures from the paper
//! The survey defines the scheme and gives no algorithm. It speaks of a parent and its children;
//! here values may also stay while the rest are lifted by several levels.
//!
//! ## Reference
//! Fung, Wang, Chen and Yu, "Privacy-preserving data publishing: a survey of recent developments",
//! 2010; LeFevre, DeWitt and Ramakrishnan, "Incognito: efficient full-domain k-anonymity", 2005.

use super::cut::{Cuts, Worth};
use super::top_down::{Candidate, How, Kind, Score, Specialization, specialize};
use super::{Algorithm, Goal, Progress, Refusal};
use crate::catalogue::Entry;
use crate::class::Run;
use crate::release::{Form, Generalized, Shape};
use crate::table::{Attribute, Table, Tally};
use crate::taxonomy::Taxonomy;
use std::sync::Arc;

pub(super) const ENTRY: Entry<Box<dyn Algorithm>> = Entry {
    name: "sibling",
    summary: "as top-down, but a node may stand for some of its values while others are shown by themselves",
    source: include_str!("sibling.rs"),
    parameters: &[],
    build: |_| Ok(Box::new(Sibling)),
};

struct Sibling;

impl Algorithm for Sibling {
    fn anonymize(
        &self,
        table: &Table,
        goal: &Goal<'_>,
        _seed: u64,
        progress: Progress<'_>,
    ) -> Result<Form, Refusal> {
        if let Some(answer) = Cuts::without_search(table, goal) {
            return answer;
        }
        let worth = Worth::new(table);
        let how = |siblings| How { score: Score::Loss, siblings };
        let mut cuts = Cuts::top(table, goal);
        specialize(&mut cuts, &worth, how(false), progress);
        if goal.needs_regions() {
            return Ok(Form::Generalized(cuts.form()));
        }
        specialize(&mut cuts, &worth, how(true), progress);
        let mut other = Cuts::top(table, goal);
        specialize(&mut other, &worth, how(true), progress);
        let best = if loss(&other, &worth) < loss(&cuts, &worth) { other } else { cuts };
        Ok(Form::Generalized(form(&best)))
    }
}

/// What is lost, in cells.
fn loss(cuts: &Cuts<'_>, worth: &Worth<'_>) -> f64 {
    let of_run = |dim: usize, run: Run| {
        let taxonomy = &cuts.table.quasi[dim].taxonomy;
        if taxonomy.is_ordered() {
            return worth.loss(dim, run);
        }
        let leaves = cuts.leaves(dim, run);
        let records: u64 =
            leaves.iter().map(|&leaf| worth.records(dim, Run::new(leaf, leaf))).sum();
        lost(taxonomy, records, leaves.len())
    };
    (0..cuts.table.quasi.len())
        .flat_map(|dim| cuts.runs(dim).into_iter().map(move |run| of_run(dim, run)))
        .sum()
}

/// What records lose that show one of so many leaves.
fn lost(taxonomy: &Taxonomy, records: u64, leaves: usize) -> f64 {
    records as f64 * leaves.saturating_sub(1) as f64 / (taxonomy.leaves() - 1).max(1) as f64
}

/// How the nodes that could be shown by themselves lie within each other.
pub(super) struct Nesting {
    /// The first leaf of all, and for it and those after it the lowest such node above.
    first: u32,
    lowest: Vec<Option<u32>>,
    /// For each node the next one above.
    above: Vec<Option<u32>>,
    nodes: Vec<Run>,
}

impl Nesting {
    /// Of nodes that stand above before below.
    fn new(run: Run, nodes: Vec<Run>) -> Nesting {
        let mut lowest: Vec<Option<u32>> = vec![None; run.width() as usize];
        let mut above = Vec::with_capacity(nodes.len());
        for (i, node) in (0u32..).zip(&nodes) {
            above.push(lowest[(node.first - run.first) as usize]);
            lowest[(node.first - run.first) as usize..=(node.last - run.first) as usize]
                .fill(Some(i));
        }
        Nesting { first: run.first, lowest, above, nodes }
    }

    /// The nodes above a leaf, from low to high.
    fn over(&self, leaf: u32) -> impl Iterator<Item = u32> {
        std::iter::successors(self.lowest[(leaf - self.first) as usize], |&i| {
            self.above[i as usize]
        })
    }
}

/// The ways to show some of the values of a node by themselves: those below any other node. `valid`
/// limits the nodes.
pub(super) fn candidate(
    cuts: &Cuts<'_>,
    worth: &Worth<'_>,
    dim: usize,
    run: Run,
    valid: Option<&[Run]>,
) -> Candidate {
    let taxonomy = &cuts.table.quasi[dim].taxonomy;
    let shown = cuts.leaves(dim, run);
    // Records of the shown leaves up to each.
    let mut sums = vec![0u64];
    sums.extend(shown.iter().scan(0, |sum, &leaf| {
        *sum += worth.records(dim, Run::new(leaf, leaf));
        Some(*sum)
    }));
    let (all, records) = (shown.len(), sums[shown.len()]);
    let now = lost(taxonomy, records, all);
    let (mut nodes, mut ways) = (Vec::new(), Vec::new());
    for node in valid.map_or_else(|| below(taxonomy, run), |valid| within(valid, run)) {
        let start = shown.partition_point(|&leaf| leaf < node.first);
        let end = shown.partition_point(|&leaf| leaf <= node.last);
        let inside = sums[end] - sums[start];
        if inside == 0 || end - start == all {
            continue;
        }
        let rest = Run::new(
            shown[if start > 0 { 0 } else { end }],
            shown[if end < all { all } else { start } - 1],
        );
        let mut pieces =
            vec![taxonomy.cover(Run::new(shown[start], shown[end - 1])), taxonomy.cover(rest)];
        pieces.sort_by_key(|piece| (piece.last, piece.width()));
        let then = lost(taxonomy, inside, end - start)
            + lost(taxonomy, records - inside, all - (end - start));
        let smallest = vec![u64::MAX; cuts.views.len()];
        ways.push(Specialization { pieces, gain: 0.0, saved: now - then, smallest, valid: true });
        nodes.push(node);
    }
    Candidate { ways, kind: Kind::Siblings(Nesting::new(run, nodes)) }
}

/// The nodes below one, above before below.
fn below(taxonomy: &Taxonomy, run: Run) -> Vec<Run> {
    let mut nodes = vec![run];
    let mut next = 0;
    while next < nodes.len() {
        let node = nodes[next];
        next += 1;
        if node.first < node.last {
            nodes.extend(taxonomy.children(node));
        }
    }
    nodes.split_off(1)
}

/// Those of the nodes that lie in a run, above before below.
fn within(nodes: &[Run], run: Run) -> Vec<Run> {
    let mut nodes: Vec<Run> =
        nodes.iter().copied().filter(|&node| node != run && run.covers(node)).collect();
    nodes.sort_by_key(|node| (node.first, std::cmp::Reverse(node.last)));
    nodes.dedup();
    nodes
}

/// Looks at what the ways would make of one group.
pub(super) fn inspect(
    cuts: &Cuts<'_>,
    v: usize,
    i: usize,
    dim: usize,
    nesting: &Nesting,
    ways: &mut [Specialization],
) {
    let (view, codes) = (&cuts.views[v], &cuts.table.quasi_codes[dim]);
    let group = &view.groups[i];
    let count = |row: u32| u64::from(cuts.table.counts[row as usize]);
    let mut order: Vec<(u32, u32)> =
        group.rows.iter().map(|&row| (codes[row as usize], row)).collect();
    order.sort_unstable();
    let mut leaves: Vec<u32> = order.iter().map(|&(code, _)| code).collect();
    leaves.dedup();
    let mut touched: Vec<u32> = leaves.into_iter().flat_map(|leaf| nesting.over(leaf)).collect();
    touched.sort_unstable();
    touched.dedup();
    let mut sides = (!view.size_decides).then(|| (Tally::new(cuts.table), Tally::new(cuts.table)));
    if let Some((_, rest)) = &mut sides {
        order.iter().for_each(|&(_, row)| rest.add(row, count(row)));
    }
    for way in touched {
        let (node, way) = (nesting.nodes[way as usize], &mut ways[way as usize]);
        let start = order.partition_point(|&(code, _)| code < node.first);
        let part = &order[start..order.partition_point(|&(code, _)| code <= node.last)];
        let inside: u64 = part.iter().map(|&(_, row)| count(row)).sum();
        if !way.valid || inside == group.count {
            continue;
        }
        let smallest = inside.min(group.count - inside);
        way.smallest[v] = way.smallest[v].min(smallest);
        way.valid = smallest >= view.least;
        if let Some((some, rest)) = sides.as_mut().filter(|_| way.valid) {
            part.iter().for_each(|&(_, row)| some.add(row, count(row)));
            part.iter().for_each(|&(_, row)| rest.remove(row, count(row)));
            let holds = |side: &Tally<'_>| view.judge(cuts.goal, &side.class(group.region.clone()));
            way.valid = holds(some) && holds(rest);
            part.iter().for_each(|&(_, row)| some.remove(row, count(row)));
            part.iter().for_each(|&(_, row)| rest.add(row, count(row)));
        }
    }
}

/// The classes, written in taxonomies of their own where a label does not stand for all below it.
fn form(cuts: &Cuts<'_>) -> Generalized {
    let mut quasi = cuts.table.quasi.clone();
    let mut own = false;
    let shown: Vec<Vec<Run>> = (0..quasi.len())
        .map(|dim| {
            let runs = cuts.runs(dim);
            let is_part =
                |&run: &Run| (run.first..=run.last).any(|leaf| cuts.shown(dim, leaf) != run);
            let leaves = 0..quasi[dim].taxonomy.leaves() as u32;
            if !runs.iter().any(is_part) {
                return leaves.map(|leaf| cuts.shown(dim, leaf)).collect();
            }
            own = true;
            let (attribute, shown) = derived(cuts, dim);
            quasi[dim] = attribute;
            shown
        })
        .collect();
    let form = cuts.form_as(&shown);
    if own { form.written_in(quasi, Shape::Regions) } else { form }
}

/// The attribute whose groups are what is shown, and the run in it that every leaf of the table's
/// shows.
fn derived(cuts: &Cuts<'_>, dim: usize) -> (Attribute, Vec<Run>) {
    let attribute = &cuts.table.quasi[dim];
    let taxonomy = &attribute.taxonomy;
    let label = |run: Run| taxonomy.label(run).into_owned();
    let mut shown = vec![Run::new(0, 0); taxonomy.leaves()];
    let (mut groups, mut exceptions, mut next) = (Vec::new(), Vec::new(), 0);
    let runs = cuts.runs(dim);
    for &run in &runs {
        let leaves = cuts.leaves(dim, run);
        let place = Run::new(next, next + leaves.len() as u32 - 1);
        next = place.last + 1;
        leaves.iter().for_each(|&leaf| shown[leaf as usize] = place);
        groups.push((
            label(run),
            leaves.iter().map(|&leaf| taxonomy.leaf(leaf).to_owned()).collect(),
        ));
        let within = |&other: &Run| other != run && run.covers(other);
        let apart: Vec<Run> = runs.iter().copied().filter(within).collect();
        let highest = |run: &&Run| !apart.iter().any(|other| other != *run && other.covers(**run));
        if !apart.is_empty() {
            exceptions
                .push((label(run), apart.iter().filter(highest).map(|&run| label(run)).collect()));
        }
    }
    let taxonomy = Arc::new(Taxonomy::of_groups(groups, exceptions).written_as(taxonomy));
    (Attribute { taxonomy, ..attribute.clone() }, shown)
}
