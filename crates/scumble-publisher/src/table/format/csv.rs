//! CSV: text, a line for every record, cells separated by a comma or something else.
//!
//! *Read* from files that end in `.csv`, `.tsv` or `.txt`, and from every other text. Delimiter and
//! quote are detected; `delimiter` and `quote` in a policy say them instead. The first line names the
//! columns. The text must be UTF-8.
//!
//! *Written* with the delimiter of the source, or commas; cells with a delimiter, a quote or a line
//! end are enclosed in double quotes. All columns are text.

// How it is read: in parallel, in one pass, without a copy of the text.
//
// *Blocks.* Workers take turns to cut the next block off the file, under a lock, and parse it
// outside of the lock. A block always ends where a record ends. To know where that is, whoever
// cuts the block follows the quotes through it, jumping from quote to quote with `memchr`; a block
// without any quote costs one sweep at the speed of memory. This is why there is no guessing
// whether a newline in the middle of a file is inside of quotes.
//
// *Cells.* Most cells are short and most columns have few values. The end of a cell is searched
// eight bytes at a time, and the words that were looked at, cut off at the cell's end, are the key
// of a small direct-mapped cache of the column's values. A hit costs neither a hash of the text
// nor a comparison in the dictionary. The key needs no length because a cell contains no NUL: a
// file with NUL bytes is refused before, as binary.
//
// *Grammar.* A quote means something only at the beginning of a cell; elsewhere it is a character
// like others. In a quoted cell a doubled quote is one quote. What follows the closing quote
// belongs to the cell. Records end with LF or CRLF, the last one perhaps with neither. Cells are
// not trimmed. Blank lines are skipped; but in a file with one column a blank line is an empty
// value, and only blank lines at the end are skipped.
//
// *Hash.* The same buffers go, in order, to a thread that computes the SHA-256, so that the hash
// is of the bytes that were parsed even if somebody writes to the file meanwhile.

use std::fs::File;
use std::io::{Chain, Cursor, Read};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};

use memchr::{memchr, memchr_iter, memchr2, memrchr};
use scumble::failure::{Argument, Failure, Failures, Remedy};
use sha2::{Digest, Sha256};

use crate::table::columns::{
    Choose, Column, Columns, Dialect, Encoder, Lane, Progress, ReadOptions, check_names, hex,
    merge, open, select, threads, unreadable,
};
use crate::table::format::{self, Format, Reader, Writer};

/// The format.
pub const FORMAT: Format = Format {
    name: "csv",
    title: "CSV",
    noun: "a CSV file",
    about: "text with a line for every record; delimiter and quote are detected",
    source: include_str!("csv.rs"),
    endings: &["csv", "tsv", "txt"],
    magic: &[],
    reader: Reader { header, read, dialect: Some(dialect), read_chosen: Some(read_chosen) },
    writer: Some(Writer::Lines { cell }),
};

/// Bytes in a block: small enough that it is still in the cache when it is parsed after it was
/// searched for quotes.
const BLOCK: usize = 1 << 20;
/// Bytes looked at to detect the dialect.
const SAMPLE: usize = 1 << 16;
/// Records looked at to detect the dialect.
const SAMPLE_RECORDS: usize = 100;
/// The longest record. Without a bound, a quote that is never closed would load the rest of the
/// file into memory.
const LONGEST: usize = 1 << 26;
/// Lines with problems that are listed; the others are counted.
const LISTED: usize = 10;
/// A cell of up to so many bytes can be cached.
const SHORT: usize = 32;
/// Readable bytes after the end of a block, so that the words of its last cell can be loaded.
const PAD: usize = SHORT + 8;

/// A cell as it is written: quoted where it has to be, by the rules that the reader detects.
pub(crate) fn quoted(text: &str, delimiter: u8) -> String {
    let special = |b: u8| b == delimiter || matches!(b, b'"' | b'\n' | b'\r');
    if !text.bytes().any(special) {
        return text.to_owned();
    }
    format!("\"{}\"", text.replace('"', "\"\""))
}

/// The same as bytes. A line with nothing in it would be skipped when it is read, so the only column
/// shows its empty cells as quotes.
fn cell(text: &str, delimiter: u8, alone: bool) -> Vec<u8> {
    if alone && text.is_empty() { b"\"\"".to_vec() } else { quoted(text, delimiter).into_bytes() }
}

/// The names of the columns.
fn header(path: &Path, options: &ReadOptions) -> Result<Vec<String>, Failures> {
    Ok(Head::read(path, options)?.names)
}

/// Reads the wanted columns.
fn read(
    path: &Path,
    options: &ReadOptions,
    wanted: Option<&[String]>,
    progress: Progress<'_>,
) -> Result<Columns, Failures> {
    let head = Head::read(path, options)?;
    let chosen = select(path, &head.names, wanted)?;
    read_rest(path, options, head, &chosen, progress)
}

/// Reads the columns that are chosen once the header is known.
pub(crate) fn read_chosen(
    path: &Path,
    options: &ReadOptions,
    choose: Choose<'_>,
    progress: Progress<'_>,
) -> Result<Columns, Failures> {
    let head = Head::read(path, options)?;
    let chosen = select(path, &head.names, Some(&choose(&head.names)?))?;
    read_rest(path, options, head, &chosen, progress)
}

