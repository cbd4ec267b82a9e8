//! A run that is cancelled, at every moment at which it asks: it says that it was, leaves no file
//! behind, and the ledger as it was or with a release that is truthfully recorded as abandoned.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use scumble::attack::{Membership, on_releases};
use scumble::failure::{Failure, Failures};
use scumble::query::Query;
use scumble_publisher::attack::AttackRequest;
use scumble_publisher::check::CheckRequest;
use scumble_publisher::dp::PrivateQueryRequest;
use scumble_publisher::dp::synthesize::SynthesizeRequest;
use scumble_publisher::inspect::InspectRequest;
use scumble_publisher::ledger::{Access, Entry, Ledger, Whereabouts};
use scumble_publisher::observer::{Event, Observer, Silent};
use scumble_publisher::policy_file::PolicyFile;
use scumble_publisher::publish::compare::CompareRequest;
use scumble_publisher::publish::{PublishRequest, Repair};
use scumble_publisher::publisher::Publisher;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tempfile::TempDir;

/// Cancels when it is asked for the n-th time.
struct At {
    number: u64,
    asked: AtomicU64,
}

impl At {
    fn new(number: u64) -> At {
        At { number, asked: AtomicU64::new(0) }
    }

    fn has_cancelled(&self) -> bool {
        self.asked.load(Ordering::Relaxed) >= self.number
    }
}

impl Observer for At {
    fn event(&self, _: Event<'_>) {}

    fn cancelled(&self) -> bool {
        self.asked.fetch_add(1, Ordering::Relaxed) + 1 >= self.number
    }
}

/// Six wards on two floors, with people of some ages.
const POLICY: &str = r#"source = "data.csv"
[gate]
candidates = 4
[attributes]
id = { role = "identifier", person = true }
ward = { role = "quasi-identifier", taxonomy = "wards.csv" }
age = { role = "quasi-identifier", taxonomy = { intervals = [10, 50] } }
illness = { role = "sensitive" }
[[models]]
name = "k-anonymity"
k = 2
[algorithm]
name = "mondrian"
[release]
to = "out/release"
"#;

/// A first release of the same people that says little.
const FIRST: &str = r#"source = "data.csv"
[attributes]
id = { role = "identifier", person = true }
ward = { role = "quasi-identifier", taxonomy = "wards.csv" }
age = { role = "quasi-identifier", taxonomy = { intervals = [10, 50] } }
illness = { role = "sensitive" }
[[models]]
name = "k-anonymity"
k = 12
[algorithm]
name = "mondrian"
[release]
to = "out/first"
"#;

const QUERIES: &str = r#"source = "data.csv"
ledger = "budget"
[queries]
person = "id"
budget = { epsilon = 1000 }
[queries.columns]
ward = { keys = ["A1", "A2", "A3", "B1", "B2", "B3"] }
illness = { keys = ["ill0", "ill1", "ill2", "ill3", "ill4"] }
[queries.synthetic]
columns = ["ward", "illness"]
epsilon = 1
to = "out/synthetic"
"#;

/// A folder with an extract, policies, a ledger that knows one release, and that release.
struct Place(TempDir);

impl Place {
    fn new() -> Place {
        let place = Place(tempfile::tempdir().expect("a folder"));
        place.put("wards.csv", "A1;A;*\nA2;A;*\nA3;A;*\nB1;B;*\nB2;B;*\nB3;B;*\n");
        let person = |i: usize| {
            let (floor, ward) = (["A", "B"][i / 12], i % 12 / 4 + 1);
            format!("P{i},{floor}{ward},{},ill{}\n", 20 + i * 7 % 60, i % 5)
        };
        let people: String = (0..24).map(person).collect();
        place.put("data.csv", &format!("id,ward,age,illness\n{people}"));
        place.put("policy.toml", POLICY);
        place.put("first.toml", FIRST);
        place.put("queries.toml", QUERIES);
        place.put("statistics.csv", "statistic,of,over,value\ncount,,P1 P2 P3,2\ncount,,P1 P2,1\n");
        let first = place.publish("first.toml", Repair::Off, &Silent).expect("it is published");
        assert_eq!(first, "published");
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn put(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).expect("a file");
    }

