//! Every leaf of manifest and certificate: whoever changes one, and makes hashes and copies right
//! again, is found out, or the leaf is told as the publisher's word.

use super::forged::{forge, read};
use super::{publish, verified, write};
use scumble_publisher::answer::VerifyOutcome;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// What no folder can prove. `verify` tells this list, as far as a release says such things.
const WORD: &[&str] = &[
    "manifest.json/made_by",
    "manifest.json/id",
    "manifest.json/publisher",
    "manifest.json/recipients/*",
    "manifest.json/shape",
    "manifest.json/columns/*/role",
    "manifest.json/columns/*/taxonomy/**",
    "manifest.json/columns/*/level",
    "manifest.json/columns/*/exceptions/**",
    "manifest.json/columns/*/perturbed/*",
    "manifest.json/columns/*/drawn_from",
    "manifest.json/columns/*/freeform/**",
    "manifest.json/privacy_unit",
    "manifest.json/algorithm/**",
    "manifest.json/suppressed",
    "manifest.json/utility/gcp",
    "manifest.json/seeded",
    "manifest.json/notes/*",
    "certificate.json/linkability/panel/*",
    "certificate.json/linkability/thresholds/*",
    "certificate.json/linkability/adversaries/**",
];

/// Whether a place is one that a pattern names.
fn is_named(pattern: &str, place: &[String]) -> bool {
    let parts: Vec<&str> = pattern.split('/').collect();
    for (i, part) in parts.iter().enumerate() {
        match (*part, place.get(i)) {
            ("**", _) => return true,
            (_, None) => return false,
            ("*", Some(_)) => (),
            (part, Some(found)) if part == found => (),
            _ => return false,
        }
    }
    parts.len() == place.len()
}

/// A kind of release, by the parts of its policy that matter.
struct Case {
    name: &'static str,
    attributes: &'static str,
    models: &'static str,
    algorithm: &'static str,
}

const QUASI: &str = "age = { role = \"quasi-identifier\", taxonomy = { number = true } }\n\
    zip = { role = \"quasi-identifier\", taxonomy = { prefix = true, length = 5 } }\n\
    dis = \"sensitive\"\nward = \"insensitive\"\n";

const CASES: &[Case] = &[
    Case {
        name: "generalized",
        attributes: QUASI,
        models: "[[models]]\nname = \"k-anonymity\"\nk = 3\n[[models]]\nname = \"entropy-l-diversity\"\nl = 1.2\n",
        algorithm: "name = \"mondrian\"",
    },
    Case {
        name: "full-domain, with a file and suppressed records",
        attributes: "age = { role = \"quasi-identifier\", taxonomy = { intervals = [5, 10] } }\n\
            zip = { role = \"quasi-identifier\", taxonomy = \"zip.csv\" }\n\
            dis = \"sensitive\"\nward = \"insensitive\"\n",
        models: "[[models]]\nname = \"k-anonymity\"\nk = 3\n",
        algorithm: "name = \"lattice\"\nsuppress = 0.2",
    },
    Case {
        name: "anatomized",
        attributes: QUASI,
        models: "[[models]]\nname = \"distinct-l-diversity\"\nl = 2\n",
        algorithm: "name = \"anatomy\"\nl = 2",
    },
    Case {
        name: "microaggregated",
        attributes: QUASI,
        models: "[[models]]\nname = \"k-anonymity\"\nk = 3\n",
        algorithm: "name = \"microaggregation\"",
    },
    Case {
        name: "perturbed",
        attributes: "age = { role = \"quasi-identifier\", taxonomy = { number = true } }\n\
            zip = { role = \"quasi-identifier\", taxonomy = { prefix = true, length = 5 } }\n\
            dis = { role = \"sensitive\", perturb = { keep = 0.8 } }\nward = \"insensitive\"\n",
        models: "[[models]]\nname = \"k-anonymity\"\nk = 3\n",
        algorithm: "name = \"mondrian\"",
    },
    Case {
        name: "siblings",
        attributes: "age = { role = \"quasi-identifier\", taxonomy = { flat = true } }\n\
            zip = { role = \"quasi-identifier\", taxonomy = { prefix = true } }\n\
            dis = \"sensitive\"\nward = \"insensitive\"\n",
        models: "[[models]]\nname = \"k-anonymity\"\nk = 4\n",
        algorithm: "name = \"sibling\"",
    },
    Case {
        name: "with a register",
        attributes: QUASI,
        models: "[[models]]\nname = \"k-map\"\nk = 2\nregister = \"register.csv\"\n",
        algorithm: "name = \"mondrian\"",
    },
];

