//! What a release has lost, and what a recipient can still do with it.
//!
//! The loss of a cell is measured in domain values under the published one, not in records: see
//! [`crate::taxonomy::Taxonomy::size`].

mod truth;

use crate::class::Run;
use crate::release::{Form, Release, Shape};
use crate::table::{Table, published};
use crate::taxonomy::ROOT;
use hashbrown::{HashMap, HashSet};
use std::borrow::Cow;

pub(crate) use truth::Marginal;

/// A measure of what a release keeps or loses.
pub struct Metric {
    /// Name in reports and JSON.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// The manual page.
    pub about: &'static str,
    /// Which direction is better.
    pub better: Better,
    /// Who gets to see it, and when.
    pub told: Told,
    /// Computes it; nothing if it says nothing about such a release.
    pub measure: fn(&Subject<'_>) -> Option<f64>,
}

/// Which direction of a metric is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// It measures what is lost.
    Lower,
    /// It measures what is kept.
    Higher,
}

/// Who is told a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// Everybody: it follows from the release alone.
    Everybody,
    /// The publisher, not the recipients: it follows from the extract too, and a precise figure
    /// tells about it.
    Publisher,
    /// The publisher, where releases are compared: it takes longer than the others.
    Comparison,
}

/// What is measured.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// The release.
    pub release: &'a Release,
    /// The smallest class the policy asks for (the smallest there is, if it does not say).
    pub k: u64,
    /// What it was made from, and how. Without it, metrics that compare with the truth say nothing.
    pub truth: Option<(&'a Table, &'a Form)>,
}

