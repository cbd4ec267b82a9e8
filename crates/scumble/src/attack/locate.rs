//! Where the people of a register are in a release: which groups they may be in.
//!
//! By containment where a class shows a region, by equal values where every record shows its own,
//! by the nearest representative where a class shows one.

use crate::progress::Watch;
use crate::register::{Population, Register};
use crate::release::{Release, Shape};
use crate::scale::{Decimal, parse_date};
use crate::table::{Attribute, number_tuples_of};
use hashbrown::HashMap;
use rayon::prelude::*;

/// A group that a person may be in, and how many of its records may be hers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Candidate {
    /// Number of the group: the index of its class.
    pub group: u32,
    /// Records of the group that fit the person.
    pub records: u64,
}

/// Where everybody is in a release.
#[derive(Clone, Debug, Default)]
pub struct Whereabouts {
    /// Distinct sets of candidates, by rising group. The first is empty: people who fit nowhere.
    pub sets: Vec<Vec<Candidate>>,
    /// The set of each row of the register.
    pub set_of: Vec<u32>,
}

/// Classes, or people, between two questions whether to go on: some hundredths of a second.
const ASKED: u64 = 100;

/// Locates the people of a register in a release, by the quasi-identifiers that the register has.
/// Once cancelled, people are missing from what is returned.
pub fn locate(release: &Release, register: &Register, watch: &Watch<'_>) -> Whereabouts {
    let population = register.among(&release.quasi, None);
    let found: Vec<(u32, Candidate)> = match release.shape {
        Shape::Regions => by_containment(release, &population, watch),
        Shape::Groups => by_equal_values(release, &population),
        Shape::Representatives => by_distance(release, &population, register, watch),
    };
    let rows = register.columns.first().map_or(0, |c| c.codes.len());
    gather(found, &population, rows)
}

fn by_containment(
    release: &Release,
    population: &Population,
    watch: &Watch<'_>,
) -> Vec<(u32, Candidate)> {
    let of_class = |(group, class): (usize, &crate::class::EquivalenceClass)| {
        let candidate = Candidate { group: group as u32, records: class.count };
        let mut found = Vec::new();
        if !watch.work(1, ASKED) {
            return found;
        }
        population.entries_within(&class.region, |entries| {
            found.extend(entries.map(|e| (e as u32, candidate)))
        });
        found
    };
    release.classes.par_iter().enumerate().flat_map_iter(of_class).collect()
}

fn by_equal_values(release: &Release, population: &Population) -> Vec<(u32, Candidate)> {
    let (known, people, records) =
        (population.known(), population.entries(), &release.records_by_group);
    // People first, then records: equal tuples have equal numbers.
    let place = |column: usize, i: usize| match i.checked_sub(people) {
        None => population.places(i)[column]
            .min(2 * release.quasi[known[column]].taxonomy.leaves() as u32),
        Some(record) => 2 * records[record].codes[known[column]],
    };
    let sizes: Vec<u64> =
        known.iter().map(|&i| 2 * release.quasi[i].taxonomy.leaves() as u64 + 1).collect();
    let (number_of, firsts) = number_tuples_of(people + records.len(), &sizes, place);
    // Tuples of people are numbered first, in their order, because no two entries are equal.
    let of_record = |(record, &number): (usize, &u32)| {
        let r = &records[record];
        ((number as usize) < people)
            .then_some((number, Candidate { group: r.group, records: r.count }))
    };
    debug_assert!(firsts.iter().take(people).enumerate().all(|(i, &first)| first as usize == i));
    number_of[people..].iter().enumerate().filter_map(of_record).collect()
}

/// The coordinates of a column: the number that each text is, scaled, or which text it is.
enum Axis {
    Number(Vec<f64>),
    Word(Vec<u32>),
}

/// The representatives nearest to each person; several if they are equally near.
///
/// Numbers count by their difference in standard deviations of the register, words by 1 where they
/// differ.
fn by_distance(
    release: &Release,
    population: &Population,
    register: &Register,
    watch: &Watch<'_>,
) -> Vec<(u32, Candidate)> {
    let known = population.known();
    let rows: Vec<Option<usize>> = {
        let mut first = vec![None; population.entries()];
        let count = register.columns.first().map_or(0, |c| c.codes.len());
        for row in (0..count).rev() {
            population.entry_of(row).into_iter().for_each(|e| first[e] = Some(row));
        }
        first
    };
    let axes: Vec<(Axis, Axis)> =
        known.iter().map(|&i| axis(release, i, &release.quasi[i], register, &rows)).collect();
    let distance = |entry: usize, class: usize| -> f64 {
        let part = |(people, classes): &(Axis, Axis)| match (people, classes) {
            (Axis::Number(p), Axis::Number(c)) => (p[entry] - c[class]).powi(2),
            (Axis::Word(p), Axis::Word(c)) => f64::from(u8::from(p[entry] != c[class])),
            _ => 1.0,
        };
        axes.iter().map(part).sum()
    };
    let of_entry = |entry: usize| {
        let mut nearest: (f64, Vec<u32>) = (f64::INFINITY, Vec::new());
        let classes = if watch.work(1, ASKED) { release.classes.len() } else { 0 };
        for class in 0..classes {
            let d = distance(entry, class);
            if d < nearest.0 {
                nearest = (d, vec![class as u32]);
            } else if d == nearest.0 {
                nearest.1.push(class as u32);
            }
        }
        let candidate =
            |group: u32| Candidate { group, records: release.classes[group as usize].count };
        nearest.1.into_iter().map(move |g| (entry as u32, candidate(g)))
    };
    (0..population.entries()).into_par_iter().flat_map_iter(of_entry).collect()
}

