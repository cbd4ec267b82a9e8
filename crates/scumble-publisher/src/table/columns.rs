//! A table as it comes from a file: every column is a dictionary of its distinct texts and one code
//! per row.
//!
//! This is where a file or a directory of files of one format (`table/format.rs`) is read and where
//! the work of several threads becomes one table. Threads must not share a dictionary,
//! because they would spend their time waiting for its lock. So every worker encodes the parts it
//! happens to get with dictionaries of its own, and at the end `merge` numbers the values anew in
//! the order of their first appearance in the file. The result is therefore the same for every
//! number of threads, which the rest of scumble relies on when it promises the same bytes for the
//! same seed.
//!
//! Until then the codes of a part are kept in as few bytes as its dictionary allows. Merging goes
//! column by column and frees the parts as it goes, so the peak is about one copy of the codes, not
//! two.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use arrow_schema::DataType;
use scumble::catalogue::did_you_mean_column;
use scumble::failure::{Failure, Failures};
use sha2::{Digest, Sha256};

use crate::table::arrow;
pub use crate::table::arrow::Gathered;
use crate::table::dictionary::Dictionary;
use crate::table::format::{self, Format};

/// A table read from a file or a directory.
#[derive(Clone, Debug, PartialEq)]
pub struct Columns {
    /// How many rows there are.
    pub rows: usize,
    /// The columns that were wanted, in the order of the source.
    pub columns: Vec<Column>,
    /// Size of the source in bytes.
    pub bytes: u64,
    /// How the text was written, if the source is CSV.
    pub dialect: Option<Dialect>,
    /// SHA-256 of the source in hexadecimal, if it is of files and [`ReadOptions::hash`] asked for
    /// it. That of a directory is the hash of what `sha256sum` would print of its files by their
    /// paths in it.
    pub sha256: Option<String>,
    /// How many records each row stands for, if an engine counted them; otherwise each is one.
    pub weights: Option<Vec<u64>>,
}

impl Columns {
    /// How many records there are.
    pub fn records(&self) -> u64 {
        self.weights.as_ref().map_or(self.rows as u64, |weights| weights.iter().sum())
    }
}

/// One column: `values.get(codes[row])` is the text of a cell. Every value occurs in some row.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name in the header or schema.
    pub name: String,
    /// The distinct texts in order of first appearance.
    pub values: Dictionary,
    /// The code of each row's text.
    pub codes: Vec<u32>,
    /// The type in the source, if that has types: Parquet, Arrow or a database.
    pub arrow: Option<DataType>,
}

/// How to read. The default detects everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// What separates the cells of a CSV file; `None` detects it.
    pub delimiter: Option<u8>,
    /// What encloses cells that contain the delimiter; `None` detects it, `Some(0)` says that
    /// quotes mean nothing.
    pub quote: Option<u8>,
    /// How many threads to use; `None` is as many as the machine has.
    pub threads: Option<usize>,
    /// Whether to compute the SHA-256 of the source while it is read.
    pub hash: bool,
    /// Bytes that a worker takes at a time; tests make it tiny so that everything crosses a
    /// boundary.
    #[doc(hidden)]
    pub block: Option<usize>,
}

/// How a CSV file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// What separates cells.
    pub delimiter: u8,
    /// What encloses cells that contain the delimiter.
    pub quote: u8,
}

/// Told how many bytes of how many are done, or how many rows of a database. The total is zero when
/// it cannot be known, as for a pipe.
pub type Progress<'a> = scumble::progress::Progress<'a>;

/// The names of the columns, without reading the data.
pub fn header(path: &Path, options: &ReadOptions) -> Result<Vec<String>, Failures> {
    if path.is_dir() {
        Ok(Directory::open(path, options)?.names)
    } else {
        (format::of_file(path)?.reader.header)(path, options)
    }
}

/// Reads the `wanted` columns (all, if `None`) of a file, or of all files below a directory in the
/// order of their paths.
pub fn read(
    path: &Path,
    options: &ReadOptions,
    wanted: Option<&[String]>,
    progress: Progress<'_>,
) -> Result<Columns, Failures> {
    if path.is_dir() {
        Directory::open(path, options)?.read(options, wanted, progress)
    } else {
        (format::of_file(path)?.reader.read)(path, options, wanted, progress)
    }
}

