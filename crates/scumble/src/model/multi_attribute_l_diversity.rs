//! # ℓ-diversity of several sensitive attributes
//!
//! Each sensitive attribute stays ℓ-diverse for an adversary who knows a person's values of all the
//! others.
//!
//! ## Definition
//! For each sensitive attribute Sᵢ the others are taken as further quasi-identifiers: the records
//! of a class that agree on all sensitive attributes but Sᵢ must be ℓ-diverse in Sᵢ. `kind` says
//! which ℓ-diversity is meant: `distinct`, `entropy` or `recursive` with `c`. The measured value is
//! that of the worst such part. With one sensitive attribute it is plain ℓ-diversity.
//!
//! ## Protects against
//! What ℓ-diversity protects against, and conclusions from one sensitive attribute to another: four
//! records with (s₁,v₁), (s₁,v₂), (s₂,v₃), (s₃,v₃) are 3-diverse in either attribute, but who is
//! known not to have s₁ has v₃.
//!
//! ## Does not protect against
//! What ℓ-diversity in that sense does not; `scumble explain distinct-l-diversity` and so on tell.
//! It is strict: with m attributes a class needs at least ℓ to the power of m combinations, so that
//! few extracts have a fine release.
//!
//! ## Reference
//! Machanavajjhala, Gehrke, Kifer and Venkitasubramaniam, "ℓ-diversity: privacy beyond
//! k-anonymity", 2007, on multiple sensitive attributes.

use super::diversity::{self, Diversity};
use super::{Concern, Context, Model, Promise, Verdict};
use crate::catalogue::Entry;
use crate::class::{EquivalenceClass, Histogram};
use crate::table::Hidden;
use hashbrown::HashMap;

pub(super) const ENTRY: Entry<Box<dyn Model>> = Entry {
    name: "multi-attribute-l-diversity",
    summary: "each sensitive attribute stays ℓ-diverse when all the others are known",
    source: include_str!("multi_attribute_l_diversity.rs"),
    parameters: &[diversity::L, diversity::KIND, diversity::C],
    build: |p| Ok(Box::new(MultiAttributeLDiversity(Diversity::read(p)))),
};

struct MultiAttributeLDiversity(Diversity);

impl Model for MultiAttributeLDiversity {
    fn judge(&self, cx: &Context<'_>, class: &EquivalenceClass) -> Verdict {
        let histogram = &class.histograms[cx.attribute];
        let parts = match &cx.sensitive[cx.attribute].hidden {
            Some(Hidden::Joint(tuples)) => parts(histogram, tuples),
            _ => vec![histogram.counts()],
        };
        let must_be = self.promise().must_be;
        let worse =
            |a: Verdict, b: Verdict| if must_be.is_worse(b.measured, a.measured) { b } else { a };
        let verdicts = || parts.iter().map(|counts| self.0.verdict(counts));
        // Two effective ℓ may be shown as the same number and lie on different sides: every part is
        // asked.
        let holds = verdicts().all(|v| v.holds);
        let worst = verdicts().reduce(worse).unwrap_or_else(|| self.0.verdict(&[]));
        Verdict { holds: holds && !parts.is_empty(), ..worst }
    }

    fn promise(&self) -> Promise {
        self.0.promise_about(Concern::Joint)
    }
}

/// For each attribute, and each combination of the others that occurs, the counts of its values.
fn parts(histogram: &Histogram, tuples: &[Box<[u32]>]) -> Vec<Vec<u64>> {
    let attributes = tuples.first().map_or(0, |tuple| tuple.len());
    let mut all = Vec::new();
    for i in 0..attributes {
        let mut parts: HashMap<(&[u32], &[u32]), Vec<u64>> = HashMap::new();
        for &(code, n) in &histogram.0 {
            // Different tuples that agree on the others differ in this attribute.
            let tuple = &tuples[code as usize];
            parts.entry((&tuple[..i], &tuple[i + 1..])).or_default().push(n);
        }
        all.extend(parts.into_values());
    }
    all
}
