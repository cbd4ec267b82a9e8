//! Worlds one after another, by way of drafts in which a few counts are wrong.
//!
//! Where groups cross, two worlds may differ only in many people at once, so that nobody can be
//! redrawn alone. Two kinds of moves get from one world to another, and both leave all worlds
//! equally likely.
//!
//! - A **swap** changes two values along a closed walk. Somebody with an a gets a b, so that her
//!   groups have a b too many and an a too few; in one of them somebody else with a b gets an a,
//!   which moves the mistake to her other group; and so on until it arrives where the other one was
//!   left. All steps of the walk are as likely as their reverse, and as many walks begin in every
//!   world, so that a closed walk is as likely as its reverse. Swaps are quick, and do not reach
//!   every world: with three values and more there are worlds between which no two of them can be
//!   exchanged.
//! - An **excursion** lets mistakes also split into others that meet again. A draft is as likely as
//!   its weight, which falls by the same factor for each count that is wrong by one. Somebody who
//!   could put something right is chosen, and another outcome for her by the weights of what would
//!   be; whether it is taken depends on how likely the reverse is to be chosen (Metropolis and
//!   Hastings). Every draft can be reached from every other, and so can every world. Only worlds
//!   are counted, and they all have the same weight.

use super::draft::{Draft, Mender};
use super::tally::{BATCHES, Tally};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// The most steps of a swap for each person; longer ones are given up, as their reverses are.
const LONGEST: u64 = 16;

/// One of so many times, anybody is redrawn instead of somebody who could put something right.
/// Without it what is put right in one place while something else is wrong could not become wrong
/// again, and steps must be as possible as their reverse.
const ANYBODY: u32 = 16;

/// How much should be wrong on average, beside what a single step makes wrong: little enough to
/// come back to a world often, enough to go far.
const WRONG: f64 = 1.25;

/// Steps from one world to the next, on average of a batch, that are too many.
const SLOW: u64 = 256;

/// Moves of each kind by which they are compared.
const MOVES: u64 = 1000;

/// A trial of a weight takes one of so many steps of those for finding a good one.
const TRIALS: u64 = 32;

/// The slope of the logarithms of weights from one trial to the next, and the least of all.
const FLATTER: f64 = 0.98;
const FLATTEST: f64 = 0.1;

/// A chain of drafts.
pub(super) struct Chain<'a> {
    draft: Draft<'a>,
    rng: ChaCha8Rng,
    weights: Weights,
    /// How often a move is a swap.
    swaps: f64,
    /// Whose outcome may differ from the last world's, and what it was.
    touched: Vec<(u32, u32)>,
    is_touched: Vec<bool>,
    steps: u64,
    /// What each outcome of somebody would make wrong, and its weight.
    wrong: Vec<u32>,
    weight: Vec<f64>,
    /// Those who can go on with a swap, and how.
    next: Vec<Mender>,
}

