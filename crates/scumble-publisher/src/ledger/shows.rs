//! What a release shows of protected columns, and what that says about true values.

use super::entry::Shown;
use super::files::{Counts, Groups};
use hashbrown::HashMap;
use scumble::class::Run;
use scumble::exact::Ratio;
use scumble::freeform::observability;
use scumble::gate::{Cell, Part, Statement};
use scumble::perturb::{Step, published_as, published_within};
use scumble::policy::HistoryPolicy;
use scumble::table::Attribute;
use scumble::taxonomy::{Decimal, Scale, Taxonomy};
use serde::{Deserialize, Serialize};

/// The protected columns of a release, and what its groups show of them.
pub(crate) struct Shows {
    /// The columns.
    pub attributes: Vec<String>,
    /// How it shows each.
    pub shown: Vec<Shown>,
    /// Its groups.
    pub groups: Groups,
    /// What they show: rows of all columns together, or of each by itself where rows are not known.
    pub tables: Vec<Counts>,
    /// Values that the key stands for, as far as they are known here.
    pub leaves: HashMap<String, String>,
}

/// What the key makes of a value of a column, which renaming does not change.
pub(crate) type Hide<'a> = dyn Fn(&str) -> String + 'a;

/// A label of a generalized column, as a ledger keeps it: the values below it that were not
/// published stay behind the key.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Label {
    label: String,
    /// What somebody who knows the person may observe of it, if that is less than the label.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    seen: Option<String>,
    /// It is a value.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    leaf: bool,
    /// The values below it, as the key writes them.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    among: Vec<String>,
    /// The numbers below it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    between: Option<(String, String)>,
    /// What lies in its cells.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    within: Option<Within>,
}

/// The numbers or dates in some cells of a scale.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Within {
    /// From a number on, below another; a missing end is open.
    Numbers(Option<String>, Option<String>),
    /// From a day on, before another, in days since 1970.
    Days(i64, i64),
}

impl Within {
    /// What lies in the cells of a run; `None` if its leaves are values.
    fn of(taxonomy: &Taxonomy, run: Run) -> Option<Within> {
        match taxonomy.scale() {
            Scale::Number(grid) if !grid.exact => {
                let cells = taxonomy.cells(run)?;
                let (from, below) = grid.bounds(cells);
                let show = |units: i64| Decimal::show(units, grid.decimals);
                Some(Within::Numbers(from.map(show), below.map(show)))
            }
            Scale::Date(_) => {
                let (first, last) = taxonomy.steps(run)?;
                Some(Within::Days(first, last + 1))
            }
            _ => None,
        }
    }

    /// What a published value in these cells says about the true one, which was changed by these
    /// steps before; nothing if that cannot be said.
    fn cell(&self, steps: &[Step], decimals: u32) -> Cell {
        match self {
            Within::Days(from, before) if steps.is_empty() => Cell::Days(*from, *before),
            Within::Days(..) => Cell::Anything,
            Within::Numbers(from, below) => {
                let number = |text: &Option<String>| text.as_deref().and_then(Decimal::parse);
                let (from, below) = (number(from), number(below));
                if steps.is_empty() {
                    return Cell::Numbers(from, below);
                }
                let within = published_within(steps, decimals, from, below);
                within.map_or(Cell::Anything, |(low, high)| Cell::Between(low, high))
            }
        }
    }
}

/// The label of a run as far as it can be observed by whoever observes values that are at least so
/// observable.
pub(crate) fn observed(attribute: &Attribute, run: Run, least: Ratio) -> String {
    let mut nodes = std::iter::once(run).chain(attribute.taxonomy.above(run));
    let node = nodes.find(|node| observability(attribute, *node) >= least);
    node.map_or_else(String::new, |node| attribute.taxonomy.label(node).into_owned())
}

