//! From evidence to what follows from it.

use super::effort::{Effort, Exhausted};
use super::entropy::{Beliefs, NoBelief, maximum_entropy};
use super::forced::{Forced, forced_within};
use super::witness::Explainer;
use super::{Contradiction, Evidence};
use crate::progress::{Progress, Watch};

/// Number of times that the belief is solved, each time without outcomes that stood in its way.
const ROUNDS: u32 = 4;

/// Work that looking for proofs against single outcomes may take, all together, as a share of all
/// work.
const PROOFS: u64 = 10;

/// What follows with certainty, and what is believed beyond.
#[derive(Clone, Debug)]
pub struct Inference {
    /// What is possible at all.
    pub forced: Forced,
    /// The belief of maximum entropy.
    pub beliefs: Beliefs,
}

impl Inference {
    /// Whether work or time was used up before everything was found out that can be.
    pub fn exhausted(&self) -> Option<Exhausted> {
        self.forced.exhausted.max(self.beliefs.exhausted)
    }
}

/// What follows from the evidence: first what is forced, then the belief of maximum entropy about
/// the rest, each within some work (see [`maximum_entropy`]). An error if no world agrees with the
/// evidence.
///
/// Outcomes that the solver suspects of being impossible and cannot exclude itself are looked at
/// one by one, and the belief is sought again with the work that is left. Where that does not help
/// either, the belief so far is told, and [`Beliefs::unsettled`] says of whom. So it is where the
/// inference is cancelled, and where time is up ([`crate::progress::Report::is_late`]).
pub fn infer(
    evidence: &Evidence,
    work: u64,
    progress: Progress<'_>,
) -> Result<Inference, Contradiction> {
    let forced = forced_within(evidence, work, &Watch::timed(progress, 0))?;
    infer_from(evidence, forced, work, progress)
}

/// The same from what is known to be forced.
pub fn infer_from(
    evidence: &Evidence,
    mut forced: Forced,
    work: u64,
    progress: Progress<'_>,
) -> Result<Inference, Contradiction> {
    let watch = Watch::timed(progress, 0);
    let effort = Effort::watched(work / PROOFS, Some(&watch));
    let (mut round, mut left) = (0, work);
    loop {
        let beliefs = maximum_entropy(evidence, &forced.possible, left, progress);
        let beliefs = beliefs.map_err(|NoBelief { facts }| {
            let facts = facts.into_iter().map(|(fact, _)| fact).collect();
            Contradiction { facts, kinds: Vec::new() }
        })?;
        round += 1;
        left = left.saturating_sub(beliefs.work);
        let excluded = if round < ROUNDS && left > 0 && watch.go_on() {
            impossible(evidence, &beliefs.suspects, &effort)
        } else {
            Vec::new()
        };
        if excluded.is_empty() {
            beliefs.excluded.iter().for_each(|&o| forced.possible[o as usize] = false);
            forced.undecided.retain(|&o| forced.possible[o as usize]);
            return Ok(Inference { forced, beliefs });
        }
        excluded.iter().for_each(|&o| forced.possible[o as usize] = false);
    }
}

/// Those of some outcomes that are shown to be impossible, as far as the work suffices.
fn impossible(evidence: &Evidence, suspects: &[u32], effort: &Effort<'_>) -> Vec<u32> {
    if suspects.is_empty() {
        return Vec::new();
    }
    let kind_of = evidence.kind_of();
    let explainer = Explainer::new(evidence);
    let tried = suspects.iter().copied().take_while(|_| !effort.is_spent());
    tried.filter(|&o| explainer.excludes(kind_of[o as usize], o, effort)).collect()
}
