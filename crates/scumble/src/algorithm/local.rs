//! # local
//!
//! Groups records that are alike and improves the groups again and again: the least loss that a search can find.
//!
//! ## Method
//! Local recoding: every record is generalized only as far as its own class needs, and classes may overlap. What counts
//! is the loss of all cells together (GCP, see `scumble explain gcp`).
//!
//! Records that are equal in all quasi-identifiers and keep the models stand alone and lose nothing. The others start
//! in small parts of the space, where the two nearest groups are joined again and again until every group keeps the
//! models. Under models like t-closeness, which ask that a group be composed like the table, that leads to huge groups.
//! Then the table is cut from the top down instead: a group goes on to the children of its value in some quasi-identifier,
//! as many of their records as keep the models; records of kinds that a child has too many of stay behind, the
//! most unusual ones first, and what stays behind keeps the models too. If Mondrian, strict or relaxed, loses less than
//! either, its classes are the start.
//!
//! Then `effort` rounds of improvement. A round deals the groups into blocks of neighbours, differently each time, and
//! in its block tries for one group after the other:
//!
//! - to take it and one to four near groups apart and put their records together anew, from a random record on, each
//!   time adding the record that widens the group least for what it helps (or joining the nearest two groups, or cutting
//!   from the top); then records move to where they cost less;
//! - to open a new group around one of its records, drawing records from groups near by that lose much or can spare
//!   some. Groups that no longer keep the models are dissolved into others.
//!
//! What loses less is kept. Some of several equal records may go to one group and some to another; groups that come to
//! show the same region are one class.
//!
//! ## Guarantee
//! Every class keeps every model of the policy. No record is suppressed. The loss is never above that of Mondrian with
//! its default cut, strict or relaxed, and never rises with more rounds. It is not the least possible loss, which is
//! NP-hard to find. If even the whole table does not keep the models, the algorithm refuses; for a model that is not
//! monotone a search with a fixed seed is tried first, which proves nothing if it fails. The result depends on the seed,
//! not on the number of threads.
//!
//! ## Cost
//! A round takes time about proportional to the number of distinct rows, on all cores, and grows with the size of the
//! classes; memory of a few copies of the codes. There is no quadratic step. With the default effort and k = 5, two
//! cores took 0.32 s for Adult (30 162 records, GCP 0.0264), 3.2 s for KDD Cup (63 441 records, GCP 0.0573) and 1.8 s for
//! FARS (100 937 records, GCP 0.0401); with 3-diversity on Adult 1.0 s, with 0.2-closeness 7.2 s (bench/results).
//!
//! ## Departures from the paper
//! Xu et al. and Byun et al. build groups once, greedily. Here such a construction is the start and the step of a search
//! by ruin and recreate.
//!
//! ## Reference
//! Xu, Wang, Pei, Wang, Shi and Fu, "Utility-based anonymization using local recoding", 2006. Byun, Kamra, Bertino and
//! Li, "Efficient k-anonymization using clustering techniques", 2007. Schrimpf, Schneider, Stamm-Wilbrandt and Dueck,
//! "Record breaking optimization results using the ruin and recreate principle", 2000.

use super::{Algorithm, Goal, Progress, Refusal, mondrian};
use crate::catalogue::{Entry, Kind, Parameter, Parameters};
use crate::class::{EquivalenceClass, Histogram, Run};
use crate::problem::Problem;
use crate::publish::judge;
use crate::release::{Form, Generalized, Member, Members, Release};
use crate::table::{Attribute, Table, Tally, number_tuples};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use std::cmp::Reverse;
use std::collections::BTreeMap;

pub(super) const ENTRY: Entry<Box<dyn Algorithm>> = Entry {
    name: "local",
    summary: "local recoding: groups of near records, improved by search for the least loss",
    source: include_str!("local.rs"),
    parameters: &[Parameter {
        name: "effort",
        kind: Kind::Count(0),
        default: Some("6"),
        about: "rounds of improvement",
    }],
    build: |p| Ok(Box::new(Local { effort: p.count("effort") })),
};

struct Local {
    effort: u64,
}

/// Groups are improved in blocks of at most so many.
const BLOCK: usize = 96;
/// So many distinct points are joined bottom-up at a time at the start.
const START: usize = 160;
/// Attempts per group and round.
const TRIALS: usize = 2;
/// At most so many groups are taken apart together with one.
const NEIGHBOURS: usize = 4;
/// Groups of more lots than this together are cut instead of put together anew.
const POOL: usize = 200;
/// So many times the lots of a block are cut in a round.
const LARGE: usize = 8;
/// A new group is made from so many candidates.
const CANDIDATES: usize = 24;
/// Large groups are cut if there are at most so many combinations of sensitive values.
const KINDS: usize = 1000;
/// So many kinds of records are tried when some must be moved.
const TRIED: usize = 6;
/// Losses that differ by less are equal; they are computed in single precision.
const GAIN: f64 = 1e-6;

impl Algorithm for Local {
    fn anonymize(&self, table: &Table, goal: &Goal<'_>, seed: u64, progress: Progress<'_>) -> Result<Form, Refusal> {
        if table.rows() == 0 {
            return Ok(Form::Generalized(Generalized::new(Vec::new(), Vec::new())));
        }
        let search = Search::new(table, goal);
        let whole = search.group((0..search.units() as u32).map(|u| search.all_of(u)).collect());
        let reasons = goal.impossible(&search.class(&whole));
        let promises = goal.requirements.iter().map(|r| r.model.promise());
        if promises.clone().all(|p| p.monotone && !p.region && !p.wide) {
            return if reasons.is_empty() { Ok(self.search(&search, seed, progress)) } else { Err(Refusal(reasons)) };
        }
        // Classes that hold may break such a model when the recipient cannot tell them apart. Whether anything is found
        // must not depend on the seed.
        let kept = |form: &Form| {
            let judged = judge(&Release::of(table, form), goal.requirements);
            judged.is_ok_and(|judged| judged.iter().all(|j| j.holds))
        };
        let fallback =
            if reasons.is_empty() { search.form(vec![whole]) } else { self.search(&search, 0, &|_, _| true) };
        if !kept(&fallback) {
            let problem =
                Problem::new("`local` found no classes that keep the models; that does not say there are none");
            return Err(Refusal(if reasons.is_empty() { vec![problem] } else { reasons }));
        }
        let form = self.search(&search, seed, progress);
        Ok(if kept(&form) { form } else { fallback })
    }
}

impl Local {
    fn search(&self, search: &Search<'_>, seed: u64, progress: Progress<'_>) -> Form {
        let total = search.table.records();
        let mut groups = search.start(seed);
        for round in 1..=self.effort {
            groups = search.round(groups, seed, round);
            if !progress(total * round / (self.effort + 1), total) {
                break;
            }
        }
        search.form(groups)
    }
}

/// A generalized value while it is searched for. On an ordered scale the lowest and highest value; in a tree a value
/// and how many levels above it the node is.
type Cell = (u32, u32);

