//! # mondrian
//!
//! Cuts the space of the quasi-identifiers again and again, like the painter, as long as every part
//! keeps the models.
//!
//! ## Method
//! Start with the whole table as one part. Choose the quasi-identifier that is widest in the part,
//! relative to its domain (ties: the order of the policy). Numbers, dates and ordered categories
//! are cut between two values; other categories are cut at their taxonomy, the part's node into its
//! children. If both sides (all non-empty children) keep the models the cut is made and each side
//! goes on by itself; otherwise the next widest quasi-identifier is tried. A part that allows no
//! cut is an equivalence class. Where a number or date is missing, those records are cut off first
//! if they may stand alone, because no range can say "or missing".
//!
//! - `cut = "nearest"` tries every place on a quasi-identifier and takes the allowable one nearest
//!   the median. `cut = "median"` tries the median only, as printed in many texts; with repeated
//!   values it often fails, leaves larger classes and changes measured risks by a factor of three.
//! - `partition = "strict"` keeps all records of one value on one side, so regions are disjoint.
//!   `"relaxed"` divides the records at the median value between both sides, so that ordered
//!   attributes are halved exactly; which of them go where is decided by the seed.
//! - `recoding = "cells"` publishes the range of the cells that the records of the class fall into
//!   (or the lowest taxonomy node over them); cells are of the finest unit that the policy
//!   declares. `"region"` publishes the region that the cuts left, which says less about the people
//!   in it. `"tight"` publishes the smallest and the largest value of the class as they are in the
//!   data, whatever the unit: the ends of its ranges are somebody's values, and the release says
//!   so.
//! - `keep = "groups"` publishes again: people who were last seen in one group of an earlier
//!   release stay together. Such a group is cut as if all of it stood in its middle, so regions may
//!   overlap. A cut is made only if everybody who came or left since keeps somebody in her class to
//!   be mistaken for: who left, a newcomer with her value, or another who left with whom she may
//!   have exchanged values; who came, another newcomer, or somebody who left with her value.
//!
//! ## Guarantee
//! Every class keeps every model of the policy: cuts are made only if all parts do. If even the
//! whole table does not, the algorithm refuses. For a model that is not monotone this is a
//! heuristic: parts that fail may hold again when cut further, and mondrian does not look there.
//! Under k-anonymity on ordered attributes, parts of relaxed partitions have at most 2k − 1
//! records, or are all identical; parts of strict ones at most 2d(k − 1) + m, with d attributes and
//! m records at the most frequent point. Parts that show the same region are one class.
//!
//! With `keep = "groups"` and one earlier release nobody's value becomes certain by the two
//! together, unless every release of all these people does that (a single newcomer when nobody left
//! is told by the totals alone): then a note says of how many people. If nobody comes or leaves,
//! the release says nothing that was not said before. What several earlier releases tell together,
//! people who return after an absence, and beliefs short of certainty are not guaranteed; the gate
//! judges them.
//!
//! ## Cost
//! O(n log n) for n distinct rows (records, if relaxed) on all cores; memory of about one copy of
//! the codes.
//!
//! ## Departures from the paper
//! When the widest attribute allows no cut the others are tried. The paper leaves the choice of cut
//! and the recoding open; both are parameters here and recorded in the manifest.
//!
//! ## Reference
//! LeFevre, DeWitt and Ramakrishnan, "Mondrian multidimensional k-anonymity", 2006.

use super::churn::told_apart;
use super::{Algorithm, Divide, Elsewhere, Goal, Progress, Refusal};
use crate::catalogue::{Entry, Kind, Parameter};
use crate::class::{EquivalenceClass, Histogram, Run};
use crate::failure::Failure;
use crate::history::History;
use crate::progress::Watch;
use crate::release::{Form, Generalized, Member, Members};
use crate::table::{Attribute, Table, Tally};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

