//! The table of file formats: whatever is in it is detected, read, written and documented.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Float64Array, Int64Array, RecordBatch, StringArray,
};
use scumble_publisher::policy_file::PolicyFile;
use scumble_publisher::publish::PublishRequest;
use scumble_publisher::publisher::Publisher;
use scumble_publisher::table::columns::{self, Columns, ReadOptions};
use scumble_publisher::table::format::{self, FORMATS, Format};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Cells that a format could spoil.
const ODD: [&str; 9] =
    ["", "a,b", "a;b\tc", "say \"so\"", "\"", "two\nlines", "cr\r\nlf", " padded ", "Zoë 東京"];

/// People with a quasi-identifier, and a column of each type that is published as it is.
fn people() -> RecordBatch {
    let n = 90;
    let ages = (0..n).map(|i| 20 + i / 10);
    let odd = (0..n as usize).map(|i| ODD[i * 7 % ODD.len()]);
    let columns: [(&str, ArrayRef); 6] = [
        ("age", Arc::new(Int64Array::from_iter_values(ages))),
        ("text", Arc::new(StringArray::from_iter_values(odd))),
        ("whole", Arc::new(Int64Array::from_iter((0..n).map(|i| (i % 4 > 0).then_some(i - 7))))),
        ("real", Arc::new(Float64Array::from_iter_values((0..n).map(|i| i as f64 / 8.0)))),
        ("flag", Arc::new(BooleanArray::from_iter((0..n).map(|i| Some(i % 3 == 0))))),
        ("day", Arc::new(Date32Array::from_iter_values((0..n).map(|i| 18_000 + i as i32)))),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, c)| (name, c, true))).unwrap()
}

/// A release of them in a format: its data file.
fn released(format: &Format, base: &Path) -> PathBuf {
    let policy = format!(
        "source = \"memory:people\"\nledger = false\n[attributes]\n\
         age = {{ role = \"quasi-identifier\", taxonomy = {{ intervals = [5], low = 0, high = 100 }} }}\n\
         text = \"insensitive\"\nwhole = \"insensitive\"\nreal = \"insensitive\"\n\
         flag = \"insensitive\"\nday = \"insensitive\"\n\
         [[models]]\nname = \"k-anonymity\"\nk = 5\n[algorithm]\nname = \"mondrian\"\n\
         [release]\nto = \"{name}\"\nformat = \"{name}\"\n",
        name = format.name
    );
    let request = PublishRequest { seed: Some(3), ..PublishRequest::default() };
    let publisher = Publisher::default().with_table("people", people().into());
    let answer = publisher.publish(&PolicyFile::of_text(policy, base), &request);
    answer.unwrap_or_else(|e| panic!("{}: {e}", format.name));
    base.join(format.name).join(format!("data.{}", format.endings[0]))
}

fn read(path: &Path) -> Columns {
    columns::read(path, &ReadOptions::default(), None, &|_, _| true)
        .unwrap_or_else(|e| panic!("{e}"))
}

fn texts(read: &Columns) -> Vec<(String, Vec<String>)> {
    let column = |c: &columns::Column| {
        let texts = c.codes.iter().map(|&code| c.values.get(code).to_owned());
        (c.name.clone(), texts.collect())
    };
    read.columns.iter().map(column).collect()
}

#[test]
fn what_is_written_is_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let kept = people();
    let written: Vec<&Format> = FORMATS.iter().copied().filter(|f| f.writer.is_some()).collect();
    assert_eq!(format::written(), written.iter().map(|f| f.name).collect::<Vec<_>>());
    let mut first = None;
    for format in written {
        let file = released(format, folder.path());
        let back = read(&file);
        assert_eq!(back.rows, kept.num_rows(), "{}", format.name);
        // The same seed gives the same order, so that files differ in nothing but their format.
        let found = texts(&back);
        let expected = first.get_or_insert_with(|| found.clone());
        assert!(
            *expected == found,
            "{} holds something else than {}",
            format.name,
            FORMATS[0].name
        );
        let mut odd: Vec<&str> = found[1].1.iter().map(String::as_str).collect();
        odd.sort_unstable();
        odd.dedup();
        let all: BTreeSet<&str> = ODD.into_iter().collect();
        assert!(odd.into_iter().eq(all), "{}: a cell was changed", format.name);
        for (column, field) in back.columns.iter().zip(kept.schema().fields()).skip(1) {
            let is_typed = column.arrow.as_ref().is_some_and(|kind| kind == field.data_type());
            let is_text = format.reader.dialect.is_some() && column.arrow.is_none();
            assert!(is_typed || is_text, "{}: {} is {:?}", format.name, column.name, column.arrow);
        }
        // And without a known ending, by its first bytes or as text.
        let bare = folder.path().join(format!("{}-file", format.name));
        fs::copy(&file, &bare).unwrap();
        assert_eq!(format::of_file(&bare).unwrap_or_else(|e| panic!("{e}")), format);
        assert_eq!(texts(&read(&bare)), found);
    }
}

