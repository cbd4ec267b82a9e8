//! A first world: search with propagation of bounds, restarts, and attention to what failed before.

use super::graph::Lists;
use crate::inference::Evidence;
use rand::{Rng, RngExt};

/// What came of a search.
pub(super) enum Found {
    /// A world: how many people have each outcome.
    World(Vec<u32>),
    /// There is none.
    Nothing,
    /// The search was given up.
    GaveUp,
}

/// Looks for a world, trying at most so many bounds.
pub(super) fn find(evidence: &Evidence, rng: &mut impl Rng, budget: u64) -> Found {
    let mut search = Search::new(evidence, rng);
    if !search.propagate() {
        return Found::Nothing;
    }
    let mut failures = 64;
    while search.work < budget {
        match search.descend(failures, rng, budget) {
            Descent::World => return Found::World(search.bounds.iter().map(|b| b.0).collect()),
            Descent::Exhausted => return Found::Nothing,
            Descent::Failed => failures += failures / 4,
        }
    }
    Found::GaveUp
}

enum Descent {
    World,
    Exhausted,
    Failed,
}

/// A sum of outcomes that must lie between two bounds: a kind, or a fact.
struct Sum {
    low: i64,
    high: i64,
    /// The sum of the members' lower bounds, and of their upper ones.
    least: i64,
    most: i64,
    /// How often it failed.
    weight: f32,
}

struct Search {
    sums: Vec<Sum>,
    members: Lists,
    sums_of: Lists,
    /// The least and the most people who may have each outcome.
    bounds: Vec<(u32, u32)>,
    /// What an outcome had last, which it tries first.
    last: Vec<u32>,
    /// All outcomes, the open ones first.
    outcomes: Vec<u32>,
    place: Vec<u32>,
    open: usize,
    /// Bounds that were changed: the outcome and what it had before.
    trail: Vec<(u32, (u32, u32))>,
    queue: Vec<u32>,
    queued: Vec<bool>,
    work: u64,
}

/// A choice: an outcome is for more than `middle` people, or not.
struct Choice {
    trail: usize,
    outcome: u32,
    middle: u32,
    more: bool,
}

impl Search {
    fn new(evidence: &Evidence, rng: &mut impl Rng) -> Search {
        let clamp = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        let sum = |low: u64, high: u64| Sum { low: clamp(low), high: clamp(high), least: 0, most: 0, weight: 1.0 };
        let kinds = evidence.kinds().iter().map(|k| sum(k.people.into(), k.people.into()));
        let mut sums: Vec<Sum> = kinds.chain(evidence.facts().iter().map(|f| sum(f.low, f.high))).collect();
        let (n, first_fact) = (evidence.outcomes().len(), evidence.kinds().len() as u32);
        let kind_of = evidence.kind_of();
        let pairs = (0..n as u32).flat_map(|o| {
            let facts = evidence.facts_of(o).iter().map(move |&f| first_fact + f);
            std::iter::once(kind_of[o as usize]).chain(facts).map(move |s| (o, s))
        });
        let sums_of = Lists::new(n, pairs.clone());
        let members = Lists::new(sums.len(), pairs.map(|(o, s)| (s, o)));
        let bounds: Vec<(u32, u32)> = kind_of.iter().map(|&k| (0, evidence.kinds()[k as usize].people)).collect();
        for (s, sum) in (0u32..).zip(&mut sums) {
            sum.most = members.of(s).iter().map(|&o| i64::from(bounds[o as usize].1)).sum();
        }
        let last = bounds.iter().map(|b| rng.random_range(0..=b.1)).collect();
        let mut search = Search {
            queue: (0..sums.len() as u32).collect(),
            queued: vec![true; sums.len()],
            sums,
            members,
            sums_of,
            bounds,
            last,
            outcomes: (0..n as u32).collect(),
            place: (0..n as u32).collect(),
            open: n,
            trail: Vec::new(),
            work: 0,
        };
        for outcome in 0..n as u32 {
            if search.bounds[outcome as usize].1 == 0 {
                search.close(outcome);
            }
        }
        search
    }

