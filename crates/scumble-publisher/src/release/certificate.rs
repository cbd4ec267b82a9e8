//! The certificate of a release: what was measured, so that an outsider can measure it again from
//! the published data alone.
//!
//! It uses the words of the Article 29 Working Party's opinion 05/2014 (singling out, linkability,
//! inference) and claims what was measured, never that the data are anonymous in the sense of any
//! law. What only the publisher can know, because it takes the ledger, is in it as the publisher's
//! word and is said to be so.

use super::folder;
use super::manifest::{Manifest, Method};
use crate::answer::{Model, Number, Passage};
use crate::ledger::Verdict;
use schemars::JsonSchema;
use scumble::exact::Ratio;
use scumble::failure::{Failure, Failures};
use scumble::gate::Gate;
use scumble::release::Release;
use scumble::table::{Attribute, Role, published};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// Name of the file.
pub const FILE: &str = "certificate.json";

/// Version of the format. Since 2 it is bound to the roles of the columns.
pub const VERSION: u32 = 2;

/// The certificate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Certificate {
    /// Version of this format.
    pub version: u32,
    /// What wrote it, with its version.
    pub made_by: String,
    /// What it is and what it is not.
    pub statement: String,
    /// What the publisher's ledger calls the release.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub release: Option<String>,
    /// SHA-256 of every file of the release but this one.
    pub files: BTreeMap<String, String>,
    /// The roles that the figures are for, column by column. Whoever calls a column insensitive
    /// keeps it out of every figure.
    pub columns: Vec<ColumnRole>,
    /// How the release was made.
    pub algorithm: Method,
    /// Promises with their parameters and measured values: those of the manifest.
    #[serde(serialize_with = "crate::answer::parameters::recorded")]
    pub models: Vec<Model>,
    /// What follows from the published data.
    #[serde(flatten)]
    pub measured: Measured,
    /// What the release tells together with earlier ones: the publisher's word.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub linkability: Option<Linkability>,
}

/// The role of a column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ColumnRole {
    /// The column.
    pub name: String,
    /// Its role.
    pub role: Role,
}

impl ColumnRole {
    /// The roles of the columns of a release.
    pub fn all(manifest: &Manifest) -> Vec<ColumnRole> {
        manifest.columns.iter().map(|c| ColumnRole { name: c.name.clone(), role: c.role }).collect()
    }
}

/// What follows from the published data alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measured {
    /// How far people can be told apart.
    pub singling_out: SinglingOut,
    /// What can be inferred about them, for each sensitive attribute.
    pub inference: Vec<Inferred>,
}

/// How far people can be told apart by their quasi-identifiers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SinglingOut {
    /// Records.
    pub records: u64,
    /// Sets of records that cannot be told apart.
    pub classes: u64,
    /// Records in the smallest.
    pub smallest: u64,
    /// Records that are alone in theirs.
    pub alone: u64,
    /// The highest risk of finding a person's record, for somebody who knows that she is in the
    /// data.
    pub highest: Number,
    /// The average over all records.
    pub average: Number,
}

/// What can be inferred about a sensitive attribute from the class of a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Inferred {
    /// The attribute.
    pub attribute: String,
    /// For each number of values: how many records have so many possible ones. A value is possible
    /// for a record if its class shows it: then there is a way to give the values of the class to
    /// its records in which this one has it.
    pub possible: Vec<Possible>,
    /// Values that are excluded: pairs of a record and a value of the release that its class does
    /// not show.
    pub excluded: u64,
    /// The highest share of a value among the values of a class: the belief of somebody who knows
    /// nothing else.
    pub highest: Number,
    /// The average over all records of the share of their class's commonest value.
    pub average: Number,
    /// The facts that prove the fewest possible values: what such a class shows, with counts.
    pub fewest: Fewest,
}

/// Records with so many possible values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Possible {
    /// Values.
    pub values: u64,
    /// Records.
    pub records: u64,
}

/// A class with the fewest possible values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fewest {
    /// How it is found among the data: its region, or its number.
    pub class: String,
    /// Its values with their counts.
    pub counts: BTreeMap<String, u64>,
}

/// What was looked at together with earlier releases.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Linkability {
    /// That it cannot be checked from this release, and how it could be.
    pub note: String,
    /// Who was on the panel.
    pub panel: Vec<String>,
    /// What was allowed.
    pub thresholds: BTreeMap<String, String>,
    /// What every adversary learns.
    pub adversaries: Vec<Verdict>,
}

/// What the certificate says it is. `verify` takes no other text for ours.
pub(super) const STATEMENT: &str = "What was measured on this release, in the terms of WP216: singling out, linkability, inference. It can \
    be measured again from the published files with `scumble verify`. It is not a statement that the data are anonymous in the \
    sense of any law: that depends on who holds them and on what else is known.";

/// What it says of linkability.
pub(super) const NOTE: &str = "The publisher's word: it takes the publisher's record of who is in which release. Somebody who has the \
    releases and a register of the people can repeat it with `scumble attack inference`.";

impl Certificate {
    /// The certificate of a release whose files have these hashes.
    pub(crate) fn new(
        release: &Release,
        manifest: &Manifest,
        files: BTreeMap<String, String>,
        gate: (&Gate, &[Passage]),
    ) -> Certificate {
        let (gate, passages) = gate;
        let linkability = (!passages.is_empty()).then(|| Linkability {
            note: NOTE.into(),
            panel: gate.panel.iter().map(|p| p.name().to_owned()).collect(),
            thresholds: thresholds(gate, passages),
            adversaries: passages.iter().map(Verdict::from).collect(),
        });
        Certificate {
            version: VERSION,
            made_by: format!("scumble {}", env!("CARGO_PKG_VERSION")),
            statement: STATEMENT.into(),
            release: manifest.id.clone(),
            files,
            columns: ColumnRole::all(manifest),
            algorithm: manifest.algorithm.clone(),
            models: manifest.models.clone(),
            measured: Measured::of(release),
            linkability,
        }
    }

