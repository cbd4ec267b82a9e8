//! # bottom-up
//!
//! Starts with nothing generalized and makes values more general, everywhere at once, until the
//! models hold.
//!
//! ## Method
//! Sub-tree generalization, as `top-down`, from the other end: every quasi-identifier has one cut,
//! the same for all records, and at first every cut shows the values themselves. A generalization
//! replaces everything below a node by the node. As long as some class breaks a model, the
//! generalization with the least cost per record that it may help is made: its cost, divided by the
//! number of records in broken classes that show something below the node. Generalizations that
//! touch no broken class are not considered.
//!
//! - `score = "loss"`: the cost is by how much the certainty penalty (`gcp`) rises.
//! - `score = "information-gain"`: the cost is the information about the sensitive attributes that
//!   is given up: the entropy of their values under the node, less the mean entropy under what it
//!   replaces. Ties are broken by loss.
//!
//! Numbers, dates and ordered files whose taxonomy has no levels between the values and the root
//! (`number = true`) are generalized by joining two neighbouring ranges. Records without a value
//! join the others only at the root.
//!
//! A late generalization often makes an early one needless. So at the end values are made more
//! special again, as `top-down` does it, as far as the models allow.
//!
//! ## Guarantee
//! Every class keeps every model; if even the whole table does not, the algorithm refuses. With
//! monotone models no specialization of the release keeps them: a local optimum, not the best of
//! all cuts. With other models the search is a heuristic and may end at the root though something
//! finer would hold.
//!
//! ## Cost
//! A generalization visits the classes below its node and compares all candidates. Slower than
//! `top-down` where the result is far from the data, that is, for large k.
//!
//! ## Departures from the paper
//! The paper divides by how much the smallest class grows, which is nothing in almost every step as
//! long as there is another small class somewhere; the number of records that may be helped says
//! more. Any model, requirements on some columns (`on`), `score = "loss"`, ranges without a
//! taxonomy, and the last step are not in the paper.
//!
//! ## Reference
//! Wang, Yu and Chakraborty, "Bottom-up generalization: a data mining solution to privacy
//! protection", 2004.

use super::cut::{Cuts, Worth, is_free};
use super::top_down::{How, SCORE, Score, specialize};
use super::{Algorithm, Goal, Progress, Refusal};
use crate::catalogue::Entry;
use crate::class::Run;
use crate::failure::Failure;
use crate::release::{Form, Generalized};
use crate::table::Table;
use hashbrown::HashMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

pub(super) const ENTRY: Entry<Box<dyn Algorithm>> = Entry {
    name: "bottom-up",
    summary: "generalizes from the values; one cut per quasi-identifier for all records",
    source: include_str!("bottom_up.rs"),
    parameters: &[SCORE],
    build: |p| Ok(Box::new(BottomUp { score: Score::of(p.word("score")) })),
};

struct BottomUp {
    score: Score,
}

impl Algorithm for BottomUp {
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
        let worth = Worth::new(table);
        let mut climb = Climb::new(Cuts::bottom(table, goal), &worth, self.score);
        let all = table.records();
        while climb.broken > 0 {
            if !progress.at(all.saturating_sub(climb.broken), all) {
                return Err(Refusal(vec![Failure::cancelled()]));
            }
            match climb.best().filter(|_| !progress.is_late()) {
                Some((dim, run)) => climb.generalize(dim, run),
                None if climb.at_top() => {
                    let reasons = Cuts::impossible(table, goal);
                    if reasons.is_empty() {
                        break; // one class keeps what is judged on the whole, though it would not do its part among others
                    }
                    return Err(Refusal(reasons));
                }
                None => climb.finish(),
            }
        }
        let mut cuts = climb.cuts;
        specialize(&mut cuts, &worth, How { score: self.score, siblings: false }, progress);
        Ok(Form::Generalized(cuts.form()))
    }
}

/// What a run costs: by the score, and in loss, for ties.
type Cost = [f64; 2];

