//! What a table or a release satisfies, whoever made it.
//!
//! A release is recognised by its manifest, which tells the roles and how values were recoded. A raw table needs a
//! policy, or the names of its columns. Classes are formed by equal published values, exactly as a recipient would.

use crate::anatomized::{Tables, Told};
use crate::answer::{Groups, Model, Number, PopulationUniques, Reason, Risks, VERSION, Worse};
use crate::columns::{self, Column, Columns, ReadOptions};
use crate::engine::{Asked, Engine, What};
use crate::freeform::{self, FreeformNote};
use crate::manifest::{self, ColumnNote, Manifest};
use crate::origin;
use crate::publisher::{Watcher, base_of, picture_axes, read_policy, write_picture};
use crate::source::{load_registers, read_options, read_taxonomy, taxonomy_files, to_register};
use hashbrown::HashMap;
use rayon::prelude::*;
use scumble::algorithm::Requirement;
use scumble::catalogue::{Kind, MODELS, Parameter, Parameters, did_you_mean};
use scumble::class::{EquivalenceClass, Histogram, Run};
use scumble::encode::{encode, encode_guard};
use scumble::freeform::{Specification, attach};
use scumble::model::Concern;
use scumble::policy::{AttributePolicy, Policy, Source};
use scumble::problem::{Problem, Problems};
use scumble::publish::judge;
use scumble::release::{Release, Shape};
use scumble::risk::assess;
use scumble::table::{Attribute, join, number_tuples, published};
use scumble::taxonomy::{Decimal, ROOT, Rule, Scale, Taxonomy, parse_date};
use serde::Serialize;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// A column of texts with the run that each text stands for.
pub struct Labelled<'a> {
    codes: &'a [u32],
    runs: Vec<Run>,
}

