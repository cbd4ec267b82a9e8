//! # (c,k)-safety
//!
//! Nobody's sensitive value is believed with probability c or more, even by an adversary who knows
//! any k implications.
//!
//! ## Definition
//! An adversary knows who is in which class and that the values of a class are dealt to its people
//! at random. Besides, she knows k implications "if these people have these values then one of
//! those people has one of those values". The largest probability with which such an adversary can
//! believe that a person has a value must be below c. With k = 0 this is the share of the most
//! frequent value.
//!
//! The worst k implications all end in the same statement C about one person, with one statement Aᵢ
//! as condition each. Then the probability is 1/(1 + ρ), ρ = Pr(C and all Aᵢ false)/Pr(C). It is
//! least when people are said to have the most frequent values of their classes; how many
//! statements go to which class is found by trying, cleverly, all ways. Exact.
//!
//! The promise is about the release as a whole. A class does its part if, with any j of the k
//! implications about its own people and others elsewhere, the bound stays below c; if all classes
//! do, the release does. Merging classes never makes it worse.
//!
//! ## Protects against
//! Homogeneity, skew, and background knowledge of any form that k implications can express:
//! relations between people ("if she has the flu, so has he") as well as facts ("he does not have
//! it", two values of one person exclude another). What they say need not be known to the
//! publisher, only how many they are.
//!
//! ## Does not protect against
//! Identity disclosure (combine it with k-anonymity); similarity of values; more than k
//! implications; knowledge of frequencies and correlations, which implications do not express;
//! several releases.
//!
//! ## Reference
//! Martin, Kifer, Machanavajjhala, Gehrke and Halpern, "Worst-case background knowledge for
//! privacy-preserving data publishing", 2007.

use super::knowledge::{Part, Pieces, Share, disclosures};
use super::{Bound, Concern, Context, Measured, Model, Promise, Verdict};
use crate::catalogue::{Entry, Kind, Parameter};
use crate::class::EquivalenceClass;
use crate::exact::{Fraction, Ratio};
use rayon::prelude::*;
use std::collections::BTreeMap;

pub(super) const ENTRY: Entry<Box<dyn Model>> = Entry {
    name: "ck-safety",
    summary: "no value is believed with probability c by an adversary who knows k implications",
    source: include_str!("ck_safety.rs"),
    parameters: &[
        Parameter {
            name: "c",
            kind: Kind::Number("0", Some("1")),
            default: None,
            about: "the probability that must not be reached",
        },
        Parameter {
            name: "k",
            kind: Kind::Count(0, MOST),
            default: None,
            about: "how many implications are known",
        },
    ],
    build: |p| {
        let (c, k) = (p.number("c"), p.count("k") as usize);
        Ok(Box::new(CkSafety { c, k, part: Part::new(c, k) }))
    },
};

/// Far more implications than an adversary can be credited with. The work grows with the cube of k.
const MOST: u64 = 100;

struct CkSafety {
    c: Ratio,
    k: usize,
    part: Part,
}

impl CkSafety {
    /// Counts of a class, if it has values enough that k implications leave a doubt.
    fn counts(&self, cx: &Context<'_>, class: &EquivalenceClass) -> Option<Vec<u64>> {
        let counts = class.histograms[cx.attribute].counts();
        (counts.len() > self.k + 1).then_some(counts)
    }

    fn verdict(&self, disclosure: &Fraction) -> Verdict {
        Verdict { holds: self.part.allows(disclosure), measured: Measured::from(disclosure) }
    }
}

/// The factors of a class of these counts, which fall, for up to k implications.
fn share(counts: &[u64], k: usize) -> Share {
    let least = least_all_false(counts, k + 1);
    let odds = Fraction::new(counts.iter().sum::<u64>(), counts[0]);
    Share {
        target: least[1..].iter().map(|f| f.times(&odds)).collect(),
        other: least[..=k].to_vec(),
    }
}

