//! Shares of worlds without drawing any: belief propagation (the sum-product algorithm).
//!
//! The factor graph has a variable for each kind of people and a factor for each group of a release,
//! which asks that the group's counts are met. A factor's message to a kind says how likely each
//! outcome is as far as this group goes, given the messages of the kinds' other groups; it is
//! computed exactly, by a forward and a backward pass over the members of the group. Messages are
//! sent until they stop changing. On a tree the result is exact. Where there are cycles, what a
//! factor says comes back to it as if it were news; with groups that cross at random cycles are long
//! and it matters little, and this is where chains are slowest. There is no telling from the
//! beliefs how good they are: chains have to judge (`tally::off`).

use crate::inference::{Evidence, Source};
use hashbrown::HashMap;
use std::collections::VecDeque;

/// Messages have converged if no probability changes by more.
const SAME: f64 = 1e-7;

/// How often each factor may be updated, on average.
const ROUNDS: usize = 400;

/// The most work at one factor (people times states of the counts), and at all factors together.
const LARGEST: usize = 1 << 20;
const WORK: usize = 1 << 25;

/// Work between two questions whether to go on: some hundredths of a second.
const ASKED: usize = 1 << 20;

/// Marginal probability of each outcome, for a person of its kind. `None` if a factor exceeds the
/// state limit, if messages do not converge, or if `go_on` says so.
pub(super) fn beliefs(evidence: &Evidence, go_on: &dyn Fn(u64) -> bool) -> Option<Vec<f64>> {
    let mut graph = FactorGraph::new(evidence)?;
    let mut queue: VecDeque<u32> = (0..graph.factors.len() as u32).collect();
    let mut waits = vec![true; graph.factors.len()];
    let mut passes = ForwardBackward::default();
    let mut unasked = ASKED;
    for _ in 0..ROUNDS * graph.factors.len() {
        let Some(factor) = queue.pop_front() else {
            return graph.beliefs();
        };
        unasked += graph.factors[factor as usize].work;
        if unasked >= ASKED {
            unasked = 0;
            go_on(0).then_some(())?;
        }
        waits[factor as usize] = false;
        for edge in graph.update(factor, &mut passes)? {
            for &other in &graph.edges_of[graph.edges[edge as usize].kind as usize] {
                let neighbour = graph.edges[other as usize].factor;
                if neighbour != factor && !std::mem::replace(&mut waits[neighbour as usize], true) {
                    queue.push_back(neighbour);
                }
            }
        }
    }
    None
}

/// A factor: the counts of a group of a release, or something that the adversary knows.
struct Factor {
    /// Per count: its bounds.
    bounds: Vec<(u32, u32)>,
    /// Its edges, by number.
    edges: Vec<u32>,
    /// What one update takes: people times states of the counts.
    work: usize,
}

/// An edge of the factor graph: the people of a kind in a group.
struct Edge {
    kind: u32,
    factor: u32,
    people: u32,
    /// Per outcome of the kind: the count of the factor that it adds to, or [`NONE`].
    counts: Vec<u8>,
    /// The last message of the factor to the kind: per outcome how likely it is as far as this
    /// factor goes.
    message: Vec<f64>,
}

const NONE: u8 = u8::MAX;

/// The factor graph of some evidence, with the messages from factors to kinds.
struct FactorGraph {
    factors: Vec<Factor>,
    edges: Vec<Edge>,
    /// The edges of each kind, by number.
    edges_of: Vec<Vec<u32>>,
}

