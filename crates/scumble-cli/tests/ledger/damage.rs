//! A ledger that was changed, cut, moved, or cannot be written to: it says so, and nothing more is
//! damaged.

use crate::place::{Place, sha256};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

/// A place with two releases.
fn published() -> Place {
    let place = Place::new("");
    place.expect(0, &["publish", "policy.toml", "--to", "out/a"]);
    place.expect(0, &["publish", "policy.toml", "--to", "out/b"]);
    place
}

const PUBLISH: [&str; 4] = ["publish", "policy.toml", "--to", "out/c"];
const WITHDRAW: [&str; 5] = ["ledger", "withdraw", "a", "--because", "of a test"];

/// Whoever publishes or withdraws is told one of these, and nothing is changed.
fn refuses(place: &Place, messages: &[&str]) {
    let before = place.everything();
    for arguments in
        [&PUBLISH[..], &WITHDRAW, &["publish", "policy.toml", "--to", "out/c", "--dry-run"]]
    {
        let text = place.expect(2, arguments);
        assert!(messages.iter().any(|message| text.contains(message)), "{arguments:?}: {text}");
    }
    let after = place.everything();
    let changed = |path: &&PathBuf| before.get(*path) != after.get(*path);
    let changed: BTreeSet<&PathBuf> = before.keys().chain(after.keys()).filter(changed).collect();
    assert!(changed.is_empty(), "{changed:?} was changed, when it said {messages:?}");
}

fn verdict(place: &Place, status: i32, message: &str) {
    let text = place.expect(status, &["ledger", "verify"]);
    assert!(text.contains(message), "{text}");
}

#[test]
fn an_entry_that_was_changed() {
    let place = published();
    let edit =
        "UPDATE entries SET body = replace(body, '\"rows\":150', '\"rows\":15') WHERE number = 2";
    assert!(place.database().execute_batch(edit).is_err(), "the triggers forbid it");
    place.tamper(&format!("DROP TRIGGER entries_stay; {edit}"));
    refuses(&place, &["the ledger `ledger` was changed: entry 2 is not the one"]);
    verdict(&place, 1, "entry 2 is not the one that was written");
}

#[test]
fn an_entry_that_was_removed_or_moved() {
    let place = published();
    assert!(
        place.database().execute_batch("DELETE FROM entries").is_err(),
        "the triggers forbid it"
    );
    place.tamper("DROP TRIGGER entries_remain; DELETE FROM entries WHERE number = 3");
    refuses(&place, &["was changed: entry 3 is not the one"]);
    verdict(&place, 1, "entry 3 is not the one");
    let place = published();
    place.tamper("DROP TRIGGER entries_stay; UPDATE entries SET number = -number WHERE number = 5");
    refuses(&place, &["was changed: entry 1 is not the one"]);
    let place = published();
    place.tamper(
        "DROP TRIGGER entries_stay; UPDATE entries SET hash = upper(hash) WHERE number = 4",
    );
    refuses(&place, &["was changed: entry 4 is not the one"]);
}

/// Without the key nobody writes an entry, not even one that says the truth.
#[test]
fn an_entry_that_was_written_without_the_key() {
    let place = published();
    let body =
        r#"{"entry":"withdrawn","release":2,"at":"2031-01-01T00:00:00Z","because":"of a test"}"#;
    let head: String = place
        .database()
        .query_row("SELECT hash FROM entries ORDER BY number DESC", [], |r| r.get(0))
        .expect("a last entry");
    for hash in [sha256(format!("{head}\n6\n{body}").as_bytes()), head] {
        place.tamper(&format!("INSERT INTO entries VALUES (6, '{body}', '{hash}')"));
        refuses(&place, &["was changed: entry 6 is not the one"]);
        verdict(&place, 1, "entry 6 is not the one that was written");
        place.tamper("DROP TRIGGER IF EXISTS entries_remain; DELETE FROM entries WHERE number = 6");
    }
    // All of them written anew, each with a hash that follows from the one before.
    place.tamper("DROP TRIGGER entries_stay");
    let mut before = String::new();
    for (number, entry) in (1..).zip(place.entries()) {
        let body = entry.to_string().replace("\"rows\":150", "\"rows\":15");
        let hash = sha256(format!("{before}\n{number}\n{body}").as_bytes());
        let values = format!("body = '{}', hash = '{hash}'", body.replace('\'', "''"));
        place.tamper(&format!("UPDATE entries SET {values} WHERE number = {number}"));
        before = hash;
    }
    fs::remove_file(place.path("ledger.head")).expect("the head");
    refuses(&place, &["was changed: entry 1 is not the one"]);
}

