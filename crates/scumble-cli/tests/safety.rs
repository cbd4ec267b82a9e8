//! What must hold whatever happens: a release is there completely or not at all, nothing of it says
//! more than it should, and every record goes with its own cells.

use arrow_array::{ArrayRef, Date32Array, Int64Array, RecordBatch, StringArray};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const SCUMBLE: &str = env!("CARGO_BIN_EXE_scumble");

/// A folder with an extract and a policy.
struct Place(TempDir);

impl Place {
    fn new(data: &str, policy: &str) -> Place {
        let place = Place(tempfile::tempdir().expect("a scratch folder"));
        place.put("data.csv", data);
        place.put("policy.toml", policy);
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn put(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::write(self.path(name), text).expect("a file is written");
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(SCUMBLE);
        command.current_dir(self.0.path()).args(arguments).stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("the command starts")
    }

    /// Runs and expects this exit status; what was printed, both streams.
    fn expect(&self, status: i32, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let text = printed(&output);
        assert_eq!(output.status.code(), Some(status), "scumble {}: {text}", arguments.join(" "));
        text
    }

    /// Every file and folder here, hidden ones too.
    fn everything(&self) -> Vec<String> {
        fn walk(folder: &Path, prefix: &str, out: &mut Vec<String>) {
            for entry in fs::read_dir(folder).expect("a folder").flatten() {
                let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
                if entry.path().is_dir() {
                    walk(&entry.path(), &format!("{name}/"), out);
                }
                out.push(name);
            }
        }
        let mut out = Vec::new();
        walk(self.0.path(), "", &mut out);
        out.sort();
        out
    }
}

fn printed(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// A table of invented people: an identifier, a row number, three quasi-identifiers and an illness.
fn people(rows: usize) -> String {
    let mut state = 42u64;
    let mut random = |n: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    let mut out = String::from("id,row,age,illness,zip,sex\n");
    for i in 0..rows {
        let (age, ill, zip) = (18 + random(70), random(9), 10_000 + random(400));
        let sex = if random(2) == 0 { "F" } else { "M" };
        let _ = writeln!(out, "ID{i:07},{i},{age},ill{ill},{zip},{sex}");
    }
    out
}

/// The policy for [`people`], without a ledger, which has tests of its own; `row` says what the row
/// number is, `algorithm` what more to say under [algorithm].
fn policy(row: &str, algorithm: &str) -> String {
    format!(
        r#"source = "data.csv"
ledger = false
[attributes]
id = {{ role = "identifier", person = true }}
row = {{ role = "{row}" }}
age = {{ role = "quasi-identifier", taxonomy = {{ intervals = [5, 10, 20] }} }}
illness = {{ role = "sensitive" }}
zip = {{ role = "quasi-identifier", taxonomy = {{ prefix = true }} }}
sex = {{ role = "quasi-identifier", taxonomy = {{ flat = true }} }}
[[models]]
name = "k-anonymity"
k = 4
[[models]]
name = "distinct-l-diversity"
l = 2
attribute = "illness"
[algorithm]
name = "mondrian"
{algorithm}
[release]
to = "out/release"
"#
    )
}

const ONLY_INPUT: [&str; 2] = ["data.csv", "policy.toml"];

// A place that cannot be written to.

#[test]
fn below_a_file_nothing_is_written() {
    let place = Place::new(&people(100), &policy("identifier", ""));
    let text = place.expect(2, &["publish", "policy.toml", "--to", "data.csv/release"]);
    assert!(
        text.contains("error: cannot write to `data.csv`: ")
            && text.contains("hint: choose another folder"),
        "{text}"
    );
    let text = place.expect(2, &["publish", "policy.toml", "--to", "data.csv/deeper/release"]);
    assert!(text.contains("error: cannot write to `data.csv/deeper`: "), "{text}");
    assert_eq!(place.everything(), ONLY_INPUT);
}

#[test]
fn where_the_system_forbids_it_nothing_is_written() {
    let place = Place::new(&people(100), &policy("identifier", ""));
    // Not even root makes folders here.
    let text = place.expect(2, &["publish", "policy.toml", "--to", "/proc/scumble/release"]);
    assert!(text.contains("error: cannot write to `/proc/scumble`: "), "{text}");
    assert_eq!(place.everything(), ONLY_INPUT);
}

#[cfg(unix)]
#[test]
fn in_a_folder_without_permission_nothing_is_written() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new(&people(100), &policy("identifier", ""));
    fs::create_dir(place.path("locked")).expect("a folder");
    let permit = |mode| {
        fs::set_permissions(place.path("locked"), fs::Permissions::from_mode(mode)).expect("a mode")
    };
    permit(0o555);
    // Root may write everywhere; then there is nothing to see.
    if fs::write(place.path("locked/probe"), "").is_err() {
        let text = place.expect(2, &["publish", "policy.toml", "--to", "locked/release"]);
        assert!(text.contains("error: cannot write to `locked`: permission denied"), "{text}");
        assert_eq!(fs::read_dir(place.path("locked")).expect("it can be read").count(), 0);
    }
    permit(0o755);
}

// A disk that fills up.

/// Publishes with a limit on the size of files, in blocks of 1 KiB.
fn publish_limited(place: &Place, blocks: usize, more: &str) -> Output {
    let script =
        format!("trap '' XFSZ; ulimit -f {blocks}; exec {SCUMBLE} publish policy.toml {more}");
    Command::new("bash")
        .current_dir(place.0.path())
        .args(["-c", &script])
        .output()
        .expect("bash is there")
}

#[test]
fn when_a_write_fails_nothing_is_left() {
    for format in ["csv", "parquet"] {
        let place = Place::new(
            &people(20_000),
            &(policy("insensitive", "") + &format!("format = \"{format}\"\n")),
        );
        let before = place.everything();
        for blocks in [0, 1, 16, 32] {
            let output = publish_limited(&place, blocks, "");
            let text = printed(&output);
            assert_eq!(output.status.code(), Some(2), "{text}");
            assert!(
                text.contains(&format!("error: writing `data.{format}` failed: file too large")),
                "{text}"
            );
            assert!(text.contains("hint: nothing was published"), "{text}");
            assert_eq!(place.everything(), before, "{blocks} blocks");
        }
    }
}

#[test]
fn when_a_write_fails_the_release_to_be_replaced_stays() {
    let place = Place::new(&people(20_000), &policy("insensitive", ""));
    place.expect(0, &["publish", "policy.toml"]);
    let (before, data) = (place.everything(), place.read("out/release/data.csv"));
    let output = publish_limited(&place, 100, "--replace");
    assert_eq!(output.status.code(), Some(2), "{}", printed(&output));
    assert_eq!(place.everything(), before);
    assert_eq!(place.read("out/release/data.csv"), data);
    place.expect(0, &["check", "out/release"]);
}

#[test]
fn on_a_full_disk_nothing_is_left() {
    let place = Place::new(&people(20_000), &policy("insensitive", ""));
    let disk = place.path("disk");
    fs::create_dir(&disk).expect("a folder");
    let mounted =
        Command::new("mount").args(["-t", "tmpfs", "-o", "size=200k", "tmpfs"]).arg(&disk).output();
    if !mounted.is_ok_and(|o| o.status.success()) {
        return; // Only root may; the test with a limit says nearly the same.
    }
    let output = place.run(&["publish", "policy.toml", "--to", "disk/deep/release"]);
    let left = fs::read_dir(&disk).map(|entries| entries.count());
    let unmounted = Command::new("umount").arg(&disk).status();
    assert!(unmounted.is_ok_and(|s| s.success()));
    assert_eq!(output.status.code(), Some(2));
    let text = printed(&output);
    assert!(text.contains("error: writing `data.csv` failed: the disk is full"), "{text}");
    assert_eq!(left.expect("it can be read"), 0);
}

// Somebody who changes their mind.

/// Publishes and sends a signal after a while. Whatever the moment, the release is there completely
/// or not at all.
fn interrupt(place: &Place, signal: &str, after: Duration, replacing: bool) -> &'static str {
    let mut arguments = vec!["publish", "policy.toml"];
    if replacing {
        arguments.push("--replace");
    }
    let mut child = place
        .command(&arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    std::thread::sleep(after);
    let _ =
        Command::new("kill").args([signal, &child.id().to_string()]).stderr(Stdio::null()).status();
    let status = child.wait().expect("it ends");
    let output = child.wait_with_output().expect("it has ended");
    let text = printed(&output);
    let (code, complete) = (status.code(), place.path("out/release/manifest.json").exists());
    let hidden = || -> Vec<String> {
        place.everything().into_iter().filter(|n| n.contains("/.") || n.starts_with('.')).collect()
    };
    if replacing && complete && hidden().iter().any(|n| n.contains("out/.release.replaced")) {
        // The old release stays until the new one is recorded; whoever publishes next removes it.
        place.expect(0, &["publish", "policy.toml", "--replace"]);
    }
    assert!(hidden().is_empty(), "{signal} after {after:?}: {:?}", hidden());
    if complete {
        place.expect(0, &["check", "out/release"]);
    } else {
        assert!(!replacing, "{signal} after {after:?}: the old release is gone");
        assert_eq!(place.everything(), ONLY_INPUT, "{signal} after {after:?}");
    }
    match code {
        Some(0) => {
            assert!(complete && text.contains("Published"), "{text}");
            if text.contains("interrupted too late") { "complete" } else { "published" }
        }
        Some(130) => {
            assert!(text.contains("interrupted: nothing was published"), "{text}");
            assert!(replacing || !complete, "{signal} after {after:?}: {text}");
            "interrupted"
        }
        // Before the handler is there, the signal ends the process as it would any other.
        None => {
            assert!(replacing || !complete);
            "killed"
        }
        other => panic!("{signal} after {after:?}: exit status {other:?}: {text}"),
    }
}

#[test]
fn an_interrupt_leaves_all_or_nothing() {
    let place = Place::new(&people(200_000), &policy("insensitive", ""));
    let start = Instant::now();
    place.expect(0, &["publish", "policy.toml"]);
    let typical = start.elapsed();
    let clear = || fs::remove_dir_all(place.path("out")).map_or((), |()| ());
    clear();
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for i in 0..24u32 {
        let signal = if i % 4 == 3 { "-TERM" } else { "-INT" };
        *seen.entry(interrupt(&place, signal, typical * i / 22, false)).or_default() += 1;
        clear();
    }
    assert!(seen.contains_key("interrupted"), "{seen:?}");
    // Over a release that exists: the old one or the new one.
    place.expect(0, &["publish", "policy.toml"]);
    for i in 0..6 {
        interrupt(&place, "-INT", typical * (2 * i + 10) / 22, true);
    }
}

#[test]
fn what_a_killed_run_left_is_put_right_by_the_next() {
    let place = Place::new(&people(1_000), &policy("identifier", ""));
    place.expect(0, &["publish", "policy.toml"]);
    // As if a run with `--replace` had been killed between its two renames, and another one while
    // it wrote.
    fs::rename(place.path("out/release"), place.path("out/.release.replaced")).expect("a folder");
    fs::create_dir_all(place.path("out/.release.partial-1/taxonomies")).expect("a folder");
    place.expect(2, &["publish", "policy.toml"]);
    assert!(place.path("out/release/data.csv").is_file(), "the old release is back");
    place.expect(0, &["publish", "policy.toml", "--replace"]);
    assert!(!place.everything().iter().any(|n| n.contains(".release")), "{:?}", place.everything());
}

// The same again.

fn sorted_lines(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}

#[test]
fn the_same_seed_writes_the_same_bytes() {
    for algorithm in ["", "partition = \"relaxed\""] {
        let place = Place::new(&people(5_000), &policy("insensitive", algorithm));
        for (to, seed) in [("a", "1"), ("b", "1"), ("c", "2")] {
            place.expect(0, &["publish", "policy.toml", "--seed", seed, "--to", to]);
        }
        for file in ["data.csv", "manifest.json"] {
            assert_eq!(
                place.read(&format!("a/{file}")),
                place.read(&format!("b/{file}")),
                "{file}"
            );
        }
        let (a, c) = (place.read("a/data.csv"), place.read("c/data.csv"));
        assert_ne!(a, c);
        if algorithm.is_empty() {
            assert_eq!(sorted_lines(&a), sorted_lines(&c));
        }
    }
}

#[test]
fn the_order_of_the_extract_does_not_matter() {
    let data = people(5_000);
    let (header, rows) = data.split_once('\n').expect("a header");
    let mut rows: Vec<&str> = rows.lines().collect();
    rows.sort_by_key(|r| r.bytes().rev().collect::<Vec<u8>>());
    let other = format!("{header}\n{}\n", rows.join("\n"));
    assert_ne!(data, other);
    let publish = |data: &str| {
        let place = Place::new(data, &policy("insensitive", ""));
        place.expect(0, &["publish", "policy.toml", "--seed", "1"]);
        place.read("out/release/data.csv")
    };
    let (a, b) = (publish(&data), publish(&other));
    assert_eq!(sorted_lines(&a), sorted_lines(&b));
}

/// What the publisher may see of a person is not published, whether it was asked for or not.
#[test]
fn a_witness_is_for_the_publisher_alone() {
    let policy = r#"source = "data.csv"
[attributes]
zip = { role = "quasi-identifier", taxonomy = { number = true } }
illness = "sensitive"
[[models]]
name = "bayes-optimal"
theta = 0.5
reference = "beliefs.csv"
[algorithm]
name = "mondrian"
[release]
to = "release"
"#;
    let place = Place::new("zip,illness\n10001,flu\n10002,flu\n10003,HIV\n10004,HIV\n", policy);
    let beliefs = "zip,illness,people\n10001,flu,3\n10001,HIV,3\n10003,flu,1\n10003,HIV,5\n10002,flu,2\n10002,HIV,1\n";
    place.put("beliefs.csv", beliefs);
    let plain = place.expect(0, &["publish", "policy.toml", "--json", "--to", "plain"]);
    assert!(plain.contains("\"witness\"") && !plain.contains("\"person\""), "{plain}");
    let asked = place.expect(0, &["publish", "policy.toml", "--json", "--show-values"]);
    assert!(asked.contains("\"person\""), "{asked}");
    for release in ["plain", "release"] {
        let manifest = place.read(&format!("{release}/manifest.json"));
        assert!(manifest.contains("bayes-optimal"));
        for word in ["witness", "\"person\":", "prior", "posterior"] {
            assert!(!manifest.contains(word), "{word}: {manifest}");
        }
    }
}

#[test]
fn a_seed_is_confessed_and_not_told() {
    let place = Place::new(&people(500), &policy("identifier", ""));
    place.expect(0, &["publish", "policy.toml", "--seed", "7141829"]);
    let manifest = place.read("out/release/manifest.json");
    assert!(manifest.contains("for testing, not for publication") && !manifest.contains("7141829"));
    place.expect(0, &["publish", "policy.toml", "--replace"]);
    assert!(!place.read("out/release/manifest.json").contains("for testing"));
}

// What must not be seen.

/// Every column holds values that can be recognised; the people look alike enough for classes of
/// four.
fn marked() -> String {
    let mut out = String::from("id,name,age,birth,job,city,illness,note\n");
    for i in 0..24 {
        let _ = writeln!(
            out,
            "SECRETID{i},SECRETNAME{i},{},19{}-03-0{},SECRETJOB{},SECRETCITY{},SECRETILL{},SECRETNOTE{i}",
            773_301 + i % 5,
            70 + i % 3,
            1 + i % 9,
            i % 2,
            i % 3,
            i % 4
        );
    }
    out
}

const MARKED_POLICY: &str = r#"source = "data.csv"
[attributes]
id = { role = "identifier", person = true }
name = { role = "identifier" }
age = { role = "quasi-identifier", taxonomy = { intervals = [5, 10] } }
birth = { role = "quasi-identifier", taxonomy = { dates = ["year"] } }
job = { role = "quasi-identifier", taxonomy = { flat = true } }
city = { role = "quasi-identifier", taxonomy = { prefix = true } }
illness = { role = "sensitive" }
note = { role = "identifier" }
[[models]]
name = "k-anonymity"
k = 4
[algorithm]
name = "mondrian"
[release]
to = "release"
"#;

/// Values of the extract that must not be printed: any text with the marker, any age, any birth
/// date.
fn tells(text: &str) -> bool {
    text.contains("SECRET") || text.contains("77330") || text.contains("-03-0")
}

#[test]
fn identifiers_do_not_leave() {
    let place = Place::new(&marked(), MARKED_POLICY);
    let mut outputs = vec![
        place.expect(0, &["publish", "policy.toml", "--picture", "classes.svg"]),
        place.expect(0, &["check", "release"]),
        place.expect(0, &["check", "release", "--json"]),
        place.expect(0, &["inspect", "data.csv"]),
        place.expect(0, &["inspect", "data.csv", "--json"]),
        place.expect(0, &["inspect", "data.csv", "--draft", "draft.toml"]),
        place.expect(
            0,
            &[
                "check",
                "data.csv",
                "--quasi-identifiers",
                "age,job",
                "--sensitive",
                "illness",
                "--json",
            ],
        ),
        place.read("classes.svg"),
        place.read("draft.toml"),
    ];
    for file in
        place.everything().iter().filter(|f| f.starts_with("release/") && place.path(f).is_file())
    {
        outputs.push(place.read(file));
    }
    for text in &outputs {
        for column in ["SECRETID", "SECRETNAME", "SECRETNOTE"] {
            assert!(!text.contains(column), "{column} in {text}");
        }
    }
    // What is printed on a terminal, and the draft, show no value at all.
    for i in [0, 1, 3, 4, 5, 6, 8] {
        assert!(!tells(&outputs[i]), "{}", outputs[i]);
    }
}

#[test]
fn messages_show_no_values() {
    let spoil = |data: &str, from: &str, to: &str| data.replace(from, to);
    let data = marked();
    let policy_with = |from: &str, to: &str| {
        assert!(MARKED_POLICY.contains(from), "{from}");
        MARKED_POLICY.replace(from, to)
    };
    let file = |name: &str| {
        policy_with("job = { role = \"quasi-identifier\", taxonomy = { flat = true } }", name)
    };
    let cases: Vec<(&str, String, String)> = vec![
        ("not a number", spoil(&data, "773301", "SECRETAGE"), MARKED_POLICY.into()),
        (
            "a number too long",
            spoil(&data, "773301", "77330177330177330177330"),
            MARKED_POLICY.into(),
        ),
        ("not a date", spoil(&data, "1971-03-02", "1971-03-0x"), MARKED_POLICY.into()),
        ("a ragged row", spoil(&data, ",SECRETNOTE3\n", "\n"), MARKED_POLICY.into()),
        (
            "a longer row",
            spoil(&data, "SECRETNOTE3\n", "SECRETNOTE3,SECRETMORE\n"),
            MARKED_POLICY.into(),
        ),
        ("an open quote", spoil(&data, "SECRETNAME4,", "\"SECRETNAME4,"), MARKED_POLICY.into()),
        (
            "text after a quote",
            spoil(&data, "SECRETNAME4,", "\"SECRET\"NAME4,"),
            MARKED_POLICY.into(),
        ),
        ("a NUL byte", spoil(&data, "SECRETNAME4", "SECRET\0NAME4"), MARKED_POLICY.into()),
        (
            "no header",
            data.split_once('\n').map(|(_, rest)| rest.to_owned()).unwrap_or_default(),
            MARKED_POLICY.into(),
        ),
        ("a person twice", spoil(&data, "SECRETID5,", "SECRETID6,"), MARKED_POLICY.into()),
        ("k too large", data.clone(), policy_with("k = 4", "k = 99")),
        ("a label with the mask", spoil(&data, "SECRETCITY0", "SECRETCITY*"), MARKED_POLICY.into()),
        ("the root as a value", spoil(&data, "SECRETJOB0", "*"), MARKED_POLICY.into()),
        (
            "an uncovered value",
            data.clone(),
            file("job = { role = \"quasi-identifier\", taxonomy = \"jobs.csv\" }"),
        ),
        (
            "intervals on text",
            data.clone(),
            file("job = { role = \"quasi-identifier\", taxonomy = { intervals = [5] } }"),
        ),
        (
            "dates on text",
            data.clone(),
            file("job = { role = \"quasi-identifier\", taxonomy = { dates = [\"year\"] } }"),
        ),
        (
            "an uncovered value of a nested list",
            data.clone(),
            file(
                "job = { role = \"quasi-identifier\", taxonomy = { nested = { all = [\"a\", \"b\"] } } }",
            ),
        ),
        (
            "ordered distance on text",
            data.clone(),
            policy_with(
                "[algorithm]",
                "[[models]]\nname = \"t-closeness\"\nt = 0.0001\ndistance = \"ordered\"\nattribute = \"illness\"\n[algorithm]",
            ),
        ),
    ];
    for (what, data, policy) in cases {
        let place = Place::new(&data, &policy);
        place.put("jobs.csv", "baker;*\nclerk;*\n");
        for arguments in [
            &["publish", "policy.toml"][..],
            &["publish", "policy.toml", "--json"],
            &["check", "data.csv", "--policy", "policy.toml"],
            &["inspect", "data.csv"],
            &["taxonomy", "check", "jobs.csv", "--data", "data.csv", "--column", "job"],
            &["check", "data.csv", "--quasi-identifiers", "age,city", "--sensitive", "illness"],
        ] {
            let output = place.run(arguments);
            let text = printed(&output);
            // A file without a header has values for names.
            let named = what == "no header";
            // A release that was made may be described in its own words.
            let published = arguments.contains(&"--json") && output.status.success();
            assert!(
                named || published || !tells(&text),
                "{what}, scumble {}: {text}",
                arguments.join(" ")
            );
            assert!(output.status.code().is_some_and(|c| c <= 2), "{what}: {text}");
            assert!(!text.contains("panicked"), "{what}: {text}");
            if arguments[0] == "publish" && output.status.code() != Some(0) {
                assert!(!place.path("release").exists(), "{what}");
                assert!(!place.everything().iter().any(|n| n.contains("partial")), "{what}");
            }
            let _ = fs::remove_dir_all(place.path("release"));
        }
    }
}

#[test]
fn a_line_of_ten_megabytes_is_refused_or_read() {
    let long = format!("id,row,age,illness,zip,sex\n{}\n", "SECRET".repeat(10 * 1024 * 1024 / 6));
    let place = Place::new(&long, &policy("identifier", ""));
    let text = place.expect(2, &["publish", "policy.toml"]);
    assert!(
        text.starts_with("error: line 2 of `data.csv` has 1 field instead of 6"),
        "{}",
        &text[..text.len().min(300)]
    );
    assert!(text.len() < 500 && !text.contains("SECRET"));
    // As a header it is one column, which has no role; its name may be told, but not at this
    // length.
    place.put("data.csv", "SECRET".repeat(10 * 1024 * 1024 / 6));
    let text = place.expect(2, &["publish", "policy.toml"]);
    assert!(text.len() < 5_000, "{} characters", text.len());
    // As a cell of an identifier it does no harm.
    let mut rows = people(20);
    rows.push_str(&format!("{},20,30,ill1,10001,F\n", "X".repeat(10 * 1024 * 1024)));
    place.put("data.csv", rows);
    place.expect(0, &["publish", "policy.toml"]);
    // Policy, data; the release's folder with data, manifest, certificate and its own folder.
    assert_eq!(place.everything().len(), 2 + 5);
}

// Every record with its own cells.

/// The cells of a line; our own release quotes ranges only.
fn cells(line: &str) -> Vec<String> {
    let (mut out, mut quoted) = (vec![String::new()], false);
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => out.push(String::new()),
            c => out.last_mut().expect("there is a first").push(c),
        }
    }
    out
}

