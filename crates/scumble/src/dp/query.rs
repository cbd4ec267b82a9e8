//! Questions in SQL that have a sensitivity, what they measure, and what that costs.
//!
//! # Method
//!
//! A SELECT of aggregates becomes *measurements*: vectors of whole numbers, one number per group,
//! of which one person changes little. COUNT is one, SUM is one, AVG needs a sum and a count,
//! VARIANCE and STDDEV also a sum of squares. Equal measurements are made once. The price of a
//! question is divided evenly among its measurements; answers are computed from noisy measurements
//! only, so they cost nothing more.
//!
//! Values are counted in whole units and clamped to public bounds; a person has at most so many
//! rows, chosen at random if there are more. AVG and VARIANCE measure distances from the middle of
//! the bounds, which halves the sensitivity.
//!
//! # Guarantee
//!
//! The measurements with their noise keep the price for neighbours that add or remove one person
//! with all their rows. Numbers of rows, bounds, units and keys must not be chosen by looking at
//! the data.
//!
//! # Cost
//!
//! One pass over the rows, and one draw per group and measurement.
//!
//! # Reference
//!
//! Wilson et al., *Differentially private SQL with bounded user contribution*, PETS 2020; McSherry,
//! *Privacy integrated queries*, SIGMOD 2009.

use super::accountant::Spend;
use super::dice::Dice;
use super::gaussian::{Gaussian, rho_for};
use super::laplace::Laplace;
use super::quantile::Quantile;
use super::threshold::Threshold;
use crate::exact::{Fraction, Ratio};
use crate::failure::{Argument, Failure, Failures, Remedy};
use crate::policy::Queries;
use crate::taxonomy::Decimal;
use dashu_int::{IBig, UBig};
use std::cmp::Ordering;

/// What is to be paid for a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Price {
    /// ε; above 0.
    pub epsilon: Fraction,
    /// δ, for keys that are not public and for Gaussian noise.
    pub delta: Fraction,
    /// Which noise numbers get.
    pub noise: NoiseKind,
}

/// Which noise numbers get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum NoiseKind {
    Laplace,
    Gaussian,
}

/// A question as SQL means it, before it has a price.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// The text.
    pub text: String,
    /// Names of the columns that it looks at.
    pub columns: Vec<String>,
    /// What it groups by; the index is one of `columns`.
    pub groups: Vec<Group>,
    /// Which rows count.
    pub filter: Option<Filter>,
    /// What it selects, with the heading of each.
    pub items: Vec<(String, Item)>,
    /// What must be measured.
    pub measures: Vec<Measure>,
}

/// A column that is grouped by.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Index of the column.
    pub column: usize,
    /// Its keys.
    pub keys: Keys,
}

/// The keys of a group.
#[derive(Clone, Debug, PartialEq)]
pub enum Keys {
    /// These, whatever the data say; other values are left out.
    Public(Vec<String>),
    /// Those that occur often enough.
    Unknown,
    /// Ranges of numbers: from the lower bound in steps of so many units.
    Bins {
        /// Where the first begins.
        low: i64,
        /// Units of each.
        width: i64,
        /// How many.
        count: usize,
        /// How values become units.
        scale: Scale,
    },
}

/// How the texts of a column become whole numbers: units between bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// The unit; above 0.
    pub unit: Decimal,
    /// Lower bound in units.
    pub low: i64,
    /// Upper bound in units.
    pub high: i64,
}

impl Scale {
    /// The number of units nearest to a text, within the bounds; nothing if it is no number.
    pub fn units(&self, text: &str) -> Option<i64> {
        let value = Decimal::parse(text)?;
        let power = |n: u32| 10i128.checked_pow(n);
        let num = i128::from(value.mantissa).checked_mul(power(self.unit.decimals)?)?;
        let den = i128::from(self.unit.mantissa).checked_mul(power(value.decimals)?)?;
        // Halves go up, also below zero: the same for every number.
        let rounded = (num.checked_mul(2)? + den).div_euclid(den * 2);
        Some(rounded.clamp(self.low.into(), self.high.into()) as i64)
    }

