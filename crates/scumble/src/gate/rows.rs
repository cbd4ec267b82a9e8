//! What releases show of several columns of one person's row together.
//!
//! A release that shows `disease` and `cost` says more than both by themselves: it shows rows. What
//! a later release says about `cost` then also tells something about `disease`. Every release is a
//! statement about some parts of a row: how often each combination of [`Cell`]s occurs in each
//! group. A cell is the set of true values that a published value may stand for, so a rounded or
//! top-coded value, a generalized label and the value itself can be put together.
//!
//! [`Rows`] turns such statements into [`Evidence`] about one column. A person's outcome is a
//! choice of one row for each release that she is in, such that rows agree in every column that
//! they share. Columns that no row of hers connects are dealt with apart from each other, as if
//! they were those of different people: the facts about them have nothing in common.

use super::memory::{Crowd, Memory};
use crate::inference::{Evidence, Fact, Located, Outcome, Source};
use crate::scale::{Decimal, iso_date, parse_date};
use hashbrown::HashMap;
use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard};

/// What a published value says about the true one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// Nothing.
    Anything,
    /// It is this one.
    Value(String),
    /// It is a number in this range, ends included; a missing end is open.
    Between(Option<Decimal>, Option<Decimal>),
    /// It is a number from the first on and below the second; a missing end is open. A cell of a
    /// scale is that, however many decimals the true values have.
    Numbers(Option<Decimal>, Option<Decimal>),
    /// It is a date from the first day on and before the second, in days since 1970.
    Days(i64, i64),
    /// It is one of these.
    Among(Vec<String>),
    /// It is none of those that the same release shows in the column.
    Rest,
}

/// A column of a release, as far as it says something about a person's row.
#[derive(Clone, Debug)]
pub struct Part {
    /// Index of the column.
    pub column: usize,
    /// What each of the published values says.
    pub cells: Vec<Cell>,
    /// Whether published values are labels of a taxonomy. All values below a label stay possible,
    /// each by itself; a value that was rounded or coded counts as one value.
    pub generalized: bool,
}

/// What a release says about the rows of its people.
#[derive(Clone, Debug, Default)]
pub struct Statement {
    /// The columns that it shows.
    pub parts: Vec<Part>,
    /// Distinct rows: for each part the index of its cell.
    pub rows: Vec<Vec<u32>>,
    /// For each group the indices of its rows, with counts.
    pub groups: Vec<Vec<(u32, u64)>>,
}

/// Statements of all releases, put together to judge one of the columns.
pub struct Rows {
    columns: usize,
    judged: usize,
    /// For each release the columns that it shows.
    shown: Vec<Vec<usize>>,
    /// For each cell of a [`super::Remembered`] the sets of its columns, in the order of `shown`.
    cells: Vec<Vec<u32>>,
    names: Vec<String>,
    sets: Mutex<Sets>,
    /// For each atom, whether it is protected; nothing if all values are.
    secret: Option<Vec<bool>>,
}

/// Codes of rows with their counts, by group.
pub type Counted = Vec<Vec<(u32, u64)>>;

impl Rows {
    /// Puts statements together to judge a column. `secret` are the values of it that are
    /// protected, each in one of the cells; all, if there is no list. Also returns for each release the codes of the rows by
    /// group, for [`super::Remembered::groups`].
    pub fn new(
        columns: usize,
        judged: usize,
        secret: Option<&[Cell]>,
        statements: &[Statement],
    ) -> (Rows, Vec<Counted>) {
        let mut sets = Sets::default();
        let mut domains = Vec::with_capacity(columns);
        for column in 0..columns {
            let parts = statements.iter().flat_map(|s| &s.parts).filter(|p| p.column == column);
            domains.push(Domain::new(parts, secret.filter(|_| column == judged), &mut sets));
        }
        let mut rows = Rows {
            columns,
            judged,
            shown: Vec::new(),
            cells: Vec::new(),
            names: Vec::new(),
            secret: secret.map(|cells| domains[judged].marked(cells, sets.atoms.len())),
            sets: Mutex::new(Sets::default()),
        };
        let groups = statements.iter().map(|s| rows.add(s, &domains, &mut sets)).collect();
        rows.sets = Mutex::new(sets);
        (rows, groups)
    }