/// The coordinates of entries and classes on an attribute.
fn axis(
    release: &Release,
    at: usize,
    attribute: &Attribute,
    register: &Register,
    rows: &[Option<usize>],
) -> (Axis, Axis) {
    let column = register.columns.iter().find(|c| c.name == attribute.name);
    let person = |row: &Option<usize>| {
        row.zip(column).map_or(String::new(), |(row, c)| c.texts[c.codes[row] as usize].clone())
    };
    let people: Vec<String> = rows.iter().map(person).collect();
    let classes: Vec<String> = release
        .classes
        .iter()
        .map(|c| attribute.taxonomy.label(c.region[at]).into_owned())
        .collect();
    let number =
        |texts: &[String]| -> Option<Vec<f64>> { texts.iter().map(|t| number(t)).collect() };
    if let (Some(mut p), Some(mut c)) = (number(&people), number(&classes)) {
        let mean = p.iter().sum::<f64>() / p.len().max(1) as f64;
        let variance = p.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / p.len().max(1) as f64;
        let scale = if variance > 0.0 { variance.sqrt().recip() } else { 0.0 };
        p.iter_mut().chain(&mut c).for_each(|x| *x *= scale);
        return (Axis::Number(p), Axis::Number(c));
    }
    let mut words: HashMap<&str, u32> = HashMap::new();
    for text in people.iter().chain(&classes) {
        let next = words.len() as u32;
        words.entry(text).or_insert(next);
    }
    let codes = |texts: &[String]| texts.iter().map(|t| words[t.as_str()]).collect();
    (Axis::Word(codes(&people)), Axis::Word(codes(&classes)))
}

/// A number, or a date as a number of days.
fn number(text: &str) -> Option<f64> {
    let decimal = Decimal::parse(text).map(|d| d.mantissa as f64 / 10f64.powi(d.decimals as i32));
    decimal.or_else(|| parse_date(text).map(|day| day as f64))
}

/// From candidates of entries to sets of candidates of rows.
fn gather(mut found: Vec<(u32, Candidate)>, population: &Population, rows: usize) -> Whereabouts {
    found.par_sort_unstable();
    let mut of_entry = vec![0u32; population.entries()];
    let mut sets: Vec<Vec<Candidate>> = vec![Vec::new()];
    let mut number: HashMap<Vec<Candidate>, u32> = HashMap::new();
    for chunk in found.chunk_by(|a, b| a.0 == b.0) {
        let mut set: Vec<Candidate> = chunk.iter().map(|&(_, c)| c).collect();
        // Several records of one group count together.
        set.dedup_by(|next, kept| {
            let same = next.group == kept.group;
            if same {
                kept.records += next.records;
            }
            same
        });
        of_entry[chunk[0].0 as usize] = *number.entry(set).or_insert_with_key(|set| {
            sets.push(set.clone());
            sets.len() as u32 - 1
        });
    }
    let set_of: Vec<u32> =
        (0..rows).map(|row| population.entry_of(row).map_or(0, |e| of_entry[e])).collect();
    in_order(sets, set_of)
}

/// The same with the sets by what is in them, so that the order of the register's rows does not
/// matter.
fn in_order(mut sets: Vec<Vec<Candidate>>, mut set_of: Vec<u32>) -> Whereabouts {
    let mut order: Vec<u32> = (0..sets.len() as u32).collect();
    order.par_sort_unstable_by(|&a, &b| sets[a as usize].cmp(&sets[b as usize]));
    let mut number = vec![0u32; sets.len()];
    order.iter().zip(0..).for_each(|(&set, i)| number[set as usize] = i);
    set_of.par_iter_mut().for_each(|set| *set = number[*set as usize]);
    sets.par_sort_unstable();
    Whereabouts { sets, set_of }
}
