//! The policy as data: everything that a policy file can say, as plain values.
//!
//! A [`PolicySpec`] can be cloned, compared, changed, printed as TOML, and sent as JSON. It
//! promises nothing: [`PolicySpec::policy`] makes a valid [`Policy`] of it, or says everything that
//! is wrong with it. The rules are those of the policy file, because the spec is written as TOML
//! and read by the same reader; only the lines are missing from the messages.
//!
//! Names of methods and of their parameters are texts here, so a new model or algorithm needs no
//! line in this file.

use super::reader::{Reader, Section};
use super::{Difference, Policy, Queries, read_rule, tree};
use crate::failure::{Failure, Failures};
use crate::gate::Panelist;
use crate::model::Concern;
use crate::table::Role;
use crate::taxonomy::{Granularity, Rule};
use indexmap::IndexMap;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use toml::de::DeTable;

/// A policy as data, valid or not.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicySpec {
    /// Who publishes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub publisher: Option<String>,
    /// Where the extract is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<SourceSpec>,
    /// Who receives the release, or may ask questions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recipients: Vec<String>,
    /// Field separator of a CSV source; detected if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delimiter: Option<String>,
    /// Quote character of a CSV source; detected if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quote: Option<String>,
    /// Cell texts that mean that a value is missing; the empty text if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<Vec<String>>,
    /// Where the ledger is: a folder, a file or an address; `false` for none. A folder `ledger`
    /// beside the policy if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ledger: Option<LedgerSpec>,
    /// File of the key that makes pseudonyms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// File in which the last entry of the ledger is noted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// Every column of the source, in the order in which they are published. A role alone stands
    /// for a column of which nothing else is said.
    #[serde(
        default,
        skip_serializing_if = "IndexMap::is_empty",
        deserialize_with = "map_of_short_forms"
    )]
    #[schemars(with = "IndexMap<String, ShortForm<AttributeSpec>>")]
    pub attributes: IndexMap<String, AttributeSpec>,
    /// Privacy models that must hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<ModelSpec>,
    /// How the release is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub algorithm: Option<AlgorithmSpec>,
    /// What all releases together may reveal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<GateSpec>,
    /// How people, columns and values of earlier releases are recognised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<HistorySpec>,
    /// What may be asked under differential privacy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queries: Option<QueriesSpec>,
    /// Where the release goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<ReleaseSpec>,
}

/// A number: whole, decimal, or as text where that is exact and a float is not (`"1/3"`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a number, or a text such as \"1/3\"")]
pub enum Number {
    /// A whole number.
    Whole(i64),
    /// A decimal number. Its exact value is that of its shortest decimal text.
    Decimal(f64),
    /// The text of a number.
    Text(String),
}

/// The value of a parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a number, a text, `true`, `false`, or a list of these")]
pub enum Setting {
    /// `true` or `false`.
    Flag(bool),
    /// A whole number.
    Whole(i64),
    /// A decimal number. Its exact value is that of its shortest decimal text.
    Decimal(f64),
    /// A word, a text, or the text of a number.
    Text(String),
    /// A list.
    List(Vec<Setting>),
}

/// The value `true`, where nothing else can be written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct True;

/// Where a table comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a path, or a database with a `table` or a `query`")]
pub enum SourceSpec {
    /// Path of a file or of a folder of files, relative to the policy.
    File(String),
    /// A database.
    Database(DatabaseSpec),
}

/// A database: one of `postgres` and `sqlite`, and one of `table` and `query`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DatabaseSpec {
    /// Address, as in `postgres://user@host/database`; without a password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub postgres: Option<String>,
    /// Path of an SQLite file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sqlite: Option<String>,
    /// Name of a table or view.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<String>,
    /// A query whose result is the table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
}

/// Where the ledger is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected the place of the ledger, or `false`")]
pub enum LedgerSpec {
    /// `false`: there is none.
    Kept(bool),
    /// A folder, a file or an address.
    At(String),
}

