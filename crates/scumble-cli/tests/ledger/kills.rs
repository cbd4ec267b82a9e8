//! A run that is killed: afterwards a release is there with its entry, or neither is; whatever
//! moment it was.

use crate::place::{Place, Random, SCUMBLE, printed};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// How long a run takes that is not killed.
fn typical() -> Duration {
    let place = Place::new("");
    place.expect(0, &["publish", "policy.toml"]);
    let begun = Instant::now();
    place.expect(0, &["publish", "policy.toml", "--replace"]);
    begun.elapsed()
}

/// Publishes and kills it after a while; whether it was still running.
fn kill(place: &Place, arguments: &[&str], after: Duration) -> bool {
    let mut child = place.start(arguments);
    std::thread::sleep(after);
    let _ = child.kill();
    !child.wait().expect("it ends").success()
}

/// What killed runs came to, by word.
type Outcomes = BTreeMap<&'static str, usize>;

/// Checks everything after a kill and counts what it came to, given how many releases the ledger
/// had before.
fn account(place: &Place, before: &mut usize, killed: bool, outcomes: &mut Outcomes) {
    let standing = place.consistent();
    let word = match standing.get(*before..).unwrap_or_default() {
        [] => "nothing",
        [one] if one == "abandoned" => "abandoned",
        [one] if one == "published" && killed => "recovered",
        [one] if one == "published" => "published",
        more => panic!("one run, and {more:?}"),
    };
    assert!(killed || word == "published", "it succeeded, and the ledger says {word}");
    *before = standing.len();
    *outcomes.entry(word).or_default() += 1;
}

#[test]
fn at_any_moment_of_publishing() {
    let (typical, mut random, mut outcomes) = (typical(), Random(1), Outcomes::new());
    let mut moment = |from: u64| typical * (from + random.below(1_150 - from)) as u32 / 1_000;
    for _ in 0..6 {
        let (place, mut before) = (Place::new(""), 0);
        for i in 0..20 {
            let to = format!("out/{i}");
            let killed = kill(&place, &["publish", "policy.toml", "--to", &to], moment(300));
            account(&place, &mut before, killed, &mut outcomes);
        }
        place.expect(0, &["publish", "policy.toml"]);
        place.expect(0, &["ledger", "verify"]);
    }
    for word in ["nothing", "abandoned", "published"] {
        assert!(outcomes.contains_key(word), "no kill came to `{word}`: {outcomes:?}");
    }
}

#[test]
fn at_any_moment_of_replacing() {
    let (typical, mut random, mut outcomes) = (typical(), Random(2), Outcomes::new());
    for _ in 0..3 {
        let (place, mut before) = (Place::new(""), 1);
        place.expect(0, &["publish", "policy.toml"]);
        for _ in 0..20 {
            let after = typical * (300 + random.below(850)) as u32 / 1_000;
            let killed = kill(&place, &["publish", "policy.toml", "--replace"], after);
            account(&place, &mut before, killed, &mut outcomes);
            assert!(
                place.path("out/release/manifest.json").exists(),
                "neither the old one nor the new one is there"
            );
        }
        let verified = place.answer(0, &["ledger", "verify"]);
        assert_eq!(verified["in_place"], 1, "{verified}");
    }
    assert!(outcomes.contains_key("abandoned"), "{outcomes:?}");
}

#[test]
fn at_any_moment_of_the_first_publication() {
    let (typical, mut random, mut outcomes) = (typical(), Random(3), Outcomes::new());
    for _ in 0..40 {
        let (place, mut before) = (Place::new(""), 0);
        let killed =
            kill(&place, &["publish", "policy.toml"], typical * random.below(1_150) as u32 / 1_000);
        account(&place, &mut before, killed, &mut outcomes);
        place.expect(0, &["publish", "policy.toml", "--replace"]);
        place.consistent();
        place.expect(0, &["ledger", "verify"]);
    }
    assert!(outcomes.contains_key("nothing"), "{outcomes:?}");
}