/// Reads what stands below the header.
fn read_rest(
    path: &Path,
    options: &ReadOptions,
    head: Head,
    chosen: &[usize],
    progress: Progress<'_>,
) -> Result<Columns, Failures> {
    let shape = Shape::new(&head, chosen);
    let threads = threads(options);
    let spare = Mutex::new(Vec::new());
    let (sender, receiver) = options.hash.then(|| sync_channel(4)).unzip();
    let blocks = Mutex::new(Blocks::new(path, head, options, sender, &spare, progress));
    let (workers, sha256) = std::thread::scope(|scope| {
        let hasher = receiver.map(|blocks| scope.spawn(|| hash(blocks, &spare)));
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(|| work(&blocks, &shape))).collect();
        let workers: Vec<_> = workers.into_iter().map(|worker| worker.join()).collect();
        // The hasher listens as long as somebody may send, so this must happen before anybody's
        // panic goes on.
        lock(&blocks).hash = None;
        let sha256 = hasher.map(|hasher| unless_panicked(hasher.join()));
        (workers.into_iter().map(unless_panicked).collect::<Vec<_>>(), sha256)
    });
    let blocks = blocks.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()).end();
    let (first_line, bytes) = blocks?;
    tell(path, &shape, first_line, &workers)?;
    let encoders = workers.into_iter().map(|worker| worker.encoder).collect();
    let (rows, merged) = merge(encoders, chosen.len(), threads);
    let names = chosen.iter().map(|&i| shape.names[i].clone());
    let columns = names
        .zip(merged)
        .map(|(name, (values, codes))| Column { name, values, codes, arrow: None })
        .collect();
    Ok(Columns { rows, columns, bytes, dialect: Some(shape.dialect), sha256, weights: None })
}

/// How a file is written.
fn dialect(path: &Path, options: &ReadOptions) -> Result<Dialect, Failures> {
    Ok(Head::read(path, options)?.dialect)
}

/// A thread's result; if it panicked, we do.
fn unless_panicked<T>(result: std::thread::Result<T>) -> T {
    result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// The beginning of a file, up to and including the header, and what was read beyond.
struct Head {
    file: File,
    bytes: Vec<u8>,
    /// Where in `bytes` the data begin.
    data: usize,
    dialect: Dialect,
    names: Vec<String>,
}

impl Head {
    /// Reads until the header is complete, first as much as is needed to detect the dialect.
    fn read(path: &Path, options: &ReadOptions) -> Result<Head, Failures> {
        let mut file = open(path)?;
        let mut bytes = Vec::new();
        loop {
            let more = SAMPLE.max(bytes.len()) as u64;
            let read = file
                .by_ref()
                .take(more)
                .read_to_end(&mut bytes)
                .map_err(|e| unreadable(path, &e))?;
            let last = (read as u64) < more;
            refuse(path, &bytes)?;
            let start = skip_blank(&bytes, if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 });
            if start == bytes.len() && last {
                return Err(empty(path));
            }
            let sample = &bytes[start..bytes.len().min(start + SAMPLE)];
            let dialect =
                detect(path, sample, last && start + sample.len() == bytes.len(), options)?;
            match record(&bytes[start..], dialect, last) {
                Step::Record(found) => {
                    let names = names(path, found.cells)?;
                    return Ok(Head { file, data: start + found.end, bytes, dialect, names });
                }
                Step::Open(at) if last => {
                    return Err(unclosed(path, 1 + newlines(&bytes[..start + at])).into());
                }
                _ if bytes.len() >= LONGEST => return Err(endless(path, 1).into()),
                _ => (),
            }
        }
    }
}

fn skip_blank(bytes: &[u8], mut at: usize) -> usize {
    while let Some(length) = blank(bytes, at) {
        at += length;
    }
    at
}

/// The length of the blank line that begins here, if one does.
fn blank(bytes: &[u8], at: usize) -> Option<usize> {
    match bytes.get(at) {
        Some(b'\n') => Some(1),
        Some(b'\r') if bytes.get(at + 1) == Some(&b'\n') => Some(2),
        _ => None,
    }
}

fn names(path: &Path, cells: Vec<Vec<u8>>) -> Result<Vec<String>, Failures> {
    let lonely =
        |cell: &Vec<u8>| memchr_iter(b'\r', cell).any(|at| cell.get(at + 1) != Some(&b'\n'));
    if cells.iter().any(lonely) {
        let problem = Failure::data(
            "wrong-line-ends",
            format!("lines of `{}` end with a carriage return only", path.display()),
        );
        return Err(problem
            .hint("convert the line ends, for example with `tr '\\r' '\\n'`")
            .into());
    }
    let mut problems = Failures::default();
    let names = cells.into_iter().enumerate().map(|(i, cell)| {
        String::from_utf8(cell).unwrap_or_else(|_| {
            problems.push(not_utf8(path, 1, &format!("the name of column {}", i + 1)));
            format!("column {}", i + 1)
        })
    });
    let names = names.collect();
    problems.or(names).and_then(|names| check_names(path, names))
}