/// A column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AttributeSpec {
    /// What the column is to an adversary.
    pub role: Role,
    /// Whether its values name the persons whose privacy is protected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person: Option<bool>,
    /// How its values generalize. A text alone is the path of a taxonomy file.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "optional_short_form"
    )]
    #[schemars(with = "Option<ShortForm<TaxonomySpec>>")]
    pub taxonomy: Option<TaxonomySpec>,
    /// Weight in weighted losses; 1 if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<Number>,
    /// How its values are changed before anything else, by the name of the method.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub perturb: IndexMap<String, Setting>,
    /// Of a freeform column: taxonomy nodes whose values are sensitive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guarding: Option<Vec<String>>,
    /// Of a freeform column: how sensitive its values are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sensitivity: Option<SensitivitySpec>,
    /// Of a freeform column: how observable its values are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observability: Option<ObservabilitySpec>,
}

/// How the values of a column generalize: a taxonomy file, or one rule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, deny_unknown_fields)]
#[serde(expecting = "expected the path of a taxonomy file, or a table with one of `file`, \
                     `intervals`, `number`, `dates`, `prefix`, `flat`, `nested` and its options")]
pub enum TaxonomySpec {
    /// A taxonomy file.
    File {
        /// Its path, relative to the policy.
        file: String,
        /// Whether the order of its leaves means something.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ordered: Option<bool>,
        /// Whether recipients know the file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        public: Option<bool>,
    },
    /// Intervals of rising widths.
    Intervals {
        /// Widths, each a multiple of the one before.
        intervals: Vec<Number>,
        /// Below this everything is one value.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        low: Option<Number>,
        /// From this on everything is one value.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        high: Option<Number>,
        /// The finest unit that may be published, or the word `exact`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unit: Option<Number>,
    },
    /// Ranges of numbers with any ends.
    Number {
        /// Names the rule.
        number: True,
        /// Below this everything is one value.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        low: Option<Number>,
        /// From this on everything is one value.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        high: Option<Number>,
        /// The finest unit that may be published, or the word `exact`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unit: Option<Number>,
    },
    /// Calendar units.
    Dates {
        /// Units from fine to coarse.
        dates: Vec<Granularity>,
    },
    /// Prefixes of codes.
    Prefix {
        /// Which lengths are kept.
        prefix: PrefixSpec,
        /// Number of characters of the longest code there may be.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        length: Option<Number>,
    },
    /// A value or everything.
    Flat {
        /// Names the rule.
        flat: True,
    },
    /// A tree that stands in the policy.
    Nested {
        /// The tree.
        nested: NestedSpec,
    },
}

/// The lengths of prefixes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected `true` or falling lengths to keep")]
pub enum PrefixSpec {
    /// Every length.
    Every(True),
    /// These lengths, falling.
    Lengths(Vec<Number>),
}

/// Part of a taxonomy that stands in the policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a tree of tables and lists of values")]
pub enum NestedSpec {
    /// Nodes by their labels.
    Nodes(IndexMap<String, NestedSpec>),
    /// Leaves, or nodes as tables with one key.
    List(Vec<NestedSpec>),
    /// A leaf.
    Leaf(Setting),
}

/// How sensitive the values of a freeform column are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SensitivitySpec {
    /// The guarded values together.
    Aggregate,
    /// Each guarded value by itself.
    NonAggregate,
    /// A number from 0 to 1 for each sensitive value.
    #[serde(untagged)]
    Given(IndexMap<String, Number>),
}

/// How observable the values of a freeform column are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ObservabilitySpec {
    /// The less the more sensitive they are.
    Sensitivity,
    /// As believed.
    #[serde(untagged)]
    Believed(BeliefSpec),
}

/// Beliefs about which values an adversary can observe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BeliefSpec {
    /// Of values that `beliefs` does not name, from 0 to 1.
    pub belief: Number,
    /// Of single values or taxonomy nodes.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub beliefs: IndexMap<String, Number>,
    /// How much the belief of a node counts for its parts; 0 if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alpha: Option<Number>,
}

/// A privacy model with its parameters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelSpec {
    /// Name in the catalogue.
    pub name: String,
    /// The sensitive attribute that it is about; all if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attribute: Option<String>,
    /// The quasi-identifiers that it is about; all if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<Vec<String>>,
    /// Its parameters, by name.
    #[serde(flatten)]
    pub parameters: IndexMap<String, Setting>,
}

