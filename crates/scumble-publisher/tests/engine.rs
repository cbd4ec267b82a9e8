//! What an engine brings and what this process holds make the same release.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

#[path = "engine/naive.rs"]
mod naive;

use naive::Naive;
use scumble::failure::Failures;
use scumble_publisher::answer::Published;
use scumble_publisher::check::CheckRequest;
use scumble_publisher::policy_file::PolicyFile;
use scumble_publisher::publish::PublishRequest;
use scumble_publisher::publish::engine::Engine;
use scumble_publisher::publisher::Publisher;
use scumble_publisher::table::columns::{self, ReadOptions};
use std::fs;
use std::path::{Path, PathBuf};

/// How many patients there are.
const PATIENTS: usize = 600;

/// A folder with a table of patients; `note` is different in every record and rises with them.
fn place() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut text = "id,age,zip,illness,ward,note\n".to_owned();
    for i in 0..PATIENTS {
        let (age, zip) = (20 + i * 37 % 60, ["11111", "11112", "11211", "12111"][i * 13 % 4]);
        let (illness, ward) = (["flu", "asthma", "gout", "hiv"][i * 7 % 11 % 4], i * 31 % 3);
        text += &format!("p{i},{age},{zip},{illness},w{ward},\"{i:04}, seen\"\n");
    }
    fs::write(folder.path().join("patients.csv"), text).expect("a temporary folder");
    folder
}

struct Case {
    /// The algorithm and the models.
    method: &'static str,
    /// Roles of `ward` and `note`.
    passing: &'static str,
    /// Distinct rows that may be here.
    most: u64,
    format: &'static str,
}

const K: &str = "[[models]]\nname = \"k-anonymity\"\nk = 7\n";
const L: &str = "[[models]]\nname = \"distinct-l-diversity\"\nl = 3\n";
const MONDRIAN: &str = "[algorithm]\nname = \"mondrian\"\n";
const LATTICE: &str = "[algorithm]\nname = \"lattice\"\nsuppress = 0.05\n";
const ANATOMY: &str = "[algorithm]\nname = \"anatomy\"\nl = 3\n";

impl Case {
    fn policy(&self, base: &Path) -> PolicyFile {
        let Case { method, passing, format, .. } = self;
        let model = if method.contains("anatomy") { L } else { K };
        PolicyFile::of_text(
            format!(
                "source = \"patients.csv\"\nledger = false\n[attributes]\n\
                 id = {{ role = \"identifier\", person = true }}\n\
                 age = {{ role = \"quasi-identifier\", taxonomy = {{ intervals = [5, 20], low = 0, high = 100 }} }}\n\
                 zip = {{ role = \"quasi-identifier\", taxonomy = {{ prefix = true }} }}\n\
                 illness = {{ role = \"sensitive\" }}\n\
                 ward = \"{passing}\"\nnote = \"{passing}\"\n\
                 {model}{method}[release]\nto = \"release\"\nformat = \"{format}\"\n"
            ),
            base,
        )
    }

    fn publish(
        &self,
        base: &Path,
        to: &str,
        seed: u64,
        engine: Option<&dyn Engine>,
    ) -> Result<(Published, PathBuf), Failures> {
        let folder = base.join(to);
        let request = PublishRequest {
            seed: Some(seed),
            to: Some(folder.clone()),
            ..PublishRequest::default()
        };
        let publisher = Publisher { engine, ..Publisher::default() };
        publisher.publish(&self.policy(base), &request).map(|answer| (answer, folder))
    }

    /// Without and with an engine.
    fn both(&self, base: &Path) -> [(Published, PathBuf); 2] {
        let naive = Naive::new(self.most);
        let engines: [Option<&dyn Engine>; 2] = [None, Some(&naive)];
        [("here", engines[0]), ("brought", engines[1])].map(|(to, engine)| {
            self.publish(base, to, 1, engine).unwrap_or_else(|e| panic!("{}: {e}", self.method))
        })
    }

    /// The records of a release in order, as texts; without the column that chance decides.
    fn records(&self, folder: &Path, without: &str) -> Vec<Vec<String>> {
        let file = folder.join(format!("data.{}", self.format));
        let read = columns::read(&file, &ReadOptions::default(), None, &|_, _| true);
        let read = read.unwrap_or_else(|e| panic!("{e}"));
        let kept: Vec<_> = read.columns.iter().filter(|c| c.name != without).collect();
        let row = |row| kept.iter().map(|c| c.values.get(c.codes[row]).to_owned()).collect();
        (0..read.rows).map(row).collect()
    }
}

/// A file of a release as JSON, without hashes and without what is drawn anew.
fn told(folder: &Path, name: &str) -> serde_json::Value {
    fn clean(value: &mut serde_json::Value) {
        match value {
            serde_json::Value::Object(map) => {
                map.retain(|key, _| key != "sha256" && key != "files" && key != "manifest");
                map.values_mut().for_each(clean);
            }
            serde_json::Value::Array(items) => items.iter_mut().for_each(clean),
            _ => (),
        }
    }
    let text = fs::read_to_string(folder.join(name)).expect("a file of the release");
    let mut json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    clean(&mut json);
    json
}

