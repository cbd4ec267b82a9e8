//! A k-d tree from which records are taken away: the farthest point from a place, and the nearest
//! ones.
//!
//! Ties go to the point with the lowest number. Pruning never changes an answer: the nearest point
//! of a box is measured in the same floating-point steps as a point, and those are monotone; the
//! farthest is bounded with room for rounding.

use super::points::Points;
use std::ops::Range;

/// Points of a leaf; their coordinates stand attribute by attribute, so that all lanes are computed
/// at once.
const LANES: usize = 16;
/// The number of no point.
const NOBODY: u32 = u32::MAX;

pub(super) struct Tree<'a> {
    points: &'a Points,
    /// Records left at each point.
    left: Vec<u32>,
    nodes: Vec<Node>,
    /// Per node the lowest coordinates of the points left, then the highest.
    boxes: Vec<f64>,
    /// Per leaf its points.
    lanes: Vec<[u32; LANES]>,
    blocks: Vec<[f64; LANES]>,
    /// The leaf of each point.
    home: Vec<u32>,
}

struct Node {
    parent: u32,
    /// Points left below.
    alive: u32,
    /// The largest squared distance of one of them from the origin.
    norm: f64,
    below: Below,
}

enum Below {
    Leaf(u32),
    Both(u32, u32),
}

/// A point with its squared distance.
pub(super) type Found = (f64, u32);