    /// One descent with choices and backtracking until a world, or until so many choices have failed.
    fn descend(&mut self, mut failures: u64, rng: &mut impl Rng, budget: u64) -> Descent {
        let mut choices: Vec<Choice> = Vec::new();
        loop {
            let Some(outcome) = self.choose(rng) else { return Descent::World };
            let (low, high) = self.bounds[outcome as usize];
            let middle = low + (high - low) / 2;
            let more = self.last[outcome as usize] > middle;
            choices.push(Choice { trail: self.trail.len(), outcome, middle, more });
            self.narrow(outcome, middle, more);
            while !self.propagate() {
                let Some(choice) = choices.pop() else { return Descent::Exhausted };
                self.undo(choice.trail);
                if failures == 0 || self.work > budget {
                    self.undo(choices.first().map_or(choice.trail, |first| first.trail));
                    return Descent::Failed;
                }
                failures -= 1;
                // What is left of the choice above is its other half, which stays when this one is undone.
                self.narrow(choice.outcome, choice.middle, !choice.more);
            }
        }
    }

    /// Takes the outcome to one side of the middle.
    fn narrow(&mut self, outcome: u32, middle: u32, more: bool) {
        let (low, high) = self.bounds[outcome as usize];
        self.bound(outcome, if more { (middle + 1, high) } else { (low, middle) });
    }

    fn bound(&mut self, outcome: u32, new: (u32, u32)) {
        let old = std::mem::replace(&mut self.bounds[outcome as usize], new);
        self.trail.push((outcome, old));
        for &s in self.sums_of.of(outcome) {
            let sum = &mut self.sums[s as usize];
            sum.least += i64::from(new.0) - i64::from(old.0);
            sum.most += i64::from(new.1) - i64::from(old.1);
            if !std::mem::replace(&mut self.queued[s as usize], true) {
                self.queue.push(s);
            }
        }
        if new.0 == new.1 {
            self.close(outcome);
        }
    }

    /// Puts an outcome behind the open ones.
    fn close(&mut self, outcome: u32) {
        self.open -= 1;
        self.swap(self.place[outcome as usize], self.open as u32);
    }

    fn swap(&mut self, a: u32, b: u32) {
        self.outcomes.swap(a as usize, b as usize);
        self.place[self.outcomes[a as usize] as usize] = a;
        self.place[self.outcomes[b as usize] as usize] = b;
    }

    /// Takes back what was bounded since.
    fn undo(&mut self, trail: usize) {
        while self.trail.len() > trail
            && let Some((outcome, old)) = self.trail.pop()
        {
            let new = std::mem::replace(&mut self.bounds[outcome as usize], old);
            for &s in self.sums_of.of(outcome) {
                let sum = &mut self.sums[s as usize];
                sum.least += i64::from(old.0) - i64::from(new.0);
                sum.most += i64::from(old.1) - i64::from(new.1);
            }
            if new.0 == new.1 {
                self.last[outcome as usize] = new.0;
                self.swap(self.place[outcome as usize], self.open as u32);
                self.open += 1;
            }
        }
    }

    /// Narrows bounds until nothing more follows; `false` if a sum cannot be met.
    fn propagate(&mut self) -> bool {
        while let Some(s) = self.queue.pop() {
            self.queued[s as usize] = false;
            let Sum { low, high, least, most, .. } = self.sums[s as usize];
            if least > high || most < low || low > high {
                self.sums[s as usize].weight += 1.0;
                self.queue.drain(..).for_each(|s| self.queued[s as usize] = false);
                return false;
            }
            if least == most || (least >= low && most <= high) {
                continue;
            }
            for i in 0..self.members.of(s).len() {
                let outcome = self.members.of(s)[i];
                let (from, to) = self.bounds[outcome as usize];
                if from == to {
                    continue;
                }
                self.work += 1;
                let Sum { least, most, .. } = self.sums[s as usize];
                let new_to = (high - least).saturating_add(from.into()).min(to.into());
                let new_from = (low - most).saturating_add(to.into()).max(from.into());
                if (new_from, new_to) != (from.into(), to.into()) {
                    self.bound(outcome, (new_from as u32, new_to as u32));
                }
            }
        }
        true
    }

    /// The open outcome whose sums are tightest and failed most, among some at random.
    fn choose(&mut self, rng: &mut impl Rng) -> Option<u32> {
        if self.open == 0 {
            return None;
        }
        let tightness = |o: u32| {
            let of = |&s: &u32| {
                self.sums[s as usize].weight / (self.sums[s as usize].most - self.sums[s as usize].least) as f32
            };
            self.sums_of.of(o).iter().map(of).sum::<f32>()
        };
        let some = (0..self.open.min(256)).map(|_| self.outcomes[rng.random_range(0..self.open)]);
        some.map(|o| (tightness(o), o)).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, o)| o)
    }
}
