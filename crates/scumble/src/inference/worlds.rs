//! The share of worlds: if every world that meets all facts is as likely as any other, how likely
//! is an outcome?
//!
//! A world gives every person an outcome, so that a choice of n₁, n₂, … of the m people of a kind
//! stands for m! / (n₁! n₂! …) worlds. Small parts of the evidence are counted exactly; where all
//! values are alike, their shares are equal without counting. In the other parts worlds are drawn,
//! by several chains from worlds of their own (`worlds/chain.rs` tells how they move). What comes
//! of them is an estimate with a standard error.
//!
//! # What the error is worth
//! Every world can be reached from every other, and only how long it takes is in question. Rounds
//! double until the error is small enough, and only the last counts. The error comes from the means
//! of 64 batches, or of longer stretches up to whole chains where these differ more than chance
//! allows. Somebody is settled if halves of chains agree about all her outcomes, and if they tell
//! as much as a hundred independent worlds. What chains that all missed the same worlds would miss,
//! nobody sees; they start far from each other to make that unlikely.
//!
//! Where chains would take too long to settle, `worlds/beliefs.rs` finds shares without drawing,
//! and the chains, which know nothing of each other, tell how far these are off on average: that is
//! their error. It takes far fewer worlds to see what many shares are off by together than to find
//! each of them.
//!
//! # Limits
//! Two independent releases in groups of ten of fourteen values are hard: two values can hardly be
//! exchanged along a closed walk, so that one world is left for another only through drafts with a
//! dozen wrong counts. With 7 200 people in one part an independent world takes some ten million
//! steps, and for one outcome in a hundred more than twenty times as many; beliefs are off by no
//! more than 150 independent worlds would be. An error of beliefs is a mean: single shares may be
//! off by more than chance would make of it. There are parts in which not even a first world is
//! found; they are left out (groups of five or six different values, out of so few that hardly
//! anything is forced). With three releases and more only excursions move.
//!
//! Give only outcomes that are possible ([`crate::inference::forced`]): others are never seen, and
//! only widen errors.

use crate::exact::Fraction;
use crate::inference::even::even;
use crate::inference::{Component, Evidence};
use crate::progress::{Progress, Watch};
use chain::Chain;
use dashu_int::UBig;
use dashu_int::ops::BitTest;
use draft::Roster;
use graph::Graph;
use programme::{Programme, Ways};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use tally::{Drawn, Tally};

mod beliefs;
mod chain;
mod draft;
mod graph;
mod programme;
mod start;
mod tally;

/// How worlds are counted and drawn.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The same seed draws the same worlds, with any number of threads.
    pub seed: u64,
    /// How many steps all chains together may take, for each person who is drawn, not counting what
    /// the search for a first world takes; none if it is 0: then only small parts
    /// are answered, see [`Worlds::knows`].
    pub budget: u64,
    /// Worlds are drawn until no standard error is larger, as far as the budget goes.
    pub error: f64,
    /// How many steps for each person the search for a first world may take.
    pub search: u64,
    /// A part is counted exactly if that takes at most so many states. With none, worlds are drawn
    /// even where all values are alike.
    pub states: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options { seed: 0, budget: 20_000, error: 0.01, search: 16_000, states: 1 << 20 }
    }
}

/// Chains of each part that is drawn.
const CHAINS: usize = 4;

/// As many steps are taken for fewer people.
const FEW: u64 = 64;

/// Steps for each person in which a chain finds out how far to go.
const TUNING: u64 = 200;

/// More facts open at once than this are not tried exactly.
const WIDTH: usize = 256;

/// The share of worlds in which a person of a kind has an outcome.
#[derive(Clone, Debug, PartialEq)]
pub struct Worlds {
    /// Per outcome: how likely it is for a person of its kind.
    pub probability: Vec<f64>,
    /// Per outcome: the standard error, 0 where it is exact, infinite where nothing was found out.
    pub error: Vec<f64>,
    /// Per outcome: whether the share can be relied on, within the error: it was counted, or enough
    /// worlds were drawn.
    settled: Vec<bool>,
    /// Per outcome: the exact share, where it is exact.
    pub fraction: Vec<Option<Fraction>>,
    /// Number of people about whom it is exact.
    pub exact: u64,
    /// The natural logarithm of the number of worlds of all parts together that were counted.
    pub log_worlds: f64,
    /// Number of people about whom nothing was found out: drawing was not asked for, or no world
    /// was found to begin with.
    pub unknown: u64,
    /// About the other people.
    pub sampled: Option<Sampled>,
}