fn covers(published: &str, value: &str) -> bool {
    let number = |t: &str| t.parse::<i64>().expect("a number");
    if let Some((low, high)) = published.strip_prefix('[').and_then(|p| p.split_once(", ")) {
        let value = number(value);
        return match high.strip_suffix(']') {
            Some(high) => (number(low)..=number(high)).contains(&value),
            None => (number(low)..number(high.trim_end_matches(')'))).contains(&value),
        };
    }
    published == value
        || (published.ends_with('*') && value.starts_with(published.trim_end_matches('*')))
}

#[test]
fn every_record_keeps_its_own_cells() {
    let data = people(3_000);
    let source: HashMap<String, Vec<String>> =
        data.lines().skip(1).map(cells).map(|row| (row[1].clone(), row)).collect();
    for algorithm in ["", "partition = \"relaxed\"", "recoding = \"region\"", "cut = \"median\""] {
        let place = Place::new(&data, &policy("insensitive", algorithm));
        place.expect(0, &["publish", "policy.toml"]);
        let text = place.read("out/release/data.csv");
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some("row,age,illness,zip,sex"));
        let mut seen = std::collections::HashSet::new();
        for row in lines.map(cells) {
            let own = &source[&row[0]];
            assert!(seen.insert(row[0].clone()), "row {} twice", row[0]);
            assert_eq!(row[2], own[3], "{algorithm}: the illness of row {}", row[0]);
            for (published, value) in [(&row[1], &own[2]), (&row[3], &own[4]), (&row[4], &own[5])] {
                assert!(covers(published, value), "{algorithm}: `{published}` for `{value}`");
            }
        }
        assert_eq!(seen.len(), source.len(), "{algorithm}");
        place.expect(0, &["check", "out/release"]);
    }
}

