//! People of a register whose values the policy cannot read.
//!
//! They fit no class but one that shows `*`, so a model that counts people counts them nowhere. That
//! errs to the safe side, but a steward who is not told takes the register for smaller than it is.

use super::source::Extract;
use scumble::policy::{AttributePolicy, Policy};
use scumble::register::{Register, RegisterColumn};
use scumble::taxonomy::{Decimal, Rule, Taxonomy, parse_date};

/// What to say of the registers of a policy: how many people cannot be placed by which column. Never
/// which values they have.
pub(super) fn unreadable(policy: &Policy, extract: &Extract) -> Vec<String> {
    let mut warnings = Vec::new();
    for r in &policy.requirements {
        let Some((register, path)) = r.register.as_ref().zip(r.parameters.register()) else {
            continue;
        };
        for a in policy.quasi() {
            let Some(column) = register.columns.iter().find(|c| c.name == a.name) else { continue };
            let table = extract.table.quasi.iter().find(|q| q.name == a.name);
            let people = unplaced(register, column, a, table.map(|q| &*q.taxonomy));
            if people > 0 {
                let who = match people {
                    1 => "one person".to_owned(),
                    n => format!("{n} people"),
                };
                warnings.push(format!(
                    "{who} of the register `{path}` cannot be placed by `{}`, whose taxonomy does not know the value, \
                     and counted only where a class shows `*`",
                    a.name
                ));
            }
        }
    }
    warnings.dedup();
    warnings
}

/// How many people have a value that the rule of an attribute cannot read.
fn unplaced(
    register: &Register,
    column: &RegisterColumn,
    a: &AttributePolicy,
    taxonomy: Option<&Taxonomy>,
) -> u64 {
    let is_read = |text: &String| match a.taxonomy.as_ref() {
        _ if text.is_empty() => true,
        Some(Rule::Intervals(_)) => Decimal::parse(text).is_some(),
        Some(Rule::Dates(_)) => parse_date(text).is_some(),
        Some(Rule::Prefix(rule)) => rule.admits(text),
        Some(Rule::File { .. } | Rule::Nested(_)) => {
            taxonomy.is_none_or(|taxonomy| taxonomy.find(text).is_some())
        }
        Some(Rule::Flat) | None => true,
    };
    let read: Vec<bool> = column.texts.iter().map(is_read).collect();
    let rows = (0..).zip(&column.codes).filter(|(_, code)| !read[**code as usize]);
    rows.map(|(row, _)| register.people_of(row)).sum()
}
