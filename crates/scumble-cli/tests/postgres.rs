//! A ledger that a team shares, on a real server. `tests/postgres/run` starts one.

#[path = "ledger/place.rs"]
#[allow(dead_code)]
mod place;

use place::{Place, Random, freeze, pair, people, printed, seen};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// A place with a database of its own; `None`, and a word about it, without a server.
fn place() -> Option<Place> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let Ok(server) = std::env::var("SCUMBLE_TEST_POSTGRES") else {
        eprintln!(
            "skipped: SCUMBLE_TEST_POSTGRES names no server, as in postgres://user@127.0.0.1:5432"
        );
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
    assert_eq!(shown["shares"][0]["people"], 150, "{shown}");
    let verified = place.answer(0, &ledger(&["verify"]));
    assert_eq!(
        (&verified["in_place"], &verified["sound"]),
        (&2.into(), &true.into()),
        "{verified}"
    );
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
        // The server may take a moment to see that it is gone. Who only looks does not wait for
        // that, who writes does.
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
    refuses(&place, "is gone, and its key");
    server.batch_execute("INSERT INTO scumble_entries TABLE copy").expect("it is done");
    place.expect(0, &ledger(&["verify"]));
    server
        .batch_execute(
            "CREATE TABLE files AS TABLE scumble_kept; UPDATE scumble_kept SET bytes = 'x'",
        )
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
    refuses(&place, "has version 99, and this scumble knows 3");
    server.batch_execute("UPDATE scumble_ledger SET version = 2").expect("it is done");
    refuses(&place, "has version 2, and this scumble knows 3");
    server.batch_execute("UPDATE scumble_ledger SET version = 3").expect("it is done");
    place.expect(0, &PUBLISH);
    assert_eq!(place.consistent(), ["published"; 3]);
}

#[test]
fn a_key_of_one_self() {
    let Some(place) = published() else { return };
    let text = fs::read_to_string(place.path("ledger.key")).expect("the key");
    fs::remove_file(place.path("ledger.key")).expect("it is there");
    refuses(&place, "cannot be read: no such file");
    assert!(!place.path("ledger.key").exists() && text.lines().count() == 2);
}

/// The library that stops or kills a process at a call; `None`, and a word about it, without a
/// compiler.
fn disturber(place: &Place) -> Option<PathBuf> {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/attacks/disk.c");
    let library = place.path("disk.so");
    let mut compiler = Command::new("gcc");
    compiler.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).args([
        source,
        "-ldl",
        "-lpthread",
    ]);
    if !compiler.status().is_ok_and(|status| status.success()) {
        eprintln!("skipped: gcc is not here");
        return None;
    }
    Some(library)
}

/// Publishes to `out/c`, and does something at the call after `skip` such calls.
fn disturbed(place: &Place, library: &Path, how: &str, call: &str, skip: &str) -> Child {
    let mut command = place.command(&PUBLISH);
    command
        .env("LD_PRELOAD", library)
        .env("DISK_HOW", how)
        .env("DISK_CALL", call)
        .env("DISK_SKIP", skip);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts")
}

fn wait_until_stopped(child: &Child) {
    let begun = Instant::now();
    let stat = format!("/proc/{}/stat", child.id());
    while !fs::read_to_string(&stat)
        .is_ok_and(|s| s.rsplit(") ").next().is_some_and(|s| s.starts_with('T')))
    {
        assert!(begun.elapsed() < Duration::from_secs(120), "it does not stop");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn standing_of_the_last(place: &Place) -> String {
    let listed = place.answer(0, &ledger(&["list"]));
    let last = listed["releases"].as_array().and_then(|r| r.last()).expect("a release");
    last["standing"].as_str().expect("a word").to_owned()
}

/// A publisher whose session ends is not dead. Before its release has its place it stops;
/// afterwards it confirms, whatever others wrote meanwhile.
#[test]
fn a_session_that_is_lost() {
    // Where it is stopped; its exit status; how the release stands afterwards.
    for (call, status, standing) in
        [("open:/data.csv", 2, "abandoned"), ("rename:/c", 0, "published")]
    {
        let Some(place) = published() else { return };
        let Some(library) = disturber(&place) else { return };
        let child = disturbed(&place, &library, "stop", call, "0");
        wait_until_stopped(&child);
        let others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                      WHERE datname = current_database() AND pid <> pg_backend_pid()";
        place.server().query(others, &[]).expect("it is done");
        assert_eq!(
            standing_of_the_last(&place),
            "announced",
            "{call}: nobody knows that it will not be there"
        );
        // Somebody else publishes meanwhile, and is judged against what is announced.
        let output =
            place.run(&["publish", "policy.toml", "--to", "out/d", "--json", "--wait", "5"]);
        assert!(seen(&output).contains("c"), "{}", printed(&output));
        let going_on = Command::new("kill").args(["-CONT", &child.id().to_string()]).status();
        assert!(going_on.is_ok_and(|status| status.success()));
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(status), "{call}: {}", printed(&output));
        let standings = place.consistent();
        assert_eq!(standings[2], standing, "{call}: {standings:?}");
        assert_eq!(place.path("out/c").exists(), status == 0);
        place.expect(0, &ledger(&["verify"]));
    }
}

/// From where nothing of a release can be seen, nothing is known of it, whatever the machines are
/// called.
#[test]
fn two_machines_of_one_name() {
    for (call, skip, standing) in
        [("open:/data.csv", "0", "abandoned"), ("fsync:/out", "1", "published")]
    {
        let Some(place) = published() else { return };
        let Some(library) = disturber(&place) else { return };
        let output =
            disturbed(&place, &library, "kill", call, skip).wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), None, "{}", printed(&output));
        fs::rename(place.path("out"), place.path("disk-of-the-other")).expect("it can be moved");
        // Whoever writes waits until the server has seen that the run is gone.
        place.expect(0, &["publish", "policy.toml", "--to", "elsewhere/d"]);
        assert_eq!(
            place.answer(0, &ledger(&["list"]))["releases"][2]["standing"],
            "announced",
            "{call}"
        );
        fs::rename(place.path("disk-of-the-other"), place.path("out")).expect("it can be moved");
        assert_eq!(place.consistent()[2], standing, "{call}");
    }
}

