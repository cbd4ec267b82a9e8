//! Writing the records of a release.
//!
//! Rows stand in an order that only the seed knows, over the whole file: nothing is left of the
//! order of the extract, and a recipient who cuts the file into parts (for cross-validation, say)
//! gets a random sample in each, not some of the classes.

use crate::publish::source::{Cell, Extract, Place};
use crate::table::columns::{Column, Columns};
pub(crate) use crate::table::format::quoted;
use crate::table::format::{Batches, Format, Writer};
use arrow_array::{ArrayRef, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use hashbrown::HashMap;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use scumble::class::Run;
use scumble::failure::{Argument, Failure, Failures, Remedy};
use scumble::progress::Progress;
use scumble::release::{Form, Member};
use scumble::taxonomy::Taxonomy;
use std::borrow::Cow;
use std::fs::File;
use std::io::Write;
use std::path::Path;
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

    /// Writes them; `progress` is told the records written. The file is returned so that the caller
    /// can make it durable while it already does something else.
    pub fn write(&self, to: Destination<'_>, progress: Progress<'_>) -> Result<File, Failures> {
        let (extract, form) = (self.extract, self.form);
        let mut output = Output::begin(to, self.layout, kinds(self.layout, extract, form))?;
        let encoding = &output.encoding;
        let texts: Vec<Texts<'_>> = self
            .layout
            .par_iter()
            .map(|cell| texts(extract, form, cell, &extract.plain, encoding))
            .collect();
        let total = extract.table.records();
        let texts: Vec<&Texts<'_>> = texts.iter().collect();
        output.write(&self.lines, &texts, &mut |done| progress.step(done, total))?;
        output.finish()
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
    let row_of = extract.rows.of_records();
    for &row in row_of {
        first[row as usize + 1] += 1;
    }
    for i in 1..first.len() {
        first[i] += first[i - 1];
    }
    let mut order: Vec<u32> = (0..row_of.len() as u32).collect();
    if divided {
        order.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
    }
    // Classes take the first ones of a row.
    order.sort_by_key(|record| extract.left_out.binary_search(record).is_ok());
    let mut next = first.clone();
    let mut records = vec![0u32; order.len()];
    for record in order {
        let slot = &mut next[row_of[record as usize] as usize];
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

/// Where a data file goes, and how it is written.
#[derive(Clone, Copy)]
pub struct Destination<'a> {
    /// The file.
    pub path: &'a Path,
    /// Its format, which has a writer.
    pub format: &'static Format,
    /// What separates the cells of a format that is text.
    pub delimiter: u8,
}

/// A file that is being written.
struct Output<'a> {
    path: &'a Path,
    encoding: Encoding,
    sink: Sink,
}

/// How rows become what a format stores.
enum Encoding {
    Lines { cell: fn(&str, u8, bool) -> Vec<u8>, delimiter: u8, alone: bool },
    Batches { kinds: Vec<DataType>, schema: SchemaRef },
}

/// Takes what is stored, in order.
enum Sink {
    Bytes(File),
    Batches(Box<dyn Batches>),
}

/// Some rows as they are stored.
enum Piece {
    /// The first so many bytes of a buffer.
    Bytes(Vec<u8>, usize),
    Batch(RecordBatch),
}

impl<'a> Output<'a> {
    /// Begins a file with these columns, whose types are `kinds` where the format has types.
    fn begin(
        to: Destination<'a>,
        layout: &[Cell],
        kinds: Vec<DataType>,
    ) -> Result<Output<'a>, Failures> {
        let Destination { path, format, delimiter } = to;
        let (encoding, sink) = match &format.writer {
            Some(Writer::Lines { cell }) => {
                let names: Vec<Vec<u8>> =
                    layout.iter().map(|c| cell(&c.name, delimiter, false)).collect();
                let mut head = names.join(&delimiter);
                head.push(b'\n');
                let mut file = File::create(path).map_err(|e| failed(path, &e))?;
                file.write_all(&head).map_err(|e| failed(path, &e))?;
                let alone = layout.len() == 1;
                (Encoding::Lines { cell: *cell, delimiter, alone }, Sink::Bytes(file))
            }
            Some(Writer::Batches { begin }) => {
                let schema = schema(layout, &kinds);
                let sink = Sink::Batches(begin(path, &schema)?);
                (Encoding::Batches { kinds, schema }, sink)
            }
            None => {
                let message = format!("the format `{}` is not written", format.name);
                return Err(Failure::bug("internal", message).into());
            }
        };
        Ok(Output { path, encoding, sink })
    }

    /// Writes rows. `told` is told how many there are so far, and may end it.
    fn write(
        &mut self,
        lines: &[Line],
        texts: &[&Texts<'_>],
        told: &mut dyn FnMut(u64) -> Result<(), Failure>,
    ) -> Result<(), Failures> {
        let Output { path, encoding, sink } = self;
        let (send, receive) = sync_channel::<(Result<Piece, Failures>, u64)>(BATCH);
        // Buffers are used again: memory fresh from the system costs as much as filling it.
        let spare: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());
        let spares = || spare.lock().unwrap_or_else(PoisonError::into_inner);
        let mut done = 0;
        std::thread::scope(|scope| {
            let (encoding, spares) = (&*encoding, &spares);
            scope.spawn(move || {
                // Pieces are formatted in parallel a few at a time and handed over in order.
                let pieces: Vec<&[Line]> = lines.chunks(PIECE).collect();
                for batch in pieces.chunks(BATCH) {
                    let formatted: Vec<_> = batch
                        .par_iter()
                        .map(|lines| {
                            let buffer = spares().pop().unwrap_or_default();
                            (encoding.piece(lines, texts, buffer), lines.len() as u64)
                        })
                        .collect();
                    for piece in formatted {
                        // Nobody receives after a failure.
                        if send.send(piece).is_err() {
                            return;
                        }
                    }
                }
            });
            for (piece, rows) in receive {
                if let Some(buffer) = sink.take(piece?, path)? {
                    spares().push(buffer);
                }
                done += rows;
                told(done)?;
            }
            Ok(())
        })
    }

    /// Ends the file.
    fn finish(self) -> Result<File, Failures> {
        match self.sink {
            Sink::Bytes(file) => Ok(file),
            Sink::Batches(file) => file.finish(),
        }
    }
}

