//! Simulated annealing: records move, change places, and groups dissolve and form, while ever fewer
//! steps that cost something are allowed.
//!
//! Large tables are cut into blocks of whole groups that are annealed by themselves, on all cores;
//! a second round cuts at other places, so that the borders of the first are not borders of the
//! result.

use super::points::{Group, Points, add};
use super::tree::Tree;
use crate::progress::Progress;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Records of a block: enough to hide its border, few enough for a core's cache.
const BLOCK: usize = 4096;
/// Steps per record for an effort of 1.
const STEPS: u64 = 1000;
/// At first a step may cost about so many times what a record costs on average; in a second round,
/// where only the borders are new, less.
const HOT: [f64; 2] = [3.0, 0.1];
/// A thousand times, from 3 down to 0.01.
const COOLING: f64 = 0.9943;
/// The last part of the steps, in twentieths, allows no cost at all.
const FROZEN: u64 = 19;
/// Steps per record that are left when time is up.
const LAST: u64 = 50;
/// Steps between two questions whether to go on: some hundredths of a second.
const ASKED: u64 = 1 << 17;
/// No record looks farther than so many neighbours, however large k is.
const NEIGHBOURS: usize = 64;

/// Better groups of k to 2k − 1 records, made from groups of that size. Never worse than those.
pub(super) fn improve(
    points: &Points,
    mut groups: Vec<Group>,
    k: usize,
    effort: u64,
    seed: u64,
    progress: Progress<'_>,
) -> Vec<Group> {
    let records = points.records();
    let blocks = records.div_ceil(BLOCK as u64) as usize;
    let rounds = if blocks > 1 { 2 } else { 1 };
    let steps = effort.saturating_mul(STEPS) / rounds as u64;
    let (done, all) = (AtomicU64::new(0), steps.saturating_mul(rounds as u64 * records));
    let tell = |steps: u64| {
        let done = (done.fetch_add(steps, Relaxed) + steps).min(all);
        match progress.at(done, all) {
            false => Tempo::Cancelled,
            true if progress.is_late() => Tempo::Late,
            true => Tempo::Calm,
        }
    };
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    for (round, hot) in HOT.into_iter().enumerate().take(rounds) {
        let seeds: Vec<u64> = (0..blocks).map(|_| rng.next_u64()).collect();
        let parts = divide(points, groups, blocks, round);
        let better = parts.into_par_iter().zip(seeds);
        let plan = |seed| Plan { k, hot, steps, seed, tell: &tell };
        groups =
            better.flat_map_iter(|(part, seed)| improve_block(points, part, &plan(seed))).collect();
    }
    groups
}

/// How a block is annealed.
struct Plan<'a> {
    k: usize,
    hot: f64,
    /// Steps per record.
    steps: u64,
    seed: u64,
    /// Told how many steps were made since; answers how to go on.
    tell: &'a (dyn Fn(u64) -> Tempo + Sync),
}

/// How annealing goes on.
enum Tempo {
    /// There is time.
    Calm,
    /// Time is up: only what is better from here on, and not for long.
    Late,
    /// Nobody wants the result.
    Cancelled,
}

/// Divides the groups into blocks by where they are: each cut is across the widest side, in the
/// first round as near the middle as it can be, in the second beside it.
fn divide(points: &Points, groups: Vec<Group>, blocks: usize, round: usize) -> Vec<Vec<Group>> {
    if blocks < 2 || groups.len() < 2 {
        return vec![groups];
    }
    let mut placed: Vec<(Vec<f64>, Group)> =
        groups.into_iter().map(|g| (points.centroid(&g), g)).collect();
    let width = |d: usize| {
        let at = placed.iter().map(|(c, _)| c[d]);
        at.clone().fold(f64::NEG_INFINITY, f64::max) - at.fold(f64::INFINITY, f64::min)
    };
    let widths: Vec<f64> = (0..points.dims()).map(width).collect();
    let widest = (0..widths.len()).max_by(|&a, &b| widths[a].total_cmp(&widths[b])).unwrap_or(0);
    placed.sort_by(|(a, g), (b, h)| a[widest].total_cmp(&b[widest]).then_with(|| g.cmp(h)));
    let first = (blocks / 2).saturating_sub(round).max(1);
    let upper = placed.split_off(placed.len() * first / blocks);
    let groups = |placed: Vec<(Vec<f64>, Group)>| placed.into_iter().map(|(_, g)| g).collect();
    let mut parts = divide(points, groups(placed), first, round);
    parts.extend(divide(points, groups(upper), blocks - first, round));
    parts
}

