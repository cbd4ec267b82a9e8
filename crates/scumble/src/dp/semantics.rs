//! What a price means to a person: beliefs of an adversary with and without their record.
//!
//! # Definition
//!
//! An adversary believes something about the data before (a prior over all data sets), sees a
//! transcript t, and believes something after. In Game 0 the transcript comes from the data; in
//! Game i from the data with person i's record replaced by a default. A mechanism is *semantically
//! private* if no posterior of Game i is far from that of Game 0: whatever is learned about a
//! person would have been learned without them. Distance is statistical difference (total
//! variation).
//!
//! # Bounds
//!
//! | price | distance of the posteriors | says nothing once |
//! | --- | --- | --- |
//! | ε | at most e^ε − 1 (Proposition 15) | ε ≥ ln 2 |
//! | ε | at most tanh(ε/2): the odds form | never |
//! | (ε, δ) | at most e^3ε − 1 + 2√δ, but with probability δ′ (Theorem 16) | ε ≥ (ln 2)/3 |
//!
//! # What is believed after many answers
//!
//! [`rise`] bounds how far a belief of one half may rise by everything that was answered for a list
//! of prices. Somebody compares two values of a person, all else fixed; the data sets differ by one
//! record removed and one added, so ε counts twice and ρ four times. Of three bounds on the
//! logarithm L of the odds the smallest counts:
//!
//! | prices | L is at most | but with probability |
//! | --- | --- | --- |
//! | without Gaussian noise | 2 Σ ε | 0 |
//! | any | min over α of 4αρ + ln(J/η)/(α − 1), ρ the sum of all | η |
//! | any | the first for prices without Gaussian noise, plus the second for the others | η |
//!
//! Converting ρ to an ε at a δ and using the first line would be wrong: beyond that ε there is no
//! bound, and with a large δ it is often exceeded. In the second line α is one of J orders that are
//! fixed beforehand, each with η/J, so that the bound holds also for prices that were chosen after
//! seeing earlier answers (Ville's inequality for the supermartingale e^((α−1)L − 4α(α−1)ρ)).
//! Prices with a δ of their own, such as keys that are not public, promise nothing with a
//! probability of δ: s = Σ (1 + e^ε)δ for two neighbours. An adversary who saw whether that
//! happened would keep the bound when it did not; she does not see it, so her belief rises by at
//! most √s more but with probability 3√s (Markov).
//!
//! # Odds
//!
//! The odds form: between the games every posterior odds changes by at most the factor e^2ε,
//! because likelihoods change by at most e^±ε; and odds that change by at most r move a probability
//! by at most (√r − 1)/(√r + 1). Seen from one person whose value is a or b, all else fixed:
//! posterior odds are at most e^ε times prior odds where neighbours replace a record, e^2ε times
//! where they add or remove one. The paper gives only the order of δ′, n√δ; by a union bound over
//! its Lemma 19 it is at most n(√δ + 2δ/(ε e^ε)), and that is what is computed here. Theorem 18
//! says the same of a mechanism that is private for most data sets, if the prior gives the others
//! at most δ.
//!
//! # Does not protect against
//!
//! What is learned about a person from everybody else: that smoking causes cancer is learned with
//! or without a smoker's record. And a definition by total variation alone promises nothing:
//! *publish one random record with its name* changes by only 1/n when one of n records does.
//!
//! # Reference
//!
//! Ganta, Kasiviswanathan, Smith, *Composition attacks and auxiliary information in data privacy*,
//! KDD 2008; Kasiviswanathan, Smith, *On the semantics of differential privacy*, Journal of Privacy
//! and Confidentiality 2014; Bun, Steinke, *Concentrated differential privacy*, 2016; Whitehouse,
//! Ramdas, Rogers, Wu, *Fully adaptive composition*, 2023.

use super::accountant::Spend;
use crate::exact::Fraction;

/// A bound on a distance between 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distance {
    /// The bound.
    pub at_most: f64,
    /// Whether it says nothing, because every distance is at most 1.
    pub empty: bool,
}

fn distance(at_most: f64) -> Distance {
    Distance { at_most, empty: at_most >= 1.0 }
}

/// Proposition 15: what ε-differential privacy means for posteriors.
pub fn proposition_15(epsilon: f64) -> Distance {
    distance(epsilon.exp_m1())
}

/// The bound by odds, which is never empty.
pub fn by_odds(epsilon: f64) -> Distance {
    distance((epsilon / 2.0).tanh())
}

