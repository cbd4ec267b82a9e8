//! A front end: no policy file, no command, only the library.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use arrow_array::{Array, ArrayRef, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use scumble::policy::spec::{AttributeSpec, ModelSpec, TaxonomySpec};
use scumble::policy::{Difference, PolicySpec, Source, Sweep};
use scumble::table::Role;
use scumble_publisher::answer::{Outcome, Published};
use scumble_publisher::attack::{AttackAnswer, AttackRequest};
use scumble_publisher::inspect::InspectRequest;
use scumble_publisher::inspect::taxonomies::{BuildTaxonomyRequest, CheckTaxonomyRequest};
use scumble_publisher::ledger::Whereabouts;
use scumble_publisher::policy_file::PolicyFile;
use scumble_publisher::publish::compare::CompareRequest;
use scumble_publisher::publish::{PublishRequest, Repair};
use scumble_publisher::publisher::Publisher;
use scumble_publisher::table::columns::ReadOptions;
use scumble_publisher::table::memory::MemoryTable;
use std::path::Path;
use std::sync::Arc;

/// People on two floors of three wards, two in each; illnesses go round.
fn people(names: impl Iterator<Item = usize>) -> MemoryTable {
    let rows: Vec<[String; 3]> = names
        .map(|i| {
            let ward = format!("{}{}", ["A", "B"][i / 6 % 2], i % 6 / 2 + 1);
            [format!("P{i}"), ward, format!("ill{}", i % 5)]
        })
        .collect();
    let column = |at: usize| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(rows.iter().map(|row| row[at].as_str())))
    };
    let field = |name: &str| Field::new(name, DataType::Utf8, true);
    let schema = Schema::new(["id", "ward", "illness"].map(field).to_vec());
    let columns = vec![column(0), column(1), column(2)];
    RecordBatch::try_new(Arc::new(schema), columns).unwrap().into()
}

/// What a steward makes of the draft.
fn decided(mut spec: PolicySpec, base: &Path, to: &str) -> PolicyFile {
    let person = AttributeSpec { person: Some(true), ..AttributeSpec::new(Role::Identifier) };
    let ward = AttributeSpec::new(Role::QuasiIdentifier).with(TaxonomySpec::prefix());
    spec.attributes.clear();
    spec.attributes.insert("id".into(), person);
    spec.attributes.insert("ward".into(), ward);
    spec.attributes.insert("illness".into(), AttributeSpec::new(Role::Sensitive));
    spec.models = vec![ModelSpec::new("k-anonymity").with("k", 2)];
    spec.gate.get_or_insert_default().candidates = Some(4.into());
    spec.release.get_or_insert_default().to = to.into();
    PolicyFile::of_spec(&spec, base)
}

fn seeded() -> PublishRequest {
    PublishRequest { seed: Some(1), ..PublishRequest::default() }
}

fn publish(publisher: &Publisher<'_>, file: &PolicyFile, request: &PublishRequest) -> Published {
    publisher.publish(file, request).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn from_a_batch_to_an_attack() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path();
    let publisher = Publisher::default().with_table("patients", people(0..12));
    let source = Source::from(Path::new("memory:patients"));

    let look = publisher.inspect(&source, &InspectRequest::default()).unwrap();
    assert_eq!((look.rows, look.columns.len()), (12, 3));
    let draft = PolicySpec::parse("draft", &publisher.draft(&look, &source)).unwrap();
    let policy = decided(draft.clone(), base, "releases/first");

    // A limit that the release cannot keep: it is refused, and nothing is there.
    let refused = publish(&publisher, &policy, &seeded());
    assert_eq!(refused.outcome, Outcome::Refused);
    assert!(!refused.reasons.is_empty() && refused.remedies.len() >= 2, "{refused:?}");
    assert!(!base.join("releases").exists() && !base.join("ledger").exists());
    let (nothing, none) = publisher.publish_to_memory(&policy, &seeded()).unwrap();
    assert!(nothing.outcome == Outcome::Refused && none.is_none());

    // The second remedy that changes the policy, through its spec: what it says, it does.
    let saved: Vec<_> = refused.remedies.iter().filter(|r| r.policy.is_some()).collect();
    let second = saved.get(1).unwrap_or_else(|| panic!("{:?}", refused.remedies));
    let text = second.policy.as_deref().unwrap();
    let spec = PolicySpec::parse("remedy", text).unwrap_or_else(|e| panic!("{e}"));
    let dry = PublishRequest { dry_run: true, ..seeded() };
    let would = publish(&publisher, &PolicyFile::of_spec(&spec, base), &dry);
    assert_eq!(would.outcome, Outcome::WouldPublish, "{would:?}");
    assert_eq!((would.rows, would.suppressed), (second.records, second.suppressed));

    // What else could be had: one policy with several values.
    let set = vec![Sweep::parse("k=2,3,6").unwrap()];
    let sweep = CompareRequest { seed: Some(1), set, ..CompareRequest::default() };
    let compared = publisher.compare(std::slice::from_ref(&policy), &sweep).unwrap();
    let chosen: Vec<&str> = compared.policies.iter().map(|p| p.set[0].value.as_str()).collect();
    assert_eq!(chosen, ["2", "3", "6"]);
    let classes: Vec<u64> = compared.policies.iter().map(|p| p.classes).collect();
    assert!(classes.is_sorted_by(|a, b| a >= b), "{classes:?}");

    // The same remedy by its number, on disk.
    let request = PublishRequest { repair: Repair::Number(second.number), ..seeded() };
    let first = publish(&publisher, &policy, &request);
    assert_eq!(first.outcome, Outcome::Published);
    assert!(first.remedies.iter().any(|r| r.applied && r.what == second.what));
    let verified = publisher.verify(&base.join("releases/first")).unwrap();
    assert!(verified.holds, "{verified:?}");

    // Another year, in memory: the ledger knows both.
    let publisher = publisher.with_table("patients", people(20..40));
    let mut next = decided(draft, base, "releases/next").spec().unwrap();
    next.gate = None;
    let strangers = publisher.publish(&PolicyFile::of_spec(&next, base), &seeded()).unwrap_err();
    assert!(strangers.to_string().contains("0 of 20 people"), "{strangers}");
    next.history.get_or_insert_default().meant = vec![Difference::NewPeople];
    let next = PolicyFile::of_spec(&next, base);
    let (answer, release) = publisher.publish_to_memory(&next, &seeded()).unwrap();
    let release = release.unwrap_or_else(|| panic!("{:?}", answer.reasons));
    let table = &release.tables["data"];
    let rows: usize = table.batches().iter().map(RecordBatch::num_rows).sum();
    assert_eq!(rows as u64, answer.rows);
    let names: Vec<&str> = table.schema().fields().iter().map(|f| f.name().as_str()).collect();
    assert_eq!(names, ["ward", "illness"], "identifiers never leave");
    for batch in table.batches() {
        assert_eq!(batch.column(0).null_count(), 0);
    }
    let ledger = Whereabouts::find(Some(&next), None, None, None).unwrap();
    let listed = publisher.list(&ledger).unwrap();
    let names: Vec<&str> = listed.releases.iter().map(|r| r.name.as_str()).collect();
    assert_eq!(names, ["first", "next"]);
    assert!(publisher.verify_ledger(&ledger, None).unwrap().sound);

    // What is in memory can be given away, and is what was judged.
    let given = base.join("given");
    release.save(&given).unwrap();
    assert!(publisher.verify(&given).unwrap().holds);

    // The adversary's register comes from memory, too.
    let request = AttackRequest {
        releases: vec![given],
        register: Some("memory:patients".into()),
        name: Some("id".into()),
        ..AttackRequest::default()
    };
    let AttackAnswer::Releases(attacked) = publisher.attack(&request).unwrap() else {
        panic!("releases were attacked")
    };
    assert!(attacked.attacks.iter().any(|a| a.attack == "record-linkage"), "{attacked:?}");
    let why = publisher.why("P20", None, &request).unwrap();
    let total: f64 = why.values.iter().map(|v| v.probability).sum();
    assert!((total - 1.0).abs() < 1e-9, "{why:?}");
}