    /// A number of units as a number.
    pub fn value(&self, units: f64) -> f64 {
        units * self.unit.mantissa as f64 / 10f64.powi(self.unit.decimals as i32)
    }

    /// The middle of the bounds, rounded down.
    pub fn middle(&self) -> i64 {
        (i128::from(self.low) + i128::from(self.high)).div_euclid(2) as i64
    }

    /// The farthest that a value within the bounds is from `center`.
    fn reach(&self, center: i64) -> UBig {
        let far = |end: i64| (i128::from(end) - i128::from(center)).unsigned_abs();
        UBig::from(far(self.low).max(far(self.high)))
    }
}

/// One vector of whole numbers, a number for each group.
#[derive(Clone, Debug, PartialEq)]
pub enum Measure {
    /// Rows, or rows with a value in a column.
    Count(Option<usize>),
    /// Rows with a number in a column.
    Numbers(usize),
    /// Persons.
    Persons,
    /// Σ (value − center)^power of a column.
    Sum {
        /// The column.
        column: usize,
        /// Its units.
        scale: Scale,
        /// What is subtracted.
        center: i64,
        /// 1 or 2.
        power: u32,
    },
    /// A quantile of a column; a place on its grid.
    Quantile {
        /// The column.
        column: usize,
        /// Its units.
        scale: Scale,
        /// Which.
        at: Ratio,
    },
}

/// What is selected, by the indices of measurements.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// The key of a group.
    Key(usize),
    /// A count.
    Count(usize),
    /// A sum.
    Sum(usize),
    /// Sum and count.
    Mean(usize, usize),
    /// Squares, sum and count; the square root of it if so.
    Variance(usize, usize, usize, bool),
    /// A quantile.
    Quantile(usize),
}

/// A condition on rows, in SQL's logic of true, false and unknown.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Filter {
    And(Vec<Filter>),
    Or(Vec<Filter>),
    Not(Box<Filter>),
    Test(Test),
}

/// A condition on one column.
#[derive(Clone, Debug, PartialEq)]
pub struct Test {
    /// The column.
    pub column: usize,
    /// What its value must be.
    pub is: Is,
}

/// What a value must be.
#[derive(Clone, Debug, PartialEq)]
pub enum Is {
    /// Ordered like this, or like one of these, to a literal.
    Ordered(Vec<Ordering>, Literal),
    /// One of these.
    In(Vec<Literal>),
    /// Missing.
    Missing,
}

/// A number or a text of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Literal {
    Number(Decimal),
    Text(String),
}

impl Literal {
    /// How a value compares with it; unknown if it is compared with a number and is none.
    pub(super) fn compare(&self, value: &str) -> Option<Ordering> {
        match self {
            Literal::Text(text) => Some(value.cmp(text)),
            Literal::Number(n) => compare_numbers(Decimal::parse(value)?, *n),
        }
    }
}

/// How two numbers compare; unknown if one has too many digits to tell.
pub(super) fn compare_numbers(a: Decimal, b: Decimal) -> Option<Ordering> {
    let scaled = |a: Decimal, b: Decimal| {
        i128::from(a.mantissa)
            .checked_mul(10i128.checked_pow(b.decimals.saturating_sub(a.decimals))?)
    };
    Some(scaled(a, b)?.cmp(&scaled(b, a)?))
}

impl Test {
    /// Whether a value meets it; a missing value does not, and unknown is neither yes nor no.
    pub fn holds(&self, value: Option<&str>) -> Option<bool> {
        match &self.is {
            Is::Missing => Some(value.is_none()),
            Is::Ordered(orders, literal) => literal.compare(value?).map(|o| orders.contains(&o)),
            Is::In(list) => {
                let each: Vec<Option<bool>> =
                    list.iter().map(|l| l.compare(value?).map(|o| o == Ordering::Equal)).collect();
                any(each.into_iter())
            }
        }
    }
}

/// Whether one of these holds, in SQL's logic.
pub fn any(each: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let mut result = Some(false);
    for one in each {
        match one {
            Some(true) => return Some(true),
            None => result = None,
            Some(false) => {}
        }
    }
    result
}

