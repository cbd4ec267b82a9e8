//! Classes of a table whose distinct rows do not fit here, from counts that an engine brings: of
//! parts of it ([`Divide`]), or of the whole as it is shown at levels of generalization (`Recode`,
//! `levels/shown.rs`).
//!
//! All parts of a level that are still too large are decided by one query: for every
//! quasi-identifier how often each of its codes occurs with which sensitive values. Parts whose
//! distinct rows fit are brought as a whole and finished here. The decisions are those of the
//! algorithm itself ([`Divide`]), so the classes are the same.
//!
//! What is left at the end is a table of classes and sensitive values, in which the
//! quasi-identifiers of a row stand for nothing: it is enough to judge the release and to write it.

use crate::observer::Observer;
use crate::publish::engine::Engine;
use crate::publish::rows::Rows;
use crate::publish::source::Extract;
use crate::table::columns::ReadOptions;
use hashbrown::HashMap;
use scumble::algorithm::{Divide, Elsewhere, Goal, Stopped};
use scumble::class::{EquivalenceClass, Run};
use scumble::failure::{Failure, Failures};
use scumble::policy::Policy;
use scumble::progress::Progress;
use scumble::release::{Form, Generalized, Member, Members, Shape};
use scumble::table::{Attribute, Hidden, Table};
use std::path::Path;

mod shown;

/// So many parts are asked for at once at most: a query names all of them.
const PARTS: usize = 256;

/// A column with the code of each of its texts.
#[derive(Clone, Debug)]
pub struct Coded {
    /// Its name.
    pub name: String,
    /// Its texts with their codes.
    pub codes: Vec<(String, u32)>,
}

/// What is counted by parts.
pub struct Question<'a> {
    /// The table.
    pub table: &'a Path,
    /// How it is written.
    pub options: &'a ReadOptions,
    /// The quasi-identifiers.
    pub quasi: &'a [Coded],
    /// The sensitive attributes and guards.
    pub sensitive: &'a [Coded],
    /// Parts of the table by the runs of their quasi-identifiers; no record is in two of them.
    pub parts: &'a [&'a [Run]],
    /// Each quasi-identifier by itself, or all together.
    pub by_itself: bool,
}

/// A number of records: their part, their codes of quasi-identifiers (all, or the one that is
/// counted by itself), and of sensitive attributes.
pub struct Number<'a> {
    /// The part.
    pub part: usize,
    /// Which quasi-identifier is counted by itself.
    pub dim: Option<usize>,
    /// Codes.
    pub quasi: &'a [u32],
    /// Codes.
    pub sensitive: &'a [u32],
    /// How many.
    pub count: u64,
}

/// A part that is not yet a class.
struct Part {
    region: Vec<Run>,
    records: u64,
}

/// One run.
struct Levels<'a> {
    engine: &'a dyn Engine,
    observer: &'a dyn Observer,
    table: &'a Path,
    options: &'a ReadOptions,
    quasi: Vec<Coded>,
    sensitive: Vec<Coded>,
    attributes: &'a [Attribute],
    /// Combinations of sensitive values, with their numbers.
    tuples: Table,
    number: HashMap<Box<[u32]>, u32>,
}