/// Theorem 16 (and 18): what (ε, δ)-differential privacy means, and the probability with which it
/// may not hold among n persons.
pub fn theorem_16(epsilon: f64, delta: f64, n: u64) -> (Distance, Distance) {
    let failing = n as f64 * lemma_19(epsilon, delta).2;
    (distance((3.0 * epsilon).exp_m1() + 2.0 * delta.sqrt()), distance(failing))
}

/// Lemma 19: ε̂, δ̂ and δ″ of posteriors when the joint distributions are (ε, δ)-indistinguishable.
pub fn lemma_19(epsilon: f64, delta: f64) -> (f64, f64, f64) {
    let rest = if delta == 0.0 { 0.0 } else { 2.0 * delta / (epsilon * epsilon.exp()) };
    (3.0 * epsilon, 2.0 * delta.sqrt(), delta.sqrt() + rest)
}

/// The largest probability after seeing an answer, if it was `prior` before: the odds grow by at
/// most e^ε (twice ε where neighbours add or remove a record).
pub fn posterior_at_most(prior: f64, epsilon: f64, add_or_remove: bool) -> f64 {
    let factor = (if add_or_remove { 2.0 * epsilon } else { epsilon }).exp();
    if factor.is_infinite() {
        return if prior > 0.0 { 1.0 } else { 0.0 };
    }
    prior * factor / (prior * factor + 1.0 - prior)
}

/// How far a belief of one half may rise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rise {
    /// The largest probability afterwards.
    pub at_most: f64,
    /// The probability with which it may rise further.
    pub failing: f64,
    /// Which bound it is: `basic`, `zcdp`, or `basic and zcdp`.
    pub by: &'static str,
}

/// How far a belief of one half in something about a person may rise by everything that was
/// answered for these prices, in any order and however they were chosen. Bounds that hold only with
/// a probability may fail with `failing`.
pub fn rise(spends: &[Spend], failing: f64) -> Rise {
    let gaussian = |s: &&Spend| matches!(s, Spend::Gaussian { .. });
    let sum = |of: fn(&Spend) -> Fraction, some: &[&Spend]| {
        some.iter().fold(Fraction::whole(0), |sum, s| sum.plus(&of(s))).to_f64()
    };
    let (noisy, others): (Vec<&Spend>, Vec<&Spend>) = spends.iter().partition(gaussian);
    let basic = 2.0 * sum(Spend::epsilon, &others);
    let all = zcdp_odds(sum(Spend::rho, &spends.iter().collect::<Vec<_>>()), failing / 2.0);
    let (odds, failing, by) = if noisy.is_empty() {
        if basic <= all { (basic, 0.0, "basic") } else { (all, failing, "zcdp") }
    } else {
        let mixed = basic + zcdp_odds(sum(Spend::rho, &noisy), failing / 2.0);
        if mixed < all { (mixed, failing, "basic and zcdp") } else { (all, failing, "zcdp") }
    };
    let slack = spends
        .iter()
        .map(|s| (1.0 + s.epsilon().to_f64().exp()) * s.slack().to_f64())
        .sum::<f64>()
        .sqrt();
    // The sums above are wrong by less than one part in 10¹².
    let belief = 1.0 / (1.0 + (-odds * (1.0 + 1e-11)).exp()) + slack;
    Rise { at_most: belief.min(1.0), failing: (failing + 3.0 * slack).min(1.0), by }
}

/// The logarithm of the odds that ρ allows where a record is replaced, but with probability η: the
/// best of orders that are fixed beforehand.
fn zcdp_odds(rho: f64, failing: f64) -> f64 {
    const ORDERS: std::ops::RangeInclusive<i32> = -4..=24;
    if rho == 0.0 {
        return 0.0;
    }
    let log = (ORDERS.count() as f64 / failing).ln();
    let at = |exponent: i32| {
        let less_one = 2f64.powi(exponent);
        (1.0 + less_one) * 4.0 * rho + log / less_one
    };
    ORDERS.map(at).fold(f64::INFINITY, f64::min)
}

/// Statistical difference of two distributions over the same outcomes.
pub fn statistical_difference(p: &[Fraction], q: &[Fraction]) -> Fraction {
    let apart = p.iter().zip(q).fold(Fraction::whole(0), |sum, (p, q)| sum.plus(&p.apart(q)));
    apart.over(&Fraction::whole(2))
}

