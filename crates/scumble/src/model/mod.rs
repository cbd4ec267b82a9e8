//! Privacy models: what a release promises about every equivalence class.

use crate::catalogue::Entry;
use crate::class::{EquivalenceClass, Run};
use crate::exact::{Fraction, Ratio};
use crate::failure::Failure;
use crate::freeform::cube::Thresholds;
use crate::register::Population;
use crate::release::Shape;
use crate::table::{Attribute, Distribution};
use crate::taxonomy::Taxonomy;
use std::cmp::Ordering;
use std::fmt;

mod alpha_k_anonymity;
mod average_risk;
mod bayes_optimal;
mod beta_likeness;
mod ck_safety;
mod delta_disclosure;
mod delta_presence;
mod distinct_l_diversity;
mod diversity;
mod entropy_l_diversity;
mod ff_anonymity;
mod k_anonymity;
mod k_map;
mod knowledge;
mod multi_attribute_l_diversity;
mod negation_robustness;
mod negative_positive_disclosure_recursive_l_diversity;
mod personalized_privacy;
mod population_uniqueness;
mod positive_disclosure_recursive_l_diversity;
mod predicate;
mod privacy_skyline;
mod recursive_l_diversity;
mod t_closeness;

pub use bayes_optimal::{Belief, Reading, Told, beliefs};
pub use ck_safety::disclosures_by_implications;
pub use ff_anonymity::{cube_of, exposure, thresholds};
pub use privacy_skyline::disclosures_by_skyline;
pub use recursive_l_diversity::{frontier, smallest_c};
pub use t_closeness::{Distance, distance};

/// Every model. A new one is a file and a line here (and its `mod` line above).
pub const MODELS: &[Entry<Box<dyn Model>>] = &[
    k_anonymity::ENTRY,
    distinct_l_diversity::ENTRY,
    entropy_l_diversity::ENTRY,
    recursive_l_diversity::ENTRY,
    t_closeness::ENTRY,
    k_map::ENTRY,
    delta_presence::ENTRY,
    average_risk::ENTRY,
    population_uniqueness::ENTRY,
    ck_safety::ENTRY,
    privacy_skyline::ENTRY,
    bayes_optimal::ENTRY,
    alpha_k_anonymity::ENTRY,
    beta_likeness::ENTRY,
    delta_disclosure::ENTRY,
    positive_disclosure_recursive_l_diversity::ENTRY,
    negative_positive_disclosure_recursive_l_diversity::ENTRY,
    multi_attribute_l_diversity::ENTRY,
    personalized_privacy::ENTRY,
    negation_robustness::ENTRY,
    predicate::ENTRY,
    ff_anonymity::ENTRY,
];

/// What a model may look at besides the class: what is known about the whole table.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The quasi-identifiers that regions are written in.
    pub quasi: &'a [Attribute],
    /// The sensitive attributes, and after them what is only counted (see
    /// [`crate::table::Hidden`]): one for each histogram of a class.
    pub sensitive: &'a [Attribute],
    /// Distribution of every one of them over the table.
    pub distributions: &'a [Distribution],
    /// Which of them this requirement is about; 0 for models that concern identity only.
    pub attribute: usize,
    /// The register that the requirement names, located by these quasi-identifiers.
    pub population: Option<&'a Population>,
    /// What a region is in this release.
    pub shape: Shape,
    /// The quasi-identifiers that this requirement is about; all, if absent.
    pub on: Option<&'a [usize]>,
}

