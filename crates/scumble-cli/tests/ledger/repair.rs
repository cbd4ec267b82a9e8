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

fn remedies(text: &str) -> Vec<Value> {
    let answer: Value = serde_json::from_str(text).expect("an answer");
    answer["remedies"].as_array().expect("remedies").clone()
}

#[test]
fn a_column_is_coarsened_no_further_than_needed() {
    let place = wards();
    let offered = remedies(&place.expect(1, &["publish", "policy.toml", "--seed", "1", "--json"]));
    let what: Vec<&str> = offered.iter().filter_map(|r| r["what"].as_str()).collect();
    assert!(what.contains(&"the column `ward` no finer than level 1 of its taxonomy"), "{what:?}");
    let loss: Vec<f64> = offered.iter().filter_map(|r| r["loss"].as_f64()).collect();
    assert!(loss.is_sorted(), "the cheapest first: {loss:?}");
    assert!(!place.path("out/release").exists());
}

#[test]
fn the_cheapest_is_published_if_wanted() {
    let place = wards();
    let applied = remedies(&place.expect(0, &["publish", "policy.toml", "--seed", "1", "--json", "--repair"]));
    assert_eq!(applied.iter().map(|r| r["applied"] == true).collect::<Vec<_>>(), {
        let mut first = vec![false; applied.len()];
        first[0] = true;
        first
    });
    assert_eq!(place.consistent(), ["published"]);
}
