//! What a ledger keeps of a release besides its entry, as columnar files: who is in which group,
//! and what groups show.
//!
//! Groups, labels and counts of rows are published. Members are pseudonyms; a tag beside each tells
//! whether the person's value is the same as in another release, to whoever has the key, and
//! nothing else to anybody.

use super::key::Pseudonym;
use crate::table::guard::guarded;
use arrow_array::cast::AsArray;
use arrow_array::types::{UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, FixedSizeBinaryArray, RecordBatch, StringArray,
    UInt16Array, UInt32Array, UInt64Array,
};
use arrow_cast::cast;
use arrow_schema::DataType;
use bytes::Bytes;
use hashbrown::HashMap;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use scumble::failure::{Failure, Failures};
use scumble::inference::Located;
use scumble::release::{Release, Shape};
use scumble::table::{number_tuples_of, published};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// Who is in a release.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Members {
    /// The people, rising, each once.
    pub people: Vec<Pseudonym>,
    /// Where each of them is: the index of a group, or of a place where it is not known in which
    /// group somebody is.
    pub places: Vec<u32>,
    /// For each sensitive attribute a tag for each of them; none where the value is not known.
    pub tags: Vec<Vec<Option<u32>>>,
}

/// What the groups of a release show.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Groups {
    /// What each is called.
    pub labels: Vec<String>,
    /// Records in each.
    pub sizes: Vec<u64>,
    /// How many of the values of each stand for nobody.
    pub counterfeits: Vec<u64>,
    /// What each shows in the columns that are not protected, if a protected one is among those
    /// that make groups: groups with the same text are one to whoever does not know the protected
    /// values. Otherwise empty.
    pub rest: Vec<String>,
}

/// How often each combination of values of some columns occurs in each group.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counts {
    /// The columns: indices among those that the release shows.
    pub columns: Vec<usize>,
    /// For each column its values.
    pub values: Vec<Vec<String>>,
    /// The distinct rows: for each column the code of a value.
    pub rows: Vec<Vec<u32>>,
    /// For each group the indices of its rows with their counts.
    pub groups: Vec<Vec<(u32, u64)>>,
}

/// What a class of a release is called.
pub(crate) fn label(release: &Release, class: usize) -> String {
    match release.shape {
        Shape::Groups => format!("group {}", class + 1),
        _ => format!("class {}", release.labels(&release.classes[class]).join(" · ")),
    }
}

impl Groups {
    /// The groups of a release.
    pub fn of(release: &Release) -> Groups {
        let n = release.classes.len();
        Groups {
            labels: (0..n).map(|i| label(release, i)).collect(),
            sizes: release.classes.iter().map(|c| c.count).collect(),
            counterfeits: (0..n).map(|i| release.counterfeits_in(i)).collect(),
            rest: Vec::new(),
        }
    }

    /// As a file.
    pub fn write(&self) -> Result<Vec<u8>, Failures> {
        let mut columns: Vec<(&str, ArrayRef)> = vec![
            ("label", Arc::new(StringArray::from_iter_values(&self.labels))),
            ("size", Arc::new(UInt64Array::from(self.sizes.clone()))),
            ("counterfeits", Arc::new(UInt64Array::from(self.counterfeits.clone()))),
        ];
        if !self.rest.is_empty() {
            columns.push(("rest", Arc::new(StringArray::from_iter_values(&self.rest))));
        }
        to_parquet(columns)
    }

    /// From a file.
    pub fn read(bytes: Vec<u8>) -> Result<Groups, Failures> {
        let mut groups = Groups::default();
        for batch in from_parquet(bytes, 3..=4)? {
            let labels = batch.column(0).as_string_opt::<i32>().ok_or_else(damaged)?;
            groups.labels.extend(labels.iter().map(|l| l.unwrap_or("").to_owned()));
            groups.sizes.extend_from_slice(
                batch.column(1).as_primitive_opt::<UInt64Type>().ok_or_else(damaged)?.values(),
            );
            let counterfeits =
                batch.column(2).as_primitive_opt::<UInt64Type>().ok_or_else(damaged)?;
            groups.counterfeits.extend_from_slice(counterfeits.values());
            if batch.num_columns() == 4 {
                let rest = batch.column(3).as_string_opt::<i32>().ok_or_else(damaged)?;
                groups.rest.extend(rest.iter().map(|l| l.unwrap_or("").to_owned()));
            }
        }
        Ok(groups)
    }
}

