//! # t-closeness
//!
//! In every class the sensitive values are distributed nearly as in the whole table.
//!
//! ## Definition
//! The earth mover's distance between the distribution P of a class and Q of the table is at most
//! t. Ground distances:
//!
//! - `equal`: every two values are 1 apart; the distance is ½ Σ |pᵢ − qᵢ|.
//! - `ordered`: the m values that occur in the table in their order, neighbours 1/(m − 1) apart:
//!   1/(m − 1) · Σᵢ |Σ_{j ≤ i} (p_j − q_j)|. Numbers are ranked, not measured, as in the paper;
//!   the missing value stands last.
//! - `hierarchical`: two values are as far apart as the level of their lowest common ancestor in
//!   the attribute's taxonomy, divided by its height.
//!
//! All three are ratios of whole numbers and are computed and compared as such.
//!
//! ## Protects against
//! Skewness (a class whose risk is far from everybody's) and, with the ordered or hierarchical
//! distance, similarity (values that differ but mean nearly the same).
//!
//! ## Does not protect against
//! Identity disclosure (combine it with k-anonymity); what the whole table says about everybody;
//! several releases.
//!
//! ## Reference
//! Li, Li and Venkatasubramanian, "t-closeness: privacy beyond k-anonymity and ℓ-diversity", 2007.

use super::{Bound, Concern, Context, Measured, Model, Promise, Verdict};
use crate::catalogue::{Entry, Kind, Parameter};
use crate::class::{EquivalenceClass, Histogram};
use crate::exact::Ratio;
use crate::table::Distribution;

pub(super) const ENTRY: Entry<Box<dyn Model>> = Entry {
    name: "t-closeness",
    summary: "every class is distributed nearly as the whole table",
    source: include_str!("t_closeness.rs"),
    parameters: &[
        Parameter {
            name: "t",
            kind: Kind::Number("0", Some("1")),
            default: None,
            about: "the largest distance allowed",
        },
        Parameter {
            name: "distance",
            kind: Kind::Choice(&["equal", "ordered", "hierarchical"]),
            default: Some("equal"),
            about: "how far apart two values are",
        },
    ],
    build: |p| {
        let distance = match p.word("distance") {
            "ordered" => Distance::Ordered,
            "hierarchical" => Distance::Hierarchical,
            _ => Distance::Equal,
        };
        Ok(Box::new(TCloseness { t: p.number("t"), distance }))
    },
};

/// How far apart two sensitive values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Distance {
    Equal,
    Ordered,
    Hierarchical,
}

struct TCloseness {
    t: Ratio,
    distance: Distance,
}

impl Model for TCloseness {
    fn judge(&self, cx: &Context<'_>, class: &EquivalenceClass) -> Verdict {
        let d = distance(
            self.distance,
            &class.histograms[cx.attribute],
            &cx.distributions[cx.attribute],
        );
        Verdict { holds: d <= self.t, measured: Measured::Exact(d) }
    }

    fn promise(&self) -> Promise {
        Promise::new(self.t, Bound::AtMost, Concern::Sensitive)
    }
}

/// The exact distance of a class from the table.
///
/// With class counts c of n records and table counts C of N, p − q is (c·N − C·n) / (n·N);
/// everything below is in multiples of 1 / (n·N).
pub fn distance(kind: Distance, class: &Histogram, table: &Distribution) -> Ratio {
    let (n, total) = (i128::from(class.total()), i128::from(table.total));
    if n == 0 || total == 0 {
        return Ratio::whole(0);
    }
    let unit = (n * total) as u128;
    match kind {
        Distance::Equal => {
            // Half the absolute differences are the positive ones, and those occur only at values
            // of the class.
            let excess = |&(code, c): &(u32, u64)| {
                (i128::from(c) * total - i128::from(table.counts[code as usize]) * n).max(0) as u128
            };
            Ratio::new(class.0.iter().map(excess).sum(), unit)
        }
        Distance::Ordered => ordered(class, table, n, total),
        Distance::Hierarchical => hierarchical(class, table, n, total),
    }
}

fn ordered(class: &Histogram, table: &Distribution, n: i128, total: i128) -> Ratio {
    let values = table.occurring.len() as u128;
    if values < 2 {
        return Ratio::whole(0);
    }
    let (mut moved, mut sum) = (0i128, 0u128);
    let mut class = class.0.iter().peekable();
    for &code in &table.occurring {
        if let Some((_, c)) = class.next_if(|(have, _)| *have == code) {
            moved += i128::from(*c) * total;
        }
        moved -= i128::from(table.counts[code as usize]) * n;
        sum += moved.unsigned_abs();
    }
    Ratio::new(sum, (n * total) as u128 * (values - 1))
}

fn hierarchical(class: &Histogram, table: &Distribution, n: i128, total: i128) -> Ratio {
    // extra[i] is the sum of c·N − C·n over the leaves before i, so that a node's is a difference
    // of two.
    let leaves = table.counts.len();
    let mut extra = vec![0i128; leaves + 1];
    for &(code, c) in &class.0 {
        extra[code as usize + 1] += i128::from(c) * total;
    }
    for leaf in 0..leaves {
        extra[leaf + 1] += extra[leaf] - i128::from(table.counts[leaf]) * n;
    }
    let mut cost = 0u128;
    table.taxonomy.visit_nodes(|height, children| {
        let below =
            children.iter().map(|run| extra[run.last as usize + 1] - extra[run.first as usize]);
        let (mut positive, mut negative) = (0u128, 0u128);
        for e in below {
            if e > 0 { positive += e.unsigned_abs() } else { negative += e.unsigned_abs() }
        }
        cost += u128::from(height) * positive.min(negative);
    });
    Ratio::new(cost, (n * total) as u128 * u128::from(table.taxonomy.height()))
}
