//! What goes wrong is told without what DataFusion quotes.

use crate::{Cluster, DATAFUSION, Place};
use arrow_array::{ArrayRef, Int32Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use std::fs::{self, File};
use std::sync::Arc;

/// A value that nobody may see.
const SECRET: &str = "Zebedee-4711";

fn write(place: &Place, name: &str, ages: ArrayRef) {
    let disease: ArrayRef = Arc::new(StringArray::from(vec!["flu"; ages.len()]));
    let batch = RecordBatch::try_from_iter([("age", ages), ("disease", disease)]).expect("columns");
    let file = File::create(place.path(name)).expect("a file");
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).expect("a writer");
    writer.write(&batch).expect("rows");
    writer.close().expect("an end");
}

/// Two Parquet files: the first has numbers where the second has texts.
fn mixed() -> Place {
    let place = Place::new();
    fs::create_dir_all(place.path("parts")).expect("a folder");
    write(&place, "parts/1.parquet", Arc::new(Int32Array::from_iter_values(0..100)));
    write(&place, "parts/2.parquet", Arc::new(StringArray::from(vec![SECRET; 100])));
    place.write(
        "policy.toml",
        "source = \"parts\"\nledger = false\n[attributes]\nage = { role = \"quasi-identifier\", taxonomy = { flat = true } }\n\
         disease = { role = \"sensitive\" }\n[[models]]\nname = \"k-anonymity\"\nk = 2\n[algorithm]\nname = \"mondrian\"\n\
         [release]\nto = \"release\"\n",
    );
    place
}

fn tells_no_value(place: &Place, how: &[&str]) -> String {
    let before = place.names();
    let text = place.expect(2, &[&["publish", "policy.toml"], how].concat());
    assert!(!text.contains(SECRET) && !text.contains("4711"), "{text}");
    place.nothing_but(&before);
    text
}

#[test]
fn a_value_of_another_type_is_not_quoted() {
    let place = mixed();
    let text = tells_no_value(&place, &DATAFUSION);
    assert!(text.contains("same types") || text.contains("same columns"), "{text}");
    let check = ["check", "parts", "--quasi-identifiers", "age", "--sensitive", "disease"];
    let text = place.expect(2, &[&check[..], &DATAFUSION].concat());
    assert!(!text.contains(SECRET), "{text}");
}

#[test]
fn nor_on_a_cluster() {
    let place = mixed();
    let cluster = Cluster::start();
    tells_no_value(&place, &["--cluster", &cluster.address]);
    for log in ["scheduler.log", "executor-0.log", "executor-1.log"] {
        let text = fs::read_to_string(cluster.folder.path().join(log)).expect("a log");
        assert!(!text.contains(SECRET), "{log}: {text}");
    }
}

#[test]
fn a_damaged_file_is_not_quoted() {
    let place = mixed();
    place.write("parts/1.parquet", &SECRET.repeat(10));
    let text = tells_no_value(&place, &DATAFUSION);
    assert!(text.contains("damaged"), "{text}");
}
