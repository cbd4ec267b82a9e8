//! What releases say about people: who may have which value, and how often each value was counted
//! in each group.

use hashbrown::HashMap;
use std::ops::Range;

/// The evidence of any number of releases about one sensitive attribute.
///
/// Every person has exactly one of her kind's outcomes. A world is a choice for everybody that
/// meets all facts: the number of people whose outcome is counted by a fact lies within its bounds.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    kinds: Vec<Kind>,
    outcomes: Vec<Outcome>,
    /// Facts of all outcomes, one after another.
    counted: Vec<u32>,
    facts: Vec<Fact>,
}

/// People who are alike to the adversary: the same groups in all releases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kind {
    /// How many; at least one.
    pub people: u32,
    /// First of its outcomes, and the one past its last.
    outcomes: (u32, u32),
}

/// One thing that may be true of a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Code of the sensitive value; [`Outcome::UNKNOWN`] if the person is in no release, so that
    /// nothing is said.
    pub value: u32,
    counted: (u32, u32),
}

impl Outcome {
    /// The value of a person about whom no release says anything.
    pub const UNKNOWN: u32 = u32::MAX;
}

/// A count that every world must meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fact {
    /// At least so many people have an outcome that it counts.
    pub low: u64,
    /// At most so many.
    pub high: u64,
    /// Where it comes from.
    pub source: Source,
}

/// Where a fact comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Source {
    /// A release says how often a value occurs in a group.
    Published {
        /// Number of the release.
        release: u32,
        /// Number of the group in it.
        group: u32,
        /// Code of the value.
        value: u32,
    },
    /// The adversary knows it: the number of the statement.
    Known(u32),
}

/// Where people of a kind are in a release.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Located {
    /// Groups that they may be in, rising.
    pub groups: Vec<u32>,
    /// Whether they may be in none of them.
    pub may_be_absent: bool,
}

impl Located {
    /// In this group.
    pub fn at(group: u32) -> Located {
        Located { groups: vec![group], may_be_absent: false }
    }

    /// Not in the release.
    pub fn absent() -> Located {
        Located { groups: Vec::new(), may_be_absent: true }
    }
}

impl Evidence {
    /// What releases say. `groups[r][g]` are the values of group g of release r with their counts
    /// (rising values); each kind is a number of people and where they are in each release.
    ///
    /// People whose groups have no value in common get no outcome: then there is no world, as
    /// [`super::forced`] reports.
    pub fn new(
        groups: &[Vec<Vec<(u32, u64)>>],
        kinds: impl IntoIterator<Item = (u32, Vec<Located>)>,
    ) -> Evidence {
        let mut evidence = Evidence::default();
        // firsts[r][g]: the first fact of the group; its values follow.
        let mut firsts: Vec<Vec<u32>> = Vec::with_capacity(groups.len());
        for (release, groups) in (0u32..).zip(groups) {
            let mut first = Vec::with_capacity(groups.len());
            for (group, histogram) in (0u32..).zip(groups) {
                first.push(evidence.facts.len() as u32);
                for &(value, count) in histogram {
                    let source = Source::Published { release, group, value };
                    evidence.facts.push(Fact { low: count, high: count, source });
                }
            }
            firsts.push(first);
        }
        let mut partial = Partial::default();
        for (people, located) in kinds {
            partial.begin();
            for (release, place) in located.iter().enumerate() {
                partial.locate(place, &groups[release], &firsts[release]);
            }
            partial.sort();
            let first = evidence.outcomes.len() as u32;
            for &(value, start, end) in &partial.outcomes {
                evidence.push_outcome(
                    value,
                    partial.facts[start as usize..end as usize].iter().copied(),
                );
            }
            evidence.kinds.push(Kind { people, outcomes: (first, evidence.outcomes.len() as u32) });
        }
        evidence
    }