impl Counts {
    /// The values of one published sensitive attribute of a release.
    pub fn of(release: &Release, attribute: usize) -> Counts {
        let taxonomy = &published(&release.sensitive)[attribute].taxonomy;
        let leaves = taxonomy.leaves() as u32;
        Counts {
            columns: vec![attribute],
            values: vec![(0..leaves).map(|leaf| taxonomy.leaf(leaf).to_owned()).collect()],
            rows: (0..leaves).map(|leaf| vec![leaf]).collect(),
            groups: release.classes.iter().map(|c| c.histograms[attribute].0.clone()).collect(),
        }
    }

    /// The rows of these columns, of people in these groups (`u32::MAX`: in none), of whom there
    /// are so many.
    pub fn of_rows(
        columns: Vec<usize>,
        values: Vec<Vec<String>>,
        codes: &[Vec<u32>],
        groups: &[u32],
        n: usize,
    ) -> Counts {
        let there: Vec<usize> = (0..groups.len()).filter(|&i| groups[i] != u32::MAX).collect();
        let sizes: Vec<u64> = values.iter().map(|v| v.len() as u64).collect();
        let (row_of, firsts) =
            number_tuples_of(there.len(), &sizes, |column, i| codes[column][there[i]]);
        let row = |&first: &u32| codes.iter().map(|c| c[there[first as usize]]).collect();
        let mut counts: Vec<HashMap<u32, u64>> = vec![HashMap::new(); n];
        for (&person, &row) in there.iter().zip(&row_of) {
            *counts[groups[person] as usize].entry(row).or_default() += 1;
        }
        let sorted = |counts: HashMap<u32, u64>| {
            let mut counts: Vec<(u32, u64)> = counts.into_iter().collect();
            counts.sort_unstable();
            counts
        };
        let groups = counts.into_iter().map(sorted).collect();
        Counts { columns, values, rows: firsts.iter().map(row).collect(), groups }
    }

    /// All tables of a release that shows so many columns, in one file.
    pub fn write(tables: &[Counts], columns: usize) -> Result<Vec<u8>, Failures> {
        let (mut number, mut groups, mut counts) = (Vec::new(), Vec::new(), Vec::new());
        // Codes instead of texts: a row of many columns would take several times as much otherwise.
        let mut texts: Vec<Vec<&str>> = vec![Vec::new(); columns];
        let mut codes: Vec<Vec<Option<u32>>> = vec![Vec::new(); columns];
        for (table, of) in (0u16..).zip(tables) {
            let firsts: Vec<u32> = of.columns.iter().map(|&c| texts[c].len() as u32).collect();
            for (&column, values) in of.columns.iter().zip(&of.values) {
                texts[column].extend(values.iter().map(String::as_str));
            }
            for (group, rows) in (0u32..).zip(&of.groups) {
                for &(row, count) in rows {
                    number.push(table);
                    groups.push(group);
                    counts.push(count);
                    codes.iter_mut().for_each(|c| c.push(None));
                    for ((&column, first), &code) in
                        of.columns.iter().zip(&firsts).zip(&of.rows[row as usize])
                    {
                        codes[column][number.len() - 1] = Some(first + code);
                    }
                }
            }
        }
        let names: Vec<String> = (0..columns).map(|i| format!("value{i}")).collect();
        let mut all: Vec<(&str, ArrayRef)> = vec![
            ("table", Arc::new(UInt16Array::from(number))),
            ("group", Arc::new(UInt32Array::from(groups))),
            ("count", Arc::new(UInt64Array::from(counts))),
        ];
        for ((name, texts), codes) in names.iter().zip(texts).zip(codes) {
            let (keys, values) = (UInt32Array::from(codes), Arc::new(StringArray::from(texts)));
            let column = DictionaryArray::<UInt32Type>::try_new(keys, values).map_err(unmade)?;
            all.push((name, Arc::new(column)));
        }
        to_parquet(all)
    }

