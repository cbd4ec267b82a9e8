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

pub use crate::rule::{Intervals, Rule, Tree, parse_rows, write_rows};
pub use crate::scale::{Decimal, Granularity, Scale, iso_date, parse_date};

/// The root's label wherever a rule does not name it; also what a suppressed cell shows.
pub const ROOT: &str = "*";

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
    /// See [`Taxonomy::exceptions`].
    exceptions: Vec<(String, Vec<String>)>,
}

impl Taxonomy {
    /// A flat taxonomy over any texts, even such as are written like groups of values: for what is counted and never
    /// published, and for tables whose texts are only told apart.
    pub fn unpublished(texts: Vec<String>) -> Taxonomy {
        grow(Scale::Nominal, texts, Vec::new(), false, 1, |_, _| Cow::Borrowed("(anything)"))
    }

    /// A taxonomy of a recoding's own: groups of leaves with their labels, and above them a root that is not published.
    /// `exceptions` are as in [`Taxonomy::exceptions`].
    pub fn of_groups(groups: Vec<(String, Vec<String>)>, exceptions: Vec<(String, Vec<String>)>) -> Taxonomy {
        let labels: Vec<&str> =
            groups.iter().flat_map(|(label, leaves)| leaves.iter().map(|_| label.as_str())).collect();
        let leaves: Vec<String> = groups.iter().flat_map(|(_, leaves)| leaves).cloned().collect();
        let mut root = ROOT.to_owned();
        while labels.contains(&root.as_str()) || leaves.contains(&root) {
            root.push_str(ROOT);
        }
        let label =
            |level: usize, leaf: usize| if level == 1 { Cow::Borrowed(labels[leaf]) } else { Cow::Borrowed(&*root) };
        Taxonomy { exceptions, ..grow(Scale::Nominal, leaves, Vec::new(), false, 2, label) }
    }

    /// Labels that do not stand for all that the publisher's taxonomy has below them, each with what is shown by itself:
    /// `Professional`, but not `Lawyer`. Only a recoding of siblings has such.
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

    /// The leaf that a text of the data stands for. On a number or date scale that is the leaf at its place, however the
    /// text writes it.
    pub fn find(&self, text: &str) -> Option<u32> {
        match self.place(text) {
            Some(place) => place.ok(),
            None => self.labels.get(text).copied().filter(|&id| (id as usize) < self.leaves.len()),
        }
    }

    /// The leaf below a number or date that is no leaf itself but lies between two of them.
    pub fn leaf_below(&self, text: &str) -> Option<u32> {
        let real = (self.leaves.len() - usize::from(self.has_missing)) as u32;
        self.place(text)?.err().filter(|&above| 0 < above && above < real).map(|above| above - 1)
    }

    /// Where a text stands among the leaves of a number or date scale: at one, or before which. `None` if the text has
    /// no place on the scale.
    fn place(&self, text: &str) -> Option<Result<u32, u32>> {
        let place = match self.scale {
            _ if text.is_empty() => None,
            Scale::Number { decimals } => Decimal::parse(text).and_then(|d| d.units(decimals)),
            Scale::Date => parse_date(text),
            _ => None,
        }?;
        let real = self.leaves.len() - usize::from(self.has_missing);
        Some(self.positions[..real].binary_search(&place).map(|i| i as u32).map_err(|i| i as u32))
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

    /// The run of the smallest node above the one that covers the run; none above the root.
    pub fn parent(&self, run: Run) -> Option<Run> {
        let id = self.parents[self.node(run) as usize];
        (id != u32::MAX).then(|| self.run(id))
    }

    /// The run of the smallest node that covers the run.
    pub fn node_over(&self, run: Run) -> Run {
        self.run(self.node(run))
    }

    /// The nodes that stand above the run: all that cover it and are not it, from the smallest to the root.
    pub fn above(&self, run: Run) -> Vec<Run> {
        let lowest = Some(self.node_over(run));
        std::iter::successors(lowest, |&node| self.parent(node)).filter(|&node| node != run).collect()
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
        let inner = label.strip_prefix('[').and_then(|l| l.strip_suffix(']'));
        match inner.and_then(|l| l.split_once(", ")) {
            Some((first, last)) => {
                let (first, last) = (self.find(first)?, self.find(last)?);
                (first <= last).then(|| Run::new(first, last))
            }
            None => self.find(label).map(|leaf| Run::new(leaf, leaf)),
        }
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
pub(crate) fn grow<'a>(
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
        exceptions: Vec::new(),
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
    pub(crate) fn unambiguous(self, of: &str) -> Result<Taxonomy, Problems> {
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
            let code = self.find(leaf).unwrap() as usize;
            let id = self.ladder[level - 1][code];
            let named = self.labels.iter().filter(|&(_, &i)| i == id).map(|(l, _)| l.clone());
            // A level that only renames a leaf is an alias; prefer what is not the leaf itself.
            named.max_by_key(|l| (l != leaf, l.len())).unwrap_or_default()
        }
    }
}
