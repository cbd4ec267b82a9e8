//! What was made ([`Form`], the publisher's side) and what is given ([`Release`], the recipient's).
//!
//! A form knows which records are in which class. A release is made from it by dropping the
//! members, and there is no way back: attacks and judges take releases.

use crate::class::{EquivalenceClass, Histogram, Run};
use crate::table::{Attribute, Distribution, Hidden, Table, number_tuples};
use hashbrown::HashMap;
use rayon::prelude::*;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The ways to publish a table.
#[derive(Clone, Debug)]
pub enum Form {
    /// Every class shows one value per quasi-identifier, the same for all its records.
    Generalized(Generalized),
    /// Quasi-identifiers as they are, in one table; sensitive values per group of records, in
    /// another.
    Anatomized(Anatomized),
}

impl Form {
    /// Records left out of the release.
    pub fn suppressed(&self) -> &[Member] {
        match self {
            Form::Generalized(form) => &form.suppressed,
            Form::Anatomized(form) => &form.suppressed,
        }
    }

    /// What the algorithm has to say about what it made.
    pub fn notes(&self) -> &[String] {
        match self {
            Form::Generalized(form) => &form.notes,
            Form::Anatomized(form) => &form.notes,
        }
    }
}

/// What the published quasi-identifiers of a class tell about its records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A region that contains the values of every record.
    Regions,
    /// One value that stands for those of the records, and need not be any of them: a centroid, a
    /// noisy value.
    Representatives,
    /// Every record's own values, with the number of its group.
    Groups,
}

/// Groups of records whose sensitive values are published by group.
#[derive(Clone, Debug)]
pub struct Anatomized {
    /// The groups; their order says nothing.
    pub groups: Vec<Vec<Member>>,
    /// For each group the values that stand for nobody: codes of the first sensitive attribute,
    /// rising. Empty if there are none in any group.
    pub counterfeits: Vec<Vec<u32>>,
    /// Records left out of the release.
    pub suppressed: Vec<Member>,
    /// What the algorithm has to say.
    pub notes: Vec<String>,
}

impl Anatomized {
    /// The groups as a recipient sees them.
    fn classes(&self, table: &Table) -> Vec<EquivalenceClass> {
        let class = |(i, members): (usize, &Vec<Member>)| match self.counterfeits.get(i) {
            Some(values) if !values.is_empty() => {
                with_counterfeits(table, group(table, members), values)
            }
            _ => group(table, members),
        };
        self.groups.par_iter().enumerate().map(class).collect()
    }
}

/// Classes with their members.
///
/// Classes stand in the order of their regions and no two have the same region, so neither their
/// order nor their number says more than the regions themselves.
#[derive(Clone, Debug)]
pub struct Generalized {
    /// The classes.
    pub classes: Vec<Members>,
    /// Records left out of the release.
    pub suppressed: Vec<Member>,
    /// The attributes that the regions are written in, where they are not the table's: a recoding
    /// may bring its own values (centroids) or its own groups of values (siblings), or show all
    /// values at one level (full domain).
    pub quasi: Option<Vec<Attribute>>,
    /// What the regions tell; never [`Shape::Groups`].
    pub shape: Shape,
    /// What the algorithm has to say, such as how far it may be from the best.
    pub notes: Vec<String>,
}

/// The records of one class.
#[derive(Clone, Debug)]
pub struct Members {
    /// One publishable run per quasi-identifier.
    pub region: Box<[Run]>,
    /// Its records.
    pub members: Vec<Member>,
}

/// Some of the records of a distinct row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// Distinct row of the table.
    pub row: u32,
    /// How many of its records.
    pub count: u32,
}

impl Generalized {
    /// Sorts the classes by region and joins those that the recipient could not tell apart.
    pub fn new(mut classes: Vec<Members>, suppressed: Vec<Member>) -> Generalized {
        classes.par_sort_unstable_by(|a, b| a.region.cmp(&b.region));
        classes.dedup_by(|next, kept| {
            let same = next.region == kept.region;
            if same {
                kept.members.append(&mut next.members);
            }
            same
        });
        Generalized { classes, suppressed, quasi: None, shape: Shape::Regions, notes: Vec::new() }
    }

    /// The same, with regions written in other attributes than the table's.
    pub fn written_in(self, quasi: Vec<Attribute>, shape: Shape) -> Generalized {
        Generalized { quasi: Some(quasi), shape, ..self }
    }

    /// The same, with a word about it.
    pub fn noted(mut self, note: String) -> Generalized {
        self.notes.push(note);
        self
    }
}

