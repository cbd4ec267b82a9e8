//! Taxonomies of a column: built from its values by a rule, and checked against them.

use crate::answer::{Against, BuiltTaxonomy, CheckedTaxonomy, VERSION};
use crate::publish::source::read_taxonomy;
use crate::publish::write_whole;
use crate::publisher::Task;
use crate::table::columns::{Column, ReadOptions};
use scumble::encode::encode;
use scumble::failure::{Failure, Failures};
use scumble::policy::Source;
use scumble::policy::spec::TaxonomySpec;
use scumble::taxonomy::{Taxonomy, write_rows};
use std::path::PathBuf;

/// Which taxonomy to build.
#[derive(Clone, Debug)]
pub struct BuildTaxonomyRequest {
    /// The table.
    pub data: Source,
    /// How it is written.
    pub read: ReadOptions,
    /// The column.
    pub column: String,
    /// How its values generalize.
    pub rule: TaxonomySpec,
    /// The file that it goes to; without one it is in the answer.
    pub to: Option<PathBuf>,
}

/// Which taxonomy to check.
#[derive(Clone, Debug, Default)]
pub struct CheckTaxonomyRequest {
    /// The taxonomy file.
    pub file: PathBuf,
    /// A table that it should cover, and the column.
    pub against: Option<(Source, String)>,
    /// How the table is written.
    pub read: ReadOptions,
    /// Whether the order of its lines means something.
    pub ordered: bool,
    /// Whether values that are not covered may be shown.
    pub show_values: bool,
}

/// Builds the taxonomy of a column.
pub(crate) fn build(task: Task<'_, BuildTaxonomyRequest>) -> Result<BuiltTaxonomy, Failures> {
    let column = &task.column;
    let rule = task.rule.rule(column)?;
    let read = read_column(&task, &task.data, &task.read, column)?;
    let values: Vec<&str> = read.values.iter().collect();
    if values.iter().all(|v| v.is_empty()) {
        return Err(Failure::data("no-values", format!("column `{column}` has no values")).into());
    }
    let (taxonomy, _) = encode(column, &rule, None, &values, &[String::new()])?;
    let rows = taxonomy.rows();
    let mut answer = BuiltTaxonomy {
        version: VERSION,
        column: column.to_owned(),
        values: rows.len() as u64,
        levels: taxonomy.levels() as u64,
        file: task.to.as_ref().map(|path| path.display().to_string()),
        rows: None,
    };
    match &task.to {
        Some(file) => write_whole(file, &write_rows(&rows))?,
        None => answer.rows = Some(rows),
    }
    Ok(answer)
}

/// Checks a taxonomy file: one root, no value twice, and, with a table, every value covered.
pub(crate) fn check(task: Task<'_, CheckTaxonomyRequest>) -> Result<CheckedTaxonomy, Failures> {
    let name = task.file.display().to_string();
    let rows = read_taxonomy(&task.file, &name)?;
    let taxonomy = Taxonomy::from_rows(&name, rows, task.ordered, false)?;
    let mut answer = CheckedTaxonomy {
        version: VERSION,
        taxonomy: name,
        values: taxonomy.leaves() as u64,
        levels: taxonomy.levels() as u64,
        root: taxonomy.label(taxonomy.root()).into_owned(),
        against: None,
    };
    if let Some((data, column)) = &task.against {
        let read = read_column(&task, data, &task.read, column)?;
        let uncovered = |v: &&str| !v.is_empty() && taxonomy.find(v).is_none();
        let missing: Vec<String> =
            read.values.iter().filter(uncovered).map(str::to_owned).collect();
        answer.against = Some(Against {
            data: data.to_string(),
            column: column.clone(),
            missing: missing.len() as u64,
            missing_values: if task.show_values { missing } else { Vec::new() },
        });
    }
    Ok(answer)
}

fn read_column<R>(
    task: &Task<'_, R>,
    data: &Source,
    options: &ReadOptions,
    column: &str,
) -> Result<Column, Failures> {
    let read = task.publisher.read(data, options, Some(&[column.to_owned()]))?;
    read.columns.into_iter().next().ok_or_else(|| {
        Failure::usage("no-such-column", format!("`{data}` has no column `{column}`")).into()
    })
}
