//! Exact bounds on how many people have certain outcomes, with multipliers that prove them.
//!
//! Everybody has one outcome, every chosen fact counts some of them, and nobody less than nothing:
//! the most that any belief can give is a linear program. Its dual is what is solved here, because
//! a solution of the dual is the proof: so many times each fact and each person, added up, leaves
//! no more than the bound.

use super::Evidence;
use super::effort::Effort;
use super::simplex::{Condition, End, LinearProgram, Rational};
use crate::exact::Fraction;
use dashu_int::ops::Gcd;
use dashu_int::{IBig, UBig};
use hashbrown::HashMap;

/// Price of one more person in the bound, in multiples of a fact: a thrifty dual minimizes both.
const THRIFT: u32 = 4096;

/// Evidence, and which outcomes each fact counts.
#[derive(Debug)]
pub struct Program<'a> {
    evidence: &'a Evidence,
    kind_of: Vec<u32>,
    /// Outcomes of all facts, one fact after another, and where each fact's begin.
    counted: Vec<u32>,
    starts: Vec<u32>,
}

/// People of some kinds who are alike for a few facts, and what can be true of one of them.
#[derive(Clone, Debug)]
pub struct Party {
    /// How many.
    pub people: u64,
    /// Their kinds.
    pub kinds: Vec<u32>,
    /// What can be true of one: the places, in the list of facts, of those that count it, and
    /// whether it is asked for.
    pub columns: Vec<(Vec<u32>, bool)>,
}

/// The proof of a bound: whole multiples of what is counted and of "everybody has one outcome".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// Whether it bounds from above: of every outcome, the multiples of the facts that count it and
    /// of its kind add up to at least `times` if it is asked for, and to at least 0 if not. From
    /// below: at most.
    pub upper: bool,
    /// The number of people who have an outcome that is asked for is bounded so many times; 0 if
    /// the facts contradict each other: then nothing would be less than nothing.
    pub times: IBig,
    /// Facts and their multiples, rising, no zeros.
    pub facts: Vec<(u32, IBig)>,
    /// Kinds and their multiples, rising, no zeros.
    pub kinds: Vec<(u32, IBig)>,
}

/// The best bound that some facts give.
#[derive(Clone, Debug)]
pub enum Solution {
    /// No belief that fits them goes beyond, and one reaches it.
    Bound(Fraction, Certificate),
    /// No belief fits them.
    Contradiction(Certificate),
}

impl<'a> Program<'a> {
    /// Prepares bounds on this evidence.
    pub fn new(evidence: &'a Evidence) -> Program<'a> {
        let outcomes = 0..evidence.outcomes().len() as u32;
        let mut starts = vec![0u32; evidence.facts().len() + 1];
        outcomes
            .clone()
            .for_each(|o| evidence.facts_of(o).iter().for_each(|&f| starts[f as usize + 1] += 1));
        (1..starts.len()).for_each(|f| starts[f] += starts[f - 1]);
        let mut next = starts.clone();
        let mut counted = vec![0; starts[evidence.facts().len()] as usize];
        for outcome in outcomes {
            for &fact in evidence.facts_of(outcome) {
                counted[next[fact as usize] as usize] = outcome;
                next[fact as usize] += 1;
            }
        }
        Program { evidence, kind_of: evidence.kind_of(), counted, starts }
    }

    /// The evidence.
    pub fn evidence(&self) -> &'a Evidence {
        self.evidence
    }

    /// The outcomes that a fact counts, rising.
    pub fn counted(&self, fact: u32) -> &[u32] {
        &self.counted[self.starts[fact as usize] as usize..self.starts[fact as usize + 1] as usize]
    }

    /// The kind of an outcome.
    pub fn kind_of(&self, outcome: u32) -> u32 {
        self.kind_of[outcome as usize]
    }

    /// The kinds of the people that a fact counts or may count, rising.
    pub fn kinds_of(&self, fact: u32) -> Vec<u32> {
        let mut kinds: Vec<u32> = self.counted(fact).iter().map(|&o| self.kind_of(o)).collect();
        kinds.dedup();
        kinds
    }

