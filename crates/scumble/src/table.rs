//! The microdata as algorithms see it: columns of leaf codes, equal rows collapsed.
//!
//! Only quasi-identifiers and sensitive attributes are here. Identifiers are never encoded, and
//! insensitive columns pass through beside the table. Every algorithm works on distinct rows with
//! counts, which on real extracts are far fewer than the records.

use crate::class::{EquivalenceClass, Histogram, Run};
use crate::freeform::Values;
use crate::history::{History, PastGroup};
use crate::taxonomy::Taxonomy;
use hashbrown::HashTable;
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::hash::BuildHasher;
use std::sync::Arc;

/// What an attribute is to an adversary.
///
/// A role belongs to a column. Where single values of one column are observable or sensitive
/// (FF-anonymity), the column is `freeform`, and the distinction is made on the attribute's
/// taxonomy. In a [`Table`] it stands among the quasi-identifiers, because it is generalized as
/// they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Names a person; dropped from every release.
    Identifier,
    /// Known to an adversary who looks for a person; generalized.
    QuasiIdentifier,
    /// What an adversary wants to learn; published unchanged, protected by the models.
    Sensitive,
    /// Neither; passes through unchanged.
    Insensitive,
    /// Each of its values is observable or sensitive by itself, as a
    /// [`crate::freeform::Specification`] says; generalized.
    Freeform,
    /// How a person wants a sensitive attribute guarded: a node of its taxonomy. Counted for the
    /// models, not published.
    Guard,
}

impl Role {
    /// Every role with its name in a policy.
    pub const ALL: [(&'static str, Role); 6] = [
        ("identifier", Role::Identifier),
        ("quasi-identifier", Role::QuasiIdentifier),
        ("sensitive", Role::Sensitive),
        ("insensitive", Role::Insensitive),
        ("freeform", Role::Freeform),
        ("guard", Role::Guard),
    ];

    /// The name in a policy.
    pub fn name(self) -> &'static str {
        Role::ALL.iter().find(|(_, r)| *r == self).map_or("", |(name, _)| name)
    }

    /// Whether a release shows its values generalized.
    pub fn is_generalized(self) -> bool {
        matches!(self, Role::QuasiIdentifier | Role::Freeform)
    }
}

/// A column of a [`Table`]: its name and how its values generalize.
#[derive(Clone, Debug)]
pub struct Attribute {
    /// Name of the column.
    pub name: String,
    /// How its values may be generalized; leaf codes are the values.
    pub taxonomy: Arc<Taxonomy>,
    /// Weight in weighted loss (ILoss); 1 unless the policy says otherwise.
    pub weight: f64,
    /// Set for what stands among the sensitive attributes to be counted, and is not published.
    pub hidden: Option<Hidden>,
    /// How sensitive and observable its single values are, if that was said; otherwise all are
    /// observable and none is sensitive.
    pub freeform: Option<Arc<Values>>,
}

/// What is counted in every class for the models' sake and never published.
#[derive(Clone, Debug)]
pub enum Hidden {
    /// A column with the role `guard`.
    Guard,
    /// All published sensitive attributes together: for every leaf code of this attribute their
    /// codes.
    Joint(Arc<Vec<Box<[u32]>>>),
}

impl Attribute {
    /// A published attribute of weight 1.
    pub fn new(name: &str, taxonomy: Taxonomy) -> Attribute {
        Attribute {
            name: name.into(),
            taxonomy: Arc::new(taxonomy),
            weight: 1.0,
            hidden: None,
            freeform: None,
        }
    }

    /// The same for a release that shows all its values at one level.
    pub fn shown_at(&self, level: usize) -> Attribute {
        let taxonomy = Arc::new(self.taxonomy.shown_at(level));
        let freeform = self.freeform.as_ref().map(|values| Arc::new(values.shown_in(&taxonomy)));
        Attribute { taxonomy, freeform, ..self.clone() }
    }
}

/// Distinct rows of codes with counts.
#[derive(Clone, Debug)]
pub struct Table {
    /// The quasi-identifiers.
    pub quasi: Vec<Attribute>,
    /// The sensitive attributes; those that are published stand first.
    pub sensitive: Vec<Attribute>,
    /// One column of codes per quasi-identifier; none at all if an algorithm does without, and they
    /// are not here.
    pub quasi_codes: Vec<Vec<u32>>,
    /// One column of codes per sensitive attribute.
    pub sensitive_codes: Vec<Vec<u32>>,
    /// How many records each distinct row stands for.
    pub counts: Vec<u32>,
    /// What earlier releases said about these people, if there are any.
    pub past: Option<History>,
}