pub(super) const ENTRY: Entry<Box<dyn Algorithm>> = Entry {
    name: "mondrian",
    summary: "greedy multidimensional cuts; numbers by range, categories by taxonomy",
    source: include_str!("mondrian.rs"),
    parameters: &[
        Parameter {
            name: "partition",
            kind: Kind::Choice(&["strict", "relaxed"]),
            default: Some("strict"),
            about: "whether equal values must stay on one side of a cut",
        },
        Parameter {
            name: "cut",
            kind: Kind::Choice(&["nearest", "median"]),
            default: Some("nearest"),
            about: "the allowable cut nearest the median, or the median alone",
        },
        Parameter {
            name: "recoding",
            kind: Kind::Choice(&["cells", "region", "tight"]),
            default: Some("cells"),
            about: "publish the cells of the records, the region of the cuts, or exact values as ends",
        },
        Parameter {
            name: "keep",
            kind: Kind::Choice(&["nothing", "groups"]),
            default: Some("nothing"),
            about: "whether people of one group of an earlier release stay together",
        },
    ],
    build: |p| {
        let relaxed = p.word("partition") == "relaxed";
        let median_only = p.word("cut") == "median";
        let (recoding, keep) = (p.word("recoding"), p.word("keep") == "groups");
        let (tight, exact) = (recoding != "region", recoding == "tight");
        if keep && (relaxed || !tight) {
            return Err(Failure::policy("conflicting-keys", 
                "`keep = \"groups\"` goes with `partition = \"strict\"` and without `recoding = \"region\"`",
            )
            .hint("leave these two out"));
        }
        Ok(Box::new(Mondrian { relaxed, median_only, tight, exact, keep }))
    },
};

struct Mondrian {
    relaxed: bool,
    median_only: bool,
    /// Whether classes show what covers their records, not the region of the cuts.
    tight: bool,
    /// Whether the ends of ranges are values of the data.
    exact: bool,
    keep: bool,
}

/// Parts with fewer rows than this are not worth handing to another thread.
const ALONE: usize = 2048;

impl Algorithm for Mondrian {
    fn remembers(&self) -> bool {
        self.keep
    }

    fn shows_exact_ends(&self) -> bool {
        self.exact
    }

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
        let watch = Watch::new(progress, table.records());
        let job = Job { how: self, table, goal, watch };
        let mut rows = job.pack(seed);
        let whole = job.class(&rows);
        let reasons = goal.impossible(&whole);
        if !reasons.is_empty() {
            return Err(Refusal(reasons));
        }
        let told = job.told_apart(&rows, |_| true);
        let classes = job.divide(&mut rows, table.top());
        let mut form = Generalized::new(classes, Vec::new());
        if told > 0 {
            let people = if told == 1 { "one person".into() } else { format!("{told} people") };
            form = form.noted(format!(
                "the values of {people} who came or left may follow from this release and the one before, and from any other \
                 release of all these people: suppress newcomers, or wait until more people come and leave"
            ));
        }
        let form = Form::Generalized(form);
        if goal.is_monotone() { Ok(form) } else { goal.confirm(table, form) }
    }

    fn elsewhere(&self) -> Option<Elsewhere<'_>> {
        // Which records of one value go to which side is decided record by record.
        (!self.relaxed && !self.keep).then_some(Elsewhere::Parts(self))
    }
}

impl Mondrian {
    fn job<'a>(&'a self, table: &'a Table, goal: &'a Goal<'a>) -> Job<'a> {
        Job { how: self, table, goal, watch: Watch::silent() }
    }

    /// The range of codes that occur, of each quasi-identifier by its own table.
    fn tight_by(counts: &[Table]) -> Vec<Run> {
        let run = |(dim, table): (usize, &Table)| {
            let codes = &table.quasi_codes[dim];
            Run::new(
                codes.iter().copied().min().unwrap_or(0),
                codes.iter().copied().max().unwrap_or(0),
            )
        };
        counts.iter().enumerate().map(run).collect()
    }
}

/// The same decisions as [`Job::divide`]: a cut of a quasi-identifier is judged by its own codes
/// and the sensitive ones only, unless a model looks at regions.
impl Divide for Mondrian {
    fn cut(&self, goal: &Goal<'_>, counts: &[Table], region: &[Run]) -> Option<(usize, Vec<Run>)> {
        let tight = Mondrian::tight_by(counts);
        let total = counts.first()?.records();
        if total < 2 * goal.least() {
            return None;
        }
        for dim in self.job(counts.first()?, goal).by_width(&tight) {
            let job = self.job(&counts[dim], goal);
            match job.find_cut(&mut job.pack(0), total, dim, tight[dim]) {
                Some(Cut::Between(code)) => {
                    let Run { first, last } = region[dim];
                    return Some((dim, vec![Run::new(first, code), Run::new(code + 1, last)]));
                }
                Some(Cut::Children(runs)) => return Some((dim, runs)),
                // Only relaxed partitions are halved.
                Some(Cut::Halves(_)) | None => (),
            }
        }
        None
    }

