//! The one writer of releases: the data into a folder that nobody sees yet, read back and judged by the one reader, and
//! then what is said about them.

use super::anatomized::{Layout, Tables, Told};
use super::certificate::{self, Certificate};
use super::manifest::{self, Anatomized, Counterfeits, Data, Manifest, Method};
use super::reader::{Labelled, classes_of};
use crate::answer::{Model, Passage, Published, VERSION};
use crate::columns::{self, Column, Columns, ReadOptions};
use crate::dictionary::Dictionary;
use crate::engine::{self, Engine, Sum, What};
use crate::ledger::hex;
use crate::levels::Coded;
use crate::publisher::{Clock, Options};
use crate::source::{Cell, Extract, Place};
use crate::staging::Staging;
use crate::write;
use hashbrown::HashMap;
use rayon::prelude::*;
use scumble::policy::{Format, Policy};
use scumble::problem::{Problem, Problems};
use scumble::publish::{Made, judge};
use scumble::release::{Form, Release, Shape};
use scumble::table::{Attribute, published};
use scumble::taxonomy::{Rule, write_rows};
use scumble::utility::{self, METRICS};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

/// What is to be written, and what is known about it.
pub(crate) struct Job<'a> {
    pub policy: &'a Policy,
    pub extract: &'a Extract,
    pub made: &'a Made,
    pub answer: &'a Published,
    /// What the ledger calls it.
    pub id: Option<String>,
    pub options: &'a Options<'a>,
}

/// A file of the release with what should be in it.
struct Written<'a> {
    name: String,
    path: PathBuf,
    layout: &'a [Cell],
    file: File,
}

