//! Reading of Parquet and Arrow IPC, every cell as text.
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
//!
//! Threads share the work by columns, not by row groups: each column is then encoded by one thread
//! from top to bottom and nothing has to be merged. Parquet is made for it; every thread decodes
//! only the pages of its own column. An IPC file is read by one thread, which is little more than
//! copying, and the batches are handed to all.

use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, LargeStringArray, RecordBatch, StringArray, StringViewArray};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use rayon::prelude::*;
use scumble::failure::{Failure, Failures};
use sha2::{Digest, Sha256};

use crate::table::columns::{
    Column, Columns, Progress, ReadOptions, check_names, each, hex, open, select, threads,
    unreadable,
};
use crate::table::dictionary::Dictionary;
use crate::table::guard::{Meter, Panicked, guarded};

mod ipc;

/// Rows decoded at a time, at most.
const BATCH: usize = 1 << 16;
/// Bytes that a batch of a column should have, at most.
const BATCH_BYTES: u64 = 1 << 24;
/// What `seen` holds for a value that has no code yet.
const NO_CODE: u32 = u32::MAX;

/// The names of the columns of a Parquet file.
pub(crate) fn parquet_header(path: &Path) -> Result<Vec<String>, Failures> {
    check_names(path, names(metadata(path)?.schema()))
}

/// The names of the columns of an IPC file or stream.
pub(crate) fn ipc_header(path: &Path) -> Result<Vec<String>, Failures> {
    check_names(path, names(&Batches::open(path, None)?.schema()))
}

/// Reads the wanted columns of a Parquet file.
pub(crate) fn read_parquet(
    path: &Path,
    options: &ReadOptions,
    wanted: Option<&[String]>,
    progress: Progress<'_>,
) -> Result<Columns, Failures> {
    let plain = metadata(path)?;
    let chosen = choose(path, plain.schema(), wanted)?;
    let bytes = size(path)?;
    let rows = plain.metadata().file_metadata().num_rows().max(0) as u64;
    let cells = rows.saturating_mul(chosen.len() as u64).max(1);
    let meter = Meter::new(bytes)?;
    chosen.iter().try_for_each(|&column| {
        meter.claim(path, 4 * u128::from(rows) + stated_bytes(&plain, column))
    })?;
    let meter = Arc::new(Meter::new(bytes)?);
    let packed = guarded(|| as_dictionaries(&plain)).map_err(|p| panicked(path, "Parquet", p))?;
    let (done, stopped) = (AtomicU64::new(0), AtomicBool::new(false));
    let tell = |rows: usize| {
        let done = done.fetch_add(rows as u64, Ordering::Relaxed) + rows as u64;
        let done = u128::from(bytes) * u128::from(done) / u128::from(cells);
        progress.step(done as u64, bytes).inspect_err(|_| stopped.store(true, Ordering::Relaxed))
    };
    let (columns, sha256) = hashing(path, options, &stopped, || {
        each(threads(options), chosen, |column| {
            let read = || parquet_column(path, &plain, &packed, column, &meter, &tell);
            guarded(read).unwrap_or_else(|p| Err(panicked(path, "Parquet", p)))
        })
    });
    let columns = Failures::all(columns)?;
    Ok(Columns {
        rows: rows as usize,
        columns,
        bytes,
        dialect: None,
        sha256: sha256.transpose()?,
        weights: None,
    })
}

