//! The share of worlds: if every world that meets all facts is as likely as any other, how likely is an outcome?
//!
//! A world gives every person an outcome, so that a choice of n₁, n₂, … of the m people of a kind stands for
//! m! / (n₁! n₂! …) worlds. Small parts of the evidence are counted exactly. In the others worlds are drawn: several
//! chains start from worlds of their own and redraw blocks of people uniformly given everybody else. What comes of them
//! is an estimate, and says how far it may be off.
//!
//! Limits. In principle two worlds may differ in so many people at once that no block leads from one to the other; chains
//! that stay apart or stand still show in [`Sampled::unsettled`], but chains that all missed the same worlds would not. Give
//! only outcomes that are possible ([`crate::inference::forced`]): a value that is certain looks like a chain that is stuck.
//! Where thousands of people are counted together in groups that cross (two releases in independent groups of ten), blocks
//! hardly ever contain a cycle along which values can move, most people stay unsettled, and the answer is no better than a
//! few worlds taken at random.

use crate::algorithm::Progress;
use crate::exact::Fraction;
use crate::inference::{Component, Evidence};
use chain::{Chain, SWEEPS};
use dashu_int::UBig;
use dashu_int::ops::BitTest;
use graph::Graph;
use programme::Programme;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tally::Tally;

mod blocks;
mod chain;
mod graph;
mod programme;
mod repair;
mod tally;

/// How worlds are counted and drawn.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The same seed draws the same worlds, with any number of threads.
    pub seed: u64,
    /// How many people are redrawn, in all chains together; everybody at least a few times. Nobody if it is 0: then only
    /// small parts are answered, see [`Worlds::knows`].
    pub budget: u64,
    /// How many moves for each person the search for a first world may take.
    pub search: u64,
    /// A part is counted exactly if that takes at most so many states.
    pub states: usize,
    /// A block of people is as large as can be redrawn with so many states.
    pub block: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options { seed: 0, budget: 1_000_000, search: 20_000, states: 1 << 20, block: 1 << 10 }
    }
}

/// Chains of each part that is drawn.
const CHAINS: usize = 4;

/// More facts open at once than this are not tried exactly.
const WIDTH: usize = 256;

/// The share of worlds in which a person of a kind has an outcome.
#[derive(Clone, Debug, PartialEq)]
pub struct Worlds {
    /// Per outcome: how likely it is for a person of its kind.
    pub probability: Vec<f64>,
    /// Per outcome: the standard error, 0 where it is exact, infinite where nothing was found out.
    pub error: Vec<f64>,
    /// Per outcome: the exact share, where it is exact.
    pub fraction: Vec<Option<Fraction>>,
    /// Number of people about whom it is exact.
    pub exact: u64,
    /// The natural logarithm of the number of worlds of all exact parts together.
    pub log_worlds: f64,
    /// About the other people.
    pub sampled: Option<Sampled>,
}

/// How well the estimates are known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampled {
    /// Number of people.
    pub people: u64,
    /// How often each of them was redrawn in every chain, at least, not counting what was forgotten.
    pub redraws: u64,
    /// The largest standard error.
    pub largest_error: f64,
    /// The largest split R̂: 1 if halves of chains agree with each other as well as with themselves.
    pub r_hat: f64,
    /// People with an outcome whose R̂ is above 1.1, or that every redraw ruled out or forced: chains may be stuck. Do not
    /// believe these.
    pub unsettled: u64,
    /// As many independent worlds would give an estimate of the same error, for the outcome with the fewest.
    pub effective: f64,
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoWorlds {
    /// The facts contradict each other: no world meets them all.
    Contradiction,
    /// In a part of so many people no world was found, and none was ruled out.
    NotFound {
        /// People of the part.
        people: u64,
    },
    /// It was stopped.
    Stopped,
}

impl fmt::Display for NoWorlds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoWorlds::Contradiction => write!(f, "no world agrees with everything that was published"),
            NoWorlds::NotFound { people } => {
                write!(f, "no world was found for {people} people who are counted together, and none was ruled out")
            }
            NoWorlds::Stopped => write!(f, "stopped before there was an estimate"),
        }
    }
}

impl std::error::Error for NoWorlds {}

