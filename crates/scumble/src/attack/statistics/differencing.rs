//! # Differencing
//!
//! Finds the people whose own value follows from statistics about groups of them.
//!
//! ## What the adversary knows
//! Published counts, sums and means, and who they are about: the members of each group by name, or
//! a register on which the conditions can be looked up. A mean is taken to be over everybody of its
//! group.
//!
//! ## What she does
//! Every statistic is an equation over the people in it. With the mean 732 of 50 people and the
//! mean 728 of 49 of them, the one who is left has 50 · 732 − 49 · 728 = 928. She combines any
//! number of statistics, with any coefficients, and finds everybody whose value they determine;
//! where nobody is determined alone, also sets of fewer people than the threshold whose sum is. A
//! count of a property tells more: where as many have it as there are people, everybody has it.
//!
//! ## What it says
//! Who is determined, by which combination, and how exactly: rounding leaves an interval of ± the
//! sum of half the unit of each statistic times its coefficient; noise leaves a standard deviation.
//! Counts of fewer people than the threshold are listed, as are differences of counts, one group
//! within the other.
//!
//! ## Limits
//! The linear algebra is exact and complete for single people. Sets of people are those that one
//! statistic or the difference of two is about, and the first ten thousand of up to three kinds of
//! people. Of several combinations the shortest that was found is shown. That values cannot be
//! negative, or lie between bounds, is not used. Statistics that contradict each other beyond their
//! rounding are refused; those with noise never contradict.
//!
//! ## Reference
//! Denning, Denning and Schwartz, "The tracker: a threat to statistical database security", 1979;
//! Dinur and Nissim, "Revealing information while preserving privacy", 2003.

use super::system::{Combination, System};
use super::{Kind, Method, Statistic};
use crate::attack::Figure;
use crate::catalogue::{Entry, Kind as Expected, PEOPLE, Parameter};
use crate::exact::Rational;
use crate::failure::{Failure, Failures};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

pub(crate) const ENTRY: Entry<Method> = Entry {
    name: "differencing",
    summary: "whose own value follows from published counts, sums and means",
    source: include_str!("differencing.rs"),
    parameters: &[Parameter {
        name: "threshold",
        kind: Expected::Count(1, PEOPLE),
        default: Some("5"),
        about: "sets and counts of fewer people than this are reported",
    }],
    build: |p| Ok(Method::Differencing(p.count("threshold"))),
};

/// What follows about people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// The value of one person, or the sum over a small set.
    Value,
    /// Everybody of the set has what was counted.
    Everybody,
    /// Nobody of the set has it.
    Nobody,
    /// Few people were counted.
    SmallCount,
}

impl Finding {
    /// Its name in answers.
    pub fn name(self) -> &'static str {
        match self {
            Finding::Value => "value",
            Finding::Everybody => "everybody",
            Finding::Nobody => "nobody",
            Finding::SmallCount => "small count",
        }
    }
}

/// Something that follows about people.
#[derive(Clone, Debug, PartialEq)]
pub struct Disclosure {
    /// What.
    pub finding: Finding,
    /// Of which number; empty where people are counted.
    pub of: String,
    /// About whom, rising.
    pub people: Vec<u32>,
    /// The statistics that it follows from.
    pub terms: Vec<Term>,
    /// The value, or the sum of the values of several people.
    pub value: Rational,
    /// How far rounding may have moved it.
    pub within: Rational,
    /// Standard deviation of the noise in it.
    pub deviation: f64,
}

/// A statistic in a combination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    /// Its index in the list of statistics.
    pub statistic: usize,
    /// What the published value is multiplied with.
    pub times: Rational,
}

impl Disclosure {
    /// The combination in figures: `50 · 732 − 49 · 728 = 928`.
    pub fn formula(&self, statistics: &[Statistic]) -> String {
        let mut text = String::new();
        let mut terms: Vec<&Term> = self.terms.iter().collect();
        terms.sort_by_key(|t| (t.times.is_negative(), t.statistic));
        for (i, term) in terms.into_iter().enumerate() {
            text.push_str(match (i, term.times.is_negative()) {
                (0, false) => "",
                (0, true) => "−",
                (_, false) => " + ",
                (_, true) => " − ",
            });
            let times = term.times.magnitude();
            if times != Rational::whole(1) {
                text.push_str(&format!("{times} · "));
            }
            text.push_str(&statistics[term.statistic].text);
        }
        format!("{text} = {}", self.value)
    }
}

/// What differencing comes to.
#[derive(Clone, Debug, PartialEq)]
pub struct Differences {
    /// Everything that follows; single people first.
    pub disclosures: Vec<Disclosure>,
    /// Numbers over everybody.
    pub figures: Vec<Figure>,
}

