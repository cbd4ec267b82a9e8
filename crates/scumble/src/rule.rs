//! How taxonomies are made: read from a file, written out in a policy, or generated from the values
//! of a column.
//!
//! Everything that can be wrong with a file is found here, all at once, each with its line.

use crate::failure::{Failure, Failures};
use crate::scale::{Decimal, Granularity, Grid, Scale};
use crate::taxonomy::{Leaves, ROOT, Taxonomy, grow, written_like_a_group};
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
        /// Whether the list of its values is public, so that the whole file may go with a release.
        public: bool,
    },
    /// Numbers, grouped in intervals of rising width; no widths: numbers that are only ever cut
    /// into ranges.
    Intervals(Intervals),
    /// Dates, grouped by calendar units from fine to coarse. The finest is what is published at
    /// most; days if there is none.
    Dates(Vec<Granularity>),
    /// Text masked from the right.
    Prefix(Prefix),
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
    /// What is published at most.
    pub unit: Unit,
}

/// The `prefix` rule of a policy.
///
/// A masked text is the characters kept and a `*` for every further one of the declared length.
/// Where none is declared it ends with a single `*`: a mask as long as the longest value would tell
/// how long that is, whoever has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prefix {
    /// The numbers of characters kept, falling. Empty: every number.
    pub keep: Vec<usize>,
    /// Number of characters of the longest text there may be.
    pub length: Option<usize>,
}

impl Prefix {
    /// The largest length that may be declared.
    pub const LONGEST: usize = 64;

    /// Text with its first characters kept and the rest masked. A text of fewer characters stands
    /// for itself, not for all that start with it.
    pub(crate) fn mask(&self, text: &str, keep: usize) -> String {
        if text.chars().count() < keep {
            return text.to_owned();
        }
        let kept: String = text.chars().take(keep).collect();
        kept + &ROOT.repeat(self.length.map_or(1, |length| length.saturating_sub(keep)))
    }

    /// The characters that a masked label keeps; `None` for a text that is not masked.
    pub fn kept<'a>(&self, label: &'a str) -> Option<&'a str> {
        match self.length {
            Some(_) => Some(label.trim_end_matches(ROOT)).filter(|kept| kept.len() < label.len()),
            None => label.strip_suffix(ROOT),
        }
    }

    /// Whether a text is no longer than declared.
    pub fn admits(&self, text: &str) -> bool {
        self.length.is_none_or(|length| text.chars().count() <= length)
    }
}

/// The finest cells of numbers that may be published.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// The smallest width; 1 where there are no widths.
    #[default]
    Finest,
    /// Cells of this width.
    Of(Decimal),
    /// The values as the data write them.
    Exact,
}

/// A tree written out in a policy: a label and its children; a leaf has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// The node's label.
    pub label: String,
    /// Its children.
    pub children: Vec<Tree>,
}

impl Rule {
    /// The same rule with leaves that are the values of the data: for values that are published as
    /// they are.
    pub fn exact(&self) -> Rule {
        match self {
            Rule::Intervals(intervals) => {
                Rule::Intervals(Intervals { unit: Unit::Exact, ..intervals.clone() })
            }
            Rule::Dates(units) if units.first() != Some(&Granularity::Day) => Rule::Dates(
                std::iter::once(Granularity::Day).chain(units.iter().copied()).collect(),
            ),
            other => other.clone(),
        }
    }

    /// The scale of the rule's leaves; `decimals` are those of the data, which matter to exact
    /// numbers only.
    pub(crate) fn scale(&self, column: &str, decimals: u32) -> Result<Scale, Failure> {
        match self {
            Rule::Intervals(intervals) => intervals.grid(column, decimals).map(Scale::Number),
            Rule::Dates(units) if units.is_empty() => Ok(Scale::Date(vec![Granularity::Day])),
            Rule::Dates(units) => Ok(Scale::Date(units.clone())),
            Rule::File { ordered: true, .. } => Ok(Scale::Ordinal),
            _ => Ok(Scale::Nominal),
        }
    }
}

