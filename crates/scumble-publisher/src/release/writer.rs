//! The one writer of releases: the data into a folder that nobody sees yet, read back and judged by
//! the one reader, and then what is said about them.

use super::account::Account;
use super::anatomized::Layout;
use super::certificate::{self, Certificate};
use super::manifest::{self, Anatomized, Counterfeits, Data, Manifest, Method};
use super::reader::{self, Files, Meaning, Plan};
use super::recipient::{self, nothing_else};
use crate::answer::{Groups, Passage};
use crate::ledger::hex;
use crate::observer::Phase;
use crate::publish::engine::{self, Asked, Engine, Sum, What};
use crate::publish::levels::Coded;
use crate::publish::rows::{Brought, Rows};
use crate::publish::source::{Cell, Extract, Place};
use crate::publish::{Clock, PublishRequest};
use crate::publisher::Task;
use crate::table::columns::{self, Column, Columns, ReadOptions};
use crate::table::dictionary::Dictionary;
use crate::table::format::{self, Format, Writer};
use crate::table::shuffle::{Limits, Shuffle};
use crate::table::write::{self, Destination};
use hashbrown::HashMap;
use rayon::prelude::*;
use scumble::class::Run;
use scumble::failure::{Failure, Failures};
use scumble::policy::{AttributePolicy, Policy};
use scumble::publish::{Judgement, Made, judge};
use scumble::release::{Form, Release};
use scumble::table::{Attribute, Hidden, published};
use scumble::taxonomy::{Intervals, Rule, Unit, write_rows};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

/// What is to be written, and what is known about it.
pub(crate) struct Job<'a> {
    pub policy: &'a Policy,
    pub extract: &'a Extract,
    pub made: &'a Made,
    /// The release as it must be read from the files.
    pub expected: &'a Release,
    /// What was lost, by metric.
    pub utility: &'a BTreeMap<String, f64>,
    /// What the gate saw.
    pub gate: &'a [Passage],
    /// What the ledger calls it.
    pub id: Option<String>,
    pub options: Task<'a, PublishRequest>,
}

/// A release as it was read from its files, and judged.
pub(crate) struct ReadBack {
    pub release: Release,
    pub judgements: Vec<Judgement>,
    /// What is said of it.
    pub account: Account,
    /// Hash and number of lines of each data file.
    hashes: Vec<(String, u64)>,
}

/// A file of the release with what should be in it.
struct Written<'a> {
    name: String,
    path: PathBuf,
    layout: &'a [Cell],
    file: File,
}

