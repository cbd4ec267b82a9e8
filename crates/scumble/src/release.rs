//! What was made ([`Form`], the publisher's side) and what is given ([`Release`], the recipient's).
//!
//! A form knows which records are in which class. A release is made from it by dropping the members, and there is no
//! way back: attacks and judges take releases.

use crate::class::{EquivalenceClass, Histogram, Run};
use crate::table::{Attribute, Distribution, Table};
use hashbrown::HashMap;
use rayon::prelude::*;

/// The ways to publish a table.
pub enum Form {
    /// Every class shows one generalized value per quasi-identifier.
    Generalized(Generalized),
}

/// Classes with their members.
///
/// Classes stand in the order of their regions and no two have the same region, so neither their order nor their
/// number says more than the regions themselves.
pub struct Generalized {
    /// The classes.
    pub classes: Vec<Members>,
    /// Records left out of the release.
    pub suppressed: Vec<Member>,
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
        Generalized { classes, suppressed }
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
}

impl Release {
    /// What the form shows of the table.
    pub fn of(table: &Table, form: &Form) -> Release {
        let Form::Generalized(form) = form;
        let classes = form.classes.par_iter().map(|class| class.published(table)).collect();
        let suppressed = form.suppressed.iter().map(|m| u64::from(m.count)).sum();
        Release { quasi: table.quasi.clone(), sensitive: table.sensitive.clone(), classes, suppressed }
    }

    /// The table itself, published as it is: every distinct combination of quasi-identifiers is a class.
    pub fn unchanged(table: &Table) -> Release {
        let rows = (0..table.rows() as u32).map(|row| Members {
            region: table.quasi_codes.iter().map(|c| Run::new(c[row as usize], c[row as usize])).collect(),
            members: vec![Member { row, count: table.counts[row as usize] }],
        });
        Release::of(table, &Form::Generalized(Generalized::new(rows.collect(), Vec::new())))
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

    /// The classes formed by some of the quasi-identifiers alone: those that agree on them are merged. The other
    /// quasi-identifiers of a merged class stand at what covers both.
    pub fn project(&self, on: &[usize]) -> Vec<EquivalenceClass> {
        let mut merged: Vec<EquivalenceClass> = Vec::new();
        let mut place: HashMap<Vec<Run>, usize> = HashMap::new();
        for class in &self.classes {
            let key: Vec<Run> = on.iter().map(|&i| class.region[i]).collect();
            match place.get(&key) {
                Some(&i) => merged[i] = merged[i].merge(class),
                None => {
                    place.insert(key, merged.len());
                    merged.push(class.clone());
                }
            }
        }
        merged
    }

    /// The labels a class shows.
    pub fn labels(&self, class: &EquivalenceClass) -> Vec<String> {
        self.quasi.iter().zip(&class.region).map(|(a, &run)| a.taxonomy.label(run).into_owned()).collect()
    }
}

impl Members {
    fn published(&self, table: &Table) -> EquivalenceClass {
        let histogram =
            |codes: &Vec<u32>| Histogram::of(self.members.iter().map(|m| (codes[m.row as usize], u64::from(m.count))));
        EquivalenceClass {
            region: self.region.to_vec(),
            count: self.members.iter().map(|m| u64::from(m.count)).sum(),
            histograms: table.sensitive_codes.iter().map(histogram).collect(),
        }
    }
}
