//! Reading of tables, against a slow twin that parses CSV one character at a time, and on every
//! kind of bad input.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::types::Int8Type;
use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, DictionaryArray, Float64Array,
    Int32Array, LargeStringArray, ListArray, NullArray, RecordBatch, StringArray, StringViewArray,
    TimestampMicrosecondArray, TimestampMillisecondArray, UInt64Array,
};
use arrow_schema::DataType;
use proptest::prelude::*;
use scumble::failure::Failures;
use scumble_publisher::table::columns::{Columns, Dialect, ReadOptions, header, read};
use scumble_publisher::table::dictionary::Dictionary;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

fn file(directory: &TempDir, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let path = directory.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

fn read_all(path: &Path, options: &ReadOptions) -> Result<Columns, Failures> {
    read(path, options, None, &|_, _| true)
}

fn read_text(bytes: impl AsRef<[u8]>) -> Result<Columns, Failures> {
    let directory = tempfile::tempdir().unwrap();
    read_all(&file(&directory, "x.csv", bytes), &ReadOptions::default())
}

/// The rows as texts.
fn rows(columns: &Columns) -> Vec<Vec<String>> {
    let cell = |row: usize| {
        columns.columns.iter().map(move |c| c.values.get(c.codes[row]).to_owned()).collect()
    };
    (0..columns.rows).map(cell).collect()
}

/// The messages, with the directory taken out of the paths.
fn messages(result: Result<Columns, Failures>) -> Vec<String> {
    let shorten = |message: &str| {
        let mut words: Vec<String> = message.split('`').map(str::to_owned).collect();
        for word in words.iter_mut().filter(|word| word.starts_with('/')) {
            *word = Path::new(word).file_name().unwrap().to_string_lossy().into_owned();
        }
        words.join("`")
    };
    result.unwrap_err().0.iter().map(|problem| shorten(&problem.message)).collect()
}

/// Values are numbered by first appearance, and every one is used.
fn check_numbering(columns: &Columns) {
    for column in &columns.columns {
        assert_eq!(column.codes.len(), columns.rows);
        let mut next = 0;
        for &code in &column.codes {
            assert!(code <= next, "code {code} before {next}");
            next = next.max(code + 1);
        }
        assert_eq!(next as usize, column.values.len());
    }
}

/// A record as the twin sees it.
#[derive(Clone, Debug, PartialEq)]
struct Record {
    line: usize,
    cells: Vec<String>,
    blank: bool,
}

/// Splits a text into records, one character at a time; the line of a quote that is never closed.
fn twin(text: &str, delimiter: char, quote: char) -> Result<Vec<Record>, usize> {
    let text: Vec<char> = text.strip_prefix('\u{feff}').unwrap_or(text).chars().collect();
    let (mut records, mut cells, mut cell) = (Vec::new(), Vec::new(), String::new());
    let (mut line, mut first_line, mut i) = (1, 1, 0);
    let (mut at_start, mut inside, mut opened, mut quoted_to, mut was_quoted) =
        (true, false, 0, 0, false);
    loop {
        let c = text.get(i).copied();
        i += 1;
        match c {
            None if inside => return Err(opened),
            Some(c) if inside && c == quote => {
                if text.get(i) == Some(&quote) {
                    cell.push(quote);
                    i += 1;
                } else {
                    inside = false;
                    quoted_to = cell.len();
                }
            }
            Some(c) if inside => {
                line += usize::from(c == '\n');
                cell.push(c);
            }
            Some(c) if at_start && c == quote => {
                (at_start, inside, opened, was_quoted) = (false, true, line, true);
            }
            Some(c) if c == delimiter => {
                cells.push(std::mem::take(&mut cell));
                (at_start, quoted_to, was_quoted) = (true, 0, false);
            }
            None | Some('\n') => {
                let ended = c.is_none();
                if !(ended && cells.is_empty() && at_start) {
                    if cell.len() > quoted_to && cell.ends_with('\r') {
                        cell.pop();
                    }
                    let blank = cells.is_empty() && cell.is_empty() && !was_quoted;
                    cells.push(std::mem::take(&mut cell));
                    records.push(Record {
                        line: first_line,
                        cells: std::mem::take(&mut cells),
                        blank,
                    });
                }
                if ended {
                    return Ok(records);
                }
                line += 1;
                (at_start, quoted_to, was_quoted, first_line) = (true, 0, false, line);
            }
            Some(c) => {
                at_start = false;
                cell.push(c);
            }
        }
    }
}

/// The header and the records, blank lines treated as documented.
fn table(mut records: Vec<Record>) -> Option<(Vec<String>, Vec<Record>)> {
    let first = records.iter().position(|record| !record.blank)?;
    let names = records[first].cells.clone();
    records.drain(..=first);
    if names.len() > 1 {
        records.retain(|record| !record.blank);
    }
    while records.last().is_some_and(|record| record.blank) {
        records.pop();
    }
    Some((names, records))
}

/// Reads `text` with tiny blocks and compares everything with the twin.
fn compare(text: &str, threads: usize, block: usize) {
    let directory = tempfile::tempdir().unwrap();
    let path = file(&directory, "x.csv", text);
    let (delimiter, quote) = (Some(b','), Some(b'"'));
    let options =
        ReadOptions { delimiter, quote, threads: Some(threads), block: Some(block), hash: true };
    let result = read_all(&path, &options);
    let (names, records) = match twin(text, ',', '"') {
        Ok(records) => table(records).unwrap(),
        Err(line) => {
            let message = format!("a quote opened on line {line} of `x.csv` is never closed");
            assert!(messages(result).contains(&message));
            return;
        }
    };
    let ragged: Vec<&Record> =
        records.iter().filter(|record| record.cells.len() != names.len()).collect();
    if !ragged.is_empty() {
        let told = messages(result);
        assert_eq!(told.len(), ragged.len().min(11));
        for (message, record) in told.iter().zip(ragged).take(10) {
            assert!(message.starts_with(&format!(
                "line {} of `x.csv` has {} ",
                record.line,
                record.cells.len()
            )));
        }
        return;
    }
    let columns = result.unwrap();
    check_numbering(&columns);
    assert_eq!(columns.columns.iter().map(|c| c.name.clone()).collect::<Vec<_>>(), names);
    assert_eq!(rows(&columns), records.into_iter().map(|record| record.cells).collect::<Vec<_>>());
    assert_eq!(columns.bytes, text.len() as u64);
    let hash: String = Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(columns.sha256, Some(hash));
}

/// A cell as a writer of CSV may write it.
fn cell() -> impl Strategy<Value = String> {
    let text = prop_oneof![
        4 => "[ab é]{0,9}",
        1 => "[abc]{6,10}|[abc]{14,18}|[abc]{22,26}|[abc]{30,36}|[ab]{60,70}",
        2 => "[ab,\"\n\r;']{0,6}",
    ];
    (text, any::<bool>()).prop_map(|(text, always)| {
        if always || text.contains([',', '"', '\n', '\r']) {
            format!("\"{}\"", text.replace('"', "\"\""))
        } else {
            text
        }
    })
}

fn written() -> impl Strategy<Value = String> {
    let line = |width| proptest::collection::vec(cell(), width);
    let body = (1usize..4)
        .prop_flat_map(move |width| (Just(width), proptest::collection::vec(line(width), 0..30)));
    (body, any::<bool>(), any::<bool>(), any::<bool>(), 0usize..4).prop_map(
        |((width, rows), bom, crlf, last, blanks)| {
            let end = if crlf { "\r\n" } else { "\n" };
            let mut text = if bom { "\u{feff}".to_owned() } else { String::new() };
            text += &end.repeat(blanks % 2);
            text += &["x", "\"y\ny\"", "z"][..width].join(",");
            for (i, row) in rows.iter().enumerate() {
                text += end;
                text += &end.repeat(usize::from(i == blanks));
                text += &row.join(",");
            }
            if last {
                text += &end.repeat(1 + blanks);
            }
            text
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn written_by_the_rules(text in written(), threads in 1usize..5, block in 1usize..64) {
        compare(&text, threads, block);
    }

    #[test]
    fn any_characters(body in "[ab,\"\"\n\n\ré]{0,60}", one in any::<bool>(), threads in 1usize..4, block in 1usize..40) {
        compare(&format!("{}\n{body}", if one { "x" } else { "x,y" }), threads, block);
    }

    #[test]
    fn bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), block in 1usize..64) {
        let directory = tempfile::tempdir().unwrap();
        let options = ReadOptions { block: Some(block), ..ReadOptions::default() };
        for name in ["x.csv", "x.parquet", "x.arrow", "x"] {
            let _ = read_all(&file(&directory, name, &bytes), &options);
        }
    }
}

#[test]
fn same_for_every_number_of_threads() {
    let directory = tempfile::tempdir().unwrap();
    let mut text = String::from("id;group;note\n");
    for i in 0..50_000u32 {
        let mixed = i.wrapping_mul(2_654_435_761);
        text += &format!("{mixed};{};\"n {}\"\n", mixed % 300, mixed % 70_000);
    }
    let path = file(&directory, "x.csv", &text);
    let options = |threads, block| ReadOptions {
        threads: Some(threads),
        block: Some(block),
        ..ReadOptions::default()
    };
    let alone = read_all(&path, &options(1, 1 << 20)).unwrap();
    check_numbering(&alone);
    assert_eq!(alone.columns[1].values.len(), 300);
    for threads in [2, 3, 8] {
        for block in [1 << 10, 1 << 14] {
            assert!(
                read_all(&path, &options(threads, block)).unwrap() == alone,
                "{threads} threads, {block} bytes"
            );
        }
    }
}

#[test]
fn only_wanted_columns_are_looked_at() {
    let directory = tempfile::tempdir().unwrap();
    let path = file(&directory, "x.csv", b"a,b,c\n1,\xff,3\n4,\"\xff,\"\"\",6\n");
    let wanted = ["c".to_owned(), "a".to_owned()];
    let columns = read(&path, &ReadOptions::default(), Some(&wanted), &|_, _| true).unwrap();
    assert_eq!(columns.columns.iter().map(|c| c.name.as_str()).collect::<Vec<_>>(), ["a", "c"]);
    assert_eq!(rows(&columns), [["1", "3"], ["4", "6"]]);
    let none = read(&path, &ReadOptions::default(), Some(&[]), &|_, _| true).unwrap();
    assert_eq!((none.rows, none.columns.len()), (2, 0));
    let wrong = ["d".to_owned()];
    let problems = read(&path, &ReadOptions::default(), Some(&wrong), &|_, _| true).unwrap_err();
    assert!(problems.0[0].message.ends_with("has no column `d`"));
    assert_eq!(
        problems.0[0].remedy.as_ref().map(ToString::to_string).as_deref(),
        Some("it has 3 columns; does its first line name them?")
    );
    assert_eq!(
        messages(read_all(&path, &ReadOptions::default())),
        [
            "column `b` on line 2 of `x.csv` is not valid UTF-8",
            "column `b` on line 3 of `x.csv` is not valid UTF-8",
        ]
    );
}

#[test]
fn dialects_are_detected() {
    for (text, delimiter, quote) in [
        ("a,b\n1;5,2\n", b',', b'"'),
        ("a;b\n1,5;2,5\n3,5;1,0\n", b';', b'"'),
        ("a\tb\n1,2\t3\n", b'\t', b'"'),
        ("a|b|c\n1|2|3\n", b'|', b'"'),
        ("a\n1\n2\n", b',', b'"'),
        ("a;b\n\"x,y,z\";1\n\"x,y,z\";2\n", b';', b'"'),
        ("'a';'b'\n'x;y';'1'\n'it''s';'2'\n", b';', b'\''),
        ("a,b\n'tis,1\n'twas,2\n", b',', b'"'),
    ] {
        let columns = read_text(text).unwrap();
        assert_eq!(columns.dialect, Some(Dialect { delimiter, quote }), "{text}");
    }
    let quoted = read_text("'a';'b'\n'x;y';'1'\n'it''s';'2'\n").unwrap();
    assert_eq!(rows(&quoted), [["x;y", "1"], ["it's", "2"]]);
    let directory = tempfile::tempdir().unwrap();
    let tsv = file(&directory, "x.tsv", "name\nDoe, J\nRoe, R\n");
    assert_eq!(header(&tsv, &ReadOptions::default()).unwrap(), ["name"]);
    let off = ReadOptions { quote: Some(0), ..ReadOptions::default() };
    let literal = read_all(&file(&directory, "x.csv", "a,b\n\"1,2\n"), &off).unwrap();
    assert_eq!(rows(&literal), [["\"1", "2"]]);
    let same = ReadOptions { delimiter: Some(b'"'), ..ReadOptions::default() };
    assert_eq!(messages(read_all(&tsv, &same)).len(), 1);
}

#[test]
fn blank_lines_and_headers_alone() {
    assert_eq!(read_text("a,b\n").unwrap().rows, 0);
    assert_eq!(read_text("a,b").unwrap().columns[1].name, "b");
    assert_eq!(rows(&read_text("\n\na,b\n\n1,2\n\r\n3,4\n\n").unwrap()), [["1", "2"], ["3", "4"]]);
    assert_eq!(rows(&read_text("a\n1\n\n2\n\n\r\n").unwrap()), [["1"], [""], ["2"]]);
    assert_eq!(rows(&read_text("a\n\"\"\n\n").unwrap()), [[""]]);
    assert_eq!(rows(&read_text(" a , b\n 1 ,\n").unwrap()), [[" 1 ", ""]]);
}

#[test]
fn bad_files_are_explained() {
    let one = |bytes: &[u8]| {
        let told = messages(read_text(bytes));
        assert_eq!(told.len(), 1, "{told:?}");
        told[0].clone()
    };
    assert_eq!(one(b""), "`x.csv` is empty");
    assert_eq!(one(b"\xef\xbb\xbf\r\n\n"), "`x.csv` is empty");
    assert_eq!(one(b"a,b,a,a\n"), "columns 1 and 3 of `x.csv` have the same name");
    assert_eq!(one(b"a,,c\n"), "column 2 of `x.csv` has no name");
    assert_eq!(one(b"a,b\n1,2\n3\n"), "line 3 of `x.csv` has 1 field instead of 2");
    assert_eq!(one(b"a,b\n\"1\n1\",2\n3,4,5\n"), "line 4 of `x.csv` has 3 fields instead of 2");
    assert_eq!(
        one(b"a,b\n1,2\n3,\"4\n5,6\n"),
        "a quote opened on line 3 of `x.csv` is never closed"
    );
    assert_eq!(one(b"a,\"b\n1,2\n"), "a quote opened on line 1 of `x.csv` is never closed");
    assert_eq!(one(b"\xff\xfea\0,\0"), "`x.csv` is UTF-16");
    assert_eq!(
        one(b"a,b\n1,2\n3,\0\n"),
        "`x.csv` looks like a binary file: line 3 contains a NUL byte"
    );
    assert_eq!(one(b"\x1f\x8b\x08\0"), "`x.csv` is compressed with gzip");
    assert_eq!(
        one(b"a,b\n1,2\n3,\xe9t\xe9\n"),
        "column `b` on line 3 of `x.csv` is not valid UTF-8"
    );
    assert_eq!(
        one(b"a,\xe9\n1,2\n"),
        "the name of column 2 on line 1 of `x.csv` is not valid UTF-8"
    );
    assert_eq!(one(b"a,b\r1,2\r"), "lines of `x.csv` end with a carriage return only");
    let missing = read_all(Path::new("/nowhere/x.csv"), &ReadOptions::default()).unwrap_err();
    assert_eq!(missing.0[0].message, "`/nowhere/x.csv` does not exist");
    for bytes in [&b""[..], b"\xff\xfe", b"a\n\0", b"a\n\"", b"a,b\n1", b"a\n\xff"] {
        assert!(read_text(bytes).unwrap_err().0[0].remedy.is_some());
    }
}

#[test]
fn faults_far_into_the_file_have_their_line() {
    let mut text = b"a,b\n".to_vec();
    text.extend(b"1,\"2\n2\"\n".repeat(40_000));
    for (fault, message) in [
        (&b"1\n"[..], "line 80002 of `x.csv` has 1 field instead of 2"),
        (b"1,\0\n", "`x.csv` looks like a binary file: line 80002 contains a NUL byte"),
        (b"1,\"\n", "a quote opened on line 80002 of `x.csv` is never closed"),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let path = file(&directory, "x.csv", [&text, fault].concat());
        let options = ReadOptions {
            threads: Some(3),
            block: Some(1000),
            hash: true,
            ..ReadOptions::default()
        };
        assert_eq!(messages(read_all(&path, &options)), [message]);
    }
    let many = messages(read_text(format!("a,b\n{}", "1\n".repeat(25))));
    assert_eq!(many.len(), 11);
    assert_eq!(many[10], "and 15 more lines or cells of `x.csv` with such problems");
}

#[test]
fn very_long_lines_are_read() {
    let long = "x".repeat(10 << 20);
    let columns = read_text(format!("a,b\n1,{long}\n2,\"{long}\n\"\n")).unwrap();
    assert_eq!(columns.columns[1].values.get(0).len(), long.len());
    assert_eq!(columns.columns[1].values.get(1).len(), long.len() + 1);
    // So is a long header; but what is too long for a name is refused without repeating it.
    let names: Vec<String> = (0..10_000).map(|i| format!("{i:01000}")).collect();
    let row = vec!["1"; names.len()].join(",");
    assert_eq!(
        read_text(format!("{}\n{row}\n", names.join(","))).unwrap().columns.len(),
        names.len()
    );
    let refused = messages(read_text(format!("{long}\n1\n")));
    assert_eq!(refused, ["the name of column 1 of `x.csv` has 10485760 bytes"]);
    assert_eq!(messages(read_text(format!("a,b\n1,\"{long}"))).len(), 1);
}

#[cfg(unix)]
#[test]
fn pipes_are_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    let writer = std::thread::spawn({
        let path = path.clone();
        move || std::fs::write(path, "a;b\n1;2\n").unwrap()
    });
    let columns = read_all(&path, &ReadOptions::default()).unwrap();
    writer.join().unwrap();
    assert_eq!(rows(&columns), [["1", "2"]]);
}