/// Which columns to read of those that a header names; or why none should be read.
pub type Choose<'a> = &'a dyn Fn(&[String]) -> Result<Vec<String>, Failures>;

/// Reads the columns that are chosen once the header is known. A CSV file is opened once for that.
pub fn read_chosen(
    path: &Path,
    options: &ReadOptions,
    choose: Choose<'_>,
    progress: Progress<'_>,
) -> Result<Columns, Failures> {
    if !path.is_dir()
        && let Some(read) = format::of_file(path)?.reader.read_chosen
    {
        return read(path, options, choose, progress);
    }
    let wanted = choose(&header(path, options)?)?;
    read(path, options, Some(&wanted), progress)
}

/// SHA-256 of a file in hexadecimal, as reading it would say; as long as `go_on` says so.
pub fn sha256(path: &Path, go_on: &(dyn Fn() -> bool + Sync)) -> Result<String, Failures> {
    if !path.is_dir() {
        return arrow::sha256(path, go_on);
    }
    let mut sum = Sha256::new();
    for file in files(path)? {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        sum.update(format!("{}  {name}\n", arrow::sha256(&file, go_on)?));
    }
    Ok(hex(&sum.finalize()))
}

/// SHA-256 of every file of a source in hexadecimal: of the one, or of all below a directory, in
/// the order of their paths.
pub fn file_hashes(path: &Path) -> Result<Vec<String>, Failures> {
    let all = if path.is_dir() { files(path)? } else { vec![path.to_path_buf()] };
    all.iter().map(|file| arrow::sha256(file, &|| true)).collect()
}

/// How the text of a local file is written; nothing if its format is not text.
pub fn dialect(path: &Path, options: &ReadOptions) -> Result<Option<Dialect>, Failures> {
    format::of_file(path)?.reader.dialect.map(|dialect| dialect(path, options)).transpose()
}

/// Files of one format with the same columns.
struct Directory {
    path: PathBuf,
    format: &'static Format,
    files: Vec<PathBuf>,
    names: Vec<String>,
    bytes: u64,
}

impl Directory {
    /// Looks at every file's header, so that a file that does not fit is found before the first is
    /// read.
    fn open(path: &Path, options: &ReadOptions) -> Result<Directory, Failures> {
        let files = files(path)?;
        let Some(first) = files.first() else {
            let problem =
                Failure::data("no-files", format!("directory `{}` has no files", path.display()));
            let hint = format!("give a {} file, or a directory of them", format::titles());
            return Err(problem.hint(hint).into());
        };
        let format = format::of_file(first)?;
        let header = format.reader.header;
        let names = header(first, options)?;
        let mut problems = Failures::default();
        for file in &files[1..] {
            if format::of_file(file)? != format {
                let message = format!(
                    "`{}` is not of the same kind as `{}`",
                    file.display(),
                    first.display()
                );
                problems.push(
                    Failure::data("different-files", message)
                        .hint("keep files of one format in a directory"),
                );
            } else if header(file, options)? != names {
                let message = format!(
                    "`{}` does not have the columns of `{}`",
                    file.display(),
                    first.display()
                );
                problems.push(
                    Failure::data("different-files", message)
                        .hint("all files need the same columns in the same order"),
                );
            }
        }
        let bytes = files.iter().filter_map(|file| file.metadata().ok()).map(|m| m.len()).sum();
        problems.or(Directory { path: path.to_path_buf(), format, files, names, bytes })
    }

    fn read(
        self,
        options: &ReadOptions,
        wanted: Option<&[String]>,
        progress: Progress<'_>,
    ) -> Result<Columns, Failures> {
        let (mut done, mut encoders, mut sum, mut frame) = (0, Vec::new(), Sha256::new(), None);
        for (order, path) in self.files.iter().enumerate() {
            let before = done;
            let mut part = (self.format.reader.read)(path, options, wanted, &|here, _| {
                progress.at(before + here, self.bytes.max(before))
            })?;
            done += part.bytes;
            if let Some(hash) = &part.sha256 {
                let name = path.strip_prefix(&self.path).unwrap_or(path).to_string_lossy();
                sum.update(format!("{hash}  {name}\n"));
            }
            encoders.push(Encoder::of(&mut part, order));
            frame = Some(frame.map_or_else(|| part.clone(), |whole| same_types(whole, &part)));
        }
        let mut whole = frame.expect("a directory that was opened has a file");
        let (rows, merged) = merge(encoders, whole.columns.len(), threads(options));
        for (column, (values, codes)) in whole.columns.iter_mut().zip(merged) {
            (column.values, column.codes) = (values, codes);
        }
        Ok(Columns {
            rows,
            bytes: done,
            sha256: options.hash.then(|| hex(&sum.finalize())),
            ..whole
        })
    }
}