/// An honest release, in a folder with everything that it was made of.
fn honest(case: &Case, format: &str, ledger: bool) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut data = String::from("name,age,zip,dis,ward\n");
    let mut register = String::from("age,zip\n");
    for i in 0..36 {
        let (age, zip) = (20 + i % 6, 43100 + i % 4);
        let dis = ["flu", "hiv", "tb", "hd"][(i / 2) % 4];
        let _ = writeln!(data, "Person {i},{age},{zip},{dis},w{}", i % 4);
        let _ = writeln!(register, "{age},{zip}\n{age},{zip}");
    }
    // Somebody whom a full-domain algorithm leaves out.
    data.push_str("Person 99,77,43199,flu,w1\n");
    write(folder.path(), "data.csv", &data);
    write(folder.path(), "register.csv", &register);
    let zips: String = (0..5).chain([99]).map(|i| format!("{};A;*\n", 43100 + i)).collect();
    write(folder.path(), "zip.csv", &zips);
    let policy = format!(
        "source = \"data.csv\"\nledger = {}\npublisher = \"clinic\"\nrecipients = [\"university\"]\n[attributes]\nname = {{ role = \"identifier\", person = true }}\n{}{}\
         [algorithm]\n{}\n[release]\nto = \"release\"\nformat = \"{format}\"\n",
        if ledger { "\"ledger\"" } else { "false" },
        case.attributes,
        case.models,
        case.algorithm
    );
    write(folder.path(), "policy.toml", &policy);
    let answer = publish(&folder.path().join("policy.toml"), false);
    let answer = answer.unwrap_or_else(|e| panic!("{}: {e}", case.name));
    assert!(answer.reasons.is_empty(), "{}: {:?}", case.name, answer.reasons);
    let release = folder.path().join("release");
    (folder, release)
}

const COUNTERFEITS: Case = Case {
    name: "with counterfeits",
    attributes: QUASI,
    models: "[[models]]\nname = \"distinct-l-diversity\"\nl = 2\n",
    algorithm: "name = \"m-invariance\"\nm = 2",
};

/// A second release after one with a value of her own kind has left: somebody who is nobody takes
/// her place.
fn with_counterfeits() -> (tempfile::TempDir, PathBuf) {
    let (folder, release) = honest(&COUNTERFEITS, "csv", true);
    let text = std::fs::read_to_string(folder.path().join("data.csv")).expect("the extract");
    let stay = |line: &&str| !line.contains(",hiv,");
    let stay: Vec<&str> = text.lines().filter(stay).collect();
    write(folder.path(), "data.csv", &(stay.join("\n") + "\n"));
    publish(&folder.path().join("policy.toml"), false).unwrap_or_else(|e| panic!("{e}"));
    assert!(release.join("counterfeits.csv").exists(), "nobody took the place of those who left");
    (folder, release)
}

/// The places of all leaves below a value.
fn leaves(value: &Value, place: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
    let below: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(name, v)| (name.clone(), v)).collect(),
        Value::Array(list) => list.iter().enumerate().map(|(i, v)| (i.to_string(), v)).collect(),
        _ => {
            found.push(place.clone());
            return;
        }
    };
    for (name, v) in below {
        place.push(name);
        leaves(v, place, found);
        place.pop();
    }
}

fn pointer(place: &[String]) -> String {
    let escaped = place.iter().map(|p| p.replace('~', "~0").replace('/', "~1"));
    escaped.fold(String::new(), |text, part| text + "/" + &part)
}

/// Other values for a leaf: near ones, words that mean something elsewhere, and nothing at all.
fn others(value: &Value) -> Vec<Value> {
    match value {
        Value::Bool(yes) => vec![json!(!yes)],
        Value::Number(n) if n.is_u64() => {
            let n = n.as_u64().unwrap_or(0);
            vec![json!(n + 1), json!(n * 2 + 3)]
        }
        Value::Number(n) => {
            let x = n.as_f64().unwrap_or(0.0);
            vec![json!(x * 0.5 + 0.0001), json!(500.0)]
        }
        Value::String(text) => {
            let mut others = vec![json!(format!("{text}x")), json!(format!("{text} ")), json!("")];
            others.extend(["guard", "identifier", "Sensitive", "1/7"].map(|word| json!(word)));
            others.retain(|other| other != value);
            others
        }
        _ => vec![json!(1)],
    }
}

/// Copies a folder.
fn copied(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a temporary folder");
    for entry in std::fs::read_dir(from).expect("a release") {
        let entry = entry.expect("a release");
        let place = to.join(entry.file_name());
        if entry.path().is_dir() {
            copied(&entry.path(), &place);
        } else {
            std::fs::copy(entry.path(), place).expect("a temporary folder");
        }
    }
}

