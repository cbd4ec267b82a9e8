//! Groups whose values are dealt to the people in them.

use crate::attack::{Crowd, View};
use crate::register::RegisterColumn;
use crate::release::{GroupedRecords, Shape};
use crate::table::number_tuples;
use hashbrown::HashMap;
use std::ops::Range;

/// People in groups, and the values of each group.
///
/// A unit is people of a group with equal quasi-identifiers; a unit without any is strangers. A
/// label is a value, or the last one: not in the release. A cell is a value of a quasi-identifier;
/// those of one attribute stand together.
pub struct Deal {
    /// Number of values; the label of those who are not in the release.
    pub values: usize,
    /// The cells of each attribute; only attributes on which people differ.
    pub attributes: Vec<Range<u32>>,
    /// The groups.
    pub groups: Vec<Group>,
    /// People who could not be seated, because they fit several groups.
    pub elsewhere: u64,
    units: Vec<Unit>,
    /// One cell per attribute, unit by unit; strangers have none.
    cells: Vec<u32>,
    /// Number of places: for every unit one for each label of its group.
    places: usize,
}

/// A group of a release.
pub struct Group {
    /// The units that are in it.
    pub units: Range<usize>,
    /// Labels with their counts, rising.
    pub labels: Vec<(u32, u64)>,
}

struct Unit {
    people: u64,
    group: u32,
    /// The records of the release or the kind of people that it is, and where its cells begin;
    /// nothing for strangers.
    known: Option<(u32, usize)>,
    /// Its first place.
    first: usize,
}

/// People while they are seated.
struct Seated {
    group: u32,
    /// Number of the records, or of the kind of people.
    row: u32,
    people: u64,
}

impl Deal {
    /// The records of an anatomized release, in the order of the release within a group.
    pub fn of_records(view: &View, values: usize) -> Deal {
        let records = &view.release.records_by_group;
        let seated = |(row, r): (usize, &GroupedRecords)| Seated {
            group: r.group,
            row: row as u32,
            people: r.count,
        };
        let columns = (0..view.release.quasi.len())
            .map(|i| records.iter().map(|r| r.codes[i]).collect())
            .collect();
        Deal::new(
            &view.groups,
            values,
            records.iter().enumerate().map(seated).collect(),
            columns,
            0,
        )
    }

    /// The people of a register whose group is known.
    pub fn of_people(view: &View, crowd: &Crowd, release: usize, values: usize) -> Deal {
        let (mut seated, mut elsewhere) = (Vec::new(), 0);
        for (kind, alike) in crowd.kinds.iter().enumerate() {
            match crowd.candidates(kind, release) {
                [] => (),
                [only] => seated.push(Seated {
                    group: only.group,
                    row: kind as u32,
                    people: alike.people,
                }),
                _ => elsewhere += alike.people,
            }
        }
        let known = |name: &String| view.release.quasi.iter().any(|a| a.name == *name);
        let columns = crowd.register.columns.iter().filter(|c| known(&c.name));
        let codes =
            |c: &RegisterColumn| crowd.kinds.iter().map(|k| c.codes[k.row as usize]).collect();
        Deal::new(&view.groups, values, seated, columns.map(codes).collect(), elsewhere)
    }

    /// `histograms` are the values of each group with their counts; `columns` are codes by row.
    fn new(
        histograms: &[Vec<(u32, u64)>],
        values: usize,
        mut seated: Vec<Seated>,
        columns: Vec<Vec<u32>>,
        elsewhere: u64,
    ) -> Deal {
        seated.sort_by_key(|s| s.group);
        let (attributes, numbered) = number_cells(&seated, &columns);
        let mut deal = Deal {
            values,
            attributes,
            groups: Vec::new(),
            elsewhere,
            units: Vec::new(),
            cells: Vec::new(),
            places: 0,
        };
        let mut next = seated.iter().enumerate().peekable();
        for (group, histogram) in histograms.iter().enumerate() {
            let start = deal.units.len();
            let mut labels = histogram.clone();
            let records: u64 = labels.iter().map(|(_, n)| n).sum();
            let mut people = 0;
            while let Some((i, s)) = next.next_if(|(_, s)| s.group as usize == group) {
                people += s.people;
                let known = Some((s.row, deal.cells.len()));
                deal.cells.extend(numbered.iter().map(|column| column[i]));
                deal.units.push(Unit { people: s.people, group: group as u32, known, first: 0 });
            }
            if people > records {
                labels.push((values as u32, people - records));
            } else if people < records {
                deal.units.push(Unit {
                    people: records - people,
                    group: group as u32,
                    known: None,
                    first: 0,
                });
            }
            for unit in &mut deal.units[start..] {
                unit.first = deal.places;
                deal.places += labels.len();
            }
            deal.groups.push(Group { units: start..deal.units.len(), labels });
        }
        deal
    }

    /// Number of units.
    pub fn units(&self) -> usize {
        self.units.len()
    }

    /// Number of labels, with that of those who are not in the release.
    pub fn labels(&self) -> usize {
        self.values + 1
    }

    /// Number of cells.
    pub fn cells(&self) -> usize {
        self.attributes.last().map_or(0, |a| a.end as usize)
    }

    /// Number of places of all units.
    pub fn all_places(&self) -> usize {
        self.places
    }

    /// How many people are a unit.
    pub fn people(&self, unit: usize) -> u64 {
        self.units[unit].people
    }

