//! A transport network between two families of counts: what flows the same way in every feasible flow is fixed.
//!
//! Every edge is something that may be true of the people of a kind. It leaves a node on the left and enters one on the
//! right; each node is a count with bounds. An end of an edge may be outside, at the hub: those people are counted by
//! one side only. The hub also closes the circulation: the flow of a node comes from it or goes to it.
//!
//! Given one feasible flow, an edge can change exactly if it lies on a cycle of the residual graph. So an edge whose
//! ends are in different strongly connected components has the same flow in all of them.

/// Of an outcome: how many people have it is not fixed yet.
pub(super) const OPEN: u32 = u32::MAX;

/// The end of an edge that is outside.
pub(super) const HUB: u32 = u32::MAX;

const NONE: u32 = u32::MAX;

/// Networks with more edges are split where they fall apart; to keep smaller ones whole is cheaper.
const SPLIT: usize = 64;

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
    pub fn push_edge(&mut self, left: u32, right: u32, people: u32, outcomes: impl Iterator<Item = u32>) {
        let first = self.outcomes.len() as u32;
        self.outcomes.extend(outcomes);
        self.edges.push(Edge { left, right, flow: 0, cap: people, outcomes: (first, self.outcomes.len() as u32) });
    }

    /// The outcomes of all edges, also of those that are gone since it was last split.
    pub fn outcomes(&self) -> &[u32] {
        &self.outcomes
    }

    /// Whether nothing is left of it.
    pub fn is_empty(&self) -> bool {
        self.edges.is_empty()
    }

    /// Finds outcomes that are fixed, and how many people have each. A large network is split at them, and becomes empty.
    pub fn settle(
        &mut self,
        progress: &Progress,
        work: &mut Work,
        fixed: &mut Vec<(u32, u32)>,
        parts: &mut Vec<Network>,
    ) -> Result<(), Infeasible> {
        self.update(progress)?;
        work.index(self);
        self.start(work);
        for up_left in [true, false] {
            self.augment(up_left, work)?;
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
                edge.cap = progress.room[progress.kind_of[outcomes[first as usize] as usize] as usize];
            }
            edge.flow = edge.flow.saturating_sub(told).min(edge.cap);
            true
        });
        broken.map_or(Ok(()), |node| Err(Infeasible(vec![node])))
    }

    /// Fills nodes that lack something, as far as it goes without a detour.
    fn start(&mut self, work: &mut Work) {
        for edge in &self.edges {
            for end in [edge.left, edge.right] {
                if end != HUB {
                    work.sum[end as usize] += u64::from(edge.flow);
                }
            }
        }
        for edge in &mut self.edges {
            let space = |end: u32| match self.nodes.get(end as usize) {
                Some(node) => node.high.saturating_sub(work.sum[end as usize]),
                None => u64::MAX,
            };
            let lacks = |end: u32| end != HUB && work.sum[end as usize] < self.nodes[end as usize].low;
            if !lacks(edge.left) && !lacks(edge.right) {
                continue;
            }
            let more = u64::from(edge.cap - edge.flow).min(space(edge.left)).min(space(edge.right));
            edge.flow += more as u32;
            for end in [edge.left, edge.right] {
                if end != HUB {
                    work.sum[end as usize] += more;
                }
            }
        }
    }

    /// Whether a path may take flow away from edges at this node, or must add to them.
    fn adds(&self, node: u32, up_left: bool) -> bool {
        (node < self.lefts) == up_left
    }

    /// How much must still leave a node for the hub.
    fn excess(&self, node: u32, adds: bool, work: &Work) -> u64 {
        let (bounds, sum) = (&self.nodes[node as usize], work.sum[node as usize]);
        if adds { bounds.low.saturating_sub(sum) } else { sum.saturating_sub(bounds.high) }
    }

    /// How much of a path may end at a node, as its own count changes.
    fn slack(&self, node: u32, adds: bool, work: &Work) -> u64 {
        let (bounds, sum) = (&self.nodes[node as usize], work.sum[node as usize]);
        if adds { sum.saturating_sub(bounds.low) } else { bounds.high.saturating_sub(sum) }
    }

    fn residual(&self, edge: u32, adds: bool) -> u32 {
        let edge = &self.edges[edge as usize];
        if adds { edge.cap - edge.flow } else { edge.flow }
    }

    fn other(&self, edge: u32, node: u32) -> u32 {
        let edge = &self.edges[edge as usize];
        if edge.left == node { edge.right } else { edge.left }
    }

    /// Pushes what nodes have too much of to the hub along shortest paths, many at a time (Dinic): those of one side that
    /// lack and those of the other that overflow. The mirror image does the rest.
    fn augment(&mut self, up_left: bool, work: &mut Work) -> Result<(), Infeasible> {
        let count = self.nodes.len() as u32;
        let mut sources: Vec<u32> =
            (0..count).filter(|&n| self.excess(n, self.adds(n, up_left), work) > 0).collect();
        while !sources.is_empty() {
            if !self.levels(&sources, up_left, work) {
                return Err(Infeasible(work.queue.iter().map(|&n| self.nodes[n as usize].id).collect()));
            }
            work.next.clear();
            work.next.extend_from_slice(&work.first[..count as usize]);
            for &source in &sources {
                while self.excess(source, self.adds(source, up_left), work) > 0 && self.path(source, up_left, work) {}
            }
            sources.retain(|&n| self.excess(n, self.adds(n, up_left), work) > 0);
        }
        Ok(())
    }

    /// Whether a path may end at a node: at its own count, or over an edge to the outside.
    fn ends(&self, node: u32, up_left: bool, work: &Work) -> bool {
        let adds = self.adds(node, up_left);
        self.slack(node, adds, work) > 0
            || work.at(node).iter().any(|&e| self.other(e, node) == HUB && self.residual(e, adds) > 0)
    }

    /// Distances from the sources, up to the first end of a path; whether there is one.
    fn levels(&self, sources: &[u32], up_left: bool, work: &mut Work) -> bool {
        work.level.clear();
        work.level.resize(self.nodes.len(), NONE);
        work.queue.clear();
        work.queue.extend_from_slice(sources);
        sources.iter().for_each(|&n| work.level[n as usize] = 0);
        let mut last = NONE;
        let mut head = 0;
        while head < work.queue.len() {
            let node = work.queue[head];
            head += 1;
            let level = work.level[node as usize];
            if level > last {
                break;
            }
            if self.ends(node, up_left, work) {
                last = level;
                continue;
            }
            let adds = self.adds(node, up_left);
            for i in work.first[node as usize]..work.first[node as usize + 1] {
                let edge = work.edges[i as usize];
                let other = self.other(edge, node);
                if other != HUB && self.residual(edge, adds) > 0 && work.level[other as usize] == NONE {
                    work.level[other as usize] = level + 1;
                    work.queue.push(other);
                }
            }
        }
        last != NONE
    }

    /// Pushes along one shortest path from a source; whether there was one.
    fn path(&mut self, source: u32, up_left: bool, work: &mut Work) -> bool {
        work.path.clear();
        let mut node = source;
        loop {
            let adds = self.adds(node, up_left);
            if self.ends(node, up_left, work) {
                self.push(source, node, up_left, work);
                return true;
            }
            let end = work.first[node as usize + 1];
            let mut step = None;
            while work.next[node as usize] < end {
                let edge = work.edges[work.next[node as usize] as usize];
                let other = self.other(edge, node);
                if other != HUB
                    && self.residual(edge, adds) > 0
                    && work.level[other as usize] == work.level[node as usize] + 1
                {
                    step = Some((edge, other));
                    break;
                }
                work.next[node as usize] += 1;
            }
            match step {
                Some((edge, other)) => {
                    work.path.push((node, edge));
                    node = other;
                }
                None => match work.path.pop() {
                    Some((before, _)) => {
                        work.next[before as usize] += 1;
                        node = before;
                    }
                    None => return false,
                },
            }
        }
    }

    /// Pushes as much as the path takes from its source to the hub by way of its last node.
    fn push(&mut self, source: u32, last: u32, up_left: bool, work: &mut Work) {
        let mut more = self.excess(source, self.adds(source, up_left), work);
        for &(node, edge) in &work.path {
            more = more.min(u64::from(self.residual(edge, self.adds(node, up_left))));
        }
        let adds = self.adds(last, up_left);
        let slack = self.slack(last, adds, work);
        if slack > 0 {
            more = more.min(slack);
            work.change(last, more, !adds);
        } else {
            let outside = work.at(last).iter().copied();
            let mut outside = outside.filter(|&e| self.other(e, last) == HUB && self.residual(e, adds) > 0);
            let Some(edge) = outside.next() else { return };
            more = more.min(u64::from(self.residual(edge, adds)));
            self.edges[edge as usize].change(more, adds);
        }
        work.change(source, more, self.adds(source, up_left));
        for &(node, edge) in &work.path {
            let adds = self.adds(node, up_left);
            self.edges[edge as usize].change(more, adds);
        }
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
                            work.reach[node as usize] = work.reach[node as usize].min(work.level[to as usize]);
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

    /// Its connected parts, but for single nodes: such a node says nothing about people that the network of people and the
    /// same fact does not say.
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
        for edge in &network.edges {
            ends(edge).for_each(|n| self.first[n as usize + 2] += 1);
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
            let outside = |&e: &u32| network.other(e, number) == HUB && network.residual(e, !left) > 0;
            if open || self.at(number).iter().any(outside) {
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