/// An algorithm with its parameters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AlgorithmSpec {
    /// Name in the catalogue.
    pub name: String,
    /// How long it may go on improving what it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<Number>,
    /// Its parameters, by name.
    #[serde(flatten)]
    pub parameters: IndexMap<String, Setting>,
}

/// What all releases together may reveal.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GateSpec {
    /// Number of people whose value may become certain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certain: Option<Number>,
    /// Least number of values that must stay possible for everybody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidates: Option<Number>,
    /// Largest belief in a value of a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub posterior: Option<Number>,
    /// Share of people whose value may be believed with a confidence, by per cents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pvp: Option<IndexMap<String, Number>>,
    /// Largest ε of all randomized responses of a person together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_epsilon: Option<Number>,
    /// How adversaries come to beliefs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub panel: Option<Vec<Panelist>>,
    /// Number of recipients who may put their releases together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coalitions: Option<Number>,
    /// Whether an adversary with all releases is judged too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub everybody: Option<bool>,
    /// Whether remedies are looked for when a release is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedies: Option<bool>,
    /// Seconds that one judgement may take; people of whom nothing was found out by then count as
    /// exposed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<Number>,
}

/// How people, columns and values of earlier releases are recognised.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HistorySpec {
    /// Renamed columns: the name now, and the one in earlier releases.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub columns: IndexMap<String, String>,
    /// Renamed values of a column: the value now, and the one in earlier releases.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub values: IndexMap<String, IndexMap<String, String>>,
    /// Differences from earlier releases that are no mistake.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub meant: Vec<Difference>,
}

/// What may be asked under differential privacy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueriesSpec {
    /// What questions call the table; the name of the source if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<String>,
    /// The column whose values name the persons; the attribute with `person = true` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person: Option<String>,
    /// Rows per person that are counted; 1 if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows_per_person: Option<Number>,
    /// What everybody may spend together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<LimitSpec>,
    /// What each recipient may spend.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub each: Option<LimitSpec>,
    /// Questions asked together. A text alone is the SQL of a question.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "list_of_short_forms"
    )]
    #[schemars(with = "Vec<ShortForm<QuestionSpec>>")]
    pub ask: Vec<QuestionSpec>,
    /// What is public about columns.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub columns: IndexMap<String, ColumnSpec>,
    /// The synthetic table to make.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub synthetic: Option<SyntheticSpec>,
}

/// What may be spent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LimitSpec {
    /// ε in all.
    pub epsilon: Number,
    /// δ in all; 0 if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delta: Option<Number>,
}

/// A question with its price.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QuestionSpec {
    /// SQL text.
    pub sql: String,
    /// ε, unless it is given when the question is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epsilon: Option<Number>,
    /// δ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delta: Option<Number>,
    /// Which noise is added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mechanism: Option<NoiseSpec>,
}

/// A distribution of noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum NoiseSpec {
    Laplace,
    Gaussian,
}

/// What is public about a column.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ColumnSpec {
    /// The least and the largest number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds: Option<Vec<Number>>,
    /// The unit of its numbers; 1 if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<Number>,
    /// Its values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys: Option<Vec<String>>,
}

/// A synthetic table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SyntheticSpec {
    /// Its columns.
    pub columns: Vec<String>,
    /// Pairs of columns whose counts are measured in any case.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pairs: Vec<Vec<String>>,
    /// Width of the ranges of columns with bounds.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub widths: IndexMap<String, Number>,
    /// ε that it may cost.
    pub epsilon: Number,
    /// δ that it may cost; 0 if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delta: Option<Number>,
    /// Which noise is added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mechanism: Option<NoiseSpec>,
    /// The folder that it goes to.
    pub to: String,
}

/// Where a release goes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReleaseSpec {
    /// The folder that it goes to.
    pub to: String,
    /// In which format; CSV if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
}

/// The JSON Schema of a [`PolicySpec`].
pub fn schema() -> Schema {
    schemars::schema_for!(PolicySpec)
}

