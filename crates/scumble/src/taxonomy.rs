//! Taxonomies: how the values of an attribute may be generalized.
//!
//! Leaves are numbered so that every node of the tree is a run of neighbouring codes. A generalized
//! value is then a [`Run`], a region is a vector of runs, and "is this value below that node" is
//! two comparisons. Besides the tree a taxonomy has a *scale*: on an ordered scale (numbers, dates,
//! or a file declared `ordered`) every run of leaves can be published, as a range; on the nominal
//! scale only nodes can.
//!
//! A taxonomy is read from an ARX-style CSV (one line per leaf: the leaf, then its ancestors up to
//! the root), given as a nested list, or generated from the values by a rule: [`Rule`].
//!
//! On a number or date scale a leaf is a cell of the finest unit that the rule declares, so that
//! whatever is published is a word of the policy and not of the data. Which leaves occur never
//! leaves the process: a manifest records the rule.
//!
//! There is one label for each run. A range that covers everything shows the root, never the
//! smallest and largest value.

use crate::class::Run;
use crate::failure::{Failure, Failures};
use hashbrown::HashMap;
use std::borrow::Cow;

pub use crate::rule::{Intervals, Prefix, Rule, Tree, Unit, parse_rows, write_rows};
pub use crate::scale::{Decimal, Granularity, Grid, Scale, iso_date, parse_date};

/// The root's label wherever a rule does not name it; also what a suppressed cell shows.
pub const ROOT: &str = "*";

/// A node above the leaves: a label, the run of leaves below it, and its place in the tree.
#[derive(Clone, Debug)]
struct Node {
    label: String,
    run: Run,
    children: Vec<u32>,
    /// Longest way down to a leaf, in levels of the taxonomy: the `level` of Li et al.'s
    /// hierarchical distance.
    height: u32,
}

/// A tree over leaf codes, and the labels that stand for its nodes.
#[derive(Clone, Debug)]
pub struct Taxonomy {
    scale: Scale,
    /// Label of each leaf. Behind the real ones stand the missing value, with the label "", and the
    /// leaf of unlisted values, if there are such.
    leaves: Vec<String>,
    /// Cell of each leaf on a number or date scale.
    positions: Vec<i64>,
    has_missing: bool,
    /// See [`Leaves::unlisted`].
    unlisted: bool,
    /// The level at which all runs are shown, if there is one; otherwise each shows the lowest node
    /// or range that it is.
    level: Option<usize>,
    /// How text is masked at the levels below the root.
    masks: Option<Prefix>,
    /// The rule by which labels are masked, as it was declared; see [`Taxonomy::masked_loss`].
    masked_by: Option<Prefix>,
    /// The scale that labels are written on, where leaves are groups of a recoding's own.
    written_on: Option<Scale>,
    /// Node identifiers: below `leaves.len()` a leaf, above it `nodes[id - leaves.len()]`. One node
    /// per distinct run: a level that only renames a node adds an alias, not a node.
    nodes: Vec<Node>,
    parents: Vec<u32>,
    /// `ladder[l][leaf]`: the node at level l + 1 above the leaf. The last level is the root.
    ladder: Vec<Vec<u32>>,
    /// Every label to its node, aliases included.
    labels: HashMap<String, u32>,
    /// What a node is called at a level that only renames it.
    aliases: HashMap<(u32, u32), String>,
    /// See [`Taxonomy::exceptions`].
    exceptions: Vec<(String, Vec<String>)>,
    /// See [`Taxonomy::standing_for`].
    standing: HashMap<String, u32>,
}

/// The leaves that a taxonomy is grown over.
#[derive(Default)]
pub(crate) struct Leaves {
    /// Labels of the real ones, in order.
    pub texts: Vec<String>,
    /// Their cells on a number or date scale.
    pub positions: Vec<i64>,
    /// Whether the missing value is a leaf of its own.
    pub has_missing: bool,
    /// Whether there may be values that no leaf stands for: then the root is more than all leaves
    /// together. So it is for a recipient, who does not see suppressed values.
    pub unlisted: bool,
}

