//! Writing the records of a release.
//!
//! Rows stand in an order that only the seed knows, over the whole file: nothing is left of the
//! order of the extract, and a recipient who cuts the file into parts (for cross-validation, say)
//! gets a random sample in each, not some of the classes.

use crate::publish::source::{Cell, Extract, Place};
use crate::table::columns::Columns;
use arrow_array::{ArrayRef, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use hashbrown::HashMap;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use scumble::class::Run;
use scumble::failure::{Argument, Failure, Failures, Remedy};
use scumble::progress::Progress;
use scumble::release::{Form, Generalized, Member};
use scumble::table::Attribute;
use scumble::taxonomy::Taxonomy;
use std::borrow::Cow;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, PoisonError};

/// About so many records are formatted as one piece of work.
const PIECE: usize = 8_192;

/// So many pieces are formatted at a time while the ones before are written.
const BATCH: usize = 16;

/// Everything needed to write rows: the form, and its rows in the order in which they are written.
pub struct Rows<'a> {
    extract: &'a Extract,
    form: &'a Form,
    /// The columns of the file.
    layout: &'a [Cell],
    lines: Vec<Line>,
    /// Records sorted by distinct row, with the start of each row's; only where records are told
    /// apart, by insensitive columns or as persons.
    records: Option<(Vec<u32>, Vec<u32>)>,
}

/// A row of the file.
struct Line {
    class: u32,
    /// Distinct row of the table.
    row: u32,
    /// Record of the extract; 0 where records are not told apart.
    record: u32,
}

impl<'a> Rows<'a> {
    /// Plans the writing of these columns.
    pub fn new(extract: &'a Extract, form: &'a Form, layout: &'a [Cell], seed: u64) -> Rows<'a> {
        let classes = class_count(form);
        let all: usize = (0..classes).map(|i| members(form, i).len()).sum();
        let divided = all + form.suppressed().len() > extract.table.rows();
        let told_apart = !extract.plain.is_empty() || extract.persons.is_some();
        let records = told_apart.then(|| by_row(extract, divided, seed));
        let mut used = vec![0u32; if records.is_some() { extract.table.rows() } else { 0 }];
        let mut lines = Vec::new();
        for class in 0..classes {
            for m in members(form, class) {
                let line = |record| Line { class: class as u32, row: m.row, record };
                match &records {
                    None => lines.extend((0..m.count).map(|_| line(0))),
                    Some((records, first)) => {
                        let from = (first[m.row as usize] + used[m.row as usize]) as usize;
                        lines.extend(
                            records[from..from + m.count as usize]
                                .iter()
                                .map(|&record| line(record)),
                        );
                        used[m.row as usize] += m.count;
                    }
                }
            }
        }
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(1);
        lines.shuffle(&mut random);
        Rows { extract, form, layout, lines, records }
    }

    /// The rows in pieces of work, in order.
    fn pieces(&self) -> Vec<&[Line]> {
        self.lines.chunks(PIECE).collect()
    }

    /// The form, if its classes show regions.
    fn generalized(&self) -> Option<&'a Generalized> {
        if let Form::Generalized(form) = self.form { Some(form) } else { None }
    }

    /// The attributes that values are written in.
    fn quasi(&self, i: usize) -> &Attribute {
        let own = self.generalized().and_then(|form| form.quasi.as_ref());
        &own.unwrap_or(&self.extract.table.quasi)[i]
    }

    /// The class of every record, `u32::MAX` for those that are not written; nothing where records
    /// are not told apart.
    pub fn class_of(&self) -> Vec<u32> {
        let Some((records, _)) = &self.records else { return Vec::new() };
        let mut class_of = vec![u32::MAX; records.len()];
        self.lines.iter().for_each(|line| class_of[line.record as usize] = line.class);
        class_of
    }

