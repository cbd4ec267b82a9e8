//! The maximum-entropy belief: of all beliefs that meet every published count, the one that assumes
//! least.
//!
//! It treats people as independent of each other given the counts, so it is not the share of
//! consistent worlds ([`super::worlds`]) and may understate what is known.
//!
//! The work is limited, and the limit is shared by parts in proportion to their size, so that the
//! answer does not depend on the machine. Where a part does not settle within it, its belief so far
//! stands, and is said not to have settled.

mod newton;
mod part;
mod recession;

use super::effort::{Effort, Exhausted};
use super::evidence::{Component, Evidence};
use crate::progress::{Progress, Watch};
use part::Part;
use rayon::prelude::*;

/// Parts with at least so many outcomes are solved one after another, each on all cores.
const LARGE: usize = 50_000;

/// Work that a belief may take unless something else is asked for: about a minute on one core.
pub const WORK: u64 = 10_000_000_000;

/// Of a belief that has settled, every count is met up to this, for each person counted.
const SETTLED: f64 = 1e-6;

/// A probability for every outcome.
#[derive(Clone, Debug, PartialEq)]
pub struct Beliefs {
    /// Outcome by outcome; zero for what is impossible.
    pub probability: Vec<f64>,
    /// Fact by fact: the logarithm of the factor that it gives to the outcomes that it counts; zero
    /// where only settled people are counted.
    pub multiplier: Vec<f64>,
    /// Sum over all people of the entropy of their outcomes, in nats.
    pub entropy: f64,
    /// Largest number of people by which a fact is missed.
    pub violation: f64,
    /// Most Newton steps that a part took.
    pub iterations: u32,
    /// Parts that had nothing to do with each other.
    pub parts: usize,
    /// Outcomes that were given as possible and were proven impossible on the way, rising.
    pub excluded: Vec<u32>,
    /// Outcomes that are given no probability although no proof was found that they are impossible,
    /// rising: what they had fell steadily towards zero.
    pub vanishing: Vec<u32>,
    /// Outcomes of parts that did not settle within the limit of work, rising: what is told of them
    /// is the belief so far, which misses counts.
    pub unsettled: Vec<u32>,
    /// Those of them whose probability was about to vanish, rising: they may be impossible, and
    /// stand in the way.
    pub suspects: Vec<u32>,
    /// Steps that it took.
    pub work: u64,
    /// Whether work or time was used up before every part had settled.
    pub exhausted: Option<Exhausted>,
}

/// No belief meets all facts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoBelief {
    /// The facts, each multiplied by its number, add up to more than people can contribute; empty
    /// if a fact alone is broken by people who have only one outcome left.
    pub facts: Vec<(u32, i64)>,
}

impl Beliefs {
    /// The probability of each value of a kind, rising values: the sum over its outcomes of that
    /// value.
    pub fn values<'a>(
        &'a self,
        evidence: &'a Evidence,
        kind: u32,
    ) -> impl Iterator<Item = (u32, f64)> + 'a {
        let outcomes = evidence.outcomes_of(kind);
        let (start, end) = (outcomes.start as usize, outcomes.end as usize);
        let runs = evidence.outcomes()[start..end].chunk_by(|a, b| a.value == b.value);
        let mut at = start;
        runs.map(move |run| {
            let sum = self.probability[at..at + run.len()].iter().sum();
            at += run.len();
            (run[0].value, sum)
        })
    }

    /// Sum over all people of the entropy of their values, in nats: less than `entropy` where it is
    /// not known which group of a release somebody is in.
    pub fn value_entropy(&self, evidence: &Evidence) -> f64 {
        let of = |kind: u32| {
            let people = f64::from(evidence.kinds()[kind as usize].people);
            people * self.values(evidence, kind).map(|(_, p)| entropy_of(p)).sum::<f64>()
        };
        (0..evidence.kinds().len() as u32).map(of).sum()
    }
}

/// What a probability adds to the entropy, in nats.
pub fn entropy_of(p: f64) -> f64 {
    if p > 0.0 { -p * p.ln() } else { 0.0 }
}

