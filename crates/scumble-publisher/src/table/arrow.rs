//! Columns from Arrow arrays, every cell as text: what Parquet and Arrow files, tables in memory,
//! databases and engines have in common.
//!
//! Text, because taxonomies and policies speak of texts: `39`, `2020-02-29`, `true`. A null is the
//! empty text, as in CSV, so that the same table gives the same codes in every format. An instant
//! with a time zone is written in UTC, which needs no table of zones and cannot be ambiguous. What
//! has no text that anybody would write in a policy (structs, lists, maps) is a problem, if it is
//! wanted.
//!
//! Formatting is slow and values repeat, so cells are never formatted one by one where it can be
//! helped: strings are asked for as dictionaries, numbers and dates are packed into dictionaries
//! batch by batch, and only the distinct values become text.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, LargeStringArray, RecordBatch, StringArray, StringViewArray};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::{ArrowError, DataType, Field, SchemaRef};
use rayon::prelude::*;
use scumble::failure::{Failure, Failures};
use sha2::{Digest, Sha256};

use crate::table::columns::{
    Column, Columns, Progress, ReadOptions, check_names, hex, open, select, threads, unreadable,
};
use crate::table::dictionary::Dictionary;
use crate::table::guard::{Meter, Panicked, guarded};

pub(crate) mod ipc;

/// Rows decoded at a time, at most.
const BATCH: usize = 1 << 16;
/// What `seen` holds for a value that has no code yet.
const NO_CODE: u32 = u32::MAX;

/// The names of the columns of a table in memory.
pub(crate) fn memory_header(name: &str, schema: &SchemaRef) -> Result<Vec<String>, Failures> {
    check_names(Path::new(name), names(schema))
}

/// Reads the wanted columns of a table in memory.
pub(crate) fn read_memory(
    name: &str,
    (schema, batches): (&SchemaRef, &[RecordBatch]),
    options: &ReadOptions,
    wanted: Option<&[String]>,
    progress: Progress<'_>,
) -> Result<Columns, Failures> {
    let path = Path::new(name);
    let chosen = choose(path, schema, wanted)?;
    let threads = threads(options).min(chosen.len()).max(1);
    let rows: u64 = batches.iter().map(|batch| batch.num_rows() as u64).sum();
    // The caller holds the data already: what is made of them is no larger.
    let meter = Arc::new(Meter::unlimited());
    let (mut done, mut rest) = (0, batches.iter().flat_map(slices));
    let next = || {
        let Some(batch) = rest.next() else { return Ok(None) };
        done += batch.num_rows() as u64;
        progress.step(done, rows)?;
        let columns = chosen.iter().map(|&i| batch.column(i).clone()).collect();
        Ok(Some((batch.num_rows(), columns)))
    };
    let fault = |column: usize, fault: Fault| match fault {
        Fault::Unwritable => unwritable(path, schema.field(chosen[column]).name()),
        Fault::TooLarge => meter.too_large(path),
        Fault::Panicked(p) => panicked(path, "Arrow", p),
    };
    let (rows, coders) = distribute(chosen.len(), threads, &meter, next, fault)?;
    let columns =
        chosen.iter().zip(coders).map(|(&i, coder)| coder.column(schema.field(i))).collect();
    Ok(Columns { rows, columns, bytes: 0, dialect: None, sha256: None, weights: None })
}

/// A batch in pieces that are worked on one after the other. A frame of another library is often
/// one batch of all rows.
fn slices(batch: &RecordBatch) -> impl Iterator<Item = RecordBatch> + '_ {
    let rows = batch.num_rows();
    (0..rows).step_by(BATCH).map(move |from| batch.slice(from, BATCH.min(rows - from)))
}

pub(crate) fn names(schema: &SchemaRef) -> Vec<String> {
    schema.fields().iter().map(|field| field.name().clone()).collect()
}

pub(crate) fn size(path: &Path) -> Result<u64, Failures> {
    Ok(path.metadata().map_err(|e| unreadable(path, &e))?.len())
}

/// The wanted columns, which must have names and be flat.
pub(crate) fn choose(
    path: &Path,
    schema: &SchemaRef,
    wanted: Option<&[String]>,
) -> Result<Vec<usize>, Failures> {
    let chosen = select(path, &check_names(path, names(schema))?, wanted)?;
    let mut problems = Failures::default();
    for field in
        chosen.iter().map(|&i| schema.field(i)).filter(|field| field.data_type().is_nested())
    {
        let (name, kind) = (field.name(), kind(field.data_type()));
        let problem = Failure::data(
            "nested-column",
            format!("column `{name}` of `{}` is nested: its type is {kind}", path.display()),
        );
        problems.push(problem.hint("flatten it into columns of simple values, or leave it out"));
    }
    problems.or(chosen)
}

