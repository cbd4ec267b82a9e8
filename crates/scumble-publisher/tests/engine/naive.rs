//! An engine that answers every question by reading the whole table and counting in a map: the
//! smallest thing that keeps the contract of [`Engine`], as a twin of the one that is used.

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, StringArray};
use arrow_schema::{DataType, Field, Schema};
use scumble::failure::{Failure, Failures};
use scumble_publisher::answer::EngineReport;
use scumble_publisher::observer::Observer;
use scumble_publisher::publish::engine::{
    Asked, Engine, Estimate, Found, Passing, Put, Share, What,
};
use scumble_publisher::publish::levels::{Coded, Number, Question};
use scumble_publisher::table::columns::{self, Column, Columns, ReadOptions};
use scumble_publisher::table::dictionary::Dictionary;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::Arc;

/// The engine.
pub struct Naive {
    /// Distinct rows that may be in the process.
    pub most: u64,
    /// Formats that it says it reads.
    pub formats: &'static [&'static str],
}

impl Naive {
    /// One that reads every format, and may bring so many rows.
    pub fn new(most: u64) -> Naive {
        Naive { most, formats: &["csv", "parquet", "arrow"] }
    }
}

/// Records as texts.
type Texts = Vec<Vec<String>>;

fn read(table: &Path, options: &ReadOptions, wanted: &[String]) -> Result<Columns, Failures> {
    columns::read(table, options, Some(wanted), &|_, _| true)
}

/// The records of columns in an order of their own.
fn records(asked: &Asked, names: &[String]) -> Result<Texts, Failures> {
    let read = read(&asked.table, &asked.options, names)?;
    let column = |name: &String| read.columns.iter().find(|c| c.name == *name).expect("was read");
    let chosen: Vec<&Column> = names.iter().map(column).collect();
    let cell = |row: usize| move |c: &&Column| c.values.get(c.codes[row]).to_owned();
    Ok((0..read.rows).map(|row| chosen.iter().map(cell(row)).collect()).collect())
}

/// The names in the order of the table.
fn ordered(asked: &Asked, names: &[String]) -> Result<Vec<String>, Failures> {
    let header = columns::header(&asked.table, &asked.options)?;
    Ok(header.into_iter().filter(|name| names.contains(name)).collect())
}

/// A column of these texts.
fn column<'a>(name: &str, texts: impl Iterator<Item = &'a str>) -> Column {
    let mut values = Dictionary::new();
    let codes = texts.map(|text| values.intern(text)).collect();
    Column { name: name.to_owned(), values, codes, arrow: None }
}

fn columns_of(names: &[String], rows: &[&Vec<String>]) -> Columns {
    let of = |(i, name): (usize, &String)| column(name, rows.iter().map(|row| row[i].as_str()));
    let columns = names.iter().enumerate().map(of).collect();
    Columns { rows: rows.len(), columns, bytes: 0, dialect: None, sha256: None, weights: None }
}

/// Distinct rows in order, with their numbers.
fn distinct(records: Texts) -> BTreeMap<Vec<String>, u64> {
    let mut counts = BTreeMap::new();
    records.into_iter().for_each(|row| *counts.entry(row).or_insert(0) += 1);
    counts
}

/// The codes of every record.
fn codes(
    table: &Path,
    options: &ReadOptions,
    columns: &[Coded],
) -> Result<Vec<Vec<u32>>, Failures> {
    let names: Vec<String> = columns.iter().map(|c| c.name.clone()).collect();
    let all = columns::header(table, options)?;
    // Of no columns there are as many records as the table has.
    let asked = Asked { table: table.into(), options: options.clone(), wanted: all.clone() };
    let of: Vec<HashMap<&str, u32>> = columns
        .iter()
        .map(|c| c.codes.iter().map(|(text, code)| (text.as_str(), *code)).collect())
        .collect();
    let at: Vec<usize> =
        names.iter().map(|n| all.iter().position(|a| a == n).expect("a column")).collect();
    let row = |row: &Vec<String>| {
        at.iter().zip(&of).map(|(&at, of)| of[row[at].as_str()]).collect::<Vec<u32>>()
    };
    Ok(records(&asked, &all)?.iter().map(row).collect())
}

fn hash(seed: u64, record: &[String]) -> u64 {
    let mut hasher = DefaultHasher::new();
    (seed, record).hash(&mut hasher);
    hasher.finish()
}