impl<'a> Labelled<'a> {
    /// Understands every text of the column by the attribute's taxonomy. The error is the number of unknown texts.
    pub fn parse(column: &'a Column, attribute: &Attribute) -> Result<Labelled<'a>, usize> {
        let runs: Vec<Option<Run>> = column.values.iter().map(|text| attribute.taxonomy.parse(text)).collect();
        let unknown = runs.iter().filter(|r| r.is_none()).count();
        if unknown > 0 {
            Err(unknown)
        } else {
            Ok(Labelled { codes: &column.codes, runs: runs.into_iter().flatten().collect() })
        }
    }

    /// The run of a record.
    pub fn run(&self, record: usize) -> Run {
        self.runs[self.codes[record] as usize]
    }

    /// The leaf of every record; `None` if one shows more than a leaf.
    pub fn leaves(&self) -> Option<Vec<u32>> {
        let single = self.runs.iter().all(|run| run.first == run.last);
        single.then(|| self.codes.iter().map(|&c| self.runs[c as usize].first).collect())
    }

    /// The number of the distinct run of each record, and the distinct runs.
    fn numbered(&self) -> (Cow<'a, [u32]>, Vec<Run>) {
        let mut runs: Vec<Run> = Vec::new();
        let mut place: HashMap<Run, u32> = HashMap::new();
        let number: Vec<u32> = self
            .runs
            .iter()
            .map(|run| {
                *place.entry(*run).or_insert_with(|| {
                    runs.push(*run);
                    runs.len() as u32 - 1
                })
            })
            .collect();
        // Usually every text is another run; then the codes are the numbers.
        let codes = if runs.len() == number.len() {
            Cow::Borrowed(self.codes)
        } else {
            self.codes.iter().map(|&c| number[c as usize]).collect()
        };
        (codes, runs)
    }
}

/// The equivalence classes of records by their published values, in the order of their regions.
pub fn classes_of(read: &Columns, quasi: &[Labelled<'_>], sensitive: &[Labelled<'_>]) -> Vec<EquivalenceClass> {
    let (rows, weights) = (read.rows, read.weights.as_deref());
    let numbered: Vec<(Cow<'_, [u32]>, Vec<Run>)> = quasi.par_iter().map(Labelled::numbered).collect();
    let codes: Vec<&[u32]> = numbered.iter().map(|(codes, _)| &**codes).collect();
    let runs: Vec<&[Run]> = numbered.iter().map(|(_, runs)| runs.as_slice()).collect();
    let sizes: Vec<u64> = runs.iter().map(|r| r.len() as u64).collect();
    let (class_of, firsts) = if codes.is_empty() { (vec![0; rows], vec![0]) } else { number_tuples(&codes, &sizes) };
    let mut classes: Vec<EquivalenceClass> = firsts
        .iter()
        .map(|&first| EquivalenceClass {
            region: codes.iter().zip(&runs).map(|(c, r)| r[c[first as usize] as usize]).collect(),
            count: 0,
            histograms: vec![Histogram::default(); sensitive.len()],
        })
        .collect();
    for (row, &class) in class_of.iter().enumerate() {
        classes[class as usize].count += weights.map_or(1, |w| w[row]);
    }
    let histograms: Vec<Vec<Vec<(u32, u64)>>> =
        sensitive.par_iter().map(|s| count_values(&class_of, classes.len(), s, weights)).collect();
    for (i, per_class) in histograms.into_iter().enumerate() {
        for (class, pairs) in classes.iter_mut().zip(per_class) {
            class.histograms[i] = Histogram::of(pairs);
        }
    }
    classes.par_sort_unstable_by(|a, b| a.region.cmp(&b.region));
    classes
}

/// Per class the values of a sensitive attribute with their counts.
fn count_values(class_of: &[u32], classes: usize, s: &Labelled<'_>, weights: Option<&[u64]>) -> Vec<Vec<(u32, u64)>> {
    let (pair_of, firsts) = number_tuples(&[class_of, s.codes], &[classes as u64, s.runs.len() as u64]);
    let mut counts = vec![0u64; firsts.len()];
    pair_of.iter().enumerate().for_each(|(row, &p)| counts[p as usize] += weights.map_or(1, |w| w[row]));
    let mut per_class = vec![Vec::new(); classes];
    for (&first, n) in firsts.iter().zip(counts) {
        let leaf = s.runs[s.codes[first as usize] as usize].first;
        per_class[class_of[first as usize] as usize].push((leaf, n));
    }
    per_class
}

/// What to check, and against what.
pub struct Options<'a> {
    /// Columns an adversary knows; needed if neither policy nor manifest tells.
    pub quasi: Vec<String>,
    /// Columns an adversary wants to know.
    pub sensitive: Vec<String>,
    /// A policy that tells roles, taxonomies and what must hold.
    pub policy: Option<PathBuf>,
    /// A register of the population with the quasi-identifiers as columns.
    pub register: Option<PathBuf>,
    /// How many people the table is a sample of; then uniques among them are estimated.
    pub population: Option<u64>,
    /// Draw the classes into this file, in these two quasi-identifiers (or the first two).
    pub picture: Option<(PathBuf, Option<(String, String)>)>,
    /// How the table is written, where neither policy nor manifest tells.
    pub read: ReadOptions,
    /// Tell the publisher whom a witness is about.
    pub show_values: bool,
    /// Who counts the table, if not this process.
    pub engine: Option<&'a dyn Engine>,
    /// Who wants to know.
    pub watcher: &'a dyn Watcher,
}

/// Answer of `check`.
#[derive(Clone, Debug, Serialize)]
pub struct Checked {
    /// Version of the answer.
    pub version: u32,
    /// What was checked: `table` or `release`.
    pub what: &'static str,
    /// Records.
    pub rows: u64,
    /// Equivalence classes.
    pub classes: u64,
    /// Size of the smallest class.
    pub k: u64,
    /// The groups, if the release is anatomized.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups: Option<Groups>,
    /// Every model with what was measured.
    pub models: Vec<Model>,
    /// What was promised, by a policy or the manifest, and whether it is kept; empty if nothing was.
    pub promises: Vec<Model>,
    /// Whether all promises are kept; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keeps: Option<bool>,
    /// Promises that are broken, in words.
    pub reasons: Vec<Reason>,
    /// Freeform attacks, of every promise of FF-anonymity that is broken.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub freeform: Vec<FreeformNote>,
    /// Re-identification risk.
    pub risk: Risks,
    /// Records alone in their class.
    pub uniques: u64,
    /// Number of classes of each size.
    pub sizes: BTreeMap<u64, u64>,
    /// What the reader should know.
    pub warnings: Vec<String>,
    /// Seconds it took: `total`.
    pub seconds: BTreeMap<&'static str, f64>,
}

/// A column and how its values are to be understood.
struct Wanted {
    name: String,
    rule: Option<Rule>,
    rows: Option<Vec<Vec<String>>>,
    freeform: Option<Specification>,
}

/// Where the data are and what the columns mean.
struct Plan {
    what: &'static str,
    source: Source,
    read: ReadOptions,
    quasi: Vec<Wanted>,
    sensitive: Vec<Wanted>,
    /// Columns that say what people want guarded; only a table that was not published has them.
    guards: Vec<String>,
    missing: Vec<String>,
    requirements: Vec<Requirement>,
    /// Hash of the data file when it was published, if the manifest tells.
    sha256: Option<String>,
    /// The tables of the sensitive values and of counterfeits, and their folder, if the release is anatomized.
    anatomized: Option<(PathBuf, manifest::Anatomized)>,
    /// What the quasi-identifiers tell.
    shape: Shape,
    warnings: Vec<String>,
}

/// Checks a table or a release.
pub fn check(data: &Source, options: &Options<'_>) -> Result<Checked, Problems> {
    let start = Instant::now();
    let mut plan = plan(data, options)?;
    options.watcher.phase(if options.engine.is_some() { "counting" } else { "reading" });
    let files = read_tables(&plan, options.engine, options.watcher)?;
    if files.records.rows == 0 {
        return Err(Problem::new(format!("`{data}` has no records")).into());
    }
    let register = match &options.register {
        Some(path) => Some(read_register(path, &mut plan, options)?),
        None => None,
    };
    options.watcher.phase("checking");
    let altered = is_altered(&plan, &files);
    let people = |name: &str| {
        let known = register.as_ref().and_then(|r| column(r, name).ok());
        known.map_or_else(Vec::new, |c| c.values.iter().map(str::to_owned).collect())
    };
    let matters = register.is_some() || options.picture.is_some();
    let meaning = Meaning { matters, together: false, others: &people };
    let release = understand(&plan, &files, &meaning).map_err(|mut problems| {
        if altered {
            let reason = changed();
            problems.push(Problem { message: reason.message, hint: reason.hint });
        }
        problems
    })?;
    let population = register.as_ref().map(|r| locate(&release, r, &mut plan.warnings)).transpose()?;
    let mut answer = answer(&plan, &release, population.as_deref(), options.show_values, start)?;
    answer.risk.population_uniques = options.population.map(|people| PopulationUniques::of(&answer.sizes, people));
    if altered {
        answer.keeps = Some(false);
        answer.reasons.insert(0, changed());
    }
    if plan.what == "table" {
        // Nobody said that it may be shown: the smallest class of an extract is mostly one person.
        answer.models.iter_mut().chain(&mut answer.promises).flat_map(|m| &mut m.worst).for_each(|w| w.region.clear());
        if !options.show_values {
            answer.promises.iter_mut().for_each(|m| m.witness = None);
        }
    }
    if let Some((file, axes)) = &options.picture {
        let quasi: Vec<&str> = plan.quasi.iter().map(|w| w.name.as_str()).collect();
        let (x, y) = picture_axes(&quasi, axes.as_ref())?;
        write_picture(&release, x, y, &data.to_string(), file)?;
    }
    Ok(answer)
}

/// The files of a table or release: an anatomized one says in a second file what is sensitive, and in a third which of that
/// stands for nobody.
struct Files {
    records: Columns,
    told: Option<Columns>,
    counterfeits: Option<Columns>,
}

/// Reads what is to be understood.
fn read_tables(plan: &Plan, engine: Option<&dyn Engine>, watcher: &dyn Watcher) -> Result<Files, Problems> {
    let progress = |done, total| watcher.at(done, total);
    let read = |source: &Source, names: Vec<String>| {
        let Some(engine) = engine else { return origin::read(source, &plan.read, Some(&names), &progress) };
        let file = origin::file(source)?;
        let counted = engine.count(file, &plan.read, &names, What::Table, watcher)?;
        Ok(Columns { sha256: plan.read.hash.then(|| columns::sha256(file)).transpose()?, ..counted })
    };
    // Of a file with a line for every group there is nothing to be counted.
    let read_small = |file: &Path, names: Vec<String>| columns::read(file, &plan.read, Some(&names), &progress);
    let names = |wanted: &[Wanted]| wanted.iter().map(|w| w.name.clone()).collect::<Vec<String>>();
    let (quasi, sensitive) = (names(&plan.quasi), names(&plan.sensitive));
    let Some((folder, a)) = &plan.anatomized else {
        let records = read(&plan.source, [quasi, sensitive, plan.guards.clone()].concat())?;
        return Ok(Files { records, told: None, counterfeits: None });
    };
    let by_group = vec![a.group.clone(), a.count.clone()];
    let third = a.counterfeits.as_ref().map(|c| read_small(&folder.join(&c.file), by_group.clone()));
    Ok(Files {
        told: Some(read_small(&folder.join(&a.file), [by_group, sensitive].concat())?),
        records: read(&plan.source, [quasi, vec![a.group.clone()]].concat())?,
        counterfeits: third.transpose()?,
    })
}

/// Whether a file is not the one that the manifest speaks of.
fn is_altered(plan: &Plan, files: &Files) -> bool {
    let a = plan.anatomized.as_ref().map(|(_, a)| a);
    let differs =
        |file: &Option<Columns>, hash: Option<&String>| file.as_ref().is_some_and(|f| f.sha256.as_ref() != hash);
    (plan.sha256.is_some() && plan.sha256 != files.records.sha256)
        || differs(&files.told, a.map(|a| &a.sha256))
        || differs(&files.counterfeits, a.and_then(|a| a.counterfeits.as_ref()).map(|c| &c.sha256))
}

/// The promise that is broken whatever the classes are: a manifest speaks of one file only.
fn changed() -> Reason {
    Reason {
        message: "the data file is not the one that was published: its hash differs from the manifest's".into(),
        hint: Some("take the release from where it was published, or publish again".into()),
    }
}

/// Finds out roles and rules: from the policy, the manifest, or the command line.
fn plan(data: &Source, options: &Options<'_>) -> Result<Plan, Problems> {
    let folder = match data {
        Source::File(path) if path.is_dir() && path.join(manifest::FILE).exists() => Some(path),
        _ => None,
    };
    let release = folder.map(|folder| Ok::<_, Problems>((folder, manifest::read(folder)?))).transpose()?;
    let source = release.as_ref().map_or_else(|| data.clone(), |(folder, m)| Source::File(folder.join(&m.data.file)));
    let what = if release.is_some() { "release" } else { "table" };
    if let Some(path) = &options.policy {
        let manifest = release.as_ref().map(|(_, m)| m);
        let plan = from_policy(read_policy(path)?, &base_of(path), source, what, manifest)?;
        let shape = manifest.map_or(Shape::Regions, Manifest::shape);
        return Ok(Plan { anatomized: release.and_then(|(folder, m)| other_files(&m, folder)), shape, ..plan });
    }
    if let Some((folder, manifest)) = release {
        return from_manifest(&manifest, folder);
    }
    let names = match options.engine {
        Some(engine) => engine.header(origin::file(&source)?, &options.read)?,
        None => origin::header(&source, &options.read)?,
    };
    let mut problems = Problems::default();
    if options.quasi.is_empty() {
        problems.push(
            Problem::new("which columns are quasi-identifiers?").hint(
                "name them with `--quasi-identifiers a,b,c`, or give `--policy`; `scumble inspect` suggests some",
            ),
        );
    }
    for name in options.quasi.iter().chain(&options.sensitive).filter(|n| !names.contains(n)) {
        let hint = did_you_mean(name, names.iter().map(String::as_str));
        problems.push(Problem::new(format!("`{name}` is not a column of `{data}`")).hint(hint));
    }
    problems.or(())?;
    let plain = |name: &String| Wanted { name: name.clone(), rule: None, rows: None, freeform: None };
    Ok(Plan {
        what,
        source,
        read: options.read.clone(),
        quasi: options.quasi.iter().map(plain).collect(),
        sensitive: options.sensitive.iter().map(plain).collect(),
        guards: Vec::new(),
        missing: vec![String::new()],
        requirements: Vec::new(),
        sha256: None,
        anatomized: None,
        shape: Shape::Regions,
        warnings: Vec::new(),
    })
}

fn from_policy(
    mut policy: Policy,
    base: &Path,
    source: Source,
    what: &'static str,
    manifest: Option<&Manifest>,
) -> Result<Plan, Problems> {
    let mut warnings = Vec::new();
    let guards: Vec<String> = policy.guards().map(|a| a.name.clone()).collect();
    if manifest.is_some() {
        leave_out(&mut policy.requirements, &mut warnings, "the guards, which are not published", |_, p| {
            matches!(p.kind, Kind::Guard)
        });
    }
    load_registers(&mut policy.requirements, base, &policy.missing, &|_, _| ())?;
    let wanted = |attributes: Vec<&AttributePolicy>| -> Result<Vec<Wanted>, Problems> {
        let (files, problems) = taxonomy_files(base, &attributes);
        problems.or(())?;
        let each = attributes.into_iter().zip(files);
        let wanted = |(a, rows): (&AttributePolicy, _)| Wanted {
            name: a.name.clone(),
            rule: a.taxonomy.clone(),
            rows,
            freeform: a.freeform.clone(),
        };
        Ok(each.map(wanted).collect())
    };
    // A release is written as its manifest says, not as the policy's source is.
    let read = manifest.map_or_else(|| read_options(&policy), manifest::read_options);
    Ok(Plan {
        what,
        source,
        read,
        quasi: wanted(policy.quasi().collect())?,
        sensitive: wanted(policy.sensitive().collect())?,
        guards: if manifest.is_some() { Vec::new() } else { guards },
        missing: if manifest.is_some() { vec![String::new()] } else { policy.missing.clone() },
        requirements: policy.requirements,
        sha256: manifest.map(|m| m.data.sha256.clone()),
        anatomized: None,
        shape: Shape::Regions,
        warnings,
    })
}

/// Leaves out requirements that need what is not here, and says so.
fn leave_out(
    all: &mut Vec<Requirement>,
    warnings: &mut Vec<String>,
    what: &str,
    needs: impl Fn(&Requirement, &Parameter) -> bool,
) {
    all.retain(|r| {
        let entry = MODELS.iter().find(|e| e.name == r.name);
        let kept = !entry.is_some_and(|e| e.parameters.iter().any(|p| needs(r, p)));
        if !kept {
            warnings.push(format!("`{}` is promised but cannot be checked here: it needs {what}", r.name));
        }
        kept
    });
}

/// The tables beside that of the records, if there are any.
fn other_files(m: &Manifest, folder: &Path) -> Option<(PathBuf, manifest::Anatomized)> {
    m.anatomized.clone().map(|a| (folder.to_path_buf(), a))
}

fn from_manifest(m: &Manifest, folder: &Path) -> Result<Plan, Problems> {
    let edited = |name: &str| {
        Problem::new(format!("what the manifest says of the values of `{name}` cannot be understood"))
            .hint("the manifest was edited; take the release from where it was published")
    };
    let wanted = |which: &dyn Fn(&ColumnNote) -> bool| -> Result<Vec<Wanted>, Problems> {
        let mut wanted = Vec::new();
        for c in m.columns.iter().filter(|c| which(c)) {
            let rule = c.taxonomy.as_ref().and_then(|t| t.rule());
            let rows = match &rule {
                Some(Rule::File { path, .. }) => Some(read_taxonomy(&folder.join(path), path)?),
                _ => None,
            };
            let freeform = c.freeform.as_ref().map(|note| note.specification().ok_or_else(|| edited(&c.name)));
            wanted.push(Wanted { name: c.name.clone(), rule, rows, freeform: freeform.transpose()? });
        }
        Ok(wanted)
    };
    let (quasi, sensitive) = (wanted(&ColumnNote::is_generalized)?, wanted(&|c| c.role == "sensitive")?);
    let place = |list: &[Wanted], name: &str| list.iter().position(|w| w.name == name);
    let mut requirements = Vec::new();
    for model in &m.models {
        let entry = MODELS.iter().find(|e| e.name == model.name).ok_or_else(|| {
            Problem::new(format!("the manifest promises `{}`, which this scumble does not know", model.name))
        })?;
        let parameters = Parameters::read(entry.name, entry.parameters, &model.parameters).map_err(Problems)?;
        let built = (entry.build)(&parameters)?;
        let strangers = model.on.iter().flatten().find(|n| place(&quasi, n).is_none());
        let attribute = match built.promise().concerns {
            Concern::Joint => Some(sensitive.len()),
            _ => model.attribute.as_ref().and_then(|a| place(&sensitive, a)),
        };
        if strangers.is_some() || attribute.is_some() != (built.promise().concerns != Concern::Identity) {
            return Err(Problem::new(format!(
                "the manifest promises `{}` of columns that it does not list",
                entry.name
            ))
            .hint("the manifest was edited; take the release from where it was published")
            .into());
        }
        requirements.push(Requirement {
            name: entry.name,
            model: built,
            parameters,
            attribute,
            on: model.on.as_ref().map(|on| on.iter().filter_map(|n| place(&quasi, n)).collect()),
            register: None,
        });
    }
    let mut warnings = Vec::new();
    let needs = |r: &Requirement, p: &Parameter| match p.kind {
        Kind::Guard => true,
        Kind::Register => r.parameters.register().is_some(),
        _ => false,
    };
    leave_out(&mut requirements, &mut warnings, "what only the publisher has; use `--policy`", needs);
    Ok(Plan {
        what: "release",
        source: Source::File(folder.join(&m.data.file)),
        read: manifest::read_options(m),
        quasi,
        sensitive,
        guards: Vec::new(),
        missing: vec![String::new()],
        requirements,
        sha256: Some(m.data.sha256.clone()),
        anatomized: other_files(m, folder),
        shape: m.shape(),
        warnings,
    })
}

/// Reads the quasi-identifiers that the register has. Those it lacks are unknown to its owner.
fn read_register(path: &Path, plan: &mut Plan, options: &Options<'_>) -> Result<columns::Columns, Problems> {
    let header = columns::header(path, &ReadOptions::default())?;
    let (shared, lacking): (Vec<String>, Vec<String>) =
        plan.quasi.iter().map(|w| w.name.clone()).partition(|name| header.contains(name));
    if shared.is_empty() {
        let names = lacking.join("`, `");
        return Err(Problem::new(format!("the register `{}` has no quasi-identifier as a column", path.display()))
            .hint(format!("it should have some of `{names}`"))
            .into());
    }
    if !lacking.is_empty() {
        let names = lacking.join("`, `");
        plan.warnings.push(format!("the register lacks `{names}`: people are matched by the other quasi-identifiers"));
    }
    options.watcher.phase("reading the register");
    columns::read(path, &ReadOptions::default(), Some(&shared), &|done, total| options.watcher.at(done, total))
}

fn column<'a>(read: &'a columns::Columns, name: &str) -> Result<&'a Column, Problems> {
    let found = read.columns.iter().find(|c| c.name == name);
    found.ok_or_else(|| Problem::new(format!("column `{name}` was not read")).into())
}