#[test]
fn the_table_is_unambiguous() {
    let mut names = BTreeSet::new();
    let mut endings = BTreeSet::new();
    for format in FORMATS {
        assert!(names.insert(format.name), "{} twice", format.name);
        assert!(!format.endings.is_empty(), "{}", format.name);
        for ending in format.endings {
            assert!(endings.insert(*ending), "`.{ending}` twice");
            assert_eq!(*ending, ending.to_ascii_lowercase());
            let upper = PathBuf::from(format!("x.{}", ending.to_ascii_uppercase()));
            assert_eq!(format::of_ending(&upper), Some(*format));
        }
        for magic in format.magic {
            assert_eq!(format::of_bytes(magic), Some(*format), "{}", format.name);
        }
        assert!(format.manual().lines().next().is_some_and(|l| l.starts_with(format.title)));
    }
}

#[test]
fn an_unknown_ending_is_named_with_what_is_known() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let told = |name: &str, bytes: &[u8]| {
        fs::write(path(name), bytes).unwrap();
        let header = columns::header(&path(name), &ReadOptions::default());
        header.map_err(|e| (e.0[0].code.to_string(), e.to_string()))
    };
    let (code, text) = told("people.xlsb", b"\xd0\xcf\x11\xe0\0\0").unwrap_err();
    assert_eq!(code, "unknown-format");
    assert!(text.contains("no format has the ending `.xlsb`"), "{text}");
    for format in FORMATS {
        assert!(text.contains(&format.with_endings()), "{text}");
    }
    let (_, text) = told("people.parqet", b"junk\0").unwrap_err();
    assert!(text.contains("did you mean `.parquet`?"), "{text}");
    // Text is read whatever it is called, and what is known otherwise is told better.
    assert_eq!(told("people.data", b"a,b\n1,2\n").unwrap(), ["a", "b"]);
    let (code, text) = told("people.xlsx", b"PK\x03\x04\0\0").unwrap_err();
    assert!(code == "not-csv" && text.contains("Excel workbook"), "{text}");
    // The ending decides; a file that begins otherwise is told.
    let parquet = released(FORMATS.iter().find(|f| f.name == "parquet").unwrap(), folder.path());
    let (code, text) = told("people.csv", &fs::read(parquet).unwrap()).unwrap_err();
    assert!(code == "not-csv" && text.contains("is a Parquet file"), "{text}");
}

#[test]
fn a_policy_names_formats_of_the_table() {
    let policy = |format: &str| {
        let text = format!(
            "source = \"people.csv\"\nledger = false\n[attributes]\n\
             age = {{ role = \"quasi-identifier\", taxonomy = {{ flat = true }} }}\n\
             [[models]]\nname = \"k-anonymity\"\nk = 0\n[algorithm]\nname = \"mondrian\"\n\
             [release]\nto = \"r\"\nformat = {format}\n"
        );
        PolicyFile::of_text(text, ".").policy().err().expect("k is wrong").to_string()
    };
    for name in format::written() {
        assert!(!policy(&format!("{name:?}")).contains("release.format"));
    }
    // Together with the other mistake.
    let text = policy("\"parqet\"");
    assert!(text.contains("`release.format` cannot be `parqet`"), "{text}");
    assert!(text.contains("did you mean `parquet`?") && text.contains('k'), "{text}");
    let text = policy("\"paper\"");
    assert!(text.contains("line 12"), "{text}");
    for name in format::written() {
        assert!(policy("\"zzz\"").contains(&format!("`{name}`")));
    }
}

/// Writes `docs/formats.md` from the table if `SCUMBLE_OVERWRITE` is set, and compares it.
#[test]
fn the_documentation_lists_every_format() {
    let mut page = String::from(
        "# File formats\n\n\
         Made from the table of formats; `SCUMBLE_OVERWRITE=1 cargo test -p scumble-publisher --test formats` renews it.\n\n\
         A file is of the format that its ending says. Without a known ending its first bytes decide, and text is taken for \
         CSV. `format` under `[release]` of a policy names the format of a release.\n\n\
         | format | endings | read | written | |\n| --- | --- | --- | --- | --- |\n",
    );
    for f in FORMATS {
        let endings: Vec<String> = f.endings.iter().map(|e| format!("`.{e}`")).collect();
        let written =
            if f.writer.is_some() { format!("`format = \"{}\"`", f.name) } else { "no".into() };
        let row =
            format!("| {} | {} | yes | {written} | {} |\n", f.title, endings.join(", "), f.about);
        page.push_str(&row);
    }
    for f in FORMATS {
        page.push_str(&format!("\n## {}\n\n{}", f.title, f.manual()));
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/formats.md");
    if std::env::var_os("SCUMBLE_OVERWRITE").is_some() {
        fs::write(&path, &page).unwrap();
    }
    let there = fs::read_to_string(&path).unwrap_or_default();
    assert!(there == page, "docs/formats.md is stale; SCUMBLE_OVERWRITE=1 writes it");
}