/// The head in another database tells that a ledger was cut off or began anew, also where the file
/// beside the key went with it.
#[test]
fn the_head_in_another_database() {
    let (Some(heads), Ok(server)) = (place(), std::env::var("SCUMBLE_TEST_POSTGRES")) else {
        return;
    };
    let mut elsewhere = heads.server();
    let database: String =
        elsewhere.query_one("SELECT current_database()", &[]).expect("a name").get(0);
    let place = Place::new(&format!("head = \"{server}/{database}\""));
    place.expect(0, &["publish", "policy.toml", "--to", "out/a"]);
    let copy = |from: &str, to: &str| {
        let copied =
            Command::new("cp").arg("-rT").arg(place.path(from)).arg(place.path(to)).status();
        assert!(copied.is_ok_and(|status| status.success()), "{from} is copied");
    };
    let noted = |client: &mut postgres::Client| -> Vec<(i64, String)> {
        let rows = client.query("SELECT number, hash FROM scumble_heads", &[]).expect("heads");
        rows.iter().map(|row| (row.get(0), row.get(1))).collect()
    };
    let first = noted(&mut elsewhere);
    let head = place.answer(0, &ledger(&["verify"]))["head"].as_str().expect("a hash").to_owned();
    assert_eq!(first, [(3, head)], "the last entry");
    assert!(place.path("ledger.head").exists(), "the file stays");
    copy("ledger", "old");
    copy("ledger.head", "old.head");
    place.expect(0, &["publish", "policy.toml", "--to", "out/b"]);
    let second = noted(&mut elsewhere);
    assert_eq!(second[0].0, 5);
    // Put back from a copy, with the file beside the key.
    copy("ledger", "new");
    copy("ledger.head", "new.head");
    fs::remove_dir_all(place.path("ledger")).expect("it is there");
    copy("old", "ledger");
    copy("old.head", "ledger.head");
    let told = place.expect(2, &PUBLISH);
    assert!(told.contains("entry 5, which the table `scumble_heads` of"), "{told}");
    assert!(told.contains("the end was cut off") && !place.path("out/c").exists(), "{told}");
    assert_eq!(noted(&mut elsewhere), second, "what it remembers stays");
    // A new ledger of the same name.
    for name in ["ledger", "ledger.head", "ledger.key"] {
        let path = place.path(name);
        let gone = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        gone.expect("it is there");
    }
    let told = place.expect(2, &PUBLISH);
    assert!(told.contains("is gone, and its head in the table `scumble_heads`"), "{told}");
    // Nobody moves it back by mistake.
    let back = elsewhere.batch_execute("UPDATE scumble_heads SET number = 3");
    assert!(back.is_err(), "a head goes on");
    // A server that is not there is an error before anything is written.
    place.put("policy.toml", {
        let text = fs::read_to_string(place.path("policy.toml")).expect("the policy");
        text.replace(&format!("{server}/{database}"), &format!("{server}/nowhere"))
    });
    let told = place.expect(2, &PUBLISH);
    assert!(
        told.contains("the head of the ledger") && told.contains("cannot be reached"),
        "{told}"
    );
}

/// A publisher that lives, seen from another machine of the same name, where its folder is not: it
/// is not taken for dead, whatever became of its session, and goes on as far as it may.
#[test]
fn a_live_publisher_of_another_machine() {
    for (call, lost, status, standing) in [
        ("open:/data.csv", true, 2, "abandoned"),
        ("open:/data.csv", false, 0, "published"),
        ("rename:/c", true, 0, "published"),
        ("rename:/c", false, 0, "published"),
    ] {
        let Some(here) = published() else { return };
        let Some(library) = disturber(&here) else { return };
        let address: String = {
            let text = fs::read_to_string(here.path("policy.toml")).expect("the policy");
            text.split('"').nth(1).expect("an address").to_owned()
        };
        let there = Place::shared(&address);
        for name in ["ledger.key", "ledger.head"] {
            fs::copy(here.path(name), there.path(name)).expect("it is there");
        }
        let child = disturbed(&here, &library, "stop", call, "0");
        wait_until_stopped(&child);
        if lost {
            let others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                          WHERE datname = current_database() AND pid <> pg_backend_pid()";
            here.server().query(others, &[]).expect("it is done");
            // Somebody else publishes meanwhile, on the other machine, and is judged against it.
            let arguments = ["publish", "policy.toml", "--to", "out/d", "--json", "--wait", "5"];
            let output = there.run(&arguments);
            assert!(seen(&output).contains("c"), "{call}: {}", printed(&output));
        }
        assert_eq!(
            there.answer(0, &ledger(&["list"]))["releases"][2]["standing"],
            "announced",
            "{call}, lost: {lost}"
        );
        let going_on = Command::new("kill").args(["-CONT", &child.id().to_string()]).status();
        assert!(going_on.is_ok_and(|status| status.success()));
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(status), "{call}, {lost}: {}", printed(&output));
        assert_eq!(here.path("out/c").exists(), status == 0, "{call}, lost: {lost}");
        let listed = here.answer(0, &ledger(&["list"]));
        assert_eq!(listed["releases"][2]["standing"], standing, "{call}, lost: {lost}: {listed}");
        here.expect(0, &ledger(&["verify"]));
    }
}