/// What of a table must be understood.
struct Meaning<'a> {
    /// Whether the meaning of values is needed, or only whether they are equal.
    matters: bool,
    /// Whether sensitive attributes are to be counted together.
    together: bool,
    /// Values of a column that must have a meaning beside those of the table.
    others: &'a dyn Fn(&str) -> Vec<String>,
}

/// Which values of a column will be asked about, given its name, its rule and its labels.
pub(crate) type Named<'a> = &'a dyn Fn(&str, Option<&Rule>, &[&str]) -> Vec<String>;

/// Refuses what is not the folder of a release.
pub(crate) fn must_be_release(folder: &Path) -> Result<(), Problems> {
    if folder.join(manifest::FILE).exists() {
        return Ok(());
    }
    Err(Problem::new(format!("`{}` is not the folder of a release", folder.display()))
        .hint("it should hold `manifest.json` and the data")
        .into())
}

/// Reads a published release so that its values, and those that are named, mean something. Returns what the reader
/// should know beside it.
pub(crate) fn open(folder: &Path, named: Named<'_>, watcher: &dyn Watcher) -> Result<(Release, Vec<String>), Problems> {
    open_on(None, folder, named, watcher)
}

/// The same; an engine may count the release.
pub(crate) fn open_on(
    engine: Option<&dyn Engine>,
    folder: &Path,
    named: Named<'_>,
    watcher: &dyn Watcher,
) -> Result<(Release, Vec<String>), Problems> {
    must_be_release(folder)?;
    let m = manifest::read(folder)?;
    open_plan(&from_manifest(&m, folder)?, engine, named, watcher)
}