#[test]
fn progress_goes_to_the_end() {
    let directory = tempfile::tempdir().unwrap();
    let text = format!("a,b\n{}", "1,2\n".repeat(1000));
    let path = file(&directory, "x.csv", &text);
    let last = AtomicU64::new(0);
    let options = ReadOptions { block: Some(100), ..ReadOptions::default() };
    let told = |done, total| {
        assert_eq!(total, text.len() as u64);
        assert!(last.swap(done, Ordering::Relaxed) < done);
        true
    };
    read(&path, &options, None, &told).unwrap();
    assert_eq!(last.into_inner(), text.len() as u64);
}

/// Columns of all simple types with nulls, and what is to be read.
fn typed() -> (RecordBatch, Vec<[&'static str; 3]>) {
    let instants = vec![Some(1_582_977_600_000), None, Some(0)];
    let columns: Vec<(&str, ArrayRef, [&str; 3])> = vec![
        ("int", Arc::new(Int32Array::from(vec![Some(39), None, Some(-1)])), ["39", "", "-1"]),
        (
            "big",
            Arc::new(UInt64Array::from(vec![Some(u64::MAX), None, Some(0)])),
            ["18446744073709551615", "", "0"],
        ),
        (
            "float",
            Arc::new(Float64Array::from(vec![Some(1.5), None, Some(-0.25)])),
            ["1.5", "", "-0.25"],
        ),
        (
            "bool",
            Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)])),
            ["true", "", "false"],
        ),
        (
            "date",
            Arc::new(Date32Array::from(vec![Some(18_321), None, Some(0)])),
            ["2020-02-29", "", "1970-01-01"],
        ),
        (
            "local",
            Arc::new(TimestampMicrosecondArray::from(vec![Some(1_500_000), None, Some(0)])),
            ["1970-01-01T00:00:01.500", "", "1970-01-01T00:00:00"],
        ),
        (
            "offset",
            Arc::new(TimestampMillisecondArray::from(instants.clone()).with_timezone("+02:00")),
            ["2020-02-29T12:00:00Z", "", "1970-01-01T00:00:00Z"],
        ),
        (
            "zone",
            Arc::new(TimestampMillisecondArray::from(instants).with_timezone("Europe/Vienna")),
            ["2020-02-29T12:00:00Z", "", "1970-01-01T00:00:00Z"],
        ),
        (
            "decimal",
            Arc::new(
                Decimal128Array::from(vec![Some(1230), None, Some(-5)])
                    .with_precision_and_scale(10, 2)
                    .unwrap(),
            ),
            ["12.30", "", "-0.05"],
        ),
        ("text", Arc::new(StringArray::from(vec![Some("é"), None, Some("b")])), ["é", "", "b"]),
        (
            "large",
            Arc::new(LargeStringArray::from(vec![Some("a"), None, Some("a")])),
            ["a", "", "a"],
        ),
        (
            "view",
            Arc::new(StringViewArray::from(vec![Some("a"), None, Some("a longer one")])),
            ["a", "", "a longer one"],
        ),
        (
            "coded",
            Arc::new(
                vec![Some("b"), None, Some("a")].into_iter().collect::<DictionaryArray<Int8Type>>(),
            ),
            ["b", "", "a"],
        ),
        ("nothing", Arc::new(NullArray::new(3)), ["", "", ""]),
    ];
    let expected = columns.iter().map(|(_, _, texts)| *texts).collect();
    let batch =
        RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, a, _)| (n, a, true)))
            .unwrap();
    (batch, expected)
}