fn improve_block(points: &Points, groups: Vec<Group>, plan: &Plan<'_>) -> Vec<Group> {
    let records: Vec<u32> =
        groups.iter().flatten().flat_map(|&(p, n)| (0..n).map(move |_| p)).collect();
    let sizes = groups.iter().map(|g| g.iter().map(|&(_, n)| n).sum::<u32>());
    let here = points.records_at(&records);
    let mut next = 0..records.len() as u32;
    let mut work = Annealing::new(&here, plan.k, plan.seed);
    for size in sizes {
        let group = work.fresh();
        next.by_ref().take(size as usize).for_each(|r| work.put(r, group));
    }
    let before = work.cost();
    work.run(plan);
    // No difference that is only rounding.
    if work.cost() * (1.0 + 1e-12) >= before {
        return groups;
    }
    let gather = |members: &Vec<u32>| {
        let mut group: Group = members.iter().map(|&r| (records[r as usize], 1)).collect();
        group.sort_unstable();
        group.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            kept.1 += u32::from(same);
            same
        });
        group
    };
    work.members.iter().filter(|m| !m.is_empty()).map(gather).collect()
}

/// Groups of records while they change. A cost is a sum of squared distances from the centroids.
struct Annealing<'a> {
    points: &'a Points,
    k: usize,
    group_of: Vec<u32>,
    /// Where a record stands among the members of its group.
    place: Vec<u32>,
    members: Vec<Vec<u32>>,
    sums: Vec<f64>,
    /// Numbers of groups that have dissolved.
    free: Vec<u32>,
    /// The neighbours of each record, from near to far, `near` for each.
    neighbours: Vec<u32>,
    near: usize,
    heat: f64,
    rng: ChaCha8Rng,
    /// Records that moved and the groups they left, in case the step is taken back.
    journal: Vec<(u32, u32)>,
}

