//! A first policy, with a comment on every choice.
//!
//! It can be published unchanged, so it lists every column, every rule covers all values, and no
//! model asks for more than the table can give. It holds no value of the data: rules are general
//! ones, never lists of values.

use crate::answer::{ColumnProfile, Inspection, Kind, SinglingOutSet};
use scumble::policy::{Rows, Source};
use scumble::table::Role;
use std::fmt::Write;

/// The smallest class that the draft asks for.
const K: u64 = 5;

const ROLES: &str = "\
# What each column is to an adversary:
#   identifier        says who it is; never published
#   quasi-identifier  others know it too; published coarser, by its taxonomy
#   sensitive         what must not be learnt about a person; published as it is, protected by the models below
#   insensitive       published as it is, protected by nothing: only for what nobody knows and what betrays nothing
";

/// Writes the policy that an inspection suggests. `source` is as it should stand in the policy.
pub fn draft(inspection: &Inspection, source: &Source) -> String {
    let mut out = String::new();
    let name = source.name().map_or_else(|| "a query".into(), |name| quoted(&name));
    comment(&mut out, &format!("A first policy for {name}, drafted from its columns."));
    comment(
        &mut out,
        "The draft knows names and numbers, not people: read every line, and decide what others may know of the people \
         in this table and what they must not learn. Then publish with this file.",
    );
    out.push('\n');
    out.push_str("# publisher  = \"who publishes\"\n");
    let _ = writeln!(out, "source = {}", written(source));
    out.push_str("# recipients = [\"who receives it\"]\n");
    reading(&mut out, inspection);
    out.push('\n');
    out.push_str(ROLES);
    if inspection
        .columns
        .iter()
        .any(|c| c.role == Role::QuasiIdentifier && c.taxonomy.contains("flat") && c.distinct > 4)
    {
        comment(
            &mut out,
            "With `flat` a cell shows its value or nothing. Where there are many values, a taxonomy file keeps more: one \
             line per value, the value, then its groups from small to large, separated by `;`. Name the file instead of \
             the rule: taxonomy = \"jobs.csv\".",
        );
    }
    out.push_str("[attributes]\n");
    for column in &inspection.columns {
        attribute(&mut out, column, inspection);
    }
    out.push('\n');
    exposure(&mut out, inspection);
    models(&mut out, inspection);
    comment(
        &mut out,
        "How the classes are made: Mondrian halves the table as long as the models hold.",
    );
    out.push_str("[algorithm]\nname = \"mondrian\"\n\n");
    out.push_str("[release]\nto = \"releases/first\"\n");
    out
}

/// A source as a policy writes it.
fn written(source: &Source) -> String {
    let of = |rows: &Rows| match rows {
        Rows::Table(name) => format!("table = {}", quoted(name)),
        Rows::Query(query) => format!("query = {}", quoted(query)),
    };
    match source {
        Source::Memory(_) => format!("{:?}", source.to_string()),
        Source::File(path) => quoted(&path.display().to_string()),
        Source::Postgres { address, rows } => {
            format!("{{ postgres = {}, {} }}", quoted(address), of(rows))
        }
        Source::Sqlite { file, rows } => {
            format!("{{ sqlite = {}, {} }}", quoted(&file.display().to_string()), of(rows))
        }
    }
}

/// How the source is read, where detection will not find it out again.
fn reading(out: &mut String, inspection: &Inspection) {
    for (key, byte) in [("delimiter", inspection.read.delimiter), ("quote", inspection.read.quote)]
    {
        if let Some(byte) = byte {
            let _ = writeln!(out, "{key} = {}", quoted(&char::from(byte).to_string()));
        }
    }
    if inspection.missing != [""] {
        comment(
            out,
            "Cells with these texts have no value. Take out what is a value; it holds for all columns.",
        );
        let texts: Vec<String> = inspection.missing.iter().map(|m| quoted(m)).collect();
        let _ = writeln!(out, "missing = [{}]", texts.join(", "));
    }
}

fn attribute(out: &mut String, column: &ColumnProfile, inspection: &Inspection) {
    out.push('\n');
    let role = column.role.name();
    comment(out, &format!("{role}: {}.", column.reason));
    let mut facts = vec![column.kind.to_string(), counted(column.distinct, "distinct value")];
    if column.missing > 0 {
        facts.push(format!("{} without", counted(column.missing, "row")));
    }
    if column.unique_values > 0 {
        facts.push(format!("{} in one row only", counted(column.unique_values, "value")));
    }
    comment(out, &format!("({})", facts.join(", ")));
    for advice in advice(column, inspection) {
        comment(out, &advice);
    }
    let more = match column.role {
        Role::QuasiIdentifier => format!(", taxonomy = {}", column.taxonomy),
        Role::Identifier if column.person => ", person = true".into(),
        _ => String::new(),
    };
    let _ = writeln!(out, "{} = {{ role = \"{role}\"{more} }}", key(&column.name));
}