    /// These facts about kinds with these outcomes: for each a value and the facts that count it,
    /// in order.
    pub fn of(
        facts: Vec<Fact>,
        kinds: impl IntoIterator<Item = (u32, Vec<(u32, Vec<u32>)>)>,
    ) -> Evidence {
        let mut evidence = Evidence { facts, ..Evidence::default() };
        for (people, outcomes) in kinds {
            let first = evidence.outcomes.len() as u32;
            outcomes.into_iter().for_each(|(value, facts)| evidence.push_outcome(value, facts));
            evidence.kinds.push(Kind { people, outcomes: (first, evidence.outcomes.len() as u32) });
        }
        evidence
    }

    pub(super) fn push_outcome(&mut self, value: u32, facts: impl IntoIterator<Item = u32>) {
        let start = self.counted.len() as u32;
        self.counted.extend(facts);
        self.outcomes.push(Outcome { value, counted: (start, self.counted.len() as u32) });
    }

    /// The same with something that the adversary knows: of the people of some kinds, so many have
    /// one of some values. The kinds are numbered as they were given; whoever is known apart from
    /// others must be a kind of her own.
    pub fn knowing(self, known: &[Known]) -> Evidence {
        let mut evidence = Evidence { facts: self.facts.clone(), ..Evidence::default() };
        let mut about: HashMap<u32, Vec<usize>> = HashMap::new();
        for (i, statement) in known.iter().enumerate() {
            evidence.facts.push(Fact {
                low: statement.low,
                high: statement.high,
                source: Source::Known(i as u32),
            });
            statement.kinds.iter().for_each(|&k| about.entry(k).or_default().push(i));
        }
        for (number, kind) in (0u32..).zip(&self.kinds) {
            let first = evidence.outcomes.len() as u32;
            for outcome in self.outcomes_of(number) {
                let value = self.outcomes[outcome as usize].value;
                let statements = about.get(&number).map_or(&[][..], Vec::as_slice).iter();
                let told = statements.filter(|&&i| known[i].values.binary_search(&value).is_ok());
                let told = told.map(|&i| (self.facts.len() + i) as u32);
                evidence.push_outcome(value, self.facts_of(outcome).iter().copied().chain(told));
            }
            evidence.kinds.push(Kind {
                people: kind.people,
                outcomes: (first, evidence.outcomes.len() as u32),
            });
        }
        evidence
    }

    /// The kinds.
    pub fn kinds(&self) -> &[Kind] {
        &self.kinds
    }

    /// The outcomes of all kinds, one kind after another.
    pub fn outcomes(&self) -> &[Outcome] {
        &self.outcomes
    }

    /// The facts.
    pub fn facts(&self) -> &[Fact] {
        &self.facts
    }

    /// The outcomes of a kind: rising values.
    pub fn outcomes_of(&self, kind: u32) -> Range<u32> {
        let (first, end) = self.kinds[kind as usize].outcomes;
        first..end
    }

    /// The facts that count an outcome, rising.
    pub fn facts_of(&self, outcome: u32) -> &[u32] {
        let (first, end) = self.outcomes[outcome as usize].counted;
        &self.counted[first as usize..end as usize]
    }

    /// Number of people.
    pub fn people(&self) -> u64 {
        self.kinds.iter().map(|k| u64::from(k.people)).sum()
    }

    /// The kind of every outcome.
    pub fn kind_of(&self) -> Vec<u32> {
        let mut kind_of = vec![0; self.outcomes.len()];
        for kind in 0..self.kinds.len() as u32 {
            self.outcomes_of(kind).for_each(|o| kind_of[o as usize] = kind);
        }
        kind_of
    }

    /// What is left to find out when only some outcomes are possible, in parts that have nothing to
    /// do with each other. Kinds with one outcome are settled: they are in no part, and the facts
    /// are what the others must make up. `None` if the settled people alone break a fact, or a kind
    /// has no outcome.
    pub fn components(&self, possible: &[bool]) -> Option<Vec<Component>> {
        self.components_of(possible, |_| true)
    }

