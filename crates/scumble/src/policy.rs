//! What is promised to whom, read from a TOML text.
//!
//! Parsing has two steps: the text becomes a tree of values with their places (`Section`), and the
//! tree becomes a [`Policy`]. A `Policy` that exists is valid as far as the text alone can tell;
//! whether it fits the data is checked when the source is opened. All problems are returned
//! together, each with its line.

use crate::algorithm::{Algorithm, Requirement};
use crate::catalogue::{
    ALGORITHMS, Entry, Kind, MODELS, PERTURBATIONS, Parameter, Parameters, did_you_mean,
};
use crate::exact::Ratio;
use crate::failure::{Failure, Failures};
use crate::freeform::Specification;
use crate::gate::Gate;
use crate::model::Concern;
use crate::perturb::{Method, Step};
use crate::table::Role;
use crate::taxonomy::Rule;
use reader::{Reader, Section, line_of, scalar, shown};
use std::collections::BTreeMap;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

mod document;
mod freeform;
mod gate;
mod history;
mod key;
mod queries;
mod reader;
mod source;
pub mod spec;
mod taxonomies;
mod tree;

pub use document::PolicyDocument;
pub use history::{Difference, HistoryPolicy};
pub use key::{Chosen, PolicyKey, Sweep};
pub use queries::{Asked, ColumnRule, Queries, SyntheticRule};
pub use source::{MEMORY, Rows, Source, check_address, is_postgres};
pub use spec::PolicySpec;
pub use taxonomies::read_rule;

/// A valid policy.
pub struct Policy {
    /// Who publishes.
    pub publisher: Option<String>,
    /// Where the extract is, as written.
    pub source: Source,
    /// Who receives the release.
    pub recipients: Vec<String>,
    /// How the source is written, where detection is not wanted.
    pub delimiter: Option<u8>,
    /// The quote character of the source.
    pub quote: Option<u8>,
    /// Cell texts that mean that the value is missing.
    pub missing: Vec<String>,
    /// Every column of the source, in the order of the policy.
    pub attributes: Vec<AttributePolicy>,
    /// What must hold.
    pub requirements: Vec<Requirement>,
    /// How the release is made.
    pub algorithm: AlgorithmChoice,
    /// What the whole history may reveal.
    pub gate: Gate,
    /// How what earlier releases show is recognised.
    pub history: HistoryPolicy,
    /// Where the ledger is, as written; a folder named `ledger` beside the policy unless it says
    /// otherwise, none if it says so.
    pub ledger: Option<String>,
    /// The file of the key that makes pseudonyms, as written.
    pub key: Option<String>,
    /// The file in which the ledger's last entry is noted, as written.
    pub head: Option<String>,
    /// Where the release goes, as written.
    pub to: String,
    /// In which format, by name; `csv` unless it says otherwise. Which there are, knows whoever
    /// writes.
    pub format: String,
}

/// What a policy says about a column.
#[derive(Clone, Debug)]
pub struct AttributePolicy {
    /// Column name.
    pub name: String,
    /// What it is to an adversary.
    pub role: Role,
    /// Whether its values name the persons whose privacy is protected.
    pub person: bool,
    /// How its values generalize.
    pub taxonomy: Option<Rule>,
    /// Weight in weighted losses.
    pub weight: f64,
    /// How its values are changed before anything else, in order.
    pub perturb: Vec<Step>,
    /// How sensitive and observable its single values are, if its role is `freeform`.
    pub freeform: Option<Specification>,
}

/// The chosen algorithm with its parameters.
pub struct AlgorithmChoice {
    /// Name in the catalogue.
    pub name: &'static str,
    /// As written and defaulted.
    pub parameters: Parameters,
    /// The algorithm.
    pub algorithm: Box<dyn Algorithm>,
    /// How long it may go on improving what it has.
    pub seconds: Option<f64>,
}

impl Policy {
    /// Reads a policy. `name` is the file's name, for messages. Whether there is the format that
    /// it names is not asked.
    pub fn parse(name: &str, text: &str) -> Result<Policy, Failures> {
        Policy::parse_for(name, text, None)
    }