impl Label {
    /// What the label of a run says, to whoever observes values that are at least so observable.
    /// `leaves` learns what the key stands for.
    pub fn of(
        hide: &Hide<'_>,
        attribute: &Attribute,
        run: Run,
        least: Ratio,
        leaves: &mut HashMap<String, String>,
    ) -> Label {
        let taxonomy = &attribute.taxonomy;
        let mut label = Label { label: taxonomy.label(run).into_owned(), ..Label::default() };
        label.seen = Some(observed(attribute, run, least)).filter(|seen| *seen != label.label);
        // The root says nothing: there may be values that the extract does not have.
        if run != taxonomy.root() || taxonomy.leaves() == 1 {
            label.within = Within::of(taxonomy, run);
        }
        if label.within.is_some() {
            return label;
        }
        if run.first == run.last {
            leaves.insert(hide(taxonomy.leaf(run.first)), taxonomy.leaf(run.first).to_owned());
            return Label { label: taxonomy.leaf(run.first).to_owned(), leaf: true, ..label };
        }
        if run == taxonomy.root() {
            return label;
        }
        if matches!(taxonomy.scale(), Scale::Number { .. }) {
            let mut codes = (run.first..=run.last).filter(|&c| Some(c) != taxonomy.missing());
            let ends = codes.next().map(|first| (first, codes.next_back().unwrap_or(first)));
            label.between =
                ends.map(|(a, b)| (taxonomy.leaf(a).to_owned(), taxonomy.leaf(b).to_owned()));
            return label;
        }
        for leaf in run.first..=run.last {
            let (text, hidden) = (taxonomy.leaf(leaf), hide(taxonomy.leaf(leaf)));
            leaves.insert(hidden.clone(), text.to_owned());
            label.among.push(hidden);
        }
        label
    }

    /// As text, for the ledger's files.
    pub fn write(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// From the text of a ledger's file.
    pub fn read(text: &str) -> Label {
        serde_json::from_str(text).unwrap_or_default()
    }

    /// What somebody who knows the person may observe of it.
    pub fn observed(self) -> String {
        self.seen.unwrap_or(self.label)
    }

    fn cell(self, leaves: &HashMap<String, String>) -> Cell {
        if let Some(within) = &self.within {
            return within.cell(&[], 0);
        }
        if self.leaf {
            return Cell::Value(self.label);
        }
        if let Some((low, high)) = self.between {
            return Cell::Between(Decimal::parse(&low), Decimal::parse(&high));
        }
        if self.among.is_empty() {
            return Cell::Anything;
        }
        Cell::Among(self.among.iter().map(|hidden| told(hidden, leaves)).collect())
    }
}

/// The values of a freeform column that are guarded: what the key makes of each, or the cells that
/// they are in.
pub(crate) fn guarded(hide: &Hide<'_>, attribute: &Attribute, leaf: u32) -> String {
    let run = Run::new(leaf, leaf);
    match Within::of(&attribute.taxonomy, run) {
        Some(within) => Label { within: Some(within), ..Label::default() }.write(),
        None => hide(attribute.taxonomy.leaf(leaf)),
    }
}

/// The cell of what [`guarded`] wrote.
pub(crate) fn guarded_cell(written: &str, leaves: &HashMap<String, String>) -> Cell {
    // What a key makes of a value are hexadecimal digits.
    match written.starts_with('{') {
        true => Label::read(written).cell(leaves),
        false => Cell::Value(told(written, leaves)),
    }
}

/// The value that the key stands for, or a name of its own if it is not known here.
pub(crate) fn told(hidden: &str, leaves: &HashMap<String, String>) -> String {
    leaves.get(hidden).cloned().unwrap_or_else(|| format!("value {hidden}"))
}

impl Shown {
    /// Whether its values are labels of groups.
    pub fn makes_groups(&self) -> bool {
        self.role == "freeform" || self.role == "quasi-identifier"
    }

    /// Whether it is protected only in some of its values, and may be known to an adversary
    /// otherwise.
    pub fn freeform(&self) -> bool {
        self.role == "freeform" && !self.open
    }

    /// Whether it shows true values of the person, one for each record.
    pub fn exact(&self) -> bool {
        !self.makes_groups() && self.perturbed.is_empty()
    }

    /// The step that makes it impossible to say what a published value stands for, if there is one.
    pub fn unjudged(&self) -> Option<&str> {
        let blurs = |(name, _): &&(String, String)| name == "noise" || name == "swap";
        self.perturbed.iter().find(blurs).map(|(name, _)| name.as_str())
    }

