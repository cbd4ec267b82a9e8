//! Parts of the evidence in which all values are alike.
//!
//! If every group of a part has the same values, and each of them as often as the others, then
//! exchanging two values everywhere in the part turns a world into another one. So everybody there
//! may have each value, and nothing that is published prefers one. This is what m-invariance
//! achieves over any number of releases, and it is seen without solving anything.

use super::evidence::{Evidence, Sets, Source};
use hashbrown::HashMap;

/// Parts of three releases and more are left to the search up to so many outcomes: it also finds
/// out whether there is a world at all, which for one or two releases is certain.
const SEARCHED: u64 = 400;

const NONE: u32 = u32::MAX;

/// For each kind, whether it is in a part in which all values are alike and there is more than one.
///
/// If such a part is of three releases or more, it is not made sure that there is a world.
pub(super) fn even(evidence: &Evidence) -> Vec<bool> {
    let groups = Groups::new(evidence);
    let count = groups.values.len();
    let (mut sets, mut sound) = (Sets::new(count), vec![true; count]);
    let mut people = vec![0u64; count];
    let mut outcomes = vec![0u64; count];
    let mut here: Vec<u32> = Vec::new();
    let kinds = 0..evidence.kinds().len() as u32;
    // A group that each kind is in, for the sets.
    let mut at = vec![NONE; kinds.len()];
    for kind in kinds {
        let alike = groups.alike(evidence, kind, &mut here);
        let number = evidence.kinds()[kind as usize].people;
        for &group in &here {
            sets.join(group, here[0]);
            sound[group as usize] &= alike;
            people[group as usize] += u64::from(number);
        }
        if let Some(&first) = here.first() {
            at[kind as usize] = first;
            outcomes[first as usize] += evidence.outcomes_of(kind).len() as u64;
        }
    }
    let mut parts: HashMap<u32, Part> = HashMap::new();
    for group in 0..count as u32 {
        let g = group as usize;
        let part = parts.entry(sets.find(group)).or_default();
        part.uneven |= !sound[g] || people[g] != groups.records[g] || groups.values[g] < 2;
        part.outcomes += outcomes[g];
        if part.releases.len() < 3 && !part.releases.contains(&groups.release[g]) {
            part.releases.push(groups.release[g]);
        }
    }
    let mut even = |group: u32| {
        let part = &parts[&sets.find(group)];
        !part.uneven && (part.releases.len() < 3 || part.outcomes > SEARCHED)
    };
    at.into_iter().map(|group| group != NONE && even(group)).collect()
}

#[derive(Default)]
struct Part {
    uneven: bool,
    outcomes: u64,
    /// Its releases, up to three of them.
    releases: Vec<u32>,
}

/// The groups of all releases, and things known, which are groups that nothing is alike in.
struct Groups {
    /// The group of each fact.
    of: Vec<u32>,
    release: Vec<u32>,
    /// How many values each has; none if they are not alike.
    values: Vec<u32>,
    records: Vec<u64>,
}

impl Groups {
    fn new(evidence: &Evidence) -> Groups {
        let mut groups =
            Groups { of: Vec::new(), release: Vec::new(), values: Vec::new(), records: Vec::new() };
        let mut numbers: HashMap<Source, u32> = HashMap::new();
        let mut counts: Vec<u64> = Vec::new();
        let mut last = None;
        for fact in evidence.facts() {
            let source = match fact.source {
                Source::Published { release, group, .. } => {
                    Source::Published { release, group, value: 0 }
                }
                known => known,
            };
            let number = match last {
                Some((before, number)) if before == source => number,
                _ => *numbers.entry(source).or_insert(counts.len() as u32),
            };
            last = Some((source, number));
            if number as usize == counts.len() {
                counts.push(fact.low);
                groups.release.push(if let Source::Published { release, .. } = source {
                    release
                } else {
                    0
                });
                groups.values.push(0);
                groups.records.push(0);
            }
            let group = number as usize;
            groups.of.push(number);
            groups.values[group] += 1;
            groups.records[group] += fact.low;
            let published = matches!(source, Source::Published { .. });
            if !published || fact.low != fact.high || fact.low != counts[group] {
                // No kind has so many outcomes.
                groups.values[group] = NONE / 2;
            }
        }
        groups
    }

    /// Whether a kind is surely in these groups, which it is told, and has all values of each of
    /// them.
    fn alike(&self, evidence: &Evidence, kind: u32, here: &mut Vec<u32>) -> bool {
        here.clear();
        let outcomes = evidence.outcomes_of(kind);
        let Some(first) = outcomes.clone().next() else { return false };
        here.extend(evidence.facts_of(first).iter().map(|&f| self.of[f as usize]));
        let places = here.len();
        let mut alike = here.iter().all(|&g| self.values[g as usize] as usize == outcomes.len());
        alike &= plain(evidence, first);
        for outcome in outcomes.skip(1) {
            let facts = evidence.facts_of(outcome);
            alike &= plain(evidence, outcome);
            let same = facts.len() == places
                && facts.iter().zip(&here[..places]).all(|(&f, &g)| self.of[f as usize] == g);
            if !same {
                alike = false;
                here.extend(facts.iter().map(|&f| self.of[f as usize]));
            }
        }
        alike
    }
}

/// Whether every fact that counts an outcome counts its value. Only then can two values be
/// exchanged everywhere: facts may count rows of several columns, or sets of values, which do not
/// correspond one to one.
fn plain(evidence: &Evidence, outcome: u32) -> bool {
    let value = evidence.outcomes()[outcome as usize].value;
    let counts = |f: &u32| !matches!(evidence.facts()[*f as usize].source, Source::Published { value: v, .. } if v != value);
    evidence.facts_of(outcome).iter().all(counts)
}
