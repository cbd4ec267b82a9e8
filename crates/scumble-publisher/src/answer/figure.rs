//! Numbers with names: figures of attacks, and losses of a release.

use super::words;
use schemars::JsonSchema;
use scumble::attack;
use scumble::utility;
use serde::{Deserialize, Serialize};

/// A number that an attack comes to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figure {
    /// Stable name, by which conditions refer to it.
    pub name: String,
    /// The number.
    pub value: f64,
    /// What it counts.
    pub unit: Unit,
    /// Which direction is better for the people; absent of figures that only describe.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub better: Option<Better>,
    /// What it means.
    pub about: String,
}

words! {
    /// What a figure counts.
    pub enum Unit {
        /// A share between 0 and 1.
        Share = "share",
        /// A whole number.
        Count = "count",
        /// Any other number.
        Number = "number",
    }
}

/// A loss of a release by some metric.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Loss {
    /// The loss.
    pub value: f64,
    /// Which direction is better.
    pub better: Better,
}

words! {
    /// Which direction of a number is better.
    pub enum Better {
        /// Smaller numbers are better.
        Lower = "lower",
        /// Larger numbers are better.
        Higher = "higher",
    }
}

impl From<attack::Figure> for Figure {
    fn from(figure: attack::Figure) -> Figure {
        let unit = match figure.unit {
            attack::Unit::Share => Unit::Share,
            attack::Unit::Count => Unit::Count,
            attack::Unit::Number => Unit::Number,
        };
        let better = figure.better.map(Better::from);
        Figure { name: figure.name, value: figure.value, unit, better, about: figure.about }
    }
}

impl From<utility::Better> for Better {
    fn from(better: utility::Better) -> Better {
        match better {
            utility::Better::Lower => Better::Lower,
            utility::Better::Higher => Better::Higher,
        }
    }
}

impl Loss {
    /// A loss by the metric of a name; nothing if there is no such metric.
    pub(crate) fn of(metric: &str, value: f64) -> Option<Loss> {
        let metric = utility::METRICS.iter().find(|m| m.name == metric)?;
        Some(Loss { value, better: metric.better.into() })
    }
}
