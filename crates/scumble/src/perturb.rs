//! Changing the values of a column before anything else is done with it.
//!
//! A perturbed column is published with values that are no longer the persons' own: noise, swapped
//! or randomized values, or coarser ones. None of the methods is a privacy model: what they
//! promise, if anything, stands in their description, and the models of a policy are judged on what
//! is published. Steps are made in the order of [`METHODS`].

use crate::exact::Ratio;
use crate::failure::Failure;
use crate::taxonomy::Decimal;
use hashbrown::HashMap;
use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

/// A way to change a column, as `perturb = { NAME = … }` of an attribute.
pub struct Method {
    /// Key in the policy.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// The manual page.
    pub about: &'static str,
}

/// Every method, in the order in which they are applied.
pub const METHODS: &[Method] = &[
    Method {
        name: "bottom",
        summary: "bottom-coding: numbers below a bound are published as the bound",
        about: "`bottom = 18`: every number below 18 is published as 18. Rare small values no longer single people out; sums and\n\
                means of the column are no longer those of the data.",
    },
    Method {
        name: "top",
        summary: "top-coding: numbers above a bound are published as the bound",
        about: "`top = 90`: every number above 90 is published as 90, as HIPAA's Safe Harbor asks of ages. See `bottom`.",
    },
    Method {
        name: "round",
        summary: "numbers are published as the nearest multiple",
        about: "`round = 1000`: every number is published as the nearest multiple of 1000, halves away from zero.",
    },
    Method {
        name: "noise",
        summary: "normal noise, its deviation a share of the column's",
        about: "`noise = 0.1`: independent normal noise with 0.1 times the standard deviation of the column is added to every\n\
                number, rounded to the column's digits. Means stay right on average; the variance grows by the factor 1 + 0.1².\n\
                This is not differential privacy: the noise is not calibrated to any bound. Kim 1986; Sullivan 1989.",
    },
    Method {
        name: "swap",
        summary: "rank swapping: values change places with others of nearly the same rank",
        about: "`swap = 0.05`: in order of size, every value changes places with another that is at most 5 % of the records away.\n\
                The column's distribution stays exactly as it is; its relation to other columns is loosened. Moore 1996.",
    },
    Method {
        name: "keep",
        summary: "randomized response (PRAM): the value with this probability, otherwise any",
        about: "`keep = 0.8`: each value is published with probability 0.8; otherwise a value drawn evenly from the m values that\n\
                occur in the column, which may be the same. So P(v published | u true) = (1 − keep) / m, and keep more if u = v.\n\
                With x records showing v among n, (x − n (1 − keep) / m) / keep estimates how many have it: `estimate`\n\
                computes it from the manifest, with the standard error that the coins leave. For this column alone the publication is ε-differentially private in the local\n\
                sense, with ε = ln(1 + m keep / (1 − keep)), provided that the list of values is no secret. keep = 0.5 on a\n\
                yes/no column is the two coins of Warner's successors: estimate 2x − n/2, ε = ln 3.\n\
                Warner 1965; Gouweleeuw et al. 1998.",
    },
    Method {
        name: "blank",
        summary: "cells with these values are published empty",
        about: "`blank = [\"Psychiatry\"]`: cells with one of these values are suppressed: they become missing. That a cell is\n\
                missing may itself tell which value it had, if few values are blanked.",
    },
];

/// One step of a perturbation with its parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Numbers below become this.
    Bottom(Decimal),
    /// Numbers above become this.
    Top(Decimal),
    /// Multiples of this.
    Round(Decimal),
    /// Deviation of the noise, in deviations of the column.
    Noise(f64),
    /// How far ranks may move, as a share of the records.
    Swap(f64),
    /// Probability that a value is left as it is.
    Keep(Ratio),
    /// Values to suppress.
    Blank(Vec<String>),
}

impl Step {
    /// Name of the method.
    pub fn name(&self) -> &'static str {
        let place = match self {
            Step::Bottom(_) => 0,
            Step::Top(_) => 1,
            Step::Round(_) => 2,
            Step::Noise(_) => 3,
            Step::Swap(_) => 4,
            Step::Keep(_) => 5,
            Step::Blank(_) => 6,
        };
        METHODS[place].name
    }

    /// The parameter as a manifest shows it. Values that are blanked are neither listed nor
    /// counted: that they occur is data, and that there is only one of them would tell that all
    /// blanked cells are equal.
    pub fn parameter(&self) -> String {
        match self {
            Step::Bottom(d) | Step::Top(d) | Step::Round(d) => {
                Decimal::show(d.mantissa, d.decimals)
            }
            Step::Noise(x) | Step::Swap(x) => x.to_string(),
            Step::Keep(r) => r.to_string(),
            Step::Blank(_) => "some values".into(),
        }
    }
}

