//! The chain of entries, the key, and the files that are kept.

use super::files::{Counts, Groups, Members, read_places, write_places};
use super::*;
use proptest::prelude::*;
use proptest::sample::Index;
use scumble::policy::HistoryPolicy;
use scumble::table::Role;
use std::os::unix::fs::PermissionsExt;
use tempfile::TempDir;

const WRITE: Access = Access::Write { wait: Duration::ZERO, make: true };

fn scratch() -> (TempDir, Whereabouts) {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let place = Whereabouts::new(folder.path(), "ledger", None, None);
    (folder, place)
}

fn open(place: &Whereabouts) -> Ledger {
    Ledger::open(place, WRITE).expect("it opens").expect("it is there")
}

fn described(id: &str, kept: Kept) -> Described {
    Described {
        at: now(),
        id: id.into(),
        name: id.into(),
        place: Place { machine: "elsewhere".into(), folder: "/releases".into() },
        publisher: None,
        recipients: Vec::new(),
        policy: None,
        method: "mondrian".into(),
        rows: 2,
        suppressed: 0,
        attributes: vec!["illness".into()],
        shown: Vec::new(),
        open: None,
        kept,
        models: Vec::new(),
        gate: Vec::new(),
        replaces: None,
        seeded: false,
    }
}

/// A ledger of some releases; its entries.
fn chain(place: &Whereabouts) -> Vec<Row> {
    let mut ledger = open(place);
    for id in ["a", "b", "c"] {
        let kept = Kept { groups: "1".repeat(64), counts: "2".repeat(64), ..Kept::default() };
        let intent =
            ledger.append(&Entry::Intent(Box::new(described(id, kept)))).expect("it is added");
        let sha256 = "3".repeat(64);
        ledger
            .append(&Entry::Released { intent, at: now(), sha256, recovered: false })
            .expect("it is added");
    }
    ledger
        .append(&Entry::Withdrawn { release: 4, at: now(), because: "lost".into() })
        .expect("it is added");
    ledger.rows().to_vec()
}

#[test]
fn entries_are_read_again_as_they_were_written() {
    let (_folder, place) = scratch();
    let rows = chain(&place);
    let ledger = open(&place);
    assert_eq!(ledger.rows(), rows);
    assert_eq!(ledger.head(), rows[7].hash);
    let standing: Vec<Standing> = ledger.releases().iter().map(|r| r.standing).collect();
    assert_eq!(standing, [Standing::Published, Standing::Withdrawn, Standing::Published]);
    assert_eq!(ledger.given().map(|r| r.number).collect::<Vec<_>>(), [2, 6]);
}

#[test]
fn two_cannot_write_at_once() {
    let (_folder, place) = scratch();
    let ledger = open(&place);
    let problems = Ledger::open(&place, WRITE).err().expect("it is refused");
    assert!(problems.0[0].message.starts_with("somebody else is publishing"), "{problems:?}");
    drop(ledger);
    open(&place);
}

/// Even if the lock failed, two could not both follow the same entry.
#[test]
fn a_stale_view_cannot_be_written() {
    let (_folder, place) = scratch();
    let mut stale = open(&place);
    stale.store.unlock().expect("the lock is given back");
    open(&place)
        .append(&Entry::Withdrawn { release: 9, at: now(), because: "first".into() })
        .expect("it is added");
    let entry = Entry::Withdrawn { release: 9, at: now(), because: "second".into() };
    let problems = stale.append(&entry).expect_err("somebody was faster");
    assert!(
        problems.0[0].message.contains("has grown while this release was made"),
        "{problems:?}"
    );
    assert_eq!(open(&place).rows().len(), 2);
}