/// Label of the leaf of unlisted values, which is never published.
const UNLISTED: &str = "(unlisted)";

impl Taxonomy {
    /// A flat taxonomy over any texts, even such as are written like groups of values: for what is
    /// counted and never published, and for tables whose texts are only told apart.
    pub fn unpublished(texts: Vec<String>) -> Taxonomy {
        grow(Scale::Nominal, Leaves { texts, ..Leaves::default() }, 1, |_, _| {
            Cow::Borrowed("(anything)")
        })
    }

    /// A taxonomy of a recoding's own: groups of leaves with their labels, and above them a root
    /// that is not published. `exceptions` are as in [`Taxonomy::exceptions`].
    pub fn of_groups(
        groups: Vec<(String, Vec<String>)>,
        exceptions: Vec<(String, Vec<String>)>,
    ) -> Taxonomy {
        let labels: Vec<&str> = groups
            .iter()
            .flat_map(|(label, leaves)| leaves.iter().map(|_| label.as_str()))
            .collect();
        let leaves: Vec<String> = groups.iter().flat_map(|(_, leaves)| leaves).cloned().collect();
        let mut root = ROOT.to_owned();
        while labels.contains(&root.as_str()) || leaves.contains(&root) {
            root.push_str(ROOT);
        }
        let label = |level: usize, leaf: usize| {
            if level == 1 { Cow::Borrowed(labels[leaf]) } else { Cow::Borrowed(&*root) }
        };
        let leaves = Leaves { texts: leaves.clone(), ..Leaves::default() };
        Taxonomy { exceptions, ..grow(Scale::Nominal, leaves, 2, label) }
    }

    /// Labels that do not stand for all that the publisher's taxonomy has below them, each with
    /// what is shown by itself: `Professional`, but not `Lawyer`. Only a recoding of siblings has
    /// such.
    pub fn exceptions(&self) -> &[(String, Vec<String>)] {
        &self.exceptions
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
        self.has_missing.then(|| self.real() as u32)
    }

    /// The leaf that stands for all values that have none, if there may be such.
    pub fn unlisted(&self) -> Option<u32> {
        self.unlisted.then(|| self.leaves.len() as u32 - 1)
    }

    /// Number of leaves that are values: neither missing nor unlisted.
    pub fn real(&self) -> usize {
        self.leaves.len() - usize::from(self.has_missing) - usize::from(self.unlisted)
    }

    /// The same taxonomy for a release in which every value is shown at one level: runs are called
    /// by the nodes of that level, and a value belongs to the leaves that are shown as it would be.
    pub fn shown_at(&self, level: usize) -> Taxonomy {
        Taxonomy { level: Some(level), ..self.clone() }
    }

    /// The level at which all runs are shown, if they are shown at one.
    pub fn shown_level(&self) -> Option<usize> {
        self.level
    }

    /// What a level is called: the unit, width or length of its nodes, or its number.
    pub fn level_name(&self, level: usize) -> String {
        match &self.scale {
            _ if level >= self.levels() => "*".to_owned(),
            Scale::Date(units) => units.get(level).map_or("day", |u| u.name()).to_owned(),
            Scale::Number(grid) => {
                match level.checked_sub(usize::from(grid.exact)).and_then(|l| grid.widths.get(l)) {
                    Some(&width) => format!("width {}", Decimal::show(width, grid.decimals)),
                    None => "exact".to_owned(),
                }
            }
            _ => match &self.masks {
                Some(masks) if level > 0 => format!("{} characters", masks.keep[level - 1]),
                _ => format!("level {level}"),
            },
        }
    }

    /// The text of a leaf.
    pub fn leaf(&self, code: u32) -> &str {
        &self.leaves[code as usize]
    }