    /// The people whom some facts or some outcomes concern, those together who are alike for them.
    pub fn parties(&self, facts: &[u32], outcomes: &[u32]) -> Vec<Party> {
        let place: HashMap<u32, u32> = facts.iter().copied().zip(0..).collect();
        let mut kinds: Vec<u32> = facts.iter().flat_map(|&f| self.kinds_of(f)).collect();
        kinds.extend(outcomes.iter().map(|&o| self.kind_of(o)));
        kinds.sort_unstable();
        kinds.dedup();
        let asked: hashbrown::HashSet<u32> = outcomes.iter().copied().collect();
        let mut parties: Vec<Party> = Vec::new();
        let mut known: HashMap<Vec<(Vec<u32>, bool)>, usize> = HashMap::new();
        for kind in kinds {
            let column = |o: u32| {
                let mut facts: Vec<u32> = self
                    .evidence
                    .facts_of(o)
                    .iter()
                    .filter_map(|f| place.get(f).copied())
                    .collect();
                facts.sort_unstable();
                (facts, asked.contains(&o))
            };
            let mut columns: Vec<(Vec<u32>, bool)> =
                self.evidence.outcomes_of(kind).map(column).collect();
            // What is asked for and counted least comes first: a multiple of 0 or 1 of the kind
            // starts feasible.
            columns.sort_unstable_by(|a, b| {
                b.1.cmp(&a.1).then(a.0.len().cmp(&b.0.len())).then(a.0.cmp(&b.0))
            });
            columns.dedup();
            let at = *known.entry(columns.clone()).or_insert_with(|| {
                parties.push(Party { people: 0, kinds: Vec::new(), columns });
                parties.len() - 1
            });
            parties[at].people += u64::from(self.evidence.kinds()[kind as usize].people);
            parties[at].kinds.push(kind);
        }
        parties
    }

    /// The most people who can have one of these outcomes, if these facts hold. Each fact must be
    /// given once. `None` if it takes more work than is left.
    pub fn maximum(&self, facts: &[u32], outcomes: &[u32], effort: &Effort) -> Option<Solution> {
        self.bound_above(facts, outcomes, false, effort)
    }

    /// A bound like [`Program::maximum`], if not always the best, with small multiples of few
    /// facts.
    pub fn thrifty_maximum(
        &self,
        facts: &[u32],
        outcomes: &[u32],
        effort: &Effort,
    ) -> Option<Solution> {
        self.bound_above(facts, outcomes, true, effort)
    }

    fn bound_above(
        &self,
        facts: &[u32],
        outcomes: &[u32],
        thrifty: bool,
        effort: &Effort,
    ) -> Option<Solution> {
        let parties = self.parties(facts, outcomes);
        effort
            .spend(parties.iter().flat_map(|p| &p.columns).map(|c| 1 + c.0.len() as u64).sum())?;
        if let Some(party) = parties.iter().find(|p| p.columns.is_empty()) {
            return Some(Solution::Contradiction(Certificate::nobody(party.kinds[0])));
        }
        Some(match dual(self.evidence, facts, &parties, thrifty).solve(effort)? {
            End::Least(values) => {
                let certificate = certificate(facts, &parties, &values, IBig::ONE);
                let bound = certificate.bound(self.evidence);
                Solution::Bound(fraction(bound, &certificate.times), certificate)
            }
            End::Falling(values) => {
                Solution::Contradiction(certificate(facts, &parties, &values, IBig::ZERO))
            }
        })
    }

    /// The fewest people who must have one of these outcomes, if these facts hold. Each fact must
    /// be given once. `None` if it takes more work than is left.
    pub fn minimum(&self, facts: &[u32], outcomes: &[u32], effort: &Effort) -> Option<Solution> {
        self.bound_below(facts, outcomes, false, effort)
    }

    /// A bound like [`Program::minimum`], if not always the best, with small multiples of few
    /// facts.
    pub fn thrifty_minimum(
        &self,
        facts: &[u32],
        outcomes: &[u32],
        effort: &Effort,
    ) -> Option<Solution> {
        self.bound_below(facts, outcomes, true, effort)
    }

