//! The file formats: what is known of each, in one table.
//!
//! A new format is one file with its [`Format`] and two lines here. Detection, `[release] format`
//! of a policy, messages, the help and `docs/formats.md` read the table, and a test writes and
//! reads back every format that has a writer.
//!
//! A reader turns a file into [`Columns`]: dictionaries of texts and codes. It gets all of
//! [`ReadOptions`] and takes what concerns it; an option of one format is a field there. A writer is
//! one of two kinds, and `table/write.rs` does the rest, in parallel.

use crate::table::columns::{Choose, Columns, Dialect, Progress, ReadOptions, open, unreadable};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use scumble::catalogue::{did_you_mean, manual, nearest};
use scumble::failure::{Failure, Failures};
use std::fs::File;
use std::io::Read;
use std::path::Path;

mod arrow;
mod csv;
mod parquet;

pub(crate) use csv::quoted;

/// Every file format. A new one is a file and a line here (and its `mod` line above). The first is
/// the one that a file is taken for if nothing else tells.
pub const FORMATS: &[&Format] = &[&csv::FORMAT, &parquet::FORMAT, &arrow::FORMAT];

/// What is known of a file format.
pub struct Format {
    /// Name in policies (`[release] format`) and manifests.
    pub name: &'static str,
    /// Name for people.
    pub title: &'static str,
    /// A file of it, with an article.
    pub noun: &'static str,
    /// One line for lists.
    pub about: &'static str,
    /// The file that implements it; its `//!` comment is the manual page.
    pub source: &'static str,
    /// Endings of file names in lower case. Files that are written have the first.
    pub endings: &'static [&'static str],
    /// What files begin with; nothing if that tells no format.
    pub magic: &'static [&'static [u8]],
    /// Reads files of it.
    pub reader: Reader,
    /// Writes files of it, if releases can have the format.
    pub writer: Option<Writer>,
}

/// Reads files of a format. Decoders of other libraries are called behind
/// [`guard`](crate::table::guard).
pub struct Reader {
    /// The names of the columns, without reading the data.
    pub header: fn(&Path, &ReadOptions) -> Result<Vec<String>, Failures>,
    /// Reads the wanted columns (all, if `None`), in the order of the file.
    pub read: ReadColumns,
    /// Reads the columns that are chosen once the header is known, where the file need be opened only
    /// once for that.
    pub read_chosen: Option<ReadChosen>,
    /// How a file of text is written; nothing for other formats.
    pub dialect: Option<DetectDialect>,
}

/// Reads the wanted columns of a file.
pub type ReadColumns =
    fn(&Path, &ReadOptions, Option<&[String]>, Progress<'_>) -> Result<Columns, Failures>;

/// Finds out how a file of text is written.
pub type DetectDialect = fn(&Path, &ReadOptions) -> Result<Dialect, Failures>;

/// Begins a file of batches.
pub type BeginBatches = fn(&Path, &SchemaRef) -> Result<Box<dyn Batches>, Failures>;

/// Reads the columns of a file that are chosen among those of its header.
pub type ReadChosen =
    fn(&Path, &ReadOptions, Choose<'_>, Progress<'_>) -> Result<Columns, Failures>;

/// Writes files of a format.
pub enum Writer {
    /// Text, a line for every row: cells are prepared once for each distinct value and copied.
    Lines {
        /// A cell as it is written; `alone` says that it is the only one of its line.
        cell: fn(text: &str, delimiter: u8, alone: bool) -> Vec<u8>,
    },
    /// Typed rows: record batches are made and handed over in order.
    Batches {
        /// Begins a file.
        begin: BeginBatches,
    },
}

/// A file of record batches in the making.
pub trait Batches {
    /// Writes the next rows.
    fn write(&mut self, batch: &RecordBatch) -> Result<(), Failures>;

    /// Ends the file, and gives it back so that it can be made durable.
    fn finish(self: Box<Self>) -> Result<File, Failures>;
}

impl Format {
    /// The manual page.
    pub fn manual(&self) -> String {
        manual(self.source, &[], "")
    }

    /// Its name for people with the endings of its files.
    pub fn with_endings(&self) -> String {
        let endings: Vec<String> = self.endings.iter().map(|e| format!("`.{e}`")).collect();
        format!("{} ({})", self.title, endings.join(", "))
    }

    /// Whether a file begins as files of this format do.
    fn begins(&self, bytes: &[u8]) -> bool {
        self.magic.iter().any(|magic| bytes.starts_with(magic))
    }
}

impl PartialEq for Format {
    fn eq(&self, other: &Format) -> bool {
        self.name == other.name
    }
}

impl std::fmt::Debug for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// Words joined by commas and an `or`.
pub fn one_of(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [only] => only.clone(),
        [others @ .., last] => format!("{} or {last}", others.join(", ")),
    }
}