/// A type is reported for a directory's column only if all files agree on it.
fn same_types(mut whole: Columns, part: &Columns) -> Columns {
    for (a, b) in whole.columns.iter_mut().zip(&part.columns) {
        if a.arrow != b.arrow {
            a.arrow = None;
        }
    }
    whole
}

/// The files below a directory by their paths. Hidden ones, and those that Spark and Hive put
/// beside the data (`_SUCCESS`, `_metadata`), are no data.
fn files(path: &Path) -> Result<Vec<PathBuf>, Failures> {
    let mut files = Vec::new();
    let mut folders = vec![path.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).map_err(|e| unreadable(&folder, &e))? {
            let entry = entry.map_err(|e| unreadable(&folder, &e))?;
            let (file, name) = (entry.path(), entry.file_name());
            let name = name.to_string_lossy();
            if name.starts_with(['.', '_']) {
                continue;
            }
            if !file.is_dir() {
                files.push(file);
            } else if name.contains('=') {
                let problem = Failure::data(
                    "wrong-directory",
                    format!("directory `{}` is named like a value of a column", file.display()),
                );
                let hint = "such columns are not read: write the column into the files, or name this directory alone";
                return Err(problem.hint(hint).into());
            } else if entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
                // A link may lead round in a circle.
                let problem = Failure::data(
                    "wrong-directory",
                    format!("`{}` is a link to a directory, which is not followed", file.display()),
                );
                return Err(problem.hint("put the directory itself there").into());
            } else {
                folders.push(file);
            }
        }
    }
    files.sort();
    Ok(files)
}

/// What one worker has made of the parts it got.
pub(crate) struct Encoder {
    /// One for each column.
    pub lanes: Vec<Lane>,
    parts: Vec<Part>,
}

/// A worker's dictionary of a column, and the codes of the part it is working on.
#[derive(Default)]
pub(crate) struct Lane {
    pub values: Dictionary,
    pub codes: Vec<u32>,
}

/// A finished part: for each column its codes, and how many values the dictionary had after it.
struct Part {
    order: usize,
    rows: usize,
    columns: Vec<(Codes, usize)>,
}

/// Codes in as many bytes as they need.
enum Codes {
    Byte(Vec<u8>),
    Short(Vec<u16>),
    Word(Vec<u32>),
}

impl Encoder {
    /// For so many columns.
    pub fn new(columns: usize) -> Encoder {
        Encoder { lanes: (0..columns).map(|_| Lane::default()).collect(), parts: Vec::new() }
    }

    /// Takes the data out of columns that were read before, as the part with this number.
    fn of(columns: &mut Columns, order: usize) -> Encoder {
        let take = |c: &mut Column| Lane {
            values: std::mem::take(&mut c.values),
            codes: std::mem::take(&mut c.codes),
        };
        let mut lanes: Vec<Lane> = columns.columns.iter_mut().map(take).collect();
        let whole =
            |lane: &mut Lane| (Codes::Word(std::mem::take(&mut lane.codes)), lane.values.len());
        let part =
            Part { order, rows: columns.rows, columns: lanes.iter_mut().map(whole).collect() };
        Encoder { lanes, parts: vec![part] }
    }

    /// Ends the part with this number. A worker must get its parts in rising order: only then the
    /// values that are new to its dictionary are in the order of the file.
    pub fn seal(&mut self, order: usize, rows: usize) {
        let columns = self
            .lanes
            .iter_mut()
            .map(|lane| (narrow(&lane.codes, lane.values.len()), lane.values.len()));
        self.parts.push(Part { order, rows, columns: columns.collect() });
        self.discard();
    }

    /// Forgets the codes since the last part, for a part with problems.
    pub fn discard(&mut self) {
        self.lanes.iter_mut().for_each(|lane| lane.codes.clear());
    }
}