/// A quasi-identifier as the search sees it: only values that occur, numbered in the order of their codes.
enum Axis {
    /// Every run can be published. `place` is scaled so that a difference is a loss.
    Line { place: Vec<f32>, missing: u32 },
    /// Only nodes can. `up` and `loss` have one entry per value and level; `meet` tells the level of the lowest node over
    /// two values: for few values every two of them, for many the highest such level among 2^r neighbours, row by row.
    Tree { levels: usize, up: Vec<u32>, loss: Vec<f32>, values: usize, meet: Vec<u8> },
}

/// Trees with at most so many values get a table of meeting levels (this many squared bytes).
const TABLED: usize = 256;

/// The table of [`Axis::Tree`].
fn meetings(n: usize, levels: usize, up: &[u32]) -> Vec<u8> {
    let level = |a: usize, b: usize| (0..levels).find(|l| up[a * levels + l] == up[b * levels + l]).unwrap_or(0) as u8;
    if n <= TABLED {
        return (0..n).flat_map(|a| (0..n).map(move |b| (a, b))).map(|(a, b)| level(a, b)).collect();
    }
    let mut meet: Vec<u8> = (0..n).map(|a| level(a, (a + 1).min(n - 1))).collect();
    let mut reach = 1;
    while 2 * reach < n {
        let row = meet.len() - n;
        meet.extend((0..n).map(|a| meet[row + a].max(meet[row + (a + reach).min(n - 1)])).collect::<Vec<u8>>());
        reach *= 2;
    }
    meet
}

impl Axis {
    /// `values` are the codes that occur, rising.
    fn new(attribute: &Attribute, values: &[u32]) -> Axis {
        let t = &attribute.taxonomy;
        if t.is_ordered() {
            let domain = (t.size(t.root()) - 1).max(1) as f64;
            let start = t.position(values[0]);
            let place = values.iter().map(|&v| (t.position(v).abs_diff(start) as f64 / domain) as f32).collect();
            let missing = t.missing().and_then(|m| values.binary_search(&m).ok()).map_or(u32::MAX, |i| i as u32);
            return Axis::Line { place, missing };
        }
        let levels = t.levels() + 1;
        let runs: Vec<Run> = values.iter().flat_map(|&v| (0..levels).map(move |l| t.at_level(v, l))).collect();
        let up: Vec<u32> = runs.iter().map(|run| run.first).collect();
        let loss = runs.iter().map(|&run| t.loss(run) as f32).collect();
        let meet = meetings(values.len(), levels, &up);
        Axis::Tree { levels, up, loss, values: values.len(), meet }
    }

    /// The least general cell over both.
    #[inline]
    fn join(&self, a: Cell, b: Cell) -> Cell {
        match self {
            Axis::Line { .. } => (a.0.min(b.0), a.1.max(b.1)),
            Axis::Tree { values, meet, .. } => {
                let (x, y) = (a.0 as usize, b.0 as usize);
                let met = if *values <= TABLED {
                    meet[x * values + y]
                } else if x == y {
                    0
                } else {
                    // Leaves stand in depth-first order: two values meet where the farthest neighbours between them do.
                    let (first, last) = (x.min(y), x.max(y));
                    let row = (last - first).ilog2() as usize;
                    meet[row * values + first].max(meet[row * values + last - (1 << row)])
                };
                (a.0, a.1.max(b.1).max(u32::from(met)))
            }
        }
    }

    /// The cell of a value itself.
    fn cell(&self, value: u32) -> Cell {
        if self.is_tree() { (value, 0) } else { (value, value) }
    }

    fn is_tree(&self) -> bool {
        matches!(self, Axis::Tree { .. })
    }

    /// Which child of a cell a value is in; on a line, which half of the values.
    fn children(&self, cell: Cell, values: impl Iterator<Item = u32>) -> impl Fn(u32) -> u32 {
        let mut values: Vec<u32> = if self.is_tree() { Vec::new() } else { values.collect() };
        let half = values.len() / 2;
        let median = if values.is_empty() { 0 } else { *values.select_nth_unstable(half).1 };
        // The upper half begins at the median, unless that is the lowest value of all.
        let median = median.max(cell.0 + 1);
        move |value| match self {
            Axis::Line { missing, .. } if cell.1 == *missing => u32::from(value == *missing),
            Axis::Line { .. } => u32::from(value >= median),
            Axis::Tree { levels, up, .. } => up[value as usize * levels + (cell.1 as usize).saturating_sub(1)],
        }
    }

    #[inline]
    fn loss(&self, cell: Cell) -> f32 {
        match self {
            Axis::Line { missing, .. } if cell.1 == *missing => f32::from(u8::from(cell.0 < cell.1)),
            Axis::Line { place, .. } => place[cell.1 as usize] - place[cell.0 as usize],
            Axis::Tree { levels, loss, .. } => loss[cell.0 as usize * levels + cell.1 as usize],
        }
    }
}

/// Some records of one unit.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Lot {
    unit: u32,
    count: u32,
}

/// A class in the making.
#[derive(Clone)]
struct Group {
    lots: Vec<Lot>,
    region: Vec<Cell>,
    count: u64,
    /// Of one record: the sum over its quasi-identifiers.
    loss: f32,
    holds: bool,
}

impl Group {
    fn cost(&self) -> f64 {
        self.count as f64 * f64::from(self.loss)
    }
}

fn cost(groups: &[Group]) -> f64 {
    groups.iter().map(Group::cost).sum()
}

/// Groups with changes that are not made yet. A number behind the last group is a new one.
struct Draft<'a> {
    base: &'a [Group],
    changed: Vec<(usize, Option<Group>)>,
}

impl Draft<'_> {
    fn gain(&self) -> f64 {
        let before: f64 = self.changed.iter().filter_map(|(g, _)| self.base.get(*g)).map(Group::cost).sum();
        before - self.changed.iter().filter_map(|(_, g)| g.as_ref()).map(Group::cost).sum::<f64>()
    }

    fn is_changed(&self, group: usize) -> bool {
        self.changed.iter().any(|(c, _)| *c == group)
    }
}

/// Makes the changes of a draft.
fn commit(groups: &mut Vec<Group>, mut changed: Vec<(usize, Option<Group>)>) {
    // From behind, so that what is moved into a gap is not to be changed itself.
    changed.sort_unstable_by_key(|(g, _)| Reverse(*g));
    for (g, new) in changed {
        match new {
            Some(new) if g < groups.len() => groups[g] = new,
            Some(new) => groups.push(new),
            None => drop(groups.swap_remove(g)),
        }
    }
}

/// Lots of one unit become one.
fn combine(mut lots: Vec<Lot>) -> Vec<Lot> {
    lots.sort_unstable_by_key(|l| l.unit);
    lots.dedup_by(|next, kept| {
        next.unit == kept.unit && {
            kept.count += next.count;
            true
        }
    });
    lots
}

/// A lot that is still to be had.
struct Free {
    lot: Lot,
    /// Its loss counts so much, so that attempts differ.
    weight: f32,
    /// The group that does not need it and takes it back if nobody does.
    home: Option<usize>,
}

