//! The one reader of releases: from the files of a folder to a [`Release`], as every recipient
//! reads it.
//!
//! `publish` reads back what it wrote with it; `check`, `verify`, `attack`, `query` and `ledger
//! add` read with it. A raw table is read by the same code, with a policy or the names of its
//! columns in place of the manifest.

use super::anatomized::{Tables, Told};
use super::folder;
use super::manifest::{self, ColumnNote, Manifest};
use super::recipient::{self, Named, Wanted, nothing_else};
use crate::answer::{Checking, Reason};
use crate::observer::Phase;
use crate::policy_file::PolicyFile;
use crate::publish::engine::{Asked, Engine, What};
use crate::publish::source::{load_registers, read_options, read_taxonomy, taxonomy_files};
use crate::publisher::Publisher;
use crate::table::columns::{self, Column, Columns, ReadOptions};
use crate::table::origin;
use hashbrown::HashMap;
use rayon::prelude::*;
use scumble::algorithm::Requirement;
use scumble::catalogue::{Kind, MODELS, Parameter, Parameters};
use scumble::class::{EquivalenceClass, Histogram, Run};
use scumble::encode::{encode, encode_guard};
use scumble::failure::{Failure, Failures};
use scumble::freeform::attach;
use scumble::model::Concern;
use scumble::policy::{AttributePolicy, Policy, Source};
use scumble::release::{Release, Shape};
use scumble::table::{Attribute, Role, join, number_tuples, published};
use scumble::taxonomy::{Rule, Taxonomy};
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// A column of texts with the run that each text stands for.
pub struct Labelled<'a> {
    codes: &'a [u32],
    runs: Vec<Run>,
}