/// Taxonomies are built and checked without a file of the data.
#[test]
fn taxonomies_of_a_table_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let publisher = Publisher::default().with_table("patients", people(0..12));
    let data = Source::from(Path::new("memory:patients"));
    let request = BuildTaxonomyRequest {
        data: data.clone(),
        read: ReadOptions::default(),
        column: "ward".into(),
        rule: TaxonomySpec::prefix(),
        to: None,
    };
    let built = publisher.build_taxonomy(&request).unwrap();
    assert_eq!((built.values, built.rows.as_ref().map(Vec::len)), (6, Some(6)));
    let file = folder.path().join("wards.csv");
    publisher.build_taxonomy(&BuildTaxonomyRequest { to: Some(file.clone()), ..request }).unwrap();
    let mut request = CheckTaxonomyRequest {
        file,
        against: Some((data.clone(), "ward".into())),
        ..CheckTaxonomyRequest::default()
    };
    let checked = publisher.check_taxonomy(&request).unwrap();
    assert_eq!(checked.against.unwrap().missing, 0);
    request.against = Some((data, "illness".into()));
    let checked = publisher.check_taxonomy(&request).unwrap().against.unwrap();
    assert_eq!((checked.missing, checked.missing_values.len()), (5, 0), "values are personal data");
}

/// The same policy publishes the same rows from memory and from a file.
#[test]
fn a_table_in_memory_is_a_source_like_any_other() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path();
    let publisher = Publisher::default().with_table("patients", people(0..12));
    let mut text = String::from("id,ward,illness\n");
    for batch in people(0..12).batches() {
        for row in 0..batch.num_rows() {
            let cell = |at: usize| {
                let column = batch.column(at).as_any().downcast_ref::<StringArray>();
                column.unwrap().value(row).to_owned()
            };
            text += &format!("{},{},{}\n", cell(0), cell(1), cell(2));
        }
    }
    std::fs::write(base.join("patients.csv"), text).unwrap();
    let policy = |source: &str, to: &str| {
        let text = format!(
            "source = \"{source}\"\nledger = false\n[attributes]\nid = \"identifier\"\n\
             ward = {{ role = \"quasi-identifier\", taxonomy = {{ prefix = true }} }}\n\
             illness = \"sensitive\"\n[[models]]\nname = \"k-anonymity\"\nk = 3\n\
             [algorithm]\nname = \"mondrian\"\n[release]\nto = \"{to}\"\n"
        );
        PolicyFile::of_text(text, base)
    };
    for (source, to) in [("memory:patients", "a"), ("patients.csv", "b")] {
        assert_eq!(publish(&publisher, &policy(source, to), &seeded()).outcome, Outcome::Published);
    }
    let read = |to: &str| std::fs::read(base.join(to).join("data.csv")).unwrap();
    assert_eq!(read("a"), read("b"));
    let unknown = publisher.publish(&policy("memory:patient", "c"), &seeded()).unwrap_err();
    assert!(unknown.to_string().contains("`patient`"), "{unknown}");
}