/// A chain whose end was cut off still holds. The head that is noted beside the key tells, and so
/// does a hash that was noted elsewhere.
#[test]
fn a_ledger_whose_end_was_cut_off() {
    let place = published();
    let head = |place: &Place| {
        place.answer(0, &["ledger", "verify"])["head"].as_str().expect("a hash").to_owned()
    };
    let noted = head(&place);
    place.expect(0, &["ledger", "verify", "--head", &noted]);
    place.tamper("DROP TRIGGER entries_remain; DELETE FROM entries WHERE number > 3");
    refuses(&place, &["was changed: entry 5, which `ledger.head` remembers, is missing"]);
    verdict(&place, 1, "the end was cut off, or an older copy was put back");
    // Whoever also removes the head is told that it was not there, once.
    fs::remove_file(place.path("ledger.head")).expect("the head");
    verdict(&place, 0, "`ledger.head` was not there");
    assert!(!place.expect(0, &["ledger", "list"]).contains("was not there"));
    assert_ne!(head(&place), noted);
    let text = place.expect(1, &["ledger", "verify", "--head", &noted]);
    assert!(text.contains("the ledger was cut short or written anew"), "{text}");
    // Files of entries that are gone wait for the database that knows them.
    assert!(place.names("ledger/kept").len() >= 3, "{:?}", place.names("ledger/kept"));
    place.expect(0, &PUBLISH);
    place.expect(1, &["ledger", "verify", "--head", &noted]);
    place.expect(0, &["ledger", "verify", "--head", &head(&place)]);
}

/// A head that is kept elsewhere also holds against whoever can change everything beside the
/// ledger.
#[test]
fn a_head_that_is_kept_elsewhere() {
    let place = Place::new("head = \"elsewhere/head\"");
    place.expect(0, &["publish", "policy.toml", "--to", "out/a"]);
    let old = place.everything();
    place.expect(0, &["publish", "policy.toml", "--to", "out/b"]);
    assert!(!place.path("ledger.head").exists());
    for (path, bytes) in old.iter().filter(|(path, _)| !path.ends_with("elsewhere/head")) {
        fs::write(path, bytes).expect("it can be put back");
    }
    for arguments in [&PUBLISH[..], &["ledger", "list", "--head-file", "elsewhere/head"]] {
        let text = place.expect(2, arguments);
        let message = "was changed: entry 5, which `elsewhere/head` remembers, is missing";
        assert!(text.contains(message) && text.contains("an older copy was put back"), "{text}");
    }
    place.put("elsewhere/head", "something else");
    assert!(
        place.expect(2, &PUBLISH).contains("`elsewhere/head` does not hold the head of a ledger")
    );
}

#[test]
fn an_older_copy_of_the_database_costs_no_files() {
    let place = Place::new("history.meant = [\"new-people\"]");
    place.expect(0, &["publish", "policy.toml", "--to", "out/a"]);
    let old = fs::read(place.path("ledger/ledger.sqlite")).expect("the database");
    // Other people, so that other files are kept.
    place.put(
        "data.csv",
        fs::read_to_string(place.path("data.csv")).expect("the extract").replace('P', "Q"),
    );
    place.expect(0, &["publish", "policy.toml", "--to", "out/b"]);
    let new = fs::read(place.path("ledger/ledger.sqlite")).expect("the database");
    place.put("ledger/ledger.sqlite", old);
    fs::remove_file(place.path("ledger.head")).expect("the head");
    place.expect(0, &["ledger", "list"]);
    place.put("ledger/ledger.sqlite", new);
    place.expect(0, &["ledger", "verify"]);
    assert_eq!(place.consistent(), ["published"; 2]);
}

#[test]
fn an_entry_of_a_newer_scumble() {
    let place = published();
    let (number, head) = place
        .database()
        .query_row("SELECT number, hash FROM entries ORDER BY number DESC", [], |r| {
            Ok((r.get::<_, i64>(0)?, r.get::<_, String>(1)?))
        })
        .expect("a last entry");
    let body = r#"{"entry":"forgiven","at":"2031-01-01T00:00:00Z"}"#;
    let key = scumble_publisher::ledger::Key::open(&place.path("ledger.key"), "").expect("the key");
    let hash = key.link(&head, number as u64 + 1, body);
    place.tamper(&format!("INSERT INTO entries VALUES ({}, '{body}', '{hash}')", number + 1));
    refuses(&place, &["cannot be understood"]);
    verdict(&place, 2, "hint: use a newer scumble");
}

