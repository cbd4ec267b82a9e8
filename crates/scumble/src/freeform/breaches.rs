//! All freeform attacks that are breaches, and which of them are minimal.
//!
//! Sets X are looked at by their number of values, so that of those with fewer values the minimal
//! ones are known; a breach is minimal unless a more general one is among them.

use super::cube::Cube;
use super::search::{Tally, Visit};
use crate::class::Run;
use crate::exact::Ratio;
use hashbrown::HashMap;
use std::cmp::Reverse;

/// A breach X → a.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breach {
    /// X without the roots: attributes with their values.
    pub known: Vec<(usize, Run)>,
    /// a: an attribute and its value.
    pub value: (usize, Run),
    /// Records that match X.
    pub support: u64,
    /// Those of them that match a.
    pub with: u64,
    /// (with / support) · s(a).
    pub threat: Ratio,
    /// Whether a is shown in the release, as Definition 3.3 wants it; otherwise it is more general
    /// (Definition 3.4).
    pub shown: bool,
    /// Whether no more general X breaches a.
    pub minimal: bool,
}

/// All breaches.
#[derive(Clone, Debug, Default)]
pub struct Breaches {
    /// How many there are (Definition 3.4).
    pub all: u64,
    /// How many of them attack a value that the release shows (Definition 3.3).
    pub shown: u64,
    /// The minimal ones, those that threaten most first.
    pub minimal: Vec<Breach>,
    /// The others, as many as were asked for.
    pub others: Vec<Breach>,
    /// Records whose own value some breach attacks.
    pub people: u64,
}

impl Cube {
    /// Every breach. Of those that are not minimal at most `others` are kept.
    pub fn breaches(&self, threat: Ratio, others: usize) -> Breaches {
        let mut found = Breaches::default();
        let mut minimal: HashMap<Key, Breach> = HashMap::new();
        let mut exposed = vec![false; self.counts.len()];
        let longest = self.known.min(self.axes.iter().filter(|a| a.is_observable()).count());
        for length in 0..=longest {
            let pass = Pass { threat, length, minimal: &minimal, others };
            let mut states = self.search(None, &pass, &|| Found::new(self));
            let mut new: Vec<(Key, Breach)> =
                states.iter_mut().flat_map(|s| std::mem::take(&mut s.candidates)).collect();
            for state in states {
                found.all += state.all;
                found.shown += state.shown;
                found.others.extend(state.others);
                state.exposed.iter().for_each(|&row| exposed[row as usize] = true);
            }
            // More general sets of as many values come first, so that what is minimal is known
            // before it is asked for.
            new.sort_by_cached_key(|(key, _)| (self.depth(&key.0), key.clone()));
            for (key, breach) in new {
                if self.generalized(&key, &minimal, false) {
                    found.others.push(breach);
                } else {
                    minimal.insert(key, Breach { minimal: true, ..breach });
                }
            }
            found.others.truncate(others);
        }
        found.people = self.counts.iter().zip(&exposed).filter(|(_, e)| **e).map(|(n, _)| n).sum();
        found.minimal = minimal.into_values().collect();
        let order = |b: &Breach| {
            (Reverse(b.threat), Reverse(b.with), b.known.len(), b.known.clone(), b.value)
        };
        found.minimal.sort_by_cached_key(order);
        found.others.sort_by_cached_key(order);
        found
    }

    /// How many observable values stand above those of X.
    fn depth(&self, x: &[(u16, u32)]) -> usize {
        let ways = |&(axis, value): &(u16, u32)| self.chain(axis as usize, value).count();
        x.iter().map(ways).sum()
    }

    /// An observable value and those above it.
    fn chain(&self, axis: usize, value: u32) -> impl Iterator<Item = u32> {
        std::iter::successors(Some(value), move |&v| self.axes[axis].values[v as usize].above)
    }

