//! # Averaging
//!
//! Takes the mean of a statistic that was published several times with fresh noise.
//!
//! ## What the adversary knows
//! The answers, and for each the standard deviation of its noise, where that was published;
//! otherwise she learns it from how far the answers are apart.
//!
//! ## What she does
//! Noise that is drawn anew for every answer cancels out: the mean of n answers has a standard
//! deviation that is √n times smaller than that of one. Answers with less noise weigh more (by one
//! over the variance). Answers are the same statistic if they agree in `statistic`, `of` and
//! `over`.
//!
//! ## What it says
//! The mean, its standard error, the interval that holds the true value with 95 % confidence, and
//! how many answers narrow that interval to half a unit to either side, so that rounding gives the
//! true value.
//!
//! ## Limits
//! The noise must be independent, without bias, and the same question must be asked of the same
//! data. Noise that is remembered and given again cannot be averaged away: equal answers without a
//! stated noise are taken for one answer. The interval takes the mean of the noise to be normal,
//! which holds for many answers; where the deviation is learnt from n answers it is Student's t
//! with n − 1 degrees of freedom.
//!
//! ## Reference
//! Dwork and Roth, "The algorithmic foundations of differential privacy", 2014, section 3.5
//! (composition is the price of repeated answers).

use super::{Kind, Method, Statistic};
use crate::attack::Figure;
use crate::catalogue::Entry;
use std::collections::BTreeMap;

pub(crate) const ENTRY: Entry<Method> = Entry {
    name: "averaging",
    summary: "what noise leaves of a statistic that was published several times",
    source: include_str!("averaging.rs"),
    parameters: &[],
    build: |_| Ok(Method::Averaging),
};

/// What several answers to one question come to.
#[derive(Clone, Debug, PartialEq)]
pub struct Average {
    /// The answers, by their index in the list of statistics.
    pub statistics: Vec<usize>,
    /// Their mean.
    pub estimate: f64,
    /// Standard error of the mean.
    pub error: f64,
    /// The interval that holds the true value with 95 % confidence.
    pub interval: (f64, f64),
    /// Whether the noise was published, or learnt from the answers.
    pub noise_known: bool,
    /// What the true value is a multiple of, as far as can be told.
    pub unit: f64,
    /// How many answers narrow the interval to half a unit to either side.
    pub needed: u64,
}

impl Average {
    /// Whether the interval is that narrow already.
    pub fn is_narrow(&self) -> bool {
        self.statistics.len() as u64 >= self.needed
    }
}

/// Finds the statistics that were published several times, and averages them.
pub fn averaging(statistics: &[Statistic]) -> (Vec<Average>, Vec<Figure>) {
    let mut repeated: BTreeMap<(Kind, &str, &str), Vec<usize>> = BTreeMap::new();
    for (i, s) in statistics.iter().enumerate() {
        repeated.entry((s.kind, &s.of, &s.over)).or_default().push(i);
    }
    let mut groups: Vec<Vec<usize>> =
        repeated.into_values().filter(|group| group.len() > 1).collect();
    groups.sort_unstable();
    let averages: Vec<Average> =
        groups.into_iter().filter_map(|group| average(statistics, group)).collect();
    let narrow = averages.iter().filter(|a| a.is_narrow()).count() as u64;
    let most = averages.iter().map(|a| a.statistics.len() as u64).max().unwrap_or(0);
    let figures = vec![
        Figure::count("statistics", statistics.len() as u64, "statistics").descriptive(),
        Figure::count(
            "repeated",
            averages.len() as u64,
            "questions answered several times, with noise",
        ),
        Figure::count("most_answers", most, "answers to one of them, at most"),
        Figure::count("narrowed", narrow, "of them known to half a unit"),
    ];
    (averages, figures)
}

/// Nothing if the answers show no noise.
fn average(statistics: &[Statistic], group: Vec<usize>) -> Option<Average> {
    let values: Vec<f64> = group.iter().map(|&i| statistics[i].value.to_f64()).collect();
    let noise: Option<Vec<f64>> =
        group.iter().map(|&i| statistics[i].noise.map(|n| n.to_f64())).collect();
    let n = values.len() as f64;
    let noise_known = noise.is_some();
    let (estimate, error, quantile) = match noise {
        Some(noise) => {
            let weights: Vec<f64> = noise.iter().map(|sd| sd.powi(-2)).collect();
            let all: f64 = weights.iter().sum();
            let sum: f64 = values.iter().zip(&weights).map(|(v, w)| v * w).sum();
            (sum / all, all.sqrt().recip(), NORMAL)
        }
        None => {
            let mean = values.iter().sum::<f64>() / n;
            let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
            if squares == 0.0 {
                return None;
            }
            (mean, (squares / (n - 1.0) / n).sqrt(), student(values.len() - 1))
        }
    };
    let first = &statistics[group[0]];
    let finest = group
        .iter()
        .map(|&i| statistics[i].unit.to_f64())
        .filter(|&u| u > 0.0)
        .fold(f64::INFINITY, f64::min);
    // People are whole, whatever the decimals of a noisy count.
    let unit = if first.kind == Kind::Count || finest.is_infinite() { 1.0 } else { finest };
    // As many answers of the same noise as bring 1.96 standard errors below half a unit.
    let needed = (NORMAL * error * n.sqrt() / (unit / 2.0)).powi(2).ceil().max(1.0) as u64;
    let interval = (estimate - quantile * error, estimate + quantile * error);
    Some(Average { statistics: group, estimate, error, interval, noise_known, unit, needed })
}

/// 97.5 % of a normal distribution lie below so many standard deviations above its mean.
const NORMAL: f64 = 1.959_963_985;

/// The same for Student's t.
fn student(degrees: usize) -> f64 {
    const TABLE: [f64; 30] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
        2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
        2.052, 2.048, 2.045, 2.042,
    ];
    // Beyond the table by the first terms of the expansion in 1 / degrees.
    TABLE
        .get(degrees.saturating_sub(1))
        .copied()
        .unwrap_or_else(|| NORMAL + (NORMAL.powi(3) + NORMAL) / (4.0 * degrees as f64))
}
