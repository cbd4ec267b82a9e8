//! # Bayes
//!
//! Compares what is believed of everybody before the release and after it (Dalenius' uninformative
//! principle).
//!
//! ## What the adversary knows
//! The quasi-identifiers of people (a register) and that they are in the release; and a joint
//! distribution f of quasi-identifiers and sensitive value: the reference, a table of people with
//! both (a column `people` weighs its rows).
//!
//! ## What she does
//! Of a person with quasi-identifiers q she believes s beforehand with probability α = f(s|q). In a
//! class with n_s records of value s she believes it afterwards with probability β:
//!
//! - `reading = "tuple"`: she takes the other people of the class for draws from f. β is
//!   proportional to n_s · f(s|q)/f(s|q*), q* being everybody who fits the class.
//! - `reading = "members"`: she knows everybody in the class, n · f(q)/f(q*) people of each q, and
//!   weighs every way to deal the n values to them by its probability.
//!
//! The gain is |α − β|. All of it is exact. Every release is attacked by itself; of several, the
//! one that changes a belief about a person most counts.
//!
//! ## What it says
//! The largest gain, with the class and the value it is about and the row of the register; the mean
//! over people of their largest gain; how many people's value is believed with more than 50 %
//! afterwards and was not before; and how many people cannot be judged, because the reference
//! contradicts their class (nobody who fits has a value that it shows) or does not know anybody
//! like them.
//!
//! ## Limits
//! The gain is that of an adversary who believes f, and nobody knows what an adversary believes: an
//! even distribution and the whole population are worth trying. A reference taken from the released
//! data themselves shows no gain at all. Who fits several classes is taken to be in each with the
//! share of its records. Only for releases whose classes show regions: what an anatomized release
//! teaches is found by `definetti`.
//!
//! ## Reference
//! Machanavajjhala, Gehrke, Kifer and Venkitasubramaniam, "ℓ-diversity: privacy beyond
//! k-anonymity", 2006, section 3; Dalenius, "Towards a methodology for statistical disclosure
//! control", 1977.

use super::{Attack, Beliefs, Candidate, Crowd, Figure, Needs, Report, Scene};
use crate::catalogue::{Entry, Kind, Parameter};
use crate::exact::Fraction;
use crate::failure::{Argument, Failure, Remedy};
use crate::model::{Belief, Measured, Reading, Told, beliefs};
use crate::progress::{Progress, Watch};
use crate::register::{Population, Register, place};
use crate::release::{Release, Shape};
use hashbrown::HashMap;
use rayon::prelude::*;

pub(super) const ENTRY: Entry<Box<dyn Attack>> = Entry {
    name: "bayes",
    summary: "beliefs about everybody before the release and after it",
    source: include_str!("bayes.rs"),
    parameters: &[Parameter {
        name: "reading",
        kind: Kind::Choice(&["tuple", "members"]),
        default: Some("tuple"),
        about: "whether the adversary knows the person alone, or everybody in the class",
    }],
    build: |p| {
        let reading =
            if p.word("reading") == "members" { Reading::Members } else { Reading::Tuple };
        Ok(Box::new(Bayes { reading }))
    },
};

/// How beliefs are come by.
const OPTIMAL: &str = "by Bayes' rule from the reference";

struct Bayes {
    reading: Reading,
}

/// What came of a person in one release.
#[derive(Clone)]
enum Outcome {
    Believed(Change),
    /// The reference knows nobody like the person, or the person fits no class.
    Unknown,
    /// The reference cannot judge a class that the person may be in.
    Unjudged,
}

/// What is believed of a person before and after.
#[derive(Clone)]
struct Change {
    /// Codes of the scene.
    beliefs: Vec<Belief>,
    /// The largest gain, and the belief that it is about.
    gain: Fraction,
    about: usize,
    release: usize,
    group: u32,
}

impl Attack for Bayes {
    fn needs(&self) -> Needs {
        Needs { people: true, releases: 1 }
    }

