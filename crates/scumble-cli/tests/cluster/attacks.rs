//! Attacks on people and releases that an engine counts come to the same figures.

use crate::{Cluster, DATAFUSION, Place, adult, to_parquet, with_algorithm};
use serde_json::Value;
use std::fs;

/// The answer without what only the default engine can say and what is different on every run.
fn answer(place: &Place, arguments: &[&str]) -> (Option<i32>, Value) {
    let output = place.run(&[&["attack", "--json"], arguments].concat());
    let mut json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let object = json.as_object_mut().expect("an answer");
    for name in ["seconds", "engine", "warnings"] {
        object.remove(name);
    }
    for attack in object.get_mut("attacks").and_then(Value::as_array_mut).into_iter().flatten() {
        attack.as_object_mut().expect("an attack").remove("top");
        // Somebody who was counted has no row.
        for finding in
            attack.get_mut("findings").and_then(Value::as_array_mut).into_iter().flatten()
        {
            let text = finding.as_str().expect("a text");
            let (row, rest) = text.split_once(" of the register").unwrap_or(("", text));
            *finding = Value::from(format!(
                "{}{rest}",
                if row.contains("about ") { "about somebody" } else { row }
            ));
        }
    }
    (output.status.code(), json)
}

/// That an attack comes to the same, and to something.
fn same(place: &Place, how: &[&str], arguments: &[&str]) {
    let (mine, theirs) = (answer(place, arguments), answer(place, &[arguments, how].concat()));
    assert_eq!(mine, theirs, "{arguments:?}");
    assert_eq!(mine.0, Some(0), "{arguments:?}: {}", mine.1);
    let attacks = mine.1["attacks"].as_array().expect("attacks");
    assert!(
        !attacks.is_empty()
            && attacks.iter().all(|a| !a["figures"].as_array().expect("figures").is_empty())
    );
}

/// Anatomy shows quasi-identifiers as they are, so k-anonymity cannot be asked.
fn anatomized(policy: String) -> String {
    let policy = with_algorithm(&policy, "name = \"anatomy\"\nl = 3");
    let l_diversity = "name = \"distinct-l-diversity\"\nl = 2\nattribute = \"diagnosis\"";
    policy.replace("name = \"k-anonymity\"\nk = 5", l_diversity)
}

/// Two hospitals with patients in common.
fn hospitals(change: impl Fn(String) -> String) -> Place {
    let place = Place::hospital(500, |p| p);
    for file in ["policy.toml", "clinic.toml"] {
        let policy =
            fs::read_to_string(place.path(file)).expect("a policy").replace("ledger = false\n", "");
        place.write(file, &change(format!("ledger = false\n{policy}")));
    }
    place.expect(0, &["publish", "policy.toml", "--seed", "1", "--to", "a"]);
    place.expect(0, &["publish", "clinic.toml", "--seed", "1", "--to", "b"]);
    place
}

/// Says of everybody in the register, which has some people several times, whether they are in the
/// releases.
fn with_members(place: &Place) {
    let register = fs::read_to_string(place.path("register.csv")).expect("a register");
    let mut lines = register.lines();
    let mut text = format!("{},in_a,in_b,people\n", lines.next().expect("a header"));
    for (i, line) in lines.enumerate() {
        let word = |n: usize| ["yes", "", "no"][n % 3];
        for _ in 0..1 + i % 2 {
            text.push_str(&format!("{line},{},{},{}\n", word(i / 3), word(i), 1 + i % 2));
        }
    }
    place.write("members.csv", &text);
}

fn every_attack(place: &Place, how: &[&str]) {
    let both = ["--release", "a", "--release", "b", "--allow-unknown"];
    same(place, how, &[&["intersection"], &both[..], &["--truth", "patients.csv"]].concat());
    same(place, how, &[&["intersection"], &both[..], &["--register", "register.csv"]].concat());
    let members = ["--register", "members.csv", "--in", "in_a", "--in", "in_b"];
    same(place, how, &[&["intersection", "record-linkage"], &both[..], &members[..]].concat());
    let population = ["--register", "register.csv", "--register-is", "population"];
    same(place, how, &[&["record-linkage", "table-linkage"], &both[..], &population[..]].concat());
    // Everything that what is given suffices for.
    let one = ["--release", "a", "--truth", "patients.csv", "--reference", "patients.csv"];
    same(place, how, &one);
}

