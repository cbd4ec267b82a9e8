//! # k-optimize
//!
//! The best single-dimensional recoding: tries every set of cuts, without trying most of them.
//!
//! ## Method
//! A recoding is a set of *splits* over all quasi-identifiers, the same for all records. Numbers,
//! dates and ordered files (`ordered = true`) may be split between any two of their values, in
//! their order; what is published are the ranges between the splits. Other categories may be split
//! at a node of their taxonomy, into its children, once the node above is split: only nodes can be
//! published. The empty set is the most general table. Classes that do not keep the models are left
//! out of the release and charged.
//!
//! - `cost = "discernibility"`: every published record is charged the size of its class, every
//!   record left out the size of the table.
//! - `cost = "classification"`: one for every record that is left out or has not the most frequent
//!   value of the first sensitive attribute in its class.
//!
//! The sets are searched depth-first, each once: a node of the search is a set of splits (the head)
//! and the splits that may still be added (the tail). Every table below a node costs at least its
//! bound: records in classes too small even now are left out for ever, and the others are in
//! classes no smaller than those of head and tail together, nor than the models allow. A node whose
//! bound is not below the best cost known is left. So is a split of the tail if the bound with it
//! is not, or if it is useless: wherever it divides a class, the parts are too small. The splits
//! that divide most classes are tried first. A greedy search finds a good recoding to begin with.
//!
//! ## Guarantee
//! Every published class keeps every model, judged among what is published. If the search ends
//! within `nodes`, no recoding of this kind costs less. If not, the best one found is published
//! with a note of how far it is from the bound at most. `suppress` limits how many records may be
//! left out; what would leave out more is not considered.
//!
//! ## Cost
//! Exponential in the number of splits in the worst case. A node takes O(d · n) for d
//! quasi-identifiers and n distinct rows, on one core.
//!
//! ## Departures from the paper
//! Any model may be asked for; bounds use what it says about the size of a class. Categories are
//! split at their taxonomy instead of in an arbitrary order; declare a file `ordered` to have the
//! paper's ranges. The paper calls a split useless if one of the parts is always too small. That is
//! not so under discernibility: to leave out the few is sometimes cheaper than to keep them in a
//! class of more than half the table. Here it counts only where it is true.
//!
//! ## Reference
//! Bayardo and Agrawal, "Data privacy through optimal k-anonymization", 2005.

use super::full_domain::limit;
use super::{Algorithm, Goal, Progress, Refusal};
use crate::catalogue::{Entry, Kind, Parameter, Parameters};
use crate::class::{EquivalenceClass, Histogram, Run};
use crate::failure::Failure;
use crate::release::{Form, Generalized, Member, Members};
use crate::table::{Table, number_tuples};
use crate::taxonomy::Taxonomy;

pub(super) const ENTRY: Entry<Box<dyn Algorithm>> = Entry {
    name: "k-optimize",
    summary: "optimal single-dimensional recoding by branch and bound; leaves small classes out",
    source: include_str!("k_optimize.rs"),
    parameters: &[
        Parameter {
            name: "cost",
            kind: Kind::Choice(&["discernibility", "classification"]),
            default: Some("discernibility"),
            about: "what is charged for a record",
        },
        Parameter {
            name: "suppress",
            kind: Kind::Number("0", Some("1")),
            default: Some("0"),
            about: "largest share of the records that may be suppressed",
        },
        Parameter {
            name: "nodes",
            kind: Kind::Count(1, 1_000_000_000),
            default: Some("1000"),
            about: "how many nodes of the search are visited at most",
        },
    ],
    build: |p| Ok(Box::new(KOptimize { parameters: p.clone() })),
};

struct KOptimize {
    parameters: Parameters,
}