    /// The same for somebody who writes releases in these formats, if they are given.
    pub fn parse_for(name: &str, text: &str, formats: Option<&[&str]>) -> Result<Policy, Failures> {
        let root = table_of(name, text)?;
        let reader = Reader::new(Some(name), text);
        let section = Section { path: String::new(), table: root.get_ref(), at: 0 };
        let policy = reader.policy(&section);
        if let Some(formats) = formats {
            reader.must_be_written(&section, formats);
        }
        reader.finish(policy)
    }

    /// The attributes that are generalized, in order: quasi-identifiers and freeform ones.
    pub fn quasi(&self) -> impl Iterator<Item = &AttributePolicy> {
        self.attributes.iter().filter(|a| a.role.is_generalized())
    }

    /// The sensitive attributes in order.
    pub fn sensitive(&self) -> impl Iterator<Item = &AttributePolicy> {
        self.attributes.iter().filter(|a| a.role == Role::Sensitive)
    }

    /// The columns that say what people want guarded, in order. They stand behind the sensitive
    /// attributes in a table.
    pub fn guards(&self) -> impl Iterator<Item = &AttributePolicy> {
        self.attributes.iter().filter(|a| a.role == Role::Guard)
    }

    /// Whether some model looks at all sensitive attributes together. Then these stand, joined,
    /// behind the guards.
    pub fn joins_sensitive(&self) -> bool {
        self.requirements.iter().any(|r| r.model.promise().concerns == Concern::Joint)
    }

    /// Leaves a column out of what is published, with the models about it. Whether that is
    /// possible: something must be left to generalize and to promise, and the algorithm must not be
    /// about the column.
    pub fn without(&mut self, name: &str) -> bool {
        let quasi = self.quasi().position(|a| a.name == name);
        let sensitive = self.sensitive().position(|a| a.name == name);
        let named = |texts: BTreeMap<String, String>| texts.values().any(|text| text == name);
        if named(self.algorithm.parameters.texts()) || quasi.is_some() && self.quasi().count() == 1
        {
            return false;
        }
        if let Some(gone) = quasi {
            let touches = |r: &Requirement| r.on.as_ref().is_some_and(|on| on.contains(&gone));
            self.requirements.retain(|r| !touches(r));
            let others = self.requirements.iter_mut().filter_map(|r| r.on.as_mut());
            others.flatten().filter(|i| **i > gone).for_each(|i| *i -= 1);
        }
        if let Some(gone) = sensitive {
            self.requirements.retain(|r| r.attribute != Some(gone));
            let others = self.requirements.iter_mut().filter_map(|r| r.attribute.as_mut());
            others.filter(|i| **i > gone).for_each(|i| *i -= 1);
            // Without a sensitive column nothing is left of what all of them say together.
            if self.sensitive().count() == 1 {
                self.requirements.retain(|r| r.model.promise().concerns == Concern::Identity);
            }
        }
        let Some(attribute) = self.attributes.iter_mut().find(|a| a.name == name) else {
            return false;
        };
        attribute.role = Role::Identifier;
        !self.requirements.is_empty()
    }

    /// The k that the policy asks for, if it asks for k-anonymity on all quasi-identifiers.
    pub fn k(&self) -> Option<u64> {
        let k = |r: &&Requirement| r.name == "k-anonymity" && r.on.is_none();
        self.requirements.iter().filter(k).map(|r| r.parameters.count("k")).max()
    }
}

/// The tables of a policy's text.
fn table_of<'a>(name: &str, text: &'a str) -> Result<Spanned<DeTable<'a>>, Failures> {
    DeTable::parse(text).map_err(|e| {
        let place =
            e.span().map_or(String::new(), |s| format!(", line {}", line_of(text, s.start)));
        let message = format!("`{name}`{place}: {}", e.message().replace('\n', "; "));
        let mut failure = Failure::policy("not-toml", message).file(name);
        failure.subject().line = e.span().map(|s| line_of(text, s.start) as u64);
        failure.hint("the policy is written in TOML: `key = \"text\"`, `[section]`").into()
    })
}

/// The keys of a policy.
const ROOT_KEYS: [&str; 16] = [
    "publisher",
    "source",
    "recipients",
    "delimiter",
    "quote",
    "missing",
    "attributes",
    "models",
    "algorithm",
    "gate",
    "history",
    "ledger",
    "key",
    "head",
    "release",
    "queries",
];