/// Reads the wanted columns of an IPC file or stream.
pub(crate) fn read_ipc(
    path: &Path,
    options: &ReadOptions,
    wanted: Option<&[String]>,
    progress: Progress<'_>,
) -> Result<Columns, Failures> {
    let schema = Batches::open(path, None)?.schema();
    let chosen = choose(path, &schema, wanted)?;
    let bytes = size(path)?;
    let mut batches = Batches::open(path, Some(chosen.clone()))?;
    let threads = threads(options).min(chosen.len()).max(1);
    let meter = Arc::new(Meter::new(bytes)?);
    let stopped = AtomicBool::new(false);
    let next = || {
        let batch = guarded(|| batches.next()).map_err(|p| panicked(path, "Arrow", p))?;
        let Some(batch) = batch else { return Ok(None) };
        let batch = batch.map_err(|e| broken(path, "Arrow", &e))?;
        let position = batches.position().min(bytes);
        let told = progress.step(position, bytes);
        told.inspect_err(|_| stopped.store(true, Ordering::Relaxed))?;
        Ok(Some((batch.num_rows(), batch.columns().to_vec())))
    };
    let fault = |column: usize, fault: Fault| match fault {
        Fault::Unwritable => unwritable(path, schema.field(chosen[column]).name()),
        Fault::TooLarge => meter.too_large(path),
        Fault::Panicked(p) => panicked(path, "Arrow", p),
    };
    let (read, sha256) =
        hashing(path, options, &stopped, || distribute(chosen.len(), threads, &meter, next, fault));
    let (rows, coders) = read?;
    let columns =
        chosen.iter().zip(coders).map(|(&i, coder)| coder.column(schema.field(i))).collect();
    Ok(Columns { rows, columns, bytes, dialect: None, sha256: sha256.transpose()?, weights: None })
}

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

fn names(schema: &SchemaRef) -> Vec<String> {
    schema.fields().iter().map(|field| field.name().clone()).collect()
}

fn size(path: &Path) -> Result<u64, Failures> {
    Ok(path.metadata().map_err(|e| unreadable(path, &e))?.len())
}

