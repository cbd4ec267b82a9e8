//! Taxonomies: how the values of an attribute may be generalized.
//!
//! Leaves are numbered so that every node of the tree is a run of neighbouring codes. A generalized value is then a
//! [`Run`], a region is a vector of runs, and "is this value below that node" is two comparisons. Besides the tree a
//! taxonomy has a *scale*: on an ordered scale (numbers, dates, or a file declared `ordered`) every run of leaves can be
//! published, as a range; on the nominal scale only nodes can.
//!
//! A taxonomy is read from an ARX-style CSV (one line per leaf: the leaf, then its ancestors up to the root), given as
//! a nested list, or generated from the values by a rule: [`Rule`].
//!
//! The leaves of a generated taxonomy are the values that occur in the data. They never leave: a manifest records the
//! rule, not the leaves.

use crate::class::Run;
use crate::problem::{Problem, Problems};
use hashbrown::HashMap;
use std::borrow::Cow;
use std::fmt::Write;

/// The root's label wherever a rule does not name it; also what a suppressed cell shows.
pub const ROOT: &str = "*";

/// How the leaves of a taxonomy are related to each other besides the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Categories without an order: only nodes of the tree can be published.
    Nominal,
    /// Categories in the order of their file: any run of them can be published as a range.
    Ordinal,
    /// Decimal numbers; positions are in units of 10^-decimals.
    Number {
        /// Digits after the decimal point.
        decimals: u32,
    },
    /// Calendar days.
    Date,
}

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

/// A calendar unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Granularity {
    Week,
    Month,
    Quarter,
    Year,
    Decade,
}

impl Granularity {
    /// Every unit with its name in a policy, from fine to coarse.
    pub const ALL: [(&'static str, Granularity); 5] = [
        ("week", Granularity::Week),
        ("month", Granularity::Month),
        ("quarter", Granularity::Quarter),
        ("year", Granularity::Year),
        ("decade", Granularity::Decade),
    ];

    /// The name in a policy.
    pub fn name(self) -> &'static str {
        Granularity::ALL.iter().find(|(_, g)| *g == self).map_or("", |(name, _)| name)
    }

    fn label(self, day: i64) -> String {
        let (year, month, _) = civil(day);
        match self {
            // The Monday that starts the week; unlike a week number it needs no rule about years.
            Granularity::Week => format!("week of {}", iso_date(day - (day + 3).rem_euclid(7))),
            Granularity::Month => format!("{year:04}-{month:02}"),
            Granularity::Quarter => format!("{year:04}-Q{}", (month - 1) / 3 + 1),
            Granularity::Year => format!("{year:04}"),
            Granularity::Decade => format!("{:04}s", year.div_euclid(10) * 10),
        }
    }
}

/// A decimal number as written: mantissa · 10^-decimals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decimal {
    /// All digits, signed.
    pub mantissa: i64,
    /// Digits after the point.
    pub decimals: u32,
}

impl Decimal {
    /// Reads `-12`, `3.50`; no exponents, at most 18 digits.
    pub fn parse(text: &str) -> Option<Decimal> {
        let text = text.trim();
        let (sign, digits) = match text.as_bytes().first()? {
            b'-' => (-1, &text[1..]),
            b'+' => (1, &text[1..]),
            _ => (1, text),
        };
        let (mut mantissa, mut decimals, mut point, mut any) = (0i64, 0, false, 0);
        for b in digits.bytes() {
            match b {
                b'0'..=b'9' => {
                    mantissa = mantissa.checked_mul(10)?.checked_add(i64::from(b - b'0'))?;
                    decimals += u32::from(point);
                    any += 1;
                }
                b'.' if !point => point = true,
                _ => return None,
            }
        }
        (any > 0 && any <= 18).then_some(Decimal { mantissa: sign * mantissa, decimals })
    }

    /// The number in units of 10^-decimals; `None` if that does not fit.
    pub fn units(self, decimals: u32) -> Option<i64> {
        self.mantissa.checked_mul(10i64.checked_pow(decimals.checked_sub(self.decimals)?)?)
    }