    /// The run of all leaves.
    pub fn root(&self) -> Run {
        Run::new(0, self.leaves.len() as u32 - 1)
    }

    /// The leaf that a text of the data, or the label of a leaf, stands for. On a number or date
    /// scale that is the cell at its place. Where all values are shown at one level, any leaf that
    /// is shown as the text would be.
    pub fn find(&self, text: &str) -> Option<u32> {
        let leaf = self.labels.get(text).copied().filter(|&id| (id as usize) < self.leaves.len());
        if !self.scale.has_cells() {
            return leaf.or_else(|| self.masked(text, self.level?).map(|run| run.first));
        }
        match self.place(text) {
            Some(Ok(leaf)) => Some(leaf),
            Some(Err(_)) => {
                let (first, last) =
                    self.scale.at_level(self.scale.cell(text)?, self.level.filter(|&l| l > 0)?)?;
                let next = self.positions[..self.real()].partition_point(|&cell| cell < first);
                self.positions[..self.real()]
                    .get(next)
                    .filter(|&&cell| cell <= last)
                    .map(|_| next as u32)
            }
            None => leaf,
        }
    }

    /// The leaf below a value that is no leaf itself but lies between two of them: on a number or
    /// date scale at its place, as masked text between two groups of the node that it would be
    /// shown as.
    pub fn leaf_below(&self, text: &str) -> Option<u32> {
        if let Some(masks) = &self.masks {
            let node = (1..=masks.keep.len())
                .filter_map(|level| self.masked(text, level))
                .find(|run| run.width() > 1)?;
            return self.children(node).first().map(|child| child.last);
        }
        self.place(text)?
            .err()
            .filter(|&above| 0 < above && above < self.real() as u32)
            .map(|above| above - 1)
    }

    /// The node that shows a text at a level, if the text is masked there.
    fn masked(&self, text: &str, level: usize) -> Option<Run> {
        let masks = self.masks.as_ref().filter(|masks| masks.admits(text))?;
        let label = masks.mask(text, *masks.keep.get(level.checked_sub(1)?)?);
        self.labels.get(&label).map(|&id| self.run(id))
    }

    /// Where a text stands among the leaves of a number or date scale: at one, or before which.
    /// `None` if the text has no place on the scale.
    fn place(&self, text: &str) -> Option<Result<u32, u32>> {
        let cell = self.scale.cell(text)?;
        Some(self.leaf_of(cell))
    }

    fn leaf_of(&self, cell: i64) -> Result<u32, u32> {
        self.positions[..self.real()].binary_search(&cell).map(|i| i as u32).map_err(|i| i as u32)
    }

    /// The run of the node at a level above the leaf; level 0 is the leaf itself.
    pub fn at_level(&self, leaf: u32, level: usize) -> Run {
        if level == 0 {
            Run::new(leaf, leaf)
        } else {
            self.run(self.ladder[level - 1][leaf as usize])
        }
    }

