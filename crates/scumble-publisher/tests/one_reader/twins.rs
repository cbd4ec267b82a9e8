//! What is published does not depend on people who are not in it: twins of an extract that differ in
//! suppressed people alone have the same manifest and the same certificate.

use super::write;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use scumble::catalogue::ALGORITHMS;
use scumble_publisher::answer::{Outcome, Published};
use scumble_publisher::policy_file::PolicyFile;
use scumble_publisher::publish::{PublishRequest, Repair};
use scumble_publisher::publisher::Publisher;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// Somebody far from everybody else, and an extreme of every column.
fn outlier(random: &mut ChaCha8Rng) -> String {
    let far = random.random_range(0..4);
    let age = [90, 99, 104, 119][random.random_range(0..4)];
    let zip = ["99999", "98765", "90001"][random.random_range(0..3)];
    let year = [1901, 1907, 1919][random.random_range(0..3)];
    let weight = ["310.25", "155.5", "199.125"][random.random_range(0..3)];
    format!("{age},{zip},{year}-0{}-1{far},{weight}", 1 + far)
}

/// Two groups of people who are alike, and `last`, who are like nobody.
fn extract(random: &mut ChaCha8Rng, last: &[String]) -> String {
    let mut text = "id,age,zip,day,weight,dis\n".to_owned();
    for i in 0..random.random_range(12..18) {
        // More of those whom the outlier is nearest to: it costs more to take it in.
        let (age, zip, year) = [(21, "43101", 1981), (36, "43210", 1975)][usize::from(i % 3 > 0)];
        let (age, weight) = (age + random.random_range(0..3), 60 + random.random_range(0..9));
        let dis = ["flu", "tb", "hd"][random.random_range(0..3)];
        let _ = writeln!(text, "p{i},{age},{zip},{year}-03-0{},{weight}.5,{dis}", 1 + i % 2);
    }
    for (i, values) in last.iter().enumerate() {
        let _ = writeln!(text, "q{i},{values},flu");
    }
    text
}

fn policy(algorithm: usize) -> String {
    let entry = &ALGORITHMS[algorithm];
    let quasi = |rule: &str| format!("{{ role = \"quasi-identifier\", taxonomy = {rule} }}");
    let model = match entry.parameters.iter().any(|p| p.name == "l" || p.name == "m") {
        true => "name = \"distinct-l-diversity\"\nl = 2",
        false => "name = \"k-anonymity\"\nk = 3",
    };
    let mut text = format!(
        "source = \"data.csv\"\nledger = false\n[attributes]\n\
         id = {{ role = \"identifier\", person = true }}\nage = {}\nzip = {}\nday = {}\nweight = {}\n\
         dis = \"sensitive\"\n[[models]]\n{model}\n[algorithm]\nname = \"{}\"\n",
        quasi("{ intervals = [5, 10] }"),
        quasi("{ prefix = [3], length = 5 }"),
        quasi("{ dates = [\"month\", \"year\", \"decade\"] }"),
        quasi("{ intervals = [10, 20] }"),
        entry.name,
    );
    for p in entry.parameters {
        match p.name {
            "suppress" => text += "suppress = 0.3\n",
            "l" | "m" => text += &format!("{} = 2\n", p.name),
            _ => (),
        }
    }
    text + "[release]\nto = \"release\"\nformat = \"csv\"\n"
}

/// Whether an algorithm may leave out people who are far from the others.
fn may_suppress(algorithm: usize) -> bool {
    ALGORITHMS[algorithm].parameters.iter().any(|p| p.name == "suppress")
}

/// The answer and what is published: the records in order, manifest and certificate without hashes
/// of the data, whose order may differ.
fn published(folder: &Path, data: &str, policy: &str) -> Option<(Published, [String; 3])> {
    write(folder, "data.csv", data);
    write(folder, "policy.toml", policy);
    let request = PublishRequest {
        seed: Some(1),
        replace: true,
        repair: Repair::Off,
        ..PublishRequest::default()
    };
    let file = PolicyFile::read(&folder.join("policy.toml")).expect("a policy");
    let answer = Publisher::default().publish(&file, &request).ok()?;
    if answer.outcome != Outcome::Published {
        return None;
    }
    let read = |name: &str| {
        std::fs::read_to_string(folder.join("release").join(name)).expect("a file of the release")
    };
    let mut rows: Vec<String> = read("data.csv").lines().map(str::to_owned).collect();
    rows.sort_unstable();
    let said = |name: &str| {
        let mut said: Value = serde_json::from_str(&read(name)).expect("JSON");
        without_hashes(&mut said);
        said.to_string()
    };
    Some((answer, [rows.join("\n"), said("manifest.json"), said("certificate.json")]))
}

fn without_hashes(said: &mut Value) {
    match said {
        Value::Object(fields) => {
            fields.retain(|name, _| name != "sha256" && name != "files");
            fields.values_mut().for_each(without_hashes);
        }
        Value::Array(list) => list.iter_mut().for_each(without_hashes),
        _ => (),
    }
}

#[test]
fn what_is_published_does_not_depend_on_suppressed_people() {
    let mut compared = BTreeMap::new();
    for (algorithm, entry) in ALGORITHMS.iter().enumerate() {
        let name = entry.name;
        for seed in 0..8 {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            let (one, other) = (outlier(&mut random), outlier(&mut random));
            let again = random.clone();
            let first = extract(&mut random, std::slice::from_ref(&one));
            let second = extract(&mut again.clone(), std::slice::from_ref(&other));
            let folder = tempfile::tempdir().expect("a temporary folder");
            let policy = policy(algorithm);
            let Some((answer, said)) = published(folder.path(), &first, &policy) else { continue };
            let Some((_, of_twin)) = published(folder.path(), &second, &policy) else {
                continue;
            };
            if one == other || answer.suppressed == 0 || said[0] != of_twin[0] {
                continue;
            }
            assert_eq!(said[1], of_twin[1], "{name}, seed {seed}: the manifest");
            assert_eq!(said[2], of_twin[2], "{name}, seed {seed}: the certificate");
            *compared.entry(name).or_insert(0) += 1;
        }
    }
    let never: Vec<&str> = (0..ALGORITHMS.len())
        .filter(|&a| may_suppress(a) && !compared.contains_key(ALGORITHMS[a].name))
        .map(|a| ALGORITHMS[a].name)
        .collect();
    assert!(never.is_empty(), "never compared: {never:?}; {compared:?}");
}

/// Figures have four digits: with more, they are equations about the records.
#[test]
fn published_figures_are_rounded() {
    let mut figures = 0;
    for (algorithm, entry) in ALGORITHMS.iter().enumerate() {
        let mut random = ChaCha8Rng::seed_from_u64(7);
        let folder = tempfile::tempdir().expect("a temporary folder");
        let last = [outlier(&mut random), outlier(&mut random)];
        let data = extract(&mut random, &last);
        let Some((_, said)) = published(folder.path(), &data, &policy(algorithm)) else { continue };
        let manifest: Value = serde_json::from_str(&said[1]).expect("JSON");
        for (name, figure) in manifest["utility"].as_object().expect("figures") {
            let figure = figure.as_f64().expect("a number");
            let rounded: f64 = format!("{figure:.3e}").parse().expect("a number");
            assert_eq!(figure, rounded, "{name} of {}", entry.name);
            figures += 1;
        }
    }
    assert!(figures > 10, "{figures} figures");
}
