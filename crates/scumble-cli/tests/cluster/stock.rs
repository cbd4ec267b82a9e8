//! Ballista's own scheduler and executors, which know nothing of ours.

use crate::{Place, Process, SCUMBLE, free_port, nothing_passes, started, wait_for};
use std::path::{Path, PathBuf};

/// The example of `scumble-cluster` that starts them as their own binaries do.
pub fn ballista() -> PathBuf {
    Path::new(SCUMBLE).with_file_name("examples").join("ballista")
}

/// A scheduler and an executor of Ballista.
struct Stock {
    #[allow(dead_code)]
    processes: [Process; 2],
    address: String,
    folder: tempfile::TempDir,
}

impl Stock {
    fn start() -> Stock {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let program = ballista();
        let [port, data, orders] = std::array::from_fn(|_| free_port());
        let [port_text, data_text, orders_text] = [port, data, orders].map(|p| p.to_string());
        let log = |name: &str| folder.path().join(name);
        let scheduler = started(&program, &["scheduler", &port_text], &[], &log("scheduler.log"));
        wait_for(port);
        let work = log("work").display().to_string();
        let executor = ["executor", &port_text, &data_text, &orders_text, &work];
        let executor = started(&program, &executor, &[], &log("executor.log"));
        wait_for(data);
        Stock {
            processes: [scheduler, executor],
            address: format!("df://127.0.0.1:{port}"),
            folder,
        }
    }
}

#[test]
fn ballista_as_it_comes_suffices_for_counts_and_records() {
    let stock = Stock::start();
    let spill = stock.folder.path().join("shared").display().to_string();
    let how = ["--cluster", &stock.address, "--spill", &spill];
    // With a column that passes through, and without.
    let place = Place::hospital(900, |p| {
        p.replace(
            "role = \"quasi-identifier\", taxonomy = { intervals = [7, 14, 28] }",
            "role = \"insensitive\"",
        )
    });
    place.publish("a", &[]);
    let text = place.publish("b", &how);
    assert!(text.contains("engine: ballista"), "{text}");
    place.same("a", "b");
    place.expect(0, &["check", "b", "--cluster", &stock.address]);
    nothing_passes(&place);
    place.publish("c", &[]);
    place.publish("d", &how);
    place.same("c", "d");
    // A job with our function cannot be done, and it is said by whom it can.
    let before = place.names();
    let publish = [
        "publish",
        "policy.toml",
        "--to",
        "e",
        "--cluster",
        &stock.address,
        "--rows-at-once",
        "400",
    ];
    let text = place.expect(2, &publish);
    assert!(
        text.contains("do not know a function of ours") && text.contains("scumble cluster"),
        "{text}"
    );
    place.nothing_but(&before);
}