fn parquet(path: &Path, batches: &[&RecordBatch]) {
    let out = std::fs::File::create(path).unwrap();
    let mut writer = parquet::arrow::ArrowWriter::try_new(out, batches[0].schema(), None).unwrap();
    for batch in batches {
        writer.write(batch).unwrap();
        writer.flush().unwrap();
    }
    writer.close().unwrap();
}

fn ipc(path: &Path, batches: &[&RecordBatch], stream: bool) {
    let out = std::fs::File::create(path).unwrap();
    if stream {
        let mut writer =
            arrow_ipc::writer::StreamWriter::try_new(out, &batches[0].schema()).unwrap();
        batches.iter().for_each(|batch| writer.write(batch).unwrap());
        writer.finish().unwrap();
    } else {
        let mut writer = arrow_ipc::writer::FileWriter::try_new(out, &batches[0].schema()).unwrap();
        batches.iter().for_each(|batch| writer.write(batch).unwrap());
        writer.finish().unwrap();
    }
}

#[test]
fn typed_columns_become_text() {
    let directory = tempfile::tempdir().unwrap();
    let (batch, expected) = typed();
    let path = |name: &str| directory.path().join(name);
    parquet(&path("x.parquet"), &[&batch, &batch]);
    ipc(&path("x.arrow"), &[&batch, &batch], false);
    ipc(&path("stream.arrow"), &[&batch, &batch], true);
    std::fs::copy(path("x.parquet"), path("parquet")).unwrap();
    std::fs::copy(path("x.arrow"), path("arrow")).unwrap();
    for name in ["x.parquet", "x.arrow", "stream.arrow", "parquet", "arrow"] {
        for threads in [1, 3] {
            let options =
                ReadOptions { threads: Some(threads), hash: true, ..ReadOptions::default() };
            let columns = read_all(&path(name), &options).unwrap();
            assert_eq!(columns.rows, 6);
            check_numbering(&columns);
            for ((column, texts), field) in
                columns.columns.iter().zip(&expected).zip(batch.schema().fields())
            {
                let found: Vec<&str> =
                    column.codes.iter().map(|&code| column.values.get(code)).collect();
                assert_eq!(found, [*texts, *texts].concat(), "{} of {name}", column.name);
                assert_eq!(
                    (&column.name, column.arrow.as_ref()),
                    (field.name(), Some(field.data_type()))
                );
            }
            let hash = Sha256::digest(std::fs::read(path(name)).unwrap());
            assert_eq!(
                columns.sha256,
                Some(hash.iter().map(|byte| format!("{byte:02x}")).collect())
            );
        }
        let wanted = ["text".to_owned(), "int".to_owned()];
        let some = read(&path(name), &ReadOptions::default(), Some(&wanted), &|_, _| true).unwrap();
        assert_eq!(rows(&some)[..3], [["39", "é"], ["", ""], ["-1", "b"]]);
        assert_eq!(header(&path(name), &ReadOptions::default()).unwrap().len(), expected.len());
    }
}