/// One run of the algorithm.
///
/// A *unit* is what the search cannot tell apart: records with equal quasi-identifiers if sizes alone decide, otherwise
/// a distinct row.
struct Search<'a> {
    table: &'a Table,
    goal: &'a Goal<'a>,
    axes: Vec<Axis>,
    /// Codes that occur, per quasi-identifier.
    values: Vec<Vec<u32>>,
    /// The cells of every unit.
    points: Vec<Cell>,
    counts: Vec<u32>,
    /// The rows of every unit, and the unit of every row.
    rows: Vec<Vec<u32>>,
    unit_of: Vec<u32>,
    /// Number of each unit's combination of sensitive values; empty if sizes alone decide.
    kinds: Vec<u32>,
    /// Share of every kind in the table, and a row of it.
    shares: Vec<f64>,
    row_of_kind: Vec<u32>,
    /// How unusual the values of every unit are.
    rarity: Vec<f32>,
    least: u64,
    sizes: bool,
    /// Whether some model looks at regions.
    regions: bool,
}

/// Numbers the distinct rows of some columns.
fn number(attributes: &[Attribute], columns: &[Vec<u32>]) -> (Vec<u32>, usize) {
    let columns: Vec<&[u32]> = columns.iter().map(Vec::as_slice).collect();
    let leaves: Vec<u64> = attributes.iter().map(|a| a.taxonomy.leaves() as u64).collect();
    let (numbers, firsts) = number_tuples(&columns, &leaves);
    (numbers, firsts.len())
}

/// How unusual the quasi-identifiers of every row are.
fn rarity(table: &Table) -> Vec<f32> {
    let mut rarity = vec![0f32; table.rows()];
    for (attribute, codes) in table.quasi.iter().zip(&table.quasi_codes) {
        let mut records = vec![0f32; attribute.taxonomy.leaves()];
        codes.iter().zip(&table.counts).for_each(|(&code, &n)| records[code as usize] += n as f32);
        rarity.iter_mut().zip(codes).for_each(|(r, &code)| *r -= records[code as usize].ln());
    }
    rarity
}

fn distinct(codes: &[u32]) -> Vec<u32> {
    let mut values = codes.to_vec();
    values.par_sort_unstable();
    values.dedup();
    values
}

impl<'a> Search<'a> {
    fn new(table: &'a Table, goal: &'a Goal<'a>) -> Search<'a> {
        let sizes = goal.size_decides();
        let (unit_of, units) = if sizes {
            number(&table.quasi, &table.quasi_codes)
        } else {
            ((0..table.rows() as u32).collect(), table.rows())
        };
        let mut rows = vec![Vec::new(); units];
        (0u32..).zip(&unit_of).for_each(|(row, &unit)| rows[unit as usize].push(row));
        let counts = rows.iter().map(|rows| rows.iter().map(|&r| table.counts[r as usize]).sum()).collect();
        let values: Vec<Vec<u32>> = table.quasi_codes.iter().map(|codes| distinct(codes)).collect();
        let axes: Vec<Axis> = table.quasi.iter().zip(&values).map(|(a, v)| Axis::new(a, v)).collect();
        let mut points = Vec::with_capacity(units * axes.len());
        for unit in &rows {
            for ((axis, values), codes) in axes.iter().zip(&values).zip(&table.quasi_codes) {
                let code = codes[unit[0] as usize];
                points.push(axis.cell(values.partition_point(|&v| v < code) as u32));
            }
        }
        let (kinds, of_kind) = if sizes { (Vec::new(), 0) } else { number(&table.sensitive, &table.sensitive_codes) };
        let (mut shares, mut row_of_kind) = (vec![0.0; of_kind], vec![0; of_kind]);
        for (row, &kind) in (0u32..).zip(&kinds) {
            shares[kind as usize] += f64::from(table.counts[row as usize]) / table.records() as f64;
            row_of_kind[kind as usize] = row;
        }
        let rarity = if sizes { Vec::new() } else { rarity(table) };
        let (least, regions) = (goal.least(), goal.needs_regions());
        Search {
            table,
            goal,
            axes,
            values,
            points,
            counts,
            rows,
            unit_of,
            kinds,
            shares,
            row_of_kind,
            rarity,
            least,
            sizes,
            regions,
        }
    }

    /// Whether large groups are worth cutting by what they are composed of: where sizes decide joining does better, and
    /// among too many kinds of records it takes too long.
    fn can_be_cut(&self) -> bool {
        !self.sizes && self.shares.len() <= KINDS
    }

    fn units(&self) -> usize {
        self.counts.len()
    }

    fn all_of(&self, unit: u32) -> Lot {
        Lot { unit, count: self.counts[unit as usize] }
    }

    fn point(&self, unit: u32) -> &[Cell] {
        let d = self.axes.len();
        &self.points[unit as usize * d..(unit as usize + 1) * d]
    }

    /// The loss of a record of the smallest region over both.
    #[inline]
    fn joint_loss(&self, a: &[Cell], b: &[Cell]) -> f32 {
        self.axes.iter().zip(a).zip(b).map(|((axis, &a), &b)| axis.loss(axis.join(a, b))).sum()
    }

    fn loss(&self, region: &[Cell]) -> f32 {
        self.axes.iter().zip(region).map(|(axis, &cell)| axis.loss(cell)).sum()
    }

    fn widen(&self, region: &mut [Cell], by: &[Cell]) {
        for ((axis, a), &b) in self.axes.iter().zip(region).zip(by) {
            *a = axis.join(*a, b);
        }
    }

    /// What a group would lose in all, beyond now, with this lot in it.
    fn extra(&self, group: &Group, lot: Lot) -> f64 {
        let joint = self.joint_loss(&group.region, self.point(lot.unit));
        (group.count + u64::from(lot.count)) as f64 * f64::from(joint) - group.cost()
    }

    /// The smallest region over some lots. The lowest node over several leaves is that over the first and the last.
    fn cover(&self, lots: &[Lot]) -> Vec<Cell> {
        let mut ends: Vec<(u32, u32)> = self.point(lots[0].unit).iter().map(|c| (c.0, c.0)).collect();
        for lot in &lots[1..] {
            for (end, cell) in ends.iter_mut().zip(self.point(lot.unit)) {
                *end = (end.0.min(cell.0), end.1.max(cell.0));
            }
        }
        ends.into_iter().zip(&self.axes).map(|((a, b), axis)| axis.join(axis.cell(a), axis.cell(b))).collect()
    }

    fn group(&self, lots: Vec<Lot>) -> Group {
        let region = self.cover(&lots);
        let count = lots.iter().map(|l| u64::from(l.count)).sum();
        let loss = self.loss(&region);
        let mut group = Group { lots, region, count, loss, holds: false };
        group.holds = self.holds(&group);
        group
    }

    /// The group with more in it.
    fn extend(&self, group: &mut Group, lots: &[Lot], region: &[Cell]) {
        group.lots.extend(lots);
        group.count += lots.iter().map(|l| u64::from(l.count)).sum::<u64>();
        self.widen(&mut group.region, region);
        group.loss = self.loss(&group.region);
        group.holds = self.holds(group);
    }

    fn holds(&self, group: &Group) -> bool {
        group.count >= self.least && (self.sizes || self.goal.holds(&self.class(group)))
    }

    /// What a recipient would see of the group.
    fn class(&self, group: &Group) -> EquivalenceClass {
        let histogram = |codes: &Vec<u32>| {
            let rows = group.lots.iter().flat_map(|l| self.rows_of(*l));
            Histogram::of(rows.map(|m| (codes[m.row as usize], u64::from(m.count))))
        };
        let histograms = self.table.sensitive_codes.iter().map(histogram).collect();
        let region = if self.regions { self.runs(&group.region) } else { Vec::new() };
        EquivalenceClass { region, count: group.count, histograms }
    }

    /// Rows with as many records as the lot, from the unit's first on.
    fn rows_of(&self, lot: Lot) -> impl Iterator<Item = Member> {
        let mut left = lot.count;
        self.rows[lot.unit as usize].iter().map_while(move |&row| {
            let count = left.min(self.table.counts[row as usize]);
            left -= count;
            (count > 0).then_some(Member { row, count })
        })
    }

    fn runs(&self, region: &[Cell]) -> Vec<Run> {
        let run = |(d, &cell): (usize, &Cell)| {
            let (t, values) = (&self.table.quasi[d].taxonomy, &self.values[d]);
            if t.is_ordered() {
                t.cover(Run::new(values[cell.0 as usize], values[cell.1 as usize]))
            } else {
                t.at_level(values[cell.0 as usize], cell.1 as usize)
            }
        };
        region.iter().enumerate().map(run).collect()
    }

    /// The groups to begin with.
    fn start(&self, seed: u64) -> Vec<Group> {
        let mut best = self.bottom_up(seed);
        if self.can_be_cut() {
            let whole = (0..self.units() as u32).map(|u| self.all_of(u)).collect();
            let groups = self.top_down(self.group(whole), seed);
            // Many small groups are the better start for what follows, even if they lose somewhat more.
            if cost(&groups) * 1.5 < cost(&best) && groups.iter().all(|g| g.holds) {
                best = groups;
            }
        }
        for partition in ["strict", "relaxed"] {
            let groups = self.mondrian(partition, seed);
            if !groups.is_empty() && (cost(&groups) < cost(&best) || best.iter().any(|g| !g.holds)) {
                best = groups;
            }
        }
        best
    }

    /// Points that hold stand alone; the others are joined in small parts of the space.
    fn bottom_up(&self, seed: u64) -> Vec<Group> {
        let mut order: Vec<u32> = (0..self.units() as u32).collect();
        order.par_sort_unstable_by_key(|&u| (self.point(u), u));
        let points = order.chunk_by(|&a, &b| self.point(a) == self.point(b));
        let points = points.map(|units| self.group(units.iter().map(|&u| self.all_of(u)).collect()));
        let (alone, open): (Vec<Group>, Vec<Group>) = points.partition(|g| g.holds);
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let join = |(block, seed): (Vec<Group>, u64)| {
            let lots = block.into_iter().flat_map(|g| g.lots).collect();
            self.agglomerate(lots, 0.0, Nearness::Loss, &mut ChaCha8Rng::seed_from_u64(seed))
        };
        let mut groups: Vec<Group> =
            self.blocks(open, START, &mut rng).into_par_iter().flat_map_iter(join).chain(alone).collect();
        // What is left over in one part joins what is near in others.
        while groups.len() > 1 && groups.iter().any(|g| !g.holds) {
            let blocks = self.blocks(groups, BLOCK, &mut rng);
            groups = blocks.into_par_iter().flat_map_iter(|(block, _)| self.settle(block)).collect();
        }
        groups
    }

    /// Cuts a group again and again, as long as that loses less. Chance has a hand in the choice among cuts.
    fn top_down(&self, group: Group, seed: u64) -> Vec<Group> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let cuts: Vec<Option<Vec<Group>>> = (0..self.axes.len()).into_par_iter().map(|d| self.cut(&group, d)).collect();
        let scored = cuts.into_iter().flatten().map(|parts| (cost(&parts) * rng.random_range(1.0..1.1), parts));
        let best = scored.min_by(|a, b| a.0.total_cmp(&b.0));
        let Some((_, parts)) = best.filter(|(_, parts)| cost(parts) < group.cost() * 0.999 - GAIN) else {
            return vec![group];
        };
        let parts: Vec<(Group, u64)> = parts.into_iter().map(|g| (g, rng.random())).collect();
        parts.into_par_iter().flat_map_iter(|(g, seed)| self.top_down(g, seed)).collect()
    }

