//! Witnesses against enumeration: their facts alone are enough, none can be spared, and what is
//! true has one.

use super::lp::{plenty, rumour};
use super::naive;
use dashu_int::IBig;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use scumble::exact::Ratio;
use scumble::inference::lp::{Program, Solution};
use scumble::inference::sentences::Names;
use scumble::inference::witness::{
    Claim, Conclusion, Explainer, Proof, Unexplained, Witness, verify,
};
use scumble::inference::{Evidence, Known, Located, Source};

/// Whether a world meets these facts, whatever the others say, and does not have the claim.
fn world_against(evidence: &Evidence, facts: &[u32], conclusion: Conclusion) -> bool {
    let touched = |k: &u32| {
        evidence.outcomes_of(*k).any(|o| evidence.facts_of(o).iter().any(|f| facts.contains(f)))
    };
    let about = |k: &u32| matches!(conclusion, Conclusion::About { kind, .. } if kind == *k);
    let all = 0..evidence.kinds().len() as u32;
    let kinds: Vec<u32> =
        all.filter(|k| touched(k) || about(k) || evidence.outcomes_of(*k).is_empty()).collect();
    let mut counts = vec![0; evidence.facts().len()];
    deal(evidence, facts, conclusion, &kinds, None, &mut counts, 0)
}

/// Deals outcomes to the people who are left of the first kind, from an outcome on, and to the
/// other kinds; `with` people have the value of the claim.
fn deal(
    evidence: &Evidence,
    facts: &[u32],
    conclusion: Conclusion,
    kinds: &[u32],
    at: Option<(u32, u32)>,
    counts: &mut Vec<u64>,
    with: u32,
) -> bool {
    let Some(&kind) = kinds.first() else {
        let meets = |&f: &u32| {
            let fact = evidence.facts()[f as usize];
            fact.low <= counts[f as usize] && counts[f as usize] <= fact.high
        };
        return facts.iter().all(meets)
            && match conclusion {
                Conclusion::About { claim: Claim::Impossible(_), .. } => with > 0,
                Conclusion::About { kind, .. } => with < evidence.kinds()[kind as usize].people,
                Conclusion::NoWorld => true,
            };
    };
    let (outcome, left) =
        at.unwrap_or((evidence.outcomes_of(kind).start, evidence.kinds()[kind as usize].people));
    if left == 0 {
        return deal(evidence, facts, conclusion, &kinds[1..], None, counts, with);
    }
    if outcome == evidence.outcomes_of(kind).end {
        return false;
    }
    let value = evidence.outcomes()[outcome as usize].value;
    let asked = matches!(conclusion, Conclusion::About { kind: k, claim } if k == kind && claim.value() == value);
    (0..=left).any(|n| {
        let counted = evidence.facts_of(outcome);
        counted.iter().for_each(|&f| counts[f as usize] += u64::from(n));
        let fits = counted.iter().all(|f| {
            !facts.contains(f) || counts[*f as usize] <= evidence.facts()[*f as usize].high
        });
        let more = if asked { n } else { 0 };
        let found = fits
            && deal(
                evidence,
                facts,
                conclusion,
                kinds,
                Some((outcome + 1, left - n)),
                counts,
                with + more,
            );
        evidence.facts_of(outcome).iter().for_each(|&f| counts[f as usize] -= u64::from(n));
        found
    })
}

/// Whether these facts give a conclusion by a sum.
fn by_a_sum(evidence: &Evidence, facts: &[u32], conclusion: Conclusion) -> bool {
    let program = Program::new(evidence);
    let Conclusion::About { kind, claim } = conclusion else {
        return matches!(program.maximum(facts, &[], &plenty()), Some(Solution::Contradiction(_)));
    };
    let has = |o: &u32| evidence.outcomes()[*o as usize].value == claim.value();
    let (with, without): (Vec<u32>, Vec<u32>) = evidence.outcomes_of(kind).partition(has);
    let outcomes = if matches!(claim, Claim::Impossible(_)) { with } else { without };
    match program.maximum(facts, &outcomes, &plenty()).expect("enough work") {
        Solution::Bound(most, _) => most < scumble::exact::Fraction::whole(1),
        Solution::Contradiction(_) => true,
    }
}

