//! What a new release shows of protected columns, and the tags of true values.

use crate::ledger::{
    Counts, Groups, Label, New, Pseudonym, Recollection, Shown, Shows, guarded, observed,
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
use scumble::table::{Role, published};
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
        let Extract { table, row_of, plain, truth, .. } = extract;
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

impl Showing<'_> {
    /// What the release shows of protected columns, and the tags of true values.
    pub fn shows<'b>(
        &self,
        columns: impl Iterator<Item = &'b AttributePolicy>,
    ) -> (Shows, Vec<Vec<u32>>) {
        let release = &self.made.release;
        let mut shows = Shows {
            attributes: Vec::new(),
            shown: Vec::new(),
            groups: Groups::of(release),
            tables: Vec::new(),
            leaves: HashMap::new(),
        };
        let (mut tags, mut tabled) = (Vec::new(), Vec::new());
        let (mut values, mut codes): (Vec<Vec<String>>, Vec<Vec<u32>>) = (Vec::new(), Vec::new());
        let mut labels = Vec::new();
        for a in columns {
            let Some(cell) = self.extract.layout.iter().find(|c| c.name == a.name) else {
                continue;
            };
            let at = shows.attributes.len();
            let whole = (self.extract, self.policy);
            tags.push(true_tags(self.recollection, self.people, whole, &a.name));
            let mut shown = self.shown(a);
            let regions = release.shape == Shape::Regions;
            match cell.place {
                Column::Sensitive(i) => {
                    let taxonomy = &self.extract.table.sensitive[i].taxonomy;
                    values.push(
                        (0..taxonomy.leaves() as u32)
                            .map(|leaf| taxonomy.leaf(leaf).to_owned())
                            .collect(),
                    );
                    let of = &self.extract.table.sensitive_codes[i];
                    codes.push(self.extract.row_of.iter().map(|&row| of[row as usize]).collect());
                    tabled.push(at);
                }
                Column::Quasi(i) if regions => {
                    let (texts, code_of) = self.labels(i, &mut shows.leaves);
                    values.push(texts);
                    let code = |&g: &u32| if g == New::NOWHERE { 0 } else { code_of[g as usize] };
                    codes.push(self.groups.iter().map(code).collect());
                    tabled.push(at);
                    labels.push(i);
                }
                Column::Plain(i) if regions => {
                    let column = &self.extract.plain[i];
                    let text = |v: &str| present(v, &self.policy.missing).to_owned();
                    values.push(column.values.iter().map(text).collect());
                    codes.push(column.codes.clone());
                    tabled.push(at);
                }
                _ => {}
            }
            if a.role == Role::Freeform {
                shown.guarded = self.guarded(a, cell.place, &mut shows.leaves);
            }
            shows.attributes.push(a.name.clone());
            shows.shown.push(shown);
        }
        shows.groups.rest = self.rest(&labels);
        shows.tables = match (&tabled[..], shows.attributes.len()) {
            ([], _) => Vec::new(),
            // Counted already, and with the values that stand for nobody.
            ([at], _) if shows.shown[*at].role == "sensitive" => {
                let mut only = Counts::of(release, 0);
                only.columns = vec![*at];
                vec![only]
            }
            _ => vec![Counts::of_rows(tabled, values, &codes, self.groups, release.classes.len())],
        };
        (shows, tags)
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
                texts.push(
                    Label::of(self.recollection.key(), &release.quasi[column], run, least, leaves)
                        .write(),
                );
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
        for leaf in (0..attribute.taxonomy.leaves() as u32).filter(sensitive) {
            let (key, text) = (self.recollection.key(), attribute.taxonomy.leaf(leaf));
            values.push(guarded(key, attribute, leaf));
            leaves.insert(key.value(&a.name, text), text.to_owned());
        }
        values
    }
}