    /// The records that are not written; only where insensitive columns tell records apart.
    pub fn left_out(&self) -> Vec<u32> {
        let Some((records, first)) = &self.records else { return Vec::new() };
        // Those of a row that no class took are its last ones.
        let last = |m: &Member| {
            let end = first[m.row as usize + 1] as usize;
            records[end - m.count as usize..end].iter().copied()
        };
        self.form.suppressed().iter().flat_map(last).collect()
    }
}

pub(crate) fn class_count(form: &Form) -> usize {
    match form {
        Form::Generalized(form) => form.classes.len(),
        Form::Anatomized(form) => form.groups.len(),
    }
}

pub(crate) fn members(form: &Form, class: usize) -> &[Member] {
    match form {
        Form::Generalized(form) => &form.classes[class].members,
        Form::Anatomized(form) => &form.groups[class],
    }
}

/// What a file calls the group with this index.
pub fn group_number(index: usize) -> u64 {
    index as u64 + 1
}

/// The records of each distinct row. If a row is divided between classes their order is one that
/// only the seed knows: the order of the extract must not decide who goes where.
fn by_row(extract: &Extract, divided: bool, seed: u64) -> (Vec<u32>, Vec<u32>) {
    let mut first = vec![0u32; extract.table.rows() + 1];
    for &row in &extract.row_of {
        first[row as usize + 1] += 1;
    }
    for i in 1..first.len() {
        first[i] += first[i - 1];
    }
    let mut order: Vec<u32> = (0..extract.row_of.len() as u32).collect();
    if divided {
        order.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
    }
    // Classes take the first ones of a row.
    order.sort_by_key(|record| extract.left_out.binary_search(record).is_ok());
    let mut next = first.clone();
    let mut records = vec![0u32; order.len()];
    for record in order {
        let slot = &mut next[extract.row_of[record as usize] as usize];
        records[*slot as usize] = record;
        *slot += 1;
    }
    (records, first)
}

/// What a column shows: texts, and which of them each class, distinct row or record has.
struct Texts<'a> {
    labels: Labels,
    codes: Cow<'a, [u32]>,
    by: By,
}

/// What decides the text of a cell.
#[derive(Clone, Copy)]
enum By {
    Class,
    Row,
    Record,
}

impl Texts<'_> {
    /// Which text a row of the file has.
    #[inline(always)]
    fn code(&self, line: &Line) -> u32 {
        let at = match self.by {
            By::Class => line.class,
            By::Row => line.row,
            By::Record => line.record,
        };
        self.codes[at as usize]
    }
}

/// Texts one after another, each followed by so much room that a whole [`STEP`] can be copied from
/// where it begins.
#[derive(Default)]
struct Labels {
    bytes: Vec<u8>,
    spans: Vec<(usize, usize)>,
    longest: usize,
}

/// Most cells are shorter than this, and a copy of a fixed length needs no call.
const STEP: usize = 32;

impl Labels {
    fn push(&mut self, text: &[u8]) {
        self.spans.push((self.bytes.len(), text.len()));
        self.bytes.extend_from_slice(text);
        self.bytes.resize(self.bytes.len() + STEP, 0);
        self.longest = self.longest.max(text.len());
    }

    /// The text of a code.
    fn get(&self, code: u32) -> &[u8] {
        let (start, length) = self.spans[code as usize];
        &self.bytes[start..start + length]
    }

    /// Copies the text of a code to `out`, which has room for it and a step more; where it ends
    /// there.
    #[inline(always)]
    fn copy(&self, code: u32, out: &mut [u8], at: usize) -> usize {
        let (start, length) = self.spans[code as usize];
        if length <= STEP {
            out[at..at + STEP].copy_from_slice(&self.bytes[start..start + STEP]);
        } else {
            out[at..at + length].copy_from_slice(&self.bytes[start..start + length]);
        }
        at + length
    }
}

impl<T: AsRef<[u8]>> FromIterator<T> for Labels {
    fn from_iter<I: IntoIterator<Item = T>>(texts: I) -> Labels {
        let mut labels = Labels::default();
        texts.into_iter().for_each(|text| labels.push(text.as_ref()));
        labels
    }
}