#[test]
fn a_database_that_was_cut() {
    let place = published();
    let whole = fs::read(place.path("ledger/ledger.sqlite")).expect("the database");
    let n = whole.len();
    for length in [0, 1, 10, 50, 100, 511, 1_000, 4_095, 4_096, n / 2, n - 4_096, n - 1] {
        place.put("ledger/ledger.sqlite", &whole[..length]);
        refuses(&place, &["is damaged", "was changed", "is gone, and its key"]);
        assert!(place.run(&["ledger", "verify"]).status.code() != Some(0), "{length} of {n} bytes");
    }
    fs::remove_file(place.path("ledger/ledger.sqlite")).expect("it is there");
    refuses(&place, &["is damaged: its entries are gone"]);
    place.put(
        "ledger/ledger.sqlite",
        "something else entirely, and long enough to be looked at".repeat(100),
    );
    refuses(&place, &["is damaged: its database cannot be read"]);
    let mut spoiled = whole.clone();
    spoiled[4_096..].iter_mut().step_by(7).for_each(|byte| *byte ^= 0x55);
    place.put("ledger/ledger.sqlite", spoiled);
    refuses(&place, &["is damaged", "was changed", "cannot be used"]);
    place.put("ledger/ledger.sqlite", whole);
    place.expect(0, &["ledger", "verify"]);
    assert_eq!(place.consistent(), ["published"; 2]);
}

/// Also one that keeps no file: it may hold what was spent. Starting anew is done on purpose or not
/// at all.
#[test]
fn a_ledger_that_is_gone() {
    let place = Place::new("");
    place.expect(2, &["publish", "policy.toml", "--to", "data.csv/release"]);
    assert!(place.names("ledger/kept").is_empty() && !place.entries().is_empty());
    place.put("ledger/ledger.sqlite", "");
    let gone = &["the ledger `ledger` is gone, and its key `ledger.key` is still there"];
    refuses(&place, gone);
    fs::remove_file(place.path("ledger/ledger.sqlite")).expect("it is there");
    refuses(&place, gone);
    let place = published();
    fs::remove_dir_all(place.path("ledger")).expect("it is there");
    refuses(&place, gone);
    verdict(&place, 2, "to begin a new one on purpose, move `ledger.key` and `ledger.head` away");
    fs::rename(place.path("ledger.key"), place.path("old.key")).expect("it can be moved");
    refuses(&place, &["the ledger `ledger` is gone, and its head `ledger.head` is still there"]);
    fs::rename(place.path("ledger.head"), place.path("old.head")).expect("it can be moved");
    place.expect(0, &PUBLISH);
}

#[test]
fn a_kept_file_that_was_changed_or_is_gone() {
    let place = published();
    for name in place.names("ledger/kept") {
        let path = place.path("ledger/kept").join(&name);
        let whole = fs::read(&path).expect("a kept file");
        let publishing = |message: &str| {
            let before = place.everything();
            let text = place.expect(2, &PUBLISH);
            assert!(text.contains(message), "{text}");
            assert!(place.everything() == before);
            verdict(&place, 1, message);
        };
        let mut other = whole.clone();
        other[whole.len() / 2] ^= 1;
        // What is only read where a column is protected later does not keep anybody from
        // publishing.
        let unread = place.entries().iter().any(|entry| {
            let kept = &entry["kept"];
            [&kept["open"], &kept["open_members"]]
                .iter()
                .any(|hash| hash.as_str().is_some_and(|hash| name.starts_with(hash)))
        });
        let told = |message: &str| match unread {
            true => verdict(&place, 1, message),
            false => publishing(message),
        };
        fs::write(&path, other).expect("it can be changed");
        told("was changed");
        fs::write(&path, &whole[..whole.len() / 2]).expect("it can be cut");
        told("was changed");
        fs::remove_file(&path).expect("it can be removed");
        told("cannot be read: no such file");
        fs::write(&path, whole).expect("it can be restored");
    }
    place.expect(0, &PUBLISH);
}

