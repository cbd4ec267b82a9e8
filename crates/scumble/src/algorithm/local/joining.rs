//! Clusters are joined bottom-up.

use super::Search;
use super::group::{Group, Lot, combine};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// Clusters that are joined between two questions whether to go on: some hundredths of a second.
const JOINED: u64 = 1000;

impl Search<'_> {
    /// Joins the two nearest clusters, one of which does not hold, again and again until all do.
    pub(super) fn agglomerate(
        &self,
        lots: Vec<Lot>,
        noise: f32,
        by: Nearness,
        rng: &mut ChaCha8Rng,
    ) -> Vec<Group> {
        let clusters: Vec<Group> = lots.into_iter().map(|lot| self.group(vec![lot])).collect();
        let weights = clusters.iter().map(|_| 1.0 + noise * rng.random::<f32>()).collect();
        let alive: Vec<usize> = (0..clusters.len()).collect();
        let nearest = vec![(f32::INFINITY, usize::MAX); clusters.len()];
        let mut joining = Joining { search: self, by, clusters, weights, alive, nearest };
        (0..joining.clusters.len()).for_each(|i| joining.find_nearest(i));
        while self.watch.work(1, JOINED) && joining.join_next() {}
        let mut clusters: Vec<Option<Group>> = joining.clusters.into_iter().map(Some).collect();
        joining.alive.into_iter().filter_map(|i| clusters[i].take()).collect()
    }

    /// Joins groups that do not hold with what is nearest, until all do or one is left.
    pub(super) fn settle(&self, mut groups: Vec<Group>) -> Vec<Group> {
        while groups.len() > 1
            && self.watch.work(1, JOINED)
            && let Some(i) = groups.iter().position(|g| !g.holds)
        {
            let open = groups.swap_remove(i);
            let extra = |g: &Group| {
                (open.count + g.count) as f64 * f64::from(self.joint_loss(&open.region, &g.region))
                    - g.cost()
            };
            let near =
                (0..groups.len()).min_by(|&a, &b| extra(&groups[a]).total_cmp(&extra(&groups[b])));
            if let Some(g) = near {
                let mut lots = std::mem::take(&mut groups[g].lots);
                lots.extend(open.lots);
                groups[g] = self.group(combine(lots));
            }
        }
        groups
    }
}

/// What makes two clusters near.
#[derive(Clone, Copy)]
pub(super) enum Nearness {
    /// That all their records together lose little more.
    Loss,
    /// That the region over both is small.
    Region,
}

/// Clusters that are being joined.
struct Joining<'a> {
    search: &'a Search<'a>,
    by: Nearness,
    clusters: Vec<Group>,
    weights: Vec<f32>,
    alive: Vec<usize>,
    /// For every cluster that does not hold: the nearest other.
    nearest: Vec<(f32, usize)>,
}

impl Joining<'_> {
    fn score(&self, i: usize, j: usize) -> f32 {
        let (a, b) = (&self.clusters[i], &self.clusters[j]);
        let joint = self.search.joint_loss(&a.region, &b.region);
        let score = match self.by {
            Nearness::Loss => {
                (a.count + b.count) as f32 * joint - a.cost() as f32 - b.cost() as f32
            }
            Nearness::Region if b.holds => joint * b.count as f32,
            Nearness::Region => joint,
        };
        score * self.weights[i] * self.weights[j]
    }

    fn find_nearest(&mut self, i: usize) {
        if !self.clusters[i].holds {
            let others = self.alive.iter().filter(|&&j| j != i).map(|&j| (self.score(i, j), j));
            self.nearest[i] =
                others.fold((f32::INFINITY, usize::MAX), |a, b| if b.0 < a.0 { b } else { a });
        }
    }

    /// Joins the nearest two; whether there were any.
    fn join_next(&mut self) -> bool {
        let open = self.alive.iter().copied().filter(|&i| !self.clusters[i].holds);
        let next = open.min_by(|&a, &b| self.nearest[a].0.total_cmp(&self.nearest[b].0));
        let Some((i, j)) = next.map(|i| (i, self.nearest[i].1)).filter(|&(_, j)| j < usize::MAX)
        else {
            return false;
        };
        let lots = std::mem::take(&mut self.clusters[j].lots);
        let region = std::mem::take(&mut self.clusters[j].region);
        self.search.extend(&mut self.clusters[i], &lots, &region);
        self.alive.retain(|&x| x != j);
        for at in 0..self.alive.len() {
            let x = self.alive[at];
            if x == i || self.nearest[x].1 == i || self.nearest[x].1 == j {
                self.find_nearest(x);
            } else if !self.clusters[x].holds {
                let score = self.score(x, i);
                if score < self.nearest[x].0 {
                    self.nearest[x] = (score, i);
                }
            }
        }
        true
    }
}