/// What to think about in a column.
fn advice(column: &ColumnProfile, inspection: &Inspection) -> Vec<String> {
    let mut all = Vec::new();
    match column.role {
        Role::QuasiIdentifier
            if column.taxonomy.contains("number") && column.kind == Kind::Code =>
        {
            all.push(
                "The codes are of different lengths, so they are published as ranges and not by their beginning."
                    .into(),
            );
        }
        Role::QuasiIdentifier if column.taxonomy.contains("length") => {
            all.push(
                "All codes have the same number of characters. It is declared, so that what is published (43***) is \
                 the same whoever is in the table; raise it if longer codes exist."
                    .into(),
            );
        }
        Role::Sensitive if leads(column, inspection) => {
            all.push("Whoever does know it can use it to find the person: see the sets of columns below.".into());
        }
        Role::Insensitive if column.kind != Kind::Empty && column.kind != Kind::Constant => all
            .push(format!(
                "If others may know it: {{ role = \"quasi-identifier\", taxonomy = {} }}",
                column.taxonomy
            )),
        Role::Identifier if column.person => {
            all.push("Its values all differ, so it stands for the person: one row each.".into());
        }
        _ => (),
    }
    all
}

fn leads(column: &ColumnProfile, inspection: &Inspection) -> bool {
    inspection.singling_out.iter().any(|s| s.columns.contains(&column.name))
}

/// The sets that single most people out, so that the steward sees why the roles matter.
fn exposure(out: &mut String, inspection: &Inspection) {
    let together = &inspection.together;
    if inspection.rows < 2 {
        return;
    }
    if together.columns.len() > 1 {
        comment(
            out,
            &format!(
                "In the source, the quasi-identifiers together single out {}.",
                people(together)
            ),
        );
    }
    if inspection.singling_out.is_empty() {
        let most = inspection.max_columns;
        comment(
            out,
            &format!("No set of up to {} singles anybody out.", counted(most as u64, "column")),
        );
    } else {
        comment(out, "Already these are enough to single people out:");
    }
    let mut sets: Vec<&SinglingOutSet> = inspection.singling_out.iter().collect();
    sets.sort_by_key(|set| std::cmp::Reverse(set.people));
    for set in sets.iter().take(5) {
        let names: Vec<String> = set.columns.iter().map(|c| key(c)).collect();
        comment(out, &format!("  {}: {}", names.join(" + "), people(set)));
    }
    out.push('\n');
}

fn people(set: &SinglingOutSet) -> String {
    // Rounded down, so that 100 % means all.
    let percent = (1000.0 * set.share).floor() / 10.0;
    let share =
        if set.people > 0 && percent < 0.1 { "below 0.1".into() } else { format!("{percent:.1}") };
    format!("{} ({share} %)", counted(set.people, "row"))
}

fn models(out: &mut String, inspection: &Inspection) {
    comment(
        out,
        "The promises. Each is checked on every class of look-alike rows before anything is published.",
    );
    let k = K.min(inspection.rows).max(1);
    if k < K {
        let rows = counted(inspection.rows, "row");
        comment(
            out,
            &format!(
                "The table has {rows}, so no larger class than {k} is possible; {K} is usual."
            ),
        );
    } else {
        comment(out, &format!("Nobody can be narrowed down to fewer than {k} rows."));
    }
    let _ = writeln!(out, "[[models]]\nname = \"k-anonymity\"\nk = {k}\n");
    let sensitive: Vec<&ColumnProfile> =
        inspection.columns.iter().filter(|c| c.role == Role::Sensitive).collect();
    if sensitive.is_empty() {
        comment(
            out,
            "No column looks sensitive. If one is, give it that role and add a model for it, such as \
             \"distinct-l-diversity\": k-anonymity does not protect what all rows of a class share.",
        );
        out.push('\n');
    }
    for column in sensitive {
        let name = quoted(&column.name);
        if column.distinct + u64::from(column.missing > 0) < 2 {
            comment(
                out,
                &format!("All rows have the same value in {name}, which no model can hide."),
            );
            out.push('\n');
            continue;
        }
        comment(
            out,
            &format!(
                "Every class shows at least two values of {name}. Two is the least that means something: think about \
                 more, or about \"entropy-l-diversity\" or \"t-closeness\"."
            ),
        );
        let _ = writeln!(
            out,
            "[[models]]\nname = \"distinct-l-diversity\"\nl = 2\nattribute = {name}\n"
        );
    }
}

fn counted(n: u64, thing: &str) -> String {
    if n == 1 { format!("1 {thing}") } else { format!("{n} {thing}s") }
}

/// Adds lines of comment. Names of columns may hold anything, and TOML allows no control characters
/// in comments.
fn comment(out: &mut String, text: &str) {
    let plain: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let indent = plain.len() - plain.trim_start().len();
    let mut line = format!("#{}", " ".repeat(indent));
    for word in plain.split_whitespace() {
        if line.chars().count() + word.chars().count() > 115 && line.len() > 1 + indent {
            let _ = writeln!(out, "{line}");
            line = format!("#{}", " ".repeat(indent));
        }
        line.push(' ');
        line.push_str(word);
    }
    let _ = writeln!(out, "{line}");
}

/// A key of TOML.
fn key(name: &str) -> String {
    let bare = !name.is_empty()
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    if bare { name.to_owned() } else { quoted(name) }
}

/// A string of TOML.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04X}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