    fn add(&mut self, statement: &Statement, domains: &[Domain], sets: &mut Sets) -> Counted {
        self.shown.push(statement.parts.iter().map(|p| p.column).collect());
        let of_part: Vec<Vec<u32>> =
            statement.parts.iter().map(|p| domains[p.column].sets(p, sets)).collect();
        if of_part.iter().flatten().all(|&set| set == ANY) {
            return vec![Vec::new(); statement.groups.len()];
        }
        let mut codes: HashMap<Vec<u32>, u32> = HashMap::new();
        let mut code_of = Vec::with_capacity(statement.rows.len());
        for row in &statement.rows {
            let cell: Vec<u32> =
                row.iter().zip(&of_part).map(|(&value, sets)| sets[value as usize]).collect();
            code_of.push(*codes.entry(cell).or_insert_with_key(|cell| {
                let names: Vec<String> = cell.iter().map(|&set| sets.name(set)).collect();
                self.names.push(names.join(" · "));
                self.cells.push(cell.clone());
                self.cells.len() as u32 - 1
            }));
        }
        let group = |rows: &Vec<(u32, u64)>| {
            let mut counts: Vec<(u32, u64)> =
                rows.iter().map(|&(row, n)| (code_of[row as usize], n)).collect();
            counts.sort_unstable();
            counts.dedup_by(|next, kept| {
                let same = next.0 == kept.0;
                kept.1 += if same { next.1 } else { 0 };
                same
            });
            counts
        };
        statement.groups.iter().map(group).collect()
    }

    fn sets(&self) -> MutexGuard<'_, Sets> {
        self.sets.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// What a value or a row is called.
    pub fn name(&self, value: u32) -> String {
        match self.names.get(value as usize) {
            Some(name) => name.clone(),
            None => self.sets().name(value - self.names.len() as u32),
        }
    }

    /// The value with this text, if any release shows it.
    pub fn find(&self, text: &str) -> Option<u32> {
        let mut sets = self.sets();
        let atom = sets.texts.get(&(self.judged, text.to_owned())).copied()?;
        Some(self.names.len() as u32 + sets.single(atom))
    }

    /// Index of the judged column.
    pub(super) fn judged(&self) -> usize {
        self.judged
    }

    fn set_of(&self, value: u32) -> u32 {
        value - self.names.len() as u32
    }

    /// The values that are told apart: one that was published as it is, rounded or coded counts
    /// once, and a label as every value below it. Each with its share of what is said of the first.
    pub(super) fn spread(&self, value: u32) -> Vec<(u32, f64)> {
        let mut sets = self.sets();
        let set = self.set_of(value);
        if sets.list[set as usize].1 {
            return vec![(value, 1.0)];
        }
        let atoms: Vec<u32> =
            sets.list[set as usize].0.iter().flat_map(|&(first, last)| first..=last).collect();
        let share = 1.0 / atoms.len() as f64;
        atoms.into_iter().map(|atom| (self.names.len() as u32 + sets.single(atom), share)).collect()
    }

