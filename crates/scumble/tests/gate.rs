//! The gate against the enumeration of all worlds.

use proptest::prelude::*;
use scumble::exact::Ratio;
use scumble::gate::{Gate, Memory, Panelist, Remembered, Seen, What, adversaries, judge, left};
use scumble::inference::Located;
use scumble::progress::Report;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};

#[path = "gate/rows.rs"]
mod rows;

const VALUES: u32 = 3;

/// What a random case is made of: everybody's value, and for each release everybody's group (0: not
/// in it) and who gets it.
#[derive(Clone, Debug)]
struct Case {
    truth: Vec<u32>,
    releases: Vec<(Vec<u32>, Vec<String>)>,
}

fn case() -> impl Strategy<Value = Case> {
    (3usize..=6, 1usize..=3).prop_flat_map(|(people, releases)| {
        let recipients = prop_oneof![
            Just(vec![]),
            Just(vec!["a".to_owned()]),
            Just(vec!["b".to_owned()]),
            Just(vec!["a".to_owned(), "c".to_owned()]),
        ];
        let release = (prop::collection::vec(0u32..=3, people), recipients);
        (prop::collection::vec(0..VALUES, people), prop::collection::vec(release, releases))
            .prop_map(|(truth, releases)| Case { truth, releases })
    })
}

impl Case {
    fn memory(&self) -> Memory {
        let release = |(i, (place, recipients)): (usize, &(Vec<u32>, Vec<String>))| {
            let mut groups: Vec<BTreeMap<u32, u64>> = vec![BTreeMap::new(); 3];
            for (&value, &group) in self.truth.iter().zip(place).filter(|(_, g)| **g > 0) {
                *groups[group as usize - 1].entry(value).or_default() += 1;
            }
            Remembered {
                name: format!("release {i}"),
                recipients: recipients.clone(),
                labels: (1..=3).map(|g| format!("group {g}")).collect(),
                groups: groups.into_iter().map(|g| g.into_iter().collect()).collect(),
                spots: (0..3).map(Located::at).collect(),
                place: place.clone(),
                strangers: Vec::new(),
                newly: Vec::new(),
                versions: Vec::new(),
                response: None,
            }
        };
        Memory {
            attribute: "value".into(),
            values: (0..VALUES).map(|v| v.to_string()).collect(),
            rows: None,
            unprotected: false,
            notes: Vec::new(),
            releases: self.releases.iter().enumerate().map(release).collect(),
            people: self.truth.len(),
            judged: None,
            name: Box::new(|p| p.to_string()),
        }
    }

    /// Whether a world shows what these releases show.
    fn agrees(&self, world: &[u32], releases: &[usize]) -> bool {
        let shown = |values: &[u32], r: usize| {
            let mut counts: BTreeMap<(u32, u32), u32> = BTreeMap::new();
            for (&value, &group) in values.iter().zip(&self.releases[r].0).filter(|(_, g)| **g > 0)
            {
                *counts.entry((group, value)).or_default() += 1;
            }
            counts
        };
        releases.iter().all(|&r| shown(world, r) == shown(&self.truth, r))
    }

    /// For everybody the values with the share of worlds; nothing for who is in none of the
    /// releases.
    fn shares(&self, releases: &[usize]) -> Vec<BTreeMap<u32, f64>> {
        let n = self.truth.len();
        let there = |p: usize| releases.iter().any(|&r| self.releases[r].0[p] > 0);
        let mut sums: Vec<BTreeMap<u32, f64>> = vec![BTreeMap::new(); n];
        let mut worlds = 0.0;
        for number in 0..VALUES.pow(n as u32) {
            let world: Vec<u32> = (0..n as u32).map(|p| number / VALUES.pow(p) % VALUES).collect();
            if self.agrees(&world, releases) {
                worlds += 1.0;
                (0..n)
                    .filter(|&p| there(p))
                    .for_each(|p| *sums[p].entry(world[p]).or_default() += 1.0);
            }
        }
        sums.iter_mut().for_each(|s| s.values_mut().for_each(|x| *x /= worlds));
        sums
    }

