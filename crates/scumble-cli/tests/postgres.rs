//! A ledger that a team shares, on a real server. `tests/postgres/run` starts one.

#[path = "ledger/place.rs"]
#[allow(dead_code)]
mod place;

use place::{Place, Random, freeze, pair, people, printed, seen};
use std::fs;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// A place with a database of its own; `None`, and a word about it, without a server.
fn place() -> Option<Place> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let Ok(server) = std::env::var("SCUMBLE_TEST_POSTGRES") else {
        eprintln!("skipped: SCUMBLE_TEST_POSTGRES names no server, as in postgres://user@127.0.0.1:5432");
        return None;
    };
    let name = format!("test_{}_{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
    let mut client = Place::shared(&format!("{server}/postgres")).server();
    client.batch_execute(&format!("CREATE DATABASE {name}")).expect("a database");
    Some(Place::shared(&format!("{server}/{name}")))
}

/// A command about the policy's ledger.
fn ledger<'a>(command: &[&'a str]) -> Vec<&'a str> {
    [&["ledger"], command, &["--policy", "policy.toml"]].concat()
}

const PUBLISH: [&str; 4] = ["publish", "policy.toml", "--to", "out/c"];

/// Whoever publishes or withdraws is told this, and no entry is made.
fn refuses(place: &Place, message: &str) {
    for arguments in [PUBLISH.to_vec(), ledger(&["withdraw", "a", "--because", "of a test"])] {
        let text = place.expect(2, &arguments);
        assert!(text.contains(message), "{arguments:?}: {text}");
    }
    assert!(!place.path("out/c").exists());
}

fn published() -> Option<Place> {
    let place = place()?;
    place.expect(0, &["publish", "policy.toml", "--to", "out/a"]);
    place.expect(0, &["publish", "policy.toml", "--to", "out/b"]);
    Some(place)
}

#[test]
fn one_after_the_other() {
    let Some(place) = place() else { return };
    let text = place.expect(2, &ledger(&["list"]));
    assert!(text.contains("there is no ledger at"), "{text}");
    place.expect(0, &["publish", "policy.toml", "--to", "out/a"]);
    let output = place.run(&["publish", "policy.toml", "--to", "out/b", "--json"]);
    assert!(seen(&output).contains("a"), "{}", printed(&output));
    assert_eq!(place.consistent(), ["published"; 2]);
    let shown = place.answer(0, &ledger(&["show", "b"]));
    assert_eq!(shown["shares"][0][1], 150, "{shown}");
    let verified = place.answer(0, &ledger(&["verify"]));
    assert_eq!((&verified["in_place"], &verified["sound"]), (&2.into(), &true.into()), "{verified}");
    let head = verified["head"].as_str().expect("a hash").to_owned();
    place.expect(0, &ledger(&["withdraw", "a", "--because", "of a test"]));
    place.expect(0, &ledger(&["verify", "--head", &head]));
    place.expect(1, &ledger(&["verify", "--head", &"0".repeat(64)]));
    // Nothing of it is beside the policy but the key.
    assert!(!place.path("ledger").exists() && place.path("ledger.key").exists());
}

#[test]
fn the_password() {
    let Some(place) = place() else { return };
    let publish = |name: &str, password: &str| {
        let mut command = place.command(&PUBLISH);
        command.env_remove("PGPASSWORD").env(name, password).output().expect("the command starts")
    };
    let output = publish("PGPASSWORD", "wrong");
    let text = printed(&output);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("cannot be reached: password authentication failed"), "{text}");
    assert_eq!(place.everything().len(), 2, "nothing was made");
    let password = std::env::var("PGPASSWORD").expect("PGPASSWORD");
    place.put("passwords", format!("# ours\nelsewhere:*:*:*:no\n*:*:*:*:{password}\n"));
    let file = place.path("passwords").display().to_string();
    let output = publish("PGPASSFILE", &file);
    assert_eq!(output.status.code(), Some(0), "{}", printed(&output));
}

#[test]
fn two_at_once() {
    // The first pair also makes the tables together.
    let Some(place) = place() else { return };
    for i in 0..6 {
        pair(&place, [&format!("a{i}"), &format!("b{i}")]);
    }
    assert_eq!(place.consistent(), ["published"; 12]);
    place.expect(0, &ledger(&["verify"]));
}

