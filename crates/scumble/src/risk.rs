//! Re-identification risk under three adversaries, and the sizes of the classes.
//!
//! Each figure names its adversary. All know a person's quasi-identifiers and look the person up in
//! the release.
//!
//! - **prosecutor**: knows that the person is in the release. Risk of a record: 1 / f, f the size
//!   of its class.
//! - **journalist**: does not know; has a register of the population. Risk of a record: 1 / F, F
//!   the number of people of the register who fit the class.
//! - **marketer**: wants many right matches and does not care which. Average of 1 / F over the
//!   records, f / F per class.
//!
//! Without a register the release is taken for the whole population, F = f, which overstates the
//! last two.

use crate::exact::Ratio;
use crate::release::Release;
use std::collections::BTreeMap;

/// Risk figures of a release.
#[derive(Clone, Debug)]
pub struct Risk {
    /// Of an adversary who knows the person is in the release.
    pub prosecutor: MaxAverage,
    /// Of an adversary with a register of the population.
    pub journalist: MaxAverage,
    /// Of an adversary who matches everybody: expected share of right matches.
    pub marketer: MaxAverage,
    /// Whether a register was given; otherwise the release was taken for the population.
    pub register: bool,
    /// Records alone in their class.
    pub uniques: u64,
    /// Number of classes of each size.
    pub sizes: BTreeMap<u64, u64>,
}

/// The largest and the mean risk of a record.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MaxAverage {
    /// Exactly the largest.
    pub max: Ratio,
    /// The mean over records.
    pub average: f64,
}

/// Computes the figures over what an adversary can tell apart ([`Release::identities`]).
/// `population[i]` is the number of register entries that fit the i-th of these classes, if there
/// is a register; never below the class size, because the register is completed by the people of
/// the release.
pub fn assess(release: &Release, population: Option<&[u64]>) -> Risk {
    let n = release.records();
    let classes = release.identities();
    let mut sizes = BTreeMap::new();
    for class in &*classes {
        *sizes.entry(class.count).or_insert(0) += 1;
    }
    let smallest = sizes.keys().next().copied().unwrap_or(1).max(1);
    let per_record = |x: f64| if n == 0 { 0.0 } else { x / n as f64 };
    let prosecutor = MaxAverage {
        max: Ratio::new(1, smallest.into()),
        average: per_record(classes.len() as f64),
    };
    let fits = |i: usize| population.map_or(classes[i].count, |p| p[i].max(classes[i].count));
    let rarest = (0..classes.len()).map(fits).min().unwrap_or(1).max(1);
    let matches: f64 = (0..classes.len()).map(|i| classes[i].count as f64 / fits(i) as f64).sum();
    let average = per_record(matches);
    // The marketer has no target, so the largest figure of a single record is the journalist's.
    let journalist = MaxAverage { max: Ratio::new(1, rarest.into()), average };
    Risk {
        prosecutor,
        journalist,
        marketer: journalist,
        register: population.is_some(),
        uniques: sizes.get(&1).copied().unwrap_or(0),
        sizes,
    }
}