impl Naive {
    fn counted(&self, asked: &Asked) -> Result<(Vec<String>, Columns), Failures> {
        let names = ordered(asked, &asked.wanted)?;
        let all = Asked { wanted: columns::header(&asked.table, &asked.options)?, ..asked.clone() };
        let at: Vec<usize> = names
            .iter()
            .map(|n| all.wanted.iter().position(|a| a == n).expect("a column"))
            .collect();
        let rows = records(&all, &all.wanted)?;
        let rows = rows.into_iter().map(|r| at.iter().map(|&i| r[i].clone()).collect()).collect();
        let counts = distinct(rows);
        let lines: Vec<&Vec<String>> = counts.keys().collect();
        let weights = Some(counts.values().copied().collect());
        let dialect = columns::dialect(&asked.table, &asked.options)?;
        Ok((names.clone(), Columns { weights, dialect, ..columns_of(&names, &lines) }))
    }

    fn too_many(&self, rows: u64) -> Option<Failure> {
        let message = format!("there are {rows} distinct rows, and {} are allowed", self.most);
        (rows > self.most).then(|| Failure::refused("memory-limit", message))
    }
}

impl Engine for Naive {
    fn formats(&self) -> &'static [&'static str] {
        self.formats
    }

    fn header(&self, table: &Path, options: &ReadOptions) -> Result<Vec<String>, Failures> {
        columns::header(table, options)
    }

    fn estimate(
        &self,
        asked: &Asked,
        passing: &Passing,
        _: &dyn Observer,
    ) -> Result<Estimate, Failures> {
        let counted = self.counted(asked)?.1;
        if let Some(person) = &passing.person {
            let persons = distinct(records(asked, std::slice::from_ref(person))?);
            assert!(persons.values().all(|&rows| rows == 1), "tests have one row per person");
        }
        let (records, rows) = (counted.records(), counted.rows as u64);
        Ok(Estimate { records, allowed: 1 << 30, too_much: self.too_many(rows) })
    }

    fn estimate_all(&self, tables: &[Asked], _: &dyn Observer) -> Result<(), Failures> {
        for asked in tables {
            let rows = self.counted(asked)?.1.rows as u64;
            self.too_many(rows).map_or(Ok(()), Err)?;
        }
        Ok(())
    }

    fn values(&self, asked: &Asked, _: &dyn Observer) -> Result<Columns, Failures> {
        let names = ordered(asked, &asked.wanted)?;
        let mut all = Vec::new();
        for name in &names {
            let values = distinct(records(asked, std::slice::from_ref(name))?);
            all.push(column(name, values.keys().map(|row| row[0].as_str())));
        }
        let rows = all.iter().map(|c| c.codes.len()).max().unwrap_or(0);
        all.iter_mut().for_each(|c| c.codes.resize(rows, 0));
        let dialect = columns::dialect(&asked.table, &asked.options)?;
        Ok(Columns { rows, columns: all, bytes: 0, dialect, sha256: None, weights: None })
    }

    fn parts(
        &self,
        question: &Question<'_>,
        _: &dyn Observer,
        take: &mut dyn FnMut(Number<'_>) -> Result<(), Failures>,
    ) -> Result<(), Failures> {
        let Question { table, options, quasi, sensitive, parts, by_itself } = question;
        let (quasi, sensitive) = (codes(table, options, quasi)?, codes(table, options, sensitive)?);
        type Key = (usize, Option<usize>, Vec<u32>, Vec<u32>);
        let mut counts: BTreeMap<Key, u64> = BTreeMap::new();
        for (quasi, sensitive) in quasi.into_iter().zip(sensitive) {
            let inside = |region: &&[scumble::class::Run]| {
                region.iter().zip(&quasi).all(|(run, &code)| run.contains(code))
            };
            let Some(part) = parts.iter().position(inside) else { continue };
            let mut add = |dim, quasi| {
                *counts.entry((part, dim, quasi, sensitive.clone())).or_default() += 1;
            };
            match by_itself {
                true => (0..quasi.len()).for_each(|dim| add(Some(dim), vec![quasi[dim]])),
                false => add(None, quasi.clone()),
            }
        }
        for ((part, dim, quasi, sensitive), count) in &counts {
            let (part, dim, count) = (*part, *dim, *count);
            take(Number { part, dim, quasi, sensitive, count })?;
        }
        Ok(())
    }

    fn most_rows(&self, _: usize) -> u64 {
        self.most.max(1)
    }

    fn fits(&self, rows: u64, _: usize) -> Result<(), Failure> {
        self.too_many(rows).map_or(Ok(()), Err)
    }

    fn rows(
        &self,
        table: &Path,
        options: &ReadOptions,
        codings: &[Vec<Coded>],
        _: &dyn Observer,
    ) -> Result<Vec<u64>, Failures> {
        let rows = |coding: &Vec<Coded>| {
            let all: BTreeSet<Vec<u32>> = codes(table, options, coding)?.into_iter().collect();
            Ok(all.len() as u64)
        };
        codings.iter().map(rows).collect()
    }

    fn sizes(
        &self,
        table: &Path,
        options: &ReadOptions,
        columns: &[Coded],
        _: &dyn Observer,
    ) -> Result<Vec<(u64, u64)>, Failures> {
        let mut counts: BTreeMap<Vec<u32>, u64> = BTreeMap::new();
        for row in codes(table, options, columns)? {
            *counts.entry(row).or_default() += 1;
        }
        let mut sizes: BTreeMap<u64, u64> = BTreeMap::new();
        counts.values().for_each(|&size| *sizes.entry(size).or_default() += 1);
        Ok(sizes.into_iter().collect())
    }

    fn count(&self, asked: &Asked, _: What, _: &dyn Observer) -> Result<Columns, Failures> {
        Ok(self.counted(asked)?.1)
    }

    fn count_extract(
        &self,
        asked: &Asked,
        plain: &[String],
        _: &dyn Observer,
    ) -> Result<(Columns, Found), Failures> {
        let (names, mut counted) = self.counted(asked)?;
        let plain = ordered(asked, plain)?;
        let cell = |c: &Column| -> ArrayRef {
            Arc::new(StringArray::from_iter_values(c.codes.iter().map(|&code| c.values.get(code))))
        };
        let fields = names.iter().map(|n| Field::new(n, DataType::Utf8, false));
        let cells = RecordBatch::try_new_with_options(
            Arc::new(Schema::new(fields.collect::<Vec<_>>())),
            counted.columns.iter().map(cell).collect(),
            &RecordBatchOptions::new().with_row_count(Some(counted.rows)),
        );
        let cells = cells.expect("columns of one length");
        // Columns that pass through stand in their places, without rows.
        let all = ordered(asked, &[&names[..], &plain[..]].concat())?;
        for (i, name) in all.iter().enumerate().filter(|(_, name)| plain.contains(name)) {
            counted.columns.insert(i, column(name, std::iter::empty()));
        }
        let asked = Asked { wanted: names, ..asked.clone() };
        Ok((counted, Found { asked, plain, cells }))
    }

    fn records(
        &self,
        found: &Found,
        shares: &[Share],
        seed: u64,
        _: &dyn Observer,
        put: Put<'_>,
    ) -> Result<(), Failures> {
        let keys = &found.asked.wanted;
        let all = [&keys[..], &found.plain[..]].concat();
        let text = |line: usize| {
            let cell = |c: &ArrayRef| -> String {
                let texts = c.as_any().downcast_ref::<StringArray>();
                texts.expect("written by this engine").value(line).to_owned()
            };
            found.cells.columns().iter().map(cell).collect::<Vec<String>>()
        };
        let line_of: HashMap<Vec<String>, u32> =
            (0..found.cells.num_rows()).map(|line| (text(line), line as u32)).collect();
        let mut of_line: BTreeMap<u32, Texts> = BTreeMap::new();
        for record in records(&found.asked, &all)? {
            of_line.entry(line_of[&record[..keys.len()]]).or_default().push(record);
        }
        let by_hash = |record: &Vec<String>| (hash(seed, record), record.clone());
        of_line.values_mut().for_each(|records| records.sort_by_cached_key(by_hash));
        let mut brought = Vec::new();
        for share in shares {
            let records = of_line.get_mut(&share.line).expect("was counted");
            for record in records.drain(..share.count as usize) {
                brought.push((share.class, hash(seed, &record), record, share.row));
            }
        }
        brought.sort();
        for some in brought.chunks(100) {
            let classes: Vec<u32> = some.iter().map(|b| b.0).collect();
            let rows: Vec<u32> = some.iter().map(|b| b.3).collect();
            let plain: Texts = some.iter().map(|b| b.2[keys.len()..].to_vec()).collect();
            put(&classes, &rows, &columns_of(&found.plain, &plain.iter().collect::<Vec<_>>()))?;
        }
        Ok(())
    }

    fn scan(
        &self,
        asked: &Asked,
        put: &mut dyn FnMut(&Columns) -> Result<(), Failures>,
    ) -> Result<(), Failures> {
        let rows = records(asked, &asked.wanted)?;
        for some in rows.chunks(64) {
            put(&columns_of(&asked.wanted, &some.iter().collect::<Vec<_>>()))?;
        }
        Ok(())
    }

    fn report(&self) -> EngineReport {
        EngineReport { name: "naive".into(), ..EngineReport::default() }
    }
}
