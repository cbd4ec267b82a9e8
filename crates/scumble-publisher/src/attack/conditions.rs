//! Conditions that make an attack a test.

use crate::answer::{Figure, Tested};
use scumble::catalogue::did_you_mean;
use scumble::failure::{Failure, Failures};

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
pub(crate) fn conditions(texts: &[String]) -> Result<Vec<Condition>, Failures> {
    let mut problems = Failures::default();
    let mut conditions = Vec::new();
    for text in texts {
        let found = [">=", "<=", ">", "<"]
            .iter()
            .find_map(|op| text.split_once(op).map(|(a, b)| (*op, a.trim(), b.trim())));
        let number = |t: &str| match t.strip_suffix('%') {
            Some(percent) => percent.trim().parse::<f64>().ok().map(|p| p / 100.0),
            None => t.parse::<f64>().ok(),
        };
        let condition = found.and_then(|(op, figure, limit)| {
            let (attack, figure) =
                figure.split_once('.').map_or((None, figure), |(a, f)| (Some(a.to_owned()), f));
            let (above, or_equal) = (op.starts_with('>'), op.ends_with('='));
            let limit = number(limit)?;
            Some(Condition {
                text: text.clone(),
                attack,
                figure: figure.to_owned(),
                above,
                or_equal,
                limit,
            })
        });
        match condition {
            Some(condition) => conditions.push(condition),
            None => problems
                .push(Failure::usage("wrong-condition", format!("the condition `{text}` is not understood")).hint(
                "write a figure and a limit, as in `pvp_100 > 0.01` or `intersection.certain > 0`",
            )),
        }
    }
    problems.or(conditions)
}

/// The name of an attack, and its figures.
pub type Figures<'a> = (&'a str, &'a [Figure]);

impl Tested {
    /// In words.
    pub fn words(&self) -> String {
        format!("{}: {} is {}", self.condition, self.attack, self.value)
    }
}

/// Holds the conditions against the figures of attacks.
pub(crate) fn test(
    conditions: &[Condition],
    figures: &[Figures<'_>],
) -> Result<Vec<Tested>, Failures> {
    let mut problems = Failures::default();
    let mut tested = Vec::new();
    for c in conditions {
        let mut seen = false;
        for (attack, figures) in
            figures.iter().filter(|(name, _)| c.attack.as_ref().is_none_or(|a| a == name))
        {
            let Some(figure) = figures.iter().find(|f| f.name == c.figure) else { continue };
            let value = figure.value;
            seen = true;
            let beyond = if c.above { value > c.limit } else { value < c.limit };
            let met = beyond || c.or_equal && value == c.limit;
            tested.push(Tested {
                condition: c.text.clone(),
                attack: (*attack).to_owned(),
                value,
                met,
            });
        }
        if !seen {
            let known =
                figures.iter().flat_map(|(_, figures)| figures.iter().map(|f| f.name.as_str()));
            let problem = Failure::usage(
                "unknown-figure",
                format!("no attack that was carried out has a figure `{}`", c.figure),
            );
            problems.push(problem.hint(did_you_mean(&c.figure, known)));
        }
    }
    problems.or(tested)
}
