//! What a release has lost: metrics over its classes.
//!
//! The loss of a cell is measured in domain values under the published one, not in records: see
//! [`crate::taxonomy::Taxonomy::size`].

use crate::class::Run;
use crate::release::{Form, Generalized, Release};
use crate::table::Table;
use crate::taxonomy::{Scale, Taxonomy};

/// A measure of what a release keeps or loses; most are computed from the release alone.
pub struct Metric<F = fn(&Release, k: u64) -> f64> {
    /// Name in reports and JSON.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// The manual page.
    pub about: &'static str,
    /// Whether it measures how wide regions are, and so says nothing where a class shows a representative.
    pub of_regions: bool,
    /// Computes it. `k` is the smallest class the policy asks for (the smallest there is, if it does not say).
    pub measure: F,
}

/// Computes a metric from what became of the records; nothing where there is nothing to compare.
pub type OfRecords = fn(&Table, &Form) -> Option<f64>;

/// Every metric that is computed from the release.
pub const METRICS: &[Metric] = &[
    Metric {
        name: "gcp",
        summary: "global certainty penalty: mean loss of a quasi-identifier cell, 0 to 1",
        about: "Mean over all quasi-identifier cells of (domain values under the published value − 1) / (domain values − 1).\n\
                A cell published as it is loses 0, a suppressed cell loses 1, and all cells of a suppressed record lose 1.\n\
                On a number or date scale the domain is every multiple of the unit between the smallest and the largest value.\n\
                Ghinita, Karras, Kalnis and Mamoulis 2007, after Xu et al. 2006.",
        of_regions: true,
        measure: |release, _| gcp(release),
    },
    Metric {
        name: "iloss",
        summary: "information loss: weighted sum over all cells, in cells",
        about: "ILoss of a value: (domain values under it − 1) / domain values. Of a record: the sum over its quasi-identifiers,\n\
                weighted by `weight` of the policy. Of the table: the sum over its records. A suppressed record loses as if every\n\
                cell showed the root. Xiao and Tao 2006.",
        of_regions: true,
        measure: |release, _| iloss(release),
    },
    Metric {
        name: "discernibility",
        summary: "sum of squared class sizes; a suppressed record costs the whole table",
        about: "Every record is charged the number of records it cannot be told apart from: Σ |E|² over the classes, plus the size\n\
                of the table for each suppressed record. Bayardo and Agrawal 2005.",
        of_regions: false,
        measure: |release, _| discernibility(release),
    },
    Metric {
        name: "c_avg",
        summary: "average class size, relative to k",
        about: "(records / classes) / k, with the k that the policy asks for. 1 is the best possible.\n\
                LeFevre, DeWitt and Ramakrishnan 2006.",
        of_regions: false,
        measure: |release, k| release.records() as f64 / (release.classes.len().max(1) as f64 * k.max(1) as f64),
    },
];

/// Every metric that compares the release with the records it was made of: only the publisher can compute it.
pub const RECORD_METRICS: &[Metric<OfRecords>] = &[Metric {
    name: "sse",
    summary: "how far numbers and dates have moved: sum of squared errors relative to their variance",
    about: "Mean over the quasi-identifiers that are numbers or dates of Σ (value − shown)² / Σ (value − mean)². 0 if nothing\n\
            has moved, 1 if every record shows the mean of all. A range shows its middle; a suppressed or missing cell shows\n\
            the mean. With microaggregation this is SSE/SST of the literature, on standardized values.\n\
            Domingo-Ferrer and Mateo-Sanz 2002.",
    of_regions: false,
    measure: sse,
}];

fn sse(table: &Table, form: &Form) -> Option<f64> {
    let Form::Generalized(form) = form else { return None };
    let shares: Vec<f64> = (0..table.quasi.len()).filter_map(|i| moved(table, form, i)).collect();
    (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
}

/// The squared errors of one quasi-identifier, relative to its variance; nothing if it has none or is no number.
fn moved(table: &Table, form: &Generalized, i: usize) -> Option<f64> {
    let taxonomy = &table.quasi[i].taxonomy;
    let written_in = form.quasi.as_ref().map_or(taxonomy, |quasi| &quasi[i].taxonomy);
    let value =
        |row: u32| middle(taxonomy, Run::new(table.quasi_codes[i][row as usize], table.quasi_codes[i][row as usize]));
    let known = || (0u32..).zip(&table.counts).filter_map(|(row, &n)| Some((value(row)?, f64::from(n))));
    let total: f64 = known().map(|(_, n)| n).sum();
    let mean = known().map(|(x, n)| x * n).sum::<f64>() / total;
    let all: f64 = known().map(|(x, n)| n * (x - mean).powi(2)).sum();
    if all <= 0.0 {
        return None;
    }
    let shown = form.classes.iter().flat_map(|class| {
        let shown = middle(written_in, class.region[i]).unwrap_or(mean);
        class.members.iter().map(move |m| (m, shown))
    });
    let cells = shown.chain(form.suppressed.iter().map(|m| (m, mean)));
    let errors = cells.filter_map(|(m, shown)| Some(f64::from(m.count) * (value(m.row)? - shown).powi(2)));
    Some(errors.sum::<f64>() / all)
}

/// The middle of a range of numbers or dates; nothing for what has no place on a scale.
fn middle(taxonomy: &Taxonomy, run: Run) -> Option<f64> {
    let unit = match taxonomy.scale() {
        Scale::Number { decimals } => 10f64.powi(*decimals as i32),
        Scale::Date => 1.0,
        Scale::Nominal | Scale::Ordinal => return None,
    };
    let last = if taxonomy.missing() == Some(run.last) { run.last.checked_sub(1)? } else { run.last };
    let ends = (run.first <= last).then(|| taxonomy.position(run.first) as f64 + taxonomy.position(last) as f64)?;
    Some(ends / 2.0 / unit)
}

fn gcp(release: &Release) -> f64 {
    let cells = (release.records() + release.suppressed) as f64 * release.quasi.len() as f64;
    if cells == 0.0 {
        return 0.0;
    }
    let lost: f64 = release
        .classes
        .iter()
        .map(|class| {
            let loss: f64 = release.quasi.iter().zip(&class.region).map(|(a, &run)| a.taxonomy.loss(run)).sum();
            loss * class.count as f64
        })
        .sum();
    (lost + release.suppressed as f64 * release.quasi.len() as f64) / cells
}

fn iloss(release: &Release) -> f64 {
    let cell = |a: &crate::table::Attribute, run| {
        let t = &a.taxonomy;
        a.weight * (t.size(run) - 1) as f64 / t.size(t.root()) as f64
    };
    let class =
        |region: &[crate::class::Run]| -> f64 { release.quasi.iter().zip(region).map(|(a, &r)| cell(a, r)).sum() };
    let kept: f64 = release.classes.iter().map(|c| c.count as f64 * class(&c.region)).sum();
    let top: Vec<_> = release.quasi.iter().map(|a| a.taxonomy.root()).collect();
    kept + release.suppressed as f64 * class(&top)
}

fn discernibility(release: &Release) -> f64 {
    let all = release.records() + release.suppressed;
    let squares: u128 = release.classes.iter().map(|c| u128::from(c.count).pow(2)).sum();
    (squares + u128::from(release.suppressed) * u128::from(all)) as f64
}