/// The maximum-entropy belief of the outcomes that are possible.
///
/// `possible` comes from [`super::forced`]. If it leaves in outcomes that are impossible, they are
/// found by the way their probability falls, and dropped if that can be proven. `work` limits the
/// steps, each of which handles one number. When it is cancelled or time is up, parts that are left
/// have not settled.
pub fn maximum_entropy(
    evidence: &Evidence,
    possible: &[bool],
    work: u64,
    progress: Progress<'_>,
) -> Result<Beliefs, NoBelief> {
    let watch = Watch::timed(progress, 0);
    if !watch.go_on() {
        return uniform(evidence, possible, watch.out_of_time());
    }
    let parts = evidence.components(possible).ok_or(NoBelief { facts: Vec::new() })?;
    let total = parts.iter().map(|p| p.outcomes.len() as u64).sum();
    let report = Report { watch: Watch::timed(progress, total), work: work / u64::max(total, 1) };
    let (large, small): (Vec<&Component>, Vec<&Component>) =
        parts.iter().partition(|p| p.outcomes.len() >= LARGE);
    let mut solved: Vec<(&Component, Result<Answer, NoBelief>)> =
        large.into_iter().map(|part| (part, solve(part, &report))).collect();
    solved.par_extend(small.into_par_iter().map(|part| (part, solve(part, &report))));
    let mut beliefs = collect(evidence, possible, parts.len(), solved)?;
    let cut_short = report.watch.stopped() && !beliefs.unsettled.is_empty();
    beliefs.exhausted = beliefs.exhausted.max(cut_short.then_some(Exhausted::Time));
    Ok(beliefs)
}

/// The belief before anything is solved: all outcomes of a person are equally likely. By how much it
/// misses counts is told if it is `wanted`.
fn uniform(evidence: &Evidence, possible: &[bool], wanted: bool) -> Result<Beliefs, NoBelief> {
    let mut beliefs = collect(evidence, possible, 0, Vec::new())?;
    let mut counts = vec![0.0; evidence.facts().len()];
    for (kind, k) in (0u32..).zip(evidence.kinds()) {
        let open = evidence.outcomes_of(kind).filter(|&o| possible[o as usize]);
        let count = open.clone().count();
        beliefs.entropy += f64::from(k.people) * (count.max(1) as f64).ln();
        for outcome in open {
            beliefs.probability[outcome as usize] = 1.0 / count as f64;
            if count > 1 {
                beliefs.unsettled.push(outcome);
            }
            let people = if wanted { f64::from(k.people) / count as f64 } else { 0.0 };
            evidence.facts_of(outcome).iter().for_each(|&f| counts[f as usize] += people);
        }
    }
    if wanted {
        let missed = evidence.facts().iter().zip(&counts);
        let missed = missed.map(|(f, &c)| (f.low as f64 - c).max(c - f.high as f64));
        beliefs.violation = missed.fold(0.0, f64::max);
    }
    beliefs.exhausted = (!beliefs.unsettled.is_empty()).then_some(Exhausted::Time);
    Ok(beliefs)
}

/// Puts the answers of the parts together.
fn collect(
    evidence: &Evidence,
    possible: &[bool],
    parts: usize,
    solved: Vec<(&Component, Result<Answer, NoBelief>)>,
) -> Result<Beliefs, NoBelief> {
    let mut beliefs = Beliefs {
        probability: possible.iter().map(|&p| f64::from(u8::from(p))).collect(),
        multiplier: vec![0.0; evidence.facts().len()],
        entropy: 0.0,
        violation: 0.0,
        iterations: 0,
        parts,
        excluded: Vec::new(),
        vanishing: Vec::new(),
        unsettled: Vec::new(),
        suspects: Vec::new(),
        work: 0,
        exhausted: None,
    };
    for (part, answer) in solved {
        match answer {
            Ok(answer) => beliefs.add(part, answer),
            Err(NoBelief { facts }) => {
                let facts = facts.into_iter().map(|(f, y)| (part.facts[f as usize], y)).collect();
                return Err(NoBelief { facts });
            }
        }
    }
    beliefs.excluded.sort_unstable();
    beliefs.vanishing.sort_unstable();
    beliefs.unsettled.sort_unstable();
    beliefs.suspects.sort_unstable();
    let of = |kind: u32| {
        let outcomes = evidence.outcomes_of(kind);
        let probability = &beliefs.probability[outcomes.start as usize..outcomes.end as usize];
        f64::from(evidence.kinds()[kind as usize].people)
            * probability.iter().map(|&p| entropy_of(p)).sum::<f64>()
    };
    beliefs.entropy = (0..evidence.kinds().len() as u32).map(of).sum();
    Ok(beliefs)
}