impl PolicySpec {
    /// Reads what a policy file says. `name` is the file's name, for messages.
    ///
    /// Only what cannot be held is an error, such as a list where a text belongs or an unknown
    /// key; it is then reported as [`Policy::parse`] reports it, with its line.
    pub fn parse(name: &str, text: &str) -> Result<PolicySpec, Failures> {
        let root = super::table_of(name, text)?;
        let read =
            tree::of(root.get_ref()).and_then(|tree| tree.try_into().map_err(|e| e.to_string()));
        read.map_err(|unreadable| {
            let asks_only = root.get_ref().contains_key("queries")
                && !root.get_ref().contains_key("attributes");
            let told = if asks_only {
                Queries::parse(name, text).err()
            } else {
                Policy::parse(name, text).err()
            };
            told.unwrap_or_else(|| {
                Failure::policy("not-toml", format!("`{name}`: {unreadable}")).file(name).into()
            })
        })
    }

    /// The valid policy that this describes, or everything that is wrong with it.
    pub fn policy(&self) -> Result<Policy, Failures> {
        self.read(|reader, root| reader.policy(root))
    }

    /// Leaves a column out of what is published, with the models about it, as [`Policy::without`]
    /// does. Whether that is possible; if not, the spec may be changed in part.
    pub fn without(&mut self, name: &str) -> bool {
        let Some(role) = self.attributes.get(name).map(|a| a.role) else { return false };
        let Ok(policy) = self.policy() else { return false };
        if policy.algorithm.parameters.texts().values().any(|text| text == name) {
            return false;
        }
        let last_sensitive = role == Role::Sensitive && policy.sensitive().count() == 1;
        self.models.retain(|model| {
            let about = model.attribute.as_deref() == Some(name);
            let on = model.on.as_ref().is_some_and(|on| on.iter().any(|column| column == name));
            // Without a sensitive column nothing is left of what all of them say together.
            let mut of_name = policy.requirements.iter().filter(|r| r.name == model.name);
            let stays =
                !last_sensitive || of_name.all(|r| r.model.promise().concerns == Concern::Identity);
            !about && !on && stays
        });
        if let Some(history) = &mut self.history {
            history.columns.shift_remove(name);
            history.values.shift_remove(name);
        }
        if let Some(attribute) = self.attributes.get_mut(name) {
            let person = attribute.person;
            *attribute = AttributeSpec { person, ..AttributeSpec::new(Role::Identifier) };
        }
        !self.models.is_empty() && self.policy().is_ok()
    }

    /// What may be asked under differential privacy, or everything that is wrong with it.
    pub fn queries(&self) -> Result<Queries, Failures> {
        self.read(|reader, root| reader.queries(root, reader.source(root).as_ref()))
    }

    /// Writes the spec as TOML and reads that, so that every rule about policies exists once. The
    /// reader has no file, and its messages have no lines: nobody wrote these.
    fn read<T>(
        &self,
        read: impl for<'a> Fn(&Reader<'a>, &Section<'a>) -> Option<T>,
    ) -> Result<T, Failures> {
        let text = self.to_string();
        let root = DeTable::parse(&text).map_err(|e| {
            Failure::bug("internal", format!("the policy cannot be written: {}", e.message()))
        })?;
        let reader = Reader::new(None, &text);
        let read = read(&reader, &Section { path: String::new(), table: root.get_ref(), at: 0 });
        reader.finish(read)
    }
}

impl fmt::Display for PolicySpec {
    /// As a policy file.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&tree::document(&tree::written(self)).to_string())
    }
}

impl AttributeSpec {
    /// A column of which only the role is said.
    pub fn new(role: Role) -> AttributeSpec {
        AttributeSpec {
            role,
            person: None,
            taxonomy: None,
            weight: None,
            perturb: IndexMap::new(),
            guarding: None,
            sensitivity: None,
            observability: None,
        }
    }

    /// The same column with a taxonomy.
    pub fn with(mut self, taxonomy: TaxonomySpec) -> AttributeSpec {
        self.taxonomy = Some(taxonomy);
        self
    }
}