    /// Writes it as text, all decimals shown.
    pub fn show(units: i64, decimals: u32) -> String {
        if decimals == 0 {
            return units.to_string();
        }
        let (power, sign) = (10u64.pow(decimals), if units < 0 { "-" } else { "" });
        let (int, frac) = (units.unsigned_abs() / power, units.unsigned_abs() % power);
        format!("{sign}{int}.{frac:0width$}", width = decimals as usize)
    }
}

/// Days since 1970-01-01 of `YYYY-MM-DD`; a time of day after it is ignored.
pub fn parse_date(text: &str) -> Option<i64> {
    let text = text.trim();
    let bytes = text.as_bytes();
    let day_only = bytes.len() == 10 || matches!(bytes.get(10), Some(b'T' | b' '));
    if !day_only || bytes[4] != b'-' || bytes[7] != b'-' {
        return None;
    }
    let number = |range: std::ops::Range<usize>| {
        bytes[range].iter().try_fold(0i64, |n, b| b.is_ascii_digit().then(|| n * 10 + i64::from(b - b'0')))
    };
    let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let in_month = *days.get(usize::try_from(month - 1).ok()?)?;
    (1..=in_month).contains(&day).then(|| days_from_civil(year, month, day))
}

/// Days since 1970-01-01 (proleptic Gregorian; Howard Hinnant's method: years start in March, so the leap day is last).
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let y = if month <= 2 { year - 1 } else { year };
    let (era, yoe) = (y.div_euclid(400), y.rem_euclid(400));
    let doy = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719_468
}

/// Year, month, day of a day number.
fn civil(day: i64) -> (i64, i64, i64) {
    let z = day + 719_468;
    let (era, doe) = (z.div_euclid(146_097), z.rem_euclid(146_097));
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let month = if mp < 10 { mp + 3 } else { mp - 9 };
    (yoe + era * 400 + i64::from(month <= 2), month, doy - (153 * mp + 2) / 5 + 1)
}

fn iso_date(day: i64) -> String {
    let (y, m, d) = civil(day);
    format!("{y:04}-{m:02}-{d:02}")
}

/// A node above the leaves: a label, the run of leaves below it, and its place in the tree.
#[derive(Clone, Debug)]
struct Node {
    label: String,
    run: Run,
    children: Vec<u32>,
    /// Longest way down to a leaf, in levels of the taxonomy: the `level` of Li et al.'s hierarchical distance.
    height: u32,
}

