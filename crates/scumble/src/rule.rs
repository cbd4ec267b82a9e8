//! How taxonomies are made: read from a file, written out in a policy, or generated from the values of a column.
//!
//! Everything that can be wrong with a file is found here, all at once, each with its line.

use crate::problem::{Problem, Problems};
use crate::scale::{Decimal, Granularity, Scale, iso_date, parse_date};
use crate::taxonomy::{ROOT, Taxonomy, grow};
use hashbrown::{HashMap, HashSet};
use std::borrow::Cow;
use std::fmt::Write;

/// How a taxonomy is made: what a policy says about an attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rule {
    /// An ARX-style CSV file.
    File {
        /// Path as the policy gives it.
        path: String,
        /// Whether the order of its lines is an order of the values.
        ordered: bool,
    },
    /// Numbers, grouped in intervals of rising width; no widths: numbers that are only ever cut into ranges.
    Intervals(Intervals),
    /// Dates, grouped by calendar units from fine to coarse.
    Dates(Vec<Granularity>),
    /// Text masked from the right; the lengths kept, falling. Empty: every length.
    Prefix(Vec<usize>),
    /// The value, or nothing.
    Flat,
    /// An explicit tree.
    Nested(Tree),
}

/// The `intervals` rule of a policy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Intervals {
    /// Widths, rising; each a multiple of the one before.
    pub widths: Vec<Decimal>,
    /// Values below are one group, `<low`.
    pub low: Option<Decimal>,
    /// Values from here on are one group, `>=high`.
    pub high: Option<Decimal>,
}

/// A tree written out in a policy: a label and its children; a leaf has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// The node's label.
    pub label: String,
    /// Its children.
    pub children: Vec<Tree>,
}

impl Taxonomy {
    /// Makes the taxonomy of a rule that needs no file, for the distinct values of a column (without the missing one).
    pub fn generate(rule: &Rule, column: &str, values: &[&str], has_missing: bool) -> Result<Taxonomy, Problems> {
        match rule {
            Rule::File { .. } => unreachable!("a file is read with `from_rows`"),
            Rule::Intervals(rule) => intervals(rule, column, values, has_missing),
            Rule::Dates(units) => dates(units, column, values, has_missing),
            Rule::Prefix(lengths) => prefix(lengths, values, has_missing).unambiguous(&format!("column `{column}`")),
            Rule::Flat => flat(values, has_missing).unambiguous(&format!("column `{column}`")),
            Rule::Nested(tree) => nested(tree, column, has_missing),
        }
    }

    /// Builds from the rows of an ARX-style file: leaf first, root last. `name` is the file's, for messages.
    pub fn from_rows(
        name: &str,
        mut rows: Vec<Vec<String>>,
        ordered: bool,
        has_missing: bool,
    ) -> Result<Taxonomy, Problems> {
        check_rows(name, &rows)?;
        // A line that is repeated word by word, as real files do, says nothing new.
        let first: Vec<bool> = {
            let mut seen = HashSet::new();
            rows.iter().map(|row| seen.insert(row[0].as_str())).collect()
        };
        let mut first = first.iter();
        rows.retain(|_| first.next() == Some(&true));
        let width = rows[0].len();
        let order = depth_first(&rows);
        if ordered && !order.is_sorted() {
            return Err(Problem::new(format!(
                "taxonomy `{name}` is declared ordered but the leaves of a node are not neighbours"
            ))
            .hint("sort its lines, or leave out `ordered = true`")
            .into());
        }
        if ordered && rows.iter().any(|row| row[0].contains(", ")) {
            return Err(Problem::new(format!("taxonomy `{name}` is declared ordered but a value contains `, `"))
                .hint("ranges are written `[first, last]`; rename the value, or leave out `ordered = true`")
                .into());
        }
        let mut rows: Vec<Vec<String>> = order.iter().map(|&i| std::mem::take(&mut rows[i])).collect();
        let mut leaves: Vec<String> = rows.iter_mut().map(|row| std::mem::take(&mut row[0])).collect();
        // A file that lists the missing value itself decides where it belongs, unless that is last anyway.
        let has_missing = has_missing && !leaves.iter().any(String::is_empty);
        if has_missing {
            leaves.push(String::new());
        }
        let scale = if ordered { Scale::Ordinal } else { Scale::Nominal };
        grow(scale, leaves, Vec::new(), has_missing, width - 1, |level, leaf| Cow::Borrowed(&rows[leaf][level]))
            .unambiguous(&format!("taxonomy `{name}`"))
    }
}