impl<'a> Chain<'a> {
    /// A chain from a world.
    pub(super) fn new(world: Draft<'a>, rng: ChaCha8Rng) -> Chain<'a> {
        let is_touched = vec![false; world.roster.people()];
        let (touched, wrong, weight, next) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        // So steep that hardly anything is ever wrong.
        let weights = Weights::new((1.0 + world.roster.all_outcomes() as f64).ln());
        Chain {
            draft: world,
            rng,
            weights,
            swaps: 0.5,
            touched,
            is_touched,
            steps: 0,
            wrong,
            weight,
            next,
        }
    }

    /// Steps that it took.
    pub(super) fn steps(&self) -> u64 {
        self.steps
    }

    /// Finds out, in about so many steps, with which weight the drafts are as wrong as they should
    /// be, and how often to swap so that swaps take as many steps as excursions.
    pub(super) fn tune(&mut self, steps: u64, go_on: &dyn Fn(u64) -> bool) {
        self.tune_weight(steps, go_on);
        let before = self.steps;
        (0..MOVES).for_each(|_| self.swap());
        let swaps = self.steps - before;
        (0..MOVES).take_while(|_| self.excursion(before + swaps + MOVES * SLOW)).count();
        let excursions = self.steps - before - swaps;
        if self.draft.is_world() {
            self.arrive();
        }
        self.go_back();
        self.swaps = excursions as f64 / (swaps + excursions) as f64;
    }

    /// It comes from the side on which hardly anything is wrong, and begins each trial with a
    /// world: where much is wrong, a weight that falls too steeply keeps it so.
    fn tune_weight(&mut self, steps: u64, go_on: &dyn Fn(u64) -> bool) {
        let aim = WRONG * self.draft.roster.breadth as f64;
        let steps = (steps / TRIALS).max(64);
        while self.weights.slope > FLATTEST {
            let mut wrong = 0.0;
            for step in 0..steps {
                if step.is_multiple_of(0x10000) && !go_on(0) {
                    return;
                }
                self.step();
                wrong += f64::from(self.draft.wrong);
                if self.draft.is_world() {
                    self.arrive();
                }
            }
            self.go_back();
            if wrong >= aim * steps as f64 {
                break;
            }
            self.weights = Weights::new(self.weights.slope * FLATTER);
        }
    }

    /// This is the last world now.
    fn arrive(&mut self) {
        self.touched.drain(..).for_each(|(person, _)| self.is_touched[person as usize] = false);
    }

    /// To the last world again.
    fn go_back(&mut self) {
        while let Some((person, outcome)) = self.touched.pop() {
            self.is_touched[person as usize] = false;
            self.draft.change(person, outcome);
        }
    }

    /// Visits worlds for all batches, so many for each. `None` if `go_on` says so: it is told of
    /// every so many steps.
    pub(super) fn draw(&mut self, visits: u64, go_on: &dyn Fn(u64) -> bool) -> Option<Tally> {
        let mut tally = Tally::new(self.draft.roster, &self.draft.outcome);
        while tally.batches() < BATCHES {
            let before = self.steps;
            let in_time = (0..visits).all(|_| self.visit(before + visits * SLOW, &mut tally));
            if !go_on(self.steps - before) {
                return None;
            }
            if in_time {
                tally.close_batch();
            } else {
                // It takes too long from one world to the next: a little less should be wrong, and
                // all from the beginning.
                self.go_back();
                self.weights = Weights::new(self.weights.slope * 1.03);
                tally = Tally::new(self.draft.roster, &self.draft.outcome);
            }
        }
        Some(tally)
    }

    /// Moves to a world, the same or another, and counts it; answers whether it came there within
    /// so many steps.
    fn visit(&mut self, limit: u64, tally: &mut Tally) -> bool {
        if self.rng.random::<f64>() < self.swaps {
            self.swap();
        } else if !self.excursion(limit) {
            return false;
        }
        for (person, before) in self.touched.drain(..) {
            self.is_touched[person as usize] = false;
            tally.change(before, self.draft.outcome[person as usize]);
        }
        tally.visit();
        true
    }

    /// Somebody's outcome is about to change.
    fn touch(&mut self, person: u32) {
        if !std::mem::replace(&mut self.is_touched[person as usize], true) {
            self.touched.push((person, self.draft.outcome[person as usize]));
        }
    }

    /// Goes along a closed walk.
    fn swap(&mut self) {
        self.steps += 1;
        let person = self.rng.random_range(0..self.draft.roster.people() as u32);
        // Every outcome of everybody is as likely; those that somebody does not have stand for a
        // swap that does nothing.
        let outcomes = self.draft.roster.outcomes(person);
        let outcome = outcomes.start + self.rng.random_range(0..self.draft.roster.most_outcomes);
        if !outcomes.contains(&outcome) {
            return;
        }
        let Some(mut mistakes) = self.draft.mistakes(person, outcome) else { return };
        if self.rng.random::<bool>() {
            mistakes.reverse();
        }
        let [mut mistake, other] = mistakes;
        self.touch(person);
        self.draft.change(person, outcome);
        for _ in 0..LONGEST * self.draft.roster.people() as u64 {
            self.steps += 1;
            self.draft.menders(mistake, &mut self.next);
            let Mender { person, outcome, instead } =
                self.next[self.rng.random_range(0..self.next.len())];
            mistake = instead;
            self.touch(person);
            self.draft.change(person, outcome);
            if mistake == other.reverse() {
                return;
            }
        }
        self.go_back();
    }

    /// Goes on until the next world; answers whether it came there within so many steps.
    fn excursion(&mut self, limit: u64) -> bool {
        loop {
            self.step();
            if self.draft.is_world() || self.steps > limit {
                return self.draft.is_world();
            }
        }
    }

    /// Chooses somebody and another outcome for her, by the weights of what would be; and goes
    /// there as often as makes the step as frequent as its reverse.
    fn step(&mut self) {
        self.steps += 1;
        let person = self.choose();
        let before = self.chance(self.draft.suspicion(person));
        let old = self.draft.outcome[person as usize];
        let first = self.draft.roster.outcomes(person).start;
        self.draft.preview(person, &mut self.wrong);
        let least = self.wrong.iter().copied().min().unwrap_or(0);
        self.weight.clear();
        self.weight.extend(self.wrong.iter().map(|&wrong| self.weights.of(wrong - least)));
        let without = |i: u32| -> f64 {
            (first..).zip(&self.weight).filter(|(o, _)| *o != i).map(|(_, w)| w).sum()
        };
        let others = without(old);
        let mut at = self.rng.random::<f64>() * others;
        let mut new = old;
        for (outcome, weight) in (first..).zip(&self.weight).filter(|(o, _)| *o != old) {
            new = outcome;
            at -= weight;
            if at < 0.0 {
                break;
            }
        }
        let reverse = without(new);
        let attempt = self.draft.attempt(person, new);
        let ratio = self.chance(self.draft.suspicion_after(&attempt)) * others / (before * reverse);
        if ratio < 1.0 && self.rng.random::<f64>() >= ratio {
            self.draft.take_back(attempt);
        } else {
            self.draft.keep(attempt);
            if !std::mem::replace(&mut self.is_touched[person as usize], true) {
                self.touched.push((person, old));
            }
        }
    }

    /// Somebody who could put something right, or anybody.
    fn choose(&mut self) -> u32 {
        let rng = &mut self.rng;
        let suspect = if self.draft.is_world() || rng.random_range(0..ANYBODY) == 0 {
            None
        } else {
            self.draft.suspect(|n| rng.random_range(0..n))
        };
        suspect.unwrap_or_else(|| self.rng.random_range(0..self.draft.roster.people() as u32))
    }

    /// How likely somebody is to be chosen who is as likely as this to be the suspect.
    fn chance(&self, suspicion: f64) -> f64 {
        let anybody = 1.0 / self.draft.roster.people() as f64;
        if self.draft.is_world() {
            return anybody;
        }
        let share = 1.0 / f64::from(ANYBODY);
        share * anybody + (1.0 - share) * suspicion
    }
}

/// The weight of a draft by how much more is wrong in it than in another.
struct Weights {
    slope: f64,
    of: [f64; 16],
}

impl Weights {
    fn new(slope: f64) -> Weights {
        Weights { slope, of: std::array::from_fn(|wrong| (-slope * wrong as f64).exp()) }
    }

    fn of(&self, more: u32) -> f64 {
        self.of.get(more as usize).copied().unwrap_or_else(|| (-self.slope * f64::from(more)).exp())
    }
}
