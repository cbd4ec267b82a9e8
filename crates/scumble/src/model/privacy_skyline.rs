//! # privacy skyline
//!
//! Nobody's sensitive value is believed with probability c or more by an adversary who knows so
//! much about the person, about others, and about others like the person.
//!
//! ## Definition
//! About a target and a sensitive value s, an adversary who knows who is in which class knows
//! besides
//!
//! - `l` values that the target does not have,
//! - the values of `k` other people,
//! - `m` people v for each of whom "if v has s, then the target has s" (a family, say).
//!
//! The largest probability of s, over all such knowledge, targets and protected values, must be
//! below c. One section of the policy is one point (ℓ, k, m) of the skyline with its c; several
//! sections make several points.
//!
//! With all knowledge about the target's class of n records, n_s of them with s: the k known people
//! have values other than s, n′ = n − k remain, X of them with the ℓ most frequent other values.
//! The probability is n_s / (n_s + R), R = (n′ − n_s − X) · Π_{j=1..m} (n′ − n_s − j)/(n′ − j).
//! People of other classes multiply R by the chance that none of them has s; how the k and m are
//! best spread over the classes is found by trying, cleverly, all ways. Exact.
//!
//! The promise is about the release as a whole. A class does its part if the bound stays below c
//! with any number of the m people in it and the others elsewhere, the k known people being counted
//! in every class. If all classes do, the release does. Merging classes never makes it worse.
//!
//! ## Protects against
//! Homogeneity, skew and the three kinds of background knowledge, of which only the amounts must be
//! guessed.
//!
//! ## Does not protect against
//! Identity disclosure (combine it with k-anonymity); similarity of values; knowledge of other
//! kinds or of more; several releases.
//!
//! ## Reference
//! Chen, LeFevre and Ramakrishnan, "Privacy skyline: privacy with multidimensional adversarial
//! knowledge", 2007.

use super::knowledge::{Part, Pieces, Share, disclosures};
use super::{Bound, Concern, Context, Measured, Model, Promise, Verdict};
use crate::catalogue::{Entry, Kind, Parameter};
use crate::class::{EquivalenceClass, Histogram, Run};
use crate::exact::{Fraction, Ratio};
use crate::failure::Failure;
use rayon::prelude::*;
use std::collections::BTreeMap;

pub(super) const ENTRY: Entry<Box<dyn Model>> = Entry {
    name: "privacy-skyline",
    summary: "no value is believed with probability c given ℓ ruled-out values, k known people and m likely alike",
    source: include_str!("privacy_skyline.rs"),
    parameters: &[
        Parameter {
            name: "l",
            kind: Kind::Count(0, 1000),
            default: None,
            about: "values known not to be the target's",
        },
        Parameter {
            name: "k",
            kind: Kind::Count(0, MOST),
            default: None,
            about: "other people whose values are known",
        },
        Parameter {
            name: "m",
            kind: Kind::Count(0, MOST),
            default: None,
            about: "people whose having it implies the target's",
        },
        Parameter {
            name: "c",
            kind: Kind::Number("0", Some("1")),
            default: None,
            about: "the probability that must not be reached",
        },
        Parameter {
            name: "values",
            kind: Kind::Values,
            default: Some("[]"),
            about: "the values to protect, all below a taxonomy node; all values if the list is empty",
        },
    ],
    build: |p| {
        let [ruled_out, known, implied] = ["l", "k", "m"].map(|name| p.count(name) as usize);
        let c = p.number("c");
        let pieces = Pieces { known, implied };
        Ok(Box::new(PrivacySkyline {
            ruled_out,
            pieces,
            c,
            values: p.list("values").to_vec(),
            part: Part::new(c, implied),
        }))
    },
};

/// Far more people than an adversary can be credited with. The work grows with the square of k
/// times m.
const MOST: u64 = 30;

struct PrivacySkyline {
    ruled_out: usize,
    pieces: Pieces,
    c: Ratio,
    values: Vec<String>,
    part: Part,
}

/// What the probability of a value depends on in a class.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    /// Records.
    n: u64,
    /// Those with the value.
    with: u64,
    /// Those with another value that cannot be ruled out.
    left: u64,
}

impl PrivacySkyline {
    /// Every protected value that occurs in the class.
    fn keys(&self, cx: &Context<'_>, class: &EquivalenceClass) -> Vec<(u32, Key)> {
        let runs: Vec<Run> = self.values.iter().filter_map(|label| cx.run_of(label)).collect();
        let mut keys = keys(&class.histograms[cx.attribute], self.ruled_out);
        keys.retain(|(code, _)| runs.is_empty() || runs.iter().any(|run| run.contains(*code)));
        keys
    }

    fn verdict(&self, disclosure: &Fraction) -> Verdict {
        Verdict { holds: self.part.allows(disclosure), measured: Measured::from(disclosure) }
    }
}

