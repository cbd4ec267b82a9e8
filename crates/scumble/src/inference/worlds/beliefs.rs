//! Shares of worlds without drawing any: belief propagation.
//!
//! In a group by itself it can be counted how likely each outcome of a member is, given how likely
//! hers and everybody else's is as far as their other groups go. What one group says about a member
//! is then what another has to go by, and so on until nothing changes any more. Where groups and
//! people form a tree the outcome is exact. Where they do not, what a group says comes back to it
//! as if it were news; with groups that cross at random that takes a long way around and matters
//! little, and this is where chains are slowest. There is no telling from the beliefs how good they
//! are: chains have to judge (`tally::off`).

use crate::inference::{Evidence, Source};
use hashbrown::HashMap;
use std::collections::VecDeque;

/// What groups say has stopped changing if no probability changes by more.
const SAME: f64 = 1e-7;

/// How often each group may speak, on average.
const ROUNDS: usize = 400;

/// The most work at one group (people times states of the counts), and at all groups together.
const LARGEST: usize = 1 << 20;
const WORK: usize = 1 << 25;

/// How likely each outcome is for a person of its kind. `None` if groups are too large for it, if
/// it comes to no end, or if `go_on` says so.
pub(super) fn beliefs(evidence: &Evidence, go_on: &dyn Fn(u64) -> bool) -> Option<Vec<f64>> {
    let mut talk = Talk::new(evidence)?;
    let mut queue: VecDeque<u32> = (0..talk.groups.len() as u32).collect();
    let mut waits = vec![true; talk.groups.len()];
    let mut count = Count::default();
    for turn in 0..ROUNDS * talk.groups.len() {
        let Some(group) = queue.pop_front() else {
            return talk.beliefs();
        };
        if turn.is_multiple_of(256) && !go_on(0) {
            return None;
        }
        waits[group as usize] = false;
        for seat in talk.speak(group, &mut count)? {
            for &other in &talk.seats_of[talk.seats[seat as usize].kind as usize] {
                let listener = talk.seats[other as usize].group;
                if listener != group && !std::mem::replace(&mut waits[listener as usize], true) {
                    queue.push_back(listener);
                }
            }
        }
    }
    None
}

/// The facts of a group of a release, or one that the adversary knows.
struct Group {
    /// Per count: its bounds.
    bounds: Vec<(u32, u32)>,
    seats: Vec<u32>,
}

/// The people of a kind in a group.
struct Seat {
    kind: u32,
    group: u32,
    people: u32,
    /// Per outcome of the kind: the count of the group that it adds to, or [`NONE`].
    counts: Vec<u8>,
    /// Per outcome of the kind: how likely it is as far as this group goes.
    says: Vec<f64>,
}

const NONE: u8 = u8::MAX;

/// Who says what about whom.
struct Talk {
    groups: Vec<Group>,
    seats: Vec<Seat>,
    /// Per kind.
    seats_of: Vec<Vec<u32>>,
}