/// A column: distinct texts, and which of them each record has. A missing value is the empty text
/// and is left alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Texts {
    /// Distinct texts.
    pub values: Vec<String>,
    /// Their place for every record.
    pub codes: Vec<u32>,
}

/// What became of a column, for the publisher.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Share of records whose value changed.
    pub changed: f64,
    /// Total variation distance between the distributions before and after.
    pub distance: f64,
    /// Σ (new − old)² / Σ (old − mean)², for numbers.
    pub sse: Option<f64>,
    /// The ε of randomized response.
    pub epsilon: Option<f64>,
    /// Number of values that randomized response draws from.
    pub values: Option<usize>,
}

/// Changes a column by these steps, which are in order.
pub fn perturb(
    column: &str,
    steps: &[Step],
    before: &Texts,
    random: &mut ChaCha8Rng,
) -> Result<(Texts, Change), Failure> {
    let mut now = before.clone();
    let (mut epsilon, mut values) = (None, None);
    for step in steps {
        let numbers = |now: &Texts| Numbers::read(column, step.name(), now);
        now = match step {
            Step::Bottom(bound) => numbers(&now)?.map(&now, bound, |x, bound| x.max(bound))?,
            Step::Top(bound) => numbers(&now)?.map(&now, bound, |x, bound| x.min(bound))?,
            Step::Round(unit) => numbers(&now)?.map(&now, unit, nearest_multiple)?,
            Step::Noise(share) => numbers(&now)?.noise(&now, *share, random),
            Step::Swap(share) => swap(&now, *share, random),
            Step::Keep(keep) => {
                let m = now.values.iter().filter(|v| !v.is_empty()).count();
                (epsilon, values) = (Some(epsilon_of(*keep, m)), Some(m));
                randomize(&now, *keep, random)
            }
            Step::Blank(listed) => blank(column, &now, listed)?,
        };
    }
    let now = now.compact();
    let change = Change { epsilon, values, ..compare(before, &now) };
    Ok((now, change))
}

/// Estimates how many of the records have each value, from how many show it: unbiased for
/// randomized response.
pub fn estimate(shown: &[u64], keep: Ratio) -> Vec<f64> {
    let (n, m, keep) = (shown.iter().sum::<u64>() as f64, shown.len() as f64, keep.to_f64());
    shown.iter().map(|&x| (x as f64 - n * (1.0 - keep) / m) / keep).collect()
}

/// The numbers, ends included, that bottom-coding, top-coding and rounding publish as this one; a
/// missing end is open. The column's numbers have so many decimals. `None` if that is no number, or
/// if another step changes values.
pub fn published_as(
    steps: &[Step],
    decimals: u32,
    shown: &str,
) -> Option<(Option<Decimal>, Option<Decimal>)> {
    let shown = Decimal::parse(shown)?;
    let decimals = finest(steps, decimals.max(shown.decimals))?;
    let at = Some(shown.units(decimals)?);
    before(steps, decimals, at, at)
}

/// The numbers, ends included, that bottom-coding, top-coding and rounding publish as one that lies
/// from `from` on and below `below`; a missing end is open. The column's numbers have so many
/// decimals. `None` if there are no such numbers, or if another step changes values.
pub fn published_within(
    steps: &[Step],
    decimals: u32,
    from: Option<Decimal>,
    below: Option<Decimal>,
) -> Option<(Option<Decimal>, Option<Decimal>)> {
    let ends = from.iter().chain(&below).map(|d| d.decimals);
    let decimals = finest(steps, ends.fold(decimals, u32::max))?;
    let units = |d: Option<Decimal>| match d {
        Some(d) => Some(Some(d.units(decimals)?)),
        None => Some(None),
    };
    let (low, high) = (units(from)?, units(below)?);
    before(steps, decimals, low, high.map(|h| h.saturating_sub(1)))
}