/// How an SQLite database is read in a policy.
const DATABASE: &str = "in a policy `source = { sqlite = \"…\", table = \"…\" }`";

/// Files that are no text and that no other format knows, by their first bytes.
const MAGIC: [(&[u8], &str, &str); 6] = [
    (b"\xff\xfe", "is UTF-16", "convert it to UTF-8, for example with `iconv -f UTF-16 -t UTF-8`"),
    (b"\xfe\xff", "is UTF-16", "convert it to UTF-8, for example with `iconv -f UTF-16 -t UTF-8`"),
    (b"\x1f\x8b", "is compressed with gzip", "decompress it with `gunzip` first"),
    (b"\x28\xb5\x2f\xfd", "is compressed with zstd", "decompress it with `unzstd` first"),
    (b"PK\x03\x04", "is a zip archive or an Excel workbook", "save the table as CSV"),
    (b"SQLite format 3\0", "is an SQLite database", DATABASE),
];

/// Whether a file that is no text is known by its first bytes.
pub(super) fn is_told(bytes: &[u8]) -> bool {
    MAGIC.iter().any(|(magic, ..)| bytes.starts_with(magic))
}

/// What cannot be CSV is refused with a better reason than whatever the parser would find.
fn refuse(path: &Path, bytes: &[u8]) -> Result<(), Failures> {
    for (magic, what, hint) in MAGIC {
        if bytes.starts_with(magic) {
            let remedy = match hint {
                DATABASE => Remedy::words("name its table: ")
                    .and_give(Argument::Table)
                    .then(format!(", or {hint}")),
                _ => hint.into(),
            };
            let failure = Failure::data("not-csv", format!("`{}` {what}", path.display()));
            return Err(failure.file(path).remedy(remedy).into());
        }
    }
    let Some(at) = memchr(0, bytes) else { return Ok(()) };
    if let Some(other) = format::of_bytes(bytes) {
        let hint = format!("give it the extension `.{}`", other.endings[0]);
        let failure = Failure::data("not-csv", format!("`{}` is {}", path.display(), other.noun));
        return Err(failure.file(path).hint(hint).into());
    }
    Err(binary(path, 1 + newlines(&bytes[..at])).into())
}

fn newlines(bytes: &[u8]) -> u64 {
    memchr_iter(b'\n', bytes).count() as u64
}

/// A record of the header or the sample, parsed one byte after the other.
struct Record {
    cells: Vec<Vec<u8>>,
    end: usize,
    /// Cells enclosed in quotes.
    quoted: usize,
    /// Cells with a quote where a writer that quotes would not put it.
    odd: usize,
}

enum Step {
    Record(Record),
    /// A quote opened here is not closed.
    Open(usize),
    /// The record does not end.
    More,
}

/// The first record of `bytes`; `last` says that nothing follows them.
fn record(bytes: &[u8], dialect: Dialect, last: bool) -> Step {
    let mut found = Record { cells: Vec::new(), end: 0, quoted: 0, odd: 0 };
    let mut at = 0;
    loop {
        let mut cell = Vec::new();
        let quoted = at < bytes.len() && bytes[at] == dialect.quote;
        if quoted {
            match unquote(bytes, at, dialect.quote, &mut cell) {
                Some(after) => at = after,
                None => return Step::Open(at),
            }
        }
        let tail = &bytes[at..];
        let length = memchr2(dialect.delimiter, b'\n', tail);
        if length.is_none() && !last {
            return Step::More;
        }
        let text = &tail[..length.unwrap_or(tail.len())];
        at += text.len();
        let ends = length.is_none() || bytes[at] == b'\n';
        let text = if ends { text.strip_suffix(b"\r").unwrap_or(text) } else { text };
        found.quoted += usize::from(quoted && text.is_empty());
        found.odd +=
            usize::from(if quoted { !text.is_empty() } else { text.contains(&dialect.quote) });
        cell.extend_from_slice(text);
        found.cells.push(cell);
        at = bytes.len().min(at + 1);
        if ends {
            return Step::Record(Record { end: at, ..found });
        }
    }
}

/// Appends what stands in the quotes that open at `at`; the place after the closing one, or `None`
/// if there is none.
fn unquote(bytes: &[u8], at: usize, quote: u8, cell: &mut Vec<u8>) -> Option<usize> {
    let mut from = at + 1;
    loop {
        let close = from + memchr(quote, &bytes[from..])?;
        cell.extend_from_slice(&bytes[from..close]);
        if bytes.get(close + 1) != Some(&quote) {
            return Some(close + 1);
        }
        cell.push(quote);
        from = close + 2;
    }
}

/// The dialect from what the user said and, for what was left open, from the first records.
fn detect(
    path: &Path,
    sample: &[u8],
    whole: bool,
    options: &ReadOptions,
) -> Result<Dialect, Failures> {
    let tsv = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("tsv"));
    let delimiter = options.delimiter.or(tsv.then_some(b'\t'));
    let with = |quote| Dialect {
        quote,
        delimiter: delimiter.unwrap_or_else(|| best_delimiter(sample, whole, quote)),
    };
    let dialect = match options.quote {
        Some(quote) => with(quote),
        None if apostrophes(sample, whole, with(b'\'')) => with(b'\''),
        None => with(b'"'),
    };
    let line_end = |byte| byte == b'\n' || byte == b'\r';
    if dialect.quote == dialect.delimiter || line_end(dialect.quote) || line_end(dialect.delimiter)
    {
        let problem = Failure::usage(
            "wrong-dialect",
            "delimiter and quote must be two different characters and not line ends",
        );
        return Err(problem.hint("for example `;` and `\"`").into());
    }
    Ok(dialect)
}