impl<'a> Tree<'a> {
    pub fn new(points: &'a Points) -> Tree<'a> {
        let mut tree = Tree {
            points,
            left: points.counts().to_vec(),
            nodes: Vec::new(),
            boxes: Vec::new(),
            lanes: Vec::new(),
            blocks: Vec::new(),
            home: vec![0; points.len()],
        };
        let mut order: Vec<u32> = (0..points.len() as u32).collect();
        tree.grow(&mut order, NOBODY);
        tree
    }

    /// Adds the node over these points; its number.
    fn grow(&mut self, order: &mut [u32], parent: u32) -> u32 {
        let id = self.nodes.len() as u32;
        let leaf = Below::Leaf(self.lanes.len() as u32);
        self.nodes.push(Node { parent, alive: order.len() as u32, norm: 0.0, below: leaf });
        self.boxes.resize(self.nodes.len() * 2 * self.points.dims(), 0.0);
        self.bound(id, order);
        if order.len() <= LANES {
            let mut lanes = [NOBODY; LANES];
            lanes[..order.len()].copy_from_slice(order);
            order.iter().for_each(|&p| self.home[p as usize] = id);
            self.lanes.push(lanes);
            for d in 0..self.points.dims() {
                self.blocks
                    .push(lanes.map(|p| if p == NOBODY { 0.0 } else { self.points.at(p)[d] }));
            }
        } else {
            let (low, high) = self.box_of(id);
            let width = |d: &usize| high[*d] - low[*d];
            let widest = (0..low.len()).max_by(|a, b| width(a).total_cmp(&width(b))).unwrap_or(0);
            // Full leaves on the left.
            let middle = (order.len() / 2).next_multiple_of(LANES).min(order.len() - 1);
            let points = self.points;
            let key = |p: &u32| points.at(*p)[widest];
            order.select_nth_unstable_by(middle, |a, b| key(a).total_cmp(&key(b)).then(a.cmp(b)));
            let (a, b) = order.split_at_mut(middle);
            let a = self.grow(a, id);
            let b = self.grow(b, id);
            self.nodes[id as usize].below = Below::Both(a, b);
        }
        id
    }

    fn bound(&mut self, id: u32, points: &[u32]) {
        let dims = self.points.dims();
        let (low, high) = self.boxes[id as usize * 2 * dims..][..2 * dims].split_at_mut(dims);
        low.fill(f64::INFINITY);
        high.fill(f64::NEG_INFINITY);
        let mut norm = 0.0f64;
        for &p in points {
            for (d, &x) in self.points.at(p).iter().enumerate() {
                low[d] = low[d].min(x);
                high[d] = high[d].max(x);
            }
            norm = norm.max(self.points.at(p).iter().map(|x| x * x).sum());
        }
        self.nodes[id as usize].norm = norm;
    }

    fn box_of(&self, id: u32) -> (&[f64], &[f64]) {
        let dims = self.points.dims();
        self.boxes[id as usize * 2 * dims..][..2 * dims].split_at(dims)
    }

    /// Records left at a point.
    pub fn left(&self, point: u32) -> u32 {
        self.left[point as usize]
    }

    /// Takes records of a point away.
    pub fn take(&mut self, point: u32, count: u32) {
        self.left[point as usize] -= count;
        if self.left[point as usize] > 0 {
            return;
        }
        let mut id = self.home[point as usize];
        if let Below::Leaf(leaf) = self.nodes[id as usize].below {
            let lanes = &mut self.lanes[leaf as usize];
            lanes.iter_mut().filter(|p| **p == point).for_each(|p| *p = NOBODY);
            let alive: Vec<u32> = lanes.iter().copied().filter(|&p| p != NOBODY).collect();
            self.bound(id, &alive);
        }
        let mut moved = true;
        while id != NOBODY {
            let node = &mut self.nodes[id as usize];
            node.alive -= 1;
            let parent = node.parent;
            if let (true, Below::Both(a, b)) = (moved, &node.below) {
                let (a, b) = (*a, *b);
                moved = self.join(id, a, b);
            }
            id = parent;
        }
    }

    /// Sets the bounds of a node to those of its children; whether it changed.
    fn join(&mut self, id: u32, a: u32, b: u32) -> bool {
        let dims = self.points.dims();
        let norm = self.nodes[a as usize].norm.max(self.nodes[b as usize].norm);
        let mut changed = self.nodes[id as usize].norm != norm;
        self.nodes[id as usize].norm = norm;
        for i in 0..2 * dims {
            let (x, y) =
                (self.boxes[a as usize * 2 * dims + i], self.boxes[b as usize * 2 * dims + i]);
            let to = if i < dims { x.min(y) } else { x.max(y) };
            let at = &mut self.boxes[id as usize * 2 * dims + i];
            changed |= *at != to;
            *at = to;
        }
        changed
    }

    fn distances(&self, leaf: u32, place: &[f64]) -> [f64; LANES] {
        let blocks = &self.blocks[leaf as usize * place.len()..][..place.len()];
        let mut sums = [0.0; LANES];
        for (block, &at) in blocks.iter().zip(place) {
            for (sum, x) in sums.iter_mut().zip(block) {
                *sum += (x - at) * (x - at);
            }
        }
        sums
    }

    /// The point farthest from a place.
    pub fn farthest(&self, place: &[f64]) -> Option<Found> {
        let mut best = None;
        let norm = place.iter().map(|x| x * x).sum();
        self.search_far(0, place, norm, &mut best);
        best
    }

    fn search_far(&self, id: u32, place: &[f64], norm: f64, best: &mut Option<Found>) {
        match self.nodes[id as usize].below {
            Below::Leaf(leaf) => {
                for (&p, d) in self.lanes[leaf as usize].iter().zip(self.distances(leaf, place)) {
                    if p != NOBODY && best.is_none_or(|(far, q)| d > far || (d == far && p < q)) {
                        *best = Some((d, p));
                    }
                }
            }
            Below::Both(a, b) => {
                let mut both = [(self.reach(a, place, norm), a), (self.reach(b, place, norm), b)];
                if both[0].0 < both[1].0 {
                    both.swap(0, 1);
                }
                for (reach, child) in both {
                    if self.nodes[child as usize].alive > 0
                        && best.is_none_or(|(far, _)| reach >= far)
                    {
                        self.search_far(child, place, norm, best);
                    }
                }
            }
        }
    }

    /// No point of the node is farther than this. The corners of a box are far out where no point
    /// is, so it is not the box that bounds |x|² in |x|² − 2xp + |p|², but the largest there is;
    /// the rest is a little wider than it need be, for its rounding.
    fn reach(&self, id: u32, place: &[f64], norm: f64) -> f64 {
        let (low, high) = self.box_of(id);
        let along: f64 =
            low.iter().zip(high).zip(place).map(|((l, h), x)| (l * x).min(h * x)).sum();
        let most = self.nodes[id as usize].norm + norm;
        most - 2.0 * along + 1e-9 * most
    }

    /// No point of the box is nearer than this.
    fn gap(&self, id: u32, place: &[f64]) -> f64 {
        let (low, high) = self.box_of(id);
        let side = |((l, h), x): ((&f64, &f64), &f64)| {
            let off = (l - x).max(x - h).max(0.0);
            off * off
        };
        low.iter().zip(high).zip(place).map(side).sum()
    }

    /// The nearest points to a place that have at least `records` left together; from near to far.
    pub fn nearest(&self, place: &[f64], records: u64) -> Vec<Found> {
        let mut best = Nearest { found: Vec::new(), total: 0, records };
        if self.nodes[0].alive > 0 {
            self.search_near(0, place, &mut best);
        }
        best.found
    }

    fn search_near(&self, id: u32, place: &[f64], best: &mut Nearest) {
        match self.nodes[id as usize].below {
            Below::Leaf(leaf) => {
                for (&p, d) in self.lanes[leaf as usize].iter().zip(self.distances(leaf, place)) {
                    if p != NOBODY && d <= best.limit() {
                        best.insert((d, p), &self.left);
                    }
                }
            }
            Below::Both(a, b) => {
                let mut both = [(self.gap(a, place), a), (self.gap(b, place), b)];
                if both[0].0 > both[1].0 {
                    both.swap(0, 1);
                }
                for (gap, child) in both {
                    if self.nodes[child as usize].alive > 0 && gap <= best.limit() {
                        self.search_near(child, place, best);
                    }
                }
            }
        }
    }

    /// Every point with records left.
    pub fn rest(&self) -> impl Iterator<Item = (u32, u32)> {
        let range: Range<u32> = 0..self.left.len() as u32;
        range.map(|p| (p, self.left(p))).filter(|&(_, n)| n > 0)
    }
}

/// The nearest points so far, no more than are needed.
struct Nearest {
    found: Vec<Found>,
    total: u64,
    records: u64,
}

impl Nearest {
    /// Points farther than this are not wanted.
    fn limit(&self) -> f64 {
        if self.total < self.records {
            f64::INFINITY
        } else {
            self.found.last().map_or(f64::INFINITY, |f| f.0)
        }
    }

    fn insert(&mut self, new: Found, left: &[u32]) {
        let at = self.found.partition_point(|old| (old.0, old.1) < new);
        if at == self.found.len() && self.total >= self.records {
            return;
        }
        self.found.insert(at, new);
        self.total += u64::from(left[new.1 as usize]);
        while let Some(&(_, last)) = self.found.last() {
            let without = self.total - u64::from(left[last as usize]);
            if without < self.records {
                break;
            }
            self.total = without;
            self.found.pop();
        }
    }
}