/// Every metric.
pub const METRICS: &[Metric] = &[
    Metric {
        name: "gcp",
        summary: "global certainty penalty: mean loss of a quasi-identifier cell, 0 to 1",
        about: "Mean over all quasi-identifier cells of (domain values under the published value − 1) / (domain values − 1).\n\
                A cell published as it is loses 0, one that shows the root loses 1, and so do all cells of a suppressed record.\n\
                On a number or date scale the domain is every cell between the ends of what is published, or between `low` and\n\
                `high` if the policy says both: the figure follows from the release and tells nothing of suppressed records.\n\
                Masked text loses the share of its characters that are masked, of the declared `length` or of the longest\n\
                published text; where the policy lists levels, their share. Files declare their domain.\n\
                Of an anatomized release, which shows every quasi-identifier as it is, only suppressed records lose anything.\n\
                Not defined where values are replaced by representatives (see sse).\n\
                Ghinita, Karras, Kalnis and Mamoulis 2007, after Xu et al. 2006.",
        better: Better::Lower,
        told: Told::Everybody,
        measure: gcp,
    },
    Metric {
        name: "iloss",
        summary: "information loss: weighted sum over all cells, in cells",
        about: "ILoss of a value: (domain values under it − 1) / domain values. Of a record: the sum over its quasi-identifiers,\n\
                weighted by `weight` of the policy. Of the table: the sum over its records. A suppressed record loses as if every\n\
                cell showed the root. Domains are those of the extract. Anatomized releases and representatives as for gcp.\n\
                Xiao and Tao 2006.",
        better: Better::Lower,
        told: Told::Publisher,
        measure: iloss,
    },
    Metric {
        name: "loss",
        summary: "mean loss of a quasi-identifier cell over the domains of the extract, 0 to 1",
        about: "As gcp, but the domain of an attribute is what the extract has: the cells between its smallest and largest value,\n\
                or its distinct values. This is what `local`, `lattice`, `top-down` and `bottom-up` minimize. It tells about the\n\
                extract, also about suppressed records, and is not published. Computed by `compare`.",
        better: Better::Lower,
        told: Told::Comparison,
        measure: loss,
    },
    Metric {
        name: "discernibility",
        summary: "sum of squared class sizes; a suppressed record costs the whole table",
        about: "Every record is charged the number of records it cannot be told apart from: Σ |E|² over the classes, plus the size\n\
                of the table for each suppressed record. Not defined for anatomized releases. Bayardo and Agrawal 2005.",
        better: Better::Lower,
        told: Told::Everybody,
        measure: discernibility,
    },
    Metric {
        name: "c_avg",
        summary: "average class size, relative to k",
        about: "(records / classes) / k, with the k that the policy asks for. 1 is the best possible. Not defined for anatomized\n\
                releases. LeFevre, DeWitt and Ramakrishnan 2006.",
        better: Better::Lower,
        told: Told::Everybody,
        measure: |of| {
            let classes = of.release.classes.len().max(1) as f64 * of.k.max(1) as f64;
            (of.release.shape != Shape::Groups).then(|| of.release.records() as f64 / classes)
        },
    },
    Metric {
        name: "classification",
        summary: "share of records whose sensitive value is not the commonest of their class, 0 to 1",
        about: "What a recipient gets wrong who predicts a sensitive attribute from the published quasi-identifiers: a record\n\
                counts if it is suppressed, or if its value is not the commonest one of its class. Of several sensitive attributes\n\
                the mean. 0 is perfect prediction, which the privacy models mostly forbid: read it against the models.\n\
                Iyengar 2002 (classification metric, CM).",
        better: Better::Lower,
        told: Told::Everybody,
        measure: classification,
    },
    Metric {
        name: "entropy",
        summary: "non-uniform entropy: bits lost about quasi-identifier cells, as a share of all, 0 to 1",
        about: "A recipient who knows how often every value occurs in the extract still lacks −log₂(records with the value /\n\
                records with a value under the published one) bits about a cell. The sum over all cells, divided by what it would\n\
                be if every cell showed the root; suppressed records show the root. Unlike gcp it charges little for joining a\n\
                rare value to a common one. Not defined for representatives.\n\
                de Waal and Willenborg 1999; Gionis and Tassa 2009.",
        better: Better::Lower,
        told: Told::Publisher,
        measure: truth::entropy,
    },
    Metric {
        name: "distribution",
        summary: "mean distance of the quasi-identifiers' published distributions from the true ones, 0 to 1",
        about: "Total variation distance, ½ Σ |p − q| over the domain values of a quasi-identifier: p its share of the records\n\
                of the extract, q its share of the published ones, a generalized value being spread evenly over the domain values\n\
                under it. The mean over the quasi-identifiers. Not defined for representatives.",
        better: Better::Lower,
        told: Told::Publisher,
        measure: truth::distribution,
    },
    Metric {
        name: "sse",
        summary: "how far numbers and dates have moved: sum of squared errors relative to their variance",
        about: "Mean over the quasi-identifiers that are numbers or dates of Σ (value − shown)² / Σ (value − mean)². 0 if nothing\n\
                has moved, 1 if every record shows the mean of all. A range shows its middle; a suppressed or missing cell shows\n\
                the mean; an anatomized release shows every value as it is. With microaggregation this is SSE/SST of the\n\
                literature, on standardized values. Domingo-Ferrer and Mateo-Sanz 2002.",
        better: Better::Lower,
        told: Told::Publisher,
        measure: truth::sse,
    },
    Metric {
        name: "kl",
        summary: "Kullback-Leibler divergence of the reconstructed table from the true one, in bits",
        about: "Σ p log₂(p / q) over the rows of the extract: p the share of records with these quasi-identifiers and sensitive\n\
                values, q the same as a recipient reconstructs it: a class spread evenly over its region and, independently, over its\n\
                sensitive values; for an anatomized group, every quasi-identifier with every sensitive value of the group.\n\
                Suppressed records are spread evenly over all points. Their sensitive values are estimated from those of the others\n\
                with one added to each count (Laplace), because a value may be suppressed altogether. Where classes overlap,\n\
                a row counts only in the classes that hold records of it, so the figure is then an upper bound. Not defined for\n\
                representatives. Computed by `compare`.\n\
                Kifer and Gehrke 2006.",
        better: Better::Lower,
        told: Told::Comparison,
        measure: truth::kl,
    },
    Metric {
        name: "correlation",
        summary: "mean change of the association (Cramér's V) between two columns, 0 to 1",
        about: "For every pair of a quasi-identifier with another quasi-identifier or a sensitive attribute: |V of the extract − V\n\
                of the release|, V being Cramér's V of the two columns, each cut into at most 8 groups of neighbouring values with\n\
                about equally many records. The cells of the release's table are what COUNT queries estimate. The mean over the\n\
                pairs; 0: every association is kept. Computed by `compare`.",
        better: Better::Lower,
        told: Told::Comparison,
        measure: truth::correlation,
    },
];

/// What the published cells lose: `cell` of every run, `whole` of a record that is left out.
fn cells(release: &Release, cell: impl Fn(usize, Run) -> f64, whole: f64) -> Option<f64> {
    let out = release.suppressed as f64 * whole;
    match release.shape {
        Shape::Representatives => None,
        Shape::Groups => Some(out),
        Shape::Regions => {
            let class =
                |region: &[Run]| region.iter().enumerate().map(|(i, &r)| cell(i, r)).sum::<f64>();
            Some(
                release.classes.iter().map(|c| c.count as f64 * class(&c.region)).sum::<f64>()
                    + out,
            )
        }
    }
}

