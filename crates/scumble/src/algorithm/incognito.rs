//! # incognito
//!
//! All full-domain generalizations that keep the models, found from few quasi-identifiers to many.
//!
//! ## Method
//! What fails on some of the quasi-identifiers fails on all of them. So the combinations of levels
//! are searched for each quasi-identifier alone, then for pairs, triples and so on; a combination
//! is a candidate only if all parts of it with one quasi-identifier less have survived. The
//! candidates of one set are tested from the most specific up: above one that keeps the models all
//! others do without a test. Frequency sets are rolled up from those of more specific combinations.
//! Of all that survive on the full set the one that loses least by `metric` is published; of equals
//! (and with `metric = "height"`) the one with the lowest sum of levels, then the first in the
//! order of levels.
//!
//! A combination keeps the models if at most the share `suppress` of the records must be left out
//! for it, in whole classes; the same number holds on every set.
//!
//! ## Guarantee
//! Finds every full-domain generalization that keeps the models and publishes the best of them. If
//! there is none it refuses. If the time allowed runs out, the best of those found by then is
//! published.
//!
//! ## Cost
//! Exponential in the number of quasi-identifiers: the product of their levels. `lattice` finds the
//! same optimum with far fewer tests; this one knows all solutions. More than four million
//! combinations are refused.
//!
//! ## Departures from the paper
//! A set on which a quasi-identifier stands at its root is the set without it, so it is not tested
//! again. With models that are not monotone, or with suppression and models that look at more than
//! sizes, failing on some quasi-identifiers says nothing about all of them: then only classes that
//! are too small rule out candidates, and what remains on the full set is tested one by one.
//!
//! ## Reference
//! LeFevre, DeWitt and Ramakrishnan, "Incognito: efficient full-domain k-anonymity", 2005.

use super::full_domain::{self, Lattice, Loss, METRIC, Nodes, SUPPRESS, Test};
use super::{Algorithm, Goal, Progress, Refusal};
use crate::catalogue::{Entry, Kind, Parameter, Parameters};
use crate::progress::Watch;
use crate::release::{Form, Generalized};
use crate::table::Table;
use rayon::prelude::*;

pub(super) const ENTRY: Entry<Box<dyn Algorithm>> = Entry {
    name: "incognito",
    summary: "all full-domain generalizations that hold; publishes the best of them",
    source: include_str!("incognito.rs"),
    parameters: &[
        SUPPRESS,
        Parameter {
            kind: Kind::Choice(&[
                "height",
                "gcp",
                "iloss",
                "precision",
                "entropy",
                "discernibility",
                "c_avg",
            ]),
            ..METRIC
        },
    ],
    build: |p| Ok(Box::new(Incognito(p.clone()))),
};

struct Incognito(Parameters);

impl Algorithm for Incognito {
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
        let nodes = lattice.frame.nodes()?;
        let watch = Watch::new(progress, nodes.len() as u64);
        let found = search(&lattice, &nodes, &watch);
        watch.check().map_err(|p| Refusal(vec![p]))?;
        let loss = match self.0.word("metric") {
            "height" => None,
            metric => Some(Loss::new(metric, &table.quasi, &lattice.frame)),
        };
        let rank = |node: usize| {
            let loss = loss.as_ref().filter(|_| watch.go_on());
            let lost =
                loss.map_or(0, |loss| lattice.lost(loss, &nodes.levels(node)).unwrap_or(u128::MAX));
            (lost, nodes.height(node), node)
        };
        match found.nodes.par_iter().min_by_key(|&&node| rank(node)) {
            Some(&node) => lattice.publish(&nodes.levels(node)),
            None => Err(lattice.refusal()),
        }
    }
}

/// All full-domain generalizations that keep a goal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Solutions {
    /// The level of every quasi-identifier, for each of them, in rising order.
    pub all: Vec<Vec<usize>>,
    /// Those with none more specific among them.
    pub minimal: Vec<Vec<usize>>,
    /// How many combinations of levels were tested, on any set of quasi-identifiers.
    pub tested: u64,
}

/// Finds all full-domain generalizations that keep the goal if at most so many records are left
/// out.
pub fn solutions(table: &Table, goal: &Goal<'_>, suppress: u64) -> Result<Solutions, Refusal> {
    let lattice = Lattice::new(table, goal, suppress);
    let nodes = lattice.frame.nodes()?;
    let found = search(&lattice, &nodes, &Watch::silent());
    let among = |node: usize| found.nodes.binary_search(&node).is_ok();
    // Without a solution one level below there may still be one further below, unless the goal is
    // closed.
    let minimal = found.nodes.iter().filter(|&&a| {
        if lattice.closed() {
            !nodes.below(a).any(among)
        } else {
            !found.nodes.iter().any(|&b| b != a && nodes.is_below(b, a))
        }
    });
    let minimal = minimal.map(|&node| nodes.levels(node)).collect();
    Ok(Solutions {
        all: found.nodes.iter().map(|&node| nodes.levels(node)).collect(),
        minimal,
        tested: found.tested,
    })
}

struct Found {
    nodes: Vec<usize>,
    tested: u64,
}

/// Goes through the sets of quasi-identifiers by size, and through the nodes of a set by height.
///
/// A set is told by a node of the whole lattice: a quasi-identifier that is not in it stands at its
/// root, where it shows nothing.
fn search(lattice: &Lattice<'_>, nodes: &Nodes, watch: &Watch<'_>) -> Found {
    let top = lattice.frame.top();
    let closed = lattice.closed();
    let in_set = |levels: &[usize], dim: usize| levels[dim] < top[dim];
    let place = |node: usize| {
        let levels = nodes.levels(node);
        ((0..top.len()).filter(|&d| in_set(&levels, d)).count(), nodes.height(node), node)
    };
    let mut order: Vec<(usize, usize, usize)> = (0..nodes.len()).map(place).collect();
    order.sort_unstable();
    let mut alive = vec![false; nodes.len()];
    let mut found = Found { nodes: Vec::new(), tested: 0 };
    for layer in order.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
        let decide = |&(_, _, node): &(usize, usize, usize)| {
            let levels = nodes.levels(node);
            let set = || (0..top.len()).filter(|&d| in_set(&levels, d));
            if watch.stopped() || set().any(|d| !alive[nodes.at(node, d, top[d])]) {
                return Decision::RuledOut;
            }
            if closed && set().any(|d| levels[d] > 0 && alive[nodes.at(node, d, levels[d] - 1)]) {
                return Decision::Implied;
            }
            watch.go_on();
            Decision::Tested(lattice.test(&levels, &lattice.frequency_set(&levels)))
        };
        let decisions: Vec<Decision> = layer.par_iter().map(decide).collect();
        for (&(_, _, node), decision) in layer.iter().zip(decisions) {
            found.tested += u64::from(matches!(decision, Decision::Tested(_)));
            let keeps = matches!(decision, Decision::Implied | Decision::Tested(Test::Keeps(_)));
            alive[node] = keeps || (!closed && matches!(decision, Decision::Tested(Test::Breaks)));
            if keeps {
                found.nodes.push(node);
            }
        }
        // Late, it must still have found something.
        if !watch.add(layer.len() as u64) || watch.is_late() && !found.nodes.is_empty() {
            break;
        }
    }
    found.nodes.sort_unstable();
    found
}

enum Decision {
    /// It does not survive on some of its quasi-identifiers.
    RuledOut,
    /// A more specific node keeps the goal.
    Implied,
    Tested(Test),
}