    /// The cells of a unit, one for each attribute; nothing for strangers.
    pub fn cells_of(&self, unit: usize) -> Option<&[u32]> {
        self.units[unit].known.map(|(_, start)| &self.cells[start..start + self.attributes.len()])
    }

    /// The labels of a unit's group, with their counts.
    pub fn labels_of(&self, unit: usize) -> &[(u32, u64)] {
        &self.groups[self.units[unit].group as usize].labels
    }

    /// The places of a unit, one for each label of its group.
    pub fn places(&self, unit: usize) -> Range<usize> {
        let first = self.units[unit].first;
        first..first + self.labels_of(unit).len()
    }
}

/// The attributes on which people differ, and the cell of each of the seated.
fn number_cells(seated: &[Seated], columns: &[Vec<u32>]) -> (Vec<Range<u32>>, Vec<Vec<u32>>) {
    let (mut attributes, mut numbered) = (Vec::new(), Vec::new());
    let mut next = 0;
    for column in columns {
        let codes: Vec<u32> = seated.iter().map(|s| column[s.row as usize]).collect();
        let size = codes.iter().max().map_or(0, |&most| u64::from(most) + 1);
        let (mut cells, firsts) = number_tuples(&[&codes], &[size]);
        if firsts.len() > 1 {
            cells.iter_mut().for_each(|cell| *cell += next);
            attributes.push(next..next + firsts.len() as u32);
            next += firsts.len() as u32;
            numbered.push(cells);
        }
    }
    (attributes, numbered)
}

/// Which units the people of a register may be.
pub struct Seats(Vec<Option<Vec<(usize, u64)>>>);

impl Seats {
    /// Finds everybody.
    pub fn new(view: &View, crowd: &Crowd, release: usize, deal: &Deal) -> Seats {
        let kinds = 0..crowd.kinds.len();
        if view.release.shape == Shape::Groups {
            return Seats(by_equal_values(view, crowd, release, deal));
        }
        let of_kind = |kind| (crowd.candidates(kind, release).len() <= 1).then(Vec::new);
        let mut seats: Vec<Option<Vec<(usize, u64)>>> = kinds.map(of_kind).collect();
        for (unit, u) in deal.units.iter().enumerate() {
            let kind = u.known.map(|(kind, _)| kind as usize);
            kind.and_then(|kind| seats[kind].as_mut())
                .into_iter()
                .for_each(|seats| seats.push((unit, 1)));
        }
        Seats(seats)
    }

    /// The units that people of a kind may be in, and how many times; none if they fit nowhere, and
    /// nothing if they fit several groups and were not seated.
    pub fn of(&self, kind: usize) -> Option<&[(usize, u64)]> {
        self.0[kind].as_deref()
    }
}

/// The units that show the values of each kind.
fn by_equal_values(
    view: &View,
    crowd: &Crowd,
    release: usize,
    deal: &Deal,
) -> Vec<Option<Vec<(usize, u64)>>> {
    let quasi = &view.release.quasi;
    let column = |name: &str| crowd.register.columns.iter().find(|c| c.name == name);
    // The attributes that the register knows, and the code of every text of it.
    let mut known: Vec<usize> = Vec::new();
    let mut codes: Vec<(&RegisterColumn, Vec<Option<u32>>)> = Vec::new();
    for (i, attribute) in quasi.iter().enumerate() {
        if let Some(column) = column(&attribute.name) {
            known.push(i);
            codes.push((column, column.texts.iter().map(|t| attribute.taxonomy.find(t)).collect()));
        }
    }
    let mut showing: HashMap<Vec<u32>, Vec<(usize, u64)>> = HashMap::new();
    for (unit, u) in deal.units.iter().enumerate() {
        if let Some((record, _)) = u.known {
            let record = &view.release.records_by_group[record as usize];
            let shown = known.iter().map(|&i| record.codes[i]).collect();
            showing.entry(shown).or_default().push((unit, u.people));
        }
    }
    let of_kind = |kind: usize| {
        let row = crowd.kinds[kind].row as usize;
        let shown: Option<Vec<u32>> =
            codes.iter().map(|(c, leaf)| leaf[c.codes[row] as usize]).collect();
        let found = shown
            .filter(|_| !crowd.candidates(kind, release).is_empty())
            .and_then(|s| showing.get(&s));
        Some(found.cloned().unwrap_or_default())
    };
    (0..crowd.kinds.len()).map(of_kind).collect()
}

#[cfg(test)]
impl Deal {
    /// A few people in groups, with strangers and people who are not in the release.
    pub fn random(seed: u64) -> Deal {
        use rand::{RngExt, SeedableRng};
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(seed);
        let mut histograms: Vec<Vec<(u32, u64)>> = Vec::new();
        let (mut seated, mut columns) = (Vec::new(), vec![Vec::new(), Vec::new()]);
        for group in 0..3 {
            let labels =
                (0..3u32).map(|label| (label, rng.random_range(0..=2u64))).filter(|(_, n)| *n > 0);
            histograms.push(labels.collect());
            for _ in 0..rng.random_range(1..=3) {
                seated.push(Seated {
                    group,
                    row: columns[0].len() as u32,
                    people: rng.random_range(1..=2),
                });
                columns[0].push(rng.random_range(0..2));
                columns[1].push(rng.random_range(0..3));
            }
        }
        Deal::new(&histograms, 3, seated, columns, 0)
    }
}