/// Every way in which a table can be here.
const CASES: [Case; 6] = [
    // The distinct rows, which are all that is published.
    Case { method: MONDRIAN, passing: "identifier", most: 1 << 20, format: "csv" },
    // The distinct rows, and records that the engine brings.
    Case { method: MONDRIAN, passing: "insensitive", most: 1 << 20, format: "csv" },
    Case { method: LATTICE, passing: "insensitive", most: 1 << 20, format: "parquet" },
    // Values and counts of parts, or of levels.
    Case { method: MONDRIAN, passing: "identifier", most: 40, format: "arrow" },
    Case { method: LATTICE, passing: "identifier", most: 300, format: "csv" },
    // The sensitive values, and quasi-identifiers that the engine brings with the records.
    Case { method: ANATOMY, passing: "insensitive", most: 40, format: "csv" },
];

#[test]
fn the_release_is_the_same() {
    for case in &CASES {
        let place = place();
        let [(mine, here), (theirs, brought)] = case.both(place.path());
        let drawn = if case.method == ANATOMY { "group" } else { "" };
        let (mut a, mut b) = (case.records(&here, drawn), case.records(&brought, drawn));
        a.sort();
        b.sort();
        assert!(a == b, "{}: the records", case.method);
        let classes = (mine.rows, mine.classes, mine.suppressed);
        assert_eq!(classes, (theirs.rows, theirs.classes, theirs.suppressed), "{}", case.method);
        assert_eq!(
            told(&here, "manifest.json"),
            told(&brought, "manifest.json"),
            "{}",
            case.method
        );
        for folder in [&here, &brought] {
            let answer =
                Publisher::default().check(&folder.as_path().into(), &CheckRequest::default());
            let answer = answer.unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(answer.keeps, Some(true), "{:?}", answer.reasons);
        }
    }
}

#[test]
fn figures_are_those_of_the_table_or_none() {
    for case in &CASES {
        let place = place();
        let [(mine, _), (theirs, _)] = case.both(place.path());
        for (name, loss) in &theirs.utility {
            assert_eq!(Some(loss), mine.utility.get(name), "{}: {name}", case.method);
        }
    }
}

/// How far an order of rising numbers is from a random one: the correlation of neighbours.
fn correlation(numbers: &[f64]) -> f64 {
    let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
    let spread: f64 = numbers.iter().map(|n| (n - mean).powi(2)).sum();
    numbers.windows(2).map(|w| (w[0] - mean) * (w[1] - mean)).sum::<f64>() / spread
}

#[test]
fn records_stand_in_an_order_that_only_the_seed_knows() {
    for case in CASES.iter().filter(|case| case.passing == "insensitive") {
        let place = place();
        let naive = Naive::new(case.most);
        let publish = |to: &str, seed| {
            let published = case.publish(place.path(), to, seed, Some(&naive));
            published.unwrap_or_else(|e| panic!("{e}")).1
        };
        let file = |folder: &Path| folder.join(format!("data.{}", case.format));
        let (a, b, c) = (publish("a", 1), publish("b", 1), publish("c", 2));
        let bytes = |folder: &Path| fs::read(file(folder)).expect("the data");
        assert!(bytes(&a) == bytes(&b), "the same seed writes the same bytes");
        assert!(bytes(&a) != bytes(&c), "another seed, another order");
        let records = case.records(&a, "");
        // Neither classes nor neighbours of the source stand together: of n rows in random order
        // the correlation is normal with variance 1/n; five deviations are passed once in a million.
        let bound = 5.0 / (records.len() as f64).sqrt();
        let number: Vec<f64> = records
            .iter()
            .map(|r| r[r.len() - 1 - usize::from(case.method == ANATOMY)][..4].parse())
            .collect::<Result<_, _>>()
            .expect("its number");
        assert!(correlation(&number).abs() < bound, "{}: the source's order", case.method);
        let mut classes: Vec<&[String]> = records.iter().map(|r| &r[..2]).collect();
        classes.sort();
        classes.dedup();
        let class: Vec<f64> = records
            .iter()
            .map(|r| classes.binary_search(&&r[..2]).expect("is there") as f64)
            .collect();
        assert!(correlation(&class).abs() < bound, "{}: class by class", case.method);
        let names: Vec<_> =
            fs::read_dir(&a).expect("a folder").map(|e| e.unwrap().file_name()).collect();
        assert!(names.iter().all(|n| !n.to_string_lossy().starts_with('.')), "{names:?}");
    }
}

#[test]
fn a_format_that_the_engine_does_not_read_is_refused_before_anything_is_read() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let case = &CASES[3];
    let naive = Naive { formats: &["csv", "parquet"], ..Naive::new(case.most) };
    let problems = case.publish(folder.path(), "to", 1, Some(&naive)).expect_err("not read");
    let text = problems.to_string();
    assert!(
        text.contains("not the format `arrow`") && text.contains("`csv` or `parquet`"),
        "{text}"
    );
}
