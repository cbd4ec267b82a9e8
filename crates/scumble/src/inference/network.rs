//! A transport network between two families of counts: what flows the same way in every feasible
//! flow is fixed.
//!
//! Every edge is something that may be true of the people of a kind. It leaves a node on the left
//! and enters one on the right; each node is a count with bounds. An end of an edge may be outside,
//! at the hub: those people are counted by one side only. The hub also closes the circulation: the
//! flow of a node comes from it or goes to it.
//!
//! Given one feasible flow, an edge can change exactly if it lies on a cycle of the residual graph.
//! So an edge whose ends are in different strongly connected components has the same flow in all of
//! them.

mod flow;

use crate::progress::Watch;

/// Of an outcome: how many people have it is not fixed yet.
pub(super) const OPEN: u32 = u32::MAX;

/// The end of an edge that is outside.
pub(super) const HUB: u32 = u32::MAX;

const NONE: u32 = u32::MAX;

/// Networks with more edges are split where they fall apart; to keep smaller ones whole is cheaper.
const SPLIT: usize = 64;

/// Edges between two questions whether to go on: about a tenth of a second.
pub(super) const EDGES: u64 = 1 << 20;

/// What is fixed so far.
pub(super) struct Progress {
    /// For each outcome how many people have it, or [`OPEN`].
    pub fixed: Vec<u32>,
    /// The kind of each outcome.
    pub kind_of: Vec<u32>,
    /// For each kind how many people have an outcome that is not fixed.
    pub room: Vec<u32>,
}

/// A count that the flow through it must meet.
#[derive(Clone, Debug)]
pub(super) struct Node {
    /// Its number outside of this network.
    pub id: u32,
    pub low: u64,
    pub high: u64,
}

#[derive(Clone, Debug)]
struct Edge {
    left: u32,
    right: u32,
    flow: u32,
    cap: u32,
    /// Its outcomes, within those of the network.
    outcomes: (u32, u32),
}

/// A connected network: its left nodes come first.
#[derive(Clone, Debug, Default)]
pub(super) struct Network {
    nodes: Vec<Node>,
    lefts: u32,
    edges: Vec<Edge>,
    outcomes: Vec<u32>,
}

/// The nodes of a cut through which too little or too much must flow: there is no feasible flow.
pub(super) struct Infeasible(pub Vec<u32>);

impl Network {
    /// Adds a node; all left ones before the first right one.
    pub fn push_node(&mut self, node: Node, left: bool) -> u32 {
        self.nodes.push(node);
        self.lefts += u32::from(left);
        self.nodes.len() as u32 - 1
    }

    /// Adds an edge for outcomes of one kind, of which so many people are left.
    pub fn push_edge(
        &mut self,
        left: u32,
        right: u32,
        people: u32,
        outcomes: impl Iterator<Item = u32>,
    ) {
        let first = self.outcomes.len() as u32;
        self.outcomes.extend(outcomes);
        self.edges.push(Edge {
            left,
            right,
            flow: 0,
            cap: people,
            outcomes: (first, self.outcomes.len() as u32),
        });
    }

    /// The outcomes of all edges, also of those that are gone since it was last split.
    pub fn outcomes(&self) -> &[u32] {
        &self.outcomes
    }

    /// Whether nothing is left of it.
    pub fn is_empty(&self) -> bool {
        self.edges.is_empty()
    }

    /// Finds outcomes that are fixed, and how many people have each. A large network is split at
    /// them, and becomes empty.
    pub fn settle(
        &mut self,
        progress: &Progress,
        work: &mut Work,
        (fixed, parts): (&mut Vec<(u32, u32)>, &mut Vec<Network>),
        watch: &Watch<'_>,
    ) -> Result<(), Infeasible> {
        self.update(progress)?;
        work.index(self);
        self.start(work);
        for up_left in [true, false] {
            self.augment(up_left, work, watch)?;
        }
        if !watch.work(self.edges.len() as u64, EDGES) {
            // The flow may not be feasible, and fixes nothing.
            return Ok(());
        }
        self.components(work);
        self.cut(work, fixed);
        if self.edges.len() > SPLIT {
            parts.extend(std::mem::take(self).split(work));
        } else if !self.edges.iter().any(Edge::is_inner) {
            *self = Network::default();
        }
        Ok(())
    }