impl FactorGraph {
    /// The graph with uniform messages. `None` if a factor exceeds the state limit.
    fn new(evidence: &Evidence) -> Option<FactorGraph> {
        let mut number_of: HashMap<(u32, u32), u32> = HashMap::new();
        let mut factors: Vec<Factor> = Vec::new();
        // Per fact: its factor, and which of the counts of the factor it is.
        let mut place = Vec::with_capacity(evidence.facts().len());
        for fact in evidence.facts() {
            let source = match fact.source {
                Source::Published { release, group, .. } => (release, group),
                Source::Known(statement) => (u32::MAX, statement),
            };
            let number = *number_of.entry(source).or_insert(factors.len() as u32);
            if number as usize == factors.len() {
                factors.push(Factor { bounds: Vec::new(), edges: Vec::new(), work: 0 });
            }
            let bounds = &mut factors[number as usize].bounds;
            place.push((
                number,
                u8::try_from(bounds.len()).ok().filter(|&count| count < u64::BITS as u8)?,
            ));
            bounds.push((
                u32::try_from(fact.low).ok()?,
                u32::try_from(fact.high).unwrap_or(u32::MAX),
            ));
        }
        let mut graph = FactorGraph {
            factors,
            edges: Vec::new(),
            edges_of: Vec::with_capacity(evidence.kinds().len()),
        };
        for (kind, k) in (0u32..).zip(evidence.kinds()) {
            let outcomes = evidence.outcomes_of(kind);
            let first = graph.edges.len();
            for (i, outcome) in outcomes.clone().enumerate() {
                for &fact in evidence.facts_of(outcome) {
                    let (factor, count) = place[fact as usize];
                    let edge = graph.edges[first..]
                        .iter()
                        .position(|e| e.factor == factor)
                        .unwrap_or_else(|| {
                            let message = vec![1.0 / outcomes.len() as f64; outcomes.len()];
                            let counts = vec![NONE; outcomes.len()];
                            graph.factors[factor as usize].edges.push(graph.edges.len() as u32);
                            graph.edges.push(Edge {
                                kind,
                                factor,
                                people: k.people,
                                counts,
                                message,
                            });
                            graph.edges.len() - 1 - first
                        });
                    let counts = &mut graph.edges[first + edge].counts;
                    // An outcome that a factor counts twice is none that a release publishes.
                    (std::mem::replace(&mut counts[i], count) == NONE).then_some(())?;
                }
            }
            graph.edges_of.push((first as u32..graph.edges.len() as u32).collect());
        }
        let mut work = 0;
        for factor in &mut graph.factors {
            let people: u32 = factor.edges.iter().map(|&e| graph.edges[e as usize].people).sum();
            factor.bounds.iter_mut().for_each(|(_, high)| *high = (*high).min(people));
            let states =
                factor.bounds.iter().try_fold(1usize, |n, b| n.checked_mul(b.1 as usize + 1));
            factor.work = states?.checked_mul(people as usize + 1).filter(|&n| n <= LARGEST)?;
            work += factor.work;
        }
        (work <= WORK).then_some(graph)
    }

    /// The message of a kind to a factor: how likely its outcomes are as far as its other factors go.
    fn incoming_message(&self, edge: u32, incoming: &mut Vec<f64>) {
        let Edge { kind, factor, message, .. } = &self.edges[edge as usize];
        incoming.clear();
        incoming.resize(message.len(), 1.0);
        for &other in &self.edges_of[*kind as usize] {
            let other = &self.edges[other as usize];
            if other.factor != *factor {
                incoming.iter_mut().zip(&other.message).for_each(|(i, m)| *i *= m);
            }
        }
    }

    /// Sends new messages from a factor; the edges on which they differ from the last ones. `None`
    /// if nothing is possible.
    fn update(&mut self, factor: u32, passes: &mut ForwardBackward) -> Option<Vec<u32>> {
        passes.prepare(&self.factors[factor as usize]);
        let edges = std::mem::take(&mut self.factors[factor as usize].edges);
        let mut incoming = Vec::new();
        for &edge in &edges {
            self.incoming_message(edge, &mut incoming);
            (0..self.edges[edge as usize].people)
                .for_each(|_| passes.forward_step(&self.edges[edge as usize].counts, &incoming));
        }
        passes.start_backward_pass(&self.factors[factor as usize])?;
        let mut changed = Vec::new();
        for &edge in edges.iter().rev() {
            self.incoming_message(edge, &mut incoming);
            let counts = &self.edges[edge as usize].counts;
            // All people of a kind are alike: the message about the last of them holds for all.
            let updated = passes.marginals(counts)?;
            (0..self.edges[edge as usize].people)
                .try_for_each(|_| passes.backward_step(counts, &incoming))?;
            let message = &mut self.edges[edge as usize].message;
            if message.iter().zip(&updated).any(|(a, b)| (a - b).abs() > SAME) {
                changed.push(edge);
            }
            *message = updated;
        }
        self.factors[factor as usize].edges = edges;
        Some(changed)
    }

    /// The product of all messages to each kind, normalized.
    fn beliefs(&self) -> Option<Vec<f64>> {
        let mut beliefs = Vec::new();
        for edges in &self.edges_of {
            let first = beliefs.len();
            let outcomes = edges.first().map_or(0, |&e| self.edges[e as usize].message.len());
            for outcome in 0..outcomes {
                let messages = edges.iter().map(|&e| self.edges[e as usize].message[outcome]);
                beliefs.push(messages.product::<f64>());
            }
            let sum: f64 = beliefs[first..].iter().sum();
            if sum.is_nan() || sum <= 0.0 {
                return None;
            }
            beliefs[first..].iter_mut().for_each(|b| *b /= sum);
        }
        Some(beliefs)
    }
}

