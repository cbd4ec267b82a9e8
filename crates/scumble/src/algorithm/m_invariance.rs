//! # m-invariance
//!
//! Publishes again and again, everybody always in a group with the same sensitive values; where a
//! value is missing, a counterfeit stands for it.
//!
//! ## Method
//! The release has the form of `anatomy`, and a third table says how many of the values of a group
//! are counterfeit. The set of values that a group shows is its signature.
//!
//! 1. *Division*: whoever was published before comes into the bucket of her signature, whether she
//!    was in the newest release or returns from an older one.
//! 2. *Balancing*: in a bucket all values of the signature must be equally frequent. Newcomers fill
//!    what is missing, as many as can be so that the others are still m-eligible (no value held by
//!    more than one in m); counterfeits fill the rest.
//! 3. *Assignment*: of the γ newcomers who are left, with n₁ ≥ n₂ ≥ … the numbers of their values,
//!    α of each of the β commonest values come into the bucket with these as signature; β is the
//!    least from m on for which some α ≥ 1 leaves the others m-eligible, which means α ≤ n_β, α (β
//!    − m) ≤ γ − m n₁ and α β ≤ γ − m n_(β+1); α is the largest such. This is repeated until nobody
//!    is left.
//! 4. *Splitting*: a bucket with c records and counterfeits of every value is cut into c groups
//!    with one of each. With `grouping = "near"` it is halved at the medians of the widest
//!    quasi-identifier again and again, so that people in a group are alike; with `random` anybody
//!    is put together.
//!
//! Without earlier releases there are only the last two steps. A person whose sensitive value has
//! changed is a newcomer. There must be one published sensitive attribute.
//!
//! ## Guarantee
//! Every group has at least m different values, equally often, and everybody has the same signature
//! in all releases of the series, also after an absence. Whoever knows everybody's groups in all
//! releases believes in a value with probability at most 1/m: by maximum entropy as well as by
//! counting worlds, because exchanging values of a signature everywhere leaves what was published
//! unchanged. If the newcomers are too uneven for that, the algorithm refuses.
//!
//! Not covered: who knows that a person's value has changed, and that she is a newcomer therefore;
//! who knows how values go with quasi-identifiers (see `anatomy`); who knows that people were held
//! back because of their values; and earlier releases that were made in another way, where groups
//! showed a value more often than another: those are refused. Quasi-identifiers are not protected
//! at all.
//!
//! ## Cost
//! O(n log n) for n records, on all cores.
//!
//! ## Departures from the paper
//! The paper balances bucket by bucket and stops taking newcomers when one more would break
//! eligibility; here the most that can be taken is computed for all buckets at once, so there are
//! never more counterfeits, and newcomers who are not eligible by themselves may be after filling.
//! The quasi-identifiers are published by record and not generalized by group. Groups that break
//! another model of the policy are merged within their bucket, which keeps signatures and beliefs;
//! if that does not help, the algorithm refuses.
//!
//! ## Reference
//! Xiao and Tao, "m-invariance: towards privacy preserving re-publication of dynamic datasets",
//! 2007.

use super::grouping::{NOTE, identity, records, sensitive};
use super::newcomers::{Newcomers, only_sensitive, past, signature};
use super::{Algorithm, Goal, Progress, Refusal, joined};
use crate::catalogue::{Entry, Kind, Parameter};
use crate::class::{EquivalenceClass, Run};
use crate::failure::Failure;
use crate::history::History;
use crate::release::{Anatomized, Form, Member, Shape, class, group, with_counterfeits};
use crate::table::{Distribution, Table};
use hashbrown::HashMap;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use std::collections::BinaryHeap;

pub(super) const ENTRY: Entry<Box<dyn Algorithm>> = Entry {
    name: "m-invariance",
    summary: "anatomy again and again: everybody stays among the same values, counterfeits fill gaps",
    source: include_str!("m_invariance.rs"),
    parameters: &[
        Parameter {
            name: "m",
            kind: Kind::Count(2, 1000),
            default: None,
            about: "how many different values a group has at least; the same in all releases of a series, or less",
        },
        Parameter {
            name: "grouping",
            kind: Kind::Choice(&["near", "random"]),
            default: Some("near"),
            about: "people with similar quasi-identifiers together, or any",
        },
    ],
    build: |p| Ok(Box::new(MInvariance { m: p.count("m"), near: p.word("grouping") == "near" })),
};

struct MInvariance {
    m: u64,
    near: bool,
}