    /// A cut that fixes the edge of an outcome: the nodes on the side without the hub, and whether
    /// that side is closed: if so as much as can be flows out of it and as little as can be into
    /// it, otherwise the other way round. `None` if the edge is not fixed.
    pub fn cut_at(&mut self, outcome: u32, work: &mut Work) -> Option<(Vec<u32>, bool)> {
        work.index(self);
        self.start(work);
        for up_left in [true, false] {
            self.augment(up_left, work, &Watch::silent()).ok()?;
        }
        work.hub(self);
        let hub = self.nodes.len() as u32;
        let has = |e: &&Edge| {
            self.outcomes[e.outcomes.0 as usize..e.outcomes.1 as usize].contains(&outcome)
        };
        let edge = self.edges.iter().find(has)?;
        let end = |n: u32| if n == HUB { hub } else { n };
        let (left, right) = (end(edge.left), end(edge.right));
        let (tail, head) = if edge.flow == 0 { (left, right) } else { (right, left) };
        let mut seen = vec![false; hub as usize + 1];
        work.next.clear();
        work.next.extend_from_slice(&work.first[..=hub as usize]);
        let mut stack = vec![head];
        seen[head as usize] = true;
        while let Some(&node) = stack.last() {
            match self.step(node, work) {
                Some(to) if !std::mem::replace(&mut seen[to as usize], true) => stack.push(to),
                Some(_) => {}
                None => drop(stack.pop()),
            }
        }
        let closed = !seen[hub as usize];
        let side = (0..hub)
            .filter(|&n| seen[n as usize] == closed)
            .map(|n| self.nodes[n as usize].id)
            .collect();
        (!seen[tail as usize]).then_some((side, closed))
    }

    /// Takes out what was fixed elsewhere.
    fn update(&mut self, progress: &Progress) -> Result<(), Infeasible> {
        let Network { nodes, edges, outcomes, .. } = self;
        let mut broken = None;
        edges.retain_mut(|edge| {
            let (first, end) = edge.outcomes;
            let mut at = first;
            let mut told = 0;
            for i in first..end {
                let outcome = outcomes[i as usize];
                match progress.fixed[outcome as usize] {
                    OPEN => {
                        outcomes[at as usize] = outcome;
                        at += 1;
                    }
                    people => told += people,
                }
            }
            for end in [edge.left, edge.right] {
                if told > 0 && end != HUB && !nodes[end as usize].take(told) {
                    broken = Some(nodes[end as usize].id);
                }
            }
            edge.outcomes.1 = at;
            if at == first {
                return false;
            }
            // One person who is open is left.
            if edge.cap > 1 {
                edge.cap =
                    progress.room[progress.kind_of[outcomes[first as usize] as usize] as usize];
            }
            edge.flow = edge.flow.saturating_sub(told).min(edge.cap);
            true
        });
        broken.map_or(Ok(()), |node| Err(Infeasible(vec![node])))
    }

    fn residual(&self, edge: u32, adds: bool) -> u32 {
        let edge = &self.edges[edge as usize];
        if adds { edge.cap - edge.flow } else { edge.flow }
    }

    fn other(&self, edge: u32, node: u32) -> u32 {
        let edge = &self.edges[edge as usize];
        if edge.left == node { edge.right } else { edge.left }
    }

    /// The strongly connected components of the residual graph (Tarjan), without recursion.
    fn components(&self, work: &mut Work) {
        let count = self.nodes.len() as u32;
        work.hub(self);
        work.queue.clear();
        work.stack.clear();
        work.component.clear();
        work.component.resize(count as usize + 1, NONE);
        work.level.clear();
        work.level.resize(count as usize + 1, NONE);
        work.reach.clear();
        work.reach.resize(count as usize + 1, 0);
        work.next.clear();
        work.next.extend_from_slice(&work.first[..=count as usize]);
        let (mut time, mut found) = (0, 0);
        for root in 0..=count {
            if work.level[root as usize] != NONE {
                continue;
            }
            work.enter(root, &mut time);
            while let Some(&node) = work.queue.last() {
                match self.step(node, work) {
                    Some(to) if work.level[to as usize] == NONE => work.enter(to, &mut time),
                    Some(to) => {
                        if work.component[to as usize] == NONE {
                            work.reach[node as usize] =
                                work.reach[node as usize].min(work.level[to as usize]);
                        }
                    }
                    None => {
                        work.queue.pop();
                        let reach = work.reach[node as usize];
                        if let Some(&above) = work.queue.last() {
                            work.reach[above as usize] = work.reach[above as usize].min(reach);
                        }
                        if reach == work.level[node as usize] {
                            while let Some(member) = work.stack.pop() {
                                work.component[member as usize] = found;
                                if member == node {
                                    break;
                                }
                            }
                            found += 1;
                        }
                    }
                }
            }
        }
    }