    fn finish(&self, goal: &Goal<'_>, part: &Table, region: &[Run]) -> Vec<Members> {
        let job = self.job(part, goal);
        if part.rows() == 0 { Vec::new() } else { job.divide(&mut job.pack(0), region.to_vec()) }
    }

    fn shows(&self, counts: &[Table], region: &[Run]) -> Box<[Run]> {
        let tight = Mondrian::tight_by(counts);
        let runs = if self.tight { &tight } else { region };
        let quasi = counts.first().map_or(&[][..], |t| &t.quasi);
        quasi.iter().zip(runs).map(|(a, &run)| a.taxonomy.cover(run)).collect()
    }
}

/// Rows looked at between two questions whether to go on: some hundredths of a second.
const ROWS: u64 = 100_000;

/// One run of the algorithm.
struct Job<'a> {
    how: &'a Mondrian,
    table: &'a Table,
    goal: &'a Goal<'a>,
    watch: Watch<'a>,
}

/// A place to cut a part, with the regions of the pieces.
enum Cut {
    /// Rows with a code up to this one go to the first piece.
    Between(u32),
    /// So many rows, in order of their code, go to the first piece.
    Halves(usize),
    /// Each child of the taxonomy node that is not empty is a piece.
    Children(Vec<Run>),
}

