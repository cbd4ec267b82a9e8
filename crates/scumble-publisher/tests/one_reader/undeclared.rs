//! Where a policy declares no domain, what is published must not tell it: extracts that differ in
//! the values of somebody who is suppressed have the same manifest, certificate and taxonomies.

use super::{publish, write};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// A rule without a declared domain, values that many have, and some that only one person has.
const RULES: [(&str, [&str; 3], [&str; 4]); 7] = [
    ("{ prefix = true }", ["12", "13", "21"], ["99999999", "9", "987", "98765"]),
    ("{ prefix = [5, 1] }", ["12", "13", "21"], ["99999999", "9", "987", "98765"]),
    ("{ number = true, unit = 1 }", ["30", "31", "32"], ["1000", "5000", "-7", "33"]),
    ("{ intervals = [5, 10] }", ["30", "36", "42"], ["1000", "5000", "-77", "55"]),
    (
        "{ dates = [\"day\", \"month\", \"year\"] }",
        ["1980-03-01", "1980-03-02", "1981-05-05"],
        ["1899-01-01", "2024-07-07", "1850-02-02", "1982-01-01"],
    ),
    ("{ flat = true }", ["M", "F", "D"], ["X", "Y", "", "Z"]),
    ("\"codes.csv\"", ["L0", "L1", "L2"], ["L5", "L6", "", "L7"]),
];

/// Algorithms that suppress records, with what makes them.
const ALGORITHMS: [&str; 9] = [
    "name = \"lattice\"\nsuppress = 0.3\nmetric = \"gcp\"",
    "name = \"lattice\"\nsuppress = 0.3\nmetric = \"iloss\"",
    "name = \"lattice\"\nsuppress = 0.3\nmetric = \"entropy\"",
    "name = \"incognito\"\nsuppress = 0.3\nmetric = \"precision\"",
    "name = \"incognito\"\nsuppress = 0.3\nmetric = \"discernibility\"",
    "name = \"samarati\"\nsuppress = 0.3",
    "name = \"datafly\"\nsuppress = 0.3",
    "name = \"k-optimize\"\nsuppress = 0.3",
    "name = \"local\"\nsuppress = 0.3",
];

/// What a folder says: the records in order, and every other file without hashes.
fn said(release: &Path) -> (Vec<String>, BTreeMap<String, String>) {
    let mut files = BTreeMap::new();
    collect(release, release, &mut files);
    let data = files.remove("data.csv").expect("data");
    let mut rows: Vec<String> = data.lines().map(str::to_owned).collect();
    rows.sort_unstable();
    for (name, text) in files.iter_mut().filter(|(name, _)| name.ends_with(".json")) {
        let mut value: Value = serde_json::from_str(text).expect("JSON");
        if let Some(fields) = value.as_object_mut() {
            fields.remove("files");
        }
        if name == "manifest.json" {
            value["data"]["sha256"] = Value::Null;
        }
        *text = format!("{value:#}");
    }
    (rows, files)
}

fn collect(root: &Path, folder: &Path, files: &mut BTreeMap<String, String>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("a folder").path();
        if path.is_dir() {
            collect(root, &path, files);
        } else {
            let name = path.strip_prefix(root).expect("inside").display().to_string();
            files.insert(name, std::fs::read_to_string(&path).expect("a text"));
        }
    }
}

/// Publishes an extract in which one person has this value; nothing if she is not suppressed.
fn published(
    rule: &str,
    common: &[&str],
    own: &str,
    algorithm: &str,
) -> Option<(Vec<String>, BTreeMap<String, String>)> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut data = String::from("id,q,r,s\n");
    for i in 0..24 {
        let q = common[i % common.len()];
        let _ = writeln!(data, "p{i},{q},{},{}", ["a", "b"][i / 3 % 2], ["flu", "tb"][i % 2]);
    }
    let _ = writeln!(data, "out,{own},c,flu");
    write(folder.path(), "data.csv", &data);
    let codes: String = (0..8).map(|i| format!("L{i};G{};*\n", i / 4)).collect();
    write(folder.path(), "codes.csv", &codes);
    let policy = format!(
        "source = \"data.csv\"\nledger = false\n[attributes]\nid = {{ role = \"identifier\", person = true }}\n\
         q = {{ role = \"quasi-identifier\", taxonomy = {rule} }}\n\
         r = {{ role = \"quasi-identifier\", taxonomy = {{ flat = true }} }}\ns = \"sensitive\"\n\
         [[models]]\nname = \"k-anonymity\"\nk = 2\n[algorithm]\n{algorithm}\n[release]\nto = \"release\"\n"
    );
    write(folder.path(), "policy.toml", &policy);
    let answer = publish(&folder.path().join("policy.toml"), false).ok()?;
    (answer.suppressed > 0 && answer.reasons.is_empty())
        .then(|| said(&folder.path().join("release")))
}

#[test]
fn undeclared_domains_of_suppressed_people_are_not_told() {
    let mut compared: BTreeMap<&str, u32> = BTreeMap::new();
    for (rule, common, outside) in RULES {
        for algorithm in ALGORITHMS {
            let mut twins = Vec::new();
            for own in outside {
                twins.extend(published(rule, &common, own, algorithm).map(|said| (own, said)));
            }
            for (i, (own, (rows, files))) in twins.iter().enumerate() {
                for (other, (other_rows, other_files)) in &twins[..i] {
                    // Another generalization was chosen, which shows no value that she has.
                    if rows != other_rows {
                        continue;
                    }
                    assert_eq!(files, other_files, "{rule}, {algorithm}: {own} or {other}");
                    *compared.entry(rule).or_default() += 1;
                }
            }
        }
    }
    for (rule, ..) in RULES {
        assert!(compared.get(rule).is_some_and(|n| *n >= 6), "{rule}: {compared:?}");
    }
}