    fn publish(
        &self,
        policy: &str,
        repair: Repair,
        observer: &dyn Observer,
    ) -> Result<String, Failures> {
        let request = PublishRequest {
            seed: Some(1),
            // A picture needs two quasi-identifiers.
            picture: (policy != "other.toml").then(|| (self.path("picture.svg"), None)),
            wait: Duration::ZERO,
            repair,
            exposed: Some(self.path("exposed.csv")),
            ..Default::default()
        };
        let policy = PolicyFile::read(&self.path(policy))?;
        let answer = Publisher::observed_by(observer).publish(&policy, &request)?;
        Ok(serde_json::to_value(&answer).expect("JSON")["outcome"].as_str().expect("").to_owned())
    }

    /// Every file with its content, but for the ledger, its head, and who last held its lock.
    fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        fn walk(folder: &Path, out: &mut BTreeMap<PathBuf, Vec<u8>>) {
            for path in fs::read_dir(folder).expect("a folder").flatten().map(|e| e.path()) {
                let ledger = ["ledger", "ledger.head", "budget", "budget.head", "budget.key"];
                if path.file_name().is_some_and(|n| ledger.iter().any(|l| n == *l)) {
                    continue;
                }
                if path.is_dir() {
                    out.insert(path.clone(), Vec::new());
                    walk(&path, out);
                } else {
                    out.insert(path.clone(), fs::read(&path).expect("a file"));
                }
            }
        }
        let mut out = BTreeMap::new();
        walk(self.0.path(), &mut out);
        out
    }

    /// The entries of the ledger as texts, and what they say.
    fn entries(&self) -> Vec<(String, Entry)> {
        let place = Whereabouts::new(self.0.path(), "ledger", None, None);
        let ledger = Ledger::open(&place, Access::Read).expect("it opens").expect("it is there");
        let read = |body: &String| serde_json::from_str(body).expect("an entry");
        ledger.rows().iter().map(|row| (row.body.clone(), read(&row.body))).collect()
    }
}

/// Cancels a run at every moment at which it asks, and looks at what is left each time; then lets
/// it run. Returns how often it asks.
fn at_every_moment<T>(
    name: &str,
    place: &Place,
    mut run: impl FnMut(&dyn Observer) -> Result<T, Failures>,
    mut left: impl FnMut(u64),
) -> u64 {
    let before = place.files();
    for number in 1.. {
        let observer = At::new(number);
        let result = run(&observer);
        if !observer.has_cancelled() {
            assert!(result.is_ok(), "{name}: {}", result.err().expect("a failure"));
            println!("{name}: asks {} times", number - 1);
            return number - 1;
        }
        let Err(failures) = result else { panic!("{name}, at {number}: it goes on") };
        assert_eq!(failures, Failure::cancelled().into(), "{name}, at {number}");
        assert_eq!(
            before.keys().collect::<Vec<_>>(),
            place.files().keys().collect::<Vec<_>>(),
            "{name}, at {number}"
        );
        assert_eq!(before, place.files(), "{name}, at {number}");
        left(number);
    }
    unreachable!("it ends")
}

/// The ledger has grown by nothing, or by a release that was announced and abandoned as cancelled.
fn grown_truthfully(before: &[(String, Entry)], after: &[(String, Entry)]) {
    assert_eq!(before, &after[..before.len()], "no entry is changed");
    match &after[before.len()..] {
        [] => {}
        [(_, Entry::Intent(_)), (_, Entry::Abandoned { because, .. })] => {
            assert_eq!(because, "cancelled");
        }
        more => panic!("{:?}", more.iter().map(|e| &e.0).collect::<Vec<_>>()),
    }
}

#[test]
fn publishing_with_a_history_and_with_repair() {
    for (policy, repair) in [("policy.toml", Repair::Best), ("policy.toml", Repair::Number(1))] {
        let place = Place::new();
        let mut entries = place.entries();
        let mut outcome = String::new();
        let asked = at_every_moment(
            "publish",
            &place,
            |observer| {
                outcome = place.publish(policy, repair, observer)?;
                Ok(())
            },
            |_| {
                let after = place.entries();
                grown_truthfully(&entries, &after);
                entries = after;
            },
        );
        assert!(asked > 20, "it asks in every phase: {asked}");
        let now = place.entries();
        if outcome == "published" {
            assert!(matches!(now.last(), Some((_, Entry::Released { .. }))));
        } else {
            assert_eq!(now, entries, "a refusal changes nothing");
        }
        // What comes after it works.
        place.put("first.toml", &FIRST.replace("out/first", "out/third"));
        place.publish("first.toml", Repair::Off, &Silent).expect("the next one is judged");
    }
}

