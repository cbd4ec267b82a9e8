//! What an adversary may believe at worst: the models against every piece of knowledge in every
//! possible world.

use super::algorithms::check;
use super::cases::values;
use super::models::judge_whole;
use super::worst::{Possible, classes, worst_implications, worst_skyline};
use proptest::prelude::*;
use scumble::exact::Ratio;
use scumble::model::Measured;

fn counts(classes: &[Vec<usize>]) -> Vec<Vec<u64>> {
    let count = |class: &Vec<usize>| {
        (0..4).map(|v| class.iter().filter(|&&x| x == v).count() as u64).collect()
    };
    classes.iter().map(count).collect()
}

fn exactly(measured: Measured) -> Ratio {
    match measured {
        Measured::Exact(r) => r,
        other => panic!("{other} is not exact"),
    }
}

#[test]
fn ck_safety_is_the_worst_of_all_implications() {
    check(60, classes(), |classes| {
        for k in 0..3 {
            let measured = judge_whole(
                "ck-safety",
                &[("c", "0.5".into()), ("k", k.to_string())],
                &counts(&classes),
            );
            let worst = worst_implications(&Possible::new(&classes), 4, k);
            prop_assert_eq!(exactly(measured), worst, "k = {}", k);
        }
        Ok(())
    });
}

#[test]
fn the_skyline_is_the_worst_of_all_such_knowledge() {
    check(60, (classes(), 0usize..4), |(classes, value)| {
        let label = &values(&super::models::whole(4, &[]).0.taxonomy)[value];
        for point in (0..27).map(|i| [i / 9, i / 3 % 3, i % 3]) {
            let given = ["l", "k", "m"].iter().zip(point).map(|(name, n)| (*name, n.to_string()));
            let given: Vec<(&str, String)> =
                given.chain([("c", "0.5".into()), ("values", format!("[\"{label}\"]"))]).collect();
            let measured = judge_whole("privacy-skyline", &given, &counts(&classes));
            let worst = worst_skyline(&Possible::new(&classes), 4, value, point);
            prop_assert_eq!(exactly(measured), worst, "{:?}", point);
        }
        Ok(())
    });
}