    /// The values that are told apart among some, rising.
    pub(super) fn candidates(&self, values: impl Iterator<Item = u32>) -> Vec<u32> {
        let mut found: Vec<u32> = values.flat_map(|v| self.spread(v)).map(|(v, _)| v).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Whether a value is protected.
    pub(super) fn is_secret(&self, value: u32) -> bool {
        let Some(secret) = &self.secret else { return true };
        let sets = self.sets();
        let ranges = &sets.list[self.set_of(value) as usize].0;
        ranges
            .iter()
            .all(|&(first, last)| secret[first as usize..=last as usize].iter().all(|s| *s))
    }

    /// Whether one of the values of `now` says strictly more than one of `was`.
    pub(super) fn refines(&self, was: &[u32], now: &[u32]) -> bool {
        let mut sets = self.sets();
        let pairs =
            now.iter().flat_map(|n| was.iter().map(move |w| (self.set_of(*n), self.set_of(*w))));
        pairs.filter(|(n, w)| n != w).any(|(n, w)| sets.same_atoms_within(n, w))
    }

    /// Whether rows of two releases can be those of one person, as far as columns did not change.
    pub(super) fn agree(&self, (release, cell): (usize, u32), (other, with): (usize, u32)) -> bool {
        let mut sets = self.sets();
        let (one, two) = (&self.cells[cell as usize], &self.cells[with as usize]);
        let mut pairs = self.shown[release].iter().zip(one);
        pairs.all(|(column, &a)| {
            let at = self.shown[other].iter().position(|c| c == column);
            at.is_none_or(|at| sets.meet(a, two[at]).is_some())
        })
    }

    /// What these releases say about the judged column: the kinds of the crowd, then everybody and
    /// everything else that is counted.
    pub(super) fn evidence(&self, memory: &Memory, crowd: &Crowd, releases: &[usize]) -> Evidence {
        let (mut facts, mut firsts) = (Vec::new(), Vec::new());
        for (release, &r) in (0u32..).zip(releases) {
            let mut first = Vec::new();
            for (group, counts) in (0u32..).zip(&memory.releases[r].groups) {
                first.push(facts.len() as u32);
                facts.extend(counts.iter().map(|&(value, count)| Fact {
                    low: count,
                    high: count,
                    source: Source::Published { release, group, value },
                }));
            }
            firsts.push(first);
        }
        let mut sets = self.sets();
        let mut kinds: Vec<(u32, Outcomes)> = Vec::new();
        let mut others: Vec<(u32, Outcomes)> = Vec::new();
        for &(people, person) in &crowd.kinds {
            let placed: Vec<Placed<'_>> = (releases.iter().zip(&firsts))
                .filter(|(r, _)| memory.releases[**r].groups.iter().any(|g| !g.is_empty()))
                .filter_map(|(&r, firsts)| {
                    let remembered = &memory.releases[r];
                    let spot = remembered.place[person as usize].checked_sub(1)?;
                    let slots = remembered.slots(&self.shown[r], person, self.columns);
                    Some(Placed {
                        groups: &remembered.groups,
                        firsts,
                        spot: &remembered.spots[spot as usize],
                        slots,
                    })
                })
                .collect();
            let mut mine = None;
            for together in connected(&placed) {
                let judged = together.iter().any(|p| p.slots.contains(&self.judged));
                let outcomes = self.outcomes(&together, &mut sets);
                match judged {
                    true => mine = Some(outcomes),
                    false => others.push((people, outcomes)),
                }
            }
            kinds.push((people, mine.unwrap_or_else(|| vec![(Outcome::UNKNOWN, Vec::new())])));
        }
        for (&r, firsts) in releases.iter().zip(&firsts) {
            let remembered = &memory.releases[r];
            for (people, spot) in remembered
                .strangers
                .iter()
                .filter(|_| remembered.groups.iter().any(|g| !g.is_empty()))
            {
                let slots = self.shown[r].clone();
                let alone = [&Placed { groups: &remembered.groups, firsts, spot, slots }];
                others.push((*people, self.outcomes(&alone, &mut sets)));
            }
        }
        Evidence::of(facts, kinds.into_iter().chain(others))
    }

    /// The choices of rows that agree: the value of the judged column, and the facts that count
    /// them.
    fn outcomes(&self, together: &[&Placed<'_>], sets: &mut Sets) -> Outcomes {
        let mut found: Vec<(State, Vec<u32>)> = vec![(State::new(), Vec::new())];
        for placed in together {
            let mut next = Vec::new();
            for (state, facts) in &found {
                if placed.spot.may_be_absent {
                    next.push((state.clone(), facts.clone()));
                }
                for &group in &placed.spot.groups {
                    let first = placed.firsts[group as usize];
                    for (fact, &(cell, _)) in (first..).zip(&placed.groups[group as usize]) {
                        let row = placed
                            .slots
                            .iter()
                            .copied()
                            .zip(self.cells[cell as usize].iter().copied());
                        if let Some(state) = joined(state, row, sets) {
                            next.push((state, facts.iter().copied().chain([fact]).collect()));
                        }
                    }
                }
            }
            found = next;
        }
        let value = |state: &State| {
            let known = state.iter().find(|(slot, _)| *slot == self.judged);
            known.map_or(Outcome::UNKNOWN, |&(_, set)| self.names.len() as u32 + set)
        };
        let outcome = |(state, mut facts): (State, Vec<u32>)| {
            facts.sort_unstable();
            (value(&state), facts)
        };
        let mut outcomes: Outcomes = found.into_iter().map(outcome).collect();
        outcomes.sort_unstable();
        outcomes
    }
}

/// Values of the judged column with the facts that count them, in order.
type Outcomes = Vec<(u32, Vec<u32>)>;

/// What is known of a row: sets by slot, rising. A slot is a column, or what it was before it
/// changed.
type State = Vec<(usize, u32)>;

/// Where a person is in a release.
struct Placed<'a> {
    groups: &'a [Vec<(u32, u64)>],
    /// The first fact of each group.
    firsts: &'a [u32],
    spot: &'a Located,
    /// The slot of each column that the release shows.
    slots: Vec<usize>,
}

/// Releases that share a slot, directly or through others, in an order in which each shares one
/// with those before it.
fn connected<'a, 'b>(placed: &'b [Placed<'a>]) -> Vec<Vec<&'b Placed<'a>>> {
    let mut left: Vec<&Placed<'_>> = placed.iter().collect();
    // Wide rows first: they leave the fewest combinations.
    left.sort_by_key(|p| std::cmp::Reverse(p.slots.len()));
    let mut found = Vec::new();
    while !left.is_empty() {
        let mut together = vec![left.remove(0)];
        let mut slots: BTreeSet<usize> = together[0].slots.iter().copied().collect();
        while let Some(at) = left.iter().position(|p| p.slots.iter().any(|s| slots.contains(s))) {
            let next = left.remove(at);
            slots.extend(&next.slots);
            together.push(next);
        }
        found.push(together);
    }
    found
}