/// The records of the sample that are complete; the last one may lack its line end if the sample is
/// the `whole` file.
fn sampled(sample: &[u8], whole: bool, dialect: Dialect) -> Vec<Record> {
    let mut records = Vec::new();
    let mut at = skip_blank(sample, 0);
    while at < sample.len() && records.len() < SAMPLE_RECORDS {
        match record(&sample[at..], dialect, whole) {
            Step::Record(found) => {
                at = skip_blank(sample, at + found.end);
                records.push(found);
            }
            _ => break,
        }
    }
    records
}

/// The delimiter for which most records have the same number of cells, at least two; of equals the
/// one with more cells. A comma if there is none: the file has one column.
fn best_delimiter(sample: &[u8], whole: bool, quote: u8) -> u8 {
    let mut best = (0, 0, b',');
    for delimiter in [b',', b';', b'\t', b'|'] {
        let counts: Vec<usize> = sampled(sample, whole, Dialect { delimiter, quote })
            .iter()
            .map(|r| r.cells.len())
            .collect();
        for &cells in counts.iter().filter(|&&cells| cells > 1) {
            let agree = counts.iter().filter(|&&other| other == cells).count();
            if 2 * agree > counts.len() && (agree, cells) > (best.0, best.1) {
                best = (agree, cells, delimiter);
            }
        }
    }
    best.2
}

/// Whether apostrophes are clearly used as quotes: every record has a cell enclosed in them, no
/// cell has one anywhere else, and there is no double quote.
fn apostrophes(sample: &[u8], whole: bool, dialect: Dialect) -> bool {
    if memchr(b'"', sample).is_some() || memchr(b'\'', sample).is_none() {
        return false;
    }
    let records = sampled(sample, whole, dialect);
    records.len() > 1 && records.iter().all(|record| record.quoted > 0 && record.odd == 0)
}

/// A piece of the file that ends where a record ends. The last one may lack the line end; there,
/// and everywhere, `PAD` bytes that begin with a newline follow the `length` bytes of the file.
struct Block {
    order: usize,
    bytes: Arc<Vec<u8>>,
    /// Where the last record to parse ends.
    end: usize,
    /// How many bytes of the buffer are the file's.
    length: usize,
    /// What is wrong at the end of the block, and where.
    fault: Option<(usize, What)>,
}

/// Buffers to be used again.
type Spare = Mutex<Vec<Vec<u8>>>;

/// Cuts the file into blocks.
struct Blocks<'a> {
    path: &'a Path,
    input: Chain<Cursor<Vec<u8>>, File>,
    /// The beginning of a record whose end is not read yet.
    carry: Vec<u8>,
    dialect: Dialect,
    one_column: bool,
    size: usize,
    order: usize,
    /// The line where the data begin.
    first_line: u64,
    done: u64,
    total: u64,
    failed: Option<Failures>,
    finished: bool,
    hash: Option<SyncSender<(Arc<Vec<u8>>, usize)>>,
    spare: &'a Spare,
    progress: Progress<'a>,
}