/// A file that is shipped in part still says what lies between the ends of a range.
#[test]
fn ranges_of_an_ordered_file_are_understood() {
    let tree = "n1;North;*\nn2;North;*\nn3;North;*\ns1;South;*\ns2;South;*\ne1;East;*\n";
    for rows in [
        "e1,flu\ns2,hiv\nn2,cold\nn1,flu\n",
        "e1,flu\ns2,hiv\nn2,cold\nn3,flu\n",
        "n1,flu\ns1,hiv\ns2,cold\ne1,flu\n",
    ] {
        for algorithm in ["mondrian", "local"] {
            let policy = format!(
                "source = \"data.csv\"\nledger = false\n[attributes]\n\
                 tree = {{ role = \"quasi-identifier\", taxonomy = {{ file = \"tree.csv\", ordered = true }} }}\n\
                 dis = \"sensitive\"\n[[models]]\nname = \"k-anonymity\"\nk = 2\n\
                 [algorithm]\nname = \"{algorithm}\"\n[release]\nto = \"out/release\"\n"
            );
            let place = Place::new(&format!("tree,dis\n{rows}"), &policy);
            place.put("tree.csv", tree);
            place.expect(0, &["publish", "policy.toml"]);
            place.expect(0, &["check", "out/release"]);
            let shipped = place.read("out/release/taxonomies/tree.csv");
            let shown = place.read("out/release/data.csv");
            let unpublished = ["n1", "n2", "n3", "s1", "s2", "e1"]
                .into_iter()
                .filter(|leaf| !shown.contains(leaf));
            unpublished.for_each(|leaf| assert!(!shipped.contains(leaf), "{leaf}: {shipped}"));
        }
    }
}

