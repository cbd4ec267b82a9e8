//! A part of the evidence laid out for fast passes.
//!
//! The facts of one group of one release are a block. Some blocks have no person in common; they
//! are *near*: the people of each stand together with it in a cell, and whatever is to be done
//! about its facts is done inside the cell. All other facts are *far*. With two releases the first
//! is near and the second is far.

use super::super::evidence::{Component, Source};
use rayon::prelude::*;
use std::ops::Range;

/// Outcomes of a chunk of cells: fixed, so that sums do not depend on the threads.
const CHUNK: usize = 14_336;
/// Facts of a chunk of far blocks.
const FACTS: usize = 16_384;
/// Parts with fewer outcomes are not worth the second core.
const WORTH_SHARING: usize = 2 * CHUNK;
/// Groups with more facts are cut into blocks of this many.
pub const BLOCK: usize = 48;
/// People who are in no near block share cells of so many kinds.
const LOOSE: usize = 64;
const NONE: u32 = u32::MAX;

/// Kinds, outcomes and facts in an order in which neighbours are near in memory.
pub struct Part {
    /// Kind by kind: first outcome; one more at the end.
    first: Vec<u32>,
    /// Kind by kind: people.
    pub people: Vec<f64>,
    /// Outcome by outcome: the near fact that counts it, if any.
    near: Vec<u32>,
    /// Outcome by outcome: the place of that fact in its cell; one past the last if there is none.
    pub places: Vec<u8>,
    /// Outcome by outcome: first place in `far`; one more at the end.
    counted: Vec<u32>,
    /// Far facts that count each outcome, numbered from the first far one.
    far: Vec<u32>,
    /// Far fact by far fact: first place in `counts`; one more at the end.
    counting: Vec<u32>,
    /// Outcomes that each far fact counts.
    counts: Vec<u32>,
    /// Bounds of the facts, the near ones first.
    pub bounds: Vec<(f64, f64)>,
    /// Cell by cell: first kind, first near fact; one more at the end.
    cells: Vec<(u32, u32)>,
    /// Far block by far block: first fact, numbered from the first far one; one more at the end.
    blocks: Vec<u32>,
    /// Number in the component of each outcome.
    pub outcomes: Vec<u32>,
    /// Number in the component of each fact.
    pub numbers: Vec<u32>,
    /// Chunks of cells.
    cell_chunks: Vec<Range<usize>>,
    /// Chunks of far blocks.
    block_chunks: Vec<Range<usize>>,
    shared: bool,
    /// Whether every outcome has exactly one far fact.
    single: bool,
}