    fn bound_below(
        &self,
        facts: &[u32],
        outcomes: &[u32],
        thrifty: bool,
        effort: &Effort,
    ) -> Option<Solution> {
        let mut kinds: Vec<u32> = outcomes.iter().map(|&o| self.kind_of(o)).collect();
        kinds.sort_unstable();
        kinds.dedup();
        let all = kinds.iter().flat_map(|&k| self.evidence.outcomes_of(k));
        let others: Vec<u32> = all.filter(|o| !outcomes.contains(o)).collect();
        // Whoever has none of the others has one of these.
        Some(match self.bound_above(facts, &others, thrifty, effort)? {
            Solution::Bound(most, certificate) => {
                let people = kinds
                    .iter()
                    .map(|&k| u64::from(self.evidence.kinds()[k as usize].people))
                    .sum();
                Solution::Bound(Fraction::whole(people).less(&most), certificate.complement(&kinds))
            }
            contradiction => contradiction,
        })
    }
}

/// The dual of the program of some facts and parties.
///
/// With a multiple y of every fact and z of every party, z + Σ y over the facts of a column is at
/// least 1 if it is asked for and at least 0 if not; the least Σ people · z + Σ count · y is the
/// most that can be asked for. The party's first column has its surplus s as a variable, so that z
/// = its claim + s − Σ y; every other column has a condition.
///
/// Variables: for each fact y (free if the fact is one number, otherwise how often the upper and
/// how often the lower end is taken), then the surplus of every column. A thrifty dual pays a
/// little for every multiple of a fact.
fn dual(evidence: &Evidence, facts: &[u32], parties: &[Party], thrifty: bool) -> LinearProgram {
    let (scale, price) = if thrifty { (THRIFT, 1) } else { (1, 0) };
    let columns: usize = parties.iter().map(|p| p.columns.len()).sum();
    let surplus = 2 * facts.len() as u32;
    let mut free = vec![false; surplus as usize + columns];
    let mut costs: Vec<(u32, IBig)> = Vec::with_capacity(free.len());
    for (i, &fact) in facts.iter().enumerate() {
        let fact = evidence.facts()[fact as usize];
        free[2 * i] = fact.low == fact.high && !thrifty;
        costs.push((2 * i as u32, IBig::from(fact.high) * scale + price));
        costs.push((2 * i as u32 + 1, -IBig::from(fact.low) * scale + price));
    }
    let mut next = surplus;
    for party in parties {
        let people = IBig::from(party.people) * scale;
        for &f in &party.columns[0].0 {
            costs[2 * f as usize].1 -= &people;
            costs[2 * f as usize + 1].1 += &people;
        }
        costs.push((next, people));
        next += party.columns.len() as u32;
    }
    // Of a fact that is one number, one variable is enough.
    (0..facts.len()).filter(|&i| free[2 * i]).for_each(|i| costs[2 * i + 1].1 = IBig::ZERO);
    let mut conditions = Vec::with_capacity(columns - parties.len());
    let mut first = surplus;
    for party in parties {
        let (facts, asked) = &party.columns[0];
        for (slack, (others, claimed)) in (first + 1..).zip(&party.columns[1..]) {
            let mut entries = vec![(first, -1)];
            let mine = facts.iter().filter(|f| !others.contains(f)).map(|&f| (f, 1));
            let theirs = others.iter().filter(|f| !facts.contains(f)).map(|&f| (f, -1));
            for (f, sign) in mine.chain(theirs) {
                entries.push((2 * f, sign));
                if !free[2 * f as usize] {
                    entries.push((2 * f + 1, -sign));
                }
            }
            entries.sort_unstable();
            conditions.push(Condition {
                slack,
                entries,
                constant: u32::from(*asked) - u32::from(*claimed),
            });
        }
        first += party.columns.len() as u32;
    }
    LinearProgram { free, costs, conditions }
}