// Parquet and Arrow.

fn batch() -> RecordBatch {
    let rows = 400i64;
    let ids: Vec<String> = (0..rows).map(|i| format!("ID{i}")).collect();
    let ages = Int64Array::from_iter((0..rows).map(|i| (i % 50 != 0).then_some(20 + (i * 7) % 60)));
    let visits = Date32Array::from_iter_values((0..rows).map(|i| 20_000 + ((i * 13) % 300) as i32));
    let illness: Vec<String> = (0..rows).map(|i| format!("ill{}", i % 7)).collect();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("id", Arc::new(StringArray::from(ids))),
        ("row", Arc::new(Int64Array::from_iter_values(0..rows))),
        ("age", Arc::new(ages)),
        ("visit", Arc::new(visits)),
        ("illness", Arc::new(StringArray::from(illness))),
    ];
    RecordBatch::try_from_iter(columns).expect("columns of one length")
}

const COLUMNAR: &str = r#"source = "SOURCE"
[attributes]
id = { role = "identifier", person = true }
row = { role = "insensitive" }
age = { role = "quasi-identifier", taxonomy = { intervals = [5, 10] } }
visit = { role = "quasi-identifier", taxonomy = { dates = ["month"] } }
illness = { role = "sensitive" }
[[models]]
name = "k-anonymity"
k = 5
[algorithm]
name = "mondrian"
[release]
to = "release"
format = "FORMAT"
"#;

