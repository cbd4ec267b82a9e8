//! From a policy and its source to a [`Table`], and what passes through beside it.

use crate::ledger::{Persons, PseudonymsMade, Recollection};
use crate::observer::Observer;
use crate::publish::engine::{Asked, Engine, Found, Passing};
use crate::publish::levels::Coded;
use crate::publish::rows::{Brought, Rows};
use crate::publisher::Publisher;
use crate::table::columns::{self, Column, Dialect, ReadOptions};
use crate::table::dictionary::Dictionary;
use crate::table::origin;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use scumble::algorithm::{Elsewhere, Requirement};
use scumble::catalogue::did_you_mean;
use scumble::encode::{encode, encode_guard};
use scumble::failure::{Argument, Failure, Failures, Remedy};
use scumble::freeform::attach;
use scumble::model::Concern;
use scumble::perturb::{Change, Texts, perturb};
use scumble::policy::{AttributePolicy, MEMORY, Policy};
use scumble::register::{Register, RegisterColumn};
use scumble::table::{Attribute, Role, Table};
use scumble::taxonomy::{Rule, parse_rows};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An extract ready to be published.
pub struct Extract {
    /// Quasi-identifiers and sensitive attributes, encoded and collapsed.
    pub table: Table,
    /// What of its records is here.
    pub rows: Rows,
    /// Who the persons are, if a column names them. It leaves the process only as pseudonyms.
    pub persons: Option<Persons>,
    /// Records that must not be published, rising.
    pub left_out: Vec<u32>,
    /// Insensitive columns, as they are.
    pub plain: Vec<Column>,
    /// The columns of the release in the order of the source.
    pub layout: Vec<Cell>,
    /// How the source was written, if it is CSV.
    pub dialect: Option<Dialect>,
    /// What the steward should know.
    pub warnings: Vec<String>,
    /// What became of the columns that were perturbed.
    pub perturbed: Vec<(String, Change)>,
    /// Those columns as they were before, and columns that a ledger has tags of, where the table has only
    /// cells. They leave the process only as keyed tags.
    pub truth: Vec<(String, Texts)>,
}

/// A column of a release, by the place where its values are.
#[derive(Clone, Debug)]
pub struct Cell {
    /// Column name.
    pub name: String,
    /// Where its values are.
    pub place: Place,
    /// Its type in the source, if that was Parquet or Arrow.
    pub arrow: Option<arrow_schema::DataType>,
}

/// Where the values of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Quasi-identifier with this index.
    Quasi(usize),
    /// Sensitive attribute with this index.
    Sensitive(usize),
    /// Insensitive column with this index.
    Plain(usize),
    /// Number of the record's group, in an anatomized release.
    Group,
    /// How many records, in its table of sensitive values.
    Count,
}

/// A path in a policy is relative to the policy's folder.
pub fn beside(base: &Path, path: &str) -> PathBuf {
    // Without the dot of the current folder, which would only be noise in messages.
    let stays = base == Path::new(".") || path.starts_with(MEMORY);
    if stays { path.into() } else { base.join(path) }
}

/// How the policy says its source is written.
pub fn read_options(policy: &Policy) -> ReadOptions {
    ReadOptions { delimiter: policy.delimiter, quote: policy.quote, ..ReadOptions::default() }
}

/// The lines of the taxonomy files that a set of attributes names; `None` where there is no file.
pub fn taxonomy_files(
    base: &Path,
    attributes: &[&AttributePolicy],
) -> (Vec<Option<Vec<Vec<String>>>>, Failures) {
    let mut problems = Failures::default();
    let files = attributes
        .iter()
        .map(|a| {
            let Some(Rule::File { path, .. }) = &a.taxonomy else { return None };
            read_taxonomy(&beside(base, path), path).map_err(|p| problems.0.extend(p.0)).ok()
        })
        .collect();
    (files, problems)
}

/// Reads the lines of an ARX-style file; `name` is what messages call it.
pub fn read_taxonomy(path: &Path, name: &str) -> Result<Vec<Vec<String>>, Failures> {
    let bytes = std::fs::read(path).map_err(|e| {
        Failure::io(
            "cannot-read",
            format!("taxonomy `{name}` cannot be read: {}", crate::describe(&e)),
        )
        .hint("paths in a policy are relative to the policy's folder")
    })?;
    let text = String::from_utf8(bytes).map_err(|e| {
        let line =
            e.as_bytes()[..e.utf8_error().valid_up_to()].iter().filter(|&&b| b == b'\n').count()
                + 1;
        Failure::data("not-utf8", format!("taxonomy `{name}`, line {line}: not UTF-8"))
            .hint("convert the file to UTF-8")
    })?;
    parse_rows(name, &text)
}