fn check(evidence: &Evidence, witness: &Witness, what: &str) {
    let conclusion = witness.conclusion;
    assert!(verify(evidence, witness), "{what}: {witness:?}");
    assert!(!world_against(evidence, &witness.facts, conclusion), "{what}: {witness:?}");
    let enough = |facts: &[u32]| match witness.proof {
        Proof::Combination(_) => by_a_sum(evidence, facts, conclusion),
        Proof::Exhaustion => !world_against(evidence, facts, conclusion),
    };
    for spared in &witness.facts {
        let fewer: Vec<u32> = witness.facts.iter().filter(|f| *f != spared).copied().collect();
        assert!(!enough(&fewer), "{what}: {spared} can be spared of {witness:?}");
    }
    let facts = evidence.facts().len() as u32;
    if witness.smallest && facts <= 12 {
        for set in 0u32..1 << facts {
            if (set.count_ones() as usize) < witness.facts.len() {
                let fewer: Vec<u32> = (0..facts).filter(|f| set >> f & 1 == 1).collect();
                assert!(!enough(&fewer), "{what}: {fewer:?} is smaller than {witness:?}");
            }
        }
    }
}

#[test]
fn what_is_forced_has_a_witness_and_nothing_else_has() {
    let (mut sums, mut tried, mut not_smallest, mut most) = (0, 0, 0, 0);
    for seed in 0..2000 {
        let evidence = naive::random(seed);
        let worlds = naive::worlds(&evidence);
        let explainer = Explainer::new(&evidence);
        for (kind, people) in (0..).zip(evidence.kinds().iter().map(|k| k.people)) {
            for value in 0..4 {
                let has = |o: &u32| evidence.outcomes()[*o as usize].value == value;
                let with = |w: &Vec<u32>| {
                    evidence.outcomes_of(kind).filter(has).map(|o| w[o as usize]).sum::<u32>()
                };
                let impossible = worlds.iter().all(|w| with(w) == 0);
                let certain = worlds.iter().all(|w| with(w) == people);
                for (claim, holds) in
                    [(Claim::Impossible(value), impossible), (Claim::Certain(value), certain)]
                {
                    let what = format!("seed {seed}, kind {kind}, {claim:?}");
                    match explainer.why(kind, claim, None) {
                        Ok(witness) => {
                            assert!(holds, "{what}");
                            assert_eq!(witness.conclusion, Conclusion::About { kind, claim });
                            check(&evidence, &witness, &what);
                            match witness.proof {
                                Proof::Combination(_) => sums += 1,
                                Proof::Exhaustion => tried += 1,
                            }
                            not_smallest += i32::from(!witness.smallest);
                            most = most.max(witness.facts.len());
                        }
                        Err(why) => {
                            assert!(!holds && why == Unexplained::Untrue, "{what}: {why:?}")
                        }
                    }
                }
            }
        }
    }
    println!(
        "{sums} sums, {tried} by trying, {not_smallest} not known to be smallest, at most {most} facts"
    );
}

