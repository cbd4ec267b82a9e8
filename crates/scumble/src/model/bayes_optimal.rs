//! # Bayes-optimal privacy
//!
//! Seeing the release changes no belief about anybody's sensitive value by more than θ.
//!
//! ## Definition
//! An adversary knows a joint distribution f of quasi-identifiers and sensitive value: the
//! `reference`, a table of people with both (a column `people` weighs its rows). Of a person with
//! quasi-identifiers q she believes s beforehand with probability α = f(s|q). Who is in a class
//! that fits q, with n_s records of value s, is believed to have s afterwards with probability β:
//!
//! - `reading = "tuple"`: she knows nothing of the other people of the class, and takes them for
//!   draws from f. Then β is proportional to n_s · f(s|q)/f(s|q*), q* being everybody who fits the
//!   class (the paper's Eq. 2).
//! - `reading = "members"`: she knows the quasi-identifiers of everybody in the class, n ·
//!   f(q)/f(q*) people of each q (or of all q with the same f(·|q) together), and weighs every way
//!   to deal the n values to them by its probability (possible worlds). Exact; the work grows fast
//!   with the size of a class.
//!
//! The measured value is the largest |α − β| over all q with f(q) > 0 that fit a class and all s;
//! it must not be above θ (equality is allowed). It is infinite, and so always broken, where the
//! reference contradicts the class (nobody who fits has a value that it shows), where the members
//! are not whole numbers of people, or where there are too many worlds.
//!
//! The worst s with its α and β is a witness for the publisher: `publish` and `check --policy` show
//! it, and the person's q with `--show-values`. It is not written into the manifest.
//!
//! Merging classes may break the promise. A distribution taken from the released data themselves
//! would be no test: then n_s is proportional to f(s|q*), and α = β in every class. So the
//! reference must be named, and stand for what an adversary knows. Values that the reference has
//! and the release lacks are values like the others: the release rules them out.
//!
//! ## Protects against
//! Every gain of knowledge by an adversary who believes f: positive (s becomes likely) and negative
//! (s is ruled out).
//!
//! ## Does not protect against
//! Adversaries who believe something else: the publisher cannot know f of them all, which is why
//! ℓ-diversity was proposed in its place. Identity disclosure; several releases.
//!
//! ## Reference
//! Machanavajjhala, Gehrke, Kifer and Venkitasubramaniam, "ℓ-diversity: privacy beyond
//! k-anonymity", 2006, section 3.

use super::{Bound, Concern, Context, Measured, Model, Promise, Verdict, Witness};
use crate::catalogue::{Entry, Kind, Parameter};
use crate::class::{EquivalenceClass, Histogram, Run};
use crate::exact::{Fraction, Ratio, gcd};
use crate::failure::Failure;
use crate::register::Population;
use crate::release::Shape;
use crate::taxonomy::Taxonomy;
use dashu_int::UBig;
use hashbrown::HashMap;
use std::collections::BTreeMap;

pub(super) const ENTRY: Entry<Box<dyn Model>> = Entry {
    name: "bayes-optimal",
    summary: "no belief about a person's sensitive value changes by more than θ",
    source: include_str!("bayes_optimal.rs"),
    parameters: &[
        Parameter {
            name: "theta",
            kind: Kind::Number("0", Some("1")),
            default: None,
            about: "the largest change of a belief that is allowed",
        },
        Parameter {
            name: "reading",
            kind: Kind::Choice(&["tuple", "members"]),
            default: Some("tuple"),
            about: "whether the adversary knows the person alone, or everybody in the class",
        },
        Parameter {
            name: "reference",
            kind: Kind::Register,
            default: None,
            about: "a table of people with quasi-identifiers and the sensitive attribute; what the adversary believes",
        },
    ],
    build: |p| {
        let reading =
            if p.word("reading") == "members" { Reading::Members } else { Reading::Tuple };
        Ok(Box::new(BayesOptimal { theta: p.number("theta"), reading }))
    },
};

/// What an adversary knows of a class besides the distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// The target alone.
    Tuple,
    /// Who is in it.
    Members,
}

struct BayesOptimal {
    theta: Ratio,
    reading: Reading,
}