/// Whether the columns of the source and of the policy are the same; every difference is a problem.
fn compare_columns(policy: &Policy, names: &[String]) -> Failures {
    let source = &policy.source;
    let mut problems = Failures::default();
    if !policy.attributes.iter().any(|a| names.contains(&a.name)) {
        // Where there is no header, these would be the first person's values.
        let message =
            format!("`{source}` has {} columns, and none has a name of the policy", names.len());
        problems.push(
            Failure::policy("column-not-in-source", message)
                .hint("does its first line name the columns as `[attributes]` does?"),
        );
        return problems;
    }
    for a in &policy.attributes {
        if !names.contains(&a.name) {
            let unnamed = names.iter().filter(|n| !policy.attributes.iter().any(|a| a.name == **n));
            problems.push(
                Failure::policy(
                    "column-not-in-source",
                    format!("`attributes.{}` is not a column of `{source}`", a.name),
                )
                .key(format!("attributes.{}", a.name))
                .hint(did_you_mean(&a.name, unnamed.map(String::as_str))),
            );
        }
    }
    for name in names.iter().filter(|n| !policy.attributes.iter().any(|a| a.name == **n)) {
        problems.push(Failure::policy("no-role", format!("column `{name}` of `{source}` has no role in the policy")).column(name).hint(format!(
            "add `{name} = {{ role = … }}` under [attributes]; `identifier` leaves it out of the release"
        )));
    }
    problems
}

/// A table of people beside the extract, by its path in a parameter of a model.
fn read_register(
    path: &Path,
    missing: &[String],
    publisher: &Publisher<'_>,
) -> Result<Register, Failures> {
    to_register(&publisher.read(&path.into(), &ReadOptions::default(), None)?, missing)
}

/// A table that was read, as a register.
pub fn to_register(read: &columns::Columns, missing: &[String]) -> Result<Register, Failures> {
    let column = |c: &Column| RegisterColumn {
        name: c.name.clone(),
        texts: c
            .values
            .iter()
            .map(|v| if missing.iter().any(|m| m == v) { "" } else { v }.to_owned())
            .collect(),
        codes: c.codes.clone(),
    };
    Ok(Register::new(read.columns.iter().map(column).collect())?)
}

/// Reads the registers that models name; one that several name is read once.
pub fn load_registers(
    requirements: &mut [Requirement],
    base: &Path,
    missing: &[String],
    publisher: &Publisher<'_>,
) -> Result<(), Failures> {
    let mut known: Vec<(String, Arc<Register>)> = Vec::new();
    for r in requirements {
        let Some(path) = r.parameters.register().map(str::to_owned) else { continue };
        let found = known.iter().find(|(p, _)| *p == path).map(|(_, register)| register.clone());
        let register = match found {
            Some(register) => register,
            None => Arc::new(read_register(&beside(base, &path), missing, publisher)?),
        };
        known.push((path, register.clone()));
        r.register = Some(register);
    }
    Ok(())
}

/// How much of a source is here.
#[derive(Clone)]
enum Held {
    /// All of it.
    Records,
    /// The distinct rows, which an engine counted; none of its columns pass through.
    Distinct,
    /// The distinct rows, which an engine counted and found like this.
    Found(Found),
    /// The same of the sensitive attributes; of quasi-identifiers only the values.
    FoundSensitive(Found),
    /// Only values.
    Values,
}