/// What a belief may give one person alone: the bounds of the same evidence with everybody told
/// apart.
#[test]
fn bounds_hold_for_each_of_people_who_are_alike_and_are_tight() {
    let mut of_several = 0;
    for seed in 0..600 {
        let (evidence, apart, kind_of) = naive::random_and_told_apart(seed);
        let facts: Vec<u32> = (0..apart.facts().len() as u32).collect();
        let (program, explainer) = (Program::new(&apart), Explainer::new(&evidence));
        for (person, &kind) in (0..).zip(&kind_of) {
            let mut values: Vec<u32> =
                apart.outcomes_of(person).map(|o| apart.outcomes()[o as usize].value).collect();
            values.dedup();
            for value in values {
                let has = |o: &u32| apart.outcomes()[*o as usize].value == value;
                let outcomes: Vec<u32> = apart.outcomes_of(person).filter(has).collect();
                let least = program.minimum(&facts, &outcomes, &plenty());
                let most = program.maximum(&facts, &outcomes, &plenty());
                let (Some(Solution::Bound(least, _)), Some(Solution::Bound(most, _))) =
                    (least, most)
                else {
                    panic!("seed {seed}: there is a world")
                };
                let (least, most) = (least.ratio().expect("small"), most.ratio().expect("small"));
                assert_eq!(
                    explainer.bounds(kind, value),
                    Some((least, most)),
                    "seed {seed}: {value} of {person}"
                );
                of_several += u32::from(evidence.kinds()[kind as usize].people > 1);
                assert_claims(&evidence, &explainer, kind, (value, least, most), seed);
            }
        }
    }
    assert!(of_several > 200, "{of_several} of people who are alike");
}

/// The bounds have witnesses that verify, and nothing beyond them has.
fn assert_claims(
    evidence: &Evidence,
    explainer: &Explainer<'_>,
    kind: u32,
    (value, least, most): (u32, Ratio, Ratio),
    seed: u64,
) {
    let beside = |r: Ratio, more: i128| {
        let num = 1000 * r.num() as i128 + more;
        (num >= 0).then(|| Ratio::new(num as u128, 1000 * r.den()))
    };
    for (claim, holds) in [
        (Some(Claim::AtLeast(value, least)).filter(|_| least > Ratio::whole(0)), true),
        (beside(least, 1).map(|p| Claim::AtLeast(value, p)), false),
        (Some(Claim::AtMost(value, most)).filter(|_| most < Ratio::whole(1)), true),
        (beside(most, -1).map(|p| Claim::AtMost(value, p)), false),
    ] {
        let Some(claim) = claim else { continue };
        match explainer.why(kind, claim, None) {
            Ok(witness) => assert!(holds && verify(evidence, &witness), "seed {seed}: {witness:?}"),
            Err(why) => assert!(!holds && why == Unexplained::Untrue, "seed {seed}: {claim:?}"),
        }
    }
}

/// A search that may take little work ends with a witness that is right, or with none.
#[test]
fn the_work_of_a_witness_is_limited() {
    let (mut found, mut given_up) = (0, 0);
    for seed in 0..400 {
        let evidence = naive::random(seed);
        let worlds = naive::worlds(&evidence);
        for work in [0, 100, 2000] {
            let explainer = Explainer::within(&evidence, work);
            for kind in 0..evidence.kinds().len() as u32 {
                for value in 0..4 {
                    let has = |o: &u32| evidence.outcomes()[*o as usize].value == value;
                    let has = |w: &Vec<u32>| {
                        evidence.outcomes_of(kind).filter(has).any(|o| w[o as usize] > 0)
                    };
                    match explainer.why(kind, Claim::Impossible(value), None) {
                        Ok(witness) => {
                            assert!(
                                verify(&evidence, &witness) && !worlds.iter().any(has),
                                "seed {seed}"
                            );
                            found += 1;
                        }
                        Err(Unexplained::Untrue) => assert!(worlds.iter().any(has), "seed {seed}"),
                        Err(Unexplained::TooLarge) => given_up += 1,
                    }
                }
            }
        }
    }
    assert!(found > 300 && given_up > 300, "{found} found, {given_up} given up");
}

#[test]
fn contradictions_have_a_witness_and_nothing_else_has() {
    let (mut sums, mut tried) = (0, 0);
    for seed in 0..2000 {
        let evidence = rumour(naive::random(seed), &mut ChaCha8Rng::seed_from_u64(seed));
        match Explainer::new(&evidence).contradiction(None) {
            Ok(witness) => {
                assert!(naive::worlds(&evidence).is_empty(), "seed {seed}");
                check(&evidence, &witness, &format!("seed {seed}"));
                match witness.proof {
                    Proof::Combination(_) => sums += 1,
                    Proof::Exhaustion => tried += 1,
                }
            }
            Err(why) => {
                assert_eq!(why, Unexplained::Untrue, "seed {seed}");
                assert!(!naive::worlds(&evidence).is_empty(), "seed {seed}");
            }
        }
    }
    println!("{sums} sums, {tried} by trying");
    assert!(sums > 100);
}

