//! What is tried to lose less: groups are taken apart and put together anew, opened, and records
//! moved.

use super::group::{Draft, Group, Lot, combine, commit, cost};
use super::joining::Nearness;
use super::{BLOCK, CANDIDATES, GAIN, Search};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use std::cmp::Reverse;

/// Attempts per group and round.
const TRIALS: usize = 2;
/// Attempts between two questions whether to go on: some hundredths of a second.
const ASKED: u64 = 64;
/// At most so many groups are taken apart together with one.
const NEIGHBOURS: usize = 4;
/// Groups of more lots than this together are cut instead of put together anew.
const POOL: usize = 200;
/// So many times the lots of a block are cut in a round.
const LARGE: usize = 8;

impl Search<'_> {
    pub(super) fn round(&self, groups: Vec<Group>, seed: u64, round: u64) -> Vec<Group> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(round);
        let blocks = self.blocks(groups, BLOCK, &mut rng);
        let improve = |(block, seed)| self.improve(block, &mut ChaCha8Rng::seed_from_u64(seed));
        blocks.into_par_iter().flat_map_iter(improve).collect()
    }

    /// Tries to lose less within a block.
    fn improve(&self, mut groups: Vec<Group>, rng: &mut ChaCha8Rng) -> Vec<Group> {
        let trials = groups.iter().filter(|g| g.loss > 0.0).count() * TRIALS;
        let mut room = LARGE * groups.iter().map(|g| g.lots.len()).sum::<usize>();
        for _ in 0..trials {
            if !self.watch.work(1, ASKED) {
                break;
            }
            let i = rng.random_range(0..groups.len());
            if groups[i].loss == 0.0 {
                continue;
            }
            if rng.random_bool(0.3) {
                self.open(&mut groups, i, rng);
            } else {
                self.rebuild(&mut groups, i, &mut room, rng);
            }
        }
        groups
    }

    /// Takes a group and some near ones apart and puts them together anew.
    fn rebuild(&self, groups: &mut Vec<Group>, i: usize, room: &mut usize, rng: &mut ChaCha8Rng) {
        let number = rng.random_range(1..=NEIGHBOURS);
        let mut chosen = self.near(groups, i, number, rng);
        chosen.push(i);
        let lots = combine(chosen.iter().flat_map(|&g| groups[g].lots.iter().copied()).collect());
        let large = lots.len() > POOL;
        if large {
            if !self.can_be_cut() || lots.len() > *room {
                return;
            }
            *room -= lots.len();
        }
        let limit = chosen.iter().map(|&g| groups[g].cost()).sum::<f64>() - GAIN;
        let mut new = if large || (self.can_be_cut() && rng.random_bool(0.1)) {
            self.top_down(self.group(lots), rng.random())
        } else if self.sizes && rng.random_bool(0.2) {
            let noise = [0.0, 0.3, 1.0][rng.random_range(0..3)];
            self.agglomerate(lots, noise, Nearness::Region, rng)
        } else {
            let Some(new) = self.grow(lots, limit, rng) else { return };
            new
        };
        if !large {
            self.relocate(&mut new);
        }
        if cost(&new) <= limit && new.iter().all(|g| g.holds) {
            chosen.sort_unstable_by_key(|&g| Reverse(g));
            chosen.into_iter().for_each(|g| drop(groups.swap_remove(g)));
            groups.extend(new);
        }
    }

    /// The groups that are nearest to one of them, by one of several measures.
    fn near(&self, groups: &[Group], i: usize, number: usize, rng: &mut ChaCha8Rng) -> Vec<usize> {
        let own = &groups[i];
        let lot = Lot { count: 1, ..own.lots[rng.random_range(0..own.lots.len())] };
        let point = self.point(lot.unit);
        let way = rng.random_range(0..3);
        let score = |g: &Group| match way {
            0 => {
                (own.count + g.count) as f32 * self.joint_loss(&own.region, &g.region)
                    - g.cost() as f32
            }
            1 => self.extra(g, lot) as f32,
            _ => g
                .lots
                .iter()
                .map(|l| self.joint_loss(point, self.point(l.unit)))
                .fold(f32::INFINITY, f32::min),
        };
        let others = groups.iter().enumerate().filter(|&(j, _)| j != i);
        let mut scores: Vec<(f32, usize)> = others.map(|(j, g)| (score(g), j)).collect();
        if number < scores.len() {
            scores.select_nth_unstable_by(number, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        }
        scores.into_iter().take(number).map(|(_, j)| j).collect()
    }

    /// Moves records to groups where they lose less, out of groups that hold without them.
    fn relocate(&self, groups: &mut [Group]) {
        for g in 0..groups.len() {
            let mut l = 0;
            while l < groups[g].lots.len() && groups[g].loss > 0.0 && groups[g].count > self.least {
                if !self.relocate_lot(groups, g, l) {
                    l += 1;
                }
            }
        }
    }

    fn relocate_lot(&self, groups: &mut [Group], g: usize, l: usize) -> bool {
        let own = &groups[g];
        let spare = u32::try_from(own.count - self.least).unwrap_or(u32::MAX);
        let mut lot = own.lots[l];
        if self.sizes {
            lot.count = lot.count.min(spare);
        }
        if lot.count > spare || own.lots.len() == 1 {
            return false;
        }
        let mut lots = own.lots.clone();
        lots[l].count -= lot.count;
        lots.retain(|l| l.count > 0);
        let left = self.group(lots);
        let others =
            (0..groups.len()).filter(|&h| h != g).map(|h| (self.extra(&groups[h], lot), h));
        let Some((extra, h)) = others.min_by(|a, b| a.0.total_cmp(&b.0)) else { return false };
        if !left.holds || extra > own.cost() - left.cost() - GAIN {
            return false;
        }
        let mut lots = groups[h].lots.clone();
        lots.push(lot);
        let more = self.group(combine(lots));
        if !more.holds {
            return false;
        }
        (groups[g], groups[h]) = (left, more);
        true
    }

    /// Makes a new group around a record of a group; groups that break are dissolved. Done if it
    /// loses less.
    fn open(&self, groups: &mut Vec<Group>, i: usize, rng: &mut ChaCha8Rng) {
        let seed = groups[i].lots[rng.random_range(0..groups[i].lots.len())];
        let Some((new, taken)) = self.gather(groups, i, seed) else { return };
        let mut draft = Draft { base: groups, changed: vec![(groups.len(), Some(new))] };
        let mut homeless: Vec<Lot> = Vec::new();
        for part in taken.chunk_by(|a, b| a.0 == b.0) {
            let g = part[0].0;
            let mut lots = groups[g].lots.clone();
            for (_, t) in part {
                lots.iter_mut().filter(|l| l.unit == t.unit).for_each(|l| l.count -= t.count);
            }
            lots.retain(|l| l.count > 0);
            let mut left = (!lots.is_empty()).then(|| self.group(lots));
            if let Some(broken) = left.take_if(|left| !left.holds) {
                homeless.extend(broken.lots);
            }
            draft.changed.push((g, left));
        }
        let housed =
            homeless.into_iter().all(|lot| draft.gain() > GAIN && self.house(&mut draft, lot));
        if housed && draft.gain() > GAIN {
            let changed = draft.changed;
            commit(groups, changed);
        }
    }

    /// A group around a lot of group `i`, and what was taken for it from which group, in their
    /// order. Records of groups that lose much are preferred.
    fn gather(&self, groups: &[Group], i: usize, seed: Lot) -> Option<(Group, Vec<(usize, Lot)>)> {
        let mut near: Vec<(f32, usize, Lot)> = Vec::with_capacity(8 * groups.len());
        for (g, group) in groups.iter().enumerate() {
            for lot in group.lots.iter().filter(|lot| g != i || lot.unit != seed.unit) {
                let joint = self.joint_loss(self.point(seed.unit), self.point(lot.unit));
                near.push((joint - 0.5 * group.loss, g, *lot));
            }
        }
        if CANDIDATES < near.len() {
            let order = |n: &(f32, usize, Lot)| (n.1, n.2.unit);
            near.select_nth_unstable_by(CANDIDATES, |a, b| {
                a.0.total_cmp(&b.0).then(order(a).cmp(&order(b)))
            });
            near.truncate(CANDIDATES);
        }
        let mut new = self.group(vec![seed]);
        let mut taken = vec![(i, seed)];
        while !new.holds {
            let score = |&(_, g, lot): &(f32, usize, Lot)| {
                self.joint_loss(&new.region, self.point(lot.unit)) * (new.count as f32 + 1.0)
                    - groups[g].loss
            };
            let next =
                (0..near.len()).min_by(|&a, &b| score(&near[a]).total_cmp(&score(&near[b])))?;
            let (_, g, mut lot) = near.swap_remove(next);
            let spare =
                u32::try_from(groups[g].count.saturating_sub(self.least)).unwrap_or(u32::MAX);
            if self.sizes && spare > 0 {
                lot.count = lot
                    .count
                    .min(spare)
                    .min(u32::try_from(self.least - new.count).unwrap_or(u32::MAX));
            }
            taken.push((g, lot));
            self.extend(&mut new, &[lot], self.point(lot.unit));
        }
        new.lots = combine(new.lots);
        taken.sort_unstable_by_key(|(g, lot)| (*g, lot.unit));
        Some((new, taken))
    }

    /// Adds a lot to the group where it costs least and breaks nothing.
    pub(super) fn house(&self, draft: &mut Draft<'_>, lot: Lot) -> bool {
        let kept = draft.base.iter().enumerate().filter(|(g, _)| !draft.is_changed(*g));
        let changed = draft.changed.iter().filter_map(|(g, group)| Some((*g, group.as_ref()?)));
        let mut places: Vec<(f64, usize)> =
            kept.chain(changed).map(|(g, group)| (self.extra(group, lot), g)).collect();
        for _ in 0..6 {
            let next = (0..places.len()).min_by(|&a, &b| places[a].0.total_cmp(&places[b].0));
            let Some((_, g)) = next.map(|n| places.swap_remove(n)) else { return false };
            let at = draft.changed.iter().position(|(c, _)| *c == g);
            let group = at.map_or(draft.base.get(g), |at| draft.changed[at].1.as_ref());
            let mut lots = group.map_or_else(Vec::new, |g| g.lots.clone());
            lots.push(lot);
            let more = self.group(combine(lots));
            if more.holds {
                match at {
                    Some(at) => draft.changed[at].1 = Some(more),
                    None => draft.changed.push((g, Some(more))),
                }
                return true;
            }
        }
        false
    }
}