/// The largest probability with which anybody can be believed to have a value by an adversary who
/// knows 0, 1, … k implications. `classes` are the counts of each class, which has some; nothing if
/// there is no class.
pub fn disclosures_by_implications(
    classes: impl IntoIterator<Item = Vec<u64>>,
    k: usize,
) -> Vec<Fraction> {
    // Of equal classes no more than k + 1 can be spoken of.
    let mut alike: BTreeMap<Vec<u64>, usize> = BTreeMap::new();
    for mut counts in classes {
        counts.sort_unstable_by(|a, b| b.cmp(a));
        *alike.entry(counts).or_default() += 1;
    }
    let alike: Vec<(Vec<u64>, usize)> = alike.into_iter().collect();
    let shares: Vec<Share> = alike.par_iter().map(|(counts, _)| share(counts, k)).collect();
    let copies =
        |(share, (_, n)): (Share, &(Vec<u64>, usize))| std::iter::repeat_n(share, (*n).min(k + 1));
    disclosures(shares.into_iter().zip(&alike).flat_map(copies), Pieces { known: 0, implied: k })
}

impl Model for CkSafety {
    fn judge(&self, cx: &Context<'_>, class: &EquivalenceClass) -> Verdict {
        let Some(mut counts) = self.counts(cx, class) else {
            return self.verdict(&Fraction::whole(1));
        };
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let share = share(&counts, self.k);
        self.verdict(&self.part.disclosure(&share.target, &share.other))
    }

    fn promise(&self) -> Promise {
        Promise {
            wide: true,
            belief: true,
            ..Promise::new(self.c, Bound::Below, Concern::Sensitive)
        }
    }

    fn judge_all(&self, cx: &Context<'_>, classes: &[EquivalenceClass]) -> Option<Verdict> {
        let counts: Option<Vec<Vec<u64>>> =
            classes.par_iter().map(|class| self.counts(cx, class)).collect();
        let Some(counts) = counts else { return Some(self.verdict(&Fraction::whole(1))) };
        let worst = disclosures_by_implications(counts, self.k).pop();
        Some(self.verdict(&worst.unwrap_or_else(|| Fraction::whole(0))))
    }
}

/// The least probability that m statements "this person has this value" about people of a class are
/// all false, for every m up to `most` (MINIMIZE1 of the paper). `counts` in falling order.
///
/// The statements about one person name the most frequent values. With k₀ ≥ k₁ ≥ … statements about
/// the people, the probability is the product of (n − i − the records of the kᵢ most frequent
/// values)/(n − i).
fn least_all_false(counts: &[u64], most: usize) -> Vec<Fraction> {
    let n: u64 = counts.iter().sum();
    let mut frequent = vec![0];
    counts.iter().for_each(|c| frequent.push(frequent[frequent.len() - 1] + c));
    let less = |best: &mut Option<Fraction>, found: &Fraction| {
        if best.as_ref().is_none_or(|b| found < b) {
            *best = Some(found.clone());
        }
    };
    let mut best: Vec<Option<Fraction>> = vec![None; most + 1];
    // at[j][m]: the least with m statements about the people so far, of which the last has j.
    let mut at = vec![vec![None; most + 1]; most + 1];
    at[most][0] = Some(Fraction::whole(1));
    best[0] = Some(Fraction::whole(1));
    for person in 0..n.min(most as u64) {
        let mut next = vec![vec![None; most + 1]; most + 1];
        let mut before: Vec<Option<Fraction>> = vec![None; most + 1]; // the least of at[j..]
        for j in (1..=most).rev() {
            at[j]
                .iter()
                .zip(&mut before)
                .for_each(|(found, b)| found.iter().for_each(|f| less(b, f)));
            let left = (n - person).saturating_sub(frequent[j.min(counts.len())]);
            let factor = Fraction::new(left, n - person);
            for m in 0..=most - j {
                if let Some(product) = &before[m] {
                    let found = product.times(&factor);
                    less(&mut best[m + j], &found);
                    next[j][m + j] = Some(found);
                }
            }
        }
        at = next;
    }
    best.into_iter().map(|b| b.unwrap_or_else(|| Fraction::whole(0))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::knowledge::disclosure;
    use super::*;

    /// Martin et al., the first bucket of their example.
    #[test]
    fn statements_about_one_class() {
        let least = least_all_false(&[2, 2, 1], 3);
        let expected = [(1u64, 1u64), (3, 5), (1, 5), (0, 1)].map(|(a, b)| Fraction::new(a, b));
        assert_eq!(least, expected);
    }

    /// The implication of the paper: its condition is about one bucket, its consequent about the
    /// other.
    #[test]
    fn an_implication_between_classes() {
        let (charlie, hannah) = (share(&[2, 2, 1], 1), share(&[2, 1, 1, 1], 1));
        assert_eq!(
            disclosure(&charlie.target[0].times(&hannah.other[1])),
            Fraction::new(10u64, 19u64)
        );
    }
}
