//! Points in space: what is grouped, and how far a grouping is from it.

/// Coordinates are whole multiples of this. Sums over all records are then exact in floating point
/// as long as there are fewer than 2²⁴ of them, so a centroid does not depend on the order of
/// addition.
const GRAIN: f64 = 1.0 / 16_777_216.0;

/// Distinct points, with the number of records at each.
#[derive(Debug)]
pub(super) struct Points {
    dims: usize,
    coordinates: Vec<f64>,
    counts: Vec<u32>,
}

/// Records of some points: (point, how many of its records).
pub(super) type Group = Vec<(u32, u32)>;

impl Points {
    /// From coordinates, point after point.
    pub fn new(dims: usize, mut coordinates: Vec<f64>, counts: Vec<u32>) -> Points {
        debug_assert_eq!(coordinates.len(), dims * counts.len());
        for x in &mut coordinates {
            *x = (*x / GRAIN).round() * GRAIN;
        }
        Points { dims, coordinates, counts }
    }

    pub fn dims(&self) -> usize {
        self.dims
    }

    pub fn len(&self) -> usize {
        self.counts.len()
    }

    pub fn counts(&self) -> &[u32] {
        &self.counts
    }

    pub fn records(&self) -> u64 {
        self.counts.iter().map(|&n| u64::from(n)).sum()
    }

    pub fn at(&self, point: u32) -> &[f64] {
        &self.coordinates[point as usize * self.dims..][..self.dims]
    }

    /// These records (by their points) as points of their own.
    pub fn records_at(&self, records: &[u32]) -> Points {
        let coordinates = records.iter().flat_map(|&p| self.at(p)).copied().collect();
        Points { dims: self.dims, coordinates, counts: vec![1; records.len()] }
    }

    /// Points with many records give up what no other group could need: at a point with 3k − 1
    /// records or more, all but 2k − 1 are a group without any loss.
    pub fn set_aside(&self, k: u64) -> (Points, Vec<Group>) {
        let most = 2 * k - 1;
        let spare = |&n: &u32| {
            u64::from(n).checked_sub(most).filter(|&spare| spare >= k).unwrap_or(0) as u32
        };
        let rest = self.counts.iter().map(|n| n - spare(n)).collect();
        let groups = (0u32..)
            .zip(self.counts.iter().map(spare))
            .filter(|&(_, n)| n > 0)
            .map(|own| vec![own]);
        (
            Points { dims: self.dims, coordinates: self.coordinates.clone(), counts: rest },
            groups.collect(),
        )
    }

    /// Sum of the records' coordinates.
    pub fn sum(&self, group: &[(u32, u32)]) -> Vec<f64> {
        let mut sum = vec![0.0; self.dims];
        for &(point, count) in group {
            add(&mut sum, self.at(point), f64::from(count));
        }
        sum
    }

    /// The mean of the records' coordinates.
    pub fn centroid(&self, group: &[(u32, u32)]) -> Vec<f64> {
        let size: u64 = group.iter().map(|&(_, n)| u64::from(n)).sum();
        self.sum(group).into_iter().map(|s| s / size as f64).collect()
    }
}

/// `sum += times · x`
pub(super) fn add(sum: &mut [f64], x: &[f64], times: f64) {
    for (s, x) in sum.iter_mut().zip(x) {
        *s += times * x;
    }
}
