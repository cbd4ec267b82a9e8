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
//! about other combinations, and more of them are tested. If none keeps the models the algorithm refuses.
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
        search.approach();
        search.refute();
        match search.best {
            Some((_, _, node)) => lattice.publish(&search.nodes.levels(node)),
            None => Err(lattice.refusal()),
        }
    }
}

/// Nodes tested at once. It does not depend on the number of threads, and neither does what is tested.
const BATCH: usize = 16;

/// What decides between two nodes: loss, height, number of the node.
type Rank = (u128, usize, usize);

struct Search<'a> {
    lattice: &'a Lattice<'a>,
    nodes: Nodes,
    loss: Loss,
    progress: Progress<'a>,
    /// All nodes by the least they can lose.
    order: Vec<Rank>,
    /// Nodes that need no test any more.
    settled: Vec<bool>,
    done: u64,
    best: Option<Rank>,
}

impl<'a> Search<'a> {
    fn new(lattice: &'a Lattice<'a>, loss: Loss, progress: Progress<'a>) -> Result<Search<'a>, Refusal> {
        let nodes = lattice.nodes()?;
        let rank = |node| (loss.least(lattice, &nodes.levels(node)), nodes.height(node), node);
        let mut order: Vec<Rank> = (0..nodes.len()).into_par_iter().map(rank).collect();
        order.par_sort_unstable();
        let settled = vec![false; nodes.len()];
        Ok(Search { lattice, nodes, loss, progress, order, settled, done: 0, best: None })
    }

    /// Looks for a good node where bisection leads; it need not be the best.
    fn approach(&mut self) {
        let (mut low, mut high) = (0, self.order.len());
        loop {
            let open: Vec<usize> = (low..high).filter(|&i| !self.settled[self.order[i].2]).collect();
            let mut places: Vec<usize> =
                (1..=BATCH / 2).filter_map(|i| open.get(open.len() * i / (BATCH / 2 + 1))).copied().collect();
            places.dedup();
            if places.is_empty() {
                return;
            }
            let kept = self.test(&places);
            match kept.iter().position(|&kept| kept) {
                Some(first) => {
                    high = places[first];
                    low = if first == 0 { low } else { places[first - 1] + 1 };
                }
                None => low = places[places.len() - 1] + 1,
            }
        }
    }

    /// Tests everything that may lose less than the best node found, the most general first: where it fails, all that
    /// is more specific mostly fails with it.
    fn refute(&mut self) {
        let mut next = self.order.len();
        let mut waiting: Vec<usize> = Vec::new();
        loop {
            let mut batch: Vec<usize> = Vec::new();
            let mut later = Vec::new();
            let mut seen = 0;
            let mut waited = std::mem::take(&mut waiting).into_iter();
            while batch.len() < BATCH && seen < 4 * BATCH {
                let Some(place) = waited.next().or_else(|| next.checked_sub(1).inspect(|&place| next = place)) else {
                    break;
                };
                let node = self.order[place].2;
                if self.settled[node] || self.best.is_some_and(|best| self.order[place] >= best) {
                    continue;
                }
                seen += 1;
                let under = batch.iter().any(|&other| self.nodes.is_below(node, self.order[other].2));
                if under { later.push(place) } else { batch.push(place) }
            }
            later.extend(waited);
            waiting = later;
            if batch.is_empty() {
                return;
            }
            self.test(&batch);
        }
    }

    /// Tests the nodes at these places, in parallel; which of them keep the goal.
    fn test(&mut self, places: &[usize]) -> Vec<bool> {
        let test = |&place: &usize| {
            let levels = self.nodes.levels(self.order[place].2);
            let set = self.lattice.frequency_set(&levels);
            match self.lattice.test(&levels, &set) {
                Test::Keeps(out) => Ok(self.loss.of(self.lattice, &levels, &set, &out)),
                Test::Breaks => Err(self.lattice.closed()),
                Test::TooSmall => Err(true),
            }
        };
        let results: Vec<Result<u128, bool>> = places.par_iter().map(test).collect();
        for (&place, result) in places.iter().zip(&results) {
            let (_, height, node) = self.order[place];
            self.settle(node, matches!(result, Err(true)));
            if let Ok(loss) = result {
                let rank = (*loss, height, node);
                self.best = Some(self.best.map_or(rank, |best| best.min(rank)));
            }
        }
        (self.progress)(self.lattice.records * self.done / self.settled.len() as u64, self.lattice.records);
        results.iter().map(Result::is_ok).collect()
    }

    /// The node needs no test any more; nor, if it fails for good, does anything more specific.
    fn settle(&mut self, node: usize, all_below: bool) {
        let mut stack = vec![node];
        while let Some(node) = stack.pop() {
            self.done += u64::from(!std::mem::replace(&mut self.settled[node], true));
            if all_below {
                stack.extend(self.nodes.below(node).filter(|&n| !self.settled[n]));
            }
        }
    }
}
