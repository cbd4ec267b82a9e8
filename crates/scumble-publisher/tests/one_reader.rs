//! One release, one reader: what `publish` says of a release is what `check` and `verify` find in
//! its folder.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

#[path = "one_reader/forged.rs"]
mod forged;
#[path = "one_reader/law.rs"]
mod law;
#[path = "one_reader/leaves.rs"]
mod leaves;
#[path = "one_reader/registers.rs"]
mod registers;
#[path = "one_reader/twins.rs"]
mod twins;
#[path = "one_reader/undeclared.rs"]
mod undeclared;

use scumble_publisher::answer::{Checked, Published, Verified};
use scumble_publisher::check::CheckRequest;
use scumble_publisher::policy_file::PolicyFile;
use scumble_publisher::publish::{PublishRequest, Repair};
use scumble_publisher::publisher::Publisher;
use std::path::Path;

fn write(folder: &Path, name: &str, text: &str) {
    std::fs::write(folder.join(name), text).expect("a temporary folder");
}

fn publish(policy: &Path, dry_run: bool) -> Result<Published, String> {
    let request = PublishRequest {
        seed: Some(1),
        dry_run,
        replace: true,
        repair: Repair::Off,
        ..Default::default()
    };
    PolicyFile::read(policy)
        .and_then(|policy| Publisher::default().publish(&policy, &request))
        .map_err(|problems| problems.to_string())
}

fn checked(data: &Path, policy: Option<&Path>, register: Option<&Path>) -> Result<Checked, String> {
    let request = CheckRequest {
        policy: policy.map(|path| PolicyFile::read(path).expect("a policy")),
        register: register.map(Path::to_path_buf),
        ..Default::default()
    };
    Publisher::default().check(&data.into(), &request).map_err(|problems| problems.to_string())
}

fn verified(folder: &Path) -> Result<Verified, String> {
    Publisher::default().verify(folder).map_err(|problems| problems.to_string())
}

fn counted(folder: &Path, queries: &[&str]) -> Vec<Option<f64>> {
    let queries: Vec<_> =
        queries.iter().map(|q| scumble::query::Query::parse(q).expect("a query")).collect();
    let answered = Publisher::default().query(folder, &queries).unwrap_or_else(|e| panic!("{e}"));
    answered.answers.iter().map(|a| a.estimate).collect()
}