/// How well the estimates are known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampled {
    /// Number of people.
    pub people: u64,
    /// Worlds that the chains visited, at least, not counting what was forgotten.
    pub worlds: u64,
    /// The largest standard error of people who are settled.
    pub largest_error: f64,
    /// The largest split R̂: 1 if halves of chains agree with each other as well as with
    /// themselves.
    pub r_hat: f64,
    /// People about whom chains would take too long: their shares come from belief propagation, and
    /// their errors from what chains find it off by.
    pub believed: u64,
    /// People with an outcome about which halves of chains disagree, or of which fewer than a
    /// hundred independent worlds could tell as much, and about whom beliefs were no better.
    /// Nothing of them [is known](Worlds::knows); their shares and errors are what was seen.
    pub unsettled: u64,
    /// Outcomes that are possible and that no world had. Their error allows for one.
    pub unseen: u64,
    /// As many independent worlds would give an estimate of the same error, for the outcome with
    /// the fewest. Four chains that never move and disagree show 21, because their means are
    /// believed only as far as chance does not explain them: so low a figure says that they have
    /// not mixed, not that 21 worlds were drawn.
    pub effective: f64,
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoWorlds {
    /// The facts contradict each other: no world meets them all.
    Contradiction,
    /// It was stopped.
    Stopped,
}

impl fmt::Display for NoWorlds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoWorlds::Contradiction => {
                write!(f, "no world agrees with everything that was published")
            }
            NoWorlds::Stopped => write!(f, "stopped before there was an estimate"),
        }
    }
}

impl std::error::Error for NoWorlds {}

