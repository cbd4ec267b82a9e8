//! Naive Bayes fitted by expectation-maximization.

use super::deal::{Deal, Group};
use crate::progress::Watch;
use rayon::prelude::*;

/// Rounds of expectation-maximization, and of scaling within a group.
const ROUNDS: usize = 15;
const SCALINGS: usize = 10;

/// The expected share of every label among the people of a unit, by place.
/// Within a group the shares keep to the counts of the labels. Not fitted to the end, once
/// cancelled.
pub fn expected(deal: &Deal, prior: f64, watch: &Watch<'_>) -> Vec<f64> {
    let by_counting = |unit: usize| {
        let labels = deal.labels_of(unit);
        let all: u64 = labels.iter().map(|(_, n)| n).sum();
        labels.iter().map(move |&(_, n)| n as f64 / all as f64)
    };
    let mut shares: Vec<f64> = (0..deal.units()).flat_map(by_counting).collect();
    for _ in 0..ROUNDS {
        if !watch.go_on() {
            break;
        }
        let logs = logarithms(deal, prior, &shares);
        shares = deal.groups.par_iter().flat_map_iter(|group| scaled(deal, group, &logs)).collect();
    }
    shares
}

/// The logarithm of the probability of every cell for every label.
fn logarithms(deal: &Deal, prior: f64, shares: &[f64]) -> Vec<f64> {
    let labels = deal.labels();
    let mut counts = vec![prior; deal.cells() * labels];
    let mut known = vec![0.0; labels];
    for unit in 0..deal.units() {
        let Some(cells) = deal.cells_of(unit) else { continue };
        for (&(label, _), place) in deal.labels_of(unit).iter().zip(deal.places(unit)) {
            let people = deal.people(unit) as f64 * shares[place];
            cells
                .iter()
                .for_each(|&cell| counts[cell as usize * labels + label as usize] += people);
            known[label as usize] += people;
        }
    }
    for attribute in &deal.attributes {
        let width = attribute.len() as f64 * prior;
        let range = attribute.start as usize * labels..attribute.end as usize * labels;
        for (i, count) in counts[range].iter_mut().enumerate() {
            *count = (*count / (known[i % labels] + width)).ln();
        }
    }
    counts
}

/// The shares of labels in a group, in proportion to these probabilities, and scaled until people
/// and labels add up.
fn scaled(deal: &Deal, group: &Group, logs: &[f64]) -> Vec<f64> {
    let width = group.labels.len();
    let mut shares: Vec<f64> = Vec::with_capacity(group.units.len() * width);
    for unit in group.units.clone() {
        let cells = deal.cells_of(unit).unwrap_or_default();
        let log = |label: u32| {
            cells.iter().map(|&c| logs[c as usize * deal.labels() + label as usize]).sum::<f64>()
        };
        let found: Vec<f64> = group.labels.iter().map(|&(label, _)| log(label)).collect();
        let most = found.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        // So that no share vanishes for good.
        shares.extend(found.into_iter().map(|x| (x - most).exp().max(1e-9)));
    }
    for _ in 0..SCALINGS {
        for label in 0..width {
            let people = group
                .units
                .clone()
                .enumerate()
                .map(|(i, u)| deal.people(u) as f64 * shares[i * width + label]);
            let factor = group.labels[label].1 as f64 / people.sum::<f64>();
            shares.iter_mut().skip(label).step_by(width).for_each(|share| *share *= factor);
        }
        for row in shares.chunks_mut(width) {
            let sum: f64 = row.iter().sum();
            row.iter_mut().for_each(|share| *share /= sum);
        }
    }
    shares
}