impl Job<'_> {
    /// Writes the release into a folder, reads it back, and says of it what was read.
    pub fn write(&self, folder: &Path, seed: u64, clock: &mut Clock) -> Result<ReadBack, Failures> {
        let observer = self.options.publisher.observer;
        observer.phase(Phase::Write);
        let form = &self.made.form;
        let tables = matches!(form, Form::Anatomized(_)).then(|| Layout::new(self.extract));
        let layout = tables.as_ref().map_or(&self.extract.layout, |t| &t.records);
        observer.go_on()?;
        let delimiter = self.extract.dialect.map_or(b',', |d| d.delimiter);
        let progress = |done, total| observer.at(done, total);
        let format = format::of_release(&self.policy.format)?;
        let (name, path) = file(folder, "data", format);
        let to = Destination { path: &path, format, delimiter };
        let (file_of_records, plain) = match &self.extract.rows {
            Rows::Brought(brought) => {
                let mut stream = write::Stream::new(to, self.extract, form, layout)?;
                let sums = self.bring(brought, seed, folder, &mut stream)?;
                (stream.finish()?, Plain::Sums(sums))
            }
            Rows::Here { .. } | Rows::Counted | Rows::Values { .. } | Rows::Classes => {
                let rows = write::Rows::new(self.extract, form, layout, seed);
                (rows.write(to, &progress)?, Plain::LeftOut(rows.left_out()))
            }
        };
        let mut written = vec![Written { name, path, layout, file: file_of_records }];
        observer.go_on()?;
        if let (Some(tables), Form::Anatomized(form)) = (&tables, form) {
            let (name, path) = file(folder, "sensitive", format);
            let lines = tables.lines(self.extract, form);
            let file_of_values = lines.write(Destination { path: &path, format, delimiter })?;
            written.push(Written { name, path, layout: &tables.sensitive, file: file_of_values });
            if let Some(lines) = tables.counterfeit_lines(form) {
                let (name, path) = file(folder, "counterfeits", format);
                let file = lines.write(Destination { path: &path, format, delimiter })?;
                written.push(Written { name, path, layout: &tables.counterfeits, file });
            }
        }
        let mut notes: Vec<(String, String)> = Vec::new();
        for (column, rows) in manifest::shipped(self.policy, self.extract, &self.made.release) {
            notes.push((manifest::taxonomy_path(&column), write_rows(&rows)));
        }
        write_all(folder, &notes)?;
        clock.lap("write");
        observer.go_on()?;
        observer.phase(Phase::ReadBack);
        let mut manifest = self.manifest(&written, format, delimiter);
        // The disk works while the files are read back.
        let (read, synced) = std::thread::scope(|scope| {
            let sync = |w: &Written<'_>| w.file.sync_all().map_err(|e| write::failed(&w.path, &e));
            let sync = scope.spawn({
                let written = &written;
                move || written.iter().try_for_each(sync)
            });
            (self.read_back(folder, &written, &manifest, &plain), sync.join())
        });
        if let Ok(Err(problems)) = synced {
            return Err(problems);
        }
        let read = read?;
        clock.lap("verify");
        manifest.tell(&read.account, &read.hashes);
        let json = serde_json::to_string_pretty(&manifest).map_err(|e| {
            Failure::bug("not-json", format!("the manifest cannot be written: {e}"))
        })?;
        notes.push((manifest::FILE.to_owned(), json + "\n"));
        let certificate = self.certificate(&written, &read, &manifest, &notes)?;
        let said = [notes.pop(), Some((certificate::FILE.to_owned(), certificate))];
        write_all(folder, &said.into_iter().flatten().collect::<Vec<_>>())?;
        Ok(read)
    }

    /// Lets the engine bring the records, shuffles and writes them. Returns what the columns that
    /// pass through sum up to.
    fn bring(
        &self,
        brought: &Brought,
        seed: u64,
        folder: &Path,
        stream: &mut write::Stream<'_>,
    ) -> Result<Vec<Sum>, Failures> {
        let publisher = self.options.publisher;
        let engine = publisher.engine.ok_or_else(|| {
            Failure::bug("internal", "the engine that counted the records is not there")
        })?;
        let (table, plain) = (&self.extract.table, &self.extract.plain);
        let shares = engine::shares(brought, table.rows(), &self.made.form);
        let mut sums = vec![Sum::default(); plain.len()];
        let (mut done, total) = (0, self.made.release.records());
        let outside: Vec<Cleaned<'_>> = brought
            .quasi
            .iter()
            .zip(&table.quasi)
            .map(|(coded, a)| Cleaned::new(coded, a))
            .collect();
        let mut shuffle = Shuffle::new(folder.join(".shuffle"), total, seed, Limits::default());
        let mut put = |classes: &[u32], rows: &[u32], records: &Columns| {
            let cleaned;
            let records = match outside.is_empty() {
                true => records,
                false => {
                    cleaned = clean(&outside, plain, records)?;
                    &cleaned
                }
            };
            Sum::add(&mut sums, records);
            pack(classes, rows, records, &mut shuffle)?;
            done += classes.len() as u64;
            publisher.observer.at(done, total);
            publisher.observer.go_on()
        };
        engine.records(&brought.found, &shares, seed, publisher.observer, &mut put)?;
        shuffle.finish(&mut |records| {
            publisher.observer.go_on()?;
            let (classes, rows, records) = unpack(records, plain)?;
            stream.put(&classes, &rows, &records)
        })?;
        Ok(sums)
    }

    /// Reads the data files back: with the reader's own eyes, or what an engine counts of the
    /// records.
    fn read_files(&self, plan: &Plan, written: &[Written<'_>]) -> Result<Files, Failures> {
        let observer = self.options.publisher.observer;
        let Some(engine) = self.options.publisher.engine else {
            return reader::read_tables(plan, self.options.publisher);
        };
        let small = |w: &Written<'_>| {
            columns::read(&w.path, &plan.read, None, &|done, total| observer.at(done, total))
        };
        let told = written.get(1).map(small).transpose()?;
        let counterfeits = written.get(2).map(small).transpose()?;
        Ok(Files {
            records: self.count_records(engine, &written[0], &plan.read)?,
            told,
            counterfeits,
        })
    }

    /// Lets an engine count the records that were written.
    fn count_records(
        &self,
        engine: &dyn Engine,
        w: &Written<'_>,
        options: &ReadOptions,
    ) -> Result<Columns, Failures> {
        let header = engine.header(&w.path, options)?;
        if !header.iter().eq(w.layout.iter().map(|c| &c.name)) {
            return Err(wrong("other columns"));
        }
        let counted = w.layout.iter().filter(|c| !matches!(c.place, Place::Plain(_)));
        let names: Vec<String> = counted.map(|c| c.name.clone()).collect();
        let asked = Asked { table: w.path.clone(), options: options.clone(), wanted: names };
        let read = engine.count(&asked, What::Written, self.options.publisher.observer)?;
        let go_on = || !self.options.publisher.observer.cancelled();
        Ok(Columns { sha256: Some(columns::sha256(&w.path, &go_on)?), ..read })
    }

    /// Whether the columns that pass through hold what they should.
    fn same_plain(
        &self,
        plain: &Plain,
        records: &Columns,
        path: &Path,
        options: &ReadOptions,
    ) -> Result<bool, Failures> {
        let left_out = match plain {
            Plain::LeftOut(left_out) => left_out,
            Plain::Sums(sums) => {
                let Some(engine) = self.options.publisher.engine else { return Ok(false) };
                let names: Vec<String> =
                    self.extract.plain.iter().map(|c| c.name.clone()).collect();
                let mut found = vec![Sum::default(); names.len()];
                let (table, options) = (path.to_path_buf(), options.clone());
                engine.scan(&Asked { table, options, wanted: names }, &mut |rows| {
                    Sum::add(&mut found, rows);
                    Ok(())
                })?;
                return Ok(found == *sums);
            }
        };
        for plain in &self.extract.plain {
            if !same_values(plain, left_out, reader::column(records, &plain.name)?) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Reads the data files back as a recipient would, compares them with what was to be published,
    /// and judges them.
    fn read_back(
        &self,
        folder: &Path,
        written: &[Written<'_>],
        manifest: &Manifest,
        plain: &Plain,
    ) -> Result<ReadBack, Failures> {
        let (expected, requirements) = (self.expected, &self.policy.requirements);
        let mut plan = reader::from_manifest(manifest, folder)?;
        plan.order(&expected.quasi, published(&expected.sensitive));
        for w in plan.quasi.iter_mut().filter(|w| matches!(w.rule, Some(Rule::File { .. }))) {
            w.whole = manifest::whole_file(self.policy, self.extract, &w.name);
        }
        if !self.extract.rows.passing_quasi().is_empty() {
            // They pass through, and are compared with the other columns that do.
            plan.quasi.clear();
        }
        if self.options.publisher.engine.is_none() {
            plan.beside = self.extract.plain.iter().map(|c| c.name.clone()).collect();
        }
        let files = self.read_files(&plan, written)?;
        let observer = self.options.publisher.observer;
        observer.go_on()?;
        let meaning = Meaning { matters: true, together: false, named: &nothing_else };
        let mut release = reader::understand(&plan, requirements, &files, &meaning)?;
        observer.go_on()?;
        if let Some(difference) = recipient::difference(&release, expected) {
            return Err(wrong(difference));
        }
        if !self.same_plain(plain, &files.records, &written[0].path, &plan.read)? {
            return Err(wrong("other values in an insensitive column"));
        }
        observer.go_on()?;
        complete(&mut release, expected);
        let judgements =
            judge(&release, requirements).map_err(|_| wrong("a model cannot be judged"))?;
        observer.go_on()?;
        if judgements.iter().any(|j| !j.holds) {
            return Err(wrong("a model does not hold"));
        }
        let files = [Some(files.records), files.told, files.counterfeits];
        let hash = |read: Columns| {
            let records = read.records();
            Ok((read.sha256.ok_or_else(|| wrong("no hash"))?, records))
        };
        let hashes = files.into_iter().flatten().map(hash).collect::<Result<_, Failures>>()?;
        let account = Account::of(self.policy, (&release, &judgements), self.utility.clone());
        Ok(ReadBack { release, judgements, account, hashes })
    }

    /// The manifest as far as it is known before the data are read back: how they are written, and
    /// what they mean.
    fn manifest(&self, written: &[Written<'_>], format: &Format, delimiter: u8) -> Manifest {
        let policy = self.policy;
        let delimiter = matches!(format.writer, Some(Writer::Lines { .. }))
            .then(|| char::from(delimiter).to_string());
        let (file, format) = (written[0].name.clone(), format.name.into());
        let data = Data { file, format, delimiter, rows: 0, sha256: String::new() };
        let anatomized = written.get(1).zip(Groups::of(self.expected)).map(|(w, groups)| {
            let name = |place| {
                w.layout.iter().find(|c| c.place == place).map_or("", |c| &c.name).to_owned()
            };
            let counterfeits = |w: &Written<'_>| Counterfeits {
                file: w.name.clone(),
                rows: 0,
                sha256: String::new(),
            };
            Anatomized {
                file: w.name.clone(),
                rows: 0,
                sha256: String::new(),
                group: name(Place::Group),
                count: name(Place::Count),
                groups,
                counterfeits: written.get(2).map(counterfeits),
            }
        });
        let mut notes = required_notes(anatomized.as_ref());
        if self.extract.table.past.is_some() {
            notes.push(AGAIN.to_owned());
        }
        notes.extend(exact_ends(policy));
        notes.extend(whole_files(policy));
        let person = policy.attributes.iter().any(|a| a.person);
        let seeded = self.options.seed.map(|_| SEEDED.to_owned());
        Manifest {
            version: manifest::VERSION,
            made_by: format!("scumble {}", env!("CARGO_PKG_VERSION")),
            id: self.id.clone(),
            publisher: policy.publisher.clone(),
            recipients: policy.recipients.clone(),
            data,
            shape: Some(manifest::shape_name(self.made.release.shape)),
            anatomized,
            columns: manifest::column_notes(policy, self.extract, &self.made.release),
            missing: MISSING.into(),
            privacy_unit: if person { "person" } else { "row" }.into(),
            algorithm: Method {
                name: policy.algorithm.name.into(),
                parameters: policy.algorithm.parameters.texts(),
            },
            classes: 0,
            suppressed: 0,
            models: Vec::new(),
            utility: BTreeMap::new(),
            seeded,
            notes,
        }
    }

    /// What an outsider can check: the text of the certificate.
    fn certificate(
        &self,
        written: &[Written<'_>],
        read: &ReadBack,
        manifest: &Manifest,
        notes: &[(String, String)],
    ) -> Result<String, Failures> {
        let data = written
            .iter()
            .zip(&read.hashes)
            .map(|(w, (sha256, _))| (w.name.clone(), sha256.clone()));
        let notes = notes.iter().map(|(name, text)| (name.clone(), hex(&Sha256::digest(text))));
        // Who else was given what is nobody's business but the publisher's.
        let told = |p: &&Passage| {
            p.adversary == "everybody" || self.policy.recipients.contains(&p.adversary)
        };
        let passages: Vec<Passage> = self.gate.iter().filter(told).cloned().collect();
        let gate = (&self.policy.gate, &passages[..]);
        let certificate =
            Certificate::new(&read.release, manifest, data.chain(notes).collect(), gate);
        serde_json::to_string_pretty(&certificate).map(|json| json + "\n").map_err(|e| {
            Failure::bug("not-json", format!("the certificate cannot be written: {e}")).into()
        })
    }
}

/// Name and path of a data file.
fn file(folder: &Path, stem: &str, format: &Format) -> (String, PathBuf) {
    let name = format!("{stem}.{}", format.endings[0]);
    let path = folder.join(&name);
    (name, path)
}

/// Puts records into a shuffle: their classes, their rows, and each cell behind its length.
fn pack(
    classes: &[u32],
    rows: &[u32],
    records: &Columns,
    shuffle: &mut Shuffle,
) -> Result<(), Failures> {
    let mut bytes = Vec::new();
    for (record, (class, row)) in classes.iter().zip(rows).enumerate() {
        bytes.clear();
        bytes.extend_from_slice(&class.to_le_bytes());
        bytes.extend_from_slice(&row.to_le_bytes());
        for column in &records.columns {
            let text = column.values.get(column.codes[record]).as_bytes();
            let length = u32::try_from(text.len())
                .map_err(|_| Failure::data("record-too-long", "a cell has more than 4 GB"))?;
            bytes.extend_from_slice(&length.to_le_bytes());
            bytes.extend_from_slice(text);
        }
        shuffle.put(&bytes)?;
    }
    Ok(())
}

/// Records that come out of a shuffle: their classes, their rows, and the columns that pass through.
fn unpack(records: &[&[u8]], plain: &[Column]) -> Result<(Vec<u32>, Vec<u32>, Columns), Failures> {
    let empty = |c: &Column| Column {
        name: c.name.clone(),
        values: Dictionary::new(),
        codes: Vec::new(),
        arrow: c.arrow.clone(),
    };
    let mut columns: Vec<Column> = plain.iter().map(empty).collect();
    let (mut classes, mut rows) = (Vec::new(), Vec::new());
    let mut unpack = |mut record: &[u8]| -> Option<()> {
        classes.push(number(&mut record)?);
        rows.push(number(&mut record)?);
        for column in &mut columns {
            let length = number(&mut record)? as usize;
            let (text, rest) = record.split_at_checked(length)?;
            column.codes.push(column.values.intern_bytes(text).ok()?);
            record = rest;
        }
        record.is_empty().then_some(())
    };
    for record in records {
        unpack(record).ok_or_else(|| wrong("records that were shuffled on the disk"))?;
    }
    let columns = Columns {
        rows: records.len(),
        columns,
        bytes: 0,
        dialect: None,
        sha256: None,
        weights: None,
    };
    Ok((classes, rows, columns))
}

/// The number at the beginning of some bytes, which are cut off.
fn number(bytes: &mut &[u8]) -> Option<u32> {
    let (number, rest) = bytes.split_first_chunk::<4>()?;
    *bytes = rest;
    Some(u32::from_le_bytes(*number))
}

/// Adds what is counted and not published, which the files cannot tell: it belongs to the class of
/// the same region.
fn complete(read: &mut Release, expected: &Release) {
    let count = published(&expected.sensitive).len();
    let guards =
        expected.sensitive.iter().filter(|a| matches!(a.hidden, Some(Hidden::Guard))).count();
    let hidden = count..count + guards;
    read.sensitive.splice(count..count, expected.sensitive[hidden.clone()].iter().cloned());
    for (class, expected) in read.classes.iter_mut().zip(&expected.classes) {
        class.histograms.splice(count..count, expected.histograms[hidden.clone()].iter().cloned());
    }
    read.suppressed = expected.suppressed;
    if read.quasi.is_empty() {
        read.quasi.clone_from(&expected.quasi);
    }
    read.counted.clone_from(&expected.counted);
}

/// Writes small files, all at once because every one waits for the disk.
fn write_all(folder: &Path, files: &[(String, String)]) -> Result<(), Failures> {
    files.par_iter().try_for_each(|(name, text)| {
        let path = folder.join(name);
        write_durably(&path, text.as_bytes()).map_err(|e| write::failed(&path, &e))
    })
}

/// How missing values are published.
pub(super) const MISSING: &str = "a missing value is a value of its own; missing cells are empty";

/// What is said of a release that was made with a given seed.
pub(super) const SEEDED: &str = "made with a given seed: for testing, not for publication";

/// The notes that a release of such tables is never without.
pub(super) fn required_notes(anatomized: Option<&Anatomized>) -> Vec<String> {
    let mut notes = NOTES.to_vec();
    if let Some(a) = anatomized {
        notes.extend(ANATOMIZED);
        notes.extend(a.counterfeits.as_ref().map(|_| COUNTERFEIT));
    }
    notes.into_iter().map(str::to_owned).collect()
}

/// What every recipient should bear in mind; no release is without it.
const NOTES: &[&str] = &[
    "The models judge this release alone: earlier or later releases about the same people may reveal more together.",
    "Which columns an adversary knows is an assumption of the publisher, stated by the roles.",
];

/// And what the recipient of an anatomized one should.
const ANATOMIZED: &[&str] = &[
    "Anatomized: one file has the records with their own quasi-identifiers and the number of their group, the other the \
     sensitive values of each group with their counts. Which record of a group has which value is not published.",
    "Quasi-identifiers are published as they are: whoever knows them of a person sees whether the person is in the table.",
];

/// And of one that goes on from earlier ones.
const AGAIN: &str = "Made with regard to earlier releases about the same people. Somebody whose sensitive value has changed since \
                     counts as another person.";

/// And what the recipient of one with counterfeits should.
const COUNTERFEIT: &str = "Counterfeits: a third file says how many of the sensitive values of a group stand for nobody; which of them do is \
     not published. A group has as many records as values less its counterfeits.";

/// Says which taxonomy files somebody needs besides the register to check a model.
fn whole_files(policy: &Policy) -> Option<String> {
    let names: Vec<&str> = policy
        .quasi()
        .map(|a| a.name.as_str())
        .filter(|name| manifest::placed_by_register(policy, name))
        .collect();
    (!names.is_empty()).then(|| {
        format!(
            "Models that count the people of a register place them by the publisher's whole taxonomy file of `{}`, of \
             which only the published part is here: checking them takes the register and that file",
            names.join("`, `")
        )
    })
}

/// What the recipient, and the publisher, should know where ranges end at values of the data.
pub(crate) fn exact_ends(policy: &Policy) -> Option<String> {
    let exact = |rule: &Rule| matches!(rule, Rule::Intervals(Intervals { unit: Unit::Exact, .. }));
    let by_unit = |a: &AttributePolicy| a.taxonomy.as_ref().is_some_and(exact);
    let tight = policy.algorithm.algorithm.shows_exact_ends();
    let names: Vec<&str> =
        policy.quasi().filter(|a| tight || by_unit(a)).map(|a| a.name.as_str()).collect();
    (!names.is_empty()).then(|| {
        let names = names.join("`, `");
        format!("Ranges of `{names}` end at values of the data, as the policy asks: the ends of a range are somebody's values.")
    })
}

/// A quasi-identifier that passes through: what each text of the source is published as.
struct Cleaned<'a> {
    name: &'a str,
    labels: HashMap<&'a str, String>,
}

impl<'a> Cleaned<'a> {
    fn new(coded: &'a Coded, attribute: &'a Attribute) -> Cleaned<'a> {
        let label = |code: u32| attribute.taxonomy.label(Run::new(code, code)).into_owned();
        let labels = coded.codes.iter().map(|(text, code)| (text.as_str(), label(*code))).collect();
        Cleaned { name: &coded.name, labels }
    }
}

/// The columns that pass through, with the texts that are published. What an engine brings stands
/// in the order of `passing`, which knows the names.
fn clean(outside: &[Cleaned<'_>], passing: &[Column], read: &Columns) -> Result<Columns, Failures> {
    let clean = |(column, passing): (&Column, &Column)| {
        let Some(known) = outside.iter().find(|c| c.name == passing.name) else {
            return Ok(column.clone());
        };
        let mut values = Dictionary::new();
        let code_of = |text: &str| known.labels.get(text).map(|label| values.intern(label));
        let codes: Option<Vec<u32>> = column.values.iter().map(code_of).collect();
        let codes = codes.ok_or_else(|| {
            Failure::data("source-changed", "the source has changed while it was read")
        })?;
        let codes = column.codes.iter().map(|&code| codes[code as usize]).collect();
        Ok(Column { name: column.name.clone(), values, codes, arrow: column.arrow.clone() })
    };
    let columns = read.columns.iter().zip(passing).map(clean).collect::<Result<_, Failure>>()?;
    let (sha256, weights) = (read.sha256.clone(), read.weights.clone());
    Ok(Columns {
        rows: read.rows,
        columns,
        bytes: read.bytes,
        dialect: read.dialect,
        sha256,
        weights,
    })
}

/// What is known of the columns that pass through, to be compared with what was written.
enum Plain {
    /// The records that were not written; the others are in the extract.
    LeftOut(Vec<u32>),
    /// The sum of what was written, by column.
    Sums(Vec<Sum>),
}

/// What is on disk is not what it should be.
fn wrong(what: &str) -> Failures {
    Failure::bug("written-wrongly", format!("what was written is not what was judged: {what}"))
        .hint("nothing was published; this is a fault of the disk or of scumble, please report it")
        .into()
}

/// Writes a file inside a folder that is being made.
pub(crate) fn write_durably(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    // Not `create_dir_all`: after an interrupt has removed the release's folder, nothing may bring
    // it back.
    if let Some(parent) = path.parent().filter(|p| !p.is_dir()) {
        std::fs::create_dir(parent).or_else(|e| if parent.is_dir() { Ok(()) } else { Err(e) })?;
    }
    let mut file = std::fs::File::create(path)?;
    std::io::Write::write_all(&mut file, bytes)?;
    file.sync_all()
}

/// Whether a column of the source without the records left out, and one of the release, hold the
/// same values equally often.
fn same_values(source: &Column, left_out: &[u32], release: &Column) -> bool {
    let count = |c: &Column| {
        let mut counts = vec![0u64; c.values.len()];
        c.codes.iter().for_each(|&code| counts[code as usize] += 1);
        counts
    };
    let (mut counts, others) = (count(source), count(release));
    left_out.iter().for_each(|&record| counts[source.codes[record as usize] as usize] -= 1);
    let kept = counts.iter().filter(|&&n| n > 0).count();
    let same = |(v, n): (&str, &u64)| {
        *n == 0 || release.values.find(v).is_some_and(|code| others[code as usize] == *n)
    };
    kept == release.values.len() && source.values.iter().zip(&counts).all(same)
}

#[cfg(test)]
mod tests;
