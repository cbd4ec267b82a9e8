//! Conditions that make an attack a test.

use scumble::catalogue::did_you_mean;
use scumble::problem::{Problem, Problems};
use serde::Serialize;
use std::collections::BTreeMap;

/// A condition on a figure.
pub(crate) struct Condition {
    text: String,
    /// Of this attack only.
    attack: Option<String>,
    figure: String,
    above: bool,
    /// Whether the limit itself is meant, too.
    or_equal: bool,
    limit: f64,
}

/// Reads conditions such as `pvp_100 > 0.01` or `intersection.pvp_100>=1%`.
pub(crate) fn conditions(texts: &[String]) -> Result<Vec<Condition>, Problems> {
    let mut problems = Problems::default();
    let mut conditions = Vec::new();
    for text in texts {
        let found =
            [">=", "<=", ">", "<"].iter().find_map(|op| text.split_once(op).map(|(a, b)| (*op, a.trim(), b.trim())));
        let number = |t: &str| match t.strip_suffix('%') {
            Some(percent) => percent.trim().parse::<f64>().ok().map(|p| p / 100.0),
            None => t.parse::<f64>().ok(),
        };
        let condition = found.and_then(|(op, figure, limit)| {
            let (attack, figure) = figure.split_once('.').map_or((None, figure), |(a, f)| (Some(a.to_owned()), f));
            let (above, or_equal) = (op.starts_with('>'), op.ends_with('='));
            let limit = number(limit)?;
            Some(Condition { text: text.clone(), attack, figure: figure.to_owned(), above, or_equal, limit })
        });
        match condition {
            Some(condition) => conditions.push(condition),
            None => problems.push(
                Problem::new(format!("`--fail-on \"{text}\"` is not understood"))
                    .hint("write a figure and a limit, as in `pvp_100 > 0.01` or `intersection.certain > 0`"),
            ),
        }
    }
    problems.or(conditions)
}

/// Figures of an attack by name.
pub type Figures<'a> = (&'a str, &'a BTreeMap<String, f64>);

/// A condition and a figure that it was held against.
#[derive(Clone, Debug, Serialize)]
pub struct Tested {
    /// The condition as it was written.
    pub condition: String,
    /// The attack whose figure it is.
    pub attack: String,
    /// The figure.
    pub value: f64,
    /// Whether the condition is met: then the test has failed.
    pub met: bool,
}

impl Tested {
    /// In words.
    pub fn words(&self) -> String {
        format!("{}: {} is {}", self.condition, self.attack, self.value)
    }
}

/// Holds the conditions against the figures of attacks.
pub(crate) fn test(conditions: &[Condition], figures: &[Figures<'_>]) -> Result<Vec<Tested>, Problems> {
    let mut problems = Problems::default();
    let mut tested = Vec::new();
    for c in conditions {
        let mut seen = false;
        for (attack, figures) in figures.iter().filter(|(name, _)| c.attack.as_ref().is_none_or(|a| a == name)) {
            let Some(&value) = figures.get(&c.figure) else { continue };
            seen = true;
            let beyond = if c.above { value > c.limit } else { value < c.limit };
            let met = beyond || c.or_equal && value == c.limit;
            tested.push(Tested { condition: c.text.clone(), attack: (*attack).to_owned(), value, met });
        }
        if !seen {
            let known = figures.iter().flat_map(|(_, figures)| figures.keys().map(String::as_str));
            let problem = Problem::new(format!("no attack that was carried out has a figure `{}`", c.figure));
            problems.push(problem.hint(did_you_mean(&c.figure, known)));
        }
    }
    problems.or(tested)
}
