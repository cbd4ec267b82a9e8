//! Any bytes are a table or a list of problems, and the same table for every number of threads and
//! size of block.
#![no_main]

use libfuzzer_sys::fuzz_target;
use scumble_publisher::table::columns::{ReadOptions, read};
use std::io::Write;

fuzz_target!(|bytes: &[u8]| {
    // The reader takes a path; a file in memory keeps that cheap.
    let folder = if std::path::Path::new("/dev/shm").is_dir() { "/dev/shm".into() } else { std::env::temp_dir() };
    let path = folder.join(format!("scumble-fuzz-{}.csv", std::process::id()));
    let written = std::fs::File::create(&path).and_then(|mut f| f.write_all(bytes));
    assert!(written.is_ok());
    let with = |threads, block| {
        let options = ReadOptions { threads: Some(threads), block: Some(block), ..ReadOptions::default() };
        read(&path, &options, None, &|_, _| true)
    };
    let whole = with(1, 1 << 20);
    let pieces = with(2, 7);
    match (&whole, &pieces) {
        (Ok(a), Ok(b)) => {
            assert_eq!(a, b);
            assert!(a.columns.iter().all(|c| c.codes.len() == a.rows));
        }
        (Err(a), Err(_)) => assert!(!a.0.is_empty()),
        (a, b) => panic!("read as {} in one piece and as {} in many", a.is_ok(), b.is_ok()),
    }
});