#[test]
fn figures_are_the_same() {
    let place = hospitals(|policy| policy);
    with_members(&place);
    every_attack(&place, &DATAFUSION);
}

#[test]
fn figures_of_anatomized_releases_are_the_same() {
    let place = hospitals(anatomized);
    with_members(&place);
    // Whoever is in both hospitals was there on other days, which these releases show: so it is one
    // hospital twice.
    fs::remove_dir_all(place.path("b")).expect("a release");
    place.expect(0, &["publish", "policy.toml", "--seed", "2", "--to", "b"]);
    every_attack(&place, &DATAFUSION);
}

#[test]
fn figures_are_the_same_on_a_cluster() {
    let cluster = Cluster::start();
    let place = hospitals(|policy| policy);
    with_members(&place);
    every_attack(&place, &["--cluster", &cluster.address]);
}

#[test]
fn statements_are_about_people_who_are_counted() {
    let place = hospitals(|policy| policy);
    to_parquet(
        &place.path("patients.csv"),
        &place.path("patients.parquet"),
        &["length_of_stay", "cost"],
    );
    place.write("facts.txt", "sex = M: no O82 Caesarean delivery\n");
    let arguments = [
        "inference",
        "--release",
        "a",
        "--truth",
        "patients.parquet",
        "--facts",
        "facts.txt",
        "--with",
        "worlds=sample",
    ];
    same(&place, &DATAFUSION, &arguments);
}

#[test]
fn freeform_attacks_are_the_same() {
    let place = Place::new();
    fs::create_dir_all(place.path("taxonomies")).expect("a folder");
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/freeform");
    for file in ["policy.toml", "patients.csv", "taxonomies/income.csv", "taxonomies/disease.csv"] {
        fs::copy(format!("{example}/{file}"), place.path(file)).expect("the example");
    }
    place.publish("a", &[]);
    same(&place, &DATAFUSION, &["freeform", "--release", "a", "--with", "threat=0.1"]);
    same(&place, &DATAFUSION, &["--release", "a"]);
}

#[test]
fn adult_is_attacked() {
    let Some(place) = adult() else { return };
    place.publish("a", &[]);
    let policy = fs::read_to_string(place.path("policy.toml")).expect("a policy");
    place.write(
        "policy.toml",
        &policy.replace("name = \"mondrian\"", "name = \"mondrian\"\npartition = \"relaxed\""),
    );
    place.publish("b", &[]);
    let source = policy.lines().next().and_then(|l| l.split('"').nth(1)).expect("a source");
    let arguments = ["--release", "a", "--release", "b", "--truth", source];
    same(&place, &DATAFUSION, &[&["intersection", "record-linkage"], &arguments[..]].concat());
}

#[test]
fn single_persons_are_refused_before_anything_is_read() {
    let place = hospitals(|policy| policy);
    let refuses = |arguments: &[&str], words: &str| {
        let attack = ["attack", "intersection", "--release", "a", "--release", "b"];
        let text = place.expect(2, &[&attack, arguments, &DATAFUSION[..]].concat());
        assert!(text.contains(words), "{text}");
        assert!(!text.contains("distinct rows:") && !text.contains("records, about"), "{text}");
    };
    let truth = ["--truth", "patients.csv"];
    for option in
        [&["--name", "ssn"][..], &["--people", "all.csv"], &["--top", "3"], &["--show-values"]]
    {
        refuses(&[&truth, option].concat(), &format!("or leave out `{}`", option[0]));
    }
    refuses(
        &["--register", "register.csv", "--truth", "patients.csv"],
        "the engine does not know who is who",
    );
    let text = place.expect(2, &["attack", "--policy", "policy.toml", "--engine", "datafusion"]);
    assert!(text.contains("leave out `--engine` and `--cluster`"), "{text}");
    let text = place.expect(2, &["attack", "--statistics", "none.csv", "--engine", "datafusion"]);
    assert!(text.contains("leave out `--engine` and `--cluster`"), "{text}");
}

#[test]
fn what_does_not_fit_is_refused() {
    let place = hospitals(|policy| policy);
    let attack =
        ["attack", "intersection", "--release", "a", "--release", "b", "--truth", "patients.csv"];
    let text = place.expect(2, &[&attack[..], &DATAFUSION, &["--rows-at-once", "700"]].concat());
    assert!(text.contains("`patients.csv`: 500 records, about"), "{text}");
    assert!(
        text.contains("distinct rows, which need about") && text.contains("give `--memory"),
        "{text}"
    );
}