/// The wanted columns, which must have names and be flat.
fn choose(
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
fn hashing<T>(
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

fn metadata(path: &Path) -> Result<ArrowReaderMetadata, Failures> {
    let file = open(path)?;
    guarded(|| ArrowReaderMetadata::load(&file, ArrowReaderOptions::new()))
        .map_err(|p| panicked(path, "Parquet", p))?
        .map_err(|e| broken(path, "Parquet", &e))
}

/// How large the file says that a column is before it was compressed.
fn stated_bytes(file: &ArrowReaderMetadata, column: usize) -> u128 {
    let parquet = file.parquet_schema();
    let leaves: Vec<usize> = (0..parquet.num_columns())
        .filter(|&leaf| parquet.get_column_root_idx(leaf) == column)
        .collect();
    let chunks = file
        .metadata()
        .row_groups()
        .iter()
        .flat_map(|group| leaves.iter().filter_map(|&l| group.columns().get(l)));
    chunks.map(|chunk| chunk.uncompressed_size().max(0) as u128).sum()
}

/// The same file with its strings read as dictionaries, which most writers have stored as such.
fn as_dictionaries(plain: &ArrowReaderMetadata) -> ArrowReaderMetadata {
    let packed = DataType::Dictionary(DataType::Int32.into(), DataType::Utf8.into());
    let fields = plain.schema().fields().iter().map(|field| match field.data_type() {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
            Arc::new(field.as_ref().clone().with_data_type(packed.clone()))
        }
        _ => field.clone(),
    });
    let schema =
        Schema::new_with_metadata(fields.collect::<Vec<_>>(), plain.schema().metadata().clone());
    let options = ArrowReaderOptions::new().with_schema(Arc::new(schema));
    ArrowReaderMetadata::try_new(plain.metadata().clone(), options)
        .unwrap_or_else(|_| plain.clone())
}

/// Reads one column. Every call opens the file anew: two handles that were cloned share their
/// position, and would disturb each other.
fn parquet_column(
    path: &Path,
    plain: &ArrowReaderMetadata,
    packed: &ArrowReaderMetadata,
    column: usize,
    meter: &Arc<Meter>,
    done: &impl Fn(usize) -> Result<(), Failure>,
) -> Result<Column, Failures> {
    let mask = ProjectionMask::roots(plain.parquet_schema(), [column]);
    // Rows of long texts come few at a time.
    let rows = plain.metadata().file_metadata().num_rows().max(1) as u128;
    let row = u64::try_from(stated_bytes(plain, column) / rows).unwrap_or(u64::MAX).max(1);
    let batch = usize::try_from(BATCH_BYTES / row).unwrap_or(BATCH).clamp(1, BATCH);
    let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(open(path)?, packed.clone())
        .with_projection(mask)
        .with_batch_size(batch)
        .build()
        .map_err(|e| broken(path, "Parquet", &e))?;
    let mut coder = Coder::new(meter);
    for batch in reader {
        let batch = batch.map_err(|e| broken(path, "Parquet", &e))?;
        let field = plain.schema().field(column);
        coder.add(batch.column(0)).map_err(|e| match e {
            ArrowError::MemoryError(_) => meter.too_large(path),
            _ => unwritable(path, field.name()),
        })?;
        done(batch.num_rows())?;
    }
    Ok(coder.column(plain.schema().field(column)))
}

/// An IPC file, or a stream without the magic of a file.
enum Batches {
    File(FileReader<BufReader<File>>),
    Stream(StreamReader<BufReader<File>>),
}

impl Batches {
    fn open(path: &Path, columns: Option<Vec<usize>>) -> Result<Batches, Failures> {
        let mut file = open(path)?;
        let mut magic = Vec::new();
        file.by_ref().take(8).read_to_end(&mut magic).map_err(|e| unreadable(path, &e))?;
        file.rewind().map_err(|e| unreadable(path, &e))?;
        let size = size(path)?;
        ipc::check(path, size, columns.as_ref().map_or(1, Vec::len), &Meter::new(size)?)?;
        let file = BufReader::with_capacity(1 << 18, file);
        match magic.as_slice() {
            [b'A', b'R', b'R', b'O', b'W', b'1', ..] => {
                guarded(|| FileReader::try_new(file, columns).map(Batches::File))
            }
            // The reader would allocate whatever length stands here, so garbage must not get so
            // far.
            [0xff, 0xff, 0xff, 0xff, length @ ..] if le(length) < size => {
                guarded(|| StreamReader::try_new(file, columns).map(Batches::Stream))
            }
            _ => {
                Ok(Err(ArrowError::IpcError("it is neither an IPC file nor an IPC stream".into())))
            }
        }
        .map_err(|p| panicked(path, "Arrow", p))?
        .map_err(|e| broken(path, "Arrow", &e))
    }

    fn schema(&self) -> SchemaRef {
        match self {
            Batches::File(reader) => reader.schema(),
            Batches::Stream(reader) => reader.schema(),
        }
    }

    fn next(&mut self) -> Option<Result<RecordBatch, ArrowError>> {
        match self {
            Batches::File(reader) => reader.next(),
            Batches::Stream(reader) => reader.next(),
        }
    }

    /// Where in the file we are.
    fn position(&self) -> u64 {
        let mut file = match self {
            Batches::File(reader) => reader.get_ref().get_ref(),
            Batches::Stream(reader) => reader.get_ref().get_ref(),
        };
        file.stream_position().unwrap_or(0)
    }
}

/// A number of which the lowest byte comes first.
fn le(bytes: &[u8]) -> u64 {
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
    fn new(meter: &Arc<Meter>) -> Coder {
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
    fn add(&mut self, array: &ArrayRef) -> Result<(), ArrowError> {
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

fn broken(path: &Path, format: &str, error: &dyn std::error::Error) -> Failures {
    let problem = Failure::data(
        "damaged-file",
        format!("`{}` cannot be read as {format}: {error}", path.display()),
    );
    problem.hint("the file is damaged, incomplete or of another format").into()
}

/// The library that decodes the format panicked. What it said may hold data.
fn panicked(path: &Path, format: &str, _: Panicked) -> Failures {
    Failure::data(
        "damaged-file",
        format!("`{}` cannot be read as {format}: its parts contradict each other", path.display()),
    )
    .hint("the file is damaged or was made to do harm")
    .into()
}

/// Says nothing of the value, which is a person's.
fn unwritable(path: &Path, column: &str) -> Failures {
    let message = format!(
        "column `{column}` of `{}` has a value that cannot be written as text",
        path.display()
    );
    Failure::data("unwritable-value", message).hint("convert the column to strings").into()
}
