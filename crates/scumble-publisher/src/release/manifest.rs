//! What a release says about itself: `manifest.json`, beside the data.
//!
//! It holds what a recipient may know and needs: roles, how values were recoded, promises with
//! measured values, loss, and the hash of the data file. It holds no leaf of a generated taxonomy,
//! because those are values of the extract, and no seed, because with it the shuffling could be
//! undone.

use super::account::Account;
use super::folder;
use super::recipient::{Described, Wanted};
use crate::answer::{Groups, Model};
use crate::publish::source::Extract;
use crate::table::columns::ReadOptions;
use schemars::JsonSchema;
use scumble::algorithm::Requirement;
use scumble::class::Run;
use scumble::exact::Ratio;
use scumble::failure::{Failure, Failures};
use scumble::freeform::{Observability, Sensitivity, Specification};
use scumble::policy::Policy;
use scumble::release::{Release, Shape};
use scumble::table::{Attribute, Role, published};
use scumble::taxonomy::{Decimal, Granularity, Intervals, Prefix, Rule, Tree, Unit};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Name of the file.
pub const FILE: &str = "manifest.json";

/// Version of the format. Since 2 a sibling recoding of a generated taxonomy keeps its rule.
pub const VERSION: u32 = 2;

/// The manifest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Manifest {
    /// Version of this format.
    pub version: u32,
    /// What wrote it, with its version.
    pub made_by: String,
    /// What the publisher's ledger calls this release; absent if it was recorded in none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub id: Option<String>,
    /// Who publishes.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub publisher: Option<String>,
    /// For whom.
    pub recipients: Vec<String>,
    /// The data file.
    pub data: Data,
    /// What the quasi-identifiers of a record tell: `regions` that contain the person's values,
    /// `representatives` that stand for them, or the person's own, in `groups`. Absent in older
    /// manifests.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub shape: Option<String>,
    /// If the release is anatomized, its other data files.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub anatomized: Option<Anatomized>,
    /// The columns of the data in order; of the first two files, if there are several.
    pub columns: Vec<ColumnNote>,
    /// How missing values were treated.
    pub missing: String,
    /// Whose privacy is protected: `person`, or `row` if no column names persons.
    pub privacy_unit: String,
    /// How the release was made.
    pub algorithm: Method,
    /// Number of equivalence classes.
    pub classes: u64,
    /// Records left out.
    pub suppressed: u64,
    /// Promises with measured values.
    #[serde(serialize_with = "crate::answer::parameters::recorded")]
    pub models: Vec<Model>,
    /// What was lost, by metric.
    pub utility: BTreeMap<String, f64>,
    /// Present if the randomness came from a given seed: such a release is for testing.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub seeded: Option<String>,
    /// What a reader should bear in mind.
    pub notes: Vec<String>,
}

/// The data file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Data {
    /// Name in the release's folder.
    pub file: String,
    /// Name in the table of formats, such as `csv` or `parquet`.
    pub format: String,
    /// What separates cells of a CSV file.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub delimiter: Option<String>,
    /// Records.
    pub rows: u64,
    /// SHA-256 of the file.
    pub sha256: String,
}

/// The table of the sensitive values of an anatomized release, and what connects it with the other
/// one. It is written in the same format.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Anatomized {
    /// Name in the release's folder.
    pub file: String,
    /// Lines.
    pub rows: u64,
    /// SHA-256 of the file.
    pub sha256: String,
    /// Column of both files that has the number of the group.
    pub group: String,
    /// Column of this file that says how many records of the group have these values.
    pub count: String,
    /// The groups.
    pub groups: Groups,
    /// The table of counterfeits, if there are any.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub counterfeits: Option<Counterfeits>,
}

/// The table that says how many of the sensitive values of a group stand for nobody. Its columns
/// are called as those of the table of sensitive values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Counterfeits {
    /// Name in the release's folder.
    pub file: String,
    /// Lines: groups that have some.
    pub rows: u64,
    /// SHA-256 of the file.
    pub sha256: String,
}

/// A column of the release.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ColumnNote {
    /// Name.
    pub name: String,
    /// Role: one that is published.
    pub role: Role,
    /// How its values generalize.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub taxonomy: Option<TaxonomyNote>,
    /// The level that all its values are shown at, where the algorithm shows them at one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub level: Option<String>,
    /// Labels that do not stand for all below them, each with what is shown by itself:
    /// `Professional`, but not `Lawyer`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub exceptions: BTreeMap<String, Vec<String>>,
    /// How its values were changed: methods with their parameters.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub perturbed: BTreeMap<String, String>,
    /// How sensitive and observable its single values are, of a freeform column.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub freeform: Option<FreeformNote>,
    /// The number of values that randomized response drew from.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub drawn_from: Option<usize>,
}