/// Marginal probability of every outcome if all worlds are equally likely, given that only some outcomes are possible (all
/// of them, if nothing is known: the answer is the same, but slower).
pub fn worlds(
    evidence: &Evidence,
    possible: &[bool],
    options: &Options,
    progress: Progress<'_>,
) -> Result<Worlds, NoWorlds> {
    let parts = evidence.components(possible).ok_or(NoWorlds::Contradiction)?;
    let counting = Watch::timed(progress, 0);
    counting.go_on();
    let counted: Vec<Option<Counted>> =
        parts.par_iter().map(|part| count(part, options.states, &counting)).collect();
    if counting.check().is_err() {
        return Err(NoWorlds::Stopped);
    }
    let mut worlds = Worlds::settled(evidence, possible);
    for (part, counted) in parts.iter().zip(&counted) {
        if let Some(counted) = counted {
            worlds.fill(part, counted)?;
        }
    }
    let uncounted = parts.iter().enumerate().filter(|(i, _)| counted[*i].is_none());
    let uncounted: Vec<(u64, &Component)> = uncounted.map(|(i, part)| (i as u64, part)).collect();
    let (alike, left): (Vec<_>, Vec<_>) = uncounted
        .into_iter()
        .partition(|(_, part)| options.states > 0 && even(&part.evidence).iter().all(|&e| e));
    alike.into_iter().for_each(|(_, part)| worlds.share_evenly(part));
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
            settled: vec![true; n],
            fraction: vec![Some(Fraction::whole(0)); n],
            exact: evidence.people(),
            log_worlds: 0.0,
            unknown: 0,
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

    /// All values of a part are alike.
    fn share_evenly(&mut self, part: &Component) {
        for kind in 0..part.evidence.kinds().len() as u32 {
            let outcomes = part.evidence.outcomes_of(kind);
            let share = Fraction::new(1u32, outcomes.len() as u32);
            for local in outcomes {
                let outcome = part.outcomes[local as usize] as usize;
                self.probability[outcome] = share.to_f64();
                self.fraction[outcome] = Some(share.clone());
            }
        }
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
            parts.iter().for_each(|(_, part)| self.leave_out(part));
            return Ok(());
        }
        let steps = |(_, part): &(u64, &Component)| {
            options.budget.saturating_mul(part.evidence.people().max(FEW))
        };
        let watch = Watch::timed(progress, parts.iter().map(steps).fold(0, u64::saturating_add));
        let drawn = parts.par_iter().map(|&(number, part)| sample(number, part, options, &watch));
        let drawn: Vec<Option<Drawn>> = drawn.collect();
        watch.check().map_err(|_| NoWorlds::Stopped)?;
        let mut sampled = Sampled {
            people,
            worlds: u64::MAX,
            largest_error: 0.0,
            r_hat: 1.0,
            believed: 0,
            unsettled: 0,
            unseen: 0,
            effective: f64::INFINITY,
        };
        for ((_, part), drawn) in parts.iter().zip(&drawn) {
            match drawn {
                Some(drawn) => self.estimate(part, drawn, &mut sampled),
                None => self.leave_out(part),
            }
        }
        sampled.people -= self.unknown;
        self.sampled = (sampled.people > 0).then_some(sampled);
        Ok(())
    }

    /// Nothing is found out about a part.
    fn leave_out(&mut self, part: &Component) {
        self.unknown += part.evidence.people();
        for &outcome in &part.outcomes {
            self.error[outcome as usize] = f64::INFINITY;
            self.settled[outcome as usize] = false;
            self.fraction[outcome as usize] = None;
        }
    }

    fn estimate(&mut self, part: &Component, drawn: &Drawn, sampled: &mut Sampled) {
        sampled.worlds = sampled.worlds.min(drawn.worlds);
        sampled.effective = sampled.effective.min(drawn.effective);
        for (kind, k) in (0u32..).zip(part.evidence.kinds()) {
            let outcomes = || part.evidence.outcomes_of(kind).map(|o| o as usize);
            let by_draws = outcomes().all(|o| Drawn::is_settled(&drawn.estimates[o]));
            let believed = drawn.believed.as_ref().filter(|_| !by_draws);
            sampled.believed += believed.map_or(0, |_| u64::from(k.people));
            let settled = by_draws || believed.is_some();
            for local in outcomes() {
                let estimate = &believed.unwrap_or(&drawn.estimates)[local];
                let outcome = part.outcomes[local] as usize;
                (self.probability[outcome], self.error[outcome]) = (estimate.share, estimate.error);
                (self.settled[outcome], self.fraction[outcome]) = (settled, None);
                sampled.r_hat = sampled.r_hat.max(drawn.estimates[local].r_hat);
                sampled.unseen += u64::from(drawn.estimates[local].share == 0.0);
                if settled {
                    sampled.largest_error = sampled.largest_error.max(estimate.error);
                }
            }
            sampled.unsettled += if settled { 0 } else { u64::from(k.people) };
        }
    }

    /// Whether the share of an outcome is known: it was counted, or drawn and has settled.
    pub fn knows(&self, outcome: u32) -> bool {
        self.settled[outcome as usize]
    }

    /// How far a belief, a probability per outcome, is from the share of worlds, where that is
    /// known.
    pub fn compare(&self, evidence: &Evidence, belief: &[f64]) -> Distance {
        let mut distance = Distance::default();
        let (mut sum, mut people) = (0.0, 0u64);
        for (kind, k) in (0u32..).zip(evidence.kinds()) {
            people += if evidence.outcomes_of(kind).all(|o| self.knows(o)) {
                u64::from(k.people)
            } else {
                0
            };
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

/// Counts the worlds of a part; `None` if that would take too many states, or is stopped.
fn count(part: &Component, states: usize, watch: &Watch<'_>) -> Option<Counted> {
    if !watch.work(1 + part.outcomes.len() as u64, programme::ASKED) {
        return None;
    }
    let graph = Graph::new(&part.evidence);
    let order = graph.order(WIDTH)?;
    let limit = states / words(&part.evidence);
    let programme = Programme::new(&part.evidence, &graph, &order, limit, watch)?;
    let mut ways = Ways::default();
    let ahead = programme.ahead(&mut ways, watch)?;
    let people = programme.people(&ahead, part.outcomes.len(), &mut ways, watch)?;
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

/// Draws worlds of a part, in chains that each begin with a world of its own: twice as many in
/// every round, until they are enough or the next round would take too long. Only the last round
/// counts, so that the chains had half of all steps to forget where they began. Nothing if there is
/// no world to begin with, or if it is stopped before there is an estimate.
fn sample(number: u64, part: &Component, options: &Options, watch: &Watch<'_>) -> Option<Drawn> {
    let people = part.evidence.people();
    let roster = Roster::new(&part.evidence, &Graph::new(&part.evidence));
    let go_on = |steps: u64| watch.add(steps);
    // Where one search fails, the others are not worth their while.
    let failed = AtomicBool::new(false);
    let search = |steps: u64| !failed.load(Ordering::Relaxed) && go_on(steps);
    let begin = |chain: usize| {
        let mut rng = ChaCha8Rng::seed_from_u64(options.seed);
        rng.set_stream(number * CHAINS as u64 + chain as u64);
        let world = start::find(&roster, &mut rng, options.search.saturating_mul(people), &search);
        failed.fetch_or(world.is_none(), Ordering::Relaxed);
        let mut chain = Chain::new(world?, rng);
        chain.tune(TUNING * people, &search);
        Some(chain)
    };
    let chains: Option<Vec<Chain<'_>>> = (0..CHAINS).into_par_iter().map(begin).collect();
    let mut chains = chains.filter(|_| !watch.stopped())?;
    let mut last: Option<Drawn> = None;
    let begun: u64 = chains.iter().map(Chain::steps).sum();
    let budget = options.budget.saturating_mul(people.max(FEW));
    let mut visits = people.max(FEW);
    loop {
        let before: u64 = chains.iter().map(Chain::steps).sum();
        let tallies = chains.par_iter_mut().map(|chain| chain.draw(visits, &go_on));
        let Some(tallies) = tallies.collect::<Option<Vec<Tally>>>() else {
            // Time is up: the last round that is complete is the estimate.
            return last;
        };
        let mut drawn = Drawn::new(&tallies, &part.evidence);
        let after: u64 = chains.iter().map(Chain::steps).sum();
        if drawn.is_enough(options.error) || after - begun + 2 * (after - before) > budget {
            if !drawn.all_settled()
                && let Some(beliefs) = beliefs::beliefs(&part.evidence, &go_on)
            {
                drawn.believe(&tallies, &beliefs, &part.evidence);
            }
            watch.add(budget.saturating_sub(after - begun));
            return Some(drawn);
        }
        last = Some(drawn);
        visits *= 2;
    }
}