impl Algorithm for KOptimize {
    fn anonymize(
        &self,
        table: &Table,
        goal: &Goal<'_>,
        _seed: u64,
        progress: Progress<'_>,
    ) -> Result<Form, Refusal> {
        if table.rows() == 0 {
            return Ok(Form::Generalized(Generalized::new(Vec::new(), Vec::new())));
        }
        let mut search = Search::new(table, goal, &self.parameters, progress);
        search.climb();
        let tail = (0..search.splits.len()).collect();
        search.visit(tail, 0);
        progress.at(1, 1);
        match search.best.take() {
            Some(best) => {
                let form = search.form(&best.head);
                Ok(Form::Generalized(match search.gap(&best) {
                    Some(note) => form.noted(note),
                    None => form,
                }))
            }
            None => Err(Refusal(search.refusal())),
        }
    }
}

/// A split of a quasi-identifier.
struct Split {
    dim: usize,
    at: At,
}

enum At {
    /// Before this leaf.
    Leaf(u32),
    /// A node into its children; the split of the node above comes first.
    Node { run: Run, children: Vec<Run>, above: Option<usize> },
}

/// Which splits are made.
type Set = Vec<bool>;

/// The best found so far.
struct Best {
    cost: u64,
    left_out: u64,
    head: Set,
}

struct Search<'a> {
    table: &'a Table,
    goal: &'a Goal<'a>,
    progress: Progress<'a>,
    records: u64,
    /// At most so many records may be left out.
    limit: u64,
    /// A class needs so many records.
    least: u64,
    /// Whether that is all it needs.
    size_decides: bool,
    discernibility: bool,
    budget: u64,
    visited: u64,
    splits: Vec<Split>,
    /// Per quasi-identifier: the rows by code.
    order: Vec<Vec<u32>>,
    head: Set,
    best: Option<Best>,
    /// The lowest bound of what was not visited.
    open: u64,
}

/// The classes that a set of splits makes: the number of each row's, and their sizes.
struct Classes {
    of_row: Vec<u32>,
    sizes: Vec<u64>,
}

/// What a split would do to the classes of the head.
#[derive(Clone, Copy, Default)]
struct Effect {
    /// By how much it raises the bound.
    raise: i64,
    /// By how much it changes the discernibility.
    change: i64,
    /// How many more records would be left out for their class's size.
    left_out: i64,
    /// How many classes it divides.
    divides: i64,
    /// How many of them in a way that may pay.
    useful: i64,
}

impl Effect {
    fn add(&mut self, e: Effect, sign: i64) {
        self.raise += sign * e.raise;
        self.change += sign * e.change;
        self.left_out += sign * e.left_out;
        self.divides += sign * e.divides;
        self.useful += sign * e.useful;
    }
}

/// A class of the head on the sweep over the values of one quasi-identifier.
#[derive(Clone, Copy, Default)]
struct Sweep {
    /// Whether a row was met, and the code (or child) of the last.
    met: bool,
    last: u32,
    /// Records met, and what they would raise the bound by if they were left out. Of a node: in
    /// this child.
    size: u64,
    raise: u64,
    /// Of a node: records and raise in children that are too small, and parts in all and large
    /// enough.
    small: u64,
    small_raise: u64,
    parts: u64,
    large: u64,
    /// Discernibility of the parts that are done.
    cost: u64,
}

