//! Single-dimensional recoding: one cut through the domain of every quasi-identifier, the same for
//! all records.
//!
//! A cut is a set of runs that covers every leaf once. Here it is held together with the groups of
//! records that it makes equal, linked to the runs they show (the TIPS structure of Fung et al.),
//! so that changing a run touches only the records below it. Requirements on different sets of
//! columns see different groups: each set is a [`View`].

use super::{Goal, Refusal, Requirement};
use crate::class::{EquivalenceClass, Histogram, Run};
use crate::failure::Failure;
use crate::release::{Form, Generalized, Member, Members};
use crate::table::{Table, number_tuples};
use crate::taxonomy::Taxonomy;
use hashbrown::HashMap;
use std::collections::BTreeSet;

/// The cuts of all quasi-identifiers, and the groups they make.
pub(super) struct Cuts<'a> {
    pub table: &'a Table,
    pub goal: &'a Goal<'a>,
    /// The run that each leaf of each quasi-identifier shows: the runs of the cut, or nodes that
    /// stand for those of their leaves that show them (siblings).
    shown: Vec<Vec<Run>>,
    pub views: Vec<View>,
}

/// The groups that one set of columns makes, with the requirements about them.
pub(super) struct View {
    /// The quasi-identifiers it looks at.
    pub on: Vec<usize>,
    /// Which of the goal's requirements are about it.
    requirements: Vec<usize>,
    /// A group needs at least so many records.
    pub least: u64,
    /// Whether sizes alone decide.
    pub size_decides: bool,
    pub groups: Vec<Group>,
    /// Per quasi-identifier: the groups that show a run. Some may have been merged into others
    /// since.
    under: Vec<HashMap<Run, Vec<u32>>>,
}

/// Records that a set of columns does not tell apart; without any, a group that was merged into
/// another.
pub(super) struct Group {
    /// One run per quasi-identifier; the root where the view does not look.
    pub region: Vec<Run>,
    pub rows: Vec<u32>,
    pub count: u64,
}

/// How a run of a cut may be refined.
pub(super) enum Refinement {
    /// Into these, the children of its node.
    Children(Vec<Run>),
    /// Between any two of its leaves.
    Anywhere,
}

/// Whether ranges of any ends are publishable and no level of the taxonomy says which are meant.
pub(super) fn is_free(taxonomy: &Taxonomy) -> bool {
    taxonomy.is_ordered() && taxonomy.levels() < 2
}

/// How the run may be refined; `None` for a single leaf.
pub(super) fn refinement(taxonomy: &Taxonomy, run: Run) -> Option<Refinement> {
    if run.first == run.last {
        return None;
    }
    match taxonomy.missing() {
        _ if !is_free(taxonomy) => Some(Refinement::Children(taxonomy.children(run))),
        // A range cannot say "or missing", so those records are parted from the others before any
        // range is made.
        Some(m) if run.last == m => {
            Some(Refinement::Children(vec![Run::new(run.first, m - 1), Run::new(m, m)]))
        }
        _ => Some(Refinement::Anywhere),
    }
}

impl<'a> Cuts<'a> {
    /// Everything at its root.
    pub fn top(table: &'a Table, goal: &'a Goal<'a>) -> Cuts<'a> {
        Cuts::top_for(table, goal, |_| true)
    }

    /// The same, where only some of the requirements are judged group by group, and the others by
    /// whoever asks.
    pub fn top_for(
        table: &'a Table,
        goal: &'a Goal<'a>,
        by_groups: impl Fn(&Requirement) -> bool,
    ) -> Cuts<'a> {
        let whole = Group {
            region: table.top(),
            rows: (0..table.rows() as u32).collect(),
            count: table.records(),
        };
        Cuts::of(table, goal, by_groups, |root, _| root, |_| vec![whole.copy()])
    }

