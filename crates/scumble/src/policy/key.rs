//! Keys of a policy: the way from its root to a value, as people and messages write it.
//!
//! `gate.candidates` is written as in the file. A model is named by its number, from 1, or by its
//! name: `models.1.k`, `k-anonymity.k`. A parameter that only one model or the algorithm has needs
//! no more than its name: `k`. `algorithm` alone means the algorithm's name.

use super::reader::{Reader, Section};
use super::spec::{ModelSpec, PolicySpec, Setting};
use super::{ROOT_KEYS, tree};
use crate::catalogue::{ALGORITHMS, Entry, MODELS, did_you_mean};
use crate::failure::{Failure, Failures};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use toml::de::DeTable;
use toml::value::{Table as Tree, Value};

/// The way from the root of a policy to a value: the names of tables, and numbers in lists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyKey(pub Vec<String>);

/// A key of a policy with several values, each of which is tried.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sweep {
    /// The key.
    pub key: PolicyKey,
    /// Its values.
    pub values: Vec<Setting>,
}

impl PolicyKey {
    /// Reads a dotted key. A name with a dot in it stands in quotes, as in a policy file.
    pub fn parse(text: &str) -> Result<PolicyKey, Failure> {
        let keys = toml_edit::Key::parse(text.trim());
        keys.map(|keys| PolicyKey(keys.iter().map(|key| key.get().to_owned()).collect())).map_err(
            |_| {
                Failure::usage("unknown-key", format!("`{text}` is no key of a policy")).hint(
                    "write it as in the policy, with dots: `gate.candidates`, `k-anonymity.k`",
                )
            },
        )
    }

    /// The same key written in full, as it stands in this policy.
    pub fn resolve(&self, spec: &PolicySpec) -> Result<PolicyKey, Failure> {
        let found = match &self.0[..] {
            [first] if first == "algorithm" => PolicyKey::of(["algorithm", "name"]),
            [first, ..] if ROOT_KEYS.contains(&first.as_str()) => self.clone(),
            [parameter] => self.parameter(spec, parameter)?,
            [method, rest @ ..] => self.method(spec, method)?.join(rest),
            [] => self.clone(),
        };
        if let [models, number, ..] = &found.0[..]
            && models == "models"
        {
            let count = spec.models.len();
            if !number.parse::<usize>().is_ok_and(|n| (1..=count).contains(&n)) {
                return Err(self.unknown(
                    format!("the policy has no model `{number}`"),
                    match count {
                        0 => "it has no models".to_owned(),
                        n => format!("its models have the numbers 1 to {n}"),
                    },
                ));
            }
        }
        Ok(found)
    }

    /// The one place of the policy that has a parameter of this name.
    fn parameter(&self, spec: &PolicySpec, name: &str) -> Result<PolicyKey, Failure> {
        let mut places = Vec::new();
        for (number, model) in (1..).zip(&spec.models) {
            if parameters_of(MODELS, &model.name).any(|p| p == name)
                || model.parameters.contains_key(name)
            {
                places.push(PolicyKey(vec!["models".into(), number.to_string(), name.into()]));
            }
        }
        if let Some(chosen) = &spec.algorithm
            && (parameters_of(ALGORITHMS, &chosen.name).any(|p| p == name)
                || chosen.parameters.contains_key(name))
        {
            places.push(PolicyKey::of(["algorithm", name]));
        }
        match &places[..] {
            [only] => Ok(only.clone()),
            [] => {
                let models = spec.models.iter().flat_map(|m| parameters_of(MODELS, &m.name));
                let algorithm = spec.algorithm.iter();
                let algorithm = algorithm.flat_map(|a| parameters_of(ALGORITHMS, &a.name));
                let mut known: Vec<&str> = models.chain(algorithm).chain(ROOT_KEYS).collect();
                known.dedup();
                Err(self.unknown(
                    format!("`{self}` is no key of the policy, and none of its methods has it"),
                    did_you_mean(name, known),
                ))
            }
            several => {
                let names: Vec<String> = several.iter().map(|key| format!("`{key}`")).collect();
                Err(self.unknown(
                    format!("`{self}` may mean {}", names.join(" or ")),
                    "say which".into(),
                ))
            }
        }
    }

