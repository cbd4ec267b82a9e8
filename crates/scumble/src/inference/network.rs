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

use super::effort::Effort;

/// Of an outcome: how many people have it is not fixed yet.
pub(super) const OPEN: u32 = u32::MAX;

/// The end of an edge that is outside.
pub(super) const HUB: u32 = u32::MAX;

const NONE: u32 = u32::MAX;

/// Networks with more edges are split where they fall apart; to keep smaller ones whole is cheaper.
const SPLIT: usize = 64;

/// How many people have which outcome, as far as it is fixed.
pub(super) struct Assignment {
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
    /// Whether the work ran out before it was known what it fixes.
    unfinished: bool,
}

/// The nodes of a cut through which too little or too much must flow: there is no feasible flow.
pub(super) struct Infeasible(pub Vec<u32>);

/// What a network, or several, came to.
#[derive(Default)]
pub(super) struct Settled {
    /// Outcomes that are fixed, and how many people have each.
    pub fixed: Vec<(u32, u32)>,
    /// The parts of networks that were split.
    pub parts: Vec<Network>,
    /// Steps that it took.
    pub work: u64,
}

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

    /// Number of edges: what one look at it takes.
    pub fn len(&self) -> u64 {
        self.edges.len() as u64
    }

    /// Whether the work ran out before it was known what it fixes.
    pub fn is_unfinished(&self) -> bool {
        self.unfinished
    }

    /// Finds outcomes that are fixed, and how many people have each. A large network is split at
    /// them, and becomes empty. If the work does not suffice, it fixes nothing and is unfinished.
    pub fn settle(
        &mut self,
        assignment: &Assignment,
        scratch: &mut Scratch,
        settled: &mut Settled,
        effort: &Effort<'_>,
    ) -> Result<(), Infeasible> {
        self.unfinished = true;
        if effort.spend(2 * self.len() + 1).is_none() {
            return Ok(());
        }
        self.update(assignment)?;
        scratch.index(self);
        self.start(scratch);
        for up_left in [true, false] {
            if self.augment(up_left, scratch, effort)?.is_none() {
                return Ok(());
            }
        }
        if effort.spend(2 * self.len()).is_none() {
            return Ok(());
        }
        self.unfinished = false;
        self.components(scratch);
        self.cut(scratch, &mut settled.fixed);
        if self.edges.len() > SPLIT {
            settled.parts.extend(std::mem::take(self).split(scratch));
        } else if !self.edges.iter().any(Edge::is_inner) {
            *self = Network::default();
        }
        Ok(())
    }

    /// A cut that fixes the edge of an outcome: the nodes on the side without the hub, and whether
    /// that side is closed: if so as much as can be flows out of it and as little as can be into
    /// it, otherwise the other way round. `None` if the edge is not fixed.
    pub fn cut_at(&mut self, outcome: u32, scratch: &mut Scratch) -> Option<(Vec<u32>, bool)> {
        scratch.index(self);
        self.start(scratch);
        let unlimited = Effort::new(u64::MAX);
        for up_left in [true, false] {
            self.augment(up_left, scratch, &unlimited).ok()??;
        }
        scratch.hub(self);
        let hub = self.nodes.len() as u32;
        let has = |e: &&Edge| {
            self.outcomes[e.outcomes.0 as usize..e.outcomes.1 as usize].contains(&outcome)
        };
        let edge = self.edges.iter().find(has)?;
        let end = |n: u32| if n == HUB { hub } else { n };
        let (left, right) = (end(edge.left), end(edge.right));
        let (tail, head) = if edge.flow == 0 { (left, right) } else { (right, left) };
        let mut seen = vec![false; hub as usize + 1];
        scratch.next.clear();
        scratch.next.extend_from_slice(&scratch.first[..=hub as usize]);
        let mut stack = vec![head];
        seen[head as usize] = true;
        while let Some(&node) = stack.last() {
            match self.step(node, scratch) {
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
    fn update(&mut self, assignment: &Assignment) -> Result<(), Infeasible> {
        let Network { nodes, edges, outcomes, .. } = self;
        let mut broken = None;
        edges.retain_mut(|edge| {
            let (first, end) = edge.outcomes;
            let mut at = first;
            let mut told = 0;
            for i in first..end {
                let outcome = outcomes[i as usize];
                match assignment.fixed[outcome as usize] {
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
                    assignment.room[assignment.kind_of[outcomes[first as usize] as usize] as usize];
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
    fn components(&self, scratch: &mut Scratch) {
        let count = self.nodes.len() as u32;
        scratch.hub(self);
        scratch.queue.clear();
        scratch.stack.clear();
        scratch.component.clear();
        scratch.component.resize(count as usize + 1, NONE);
        scratch.level.clear();
        scratch.level.resize(count as usize + 1, NONE);
        scratch.reach.clear();
        scratch.reach.resize(count as usize + 1, 0);
        scratch.next.clear();
        scratch.next.extend_from_slice(&scratch.first[..=count as usize]);
        let (mut time, mut found) = (0, 0);
        for root in 0..=count {
            if scratch.level[root as usize] != NONE {
                continue;
            }
            scratch.enter(root, &mut time);
            while let Some(&node) = scratch.queue.last() {
                match self.step(node, scratch) {
                    Some(to) if scratch.level[to as usize] == NONE => scratch.enter(to, &mut time),
                    Some(to) => {
                        if scratch.component[to as usize] == NONE {
                            scratch.reach[node as usize] =
                                scratch.reach[node as usize].min(scratch.level[to as usize]);
                        }
                    }
                    None => {
                        scratch.queue.pop();
                        let reach = scratch.reach[node as usize];
                        if let Some(&above) = scratch.queue.last() {
                            scratch.reach[above as usize] =
                                scratch.reach[above as usize].min(reach);
                        }
                        if reach == scratch.level[node as usize] {
                            while let Some(member) = scratch.stack.pop() {
                                scratch.component[member as usize] = found;
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
    fn step(&self, node: u32, scratch: &mut Scratch) -> Option<u32> {
        let hub = self.nodes.len() as u32;
        let at = &mut scratch.next[node as usize];
        if node == hub {
            let to = scratch.from_hub.get((*at - scratch.first[hub as usize]) as usize).copied();
            *at += 1;
            return to;
        }
        let end = scratch.first[node as usize + 1];
        let adds = node < self.lefts;
        while *at < end {
            let edge = scratch.edges[*at as usize];
            *at += 1;
            if self.residual(edge, adds) > 0 {
                let other = self.other(edge, node);
                return Some(if other == HUB { hub } else { other });
            }
        }
        if *at == end {
            *at += 1;
            let (bounds, sum) = (&self.nodes[node as usize], scratch.sum[node as usize]);
            if if adds { sum > bounds.low } else { sum < bounds.high } {
                return Some(hub);
            }
        }
        None
    }

    /// Takes out the edges between components: they are fixed.
    fn cut(&mut self, scratch: &Scratch, fixed: &mut Vec<(u32, u32)>) {
        let hub = self.nodes.len();
        let Network { nodes, edges, outcomes, .. } = self;
        let component = |end: u32| scratch.component[if end == HUB { hub } else { end as usize }];
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
    pub fn split(self, scratch: &mut Scratch) -> Vec<Network> {
        let parent = &mut scratch.level;
        parent.clear();
        parent.extend(0..self.nodes.len() as u32);
        for edge in self.edges.iter().filter(|e| e.is_inner()) {
            let (a, b) = (root(parent, edge.left), root(parent, edge.right));
            parent[a.max(b) as usize] = a.min(b);
        }
        // The part of each root, and how much will be in each part.
        let mut sizes: Vec<[u32; 3]> = Vec::new();
        scratch.next.clear();
        scratch.next.resize(self.nodes.len(), NONE);
        for edge in self.edges.iter().filter(|e| e.is_inner()) {
            let part = &mut scratch.next[root(parent, edge.left) as usize];
            if *part == NONE {
                *part = sizes.len() as u32;
                sizes.push([0; 3]);
            }
        }
        for node in 0..self.nodes.len() as u32 {
            scratch.next[node as usize] = scratch.next[root(parent, node) as usize];
            if let Some(size) = sizes.get_mut(scratch.next[node as usize] as usize) {
                size[0] += 1;
            }
        }
        let part = |edge: &Edge| scratch.next[edge.left.min(edge.right) as usize] as usize;
        for edge in &self.edges {
            if let Some(size) = sizes.get_mut(part(edge)) {
                size[1] += 1;
                size[2] += edge.outcomes.1 - edge.outcomes.0;
            }
        }
        let mut parts: Vec<Network> = sizes.into_iter().map(Network::with_capacity).collect();
        // Where each node is in its part.
        scratch.reach.clear();
        for (number, node) in (0u32..).zip(&self.nodes) {
            scratch.reach.push(match parts.get_mut(scratch.next[number as usize] as usize) {
                Some(part) => part.push_node(node.clone(), number < self.lefts),
                None => NONE,
            });
        }
        let place = |end: u32| if end == HUB { HUB } else { scratch.reach[end as usize] };
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
            unfinished: false,
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

/// Work space that one network after another uses.
#[derive(Default)]
pub(super) struct Scratch {
    /// The edges at node n are `edges[first[n]..first[n + 1]]`.
    first: Vec<u32>,
    edges: Vec<u32>,
    /// Whether an edge at a node leads outside.
    outside: Vec<bool>,
    /// The next edge at each node that may lead outside.
    exit: Vec<u32>,
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

impl Scratch {
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
