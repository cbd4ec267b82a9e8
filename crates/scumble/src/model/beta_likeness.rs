//! # β-likeness
//!
//! No sensitive value is much more frequent in a class than in the whole table, measured as a gain
//! relative to the table.
//!
//! ## Definition
//! With p the share of a value in a class and q its share in the table, the gain of the value is (p
//! − q) / q. For every value with p > q:
//!
//! - `basic`: the gain is at most β.
//! - `enhanced`: the gain is at most min(β, −ln q). A frequent value may gain less, so that none is
//!   ever certain: with q = 1/2 a class may show at most 0.8466 of it, whatever β.
//!
//! The measured value is the largest gain; with `enhanced` it is infinite if some gain exceeds −ln
//! q, because no β would do. Gains are ratios of whole numbers. −ln q is irrational: gain ≤ −ln q
//! is decided as e^gain ≤ 1/q between integer bounds that are tightened until they tell, so that
//! the verdict is exact.
//!
//! ## Protects against
//! Positive disclosure by skew, of rare values too: an absolute distance such as t-closeness lets a
//! value of 1 % rise to 11 % as lightly as one of 40 % to 50 %; here that is a gain of 10 against
//! one of 1/4.
//!
//! ## Does not protect against
//! Negative disclosure: a value may be rarer in a class than in the table, or absent (see
//! δ-disclosure). Similarity of the values; identity disclosure (combine it with k-anonymity); what
//! the whole table says about everybody; several releases.
//!
//! ## Reference
//! Cao and Karras, "Publishing microdata with a robust privacy guarantee", 2012.

use super::{Bound, Concern, Context, Measured, Model, Promise, Verdict};
use crate::catalogue::{Entry, Kind, Parameter};
use crate::class::EquivalenceClass;
use crate::exact::{Ratio, exp_cmp};

pub(super) const ENTRY: Entry<Box<dyn Model>> = Entry {
    name: "beta-likeness",
    summary: "no value is relatively much more frequent in a class than in the table",
    source: include_str!("beta_likeness.rs"),
    parameters: &[
        Parameter {
            name: "beta",
            kind: Kind::Number("0", None),
            default: None,
            about: "the largest relative gain allowed",
        },
        Parameter {
            name: "kind",
            kind: Kind::Choice(&["basic", "enhanced"]),
            default: Some("enhanced"),
            about: "whether frequent values are limited further, by −ln q",
        },
    ],
    build: |p| {
        Ok(Box::new(BetaLikeness {
            beta: p.number("beta"),
            enhanced: p.word("kind") == "enhanced",
        }))
    },
};

struct BetaLikeness {
    beta: Ratio,
    enhanced: bool,
}

impl Model for BetaLikeness {
    fn judge(&self, cx: &Context<'_>, class: &EquivalenceClass) -> Verdict {
        let (histogram, table) = (&class.histograms[cx.attribute], &cx.distributions[cx.attribute]);
        let (n, total) = (u128::from(histogram.total()), u128::from(table.total));
        let mut most = Ratio::whole(0);
        for &(code, count) in &histogram.0 {
            // p is count / n and q is overall / total, so that p / q is have / expected.
            let overall = u128::from(table.counts[code as usize]);
            let (have, expected) = (u128::from(count) * total, overall * n);
            if have <= expected {
                continue;
            }
            let gain = (expected > 0).then(|| Ratio::new(have - expected, expected));
            let allowed =
                |gain: &Ratio| !self.enhanced || exp_cmp(*gain, Ratio::new(total, overall)).is_le();
            match gain.filter(allowed) {
                Some(gain) => most = most.max(gain),
                None => return Verdict { holds: false, measured: Measured::Infinite },
            }
        }
        Verdict { holds: most <= self.beta, measured: Measured::Exact(most) }
    }

    fn promise(&self) -> Promise {
        Promise::new(self.beta, Bound::AtMost, Concern::Sensitive)
    }
}
