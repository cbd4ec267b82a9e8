//! # lattice
//!
//! The best full-domain generalization there is: every quasi-identifier at one level of its
//! taxonomy.
//!
//! ## Method
//! All combinations of levels form a lattice. Each keeps the models if the classes that do not are
//! few enough to be left out (`suppress`); they are left out whole, and the others are judged again
//! as what is published, until nothing more fails. Of all that keep the models the one that loses
//! least by `metric` is published; of equals the one with the lowest sum of levels, and then the
//! first in the order of levels.
//!
//! Not every combination is tested. What it would lose if nothing were left out is a bound for
//! everything more general, so combinations above the best one found are passed over; and where too
//! many records stand in classes that are too small, so do they in everything more specific.
//! Frequency sets are rolled up from those of more specific combinations.
//!
//! - `metric`: `gcp`, `iloss`, `discernibility` and `c_avg` are the metrics of those names.
//!   `precision` is the mean of level / levels over all cells (Sweeney), `entropy` the bits that a
//!   cell's group leaves open about its value (non-uniform entropy, De Waal and Willenborg). Cells
//!   of records left out count as shown at the root.
//!
//! A table that does not fit is counted as it is shown at some combination of levels, for which it
//! does; that tells about all more general ones. What is more specific and too large is refuted by
//! the sizes of its classes alone, or the algorithm refuses.
//!
//! ## Guarantee
//! The optimum among all full-domain generalizations, with every model: bounds are only used where
//! they are valid. With models that are not monotone, or with suppression and models that look at
//! more than sizes, a failure says nothing about other combinations, and more of them are tested.
//! If none keeps the models the algorithm refuses. If the time allowed runs out, the best
//! combination found by then is published.
//!
//! ## Cost
//! Exponential in the number of quasi-identifiers: the product of their levels. Each test is linear
//! in the distinct rows, mostly in far fewer; tests run on all cores. More than four million
//! combinations are refused.
//!
//! ## Departures from the paper
//! Samarati and Sweeney describe the lattice, El Emam et al. search it for the least loss with
//! suppression. Here the bound on the loss orders the search: the cheapest that hold are found by
//! bisection, then everything cheaper is refuted from above. Part of a class is never left out,
//! only all of it.
//!
//! ## Reference
//! Samarati, "Protecting respondents' identities in microdata release", 2001. El Emam et al., "A
//! globally optimal k-anonymity method for the de-identification of health data", 2009.

mod counted;

use super::full_domain::{self, Frame, Lattice, Loss, METRIC, Nodes, SUPPRESS, Test};
use super::{Algorithm, Elsewhere, Goal, Progress, Refusal};
use crate::catalogue::{Entry, Parameters};
use crate::progress::Watch;
use crate::release::{Form, Generalized};
use crate::table::Table;
use rayon::prelude::*;

pub(super) const ENTRY: Entry<Box<dyn Algorithm>> = Entry {
    name: "lattice",
    summary: "the best full-domain generalization, one level per quasi-identifier",
    source: include_str!("lattice.rs"),
    parameters: &[SUPPRESS, METRIC],
    build: |p| Ok(Box::new(Optimal(p.clone()))),
};

struct Optimal(Parameters);

impl Algorithm for Optimal {
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
        let lattice = Lattice::new(table, goal, full_domain::limit(&self.0, table.records()));
        let loss = Loss::new(self.0.word("metric"), &table.quasi, &lattice.frame);
        let nodes = lattice.frame.nodes()?;
        let mut found = Findings::new(&nodes);
        let watch = Watch::new(progress, lattice.frame.records);
        Search::new((&lattice, &loss), &nodes, 0, &mut found, &watch).run();
        watch.check().map_err(|p| Refusal(vec![p]))?;
        match found.best {
            Some((_, _, node)) => lattice.publish(&nodes.levels(node)),
            None => Err(lattice.refusal()),
        }
    }

    fn elsewhere(&self) -> Option<Elsewhere<'_>> {
        Some(Elsewhere::Levels(self))
    }
}