/// The way up.
struct Climb<'a> {
    cuts: Cuts<'a>,
    worth: &'a Worth<'a>,
    score: Score,
    /// Number of records in groups that break something, over all views.
    broken: u64,
    /// The same by quasi-identifier and first leaf of the run that they show.
    broken_at: Vec<Vec<u64>>,
    /// Per view and group, whether it breaks something.
    breaks: Vec<Vec<bool>>,
    /// Cost of the runs shown, by quasi-identifier and first leaf.
    costs: Vec<Vec<Cost>>,
    /// Per quasi-identifier: what could be shown instead of what is.
    candidates: Vec<HashMap<Run, Candidate>>,
    /// The candidates by price when it was last looked at. Prices rise while classes are mended,
    /// and where one falls it is entered anew, so the first whose price is still right is the
    /// cheapest.
    queue: BinaryHeap<Reverse<(Price, usize, Run)>>,
}

/// Cost per record in broken groups; the bits of numbers that are not negative stand in their
/// order.
type Price = [u64; 2];

/// A generalization that could be made.
#[derive(Clone, Copy)]
struct Candidate {
    /// What it costs more than what it would replace.
    more: Cost,
    /// Number of records in broken groups below it, when last counted.
    broken: u64,
}

impl Candidate {
    /// Rounded, so that equal costs are equal whatever the order of the sums.
    fn price(&self) -> Price {
        self.more.map(|more| ((more * 1e6).round().max(0.0) / self.broken as f64).to_bits())
    }
}

