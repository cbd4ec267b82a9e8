//! Records in groups of different sensitive values: what `anatomy`, `history-guided` and
//! `m-invariance` share.

use super::{Goal, Refusal, joined};
use crate::class::{EquivalenceClass, Run};
use crate::failure::Failure;
use crate::model::Concern;
use crate::publish::judge_one;
use crate::release::{Member, Release, class, group};
use crate::table::Table;
use rand::seq::{IndexedRandom, SliceRandom};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

/// What the recipient and the steward should know of every anatomized release.
pub(super) const NOTE: &str = "anatomized: the quasi-identifiers are published as they are, so whoever knows them of a \
                               person sees whether the person is in the table";

/// The row of every record, in an order that only the seed knows, which decides wherever one record
/// is as good as another.
pub(super) fn records(table: &Table, random: &mut ChaCha8Rng) -> Vec<u32> {
    let mut records: Vec<u32> = (0..table.rows())
        .flat_map(|r| std::iter::repeat_n(r as u32, table.counts[r] as usize))
        .collect();
    records.shuffle(random);
    records
}

/// Why the records cannot be put into groups of ℓ different values.
pub(super) fn not_eligible(
    algorithm: &str,
    l: u64,
    table: &Table,
    goal: &Goal<'_>,
    about: usize,
) -> Option<Failure> {
    let counts = &goal.distributions[about].counts;
    let (most, n) = (counts.iter().copied().max().unwrap_or(0), table.records());
    if u128::from(most) * u128::from(l) <= u128::from(n) {
        return None;
    }
    let name = &table.sensitive[about].name;
    let message = format!(
        "`{algorithm}` with l = {l} is not possible for `{name}`: one of its values is held by {most} of {n} records, more \
         than one in {l}"
    );
    Some(Failure::refused("cannot-be-met", message).hint(match n / most.max(1) {
        0 | 1 => {
            "no groups are possible for this attribute; use an algorithm that generalizes".into()
        }
        largest => format!("at most l = {largest} can be asked of these data"),
    }))
}

/// The models of identity that do not hold on the quasi-identifiers as they are.
pub(super) fn identity(algorithm: &str, table: &Table, goal: &Goal<'_>) -> Vec<Failure> {
    let identity = |i: &usize| goal.requirements[*i].model.promise().concerns == Concern::Identity;
    let asked: Vec<usize> = (0..goal.requirements.len()).filter(identity).collect();
    if asked.is_empty() {
        return Vec::new();
    }
    let unchanged = Release::unchanged(table);
    let broken = |i: usize| {
        let judgement = judge_one(goal, &unchanged, &unchanged.classes, i);
        let name = goal.requirements[i].name;
        let message = format!(
            "`{algorithm}` publishes the quasi-identifiers as they are, and so {}",
            judgement.words(name)
        );
        let hint = "use an algorithm that generalizes, or ask for a model of the sensitive attribute instead";
        (!judgement.holds).then(|| Failure::refused("cannot-be-met", message).hint(hint))
    };
    asked.into_iter().filter_map(broken).collect()
}

/// The requirements on sensitive attributes.
pub(super) fn sensitive(goal: &Goal<'_>) -> Vec<usize> {
    let sensitive = |i: &usize| goal.requirements[*i].model.promise().concerns != Concern::Identity;
    (0..goal.requirements.len()).filter(sensitive).collect()
}

/// Merges groups until every one of them is right and keeps the models of sensitive attributes.
/// Those that do not are merged with each other, in their order; what remains, with others.
pub(super) fn repair(
    table: &Table,
    goal: &Goal<'_>,
    groups: Vec<Vec<Member>>,
    right: Option<&(dyn Fn(&EquivalenceClass) -> bool + Sync)>,
) -> Result<Vec<Vec<Member>>, Refusal> {
    let asked = sensitive(goal);
    let holds = |class: &EquivalenceClass| {
        right.is_none_or(|right| right(class)) && asked.iter().all(|&i| goal.keeps(i, class))
    };
    let class_of = |members: &[Member]| match goal.needs_regions() {
        true => group(table, members),
        false => class(table, Vec::new(), members),
    };
    let nothing = asked.is_empty() && right.is_none();
    let verdicts: Vec<bool> =
        groups.par_iter().map(|members| nothing || holds(&class_of(members))).collect();
    let (mut good, mut failing) = (Vec::with_capacity(groups.len()), Vec::new());
    for (members, holds) in groups.into_iter().zip(verdicts) {
        if holds { &mut good } else { &mut failing }.push(members);
    }
    let mut waiting: Option<(Vec<Member>, EquivalenceClass)> = None;
    let mut failing = failing.into_iter();
    while let Some(next) =
        failing.next().or_else(|| waiting.is_some().then(|| good.pop()).flatten())
    {
        let class = class_of(&next);
        let merged = match waiting.take() {
            Some((mut members, before)) => {
                members.extend(next);
                (members, covered(goal, before.merge(&class)))
            }
            None => (next, class),
        };
        if holds(&merged.1) {
            good.push(joined(merged.0));
        } else {
            waiting = Some(merged);
        }
    }
    // What waits now is the whole table.
    match waiting {
        Some((members, whole)) => {
            let reasons = goal.impossible(&whole);
            // One group may keep what is judged on the whole, though it would not do its part among
            // others.
            if reasons.is_empty() { Ok(vec![joined(members)]) } else { Err(Refusal(reasons)) }
        }
        None => Ok(good),
    }
}