    /// The next arc of the residual graph from a node. The last node is the hub.
    fn step(&self, node: u32, work: &mut Work) -> Option<u32> {
        let hub = self.nodes.len() as u32;
        let at = &mut work.next[node as usize];
        if node == hub {
            let to = work.from_hub.get((*at - work.first[hub as usize]) as usize).copied();
            *at += 1;
            return to;
        }
        let end = work.first[node as usize + 1];
        let adds = node < self.lefts;
        while *at < end {
            let edge = work.edges[*at as usize];
            *at += 1;
            if self.residual(edge, adds) > 0 {
                let other = self.other(edge, node);
                return Some(if other == HUB { hub } else { other });
            }
        }
        if *at == end {
            *at += 1;
            let (bounds, sum) = (&self.nodes[node as usize], work.sum[node as usize]);
            if if adds { sum > bounds.low } else { sum < bounds.high } {
                return Some(hub);
            }
        }
        None
    }

    /// Takes out the edges between components: they are fixed.
    fn cut(&mut self, work: &Work, fixed: &mut Vec<(u32, u32)>) {
        let hub = self.nodes.len();
        let Network { nodes, edges, outcomes, .. } = self;
        let component = |end: u32| work.component[if end == HUB { hub } else { end as usize }];
        edges.retain(|edge| {
            if component(edge.left) == component(edge.right) {
                return true;
            }
            let alike = &outcomes[edge.outcomes.0 as usize..edge.outcomes.1 as usize];
            // How several outcomes share a fixed flow is not known.
            if edge.flow == 0 || alike.len() == 1 {
                fixed.extend(alike.iter().map(|&o| (o, edge.flow)));
            }
            for end in [edge.left, edge.right] {
                if end != HUB {
                    nodes[end as usize].take(edge.flow);
                }
            }
            false
        });
    }

    /// Its connected parts, but for single nodes: such a node says nothing about people that the
    /// network of people and the same fact does not say.
    pub fn split(self, work: &mut Work) -> Vec<Network> {
        let parent = &mut work.level;
        parent.clear();
        parent.extend(0..self.nodes.len() as u32);
        for edge in self.edges.iter().filter(|e| e.is_inner()) {
            let (a, b) = (root(parent, edge.left), root(parent, edge.right));
            parent[a.max(b) as usize] = a.min(b);
        }
        // The part of each root, and how much will be in each part.
        let mut sizes: Vec<[u32; 3]> = Vec::new();
        work.next.clear();
        work.next.resize(self.nodes.len(), NONE);
        for edge in self.edges.iter().filter(|e| e.is_inner()) {
            let part = &mut work.next[root(parent, edge.left) as usize];
            if *part == NONE {
                *part = sizes.len() as u32;
                sizes.push([0; 3]);
            }
        }
        for node in 0..self.nodes.len() as u32 {
            work.next[node as usize] = work.next[root(parent, node) as usize];
            if let Some(size) = sizes.get_mut(work.next[node as usize] as usize) {
                size[0] += 1;
            }
        }
        let part = |edge: &Edge| work.next[edge.left.min(edge.right) as usize] as usize;
        for edge in &self.edges {
            if let Some(size) = sizes.get_mut(part(edge)) {
                size[1] += 1;
                size[2] += edge.outcomes.1 - edge.outcomes.0;
            }
        }
        let mut parts: Vec<Network> = sizes.into_iter().map(Network::with_capacity).collect();
        // Where each node is in its part.
        work.reach.clear();
        for (number, node) in (0u32..).zip(&self.nodes) {
            work.reach.push(match parts.get_mut(work.next[number as usize] as usize) {
                Some(part) => part.push_node(node.clone(), number < self.lefts),
                None => NONE,
            });
        }
        let place = |end: u32| if end == HUB { HUB } else { work.reach[end as usize] };
        for edge in &self.edges {
            let Some(part) = parts.get_mut(part(edge)) else { continue };
            let alike = self.outcomes[edge.outcomes.0 as usize..edge.outcomes.1 as usize].iter();
            part.push_edge(place(edge.left), place(edge.right), edge.cap, alike.copied());
            if let Some(last) = part.edges.last_mut() {
                last.flow = edge.flow;
            }
        }
        parts
    }