impl Model for BayesOptimal {
    fn judge(&self, cx: &Context<'_>, class: &EquivalenceClass) -> Verdict {
        match self.witness(cx, class).map(|w| w.belief.change()) {
            Some(change) => {
                Verdict { holds: change <= self.theta.into(), measured: Measured::from(&change) }
            }
            None => Verdict { holds: false, measured: Measured::Infinite },
        }
    }

    fn witness(&self, cx: &Context<'_>, class: &EquivalenceClass) -> Option<Witness> {
        let population = cx.population?;
        let people = people(population, &class.region);
        let (places, belief) =
            Beliefs::new(&people, &class.histograms[cx.attribute], self.reading)?.most_changed()?;
        let person = population.known().iter().copied().zip(places.iter().copied()).collect();
        Some(Witness { person, belief })
    }

    fn promise(&self) -> Promise {
        Promise {
            monotone: false,
            region: true,
            ..Promise::new(self.theta, Bound::AtMost, Concern::Sensitive)
        }
    }

    fn fits(&self, cx: &Context<'_>) -> Result<(), Failure> {
        cx.has_register("bayes-optimal")?;
        if !cx.population.is_some_and(Population::tells_sensitive) {
            let name = &cx.sensitive[cx.attribute].name;
            return Err(Failure::data(
                "reference-lacks-column",
                format!("the reference of `bayes-optimal` does not tell `{name}`"),
            )
            .hint("it needs the sensitive attribute as a column, beside quasi-identifiers"));
        }
        if cx.shape != Shape::Regions {
            return Err(Failure::policy(
                "models-and-algorithm",
                "`bayes-optimal` needs classes whose records fit what the class shows",
            )
            .hint("use an algorithm that generalizes"));
        }
        Ok(())
    }
}

/// What is believed of a person about a value, before the release and after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Belief {
    /// Code of the sensitive value; past the leaves of the attribute if the release does not have
    /// it.
    pub value: u32,
    /// Without the release.
    pub prior: Fraction,
    /// With it.
    pub posterior: Fraction,
}

impl Belief {
    /// What the value is called; a value of the reference that the release does not have is not
    /// named.
    pub fn name<'a>(&self, taxonomy: &'a Taxonomy) -> &'a str {
        let known = (self.value as usize) < taxonomy.leaves();
        if known { taxonomy.leaf(self.value) } else { "(a value that the release does not show)" }
    }

    /// By how much it changes.
    pub fn change(&self) -> Fraction {
        self.prior.apart(&self.posterior)
    }
}

/// What a reference tells about a person of a class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// What is believed of every value that the reference gives the person.
    Beliefs(Vec<Belief>),
    /// The reference has no such person among those who fit the class.
    Nobody,
    /// It cannot judge: it contradicts the class, or, if the members are known, they are not whole
    /// numbers of people or there are too many worlds.
    Nothing,
}

/// What is believed of people of a class. They stand at these places on the quasi-identifiers that
/// the reference knows (twice the leaf code).
pub fn beliefs(
    population: &Population,
    class: &EquivalenceClass,
    attribute: usize,
    reading: Reading,
    of: &[Vec<u32>],
) -> Vec<Told> {
    let people = people(population, &class.region);
    let Some(beliefs) = Beliefs::new(&people, &class.histograms[attribute], reading) else {
        return vec![Told::Nothing; of.len()];
    };
    // People with equal shares are alike.
    let mut known: HashMap<&[(u32, u64)], Told> = HashMap::new();
    let told = |places: &Vec<u32>| {
        let Some(person) = people.get(places.as_slice()) else { return Told::Nobody };
        let told = || beliefs.of(&person.shares).map_or(Told::Nothing, Told::Beliefs);
        known.entry(&person.shares).or_insert_with(told).clone()
    };
    of.iter().map(told).collect()
}

/// Values with their frequencies, in lowest terms; rising codes.
type Shares = [(u32, u64)];

/// People with the same quasi-identifiers: how often each value occurs among them.
struct Person {
    shares: Vec<(u32, u64)>,
    /// How many times these.
    times: u64,
}

/// Everybody who fits a region, by place.
type People = HashMap<Box<[u32]>, Person>;