/// Digits after the point that all of the steps can do with, at least so many; `None` if one of
/// them does more than code or round.
fn finest(steps: &[Step], decimals: u32) -> Option<u32> {
    let of = |step: &Step| match step {
        Step::Bottom(d) | Step::Top(d) | Step::Round(d) => Some(d.decimals),
        Step::Blank(_) => Some(0),
        Step::Noise(_) | Step::Swap(_) | Step::Keep(_) => None,
    };
    steps.iter().map(of).try_fold(decimals, |most, d| Some(most.max(d?)))
}

/// What the steps turn into numbers of a range, in units of 10^-decimals; `None` if nothing does.
fn before(
    steps: &[Step],
    decimals: u32,
    mut low: Option<i64>,
    mut high: Option<i64>,
) -> Option<(Option<Decimal>, Option<Decimal>)> {
    // From the last step to the first; blanking leaves what it shows as it is.
    for step in steps.iter().rev() {
        match step {
            Step::Round(unit) => {
                let unit = unit.units(decimals)?;
                let up = |x: i64| x.saturating_add((unit - x.rem_euclid(unit)) % unit);
                low = low.map(|low| lowest(up(low), unit));
                high = high.map(|high| highest(high - high.rem_euclid(unit), unit));
            }
            Step::Top(bound) => {
                let bound = bound.units(decimals)?;
                if low.is_some_and(|low| low > bound) {
                    return None;
                }
                high = high.filter(|&high| high < bound);
            }
            Step::Bottom(bound) => {
                let bound = bound.units(decimals)?;
                if high.is_some_and(|high| high < bound) {
                    return None;
                }
                low = low.filter(|&low| low > bound);
            }
            _ => {}
        }
    }
    if low.zip(high).is_some_and(|(low, high)| low > high) {
        return None;
    }
    let number = |units: i64| Decimal { mantissa: units, decimals };
    Some((low.map(number), high.map(number)))
}

/// The smallest number whose nearest multiple of a unit is this one.
fn lowest(multiple: i64, unit: i64) -> i64 {
    let half = multiple - unit / 2;
    if nearest_multiple(half, unit) == multiple { half } else { half + 1 }
}

/// The largest one.
fn highest(multiple: i64, unit: i64) -> i64 {
    let half = multiple + unit / 2;
    if nearest_multiple(half, unit) == multiple { half } else { half - 1 }
}

/// Digits after the point of the numbers among some texts.
pub fn decimals<'a>(texts: impl Iterator<Item = &'a str>) -> u32 {
    texts.filter_map(Decimal::parse).map(|d| d.decimals).max().unwrap_or(0)
}

/// The standard error of an estimate of [`estimate`], for n records and m values: the standard
/// deviation of the coins that were tossed for these records. `estimated` of them have the value
/// and show it with probability keep + (1 − keep)/m, the others with (1 − keep)/m. The binomial √(n
/// q (1 − q))/keep, q the share that shows it, would be larger: it adds the chance with which the
/// records themselves were drawn from a population, and the question is about these records.
pub fn standard_error(estimated: f64, n: u64, m: usize, keep: Ratio) -> f64 {
    let (n, keep) = (n as f64, keep.to_f64());
    let other = (1.0 - keep) / m as f64;
    let have = estimated.clamp(0.0, n);
    let variance =
        have * (keep + other) * (1.0 - keep - other) + (n - have) * other * (1.0 - other);
    variance.max(0.0).sqrt() / keep
}

/// The ε of randomized response over m values.
pub fn epsilon_of(keep: Ratio, m: usize) -> f64 {
    let keep = keep.to_f64();
    (1.0 + m as f64 * keep / (1.0 - keep)).ln()
}

impl Texts {
    /// Distinct values only, those that occur, in order of their first record.
    fn compact(self) -> Texts {
        let (mut values, mut codes) = (Vec::new(), Vec::with_capacity(self.codes.len()));
        let mut place: HashMap<&str, u32> = HashMap::new();
        for &code in &self.codes {
            let text = self.values[code as usize].as_str();
            codes.push(*place.entry(text).or_insert_with(|| {
                values.push(text.to_owned());
                values.len() as u32 - 1
            }));
        }
        Texts { values, codes }
    }

    fn text(&self, record: usize) -> &str {
        &self.values[self.codes[record] as usize]
    }
}