impl Job<'_> {
    fn dims(&self) -> usize {
        self.table.quasi.len()
    }

    /// What earlier releases said, if their groups are kept.
    fn past(&self) -> Option<&History> {
        self.table.past.as_ref().filter(|_| self.how.keep)
    }

    /// The code of a row itself, which may be cut elsewhere for the sake of its group.
    fn own(&self, row: &[u32], dim: usize) -> u32 {
        match self.past() {
            Some(_) => self.table.quasi_codes[dim][row[self.dims()] as usize],
            None => row[dim],
        }
    }

    /// Words per row: one code per quasi-identifier, the number of the row, its count.
    ///
    /// Rows are moved as a whole when a part is cut, so that a part is always a stretch of memory:
    /// reading codes through an index would miss the cache at every row once the parts are small.
    fn stride(&self) -> usize {
        self.dims() + 2
    }

    fn pack(&self, seed: u64) -> Vec<u32> {
        let t = self.table;
        let mut rows = Vec::with_capacity(t.rows() * self.stride());
        let middles = self.past().map(|past| (past, middles(t, past)));
        let mut push = |row: usize, count: u32| {
            let group =
                middles.as_ref().and_then(|(past, middles)| Some(&middles[past.group_of(row)?]));
            match group {
                Some(middle) => rows.extend_from_slice(middle),
                None => rows.extend(t.quasi_codes.iter().map(|codes| codes[row])),
            }
            rows.extend([row as u32, count]);
        };
        if self.how.relaxed {
            // Records of one value may part, so each goes by itself, in an order that only the seed
            // knows.
            let mut units: Vec<u32> =
                (0..t.rows()).flat_map(|r| (0..t.counts[r]).map(move |_| r as u32)).collect();
            units.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
            units.iter().for_each(|&row| push(row as usize, 1));
        } else {
            (0..t.rows()).for_each(|row| push(row, t.counts[row]));
        }
        rows
    }

    fn count(&self, row: &[u32]) -> u64 {
        u64::from(row[self.dims() + 1])
    }

    fn weight(&self, rows: &[u32]) -> u64 {
        rows.chunks_exact(self.stride()).map(|row| self.count(row)).sum()
    }

    /// The class that these rows would form; its region is left out unless some model looks at it.
    fn class(&self, rows: &[u32]) -> EquivalenceClass {
        self.class_of(rows, |_| true)
    }

    fn class_of(&self, rows: &[u32], select: impl Fn(&[u32]) -> bool) -> EquivalenceClass {
        let chosen = || rows.chunks_exact(self.stride()).filter(|row| select(row));
        let id = self.dims();
        let histogram = |(attribute, codes): (&Attribute, &Vec<u32>)| {
            let values = chosen().map(|row| (codes[row[id] as usize], self.count(row)));
            Histogram::count(attribute.taxonomy.leaves(), rows.len() / self.stride(), values)
        };
        let histograms = if self.goal.size_decides() {
            vec![Histogram::default(); self.table.sensitive.len()]
        } else {
            self.table.sensitive.iter().zip(&self.table.sensitive_codes).map(histogram).collect()
        };
        let region = if self.goal.needs_regions() { self.shown(chosen()) } else { Vec::new() };
        EquivalenceClass { region, count: chosen().map(|row| self.count(row)).sum(), histograms }
    }

    /// What covers the rows. A model that looks at regions must hold for the tight one, whatever is
    /// published: the region that the cuts leave contains it, and where that is not enough what was
    /// made is judged once more.
    fn shown<'r>(&self, rows: impl Iterator<Item = &'r [u32]>) -> Vec<Run> {
        let mut tight: Vec<Run> = Vec::new();
        for row in rows {
            if tight.is_empty() {
                tight =
                    (0..self.dims()).map(|d| self.own(row, d)).map(|c| Run::new(c, c)).collect();
            }
            for (d, run) in tight.iter_mut().enumerate() {
                let code = self.own(row, d);
                run.first = run.first.min(code);
                run.last = run.last.max(code);
            }
        }
        self.table.quasi.iter().zip(tight).map(|(a, run)| a.taxonomy.cover(run)).collect()
    }

    /// Cuts the part as often as the goal allows; the classes it falls into.
    fn divide(&self, rows: &mut [u32], region: Vec<Run>) -> Vec<Members> {
        let total = self.weight(rows);
        let tight = self.tight(rows);
        // Cancelled, it leaves the rest uncut.
        let rows_here = (rows.len() / self.stride()) as u64;
        if total >= 2 * self.goal.least() && self.watch.work(rows_here, ROWS) {
            for dim in self.by_width(&tight) {
                let cut = self.find_cut(rows, total, dim, tight[dim]);
                if let Some(cut) = cut.filter(|cut| self.keeps_open(rows, dim, cut)) {
                    return self.make_cut(rows, region, dim, &cut);
                }
            }
        }
        self.watch.add(total);
        vec![self.leaf(rows, &tight, &region)]
    }

    /// People of a part whose coming or leaving tells their value; nobody where earlier groups are
    /// not kept.
    fn told_apart(&self, rows: &[u32], select: impl Fn(&[u32]) -> bool) -> u64 {
        let Some(past) = self.past() else { return 0 };
        let chosen = rows.chunks_exact(self.stride()).filter(|row| select(row));
        told_apart(self.table, past, chosen.map(|row| (row[self.dims()] as usize, self.count(row))))
    }

    /// Whether a cut tells of nobody more what the uncut part does not.
    fn keeps_open(&self, rows: &[u32], dim: usize, cut: &Cut) -> bool {
        if self.past().is_none() {
            return true;
        }
        let after: u64 = match cut {
            Cut::Between(code) => {
                self.told_apart(rows, |row| row[dim] <= *code)
                    + self.told_apart(rows, |row| row[dim] > *code)
            }
            Cut::Children(runs) => {
                runs.iter().map(|run| self.told_apart(rows, |row| run.contains(row[dim]))).sum()
            }
            // Only relaxed partitions are halved, and they keep no groups.
            Cut::Halves(_) => 0,
        };
        after <= self.told_apart(rows, |_| true)
    }

    /// The range of codes that occur, per quasi-identifier.
    fn tight(&self, rows: &[u32]) -> Vec<Run> {
        let dims = self.dims();
        let mut runs: Vec<Run> = rows[..dims].iter().map(|&c| Run::new(c, c)).collect();
        for row in rows.chunks_exact(self.stride()) {
            for (run, &code) in runs.iter_mut().zip(row) {
                run.first = run.first.min(code);
                run.last = run.last.max(code);
            }
        }
        runs
    }

    /// Quasi-identifiers that can be cut, widest first relative to their domain; ties in the order
    /// of the policy.
    fn by_width(&self, tight: &[Run]) -> Vec<usize> {
        let width = |d: usize| {
            let t = &self.table.quasi[d].taxonomy;
            (t.size(tight[d]) - 1, (t.size(t.root()) - 1).max(1))
        };
        let mut dims: Vec<(usize, (u64, u64))> = (0..tight.len())
            .filter(|&d| tight[d].first < tight[d].last)
            .map(|d| (d, width(d)))
            .collect();
        // a/b > c/d as a·d > c·b, exactly; the sort is stable.
        dims.sort_by(|(_, (a, b)), (_, (c, d))| {
            (u128::from(*c) * u128::from(*b)).cmp(&(u128::from(*a) * u128::from(*d)))
        });
        dims.into_iter().map(|(d, _)| d).collect()
    }

    fn find_cut(&self, rows: &mut [u32], total: u64, dim: usize, tight: Run) -> Option<Cut> {
        if !self.table.quasi[dim].taxonomy.is_ordered() {
            return self.children_cut(rows, dim, tight);
        }
        if let Some(cut) = self.missing_cut(rows, total, dim, tight) {
            return Some(cut);
        }
        if self.how.relaxed
            && let Some(cut) = self.halves_cut(rows, dim)
        {
            return Some(cut);
        }
        self.value_cut(rows, total, dim, tight)
    }

    /// The taxonomy node over the part, cut into its children, if all that are not empty may stand
    /// alone.
    fn children_cut(&self, rows: &[u32], dim: usize, tight: Run) -> Option<Cut> {
        let children = self.table.quasi[dim].taxonomy.children(tight);
        let mut weights = vec![0u64; children.len()];
        for row in rows.chunks_exact(self.stride()) {
            weights[children.partition_point(|run| run.last < row[dim])] += self.count(row);
        }
        let used: Vec<Run> =
            (0..children.len()).filter(|&i| weights[i] > 0).map(|i| children[i]).collect();
        let large_enough = weights.iter().all(|&w| w == 0 || w >= self.goal.least());
        let allowed = large_enough
            && (self.goal.size_decides()
                || used.iter().all(|run| {
                    self.goal.holds(&self.class_of(rows, |row| run.contains(row[dim])))
                }));
        allowed.then_some(Cut::Children(used))
    }

    /// The records without a value, cut off from the others: a range cannot say "or missing", so a
    /// part that mixes them shows nothing at all. Tried before any other place.
    fn missing_cut(&self, rows: &[u32], total: u64, dim: usize, tight: Run) -> Option<Cut> {
        let missing = self.table.quasi[dim].taxonomy.missing().filter(|&m| tight.last == m)?;
        let without: u64 = rows
            .chunks_exact(self.stride())
            .filter(|row| row[dim] == missing)
            .map(|row| self.count(row))
            .sum();
        let least = self.goal.least();
        let cut = missing - 1;
        let fits = without >= least && total - without >= least;
        (fits && self.both_sides_hold(rows, dim, cut)).then_some(Cut::Between(cut))
    }

    /// Whether the records up to a code, and those above it, each keep the goal. Their sizes are
    /// known to suffice.
    fn both_sides_hold(&self, rows: &[u32], dim: usize, cut: u32) -> bool {
        let holds =
            |upper: bool| self.goal.holds(&self.class_of(rows, |row| (row[dim] > cut) == upper));
        self.goal.size_decides() || (holds(false) && holds(true))
    }

    /// The records in order of their code, cut in the middle; equal codes may fall on both sides.
    fn halves_cut(&self, rows: &mut [u32], dim: usize) -> Option<Cut> {
        let stride = self.stride();
        let n = rows.len() / stride;
        let half = n / 2;
        let mut order: Vec<(u32, u32)> =
            rows.chunks_exact(stride).enumerate().map(|(i, r)| (r[dim], i as u32)).collect();
        order.select_nth_unstable(half);
        let sorted: Vec<u32> = order
            .iter()
            .flat_map(|&(_, i)| {
                rows[i as usize * stride..(i as usize + 1) * stride].iter().copied()
            })
            .collect();
        rows.copy_from_slice(&sorted);
        let (a, b) = rows.split_at(half * stride);
        let least = self.goal.least();
        let allowed = half as u64 >= least
            && (n - half) as u64 >= least
            && (self.goal.size_decides()
                || (self.goal.holds(&self.class(a)) && self.goal.holds(&self.class(b))));
        allowed.then_some(Cut::Halves(half))
    }

    /// A cut between two values: the median, or the allowable one nearest to it.
    fn value_cut(&self, rows: &[u32], total: u64, dim: usize, tight: Run) -> Option<Cut> {
        // Number of records up to each value that occurs, the last one left out: the places where a
        // cut can be.
        let places = self.places(rows, dim, tight);
        let least = self.goal.least();
        let fits = |&(_, left): &(u32, u64)| left >= least && total - left >= least;
        let best = if self.how.median_only {
            // Lower median: the first value at which half the records are reached.
            places.iter().find(|(_, left)| 2 * left >= total).copied().filter(fits)?
        } else {
            places
                .iter()
                .copied()
                .filter(fits)
                .min_by_key(|(_, left)| (2 * left).abs_diff(total))?
        };
        if self.both_sides_hold(rows, dim, best.0) {
            return Some(Cut::Between(best.0));
        }
        if self.how.median_only { None } else { self.sweep(rows, total, dim, &places) }
    }

    /// Records up to each occurring code but the last, by rising code.
    fn places(&self, rows: &[u32], dim: usize, tight: Run) -> Vec<(u32, u64)> {
        let stride = self.stride();
        let span = tight.width() as usize;
        let mut places: Vec<(u32, u64)> = if span <= 4 * (rows.len() / stride) + 64 {
            let mut counts = vec![0u64; span];
            for row in rows.chunks_exact(stride) {
                counts[(row[dim] - tight.first) as usize] += self.count(row);
            }
            let occurring = counts.iter().enumerate().filter(|(_, n)| **n > 0);
            occurring.map(|(i, &n)| (tight.first + i as u32, n)).collect()
        } else {
            Histogram::of(rows.chunks_exact(stride).map(|row| (row[dim], self.count(row)))).0
        };
        places.pop();
        let mut sum = 0;
        for (_, n) in &mut places {
            sum += *n;
            *n = sum;
        }
        places
    }

    /// Judges every place by moving the rows over one value at a time; the allowable one nearest
    /// the median.
    fn sweep(&self, rows: &[u32], total: u64, dim: usize, places: &[(u32, u64)]) -> Option<Cut> {
        let stride = self.stride();
        let mut order: Vec<(u32, u32)> =
            rows.chunks_exact(stride).enumerate().map(|(i, r)| (r[dim], i as u32)).collect();
        order.sort_unstable();
        let id = self.dims();
        let (mut left, mut right) = (Tally::new(self.table), Tally::new(self.table));
        rows.chunks_exact(stride).for_each(|row| right.add(row[id], self.count(row)));
        let mut best: Option<(u64, u32)> = None;
        let mut next = order.iter().peekable();
        for &(cut, _) in places {
            while let Some(&(_, i)) = next.next_if(|(code, _)| *code <= cut) {
                let row = &rows[i as usize * stride..(i as usize + 1) * stride];
                left.add(row[id], self.count(row));
                right.remove(row[id], self.count(row));
            }
            let off = (2 * left.count).abs_diff(total);
            let nearer = best.is_none_or(|(b, _)| off < b);
            let region = |upper: bool| {
                let side = rows.chunks_exact(stride).filter(|row| (row[dim] > cut) == upper);
                if self.goal.needs_regions() { self.shown(side) } else { Vec::new() }
            };
            if nearer
                && self.goal.holds(&left.class(region(false)))
                && self.goal.holds(&right.class(region(true)))
            {
                best = Some((off, cut));
            }
        }
        best.map(|(_, cut)| Cut::Between(cut))
    }

    fn make_cut(&self, rows: &mut [u32], region: Vec<Run>, dim: usize, cut: &Cut) -> Vec<Members> {
        let stride = self.stride();
        let mut pieces: Vec<(&mut [u32], Run)> = Vec::new();
        let whole = region[dim];
        match cut {
            Cut::Between(code) => {
                let mid = split(rows, stride, |row| row[dim] <= *code);
                let (a, b) = rows.split_at_mut(mid);
                pieces.push((a, Run::new(whole.first, *code)));
                pieces.push((b, Run::new(code + 1, whole.last)));
            }
            Cut::Halves(half) => {
                let (a, b) = rows.split_at_mut(half * stride);
                let highest = a.chunks_exact(stride).map(|r| r[dim]).max().unwrap_or(whole.last);
                let lowest = b.chunks_exact(stride).map(|r| r[dim]).min().unwrap_or(whole.first);
                pieces.push((a, Run::new(whole.first, highest)));
                pieces.push((b, Run::new(lowest, whole.last)));
            }
            Cut::Children(children) => {
                let mut rest = rows;
                for &run in children {
                    let mid = split(rest, stride, |row| row[dim] <= run.last);
                    let (piece, others) = std::mem::take(&mut rest).split_at_mut(mid);
                    pieces.push((piece, run));
                    rest = others;
                }
            }
        }
        self.divide_all(pieces, dim, &region)
    }

    /// Divides the pieces, on several threads while they are large.
    fn divide_all(
        &self,
        mut pieces: Vec<(&mut [u32], Run)>,
        dim: usize,
        region: &[Run],
    ) -> Vec<Members> {
        let size: usize = pieces.iter().map(|(rows, _)| rows.len()).sum();
        if pieces.len() > 1 && size / self.stride() > ALONE {
            let rest = pieces.split_off(pieces.len() / 2);
            let (mut a, b) = rayon::join(
                || self.divide_all(pieces, dim, region),
                || self.divide_all(rest, dim, region),
            );
            a.extend(b);
            return a;
        }
        let mut classes = Vec::new();
        for (rows, run) in pieces {
            let mut region = region.to_vec();
            region[dim] = run;
            classes.extend(self.divide(rows, region));
        }
        classes
    }

    fn leaf(&self, rows: &[u32], tight: &[Run], region: &[Run]) -> Members {
        let region = match self.past() {
            Some(_) => self.shown(rows.chunks_exact(self.stride())).into(),
            None => {
                let runs = if self.how.tight { tight } else { region };
                self.table.quasi.iter().zip(runs).map(|(a, &run)| a.taxonomy.cover(run)).collect()
            }
        };
        let (id, n) = (self.dims(), self.dims() + 1);
        let mut members: Vec<Member> = rows
            .chunks_exact(self.stride())
            .map(|row| Member { row: row[id], count: row[n] })
            .collect();
        if self.how.relaxed {
            members.sort_unstable_by_key(|m| m.row);
            members.dedup_by(|next, kept| {
                next.row == kept.row && {
                    kept.count += next.count;
                    true
                }
            });
        }
        Members { region, members }
    }
}