impl<'a> Blocks<'a> {
    fn new(
        path: &'a Path,
        head: Head,
        options: &ReadOptions,
        hash: Option<SyncSender<(Arc<Vec<u8>>, usize)>>,
        spare: &'a Spare,
        progress: Progress<'a>,
    ) -> Blocks<'a> {
        let (done, first_line) = (head.data as u64, 1 + newlines(&head.bytes[..head.data]));
        if let Some(hash) = &hash {
            // Nobody listens only if the hasher panicked, which its join will tell.
            hash.send((Arc::new(head.bytes[..head.data].to_vec()), head.data)).unwrap_or_default();
        }
        let total = head.file.metadata().ok().filter(|m| m.is_file()).map_or(0, |m| m.len());
        let mut rest = Cursor::new(head.bytes);
        rest.set_position(done);
        Blocks {
            path,
            input: rest.chain(head.file),
            carry: Vec::new(),
            dialect: head.dialect,
            one_column: head.names.len() == 1,
            size: options.block.unwrap_or(BLOCK).max(1),
            order: 0,
            first_line,
            done,
            total,
            failed: None,
            finished: false,
            hash,
            spare,
            progress,
        }
    }

    /// The next block, unless the file is at its end or cannot be read.
    fn next(&mut self) -> Option<Block> {
        if self.finished {
            return None;
        }
        let block = self.cut().unwrap_or_else(|error| {
            self.failed = Some(unreadable(self.path, &error));
            None
        });
        let Some(block) = block else {
            self.finished = true;
            return None;
        };
        self.order += 1;
        self.done += block.length as u64;
        if let Some(hash) = &self.hash {
            hash.send((block.bytes.clone(), block.length)).unwrap_or_default();
        }
        if let Err(cancelled) = self.progress.step(self.done, self.total.max(self.done)) {
            self.failed = Some(cancelled.into());
            self.finished = true;
            return None;
        }
        Some(block)
    }

    /// Reads a block; as long as no record ends in it, twice as much.
    fn cut(&mut self) -> std::io::Result<Option<Block>> {
        let mut bytes = lock(self.spare).pop().unwrap_or_default();
        let mut quotes = Quotes::default();
        let (mut length, mut target) = (self.carry.len(), self.carry.len() + self.size);
        bytes.resize(bytes.len().max(target + PAD), 0);
        bytes[..length].copy_from_slice(&self.carry);
        self.carry.clear();
        loop {
            bytes.resize(bytes.len().max(target + PAD), 0);
            length += fill(&mut self.input, &mut bytes[length..target])?;
            let last = length < target;
            quotes.follow(&bytes[..length], self.dialect, last);
            let mut end = if last && !quotes.inside { length } else { quotes.boundary };
            if self.one_column {
                end = without_blank_tail(&bytes[..end]);
            }
            let fault = match last {
                true => quotes.inside.then_some((quotes.opened, What::Unclosed)),
                false => (length >= LONGEST && end == 0).then_some((0, What::Endless)),
            };
            if end > 0 || last || fault.is_some() {
                self.finished = last || fault.is_some();
                if !self.finished {
                    self.carry.extend_from_slice(&bytes[end..length]);
                    length = end;
                }
                bytes[length..length + PAD].fill(0);
                bytes[length] = b'\n';
                let block = Block { order: self.order, bytes: Arc::new(bytes), end, length, fault };
                return Ok((length > 0).then_some(block));
            }
            target *= 2;
        }
    }

    /// After the last block: the line where the data begin and the bytes read.
    fn end(self) -> Result<(u64, u64), Failures> {
        self.failed.map_or(Ok((self.first_line, self.done)), Err)
    }
}

/// Reads until the buffer is full or the file at its end.
fn fill(input: &mut impl Read, buffer: &mut [u8]) -> std::io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match input.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => (),
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// In a file with one column a blank line is a value if a record follows. So a block never ends
/// with blank lines: they wait for the next block, and at the end of the file they are dropped.
fn without_blank_tail(bytes: &[u8]) -> usize {
    let mut end = bytes.len();
    if bytes == b"\r" || bytes.ends_with(b"\n\r") {
        end -= 1;
    }
    loop {
        match &bytes[..end] {
            b"\n" | [.., b'\n', b'\n'] => end -= 1,
            b"\r\n" | [.., b'\n', b'\r', b'\n'] => end -= 2,
            _ => return end,
        }
    }
}

/// Where we are with the quotes in a block, and the end of the last record seen.
#[derive(Default)]
struct Quotes {
    at: usize,
    inside: bool,
    opened: usize,
    boundary: usize,
}

impl Quotes {
    /// Goes on to the end of `bytes`, which begin as they did in the call before; `last` says that
    /// nothing follows.
    fn follow(&mut self, bytes: &[u8], dialect: Dialect, last: bool) {
        while self.at < bytes.len() {
            if self.inside {
                let Some(n) = memchr(dialect.quote, &bytes[self.at..]) else {
                    self.at = bytes.len();
                    return;
                };
                self.at += n;
                match bytes.get(self.at + 1) {
                    // Whether this quote closes depends on a byte that is not read yet.
                    None if !last => return,
                    Some(&next) if next == dialect.quote => self.at += 2,
                    _ => (self.inside, self.at) = (false, self.at + 1),
                }
            } else {
                let open = opening(bytes, self.at, dialect);
                let outside = &bytes[self.at..open.unwrap_or(bytes.len())];
                if let Some(n) = memrchr(b'\n', outside) {
                    self.boundary = self.at + n + 1;
                }
                self.at += outside.len();
                if open.is_some() {
                    (self.inside, self.opened, self.at) = (true, self.at, self.at + 1);
                }
            }
        }
    }
}

/// The next quote at the beginning of a cell.
fn opening(bytes: &[u8], from: usize, dialect: Dialect) -> Option<usize> {
    let begins =
        |at: usize| at == 0 || bytes[at - 1] == dialect.delimiter || bytes[at - 1] == b'\n';
    memchr_iter(dialect.quote, &bytes[from..]).map(|n| from + n).find(|&at| begins(at))
}

/// Hashes blocks in the order in which they come.
fn hash(blocks: Receiver<(Arc<Vec<u8>>, usize)>, spare: &Spare) -> String {
    let mut hash = Sha256::new();
    for (bytes, length) in blocks {
        hash.update(&bytes[..length]);
        recycle(bytes, spare);
    }
    hex(&hash.finalize())
}

/// Hasher and worker hold a buffer together; whoever lets go last gives it back.
fn recycle(bytes: Arc<Vec<u8>>, spare: &Spare) {
    if let Some(buffer) = Arc::into_inner(bytes) {
        lock(spare).push(buffer);
    }
}

/// A lock is poisoned only after a panic, which joining the thread will pass on.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// What the parser must know of the file.
struct Shape {
    dialect: Dialect,
    names: Vec<String>,
    /// For each column of the file its lane, if it is wanted.
    lanes: Vec<Option<usize>>,
    wanted: usize,
}

