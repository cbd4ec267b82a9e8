//! `docs/json.md` is made from the JSON Schemas, and is not stale.
//!
//! `SCUMBLE_OVERWRITE=1 cargo test --workspace --test json` writes it anew.

use scumble_publisher::answer::schema::{SCHEMAS, SchemaEntry};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// The prose before the tables.
const INTRODUCTION: &str = include_str!("json/introduction.md");

type Definitions = BTreeMap<String, Value>;

#[test]
fn the_reference_is_made_from_the_schemas() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/json.md");
    let made = page();
    if std::env::var_os("SCUMBLE_OVERWRITE").is_some() {
        std::fs::write(&path, &made).expect("docs/json.md is written");
    }
    let there = std::fs::read_to_string(&path).expect("docs/json.md is there");
    let first = made.lines().zip(there.lines()).position(|(a, b)| a != b);
    assert!(
        made == there,
        "docs/json.md is stale, first at line {:?}: run `SCUMBLE_OVERWRITE=1 cargo test --workspace --test json`",
        first.map(|at| at + 1)
    );
}

/// Every field says what it means: the reference is made of it.
#[test]
fn every_field_is_described() {
    let mut silent = Vec::new();
    for entry in SCHEMAS {
        let schema = (entry.schema)().to_value();
        let mut objects = vec![(entry.name.to_owned(), &schema)];
        if let Some(definitions) = schema["$defs"].as_object() {
            objects.extend(definitions.iter().map(|(name, s)| (name.clone(), s)));
        }
        for (name, object) in objects {
            let fields = object["properties"].as_object().into_iter().flatten();
            for (field, _) in fields.filter(|(_, s)| s["description"].as_str().is_none()) {
                silent.push(format!("{name}.{field}"));
            }
        }
    }
    // The pairs of a policy's specification that have no more to say than their names.
    silent.retain(|field| !field.starts_with("Cap.") && !field.starts_with("Paid."));
    assert!(silent.is_empty(), "{silent:?}");
}

fn page() -> String {
    let mut page = String::from(INTRODUCTION);
    let mut definitions = Definitions::new();
    // What a policy may say has a page of its own, `docs/policy.md`, with the words of policy files.
    for entry in SCHEMAS.iter().filter(|entry| entry.name != "policy") {
        page.push_str(&section(entry, &mut definitions));
    }
    page.push_str("\n# Parts\n\nWhat the tables above refer to.\n");
    for (name, schema) in &definitions {
        let _ = write!(page, "\n## {name}\n\n{}", described(schema));
    }
    page
}

/// The section of a schema; what it refers to is put with the other definitions.
fn section(entry: &SchemaEntry, definitions: &mut Definitions) -> String {
    let schema = (entry.schema)().to_value();
    for (name, definition) in schema["$defs"].as_object().into_iter().flatten() {
        let before = definitions.insert(name.clone(), definition.clone());
        let same = before.is_none_or(|before| before == *definition);
        assert!(same, "two types are called `{name}` in the schemas");
    }
    let about = entry.about.replacen("answer of", "Answer of", 1);
    let mut section = format!("\n## {}\n\n{about}.\n\n", entry.name);
    section.push_str(&fields(&schema));
    section
}

/// A definition: its description, and its fields or words.
fn described(schema: &Value) -> String {
    let mut text = String::new();
    if let Some(description) = schema["description"].as_str() {
        let _ = writeln!(text, "{}\n", cell(description));
    }
    if schema["properties"].is_object() {
        text.push_str(&fields(schema));
    } else if let Some(words) = choices(schema).filter(|all| all.iter().all(is_word)) {
        text.push_str("| word | meaning |\n| --- | --- |\n");
        for word in words {
            let meaning = word["description"].as_str().unwrap_or_default();
            let name = word["const"].as_str().unwrap_or_default();
            let _ = writeln!(text, "| `{name}` | {} |", cell(meaning));
        }
    } else if let Some(all) = choices(schema) {
        for one in all {
            let meaning = one["description"].as_str().unwrap_or_default();
            let _ = writeln!(text, "- {}: {}", kind(one), cell(meaning));
        }
    } else {
        let _ = writeln!(text, "{}", kind(schema));
    }
    text
}

fn choices(schema: &Value) -> Option<&Vec<Value>> {
    schema["oneOf"].as_array().or_else(|| schema["anyOf"].as_array())
}

fn is_word(schema: &Value) -> bool {
    schema["const"].is_string()
}

/// A table of the fields of an object.
fn fields(schema: &Value) -> String {
    let none = Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&none);
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let mut table = String::from("| name | type | meaning |\n| --- | --- | --- |\n");
    for (name, field) in properties {
        let always = required.iter().any(|r| r == name);
        let absent = if always { "" } else { ", may be absent" };
        let meaning = field["description"].as_str().unwrap_or_default();
        let _ = writeln!(table, "| `{name}` | {}{absent} | {} |", kind(field), cell(meaning));
    }
    table
}

/// The type of a value in words.
fn kind(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.rsplit('/').next().unwrap_or(name);
        return format!("[{name}](#{})", name.to_lowercase());
    }
    if let Some(word) = schema["const"].as_str() {
        return format!("`{word}`");
    }
    if let Some(words) = schema["enum"].as_array() {
        let words: Vec<String> = words.iter().map(|w| format!("`{w}`")).collect();
        return words.join(" or ").replace('"', "");
    }
    if let Some(all) = choices(schema) {
        return all.iter().map(kind).collect::<Vec<_>>().join(" or ");
    }
    let names: Vec<&str> = match &schema["type"] {
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        Value::String(name) => vec![name],
        _ => return "anything".to_owned(),
    };
    let one = |name: &str| match name {
        "string" => "text".to_owned(),
        "integer" => "whole number".to_owned(),
        "boolean" => "true or false".to_owned(),
        "array" => list(schema),
        "object" => match (&schema["additionalProperties"], schema["properties"].as_object()) {
            (Value::Object(_), None) => format!("map of {}", kind(&schema["additionalProperties"])),
            (_, Some(fields)) => {
                let fields: Vec<String> = fields
                    .iter()
                    .map(|(name, field)| format!("`{name}`: {}", kind(field)))
                    .collect();
                format!("object of {}", fields.join(", "))
            }
            _ => "object".to_owned(),
        },
        other => other.to_owned(),
    };
    names.into_iter().map(one).collect::<Vec<_>>().join(" or ")
}

fn list(schema: &Value) -> String {
    match schema["prefixItems"].as_array() {
        Some(items) => format!("list of {}", items.iter().map(kind).collect::<Vec<_>>().join(", ")),
        None => format!("list of {}", kind(&schema["items"])),
    }
}

/// A description as it can stand in a table.
fn cell(text: &str) -> String {
    let text = text.replace("[`", "`").replace("`]", "`").replace('|', "\\|");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
