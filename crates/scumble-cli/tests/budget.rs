//! The budget over processes: together they never overspend, and a crash never gives an answer for free.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

const SCUMBLE: &str = env!("CARGO_BIN_EXE_scumble");

/// A folder with people and a policy of this budget.
fn survey(epsilon: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let mut people = String::from("id,age,sex\n");
    for i in 0..20_000 {
        people.push_str(&format!("{i},{},{}\n", 20 + i % 60, if i % 3 == 0 { "F" } else { "M" }));
    }
    fs::write(folder.path().join("people.csv"), people).expect("people are written");
    let policy = format!(
        "source = \"people.csv\"\n[queries]\nperson = \"id\"\nbudget = {{ epsilon = {epsilon} }}\n\
         [queries.columns]\nage = {{ bounds = [0, 120] }}\nsex = {{ keys = [\"F\", \"M\"] }}\n"
    );
    fs::write(folder.path().join("policy.toml"), policy).expect("the policy is written");
    folder
}

fn command(folder: &Path, epsilon: &str) -> Command {
    let mut command = Command::new(SCUMBLE);
    command.current_dir(folder).args(["query", "--dp", "policy.toml", "--json", "--epsilon", epsilon]);
    command.arg("SELECT sex, COUNT(*) FROM people GROUP BY sex").stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// How many prices the ledger says were paid.
fn lines(folder: &Path) -> usize {
    let list = Command::new(SCUMBLE).current_dir(folder).args(["ledger", "list", "--json"]).output().expect("it runs");
    let json: serde_json::Value = serde_json::from_slice(&list.stdout).unwrap_or_default();
    json["paid"].as_array().map_or(0, |all| all.iter().filter_map(|p| p["prices"].as_u64()).sum::<u64>() as usize)
}

/// Whether noise was drawn for it.
fn answered(output: &Output) -> bool {
    String::from_utf8_lossy(&output.stdout).contains("\"value\"")
}

#[test]
fn processes_never_overspend_together() {
    let folder = survey("1");
    let children: Vec<_> = (0..16).map(|_| command(folder.path(), "0.1").spawn().expect("it starts")).collect();
    let outputs: Vec<Output> = children.into_iter().map(|c| c.wait_with_output().expect("it ends")).collect();
    let given = outputs.iter().filter(|o| answered(o)).count();
    let refused = outputs.iter().filter(|o| o.status.code() == Some(1) && !answered(o)).count();
    assert_eq!((given, refused), (10, 6), "{:?}", outputs.iter().map(|o| o.status.code()).collect::<Vec<_>>());
    assert_eq!(lines(folder.path()), 10);
}

#[test]
fn a_killed_process_gives_no_answer_for_free() {
    let folder = survey("1000");
    let mut given = 0;
    for round in 0..60u64 {
        let before = lines(folder.path());
        let mut child = command(folder.path(), "1").spawn().expect("it starts");
        std::thread::sleep(Duration::from_micros(round * 700));
        // SIGKILL on Unix; it may have ended already.
        let _ = child.kill();
        let output = child.wait_with_output().expect("it ends");
        let paid = lines(folder.path()) - before;
        assert!(paid <= 1 && (paid == 1 || !answered(&output)), "round {round}: an answer was not paid");
        given += usize::from(answered(&output));
    }
    assert!(lines(folder.path()) >= given);
    let output = command(folder.path(), "1").output().expect("it runs");
    assert!(answered(&output), "the record can be read after all that");
}

#[test]
fn what_cannot_be_understood_stops_everything() {
    let folder = survey("1");
    assert!(answered(&command(folder.path(), "0.5").output().expect("it runs")));
    let ledger = folder.path().join("ledger/ledger.sqlite");
    let whole = fs::read(&ledger).expect("a record");
    fs::write(&ledger, &whole[..whole.len() / 2]).expect("a torn record");
    let output = command(folder.path(), "0.1").output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(!answered(&output) && String::from_utf8_lossy(&output.stderr).contains("damaged"));
    fs::write(&ledger, whole).expect("the record is back");
    assert!(answered(&command(folder.path(), "0.5").output().expect("it runs")));
    assert_eq!(command(folder.path(), "0.1").output().expect("it runs").status.code(), Some(1));
}

/// Without a ledger nobody would know what was spent.
#[test]
fn no_ledger_no_answer() {
    let folder = survey("1");
    let policy = fs::read_to_string(folder.path().join("policy.toml")).expect("the policy");
    fs::write(folder.path().join("policy.toml"), format!("ledger = false\n{policy}")).expect("another");
    let output = command(folder.path(), "0.1").output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(!answered(&output));
}

/// Two policies about the same data share what was spent.
#[test]
fn another_policy_does_not_bring_a_new_budget() {
    let folder = survey("1");
    assert!(answered(&command(folder.path(), "0.9").output().expect("it runs")));
    let policy = fs::read_to_string(folder.path().join("policy.toml")).expect("the policy");
    fs::write(folder.path().join("policy.toml"), policy.replace("epsilon = 1 ", "epsilon = 1.5 ")).expect("another");
    assert!(answered(&command(folder.path(), "0.6").output().expect("it runs")));
    assert_eq!(command(folder.path(), "0.1").output().expect("it runs").status.code(), Some(1));
}
