//! Releases of earlier builds are read as they were meant.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use scumble::policy::Source;
use scumble_publisher::answer::{Checked, Outcome};
use scumble_publisher::check::CheckRequest;
use scumble_publisher::policy_file::PolicyFile;
use scumble_publisher::publish::PublishRequest;
use scumble_publisher::publisher::Publisher;
use serde_json::Value;
use std::path::Path;

fn checked(release: &Path) -> Checked {
    let checked = Publisher::default().check(&Source::from(release), &CheckRequest::default());
    let mut checked = checked.unwrap_or_else(|e| panic!("{e}"));
    checked.seconds.clear();
    checked
}

/// Earlier builds wrote the numbers of characters kept as a list, and masks as long as the longest
/// value.
#[test]
fn prefixes_as_a_list_are_masks_of_one_length() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path();
    let zips = ["13053", "13068", "13077", "14850", "14853", "14850", "14853", "1485", "1485"];
    let mut table = String::from("zip,disease\n");
    for (i, zip) in zips.iter().enumerate() {
        table += &format!("{zip},d{}\n", i % 3);
    }
    std::fs::write(base.join("patients.csv"), table).unwrap();
    for (number, prefix, keep) in
        [(0, "prefix = true", "[]"), (1, "prefix = [4, 3]", "[4,3]"), (2, "prefix = [2]", "[2]")]
    {
        let text = format!(
            "source = \"patients.csv\"\nledger = false\n[attributes]\n\
             zip = {{ role = \"quasi-identifier\", taxonomy = {{ {prefix}, length = 5 }} }}\n\
             disease = \"sensitive\"\n[[models]]\nname = \"k-anonymity\"\nk = 2\n\
             [algorithm]\nname = \"mondrian\"\n[release]\nto = \"release-{number}\"\n"
        );
        let request = PublishRequest { seed: Some(1), ..PublishRequest::default() };
        let policy = PolicyFile::of_text(text, base);
        let published = Publisher::default().publish(&policy, &request);
        assert_eq!(published.unwrap_or_else(|e| panic!("{e}")).outcome, Outcome::Published);
        let release = base.join(format!("release-{number}"));
        let data = std::fs::read_to_string(release.join("data.csv")).unwrap();
        assert!(data.contains("**"), "something is masked\n{data}");
        let now = checked(&release);
        assert_eq!(now.keeps, Some(true), "{now:?}");

        let file = release.join("manifest.json");
        let mut manifest: Value =
            serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        let columns = manifest["columns"].as_array_mut().expect("columns");
        let zip = columns.iter_mut().find(|c| c["name"] == "zip").expect("zip");
        assert_eq!(zip["taxonomy"]["prefix"]["length"], 5, "{zip}");
        zip["taxonomy"]["prefix"] = serde_json::from_str(keep).unwrap();
        std::fs::write(&file, manifest.to_string()).unwrap();
        assert_eq!(checked(&release), now);
    }
}
