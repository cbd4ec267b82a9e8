//! Files that are damaged, or made to do harm: reading them fails with a message, and does not
//! panic or take all memory.

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, DictionaryArray, Int32Array, NullArray, RecordBatch, StringArray, StringViewArray,
};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use scumble_publisher::table::columns::{ReadOptions, header, read};
use std::path::Path;
use std::sync::Arc;

fn batch(rows: i32) -> RecordBatch {
    let texts: Vec<String> = (0..rows).map(|i| format!("value {}", i % 7)).collect();
    let texts: Vec<Option<&str>> =
        texts.iter().map(|t| Some(t.as_str()).filter(|t| !t.ends_with('3'))).collect();
    let packed: DictionaryArray<Int32Type> = texts.iter().copied().collect();
    RecordBatch::try_from_iter([
        ("n", Arc::new(Int32Array::from_iter_values(0..rows)) as ArrayRef),
        ("text", Arc::new(StringArray::from(texts.clone())) as ArrayRef),
        ("packed", Arc::new(packed) as ArrayRef),
        ("view", Arc::new(StringViewArray::from(texts)) as ArrayRef),
    ])
    .expect("columns of one length")
}

fn parquet(batch: &RecordBatch, compression: Compression) -> Vec<u8> {
    let mut bytes = Vec::new();
    let properties = WriterProperties::builder().set_compression(compression).build();
    let mut writer =
        ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).expect("a writer");
    writer.write(batch).expect("it is written");
    writer.close().expect("it is closed");
    bytes
}

fn ipc(batch: &RecordBatch, compression: Option<CompressionType>) -> Vec<u8> {
    let options =
        IpcWriteOptions::default().try_with_compression(compression).expect("a way to compress");
    let mut writer =
        FileWriter::try_new_with_options(Vec::new(), &batch.schema(), options).expect("a writer");
    writer.write(batch).expect("it is written");
    writer.finish().expect("it is closed");
    writer.into_inner().expect("the bytes")
}

fn stream(batch: &RecordBatch) -> Vec<u8> {
    let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).expect("a writer");
    writer.write(batch).expect("it is written");
    writer.finish().expect("it is closed");
    writer.into_inner().expect("the bytes")
}

/// Spoils some bytes, sometimes with values that lengths and offsets make the most of, or cuts the
/// end off.
fn spoil(bytes: &mut Vec<u8>, random: &mut ChaCha8Rng) {
    for _ in 0..random.random_range(1..4) {
        let at = random.random_range(0..bytes.len());
        match random.random_range(0..4) {
            0 => bytes[at] = random.random_range(0..=255),
            1 => bytes[at] ^= 1 << random.random_range(0..8),
            2 => bytes.iter_mut().skip(at).take(8).for_each(|b| *b = 0xff),
            _ => bytes.iter_mut().skip(at).take(4).zip([0, 0, 0, 0x7f]).for_each(|(b, v)| *b = v),
        }
    }
    if random.random_range(0..10) == 0 {
        bytes.truncate(random.random_range(1..=bytes.len()));
    }
}

fn try_to_read(path: &Path) -> bool {
    let options = ReadOptions { threads: Some(2), hash: false, ..ReadOptions::default() };
    header(path, &options).is_ok() & read(path, &options, None, &|_, _| true).is_ok()
}

#[test]
fn damaged_files_fail_and_never_panic() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let batch = batch(200);
    let zstd = Compression::ZSTD(ZstdLevel::default());
    let files = [
        ("a.parquet", parquet(&batch, Compression::UNCOMPRESSED)),
        ("b.parquet", parquet(&batch, zstd)),
        ("c.parquet", parquet(&batch, Compression::SNAPPY)),
        ("d.arrow", ipc(&batch, None)),
        ("e.arrow", ipc(&batch, Some(CompressionType::ZSTD))),
        ("f.arrow", ipc(&batch, Some(CompressionType::LZ4_FRAME))),
        ("g.arrow", stream(&batch)),
    ];
    let mut random = ChaCha8Rng::seed_from_u64(36);
    for (name, whole) in &files {
        let path = folder.path().join(name);
        std::fs::write(&path, whole).expect("it is written");
        assert!(try_to_read(&path), "{name} is sound");
        let mut failed = 0;
        for _ in 0..120 {
            let mut bytes = whole.clone();
            spoil(&mut bytes, &mut random);
            std::fs::write(&path, bytes).expect("it is written");
            failed += u32::from(!try_to_read(&path));
        }
        assert!(failed > 20, "{name}: damage must show, and showed {failed} times");
    }
}

