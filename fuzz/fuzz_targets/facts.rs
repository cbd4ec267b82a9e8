//! Any text is a list of statements about people, or problems with their lines; never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use scumble::attack::facts::{columns, parse, rows};
use scumble::register::{Register, RegisterColumn};

fuzz_target!(|text: &str| match parse(text) {
    Ok(statements) => {
        let column = |name: String| RegisterColumn {
            name,
            texts: vec!["1".into(), "2026-01-31".into(), String::new(), "Alice".into()],
            codes: vec![0, 1, 2, 3],
        };
        let named: Vec<RegisterColumn> = columns(&statements).into_iter().filter(|n| n != "people").map(column).collect();
        let Ok(register) = Register::new(named) else { return };
        if let Ok(rows) = rows(&statements, &register) {
            assert_eq!(rows.len(), statements.len());
        }
    }
    Err(problems) => assert!(problems.0.iter().all(|p| p.message.starts_with("line "))),
});
