//! # lattice
//!
//! The best full-domain generalization there is: every quasi-identifier at one level of its taxonomy.
//!
//! ## Method
//! All combinations of levels form a lattice. Each keeps the models if the classes that do not are few enough to be
//! left out (`suppress`); they are left out whole, and the others are judged again as what is published, until nothing
//! more fails. Of all that keep the models the one that loses least by `metric` is published; of equals the one with
//! the lowest sum of levels, and then the first in the order of levels.
//!
//! Not every combination is tested. What it would lose if nothing were left out is a bound for everything more general,
//! so combinations above the best one found are passed over; and where too many records stand in classes that are too
//! small, so do they in everything more specific. Frequency sets are rolled up from those of more specific combinations.
//!
//! - `metric`: `gcp`, `iloss`, `discernibility` and `c_avg` are the metrics of those names. `precision` is the mean of
//!   level / levels over all cells (Sweeney), `entropy` the bits that a cell's group leaves open about its value
//!   (non-uniform entropy, De Waal and Willenborg). Cells of records left out count as shown at the root.
//!
//! ## Guarantee
//! The optimum among all full-domain generalizations, with every model: bounds are only used where they are valid. With
//! models that are not monotone, or with suppression and models that look at more than sizes, a failure says nothing
//! about other combinations, and more of them are tested. If none keeps the models the algorithm refuses. If the time
//! allowed runs out, the best combination found by then is published.
//!
//! ## Cost
//! Exponential in the number of quasi-identifiers: the product of their levels. Each test is linear in the distinct
//! rows, mostly in far fewer; tests run on all cores. More than four million combinations are refused.
//!
//! ## Departures from the paper
//! Samarati and Sweeney describe the lattice, El Emam et al. search it for the least loss with suppression. Here the
//! bound on the loss orders the search: the cheapest that hold are found by bisection, then everything cheaper is
//! refuted from above. Part of a class is never left out, only all of it.
//!
//! ## Reference
//! Samarati, "Protecting respondents' identities in microdata release", 2001. El Emam et al., "A globally optimal
//! k-anonymity method for the de-identification of health data", 2009.

use super::full_domain::{self, Lattice, Loss, METRIC, Nodes, SUPPRESS, Test};
use super::{Algorithm, Goal, Progress, Refusal};
use crate::catalogue::{Entry, Parameters};
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
    fn anonymize(&self, table: &Table, goal: &Goal<'_>, _seed: u64, progress: Progress<'_>) -> Result<Form, Refusal> {
        if table.rows() == 0 {
            return Ok(Form::Generalized(Generalized::new(Vec::new(), Vec::new())));
        }
        let lattice = Lattice::new(table, goal, full_domain::limit(&self.0, table));
        let mut search = Search::new(&lattice, Loss::new(self.0.word("metric"), &lattice), progress)?;
        search.run();
        match search.best {
            Some((_, _, node)) => lattice.publish(&search.nodes.levels(node)),
            None => Err(lattice.refusal()),
        }
    }
}

/// Nodes tested at once. It does not depend on the number of threads, and neither does what is tested.
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

struct Search<'a> {
    lattice: &'a Lattice<'a>,
    nodes: Nodes,
    loss: Loss,
    progress: Progress<'a>,
    /// Nodes that still have to be tested, by the least they can lose.
    open: Vec<Rank>,
    /// What is known of each node.
    known: Vec<Known>,
    best: Option<Rank>,
    /// Time is up, and there is something to publish.
    stopped: bool,
}