impl Context<'_> {
    /// The leaves of the attribute that a value or node stands for.
    pub fn run_of(&self, label: &str) -> Option<Run> {
        self.sensitive[self.attribute].taxonomy.parse(label)
    }

    /// How many people a record of the class may belong to: those of the register who fit its
    /// region, and at least its own; without a register its own.
    pub fn candidates(&self, class: &EquivalenceClass) -> u64 {
        self.population.map_or(class.count, |p| p.fitting(&class.region).max(class.count))
    }

    /// A problem unless there is a register whose people can be found in the regions of this
    /// release.
    pub fn has_register(&self, model: &str) -> Result<(), Failure> {
        let Some(population) = self.population else {
            return Err(Failure::policy(
                "needs-register",
                format!("`{model}` needs its register, which is not here"),
            )
            .hint("name the table of people in the model's section of the policy"));
        };
        if population.known().is_empty() {
            let names: Vec<&str> = self.quasi.iter().map(|a| a.name.as_str()).collect();
            return Err(Failure::data(
                "register-lacks-columns",
                format!("the register of `{model}` has no quasi-identifier as a column"),
            )
            .hint(format!("it should have some of `{}`", names.join("`, `"))));
        }
        if self.shape == Shape::Representatives {
            return Err(Failure::policy("models-and-algorithm", format!(
                "`{model}` counts the people who fit what a class shows, and these classes show values that stand for \
                 their records"
            ))
            .hint("use an algorithm that generalizes, or a model that counts records, such as `k-anonymity`"));
        }
        Ok(())
    }

    /// The leaves that the values and nodes of a list stand for.
    pub fn leaves_of(&self, labels: &[String]) -> Leaves {
        let mut runs: Vec<Run> = labels.iter().filter_map(|label| self.run_of(label)).collect();
        runs.sort_unstable();
        // One after the other, so that no leaf is in two of them.
        let mut next = 0;
        runs.retain_mut(|run| {
            run.first = run.first.max(next);
            let more = run.first <= run.last;
            next = next.max(run.last + 1);
            more
        });
        Leaves(runs)
    }

    /// A problem if a list names something that the attribute does not have.
    pub fn knows(&self, model: &str, labels: &[String]) -> Result<(), Failure> {
        let attribute = &self.sensitive[self.attribute];
        match labels.iter().find(|label| self.run_of(label).is_none()) {
            None => Ok(()),
            Some(label) => Err(Failure::policy(
                "unknown-value",
                format!("`{model}` names `{label}`, which `{}` does not have", attribute.name),
            )
            .hint("name values of the column or nodes of its taxonomy, as they are written there")),
        }
    }
}

/// Some leaves of a taxonomy, as runs that do not overlap.
pub struct Leaves(Vec<Run>);

impl Leaves {
    /// Whether the leaf is one of them.
    pub fn contains(&self, leaf: u32) -> bool {
        self.0.iter().any(|run| run.contains(leaf))
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.iter().map(|run| run.width() as usize).sum()
    }
}

/// A privacy model with its parameters.
///
/// Laws (run over the whole catalogue in `tests/laws.rs`): a verdict depends only on the class and
/// the context; it holds exactly if the measured value is on the right side of what is required; if
/// the promise is monotone, the merge of two classes that hold, holds; a class with fewer records
/// than the promise's least does not hold; if all classes hold and the promise is wide, the whole
/// holds.
pub trait Model: Send + Sync {
    /// Whether the class keeps the promise, and what was measured. For a wide promise: whether the
    /// class does its part, so that the whole holds if all classes do.
    fn judge(&self, cx: &Context<'_>, class: &EquivalenceClass) -> Verdict;

    /// What is promised.
    fn promise(&self) -> Promise;

    /// Whether the model can be applied here at all; otherwise why not, and the remedy.
    fn fits(&self, _cx: &Context<'_>) -> Result<(), Failure> {
        Ok(())
    }

    /// Of whom the class tells what is measured, if the model can say so.
    fn witness(&self, _cx: &Context<'_>, _class: &EquivalenceClass) -> Option<Witness> {
        None
    }

    /// The verdict on a whole release; only for a promise that is wide.
    fn judge_all(&self, _cx: &Context<'_>, _classes: &[EquivalenceClass]) -> Option<Verdict> {
        None
    }

    /// Why no release at all keeps the promise, whatever the records are, if that can be told
    /// beforehand.
    fn hopeless(&self, _cx: &Context<'_>) -> Option<Failure> {
        None
    }

    /// The thresholds, if it is FF-anonymity: an algorithm that specializes values can judge a step
    /// by what is new.
    fn freeform(&self) -> Option<Thresholds> {
        None
    }
}

/// What a model promises about every class, as far as algorithms and reports need to know.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Promise {
    /// What is asked for, in the units of [`Verdict::measured`].
    pub required: Ratio,
    /// On which side of it the measured value must be.
    pub must_be: Bound,
    /// Whether it is about a sensitive attribute (and must be judged for each), or about identity.
    pub concerns: Concern,
    /// Whether it stays kept when classes are merged. Only then may an algorithm stop splitting at
    /// it.
    pub monotone: bool,
    /// A class needs at least so many records to keep it; 1 if the promise is wide.
    pub least: u64,
    /// Whether the size of the class alone decides; lets an algorithm skip histograms.
    pub size_decides: bool,
    /// Whether the model looks at the region of the class; an algorithm may leave it out otherwise.
    pub region: bool,
    /// Whether the promise is about the release as a whole, judged by [`Model::judge_all`].
    pub wide: bool,
    /// Whether what is required is the strongest belief in a value that an adversary may come to.
    pub belief: bool,
}

