//! Full-domain generalization: every quasi-identifier is shown at one level of its taxonomy, the
//! same in all records.
//!
//! The choices of levels form a lattice. A node of it divides the table into the classes of its
//! *frequency set*, which is rolled up from the set of a more specific node instead of being
//! counted again. Everything that searches the lattice (`lattice`, `incognito`, `samarati`,
//! `datafly`) asks [`Lattice::test`] whether a node keeps the goal, and which classes must be left
//! out for that.

use super::{Goal, Recoding, Refusal};
use crate::catalogue::{Kind, Parameter, Parameters};
use crate::class::{EquivalenceClass, Histogram, Run};
use crate::failure::Failure;
use crate::release::{Form, Generalized, Member, Members, Shape};
use crate::table::{Attribute, Table, number_tuples_of};
use crate::taxonomy::Taxonomy;
use crate::utility::Marginal;
use hashbrown::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

pub(super) const SUPPRESS: Parameter = Parameter {
    name: "suppress",
    kind: Kind::Number("0", Some("1")),
    default: Some("0"),
    about: "largest share of the records that may be left out",
};

/// More nodes than this are not searched.
const NODES: u128 = 1 << 22;

/// Frequency sets are kept for roll-up up to so many numbers in all.
const KEPT: usize = 1 << 26;

/// How many records a share of them is, for parameter [`SUPPRESS`].
pub(super) fn limit(parameters: &Parameters, records: u64) -> u64 {
    parameters.number("suppress").of(records)
}

/// The lattice of a table, with what a node has to keep.
pub(super) struct Lattice<'a> {
    pub table: &'a Table,
    goal: &'a Goal<'a>,
    pub frame: Arc<Frame>,
    /// The distinct combinations of quasi-identifiers.
    points: Arc<FrequencySet>,
    /// Sets that others were rolled up from, by levels.
    rolled: Mutex<Rolled>,
}

/// What the lattice is like, whatever goes together in the rows of the table.
pub(super) struct Frame {
    /// At most so many records may be left out.
    limit: u64,
    pub records: u64,
    /// Per quasi-identifier and level.
    rungs: Vec<Vec<Rung>>,
    /// Records per quasi-identifier and leaf.
    counts: Vec<Vec<u64>>,
    /// No node has more classes.
    points: u64,
}

/// One level of a quasi-identifier.
struct Rung {
    /// Number of the group that each leaf falls into; leaves that do not occur share a neighbour's.
    group: Vec<u32>,
    /// How many groups occur.
    groups: u32,
}

#[derive(Default)]
struct Rolled {
    sets: HashMap<Vec<usize>, Arc<FrequencySet>>,
    numbers: usize,
}

/// The classes that a node divides the table into.
pub(super) struct FrequencySet {
    /// A row of the table in each class.
    pub first: Vec<u32>,
    /// Number of records of each class.
    pub count: Vec<u64>,
    /// The class of each class of `source`; of each row, if there is no source.
    part_of: Vec<u32>,
    source: Option<Arc<FrequencySet>>,
}

/// What came of testing a node.
pub(super) enum Test {
    /// It keeps the goal if these classes are left out.
    Keeps(Vec<bool>),
    /// It does not.
    Breaks,
    /// More records than may be left out are in classes below the smallest size allowed. Every more
    /// specific node has at least as many, whatever the models.
    TooSmall,
}

impl Frame {
    /// The frame of a table with so many records of each leaf.
    pub fn new(quasi: &[Attribute], counts: Vec<Vec<u64>>, records: u64, limit: u64) -> Frame {
        let rungs =
            quasi.iter().zip(&counts).map(|(a, counts)| rungs(&a.taxonomy, counts)).collect();
        Frame { limit, records, rungs, counts, points: records }
    }