#[test]
fn nested_columns_are_refused_only_if_wanted() {
    let directory = tempfile::tempdir().unwrap();
    let list =
        ListArray::from_iter_primitive::<arrow_array::types::Int32Type, _, _>([Some(vec![Some(
            1,
        )])]);
    let columns: Vec<(&str, ArrayRef)> =
        vec![("list", Arc::new(list)), ("a", Arc::new(StringArray::from(vec!["x"])))];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    parquet(&directory.path().join("x.parquet"), &[&batch]);
    ipc(&directory.path().join("x.arrow"), &[&batch], false);
    for name in ["x.parquet", "x.arrow"] {
        let path = directory.path().join(name);
        let told = messages(read_all(&path, &ReadOptions::default()));
        assert_eq!(told, [format!("column `list` of `{name}` is nested: its type is a list")]);
        let wanted = ["a".to_owned()];
        let some = read(&path, &ReadOptions::default(), Some(&wanted), &|_, _| true).unwrap();
        assert_eq!(rows(&some), [["x"]]);
        assert_eq!(some.columns[0].arrow, Some(DataType::Utf8));
    }
    let told =
        messages(read_all(&file(&directory, "bad.parquet", "PAR1 no"), &ReadOptions::default()));
    assert!(told[0].starts_with("`bad.parquet` cannot be read as Parquet: "));
}

