//! What a new release shows of protected columns, and the tags of true values.

use crate::ledger::{
    Counts, Groups, Label, Members, New, Open, OpenColumn, Pseudonym, Recollection, Shown, Shows,
    guarded, observed,
};
use crate::publish::source::{Extract, Place as Column};
use crate::table::columns::Column as Read;
use hashbrown::HashMap;
use scumble::class::{EquivalenceClass, Run};
use scumble::exact::Ratio;
use scumble::freeform::{Specification, sensitivity};
use scumble::perturb::{Texts, decimals};
use scumble::policy::{AttributePolicy, Policy};
use scumble::publish::Made;
use scumble::release::{Release, Shape};
use scumble::table::{Role, number_tuples_of, published};
use scumble::taxonomy::Taxonomy;
use std::collections::BTreeSet;

/// Whether a column has values that are protected.
pub(crate) fn protects(a: &AttributePolicy) -> bool {
    a.role == Role::Sensitive
        || a.role == Role::Freeform && a.freeform.as_ref().is_some_and(Specification::guards)
}

/// Whether a column is published in any form.
pub(crate) fn shows(a: &AttributePolicy) -> bool {
    !matches!(a.role, Role::Identifier | Role::Guard)
}

/// What a release shows of its sensitive attributes, if no column names persons.
pub(crate) fn unnamed(release: &Release) -> Shows {
    let attributes: Vec<String> =
        published(&release.sensitive).iter().map(|a| a.name.clone()).collect();
    Shows {
        shown: vec![Shown::sensitive(); attributes.len()],
        tables: (0..attributes.len()).map(|i| Counts::of(release, i)).collect(),
        attributes,
        groups: Groups::of(release),
        leaves: HashMap::new(),
    }
}

/// The true values of a published column, record by record: as the data write them, before they
/// were changed or put into cells. They leave the process only as keyed tags.
pub(crate) enum TrueValues<'a> {
    /// Kept apart, because the table does not have them.
    Kept(&'a Texts),
    /// Leaves of a taxonomy are the values themselves.
    Leaves { taxonomy: &'a Taxonomy, codes: &'a [u32], row_of: &'a [u32] },
    /// The column passes through.
    Plain { column: &'a Read, missing: &'a [String] },
}

impl<'a> TrueValues<'a> {
    /// Those of a column of an extract; `None` if it is not published.
    pub fn of(extract: &'a Extract, policy: &'a Policy, name: &str) -> Option<TrueValues<'a>> {
        let Extract { table, rows, plain, truth, .. } = extract;
        let row_of = rows.of_records();
        let cell = extract.layout.iter().find(|cell| cell.name == name)?;
        if let Some((_, texts)) = truth.iter().find(|(column, _)| column == name) {
            return Some(TrueValues::Kept(texts));
        }
        let leaves =
            |taxonomy, codes: &'a Vec<u32>| Some(TrueValues::Leaves { taxonomy, codes, row_of });
        match cell.place {
            Column::Quasi(at) => leaves(&table.quasi[at].taxonomy, &table.quasi_codes[at]),
            Column::Sensitive(at) => {
                leaves(&table.sensitive[at].taxonomy, &table.sensitive_codes[at])
            }
            Column::Plain(at) => {
                Some(TrueValues::Plain { column: &plain[at], missing: &policy.missing })
            }
            Column::Group | Column::Count => None,
        }
    }

    /// The value of a record; nothing if it is missing.
    pub fn text(&self, record: usize) -> &'a str {
        match self {
            TrueValues::Kept(texts) => &texts.values[texts.codes[record] as usize],
            TrueValues::Leaves { taxonomy, codes, row_of } => {
                taxonomy.leaf(codes[row_of[record] as usize])
            }
            TrueValues::Plain { column, missing } => {
                present(column.values.get(column.codes[record]), missing)
            }
        }
    }

    /// The distinct values that occur.
    pub fn distinct(&self) -> BTreeSet<String> {
        let leaves = |codes: &[u32], taxonomy: &Taxonomy| {
            let codes: BTreeSet<u32> = codes.iter().copied().collect();
            codes.into_iter().map(|code| taxonomy.leaf(code).to_owned()).collect()
        };
        match self {
            TrueValues::Kept(texts) => texts.values.iter().cloned().collect(),
            TrueValues::Leaves { taxonomy, codes, .. } => leaves(codes, taxonomy),
            TrueValues::Plain { column, missing } => {
                column.values.iter().map(|v| present(v, missing).to_owned()).collect()
            }
        }
    }
}