/// The name of a nested type, without its inner fields, which may be long.
fn kind(nested: &DataType) -> &'static str {
    match nested {
        DataType::Struct(_) => "a struct",
        DataType::Map(..) => "a map",
        DataType::Union(..) => "a union",
        DataType::Dictionary(..) | DataType::RunEndEncoded(..) => "an encoding of nested values",
        _ => "a list",
    }
}

/// Does `work` and meanwhile, if asked, computes the file's hash, until the work was stopped.
pub(crate) fn hashing<T>(
    path: &Path,
    options: &ReadOptions,
    stopped: &AtomicBool,
    work: impl FnOnce() -> T,
) -> (T, Option<Result<String, Failures>>) {
    std::thread::scope(|scope| {
        let hasher = options
            .hash
            .then(|| scope.spawn(|| sha256(path, &|| !stopped.load(Ordering::Relaxed))));
        let done = work();
        (done, hasher.map(|h| h.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))))
    })
}

/// SHA-256 of a file in hexadecimal, as long as `go_on` says so.
pub(crate) fn sha256(path: &Path, go_on: &(dyn Fn() -> bool + Sync)) -> Result<String, Failures> {
    let (mut file, mut hash, mut buffer) = (open(path)?, Sha256::new(), vec![0; 1 << 18]);
    loop {
        if !go_on() {
            return Err(Failure::cancelled().into());
        }
        match file.read(&mut buffer) {
            Ok(0) => return Ok(hex(&hash.finalize())),
            Ok(n) => hash.update(&buffer[..n]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => (),
            Err(error) => return Err(unreadable(path, &error)),
        }
    }
}

/// A number of which the lowest byte comes first.
pub(crate) fn le(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// Some rows: how many, and their columns.
type Batch = (usize, Vec<ArrayRef>);

/// Why a column could not be encoded.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fault {
    /// A value of it cannot be written as text.
    Unwritable,
    /// Its texts take too much memory.
    TooLarge,
    /// It made the library panic.
    Panicked(Panicked),
}

/// Gets batch after batch and hands each to all threads, of which every one encodes some of the
/// columns. `problem` says what is wrong with a column.
pub(crate) fn distribute(
    columns: usize,
    threads: usize,
    meter: &Arc<Meter>,
    mut next: impl FnMut() -> Result<Option<Batch>, Failures>,
    problem: impl Fn(usize, Fault) -> Failures,
) -> Result<(usize, Vec<Coder>), Failures> {
    std::thread::scope(|scope| {
        let (mut senders, mut workers) = (Vec::new(), Vec::new());
        for first in 0..threads {
            let (sender, receiver) = sync_channel(2);
            let mine: Vec<usize> = (first..columns).step_by(threads).collect();
            senders.push(sender);
            workers.push(scope.spawn(move || encode(&receiver, mine, meter)));
        }
        let mut rows = 0;
        while let Some((more, arrays)) = next()? {
            rows += more;
            for sender in &senders {
                // A worker that stopped listening has met a problem, which its result tells.
                sender.send(arrays.clone()).unwrap_or_default();
            }
        }
        drop(senders);
        let mut coders: Vec<(usize, Coder)> = Vec::new();
        for worker in workers {
            let done = worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            coders.extend(done.map_err(|(column, fault)| problem(column, fault))?);
        }
        coders.sort_by_key(|(column, _)| *column);
        Ok((rows, coders.into_iter().map(|(_, coder)| coder).collect()))
    })
}

/// Encodes `columns` of all batches; the column that could not be, if there is one.
fn encode(
    batches: &Receiver<Vec<ArrayRef>>,
    columns: Vec<usize>,
    meter: &Arc<Meter>,
) -> Result<Vec<(usize, Coder)>, (usize, Fault)> {
    let mut coders: Vec<(usize, Coder)> =
        columns.into_iter().map(|column| (column, Coder::new(meter))).collect();
    for batch in batches {
        for (column, coder) in &mut coders {
            let added = guarded(|| coder.add(&batch[*column]))
                .map_err(|p| (*column, Fault::Panicked(p)))?;
            added.map_err(|e| match e {
                ArrowError::MemoryError(_) => (*column, Fault::TooLarge),
                _ => (*column, Fault::Unwritable),
            })?;
        }
    }
    Ok(coders)
}

/// Columns from batches that somebody else reads.
pub struct Gathered {
    schema: SchemaRef,
    coders: Vec<Coder>,
    weights: Option<Vec<u64>>,
    rows: usize,
}

impl Gathered {
    /// For batches that begin with the columns of this schema.
    pub fn new(schema: &SchemaRef) -> Gathered {
        let meter = Arc::new(Meter::unlimited());
        let coders = schema.fields().iter().map(|_| Coder::new(&meter)).collect();
        Gathered { schema: schema.clone(), coders, weights: None, rows: 0 }
    }

    /// Takes in some rows, and how many records each stands for. The error is the column with a
    /// value that cannot be written as text.
    pub fn add(&mut self, batch: &RecordBatch, weights: Option<&[u64]>) -> Result<(), String> {
        for ((coder, array), field) in
            self.coders.iter_mut().zip(batch.columns()).zip(self.schema.fields())
        {
            coder.add(array).map_err(|_| field.name().clone())?;
        }
        self.rows += batch.num_rows();
        if let Some(weights) = weights {
            self.weights.get_or_insert_default().extend_from_slice(weights);
        }
        Ok(())
    }

    /// The columns, rows in the order in which they came.
    pub fn columns(self) -> Columns {
        let columns = self
            .coders
            .into_iter()
            .zip(self.schema.fields())
            .map(|(c, field)| c.column(field))
            .collect();
        Columns {
            rows: self.rows,
            columns,
            bytes: 0,
            dialect: None,
            sha256: None,
            weights: self.weights,
        }
    }

    /// The columns with values and rows in order, so that nothing depends on the order in which
    /// they came; and for each row of them the place where it came.
    pub fn sorted(self) -> (Columns, Vec<u32>) {
        let mut columns = self.columns();
        columns.columns.par_iter_mut().for_each(sort_values);
        let mut places: Vec<u32> = (0..columns.rows as u32).collect();
        let codes: Vec<&[u32]> = columns.columns.iter().map(|c| c.codes.as_slice()).collect();
        let row = |place: u32| codes.iter().map(move |codes| codes[place as usize]);
        places.par_sort_unstable_by(|&a, &b| row(a).cmp(row(b)));
        let sort = |codes: &[u32]| places.iter().map(|&p| codes[p as usize]).collect::<Vec<u32>>();
        columns.columns.par_iter_mut().for_each(|c| c.codes = sort(&c.codes));
        columns.weights = columns.weights.map(|w| places.iter().map(|&p| w[p as usize]).collect());
        (columns, places)
    }
}

/// Numbers the values of a column by their order.
fn sort_values(column: &mut Column) {
    let mut order: Vec<u32> = (0..column.values.len() as u32).collect();
    order.sort_unstable_by_key(|&code| column.values.get(code));
    let (mut values, mut code_of) = (Dictionary::new(), vec![0; order.len()]);
    order.iter().for_each(|&old| code_of[old as usize] = values.intern(column.values.get(old)));
    column.values = values;
    column.codes.iter_mut().for_each(|code| *code = code_of[*code as usize]);
}

/// Encodes one column.
pub(crate) struct Coder {
    /// Counts the texts of all columns.
    meter: Arc<Meter>,
    values: Dictionary,
    codes: Vec<u32>,
    /// The last Arrow dictionary and the codes of those of its values that were used. Often the
    /// next batch has the same.
    seen: Option<(ArrayRef, Vec<u32>)>,
    /// The text of a cell.
    text: String,
}

impl Coder {
    pub fn new(meter: &Arc<Meter>) -> Coder {
        Coder {
            meter: meter.clone(),
            values: Dictionary::default(),
            codes: Vec::new(),
            seen: None,
            text: String::new(),
        }
    }

    pub fn column(self, field: &Field) -> Column {
        let (name, arrow) = (field.name().clone(), Some(field.data_type().clone()));
        Column { name, values: self.values, codes: self.codes, arrow }
    }

    /// Encodes some rows. The error is a [`ArrowError::MemoryError`] if the limit is reached.
    pub fn add(&mut self, array: &ArrayRef) -> Result<(), ArrowError> {
        if !self.meter.take(4 * array.len() as u64) {
            return Err(ArrowError::MemoryError(String::new()));
        }
        self.codes.reserve(array.len());
        match array.data_type() {
            DataType::Dictionary(..) => self.keys(array),
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => self.cells(array),
            DataType::Timestamp(unit, Some(zone)) if &**zone != "+00:00" => {
                let utc = DataType::Timestamp(*unit, Some("+00:00".into()));
                self.add(&arrow_cast::cast(array, &utc)?)
            }
            other => {
                let packed = DataType::Dictionary(DataType::Int32.into(), other.clone().into());
                match arrow_cast::cast(array, &packed) {
                    Ok(array) => self.keys(&array),
                    Err(_) => self.cells(array),
                }
            }
        }
    }

    /// Cell by cell.
    fn cells(&mut self, array: &ArrayRef) -> Result<(), ArrowError> {
        let texts = Texts::of(array)?;
        let nulls = array.logical_nulls();
        for row in 0..array.len() {
            let null = nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
            let code = if null { self.values.intern("") } else { self.code(&texts, row)? };
            self.codes.push(code);
        }
        Ok(())
    }

    /// By the keys of a dictionary, whose values become text when they are first used: their codes
    /// are then in the order of the rows, and values that no row has do not appear.
    fn keys(&mut self, array: &ArrayRef) -> Result<(), ArrowError> {
        let dictionary = array.as_any_dictionary();
        let from = dictionary.values();
        let nulls = array.logical_nulls();
        if from.is_empty() || nulls.as_ref().is_some_and(|nulls| nulls.null_count() == array.len())
        {
            let null = if array.is_empty() { NO_CODE } else { self.values.intern("") };
            self.codes.extend(std::iter::repeat_n(null, array.len()));
            return Ok(());
        }
        let mut seen = match self.seen.take() {
            Some((last, seen)) if Arc::ptr_eq(&last, from) => seen,
            _ => vec![NO_CODE; from.len()],
        };
        let texts = Texts::of(from)?;
        for (row, key) in dictionary.normalized_keys().into_iter().enumerate() {
            let code = if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
                self.values.intern("")
            } else if seen[key] != NO_CODE {
                seen[key]
            } else {
                seen[key] = self.code(&texts, key)?;
                seen[key]
            };
            self.codes.push(code);
        }
        self.seen = Some((from.clone(), seen));
        Ok(())
    }

    fn code(&mut self, texts: &Texts<'_>, row: usize) -> Result<u32, ArrowError> {
        let text = match texts {
            Texts::Small(array) => array.value(row),
            Texts::Large(array) => array.value(row),
            Texts::View(array) => array.value(row),
            Texts::Shown(formatter) => {
                self.text.clear();
                formatter
                    .value(row)
                    .write(&mut self.text)
                    .map_err(|_| ArrowError::CastError(String::new()))?;
                &self.text
            }
        };
        let before = self.values.len();
        let code = self.values.intern(text);
        if self.values.len() > before && !self.meter.take(text.len() as u64) {
            return Err(ArrowError::MemoryError(String::new()));
        }
        Ok(code)
    }
}

