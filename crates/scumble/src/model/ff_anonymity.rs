//! # FF-anonymity
//!
//! No freeform attack: nothing that can be observed of a person, at any level of any attributes,
//! tells a sensitive value of another attribute with more than a given probability. No attribute
//! needs to be called quasi-identifier or sensitive.
//!
//! ## Definition
//! Columns with the role `freeform` say of every value a how sensitive it is, s(a), and how
//! observable, o(a); columns with the role `quasi-identifier` are observable in all values, and
//! none of them is sensitive. A value is observable if o(a) ≥ σ_o (`observability`). An attack is X
//! → a: X are observable values of some attributes, each shown in the release or more general, and
//! a is a value of another attribute that is not observable, shown or more general. Its threat is
//! the share of the records matching X that match a, times s(a), the probability that a stands for
//! a sensitive value. The largest threat is measured, and must be at most σ_t (`threat`): then
//! there is no breach (Definition 3.4 of the paper).
//!
//! `known` is the largest number of values that X has (any number, if it is 0). It makes the
//! promise weaker, and the search for attacks much shorter where there are many attributes.
//!
//! ## Protects against
//! Attribute linkage by whoever observes whatever of a person: where a disease is seen and an
//! income is secret for one person, and the other way round for another. It is closed under
//! generalization: what is shown more generally in all records breaches nothing new.
//!
//! ## Does not protect against
//! Identity disclosure and singling out (combine it with `k-anonymity`, on some columns or on all).
//! Values that are neither observable nor sensitive, of which nothing is promised. Knowledge that
//! is no value: "she does not have Flu", how values go together in the population, which algorithm
//! was used. Sensitive columns (`role = "sensitive"`), which stand outside: give them models of
//! their own, or the role `freeform`. Several releases.
//!
//! The definition is about tables in which every value is shown in the same way in all records:
//! made by `specialize`, `top-down`, `bottom-up`, `lattice` and the other full-domain algorithms.
//! Where the classes of a release show a value in several ways (`mondrian`, `local`), the records
//! that an observer would take for a person are not those that match X, and the promise is kept
//! only if no class shows a value that could be attacked at all.
//!
//! That nothing is observed of an attribute is no observation: a root in X is always observable. In
//! the paper the root of an attribute that is hard to observe would hide all attacks on the others.
//!
//! ## Reference
//! Wang, Xu, Fu and Wong, "FF-anonymity: when quasi-identifiers are missing", 2009.

use super::{Bound, Concern, Context, Measured, Model, Promise, Verdict};
use crate::catalogue::{Entry, Kind, Parameter, Parameters};
use crate::class::{EquivalenceClass, Run};
use crate::exact::Ratio;
use crate::failure::Failure;
use crate::freeform::cube::{Column, Cube, Thresholds};
use crate::freeform::{observability, sensitivity};
use crate::release::Shape;
use crate::table::Attribute;
use hashbrown::HashMap;
use std::borrow::Cow;
use std::sync::Arc;

pub(super) const ENTRY: Entry<Box<dyn Model>> = Entry {
    name: "ff-anonymity",
    summary: "nothing observable of a person tells a sensitive value, value by value of all attributes",
    source: include_str!("ff_anonymity.rs"),
    parameters: &[
        Parameter {
            name: "observability",
            kind: Kind::Number("0", Some("1")),
            default: None,
            about: "σ_o: values that are at least so observable can be observed",
        },
        Parameter {
            name: "threat",
            kind: Kind::Number("0", Some("1")),
            default: None,
            about: "σ_t: the largest threat allowed",
        },
        Parameter {
            name: "known",
            kind: Kind::Count(0, 1000),
            default: Some("0"),
            about: "p: the adversary knows at most so many values of a person; any number, if 0",
        },
    ],
    build: |p| Ok(Box::new(FfAnonymity(thresholds(p)))),
};

/// What the parameters say.
pub fn thresholds(p: &Parameters) -> Thresholds {
    let known = usize::try_from(p.count("known")).unwrap_or(usize::MAX);
    Thresholds {
        observability: p.number("observability"),
        threat: p.number("threat"),
        known: (known > 0).then_some(known),
    }
}

struct FfAnonymity(Thresholds);

/// The attributes that take part.
fn attributes<'a>(cx: &Context<'a>) -> impl Iterator<Item = (usize, &'a Attribute)> {
    let on = cx.on;
    cx.quasi.iter().enumerate().filter(move |(i, _)| on.is_none_or(|on| on.contains(i)))
}