    /// The smallest publishable run that covers the given one: itself on an ordered scale, a node
    /// otherwise.
    pub fn cover(&self, run: Run) -> Run {
        if self.is_ordered() {
            // A range cannot say "or missing": such a cell shows nothing.
            let mixed = run.last as usize >= self.real() && run.first < run.last;
            return if mixed || self.spans_scale(run) { self.root() } else { run };
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

    /// The run of the smallest node above the one that covers the run; none above the root.
    pub fn parent(&self, run: Run) -> Option<Run> {
        let id = self.parents[self.node(run) as usize];
        (id != u32::MAX).then(|| self.run(id))
    }

    /// The run of the smallest node that covers the run.
    pub fn node_over(&self, run: Run) -> Run {
        self.run(self.node(run))
    }

    /// The nodes that stand above the run: all that cover it and are not it, from the smallest to
    /// the root.
    pub fn above(&self, run: Run) -> Vec<Run> {
        let lowest = Some(self.node_over(run));
        std::iter::successors(lowest, |&node| self.parent(node))
            .filter(|&node| node != run)
            .collect()
    }

    fn run(&self, id: u32) -> Run {
        match (id as usize).checked_sub(self.leaves.len()) {
            None => Run::new(id, id),
            Some(i) => self.nodes[i].run,
        }
    }

    /// Whether a range of cells has two open ends, and so no text but the root's.
    fn spans_scale(&self, run: Run) -> bool {
        let Scale::Number(grid) = &self.scale else { return false };
        let cells = (run.last as usize) < self.real() && run.first < run.last && !grid.exact;
        cells && grid.is_everything(self.position(run.first), self.position(run.last))
    }

    /// The run that shows everything, also values that no leaf stands for. There is none if the
    /// only leaf is shown as it is.
    pub fn everything(&self) -> Option<Run> {
        let shown = match self.level {
            Some(level) => level == self.levels(),
            None if self.scale.has_cells() || self.unlisted => {
                self.leaves.len() > 1 || self.unlisted
            }
            None => self
                .ladder
                .last()
                .is_some_and(|top| self.label(self.root()) == self.label_at(self.levels(), top[0])),
        };
        shown.then(|| self.root())
    }

    /// What a release shows for a run: the node's label, or a range. Every run has one label.
    pub fn label(&self, run: Run) -> Cow<'_, str> {
        let run = self.cover(run);
        if let Some(level) = self.level.filter(|&level| level > 0) {
            let id = self.ladder[level - 1][run.first as usize];
            if self.run(id) == run {
                return Cow::Borrowed(self.label_at(level, id));
            }
        }
        if run.first == run.last && Some(run.first) != self.unlisted() {
            return Cow::Borrowed(self.leaf(run.first));
        }
        // A node of a tree has a name of its own, even if nothing else occurs; a range would tell
        // the ends of the data.
        let ends = self.scale.has_cells() || self.unlisted;
        if let (true, Some(top)) = (ends && run == self.root(), self.ladder.last()) {
            return Cow::Borrowed(self.label_at(self.levels(), top[0]));
        }
        match &self.scale {
            Scale::Number(Grid { exact: true, .. }) => Cow::Owned(self.range(run)),
            Scale::Number(_) | Scale::Date(_) => {
                Cow::Owned(self.scale.text(self.position(run.first), self.position(run.last)))
            }
            Scale::Ordinal if self.run(self.node(run)) != run => Cow::Owned(self.range(run)),
            Scale::Ordinal | Scale::Nominal => Cow::Borrowed(self.node_label(self.node(run))),
        }
    }

    fn range(&self, run: Run) -> String {
        format!("[{}, {}]", self.leaf(run.first), self.leaf(run.last))
    }

    /// What a node is called at a level.
    fn label_at(&self, level: usize, id: u32) -> &str {
        self.aliases.get(&(level as u32, id)).map_or_else(|| self.node_label(id), String::as_str)
    }

    /// The run that a published label stands for: a leaf, a node, or a range. A text that is no
    /// label of this taxonomy, though it may describe a range, has no run.
    pub fn parse(&self, label: &str) -> Option<Run> {
        if let Some(&id) = self.labels.get(label).filter(|&&id| Some(id) != self.unlisted()) {
            return Some(self.run(id));
        }
        if label == ROOT {
            return Some(self.root());
        }
        let run = match &self.scale {
            Scale::Nominal => return None,
            Scale::Ordinal => {
                let (first, last) = label.strip_prefix('[')?.strip_suffix(']')?.split_once(", ")?;
                (self.find(first)?, self.find(last)?)
            }
            Scale::Number(_) | Scale::Date(_) => {
                let (first, last) = self.scale.parse(label)?;
                (self.leaf_of(first).ok()?, self.leaf_of(last).ok()?)
            }
        };
        (run.0 <= run.1).then(|| Run::new(run.0, run.1)).filter(|&run| self.label(run) == label)
    }

    /// Number of domain values under a published run: what losses are measured in. On a number or
    /// date scale the domain is every cell between the ends, not only those that occur.
    pub fn size(&self, run: Run) -> u64 {
        self.size_at(run, self.level.unwrap_or(0))
    }

    /// The same where all values are shown at a level, and a run stands for whole nodes of it.
    fn size_at(&self, run: Run, level: usize) -> u64 {
        let run = self.cover(run);
        if self.positions.is_empty() {
            return u64::from(run.width())
                - u64::from(self.unlisted && run.last as usize + 1 == self.leaves.len());
        }
        match self.cells_at(run, level) {
            Some((first, last)) => last.abs_diff(first) + 1 + u64::from(self.holds_missing(run)),
            None => 1,
        }
    }

    /// The cells from first to last of a run on a number or date scale; `None` for the missing
    /// value. Where all values are shown at one level they are those of whole nodes.
    pub fn cells(&self, run: Run) -> Option<(i64, i64)> {
        self.cells_at(run, self.level.unwrap_or(0))
    }

    fn cells_at(&self, run: Run, level: usize) -> Option<(i64, i64)> {
        if self.positions.is_empty() {
            return None;
        }
        let last = (run.last as usize).min(self.real().checked_sub(1)?);
        if run.first as usize > last {
            return None;
        }
        let (first, last) = (self.positions[run.first as usize], self.positions[last]);
        let whole = |cell: i64| self.scale.at_level(cell, level).unwrap_or((cell, cell));
        Some((whole(first).0, whole(last).1))
    }

    fn holds_missing(&self, run: Run) -> bool {
        self.missing().is_some_and(|missing| run.contains(missing))
    }

    /// The smallest steps of the scale under a run, from first to last: days, or units of
    /// 10^-decimals. Codes where there is no scale, `None` for the missing value.
    pub fn steps(&self, run: Run) -> Option<(i64, i64)> {
        if self.positions.is_empty() {
            let last = run.last.min((self.real() as u32).checked_sub(1)?);
            return (run.first <= last).then(|| (run.first.into(), last.into()));
        }
        let (first, last) = self.cells(run)?;
        Some((self.scale.steps(first).0, self.scale.steps(last).1))
    }

    /// Generalization loss of a published run: (size − 1) / (size of the domain − 1); 0 if the
    /// domain has one value.
    pub fn loss(&self, run: Run) -> f64 {
        self.loss_at(run, self.level.unwrap_or(0))
    }

    /// The same of a node at a level, where all values are shown at it.
    pub(crate) fn loss_at(&self, run: Run, level: usize) -> f64 {
        let domain = self.domain() - 1;
        if domain == 0 { 0.0 } else { (self.values_at(run, level) - 1) as f64 / domain as f64 }
    }

    /// Number of domain values between the ends of all leaves.
    pub(crate) fn domain(&self) -> u64 {
        self.size_at(self.root(), 0)
    }

    /// Number of domain values under a node at a level, where all values are shown at it; at most
    /// all of them.
    pub(crate) fn values_at(&self, run: Run, level: usize) -> u64 {
        self.size_at(run, level).min(self.domain())
    }

    /// The same over the leaves that were declared: whether a missing value occurs does not count.
    pub(crate) fn declared_loss(&self, run: Run) -> f64 {
        let run = self.cover(run);
        let real = self.real() as u64;
        let below = (u64::from(run.last) + 1).min(real).saturating_sub(u64::from(run.first));
        if real < 2 { 0.0 } else { below.saturating_sub(1) as f64 / (real - 1) as f64 }
    }

    /// The share of its characters that a masked label has lost, or of its levels where the rule
    /// declares them. How many values a mask stands for is not known from the rule. `longest` is
    /// the length of the longest text where the rule declares none. `None` if labels are not masked.
    ///
    /// Only the rule and the label count: the levels of the taxonomy reach up to the longest value
    /// of the extract, which may be that of a suppressed record.
    pub(crate) fn masked_loss(&self, label: &str, longest: usize) -> Option<f64> {
        let rule = self.masked_by.as_ref()?;
        let Some(kept) = rule.kept(label) else { return Some(0.0) };
        let kept = kept.chars().count();
        if rule.keep.is_empty() {
            let length = rule.length.unwrap_or(longest).max(1);
            return Some(length.saturating_sub(kept) as f64 / length as f64);
        }
        let below = rule.keep.iter().filter(|&&n| n >= kept).count();
        Some(below as f64 / (rule.keep.len() + 1) as f64)
    }

    /// Whether a label of these runs is masked, or shows the root; `None` if labels are never
    /// masked.
    pub fn is_masked<'r>(&self, runs: impl IntoIterator<Item = &'r Run>) -> Option<bool> {
        let rule = self.masked_by.as_ref()?;
        Some(runs.into_iter().any(|run| rule.kept(&self.label(*run)).is_some()))
    }