    /// The tables of a release that shows so many columns in so many groups. A file of an older
    /// version has a table for each column.
    pub fn read(bytes: Vec<u8>, columns: usize, groups: usize) -> Result<Vec<Counts>, Failures> {
        let mut tables = Tables { groups, list: Vec::new(), codes: Vec::new(), rows: Vec::new() };
        for batch in from_parquet(bytes, 3..=3 + columns.max(1))? {
            let schema = batch.schema();
            let old = schema.field(0).name() == "attribute";
            if !old && batch.num_columns() != 3 + columns {
                return Err(damaged());
            }
            let (count, values) =
                if old { (3, vec![2]) } else { (2, (3..3 + columns).collect::<Vec<usize>>()) };
            let table = batch.column(0).as_primitive_opt::<UInt16Type>().ok_or_else(damaged)?;
            let group = batch.column(1).as_primitive_opt::<UInt32Type>().ok_or_else(damaged)?;
            let count = batch.column(count).as_primitive_opt::<UInt64Type>().ok_or_else(damaged)?;
            let plain = |&i: &usize| cast(batch.column(i), &DataType::Utf8).map_err(|_| damaged());
            let columns: Vec<ArrayRef> = values.iter().map(plain).collect::<Result<_, _>>()?;
            let texts: Option<Vec<&StringArray>> =
                columns.iter().map(|column| column.as_string_opt::<i32>()).collect();
            let texts = texts.ok_or_else(damaged)?;
            for i in 0..batch.num_rows() {
                let shown = |&(_, text): &(usize, &&StringArray)| text.is_valid(i);
                let row = texts.iter().enumerate().filter(shown).map(|(column, text)| {
                    (if old { table.value(i) as usize } else { column }, text.value(i))
                });
                tables.add(table.value(i) as usize, group.value(i), count.value(i), row)?;
            }
        }
        if tables.list.iter().flat_map(|t| &t.columns).any(|&c| c >= columns) {
            return Err(damaged());
        }
        Ok(tables.list)
    }

    /// The same rows of some of the columns, which get these numbers.
    pub fn project(&self, columns: &[(usize, usize)]) -> Counts {
        let of = |(column, _): &&(usize, usize)| self.columns.contains(column);
        let (places, numbers): (Vec<usize>, Vec<usize>) = (columns.iter().filter(of))
            .filter_map(|(c, number)| Some((self.columns.iter().position(|p| p == c)?, *number)))
            .unzip();
        let mut codes: HashMap<Vec<u32>, u32> = HashMap::new();
        let mut rows: Vec<Vec<u32>> = Vec::new();
        let mut row_of = Vec::with_capacity(self.rows.len());
        for row in &self.rows {
            let part: Vec<u32> = places.iter().map(|&p| row[p]).collect();
            row_of.push(*codes.entry(part).or_insert_with_key(|part| {
                rows.push(part.clone());
                rows.len() as u32 - 1
            }));
        }
        let group = |counts: &Vec<(u32, u64)>| {
            let mut sums: BTreeMap<u32, u64> = BTreeMap::new();
            for &(row, n) in counts {
                *sums.entry(row_of[row as usize]).or_default() += n;
            }
            sums.into_iter().collect()
        };
        Counts {
            columns: numbers,
            values: places.iter().map(|&p| self.values[p].clone()).collect(),
            groups: self.groups.iter().map(group).collect(),
            rows,
        }
    }

    /// The value of a column in the first row of a group: of a label, in every row.
    pub fn label(&self, column: usize, group: usize) -> Option<&str> {
        let at = self.columns.iter().position(|&c| c == column)?;
        let (row, _) = self.groups.get(group)?.first()?;
        Some(&self.values[at][self.rows[*row as usize][at] as usize])
    }

    /// The values of a column by group.
    pub fn of_column(&self, column: usize, group: usize) -> Option<Vec<(u32, u64)>> {
        let at = self.columns.iter().position(|&c| c == column)?;
        let mut sums: Vec<(u32, u64)> =
            self.groups[group].iter().map(|&(r, n)| (self.rows[r as usize][at], n)).collect();
        sums.sort_unstable();
        sums.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            kept.1 += if same { next.1 } else { 0 };
            same
        });
        Some(sums)
    }
}

/// Tables that are being read.
struct Tables {
    groups: usize,
    list: Vec<Counts>,
    /// For each table and column the codes of values,
    codes: Vec<Vec<HashMap<String, u32>>>,
    /// and the indices of rows.
    rows: Vec<HashMap<Vec<u32>, u32>>,
}

impl Tables {
    fn add<'a>(
        &mut self,
        table: usize,
        group: u32,
        count: u64,
        row: impl Iterator<Item = (usize, &'a str)>,
    ) -> Result<(), Failures> {
        // Tables are few, and stand one after another.
        if table > self.list.len() + 64 {
            return Err(damaged());
        }
        while self.list.len() <= table {
            self.list.push(Counts { groups: vec![Vec::new(); self.groups], ..Counts::default() });
            self.codes.push(Vec::new());
            self.rows.push(HashMap::new());
        }
        let (of, codes) = (&mut self.list[table], &mut self.codes[table]);
        let mut tuple = Vec::new();
        for (at, (column, text)) in row.enumerate() {
            if at == of.columns.len() && of.rows.is_empty() {
                of.columns.push(column);
                of.values.push(Vec::new());
                codes.push(HashMap::new());
            }
            if of.columns.get(at) != Some(&column) {
                return Err(damaged());
            }
            tuple.push(match codes[at].get(text) {
                Some(&code) => code,
                None => {
                    let code = of.values[at].len() as u32;
                    of.values[at].push(text.to_owned());
                    codes[at].insert(text.to_owned(), code);
                    code
                }
            });
        }
        if tuple.len() != of.columns.len() {
            return Err(damaged());
        }
        let next = of.rows.len() as u32;
        let row = *self.rows[table].entry(tuple).or_insert_with_key(|tuple| {
            of.rows.push(tuple.clone());
            next
        });
        of.groups.get_mut(group as usize).ok_or_else(damaged)?.push((row, count));
        Ok(())
    }
}