/// What is known with one more row; nothing if it does not agree.
fn joined(
    state: &State,
    row: impl Iterator<Item = (usize, u32)>,
    sets: &mut Sets,
) -> Option<State> {
    let mut state = state.clone();
    for (slot, set) in row.filter(|(_, set)| *set != ANY) {
        match state.binary_search_by_key(&slot, |s| s.0) {
            Ok(at) => state[at].1 = sets.meet(state[at].1, set)?,
            Err(at) => state.insert(at, (slot, set)),
        }
    }
    Some(state)
}

/// The set of everything.
const ANY: u32 = 0;

/// Ranges of atoms, rising and apart, and whether they count as one value.
type Set = (Vec<(u32, u32)>, bool);

/// Sets of atoms of all columns, each once. An atom is a value, or all values that no cell tells
/// apart.
#[derive(Default)]
struct Sets {
    atoms: Vec<String>,
    texts: HashMap<(usize, String), u32>,
    list: Vec<Set>,
    known: HashMap<Set, u32>,
    met: HashMap<(u32, u32), Option<u32>>,
}

impl Sets {
    fn intern(&mut self, ranges: Vec<(u32, u32)>, mut one: bool) -> u32 {
        if self.list.is_empty() {
            self.list.push((Vec::new(), true));
        }
        one |= matches!(ranges[..], [(first, last)] if first == last);
        let set = (ranges, one);
        if let Some(&number) = self.known.get(&set) {
            return number;
        }
        self.list.push(set.clone());
        self.known.insert(set, self.list.len() as u32 - 1);
        self.list.len() as u32 - 1
    }

    fn single(&mut self, atom: u32) -> u32 {
        self.intern(vec![(atom, atom)], true)
    }

    /// What two sets have in common; nothing if that is nothing.
    fn meet(&mut self, a: u32, b: u32) -> Option<u32> {
        match (a, b) {
            (ANY, other) | (other, ANY) => return Some(other),
            (a, b) if a == b => return Some(a),
            _ => {}
        }
        let key = (a.min(b), a.max(b));
        if let Some(&known) = self.met.get(&key) {
            return known;
        }
        let ((left, one), (right, other)) = (&self.list[a as usize], &self.list[b as usize]);
        let ranges = meet(left, right);
        let one = *one || *other;
        let met = (!ranges.is_empty()).then(|| self.intern(ranges, one));
        self.met.insert(key, met);
        met
    }

    /// Whether the atoms of a set are some, and not all, of those of another.
    fn same_atoms_within(&mut self, inner: u32, outer: u32) -> bool {
        let (inner, outer) = (&self.list[inner as usize].0, &self.list[outer as usize].0);
        inner != outer && meet(inner, outer) == *inner
    }

    fn name(&self, set: u32) -> String {
        match self.list.get(set as usize).map(|s| &s.0[..]) {
            Some([(first, last)]) if first == last => self.atoms[*first as usize].clone(),
            Some([_, ..]) => {
                let ranges = &self.list[set as usize].0;
                let (first, last) = (ranges[0].0, ranges[ranges.len() - 1].1);
                let atoms: u32 = ranges.iter().map(|(first, last)| last - first + 1).sum();
                match atoms {
                    2 => format!("{} or {}", self.atoms[first as usize], self.atoms[last as usize]),
                    n => format!(
                        "one of {n} values from {} to {}",
                        self.atoms[first as usize], self.atoms[last as usize]
                    ),
                }
            }
            _ => "any value".into(),
        }
    }
}