/// The forward and the backward pass over the members of a group. A state is how far each count has
/// come.
#[derive(Default)]
struct ForwardBackward {
    /// By how much a state grows with each count.
    stride: Vec<u32>,
    states: usize,
    /// Per state: the counts that can take one more.
    room: Vec<u64>,
    /// After so many members: the forward weights of states, and those that can be.
    forward: Vec<(Vec<f64>, Vec<u32>)>,
    members: usize,
    /// The backward weights: those of what is still to come, by the state from which.
    backward: Vec<f64>,
    spare: Vec<f64>,
}

impl ForwardBackward {
    /// Starts the forward pass of a factor, with no members.
    fn prepare(&mut self, factor: &Factor) {
        self.stride.clear();
        let mut states = 1;
        for &(_, high) in &factor.bounds {
            self.stride.push(states);
            states *= high + 1;
        }
        self.states = states as usize;
        self.room.clear();
        self.room.extend((0..states).map(|state| {
            let room = self
                .stride
                .iter()
                .zip(&factor.bounds)
                .map(|(stride, b)| state / stride % (b.1 + 1) < b.1);
            (0u32..).zip(room).fold(0, |all, (count, room)| all | u64::from(room) << count)
        }));
        self.members = 0;
        let (weights, list) = self.place(0);
        (weights[0], *list) = (1.0, vec![0]);
    }

    /// Where the states after so many members are, empty.
    fn place(&mut self, members: usize) -> &mut (Vec<f64>, Vec<u32>) {
        if self.forward.len() == members {
            self.forward.push((Vec::new(), Vec::new()));
        }
        let place = &mut self.forward[members];
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

    /// One more member, with the message of her kind.
    fn forward_step(&mut self, counts: &[u8], incoming: &[f64]) {
        self.members += 1;
        let (mut weights, mut list) = std::mem::take(self.place(self.members));
        let (before, states) = &self.forward[self.members - 1];
        let mut sum = 0.0;
        for &state in states {
            for (&count, likely) in counts.iter().zip(incoming).filter(|(_, likely)| **likely > 0.0)
            {
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
        self.forward[self.members] = (weights, list);
    }

    /// Starts the backward pass, from the last member to the first. `None` if no state meets the
    /// bounds.
    fn start_backward_pass(&mut self, factor: &Factor) -> Option<()> {
        self.backward.clear();
        self.backward.resize(self.states, 0.0);
        let mut any = false;
        for &state in &self.forward[self.members].1 {
            let mut counts = self.stride.iter().zip(&factor.bounds);
            let meets = counts.all(|(stride, b)| state / stride % (b.1 + 1) >= b.0);
            self.backward[state as usize] = f64::from(u8::from(meets));
            any |= meets;
        }
        any.then_some(())
    }

    /// Marginal probability of each outcome of the last member, without the message of her kind.
    /// `None` if none is possible.
    fn marginals(&self, counts: &[u8]) -> Option<Vec<f64>> {
        let (weights, states) = &self.forward[self.members - 1];
        let of = |&count: &u8| -> f64 {
            let next = |&state: &u32| {
                Some(weights[state as usize] * self.backward[self.next(state, count)? as usize])
            };
            states.iter().filter_map(next).sum()
        };
        let mut shares: Vec<f64> = counts.iter().map(of).collect();
        let sum: f64 = shares.iter().sum();
        shares.iter_mut().for_each(|s| *s /= sum);
        (sum > 0.0).then_some(shares)
    }

    /// Takes the last member back. `None` if she cannot be.
    fn backward_step(&mut self, counts: &[u8], incoming: &[f64]) -> Option<()> {
        self.members -= 1;
        let mut earlier = std::mem::take(&mut self.spare);
        earlier.clear();
        earlier.resize(self.states, 0.0);
        let mut sum = 0.0;
        for &state in &self.forward[self.members].1 {
            let ways = counts.iter().zip(incoming);
            let ways = ways.filter_map(|(&count, likely)| {
                Some(likely * self.backward[self.next(state, count)? as usize])
            });
            let weight: f64 = ways.sum();
            earlier[state as usize] = weight;
            sum += weight;
        }
        for &state in &self.forward[self.members].1 {
            earlier[state as usize] /= sum;
        }
        self.spare = std::mem::replace(&mut self.backward, earlier);
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
    use crate::progress::Watch;
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
            let exact = count(part, 1 << 20, &Watch::silent()).expect("it is small");
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
            let Some(exact) = count(&part, 1 << 22, &Watch::silent()) else { continue };
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