    /// Number of characters of the shortest text that a masked label may stand for; of other labels
    /// their own.
    pub(crate) fn unmasked_length(&self, label: &str) -> usize {
        let kept = self.masked_by.as_ref().and_then(|rule| rule.kept(label));
        kept.map_or_else(|| label.chars().count(), |kept| kept.chars().count() + 1)
    }

    /// The same taxonomy, with labels that mean what they mean in another: groups of values that
    /// are called by its nodes.
    pub fn written_as(self, other: &Taxonomy) -> Taxonomy {
        let written_on = other.scale.has_cells().then(|| other.scale.clone());
        Taxonomy { masked_by: other.masked_by.clone(), written_on, ..self }
    }

    /// The scale that labels are written on.
    pub(crate) fn written_on(&self) -> &Scale {
        self.written_on.as_ref().unwrap_or(&self.scale)
    }

    /// The cells that a run with this label stands for to somebody who knows the rule alone.
    pub(crate) fn published_cells(&self, run: Run, label: &str) -> Option<(i64, i64)> {
        match &self.written_on {
            Some(scale) => scale.parse(label),
            None => self.cells(run),
        }
    }

    /// Cell of a leaf on a number or date scale; its code on the others.
    pub fn position(&self, leaf: u32) -> i64 {
        self.positions.get(leaf as usize).copied().unwrap_or(i64::from(leaf))
    }