/// Writes a CSV file. `progress` is told the records written. The file is returned so that the
/// caller can make it durable while it already does something else.
pub fn csv(
    path: &Path,
    rows: &Rows<'_>,
    delimiter: u8,
    progress: Progress<'_>,
) -> Result<File, Failures> {
    let mut file = File::create(path).map_err(|e| failed(path, &e))?;
    let layout = rows.layout;
    let names: Vec<Vec<u8>> = layout.iter().map(|c| escape(&c.name, delimiter)).collect();
    let mut head = names.join(&delimiter);
    head.push(b'\n');
    // A line with nothing in it would be skipped when it is read; the only column shows its empty
    // cells as quotes.
    let alone = layout.len() == 1;
    let escape = |text: &str| {
        if alone && text.is_empty() { b"\"\"".to_vec() } else { escape(text, delimiter) }
    };
    let texts: Vec<Texts<'_>> = layout.par_iter().map(|cell| texts(rows, cell, &escape)).collect();
    let total = rows.extract.table.records();
    let mut done = 0;
    let (send, receive) = sync_channel::<(Vec<u8>, usize, u64)>(BATCH);
    // Buffers are used again: memory fresh from the system costs as much as filling it.
    let spare: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());
    let spares = || spare.lock().unwrap_or_else(PoisonError::into_inner);
    let whole = std::thread::scope(|scope| {
        let (texts, spares) = (&texts, &spares);
        scope.spawn(move || {
            // Pieces are formatted in parallel a few at a time and handed over in order.
            for batch in rows.pieces().chunks(BATCH) {
                let formatted: Vec<_> = batch
                    .par_iter()
                    .map(|lines| {
                        let buffer = spares().pop().unwrap_or_default();
                        format_piece(lines, texts, delimiter, buffer)
                    })
                    .collect();
                for buffer in formatted {
                    if send.send(buffer).is_err() {
                        return;
                    }
                }
            }
        });
        let write = || -> std::io::Result<bool> {
            file.write_all(&head)?;
            for (buffer, length, written) in receive {
                file.write_all(&buffer[..length])?;
                spares().push(buffer);
                done += written;
                if !progress.at(done, total) {
                    // Whoever formats stops when nobody receives.
                    return Ok(false);
                }
            }
            Ok(true)
        };
        write()
    })
    .map_err(|e| failed(path, &e))?;
    if whole { Ok(file) } else { Err(Failure::cancelled().into()) }
}

/// The problem of a file that could not be written.
pub fn failed(path: &Path, e: &std::io::Error) -> Failures {
    let name = path
        .file_name()
        .map_or_else(|| path.display().to_string(), |n| n.to_string_lossy().into_owned());
    Failure::io("cannot-write", format!("writing `{name}` failed: {}", crate::describe(e)))
        .file(path)
        .remedy(
            Remedy::words("nothing was published; make room or choose another folder with ")
                .and_give(Argument::To),
        )
        .into()
}

