//! A seeded shuffle of rows that do not fit into memory, through files.
//!
//! Every row goes to a bucket drawn at random; then the buckets are shuffled one by one in memory
//! and read one after the other (C. R. Rao 1961, M. Sandelius 1962). All orders are equally likely,
//! whatever order the rows came in. A bucket that turns out too large is shuffled in the same way.

use crate::table::write::failed;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use scumble::failure::{Failure, Failures};
use std::fs::{self, File};
use std::io::{BufReader, Read, Write};
use std::path::{Path, PathBuf};

/// What a shuffle may hold.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    /// Rows that a bucket should have.
    pub rows: u64,
    /// Bytes of a bucket that are in memory at once.
    pub bytes: u64,
    /// Buckets, of each of which a file is open.
    pub buckets: u64,
}

/// Takes rows, some at a time.
pub type TakeLines<'a> = &'a mut dyn FnMut(&[&[u8]]) -> Result<(), Failures>;

impl Default for Limits {
    fn default() -> Limits {
        Limits { rows: 1 << 18, bytes: 1 << 26, buckets: 256 }
    }
}

/// So many bytes of a bucket wait for its file, if there are several.
const BUFFER: u64 = 1 << 16;
/// So many rows are handed over at a time.
const ROWS: usize = 1 << 16;

/// Rows that are being shuffled.
pub(crate) struct Shuffle {
    /// A folder of its own, made if something must be written and removed at the end.
    folder: PathBuf,
    limits: Limits,
    random: ChaCha8Rng,
    buckets: Vec<Bucket>,
}

/// Rows one after the other, each behind its length: in a file, and then in memory.
#[derive(Default)]
struct Bucket {
    file: Option<File>,
    written: u64,
    waiting: Vec<u8>,
}