    /// Nothing generalized.
    pub fn bottom(table: &'a Table, goal: &'a Goal<'a>) -> Cuts<'a> {
        let points = |on: &[usize]| {
            let columns: Vec<&[u32]> =
                on.iter().map(|&d| table.quasi_codes[d].as_slice()).collect();
            let sizes: Vec<u64> =
                on.iter().map(|&d| table.quasi[d].taxonomy.leaves() as u64).collect();
            let (numbers, firsts) = number_tuples(&columns, &sizes);
            let group = |&first: &u32| {
                let mut region = table.top();
                for &d in on {
                    let leaf = table.quasi_codes[d][first as usize];
                    region[d] = Run::new(leaf, leaf);
                }
                Group { region, rows: Vec::new(), count: 0 }
            };
            let mut groups: Vec<Group> = firsts.iter().map(group).collect();
            for (row, &number) in (0u32..).zip(&numbers) {
                groups[number as usize].push(table, row);
            }
            groups
        };
        Cuts::of(table, goal, |_| true, |_, leaf| Run::new(leaf, leaf), points)
    }

    fn of(
        table: &'a Table,
        goal: &'a Goal<'a>,
        by_groups: impl Fn(&Requirement) -> bool,
        shown: impl Fn(Run, u32) -> Run,
        groups: impl Fn(&[usize]) -> Vec<Group>,
    ) -> Cuts<'a> {
        let all: Vec<usize> = (0..table.quasi.len()).collect();
        let judged: Vec<usize> =
            (0..goal.requirements.len()).filter(|&r| by_groups(&goal.requirements[r])).collect();
        let mut sets: Vec<Vec<usize>> = judged
            .iter()
            .map(|&r| goal.requirements[r].on.clone().unwrap_or_else(|| all.clone()))
            .collect();
        sets.sort();
        sets.dedup();
        let view = |on: Vec<usize>| {
            let about = |&r: &usize| goal.requirements[r].on.as_ref().unwrap_or(&all) == &on;
            let requirements: Vec<usize> = judged.iter().copied().filter(about).collect();
            let promises = || requirements.iter().map(|&r| goal.requirements[r].model.promise());
            let mut view = View {
                least: promises().map(|p| p.least).max().unwrap_or(1).max(1),
                size_decides: promises().all(|p| p.size_decides),
                groups: groups(&on),
                under: vec![HashMap::new(); table.quasi.len()],
                requirements,
                on,
            };
            (0..view.groups.len()).for_each(|i| view.link(i, None));
            view
        };
        let root_of = |d: usize| table.quasi[d].taxonomy.root();
        Cuts {
            table,
            goal,
            shown: all
                .iter()
                .map(|&d| (0..=root_of(d).last).map(|leaf| shown(root_of(d), leaf)).collect())
                .collect(),
            views: sets.into_iter().map(view).collect(),
        }
    }

    /// The answer where there is nothing to search for: the table is empty, or not even the most
    /// general cuts keep the goal.
    pub fn without_search(table: &Table, goal: &Goal<'_>) -> Option<Result<Form, Refusal>> {
        if table.rows() == 0 {
            return Some(Ok(Form::Generalized(Generalized::new(Vec::new(), Vec::new()))));
        }
        let reasons = Cuts::impossible(table, goal);
        (!reasons.is_empty()).then_some(Err(Refusal(reasons)))
    }

    /// Why not even the most general cuts keep the goal; empty if they do.
    pub fn impossible(table: &Table, goal: &Goal<'_>) -> Vec<Failure> {
        let rows: Vec<u32> = (0..table.rows() as u32).collect();
        goal.impossible(&class(table, table.top(), &rows))
    }

    /// What a quasi-identifier shows.
    pub fn runs(&self, dim: usize) -> BTreeSet<Run> {
        self.shown[dim].iter().copied().collect()
    }

    /// The leaves that show a run.
    pub fn leaves(&self, dim: usize, run: Run) -> Vec<u32> {
        (run.first..=run.last).filter(|&leaf| self.shown[dim][leaf as usize] == run).collect()
    }

    /// What every leaf of a quasi-identifier shows.
    pub fn shown_by(&self, dim: usize) -> &[Run] {
        &self.shown[dim]
    }

    /// The run that a leaf shows.
    pub fn shown(&self, dim: usize, leaf: u32) -> Run {
        self.shown[dim][leaf as usize]
    }

    /// The runs of a cut that together are this one.
    pub fn below(&self, dim: usize, run: Run) -> impl Iterator<Item = Run> {
        let shown = &self.shown[dim];
        let next = move |r: &Run| (r.last < run.last).then(|| shown[r.last as usize + 1]);
        std::iter::successors(Some(shown[run.first as usize]), next)
    }