    /// The parts of a group below the children of its cell, as much of them as holds; what is too much in one of them
    /// stays behind, and must hold too.
    fn cut(&self, group: &Group, d: usize) -> Option<Vec<Group>> {
        let mut pieces: BTreeMap<u32, Vec<Lot>> = BTreeMap::new();
        let key = self.axes[d].children(group.region[d], group.lots.iter().map(|l| self.point(l.unit)[d].0));
        for lot in &group.lots {
            pieces.entry(key(self.point(lot.unit)[d].0)).or_default().push(*lot);
        }
        if pieces.len() < 2 {
            return None;
        }
        let mut behind = Part::new(self, Vec::new());
        let mut parts: Vec<Part<'_>> = Vec::new();
        for lots in pieces.into_values() {
            let mut part = Part::new(self, lots);
            part.trim(&mut behind);
            if part.tally.count > 0 {
                parts.push(part);
            }
        }
        while behind.tally.count > 0 && !behind.holds() {
            if !behind.replenish(&mut parts) {
                let least = (0..parts.len()).min_by_key(|&i| parts[i].tally.count)?;
                parts.swap_remove(least).give(&mut behind);
            }
        }
        let groups = parts.into_iter().chain([behind]).filter(|p| p.tally.count > 0);
        Some(groups.map(|p| self.group(p.lots())).collect())
    }

    fn mondrian(&self, partition: &str, seed: u64) -> Vec<Group> {
        let given = BTreeMap::from([("partition".to_owned(), partition.to_owned())]);
        let entry = mondrian::ENTRY;
        let made = Parameters::read(entry.name, entry.parameters, &given).ok().and_then(|p| (entry.build)(&p).ok());
        let form = made.and_then(|m| m.anonymize(self.table, self.goal, seed, &|_, _| true).ok());
        let Some(Form::Generalized(form)) = form else { return Vec::new() };
        let lot = |m: &Member| Lot { unit: self.unit_of[m.row as usize], count: m.count };
        form.classes.iter().map(|c| self.group(combine(c.members.iter().map(lot).collect()))).collect()
    }