impl Shape {
    fn new(head: &Head, chosen: &[usize]) -> Shape {
        let mut lanes = vec![None; head.names.len()];
        for (lane, &column) in chosen.iter().enumerate() {
            lanes[column] = Some(lane);
        }
        Shape { dialect: head.dialect, names: head.names.clone(), lanes, wanted: chosen.len() }
    }
}

/// What is wrong with a line.
#[derive(Clone, Copy)]
enum What {
    /// So many cells.
    Ragged(usize),
    /// In this column.
    NotUtf8(usize),
    Binary,
    Unclosed,
    Endless,
}

/// What a worker remembers of a block for the sake of messages. Lines are counted from the
/// beginning of the block, because where that is in the file is known only when all blocks are
/// done.
struct Note {
    order: usize,
    lines: u64,
    faults: Vec<(u64, What)>,
    /// Faults beyond those listed.
    more: u64,
    /// Nothing after this block is worth reporting.
    fatal: bool,
}

/// Parses blocks.
struct Worker<'a> {
    shape: &'a Shape,
    encoder: Encoder,
    caches: Vec<Cache>,
    notes: Vec<Note>,
    /// A quoted cell that must be put together.
    cell: Vec<u8>,
    /// Where the cells of the last record end, counted from its beginning.
    ends: Vec<usize>,
}

/// What a worker thread does.
fn work<'a>(blocks: &Mutex<Blocks<'_>>, shape: &'a Shape) -> Worker<'a> {
    let caches = (0..shape.wanted).map(|_| Cache::new(shape.wanted)).collect();
    let encoder = Encoder::new(shape.wanted);
    let mut worker =
        Worker { shape, encoder, caches, notes: Vec::new(), cell: Vec::new(), ends: Vec::new() };
    loop {
        let mut source = lock(blocks);
        let Some(block) = source.next() else { return worker };
        let spare = source.spare;
        drop(source);
        worker.block(&block);
        if worker.notes.last().is_some_and(|note| note.fatal) {
            lock(blocks).finished = true;
        }
        recycle(block.bytes, spare);
    }
}

