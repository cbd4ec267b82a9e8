//! From evidence to what follows from it.

use super::entropy::{Beliefs, Unsolved, maximum_entropy};
use super::forced::{Forced, forced};
use super::witness::Explainer;
use super::{Contradiction, Evidence};

/// What follows with certainty, and what is believed beyond.
#[derive(Clone, Debug)]
pub struct Inference {
    /// What is possible at all.
    pub forced: Forced,
    /// The belief of maximum entropy.
    pub beliefs: Beliefs,
}

/// Why nothing can be inferred.
#[derive(Clone, Debug)]
pub enum Failure {
    /// No world agrees with the evidence.
    Contradiction(Contradiction),
    /// So many outcomes could be neither proven nor excluded, and the belief does not converge with them.
    Unsolved(usize),
}

/// What follows from the evidence: first what is forced, then the belief of maximum entropy about the rest.
///
/// Outcomes that the solver suspects of being impossible and cannot exclude itself are looked at one by one.
pub fn infer(evidence: &Evidence, progress: &(dyn Fn(u64, u64) + Sync)) -> Result<Inference, Failure> {
    let mut forced = forced(evidence).map_err(Failure::Contradiction)?;
    loop {
        match maximum_entropy(evidence, &forced.possible, progress) {
            Ok(beliefs) => {
                beliefs.excluded.iter().for_each(|&o| forced.possible[o as usize] = false);
                forced.undecided.retain(|&o| forced.possible[o as usize]);
                return Ok(Inference { forced, beliefs });
            }
            Err(Unsolved::Contradiction(facts)) => {
                let facts = facts.into_iter().map(|(fact, _)| fact).collect();
                return Err(Failure::Contradiction(Contradiction { facts, kinds: Vec::new() }));
            }
            Err(Unsolved::Suspects(suspects)) => {
                let kind_of = evidence.kind_of();
                let explainer = Explainer::new(evidence);
                let impossible = |&o: &u32| explainer.excludes(kind_of[o as usize], o);
                let excluded: Vec<u32> = suspects.iter().copied().filter(impossible).collect();
                if excluded.is_empty() {
                    return Err(Failure::Unsolved(suspects.len()));
                }
                excluded.iter().for_each(|&o| forced.possible[o as usize] = false);
            }
        }
    }
}