impl Filter {
    /// The tests in it, in order.
    pub fn tests(&self) -> Vec<&Test> {
        match self {
            Filter::And(all) | Filter::Or(all) => all.iter().flat_map(Filter::tests).collect(),
            Filter::Not(one) => one.tests(),
            Filter::Test(test) => vec![test],
        }
    }

    /// Whether it holds, if `test` answers its tests, which are asked in the order of
    /// [`Filter::tests`].
    pub fn holds(&self, test: &mut dyn FnMut() -> Option<bool>) -> Option<bool> {
        match self {
            // Every test is asked, so that the order of answers stays right.
            Filter::Or(all) => {
                any(all.iter().map(|f| f.holds(test)).collect::<Vec<_>>().into_iter())
            }
            Filter::And(all) => {
                let each: Vec<_> = all.iter().map(|f| f.holds(test).map(|b| !b)).collect();
                any(each.into_iter()).map(|b| !b)
            }
            Filter::Not(one) => one.holds(test).map(|b| !b),
            Filter::Test(_) => test(),
        }
    }
}

/// A question with its noise.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The question.
    pub question: Question,
    /// What was asked to be paid.
    pub price: Price,
    /// Rows per person.
    pub rows: u64,
    /// Noise of each measurement.
    pub noises: Vec<Noise>,
    /// How many rows a group needs to be shown, where keys are not public. The first measurement
    /// counts them.
    pub threshold: Option<Threshold>,
}

/// The noise of a measurement.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Noise {
    Laplace(Laplace),
    Gaussian(Gaussian),
    Quantile(Quantile),
}

/// So many groups of public keys are answered at most.
pub const GROUPS: usize = 1_000_000;

/// So many places of quantiles are looked at, at most.
const PLACES: usize = 100_000_000;

/// The grid of a quantile has so many places at most where keys are not public. How many groups
/// there are is not known before it is paid, and may not be told: a limit on both together could
/// only be checked on the data.
const PLACES_OF_A_GROUP: usize = 2_000;

impl Question {
    /// Gives it a price and noise to match, or says why it cannot have one.
    pub fn plan(mut self, price: &Price, queries: &Queries) -> Result<Plan, Failures> {
        let unknown = self.groups.iter().any(|g| g.keys == Keys::Unknown);
        self.check(price, queries, unknown)?;
        if unknown && self.measures.first() != Some(&Measure::Count(None)) {
            self.count_first();
        }
        let share = Fraction::new(1u8, self.measures.len() as u64);
        let epsilon = price.epsilon.times(&share);
        let rho = match price.noise {
            NoiseKind::Laplace => None,
            NoiseKind::Gaussian => {
                Some(rho_for(price.epsilon.to_f64(), price.delta.to_f64()).times(&share))
            }
        };
        let grouped = !self.groups.is_empty();
        let noise = |m: &Measure| m.noise(queries.rows, grouped, &epsilon, rho.as_ref());
        let noises = self.measures.iter().map(noise).collect();
        let threshold = unknown.then(|| Threshold {
            rows: queries.rows,
            epsilon: epsilon.clone(),
            delta: price.delta.clone(),
        });
        Ok(Plan { question: self, price: price.clone(), rows: queries.rows, noises, threshold })
    }

