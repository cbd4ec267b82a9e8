//! What `why --json` says can be checked by a program that knows nothing of scumble: the premises
//! by the published files, and what follows from them by adding up whole numbers.

use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

const VALUES: [&str; 3] = ["ague", "gout", "mumps"];

/// People with two quasi-identifiers each for two releases; anything that is not even will do for
/// random.
fn table(people: u32, seed: u32) -> String {
    let mut state = seed;
    let mut next = |below: u32| {
        state = state.wrapping_mul(1_103_515_245).wrapping_add(12345);
        (state >> 16) % below
    };
    let mut text = String::from("id,p,q,s\n");
    for person in 0..people {
        let _ = writeln!(text, "{person},{},{},{}", next(12), next(12), VALUES[next(3) as usize]);
    }
    text
}

fn policy(shown: &str, hidden: &str) -> String {
    format!(
        "source = \"data.csv\"\nledger = false\n[attributes]\nid = \"identifier\"\n{hidden} = \"identifier\"\n\
         {shown} = {{ role = \"quasi-identifier\", taxonomy = {{ number = true }} }}\ns = \"sensitive\"\n\
         [[models]]\nname = \"k-anonymity\"\nk = 2\n[algorithm]\nname = \"mondrian\"\n[release]\nto = \"{shown}\"\n"
    )
}

fn scumble(folder: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_scumble"));
    let output = command
        .current_dir(folder)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .expect("the command starts");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// Classes of a release as its recipient reads them: label and value → records.
fn published(folder: &Path, name: &str) -> BTreeMap<(String, String), u64> {
    let text = fs::read_to_string(folder.join(name).join("data.csv")).expect("a release");
    let mut counts = BTreeMap::new();
    for line in text.lines().skip(1) {
        let (label, value) = line.rsplit_once(',').expect("two columns");
        *counts.entry((label.trim_matches('"').to_owned(), value.to_owned())).or_default() += 1;
    }
    counts
}

fn whole(value: &Value) -> i128 {
    value.as_str().map_or_else(
        || i128::from(value.as_i64().expect("a number")),
        |t| t.parse().expect("a number"),
    )
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Whether the sum proves the claim.
fn follows(because: &Value) -> bool {
    let (facts, premises) = (list(&because["facts"]), list(&because["premises"]));
    let times = whole(&because["times"]);
    let claim = because["claim"].as_str().expect("a claim");
    let upper = matches!(claim, "impossible" | "at most");
    for premise in premises {
        for outcome in list(&premise["outcomes"]) {
            let counted = list(&outcome["counted_by"])
                .iter()
                .map(|at| whole(&facts[whole(at) as usize]["times"]));
            let sum = counted.sum::<i128>() + whole(&premise["times"]);
            let asked = premise["asked"] == true && outcome["value"] == because["value"];
            let claimed = if asked { times } else { 0 };
            if if upper { sum < claimed } else { sum > claimed } {
                return false;
            }
        }
    }
    let count = |fact: &Value| {
        let n = whole(&fact["times"]);
        n * whole(&fact[if (n > 0) == upper { "high" } else { "low" }])
    };
    let people = |premise: &Value| whole(&premise["times"]) * whole(&premise["people"]);
    let bound = facts.iter().map(count).sum::<i128>() + premises.iter().map(people).sum::<i128>();
    let asked = premises.iter().find(|p| p["asked"] == true).expect("whom it is about");
    let others = (whole(&asked["people"]) - 1) * times;
    let share = || {
        let text = because["bound"]["exact"].as_str().expect("a bound");
        let (num, den) = text.split_once('/').unwrap_or((text, "1"));
        (num.parse::<i128>().expect("a number"), den.parse::<i128>().expect("a number"))
    };
    times > 0
        && match claim {
            "impossible" => bound < times,
            "certain" => bound > others,
            "at most" => bound * share().1 <= share().0 * times,
            "at least" => (bound - others) * share().1 >= share().0 * times,
            other => panic!("unknown claim {other}"),
        }
}

/// Whether the facts are what the files say, and everybody of their groups is among the premises.
fn stands_in_the_files(because: &Value, releases: &[BTreeMap<(String, String), u64>]) -> bool {
    list(&because["facts"]).iter().all(|fact| {
        let release = whole(&fact["release"]) as usize - 1;
        let group = fact["group"].as_str().expect("a name");
        let (_, label) = group.split_once(", class ").expect("a class");
        let value = fact["value"].as_str().expect("a value").to_owned();
        let told = releases[release].get(&(label.to_owned(), value)).copied().unwrap_or(0);
        let records: u64 =
            releases[release].iter().filter(|((l, _), _)| l == label).map(|(_, n)| n).sum();
        let here = |premise: &&Value| {
            list(&premise["located"][release]["groups"]).iter().any(|g| g == group)
        };
        // Whoever lacks the value in the other release is in the group and not counted by the fact.
        let people: i128 =
            list(&because["premises"]).iter().filter(here).map(|p| whole(&p["people"])).sum();
        told == whole(&fact["low"]) as u64
            && fact["low"] == fact["high"]
            && people <= i128::from(records)
    })
}

#[test]
fn a_program_can_check_every_reason() {
    let mut checked: BTreeMap<String, u32> = BTreeMap::new();
    for seed in 1..=3 {
        let place = tempfile::tempdir().expect("a scratch folder");
        let folder = place.path();
        fs::write(folder.join("data.csv"), table(14, seed)).expect("a file is written");
        for (shown, hidden) in [("p", "q"), ("q", "p")] {
            fs::write(folder.join(format!("{shown}.toml")), policy(shown, hidden))
                .expect("a file is written");
            scumble(folder, &["publish", &format!("{shown}.toml")]);
        }
        let releases = [published(folder, "p"), published(folder, "q")];
        for row in 1..=14 {
            let row = row.to_string();
            for value in [None, Some(VALUES[0]), Some(VALUES[1]), Some(VALUES[2])] {
                let mut arguments =
                    vec!["why", &row, "--release", "p", "--release", "q", "--register", "data.csv"];
                arguments.extend(value.iter().flat_map(|v| ["--value", v]));
                let text = scumble(folder, &arguments);
                arguments.push("--json");
                let answer: Value =
                    serde_json::from_str(&scumble(folder, &arguments)).expect("JSON");
                for because in list(&answer["inferences"]) {
                    for sentence in list(&because["sentences"]) {
                        assert!(
                            text.contains(sentence.as_str().expect("a sentence")),
                            "{text}: {sentence}"
                        );
                    }
                    assert!(stands_in_the_files(because, &releases), "{because}");
                    if because["proof"] == "sum" {
                        assert!(follows(because), "{because}");
                        *checked
                            .entry(because["claim"].as_str().expect("a claim").to_owned())
                            .or_default() += 1;
                    }
                }
            }
        }
    }
    // Of a value that is neither certain nor impossible in whole people, a belief may give one
    // person anything.
    let claims: Vec<&str> = checked.keys().map(String::as_str).collect();
    assert_eq!(claims, ["certain", "impossible"], "{checked:?}");
    assert!(checked.values().sum::<u32>() > 50, "{checked:?}");
}