#[test]
fn a_release_that_was_changed_after_publication() {
    let place = published();
    let data = fs::read_to_string(place.path("out/a/data.csv")).expect("the data");
    place.put("out/a/data.csv", data.replace("ill1", "ill2"));
    verdict(&place, 1, "`a` was changed after it was published");
    place.put("out/a/data.csv", data);
    place.expect(0, &["ledger", "verify"]);
    let manifest = fs::read_to_string(place.path("out/a/manifest.json")).expect("the manifest");
    place.put("out/a/manifest.json", format!("{manifest} "));
    verdict(&place, 1, "`a` was changed after it was published");
    place.put("out/a/manifest.json", manifest);
    fs::rename(place.path("out/b"), place.path("elsewhere")).expect("it can be moved");
    verdict(&place, 0, "`b` is no longer where it was written");
}

/// A replacement that never came about does not hide what it would have replaced.
#[test]
fn data_that_were_nearly_replaced() {
    let place = published();
    // The folder cannot be moved away while its own parent forbids it; root may do anything, so the
    // disk must refuse.
    let script = format!(
        "ulimit -f 0; trap '' XFSZ; exec {} publish policy.toml --to out/a --replace",
        crate::place::SCUMBLE
    );
    let output = Command::new("bash")
        .current_dir(place.path(""))
        .args(["-c", &script])
        .output()
        .expect("bash is there");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(place.answer(0, &["ledger", "verify"])["in_place"], 2);
}

#[test]
fn the_key() {
    let place = published();
    let key = place.path("ledger.key");
    let text = fs::read_to_string(&key).expect("the key");
    let permit =
        |mode| fs::set_permissions(&key, fs::Permissions::from_mode(mode)).expect("a mode");
    assert_eq!(fs::metadata(&key).expect("the key").permissions().mode() & 0o777, 0o600);
    for mode in [0o640, 0o604, 0o620] {
        permit(mode);
        refuses(&place, &["others may read the key"]);
    }
    permit(0o600);
    let other = text.lines().last().expect("a second line").chars().rev().collect::<String>();
    place.put("ledger.key", format!("{}\n{other}\n", text.lines().next().expect("a first line")));
    refuses(&place, &["the key does not belong to the ledger"]);
    for wrong in ["", "my password\n", &text[..text.len() - 10]] {
        place.put("ledger.key", wrong);
        refuses(&place, &["is not the key of a ledger"]);
    }
    fs::remove_file(&key).expect("it can be removed");
    refuses(&place, &["cannot be read: no such file"]);
    assert!(!key.exists(), "no other key takes its place");
    place.put("moved.key", &text);
    fs::set_permissions(place.path("moved.key"), fs::Permissions::from_mode(0o600))
        .expect("a mode");
    place.expect(0, &[&PUBLISH[..], &["--key", "moved.key"]].concat());
}

/// A run that was killed while it made a key leaves nothing that hinders or stays. A key belongs to
/// one ledger.
#[test]
fn a_key_in_the_making() {
    let place = Place::new("");
    for name in [".ledger.key.partial-1", ".ledger.key.partial-99999"] {
        place.put(name, "scumble ledger key: half");
    }
    place.expect(0, &["publish", "policy.toml"]);
    assert_eq!(place.consistent(), ["published"]);
    let other =
        ["publish", "policy.toml", "--to", "out/b", "--ledger", "other", "--key", "ledger.key"];
    assert!(
        place
            .expect(2, &other)
            .contains("the ledger `other` is gone, and its key `ledger.key` is still there")
    );
    assert!(!place.path("other").exists());
    // Killed after the first entry and before the key had its name.
    fs::rename(place.path("ledger.key"), place.path(".ledger.key.partial-7"))
        .expect("it can be renamed");
    assert_eq!(place.consistent(), ["published"]);
    assert!(place.path("ledger.key").exists());
}

#[test]
fn a_newer_version_and_a_stranger() {
    let place = published();
    place.tamper("PRAGMA user_version = 99");
    refuses(&place, &["has version 99, and this scumble knows 3"]);
    verdict(&place, 2, "hint: use a newer scumble");
    place.tamper("PRAGMA user_version = 3; PRAGMA application_id = 7");
    refuses(&place, &["ledger.sqlite` is not a ledger"]);
    let place = Place::new("");
    fs::create_dir(place.path("ledger")).expect("a folder");
    place.tamper("CREATE TABLE accounts (money INTEGER)");
    let before = place.everything();
    let text = place.expect(2, &PUBLISH);
    assert!(text.contains("ledger.sqlite` is not a ledger"), "{text}");
    assert!(place.everything() == before);
}