fn meet(left: &[(u32, u32)], right: &[(u32, u32)]) -> Vec<(u32, u32)> {
    let (mut i, mut j, mut found) = (0, 0, Vec::new());
    while i < left.len() && j < right.len() {
        let (first, last) = (left[i].0.max(right[j].0), left[i].1.min(right[j].1));
        if first <= last {
            found.push((first, last));
        }
        if left[i].1 < right[j].1 { i += 1 } else { j += 1 }
    }
    found
}

/// Numbers, or days, from one to another; a missing end is open.
struct Range {
    from: Option<Decimal>,
    to: Option<Decimal>,
    /// Whether the upper end belongs to it.
    closed: bool,
}

impl Range {
    /// The range of a cell, if it is one of the column's: of days in a column of dates, of numbers
    /// otherwise. A column cannot be both, and what one calls numbers says nothing about dates.
    fn of(cell: &Cell, dates: bool) -> Option<Range> {
        let day = |day: i64| Some(Decimal { mantissa: day, decimals: 0 });
        match *cell {
            Cell::Between(from, to) if !dates => Some(Range { from, to, closed: true }),
            Cell::Numbers(from, to) if !dates => Some(Range { from, to, closed: false }),
            Cell::Days(from, to) if dates => {
                Some(Range { from: day(from), to: day(to), closed: false })
            }
            _ => None,
        }
    }

    /// Where it begins, and where what is above it begins, in units of 10^-decimals.
    fn cuts(&self, decimals: u32) -> (Option<i64>, Option<i64>) {
        let to = self.to.and_then(|d| d.units(decimals)?.checked_add(i64::from(self.closed)));
        (self.from.and_then(|d| d.units(decimals)), to)
    }
}

/// The atoms of a column.
struct Domain {
    first: u32,
    end: u32,
    texts: HashMap<String, u32>,
    /// Where numbers begin to be told apart, rising: the number and the first atom from there on.
    cuts: Vec<(i64, u32)>,
    decimals: u32,
    /// Whether they are days.
    dates: bool,
    /// The first atom past the numbers.
    numbers_end: u32,
}