impl TaxonomySpec {
    /// The rule of a column, if it is valid.
    pub fn rule(&self, column: &str) -> Result<Rule, Failures> {
        let tree = toml::Value::try_from(self)
            .map_err(|e| Failure::bug("internal", format!("a rule cannot be written: {e}")))?;
        read_rule(column, &tree::value(&tree).to_string())
    }

    /// A taxonomy file.
    pub fn file(path: impl Into<String>) -> TaxonomySpec {
        TaxonomySpec::File { file: path.into(), ordered: None, public: None }
    }

    /// Intervals of these widths.
    pub fn intervals<N: Into<Number>>(widths: impl IntoIterator<Item = N>) -> TaxonomySpec {
        let intervals = widths.into_iter().map(Into::into).collect();
        TaxonomySpec::Intervals { intervals, low: None, high: None, unit: None }
    }

    /// Ranges of numbers with any ends.
    pub fn number() -> TaxonomySpec {
        TaxonomySpec::Number { number: True, low: None, high: None, unit: None }
    }

    /// Calendar units, from fine to coarse.
    pub fn dates(units: impl IntoIterator<Item = Granularity>) -> TaxonomySpec {
        TaxonomySpec::Dates { dates: units.into_iter().collect() }
    }

    /// Prefixes of every length.
    pub fn prefix() -> TaxonomySpec {
        TaxonomySpec::Prefix { prefix: PrefixSpec::Every(True), length: None }
    }

    /// A value or everything.
    pub fn flat() -> TaxonomySpec {
        TaxonomySpec::Flat { flat: True }
    }
}

impl ModelSpec {
    /// A model without parameters.
    pub fn new(name: impl Into<String>) -> ModelSpec {
        ModelSpec { name: name.into(), ..ModelSpec::default() }
    }

    /// The same model with a parameter.
    pub fn with(mut self, parameter: &str, value: impl Into<Setting>) -> ModelSpec {
        self.parameters.insert(parameter.into(), value.into());
        self
    }
}

impl AlgorithmSpec {
    /// An algorithm with default parameters.
    pub fn new(name: impl Into<String>) -> AlgorithmSpec {
        AlgorithmSpec { name: name.into(), ..AlgorithmSpec::default() }
    }

    /// The same algorithm with a parameter.
    pub fn with(mut self, parameter: &str, value: impl Into<Setting>) -> AlgorithmSpec {
        self.parameters.insert(parameter.into(), value.into());
        self
    }
}

impl Setting {
    /// Reads a value as it would be written in a policy, but without quotes round a word.
    pub fn read(text: &str) -> Setting {
        match text {
            "true" => Setting::Flag(true),
            "false" => Setting::Flag(false),
            _ => Number::read(text).into(),
        }
    }
}

impl Number {
    /// Reads a number. What is not equal to the text of a whole number or float is kept as text.
    pub fn read(text: &str) -> Number {
        if let Some(n) = text.parse::<i64>().ok().filter(|n| n.to_string() == text) {
            return Number::Whole(n);
        }
        match text.parse::<f64>() {
            Ok(x) if x.is_finite() && format!("{x:?}") == text => Number::Decimal(x),
            _ => Number::Text(text.into()),
        }
    }
}

impl From<Number> for Setting {
    fn from(number: Number) -> Setting {
        match number {
            Number::Whole(n) => Setting::Whole(n),
            Number::Decimal(x) => Setting::Decimal(x),
            Number::Text(text) => Setting::Text(text),
        }
    }
}

/// Conversions of plain values into numbers and settings.
macro_rules! from {
    ($($from:ty => $to:ident::$variant:ident),* $(,)?) => {
        $(impl From<$from> for $to {
            fn from(value: $from) -> $to {
                $to::$variant(value.into())
            }
        })*
    };
}

from! {
    i64 => Number::Whole, i32 => Number::Whole, u32 => Number::Whole,
    f64 => Number::Decimal, &str => Number::Text, String => Number::Text,
    i64 => Setting::Whole, i32 => Setting::Whole, u32 => Setting::Whole,
    f64 => Setting::Decimal, &str => Setting::Text, String => Setting::Text,
    bool => Setting::Flag, Vec<Setting> => Setting::List,
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Number::Whole(n) => n.fmt(f),
            Number::Decimal(x) => write!(f, "{x:?}"),
            Number::Text(text) => text.fmt(f),
        }
    }
}