/// How the values of a column generalize: the rule, never the values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TaxonomyNote {
    /// A file of the release's folder.
    File {
        /// Path in the folder.
        path: String,
        /// Whether its order means something.
        ordered: bool,
    },
    /// Numbers in intervals.
    Intervals {
        /// Widths.
        widths: Vec<String>,
        /// Lower open end.
        low: Option<String>,
        /// Upper open end.
        high: Option<String>,
        /// The finest unit that is shown, or `exact`; absent if that is the smallest width, or 1.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        unit: Option<String>,
    },
    /// Dates in calendar units.
    Dates(Vec<String>),
    /// Masked text.
    Prefix(PrefixNote),
    /// The value or nothing.
    Flat,
}

/// How text is masked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "WrittenPrefix")]
pub struct PrefixNote {
    /// Numbers of characters kept; empty for all.
    pub keep: Vec<usize>,
    /// Number of characters of a masked text; absent if it ends with a single `*`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub length: Option<usize>,
    /// Whether masked texts are all as long as the longest of them. Releases of earlier builds are,
    /// whose manifests list the numbers of characters and say nothing else.
    #[serde(skip)]
    pub as_long_as_longest: bool,
}

/// A [`PrefixNote`] as it is or was written.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum WrittenPrefix {
    Now {
        keep: Vec<usize>,
        #[serde(default)]
        length: Option<usize>,
    },
    Earlier(Vec<usize>),
}

impl From<WrittenPrefix> for PrefixNote {
    fn from(written: WrittenPrefix) -> PrefixNote {
        match written {
            WrittenPrefix::Now { keep, length } => {
                PrefixNote { keep, length, as_long_as_longest: false }
            }
            WrittenPrefix::Earlier(keep) => {
                PrefixNote { keep, length: None, as_long_as_longest: true }
            }
        }
    }
}

/// What the publisher says of the single values of a column: nodes of a taxonomy that goes with the
/// release. Numbers are exact, as texts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FreeformNote {
    /// The nodes over the sensitive values.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub guarding: Vec<String>,
    /// `aggregate`, `non-aggregate`, or numbers by value.
    pub sensitivity: Said<BTreeMap<String, String>>,
    /// `sensitivity`, or beliefs.
    pub observability: Said<BeliefNote>,
}

/// A word, or more than a word.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[allow(missing_docs)]
pub enum Said<T> {
    Word(String),
    More(T),
}

/// What is believed to be observable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BeliefNote {
    /// Of values that are not named.
    pub belief: String,
    /// What a node has more than its children.
    pub alpha: String,
    /// Of those that are.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub beliefs: BTreeMap<String, String>,
}

impl FreeformNote {
    /// The note of a specification.
    pub fn of(s: &Specification) -> FreeformNote {
        let texts = |list: &[(String, Ratio)]| {
            list.iter().map(|(name, r)| (name.clone(), r.to_string())).collect()
        };
        FreeformNote {
            guarding: s.guarding.clone(),
            sensitivity: match &s.sensitivity {
                Sensitivity::Aggregate => Said::Word("aggregate".into()),
                Sensitivity::NonAggregate => Said::Word("non-aggregate".into()),
                Sensitivity::Given(values) => Said::More(texts(values)),
            },
            observability: match &s.observability {
                Observability::BySensitivity => Said::Word("sensitivity".into()),
                Observability::Believed { belief, beliefs, alpha } => Said::More(BeliefNote {
                    belief: belief.to_string(),
                    alpha: alpha.to_string(),
                    beliefs: texts(beliefs),
                }),
            },
        }
    }