fn people(population: &Population, region: &[Run]) -> People {
    let mut counts: HashMap<Box<[u32]>, Vec<(u32, u64)>> = HashMap::new();
    population.visit(region, |places, value, people| {
        if !counts.contains_key(places) {
            counts.insert(places.into(), Vec::new());
        }
        counts.get_mut(places).into_iter().for_each(|counts| counts.push((value, people)));
    });
    let person = |counts: Vec<(u32, u64)>| {
        let mut shares = Histogram::of(counts).0;
        let times = shares.iter().fold(0, |g, &(_, n)| gcd(g, n.into())) as u64;
        shares.iter_mut().for_each(|(_, n)| *n /= times.max(1));
        (times > 0).then_some(Person { shares, times })
    };
    counts.into_iter().filter_map(|(places, counts)| Some((places, person(counts)?))).collect()
}

/// A class as the adversary sees it. People with equal shares are alike to her.
struct Beliefs<'a> {
    alike: BTreeMap<&'a Shares, Alike<'a>>,
    class: &'a Histogram,
    how: How,
}

/// People with the same shares.
struct Alike<'a> {
    /// How many times these.
    times: u64,
    /// The places of the first of them.
    first: &'a [u32],
}

enum How {
    /// n_s / f(s, q*) for every value of the class.
    Tuple(BTreeMap<u32, Fraction>),
    /// How many members of the class have these shares.
    Members(BTreeMap<Vec<(u32, u64)>, u64>),
}

/// Possible worlds are counted in at most so many steps.
const WORK: u64 = 4_000_000;

