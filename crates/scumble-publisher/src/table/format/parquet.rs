//! Parquet: columns with types, compressed.
//!
//! *Read* from files that end in `.parquet` or begin with its mark, every cell as text. Columns of
//! structs, lists and maps are refused if they are wanted.
//!
//! *Written* with Zstandard. Generalized columns are text; the others keep the type that they had in
//! the source, where text can be turned back into it.

// How it is read: threads share the work by columns, and every thread decodes only the pages of its
// own column. Sizes that a file states are compared with what it may take before they are believed.

use crate::table::arrow::{Coder, broken, choose, hashing, names, panicked, size, unwritable};
use crate::table::columns::{
    Column, Columns, Progress, ReadOptions, check_names, each, open, threads,
};
use crate::table::format::{Batches, Format, Reader, Writer};
use crate::table::guard::{Meter, guarded};
use crate::table::write::failed;
use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, DataType, Schema, SchemaRef};
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use parquet::arrow::{ArrowWriter, ProjectionMask};
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use scumble::failure::{Failure, Failures};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The format.
pub const FORMAT: Format = Format {
    name: "parquet",
    title: "Parquet",
    noun: "a Parquet file",
    about: "columns with types, compressed",
    source: include_str!("parquet.rs"),
    endings: &["parquet"],
    magic: &[b"PAR1"],
    reader: Reader { header, read, dialect: None, read_chosen: None },
    writer: Some(Writer::Batches { begin }),
};

/// Rows decoded at a time, at most.
const BATCH: usize = 1 << 16;
/// Bytes that a batch of a column should have, at most.
const BATCH_BYTES: u64 = 1 << 24;

/// The names of the columns.
fn header(path: &Path, _: &ReadOptions) -> Result<Vec<String>, Failures> {
    check_names(path, names(metadata(path)?.schema()))
}

/// Reads the wanted columns.
fn read(
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

/// A file in the making.
struct Writing {
    path: PathBuf,
    writer: ArrowWriter<File>,
}

fn begin(path: &Path, schema: &SchemaRef) -> Result<Box<dyn Batches>, Failures> {
    let file = File::create(path).map_err(|e| failed(path, &e))?;
    let properties =
        WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default()));
    let writer = ArrowWriter::try_new(file, schema.clone(), Some(properties.build()));
    let writer = writer.map_err(|e| not_written(path, e))?;
    Ok(Box::new(Writing { path: path.to_path_buf(), writer }))
}

impl Batches for Writing {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), Failures> {
        self.writer.write(batch).map_err(|e| not_written(&self.path, e))
    }

    fn finish(self: Box<Self>) -> Result<File, Failures> {
        let Writing { path, writer } = *self;
        writer.into_inner().map_err(|e| not_written(&path, e))
    }
}

/// The disk's own words, where it was the disk.
fn not_written(path: &Path, e: ParquetError) -> Failures {
    match e {
        ParquetError::External(cause) => match cause.downcast::<std::io::Error>() {
            Ok(e) => failed(path, &e),
            Err(e) => failed(path, &std::io::Error::other(e)),
        },
        e => failed(path, &std::io::Error::other(e)),
    }
}
