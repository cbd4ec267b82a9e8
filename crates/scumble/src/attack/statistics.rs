//! Attacks on published statistics: counts, sums and means over groups of people.
//!
//! [`read`] understands the lines of a file of statistics.

mod averaging;
mod differencing;
mod people;
mod system;

use crate::catalogue::did_you_mean;
use crate::exact::{Ratio, Rational};
use crate::failure::{Failure, Failures};
use crate::scale::Decimal;

pub use averaging::{Average, averaging};
pub use differencing::{Differences, Disclosure, Finding, Term, differencing};
pub use people::People;

pub(crate) use averaging::ENTRY as AVERAGING;
pub(crate) use differencing::ENTRY as DIFFERENCING;

/// An attack on statistics with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// [`differencing`] that also reports counts of fewer people than this.
    Differencing(u64),
    /// [`averaging`].
    Averaging,
}

/// What was computed of a group of people.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// How many they are, or how many of them have something.
    Count,
    /// The sum of a number of theirs.
    Sum,
    /// The mean of a number of theirs.
    Mean,
}

impl Kind {
    /// Every kind with its name.
    pub const ALL: [(&'static str, Kind); 3] =
        [("count", Kind::Count), ("sum", Kind::Sum), ("mean", Kind::Mean)];

    /// Its name.
    pub fn name(self) -> &'static str {
        Kind::ALL.iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }
}

/// A published statistic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statistic {
    /// The line that it stands on.
    pub line: usize,
    /// What was computed.
    pub kind: Kind,
    /// Of which number; empty for a count of people.
    pub of: String,
    /// Over whom, as written.
    pub over: String,
    /// The people, rising; empty if they were not looked up.
    pub people: Vec<u32>,
    /// As published.
    pub text: String,
    /// The same as a number.
    pub value: Rational,
    /// What it was rounded to a multiple of; nothing if it was not.
    pub unit: Rational,
    /// Standard deviation of the noise in it; nothing if there is none, or it is not known.
    pub noise: Option<Ratio>,
}

impl Statistic {
    /// What it must be multiplied with to be a sum.
    fn factor(&self) -> Rational {
        Rational::whole(if self.kind == Kind::Mean { self.people.len() } else { 1 })
    }

    /// How far it may be from the truth by rounding.
    fn half_unit(&self) -> Rational {
        self.unit.times(&Ratio::new(1, 2).into())
    }
}

/// A line of a file of statistics, as texts. What the file does not have is empty.
#[derive(Clone, Copy, Debug, Default)]
pub struct Line<'a> {
    /// Its number in the file.
    pub number: usize,
    /// `count`, `sum` or `mean`.
    pub statistic: &'a str,
    /// Name of the number.
    pub of: &'a str,
    /// Names, or a condition.
    pub over: &'a str,
    /// The value as published.
    pub value: &'a str,
    /// Number of people, where published.
    pub people: &'a str,
    /// Standard deviation of the noise.
    pub noise: &'a str,
    /// What the value was rounded to.
    pub unit: &'a str,
}

/// Understands the lines of a file. With people they are looked up; without, statistics are only
/// told apart by what they are over. All problems are told, with their lines.
pub fn read(
    lines: &[Line<'_>],
    mut people: Option<&mut People>,
) -> Result<Vec<Statistic>, Failures> {
    let (mut statistics, mut problems) = (Vec::new(), Failures::default());
    for line in lines {
        match statistic(line, people.as_deref_mut()) {
            Ok(statistic) => statistics.push(statistic),
            Err(p) => problems
                .push(p.within(format_args!("line {}: ", line.number)).line(line.number as u64)),
        }
    }
    if lines.is_empty() {
        problems.push(
            Failure::data("no-statistics", "there are no statistics")
                .hint("give one per line below the names of the columns"),
        );
    }
    problems.or(statistics)
}

fn statistic(line: &Line<'_>, people: Option<&mut People>) -> Result<Statistic, Failure> {
    let word = line.statistic.trim();
    let kind = Kind::ALL.iter().find(|(name, _)| *name == word).map(|(_, kind)| *kind).ok_or_else(
        || {
            Failure::data("wrong-statistic", format!("`{word}` is no statistic"))
                .hint(did_you_mean(word, Kind::ALL.map(|(name, _)| name)))
        },
    )?;
    let of = line.of.trim().to_owned();
    if of.is_empty() && kind != Kind::Count {
        return Err(Failure::data(
            "wrong-statistic",
            format!("it is not said what the {word} is of"),
        )
        .hint("name the number in the column `of`, for example `income`"));
    }
    let text = line.value.trim();
    let decimal = Decimal::parse(text).ok_or_else(|| {
        Failure::data("wrong-statistic", format!("the value `{text}` is no number"))
            .hint("write it as published, for example `732` or `735.4`")
    })?;
    let power = |decimals: u32| Rational::whole(10u128.pow(decimals));
    let value = Rational::whole(decimal.mantissa)
        .over(&power(decimal.decimals))
        .unwrap_or(Rational::whole(0));
    let unit = match optional("unit", line.unit)? {
        Some(unit) => unit.into(),
        // People are whole: a count that was not rounded to something coarser is exact.
        None if kind == Kind::Count && decimal.decimals == 0 => Rational::whole(0),
        None => Rational::whole(1).over(&power(decimal.decimals)).unwrap_or(Rational::whole(0)),
    };
    let noise = optional("noise", line.noise)?.filter(|noise| noise.num() > 0);
    let (over, found) = match people {
        Some(people) => people.find(line.over)?,
        None => (people::normal(line.over)?, Vec::new()),
    };
    if let Some(said) = optional("people", line.people)?
        && !found.is_empty()
        && said != Ratio::whole(found.len() as u64)
    {
        return Err(Failure::data(
            "wrong-statistic",
            format!("it says {said} people, but `{over}` are {}", found.len()),
        )
        .hint(
            "give the register of the people that the statistic was made of, or correct `people`",
        ));
    }
    Ok(Statistic {
        line: line.number,
        kind,
        of,
        over,
        people: found,
        text: text.into(),
        value,
        unit,
        noise,
    })
}

/// A number that need not be there.
fn optional(column: &str, text: &str) -> Result<Option<Ratio>, Failure> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    let number = Ratio::parse(text).ok_or_else(|| {
        Failure::data("wrong-statistic", format!("`{text}` in column `{column}` is no number"))
            .hint("write a number that is not negative, such as `2` or `0.5`, or leave it empty")
    })?;
    Ok(Some(number))
}
