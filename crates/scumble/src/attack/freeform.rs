//! # Freeform
//!
//! Finds sensitive values of any attribute from whatever can be observed of any others. No
//! attribute needs to be called quasi-identifier or sensitive.
//!
//! ## What the adversary knows
//! That a person is in the release, and some observable values of the person, at any level: "a
//! man", "high income". Which values are observable and which are sensitive is said by the
//! publisher: by the release's manifest, or by a policy (`--policy`) with columns whose role is
//! `freeform`. The thresholds are those of `ff-anonymity` there, unless they are given.
//!
//! ## What she does
//! All attacks X → a (see `ff-anonymity`) are searched: X is any set of observable values of some
//! attributes, a value that is not observable of another. The threat is the share of the records
//! matching X that match a, times the sensitivity of a. A threat above `threat` is a breach. Every
//! release is attacked by itself.
//!
//! ## What it says
//! The number of breaches by the paper's extended Definition 3.4, where a may be more general than
//! what is shown, and by its Definition 3.3, where a is shown; those that are minimal, because no
//! more general X breaches a; the largest threat; the records whose own value is attacked. The
//! minimal breaches are listed, those that threaten most first, then others (`list`).
//!
//! ## Limits
//! With `known` only sets of so many values are looked at. A release in which a value is shown in
//! several ways (local recoding) cannot be attacked like this: which records an observer would take
//! for a person is not defined there.
//!
//! ## Reference
//! Wang, Xu, Fu and Wong, "FF-anonymity: when quasi-identifiers are missing", 2009.

use super::Figure;
use crate::catalogue::{Entry, Kind, Parameter};
use crate::exact::Ratio;
use crate::failure::{Argument, Failure, Remedy};
use crate::freeform::cube::Thresholds;
use crate::freeform::{Breach, Breaches};
use crate::model::{cube_of, thresholds};
use crate::release::{Release, Shape};

/// The attack on what values say of each other. It looks for nobody in particular and at all
/// attributes, so it takes a release and not a scene.
pub const ENTRY: Entry<Freeform> = Entry {
    name: "freeform",
    summary: "sensitive values of any attribute from what can be observed of the others",
    source: include_str!("freeform.rs"),
    parameters: &[
        Parameter {
            name: "observability",
            kind: Kind::Number("0", Some("1")),
            default: None,
            about: "σ_o: values that are at least so observable can be observed; as promised unless given",
        },
        Parameter {
            name: "threat",
            kind: Kind::Number("0", Some("1")),
            default: None,
            about: "σ_t: a threat above this is a breach; as promised unless given",
        },
        Parameter {
            name: "known",
            kind: Kind::Count(0, 1000),
            default: Some("0"),
            about: "p: the adversary knows at most so many values of a person; any number, if 0",
        },
        Parameter {
            name: "list",
            kind: Kind::Count(0, 1_000_000),
            default: Some("10"),
            about: "so many breaches are listed",
        },
    ],
    build: |p| Ok(Freeform { thresholds: thresholds(p), list: p.count("list") as usize }),
};

/// The attack with its parameters.
pub struct Freeform {
    /// From when on values are observable and threats are breaches.
    pub thresholds: Thresholds,
    /// Number of breaches that are listed.
    pub list: usize,
}

/// What it finds.
pub struct Found {
    /// The breaches.
    pub breaches: Breaches,
    /// The largest threat.
    pub worst: Ratio,
}

impl Freeform {
    /// Attacks a release, on some of its attributes or on all.
    pub fn run(&self, release: &Release, on: Option<&[usize]>) -> Result<Found, Failure> {
        let looked_at = || (0..release.quasi.len()).filter(|i| on.is_none_or(|on| on.contains(i)));
        if !looked_at().any(|i| release.quasi[i].freeform.as_ref().is_some_and(|v| v.guards())) {
            return Err(Failure::usage("needs-policy", "`freeform` does not know which values are sensitive").remedy(
                Remedy::words(
                    "the release was published without freeform columns; say it in a policy, and give ",
                )
                .and_give(Argument::Policy),
            ));
        }
        let cube = |least| match release.shape {
            Shape::Regions => {
                cube_of(&release.quasi, on, &release.classes, &self.thresholds, least)
            }
            _ => None,
        };
        let whole = cube(Ratio::whole(0)).ok_or_else(|| {
            Failure::usage("attack-and-release", "the release shows a value in several ways, so `freeform` cannot say who matches what")
                .hint("attack releases of `specialize`, `top-down`, `bottom-up` or the full-domain algorithms")
        })?;
        let worst = whole.worst();
        let breaches = match cube(self.thresholds.threat) {
            Some(cube) if worst > self.thresholds.threat => {
                cube.breaches(self.thresholds.threat, self.list)
            }
            _ => Breaches::default(),
        };
        Ok(Found { breaches, worst })
    }
}

impl Found {
    /// The breaches that are listed: minimal ones first.
    pub fn listed(&self, most: usize) -> impl Iterator<Item = &Breach> {
        self.breaches.minimal.iter().chain(&self.breaches.others).take(most)
    }

    /// Its numbers.
    pub fn figures(&self) -> Vec<Figure> {
        let b = &self.breaches;
        vec![
            Figure::count(
                "breaches",
                b.all,
                "breaches, also of values more general than what is shown",
            ),
            Figure::count("breaches_shown", b.shown, "of them: of values that are shown"),
            Figure::count(
                "minimal",
                b.minimal.len() as u64,
                "of them: minimal, no more general knowledge suffices",
            ),
            Figure::count("people", b.people, "records whose own value is attacked"),
            Figure::share("worst", self.worst.to_f64(), "the largest threat"),
        ]
    }
}

/// A breach in words.
pub fn words(release: &Release, b: &Breach) -> String {
    let value = |&(i, run): &(usize, crate::class::Run)| {
        format!("{} = {}", release.quasi[i].name, release.quasi[i].taxonomy.label(run))
    };
    let known = match b.known.is_empty() {
        true => "(nothing)".to_owned(),
        false => b.known.iter().map(value).collect::<Vec<_>>().join(", "),
    };
    let minimal = if b.minimal { "" } else { " (not minimal)" };
    let records = if b.support == 1 { "record" } else { "records" };
    format!(
        "{known} → {}: {} of {} {records}, threat {}{minimal}",
        value(&b.value),
        b.with,
        b.support,
        b.threat
    )
}
