//! A register of people beside the release: voters, members, patients of the region.
//!
//! Models and risks that ask "how many people could this be" count the people of a register who fit
//! a region. A register is kept as it was read; [`Register::among`] places its people among the
//! attributes of a release.

use crate::catalogue::did_you_mean;
use crate::class::Run;
use crate::failure::Failure;
use crate::query::{Condition, End, Query, Test};
use crate::scale::{Decimal, Scale, parse_date};
use crate::table::{Attribute, number_tuples};
use crate::taxonomy::Taxonomy;
use hashbrown::HashMap;
use std::cmp::Ordering;

/// A table of people as texts: a dictionary and a number per person for each column.
#[derive(Clone, Debug, Default)]
pub struct Register {
    /// Its columns.
    pub columns: Vec<RegisterColumn>,
    /// How many people each row stands for; 1 each if empty.
    pub weights: Vec<u64>,
}

/// A column of a register.
#[derive(Clone, Debug)]
pub struct RegisterColumn {
    /// Name, as the attribute is called.
    pub name: String,
    /// Distinct texts; the missing value is empty.
    pub texts: Vec<String>,
    /// Which text each person has.
    pub codes: Vec<u32>,
}

fn admits(condition: &Condition, text: &str) -> bool {
    let beyond = |end: &Option<End>, inside: Ordering| {
        end.as_ref().is_none_or(|end| match compare(text, &end.value) {
            Some(Ordering::Equal) => end.included,
            order => order == Some(inside),
        })
    };
    match &condition.test {
        Test::In(values) => {
            values.iter().any(|v| v == text || compare(text, v) == Some(Ordering::Equal))
        }
        Test::Range(low, high) => beyond(low, Ordering::Greater) && beyond(high, Ordering::Less),
    }
}

/// Compares two numbers or two dates; nothing else has an order.
fn compare(a: &str, b: &str) -> Option<Ordering> {
    if let (Some(a), Some(b)) = (Decimal::parse(a), Decimal::parse(b)) {
        let decimals = a.decimals.max(b.decimals);
        return Some(a.units(decimals)?.cmp(&b.units(decimals)?));
    }
    Some(parse_date(a)?.cmp(&parse_date(b)?))
}

/// Where a person stands on an attribute: twice the leaf code, or the odd number between two
/// neighbouring leaves of a number or date scale, because a range contains people whom the
/// release's own values do not name.
type Place = u32;

/// The place of a person whose value the taxonomy does not know: within the root, and nowhere else.
const OUTSIDE: Place = Place::MAX;

/// The people of a register among the attributes of a release, ready to be counted.
#[derive(Clone, Debug)]
pub struct Population {
    /// What shows everything, by attribute: also people outside the taxonomy are in it.
    roots: Vec<Option<Run>>,
    /// Which quasi-identifiers the register knows.
    known: Vec<usize>,
    /// People with equal places, one entry each: their places by known attribute, one after
    /// another.
    places: Vec<Place>,
    /// How many people, and in all entries before.
    weights: Vec<u64>,
    /// Code of the sensitive attribute of each entry, if the register tells it; past the leaves for
    /// other values.
    sensitive: Option<Vec<u32>>,
    /// The entry of each row of the register; [`NOBODY`] for rows that were left out.
    entry_of: Vec<u32>,
    tree: Vec<Node>,
}

/// The entry of a row that stands for nobody.
const NOBODY: u32 = u32::MAX;

/// Entries `first..end` lie between `low` and `high`. Children of node i are 2i + 1 and 2i + 2.
#[derive(Clone, Debug)]
struct Node {
    first: u32,
    end: u32,
    low: Box<[Place]>,
    high: Box<[Place]>,
    weight: u64,
}

/// Nodes of at most so many entries are not divided.
const BUCKET: usize = 16;

/// A column of this name says how many people a row of a register stands for; shares scaled to
/// whole numbers will do.
pub const PEOPLE: &str = "people";

impl Register {
    /// A register of these columns. One called `people` counts the people of each row.
    pub fn new(mut columns: Vec<RegisterColumn>) -> Result<Register, Failure> {
        let mut weights = Vec::new();
        if let Some(at) = columns.iter().position(|c| c.name == PEOPLE) {
            let column = columns.remove(at);
            let numbers: Option<Vec<u64>> = column.texts.iter().map(|t| t.parse().ok()).collect();
            let numbers = numbers.ok_or_else(|| {
                Failure::data(
                    "wrong-register",
                    format!("column `{PEOPLE}` of the register must hold whole numbers"),
                )
                .hint("it says how many people a row stands for; scale shares to whole numbers")
            })?;
            weights = column.codes.iter().map(|&code| numbers[code as usize]).collect();
        }
        Ok(Register { columns, weights })
    }