/// Nodes tested at once. It does not depend on the number of threads, and neither does what is
/// tested.
const BATCH: usize = 16;

/// Whether a node needs no test any more; nor anything below it, nor anything above it.
#[derive(Clone, Copy, Default)]
struct Known {
    settled: bool,
    below: bool,
    above: bool,
}

/// What decides between two nodes: loss, height, number of the node.
type Rank = (u128, usize, usize);

/// What was found out so far.
struct Findings {
    /// Of each node.
    known: Vec<Known>,
    best: Option<Rank>,
}

struct Search<'a> {
    lattice: &'a Lattice<'a>,
    nodes: &'a Nodes,
    loss: &'a Loss,
    watch: &'a Watch<'a>,
    /// Nodes below this one are not looked at: what they show the table cannot tell.
    base: usize,
    /// Nodes that still have to be tested, by the least they can lose.
    open: Vec<Rank>,
    found: &'a mut Findings,
    /// Time is up and there is something to publish, or it was cancelled.
    stopped: bool,
}

impl Findings {
    fn new(nodes: &Nodes) -> Findings {
        Findings { known: vec![Known::default(); nodes.len()], best: None }
    }

    fn matters(&self, rank: Rank) -> bool {
        self.best.is_none_or(|best| rank < best)
    }

    /// Nothing more specific needs a test any more.
    fn settle_below(&mut self, nodes: &Nodes, node: usize) {
        let mut stack = vec![node];
        while let Some(node) = stack.pop() {
            if !std::mem::replace(&mut self.known[node].below, true) {
                self.known[node].settled = true;
                stack.extend(nodes.below(node));
            }
        }
    }

    /// Nothing more general needs a test any more.
    fn settle_above(&mut self, nodes: &Nodes, node: usize) {
        let mut stack = vec![node];
        while let Some(node) = stack.pop() {
            if !std::mem::replace(&mut self.known[node].above, true) {
                self.known[node].settled = true;
                stack.extend(nodes.above(node));
            }
        }
    }
}

/// The best rank that a node can have.
fn least(loss: &Loss, frame: &Frame, nodes: &Nodes, node: usize) -> Rank {
    (loss.least(frame, &nodes.levels(node)), nodes.height(node), node)
}

/// The nodes that may still be better than the best one, by the least they can lose.
fn open(loss: &Loss, frame: &Frame, nodes: &Nodes, found: &Findings, base: usize) -> Vec<Rank> {
    let wanted = |node: &usize| !found.known[*node].settled && nodes.is_below(base, *node);
    let mut open: Vec<Rank> = (0..nodes.len())
        .into_par_iter()
        .filter(wanted)
        .map(|node| least(loss, frame, nodes, node))
        .filter(|&rank| found.matters(rank))
        .collect();
    open.par_sort_unstable();
    open
}

impl<'a> Search<'a> {
    /// A search of the nodes that are as general as `base`.
    fn new(
        (lattice, loss): (&'a Lattice<'a>, &'a Loss),
        nodes: &'a Nodes,
        base: usize,
        found: &'a mut Findings,
        watch: &'a Watch<'a>,
    ) -> Search<'a> {
        let open = open(loss, &lattice.frame, nodes, found, base);
        Search { lattice, nodes, loss, watch, base, open, found, stopped: false }
    }

    fn least(&self, node: usize) -> Rank {
        least(self.loss, &self.lattice.frame, self.nodes, node)
    }

    fn run(&mut self) {
        self.bisect();
        self.climb();
        while !self.open.is_empty() && !self.stopped {
            let batch = if self.loss.is_known_ahead() {
                self.highest()
            } else {
                self.spread(&self.open, BATCH)
            };
            self.test(&batch);
        }
    }

