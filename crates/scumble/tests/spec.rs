//! Laws of the policy as data: text, spec, JSON and policy say the same.

#[path = "spec/document.rs"]
mod document;
#[path = "spec/generate.rs"]
mod generate;
#[path = "spec/schema.rs"]
mod schema;

use proptest::prelude::*;
use scumble::policy::spec::{AlgorithmSpec, AttributeSpec, ModelSpec, Number, TaxonomySpec};
use scumble::policy::{Difference, Policy, PolicySpec, Queries, spec};
use scumble::table::Role;
use scumble::taxonomy::Granularity;
use std::path::{Path, PathBuf};

/// Everything that a policy says, as text.
fn canonical(policy: &Policy) -> String {
    let requirements: Vec<String> = policy
        .requirements
        .iter()
        .map(|r| format!("{} {:?} {:?} {:?}", r.name, r.parameters, r.attribute, r.on))
        .collect();
    let algorithm = &policy.algorithm;
    format!(
        "{:?}\n{:?}\n{:?}\n{:?} {:?} {:?}\n{:#?}\n{requirements:#?}\n{} {:?} {:?}\n{:?}\n{:?}\n\
         {:?} {:?} {:?}\n{:?} {:?}",
        policy.publisher,
        policy.source,
        policy.recipients,
        policy.delimiter,
        policy.quote,
        policy.missing,
        policy.attributes,
        algorithm.name,
        algorithm.parameters,
        algorithm.seconds,
        policy.gate,
        policy.history,
        policy.ledger,
        policy.key,
        policy.head,
        policy.to,
        policy.format,
    )
}

/// What a text means as a policy and as questions, or what is wrong with it, without lines.
fn meaning(text: &str) -> [Result<String, Vec<String>>; 2] {
    let plain = |problems: scumble::failure::Failures| {
        let without = |message: String| match message.strip_prefix("`p`, line ") {
            Some(rest) => rest.split_once(": ").map_or(String::new(), |(_, m)| m.to_owned()),
            None => message,
        };
        problems.0.into_iter().map(|p| without(p.message)).collect::<Vec<_>>()
    };
    [
        Policy::parse("p", text).map(|p| canonical(&p)).map_err(plain),
        Queries::parse("p", text).map(|q| format!("{q:?}")).map_err(plain),
    ]
}

fn meaning_of(spec: &PolicySpec) -> [Result<String, Vec<String>>; 2] {
    let plain =
        |p: scumble::failure::Failures| p.0.into_iter().map(|p| p.message).collect::<Vec<_>>();
    [
        spec.policy().map(|p| canonical(&p)).map_err(plain),
        spec.queries().map(|q| format!("{q:?}")).map_err(plain),
    ]
}

/// What must hold for a spec, whether it is valid or not.
fn check_laws(spec: &PolicySpec) {
    let text = spec.to_string();
    let again = PolicySpec::parse("p", &text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(*spec, again, "{text}");
    // Maps are equal in any order; their texts are not.
    assert_eq!(text, again.to_string());
    let json = serde_json::to_string(spec).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let back: PolicySpec = serde_json::from_str(&json).unwrap_or_else(|e| panic!("{e}\n{json}"));
    assert_eq!(*spec, back, "{json}");
    assert_eq!(text, back.to_string(), "{json}");
    let json: serde_json::Value = serde_json::from_str(&json).unwrap_or_default();
    schema::accepts(&json).unwrap_or_else(|e| panic!("the schema refuses {e}\n{json}"));
    assert_eq!(meaning(&text), meaning_of(spec), "{text}");
}

/// Files below a folder of the repository.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name();
        if path.is_dir() && name != "target" && !name.to_string_lossy().starts_with('.') {
            files(&path, found);
        } else if path.extension().is_some_and(|e| e == "toml" || e == "md" || e == "rs") {
            found.push(path);
        }
    }
}

/// Every text in the repository that may be a policy: files, blocks of pages, literals of tests.
fn texts() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = Vec::new();
    files(&root, &mut found);
    found.sort();
    let mut texts = Vec::new();
    for path in found {
        let content = std::fs::read_to_string(&path).unwrap_or_default();
        let name = path.display().to_string();
        let (open, close) = match path.extension().and_then(|e| e.to_str()) {
            Some("toml") => {
                texts.push((name, content));
                continue;
            }
            Some("md") => ("```toml\n", "```"),
            _ => ("r#\"", "\"#"),
        };
        for part in content.split(open).skip(1) {
            let text = part.split(close).next().unwrap_or("");
            texts.push((name.clone(), text.to_owned()));
        }
    }
    texts
}

#[test]
fn every_policy_of_the_repository_means_the_same_as_data() {
    let mut seen = [0; 2];
    for (name, text) in texts() {
        let meant = meaning(&text);
        if meant.iter().all(Result::is_err) {
            continue;
        }
        let spec = PolicySpec::parse("p", &text).unwrap_or_else(|e| panic!("{name}: {e}\n{text}"));
        let as_data = meaning_of(&spec);
        for (i, (text, data)) in meant.iter().zip(&as_data).enumerate() {
            if text.is_ok() {
                seen[i] += 1;
                assert_eq!(text, data, "{name}\n{spec}");
            }
        }
        check_laws(&spec);
    }
    assert!(seen[0] >= 60 && seen[1] >= 5, "found {seen:?} policies");
}