impl Talk {
    /// Nothing is said yet. `None` if there are groups with too much to count.
    fn new(evidence: &Evidence) -> Option<Talk> {
        let mut number_of: HashMap<(u32, u32), u32> = HashMap::new();
        let mut groups: Vec<Group> = Vec::new();
        // Per fact: its group, and which of the counts of the group it is.
        let mut place = Vec::with_capacity(evidence.facts().len());
        for fact in evidence.facts() {
            let source = match fact.source {
                Source::Published { release, group, .. } => (release, group),
                Source::Known(statement) => (u32::MAX, statement),
            };
            let number = *number_of.entry(source).or_insert(groups.len() as u32);
            if number as usize == groups.len() {
                groups.push(Group { bounds: Vec::new(), seats: Vec::new() });
            }
            let bounds = &mut groups[number as usize].bounds;
            place.push((
                number,
                u8::try_from(bounds.len()).ok().filter(|&count| count < u64::BITS as u8)?,
            ));
            bounds.push((
                u32::try_from(fact.low).ok()?,
                u32::try_from(fact.high).unwrap_or(u32::MAX),
            ));
        }
        let mut talk = Talk {
            groups,
            seats: Vec::new(),
            seats_of: Vec::with_capacity(evidence.kinds().len()),
        };
        for (kind, k) in (0u32..).zip(evidence.kinds()) {
            let outcomes = evidence.outcomes_of(kind);
            let first = talk.seats.len();
            for (i, outcome) in outcomes.clone().enumerate() {
                for &fact in evidence.facts_of(outcome) {
                    let (group, count) = place[fact as usize];
                    let seat = talk.seats[first..]
                        .iter()
                        .position(|s| s.group == group)
                        .unwrap_or_else(|| {
                            let says = vec![1.0 / outcomes.len() as f64; outcomes.len()];
                            let counts = vec![NONE; outcomes.len()];
                            talk.groups[group as usize].seats.push(talk.seats.len() as u32);
                            talk.seats.push(Seat { kind, group, people: k.people, counts, says });
                            talk.seats.len() - 1 - first
                        });
                    let counts = &mut talk.seats[first + seat].counts;
                    // An outcome that a group counts twice is none that a release publishes.
                    (std::mem::replace(&mut counts[i], count) == NONE).then_some(())?;
                }
            }
            talk.seats_of.push((first as u32..talk.seats.len() as u32).collect());
        }
        let mut work = 0;
        for group in &mut talk.groups {
            let people: u32 = group.seats.iter().map(|&s| talk.seats[s as usize].people).sum();
            group.bounds.iter_mut().for_each(|(_, high)| *high = (*high).min(people));
            let states =
                group.bounds.iter().try_fold(1usize, |n, b| n.checked_mul(b.1 as usize + 1));
            let at_once = states?.checked_mul(people as usize + 1).filter(|&n| n <= LARGEST)?;
            work += at_once;
        }
        (work <= WORK).then_some(talk)
    }

    /// How likely the outcomes of a kind are as far as its other groups go.
    fn heard(&self, seat: u32, heard: &mut Vec<f64>) {
        let Seat { kind, group, says, .. } = &self.seats[seat as usize];
        heard.clear();
        heard.resize(says.len(), 1.0);
        for &other in &self.seats_of[*kind as usize] {
            let other = &self.seats[other as usize];
            if other.group != *group {
                heard.iter_mut().zip(&other.says).for_each(|(h, s)| *h *= s);
            }
        }
    }

    /// A group says how likely the outcomes of its members are; answers with those of whom it says
    /// something else than before. `None` if nothing is possible.
    fn speak(&mut self, group: u32, count: &mut Count) -> Option<Vec<u32>> {
        count.prepare(&self.groups[group as usize]);
        let seats = std::mem::take(&mut self.groups[group as usize].seats);
        let mut heard = Vec::new();
        for &seat in &seats {
            self.heard(seat, &mut heard);
            (0..self.seats[seat as usize].people)
                .for_each(|_| count.ahead(&self.seats[seat as usize].counts, &heard));
        }
        count.turn_back(&self.groups[group as usize])?;
        let mut changed = Vec::new();
        for &seat in seats.iter().rev() {
            self.heard(seat, &mut heard);
            let counts = &self.seats[seat as usize].counts;
            // All people of a kind are alike: what is said of the last of them holds for all.
            let said = count.shares(counts)?;
            (0..self.seats[seat as usize].people).try_for_each(|_| count.back(counts, &heard))?;
            let says = &mut self.seats[seat as usize].says;
            if says.iter().zip(&said).any(|(a, b)| (a - b).abs() > SAME) {
                changed.push(seat);
            }
            *says = said;
        }
        self.groups[group as usize].seats = seats;
        Some(changed)
    }

    /// What all groups say together.
    fn beliefs(&self) -> Option<Vec<f64>> {
        let mut beliefs = Vec::new();
        for seats in &self.seats_of {
            let first = beliefs.len();
            let says =
                |o: usize| seats.iter().map(|&s| self.seats[s as usize].says[o]).product::<f64>();
            let outcomes = seats.first().map_or(0, |&s| self.seats[s as usize].says.len());
            beliefs.extend((0..outcomes).map(says));
            let sum: f64 = beliefs[first..].iter().sum();
            if sum.is_nan() || sum <= 0.0 {
                return None;
            }
            beliefs[first..].iter_mut().for_each(|b| *b /= sum);
        }
        Some(beliefs)
    }
}