/// What an engine will count of a release.
pub(crate) fn asked(folder: &Path) -> Result<Asked, Problems> {
    must_be_release(folder)?;
    let m = manifest::read(folder)?;
    let told = |c: &&ColumnNote| c.is_generalized() || (c.role == "sensitive" && m.anatomized.is_none());
    let columns = m.columns.iter().filter(told).map(|c| c.name.clone());
    let wanted = columns.chain(m.anatomized.as_ref().map(|a| a.group.clone())).collect();
    Ok(Asked { table: folder.join(&m.data.file), options: manifest::read_options(&m), wanted })
}

/// The same for a table without a manifest, whose columns a policy explains.
pub(crate) fn open_table(
    file: &Path,
    policy: &Path,
    named: Named<'_>,
    watcher: &dyn Watcher,
) -> Result<(Release, Vec<String>), Problems> {
    let mut plan = from_policy(read_policy(policy)?, &base_of(policy), Source::from(file), "table", None)?;
    // What was promised is not asked here, and guards are not published.
    plan.requirements.clear();
    plan.guards.clear();
    open_plan(&plan, None, named, watcher)
}

fn open_plan(
    plan: &Plan,
    engine: Option<&dyn Engine>,
    named: Named<'_>,
    watcher: &dyn Watcher,
) -> Result<(Release, Vec<String>), Problems> {
    watcher.phase("reading");
    let files = read_tables(plan, engine, watcher)?;
    let others = |name: &str| {
        let rule = plan.quasi.iter().chain(&plan.sensitive).find(|w| w.name == name).and_then(|w| w.rule.as_ref());
        let labels = column(&files.records, name).map_or_else(|_| Vec::new(), |c| c.values.iter().collect());
        named(name, rule, &labels)
    };
    let meaning = Meaning { matters: true, together: true, others: &others };
    let release = understand(plan, &files, &meaning)?;
    let altered = is_altered(plan, &files);
    Ok((release, altered.then(|| changed().message).into_iter().collect()))
}