impl<'a> Climb<'a> {
    fn new(cuts: Cuts<'a>, worth: &'a Worth<'a>, score: Score) -> Climb<'a> {
        let leaves: Vec<usize> = cuts.table.quasi.iter().map(|a| a.taxonomy.leaves()).collect();
        let mut climb = Climb {
            broken: 0,
            broken_at: leaves.iter().map(|&n| vec![0; n]).collect(),
            breaks: cuts.views.iter().map(|view| vec![false; view.groups.len()]).collect(),
            costs: leaves.iter().map(|&n| vec![[0.0; 2]; n]).collect(),
            candidates: vec![HashMap::new(); leaves.len()],
            queue: BinaryHeap::new(),
            cuts,
            worth,
            score,
        };
        for v in 0..climb.cuts.views.len() {
            (0..climb.cuts.views[v].groups.len()).for_each(|i| climb.judge(v, i));
        }
        for (dim, &n) in leaves.iter().enumerate() {
            let values = || (0..n as u32).map(|leaf| Run::new(leaf, leaf));
            climb.costs[dim] = values().map(|run| climb.cost(dim, run)).collect();
            values().for_each(|run| climb.open(dim, run));
        }
        climb
    }

    fn cost(&self, dim: usize, run: Run) -> Cost {
        let loss = self.worth.loss(dim, run);
        match self.score {
            Score::Loss => [loss, loss],
            Score::InformationGain => [self.worth.entropy(dim, run), loss],
        }
    }

    /// Opens the ways to generalize a run.
    fn open(&mut self, dim: usize, run: Run) {
        let taxonomy = &self.cuts.table.quasi[dim].taxonomy;
        let wider: Vec<Run> = if is_free(taxonomy) {
            let left = run
                .first
                .checked_sub(1)
                .map(|leaf| Run::new(self.cuts.shown(dim, leaf).first, run.last));
            let right = (run.last < taxonomy.root().last)
                .then(|| Run::new(run.first, self.cuts.shown(dim, run.last + 1).last));
            left.into_iter().chain(right).map(|run| taxonomy.cover(run)).collect()
        } else {
            taxonomy.parent(run).into_iter().collect()
        };
        for run in wider {
            if !self.candidates[dim].contains_key(&run) {
                let more = self.cuts.below(dim, run).fold(self.cost(dim, run), |more, below| {
                    let less = self.costs[dim][below.first as usize];
                    [more[0] - less[0], more[1] - less[1]]
                });
                self.enter(dim, run, Candidate { more, broken: self.broken_below(dim, run) });
            }
        }
    }

    fn enter(&mut self, dim: usize, run: Run, candidate: Candidate) {
        self.candidates[dim].insert(run, candidate);
        if candidate.broken > 0 {
            self.queue.push(Reverse((candidate.price(), dim, run)));
        }
    }

    fn broken_below(&self, dim: usize, run: Run) -> u64 {
        self.cuts.below(dim, run).map(|below| self.broken_at[dim][below.first as usize]).sum()
    }

    /// The generalization with the least cost per record in broken groups below it; the first of
    /// equals.
    fn best(&mut self) -> Option<(usize, Run)> {
        while let Some(Reverse((price, dim, run))) = self.queue.pop() {
            let ends = [self.cuts.shown(dim, run.first), self.cuts.shown(dim, run.last)];
            let is_above = ends[0].first == run.first && ends[1].last == run.last && ends[0] != run;
            let Some(mut candidate) = self.candidates[dim].get(&run).copied().filter(|_| is_above)
            else {
                continue;
            };
            candidate.broken = self.broken_below(dim, run);
            if candidate.broken > 0 && candidate.price() == price {
                return Some((dim, run));
            }
            self.enter(dim, run, candidate);
        }
        None
    }

    fn generalize(&mut self, dim: usize, run: Run) {
        let below: Vec<Run> = self.cuts.below(dim, run).collect();
        for v in 0..self.cuts.views.len() {
            let touched: Vec<usize> =
                below.iter().flat_map(|&b| self.cuts.views[v].under(dim, b)).collect();
            touched.into_iter().for_each(|i| self.mark(v, i, false));
        }
        let changed = self.cuts.merge(dim, run);
        for (v, groups) in changed.into_iter().enumerate() {
            groups.into_iter().for_each(|i| self.judge(v, i));
        }
        self.costs[dim][run.first as usize] = self.cost(dim, run);
        if let Some(made) = self.candidates[dim].remove(&run) {
            self.cheapen(dim, run, made.more);
        }
        self.open(dim, run);
    }

    /// What lies above a run costs less more, now that the run has been paid.
    fn cheapen(&mut self, dim: usize, run: Run, paid: Cost) {
        let taxonomy = &self.cuts.table.quasi[dim].taxonomy;
        let up = |run| {
            if is_free(taxonomy) {
                Some(taxonomy.root()).filter(|&r| r != run)
            } else {
                taxonomy.parent(run)
            }
        };
        for above in std::iter::successors(up(run), |&above| up(above)) {
            if let Some(mut candidate) = self.candidates[dim].get(&above).copied() {
                candidate.more = [candidate.more[0] - paid[0], candidate.more[1] - paid[1]];
                self.enter(dim, above, candidate);
            }
        }
    }

    fn at_top(&self) -> bool {
        (0..self.candidates.len()).all(|dim| self.cuts.runs(dim).len() == 1)
    }

    /// Everything to its root.
    fn finish(&mut self) {
        (0..self.candidates.len())
            .for_each(|dim| self.generalize(dim, self.cuts.table.quasi[dim].taxonomy.root()));
    }

    /// Judges a group that is not marked.
    fn judge(&mut self, v: usize, i: usize) {
        let view = &self.cuts.views[v];
        let group = &view.groups[i];
        let breaks = !self.cuts.keeps(view, group.region.clone(), &group.rows, group.count);
        self.mark(v, i, breaks);
    }

    fn mark(&mut self, v: usize, i: usize, breaks: bool) {
        if std::mem::replace(&mut self.breaks[v][i], breaks) == breaks {
            return;
        }
        let view = &self.cuts.views[v];
        let group = &view.groups[i];
        let add = |sum: &mut u64| if breaks { *sum += group.count } else { *sum -= group.count };
        add(&mut self.broken);
        view.on.iter().for_each(|&d| add(&mut self.broken_at[d][group.region[d].first as usize]));
    }
}
