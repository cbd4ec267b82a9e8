//! One numbering for people: the number that a command prints is the one that `ledger show` takes.

use crate::place::Place;

#[test]
fn what_is_printed_is_what_show_takes() {
    let place = Place::new("");
    for (name, number) in [("a", 2), ("b", 4)] {
        let to = format!("out/{name}");
        let answer = place.answer(0, &["publish", "policy.toml", "--to", &to]);
        assert_eq!(answer["recorded"]["entry"], number, "{answer}");
    }
    let withdrawn = place.answer(0, &["ledger", "withdraw", "a", "--because", "of a test"]);
    assert_eq!(withdrawn["entry"], 2, "{withdrawn}");
    let listed = place.answer(0, &["ledger", "list"]);
    for release in listed["releases"].as_array().expect("a list") {
        let shown = place.answer(0, &["ledger", "show", &release["entry"].to_string()]);
        assert_eq!(
            (&shown["name"], &shown["entry"]),
            (&release["name"], &release["entry"]),
            "{shown}"
        );
    }
    // Every later entry about a release leads to it as well, and the others say what they are not.
    for (number, name) in [(3, "a"), (5, "b"), (6, "a")] {
        assert_eq!(
            place.answer(0, &["ledger", "show", &number.to_string()])["name"],
            name,
            "entry {number}"
        );
    }
    let text = place.expect(2, &["ledger", "show", "1"]);
    assert!(text.contains("entry 1 of the ledger `ledger` is not about a release"), "{text}");
    assert!(place.expect(2, &["ledger", "show", "7"]).contains("has no release `7`"));
}

/// A withdrawal of what everybody can still read says so.
#[test]
fn a_withdrawn_release_that_is_still_there() {
    let place = Place::new("");
    place.expect(0, &["publish", "policy.toml"]);
    let text = place.expect(0, &["ledger", "withdraw", "release", "--because", "of a test"]);
    assert!(
        text.contains("`release` is still in `")
            && text.contains("whoever reads that folder has it"),
        "{text}"
    );
}
