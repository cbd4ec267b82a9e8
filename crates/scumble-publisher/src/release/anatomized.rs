//! The tables of an anatomized release: quasi-identifiers as they are with the number of the group,
//! sensitive values counted by group, and how many of those stand for nobody, if any do.

use super::reader::Labelled;
use crate::publish::source::{Cell, Extract, Place};
use crate::table::columns::Column;
use crate::table::write::{Lines, Values, group_number};
use hashbrown::HashMap;
use rayon::prelude::*;
use scumble::class::{EquivalenceClass, Histogram, Run};
use scumble::failure::{Failure, Failures};
use scumble::release::{Anatomized, GroupedRecords, Member};
use scumble::table::{Attribute, number_tuples};

/// The columns of the tables.
pub struct Layout {
    /// Of the table of records: everything but the sensitive attributes, and the group.
    pub records: Vec<Cell>,
    /// Of the table of sensitive values: the group, the sensitive attributes, and how many records.
    pub sensitive: Vec<Cell>,
    /// Of the table of counterfeits: the group, and how many of its values stand for nobody.
    pub counterfeits: Vec<Cell>,
}

impl Layout {
    /// The columns for an extract. The names of the two new ones are free in both tables.
    pub fn new(extract: &Extract) -> Layout {
        let free = |wanted: &str| {
            let mut name = wanted.to_owned();
            while extract.layout.iter().any(|c| c.name == name) {
                name.push('_');
            }
            name
        };
        let new = |name: String, place| Cell { name, place, arrow: None };
        let (mut sensitive, mut records): (Vec<Cell>, Vec<Cell>) =
            extract.layout.iter().cloned().partition(|c| matches!(c.place, Place::Sensitive(_)));
        records.push(new(free("group"), Place::Group));
        sensitive.insert(0, new(free("group"), Place::Group));
        sensitive.push(new(free("count"), Place::Count));
        let counterfeits = vec![new(free("group"), Place::Group), new(free("count"), Place::Count)];
        Layout { records, sensitive, counterfeits }
    }

    /// The lines of the table of sensitive values: by group, and within a group by value, so that
    /// their order says nothing.
    pub fn lines<'a>(&'a self, extract: &'a Extract, form: &Anatomized) -> Lines<'a> {
        let table = &extract.table;
        let places: Vec<usize> = (self.sensitive.iter())
            .filter_map(|c| if let Place::Sensitive(i) = c.place { Some(i) } else { None })
            .collect();
        let lines = |(group, members): (usize, &Vec<Member>)| {
            let codes = |m: &Member| {
                places.iter().map(|&i| table.sensitive_codes[i][m.row as usize]).collect()
            };
            let record = |m: &Member| GroupedRecords {
                group: group as u32,
                codes: codes(m),
                count: m.count.into(),
            };
            // Only one sensitive attribute is published where there are some.
            let nobody = |&value: &u32| GroupedRecords {
                group: group as u32,
                codes: [value].into(),
                count: 1,
            };
            let nobodys =
                form.counterfeits.get(group).map_or(&[][..], Vec::as_slice).iter().map(nobody);
            GroupedRecords::collapse(members.iter().map(record).chain(nobodys).collect())
        };
        let lines: Vec<GroupedRecords> =
            form.groups.par_iter().enumerate().flat_map_iter(lines).collect();
        let numbers = lines.iter().map(|l| group_number(l.group as usize)).collect();
        let mut columns = vec![Values::Numbers(numbers)];
        for (at, &i) in places.iter().enumerate() {
            columns.push(Values::Leaves(
                &table.sensitive[i].taxonomy,
                lines.iter().map(|l| l.codes[at]).collect(),
            ));
        }
        columns.push(Values::Numbers(lines.iter().map(|l| l.count).collect()));
        Lines { layout: &self.sensitive, columns }
    }
}

impl Layout {
    /// The lines of the table of counterfeits: groups that have some, with how many. None if there
    /// are none.
    pub fn counterfeit_lines(&self, form: &Anatomized) -> Option<Lines<'_>> {
        let some = || form.counterfeits.iter().enumerate().filter(|(_, values)| !values.is_empty());
        let groups: Vec<u64> = some().map(|(group, _)| group_number(group)).collect();
        let counts = some().map(|(_, values)| values.len() as u64).collect();
        let columns = vec![Values::Numbers(groups), Values::Numbers(counts)];
        some().next().map(|_| Lines { layout: &self.counterfeits, columns })
    }
}

/// What was read of the tables.
pub struct Tables<'a> {
    /// The group of every record.
    pub groups: &'a Column,
    /// How many records each of its rows stands for, if they were counted.
    pub weights: Option<&'a [u64]>,
    /// The quasi-identifiers of every record.
    pub quasi: &'a [Labelled<'a>],
    /// The group of every line of the table of sensitive values.
    pub sensitive_groups: &'a Column,
    /// The sensitive values of every line.
    pub sensitive: &'a [Labelled<'a>],
    /// How many records every line stands for.
    pub counts: &'a Column,
    /// The groups with counterfeits, and how many they have; if there is such a table.
    pub counterfeits: Option<(&'a Column, &'a Column)>,
}

/// What the tables say together.
pub struct Told {
    /// The groups as classes, by rising number.
    pub classes: Vec<EquivalenceClass>,
    /// The records of each.
    pub records: Vec<GroupedRecords>,
    /// How many values of each stand for nobody; empty if none do.
    pub counterfeits: Vec<u64>,
}

