//! The budget over processes: together they never overspend, and a crash never gives an answer for
//! free.

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
    command.current_dir(folder).args([
        "query",
        "--dp",
        "policy.toml",
        "--json",
        "--epsilon",
        epsilon,
    ]);
    command
        .arg("SELECT sex, COUNT(*) FROM people GROUP BY sex")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// How many prices the ledger says were paid.
fn lines(folder: &Path) -> usize {
    let list = Command::new(SCUMBLE)
        .current_dir(folder)
        .args(["ledger", "list", "--json"])
        .output()
        .expect("it runs");
    let json: serde_json::Value = serde_json::from_slice(&list.stdout).unwrap_or_default();
    json["paid"]
        .as_array()
        .map_or(0, |all| all.iter().filter_map(|p| p["prices"].as_u64()).sum::<u64>() as usize)
}

/// Whether noise was drawn for it.
fn answered(output: &Output) -> bool {
    String::from_utf8_lossy(&output.stdout).contains("\"value\"")
}

#[test]
fn processes_never_overspend_together() {
    let folder = survey("1");
    let children: Vec<_> =
        (0..16).map(|_| command(folder.path(), "0.1").spawn().expect("it starts")).collect();
    let outputs: Vec<Output> =
        children.into_iter().map(|c| c.wait_with_output().expect("it ends")).collect();
    let given = outputs.iter().filter(|o| answered(o)).count();
    let refused = outputs.iter().filter(|o| o.status.code() == Some(1) && !answered(o)).count();
    assert_eq!(
        (given, refused),
        (10, 6),
        "{:?}",
        outputs.iter().map(|o| o.status.code()).collect::<Vec<_>>()
    );
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
        assert!(
            paid <= 1 && (paid == 1 || !answered(&output)),
            "round {round}: an answer was not paid"
        );
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
    fs::write(folder.path().join("policy.toml"), format!("ledger = false\n{policy}"))
        .expect("another");
    let output = command(folder.path(), "0.1").output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(!answered(&output));
}

/// Two policies about the same data share what was spent, and a larger budget must be meant.
#[test]
fn another_policy_does_not_bring_a_new_budget() {
    let folder = survey("1");
    assert!(answered(&command(folder.path(), "0.9").output().expect("it runs")));
    let policy = fs::read_to_string(folder.path().join("policy.toml")).expect("the policy");
    fs::write(folder.path().join("policy.toml"), policy.replace("epsilon = 1 ", "epsilon = 1.5 "))
        .expect("another");
    let refused = command(folder.path(), "0.6").output().expect("it runs");
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stdout).contains("raises the budget"));
    assert!(answered(
        &command(folder.path(), "0.6").arg("--raise-budget").output().expect("it runs")
    ));
    // It is raised for good, and no further.
    assert_eq!(command(folder.path(), "0.1").output().expect("it runs").status.code(), Some(1));
}

/// A smaller budget in between does not make the larger one new.
#[test]
fn the_largest_budget_ever_set_stays_the_limit() {
    let folder = survey("2");
    let policy = fs::read_to_string(folder.path().join("policy.toml")).expect("the policy");
    assert!(answered(&command(folder.path(), "0.1").output().expect("it runs")));
    for (epsilon, status) in [("1", 0), ("2", 0), ("2.1", 1)] {
        let other = policy.replace("epsilon = 2 ", &format!("epsilon = {epsilon} "));
        fs::write(folder.path().join("policy.toml"), other).expect("another");
        assert_eq!(
            command(folder.path(), "0.1").output().expect("it runs").status.code(),
            Some(status),
            "{epsilon}"
        );
    }
}

/// The source of a policy under another name.
fn renamed(folder: &Path, to: &str) {
    let policy = fs::read_to_string(folder.join("policy.toml")).expect("the policy");
    let at = policy.find('\n').expect("lines");
    let policy = policy[at..].replace("[queries]\n", "[queries]\ntable = \"people\"\n");
    fs::write(folder.join("policy.toml"), format!("source = \"{to}\"{policy}")).expect("another");
}

/// A copy, a link, a folder, and the next extract of the same people do not begin a budget of their
/// own; other people do.
#[test]
fn the_same_people_under_another_name_have_the_same_budget() {
    let folder = survey("1");
    let people = fs::read_to_string(folder.path().join("people.csv")).expect("the people");
    assert!(answered(&command(folder.path(), "0.9").output().expect("it runs")));
    fs::write(folder.path().join("copy.csv"), &people).expect("a copy");
    fs::create_dir(folder.path().join("folder")).expect("a folder");
    fs::write(folder.path().join("folder/part.csv"), &people).expect("a copy");
    std::os::unix::fs::symlink("people.csv", folder.path().join("link.csv")).expect("a link");
    let (head, rest) = people.split_at(people.len() / 2);
    let half = format!("{}{}", &head[..head.rfind('\n').expect("lines") + 1], "90000,33,F\n");
    fs::write(folder.path().join("next.csv"), half).expect("another extract");
    let whole = fs::read_to_string(folder.path().join("policy.toml")).expect("the policy");
    for name in ["copy.csv", "link.csv", "folder", "next.csv"] {
        fs::write(folder.path().join("policy.toml"), &whole).expect("the policy");
        renamed(folder.path(), name);
        let refused = command(folder.path(), "0.2").output().expect("it runs");
        assert_eq!(
            refused.status.code(),
            Some(1),
            "{name}: {}",
            String::from_utf8_lossy(&refused.stdout)
        );
    }
    let others: String = rest.lines().skip(1).map(|line| format!("other {line}\n")).collect();
    fs::write(folder.path().join("others.csv"), format!("id,age,sex\n{others}"))
        .expect("other people");
    fs::write(folder.path().join("policy.toml"), &whole).expect("the policy");
    renamed(folder.path(), "others.csv");
    assert!(answered(&command(folder.path(), "0.2").output().expect("it runs")));
}