    fn run(&self, scene: &Scene, progress: Progress<'_>) -> Result<Report, Failure> {
        let crowd = scene.people()?.told_apart();
        let reference = scene.reference.as_ref().ok_or_else(|| {
            Failure::usage(
                "needs-reference",
                "`bayes` needs what the adversary believes without the release",
            )
            .remedy(
                Remedy::give(Argument::Reference)
                    .then(", a table of people with quasi-identifiers and the sensitive attribute"),
            )
        })?;
        let mut outcomes: Vec<Outcome> = Vec::new();
        for release in 0..scene.releases.len() {
            let watch = Watch::new(progress, 0);
            watch.go_on();
            let found = self.outcomes(scene, &crowd, reference, release, &watch)?;
            watch.check()?;
            outcomes = if release == 0 {
                found
            } else {
                outcomes.into_iter().zip(found).map(stronger).collect()
            };
        }
        Ok(self.report(scene, crowd, &outcomes))
    }
}

/// The outcome that says most of a person.
fn stronger(of: (Outcome, Outcome)) -> Outcome {
    match of {
        (Outcome::Believed(a), Outcome::Believed(b)) => {
            Outcome::Believed(if b.gain > a.gain { b } else { a })
        }
        (Outcome::Believed(a), _) | (_, Outcome::Believed(a)) => Outcome::Believed(a),
        (Outcome::Unknown, Outcome::Unknown) => Outcome::Unknown,
        _ => Outcome::Unjudged,
    }
}

impl Bayes {
    /// What comes of each kind in a release.
    fn outcomes(
        &self,
        scene: &Scene,
        crowd: &Crowd,
        reference: &Register,
        release: usize,
        watch: &Watch<'_>,
    ) -> Result<Vec<Outcome>, Failure> {
        let view = &scene.releases[release];
        let column = scene.column(&view.release);
        let population = believed_before(scene, crowd, reference, release)?;
        let places = places(crowd, &view.release, &population);
        let mut kinds_of = vec![Vec::new(); view.groups.len()];
        for kind in 0..crowd.kinds.len() {
            crowd
                .candidates(kind, release)
                .iter()
                .for_each(|c| kinds_of[c.group as usize].push(kind as u32));
        }
        // All people of a class at once: what the reference says of it is the same for all of them.
        let of_class =
            |(class, kinds): (&crate::class::EquivalenceClass, Vec<u32>)| -> HashMap<u32, Told> {
                let of: Vec<Vec<u32>> =
                    kinds.iter().map(|&kind| places[kind as usize].clone()).collect();
                let told = if of.is_empty() || !watch.go_on() {
                    vec![]
                } else {
                    beliefs(&population, class, column, self.reading, &of)
                };
                kinds.into_iter().zip(told).collect()
            };
        let told: Vec<HashMap<u32, Told>> =
            view.release.classes.par_iter().zip(kinds_of).map(of_class).collect();
        let codes = scene.codes(release);
        let outcome = |kind: usize| {
            let candidates = crowd.candidates(kind, release).iter();
            let told: Vec<_> = candidates
                .filter_map(|c| Some((c, told[c.group as usize].get(&(kind as u32))?)))
                .collect();
            together(&told, release, &codes)
        };
        Ok((0..crowd.kinds.len()).into_par_iter().map(outcome).collect())
    }