    /// The place of the one model, or of the algorithm, with this name.
    fn method(&self, spec: &PolicySpec, name: &str) -> Result<PolicyKey, Failure> {
        let named = |model: &&ModelSpec| model.name == name;
        let count = spec.models.iter().filter(named).count();
        let number = spec.models.iter().position(|model| model.name == name);
        match number {
            Some(at) if count == 1 => Ok(PolicyKey::of(["models", &(at + 1).to_string()])),
            Some(_) => Err(self.unknown(
                format!("the policy has {count} models `{name}`"),
                "name one by its number, from 1: `models.1`".into(),
            )),
            None if spec.algorithm.as_ref().is_some_and(|chosen| chosen.name == name) => {
                Ok(PolicyKey::of(["algorithm"]))
            }
            None => {
                let models = spec.models.iter().map(|model| model.name.as_str());
                let algorithm = spec.algorithm.iter().map(|chosen| chosen.name.as_str());
                let known = models.chain(algorithm).chain(ROOT_KEYS);
                Err(self.unknown(
                    format!("the policy has no section, model or algorithm `{name}`"),
                    did_you_mean(name, known.collect::<Vec<_>>()),
                ))
            }
        }
    }

    fn unknown(&self, message: String, hint: String) -> Failure {
        Failure::usage("unknown-key", message).key(self.to_string()).hint(hint)
    }

    fn of<const N: usize>(names: [&str; N]) -> PolicyKey {
        PolicyKey(names.map(str::to_owned).to_vec())
    }

    fn join(mut self, rest: &[String]) -> PolicyKey {
        self.0.extend_from_slice(rest);
        self
    }
}

impl fmt::Display for PolicyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, name) in self.0.iter().enumerate() {
            let key = toml_edit::Key::new(name.as_str());
            write!(f, "{}{}", if i > 0 { "." } else { "" }, key.display_repr())?;
        }
        Ok(())
    }
}

impl Sweep {
    /// Reads `key=value,value,…`. A list stands in brackets, and a text with a comma in quotes.
    pub fn parse(text: &str) -> Result<Sweep, Failure> {
        let wrong = |what: String| {
            Failure::usage("wrong-value", what).hint(
                "write `key=value,value`, as in `k=2,5,10` or `algorithm.name=mondrian,datafly`",
            )
        };
        let at = split_at(text, '=').first().map_or(text.len(), |part| part.len());
        let Some(values) = text[at..].strip_prefix('=') else {
            return Err(wrong(format!("`{text}` gives no values")));
        };
        let key = PolicyKey::parse(&text[..at])?;
        let values = split_at(values, ',').into_iter().map(|value| {
            Setting::parse(value.trim())
                .ok_or_else(|| wrong(format!("`{}` is no value for `{key}`", value.trim())))
        });
        let values: Vec<Setting> = values.collect::<Result<_, Failure>>()?;
        Ok(Sweep { key, values })
    }
}

/// The parts of a text between a character that stands neither in quotes nor in brackets.
fn split_at(text: &str, separator: char) -> Vec<&str> {
    let (mut parts, mut from, mut depth, mut quote) = (Vec::new(), 0, 0i32, None);
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            _ if escaped => escaped = false,
            (Some('"'), '\\') => escaped = true,
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => (),
            (None, '"' | '\'') => quote = Some(c),
            (None, '[' | '{') => depth += 1,
            (None, ']' | '}') => depth -= 1,
            (None, c) if c == separator && depth == 0 => {
                parts.push(&text[from..at]);
                from = at + c.len_utf8();
            }
            _ => (),
        }
    }
    parts.push(&text[from..]);
    parts
}

impl Setting {
    /// Reads a value as it is written in a policy; a word needs no quotes.
    pub fn parse(text: &str) -> Option<Setting> {
        if text.is_empty() {
            return None;
        }
        let line = format!("value = {text}");
        if !text.contains('\n')
            && let Ok(root) = DeTable::parse(&line)
            && let Ok(tree) = tree::of(root.get_ref())
        {
            return tree.get("value").cloned()?.try_into().ok();
        }
        let is_word = !text.contains(['"', '\'', '[', ']', '{', '}', '\n', '=']);
        is_word.then(|| Setting::read(text))
    }
}

impl PolicySpec {
    /// Changes one value. The spec is as it was if the key is unknown or cannot hold the value.
    pub fn set(&mut self, key: &PolicyKey, value: Setting) -> Result<(), Failures> {
        let value = Value::try_from(&value)
            .map_err(|e| Failure::bug("internal", format!("a value cannot be written: {e}")))?;
        self.change(key, Some(value))
    }