    /// The parts of those kinds that are `wanted`, which must have nothing to do with the others.
    pub(super) fn components_of(
        &self,
        possible: &[bool],
        wanted: impl Fn(u32) -> bool,
    ) -> Option<Vec<Component>> {
        let left = |kind: u32| self.outcomes_of(kind).filter(|&o| possible[o as usize]);
        let mut settled = vec![0u64; self.facts.len()];
        let mut sets = Sets::new(self.facts.len() + self.kinds.len());
        let node = |kind: u32| (self.facts.len() + kind as usize) as u32;
        let mut open = Vec::new();
        for kind in 0..self.kinds.len() as u32 {
            let mut outcomes = left(kind);
            let first = outcomes.next()?;
            if outcomes.next().is_none() {
                let people = u64::from(self.kinds[kind as usize].people);
                self.facts_of(first).iter().for_each(|&f| settled[f as usize] += people);
                continue;
            }
            open.push(kind);
            if !wanted(kind) {
                continue;
            }
            for outcome in left(kind) {
                self.facts_of(outcome).iter().for_each(|&f| sets.join(node(kind), f));
            }
        }
        if self.facts.iter().zip(&settled).any(|(fact, &people)| people > fact.high) {
            return None;
        }
        let mut touched = vec![false; self.facts.len()];
        let mut part_of: HashMap<u32, usize> = HashMap::new();
        let mut parts: Vec<Vec<u32>> = Vec::new();
        for &kind in &open {
            left(kind)
                .for_each(|o| self.facts_of(o).iter().for_each(|&f| touched[f as usize] = true));
            if !wanted(kind) {
                continue;
            }
            let part = *part_of.entry(sets.find(node(kind))).or_insert_with(|| {
                parts.push(Vec::new());
                parts.len() - 1
            });
            parts[part].push(kind);
        }
        let unmet = |f: usize| !touched[f] && settled[f] < self.facts[f].low;
        if (0..self.facts.len()).any(unmet) {
            return None;
        }
        let mut place = vec![u32::MAX; self.facts.len()];
        Some(
            parts
                .into_iter()
                .map(|kinds| self.part(kinds, possible, &settled, &mut place))
                .collect(),
        )
    }

    /// What only some of the facts say about some kinds: the other counts are not known. The facts
    /// are numbered as they are given.
    pub fn only(&self, facts: &[u32], kinds: Vec<u32>) -> Component {
        let place: HashMap<u32, u32> = facts.iter().copied().zip(0..).collect();
        let mut part = Component {
            evidence: Evidence::default(),
            kinds,
            outcomes: Vec::new(),
            facts: facts.to_vec(),
        };
        part.evidence.facts = facts.iter().map(|&f| self.facts[f as usize]).collect();
        for &kind in &part.kinds {
            let first = part.evidence.outcomes.len() as u32;
            for outcome in self.outcomes_of(kind) {
                let counted = self.facts_of(outcome).iter().filter_map(|f| place.get(f).copied());
                part.evidence.push_outcome(self.outcomes[outcome as usize].value, counted);
                part.outcomes.push(outcome);
            }
            let people = self.kinds[kind as usize].people;
            part.evidence
                .kinds
                .push(Kind { people, outcomes: (first, part.evidence.outcomes.len() as u32) });
        }
        part
    }

    /// The part of these kinds. `place` is scratch space, `u32::MAX` everywhere before and after.
    fn part(
        &self,
        kinds: Vec<u32>,
        possible: &[bool],
        settled: &[u64],
        place: &mut [u32],
    ) -> Component {
        let mut part = Component {
            evidence: Evidence::default(),
            kinds,
            outcomes: Vec::new(),
            facts: Vec::new(),
        };
        for &kind in &part.kinds {
            let first = part.evidence.outcomes.len() as u32;
            for outcome in self.outcomes_of(kind).filter(|&o| possible[o as usize]) {
                for &fact in self.facts_of(outcome) {
                    if place[fact as usize] == u32::MAX {
                        place[fact as usize] = part.facts.len() as u32;
                        part.facts.push(fact);
                        let (settled, fact) = (settled[fact as usize], self.facts[fact as usize]);
                        let (low, high) = (fact.low.saturating_sub(settled), fact.high - settled);
                        part.evidence.facts.push(Fact { low, high, ..fact });
                    }
                }
                let counted = self.facts_of(outcome).iter().map(|&f| place[f as usize]);
                part.evidence.push_outcome(self.outcomes[outcome as usize].value, counted);
                part.outcomes.push(outcome);
            }
            let people = self.kinds[kind as usize].people;
            part.evidence
                .kinds
                .push(Kind { people, outcomes: (first, part.evidence.outcomes.len() as u32) });
        }
        part.facts.iter().for_each(|&f| place[f as usize] = u32::MAX);
        part
    }
}

