//! Answers within limits of work and time, against all worlds: what is called impossible or certain
//! is so, and whatever is left open is said to be undecided.

use super::naive;
use scumble::inference::worlds::{NoWorlds, Options, worlds};
use scumble::inference::{Evidence, Exhausted, Forced, forced, forced_within, infer};
use scumble::progress::{Report, Watch};
use std::sync::atomic::{AtomicU64, Ordering};

/// Time is up after so many reports.
struct LateAfter(AtomicU64);

impl LateAfter {
    fn reports(reports: u64) -> LateAfter {
        LateAfter(AtomicU64::new(reports))
    }
}

impl Report for LateAfter {
    fn at(&self, _: u64, _: u64) -> bool {
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1));
        true
    }

    fn is_late(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }
}

/// Whether each outcome is possible in some world.
fn possible(evidence: &Evidence) -> Vec<bool> {
    let worlds = naive::worlds(evidence);
    (0..evidence.outcomes().len()).map(|o| worlds.iter().any(|w| w[o] > 0)).collect()
}

/// Asserts that nothing wrong is said; the number of outcomes that are undecided.
fn assert_sound(told: &Forced, truth: &[bool], what: &str) -> usize {
    for (outcome, (&told_possible, &truth)) in told.possible.iter().zip(truth).enumerate() {
        assert!(told_possible || !truth, "{what}: outcome {outcome} is called impossible");
        let undecided = told.undecided.binary_search(&(outcome as u32)).is_ok();
        assert!(
            undecided || told_possible == truth,
            "{what}: outcome {outcome} is called decided and is not"
        );
    }
    if !told.undecided.is_empty() {
        assert!(told.exhausted.is_some(), "{what}: nothing was used up");
    }
    told.undecided.len()
}

#[test]
fn with_any_limit_of_work_what_is_said_is_true() {
    let (mut cut_short, mut open) = (0, 0);
    for seed in 0..600 {
        let evidence = naive::random(seed);
        let truth = possible(&evidence);
        let whole = forced(&evidence).expect("there is a world");
        let mut last = usize::MAX;
        let limits = (0..12).chain((4..20).map(|n| 1 << n)).chain([whole.work, u64::MAX]);
        for work in limits {
            let what = format!("seed {seed}, work {work}");
            let told = forced_within(&evidence, work, &Watch::silent()).expect("there is a world");
            let undecided = assert_sound(&told, &truth, &what);
            assert!(told.work <= work, "{what}: took {}", told.work);
            cut_short += usize::from(told.exhausted == Some(Exhausted::Work));
            open += undecided;
            last = undecided;
            let again = forced_within(&evidence, work, &Watch::silent());
            assert_eq!(again, Ok(told), "{what}: by work, not chance");
        }
        assert_eq!(last, 0, "seed {seed}: enough work decides everything");
    }
    assert!(cut_short > 3000 && open > 10_000, "{cut_short} were cut short, {open} left open");
}

#[test]
fn whenever_time_is_up_what_is_said_is_true() {
    let mut cut_short = 0;
    for seed in 0..400 {
        let evidence = naive::random(seed);
        let truth = possible(&evidence);
        for reports in [0, 1, 2, 3, 5, 8, 13, 1000] {
            let what = format!("seed {seed}, {reports} reports");
            let late = LateAfter::reports(reports);
            let found = infer(&evidence, 1_000_000, &late).expect("there is a world");
            for (&possible, &truth) in found.forced.possible.iter().zip(&truth) {
                assert!(possible || !truth, "{what}");
            }
            cut_short += usize::from(found.exhausted() == Some(Exhausted::Time));
            for kind in 0..evidence.kinds().len() as u32 {
                let sum: f64 = found.beliefs.values(&evidence, kind).map(|(_, p)| p).sum();
                assert!((sum - 1.0).abs() < 1e-9, "{what}: a belief all the same");
            }
            let settled = found.beliefs.unsettled.is_empty();
            assert!(!settled || found.beliefs.violation < 1e-4, "{what}");
            let late = LateAfter::reports(reports);
            let counted = worlds(&evidence, &found.forced.possible, &Options::default(), &late)
                .expect("time that is up is no failure");
            assert_eq!(
                counted.unknown + counted.exact + counted.sampled.map_or(0, |s| s.people),
                evidence.people(),
                "{what}"
            );
        }
    }
    assert!(cut_short > 300, "{cut_short}");
}

#[test]
fn a_cancelled_answer_is_not_one_that_is_late() {
    let evidence = naive::figure_1();
    let possible = vec![true; evidence.outcomes().len()];
    let cancelled = worlds(&evidence, &possible, &Options::default(), &|_, _| false);
    assert_eq!(cancelled, Err(NoWorlds::Stopped));
    let late = worlds(&evidence, &possible, &Options::default(), &LateAfter::reports(0));
    assert!(late.is_ok_and(|worlds| worlds.unknown > 0));
}