/// Makes the classes, and puts the table of classes and sensitive values into the extract.
pub(crate) fn divide(
    (engine, observer): (&dyn Engine, &dyn Observer),
    policy: &Policy,
    path: &Path,
    extract: &mut Extract,
    progress: Progress<'_>,
) -> Result<Form, Stopped> {
    let options = crate::publish::source::read_options(policy);
    let Rows::Values { texts } = std::mem::replace(&mut extract.rows, Rows::Classes) else {
        let message = "only a table of which the values are here is divided";
        return Err(Failures::from(Failure::bug("internal", message)).into());
    };
    let attributes = std::mem::take(&mut extract.table.quasi);
    let mut sensitive = std::mem::take(&mut extract.table.sensitive);
    sensitive.retain(|a| !matches!(a.hidden, Some(Hidden::Joint(_))));
    let coded = |a: &Attribute| {
        let texts =
            texts.iter().find(|(name, _)| *name == a.name).map_or(&[][..], |(_, texts)| texts);
        Coded::new(a, texts.iter().map(String::as_str), &policy.missing)
    };
    let mut levels = Levels {
        engine,
        observer,
        table: path,
        options: &options,
        quasi: attributes.iter().map(coded).collect(),
        sensitive: sensitive.iter().map(coded).collect(),
        attributes: &attributes,
        tuples: table_of(Vec::new(), sensitive),
        number: HashMap::new(),
    };
    levels.count_tuples(policy.joins_sensitive())?;
    let tuples = levels.tuples.clone();
    let goal = Goal::among(
        &policy.requirements,
        &attributes,
        &tuples.sensitive,
        tuples.distributions(),
        Shape::Regions,
    );
    let mut reasons = goal.unfit();
    let way = policy.algorithm.algorithm.elsewhere();
    if goal.needs_regions() && matches!(way, Some(Elsewhere::Parts(_))) {
        reasons.push(Failure::policy(
            "not-with-engine",
            "a model looks at regions, which takes all distinct rows at once",
        ));
    }
    let whole = EquivalenceClass {
        region: Vec::new(),
        count: tuples.records(),
        histograms: tuples.distributions().iter().map(|d| d.histogram()).collect(),
    };
    if reasons.is_empty() {
        reasons = goal.impossible(&whole);
    }
    if !reasons.is_empty() {
        return Err(Stopped::Refused(reasons));
    }
    let (table, form) = match way {
        Some(Elsewhere::Parts(algorithm)) => {
            let classes = levels.classes(algorithm, &goal)?;
            let (table, form) = levels.gather(classes);
            match goal.is_monotone() {
                true => (table, form),
                false => {
                    let form = goal.confirm(&table, form)?;
                    (table, form)
                }
            }
        }
        Some(Elsewhere::Levels(algorithm)) => {
            let counts = levels.marginals()?;
            algorithm.recode(&goal, counts, &mut levels, progress)?
        }
        Some(Elsewhere::Sensitive) | None => {
            return Err(Failures::from(Failure::bug(
                "internal",
                "the algorithm cannot work on counts",
            ))
            .into());
        }
    };
    drop(goal);
    extract.table = table;
    Ok(form)
}

impl Coded {
    /// The code of every text of a column.
    pub(crate) fn new<'a>(
        a: &Attribute,
        texts: impl Iterator<Item = &'a str>,
        missing: &[String],
    ) -> Coded {
        let code = |text: &str| {
            let known = if missing.iter().any(|m| m == text) { "" } else { text };
            (text.to_owned(), a.taxonomy.find(known).unwrap_or(0))
        };
        Coded { name: a.name.clone(), codes: texts.map(code).collect() }
    }
}

/// A table without rows.
fn table_of(quasi: Vec<Attribute>, sensitive: Vec<Attribute>) -> Table {
    let (quasi_codes, sensitive_codes) =
        (vec![Vec::new(); quasi.len()], vec![Vec::new(); sensitive.len()]);
    Table { quasi, sensitive, quasi_codes, sensitive_codes, counts: Vec::new(), past: None }
}

/// Numbers of records are kept in 32 bits.
fn few(count: u64) -> Result<u32, Failures> {
    u32::try_from(count).map_err(|_| {
        Failure::data("too-many-alike", "more than four thousand million records are alike").into()
    })
}

/// A class: its region, and how many records have which combination of sensitive values.
type Class = (Box<[Run]>, Vec<(u32, u32)>);

