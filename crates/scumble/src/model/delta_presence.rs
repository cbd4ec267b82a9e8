//! # δ-presence
//!
//! Nobody learns with much certainty whether a person of a register is in the release.
//!
//! ## Definition
//! A class shows f records and fits F people of the register (at least f, see `k-map`). For
//! everybody who knows only these, a person who fits the class is in the release with a probability
//! of f/F. It must lie between `min` and `max` in every class. A person who fits no class is in the
//! release with a probability of 0, which breaks any `min` above 0.
//!
//! The measured value is the largest f/F. With a `min` above 0 it is how far the worst probability
//! lies outside of the bounds, and must be 0; the release is then judged as a whole, because one
//! class cannot tell who fits none. A class does its part if it would keep the promise alone, so
//! algorithms that look at single classes, such as Mondrian, keep a `min` only with a single class;
//! those that judge whole releases, such as `lattice`, do better.
//!
//! The paper generalizes register and release in the same way, so that everybody fits one class.
//! Where regions overlap a person is judged in every class that fits. Then merging two classes may
//! break the promise: their records add up, and the people who fit them need not.
//!
//! ## Protects against
//! Learning that a person is in the release, where that alone tells something (patients of a
//! clinic), or is not (`min`).
//!
//! ## Does not protect against
//! Attribute linkage for people who are known to be in it. An adversary whose register has fewer
//! people, or more columns.
//!
//! ## Reference
//! Nergiz, Atzori and Clifton, "Hiding the presence of individuals from shared databases", 2007.

use super::{Bound, Concern, Context, Measured, Model, Promise, Verdict};
use crate::catalogue::{Entry, Kind, Parameter};
use crate::class::EquivalenceClass;
use crate::exact::{Fraction, Ratio};
use crate::failure::Failure;

pub(super) const ENTRY: Entry<Box<dyn Model>> = Entry {
    name: "delta-presence",
    summary: "nobody of a register is known to be in the release, or not to be",
    source: include_str!("delta_presence.rs"),
    parameters: &[
        Parameter {
            name: "max",
            kind: Kind::Number("0", Some("1")),
            default: None,
            about: "the largest probability of being in the release",
        },
        Parameter {
            name: "min",
            kind: Kind::Number("0", Some("1")),
            default: Some("0"),
            about: "the smallest probability of being in the release",
        },
        Parameter {
            name: "register",
            kind: Kind::Register,
            default: None,
            about: "the people, with quasi-identifiers as columns; a column `people` counts those of a row",
        },
    ],
    build: |p| {
        let (min, max) = (p.number("min"), p.number("max"));
        if min > max {
            return Err(Failure::policy(
                "conflicting-keys",
                format!("`delta-presence` asks for at least {min} and at most {max}"),
            )
            .hint("`min` must not be above `max`"));
        }
        Ok(Box::new(DeltaPresence { min, max }))
    },
};

struct DeltaPresence {
    min: Ratio,
    max: Ratio,
}

impl DeltaPresence {
    fn two_sided(&self) -> bool {
        self.min > Ratio::whole(0)
    }

    /// How far the probability of a class lies outside of the bounds.
    fn excess(&self, presence: Ratio) -> Fraction {
        let (presence, min, max) =
            (presence.into(), Fraction::from(self.min), Fraction::from(self.max));
        min.less(&presence).max(presence.less(&max))
    }

    /// The classes as a release of their own, by both bounds.
    fn judge_together(&self, cx: &Context<'_>, classes: &[EquivalenceClass]) -> Verdict {
        let excesses = classes.iter().map(|class| self.excess(presence(cx, class)));
        let mut worst = excesses.max().unwrap_or_else(|| Fraction::whole(0));
        let regions = || classes.iter().map(|class| class.region.as_slice());
        // Without classes there is no release to fit.
        if !classes.is_empty() && cx.population.is_some_and(|p| p.outside(regions()) > 0) {
            worst = worst.max(self.min.into());
        }
        Verdict { holds: worst.is_zero(), measured: Measured::from(&worst) }
    }
}

fn presence(cx: &Context<'_>, class: &EquivalenceClass) -> Ratio {
    Ratio::new(class.count.into(), cx.candidates(class).max(1).into())
}

impl Model for DeltaPresence {
    fn judge(&self, cx: &Context<'_>, class: &EquivalenceClass) -> Verdict {
        if self.two_sided() {
            return self.judge_together(cx, std::slice::from_ref(class));
        }
        let presence = presence(cx, class);
        Verdict { holds: presence <= self.max, measured: Measured::Exact(presence) }
    }

    fn promise(&self) -> Promise {
        let required = if self.two_sided() { Ratio::whole(0) } else { self.max };
        Promise {
            monotone: false,
            region: true,
            wide: self.two_sided(),
            ..Promise::new(required, Bound::AtMost, Concern::Identity)
        }
    }

    fn fits(&self, cx: &Context<'_>) -> Result<(), Failure> {
        cx.has_register("delta-presence")
    }

    fn judge_all(&self, cx: &Context<'_>, classes: &[EquivalenceClass]) -> Option<Verdict> {
        self.two_sided().then(|| self.judge_together(cx, classes))
    }
}