impl Table {
    /// Collapses records (columns of codes, one entry per record, quasi-identifiers first) to
    /// distinct rows. Also returns the distinct row of every record.
    pub fn collapse(
        quasi: Vec<Attribute>,
        sensitive: Vec<Attribute>,
        records: Vec<Vec<u32>>,
    ) -> (Table, Vec<u32>) {
        let sizes: Vec<u64> =
            quasi.iter().chain(&sensitive).map(|a| a.taxonomy.leaves() as u64).collect();
        Table::of_distinct(quasi, sensitive, records, &sizes)
    }

    /// The same for records that were counted before: each stands for so many, of which no distinct
    /// row may have 2³² or more.
    pub fn collapse_counted(
        quasi: Vec<Attribute>,
        sensitive: Vec<Attribute>,
        records: Vec<Vec<u32>>,
        weights: &[u64],
    ) -> Option<(Table, Vec<u32>)> {
        let (mut table, row_of) = Table::collapse(quasi, sensitive, records);
        let mut counts = vec![0u64; table.rows()];
        for (&row, &n) in row_of.iter().zip(weights) {
            counts[row as usize] += n;
        }
        table.counts = counts.into_iter().map(|n| u32::try_from(n).ok()).collect::<Option<_>>()?;
        Some((table, row_of))
    }

    /// The same for people of whom earlier releases spoke: `group_of` says for each record 0 for a
    /// newcomer, otherwise 1 + the index of the group where the person was last seen. Equal records
    /// with another past stay apart.
    pub fn collapse_with_past(
        quasi: Vec<Attribute>,
        sensitive: Vec<Attribute>,
        mut records: Vec<Vec<u32>>,
        groups: Vec<PastGroup>,
        group_of: Vec<u32>,
    ) -> (Table, Vec<u32>) {
        let leaves = quasi.iter().chain(&sensitive).map(|a| a.taxonomy.leaves() as u64);
        let sizes: Vec<u64> = leaves.chain([groups.len() as u64 + 1]).collect();
        records.push(group_of);
        let (mut table, row_of) = Table::of_distinct(quasi, sensitive, records, &sizes);
        table.past = table.sensitive_codes.pop().map(|of_row| History { groups, of_row });
        (table, row_of)
    }

    /// Collapses the columns, of which there may be one more than attributes: it stays among the
    /// sensitive ones.
    fn of_distinct(
        quasi: Vec<Attribute>,
        sensitive: Vec<Attribute>,
        records: Vec<Vec<u32>>,
        sizes: &[u64],
    ) -> (Table, Vec<u32>) {
        let (row_of, firsts) =
            number_tuples(&records.iter().map(Vec::as_slice).collect::<Vec<_>>(), sizes);
        let mut counts = vec![0u32; firsts.len()];
        for &row in &row_of {
            counts[row as usize] += 1;
        }
        let mut columns = records
            .into_iter()
            .map(|codes| firsts.iter().map(|&r| codes[r as usize]).collect::<Vec<u32>>());
        let quasi_codes = columns.by_ref().take(quasi.len()).collect();
        let sensitive_codes = columns.collect();
        (Table { quasi, sensitive, quasi_codes, sensitive_codes, counts, past: None }, row_of)
    }

    /// The sensitive attributes that are published.
    pub fn published_sensitive(&self) -> &[Attribute] {
        published(&self.sensitive)
    }

    /// Adds all published sensitive attributes together as a hidden one, for models that look at
    /// them at once. Where none is published, every row has the same empty combination.
    pub fn join_sensitive(&mut self) {
        let attributes = self.published_sensitive();
        let nothing = vec![0; self.rows()];
        let columns: Vec<&[u32]> =
            self.sensitive_codes[..attributes.len()].iter().map(Vec::as_slice).collect();
        let (attribute, codes) = join(attributes, &columns);
        let codes = if columns.is_empty() { nothing } else { codes };
        self.sensitive.push(attribute);
        self.sensitive_codes.push(codes);
    }

    /// Number of records.
    pub fn records(&self) -> u64 {
        self.counts.iter().map(|&c| u64::from(c)).sum()
    }

    /// Number of distinct rows.
    pub fn rows(&self) -> usize {
        self.counts.len()
    }

    /// The distribution of each sensitive attribute over the whole table.
    pub fn distributions(&self) -> Vec<Distribution> {
        self.sensitive
            .iter()
            .zip(&self.sensitive_codes)
            .map(|(attribute, codes)| {
                let mut counts = vec![0u64; attribute.taxonomy.leaves()];
                for (&code, &n) in codes.iter().zip(&self.counts) {
                    counts[code as usize] += u64::from(n);
                }
                Distribution::new(attribute.taxonomy.clone(), counts)
            })
            .collect()
    }

    /// The most general region: every quasi-identifier at its root.
    pub fn top(&self) -> Vec<Run> {
        self.quasi.iter().map(|a| a.taxonomy.root()).collect()
    }
}