impl Intervals {
    /// Width of the cells; `None` if they are the values themselves.
    pub fn cell(&self) -> Option<Decimal> {
        match self.unit {
            Unit::Exact => None,
            Unit::Of(width) => Some(width),
            Unit::Finest => {
                Some(self.widths.first().copied().unwrap_or(Decimal { mantissa: 1, decimals: 0 }))
            }
        }
    }

    fn grid(&self, column: &str, decimals: u32) -> Result<Grid, Failure> {
        let cell = self.cell();
        let given =
            cell.iter().chain(&self.widths).chain(&self.low).chain(&self.high).map(|d| d.reduced());
        let least = if cell.is_none() { decimals } else { 0 };
        let decimals = given.map(|d| d.decimals).fold(least, u32::max);
        let units = |d: &Decimal| {
            let too_large = || {
                Failure::policy(
                    "wrong-taxonomy-rule",
                    format!("a bound or width of `{column}` is too large beside its decimals"),
                )
            };
            d.reduced().units(decimals).ok_or_else(too_large)
        };
        let mut widths: Vec<i64> =
            cell.iter().chain(&self.widths).map(units).collect::<Result<_, _>>()?;
        widths.dedup();
        let (low, high) =
            (self.low.as_ref().map(units).transpose()?, self.high.as_ref().map(units).transpose()?);
        Ok(Grid { decimals, widths, low, high, exact: cell.is_none() })
    }
}

impl Taxonomy {
    /// Makes the taxonomy of a rule that needs no file, for the distinct values of a column
    /// (without the missing one).
    pub fn generate(
        rule: &Rule,
        column: &str,
        values: &[&str],
        has_missing: bool,
    ) -> Result<Taxonomy, Failures> {
        match rule {
            Rule::File { .. } => unreachable!("a file is read with `from_rows`"),
            Rule::Intervals(_) | Rule::Dates(_) => cells(rule, column, values, has_missing),
            Rule::Prefix(rule) => {
                let long = values.iter().filter(|v| !rule.admits(v)).count();
                if let Some(length) = rule.length.filter(|_| long > 0) {
                    return Err(too_long(column, long, length).into());
                }
                if values.iter().any(|v| v.contains(ROOT)) {
                    return Err(written_like_a_group(&format!("column `{column}`")).into());
                }
                Ok(prefix(rule, longest(values), values, has_missing, false))
            }
            Rule::Flat => {
                flat(values, has_missing, false).unambiguous(&format!("column `{column}`"))
            }
            Rule::Nested(tree) => nested(tree, column, has_missing),
        }
    }

    /// Builds from the rows of an ARX-style file: leaf first, root last. `name` is the file's, for
    /// messages.
    pub fn from_rows(
        name: &str,
        rows: Vec<Vec<String>>,
        ordered: bool,
        has_missing: bool,
    ) -> Result<Taxonomy, Failures> {
        of_rows(name, rows, ordered, has_missing, false)
    }
}

/// The taxonomy of the rows of a file; `unlisted` if there may be values that it does not list.
pub(crate) fn of_rows(
    name: &str,
    mut rows: Vec<Vec<String>>,
    ordered: bool,
    has_missing: bool,
    unlisted: bool,
) -> Result<Taxonomy, Failures> {
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
        return Err(Failure::data(
            "wrong-taxonomy",
            format!(
                "taxonomy `{name}` is declared ordered but the leaves of a node are not neighbours"
            ),
        )
        .hint("sort its lines, or leave out `ordered = true`")
        .into());
    }
    if ordered && rows.iter().any(|row| row[0].contains(", ")) {
        return Err(Failure::data(
            "wrong-taxonomy",
            format!("taxonomy `{name}` is declared ordered but a value contains `, `"),
        )
        .hint("ranges are written `[first, last]`; rename the value, or leave out `ordered = true`")
        .into());
    }
    let mut rows: Vec<Vec<String>> = order.iter().map(|&i| std::mem::take(&mut rows[i])).collect();
    let leaves: Vec<String> = rows.iter_mut().map(|row| std::mem::take(&mut row[0])).collect();
    // A file that lists the missing value itself decides where it belongs, unless that is last
    // anyway.
    let has_missing = has_missing && !leaves.iter().any(String::is_empty);
    let scale = if ordered { Scale::Ordinal } else { Scale::Nominal };
    let leaves = Leaves { texts: leaves, has_missing, unlisted, ..Leaves::default() };
    grow(scale, leaves, width - 1, |level, leaf| Cow::Borrowed(&rows[leaf][level]))
        .unambiguous(&format!("taxonomy `{name}`"))
}