/// Lets an engine count the source, or as much of it as can be here. Puts in the place of each
/// column that passes through one without rows.
fn count(
    policy: &Policy,
    path: &Path,
    names: &[String],
    (engine, observer): (&dyn Engine, &dyn Observer),
) -> Result<(columns::Columns, Held), Failures> {
    let named = |role: &dyn Fn(&AttributePolicy) -> bool| -> Vec<String> {
        let of = |n: &&String| policy.attributes.iter().any(|a| a.name == **n && role(a));
        names.iter().filter(of).cloned().collect()
    };
    let plain = named(&|a| a.role == Role::Insensitive);
    let counted = named(&|a| !matches!(a.role, Role::Identifier | Role::Insensitive));
    let passing = Passing { plain, person: named(&|a| a.person).pop() };
    let table = path.to_path_buf();
    let asked = Asked { table, options: read_options(policy), wanted: counted };
    let estimate = engine.estimate(&asked, &passing, observer)?;
    let Some(too_much) = estimate.too_much else {
        let (read, found) = engine.count_extract(&asked, &passing.plain, observer)?;
        let held = if passing.plain.is_empty() { Held::Distinct } else { Held::Found(found) };
        return Ok((read, held));
    };
    match policy.algorithm.algorithm.elsewhere() {
        Some(Elsewhere::Parts(_) | Elsewhere::Levels(_)) if passing.plain.is_empty() => {
            observer
                .note("that is too much at once: the table is divided level by level, from counts");
            Ok((engine.values(&asked, observer)?, Held::Values))
        }
        Some(Elsewhere::Sensitive) if !policy.requirements.iter().any(looks_at_quasi) => {
            must_have_room(estimate.records, estimate.allowed)?;
            observer
                .note("that is too much at once: the quasi-identifiers pass through as they are");
            let of_quasi = |n: &String| policy.quasi().any(|a| a.name == *n);
            let (quasi, told): (Vec<String>, Vec<String>) =
                asked.wanted.iter().cloned().partition(of_quasi);
            let values = engine.values(&Asked { wanted: quasi, ..asked.clone() }, observer)?;
            let plain = named(&|a| a.role == Role::Insensitive || a.role == Role::QuasiIdentifier);
            let (mut read, found) =
                engine.count_extract(&Asked { wanted: told, ..asked }, &plain, observer)?;
            for column in values.columns {
                let place = read.columns.iter_mut().find(|c| c.name == column.name);
                place.into_iter().for_each(|c| c.values = column.values.clone());
            }
            Ok((read, Held::FoundSensitive(found)))
        }
        _ => Err(too_much.into()),
    }
}

/// Refuses groups of so many records if they need more than so many bytes here.
fn must_have_room(records: u64, allowed: u64) -> Result<(), Failures> {
    if records * GROUPED <= allowed {
        return Ok(());
    }
    let megabytes = |bytes: u64| bytes.div_ceil(1 << 20);
    let needed = megabytes(records * GROUPED);
    let message = format!(
        "groups of {records} records need about {needed} MB here; {} MB are allowed",
        megabytes(allowed)
    );
    Err(Failure::refused("memory-limit", message)
        .remedy(Remedy::give_value(Argument::Memory, format!("{}MB", 2 * needed)).then(" or more"))
        .into())
}

/// Bytes that a record of an anatomized release needs here: in the form, the release, and what is
/// read back of it.
const GROUPED: u64 = 160;

/// Whether quasi-identifiers matter to a model, beside which records are in which group.
fn looks_at_quasi(r: &Requirement) -> bool {
    let promise = r.model.promise();
    promise.region || promise.concerns == Concern::Identity
}

/// The source of a policy as it was read, with the files that its taxonomies and models name:
/// whatever policies that differ in promises, algorithm, or columns that they drop can be carried
/// out on without reading anything again.
#[derive(Clone)]
pub(crate) struct Source {
    /// All columns that the source has.
    names: Vec<String>,
    read: columns::Columns,
    held: Held,
    /// The lines of taxonomy files, by attribute.
    files: BTreeMap<String, Vec<Vec<String>>>,
    /// Registers of models, by path.
    registers: Vec<(String, Arc<Register>)>,
    /// Pseudonyms of its persons, once they were made.
    pseudonyms: PseudonymsMade,
}

/// What earlier releases mean for an extract.
pub(crate) struct Earlier<'a> {
    /// What is remembered of its people, for an algorithm that publishes again.
    pub again: Option<&'a Recollection>,
    /// Columns of which the ledger keeps tags of true values.
    pub tagged: Vec<String>,
}

impl Source {
    /// Reads the source of a policy. `base` is the policy's folder.
    pub fn read(
        policy: &mut Policy,
        base: &Path,
        engine: Option<(&dyn Engine, &dyn Observer)>,
        publisher: &Publisher<'_>,
    ) -> Result<Source, Failures> {
        Source::read_with(policy, base, &[], engine, publisher)
    }