/// A release that was read, with what is promised of it.
pub(crate) struct Understood {
    pub release: Release,
    pub requirements: Vec<Requirement>,
    /// What the reader should know.
    pub warnings: Vec<String>,
}

/// Reads a published release by its manifest or by a policy.
pub(crate) fn open_by(
    folder: &Path,
    policy: Option<&Path>,
    engine: Option<&dyn Engine>,
    watcher: &dyn Watcher,
) -> Result<Understood, Problems> {
    must_be_release(folder)?;
    let m = manifest::read(folder)?;
    let source = Source::File(folder.join(&m.data.file));
    let plan = match policy {
        Some(path) => Plan {
            anatomized: other_files(&m, folder),
            shape: m.shape(),
            ..from_policy(read_policy(path)?, &base_of(path), source, "release", Some(&m))?
        },
        None => from_manifest(&m, folder)?,
    };
    watcher.phase("reading");
    let files = read_tables(&plan, engine, watcher)?;
    let meaning = Meaning { matters: true, together: false, others: &|_| Vec::new() };
    let release = understand(&plan, &files, &meaning)?;
    let altered = is_altered(&plan, &files).then(|| changed().message);
    let warnings = plan.warnings.into_iter().chain(altered).collect();
    Ok(Understood { release, requirements: plan.requirements, warnings })
}