impl<'a> Reader<'a> {
    fn policy(&self, root: &Section<'a>) -> Option<Policy> {
        self.only(root, &ROOT_KEYS);
        let source = self.source(root);
        if root.get("queries").is_some() {
            // Read for its mistakes; `query --dp` reads it for its content.
            self.queries(root, source.as_ref());
        }
        let mut attributes = self.attributes(root);
        let requirements = self.requirements(root, &attributes);
        let algorithm = self.algorithm(root, &attributes);
        if algorithm.as_ref().is_some_and(|chosen| chosen.algorithm.shows_exact_ends()) {
            let quasi = attributes.iter_mut().filter(|a| a.role.is_generalized());
            quasi.filter_map(|a| a.taxonomy.as_mut()).for_each(|rule| *rule = rule.exact());
        }
        let release = self.section(root, "release");
        if release.is_none() && root.get("release").is_none() {
            self.report(
                0,
                Failure::policy("missing-key", "`[release]` is missing")
                    .hint("add `[release]` with `to = \"releases/first\"`"),
            );
        }
        let to = release.as_ref().and_then(|r| {
            self.only(r, &["to", "format"]);
            let to = self.text_at(r, "to");
            if r.get("to").is_none() {
                self.report(
                    r.at,
                    Failure::policy("missing-key", "`release.to` is missing")
                        .hint("name the folder that the release goes to"),
                );
            }
            to
        });
        let format = release.as_ref().and_then(|r| self.text_at(r, "format"));
        let format = format.unwrap_or_else(|| "csv".to_owned());
        // Everything is read before the first `?`, so that every mistake is reported.
        let publisher = self.text_at(root, "publisher");
        let recipients = self.texts_at(root, "recipients").unwrap_or_default();
        let (delimiter, quote) = (self.byte(root, "delimiter"), self.byte(root, "quote"));
        let (mut gate, ledger) = (self.gate(root), self.ledger(root));
        let (key, head) = (self.text_at(root, "key"), self.text_at(root, "head"));
        let sensitive =
            attributes.iter().filter(|a| a.role == Role::Sensitive).map(|a| a.name.as_str());
        let sensitive: Vec<&str> = sensitive.collect();
        gate.promise(&sensitive, &requirements);
        let published =
            attributes.iter().filter(|a| !matches!(a.role, Role::Identifier | Role::Guard));
        let history = self.history(root, &published.map(|a| a.name.as_str()).collect::<Vec<_>>());
        let missing = self.texts_at(root, "missing").unwrap_or_else(|| vec![String::new()]);
        Some(Policy {
            publisher,
            source: source?,
            recipients,
            delimiter,
            quote,
            missing,
            attributes,
            requirements,
            algorithm: algorithm?,
            gate,
            history,
            ledger,
            key,
            head,
            to: to?,
            format,
        })
    }

    /// Reports a format that is none of these.
    fn must_be_written(&self, root: &Section<'a>, formats: &[&str]) {
        let release = root.get("release").and_then(|r| r.get_ref().as_table());
        let Some(value) = release.and_then(|r| r.get("format")) else { return };
        // What is no text was reported before.
        let Some(format) = value.get_ref().as_str().filter(|f| !formats.contains(f)) else {
            return;
        };
        let message = format!("`release.format` cannot be {}", shown(value.get_ref()));
        self.report(
            value.span().start,
            Failure::policy("wrong-value", message)
                .hint(did_you_mean(format, formats.iter().copied())),
        );
    }

    fn attributes(&self, root: &Section<'a>) -> Vec<AttributePolicy> {
        let Some(section) = self.section(root, "attributes") else {
            if root.get("attributes").is_none() {
                let hint = "add `[attributes]` with one line per column: `age = { role = \"quasi-identifier\", … }`";
                self.report(
                    0,
                    Failure::policy("missing-key", "`[attributes]` is missing").hint(hint),
                );
            }
            return Vec::new();
        };
        let attributes: Vec<_> = section
            .table
            .iter()
            .filter_map(|(key, value)| self.attribute(&section, key.get_ref(), value))
            .collect();
        let persons: Vec<&str> =
            attributes.iter().filter(|a| a.person).map(|a| a.name.as_str()).collect();
        if persons.len() > 1 {
            let names = persons.join("`, `");
            self.report(
                section.at,
                Failure::policy(
                    "conflicting-keys",
                    format!("`{names}` all say `person = true`; one column names the persons"),
                ),
            );
        }
        let complete = attributes.len() == section.table.len();
        if complete && !attributes.iter().any(|a| a.role.is_generalized()) {
            let problem = Failure::policy(
                "no-quasi-identifier",
                "no attribute is a quasi-identifier, so there is nothing to generalize",
            );
            self.report(
                section.at,
                problem.hint(
                    "give `role = \"quasi-identifier\"` to what an adversary may know of a person",
                ),
            );
        }
        attributes
    }

