//! What a ledger keeps of a release besides its entry, as columnar files: who is in which group, and what groups show.
//!
//! Groups, labels and counts are published. Members are pseudonyms; a tag beside each tells whether the person's value is
//! the same as in another release, to whoever has the key, and nothing else to anybody.

use super::key::Pseudonym;
use arrow_array::cast::AsArray;
use arrow_array::types::{UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, FixedSizeBinaryArray, RecordBatch, StringArray, UInt16Array, UInt32Array,
    UInt64Array,
};
use bytes::Bytes;
use hashbrown::HashMap;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use scumble::inference::Located;
use scumble::problem::{Problem, Problems};
use scumble::release::{Release, Shape};
use scumble::table::published;
use std::sync::Arc;

/// Who is in a release.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Members {
    /// The people, rising, each once.
    pub people: Vec<Pseudonym>,
    /// Where each of them is: the index of a group, or of a place where it is not known in which group somebody is.
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
}

/// The values of a sensitive attribute by group.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counts {
    /// The values.
    pub values: Vec<String>,
    /// For each group the codes of its values with their counts.
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
        }
    }

    /// As a file.
    pub fn write(&self) -> Result<Vec<u8>, Problems> {
        to_parquet(vec![
            ("label", Arc::new(StringArray::from_iter_values(&self.labels))),
            ("size", Arc::new(UInt64Array::from(self.sizes.clone()))),
            ("counterfeits", Arc::new(UInt64Array::from(self.counterfeits.clone()))),
        ])
    }

    /// From a file.
    pub fn read(bytes: Vec<u8>) -> Result<Groups, Problems> {
        let mut groups = Groups::default();
        for batch in from_parquet(bytes, 3)? {
            let labels = batch.column(0).as_string_opt::<i32>().ok_or_else(damaged)?;
            groups.labels.extend(labels.iter().map(|l| l.unwrap_or("").to_owned()));
            groups
                .sizes
                .extend_from_slice(batch.column(1).as_primitive_opt::<UInt64Type>().ok_or_else(damaged)?.values());
            let counterfeits = batch.column(2).as_primitive_opt::<UInt64Type>().ok_or_else(damaged)?;
            groups.counterfeits.extend_from_slice(counterfeits.values());
        }
        Ok(groups)
    }
}

impl Counts {
    /// The values of every published sensitive attribute of a release.
    pub fn of(release: &Release) -> Vec<Counts> {
        let counts = |(i, attribute): (usize, &scumble::table::Attribute)| {
            let taxonomy = &attribute.taxonomy;
            Counts {
                values: (0..taxonomy.leaves() as u32).map(|leaf| taxonomy.leaf(leaf).to_owned()).collect(),
                groups: release.classes.iter().map(|c| c.histograms[i].0.clone()).collect(),
            }
        };
        published(&release.sensitive).iter().enumerate().map(counts).collect()
    }

    /// All attributes in one file.
    pub fn write(all: &[Counts]) -> Result<Vec<u8>, Problems> {
        let (mut attributes, mut groups, mut values, mut counts) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (attribute, of) in (0u16..).zip(all) {
            for (group, pairs) in (0u32..).zip(&of.groups) {
                for &(value, count) in pairs {
                    attributes.push(attribute);
                    groups.push(group);
                    values.push(of.values[value as usize].as_str());
                    counts.push(count);
                }
            }
        }
        to_parquet(vec![
            ("attribute", Arc::new(UInt16Array::from(attributes))),
            ("group", Arc::new(UInt32Array::from(groups))),
            ("value", Arc::new(StringArray::from_iter_values(values))),
            ("count", Arc::new(UInt64Array::from(counts))),
        ])
    }

    /// Those of one attribute, of a release with so many groups.
    pub fn read(bytes: Vec<u8>, attribute: u16, groups: usize) -> Result<Counts, Problems> {
        let mut read = Counts { values: Vec::new(), groups: vec![Vec::new(); groups] };
        let mut codes: HashMap<String, u32> = HashMap::new();
        for batch in from_parquet(bytes, 4)? {
            let of = batch.column(0).as_primitive_opt::<UInt16Type>().ok_or_else(damaged)?;
            let group = batch.column(1).as_primitive_opt::<UInt32Type>().ok_or_else(damaged)?;
            let value = batch.column(2).as_string_opt::<i32>().ok_or_else(damaged)?;
            let count = batch.column(3).as_primitive_opt::<UInt64Type>().ok_or_else(damaged)?;
            for i in (0..batch.num_rows()).filter(|&i| of.value(i) == attribute) {
                let text = value.value(i);
                let code = match codes.get(text) {
                    Some(&code) => code,
                    None => {
                        let code = read.values.len() as u32;
                        read.values.push(text.to_owned());
                        codes.insert(text.to_owned(), code);
                        code
                    }
                };
                read.groups.get_mut(group.value(i) as usize).ok_or_else(damaged)?.push((code, count.value(i)));
            }
        }
        Ok(read)
    }
}

