//! # history-guided
//!
//! Publishes again what `anatomy` published before: groups are kept, who left is replaced by a
//! newcomer of the same value.
//!
//! ## Method
//! The release has the form of `anatomy`: quasi-identifiers as they are with the number of a group,
//! and sensitive values by group. Without an earlier release the groups are those of `anatomy`.
//! With earlier ones:
//!
//! 1. Whoever was in the newest release stays in her group. Who left leaves an empty place with her
//!    value.
//! 2. Who returns from an older release takes a free place of her value in a group that shows
//!    exactly the values that her own showed; if there is none, she counts as a newcomer.
//! 3. Newcomers, chosen at random, fill the places of their values: as many as can be so that the
//!    others are still eligible. A place that nobody fills is gone: a later newcomer in it would be
//!    known by it.
//! 4. The other newcomers form new groups of at least ℓ different values, `grouping` as for
//!    `anatomy`.
//! 5. A group that no longer has ℓ different values, or whose commonest value is held by more than
//!    one in ℓ, and one that breaks a model, is merged with others.
//!
//! A person whose sensitive value has changed is a newcomer. There must be one published sensitive
//! attribute.
//!
//! ## Guarantee
//! In every group no value is held by more than one record in ℓ, as with `anatomy`; otherwise the
//! algorithm refuses. If every place is filled and nobody returns elsewhere, all releases together
//! tell of everybody what one of them tells, and no more. Where a place stays empty, the earlier
//! group and the present one together tell about who left and who stayed; they may tell all.
//! `m-invariance` closes that gap with counterfeits. The algorithm says how many places stayed
//! empty; `scumble attack inference` says what that means.
//!
//! ## Cost
//! O(n) for n records, and what grouping the newcomers costs (see `anatomy`).
//!
//! ## Departures from the paper
//! The paper fills any place it can and leaves open what becomes of newcomers who cannot be
//! grouped; here filling keeps them eligible. The paper leaves small groups small; here they are
//! merged. People who return are not in the paper.
//!
//! ## Reference
//! Wang, Zhu, Du and Teng, "Inference analysis in privacy-preserving data re-publishing", 2008,
//! section 4.1.

use super::grouping::{Job, NOTE, identity, not_eligible, records, repair};
use super::newcomers::{Newcomers, only_sensitive, past};
use super::{Algorithm, Goal, Progress, Refusal, joined};
use crate::catalogue::{Entry, Kind, Parameter};
use crate::class::EquivalenceClass;
use crate::history::History;
use crate::release::{Anatomized, Form, Member, Shape};
use crate::table::Table;
use hashbrown::HashMap;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

pub(super) const ENTRY: Entry<Box<dyn Algorithm>> = Entry {
    name: "history-guided",
    summary: "anatomy again: groups are kept, newcomers take the places of those who left",
    source: include_str!("history_guided.rs"),
    parameters: &[
        Parameter {
            name: "l",
            kind: Kind::Count(2, 1000),
            default: None,
            about: "no value is held by more than one record in l of a group",
        },
        Parameter {
            name: "grouping",
            kind: Kind::Choice(&["random", "near"]),
            default: Some("random"),
            about: "new groups: any records together, or those with similar quasi-identifiers",
        },
    ],
    build: |p| Ok(Box::new(HistoryGuided { l: p.count("l"), near: p.word("grouping") == "near" })),
};

struct HistoryGuided {
    l: u64,
    near: bool,
}

impl Algorithm for HistoryGuided {
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
            // Merging ends with one group of all at worst.
            reasons.extend(not_eligible(ENTRY.name, self.l, table, goal, 0));
        }
        if !reasons.is_empty() {
            return Err(Refusal(reasons));
        }
        let past = past(ENTRY.name, table)?;
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let total = table.records();
        let mut kept = Kept::new(table, past, records(table, &mut random));
        let rest = kept.fill(self, &mut random)?;
        progress.at(total / 2, total);
        let mut groups = kept.groups();
        groups.extend(Job::new(table, 0, self.l).groups(rest, self.near, &mut random));
        groups.shuffle(&mut random);
        let right = |class: &EquivalenceClass| {
            let most = class.histograms[0].0.iter().map(|&(_, n)| n).max().unwrap_or(0);
            most * self.l <= class.count
        };
        let mut groups = repair(table, goal, groups, Some(&right))?;
        groups.shuffle(&mut random);
        progress.at(total, total);
        let notes = [NOTE.into()].into_iter().chain(kept.note()).collect();
        Ok(Form::Anatomized(Anatomized {
            groups,
            counterfeits: Vec::new(),
            suppressed: Vec::new(),
            notes,
        }))
    }

    fn remembers(&self) -> bool {
        true
    }
}

/// A value, and the values with their counts of a group that has a place for it.
type Place<'a> = (u32, &'a [(u32, u64)]);

