//! A source is opened once, whatever is done with it.

#![allow(clippy::unwrap_used, clippy::panic)]

use crate::answer::Outcome;
use crate::policy_file::PolicyFile;
use crate::publish::compare::CompareRequest;
use crate::publish::{PublishRequest, Repair};
use crate::publisher::Publisher;
use crate::table::columns::opened::times;
use scumble::policy::{PolicySpec, Sweep};
use std::fmt::Write;
use std::path::Path;

/// People on two floors of three wards, two in each; illnesses go round. The dialect is detected.
fn hospital(folder: &Path) -> PolicyFile {
    let mut text = String::from("id;ward;illness\n");
    for i in 0..12 {
        let ward = format!("{}{}", ["A", "B"][i / 6 % 2], i % 6 / 2 + 1);
        let _ = writeln!(text, "P{i};{ward};ill{}", i % 5);
    }
    std::fs::write(folder.join("patients.csv"), text).unwrap();
    let text = "# Agreed with the board.\nsource = \"patients.csv\"\n\n[attributes]\n\
         id = { role = \"identifier\", person = true } # never leaves\n\
         ward = { role = \"quasi-identifier\", taxonomy = { prefix = true } }\n\
         illness = \"sensitive\"\n\n[[models]]\nname = \"k-anonymity\"\nk = 2 # at least\n\n\
         [algorithm]\nname = \"mondrian\"\n\n[gate]\ncandidates = 4\n\n[release]\nto = \"release\"\n";
    PolicyFile::of_text(text, folder)
}

#[test]
fn a_refused_release_with_remedies_opens_its_source_once() {
    let folder = tempfile::tempdir().unwrap();
    let (file, source) = (hospital(folder.path()), folder.path().join("patients.csv"));
    let publisher = Publisher::default();
    let request = PublishRequest { seed: Some(1), ..PublishRequest::default() };
    let refused = publisher.publish(&file, &request).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(refused.outcome, Outcome::Refused);
    assert!(!refused.remedies.is_empty());
    assert_eq!(times(&source), 1, "to judge, and to look for remedies");

    // Remedies that change the policy bring it, with what the steward wrote.
    let changed: Vec<_> = refused.remedies.iter().filter_map(|r| r.policy.as_ref()).collect();
    assert!(!changed.is_empty(), "{:?}", refused.remedies);
    for text in changed {
        assert!(text.starts_with("# Agreed with the board.\n"), "{text}");
        let changed = PolicySpec::parse("changed", text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        assert_ne!(changed, file.spec().unwrap());
    }

    let number = refused.remedies[0].number;
    let request = PublishRequest { repair: Repair::Number(number), ..request };
    let published = publisher.publish(&file, &request).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(published.outcome, Outcome::Published);
    assert_eq!(times(&source), 2, "once more for the second run");
}

#[test]
fn a_sweep_opens_its_source_once() {
    let folder = tempfile::tempdir().unwrap();
    let (file, source) = (hospital(folder.path()), folder.path().join("patients.csv"));
    let set = ["k=2,3,4", "algorithm=mondrian,datafly"].map(|text| Sweep::parse(text).unwrap());
    let request = CompareRequest { seed: Some(1), set: set.to_vec(), ..CompareRequest::default() };
    let files = [file.clone(), file.clone()];
    let swept = Publisher::default().compare(&files, &request).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(swept.policies.len(), 12);
    assert_eq!(times(&source), 1);

    // And says what each policy says by itself.
    for row in &swept.policies[..6] {
        let mut spec = file.spec().unwrap();
        for chosen in &row.set {
            let sweep = Sweep::parse(&format!("{}={}", chosen.key, chosen.value)).unwrap();
            spec.set(&sweep.key, sweep.values[0].clone()).unwrap_or_else(|e| panic!("{e}"));
        }
        let alone = PolicyFile::of_spec(&spec, folder.path());
        let request = CompareRequest { seed: Some(1), ..CompareRequest::default() };
        let alone = Publisher::default().compare(&[alone], &request);
        let alone = &alone.unwrap_or_else(|e| panic!("{e}")).policies[0];
        assert_eq!(
            (alone.classes, alone.rows, &alone.models),
            (row.classes, row.rows, &row.models)
        );
        assert_eq!((&alone.utility, &alone.queries), (&row.utility, &row.queries));
    }
}

#[test]
fn a_sweep_over_columns_reads_what_each_policy_wants() {
    let folder = tempfile::tempdir().unwrap();
    let file = hospital(folder.path());
    let set = [Sweep::parse("attributes.illness.role=identifier,sensitive").unwrap()];
    let request = CompareRequest { seed: Some(1), set: set.to_vec(), ..CompareRequest::default() };
    let swept = Publisher::default().compare(&[file], &request).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(swept.policies.len(), 2);
    assert_eq!(times(&folder.path().join("patients.csv")), 1, "with the columns of both");
}

#[test]
fn a_sweep_names_what_it_does_not_know() {
    let folder = tempfile::tempdir().unwrap();
    let file = hospital(folder.path());
    for (set, told) in [
        ("kk=2", "`kk` is no key of the policy"),
        ("l-diversity.l=2", "no section, model or algorithm `l-diversity`"),
        ("models.2.k=2", "the policy has no model `2`"),
        ("k=0", "with models.1.k = 0"),
        ("gate.candidtes=2", "`gate.candidtes` is not known"),
    ] {
        let request =
            CompareRequest { set: vec![Sweep::parse(set).unwrap()], ..CompareRequest::default() };
        let failures = Publisher::default().compare(std::slice::from_ref(&file), &request);
        let failures = failures.map(|_| ()).unwrap_err().to_string();
        assert!(failures.contains(told), "{set}: {failures}");
    }
    assert_eq!(times(&folder.path().join("patients.csv")), 0);
}