    fn steps(&self) -> Option<Vec<Step>> {
        let step = |(name, parameter): &(String, String)| match name.as_str() {
            "bottom" => Some(Step::Bottom(Decimal::parse(parameter)?)),
            "top" => Some(Step::Top(Decimal::parse(parameter)?)),
            "round" => Some(Step::Round(Decimal::parse(parameter)?)),
            "blank" => Some(Step::Blank(Vec::new())),
            _ => None,
        };
        self.perturbed.iter().map(step).collect()
    }

    /// What a published value says about the true one.
    fn cell(&self, text: &str, leaves: &HashMap<String, String>) -> Cell {
        if self.makes_groups() && self.perturbed.is_empty() {
            return Label::read(text).cell(leaves);
        }
        let Some(steps) = self.steps() else { return Cell::Anything };
        if self.makes_groups() {
            // Labels of changed values say something only where they are cells.
            let within = Label::read(text).within;
            return within.map_or(Cell::Anything, |w| w.cell(&steps, self.decimals));
        }
        if text.is_empty() && steps.iter().any(|s| matches!(s, Step::Blank(_))) {
            return Cell::Rest;
        }
        match published_as(&steps, self.decimals, text) {
            Some((low, high)) if low != high => Cell::Between(low, high),
            _ => Cell::Value(text.to_owned()),
        }
    }
}

/// A release as it is seen by whoever does not know some columns.
pub(crate) struct View {
    pub groups: Groups,
    /// The group of each of the release's groups, if some of them are one.
    pub group_of: Option<Vec<u32>>,
    table: Option<(usize, Vec<(usize, usize)>)>,
}

impl Shows {
    /// Calls values as they are called now. Labels keep the values below them, which the key hides
    /// as they were called first.
    pub fn rename(&mut self, history: &HistoryPolicy) {
        for table in &mut self.tables {
            for (&column, values) in table.columns.iter().zip(&mut table.values) {
                let name = &self.attributes[column];
                if !history.values.contains_key(name) {
                    continue;
                }
                let now = |value: &str| history.value_now(name, value).to_owned();
                for value in values {
                    if !self.shown[column].makes_groups() {
                        *value = now(value);
                        continue;
                    }
                    let label = Label::read(value);
                    if label.leaf {
                        *value = Label { label: now(&label.label), ..label }.write();
                    }
                }
            }
        }
    }

    /// Where a column is.
    pub fn at(&self, attribute: &str) -> Option<usize> {
        self.attributes.iter().position(|a| a == attribute)
    }

    /// The values of a column that it shows as they are, and where they are.
    pub fn values(&self, attribute: &str) -> Option<(usize, &Counts, &[String])> {
        let column = self.at(attribute).filter(|&at| !self.shown[at].makes_groups())?;
        let table = self.tables.iter().find(|t| t.columns.contains(&column))?;
        let at = table.columns.iter().position(|&c| c == column)?;
        Some((column, table, &table.values[at]))
    }

    /// Values that a column shows as labels of their own.
    pub fn leaf_labels(&self, attribute: &str) -> Vec<String> {
        let Some(column) = self.at(attribute).filter(|&at| self.shown[at].makes_groups()) else {
            return Vec::new();
        };
        let at = |t: &Counts| t.columns.iter().position(|&c| c == column);
        let texts = self.tables.iter().filter_map(|t| Some(&t.values[at(t)?])).flatten();
        texts
            .map(|text| Label::read(text))
            .filter(|label| label.leaf)
            .map(|label| label.label)
            .collect()
    }

    /// Whether its columns are known only one by one.
    pub fn apart(&self) -> bool {
        self.tables.len() > 1
    }