/// What a cell of a quasi-identifier loses, by what it shows: of the domain that the policy declares
/// or, where it declares none, that the labels of the release span. Nothing in it depends on values
/// that are not published.
fn published_losses(release: &Release, i: usize) -> HashMap<Run, f64> {
    let t = &*release.quasi[i].taxonomy;
    // A release whose quasi-identifiers pass through has no regions.
    let shown: HashSet<Run> =
        release.classes.iter().filter_map(|c| c.region.get(i).copied()).collect();
    let labels: Vec<(Run, Cow<'_, str>)> =
        shown.into_iter().map(|run| (run, t.label(run))).collect();
    let (mut ends, mut longest): (Option<(i64, i64)>, usize) = (t.written_on().ends(), 1);
    let declared = ends.is_some();
    for (run, label) in labels.iter().filter(|(_, label)| label != ROOT) {
        longest = longest.max(t.unmasked_length(label));
        if let Some((first, last)) = t.published_cells(*run, label).filter(|_| !declared) {
            let (a, b) = ends.unwrap_or((first, last));
            ends = Some((a.min(first), b.max(last)));
        }
    }
    let cells = ends.map_or(0, |(first, last)| last.abs_diff(first));
    let loss = |run: Run, label: &str| {
        // By its label: whether a run is everything depends on values that are not published.
        if label == ROOT {
            return 1.0;
        }
        if !t.written_on().has_cells() {
            return t.masked_loss(label, longest).unwrap_or_else(|| t.declared_loss(run));
        }
        match t.published_cells(run, label) {
            Some((first, last)) if cells > 0 => {
                (last.abs_diff(first) as f64 / cells as f64).min(1.0)
            }
            _ => 0.0,
        }
    };
    labels.iter().map(|(run, label)| (*run, loss(*run, label))).collect()
}

fn gcp(of: &Subject<'_>) -> Option<f64> {
    let release = of.release;
    let all = (release.records() + release.suppressed) as f64 * release.quasi.len() as f64;
    let losses: Vec<HashMap<Run, f64>> =
        (0..release.quasi.len()).map(|i| published_losses(release, i)).collect();
    let lost = cells(release, |i, run| losses[i][&run], release.quasi.len() as f64)?;
    Some(if all == 0.0 { 0.0 } else { lost / all })
}

fn loss(of: &Subject<'_>) -> Option<f64> {
    let release = of.release;
    let all = (release.records() + release.suppressed) as f64 * release.quasi.len() as f64;
    let lost =
        cells(release, |i, run| release.quasi[i].taxonomy.loss(run), release.quasi.len() as f64)?;
    Some(if all == 0.0 { 0.0 } else { lost / all })
}

fn iloss(of: &Subject<'_>) -> Option<f64> {
    let release = of.release;
    let cell = |i: usize, run| {
        let (t, weight) = (&release.quasi[i].taxonomy, release.quasi[i].weight);
        weight * (t.values_at(run, t.shown_level().unwrap_or(0)) - 1) as f64 / t.domain() as f64
    };
    let whole = release.quasi.iter().enumerate().map(|(i, a)| cell(i, a.taxonomy.root())).sum();
    cells(release, cell, whole)
}

fn discernibility(of: &Subject<'_>) -> Option<f64> {
    let release = of.release;
    let all = release.records() + release.suppressed;
    let squares: u128 = release.classes.iter().map(|c| u128::from(c.count).pow(2)).sum();
    let sum = squares + u128::from(release.suppressed) * u128::from(all);
    (release.shape != Shape::Groups).then_some(sum as f64)
}

fn classification(of: &Subject<'_>) -> Option<f64> {
    let release = of.release;
    let (attributes, all) =
        (published(&release.sensitive).len(), release.records() + release.suppressed);
    if attributes == 0 || all == 0 {
        return None;
    }
    let wrong = |i: usize| -> f64 {
        // Of the values that stand for somebody as many are the commonest as of all.
        let others = |c: &crate::class::EquivalenceClass| {
            let (shown, commonest) =
                (c.histograms[i].total(), c.histograms[i].0.iter().map(|&(_, n)| n).max());
            (c.count * (shown - commonest.unwrap_or(0))) as f64 / shown.max(1) as f64
        };
        release.classes.iter().map(others).sum::<f64>() + release.suppressed as f64
    };
    Some((0..attributes).map(wrong).sum::<f64>() / (attributes as u64 * all) as f64)
}
