//! A part of the evidence laid out for passes over outcomes and over facts.

use super::super::evidence::{Component, Source};
use rayon::prelude::*;
use std::ops::Range;

/// Outcomes of a chunk of kinds, and facts of a chunk of facts: fixed, so that sums do not depend on the threads.
const CHUNK: usize = 4096;
/// Parts with fewer outcomes are not worth the second core.
const WORTH_SHARING: usize = 4 * CHUNK;
/// Larger groups of facts are cut into blocks of this many.
const BLOCK: usize = 48;

/// Kinds, outcomes and facts in an order in which neighbours are near in memory.
pub struct Part {
    /// Kind by kind: first outcome; one more at the end.
    pub first: Vec<u32>,
    /// Kind by kind: people.
    pub people: Vec<f64>,
    /// Outcome by outcome: first place in `facts`; one more at the end.
    pub counted: Vec<u32>,
    /// Facts that count each outcome.
    pub facts: Vec<u32>,
    /// Fact by fact: first place in `counts`; one more at the end.
    pub counting: Vec<u32>,
    /// Outcomes that each fact counts.
    pub counts: Vec<u32>,
    /// Bounds of the facts.
    pub bounds: Vec<(f64, f64)>,
    /// First fact of each block, and one past the last: the facts of one group of one release.
    pub blocks: Vec<u32>,
    /// The release of each block; `u32::MAX` for what is known besides.
    pub releases: Vec<u32>,
    /// Number in the component of each outcome.
    pub outcomes: Vec<u32>,
    /// Number in the component of each fact.
    pub numbers: Vec<u32>,
    /// Chunks of kinds, of about the same number of outcomes.
    kind_chunks: Vec<Range<usize>>,
    /// Chunks of blocks, of about the same number of facts.
    block_chunks: Vec<Range<usize>>,
    shared: bool,
}

impl Part {
    /// Lays out a component.
    pub fn new(component: &Component) -> Part {
        let evidence = &component.evidence;
        let mut numbers: Vec<u32> = (0..component.facts.len() as u32).collect();
        numbers.sort_unstable_by_key(|&f| component.facts[f as usize]);
        let mut place = vec![0u32; numbers.len()];
        (0u32..).zip(&numbers).for_each(|(new, &old)| place[old as usize] = new);
        let home = |kind: u32| {
            let facts = evidence.outcomes_of(kind).flat_map(|o| evidence.facts_of(o));
            facts.map(|&f| place[f as usize]).min().unwrap_or(0)
        };
        let mut kinds: Vec<(u32, u32)> = (0..evidence.kinds().len() as u32).map(|k| (home(k), k)).collect();
        kinds.sort_unstable();
        let mut part = Part {
            first: vec![0],
            people: Vec::with_capacity(kinds.len()),
            counted: vec![0],
            facts: Vec::with_capacity(evidence.outcomes().len() * 2),
            counting: vec![0; numbers.len() + 1],
            counts: Vec::new(),
            bounds: numbers.iter().map(|&f| evidence.facts()[f as usize]).map(|f| (f.low as f64, f.high as f64)).collect(),
            blocks: vec![0],
            releases: Vec::new(),
            outcomes: Vec::with_capacity(evidence.outcomes().len()),
            numbers,
            kind_chunks: Vec::new(),
            block_chunks: Vec::new(),
            shared: evidence.outcomes().len() >= WORTH_SHARING,
        };
        for (_, kind) in kinds {
            for outcome in evidence.outcomes_of(kind) {
                part.facts.extend(evidence.facts_of(outcome).iter().map(|&f| place[f as usize]));
                part.counted.push(part.facts.len() as u32);
                part.outcomes.push(outcome);
            }
            part.first.push(part.outcomes.len() as u32);
            part.people.push(f64::from(evidence.kinds()[kind as usize].people));
        }
        part.transpose();
        let source = |f: usize| evidence.facts()[part.numbers[f] as usize].source;
        for f in 1..part.bounds.len() {
            let start = *part.blocks.last().unwrap_or(&0) as usize;
            if !same_group(source(f - 1), source(f)) || f - start == BLOCK {
                part.blocks.push(f as u32);
            }
        }
        if !part.bounds.is_empty() {
            part.releases = part.blocks.iter().map(|&f| release_of(source(f as usize))).collect();
            part.blocks.push(part.bounds.len() as u32);
        }
        part.kind_chunks = chunks(&part.first);
        part.block_chunks = chunks(&part.blocks);
        part
    }

    fn transpose(&mut self) {
        self.facts.iter().for_each(|&f| self.counting[f as usize + 1] += 1);
        (1..self.counting.len()).for_each(|f| self.counting[f] += self.counting[f - 1]);
        let mut next = self.counting.clone();
        self.counts = vec![0; self.facts.len()];
        for outcome in 0..self.outcomes.len() {
            for &fact in &self.facts[self.counted[outcome] as usize..self.counted[outcome + 1] as usize] {
                self.counts[next[fact as usize] as usize] = outcome as u32;
                next[fact as usize] += 1;
            }
        }
    }