impl Algorithm for MInvariance {
    fn anonymize(
        &self,
        table: &Table,
        goal: &Goal<'_>,
        seed: u64,
        progress: Progress<'_>,
    ) -> Result<Form, Refusal> {
        let distributions = goal.distributions.clone();
        let goal = &Goal::among(
            goal.requirements,
            goal.quasi,
            goal.sensitive,
            distributions,
            Shape::Groups,
        );
        let mut reasons = goal.unfit();
        reasons.extend(only_sensitive(ENTRY.name, table).err());
        if reasons.is_empty() {
            reasons.extend(identity(ENTRY.name, table, goal));
        }
        if !reasons.is_empty() {
            return Err(Refusal(reasons));
        }
        let past = past(ENTRY.name, table)?;
        past.map_or(Ok(()), |past| self.can_go_on(past))?;
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let total = table.records();
        let (mut buckets, new) = Buckets::divide(table, past, records(table, &mut random));
        let rest = buckets.balance(new, self.m, &mut random)?;
        buckets.assign(rest, self.m, &mut random);
        progress.at(total / 2, total);
        let Buckets { list, counterfeits, .. } = buckets;
        let goal = &goal.against(published(goal, &list));
        let job = Job { table, near: self.near, goal, asked: sensitive(goal) };
        let made: Result<Vec<Vec<Group>>, Failure> =
            list.into_par_iter().map(|bucket| job.groups(bucket)).collect();
        let mut groups: Vec<Group> =
            made.map_err(|p| Refusal(vec![p]))?.into_iter().flatten().collect();
        groups.shuffle(&mut random);
        progress.at(total, total);
        let mut notes = vec![NOTE.to_owned()];
        if counterfeits > 0 {
            let alone = groups.iter().filter(|g| !g.counterfeits.is_empty()).count();
            notes.push(format!(
                "{counterfeits} counterfeits in {alone} of {} groups stand for nobody",
                groups.len()
            ));
        }
        let (members, values) = groups.into_iter().map(|g| (g.members, g.counterfeits)).unzip();
        let counterfeits = if counterfeits > 0 { values } else { Vec::new() };
        Ok(Form::Anatomized(Anatomized {
            groups: members,
            counterfeits,
            suppressed: Vec::new(),
            notes,
        }))
    }

    fn remembers(&self) -> bool {
        true
    }
}

impl MInvariance {
    /// Refuses earlier groups that a signature of m values cannot go on from.
    fn can_go_on(&self, past: &History) -> Result<(), Refusal> {
        let mut seen = vec![false; past.groups.len()];
        past.of_row
            .iter()
            .filter_map(|&g| (g as usize).checked_sub(1))
            .for_each(|g| seen[g] = true);
        let groups =
            || past.groups.iter().zip(&seen).filter(|(_, seen)| **seen).map(|(group, _)| group);
        let fewest = groups().map(|g| g.values.len() as u64).min().unwrap_or(u64::MAX);
        let uneven = groups().filter(|g| g.values.iter().any(|&(_, n)| n != g.values[0].1)).count();
        let mut reasons = Vec::new();
        if fewest < self.m {
            let message = format!(
                "`m-invariance` with m = {} cannot go on from the earlier releases: somebody was in a group of {fewest} \
                 different values, and must always be",
                self.m
            );
            reasons.push(
                Failure::refused("history-too-small", message)
                    .hint(format!("ask for m = {fewest} at most, or start a new series")),
            );
        }
        if uneven > 0 {
            let message = format!(
                "`m-invariance` cannot go on from the earlier releases: {uneven} of their groups showed one value more often \
                 than another"
            );
            reasons.push(Failure::refused("history-does-not-fit", message).hint(
                "go on with `history-guided`, or start a new series; releases of `anatomy` and `m-invariance` will do, if no \
                 groups were merged for other models",
            ));
        }
        if reasons.is_empty() { Ok(()) } else { Err(Refusal(reasons)) }
    }
}

/// People with one signature.
struct Bucket {
    /// Rising.
    signature: Vec<u32>,
    /// The rows of the people with each value of the signature, in random order.
    people: Vec<Vec<u32>>,
    /// How many people or counterfeits of every value there are in the end.
    size: usize,
}

/// All buckets while they are filled.
struct Buckets<'a> {
    table: &'a Table,
    list: Vec<Bucket>,
    of_signature: HashMap<Vec<u32>, usize>,
    counterfeits: u64,
}

