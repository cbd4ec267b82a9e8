//! # personalized privacy
//!
//! Everybody says what is to stay unknown about them, as a node of the sensitive attribute's
//! taxonomy.
//!
//! ## Definition
//! The column `guard` names for each record a guarding node: "cancer", "any illness", or a single
//! value. Nobody is to be known to have a value under their node with a probability of more than
//! `breach`. For an adversary who knows the class of a person that probability is the share of the
//! class's records whose value lies under the person's node; the measured value is the largest such
//! share. An empty guard, or one that is listed under `missing`, wants no protection. The guards
//! themselves are not published.
//!
//! ## Protects against
//! Attribute linkage, for each person as far as that person asks: one person's flu and another's
//! are not the same secret.
//!
//! ## Does not protect against
//! Identity disclosure (combine it with k-anonymity). Those who ask for nothing; a root as guard
//! can never be kept, because everybody has some value. The class of few guarded records may hint
//! at who asked. Several releases. When classes are merged the promise may break, because a guard
//! may come among many who have the value: algorithms that rely on merging judge every class they
//! make, and `lattice` looks at every generalization.
//!
//! In the paper sensitive values may be generalized too, class by class, to keep the promise with
//! finer quasi-identifiers; and an adversary with a register, who does not know whether a person is
//! in the table, is weaker. Neither is done here: sensitive values are published as they are, and
//! the adversary knows that the person is there.
//!
//! ## Reference
//! Xiao and Tao, "Personalized privacy preservation", 2006.

use super::{Bound, Concern, Context, Measured, Model, Promise, Verdict};
use crate::catalogue::{Entry, Kind, Parameter};
use crate::class::{EquivalenceClass, Run};
use crate::exact::Ratio;
use crate::failure::Failure;
use crate::table::Hidden;

pub(super) const ENTRY: Entry<Box<dyn Model>> = Entry {
    name: "personalized-privacy",
    summary: "nobody is known, beyond a probability, to have a value under the node they guard",
    source: include_str!("personalized_privacy.rs"),
    parameters: &[
        Parameter {
            name: "breach",
            kind: Kind::Number("0", Some("1")),
            default: None,
            about: "the largest breach probability allowed",
        },
        Parameter {
            name: "guard",
            kind: Kind::Guard,
            default: None,
            about: "names for each record a node of the attribute's taxonomy, or nothing",
        },
    ],
    build: |p| {
        Ok(Box::new(PersonalizedPrivacy {
            breach: p.number("breach"),
            guard: p.text("guard").to_owned(),
        }))
    },
};

struct PersonalizedPrivacy {
    breach: Ratio,
    guard: String,
}

impl PersonalizedPrivacy {
    /// Index of the guard column among what is counted.
    fn column(&self, cx: &Context<'_>) -> Option<usize> {
        cx.sensitive
            .iter()
            .position(|a| matches!(a.hidden, Some(Hidden::Guard)) && a.name == self.guard)
    }
}

/// What a guard, by its code, keeps: nothing, or a run of leaves, or an error if it names no node.
fn guarded(cx: &Context<'_>, column: usize, code: u32) -> Result<Option<Run>, ()> {
    match cx.sensitive[column].taxonomy.leaf(code) {
        "" => Ok(None),
        label => cx.run_of(label).map(Some).ok_or(()),
    }
}

impl Model for PersonalizedPrivacy {
    fn judge(&self, cx: &Context<'_>, class: &EquivalenceClass) -> Verdict {
        let Some(column) = self.column(cx) else {
            return Verdict { holds: false, measured: Measured::Infinite };
        };
        let mut most = 0;
        for &(code, _) in &class.histograms[column].0 {
            match guarded(cx, column, code) {
                Ok(None) => {}
                Ok(Some(run)) => {
                    let under = class.histograms[cx.attribute]
                        .0
                        .iter()
                        .filter(|(value, _)| run.contains(*value));
                    most = most.max(under.map(|(_, n)| n).sum());
                }
                Err(()) => return Verdict { holds: false, measured: Measured::Infinite },
            }
        }
        let share = Ratio::new(most.into(), class.histograms[cx.attribute].total().max(1).into());
        Verdict { holds: share <= self.breach, measured: Measured::Exact(share) }
    }

    fn promise(&self) -> Promise {
        Promise {
            monotone: false,
            belief: true,
            ..Promise::new(self.breach, Bound::AtMost, Concern::Sensitive)
        }
    }

    fn fits(&self, cx: &Context<'_>) -> Result<(), Failure> {
        let (model, guard, about) = (ENTRY.name, &self.guard, &cx.sensitive[cx.attribute].name);
        let Some(column) = self.column(cx) else {
            return Err(Failure::usage(
                "needs-extract",
                format!("`{model}` needs the guards of `{guard}`, which are not here"),
            )
            .hint("guards are not published; judge the extract, not the release"));
        };
        let occurring = cx.distributions[column].occurring.iter();
        match occurring.filter(|&&code| guarded(cx, column, code).is_err()).count() {
            0 => Ok(()),
            strange => {
                let texts = if strange == 1 {
                    "one text".into()
                } else {
                    format!("{strange} different texts")
                };
                let problem = format!(
                    "column `{guard}` holds {texts} that `{about}` has no value or node for"
                );
                Err(Failure::data("unknown-guard", problem).hint(format!(
                    "give `{about}` a taxonomy with every node that is guarded, and leave the guard empty where nothing is"
                )))
            }
        }
    }
}
