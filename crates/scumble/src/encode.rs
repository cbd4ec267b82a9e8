//! From the texts of a column to leaf codes of its taxonomy.

use crate::failure::{Action, Failure, Failures, Remedy};
use crate::table::{Attribute, Hidden};
use crate::taxonomy::{Rule, Taxonomy};

/// Makes the taxonomy of a column and finds the leaf of each of its distinct texts.
///
/// `rows` are the lines of the taxonomy file if the rule names one. A text listed in `missing`
/// means that the value is missing; all such texts, and the empty one, become one leaf with an
/// empty label: the recipient could not tell them apart. Failures never show a value of the data.
pub fn encode(
    column: &str,
    rule: &Rule,
    rows: Option<Vec<Vec<String>>>,
    values: &[&str],
    missing: &[String],
) -> Result<(Taxonomy, Vec<u32>), Failures> {
    let is_missing = |v: &str| v.is_empty() || missing.iter().any(|m| m == v);
    let has_missing = values.iter().any(|v| is_missing(v));
    let present: Vec<&str> = values.iter().copied().filter(|v| !is_missing(v)).collect();
    let taxonomy = match (rule, rows) {
        (Rule::File { path, ordered, .. }, Some(rows)) => {
            Taxonomy::from_rows(path, rows, *ordered, has_missing)?
        }
        (Rule::File { path, .. }, None) => {
            return Err(Failure::bug("internal", format!("taxonomy `{path}` was not read")).into());
        }
        (rule, _) => Taxonomy::generate(rule, column, &present, has_missing)?,
    };
    if taxonomy.leaves() == 0 {
        return Err(Failure::data("no-values", format!("column `{column}` has no values")).into());
    }
    let mut uncovered = 0;
    let leaves = values
        .iter()
        .map(|v| {
            let text = if is_missing(v) { "" } else { v };
            taxonomy.find(text).unwrap_or_else(|| {
                uncovered += 1;
                0
            })
        })
        .collect();
    if uncovered > 0 {
        let name = match rule {
            Rule::File { path, .. } => format!("taxonomy `{path}`"),
            _ => "its taxonomy".into(),
        };
        let values = if uncovered == 1 {
            "one value".into()
        } else {
            format!("{uncovered} distinct values")
        };
        return Err(Failure::data(
            "uncovered-values",
            format!("{name} misses {values} of column `{column}`"),
        )
        .column(column)
        .remedy(
            Remedy::run(Action::CheckTaxonomy { column: column.to_owned() })
                .then(" lists what is missing"),
        )
        .into());
    }
    Ok((taxonomy, leaves))
}

/// A guard column and the code of each of its distinct texts. A missing text, like an empty one,
/// guards nothing.
pub fn encode_guard(column: &str, values: &[&str], missing: &[String]) -> (Attribute, Vec<u32>) {
    let mut texts = vec![String::new()];
    let codes = values
        .iter()
        .map(|v| match v.is_empty() || missing.iter().any(|m| m == v) {
            true => 0,
            false => {
                texts.push((*v).to_owned());
                texts.len() as u32 - 1
            }
        })
        .collect();
    (
        Attribute {
            hidden: Some(Hidden::Guard),
            ..Attribute::new(column, Taxonomy::unpublished(texts))
        },
        codes,
    )
}