/// Those of the sensitive attributes that are published; they stand first.
pub fn published(sensitive: &[Attribute]) -> &[Attribute] {
    &sensitive[..sensitive.iter().take_while(|a| a.hidden.is_none()).count()]
}

/// Several columns as one hidden attribute: a leaf for every combination that occurs, by rising
/// codes.
pub fn join(attributes: &[Attribute], columns: &[&[u32]]) -> (Attribute, Vec<u32>) {
    let sizes: Vec<u64> = attributes.iter().map(|a| a.taxonomy.leaves() as u64).collect();
    let (number_of, firsts) = number_tuples(columns, &sizes);
    let tuple = |&first: &u32| columns.iter().map(|c| c[first as usize]).collect::<Box<[u32]>>();
    let mut tuples: Vec<(Box<[u32]>, usize)> = firsts.iter().map(tuple).zip(0..).collect();
    tuples.sort_unstable();
    let mut code_of = vec![0; tuples.len()];
    (0u32..).zip(&tuples).for_each(|(code, &(_, number))| code_of[number] = code);
    let codes = number_of.into_iter().map(|number| code_of[number as usize]).collect();
    let tuples: Vec<Box<[u32]>> = tuples.into_iter().map(|(tuple, _)| tuple).collect();
    let name = attributes.iter().map(|a| a.name.as_str()).collect::<Vec<_>>().join(" × ");
    // A table without records still has a leaf.
    let taxonomy =
        Taxonomy::unpublished((1..=tuples.len().max(1)).map(|i| i.to_string()).collect());
    (
        Attribute {
            hidden: Some(Hidden::Joint(Arc::new(tuples))),
            ..Attribute::new(&name, taxonomy)
        },
        codes,
    )
}

/// The distribution of a sensitive attribute over the whole table, as the recipient can compute it.
#[derive(Clone, Debug)]
pub struct Distribution {
    /// The attribute's taxonomy, for hierarchical distance.
    pub taxonomy: Arc<Taxonomy>,
    /// Count of each leaf code.
    pub counts: Vec<u64>,
    /// Number of records.
    pub total: u64,
    /// The codes that occur, rising.
    pub occurring: Vec<u32>,
}

impl Distribution {
    /// From the count of every leaf code.
    pub fn new(taxonomy: Arc<Taxonomy>, counts: Vec<u64>) -> Distribution {
        let total = counts.iter().sum();
        let occurring = (0..counts.len() as u32).filter(|&c| counts[c as usize] > 0).collect();
        Distribution { taxonomy, counts, total, occurring }
    }

    /// The same as a histogram.
    pub fn histogram(&self) -> Histogram {
        Histogram(self.occurring.iter().map(|&c| (c, self.counts[c as usize])).collect())
    }
}

/// A class while records come and go: counts per value of each sensitive attribute.
pub struct Tally<'a> {
    table: &'a Table,
    /// Number of records in it.
    pub count: u64,
    counts: Vec<Vec<u64>>,
}