    /// Values that each of the releases allows a person.
    fn intersection(&self, person: usize, releases: &[usize]) -> usize {
        let of = |r: usize, group: u32| -> BTreeSet<u32> {
            let here = self.truth.iter().zip(&self.releases[r].0).filter(|(_, g)| **g == group);
            here.map(|(v, _)| *v).collect()
        };
        let hers = releases.iter().filter(|&&r| self.releases[r].0[person] > 0);
        let sets: Vec<BTreeSet<u32>> = hers.map(|&r| of(r, self.releases[r].0[person])).collect();
        (0..VALUES).filter(|v| !sets.is_empty() && sets.iter().all(|s| s.contains(v))).count()
    }

    /// How strongly a value of a person is believed in, at most, by worlds or by intersection.
    fn strongest(&self, person: usize, releases: &[usize], shares: &[BTreeMap<u32, f64>]) -> f64 {
        let by_worlds = shares[person].values().copied().fold(0.0, f64::max);
        match self.intersection(person, releases) {
            0 => by_worlds,
            n => by_worlds.max(1.0 / n as f64),
        }
    }
}

fn gate() -> Gate {
    Gate {
        written: true,
        candidates: Some(2),
        posterior: Some(Ratio::new(1, 2)),
        pvp: vec![(Ratio::new(1, 2), Ratio::new(0, 1))],
        panel: vec![Panelist::Intersection, Panelist::Worlds],
        coalitions: 2,
        ..Gate::default()
    }
}