    /// The specification of a note; `None` if the note is not one of ours.
    pub fn specification(&self) -> Option<Specification> {
        let number = |text: &String| Ratio::parse(text).filter(|r| *r <= Ratio::whole(1));
        let numbers = |map: &BTreeMap<String, String>| -> Option<Vec<(String, Ratio)>> {
            map.iter().map(|(name, text)| Some((name.clone(), number(text)?))).collect()
        };
        Some(Specification {
            guarding: self.guarding.clone(),
            sensitivity: match &self.sensitivity {
                Said::Word(word) if word == "aggregate" => Sensitivity::Aggregate,
                Said::Word(word) if word == "non-aggregate" => Sensitivity::NonAggregate,
                Said::Word(_) => return None,
                Said::More(values) => Sensitivity::Given(numbers(values)?),
            },
            observability: match &self.observability {
                Said::Word(word) if word == "sensitivity" => Observability::BySensitivity,
                Said::Word(_) => return None,
                Said::More(b) => Observability::Believed {
                    belief: number(&b.belief)?,
                    alpha: number(&b.alpha)?,
                    beliefs: numbers(&b.beliefs)?,
                },
            },
        })
    }
}

/// Name and parameters of the algorithm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Method {
    /// Name in the catalogue.
    pub name: String,
    /// Parameters as written and defaulted.
    pub parameters: BTreeMap<String, String>,
}

/// A taxonomy that was given, not generated, goes with the release: under this path.
pub fn taxonomy_path(column: &str) -> String {
    let mut name = String::new();
    for c in column.chars() {
        match c {
            c if c.is_alphanumeric() || matches!(c, '-' | '_') => name.push(c),
            // By its number, so that no two columns share a file.
            c => name.push_str(&format!("~{:x}~", u32::from(c))),
        }
    }
    format!("taxonomies/{name}.csv")
}

impl TaxonomyNote {
    /// The note of a rule. A nested list becomes a file of the release.
    pub fn of(column: &str, rule: &Rule) -> TaxonomyNote {
        let shown = |d: &Decimal| Decimal::show(d.mantissa, d.decimals);
        match rule {
            Rule::File { ordered, .. } => {
                TaxonomyNote::File { path: taxonomy_path(column), ordered: *ordered }
            }
            Rule::Nested(_) => TaxonomyNote::File { path: taxonomy_path(column), ordered: false },
            Rule::Intervals(Intervals { widths, low, high, unit }) => TaxonomyNote::Intervals {
                unit: match unit {
                    Unit::Finest => None,
                    Unit::Of(width) => Some(shown(width)),
                    Unit::Exact => Some("exact".to_owned()),
                },
                widths: widths.iter().map(shown).collect(),
                low: low.as_ref().map(shown),
                high: high.as_ref().map(shown),
            },
            Rule::Dates(units) => {
                TaxonomyNote::Dates(units.iter().map(|u| u.name().to_owned()).collect())
            }
            Rule::Prefix(Prefix { keep, length }) => {
                let (keep, length) = (keep.clone(), *length);
                TaxonomyNote::Prefix(PrefixNote { keep, length, as_long_as_longest: false })
            }
            Rule::Flat => TaxonomyNote::Flat,
        }
    }

    /// The rule of a note; `None` if the note is not one of ours.
    pub fn rule(&self) -> Option<Rule> {
        let number = |t: &String| Decimal::parse(t);
        Some(match self {
            TaxonomyNote::File { path, ordered } => {
                Rule::File { path: path.clone(), ordered: *ordered, public: false }
            }
            TaxonomyNote::Intervals { widths, low, high, unit } => Rule::Intervals(Intervals {
                unit: match unit.as_deref() {
                    None => Unit::Finest,
                    Some("exact") => Unit::Exact,
                    Some(width) => Unit::Of(Decimal::parse(width)?),
                },
                widths: widths.iter().map(number).collect::<Option<_>>()?,
                low: low.as_ref().and_then(number),
                high: high.as_ref().and_then(number),
            }),
            TaxonomyNote::Dates(units) => {
                let unit = |name: &String| {
                    Granularity::ALL.iter().find(|(n, _)| n == name).map(|(_, g)| *g)
                };
                Rule::Dates(units.iter().map(unit).collect::<Option<_>>()?)
            }
            TaxonomyNote::Prefix(PrefixNote { keep, length, .. }) => {
                Rule::Prefix(Prefix { keep: keep.clone(), length: *length })
            }
            TaxonomyNote::Flat => Rule::Flat,
        })
    }
}

/// Whether the taxonomy was given by the publisher (and may be shown), not generated from the data.
pub fn is_given(rule: &Rule) -> bool {
    matches!(rule, Rule::File { .. } | Rule::Nested(Tree { .. }))
}

