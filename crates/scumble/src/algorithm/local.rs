//! # local
//!
//! Groups records that are alike and improves the groups again and again: the least loss that a
//! search can find.
//!
//! ## Method
//! Local recoding: every record is generalized only as far as its own class needs, and classes may
//! overlap. What counts is the loss of all cells together (GCP, see `scumble explain gcp`).
//!
//! Records that are equal in all quasi-identifiers and keep the models stand alone and lose
//! nothing. The others start in small parts of the space, where the two nearest groups are joined
//! again and again until every group keeps the models. Under models like t-closeness, which ask
//! that a group be composed like the table, that leads to huge groups. Then the table is cut from
//! the top down instead: a group goes on to the children of its value in some quasi-identifier, as
//! many of their records as keep the models; records of kinds that a child has too many of stay
//! behind, the most unusual ones first, and what stays behind keeps the models too. If Mondrian,
//! strict or relaxed, loses less than either, its classes are the start.
//!
//! Then `effort` rounds of improvement. A round deals the groups into blocks of neighbours,
//! differently each time, and in its block tries for one group after the other:
//!
//! - to take it and one to four near groups apart and put their records together anew, from a
//!   random record on, each time adding the record that widens the group least for what it helps
//!   (or joining the nearest two groups, or cutting from the top); then records move to where they
//!   cost less;
//! - to open a new group around one of its records, drawing records from groups near by that lose
//!   much or can spare some. Groups that no longer keep the models are dissolved into others.
//!
//! What loses less is kept. Some of several equal records may go to one group and some to another;
//! groups that come to show the same region are one class.
//!
//! ## Guarantee
//! Every class keeps every model of the policy. No record is suppressed. The loss is never above
//! that of Mondrian with its default cut, strict or relaxed, and never rises with more rounds. It
//! is not the least possible loss, which is NP-hard to find. If even the whole table does not keep
//! the models, the algorithm refuses; for a model that is not monotone a search with a fixed seed
//! is tried first, which proves nothing if it fails. The result depends on the seed, not on the
//! number of threads.
//!
//! ## Cost
//! A round takes time about proportional to the number of distinct rows, on all cores, and grows
//! with the size of the classes; memory of a few copies of the codes. There is no quadratic step.
//! With the default effort and k = 5, two cores took 0.32 s for Adult (30 162 records, GCP 0.0264),
//! 3.2 s for KDD Cup (63 441 records, GCP 0.0573) and 1.8 s for FARS (100 937 records, GCP 0.0401);
//! with 3-diversity on Adult 1.0 s, with 0.2-closeness 7.2 s (bench/results).
//!
//! ## Departures from the paper
//! Xu et al. and Byun et al. build groups once, greedily. Here such a construction is the start and
//! the step of a search by ruin and recreate.
//!
//! ## Reference
//! Xu, Wang, Pei, Wang, Shi and Fu, "Utility-based anonymization using local recoding", 2006. Byun,
//! Kamra, Bertino and Li, "Efficient k-anonymization using clustering techniques", 2007. Schrimpf,
//! Schneider, Stamm-Wilbrandt and Dueck, "Record breaking optimization results using the ruin and
//! recreate principle", 2000.

use super::{Algorithm, Goal, Progress, Refusal};
use crate::catalogue::{Entry, Kind, Parameter};
use crate::class::{EquivalenceClass, Histogram, Run};
use crate::failure::Failure;
use crate::progress::Watch;
use crate::publish::judge;
use crate::release::{Form, Generalized, Member, Members, Release};
use crate::table::{Attribute, Table, number_tuples};
use axis::{Axis, Cell};
use group::{Group, Lot};
use rayon::prelude::*;

mod axis;
mod cutting;
mod group;
mod growing;
mod joining;
mod moves;
mod start;