    /// Number of people.
    pub fn people(&self) -> u64 {
        let rows = self.columns.first().map_or(0, |c| c.codes.len()) as u64;
        if self.weights.is_empty() { rows } else { self.weights.iter().sum() }
    }

    /// How many people a row stands for.
    pub fn people_of(&self, row: usize) -> u64 {
        self.weights.get(row).copied().unwrap_or(1)
    }

    /// Which rows meet the conditions of a query. Texts that are both numbers, or both dates, are
    /// compared as such.
    pub fn meeting(&self, query: &Query) -> Result<Vec<bool>, Failure> {
        let mut rows = vec![true; self.columns.first().map_or(0, |c| c.codes.len())];
        for condition in &query.conditions {
            let column =
                self.columns.iter().find(|c| c.name == condition.attribute).ok_or_else(|| {
                    Failure::usage(
                        "no-such-column",
                        format!("the register has no column `{}`", condition.attribute),
                    )
                    .hint(did_you_mean(
                        &condition.attribute,
                        self.columns.iter().map(|c| c.name.as_str()),
                    ))
                })?;
            let admitted: Vec<bool> =
                column.texts.iter().map(|text| admits(condition, text)).collect();
            rows.iter_mut()
                .zip(&column.codes)
                .for_each(|(row, &code)| *row &= admitted[code as usize]);
        }
        Ok(rows)
    }

    /// Places the people among quasi-identifiers and, if given, a sensitive attribute. Columns that
    /// the register lacks tell nothing. Sensitive values that the attribute does not have get codes
    /// past its leaves, one for each value: what a register believes must not depend on which
    /// values happen to occur in the release.
    pub fn among(&self, quasi: &[Attribute], sensitive: Option<&Attribute>) -> Population {
        let column = |name: &str| self.columns.iter().find(|c| c.name == name);
        let known: Vec<usize> =
            (0..quasi.len()).filter(|&i| column(&quasi[i].name).is_some()).collect();
        let mut columns: Vec<Vec<u32>> = Vec::new();
        let mut sizes = Vec::new();
        for &i in &known {
            let (Some(c), taxonomy) = (column(&quasi[i].name), &quasi[i].taxonomy) else {
                continue;
            };
            let place: Vec<Place> = c.texts.iter().map(|t| place(taxonomy, t)).collect();
            // OUTSIDE as the number past the last keeps the keys small.
            let last = 2 * taxonomy.leaves() as u32;
            columns.push(c.codes.iter().map(|&code| place[code as usize].min(last)).collect());
            sizes.push(u64::from(last) + 1);
        }
        let told = sensitive.and_then(|a| Some((a, column(&a.name)?)));
        if let Some((a, c)) = told {
            let values = sensitive_codes(&a.taxonomy, &c.texts);
            columns.push(c.codes.iter().map(|&code| values[code as usize]).collect());
            sizes.push((a.taxonomy.leaves() + c.texts.len()) as u64);
        }
        let slices: Vec<&[u32]> = columns.iter().map(Vec::as_slice).collect();
        let (entry_of, firsts) = number_tuples(&slices, &sizes);
        let mut weights = vec![0u64; firsts.len()];
        for (person, &entry) in entry_of.iter().enumerate() {
            weights[entry as usize] += self.people_of(person);
        }
        let told = told.is_some();
        let mut entries: Vec<Entry> = firsts
            .iter()
            .zip(weights)
            .zip(0..)
            .map(|((&first, weight), number)| Entry {
                number,
                places: (0..known.len()).map(|i| columns[i][first as usize]).collect(),
                sensitive: if told { columns[known.len()][first as usize] } else { 0 },
                weight,
            })
            .filter(|e| e.weight > 0)
            .collect();
        for e in &mut entries {
            for (place, &i) in e.places.iter_mut().zip(&known) {
                if *place == 2 * quasi[i].taxonomy.leaves() as u32 {
                    *place = OUTSIDE;
                }
            }
        }
        Population::new(
            quasi.iter().map(|a| a.taxonomy.everything()).collect(),
            known,
            entries,
            told,
            entry_of,
        )
    }
}