/// Names as the paper writes them; people are in the groups of `releases`.
struct Paper(Vec<Vec<Vec<u32>>>);

impl Names for Paper {
    fn person(&self, kind: u32, _: u32) -> String {
        (kind + 1).to_string()
    }
    fn value(&self, value: u32) -> String {
        match char::from_u32(value) {
            Some('F') => "Flu".to_owned(),
            Some('P') => "Pneumonia".to_owned(),
            Some('D') => "Diabetes".to_owned(),
            Some('H') => "HIV".to_owned(),
            Some('L') => "Lung cancer".to_owned(),
            other => other.expect("a letter").to_string(),
        }
    }
    fn release(&self, release: u32) -> String {
        format!("release {}", release + 1)
    }
    fn group(&self, release: u32, group: u32) -> String {
        format!("release {}, group {}", release + 1, group + 1)
    }
    fn known(&self, statement: u32) -> String {
        format!("statement {} is true", statement + 1)
    }
    fn located(&self, kind: u32) -> Vec<Located> {
        let place = |groups: &Vec<Vec<u32>>| {
            let group = groups.iter().position(|g| g.contains(&(kind + 1)));
            group.map_or_else(Located::absent, |g| Located::at(g as u32))
        };
        self.0.iter().map(place).collect()
    }
}

fn figure_1_names() -> Paper {
    let first = vec![vec![1, 2, 3, 4], vec![5, 6, 7], vec![8, 9, 10], vec![11, 12, 13]];
    let second = vec![vec![1, 2, 14], vec![3, 4, 15], vec![5, 8, 11], vec![6, 9, 12]];
    Paper(vec![first, second])
}

/// The witness for a person of figure 1, and its sentences.
fn figure_1(person: u32, claim: Claim) -> (Vec<(Source, i32)>, bool, Vec<String>) {
    let evidence = naive::figure_1();
    let explainer = Explainer::new(&evidence);
    let witness = explainer.why(person - 1, claim, None).expect("it follows");
    check(&evidence, &witness, "figure 1");
    let Proof::Combination(sum) = &witness.proof else { panic!("a sum") };
    assert!(sum.kinds.is_empty() && sum.times == IBig::ONE);
    let multiple = |n: &IBig| i32::try_from(n.clone()).expect("small");
    let facts = sum
        .facts
        .iter()
        .map(|(f, n)| (evidence.facts()[*f as usize].source, multiple(n)))
        .collect();
    (facts, witness.smallest, explainer.sentences(&witness, &figure_1_names()))
}

fn fact(release: u32, group: u32, value: char) -> Source {
    Source::Published { release: release - 1, group: group - 1, value: value.into() }
}

/// G4.2.
#[test]
fn fourteen_and_fifteen_have_no_flu() {
    for (person, neither) in [(14, "neither 14 nor 15 has Flu"), (15, "neither 14 nor 15 has Flu")]
    {
        let (facts, smallest, sentences) = figure_1(person, Claim::Impossible('F'.into()));
        assert_eq!(facts, [(fact(1, 1, 'F'), -1), (fact(2, 1, 'F'), 1), (fact(2, 2, 'F'), 1)]);
        assert!(smallest);
        assert_eq!(
            sentences,
            [
                "Flu occurs twice among 1, 2, 3, 4 (release 1, group 1).".to_owned(),
                "Flu occurs once among 1, 2, 14 (release 2, group 1).".to_owned(),
                "Flu occurs once among 3, 4, 15 (release 2, group 2).".to_owned(),
                format!(
                    "So the two with Flu in these groups of release 2 are among 1, 2, 3, 4: {neither}."
                ),
            ]
        );
    }
}