    fn report(&self, scene: &Scene, crowd: Crowd, outcomes: &[Outcome]) -> Report {
        let believed = |outcome: &Outcome, of: fn(&Belief) -> &Fraction| -> Vec<(u32, f64)> {
            let Outcome::Believed(change) = outcome else { return Vec::new() };
            let possible = change.beliefs.iter().filter(|b| !of(b).is_zero());
            possible.map(|b| (b.value, of(b).to_f64())).collect()
        };
        let before = Beliefs::new(outcomes.iter().map(|o| believed(o, |b| &b.prior)));
        let after = Beliefs::new(outcomes.iter().map(|o| believed(o, |b| &b.posterior)))
            .given_presence(&crowd);
        let mut tally = Tally::default();
        crowd
            .kinds
            .iter()
            .zip(outcomes)
            .for_each(|(alike, outcome)| tally.count(alike.people, outcome));
        let worst = crowd.kinds.iter().zip(outcomes).filter_map(|(alike, outcome)| match outcome {
            Outcome::Believed(change) => Some((alike.row, change)),
            _ => None,
        });
        // The first of equal ones.
        let worst = worst.reduce(|a, b| if b.1.gain > a.1.gain { b } else { a });
        let mut figures = tally.figures(worst.map_or(0.0, |(_, change)| change.gain.to_f64()));
        let (summary, mut chart) = after.summary(&crowd, OPTIMAL);
        figures.extend(summary);
        chart.title = "Bayes-optimal beliefs".into();
        chart.lines.iter_mut().for_each(|(name, _)| *name = "after".into());
        chart.lines.extend(
            before
                .summary(&crowd, OPTIMAL)
                .1
                .lines
                .into_iter()
                .map(|(_, line)| ("before".into(), line)),
        );
        let findings = worst.map(|(row, change)| change.words(scene, row)).into_iter().collect();
        let notes = self.notes(&tally);
        Report {
            figures,
            people: Some(crowd),
            beliefs: Some(after),
            estimators: vec![OPTIMAL],
            chart: Some(chart),
            findings,
            notes,
            ..Report::default()
        }
    }

    fn notes(&self, tally: &Tally) -> Vec<String> {
        let mut notes = Vec::new();
        if tally.unjudged > 0 {
            let or = match self.reading {
                Reading::Tuple => "",
                Reading::Members => {
                    ", its members are not whole numbers of people, or there are too many worlds"
                }
            };
            let people = tally.unjudged;
            notes.push(format!(
                "{people} people are not judged: the reference contradicts a class they fit{or}"
            ));
        }
        if tally.unknown > 0 {
            notes.push(format!(
                "{} people are not judged: they fit no class, or the reference knows nobody like them",
                tally.unknown
            ));
        }
        notes
    }
}

/// How many people are judged, and how.
#[derive(Default)]
struct Tally {
    judged: u64,
    unjudged: u64,
    unknown: u64,
    /// Of the largest gain of everybody who is judged.
    sum: f64,
    /// People with a belief above one half afterwards who had none before.
    rises: u64,
}

impl Tally {
    fn count(&mut self, people: u64, outcome: &Outcome) {
        let change = match outcome {
            Outcome::Believed(change) => change,
            Outcome::Unjudged => return self.unjudged += people,
            Outcome::Unknown => return self.unknown += people,
        };
        let half = Fraction::new(1u64, 2u64);
        let above = |of: fn(&Belief) -> &Fraction| change.beliefs.iter().any(|b| *of(b) > half);
        self.judged += people;
        self.sum += people as f64 * change.gain.to_f64();
        self.rises += if above(|b| &b.posterior) && !above(|b| &b.prior) { people } else { 0 };
    }

    fn figures(&self, largest: f64) -> Vec<Figure> {
        vec![
            Figure::share("largest_gain", largest, "the largest change of a belief about anybody"),
            Figure::share(
                "mean_gain",
                self.sum / self.judged.max(1) as f64,
                "mean over people of their largest change",
            ),
            Figure::count(
                "rises_above_50",
                self.rises,
                "people with a value believed above 50 % only afterwards",
            ),
            Figure::count(
                "contradicted",
                self.unjudged,
                "people whose class the reference cannot judge",
            )
            .descriptive(),
            Figure::count(
                "unknown",
                self.unknown,
                "people of whom the reference, or the release, has nobody like them",
            )
            .descriptive(),
        ]
    }
}

impl Change {
    fn words(&self, scene: &Scene, row: u32) -> String {
        let Belief { value, prior, posterior } = &self.beliefs[self.about];
        format!(
            "the largest change is about {} of the register, in the class {}: {} = {} is believed with {} before and {} \
             after",
            (scene.name)(row as usize),
            scene.releases[self.release].shown(self.group as usize),
            scene.attribute,
            scene
                .values
                .get(*value as usize)
                .map_or("(a value that the release does not show)", String::as_str),
            Measured::from(prior),
            Measured::from(posterior),
        )
    }
}