/// The values of a column as whole numbers of 10^-decimals; `None` where missing.
struct Numbers {
    units: Vec<Option<i64>>,
    decimals: u32,
}

impl Numbers {
    fn read(column: &str, method: &str, texts: &Texts) -> Result<Numbers, Failure> {
        let parsed: Vec<Option<Decimal>> = texts.values.iter().map(|t| Decimal::parse(t)).collect();
        let strange =
            texts.values.iter().zip(&parsed).filter(|(t, d)| !t.is_empty() && d.is_none()).count();
        if strange > 0 {
            let values = if strange == 1 {
                "one value".into()
            } else {
                format!("{strange} distinct values")
            };
            return Err(Failure::data(
                "not-numbers",
                format!(
                    "`{method}` needs numbers, but column `{column}` has {values} of another kind"
                ),
            )
            .hint("list what means missing under `missing`, or use `swap`, `keep` or `blank`"));
        }
        let decimals = parsed.iter().flatten().map(|d| d.decimals).max().unwrap_or(0);
        let units = parsed.iter().map(|d| d.and_then(|d| d.units(decimals))).collect();
        Ok(Numbers { units, decimals })
    }

    /// Every value changed by itself. Where the parameter has more digits than the column, the
    /// column gets them.
    fn map(
        mut self,
        texts: &Texts,
        parameter: &Decimal,
        change: fn(i64, i64) -> i64,
    ) -> Result<Texts, Failure> {
        let decimals = self.decimals.max(parameter.decimals);
        let too_large = || {
            Failure::data(
                "number-too-large",
                "a number with so many digits cannot be changed exactly",
            )
        };
        let parameter = parameter.units(decimals).ok_or_else(too_large)?;
        for units in self.units.iter_mut().flatten() {
            let fine = Decimal { mantissa: *units, decimals: self.decimals }
                .units(decimals)
                .ok_or_else(too_large)?;
            *units = change(fine, parameter);
        }
        let show = |u: &Option<i64>| u.map_or(String::new(), |u| Decimal::show(u, decimals));
        Ok(Texts { values: self.units.iter().map(show).collect(), codes: texts.codes.clone() })
    }

    fn noise(&self, texts: &Texts, share: f64, random: &mut ChaCha8Rng) -> Texts {
        let present =
            || texts.codes.iter().filter_map(|&c| self.units[c as usize]).map(|u| u as f64);
        let n = present().count().max(1) as f64;
        let mean = present().sum::<f64>() / n;
        let deviation = share * (present().map(|x| (x - mean).powi(2)).sum::<f64>() / n).sqrt();
        let (mut values, mut known) = (vec![String::new()], HashMap::new());
        let mut noisy = |code: &u32| {
            let Some(units) = self.units[*code as usize] else { return 0 };
            let units = units.saturating_add((deviation * normal(random)).round() as i64);
            *known.entry(units).or_insert_with(|| {
                values.push(Decimal::show(units, self.decimals));
                values.len() as u32 - 1
            })
        };
        let codes = texts.codes.iter().map(&mut noisy).collect();
        Texts { values, codes }
    }
}