/// A ledger that somebody else holds is waited for, until the run is cancelled.
#[test]
fn waiting_for_a_ledger_can_be_cancelled() {
    let place = Place::new();
    let whereabouts = Whereabouts::new(place.0.path(), "ledger", None, None);
    let access = Access::Write { wait: Duration::ZERO, make: false };
    let held = Ledger::open(&whereabouts, access).expect("it opens").expect("it is there");
    let observer = At::new(3);
    let begun = std::time::Instant::now();
    let access = Access::Write { wait: Duration::from_secs(600), make: false };
    let failures = Ledger::open_unless(&whereabouts, access, &observer).err().expect("cancelled");
    assert_eq!(failures, Failure::cancelled().into());
    assert!(begun.elapsed() < Duration::from_secs(60), "it does not wait for the other");
    drop(held);
    Ledger::open(&whereabouts, access).expect("it opens").expect("it is there");
}

#[test]
fn looking_at_tables_and_releases() {
    let place = Place::new();
    let (data, first) = (place.path("data.csv"), place.path("out/first"));
    let nothing = |_: u64| ();
    at_every_moment(
        "inspect",
        &place,
        |observer| {
            let publisher = Publisher::observed_by(observer);
            publisher.inspect(&data.as_path().into(), &InspectRequest::default())
        },
        nothing,
    );
    for (what, quasi) in [(&data, vec!["ward".to_owned(), "age".into()]), (&first, Vec::new())] {
        let run = |observer: &dyn Observer| {
            let request = CheckRequest {
                quasi: quasi.clone(),
                register: Some(data.clone()),
                population: Some(1000),
                picture: Some((place.path("classes.svg"), None)),
                ..Default::default()
            };
            let publisher = Publisher::observed_by(observer);
            let answer = publisher.check(&what.as_path().into(), &request)?;
            fs::remove_file(place.path("classes.svg")).expect("the picture");
            Ok(answer)
        };
        at_every_moment("check", &place, run, nothing);
    }
    at_every_moment("verify", &place, |o| Publisher::observed_by(o).verify(&first), nothing);
    let queries = [Query::parse("ward = A1 and illness = ill1").expect("a query")];
    at_every_moment(
        "query",
        &place,
        |o| Publisher::observed_by(o).query(&first, &queries),
        nothing,
    );
    let compared = |observer: &dyn Observer| {
        let request = CompareRequest { seed: Some(1), queries: 5, ..Default::default() };
        let policy = |name: &str| PolicyFile::read(&place.path(name));
        let policies = [policy("policy.toml")?, policy("first.toml")?];
        Publisher::observed_by(observer).compare(&policies, &request)
    };
    at_every_moment("compare", &place, compared, nothing);
}

fn adversary(place: &Place) -> AttackRequest {
    AttackRequest {
        releases: vec![place.path("out/one"), place.path("out/two")],
        register: Some(place.path("data.csv")),
        membership: Membership::Population,
        name: Some("id".into()),
        truth: Some(place.path("data.csv")),
        reference: Some(place.path("data.csv")),
        allow_unknown: true,
        seed: Some(1),
        ..Default::default()
    }
}