#[test]
fn what_is_wrong_is_said_with_its_line_in_a_file_and_without_in_data() {
    let text = "source = \"a.csv\"\n[attributes]\nzip = { role = \"quasi\" }\n";
    let told = PolicySpec::parse("p.toml", text).map_err(|e| e.to_string());
    let told = told.expect_err("`quasi` is no role");
    assert!(told.contains("`p.toml`, line 3: column `zip` has the unknown role `quasi`"), "{told}");
    let mut spec = PolicySpec { source: Some(spec::SourceSpec::File("a.csv".into())), ..example() };
    spec.models[0].parameters.insert("k".into(), 0.into());
    let told = spec.policy().map(|_| ()).expect_err("k is 0").to_string();
    assert!(told.starts_with("`k` "), "{told}");
    assert!(!told.contains("line"), "{told}");
}

#[test]
fn unknown_keys_are_refused_with_a_message_that_names_them() {
    for (json, word) in [
        (r#"{ "sauce": "a.csv" }"#, "sauce"),
        (r#"{ "attributes": { "zip": { "role": "sensitive", "wight": 2 } } }"#, "wight"),
        (r#"{ "attributes": { "zip": "quasi" } }"#, "quasi"),
        (r#"{ "gate": { "certainly": 0 } }"#, "certainly"),
        (r#"{ "release": { "to": "r", "fromat": "csv" } }"#, "fromat"),
        (
            r#"{ "attributes": { "a": { "role": "sensitive", "taxonomy": { "flat": false } } } }"#,
            "`flat`",
        ),
        (
            r#"{ "attributes": { "a": { "role": "sensitive", "taxonomy": { "flat": true, "low": 1 } } } }"#,
            "`flat`",
        ),
    ] {
        let told = serde_json::from_str::<PolicySpec>(json).map_err(|e| e.to_string());
        let told = told.map(|_| ()).expect_err(json);
        assert!(told.contains(word), "{told}");
        let json: serde_json::Value = serde_json::from_str(json).unwrap_or_default();
        assert!(schema::accepts(&json).is_err(), "the schema accepts {json}");
    }
}

#[test]
fn words_are_spelt_as_in_a_policy_file() {
    fn same<T: serde::Serialize>(all: &[(&str, T)]) {
        for (name, value) in all {
            let json = serde_json::to_value(value).unwrap_or_default();
            assert_eq!(json.as_str(), Some(*name));
        }
    }
    same(&Role::ALL);
    same(&Granularity::ALL);
    same(&Difference::ALL);
    same(&scumble::gate::Panelist::ALL);
}

#[test]
fn short_forms_are_read_from_json_and_written_to_toml() {
    let json = r#"{ "attributes": { "id": "identifier",
                    "job": { "role": "sensitive", "taxonomy": "jobs.csv" } } }"#;
    let spec: PolicySpec = serde_json::from_str(json).unwrap_or_else(|e| panic!("{e}"));
    let mut expected = PolicySpec::default();
    expected.attributes.insert("id".into(), AttributeSpec::new(Role::Identifier));
    let job = AttributeSpec::new(Role::Sensitive).with(TaxonomySpec::file("jobs.csv"));
    expected.attributes.insert("job".into(), job);
    assert_eq!(spec, expected);
    assert_eq!(
        spec.to_string(),
        "[attributes]\nid = \"identifier\"\n\
         job = { role = \"sensitive\", taxonomy = \"jobs.csv\" }\n"
    );
}

#[test]
fn numbers_keep_the_text_that_their_exact_value_is_read_from() {
    for (text, read) in [
        ("5", Number::Whole(5)),
        ("0.2", Number::Decimal(0.2)),
        ("1e-9", Number::Decimal(1e-9)),
        ("0.20", Number::Text("0.20".into())),
        ("1/3", Number::Text("1/3".into())),
        ("0.12345678901234567890", Number::Text("0.12345678901234567890".into())),
        ("99999999999999999999", Number::Text("99999999999999999999".into())),
        ("inf", Number::Text("inf".into())),
    ] {
        assert_eq!(Number::read(text), read);
        assert_eq!(read.to_string(), text);
    }
}

/// A small valid policy, written in Rust.
fn example() -> PolicySpec {
    let mut spec = PolicySpec {
        source: Some(spec::SourceSpec::File("patients.csv".into())),
        models: vec![ModelSpec::new("k-anonymity").with("k", 5)],
        algorithm: Some(AlgorithmSpec::new("mondrian").with("cut", "median")),
        release: Some(spec::ReleaseSpec { to: "releases/1".into(), format: None }),
        ..PolicySpec::default()
    };
    let age = AttributeSpec::new(Role::QuasiIdentifier).with(TaxonomySpec::intervals([5, 10]));
    spec.attributes.insert("age".into(), age);
    spec.attributes.insert("disease".into(), AttributeSpec::new(Role::Sensitive));
    spec
}

#[test]
fn a_policy_written_in_rust_is_printed_as_a_policy_file() {
    let spec = example();
    assert!(spec.policy().is_ok());
    assert_eq!(
        spec.to_string(),
        r#"source = "patients.csv"

[attributes]
age = { role = "quasi-identifier", taxonomy = { intervals = [5, 10] } }
disease = "sensitive"

[[models]]
name = "k-anonymity"
k = 5

[algorithm]
name = "mondrian"
cut = "median"

[release]
to = "releases/1"
"#
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_spec_survives_text_and_json_and_means_what_its_text_means(spec in generate::spec()) {
        check_laws(&spec);
    }
}