    /// The frame of a table with so many distinct combinations of quasi-identifiers.
    fn of(table: &Table, limit: u64, points: u64) -> Frame {
        let count = |(a, codes): (&Attribute, &Vec<u32>)| {
            let mut counts = vec![0u64; a.taxonomy.leaves()];
            codes.iter().zip(&table.counts).for_each(|(&c, &n)| counts[c as usize] += u64::from(n));
            counts
        };
        let counts = table.quasi.iter().zip(&table.quasi_codes).map(count).collect();
        Frame { points, ..Frame::new(&table.quasi, counts, table.records(), limit) }
    }

    /// The highest level of every quasi-identifier: the node at which nothing is shown.
    pub fn top(&self) -> Vec<usize> {
        self.rungs.iter().map(|levels| levels.len() - 1).collect()
    }

    /// All nodes as numbers, in the order of their levels; refuses lattices that are too large to
    /// be searched.
    pub fn nodes(&self) -> Result<Nodes, Refusal> {
        let sizes: Vec<usize> = self.rungs.iter().map(Vec::len).collect();
        let number = sizes
            .iter()
            .try_fold(1u128, |n, &size| n.checked_mul(size as u128))
            .unwrap_or(u128::MAX);
        if number > NODES {
            return Err(Refusal(vec![
                Failure::refused("search-too-large", format!(
                    "the {} quasi-identifiers can be combined in more than {NODES} ways, too many to search",
                    sizes.len()
                ))
                .hint("use taxonomies with fewer levels, or `datafly` or `mondrian`, which do not try them all"),
            ]));
        }
        Ok(Nodes::new(sizes))
    }

    /// Why nothing is published, though the whole table as one class would keep the models.
    pub fn nothing(&self) -> Failure {
        Failure::refused("nothing-found", format!(
            "no level of generalization that was tried keeps the models with at most {} of {} records left out",
            self.limit, self.records
        ))
        .hint("allow a larger `suppress`, or use an algorithm that does not recode globally")
    }

    /// How many classes a node has at most.
    pub fn most_classes(&self, levels: &[usize]) -> u128 {
        let groups =
            self.rungs.iter().zip(levels).map(|(rungs, &l)| u128::from(rungs[l].groups.max(1)));
        groups.fold(1, |n: u128, g| n.saturating_mul(g)).min(self.points.max(1).into())
    }

    /// For every quasi-identifier and leaf: a leaf that occurs, and stands for all that are shown
    /// alike at a level.
    pub fn standing(&self, quasi: &[Attribute], levels: &[usize]) -> Recoding {
        let of = |((a, counts), &level): ((&Attribute, &Vec<u64>), &usize)| {
            let (mut codes, mut known) = (Vec::with_capacity(counts.len()), None);
            for leaf in 0..counts.len() as u32 {
                let run = a.taxonomy.at_level(leaf, level);
                let (_, code) = known.filter(|(last, _)| *last == run).unwrap_or_else(|| {
                    let occurs = (run.first..=run.last).find(|&l| counts[l as usize] > 0);
                    (run, occurs.unwrap_or(run.first))
                });
                known = Some((run, code));
                codes.push(code);
            }
            codes
        };
        quasi.iter().zip(&self.counts).zip(levels).map(of).collect()
    }
}