#[test]
fn directories_are_read_in_order_of_names() {
    let directory = tempfile::tempdir().unwrap();
    let options = ReadOptions { hash: true, ..ReadOptions::default() };
    assert!(
        read_all(directory.path(), &options).unwrap_err().0[0].message.ends_with("has no files")
    );
    file(&directory, "2.csv", "a,b\nz,1\nx,2\n");
    file(&directory, "1.csv", "a,b\nx,1\ny,1\n");
    file(&directory, ".hidden", "");
    file(&directory, "_SUCCESS", "");
    assert_eq!(header(directory.path(), &options).unwrap(), ["a", "b"]);
    let columns = read_all(directory.path(), &options).unwrap();
    check_numbering(&columns);
    assert_eq!(rows(&columns), [["x", "1"], ["y", "1"], ["z", "1"], ["x", "2"]]);
    assert_eq!(columns.bytes, 24);
    assert_eq!(columns.sha256.as_ref().map(String::len), Some(64));
    file(&directory, "3.csv", "b,a\n");
    assert_eq!(
        messages(read_all(directory.path(), &options)),
        ["`3.csv` does not have the columns of `1.csv`"]
    );
    parquet(&directory.path().join("3.parquet"), &[&typed().0]);
    std::fs::remove_file(directory.path().join("3.csv")).unwrap();
    assert_eq!(
        messages(read_all(directory.path(), &options)),
        ["`3.parquet` is not of the same kind as `1.csv`"]
    );
}