/// The smallest δ with which two distributions are (ε, δ)-indistinguishable, where `factor` is e^ε:
/// what one puts above `factor` times the other, in the worse direction.
pub fn smallest_delta(p: &[Fraction], q: &[Fraction], factor: &Fraction) -> Fraction {
    let above = |p: &[Fraction], q: &[Fraction]| {
        p.iter().zip(q).fold(Fraction::whole(0), |sum, (p, q)| sum.plus(&p.less(&q.times(factor))))
    };
    above(p, q).max(above(q, p))
}

/// The smallest e^ε with which two distributions are indistinguishable without any δ; nothing if
/// there is none.
pub fn largest_ratio(p: &[Fraction], q: &[Fraction]) -> Option<Fraction> {
    let mut most = Fraction::whole(1);
    for (p, q) in p.iter().zip(q) {
        match (p.is_zero(), q.is_zero()) {
            (true, true) => {}
            (false, false) => most = most.max(p.over(q)).max(q.over(p)),
            _ => return None,
        }
    }
    Some(most)
}

/// A mechanism on finitely many data sets with finitely many transcripts.
///
/// Data sets are n records with values below `values`, numbered with the first record as the lowest
/// digit.
pub struct Finite {
    /// Number of persons.
    pub persons: usize,
    /// Number of values of a record.
    pub values: usize,
    /// For each data set the probability of each transcript.
    pub chances: Vec<Vec<Fraction>>,
}

impl Finite {
    /// Makes the table of a mechanism from its transcript probabilities for each data set.
    pub fn new(
        persons: usize,
        values: usize,
        chances: impl Fn(&[usize]) -> Vec<Fraction>,
    ) -> Finite {
        let count = values.pow(persons as u32);
        let records = |set: usize| {
            (0..persons).map(|i| set / values.pow(i as u32) % values).collect::<Vec<_>>()
        };
        Finite { persons, values, chances: (0..count).map(|set| chances(&records(set))).collect() }
    }

    /// The data set with person i's record replaced.
    fn replaced(&self, set: usize, person: usize, value: usize) -> usize {
        let place = self.values.pow(person as u32);
        set - set / place % self.values * place + value * place
    }

    /// The n + 1 posteriors after a transcript: of Game 0, and of Game i for each person, with
    /// records replaced by `default`. Nothing where the transcript is impossible under the prior.
    pub fn posteriors(
        &self,
        prior: &[Fraction],
        transcript: usize,
        default: usize,
    ) -> Vec<Option<Vec<Fraction>>> {
        let game = |person: Option<usize>| {
            let seen = |set: usize| person.map_or(set, |i| self.replaced(set, i, default));
            let joint = |set: usize| prior[set].times(&self.chances[seen(set)][transcript]);
            let joint: Vec<Fraction> = (0..self.chances.len()).map(joint).collect();
            let sum = joint.iter().fold(Fraction::whole(0), |a, b| a.plus(b));
            (!sum.is_zero()).then(|| joint.iter().map(|x| x.over(&sum)).collect())
        };
        std::iter::once(None).chain((0..self.persons).map(Some)).map(game).collect()
    }

    /// Pairs of data sets that differ in one record.
    pub fn neighbours(&self) -> Vec<(usize, usize)> {
        let sets = 0..self.chances.len();
        let other = |set: usize| {
            let pairs = (0..self.persons).flat_map(move |i| (0..self.values).map(move |v| (i, v)));
            pairs.map(move |(i, v)| (set, self.replaced(set, i, v))).filter(|(a, b)| a < b)
        };
        sets.flat_map(other).collect()
    }

    /// e^ε of the mechanism for neighbours that replace a record; nothing if no ε holds.
    pub fn factor(&self) -> Option<Fraction> {
        let ratios = self
            .neighbours()
            .into_iter()
            .map(|(a, b)| largest_ratio(&self.chances[a], &self.chances[b]));
        ratios
            .collect::<Option<Vec<_>>>()
            .map(|all| all.into_iter().max().unwrap_or_else(|| Fraction::whole(1)))
    }
}

/// The sanitizer that a definition by total variation would allow: one of the records, at random,
/// with its owner's number. Its transcripts are the pairs of person and value.
pub fn random_record(persons: usize, values: usize) -> Finite {
    Finite::new(persons, values, |records| {
        let shown = |person: usize, value: usize| {
            if records[person] == value {
                Fraction::new(1u8, persons as u64)
            } else {
                Fraction::whole(0)
            }
        };
        (0..persons)
            .flat_map(|p| (0..values).map(move |v| (p, v)))
            .map(|(p, v)| shown(p, v))
            .collect()
    })
}
