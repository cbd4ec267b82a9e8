//! One release, one reader: what `publish` says of a release is what `check` and `verify` find in its folder.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

#[path = "one_reader/forged.rs"]
mod forged;
#[path = "one_reader/law.rs"]
mod law;

use scumble_io::answer::Published;
use scumble_io::check::{self, Checked};
use scumble_io::columns::ReadOptions;
use scumble_io::publisher::{self, Repair, Watcher};
use scumble_io::staging::Slot;
use std::path::Path;
use std::time::Duration;

struct Silent;

impl Watcher for Silent {
    fn phase(&self, _: &'static str) {}
    fn at(&self, _: u64, _: u64) {}
}

fn write(folder: &Path, name: &str, text: &str) {
    std::fs::write(folder.join(name), text).expect("a temporary folder");
}

fn publish(policy: &Path, dry_run: bool) -> Result<Published, String> {
    let options = publisher::Options {
        seed: Some(1),
        dry_run,
        replace: true,
        show_values: false,
        to: None,
        picture: None,
        ledger: None,
        key: None,
        head: None,
        wait: Duration::ZERO,
        repair: Repair::Off,
        exposed: None,
        slot: Slot::default(),
        engine: None,
        watcher: &Silent,
    };
    publisher::publish(policy, &options).map_err(|problems| problems.to_string())
}

fn checked(data: &Path, policy: Option<&Path>, register: Option<&Path>) -> Result<Checked, String> {
    let options = check::Options {
        policy: policy.map(Path::to_path_buf),
        quasi: Vec::new(),
        sensitive: Vec::new(),
        register: register.map(Path::to_path_buf),
        population: None,
        picture: None,
        show_values: false,
        read: ReadOptions::default(),
        engine: None,
        watcher: &Silent,
    };
    check::check(&data.into(), &options).map_err(|problems| problems.to_string())
}

fn verified(folder: &Path) -> Result<scumble_io::release::verify::Verified, String> {
    scumble_io::release::verify::verify(folder, &Silent).map_err(|problems| problems.to_string())
}

fn counted(folder: &Path, queries: &[&str]) -> Vec<Option<f64>> {
    let queries: Vec<_> = queries.iter().map(|q| scumble::query::Query::parse(q).expect("a query")).collect();
    let answered = scumble_io::query::query(folder, &queries, &Silent).unwrap_or_else(|e| panic!("{e}"));
    answered.answers.iter().map(|a| a.estimate).collect()
}