    fn with_capacity([nodes, edges, outcomes]: [u32; 3]) -> Network {
        Network {
            nodes: Vec::with_capacity(nodes as usize),
            lefts: 0,
            edges: Vec::with_capacity(edges as usize),
            outcomes: Vec::with_capacity(outcomes as usize),
        }
    }
}

/// The representative of a set, in a forest of sets.
fn root(parent: &mut [u32], mut x: u32) -> u32 {
    while parent[x as usize] != x {
        parent[x as usize] = parent[parent[x as usize] as usize];
        x = parent[x as usize];
    }
    x
}

impl Node {
    /// Counts people who are fixed; whether there was room for them.
    fn take(&mut self, people: u32) -> bool {
        let people = u64::from(people);
        let fits = people <= self.high;
        (self.low, self.high) = (self.low.saturating_sub(people), self.high.saturating_sub(people));
        fits
    }
}

impl Edge {
    /// Whether none of its ends is outside.
    fn is_inner(&self) -> bool {
        self.left != HUB && self.right != HUB
    }

    fn change(&mut self, by: u64, add: bool) {
        if add { self.flow += by as u32 } else { self.flow -= by as u32 }
    }
}

/// Space to work in, for one network after another.
#[derive(Default)]
pub(super) struct Work {
    /// The edges at node n are `edges[first[n]..first[n + 1]]`.
    first: Vec<u32>,
    edges: Vec<u32>,
    /// Whether an edge at a node leads outside.
    outside: Vec<bool>,
    sum: Vec<u64>,
    level: Vec<u32>,
    next: Vec<u32>,
    queue: Vec<u32>,
    path: Vec<(u32, u32)>,
    stack: Vec<u32>,
    reach: Vec<u32>,
    component: Vec<u32>,
    from_hub: Vec<u32>,
}

impl Work {
    /// The edges at each node, and no flow.
    fn index(&mut self, network: &Network) {
        let count = network.nodes.len();
        self.sum.clear();
        self.sum.resize(count, 0);
        self.first.clear();
        self.first.resize(count + 2, 0);
        let ends = |edge: &Edge| [edge.left, edge.right].into_iter().filter(|&n| n != HUB);
        self.outside.clear();
        self.outside.resize(count, false);
        for edge in &network.edges {
            ends(edge).for_each(|n| self.first[n as usize + 2] += 1);
            if !edge.is_inner() {
                ends(edge).for_each(|n| self.outside[n as usize] = true);
            }
        }
        for n in 2..count + 2 {
            self.first[n] += self.first[n - 1];
        }
        self.edges.clear();
        self.edges.resize(self.first[count + 1] as usize, 0);
        for (number, edge) in (0u32..).zip(&network.edges) {
            for n in ends(edge) {
                let at = &mut self.first[n as usize + 1];
                self.edges[*at as usize] = number;
                *at += 1;
            }
        }
    }

    fn at(&self, node: u32) -> &[u32] {
        &self.edges[self.first[node as usize] as usize..self.first[node as usize + 1] as usize]
    }

    fn change(&mut self, node: u32, by: u64, add: bool) {
        let sum = &mut self.sum[node as usize];
        *sum = if add { *sum + by } else { *sum - by };
    }

    /// Nodes that the hub can send more to, or take back from.
    fn hub(&mut self, network: &Network) {
        self.from_hub.clear();
        for (number, node) in (0u32..).zip(&network.nodes) {
            let (left, sum) = (number < network.lefts, self.sum[number as usize]);
            let open = if left { sum < node.high } else { sum > node.low };
            let outside =
                |&e: &u32| network.other(e, number) == HUB && network.residual(e, !left) > 0;
            if open || self.outside[number as usize] && self.at(number).iter().any(outside) {
                self.from_hub.push(number);
            }
        }
    }

    fn enter(&mut self, node: u32, time: &mut u32) {
        self.level[node as usize] = *time;
        self.reach[node as usize] = *time;
        *time += 1;
        self.queue.push(node);
        self.stack.push(node);
    }
}