#[test]
fn parquet_and_arrow_in_and_out() {
    use parquet::arrow::{ArrowWriter, arrow_reader::ParquetRecordBatchReaderBuilder};
    let batch = batch();
    let place = Place::new("", "");
    let create = |name: &str| fs::File::create(place.path(name)).expect("a file");
    let mut writer =
        ArrowWriter::try_new(create("data.parquet"), batch.schema(), None).expect("a writer");
    writer.write(&batch).expect("it is written");
    writer.close().expect("it is closed");
    let mut writer = arrow_ipc::writer::FileWriter::try_new(create("data.arrow"), &batch.schema())
        .expect("a writer");
    writer.write(&batch).expect("it is written");
    writer.finish().expect("it is closed");
    let mut releases = Vec::new();
    for source in ["data.parquet", "data.arrow"] {
        for format in ["parquet", "csv"] {
            place.put("policy.toml", COLUMNAR.replace("SOURCE", source).replace("FORMAT", format));
            place.expect(0, &["publish", "policy.toml", "--seed", "1", "--replace"]);
            let checked = place.expect(0, &["check", "release"]);
            assert!(
                checked.contains("400 records") && checked.contains("Keeps its promises"),
                "{checked}"
            );
            releases.push(
                fs::read(place.path(&format!("release/data.{format}"))).expect("the release"),
            );
        }
    }
    assert!(
        releases[0] == releases[2] && releases[1] == releases[3],
        "both sources give the same release"
    );
    // What is not generalized keeps its type.
    place.put(
        "policy.toml",
        COLUMNAR.replace("SOURCE", "data.parquet").replace("FORMAT", "parquet"),
    );
    place.expect(0, &["publish", "policy.toml", "--replace"]);
    let file = fs::File::open(place.path("release/data.parquet")).expect("the release");
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).expect("it is Parquet");
    let schema: Vec<String> = builder
        .schema()
        .fields()
        .iter()
        .map(|f| format!("{} {}", f.name(), f.data_type()))
        .collect();
    assert_eq!(schema, ["row Int64", "age Utf8", "visit Utf8", "illness Utf8"]);
    let rows: usize =
        builder.build().expect("a reader").map(|b| b.expect("a batch").num_rows()).sum();
    assert_eq!(rows, 400);
    // A broken file is an error, not a crash.
    place.put("data.parquet", "PAR1 and nothing more");
    place.put("data.arrow", "ARROW1 and nothing more");
    for source in ["data.parquet", "data.arrow"] {
        let text = place.expect(2, &["inspect", source]);
        assert!(text.starts_with("error: ") && !text.contains("panicked"), "{text}");
    }
}