    /// Whether records keep what a view requires of its groups.
    pub fn keeps(&self, view: &View, region: Vec<Run>, rows: &[u32], count: u64) -> bool {
        count >= view.least
            && (view.size_decides || view.judge(self.goal, &class(self.table, region, rows)))
    }

    /// Whether all groups would keep the goal if the run were replaced by these pieces, given that
    /// they do now.
    pub fn admits(&self, dim: usize, run: Run, pieces: &[Run]) -> bool {
        self.views.iter().filter(|view| view.on.contains(&dim)).all(|view| {
            view.under(dim, run).all(|i| {
                let parts = parts(self.table, dim, pieces, &view.groups[i].rows);
                parts.into_iter().zip(pieces).filter(|((_, count), _)| *count > 0).all(
                    |((rows, count), &piece)| {
                        let mut region = view.groups[i].region.clone();
                        region[dim] = piece;
                        self.keeps(view, region, &rows, count)
                    },
                )
            })
        })
    }

    /// Replaces a run by its pieces. Returns the groups of each view that are new or smaller.
    pub fn split(&mut self, dim: usize, run: Run, pieces: &[Run]) -> Vec<Vec<usize>> {
        for leaf in self.leaves(dim, run) {
            self.shown[dim][leaf as usize] = pieces[piece_of(pieces, leaf)];
        }
        let table = self.table;
        self.views.iter_mut().map(|view| view.split(table, dim, run, pieces)).collect()
    }

    /// Replaces all runs below one by it. Returns the groups of each view that show it.
    pub fn merge(&mut self, dim: usize, run: Run) -> Vec<Vec<usize>> {
        let below: Vec<Run> = self.below(dim, run).collect();
        self.shown[dim][run.first as usize..=run.last as usize].fill(run);
        self.views
            .iter_mut()
            .map(
                |view| {
                    if view.on.contains(&dim) { view.join(dim, run, &below) } else { Vec::new() }
                },
            )
            .collect()
    }

    /// The classes that the cuts make of all columns together.
    pub fn form(&self) -> Generalized {
        self.form_as(&self.shown)
    }

    /// The classes if every leaf shows this; different runs of a quasi-identifier begin at
    /// different leaves.
    pub fn form_as(&self, shown: &[Vec<Run>]) -> Generalized {
        let column = |(codes, runs): (&Vec<u32>, &Vec<Run>)| {
            codes.iter().map(|&c| runs[c as usize].first).collect()
        };
        let columns: Vec<Vec<u32>> = self.table.quasi_codes.iter().zip(shown).map(column).collect();
        let sizes: Vec<u64> = self.table.quasi.iter().map(|a| a.taxonomy.leaves() as u64).collect();
        let (numbers, firsts) =
            number_tuples(&columns.iter().map(Vec::as_slice).collect::<Vec<_>>(), &sizes);
        let region = |row: u32| -> Box<[Run]> {
            let cell = |(codes, runs): (&Vec<u32>, &Vec<Run>)| runs[codes[row as usize] as usize];
            self.table.quasi_codes.iter().zip(shown).map(cell).collect()
        };
        let mut classes: Vec<Members> = firsts
            .iter()
            .map(|&row| Members { region: region(row), members: Vec::new() })
            .collect();
        for (row, &number) in (0u32..).zip(&numbers) {
            let count = self.table.counts[row as usize];
            classes[number as usize].members.push(Member { row, count });
        }
        Generalized::new(classes, Vec::new())
    }
}

impl View {
    /// Whether a class, large enough, keeps the requirements.
    pub fn judge(&self, goal: &Goal<'_>, class: &EquivalenceClass) -> bool {
        self.requirements.iter().all(|&r| goal.keeps(r, class))
    }

    /// The groups that show a run.
    pub fn under(&self, dim: usize, run: Run) -> impl Iterator<Item = usize> {
        let groups = self.under[dim].get(&run).map_or(&[][..], Vec::as_slice);
        groups.iter().map(|&i| i as usize).filter(|&i| self.groups[i].count > 0)
    }

    /// The size of its smallest group.
    pub fn smallest(&self) -> u64 {
        self.groups.iter().map(|g| g.count).filter(|&n| n > 0).min().unwrap_or(0)
    }