impl<'a> Search<'a> {
    fn new(lattice: &'a Lattice<'a>, loss: Loss, progress: Progress<'a>) -> Result<Search<'a>, Refusal> {
        let nodes = lattice.nodes()?;
        let known = vec![Known::default(); nodes.len()];
        let mut search = Search { lattice, nodes, loss, progress, open: Vec::new(), known, best: None, stopped: false };
        search.open = (0..search.nodes.len()).into_par_iter().map(|node| search.least(node)).collect();
        search.open.par_sort_unstable();
        Ok(search)
    }

    /// The best rank that a node can have.
    fn least(&self, node: usize) -> Rank {
        (self.loss.least(self.lattice, &self.nodes.levels(node)), self.nodes.height(node), node)
    }

    fn run(&mut self) {
        self.bisect();
        self.climb();
        while !self.open.is_empty() && !self.stopped {
            let batch = if self.loss.is_known_ahead() { self.highest() } else { self.spread(&self.open, BATCH) };
            self.test(&batch);
        }
    }

    /// Looks for a node that keeps the goal where bisection leads; it need not be the best.
    fn bisect(&mut self) {
        let mut range = self.open.clone();
        while !range.is_empty() && !self.stopped {
            let batch = self.spread(&range, BATCH / 2);
            self.test(&batch);
            let kept = batch.iter().position(|rank| self.best.is_some_and(|best| best.2 == rank.2));
            let low = match kept {
                Some(0) => None,
                Some(first) => Some(batch[first - 1]),
                None => batch.last().copied(),
            };
            let high = kept.map(|first| batch[first]);
            range.retain(|&rank| {
                low.is_none_or(|low| rank > low) && high.is_none_or(|high| rank < high) && !self.known[rank.2].settled
            });
        }
    }

    /// Goes on to a better neighbour while there is one.
    fn climb(&mut self) {
        let mut at = None;
        while let Some((_, _, node)) = self.best.filter(|&best| Some(best) != at && !self.stopped) {
            at = self.best;
            let around = self.nodes.below(node).chain(self.nodes.above(node)).filter(|&n| !self.known[n].settled);
            let around: Vec<Rank> = around.map(|n| self.least(n)).filter(|&rank| self.matters(rank)).collect();
            self.test(&around);
        }
    }

    fn matters(&self, rank: Rank) -> bool {
        self.best.is_none_or(|best| rank < best)
    }

    /// Some of the nodes, evenly spread.
    fn spread(&self, among: &[Rank], number: usize) -> Vec<Rank> {
        let mut places: Vec<usize> = (1..=number).map(|i| among.len() * i / (number + 1)).collect();
        places.dedup();
        places.into_iter().filter_map(|i| among.get(i)).copied().collect()
    }

    /// The nodes that lose most of those that are open: where they fail, all that is more specific mostly fails too.
    fn highest(&self) -> Vec<Rank> {
        let mut batch: Vec<Rank> = Vec::new();
        for &rank in self.open.iter().rev().take(4 * BATCH) {
            if batch.len() < BATCH && !batch.iter().any(|other| self.nodes.is_below(rank.2, other.2)) {
                batch.push(rank);
            }
        }
        batch
    }

    /// Tests the nodes, in parallel.
    fn test(&mut self, batch: &[Rank]) {
        let test = |&(_, _, node): &Rank| {
            let levels = self.nodes.levels(node);
            let set = self.lattice.frequency_set(&levels);
            let result = match self.lattice.test(&levels, &set) {
                Test::Keeps(out) => Ok(self.loss.of(self.lattice, &levels, &set, &out)),
                Test::Breaks => Err(self.lattice.closed()),
                Test::TooSmall => Err(true),
            };
            (result, self.loss.least_above(self.lattice, &set))
        };
        let results: Vec<(Result<u128, bool>, u128)> = batch.par_iter().map(test).collect();
        for (&(_, height, node), (result, _)) in batch.iter().zip(&results) {
            self.known[node].settled = true;
            match result {
                Ok(loss) => self.best = Some(self.best.map_or((*loss, height, node), |b| b.min((*loss, height, node)))),
                Err(for_good) if *for_good => self.settle_below(node),
                Err(_) => {}
            }
        }
        for (&(_, _, node), (_, least)) in batch.iter().zip(&results) {
            if self.best.is_some_and(|best| *least > best.0) {
                self.settle_above(node);
            }
        }
        let mut open = std::mem::take(&mut self.open);
        open.retain(|&rank| !self.known[rank.2].settled && self.matters(rank));
        self.open = open;
        let (records, nodes) = (self.lattice.records, self.known.len() as u64);
        let go_on = (self.progress)(records * (nodes - self.open.len() as u64) / nodes, records);
        self.stopped = !go_on && self.best.is_some();
    }

    /// Nothing more specific needs a test any more.
    fn settle_below(&mut self, node: usize) {
        let mut stack = vec![node];
        while let Some(node) = stack.pop() {
            if !std::mem::replace(&mut self.known[node].below, true) {
                self.known[node].settled = true;
                stack.extend(self.nodes.below(node));
            }
        }
    }

    /// Nothing more general needs a test any more.
    fn settle_above(&mut self, node: usize) {
        let mut stack = vec![node];
        while let Some(node) = stack.pop() {
            if !std::mem::replace(&mut self.known[node].above, true) {
                self.known[node].settled = true;
                stack.extend(self.nodes.above(node));
            }
        }
    }
}