/// Every value of a class, when so many others can be ruled out.
fn keys(histogram: &Histogram, ruled_out: usize) -> Vec<(u32, Key)> {
    let mut falling = histogram.counts();
    falling.sort_unstable_by(|a, b| b.cmp(a));
    let n = histogram.total();
    let most: u64 = falling.iter().take(ruled_out).sum();
    let key = |&(code, with): &(u32, u64)| {
        // Of the most frequent values the next takes the place of this one.
        let among = falling.iter().take(ruled_out).any(|&c| c == with);
        let next = falling.get(ruled_out).copied().unwrap_or(0);
        let others = if among { most - with + next } else { most };
        (code, Key { n, with, left: n - with - others })
    };
    histogram.0.iter().map(key).collect()
}

/// The odds against the value if the target is in the class.
fn target(key: Key, pieces: Pieces) -> Fraction {
    let left = key.left.saturating_sub(pieces.known as u64);
    if left == 0 {
        return Fraction::whole(0);
    }
    Fraction::new(left, key.with).times(&none_has(key, pieces, 1))
}

fn share(key: Key, pieces: Pieces) -> Share {
    Share {
        target: pieces.up_to().map(|p| target(key, p)).collect(),
        other: pieces.up_to().map(|p| none_has(key, p, 0)).collect(),
    }
}

/// The largest probability with which anybody can be believed to have a value by an adversary who
/// knows `l` values that the person does not have, and up to `k` and `m` people of the other kinds:
/// for every k the probabilities by m. Nothing if there is no class.
pub fn disclosures_by_skyline<'a>(
    classes: impl IntoIterator<Item = &'a Histogram>,
    [l, k, m]: [usize; 3],
) -> Vec<Vec<Fraction>> {
    let found = disclosures_of(
        classes.into_iter().flat_map(|class| keys(class, l)),
        Pieces { known: k, implied: m },
    );
    found.chunks(m + 1).map(<[Fraction]>::to_vec).collect()
}

/// The largest disclosure of any value for every amount of knowledge.
fn disclosures_of(keys: impl Iterator<Item = (u32, Key)>, pieces: Pieces) -> Vec<Fraction> {
    // By value the classes that have it; of equal ones no more than m + 1 can be spoken of.
    let mut by_value: BTreeMap<u32, BTreeMap<Key, usize>> = BTreeMap::new();
    for (code, key) in keys {
        *by_value.entry(code).or_default().entry(key).or_default() += 1;
    }
    let of_value = |alike: BTreeMap<Key, usize>| {
        let copies = |(key, n): (Key, usize)| {
            std::iter::repeat_n(share(key, pieces), n.min(pieces.implied + 1))
        };
        disclosures(alike.into_iter().flat_map(copies), pieces)
    };
    let all: Vec<BTreeMap<Key, usize>> = by_value.into_values().collect();
    let found: Vec<Vec<Fraction>> = all.into_par_iter().map(of_value).collect();
    let larger =
        |a: Vec<Fraction>, b: Vec<Fraction>| a.into_iter().zip(b).map(|(a, b)| a.max(b)).collect();
    found.into_iter().reduce(larger).unwrap_or_default()
}

/// The chance that none of the implied people has the value, when the known have others and so have
/// `taken` people more.
fn none_has(key: Key, pieces: Pieces, taken: u64) -> Fraction {
    let known = (pieces.known as u64).min(key.n - key.with);
    let mut chance = Fraction::whole(1);
    for j in taken..taken + pieces.implied as u64 {
        let free = (key.n - known - key.with).saturating_sub(j);
        if free == 0 {
            return Fraction::whole(0);
        }
        chance = chance.times(&Fraction::new(free, key.n - known - j));
    }
    chance
}

impl Model for PrivacySkyline {
    fn judge(&self, cx: &Context<'_>, class: &EquivalenceClass) -> Verdict {
        let blame = |(_, key): (u32, Key)| {
            let pieces = (0..=self.pieces.implied).map(|implied| Pieces { implied, ..self.pieces });
            let targets: Vec<Fraction> = pieces.clone().map(|p| target(key, p)).collect();
            let others: Vec<Fraction> = pieces.map(|p| none_has(key, p, 0)).collect();
            self.part.disclosure(&targets, &others)
        };
        let worst = self.keys(cx, class).into_iter().map(blame).max();
        self.verdict(&worst.unwrap_or_else(|| Fraction::whole(0)))
    }

    fn promise(&self) -> Promise {
        Promise {
            wide: true,
            belief: true,
            ..Promise::new(self.c, Bound::Below, Concern::Sensitive)
        }
    }

    fn fits(&self, cx: &Context<'_>) -> Result<(), Failure> {
        cx.knows("privacy-skyline", &self.values)
    }

    fn judge_all(&self, cx: &Context<'_>, classes: &[EquivalenceClass]) -> Option<Verdict> {
        let keys: Vec<Vec<(u32, Key)>> =
            classes.par_iter().map(|class| self.keys(cx, class)).collect();
        let worst = disclosures_of(keys.into_iter().flatten(), self.pieces).pop();
        Some(self.verdict(&worst.unwrap_or_else(|| Fraction::whole(0))))
    }
}