impl<'a> Labelled<'a> {
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
pub fn classes_of(
    read: &Columns,
    quasi: &[Labelled<'_>],
    sensitive: &[Labelled<'_>],
) -> Vec<EquivalenceClass> {
    let (rows, weights) = (read.rows, read.weights.as_deref());
    let numbered: Vec<(Cow<'_, [u32]>, Vec<Run>)> =
        quasi.par_iter().map(Labelled::numbered).collect();
    let codes: Vec<&[u32]> = numbered.iter().map(|(codes, _)| &**codes).collect();
    let runs: Vec<&[Run]> = numbered.iter().map(|(_, runs)| runs.as_slice()).collect();
    let sizes: Vec<u64> = runs.iter().map(|r| r.len() as u64).collect();
    let (class_of, firsts) =
        if codes.is_empty() { (vec![0; rows], vec![0]) } else { number_tuples(&codes, &sizes) };
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
fn count_values(
    class_of: &[u32],
    classes: usize,
    s: &Labelled<'_>,
    weights: Option<&[u64]>,
) -> Vec<Vec<(u32, u64)>> {
    let (pair_of, firsts) =
        number_tuples(&[class_of, s.codes], &[classes as u64, s.runs.len() as u64]);
    let mut counts = vec![0u64; firsts.len()];
    pair_of
        .iter()
        .enumerate()
        .for_each(|(row, &p)| counts[p as usize] += weights.map_or(1, |w| w[row]));
    let mut per_class = vec![Vec::new(); classes];
    for (&first, n) in firsts.iter().zip(counts) {
        let leaf = s.runs[s.codes[first as usize] as usize].first;
        per_class[class_of[first as usize] as usize].push((leaf, n));
    }
    per_class
}

/// Where the data are and what the columns mean.
pub(crate) struct Plan {
    pub what: Checking,
    pub source: Source,
    pub read: ReadOptions,
    pub quasi: Vec<Wanted>,
    pub sensitive: Vec<Wanted>,
    /// Columns that say what people want guarded; only a table that was not published has them.
    pub guards: Vec<String>,
    /// Columns that are read to be looked at, and are no part of any class.
    pub beside: Vec<String>,
    pub missing: Vec<String>,
    pub requirements: Vec<Requirement>,
    /// Hash of the data file when it was published, if the manifest tells.
    pub sha256: Option<String>,
    /// The columns that the data file must have, if the manifest tells.
    pub columns: Option<Vec<String>>,
    /// The sensitive columns in the order of the manifest, which is that of their file.
    pub told: Vec<String>,
    /// The tables of the sensitive values and of counterfeits, and their folder, if the release is
    /// anatomized.
    pub anatomized: Option<(PathBuf, manifest::Anatomized)>,
    /// What the quasi-identifiers tell.
    pub shape: Shape,
    pub warnings: Vec<String>,
}

/// The files of a table or release: an anatomized one says in a second file what is sensitive, and
/// in a third which of that stands for nobody.
pub(crate) struct Files {
    pub records: Columns,
    pub told: Option<Columns>,
    pub counterfeits: Option<Columns>,
}

/// Reads what is to be understood.
pub(crate) fn read_tables(plan: &Plan, publisher: &Publisher<'_>) -> Result<Files, Failures> {
    must_have_columns(plan, publisher.engine)?;
    let names = |wanted: &[Wanted]| wanted.iter().map(|w| w.name.clone()).collect::<Vec<String>>();
    let (quasi, sensitive) = (names(&plan.quasi), names(&plan.sensitive));
    let Some((folder, a)) = &plan.anatomized else {
        let wanted = [quasi, sensitive, plan.guards.clone(), plan.beside.clone()].concat();
        return Ok(Files {
            records: read_records(plan, wanted, publisher)?,
            told: None,
            counterfeits: None,
        });
    };
    // Of a file with a line for every group there is nothing to be counted.
    let read_small = |name: &str, names: Vec<String>| {
        columns::read(&folder::file(folder, name)?, &plan.read, Some(&names), &|done, total| {
            publisher.observer.at(done, total)
        })
    };
    let by_group = vec![a.group.clone(), a.count.clone()];
    let third = a.counterfeits.as_ref().map(|c| read_small(&c.file, by_group.clone()));
    let records = [quasi, vec![a.group.clone()], plan.beside.clone()].concat();
    Ok(Files {
        told: Some(read_small(&a.file, [by_group, sensitive].concat())?),
        records: read_records(plan, records, publisher)?,
        counterfeits: third.transpose()?,
    })
}

/// Reads or counts columns of the records.
fn read_records(
    plan: &Plan,
    names: Vec<String>,
    publisher: &Publisher<'_>,
) -> Result<Columns, Failures> {
    let Some(engine) = publisher.engine else {
        return publisher.read(&plan.source, &plan.read, Some(&names));
    };
    let file = origin::file(&plan.source)?;
    let asked = Asked { table: file.to_path_buf(), options: plan.read.clone(), wanted: names };
    let counted = engine.count(&asked, What::Table, publisher.observer)?;
    Ok(Columns {
        sha256: plan
            .read
            .hash
            .then(|| columns::sha256(file, &|| !publisher.observer.cancelled()))
            .transpose()?,
        ..counted
    })
}

/// Refuses a data file with other columns than the manifest lists: nobody would look at them.
fn must_have_columns(plan: &Plan, engine: Option<&dyn Engine>) -> Result<(), Failures> {
    let Some(expected) = &plan.columns else { return Ok(()) };
    let file = origin::file(&plan.source)?;
    let found = match engine {
        Some(engine) => engine.header(file, &plan.read)?,
        None => columns::header(file, &plan.read)?,
    };
    same_columns(&found, expected)?;
    let Some((folder, a)) = &plan.anatomized else { return Ok(()) };
    let found = columns::header(&folder::file(folder, &a.file)?, &plan.read)?;
    let mut expected = vec![a.group.clone()];
    expected.extend(plan.told.iter().cloned());
    expected.push(a.count.clone());
    same_columns(&found, &expected)?;
    if let Some(c) = &a.counterfeits {
        let found = columns::header(&folder::file(folder, &c.file)?, &plan.read)?;
        same_columns(&found, &[a.group.clone(), a.count.clone()])?;
    }
    Ok(())
}

/// Refuses a data file with other columns than it should have.
fn same_columns(found: &[String], expected: &[String]) -> Result<(), Failures> {
    if found == expected {
        return Ok(());
    }
    let strange: Vec<&str> =
        found.iter().filter(|n| !expected.contains(n)).map(String::as_str).collect();
    let message = match strange[..] {
        [] => "the data file lacks columns that the manifest lists, or has them in another order"
            .into(),
        _ => format!(
            "the data file has columns that the manifest does not list: `{}`",
            strange.join("`, `")
        ),
    };
    Err(Failure::data("broken-release", message)
        .hint("take the release from where it was published")
        .into())
}

/// Whether a file is not the one that the manifest speaks of.
pub(crate) fn is_altered(plan: &Plan, files: &Files) -> bool {
    let a = plan.anatomized.as_ref().map(|(_, a)| a);
    let differs = |file: &Option<Columns>, hash: Option<&String>| {
        file.as_ref().is_some_and(|f| f.sha256.as_ref() != hash)
    };
    (plan.sha256.is_some() && plan.sha256 != files.records.sha256)
        || differs(&files.told, a.map(|a| &a.sha256))
        || differs(&files.counterfeits, a.and_then(|a| a.counterfeits.as_ref()).map(|c| &c.sha256))
}

/// The promise that is broken whatever the classes are: a manifest speaks of one file only.
pub(crate) fn changed() -> Reason {
    let failure = Failure::data(
        "changed-since-published",
        "the data file is not the one that was published: its hash differs from the manifest's",
    );
    Reason::from(&failure.hint("take the release from where it was published, or publish again"))
}

/// The plan for a table that was not published, whose columns a policy explains.
pub(crate) fn from_policy(
    mut policy: Policy,
    base: &Path,
    source: Source,
    publisher: &Publisher<'_>,
) -> Result<Plan, Failures> {
    load_registers(&mut policy.requirements, base, &policy.missing, publisher)?;
    Ok(Plan {
        what: Checking::Table,
        source,
        read: read_options(&policy),
        quasi: wanted(base, policy.quasi().collect())?,
        sensitive: wanted(base, policy.sensitive().collect())?,
        guards: policy.guards().map(|a| a.name.clone()).collect(),
        beside: Vec::new(),
        missing: policy.missing.clone(),
        requirements: policy.requirements,
        sha256: None,
        columns: None,
        told: Vec::new(),
        anatomized: None,
        shape: Shape::Regions,
        warnings: Vec::new(),
    })
}

/// Attributes of a policy with their taxonomies.
fn wanted(base: &Path, attributes: Vec<&AttributePolicy>) -> Result<Vec<Wanted>, Failures> {
    let (files, problems) = taxonomy_files(base, &attributes);
    problems.or(())?;
    let each = attributes.into_iter().zip(files);
    let wanted = |(a, rows): (&AttributePolicy, _)| Wanted {
        rule: a.taxonomy.clone(),
        rows,
        freeform: a.freeform.clone(),
        ..Wanted::named(&a.name)
    };
    Ok(each.map(wanted).collect())
}

impl Plan {
    /// Puts the columns in the order of these attributes.
    pub(crate) fn order(&mut self, quasi: &[Attribute], sensitive: &[Attribute]) {
        let place = |list: &[Attribute], w: &Wanted| {
            list.iter().position(|a| a.name == w.name).unwrap_or(usize::MAX)
        };
        self.quasi.sort_by_key(|w| place(quasi, w));
        self.sensitive.sort_by_key(|w| place(sensitive, w));
    }

    /// Takes what must hold from a policy in place of the manifest. What the columns mean stays
    /// with the manifest, which says how they are written; only which values are sensitive and
    /// observable is the policy's to say.
    pub(crate) fn promised_by(
        mut self,
        mut policy: Policy,
        base: &Path,
        publisher: &Publisher<'_>,
    ) -> Result<Plan, Failures> {
        self.warnings.clear();
        let needs_guards = |_: &Requirement, p: &Parameter| matches!(p.kind, Kind::Guard);
        let what = "the guards, which are not published";
        leave_out(&mut policy.requirements, &mut self.warnings, what, needs_guards);
        load_registers(&mut policy.requirements, base, &policy.missing, publisher)?;
        let quasi: Vec<String> = policy.quasi().map(|a| a.name.clone()).collect();
        let sensitive: Vec<String> = policy.sensitive().map(|a| a.name.clone()).collect();
        let unknown =
            |name: &str| -> Failures {
                Failure::usage("other-policy", format!(
                "a model of the policy is about `{name}`, which the release does not show so"
            ))
            .hint("was the release made with this policy?")
            .into()
            };
        let place = |list: &[Wanted], name: &str| {
            list.iter().position(|w| w.name == name).ok_or_else(|| unknown(name))
        };
        for r in &mut policy.requirements {
            r.attribute = match r.model.promise().concerns {
                Concern::Identity => None,
                Concern::Joint => Some(self.sensitive.len()),
                Concern::Sensitive => {
                    let named = r.attribute.and_then(|i| sensitive.get(i));
                    named.map(|name| place(&self.sensitive, name)).transpose()?
                }
            };
            if let Some(on) = &mut r.on {
                for i in on {
                    *i = place(&self.quasi, &quasi[*i])?;
                }
            }
        }
        for of_policy in wanted(base, policy.quasi().filter(|a| a.freeform.is_some()).collect())? {
            if let Some(w) = self.quasi.iter_mut().find(|w| w.name == of_policy.name) {
                *w = Wanted { exceptions: std::mem::take(&mut w.exceptions), ..of_policy };
            }
        }
        let files = policy.quasi().filter(|a| manifest::placed_by_register(&policy, &a.name));
        for of_policy in wanted(base, files.collect())? {
            // Who has the policy has the whole file, of which the release has only a part.
            let same = |w: &&mut Wanted| {
                w.name == of_policy.name && matches!(w.rule, Some(Rule::File { .. }))
            };
            if let Some(w) = self.quasi.iter_mut().find(same) {
                w.whole = of_policy.rows;
            }
        }
        self.requirements = policy.requirements;
        Ok(self)
    }
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
            warnings.push(format!(
                "`{}` is promised but cannot be checked here: it needs {what}",
                r.name
            ));
        }
        kept
    });
}

/// The plan for a release.
pub(crate) fn from_manifest(m: &Manifest, folder: &Path) -> Result<Plan, Failures> {
    if let Some(c) = m.columns.iter().find(|c| !c.is_published()) {
        let message = format!(
            "the manifest lists `{}` as {}, and no release has such",
            c.name,
            c.role.name()
        );
        return Err(Failure::data("broken-release", message)
            .hint("the manifest was edited; take the release from where it was published")
            .into());
    }
    let (quasi, sensitive) = (
        described(m, folder, &ColumnNote::is_generalized)?,
        described(m, folder, &|c| c.role == Role::Sensitive)?,
    );
    let place = |list: &[Wanted], name: &str| list.iter().position(|w| w.name == name);
    let mut requirements = Vec::new();
    for model in &m.models {
        let entry = MODELS.iter().find(|e| e.name == model.name).ok_or_else(|| {
            Failure::data(
                "unknown-version",
                format!("the manifest promises `{}`, which this scumble does not know", model.name),
            )
        })?;
        let parameters =
            Parameters::read(entry.name, entry.parameters, &model.parameters).map_err(Failures)?;
        let built = (entry.build)(&parameters)?;
        let strangers = model.on.iter().flatten().find(|n| place(&quasi, n).is_none());
        let attribute = match built.promise().concerns {
            Concern::Joint => Some(sensitive.len()),
            _ => model.attribute.as_ref().and_then(|a| place(&sensitive, a)),
        };
        if strangers.is_some()
            || attribute.is_some() != (built.promise().concerns != Concern::Identity)
        {
            return Err(Failure::data(
                "broken-release",
                format!("the manifest promises `{}` of columns that it does not list", entry.name),
            )
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
    leave_out(
        &mut requirements,
        &mut warnings,
        "what only the publisher has, and a policy would tell",
        needs,
    );
    let told = sensitive.iter().map(|w| w.name.clone()).collect();
    Ok(Plan {
        what: Checking::Release,
        source: Source::File(folder::file(folder, &m.data.file)?),
        read: manifest::read_options(m),
        quasi,
        sensitive,
        guards: Vec::new(),
        beside: Vec::new(),
        missing: vec![String::new()],
        requirements,
        sha256: Some(m.data.sha256.clone()),
        columns: Some(m.records_columns()),
        told,
        anatomized: m.anatomized.clone().map(|a| (folder.to_path_buf(), a)),
        shape: m.shape(),
        warnings,
    })
}

/// Columns of a release with what its folder says of their values.
fn described(
    m: &Manifest,
    folder: &Path,
    which: &dyn Fn(&ColumnNote) -> bool,
) -> Result<Vec<Wanted>, Failures> {
    let mut wanted = Vec::new();
    for c in m.columns.iter().filter(|c| which(c)) {
        let w = c.wanted().ok_or_else(|| {
            Failure::data(
                "broken-release",
                format!(
                    "what the manifest says of the values of `{}` cannot be understood",
                    c.name
                ),
            )
            .hint("the manifest was edited; take the release from where it was published")
        })?;
        let rows = match &w.rule {
            Some(Rule::File { path, .. }) => {
                Some(read_taxonomy(&folder::file(folder, path)?, path)?)
            }
            _ => None,
        };
        wanted.push(Wanted { rows, ..w });
    }
    Ok(wanted)
}

pub(crate) fn column<'a>(read: &'a columns::Columns, name: &str) -> Result<&'a Column, Failures> {
    let found = read.columns.iter().find(|c| c.name == name);
    found.ok_or_else(|| Failure::bug("internal", format!("column `{name}` was not read")).into())
}

/// What of a table must be understood.
pub(crate) struct Meaning<'a> {
    /// Whether the meaning of values is needed, or only whether they are equal. A release is always
    /// understood.
    pub matters: bool,
    /// Whether sensitive attributes are to be counted together.
    pub together: bool,
    /// Values of a column that must have a meaning beside those of the table.
    pub named: Named<'a>,
}

/// Refuses what is not the folder of a release.
pub(crate) fn must_be_release(folder: &Path) -> Result<(), Failures> {
    if folder.join(manifest::FILE).exists() {
        return Ok(());
    }
    Err(Failure::data(
        "not-a-release",
        format!("`{}` is not the folder of a release", folder.display()),
    )
    .hint("it should hold `manifest.json` and the data")
    .into())
}

/// Reads a published release so that its values, and those that are named, mean something. Returns
/// what the reader should know beside it.
pub(crate) fn open(
    folder: &Path,
    named: Named<'_>,
    publisher: &Publisher<'_>,
) -> Result<(Release, Vec<String>), Failures> {
    must_be_release(folder)?;
    open_plan(&from_manifest(&manifest::read(folder)?, folder)?, named, publisher)
}

/// What an engine will count of a release.
pub(crate) fn asked(folder: &Path) -> Result<Asked, Failures> {
    must_be_release(folder)?;
    let m = manifest::read(folder)?;
    let told = |c: &&ColumnNote| {
        c.is_generalized() || (c.role == Role::Sensitive && m.anatomized.is_none())
    };
    let columns = m.columns.iter().filter(told).map(|c| c.name.clone());
    let wanted = columns.chain(m.anatomized.as_ref().map(|a| a.group.clone())).collect();
    Ok(Asked {
        table: folder::file(folder, &m.data.file)?,
        options: manifest::read_options(&m),
        wanted,
    })
}

/// The same for a table without a manifest, whose columns a policy explains.
pub(crate) fn open_table(
    file: &Path,
    policy: &PolicyFile,
    named: Named<'_>,
    publisher: &Publisher<'_>,
) -> Result<(Release, Vec<String>), Failures> {
    let mut plan = from_policy(policy.policy()?, &policy.base, Source::from(file), publisher)?;
    // What was promised is not asked here, and guards are not published.
    plan.requirements.clear();
    plan.guards.clear();
    open_plan(&plan, named, publisher)
}

fn open_plan(
    plan: &Plan,
    named: Named<'_>,
    publisher: &Publisher<'_>,
) -> Result<(Release, Vec<String>), Failures> {
    publisher.observer.phase(Phase::Read);
    let files = read_tables(plan, publisher)?;
    publisher.observer.go_on()?;
    let release = understand(
        plan,
        &plan.requirements,
        &files,
        &Meaning { matters: true, together: true, named },
    )?;
    publisher.observer.go_on()?;
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
    policy: Option<&PolicyFile>,
    publisher: &Publisher<'_>,
) -> Result<Understood, Failures> {
    must_be_release(folder)?;
    let mut plan = from_manifest(&manifest::read(folder)?, folder)?;
    if let Some(file) = policy {
        plan = plan.promised_by(file.policy()?, &file.base, publisher)?;
    }
    publisher.observer.phase(Phase::Read);
    let files = read_tables(&plan, publisher)?;
    publisher.observer.go_on()?;
    let release = understand(
        &plan,
        &plan.requirements,
        &files,
        &Meaning { matters: true, together: false, named: &nothing_else },
    )?;
    let altered = is_altered(&plan, &files).then(|| changed().message);
    let warnings = plan.warnings.into_iter().chain(altered).collect();
    Ok(Understood { release, requirements: plan.requirements, warnings })
}

/// The taxonomy of a quasi-identifier, and the run of each of its texts. Texts that mean a missing
/// value are one.
fn understand_column(
    w: &Wanted,
    c: &Column,
    plan: &Plan,
    requirements: &[Requirement],
    named: Named<'_>,
) -> Result<(Taxonomy, Vec<Run>), Failures> {
    let is_missing = |text: &str| plan.missing.iter().any(|m| m == text);
    let texts: Vec<&str> =
        c.values.iter().map(|text| if is_missing(text) { "" } else { text }).collect();
    let mut labels = texts.clone();
    labels.sort_unstable();
    labels.dedup();
    let (taxonomy, runs) = recipient::understand(w, &labels, requirements, named)?;
    let run_of: HashMap<&str, Run> = labels.into_iter().zip(runs).collect();
    Ok((taxonomy, texts.iter().map(|text| run_of[text]).collect()))
}

/// The release that the files are. Where only equality of values matters, a table's texts are not
/// looked into.
pub(crate) fn understand(
    plan: &Plan,
    requirements: &[Requirement],
    files: &Files,
    meaning: &Meaning<'_>,
) -> Result<Release, Failures> {
    let (read, told) = (&files.records, files.told.as_ref());
    let (mut quasi, mut sensitive) = (Vec::new(), Vec::new());
    let (mut quasi_labels, mut sensitive_labels) = (Vec::new(), Vec::new());
    let looked_into = plan.what == Checking::Release || meaning.matters;
    let understood = looked_into || requirements.iter().any(|r| r.model.promise().region);
    for w in &plan.quasi {
        let c = column(read, &w.name)?;
        if !understood {
            let texts: Vec<String> = c.values.iter().map(str::to_owned).collect();
            let runs = (0..texts.len() as u32).map(|code| Run::new(code, code)).collect();
            quasi_labels.push(Labelled { codes: &c.codes, runs });
            // A table without rows has no texts, and a taxonomy no less than one leaf.
            let texts = if texts.is_empty() { vec![String::new()] } else { texts };
            quasi.push(Attribute::new(&w.name, Taxonomy::unpublished(texts)));
            continue;
        }
        let (taxonomy, runs) = understand_column(w, c, plan, requirements, meaning.named)?;
        quasi_labels.push(Labelled { codes: &c.codes, runs });
        quasi.push(attach(Attribute::new(&w.name, taxonomy), w.freeform.as_ref())?);
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
        let (guard, codes) =
            encode_guard(name, &c.values.iter().collect::<Vec<_>>(), &plan.missing);
        sensitive_labels.push(Labelled {
            codes: &c.codes,
            runs: codes.iter().map(|&c| Run::new(c, c)).collect(),
        });
        sensitive.push(guard);
    }
    let asked = meaning.together && plan.sensitive.len() > 1;
    let joint = asked || requirements.iter().any(|r| r.model.promise().concerns == Concern::Joint);
    let joined = joint.then(|| {
        let published = published(&sensitive);
        let leaves = |l: &Labelled<'_>| {
            l.codes.iter().map(|&c| l.runs[c as usize].first).collect::<Vec<u32>>()
        };
        let columns: Vec<Vec<u32>> =
            sensitive_labels[..published.len()].iter().map(leaves).collect();
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
    Ok(Release {
        quasi,
        sensitive,
        classes,
        suppressed: 0,
        shape,
        records_by_group,
        counterfeits,
        counted: None,
    })
}