/// What classes show, as attacks see it; nothing if some attribute is not shown by one cut. Targets
/// are values of a sensitivity above `least`.
pub fn cube_of(
    quasi: &[Attribute],
    on: Option<&[usize]>,
    classes: &[EquivalenceClass],
    thresholds: &Thresholds,
    least: Ratio,
) -> Option<Cube> {
    let shown = |i: usize| {
        let (mut runs, mut code_of) = (Vec::new(), HashMap::new());
        let code = |class: &EquivalenceClass| {
            *code_of.entry(class.region[i]).or_insert_with_key(|run| {
                runs.push(*run);
                runs.len() as u32 - 1
            })
        };
        let codes: Vec<u32> = classes.iter().map(code).collect();
        Column { attribute: i, codes: Cow::Owned(codes), runs: Cow::Owned(runs) }
    };
    let wanted = (0..quasi.len()).filter(|i| on.is_none_or(|on| on.contains(i)));
    let columns: Vec<Column<'_>> = wanted.map(shown).collect();
    let counts: Vec<u64> = classes.iter().map(|class| class.count).collect();
    Cube::new(quasi, &columns, &counts, thresholds, least)
}

/// The largest sensitivity of what a cell shows, or of what is above it, where that cannot be
/// observed.
pub fn exposure(attribute: &Attribute, run: Run, thresholds: &Thresholds) -> Ratio {
    if attribute.freeform.is_none() {
        return Ratio::whole(0);
    }
    let values = std::iter::once(run).chain(attribute.taxonomy.above(run));
    let hidden = values.filter(|&v| observability(attribute, v) < thresholds.observability);
    hidden.map(|v| sensitivity(attribute, v)).max().unwrap_or(Ratio::whole(0))
}

impl Model for FfAnonymity {
    /// A class does its part if nothing of what it shows could be attacked, whatever is known.
    fn judge(&self, cx: &Context<'_>, class: &EquivalenceClass) -> Verdict {
        let of_cell = |(i, attribute): (usize, &Attribute)| {
            exposure(attribute, *class.region.get(i)?, &self.0).into()
        };
        let most = attributes(cx).filter_map(of_cell).max().unwrap_or(Ratio::whole(0));
        Verdict { holds: most <= self.0.threat, measured: Measured::Exact(most) }
    }

    fn promise(&self) -> Promise {
        Promise {
            wide: true,
            region: true,
            ..Promise::new(self.0.threat, Bound::AtMost, Concern::Identity)
        }
    }

    fn fits(&self, cx: &Context<'_>) -> Result<(), Failure> {
        let model = ENTRY.name;
        if cx.shape != Shape::Regions {
            return Err(Failure::policy("models-and-algorithm", format!(
                "`{model}` is about generalized values, and this release shows others in their place"
            ))
            .hint("use an algorithm that generalizes, such as `specialize`"));
        }
        if let Some((_, own)) = attributes(cx).find(|(_, a)| {
            a.freeform.as_ref().is_some_and(|v| !Arc::ptr_eq(v.taxonomy(), &a.taxonomy))
        }) {
            return Err(Failure::policy("models-and-algorithm", format!(
                "`{model}` knows the values of the taxonomy of `{}`, and this release shows groups of its own",
                own.name
            ))
            .hint("use an algorithm that shows nodes of the taxonomy, such as `specialize`"));
        }
        if !attributes(cx).any(|(_, a)| a.freeform.as_ref().is_some_and(|v| v.guards())) {
            return Err(Failure::policy("nothing-to-guard", format!("`{model}` has nothing to guard: no value is said to be sensitive"))
                .hint("give columns `role = \"freeform\"` and `guarding = [\"…\"]`, the nodes over their sensitive values"));
        }
        Ok(())
    }

    fn judge_all(&self, cx: &Context<'_>, classes: &[EquivalenceClass]) -> Option<Verdict> {
        let worst = match cube_of(cx.quasi, cx.on, classes, &self.0, Ratio::whole(0)) {
            Some(cube) => cube.worst(),
            None => {
                let parts: Vec<Verdict> =
                    classes.iter().map(|class| self.judge(cx, class)).collect();
                let most = parts
                    .iter()
                    .map(|v| v.measured)
                    .reduce(|a, b| if Bound::AtMost.is_worse(b, a) { b } else { a });
                let holds = parts.iter().all(|v| v.holds);
                let measured = if holds {
                    most.unwrap_or(Measured::Exact(Ratio::whole(0)))
                } else {
                    Measured::Infinite
                };
                return Some(Verdict { holds, measured });
            }
        };
        Some(Verdict { holds: worst <= self.0.threat, measured: Measured::Exact(worst) })
    }

    fn hopeless(&self, cx: &Context<'_>) -> Option<Failure> {
        let breaches =
            |(_, a): &(usize, &Attribute)| exposure(a, a.taxonomy.root(), &self.0) > self.0.threat;
        let (_, attribute) = attributes(cx).find(breaches)?;
        let root = attribute.taxonomy.root();
        let (s, o) = (sensitivity(attribute, root), observability(attribute, root));
        let problem = format!(
            "`{}` cannot be met: even a table that shows nothing of `{}` breaches it, because its root is not observable \
             ({o} of {}) and sensitive ({s}, and {} is allowed)",
            ENTRY.name, attribute.name, self.0.observability, self.0.threat
        );
        Some(Failure::refused("cannot-be-met", problem).hint(
            "guard fewer of its values, raise `threat`, or make its root observable (a larger `alpha`, or a belief of 1)",
        ))
    }

    fn freeform(&self) -> Option<Thresholds> {
        Some(self.0)
    }
}