    /// The same, with more columns that other policies want of it.
    pub fn read_with(
        policy: &mut Policy,
        base: &Path,
        more: &[String],
        engine: Option<(&dyn Engine, &dyn Observer)>,
        publisher: &Publisher<'_>,
    ) -> Result<Source, Failures> {
        let source = policy.source.beside(base);
        let options = read_options(policy);
        load_registers(&mut policy.requirements, base, &policy.missing, publisher)?;
        let policy = &*policy;
        let attributes = coded(policy);
        let (files, mut problems) = taxonomy_files(base, &attributes);
        let names = RefCell::new(Vec::new());
        let fits = |found: &[String]| {
            *names.borrow_mut() = found.to_vec();
            let wrong = compare_columns(policy, found);
            if wrong.0.is_empty() && problems.0.is_empty() { Ok(()) } else { Err(wrong) }
        };
        let read = match engine {
            Some(engine) => {
                let path = origin::file(&source);
                let header = path.and_then(|path| engine.0.header(path, &options));
                header.and_then(|names| {
                    fits(&names)?;
                    count(policy, origin::file(&source)?, &names, engine)
                })
            }
            None => {
                let choose = |found: &[String]| {
                    fits(found)?;
                    let more = more.iter().filter(|name| found.contains(name)).cloned();
                    Ok(wanted(policy).into_iter().chain(more).collect())
                };
                publisher.read_chosen(&source, &options, &choose).map(|read| (read, Held::Records))
            }
        };
        let (read, held) = match read {
            Ok(read) => read,
            Err(more) => {
                problems.0.extend(more.0);
                return Err(problems);
            }
        };
        let names = names.into_inner();
        if read.rows == 0 {
            return Err(Failure::data("no-records", format!("`{}` has no records", policy.source))
                .hint("there is nothing to publish")
                .into());
        }
        let named =
            |r: &Requirement| Some((r.parameters.register()?.to_owned(), r.register.clone()?));
        Ok(Source {
            names,
            read,
            held,
            files: attributes
                .iter()
                .zip(files)
                .filter_map(|(a, rows)| Some((a.name.clone(), rows?)))
                .collect(),
            registers: policy.requirements.iter().filter_map(named).collect(),
            pseudonyms: PseudonymsMade::default(),
        })
    }

    /// The same source for another policy of the same folder that reads it in the same way: only
    /// taxonomy files and registers that are not here yet are opened. `None` if columns are missing
    /// that were not read.
    pub fn for_policy(
        &self,
        policy: &mut Policy,
        base: &Path,
        publisher: &Publisher<'_>,
    ) -> Result<Option<Source>, Failures> {
        let known = |name: &String| self.read.columns.iter().any(|c| c.name == *name);
        if !matches!(self.held, Held::Records) || !wanted(policy).iter().all(known) {
            return Ok(None);
        }
        let mut source = self.clone();
        for r in &mut policy.requirements {
            let Some(path) = r.parameters.register().map(str::to_owned) else { continue };
            if !source.registers.iter().any(|(known, _)| *known == path) {
                let read = read_register(&beside(base, &path), &policy.missing, publisher)?;
                source.registers.push((path, Arc::new(read)));
            }
        }
        let attributes = coded(policy);
        let (files, mut problems) = taxonomy_files(base, &attributes);
        problems.0.extend(compare_columns(policy, &self.names).0);
        let named = attributes.iter().zip(files);
        source.files = named.filter_map(|(a, rows)| Some((a.name.clone(), rows?))).collect();
        problems.or(Some(source))
    }

    /// Encodes what was read for a policy; the seed is for columns that are perturbed. For an
    /// algorithm that publishes again, what is remembered of its people comes in with them.
    pub fn extract(
        mut self,
        policy: &mut Policy,
        seed: u64,
        past: Option<Earlier<'_>>,
    ) -> Result<Extract, Failures> {
        for r in &mut policy.requirements {
            let path = r.parameters.register();
            r.register = self
                .registers
                .iter()
                .find(|(p, _)| Some(p.as_str()) == path)
                .map(|(_, r)| r.clone());
        }
        let policy = &*policy;
        let attributes = coded(policy);
        let files = attributes.iter().map(|a| self.files.remove(&a.name)).collect();
        let (mut read, held) = (self.read, self.held);
        if let Held::Records = held {
            let wanted = wanted(policy);
            read.columns.retain(|c| wanted.contains(&c.name));
        }
        let (perturbed, truth) = perturb_columns(policy, &mut read.columns, seed)?;
        let pseudonyms = self.pseudonyms;
        let job = Assembly { policy, attributes, past, truth, pseudonyms, held };
        let mut extract = job.assemble(files, read)?;
        for (name, _) in &perturbed {
            let a = policy.attributes.iter().find(|a| a.name == *name);
            if a.is_some_and(|a| a.role != Role::Insensitive) {
                let changed = format!(
                    "`{name}` is perturbed: models and losses are those of the changed values"
                );
                extract.warnings.push(changed);
            }
        }
        extract.perturbed = perturbed;
        Ok(extract)
    }
}