/// Its entries are chained without a key: nobody knows whether they were changed.
#[test]
fn an_older_version() {
    let place = published();
    place.tamper("PRAGMA user_version = 2");
    refuses(&place, &["has version 2, and this scumble knows 3"]);
    verdict(&place, 2, "record its releases there with `scumble ledger add`");
}

#[test]
fn an_address_with_a_password() {
    let place = Place::new("ledger = \"postgres://steward:hunter2@db.example/releases\"");
    let text = place.expect(2, &["publish", "policy.toml"]);
    assert!(text.contains("`ledger` holds a password") && !text.contains("hunter2"), "{text}");
    let place = Place::new("");
    for address in [
        "postgres://steward:hunter2@127.0.0.1:1/releases",
        "postgresql://127.0.0.1:1/releases?password=hunter2",
    ] {
        for arguments in [
            &["publish", "policy.toml", "--ledger", address][..],
            &["ledger", "list", "--ledger", address],
        ] {
            let text = place.expect(2, arguments);
            assert!(text.contains("holds a password") && !text.contains("hunter2"), "{text}");
        }
    }
    assert_eq!(place.everything().len(), 2);
}

/// A small disk in memory, gone with the value. Only root may have one.
struct Disk(PathBuf);

impl Disk {
    fn at(path: PathBuf, size: &str) -> Option<Disk> {
        fs::create_dir(&path).expect("a folder");
        let options = format!("size={size}");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &options, "tmpfs"])
            .arg(&path)
            .output();
        let disk = mounted.is_ok_and(|o| o.status.success()).then_some(Disk(path));
        if disk.is_none() {
            eprintln!("skipped: no disk can be mounted here");
        }
        disk
    }

    fn read_only(&self, so: bool) {
        let options = if so { "remount,ro" } else { "remount,rw" };
        assert!(
            Command::new("mount")
                .args(["-o", options])
                .arg(&self.0)
                .status()
                .is_ok_and(|s| s.success())
        );
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_disk_that_is_full() {
    let place = Place::new("");
    let Some(_disk) = Disk::at(place.path("ledger"), "400k") else { return };
    let (mut failed, mut published) = (0, 0);
    for free in (0..=60).step_by(4) {
        // All but so many KiB is taken.
        let filler = place.path("ledger/filler");
        let mut taken = Vec::new();
        while fs::write(&filler, &taken).is_ok() && taken.len() < 1 << 20 {
            taken.resize(taken.len() + 4_096, 0);
        }
        let fits = fs::metadata(&filler).expect("the filler").len() as usize;
        fs::write(&filler, vec![0; fits.saturating_sub(free * 1_024)]).expect("it is smaller");
        let to = format!("out/{free}");
        let output = place.run(&["publish", "policy.toml", "--to", &to]);
        let text = crate::place::printed(&output);
        match output.status.code() {
            Some(0) => published += 1,
            Some(2) => {
                assert!(text.contains("the disk is full"), "{free} KiB: {text}");
                failed += 1;
            }
            other => panic!("{other:?}: {text}"),
        }
        fs::remove_file(&filler).expect("the filler");
        place.consistent();
    }
    assert!(failed > 2 && published > 0, "{failed} failed, {published} did not");
    place.expect(0, &["publish", "policy.toml"]);
    place.expect(0, &["ledger", "verify"]);
}

#[test]
fn a_disk_that_is_read_only() {
    let place = Place::new("ledger = \"disk/ledger\"");
    let Some(disk) = Disk::at(place.path("disk"), "1m") else { return };
    disk.read_only(true);
    let text = place.expect(2, &["publish", "policy.toml"]);
    assert!(text.contains("the ledger `disk/ledger` cannot be written: "), "{text}");
    disk.read_only(false);
    place.expect(0, &["publish", "policy.toml"]);
    disk.read_only(true);
    let before = place.everything();
    let text = place.expect(2, &PUBLISH);
    assert!(text.contains("the ledger `disk/ledger` cannot be "), "{text}");
    // It can still be looked at.
    for arguments in
        [&["ledger", "list"][..], &["ledger", "verify"], &["ledger", "show", "release"]]
    {
        place.expect(0, &[arguments, &["--policy", "policy.toml"]].concat());
    }
    place.expect(0, &["publish", "policy.toml", "--dry-run"]);
    assert!(place.everything() == before);
}