impl fmt::Display for Setting {
    /// As in a policy, but without quotes round a word.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Setting::Flag(flag) => flag.fmt(f),
            Setting::Whole(n) => n.fmt(f),
            Setting::Decimal(x) => write!(f, "{x:?}"),
            Setting::Text(text) => text.fmt(f),
            Setting::List(items) => {
                f.write_str("[")?;
                for (i, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if i > 0 { ", " } else { "" })?;
                }
                f.write_str("]")
            }
        }
    }
}

impl Serialize for True {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bool(true)
    }
}

impl<'de> Deserialize<'de> for True {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<True, D::Error> {
        match bool::deserialize(deserializer)? {
            true => Ok(True),
            false => Err(de::Error::custom("it can only be `true`")),
        }
    }
}

impl JsonSchema for True {
    fn schema_name() -> Cow<'static, str> {
        "True".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "const": true })
    }
}

/// What a text alone can stand for.
trait Abbreviated: for<'de> Deserialize<'de> + JsonSchema {
    /// For messages.
    const EXPECTED: &'static str;

    /// What the text stands for.
    fn of_text<E: de::Error>(text: &str) -> Result<Self, E>;

    /// The schema of such a text.
    fn text_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

impl Abbreviated for AttributeSpec {
    const EXPECTED: &'static str = "a role, or a table with a `role`";

    fn of_text<E: de::Error>(text: &str) -> Result<AttributeSpec, E> {
        Role::deserialize(de::value::StrDeserializer::new(text)).map(AttributeSpec::new)
    }

    fn text_schema(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<Role>()
    }
}

impl Abbreviated for TaxonomySpec {
    const EXPECTED: &'static str = "the path of a taxonomy file, or a table with a rule";

    fn of_text<E: de::Error>(text: &str) -> Result<TaxonomySpec, E> {
        Ok(TaxonomySpec::file(text))
    }
}

impl Abbreviated for QuestionSpec {
    const EXPECTED: &'static str = "SQL text, or a table with `sql`";

    fn of_text<E: de::Error>(text: &str) -> Result<QuestionSpec, E> {
        Ok(QuestionSpec { sql: text.into(), ..QuestionSpec::default() })
    }
}

/// A value that may be written as a text or in full. An untagged enum would do, but its message
/// would not say what is wrong with the full form.
struct ShortForm<T>(T);

impl<'de, T: Abbreviated> Deserialize<'de> for ShortForm<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ShortFormVisitor(PhantomData))
    }
}

struct ShortFormVisitor<T>(PhantomData<T>);

impl<'de, T: Abbreviated> Visitor<'de> for ShortFormVisitor<T> {
    type Value = ShortForm<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTED)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<ShortForm<T>, E> {
        T::of_text(text).map(ShortForm)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ShortForm<T>, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(ShortForm)
    }
}

impl<T: Abbreviated> JsonSchema for ShortForm<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("{}OrText", T::schema_name()).into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let text = T::text_schema(generator);
        let full = generator.subschema_for::<T>();
        json_schema!({ "anyOf": [text, full] })
    }
}

fn map_of_short_forms<'de, D: Deserializer<'de>, T: Abbreviated>(
    deserializer: D,
) -> Result<IndexMap<String, T>, D::Error> {
    let written = IndexMap::<String, ShortForm<T>>::deserialize(deserializer)?;
    Ok(written.into_iter().map(|(name, form)| (name, form.0)).collect())
}

fn list_of_short_forms<'de, D: Deserializer<'de>, T: Abbreviated>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    let written = Vec::<ShortForm<T>>::deserialize(deserializer)?;
    Ok(written.into_iter().map(|form| form.0).collect())
}

fn optional_short_form<'de, D: Deserializer<'de>, T: Abbreviated>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    Ok(Option::<ShortForm<T>>::deserialize(deserializer)?.map(|form| form.0))
}