    fn attribute(
        &self,
        of: &Section<'a>,
        name: &str,
        value: &'a Spanned<DeValue<'a>>,
    ) -> Option<AttributePolicy> {
        let at = value.span().start;
        let roles = Role::ALL.map(|(name, _)| name);
        let role_of = |text: &str, at: usize| {
            let role = Role::ALL.iter().find(|(n, _)| *n == text).map(|(_, role)| *role);
            if role.is_none() {
                let problem = Failure::policy(
                    "unknown-role",
                    format!("column `{name}` has the unknown role `{text}`"),
                );
                self.report(at, problem.hint(did_you_mean(text, roles)));
            }
            role
        };
        if let Some(text) = value.get_ref().as_str() {
            let role = role_of(text, at)?;
            self.needs_taxonomy(name, role, at)?;
            return Some(AttributePolicy {
                name: name.into(),
                role,
                person: false,
                taxonomy: None,
                weight: 1.0,
                perturb: Vec::new(),
                freeform: None,
            });
        }
        let Some(table) = value.get_ref().as_table() else {
            let problem = Failure::policy(
                "no-role",
                format!("column `{name}` needs a role, not {}", shown(value.get_ref())),
            );
            self.report(
                at,
                problem.hint(format!("write `{name} = {{ role = \"quasi-identifier\", … }}`")),
            );
            return None;
        };
        let section = Section { path: of.path(name), table, at };
        self.only(
            &section,
            &[&["role", "person", "taxonomy", "weight", "perturb"][..], &freeform::KEYS].concat(),
        );
        let Some(role) = section.get("role") else {
            let problem = Failure::policy("no-role", format!("column `{name}` has no role"));
            self.report(
                at,
                problem.hint(format!("add `role = …`: one of `{}`", roles.join("`, `"))),
            );
            return None;
        };
        let role = role_of(&self.text_of(&section, "role", role)?, role.span().start)?;
        let person = self.flag(&section, "person").unwrap_or(false);
        if person && role != Role::Identifier {
            let problem = Failure::policy(
                "conflicting-keys",
                format!("column `{name}` says `person = true` but is not an identifier"),
            );
            self.report(
                at,
                problem.hint(
                    "a column that names persons must not be published: `role = \"identifier\"`",
                ),
            );
        }
        let taxonomy = section.get("taxonomy").and_then(|v| self.rule(&section, name, v));
        if section.get("taxonomy").is_some()
            && matches!(role, Role::Identifier | Role::Insensitive | Role::Guard)
        {
            let problem = Failure::policy(
                "useless-key",
                format!("column `{name}` is `{}`; its taxonomy would never be used", role.name()),
            );
            self.report(at, problem.hint("leave the taxonomy out, or change the role"));
        }
        if section.get("taxonomy").is_none() {
            self.needs_taxonomy(name, role, at)?;
        }
        let weight = match section.get("weight") {
            None => 1.0,
            Some(v) => self.at_least_0(&section, "weight", v).unwrap_or(1.0),
        };
        let perturb = self.section(&section, "perturb").map_or_else(Vec::new, |s| self.steps(&s));
        if !perturb.is_empty() && matches!(role, Role::Identifier | Role::Guard) {
            let problem = Failure::policy(
                "useless-key",
                format!("column `{name}` is `{}` and not published", role.name()),
            );
            self.report(at, problem.hint("leave `perturb` out, or change the role"));
        }
        let freeform = self.freeform(&section, name, role, taxonomy.as_ref());
        // A sensitive value is published as it is, so its leaves are values.
        let taxonomy =
            if role == Role::Sensitive { taxonomy.map(|rule| rule.exact()) } else { taxonomy };
        Some(AttributePolicy {
            name: name.into(),
            role,
            person,
            taxonomy,
            weight,
            perturb,
            freeform,
        })
    }