/// The outcomes of people whose places in the first releases are known. Its space is used for one
/// kind after another.
#[derive(Default)]
struct Partial {
    /// The value, and where its facts are.
    outcomes: Vec<(u32, u32, u32)>,
    facts: Vec<u32>,
    next: (Vec<(u32, u32, u32)>, Vec<u32>),
}

impl Partial {
    /// Nothing is known.
    fn begin(&mut self) {
        self.facts.clear();
        self.outcomes.clear();
        self.outcomes.push((Outcome::UNKNOWN, 0, 0));
    }

    /// Where they are in the next release; the first fact of each of its groups is in `firsts`.
    fn locate(&mut self, place: &Located, groups: &[Vec<(u32, u64)>], firsts: &[u32]) {
        let (outcomes, facts) = &mut self.next;
        outcomes.clear();
        facts.clear();
        for &(value, start, end) in &self.outcomes {
            let before = &self.facts[start as usize..end as usize];
            let mut push = |value: u32, fact: Option<u32>| {
                let first = facts.len() as u32;
                facts.extend_from_slice(before);
                facts.extend(fact);
                outcomes.push((value, first, facts.len() as u32));
            };
            if place.may_be_absent {
                push(value, None);
            }
            for &group in &place.groups {
                let histogram = &groups[group as usize];
                // Without a fact nothing is said, whatever the value is called.
                if before.is_empty() {
                    (firsts[group as usize]..)
                        .zip(histogram)
                        .for_each(|(fact, &(v, _))| push(v, Some(fact)));
                } else if let Ok(at) = histogram.binary_search_by_key(&value, |&(v, _)| v) {
                    push(value, Some(firsts[group as usize] + at as u32));
                }
            }
        }
        std::mem::swap(&mut self.outcomes, outcomes);
        std::mem::swap(&mut self.facts, facts);
    }

    /// Rising values, then facts.
    fn sort(&mut self) {
        let facts = &self.facts;
        let key =
            |&(value, start, end): &(u32, u32, u32)| (value, &facts[start as usize..end as usize]);
        if !self.outcomes.is_sorted_by_key(key) {
            self.outcomes.sort_unstable_by(|a, b| key(a).cmp(&key(b)));
        }
    }
}

/// Something that an adversary knows besides the releases: how many people of some kinds have one
/// of some values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// The kinds.
    pub kinds: Vec<u32>,
    /// Codes of the values, rising.
    pub values: Vec<u32>,
    /// At least so many.
    pub low: u64,
    /// At most so many.
    pub high: u64,
}

/// A part of the evidence that has nothing to do with the rest.
#[derive(Clone, Debug)]
pub struct Component {
    /// The part, with numbers of its own.
    pub evidence: Evidence,
    /// The number in the whole of each of its kinds.
    pub kinds: Vec<u32>,
    /// The number in the whole of each of its outcomes.
    pub outcomes: Vec<u32>,
    /// The number in the whole of each of its facts.
    pub facts: Vec<u32>,
}

/// Disjoint sets.
pub(super) struct Sets(Vec<u32>);

impl Sets {
    pub fn new(n: usize) -> Sets {
        Sets((0..n as u32).collect())
    }

    pub fn find(&mut self, mut x: u32) -> u32 {
        while self.0[x as usize] != x {
            self.0[x as usize] = self.0[self.0[x as usize] as usize];
            x = self.0[x as usize];
        }
        x
    }

    pub fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.find(a), self.find(b));
        self.0[a.max(b) as usize] = a.min(b);
    }
}
