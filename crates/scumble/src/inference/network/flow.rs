//! A feasible flow of a network, from whatever flow it has.

use super::{EDGES, HUB, Infeasible, NONE, Network, Work};
use crate::progress::Watch;

impl Network {
    /// Fills nodes that lack something, as far as it goes without a detour.
    pub(super) fn start(&mut self, work: &mut Work) {
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
            let lacks =
                |end: u32| end != HUB && work.sum[end as usize] < self.nodes[end as usize].low;
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

    /// Pushes what nodes have too much of to the hub along shortest paths, many at a time (Dinic):
    /// those of one side that lack and those of the other that overflow. The mirror image does the
    /// rest.
    pub(super) fn augment(
        &mut self,
        up_left: bool,
        work: &mut Work,
        watch: &Watch<'_>,
    ) -> Result<(), Infeasible> {
        let count = self.nodes.len() as u32;
        let mut sources: Vec<u32> =
            (0..count).filter(|&n| self.excess(n, self.adds(n, up_left), work) > 0).collect();
        // Cancelled, it leaves a flow that is not feasible.
        while !sources.is_empty() && watch.work(self.edges.len() as u64, EDGES) {
            if !self.levels(&sources, up_left, work) {
                return Err(Infeasible(
                    work.queue.iter().map(|&n| self.nodes[n as usize].id).collect(),
                ));
            }
            work.next.clear();
            work.next.extend_from_slice(&work.first[..count as usize]);
            for &source in &sources {
                while self.excess(source, self.adds(source, up_left), work) > 0
                    && self.path(source, up_left, work)
                {}
            }
            sources.retain(|&n| self.excess(n, self.adds(n, up_left), work) > 0);
        }
        Ok(())
    }

    /// Whether a path may end at a node: at its own count, or over an edge to the outside.
    fn ends(&self, node: u32, up_left: bool, work: &Work) -> bool {
        let adds = self.adds(node, up_left);
        self.slack(node, adds, work) > 0
            || work.outside[node as usize]
                && work
                    .at(node)
                    .iter()
                    .any(|&e| self.other(e, node) == HUB && self.residual(e, adds) > 0)
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
                if other != HUB
                    && self.residual(edge, adds) > 0
                    && work.level[other as usize] == NONE
                {
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
            let mut outside =
                outside.filter(|&e| self.other(e, last) == HUB && self.residual(e, adds) > 0);
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
}