/// The code of each sensitive value of a register: its leaf, or a code past the leaves if the
/// taxonomy does not have it. Numbers and dates that are written differently are one value there
/// too.
fn sensitive_codes(taxonomy: &Taxonomy, texts: &[String]) -> Vec<u32> {
    let mut others: HashMap<Value<'_>, u32> = HashMap::new();
    let mut codes = Vec::with_capacity(texts.len());
    for text in texts {
        let next = (taxonomy.leaves() + others.len()) as u32;
        codes.push(
            taxonomy
                .find(text)
                .unwrap_or_else(|| *others.entry(Value::of(taxonomy, text)).or_insert(next)),
        );
    }
    codes
}

/// A value that is no leaf, however it is written.
#[derive(PartialEq, Eq, Hash)]
enum Value<'a> {
    Number(i64, u32),
    Day(i64),
    Text(&'a str),
}

impl Value<'_> {
    fn of<'a>(taxonomy: &Taxonomy, text: &'a str) -> Value<'a> {
        let found = match taxonomy.scale() {
            Scale::Number(_) => Decimal::parse(text)
                .map(|d| Value::Number(d.reduced().mantissa, d.reduced().decimals)),
            Scale::Date(_) => parse_date(text).map(Value::Day),
            _ => None,
        };
        found.unwrap_or(Value::Text(text))
    }
}

/// Where a text stands on an attribute.
pub(crate) fn place(taxonomy: &Taxonomy, text: &str) -> Place {
    match taxonomy.find(text).or_else(|| taxonomy.stands_at(text)) {
        Some(leaf) => 2 * leaf,
        None => taxonomy.leaf_below(text).map_or(OUTSIDE, |leaf| 2 * leaf + 1),
    }
}

/// Equal people while the tree is built.
struct Entry {
    /// Number of the distinct tuple.
    number: u32,
    places: Box<[Place]>,
    sensitive: u32,
    weight: u64,
}

impl Population {
    fn new(
        roots: Vec<Option<Run>>,
        known: Vec<usize>,
        mut entries: Vec<Entry>,
        told: bool,
        mut entry_of: Vec<u32>,
    ) -> Population {
        let mut tree = Vec::new();
        // In an order that does not depend on that of the rows.
        entries.sort_unstable_by(|a, b| (&a.places, a.sensitive).cmp(&(&b.places, b.sensitive)));
        if !entries.is_empty() {
            grow(&mut entries, 0, 0, &mut tree);
        }
        // The tree has put the entries in another order.
        let tuples = entry_of.iter().max().map_or(0, |&most| most as usize + 1);
        let mut place = vec![NOBODY; tuples];
        entries.iter().zip(0..).for_each(|(e, i)| place[e.number as usize] = i);
        entry_of.iter_mut().for_each(|e| *e = place[*e as usize]);
        let places = entries.iter().flat_map(|e| e.places.iter().copied()).collect();
        let sensitive = told.then(|| entries.iter().map(|e| e.sensitive).collect());
        let weights = entries.iter().map(|e| e.weight).collect();
        let empty =
            || Node { first: 0, end: 0, low: Box::default(), high: Box::default(), weight: 0 };
        let tree = tree.into_iter().map(|node| node.unwrap_or_else(empty)).collect();
        Population { roots, known, places, weights, sensitive, entry_of, tree }
    }

    /// Whether the register told the sensitive attribute.
    pub fn tells_sensitive(&self) -> bool {
        self.sensitive.is_some()
    }

    /// Number of people in all.
    pub fn total(&self) -> u64 {
        self.tree.first().map_or(0, |root| root.weight)
    }

    /// The quasi-identifiers that the register knows.
    pub fn known(&self) -> &[usize] {
        &self.known
    }

    /// How many people fit the region.
    pub fn fitting(&self, region: &[Run]) -> u64 {
        let mut people = 0;
        self.search(region, 0, &mut |node, entry| {
            people += entry.map_or(node.weight, |i| self.weights[i])
        });
        people
    }