impl Levels<'_> {
    /// Asks for counts of parts.
    fn ask(
        &self,
        parts: &[&[Run]],
        by_itself: bool,
        take: &mut dyn FnMut(Number<'_>) -> Result<(), Failures>,
    ) -> Result<(), Failures> {
        self.ask_of(&self.quasi, parts, by_itself, take)
    }

    /// The same, with other codes of the quasi-identifiers.
    fn ask_of(
        &self,
        quasi: &[Coded],
        parts: &[&[Run]],
        by_itself: bool,
        take: &mut dyn FnMut(Number<'_>) -> Result<(), Failures>,
    ) -> Result<(), Failures> {
        let (table, options, sensitive) = (self.table, self.options, &self.sensitive[..]);
        let question = Question { table, options, quasi, sensitive, parts, by_itself };
        self.engine.parts(&question, self.observer, take)
    }

    /// Counts the combinations of sensitive values in the whole table.
    fn count_tuples(&mut self, joint: bool) -> Result<(), Failures> {
        let mut found: Vec<(Box<[u32]>, u64)> = Vec::new();
        self.ask_of(&[], &[&[]], false, &mut |n| {
            found.push((n.sensitive.into(), n.count));
            Ok(())
        })?;
        found.sort_unstable();
        // Texts that mean the same have the same code.
        found.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            kept.1 += if same { next.1 } else { 0 };
            same
        });
        for (number, (codes, count)) in found.into_iter().enumerate() {
            self.tuples
                .sensitive_codes
                .iter_mut()
                .zip(&codes)
                .for_each(|(column, &code)| column.push(code));
            // A combination may be that of everybody; only the numbers of a part must fit.
            self.tuples.counts.push(few(count)?);
            self.number.insert(codes, number as u32);
        }
        if joint {
            self.tuples.join_sensitive();
        }
        Ok(())
    }

    /// A table with the sensitive attributes of all.
    fn empty(&self) -> Table {
        table_of(self.attributes.to_vec(), self.tuples.sensitive.clone())
    }

    /// Adds a row to a table: the codes of its quasi-identifiers, and a combination of sensitive
    /// values.
    fn push(
        &self,
        table: &mut Table,
        quasi: impl Iterator<Item = u32>,
        tuple: u32,
        count: u64,
    ) -> Result<(), Failures> {
        table.quasi_codes.iter_mut().zip(quasi).for_each(|(column, code)| column.push(code));
        for (column, codes) in table.sensitive_codes.iter_mut().zip(&self.tuples.sensitive_codes) {
            column.push(codes[tuple as usize]);
        }
        table.counts.push(few(count)?);
        Ok(())
    }

    fn tuple(&self, sensitive: &[u32]) -> Result<u32, Failures> {
        let known = self.number.get(sensitive).copied();
        known.ok_or_else(|| {
            Failure::data("source-changed", "the source has changed while it was read").into()
        })
    }

    fn classes(&self, algorithm: &dyn Divide, goal: &Goal<'_>) -> Result<Vec<Class>, Failures> {
        let region: Vec<Run> = self.attributes.iter().map(|a| a.taxonomy.root()).collect();
        let all = self.tuples.records();
        let mut open = vec![Part { region, records: all }];
        let (mut classes, mut done) = (Vec::new(), 0);
        let most = self.engine.most_rows(self.quasi.len() + self.sensitive.len());
        while !open.is_empty() {
            let (small, large): (Vec<Part>, Vec<Part>) =
                open.drain(..).partition(|p| p.records <= most);
            let mut rest = small.as_slice();
            while !rest.is_empty() {
                // As many as fit together.
                let mut sum = 0;
                let fits = |p: &&Part| {
                    sum += p.records;
                    sum <= most
                };
                let n = rest.iter().take(PARTS).take_while(fits).count().max(1);
                let (now, later) = rest.split_at(n);
                self.finish(now, algorithm, goal, &mut classes)?;
                done += now.iter().map(|p| p.records).sum::<u64>();
                self.observer.at(done, all);
                rest = later;
            }
            for parts in large.chunks(PARTS) {
                open.extend(self.cut(parts, algorithm, goal, &mut classes)?);
            }
        }
        Ok(classes)
    }

    /// Brings parts as a whole, and finishes them.
    fn finish(
        &self,
        parts: &[Part],
        algorithm: &dyn Divide,
        goal: &Goal<'_>,
        classes: &mut Vec<Class>,
    ) -> Result<(), Failures> {
        let regions: Vec<&[Run]> = parts.iter().map(|p| p.region.as_slice()).collect();
        let mut tables: Vec<Table> = parts.iter().map(|_| self.empty()).collect();
        let mut tuples: Vec<Vec<u32>> = vec![Vec::new(); parts.len()];
        self.ask(&regions, false, &mut |n| {
            let tuple = self.tuple(n.sensitive)?;
            tuples[n.part].push(tuple);
            self.push(&mut tables[n.part], n.quasi.iter().copied(), tuple, n.count)
        })?;
        for ((part, table), tuples) in parts.iter().zip(&tables).zip(&tuples) {
            for class in algorithm.finish(goal, table, &part.region) {
                let mut rows: Vec<(u32, u32)> =
                    class.members.iter().map(|m| (tuples[m.row as usize], m.count)).collect();
                rows.sort_unstable();
                classes.push((class.region, rows));
            }
        }
        Ok(())
    }

    /// Cuts parts by counts of them; what is too small to be cut is a class.
    fn cut(
        &self,
        parts: &[Part],
        algorithm: &dyn Divide,
        goal: &Goal<'_>,
        classes: &mut Vec<Class>,
    ) -> Result<Vec<Part>, Failures> {
        let regions: Vec<&[Run]> = parts.iter().map(|p| p.region.as_slice()).collect();
        let dims = self.quasi.len();
        let mut counts: Vec<Vec<Table>> =
            parts.iter().map(|_| (0..dims).map(|_| self.empty()).collect()).collect();
        let mut tuples: Vec<Vec<(u32, u32)>> = vec![Vec::new(); parts.len()];
        self.ask(&regions, true, &mut |n| {
            let (Some(dim), tuple) = (n.dim, self.tuple(n.sensitive)?) else { return Ok(()) };
            if dim == 0 {
                tuples[n.part].push((tuple, few(n.count)?));
            }
            let codes = (0..dims).map(|d| if d == dim { n.quasi[0] } else { 0 });
            self.push(&mut counts[n.part][dim], codes, tuple, n.count)
        })?;
        let mut open = Vec::new();
        for ((part, counts), mut tuples) in parts.iter().zip(&counts).zip(tuples) {
            let Some((dim, runs)) = algorithm.cut(goal, counts, &part.region) else {
                tuples.sort_unstable();
                classes.push((algorithm.shows(counts, &part.region), tuples));
                continue;
            };
            let table = &counts[dim];
            for run in runs {
                let of = table.quasi_codes[dim]
                    .iter()
                    .zip(&table.counts)
                    .filter(|(code, _)| run.contains(**code));
                let mut region = part.region.clone();
                region[dim] = run;
                open.push(Part { region, records: of.map(|(_, &n)| u64::from(n)).sum() });
            }
        }
        Ok(open)
    }

    /// The table of classes and sensitive values, and the form that it is.
    fn gather(&self, classes: Vec<Class>) -> (Table, Form) {
        let mut table = self.empty();
        let mut all = Vec::new();
        for (region, mut rows) in classes {
            rows.sort_unstable();
            rows.dedup_by(|next, kept| {
                let same = next.0 == kept.0;
                kept.1 += if same { next.1 } else { 0 };
                same
            });
            let mut members = Vec::new();
            for (tuple, count) in rows {
                members.push(Member { row: table.counts.len() as u32, count });
                let codes = region.iter().map(|run| run.first);
                table
                    .quasi_codes
                    .iter_mut()
                    .zip(codes)
                    .for_each(|(column, code)| column.push(code));
                for (column, codes) in
                    table.sensitive_codes.iter_mut().zip(&self.tuples.sensitive_codes)
                {
                    column.push(codes[tuple as usize]);
                }
                table.counts.push(count);
            }
            all.push(Members { region, members });
        }
        // In the order of their regions, whatever the order of the answers was.
        let form = Generalized::new(all, Vec::new());
        (table, Form::Generalized(form))
    }
}