fn narrow(codes: &[u32], values: usize) -> Codes {
    match values {
        0..=0x100 => Codes::Byte(codes.iter().map(|&c| c as u8).collect()),
        0x101..=0x1_0000 => Codes::Short(codes.iter().map(|&c| c as u16).collect()),
        _ => Codes::Word(codes.to_vec()),
    }
}

impl Codes {
    fn each(self, mut put: impl FnMut(u32)) {
        match self {
            Codes::Byte(codes) => codes.into_iter().for_each(|c| put(c.into())),
            Codes::Short(codes) => codes.into_iter().for_each(|c| put(c.into())),
            Codes::Word(codes) => codes.into_iter().for_each(put),
        }
    }
}

/// One column of all workers: their dictionaries, and the parts with the worker that made them.
struct Pieces {
    values: Vec<Dictionary>,
    parts: Vec<(usize, usize, Codes, usize)>,
}

/// Puts the workers' parts together in the order of the source; the number of rows, and the
/// columns.
pub(crate) fn merge(
    encoders: Vec<Encoder>,
    columns: usize,
    threads: usize,
) -> (usize, Vec<(Dictionary, Vec<u32>)>) {
    let rows = encoders.iter().flat_map(|e| &e.parts).map(|part| part.rows).sum();
    let mut all: Vec<Pieces> =
        (0..columns).map(|_| Pieces { values: Vec::new(), parts: Vec::new() }).collect();
    for (worker, encoder) in encoders.into_iter().filter(|e| !e.parts.is_empty()).enumerate() {
        for (pieces, lane) in all.iter_mut().zip(encoder.lanes) {
            pieces.values.push(lane.values);
        }
        for part in encoder.parts {
            for (pieces, (codes, known)) in all.iter_mut().zip(part.columns) {
                pieces.parts.push((part.order, worker, codes, known));
            }
        }
    }
    (rows, each(threads, all, |pieces| pieces.join(rows)))
}

impl Pieces {
    fn join(mut self, rows: usize) -> (Dictionary, Vec<u32>) {
        self.parts.sort_by_key(|part| part.0);
        if self.values.len() < 2 {
            return self.append(rows);
        }
        let (values, maps) = self.number();
        self.values.clear();
        let mut all = Vec::with_capacity(rows);
        for (_, worker, codes, _) in self.parts {
            let map = &maps[worker];
            codes.each(|code| all.push(map[code as usize]));
        }
        (values, all)
    }

    /// A single worker has seen the file in order, so its numbers stay.
    fn append(mut self, rows: usize) -> (Dictionary, Vec<u32>) {
        if let [(_, _, Codes::Word(codes), _)] = self.parts.as_mut_slice() {
            return (self.values.remove(0), std::mem::take(codes));
        }
        let mut all = Vec::with_capacity(rows);
        for (_, _, codes, _) in self.parts {
            codes.each(|code| all.push(code));
        }
        (self.values.pop().unwrap_or_default(), all)
    }

    /// The numbers in the order of the file, and for each worker what its numbers become. The value
    /// that appears first in some part is new to the dictionary of that part's worker, because the
    /// worker's earlier parts are earlier in the file. So it is enough to go over what was new in
    /// each part.
    fn number(&self) -> (Dictionary, Vec<Vec<u32>>) {
        let mut values = Dictionary::new();
        let mut maps: Vec<Vec<u32>> =
            self.values.iter().map(|v| Vec::with_capacity(v.len())).collect();
        for &(_, worker, _, known) in &self.parts {
            for code in maps[worker].len()..known {
                let new = values.intern(self.values[worker].get(code as u32));
                maps[worker].push(new);
            }
        }
        (values, maps)
    }
}

/// How many threads to use.
pub(crate) fn threads(options: &ReadOptions) -> usize {
    let all = || std::thread::available_parallelism().map_or(1, |n| n.get());
    options.threads.unwrap_or_else(all).max(1)
}

/// Does `work` on each item, on so many threads, and gives the results in the order of the items.
pub(crate) fn each<T: Send, R: Send>(
    threads: usize,
    items: Vec<T>,
    work: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    let threads = threads.min(items.len());
    if threads < 2 {
        return items.into_iter().map(work).collect();
    }
    let queue = Mutex::new(items.into_iter().enumerate());
    let next = || queue.lock().unwrap_or_else(|e| e.into_inner()).next();
    let worker = || std::iter::from_fn(next).map(|(i, item)| (i, work(item))).collect::<Vec<_>>();
    let mut done: Vec<(usize, R)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        workers
            .into_iter()
            .flat_map(|w| w.join().unwrap_or_else(|e| std::panic::resume_unwind(e)))
            .collect()
    });
    done.sort_by_key(|(i, _)| *i);
    done.into_iter().map(|(_, result)| result).collect()
}

