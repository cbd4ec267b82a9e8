//! A folder with an extract, a policy and a ledger, and what the ledger says.

use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use tempfile::TempDir;

pub const SCUMBLE: &str = env!("CARGO_BIN_EXE_scumble");

pub struct Place {
    folder: TempDir,
    /// The ledger's database, if it is on a server.
    address: Option<String>,
}

impl Place {
    /// A place with some invented people. `more` is said at the head of the policy, such as where
    /// the ledger is.
    pub fn new(more: &str) -> Place {
        let place = Place { folder: tempfile::tempdir().expect("a scratch folder"), address: None };
        place.put("data.csv", people(150));
        place.put("policy.toml", format!("{more}\n{POLICY}"));
        place
    }

    /// The same with a ledger on a server.
    pub fn shared(address: &str) -> Place {
        Place {
            address: Some(address.to_owned()),
            ..Place::new(&format!("ledger = \"{address}\""))
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn put(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::write(self.path(name), text).expect("a file is written");
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(SCUMBLE);
        command.current_dir(self.folder.path()).args(arguments).stdin(Stdio::null());
        command
    }

    /// Starts it and does not wait.
    pub fn start(&self, arguments: &[&str]) -> Child {
        let mut command = self.command(arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts")
    }

    pub fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("the command starts")
    }

    /// Runs and expects this exit status; what was printed, both streams.
    pub fn expect(&self, status: i32, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let text = printed(&output);
        assert_eq!(output.status.code(), Some(status), "scumble {}: {text}", arguments.join(" "));
        assert!(!text.contains("panicked"), "{text}");
        text
    }

    /// The same with `--json`; the answer.
    pub fn answer(&self, status: i32, arguments: &[&str]) -> Value {
        let output = self.run(&[arguments, &["--json"]].concat());
        assert_eq!(
            output.status.code(),
            Some(status),
            "scumble {}: {}",
            arguments.join(" "),
            printed(&output)
        );
        serde_json::from_slice(&output.stdout).expect("the answer is JSON")
    }

    /// Names in a folder, hidden ones too; none if it is not there.
    pub fn names(&self, folder: &str) -> BTreeSet<String> {
        let entries = fs::read_dir(self.path(folder)).into_iter().flatten().flatten();
        entries.map(|e| e.file_name().to_string_lossy().into_owned()).collect()
    }

    /// Every file here with its content: two of these are equal if nothing was changed in between.
    /// Who last held the lock is no matter.
    pub fn everything(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        fn walk(folder: &Path, out: &mut BTreeMap<PathBuf, Vec<u8>>) {
            for path in fs::read_dir(folder).expect("a folder").flatten().map(|e| e.path()) {
                if path.is_dir() {
                    walk(&path, out);
                } else if path.file_name().is_some_and(|n| n != "lock") {
                    out.insert(path.clone(), fs::read(&path).expect("a file"));
                }
            }
        }
        let mut out = BTreeMap::new();
        walk(self.folder.path(), &mut out);
        out
    }

    /// The database of the ledger, opened behind scumble's back.
    pub fn database(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.path("ledger/ledger.sqlite")).expect("a database")
    }

    /// Does something to the database.
    pub fn tamper(&self, commands: &str) {
        self.database().execute_batch(commands).expect("commands that work");
    }

    /// The ledger's database on its server.
    pub fn server(&self) -> postgres::Client {
        let mut config: postgres::Config =
            self.address.as_ref().expect("a server").parse().expect("an address");
        config.password(std::env::var("PGPASSWORD").expect("PGPASSWORD"));
        config.connect(postgres::NoTls).expect("the server answers")
    }

    /// The entries as they are stored.
    pub fn entries(&self) -> Vec<Value> {
        let bodies: Vec<String> = if self.address.is_some() {
            let rows = self
                .server()
                .query("SELECT body FROM scumble_entries ORDER BY number", &[])
                .expect("entries");
            rows.iter().map(|r| r.get(0)).collect()
        } else {
            let database = self.database();
            let mut statement =
                database.prepare("SELECT body FROM entries ORDER BY number").expect("the table");
            let bodies = statement.query_map([], |r| r.get(0)).expect("rows");
            bodies.map(|b| b.expect("a text")).collect()
        };
        bodies.iter().map(|b| serde_json::from_str(b).expect("JSON")).collect()
    }

    /// Names of the files that the ledger keeps.
    fn kept(&self) -> BTreeSet<String> {
        if self.address.is_none() {
            return self.names("ledger/kept");
        }
        let rows =
            self.server().query("SELECT DISTINCT hash FROM scumble_kept", &[]).expect("files");
        rows.iter().map(|r| format!("{}.parquet", r.get::<_, String>(0))).collect()
    }

    /// What must hold after whatever happened, once a command has looked at the ledger: releases in
    /// `out` and published entries are the same, complete, and nothing else is there. Returns the
    /// standing of every release in the ledger.
    pub fn consistent(&self) -> Vec<String> {
        let output = self.run(&["ledger", "list", "--policy", "policy.toml", "--json"]);
        let hidden = |folder: &str| {
            self.names(folder).into_iter().filter(|n| n.starts_with('.')).collect::<Vec<_>>()
        };
        let folders: Vec<String> =
            self.names("out").into_iter().filter(|n| !n.starts_with('.')).collect();
        if output.status.code() == Some(2) {
            let text = printed(&output);
            assert!(text.contains("there is no ledger"), "{text}");
            assert!(
                folders.is_empty() && hidden("out").is_empty(),
                "releases without a ledger: {folders:?}"
            );
            return Vec::new();
        }
        let listed: Value = serde_json::from_slice(&output.stdout).expect("the answer is JSON");
        assert_eq!(output.status.code(), Some(0), "{listed}");
        assert!(
            hidden("out").is_empty() && hidden("").is_empty(),
            "{:?} {:?}",
            hidden("out"),
            hidden("")
        );
        let told = Told::of(&self.entries());
        for folder in &folders {
            let manifest = self.manifest(&format!("out/{folder}"));
            let id = manifest["id"].as_str().expect("a release has a number");
            let published = told
                .published
                .get(id)
                .unwrap_or_else(|| panic!("out/{folder} has no entry: {listed}"));
            let read = |name: &str| {
                fs::read(self.path(&format!("out/{folder}/{name}"))).expect("a file of the release")
            };
            assert_eq!(sha256(&read("manifest.json")), published.sha256, "out/{folder}");
            assert_eq!(manifest["data"]["sha256"], sha256(&read("data.csv")), "out/{folder}");
        }
        for (id, published) in &told.published {
            let manifest = self.manifest(&published.folder);
            let later = told.published.values().any(|other| other.replaces.as_deref() == Some(id));
            assert!(
                later || manifest["id"] == **id,
                "{} is not complete: {listed}",
                published.folder
            );
        }
        let kept: BTreeSet<String> =
            told.kept.iter().map(|hash| format!("{hash}.parquet")).collect();
        assert_eq!(self.kept(), kept, "{listed}");
        let releases = listed["releases"].as_array().expect("a list");
        releases.iter().map(|r| r["standing"].as_str().expect("a word").to_owned()).collect()
    }

    /// The manifest of a release.
    pub fn manifest(&self, release: &str) -> Value {
        let text = fs::read_to_string(self.path(release).join("manifest.json"));
        let text = text.unwrap_or_else(|e| panic!("the manifest of {release}: {e}"));
        serde_json::from_str(&text).expect("a manifest is JSON")
    }
}

/// A release that was published.
struct Published {
    folder: String,
    sha256: String,
    replaces: Option<String>,
}

/// What the entries of a ledger come to, put together a second time and without the ledger's own
/// code.
struct Told {
    /// By id.
    published: BTreeMap<String, Published>,
    /// Names of files.
    kept: HashSet<String>,
}

impl Told {
    fn of(entries: &[Value]) -> Told {
        let mut told = Told { published: BTreeMap::new(), kept: HashSet::new() };
        let mut ended = HashSet::new();
        let text = |v: &Value| v.as_str().map(str::to_owned);
        for entry in entries {
            let word = entry["entry"].as_str().expect("an entry says what it is");
            let Some(intent) = entry["intent"].as_u64() else { continue };
            assert!(ended.insert(intent), "the intent of entry {intent} ends twice: {entries:?}");
            let intent = &entries[intent as usize - 1];
            assert_eq!(intent["entry"], "intent");
            if word == "released" {
                let release = Published {
                    folder: text(&intent["place"]["folder"]).expect("a place"),
                    sha256: text(&entry["sha256"]).expect("a hash"),
                    replaces: text(&intent["replaces"]),
                };
                let twice = told.published.insert(text(&intent["id"]).expect("an id"), release);
                assert!(twice.is_none(), "a release is published twice: {entries:?}");
                let kept = intent["kept"].as_object().expect("names of files");
                told.kept.extend(kept.values().filter_map(text));
            }
        }
        let intents = entries.iter().filter(|e| e["entry"] == "intent").count();
        assert_eq!(intents, ended.len(), "an intent is left open: {entries:?}");
        told
    }
}

/// Two who publish at once succeed one after the other, and the second is judged against the first.
pub fn pair(place: &Place, names: [&str; 2]) {
    let start =
        |name| place.start(&["publish", "policy.toml", "--json", "--to", &format!("out/{name}")]);
    let outputs = names.map(start).map(|run| run.wait_with_output().expect("it ends"));
    for output in &outputs {
        assert_eq!(output.status.code(), Some(0), "{}", printed(output));
    }
    let (first, second) = (seen(&outputs[0]), seen(&outputs[1]));
    let (first, second) = (first.contains(names[1]), second.contains(names[0]));
    assert!(
        first != second,
        "one of {names:?} comes first, and the other sees it: {first} {second}"
    );
}

/// Every release that the gate looked at when one was published.
pub fn seen(output: &Output) -> BTreeSet<String> {
    let answer: Value = serde_json::from_slice(&output.stdout).expect("the answer is JSON");
    let releases = answer["gate"]
        .as_array()
        .into_iter()
        .flatten()
        .flat_map(|p| p["releases"].as_array().cloned());
    releases.flatten().filter_map(|r| r.as_str().map(str::to_owned)).collect()
}

pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut text, b| {
        let _ = write!(text, "{b:02x}");
        text
    })
}

pub fn printed(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// Numbers that look random and are the same every time.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// A table of invented people.
pub fn people(rows: usize) -> String {
    let mut random = Random(7);
    let mut out = String::from("id,age,zip,illness\n");
    for i in 0..rows {
        let _ = writeln!(
            out,
            "P{i:04},{},{},ill{}",
            18 + random.below(70),
            100 + random.below(40),
            random.below(8)
        );
    }
    out
}

const POLICY: &str = r#"source = "data.csv"
[attributes]
id = { role = "identifier", person = true }
age = { role = "quasi-identifier", taxonomy = { intervals = [5, 10, 20] } }
zip = { role = "quasi-identifier", taxonomy = { prefix = true } }
illness = { role = "sensitive" }
[[models]]
name = "distinct-l-diversity"
l = 3
attribute = "illness"
[algorithm]
name = "mondrian"
[release]
to = "out/release"
"#;

/// Stops a process where it is, so that it keeps what it holds and does not end before it is
/// killed.
pub fn freeze(child: &Child) {
    let stopped = Command::new("kill").args(["-STOP", &child.id().to_string()]).status();
    assert!(stopped.is_ok_and(|status| status.success()), "it is running");
}