/// Columns that are encoded: quasi-identifiers, sensitive attributes, guards.
fn coded(policy: &Policy) -> Vec<&AttributePolicy> {
    policy.quasi().chain(policy.sensitive()).chain(policy.guards()).collect()
}

/// Columns that are read.
pub(crate) fn wanted(policy: &Policy) -> Vec<String> {
    let read = policy.attributes.iter().filter(|a| a.role != Role::Identifier || a.person);
    read.map(|a| a.name.clone()).collect()
}

/// Reads the source of a policy and encodes it, without a history.
pub fn load(
    policy: &mut Policy,
    base: &Path,
    seed: u64,
    publisher: &Publisher<'_>,
) -> Result<Extract, Failures> {
    Source::read(policy, base, None, publisher)?.extract(policy, seed, None)
}

/// Columns by name.
type Named<T> = Vec<(String, T)>;

/// Changes the columns that the policy wants changed, before anything looks at them: what became of
/// them, and what they were.
fn perturb_columns(
    policy: &Policy,
    columns: &mut [Column],
    seed: u64,
) -> Result<(Named<Change>, Named<Texts>), Failures> {
    let (mut changes, mut truth, mut problems) = (Vec::new(), Vec::new(), Failures::default());
    for (i, column) in columns.iter_mut().enumerate() {
        let steps = policy
            .attributes
            .iter()
            .find(|a| a.name == column.name)
            .map_or(&[][..], |a| &a.perturb);
        if steps.is_empty() {
            continue;
        }
        let is_missing = |v: &str| policy.missing.iter().any(|m| m == v);
        let text = |v: &str| if is_missing(v) { String::new() } else { v.to_owned() };
        let codes = std::mem::take(&mut column.codes);
        let before = Texts { values: column.values.iter().map(text).collect(), codes };
        // A stream for every column, apart from those of the algorithm and the writer.
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream((1 << 40) + i as u64);
        match perturb(&column.name, steps, &before, &mut random) {
            Ok((after, change)) => {
                let mut values = Dictionary::new();
                for value in &after.values {
                    values.intern(value);
                }
                (column.values, column.codes) = (values, after.codes);
                changes.push((column.name.clone(), change));
                truth.push((column.name.clone(), before));
            }
            Err(problem) => problems.push(problem),
        }
    }
    problems.or((changes, truth))
}

/// What an extract is put together from, besides the columns that were read.
struct Assembly<'a> {
    policy: &'a Policy,
    /// Columns that are encoded.
    attributes: Vec<&'a AttributePolicy>,
    past: Option<Earlier<'a>>,
    /// Columns that were perturbed, as they were before.
    truth: Named<Texts>,
    pseudonyms: PseudonymsMade,
    held: Held,
}

