//! What a group shows: one value per quasi-identifier, and the attributes that these values are
//! written in.

use super::repair::Part;
use crate::class::{Histogram, Run};
use crate::failure::Failures;
use crate::table::{Attribute, Table};
use crate::taxonomy::{Decimal, Intervals, Rule, Scale, Taxonomy, Unit};
use std::sync::Arc;

/// The attributes and, for each part, a leaf of each of them.
pub(super) struct Shown {
    pub quasi: Vec<Attribute>,
    pub regions: Vec<Box<[Run]>>,
}

/// What the parts show.
pub(super) fn represent(table: &Table, parts: &[Part], decimals: u32) -> Result<Shown, Failures> {
    let mut quasi = Vec::new();
    let mut leaves: Vec<Vec<u32>> = Vec::new();
    for (attribute, codes) in table.quasi.iter().zip(&table.quasi_codes) {
        let of = |part: &Part| {
            Histogram::of(part.members.iter().map(|m| (codes[m.row as usize], m.count.into())))
        };
        let histograms: Vec<Histogram> = parts.iter().map(of).collect();
        let taxonomy = &attribute.taxonomy;
        let (own, shown) = match taxonomy.scale() {
            Scale::Number(grid) => means(attribute, grid.decimals, decimals, &histograms)?,
            Scale::Nominal => (taxonomy.clone(), histograms.iter().map(mode).collect()),
            _ => (taxonomy.clone(), histograms.iter().map(|h| median(taxonomy, h)).collect()),
        };
        quasi.push(Attribute { taxonomy: own, ..attribute.clone() });
        leaves.push(shown);
    }
    let region = |i: usize| leaves.iter().map(|shown| Run::new(shown[i], shown[i])).collect();
    Ok(Shown { quasi, regions: (0..parts.len()).map(region).collect() })
}

/// The most frequent leaf, the first of several.
fn mode(histogram: &Histogram) -> u32 {
    let most = histogram.0.iter().map(|&(_, n)| n).max();
    histogram.0.iter().find(|&&(_, n)| Some(n) == most).map_or(0, |&(code, _)| code)
}

/// The leaf at which half of the values are reached; the missing one if more records lack a value
/// than have one.
fn median(taxonomy: &Taxonomy, histogram: &Histogram) -> u32 {
    let Some((known, total)) = known(taxonomy, histogram) else {
        return taxonomy.missing().unwrap_or(0);
    };
    let mut sum = 0;
    let reaches = |&&(_, n): &&(u32, u64)| {
        sum += n;
        2 * sum >= total
    };
    known.iter().find(reaches).map_or(0, |&(code, _)| code)
}

/// The leaves that are values, with their total; nothing if more records lack a value.
fn known<'h>(taxonomy: &Taxonomy, histogram: &'h Histogram) -> Option<(&'h [(u32, u64)], u64)> {
    let all = &histogram.0[..];
    let (known, lacking) = match all.split_last() {
        Some((&(code, n), known)) if Some(code) == taxonomy.missing() => (known, n),
        _ => (all, 0),
    };
    let total = known.iter().map(|&(_, n)| n).sum();
    (total > 0 && total >= lacking).then_some((known, total))
}

/// The rounded means as a taxonomy of their own, and the leaf of each.
fn means(
    attribute: &Attribute,
    given: u32,
    more: u32,
    histograms: &[Histogram],
) -> Result<(Arc<Taxonomy>, Vec<u32>), Failures> {
    let taxonomy = &attribute.taxonomy;
    let places =
        || histograms.iter().flat_map(|h| &h.0).filter(|(c, _)| Some(*c) != taxonomy.missing());
    // Twice the middle of a cell, which is a whole number of the smallest steps.
    let middle = |code: u32| {
        taxonomy
            .steps(Run::new(code, code))
            .map_or(0, |(first, last)| i128::from(first) + i128::from(last))
    };
    let largest = places().map(|&(code, _)| middle(code).unsigned_abs() / 2).max().unwrap_or(0);
    // A number has at most 18 digits.
    let fits = |&more: &u32| given + more < 18 && largest * 10u128.pow(more) < 10u128.pow(18);
    let more = (0..=more).rev().find(fits).unwrap_or(0);
    let texts: Vec<Option<String>> = histograms
        .iter()
        .map(|h| {
            let (known, total) = known(taxonomy, h)?;
            let sum: i128 = known.iter().map(|&(c, n)| middle(c) * i128::from(n)).sum();
            let units = round(sum * 10i128.pow(more), 2 * i128::from(total));
            Some(Decimal::show(units as i64, given + more))
        })
        .collect();
    let mut values: Vec<&str> = texts.iter().flatten().map(String::as_str).collect();
    values.sort_unstable();
    values.dedup();
    let rule = Rule::Intervals(Intervals { unit: Unit::Exact, ..Intervals::default() });
    let own =
        Taxonomy::generate(&rule, &attribute.name, &values, texts.iter().any(Option::is_none))?;
    let leaf =
        |text: &Option<String>| text.as_ref().map_or_else(|| own.missing(), |text| own.find(text));
    let leaves = texts.iter().map(|text| leaf(text).unwrap_or(0)).collect();
    Ok((Arc::new(own), leaves))
}

/// sum / total to the nearest whole number, halves away from zero.
fn round(sum: i128, total: i128) -> i128 {
    let half = if sum < 0 { -total } else { total };
    (2 * sum + half) / (2 * total)
}
