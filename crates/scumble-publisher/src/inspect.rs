//! What a data steward should know of an extract before writing a policy: the columns, what each
//! may be to an adversary, and the smallest sets of columns that single people out.
//!
//! Nothing here decides. A role is suggested with its reason, from the column's name and from the
//! shape of its values, and where neither says anything the suggestion is the safe one: a column
//! that takes part in singling somebody out is a quasi-identifier until the steward says otherwise.
//! [`draft`] turns the suggestions into a policy that can be published unchanged.
//!
//! An inspection is meant to be shown around, so it holds no value of the data unless
//! [`InspectRequest::show_values`] asks for them, and the draft never does. The only texts of cells
//! in it are those that mean "missing", and they come from the options or from a list in the source
//! code.

mod draft;
mod header;
mod profile;
mod role;
mod singling;
pub mod taxonomies;

use crate::answer::{Inspection, SinglingOutSet, VERSION, Written};
use crate::observer::{Observer, Phase};
use crate::policy_file::base_of;
use crate::publish::write_whole;
use crate::publisher::Publisher;
use crate::table::columns::{Column, ReadOptions};
use profile::Profile;
use rayon::prelude::*;
use role::{Basis, Suggestion};
use scumble::failure::{Failure, Failures};
use scumble::policy::Source;
use scumble::table::{Role, number_tuples};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

pub use draft::draft;

/// How to inspect.
#[derive(Clone, Debug)]
pub struct InspectRequest {
    /// How to read the file.
    pub read: ReadOptions,
    /// The largest sets of columns that are searched.
    pub max_columns: usize,
    /// Whether the answer may hold values of the data.
    pub show_values: bool,
    /// Cell texts that mean that a value is missing. Common others are detected.
    pub missing: Vec<String>,
    /// Where to write a commented policy that follows from what was found.
    pub draft: Option<PathBuf>,
    /// Whether the first line of a file names the columns although it looks like a record.
    pub header: bool,
}

impl Default for InspectRequest {
    fn default() -> InspectRequest {
        InspectRequest {
            read: ReadOptions::default(),
            max_columns: 3,
            show_values: false,
            missing: vec![String::new()],
            draft: None,
            header: false,
        }
    }
}

/// How many minimal sets an answer lists.
const LISTED: usize = 1000;

/// Inspects a table, and writes a draft if one is wanted.
pub(crate) fn inspect(
    source: &Source,
    options: &InspectRequest,
    publisher: &Publisher<'_>,
) -> Result<Inspection, Failures> {
    if let Some(draft) = options.draft.as_ref().filter(|file| file.exists()) {
        // Said before the work, not after it.
        let message = format!("`{}` exists already", draft.display());
        return Err(Failure::usage("exists-already", message)
            .file(draft)
            .hint("write the draft to another file; yours may hold decisions")
            .into());
    }
    let mut answer = look(source, options, publisher)?;
    if let Some(file) = &options.draft {
        write_whole(file, &draft(&answer, &source_beside(source, file)))?;
        answer.draft = Some(file.display().to_string());
    }
    Ok(answer)
}

/// How a policy in a file names the data: by a path from its own folder.
fn source_beside(data: &Source, policy: &Path) -> Source {
    let whole = |p: &Path| p.canonicalize().unwrap_or_else(|_| p.to_path_buf());
    let folder = whole(&base_of(policy));
    let from_there = |path: &Path| {
        whole(path).strip_prefix(&folder).map_or_else(|_| whole(path), Path::to_path_buf)
    };
    match data {
        Source::File(path) => Source::File(from_there(path)),
        Source::Sqlite { file, rows } => {
            Source::Sqlite { file: from_there(file), rows: rows.clone() }
        }
        Source::Postgres { .. } | Source::Memory(_) => data.clone(),
    }
}