fn texts<'a>(rows: &Rows<'a>, cell: &Cell, escape: &dyn Fn(&str) -> Vec<u8>) -> Texts<'a> {
    let extract = rows.extract;
    let leaves =
        |t: &Taxonomy| (0..t.leaves() as u32).map(|code| escape(t.leaf(code))).collect::<Labels>();
    match cell.place {
        Place::Quasi(i) => {
            let taxonomy = &rows.quasi(i).taxonomy;
            let Some(form) = rows.generalized() else {
                let codes = Cow::Borrowed(&extract.table.quasi_codes[i][..]);
                return Texts { labels: leaves(taxonomy), codes, by: By::Row };
            };
            let (mut labels, mut known) = (Labels::default(), HashMap::<Run, u32>::new());
            let mut code = |run: Run| {
                *known.entry(run).or_insert_with(|| {
                    labels.push(&escape(&taxonomy.label(run)));
                    labels.spans.len() as u32 - 1
                })
            };
            let codes = form.classes.iter().map(|class| code(class.region[i])).collect();
            Texts { labels, codes, by: By::Class }
        }
        Place::Sensitive(i) => {
            let codes = Cow::Borrowed(&extract.table.sensitive_codes[i][..]);
            Texts { labels: leaves(&extract.table.sensitive[i].taxonomy), codes, by: By::Row }
        }
        Place::Plain(i) => {
            let column = &extract.plain[i];
            let labels = column.values.iter().map(escape).collect();
            Texts { labels, codes: Cow::Borrowed(&column.codes[..]), by: By::Record }
        }
        Place::Group | Place::Count => {
            let classes = class_count(rows.form);
            let labels = (0..classes).map(|class| group_number(class).to_string()).collect();
            Texts { labels, codes: (0..classes as u32).collect(), by: By::Class }
        }
    }
}

/// A cell as CSV: quoted where it has to be, by the rules that the reader detects.
pub(crate) fn quoted(text: &str, delimiter: u8) -> String {
    let special = |b: u8| b == delimiter || matches!(b, b'"' | b'\n' | b'\r');
    if !text.bytes().any(special) {
        return text.to_owned();
    }
    format!("\"{}\"", text.replace('"', "\"\""))
}

/// The same as bytes.
fn escape(text: &str, delimiter: u8) -> Vec<u8> {
    quoted(text, delimiter).into_bytes()
}

/// The rows of a piece as text in the buffer: how many bytes and how many rows.
fn format_piece(
    lines: &[Line],
    texts: &[Texts<'_>],
    delimiter: u8,
    mut out: Vec<u8>,
) -> (Vec<u8>, usize, u64) {
    let longest: usize = texts.iter().map(|t| t.labels.longest + 1).sum();
    let room = lines.len() * longest + STEP;
    if out.len() < room {
        out.resize(room, 0);
    }
    let mut at = 0;
    for line in lines {
        for text in texts {
            at = text.labels.copy(text.code(line), &mut out, at);
            out[at] = delimiter;
            at += 1;
        }
        if at > 0 {
            out[at - 1] = b'\n';
        }
    }
    (out, at, lines.len() as u64)
}

/// Writes a Parquet file. Generalized columns are text; the others keep the type that they had in
/// the source.
pub fn parquet(path: &Path, rows: &Rows<'_>, progress: Progress<'_>) -> Result<File, Failures> {
    let file = File::create(path).map_err(|e| failed(path, &e))?;
    let refuse = |e| parquet_failed(path, e);
    let kinds: Vec<DataType> = rows
        .layout
        .iter()
        .map(|cell| kept_type(cell, shows_whole_numbers(rows.form, rows.extract, cell)))
        .collect();
    let schema = schema(rows.layout, &kinds);
    let mut writer =
        ArrowWriter::try_new(file, schema.clone(), Some(properties())).map_err(refuse)?;
    let total = rows.extract.table.records();
    let mut done = 0;
    let texts: Vec<Texts<'_>> = rows
        .layout
        .par_iter()
        .map(|cell| texts(rows, cell, &|text| text.as_bytes().to_vec()))
        .collect();
    for batch in rows.pieces().chunks(BATCH) {
        let made: Vec<Result<RecordBatch, Failures>> =
            batch.par_iter().map(|lines| piece_batch(lines, &texts, &kinds, &schema)).collect();
        for batch in made {
            let batch = batch?;
            writer.write(&batch).map_err(refuse)?;
            done += batch.num_rows() as u64;
            progress.step(done, total)?;
        }
    }
    writer.into_inner().map_err(refuse)
}

fn schema(layout: &[Cell], kinds: &[DataType]) -> Arc<Schema> {
    let field = |(c, kind): (&Cell, &DataType)| Field::new(&c.name, kind.clone(), true);
    Arc::new(Schema::new(layout.iter().zip(kinds).map(field).collect::<Vec<Field>>()))
}

fn properties() -> WriterProperties {
    WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default())).build()
}