#[test]
fn files_of_an_entry_that_never_came_are_forgotten() {
    let (folder, place) = scratch();
    let names = || {
        let files =
            std::fs::read_dir(folder.path().join("ledger/kept")).expect("a folder").flatten();
        let mut names: Vec<String> =
            files.map(|f| f.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    };
    let mut ledger = open(&place);
    let (groups, counts) =
        (ledger.keep(b"groups").expect("kept"), ledger.keep(b"counts").expect("kept"));
    drop(ledger);
    let mut ledger = open(&place);
    assert!(names().is_empty(), "{:?}", names());
    for bytes in [&b"groups"[..], b"counts"] {
        ledger.keep(bytes).expect("kept");
    }
    assert_eq!(ledger.kept(&groups).expect("it is there before it is named"), b"groups");
    let kept = Kept { groups: groups.clone(), counts: counts.clone(), ..Kept::default() };
    ledger.append(&Entry::Added(Box::new(described("a", kept.clone())))).expect("it is added");
    let mut wanted = vec![format!("{groups}.parquet"), format!("{counts}.parquet")];
    wanted.sort();
    assert_eq!(names(), wanted);
    // Another release that shows the same, and is abandoned, takes nothing with it but its own.
    let own = Kept { counts: ledger.keep(b"own").expect("kept"), ..kept };
    let intent = ledger.append(&Entry::Intent(Box::new(described("b", own)))).expect("it is added");
    assert_eq!(names().len(), 3);
    ledger.abandon(intent, "of a test").expect("it is added");
    assert_eq!(names(), wanted);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// Whatever is done to the entries, short of cutting off the end, is found, and where.
    #[test]
    fn any_change_breaks_the_chain(which in any::<Index>(), byte in any::<Index>(), what in 0..6) {
        let (_folder, place) = scratch();
        let rows = chain(&place);
        let mut ledger = open(&place);
        let i = which.index(rows.len() - 1);
        let mut changed = rows.clone();
        match what {
            0 => {
                let mut body: Vec<char> = changed[i].body.chars().collect();
                let at = byte.index(body.len());
                body[at] = if body[at] == 'x' { 'y' } else { 'x' };
                changed[i].body = body.into_iter().collect();
            }
            1 => changed[i].body.push(' '),
            2 => changed[i].number += 1,
            3 => {
                let at = byte.index(64);
                let digit = if changed[i].hash.as_bytes()[at] == b'0' { "1" } else { "0" };
                changed[i].hash.replace_range(at..=at, digit);
            }
            4 => drop(changed.remove(i)),
            _ => changed.swap(i, i + 1),
        }
        ledger.rows.clear();
        ledger.releases.clear();
        let broken = changed.into_iter().find_map(|row| ledger.take(row).err());
        let message = broken.expect("it is found").0.remove(0).message;
        let expected = format!("was changed: entry {} is not the one", i + 1);
        prop_assert!(message.contains(&expected), "{}", message);
    }

    #[test]
    fn members_are_read_as_written(
        people in prop::collection::btree_set(any::<u128>(), 0..80),
        attributes in 0usize..4,
        random in any::<u64>(),
    ) {
        let n = people.len() as u64;
        let number = |i: u64| (random ^ i.wrapping_mul(0x9e37_79b9_7f4a_7c15)) as u32;
        let tag = |i: u64| (number(i) % 5 != 0).then(|| number(i));
        let members = Members {
            people: people.into_iter().collect(),
            places: (0..n).map(number).collect(),
            tags: (0..attributes as u64).map(|a| (0..n).map(|i| tag(1000 * a + i)).collect()).collect(),
        };
        let bytes = members.write().expect("it is written");
        prop_assert_eq!(&bytes, &members.write().expect("it is written"), "the same people make the same file");
        prop_assert_eq!(Members::read(bytes.clone(), attributes).expect("it is read"), members.clone());
        prop_assert!(n == 0 || Members::read(bytes, attributes + 1).is_err(), "of another release");
        let mut order: Vec<usize> = (0..n as usize).collect();
        order.sort_by_key(|&i| number(7 * i as u64));
        let mixed = Members {
            people: order.iter().map(|&i| members.people[i]).collect(),
            places: order.iter().map(|&i| members.places[i]).collect(),
            tags: members.tags.iter().map(|tags| order.iter().map(|&i| tags[i]).collect()).collect(),
        };
        prop_assert_eq!(mixed.sorted(), members);
    }

    #[test]
    fn groups_are_read_as_written(
        all in prop::collection::vec((".{0,12}", any::<u64>(), any::<u64>()), 0..50),
        rest in any::<bool>(),
    ) {
        let groups = Groups {
            labels: all.iter().map(|g| g.0.clone()).collect(),
            sizes: all.iter().map(|g| g.1).collect(),
            counterfeits: all.iter().map(|g| g.2).collect(),
            rest: if rest { all.iter().map(|g| g.0.clone()).collect() } else { Vec::new() },
        };
        prop_assert_eq!(Groups::read(groups.write().expect("it is written")).expect("it is read"), groups);
    }

    /// Values that occur nowhere are forgotten, so texts are compared.
    #[test]
    fn counts_are_read_as_written(
        all in prop::collection::vec(
            prop::collection::vec(prop::collection::btree_map(prop::collection::vec(0u32..3, 2), 1u64.., 0..6), 4),
            0..3,
        ),
        text in ".{0,6}",
    ) {
        // The first table has both columns, the others one each.
        let make = |(i, groups): (usize, &Vec<std::collections::BTreeMap<Vec<u32>, u64>>)| {
            let columns: Vec<usize> = if i == 0 { vec![0, 1] } else { vec![i - 1] };
            let values = vec![(0..3).map(|v| format!("{text}{v}")).collect(); columns.len()];
            let mut table = Counts { columns, values, rows: Vec::new(), groups: Vec::new() };
            for group in groups {
                let mut rows = Vec::new();
                for (row, n) in group {
                    rows.push((table.rows.len() as u32, *n));
                    table.rows.push(row[..table.columns.len()].to_vec());
                }
                table.groups.push(rows);
            }
            table
        };
        let all: Vec<Counts> = all.iter().enumerate().map(make).collect();
        let bytes = Counts::write(&all, 2).expect("it is written");
        let texts = |counts: &Counts| -> Vec<Vec<(Vec<String>, u64)>> {
            let row = |(row, n): &(u32, u64)| {
                let codes = counts.rows[*row as usize].iter().zip(&counts.values);
                (codes.map(|(&code, values)| values[code as usize].clone()).collect(), *n)
            };
            counts.groups.iter().map(|g| g.iter().map(row).collect()).collect()
        };
        let read = Counts::read(bytes.clone(), 2, 4).expect("it is read");
        for (i, counts) in all.iter().enumerate() {
            let empty = counts.groups.iter().all(Vec::is_empty);
            let found = read.get(i).map(texts).unwrap_or_default();
            prop_assert!(empty || found == texts(counts), "{:?}", found);
            let last = counts.groups.iter().rposition(|g| !g.is_empty());
            prop_assert!(last.is_none_or(|last| Counts::read(bytes.clone(), 2, last).is_err()), "of fewer groups");
        }
        let rows: usize = all.iter().flat_map(|c| &c.groups).map(Vec::len).sum();
        prop_assert!(rows == 0 || Counts::read(bytes, 1, 4).is_err(), "of fewer columns");
    }

    #[test]
    fn places_are_read_as_written(
        all in prop::collection::vec((prop::collection::vec(any::<u32>(), 0..5), any::<bool>()), 0..40),
    ) {
        let places: Vec<Located> =
            all.into_iter().map(|(groups, may_be_absent)| Located { groups, may_be_absent }).collect();
        let read = read_places(write_places(&places).expect("it is written")).expect("it is read");
        prop_assert_eq!(read, places);
    }

    /// A file that was cut or changed may be refused, but never brings the program down.
    #[test]
    fn a_damaged_file_is_refused(at in any::<Index>(), cut in any::<bool>()) {
        let people: Vec<u128> = (0..300).collect();
        let n = people.len();
        let members = Members { people, places: vec![1; n], tags: vec![vec![Some(7); n]] };
        let mut bytes = members.write().expect("it is written");
        let at = at.index(bytes.len());
        if cut {
            bytes.truncate(at);
            prop_assert!(Members::read(bytes, 1).is_err());
        } else {
            bytes[at] ^= 0x10;
            let _ = Members::read(bytes, 1);
        }
    }
}

/// A key whose bytes are known.
fn known_key(folder: &Path) -> Key {
    let path = folder.join("key");
    let bytes: Vec<u8> = (0..32).collect();
    std::fs::write(&path, format!("scumble ledger key\n{}\n", hex(&bytes))).expect("a file");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).expect("a mode");
    Key::open(&path, "").expect("a key")
}