impl Sink {
    /// Stores a piece, and gives back its buffer.
    fn take(&mut self, piece: Piece, path: &Path) -> Result<Option<Vec<u8>>, Failures> {
        match (self, piece) {
            (Sink::Bytes(file), Piece::Bytes(buffer, length)) => {
                file.write_all(&buffer[..length]).map_err(|e| failed(path, &e))?;
                Ok(Some(buffer))
            }
            (Sink::Batches(file), Piece::Batch(batch)) => file.write(&batch).map(|()| None),
            _ => Err(Failure::bug("internal", "a piece of another kind than its file").into()),
        }
    }
}

impl Encoding {
    /// A text as it is copied into rows.
    fn label(&self, text: &str) -> Vec<u8> {
        match self {
            Encoding::Lines { cell, delimiter, alone } => cell(text, *delimiter, *alone),
            Encoding::Batches { .. } => text.as_bytes().to_vec(),
        }
    }

    /// Rows as they are stored.
    fn piece(
        &self,
        lines: &[Line],
        texts: &[&Texts<'_>],
        buffer: Vec<u8>,
    ) -> Result<Piece, Failures> {
        match self {
            Encoding::Lines { delimiter, .. } => {
                let (buffer, length) = format_piece(lines, texts, *delimiter, buffer);
                Ok(Piece::Bytes(buffer, length))
            }
            Encoding::Batches { kinds, schema } => {
                piece_batch(lines, texts, kinds, schema).map(Piece::Batch)
            }
        }
    }
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

/// What a column shows; columns that pass through are in `plain`.
fn texts<'a>(
    extract: &'a Extract,
    form: &'a Form,
    cell: &Cell,
    plain: &'a [Column],
    encoding: &Encoding,
) -> Texts<'a> {
    let table = &extract.table;
    let leaves = |t: &Taxonomy| -> Labels {
        (0..t.leaves() as u32).map(|code| encoding.label(t.leaf(code))).collect()
    };
    match (cell.place, form) {
        (Place::Quasi(i), Form::Generalized(form)) => {
            let taxonomy = &form.quasi.as_ref().unwrap_or(&table.quasi)[i].taxonomy;
            let (mut labels, mut known) = (Labels::default(), HashMap::<Run, u32>::new());
            let mut code = |run: Run| {
                *known.entry(run).or_insert_with(|| {
                    labels.push(&encoding.label(&taxonomy.label(run)));
                    labels.spans.len() as u32 - 1
                })
            };
            let codes = form.classes.iter().map(|class| code(class.region[i])).collect();
            Texts { labels, codes, by: By::Class }
        }
        (Place::Quasi(i), Form::Anatomized(_)) => {
            let codes = Cow::Borrowed(&table.quasi_codes[i][..]);
            Texts { labels: leaves(&table.quasi[i].taxonomy), codes, by: By::Row }
        }
        (Place::Sensitive(i), _) => {
            let codes = Cow::Borrowed(&table.sensitive_codes[i][..]);
            Texts { labels: leaves(&table.sensitive[i].taxonomy), codes, by: By::Row }
        }
        (Place::Plain(i), _) => passing(&plain[i], encoding),
        (Place::Group | Place::Count, _) => {
            let classes = class_count(form);
            let labels = (0..classes).map(|class| group_number(class).to_string()).collect();
            Texts { labels, codes: (0..classes as u32).collect(), by: By::Class }
        }
    }
}

