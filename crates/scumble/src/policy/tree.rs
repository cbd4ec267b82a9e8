//! A policy between its forms: text with comments, plain values, and a spec.
//!
//! A tree is a [`toml::Value`]. Numbers in it are exact: one that is not equal to the shortest text
//! of a whole number or float stands in it as text, which the reader of policies takes too.

use super::reader::scalar;
use super::spec::{Number, PolicySpec};
use toml::de::{DeTable, DeValue};
use toml::value::{Table as Tree, Value};
use toml_edit::{ArrayOfTables, DocumentMut, InlineTable, Item, Table};

/// The tree of a parsed text; an error where something stands that no policy can hold.
pub(super) fn of(root: &DeTable<'_>) -> Result<Value, String> {
    let values = root.iter().map(|(key, value)| {
        Ok((key.get_ref().to_string(), value_of(key.get_ref(), value.get_ref())?))
    });
    Ok(Value::Table(values.collect::<Result<Tree, String>>()?))
}

fn value_of(key: &str, value: &DeValue<'_>) -> Result<Value, String> {
    match value {
        DeValue::Table(table) => of(table),
        DeValue::Array(items) => {
            let items = items.iter().map(|item| value_of(key, item.get_ref()));
            Ok(Value::Array(items.collect::<Result<_, _>>()?))
        }
        DeValue::String(text) => Ok(Value::String(text.to_string())),
        DeValue::Boolean(flag) => Ok(Value::Boolean(*flag)),
        DeValue::Integer(_) | DeValue::Float(_) | DeValue::Datetime(_) => {
            let text = scalar(value)
                .ok_or_else(|| format!("`{key}` must be a decimal number or a text in quotes"))?;
            Ok(match Number::read(&text) {
                Number::Whole(n) => Value::Integer(n),
                Number::Decimal(x) => Value::Float(x),
                Number::Text(text) => Value::String(text),
            })
        }
    }
}

/// The tree of a spec.
pub(super) fn full(spec: &PolicySpec) -> Value {
    Value::try_from(spec)
        .unwrap_or_else(|e| unreachable!("a policy is made of texts, numbers and tables: {e}"))
}

/// The tree of a spec, with short forms where they say the same.
pub(super) fn written(spec: &PolicySpec) -> Value {
    let mut tree = full(spec);
    if let Some(Value::Table(attributes)) = tree.get_mut("attributes") {
        for (_, attribute) in attributes.iter_mut() {
            if let Some(taxonomy) = attribute.get_mut("taxonomy") {
                shorten(taxonomy, "file");
            }
            shorten(attribute, "role");
        }
    }
    if let Some(Value::Array(asked)) = tree.get_mut("queries").and_then(|q| q.get_mut("ask")) {
        asked.iter_mut().for_each(|question| shorten(question, "sql"));
    }
    tree
}

/// Replaces a table that has only this key by what stands there.
fn shorten(value: &mut Value, key: &str) {
    if let Value::Table(table) = value
        && table.len() == 1
        && let Some(only) = table.remove(key)
    {
        *value = only;
    }
}

/// Sections inside of sections.
const INNER: [(&str, &str); 4] = [
    ("history", "columns"),
    ("history", "values"),
    ("queries", "columns"),
    ("queries", "synthetic"),
];

/// A document with sections, in the order of the tree.
pub(super) fn document(tree: &Value) -> DocumentMut {
    let mut document = DocumentMut::new();
    for (key, value) in tree.as_table().into_iter().flatten() {
        document.insert(key, item("", key, value));
    }
    // The first section needs no blank line if nothing stands above it.
    if let Some((_, Item::Table(first))) = document.iter_mut().next() {
        first.decor_mut().set_prefix("");
    }
    document
}

/// How a value is written under a key of a section, which is empty for the document itself.
pub(super) fn item(section: &str, key: &str, tree: &Value) -> Item {
    let is_section = (section.is_empty() && key != "source") || INNER.contains(&(section, key));
    match tree {
        Value::Table(values) if is_section => Item::Table(table(key, values)),
        Value::Array(models) if section.is_empty() && key == "models" => {
            let tables = models.iter().filter_map(|model| model.as_table());
            Item::ArrayOfTables(tables.map(|model| table(key, model)).collect::<ArrayOfTables>())
        }
        other => Item::Value(value(other)),
    }
}

/// A section with a heading.
pub(super) fn table(name: &str, values: &Tree) -> Table {
    let mut table = Table::new();
    table.decor_mut().set_prefix("\n");
    for (key, value) in values {
        table.insert(key, item(name, key, value));
    }
    table
}

/// A value on one line.
pub(super) fn value(tree: &Value) -> toml_edit::Value {
    match tree {
        Value::String(text) => text.into(),
        Value::Integer(n) => (*n).into(),
        Value::Float(x) => float(*x),
        Value::Boolean(flag) => (*flag).into(),
        Value::Array(items) => toml_edit::Value::Array(items.iter().map(value).collect()),
        Value::Table(values) => {
            let values = values.iter().map(|(key, inner)| (key, value(inner)));
            toml_edit::Value::InlineTable(values.collect::<InlineTable>())
        }
        Value::Datetime(date) => date.to_string().into(),
    }
}

/// A float with the text that the reader takes for its value.
fn float(x: f64) -> toml_edit::Value {
    let text = if x.is_nan() { "nan".into() } else { format!("{x:?}") };
    text.parse().unwrap_or_else(|_| x.into())
}
