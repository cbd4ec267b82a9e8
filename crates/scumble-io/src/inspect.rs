//! What a data steward should know of an extract before writing a policy: the columns, what each may be to an
//! adversary, and the smallest sets of columns that single people out.
//!
//! Nothing here decides. A role is suggested with its reason, from the column's name and from the shape of its values,
//! and where neither says anything the suggestion is the safe one: a column that takes part in singling somebody out is
//! a quasi-identifier until the steward says otherwise. [`draft`] turns the suggestions into a policy that can be
//! published unchanged.
//!
//! An inspection is meant to be shown around, so it holds no value of the data unless [`InspectOptions::show_values`]
//! asks for them, and the draft never does. The only texts of cells in it are those that mean "missing", and they come
//! from the options or from a list in the source code.

mod draft;
mod profile;
mod role;
mod singling;

use crate::answer::VERSION;
use crate::columns::{Column, Dialect, ReadOptions};
use crate::origin;
use profile::Profile;
use rayon::prelude::*;
use role::{Basis, Suggestion};
use scumble::policy::Source;
use scumble::problem::Problems;
use scumble::table::{Role, number_tuples};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::time::Instant;

pub use draft::draft;

/// How to inspect.
#[derive(Clone, Debug)]
pub struct InspectOptions {
    /// How to read the file.
    pub read: ReadOptions,
    /// The largest sets of columns that are searched.
    pub max_columns: usize,
    /// Whether the answer may hold values of the data.
    pub show_values: bool,
    /// Cell texts that mean that a value is missing. Common others are detected.
    pub missing: Vec<String>,
}

impl Default for InspectOptions {
    fn default() -> InspectOptions {
        InspectOptions {
            read: ReadOptions::default(),
            max_columns: 3,
            show_values: false,
            missing: vec![String::new()],
        }
    }
}

/// Answer of `inspect`.
#[derive(Clone, Debug, Serialize)]
pub struct Inspection {
    /// Version of the JSON answers.
    pub version: u32,
    /// Records.
    pub rows: u64,
    /// Size of the source.
    pub bytes: u64,
    /// How the text is written, if the source is CSV.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dialect: Option<Written>,
    /// Cell texts taken for "missing": those of the options, and common ones that occur.
    pub missing: Vec<String>,
    /// The columns in the order of the source.
    pub columns: Vec<ColumnProfile>,
    /// The largest sets that were searched.
    pub max_columns: usize,
    /// How many minimal sets were found; [`Inspection::singling_out`] lists the first of them.
    pub minimal_sets: u64,
    /// The minimal sets of columns that single somebody out: no proper subset of any does. Fewest columns first, then
    /// most people.
    pub singling_out: Vec<SinglingOut>,
    /// All suggested quasi-identifiers together. Not minimal: this is what an adversary who knows all of them can do.
    pub together: SinglingOut,
    /// What the steward should think about.
    pub warnings: Vec<String>,
    /// Seconds per phase: `read`, `profile`, `search`, `total`.
    pub seconds: BTreeMap<&'static str, f64>,
    /// How the steward told us to read, for the draft.
    #[serde(skip)]
    pub read: ReadOptions,
}

/// How a CSV file is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Written {
    /// What separates cells.
    pub delimiter: String,
    /// What encloses cells; `None` if quotes mean nothing.
    pub quote: Option<String>,
}

/// A column, and what it may be to an adversary.
#[derive(Clone, Debug, Serialize)]
pub struct ColumnProfile {
    /// Its name.
    pub name: String,
    /// `number`, `date`, `code`, `text`, `flag` (two values), `constant` or `empty`.
    pub kind: &'static str,
    /// Distinct values, without the missing one.
    pub distinct: u64,
    /// Rows without a value.
    pub missing: u64,
    /// Values that occur in one row only.
    pub unique_values: u64,
    /// Share of the rows that have the commonest value, or none if that is commoner.
    pub commonest_share: f64,
    /// Effective number of values: exp of the entropy, so n equally frequent values count n. Missing is a value here.
    pub effective_values: f64,
    /// The suggested role.
    #[serde(serialize_with = "role_name")]
    pub role: Role,
    /// Whether its values all differ and it is the best column to tell persons apart.
    pub person: bool,
    /// Why this role, in one sentence.
    pub reason: String,
    /// A rule that covers all values, as a policy writes it: for its role, or for the case that it becomes a
    /// quasi-identifier.
    pub taxonomy: String,
    /// Values of the data, only if they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<Values>,
}