impl Part {
    /// Lays out a component.
    pub fn new(component: &Component) -> Part {
        let evidence = &component.evidence;
        let blocks = Blocks::new(component);
        let is_near = blocks.choose(component);
        let (near, far): (Vec<usize>, Vec<usize>) = (0..blocks.len()).partition(|&b| is_near[b]);
        let order = || near.iter().chain(&far).copied();
        let numbers: Vec<u32> = order().flat_map(|b| blocks.facts(b)).copied().collect();
        let split = near.iter().map(|&b| blocks.facts(b).len()).sum::<usize>() as u32;
        let mut place = vec![0u32; numbers.len()];
        (0u32..).zip(&numbers).for_each(|(new, &old)| place[old as usize] = new);
        // The near block of a kind, and its first fact.
        let home = |kind: u32| {
            let facts = evidence.outcomes_of(kind).flat_map(|o| evidence.facts_of(o));
            let first = facts.clone().map(|&f| place[f as usize]).min().unwrap_or(NONE);
            let block = facts.map(|&f| blocks.of[f as usize]).find(|&b| is_near[b as usize]);
            (block.unwrap_or(NONE), first)
        };
        let mut kinds: Vec<((u32, u32), u32)> =
            (0..evidence.kinds().len() as u32).map(|k| (home(k), k)).collect();
        kinds.sort_unstable_by_key(|&((block, first), kind)| {
            if block == NONE { (block, first, kind) } else { (block, 0, kind) }
        });
        let bounds = numbers
            .iter()
            .map(|&f| evidence.facts()[f as usize])
            .map(|f| (f.low as f64, f.high as f64));
        let mut part = Part {
            first: vec![0],
            people: Vec::with_capacity(kinds.len()),
            near: Vec::with_capacity(evidence.outcomes().len()),
            places: Vec::new(),
            counted: vec![0],
            far: Vec::with_capacity(evidence.outcomes().len()),
            counting: vec![0; numbers.len() - split as usize + 1],
            counts: Vec::new(),
            bounds: bounds.collect(),
            cells: Vec::new(),
            blocks: vec![0],
            outcomes: Vec::with_capacity(evidence.outcomes().len()),
            numbers,
            cell_chunks: Vec::new(),
            block_chunks: Vec::new(),
            shared: evidence.outcomes().len() >= WORTH_SHARING,
            single: false,
        };
        let mut fact = 0;
        let mut last = None;
        for (number, &((block, _), kind)) in kinds.iter().enumerate() {
            let full =
                block == NONE && part.cells.last().is_some_and(|c| number - c.0 as usize == LOOSE);
            if last != Some(block) || full {
                part.cells.push((number as u32, fact));
                fact += if block == NONE { 0 } else { blocks.facts(block as usize).len() as u32 };
                last = Some(block);
            }
            for outcome in evidence.outcomes_of(kind) {
                let facts = evidence.facts_of(outcome).iter().map(|&f| place[f as usize]);
                part.near.push(facts.clone().find(|&f| f < split).unwrap_or(NONE));
                part.far.extend(facts.filter(|&f| f >= split).map(|f| f - split));
                part.counted.push(part.far.len() as u32);
                part.outcomes.push(outcome);
            }
            part.first.push(part.outcomes.len() as u32);
            part.people.push(f64::from(evidence.kinds()[kind as usize].people));
        }
        part.cells.push((kinds.len() as u32, split));
        for &block in &far {
            let end = part.blocks[part.blocks.len() - 1] + blocks.facts(block).len() as u32;
            part.blocks.push(end);
        }
        part.transpose();
        part.places = (0..part.cells()).flat_map(|cell| part.places_of(cell)).collect();
        part.single =
            part.far.len() == part.outcomes.len() && part.counted.windows(2).all(|w| w[0] < w[1]);
        let outcomes: Vec<u32> = part.cells.iter().map(|c| part.first[c.0 as usize]).collect();
        part.cell_chunks = chunks(&outcomes, CHUNK);
        part.block_chunks = chunks(&part.blocks, FACTS);
        part
    }

    fn transpose(&mut self) {
        self.far.iter().for_each(|&f| self.counting[f as usize + 1] += 1);
        (1..self.counting.len()).for_each(|f| self.counting[f] += self.counting[f - 1]);
        let mut next = self.counting.clone();
        self.counts = vec![0; self.far.len()];
        for outcome in 0..self.outcomes.len() {
            for &fact in
                &self.far[self.counted[outcome] as usize..self.counted[outcome + 1] as usize]
            {
                self.counts[next[fact as usize] as usize] = outcome as u32;
                next[fact as usize] += 1;
            }
        }
    }

    /// Number of near facts: they come first.
    pub fn split(&self) -> usize {
        self.cells[self.cells.len() - 1].1 as usize
    }

    /// Number of cells.
    pub fn cells(&self) -> usize {
        self.cells.len() - 1
    }

    /// Number of far blocks.
    pub fn blocks(&self) -> usize {
        self.blocks.len() - 1
    }

    /// Kinds of a cell.
    pub fn kinds_of(&self, cell: usize) -> Range<usize> {
        self.cells[cell].0 as usize..self.cells[cell + 1].0 as usize
    }

    /// Near facts of a cell.
    pub fn near_facts(&self, cell: usize) -> Range<usize> {
        self.cells[cell].1 as usize..self.cells[cell + 1].1 as usize
    }

    /// Facts of a far block, numbered from the first far one.
    pub fn block(&self, block: usize) -> Range<usize> {
        self.blocks[block] as usize..self.blocks[block + 1] as usize
    }

    /// Facts of each block, near and far, that has any.
    pub fn groups(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        let split = self.split();
        let far =
            (0..self.blocks()).map(move |b| split + self.block(b).start..split + self.block(b).end);
        (0..self.cells()).map(|c| self.near_facts(c)).chain(far).filter(|facts| !facts.is_empty())
    }

