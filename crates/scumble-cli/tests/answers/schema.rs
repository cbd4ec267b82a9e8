//! Holds a JSON value against a JSON Schema: the parts of the standard that our schemas use.

use scumble_publisher::answer::schema::schema;
use serde_json::Value;

/// Where a value does not keep the schema of a name.
pub fn violations(name: &str, value: &Value) -> Vec<String> {
    let root = (schema(name).expect("a schema").schema)().to_value();
    let mut wrong = Vec::new();
    check(&root, &root, value, name, &mut wrong);
    wrong
}

fn check(root: &Value, schema: &Value, value: &Value, at: &str, wrong: &mut Vec<String>) {
    if let Some(name) = schema["$ref"].as_str() {
        let target = name.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
        return check(root, target.expect("a definition"), value, at, wrong);
    }
    for key in ["oneOf", "anyOf"] {
        let Some(choices) = schema[key].as_array() else { continue };
        let fits = |choice: &&Value| {
            let mut none = Vec::new();
            check(root, choice, value, at, &mut none);
            none.is_empty()
        };
        if !choices.iter().any(|choice| fits(&choice)) {
            wrong.push(format!("{at}: {value} fits none of {choices:?}"));
        }
    }
    let is = |name: &str| match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("unknown type {other}"),
    };
    let typed = match &schema["type"] {
        Value::String(name) => is(name),
        Value::Array(names) => names.iter().filter_map(Value::as_str).any(is),
        _ => true,
    };
    if !typed {
        wrong.push(format!("{at}: {value} is no {}", schema["type"]));
    }
    if schema.get("const").is_some_and(|only| only != value) {
        wrong.push(format!("{at}: {value} is not {}", schema["const"]));
    }
    if schema["enum"].as_array().is_some_and(|all| !all.contains(value)) {
        wrong.push(format!("{at}: {value} is none of {}", schema["enum"]));
    }
    if let Some(items) = value.as_array() {
        for (i, item) in items.iter().enumerate() {
            let schema = schema["prefixItems"].get(i).unwrap_or(&schema["items"]);
            check(root, schema, item, &format!("{at}[{i}]"), wrong);
        }
    }
    if let Some(fields) = value.as_object() {
        for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if !fields.contains_key(name) {
                wrong.push(format!("{at}: `{name}` is absent"));
            }
        }
        for (name, field) in fields {
            let at = format!("{at}.{name}");
            match (schema["properties"].get(name), schema.get("additionalProperties")) {
                (Some(schema), _) => check(root, schema, field, &at, wrong),
                (None, Some(schema)) => check(root, schema, field, &at, wrong),
                // Only an object whose fields are listed must have no others.
                (None, None) if schema["properties"].is_object() => {
                    wrong.push(format!("{at}: the schema does not know it"));
                }
                (None, None) => (),
            }
        }
    }
}