    /// The steps of a perturbation, in the order in which they are made.
    fn steps(&self, section: &Section<'a>) -> Vec<Step> {
        self.only(section, &PERTURBATIONS.iter().map(|m| m.name).collect::<Vec<_>>());
        let read =
            |m: &Method| section.get(m.name).and_then(|value| self.step(section, m.name, value));
        PERTURBATIONS.iter().filter_map(read).collect()
    }

    fn step(
        &self,
        section: &Section<'a>,
        name: &str,
        value: &'a Spanned<DeValue<'a>>,
    ) -> Option<Step> {
        let wrong = |expected: &str| {
            let shown = shown(value.get_ref());
            let problem = Failure::policy(
                "wrong-value",
                format!("`{}` must be {expected}, not {shown}", section.path(name)),
            );
            self.report(value.span().start, problem);
        };
        let share = |expected: &str| {
            let share = scalar(value.get_ref())
                .and_then(|t| t.parse::<f64>().ok())
                .filter(|x| *x > 0.0 && *x <= 1.0);
            share.or_else(|| {
                wrong(expected);
                None
            })
        };
        match name {
            "bottom" => self.decimal(section, name, value).map(Step::Bottom),
            "top" => self.decimal(section, name, value).map(Step::Top),
            "round" => {
                let unit = self.decimal(section, name, value)?;
                if unit.mantissa <= 0 {
                    wrong("a number above 0");
                    return None;
                }
                Some(Step::Round(unit))
            }
            "noise" => {
                share("a share of the column's deviation, above 0 and at most 1").map(Step::Noise)
            }
            "swap" => share("a share of the records, above 0 and at most 1").map(Step::Swap),
            "keep" => {
                let keep = scalar(value.get_ref()).and_then(|t| Ratio::parse(&t));
                let keep = keep.filter(|k| k.num() > 0 && *k < Ratio::whole(1));
                if keep.is_none() {
                    wrong("a probability above 0 and below 1");
                }
                keep.map(Step::Keep)
            }
            _ => self.texts_of(section, name, value).map(Step::Blank),
        }
    }

    fn requirements(&self, root: &Section<'a>, attributes: &[AttributePolicy]) -> Vec<Requirement> {
        let Some(models) = root.get("models") else {
            let problem = Failure::policy("missing-key", "no privacy model is asked for");
            self.report(
                0,
                problem.hint("add `[[models]]` with `name = \"k-anonymity\"` and `k = 5`"),
            );
            return Vec::new();
        };
        let Some(array) = models.get_ref().as_array() else {
            let problem = Failure::policy("wrong-value", "`models` must be a list");
            self.report(
                models.span().start,
                problem.hint("write `[[models]]`, with two brackets, before each model"),
            );
            return Vec::new();
        };
        let mut all = Vec::new();
        for (i, value) in array.iter().enumerate() {
            if let Some(table) = value.get_ref().as_table() {
                let section =
                    Section { path: format!("models[{i}]"), table, at: value.span().start };
                all.extend(self.requirement(&section, attributes));
            } else {
                self.report(
                    value.span().start,
                    Failure::policy("wrong-value", "a model is a table with a `name`"),
                );
            }
        }
        all
    }