/// The release that the table is. Where only equality of values matters their meaning is not looked into.
fn understand(plan: &Plan, files: &Files, meaning: &Meaning<'_>) -> Result<Release, Problems> {
    let (read, told) = (&files.records, files.told.as_ref());
    let (mut quasi, mut sensitive) = (Vec::new(), Vec::new());
    let (mut quasi_labels, mut sensitive_labels) = (Vec::new(), Vec::new());
    for w in &plan.quasi {
        let c = column(read, &w.name)?;
        let labels: Vec<&str> =
            c.values.iter().map(|v| if plan.missing.iter().any(|m| m == v) { "" } else { v }).collect();
        let mut others = (meaning.others)(&w.name);
        for named in plan.requirements.iter().filter_map(|r| r.register.as_ref()) {
            let same = named.columns.iter().filter(|c| c.name == w.name);
            others.extend(same.flat_map(|c| c.texts.iter().cloned()));
        }
        let others: Vec<&str> = others.iter().map(String::as_str).collect();
        let understood = meaning.matters || plan.requirements.iter().any(|r| r.model.promise().region);
        let rule = w.rule.as_ref().filter(|_| understood).unwrap_or(&Rule::Flat);
        let taxonomy = published_taxonomy(&w.name, rule, w.rows.clone(), &labels, &others)?;
        let runs: Vec<Option<Run>> = labels.iter().map(|l| taxonomy.parse(l)).collect();
        let unknown = runs.iter().filter(|r| r.is_none()).count();
        if unknown > 0 {
            let values = if unknown == 1 { "one value".into() } else { format!("{unknown} distinct values") };
            let message = format!("column `{}` has {values} that its taxonomy does not know", w.name);
            return Err(Problem::new(message).hint("was the release made with this policy?").into());
        }
        quasi_labels.push(Labelled { codes: &c.codes, runs: runs.into_iter().flatten().collect() });
        let said = w.freeform.as_ref().filter(|_| understood);
        quasi.push(attach(Attribute::new(&w.name, taxonomy), said)?);
    }
    for w in &plan.sensitive {
        let c = column(told.unwrap_or(read), &w.name)?;
        let values: Vec<&str> = c.values.iter().collect();
        let rule = w.rule.as_ref().unwrap_or(&Rule::Flat);
        let (taxonomy, leaves) = encode(&w.name, rule, w.rows.clone(), &values, &plan.missing)?;
        let runs = leaves.iter().map(|&leaf| Run::new(leaf, leaf)).collect();
        sensitive_labels.push(Labelled { codes: &c.codes, runs });
        sensitive.push(Attribute::new(&w.name, taxonomy));
    }
    for name in &plan.guards {
        let c = column(read, name)?;
        let (guard, codes) = encode_guard(name, &c.values.iter().collect::<Vec<_>>(), &plan.missing);
        sensitive_labels.push(Labelled { codes: &c.codes, runs: codes.iter().map(|&c| Run::new(c, c)).collect() });
        sensitive.push(guard);
    }
    let asked = meaning.together && plan.sensitive.len() > 1;
    let joint = asked || plan.requirements.iter().any(|r| r.model.promise().concerns == Concern::Joint);
    let joined = joint.then(|| {
        let published = published(&sensitive);
        let leaves = |l: &Labelled<'_>| l.codes.iter().map(|&c| l.runs[c as usize].first).collect::<Vec<u32>>();
        let columns: Vec<Vec<u32>> = sensitive_labels[..published.len()].iter().map(leaves).collect();
        join(published, &columns.iter().map(Vec::as_slice).collect::<Vec<_>>())
    });
    if let Some((attribute, codes)) = &joined {
        let runs = (0..attribute.taxonomy.leaves() as u32).map(|c| Run::new(c, c)).collect();
        sensitive_labels.push(Labelled { codes, runs });
        sensitive.push(attribute.clone());
    }
    let (shape, told) = match (&plan.anatomized, told) {
        (Some((_, a)), Some(told)) => {
            let tables = Tables {
                groups: column(read, &a.group)?,
                weights: read.weights.as_deref(),
                quasi: &quasi_labels,
                sensitive_groups: column(told, &a.group)?,
                sensitive: &sensitive_labels,
                counts: column(told, &a.count)?,
                counterfeits: match &files.counterfeits {
                    Some(file) => Some((column(file, &a.group)?, column(file, &a.count)?)),
                    None => None,
                },
            };
            (Shape::Groups, tables.understand(&quasi)?)
        }
        _ => {
            let classes = classes_of(read, &quasi_labels, &sensitive_labels);
            (plan.shape, Told { classes, records: Vec::new(), counterfeits: Vec::new() })
        }
    };
    let Told { classes, records: records_by_group, counterfeits } = told;
    Ok(Release { quasi, sensitive, classes, suppressed: 0, shape, records_by_group, counterfeits, counted: None })
}

