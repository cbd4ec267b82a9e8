//! What is offered when the gate refuses.

use crate::place::Place;
use serde_json::Value;

const POLICY: &str = r#"source = "data.csv"
[gate]
candidates = 4
[attributes]
id = { role = "identifier", person = true }
ward = { role = "quasi-identifier", taxonomy = "wards.csv" }
illness = { role = "sensitive" }
[[models]]
name = "k-anonymity"
k = 2
[algorithm]
name = "mondrian"
[release]
to = "out/release"
"#;

/// Six wards on two floors, two people in each.
fn wards() -> Place {
    let place = Place::new("");
    place.put("policy.toml", POLICY);
    place.put("wards.csv", "A1;A;*\nA2;A;*\nA3;A;*\nB1;B;*\nB2;B;*\nB3;B;*\n");
    let person = |i: usize| format!("P{i},{}{},ill{}\n", ["A", "B"][i / 6], i % 6 / 2 + 1, i % 5);
    place.put("data.csv", format!("id,ward,illness\n{}", (0..12).map(person).collect::<String>()));
    place
}

fn remedies(answer: &Value) -> Vec<Value> {
    answer["remedies"].as_array().expect("remedies").clone()
}

#[test]
fn a_column_is_coarsened_no_further_than_needed() {
    let place = wards();
    let offered = remedies(&place.answer(1, &["publish", "policy.toml", "--seed", "1"]));
    let what: Vec<&str> = offered.iter().filter_map(|r| r["what"].as_str()).collect();
    assert!(what.contains(&"the column `ward` no finer than level 1 of its taxonomy"), "{what:?}");
    let dropped = |r: &Value, key: &str| r[key].as_array().map_or(0, Vec::len);
    let kept: Vec<(usize, u64, usize)> = offered
        .iter()
        .map(|r| {
            (
                dropped(r, "sensitive_dropped"),
                r["suppressed"].as_u64().unwrap(),
                dropped(r, "columns_dropped"),
            )
        })
        .collect();
    assert!(kept.is_sorted(), "what keeps most first: {kept:?}");
    assert!(!place.path("out/release").exists());
}

#[test]
fn the_best_is_published_if_wanted_and_another_if_it_is_named() {
    let place = wards();
    let offered = remedies(&place.answer(1, &["publish", "policy.toml", "--seed", "1"]));
    let best = offered.iter().find(|r| r["asks"].is_null()).expect("one that keeps everything");
    let applied =
        remedies(&place.answer(0, &["publish", "policy.toml", "--seed", "1", "--repair"]));
    let applied: Vec<&Value> = applied.iter().filter(|r| r["applied"] == true).collect();
    assert_eq!(applied.len(), 1);
    assert_eq!((&applied[0]["number"], &applied[0]["what"]), (&best["number"], &best["what"]));
    assert_eq!(place.consistent(), ["published"]);
    for remedy in &offered {
        let place = wards();
        let number = remedy["number"].to_string();
        let applied = remedies(
            &place.answer(0, &["publish", "policy.toml", "--seed", "1", "--repair", &number]),
        );
        let same = |key: &str| applied[0][key] == remedy[key];
        assert!(same("what") && same("loss") && same("suppressed"), "{remedy} and {}", applied[0]);
        place.expect(0, &["verify", "out/release"]);
    }
}

/// Five illnesses, and six that must stay possible: only without the column.
#[test]
fn a_sensitive_column_is_dropped_only_if_that_is_chosen() {
    let place = wards();
    place.put("policy.toml", POLICY.replace("candidates = 4", "candidates = 6"));
    let offered = remedies(&place.answer(1, &["publish", "policy.toml", "--repair"]));
    assert!(offered.iter().all(|r| r["asks"].is_string() && r["applied"] == false), "{offered:?}");
    assert!(!place.path("out/release").exists());
    let drops = |r: &&Value| r["sensitive_dropped"][0] == "illness";
    let number =
        offered.iter().find(drops).expect("what the steward may choose")["number"].to_string();
    place.expect(0, &["publish", "policy.toml", "--repair", &number]);
    let text = place.expect(2, &["publish", "policy.toml", "--to", "other", "--repair", "999"]);
    assert!(text.contains("no remedy 999"), "{text}");
}

#[test]
fn remedies_are_not_looked_for_if_that_is_not_wanted() {
    let place = wards();
    let text = place.expect(1, &["publish", "policy.toml", "--no-remedies"]);
    assert!(!text.contains("looking for") && !text.contains("what would pass"), "{text}");
    place.put("policy.toml", POLICY.replace("candidates = 4", "candidates = 4\nremedies = false"));
    let text = place.expect(1, &["publish", "policy.toml"]);
    assert!(!text.contains("looking for") && !text.contains("what would pass"), "{text}");
}

#[test]
fn everybody_who_is_exposed_is_written_to_a_file() {
    let place = wards();
    let answer =
        place.answer(1, &["publish", "policy.toml", "--seed", "1", "--exposed", "exposed.csv"]);
    let file = std::fs::read_to_string(place.path("exposed.csv")).expect("a file");
    let who: std::collections::BTreeSet<&str> =
        file.lines().skip(1).filter_map(|l| l.split(',').nth(2)).collect();
    assert_eq!(Some(who.len() as u64), answer["gate"][0]["exposed"].as_u64());
    assert_eq!(who.len(), 12, "more than an answer tells: {file}");
    assert!(!file.contains("ill1"), "no values unless they are asked for");
    place.answer(
        1,
        &["publish", "policy.toml", "--seed", "1", "--exposed", "exposed.csv", "--show-values"],
    );
}

/// The next of a row of pseudo-random numbers below `most`.
fn draw(state: &mut u64, most: u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) % most
}

const SERIES: &str = r#"source = "SOURCE"
[attributes]
id = { role = "identifier", person = true }
age = { role = "quasi-identifier", taxonomy = { intervals = [5, 10, 20, 40], low = 20, high = 80 } }
income = { role = "quasi-identifier", taxonomy = { intervals = [5, 10, 20, 40], low = 0, high = 60 } }
illness = { role = "sensitive" }
[[models]]
name = "distinct-l-diversity"
l = 2
[gate]
certain = 0
posterior = 1
[algorithm]
name = "mondrian"
[release]
to = "TARGET"
"#;

/// What a repaired release says of itself is measured on it, and not on the attempt that was
/// refused.
#[test]
fn every_repaired_release_is_as_it_certifies() {
    let mut repaired = 0;
    for seed in 1..=4 {
        let (place, mut state) = (Place::new(""), seed);
        let illness = ["flu", "tb", "hiv", "cold"];
        let people: Vec<String> = (0..40)
            .map(|i| {
                let (age, income) = (20 + draw(&mut state, 60), draw(&mut state, 60));
                format!("p{i},{age},{income},{}\n", illness[draw(&mut state, 4) as usize])
            })
            .collect();
        for release in 0..2 {
            let some =
                people.iter().filter(|_| draw(&mut state, 10) > 0).cloned().collect::<String>();
            place.put("data.csv", format!("id,age,income,illness\n{some}"));
            let to = format!("r{release}");
            place.put("policy.toml", SERIES.replace("SOURCE", "data.csv").replace("TARGET", &to));
            let output = place.run(&["publish", "policy.toml", "--repair", "--json"]);
            let answer: Value = serde_json::from_slice(&output.stdout).expect("an answer");
            if output.status.code() == Some(0) {
                place.expect(0, &["verify", &to]);
                repaired += u32::from(answer["remedies"].is_array());
            }
        }
    }
    assert!(repaired > 1, "only {repaired} of the releases had to be repaired");
}