/// How likely every outcome is if all worlds are, given that only some outcomes are possible (all of them, if nothing is
/// known: the answer is the same, but slower).
pub fn worlds(
    evidence: &Evidence,
    possible: &[bool],
    options: &Options,
    progress: Progress<'_>,
) -> Result<Worlds, NoWorlds> {
    let parts = evidence.components(possible).ok_or(NoWorlds::Contradiction)?;
    let counted: Vec<Option<Counted>> = parts.par_iter().map(|part| count(part, options.states)).collect();
    let mut worlds = Worlds::settled(evidence, possible);
    for (part, counted) in parts.iter().zip(&counted) {
        if let Some(counted) = counted {
            worlds.fill(part, counted)?;
        }
    }
    let uncounted = parts.iter().enumerate().filter(|(i, _)| counted[*i].is_none());
    let left: Vec<(u64, &Component)> = uncounted.map(|(i, part)| (i as u64, part)).collect();
    worlds.sample(&left, options, progress)?;
    Ok(worlds)
}

impl Worlds {
    /// Where every kind has one outcome, or nothing is known yet.
    fn settled(evidence: &Evidence, possible: &[bool]) -> Worlds {
        let n = evidence.outcomes().len();
        let mut worlds = Worlds {
            probability: vec![0.0; n],
            error: vec![0.0; n],
            fraction: vec![Some(Fraction::whole(0)); n],
            exact: evidence.people(),
            log_worlds: 0.0,
            sampled: None,
        };
        for kind in 0..evidence.kinds().len() as u32 {
            let mut outcomes = evidence.outcomes_of(kind).filter(|&o| possible[o as usize]);
            if let (Some(only), None) = (outcomes.next(), outcomes.next()) {
                worlds.probability[only as usize] = 1.0;
                worlds.fraction[only as usize] = Some(Fraction::whole(1));
            }
        }
        worlds
    }

    fn fill(&mut self, part: &Component, counted: &Counted) -> Result<(), NoWorlds> {
        if counted.worlds.is_zero() {
            return Err(NoWorlds::Contradiction);
        }
        self.log_worlds += ln(&counted.worlds) + counted.ln_common;
        let kind_of = part.evidence.kind_of();
        for (local, &outcome) in part.outcomes.iter().enumerate() {
            let people = part.evidence.kinds()[kind_of[local] as usize].people;
            let share = Fraction::new(counted.people[local].clone(), &counted.worlds * people);
            self.probability[outcome as usize] = share.to_f64();
            self.fraction[outcome as usize] = Some(share);
        }
        Ok(())
    }

    /// Estimates what was not counted.
    fn sample(
        &mut self,
        parts: &[(u64, &Component)],
        options: &Options,
        progress: Progress<'_>,
    ) -> Result<(), NoWorlds> {
        let people: u64 = parts.iter().map(|(_, part)| part.evidence.people()).sum();
        if people == 0 {
            return Ok(());
        }
        self.exact -= people;
        if options.budget == 0 {
            for &outcome in parts.iter().flat_map(|(_, part)| &part.outcomes) {
                self.error[outcome as usize] = f64::INFINITY;
                self.fraction[outcome as usize] = None;
            }
            return Ok(());
        }
        let sweeps = (options.budget / (people * CHAINS as u64 * SWEEPS)).max(2);
        let watch = Watch::new(progress, people * CHAINS as u64 * SWEEPS * sweeps);
        let chains = parts.par_iter().map(|&(number, part)| sample(number, part, sweeps, options, &watch));
        let chains: Vec<Vec<Tally>> = chains.collect::<Result<_, _>>()?;
        let mut sampled = Sampled {
            people,
            redraws: sweeps * chain::BATCHES,
            largest_error: 0.0,
            r_hat: 1.0,
            unsettled: 0,
            effective: f64::INFINITY,
        };
        for ((_, part), chains) in parts.iter().zip(&chains) {
            self.estimate(part, chains, &mut sampled);
        }
        self.sampled = Some(sampled);
        Ok(())
    }

    fn estimate(&mut self, part: &Component, chains: &[Tally], sampled: &mut Sampled) {
        for (kind, k) in (0u32..).zip(part.evidence.kinds()) {
            let (mut r_hat, mut stuck) = (1.0f64, false);
            for local in part.evidence.outcomes_of(kind) {
                let estimate = tally::estimate(chains, kind, local);
                let outcome = part.outcomes[local as usize] as usize;
                (self.probability[outcome], self.error[outcome]) = (estimate.share, estimate.error);
                self.fraction[outcome] = None;
                r_hat = r_hat.max(estimate.r_hat);
                stuck |= estimate.stuck;
                sampled.largest_error = sampled.largest_error.max(estimate.error);
                let spread = estimate.share * (1.0 - estimate.share);
                if spread > 0.0 {
                    sampled.effective = sampled.effective.min(spread / (estimate.error * estimate.error));
                }
            }
            sampled.r_hat = sampled.r_hat.max(r_hat);
            sampled.unsettled += if stuck || r_hat > 1.1 { u64::from(k.people) } else { 0 };
        }
    }

