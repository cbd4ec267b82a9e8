//! A run that is killed: afterwards a release is there with its entry, or neither is; whatever moment it was.

use crate::place::{Place, Random, SCUMBLE};
use std::collections::BTreeMap;
use std::process::{Command, Stdio};
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

/// Checks everything after a kill and counts what it came to, given how many releases the ledger had before.
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
            assert!(place.path("out/release/manifest.json").exists(), "neither the old one nor the new one is there");
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
        let killed = kill(&place, &["publish", "policy.toml"], typical * random.below(1_150) as u32 / 1_000);
        account(&place, &mut before, killed, &mut outcomes);
        place.expect(0, &["publish", "policy.toml", "--replace"]);
        place.consistent();
        place.expect(0, &["ledger", "verify"]);
    }
    assert!(outcomes.contains_key("nothing"), "{outcomes:?}");
}

/// System calls that change something on the disk.
const STEPS: [&str; 10] =
    ["mkdir", "rename", "link", "unlink", "unlinkat", "rmdir", "fsync", "fdatasync", "pwrite64", "ftruncate"];

/// Runs under `strace`, which kills it before the `n`-th call of this name; whether there was such a call.
fn kill_before(place: &Place, call: &str, n: usize, arguments: &[&str]) -> bool {
    let inject = format!("inject={call}:error=EIO:signal=KILL:when={n}");
    let mut command = Command::new("strace");
    command.current_dir(place.path("")).args(["-f", "-qq", "-o", "/dev/null", "-e", &inject, SCUMBLE]).args(arguments);
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status().expect("strace starts");
    !status.success()
}

fn strace_works() -> bool {
    let works = Command::new("strace").args(["-o", "/dev/null", "true"]).output().is_ok_and(|o| o.status.success());
    if !works {
        eprintln!("skipped: strace is not here, or may not trace");
    }
    works
}

/// Not at random moments but before every single step.
#[test]
fn before_every_step() {
    if !strace_works() {
        return;
    }
    let mut kills = 0;
    for arguments in [&["publish", "policy.toml"][..], &["publish", "policy.toml", "--replace"]] {
        let replacing = arguments.len() > 2;
        for call in STEPS {
            for n in 1.. {
                let place = Place::new("");
                if replacing {
                    place.expect(0, &["publish", "policy.toml"]);
                }
                if !kill_before(&place, call, n, arguments) {
                    break;
                }
                kills += 1;
                place.consistent();
                assert!(!replacing || place.path("out/release/manifest.json").exists(), "{call} {n}");
                place.expect(0, &["publish", "policy.toml", "--replace"]);
                place.consistent();
            }
        }
    }
    assert!(kills > 40, "{kills} steps");
}
