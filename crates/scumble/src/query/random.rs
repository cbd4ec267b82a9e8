//! Random workloads.

use super::{Condition, End, Query, Test};
use crate::class::Run;
use crate::scale::iso_date;
use crate::table::Attribute;
use crate::taxonomy::{Decimal, Scale, Taxonomy};
use rand::{RngExt, SeedableRng, seq::index};
use rand_chacha::ChaCha8Rng;

/// Draws queries as Xiao and Tao 2006 do: conditions on some quasi-identifiers drawn at random and
/// on one sensitive attribute, each admitting so many values of its domain that a query admits the
/// wanted part of all combinations. Ordered attributes get a range, the others that many values,
/// drawn at random.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Generator {
    /// Number of quasi-identifiers in a query; at most all of them.
    pub predicates: usize,
    /// The part s of all combinations of domain values that a query admits. Each of its q
    /// conditions admits b of the
    /// |A| domain values of its attribute, b = ⌈|A| · s^(1/q)⌉.
    pub selectivity: f64,
}

impl Generator {
    /// So many queries about these attributes.
    pub fn draw(
        &self,
        quasi: &[&Attribute],
        sensitive: &[&Attribute],
        number: usize,
        seed: u64,
    ) -> Vec<Query> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let one = |_| {
            let some =
                index::sample(&mut rng, quasi.len(), self.predicates.min(quasi.len())).into_vec();
            let mut about: Vec<&Attribute> = some.into_iter().map(|i| quasi[i]).collect();
            if !sensitive.is_empty() {
                about.push(sensitive[rng.random_range(0..sensitive.len())]);
            }
            let part = self.selectivity.clamp(0.0, 1.0).powf(1.0 / about.len().max(1) as f64);
            let conditions = about.iter().map(|a| condition(a, part, &mut rng));
            Query { conditions: conditions.collect() }
        };
        (0..number).map(one).collect()
    }
}

fn condition(attribute: &Attribute, part: f64, rng: &mut ChaCha8Rng) -> Condition {
    let t = &attribute.taxonomy;
    let real = t.real() as u32;
    let test = if real == 0 {
        Test::In(vec![String::new()])
    } else {
        let (low, high) = t.steps(Run::new(0, real - 1)).unwrap_or((0, 0));
        let size = high.abs_diff(low).saturating_add(1);
        let width = ((size as f64 * part).ceil() as u64).clamp(1, size);
        if t.is_ordered() {
            let first = low.saturating_add_unsigned(rng.random_range(0..=size - width));
            let end = |place| Some(End { value: text(t, place), included: true });
            Test::Range(end(first), end(first.saturating_add_unsigned(width - 1)))
        } else {
            let mut leaves = index::sample(rng, size as usize, width as usize).into_vec();
            leaves.sort_unstable();
            Test::In(leaves.into_iter().map(|leaf| t.leaf(leaf as u32).to_owned()).collect())
        }
    };
    Condition { attribute: attribute.name.clone(), test }
}

/// What stands at a place of an ordered scale.
fn text(t: &Taxonomy, place: i64) -> String {
    match t.scale() {
        Scale::Number(grid) => Decimal::show(place, grid.decimals),
        Scale::Date(_) => iso_date(place),
        _ => t.leaf(place as u32).to_owned(),
    }
}