/// The class with a region that can be published.
fn covered(goal: &Goal<'_>, mut class: EquivalenceClass) -> EquivalenceClass {
    class.region.iter_mut().zip(goal.quasi).for_each(|(run, a)| *run = a.taxonomy.cover(*run));
    class
}

/// Records to be put into groups of ℓ different values.
pub(super) struct Job<'a> {
    table: &'a Table,
    /// The values that must differ, by row.
    codes: &'a [u32],
    /// How many values there may be.
    values: usize,
    l: usize,
}

/// Parts with fewer records than this are not worth handing to another thread.
const ALONE: usize = 2048;

impl<'a> Job<'a> {
    /// Groups of different values of this sensitive attribute.
    pub fn new(table: &'a Table, about: usize, l: u64) -> Job<'a> {
        let values = table.sensitive[about].taxonomy.leaves();
        Job { table, codes: &table.sensitive_codes[about], values, l: l as usize }
    }

    /// Groups of records, which are rows in random order and together eligible.
    pub fn groups(
        &self,
        records: Vec<u32>,
        near: bool,
        random: &mut ChaCha8Rng,
    ) -> Vec<Vec<Member>> {
        let parts = if near { self.parts(&records) } else { vec![records] };
        let grouped = |(i, part): (usize, &Vec<u32>)| {
            let mut random = random.clone();
            // A stream for every part, apart from those of the writer.
            random.set_stream((1 << 41) + i as u64);
            self.group(part, &mut random)
        };
        let mut groups: Vec<Vec<Member>> =
            parts.par_iter().enumerate().flat_map_iter(grouped).collect();
        if !near {
            // The last groups have the rarer values; merged with each other they would stay unlike
            // the table.
            groups.shuffle(random);
        }
        groups
    }

    fn value(&self, row: u32) -> u32 {
        self.codes[row as usize]
    }

    /// Groups of the records of an eligible part, which are rows in random order.
    fn group(&self, part: &[u32], random: &mut ChaCha8Rng) -> Vec<Vec<Member>> {
        let sorted = self.by_value(part);
        let mut buckets: Vec<&[u32]> =
            sorted.chunk_by(|&a, &b| self.value(a) == self.value(b)).collect();
        // Which of equally large ones comes first is left to chance.
        buckets.shuffle(random);
        buckets.sort_by_key(|b| std::cmp::Reverse(b.len()));
        let mut groups: Vec<Vec<Member>> = Vec::with_capacity(part.len() / self.l);
        while let Some(least) = buckets.get(self.l - 1).map(|b| b.len()).filter(|&n| n > 0) {
            // Of the buckets as large as the ℓ-th the last ones are taken: so they stay in order of
            // size.
            let larger = buckets.partition_point(|b| b.len() > least);
            let end = buckets.partition_point(|b| b.len() >= least);
            let (head, tail) = buckets.split_at_mut(larger);
            let chosen = head.iter_mut().chain(&mut tail[end - self.l..end - larger]);
            groups.push(
                chosen
                    .filter_map(|bucket| bucket.split_off_last())
                    .map(|&row| Member { row, count: 1 })
                    .collect(),
            );
        }
        for &row in buckets.into_iter().flatten() {
            let lacks = |g: &usize| groups[*g].iter().all(|m| self.value(m.row) != self.value(row));
            let lacking: Vec<usize> = (0..groups.len()).filter(lacks).collect();
            // The part is eligible, so that there is one.
            if let Some(&g) = lacking.choose(random) {
                groups[g].push(Member { row, count: 1 });
            }
        }
        groups
    }

    /// The records by rising value, those of one value in the order given.
    fn by_value(&self, part: &[u32]) -> Vec<u32> {
        let mut sorted = part.to_vec();
        if self.values > part.len() {
            sorted.sort_by_key(|&row| self.value(row));
            return sorted;
        }
        let mut next = vec![0usize; self.values + 1];
        part.iter().for_each(|&row| next[self.value(row) as usize + 1] += 1);
        (1..next.len()).for_each(|v| next[v] += next[v - 1]);
        for &row in part {
            let slot = &mut next[self.value(row) as usize];
            sorted[*slot] = row;
            *slot += 1;
        }
        sorted
    }
}

/// Cutting the records into parts of people alike. A record is packed as its quasi-identifiers, its
/// value and its row, and moved as a whole, so that a part is a stretch of memory.
impl Job<'_> {
    fn dims(&self) -> usize {
        self.table.quasi.len()
    }

    fn stride(&self) -> usize {
        self.dims() + 2
    }