    /// Everything that keeps it from having a price.
    fn check(&self, price: &Price, queries: &Queries, unknown: bool) -> Result<(), Failures> {
        let mut problems = Failures::default();
        let mut wrong = |message: String, remedy: Remedy| {
            problems.push(Failure::usage("wrong-price", message).remedy(remedy))
        };
        if price.epsilon.is_zero() {
            wrong(
                "ε must be above 0".into(),
                Remedy::words("without privacy loss there is no answer; try ")
                    .and_give_value(Argument::Epsilon, "0.1"),
            );
        }
        let quantiles =
            self.measures.iter().filter(|m| matches!(m, Measure::Quantile { .. })).count();
        if price.noise == NoiseKind::Gaussian {
            if price.delta.is_zero() {
                wrong(
                    "Gaussian noise needs a δ".into(),
                    Remedy::words("add ")
                        .and_give_value(Argument::Delta, "1e-9")
                        .then(", well below one over the number of persons"),
                );
            }
            if quantiles > 0 {
                wrong(
                    "a quantile is drawn, not given noise".into(),
                    "ask for it apart, without `gaussian`".into(),
                );
            }
        }
        if unknown {
            let names: Vec<&str> = (self.groups.iter().filter(|g| g.keys == Keys::Unknown))
                .map(|g| self.columns[g.column].as_str())
                .collect();
            let names = names.join("`, `");
            if price.delta.is_zero() {
                wrong(
                    format!(
                        "the keys of `{names}` are not public: that a group exists may show that a person is there"
                    ),
                    Remedy::words(
                        "list them as `keys = […]` under [queries.columns], or give a δ for groups that are large \
                         enough: ",
                    )
                    .and_give_value(Argument::Delta, "1e-9"),
                );
            } else if price.noise == NoiseKind::Gaussian {
                wrong(
                    format!(
                        "the keys of `{names}` are not public, and thresholds are for Laplace noise"
                    ),
                    Remedy::words("list the keys under [queries.columns], or leave out ")
                        .and_leave_out(Argument::Mechanism),
                );
            }
        }
        let groups = self.groups.iter().map(|g| g.keys.count()).fold(1usize, usize::saturating_mul);
        if !unknown && groups > GROUPS {
            wrong(
                format!("there would be {groups} groups"),
                "group by fewer columns, or list fewer keys".into(),
            );
        }
        let places = |m: &Measure| match m {
            Measure::Quantile { scale, .. } => (scale.high - scale.low) as usize + 1,
            _ => 0,
        };
        let grid = self.measures.iter().map(places).max().unwrap_or(0);
        if !unknown && groups.saturating_mul(grid) > PLACES {
            wrong(
                format!("quantiles of {groups} groups on a grid of {grid} numbers take too long"),
                "group by fewer keys, or give the column a larger `unit`".into(),
            );
        }
        if unknown && grid > PLACES_OF_A_GROUP {
            wrong(
                format!(
                    "quantiles of groups whose keys are not public need a grid of at most {PLACES_OF_A_GROUP} numbers, not \
                     {grid}: how many groups there are is not known before it is paid"
                ),
                "give the column a larger `unit` or narrower `bounds`, or list the keys under [queries.columns]".into(),
            );
        }
        if self.measures.contains(&Measure::Persons) && queries.person.is_none() {
            wrong(
                "there is no person column to count".into(),
                "mark one with `person = true`, or use COUNT(*)".into(),
            );
        }
        problems.or(())
    }

    /// Puts the count of rows first.
    fn count_first(&mut self) {
        let old = self.measures.iter().position(|m| *m == Measure::Count(None));
        if let Some(old) = old {
            self.measures.remove(old);
        }
        self.measures.insert(0, Measure::Count(None));
        let moved = |m: usize| match old {
            Some(old) if m == old => 0,
            Some(old) if m > old => m,
            _ => m + 1,
        };
        for (_, item) in &mut self.items {
            *item = match *item {
                Item::Key(k) => Item::Key(k),
                Item::Count(m) => Item::Count(moved(m)),
                Item::Sum(m) => Item::Sum(moved(m)),
                Item::Mean(a, b) => Item::Mean(moved(a), moved(b)),
                Item::Variance(a, b, c, root) => Item::Variance(moved(a), moved(b), moved(c), root),
                Item::Quantile(m) => Item::Quantile(moved(m)),
            };
        }
    }
}

impl Keys {
    /// How many public keys there are.
    pub fn count(&self) -> usize {
        match self {
            Keys::Public(keys) => keys.len(),
            Keys::Unknown => 1,
            Keys::Bins { count, .. } => *count,
        }
    }
}