    /// Looks for a node that keeps the goal where bisection leads; it need not be the best.
    fn bisect(&mut self) {
        let mut range = self.open.clone();
        while !range.is_empty() && !self.stopped {
            let batch = self.spread(&range, BATCH / 2);
            self.test(&batch);
            let kept =
                batch.iter().position(|rank| self.found.best.is_some_and(|best| best.2 == rank.2));
            let low = match kept {
                Some(0) => None,
                Some(first) => Some(batch[first - 1]),
                None => batch.last().copied(),
            };
            let high = kept.map(|first| batch[first]);
            range.retain(|&rank| {
                low.is_none_or(|low| rank > low)
                    && high.is_none_or(|high| rank < high)
                    && !self.found.known[rank.2].settled
            });
        }
    }

    /// Goes on to a better neighbour while there is one.
    fn climb(&mut self) {
        let mut at = None;
        while let Some((_, _, node)) =
            self.found.best.filter(|&best| Some(best) != at && !self.stopped)
        {
            at = self.found.best;
            let around = self.nodes.below(node).chain(self.nodes.above(node));
            let around = around
                .filter(|&n| !self.found.known[n].settled && self.nodes.is_below(self.base, n));
            let around: Vec<Rank> =
                around.map(|n| self.least(n)).filter(|&rank| self.found.matters(rank)).collect();
            self.test(&around);
        }
    }

    /// Some of the nodes, evenly spread.
    fn spread(&self, among: &[Rank], number: usize) -> Vec<Rank> {
        let mut places: Vec<usize> = (1..=number).map(|i| among.len() * i / (number + 1)).collect();
        places.dedup();
        places.into_iter().filter_map(|i| among.get(i)).copied().collect()
    }

    /// The nodes that lose most of those that are open: where they fail, all that is more specific
    /// mostly fails too.
    fn highest(&self) -> Vec<Rank> {
        let mut batch: Vec<Rank> = Vec::new();
        for &rank in self.open.iter().rev().take(4 * BATCH) {
            if batch.len() < BATCH
                && !batch.iter().any(|other| self.nodes.is_below(rank.2, other.2))
            {
                batch.push(rank);
            }
        }
        batch
    }

    /// Tests the nodes, in parallel.
    fn test(&mut self, batch: &[Rank]) {
        let test = |&(_, _, node): &Rank| {
            if !self.watch.go_on() {
                return (Err(false), 0);
            }
            let levels = self.nodes.levels(node);
            let set = self.lattice.frequency_set(&levels);
            let result = match self.lattice.test(&levels, &set) {
                Test::Keeps(out) => Ok(self.loss.of(self.lattice, &levels, &set, &out)),
                Test::Breaks => Err(self.lattice.closed()),
                Test::TooSmall => Err(true),
            };
            (result, self.loss.least_above(&self.lattice.frame, &set))
        };
        let results: Vec<(Result<u128, bool>, u128)> = batch.par_iter().map(test).collect();
        let found = &mut *self.found;
        for (&(_, height, node), (result, _)) in batch.iter().zip(&results) {
            found.known[node].settled = true;
            match result {
                Ok(loss) => {
                    found.best = Some(
                        found.best.map_or((*loss, height, node), |b| b.min((*loss, height, node))),
                    )
                }
                Err(for_good) if *for_good => found.settle_below(self.nodes, node),
                Err(_) => {}
            }
        }
        for (&(_, _, node), (_, least)) in batch.iter().zip(&results) {
            if found.best.is_some_and(|best| *least > best.0) {
                found.settle_above(self.nodes, node);
            }
        }
        self.open.retain(|&rank| !found.known[rank.2].settled && found.matters(rank));
        let (records, nodes) = (self.lattice.frame.records, found.known.len() as u64);
        let go_on = self.watch.peek(records * (nodes - self.open.len() as u64) / nodes);
        self.stopped = !go_on || self.watch.is_late() && found.best.is_some();
    }
}
