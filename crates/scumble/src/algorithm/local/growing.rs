//! Groups grow one after the other from what was set free.

use super::group::{Draft, Group, Lot, combine, commit};
use super::{CANDIDATES, Search};
use crate::class::{EquivalenceClass, Histogram};
use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

/// A lot that is still to be had.
struct Free {
    lot: Lot,
    /// Its loss counts so much, so that attempts differ.
    weight: f32,
    /// The group that does not need it and takes it back if nobody does.
    home: Option<usize>,
}

impl Search<'_> {
    /// Grows one group after the other from a random record, by the record that widens it least;
    /// nothing if that loses more than the limit.
    pub(super) fn grow(
        &self,
        lots: Vec<Lot>,
        limit: f64,
        rng: &mut ChaCha8Rng,
    ) -> Option<Vec<Group>> {
        let (mut groups, mut free) = self.set_free(lots, rng);
        let pull = [0.25, 1.0, 4.0][rng.random_range(0..3)];
        let mut lost = 0.0;
        while let Some(i) = free.iter().rposition(|f| f.home.is_none()) {
            let mut group = self.seed(&mut free, i);
            while !group.holds {
                let next = if self.sizes {
                    self.nearest(&group, &free)
                } else {
                    self.helpful(&group, &free, pull)
                };
                let Some((i, count)) = next else { break };
                let lot = take(&mut free, i, count);
                self.extend(&mut group, &[lot], self.point(lot.unit));
            }
            lost += group.cost();
            if lost > limit {
                return None;
            }
            group.lots = combine(group.lots);
            groups.push(group);
        }
        for Free { lot, home, .. } in free {
            if let Some(home) = home {
                groups[home].lots[0].count += lot.count;
                groups[home].count += u64::from(lot.count);
            }
        }
        // Only the last one can have failed.
        if groups.len() > 1
            && let Some(last) = groups.pop_if(|g| !g.holds)
        {
            let mut draft = Draft { base: &groups, changed: Vec::new() };
            let housed = last.lots.iter().all(|&lot| self.house(&mut draft, lot));
            let changed = draft.changed;
            if !housed {
                groups.push(last);
                return Some(self.settle(groups));
            }
            commit(&mut groups, changed);
        }
        Some(groups)
    }

    /// The lots in random order. Where sizes decide, what can stand alone does so, and lends what
    /// it does not need.
    fn set_free(&self, mut lots: Vec<Lot>, rng: &mut ChaCha8Rng) -> (Vec<Group>, Vec<Free>) {
        let noise = [0.0, 0.3][rng.random_range(0..2)];
        lots.shuffle(rng);
        let (mut groups, mut free) = (Vec::new(), Vec::with_capacity(lots.len()));
        for mut lot in lots {
            let mut home = None;
            if self.sizes && u64::from(lot.count) >= self.least {
                home = Some(groups.len());
                groups.push(self.group(vec![Lot { count: self.least as u32, ..lot }]));
                lot.count -= self.least as u32;
            }
            if lot.count > 0 {
                free.push(Free { lot, weight: 1.0 + noise * rng.random::<f32>(), home });
            }
        }
        (groups, free)
    }

    /// A group of one lot, or of one of its records if that is nearer the goal.
    fn seed(&self, free: &mut Vec<Free>, i: usize) -> Group {
        let nobody = EquivalenceClass {
            region: self.runs(self.point(free[i].lot.unit)),
            count: 0,
            histograms: vec![Histogram::default(); self.table.sensitive.len()],
        };
        let count =
            if self.sizes { free[i].lot.count } else { self.best_count(&nobody, free[i].lot).1 };
        let lot = take(free, i, count);
        self.group(vec![lot])
    }

    /// The free lot that widens the group least, and how many records of it.
    fn nearest(&self, group: &Group, free: &[Free]) -> Option<(usize, u32)> {
        let mut best = (f32::INFINITY, usize::MAX);
        for (i, f) in free.iter().enumerate() {
            let score = self.joint_loss(&group.region, self.point(f.lot.unit)) * f.weight;
            if score < best.0 {
                best = (score, i);
            }
        }
        let f = free.get(best.1)?;
        let need = u32::try_from(self.least - group.count).unwrap_or(u32::MAX);
        Some((best.1, if f.home.is_some() { f.lot.count.min(need) } else { f.lot.count }))
    }

    /// The free lot that widens the group little and brings it nearer the goal, and how many
    /// records of it.
    fn helpful(&self, group: &Group, free: &[Free], pull: f64) -> Option<(usize, u32)> {
        let mut kinds: Vec<(u32, f32, usize)> = Vec::new();
        for (i, f) in free.iter().enumerate() {
            let score = self.joint_loss(&group.region, self.point(f.lot.unit)) * f.weight;
            let kind = self.kinds[f.lot.unit as usize];
            match kinds.binary_search_by_key(&kind, |k| k.0) {
                Ok(at) if kinds[at].1 <= score => {}
                Ok(at) => kinds[at] = (kind, score, i),
                Err(at) => kinds.insert(at, (kind, score, i)),
            }
        }
        kinds.sort_unstable_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
        kinds.truncate(CANDIDATES);
        let class = self.class(group);
        let mut best = (f64::INFINITY, None);
        for (_, score, i) in kinds {
            let (shortfall, count) = self.best_count(&class, free[i].lot);
            let score = f64::from(score) + pull * shortfall;
            if score < best.0 {
                best = (score, Some((i, count)));
            }
        }
        best.1
    }

    /// Whether all records of a lot or one of them bring the class nearer the goal, and how near.
    fn best_count(&self, class: &EquivalenceClass, lot: Lot) -> (f64, u32) {
        let shortfall = |count: u32| {
            let mut class = class.clone();
            class.count += u64::from(count);
            let row = self.rows[lot.unit as usize][0] as usize;
            for (histogram, codes) in class.histograms.iter_mut().zip(&self.table.sensitive_codes) {
                match histogram.0.binary_search_by_key(&codes[row], |&(code, _)| code) {
                    Ok(i) => histogram.0[i].1 += u64::from(count),
                    Err(i) => histogram.0.insert(i, (codes[row], u64::from(count))),
                }
            }
            self.goal.shortfall(&class)
        };
        let all = shortfall(lot.count);
        let one = if lot.count > 1 { shortfall(1) } else { all };
        if one < all { (one, 1) } else { (all, lot.count) }
    }
}

/// Takes records out of a free lot.
fn take(free: &mut Vec<Free>, i: usize, count: u32) -> Lot {
    let lot = Lot { count, ..free[i].lot };
    free[i].lot.count -= count;
    if free[i].lot.count == 0 {
        free.swap_remove(i);
    }
    lot
}