impl Measure {
    /// How much a person changes the numbers, in sum.
    pub fn sensitivity(&self, rows: u64, grouped: bool) -> UBig {
        match self {
            Measure::Count(_) | Measure::Numbers(_) => rows.into(),
            // A person is in as many groups as they have rows.
            Measure::Persons => if grouped { rows } else { 1 }.into(),
            Measure::Sum { scale, center, power, .. } => {
                scale.reach(*center).pow(*power as usize) * rows
            }
            Measure::Quantile { .. } => UBig::ONE,
        }
    }

    fn noise(&self, rows: u64, grouped: bool, epsilon: &Fraction, rho: Option<&Fraction>) -> Noise {
        let sensitivity = self.sensitivity(rows, grouped);
        match (self, rho) {
            (Measure::Quantile { at, .. }, _) => {
                Noise::Quantile(Quantile { at: *at, rows, epsilon: epsilon.clone() })
            }
            (_, None) => Noise::Laplace(Laplace { sensitivity, epsilon: epsilon.clone() }),
            (_, Some(rho)) => Noise::Gaussian(Gaussian { sensitivity, rho: rho.clone() }),
        }
    }
}

impl Noise {
    /// A number with noise; quantiles are drawn otherwise.
    pub fn draw(&self, value: &IBig, dice: &mut dyn Dice) -> IBig {
        match self {
            Noise::Laplace(noise) => noise.draw(value, dice),
            Noise::Gaussian(noise) => noise.draw(value, dice),
            Noise::Quantile(_) => value.clone(),
        }
    }

    /// Standard deviation or scale in units, for display.
    pub fn scale(&self) -> Option<f64> {
        match self {
            Noise::Laplace(noise) => Some(noise.scale().to_f64()),
            Noise::Gaussian(noise) => Some(noise.variance().to_f64().sqrt()),
            Noise::Quantile(_) => None,
        }
    }

    fn within(&self, alpha: f64) -> f64 {
        match self {
            Noise::Laplace(noise) => noise.within(alpha),
            Noise::Gaussian(noise) => noise.within(alpha),
            Noise::Quantile(_) => 0.0,
        }
    }
}

/// An answer with what it may be wrong by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The answer; nothing where the noise leaves none.
    pub value: Option<f64>,
    /// With the confidence asked for, the truth among bounded values is between these.
    pub interval: Option<(f64, f64)>,
    /// For quantiles instead: ranks by which it may be wrong.
    pub ranks: Option<f64>,
}

impl Plan {
    /// What it costs: one price for each measurement, or one for all with Gaussian noise, which
    /// have ρ in sum.
    pub fn spends(&self) -> Vec<Spend> {
        let Price { epsilon, delta, .. } = &self.price;
        let rho = |noise: &Noise| {
            if let Noise::Gaussian(noise) = noise { Some(noise.rho.clone()) } else { None }
        };
        if let Some(rho) = self.noises.iter().map(rho).collect::<Option<Vec<_>>>() {
            let rho = rho.iter().fold(Fraction::whole(0), |a, b| a.plus(b));
            return vec![Spend::Gaussian { rho, epsilon: epsilon.clone(), delta: delta.clone() }];
        }
        // A person changes a single number where there is only one, or one row.
        let one = self.rows == 1 || self.question.groups.is_empty();
        let spend = |(i, noise): (usize, &Noise)| match (noise, &self.threshold) {
            (_, Some(threshold)) if i == 0 => threshold.spend(),
            (Noise::Laplace(noise), _) => noise.spend(one),
            (Noise::Quantile(quantile), _) => Spend::Pure { epsilon: quantile.epsilon.clone() },
            (Noise::Gaussian(_), _) => {
                unreachable!("a question has Gaussian noise throughout or not at all")
            }
        };
        self.noises.iter().enumerate().map(spend).collect()
    }