/// A taxonomy in which every published label has a meaning. Its leaves are the values that the labels themselves name
/// (the ends of ranges, unmasked values) and those of the register.
fn published_taxonomy(
    column: &str,
    rule: &Rule,
    rows: Option<Vec<Vec<String>>>,
    labels: &[&str],
    others: &[&str],
) -> Result<Taxonomy, Problems> {
    // A masked label stands for texts of its length, which only have to be ones that the label masks. They are made up where
    // no other text is such a one: two of them, because what stands for one text would be called by it.
    let mut known: Vec<(usize, &str)> = others.iter().map(|text| (text.len(), *text)).collect();
    known.sort_unstable();
    let masks = |label: &str| {
        let kept = label.trim_end_matches('*');
        let next = known.partition_point(|&(len, text)| (len, text) < (label.len(), kept));
        kept != label && known.get(next).is_some_and(|(len, text)| *len == label.len() && text.starts_with(kept))
    };
    let stand_in = |label: &&str| if masks(label) { Default::default() } else { unmask(label) };
    let stand_ins: Vec<[String; 2]> = labels.iter().map(stand_in).collect();
    let mut texts: Vec<&str> = others.to_vec();
    for (label, stand_in) in labels.iter().zip(&stand_ins) {
        match rule {
            Rule::File { .. } | Rule::Nested(_) => (),
            Rule::Intervals(_) | Rule::Dates(_) => texts.extend(ends(label)),
            Rule::Prefix(_) => texts.extend(stand_in.iter().map(String::as_str)),
            Rule::Flat => texts.push(label),
        }
    }
    let has_missing = labels.contains(&"") || others.contains(&"");
    let unmasked = |t: &&str| !t.is_empty() && (**t != *ROOT || !labels.contains(&ROOT));
    let mut values: Vec<&str> = texts.into_iter().filter(unmasked).collect();
    values.sort_unstable();
    values.dedup();
    match (rule, rows) {
        (Rule::File { path, ordered }, Some(rows)) => Taxonomy::from_rows(path, rows, *ordered, has_missing),
        (Rule::Nested(_), _) => Taxonomy::generate(rule, column, &[], has_missing),
        // A table in which every cell is suppressed has no leaf left; the root stands for itself.
        (rule, _) if values.is_empty() && !has_missing => Taxonomy::generate(&Rule::Flat, column, &[ROOT], false)
            .and_then(|t| if labels.is_empty() { Taxonomy::generate(rule, column, &[], true) } else { Ok(t) }),
        (rule, _) => Taxonomy::generate(rule, column, &values, has_missing),
    }
}

/// Texts that a label with a mask may stand for; the text itself if there is no mask, nothing if all is masked.
fn unmask(label: &str) -> [String; 2] {
    let kept = label.trim_end_matches('*');
    let fill = |c: &str| kept.to_owned() + &c.repeat(label.len() - kept.len());
    if kept.is_empty() { Default::default() } else { ["?", "!"].map(fill) }
}

/// The values that a range or a single value names.
fn ends(label: &str) -> Vec<&str> {
    let place = |t: &str| Decimal::parse(t).is_some() || parse_date(t).is_some();
    match label.strip_prefix('[').and_then(|l| l.strip_suffix(']')).and_then(|l| l.split_once(", ")) {
        Some((a, b)) if place(a) && place(b) => vec![a, b],
        _ => vec![label],
    }
}

