//! Who may be in no release: what is certain of people of a register, against every world by
//! enumeration.

use super::made::{crowd, figure, release, run};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use scumble::attack::{Knowledge, Membership, Scene};

const VALUES: usize = 2;

/// What may be true of somebody: her value, and which releases she is in; nothing if she is in
/// none.
type State = Option<(usize, [bool; 2])>;

/// People by their class in each release, and what the classes of the releases count.
struct Case {
    places: Vec<[u32; 2]>,
    counts: [[[u64; VALUES]; 2]; 2],
    releases: usize,
}

impl Case {
    /// A few people, some of whom are in releases; with `strangers`, people beside them are, too.
    fn random(seed: u64, strangers: bool) -> Case {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let people = rng.random_range(1..=5);
        let releases = rng.random_range(1..=2);
        let places: Vec<[u32; 2]> =
            (0..people).map(|_| [rng.random_range(0..2), rng.random_range(0..2)]).collect();
        let mut counts = [[[0; VALUES]; 2]; 2];
        for place in &places {
            let value = rng.random_range(0..VALUES);
            for release in 0..releases {
                counts[release][place[release] as usize][value] += u64::from(rng.random_bool(0.6));
            }
        }
        for class in counts.iter_mut().take(releases).flatten().filter(|_| strangers) {
            class[rng.random_range(0..VALUES)] += rng.random_range(0..=1);
        }
        Case { places, counts, releases }
    }

    fn states(&self) -> Vec<State> {
        let mut states = vec![None];
        for value in 0..VALUES {
            states.extend(
                [[true, false], [false, true], [true, true]].map(|is_in| Some((value, is_in))),
            );
        }
        states.retain(|s| self.releases == 2 || s.is_none_or(|(_, is_in)| !is_in[1]));
        states
    }

    /// What may be true of each person, over all worlds: the counts are met by these people, or at
    /// most, with strangers.
    fn possible(&self, strangers: bool) -> Vec<Vec<State>> {
        let (states, people) = (self.states(), self.places.len());
        let mut possible = vec![Vec::new(); people];
        for world in 0..states.len().pow(people as u32) {
            let state =
                |person: usize| states[world / states.len().pow(person as u32) % states.len()];
            let mut counts = [[[0; VALUES]; 2]; 2];
            for (person, place) in self.places.iter().enumerate() {
                let Some((value, is_in)) = state(person) else { continue };
                for release in (0..2).filter(|&r| is_in[r]) {
                    counts[release][place[release] as usize][value] += 1;
                }
            }
            let pairs =
                || counts.iter().flatten().flatten().zip(self.counts.iter().flatten().flatten());
            if pairs().all(|(mine, told)| if strangers { mine <= told } else { mine == told }) {
                for (person, possible) in possible.iter_mut().enumerate() {
                    if !possible.contains(&state(person)) {
                        possible.push(state(person));
                    }
                }
            }
        }
        possible
    }

    fn scene(&self, membership: Membership) -> Scene {
        let names = ["x", "y"];
        let values = ["v0", "v1"];
        let made = |r: usize| {
            let histogram = |class: usize| -> Vec<(&str, u64)> {
                (0..VALUES)
                    .map(|v| (values[v], self.counts[r][class][v]))
                    .filter(|(_, n)| *n > 0)
                    .collect()
            };
            let histograms = [histogram(0), histogram(1)];
            let regions = [[(0, 0)], [(1, 1)]];
            let classes: Vec<_> = (0..2)
                .filter(|&c| !histograms[c].is_empty())
                .map(|c| (&regions[c][..], &histograms[c][..]))
                .collect();
            (names[r].to_owned(), release(&[(names[r], 2)], &classes))
        };
        let register = crowd(&names, &self.places);
        let knowledge =
            Knowledge { register: &register, membership, told: Vec::new(), apart: None };
        Scene::new((0..self.releases).map(made).collect(), None, Some(&knowledge), 1)
            .expect("a scene")
    }
}

#[test]
fn whoever_may_be_in_no_release_has_no_certain_value() {
    let (mut certain_at_all, mut may_be_absent) = (0, 0);
    for seed in 0..400 {
        for (membership, strangers) in [(Membership::Population, false), (Membership::Some, true)] {
            let case = Case::random(seed, strangers);
            if case.counts.iter().take(case.releases).any(|r| r.iter().flatten().all(|&n| n == 0)) {
                continue;
            }
            let scene = case.scene(membership);
            let report = run("inference", &scene);
            let possible = case.possible(strangers);
            let kind_of = &report.crowd(&scene).expect("people").kind_of;
            let beliefs = report.beliefs.as_ref().expect("beliefs");
            let (mut certain, mut fewest) = (0, usize::MAX);
            for (person, states) in possible.iter().enumerate() {
                let mut values: Vec<usize> =
                    states.iter().flatten().map(|(value, _)| *value).collect();
                values.sort_unstable();
                values.dedup();
                let absent = states.contains(&None);
                let is_certain = values.len() == 1 && !absent;
                let told: Vec<String> = values.iter().map(|v| format!("v{v}")).collect();
                let believed = beliefs.of(kind_of[person] as usize);
                let mut believed: Vec<String> =
                    believed.iter().map(|(v, _)| scene.values[*v as usize].clone()).collect();
                believed.sort_unstable();
                assert_eq!(
                    believed, told,
                    "seed {seed}, {membership:?}, person {person}: {states:?}"
                );
                assert_eq!(
                    beliefs.is_certain(kind_of[person] as usize),
                    is_certain,
                    "seed {seed}, {membership:?}"
                );
                certain += u32::from(is_certain);
                certain_at_all += u32::from(is_certain);
                may_be_absent += u32::from(values.len() == 1 && absent);
                fewest = if absent { fewest } else { fewest.min(values.len()) };
            }
            assert_eq!(
                figure(&report, "certain"),
                f64::from(certain),
                "seed {seed}, {membership:?}"
            );
            let fewest = if fewest == usize::MAX { 0 } else { fewest };
            assert_eq!(figure(&report, "fewest"), fewest as f64, "seed {seed}, {membership:?}");
        }
    }
    assert!(
        certain_at_all > 20 && may_be_absent > 20,
        "{certain_at_all} certain, {may_be_absent} may be absent"
    );
}