/// Which of the columns are wanted, by their places in the source.
pub(crate) fn select(
    path: &Path,
    names: &[String],
    wanted: Option<&[String]>,
) -> Result<Vec<usize>, Failures> {
    let Some(wanted) = wanted else { return Ok((0..names.len()).collect()) };
    let mut problems = Failures::default();
    let familiar = wanted.iter().any(|name| names.contains(name));
    for name in wanted.iter().filter(|name| !names.contains(name)) {
        let problem =
            Failure::data("no-such-column", format!("`{}` has no column `{name}`", path.display()));
        problems
            .push(problem.file(path).column(name).hint(did_you_mean_column(name, names, familiar)));
    }
    let wanted: HashSet<&String> = wanted.iter().collect();
    problems.or((0..names.len()).filter(|&i| wanted.contains(&names[i])).collect())
}

/// What is longer than this is no name, and no message should repeat it.
const LONGEST_NAME: usize = 1_000;

/// Columns are called by name everywhere in a policy, so names must be there and differ.
pub(crate) fn check_names(path: &Path, names: Vec<String>) -> Result<Vec<String>, Failures> {
    let mut problems = Failures::default();
    let (mut seen, mut told) = (HashMap::new(), HashSet::new());
    for (i, name) in names.iter().enumerate() {
        if name.is_empty() {
            let problem = Failure::data(
                "wrong-header",
                format!("column {} of `{}` has no name", i + 1, path.display()),
            );
            problems.push(problem.hint("the first line must name every column"));
        } else if name.len() > LONGEST_NAME {
            let message = format!(
                "the name of column {} of `{}` has {} bytes",
                i + 1,
                path.display(),
                name.len()
            );
            problems.push(
                Failure::data("wrong-header", message)
                    .hint("is the first line the header, and are the line ends intact?"),
            );
        } else if let Some(first) = seen.get(name) {
            // By number: what looks like two equal names may be two equal values, where there is no
            // header.
            if told.insert(name) {
                let message = format!(
                    "columns {} and {} of `{}` have the same name",
                    first + 1,
                    i + 1,
                    path.display()
                );
                problems.push(
                    Failure::data("wrong-header", message)
                        .hint("the first line must give every column a name of its own"),
                );
            }
        } else {
            seen.insert(name, i);
        }
    }
    problems.or(names)
}

/// Opens a file for reading.
pub(crate) fn open(path: &Path) -> Result<File, Failures> {
    #[cfg(test)]
    opened::count(path);
    File::open(path).map_err(|e| unreadable(path, &e))
}

/// The operating system would not let us read.
pub(crate) fn unreadable(path: &Path, error: &std::io::Error) -> Failures {
    use std::io::ErrorKind::{NotFound, PermissionDenied};
    let file = path;
    let path = path.display();
    let failure = match error.kind() {
        NotFound => {
            Failure::io("not-found", format!("`{path}` does not exist")).hint("check the path")
        }
        PermissionDenied => Failure::io("not-permitted", format!("`{path}` may not be read"))
            .hint("check the file's permissions"),
        _ => Failure::io("cannot-read", format!("`{path}` cannot be read: {error}")),
    };
    failure.file(file).into()
}

/// Bytes in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Counts how often files are opened, for tests.
#[cfg(test)]
pub(crate) mod opened {
    use std::collections::HashMap;
    use std::path::{Path, PathBuf};
    use std::sync::{LazyLock, Mutex};

    static OPENED: LazyLock<Mutex<HashMap<PathBuf, usize>>> = LazyLock::new(Mutex::default);

    pub fn count(path: &Path) {
        *OPENED.lock().expect("no test panics here").entry(path.to_path_buf()).or_default() += 1;
    }

    /// How often a file was opened so far.
    pub fn times(path: &Path) -> usize {
        OPENED.lock().expect("no test panics here").get(path).copied().unwrap_or_default()
    }
}