    /// Removes one value, or a whole table.
    pub fn remove(&mut self, key: &PolicyKey) -> Result<(), Failures> {
        self.change(key, None)
    }

    /// All policies that come from choosing one value of each sweep, with the keys in full and the
    /// values that were chosen. The last sweep changes fastest.
    pub fn sweep(&self, sweeps: &[Sweep]) -> Result<Vec<(Vec<Chosen>, PolicySpec)>, Failures> {
        let mut all = vec![(Vec::new(), self.clone())];
        for sweep in sweeps {
            let mut next = Vec::new();
            for (chosen, spec) in &all {
                for value in &sweep.values {
                    let (mut chosen, mut spec) = (chosen.clone(), spec.clone());
                    let key = sweep.key.resolve(&spec)?;
                    spec.set(&key, value.clone())?;
                    chosen.push(Chosen { key: key.to_string(), value: value.to_string() });
                    next.push((chosen, spec));
                }
            }
            all = next;
        }
        Ok(all)
    }

    fn change(&mut self, key: &PolicyKey, value: Option<Value>) -> Result<(), Failures> {
        let key = key.resolve(self)?;
        let mut tree = tree::full(self);
        let removes = value.is_none();
        if !put(&mut tree, &key.0, value) {
            let message = if removes {
                format!("the policy does not have `{key}`")
            } else {
                format!("`{key}` cannot be changed: there is no table or entry to put it into")
            };
            return Err(Failure::usage("unknown-key", message).key(key.to_string()).into());
        }
        let read: Result<PolicySpec, _> = tree.clone().try_into();
        *self = read.map_err(|unreadable| told(&key, &tree, &unreadable.to_string()))?;
        Ok(())
    }
}

/// A value that was chosen for a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Chosen {
    /// The key in full.
    pub key: String,
    /// The value.
    pub value: String,
}

/// Puts a value into a tree, or takes one out. Whether that was possible.
fn put(tree: &mut Value, path: &[String], value: Option<Value>) -> bool {
    let [name, rest @ ..] = path else {
        return match value {
            Some(value) => {
                *tree = value;
                true
            }
            None => false,
        };
    };
    match tree {
        Value::Table(table) if rest.is_empty() && value.is_none() => table.remove(name).is_some(),
        Value::Table(table) => {
            if value.is_none() && !table.contains_key(name) {
                return false;
            }
            let inner = table.entry(name.as_str()).or_insert_with(|| Value::Table(Tree::new()));
            put(inner, rest, value)
        }
        Value::Array(items) => {
            let at = name.parse::<usize>().ok().and_then(|n| n.checked_sub(1));
            let Some(at) = at.filter(|at| *at < items.len()) else { return false };
            if rest.is_empty() && value.is_none() {
                items.remove(at);
                return true;
            }
            put(&mut items[at], rest, value)
        }
        _ => false,
    }
}

/// What the reader of policies says about a tree that is no policy.
fn told(key: &PolicyKey, tree: &Value, unreadable: &str) -> Failures {
    let text = tree::document(tree).to_string();
    let problems = DeTable::parse(&text).ok().and_then(|root| {
        let reader = Reader::new(None, &text);
        let root = Section { path: String::new(), table: root.get_ref(), at: 0 };
        let policy = reader.policy(&root);
        reader.finish(policy).err()
    });
    let wanted = key.to_string();
    let about = |p: &Failure| {
        let subject = p.subject.as_ref().and_then(|s| s.key.as_deref());
        subject.is_some_and(|subject| wanted.starts_with(subject) || subject.starts_with(&wanted))
    };
    let problems: Vec<Failure> =
        problems.into_iter().flat_map(|p| p.0).filter(|problem| about(problem)).collect();
    if problems.is_empty() {
        let message = format!("`{key}` cannot be so: {}", unreadable.trim());
        return Failure::policy("wrong-value", message).key(wanted).into();
    }
    Failures(problems)
}

/// The parameters that a method of the catalogue has.
fn parameters_of<T>(
    catalogue: &'static [Entry<T>],
    name: &str,
) -> impl Iterator<Item = &'static str> + use<T> {
    let entry = catalogue.iter().find(|entry| entry.name == name);
    entry.into_iter().flat_map(|entry| entry.parameters.iter().map(|p| p.name))
}
