//! Groups are cut top-down; what keeps a part from holding stays behind.

use super::group::{Group, Lot, combine, cost};
use super::{GAIN, Search};
use crate::class::{EquivalenceClass, Run};
use crate::table::Tally;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use std::collections::BTreeMap;

/// So many kinds of records are tried when some must be moved.
const TRIED: usize = 6;
/// Lots that are looked at between two questions whether to go on: some hundredths of a second.
const LOTS: u64 = 20_000;

impl Search<'_> {
    /// Cuts a group again and again, as long as that loses less. Chance has a hand in the choice
    /// among cuts.
    pub(super) fn top_down(&self, group: Group, seed: u64) -> Vec<Group> {
        if !self.watch.work(group.lots.len() as u64, LOTS) {
            return vec![group];
        }
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let cuts: Vec<Option<Vec<Group>>> =
            (0..self.axes.len()).into_par_iter().map(|d| self.cut(&group, d)).collect();
        let scored = cuts
            .into_iter()
            .flatten()
            .map(|parts| (cost(&parts) * rng.random_range(1.0..1.1), parts));
        let best = scored.min_by(|a, b| a.0.total_cmp(&b.0));
        let Some((_, parts)) = best.filter(|(_, parts)| cost(parts) < group.cost() * 0.999 - GAIN)
        else {
            return vec![group];
        };
        let parts: Vec<(Group, u64)> = parts.into_iter().map(|g| (g, rng.random())).collect();
        parts.into_par_iter().flat_map_iter(|(g, seed)| self.top_down(g, seed)).collect()
    }

    /// The parts of a group below the children of its cell, as much of them as holds; what is too
    /// much in one of them stays behind, and must hold too.
    fn cut(&self, group: &Group, d: usize) -> Option<Vec<Group>> {
        let mut pieces: BTreeMap<u32, Vec<Lot>> = BTreeMap::new();
        let key = self.axes[d]
            .children(group.region[d], group.lots.iter().map(|l| self.point(l.unit)[d].0));
        for lot in &group.lots {
            pieces.entry(key(self.point(lot.unit)[d].0)).or_default().push(*lot);
        }
        if pieces.len() < 2 {
            return None;
        }
        let mut behind = Part::new(self, Vec::new());
        let mut parts: Vec<Part<'_>> = Vec::new();
        for lots in pieces.into_values() {
            let mut part = Part::new(self, lots);
            part.trim(&mut behind);
            if part.tally.count > 0 {
                parts.push(part);
            }
        }
        while behind.tally.count > 0 && !behind.holds() {
            if !self.watch.work(parts.len() as u64, LOTS / 10) {
                return None;
            }
            if !behind.replenish(&mut parts) {
                let least = (0..parts.len()).min_by_key(|&i| parts[i].tally.count)?;
                parts.swap_remove(least).give(&mut behind);
            }
        }
        let groups = parts.into_iter().chain([behind]).filter(|p| p.tally.count > 0);
        Some(groups.map(|p| self.group(p.lots())).collect())
    }
}

/// Records by kind, and how they are composed.
struct Part<'a> {
    search: &'a Search<'a>,
    /// The rarest last.
    kinds: BTreeMap<u32, (u64, Vec<Lot>)>,
    tally: Tally<'a>,
    region: Vec<Run>,
}