impl Drop for Shuffle {
    fn drop(&mut self) {
        if self.buckets.iter().any(|b| b.file.is_some()) {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

impl Shuffle {
    /// For about so many rows.
    pub fn new(folder: PathBuf, expected: u64, seed: u64, limits: Limits) -> Shuffle {
        let buckets = expected.div_ceil(limits.rows).clamp(1, limits.buckets);
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        // Apart from the streams of the algorithm, as where the records are here.
        random.set_stream(1);
        Shuffle::with(folder, buckets, random, limits)
    }

    fn with(folder: PathBuf, buckets: u64, random: ChaCha8Rng, limits: Limits) -> Shuffle {
        let buckets = (0..buckets).map(|_| Bucket::default()).collect();
        Shuffle { folder, limits, random, buckets }
    }

    /// Takes a row.
    pub fn put(&mut self, row: &[u8]) -> Result<(), Failures> {
        let number = self.random.random_range(0..self.buckets.len());
        let length = u32::try_from(row.len())
            .map_err(|_| Failure::data("record-too-long", "a record has more than 4 GB"))?;
        let most = if self.buckets.len() == 1 { self.limits.bytes } else { BUFFER };
        let bucket = &mut self.buckets[number];
        bucket.waiting.extend_from_slice(&length.to_le_bytes());
        bucket.waiting.extend_from_slice(row);
        if bucket.waiting.len() as u64 > most {
            let path = self.folder.join(number.to_string());
            bucket.flush(&path).map_err(|e| failed(&path, &e))?;
        }
        Ok(())
    }

    /// Hands over all rows in their new order, some at a time.
    pub fn finish(mut self, take: TakeLines<'_>) -> Result<(), Failures> {
        for number in 0..self.buckets.len() {
            let path = self.folder.join(number.to_string());
            let bucket = &mut self.buckets[number];
            let bytes = bucket.written + bucket.waiting.len() as u64;
            // One row may be larger than what should be in memory; two are divided sooner or later.
            if bytes > self.limits.bytes && !bucket.has_one_row(&path)? {
                bucket.flush(&path).map_err(|e| failed(&path, &e))?;
                self.divide(&path, bytes)?.finish(take)?;
            } else {
                let bytes = bucket.read(&path).map_err(|e| failed(&path, &e))?;
                self.hand_over(&bytes, take)?;
            }
            if self.buckets[number].written > 0 {
                // Its room on the disk is free from now on; the folder goes at the end.
                fs::remove_file(&path).map_err(|e| failed(&path, &e))?;
            }
        }
        Ok(())
    }

    /// The rows of a file of so many bytes in buckets of their own.
    fn divide(&mut self, path: &Path, bytes: u64) -> Result<Shuffle, Failures> {
        let buckets = (2 * bytes).div_ceil(self.limits.bytes).clamp(2, self.limits.buckets.max(2));
        let random = ChaCha8Rng::seed_from_u64(self.random.random());
        let folder = path.with_extension("divided");
        let mut parts = Shuffle::with(folder, buckets, random, self.limits);
        let mut file =
            BufReader::with_capacity(1 << 18, File::open(path).map_err(|e| failed(path, &e))?);
        let (mut left, mut row) = (bytes, Vec::new());
        while left > 0 {
            let mut length = [0; 4];
            file.read_exact(&mut length).map_err(|e| failed(path, &e))?;
            row.resize(u32::from_le_bytes(length) as usize, 0);
            file.read_exact(&mut row).map_err(|e| failed(path, &e))?;
            left -= 4 + row.len() as u64;
            parts.put(&row)?;
        }
        Ok(parts)
    }

    /// Shuffles the rows of a bucket.
    fn hand_over(&mut self, bytes: &[u8], take: TakeLines<'_>) -> Result<(), Failures> {
        let (mut rows, mut rest) = (Vec::new(), bytes);
        while let Some((length, more)) = rest.split_first_chunk::<4>() {
            let (row, more) = more.split_at(u32::from_le_bytes(*length) as usize);
            rows.push(row);
            rest = more;
        }
        rows.shuffle(&mut self.random);
        rows.chunks(ROWS).try_for_each(take)
    }
}

impl Bucket {
    /// Appends what waits to the file.
    fn flush(&mut self, path: &Path) -> std::io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            None => {
                if let Some(folder) = path.parent().filter(|folder| !folder.is_dir()) {
                    fs::create_dir(folder)?;
                }
                self.file.insert(File::create_new(path)?)
            }
        };
        file.write_all(&self.waiting)?;
        self.written += self.waiting.len() as u64;
        self.waiting.clear();
        Ok(())
    }

    /// Everything in the bucket.
    fn read(&mut self, path: &Path) -> std::io::Result<Vec<u8>> {
        if self.written == 0 {
            return Ok(std::mem::take(&mut self.waiting));
        }
        let mut bytes = fs::read(path)?;
        bytes.append(&mut self.waiting);
        Ok(bytes)
    }

    /// Whether there is not more than one row.
    fn has_one_row(&self, path: &Path) -> Result<bool, Failures> {
        let mut first = [0; 4];
        if self.written > 0 {
            let mut file = File::open(path).map_err(|e| failed(path, &e))?;
            file.read_exact(&mut first).map_err(|e| failed(path, &e))?;
        } else if let Some(length) = self.waiting.first_chunk::<4>() {
            first = *length;
        }
        let all = self.written + self.waiting.len() as u64;
        Ok(all <= 4 + u64::from(u32::from_le_bytes(first)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rows `0..count` as texts, shuffled.
    fn shuffled(count: u32, seed: u64, limits: Limits) -> Vec<u32> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut shuffle = Shuffle::new(folder.path().join("s"), count.into(), seed, limits);
        for row in 0..count {
            // Rows of different lengths, some empty but for their number.
            let mut bytes = row.to_le_bytes().to_vec();
            bytes.resize(4 + (row % 7) as usize, b'x');
            shuffle.put(&bytes).unwrap_or_else(|e| panic!("{e}"));
        }
        let mut rows = Vec::new();
        let mut take = |some: &[&[u8]]| {
            rows.extend(some.iter().map(|row| {
                let number = u32::from_le_bytes(*row.first_chunk().expect("its number"));
                assert_eq!(row.len(), 4 + (number % 7) as usize);
                number
            }));
            Ok(())
        };
        shuffle.finish(&mut take).unwrap_or_else(|e| panic!("{e}"));
        let left = fs::read_dir(folder.path()).expect("a temporary folder").count();
        assert_eq!(left, 0, "nothing stays on the disk");
        rows
    }

    const SMALL: [Limits; 4] = [
        Limits { rows: 1 << 18, bytes: 1 << 26, buckets: 256 },
        // Several buckets, a bucket that must be divided, and both again and again.
        Limits { rows: 10, bytes: 1 << 26, buckets: 8 },
        Limits { rows: 1 << 18, bytes: 100, buckets: 3 },
        Limits { rows: 50, bytes: 30, buckets: 2 },
    ];

    #[test]
    fn every_row_comes_once_and_the_seed_decides_where() {
        for limits in SMALL {
            for count in [0, 1, 2, 999] {
                let (a, b) = (shuffled(count, 1, limits), shuffled(count, 1, limits));
                assert_eq!(a, b, "the same seed, the same order");
                let mut sorted = a.clone();
                sorted.sort_unstable();
                assert!(sorted.into_iter().eq(0..count));
                if count > 100 {
                    assert_ne!(a, shuffled(count, 2, limits));
                }
            }
        }
    }

    /// Chi-squared over the 24 orders of four rows; at α = 10⁻⁶ with 23 degrees of freedom it is
    /// below 73.
    #[test]
    fn all_orders_are_equally_likely() {
        let here = Limits { rows: 2, bytes: 1 << 20, buckets: 3 };
        let divided = Limits { rows: 4, bytes: 20, buckets: 2 };
        for (limits, draws) in [(here, 4_800), (divided, 480)] {
            let mut counts = std::collections::HashMap::new();
            for seed in 0..draws {
                *counts.entry(shuffled(4, seed, limits)).or_insert(0.0) += 1.0;
            }
            let expected = draws as f64 / 24.0;
            let far: f64 = counts.values().map(|n: &f64| (n - expected).powi(2) / expected).sum();
            assert_eq!(counts.len(), 24);
            assert!(far < 73.0, "{far}");
        }
    }
}