/// The text of a value; nothing if it is one of those that mean a missing value.
fn present<'a>(text: &'a str, missing: &[String]) -> &'a str {
    if missing.iter().any(|m| m == text) { "" } else { text }
}

/// The tags of everybody's true value of a published column.
pub(crate) fn true_tags(
    recollection: &Recollection,
    people: &[Pseudonym],
    (extract, policy): (&Extract, &Policy),
    name: &str,
) -> Vec<u32> {
    TrueValues::of(extract, policy, name).map_or_else(Vec::new, |values| {
        recollection.tags(people, name, |record| values.text(record))
    })
}

/// What is needed to say what a new release shows.
pub(crate) struct Showing<'a> {
    pub recollection: &'a Recollection,
    pub policy: &'a Policy,
    pub extract: &'a Extract,
    pub made: &'a Made,
    pub people: &'a [Pseudonym],
    pub groups: &'a [u32],
}

/// Columns of a release, and rows of those that can be judged.
#[derive(Default)]
struct Tabulated {
    attributes: Vec<String>,
    shown: Vec<Shown>,
    /// The columns with values in rows: indices among all,
    tabled: Vec<usize>,
    /// their values,
    values: Vec<Vec<String>>,
    /// and the value of every record.
    codes: Vec<Vec<u32>>,
    /// Quasi-identifiers among them, as numbered in the release.
    labels: Vec<usize>,
    leaves: HashMap<String, String>,
}

impl Tabulated {
    /// Adds the values of the next column.
    fn add(&mut self, values: Vec<String>, codes: Vec<u32>) {
        self.tabled.push(self.attributes.len());
        self.values.push(values);
        self.codes.push(codes);
    }

    /// Names the next column, whether or not it has values in rows.
    fn name(&mut self, a: &AttributePolicy, shown: Shown) {
        self.attributes.push(a.name.clone());
        self.shown.push(shown);
    }

    /// The rows of people in these groups, of which there are so many.
    fn counts(&mut self, groups: &[u32], n: usize) -> Counts {
        let (tabled, values) = (self.tabled.clone(), std::mem::take(&mut self.values));
        Counts::of_rows(tabled, values, &self.codes, groups, n)
    }
}