    /// How many people fit none of the regions.
    pub fn outside<'r>(&self, regions: impl IntoIterator<Item = &'r [Run]>) -> u64 {
        let mut inside = vec![false; self.weights.len()];
        for region in regions {
            self.search(region, 0, &mut |node, entry| {
                let entries = entry.map_or(node.first as usize..node.end as usize, |i| i..i + 1);
                inside[entries].fill(true);
            });
        }
        self.weights
            .iter()
            .zip(inside)
            .filter(|(_, inside)| !inside)
            .map(|(people, _)| people)
            .sum()
    }

    /// The entry of each row of the register: rows with equal places share one. `None` for rows
    /// that were left out.
    pub fn entry_of(&self, row: usize) -> Option<usize> {
        self.entry_of.get(row).filter(|&&e| e != NOBODY).map(|&e| e as usize)
    }

    /// Number of entries.
    pub fn entries(&self) -> usize {
        self.weights.len()
    }

    /// Where the people of an entry stand: on each known attribute twice the leaf code, or odd
    /// between two leaves.
    pub fn places(&self, entry: usize) -> &[u32] {
        &self.places[entry * self.known.len()..(entry + 1) * self.known.len()]
    }

    /// The entries that fit the region, as ranges.
    pub fn entries_within(&self, region: &[Run], mut found: impl FnMut(std::ops::Range<usize>)) {
        self.search(region, 0, &mut |node, entry| {
            found(entry.map_or(node.first as usize..node.end as usize, |i| i..i + 1));
        });
    }

    /// Calls `visit(places, sensitive code, people)` for the people who fit the region, equal ones
    /// at once.
    pub fn visit(&self, region: &[Run], mut visit: impl FnMut(&[u32], u32, u64)) {
        let width = self.known.len();
        self.search(region, 0, &mut |node, entry| {
            let entries = entry.map_or(node.first as usize..node.end as usize, |i| i..i + 1);
            for i in entries {
                let sensitive = self.sensitive.as_ref().map_or(0, |s| s[i]);
                visit(&self.places[i * width..(i + 1) * width], sensitive, self.weights[i]);
            }
        });
    }

    /// Calls `found` for every node that lies within the region, and every single entry of those
    /// that do in part.
    fn search(&self, region: &[Run], at: usize, found: &mut impl FnMut(&Node, Option<usize>)) {
        let Some(node) = self.tree.get(at).filter(|n| n.first < n.end) else { return };
        let dims = || self.known.iter().enumerate();
        let (low, high) = (|d: usize| node.low[d], |d: usize| node.high[d]);
        if dims().all(|(d, &i)| self.fits(i, region[i], low(d)) && self.fits(i, region[i], high(d)))
        {
            return found(node, None);
        }
        if dims().any(|(d, &i)| {
            !self.is_root(i, region[i])
                && (high(d) < 2 * region[i].first || low(d) > 2 * region[i].last)
        }) {
            return;
        }
        if (node.end - node.first) as usize <= BUCKET {
            let width = self.known.len();
            for entry in node.first as usize..node.end as usize {
                let places = &self.places[entry * width..(entry + 1) * width];
                if dims().all(|(d, &i)| self.fits(i, region[i], places[d])) {
                    found(node, Some(entry));
                }
            }
            return;
        }
        self.search(region, 2 * at + 1, found);
        self.search(region, 2 * at + 2, found);
    }

    fn is_root(&self, attribute: usize, run: Run) -> bool {
        Some(run) == self.roots[attribute]
    }

    fn fits(&self, attribute: usize, run: Run, place: Place) -> bool {
        self.is_root(attribute, run) || (2 * run.first <= place && place <= 2 * run.last)
    }
}

/// Divides the entries at the median of the widest dimension, again and again.
fn grow(entries: &mut [Entry], start: u32, at: usize, tree: &mut Vec<Option<Node>>) {
    let dims = entries[0].places.len();
    let bound = |d: usize, pick: fn(Place, Place) -> Place| {
        entries.iter().map(|e| e.places[d]).reduce(pick).unwrap_or_default()
    };
    let low: Box<[Place]> = (0..dims).map(|d| bound(d, Place::min)).collect();
    let high: Box<[Place]> = (0..dims).map(|d| bound(d, Place::max)).collect();
    let weight = entries.iter().map(|e| e.weight).sum();
    let widest = (0..dims).max_by_key(|&d| (high[d] - low[d], std::cmp::Reverse(d)));
    if tree.len() <= at {
        tree.resize_with(at + 1, || None);
    }
    tree[at] = Some(Node { first: start, end: start + entries.len() as u32, low, high, weight });
    if let Some(d) = widest.filter(|_| entries.len() > BUCKET) {
        let middle = entries.len() / 2;
        entries.select_nth_unstable_by(middle, |a, b| {
            (a.places[d], &a.places, a.sensitive).cmp(&(b.places[d], &b.places, b.sensitive))
        });
        let (left, right) = entries.split_at_mut(middle);
        grow(left, start, 2 * at + 1, tree);
        grow(right, start + middle as u32, 2 * at + 2, tree);
    }
}