/// G4.2.
#[test]
fn seven_ten_and_thirteen_are_certain() {
    for (person, value, name, group, others) in [
        (10, 'L', "Lung cancer", 3, [8, 9]),
        (7, 'D', "Diabetes", 2, [5, 6]),
        (13, 'D', "Diabetes", 4, [11, 12]),
    ] {
        let (facts, smallest, sentences) = figure_1(person, Claim::Certain(value.into()));
        assert_eq!(facts, [(fact(1, group, value), 1)]);
        assert!(smallest);
        let [a, b] = others;
        assert_eq!(
            sentences,
            [
                format!("{name} occurs once among {a}, {b}, {person} (release 1, group {group})."),
                format!(
                    "{a} does not have {name}: there is none in release 2, group 3, where {a} is."
                ),
                format!(
                    "{b} does not have {name}: there is none in release 2, group 4, where {b} is."
                ),
                format!("So {person} has {name}."),
            ]
        );
    }
}

#[test]
fn what_a_group_lacks_needs_no_fact() {
    let (facts, smallest, sentences) = figure_1(8, Claim::Impossible('L'.into()));
    assert!(facts.is_empty() && smallest);
    assert_eq!(
        sentences,
        [
            "8 does not have Lung cancer: there is none in release 2, group 3, where 8 is.",
            "So 8 does not have Lung cancer."
        ]
    );
}

#[test]
fn candidates_are_tried_first() {
    let evidence = naive::figure_1();
    let all: Vec<u32> = (0..evidence.facts().len() as u32).collect();
    let witness = Explainer::new(&evidence)
        .why(13, Claim::Impossible('F'.into()), Some(&all))
        .expect("it follows");
    assert_eq!(witness.facts.len(), 3);
}

#[test]
fn contradictions_in_words() {
    let said = |evidence: &Evidence, names: Paper| {
        let explainer = Explainer::new(evidence);
        let witness = explainer.contradiction(None).expect("no world");
        check(evidence, &witness, "contradiction");
        explainer.sentences(&witness, &names)
    };
    // More of a value among some people than among them and others.
    let evidence = naive::releases(
        5,
        &[&[(&[1, 2, 3, 4], "FFFP"), (&[5], "P")], &[(&[1, 2, 3, 4, 5], "FFPPP")]],
    );
    let names = Paper(vec![vec![vec![1, 2, 3, 4], vec![5]], vec![vec![1, 2, 3, 4, 5]]]);
    assert_eq!(
        said(&evidence, names),
        [
            "Flu occurs 3 times among 1, 2, 3, 4 (release 1, group 1).",
            "Flu occurs twice among 1, 2, 3, 4, 5 (release 2, group 1).",
            "These cannot all be true: Flu occurs 3 times among 1, 2, 3, 4, but twice where all of them are.",
        ]
    );
    // No value in common.
    let evidence = naive::releases(3, &[&[(&[1, 2], "FP"), (&[3], "D")], &[(&[1, 2, 3], "FPP")]]);
    assert_eq!(
        said(&evidence, Paper(vec![vec![vec![1, 2], vec![3]], vec![vec![1, 2, 3]]])),
        [
            "No value is in all groups of 3: release 1, group 2 and release 2, group 1.",
            "These cannot all be true.",
        ]
    );
    // Something known that is not so.
    let flu = Known { kinds: vec![0, 1], values: vec!['F'.into()], low: 2, high: 2 };
    let evidence = naive::releases(3, &[&[(&[1, 2, 3], "FPD")]]).knowing(&[flu]);
    assert_eq!(
        said(&evidence, Paper(vec![vec![vec![1, 2, 3]]])),
        [
            "Flu occurs once among 1, 2, 3 (release 1, group 1).",
            "It is known that statement 1 is true.",
            "These cannot all be true: 1 − 2 = −1 would be at least 0.",
        ]
    );
}
