//! Two who publish at once: one after the other, and the second is judged against the first.

use crate::place::{Place, freeze, pair, people, printed};
use std::fs::{self, File};
use std::time::{Duration, Instant};

#[test]
fn two_at_once_are_judged_one_after_the_other() {
    for _ in 0..4 {
        // The first pair also makes the ledger together.
        let place = Place::new("");
        for i in 0..4 {
            pair(&place, [&format!("a{i}"), &format!("b{i}")]);
        }
        assert_eq!(place.consistent(), ["published"; 8]);
        place.expect(0, &["ledger", "verify"]);
    }
}

#[test]
fn two_to_the_same_place_are_not_mixed_up() {
    for _ in 0..6 {
        let place = Place::new("");
        let runs = [(); 2].map(|()| place.start(&["publish", "policy.toml"]));
        let mut codes = runs.map(|run| run.wait_with_output().expect("it ends")).map(|output| {
            let text = printed(&output);
            assert!(
                output.status.success() || text.contains("`out/release` exists already"),
                "{text}"
            );
            output.status.code()
        });
        codes.sort_unstable();
        assert_eq!(codes, [Some(0), Some(2)]);
        let standing = place.consistent();
        assert_eq!(standing.iter().filter(|s| *s == "published").count(), 1, "{standing:?}");
    }
}

#[test]
fn who_does_not_want_to_wait_is_told() {
    let place = Place::new("");
    place.expect(0, &["publish", "policy.toml"]);
    let before = place.everything();
    let lock = File::options().write(true).open(place.path("ledger/lock")).expect("the lock");
    lock.lock().expect("nobody has it");
    for arguments in [
        &["publish", "policy.toml", "--to", "out/b", "--wait", "0"][..],
        &["publish", "policy.toml", "--to", "out/b", "--wait", "1"],
    ] {
        let text = place.expect(2, arguments);
        assert!(
            text.contains("error: somebody else is publishing with the ledger `ledger` (process "),
            "{text}"
        );
    }
    // Looking is allowed, and changes nothing.
    place.expect(0, &["ledger", "list"]);
    place.expect(0, &["publish", "policy.toml", "--dry-run"]);
    assert!(place.everything() == before);
    lock.unlock().expect("it is ours");
    place.expect(0, &["publish", "policy.toml", "--to", "out/b", "--wait", "0"]);
}

#[test]
fn the_lock_of_a_killed_run_is_free() {
    let place = Place::new("");
    place.expect(0, &["publish", "policy.toml"]);
    let small = fs::read(place.path("data.csv")).expect("the extract");
    place.put("data.csv", people(60_000));
    let mut child = place.start(&["publish", "policy.toml", "--to", "out/large"]);
    let note = format!("process {},", child.id());
    let begun = Instant::now();
    while !fs::read_to_string(place.path("ledger/lock")).is_ok_and(|text| text.starts_with(&note)) {
        assert!(begun.elapsed() < Duration::from_secs(60), "it never gets the lock");
        std::thread::sleep(Duration::from_millis(1));
    }
    freeze(&child);
    place.put("data.csv", small);
    let text = place.expect(2, &["publish", "policy.toml", "--to", "out/b", "--wait", "0"]);
    assert!(text.contains(&note), "{text}");
    child.kill().expect("it is running");
    child.wait().expect("it ends");
    place.expect(0, &["publish", "policy.toml", "--to", "out/b", "--wait", "0"]);
    assert!(!place.path("out/large").exists());
    place.consistent();
}
