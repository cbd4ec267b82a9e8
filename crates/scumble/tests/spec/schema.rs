//! Checks a JSON value against the schema of policies: the keywords that occur in it, and no other.

use scumble::policy::spec;
use serde_json::{Map, Value};

/// Where the value breaks the schema, if it does.
pub fn accepts(value: &Value) -> Result<(), String> {
    let root = spec::schema().to_value();
    check(&root, &root, value, "")
}

fn check(root: &Value, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    let keywords = match schema {
        Value::Bool(true) => return Ok(()),
        Value::Object(keywords) => keywords,
        other => panic!("a schema at `{at}` is {other}"),
    };
    for (keyword, operand) in keywords {
        check_keyword(root, keywords, (keyword, operand), value, at)?;
    }
    Ok(())
}

fn check_keyword(
    root: &Value,
    schema: &Map<String, Value>,
    (keyword, operand): (&str, &Value),
    value: &Value,
    at: &str,
) -> Result<(), String> {
    let refused = || Err(format!("`{at}` by `{keyword}`: {operand}"));
    let holds = match keyword {
        "$ref" => {
            let pointer = operand.as_str().and_then(|r| r.strip_prefix('#')).unwrap_or("?");
            let target = root.pointer(pointer).unwrap_or_else(|| panic!("no schema {operand}"));
            return check(root, target, value, at);
        }
        "type" => match operand {
            Value::Array(types) => types.iter().any(|t| is_of_type(t, value)),
            one => is_of_type(one, value),
        },
        "enum" => operand.as_array().is_some_and(|all| all.contains(value)),
        "const" => operand == value,
        "anyOf" => branches(root, operand, value, at) > 0,
        "oneOf" => branches(root, operand, value, at) == 1,
        "required" => match (operand, value) {
            (Value::Array(keys), Value::Object(object)) => {
                keys.iter().all(|k| k.as_str().is_some_and(|k| object.contains_key(k)))
            }
            _ => true,
        },
        "items" => {
            for (i, item) in value.as_array().into_iter().flatten().enumerate() {
                check(root, operand, item, &format!("{at}[{i}]"))?;
            }
            true
        }
        "properties" => {
            for (key, item) in value.as_object().into_iter().flatten() {
                if let Some(of_key) = operand.get(key) {
                    check(root, of_key, item, &format!("{at}.{key}"))?;
                }
            }
            true
        }
        "additionalProperties" => {
            for (key, item) in value.as_object().into_iter().flatten() {
                let known = schema.get("properties").and_then(|p| p.get(key)).is_some();
                if !known && *operand == Value::Bool(false) {
                    return refused();
                }
                if !known {
                    check(root, operand, item, &format!("{at}.{key}"))?;
                }
            }
            true
        }
        "$schema" | "$defs" | "title" | "description" | "default" | "format" => true,
        other => panic!("the checker does not know the keyword `{other}`"),
    };
    if holds { Ok(()) } else { refused() }
}

/// Number of alternatives that accept the value.
fn branches(root: &Value, alternatives: &Value, value: &Value, at: &str) -> usize {
    let all = alternatives.as_array().into_iter().flatten();
    all.filter(|schema| check(root, schema, value, at).is_ok()).count()
}

fn is_of_type(name: &Value, value: &Value) -> bool {
    match name.as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("null") => value.is_null(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("number") => value.is_number(),
        other => panic!("the checker does not know the type {other:?}"),
    }
}