/// The disk's own words, where it was the disk.
fn parquet_failed(path: &Path, e: ParquetError) -> Failures {
    match e {
        ParquetError::External(cause) => match cause.downcast::<std::io::Error>() {
            Ok(e) => failed(path, &e),
            Err(e) => failed(path, &std::io::Error::other(e)),
        },
        e => failed(path, &std::io::Error::other(e)),
    }
}

/// Whether a quasi-identifier is shown record by record, in cells that are whole numbers.
fn shows_whole_numbers(form: &Form, extract: &Extract, cell: &Cell) -> bool {
    let (Form::Anatomized(_), Place::Quasi(i)) = (form, cell.place) else { return false };
    let t = &extract.table.quasi[i].taxonomy;
    (0..t.leaves() as u32)
        .all(|leaf| t.leaf(leaf).is_empty() || t.leaf(leaf).parse::<i64>().is_ok())
}

/// Generalized values are text. Others keep their type where text can be turned back into it; of
/// quasi-identifiers that are `exact` only whole numbers do, which can be written in one way only.
fn kept_type(cell: &Cell, exact: bool) -> DataType {
    match (&cell.place, &cell.arrow) {
        (Place::Group | Place::Count, _) => DataType::Int64,
        (Place::Quasi(_), Some(kind)) if exact && kind.is_integer() => kind.clone(),
        (Place::Quasi(_), _) | (_, None) => DataType::Utf8,
        (_, Some(DataType::Dictionary(_, value))) => (**value).clone(),
        (_, Some(kind)) if arrow_cast::can_cast_types(&DataType::Utf8, kind) => kind.clone(),
        _ => DataType::Utf8,
    }
}

fn piece_batch(
    lines: &[Line],
    texts: &[Texts<'_>],
    kinds: &[DataType],
    schema: &Arc<Schema>,
) -> Result<RecordBatch, Failures> {
    let cell = |text: &Texts<'_>, line: &Line| {
        let shown = text.labels.get(text.code(line));
        (!shown.is_empty()).then(|| String::from_utf8_lossy(shown).into_owned())
    };
    let columns =
        texts.iter().map(|text| lines.iter().map(|line| cell(text, line)).collect()).collect();
    batch(schema, kinds, columns)
}

/// Columns of texts as the types that they are to have.
fn batch(
    schema: &Arc<Schema>,
    kinds: &[DataType],
    columns: Vec<Vec<Option<String>>>,
) -> Result<RecordBatch, Failures> {
    let arrays: Result<Vec<ArrayRef>, Failures> = columns
        .into_iter()
        .zip(kinds)
        .zip(schema.fields())
        .map(|((texts, kind), field)| {
            let array: ArrayRef = Arc::new(StringArray::from(texts));
            if *kind == DataType::Utf8 {
                return Ok(array);
            }
            let options = arrow_cast::CastOptions { safe: false, ..Default::default() };
            arrow_cast::cast_with_options(&array, kind, &options).map_err(|_| {
                let message =
                    format!("column `{}` cannot be written as {kind} again", field.name());
                Failure::data("not-writable-again", message)
                    .hint("publish as CSV: `format = \"csv\"`")
                    .into()
            })
        })
        .collect();
    RecordBatch::try_new(schema.clone(), arrays?)
        .map_err(|e| Failure::bug("internal", format!("internal: {e}")).into())
}

/// A file whose records come from elsewhere in the order in which they are written.
pub struct Stream<'a> {
    extract: &'a Extract,
    form: &'a Form,
    layout: &'a [Cell],
    kinds: Vec<DataType>,
    schema: Arc<Schema>,
    path: PathBuf,
    out: Out,
}

enum Out {
    Csv(BufWriter<File>, u8),
    Parquet(Box<ArrowWriter<File>>),
}