/// Finds what the statistics determine about single people and sets of fewer than `threshold`.
pub fn differencing(statistics: &[Statistic], threshold: u64) -> Result<Differences, Failures> {
    let mut by_number: BTreeMap<(bool, &str), Vec<usize>> = BTreeMap::new();
    for (i, s) in statistics.iter().enumerate() {
        by_number.entry((s.kind == Kind::Count, &s.of)).or_default().push(i);
    }
    let (mut disclosures, mut problems) = (Vec::new(), Failures::default());
    for ((counts, of), mut members) in by_number {
        // What is published exactly, or nearly so, is preferred in combinations.
        let blur = |s: &Statistic| s.half_unit().times(&s.factor());
        members.sort_by(|&a, &b| {
            let (a, b) = (&statistics[a], &statistics[b]);
            a.noise.cmp(&b.noise).then_with(|| blur(a).cmp(&blur(b)))
        });
        let sets: Vec<&[u32]> = members.iter().map(|&i| statistics[i].people.as_slice()).collect();
        let Some(system) = System::new(&sets) else {
            problems.push(Failure::refused(
                "not-proved",
                format!("what the statistics of `{of}` determine could not be proved"),
            ));
            continue;
        };
        let about = About { statistics, members, system, of, counts, threshold };
        problems.0.extend(about.contradictions().0);
        disclosures.extend(about.disclosures());
    }
    problems.or(())?;
    disclosures.sort_by_key(|d| (d.people.len() > 1, d.finding == Finding::SmallCount));
    let figures = figures(statistics, &disclosures);
    Ok(Differences { disclosures, figures })
}

fn figures(statistics: &[Statistic], disclosures: &[Disclosure]) -> Vec<Figure> {
    let everybody: BTreeSet<u32> = statistics.iter().flat_map(|s| &s.people).copied().collect();
    let tells = |d: &&Disclosure| d.finding != Finding::SmallCount;
    let alone = |d: &&Disclosure| d.people.len() == 1 || d.finding != Finding::Value;
    let known: BTreeSet<u32> =
        disclosures.iter().filter(tells).filter(alone).flat_map(|d| &d.people).copied().collect();
    let sets =
        disclosures.iter().filter(|d| d.finding == Finding::Value && d.people.len() > 1).count()
            as u64;
    let small = disclosures.iter().filter(|d| d.finding == Finding::SmallCount).count() as u64;
    let share = known.len() as f64 / everybody.len().max(1) as f64;
    vec![
        Figure::count("statistics", statistics.len() as u64, "statistics").descriptive(),
        Figure::count("people", everybody.len() as u64, "people whom they are about").descriptive(),
        Figure::count("determined", known.len() as u64, "people of whom a value is determined"),
        Figure::share("determined_share", share, "of all people"),
        Figure::count("small_sets", sets, "small sets of people of whom the sum is determined"),
        Figure::count("small_counts", small, "counts of few people"),
    ]
}

/// The statistics of one number.
struct About<'a> {
    statistics: &'a [Statistic],
    /// The statistic of each row of the system.
    members: Vec<usize>,
    system: System,
    of: &'a str,
    counts: bool,
    threshold: u64,
}