#[test]
fn directories_are_read_with_what_is_below() {
    let directory = tempfile::tempdir().unwrap();
    let options = ReadOptions { hash: true, ..ReadOptions::default() };
    let within = |name: &str| directory.path().join(name);
    for folder in ["b/c", "d", "_temporary/0", ".git"] {
        std::fs::create_dir_all(within(folder)).unwrap();
    }
    let files = ["a.csv", "b/c/1.csv", "b/x.csv", "d/0.csv", "e.csv"];
    for (i, name) in files.iter().enumerate() {
        file(&directory, name, format!("n\n{i}\n"));
    }
    file(&directory, "_temporary/0/part.csv", "other\n");
    file(&directory, ".git/config", "other\n");
    let columns = read_all(directory.path(), &options).unwrap();
    assert_eq!(rows(&columns), [["0"], ["1"], ["2"], ["3"], ["4"]]);
    let line = |name: &&str| {
        let hash: String = Sha256::digest(std::fs::read(within(name)).unwrap())
            .iter()
            .map(|b| format!("{b:02x}"))
            .collect();
        format!("{hash}  {name}\n")
    };
    let sum: String = Sha256::digest(files.iter().map(line).collect::<String>())
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect();
    assert_eq!(columns.sha256, Some(sum));
    std::fs::create_dir(within("year=2020")).unwrap();
    assert_eq!(
        messages(read_all(directory.path(), &options)),
        ["directory `year=2020` is named like a value of a column"]
    );
    std::fs::remove_dir(within("year=2020")).unwrap();
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(directory.path(), within("round")).unwrap();
        assert_eq!(
            messages(read_all(directory.path(), &options)),
            ["`round` is a link to a directory, which is not followed"]
        );
    }
}

#[test]
fn dictionaries_number_by_insertion() {
    let mut values = Dictionary::new();
    assert!(values.is_empty());
    assert_eq!(
        [values.intern("b"), values.intern(""), values.intern("b"), values.intern("é")],
        [0, 1, 0, 2]
    );
    assert_eq!(values.intern_bytes("é".as_bytes()), Ok(2));
    assert!(values.intern_bytes(b"\xc3").is_err());
    assert_eq!(values.iter().collect::<Vec<_>>(), ["b", "", "é"]);
    assert_eq!(
        (values.len(), values.find("é"), values.find("c"), values.get(1)),
        (3, Some(2), None, "")
    );
}