    /// Outcomes of a kind.
    pub fn outcomes_of(&self, kind: usize) -> Range<usize> {
        self.first[kind] as usize..self.first[kind + 1] as usize
    }

    /// Facts that count an outcome.
    pub fn facts_of(&self, outcome: usize) -> &[u32] {
        &self.facts[self.counted[outcome] as usize..self.counted[outcome + 1] as usize]
    }

    /// Outcomes that a fact counts.
    pub fn counts_of(&self, fact: usize) -> &[u32] {
        &self.counts[self.counting[fact] as usize..self.counting[fact + 1] as usize]
    }

    /// Facts of a block.
    pub fn block(&self, block: usize) -> Range<usize> {
        self.blocks[block] as usize..self.blocks[block + 1] as usize
    }

    /// Number of outcomes.
    pub fn len(&self) -> usize {
        self.outcomes.len()
    }

    /// For every kind, what `set` writes to its outcomes in `to`.
    pub fn for_kinds(&self, to: &mut [f64], set: impl Fn(usize, &mut [f64]) + Sync) {
        let work = |(kinds, to): (&Range<usize>, &mut [f64])| {
            let mut rest = to;
            for kind in kinds.clone() {
                let (mine, others) = rest.split_at_mut(self.outcomes_of(kind).len());
                set(kind, mine);
                rest = others;
            }
        };
        let parts = split(to, &self.kind_chunks, &self.first);
        if self.shared { parts.into_par_iter().for_each(work) } else { parts.into_iter().for_each(work) }
    }

    /// For every block, what `set` writes to its places in `to`; `place` is the first place of each block, and the end.
    pub fn for_places(&self, to: &mut [f64], place: &[usize], set: impl Fn(usize, &mut [f64]) + Sync) {
        let mut parts = Vec::with_capacity(self.block_chunks.len());
        let mut rest = to;
        for chunk in &self.block_chunks {
            let (mine, others) = rest.split_at_mut(place[chunk.end] - place[chunk.start]);
            parts.push((chunk.clone(), mine));
            rest = others;
        }
        let work = |(chunk, mut mine): (Range<usize>, &mut [f64])| {
            for block in chunk {
                let (head, tail) = mine.split_at_mut(place[block + 1] - place[block]);
                set(block, head);
                mine = tail;
            }
        };
        if self.shared { parts.into_par_iter().for_each(work) } else { parts.into_iter().for_each(work) }
    }

    /// Calls `work` for chunks of blocks with the facts' places in each of some vectors; the sum of what it returns.
    pub fn for_blocks<const N: usize>(
        &self,
        vectors: [&mut [f64]; N],
        work: impl Fn(Range<usize>, [&mut [f64]; N]) -> f64 + Sync,
    ) -> f64 {
        let mut parts: Vec<(Range<usize>, [&mut [f64]; N])> = Vec::with_capacity(self.block_chunks.len());
        let mut rest = vectors;
        for chunk in &self.block_chunks {
            let len = (self.blocks[chunk.end] - self.blocks[chunk.start]) as usize;
            let mut mine = [(); N].map(|()| &mut [][..]);
            for (mine, rest) in mine.iter_mut().zip(&mut rest) {
                let (head, tail) = std::mem::take(rest).split_at_mut(len);
                (*mine, *rest) = (head, tail);
            }
            parts.push((chunk.clone(), mine));
        }
        if self.shared {
            parts.into_par_iter().map(|(b, v)| work(b, v)).collect::<Vec<f64>>().into_iter().sum()
        } else {
            parts.into_iter().map(|(b, v)| work(b, v)).sum()
        }
    }
}

fn release_of(source: Source) -> u32 {
    match source {
        Source::Published { release, .. } => release,
        Source::Known(_) => u32::MAX,
    }
}

fn same_group(a: Source, b: Source) -> bool {
    match (a, b) {
        (Source::Published { release: r, group: g, .. }, Source::Published { release, group, .. }) => {
            (r, g) == (release, group)
        }
        _ => false,
    }
}

/// Runs of things that own about [`CHUNK`] places each; `first` is the first place of each, and the end.
fn chunks(first: &[u32]) -> Vec<Range<usize>> {
    let mut chunks = Vec::new();
    let mut start = 0;
    for i in 1..first.len() {
        if (first[i] - first[start]) as usize >= CHUNK || i + 1 == first.len() {
            chunks.push(start..i);
            start = i;
        }
    }
    chunks
}

fn split<'a, 'b>(
    mut to: &'a mut [f64],
    chunks: &'b [Range<usize>],
    first: &[u32],
) -> Vec<(&'b Range<usize>, &'a mut [f64])> {
    let mut parts = Vec::with_capacity(chunks.len());
    for chunk in chunks {
        let (mine, rest) = to.split_at_mut((first[chunk.end] - first[chunk.start]) as usize);
        parts.push((chunk, mine));
        to = rest;
    }
    parts
}