impl Job<'_> {
    pub fn write(&self, target: &Path, seed: u64, clock: &mut Clock) -> Result<(), Problems> {
        let watcher = self.options.watcher;
        let staging = Staging::begin(target, self.options.replace, &self.options.slot)?;
        watcher.phase("writing");
        let form = &self.made.form;
        let tables = matches!(form, Form::Anatomized(_)).then(|| Layout::new(self.extract));
        let layout = tables.as_ref().map_or(&self.extract.layout, |t| &t.records);
        let delimiter = self.extract.dialect.map_or(b',', |d| d.delimiter);
        let progress = |done, total| watcher.at(done, total);
        let (name, path) = self.file(staging.path(), "data");
        let csv = (self.policy.format == Format::Csv).then_some(delimiter);
        let (file, plain) = if let (Some(engine), false) = (self.options.engine, self.extract.plain.is_empty()) {
            let mut stream = write::Stream::new(&path, self.extract, form, layout, csv)?;
            let sums = self.bring(engine, seed, &mut stream)?;
            (stream.finish()?, Plain::Sums(sums))
        } else {
            let rows = write::Rows::new(self.extract, form, layout, seed);
            let file = match csv {
                Some(delimiter) => write::csv(&path, &rows, delimiter, &progress)?,
                None => write::parquet(&path, &rows, &progress)?,
            };
            (file, Plain::LeftOut(rows.left_out()))
        };
        let mut written = vec![Written { name, path, layout, file }];
        if let (Some(tables), Form::Anatomized(form)) = (&tables, form) {
            let (name, path) = self.file(staging.path(), "sensitive");
            let lines = tables.lines(self.extract, form);
            let file = match self.policy.format {
                Format::Csv => lines.csv(&path, delimiter)?,
                Format::Parquet => lines.parquet(&path)?,
            };
            written.push(Written { name, path, layout: &tables.sensitive, file });
            if let Some(lines) = tables.counterfeit_lines(form) {
                let (name, path) = self.file(staging.path(), "counterfeits");
                let file = match self.policy.format {
                    Format::Csv => lines.csv(&path, delimiter)?,
                    Format::Parquet => lines.parquet(&path)?,
                };
                written.push(Written { name, path, layout: &tables.counterfeits, file });
            }
        }
        clock.lap("write");
        watcher.phase("checking what was written");
        // The disk works while the files are read back.
        let (verified, synced) = std::thread::scope(|scope| {
            let sync = |w: &Written<'_>| w.file.sync_all().map_err(|e| write::failed(&w.path, &e));
            let sync = scope.spawn({
                let written = &written;
                move || written.iter().try_for_each(sync)
            });
            (self.verify(&written, delimiter, &plain), sync.join())
        });
        if let Ok(Err(problems)) = synced {
            return Err(problems);
        }
        let hashes = verified?;
        clock.lap("verify");
        self.write_notes(staging.path(), &written, &hashes, delimiter)?;
        staging.commit()
    }

    /// Lets the engine bring the records, and writes them. Returns what the columns that pass through sum up to.
    fn bring(&self, engine: &dyn Engine, seed: u64, stream: &mut write::Stream<'_>) -> Result<Vec<Sum>, Problems> {
        let weights = self.extract.weights.as_deref().unwrap_or_default();
        let shares = engine::shares(self.extract, &self.made.form, weights);
        let mut sums = vec![Sum::default(); self.extract.plain.len()];
        let (mut done, total) = (0, self.made.release.records());
        let table = &self.extract.table;
        let outside: Vec<Cleaned<'_>> =
            self.extract.outside.iter().zip(&table.quasi).map(|(coded, a)| Cleaned::new(coded, a)).collect();
        engine.records(&shares, seed, self.options.watcher, &mut |classes, rows, plain| {
            let cleaned;
            let plain = match outside.is_empty() {
                true => plain,
                false => {
                    cleaned = clean(&outside, plain)?;
                    &cleaned
                }
            };
            Sum::add(&mut sums, plain);
            stream.put(classes, rows, plain)?;
            done += classes.len() as u64;
            self.options.watcher.at(done, total);
            Ok(())
        })?;
        Ok(sums)
    }

    /// Reads a data file back: all of it, or what an engine counts of it.
    fn read_file(&self, w: &Written<'_>, options: &ReadOptions, big: bool) -> Result<Columns, Problems> {
        let Some(engine) = self.options.engine.filter(|_| big) else {
            return columns::read(&w.path, options, None, &|done, total| self.options.watcher.at(done, total));
        };
        let counted = w.layout.iter().filter(|c| !matches!(c.place, Place::Plain(_)));
        let names: Vec<String> = counted.map(|c| c.name.clone()).collect();
        let mut read = engine.count(&w.path, options, &names, What::Written, self.options.watcher)?;
        let header = engine.header(&w.path, options)?;
        for (i, name) in header.into_iter().enumerate() {
            if read.columns.get(i).is_none_or(|c| c.name != name) {
                let empty = Column { name, values: Default::default(), codes: Vec::new(), arrow: None };
                read.columns.insert(i.min(read.columns.len()), empty);
            }
        }
        Ok(Columns { sha256: Some(columns::sha256(&w.path)?), ..read })
    }

    /// Whether the columns that pass through hold what they should.
    fn same_plain(&self, plain: &Plain, file: &(&[Cell], Columns), path: &Path) -> Result<bool, Problems> {
        let left_out = match plain {
            Plain::LeftOut(left_out) => left_out,
            Plain::Sums(sums) => {
                let Some(engine) = self.options.engine else { return Ok(false) };
                let names: Vec<String> = self.extract.plain.iter().map(|c| c.name.clone()).collect();
                let delimiter = self.extract.dialect.map_or(b',', |d| d.delimiter);
                let mut found = vec![Sum::default(); names.len()];
                engine.scan(path, &written_options(delimiter), &names, &mut |rows| {
                    Sum::add(&mut found, rows);
                    Ok(())
                })?;
                return Ok(found == *sums);
            }
        };
        for (i, plain) in self.extract.plain.iter().enumerate() {
            if !same_values(plain, left_out, by_place(file, Place::Plain(i))?) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Name and path of a data file.
    fn file(&self, folder: &Path, stem: &str) -> (String, PathBuf) {
        let name = format!("{stem}.{}", self.format());
        let path = folder.join(&name);
        (name, path)
    }

    fn format(&self) -> &'static str {
        match self.policy.format {
            Format::Csv => "csv",
            Format::Parquet => "parquet",
        }
    }

    /// Reads the data files back, compares them with what was judged, and judges them again. Returns the hash of each
    /// and the number of its lines.
    fn verify(&self, written: &[Written<'_>], delimiter: u8, plain: &Plain) -> Result<Vec<(String, u64)>, Problems> {
        let options = written_options(delimiter);
        let mut files: Vec<(&[Cell], Columns)> = Vec::new();
        for w in written {
            let read = self.read_file(w, &options, files.is_empty())?;
            if !read.columns.iter().map(|c| &c.name).eq(w.layout.iter().map(|c| &c.name)) {
                return Err(wrong("other columns"));
            }
            files.push((w.layout, read));
        }
        let judged = &self.made.release;
        let mut on_disk = self.read_back(&files)?;
        let published = published(&judged.sensitive).len();
        let mut same = on_disk.classes.len() == judged.classes.len();
        for (read, judged) in on_disk.classes.iter_mut().zip(&judged.classes) {
            // What is not published cannot be read back; it belongs to the class of the same region.
            read.histograms.extend_from_slice(&judged.histograms[published..]);
            same &= read == judged;
        }
        if !same || on_disk.records_by_group != judged.records_by_group {
            return Err(wrong("other classes"));
        }
        if on_disk.counterfeits != judged.counterfeits {
            return Err(wrong("other counterfeits"));
        }
        if !self.same_plain(plain, &files[0], &written[0].path)? {
            return Err(wrong("other values in an insensitive column"));
        }
        let judgements = judge(&on_disk, &self.policy.requirements).map_err(|_| wrong("a model cannot be judged"))?;
        if judgements.iter().any(|j| !j.holds) {
            return Err(wrong("a model does not hold"));
        }
        let hash = |(_, read): (&[Cell], Columns)| {
            let records = read.records();
            Ok((read.sha256.ok_or_else(|| wrong("no hash"))?, records))
        };
        files.into_iter().map(hash).collect()
    }

    /// The release that the files are, without what is not published.
    fn read_back(&self, files: &[(&[Cell], Columns)]) -> Result<Release, Problems> {
        let judged = &self.made.release;
        let (records, told) = match files {
            [one] => (one, one),
            [records, told, ..] => (records, told),
            [] => return Err(wrong("no file")),
        };
        if records.1.records() != judged.records() {
            return Err(wrong("another number of records"));
        }
        let labelled = |column, attribute| Labelled::parse(column, attribute).map_err(|_| wrong("an unknown value"));
        // Those that pass through are compared with the other columns that do.
        let shown = if self.extract.outside.is_empty() { &judged.quasi[..] } else { &[] };
        let mut quasi = Vec::new();
        for (i, attribute) in shown.iter().enumerate() {
            quasi.push(labelled(by_place(records, Place::Quasi(i))?, attribute)?);
        }
        let mut sensitive = Vec::new();
        for (i, attribute) in published(&judged.sensitive).iter().enumerate() {
            sensitive.push(labelled(by_place(told, Place::Sensitive(i))?, attribute)?);
        }
        let Told { classes, records: records_by_group, counterfeits } = if judged.shape == Shape::Groups {
            let tables = Tables {
                groups: by_place(records, Place::Group)?,
                weights: records.1.weights.as_deref(),
                quasi: &quasi,
                sensitive_groups: by_place(told, Place::Group)?,
                sensitive: &sensitive,
                counts: by_place(told, Place::Count)?,
                counterfeits: files.get(2).map(by_group).transpose()?,
            };
            tables.understand(shown)?
        } else {
            let classes = classes_of(&records.1, &quasi, &sensitive);
            Told { classes, records: Vec::new(), counterfeits: Vec::new() }
        };
        let (quasi, sensitive) = (judged.quasi.clone(), judged.sensitive.clone());
        Ok(Release {
            quasi,
            sensitive,
            classes,
            suppressed: judged.suppressed,
            shape: judged.shape,
            records_by_group,
            counterfeits,
            counted: None,
        })
    }

    fn write_notes(
        &self,
        folder: &Path,
        written: &[Written<'_>],
        hashes: &[(String, u64)],
        delimiter: u8,
    ) -> Result<(), Problems> {
        let policy = self.policy;
        let delimiter = (policy.format == Format::Csv).then(|| char::from(delimiter).to_string());
        let (file, format) = (written[0].name.clone(), self.format().into());
        let data = Data { file, format, delimiter, rows: self.answer.rows, sha256: hashes[0].0.clone() };
        let anatomized =
            written.get(1).zip(hashes.get(1)).zip(self.answer.groups).map(|((w, (sha256, rows)), groups)| {
                let name = |place| w.layout.iter().find(|c| c.place == place).map_or("", |c| &c.name).to_owned();
                Anatomized {
                    file: w.name.clone(),
                    rows: *rows,
                    sha256: sha256.clone(),
                    group: name(Place::Group),
                    count: name(Place::Count),
                    groups,
                    counterfeits: written.get(2).zip(hashes.get(2)).map(|(w, (sha256, rows))| Counterfeits {
                        file: w.name.clone(),
                        rows: *rows,
                        sha256: sha256.clone(),
                    }),
                }
            });
        let mut notes: Vec<String> = NOTES.iter().map(|n| (*n).to_owned()).collect();
        if anatomized.is_some() {
            notes.extend(ANATOMIZED.iter().map(|n| (*n).to_owned()));
        }
        if written.len() > 2 {
            notes.push(COUNTERFEIT.to_owned());
        }
        if self.extract.table.past.is_some() {
            notes.push(AGAIN.to_owned());
        }
        let person = policy.attributes.iter().any(|a| a.person);
        let seeded = self.options.seed.map(|_| "made with a given seed: for testing, not for publication".to_owned());
        let manifest = Manifest {
            version: VERSION,
            made_by: format!("scumble {}", env!("CARGO_PKG_VERSION")),
            id: self.id.clone(),
            publisher: policy.publisher.clone(),
            recipients: policy.recipients.clone(),
            data,
            shape: Some(manifest::shape_name(self.made.release.shape)),
            anatomized,
            columns: manifest::column_notes(policy, self.extract, &self.made.release),
            missing: "a missing value is a value of its own; missing cells are empty".into(),
            privacy_unit: if person { "person" } else { "row" }.into(),
            algorithm: Method { name: policy.algorithm.name.into(), parameters: policy.algorithm.parameters.texts() },
            classes: self.answer.classes,
            suppressed: self.answer.suppressed,
            models: self.answer.models.iter().map(Model::public).collect(),
            utility: public(&self.answer.utility),
            seeded,
            notes,
        };
        let json = serde_json::to_string_pretty(&manifest)
            .map_err(|e| Problem::new(format!("the manifest cannot be written: {e}")))?;
        let attributes = self.made.release.quasi.iter().chain(&self.made.release.sensitive);
        let given = attributes.filter(|a| self.rule(&a.name).is_some_and(manifest::is_given));
        let mut files = vec![(manifest::FILE.to_owned(), json + "\n")];
        files.extend(given.map(|a| (manifest::taxonomy_path(&a.name), write_rows(&a.taxonomy.rows()))));
        files.push((certificate::FILE.to_owned(), self.certificate(written, hashes, &files)?));
        // At once, because every file waits for the disk.
        files.par_iter().try_for_each(|(name, text)| {
            let path = folder.join(name);
            write_durably(&path, text).map_err(|e| write::failed(&path, &e))
        })
    }

    /// What an outsider can check: the text of the certificate.
    fn certificate(
        &self,
        written: &[Written<'_>],
        hashes: &[(String, u64)],
        others: &[(String, String)],
    ) -> Result<String, Problems> {
        let data = written.iter().zip(hashes).map(|(w, (sha256, _))| (w.name.clone(), sha256.clone()));
        let notes = others.iter().map(|(name, text)| (name.clone(), hex(&Sha256::digest(text))));
        let models = self.answer.models.iter().map(Model::public).collect();
        // Who else was given what is nobody's business but the publisher's.
        let told = |p: &&Passage| p.adversary == "everybody" || self.policy.recipients.contains(&p.adversary);
        let passages: Vec<Passage> = self.answer.gate.iter().filter(told).cloned().collect();
        let gate = (&self.policy.gate, &passages[..]);
        let certificate =
            Certificate::new(&self.made.release, self.id.clone(), data.chain(notes).collect(), models, gate);
        serde_json::to_string_pretty(&certificate)
            .map(|json| json + "\n")
            .map_err(|e| Problem::new(format!("the certificate cannot be written: {e}")).into())
    }

    fn rule(&self, name: &str) -> Option<&Rule> {
        self.policy.attributes.iter().find(|a| a.name == name)?.taxonomy.as_ref()
    }
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

/// A quasi-identifier that passes through: what each text of the source is published as.
struct Cleaned<'a> {
    name: &'a str,
    labels: HashMap<&'a str, &'a str>,
}

impl<'a> Cleaned<'a> {
    fn new(coded: &'a Coded, attribute: &'a Attribute) -> Cleaned<'a> {
        let labels = coded.codes.iter().map(|(text, code)| (text.as_str(), attribute.taxonomy.leaf(*code))).collect();
        Cleaned { name: &coded.name, labels }
    }
}

/// The columns with the texts that are published.
fn clean(outside: &[Cleaned<'_>], read: &Columns) -> Result<Columns, Problems> {
    let clean = |column: &Column| {
        let Some(known) = outside.iter().find(|c| c.name == column.name) else { return Ok(column.clone()) };
        let mut values = Dictionary::new();
        let code_of = |text: &str| known.labels.get(text).map(|label| values.intern(label));
        let codes: Option<Vec<u32>> = column.values.iter().map(code_of).collect();
        let codes = codes.ok_or_else(|| Problem::new("the source has changed while it was read"))?;
        let codes = column.codes.iter().map(|&code| codes[code as usize]).collect();
        Ok(Column { name: column.name.clone(), values, codes, arrow: column.arrow.clone() })
    };
    let columns = read.columns.iter().map(clean).collect::<Result<_, Problem>>()?;
    let (sha256, weights) = (read.sha256.clone(), read.weights.clone());
    Ok(Columns { rows: read.rows, columns, bytes: read.bytes, dialect: read.dialect, sha256, weights })
}

/// What is known of the columns that pass through, to be compared with what was written.
enum Plain {
    /// The records that were not written; the others are in the extract.
    LeftOut(Vec<u32>),
    /// The sum of what was written, by column.
    Sums(Vec<Sum>),
}

/// How the data files of a release are read back.
fn written_options(delimiter: u8) -> ReadOptions {
    ReadOptions { delimiter: Some(delimiter), quote: Some(b'"'), hash: true, ..ReadOptions::default() }
}

/// What is on disk is not what it should be.
fn wrong(what: &str) -> Problems {
    Problem::new(format!("what was written is not what was judged: {what}"))
        .hint("nothing was published; this is a fault of the disk or of scumble, please report it")
        .into()
}

/// The columns of the table of counterfeits.
fn by_group<'a>(file: &'a (&[Cell], Columns)) -> Result<(&'a Column, &'a Column), Problems> {
    Ok((by_place(file, Place::Group)?, by_place(file, Place::Count)?))
}

/// The column of a file that was read back.
fn by_place<'a>((layout, read): &'a (&[Cell], Columns), place: Place) -> Result<&'a Column, Problems> {
    let i = layout.iter().position(|c| c.place == place).ok_or_else(|| wrong("a column is missing"))?;
    Ok(&read.columns[i])
}