/// The lines of a file in depth-first order: at every level nodes stand in the order of their first line.
fn depth_first(rows: &[Vec<String>]) -> Vec<usize> {
    let width = rows[0].len();
    let mut rank: Vec<HashMap<&str, usize>> = vec![HashMap::new(); width];
    for (i, row) in rows.iter().enumerate() {
        for (level, label) in row.iter().enumerate() {
            rank[level].entry(label).or_insert(i);
        }
    }
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_cached_key(|&i| (0..width).rev().map(|l| rank[l][rows[i][l].as_str()]).collect::<Vec<_>>());
    order
}

/// What can be wrong with the rows of a taxonomy file, all of it.
fn check_rows(name: &str, rows: &[Vec<String>]) -> Result<(), Problems> {
    let mut problems = Problems::default();
    let Some(first) = rows.first() else {
        return Err(Problem::new(format!("taxonomy `{name}` is empty"))
            .hint("give one line per value: the value, then its ancestors up to one root, separated by `;`")
            .into());
    };
    let width = first.len();
    let ragged: Vec<usize> = (0..rows.len()).filter(|&i| rows[i].len() != width).collect();
    if let Some(&i) = ragged.first() {
        let more = if ragged.len() > 1 { format!(" (and {} more lines)", ragged.len() - 1) } else { String::new() };
        let found = rows[i].len();
        return Err(Problem::new(format!(
            "taxonomy `{name}`, line {}: {found} columns, but line 1 has {width}{more}",
            i + 1
        ))
        .hint("every line needs the value and one ancestor per level; repeat a label where a level adds nothing")
        .into());
    }
    if width < 2 {
        problems.push(
            Problem::new(format!("taxonomy `{name}` has one column only")).hint(
                "each line is a value and its ancestors, separated by `;`; for value-or-nothing use `flat = true`",
            ),
        );
        return problems.or(());
    }
    let mut seen = HashMap::new();
    for (i, row) in rows.iter().enumerate() {
        if let Some(j) = seen.insert(row[0].as_str(), i)
            && rows[j] != *row
        {
            problems.push(Problem::new(format!(
                "taxonomy `{name}`, line {}: the value `{}` is listed already on line {}",
                i + 1,
                row[0],
                j + 1
            )));
        }
        if row[width - 1] != first[width - 1] {
            problems.push(
                Problem::new(format!(
                    "taxonomy `{name}`, line {}: the root is `{}`, but on line 1 it is `{}`",
                    i + 1,
                    row[width - 1],
                    first[width - 1]
                ))
                .hint("end every line with the same root, for example `*`"),
            );
        }
    }
    for level in 1..width - 1 {
        let mut parent: HashMap<&str, (&str, usize)> = HashMap::new();
        for (i, row) in rows.iter().enumerate() {
            let (known, line) = *parent.entry(&row[level]).or_insert((&row[level + 1], i + 1));
            if known != row[level + 1] {
                problems.push(Problem::new(format!(
                    "taxonomy `{name}`, line {}: `{}` is below `{}`, but on line {line} it is below `{known}`",
                    i + 1,
                    row[level],
                    row[level + 1],
                )));
            }
        }
    }
    two_meanings(name, rows, &mut problems);
    if problems.0.len() > 10 {
        let more = problems.0.len() - 10;
        problems.0.truncate(10);
        problems.push(Problem::new(format!("taxonomy `{name}`: {more} more problems like these")));
    }
    problems.or(())
}

