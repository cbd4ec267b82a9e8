//! `semantics` against games that are enumerated here, in floating point, from the same tables.

use proptest::prelude::*;
use scumble_publisher::dp::semantics::SemanticsRequest;
use scumble_publisher::publisher::Publisher;
use std::fmt::Write as _;

/// A random mechanism: weights of each transcript for each data set of `people` records below
/// `values`, and the weights of the prior.
#[derive(Clone, Debug)]
struct Case {
    people: usize,
    values: usize,
    transcripts: usize,
    chances: Vec<Vec<u32>>,
    prior: Vec<u32>,
}

fn case() -> impl Strategy<Value = Case> {
    (1usize..=3, 2usize..=3, 1usize..=3).prop_flat_map(|(people, values, transcripts)| {
        let sets = values.pow(people as u32);
        let row = proptest::collection::vec(0u32..5, transcripts)
            .prop_filter("a distribution", |row| row.iter().sum::<u32>() > 0);
        let prior = proptest::collection::vec(0u32..4, sets)
            .prop_filter("a distribution", |prior| prior.iter().sum::<u32>() > 0);
        (proptest::collection::vec(row, sets), prior).prop_map(move |(chances, prior)| Case {
            people,
            values,
            transcripts,
            chances,
            prior,
        })
    })
}

impl Case {
    fn records(&self, set: usize) -> Vec<usize> {
        (0..self.people).map(|i| set / self.values.pow(i as u32) % self.values).collect()
    }

    fn number(&self, records: &[usize]) -> usize {
        records.iter().rev().fold(0, |set, &r| set * self.values + r)
    }

    fn chance(&self, set: usize, transcript: usize) -> f64 {
        let row = &self.chances[set];
        f64::from(row[transcript]) / f64::from(row.iter().sum::<u32>())
    }

    fn before(&self, set: usize) -> f64 {
        f64::from(self.prior[set]) / f64::from(self.prior.iter().sum::<u32>())
    }

    /// The belief after a transcript, in game 0 or with one record replaced by the first value.
    fn belief(&self, transcript: usize, replaced: Option<usize>) -> Option<Vec<f64>> {
        let joint: Vec<f64> = (0..self.chances.len())
            .map(|set| {
                let mut records = self.records(set);
                if let Some(person) = replaced {
                    records[person] = 0;
                }
                self.before(set) * self.chance(self.number(&records), transcript)
            })
            .collect();
        let sum: f64 = joint.iter().sum();
        (sum > 0.0).then(|| joint.iter().map(|x| x / sum).collect())
    }

    fn tables(&self) -> (String, String) {
        let names: Vec<String> = (0..self.people).map(|i| format!("p{i}")).collect();
        let mut mechanism = format!("{},transcript,probability\n", names.join(","));
        let mut prior = format!("{},probability\n", names.join(","));
        for set in 0..self.chances.len() {
            let records: Vec<String> = self.records(set).iter().map(|r| format!("v{r}")).collect();
            let records = records.join(",");
            let all: u32 = self.chances[set].iter().sum();
            for (transcript, weight) in self.chances[set].iter().enumerate() {
                // What is impossible may be left out, but the first data set names everything.
                if *weight > 0 || set == 0 {
                    let _ = writeln!(mechanism, "{records},t{transcript},{weight}/{all}");
                }
            }
            let _ =
                writeln!(prior, "{records},{}/{}", self.prior[set], self.prior.iter().sum::<u32>());
        }
        (mechanism, prior)
    }
}

fn apart(p: &[f64], q: &[f64]) -> f64 {
    p.iter().zip(q).map(|(p, q)| (p - q).abs()).sum::<f64>() / 2.0
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn games_are_those_of_the_definition(case in case(), epsilon in 0u32..20) {
        let folder = tempfile::tempdir().unwrap();
        let (mechanism, prior) = case.tables();
        let request = SemanticsRequest {
            mechanism: Some(folder.path().join("mechanism.csv")),
            prior: Some(folder.path().join("prior.csv")),
            epsilon: Some(format!("{}", f64::from(epsilon) / 10.0)),
            ..SemanticsRequest::default()
        };
        std::fs::write(request.mechanism.as_ref().unwrap(), mechanism).unwrap();
        std::fs::write(request.prior.as_ref().unwrap(), prior).unwrap();
        let answer = Publisher::default().semantics(&request).unwrap();
        let meaning = answer.mechanism.unwrap();

        let mut worst = 0f64;
        let mut games = meaning.games.iter();
        for transcript in 0..case.transcripts {
            let Some(seen) = case.belief(transcript, None) else { continue };
            let game = games.next().expect("a transcript that is possible is told");
            prop_assert_eq!(&game.transcript, &format!("t{transcript}"));
            for person in 0..case.people {
                let belief = case.belief(transcript, Some(person));
                let distance = belief.as_ref().map_or(1.0, |belief| apart(&seen, belief));
                prop_assert!(near(game.distances[person].distance.to_f64(), distance));
                worst = worst.max(distance);
            }
            let possible: Vec<usize> = (0..case.prior.len()).filter(|&s| case.prior[s] > 0).collect();
            prop_assert_eq!(game.posteriors.len(), possible.len());
            for (told, &set) in game.posteriors.iter().zip(&possible) {
                prop_assert!(near(told.beliefs[0].as_ref().unwrap().to_f64(), seen[set]));
                prop_assert!(near(told.prior.to_f64(), case.before(set)));
            }
        }
        prop_assert!(games.next().is_none());
        prop_assert!(near(meaning.worst.distance.to_f64(), worst));

        let (mut ratio, mut variation, mut delta) = (Some(1f64), 0f64, 0f64);
        let factor = (f64::from(epsilon) / 10.0).exp();
        for a in 0..case.chances.len() {
            for person in 0..case.people {
                for value in 0..case.values {
                    let mut records = case.records(a);
                    records[person] = value;
                    let b = case.number(&records);
                    let chances = |set| (0..case.transcripts).map(move |t| (set, t));
                    let p: Vec<f64> = chances(a).map(|(s, t)| case.chance(s, t)).collect();
                    let q: Vec<f64> = chances(b).map(|(s, t)| case.chance(s, t)).collect();
                    variation = variation.max(apart(&p, &q));
                    let over = p.iter().zip(&q).map(|(p, q)| (p - factor * q).max(0.0)).sum();
                    delta = delta.max(over);
                    for (&p, &q) in p.iter().zip(&q) {
                        ratio = match ratio {
                            Some(_) if p > 0.0 && q == 0.0 => None,
                            Some(most) if p > 0.0 => Some(most.max(p / q)),
                            other => other,
                        };
                    }
                }
            }
        }
        prop_assert!(near(meaning.total_variation.to_f64(), variation));
        let told = meaning.smallest_delta.unwrap().delta.to_f64();
        prop_assert!(near(told, delta) && told >= delta - 1e-15);
        match (meaning.epsilon, ratio) {
            (Some(told), Some(ratio)) => prop_assert!(near(told, ratio.ln())),
            (told, ratio) => prop_assert_eq!(told.is_some(), ratio.is_some()),
        }
        // Proposition 15 and the odds form hold for the mechanism's own price.
        if let Some(own) = meaning.epsilon {
            prop_assert!(worst <= own.exp_m1() + 1e-9 && worst <= (own / 2.0).tanh() + 1e-9);
        }
    }
}