    /// Whether something is known of an outcome: it was counted or drawn.
    pub fn knows(&self, outcome: u32) -> bool {
        self.error[outcome as usize].is_finite()
    }

    /// How far a belief, a probability per outcome, is from the share of worlds, where that is known.
    pub fn compare(&self, evidence: &Evidence, belief: &[f64]) -> Distance {
        let mut distance = Distance::default();
        let (mut sum, mut people) = (0.0, 0u64);
        for (kind, k) in (0u32..).zip(evidence.kinds()) {
            people += if evidence.outcomes_of(kind).all(|o| self.knows(o)) { u64::from(k.people) } else { 0 };
            for outcome in evidence.outcomes_of(kind).filter(|&o| self.knows(o)) {
                let o = outcome as usize;
                let above = self.probability[o] - belief[o];
                if above > distance.understated.0 {
                    distance.understated = (above, Some(outcome));
                }
                if -above > distance.overstated.0 {
                    distance.overstated = (-above, Some(outcome));
                }
                // Half of what all outcomes differ by is what has to move from one to another.
                sum += above.abs() / 2.0 * f64::from(k.people);
            }
        }
        distance.mean = sum / (people.max(1) as f64);
        distance
    }
}

/// How far a belief is from the share of worlds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Distance {
    /// By how much it is too low at most, and for which outcome: what it hides.
    pub understated: (f64, Option<u32>),
    /// By how much it is too high at most, and for which outcome.
    pub overstated: (f64, Option<u32>),
    /// The variation distance, averaged over people.
    pub mean: f64,
}

/// All worlds of a part.
struct Counted {
    /// How many, but for what all have in common.
    worlds: UBig,
    ln_common: f64,
    /// Per outcome: people who have it, over all worlds.
    people: Vec<UBig>,
}

/// Counts the worlds of a part; `None` if that would take too many states.
fn count(part: &Component, states: usize) -> Option<Counted> {
    let graph = Graph::new(&part.evidence);
    let order = graph.order(WIDTH)?;
    let programme = Programme::new(&part.evidence, &graph, &order, states / words(&part.evidence))?;
    let mut ways = Default::default();
    let ahead = programme.ahead::<UBig>(&mut ways);
    let mut people = vec![UBig::ZERO; part.outcomes.len()];
    programme.people(&ahead, &mut ways, &mut people);
    Some(Counted { worlds: ahead[0][0].clone(), ln_common: programme.ln_common, people })
}

/// About how many times as large as a small one a number of worlds may be.
fn words(evidence: &Evidence) -> usize {
    let bits = |(kind, k): (u32, &crate::inference::Kind)| {
        f64::from(k.people) * (evidence.outcomes_of(kind).len() as f64).log2()
    };
    1 + ((0u32..).zip(evidence.kinds()).map(bits).sum::<f64>() / 256.0) as usize
}

fn ln(n: &UBig) -> f64 {
    let excess = n.bit_len().saturating_sub(64);
    (n >> excess).to_f64().value().ln() + excess as f64 * std::f64::consts::LN_2
}

/// Chains of worlds of a part, each from a world of its own.
fn sample(
    number: u64,
    part: &Component,
    sweeps: u64,
    options: &Options,
    watch: &Watch<'_>,
) -> Result<Vec<Tally>, NoWorlds> {
    let people = part.evidence.people();
    let graph = Graph::new(&part.evidence);
    let chain = |chain: usize| {
        let mut rng = ChaCha8Rng::seed_from_u64(options.seed);
        rng.set_stream(number * CHAINS as u64 + chain as u64);
        let world = repair::find(&part.evidence, &graph, &mut rng, options.search.saturating_mul(people));
        let chain = Chain::new(&graph, world.ok_or(NoWorlds::NotFound { people })?, rng, options.block);
        chain.run(sweeps, || watch.go_on(people)).ok_or(NoWorlds::Stopped)
    };
    (0..CHAINS).into_par_iter().map(chain).collect()
}

/// Adds up the progress of all chains.
struct Watch<'a> {
    progress: Progress<'a>,
    done: AtomicU64,
    all: u64,
    stopped: AtomicBool,
}

impl<'a> Watch<'a> {
    fn new(progress: Progress<'a>, all: u64) -> Watch<'a> {
        Watch { progress, done: AtomicU64::new(0), all, stopped: AtomicBool::new(false) }
    }

    /// Tells that so many people are about to be redrawn.
    fn go_on(&self, people: u64) -> bool {
        let done = self.done.fetch_add(people, Ordering::Relaxed);
        if !(self.progress)(done, self.all) {
            self.stopped.store(true, Ordering::Relaxed);
        }
        !self.stopped.load(Ordering::Relaxed)
    }
}