impl Assembly<'_> {
    fn assemble(
        self,
        files: Vec<Option<Vec<Vec<String>>>>,
        mut read: columns::Columns,
    ) -> Result<Extract, Failures> {
        let Assembly { policy, attributes, past, mut truth, pseudonyms, held } = self;
        // Whether quasi-identifiers pass through.
        let without_quasi = matches!(held, Held::FoundSensitive(_));
        let texts = |c: &Column| (c.name.clone(), c.values.iter().map(str::to_owned).collect());
        let texts = match held {
            Held::Values => read.columns.iter().map(texts).collect(),
            _ => Vec::new(),
        };
        let again = past.as_ref().and_then(|past| past.again);
        let tagged =
            |a: &AttributePolicy| past.as_ref().is_some_and(|p| p.tagged.contains(&a.name));
        let dialect = read.dialect;
        let mut problems = Failures::default();
        let mut warnings = person_check(policy, &read, &mut problems);
        let mut layout = Vec::new();
        let (mut plain, mut persons) = (Vec::new(), None);
        let mut coded: Vec<Option<Column>> = attributes.iter().map(|_| None).collect();
        let quasi = policy.quasi().count();
        for column in read.columns.drain(..) {
            let (name, mut arrow) = (column.name.clone(), column.arrow.clone());
            let place = match attributes.iter().position(|a| a.name == column.name) {
                Some(i) if i < quasi && without_quasi => {
                    // Of the types of quasi-identifiers only whole numbers are kept; the others can be
                    // written in several ways.
                    arrow = arrow.filter(|kind| kind.is_integer());
                    plain.push(Column {
                        arrow: arrow.clone(),
                        codes: Vec::new(),
                        ..column.clone()
                    });
                    coded[i] = Some(column);
                    Place::Plain(plain.len() - 1)
                }
                Some(i) => {
                    coded[i] = Some(column);
                    match attributes[i].role {
                        Role::Guard => continue,
                        _ if i < quasi => Place::Quasi(i),
                        _ => Place::Sensitive(i - quasi),
                    }
                }
                None if policy
                    .attributes
                    .iter()
                    .any(|a| a.name == name && a.role == Role::Insensitive) =>
                {
                    plain.push(column);
                    Place::Plain(plain.len() - 1)
                }
                None => {
                    persons = Some(Persons::new(column, pseudonyms.clone()));
                    continue;
                }
            };
            layout.push(Cell { name, place, arrow });
        }
        let encoded: Vec<Result<Encoded, Failures>> = attributes
            .par_iter()
            .zip(files)
            .zip(coded)
            .map(|((a, rows), column)| {
                let mut column = column.ok_or_else(|| {
                    Failure::bug("internal", format!("column `{}` was not read", a.name))
                })?;
                if let Some(past) = again.filter(|_| a.role == Role::Sensitive) {
                    // A value that nobody has any more may still have to be shown.
                    for value in past.values(&a.name) {
                        column.values.intern(value);
                    }
                }
                encode_column(a, rows, column, &policy.missing, tagged(a))
            })
            .collect();
        let (mut made, mut records) = (Vec::new(), Vec::new());
        for result in encoded {
            match result {
                Ok(Encoded { attribute, codes, texts }) => {
                    let kept =
                        texts.filter(|_| !truth.iter().any(|(name, _)| *name == attribute.name));
                    truth.extend(kept.map(|texts| (attribute.name.clone(), texts)));
                    made.push(attribute);
                    records.push(codes);
                }
                Err(more) => problems.0.extend(more.0),
            }
        }
        problems.or(())?;
        let sensitive = made.split_off(quasi);
        let mut outside = Vec::new();
        if without_quasi {
            records.drain(..quasi);
            let texts = |a: &Attribute| plain.iter().find(|c| c.name == a.name);
            outside.extend(
                made.iter()
                    .filter_map(|a| Some(Coded::new(a, texts(a)?.values.iter(), &policy.missing))),
            );
        }
        let weights = read.weights.take();
        let (mut table, row_of) = match (again, &persons, sensitive.first()) {
            (Some(past), Some(persons), Some(attribute)) => {
                let truth =
                    truth.iter().find(|(name, _)| *name == attribute.name).map(|(_, texts)| texts);
                let (groups, group_of) = past.past(persons, attribute, &records[quasi], truth);
                Table::collapse_with_past(made, sensitive, records, groups, group_of)
            }
            _ => match &weights {
                Some(weights) => {
                    let quasi = if without_quasi { std::mem::take(&mut made) } else { Vec::new() };
                    let collapsed = Table::collapse_counted(made, sensitive, records, weights);
                    let (mut table, row_of) = collapsed.ok_or_else(|| {
                        Failure::data(
                            "too-many-alike",
                            "more than four thousand million records are alike",
                        )
                    })?;
                    table.quasi.extend(quasi);
                    (table, row_of)
                }
                None => Table::collapse(made, sensitive, records),
            },
        };
        if policy.joins_sensitive() {
            table.join_sensitive();
        }
        warnings.extend(blind_spots(policy));
        let rows = match held {
            Held::Records => Rows::Here { row_of },
            Held::Distinct => Rows::Counted,
            Held::Values => Rows::Values { texts },
            Held::Found(found) | Held::FoundSensitive(found) => {
                let weights = weights.unwrap_or_default();
                Rows::Brought(Brought { row_of, weights, found, quasi: outside })
            }
        };
        Ok(Extract {
            table,
            rows,
            persons,
            left_out: Vec::new(),
            plain,
            layout,
            dialect,
            warnings,
            perturbed: Vec::new(),
            truth,
        })
    }
}