impl<'a> Stream<'a> {
    /// Begins the file; as CSV if there is a delimiter.
    pub fn new(
        path: &Path,
        extract: &'a Extract,
        form: &'a Form,
        layout: &'a [Cell],
        delimiter: Option<u8>,
    ) -> Result<Stream<'a>, Failures> {
        let file = File::create(path).map_err(|e| failed(path, &e))?;
        let kinds: Vec<DataType> = layout
            .iter()
            .map(|cell| kept_type(cell, shows_whole_numbers(form, extract, cell)))
            .collect();
        let schema = schema(layout, &kinds);
        let out = match delimiter {
            Some(delimiter) => {
                let mut file = BufWriter::with_capacity(1 << 18, file);
                let names: Vec<Vec<u8>> =
                    layout.iter().map(|c| escape(&c.name, delimiter)).collect();
                let head = [names.join(&delimiter), vec![b'\n']].concat();
                file.write_all(&head).map_err(|e| failed(path, &e))?;
                Out::Csv(file, delimiter)
            }
            None => {
                let writer = ArrowWriter::try_new(file, schema.clone(), Some(properties()));
                Out::Parquet(Box::new(writer.map_err(|e| parquet_failed(path, e))?))
            }
        };
        Ok(Stream { extract, form, layout, kinds, schema, path: path.to_path_buf(), out })
    }

    /// Writes some records: the class and the distinct row of each, and the columns that pass
    /// through.
    pub fn put(&mut self, classes: &[u32], rows: &[u32], plain: &Columns) -> Result<(), Failures> {
        let (extract, form) = (self.extract, self.form);
        let columns: Vec<Vec<Option<String>>> = self
            .layout
            .par_iter()
            .map(|cell| texts_of(cell, extract, form, (classes, rows), plain))
            .collect();
        match &mut self.out {
            Out::Csv(file, delimiter) => {
                // A line with nothing in it would be skipped when it is read.
                let empty: &[u8] = if columns.len() == 1 { b"\"\"" } else { b"" };
                let mut line = Vec::new();
                for i in 0..classes.len() {
                    line.clear();
                    for column in &columns {
                        match &column[i] {
                            Some(text) => line.extend_from_slice(&escape(text, *delimiter)),
                            None => line.extend_from_slice(empty),
                        }
                        line.push(*delimiter);
                    }
                    line.pop();
                    line.push(b'\n');
                    file.write_all(&line).map_err(|e| failed(&self.path, &e))?;
                }
                Ok(())
            }
            Out::Parquet(writer) => {
                let batch = batch(&self.schema, &self.kinds, columns)?;
                writer.write(&batch).map_err(|e| parquet_failed(&self.path, e))
            }
        }
    }

    /// Ends the file.
    pub fn finish(self) -> Result<File, Failures> {
        match self.out {
            Out::Csv(file, _) => file.into_inner().map_err(|e| failed(&self.path, e.error())),
            Out::Parquet(writer) => writer.into_inner().map_err(|e| parquet_failed(&self.path, e)),
        }
    }
}

/// The cells of a column of a [`Stream`]: of records given by their classes and distinct rows.
fn texts_of(
    cell: &Cell,
    extract: &Extract,
    form: &Form,
    (classes, rows): (&[u32], &[u32]),
    plain: &Columns,
) -> Vec<Option<String>> {
    let table = &extract.table;
    let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let leaves = |taxonomy: &Taxonomy, codes: &[u32]| {
        rows.iter().map(|&row| text(taxonomy.leaf(codes[row as usize]))).collect()
    };
    match (cell.place, form) {
        (Place::Quasi(i), Form::Generalized(form)) => {
            let taxonomy = &form.quasi.as_ref().unwrap_or(&table.quasi)[i].taxonomy;
            // Records of a class stand together.
            let mut last: Option<(u32, Option<String>)> = None;
            let mut label = |class: u32| match &last {
                Some((of, label)) if *of == class => label.clone(),
                _ => {
                    let label = text(&taxonomy.label(form.classes[class as usize].region[i]));
                    last = Some((class, label.clone()));
                    label
                }
            };
            classes.iter().map(|&class| label(class)).collect()
        }
        (Place::Quasi(i), Form::Anatomized(_)) => {
            leaves(&table.quasi[i].taxonomy, &table.quasi_codes[i])
        }
        (Place::Sensitive(i), _) => leaves(&table.sensitive[i].taxonomy, &table.sensitive_codes[i]),
        (Place::Plain(i), _) => {
            let column = &plain.columns[i];
            column.codes.iter().map(|&code| text(column.values.get(code))).collect()
        }
        (Place::Group | Place::Count, _) => {
            classes.iter().map(|&class| Some(group_number(class as usize).to_string())).collect()
        }
    }
}