/// A tree over leaf codes, and the labels that stand for its nodes.
#[derive(Clone, Debug)]
pub struct Taxonomy {
    scale: Scale,
    /// Label of each leaf; the missing value, if it has one, is the last leaf and has the label "".
    leaves: Vec<String>,
    /// Place of each leaf on a number or date scale.
    positions: Vec<i64>,
    has_missing: bool,
    /// Node identifiers: below `leaves.len()` a leaf, above it `nodes[id - leaves.len()]`. One node per distinct run:
    /// a level that only renames a node adds an alias, not a node.
    nodes: Vec<Node>,
    parents: Vec<u32>,
    /// `ladder[l][leaf]`: the node at level l + 1 above the leaf. The last level is the root.
    ladder: Vec<Vec<u32>>,
    /// Every label to its node, aliases included.
    labels: HashMap<String, u32>,
    /// What a node is called at a level that only renames it.
    aliases: HashMap<(u32, u32), String>,
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
        let width = rows[0].len();
        let order = depth_first(&rows);
        if ordered && !order.is_sorted() {
            return Err(Problem::new(format!(
                "taxonomy `{name}` is declared ordered but the leaves of a node are not neighbours"
            ))
            .hint("sort its lines, or leave out `ordered = true`")
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

    /// Number of leaf codes.
    pub fn leaves(&self) -> usize {
        self.leaves.len()
    }

    /// Number of levels above the leaves.
    pub fn levels(&self) -> usize {
        self.ladder.len()
    }

    /// The scale of the leaves.
    pub fn scale(&self) -> &Scale {
        &self.scale
    }

    /// Whether any run of leaves can be published, not only nodes.
    pub fn is_ordered(&self) -> bool {
        self.scale != Scale::Nominal
    }

    /// The code of the missing value, if it is a leaf of its own.
    pub fn missing(&self) -> Option<u32> {
        self.has_missing.then(|| self.leaves.len() as u32 - 1)
    }

    /// The text of a leaf.
    pub fn leaf(&self, code: u32) -> &str {
        &self.leaves[code as usize]
    }

    /// The run of all leaves.
    pub fn root(&self) -> Run {
        Run::new(0, self.leaves.len() as u32 - 1)
    }

    /// The leaf code of every leaf text.
    pub fn codes(&self) -> HashMap<&str, u32, foldhash::fast::FixedState> {
        self.leaves.iter().enumerate().map(|(i, text)| (text.as_str(), i as u32)).collect()
    }

    /// The run of the node at a level above the leaf; level 0 is the leaf itself.
    pub fn at_level(&self, leaf: u32, level: usize) -> Run {
        if level == 0 { Run::new(leaf, leaf) } else { self.run(self.ladder[level - 1][leaf as usize]) }
    }

    /// The smallest publishable run that covers the given one: itself on an ordered scale, a node otherwise.
    pub fn cover(&self, run: Run) -> Run {
        if self.is_ordered() {
            // A range cannot say "or missing": such a cell shows nothing.
            let mixed = self.missing().is_some_and(|m| run.last == m && run.first < m);
            return if mixed { self.root() } else { run };
        }
        self.run(self.node(run))
    }

    /// The smallest node that covers the run, as an identifier for [`Taxonomy::children`].
    fn node(&self, run: Run) -> u32 {
        let mut id = run.first;
        while !self.run(id).covers(run) {
            id = self.parents[id as usize];
        }
        id
    }

    /// The runs of the children of the smallest node that covers the run; none for a leaf.
    pub fn children(&self, run: Run) -> Vec<Run> {
        let id = self.node(run) as usize;
        match id.checked_sub(self.leaves.len()) {
            None => Vec::new(),
            Some(i) => self.nodes[i].children.iter().map(|&c| self.run(c)).collect(),
        }
    }

    fn run(&self, id: u32) -> Run {
        match (id as usize).checked_sub(self.leaves.len()) {
            None => Run::new(id, id),
            Some(i) => self.nodes[i].run,
        }
    }

    /// What a release shows for a run: the node's label, or a range.
    pub fn label(&self, run: Run) -> Cow<'_, str> {
        let run = self.cover(run);
        if run.first == run.last {
            return Cow::Borrowed(self.leaf(run.first));
        }
        let number_like = matches!(self.scale, Scale::Number { .. } | Scale::Date);
        if self.is_ordered() && (number_like || self.run(self.node(run)) != run) && !self.holds_missing(run) {
            return Cow::Owned(format!("[{}, {}]", self.leaf(run.first), self.leaf(run.last)));
        }
        if number_like {
            return Cow::Borrowed(ROOT);
        }
        match (self.node(run) as usize).checked_sub(self.leaves.len()) {
            None => Cow::Borrowed(self.leaf(run.first)),
            Some(i) => Cow::Borrowed(&self.nodes[i].label),
        }
    }

    fn holds_missing(&self, run: Run) -> bool {
        self.missing() == Some(run.last)
    }

    /// The run that a published label stands for: a leaf, a node, or a range.
    pub fn parse(&self, label: &str) -> Option<Run> {
        if let Some(&id) = self.labels.get(label) {
            return Some(self.run(id));
        }
        if label == ROOT {
            return Some(self.root());
        }
        if !self.is_ordered() {
            return None;
        }
        let inner = label.strip_prefix('[')?.strip_suffix(']')?;
        // The ends may contain `, ` themselves, so every place is tried.
        inner.match_indices(", ").find_map(|(i, sep)| {
            let first = *self.labels.get(&inner[..i])?;
            let last = *self.labels.get(&inner[i + sep.len()..])?;
            let (first, last) = (self.run(first), self.run(last));
            (first.first <= last.last).then(|| Run::new(first.first, last.last))
        })
    }

    /// Number of domain values under a published run: what losses are measured in. On a number or date scale the
    /// domain is every multiple of the unit between the ends, not only the values that occur.
    pub fn size(&self, run: Run) -> u64 {
        let run = self.cover(run);
        if self.positions.is_empty() {
            return u64::from(run.width());
        }
        match self.missing() {
            Some(m) if run.first == m => 1,
            Some(m) if run.last == m => self.span(run.first, m - 1) + 1,
            _ => self.span(run.first, run.last),
        }
    }

    fn span(&self, first: u32, last: u32) -> u64 {
        self.positions[last as usize].abs_diff(self.positions[first as usize]) + 1
    }

    /// Generalization loss of a published run: (size − 1) / (size of the domain − 1); 0 if the domain has one value.
    pub fn loss(&self, run: Run) -> f64 {
        let domain = self.size(self.root()) - 1;
        if domain == 0 { 0.0 } else { (self.size(run) - 1) as f64 / domain as f64 }
    }

    /// Place of a leaf on a number or date scale; its code on the others.
    pub fn position(&self, leaf: u32) -> i64 {
        self.positions.get(leaf as usize).copied().unwrap_or(i64::from(leaf))
    }

    /// Height of the tree in levels; at least 1.
    pub fn height(&self) -> u32 {
        self.ladder.len().max(1) as u32
    }

    /// Calls `visit(height, children)` for every node above the leaves, children before parents. The runs of the
    /// children are given; together they are the node's run.
    pub fn visit_nodes(&self, mut visit: impl FnMut(u32, &[Run])) {
        for node in &self.nodes {
            let children: Vec<Run> = node.children.iter().map(|&c| self.run(c)).collect();
            visit(node.height, &children);
        }
    }

    /// The rows of an ARX-style file for this taxonomy, without the missing value: leaf first, root last.
    pub fn rows(&self) -> Vec<Vec<String>> {
        let last = self.leaves.len() - usize::from(self.has_missing);
        let mut rows = Vec::with_capacity(last);
        for leaf in 0..last {
            let mut row = vec![self.leaves[leaf].clone()];
            row.extend((1u32..).zip(&self.ladder).map(|(level, nodes)| {
                let id = nodes[leaf];
                self.aliases.get(&(level, id)).map_or_else(|| self.node_label(id), String::as_str).to_owned()
            }));
            rows.push(row);
        }
        rows
    }

    fn node_label(&self, id: u32) -> &str {
        match (id as usize).checked_sub(self.leaves.len()) {
            None => &self.leaves[id as usize],
            Some(i) => &self.nodes[i].label,
        }
    }
}

/// Builds tree, ladder and labels bottom-up from the label of every leaf at every level (1 … levels). Labels of one
/// node are neighbours, since the leaves are in depth-first order; a missing leaf stands directly under the root.
fn grow<'a>(
    scale: Scale,
    leaves: Vec<String>,
    positions: Vec<i64>,
    has_missing: bool,
    levels: usize,
    label: impl Fn(usize, usize) -> Cow<'a, str>,
) -> Taxonomy {
    let n = leaves.len();
    let real = n - usize::from(has_missing);
    let mut t = Taxonomy {
        scale,
        positions,
        has_missing,
        nodes: Vec::new(),
        parents: vec![u32::MAX; n],
        ladder: Vec::with_capacity(levels),
        labels: HashMap::with_capacity(n),
        aliases: HashMap::new(),
        leaves: Vec::new(),
    };
    for (i, text) in leaves.iter().enumerate() {
        t.labels.insert(text.clone(), i as u32);
    }
    t.leaves = leaves;
    let mut below: Vec<u32> = (0..n as u32).collect();
    for level in 1..=levels {
        let mut here: Vec<u32> = below.clone();
        let mut start = 0;
        while start < real {
            let name = label(level, start);
            let mut end = start + 1;
            while end < real && (level == levels || label(level, end) == name) {
                end += 1;
            }
            // At the top the missing value joins the rest.
            let end = if level == levels { n } else { end };
            let id = t.join(&below[start..end], name.into_owned(), start, end, level as u32);
            here[start..end].fill(id);
            start = end;
        }
        t.ladder.push(here.clone());
        below = here;
    }
    t
}

