//! The groups to begin with, and blocks of neighbours among them.

use super::group::{Group, Lot, combine, cost};
use super::joining::Nearness;
use super::{BLOCK, Search};
use crate::algorithm::mondrian;
use crate::catalogue::Parameters;
use crate::release::{Form, Member};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use std::collections::BTreeMap;

/// So many distinct points are joined bottom-up at a time at the start.
const START: usize = 160;
/// Units between two questions whether to go on: some hundredths of a second.
const UNITS: u64 = 20_000;

impl Search<'_> {
    /// The groups to begin with.
    pub(super) fn start(&self, seed: u64) -> Vec<Group> {
        let mut best = self.bottom_up(seed);
        if self.can_be_cut() {
            let whole = (0..self.units() as u32).map(|u| self.all_of(u)).collect();
            let groups = self.top_down(self.group(whole), seed);
            // Many small groups are the better start for what follows, even if they lose somewhat
            // more.
            if cost(&groups) * 1.5 < cost(&best) && groups.iter().all(|g| g.holds) {
                best = groups;
            }
        }
        for partition in ["strict", "relaxed"] {
            if !self.watch.go_on() {
                break;
            }
            let groups = self.mondrian(partition, seed);
            if !groups.is_empty() && (cost(&groups) < cost(&best) || best.iter().any(|g| !g.holds))
            {
                best = groups;
            }
        }
        best
    }

    /// Points that hold stand alone; the others are joined in small parts of the space.
    fn bottom_up(&self, seed: u64) -> Vec<Group> {
        let mut order: Vec<u32> = (0..self.units() as u32).collect();
        order.par_sort_unstable_by_key(|&u| (self.point(u), u));
        let points = order.chunk_by(|&a, &b| self.point(a) == self.point(b));
        let points = points.map(|units| {
            self.watch.work(units.len() as u64, UNITS);
            self.group(units.iter().map(|&u| self.all_of(u)).collect())
        });
        let (alone, open): (Vec<Group>, Vec<Group>) = points.partition(|g| g.holds);
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let join = |(block, seed): (Vec<Group>, u64)| {
            let lots = block.into_iter().flat_map(|g| g.lots).collect();
            self.agglomerate(lots, 0.0, Nearness::Loss, &mut ChaCha8Rng::seed_from_u64(seed))
        };
        let mut groups: Vec<Group> = self
            .blocks(open, START, &mut rng)
            .into_par_iter()
            .flat_map_iter(join)
            .chain(alone)
            .collect();
        // What is left over in one part joins what is near in others.
        while groups.len() > 1 && groups.iter().any(|g| !g.holds) && self.watch.go_on() {
            let blocks = self.blocks(groups, BLOCK, &mut rng);
            groups =
                blocks.into_par_iter().flat_map_iter(|(block, _)| self.settle(block)).collect();
        }
        groups
    }

    fn mondrian(&self, partition: &str, seed: u64) -> Vec<Group> {
        let given = BTreeMap::from([("partition".to_owned(), partition.to_owned())]);
        let entry = mondrian::ENTRY;
        let made = Parameters::read(entry.name, entry.parameters, &given)
            .ok()
            .and_then(|p| (entry.build)(&p).ok());
        let form = made.and_then(|m| {
            m.anonymize(self.table, self.goal, seed, &|_, _| self.watch.go_on()).ok()
        });
        let Some(Form::Generalized(form)) = form else { return Vec::new() };
        let lot = |m: &Member| Lot { unit: self.unit_of[m.row as usize], count: m.count };
        form.classes
            .iter()
            .map(|c| self.group(combine(c.members.iter().map(lot).collect())))
            .collect()
    }

    /// Deals groups that are near each other into blocks, each with a seed of its own.
    pub(super) fn blocks(
        &self,
        groups: Vec<Group>,
        most: usize,
        rng: &mut ChaCha8Rng,
    ) -> Vec<(Vec<Group>, u64)> {
        let place = |(i, g): (u32, &Group)| (i, g.lots[rng.random_range(0..g.lots.len())].unit);
        let mut order: Vec<(u32, u32)> = (0u32..).zip(&groups).map(place).collect();
        let sizes = self.divide(&mut order, most, rng.random());
        let mut groups: Vec<Option<Group>> = groups.into_iter().map(Some).collect();
        let mut rest = order.into_iter();
        let mut block = |n: usize| {
            rest.by_ref().take(n).filter_map(|(i, _)| groups[i as usize].take()).collect()
        };
        sizes.into_iter().map(|n| (block(n), rng.random())).collect()
    }

    /// Orders pairs of a group and a unit of it so that neighbours stand together, by cutting the
    /// space at places that chance has a hand in; the sizes of the parts.
    fn divide(&self, order: &mut [(u32, u32)], most: usize, seed: u64) -> Vec<usize> {
        if order.len() <= most {
            return vec![order.len()];
        }
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let dim = self.widest(order, &mut rng);
        let cell = |&(_, unit): &(u32, u32)| self.point(unit)[dim];
        order.sort_unstable_by_key(|o| (cell(o), *o));
        // The higher two neighbours meet in the tree, the better they are parted; but parts should
        // be of like size.
        let (axis, target) = (&self.axes[dim], rng.random_range(0.35..0.65f32));
        let mut best = (f32::NEG_INFINITY, order.len() / 2);
        for i in 1..order.len() {
            let (a, b) = (cell(&order[i - 1]), cell(&order[i]));
            if a != b {
                let off = i as f32 / order.len() as f32 - target;
                let score =
                    if axis.is_tree() { axis.loss(axis.join(a, b)) } else { 0.0 } - 4.0 * off * off;
                if score > best.0 {
                    best = (score, i);
                }
            }
        }
        let (a, b) = order.split_at_mut(best.1);
        let seeds: [u64; 2] = [rng.random(), rng.random()];
        let (mut a, b) =
            rayon::join(|| self.divide(a, most, seeds[0]), || self.divide(b, most, seeds[1]));
        a.extend(b);
        a
    }

    /// The quasi-identifier in which two records of these differ most, about.
    fn widest(&self, order: &[(u32, u32)], rng: &mut ChaCha8Rng) -> usize {
        let mut widths = vec![0f32; self.axes.len()];
        for _ in 0..32 {
            let [a, b] = [0; 2].map(|_| self.point(order[rng.random_range(0..order.len())].1));
            for (((width, axis), &a), &b) in widths.iter_mut().zip(&self.axes).zip(a).zip(b) {
                *width += axis.loss(axis.join(a, b));
            }
        }
        widths.iter_mut().for_each(|w| *w *= rng.random_range(0.3..1.0f32));
        (0..widths.len()).max_by(|&a, &b| widths[a].total_cmp(&widths[b])).unwrap_or(0)
    }
}