/// The formats that are read, for messages: `CSV, Parquet or Arrow`.
pub fn titles() -> String {
    one_of(&FORMATS.iter().map(|f| f.title.to_owned()).collect::<Vec<_>>())
}

/// Names of the formats that releases can have.
pub fn written() -> Vec<&'static str> {
    FORMATS.iter().filter(|f| f.writer.is_some()).map(|f| f.name).collect()
}

/// The format with this name, which releases can have.
pub fn of_release(name: &str) -> Result<&'static Format, Failures> {
    let found = FORMATS.iter().find(|f| f.name == name && f.writer.is_some());
    found.copied().ok_or_else(|| {
        Failure::policy("wrong-value", format!("releases cannot have the format `{name}`"))
            .key("release.format")
            .hint(did_you_mean(name, written()))
            .into()
    })
}

/// The format of files whose names end so; nothing if no format has the ending.
pub fn of_ending(path: &Path) -> Option<&'static Format> {
    let ending = ending(path)?;
    FORMATS.iter().find(|f| f.endings.contains(&ending.as_str())).copied()
}

/// The format whose files begin with these bytes.
pub fn of_bytes(bytes: &[u8]) -> Option<&'static Format> {
    FORMATS.iter().find(|f| f.begins(bytes)).copied()
}

fn ending(path: &Path) -> Option<String> {
    path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase())
}

/// So much of a file is looked at where its name does not tell its format.
const SAMPLE: u64 = 4096;

/// The format of a file. The ending decides; without a known one the first bytes do, and text is
/// taken for CSV. What is no regular file is taken for CSV without looking, because looking at a
/// pipe would eat its beginning.
pub fn of_file(path: &Path) -> Result<&'static Format, Failures> {
    if let Some(format) = of_ending(path) {
        return Ok(format);
    }
    let text = FORMATS[0];
    if !path.metadata().map_err(|e| unreadable(path, &e))?.is_file() {
        return Ok(text);
    }
    let mut bytes = Vec::new();
    open(path)?.take(SAMPLE).read_to_end(&mut bytes).map_err(|e| unreadable(path, &e))?;
    match (of_bytes(&bytes), ending(path)) {
        (Some(format), _) => Ok(format),
        // Kinds of files that the reader of CSV knows by their first bytes it tells better.
        (None, Some(ending)) if bytes.contains(&0) && !csv::is_told(&bytes) => {
            Err(unknown(path, &ending))
        }
        (None, _) => Ok(text),
    }
}

/// A file that is no text, and whose ending no format has.
fn unknown(path: &Path, ending: &str) -> Failures {
    let endings = FORMATS.iter().flat_map(|f| f.endings).copied();
    let known: Vec<String> = FORMATS.iter().map(|f| f.with_endings()).collect();
    let hint = match nearest(ending, endings) {
        Some(near) => format!("did you mean `.{near}`? known are {}", one_of(&known)),
        None => format!("known are {}", one_of(&known)),
    };
    Failure::data(
        "unknown-format",
        format!("`{}` is no text, and no format has the ending `.{ending}`", path.display()),
    )
    .file(path)
    .hint(hint)
    .into()
}