impl<'a> Lattice<'a> {
    pub fn new(table: &'a Table, goal: &'a Goal<'a>, limit: u64) -> Lattice<'a> {
        let points = points(table);
        let frame = Frame::of(table, limit, points.count.len() as u64);
        Lattice {
            table,
            goal,
            frame: Arc::new(frame),
            points: Arc::new(points),
            rolled: Mutex::default(),
        }
    }

    /// The same in a frame that is known: of a table whose codes stand for others
    /// ([`Frame::standing`]), which is good for the nodes at which they are shown alike.
    pub fn within(table: &'a Table, goal: &'a Goal<'a>, frame: Arc<Frame>) -> Lattice<'a> {
        Lattice { table, goal, frame, points: Arc::new(points(table)), rolled: Mutex::default() }
    }

    /// Whether what keeps the goal still does when it is generalized further.
    ///
    /// Without suppression that is so for monotone models, on any columns. With suppression it
    /// needs more: a class that fails may be larger than the parts of it that failed, unless sizes
    /// alone decide. Nothing is known of models that look at regions, which grow beyond those of
    /// the merged classes, or at the whole release.
    pub fn closed(&self) -> bool {
        let plain =
            self.goal.requirements.iter().map(|r| r.model.promise()).all(|p| !p.wide && !p.region);
        plain && (self.goal.size_decides() || (self.frame.limit == 0 && self.goal.is_monotone()))
    }

    /// The classes of a node.
    pub fn frequency_set(&self, levels: &[usize]) -> FrequencySet {
        self.roll_up(&self.source(levels), levels)
    }

    /// A set that the node can be rolled up from and that many nodes share: the levels rounded down
    /// to multiples of two; if they are such, of four, and so on.
    fn source(&self, levels: &[usize]) -> Arc<FrequencySet> {
        let mut step = 2;
        while levels.iter().any(|&l| l >= step) && levels.iter().all(|l| l % step == 0) {
            step *= 2;
        }
        let lower: Vec<usize> = levels.iter().map(|l| l / step * step).collect();
        if lower.iter().all(|&l| l == 0) {
            return self.points.clone();
        }
        let lock = || self.rolled.lock().unwrap_or_else(PoisonError::into_inner);
        let known = lock();
        if let Some(set) = known.sets.get(&lower) {
            return set.clone();
        }
        let full = known.numbers > KEPT;
        drop(known);
        let below = self.source(&lower);
        if full {
            return below;
        }
        let set = Arc::new(self.roll_up(&below, &lower));
        let mut known = lock();
        known.numbers += set.part_of.len();
        known.sets.insert(lower, set.clone());
        set
    }

    /// The set of a node from that of a more specific one.
    pub fn roll_up(&self, source: &Arc<FrequencySet>, levels: &[usize]) -> FrequencySet {
        let all: Vec<usize> = (0..levels.len()).collect();
        let (part_of, firsts) = self.group(&source.first, levels, &all);
        let mut count = vec![0; firsts.len()];
        part_of.iter().zip(&source.count).for_each(|(&class, n)| count[class as usize] += n);
        let first = firsts.iter().map(|&i| source.first[i as usize]).collect();
        FrequencySet { first, count, part_of, source: Some(source.clone()) }
    }

    /// Numbers what these rows show on some quasi-identifiers.
    fn group(&self, rows: &[u32], levels: &[usize], on: &[usize]) -> (Vec<u32>, Vec<u32>) {
        let rung = |dim: usize| &self.frame.rungs[dim][levels[dim]];
        let shown: Vec<(&Vec<u32>, &Rung)> = on
            .iter()
            .filter(|&&dim| rung(dim).groups > 1)
            .map(|&dim| (&self.table.quasi_codes[dim], rung(dim)))
            .collect();
        let sizes: Vec<u64> = shown.iter().map(|(_, rung)| rung.groups.into()).collect();
        number_tuples_of(rows.len(), &sizes, |column, i| {
            let (codes, rung) = shown[column];
            rung.group[codes[rows[i] as usize] as usize]
        })
    }

    /// Whether the node keeps the goal, with at most the allowed number of records left out.
    pub fn test(&self, levels: &[usize], set: &FrequencySet) -> Test {
        let small = self.too_small(levels, set);
        if set.records_in(&small) > self.frame.limit {
            return Test::TooSmall;
        }
        let size_of_class = self.goal.size_decides()
            && self.goal.requirements.iter().all(|r| r.on.is_none() && !r.model.promise().wide);
        let out = if size_of_class {
            Some(small)
        } else {
            let classes = self.goal.unless_hopeless(self.classes(levels, set), self.frame.limit);
            classes.and_then(|classes| self.goal.leave_out(&classes, self.frame.limit))
        };
        match out {
            Some(out) if out.contains(&false) => Test::Keeps(out),
            _ => Test::Breaks,
        }
    }

    /// Classes with fewer records than some model needs, on all columns or on those it is about.
    fn too_small(&self, levels: &[usize], set: &FrequencySet) -> Vec<bool> {
        let mut small = vec![false; set.count.len()];
        for r in self.goal.requirements {
            let least = r.model.promise().least;
            let Some(on) = &r.on else {
                small.iter_mut().zip(&set.count).for_each(|(small, &n)| *small |= n < least);
                continue;
            };
            let (part_of, firsts) = self.group(&set.first, levels, on);
            let mut sizes = vec![0; firsts.len()];
            part_of.iter().zip(&set.count).for_each(|(&part, n)| sizes[part as usize] += n);
            small
                .iter_mut()
                .zip(&part_of)
                .for_each(|(small, &part)| *small |= sizes[part as usize] < least);
        }
        small
    }

    /// The classes as a recipient would see them, for the models to judge.
    fn classes(
        &self,
        levels: &[usize],
        set: &FrequencySet,
    ) -> impl Iterator<Item = EquivalenceClass> {
        let blind = self.goal.size_decides();
        let rows = if blind { Groups::default() } else { set.rows() };
        let histogram = move |rows: &[u32], s: usize| {
            let codes = &self.table.sensitive_codes[s];
            let values =
                rows.iter().map(|&r| (codes[r as usize], self.table.counts[r as usize].into()));
            Histogram::count(self.table.sensitive[s].taxonomy.leaves(), rows.len(), values)
        };
        (0..set.count.len()).map(move |i| EquivalenceClass {
            region: self.region(levels, set.first[i]),
            count: set.count[i],
            histograms: (0..self.table.sensitive.len())
                .map(|s| if blind { Histogram::default() } else { histogram(rows.of(i), s) })
                .collect(),
        })
    }

    fn region(&self, levels: &[usize], row: u32) -> Vec<Run> {
        let cells = self.table.quasi.iter().zip(&self.table.quasi_codes).zip(levels);
        cells.map(|((a, codes), &level)| a.taxonomy.at_level(codes[row as usize], level)).collect()
    }

    /// The form of a node, with some of its classes left out.
    pub fn form(&self, levels: &[usize], set: &FrequencySet, out: &[bool]) -> Form {
        let (mut classes, mut suppressed) = (Vec::new(), Vec::new());
        let rows = set.rows();
        for (i, &out) in out.iter().enumerate() {
            let members = rows
                .of(i)
                .iter()
                .map(|&row| Member { row, count: self.table.counts[row as usize] });
            if out {
                suppressed.extend(members);
            } else {
                let region = self.region(levels, set.first[i]).into();
                classes.push(Members { region, members: members.collect() });
            }
        }
        let form = Generalized::new(classes, suppressed);
        let quasi =
            self.table.quasi.iter().zip(levels).map(|(a, &level)| a.shown_at(level)).collect();
        Form::Generalized(
            form.written_in(quasi, Shape::Regions).noted(said(&self.table.quasi, levels)),
        )
    }

    /// The form of a node that was found to keep the goal.
    pub fn publish(&self, levels: &[usize]) -> Result<Form, Refusal> {
        let set = self.frequency_set(levels);
        match self.test(levels, &set) {
            Test::Keeps(out) => Ok(self.form(levels, &set, &out)),
            _ => Err(self.refusal()),
        }
    }

    /// What a node loses, if it keeps the goal.
    pub fn lost(&self, loss: &Loss, levels: &[usize]) -> Option<u128> {
        let set = self.frequency_set(levels);
        match self.test(levels, &set) {
            Test::Keeps(out) => Some(loss.of(self, levels, &set, &out)),
            _ => None,
        }
    }

    /// How many distinct values a quasi-identifier shows at a level.
    pub fn distinct(&self, dim: usize, level: usize) -> u32 {
        self.frame.rungs[dim][level].groups
    }

    /// Why no node keeps the goal.
    pub fn refusal(&self) -> Refusal {
        let top = self.frame.top();
        let set = self.frequency_set(&top);
        let whole = self.classes(&top, &set);
        let mut reasons: Vec<Failure> = whole.flat_map(|w| self.goal.impossible(&w)).collect();
        if reasons.is_empty() {
            reasons.push(self.frame.nothing());
        }
        Refusal(reasons)
    }
}

/// Which levels were chosen, in words.
fn said(quasi: &[Attribute], levels: &[usize]) -> String {
    let level = |(a, &level): (&Attribute, &usize)| {
        let (name, top) = (a.taxonomy.level_name(level), a.taxonomy.levels());
        format!("`{}` {name} ({level} of {top})", a.name)
    };
    format!("levels chosen: {}", quasi.iter().zip(levels).map(level).collect::<Vec<_>>().join(", "))
}

impl FrequencySet {
    /// Number of records in the marked classes.
    pub fn records_in(&self, marked: &[bool]) -> u64 {
        self.count.iter().zip(marked).filter(|(_, m)| **m).map(|(n, _)| n).sum()
    }

    /// The class of every row of the table.
    fn class_of_rows(&self) -> Vec<u32> {
        match &self.source {
            None => self.part_of.clone(),
            Some(source) => {
                source.class_of_rows().iter().map(|&c| self.part_of[c as usize]).collect()
            }
        }
    }

    /// The rows of every class.
    fn rows(&self) -> Groups {
        let class_of = self.class_of_rows();
        let mut ends = vec![0; self.count.len()];
        class_of.iter().for_each(|&class| ends[class as usize] += 1);
        let mut sum = 0;
        for end in &mut ends {
            // Where the class starts, until its rows are put there.
            sum += std::mem::replace(end, sum);
        }
        let mut members = vec![0; class_of.len()];
        for (row, class) in (0u32..).zip(class_of) {
            members[ends[class as usize] as usize] = row;
            ends[class as usize] += 1;
        }
        Groups { ends, members }
    }
}

/// Members by group.
#[derive(Default)]
struct Groups {
    /// Where the members of each group end.
    ends: Vec<u32>,
    members: Vec<u32>,
}

impl Groups {
    fn of(&self, group: usize) -> &[u32] {
        let start = if group == 0 { 0 } else { self.ends[group - 1] };
        &self.members[start as usize..self.ends[group] as usize]
    }
}

/// The distinct combinations of quasi-identifiers.
fn points(table: &Table) -> FrequencySet {
    let sizes: Vec<u64> = table.quasi.iter().map(|a| a.taxonomy.leaves() as u64).collect();
    let (part_of, first) =
        number_tuples_of(table.rows(), &sizes, |dim, row| table.quasi_codes[dim][row]);
    let mut count = vec![0; first.len()];
    part_of
        .iter()
        .zip(&table.counts)
        .for_each(|(&class, &n)| count[class as usize] += u64::from(n));
    FrequencySet { first, count, part_of, source: None }
}

/// The levels of a quasi-identifier, with the groups that occur numbered in the order of their
/// leaves.
fn rungs(taxonomy: &Taxonomy, counts: &[u64]) -> Vec<Rung> {
    let rung = |level: usize| {
        let (mut group, mut groups, mut last) = (Vec::with_capacity(counts.len()), 0u32, None);
        for (leaf, &n) in (0u32..).zip(counts) {
            if n > 0 {
                let run = Some(taxonomy.at_level(leaf, level));
                groups += u32::from(run != last);
                last = run;
            }
            group.push(groups.saturating_sub(1));
        }
        Rung { group, groups }
    };
    (0..=taxonomy.levels()).map(rung).collect()
}

/// The nodes of a lattice as numbers: levels as the digits of a number, the first
/// quasi-identifier's highest.
pub(super) struct Nodes {
    sizes: Vec<usize>,
    strides: Vec<usize>,
}

impl Nodes {
    fn new(sizes: Vec<usize>) -> Nodes {
        let mut strides = vec![1; sizes.len()];
        for d in (1..sizes.len()).rev() {
            strides[d - 1] = strides[d] * sizes[d];
        }
        Nodes { sizes, strides }
    }

    pub fn len(&self) -> usize {
        self.sizes.iter().product()
    }

    fn level(&self, node: usize, dim: usize) -> usize {
        node / self.strides[dim] % self.sizes[dim]
    }

    pub fn levels(&self, node: usize) -> Vec<usize> {
        (0..self.sizes.len()).map(|dim| self.level(node, dim)).collect()
    }

    pub fn height(&self, node: usize) -> usize {
        (0..self.sizes.len()).map(|dim| self.level(node, dim)).sum()
    }

    /// The nodes that are one level more specific on one quasi-identifier.
    pub fn below(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        let lower = (0..self.sizes.len()).filter(move |&dim| self.level(node, dim) > 0);
        lower.map(move |dim| node - self.strides[dim])
    }

    /// The nodes that are one level more general on one quasi-identifier.
    pub fn above(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        let higher =
            (0..self.sizes.len()).filter(move |&dim| self.level(node, dim) + 1 < self.sizes[dim]);
        higher.map(move |dim| node + self.strides[dim])
    }

    /// The node with another level of one quasi-identifier.
    pub fn at(&self, node: usize, dim: usize, level: usize) -> usize {
        node - self.level(node, dim) * self.strides[dim] + level * self.strides[dim]
    }

    /// Whether every level of `a` is at most that of `b`.
    pub fn is_below(&self, a: usize, b: usize) -> bool {
        (0..self.sizes.len()).all(|dim| self.level(a, dim) <= self.level(b, dim))
    }
}

pub(super) const METRIC: Parameter = Parameter {
    name: "metric",
    kind: Kind::Choice(&["gcp", "iloss", "precision", "entropy", "discernibility", "c_avg"]),
    default: Some("gcp"),
    about: "what the published generalization loses least of",
};

/// What a node loses, by one of the metrics, as whole numbers: a sum does not depend on its order,
/// so ties are ties on every machine and for every number of threads.
pub(super) enum Loss {
    /// The sum over all cells of what their group loses.
    Cells(Cells),
    /// Σ |E|² + suppressed · records.
    Discernibility,
    /// Published records per class.
    ClassSize,
}

/// Losses of cells in units of 2⁻⁴⁰.
pub(super) struct Cells {
    /// Of a leaf at a level, per quasi-identifier.
    loss: Vec<Vec<Vec<u64>>>,
    /// Of all records at a level, if none is left out.
    total: Vec<Vec<u128>>,
    /// Of the cells of a record that is left out.
    suppressed: u64,
}

impl Loss {
    pub fn new(metric: &str, quasi: &[Attribute], frame: &Frame) -> Loss {
        match metric {
            "discernibility" => Loss::Discernibility,
            "c_avg" => Loss::ClassSize,
            _ => Loss::Cells(Cells::new(metric, quasi, frame)),
        }
    }

    /// Of a node with some of its classes left out.
    pub fn of(
        &self,
        lattice: &Lattice<'_>,
        levels: &[usize],
        set: &FrequencySet,
        out: &[bool],
    ) -> u128 {
        let classes = set.count.iter().zip(out);
        match self {
            Loss::Cells(cells) => {
                let left_out = (0..out.len()).filter(|&i| out[i]);
                let more = left_out.map(|i| {
                    u128::from(set.count[i])
                        * u128::from(cells.suppressed - cells.of(lattice, levels, set.first[i]))
                });
                self.least(&lattice.frame, levels) + more.sum::<u128>()
            }
            Loss::Discernibility => classes
                .map(|(&n, &out)| {
                    u128::from(n) * u128::from(if out { lattice.frame.records } else { n })
                })
                .sum(),
            Loss::ClassSize => {
                let (kept, number) = classes
                    .filter(|(_, out)| !**out)
                    .fold((0, 0), |(kept, number), (n, _)| (kept + n, number + 1));
                (u128::from(kept) << 40) / u128::from(number.max(1u64))
            }
        }
    }

    /// Whether [`Loss::least`] is all that a frequency set says about the nodes above.
    pub fn is_known_ahead(&self) -> bool {
        matches!(self, Loss::Cells(_))
    }

    /// What the node of a frequency set and all above it lose at least.
    pub fn least_above(&self, frame: &Frame, set: &FrequencySet) -> u128 {
        match self {
            Loss::Cells(_) => 0,
            // Merged classes are larger, and a record that is left out is charged no less than in
            // any class.
            Loss::Discernibility => set.count.iter().map(|&n| u128::from(n).pow(2)).sum(),
            Loss::ClassSize => {
                (u128::from(frame.records - frame.limit) << 40) / set.count.len().max(1) as u128
            }
        }
    }

    /// A bound that needs no frequency set: what the node and all above it lose at least.
    pub fn least(&self, frame: &Frame, levels: &[usize]) -> u128 {
        // There are at most so many classes, and then they are at best of equal size.
        let (classes, records) = (frame.most_classes(levels), u128::from(frame.records));
        match self {
            Loss::Cells(cells) => cells.total.iter().zip(levels).map(|(total, &l)| total[l]).sum(),
            Loss::Discernibility => records * records / classes,
            Loss::ClassSize => (u128::from(frame.records - frame.limit) << 40) / classes,
        }
    }
}

impl Cells {
    fn new(metric: &str, quasi: &[Attribute], frame: &Frame) -> Cells {
        let heaviest = quasi.iter().map(|a| a.weight).fold(f64::MIN_POSITIVE, f64::max);
        let fixed = |x: f64| (x * (1u64 << 40) as f64).round() as u64;
        let (mut loss, mut total, mut suppressed) = (Vec::new(), Vec::new(), 0);
        for (attribute, counts) in quasi.iter().zip(&frame.counts) {
            let t = &attribute.taxonomy;
            let marginal = Marginal::new(counts);
            let cell = |level: usize, run: Run| match metric {
                "iloss" => {
                    attribute.weight / heaviest * (t.values_at(run, level) - 1) as f64
                        / t.domain() as f64
                }
                "precision" => level as f64 / t.levels().max(1) as f64,
                // Up to what the leaves' own frequencies add, which is the same for every node.
                "entropy" => marginal.bits(run),
                _ => t.loss_at(run, level),
            };
            suppressed += fixed(if metric == "gcp" { 1.0 } else { cell(t.levels(), t.root()) });
            let leaves = |level| {
                (0..t.leaves() as u32).map(move |leaf| fixed(cell(level, t.at_level(leaf, level))))
            };
            let at_levels: Vec<Vec<u64>> =
                (0..=t.levels()).map(|level| leaves(level).collect()).collect();
            let sum = |losses: &Vec<u64>| {
                losses.iter().zip(counts).map(|(&x, &n)| u128::from(x) * u128::from(n)).sum()
            };
            total.push(at_levels.iter().map(sum).collect());
            loss.push(at_levels);
        }
        Cells { loss, total, suppressed }
    }

    fn of(&self, lattice: &Lattice<'_>, levels: &[usize], row: u32) -> u64 {
        let codes = lattice.table.quasi_codes.iter().map(|codes| codes[row as usize] as usize);
        self.loss
            .iter()
            .zip(levels)
            .zip(codes)
            .map(|((loss, &level), code)| loss[level][code])
            .sum()
    }
}