/// A column as leaf codes of its taxonomy.
struct Encoded {
    attribute: Attribute,
    codes: Vec<u32>,
    /// Its texts, if they are wanted and leaves are cells that several values share.
    texts: Option<Texts>,
}

/// Encodes a column; a sensitive attribute without taxonomy gets a flat one. `keep` says whether its
/// texts are wanted.
fn encode_column(
    a: &AttributePolicy,
    rows: Option<Vec<Vec<String>>>,
    column: Column,
    missing: &[String],
    keep: bool,
) -> Result<Encoded, Failures> {
    let values: Vec<&str> = column.values.iter().collect();
    let (attribute, leaf_of) = if a.role == Role::Guard {
        encode_guard(&a.name, &values, missing)
    } else {
        let rule = a.taxonomy.as_ref().unwrap_or(&Rule::Flat);
        let (taxonomy, leaf_of) = encode(&a.name, rule, rows, &values, missing)?;
        let attribute = Attribute { weight: a.weight, ..Attribute::new(&a.name, taxonomy) };
        (attach(attribute, a.freeform.as_ref())?, leaf_of)
    };
    let text = |v: &&str| if missing.iter().any(|m| m == v) { String::new() } else { (*v).into() };
    let texts = (keep && attribute.taxonomy.scale().has_cells())
        .then(|| Texts { values: values.iter().map(text).collect(), codes: column.codes.clone() });
    let mut codes = column.codes;
    codes.iter_mut().for_each(|code| *code = leaf_of[*code as usize]);
    Ok(Encoded { attribute, codes, texts })
}

/// The precondition "one record per person": broken, it is a problem; unknown, a warning.
fn person_check(policy: &Policy, read: &columns::Columns, problems: &mut Failures) -> Vec<String> {
    let Some(person) = policy.attributes.iter().find(|a| a.person) else {
        return vec![
            "no column says `person = true`: every row is taken for another person".into(),
        ];
    };
    let Some(column) = read.columns.iter().find(|c| c.name == person.name) else {
        return Vec::new();
    };
    let mut rows = vec![0u32; column.values.len()];
    column.codes.iter().for_each(|&code| rows[code as usize] += 1);
    let repeated = rows.iter().filter(|&&n| n > 1).count();
    if repeated > 0 {
        let people = if repeated == 1 {
            "one person has".into()
        } else {
            format!("{repeated} persons have")
        };
        problems.push(
            Failure::data("repeated-person", format!("column `{}` names the persons, but {people} more than one row", person.name))
                .hint("give one row per person, or leave out `person = true` to protect rows instead of persons"),
        );
    }
    Vec::new()
}

/// What the policy's models say nothing about.
fn blind_spots(policy: &Policy) -> Vec<String> {
    let mut warnings = Vec::new();
    for (i, a) in policy.sensitive().enumerate() {
        if !policy.joins_sensitive() && !policy.requirements.iter().any(|r| r.attribute == Some(i))
        {
            warnings.push(format!(
                "no model protects the sensitive attribute `{}`: a class may share one value",
                a.name
            ));
        }
    }
    for (r, thresholds) in policy.requirements.iter().filter_map(|r| Some((r, r.model.freeform()?)))
    {
        if let Some(known) = thresholds.known {
            let values = if known == 1 { "one value".into() } else { format!("{known} values") };
            warnings.push(format!(
                "`{}` is promised against whoever knows at most {values} of a person",
                r.name
            ));
        }
    }
    let freeform =
        policy.attributes.iter().any(|a| a.freeform.as_ref().is_some_and(|f| f.guards()));
    if freeform && !policy.requirements.iter().any(|r| r.model.freeform().is_some()) {
        warnings
            .push("no model protects the values that are guarded: ask for `ff-anonymity`".into());
    }
    let plain: Vec<&str> = policy
        .attributes
        .iter()
        .filter(|a| a.role == Role::Insensitive && a.perturb.is_empty())
        .map(|a| a.name.as_str())
        .collect();
    if !plain.is_empty() {
        warnings.push(format!(
            "published unchanged, on the word of the policy: `{}`",
            plain.join("`, `")
        ));
    }
    warnings
}