    fn requirement(
        &self,
        section: &Section<'a>,
        attributes: &[AttributePolicy],
    ) -> Vec<Requirement> {
        let Some(entry) = self.entry(section, MODELS, "model") else { return Vec::new() };
        self.only_parameters(section, entry.parameters, &["name", "attribute", "on"]);
        let names =
            |role| attributes.iter().filter(move |a| a.role == role).map(|a| a.name.as_str());
        let generalized: Vec<&AttributePolicy> =
            attributes.iter().filter(|a| a.role.is_generalized()).collect();
        let quasi: Vec<&str> = generalized.iter().map(|a| a.name.as_str()).collect();
        let on = section.get("on").and_then(|v| self.columns_on(section, v, &quasi));
        let sensitive: Vec<&str> = names(Role::Sensitive).collect();
        let asked = section.get("attribute");
        let named = |v| self.sensitive_named(section, entry.name, v, &sensitive);
        let parameters = self.parameters(section, entry.name, entry.parameters);
        let built = parameters.and_then(|p| Some((self.build(section, entry, &p)?, p)));
        let Some((first, parameters)) = built else {
            asked.and_then(named);
            return Vec::new();
        };
        let about: Vec<Option<usize>> = match (first.promise().concerns, asked) {
            (Concern::Identity, None) => vec![None],
            (Concern::Identity, Some(value)) => {
                let problem = Failure::policy(
                    "useless-key",
                    format!("`{}` is about identity and takes no `attribute`", entry.name),
                );
                self.report(
                    value.span().start,
                    problem.hint("leave it out; `on = [...]` limits it to some quasi-identifiers"),
                );
                vec![]
            }
            (Concern::Joint, Some(value)) => {
                let problem = Failure::policy(
                    "useless-key",
                    format!("`{}` is about all sensitive attributes together", entry.name),
                );
                self.report(value.span().start, problem.hint("leave `attribute` out"));
                vec![]
            }
            // Behind the published ones and the guards.
            (Concern::Joint, None) => vec![Some(sensitive.len() + names(Role::Guard).count())],
            (Concern::Sensitive, Some(value)) => named(value).into_iter().map(Some).collect(),
            (Concern::Sensitive, None) => (0..sensitive.len()).map(Some).collect(),
        };
        self.guards(section, entry, &parameters, &names(Role::Guard).collect::<Vec<_>>());
        if first.freeform().is_some() {
            self.has_something_to_guard(section, entry.name, &generalized, on.as_deref());
        }
        if first.promise().concerns != Concern::Identity
            && sensitive.is_empty()
            && section.get("attribute").is_none()
        {
            let problem = Failure::policy(
                "no-sensitive-attribute",
                format!("`{}` needs a sensitive attribute and there is none", entry.name),
            );
            self.report(section.at, problem.hint("give one column `role = \"sensitive\"`"));
        }
        about
            .into_iter()
            .filter_map(|attribute| {
                let model = self.build(section, entry, &parameters)?;
                let (parameters, on) = (parameters.clone(), on.clone());
                Some(Requirement {
                    name: entry.name,
                    parameters,
                    model,
                    attribute,
                    on,
                    register: None,
                })
            })
            .collect()
    }

    /// Reports a parameter that should name a sensitive column and does not.
    fn sensitive<T>(
        &self,
        section: &Section<'a>,
        entry: &Entry<T>,
        given: &Parameters,
        all: &[AttributePolicy],
    ) {
        for p in entry.parameters.iter().filter(|p| matches!(p.kind, Kind::Sensitive)) {
            let name = given.text(p.name);
            let names =
                || all.iter().filter(|a| a.role == Role::Sensitive).map(|a| a.name.as_str());
            if !name.is_empty() && !names().any(|n| n == name) {
                let at = section.get(p.name).map_or(section.at, |v| v.span().start);
                let problem = format!(
                    "`{}` of `{}` names `{name}`, which is no sensitive column",
                    p.name, entry.name
                );
                self.report(
                    at,
                    Failure::policy("not-sensitive", problem).hint(did_you_mean(name, names())),
                );
            }
        }
    }

    /// Reports a guard that is no guard column.
    fn guards<T>(
        &self,
        section: &Section<'a>,
        entry: &Entry<T>,
        given: &Parameters,
        guards: &[&str],
    ) {
        for p in entry.parameters.iter().filter(|p| matches!(p.kind, Kind::Guard)) {
            let name = given.text(p.name);
            if !guards.contains(&name) {
                let at = section.get(p.name).map_or(section.at, |v| v.span().start);
                let problem = Failure::policy(
                    "not-a-guard",
                    format!("`{}` of `{}` names `{name}`, which is no guard", p.name, entry.name),
                );
                let hint = match guards {
                    [] => "give the column that says what each person wants guarded `role = \"guard\"`".into(),
                    guards => did_you_mean(name, guards.iter().copied()),
                };
                self.report(at, problem.hint(hint));
            }
        }
    }

    /// Which of the sensitive attributes a model names.
    fn sensitive_named(
        &self,
        section: &Section<'a>,
        model: &str,
        value: &Spanned<DeValue<'a>>,
        sensitive: &[&str],
    ) -> Option<usize> {
        let name = self.text_of(section, "attribute", value)?;
        let found = sensitive.iter().position(|s| *s == name);
        if found.is_none() {
            let problem = Failure::policy(
                "not-sensitive",
                format!("`{model}` is about `{name}`, which is no sensitive attribute"),
            );
            self.report(
                value.span().start,
                problem.hint(did_you_mean(&name, sensitive.iter().copied())),
            );
        }
        found
    }

