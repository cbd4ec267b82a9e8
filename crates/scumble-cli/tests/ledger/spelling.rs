//! People, values and columns that are written differently from before.

use crate::place::Place;

const POLICY: &str = r#"source = "data.csv"
[attributes]
id = { role = "identifier", person = true }
age = { role = "quasi-identifier", taxonomy = { number = true } }
disease = { role = "sensitive" }
[[models]]
name = "distinct-l-diversity"
l = 2
[gate]
certain = 0
[algorithm]
name = "mondrian"
[release]
to = "first"
"#;

const DATA: &str = "id,age,disease\np1,21,flu\np2,22,cold\np3,23,hiv\np4,24,flu\np5,51,cold\np6,52,hiv\np7,53,cold\np8,54,flu\n";

/// The people without the first and the last, of whom a second release would tell too much.
fn fewer() -> String {
    let kept = DATA.lines().filter(|line| !line.starts_with("p1") && !line.starts_with("p8"));
    kept.map(|line| format!("{line}\n")).collect()
}

fn published() -> Place {
    let place = Place::new("");
    place.put("policy.toml", POLICY);
    place.put("data.csv", DATA);
    place.expect(0, &["publish", "policy.toml"]);
    place.put("data.csv", fewer());
    place.expect(1, &["publish", "policy.toml", "--to", "second", "--no-remedies"]);
    place
}

fn asks(place: &Place, words: &str) {
    let before = place.everything();
    let text = place.expect(2, &["publish", "policy.toml", "--to", "second", "--no-remedies"]);
    assert!(text.contains(words), "{text}");
    assert!(
        !text.contains("flu") && !text.contains("Flu"),
        "no values unless they are asked for: {text}"
    );
    assert_eq!(before, place.everything());
}

#[test]
fn values_in_another_spelling_are_asked_about() {
    let place = published();
    let values = "disease = { Flu = 'flu', Cold = 'cold', HIV = 'hiv' }";
    place.put(
        "data.csv",
        fewer().replace("flu", "Flu").replace("cold", "Cold").replace("hiv", "HIV"),
    );
    asks(&place, "`disease`: 3 values differ from those of earlier releases only in case");
    // Recognised, they are refused as before.
    place.put("policy.toml", format!("{POLICY}[history.values]\n{values}\n"));
    place.expect(1, &["publish", "policy.toml", "--to", "second", "--no-remedies"]);
    place.put("policy.toml", format!("{POLICY}[history]\nmeant = ['spelling', 'changed']\n"));
    place.expect(0, &["publish", "policy.toml", "--to", "second"]);
}

#[test]
fn other_words_for_all_values_are_asked_about() {
    let place = published();
    place.put(
        "data.csv",
        fewer().replace("flu", "grippe").replace("cold", "rhume").replace("hiv", "vih"),
    );
    asks(&place, "`disease`: 6 of 6 people who return have another value");
}

#[test]
fn persons_in_another_spelling_are_asked_about() {
    for (from, to) in [("\np", "\nP"), ("\np", "\np00"), ("\np", "\np\u{301}")] {
        let place = published();
        place.put("data.csv", fewer().replace(from, to));
        asks(&place, "6 persons of this extract differ from earlier releases only in case");
        // Also from a spelling that is not the plainest.
        place
            .put("policy.toml", format!("{POLICY}[history]\nmeant = ['spelling', 'new-people']\n"));
        place.expect(0, &["publish", "policy.toml", "--to", "second"]);
        place.put("policy.toml", POLICY);
        place.put("data.csv", fewer().replace("\np", "\n P0").replace("\n P01", "\nX"));
        let text = place.expect(2, &["publish", "policy.toml", "--to", "third", "--no-remedies"]);
        assert!(text.contains("only in case"), "{text}");
    }
}

#[test]
fn other_people_are_asked_about() {
    let place = published();
    place.put("data.csv", fewer().replace("\np", "\nq"));
    asks(&place, "0 of 6 people are among the 8 of earlier releases");
}

#[test]
fn a_renamed_column_is_asked_about() {
    let place = published();
    let policy = POLICY.replace("disease", "diagnosis");
    place.put("data.csv", fewer().replace("disease", "diagnosis"));
    place.put("policy.toml", &policy);
    asks(
        &place,
        "no earlier release has the sensitive attribute `diagnosis`, and `disease` of earlier ones is not here",
    );
    place.put("policy.toml", format!("{policy}[history]\ncolumns = {{ diagnosis = 'disease' }}\n"));
    place.expect(1, &["publish", "policy.toml", "--to", "second", "--no-remedies"]);
}

const FOREIGN: &str = r#"source = "foreign.csv"
ledger = false
[attributes]
id = { role = "identifier", person = true }
age = { role = "quasi-identifier", taxonomy = { intervals = [20, 40], low = 20 } }
disease = { role = "sensitive" }
[[models]]
name = "k-anonymity"
k = 2
[algorithm]
name = "lattice"
[release]
to = "foreign"
"#;

/// Eight people cannot be in four records; were they recorded so, nothing could be published any
/// more.
#[test]
fn people_who_do_not_fit_into_a_release_are_not_added() {
    let place = published();
    place.put("people.csv", DATA);
    place.put("foreign.toml", FOREIGN);
    place.put("foreign.csv", "id,age,disease\nx1,21,flu\nx2,24,cold\nx3,51,hiv\nx4,54,flu\n");
    place.expect(0, &["publish", "foreign.toml"]);
    let add = ["ledger", "add", "foreign", "--people", "people.csv", "--person", "id"];
    let text = place.expect(2, &add);
    assert!(text.contains("8 people are located in groups of 4 records"), "{text}");
    place.put("data.csv", DATA);
    place.expect(0, &["publish", "policy.toml", "--to", "again"]);
}

/// An added release may itself tell somebody's value, and have a column that the others call
/// something else.
#[test]
fn whom_an_added_release_exposes_is_told() {
    let place = published();
    place.put("people.csv", "id,age,illness\np1,21,flu\np2,22,flu\np5,51,cold\np6,52,hiv\n");
    place.put("foreign.csv", "id,age,illness\np1,21,flu\np2,22,flu\np5,51,cold\np6,52,hiv\n");
    place.put("foreign.toml", FOREIGN.replace("disease", "illness"));
    place.expect(0, &["publish", "foreign.toml"]);
    let add = ["ledger", "add", "foreign", "--people", "people.csv", "--person", "id"];
    let answer = place.answer(0, &add);
    assert_eq!(
        (&answer["exposed"][0]["attribute"], &answer["exposed"][0]["people"]),
        (&"illness".into(), &2.into())
    );
    let warning = answer["warnings"][0].as_str().expect("a warning");
    assert!(
        warning.contains("no other release of the ledger has an attribute `illness`"),
        "{warning}"
    );
}