impl<'a> Part<'a> {
    fn new(search: &'a Search<'a>, lots: Vec<Lot>) -> Part<'a> {
        let region = if lots.is_empty() || !search.regions {
            search.table.top()
        } else {
            search.runs(&search.cover(&lots))
        };
        let mut part =
            Part { search, kinds: BTreeMap::new(), tally: Tally::new(search.table), region };
        lots.into_iter().for_each(|lot| part.add(lot));
        part.kinds.values_mut().for_each(|(_, lots)| {
            lots.sort_unstable_by(|a, b| {
                let rarity = |l: &Lot| search.rarity[l.unit as usize];
                rarity(a).total_cmp(&rarity(b)).then(a.unit.cmp(&b.unit))
            })
        });
        part
    }

    fn add(&mut self, lot: Lot) {
        let (count, lots) = self.kinds.entry(self.search.kinds[lot.unit as usize]).or_default();
        *count += u64::from(lot.count);
        lots.push(lot);
        self.tally.add(lot.unit, lot.count.into());
    }

    /// Moves records of a kind to another part, the rarest first.
    fn hand(&mut self, kind: u32, number: u64, to: &mut Part<'a>) {
        let Some((count, lots)) = self.kinds.get_mut(&kind) else { return };
        let mut left = number.min(*count);
        *count -= left;
        while left > 0
            && let Some(mut lot) = lots.pop()
        {
            let moved = u32::try_from(left).unwrap_or(u32::MAX).min(lot.count);
            self.tally.remove(lot.unit, moved.into());
            to.add(Lot { count: moved, ..lot });
            lot.count -= moved;
            left -= u64::from(moved);
            if lot.count > 0 {
                lots.push(lot);
            }
        }
    }

    /// Moves everything to another part.
    fn give(&mut self, to: &mut Part<'a>) {
        let kinds: Vec<u32> = self.kinds.keys().copied().collect();
        kinds.into_iter().for_each(|kind| self.hand(kind, u64::MAX, to));
    }

    fn class(&self) -> EquivalenceClass {
        self.tally.class(self.region.clone())
    }

    fn holds(&self) -> bool {
        self.tally.count >= self.search.least && self.search.goal.holds(&self.class())
    }

    fn lots(self) -> Vec<Lot> {
        combine(self.kinds.into_values().flat_map(|(_, lots)| lots).collect())
    }

    /// By how much the share of a kind is above that in the table.
    fn excess(&self, kind: u32) -> f64 {
        let here =
            self.kinds.get(&kind).map_or(0, |(n, _)| *n) as f64 / self.tally.count.max(1) as f64;
        here - self.search.shares[kind as usize]
    }

    /// Shortfall with some records of a kind more or less.
    fn shortfall(&mut self, kind: u32, more: u64, less: u64) -> f64 {
        let row = self.search.row_of_kind[kind as usize];
        self.tally.add(row, more);
        self.tally.remove(row, less);
        let shortfall = self.search.goal.shortfall(&self.class());
        self.tally.remove(row, more);
        self.tally.add(row, less);
        shortfall
    }

    /// Leaves behind what keeps it from holding; everything if nothing helps.
    fn trim(&mut self, behind: &mut Part<'a>) {
        while !self.holds() {
            if self.tally.count <= self.search.least {
                return self.give(behind);
            }
            let step = (self.tally.count / 100).max(1);
            let mut kinds: Vec<u32> =
                self.kinds.iter().filter(|(_, (n, _))| *n > 0).map(|(k, _)| *k).collect();
            kinds.sort_by(|&a, &b| self.excess(b).total_cmp(&self.excess(a)));
            kinds.truncate(TRIED);
            let number =
                |kind: u32, part: &Part<'_>| step.min(part.kinds.get(&kind).map_or(0, |(n, _)| *n));
            let mut best = (f64::INFINITY, 0);
            for kind in kinds {
                let shortfall = self.shortfall(kind, 0, number(kind, self));
                if shortfall < best.0 {
                    best = (shortfall, kind);
                }
            }
            let n = number(best.1, self);
            self.hand(best.1, n, behind);
        }
    }

    /// Draws from other parts what brings this one nearer to holding; whether there was anything.
    fn replenish(&mut self, parts: &mut [Part<'a>]) -> bool {
        let now = self.search.goal.shortfall(&self.class());
        let step = (self.tally.count / 100).max(1);
        let mut kinds: Vec<u32> = (0..self.search.shares.len() as u32).collect();
        kinds.sort_by(|&a, &b| self.excess(a).total_cmp(&self.excess(b)));
        kinds.truncate(TRIED);
        let mut scored: Vec<(f64, u32)> =
            kinds.into_iter().map(|kind| (self.shortfall(kind, step, 0), kind)).collect();
        scored.retain(|(shortfall, _)| *shortfall < now);
        scored.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (_, kind) in scored {
            let mut order: Vec<usize> = (0..parts.len()).collect();
            order.sort_by(|&a, &b| parts[b].excess(kind).total_cmp(&parts[a].excess(kind)));
            for p in order.into_iter().take(TRIED) {
                let have = parts[p].kinds.get(&kind).map_or(0, |(n, _)| *n);
                let n = step.min(have);
                if n > 0
                    && parts[p].tally.count >= n + self.search.least
                    && parts[p].shortfall(kind, 0, n) == 0.0
                {
                    parts[p].hand(kind, n, self);
                    return true;
                }
            }
        }
        false
    }
}