/// The ways to give the members of a group outcomes, one member after another. A state is how far
/// each count has come.
#[derive(Default)]
struct Count {
    /// By how much a state grows with each count.
    stride: Vec<u32>,
    states: usize,
    /// Per state: the counts that can take one more.
    room: Vec<u64>,
    /// After so many members: the weights of states, and those that can be.
    ahead: Vec<(Vec<f64>, Vec<u32>)>,
    members: usize,
    /// The weights of what is still to come, by the state from which.
    back: Vec<f64>,
    spare: Vec<f64>,
}

impl Count {
    fn prepare(&mut self, group: &Group) {
        self.stride.clear();
        let mut states = 1;
        for &(_, high) in &group.bounds {
            self.stride.push(states);
            states *= high + 1;
        }
        self.states = states as usize;
        self.room.clear();
        self.room.extend((0..states).map(|state| {
            let room = self
                .stride
                .iter()
                .zip(&group.bounds)
                .map(|(stride, b)| state / stride % (b.1 + 1) < b.1);
            (0u32..).zip(room).fold(0, |all, (count, room)| all | u64::from(room) << count)
        }));
        self.members = 0;
        let (weights, list) = self.place(0);
        (weights[0], *list) = (1.0, vec![0]);
    }

    /// Where the states after so many members are, empty.
    fn place(&mut self, members: usize) -> &mut (Vec<f64>, Vec<u32>) {
        if self.ahead.len() == members {
            self.ahead.push((Vec::new(), Vec::new()));
        }
        let place = &mut self.ahead[members];
        place.0.clear();
        place.0.resize(self.states, 0.0);
        place.1.clear();
        place
    }

    /// The state after an outcome, if there is room.
    fn next(&self, state: u32, count: u8) -> Option<u32> {
        if count == NONE {
            return Some(state);
        }
        (self.room[state as usize] >> count & 1 == 1).then(|| state + self.stride[count as usize])
    }

    /// One more member.
    fn ahead(&mut self, counts: &[u8], heard: &[f64]) {
        self.members += 1;
        let (mut weights, mut list) = std::mem::take(self.place(self.members));
        let (before, states) = &self.ahead[self.members - 1];
        let mut sum = 0.0;
        for &state in states {
            for (&count, likely) in counts.iter().zip(heard).filter(|(_, h)| **h > 0.0) {
                if let Some(next) = self.next(state, count) {
                    let weight = before[state as usize] * likely;
                    let at = &mut weights[next as usize];
                    if *at == 0.0 {
                        list.push(next);
                    }
                    *at += weight;
                    sum += weight;
                }
            }
        }
        // Only their ratios matter; without this they would become too small to be numbers.
        list.iter().for_each(|&state| weights[state as usize] /= sum);
        self.ahead[self.members] = (weights, list);
    }

    /// All members are there: now from the last to the first. `None` if no state meets the bounds.
    fn turn_back(&mut self, group: &Group) -> Option<()> {
        self.back.clear();
        self.back.resize(self.states, 0.0);
        let mut any = false;
        for &state in &self.ahead[self.members].1 {
            let mut counts = self.stride.iter().zip(&group.bounds);
            let meets = counts.all(|(stride, b)| state / stride % (b.1 + 1) >= b.0);
            self.back[state as usize] = f64::from(u8::from(meets));
            any |= meets;
        }
        any.then_some(())
    }

    /// How likely each outcome of the last member is, but for what she is heard to be. `None` if
    /// none is possible.
    fn shares(&self, counts: &[u8]) -> Option<Vec<f64>> {
        let (weights, states) = &self.ahead[self.members - 1];
        let of = |&count: &u8| -> f64 {
            let next = |&state: &u32| {
                Some(weights[state as usize] * self.back[self.next(state, count)? as usize])
            };
            states.iter().filter_map(next).sum()
        };
        let mut shares: Vec<f64> = counts.iter().map(of).collect();
        let sum: f64 = shares.iter().sum();
        shares.iter_mut().for_each(|s| *s /= sum);
        (sum > 0.0).then_some(shares)
    }

