//! The three notions of ℓ-diversity as they judge counts, for every model that is built on them.

use super::{Bound, Concern, Context, Measured, Model, Promise, Verdict, smallest_c};
use crate::catalogue::{Kind, Parameter, Parameters};
use crate::class::EquivalenceClass;
use crate::exact::{Ratio, effective_l, entropy_at_least};

/// How diverse counts must be.
#[derive(Clone, Copy)]
pub(super) enum Diversity {
    /// At least so many values.
    Distinct(Ratio),
    /// An entropy of at least the logarithm of this.
    Entropy(Ratio),
    /// r₁ < c · (r_ℓ + … + r_m).
    Recursive { c: Ratio, l: u64 },
}

/// The parameters that [`Diversity::read`] reads.
pub(super) const KIND: Parameter = Parameter {
    name: "kind",
    kind: Kind::Choice(&["distinct", "entropy", "recursive"]),
    default: Some("distinct"),
    about: "which ℓ-diversity is meant",
};
pub(super) const L: Parameter = Parameter {
    name: "l",
    kind: Kind::Number("1", None),
    default: None,
    about: "ℓ; need not be whole for `entropy`, and is rounded up for the others",
};
pub(super) const C: Parameter = Parameter {
    name: "c",
    kind: Kind::Number("0", None),
    default: Some("1"),
    about: "the factor of `recursive`, exclusive; the other kinds do not use it",
};

impl Diversity {
    /// As the parameters `kind`, `l` and `c` say.
    pub(super) fn read(p: &Parameters) -> Diversity {
        let l = p.number("l");
        match p.word("kind") {
            "entropy" => Diversity::Entropy(l),
            "recursive" => Diversity::Recursive { c: p.number("c"), l: l.ceil() },
            _ => Diversity::Distinct(Ratio::whole(l.ceil())),
        }
    }

    /// The verdict on counts, in any order, without zeros.
    pub(super) fn verdict(&self, counts: &[u64]) -> Verdict {
        match *self {
            Diversity::Distinct(l) => {
                let distinct = Ratio::whole(counts.len() as u64);
                Verdict { holds: distinct >= l, measured: Measured::Exact(distinct) }
            }
            Diversity::Entropy(l) => Verdict {
                holds: entropy_at_least(counts, l),
                measured: Measured::Real(effective_l(counts)),
            },
            Diversity::Recursive { c, l } => {
                let measured = smallest_c(counts, l);
                Verdict { holds: matches!(measured, Measured::Exact(m) if m < c), measured }
            }
        }
    }

    /// Fewer values than this are never diverse enough.
    pub(super) fn fewest(&self) -> u64 {
        match *self {
            // exp(H) of m values is at most m.
            Diversity::Distinct(l) | Diversity::Entropy(l) => l.ceil(),
            Diversity::Recursive { l, .. } => l,
        }
    }

    /// What is promised if every class, or every part of one, is so diverse.
    pub(super) fn promise_about(&self, concerns: Concern) -> Promise {
        let (required, must_be) = match *self {
            Diversity::Distinct(l) | Diversity::Entropy(l) => (l, Bound::AtLeast),
            Diversity::Recursive { c, .. } => (c, Bound::Below),
        };
        Promise { least: self.fewest(), ..Promise::new(required, must_be, concerns) }
    }
}

/// The models of Machanavajjhala et al.: every class is so diverse in one sensitive attribute.
impl Model for Diversity {
    fn judge(&self, cx: &Context<'_>, class: &EquivalenceClass) -> Verdict {
        self.verdict(&class.histograms[cx.attribute].counts())
    }

    fn promise(&self) -> Promise {
        self.promise_about(Concern::Sensitive)
    }
}