/// The lines of a file in depth-first order: at every level nodes stand in the order of their first
/// line.
fn depth_first(rows: &[Vec<String>]) -> Vec<usize> {
    let width = rows[0].len();
    let mut rank: Vec<HashMap<&str, usize>> = vec![HashMap::new(); width];
    for (i, row) in rows.iter().enumerate() {
        for (level, label) in row.iter().enumerate() {
            rank[level].entry(label).or_insert(i);
        }
    }
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_cached_key(|&i| {
        (0..width).rev().map(|l| rank[l][rows[i][l].as_str()]).collect::<Vec<_>>()
    });
    order
}

/// What can be wrong with the rows of a taxonomy file, all of it.
fn check_rows(name: &str, rows: &[Vec<String>]) -> Result<(), Failures> {
    let mut problems = Failures::default();
    let Some(first) = rows.first() else {
        return Err(Failure::data("wrong-taxonomy", format!("taxonomy `{name}` is empty"))
            .hint("give one line per value: the value, then its ancestors up to one root, separated by `;`")
            .into());
    };
    let width = first.len();
    let ragged: Vec<usize> = (0..rows.len()).filter(|&i| rows[i].len() != width).collect();
    if let Some(&i) = ragged.first() {
        let more = if ragged.len() > 1 {
            format!(" (and {} more lines)", ragged.len() - 1)
        } else {
            String::new()
        };
        let found = rows[i].len();
        return Err(Failure::data("wrong-taxonomy", format!(
            "taxonomy `{name}`, line {}: {found} columns, but line 1 has {width}{more}",
            i + 1
        ))
        .hint("every line needs the value and one ancestor per level; repeat a label where a level adds nothing")
        .into());
    }
    if width < 2 {
        problems.push(
            Failure::data("wrong-taxonomy", format!("taxonomy `{name}` has one column only")).hint(
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
            problems.push(Failure::data(
                "wrong-taxonomy",
                format!(
                    "taxonomy `{name}`, line {}: the value `{}` is listed already on line {}",
                    i + 1,
                    row[0],
                    j + 1
                ),
            ));
        }
        if row[width - 1] != first[width - 1] {
            problems.push(
                Failure::data(
                    "wrong-taxonomy",
                    format!(
                        "taxonomy `{name}`, line {}: the root is `{}`, but on line 1 it is `{}`",
                        i + 1,
                        row[width - 1],
                        first[width - 1]
                    ),
                )
                .hint("end every line with the same root, for example `*`"),
            );
        }
    }
    for level in 1..width - 1 {
        let mut parent: HashMap<&str, (&str, usize)> = HashMap::new();
        for (i, row) in rows.iter().enumerate() {
            let (known, line) = *parent.entry(&row[level]).or_insert((&row[level + 1], i + 1));
            if known != row[level + 1] {
                problems.push(Failure::data("wrong-taxonomy", format!(
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
        problems.push(Failure::data(
            "more-like-these",
            format!("taxonomy `{name}`: {more} more problems like these"),
        ));
    }
    problems.or(())
}

/// A label that names different sets of values at different levels would make a release ambiguous.
fn two_meanings(name: &str, rows: &[Vec<String>], problems: &mut Failures) {
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
                        Failure::data("wrong-taxonomy", format!(
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

/// Splits the text of an ARX-style file in rows; `;` or `,` or tab, whichever the first line has.
/// Fields may be quoted.
pub fn parse_rows(name: &str, text: &str) -> Result<Vec<Vec<String>>, Failures> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let first = text.lines().next().unwrap_or("");
    let delimiter = [';', '\t', ','].into_iter().find(|&d| first.contains(d)).unwrap_or(';');
    let mut rows = Vec::new();
    for (i, line) in text.trim_end_matches(['\n', '\r']).lines().enumerate() {
        if line.trim().is_empty() {
            // Not skipped in silence: the lines in messages would no longer be those of the file.
            let problem = Failure::data(
                "wrong-taxonomy",
                format!("taxonomy `{name}`, line {}: the line is blank", i + 1),
            );
            return Err(problem.hint("delete it; a missing value needs no line").into());
        }
        match split_line(line, delimiter) {
            Some(row) => rows.push(row),
            None => {
                return Err(Failure::data(
                    "wrong-taxonomy",
                    format!("taxonomy `{name}`, line {}: a quote is not closed", i + 1),
                )
                .into());
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

/// The taxonomy of numbers or dates: its leaves are the cells that the values fall into, named by
/// the rule.
fn cells(
    rule: &Rule,
    column: &str,
    values: &[&str],
    has_missing: bool,
) -> Result<Taxonomy, Failures> {
    let scale = rule.scale(column, decimals_of(values))?;
    let mut placed: Vec<(i64, &str)> = Vec::with_capacity(values.len());
    let mut bad = 0;
    for value in values {
        match scale.cell(value) {
            Some(cell) => placed.push((cell, value)),
            None => bad += 1,
        }
    }
    if bad > 0 {
        return Err(not_on_scale(&scale, column, bad).into());
    }
    if let Scale::Number(grid) = &scale {
        let far = placed.iter().filter(|(cell, _)| !grid.can_write(*cell)).count();
        if far > 0 {
            return Err(out_of_range(column, far).into());
        }
    }
    // Texts of one cell are one value. Where values are exact the shortest text stands for `1`,
    // `01` and `1.0`.
    placed.sort_unstable_by_key(|&(cell, text)| (cell, text.len(), text));
    placed.dedup_by_key(|&mut (cell, _)| cell);
    Ok(of_cells(scale, &placed, has_missing, false))
}

fn decimals_of(values: &[&str]) -> u32 {
    values.iter().filter_map(|v| Decimal::parse(v)).map(|d| d.decimals).max().unwrap_or(0)
}

/// The same from what labels name, and the values of others. What is no word of the rule is not
/// among the leaves.
pub(crate) fn cells_of_labels(
    rule: &Rule,
    column: &str,
    labels: &[&str],
    others: &[&str],
    has_missing: bool,
) -> Result<Taxonomy, Failures> {
    let scale = rule.scale(column, decimals_of(&[labels, others].concat()))?;
    let mut placed: Vec<(i64, bool, &str)> = Vec::new();
    for label in labels {
        let cells =
            scale.parse(label).map_or([None, None], |(first, last)| [Some(first), Some(last)]);
        placed.extend(cells.into_iter().flatten().map(|cell| (cell, false, *label)));
    }
    placed.extend(others.iter().filter_map(|text| Some((scale.cell(text)?, true, *text))));
    placed.sort_unstable_by_key(|&(cell, other, text)| (cell, other, text.len(), text));
    placed.dedup_by_key(|p| p.0);
    let placed: Vec<(i64, &str)> = placed.into_iter().map(|(cell, _, text)| (cell, text)).collect();
    Ok(of_cells(scale, &placed, has_missing, true))
}

/// The taxonomy over cells in order, each with the text of a value in it.
fn of_cells(scale: Scale, placed: &[(i64, &str)], has_missing: bool, unlisted: bool) -> Taxonomy {
    let exact = matches!(&scale, Scale::Number(grid) if grid.exact);
    let leaf =
        |&(cell, text): &(i64, &str)| if exact { text.to_owned() } else { scale.text(cell, cell) };
    let leaves = placed.iter().map(leaf).collect();
    let places: Vec<i64> = placed.iter().map(|p| p.0).collect();
    let starts: Vec<i64> = places.iter().map(|&cell| scale.steps(cell).0).collect();
    let levels = match &scale {
        Scale::Number(grid) => grid.widths.len() + usize::from(grid.exact),
        Scale::Date(units) => units.len(),
        Scale::Nominal | Scale::Ordinal => 1,
    };
    let of = scale.clone();
    let label = move |level: usize, leaf: usize| match &of {
        Scale::Number(grid) => match grid.widths.get(level - usize::from(grid.exact)) {
            Some(&width) => Cow::Owned(grid.interval(starts[leaf], width)),
            None => Cow::Borrowed(ROOT),
        },
        Scale::Date(units) => match units.get(level) {
            Some(unit) => Cow::Owned(unit.label(starts[leaf])),
            None => Cow::Borrowed(ROOT),
        },
        Scale::Nominal | Scale::Ordinal => Cow::Borrowed(ROOT),
    };
    grow(scale, Leaves { texts: leaves, positions: places, has_missing, unlisted }, levels, label)
}

/// The problem that numbers are so large that no interval around them can be written.
fn out_of_range(column: &str, far: usize) -> Failure {
    let values = match far {
        1 => format!("one value of column `{column}` is"),
        _ => format!("{far} distinct values of column `{column}` are"),
    };
    let message = format!("{values} out of range: an interval around it would need 19 digits");
    Failure::data("number-too-large", message).column(column).hint(
        "say where numbers end with `low` and `high`, or list the text that means missing under `missing`",
    )
}

/// The problem that values are no numbers or dates; says how many.
fn not_on_scale(scale: &Scale, column: &str, bad: usize) -> Failure {
    let (kind, hint) = match scale {
        Scale::Date(_) => (
            "date of the form YYYY-MM-DD",
            "write dates as YYYY-MM-DD, or list the text that means missing under `missing`"
                .to_owned(),
        ),
        _ => (
            "number of at most 18 digits",
            format!(
                "give `{column}` another taxonomy, or list the text that means missing under `missing`"
            ),
        ),
    };
    let message = match bad {
        1 => format!("one value of column `{column}` is not a {kind}"),
        _ => format!(
            "{bad} distinct values of column `{column}` are not {}",
            kind.replacen(' ', "s ", 1)
        ),
    };
    Failure::data("not-on-scale", message).hint(hint)
}

/// Number of characters of the longest text.
pub(crate) fn longest(texts: &[&str]) -> usize {
    texts.iter().map(|text| text.chars().count()).max().unwrap_or(0)
}

/// The problem that values are longer than the policy declares; says how many.
fn too_long(column: &str, long: usize, length: usize) -> Failure {
    let values = match long {
        1 => format!("one value of column `{column}` is"),
        _ => format!("{long} distinct values of column `{column}` are"),
    };
    Failure::data(
        "longer-than-declared",
        format!("{values} longer than its declared length of {length}"),
    )
    .hint(
        "raise `length` to that of the longest code there may be, or list the text under `missing`",
    )
}

/// The taxonomy of masked texts. `longest` counts only where no length is declared: there is a level
/// for every number of characters below it.
pub(crate) fn prefix(
    rule: &Prefix,
    longest: usize,
    values: &[&str],
    has_missing: bool,
    unlisted: bool,
) -> Taxonomy {
    let mut values: Vec<&str> = values.to_vec();
    values.sort_unstable();
    let texts = values.iter().map(|v| (*v).to_owned()).collect();
    let longest = rule.length.unwrap_or(longest);
    let keep: Vec<usize> = if rule.keep.is_empty() {
        (1..longest).rev().collect()
    } else {
        rule.keep.iter().copied().filter(|&n| n < longest).collect()
    };
    let label = |level: usize, leaf: usize| match keep.get(level - 1) {
        Some(&keep) => Cow::Owned(rule.mask(values[leaf], keep)),
        None => Cow::Borrowed(ROOT),
    };
    let leaves = Leaves { texts, has_missing, unlisted, ..Leaves::default() };
    let taxonomy = grow(Scale::Nominal, leaves, keep.len() + 1, label);
    let declared = match rule.length {
        // Levels that keep all of every text that there may be are none.
        Some(_) if !rule.keep.is_empty() => keep.clone(),
        _ => rule.keep.clone(),
    };
    let length = rule.length;
    taxonomy.masking(Prefix { keep, length }, Prefix { keep: declared, length })
}

pub(crate) fn flat(values: &[&str], has_missing: bool, unlisted: bool) -> Taxonomy {
    // Numbers stand in numeric order, so that an ordered distance on a flat sensitive attribute
    // means what it says.
    let mut leaves: Vec<&str> = values.to_vec();
    let key =
        |v: &str| Decimal::parse(v).map(|d| d.mantissa as f64 / 10f64.powi(d.decimals as i32));
    if leaves.iter().all(|v| key(v).is_some()) {
        leaves.sort_by(|a, b| {
            key(a).partial_cmp(&key(b)).unwrap_or(std::cmp::Ordering::Equal).then(a.cmp(b))
        });
    } else {
        leaves.sort_unstable();
    }
    let texts = leaves.into_iter().map(str::to_owned).collect();
    grow(Scale::Nominal, Leaves { texts, has_missing, unlisted, ..Leaves::default() }, 1, |_, _| {
        Cow::Borrowed(ROOT)
    })
}

fn nested(tree: &Tree, column: &str, has_missing: bool) -> Result<Taxonomy, Failures> {
    Taxonomy::from_rows(
        &format!("attributes.{column}.taxonomy.nested"),
        nested_rows(tree),
        false,
        has_missing,
    )
}

/// The rows of a file for a tree that is written out.
pub(crate) fn nested_rows(tree: &Tree) -> Vec<Vec<String>> {
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
    rows
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

    fn messages(result: Result<Taxonomy, Failures>) -> String {
        result.err().map(|p| p.to_string()).unwrap_or_default()
    }

    #[test]
    fn every_mistake_in_a_file_is_named() {
        let bad =
            messages(Taxonomy::from_rows("f", rows("a;x;*\nb;x;*\na;y;*\nc;y;+\n"), false, false));
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

    fn masked(rule: Prefix, zips: &[&str]) -> Result<Taxonomy, Failures> {
        Taxonomy::generate(&Rule::Prefix(rule), "zip", zips, false)
    }

    #[test]
    fn prefixes_mask_from_the_right() {
        let zips = ["13053", "13068", "14850", "14853"];
        let t = masked(Prefix { length: Some(5), ..Prefix::default() }, &zips).unwrap();
        assert_eq!(t.levels(), 5);
        assert_eq!(t.label(Run::new(0, 1)), "130**");
        assert_eq!(t.label(Run::new(2, 3)), "1485*");
        assert_eq!(t.label(t.root()), "1****");
        assert_eq!(t.shown_at(5).label(t.root()), "*", "at its level");
        assert_eq!(t.parse("1****"), Some(t.root()));
        let longer = masked(Prefix { length: Some(7), ..Prefix::default() }, &zips).unwrap();
        assert_eq!((longer.levels(), &*longer.label(Run::new(0, 1))), (7, "130****"));
    }

    #[test]
    fn a_mask_of_no_declared_length_does_not_tell_the_longest_value() {
        let zips = ["13053", "13068", "14850-1234", "14853"];
        for n in [2, 4] {
            let t = masked(Prefix::default(), &zips[..n]).unwrap();
            assert_eq!(t.label(Run::new(0, 1)), "130*");
            let kept = masked(Prefix { keep: vec![3], length: None }, &zips[..n]).unwrap();
            assert_eq!((kept.levels(), &*kept.label(Run::new(0, 1))), (2, "130*"));
        }
    }

    #[test]
    fn longer_values_than_declared_are_counted_and_not_quoted() {
        let five = Prefix { length: Some(5), ..Prefix::default() };
        let bad = messages(masked(five.clone(), &["13053", "14850-1234", "14853-1"]));
        assert!(bad.contains("2 distinct values of column `zip` are longer than"), "{bad}");
        assert!(bad.contains("declared length of 5") && !bad.contains("1234"), "{bad}");
        for rule in [five, Prefix::default()] {
            let bad = messages(masked(rule, &["13053", "130**"]));
            assert!(bad.contains("written like a group of values"), "{bad}");
        }
    }
}