/// The metrics that recipients may know: those that follow from the release alone.
fn public(utility: &BTreeMap<&'static str, f64>) -> BTreeMap<String, f64> {
    let told = METRICS.iter().filter(|m| m.told == utility::Told::Everybody);
    told.filter_map(|m| Some((m.name.to_owned(), *utility.get(m.name)?))).collect()
}

fn write_durably(path: &Path, text: &str) -> std::io::Result<()> {
    // Not `create_dir_all`: after an interrupt has removed the release's folder, nothing may bring it back.
    if let Some(parent) = path.parent().filter(|p| !p.is_dir()) {
        std::fs::create_dir(parent).or_else(|e| if parent.is_dir() { Ok(()) } else { Err(e) })?;
    }
    let mut file = std::fs::File::create(path)?;
    std::io::Write::write_all(&mut file, text.as_bytes())?;
    file.sync_all()
}

/// Whether a column of the source without the records left out, and one of the release, hold the same values equally
/// often.
fn same_values(source: &Column, left_out: &[u32], release: &Column) -> bool {
    let count = |c: &Column| {
        let mut counts = vec![0u64; c.values.len()];
        c.codes.iter().for_each(|&code| counts[code as usize] += 1);
        counts
    };
    let (mut counts, others) = (count(source), count(release));
    left_out.iter().for_each(|&record| counts[source.codes[record as usize] as usize] -= 1);
    let kept = counts.iter().filter(|&&n| n > 0).count();
    let same = |(v, n): (&str, &u64)| *n == 0 || release.values.find(v).is_some_and(|code| others[code as usize] == *n);
    kept == release.values.len() && source.values.iter().zip(&counts).all(same)
}

#[cfg(test)]
mod tests;