impl Beliefs {
    fn add(&mut self, part: &Component, answer: Answer) {
        for (&outcome, p) in part.outcomes.iter().zip(answer.probability) {
            self.probability[outcome as usize] = p;
        }
        for (&fact, y) in part.facts.iter().zip(answer.multiplier) {
            self.multiplier[fact as usize] = y;
        }
        self.excluded.extend(answer.excluded.into_iter().map(|o| part.outcomes[o as usize]));
        self.vanishing.extend(answer.vanishing.into_iter().map(|o| part.outcomes[o as usize]));
        self.unsettled.extend(answer.unsettled.into_iter().map(|o| part.outcomes[o as usize]));
        self.suspects.extend(answer.suspects.into_iter().map(|o| part.outcomes[o as usize]));
        self.work += answer.work;
        self.exhausted = self.exhausted.max(answer.exhausted);
        self.violation = self.violation.max(answer.violation);
        self.iterations = self.iterations.max(answer.iterations);
    }
}

/// Where progress is reported, and how much work there may be.
struct Report<'a> {
    watch: Watch<'a>,
    /// Steps for each outcome of a part.
    work: u64,
}

/// The belief of a part, in the numbers of the part.
struct Answer {
    probability: Vec<f64>,
    multiplier: Vec<f64>,
    excluded: Vec<u32>,
    vanishing: Vec<u32>,
    unsettled: Vec<u32>,
    suspects: Vec<u32>,
    violation: f64,
    iterations: u32,
    /// Steps that it took; known of the whole part only.
    work: u64,
    exhausted: Option<Exhausted>,
}

/// Solves a part within its share of the work.
fn solve(component: &Component, report: &Report<'_>) -> Result<Answer, NoBelief> {
    let size = component.outcomes.len() as u64;
    if report.watch.stopped() {
        let possible = vec![true; component.outcomes.len()];
        let beliefs = uniform(&component.evidence, &possible, report.watch.out_of_time())?;
        return Ok(Answer::from(beliefs));
    }
    let advance = |error: f64| {
        let digits = (error.max(newton::TOLERANCE).log10() / newton::TOLERANCE.log10()).max(0.0);
        let here = (digits * size as f64) as u64;
        report.watch.peek(here.min(size));
    };
    let silent = |_: f64| ();
    let work = report.work.saturating_mul(size);
    let effort = Effort::watched(work, Some(&report.watch));
    let progress: &dyn Fn(f64) = if component.outcomes.len() >= LARGE { &advance } else { &silent };
    let mut answer = solve_part(component, None, &effort, progress);
    report.watch.add(size);
    if let Ok(answer) = &mut answer {
        answer.work = work - effort.left();
        let cut_short = effort.is_spent() && !answer.unsettled.is_empty();
        answer.exhausted = cut_short.then_some(Exhausted::Work);
    }
    answer
}