/// A table that is written line by line in its own order: what stands in its columns.
pub struct Lines<'a> {
    /// The columns.
    pub layout: &'a [Cell],
    /// Their values, each as many as there are lines.
    pub columns: Vec<Values<'a>>,
}

/// The values of a column of [`Lines`].
pub enum Values<'a> {
    /// Leaves of a taxonomy.
    Leaves(&'a Taxonomy, Vec<u32>),
    /// Numbers.
    Numbers(Vec<u64>),
}

impl Values<'_> {
    fn text(&self, line: usize) -> Cow<'_, str> {
        match self {
            Values::Leaves(taxonomy, codes) => taxonomy.leaf(codes[line]).into(),
            Values::Numbers(numbers) => numbers[line].to_string().into(),
        }
    }
}

impl Lines<'_> {
    fn len(&self) -> usize {
        self.columns.first().map_or(0, |c| match c {
            Values::Leaves(_, codes) => codes.len(),
            Values::Numbers(numbers) => numbers.len(),
        })
    }

    /// The lines of each piece.
    fn pieces(&self) -> Vec<Range<usize>> {
        (0..self.len()).step_by(PIECE).map(|start| start..(start + PIECE).min(self.len())).collect()
    }

    /// Writes them as CSV.
    pub fn csv(&self, path: &Path, delimiter: u8) -> Result<File, Failures> {
        let join = |cells: Vec<Vec<u8>>| {
            let mut line = cells.join(&delimiter);
            line.push(b'\n');
            line
        };
        let line =
            |i: usize| join(self.columns.iter().map(|c| escape(&c.text(i), delimiter)).collect());
        let pieces: Vec<Vec<u8>> =
            self.pieces().into_par_iter().map(|lines| lines.flat_map(line).collect()).collect();
        let head = join(self.layout.iter().map(|c| escape(&c.name, delimiter)).collect());
        let write = || {
            let mut file = File::create(path)?;
            file.write_all(&head)?;
            pieces.iter().try_for_each(|piece| file.write_all(piece))?;
            Ok(file)
        };
        write().map_err(|e| failed(path, &e))
    }

    /// Writes them as Parquet.
    pub fn parquet(&self, path: &Path) -> Result<File, Failures> {
        let file = File::create(path).map_err(|e| failed(path, &e))?;
        let refuse = |e| parquet_failed(path, e);
        let kinds: Vec<DataType> = self.layout.iter().map(|cell| kept_type(cell, true)).collect();
        let schema = schema(self.layout, &kinds);
        let cell = |text: Cow<'_, str>| (!text.is_empty()).then(|| text.into_owned());
        let mut writer =
            ArrowWriter::try_new(file, schema.clone(), Some(properties())).map_err(refuse)?;
        for lines in self.pieces() {
            let column = |c: &Values<'_>| lines.clone().map(|i| cell(c.text(i))).collect();
            writer
                .write(&batch(&schema, &kinds, self.columns.iter().map(column).collect())?)
                .map_err(refuse)?;
        }
        writer.into_inner().map_err(refuse)
    }
}