/// How many people of the register fit each class, by the quasi-identifiers that the register has.
fn locate(release: &Release, register: &columns::Columns, warnings: &mut Vec<String>) -> Result<Vec<u64>, Problems> {
    for attribute in &release.quasi {
        let Ok(c) = column(register, &attribute.name) else { continue };
        let known = |v: &str| attribute.taxonomy.find(v).is_some() || attribute.taxonomy.leaf_below(v).is_some();
        let outside: Vec<bool> = c.values.iter().map(|v| !known(v)).collect();
        let people = c.codes.iter().filter(|&&code| outside[code as usize]).count();
        if people > 0 {
            let name = &attribute.name;
            warnings.push(format!(
                "{people} people of the register have a `{name}` outside the taxonomy: they fit only `*`"
            ));
        }
    }
    let register = to_register(register, &[])?;
    if release.shape == Shape::Representatives {
        // Nobody is a centroid: people belong to the nearest one.
        let found = scumble::attack::locate(release, &register);
        let mut people = vec![0; release.classes.len()];
        for (row, &set) in found.set_of.iter().enumerate() {
            let weight = register.people_of(row);
            found.sets[set as usize].iter().for_each(|c| people[c.group as usize] += weight);
        }
        return Ok(people);
    }
    let population = register.among(&release.quasi, None);
    Ok(release.identities().par_iter().map(|class| population.fitting(&class.region)).collect())
}

fn answer(
    plan: &Plan,
    release: &Release,
    population: Option<&[u64]>,
    show_values: bool,
    start: Instant,
) -> Result<Checked, Problems> {
    let risk = assess(release, population);
    let judgements = judge(release, &plan.requirements).map_err(Problems)?;
    let mut promises: Vec<Model> =
        plan.requirements.iter().zip(&judgements).map(|(r, j)| Model::of(release, r, j)).collect();
    if show_values {
        promises.iter_mut().zip(&judgements).for_each(|(m, j)| m.show_person(release, j));
    }
    let values = show_values || plan.what == "release";
    let freeform = (plan.requirements.iter().zip(&judgements))
        .filter(|(_, j)| !j.holds)
        .filter_map(|(r, _)| freeform::broken(release, r, values))
        .collect();
    let reasons = plan
        .requirements
        .iter()
        .zip(&judgements)
        .filter(|(_, j)| !j.holds)
        .map(|(r, j)| Reason { message: j.words(r.name), hint: None })
        .collect();
    let mut warnings = plan.warnings.clone();
    if !risk.register {
        warnings.push("no register: journalist and marketer risk take the table for the whole population".into());
    }
    Ok(Checked {
        version: VERSION,
        what: plan.what,
        rows: release.records(),
        classes: risk.sizes.values().sum(),
        groups: Groups::of(release),
        k: risk.sizes.keys().next().copied().unwrap_or(0),
        models: measured(release),
        keeps: (!promises.is_empty()).then(|| judgements.iter().all(|j| j.holds)),
        promises,
        reasons,
        freeform,
        risk: Risks::from(&risk),
        uniques: risk.uniques,
        sizes: risk.sizes,
        warnings,
        seconds: BTreeMap::from([("total", start.elapsed().as_secs_f64())]),
    })
}

/// How far each rank of recursive ℓ-diversity is reported.
const RANKS: u64 = 5;

/// Every model in its most lenient form, for what it measures.
fn measured(release: &Release) -> Vec<Model> {
    let mut asked: Vec<Requirement> = Vec::new();
    let mut ask = |name: &str, attribute: Option<usize>, given: &[(&str, String)]| {
        let given: BTreeMap<String, String> = given.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect();
        let Some(entry) = MODELS.iter().find(|e| e.name == name) else { return };
        let Ok(parameters) = Parameters::read(entry.name, entry.parameters, &given) else { return };
        let Ok(model) = (entry.build)(&parameters) else { return };
        debug_assert_eq!(model.promise().concerns == Concern::Sensitive, attribute.is_some());
        asked.push(Requirement { name: entry.name, parameters, model, attribute, on: None, register: None });
    };
    ask("k-anonymity", None, &[("k", "1".into())]);
    for (i, attribute) in published(&release.sensitive).iter().enumerate() {
        ask("distinct-l-diversity", Some(i), &[("l", "1".into())]);
        ask("entropy-l-diversity", Some(i), &[("l", "1".into())]);
        for l in 2..=RANKS {
            ask("recursive-l-diversity", Some(i), &[("c", "1".into()), ("l", l.to_string())]);
        }
        let t = &attribute.taxonomy;
        let t_close = |d: &str| [("t", "1".to_owned()), ("distance", d.to_owned())];
        ask("t-closeness", Some(i), &t_close("equal"));
        let numbers = (0..t.leaves() as u32).all(|c| Some(c) == t.missing() || Decimal::parse(t.leaf(c)).is_some());
        if *t.scale() != Scale::Nominal || numbers {
            ask("t-closeness", Some(i), &t_close("ordered"));
        }
        if t.levels() > 1 && *t.scale() == Scale::Nominal {
            ask("t-closeness", Some(i), &t_close("hierarchical"));
        }
    }
    // These models look at classes alone, so they can be judged on any release.
    let judgements = judge(release, &asked).unwrap_or_default();
    let shown = ["l", "distance"];
    asked
        .iter()
        .zip(&judgements)
        .map(|(r, j)| {
            let keep = |(k, _): &(&&str, _)| shown.contains(*k) && (**k != "l" || r.name == "recursive-l-diversity");
            let parameters = r.parameters.0.iter().filter(keep).map(|(k, v)| ((*k).to_owned(), v.to_string()));
            Model {
                name: r.name.into(),
                attribute: r.attribute.map(|i| release.sensitive[i].name.clone()),
                on: None,
                parameters: parameters.collect(),
                holds: None,
                measured: Number::from(j.measured),
                required: None,
                must_be: None,
                worst: j.worst.as_ref().map(|class| Worse::of(release, class, r)),
                witness: None,
            }
        })
        .collect()
}