/// A label that names different sets of values at different levels would make a release ambiguous.
fn two_meanings(name: &str, rows: &[Vec<String>], problems: &mut Problems) {
    let mut sets: HashMap<&str, (usize, Vec<usize>)> = HashMap::new();
    for level in 0..rows[0].len() {
        let mut here: HashMap<&str, Vec<usize>> = HashMap::new();
        for (i, row) in rows.iter().enumerate() {
            here.entry(&row[level]).or_default().push(i);
        }
        // In the order of the lines, so that the same file gives the same messages.
        for label in rows.iter().map(|row| row[level].as_str()) {
            let Some(members) = here.remove(label) else { continue };
            if let Some((other, known)) = sets.get(label) {
                if *known != members {
                    problems.push(
                        Problem::new(format!(
                            "taxonomy `{name}`: `{label}` in column {} stands for other values than in column {}",
                            level + 1,
                            other + 1
                        ))
                        .hint("rename one of them, so that a published value has one meaning"),
                    );
                }
            } else {
                sets.insert(label, (level, members));
            }
        }
    }
}

/// Splits the text of an ARX-style file in rows; `;` or `,` or tab, whichever the first line has. Fields may be quoted.
pub fn parse_rows(name: &str, text: &str) -> Result<Vec<Vec<String>>, Problems> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let first = text.lines().next().unwrap_or("");
    let delimiter = [';', '\t', ','].into_iter().find(|&d| first.contains(d)).unwrap_or(';');
    let mut rows = Vec::new();
    for (i, line) in text.trim_end_matches(['\n', '\r']).lines().enumerate() {
        if line.trim().is_empty() {
            // Not skipped in silence: the lines in messages would no longer be those of the file.
            let problem = Problem::new(format!("taxonomy `{name}`, line {}: the line is blank", i + 1));
            return Err(problem.hint("delete it; a missing value needs no line").into());
        }
        match split_line(line, delimiter) {
            Some(row) => rows.push(row),
            None => {
                return Err(Problem::new(format!("taxonomy `{name}`, line {}: a quote is not closed", i + 1)).into());
            }
        }
    }
    Ok(rows)
}

fn split_line(line: &str, delimiter: char) -> Option<Vec<String>> {
    if !line.contains('"') {
        return Some(line.split(delimiter).map(str::to_owned).collect());
    }
    let (mut fields, mut field, mut quoted) = (Vec::new(), String::new(), false);
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                field.push('"');
            }
            '"' if quoted => quoted = false,
            '"' if field.is_empty() => quoted = true,
            c if c == delimiter && !quoted => fields.push(std::mem::take(&mut field)),
            c => field.push(c),
        }
    }
    fields.push(field);
    (!quoted).then_some(fields)
}

/// Writes rows as an ARX-style file, fields quoted where needed.
pub fn write_rows(rows: &[Vec<String>]) -> String {
    let mut out = String::new();
    for row in rows {
        for (i, field) in row.iter().enumerate() {
            if i > 0 {
                out.push(';');
            }
            if field.contains([';', '"', '\n']) {
                let _ = write!(out, "\"{}\"", field.replace('"', "\"\""));
            } else {
                out.push_str(field);
            }
        }
        out.push('\n');
    }
    out
}

/// Text of each value with its place, in order; or a problem that says how many values are not of the kind.
fn place_all(
    column: &str,
    kind: &str,
    hint: &str,
    values: &[&str],
    place: impl Fn(&str) -> Option<i64>,
) -> Result<(Vec<String>, Vec<i64>), Problems> {
    let mut placed: Vec<(i64, &str)> = Vec::with_capacity(values.len());
    let mut bad = 0;
    for value in values {
        match place(value) {
            Some(p) => placed.push((p, value)),
            None => bad += 1,
        }
    }
    if bad > 0 {
        let message = match bad {
            1 => format!("one value of column `{column}` is not a {kind}"),
            _ => format!("{bad} distinct values of column `{column}` are not {}", kind.replacen(' ', "s ", 1)),
        };
        return Err(Problem::new(message).hint(hint).into());
    }
    // Texts with one place (`1`, `01`, `1.0`) are one value; the shortest stands for them.
    placed.sort_unstable_by_key(|&(p, text)| (p, text.len(), text));
    placed.dedup_by_key(|&mut (p, _)| p);
    Ok((placed.iter().map(|p| p.1.to_owned()).collect(), placed.iter().map(|p| p.0).collect()))
}

/// Leaves of a scale with room for the missing value, which has no place of its own.
fn with_missing(mut leaves: Vec<String>, mut places: Vec<i64>, has_missing: bool) -> (Vec<String>, Vec<i64>) {
    if has_missing {
        leaves.push(String::new());
        places.push(places.last().copied().unwrap_or(0));
    }
    (leaves, places)
}