#[test]
fn the_lock_of_a_killed_run_is_free() {
    let Some(place) = published() else { return };
    let small = fs::read(place.path("data.csv")).expect("the extract");
    place.put("data.csv", people(60_000));
    let mut child = place.start(&["publish", "policy.toml", "--to", "out/large"]);
    let (mut server, begun) = (place.server(), Instant::now());
    let holds = "SELECT EXISTS (SELECT FROM pg_locks l JOIN pg_database d ON d.oid = l.database
                 WHERE l.locktype = 'advisory' AND l.granted AND d.datname = current_database())";
    while !server.query_one(holds, &[]).expect("an answer").get::<_, bool>(0) {
        assert!(begun.elapsed() < Duration::from_secs(60), "it never gets the lock");
        std::thread::sleep(Duration::from_millis(1));
    }
    freeze(&child);
    place.put("data.csv", small);
    let text = place.expect(2, &[&PUBLISH[..], &["--wait", "0"]].concat());
    let holder = format!("(scumble, process {} on ", child.id());
    assert!(text.contains("somebody else is publishing") && text.contains(&holder), "{text}");
    place.expect(0, &ledger(&["list"]));
    child.kill().expect("it is running");
    child.wait().expect("it ends");
    place.expect(0, &[&PUBLISH[..], &["--wait", "5"]].concat());
    assert!(!place.path("out/large").exists());
    place.consistent();
}

#[test]
fn killed_at_any_moment() {
    let Some(place) = published() else { return };
    let begun = Instant::now();
    place.expect(0, &PUBLISH);
    let (typical, mut random) = (begun.elapsed(), Random(4));
    for i in 0..30 {
        let mut child = place.start(&["publish", "policy.toml", "--to", &format!("out/{i}")]);
        std::thread::sleep(typical * (300 + random.below(850)) as u32 / 1_000);
        let _ = child.kill();
        child.wait().expect("it ends");
        // The server may take a moment to see that it is gone. Who only looks does not wait for that, who writes does.
        place.expect(0, &["publish", "policy.toml", "--to", "out/c", "--replace"]);
        place.consistent();
    }
    place.expect(0, &ledger(&["verify"]));
}

#[test]
fn what_was_changed_is_found() {
    let Some(place) = published() else { return };
    let mut server = place.server();
    let edit = "UPDATE scumble_entries SET body = replace(body, '\"rows\":150', '\"rows\":15') WHERE number = 2";
    for forbidden in [edit, "DELETE FROM scumble_entries", "TRUNCATE scumble_entries"] {
        assert!(server.batch_execute(forbidden).is_err(), "the triggers forbid it");
    }
    let disable = "ALTER TABLE scumble_entries DISABLE TRIGGER ALL";
    server
        .batch_execute(&format!("{disable}; CREATE TABLE copy AS TABLE scumble_entries; {edit}"))
        .expect("it is done");
    refuses(&place, "was changed: entry 2 is not the one");
    let text = place.expect(1, &ledger(&["verify"]));
    assert!(text.contains("entry 2 is not the one that was written"), "{text}");
    server.batch_execute("TRUNCATE scumble_entries").expect("it is done");
    refuses(&place, "is damaged: its entries are gone");
    server.batch_execute("INSERT INTO scumble_entries TABLE copy").expect("it is done");
    place.expect(0, &ledger(&["verify"]));
    server
        .batch_execute("CREATE TABLE files AS TABLE scumble_kept; UPDATE scumble_kept SET bytes = 'x'")
        .expect("it is done");
    assert!(place.expect(2, &PUBLISH).contains("was changed"));
    assert!(place.expect(1, &ledger(&["verify"])).contains("was changed"));
    server.batch_execute("TRUNCATE scumble_kept").expect("it is done");
    assert!(place.expect(2, &PUBLISH).contains("is missing"));
    server.batch_execute("INSERT INTO scumble_kept TABLE files").expect("it is done");
    place.expect(0, &PUBLISH);
    assert_eq!(place.consistent(), ["published"; 3]);
}

#[test]
fn versions() {
    let Some(place) = published() else { return };
    let mut server = place.server();
    server.batch_execute("UPDATE scumble_ledger SET version = 99").expect("it is done");
    refuses(&place, "has version 99, and this scumble knows 2");
    // As version 1 made it: entries without triggers.
    let older = "DROP FUNCTION scumble_stay CASCADE; UPDATE scumble_ledger SET version = 1";
    server.batch_execute(older).expect("it is done");
    place.expect(0, &PUBLISH);
    let copied: i64 = server.query_one("SELECT count(*) FROM scumble_entries_version_1", &[]).expect("a copy").get(0);
    assert_eq!(copied, 5);
    assert!(server.batch_execute("DELETE FROM scumble_entries").is_err(), "the triggers are there");
    assert_eq!(place.consistent(), ["published"; 3]);
    place.expect(0, &ledger(&["verify"]));
}

#[test]
fn a_key_of_one_self() {
    let Some(place) = published() else { return };
    let text = fs::read_to_string(place.path("ledger.key")).expect("the key");
    fs::remove_file(place.path("ledger.key")).expect("it is there");
    refuses(&place, "cannot be read: no such file");
    assert!(!place.path("ledger.key").exists() && text.lines().count() == 2);
}