    /// An item that is no key, from the noisy measurements of its group, with so much confidence.
    pub fn estimate(&self, item: &Item, noisy: &[IBig], confidence: f64) -> Estimate {
        let alpha = 1.0 - confidence;
        let value = |m: usize| noisy[m].to_f64().value();
        let around = |m: usize, alpha: f64| {
            let far = self.noises[m].within(alpha);
            (value(m) - far, value(m) + far)
        };
        let scale = |m: usize| match &self.question.measures[m] {
            Measure::Sum { scale, center, .. } => Some((*scale, *center)),
            Measure::Quantile { scale, .. } => Some((*scale, 0)),
            _ => None,
        };
        let plain = |value: f64, interval| Estimate { value: Some(value), interval, ranks: None };
        let none = Estimate { value: None, interval: None, ranks: None };
        match *item {
            Item::Key(_) => none,
            Item::Count(m) => plain(value(m), Some(around(m, alpha))),
            Item::Sum(m) => {
                let Some((scale, _)) = scale(m) else { return none };
                let (low, high) = around(m, alpha);
                plain(scale.value(value(m)), Some((scale.value(low), scale.value(high))))
            }
            Item::Mean(sum, count) => {
                let Some((scale, center)) = scale(sum) else { return none };
                let ends = (scale.low as f64 - center as f64, scale.high as f64 - center as f64);
                let shown = |x: f64| scale.value(center as f64 + x);
                let whole = (shown(ends.0), shown(ends.1));
                if value(count) < 1.0 {
                    return Estimate { interval: Some(whole), ..none };
                }
                let mean = (value(sum) / value(count)).clamp(ends.0, ends.1);
                let interval = quotient(around(sum, alpha / 2.0), around(count, alpha / 2.0), ends);
                plain(shown(mean), Some((shown(interval.0), shown(interval.1))))
            }
            Item::Variance(squares, sum, count, root) => {
                let Some((scale, center)) = scale(sum) else { return none };
                let ends = (scale.low as f64 - center as f64, scale.high as f64 - center as f64);
                let most = (ends.1 - ends.0).powi(2) / 4.0;
                let shown = |v: f64| {
                    let one = scale.value(1.0);
                    if root { v.max(0.0).sqrt() * one } else { v * one * one }
                };
                if value(count) < 1.0 {
                    return Estimate { interval: Some((0.0, shown(most))), ..none };
                }
                let mean = (value(sum) / value(count)).clamp(ends.0, ends.1);
                // No square is beyond this, however large the noise.
                let reach = ends.0.abs().max(ends.1.abs()).powi(2);
                let square = (value(squares) / value(count)).clamp(0.0, reach);
                let variance = (square - mean * mean).clamp(0.0, most);
                let people = around(count, alpha / 3.0);
                let m = quotient(around(sum, alpha / 3.0), people, ends);
                let s = quotient(around(squares, alpha / 3.0), people, (0.0, reach));
                // The square of the mean is least at 0 if the interval holds it.
                let least =
                    if m.0 <= 0.0 && m.1 >= 0.0 { 0.0 } else { m.0.abs().min(m.1.abs()).powi(2) };
                let largest = m.0.abs().max(m.1.abs()).powi(2);
                let interval = ((s.0 - largest).clamp(0.0, most), (s.1 - least).clamp(0.0, most));
                plain(shown(variance), Some((shown(interval.0), shown(interval.1))))
            }
            Item::Quantile(m) => {
                let (Some((scale, _)), Noise::Quantile(q)) = (scale(m), &self.noises[m]) else {
                    return none;
                };
                let ranks = q.within((scale.high - scale.low) as usize + 1, alpha);
                Estimate {
                    value: Some(scale.value(scale.low as f64 + value(m))),
                    interval: None,
                    ranks: Some(ranks),
                }
            }
        }
    }
}

/// What a quotient may be if its parts may be anything in their intervals, within these ends.
fn quotient(over: (f64, f64), under: (f64, f64), ends: (f64, f64)) -> (f64, f64) {
    let people = (under.0.max(1.0), under.1.max(1.0));
    let all = [over.0 / people.0, over.0 / people.1, over.1 / people.0, over.1 / people.1];
    let least = all.iter().copied().fold(f64::INFINITY, f64::min);
    let largest = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (least.clamp(ends.0, ends.1), largest.clamp(ends.0, ends.1))
}