    fn build<T>(
        &self,
        section: &Section<'a>,
        entry: &Entry<T>,
        parameters: &Parameters,
    ) -> Option<T> {
        (entry.build)(parameters).map_err(|problem| self.report(section.at, problem)).ok()
    }

    fn columns_on(
        &self,
        section: &Section<'a>,
        value: &Spanned<DeValue<'a>>,
        quasi: &[&str],
    ) -> Option<Vec<usize>> {
        let columns = self.texts_of(section, "on", value)?;
        let mut on = Vec::new();
        for name in &columns {
            match quasi.iter().position(|q| q == name) {
                Some(i) => on.push(i),
                None => {
                    let problem = Failure::policy(
                        "not-a-quasi-identifier",
                        format!("`on` names `{name}`, which is no quasi-identifier"),
                    );
                    self.report(
                        value.span().start,
                        problem.hint(did_you_mean(name, quasi.iter().copied())),
                    );
                }
            }
        }
        if columns.is_empty() {
            self.report(
                value.span().start,
                Failure::policy("wrong-value", "`on` is empty")
                    .hint("leave it out to mean all quasi-identifiers"),
            );
        }
        on.sort_unstable();
        on.dedup();
        Some(on)
    }

    fn algorithm(
        &self,
        root: &Section<'a>,
        attributes: &[AttributePolicy],
    ) -> Option<AlgorithmChoice> {
        if root.get("algorithm").is_none() {
            let problem = Failure::policy("missing-key", "`[algorithm]` is missing");
            self.report(0, problem.hint("add `[algorithm]` with `name = \"mondrian\"`"));
        }
        let section = self.section(root, "algorithm")?;
        let entry = self.entry(&section, ALGORITHMS, "algorithm")?;
        self.only_parameters(&section, entry.parameters, &["name", "seconds"]);
        let parameters = self.parameters(&section, entry.name, entry.parameters);
        let seconds =
            section.get("seconds").map(|v| self.at_least_0(&section, "seconds", v).unwrap_or(0.0));
        let parameters = parameters?;
        self.sensitive(&section, entry, &parameters, attributes);
        let algorithm = self.build(&section, entry, &parameters)?;
        Some(AlgorithmChoice { name: entry.name, parameters, algorithm, seconds })
    }

    fn entry<T>(
        &self,
        section: &Section<'a>,
        table: &'static [Entry<T>],
        what: &str,
    ) -> Option<&'static Entry<T>> {
        let Some(value) = section.get("name") else {
            let problem =
                Failure::policy("missing-key", format!("`{}` has no `name`", section.path));
            let names: Vec<&str> = table.iter().map(|e| e.name).collect();
            self.report(section.at, problem.hint(format!("known are `{}`", names.join("`, `"))));
            return None;
        };
        let name = self.text_of(section, "name", value)?;
        let found = table.iter().find(|e| e.name == name);
        if found.is_none() {
            let problem = Failure::policy("unknown-entry", format!("there is no {what} `{name}`"));
            self.report(
                value.span().start,
                problem.hint(did_you_mean(&name, table.iter().map(|e| e.name))),
            );
        }
        found
    }

    fn parameters(
        &self,
        section: &Section<'a>,
        of: &str,
        known: &'static [Parameter],
    ) -> Option<Parameters> {
        let given: BTreeMap<String, String> = known
            .iter()
            .filter_map(|p| {
                let value = section.get(p.name)?;
                let written = match value.get_ref() {
                    // As written; the kind knows how to read it.
                    DeValue::Array(_) => self.text.get(value.span()).map(str::to_owned),
                    other => scalar(other),
                };
                Some((p.name.to_owned(), written.unwrap_or_else(|| shown(value.get_ref()))))
            })
            .collect();
        Parameters::read(of, known, &given)
            .map_err(|problems| problems.into_iter().for_each(|p| self.report(section.at, p)))
            .ok()
    }

    fn only_parameters(&self, section: &Section<'a>, parameters: &[Parameter], more: &[&str]) {
        let known: Vec<&str> =
            parameters.iter().map(|p| p.name).chain(more.iter().copied()).collect();
        self.only(section, &known);
    }
}