/// The certificate of a solution of the dual (`times` 1) or of a direction in which it falls (0),
/// in whole numbers.
fn certificate(facts: &[u32], parties: &[Party], values: &[Rational], times: IBig) -> Certificate {
    let of_fact = |f: u32| values[2 * f as usize].less(&IBig::ONE, &values[2 * f as usize + 1]);
    let mut multiples: Vec<(u32, Rational)> =
        facts.iter().zip(0..).map(|(&fact, f)| (fact, of_fact(f))).collect();
    multiples.retain(|m| !m.1.is_zero());
    let mut kinds: Vec<(u32, Rational)> = Vec::new();
    let mut surplus = 2 * facts.len();
    for party in parties {
        let (facts, asked) = &party.columns[0];
        let start =
            if *asked { Rational::whole(times.clone()) } else { Rational::whole(IBig::ZERO) };
        let start = start.less(&IBig::NEG_ONE, &values[surplus]);
        let multiple = facts.iter().fold(start, |sum, &f| sum.less(&IBig::ONE, &of_fact(f)));
        if !multiple.is_zero() {
            kinds.extend(party.kinds.iter().map(|&k| (k, multiple.clone())));
        }
        surplus += party.columns.len();
    }
    let all = multiples.iter().chain(&kinds).map(|m| &m.1.den);
    let scale = all.fold(IBig::ONE, |scale, den| &scale / IBig::from((&scale).gcd(den)) * den);
    let whole = |multiples: Vec<(u32, Rational)>| {
        let mut whole: Vec<(u32, IBig)> =
            multiples.into_iter().map(|(i, m)| (i, m.num * &scale / m.den)).collect();
        whole.sort_unstable_by_key(|m| m.0);
        whole
    };
    Certificate { upper: true, facts: whole(multiples), kinds: whole(kinds), times: times * &scale }
}

fn fraction(num: IBig, den: &IBig) -> Fraction {
    let magnitude = |n: IBig| UBig::try_from(n).unwrap_or_default();
    Fraction::new(magnitude(num), magnitude(den.clone()))
}

impl Certificate {
    /// The contradiction that a kind of people can have no outcome.
    pub(super) fn nobody(kind: u32) -> Certificate {
        Certificate {
            upper: true,
            times: IBig::ZERO,
            facts: Vec::new(),
            kinds: vec![(kind, IBig::NEG_ONE)],
        }
    }

    /// A bound from below on some outcomes of these kinds, from one from above on their others.
    fn complement(self, all: &[u32]) -> Certificate {
        let negated = |multiples: Vec<(u32, IBig)>| {
            multiples.into_iter().map(|(i, n)| (i, -n)).collect::<Vec<_>>()
        };
        let mut kinds: HashMap<u32, IBig> = negated(self.kinds).into_iter().collect();
        all.iter().for_each(|&k| *kinds.entry(k).or_default() += &self.times);
        let mut kinds: Vec<(u32, IBig)> = kinds.into_iter().filter(|m| !m.1.is_zero()).collect();
        kinds.sort_unstable_by_key(|m| m.0);
        Certificate { upper: false, times: self.times, facts: negated(self.facts), kinds }
    }

    /// What `times` the number of people is at most, or at least: the multiples of all counts.
    pub fn bound(&self, evidence: &Evidence) -> IBig {
        let count = |&(fact, ref n): &(u32, IBig)| {
            let fact = evidence.facts()[fact as usize];
            n * if (*n > IBig::ZERO) == self.upper { fact.high } else { fact.low }
        };
        let people = |&(kind, ref n): &(u32, IBig)| n * evidence.kinds()[kind as usize].people;
        self.facts.iter().map(count).chain(self.kinds.iter().map(people)).sum()
    }

    /// Checks by plain arithmetic that the multiples prove [`Certificate::bound`] of these
    /// outcomes: that they add up to enough for every outcome of everybody (and not to more than
    /// enough, for a bound from below).
    pub fn verify(&self, evidence: &Evidence, outcomes: &[u32]) -> bool {
        let facts: HashMap<u32, &IBig> = self.facts.iter().map(|m| (m.0, &m.1)).collect();
        let kinds: HashMap<u32, &IBig> = self.kinds.iter().map(|m| (m.0, &m.1)).collect();
        let asked: hashbrown::HashSet<u32> = outcomes.iter().copied().collect();
        let holds = |kind: u32, outcome: u32| {
            let counted = evidence.facts_of(outcome).iter().filter_map(|f| facts.get(f).copied());
            let sum: IBig = counted.chain(kinds.get(&kind).copied()).sum();
            let claim = if asked.contains(&outcome) { &self.times } else { &IBig::ZERO };
            if self.upper { sum >= *claim } else { sum <= *claim }
        };
        let everybody = 0..evidence.kinds().len() as u32;
        self.times >= IBig::ZERO
            && everybody.into_iter().all(|k| evidence.outcomes_of(k).all(|o| holds(k, o)))
    }
}