fn intervals(rule: &Intervals, column: &str, values: &[&str], has_missing: bool) -> Result<Taxonomy, Problems> {
    let parsed = values.iter().filter_map(|v| Decimal::parse(v));
    let given = rule.widths.iter().chain(&rule.low).chain(&rule.high).copied();
    let decimals = parsed.chain(given).map(|d| d.decimals).max().unwrap_or(0);
    let hint = format!("give `{column}` another taxonomy, or list the text that means missing under `missing`");
    let kind = "number of at most 18 digits";
    let (leaves, places) = place_all(column, kind, &hint, values, |v| Decimal::parse(v)?.units(decimals))?;
    let (leaves, places) = with_missing(leaves, places, has_missing);
    let units = |d: &Decimal| {
        let too_large = || Problem::new(format!("a bound or width of `{column}` is too large beside its decimals"));
        d.units(decimals).ok_or_else(too_large)
    };
    let widths: Vec<i64> = rule.widths.iter().map(units).collect::<Result<_, _>>()?;
    let (low, high) = (rule.low.as_ref().map(units).transpose()?, rule.high.as_ref().map(units).transpose()?);
    let show = |units| Decimal::show(units, decimals);
    let places_copy = places.clone();
    let label = move |level: usize, leaf: usize| {
        let Some(&width) = widths.get(level - 1) else { return Cow::Borrowed(ROOT) };
        let place = places_copy[leaf];
        if let Some(low) = low.filter(|&low| place < low) {
            return Cow::Owned(format!("<{}", show(low)));
        }
        if let Some(high) = high.filter(|&high| place >= high) {
            return Cow::Owned(format!(">={}", show(high)));
        }
        let from = place.div_euclid(width) * width;
        let to = from.saturating_add(width);
        let (from, to) = (low.map_or(from, |l| from.max(l)), high.map_or(to, |h| to.min(h)));
        Cow::Owned(format!("[{}, {})", show(from), show(to)))
    };
    Ok(grow(Scale::Number { decimals }, leaves, places, has_missing, rule.widths.len() + 1, label))
}

fn dates(units: &[Granularity], column: &str, values: &[&str], has_missing: bool) -> Result<Taxonomy, Problems> {
    let hint = "write dates as YYYY-MM-DD, or list the text that means missing under `missing`";
    let (_, places) = place_all(column, "date of the form YYYY-MM-DD", hint, values, parse_date)?;
    // The day alone is the value: whatever is written after it must not be published.
    let leaves = places.iter().map(|&day| iso_date(day)).collect();
    let (leaves, places) = with_missing(leaves, places, has_missing);
    let days = places.clone();
    let label = move |level: usize, leaf: usize| match units.get(level - 1) {
        Some(unit) => Cow::Owned(unit.label(days[leaf])),
        None => Cow::Borrowed(ROOT),
    };
    Ok(grow(Scale::Date, leaves, places, has_missing, units.len() + 1, label))
}

fn prefix(lengths: &[usize], values: &[&str], has_missing: bool) -> Taxonomy {
    let mut leaves: Vec<String> = values.iter().map(|v| (*v).to_owned()).collect();
    leaves.sort_unstable();
    let longest = leaves.iter().map(|v| v.chars().count()).max().unwrap_or(0);
    let lengths: Vec<usize> = if lengths.is_empty() {
        (1..longest).rev().collect()
    } else {
        lengths.iter().copied().filter(|&l| l < longest).collect()
    };
    if has_missing {
        leaves.push(String::new());
    }
    let texts = leaves.clone();
    let levels = lengths.len() + 1;
    let label = move |level: usize, leaf: usize| match lengths.get(level - 1) {
        // Where nothing is cut off the value stands for itself, not for all that start with it.
        Some(&keep) if texts[leaf].chars().count() < keep => Cow::Owned(texts[leaf].clone()),
        Some(&keep) => {
            let kept: String = texts[leaf].chars().take(keep).collect();
            let mask = longest.saturating_sub(kept.chars().count());
            Cow::Owned(kept + &"*".repeat(mask))
        }
        None => Cow::Borrowed(ROOT),
    };
    grow(Scale::Nominal, leaves, Vec::new(), has_missing, levels, label)
}