/// The cells of an array as text: strings as they are, other types formatted.
enum Texts<'a> {
    Small(&'a StringArray),
    Large(&'a LargeStringArray),
    View(&'a StringViewArray),
    Shown(ArrayFormatter<'a>),
}

impl Texts<'_> {
    fn of(array: &ArrayRef) -> Result<Texts<'_>, ArrowError> {
        const PLAIN: FormatOptions<'static> = FormatOptions::new().with_display_error(false);
        Ok(match array.data_type() {
            DataType::Utf8 => Texts::Small(array.as_string()),
            DataType::LargeUtf8 => Texts::Large(array.as_string()),
            DataType::Utf8View => Texts::View(array.as_string_view()),
            _ => Texts::Shown(ArrayFormatter::try_new(array, &PLAIN)?),
        })
    }
}

pub(crate) fn broken(path: &Path, format: &str, error: &dyn std::error::Error) -> Failures {
    let problem = Failure::data(
        "damaged-file",
        format!("`{}` cannot be read as {format}: {error}", path.display()),
    );
    problem.hint("the file is damaged, incomplete or of another format").into()
}

/// The library that decodes the format panicked. What it said may hold data.
pub(crate) fn panicked(path: &Path, format: &str, _: Panicked) -> Failures {
    Failure::data(
        "damaged-file",
        format!("`{}` cannot be read as {format}: its parts contradict each other", path.display()),
    )
    .hint("the file is damaged or was made to do harm")
    .into()
}

/// Says nothing of the value, which is a person's.
pub(crate) fn unwritable(path: &Path, column: &str) -> Failures {
    let message = format!(
        "column `{column}` of `{}` has a value that cannot be written as text",
        path.display()
    );
    Failure::data("unwritable-value", message).hint("convert the column to strings").into()
}