/// Where no column names the persons, the same bytes are recognised, and it is said that nothing
/// else is.
#[test]
fn without_persons_the_same_bytes_are_recognised() {
    let folder = survey("1");
    let policy = fs::read_to_string(folder.path().join("policy.toml")).expect("the policy");
    fs::write(folder.path().join("policy.toml"), policy.replace("person = \"id\"\n", ""))
        .expect("another");
    let first = command(folder.path(), "0.9").output().expect("it runs");
    assert!(
        answered(&first)
            && String::from_utf8_lossy(&first.stdout).contains("no byte of them changed")
    );
    fs::copy(folder.path().join("people.csv"), folder.path().join("copy.csv")).expect("a copy");
    renamed(folder.path(), "copy.csv");
    assert_eq!(command(folder.path(), "0.2").output().expect("it runs").status.code(), Some(1));
}

/// Noise that somebody can draw again protects nobody: it does not stand beside real answers.
#[test]
fn seeds_are_refused_where_real_answers_are() {
    let folder = survey("10");
    assert!(answered(&command(folder.path(), "0.1").output().expect("it runs")));
    let seeded =
        command(folder.path(), "0.000001").args(["--seed", "7"]).output().expect("it runs");
    assert!(seeded.status.code() == Some(1) && !answered(&seeded));
    let policy = fs::read_to_string(folder.path().join("policy.toml")).expect("the policy");
    fs::write(folder.path().join("policy.toml"), format!("ledger = \"test\"\n{policy}"))
        .expect("another");
    let seeded = command(folder.path(), "0.1").args(["--seed", "7"]).output().expect("it runs");
    assert!(
        answered(&seeded) && String::from_utf8_lossy(&seeded.stdout).contains("\"test\": true")
    );
    let real = command(folder.path(), "0.1").output().expect("it runs");
    assert!(
        real.status.code() == Some(1) && !answered(&real),
        "a ledger for tests takes no real answers"
    );
}

/// What could not be printed was paid, and can be had again.
#[test]
fn an_answer_that_cannot_be_written_is_kept() {
    let folder = survey("1");
    let Ok(full) = fs::OpenOptions::new().write(true).open("/dev/full") else { return };
    let lost = command(folder.path(), "0.5").stdout(full).output().expect("it runs");
    assert_eq!(lost.status.code(), Some(2));
    let told = String::from_utf8_lossy(&lost.stderr).into_owned();
    let entry = told
        .split("ledger answer ")
        .nth(1)
        .and_then(|rest| rest.split('`').next())
        .expect("the entry is told");
    let again = || {
        let mut command = Command::new(SCUMBLE);
        command
            .current_dir(folder.path())
            .args(["ledger", "answer", entry, "--json"])
            .output()
            .expect("it runs")
    };
    let (first, second) = (again(), again());
    assert!(answered(&first) && first.stdout == second.stdout, "{told}");
    assert_eq!(lines(folder.path()), 1, "it is paid once");
    // For people it is told as it was the first time.
    let mut text = Command::new(SCUMBLE);
    let text = text.current_dir(folder.path()).args(["ledger", "answer", entry]).output();
    let text = String::from_utf8_lossy(&text.expect("it runs").stdout).into_owned();
    assert!(!text.contains('{') && text.contains(&format!("ledger answer {entry}")), "{text}");
}

/// A ledger tells who was where: it is private, whatever the umask is.
#[test]
fn files_of_a_ledger_are_private() {
    use std::os::unix::fs::PermissionsExt;
    let folder = survey("1");
    let ask = format!(
        "umask 000; exec {SCUMBLE} query --dp policy.toml --epsilon 0.1 'SELECT COUNT(*) FROM people'"
    );
    let status = Command::new("sh")
        .current_dir(folder.path())
        .args(["-c", &ask])
        .output()
        .expect("it runs")
        .status;
    assert!(status.success());
    let mut open = vec![folder.path().join("ledger"), folder.path().join("ledger.key")];
    let mut seen = 0;
    while let Some(path) = open.pop() {
        let mode = fs::metadata(&path).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o077, 0, "{} has mode {mode:o}", path.display());
        seen += 1;
        if path.is_dir() {
            open.extend(fs::read_dir(&path).expect("a folder").flatten().map(|f| f.path()));
        }
    }
    assert!(seen >= 5, "database, lock, kept files and the key");
}