impl<'a> Search<'a> {
    fn new(
        table: &'a Table,
        goal: &'a Goal<'a>,
        parameters: &Parameters,
        progress: Progress<'a>,
    ) -> Search<'a> {
        // Requirements on some columns say nothing about the size of a full class.
        let about_all =
            || goal.requirements.iter().filter(|r| r.on.is_none()).map(|r| r.model.promise());
        let by_code = |codes: &Vec<u32>| {
            let mut order: Vec<u32> = (0..codes.len() as u32).collect();
            order.sort_by_key(|&row| codes[row as usize]);
            order
        };
        let splits = splits(table);
        Search {
            table,
            goal,
            progress,
            records: table.records(),
            limit: limit(parameters, table.records()),
            least: about_all().map(|p| p.least).max().unwrap_or(1).max(1),
            size_decides: goal.size_decides() && goal.requirements.iter().all(|r| r.on.is_none()),
            discernibility: parameters.word("cost") == "discernibility",
            budget: parameters.count("nodes"),
            visited: 0,
            order: table.quasi_codes.iter().map(by_code).collect(),
            head: vec![false; splits.len()],
            splits,
            best: None,
            open: u64::MAX,
        }
    }

    /// The cheapest split again and again: something good to begin with.
    fn climb(&mut self) {
        loop {
            let classes = self.classes(&self.head);
            self.consider(&classes);
            if !self.progress.improves(0, self.budget) {
                break;
            }
            let left_out = self.too_small(&classes);
            let effects = self.effects(&classes, &vec![0; self.table.rows()]);
            let fits = |e: &Effect| e.change < 0 && left_out + e.left_out as u64 <= self.limit;
            let possible =
                (0..effects.len()).filter(|&s| self.is_available(s) && fits(&effects[s]));
            match possible.min_by_key(|&s| effects[s].change) {
                Some(split) => self.head[split] = true,
                None => break,
            }
        }
        self.head.fill(false);
    }

    /// Searches all sets that contain the head and besides only splits of the tail. None costs less
    /// than `bound`.
    fn visit(&mut self, mut tail: Vec<usize>, bound: u64) {
        if self.visited == self.budget || !self.progress.improves(self.visited, self.budget) {
            self.budget = self.visited;
            self.open = self.open.min(bound);
            return;
        }
        self.visited += 1;
        let classes = self.classes(&self.head);
        let left_out = self.too_small(&classes);
        if left_out > self.limit {
            return;
        }
        self.consider(&classes);
        let Some((bound, effects)) = self.prune(&classes, left_out, &mut tail) else { return };
        tail.sort_by_key(|&s| (!self.is_available(s), std::cmp::Reverse(effects[s].divides)));
        let available = tail.partition_point(|&s| self.is_available(s));
        for i in 0..available {
            let bound = bound + effects[tail[i]].raise as u64;
            if bound < self.best_cost() {
                self.head[tail[i]] = true;
                self.visit(tail[i + 1..].to_vec(), bound);
                self.head[tail[i]] = false;
            }
        }
    }

    /// Takes splits that cannot lead to anything better from the tail, until none is left to take.
    /// The bound and what the others would do, unless nothing better is to be had at all.
    fn prune(
        &self,
        classes: &Classes,
        left_out: u64,
        tail: &mut Vec<usize>,
    ) -> Option<(u64, Vec<Effect>)> {
        loop {
            if !self.progress.at(self.visited.min(self.budget), self.budget) {
                return None;
            }
            let mut all = self.head.clone();
            tail.iter().for_each(|&s| all[s] = true);
            let (bound, raises) = self.bound(classes, left_out, &all);
            if bound >= self.best_cost() {
                return None;
            }
            let effects = self.effects(classes, &raises);
            let before = tail.len();
            // A node may be split for the sake of those below it.
            let mut leads_on = vec![false; self.splits.len()];
            for &s in tail.iter() {
                if let At::Node { above: Some(above), .. } = self.splits[s].at {
                    leads_on[above] = true;
                }
            }
            tail.retain(|&s| {
                let promising = bound + (effects[s].raise as u64) < self.best_cost();
                !self.is_available(s) || (promising && (effects[s].useful > 0 || leads_on[s]))
            });
            self.drop_unreachable(tail);
            if tail.len() == before {
                return Some((bound, effects));
            }
        }
    }

    /// Splits of nodes that can no longer be reached, because the one above will not be made.
    fn drop_unreachable(&self, tail: &mut Vec<usize>) {
        let mut within = self.head.clone();
        tail.iter().for_each(|&s| within[s] = true);
        // The splits stand above before below.
        for s in 0..self.splits.len() {
            if let At::Node { above: Some(above), .. } = self.splits[s].at {
                within[s] &= within[above];
            }
        }
        tail.retain(|&s| within[s]);
    }

    fn best_cost(&self) -> u64 {
        self.best.as_ref().map_or(u64::MAX, |best| best.cost)
    }

    /// Whether the split can be made now: the node above is split.
    fn is_available(&self, s: usize) -> bool {
        !self.head[s]
            && !matches!(self.splits[s].at, At::Node { above: Some(above), .. } if !self.head[above])
    }

    /// Per leaf of a quasi-identifier: the first leaf of the run that it falls into.
    fn starts(&self, set: &Set, dim: usize) -> Vec<u32> {
        let mut starts = vec![0u32; self.table.quasi[dim].taxonomy.leaves()];
        // Places stand in their order and nodes above before below, so that later splits divide
        // what earlier ones left.
        for (split, _) in
            self.splits.iter().zip(set).filter(|(split, made)| **made && split.dim == dim)
        {
            match &split.at {
                At::Leaf(leaf) => starts[*leaf as usize] = *leaf,
                At::Node { children, .. } => children.iter().for_each(|child| {
                    starts[child.first as usize..=child.last as usize].fill(child.first)
                }),
            }
        }
        if self.table.quasi[dim].taxonomy.is_ordered() {
            (1..starts.len()).for_each(|leaf| starts[leaf] = starts[leaf].max(starts[leaf - 1]));
        }
        starts
    }

    fn classes(&self, set: &Set) -> Classes {
        let shown: Vec<Vec<u32>> = (0..self.table.quasi.len())
            .map(|d| {
                let starts = self.starts(set, d);
                self.table.quasi_codes[d].iter().map(|&c| starts[c as usize]).collect()
            })
            .collect();
        let leaves: Vec<u64> =
            self.table.quasi.iter().map(|a| a.taxonomy.leaves() as u64).collect();
        let columns: Vec<&[u32]> = shown.iter().map(Vec::as_slice).collect();
        let (of_row, firsts) = number_tuples(&columns, &leaves);
        let mut sizes = vec![0u64; firsts.len()];
        for (&class, &n) in of_row.iter().zip(&self.table.counts) {
            sizes[class as usize] += u64::from(n);
        }
        Classes { of_row, sizes }
    }

    /// Number of records in classes that are too small.
    fn too_small(&self, classes: &Classes) -> u64 {
        classes.sizes.iter().filter(|&&size| size < self.least).sum()
    }

    /// Charges the head and keeps it if it is the best so far.
    fn consider(&mut self, classes: &Classes) {
        let out: Vec<bool> = if self.size_decides {
            classes.sizes.iter().map(|&size| size < self.least).collect()
        } else {
            match self.goal.leave_out(&self.published(&self.head, classes), self.limit) {
                Some(out) => out,
                None => return,
            }
        };
        let left_out: u64 =
            classes.sizes.iter().zip(&out).filter(|(_, out)| **out).map(|(size, _)| size).sum();
        let minorities = if self.discernibility { Vec::new() } else { self.minorities(classes) };
        let charge = |(class, &size): (usize, &u64)| match (self.discernibility, out[class]) {
            (true, true) => size * self.records,
            (true, false) => size * size,
            (false, true) => size,
            (false, false) => minorities[class],
        };
        let cost = classes.sizes.iter().enumerate().map(charge).sum();
        let better =
            self.best.as_ref().is_none_or(|best| (cost, left_out) < (best.cost, best.left_out));
        if better && left_out <= self.limit && left_out < self.records {
            self.best = Some(Best { cost, left_out, head: self.head.clone() });
        }
    }

    /// Per class: records that do not have the most frequent value of the first sensitive
    /// attribute.
    fn minorities(&self, classes: &Classes) -> Vec<u64> {
        let Some(labels) = self.table.sensitive_codes.first() else {
            return vec![0; classes.sizes.len()];
        };
        let bounds = [classes.sizes.len() as u64, self.table.sensitive[0].taxonomy.leaves() as u64];
        let (pairs, firsts) = number_tuples(&[&classes.of_row, labels], &bounds);
        let mut counts = vec![0u64; firsts.len()];
        for (&pair, &n) in pairs.iter().zip(&self.table.counts) {
            counts[pair as usize] += u64::from(n);
        }
        let mut most = vec![0u64; classes.sizes.len()];
        for (&first, &count) in firsts.iter().zip(&counts) {
            let class = classes.of_row[first as usize] as usize;
            most[class] = most[class].max(count);
        }
        classes.sizes.iter().zip(&most).map(|(size, most)| size - most).collect()
    }

    /// What everything between the head and all of its tail costs at least; and per row what
    /// leaving it out would add to that. The amount of a class of head and tail stands at one of
    /// its rows: no split of the tail parts them.
    fn bound(&self, head: &Classes, left_out: u64, all: &Set) -> (u64, Vec<u64>) {
        let finest = self.classes(all);
        let minorities = if self.discernibility { Vec::new() } else { self.minorities(&finest) };
        let mut bound = if self.discernibility { left_out * self.records } else { left_out };
        let mut raises = vec![0; self.table.rows()];
        let mut seen = vec![false; finest.sizes.len()];
        for (row, &class) in finest.of_row.iter().enumerate() {
            let class = class as usize;
            if std::mem::replace(&mut seen[class], true)
                || head.sizes[head.of_row[row] as usize] < self.least
            {
                continue;
            }
            let size = finest.sizes[class];
            let (least, most) = if self.discernibility {
                (size * size.max(self.least), size * self.records)
            } else {
                (minorities[class], size)
            };
            bound += least;
            raises[row] = most - least;
        }
        (bound, raises)
    }

    /// What each split would do to the classes of the head that are large enough; only for splits
    /// that can be made now.
    fn effects(&self, head: &Classes, raises: &[u64]) -> Vec<Effect> {
        let mut effects = vec![Effect::default(); self.splits.len()];
        for dim in 0..self.table.quasi.len() {
            if self.table.quasi[dim].taxonomy.is_ordered() {
                self.effects_of_places(dim, head, raises, &mut effects);
            } else {
                self.effects_of_nodes(dim, head, raises, &mut effects);
            }
        }
        effects
    }

    /// A class is divided in the same way by all places between two neighbouring values of it.
    fn effects_of_places(
        &self,
        dim: usize,
        head: &Classes,
        raises: &[u64],
        effects: &mut [Effect],
    ) {
        let codes = &self.table.quasi_codes[dim];
        let mut totals = vec![0u64; head.sizes.len()];
        head.of_row.iter().zip(raises).for_each(|(&class, raise)| totals[class as usize] += raise);
        let mut sweeps = vec![Sweep::default(); head.sizes.len()];
        // Effects that begin and end at a leaf.
        let mut steps = vec![Effect::default(); self.table.quasi[dim].taxonomy.leaves() + 1];
        for &row in &self.order[dim] {
            let class = head.of_row[row as usize] as usize;
            if head.sizes[class] < self.least {
                continue;
            }
            let (sweep, code) = (&mut sweeps[class], codes[row as usize]);
            if sweep.met && sweep.last < code {
                let (left, right) = (sweep.size, head.sizes[class] - sweep.size);
                let small =
                    |size: u64, raise: u64| if size < self.least { (size, raise) } else { (0, 0) };
                let (a, b) = (small(left, sweep.raise), small(right, totals[class] - sweep.raise));
                let large = u64::from(left >= self.least) + u64::from(right >= self.least);
                let cost = self.charge(left) + self.charge(right);
                let effect = self.effect(head.sizes[class], cost, a.0 + b.0, a.1 + b.1, large);
                steps[sweep.last as usize + 1].add(effect, 1);
                steps[code as usize + 1].add(effect, -1);
            }
            sweep.met = true;
            sweep.last = code;
            sweep.size += u64::from(self.table.counts[row as usize]);
            sweep.raise += raises[row as usize];
        }
        let mut sum = Effect::default();
        let mut next = 0;
        for (s, split) in self.splits.iter().enumerate().filter(|(_, split)| split.dim == dim) {
            if let At::Leaf(leaf) = split.at {
                steps[next..=leaf as usize].iter().for_each(|&step| sum.add(step, 1));
                next = leaf as usize + 1;
                effects[s] = sum;
            }
        }
    }

    fn effects_of_nodes(&self, dim: usize, head: &Classes, raises: &[u64], effects: &mut [Effect]) {
        let codes = &self.table.quasi_codes[dim];
        for (s, split) in self
            .splits
            .iter()
            .enumerate()
            .filter(|(s, split)| split.dim == dim && self.is_available(*s))
        {
            let At::Node { run, children, .. } = &split.at else { continue };
            let start = self.order[dim].partition_point(|&row| codes[row as usize] < run.first);
            let end = self.order[dim].partition_point(|&row| codes[row as usize] <= run.last);
            let mut sweeps: hashbrown::HashMap<u32, Sweep> = hashbrown::HashMap::new();
            for &row in &self.order[dim][start..end] {
                let class = head.of_row[row as usize];
                if head.sizes[class as usize] < self.least {
                    continue;
                }
                let child = children.partition_point(|c| c.last < codes[row as usize]) as u32;
                let sweep = sweeps.entry(class).or_default();
                if sweep.met && sweep.last != child {
                    self.finish_part(sweep);
                }
                sweep.met = true;
                sweep.last = child;
                sweep.size += u64::from(self.table.counts[row as usize]);
                sweep.raise += raises[row as usize];
            }
            for (class, mut sweep) in sweeps {
                self.finish_part(&mut sweep);
                if sweep.parts > 1 {
                    let size = head.sizes[class as usize];
                    effects[s].add(
                        self.effect(size, sweep.cost, sweep.small, sweep.small_raise, sweep.large),
                        1,
                    );
                }
            }
        }
    }

    fn finish_part(&self, sweep: &mut Sweep) {
        sweep.parts += 1;
        sweep.cost += self.charge(sweep.size);
        if sweep.size < self.least {
            sweep.small += sweep.size;
            sweep.small_raise += sweep.raise;
        } else {
            sweep.large += 1;
        }
        (sweep.size, sweep.raise) = (0, 0);
    }

    /// Discernibility of a class if its size decides.
    fn charge(&self, size: u64) -> u64 {
        if size < self.least { size * self.records } else { size * size }
    }

    /// What dividing a class does: `cost` of the parts, records and raise of the small ones, number
    /// of large ones.
    fn effect(&self, size: u64, cost: u64, small: u64, raise: u64, large: u64) -> Effect {
        // One large part: a class a + b becomes a, with b left out. That pays only under
        // discernibility, if (a + b)² > a² + nb, so if 2a + b > n. With models that look at more
        // than sizes anything may pay: what is left out changes what the rest is compared with.
        let may_pay = !self.size_decides
            || large > 1
            || (large == 1 && self.discernibility && 2 * size - small > self.records);
        Effect {
            raise: raise as i64,
            change: cost as i64 - self.charge(size) as i64,
            left_out: small as i64,
            divides: 1,
            useful: i64::from(may_pay),
        }
    }

    /// The classes as published.
    fn published(&self, set: &Set, classes: &Classes) -> Vec<EquivalenceClass> {
        let mut rows: Vec<Vec<u32>> = vec![Vec::new(); classes.sizes.len()];
        (0u32..).zip(&classes.of_row).for_each(|(row, &class)| rows[class as usize].push(row));
        let starts: Vec<Vec<u32>> =
            (0..self.table.quasi.len()).map(|d| self.starts(set, d)).collect();
        let shown = |d: usize, row: u32| {
            let first = starts[d][self.table.quasi_codes[d][row as usize] as usize];
            let next = starts[d].partition_point(|&start| start <= first) as u32;
            self.table.quasi[d].taxonomy.cover(Run::new(first, next - 1))
        };
        let histogram = |rows: &[u32], s: usize| {
            let codes = &self.table.sensitive_codes[s];
            let count = |row: u32| u64::from(self.table.counts[row as usize]);
            let leaves = self.table.sensitive[s].taxonomy.leaves();
            Histogram::count(
                leaves,
                rows.len(),
                rows.iter().map(|&row| (codes[row as usize], count(row))),
            )
        };
        rows.iter()
            .zip(&classes.sizes)
            .map(|(rows, &count)| EquivalenceClass {
                region: (0..starts.len()).map(|d| shown(d, rows[0])).collect(),
                count,
                histograms: (0..self.table.sensitive.len()).map(|s| histogram(rows, s)).collect(),
            })
            .collect()
    }

    fn form(&self, set: &Set) -> Generalized {
        let classes = self.classes(set);
        let published = self.published(set, &classes);
        let out = self
            .goal
            .leave_out(&published, self.limit)
            .unwrap_or_else(|| vec![true; published.len()]);
        let mut kept: Vec<Members> = published
            .into_iter()
            .map(|c| Members { region: c.region.into(), members: Vec::new() })
            .collect();
        let mut suppressed = Vec::new();
        for ((row, &class), &count) in (0u32..).zip(&classes.of_row).zip(&self.table.counts) {
            let member = Member { row, count };
            if out[class as usize] {
                suppressed.push(member)
            } else {
                kept[class as usize].members.push(member)
            }
        }
        kept.retain(|class| !class.members.is_empty());
        let (left_out, all) =
            (suppressed.iter().map(|m| u64::from(m.count)).sum::<u64>(), self.table.records());
        let form = Generalized::new(kept, suppressed);
        if left_out == 0 {
            form
        } else {
            form.noted(format!("{left_out} of {all} records are suppressed"))
        }
    }

    /// How far the best found may be from the best there is, if the search did not end.
    fn gap(&self, best: &Best) -> Option<String> {
        (self.open < best.cost).then(|| {
            format!(
                "the search was stopped after {} nodes: this release costs {}, and the best one no less than {}",
                self.visited, best.cost, self.open
            )
        })
    }

    /// Why nothing was found.
    fn refusal(&self) -> Vec<Failure> {
        let top = vec![false; self.splits.len()];
        let whole = self.published(&top, &self.classes(&top));
        let mut reasons = self.goal.impossible(&whole[0]);
        if reasons.is_empty() {
            reasons.push(
                Failure::refused("nothing-found", "no recoding keeps the models")
                    .hint("raise `nodes` or `suppress`"),
            );
        }
        reasons
    }
}

/// Every split there is: places by rising code, nodes above before below.
fn splits(table: &Table) -> Vec<Split> {
    let mut splits = Vec::new();
    for (dim, (attribute, codes)) in table.quasi.iter().zip(&table.quasi_codes).enumerate() {
        let taxonomy = &attribute.taxonomy;
        if taxonomy.is_ordered() {
            let mut values = codes.clone();
            values.sort_unstable();
            values.dedup();
            splits.extend(values.into_iter().skip(1).map(|leaf| Split { dim, at: At::Leaf(leaf) }));
        } else {
            nodes(taxonomy, dim, taxonomy.root(), None, &mut splits);
        }
    }
    splits
}

fn nodes(taxonomy: &Taxonomy, dim: usize, run: Run, above: Option<usize>, splits: &mut Vec<Split>) {
    if run.first == run.last {
        return;
    }
    let children = taxonomy.children(run);
    let this = splits.len();
    splits.push(Split { dim, at: At::Node { run, children: children.clone(), above } });
    children.into_iter().for_each(|child| nodes(taxonomy, dim, child, Some(this), splits));
}