fn people(seen: &Seen, what: What) -> BTreeSet<usize> {
    let breaches = seen.breaches.iter().filter(|b| b.what == what);
    breaches.flat_map(|b| b.people.iter().map(|&p| p as usize)).collect()
}

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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// A gate that has little work or time never lets pass what it would refuse with more, and
    /// what it calls certain is.
    #[test]
    fn a_hurried_gate_errs_on_the_safe_side(case in case(), work in 0u64..400, reports in 0u64..30) {
        let memory = case.memory();
        let panel = Gate::default().panel;
        let whole = Gate { panel, ..gate() };
        let unhurried = judge(&memory, &whole, None, &|_, _| true).unwrap();
        let little = Gate { work, ..whole.clone() };
        let hurried = judge(&memory, &little, None, &|_, _| true).unwrap();
        let late = judge(&memory, &whole, None, &LateAfter::reports(reports)).unwrap();
        for (full, seen) in unhurried.iter().zip(&hurried).chain(unhurried.iter().zip(&late)) {
            prop_assert!(full.holds() || !seen.holds(), "{:?} but {:?}", full.broken, seen.broken);
            prop_assert!(seen.exhausted.is_some() || seen.broken == full.broken);
            prop_assert!(seen.undecided == 0 || !seen.holds());
            let after = case.shares(&seen.adversary.releases);
            prop_assert!(people(seen, What::Certain).iter().all(|&p| after[p].len() == 1));
            let open = people(seen, What::Undecided);
            prop_assert_eq!(open.len() as u64, seen.undecided);
        }
    }

    /// Everything that the gate says is what the worlds say.
    #[test]
    fn the_gate_agrees_with_all_worlds(case in case()) {
        let memory = case.memory();
        let new = case.releases.len() - 1;
        for seen in judge(&memory, &gate(), None, &|_, _| true).unwrap() {
            let releases = &seen.adversary.releases;
            let earlier: Vec<usize> = releases.iter().copied().filter(|&r| r != new).collect();
            let (before, after) = (case.shares(&earlier), case.shares(releases));
            let everybody = || (0..case.truth.len()).filter(|&p| !after[p].is_empty());
            let certain: BTreeSet<usize> = everybody().filter(|&p| after[p].len() == 1).collect();
            let already: BTreeSet<usize> = everybody().filter(|&p| before[p].len() == 1).collect();
            prop_assert_eq!(seen.people, everybody().count() as u64);
            prop_assert_eq!(seen.certain, certain.len() as u64);
            prop_assert_eq!(seen.already, already.len() as u64);
            prop_assert_eq!(seen.newly, certain.difference(&already).count() as u64);
            prop_assert_eq!(people(&seen, What::Certain), certain.difference(&already).copied().collect());
            prop_assert_eq!(seen.fewest, everybody().map(|p| after[p].len() as u64).min().unwrap_or(0));
            let few = everybody().filter(|&p| after[p].len() < 2 && (before[p].is_empty() || after[p].len() < before[p].len()));
            prop_assert_eq!(people(&seen, What::Candidates), few.collect());
            let now = |p: usize| case.strongest(p, releases, &after);
            let was = |p: usize| case.strongest(p, &earlier, &before);
            let sure = everybody().filter(|&p| now(p) > 0.5 + 1e-9 && now(p) > was(p) + 1e-9);
            prop_assert_eq!(people(&seen, What::Posterior), sure.collect());
            let reaches = |n: usize| n > 0 && n <= 2;
            let found = everybody().filter(|&p| {
                reaches(case.intersection(p, releases)) && !reaches(case.intersection(p, &earlier))
            });
            let found: BTreeSet<usize> = found.filter(|&p| case.releases[new].0[p] > 0).collect();
            prop_assert_eq!(seen.pvp[0].1 > 0.0, !found.is_empty());
            prop_assert_eq!(seen.holds(), seen.breaches.is_empty());
        }
    }

    /// Without a `[gate]` only what releases reveal together counts.
    #[test]
    fn what_a_release_tells_alone_is_the_models_business(case in case()) {
        let new = case.releases.len() - 1;
        let quiet = Gate { panel: vec![Panelist::Intersection], ..Gate::default() };
        for seen in judge(&case.memory(), &quiet, None, &|_, _| true).unwrap() {
            let releases = &seen.adversary.releases;
            let earlier: Vec<usize> = releases.iter().copied().filter(|&r| r != new).collect();
            let (before, after, alone) = (case.shares(&earlier), case.shares(releases), case.shares(&[new]));
            let exposed = (0..case.truth.len())
                .filter(|&p| after[p].len() == 1 && before[p].len() != 1 && alone[p].len() != 1);
            prop_assert_eq!(people(&seen, What::Certain), exposed.collect());
        }
    }

    /// By default nobody on the panel may come to believe more than a half in a value by putting
    /// releases together.
    #[test]
    fn a_belief_beyond_what_models_promise_is_refused(case in case()) {
        let new = case.releases.len() - 1;
        let promised = BTreeMap::from([("value".to_owned(), Ratio::new(1, 2))]);
        let gate = Gate { promised, panel: vec![Panelist::Intersection, Panelist::Worlds], ..Gate::default() };
        for seen in judge(&case.memory(), &gate, None, &|_, _| true).unwrap() {
            let releases = &seen.adversary.releases;
            let earlier: Vec<usize> = releases.iter().copied().filter(|&r| r != new).collect();
            let (before, after, alone) = (case.shares(&earlier), case.shares(releases), case.shares(&[new]));
            let worse = (0..case.truth.len()).filter(|&p| !after[p].is_empty()).any(|p| {
                let now = case.strongest(p, releases, &after);
                let was = case.strongest(p, &earlier, &before).max(case.strongest(p, &[new], &alone));
                now > 0.5 + 1e-9 && now > was + 1e-9
            });
            prop_assert_eq!(seen.holds(), !worse, "{:?}", seen.broken);
            prop_assert_eq!(seen.limit.map(|l| (l.most, l.given)), Some((Ratio::new(1, 2), false)));
        }
    }

    /// `certain` is an allowance of the whole series: what earlier releases used up is gone.
    #[test]
    fn certain_people_add_up_over_a_series(case in case(), spent in 0u64..4, allowed in 0u64..4) {
        let mut memory = case.memory();
        if case.releases.len() > 1 {
            memory.releases[0].newly = vec![("everybody".to_owned(), spent)];
        }
        let gate = Gate { written: true, certain: allowed, panel: vec![Panelist::Intersection], ..Gate::default() };
        for seen in judge(&memory, &gate, None, &|_, _| true).unwrap() {
            let has_first = case.releases.len() > 1 && seen.adversary.releases.contains(&0);
            let spent = if has_first { spent } else { 0 };
            prop_assert_eq!(seen.spent, spent);
            prop_assert_eq!(seen.holds(), seen.newly == 0 || seen.newly + spent <= allowed);
        }
    }

    /// Every recipient, every coalition and everybody is looked at, as far as they have the new
    /// release.
    #[test]
    fn everybody_who_has_the_new_release_is_an_adversary(case in case()) {
        let memory = case.memory();
        let new = case.releases.len() - 1;
        let found: BTreeSet<Vec<usize>> = adversaries(&memory, 2, true).into_iter().map(|a| a.releases).collect();
        let names = ["a", "b", "c"];
        let mut expected = BTreeSet::from([(0..=new).collect::<Vec<usize>>()]);
        for set in 0u32..8 {
            if set.count_ones() > 2 {
                continue;
            }
            let has = |r: &usize| {
                let recipients = &case.releases[*r].1;
                recipients.is_empty() || (0..3).any(|i| set >> i & 1 == 1 && recipients.iter().any(|x| x == names[i]))
            };
            let releases: Vec<usize> = (0..=new).filter(has).collect();
            if releases.contains(&new) {
                expected.insert(releases);
            }
        }
        prop_assert_eq!(found, expected);
    }

    /// What is left is what earlier releases leave possible.
    #[test]
    fn what_is_left_is_counted(case in case()) {
        let new = case.releases.len() - 1;
        let before = case.shares(&(0..new).collect::<Vec<_>>());
        let mut expected: BTreeMap<u64, u64> = BTreeMap::new();
        for p in (0..case.truth.len()).filter(|&p| case.releases[new].0[p] > 0 && !before[p].is_empty()) {
            *expected.entry(before[p].len() as u64).or_default() += 1;
        }
        prop_assert_eq!(left(&case.memory(), &|_, _| true).unwrap(), expected);
    }
}