/// What a column shows that passes through.
fn passing<'a>(column: &'a Column, encoding: &Encoding) -> Texts<'a> {
    let labels = column.values.iter().map(|text| encoding.label(text)).collect();
    Texts { labels, codes: Cow::Borrowed(&column.codes[..]), by: By::Record }
}

/// The rows of a piece as text in the buffer, and how many bytes they have.
fn format_piece(
    lines: &[Line],
    texts: &[&Texts<'_>],
    delimiter: u8,
    mut out: Vec<u8>,
) -> (Vec<u8>, usize) {
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
    (out, at)
}

/// The types of the columns of a release, for formats that have types.
fn kinds(layout: &[Cell], extract: &Extract, form: &Form) -> Vec<DataType> {
    let kind = |cell| kept_type(cell, shows_whole_numbers(form, extract, cell));
    layout.iter().map(kind).collect()
}

fn schema(layout: &[Cell], kinds: &[DataType]) -> SchemaRef {
    let field = |(c, kind): (&Cell, &DataType)| Field::new(&c.name, kind.clone(), true);
    Arc::new(Schema::new(layout.iter().zip(kinds).map(field).collect::<Vec<Field>>()))
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
    texts: &[&Texts<'_>],
    kinds: &[DataType],
    schema: &SchemaRef,
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
    schema: &SchemaRef,
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

/// A file whose records come from elsewhere, some at a time, in the order in which they are written.
pub struct Stream<'a> {
    layout: &'a [Cell],
    output: Output<'a>,
    /// What the columns show that do not pass through.
    fixed: Vec<Option<Texts<'a>>>,
}

impl<'a> Stream<'a> {
    /// Begins the file.
    pub fn new(
        to: Destination<'a>,
        extract: &'a Extract,
        form: &'a Form,
        layout: &'a [Cell],
    ) -> Result<Stream<'a>, Failures> {
        let output = Output::begin(to, layout, kinds(layout, extract, form))?;
        let fixed = layout
            .par_iter()
            .map(|cell| match cell.place {
                Place::Plain(_) => None,
                _ => Some(texts(extract, form, cell, &[], &output.encoding)),
            })
            .collect();
        Ok(Stream { layout, output, fixed })
    }

    /// Writes some records: the class and the distinct row of each, and the columns that pass
    /// through.
    pub fn put(&mut self, classes: &[u32], rows: &[u32], plain: &Columns) -> Result<(), Failures> {
        let all = classes.iter().zip(rows).zip(0..);
        let lines: Vec<Line> =
            all.map(|((&class, &row), record)| Line { class, row, record }).collect();
        let encoding = &self.output.encoding;
        let shown = |cell: &Cell| match cell.place {
            Place::Plain(i) => Some(passing(&plain.columns[i], encoding)),
            _ => None,
        };
        let passing: Vec<Option<Texts<'_>>> = self.layout.par_iter().map(shown).collect();
        let texts: Vec<&Texts<'_>> = self
            .fixed
            .iter()
            .zip(&passing)
            .filter_map(|(f, p)| f.as_ref().or(p.as_ref()))
            .collect();
        self.output.write(&lines, &texts, &mut |_| Ok(()))
    }

    /// Ends the file.
    pub fn finish(self) -> Result<File, Failures> {
        self.output.finish()
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

impl Lines<'_> {
    /// Writes them.
    pub fn write(&self, to: Destination<'_>) -> Result<File, Failures> {
        let kinds = self.layout.iter().map(|cell| kept_type(cell, true)).collect();
        let mut output = Output::begin(to, self.layout, kinds)?;
        let texts: Vec<Texts<'_>> =
            self.columns.iter().map(|values| values.texts(&output.encoding)).collect();
        let count = texts.first().map_or(0, |t| t.codes.len() as u32);
        let lines: Vec<Line> = (0..count).map(|record| Line { class: 0, row: 0, record }).collect();
        let texts: Vec<&Texts<'_>> = texts.iter().collect();
        output.write(&lines, &texts, &mut |_| Ok(()))?;
        output.finish()
    }
}

impl Values<'_> {
    fn texts(&self, encoding: &Encoding) -> Texts<'_> {
        match self {
            Values::Leaves(taxonomy, codes) => {
                let leaves = 0..taxonomy.leaves() as u32;
                let labels = leaves.map(|code| encoding.label(taxonomy.leaf(code))).collect();
                Texts { labels, codes: Cow::Borrowed(codes), by: By::Record }
            }
            Values::Numbers(numbers) => {
                let (mut labels, mut known) = (Labels::default(), HashMap::<u64, u32>::new());
                let mut code = |number: u64| {
                    *known.entry(number).or_insert_with(|| {
                        labels.push(&encoding.label(&number.to_string()));
                        labels.spans.len() as u32 - 1
                    })
                };
                let codes = numbers.iter().map(|&number| code(number)).collect();
                Texts { labels, codes, by: By::Record }
            }
        }
    }
}