impl<'a> Buckets<'a> {
    /// Those of the people who were published before, and the newcomers.
    fn divide(
        table: &'a Table,
        past: Option<&History>,
        records: Vec<u32>,
    ) -> (Buckets<'a>, Vec<u32>) {
        let mut buckets =
            Buckets { table, list: Vec::new(), of_signature: HashMap::new(), counterfeits: 0 };
        let Some(past) = past else { return (buckets, records) };
        let mut of_group: Vec<Option<usize>> = vec![None; past.groups.len()];
        let mut new = Vec::new();
        for row in records {
            let Some(group) = past.group_of(row as usize) else {
                new.push(row);
                continue;
            };
            let bucket = *of_group[group]
                .get_or_insert_with(|| buckets.number(signature(&past.groups[group])));
            let bucket = &mut buckets.list[bucket];
            // It is there: the past was compared with the table.
            if let Ok(at) = bucket.signature.binary_search(&table.sensitive_codes[0][row as usize])
            {
                bucket.people[at].push(row);
            }
        }
        (buckets, new)
    }

    /// The number of the bucket with this signature.
    fn number(&mut self, signature: Vec<u32>) -> usize {
        let next = self.list.len();
        let number = *self.of_signature.entry(signature.clone()).or_insert(next);
        if number == next {
            self.list.push(Bucket {
                people: vec![Vec::new(); signature.len()],
                signature,
                size: 0,
            });
        }
        number
    }

    /// Makes the values of every bucket equally frequent; returns the newcomers who are left.
    fn balance(
        &mut self,
        new: Vec<u32>,
        m: u64,
        random: &mut ChaCha8Rng,
    ) -> Result<Vec<u32>, Refusal> {
        let codes = &self.table.sensitive_codes[0];
        let mut open: Vec<Vec<(usize, usize)>> =
            vec![Vec::new(); self.table.sensitive[0].taxonomy.leaves()];
        for (number, bucket) in self.list.iter_mut().enumerate() {
            bucket.size = bucket.people.iter().map(Vec::len).max().unwrap_or(0);
            for (at, (&value, people)) in bucket.signature.iter().zip(&bucket.people).enumerate() {
                open[value as usize]
                    .extend(std::iter::repeat_n((number, at), bucket.size - people.len()));
            }
        }
        let mut people = vec![0u64; open.len()];
        new.iter().for_each(|&row| people[codes[row as usize] as usize] += 1);
        let newcomers =
            Newcomers { people, places: open.iter().map(|places| places.len() as u64).collect() };
        let Some(mut left) = newcomers.left(m) else {
            let name = &self.table.sensitive[0].name;
            return Err(Refusal(vec![newcomers.problem(ENTRY.name, "m", m, name)]));
        };
        open.iter_mut().for_each(|places| places.shuffle(random));
        let mut rest = Vec::new();
        for row in new {
            let value = codes[row as usize] as usize;
            let place = if left[value] > 0 { None } else { open[value].pop() };
            match place {
                Some((number, at)) => self.list[number].people[at].push(row),
                None => {
                    left[value] = left[value].saturating_sub(1);
                    rest.push(row);
                }
            }
        }
        self.counterfeits = open.iter().map(|places| places.len() as u64).sum();
        Ok(rest)
    }

    /// Puts newcomers, who are m-eligible, into buckets of their own values.
    fn assign(&mut self, rest: Vec<u32>, m: u64, random: &mut ChaCha8Rng) {
        let mut of_value: Vec<Vec<u32>> =
            vec![Vec::new(); self.table.sensitive[0].taxonomy.leaves()];
        let mut gamma = rest.len() as u64;
        for row in rest {
            of_value[self.table.sensitive_codes[0][row as usize] as usize].push(row);
        }
        let mut values: Vec<u32> =
            (0..of_value.len() as u32).filter(|&v| !of_value[v as usize].is_empty()).collect();
        // Which of equally frequent values come together is left to chance.
        values.shuffle(random);
        let mut frequent: BinaryHeap<(u64, u32, u32)> = values
            .iter()
            .zip(0..)
            .map(|(&v, tie)| (of_value[v as usize].len() as u64, tie, v))
            .collect();
        while gamma > 0 {
            let top: Vec<(u64, u32, u32)> = (0..2 * m).map_while(|_| frequent.pop()).collect();
            let (alpha, beta) = share(&top.iter().map(|t| t.0).collect::<Vec<_>>(), gamma, m);
            let mut signature: Vec<u32> = top[..beta].iter().map(|t| t.2).collect();
            signature.sort_unstable();
            let number = self.number(signature);
            let bucket = &mut self.list[number];
            for (&value, people) in bucket.signature.iter().zip(&mut bucket.people) {
                let from = &mut of_value[value as usize];
                people.extend(from.split_off(from.len() - alpha as usize));
            }
            bucket.size += alpha as usize;
            gamma -= alpha * beta as u64;
            let less = |(at, &(n, tie, v)): (usize, &(u64, u32, u32))| {
                (if at < beta { n - alpha } else { n }, tie, v)
            };
            frequent.extend(top.iter().enumerate().map(less).filter(|t| t.0 > 0));
        }
    }
}