impl<'a> Beliefs<'a> {
    /// Nothing if the reference cannot judge such a class.
    fn new(people: &'a People, class: &'a Histogram, reading: Reading) -> Option<Beliefs<'a>> {
        let mut alike: BTreeMap<&Shares, Alike<'_>> = BTreeMap::new();
        for (places, person) in people {
            let all = alike.entry(&person.shares).or_insert(Alike { times: 0, first: places });
            all.times += person.times;
            all.first = all.first.min(places);
        }
        let how = match reading {
            Reading::Tuple => How::Tuple(Beliefs::weights(&alike, class)?),
            Reading::Members => How::Members(Beliefs::members(&alike, class)?),
        };
        Some(Beliefs { alike, class, how })
    }

    fn weights(
        alike: &BTreeMap<&Shares, Alike<'_>>,
        class: &Histogram,
    ) -> Option<BTreeMap<u32, Fraction>> {
        let mut total: BTreeMap<u32, u64> = BTreeMap::new();
        for (shares, all) in alike {
            shares.iter().for_each(|&(value, n)| *total.entry(value).or_default() += n * all.times);
        }
        class
            .0
            .iter()
            .map(|&(value, n)| Some((value, Fraction::new(n, *total.get(&value)?))))
            .collect()
    }

    fn members(
        alike: &BTreeMap<&Shares, Alike<'_>>,
        class: &Histogram,
    ) -> Option<BTreeMap<Vec<(u32, u64)>, u64>> {
        let people = |shares: &Shares, alike: &Alike<'_>| {
            alike.times * shares.iter().map(|(_, n)| n).sum::<u64>()
        };
        let all: u64 = alike.iter().map(|(shares, alike)| people(shares, alike)).sum();
        let n = class.total();
        let share = |(shares, alike): (&&Shares, &Alike<'_>)| {
            let product = u128::from(n) * u128::from(people(shares, alike));
            let whole = product.is_multiple_of(all.into());
            whole.then(|| (shares.to_vec(), (product / u128::from(all)) as u64))
        };
        let members: BTreeMap<Vec<(u32, u64)>, u64> =
            alike.iter().map(share).collect::<Option<_>>()?;
        let mut factors = class.0.iter().map(|&(_, n)| n + 1).chain([
            n,
            members.len() as u64,
            class.0.len() as u64,
        ]);
        factors
            .try_fold(1u64, |work, factor| work.checked_mul(factor))
            .filter(|&work| work <= WORK)?;
        Some(members)
    }

    /// What is believed of a person with these shares.
    fn of(&self, shares: &Shares) -> Option<Vec<Belief>> {
        let all: u64 = shares.iter().map(|(_, n)| n).sum();
        let likely: Vec<Fraction> = match &self.how {
            How::Tuple(weights) => {
                let none = Fraction::whole(0);
                let weight = |value: &u32| weights.get(value).unwrap_or(&none);
                shares.iter().map(|(value, n)| weight(value).times(&Fraction::whole(*n))).collect()
            }
            How::Members(members) => {
                self.worlds(members, shares).into_iter().map(|n| Fraction::new(n, 1u64)).collect()
            }
        };
        let sum = likely.iter().fold(Fraction::whole(0), |sum, x| sum.plus(x));
        let belief = |(&(value, n), likely): (&(u32, u64), &Fraction)| Belief {
            value,
            prior: Fraction::new(n, all),
            posterior: likely.over(&sum),
        };
        (!sum.is_zero()).then(|| shares.iter().zip(&likely).map(belief).collect())
    }

    /// For every value of a person with these shares: the weight of the worlds in which the person
    /// has it.
    fn worlds(&self, members: &BTreeMap<Vec<(u32, u64)>, u64>, shares: &Shares) -> Vec<UBig> {
        let values = &self.class.0;
        // A state says how many of each value were dealt; its number is in mixed radix.
        let mut steps = vec![1usize];
        values.iter().for_each(|&(_, n)| steps.push(steps[steps.len() - 1] * (n as usize + 1)));
        let states = steps.pop().unwrap_or(1);
        let place = |value: u32| values.binary_search_by_key(&value, |&(v, _)| v).ok();
        let mut weight = vec![UBig::ZERO; states];
        weight[0] = UBig::ONE;
        for (member, &count) in members {
            let others = count - u64::from(member == shares);
            for _ in 0..others {
                let mut next = vec![UBig::ZERO; states];
                for &(value, n) in member {
                    let Some(i) = place(value) else { continue };
                    for state in (0..states).filter(|s| !weight[*s].is_zero()) {
                        if state / steps[i] % (values[i].1 as usize + 1) < values[i].1 as usize {
                            next[state + steps[i]] += &weight[state] * n;
                        }
                    }
                }
                weight = next;
            }
        }
        // The person takes what is left: all but one of the value were dealt to the others.
        let taken = |&(value, n): &(u32, u64)| {
            place(value).map_or(UBig::ZERO, |i| &weight[states - 1 - steps[i]] * n)
        };
        shares.iter().map(taken).collect()
    }

    /// The belief that changes most, with the places of the person it is about; of several the
    /// first person, and the first value. Floating point finds out where it may be; there it is
    /// computed exactly.
    fn most_changed(&self) -> Option<(&'a [u32], Belief)> {
        let mut near: Vec<(f64, &Shares, &'a [u32])> = Vec::new();
        for (shares, alike) in &self.alike {
            near.push((self.roughly(shares)?, shares, alike.first));
        }
        let largest = near.iter().map(|(change, ..)| *change).fold(0.0, f64::max);
        near.retain(|(change, ..)| *change >= largest - 1e-9);
        // The last of equal ones is the largest to `max_by`, and the values of a person rise.
        near.sort_unstable_by(|(.., a), (.., b)| b.cmp(a));
        let beliefs = |(_, shares, first)| {
            let of_person = self.of(shares).unwrap_or_default();
            of_person.into_iter().rev().map(move |belief| (belief.change(), first, belief))
        };
        let most = near.into_iter().flat_map(beliefs).max_by(|(a, ..), (b, ..)| a.cmp(b));
        most.map(|(_, first, belief)| (first, belief))
    }

    /// The largest change for a person with these shares, to far more than nine digits.
    fn roughly(&self, shares: &Shares) -> Option<f64> {
        let How::Tuple(weights) = &self.how else {
            let changes = self.of(shares)?.into_iter().map(|b| b.change().to_f64());
            return Some(changes.fold(0.0, f64::max));
        };
        let all: u64 = shares.iter().map(|(_, n)| n).sum();
        let likely =
            |&(value, n): &(u32, u64)| weights.get(&value).map_or(0.0, Fraction::to_f64) * n as f64;
        let sum: f64 = shares.iter().map(likely).sum();
        let change = |s: &(u32, u64)| (s.1 as f64 / all as f64 - likely(s) / sum).abs();
        (sum > 0.0).then(|| shares.iter().map(change).fold(0.0, f64::max))
    }
}