impl Members {
    /// As a file.
    pub fn write(&self) -> Result<Vec<u8>, Failures> {
        let people = pseudonym_array(&self.people)?;
        let mut columns: Vec<(&str, ArrayRef)> = vec![
            ("person", Arc::new(people)),
            ("place", Arc::new(UInt32Array::from(self.places.clone()))),
        ];
        for tags in &self.tags {
            columns.push(("tag", Arc::new(UInt32Array::from(tags.clone()))));
        }
        let names: Vec<String> = columns
            .iter()
            .enumerate()
            .map(|(i, (n, _))| if i < 2 { (*n).into() } else { format!("tag{}", i - 2) })
            .collect();
        to_parquet(
            names.iter().map(String::as_str).zip(columns.into_iter().map(|(_, c)| c)).collect(),
        )
    }

    /// From a file, of a release with so many sensitive attributes.
    pub fn read(bytes: Vec<u8>, attributes: usize) -> Result<Members, Failures> {
        let mut members = Members { tags: vec![Vec::new(); attributes], ..Members::default() };
        for batch in from_parquet(bytes, 2 + attributes..=2 + attributes)? {
            read_people(batch.column(0), &mut members.people)?;
            members.places.extend_from_slice(
                batch.column(1).as_primitive_opt::<UInt32Type>().ok_or_else(damaged)?.values(),
            );
            for (i, tags) in members.tags.iter_mut().enumerate() {
                tags.extend(
                    batch
                        .column(2 + i)
                        .as_primitive_opt::<UInt32Type>()
                        .ok_or_else(damaged)?
                        .iter(),
                );
            }
        }
        Ok(members)
    }

    /// Tags and places without the people, who are those of another file in the same order.
    pub fn write_open(&self) -> Result<Vec<u8>, Failures> {
        let names: Vec<String> = (0..self.tags.len()).map(|i| format!("tag{i}")).collect();
        let mut columns: Vec<(&str, ArrayRef)> =
            vec![("place", Arc::new(UInt32Array::from(self.places.clone())))];
        for (name, tags) in names.iter().zip(&self.tags) {
            columns.push((name, Arc::new(UInt32Array::from(tags.clone()))));
        }
        to_parquet(columns)
    }

    /// Reads places and tags of so many columns, of these people.
    pub fn read_open(
        bytes: Vec<u8>,
        columns: usize,
        people: Vec<Pseudonym>,
    ) -> Result<Members, Failures> {
        let mut members = Members { people, places: Vec::new(), tags: vec![Vec::new(); columns] };
        for batch in from_parquet(bytes, 1 + columns..=1 + columns)? {
            let column =
                |i: usize| batch.column(i).as_primitive_opt::<UInt32Type>().ok_or_else(damaged);
            members.places.extend_from_slice(column(0)?.values());
            for (i, tags) in members.tags.iter_mut().enumerate() {
                tags.extend(column(1 + i)?.iter());
            }
        }
        if members.places.len() != members.people.len() {
            return Err(damaged());
        }
        Ok(members)
    }

    /// In the order of the people; somebody who is there twice is a mistake of the caller.
    pub fn sorted(mut self) -> Members {
        let mut order: Vec<u32> = (0..self.people.len() as u32).collect();
        order.sort_unstable_by_key(|&i| self.people[i as usize]);
        self.people = order.iter().map(|&i| self.people[i as usize]).collect();
        self.places = order.iter().map(|&i| self.places[i as usize]).collect();
        for tags in &mut self.tags {
            *tags = order.iter().map(|&i| tags[i as usize]).collect();
        }
        self
    }
}

/// A set of pseudonyms as a file.
pub fn write_pseudonyms(people: &[Pseudonym]) -> Result<Vec<u8>, Failures> {
    to_parquet(vec![("person", Arc::new(pseudonym_array(people)?))])
}