/// The taxonomies that go with a release, with the columns they are of: of each that was given,
/// what is published and what stands above it. All of a file goes with the release if the policy
/// says that it is public, or if something is said of its single values.
pub(crate) fn shipped(
    policy: &Policy,
    extract: &Extract,
    release: &Release,
) -> Vec<(String, Vec<Vec<String>>)> {
    let mut files = Vec::new();
    let mut add = |a: &Attribute, runs: &mut dyn Iterator<Item = Run>| {
        let rule = policy
            .attributes
            .iter()
            .find(|of| of.name == a.name)
            .and_then(|of| of.taxonomy.as_ref());
        let Some(rule) = rule.filter(|rule| is_given(rule)) else { return };
        let whole = matches!(rule, Rule::File { public: true, .. }) || a.freeform.is_some();
        files.push((
            a.name.clone(),
            if whole { a.taxonomy.rows() } else { a.taxonomy.rows_of(runs) },
        ));
    };
    for (i, a) in
        release.quasi.iter().enumerate().filter(|_| release.shape != Shape::Representatives)
    {
        // Quasi-identifiers that pass through are in no release here; what the source has of them
        // is published.
        let passing = extract
            .rows
            .passing_quasi()
            .iter()
            .filter(|coded| coded.name == a.name)
            .flat_map(|coded| &coded.codes);
        let mut passing = passing.map(|&(_, code)| Run::new(code, code));
        let mut records = release.records_by_group.iter().map(|r| Run::new(r.codes[i], r.codes[i]));
        let mut regions = release.classes.iter().map(|c| c.region[i]);
        add(
            a,
            match release.shape {
                _ if !extract.rows.passing_quasi().is_empty() => &mut passing,
                Shape::Groups => &mut records,
                _ => &mut regions,
            },
        );
    }
    for (i, a) in published(&release.sensitive).iter().enumerate() {
        let values = release
            .classes
            .iter()
            .flat_map(|c| &c.histograms[i].0)
            .map(|&(code, _)| Run::new(code, code));
        add(a, &mut values.chain(named(policy, a)));
    }
    files
}

/// The values and nodes of a sensitive attribute that the models name.
fn named(policy: &Policy, a: &Attribute) -> Vec<Run> {
    let texts = policy.requirements.iter().flat_map(|r| r.parameters.texts().into_values());
    texts
        .flat_map(|text| text.split('"').filter_map(|t| a.taxonomy.parse(t)).collect::<Vec<_>>())
        .collect()
}

/// What a recipient will be told of the columns of a release.
pub(crate) fn described(
    policy: &Policy,
    extract: &Extract,
    release: &Release,
) -> Result<Described, Failures> {
    let notes = column_notes(policy, extract, release);
    let mut rows: BTreeMap<String, Vec<Vec<String>>> =
        shipped(policy, extract, release).into_iter().collect();
    let mut wanted = |a: &Attribute| -> Result<Wanted, Failures> {
        let note = notes.iter().find(|c| c.name == a.name).and_then(ColumnNote::wanted);
        let w = note.ok_or_else(|| {
            Failure::bug("internal", format!("column `{}` cannot be described", a.name))
        })?;
        let is_file = matches!(w.rule, Some(Rule::File { .. }));
        let whole = whole_file(policy, extract, &a.name).filter(|_| is_file);
        Ok(Wanted { rows: rows.remove(&a.name).filter(|_| is_file), whole, ..w })
    };
    let quasi = release.quasi.iter().map(&mut wanted).collect::<Result<_, _>>()?;
    let sensitive =
        published(&release.sensitive).iter().map(&mut wanted).collect::<Result<_, _>>()?;
    Ok(Described { quasi, sensitive, outside: !extract.rows.passing_quasi().is_empty() })
}

/// All lines of the taxonomy file of a quasi-identifier, where a model counts the people of a
/// register by it and only a part of it is published.
pub(crate) fn whole_file(
    policy: &Policy,
    extract: &Extract,
    name: &str,
) -> Option<Vec<Vec<String>>> {
    let attribute = extract.table.quasi.iter().find(|a| a.name == name)?;
    placed_by_register(policy, name).then(|| attribute.taxonomy.rows())
}

/// Whether a model counts the people of a register by a column of whose taxonomy file only a part
/// is published.
pub(crate) fn placed_by_register(policy: &Policy, name: &str) -> bool {
    let rule = policy.quasi().find(|a| a.name == name).and_then(|a| a.taxonomy.as_ref());
    let known = |r: &Requirement| {
        r.register.as_ref().is_some_and(|register| register.columns.iter().any(|c| c.name == name))
    };
    matches!(rule, Some(Rule::File { public: false, .. })) && policy.requirements.iter().any(known)
}