#[test]
fn every_attack_and_its_reasons() {
    let place = Place::new();
    for name in ["one", "two"] {
        // Of wards a release tells only floors, which is not how the register writes them.
        let ward = "ward = { role = \"quasi-identifier\", taxonomy = \"wards.csv\" }";
        let policy = FIRST
            .replace(ward, "ward = { role = \"identifier\" }")
            .replace("out/first", &format!("out/{name}"))
            .replace("k = 12", "k = 4");
        place.put("other.toml", &policy);
        let outcome = place.publish("other.toml", Repair::Off, &Silent).expect("an answer");
        assert_eq!(outcome, "published");
    }
    let nothing = |_: u64| ();
    for entry in on_releases() {
        let names = [entry.name.to_owned()];
        // Fewer samples, as every one of them is a moment.
        let with = if entry.name == "definetti" { vec!["sweeps=10".to_owned()] } else { vec![] };
        let request = AttackRequest { names: names.to_vec(), with, ..adversary(&place) };
        let run = |observer: &dyn Observer| Publisher::observed_by(observer).attack(&request);
        if let Err(unfit) = run(&Silent) {
            panic!("{}: {unfit}", entry.name);
        }
        at_every_moment(entry.name, &place, run, nothing);
    }
    let why = |observer: &dyn Observer| {
        Publisher::observed_by(observer).why("P3", None, &adversary(&place))
    };
    at_every_moment("why", &place, why, nothing);
    let minimality = |observer: &dyn Observer| {
        let request = AttackRequest {
            names: vec!["minimality".into()],
            policy: Some(PolicyFile::read(&place.path("first.toml"))?),
            with: vec!["runs=20".into()],
            seed: Some(1),
            ..Default::default()
        };
        Publisher::observed_by(observer).attack(&request)
    };
    at_every_moment("minimality", &place, minimality, nothing);
    let statistics = |observer: &dyn Observer| {
        let statistics = Some(place.path("statistics.csv"));
        let request = AttackRequest { statistics, ..Default::default() };
        Publisher::observed_by(observer).attack(&request)
    };
    at_every_moment("statistics", &place, statistics, nothing);
}

#[test]
fn loading_into_a_database() {
    let place = Place::new();
    let into = place.path("new.sqlite");
    let load = |observer: &dyn Observer| {
        let loaded = Publisher::observed_by(observer).load(
            &place.path("out/first"),
            into.to_str().expect("a path"),
            "t",
        )?;
        fs::remove_file(&into).expect("the database");
        Ok(loaded)
    };
    at_every_moment("load", &place, load, |_| ());
    // In a database that is there already nothing is left either.
    let into = place.path("old.sqlite");
    rusqlite::Connection::open(&into)
        .and_then(|c| c.execute_batch("CREATE TABLE a (b)"))
        .expect("");
    for number in 1.. {
        let observer = At::new(number);
        let text = into.to_str().expect("a path");
        let loaded = Publisher::observed_by(&observer).load(&place.path("out/first"), text, "t");
        let connection = rusqlite::Connection::open(&into).expect("a database");
        let tables: i64 = connection
            .query_row("SELECT count(*) FROM sqlite_schema", [], |r| r.get(0))
            .expect("a number");
        if !observer.has_cancelled() {
            assert_eq!((loaded.is_ok(), tables), (true, 2));
            break;
        }
        assert_eq!((loaded.err(), tables), (Some(Failure::cancelled().into()), 1), "at {number}");
    }
}

/// What was paid stays paid: a table that is cancelled before it is paid costs nothing, afterwards
/// it is lost with its price, and both are in the ledger.
#[test]
fn private_answers_and_synthetic_tables() {
    let place = Place::new();
    let spent = || {
        let whereabouts = Whereabouts::new(place.0.path(), "budget", None, None);
        let ledger = Ledger::open(&whereabouts, Access::Read).expect("it opens");
        ledger.map_or(0, |ledger| ledger.spent().len())
    };
    let synthesize = |observer: &dyn Observer| {
        let request = SynthesizeRequest { seed: Some(1), ..Default::default() };
        let policy = PolicyFile::read(&place.path("queries.toml"))?;
        Publisher::observed_by(observer).synthesize(&policy, &request)
    };
    let mut paid = Vec::new();
    let asked =
        at_every_moment("synthesize", &place, synthesize, |number| paid.push((number, spent())));
    let first = paid.iter().position(|(_, n)| *n > 0).expect("once it is paid it can be cancelled");
    assert!(first > 0, "it can be cancelled before it is paid");
    // The ledger remembers every price that was paid, and no other.
    assert!(paid.windows(2).all(|w| w[1].1 >= w[0].1), "{paid:?}");
    assert!(spent() > 0 && asked > 5);
    let ask = |observer: &dyn Observer| {
        let request = PrivateQueryRequest {
            sql: Some("SELECT COUNT(*) FROM data".into()),
            epsilon: Some("0.1".into()),
            seed: Some(1),
            ..Default::default()
        };
        let policy = PolicyFile::read(&place.path("queries.toml"))?;
        Publisher::observed_by(observer).private_query(&policy, &request)
    };
    // A question is answered once it is paid.
    let before = spent();
    let left = |number| assert_eq!(spent(), before, "at {number}");
    at_every_moment("ask", &place, ask, left);
    assert!(spent() > before);
}