    /// Whether a more general X is among these, with the same target; with fewer values only if
    /// that is asked.
    fn generalized(&self, (x, target): &Key, among: &HashMap<Key, Breach>, fewer: bool) -> bool {
        let mut sets: Vec<Vec<(u16, u32)>> = vec![Vec::new()];
        for &(axis, value) in x {
            let mut longer = Vec::new();
            for set in &sets {
                for v in self.chain(axis as usize, value) {
                    longer.push(set.iter().copied().chain([(axis, v)]).collect());
                }
            }
            if fewer {
                longer.append(&mut sets);
            }
            sets = longer;
        }
        sets.into_iter().any(|set| set != *x && among.contains_key(&(set, *target)))
    }
}

/// X as axes with values, by rising axis, and the target.
type Key = (Vec<(u16, u32)>, u32);

/// Looks for all breaches with so many values known.
struct Pass<'a> {
    threat: Ratio,
    length: usize,
    /// Those with fewer that are minimal.
    minimal: &'a HashMap<Key, Breach>,
    others: usize,
}

struct Found {
    tally: Tally,
    /// Targets that a part of X breaches already, one list for each of its lengths.
    breached: Vec<Vec<u32>>,
    all: u64,
    shown: u64,
    candidates: Vec<(Key, Breach)>,
    others: Vec<Breach>,
    exposed: Vec<u32>,
}

impl Found {
    fn new(cube: &Cube) -> Found {
        Found {
            tally: Tally::new(cube),
            breached: Vec::new(),
            all: 0,
            shown: 0,
            candidates: Vec::new(),
            others: Vec::new(),
            exposed: Vec::new(),
        }
    }
}

impl Visit for Pass<'_> {
    type State = Found;
    const LAZY: bool = false;

    fn visit(&self, cube: &Cube, x: &[(u16, u32)], rows: &[u32], state: &mut Found) -> bool {
        let of = state.tally.count(cube, x, rows, |_| true);
        let breach = |&t: &u32| {
            let threat =
                cube.targets[t as usize].threat(state.tally.counts[t as usize], of, self.threat)?;
            Some((t, threat))
        };
        let mut breached: Vec<(u32, Ratio)> =
            state.tally.touched.iter().filter_map(breach).collect();
        let more = x.len() < self.length && !state.tally.touched.is_empty();
        if x.len() == self.length {
            breached.sort_unstable_by_key(|(t, _)| *t);
            for &(t, threat) in &breached {
                self.found(cube, x, rows, (t, threat, of), state);
            }
        }
        if !x.is_empty() {
            state.breached.push(breached.into_iter().map(|(t, _)| t).collect());
        }
        more
    }

    fn leave(&self, state: &mut Found) {
        state.breached.pop();
    }
}

impl Pass<'_> {
    fn found(
        &self,
        cube: &Cube,
        x: &[(u16, u32)],
        rows: &[u32],
        (t, threat, of): (u32, Ratio, u64),
        state: &mut Found,
    ) {
        let target = cube.targets[t as usize];
        let value = &cube.axes[target.axis].values[target.value];
        state.all += 1;
        state.shown += u64::from(value.in_cut);
        let key: Key = (x.to_vec(), t);
        let implied = state.breached.iter().any(|b| b.contains(&t))
            || cube.generalized(&key, self.minimal, true);
        if implied && state.others.len() >= self.others {
            return;
        }
        let known = |&(axis, value): &(u16, u32)| {
            let axis = &cube.axes[axis as usize];
            (axis.attribute, axis.values[value as usize].run)
        };
        let breach = Breach {
            known: x.iter().map(known).collect(),
            value: (cube.axes[target.axis].attribute, value.run),
            support: of,
            with: state.tally.counts[t as usize],
            threat,
            shown: value.in_cut,
            minimal: false,
        };
        if implied {
            state.others.push(breach);
            return;
        }
        let column = &cube.axes[target.axis].column;
        state
            .exposed
            .extend(rows.iter().filter(|&&row| value.numbers.contains(&column[row as usize])));
        state.candidates.push((key, breach));
    }
}