/// Who interrupts is told what became of it, and the ledger agrees.
#[test]
fn an_interrupt() {
    let (typical, mut random, place) = (typical(), Random(5), Place::new(""));
    let mut before = 0;
    for i in 0..30 {
        let child = place.start(&["publish", "policy.toml", "--to", &format!("out/{i}")]);
        std::thread::sleep(typical * (300 + random.below(850)) as u32 / 1_000);
        let _ = Command::new("kill").args(["-INT", &child.id().to_string()]).output();
        let output = child.wait_with_output().expect("it ends");
        let (text, standing) = (printed(&output), place.consistent());
        let published = standing.get(before..).unwrap_or_default() == ["published"];
        match output.status.code() {
            Some(0) => assert!(published, "{text}"),
            Some(130) => assert!(!published, "{text}"),
            // Before the handler is there.
            None => assert!(!published, "{text}"),
            other => panic!("{other:?}: {text}"),
        }
        before = standing.len();
    }
}

/// System calls that change something on the disk, as far as this machine has them.
const REMOVING: &[&str] = &["unlink", "unlinkat", "rmdir"];
const WRITING: &[&str] = &[
    "mkdir",
    "mkdirat",
    "rename",
    "renameat",
    "renameat2",
    "linkat",
    "fsync",
    "fdatasync",
    "ftruncate",
    "pwrite64",
    "write",
];

/// Runs under `strace`, which lets the `n`-th call of this name fail, and kills the run then if it
/// is told so.
fn disturbed(
    place: &Place,
    inject: &str,
    call: &str,
    n: usize,
    arguments: &[&str],
) -> (Output, bool) {
    let (inject, trace) = (format!("inject={call}:{inject}:when={n}"), place.path("trace"));
    let mut command = Command::new("strace");
    command.current_dir(place.path("")).args([
        "-f",
        "-qq",
        "-e",
        &format!("trace={call}"),
        "-e",
        &inject,
        "-o",
    ]);
    let output = command.arg(&trace).arg(SCUMBLE).args(arguments).output().expect("strace starts");
    let disturbed = fs::read_to_string(&trace).is_ok_and(|text| text.contains("(INJECTED)"));
    let killed = output.status.signal() == Some(9);
    fs::remove_file(&trace).expect("the trace");
    (output, disturbed || killed)
}

fn strace_works() -> bool {
    let works = Command::new("strace")
        .args(["-o", "/dev/null", "true"])
        .output()
        .is_ok_and(|o| o.status.success());
    if !works {
        eprintln!("skipped: strace is not here, or may not trace");
    }
    works
}

/// Not at random moments but at every single step: each of them is disturbed, and everything is
/// right afterwards.
fn every_step(inject: &str, calls: &[&[&str]], replacing: bool, look: impl Fn(&Output, &str)) {
    if !strace_works() {
        return;
    }
    let arguments = &["publish", "policy.toml", "--replace"][..if replacing { 3 } else { 2 }];
    let mut steps = 0;
    for call in calls.concat() {
        for n in 1.. {
            let place = Place::new("");
            if replacing {
                place.expect(0, &["publish", "policy.toml"]);
            }
            let (output, disturbed) = disturbed(&place, inject, call, n, arguments);
            if !disturbed {
                break;
            }
            steps += 1;
            let step = format!("{call} {n}: {}", printed(&output));
            look(&output, &step);
            place.consistent();
            assert!(
                !replacing || place.path("out/release/manifest.json").exists(),
                "neither is there: {step}"
            );
            place.expect(0, &["publish", "policy.toml", "--replace"]);
            assert!(place.consistent().iter().any(|s| s == "published"), "{step}");
        }
    }
    assert!(steps > 20, "{steps} steps");
}

#[test]
fn before_every_step() {
    every_step("error=EIO:signal=KILL", &[REMOVING, WRITING], false, |_, _| ());
}

#[test]
fn before_every_step_of_replacing() {
    every_step("error=EIO:signal=KILL", &[REMOVING, WRITING], true, |_, _| ());
}

/// Whatever fails is told, or did no harm. A disk that is full does not keep anybody from removing.
#[test]
fn at_every_step_the_disk_may_fill_up() {
    every_step("error=ENOSPC", &[WRITING], false, |output, step| {
        assert!(
            matches!(output.status.code(), Some(0 | 2)) && !step.contains("panicked"),
            "{step}"
        );
    });
}