pub(super) const ENTRY: Entry<Box<dyn Algorithm>> = Entry {
    name: "local",
    summary: "local recoding: groups of near records, improved by search for the least loss",
    source: include_str!("local.rs"),
    parameters: &[Parameter {
        name: "effort",
        kind: Kind::Count(0, 1000),
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
/// A new group is made from so many candidates.
const CANDIDATES: usize = 24;
/// Large groups are cut if there are at most so many combinations of sensitive values.
const KINDS: usize = 1000;
/// Losses that differ by less are equal; they are computed in single precision.
const GAIN: f64 = 1e-6;

impl Algorithm for Local {
    fn anonymize(
        &self,
        table: &Table,
        goal: &Goal<'_>,
        seed: u64,
        progress: Progress<'_>,
    ) -> Result<Form, Refusal> {
        if table.rows() == 0 {
            return Ok(Form::Generalized(Generalized::new(Vec::new(), Vec::new())));
        }
        let watch = Watch::new(progress, self.effort + 1);
        let search = Search::new(table, goal, &watch);
        let whole = search.group((0..search.units() as u32).map(|u| search.all_of(u)).collect());
        let reasons = goal.impossible(&search.class(&whole));
        let promises = goal.requirements.iter().map(|r| r.model.promise());
        if promises.clone().all(|p| p.monotone && !p.region && !p.wide) {
            return if reasons.is_empty() {
                Ok(self.search(&search, seed, true))
            } else {
                Err(Refusal(reasons))
            };
        }
        // Classes that hold may break such a model when the recipient cannot tell them apart.
        // Whether anything is found must not depend on the seed.
        let kept = |form: &Form| {
            let judged = judge(&Release::of(table, form), goal.requirements);
            judged.is_ok_and(|judged| judged.iter().all(|j| j.holds))
        };
        let fallback = if reasons.is_empty() {
            search.form(vec![whole])
        } else {
            self.search(&search, 0, false)
        };
        if !kept(&fallback) {
            let problem = Failure::refused(
                "nothing-found",
                "`local` found no classes that keep the models; that does not say there are none",
            );
            return Err(Refusal(if reasons.is_empty() { vec![problem] } else { reasons }));
        }
        let form = self.search(&search, seed, true);
        Ok(if kept(&form) { form } else { fallback })
    }
}

impl Local {
    /// The best form that is found; in time, or whatever time it takes.
    fn search(&self, search: &Search<'_>, seed: u64, in_time: bool) -> Form {
        let mut groups = search.start(seed);
        for round in 1..=self.effort {
            // Only the search in time tells its progress.
            let goes_on = search.watch.add(u64::from(in_time));
            if !goes_on || in_time && search.watch.is_late() {
                break;
            }
            groups = search.round(groups, seed, round);
        }
        search.form(groups)
    }
}

/// One run of the algorithm.
///
/// A *unit* is what the search cannot tell apart: records with equal quasi-identifiers if sizes
/// alone decide, otherwise a distinct row.
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
    /// Who may cancel it: then groups stay as they are, whether they hold or not.
    watch: &'a Watch<'a>,
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
    fn new(table: &'a Table, goal: &'a Goal<'a>, watch: &'a Watch<'a>) -> Search<'a> {
        let sizes = goal.size_decides();
        let (unit_of, units) = if sizes {
            number(&table.quasi, &table.quasi_codes)
        } else {
            ((0..table.rows() as u32).collect(), table.rows())
        };
        let mut rows = vec![Vec::new(); units];
        (0u32..).zip(&unit_of).for_each(|(row, &unit)| rows[unit as usize].push(row));
        let counts =
            rows.iter().map(|rows| rows.iter().map(|&r| table.counts[r as usize]).sum()).collect();
        let values: Vec<Vec<u32>> = table.quasi_codes.iter().map(|codes| distinct(codes)).collect();
        let axes: Vec<Axis> =
            table.quasi.iter().zip(&values).map(|(a, v)| Axis::new(a, v)).collect();
        let mut points = Vec::with_capacity(units * axes.len());
        for unit in &rows {
            for ((axis, values), codes) in axes.iter().zip(&values).zip(&table.quasi_codes) {
                let code = codes[unit[0] as usize];
                points.push(axis.cell(values.partition_point(|&v| v < code) as u32));
            }
        }
        let (kinds, of_kind) =
            if sizes { (Vec::new(), 0) } else { number(&table.sensitive, &table.sensitive_codes) };
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
            watch,
        }
    }

    /// Whether large groups are worth cutting by what they are composed of: where sizes decide
    /// joining does better, and among too many kinds of records it takes too long.
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

    /// The smallest region over some lots. The lowest node over several leaves is that over the
    /// first and the last.
    fn cover(&self, lots: &[Lot]) -> Vec<Cell> {
        let mut ends: Vec<(u32, u32)> =
            self.point(lots[0].unit).iter().map(|c| (c.0, c.0)).collect();
        for lot in &lots[1..] {
            for (end, cell) in ends.iter_mut().zip(self.point(lot.unit)) {
                *end = (end.0.min(cell.0), end.1.max(cell.0));
            }
        }
        ends.into_iter()
            .zip(&self.axes)
            .map(|((a, b), axis)| axis.join(axis.cell(a), axis.cell(b)))
            .collect()
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