    fn round(&self, groups: Vec<Group>, seed: u64, round: u64) -> Vec<Group> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(round);
        let blocks = self.blocks(groups, BLOCK, &mut rng);
        let improve = |(block, seed)| self.improve(block, &mut ChaCha8Rng::seed_from_u64(seed));
        blocks.into_par_iter().flat_map_iter(improve).collect()
    }

    /// Deals groups that are near each other into blocks, each with a seed of its own.
    fn blocks(&self, groups: Vec<Group>, most: usize, rng: &mut ChaCha8Rng) -> Vec<(Vec<Group>, u64)> {
        let place = |(i, g): (u32, &Group)| (i, g.lots[rng.random_range(0..g.lots.len())].unit);
        let mut order: Vec<(u32, u32)> = (0u32..).zip(&groups).map(place).collect();
        let sizes = self.divide(&mut order, most, rng.random());
        let mut groups: Vec<Option<Group>> = groups.into_iter().map(Some).collect();
        let mut rest = order.into_iter();
        let mut block = |n: usize| rest.by_ref().take(n).filter_map(|(i, _)| groups[i as usize].take()).collect();
        sizes.into_iter().map(|n| (block(n), rng.random())).collect()
    }

    /// Orders pairs of a group and a unit of it so that neighbours stand together, by cutting the space at places that
    /// chance has a hand in; the sizes of the parts.
    fn divide(&self, order: &mut [(u32, u32)], most: usize, seed: u64) -> Vec<usize> {
        if order.len() <= most {
            return vec![order.len()];
        }
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let dim = self.widest(order, &mut rng);
        let cell = |&(_, unit): &(u32, u32)| self.point(unit)[dim];
        order.sort_unstable_by_key(|o| (cell(o), *o));
        // The higher two neighbours meet in the tree, the better they are parted; but parts should be of like size.
        let (axis, target) = (&self.axes[dim], rng.random_range(0.35..0.65f32));
        let mut best = (f32::NEG_INFINITY, order.len() / 2);
        for i in 1..order.len() {
            let (a, b) = (cell(&order[i - 1]), cell(&order[i]));
            if a != b {
                let off = i as f32 / order.len() as f32 - target;
                let score = if axis.is_tree() { axis.loss(axis.join(a, b)) } else { 0.0 } - 4.0 * off * off;
                if score > best.0 {
                    best = (score, i);
                }
            }
        }
        let (a, b) = order.split_at_mut(best.1);
        let seeds: [u64; 2] = [rng.random(), rng.random()];
        let (mut a, b) = rayon::join(|| self.divide(a, most, seeds[0]), || self.divide(b, most, seeds[1]));
        a.extend(b);
        a
    }

    /// The quasi-identifier in which two records of these differ most, about.
    fn widest(&self, order: &[(u32, u32)], rng: &mut ChaCha8Rng) -> usize {
        let mut widths = vec![0f32; self.axes.len()];
        for _ in 0..32 {
            let [a, b] = [0; 2].map(|_| self.point(order[rng.random_range(0..order.len())].1));
            for (((width, axis), &a), &b) in widths.iter_mut().zip(&self.axes).zip(a).zip(b) {
                *width += axis.loss(axis.join(a, b));
            }
        }
        widths.iter_mut().for_each(|w| *w *= rng.random_range(0.3..1.0f32));
        (0..widths.len()).max_by(|&a, &b| widths[a].total_cmp(&widths[b])).unwrap_or(0)
    }

    /// Joins groups that do not hold with what is nearest, until all do or one is left.
    fn settle(&self, mut groups: Vec<Group>) -> Vec<Group> {
        while groups.len() > 1
            && let Some(i) = groups.iter().position(|g| !g.holds)
        {
            let open = groups.swap_remove(i);
            let extra = |g: &Group| {
                (open.count + g.count) as f64 * f64::from(self.joint_loss(&open.region, &g.region)) - g.cost()
            };
            let near = (0..groups.len()).min_by(|&a, &b| extra(&groups[a]).total_cmp(&extra(&groups[b])));
            if let Some(g) = near {
                let mut lots = std::mem::take(&mut groups[g].lots);
                lots.extend(open.lots);
                groups[g] = self.group(combine(lots));
            }
        }
        groups
    }

    /// Tries to lose less within a block.
    fn improve(&self, mut groups: Vec<Group>, rng: &mut ChaCha8Rng) -> Vec<Group> {
        let trials = groups.iter().filter(|g| g.loss > 0.0).count() * TRIALS;
        let mut room = LARGE * groups.iter().map(|g| g.lots.len()).sum::<usize>();
        for _ in 0..trials {
            let i = rng.random_range(0..groups.len());
            if groups[i].loss == 0.0 {
                continue;
            }
            if rng.random_bool(0.3) {
                self.open(&mut groups, i, rng);
            } else {
                self.rebuild(&mut groups, i, &mut room, rng);
            }
        }
        groups
    }

    /// Takes a group and some near ones apart and puts them together anew.
    fn rebuild(&self, groups: &mut Vec<Group>, i: usize, room: &mut usize, rng: &mut ChaCha8Rng) {
        let number = rng.random_range(1..=NEIGHBOURS);
        let mut chosen = self.near(groups, i, number, rng);
        chosen.push(i);
        let lots = combine(chosen.iter().flat_map(|&g| groups[g].lots.iter().copied()).collect());
        let large = lots.len() > POOL;
        if large {
            if !self.can_be_cut() || lots.len() > *room {
                return;
            }
            *room -= lots.len();
        }
        let limit = chosen.iter().map(|&g| groups[g].cost()).sum::<f64>() - GAIN;
        let mut new = if large || (self.can_be_cut() && rng.random_bool(0.1)) {
            self.top_down(self.group(lots), rng.random())
        } else if self.sizes && rng.random_bool(0.2) {
            let noise = [0.0, 0.3, 1.0][rng.random_range(0..3)];
            self.agglomerate(lots, noise, Nearness::Region, rng)
        } else {
            let Some(new) = self.grow(lots, limit, rng) else { return };
            new
        };
        if !large {
            self.relocate(&mut new);
        }
        if cost(&new) <= limit && new.iter().all(|g| g.holds) {
            chosen.sort_unstable_by_key(|&g| Reverse(g));
            chosen.into_iter().for_each(|g| drop(groups.swap_remove(g)));
            groups.extend(new);
        }
    }

    /// The groups that are nearest to one of them, by one of several measures.
    fn near(&self, groups: &[Group], i: usize, number: usize, rng: &mut ChaCha8Rng) -> Vec<usize> {
        let own = &groups[i];
        let lot = Lot { count: 1, ..own.lots[rng.random_range(0..own.lots.len())] };
        let point = self.point(lot.unit);
        let way = rng.random_range(0..3);
        let score = |g: &Group| match way {
            0 => (own.count + g.count) as f32 * self.joint_loss(&own.region, &g.region) - g.cost() as f32,
            1 => self.extra(g, lot) as f32,
            _ => g.lots.iter().map(|l| self.joint_loss(point, self.point(l.unit))).fold(f32::INFINITY, f32::min),
        };
        let others = groups.iter().enumerate().filter(|&(j, _)| j != i);
        let mut scores: Vec<(f32, usize)> = others.map(|(j, g)| (score(g), j)).collect();
        if number < scores.len() {
            scores.select_nth_unstable_by(number, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        }
        scores.into_iter().take(number).map(|(_, j)| j).collect()
    }

    /// Joins the two nearest clusters, one of which does not hold, again and again until all do.
    fn agglomerate(&self, lots: Vec<Lot>, noise: f32, by: Nearness, rng: &mut ChaCha8Rng) -> Vec<Group> {
        let clusters: Vec<Group> = lots.into_iter().map(|lot| self.group(vec![lot])).collect();
        let weights = clusters.iter().map(|_| 1.0 + noise * rng.random::<f32>()).collect();
        let alive: Vec<usize> = (0..clusters.len()).collect();
        let nearest = vec![(f32::INFINITY, usize::MAX); clusters.len()];
        let mut joining = Joining { search: self, by, clusters, weights, alive, nearest };
        (0..joining.clusters.len()).for_each(|i| joining.find_nearest(i));
        while joining.join_next() {}
        let mut clusters: Vec<Option<Group>> = joining.clusters.into_iter().map(Some).collect();
        joining.alive.into_iter().filter_map(|i| clusters[i].take()).collect()
    }

    /// Grows one group after the other from a random record, by the record that widens it least; nothing if that loses
    /// more than the limit.
    fn grow(&self, lots: Vec<Lot>, limit: f64, rng: &mut ChaCha8Rng) -> Option<Vec<Group>> {
        let (mut groups, mut free) = self.set_free(lots, rng);
        let pull = [0.25, 1.0, 4.0][rng.random_range(0..3)];
        let mut lost = 0.0;
        while let Some(i) = free.iter().rposition(|f| f.home.is_none()) {
            let mut group = self.seed(&mut free, i);
            while !group.holds {
                let next = if self.sizes { self.nearest(&group, &free) } else { self.helpful(&group, &free, pull) };
                let Some((i, count)) = next else { break };
                let lot = take(&mut free, i, count);
                self.extend(&mut group, &[lot], self.point(lot.unit));
            }
            lost += group.cost();
            if lost > limit {
                return None;
            }
            group.lots = combine(group.lots);
            groups.push(group);
        }
        for Free { lot, home, .. } in free {
            if let Some(home) = home {
                groups[home].lots[0].count += lot.count;
                groups[home].count += u64::from(lot.count);
            }
        }
        // Only the last one can have failed.
        if groups.len() > 1
            && let Some(last) = groups.pop_if(|g| !g.holds)
        {
            let mut draft = Draft { base: &groups, changed: Vec::new() };
            let housed = last.lots.iter().all(|&lot| self.house(&mut draft, lot));
            let changed = draft.changed;
            if !housed {
                groups.push(last);
                return Some(self.settle(groups));
            }
            commit(&mut groups, changed);
        }
        Some(groups)
    }

    /// The lots in random order. Where sizes decide, what can stand alone does so, and lends what it does not need.
    fn set_free(&self, mut lots: Vec<Lot>, rng: &mut ChaCha8Rng) -> (Vec<Group>, Vec<Free>) {
        let noise = [0.0, 0.3][rng.random_range(0..2)];
        lots.shuffle(rng);
        let (mut groups, mut free) = (Vec::new(), Vec::with_capacity(lots.len()));
        for mut lot in lots {
            let mut home = None;
            if self.sizes && u64::from(lot.count) >= self.least {
                home = Some(groups.len());
                groups.push(self.group(vec![Lot { count: self.least as u32, ..lot }]));
                lot.count -= self.least as u32;
            }
            if lot.count > 0 {
                free.push(Free { lot, weight: 1.0 + noise * rng.random::<f32>(), home });
            }
        }
        (groups, free)
    }

    /// A group of one lot, or of one of its records if that is nearer the goal.
    fn seed(&self, free: &mut Vec<Free>, i: usize) -> Group {
        let nobody = EquivalenceClass {
            region: self.runs(self.point(free[i].lot.unit)),
            count: 0,
            histograms: vec![Histogram::default(); self.table.sensitive.len()],
        };
        let count = if self.sizes { free[i].lot.count } else { self.best_count(&nobody, free[i].lot).1 };
        let lot = take(free, i, count);
        self.group(vec![lot])
    }

    /// The free lot that widens the group least, and how many records of it.
    fn nearest(&self, group: &Group, free: &[Free]) -> Option<(usize, u32)> {
        let mut best = (f32::INFINITY, usize::MAX);
        for (i, f) in free.iter().enumerate() {
            let score = self.joint_loss(&group.region, self.point(f.lot.unit)) * f.weight;
            if score < best.0 {
                best = (score, i);
            }
        }
        let f = free.get(best.1)?;
        let need = u32::try_from(self.least - group.count).unwrap_or(u32::MAX);
        Some((best.1, if f.home.is_some() { f.lot.count.min(need) } else { f.lot.count }))
    }

    /// The free lot that widens the group little and brings it nearer the goal, and how many records of it.
    fn helpful(&self, group: &Group, free: &[Free], pull: f64) -> Option<(usize, u32)> {
        let mut kinds: Vec<(u32, f32, usize)> = Vec::new();
        for (i, f) in free.iter().enumerate() {
            let score = self.joint_loss(&group.region, self.point(f.lot.unit)) * f.weight;
            let kind = self.kinds[f.lot.unit as usize];
            match kinds.binary_search_by_key(&kind, |k| k.0) {
                Ok(at) if kinds[at].1 <= score => {}
                Ok(at) => kinds[at] = (kind, score, i),
                Err(at) => kinds.insert(at, (kind, score, i)),
            }
        }
        kinds.sort_unstable_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
        kinds.truncate(CANDIDATES);
        let class = self.class(group);
        let mut best = (f64::INFINITY, None);
        for (_, score, i) in kinds {
            let (shortfall, count) = self.best_count(&class, free[i].lot);
            let score = f64::from(score) + pull * shortfall;
            if score < best.0 {
                best = (score, Some((i, count)));
            }
        }
        best.1
    }

    /// Whether all records of a lot or one of them bring the class nearer the goal, and how near.
    fn best_count(&self, class: &EquivalenceClass, lot: Lot) -> (f64, u32) {
        let shortfall = |count: u32| {
            let mut class = class.clone();
            class.count += u64::from(count);
            let row = self.rows[lot.unit as usize][0] as usize;
            for (histogram, codes) in class.histograms.iter_mut().zip(&self.table.sensitive_codes) {
                match histogram.0.binary_search_by_key(&codes[row], |&(code, _)| code) {
                    Ok(i) => histogram.0[i].1 += u64::from(count),
                    Err(i) => histogram.0.insert(i, (codes[row], u64::from(count))),
                }
            }
            self.goal.shortfall(&class)
        };
        let all = shortfall(lot.count);
        let one = if lot.count > 1 { shortfall(1) } else { all };
        if one < all { (one, 1) } else { (all, lot.count) }
    }

    /// Moves records to groups where they lose less, out of groups that hold without them.
    fn relocate(&self, groups: &mut [Group]) {
        for g in 0..groups.len() {
            let mut l = 0;
            while l < groups[g].lots.len() && groups[g].loss > 0.0 && groups[g].count > self.least {
                if !self.relocate_lot(groups, g, l) {
                    l += 1;
                }
            }
        }
    }

    fn relocate_lot(&self, groups: &mut [Group], g: usize, l: usize) -> bool {
        let own = &groups[g];
        let spare = u32::try_from(own.count - self.least).unwrap_or(u32::MAX);
        let mut lot = own.lots[l];
        if self.sizes {
            lot.count = lot.count.min(spare);
        }
        if lot.count > spare || own.lots.len() == 1 {
            return false;
        }
        let mut lots = own.lots.clone();
        lots[l].count -= lot.count;
        lots.retain(|l| l.count > 0);
        let left = self.group(lots);
        let others = (0..groups.len()).filter(|&h| h != g).map(|h| (self.extra(&groups[h], lot), h));
        let Some((extra, h)) = others.min_by(|a, b| a.0.total_cmp(&b.0)) else { return false };
        if !left.holds || extra > own.cost() - left.cost() - GAIN {
            return false;
        }
        let mut lots = groups[h].lots.clone();
        lots.push(lot);
        let more = self.group(combine(lots));
        if !more.holds {
            return false;
        }
        (groups[g], groups[h]) = (left, more);
        true
    }

    /// Makes a new group around a record of a group; groups that break are dissolved. Done if it loses less.
    fn open(&self, groups: &mut Vec<Group>, i: usize, rng: &mut ChaCha8Rng) {
        let seed = groups[i].lots[rng.random_range(0..groups[i].lots.len())];
        let Some((new, taken)) = self.gather(groups, i, seed) else { return };
        let mut draft = Draft { base: groups, changed: vec![(groups.len(), Some(new))] };
        let mut homeless: Vec<Lot> = Vec::new();
        for part in taken.chunk_by(|a, b| a.0 == b.0) {
            let g = part[0].0;
            let mut lots = groups[g].lots.clone();
            for (_, t) in part {
                lots.iter_mut().filter(|l| l.unit == t.unit).for_each(|l| l.count -= t.count);
            }
            lots.retain(|l| l.count > 0);
            let mut left = (!lots.is_empty()).then(|| self.group(lots));
            if let Some(broken) = left.take_if(|left| !left.holds) {
                homeless.extend(broken.lots);
            }
            draft.changed.push((g, left));
        }
        let housed = homeless.into_iter().all(|lot| draft.gain() > GAIN && self.house(&mut draft, lot));
        if housed && draft.gain() > GAIN {
            let changed = draft.changed;
            commit(groups, changed);
        }
    }

    /// A group around a lot of group `i`, and what was taken for it from which group, in their order. Records of groups
    /// that lose much are preferred.
    fn gather(&self, groups: &[Group], i: usize, seed: Lot) -> Option<(Group, Vec<(usize, Lot)>)> {
        let mut near: Vec<(f32, usize, Lot)> = Vec::with_capacity(8 * groups.len());
        for (g, group) in groups.iter().enumerate() {
            for lot in group.lots.iter().filter(|lot| g != i || lot.unit != seed.unit) {
                let joint = self.joint_loss(self.point(seed.unit), self.point(lot.unit));
                near.push((joint - 0.5 * group.loss, g, *lot));
            }
        }
        if CANDIDATES < near.len() {
            let order = |n: &(f32, usize, Lot)| (n.1, n.2.unit);
            near.select_nth_unstable_by(CANDIDATES, |a, b| a.0.total_cmp(&b.0).then(order(a).cmp(&order(b))));
            near.truncate(CANDIDATES);
        }
        let mut new = self.group(vec![seed]);
        let mut taken = vec![(i, seed)];
        while !new.holds {
            let score = |&(_, g, lot): &(f32, usize, Lot)| {
                self.joint_loss(&new.region, self.point(lot.unit)) * (new.count as f32 + 1.0) - groups[g].loss
            };
            let next = (0..near.len()).min_by(|&a, &b| score(&near[a]).total_cmp(&score(&near[b])))?;
            let (_, g, mut lot) = near.swap_remove(next);
            let spare = u32::try_from(groups[g].count.saturating_sub(self.least)).unwrap_or(u32::MAX);
            if self.sizes && spare > 0 {
                lot.count = lot.count.min(spare).min(u32::try_from(self.least - new.count).unwrap_or(u32::MAX));
            }
            taken.push((g, lot));
            self.extend(&mut new, &[lot], self.point(lot.unit));
        }
        new.lots = combine(new.lots);
        taken.sort_unstable_by_key(|(g, lot)| (*g, lot.unit));
        Some((new, taken))
    }

    /// Adds a lot to the group where it costs least and breaks nothing.
    fn house(&self, draft: &mut Draft<'_>, lot: Lot) -> bool {
        let kept = draft.base.iter().enumerate().filter(|(g, _)| !draft.is_changed(*g));
        let changed = draft.changed.iter().filter_map(|(g, group)| Some((*g, group.as_ref()?)));
        let mut places: Vec<(f64, usize)> = kept.chain(changed).map(|(g, group)| (self.extra(group, lot), g)).collect();
        for _ in 0..6 {
            let next = (0..places.len()).min_by(|&a, &b| places[a].0.total_cmp(&places[b].0));
            let Some((_, g)) = next.map(|n| places.swap_remove(n)) else { return false };
            let at = draft.changed.iter().position(|(c, _)| *c == g);
            let group = at.map_or(draft.base.get(g), |at| draft.changed[at].1.as_ref());
            let mut lots = group.map_or_else(Vec::new, |g| g.lots.clone());
            lots.push(lot);
            let more = self.group(combine(lots));
            if more.holds {
                match at {
                    Some(at) => draft.changed[at].1 = Some(more),
                    None => draft.changed.push((g, Some(more))),
                }
                return true;
            }
        }
        false
    }

    /// The groups with their rows. Those of a unit are handed out in their order.
    fn form(&self, groups: Vec<Group>) -> Form {
        let mut given = vec![(0usize, 0u32); self.units()];
        let mut members = |lot: &Lot| {
            let (at, used) = &mut given[lot.unit as usize];
            let (mut want, mut members) = (lot.count, Vec::new());
            while want > 0 {
                let row = self.rows[lot.unit as usize][*at];
                let have = self.table.counts[row as usize] - *used;
                let count = have.min(want);
                members.push(Member { row, count });
                want -= count;
                (*at, *used) = if count == have { (*at + 1, 0) } else { (*at, *used + count) };
            }
            members
        };
        let class = |g: Group| Members {
            region: self.runs(&g.region).into(),
            members: g.lots.iter().flat_map(&mut members).collect(),
        };
        Form::Generalized(Generalized::new(groups.into_iter().map(class).collect(), Vec::new()))
    }
}