    /// Reads the certificate of a release's folder.
    pub fn read(folder: &Path) -> Result<Certificate, Failures> {
        let path = folder::file(folder, FILE)?;
        let text = std::fs::read_to_string(&path).map_err(|e| {
            Failure::io(
                "cannot-read",
                format!("`{}` cannot be read: {}", path.display(), crate::describe(&e)),
            )
        })?;
        let wrong = |e: serde_json::Error| {
            Failure::data(
                "broken-release",
                format!("`{}`, line {}: not a certificate: {e}", path.display(), e.line()),
            )
        };
        let version: Versioned = serde_json::from_str(&text).map_err(wrong)?;
        if version.version != VERSION {
            let message = format!(
                "`{}` has version {}; this scumble checks certificates of version {VERSION}",
                path.display(),
                version.version
            );
            let hint = if version.version > VERSION {
                "use a newer scumble"
            } else {
                "have the release published again"
            };
            return Err(Failure::data("unknown-version", message).hint(hint).into());
        }
        serde_json::from_str(&text).map_err(|e| wrong(e).into())
    }
}

/// What every version of a certificate says.
#[derive(Deserialize)]
struct Versioned {
    version: u32,
}

/// What was in force; a limit on belief that follows from the models is told by attribute.
fn thresholds(gate: &Gate, passages: &[Passage]) -> BTreeMap<String, String> {
    let mut all = BTreeMap::from([("certain".to_owned(), gate.certain.to_string())]);
    all.extend(gate.candidates.map(|n| ("candidates".to_owned(), n.to_string())));
    all.extend(gate.posterior.map(|p| ("posterior".to_owned(), p.to_string())));
    for p in passages.iter().filter(|p| !p.limits.posterior_given) {
        let most = p.limits.posterior.as_ref().and_then(|most| most.exact.clone());
        all.extend(most.map(|most| (format!("posterior of {}, by default", p.attribute), most)));
    }
    all.extend(
        gate.pvp.iter().map(|(confidence, share)| (format!("pvp {confidence}"), share.to_string())),
    );
    all
}

impl Measured {
    /// Measures a release.
    pub fn of(release: &Release) -> Measured {
        let sizes = release.sizes();
        let (records, classes) =
            sizes.iter().fold((0, 0), |(r, c), (size, n)| (r + size * n, c + n));
        let smallest = sizes.first().map_or(0, |(size, _)| *size);
        let ratio = |a: u64, b: u64| Number::from(Ratio::new(a.into(), b.max(1).into()));
        let attributes = published(&release.sensitive);
        Measured {
            singling_out: SinglingOut {
                records,
                classes,
                smallest,
                alone: sizes.iter().filter(|(size, _)| *size == 1).map(|(_, n)| *n).sum(),
                highest: ratio(1, smallest),
                average: ratio(classes, records),
            },
            inference: (0..attributes.len())
                .map(|i| inferred(release, &attributes[i], i))
                .collect(),
        }
    }
}

fn inferred(release: &Release, attribute: &Attribute, i: usize) -> Inferred {
    let all = release.distributions()[i].occurring.len() as u64;
    let mut possible: BTreeMap<u64, u64> = BTreeMap::new();
    let (mut excluded, mut records, mut highest) = (0, 0, Ratio::new(0, 1));
    // Σ count · most / total, over the few totals that occur: exact without a common denominator of
    // all classes.
    let mut sums: BTreeMap<u64, u128> = BTreeMap::new();
    for class in &release.classes {
        let histogram = &class.histograms[i];
        let (distinct, total) = (histogram.distinct() as u64, histogram.total().max(1));
        let most = histogram.0.iter().map(|&(_, n)| n).max().unwrap_or(0);
        *possible.entry(distinct).or_default() += class.count;
        excluded += class.count * (all - distinct);
        records += class.count;
        highest = highest.max(Ratio::new(most.into(), total.into()));
        *sums.entry(total).or_default() += u128::from(class.count) * u128::from(most);
    }
    let least = possible.keys().next().copied().unwrap_or(0);
    let those = (0..release.classes.len())
        .filter(|&at| release.classes[at].histograms[i].distinct() as u64 == least);
    // The first by name: the order of classes is not part of what is published.
    let first = those.map(|at| (crate::ledger::label(release, at), at)).min();
    let fewest =
        first.map_or(Fewest { class: String::new(), counts: BTreeMap::new() }, |(class, at)| {
            Fewest {
                class,
                counts: (release.classes[at].histograms[i].0.iter())
                    .map(|&(v, n)| (attribute.taxonomy.leaf(v).to_owned(), n))
                    .collect(),
            }
        });
    let possible =
        possible.into_iter().map(|(values, records)| Possible { values, records }).collect();
    // As a decimal: the exact sum of many fractions has no short name.
    let mean = sums.iter().map(|(&total, &sum)| sum as f64 / total as f64).sum::<f64>()
        / records.max(1) as f64;
    let average = Number { value: Some((mean * 1e9).round() / 1e9), exact: None };
    Inferred {
        attribute: attribute.name.clone(),
        possible,
        excluded,
        highest: highest.into(),
        average,
        fewest,
    }
}