impl Worker<'_> {
    fn block(&mut self, block: &Block) {
        let file = &block.bytes[..block.length];
        let mut note = Note {
            order: block.order,
            lines: newlines(file),
            faults: Vec::new(),
            more: 0,
            fatal: false,
        };
        if let Some(at) = memchr(0, file) {
            note.faults.push((newlines(&file[..at]), What::Binary));
            note.fatal = true;
        } else {
            let rows = self.records(&block.bytes, block.end, &mut note);
            if let Some((at, what)) = block.fault {
                note.faults.push((newlines(&file[..at]), what));
                note.fatal = true;
            }
            if note.faults.is_empty() {
                self.encoder.seal(block.order, rows)
            } else {
                self.encoder.discard()
            }
        }
        self.notes.push(note);
    }

    /// Parses all records up to `end`; how many they are.
    fn records(&mut self, bytes: &[u8], end: usize, note: &mut Note) -> usize {
        let (mut at, mut rows) = (0, 0);
        let columns = self.shape.lanes.len();
        let mut before = None;
        while at < end {
            if columns > 1
                && let Some(length) = blank(bytes, at)
            {
                at += length;
                continue;
            }
            let start = at;
            let same = before.map_or(0, |before| self.same(bytes, before, start));
            let cells;
            (at, cells) = self.record(bytes, start, end, same, note);
            rows += 1;
            if cells != columns {
                fault(note, &bytes[..start], What::Ragged(cells));
            }
            before = note.faults.is_empty().then_some(start);
        }
        rows
    }

    /// How many cells the record at `start` shares with the one before it, counted from the left:
    /// those that end within the bytes that both begin with. In a release equal cells stand
    /// together, so most of a record is found here.
    #[inline(always)]
    fn same(&self, bytes: &[u8], before: usize, start: usize) -> usize {
        let mut length = 0;
        // Not beyond the record before: a file of equal lines would be compared to its end, again
        // and again.
        while self.ends.last().is_some_and(|&end| length < end) {
            let word = |at: usize| {
                bytes.get(at..at + 8).and_then(|w| w.try_into().ok()).map(u64::from_le_bytes)
            };
            let (Some(a), Some(b)) = (word(before + length), word(start + length)) else { break };
            if a != b {
                length += ((a ^ b).trailing_zeros() / 8) as usize;
                break;
            }
            length += 8;
        }
        // The last cell does not count: what follows it need not be the same.
        let inner = &self.ends[..self.ends.len().saturating_sub(1)];
        inner.iter().take_while(|&&end| end < length).count()
    }

    /// Parses the record that begins at `start` and has its first `same` cells in common with the
    /// one before; where it ends, and how many cells it has.
    fn record(
        &mut self,
        bytes: &[u8],
        start: usize,
        end: usize,
        same: usize,
        note: &mut Note,
    ) -> (usize, usize) {
        let Dialect { delimiter, quote } = self.shape.dialect;
        let (mut at, mut cells) = (start, 0);
        self.ends.truncate(same);
        if let Some(last) = self.ends.last() {
            (at, cells) = (start + last + 1, same);
            for lane in self.shape.lanes[..same].iter().copied().flatten() {
                let codes = &mut self.encoder.lanes[lane].codes;
                codes.extend(codes.last().copied());
            }
        }
        loop {
            let lane = self.shape.lanes.get(cells).copied().flatten();
            let (next, code) = if bytes[at] == quote {
                self.quoted(bytes, at, end, lane)
            } else {
                self.plain(bytes, at, lane)
            };
            match (lane, code) {
                (Some(lane), Some(code)) => self.encoder.lanes[lane].codes.push(code),
                (Some(_), None) => fault(note, &bytes[..start], What::NotUtf8(cells)),
                (None, _) => (),
            }
            cells += 1;
            self.ends.push(next - start);
            at = next + 1;
            if bytes[next] != delimiter {
                return (at, cells);
            }
        }
    }

    /// A cell that does not begin with a quote: where it ends, and its code unless it is unwanted
    /// or not UTF-8.
    #[inline(always)]
    fn plain(&mut self, bytes: &[u8], at: usize, lane: Option<usize>) -> (usize, Option<u32>) {
        let (next, mut key) = scan(bytes, at, self.shape.dialect.delimiter);
        let Some(lane) = lane else { return (next, None) };
        let mut text = &bytes[at..next];
        if bytes[next] == b'\n' && text.last() == Some(&b'\r') {
            text = &text[..text.len() - 1];
            key = key_of(bytes, at, text.len());
        }
        (next, self.code(lane, text, key))
    }

    /// A cell that begins with a quote.
    fn quoted(
        &mut self,
        bytes: &[u8],
        at: usize,
        end: usize,
        lane: Option<usize>,
    ) -> (usize, Option<u32>) {
        let Dialect { delimiter, quote } = self.shape.dialect;
        let close = at + 1 + memchr(quote, &bytes[at + 1..end]).unwrap_or(end - at - 1);
        let next = close + 1;
        if bytes[next] == delimiter || bytes[next] == b'\n' {
            let text = &bytes[at + 1..close];
            return (
                next,
                lane.and_then(|lane| self.code(lane, text, key_of(bytes, at + 1, text.len()))),
            );
        }
        let mut cell = std::mem::take(&mut self.cell);
        cell.clear();
        let after = unquote(&bytes[..end], at, quote, &mut cell).unwrap_or(end);
        let (next, _) = scan(bytes, after, delimiter);
        let tail = &bytes[after..next];
        cell.extend_from_slice(if bytes[next] == b'\n' {
            tail.strip_suffix(b"\r").unwrap_or(tail)
        } else {
            tail
        });
        let code = lane.and_then(|lane| self.encoder.lanes[lane].values.intern_bytes(&cell).ok());
        self.cell = cell;
        (next, code)
    }

    /// The code of a text with this key.
    #[inline(always)]
    fn code(&mut self, lane: usize, text: &[u8], key: Key) -> Option<u32> {
        let Lane { values, .. } = &mut self.encoder.lanes[lane];
        if text.len() > SHORT {
            return values.intern_bytes(text).ok();
        }
        let slot = self.caches[lane].slot(key);
        if slot.key == key && slot.code != NO_CODE {
            return Some(slot.code);
        }
        let code = values.intern_bytes(text).ok()?;
        *slot = Slot { key, code };
        Some(code)
    }
}

/// Notes a fault of the record that begins after `before`.
#[cold]
fn fault(note: &mut Note, before: &[u8], what: What) {
    if note.faults.len() < LISTED {
        note.faults.push((newlines(before), what));
    } else {
        note.more += 1;
    }
}

/// The bytes of a cell, filled up with zeros.
type Key = [u64; SHORT / 8];

const NO_CODE: u32 = u32::MAX;
/// Most slots of a column's cache.
const SLOTS: usize = 512;
/// Slots of all caches of a worker together, about 64 MB: a file of many columns must not take
/// memory by their number.
const ALL_SLOTS: usize = 1 << 20;

/// Codes of short texts seen lately, found by their bytes. One place for each, and the last one
/// stays.
struct Cache {
    /// A power of two of them.
    slots: Box<[Slot]>,
}

#[derive(Clone, Copy)]
struct Slot {
    key: Key,
    code: u32,
}

impl Cache {
    /// The cache of one of so many columns.
    fn new(columns: usize) -> Cache {
        let slots = (ALL_SLOTS / columns.max(1)).clamp(2, SLOTS);
        Cache {
            slots: vec![Slot { key: [0; SHORT / 8], code: NO_CODE }; 1 << slots.ilog2()].into(),
        }
    }

    #[inline(always)]
    fn slot(&mut self, key: Key) -> &mut Slot {
        let mix = key[0] ^ key[1].rotate_left(17) ^ key[2].rotate_left(31) ^ key[3].rotate_left(47);
        let place = mix.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - self.slots.len().ilog2());
        &mut self.slots[place as usize]
    }
}

/// The eight bytes of a word all equal to `byte`.
const fn spread(byte: u8) -> u64 {
    0x0101_0101_0101_0101 * byte as u64
}

