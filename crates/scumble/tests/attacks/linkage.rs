//! Linkage and intersection on the tables of the literature, and against brute force on random
//! releases.

use super::made::{Class, crowd, figure, release, run};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use scumble::attack::{In, Knowledge, Membership, Scene, locate};
use scumble::progress::Watch;

/// A class that is made up on the way.
type Owned = (Vec<(u32, u32)>, Vec<(&'static str, u64)>);

/// Patients of the linking example, generalized: Job, Sex, Age → Disease. Jobs are Engineer 0,
/// Lawyer 1, Writer 2, Dancer 3.
fn patients() -> scumble::release::Release {
    release(
        &[("job", 4), ("sex", 2), ("age", 10)],
        &[
            (&[(0, 1), (0, 0), (5, 9)], &[("Hepatitis", 2), ("HIV", 1)]),
            (&[(2, 3), (1, 1), (0, 4)], &[("Flu", 1), ("HIV", 3)]),
        ],
    )
}

/// The external table: Alice … Irene.
const PEOPLE: [[u32; 3]; 9] = [
    [2, 1, 0],
    [0, 0, 5],
    [2, 1, 0],
    [1, 0, 8],
    [3, 1, 0],
    [0, 0, 8],
    [3, 1, 0],
    [1, 0, 9],
    [3, 1, 2],
];

#[test]
fn every_name_hits_three_or_four_records() {
    let register = crowd(&["job", "sex", "age"], &PEOPLE);
    let scene = |membership| {
        let knowledge =
            Knowledge { register: &register, membership, told: Vec::new(), apart: None };
        Scene::new(vec![("r".into(), patients())], None, Some(&knowledge), 1).expect("a scene")
    };
    let members = scene(Membership::Members);
    let linked = run("record-linkage", &members);
    assert_eq!(figure(&linked, "fewest"), 3.0);
    assert_eq!(figure(&linked, "not_found"), 0.0);
    assert_eq!(figure(&linked, "worst"), 1.0 / 3.0);
    let told = run("attribute-linkage", &members);
    assert_eq!(figure(&told, "worst"), 0.75);
    assert_eq!(figure(&told, "certain"), 0.0);
    let population = scene(Membership::Population);
    let present = run("table-linkage", &population);
    assert_eq!((figure(&present, "worst"), figure(&present, "least")), (0.8, 0.75));
    // A journalist: one in four of those who fit, one in five.
    assert_eq!(figure(&run("record-linkage", &population), "worst"), 0.25);
}

#[test]
fn the_raw_table_gives_five_of_nine_away() {
    let raw = release(
        &[("job", 4), ("sex", 2), ("age", 10)],
        &[
            (&[(0, 0), (0, 0), (5, 5)], &[("Hepatitis", 1)]),
            (&[(0, 0), (0, 0), (8, 8)], &[("Hepatitis", 1)]),
            (&[(1, 1), (0, 0), (8, 8)], &[("HIV", 1)]),
            (&[(2, 2), (1, 1), (0, 0)], &[("Flu", 1), ("HIV", 1)]),
            (&[(3, 3), (1, 1), (0, 0)], &[("HIV", 2)]),
        ],
    );
    let register = crowd(&["job", "sex", "age"], &PEOPLE);
    let knowledge = Knowledge {
        register: &register,
        membership: Membership::Members,
        told: Vec::new(),
        apart: None,
    };
    let scene = Scene::new(vec![("r".into(), raw)], None, Some(&knowledge), 1).expect("a scene");
    let told = run("attribute-linkage", &scene);
    assert_eq!(figure(&told, "certain"), 5.0);
    assert_eq!(figure(&told, "not_found"), 2.0);
    assert!(told.findings.iter().any(|f| f.contains("HIV: 2 of 2 records")), "{:?}", told.findings);
    assert_eq!(figure(&run("record-linkage", &scene), "unique"), 3.0);
}

/// Table 1 of Ganta et al., ages in years.
fn hospitals() -> Scene {
    let years = ("age", 100);
    let first = release(
        &[years],
        &[
            (&[(0, 29)], &[("AIDS", 1), ("Heart", 1), ("Viral", 2)]),
            (&[(30, 39)], &[("Cancer", 4)]),
            (&[(40, 99)], &[("Cancer", 1), ("Heart", 1), ("Viral", 2)]),
        ],
    );
    let second = release(
        &[years],
        &[
            (&[(0, 34)], &[("AIDS", 1), ("Cancer", 2), ("Flu", 1), ("TB", 2)]),
            (&[(35, 99)], &[("Cancer", 3), ("TB", 1), ("Viral", 2)]),
        ],
    );
    let register = crowd(&["age"], &[[28], [32], [37], [45]]);
    let knowledge = Knowledge {
        register: &register,
        membership: Membership::Members,
        told: Vec::new(),
        apart: None,
    };
    Scene::new(vec![("a".into(), first), ("b".into(), second)], None, Some(&knowledge), 1)
        .expect("a scene")
}

#[test]
fn alice_of_table_1_has_aids() {
    let scene = hospitals();
    let report = run("intersection", &scene);
    let crowd = scene.people().expect("people");
    let left = |row: usize| -> Vec<&str> {
        let beliefs = report.beliefs.as_ref().expect("beliefs").of(crowd.kind_of[row] as usize);
        beliefs.iter().map(|&(v, _)| scene.values[v as usize].as_str()).collect()
    };
    assert_eq!(left(0), ["AIDS"]);
    assert_eq!(left(1), ["Cancer"]);
    assert_eq!(left(2), ["Cancer"]);
    assert_eq!(left(3), ["Cancer", "Viral"]);
    assert_eq!(figure(&report, "people"), 4.0);
    // Alice: 3 and 4 values, 1 left. The ages 30 … 39 are homogeneous in (a) already.
    assert_eq!(figure(&report, "ea_1"), (3.0 + 1.0 + 1.0 + 3.0) / 4.0);
    assert_eq!(figure(&report, "ea_2"), (4.0 + 4.0 + 3.0 + 3.0) / 4.0);
    assert_eq!(figure(&report, "vp"), 2.0);
    assert_eq!(figure(&report, "drop"), (2.0 + 1.0) / 4.0);
    assert_eq!(figure(&report, "pvp_100"), 0.75);
    assert_eq!(figure(&report, "before_100"), 0.5);
    assert_eq!(figure(&report, "pvp_50"), 1.0);
}

#[test]
fn people_are_where_brute_force_finds_them() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    for _ in 0..200 {
        let mut classes: Vec<Owned> = Vec::new();
        for _ in 0..rng.random_range(1..12) {
            let mut run = || {
                let (a, b) = (rng.random_range(0..20), rng.random_range(0..20));
                (u32::min(a, b), u32::max(a, b))
            };
            classes.push((vec![run(), run()], vec![("a", 1), ("b", 2)]));
        }
        let made: Vec<Class<'_>> = classes.iter().map(|(r, h)| (&r[..], &h[..])).collect();
        let release = release(&[("x", 20), ("y", 20)], &made);
        let people: Vec<[u32; 2]> =
            (0..100).map(|_| [rng.random_range(0..20), rng.random_range(0..20)]).collect();
        let found = locate(&release, &crowd(&["x", "y"], &people), &Watch::silent());
        for (row, person) in people.iter().enumerate() {
            let fits = |region: &[(u32, u32)]| {
                region.iter().zip(person).all(|((a, b), x)| a <= x && x <= b)
            };
            let expected: Vec<u32> =
                (0..).zip(&classes).filter(|(_, (r, _))| fits(r)).map(|(i, _)| i).collect();
            let got: Vec<u32> =
                found.sets[found.set_of[row] as usize].iter().map(|c| c.group).collect();
            assert_eq!(got, expected);
        }
    }
}

#[test]
fn intersection_equals_sets_and_never_loses_the_truth() {
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    let names = ["a", "b", "c", "d", "e"];
    for _ in 0..100 {
        let people: Vec<[u32; 1]> = (0..20).map(|i| [i]).collect();
        let truth: Vec<usize> = (0..20).map(|_| rng.random_range(0..5)).collect();
        let mut releases = Vec::new();
        let mut sets: Vec<Vec<usize>> = vec![(0..5).collect(); 20];
        let mut before = usize::MAX;
        for r in 0..3 {
            // Ranges of ages, each with the values of who is in it.
            let cuts: Vec<u32> = (0..20).filter(|&i| i == 0 || rng.random_bool(0.3)).collect();
            let mut classes: Vec<Owned> = Vec::new();
            for (i, &first) in cuts.iter().enumerate() {
                let last = cuts.get(i + 1).map_or(19, |next| next - 1);
                let inside = (first..=last).map(|p| truth[p as usize]).collect::<Vec<_>>();
                let counts =
                    (0..5).map(|v| (names[v], inside.iter().filter(|&&t| t == v).count() as u64));
                classes.push((vec![(first, last)], counts.filter(|(_, n)| *n > 0).collect()));
                (first..=last).for_each(|p| sets[p as usize].retain(|v| inside.contains(v)));
            }
            let made: Vec<Class<'_>> = classes.iter().map(|(r, h)| (&r[..], &h[..])).collect();
            releases.push((format!("{r}"), release(&[("x", 20)], &made)));
            if r == 0 {
                continue;
            }
            let register = crowd(&["x"], &people);
            let told = Vec::new();
            let knowledge = Knowledge {
                register: &register,
                membership: Membership::Members,
                told,
                apart: None,
            };
            let scene = Scene::new(releases.clone(), None, Some(&knowledge), 1).expect("a scene");
            let report = run("intersection", &scene);
            let crowd = scene.people().expect("people");
            let mut left = 0;
            for person in 0..20 {
                let beliefs =
                    report.beliefs.as_ref().expect("beliefs").of(crowd.kind_of[person] as usize);
                let mut values: Vec<&str> =
                    beliefs.iter().map(|&(v, _)| scene.values[v as usize].as_str()).collect();
                values.sort_unstable();
                assert_eq!(values, sets[person].iter().map(|&v| names[v]).collect::<Vec<_>>());
                assert!(values.contains(&names[truth[person]]));
                left += values.len();
            }
            assert!(left <= before, "another release never widens a set");
            before = left;
            assert_eq!(figure(&report, "ea_after"), left as f64 / 20.0);
        }
    }
}

#[test]
fn empty_intersections_stand_apart() {
    let first =
        release(&[("x", 2)], &[(&[(0, 0)], &[("a", 2)]), (&[(1, 1)], &[("b", 1), ("c", 1)])]);
    let second = release(&[("x", 2)], &[(&[(0, 0)], &[("b", 2)]), (&[(1, 1)], &[("b", 2)])]);
    let register = crowd(&["x"], &[[0], [1]]);
    let told = vec![Some(vec![In::Yes, In::Yes]), None];
    let knowledge =
        Knowledge { register: &register, membership: Membership::Members, told, apart: None };
    let scene =
        Scene::new(vec![("1".into(), first), ("2".into(), second)], None, Some(&knowledge), 1)
            .expect("a scene");
    let report = run("intersection", &scene);
    assert_eq!((figure(&report, "empty"), figure(&report, "people")), (1.0, 1.0));
    assert_eq!(figure(&report, "pvp_100"), 1.0);
}

#[test]
fn nothing_is_certain_about_the_nearest_group() {
    let mut made =
        release(&[("x", 10)], &[(&[(2, 2)], &[("a", 1), ("b", 1)]), (&[(7, 7)], &[("c", 2)])]);
    made.shape = scumble::release::Shape::Representatives;
    let register = crowd(&["x"], &[[1], [4], [9], [5]]);
    let knowledge = Knowledge {
        register: &register,
        membership: Membership::Members,
        told: Vec::new(),
        apart: None,
    };
    let scene = Scene::new(vec![("r".into(), made)], None, Some(&knowledge), 1).expect("a scene");
    let people = scene.people().expect("people");
    let nearest = |row: usize| {
        people
            .candidates(people.kind_of[row] as usize, 0)
            .iter()
            .map(|c| c.group)
            .collect::<Vec<_>>()
    };
    assert_eq!([nearest(0), nearest(1), nearest(2), nearest(3)], [[0], [0], [1], [1]]);
    assert!(scene.evidence().is_err_and(|p| p.message.contains("microaggregated")));
}
