//! Equivalence classes: records that a release makes indistinguishable.
//!
//! A class is what the recipient sees of it: a region, a size and one histogram per sensitive
//! attribute. Two classes merge, so everything computed per class works incrementally, in parallel
//! and distributed. Who is in a class is the publisher's business and stays in
//! [`crate::release::Generalized`].

/// A run of neighbouring leaf codes, both ends included: the only shape a generalized value has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Run {
    /// Lowest leaf code.
    pub first: u32,
    /// Highest leaf code.
    pub last: u32,
}

impl Run {
    /// The run from `first` to `last`, both included.
    pub fn new(first: u32, last: u32) -> Run {
        debug_assert!(first <= last);
        Run { first, last }
    }

    /// Number of leaf codes in the run.
    pub fn width(self) -> u32 {
        self.last - self.first + 1
    }

    /// Whether the leaf lies in the run.
    pub fn contains(self, leaf: u32) -> bool {
        self.first <= leaf && leaf <= self.last
    }

    /// Whether the other run lies within this one.
    pub fn covers(self, other: Run) -> bool {
        self.first <= other.first && other.last <= self.last
    }
}

/// How often each value of a sensitive attribute occurs: (leaf code, count) by rising code, no zero
/// counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram(pub Vec<(u32, u64)>);

impl Histogram {
    /// Counts the codes given with their multiplicity.
    pub fn of(codes: impl IntoIterator<Item = (u32, u64)>) -> Histogram {
        let mut pairs: Vec<(u32, u64)> = codes.into_iter().filter(|&(_, n)| n > 0).collect();
        pairs.sort_unstable_by_key(|&(code, _)| code);
        pairs.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
            }
            same
        });
        Histogram(pairs)
    }

    /// Counts codes that are below `leaves`; `size` says about how many there are. Few leaves are
    /// counted in an array, many are sorted.
    pub fn count(leaves: usize, size: usize, codes: impl Iterator<Item = (u32, u64)>) -> Histogram {
        if leaves > 4 * size + 64 {
            return Histogram::of(codes);
        }
        let mut counts = vec![0u64; leaves];
        codes.for_each(|(code, n)| counts[code as usize] += n);
        Histogram::dense(&counts)
    }

    /// From the count of every code.
    pub fn dense(counts: &[u64]) -> Histogram {
        Histogram((0u32..).zip(counts.iter().copied()).filter(|&(_, n)| n > 0).collect())
    }

    /// Number of records counted.
    pub fn total(&self) -> u64 {
        self.0.iter().map(|&(_, n)| n).sum()
    }

    /// Number of distinct values.
    pub fn distinct(&self) -> usize {
        self.0.len()
    }

    /// The counts alone.
    pub fn counts(&self) -> Vec<u64> {
        self.0.iter().map(|&(_, n)| n).collect()
    }

    /// The histogram of both together.
    pub fn merge(&self, other: &Histogram) -> Histogram {
        Histogram::of(self.0.iter().chain(&other.0).copied())
    }
}

/// One equivalence class as published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EquivalenceClass {
    /// One run per quasi-identifier, in the order of the table.
    pub region: Vec<Run>,
    /// Number of records.
    pub count: u64,
    /// One histogram per sensitive attribute, in the order of the table.
    pub histograms: Vec<Histogram>,
}

impl EquivalenceClass {
    /// The class of both: the smallest region that covers them, summed counts.
    ///
    /// For an unordered taxonomy the covering run need not be a node;
    /// [`crate::taxonomy::Taxonomy::cover`] widens it.
    pub fn merge(&self, other: &EquivalenceClass) -> EquivalenceClass {
        let hull = |(a, b): (&Run, &Run)| Run::new(a.first.min(b.first), a.last.max(b.last));
        EquivalenceClass {
            region: self.region.iter().zip(&other.region).map(hull).collect(),
            count: self.count + other.count,
            histograms: self
                .histograms
                .iter()
                .zip(&other.histograms)
                .map(|(a, b)| a.merge(b))
                .collect(),
        }
    }
}