fn flat(values: &[&str], has_missing: bool) -> Taxonomy {
    // Numbers stand in numeric order, so that an ordered distance on a flat sensitive attribute means what it says.
    let mut leaves: Vec<&str> = values.to_vec();
    let key = |v: &str| Decimal::parse(v).map(|d| d.mantissa as f64 / 10f64.powi(d.decimals as i32));
    if leaves.iter().all(|v| key(v).is_some()) {
        leaves.sort_by(|a, b| key(a).partial_cmp(&key(b)).unwrap_or(std::cmp::Ordering::Equal).then(a.cmp(b)));
    } else {
        leaves.sort_unstable();
    }
    let mut leaves: Vec<String> = leaves.into_iter().map(str::to_owned).collect();
    if has_missing {
        leaves.push(String::new());
    }
    grow(Scale::Nominal, leaves, Vec::new(), has_missing, 1, |_, _| Cow::Borrowed(ROOT))
}

fn nested(tree: &Tree, column: &str, has_missing: bool) -> Result<Taxonomy, Problems> {
    let mut rows = Vec::new();
    climb(tree, &mut Vec::new(), &mut rows);
    let width = rows.iter().map(Vec::len).max().unwrap_or(0);
    // Leaves nearer to the root repeat themselves until the levels meet.
    for row in &mut rows {
        let leaf = row[0].clone();
        while row.len() < width {
            row.insert(1, leaf.clone());
        }
    }
    Taxonomy::from_rows(&format!("attributes.{column}.taxonomy.nested"), rows, false, has_missing)
}

fn climb(tree: &Tree, above: &mut Vec<String>, rows: &mut Vec<Vec<String>>) {
    above.push(tree.label.clone());
    if tree.children.is_empty() {
        rows.push(above.iter().rev().cloned().collect());
    }
    for child in &tree.children {
        climb(child, above, rows);
    }
    above.pop();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class::Run;

    fn rows(text: &str) -> Vec<Vec<String>> {
        parse_rows("t", text).unwrap()
    }

    fn messages(result: Result<Taxonomy, Problems>) -> String {
        result.err().map(|p| p.to_string()).unwrap_or_default()
    }

    #[test]
    fn every_mistake_in_a_file_is_named() {
        let bad = messages(Taxonomy::from_rows("f", rows("a;x;*\nb;x;*\na;y;*\nc;y;+\n"), false, false));
        assert!(bad.contains("line 3: the value `a` is listed already on line 1"), "{bad}");
        assert!(bad.contains("line 4: the root is `+`, but on line 1 it is `*`"), "{bad}");
        let repeated = Taxonomy::from_rows("f", rows("a;x;*\nb;x;*\na;x;*\n"), false, false);
        assert_eq!(repeated.map(|t| t.leaves()).ok(), Some(2), "a repeated line says nothing new");
        let two = messages(Taxonomy::from_rows("f", rows("a;x;p;*\nb;x;q;*\n"), false, false));
        assert!(two.contains("line 2: `x` is below `q`, but on line 1 it is below `p`"), "{two}");
        let ragged = messages(Taxonomy::from_rows("f", rows("a;x;*\nb;*\n"), false, false));
        assert!(ragged.contains("line 2: 2 columns, but line 1 has 3"), "{ragged}");
        assert!(messages(Taxonomy::from_rows("f", vec![], false, false)).contains("is empty"));
        let again = messages(Taxonomy::from_rows("f", rows("a;x;*\nb;x;*\nx;y;*\n"), false, false));
        assert!(again.contains("stands for other values"), "{again}");
    }

    #[test]
    fn prefixes_mask_from_the_right() {
        let t = Taxonomy::generate(&Rule::Prefix(vec![]), "zip", &["13053", "13068", "14850", "14853"], false).unwrap();
        assert_eq!(t.levels(), 5);
        assert_eq!(t.label(Run::new(0, 1)), "130**");
        assert_eq!(t.label(Run::new(2, 3)), "1485*");
        assert_eq!(t.label(t.root()), "1****");
        assert_eq!(t.parse("1****"), Some(t.root()));
    }
}