impl Showing<'_> {
    /// What the release shows of protected columns, and the tags of true values.
    pub fn shows<'b>(
        &self,
        columns: impl Iterator<Item = &'b AttributePolicy>,
    ) -> (Shows, Vec<Vec<u32>>) {
        let release = &self.made.release;
        let mut rows = Tabulated::default();
        let mut tags = Vec::new();
        for a in columns {
            if self.tabulate(a, &mut rows) {
                tags.push(self.tags(&a.name));
            }
        }
        let mut groups = Groups::of(release);
        groups.rest = self.rest(&rows.labels);
        let tables = match &rows.tabled[..] {
            [] => Vec::new(),
            // Counted already, and with the values that stand for nobody.
            [at] if rows.shown[*at].role == "sensitive" => {
                vec![Counts { columns: vec![*at], ..Counts::of(release, 0) }]
            }
            _ => vec![rows.counts(self.groups, release.classes.len())],
        };
        let Tabulated { attributes, shown, leaves, .. } = rows;
        (Shows { attributes, shown, groups, tables, leaves }, tags)
    }

    /// What the release shows of all its columns, for the case that a later one protects others
    /// than this.
    pub fn open(&self, protected: &Shows) -> Open {
        let policy = |name: &String| self.policy.attributes.iter().find(|a| a.name == *name);
        let release = &self.made.release;
        let apart = release.shape == Shape::Groups;
        let mut rows = Tabulated::default();
        for a in protected.attributes.iter().filter_map(policy) {
            match apart {
                // An anatomized release shows them in a table of their own.
                true => rows.name(a, self.shown(a)),
                false => _ = self.tabulate(a, &mut rows),
            }
        }
        let mut tags = Vec::new();
        let others = |a: &&AttributePolicy| shows(a) && protected.at(&a.name).is_none();
        for a in self.policy.attributes.iter().filter(others) {
            let there = match apart {
                true => self.tabulate_own(a, &mut rows),
                false => self.tabulate(a, &mut rows),
            };
            if there {
                tags.push(self.tags(&a.name));
            }
        }
        let (groups, n) = match apart {
            true => self.records_alike(),
            false => (self.groups.to_vec(), release.classes.len()),
        };
        let there: Vec<usize> = (0..groups.len()).filter(|&i| groups[i] != New::NOWHERE).collect();
        let of = |tags: &Vec<u32>| there.iter().map(|&i| Some(tags[i])).collect();
        let members = Members {
            people: there.iter().map(|&i| self.people[i]).collect(),
            places: there.iter().map(|&i| groups[i]).collect(),
            tags: tags.iter().map(of).collect(),
        };
        let first = protected.attributes.len();
        let columns = rows.attributes[first..].iter().cloned().zip(rows.shown[first..].to_vec());
        Open {
            columns: columns.map(|(name, shown)| OpenColumn { name, shown }).collect(),
            table: rows.counts(&groups, n),
            members: members.sorted(),
        }
    }

    fn tags(&self, name: &str) -> Vec<u32> {
        true_tags(self.recollection, self.people, (self.extract, self.policy), name)
    }

    /// Adds a column to what is shown of the records' rows; whether it is published.
    fn tabulate(&self, a: &AttributePolicy, rows: &mut Tabulated) -> bool {
        let Some(cell) = self.extract.layout.iter().find(|c| c.name == a.name) else {
            return false;
        };
        let shape = self.made.release.shape;
        match cell.place {
            Column::Sensitive(i) => {
                let taxonomy = &self.extract.table.sensitive[i].taxonomy;
                let leaf = |leaf: u32| taxonomy.leaf(leaf).to_owned();
                let of = &self.extract.table.sensitive_codes[i];
                let codes =
                    self.extract.rows.of_records().iter().map(|&row| of[row as usize]).collect();
                rows.add((0..taxonomy.leaves() as u32).map(leaf).collect(), codes);
            }
            Column::Quasi(i) if shape == Shape::Regions => {
                let (texts, code_of) = self.labels(i, &mut rows.leaves);
                let code = |&g: &u32| if g == New::NOWHERE { 0 } else { code_of[g as usize] };
                rows.add(texts, self.groups.iter().map(code).collect());
                rows.labels.push(i);
            }
            Column::Plain(i) if shape != Shape::Groups => self.tabulate_plain(i, rows),
            _ => {}
        }
        let mut shown = self.shown(a);
        if a.role == Role::Freeform {
            shown.guarded = self.guarded(a, cell.place, &mut rows.leaves);
        }
        rows.name(a, shown);
        true
    }

    fn tabulate_plain(&self, plain: usize, rows: &mut Tabulated) {
        let column = &self.extract.plain[plain];
        let text = |v: &str| present(v, &self.policy.missing).to_owned();
        rows.add(column.values.iter().map(text).collect(), column.codes.clone());
    }

    /// The same of a column that is shown record by record, each with its own value.
    fn tabulate_own(&self, a: &AttributePolicy, rows: &mut Tabulated) -> bool {
        let Some(cell) = self.extract.layout.iter().find(|c| c.name == a.name) else {
            return false;
        };
        match cell.place {
            Column::Quasi(i) => {
                let attribute = &self.extract.table.quasi[i];
                let hide = |text: &str| self.recollection.hide(&a.name, text);
                let least = self.observable();
                let label = |leaf: u32| {
                    let run = Run::new(leaf, leaf);
                    Label::of(&hide, attribute, run, least, &mut HashMap::new()).write()
                };
                let of = &self.extract.table.quasi_codes[i];
                let codes =
                    self.extract.rows.of_records().iter().map(|&row| of[row as usize]).collect();
                rows.add((0..attribute.taxonomy.leaves() as u32).map(label).collect(), codes);
            }
            Column::Plain(i) => self.tabulate_plain(i, rows),
            _ => {}
        }
        rows.name(a, self.shown(a));
        true
    }

    /// Records that have the same values in all quasi-identifiers, numbered, and how many numbers
    /// there are.
    fn records_alike(&self) -> (Vec<u32>, usize) {
        let table = &self.extract.table;
        let there: Vec<usize> =
            (0..self.groups.len()).filter(|&i| self.groups[i] != New::NOWHERE).collect();
        let sizes: Vec<u64> = table.quasi.iter().map(|a| a.taxonomy.leaves() as u64).collect();
        let code = |column: usize, i: usize| {
            table.quasi_codes[column][self.extract.rows.of_records()[there[i]] as usize]
        };
        let (number_of, firsts) = number_tuples_of(there.len(), &sizes, code);
        let mut groups = vec![New::NOWHERE; self.groups.len()];
        there.iter().zip(number_of).for_each(|(&record, number)| groups[record] = number);
        (groups, firsts.len())
    }

    fn shown(&self, a: &AttributePolicy) -> Shown {
        let role = Role::ALL.iter().find(|(_, role)| *role == a.role).map_or("", |(name, _)| name);
        // Digits matter only where rounding or coding must be undone.
        let truth = self.extract.truth.iter().find(|(name, _)| *name == a.name);
        let truth = truth.filter(|_| !a.perturb.is_empty());
        let change = self.extract.perturbed.iter().find(|(name, _)| *name == a.name);
        Shown {
            role: role.into(),
            perturbed: a
                .perturb
                .iter()
                .map(|step| (step.name().into(), step.parameter()))
                .collect(),
            decimals: truth
                .map_or(0, |(_, texts)| decimals(texts.values.iter().map(String::as_str))),
            epsilon: change.and_then(|(_, change)| change.epsilon),
            guarded: Vec::new(),
            open: false,
        }
    }

    /// The labels of a column, and which of them each class has.
    fn labels(
        &self,
        column: usize,
        leaves: &mut HashMap<String, String>,
    ) -> (Vec<String>, Vec<u32>) {
        let release = &self.made.release;
        let mut texts: Vec<String> = Vec::new();
        let mut known: HashMap<Run, u32> = HashMap::new();
        let least = self.observable();
        let mut code_of = Vec::with_capacity(release.classes.len());
        for class in &release.classes {
            let run = class.region[column];
            code_of.push(*known.entry(run).or_insert_with(|| {
                let attribute = &release.quasi[column];
                let hide = |text: &str| self.recollection.hide(&attribute.name, text);
                texts.push(Label::of(&hide, attribute, run, least, leaves).write());
                texts.len() as u32 - 1
            }));
        }
        (texts, code_of)
    }

    /// How observable a value of a freeform column must be to be known to an adversary.
    fn observable(&self) -> Ratio {
        let asked = self.policy.requirements.iter().filter_map(|r| r.model.freeform());
        asked.map(|thresholds| thresholds.observability).min().unwrap_or(Ratio::whole(0))
    }

    /// What each class shows in the other columns, if some are protected.
    fn rest(&self, protected: &[usize]) -> Vec<String> {
        let release = &self.made.release;
        if protected.is_empty() {
            return Vec::new();
        }
        let least = self.observable();
        let rest = |class: &EquivalenceClass| {
            let columns = release.quasi.iter().zip(&class.region).enumerate();
            let others = columns.filter(|(i, _)| !protected.contains(i));
            others
                .map(|(_, (a, &run))| observed(a, run, least))
                .collect::<Vec<String>>()
                .join(" · ")
        };
        release.classes.iter().map(rest).collect()
    }

    /// The values of a freeform column that are sensitive.
    fn guarded(
        &self,
        a: &AttributePolicy,
        place: Column,
        leaves: &mut HashMap<String, String>,
    ) -> Vec<String> {
        let Column::Quasi(at) = place else { return Vec::new() };
        let attribute = &self.extract.table.quasi[at];
        let sensitive = |leaf: &u32| sensitivity(attribute, Run::new(*leaf, *leaf)).num() > 0;
        let mut values = Vec::new();
        let hide = |text: &str| self.recollection.hide(&a.name, text);
        for leaf in (0..attribute.taxonomy.leaves() as u32).filter(sensitive) {
            let text = attribute.taxonomy.leaf(leaf);
            values.push(guarded(&hide, attribute, leaf));
            leaves.insert(hide(text), text.to_owned());
        }
        values
    }
}