/// The median code of each earlier group's people who are here, per quasi-identifier.
fn middles(table: &Table, past: &History) -> Vec<Vec<u32>> {
    let mut middles = vec![Vec::with_capacity(table.quasi.len()); past.groups.len()];
    for codes in &table.quasi_codes {
        let mut seen: Vec<(usize, u32, u32)> = (0..table.rows())
            .filter_map(|row| Some((past.group_of(row)?, codes[row], table.counts[row])))
            .collect();
        seen.sort_unstable();
        // Nobody of some groups may be left; nobody asks for their middle.
        middles.iter_mut().for_each(|m| m.push(0));
        for group in seen.chunk_by(|a, b| a.0 == b.0) {
            let all: u64 = group.iter().map(|&(.., n)| u64::from(n)).sum();
            let mut before = 0;
            let half = |&&(.., n): &&(usize, u32, u32)| {
                before += u64::from(n);
                2 * before >= all
            };
            if let (Some(&(_, code, _)), Some(last)) =
                (group.iter().find(half), middles[group[0].0].last_mut())
            {
                *last = code;
            }
        }
    }
    middles
}

/// Moves the rows that satisfy the predicate to the front; where the others begin, in words.
fn split(rows: &mut [u32], stride: usize, first: impl Fn(&[u32]) -> bool) -> usize {
    let (mut lo, mut hi) = (0, rows.len());
    loop {
        while lo < hi && first(&rows[lo..lo + stride]) {
            lo += stride;
        }
        while lo < hi && !first(&rows[hi - stride..hi]) {
            hi -= stride;
        }
        if lo >= hi {
            return lo;
        }
        hi -= stride;
        let (a, b) = rows.split_at_mut(hi);
        a[lo..lo + stride].swap_with_slice(&mut b[..stride]);
        lo += stride;
    }
}
