//! What a release has lost: metrics over its classes.
//!
//! The loss of a cell is measured in domain values under the published one, not in records: see
//! [`crate::taxonomy::Taxonomy::size`].

use crate::release::Release;

/// A measure of what a release keeps or loses.
pub struct Metric {
    /// Name in reports and JSON.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// The manual page.
    pub about: &'static str,
    /// Computes it. `k` is the smallest class the policy asks for (the smallest there is, if it does not say).
    pub measure: fn(&Release, k: u64) -> f64,
}

/// Every metric.
pub const METRICS: &[Metric] = &[
    Metric {
        name: "gcp",
        summary: "global certainty penalty: mean loss of a quasi-identifier cell, 0 to 1",
        about: "Mean over all quasi-identifier cells of (domain values under the published value − 1) / (domain values − 1).\n\
                A cell published as it is loses 0, a suppressed cell loses 1, and all cells of a suppressed record lose 1.\n\
                On a number or date scale the domain is every multiple of the unit between the smallest and the largest value.\n\
                Ghinita, Karras, Kalnis and Mamoulis 2007, after Xu et al. 2006.",
        measure: |release, _| gcp(release),
    },
    Metric {
        name: "iloss",
        summary: "information loss: weighted sum over all cells, in cells",
        about: "ILoss of a value: (domain values under it − 1) / domain values. Of a record: the sum over its quasi-identifiers,\n\
                weighted by `weight` of the policy. Of the table: the sum over its records. A suppressed record loses as if every\n\
                cell showed the root. Xiao and Tao 2006.",
        measure: |release, _| iloss(release),
    },
    Metric {
        name: "discernibility",
        summary: "sum of squared class sizes; a suppressed record costs the whole table",
        about: "Every record is charged the number of records it cannot be told apart from: Σ |E|² over the classes, plus the size\n\
                of the table for each suppressed record. Bayardo and Agrawal 2005.",
        measure: |release, _| discernibility(release),
    },
    Metric {
        name: "c_avg",
        summary: "average class size, relative to k",
        about: "(records / classes) / k, with the k that the policy asks for. 1 is the best possible.\n\
                LeFevre, DeWitt and Ramakrishnan 2006.",
        measure: |release, k| release.records() as f64 / (release.classes.len().max(1) as f64 * k.max(1) as f64),
    },
];

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