/// How many people (α) of how many of the most frequent values (β) come together, so that the
/// others stay m-eligible: the least β, then the largest α. `frequent` are the numbers of the 2m
/// most frequent values, falling, of `gamma` people who are m-eligible.
///
/// There always is one with β < 2m: with γ = qm + r, r < m, at most max(m, m + r) values occur more
/// than q − 1 times, and that many or m, whichever is more, leave the others eligible when one of
/// each goes.
fn share(frequent: &[u64], gamma: u64, m: u64) -> (u64, usize) {
    let next = |beta: usize| frequent.get(beta).copied().unwrap_or(0);
    let alpha = |beta: usize| {
        let fewer = (beta as u64).checked_sub(m).filter(|&d| d > 0);
        let first = fewer.map_or(u64::MAX, |d| gamma.saturating_sub(m * frequent[0]) / d);
        frequent[beta - 1].min(first).min(gamma.saturating_sub(m * next(beta)) / beta as u64)
    };
    let found =
        (m as usize..=frequent.len()).map(|beta| (alpha(beta), beta)).find(|&(alpha, _)| alpha > 0);
    found
        .unwrap_or_else(|| unreachable!("{gamma} people with values {frequent:?} are {m}-eligible"))
}

/// The distributions as they will be published, counterfeits included.
fn published(goal: &Goal<'_>, buckets: &[Bucket]) -> Vec<Distribution> {
    let mut distributions = goal.distributions.clone();
    let mut counts = vec![0u64; distributions[0].counts.len()];
    for bucket in buckets {
        bucket.signature.iter().for_each(|&value| counts[value as usize] += bucket.size as u64);
    }
    distributions[0] = Distribution::new(distributions[0].taxonomy.clone(), counts);
    distributions
}

/// A group of the release.
struct Group {
    members: Vec<Member>,
    /// Rising.
    counterfeits: Vec<u32>,
}

/// Cutting buckets into groups.
struct Job<'a> {
    table: &'a Table,
    near: bool,
    goal: &'a Goal<'a>,
    /// The requirements on sensitive attributes.
    asked: Vec<usize>,
}

/// Part of a bucket: for every value people, and how many counterfeits.
type Part<'a> = Vec<(&'a mut [u32], usize)>;

/// Parts with fewer records of each value than this are not worth handing to another thread.
const ALONE: usize = 512;