    /// Outcomes of a kind.
    pub fn outcomes_of(&self, kind: usize) -> Range<usize> {
        self.first[kind] as usize..self.first[kind + 1] as usize
    }

    fn places_of(&self, cell: usize) -> impl Iterator<Item = u8> + '_ {
        let facts = self.near_facts(cell);
        let place = move |o: usize| {
            (self.near[o].wrapping_sub(facts.start as u32) as usize).min(facts.len()) as u8
        };
        self.outcomes_in(cell).map(place)
    }

    /// The place in its cell of an outcome's near fact; one past the last if it has none.
    pub fn place(&self, outcome: usize) -> usize {
        usize::from(self.places[outcome])
    }

    /// Outcomes of a cell.
    pub fn outcomes_in(&self, cell: usize) -> Range<usize> {
        let kinds = self.kinds_of(cell);
        self.first[kinds.start] as usize..self.first[kinds.end] as usize
    }

    /// The sum of a vector of the far facts over those that count an outcome.
    #[inline]
    pub fn far_sum(&self, of: &[f64], outcome: usize) -> f64 {
        if self.single {
            return of[self.far[outcome] as usize];
        }
        self.far_of(outcome).iter().map(|&f| of[f as usize]).sum()
    }

    /// Far facts that count an outcome, numbered from the first far one.
    pub fn far_of(&self, outcome: usize) -> &[u32] {
        &self.far[self.counted[outcome] as usize..self.counted[outcome + 1] as usize]
    }

    /// All facts that count an outcome.
    pub fn facts_of(&self, outcome: usize) -> impl Iterator<Item = usize> + '_ {
        let near = Some(self.near[outcome]).filter(|&f| f != NONE).map(|f| f as usize);
        near.into_iter().chain(self.far_of(outcome).iter().map(|&f| self.split() + f as usize))
    }

    /// Outcomes that a far fact counts.
    pub fn counts_of(&self, fact: usize) -> &[u32] {
        &self.counts[self.counting[fact] as usize..self.counting[fact + 1] as usize]
    }

    /// Calls `work` for every cell with its outcomes' places in `outcomes` and its facts' places in
    /// each of `facts`.
    pub fn for_cells<const N: usize>(
        &self,
        outcomes: &mut [f64],
        facts: [&mut [f64]; N],
        work: impl Fn(usize, &mut [f64], [&mut [f64]; N]) + Sync,
    ) {
        let ends = |cell: usize| {
            (self.first[self.cells[cell].0 as usize] as usize, self.cells[cell].1 as usize)
        };
        let (mut outcomes, mut facts) = (outcomes, facts);
        let mut parts = Vec::with_capacity(self.cell_chunks.len());
        for chunk in &self.cell_chunks {
            let ((a, f), (b, g)) = (ends(chunk.start), ends(chunk.end));
            parts.push((
                chunk.clone(),
                take(&mut outcomes, b - a),
                facts.each_mut().map(|v| take(v, g - f)),
            ));
        }
        let run =
            |(chunk, mut outcomes, mut facts): (Range<usize>, &mut [f64], [&mut [f64]; N])| {
                for cell in chunk {
                    let ((a, f), (b, g)) = (ends(cell), ends(cell + 1));
                    work(
                        cell,
                        take(&mut outcomes, b - a),
                        facts.each_mut().map(|v| take(v, g - f)),
                    );
                }
            };
        if self.shared {
            parts.into_par_iter().for_each(run)
        } else {
            parts.into_iter().for_each(run)
        }
    }

    /// Calls `work` for chunks of far blocks with their facts' places in each of some vectors; the
    /// sum of what it returns.
    pub fn for_blocks<const N: usize>(
        &self,
        vectors: [&mut [f64]; N],
        work: impl Fn(Range<usize>, [&mut [f64]; N]) -> f64 + Sync,
    ) -> f64 {
        let mut vectors = vectors;
        let mut parts = Vec::with_capacity(self.block_chunks.len());
        for chunk in &self.block_chunks {
            let len = (self.blocks[chunk.end] - self.blocks[chunk.start]) as usize;
            parts.push((chunk.clone(), vectors.each_mut().map(|v| take(v, len))));
        }
        let run = |(chunk, vectors): (Range<usize>, [&mut [f64]; N])| work(chunk, vectors);
        if self.shared {
            parts.into_par_iter().map(run).collect::<Vec<f64>>().into_iter().sum()
        } else {
            parts.into_iter().map(run).sum()
        }
    }

    /// Calls `work` for every cell (or far block) with its places in `to`; `place` is the first of
    /// each, and the end.
    pub fn for_factors(
        &self,
        near: bool,
        to: &mut [f64],
        place: &[usize],
        work: impl Fn(usize, &mut [f64]) + Sync,
    ) {
        let mut rest = to;
        let mut parts = Vec::new();
        for chunk in if near { &self.cell_chunks } else { &self.block_chunks } {
            parts.push((chunk.clone(), take(&mut rest, place[chunk.end] - place[chunk.start])));
        }
        let run = |(chunk, mut mine): (Range<usize>, &mut [f64])| {
            chunk.for_each(|i| work(i, take(&mut mine, place[i + 1] - place[i])));
        };
        if self.shared {
            parts.into_par_iter().for_each(run)
        } else {
            parts.into_iter().for_each(run)
        }
    }
}