#[test]
fn the_key_makes_what_it_always_made() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let key = known_key(folder.path());
    // HMAC-SHA-256 of every part behind its length: computed with another program.
    let ann = key.pseudonym("Ann");
    assert_eq!(format!("{ann:032x}"), "53105ca6a4128122005f256ff9d1903a");
    assert_eq!(format!("{:08x}", key.tag(ann, "illness", "flu")), "a05b9815");
    assert_eq!(key.check(), "43981fe1426d7410");
    assert_eq!(key.pseudonym(" Ann "), ann);
    assert_ne!(key.tag(ann, "illnes", "sflu"), key.tag(ann, "illness", "flu"));
}

#[test]
fn the_chain_is_what_the_key_makes_of_the_entries() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let body = r#"{"entry":"withdrawn","release":2,"at":"2026-01-01T00:00:00Z","because":"lost"}"#;
    let entry =
        Entry::Withdrawn { release: 2, at: "2026-01-01T00:00:00Z".into(), because: "lost".into() };
    assert_eq!(serde_json::to_string(&entry).expect("JSON"), body);
    // The same, with the HMAC of "scumble" and "chain" as the key: computed with another program.
    assert_eq!(
        known_key(folder.path()).link("", 1, body),
        "28c189d75b84a50d46965df6d880c4924c89ae9eecc93c40e6543d1d6cde5207"
    );
}