/// A standard normal number (Box and Muller 1958).
fn normal(random: &mut ChaCha8Rng) -> f64 {
    // In (0, 1], so that the logarithm is finite.
    let u: f64 = 1.0 - random.random::<f64>();
    let v: f64 = random.random();
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

fn nearest_multiple(x: i64, unit: i64) -> i64 {
    let rest = x.rem_euclid(unit);
    let down = x - rest;
    // Halves away from zero.
    if rest * 2 > unit || (rest * 2 == unit && x >= 0) { down.saturating_add(unit) } else { down }
}

/// Rank swapping: in rising order each record that has not moved changes places with one not far
/// above it.
fn swap(texts: &Texts, share: f64, random: &mut ChaCha8Rng) -> Texts {
    let key: Vec<(Option<i64>, &str)> = {
        let numbers = Numbers::read("", "", texts).ok();
        let place = |i: usize| numbers.as_ref().and_then(|n| n.units[i]);
        texts.values.iter().enumerate().map(|(i, t)| (place(i), t.as_str())).collect()
    };
    let mut order: Vec<u32> =
        (0..texts.codes.len() as u32).filter(|&r| !texts.text(r as usize).is_empty()).collect();
    // Records with equal values stand in an order that says nothing.
    order.shuffle(random);
    order.sort_by_key(|&r| key[texts.codes[r as usize] as usize]);
    let reach = ((order.len() as f64 * share) as usize).max(1);
    let (mut codes, mut moved) = (texts.codes.clone(), vec![false; order.len()]);
    for i in 0..order.len() {
        if moved[i] {
            continue;
        }
        let within = i + 1..order.len().min(i + 1 + reach);
        let Some(j) = pick(within, &moved, random) else { continue };
        codes.swap(order[i] as usize, order[j] as usize);
        moved[j] = true;
    }
    Texts { values: texts.values.clone(), codes }
}

/// One of the places that have not moved, evenly. Most have not, so a few blind tries nearly always
/// do.
fn pick(within: std::ops::Range<usize>, moved: &[bool], random: &mut ChaCha8Rng) -> Option<usize> {
    if within.is_empty() {
        return None;
    }
    let tried = (0..32).map(|_| random.random_range(within.clone())).find(|&j| !moved[j]);
    tried.or_else(|| {
        let free: Vec<usize> = within.filter(|&j| !moved[j]).collect();
        (!free.is_empty()).then(|| free[random.random_range(0..free.len())])
    })
}

fn randomize(texts: &Texts, keep: Ratio, random: &mut ChaCha8Rng) -> Texts {
    let present: Vec<u32> =
        (0..texts.values.len() as u32).filter(|&c| !texts.values[c as usize].is_empty()).collect();
    let codes = texts.codes.iter().map(|&code| {
        if texts.values[code as usize].is_empty() || random.random_range(0..keep.den()) < keep.num()
        {
            code
        } else {
            present[random.random_range(0..present.len())]
        }
    });
    Texts { values: texts.values.clone(), codes: codes.collect() }
}

fn blank(column: &str, texts: &Texts, listed: &[String]) -> Result<Texts, Failure> {
    if let Some(strange) = listed.iter().find(|v| !texts.values.contains(v)) {
        return Err(Failure::policy(
            "unknown-value",
            format!("`blank` of `{column}` lists `{strange}`, which does not occur there"),
        )
        .hint("write values as they stand in the source"));
    }
    let shown = |v: &String| if listed.contains(v) { String::new() } else { v.clone() };
    Ok(Texts { values: texts.values.iter().map(shown).collect(), codes: texts.codes.clone() })
}

fn compare(before: &Texts, after: &Texts) -> Change {
    let n = before.codes.len().max(1) as f64;
    let changed =
        (0..before.codes.len()).filter(|&r| before.text(r) != after.text(r)).count() as f64 / n;
    let mut counts: HashMap<&str, i64> = HashMap::new();
    for r in 0..before.codes.len() {
        *counts.entry(before.text(r)).or_default() += 1;
        *counts.entry(after.text(r)).or_default() -= 1;
    }
    let distance = counts.values().map(|c| c.unsigned_abs()).sum::<u64>() as f64 / (2.0 * n);
    Change { changed, distance, sse: sse(before, after), epsilon: None, values: None }
}

fn sse(before: &Texts, after: &Texts) -> Option<f64> {
    let (old, new) = (Numbers::read("", "", before).ok()?, Numbers::read("", "", after).ok()?);
    let number = |numbers: &Numbers, texts: &Texts, r: usize| {
        numbers.units[texts.codes[r] as usize]
            .map(|u| u as f64 / 10f64.powi(numbers.decimals as i32))
    };
    let pairs: Vec<(f64, f64)> = (0..before.codes.len())
        .filter_map(|r| Some((number(&old, before, r)?, number(&new, after, r)?)))
        .collect();
    let mean = pairs.iter().map(|(x, _)| x).sum::<f64>() / pairs.len() as f64;
    let total: f64 = pairs.iter().map(|(x, _)| (x - mean).powi(2)).sum();
    (total > 0.0).then(|| pairs.iter().map(|(x, y)| (x - y).powi(2)).sum::<f64>() / total)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::SeedableRng;

    fn texts(values: &[&str]) -> Texts {
        let values: Vec<String> = values.iter().map(|v| (*v).to_owned()).collect();
        Texts { codes: (0..values.len() as u32).collect(), values }.compact()
    }

    fn run(steps: &[Step], before: &Texts, seed: u64) -> (Vec<String>, Change) {
        let (after, change) =
            perturb("x", steps, before, &mut ChaCha8Rng::seed_from_u64(seed)).expect("fits");
        ((0..before.codes.len()).map(|r| after.text(r).to_owned()).collect(), change)
    }

    fn decimal(text: &str) -> Decimal {
        Decimal::parse(text).expect("a number")
    }

    proptest! {
        /// What is published as a number, or within a range, against the perturbation of every
        /// number.
        #[test]
        fn steps_are_undone_exactly(
            bottom in prop::option::of(-12i64..4),
            top in prop::option::of(0i64..12),
            unit in prop::option::of(1i64..6),
            (from, width) in (-15i64..15, 1i64..9),
            open in any::<(bool, bool)>(),
        ) {
            let whole = |n: i64| Decimal { mantissa: n, decimals: 0 };
            let mut steps: Vec<Step> = bottom.map(|b| Step::Bottom(whole(b))).into_iter().collect();
            steps.extend(top.map(|t| Step::Top(whole(t))));
            steps.extend(unit.map(|u| Step::Round(whole(u))));
            let numbers: Vec<String> = (-200i64..=200).map(|n| Decimal::show(n, 1)).collect();
            let (after, _) = run(&steps, &texts(&numbers.iter().map(String::as_str).collect::<Vec<_>>()), 1);
            let tenths = |text: &str| decimal(text).units(1).expect("fits");
            let within = |range: Option<(Option<Decimal>, Option<Decimal>)>, n: i64| {
                range.is_some_and(|(low, high)| {
                    low.is_none_or(|l| l.units(1).expect("fits") <= n)
                        && high.is_none_or(|h| n <= h.units(1).expect("fits"))
                })
            };
            let ends = (open.0.then(|| whole(from)), open.1.then(|| whole(from + width)));
            let range = published_within(&steps, 1, ends.0, ends.1);
            for (n, shown) in (-200i64..=200).zip(&after) {
                let at = tenths(shown);
                let inside = (!open.0 || at >= from * 10) && (!open.1 || at < (from + width) * 10);
                prop_assert_eq!(within(range, n), inside, "{} is shown as {}", n, shown);
                prop_assert!(within(published_as(&steps, 1, shown), n));
            }
            for (n, shown) in (-200i64..=200).zip(&after) {
                let as_first = within(published_as(&steps, 1, &after[0]), n);
                prop_assert_eq!(as_first, tenths(shown) == tenths(&after[0]));
            }
        }
    }

    #[test]
    fn coding_and_rounding_are_exact() {
        let before = texts(&["17", "", "18", "42", "95", "-3", "2.5", "-2.5"]);
        let steps =
            [Step::Bottom(decimal("-2.5")), Step::Top(decimal("90")), Step::Round(decimal("5"))];
        let (after, change) = run(&steps, &before, 1);
        assert_eq!(after, ["15.0", "", "20.0", "40.0", "90.0", "-5.0", "5.0", "-5.0"]);
        assert_eq!((change.changed, change.epsilon), (7.0 / 8.0, None));
        let (after, _) = run(&[Step::Round(decimal("0.25"))], &texts(&["1", "2"]), 1);
        assert_eq!(after, ["1.00", "2.00"]);
    }

    #[test]
    fn what_cannot_be_done_is_refused() {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let words = texts(&["a", "b"]);
        assert!(perturb("x", &[Step::Noise(0.1)], &words, &mut random).is_err());
        assert!(perturb("x", &[Step::Blank(vec!["c".into()])], &words, &mut random).is_err());
        let (after, _) = run(&[Step::Blank(vec!["b".into()])], &words, 1);
        assert_eq!(after, ["a", ""]);
    }

    /// The variance of the estimate over every way the coins may fall for each record.
    #[test]
    fn the_standard_error_is_that_of_the_coins() {
        for (have, n, m, keep) in
            [(3, 8, 2, "0.5"), (0, 5, 3, "0.8"), (6, 6, 4, "0.3"), (2, 9, 7, "0.05")]
        {
            let keep = Ratio::parse(keep).expect("a number");
            let other = (1.0 - keep.to_f64()) / m as f64;
            // The chance that x records show the value, record by record.
            let mut chance = vec![1.0];
            for record in 0..n {
                let shows = if record < have { keep.to_f64() + other } else { other };
                let not = chance.iter().map(|c| c * (1.0 - shows)).chain([0.0]);
                let and = [0.0].into_iter().chain(chance.iter().map(|c| c * shows));
                chance = not.zip(and).map(|(a, b)| a + b).collect();
            }
            let estimates = (0..=n).map(|x| (x as f64 - n as f64 * other) / keep.to_f64());
            let mean: f64 = estimates.clone().zip(&chance).map(|(e, c)| e * c).sum();
            let variance: f64 = estimates.zip(&chance).map(|(e, c)| (e - mean).powi(2) * c).sum();
            let error = standard_error(have as f64, n, m, keep);
            assert!(
                (mean - have as f64).abs() < 1e-9 && (variance.sqrt() - error).abs() < 1e-9,
                "{variance} {error}"
            );
        }
    }

    /// S2-20: two coins, 300 of 1000 say yes: 400 are expected to show it, and the estimate is 2x −
    /// n/2.
    #[test]
    fn two_coins() {
        let half = Ratio::new(1, 2);
        assert_eq!(estimate(&[400, 600], half), [300.0, 700.0]);
        assert!((epsilon_of(half, 2) - 3f64.ln()).abs() < 1e-12);
        let before =
            texts(&(0..1000).map(|i| if i < 300 { "yes" } else { "no" }).collect::<Vec<_>>());
        let mut sum = 0.0;
        for seed in 0..400 {
            let (after, change) = run(&[Step::Keep(half)], &before, seed);
            assert_eq!(change.values, Some(2));
            let yes = after.iter().filter(|t| *t == "yes").count() as u64;
            sum += estimate(&[yes, 1000 - yes], half)[0];
        }
        // Var(π̂) = 4q(1 − q)/n with q = 0.4 is 0.00096: one estimate deviates by 31, the mean of
        // 400 by 1.5.
        assert!((sum / 400.0 - 300.0).abs() < 8.0, "{}", sum / 400.0);
    }

    #[test]
    fn noise_has_the_deviation_that_was_asked() {
        let values: Vec<String> = (0..5000).map(|i| (i * 10).to_string()).collect();
        let before = texts(&values.iter().map(String::as_str).collect::<Vec<_>>());
        let (_, change) = run(&[Step::Noise(0.1)], &before, 3);
        let sse = change.sse.expect("numbers");
        assert!((sse - 0.01).abs() < 0.001, "{sse}");
    }

    proptest! {
        /// Swapping keeps the distribution, and no value goes farther than its reach in ranks.
        #[test]
        fn swapping_moves_values_a_little(values in prop::collection::vec(0u32..40, 2..80), seed in any::<u64>()) {
            let written: Vec<String> = values.iter().map(u32::to_string).collect();
            let before = texts(&written.iter().map(String::as_str).collect::<Vec<_>>());
            let (after, change) = run(&[Step::Swap(0.1)], &before, seed);
            let after: Vec<u32> = after.iter().map(|t| t.parse().expect("a number")).collect();
            let mut sorted = (values.clone(), after.clone());
            sorted.0.sort_unstable();
            sorted.1.sort_unstable();
            prop_assert_eq!(&sorted.0, &sorted.1);
            prop_assert_eq!(change.distance, 0.0);
            let reach = ((values.len() as f64 * 0.1) as usize).max(1);
            for (a, b) in values.iter().zip(&after) {
                let (low, high) = (a.min(b), a.max(b));
                let between = sorted.0.iter().filter(|v| low < *v && *v < high).count();
                prop_assert!(between < reach, "{} lie between {} and {}", between, a, b);
            }
        }

        /// The same seed changes the same; missing values stay missing.
        #[test]
        fn a_seed_repeats(values in prop::collection::vec(prop::option::of(0u32..9), 1..40), seed in any::<u64>()) {
            let written: Vec<String> = values.iter().map(|v| v.map_or(String::new(), |v| v.to_string())).collect();
            let before = texts(&written.iter().map(String::as_str).collect::<Vec<_>>());
            let steps = [Step::Noise(0.5), Step::Swap(0.2), Step::Keep(Ratio::new(3, 4))];
            let (after, _) = run(&steps, &before, seed);
            prop_assert_eq!(&after, &run(&steps, &before, seed).0);
            for (a, b) in written.iter().zip(&after) {
                prop_assert_eq!(a.is_empty(), b.is_empty());
            }
        }
    }
}