impl Job<'_> {
    fn groups(&self, mut bucket: Bucket) -> Result<Vec<Group>, Failure> {
        let size = bucket.size;
        let part = bucket
            .people
            .iter_mut()
            .map(|people| (size - people.len(), people))
            .map(|(n, p)| (&mut p[..], n));
        self.repair(self.split(&bucket.signature, part.collect(), size))
    }

    /// Cuts a part with so many people or counterfeits of every value into groups.
    fn split(&self, signature: &[u32], mut part: Part<'_>, size: usize) -> Vec<Group> {
        if size == 1 {
            let members = part
                .iter()
                .flat_map(|(people, _)| people.iter().map(|&row| Member { row, count: 1 }));
            let lacking = part.iter().zip(signature).filter(|((_, nobody), _)| *nobody > 0);
            return vec![Group {
                members: members.collect(),
                counterfeits: lacking.map(|(_, &v)| v).collect(),
            }];
        }
        let half = size / 2;
        let codes = self.widest(&part).map(|dim| &self.table.quasi_codes[dim]);
        let median = codes.and_then(|codes| median(&mut part, codes, half));
        let (mut low, mut high): (Part<'_>, Part<'_>) =
            (Vec::with_capacity(part.len()), Vec::with_capacity(part.len()));
        for (people, nobody) in part.drain(..) {
            let wanted = match (codes, median) {
                (Some(codes), Some(median)) => {
                    people.iter().filter(|&&row| codes[row as usize] < median).count()
                }
                _ => (people.len() * half + size / 2) / size,
            };
            let cut = wanted.clamp(half.saturating_sub(nobody), people.len().min(half));
            if let Some(codes) = codes.filter(|_| 0 < cut && cut < people.len()) {
                people.select_nth_unstable_by_key(cut, |&row| codes[row as usize]);
            }
            let (first, second) = people.split_at_mut(cut);
            low.push((first, half - cut));
            high.push((second, nobody - (half - cut)));
        }
        let (mut groups, more) = if size < ALONE {
            (self.split(signature, low, half), self.split(signature, high, size - half))
        } else {
            rayon::join(
                || self.split(signature, low, half),
                || self.split(signature, high, size - half),
            )
        };
        groups.extend(more);
        groups
    }

    /// The quasi-identifier in which the people of a part differ most, relative to its domain.
    fn widest(&self, part: &Part<'_>) -> Option<usize> {
        if !self.near {
            return None;
        }
        let width = |dim: usize| {
            let codes = &self.table.quasi_codes[dim];
            let all = || {
                part.iter().flat_map(|(people, _)| people.iter().map(|&row| codes[row as usize]))
            };
            let (first, last) =
                all().fold((u32::MAX, 0), |(first, last), code| (first.min(code), last.max(code)));
            (first < last)
                .then(|| (dim, self.table.quasi[dim].taxonomy.loss(Run::new(first, last))))
        };
        let widths = (0..self.table.quasi.len()).filter_map(width);
        widths.reduce(|a, b| if b.1 > a.1 { b } else { a }).map(|(dim, _)| dim)
    }

    /// Merges groups of a bucket, neighbours first, until every one keeps the models of sensitive
    /// attributes.
    fn repair(&self, groups: Vec<Group>) -> Result<Vec<Group>, Failure> {
        if self.asked.is_empty() {
            return Ok(groups);
        }
        let mut good: Vec<Group> = Vec::with_capacity(groups.len());
        let mut waiting: Option<Group> = None;
        for group in groups {
            let merged = match waiting.take() {
                Some(before) => before.merge(group),
                None => group,
            };
            if self.broken(&merged).is_none() { good.push(merged) } else { waiting = Some(merged) }
        }
        while let Some(failing) = waiting.take() {
            let Some(other) = good.pop() else {
                return Err(self.problem(&failing));
            };
            let merged = other.merge(failing);
            if self.broken(&merged).is_none() { good.push(merged) } else { waiting = Some(merged) }
        }
        Ok(good)
    }

    /// A requirement that the group does not keep.
    fn broken(&self, of: &Group) -> Option<usize> {
        let class = self.class(of);
        // Not `keeps`: how many records a group needs at least is said for groups in which every
        // value is somebody's.
        self.asked.iter().copied().find(|&i| !self.goal.judge(i, &class).holds)
    }

    fn class(&self, of: &Group) -> EquivalenceClass {
        let class = match self.goal.needs_regions() {
            true => group(self.table, &of.members),
            false => class(self.table, Vec::new(), &of.members),
        };
        with_counterfeits(self.table, class, &of.counterfeits)
    }

    fn problem(&self, failing: &Group) -> Failure {
        let broken = self.broken(failing).unwrap_or(0);
        let r = &self.goal.requirements[broken];
        let measured = self.goal.judge(broken, &self.class(failing)).measured;
        Failure::refused("promise-broken", format!(
            "`{}`{} is not kept: all groups with one signature together measure {measured}, and `m-invariance` cannot merge \
             them with others, because everybody keeps her signature",
            r.name,
            r.about(self.goal.sensitive)
        ))
        .hint("ask for less in this model, or leave it out: m-invariance promises a belief of at most 1/m by itself")
    }
}

/// Where a value that has no counterfeits is halved: people of the others go to the side where they
/// are, counterfeits to the other. There is such a value in every bucket, and so in every part: the
/// one that most people had.
fn median(part: &mut Part<'_>, codes: &[u32], half: usize) -> Option<u32> {
    let (people, _) =
        part.iter_mut().find(|(people, nobody)| *nobody == 0 && half < people.len())?;
    let (_, median, _) = people.select_nth_unstable_by_key(half, |&row| codes[row as usize]);
    Some(codes[*median as usize])
}

impl Group {
    fn merge(mut self, other: Group) -> Group {
        self.members.extend(other.members);
        self.counterfeits.extend(other.counterfeits);
        self.counterfeits.sort_unstable();
        Group { members: joined(self.members), counterfeits: self.counterfeits }
    }
}