/// A word whose lowest set bit is the high bit of the first zero byte of `word`; zero if there is
/// none.
const fn zero_byte(word: u64) -> u64 {
    word.wrapping_sub(spread(0x01)) & !word & spread(0x80)
}

/// The place of the first delimiter or newline at or after `at`, and the key of what stands before
/// it, which means something only if that is short. There is always a newline after the last cell
/// of a block.
#[inline(always)]
fn scan(bytes: &[u8], at: usize, delimiter: u8) -> (usize, Key) {
    let mut key = [0; SHORT / 8];
    let (words, _) = bytes[at..at + SHORT].as_chunks::<8>();
    for i in 0..SHORT / 8 {
        let word = u64::from_le_bytes(words[i]);
        let hit = zero_byte(word ^ spread(delimiter)) | zero_byte(word ^ spread(b'\n'));
        if hit != 0 {
            let low = hit & hit.wrapping_neg();
            key[i] = word & ((low >> 7) - 1);
            return (at + 8 * i + (hit.trailing_zeros() / 8) as usize, key);
        }
        key[i] = word;
    }
    let from = at + SHORT;
    (from + memchr2(delimiter, b'\n', &bytes[from..]).unwrap_or(bytes.len() - from - 1), key)
}

/// The key of the text of this length, if it is short.
fn key_of(bytes: &[u8], at: usize, length: usize) -> Key {
    let mut key = [0; SHORT / 8];
    let (words, _) = bytes[at..at + SHORT].as_chunks::<8>();
    for (i, word) in words.iter().enumerate() {
        let inside = length.saturating_sub(8 * i).min(8) as u32;
        let mask = 1u64.checked_shl(8 * inside).map_or(u64::MAX, |bit| bit - 1);
        key[i] = u64::from_le_bytes(*word) & mask;
    }
    key
}

/// All problems the workers met, in the order of the file.
fn tell(
    path: &Path,
    shape: &Shape,
    first_line: u64,
    workers: &[Worker<'_>],
) -> Result<(), Failures> {
    let mut notes: Vec<&Note> = workers.iter().flat_map(|worker| &worker.notes).collect();
    notes.sort_by_key(|note| note.order);
    let (mut line, mut more) = (first_line, 0);
    let mut problems = Failures::default();
    for note in notes {
        for &(within, what) in &note.faults {
            let fatal = matches!(what, What::Binary | What::Unclosed | What::Endless);
            if problems.0.len() < LISTED || fatal {
                problems.push(problem(path, shape, line + within, what));
            } else {
                more += 1;
            }
        }
        line += note.lines;
        more += note.more;
        if note.fatal {
            break;
        }
    }
    if more > 0 {
        problems.push(Failure::data(
            "more-like-these",
            format!("and {more} more lines or cells of `{}` with such problems", path.display()),
        ));
    }
    problems.or(())
}

fn problem(path: &Path, shape: &Shape, line: u64, what: What) -> Failure {
    match what {
        What::Ragged(cells) => {
            let (s, columns) = (if cells == 1 { "" } else { "s" }, shape.names.len());
            let message = format!(
                "line {line} of `{}` has {cells} field{s} instead of {columns}",
                path.display()
            );
            let delimiter = char::from(shape.dialect.delimiter).escape_default();
            Failure::data("ragged-line", message)
                .file(path)
                .line(line)
                .hint(format!("cells that contain the delimiter `{delimiter}` must be quoted"))
        }
        What::NotUtf8(column) => {
            let name = &shape.names[column];
            not_utf8(path, line, &format!("column `{name}`")).column(name)
        }
        What::Binary => binary(path, line),
        What::Unclosed => unclosed(path, line),
        What::Endless => endless(path, line),
    }
}

fn empty(path: &Path) -> Failures {
    let problem = Failure::data("empty-file", format!("`{}` is empty", path.display()));
    problem.file(path).hint("the first line must name the columns, the others are the rows").into()
}

fn not_utf8(path: &Path, line: u64, what: &str) -> Failure {
    Failure::data(
        "not-utf8",
        format!("{what} on line {line} of `{}` is not valid UTF-8", path.display()),
    )
    .file(path)
    .line(line)
    .hint("convert the file to UTF-8, for example with `iconv -f WINDOWS-1252 -t UTF-8`")
}

fn binary(path: &Path, line: u64) -> Failure {
    Failure::data(
        "not-csv",
        format!("`{}` looks like a binary file: line {line} contains a NUL byte", path.display()),
    )
    .file(path)
    .line(line)
    .hint(format!("give a {} file", format::titles()))
}

fn unclosed(path: &Path, line: u64) -> Failure {
    Failure::data(
        "unclosed-quote",
        format!("a quote opened on line {line} of `{}` is never closed", path.display()),
    )
    .file(path)
    .line(line)
    .hint("close it, or say which quote character the file uses")
}

fn endless(path: &Path, line: u64) -> Failure {
    Failure::data(
        "record-too-long",
        format!(
            "the record on line {line} of `{}` is longer than {} MB",
            path.display(),
            LONGEST >> 20
        ),
    )
    .file(path)
    .line(line)
    .hint("perhaps a quote is not closed, or the file is not CSV")
}