    /// The records in parts, neighbours beside each other, each of them eligible.
    fn parts(&self, records: &[u32]) -> Vec<Vec<u32>> {
        let pack = |&row: &u32| {
            let codes = self.table.quasi_codes.iter().map(move |codes| codes[row as usize]);
            codes.chain([self.value(row), row])
        };
        let mut packed: Vec<u32> = Vec::with_capacity(records.len() * self.stride());
        records.iter().for_each(|row| packed.extend(pack(row)));
        self.divide(&mut packed, &mut vec![0; self.values])
    }

    /// Cuts as often as both sides are eligible. `counts` is as long as there are values, and all
    /// zero.
    fn divide(&self, part: &mut [u32], counts: &mut Vec<u32>) -> Vec<Vec<u32>> {
        let stride = self.stride();
        let n = part.len() / stride;
        let Some(cut) = (n >= 2 * self.l).then(|| self.cut(part, counts)).flatten() else {
            return vec![part.chunks_exact(stride).map(|record| record[self.dims() + 1]).collect()];
        };
        let (low, high) = part.split_at_mut(cut * stride);
        let (mut parts, more) = if n < ALONE {
            (self.divide(low, counts), self.divide(high, counts))
        } else {
            rayon::join(
                || self.divide(low, counts),
                || self.divide(high, &mut vec![0; self.values]),
            )
        };
        parts.extend(more);
        parts
    }

    /// Sorts the records so that those before the place returned, and those from it on, are both
    /// eligible.
    fn cut(&self, part: &mut [u32], counts: &mut [u32]) -> Option<usize> {
        let stride = self.stride();
        let n = part.len() / stride;
        // A side of whole groups leaves no record over.
        let half = n / 2 / self.l * self.l;
        let dims = self.by_width(part);
        let order_by = |dim: usize| -> Vec<(u32, u32)> {
            part.chunks_exact(stride).zip(0..).map(|(record, i)| (record[dim], i)).collect()
        };
        let value = |i: u32| part[i as usize * stride + self.dims()];
        let median = dims.iter().find_map(|&dim| {
            let mut order = order_by(dim);
            order.select_nth_unstable(half);
            let (low, high) = order.split_at(half);
            let mut side =
                |side: &[(u32, u32)]| self.eligible(side.iter().map(|&(_, i)| value(i)), counts);
            (side(low) && side(high)).then_some((order, half))
        });
        let (order, cut) = median.or_else(|| {
            dims.iter().find_map(|&dim| {
                let mut order = order_by(dim);
                order.sort_unstable();
                let values: Vec<u32> = order.iter().map(|&(_, i)| value(i)).collect();
                self.nearest_cut(&values, counts).map(|cut| (order, cut))
            })
        })?;
        let sorted: Vec<u32> = order
            .iter()
            .flat_map(|&(_, i)| {
                part[i as usize * stride..(i as usize + 1) * stride].iter().copied()
            })
            .collect();
        part.copy_from_slice(&sorted);
        Some(cut)
    }

    /// The quasi-identifiers that differ within the part, widest first relative to their domain.
    fn by_width(&self, part: &[u32]) -> Vec<usize> {
        let mut runs: Vec<Run> = part[..self.dims()].iter().map(|&c| Run::new(c, c)).collect();
        for record in part.chunks_exact(self.stride()) {
            for (run, &code) in runs.iter_mut().zip(record) {
                run.first = run.first.min(code);
                run.last = run.last.max(code);
            }
        }
        let width = |dim: usize| self.table.quasi[dim].taxonomy.loss(runs[dim]);
        let mut dims: Vec<usize> =
            (0..runs.len()).filter(|&dim| runs[dim].first < runs[dim].last).collect();
        dims.sort_by(|&a, &b| width(b).total_cmp(&width(a)));
        dims
    }

    /// Whether records with these values can be put into groups of ℓ different ones.
    fn eligible(
        &self,
        values: impl ExactSizeIterator<Item = u32> + Clone,
        counts: &mut [u32],
    ) -> bool {
        let most = values.len() / self.l;
        let count = |v: u32| {
            counts[v as usize] += 1;
            counts[v as usize] as usize
        };
        let eligible = values.clone().map(count).max().unwrap_or(0) <= most;
        values.for_each(|v| counts[v as usize] = 0);
        eligible
    }

    /// The place nearest to the middle at which the values can be cut into two eligible sides.
    fn nearest_cut(&self, values: &[u32], counts: &mut [u32]) -> Option<usize> {
        let n = values.len();
        let mut eligible = vec![true; n + 1];
        // Once from each end; `done` values are on this side.
        for backwards in [false, true] {
            let mut most = 0;
            for done in 1..=n {
                let v = values[if backwards { n - done } else { done - 1 }] as usize;
                counts[v] += 1;
                most = most.max(counts[v] as usize);
                eligible[if backwards { n - done } else { done }] &= most * self.l <= done;
            }
            values.iter().for_each(|&v| counts[v as usize] = 0);
        }
        (1..n).filter(|&cut| eligible[cut]).min_by_key(|&cut| (2 * cut).abs_diff(n))
    }
}