impl<'a> Annealing<'a> {
    fn new(points: &'a Points, k: usize, seed: u64) -> Annealing<'a> {
        let n = points.len();
        let near = (2 * k + 6).min(NEIGHBOURS).min(n.saturating_sub(1));
        let tree = Tree::new(points);
        let of = |p: u32| {
            let found = tree.nearest(points.at(p), near as u64 + 1).into_iter().map(|(_, q)| q);
            found.filter(|&q| q != p).take(near).collect::<Vec<u32>>()
        };
        Annealing {
            points,
            k,
            group_of: vec![0; n],
            place: vec![0; n],
            members: Vec::new(),
            sums: Vec::new(),
            free: Vec::new(),
            neighbours: (0..n as u32).flat_map(of).collect(),
            near,
            heat: 0.0,
            rng: ChaCha8Rng::seed_from_u64(seed),
            journal: Vec::new(),
        }
    }

    fn run(&mut self, plan: &Plan<'_>) {
        let n = self.points.len() as u64;
        if self.members.len() < 2 {
            return;
        }
        let mut total = plan.steps.saturating_mul(n);
        let stage = (total / 1000).max(1);
        self.heat = plan.hot * self.cost() / n as f64;
        let (mut step, mut frozen) = (0, total / 20 * FROZEN);
        while step < total {
            if step % stage == 0 {
                self.heat *= COOLING;
                match (plan.tell)(if step == 0 { 0 } else { stage }) {
                    Tempo::Late if step < frozen => {
                        (frozen, total) = (step, step + (LAST * n).min(total - step));
                    }
                    Tempo::Cancelled => return,
                    _ => {}
                }
            }
            if step % ASKED == 0 && matches!((plan.tell)(0), Tempo::Cancelled) {
                return;
            }
            if step == frozen {
                self.heat = 0.0;
            }
            self.step();
            step += 1;
        }
    }

    /// One attempt: a record and one of its neighbours, preferably a near one, are to come
    /// together.
    fn step(&mut self) {
        let i = self.draw(self.points.len()) as u32;
        let rank = self.draw(self.near);
        let j = self.neighbours_of(i)[rank * rank / self.near];
        let (a, b) = (self.group_of[i as usize], self.group_of[j as usize]);
        if a == b {
            return;
        }
        self.journal.clear();
        // Dissolving and gathering look at k records each, so they are the rarer the larger k is.
        let cost = match self.draw(8 * self.k) {
            0 => self.dissolve(a),
            1 | 2 => self.gather(i),
            odd if odd % 2 == 1 && self.size(a) > self.k && self.size(b) < 2 * self.k - 1 => {
                Some(self.relocate(i, b))
            }
            _ => {
                let other = self.draw(self.size(b));
                let other = self.members[b as usize][other];
                return self.swap(i, other);
            }
        };
        if cost.is_some_and(|cost| self.bears(cost)) {
            self.free.extend(self.members[a as usize].is_empty().then_some(a));
        } else {
            self.take_back();
        }
    }

    /// A number below `n`.
    fn draw(&mut self, n: usize) -> usize {
        ((u64::from(self.rng.next_u32()) * n as u64) >> 32) as usize
    }

    /// Whether a step of this cost is allowed now: with a probability of about exp(−cost / heat).
    /// The logarithm of the random number is taken from its binary digits, which are the same on
    /// every machine.
    fn bears(&mut self, cost: f64) -> bool {
        if cost <= 0.0 || self.heat == 0.0 {
            return cost < 0.0;
        }
        let random = self.rng.next_u64();
        let zeros = random.leading_zeros();
        let rest = (random.checked_shl(zeros + 1).unwrap_or(0) >> 11) as f64 / (1u64 << 53) as f64;
        cost <= self.heat * std::f64::consts::LN_2 * (f64::from(zeros) + 1.0 - rest)
    }

    /// Exchanges two records of different groups, if the cost is borne. By far the most frequent
    /// step, so its cost is found without moving them.
    fn swap(&mut self, i: u32, j: u32) {
        let (a, b) = (self.group_of[i as usize], self.group_of[j as usize]);
        let (mut in_a, mut in_b, mut square) = (0.0, 0.0, 0.0);
        let (from, to) =
            (self.points.at(i).iter().zip(self.points.at(j)), self.sum(a).iter().zip(self.sum(b)));
        for ((x, y), (sum_a, sum_b)) in from.zip(to) {
            let difference = y - x;
            in_a += sum_a * difference;
            in_b += sum_b * difference;
            square += difference * difference;
        }
        let cost = -(square + 2.0 * in_a) / self.size(a) as f64
            - (square - 2.0 * in_b) / self.size(b) as f64;
        if self.bears(cost) {
            self.pull(i);
            self.pull(j);
            self.put(i, b);
            self.put(j, a);
        }
    }

    /// Moves a record to another group; what that costs.
    fn relocate(&mut self, record: u32, to: u32) -> f64 {
        let from = self.group_of[record as usize];
        self.journal.push((record, from));
        let (n, m) = (self.size(from) as f64, self.size(to) as f64);
        let gain = if n > 1.0 { n / (n - 1.0) * self.off(record, from) } else { 0.0 };
        let cost = if m > 0.0 { m / (m + 1.0) * self.off(record, to) } else { 0.0 };
        self.pull(record);
        self.put(record, to);
        cost - gain
    }

    /// Gives every member of a group to the group of a neighbour; nothing if there is no room.
    fn dissolve(&mut self, group: u32) -> Option<f64> {
        let mut cost = 0.0;
        while let Some(&record) = self.members[group as usize].last() {
            let open = self.neighbours_of(record).iter().map(|&q| self.group_of[q as usize]);
            let open = open.filter(|&g| g != group && self.size(g) < 2 * self.k - 1);
            let priced = open.map(|g| {
                (self.size(g) as f64 / (self.size(g) + 1) as f64 * self.off(record, g), g)
            });
            let (_, to) = priced.min_by(|a, b| a.0.total_cmp(&b.0))?;
            cost += self.relocate(record, to);
        }
        Some(cost)
    }

    /// A new group around a record, of its nearest neighbours that their groups can spare.
    fn gather(&mut self, center: u32) -> Option<f64> {
        let new = self.fresh();
        let mut cost = 0.0;
        for rank in 0..=self.near {
            let record = if rank == 0 { center } else { self.neighbours_of(center)[rank - 1] };
            if self.size(self.group_of[record as usize]) > self.k {
                cost += self.relocate(record, new);
            }
            if self.size(new) == self.k {
                return Some(cost);
            }
        }
        self.free.extend((self.size(new) == 0).then_some(new));
        None
    }

    fn take_back(&mut self) {
        while let Some((record, group)) = self.journal.pop() {
            let left = self.group_of[record as usize];
            self.pull(record);
            self.put(record, group);
            self.free.extend(self.members[left as usize].is_empty().then_some(left));
        }
    }
}

impl Annealing<'_> {
    /// An empty group.
    fn fresh(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.members.push(Vec::new());
            self.sums.resize(self.sums.len() + self.points.dims(), 0.0);
            self.members.len() as u32 - 1
        })
    }

    fn size(&self, group: u32) -> usize {
        self.members[group as usize].len()
    }

    fn sum(&self, group: u32) -> &[f64] {
        let dims = self.points.dims();
        &self.sums[group as usize * dims..][..dims]
    }

    fn neighbours_of(&self, record: u32) -> &[u32] {
        &self.neighbours[record as usize * self.near..][..self.near]
    }

    fn put(&mut self, record: u32, group: u32) {
        let dims = self.points.dims();
        self.group_of[record as usize] = group;
        self.place[record as usize] = self.members[group as usize].len() as u32;
        self.members[group as usize].push(record);
        add(&mut self.sums[group as usize * dims..][..dims], self.points.at(record), 1.0);
    }

    fn pull(&mut self, record: u32) {
        let dims = self.points.dims();
        let group = self.group_of[record as usize] as usize;
        let place = self.place[record as usize];
        self.members[group].swap_remove(place as usize);
        if let Some(&moved) = self.members[group].get(place as usize) {
            self.place[moved as usize] = place;
        }
        add(&mut self.sums[group * dims..][..dims], self.points.at(record), -1.0);
    }

    /// Squared distance of a record from the centroid of a group.
    fn off(&self, record: u32, group: u32) -> f64 {
        let share = 1.0 / self.size(group) as f64;
        let off =
            self.points.at(record).iter().zip(self.sum(group)).map(|(x, sum)| x - sum * share);
        off.map(|off| off * off).sum()
    }

    fn cost(&self) -> f64 {
        (0..self.points.len() as u32).map(|r| self.off(r, self.group_of[r as usize])).sum()
    }
}