impl<'a> Tally<'a> {
    /// Of nobody.
    pub fn new(table: &'a Table) -> Tally<'a> {
        Tally {
            table,
            count: 0,
            counts: table.sensitive.iter().map(|a| vec![0; a.taxonomy.leaves()]).collect(),
        }
    }

    /// Takes in so many records of a row.
    pub fn add(&mut self, row: u32, n: u64) {
        self.count += n;
        for (counts, codes) in self.counts.iter_mut().zip(&self.table.sensitive_codes) {
            counts[codes[row as usize] as usize] += n;
        }
    }

    /// Lets so many records of a row go.
    pub fn remove(&mut self, row: u32, n: u64) {
        self.count -= n;
        for (counts, codes) in self.counts.iter_mut().zip(&self.table.sensitive_codes) {
            counts[codes[row as usize] as usize] -= n;
        }
    }

    /// What it is now.
    pub fn class(&self, region: Vec<Run>) -> EquivalenceClass {
        let histograms = self.counts.iter().map(|c| Histogram::dense(c)).collect();
        EquivalenceClass { region, count: self.count, histograms }
    }
}

/// Numbers the distinct tuples of the columns in order of first appearance. Returns the number of
/// each record's tuple and, for each tuple, the first record that has it. `sizes` bounds the codes
/// of each column.
pub fn number_tuples(columns: &[&[u32]], sizes: &[u64]) -> (Vec<u32>, Vec<u32>) {
    number_tuples_of(columns.first().map_or(0, |c| c.len()), sizes, |column, record| {
        columns[column][record]
    })
}

/// The same for columns that are given by a function of column and record. Without a column all
/// tuples are alike.
///
/// As many columns as fit are packed into one 64-bit key by mixed radix, which is exact; when the
/// next one does not fit, the keys so far are numbered and their numbers, being small, start the
/// next key.
pub fn number_tuples_of(
    records: usize,
    sizes: &[u64],
    code: impl Fn(usize, usize) -> u32,
) -> (Vec<u32>, Vec<u32>) {
    let mut keys = vec![0u64; records];
    let mut room = 1u64;
    for (column, &size) in sizes.iter().enumerate() {
        let size = size.max(1);
        room = match room.checked_mul(size) {
            Some(room) => room,
            None => {
                let (numbers, firsts) = number_keys(&keys, room);
                keys = numbers.into_iter().map(u64::from).collect();
                firsts.len() as u64 * size
            }
        };
        for (record, key) in keys.iter_mut().enumerate() {
            *key = *key * size + u64::from(code(column, record));
        }
    }
    number_keys(&keys, room)
}

/// Stretches of at least this many keys are worth a thread of their own.
const STRETCH: usize = 1 << 16;

/// Numbers distinct keys, all below `room`, in order of first appearance: stretches by themselves,
/// on all cores, then joined in order. Few possible keys are looked up in an array.
fn number_keys(keys: &[u64], room: u64) -> (Vec<u32>, Vec<u32>) {
    if room <= 4 * keys.len() as u64 && keys.len() < STRETCH {
        return number_small(keys, room as usize);
    }
    let length = keys.len().div_ceil(rayon::current_num_threads().max(1)).max(STRETCH);
    let parts: Vec<(Vec<u32>, Vec<u32>)> = keys.par_chunks(length).map(number_stretch).collect();
    let mut parts = parts.into_iter();
    let Some((mut numbers, mut firsts)) = parts.next() else { return (Vec::new(), Vec::new()) };
    numbers.reserve_exact(keys.len() - numbers.len());
    let mut known = Numbers::default();
    if numbers.len() < keys.len() {
        for &first in &firsts {
            known.number(keys[first as usize]);
        }
    }
    for (part, new) in parts {
        let start = numbers.len() as u32;
        let number_of: Vec<u32> = new
            .iter()
            .map(|&first| {
                let (number, is_new) = known.number(keys[(start + first) as usize]);
                if is_new {
                    firsts.push(start + first);
                }
                number
            })
            .collect();
        numbers.extend(part.iter().map(|&n| number_of[n as usize]));
    }
    (numbers, firsts)
}

fn number_small(keys: &[u64], room: usize) -> (Vec<u32>, Vec<u32>) {
    let (mut known, mut firsts) = (vec![u32::MAX; room], Vec::new());
    let number = |(i, &key): (usize, &u64)| {
        let number = &mut known[key as usize];
        if *number == u32::MAX {
            *number = firsts.len() as u32;
            firsts.push(i as u32);
        }
        *number
    };
    let numbers = keys.iter().enumerate().map(number).collect();
    (numbers, firsts)
}

fn number_stretch(keys: &[u64]) -> (Vec<u32>, Vec<u32>) {
    let (mut known, mut firsts) = (Numbers::default(), Vec::new());
    // Equal records often stand together, always in a release.
    let mut last = (keys.first().map_or(0, |key| !key), 0);
    let number = |(i, &key): (usize, &u64)| {
        if key != last.0 {
            let (number, is_new) = known.number(key);
            if is_new {
                firsts.push(i as u32);
            }
            last = (key, number);
        }
        last.1
    };
    let numbers = keys.iter().enumerate().map(number).collect();
    (numbers, firsts)
}

/// Keys with their numbers. The key is stored beside its number, so that a probe touches one place
/// in memory.
#[derive(Default)]
struct Numbers(HashTable<(u64, u32)>);

impl Numbers {
    /// The number of a key, and whether it is a new one.
    fn number(&mut self, key: u64) -> (u32, bool) {
        let hash = |key: u64| foldhash::fast::FixedState::with_seed(0x5c).hash_one(key);
        let next = self.0.len() as u32;
        let entry = self.0.entry(hash(key), |&(k, _)| k == key, |&(k, _)| hash(k));
        let number = entry.or_insert((key, next)).get().1;
        (number, number == next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Equal tuples get equal numbers and others do not, whatever the bounds (small ones pack,
        /// huge ones renumber).
        #[test]
        fn tuples_are_numbered_exactly(rows in prop::collection::vec(prop::array::uniform4(0u32..4), 0..60), bits in 3u32..40) {
            let columns: Vec<Vec<u32>> = (0..4).map(|c| rows.iter().map(|r| r[c]).collect()).collect();
            let columns: Vec<&[u32]> = columns.iter().map(Vec::as_slice).collect();
            let (numbers, firsts) = number_tuples(&columns, &[1u64 << bits; 4]);
            for (i, a) in rows.iter().enumerate() {
                prop_assert_eq!(rows[firsts[numbers[i] as usize] as usize], *a);
                for (j, b) in rows.iter().enumerate() {
                    prop_assert_eq!(a == b, numbers[i] == numbers[j]);
                }
            }
        }
    }
}
