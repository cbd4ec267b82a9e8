//! # (α,k)-anonymity
//!
//! Every class has at least k records, and no sensitive value has more than a share α of any class.
//!
//! ## Definition
//! Every equivalence class has at least k records, and in every class the share of each sensitive
//! value is at most α. With `values` only those values are limited (the paper's basic form has one
//! such value); a node of the taxonomy stands for each value under it, not for their sum. The
//! measured value is the largest share; it is infinite for a class of fewer than k records, because
//! no α would do.
//!
//! ## Protects against
//! Record linkage, as k-anonymity does, and homogeneity: nobody is known to have a limited value
//! with a confidence of more than α.
//!
//! ## Does not protect against
//! Skewness: a share of α is allowed even of a value that hardly anybody else has (see t-closeness
//! and β-likeness). An adversary who can rule out values; similarity of the values; several
//! releases. It cannot be met if some limited value has more than a share α of the whole table.
//!
//! ## Reference
//! Wong, Li, Fu and Wang, "(α,k)-anonymity: an enhanced k-anonymity model for privacy preserving
//! data publishing", 2006.

use super::{Bound, Concern, Context, Measured, Model, Promise, Verdict};
use crate::catalogue::{Entry, Kind, PEOPLE, Parameter};
use crate::class::EquivalenceClass;
use crate::exact::Ratio;
use crate::failure::Failure;

pub(super) const ENTRY: Entry<Box<dyn Model>> = Entry {
    name: "alpha-k-anonymity",
    summary: "every class has at least k records, and no value more than a share α of it",
    source: include_str!("alpha_k_anonymity.rs"),
    parameters: &[
        Parameter {
            name: "alpha",
            kind: Kind::Number("0", Some("1")),
            default: None,
            about: "the largest share allowed",
        },
        Parameter {
            name: "k",
            kind: Kind::Count(1, PEOPLE),
            default: None,
            about: "the smallest class allowed",
        },
        Parameter {
            name: "values",
            kind: Kind::Values,
            default: Some("[]"),
            about: "the values that are limited; all if none is listed",
        },
    ],
    build: |p| {
        Ok(Box::new(AlphaKAnonymity {
            alpha: p.number("alpha"),
            k: p.count("k"),
            values: p.list("values").to_vec(),
        }))
    },
};

struct AlphaKAnonymity {
    alpha: Ratio,
    k: u64,
    values: Vec<String>,
}

impl Model for AlphaKAnonymity {
    fn judge(&self, cx: &Context<'_>, class: &EquivalenceClass) -> Verdict {
        if class.count < self.k {
            return Verdict { holds: false, measured: Measured::Infinite };
        }
        let limited = cx.leaves_of(&self.values);
        let counts = class.histograms[cx.attribute].0.iter();
        let most = counts
            .filter(|(code, _)| self.values.is_empty() || limited.contains(*code))
            .map(|&(_, n)| n)
            .max();
        let share = Ratio::new(
            most.unwrap_or(0).into(),
            class.histograms[cx.attribute].total().max(1).into(),
        );
        Verdict { holds: share <= self.alpha, measured: Measured::Exact(share) }
    }

    fn promise(&self) -> Promise {
        Promise {
            least: self.k,
            belief: true,
            ..Promise::new(self.alpha, Bound::AtMost, Concern::Sensitive)
        }
    }

    fn fits(&self, cx: &Context<'_>) -> Result<(), Failure> {
        cx.knows(ENTRY.name, &self.values)
    }
}
