//! # δ-disclosure privacy
//!
//! In every class every sensitive value is about as frequent as in the whole table: neither much
//! more nor much less.
//!
//! ## Definition
//! With p the share of a value in a class and q its share in the table: |ln(p / q)| < δ for every
//! value that occurs in the table. A value of the table that is absent from a class makes it
//! infinite. The measured value is the largest |ln(p / q)|, shown as the nearest floating-point
//! number. It is irrational: the decision compares p / q with e^δ between integer bounds that are
//! tightened until they tell, so that it is exact. The inequality is strict, as in the paper.
//!
//! ## Protects against
//! Positive and negative disclosure: what a class says about a person's value changes its odds by a
//! factor between e^−δ and e^δ, whatever the adversary believed before.
//!
//! ## Does not protect against
//! Identity disclosure (combine it with k-anonymity); what the whole table says about everybody;
//! several releases. It is very strict: every class must hold every value of the table, so that
//! rare values leave few and large classes.
//!
//! ## Reference
//! Brickell and Shmatikov, "The cost of privacy: destruction of data-mining utility in anonymized
//! data publishing", 2008.

use super::{Bound, Concern, Context, Measured, Model, Promise, Verdict};
use crate::catalogue::{Entry, Kind, Parameter};
use crate::class::EquivalenceClass;
use crate::exact::{Ratio, exp_cmp};

pub(super) const ENTRY: Entry<Box<dyn Model>> = Entry {
    name: "delta-disclosure",
    summary: "every value is about as frequent in every class as in the table, by a factor below e^δ",
    source: include_str!("delta_disclosure.rs"),
    parameters: &[Parameter {
        name: "delta",
        kind: Kind::Number("0", None),
        default: None,
        about: "what |ln(p / q)| must stay below",
    }],
    build: |p| Ok(Box::new(DeltaDisclosure { delta: p.number("delta") })),
};

struct DeltaDisclosure {
    delta: Ratio,
}

impl Model for DeltaDisclosure {
    fn judge(&self, cx: &Context<'_>, class: &EquivalenceClass) -> Verdict {
        let (histogram, table) = (&class.histograms[cx.attribute], &cx.distributions[cx.attribute]);
        let (n, total) = (u128::from(histogram.total()), u128::from(table.total));
        // A value of the class that the table does not have would be as infinite as the opposite.
        let same = histogram.0.iter().map(|(code, _)| code).eq(&table.occurring);
        if !same {
            return Verdict { holds: false, measured: Measured::Infinite };
        }
        let factor = |&(code, count): &(u32, u64)| {
            let (have, expected) =
                (u128::from(count) * total, u128::from(table.counts[code as usize]) * n);
            Ratio::new(have.max(expected), have.min(expected))
        };
        let most = histogram.0.iter().map(factor).max().unwrap_or(Ratio::whole(1));
        Verdict {
            holds: exp_cmp(self.delta, most).is_gt(),
            measured: Measured::Real(most.to_f64().ln()),
        }
    }

    fn promise(&self) -> Promise {
        Promise::new(self.delta, Bound::Below, Concern::Sensitive)
    }
}