/// Takes records out of a free lot.
fn take(free: &mut Vec<Free>, i: usize, count: u32) -> Lot {
    let lot = Lot { count, ..free[i].lot };
    free[i].lot.count -= count;
    if free[i].lot.count == 0 {
        free.swap_remove(i);
    }
    lot
}

/// Records by kind, and how they are composed.
struct Part<'a> {
    search: &'a Search<'a>,
    /// The rarest last.
    kinds: BTreeMap<u32, (u64, Vec<Lot>)>,
    tally: Tally<'a>,
    region: Vec<Run>,
}

impl<'a> Part<'a> {
    fn new(search: &'a Search<'a>, lots: Vec<Lot>) -> Part<'a> {
        let region =
            if lots.is_empty() || !search.regions { search.table.top() } else { search.runs(&search.cover(&lots)) };
        let mut part = Part { search, kinds: BTreeMap::new(), tally: Tally::new(search.table), region };
        lots.into_iter().for_each(|lot| part.add(lot));
        part.kinds.values_mut().for_each(|(_, lots)| {
            lots.sort_unstable_by(|a, b| {
                let rarity = |l: &Lot| search.rarity[l.unit as usize];
                rarity(a).total_cmp(&rarity(b)).then(a.unit.cmp(&b.unit))
            })
        });
        part
    }

    fn add(&mut self, lot: Lot) {
        let (count, lots) = self.kinds.entry(self.search.kinds[lot.unit as usize]).or_default();
        *count += u64::from(lot.count);
        lots.push(lot);
        self.tally.add(lot.unit, lot.count.into());
    }

    /// Moves records of a kind to another part, the rarest first.
    fn hand(&mut self, kind: u32, number: u64, to: &mut Part<'a>) {
        let Some((count, lots)) = self.kinds.get_mut(&kind) else { return };
        let mut left = number.min(*count);
        *count -= left;
        while left > 0
            && let Some(mut lot) = lots.pop()
        {
            let moved = u32::try_from(left).unwrap_or(u32::MAX).min(lot.count);
            self.tally.remove(lot.unit, moved.into());
            to.add(Lot { count: moved, ..lot });
            lot.count -= moved;
            left -= u64::from(moved);
            if lot.count > 0 {
                lots.push(lot);
            }
        }
    }

    fn give(mut self, to: &mut Part<'a>) {
        let kinds: Vec<u32> = self.kinds.keys().copied().collect();
        kinds.into_iter().for_each(|kind| self.hand(kind, u64::MAX, to));
    }

    fn class(&self) -> EquivalenceClass {
        self.tally.class(self.region.clone())
    }

    fn holds(&self) -> bool {
        self.tally.count >= self.search.least && self.search.goal.holds(&self.class())
    }

    fn lots(self) -> Vec<Lot> {
        combine(self.kinds.into_values().flat_map(|(_, lots)| lots).collect())
    }

    /// By how much the share of a kind is above that in the table.
    fn excess(&self, kind: u32) -> f64 {
        let here = self.kinds.get(&kind).map_or(0, |(n, _)| *n) as f64 / self.tally.count.max(1) as f64;
        here - self.search.shares[kind as usize]
    }

    /// Shortfall with some records of a kind more or less.
    fn shortfall(&mut self, kind: u32, more: u64, less: u64) -> f64 {
        let row = self.search.row_of_kind[kind as usize];
        self.tally.add(row, more);
        self.tally.remove(row, less);
        let shortfall = self.search.goal.shortfall(&self.class());
        self.tally.remove(row, more);
        self.tally.add(row, less);
        shortfall
    }

    /// Leaves behind what keeps it from holding; everything if nothing helps.
    fn trim(&mut self, behind: &mut Part<'a>) {
        while !self.holds() {
            if self.tally.count <= self.search.least {
                let kinds: Vec<u32> = self.kinds.keys().copied().collect();
                kinds.into_iter().for_each(|kind| self.hand(kind, u64::MAX, behind));
                return;
            }
            let step = (self.tally.count / 100).max(1);
            let mut kinds: Vec<u32> = self.kinds.iter().filter(|(_, (n, _))| *n > 0).map(|(k, _)| *k).collect();
            kinds.sort_by(|&a, &b| self.excess(b).total_cmp(&self.excess(a)));
            kinds.truncate(TRIED);
            let number = |kind: u32, part: &Part<'_>| step.min(part.kinds.get(&kind).map_or(0, |(n, _)| *n));
            let mut best = (f64::INFINITY, 0);
            for kind in kinds {
                let shortfall = self.shortfall(kind, 0, number(kind, self));
                if shortfall < best.0 {
                    best = (shortfall, kind);
                }
            }
            let n = number(best.1, self);
            self.hand(best.1, n, behind);
        }
    }

    /// Draws from other parts what brings this one nearer to holding; whether there was anything.
    fn replenish(&mut self, parts: &mut [Part<'a>]) -> bool {
        let now = self.search.goal.shortfall(&self.class());
        let step = (self.tally.count / 100).max(1);
        let mut kinds: Vec<u32> = (0..self.search.shares.len() as u32).collect();
        kinds.sort_by(|&a, &b| self.excess(a).total_cmp(&self.excess(b)));
        kinds.truncate(TRIED);
        let mut scored: Vec<(f64, u32)> = kinds.into_iter().map(|kind| (self.shortfall(kind, step, 0), kind)).collect();
        scored.retain(|(shortfall, _)| *shortfall < now);
        scored.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (_, kind) in scored {
            let mut order: Vec<usize> = (0..parts.len()).collect();
            order.sort_by(|&a, &b| parts[b].excess(kind).total_cmp(&parts[a].excess(kind)));
            for p in order.into_iter().take(TRIED) {
                let have = parts[p].kinds.get(&kind).map_or(0, |(n, _)| *n);
                let n = step.min(have);
                if n > 0 && parts[p].tally.count >= n + self.search.least && parts[p].shortfall(kind, 0, n) == 0.0 {
                    parts[p].hand(kind, n, self);
                    return true;
                }
            }
        }
        false
    }
}