impl Domain {
    fn new<'a>(
        parts: impl Iterator<Item = &'a Part>,
        more: Option<&'a [Cell]>,
        sets: &mut Sets,
    ) -> Domain {
        let first = sets.atoms.len() as u32;
        let mut texts: BTreeSet<&str> = BTreeSet::new();
        let mut ranges: Vec<Range> = Vec::new();
        let (mut column, mut decimals) = (0, 0);
        let mut cells: Vec<&Cell> = Vec::new();
        for part in parts {
            column = part.column;
            cells.extend(&part.cells);
        }
        cells.extend(more.unwrap_or(&[]));
        let dates = cells.iter().any(|cell| matches!(cell, Cell::Days(..)));
        for cell in cells {
            match cell {
                Cell::Value(text) => drop(texts.insert(text)),
                Cell::Among(all) => texts.extend(all.iter().map(String::as_str)),
                _ => ranges.extend(Range::of(cell, dates)),
            }
        }
        let place = |text: &str| match dates {
            true => parse_date(text).map(|day| Decimal { mantissa: day, decimals: 0 }),
            false => Decimal::parse(text),
        };
        let parsed: Vec<(&str, Option<Decimal>)> = texts.iter().map(|t| (*t, place(t))).collect();
        let mut cuts: BTreeSet<i64> = BTreeSet::new();
        let mut numeric: Vec<(i64, &str)> = Vec::new();
        if !ranges.is_empty() {
            let bounds = ranges.iter().flat_map(|range| [&range.from, &range.to]).flatten();
            let numbers = parsed.iter().filter_map(|(_, d)| d.as_ref());
            decimals = numbers.chain(bounds).map(|d| d.decimals).max().unwrap_or(0);
            for range in &ranges {
                let (from, below) = range.cuts(decimals);
                cuts.extend(from.into_iter().chain(below));
            }
            for (text, d) in &parsed {
                let Some(at) = d.and_then(|d| d.units(decimals)) else { continue };
                numeric.push((at, text));
                cuts.insert(at);
                cuts.extend(at.checked_add(1));
            }
            numeric.sort_unstable();
        }
        let mut domain = Domain {
            first,
            end: 0,
            texts: HashMap::new(),
            cuts: Vec::new(),
            decimals,
            dates,
            numbers_end: 0,
        };
        if !ranges.is_empty() {
            let lowest = cuts.first().copied().unwrap_or(0);
            let show = |cut: i64| match dates {
                true => iso_date(cut),
                false => Decimal::show(cut, decimals),
            };
            sets.atoms.push(match dates {
                true => format!("before {}", show(lowest)),
                false => format!("less than {}", show(lowest)),
            });
            let mut texts_at = numeric.iter().peekable();
            for (&cut, next) in cuts.iter().zip(cuts.iter().skip(1).map(Some).chain([None])) {
                domain.cuts.push((cut, sets.atoms.len() as u32));
                let mut named = false;
                while let Some((_, text)) = texts_at.next_if(|(at, _)| *at == cut) {
                    domain.push(column, text, sets);
                    named = true;
                }
                if !named {
                    let from = show(cut);
                    sets.atoms.push(match next {
                        Some(next) if *next == cut + 1 => from,
                        Some(next) if dates => {
                            format!("a date from {from} to before {}", show(*next))
                        }
                        Some(next) => format!("a number from {from} to below {}", show(*next)),
                        None if dates => format!("{from} or later"),
                        None => format!("{from} or more"),
                    });
                }
            }
        }
        domain.numbers_end = sets.atoms.len() as u32;
        for text in texts {
            if !domain.texts.contains_key(text) {
                domain.push(column, text, sets);
            }
        }
        sets.atoms.push("another value".into());
        domain.end = sets.atoms.len() as u32;
        domain
    }

    fn push(&mut self, column: usize, text: &str, sets: &mut Sets) {
        let atom = sets.atoms.len() as u32;
        sets.atoms.push(if text.is_empty() { "a missing value".into() } else { text.to_owned() });
        self.texts.insert(text.to_owned(), atom);
        sets.texts.insert((column, text.to_owned()), atom);
    }

    /// Which atoms are in one of these cells, out of so many.
    fn marked(&self, cells: &[Cell], atoms: usize) -> Vec<bool> {
        let mut marked = vec![false; atoms];
        for (first, last) in cells.iter().flat_map(|cell| self.ranges(cell)) {
            marked[first as usize..=last as usize].fill(true);
        }
        marked
    }

    /// The set of each cell of a part.
    fn sets(&self, part: &Part, sets: &mut Sets) -> Vec<u32> {
        let ranges: Vec<Vec<(u32, u32)>> =
            part.cells.iter().map(|cell| self.ranges(cell)).collect();
        let mut taken: Vec<(u32, u32)> = ranges.iter().flatten().copied().collect();
        taken.sort_unstable();
        let set = |(cell, ranges): (&Cell, Vec<(u32, u32)>)| match cell {
            Cell::Anything => ANY,
            Cell::Rest => sets.intern(self.without(&taken), !part.generalized),
            _ if ranges.is_empty() => ANY,
            _ => sets.intern(ranges, !part.generalized),
        };
        part.cells.iter().zip(ranges).map(set).collect()
    }

    /// The atoms that a cell says by itself.
    fn ranges(&self, cell: &Cell) -> Vec<(u32, u32)> {
        match cell {
            Cell::Anything | Cell::Rest => Vec::new(),
            Cell::Value(text) => {
                self.texts.get(text).map(|&atom| (atom, atom)).into_iter().collect()
            }
            Cell::Among(texts) => {
                let mut atoms: Vec<u32> =
                    texts.iter().filter_map(|t| self.texts.get(t)).copied().collect();
                atoms.sort_unstable();
                atoms.dedup();
                atoms.chunk_by(|a, b| a + 1 == *b).map(|run| (run[0], run[run.len() - 1])).collect()
            }
            Cell::Between(..) | Cell::Numbers(..) | Cell::Days(..) => {
                let Some(range) = Range::of(cell, self.dates) else { return Vec::new() };
                let (from, below) = range.cuts(self.decimals);
                let atom = |at: i64| {
                    self.cuts.binary_search_by_key(&at, |c| c.0).ok().map(|i| self.cuts[i].1)
                };
                let first = from.and_then(atom).unwrap_or(self.first);
                let after = below.and_then(atom).unwrap_or(self.numbers_end);
                if first < after { vec![(first, after - 1)] } else { Vec::new() }
            }
        }
    }

    /// The atoms that none of these ranges, which rise, has.
    fn without(&self, taken: &[(u32, u32)]) -> Vec<(u32, u32)> {
        let (mut at, mut left) = (self.first, Vec::new());
        for &(first, last) in taken {
            if at < first {
                left.push((at, first - 1));
            }
            at = at.max(last + 1);
        }
        if at < self.end {
            left.push((at, self.end - 1));
        }
        left
    }
}