    /// Height of the tree in levels; at least 1.
    pub fn height(&self) -> u32 {
        self.ladder.len().max(1) as u32
    }

    /// Calls `visit(height, children)` for every node above the leaves, children before parents.
    /// The runs of the children are given; together they are the node's run.
    pub fn visit_nodes(&self, mut visit: impl FnMut(u32, &[Run])) {
        for node in &self.nodes {
            let children: Vec<Run> = node.children.iter().map(|&c| self.run(c)).collect();
            visit(node.height, &children);
        }
    }

    /// The rows of an ARX-style file for this taxonomy, without the missing value: leaf first, root
    /// last.
    pub fn rows(&self) -> Vec<Vec<String>> {
        (0..self.real() as u32).map(|leaf| self.row(leaf)).collect()
    }

    /// The same taxonomy, in which these values are no leaves and stand where a leaf is: every label
    /// that a release shows stands for both or for neither. People of a register are placed so by
    /// whoever has the whole of a file of which only a part is published.
    pub fn standing_for(mut self, values: HashMap<String, u32>) -> Taxonomy {
        self.standing = values;
        self
    }

    /// The leaf where a value stands that is no leaf, if that is known.
    pub fn stands_at(&self, text: &str) -> Option<u32> {
        self.standing.get(text).copied()
    }