/// A release as its recipient sees it: no members, no identifiers, no way back to a row.
#[derive(Clone, Debug)]
pub struct Release {
    /// The quasi-identifiers with their taxonomies.
    pub quasi: Vec<Attribute>,
    /// The sensitive attributes with their taxonomies.
    pub sensitive: Vec<Attribute>,
    /// The classes.
    pub classes: Vec<EquivalenceClass>,
    /// Number of records left out.
    pub suppressed: u64,
    /// What the quasi-identifiers of a class tell.
    pub shape: Shape,
    /// For [`Shape::Groups`]: what is published of the quasi-identifiers. The classes are the
    /// groups, by number, and their regions cover what their records show.
    pub records_by_group: Vec<GroupedRecords>,
    /// How many of the sensitive values of each class stand for nobody: its histograms count them,
    /// its `count` does not. Which values they are is not told. Empty if there are none in any
    /// class.
    pub counterfeits: Vec<u64>,
    /// For [`Shape::Groups`], if the records' quasi-identifiers are not here: how many combinations
    /// of them occur so often, as pairs of a number of records and a number of combinations. Then
    /// `records_by_group` and regions are without codes.
    pub counted: Option<Vec<(u64, u64)>>,
}

/// Records of one group with equal quasi-identifiers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GroupedRecords {
    /// Number of the group: the index of its class.
    pub group: u32,
    /// Code of each quasi-identifier.
    pub codes: Box<[u32]>,
    /// How many records.
    pub count: u64,
}

impl Release {
    /// What the form shows of the table.
    pub fn of(table: &Table, form: &Form) -> Release {
        let suppressed = form.suppressed().iter().map(|m| u64::from(m.count)).sum();
        let (quasi, sensitive) = (table.quasi.clone(), table.sensitive.clone());
        match form {
            Form::Generalized(form) => Release {
                quasi: form.quasi.clone().unwrap_or(quasi),
                sensitive,
                classes: form.classes.par_iter().map(|class| class.published(table)).collect(),
                suppressed,
                shape: form.shape,
                records_by_group: Vec::new(),
                counterfeits: Vec::new(),
                counted: None,
            },
            Form::Anatomized(form) => Release {
                quasi,
                sensitive,
                classes: form.classes(table),
                suppressed,
                shape: Shape::Groups,
                records_by_group: grouped(table, &form.groups),
                counterfeits: form.counterfeits.iter().map(|values| values.len() as u64).collect(),
                counted: None,
            },
        }
    }

    /// How many of [`Release::identities`] have so many records: pairs of a number of records and
    /// of identities, rising.
    pub fn sizes(&self) -> Vec<(u64, u64)> {
        if let Some(counted) = &self.counted {
            return counted.clone();
        }
        let mut sizes: BTreeMap<u64, u64> = BTreeMap::new();
        self.identities().iter().for_each(|class| *sizes.entry(class.count).or_default() += 1);
        sizes.into_iter().collect()
    }

    /// What an adversary who looks for a person can tell apart: the classes, or where records show
    /// their own values the records with equal ones.
    pub fn identities(&self) -> Cow<'_, [EquivalenceClass]> {
        if self.shape != Shape::Groups {
            return Cow::Borrowed(&self.classes);
        }
        let records = &self.records_by_group;
        let columns: Vec<Vec<u32>> = (0..self.quasi.len())
            .into_par_iter()
            .map(|i| records.iter().map(|r| r.codes[i]).collect())
            .collect();
        let columns: Vec<&[u32]> = columns.iter().map(Vec::as_slice).collect();
        let sizes: Vec<u64> = self.quasi.iter().map(|a| a.taxonomy.leaves() as u64).collect();
        let (number_of, firsts) = number_tuples(&columns, &sizes);
        let mut classes: Vec<EquivalenceClass> = firsts
            .iter()
            .map(|&first| EquivalenceClass {
                region: records[first as usize].codes.iter().map(|&c| Run::new(c, c)).collect(),
                count: 0,
                histograms: vec![Histogram::default(); self.sensitive.len()],
            })
            .collect();
        for (&number, record) in number_of.iter().zip(records) {
            classes[number as usize].count += record.count;
        }
        classes.par_sort_unstable_by(|a, b| a.region.cmp(&b.region));
        Cow::Owned(classes)
    }

    /// The table itself, published as it is: every distinct combination of quasi-identifiers is a
    /// class.
    pub fn unchanged(table: &Table) -> Release {
        let rows = (0..table.rows() as u32).map(|row| Members {
            region: table
                .quasi_codes
                .iter()
                .map(|c| Run::new(c[row as usize], c[row as usize]))
                .collect(),
            members: vec![Member { row, count: table.counts[row as usize] }],
        });
        Release::of(table, &Form::Generalized(Generalized::new(rows.collect(), Vec::new())))
    }

    /// How many values of a class stand for nobody.
    pub fn counterfeits_in(&self, class: usize) -> u64 {
        self.counterfeits.get(class).copied().unwrap_or(0)
    }

    /// Number of records published.
    pub fn records(&self) -> u64 {
        self.classes.iter().map(|c| c.count).sum()
    }

    /// The distribution of each sensitive attribute over the published records.
    pub fn distributions(&self) -> Vec<Distribution> {
        let count = |(i, attribute): (usize, &Attribute)| {
            let mut counts = vec![0u64; attribute.taxonomy.leaves()];
            for class in &self.classes {
                for &(code, n) in &class.histograms[i].0 {
                    counts[code as usize] += n;
                }
            }
            Distribution::new(attribute.taxonomy.clone(), counts)
        };
        self.sensitive.iter().enumerate().map(count).collect()
    }

    /// The classes formed by some of the quasi-identifiers alone: those that agree on them are
    /// merged. The other quasi-identifiers stand at their roots.
    pub fn project(&self, on: &[usize]) -> Vec<EquivalenceClass> {
        project(&self.quasi, &self.classes, on)
    }

    /// The labels a class shows.
    pub fn labels(&self, class: &EquivalenceClass) -> Vec<String> {
        self.quasi
            .iter()
            .zip(&class.region)
            .map(|(a, &run)| a.taxonomy.label(run).into_owned())
            .collect()
    }
}