/// The two releases of Wang et al., Figure 1: patients 7, 10 and 13 are exposed by the second, and
/// it is told why.
#[test]
fn the_papers_example_is_refused_with_its_reasons() {
    let truth = ["F", "P", "D", "F", "F", "P", "D", "H", "F", "L", "P", "H", "D", "D", "P"];
    let values = ["D", "F", "H", "L", "P"];
    let first = [1, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 0, 0];
    let second = [1, 1, 2, 2, 3, 4, 0, 3, 4, 0, 3, 4, 0, 1, 2];
    let code = |v: &str| values.iter().position(|x| *x == v).unwrap() as u32;
    let remembered = |name: &str, place: &[u32]| {
        let mut groups: Vec<BTreeMap<u32, u64>> = vec![BTreeMap::new(); 4];
        for (v, &g) in truth.iter().zip(place).filter(|(_, g)| **g > 0) {
            *groups[g as usize - 1].entry(code(v)).or_default() += 1;
        }
        Remembered {
            name: name.into(),
            recipients: Vec::new(),
            labels: (1..=4).map(|g| format!("group {g}")).collect(),
            groups: groups.into_iter().map(|g| g.into_iter().collect()).collect(),
            spots: (0..4).map(Located::at).collect(),
            place: place.to_vec(),
            strangers: Vec::new(),
            newly: Vec::new(),
            versions: Vec::new(),
            response: None,
        }
    };
    let memory = Memory {
        attribute: "disease".into(),
        values: values.iter().map(|v| (*v).to_owned()).collect(),
        rows: None,
        unprotected: false,
        notes: Vec::new(),
        releases: vec![remembered("D1", &first), remembered("D2", &second)],
        people: 15,
        judged: None,
        name: Box::new(|p| (p + 1).to_string()),
    };
    let mut seen = judge(&memory, &Gate::default(), None, &|_, _| true).unwrap();
    assert!(
        seen.iter().flat_map(|s| &s.breaches).all(|b| b.reason.is_none()),
        "the verdict comes first"
    );
    seen.iter_mut().for_each(|s| s.explain(&memory, &|_, _| true));
    assert_eq!(seen.len(), 1);
    assert_eq!(people(&seen[0], What::Certain), BTreeSet::from([6, 9, 12]));
    assert_eq!(
        seen[0].broken,
        ["the values of 3 people would be certain to everybody; at most 0 may be"]
    );
    for breach in &seen[0].breaches {
        let reason = breach.reason.as_ref().expect("a reason");
        assert_eq!(reason.releases, [0, 1], "{reason:?}");
        assert!(!reason.sentences.is_empty());
    }
}
