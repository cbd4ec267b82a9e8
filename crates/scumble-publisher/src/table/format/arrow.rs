//! Arrow: columns with types, as they are in memory (Arrow IPC, Feather version 2).
//!
//! *Read* from files that end in `.arrow`, `.feather` or `.ipc` or begin with its mark, every cell
//! as text; streams as well as files. Columns of structs, lists and maps are refused if they are
//! wanted.
//!
//! *Written* as a file, not compressed. Generalized columns are text; the others keep the type that
//! they had in the source, where text can be turned back into it.

// How it is read: by one thread, which is little more than copying; the batches are handed to all
// threads, of which every one encodes some of the columns. What a file states of its sizes is
// checked before the decoder sees it.

use crate::table::arrow::{
    Fault, broken, choose, distribute, hashing, ipc, le, names, panicked, size, unwritable,
};
use crate::table::columns::{
    Columns, Progress, ReadOptions, check_names, open, threads, unreadable,
};
use crate::table::format::{self, Format, Reader, Writer};
use crate::table::guard::{Meter, guarded};
use crate::table::write::failed;
use arrow_array::RecordBatch;
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{ArrowError, SchemaRef};
use scumble::failure::Failures;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The format.
pub const FORMAT: Format = Format {
    name: "arrow",
    title: "Arrow",
    noun: "an Arrow file",
    about: "columns with types, as they are in memory",
    source: include_str!("arrow.rs"),
    endings: &["arrow", "feather", "ipc"],
    magic: &[b"ARROW1"],
    reader: Reader { header, read, dialect: None, read_chosen: None },
    writer: Some(Writer::Batches { begin }),
};

/// The names of the columns.
fn header(path: &Path, _: &ReadOptions) -> Result<Vec<String>, Failures> {
    check_names(path, names(&Batches::open(path, None)?.schema()))
}

/// Reads the wanted columns of a file or stream.
fn read(
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

/// A file in the making.
struct Writing {
    path: PathBuf,
    writer: FileWriter<BufWriter<File>>,
}

fn begin(path: &Path, schema: &SchemaRef) -> Result<Box<dyn format::Batches>, Failures> {
    let file = File::create(path).map_err(|e| failed(path, &e))?;
    let writer = FileWriter::try_new_buffered(file, schema).map_err(|e| not_written(path, e))?;
    Ok(Box::new(Writing { path: path.to_path_buf(), writer }))
}

impl format::Batches for Writing {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), Failures> {
        self.writer.write(batch).map_err(|e| not_written(&self.path, e))
    }

    fn finish(mut self: Box<Self>) -> Result<File, Failures> {
        self.writer.finish().map_err(|e| not_written(&self.path, e))?;
        let Writing { path, writer } = *self;
        let file = writer.into_inner().map_err(|e| not_written(&path, e))?;
        file.into_inner().map_err(|e| failed(&path, e.error()))
    }
}

/// The disk's own words, where it was the disk.
fn not_written(path: &Path, e: ArrowError) -> Failures {
    match e {
        ArrowError::IoError(_, e) => failed(path, &e),
        e => failed(path, &std::io::Error::other(e)),
    }
}
