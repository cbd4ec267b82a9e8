//! A feasible flow of a network, from whatever flow it has.

use super::{HUB, Infeasible, NONE, Network, Scratch};
use crate::inference::effort::Effort;

impl Network {
    /// Fills nodes that lack something, as far as it goes without a detour.
    pub(super) fn start(&mut self, scratch: &mut Scratch) {
        for edge in &self.edges {
            for end in [edge.left, edge.right] {
                if end != HUB {
                    scratch.sum[end as usize] += u64::from(edge.flow);
                }
            }
        }
        for edge in &mut self.edges {
            let space = |end: u32| match self.nodes.get(end as usize) {
                Some(node) => node.high.saturating_sub(scratch.sum[end as usize]),
                None => u64::MAX,
            };
            let lacks =
                |end: u32| end != HUB && scratch.sum[end as usize] < self.nodes[end as usize].low;
            if !lacks(edge.left) && !lacks(edge.right) {
                continue;
            }
            let more = u64::from(edge.cap - edge.flow).min(space(edge.left)).min(space(edge.right));
            edge.flow += more as u32;
            for end in [edge.left, edge.right] {
                if end != HUB {
                    scratch.sum[end as usize] += more;
                }
            }
        }
    }

    /// Whether a path may take flow away from edges at this node, or must add to them.
    fn adds(&self, node: u32, up_left: bool) -> bool {
        (node < self.lefts) == up_left
    }

    /// How much must still leave a node for the hub.
    fn excess(&self, node: u32, adds: bool, scratch: &Scratch) -> u64 {
        let (bounds, sum) = (&self.nodes[node as usize], scratch.sum[node as usize]);
        if adds { bounds.low.saturating_sub(sum) } else { sum.saturating_sub(bounds.high) }
    }

    /// How much of a path may end at a node, as its own count changes.
    fn slack(&self, node: u32, adds: bool, scratch: &Scratch) -> u64 {
        let (bounds, sum) = (&self.nodes[node as usize], scratch.sum[node as usize]);
        if adds { sum.saturating_sub(bounds.low) } else { bounds.high.saturating_sub(sum) }
    }

    /// Pushes what nodes have too much of to the hub along shortest paths, many at a time (Dinic):
    /// those of one side that lack and those of the other that overflow. The mirror image does the
    /// rest. `None` if the work ran out: then the flow is not feasible yet.
    pub(super) fn augment(
        &mut self,
        up_left: bool,
        scratch: &mut Scratch,
        effort: &Effort<'_>,
    ) -> Result<Option<()>, Infeasible> {
        let count = self.nodes.len() as u32;
        let mut sources: Vec<u32> =
            (0..count).filter(|&n| self.excess(n, self.adds(n, up_left), scratch) > 0).collect();
        while !sources.is_empty() {
            if effort.spend(self.len()).is_none() {
                return Ok(None);
            }
            if !self.levels(&sources, up_left, scratch) {
                return Err(Infeasible(
                    scratch.queue.iter().map(|&n| self.nodes[n as usize].id).collect(),
                ));
            }
            scratch.next.clear();
            scratch.next.extend_from_slice(&scratch.first[..count as usize]);
            for &source in &sources {
                while self.excess(source, self.adds(source, up_left), scratch) > 0 {
                    let (found, steps) = self.path(source, up_left, scratch);
                    if effort.spend(steps).is_none() {
                        return Ok(None);
                    }
                    if !found {
                        break;
                    }
                }
            }
            sources.retain(|&n| self.excess(n, self.adds(n, up_left), scratch) > 0);
        }
        Ok(Some(()))
    }

    /// Whether a path may end at a node: at its own count, or over an edge to the outside.
    fn ends(&self, node: u32, up_left: bool, scratch: &mut Scratch) -> bool {
        let adds = self.adds(node, up_left);
        self.slack(node, adds, scratch) > 0 || self.exit(node, adds, scratch).is_some()
    }