    /// Makes a group known under its runs, except on one quasi-identifier.
    fn link(&mut self, i: usize, except: Option<usize>) {
        for &d in self.on.iter().filter(|&&d| Some(d) != except) {
            self.under[d].entry(self.groups[i].region[d]).or_default().push(i as u32);
        }
    }

    /// Divides the groups that show a run. Returns the parts; the first of a group keeps its
    /// number.
    fn split(&mut self, table: &Table, dim: usize, run: Run, pieces: &[Run]) -> Vec<usize> {
        let old: Vec<usize> = self.under(dim, run).collect();
        self.under[dim].remove(&run);
        let mut numbers = Vec::new();
        for i in old {
            let parts = parts(table, dim, pieces, &self.groups[i].rows);
            let some = parts.into_iter().zip(pieces).filter(|((_, count), _)| *count > 0);
            for (nth, ((rows, count), &piece)) in some.enumerate() {
                let mut region = self.groups[i].region.clone();
                region[dim] = piece;
                let group = Group { region, rows, count };
                let at = if nth == 0 { i } else { self.groups.len() };
                if nth == 0 {
                    self.groups[i] = group;
                } else {
                    self.groups.push(group);
                    self.link(at, Some(dim));
                }
                self.under[dim].entry(piece).or_default().push(at as u32);
                numbers.push(at);
            }
        }
        numbers
    }

    /// Joins the groups that differ only in which of the runs they show.
    fn join(&mut self, dim: usize, run: Run, below: &[Run]) -> Vec<usize> {
        let mut met: HashMap<Vec<Run>, usize> = HashMap::new();
        let mut all = Vec::new();
        let groups: Vec<usize> = below.iter().flat_map(|&b| self.under(dim, b)).collect();
        below.iter().for_each(|b| drop(self.under[dim].remove(b)));
        for i in groups {
            self.groups[i].region[dim] = run;
            let kept = *met.entry(self.groups[i].region.clone()).or_insert(i);
            if kept == i {
                all.push(i);
                continue;
            }
            let rows = std::mem::take(&mut self.groups[i].rows);
            let count = std::mem::take(&mut self.groups[i].count);
            self.groups[kept].rows.extend(rows);
            self.groups[kept].count += count;
        }
        self.under[dim].insert(run, all.iter().map(|&i| i as u32).collect());
        all
    }
}

impl Group {
    fn copy(&self) -> Group {
        Group { region: self.region.clone(), rows: self.rows.clone(), count: self.count }
    }

    fn push(&mut self, table: &Table, row: u32) {
        self.rows.push(row);
        self.count += u64::from(table.counts[row as usize]);
    }
}

/// The rows in each piece, and how many records they are.
fn parts(table: &Table, dim: usize, pieces: &[Run], rows: &[u32]) -> Vec<(Vec<u32>, u64)> {
    let mut parts = vec![(Vec::new(), 0); pieces.len()];
    for &row in rows {
        let part = &mut parts[piece_of(pieces, table.quasi_codes[dim][row as usize])];
        part.0.push(row);
        part.1 += u64::from(table.counts[row as usize]);
    }
    parts
}

/// Which of the pieces holds the leaf. They stand side by side in order, or the first lies within
/// the second, which has the others.
pub(super) fn piece_of(pieces: &[Run], leaf: u32) -> usize {
    let i = pieces.partition_point(|piece| piece.last < leaf);
    if pieces[i].contains(leaf) { i } else { pieces.len() - 1 }
}

/// The class that these rows form.
fn class(table: &Table, region: Vec<Run>, rows: &[u32]) -> EquivalenceClass {
    let count = |row: u32| u64::from(table.counts[row as usize]);
    let histograms =
        table.sensitive.iter().zip(&table.sensitive_codes).map(|(attribute, codes)| {
            let values = rows.iter().map(|&row| (codes[row as usize], count(row)));
            Histogram::count(attribute.taxonomy.leaves(), rows.len(), values)
        });
    EquivalenceClass {
        region,
        count: rows.iter().map(|&row| count(row)).sum(),
        histograms: histograms.collect(),
    }
}

