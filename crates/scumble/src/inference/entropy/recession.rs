//! Outcomes that turn out to be impossible: when multipliers grow without end, the direction in
//! which they grow is a combination of facts that leaves no room for some outcomes. Rounded to
//! integers it is a proof.

use super::super::effort::Effort;
use super::part::Part;

/// What a combination of facts proves.
pub enum Proof {
    /// These outcomes are impossible.
    Impossible(Vec<usize>),
    /// No belief meets all facts: the combination, fact by fact.
    Contradiction(Vec<i64>),
}

/// Looks for a proof near a direction of the multipliers. What it costs is counted, and a last look
/// may cost more than is left; it ends when the search is stopped.
pub fn prove(part: &Part, direction: &[f64], effort: &Effort<'_>) -> Option<Proof> {
    let mut level = direction.to_vec();
    for facts in part.groups() {
        let mut sorted = direction[facts.clone()].to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        // All values of a group together mean nothing: the usual value is the zero.
        let usual = sorted[(sorted.len() - 1) / 2];
        level[facts].iter_mut().for_each(|y| *y -= usual);
    }
    for candidate in [direction, &level] {
        let most = candidate.iter().fold(0.0, |most: f64, y| most.max(y.abs()));
        for unit in [1.0, most] {
            for times in [1.0, 2.0, 3.0, 4.0, 6.0, 12.0] {
                if effort.is_stopped() {
                    return None;
                }
                let _ = effort.spend(part.outcomes.len() as u64);
                let rounded: Vec<i64> =
                    candidate.iter().map(|y| (y / unit * times).round() as i64).collect();
                if let Some(proof) = check(part, &rounded) {
                    return Some(proof);
                }
            }
        }
    }
    None
}

/// What follows from a combination of facts. Nobody adds more to it than the best of her outcomes;
/// if all of them together add just what the facts demand, nobody has less than her best, and if
/// they add less, there is no belief.
fn check(part: &Part, y: &[i64]) -> Option<Proof> {
    let sum = |outcome: usize| part.facts_of(outcome).map(|f| i128::from(y[f])).sum::<i128>();
    let demanded: i128 =
        y.iter().zip(&part.bounds).map(|(&y, b)| i128::from(y) * bound(y, *b)).sum();
    let mut room = -demanded;
    let mut impossible = Vec::new();
    for kind in 0..part.people.len() {
        let best = part.outcomes_of(kind).map(sum).max()?;
        room += part.people[kind] as i128 * best;
        impossible.extend(part.outcomes_of(kind).filter(|&o| sum(o) < best));
    }
    match room {
        ..0 => Some(Proof::Contradiction(y.to_vec())),
        0 if !impossible.is_empty() => Some(Proof::Impossible(impossible)),
        _ => None,
    }
}

/// The bound of a fact that a multiplier speaks of.
fn bound(y: i64, (low, high): (f64, f64)) -> i128 {
    (if y > 0 { low } else { high }) as i128
}