    /// The row of a leaf.
    pub(crate) fn row(&self, leaf: u32) -> Vec<String> {
        let above = (1..)
            .zip(&self.ladder)
            .map(|(level, nodes)| self.label_at(level, nodes[leaf as usize]).to_owned());
        std::iter::once(self.leaf(leaf).to_owned()).chain(above).collect()
    }

    fn node_label(&self, id: u32) -> &str {
        match (id as usize).checked_sub(self.leaves.len()) {
            None => &self.leaves[id as usize],
            Some(i) => &self.nodes[i].label,
        }
    }
}

/// Builds tree, ladder and labels bottom-up from the label of every leaf at every level (1 …
/// levels). Labels of one node are neighbours, since the leaves are in depth-first order; a leaf
/// that is no value stands directly under the root.
pub(crate) fn grow<'a>(
    scale: Scale,
    leaves: Leaves,
    levels: usize,
    label: impl Fn(usize, usize) -> Cow<'a, str>,
) -> Taxonomy {
    let Leaves { texts: mut leaves, mut positions, has_missing, unlisted } = leaves;
    let real = leaves.len();
    leaves.extend(has_missing.then(String::new));
    leaves.extend(unlisted.then(|| UNLISTED.to_owned()));
    let n = leaves.len();
    if scale.has_cells() {
        // What is no value has no place of its own.
        positions.resize(n, positions.last().copied().unwrap_or(0));
    }
    let mut t = Taxonomy {
        scale,
        positions,
        has_missing,
        unlisted,
        level: None,
        masks: None,
        masked_by: None,
        written_on: None,
        nodes: Vec::new(),
        parents: vec![u32::MAX; n],
        ladder: Vec::with_capacity(levels),
        labels: HashMap::with_capacity(n),
        aliases: HashMap::new(),
        exceptions: Vec::new(),
        standing: HashMap::new(),
        leaves: Vec::new(),
    };
    for (i, text) in leaves.iter().enumerate() {
        t.labels.entry(text.clone()).or_insert(i as u32);
    }
    t.leaves = leaves;
    let mut below: Vec<u32> = (0..n as u32).collect();
    for level in 1..=levels {
        let mut here: Vec<u32> = below.clone();
        let mut start = 0;
        // A table in which every cell is suppressed has no real leaf.
        let stop = if level == levels { n } else { real };
        while start < stop {
            let name = label(level, start);
            let mut end = start + 1;
            while end < real && (level == levels || label(level, end) == name) {
                end += 1;
            }
            // At the top what is no value joins the rest.
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

/// The problem that a value could be taken for a group of values.
pub(crate) fn written_like_a_group(of: &str) -> Failure {
    Failure::data(
        "ambiguous-label",
        format!("{of} has a value that is written like a group of values, such as `*`"),
    )
    .hint("rename it, or list it under `missing`")
}

impl Taxonomy {
    /// The same over texts that are masked in this way; a level for each number of characters.
    pub(crate) fn masking(self, masks: Prefix, declared: Prefix) -> Taxonomy {
        Taxonomy { masks: Some(masks), masked_by: Some(declared), ..self }
    }

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
        // What is published is a leaf's text or a node's label, so a mere alias gives way to a node
        // of that name.
        if self.labels.get(&label).is_none_or(|&other| self.node_label(other) != label) {
            self.labels.insert(label.clone(), id);
        }
        self.nodes.push(Node {
            label,
            run: Run::new(start as u32, end as u32 - 1),
            children,
            height,
        });
        id
    }

    /// Refuses values that are written like a group of values (`*`, `13***`): a published label has
    /// one meaning.
    pub(crate) fn unambiguous(self, of: &str) -> Result<Taxonomy, Failures> {
        let id = |i: usize| (self.leaves.len() + i) as u32;
        let nodes = (0..self.nodes.len()).map(|i| (&self.nodes[i].label, id(i)));
        let aliases = self.aliases.iter().map(|(&(_, id), label)| (label, id));
        if nodes.chain(aliases).any(|(label, id)| self.labels.get(label) != Some(&id)) {
            return Err(written_like_a_group(of).into());
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> Vec<Vec<String>> {
        parse_rows("t", text).unwrap()
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
        let code = |text: &str| t.find(text).unwrap();
        let run = |a: &str, b: &str| Run::new(code(a).min(code(b)), code(a).max(code(b)));
        assert_eq!(t.label(run("Engineer", "Lawyer")), "Professional");
        assert_eq!(t.label(run("Writer", "Dancer")), "Artist");
        assert_eq!(t.label(run("Lawyer", "Writer")), "*");
        assert_eq!(t.parse("Artist"), Some(run("Writer", "Dancer")));
        assert_eq!(t.children(t.root()).len(), 3, "two groups and the missing value");
        assert_eq!(t.size(run("Writer", "Dancer")), 2);
    }

    #[test]
    fn intervals_nest_and_have_open_ends() {
        let widths = ["5", "10"].iter().filter_map(|w| Decimal::parse(w)).collect();
        let rule = Intervals {
            widths,
            low: Decimal::parse("20"),
            high: Decimal::parse("90"),
            unit: Unit::Finest,
        };
        let ages = ["22", "17", "29", "90", "91", "24"];
        let t = Taxonomy::generate(&Rule::Intervals(rule.clone()), "age", &ages, true).unwrap();
        assert_eq!(t.leaves(), 5, "below 20, two cells, above 90, missing");
        let shown = |text: &str, level: usize| {
            t.shown_at(level).label(t.at_level(t.find(text).unwrap(), level)).into_owned()
        };
        assert_eq!(shown("22", 0), "[20, 25)");
        assert_eq!(shown("22", 1), "[20, 30)");
        assert_eq!((shown("17", 0), shown("17", 1)), ("<20".into(), "<20".into()));
        assert_eq!((shown("91", 0), shown("91", 2)), (">=90".into(), "*".into()));
        assert_eq!(t.label(Run::new(1, 2)), "[20, 30)");
        assert_eq!(t.label(Run::new(0, 2)), "<30");
        assert_eq!(t.label(Run::new(2, 3)), ">=25");
        assert_eq!(t.label(Run::new(0, 3)), "*", "two open ends");
        assert_eq!(t.label(t.root()), "*", "a range with the missing value shows nothing");
        assert_eq!(t.size(Run::new(1, 2)), 2);
        let fine = Intervals { unit: Unit::Of(Decimal::parse("1").unwrap()), ..rule };
        let t = Taxonomy::generate(&Rule::Intervals(fine), "age", &ages, true).unwrap();
        assert_eq!(t.label(Run::new(1, 3)), "[22, 29]");
        assert_eq!(t.size(Run::new(1, 3)), 8);
        assert_eq!(t.parse("[22, 29]"), Some(Run::new(1, 3)));
        assert_eq!(t.leaf(4), ">=90", "an open cell is never split");
    }

    #[test]
    fn dates_are_cells_of_the_finest_unit() {
        let rule = Rule::Dates(vec![Granularity::Month, Granularity::Year]);
        let days = ["1961-03-05", "1961-03-28", "1961-01-01", "1961-12-31", "1968-09-15"];
        let t = Taxonomy::generate(&rule, "birth", &days, false).unwrap();
        assert_eq!((t.leaves(), t.levels()), (4, 2));
        assert_eq!(t.label(Run::new(1, 1)), "1961-03");
        assert_eq!(t.label(Run::new(1, 3)), "[1961-03, 1968-09]");
        assert_eq!(t.label(Run::new(0, 2)), "1961", "a whole year goes by its name");
        assert_eq!(t.label(t.root()), "*", "not the first and the last month");
        assert_eq!(t.size(Run::new(0, 2)), 12);
    }
}