/// What runs are worth: how many records show them, what they lose, what they say about the
/// sensitive attributes. All of it is the same whatever the other quasi-identifiers show.
pub(super) struct Worth<'a> {
    table: &'a Table,
    /// Per quasi-identifier: number of records with a smaller leaf.
    before: Vec<Vec<u64>>,
    /// Per quasi-identifier and leaf: how often each value of each sensitive attribute occurs with
    /// it.
    labels: Vec<Vec<Histogram>>,
}

impl<'a> Worth<'a> {
    pub fn new(table: &'a Table) -> Worth<'a> {
        // Values of different sensitive attributes stand in one histogram, each attribute after the
        // one before.
        let starts: Vec<u32> = table
            .published_sensitive()
            .iter()
            .scan(0, |next, a| Some(std::mem::replace(next, *next + a.taxonomy.leaves() as u32)))
            .collect();
        let (mut before, mut labels) = (Vec::new(), Vec::new());
        for (attribute, codes) in table.quasi.iter().zip(&table.quasi_codes) {
            let leaves = attribute.taxonomy.leaves();
            let mut sums = vec![0u64; leaves + 1];
            let mut pairs: Vec<Vec<(u32, u64)>> = vec![Vec::new(); leaves];
            for (row, &leaf) in codes.iter().enumerate() {
                let n = u64::from(table.counts[row]);
                sums[leaf as usize + 1] += n;
                let values = starts
                    .iter()
                    .zip(&table.sensitive_codes)
                    .map(|(start, codes)| (start + codes[row], n));
                pairs[leaf as usize].extend(values);
            }
            for leaf in 0..leaves {
                sums[leaf + 1] += sums[leaf];
            }
            before.push(sums);
            labels.push(pairs.into_iter().map(Histogram::of).collect());
        }
        Worth { table, before, labels }
    }

    /// Number of records that show the run.
    pub fn records(&self, dim: usize, run: Run) -> u64 {
        self.before[dim][run.last as usize + 1] - self.before[dim][run.first as usize]
    }

    /// What the records that show the run lose by it, in cells.
    pub fn loss(&self, dim: usize, run: Run) -> f64 {
        self.records(dim, run) as f64 * self.table.quasi[dim].taxonomy.loss(run)
    }

    /// Entropy of the sensitive attributes among the records that show the run, times their number.
    pub fn entropy(&self, dim: usize, run: Run) -> f64 {
        let leaves = &self.labels[dim][run.first as usize..=run.last as usize];
        let together = Histogram::of(leaves.iter().flat_map(|h| h.0.iter().copied()));
        let n = self.records(dim, run);
        self.table.published_sensitive().len() as f64 * nlogn(n)
            - together.0.iter().map(|&(_, c)| nlogn(c)).sum::<f64>()
    }

    /// The entropy, times their number, of the records on both sides of every place in the run,
    /// from low to high.
    pub fn entropies(&self, dim: usize, run: Run) -> Vec<f64> {
        let leaves = &self.labels[dim][run.first as usize..=run.last as usize];
        let mut right: HashMap<u32, u64> = HashMap::new();
        leaves
            .iter()
            .flat_map(|h| &h.0)
            .for_each(|&(value, c)| *right.entry(value).or_default() += c);
        let mut left: HashMap<u32, u64> = HashMap::new();
        let together = Histogram::of(right.iter().map(|(&value, &c)| (value, c)));
        // Σ c log c over both sides.
        let mut sum: f64 = together.0.iter().map(|&(_, c)| nlogn(c)).sum();
        let sides = self.table.published_sensitive().len() as f64;
        let mut entropies = Vec::with_capacity(leaves.len() - 1);
        for (leaf, histogram) in (run.first..run.last).zip(leaves) {
            for &(value, c) in &histogram.0 {
                let (l, r) = (left.entry(value).or_default(), right.entry(value).or_default());
                sum += nlogn(*l + c) - nlogn(*l) + nlogn(*r - c) - nlogn(*r);
                *l += c;
                *r -= c;
            }
            let below = self.records(dim, Run::new(run.first, leaf));
            let above = self.records(dim, Run::new(leaf + 1, run.last));
            entropies.push(sides * (nlogn(below) + nlogn(above)) - sum);
        }
        entropies
    }
}

/// n log₂ n.
fn nlogn(n: u64) -> f64 {
    if n == 0 { 0.0 } else { n as f64 * (n as f64).log2() }
}