/// Changes every leaf of both documents, in one and, where it stands in both, in both.
fn walk(case: &Case, release: &Path, told: &mut BTreeSet<String>) -> usize {
    let answer = verified(release).unwrap_or_else(|e| panic!("{}: {e}", case.name));
    let wrong: Vec<_> = answer.checked.iter().filter(|c| !c.holds).collect();
    assert!(wrong.is_empty(), "{}: an honest release: {wrong:?}", case.name);
    let words: Vec<String> = answer.word.iter().map(|w| w.path.clone()).collect();
    told.extend(words.iter().cloned());
    let (manifest, certificate) =
        (read(release, "manifest.json"), read(release, "certificate.json"));
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let (mut tried, mut believed) = (0, Vec::new());
    for (file, document) in [("manifest.json", &manifest), ("certificate.json", &certificate)] {
        let mut places = Vec::new();
        leaves(document, &mut Vec::new(), &mut places);
        for place in places.iter().filter(|place| place[0] != "files") {
            let at = pointer(place);
            let value = document.pointer(&at).expect("a leaf");
            let both = certificate.pointer(&at) == manifest.pointer(&at);
            for other in others(value) {
                for alike in [false, true] {
                    if alike && !(both && file == "manifest.json") {
                        continue;
                    }
                    let forged = scratch.path().join(format!("f{tried}"));
                    copied(release, &forged);
                    forge(&forged, |m, c| {
                        let documents = match (alike, file) {
                            (true, _) => vec![m, c],
                            (false, "manifest.json") => vec![m],
                            _ => vec![c],
                        };
                        for document in documents {
                            *document.pointer_mut(&at).expect("a leaf") = other.clone();
                        }
                    });
                    tried += 1;
                    let found = verified(&forged);
                    let _ = std::fs::remove_dir_all(&forged);
                    let Ok(found) = found else { continue };
                    if found.outcome != VerifyOutcome::Verified {
                        continue;
                    }
                    let mut whole = vec![file.to_owned()];
                    whole.extend(place.iter().cloned());
                    let is_word = found.word.iter().any(|w| is_named(&w.path, &whole));
                    if !is_word || !WORD.iter().any(|w| is_named(w, &whole)) {
                        believed.push(format!("{}: {file}{at} says {other}", case.name));
                    }
                }
            }
        }
    }
    assert!(believed.is_empty(), "called verified:\n{}", believed.join("\n"));
    tried
}

#[test]
fn every_leaf_is_checked_or_told_as_the_publishers_word() {
    let (mut told, mut tried) = (BTreeSet::new(), 0);
    for case in CASES {
        let (_folder, release) = honest(case, "csv", false);
        tried += walk(case, &release, &mut told);
    }
    let (_folder, release) = honest(&CASES[0], "csv", true);
    tried += walk(&CASES[0], &release, &mut told);
    let (_folder, release) = with_counterfeits();
    tried += walk(&COUNTERFEITS, &release, &mut told);
    assert!(tried > 1000, "{tried} forgeries");
    let unknown: Vec<&String> = told.iter().filter(|w| !WORD.contains(&w.as_str())).collect();
    assert!(unknown.is_empty(), "told, but not in the list: {unknown:?}");
    // A freeform column is in none of these releases.
    let never: Vec<&&str> =
        WORD.iter().filter(|w| !told.contains(**w) && !w.contains("freeform")).collect();
    assert!(never.is_empty(), "in the list, but never told: {never:?}");
}

#[test]
fn a_release_in_parquet_is_verified_too() {
    let (_folder, release) = honest(&CASES[2], "parquet", false);
    let answer = verified(&release).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(answer.outcome, VerifyOutcome::Verified, "{:?}", answer.checked);
}

/// A field that no build writes may say anything, so it is not passed over.
#[test]
fn fields_that_are_none_of_ours_are_not_verified() {
    for place in ["", "/data", "/columns/0", "/algorithm", "/models/0/measured"] {
        for file in [true, false] {
            let (_folder, release) = honest(&CASES[0], "csv", false);
            let mut changed = false;
            forge(&release, |m, c| {
                let document = if file { m } else { c };
                if let Some(Value::Object(fields)) = document.pointer_mut(place) {
                    fields.insert("anonymous".into(), json!(true));
                    changed = true;
                }
            });
            let refused = verified(&release).map_or(true, |found| !found.holds);
            assert!(
                refused || !changed,
                "{place} of {}",
                if file { "manifest" } else { "certificate" }
            );
        }
    }
}

/// Columns that nobody is told of, in any file of a release.
#[test]
fn no_file_has_columns_without_a_role() {
    for name in ["data.csv", "sensitive.csv"] {
        let (_folder, release) = honest(&CASES[2], "csv", false);
        let text = std::fs::read_to_string(release.join(name)).expect("a file of the release");
        let mut lines = String::new();
        for (i, line) in text.lines().enumerate() {
            let _ = writeln!(lines, "{line},{}", if i == 0 { "ssn".into() } else { i.to_string() });
        }
        write(&release, name, &lines);
        forge(&release, |_, _| ());
        assert!(verified(&release).map_or(true, |found| !found.holds), "{name}");
    }
}