/// Rows that cost nothing in the file: 2³⁸ of them, and no buffer.
#[test]
fn rows_without_bytes_are_not_believed() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path = folder.path().join("x.arrow");
    let nothing =
        RecordBatch::try_from_iter([("n", Arc::new(NullArray::new(1 << 38)) as ArrayRef)])
            .expect("a column");
    for bytes in [ipc(&nothing, None), stream(&nothing)] {
        std::fs::write(&path, bytes).expect("it is written");
        let problems =
            read(&path, &ReadOptions::default(), None, &|_, _| true).expect_err("too large");
        assert!(problems.0[0].message.contains("memory"), "{problems}");
        assert!(problems.to_string().contains("SCUMBLE_MEMORY"), "{problems}");
    }
}

/// Three hundred million equal rows in a file of some kilobytes.
#[test]
fn repeated_rows_are_not_believed() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path = folder.path().join("x.parquet");
    let column = DictionaryArray::<Int32Type>::try_new(
        Int32Array::from(vec![0; 10_000_000]),
        Arc::new(StringArray::from(vec!["x"])) as ArrayRef,
    );
    let batch =
        RecordBatch::try_from_iter([("a", Arc::new(column.expect("keys fit")) as ArrayRef)])
            .expect("a column");
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).expect("a writer");
    for _ in 0..30 {
        writer.write(&batch).expect("it is written");
    }
    writer.close().expect("it is closed");
    assert!(bytes.len() < 1 << 20);
    std::fs::write(&path, bytes).expect("it is written");
    let problems = read(&path, &ReadOptions::default(), None, &|_, _| true).expect_err("too large");
    assert!(problems.0[0].message.contains("memory"), "{problems}");
}

/// Many views of one buffer are many texts.
#[test]
fn views_of_one_text_are_counted_as_texts() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path = folder.path().join("x.arrow");
    let text = "a".repeat(1 << 20).into_bytes();
    let mut builder = arrow_array::builder::StringViewBuilder::new();
    let block = builder.append_block(text.into());
    // Each begins a byte later: all of them differ in length.
    for row in 0..3000u32 {
        builder.try_append_view(block, 0, (1 << 20) - row).expect("within the text");
    }
    let batch = RecordBatch::try_from_iter([("a", Arc::new(builder.finish()) as ArrayRef)])
        .expect("a column");
    std::fs::write(&path, ipc(&batch, None)).expect("it is written");
    let problems = read(&path, &ReadOptions::default(), None, &|_, _| true).expect_err("too large");
    assert!(problems.0[0].message.contains("memory"), "{problems}");
}

/// A file of many columns takes memory by its size, not by the number of its columns.
#[test]
fn many_columns_are_read() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path = folder.path().join("x.csv");
    let line = |cell: &dyn Fn(usize) -> String| (0..50_000).map(cell).collect::<Vec<_>>().join(",");
    let (names, cells) = (line(&|i| format!("c{i}")), line(&|i| (i % 10).to_string()));
    std::fs::write(&path, format!("{names}\n{cells}\n{cells}\n")).expect("it is written");
    let columns =
        read(&path, &ReadOptions { threads: Some(8), ..ReadOptions::default() }, None, &|_, _| {
            true
        });
    assert_eq!(columns.expect("a table").columns.len(), 50_000);
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse().ok());
    assert!(peak.is_none_or(|kilobytes: u64| kilobytes < 3 << 20), "{peak:?} kB");
}