/// What an entry says of columns that it does not protect, in every state of knowledge.
#[test]
fn open_columns_are_told_of_as_far_as_they_are_known() {
    let columns = ["illness".to_owned(), "age".to_owned()];
    let told = |open: Option<Vec<OpenColumn>>| -> Vec<String> {
        let recorded = Recorded {
            number: 2,
            described: Described { open, ..described("a", Kept::default()) },
            standing: Standing::Published,
            sha256: None,
        };
        let protected = &columns[..1];
        let history = HistoryPolicy::default();
        let openly = open::shown_openly(&recorded, protected, &columns, &history, None);
        openly.iter().map(Openly::warning).collect()
    };
    // An entry of an earlier version.
    let mut old = serde_json::to_value(described("a", Kept::default())).expect("JSON");
    assert!(old.as_object_mut().expect("an object").remove("open").is_none());
    let old: Described = serde_json::from_value(old).expect("it is read");
    let warnings = told(old.open);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("does not know whether `a` (entry 2) showed it"), "{warnings:?}");
    // One without persons, or from elsewhere: only roles are kept.
    let shown = Shown::in_role(Role::QuasiIdentifier);
    let warnings = told(Some(vec![OpenColumn { name: "age".into(), shown }]));
    let expected = "as quasi-identifier, in `a` (entry 2) to everybody: what that release already gave away cannot be \
                    taken back; the ledger does not know what it showed";
    assert!(warnings.len() == 1 && warnings[0].contains(expected), "{warnings:?}");
    assert!(told(Some(Vec::new())).is_empty(), "it did not show the column");
}

/// The rows of all columns come back from their file, and those of some of them are what they are.
#[test]
fn rows_of_all_columns_are_read_back_and_projected() {
    let texts = |list: &[&str]| list.iter().map(|t| (*t).to_owned()).collect::<Vec<String>>();
    let (values, codes) = (
        vec![texts(&["flu", "tb"]), texts(&["", "x"]), texts(&["{}"])],
        [vec![0, 0, 1, 1, 0], vec![0, 1, 0, 1, 0], vec![0; 5]],
    );
    let counts = Counts::of_rows(vec![0, 2, 3], values, &codes, &[0, 0, 1, u32::MAX, 1], 2);
    let bytes = Counts::write(std::slice::from_ref(&counts), 4).expect("a file");
    let read = Counts::read(bytes, 4, 2).expect("it is read");
    let plain = |c: &Counts| -> Vec<Vec<(Vec<String>, u64)>> {
        let text = |row: &u32| -> Vec<String> {
            let codes = c.rows[*row as usize].iter().zip(&c.values);
            codes.map(|(code, values)| values[*code as usize].clone()).collect()
        };
        let group = |rows: &Vec<(u32, u64)>| rows.iter().map(|(row, n)| (text(row), *n)).collect();
        c.groups.iter().map(group).collect()
    };
    assert_eq!((read.len(), plain(&read[0])), (1, plain(&counts)));
    assert_eq!(read[0].columns, [0, 2, 3]);
    let some = read[0].project(&[(2, 0), (1, 9)]);
    assert_eq!(some.columns, [0], "column 1 has no rows");
    assert_eq!(plain(&some)[0], [(texts(&[""]), 1), (texts(&["x"]), 1)]);
    assert_eq!(plain(&some)[1], [(texts(&[""]), 2)]);
    assert_eq!(read[0].label(3, 1), Some("{}"));
}