/// The reference among the attributes of a release, by the quasi-identifiers that the register has,
/// too.
fn believed_before(
    scene: &Scene,
    crowd: &Crowd,
    reference: &Register,
    release: usize,
) -> Result<Population, Failure> {
    let view = &scene.releases[release];
    if view.release.shape != Shape::Regions {
        return Err(Failure::usage(
            "attack-and-release",
            format!(
                "`bayes` needs classes whose records fit what they show; `{}` has others",
                view.name
            ),
        )
        .hint("attack a generalized release, or use `definetti`"));
    }
    let needed = |name: &String| *name == scene.attribute || crowd.known.contains(name);
    let columns = reference.columns.iter().filter(|c| needed(&c.name)).cloned().collect();
    let reference = Register { columns, weights: reference.weights.clone() };
    let sensitive = &view.release.sensitive[scene.column(&view.release)];
    let population = reference.among(&view.release.quasi, Some(sensitive));
    if !population.tells_sensitive() {
        return Err(Failure::data(
            "reference-lacks-column",
            format!("the reference does not tell `{}`", scene.attribute),
        )
        .hint("it needs the sensitive attribute as a column, beside quasi-identifiers"));
    }
    if population.known().is_empty() {
        let names: Vec<String> = crowd.known.iter().map(|n| format!("`{n}`")).collect();
        return Err(Failure::data(
            "reference-lacks-column",
            "the reference has no quasi-identifier in common with register and release",
        )
        .hint(format!("it should have some of {}", names.join(", "))));
    }
    Ok(population)
}

/// Where the people of each kind stand on the quasi-identifiers that the reference knows.
fn places(crowd: &Crowd, release: &Release, population: &Population) -> Vec<Vec<u32>> {
    let of_column = |&i: &usize| -> Vec<u32> {
        let attribute = &release.quasi[i];
        let column = crowd.register.columns.iter().find(|c| c.name == attribute.name);
        let Some(column) = column else { return vec![0; crowd.kinds.len()] };
        let places: Vec<u32> =
            column.texts.iter().map(|text| place(&attribute.taxonomy, text)).collect();
        crowd.kinds.iter().map(|alike| places[column.codes[alike.row as usize] as usize]).collect()
    };
    let columns: Vec<Vec<u32>> = population.known().iter().map(of_column).collect();
    (0..crowd.kinds.len()).map(|kind| columns.iter().map(|c| c[kind]).collect()).collect()
}

/// What is believed of a person who may be in any of these classes, by their records.
fn together(told: &[(&Candidate, &Told)], release: usize, codes: &[u32]) -> Outcome {
    let all: u64 = told.iter().map(|(c, _)| c.records).sum();
    let mut sum: Vec<Belief> = Vec::new();
    for (candidate, told) in told {
        let beliefs = match told {
            Told::Beliefs(beliefs) => beliefs,
            Told::Nobody => return Outcome::Unknown,
            Told::Nothing => return Outcome::Unjudged,
        };
        let share = Fraction::new(candidate.records, all);
        // The reference gives a person the same values with the same prior in every class.
        let weighed = beliefs.iter().map(|b| b.posterior.times(&share));
        if sum.is_empty() {
            // Past the codes: a value of the reference that the release does not show.
            let value = |b: &Belief| codes.get(b.value as usize).copied().unwrap_or(u32::MAX);
            let belief =
                |(b, posterior)| Belief { value: value(b), prior: b.prior.clone(), posterior };
            sum = beliefs.iter().zip(weighed).map(belief).collect();
        } else {
            sum.iter_mut().zip(weighed).for_each(|(b, more)| b.posterior = b.posterior.plus(&more));
        }
    }
    let gains = sum.iter().map(Belief::change).enumerate();
    let largest = gains.reduce(|a, b| if b.1 > a.1 { b } else { a });
    match (largest, told.first()) {
        (Some((about, gain)), Some((first, _))) => {
            Outcome::Believed(Change { beliefs: sum, gain, about, release, group: first.group })
        }
        _ => Outcome::Unknown,
    }
}