impl Promise {
    /// A monotone promise about single classes, of any size.
    pub fn new(required: Ratio, must_be: Bound, concerns: Concern) -> Promise {
        Promise {
            required,
            must_be,
            concerns,
            monotone: true,
            least: 1,
            size_decides: false,
            region: false,
            wide: false,
            belief: false,
        }
    }
}

/// On which side of what is required the measured value must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Bound {
    AtLeast,
    AtMost,
    Below,
}

/// What a model protects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Concern {
    /// Who a record belongs to, or what the quasi-identifiers alone tell: no sensitive attribute is
    /// looked at.
    Identity,
    /// What a sensitive attribute says about a person.
    Sensitive,
    /// What all sensitive attributes say together: judged on [`crate::table::Hidden::Joint`].
    Joint,
}

/// The judgement of one class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    /// Whether the promise is kept, decided exactly.
    pub holds: bool,
    /// What was measured.
    pub measured: Measured,
}

/// The person, and the value, about whom a class tells most. It is for the publisher alone, and the
/// person for a publisher who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Witness {
    /// The quasi-identifiers that are known of the person, each with where the person stands on it:
    /// twice the leaf code, or an odd number for a place between two leaves or outside.
    pub person: Vec<(usize, u32)>,
    /// What is believed of the person.
    pub belief: Belief,
}

impl Witness {
    /// What is known of the person, in words: the names of the quasi-identifiers with the person's
    /// values.
    pub fn words<'a>(&self, quasi: &'a [Attribute]) -> Vec<(&'a str, String)> {
        let value = |t: &Taxonomy, place: u32| {
            let (leaf, next) = (place / 2, place / 2 + 1);
            match place.is_multiple_of(2) {
                true => t.leaf(leaf).to_owned(),
                false if (next as usize) < t.leaves() => {
                    format!("between {} and {}", t.leaf(leaf), t.leaf(next))
                }
                false => "another value".into(),
            }
        };
        self.person
            .iter()
            .map(|&(i, place)| (&*quasi[i].name, value(&quasi[i].taxonomy, place)))
            .collect()
    }
}

/// A measured value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Measured {
    /// Exactly this.
    Exact(Ratio),
    /// Irrational: shown as the nearest floating-point number, but judged exactly.
    Real(f64),
    /// No finite value would do.
    Infinite,
}

impl Measured {
    /// For comparison and display.
    pub fn to_f64(self) -> f64 {
        match self {
            Measured::Exact(r) => r.to_f64(),
            Measured::Real(x) => x,
            Measured::Infinite => f64::INFINITY,
        }
    }

    /// Orders measured values of one model.
    pub fn compare(self, other: Measured) -> Ordering {
        match (self, other) {
            (Measured::Exact(a), Measured::Exact(b)) => a.cmp(&b),
            (a, b) => a.to_f64().total_cmp(&b.to_f64()),
        }
    }
}

impl From<&Fraction> for Measured {
    fn from(exactly: &Fraction) -> Measured {
        exactly.ratio().map_or_else(|| Measured::Real(exactly.to_f64()), Measured::Exact)
    }
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Measured::Exact(r) if r.den() == 1 => write!(f, "{r}"),
            Measured::Exact(r) if r.den() < 1000 => write!(f, "{r} ≈ {:.4}", r.to_f64()),
            Measured::Exact(r) => write!(f, "{:.4}", r.to_f64()),
            Measured::Real(x) => write!(f, "{x:.4}"),
            Measured::Infinite => f.write_str("∞"),
        }
    }
}

impl Bound {
    /// Whether the measured value `a` is worse than `b`.
    pub fn is_worse(self, a: Measured, b: Measured) -> bool {
        a.compare(b) == if self == Bound::AtLeast { Ordering::Less } else { Ordering::Greater }
    }

    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Bound::AtLeast => "at least",
            Bound::AtMost => "at most",
            Bound::Below => "below",
        }
    }
}
