//! Requirements with what was measured, numbers and reasons: parts of several answers.

use super::words;
use schemars::JsonSchema;
use scumble::algorithm::Requirement;
use scumble::class::EquivalenceClass;
use scumble::exact::{Fraction, Ratio, Rational};
use scumble::model::{Belief, Bound, Concern, Measured};
use scumble::publish::Judgement;
use scumble::release::{Release, Shape};
use scumble::table::Attribute;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A requirement over a whole release.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Model {
    /// Name in the catalogue.
    pub name: String,
    /// Sensitive attribute it is about.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub attribute: Option<String>,
    /// Quasi-identifiers it is about, if not all.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub on: Option<Vec<String>>,
    /// Its parameters as written: numbers where they are decimal numbers, otherwise texts.
    #[serde(with = "super::parameters")]
    #[schemars(with = "BTreeMap<String, super::parameters::Parameter>")]
    pub parameters: BTreeMap<String, String>,
    /// Whether it holds; absent where nothing was asked.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub holds: Option<bool>,
    /// The worst value over all classes.
    pub measured: Number,
    /// What was asked; absent where nothing was.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub required: Option<Number>,
    /// How `measured` must compare with what is required.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub must_be: Option<MustBe>,
    /// The class that measures worst.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub worst: Option<Worse>,
    /// Of whom it tells most, if the model can say so. For the publisher: never in a manifest.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub witness: Option<Witness>,
}

/// The belief that a release changes most.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Witness {
    /// The sensitive value that it is about.
    pub value: String,
    /// What is believed without the release.
    pub prior: Number,
    /// And with it.
    pub posterior: Number,
    /// By how much it changes.
    pub change: Number,
    /// What is known of the person; only if values were asked for.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub person: BTreeMap<String, String>,
}

/// A class in an answer: what the release shows of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Worse {
    /// Records in it.
    pub size: u64,
    /// Published value of each quasi-identifier; absent for a group of an anatomized release, and
    /// for a table that was not published, where it would be a person's own values.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub region: BTreeMap<String, String>,
}

/// A number, exactly where it is rational.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Number {
    /// Nearest floating-point number; null if infinite.
    pub value: Option<f64>,
    /// The exact number, such as `8/21`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub exact: Option<String>,
}

words! {
    /// How a measured value must compare with the required one.
    pub enum MustBe {
        /// No smaller.
        AtLeast = "at least",
        /// No larger.
        AtMost = "at most",
        /// Smaller.
        Below = "below",
    }
}

impl Number {
    /// A number that is not known exactly.
    pub fn real(value: f64) -> Number {
        Number { value: Some(value), exact: None }
    }

    /// The nearest floating-point number; infinite where there is none.
    pub fn to_f64(&self) -> f64 {
        self.value.unwrap_or(f64::INFINITY)
    }
}

impl From<Ratio> for Number {
    fn from(r: Ratio) -> Number {
        Number { value: Some(r.to_f64()), exact: Some(r.to_string()) }
    }
}

impl From<&Fraction> for Number {
    fn from(f: &Fraction) -> Number {
        Number { value: Some(f.to_f64()), exact: Some(f.to_string()) }
    }
}

impl From<&Rational> for Number {
    fn from(r: &Rational) -> Number {
        Number { value: Some(r.to_f64()), exact: Some(r.to_string()) }
    }
}

impl From<Measured> for Number {
    fn from(m: Measured) -> Number {
        match m {
            Measured::Exact(r) => r.into(),
            Measured::Real(x) => Number { value: Some(x), exact: None },
            Measured::Infinite => Number { value: None, exact: Some("infinite".into()) },
        }
    }
}

impl Model {
    /// A requirement and how it stands.
    pub fn of(release: &Release, r: &Requirement, j: &Judgement) -> Model {
        let on =
            r.on.as_ref().map(|on| on.iter().map(|&i| release.quasi[i].name.clone()).collect());
        Model {
            name: r.name.into(),
            attribute: r.attribute.map(|i| release.sensitive[i].name.clone()),
            parameters: r.parameters.texts(),
            holds: Some(j.holds),
            measured: j.measured.into(),
            required: Some(j.required.into()),
            must_be: Some(r.model.promise().must_be.into()),
            worst: j.worst.as_ref().map(|class| Worse::of(release, class, r)),
            witness: r
                .attribute
                .zip(j.witness.as_ref())
                .map(|(i, w)| Witness::of(&release.sensitive[i], &w.belief)),
            on,
        }
    }

    /// Tells what is known of the person whom the witness is about.
    pub fn show_person(&mut self, release: &Release, j: &Judgement) {
        if let (Some(shown), Some(witness)) = (&mut self.witness, &j.witness) {
            let words = witness.words(&release.quasi).into_iter();
            shown.person = words.map(|(name, value)| (name.to_owned(), value)).collect();
        }
    }

    /// What recipients may know of it.
    pub fn public(&self) -> Model {
        Model { witness: None, ..self.clone() }
    }
}

impl Witness {
    /// A witness that does not say who it is.
    fn of(sensitive: &Attribute, belief: &Belief) -> Witness {
        let number = |fraction: &Fraction| Number::from(Measured::from(fraction));
        Witness {
            value: belief.name(&sensitive.taxonomy).to_owned(),
            prior: number(&belief.prior),
            posterior: number(&belief.posterior),
            change: number(&belief.change()),
            person: BTreeMap::new(),
        }
    }
}

impl Worse {
    /// What the release shows of a class that was judged by the requirement: of a group no region,
    /// because its records show their own values.
    pub fn of(release: &Release, class: &EquivalenceClass, r: &Requirement) -> Worse {
        let labels = release.labels(class);
        let is_group =
            release.shape == Shape::Groups && r.model.promise().concerns != Concern::Identity;
        let shown = |i: &usize| !is_group && r.on.as_ref().is_none_or(|on| on.contains(i));
        let region = (0..labels.len())
            .filter(shown)
            .map(|i| (release.quasi[i].name.clone(), labels[i].clone()));
        Worse { size: class.count, region: region.collect() }
    }
}

impl From<Bound> for MustBe {
    fn from(bound: Bound) -> MustBe {
        match bound {
            Bound::AtLeast => MustBe::AtLeast,
            Bound::AtMost => MustBe::AtMost,
            Bound::Below => MustBe::Below,
        }
    }
}