    /// Without the last member. `None` if she cannot be.
    fn back(&mut self, counts: &[u8], heard: &[f64]) -> Option<()> {
        self.members -= 1;
        let mut earlier = std::mem::take(&mut self.spare);
        earlier.clear();
        earlier.resize(self.states, 0.0);
        let mut sum = 0.0;
        for &state in &self.ahead[self.members].1 {
            let ways = counts.iter().zip(heard);
            let ways = ways.filter_map(|(&count, likely)| {
                Some(likely * self.back[self.next(state, count)? as usize])
            });
            let weight: f64 = ways.sum();
            earlier[state as usize] = weight;
            sum += weight;
        }
        for &state in &self.ahead[self.members].1 {
            earlier[state as usize] /= sum;
        }
        self.spare = std::mem::replace(&mut self.back, earlier);
        (sum > 0.0).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::Fraction;
    use crate::inference::worlds::{
        chain::Chain, count, draft::Roster, graph::Graph, start, tally::off,
    };
    use crate::inference::{Component, Known, Located, forced};
    use rand::seq::SliceRandom;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;
    use std::collections::BTreeMap;

    /// Groups of two or three releases that hang together like a tree, by single people; others are
    /// in one group alone, in kinds of up to three.
    fn tree(seed: u64) -> Evidence {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let releases = rng.random_range(2..4usize);
        let mut groups = vec![vec![BTreeMap::new()]; releases];
        // Release and group of each; a link joins a new group to an old one of another release.
        let mut known: Vec<(usize, u32)> = vec![(0, 0)];
        let mut kinds: Vec<(u32, Vec<Located>)> = Vec::new();
        let mut put = |places: &[(usize, u32)],
                       people: u32,
                       groups: &mut Vec<Vec<BTreeMap<u32, u64>>>,
                       rng: &mut ChaCha8Rng| {
            let mut located = vec![Located::absent(); releases];
            for &(release, group) in places {
                located[release] = Located::at(group);
            }
            for _ in 0..people {
                let value = rng.random_range(0..4);
                for &(release, group) in places {
                    *groups[release][group as usize].entry(value).or_insert(0) += 1;
                }
            }
            kinds.push((people, located));
        };
        for _ in 0..rng.random_range(1..6) {
            let old = known[rng.random_range(0..known.len())];
            let release = (old.0 + rng.random_range(1..releases)) % releases;
            let used = known.iter().filter(|k| k.0 == release).count() as u32;
            groups[release].resize_with(used as usize + 1, BTreeMap::new);
            known.push((release, used));
            put(&[old, (release, used)], 1, &mut groups, &mut rng);
        }
        for &place in &known {
            for _ in 0..rng.random_range(1..3) {
                let people = rng.random_range(1..4);
                put(&[place], people, &mut groups, &mut rng);
            }
        }
        let groups: Vec<Vec<Vec<(u32, u64)>>> = groups
            .into_iter()
            .map(|r| r.into_iter().map(|h| h.into_iter().collect()).collect())
            .collect();
        Evidence::new(&groups, kinds)
    }

    /// How far beliefs are from counting, at most; nothing if there is no part with more than one
    /// world.
    fn furthest(evidence: &Evidence) -> Option<f64> {
        let possible = vec![true; evidence.outcomes().len()];
        let parts = evidence.components(&possible).expect("there is a world");
        let off = parts.iter().map(|part| {
            let exact = count(part, 1 << 20).expect("it is small");
            let beliefs = beliefs(&part.evidence, &|_| true).expect("they come to an end");
            let kind_of = part.evidence.kind_of();
            let share = |o: usize| {
                let people = part.evidence.kinds()[kind_of[o] as usize].people;
                Fraction::new(exact.people[o].clone(), &exact.worlds * people).to_f64()
            };
            beliefs.iter().enumerate().map(|(o, b)| (b - share(o)).abs()).fold(0.0, f64::max)
        });
        off.max_by(f64::total_cmp)
    }

    #[test]
    fn beliefs_on_trees_are_exact() {
        let trees: Vec<f64> = (0..300).filter_map(|seed| furthest(&tree(seed))).collect();
        assert!(trees.len() > 250, "{}", trees.len());
        assert!(
            trees.iter().all(|&off| off < 1e-6),
            "{:?}",
            trees.iter().copied().max_by(f64::total_cmp)
        );
    }

    /// People in a row, in groups of so many neighbours; in another release they changed places
    /// with others nearby first. Of all parts the one with the most people.
    fn braid(people: u32, values: u32, size: usize, window: usize, seed: u64) -> Component {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let truth: Vec<u32> = (0..people).map(|_| rng.random_range(0..values)).collect();
        let straight: Vec<u32> = (0..people).collect();
        let mut crossed = straight.clone();
        crossed[window / 2..].chunks_mut(window).for_each(|near| near.shuffle(&mut rng));
        let mut located = vec![Vec::new(); people as usize];
        let groups = [straight, crossed].map(|order| {
            let histogram = |(group, members): (usize, &[u32])| {
                let mut histogram = BTreeMap::new();
                for &person in members {
                    located[person as usize].push(Located::at(group as u32));
                    *histogram.entry(truth[person as usize]).or_insert(0u64) += 1;
                }
                histogram.into_iter().collect()
            };
            order.chunks(size).enumerate().map(histogram).collect::<Vec<_>>()
        });
        let evidence = Evidence::new(&groups, located.into_iter().map(|l| (1, l)));
        let possible = forced(&evidence).expect("there is a world").possible;
        let parts = evidence.components(&possible).expect("there is a world");
        parts.into_iter().max_by_key(|p| p.evidence.people()).expect("a part")
    }

    /// The ways around are short here, so that beliefs are not exact; chains that took a few steps
    /// see how far they are off.
    #[test]
    fn chains_find_beliefs_as_far_off_as_they_are() {
        let (mut parts, mut found, mut true_ones) = (0, 0.0, 0.0);
        for seed in 0..24 {
            let (size, window) = [(5, 15), (6, 18), (6, 12), (4, 12)][seed as usize % 4];
            let part = braid(240, 3, size, window, seed);
            let people = part.evidence.people();
            let Some(exact) = count(&part, 1 << 22) else { continue };
            parts += 1;
            let exact = exact
                .people
                .iter()
                .map(|n| Fraction::new(n.clone(), exact.worlds.clone()).to_f64());
            let beliefs = beliefs(&part.evidence, &|_| true).expect("they come to an end");
            let by_one: f64 = beliefs.iter().map(|b| b * (1.0 - b)).sum();
            let square = exact.zip(&beliefs).map(|(e, b)| (e - b).powi(2)).sum::<f64>() / by_one;
            let roster = Roster::new(&part.evidence, &Graph::new(&part.evidence));
            let draw = |stream: u64| {
                let mut rng = ChaCha8Rng::seed_from_u64(seed);
                rng.set_stream(stream);
                let world =
                    start::find(&roster, &mut rng, 100_000 * people, &|_| true).expect("a world");
                let mut chain = Chain::new(world, rng);
                chain.tune(200 * people, &|_| true);
                chain.draw(4 * people, &|_| true).expect("nobody stops it")
            };
            let told = off(&(0..4).map(draw).collect::<Vec<_>>(), &beliefs, &part.evidence);
            assert!(told > 0.8 * square, "seed {seed}: {told} instead of {square}");
            (found, true_ones) = (found + told, true_ones + square);
        }
        assert!(parts >= 16, "{parts} can be counted");
        assert!(true_ones > 0.02 && found < 4.0 * true_ones, "{found} instead of {true_ones}");
    }

    /// What the adversary knows is a group of its own, within bounds.
    #[test]
    fn beliefs_heed_what_is_known() {
        let groups = vec![vec![vec![(0, 2), (1, 3), (2, 1)]]];
        let evidence = Evidence::new(&groups, (0..6).map(|_| (1, vec![Located::at(0)])));
        let known = Known { kinds: vec![0], values: vec![1, 2], low: 0, high: 0 };
        let told = furthest(&evidence.clone().knowing(&[known])).expect("worlds");
        assert!(told < 1e-9, "{told}");
        // Of two people of one kind at least one: a way around through the group, but one that it
        // sees at once.
        let evidence =
            Evidence::new(&groups, [(2, vec![Located::at(0)]), (4, vec![Located::at(0)])]);
        let known = Known { kinds: vec![0], values: vec![1], low: 1, high: 2 };
        let told = furthest(&evidence.knowing(&[known])).expect("worlds");
        assert!(told < 0.2, "{told}");
    }

    #[test]
    fn groups_with_too_much_to_count_are_left_alone() {
        let histogram: Vec<(u32, u64)> = (0..30).map(|v| (v, 3)).collect();
        let evidence =
            Evidence::new(&[vec![histogram]], (0..90).map(|_| (1, vec![Located::at(0)])));
        assert_eq!(beliefs(&evidence, &|_| true), None);
        let evidence =
            Evidence::new(&[vec![vec![(0, 1), (1, 1)]]], (0..2).map(|_| (1, vec![Located::at(0)])));
        assert_eq!(beliefs(&evidence, &|_| false), None, "stopped");
    }
}