impl Tables<'_> {
    /// Puts them together, if they fit.
    pub fn understand(&self, quasi: &[Attribute]) -> Result<Told, Failures> {
        let wrong = |what: &str| {
            Failure::data(
                "broken-release",
                format!("the tables of the release do not fit together: {what}"),
            )
            .hint("take the release from where it was published")
        };
        let mut numbers =
            parse(self.sensitive_groups).ok_or_else(|| wrong("a group has no number"))?;
        numbers.sort_unstable();
        let place: HashMap<u64, u32> = numbers.iter().copied().zip(0..).collect();
        let index = |column: &Column| -> Option<Vec<u32>> {
            let of_text: Vec<u32> =
                parse(column)?.iter().map(|n| place.get(n).copied()).collect::<Option<_>>()?;
            Some(column.codes.iter().map(|&c| of_text[c as usize]).collect())
        };
        let one_without = || wrong("a group has records but no sensitive values");
        let group_of = index(self.groups).ok_or_else(one_without)?;
        let line_of = index(self.sensitive_groups).ok_or_else(one_without)?;
        let records = self.records(&group_of, quasi)?;
        let counts = parse(self.counts).ok_or_else(|| wrong("a count is no number"))?;
        let mut classes: Vec<EquivalenceClass> = records
            .chunk_by(|a, b| a.group == b.group)
            .map(|records| EquivalenceClass {
                region: region(quasi, records),
                count: records.iter().map(|r| r.count).sum(),
                histograms: Vec::new(),
            })
            .collect();
        if classes.len() != numbers.len() {
            return Err(wrong("a group has sensitive values but no records").into());
        }
        for labelled in self.sensitive {
            let mut pairs: Vec<Vec<(u32, u64)>> = vec![Vec::new(); classes.len()];
            for (line, &group) in line_of.iter().enumerate() {
                let count = counts[self.counts.codes[line] as usize];
                pairs[group as usize].push((labelled.run(line).first, count));
            }
            for (class, pairs) in classes.iter_mut().zip(pairs) {
                class.histograms.push(Histogram::of(pairs));
            }
        }
        let counterfeits = match self.counterfeits {
            None => Vec::new(),
            Some((groups, numbers)) => {
                let groups = index(groups)
                    .ok_or_else(|| wrong("a group has counterfeits but no sensitive values"))?;
                let number =
                    parse(numbers).ok_or_else(|| wrong("a number of counterfeits is no number"))?;
                let mut counterfeits = vec![0u64; classes.len()];
                for (group, &code) in groups.into_iter().zip(&numbers.codes) {
                    let sum = counterfeits[group as usize].checked_add(number[code as usize]);
                    counterfeits[group as usize] =
                        sum.ok_or_else(|| wrong("a group has too many counterfeits"))?;
                }
                counterfeits
            }
        };
        let shown = |group: usize, count: u64| {
            count.checked_add(counterfeits.get(group).copied().unwrap_or(0))
        };
        let fits = |(group, class): (usize, &EquivalenceClass)| {
            class.histograms.iter().all(|h| Some(h.total()) == shown(group, class.count))
        };
        if !classes.iter().enumerate().all(fits) {
            let counted = if counterfeits.is_empty() { "" } else { " and counterfeits" };
            return Err(wrong(&format!(
                "a group has another number of records{counted} than of sensitive values"
            ))
            .into());
        }
        Ok(Told { classes, records, counterfeits })
    }

    /// The records with their codes, by group; equal ones counted.
    fn records(
        &self,
        group_of: &[u32],
        quasi: &[Attribute],
    ) -> Result<Vec<GroupedRecords>, Failure> {
        let mut columns: Vec<Vec<u32>> = Vec::new();
        for (labelled, attribute) in self.quasi.iter().zip(quasi) {
            columns.push(labelled.leaves().ok_or_else(|| {
                Failure::data(
                    "broken-release",
                    format!(
                        "column `{}` of an anatomized release shows a generalized value",
                        attribute.name
                    ),
                )
                .hint("take the release from where it was published")
            })?);
        }
        let all: Vec<&[u32]> =
            std::iter::once(group_of).chain(columns.iter().map(Vec::as_slice)).collect();
        let size = |codes: &&[u32]| codes.iter().max().map_or(1, |&most| u64::from(most) + 1);
        let (number_of, firsts) = number_tuples(&all, &all.iter().map(size).collect::<Vec<_>>());
        let mut counts = vec![0u64; firsts.len()];
        let weight = |row: usize| self.weights.map_or(1, |w| w[row]);
        number_of.iter().enumerate().for_each(|(row, &n)| counts[n as usize] += weight(row));
        let record = |(&first, &count): (&u32, &u64)| GroupedRecords {
            group: group_of[first as usize],
            codes: columns.iter().map(|c| c[first as usize]).collect(),
            count,
        };
        let mut records: Vec<GroupedRecords> = firsts.par_iter().zip(&counts).map(record).collect();
        records.par_sort_unstable();
        Ok(records)
    }
}

/// What covers the records.
pub(crate) fn region(quasi: &[Attribute], records: &[GroupedRecords]) -> Vec<Run> {
    let cover = |(i, a): (usize, &Attribute)| {
        let codes = || records.iter().map(|r| r.codes[i]);
        a.taxonomy.cover(Run::new(codes().min().unwrap_or(0), codes().max().unwrap_or(0)))
    };
    quasi.iter().enumerate().map(cover).collect()
}

/// The numbers that the texts of a column are.
fn parse(column: &Column) -> Option<Vec<u64>> {
    column.values.iter().map(|text| text.parse().ok()).collect()
}