/// The groups of the newest release with who is still in them, and the others.
struct Kept<'a> {
    table: &'a Table,
    past: Option<&'a History>,
    /// The rows of the people in each earlier group; only those of the newest release get some.
    members: Vec<Vec<u32>>,
    /// By value the groups that have an open place for it, as often as they have.
    open: Vec<Vec<u32>>,
    /// The rows of people who were in an older release, and of newcomers.
    returning: Vec<u32>,
    new: Vec<u32>,
    /// People who returned and found no place like theirs.
    elsewhere: u64,
    /// Places that were open, and those that stayed so.
    places: u64,
    empty: u64,
}

impl<'a> Kept<'a> {
    /// Who stays, and the places of who left: those of groups in which somebody stays.
    fn new(table: &'a Table, past: Option<&'a History>, records: Vec<u32>) -> Kept<'a> {
        let groups = past.map_or(0, |past| past.groups.len());
        let open = vec![Vec::new(); table.sensitive[0].taxonomy.leaves()];
        let (members, returning, new) = (vec![Vec::new(); groups], Vec::new(), Vec::new());
        let mut kept =
            Kept { table, past, members, open, returning, new, elsewhere: 0, places: 0, empty: 0 };
        for row in records {
            match past
                .and_then(|past| past.group_of(row as usize).map(|g| (g, past.groups[g].newest)))
            {
                Some((group, true)) => kept.members[group].push(row),
                Some((_, false)) => kept.returning.push(row),
                None => kept.new.push(row),
            }
        }
        for (number, group) in past.map_or(&[][..], |past| &past.groups).iter().enumerate() {
            if kept.members[number].is_empty() {
                continue;
            }
            for &(value, n) in &group.values {
                let there =
                    kept.members[number].iter().filter(|&&row| kept.value(row) == value).count();
                let left = (n as usize).saturating_sub(there);
                kept.open[value as usize].extend(std::iter::repeat_n(number as u32, left));
                kept.places += left as u64;
            }
        }
        kept
    }

    fn value(&self, row: u32) -> u32 {
        self.table.sensitive_codes[0][row as usize]
    }

    /// Fills places, and returns who is left for new groups.
    fn fill(&mut self, how: &HistoryGuided, random: &mut ChaCha8Rng) -> Result<Vec<u32>, Refusal> {
        self.return_home();
        self.open.iter_mut().for_each(|groups| groups.shuffle(random));
        let mut people = vec![0u64; self.open.len()];
        self.new.iter().for_each(|&row| people[self.value(row) as usize] += 1);
        let places = self.open.iter().map(|groups| groups.len() as u64).collect();
        let newcomers = Newcomers { people, places };
        let Some(mut left) = newcomers.left(how.l) else {
            let name = &self.table.sensitive[0].name;
            return Err(Refusal(vec![newcomers.problem(ENTRY.name, "l", how.l, name)]));
        };
        let mut rest = Vec::new();
        for row in std::mem::take(&mut self.new) {
            let value = self.value(row) as usize;
            let place = if left[value] > 0 { None } else { self.open[value].pop() };
            match place {
                Some(group) => self.members[group as usize].push(row),
                None => {
                    left[value] = left[value].saturating_sub(1);
                    rest.push(row);
                }
            }
        }
        self.empty = self.open.iter().map(|groups| groups.len() as u64).sum();
        Ok(rest)
    }

    /// Gives people who return a place in a group that shows the same values as theirs did; the
    /// others are newcomers.
    fn return_home(&mut self) {
        let Some(past) = self.past.filter(|_| !self.returning.is_empty()) else { return };
        let mut alike: HashMap<Place<'_>, Vec<u32>> = HashMap::new();
        for (value, groups) in (0u32..).zip(&mut self.open) {
            for group in groups.drain(..) {
                alike.entry((value, &past.groups[group as usize].values)).or_default().push(group);
            }
        }
        for row in std::mem::take(&mut self.returning) {
            let own = past.group_of(row as usize).map_or(&[][..], |g| &past.groups[g].values);
            match alike.get_mut(&(self.value(row), own)).and_then(Vec::pop) {
                Some(group) => self.members[group as usize].push(row),
                None => {
                    self.elsewhere += 1;
                    self.new.push(row);
                }
            }
        }
        for ((value, _), groups) in alike {
            self.open[value as usize].extend(groups);
        }
        // So that nothing depends on the order of a hash table.
        self.open.iter_mut().for_each(|groups| groups.sort_unstable());
    }

    /// The groups that somebody is in.
    fn groups(&mut self) -> Vec<Vec<Member>> {
        let people = std::mem::take(&mut self.members).into_iter().filter(|rows| !rows.is_empty());
        people
            .map(|rows| joined(rows.into_iter().map(|row| Member { row, count: 1 }).collect()))
            .collect()
    }

    /// What became of the places, for the publisher.
    fn note(&self) -> Option<String> {
        self.past?;
        let filled = self.places - self.empty;
        let elsewhere = match self.elsewhere {
            0 => String::new(),
            n => format!("; {n} of the people who return found no place like theirs"),
        };
        Some(format!(
            "guided by history: of {} places of people who left, {filled} were filled and {} stayed empty{elsewhere}; where \
             one stayed empty, the releases together tell more than one of them",
            self.places, self.empty
        ))
    }
}
