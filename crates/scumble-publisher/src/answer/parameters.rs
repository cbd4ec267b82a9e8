//! Parameters in JSON: numbers where they are decimal numbers, texts otherwise.
//!
//! In memory a parameter is the text that the policy has. It is written as a number only if the
//! number is written back as the same text, so that nothing is lost. Releases and ledgers have the
//! texts ([`recorded`]), as they always had; both are read.

use super::Model;
use schemars::JsonSchema;
use serde::ser::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Number, Value};
use std::collections::BTreeMap;

/// A parameter as it is written in JSON.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Parameter {
    /// A number.
    Number(#[schemars(with = "f64")] Number),
    /// A text: a word, a fraction such as `1/3`, or a list.
    Text(String),
}

impl Parameter {
    fn of(text: &str) -> Parameter {
        match serde_json::from_str::<Number>(text) {
            Ok(number) if number.to_string() == text => Parameter::Number(number),
            _ => Parameter::Text(text.to_owned()),
        }
    }

    fn text(self) -> String {
        match self {
            Parameter::Number(number) => number.to_string(),
            Parameter::Text(text) => text,
        }
    }
}

/// Writes parameters.
pub fn serialize<S: Serializer>(
    parameters: &BTreeMap<String, String>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(parameters.iter().map(|(name, text)| (name, Parameter::of(text))))
}

/// Reads parameters.
pub fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, String>, D::Error> {
    let parameters = BTreeMap::<String, Parameter>::deserialize(deserializer)?;
    Ok(parameters.into_iter().map(|(name, parameter)| (name, parameter.text())).collect())
}

/// Writes models as releases and ledgers have them: every parameter is a text.
pub fn recorded<S: Serializer>(models: &[Model], serializer: S) -> Result<S::Ok, S::Error> {
    let mut all = Vec::with_capacity(models.len());
    for model in models {
        let mut value = serde_json::to_value(model).map_err(S::Error::custom)?;
        value["parameters"] = model.parameters.iter().map(text_pair).collect();
        all.push(value);
    }
    serializer.collect_seq(all)
}

fn text_pair((name, text): (&String, &String)) -> (String, Value) {
    (name.clone(), Value::String(text.clone()))
}