/// Solves a part, from a guess of the multipliers if there is one; where that shows that outcomes
/// are impossible, again what is left of it.
fn solve_part(
    component: &Component,
    guess: Option<Vec<f64>>,
    effort: &Effort,
    progress: &dyn Fn(f64),
) -> Result<Answer, NoBelief> {
    let part = Part::new(component);
    let guess = guess.map(|guess| part.numbers.iter().map(|&f| guess[f as usize]).collect());
    let point = newton::solve(&part, guess, effort, progress);
    let mut answer = Answer {
        probability: vec![0.0; component.outcomes.len()],
        multiplier: vec![0.0; component.facts.len()],
        excluded: Vec::new(),
        vanishing: Vec::new(),
        unsettled: Vec::new(),
        suspects: Vec::new(),
        violation: point.violation,
        iterations: point.steps,
        work: 0,
        exhausted: None,
    };
    for kind in 0..part.people.len() {
        for outcome in part.outcomes_of(kind) {
            answer.probability[part.outcomes[outcome] as usize] =
                point.mass[outcome] / part.people[kind];
        }
    }
    (0..part.numbers.len())
        .for_each(|f| answer.multiplier[part.numbers[f] as usize] = point.multiplier[f]);
    match point.end {
        newton::End::Converged => Ok(answer),
        newton::End::Proof(recession::Proof::Impossible(outcomes)) => {
            let excluded: Vec<u32> = outcomes.into_iter().map(|o| part.outcomes[o]).collect();
            let rest = solve_without(component, &excluded, &answer.multiplier, effort, progress)?;
            Ok(Answer { excluded: excluded.into_iter().chain(rest.excluded).collect(), ..rest })
        }
        newton::End::Vanishing(outcomes) => {
            let vanishing: Vec<u32> = outcomes.into_iter().map(|o| part.outcomes[o]).collect();
            match solve_without(component, &vanishing, &answer.multiplier, effort, progress) {
                // Without them there must be a belief that is no worse; otherwise something was
                // dropped that is needed.
                Ok(rest) if rest.unsettled.is_empty() || rest.violation <= answer.violation => {
                    Ok(Answer {
                        vanishing: vanishing.into_iter().chain(rest.vanishing).collect(),
                        ..rest
                    })
                }
                _ => Ok(answer.unless_settled(point.error, vanishing)),
            }
        }
        newton::End::Proof(recession::Proof::Contradiction(y)) => {
            let facts = part.numbers.iter().zip(y).filter(|&(_, y)| y != 0);
            Err(NoBelief { facts: facts.map(|(&f, y)| (f, y)).collect() })
        }
        newton::End::Stuck => {
            let unlikely = |o: &u32| answer.probability[*o as usize] < newton::SUSPECT;
            let suspects = (0..component.outcomes.len() as u32).filter(unlikely).collect();
            Ok(answer.unless_settled(point.error, suspects))
        }
    }
}

impl Answer {
    /// The same; unless its counts are met well enough, it has not settled, and some outcomes are
    /// suspected.
    fn unless_settled(mut self, error: f64, suspects: Vec<u32>) -> Answer {
        if error > SETTLED {
            self.unsettled = (0..self.probability.len() as u32).collect();
            self.suspects = suspects;
        }
        self
    }
}

/// Solves a part without some outcomes, which may fall into parts, from the multipliers that it
/// came to with them.
fn solve_without(
    component: &Component,
    excluded: &[u32],
    multiplier: &[f64],
    effort: &Effort,
    progress: &dyn Fn(f64),
) -> Result<Answer, NoBelief> {
    let mut possible = vec![true; component.outcomes.len()];
    excluded.iter().for_each(|&o| possible[o as usize] = false);
    let parts = component.evidence.components(&possible).ok_or(NoBelief { facts: Vec::new() })?;
    let count = parts.len();
    let guess =
        |part: &Component| Some(part.facts.iter().map(|&f| multiplier[f as usize]).collect());
    let solved =
        parts.iter().map(|part| (part, solve_part(part, guess(part), effort, progress))).collect();
    let beliefs = collect(&component.evidence, &possible, count, solved)?;
    Ok(beliefs.into())
}

impl From<Beliefs> for Answer {
    fn from(beliefs: Beliefs) -> Answer {
        Answer {
            probability: beliefs.probability,
            multiplier: beliefs.multiplier,
            excluded: beliefs.excluded,
            vanishing: beliefs.vanishing,
            unsettled: beliefs.unsettled,
            suspects: beliefs.suspects,
            violation: beliefs.violation,
            iterations: beliefs.iterations,
            work: beliefs.work,
            exhausted: beliefs.exhausted,
        }
    }
}