/// Whether the release writes a quasi-identifier in groups of values of its own, which go with it
/// as a file if they were given.
pub fn is_own(extract: &Extract, release: &Release, name: &str) -> bool {
    let pairs = extract.table.quasi.iter().zip(&release.quasi);
    release.shape == Shape::Regions
        && pairs
            .filter(|(a, b)| a.name == name && b.taxonomy.shown_level().is_none())
            .any(|(a, b)| !Arc::ptr_eq(&a.taxonomy, &b.taxonomy))
}

/// The columns of a release with roles and rules.
pub fn column_notes(policy: &Policy, extract: &Extract, release: &Release) -> Vec<ColumnNote> {
    let note = |name: &String| {
        let a = policy.attributes.iter().find(|a| a.name == *name);
        let role = a.map_or(Role::Insensitive, |a| a.role);
        let taxonomy = match a.and_then(|a| a.taxonomy.as_ref()) {
            // Values that stand for others generalize no further.
            Some(_) if role.is_generalized() && release.shape == Shape::Representatives => {
                Some(TaxonomyNote::Flat)
            }
            // Groups of siblings of a file or a tree are written out; of a generated taxonomy a
            // file would list values of the data, so its rule and the exceptions say what a label
            // stands for.
            Some(rule) if is_own(extract, release, name) && is_given(rule) => {
                Some(TaxonomyNote::File { path: taxonomy_path(name), ordered: false })
            }
            rule => rule.map(|rule| TaxonomyNote::of(name, rule)),
        };
        // What is said of single values means nothing where others stand in their place.
        let own_values = is_own(extract, release, name) || release.shape == Shape::Representatives;
        let freeform =
            a.and_then(|a| a.freeform.as_ref()).filter(|_| !own_values).map(FreeformNote::of);
        let steps = a.map_or(&[][..], |a| &a.perturb);
        let perturbed = steps.iter().map(|s| (s.name().to_owned(), s.parameter())).collect();
        let drawn_from =
            extract.perturbed.iter().find(|(n, _)| n == name).and_then(|(_, change)| change.values);
        let own = release.quasi.iter().find(|q| q.name == *name);
        let exceptions =
            own.map_or(BTreeMap::new(), |q| q.taxonomy.exceptions().iter().cloned().collect());
        let level = own.and_then(|q| {
            let shown = q.taxonomy.shown_level()?;
            // Masks that are longer than every published value mask none; how many characters they
            // keep would tell of a suppressed one.
            let at = release.quasi.iter().position(|other| other.name == q.name)?;
            let runs = release.classes.iter().filter_map(|c| c.region.get(at));
            let masked = q.taxonomy.is_masked(runs);
            Some(q.taxonomy.level_name(if masked == Some(false) { 0 } else { shown }))
        });
        ColumnNote {
            name: name.clone(),
            role,
            taxonomy,
            level,
            exceptions,
            perturbed,
            freeform,
            drawn_from,
        }
    };
    extract.layout.iter().map(|c| note(&c.name)).collect()
}

/// Names of what a release's quasi-identifiers tell.
const SHAPES: [(&str, Shape); 3] = [
    ("regions", Shape::Regions),
    ("representatives", Shape::Representatives),
    ("groups", Shape::Groups),
];

/// The name of a shape.
pub fn shape_name(shape: Shape) -> String {
    SHAPES.iter().find(|(_, s)| *s == shape).map_or("", |(name, _)| *name).to_owned()
}

impl ColumnNote {
    /// How its values are to be understood, without the rows of a file; `None` if the note is not
    /// one of ours.
    pub(crate) fn wanted(&self) -> Option<Wanted> {
        let rule = self.taxonomy.as_ref().map(|note| note.rule().ok_or(())).transpose().ok()?;
        let freeform =
            self.freeform.as_ref().map(|note| note.specification().ok_or(())).transpose().ok()?;
        let as_long_as_longest = matches!(
            &self.taxonomy,
            Some(TaxonomyNote::Prefix(note)) if note.as_long_as_longest
        );
        Some(Wanted {
            rule,
            as_long_as_longest,
            freeform,
            exceptions: self.exceptions.clone(),
            ..Wanted::named(&self.name)
        })
    }

    /// Whether releases have columns of its role.
    pub fn is_published(&self) -> bool {
        !matches!(self.role, Role::Identifier | Role::Guard)
    }