    /// What it says about some columns, the first of which is judged. An adversary knows the columns
    /// that make groups and are not among them, and those that were open: only of the judged one
    /// does she know nothing but what is shown.
    pub fn view(&self, kept: &[String]) -> View {
        let columns: Vec<(usize, usize)> =
            kept.iter().enumerate().filter_map(|(i, name)| Some((i, self.at(name)?))).collect();
        let shows = |t: &Counts| {
            columns.iter().copied().filter(|(_, at)| t.columns.contains(at)).collect::<Vec<_>>()
        };
        let best = |(_, shown): &(usize, Vec<(usize, usize)>)| {
            // The judged column counts most where there are several tables.
            shown.len() + if shown.iter().any(|(i, _)| *i == 0) { kept.len() } else { 0 }
        };
        let tables =
            self.tables.iter().map(shows).enumerate().filter(|(_, shown)| !shown.is_empty());
        let table = tables.max_by_key(best);
        let labels = |at: &usize| self.shown[*at].makes_groups();
        let known: Vec<usize> = (0..self.attributes.len())
            .filter(labels)
            .filter(|&at| match self.shown[at].open {
                true => kept.first() != Some(&self.attributes[at]),
                false => !kept.contains(&self.attributes[at]),
            })
            .collect();
        match (self.groups.rest.is_empty(), self.tables.first()) {
            (false, Some(first)) => {
                let (groups, group_of) = self.merged(first, &known);
                View { groups, group_of: Some(group_of), table }
            }
            _ => View { groups: self.groups.clone(), group_of: None, table },
        }
    }

    /// The groups that are told apart by the rest and these columns.
    fn merged(&self, table: &Counts, known: &[usize]) -> (Groups, Vec<u32>) {
        let mut numbers: HashMap<Vec<String>, u32> = HashMap::new();
        let mut merged = Groups::default();
        let mut group_of = Vec::with_capacity(self.groups.labels.len());
        for (group, rest) in self.groups.rest.iter().enumerate() {
            let mut label = vec![rest.clone()];
            for column in known {
                let text = table.label(*column, group);
                label.push(text.map(|text| Label::read(text).observed()).unwrap_or_default());
            }
            let next = numbers.len() as u32;
            let number = *numbers.entry(label).or_insert_with_key(|label| {
                let shown: Vec<&str> =
                    label.iter().map(String::as_str).filter(|l| !l.is_empty()).collect();
                merged.labels.push(format!("class {}", shown.join(" · ")));
                merged.sizes.push(0);
                merged.counterfeits.push(0);
                next
            });
            merged.sizes[number as usize] += self.groups.sizes[group];
            merged.counterfeits[number as usize] += self.groups.counterfeits[group];
            group_of.push(number);
        }
        (merged, group_of)
    }

    /// The statement about the columns of a view.
    pub fn statement(&self, view: &View, leaves: &HashMap<String, String>) -> Statement {
        let n = view.groups.labels.len();
        let Some((number, columns)) = &view.table else {
            return Statement { groups: vec![Vec::new(); n], ..Statement::default() };
        };
        let table = &self.tables[*number];
        let places: Vec<usize> = columns
            .iter()
            .filter_map(|(_, at)| table.columns.iter().position(|c| c == at))
            .collect();
        let part = |(&(column, at), &place): (&(usize, usize), &usize)| Part {
            column,
            cells: table.values[place]
                .iter()
                .map(|text| self.shown[at].cell(text, leaves))
                .collect(),
            generalized: self.shown[at].makes_groups(),
        };
        let mut numbers: HashMap<Vec<u32>, u32> = HashMap::new();
        let mut rows = Vec::new();
        let projected: Vec<u32> = (table.rows.iter())
            .map(|row| {
                let row: Vec<u32> = places.iter().map(|&p| row[p]).collect();
                *numbers.entry(row).or_insert_with_key(|row| {
                    rows.push(row.clone());
                    rows.len() as u32 - 1
                })
            })
            .collect();
        let mut groups: Vec<Vec<(u32, u64)>> = vec![Vec::new(); n];
        for (group, counts) in table.groups.iter().enumerate() {
            let group = view.group_of.as_ref().map_or(group, |g| g[group] as usize);
            groups[group]
                .extend(counts.iter().map(|&(row, count)| (projected[row as usize], count)));
        }
        let parts = columns.iter().zip(&places).map(part).collect();
        Statement { parts, rows, groups }
    }
}
