//! # samarati
//!
//! A full-domain generalization with the lowest sum of levels, found by bisection.
//!
//! ## Method
//! The height of a combination of levels is their sum. If one of a height keeps the models, so do
//! those above it, hence the lowest height is found by bisection: all combinations of the middle
//! height are tested in the order of their levels, the first quasi-identifier first, until one
//! keeps the models. A combination keeps them if at most the share `suppress` of the records must
//! be left out for it, in whole classes.
//!
//! ## Guarantee
//! The least height of all full-domain generalizations that keep the models; of several the first
//! in the order of levels. The least height is not the least loss: `lattice` finds that. If none
//! keeps the models it refuses.
//!
//! ## Cost
//! The logarithm of the height, times the combinations of a height, times the distinct rows. More
//! than four million combinations are refused.
//!
//! ## Departures from the paper
//! The paper is about k-anonymity. Bisection is only right if whatever keeps the models still does
//! when generalized further; with suppression and models that look at more than sizes, or with
//! models that are not monotone, that is not so, and all heights are tested from the lowest up
//! instead.
//!
//! ## Reference
//! Samarati, "Protecting respondents' identities in microdata release", 2001.

use super::full_domain::{self, Lattice, Nodes, SUPPRESS, Test};
use super::{Algorithm, Goal, Progress, Refusal};
use crate::catalogue::{Entry, Parameters};
use crate::progress::Watch;
use crate::release::{Form, Generalized};
use crate::table::Table;
use rayon::prelude::*;

pub(super) const ENTRY: Entry<Box<dyn Algorithm>> = Entry {
    name: "samarati",
    summary: "full-domain generalization of least height, by bisection",
    source: include_str!("samarati.rs"),
    parameters: &[SUPPRESS],
    build: |p| Ok(Box::new(Samarati(p.clone()))),
};

struct Samarati(Parameters);

impl Algorithm for Samarati {
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
        let mut by_height: Vec<Vec<usize>> =
            vec![Vec::new(); lattice.frame.top().iter().sum::<usize>() + 1];
        (0..nodes.len()).for_each(|node| by_height[nodes.height(node)].push(node));
        let heights = by_height.len() as u64;
        let watch = Watch::new(progress, heights);
        let found = if lattice.closed() {
            bisect(&by_height, |of_height| first(&lattice, &nodes, of_height, &watch))
        } else {
            by_height.iter().find_map(|of_height| {
                watch.add(1);
                first(&lattice, &nodes, of_height, &watch)
            })
        };
        watch.check().map_err(|p| Refusal(vec![p]))?;
        match found {
            Some(node) => lattice.publish(&nodes.levels(node)),
            None => Err(lattice.refusal()),
        }
    }
}

/// The node found at the lowest height that has one, if all heights above it have one too.
fn bisect(by_height: &[Vec<usize>], first: impl Fn(&[usize]) -> Option<usize>) -> Option<usize> {
    let (mut low, mut high) = (0, by_height.len());
    let mut found = None;
    while low < high {
        let middle = low.midpoint(high);
        match first(&by_height[middle]) {
            Some(node) => (found, high) = (Some(node), middle),
            None => low = middle + 1,
        }
    }
    found
}

/// The first of these nodes that keeps the goal.
fn first(
    lattice: &Lattice<'_>,
    nodes: &Nodes,
    of_height: &[usize],
    watch: &Watch<'_>,
) -> Option<usize> {
    let keeps = |node: &usize| {
        let levels = nodes.levels(*node);
        // Cancelled, it takes any.
        !watch.go_on()
            || matches!(lattice.test(&levels, &lattice.frequency_set(&levels)), Test::Keeps(_))
    };
    of_height.par_iter().copied().by_exponential_blocks().find_first(keeps)
}