/// Reads it.
pub fn read_pseudonyms(bytes: Vec<u8>) -> Result<Vec<Pseudonym>, Failures> {
    let mut all = Vec::new();
    for batch in from_parquet(bytes, 1..=1)? {
        read_people(batch.column(0), &mut all)?;
    }
    Ok(all)
}

fn pseudonym_array(people: &[Pseudonym]) -> Result<FixedSizeBinaryArray, Failures> {
    let bytes = people.iter().map(|p| p.to_be_bytes());
    let array = FixedSizeBinaryArray::try_from_iter(bytes).or_else(|_| {
        // Nobody is in it.
        FixedSizeBinaryArray::try_new(16, Vec::<u8>::new().into(), None)
    });
    array.map_err(unmade)
}

fn read_people(column: &ArrayRef, people: &mut Vec<Pseudonym>) -> Result<(), Failures> {
    for person in column.as_fixed_size_binary_opt().ok_or_else(damaged)?.iter() {
        let bytes: [u8; 16] = person.and_then(|p| p.try_into().ok()).ok_or_else(damaged)?;
        people.push(u128::from_be_bytes(bytes));
    }
    Ok(())
}

/// Places where people may be.
pub fn write_places(places: &[Located]) -> Result<Vec<u8>, Failures> {
    let (mut numbers, mut groups, mut absent) = (Vec::new(), Vec::new(), Vec::new());
    for (number, place) in (0u32..).zip(places) {
        // Somebody who may only be absent still has a place.
        let some: Vec<Option<u32>> = if place.groups.is_empty() {
            vec![None]
        } else {
            place.groups.iter().copied().map(Some).collect()
        };
        for group in some {
            numbers.push(number);
            groups.push(group);
            absent.push(place.may_be_absent);
        }
    }
    to_parquet(vec![
        ("place", Arc::new(UInt32Array::from(numbers))),
        ("group", Arc::new(UInt32Array::from(groups))),
        ("may_be_absent", Arc::new(BooleanArray::from(absent))),
    ])
}

/// Reads them.
pub fn read_places(bytes: Vec<u8>) -> Result<Vec<Located>, Failures> {
    let mut places: Vec<Located> = Vec::new();
    for batch in from_parquet(bytes, 3..=3)? {
        let number = batch.column(0).as_primitive_opt::<UInt32Type>().ok_or_else(damaged)?;
        let group = batch.column(1).as_primitive_opt::<UInt32Type>().ok_or_else(damaged)?;
        let absent = batch.column(2).as_boolean_opt().ok_or_else(damaged)?;
        for i in 0..batch.num_rows() {
            let at = number.value(i) as usize;
            if at == places.len() {
                places.push(Located { groups: Vec::new(), may_be_absent: absent.value(i) });
            }
            let place = places.get_mut(at).ok_or_else(damaged)?;
            place.groups.extend((!group.is_null(i)).then(|| group.value(i)));
        }
    }
    Ok(places)
}

fn damaged() -> Failures {
    Failure::data("ledger-damaged", "a file that the ledger keeps is damaged")
        .hint("restore the ledger from a copy")
        .into()
}

fn unmade(e: impl std::fmt::Display) -> Failures {
    Failure::bug("internal", format!("the ledger's file cannot be made: {e}")).into()
}

fn to_parquet(columns: Vec<(&str, ArrayRef)>) -> Result<Vec<u8>, Failures> {
    let batch = RecordBatch::try_from_iter(columns).map_err(unmade)?;
    // Pseudonyms do not compress, and the rest compresses well and fast.
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_column_dictionary_enabled("person".into(), false)
        .set_column_compression("person".into(), Compression::UNCOMPRESSED)
        .build();
    let mut writer =
        ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).map_err(unmade)?;
    writer.write(&batch).map_err(unmade)?;
    writer.into_inner().map_err(unmade)
}

fn from_parquet(
    bytes: Vec<u8>,
    columns: RangeInclusive<usize>,
) -> Result<Vec<RecordBatch>, Failures> {
    // A damaged file may make the library panic.
    let batches: Vec<RecordBatch> = guarded(|| {
        let reader =
            ParquetRecordBatchReaderBuilder::try_new(Bytes::from(bytes)).map_err(|_| damaged())?;
        let reader = reader.with_batch_size(1 << 16).build().map_err(|_| damaged())?;
        reader.collect::<Result<_, _>>().map_err(|_| damaged())
    })
    .unwrap_or_else(|_| Err(damaged()))?;
    if batches.iter().any(|b| !columns.contains(&b.num_columns())) {
        return Err(damaged());
    }
    Ok(batches)
}