/// Classes as some of the quasi-identifiers alone tell them apart; the others stand at their roots.
pub fn project(
    quasi: &[Attribute],
    classes: &[EquivalenceClass],
    on: &[usize],
) -> Vec<EquivalenceClass> {
    let mut merged: Vec<EquivalenceClass> = Vec::new();
    let mut place: HashMap<Vec<Run>, usize> = HashMap::new();
    for class in classes {
        let shown =
            |i: usize| if on.contains(&i) { class.region[i] } else { quasi[i].taxonomy.root() };
        let region: Vec<Run> = (0..quasi.len()).map(shown).collect();
        match place.get(&region) {
            // The regions of both lie within the roots, so the merged region stays.
            Some(&i) => merged[i] = merged[i].merge(class),
            None => {
                place.insert(region.clone(), merged.len());
                merged.push(EquivalenceClass { region, ..class.clone() });
            }
        }
    }
    merged
}

/// What an anatomized release shows of the quasi-identifiers.
fn grouped(table: &Table, groups: &[Vec<Member>]) -> Vec<GroupedRecords> {
    let records = |(group, members): (usize, &Vec<Member>)| {
        let record = |m: &Member| GroupedRecords {
            group: group as u32,
            codes: table.quasi_codes.iter().map(|c| c[m.row as usize]).collect(),
            count: m.count.into(),
        };
        GroupedRecords::collapse(members.iter().map(record).collect())
    };
    groups.par_iter().enumerate().flat_map_iter(records).collect()
}

impl GroupedRecords {
    /// In order, equal ones counted together.
    pub fn collapse(mut records: Vec<GroupedRecords>) -> Vec<GroupedRecords> {
        records.sort_unstable();
        records.dedup_by(|next, kept| {
            let same = next.group == kept.group && next.codes == kept.codes;
            if same {
                kept.count += next.count;
            }
            same
        });
        records
    }
}

/// A group as a class: what covers the values of its records, and its histograms.
pub(crate) fn group(table: &Table, members: &[Member]) -> EquivalenceClass {
    let cover = |(a, codes): (&Attribute, &Vec<u32>)| {
        let codes = members.iter().map(|m| codes[m.row as usize]);
        let hull =
            codes.map(|c| (c, c)).reduce(|(first, last), (c, _)| (first.min(c), last.max(c)));
        let (first, last) = hull.unwrap_or((0, 0));
        a.taxonomy.cover(Run::new(first, last))
    };
    let region = table.quasi.iter().zip(&table.quasi_codes).map(cover).collect();
    class(table, region, members)
}

/// The class with values of the first sensitive attribute that stand for nobody. Nobody has a
/// guard; and what all sensitive attributes say together has a code for the value only if somebody
/// has it.
pub(crate) fn with_counterfeits(
    table: &Table,
    mut class: EquivalenceClass,
    values: &[u32],
) -> EquivalenceClass {
    for (attribute, histogram) in table.sensitive.iter().zip(&mut class.histograms) {
        let code = |&value: &u32| match &attribute.hidden {
            None => Some(value),
            Some(Hidden::Guard) => None,
            Some(Hidden::Joint(tuples)) => {
                tuples.binary_search_by(|t| t[..].cmp(&[value])).ok().map(|at| at as u32)
            }
        };
        *histogram =
            histogram.merge(&Histogram::of(values.iter().filter_map(code).map(|code| (code, 1))));
    }
    class
}

/// What is published of some records under this region.
pub(crate) fn class(table: &Table, region: Vec<Run>, members: &[Member]) -> EquivalenceClass {
    let histogram = |codes: &Vec<u32>| {
        Histogram::of(members.iter().map(|m| (codes[m.row as usize], u64::from(m.count))))
    };
    EquivalenceClass {
        region,
        count: members.iter().map(|m| u64::from(m.count)).sum(),
        histograms: table.sensitive_codes.iter().map(histogram).collect(),
    }
}

impl Members {
    fn published(&self, table: &Table) -> EquivalenceClass {
        class(table, self.region.to_vec(), &self.members)
    }
}