/// What makes two clusters near.
#[derive(Clone, Copy)]
enum Nearness {
    /// That all their records together lose little more.
    Loss,
    /// That the region over both is small.
    Region,
}

/// Clusters that are being joined.
struct Joining<'a> {
    search: &'a Search<'a>,
    by: Nearness,
    clusters: Vec<Group>,
    weights: Vec<f32>,
    alive: Vec<usize>,
    /// For every cluster that does not hold: the nearest other.
    nearest: Vec<(f32, usize)>,
}

impl Joining<'_> {
    fn score(&self, i: usize, j: usize) -> f32 {
        let (a, b) = (&self.clusters[i], &self.clusters[j]);
        let joint = self.search.joint_loss(&a.region, &b.region);
        let score = match self.by {
            Nearness::Loss => (a.count + b.count) as f32 * joint - a.cost() as f32 - b.cost() as f32,
            Nearness::Region if b.holds => joint * b.count as f32,
            Nearness::Region => joint,
        };
        score * self.weights[i] * self.weights[j]
    }

    fn find_nearest(&mut self, i: usize) {
        if !self.clusters[i].holds {
            let others = self.alive.iter().filter(|&&j| j != i).map(|&j| (self.score(i, j), j));
            self.nearest[i] = others.fold((f32::INFINITY, usize::MAX), |a, b| if b.0 < a.0 { b } else { a });
        }
    }

    /// Joins the nearest two; whether there were any.
    fn join_next(&mut self) -> bool {
        let open = self.alive.iter().copied().filter(|&i| !self.clusters[i].holds);
        let next = open.min_by(|&a, &b| self.nearest[a].0.total_cmp(&self.nearest[b].0));
        let Some((i, j)) = next.map(|i| (i, self.nearest[i].1)).filter(|&(_, j)| j < usize::MAX) else { return false };
        let lots = std::mem::take(&mut self.clusters[j].lots);
        let region = std::mem::take(&mut self.clusters[j].region);
        self.search.extend(&mut self.clusters[i], &lots, &region);
        self.alive.retain(|&x| x != j);
        for at in 0..self.alive.len() {
            let x = self.alive[at];
            if x == i || self.nearest[x].1 == i || self.nearest[x].1 == j {
                self.find_nearest(x);
            } else if !self.clusters[x].holds {
                let score = self.score(x, i);
                if score < self.nearest[x].0 {
                    self.nearest[x] = (score, i);
                }
            }
        }
        true
    }
}