#[test]
fn minimality_writes_what_it_finds_about_everybody() {
    let policy = "source = \"data.csv\"\nledger = false\n[attributes]\nname = { role = \"identifier\", person = true }\n\
                  age = { role = \"quasi-identifier\", taxonomy = { number = true } }\ns = \"sensitive\"\n\
                  [[models]]\nname = \"k-anonymity\"\nk = 2\n[algorithm]\nname = \"mondrian\"\n[release]\nto = \"r\"\n";
    let place = Place::new("name,age,s\nann,20,flu\nbob,21,flu\ncid,30,hiv\ndan,31,flu\n", policy);
    place.expect(
        0,
        &["attack", "minimality", "--policy", "policy.toml", "--people", "everybody.csv"],
    );
    let by = "by the worlds that make this release again";
    let told = place.read("everybody.csv");
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(lines[0], "attack,row,name,risk,estimator,certain,values");
    assert_eq!(lines[1], format!("minimality,1,ann,1.000000,{by},yes,flu 1.000000"));
    assert_eq!(lines[3], format!("minimality,3,cid,0.500000,{by},no,flu 0.500000; hiv 0.500000"));
    assert_eq!(lines.len(), 5);
    // What it makes no use of is refused rather than ignored.
    place.expect(2, &["attack", "minimality", "--policy", "policy.toml", "--register", "data.csv"]);
}