/// Cuts off the head.
fn take<'a>(rest: &mut &'a mut [f64], len: usize) -> &'a mut [f64] {
    let (head, tail) = std::mem::take(rest).split_at_mut(len);
    *rest = tail;
    head
}

/// The blocks of a component's facts.
struct Blocks {
    /// Facts by release, group and value.
    facts: Vec<u32>,
    /// First place of each block in `facts`, and the end.
    first: Vec<u32>,
    /// The block of each fact.
    of: Vec<u32>,
}

impl Blocks {
    fn new(component: &Component) -> Blocks {
        let mut facts: Vec<u32> = (0..component.facts.len() as u32).collect();
        facts.sort_unstable_by_key(|&f| component.facts[f as usize]);
        let source = |f: u32| component.evidence.facts()[f as usize].source;
        let (mut first, mut of) = (Vec::new(), vec![0; facts.len()]);
        for (i, &fact) in facts.iter().enumerate() {
            let start = first.last().map_or(0, |&s| s as usize);
            if i == 0 || !same_group(source(facts[i - 1]), source(fact)) || i - start == BLOCK {
                first.push(i as u32);
            }
            of[fact as usize] = first.len() as u32 - 1;
        }
        first.push(facts.len() as u32);
        Blocks { facts, first, of }
    }

    fn len(&self) -> usize {
        self.first.len() - 1
    }

    fn facts(&self, block: usize) -> &[u32] {
        &self.facts[self.first[block] as usize..self.first[block + 1] as usize]
    }

    /// Blocks of which no kind has two: those of early releases first. Huge ones are not chosen: a
    /// cell has one thread.
    fn choose(&self, component: &Component) -> Vec<bool> {
        let evidence = &component.evidence;
        let touched = |kind: u32| {
            let facts = evidence.outcomes_of(kind).flat_map(|o| evidence.facts_of(o));
            facts.map(|&f| self.of[f as usize])
        };
        let mut size = vec![0; self.len()];
        let kinds = 0..evidence.kinds().len() as u32;
        kinds.clone().flat_map(touched).for_each(|b| size[b as usize] += 1);
        let mut chosen: Vec<bool> = size.into_iter().map(|n| n <= 4 * CHUNK).collect();
        for kind in kinds {
            if let Some(best) = touched(kind).filter(|&b| chosen[b as usize]).min() {
                touched(kind).filter(|&b| b != best).for_each(|b| chosen[b as usize] = false);
            }
        }
        chosen
    }
}

fn same_group(a: Source, b: Source) -> bool {
    match (a, b) {
        (
            Source::Published { release: r, group: g, .. },
            Source::Published { release, group, .. },
        ) => (r, g) == (release, group),
        _ => false,
    }
}

/// Runs of things that own about so many places each; `first` is the first place of each, and the
/// end.
fn chunks(first: &[u32], places: usize) -> Vec<Range<usize>> {
    let mut chunks = Vec::new();
    let mut start = 0;
    for i in 1..first.len() {
        if (first[i] - first[start]) as usize >= places || i + 1 == first.len() {
            chunks.push(start..i);
            start = i;
        }
    }
    chunks
}