impl Taxonomy {
    /// The node over the run of leaves `start..end`, whose nodes one level down are `below`.
    fn join(&mut self, below: &[u32], label: String, start: usize, end: usize, height: u32) -> u32 {
        let mut children = below.to_vec();
        children.dedup();
        if children.len() == 1 {
            // Only a new name for the same run.
            self.labels.entry(label.clone()).or_insert(children[0]);
            if self.node_label(children[0]) != label {
                self.aliases.insert((height, children[0]), label);
            }
            return children[0];
        }
        let id = (self.leaves.len() + self.nodes.len()) as u32;
        for &c in &children {
            self.parents[c as usize] = id;
        }
        self.parents.push(u32::MAX);
        // What is published is a leaf's text or a node's label, so a mere alias gives way to a node of that name.
        if self.labels.get(&label).is_none_or(|&other| self.node_label(other) != label) {
            self.labels.insert(label.clone(), id);
        }
        self.nodes.push(Node { label, run: Run::new(start as u32, end as u32 - 1), children, height });
        id
    }

    /// Refuses values that are written like a group of values (`*`, `13***`): a published label has one meaning.
    fn unambiguous(self, of: &str) -> Result<Taxonomy, Problems> {
        let id = |i: usize| (self.leaves.len() + i) as u32;
        let nodes = (0..self.nodes.len()).map(|i| (&self.nodes[i].label, id(i)));
        let aliases = self.aliases.iter().map(|(&(_, id), label)| (label, id));
        if nodes.chain(aliases).any(|(label, id)| self.labels.get(label) != Some(&id)) {
            let problem = Problem::new(format!("{of} has a value that is written like a group of values, such as `*`"));
            return Err(problem.hint("rename it, or list it under `missing`").into());
        }
        Ok(self)
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
        if let Some(j) = seen.insert(row[0].as_str(), i) {
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
    for (i, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
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
        let what = if bad == 1 { "value that is" } else { "values that are" };
        return Err(Problem::new(format!("column `{column}` has {bad} distinct {what} not {kind}")).hint(hint).into());
    }
    placed.sort_unstable();
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
    let kind = "numbers of at most 18 digits";
    let (leaves, places) = place_all(column, kind, &hint, values, |v| Decimal::parse(v)?.units(decimals))?;
    let (leaves, places) = with_missing(leaves, places, has_missing);
    let units = |d: &Decimal| d.units(decimals).unwrap_or(i64::MAX);
    let widths: Vec<i64> = rule.widths.iter().map(units).collect();
    let (low, high) = (rule.low.as_ref().map(units), rule.high.as_ref().map(units));
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
    let (leaves, places) = place_all(column, "dates of the form YYYY-MM-DD", hint, values, parse_date)?;
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

    fn rows(text: &str) -> Vec<Vec<String>> {
        parse_rows("t", text).unwrap()
    }

    fn messages(result: Result<Taxonomy, Problems>) -> String {
        result.err().map(|p| p.to_string()).unwrap_or_default()
    }

    #[test]
    fn file_nodes_are_runs_even_when_lines_are_mixed() {
        let t = Taxonomy::from_rows(
            "job",
            rows("Engineer;Professional;*\nWriter;Artist;*\nLawyer;Professional;*\nDancer;Artist;*\n"),
            false,
            true,
        )
        .unwrap();
        assert_eq!((t.leaves(), t.levels(), t.missing()), (5, 2, Some(4)));
        let code = t.codes();
        let run = |a: &str, b: &str| Run::new(code[a].min(code[b]), code[a].max(code[b]));
        assert_eq!(t.label(run("Engineer", "Lawyer")), "Professional");
        assert_eq!(t.label(run("Writer", "Dancer")), "Artist");
        assert_eq!(t.label(run("Lawyer", "Writer")), "*");
        assert_eq!(t.parse("Artist"), Some(run("Writer", "Dancer")));
        assert_eq!(t.children(t.root()).len(), 3, "two groups and the missing value");
        assert_eq!(t.size(run("Writer", "Dancer")), 2);
    }

    #[test]
    fn every_mistake_in_a_file_is_named() {
        let bad = messages(Taxonomy::from_rows("f", rows("a;x;*\nb;x;*\na;x;*\nc;y;+\n"), false, false));
        assert!(bad.contains("line 3: the value `a` is listed already on line 1"), "{bad}");
        assert!(bad.contains("line 4: the root is `+`, but on line 1 it is `*`"), "{bad}");
        let two = messages(Taxonomy::from_rows("f", rows("a;x;p;*\nb;x;q;*\n"), false, false));
        assert!(two.contains("line 2: `x` is below `q`, but on line 1 it is below `p`"), "{two}");
        let ragged = messages(Taxonomy::from_rows("f", rows("a;x;*\nb;*\n"), false, false));
        assert!(ragged.contains("line 2: 2 columns, but line 1 has 3"), "{ragged}");
        assert!(messages(Taxonomy::from_rows("f", vec![], false, false)).contains("is empty"));
        let again = messages(Taxonomy::from_rows("f", rows("a;x;*\nb;x;*\nx;y;*\n"), false, false));
        assert!(again.contains("stands for other values"), "{again}");
    }

    #[test]
    fn intervals_nest_and_have_open_ends() {
        let widths = ["5", "10"].iter().filter_map(|w| Decimal::parse(w)).collect();
        let rule = Rule::Intervals(Intervals { widths, low: Decimal::parse("20"), high: Decimal::parse("90") });
        let t = Taxonomy::generate(&rule, "age", &["22", "17", "29", "90", "91", "24"], true).unwrap();
        let at = |text: &str, level| t.parse_level(text, level);
        assert_eq!(at("22", 1), "[20, 25)");
        assert_eq!(at("22", 2), "[20, 30)");
        assert_eq!(at("17", 1), "<20");
        assert_eq!(at("91", 2), ">=90");
        assert_eq!(at("91", 3), "*");
        assert_eq!(t.label(Run::new(1, 3)), "[22, 29]");
        assert_eq!(t.label(t.root()), "*", "a range with the missing value shows nothing");
        assert_eq!(t.size(Run::new(1, 3)), 8);
        assert_eq!(t.parse("[22, 29]"), Some(Run::new(1, 3)));
    }

    impl Taxonomy {
        fn parse_level(&self, leaf: &str, level: usize) -> String {
            let code = self.codes()[leaf] as usize;
            let id = self.ladder[level - 1][code];
            let named = self.labels.iter().filter(|&(_, &i)| i == id).map(|(l, _)| l.clone());
            // A level that only renames a leaf is an alias; prefer what is not the leaf itself.
            named.max_by_key(|l| (l != leaf, l.len())).unwrap_or_default()
        }
    }

    #[test]
    fn dates_know_the_calendar() {
        assert_eq!(parse_date("1970-01-01"), Some(0));
        assert_eq!(parse_date("2000-03-01"), Some(11_017));
        assert_eq!(parse_date("2024-02-29 10:00"), Some(19_782));
        for bad in ["2023-02-29", "2023-13-01", "1.2.2023", "2023-1-1", "", "2023-01-01x"] {
            assert_eq!(parse_date(bad), None, "{bad}");
        }
        for day in -800_000..800_000 {
            assert_eq!(parse_date(&iso_date(day)).unwrap_or(day), day);
        }
        assert_eq!(Granularity::Week.label(parse_date("2026-11-15").unwrap()), "week of 2026-11-09");
        assert_eq!(Granularity::Quarter.label(parse_date("2026-11-15").unwrap()), "2026-Q4");
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

    #[test]
    fn decimals_keep_their_places() {
        assert_eq!(Decimal::parse("-3.50"), Some(Decimal { mantissa: -350, decimals: 2 }));
        assert_eq!(Decimal::show(-350, 2), "-3.50");
        assert_eq!(Decimal::show(5, 3), "0.005");
        for bad in ["", "-", ".", "1e5", "1.2.3", "1234567890123456789", "é"] {
            assert_eq!(Decimal::parse(bad), None, "{bad}");
        }
    }
}