/// Some values of a column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Values {
    /// The commonest values.
    pub commonest: Vec<String>,
    /// The least: by number or date if all values are, otherwise by text.
    pub least: Option<String>,
    /// The greatest.
    pub greatest: Option<String>,
}

/// Columns that tell some rows from all others.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SinglingOut {
    /// Their names in the order of the source.
    pub columns: Vec<String>,
    /// Rows that nobody shares these columns' values with.
    pub people: u64,
    /// Their share of all rows.
    pub share: f64,
}

/// Told which phase is going on, how much of it is done and how much there is (0 if unknown).
pub type Progress<'a> = &'a (dyn Fn(&'static str, u64, u64) + Sync);

/// How many minimal sets an answer lists.
const LISTED: usize = 1000;

fn role_name<S: Serializer>(role: &Role, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(role.name())
}

/// Inspects a table.
pub fn inspect(source: &Source, options: &InspectOptions, progress: Progress<'_>) -> Result<Inspection, Problems> {
    let start = Instant::now();
    let read = origin::read(source, &options.read, None, &|done, total| progress("reading", done, total))?;
    let after_reading = start.elapsed().as_secs_f64();
    let (rows, bytes, dialect) = (read.rows as u64, read.bytes, read.dialect.map(Written::of));
    let (missing, mut warnings) = profile::missing_texts(&read.columns, &options.missing);
    progress("profiling", 0, 0);
    let names: Vec<String> = read.columns.iter().map(|c| c.name.clone()).collect();
    let hints = role::hints(&names);
    let mut profiles: Vec<Profile> = read
        .columns
        .into_par_iter()
        .zip(hints)
        .map(|(column, hint)| Profile::of(column, &missing, hint, options.show_values))
        .collect();
    let mut suggestions: Vec<Suggestion> = profiles.iter().map(|p| role::suggest(p, rows)).collect();
    let after_profiling = start.elapsed().as_secs_f64();
    let found = search(&profiles, &suggestions, options.max_columns, progress, &mut warnings);
    role::settle(&mut suggestions, &profiles, &found, options.max_columns);
    let with = |role: Role| (0..names.len()).filter(|&i| suggestions[i].role == role).collect::<Vec<_>>();
    let (quasi, plain) = (with(Role::QuasiIdentifier), with(Role::Insensitive));
    let together = named(&names, &quasi, alone(&mut profiles, &quasi), rows);
    let unchanged = alone(&mut profiles, &plain);
    let singling_out = found.iter().take(LISTED).map(|(set, people)| named(&names, set, *people, rows)).collect();
    if found.len() > LISTED {
        warnings.push(format!("{} minimal sets single people out; the first {LISTED} are listed", found.len()));
    }
    let person = role::person(&suggestions, &profiles, rows);
    warnings.extend(role::concerns(&suggestions, &profiles, person, rows, unchanged));
    let profile = |(i, (p, s)): (usize, (Profile, Suggestion))| p.answer(s, person == Some(i));
    let columns = profiles.into_iter().zip(suggestions).enumerate().map(profile).collect();
    let total = start.elapsed().as_secs_f64();
    let seconds = BTreeMap::from([
        ("read", after_reading),
        ("profile", after_profiling - after_reading),
        ("search", total - after_profiling),
        ("total", total),
    ]);
    Ok(Inspection {
        version: VERSION,
        rows,
        bytes,
        dialect,
        missing,
        columns,
        max_columns: options.max_columns,
        minimal_sets: found.len() as u64,
        singling_out,
        together,
        warnings,
        seconds,
        read: options.read.clone(),
    })
}

impl Written {
    fn of(dialect: Dialect) -> Written {
        let text = |byte: u8| char::from(byte).to_string();
        Written { delimiter: text(dialect.delimiter), quote: (dialect.quote != 0).then(|| text(dialect.quote)) }
    }
}

fn named(names: &[String], set: &[usize], people: u64, rows: u64) -> SinglingOut {
    let share = if rows == 0 { 0.0 } else { people as f64 / rows as f64 };
    SinglingOut { columns: set.iter().map(|&i| names[i].clone()).collect(), people, share }
}

/// The minimal sets with the rows they single out, by column number, in the order of the answer.
fn search(
    profiles: &[Profile],
    suggestions: &[Suggestion],
    max_columns: usize,
    progress: Progress<'_>,
    warnings: &mut Vec<String>,
) -> Vec<(Vec<usize>, u64)> {
    let searched = |i: &usize| suggestions[*i].role != Role::Identifier && profiles[*i].varies();
    let mut order: Vec<usize> = (0..profiles.len()).filter(searched).collect();
    // If there is too much to do, what others know is searched first, and of that what tells most.
    let rank = |i: usize| match (suggestions[i].role, &suggestions[i].basis) {
        (Role::QuasiIdentifier, _) => 0,
        (_, Basis::Unknown) => 1,
        _ => 2,
    };
    order.sort_by(|&a, &b| rank(a).cmp(&rank(b)).then(profiles[b].effective.total_cmp(&profiles[a].effective)));
    let lanes: Vec<singling::Lane<'_>> = order.iter().map(|&i| profiles[i].lane()).collect();
    let found = singling::minimal_sets(&lanes, max_columns, singling::WORK, &|done, total| {
        progress("searching", done, total);
    });
    for limit in &found.limits {
        warnings.push(format!(
            "there are too many sets of {} columns: they were searched among {} of {} columns only, likely \
             quasi-identifiers first, and larger sets among no more",
            limit.columns,
            limit.among,
            lanes.len()
        ));
    }
    let in_source = |(set, people): (Vec<usize>, u64)| {
        let mut set: Vec<usize> = set.into_iter().map(|i| order[i]).collect();
        set.sort_unstable();
        (set, people)
    };
    let mut sets: Vec<(Vec<usize>, u64)> = found.sets.into_iter().map(in_source).collect();
    sets.sort_by(|a, b| a.0.len().cmp(&b.0.len()).then(b.1.cmp(&a.1)).then_with(|| a.0.cmp(&b.0)));
    sets
}

/// How many rows are unique on these columns. Takes their codes, which nobody needs afterwards.
fn alone(profiles: &mut [Profile], columns: &[usize]) -> u64 {
    let sizes: Vec<u64> = columns.iter().map(|&i| profiles[i].counts.len() as u64).collect();
    let codes: Vec<Vec<u32>> = columns.iter().map(|&i| std::mem::take(&mut profiles[i].codes)).collect();
    let (numbers, firsts) = number_tuples(&codes.iter().map(Vec::as_slice).collect::<Vec<_>>(), &sizes);
    let mut counts = vec![0u32; firsts.len()];
    numbers.iter().for_each(|&n| counts[n as usize] += 1);
    counts.iter().filter(|&&n| n == 1).count() as u64
}

/// The names of those columns that look as if they named people: most records have a value of their own, and it is no
/// quantity, or the column is called so.
pub(crate) fn identifiers(columns: Vec<Column>, rows: u64) -> Vec<String> {
    let names: Vec<String> = columns.iter().map(|c| c.name.clone()).collect();
    let mut found = Vec::new();
    for (column, hint) in columns.into_iter().zip(role::hints(&names)) {
        let profile = Profile::of(column, &[String::new()], hint, false);
        // A name alone is not enough: the name of a ward is shared by many.
        let tells_apart = 2 * profile.distinct >= rows.saturating_sub(profile.missing);
        if tells_apart && role::suggest(&profile, rows).role == Role::Identifier {
            found.push(profile.name);
        }
    }
    found
}