fn look(
    source: &Source,
    options: &InspectRequest,
    publisher: &Publisher<'_>,
) -> Result<Inspection, Failures> {
    let observer = publisher.observer;
    let start = Instant::now();
    observer.phase(Phase::Read);
    let read = publisher.read(source, &options.read, None)?;
    // Other files and databases say which texts are names.
    if read.dialect.is_some() && !options.header {
        let doubtful = header::doubtful(&source.to_string(), &read.columns);
        doubtful.map_or(Ok(()), Err)?;
    }
    let after_reading = start.elapsed().as_secs_f64();
    let (rows, bytes, dialect) = (read.rows as u64, read.bytes, read.dialect.map(Written::of));
    let (missing, mut warnings) = profile::missing_texts(&read.columns, &options.missing);
    observer.phase(Phase::Profile);
    let names: Vec<String> = read.columns.iter().map(|c| c.name.clone()).collect();
    let hints = role::hints(&names);
    let mut profiles: Vec<Profile> = read
        .columns
        .into_par_iter()
        .zip(hints)
        .map(|(column, hint)| Profile::of(column, &missing, hint, options.show_values))
        .collect();
    observer.go_on()?;
    let mut suggestions: Vec<Suggestion> =
        profiles.iter().map(|p| role::suggest(p, rows)).collect();
    let after_profiling = start.elapsed().as_secs_f64();
    let found = search(&profiles, &suggestions, options.max_columns, observer, &mut warnings);
    observer.go_on()?;
    role::settle(&mut suggestions, &profiles, &found, options.max_columns);
    let with =
        |role: Role| (0..names.len()).filter(|&i| suggestions[i].role == role).collect::<Vec<_>>();
    let (quasi, plain) = (with(Role::QuasiIdentifier), with(Role::Insensitive));
    let together = named(&names, &quasi, alone(&mut profiles, &quasi), rows);
    let unchanged = alone(&mut profiles, &plain);
    let singling_out =
        found.iter().take(LISTED).map(|(set, people)| named(&names, set, *people, rows)).collect();
    if found.len() > LISTED {
        warnings.push(format!(
            "{} minimal sets single people out; the first {LISTED} are listed",
            found.len()
        ));
    }
    let person = role::person(&suggestions, &profiles, rows);
    warnings.extend(role::concerns(&suggestions, &profiles, person, rows, unchanged));
    let profile = |(i, (p, s)): (usize, (Profile, Suggestion))| p.answer(s, person == Some(i));
    let columns = profiles.into_iter().zip(suggestions).enumerate().map(profile).collect();
    let total = start.elapsed().as_secs_f64();
    let seconds = BTreeMap::from([
        ("read".to_owned(), after_reading),
        ("profile".to_owned(), after_profiling - after_reading),
        ("search".to_owned(), total - after_profiling),
        ("total".to_owned(), total),
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
        draft: None,
        read: options.read.clone(),
    })
}

fn named(names: &[String], set: &[usize], people: u64, rows: u64) -> SinglingOutSet {
    let share = if rows == 0 { 0.0 } else { people as f64 / rows as f64 };
    SinglingOutSet { columns: set.iter().map(|&i| names[i].clone()).collect(), people, share }
}

/// The minimal sets with the rows they single out, by column number, in the order of the answer.
fn search(
    profiles: &[Profile],
    suggestions: &[Suggestion],
    max_columns: usize,
    observer: &dyn Observer,
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
    order.sort_by(|&a, &b| {
        rank(a).cmp(&rank(b)).then(profiles[b].effective.total_cmp(&profiles[a].effective))
    });
    let lanes: Vec<singling::Lane<'_>> = order.iter().map(|&i| profiles[i].lane()).collect();
    observer.phase(Phase::SingleOut);
    let found = singling::minimal_sets(&lanes, max_columns, singling::WORK, &|done, total| {
        observer.at(done, total)
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
    let codes: Vec<Vec<u32>> =
        columns.iter().map(|&i| std::mem::take(&mut profiles[i].codes)).collect();
    let (numbers, firsts) =
        number_tuples(&codes.iter().map(Vec::as_slice).collect::<Vec<_>>(), &sizes);
    let mut counts = vec![0u32; firsts.len()];
    numbers.iter().for_each(|&n| counts[n as usize] += 1);
    counts.iter().filter(|&&n| n == 1).count() as u64
}

/// The names of those columns that look as if they named people: most records have a value of their
/// own, and it is no quantity, or the column is called so.
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