impl Members {
    /// As a file.
    pub fn write(&self) -> Result<Vec<u8>, Problems> {
        let people = pseudonym_array(&self.people)?;
        let mut columns: Vec<(&str, ArrayRef)> =
            vec![("person", Arc::new(people)), ("place", Arc::new(UInt32Array::from(self.places.clone())))];
        for tags in &self.tags {
            columns.push(("tag", Arc::new(UInt32Array::from(tags.clone()))));
        }
        let names: Vec<String> = columns
            .iter()
            .enumerate()
            .map(|(i, (n, _))| if i < 2 { (*n).into() } else { format!("tag{}", i - 2) })
            .collect();
        to_parquet(names.iter().map(String::as_str).zip(columns.into_iter().map(|(_, c)| c)).collect())
    }

    /// From a file, of a release with so many sensitive attributes.
    pub fn read(bytes: Vec<u8>, attributes: usize) -> Result<Members, Problems> {
        let mut members = Members { tags: vec![Vec::new(); attributes], ..Members::default() };
        for batch in from_parquet(bytes, 2 + attributes)? {
            read_people(batch.column(0), &mut members.people)?;
            members
                .places
                .extend_from_slice(batch.column(1).as_primitive_opt::<UInt32Type>().ok_or_else(damaged)?.values());
            for (i, tags) in members.tags.iter_mut().enumerate() {
                tags.extend(batch.column(2 + i).as_primitive_opt::<UInt32Type>().ok_or_else(damaged)?.iter());
            }
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
pub fn write_pseudonyms(people: &[Pseudonym]) -> Result<Vec<u8>, Problems> {
    to_parquet(vec![("person", Arc::new(pseudonym_array(people)?))])
}

/// Reads it.
pub fn read_pseudonyms(bytes: Vec<u8>) -> Result<Vec<Pseudonym>, Problems> {
    let mut all = Vec::new();
    for batch in from_parquet(bytes, 1)? {
        read_people(batch.column(0), &mut all)?;
    }
    Ok(all)
}

fn pseudonym_array(people: &[Pseudonym]) -> Result<FixedSizeBinaryArray, Problems> {
    let bytes = people.iter().map(|p| p.to_be_bytes());
    let array = FixedSizeBinaryArray::try_from_iter(bytes).or_else(|_| {
        // Nobody is in it.
        FixedSizeBinaryArray::try_new(16, Vec::<u8>::new().into(), None)
    });
    array.map_err(|e| Problem::new(format!("the ledger's file cannot be made: {e}")).into())
}

fn read_people(column: &ArrayRef, people: &mut Vec<Pseudonym>) -> Result<(), Problems> {
    for person in column.as_fixed_size_binary_opt().ok_or_else(damaged)?.iter() {
        let bytes: [u8; 16] = person.and_then(|p| p.try_into().ok()).ok_or_else(damaged)?;
        people.push(u128::from_be_bytes(bytes));
    }
    Ok(())
}

/// Places where people may be.
pub fn write_places(places: &[Located]) -> Result<Vec<u8>, Problems> {
    let (mut numbers, mut groups, mut absent) = (Vec::new(), Vec::new(), Vec::new());
    for (number, place) in (0u32..).zip(places) {
        // Somebody who may only be absent still has a place.
        let some: Vec<Option<u32>> =
            if place.groups.is_empty() { vec![None] } else { place.groups.iter().copied().map(Some).collect() };
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
pub fn read_places(bytes: Vec<u8>) -> Result<Vec<Located>, Problems> {
    let mut places: Vec<Located> = Vec::new();
    for batch in from_parquet(bytes, 3)? {
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

fn damaged() -> Problems {
    Problem::new("a file that the ledger keeps is damaged").hint("restore the ledger from a copy").into()
}

fn to_parquet(columns: Vec<(&str, ArrayRef)>) -> Result<Vec<u8>, Problems> {
    let failed = |e: String| Problems::from(Problem::new(format!("the ledger's file cannot be made: {e}")));
    let batch = RecordBatch::try_from_iter(columns).map_err(|e| failed(e.to_string()))?;
    // Pseudonyms do not compress, and the rest compresses well and fast.
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_column_dictionary_enabled("person".into(), false)
        .set_column_compression("person".into(), Compression::UNCOMPRESSED)
        .build();
    let mut writer =
        ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).map_err(|e| failed(e.to_string()))?;
    writer.write(&batch).map_err(|e| failed(e.to_string()))?;
    writer.into_inner().map_err(|e| failed(e.to_string()))
}

fn from_parquet(bytes: Vec<u8>, columns: usize) -> Result<Vec<RecordBatch>, Problems> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(Bytes::from(bytes)).map_err(|_| damaged())?;
    let reader = reader.with_batch_size(1 << 16).build().map_err(|_| damaged())?;
    let batches: Vec<RecordBatch> = reader.collect::<Result<_, _>>().map_err(|_| damaged())?;
    if batches.iter().any(|b| b.num_columns() != columns) {
        return Err(damaged());
    }
    Ok(batches)
}