impl About<'_> {
    fn disclosures(&self) -> Vec<Disclosure> {
        let mut found: Vec<Disclosure> = Vec::new();
        let mut known = vec![false; self.system.atoms.len()];
        let mut singles: Vec<Vec<u32>> =
            (0..self.system.atoms.len() as u32).map(|a| vec![a]).collect();
        singles.sort_by_key(|set| self.people(set).len());
        let single =
            |set: &Vec<u32>| Some((set[0], self.disclosure(set, &self.system.combination(set)?)));
        for (atom, disclosure) in singles.par_iter().filter_map(single).collect::<Vec<_>>() {
            if self.tells(&disclosure) {
                known[atom as usize] = true;
                found.push(disclosure);
            }
        }
        let mut sets: Vec<Vec<u32>> =
            self.stated().into_iter().chain(self.system.candidates(self.threshold)).collect();
        sets.sort_by_key(|set| self.people(set).len());
        sets.dedup();
        let mut kept: Vec<Vec<u32>> = Vec::new();
        for set in sets.into_iter().filter(|set| set.len() > 1) {
            // What holds a set that is known says no more than the rest does.
            let holds = |k: &Vec<u32>| k.iter().all(|a| set.binary_search(a).is_ok());
            if set.iter().any(|&a| known[a as usize]) || kept.iter().any(holds) {
                continue;
            }
            let Some(combination) = self.system.combination(&set) else { continue };
            let disclosure = self.disclosure(&set, &combination);
            if self.tells(&disclosure) {
                kept.push(set);
                found.push(disclosure);
            }
        }
        found
    }

    /// The sets of single statistics, and of the differences of two, that may be worth telling.
    fn stated(&self) -> Vec<Vec<u32>> {
        let rows = &self.system.rows;
        let size = |row: usize| self.statistics[self.members[row]].people.len() as u64;
        let published = |row: usize| &self.statistics[self.members[row]].value;
        // Of a count of something the number matters, of everything else the number of people.
        let few = |people: u64, value: &Rational| {
            let counted = self.counts && !self.of.is_empty();
            people < self.threshold
                || counted
                    && (*value < Rational::whole(self.threshold)
                        || *value >= Rational::whole(people))
        };
        let mut sets: Vec<Vec<u32>> = Vec::new();
        for a in 0..rows.len() {
            if few(size(a), published(a)) {
                sets.push(rows[a].clone());
            }
            for b in (0..rows.len()).filter(|&b| size(b) < size(a)) {
                if few(size(a) - size(b), &published(a).minus(published(b)))
                    && self.system.contains(a, b)
                {
                    sets.push(
                        rows[a]
                            .iter()
                            .filter(|x| rows[b].binary_search(x).is_err())
                            .copied()
                            .collect(),
                    );
                }
            }
        }
        sets
    }

    fn people(&self, set: &[u32]) -> Vec<u32> {
        let mut people: Vec<u32> =
            set.iter().flat_map(|&a| &self.system.atoms[a as usize]).copied().collect();
        people.sort_unstable();
        people
    }

    /// Whether it is worth telling.
    fn tells(&self, d: &Disclosure) -> bool {
        let few = (d.people.len() as u64) < self.threshold;
        match d.finding {
            Finding::Value | Finding::Nobody => few,
            Finding::Everybody => true,
            Finding::SmallCount if self.of.is_empty() => few,
            Finding::SmallCount => d.value < Rational::whole(self.threshold),
        }
    }

    fn disclosure(&self, set: &[u32], combination: &Combination) -> Disclosure {
        let people = self.people(set);
        let sum = self.sum(combination);
        let size = Rational::whole(people.len());
        let finding = match (self.counts, self.of.is_empty(), sum.deviation > 0.0) {
            (false, ..) => Finding::Value,
            (true, true, _) | (true, false, true) => Finding::SmallCount,
            // People are whole: more than one fewer than all of them is all of them.
            _ if sum.value.minus(&sum.within) > size.minus(&Rational::whole(1)) => {
                Finding::Everybody
            }
            _ if sum.value.plus(&sum.within) < Rational::whole(1) => Finding::Nobody,
            _ => Finding::SmallCount,
        };
        let Sum { terms, value, within, deviation } = sum;
        Disclosure { finding, of: self.of.to_owned(), people, terms, value, within, deviation }
    }

    fn sum(&self, combination: &Combination) -> Sum {
        let zero = Rational::whole(0);
        let (mut value, mut within, mut variance, mut terms) =
            (zero.clone(), zero, 0.0, Vec::new());
        for (row, coefficient) in combination {
            let s = &self.statistics[self.members[*row]];
            let times = coefficient.times(&s.factor());
            value = value.plus(&times.times(&s.value));
            within = within.plus(&times.magnitude().times(&s.half_unit()));
            variance += s.noise.map_or(0.0, |noise| (times.to_f64() * noise.to_f64()).powi(2));
            terms.push(Term { statistic: self.members[*row], times });
        }
        Sum { terms, value, within, deviation: variance.sqrt() }
    }

    /// Statistics of which one follows from the others, but is not what was published.
    fn contradictions(&self) -> Failures {
        let mut problems = Failures::default();
        for relation in &self.system.relations {
            let sum = self.sum(relation);
            if sum.deviation == 0.0 && sum.value.magnitude() > sum.within {
                let mut lines: Vec<usize> =
                    sum.terms.iter().map(|t| self.statistics[t.statistic].line).collect();
                lines.sort_unstable();
                let lines: Vec<String> = lines.iter().map(usize::to_string).collect();
                problems.push(
                    Failure::data("contradiction", format!("the statistics of lines {} contradict each other", lines.join(", ")))
                        .hint("check values and people; if a value has noise, say so in the column `noise`, and if it was rounded, in `unit`"),
                );
            }
        }
        problems
    }
}

/// A combination of published values.
struct Sum {
    terms: Vec<Term>,
    value: Rational,
    within: Rational,
    deviation: f64,
}