    /// Whether the release shows its values generalized.
    pub fn is_generalized(&self) -> bool {
        self.role.is_generalized()
    }
}

impl Manifest {
    /// Says what was read: figures, hashes and numbers of lines.
    pub(crate) fn tell(&mut self, account: &Account, hashes: &[(String, u64)]) {
        self.classes = account.classes;
        self.suppressed = account.suppressed;
        self.models = account.models.iter().map(Model::public).collect();
        self.utility = account.public_utility();
        let anatomized = self.anatomized.as_mut().zip(account.groups).map(|(a, groups)| {
            a.groups = groups;
            let third = a.counterfeits.as_mut().map(|c| (&mut c.rows, &mut c.sha256));
            [Some((&mut a.rows, &mut a.sha256)), third]
        });
        let others = anatomized.into_iter().flatten().flatten();
        let files = std::iter::once((&mut self.data.rows, &mut self.data.sha256)).chain(others);
        for ((rows, sha256), (hash, lines)) in files.zip(hashes) {
            (*rows, *sha256) = (*lines, hash.clone());
        }
    }

    /// The columns of the file of records, in order.
    pub fn records_columns(&self) -> Vec<String> {
        let shown = |c: &&ColumnNote| self.anatomized.is_none() || c.role != Role::Sensitive;
        let columns = self.columns.iter().filter(shown).map(|c| c.name.clone());
        columns.chain(self.anatomized.as_ref().map(|a| a.group.clone())).collect()
    }

    /// The taxonomies that go with the release.
    pub fn taxonomies(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().filter_map(|c| match &c.taxonomy {
            Some(TaxonomyNote::File { path, .. }) => Some(path.as_str()),
            _ => None,
        })
    }

    /// The data files with their hashes.
    pub fn files(&self) -> Vec<(&str, &str)> {
        let mut files = vec![(self.data.file.as_str(), self.data.sha256.as_str())];
        if let Some(a) = &self.anatomized {
            files.push((&a.file, &a.sha256));
            files.extend(a.counterfeits.iter().map(|c| (c.file.as_str(), c.sha256.as_str())));
        }
        files
    }

    /// What the quasi-identifiers tell.
    pub fn shape(&self) -> Shape {
        let named = SHAPES.iter().find(|(name, _)| Some(*name) == self.shape.as_deref());
        match named {
            Some((_, shape)) => *shape,
            None if self.anatomized.is_some() => Shape::Groups,
            None if self.algorithm.name == "microaggregation" => Shape::Representatives,
            None => Shape::Regions,
        }
    }
}

/// How the data file of a release is written.
pub fn read_options(m: &Manifest) -> ReadOptions {
    let delimiter = m.data.delimiter.as_ref().and_then(|d| d.bytes().next());
    ReadOptions { delimiter, quote: Some(b'"'), hash: true, ..ReadOptions::default() }
}

/// The hash of the manifest of a release's folder.
pub fn sha256(folder: &Path) -> Result<String, Failures> {
    crate::table::columns::sha256(&folder::file(folder, FILE)?, &|| true)
}

/// Reads the manifest of a release's folder.
pub fn read(folder: &Path) -> Result<Manifest, Failures> {
    let path = folder::file(folder, FILE)?;
    let text = std::fs::read_to_string(&path).map_err(|e| {
        Failure::io(
            "cannot-read",
            format!("`{}` cannot be read: {}", path.display(), crate::describe(&e)),
        )
    })?;
    let manifest: Manifest = serde_json::from_str(&text).map_err(|e| {
        Failure::data(
            "not-a-release",
            format!("`{}`, line {}: not a manifest: {e}", path.display(), e.line()),
        )
        .hint("is this the folder of a release?")
    })?;
    if manifest.version > VERSION {
        let message = format!(
            "`{}` has version {}, newer than this scumble knows",
            path.display(),
            manifest.version
        );
        return Err(Failure::data("unknown-version", message).hint("use a newer scumble").into());
    }
    let names: Vec<&str> =
        manifest.files().into_iter().map(|(name, _)| name).chain(manifest.taxonomies()).collect();
    if let Some(name) = names.into_iter().find(|name| !folder::is_plain(name)) {
        let message =
            format!("`{}` names the file `{name}`, which is outside the folder", path.display());
        return Err(Failure::data("broken-release", message)
            .hint("the manifest was edited; take the release from where it was published")
            .into());
    }
    Ok(manifest)
}