    /// An edge to the outside over which a path may end. In one phase such edges only fill up, so
    /// that those that were passed over need not be looked at again.
    fn exit(&self, node: u32, adds: bool, scratch: &mut Scratch) -> Option<u32> {
        let end = scratch.first[node as usize + 1];
        let at = scratch.exit.get_mut(node as usize).filter(|_| scratch.outside[node as usize])?;
        while *at < end {
            let edge = scratch.edges[*at as usize];
            if self.other(edge, node) == HUB && self.residual(edge, adds) > 0 {
                return Some(edge);
            }
            *at += 1;
        }
        None
    }

    /// Distances from the sources, up to the first end of a path; whether there is one.
    fn levels(&self, sources: &[u32], up_left: bool, scratch: &mut Scratch) -> bool {
        scratch.level.clear();
        scratch.level.resize(self.nodes.len(), NONE);
        scratch.exit.clear();
        scratch.exit.extend_from_slice(&scratch.first[..self.nodes.len()]);
        scratch.queue.clear();
        scratch.queue.extend_from_slice(sources);
        sources.iter().for_each(|&n| scratch.level[n as usize] = 0);
        let mut last = NONE;
        let mut head = 0;
        while head < scratch.queue.len() {
            let node = scratch.queue[head];
            head += 1;
            let level = scratch.level[node as usize];
            if level > last {
                break;
            }
            if self.ends(node, up_left, scratch) {
                last = level;
                continue;
            }
            let adds = self.adds(node, up_left);
            for i in scratch.first[node as usize]..scratch.first[node as usize + 1] {
                let edge = scratch.edges[i as usize];
                let other = self.other(edge, node);
                if other != HUB
                    && self.residual(edge, adds) > 0
                    && scratch.level[other as usize] == NONE
                {
                    scratch.level[other as usize] = level + 1;
                    scratch.queue.push(other);
                }
            }
        }
        last != NONE
    }

    /// Pushes along one shortest path from a source; whether there was one, and how many nodes were
    /// looked at.
    fn path(&mut self, source: u32, up_left: bool, scratch: &mut Scratch) -> (bool, u64) {
        scratch.path.clear();
        let mut node = source;
        let mut steps = 0;
        loop {
            steps += 1;
            let adds = self.adds(node, up_left);
            if self.ends(node, up_left, scratch) {
                self.push(source, node, up_left, scratch);
                return (true, steps);
            }
            let end = scratch.first[node as usize + 1];
            let mut step = None;
            while scratch.next[node as usize] < end {
                let edge = scratch.edges[scratch.next[node as usize] as usize];
                let other = self.other(edge, node);
                if other != HUB
                    && self.residual(edge, adds) > 0
                    && scratch.level[other as usize] == scratch.level[node as usize] + 1
                {
                    step = Some((edge, other));
                    break;
                }
                scratch.next[node as usize] += 1;
            }
            match step {
                Some((edge, other)) => {
                    scratch.path.push((node, edge));
                    node = other;
                }
                None => match scratch.path.pop() {
                    Some((before, _)) => {
                        scratch.next[before as usize] += 1;
                        node = before;
                    }
                    None => return (false, steps),
                },
            }
        }
    }

    /// Pushes as much as the path takes from its source to the hub by way of its last node.
    fn push(&mut self, source: u32, last: u32, up_left: bool, scratch: &mut Scratch) {
        let mut more = self.excess(source, self.adds(source, up_left), scratch);
        for &(node, edge) in &scratch.path {
            more = more.min(u64::from(self.residual(edge, self.adds(node, up_left))));
        }
        let adds = self.adds(last, up_left);
        let slack = self.slack(last, adds, scratch);
        if slack > 0 {
            more = more.min(slack);
            scratch.change(last, more, !adds);
        } else {
            let Some(edge) = self.exit(last, adds, scratch) else { return };
            more = more.min(u64::from(self.residual(edge, adds)));
            self.edges[edge as usize].change(more, adds);
        }
        scratch.change(source, more, self.adds(source, up_left));
        for &(node, edge) in &scratch.path {
            let adds = self.adds(node, up_left);
            self.edges[edge as usize].change(more, adds);
        }
    }
}
