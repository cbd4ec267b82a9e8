//! A first world: from a draft at random, somebody who could put something right is redrawn, until
//! everything is right.

use super::draft::{Draft, Roster};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// Steps of the first round for each person; every round has twice as many.
const STEPS: u64 = 500;

/// How likely a step that makes one more count wrong is, beside one that does not, at the beginning
/// of a round and at its end.
///
/// Between two releases, what is wrong stands for a value that one group has too often and another
/// that it has too rarely. Putting it right there moves it to another group and never changes these
/// values; only a step that makes more wrong splits it into two that can meet others. So such steps
/// are needed, and must become rare.
const WORSE: (f64, f64) = (0.3, 0.01);

/// Looks for a world, with at most so many steps, as long as `go_on` says so.
///
/// It begins with any outcome of everybody, rare ones as often as likely ones, so that chains start
/// far from each other.
pub(super) fn find<'a>(
    roster: &'a Roster,
    rng: &mut ChaCha8Rng,
    budget: u64,
    go_on: &dyn Fn(u64) -> bool,
) -> Option<Draft<'a>> {
    let outcomes =
        (0..roster.people() as u32).map(|person| rng.random_range(roster.outcomes(person)));
    let mut draft = Draft::new(roster, outcomes.collect());
    let (mut steps, mut left) = (STEPS * roster.people() as u64, budget);
    while left > 0 {
        steps = steps.min(left);
        if cool(&mut draft, steps, rng, go_on)? {
            return Some(draft);
        }
        left -= steps;
        steps *= 2;
    }
    None
}

/// Goes so many steps, of which ever fewer make more wrong; answers whether it has become a world.
/// `None` if it was stopped.
fn cool(
    draft: &mut Draft<'_>,
    steps: u64,
    rng: &mut ChaCha8Rng,
    go_on: &dyn Fn(u64) -> bool,
) -> Option<bool> {
    let (first, last) = WORSE;
    let (mut wrong, mut weights) = (Vec::new(), Vec::new());
    let mut worse = first;
    for step in 0..steps {
        let Some(person) = draft.suspect(|n| rng.random_range(0..n)) else { return Some(true) };
        if step.is_multiple_of(0x10000) && !go_on(0) {
            return None;
        }
        if step.is_multiple_of(64) {
            worse = first * (last / first).powf(step as f64 / steps as f64);
        }
        let (old, outcomes) = (draft.outcome[person as usize], draft.roster.outcomes(person));
        draft.preview(person, &mut wrong);
        let least = wrong.iter().copied().min().unwrap_or(0);
        weights.clear();
        weights.extend(wrong.iter().map(|&w| worse.powi((w - least) as i32)));
        weights[(old - outcomes.start) as usize] = 0.0;
        let mut at = rng.random::<f64>() * weights.iter().sum::<f64>().max(1.0);
        let chosen = outcomes.zip(&weights).find(|(_, weight)| {
            at -= **weight;
            at < 0.0
        });
        if let Some((new, _)) = chosen {
            draft.change(person, new);
        }
    }
    Some(draft.is_world())
}
