//! # Inference
//!
//! Puts everything together that any number of releases say, and what else is known, and finds what
//! follows for everybody.
//!
//! ## What the adversary knows
//! The quasi-identifiers of people (a register), which releases they are in (or that she does not
//! know it), and statements about people's values (`--facts`). A person's value is the same in all
//! releases; one who changed is a new person.
//!
//! ## What she does
//! Each person is in one group of each release she is in, and each group's values were published
//! with their counts. A world is a way to give everybody a value so that all counts are met. From
//! that follow
//!
//! - what is **forced**: values that a person has in no world, and values that she has in every
//!   one. Found by flows: for one value, the groups of two releases and the people between them are
//!   a network, and a value is forced if no cycle of the residual graph passes through it; what is
//!   found is used again until nothing changes, and the rest is searched where it is small. Exact;
//!   where it is not decided, it is counted as possible and said;
//! - the belief of **maximum entropy**: the probabilities that meet all counts and assume nothing
//!   else. Solved to the last digits, by Newton's method on the multipliers of the counts. Where the
//!   belief about people does not settle (`unsettled_beliefs`), the belief so far is told, and by
//!   how much it misses the counts; what is forced stays proven;
//! - the share of **worlds** in which a person has a value, every world being as likely as any
//!   other. Counted exactly where people who have to do with each other are few; otherwise
//!   estimated by drawing worlds (`worlds = "sample"`), with the error stated, or left out. Maximum
//!   entropy can be less sure than the worlds allow: how far is a figure. Worlds are drawn by
//!   chains that pass through tables in which a few counts are wrong. They go on until the standard
//!   error of every share is at most 0.01 or all `steps` are taken. Where the chains still disagree
//!   about people, or tell less of them than a hundred independent worlds would, their shares come
//!   from belief propagation over the groups (`believed`): four chains that know nothing of each
//!   other judge how far it is off on average, and that is the error stated. If it is off by more
//!   than a hundred worlds would be, these people are counted as `unsettled` and left out, so that
//!   no error is stated that is not known. A processor core takes some four million steps in a
//!   second: all steps of ten thousand people take 50 seconds on one core, of a hundred thousand
//!   people eight minutes. That is why it is not done unless asked for.
//!
//! ## What it says
//! How many people's value is certain, and whose; values that releases exclude together though
//! neither does alone; the entropy that is left; how many people's belief differs from what each
//! release gives alone (an inference channel between the releases); who crosses the danger level.
//! `scumble why` gives the reasons, person by person. Every figure says whether it is proven, by
//! maximum entropy, or by the share of worlds; of single people (`--people`, those most at risk)
//! the stronger of the two beliefs is told, and which it is. Somebody who may be in no release
//! (`--register-is population` or `some`) may have any value: nothing is certain of her unless
//! every world has her in one.
//!
//! ## Work and time
//! Flows and the belief may each take so much work (`effort`), which is counted rather than timed,
//! so that the same question has the same answer everywhere. A clock is the outer limit
//! (`--seconds`, 300 unless given). When either is used up there is an answer all the same: what is
//! proven so far, the belief so far with what it misses, how many people have a value that was
//! neither proven possible nor excluded (`undecided`; it counts as possible), and which limit it
//! was. Reading releases and finding people in them takes its time before.
//!
//! ## Limits
//! People whom the register does not name are strangers, each in one release only. Where people fit
//! several classes of a release (local recoding), the belief is over classes and values together.
//! Beliefs are those of an adversary who takes worlds (or nothing) for equally likely; one who
//! learns how quasi-identifiers and values go together believes more: see `definetti`. Drawing
//! worlds is hard where thousands of people are in groups that cross at random and leave much open:
//! of 7 200 people in two releases in groups of ten hardly anybody's draws settle in a minute, and
//! all shares are those of belief propagation; in groups of five of seven values not even a first
//! world was found to judge it by.
//!
//! ## Reference
//! Wang, Zhu, Du and Teng, "Inference analysis in privacy-preserving data re-publishing", 2008; Du,
//! Teng and Zhu, "Privacy-MaxEnt: integrating background knowledge in privacy quantification",
//! 2008.

use super::attribute_linkage::{COUNTED, beliefs as from_best_release, believed};
use super::naming::Naming;
use super::{Attack, Beliefs, Crowd, Figure, Needs, Report, Scene};
use crate::catalogue::{Entry, Kind, Parameter};
use crate::exact::Ratio;
use crate::failure::{Argument, Failure, Remedy};
use crate::inference::entropy::entropy_of;
use crate::inference::witness::Explainer;
use crate::inference::worlds::{NoWorlds, Options, Worlds, worlds};
use crate::inference::{Contradiction, Evidence, Exhausted, Inference, Outcome, infer};
use crate::progress::{Progress, Watch};

pub(super) const ENTRY: Entry<Box<dyn Attack>> = Entry {
    name: "inference",
    summary: "everything that follows from any number of releases together",
    source: include_str!("inference.rs"),
    parameters: &[
        Parameter {
            name: "worlds",
            kind: Kind::Choice(&["exact", "sample", "no"]),
            default: Some("exact"),
            about: "whether worlds are counted where that is exact, also drawn where it is not, or not looked at",
        },
        Parameter {
            name: "steps",
            kind: Kind::Count(1, 1_000_000_000),
            default: Some("20000"),
            about: "how many steps for each person drawing worlds may take; more settle more people",
        },
        Parameter {
            name: "effort",
            kind: Kind::Count(1, 1_000_000_000),
            default: Some("60"),
            about: "how much work the maximum-entropy belief may take: so many seconds, about, on one core",
        },
        Parameter {
            name: "danger",
            kind: Kind::Number("0", Some("1")),
            default: Some("0.5"),
            about: "beliefs above this are counted as dangerous",
        },
    ],
    build: |p| {
        Ok(Box::new(JointInference {
            worlds: p.word("worlds"),
            steps: p.count("steps"),
            work: p.count("effort").saturating_mul(WORK),
            danger: p.number("danger"),
        }))
    },
};

/// Work of about a second.
const WORK: u64 = 150_000_000;

const ENTROPY: &str = "by maximum entropy";
const WORLDS: &str = "by the share of worlds";

struct JointInference {
    worlds: &'static str,
    steps: u64,
    work: u64,
    danger: Ratio,
}

impl Attack for JointInference {
    fn needs(&self) -> Needs {
        Needs { people: true, releases: 1 }
    }

    fn run(&self, scene: &Scene, progress: Progress<'_>) -> Result<Report, Failure> {
        let crowd = scene.people()?;
        let evidence = scene.evidence_unless(&Watch::new(progress, 0))?;
        progress.step(0, 0)?;
        let found = infer(&evidence, self.work, progress);
        progress.step(0, 0)?;
        let found = found.map_err(|c| refused(scene, &evidence, &c))?;
        let worlds = self.count_worlds(scene, &evidence, &found, progress)?;
        let beliefs =
            of_kinds(crowd, &evidence, &found, |kind| found.beliefs.values(&evidence, kind));
        let (mut figures, mut chart) = beliefs.summary(crowd, ENTROPY);
        chart.title = "Inference over all releases".into();
        chart.lines[0].0 = "maximum entropy".into();
        let mut notes = Vec::new();
        figures.extend(self.forced(scene, crowd, &evidence, &found, &mut notes));
        figures.extend(self.entropy(scene, crowd, &evidence, &found, &beliefs));
        let (mut strongest, mut estimators) = (beliefs.clone(), vec![ENTROPY]);
        if let Some(worlds) = &worlds {
            let (shares, more) = self.compare(crowd, &evidence, &found, worlds, &mut notes);
            let (by_worlds, line) = shares.summary(crowd, WORLDS);
            let told = ["believed_90", "believed_50", "worst", "mean"];
            let told = by_worlds.into_iter().filter(|f| told.contains(&f.name.as_str()));
            figures.extend(told.map(|f| Figure { name: format!("{}_by_worlds", f.name), ..f }));
            chart.lines.push(("share of worlds".into(), line.lines[0].1.clone()));
            figures.extend(more);
            (strongest, estimators) = stronger(crowd, &beliefs, &shares);
        }
        let danger = self.danger.to_f64();
        let above = |beliefs: &Beliefs| -> u64 {
            let above = |kind: usize| beliefs.best(kind).is_some_and(|(_, p)| p > danger);
            (0..crowd.kinds.len()).filter(|&k| above(k)).map(|k| crowd.kinds[k].people).sum()
        };
        let about =
            format!("people of whom a value is believed with more than {danger}, by either");
        figures.push(Figure::count("dangerous", above(&strongest), about));
        if let Some(single) = (scene.releases.len() > 1).then(|| from_best_release(scene, crowd)) {
            let (_, line) = single.summary(crowd, COUNTED);
            chart.lines.push(("the best single release".into(), line.lines[0].1.clone()));
        }
        Ok(Report {
            figures,
            beliefs: Some(strongest),
            estimators,
            chart: Some(chart),
            notes,
            ..Report::default()
        })
    }
}

impl JointInference {
    fn count_worlds(
        &self,
        scene: &Scene,
        evidence: &Evidence,
        found: &Inference,
        progress: Progress<'_>,
    ) -> Result<Option<Worlds>, Failure> {
        let budget = match self.worlds {
            "no" => return Ok(None),
            "sample" => self.steps,
            _ => 0,
        };
        let options = Options { seed: scene.seed, budget, ..Options::default() };
        let counted = worlds(evidence, &found.forced.possible, &options, progress);
        counted.map(Some).map_err(|e| {
            if e == NoWorlds::Stopped {
                return Failure::cancelled();
            }
            Failure::refused("not-counted", format!("worlds could not be counted: {e}")).remedy(
                Remedy::words("say ")
                    .and_give_value(Argument::With, "worlds=no")
                    .then(" to do without"),
            )
        })
    }

    /// What is certain, what is impossible, and how few values are left.
    fn forced(
        &self,
        scene: &Scene,
        crowd: &Crowd,
        evidence: &Evidence,
        found: &Inference,
        notes: &mut Vec<String>,
    ) -> Vec<Figure> {
        let values = |kind: usize| {
            found.forced.values(evidence, kind as u32).filter(|&v| v != Outcome::UNKNOWN)
        };
        let there = |kind: &usize| {
            (0..scene.releases.len()).any(|r| !crowd.candidates(*kind, r).is_empty())
        };
        let kinds = || (0..crowd.kinds.len()).filter(there);
        // Whoever may be in no release may have any value.
        let surely = |kind: &usize| {
            found.forced.values(evidence, *kind as u32).all(|v| v != Outcome::UNKNOWN)
        };
        let people = |test: &dyn Fn(usize) -> bool| -> u64 {
            kinds().filter(|&k| test(k)).map(|k| crowd.kinds[k].people).sum()
        };
        // What the releases do not say each by itself: values of everybody's groups in all releases
        // that go all the same.
        let excluded: u64 = kinds()
            .map(|kind| {
                let all = evidence.outcomes_of(kind as u32);
                let mut before: Vec<u32> =
                    all.map(|o| evidence.outcomes()[o as usize].value).collect();
                before.dedup();
                let before = before.iter().filter(|&&v| v != Outcome::UNKNOWN).count();
                (before - values(kind).count()) as u64 * crowd.kinds[kind].people
            })
            .sum();
        let fewest = kinds().filter(surely).map(|k| values(k).count()).min().unwrap_or(0);
        let is_undecided = |kind: usize| is_among(&found.forced.undecided, evidence, kind);
        let undecided = people(&is_undecided);
        if let Some(exhausted) = found.exhausted() {
            notes.push(match exhausted {
                Exhausted::Work => "the limit of work was reached before everything was found out; `effort` raises it".into(),
                Exhausted::Time => "time was up before everything was found out: what is certain or impossible is proven all the \
                                    same"
                    .to_owned(),
            });
        }
        if !found.forced.undecided.is_empty() {
            notes.push(format!(
                "{} possibilities were not decided: no world with them was found, and none was ruled out; they count as possible",
                found.forced.undecided.len()
            ));
        }
        if !found.beliefs.vanishing.is_empty() {
            notes.push(format!(
                "{} possibilities are believed with nothing, because their probability fell steadily towards zero; that they are \
                 impossible is likely and not proven",
                found.beliefs.vanishing.len()
            ));
        }
        let is_unsettled = |kind: usize| is_among(&found.beliefs.unsettled, evidence, kind);
        let not_settled = people(&is_unsettled);
        if not_settled > 0 {
            notes.push(format!(
                "the maximum-entropy belief about {not_settled} people did not settle {}: what is told of them is the belief so \
                 far, which misses a count by {:.2e} people at most",
                match found.beliefs.exhausted {
                    Some(Exhausted::Time) => "before time was up",
                    _ => "within its limit of work",
                },
                found.beliefs.violation
            ));
        }
        let few = |k: usize| surely(&k) && values(k).count() <= 2;
        vec![
            Figure::count(
                "unsettled_beliefs",
                not_settled,
                "people whose maximum-entropy belief did not settle",
            )
            .descriptive(),
            Figure::count(
                "undecided",
                undecided,
                "people with a value that was neither proven possible nor excluded",
            ),
            Figure::count(
                "fewest",
                fewest as u64,
                "possible values of a person who surely is in a release, at least",
            )
            .higher_is_better(),
            Figure::count("one_or_two", people(&few), "people with at most two possible values"),
            Figure::count(
                "excluded",
                excluded,
                "values that the releases exclude together and not alone",
            ),
        ]
    }

    /// How much is left open, and whose belief the releases change together.
    fn entropy(
        &self,
        scene: &Scene,
        crowd: &Crowd,
        evidence: &Evidence,
        found: &Inference,
        beliefs: &Beliefs,
    ) -> Vec<Figure> {
        let nats = found.beliefs.value_entropy(evidence);
        let mut figures = vec![
            Figure::number("entropy", nats, "entropy that is left, in nats").higher_is_better(),
            Figure::number("entropy_bits", nats / std::f64::consts::LN_2, "the same in bits")
                .higher_is_better(),
        ];
        for release in (0..scene.releases.len()).filter(|_| scene.releases.len() > 1) {
            let (mut alone, mut together, mut changed) = (0.0, 0.0, 0);
            for (kind, alike) in crowd.kinds.iter().enumerate() {
                if crowd.candidates(kind, release).is_empty() {
                    continue;
                }
                let before = believed(scene, crowd, kind, release);
                let entropy =
                    |pairs: &[(u32, f64)]| pairs.iter().map(|&(_, p)| entropy_of(p)).sum::<f64>();
                alone += alike.people as f64 * entropy(&before);
                together += alike.people as f64 * entropy(beliefs.of(kind));
                let now = |v: u32| {
                    beliefs.of(kind).iter().find(|(w, _)| *w == v).map_or(0.0, |&(_, p)| p)
                };
                changed += if before.iter().any(|&(v, p)| (p - now(v)).abs() > 1e-6) {
                    alike.people
                } else {
                    0
                };
            }
            let (name, at) = (&scene.releases[release].name, release + 1);
            figures.push(
                Figure::number(
                    format!("entropy_{at}"),
                    alone,
                    format!("entropy of its people from {name} alone"),
                )
                .higher_is_better(),
            );
            figures.push(
                Figure::number(format!("entropy_{at}_after"), together, "and from all releases")
                    .higher_is_better(),
            );
            figures.push(Figure::count(
                format!("channel_{at}"),
                changed,
                "of its people are believed otherwise than from it alone",
            ));
        }
        let known = |kind: u32| {
            let values = evidence.outcomes_of(kind).map(|o| evidence.outcomes()[o as usize].value);
            u64::from(evidence.kinds()[kind as usize].people)
                * values.filter(|&v| v != Outcome::UNKNOWN).count() as u64
        };
        let unknowns = (0..evidence.kinds().len() as u32).map(known).sum();
        let about = "unknowns: people times the values that all their groups have";
        figures.push(Figure::count("variables", unknowns, about).descriptive());
        figures.push(
            Figure::count(
                "facts",
                evidence.facts().len() as u64,
                "published counts and statements",
            )
            .descriptive(),
        );
        figures.push(
            Figure::number(
                "violation",
                found.beliefs.violation,
                "largest distance of a count from what is believed",
            )
            .descriptive(),
        );
        figures
    }

    /// The shares of worlds, and how they differ from maximum entropy.
    fn compare(
        &self,
        crowd: &Crowd,
        evidence: &Evidence,
        found: &Inference,
        worlds: &Worlds,
        notes: &mut Vec<String>,
    ) -> (Beliefs, Vec<Figure>) {
        let shares = of_kinds(crowd, evidence, found, |kind| {
            let mut sums: Vec<(u32, f64)> = Vec::new();
            // Nothing is believed of people whose worlds were neither counted nor drawn until they
            // settled.
            let known = evidence.outcomes_of(kind).all(|o| worlds.knows(o));
            for o in evidence.outcomes_of(kind).filter(|_| known) {
                let (value, p) =
                    (evidence.outcomes()[o as usize].value, worlds.probability[o as usize]);
                match sums.last_mut() {
                    Some((v, sum)) if *v == value => *sum += p,
                    _ => sums.push((value, p)),
                }
            }
            sums
        });
        let distance = worlds.compare(evidence, &found.beliefs.probability);
        let mut figures = vec![
            Figure::count("counted", worlds.exact, "people whose worlds were counted exactly")
                .descriptive(),
            Figure::share(
                "understated",
                distance.understated.0,
                "maximum entropy is less sure than the worlds, at most by",
            )
            .descriptive(),
            Figure::share(
                "overstated",
                distance.overstated.0,
                "maximum entropy is surer than the worlds, at most by",
            )
            .descriptive(),
        ];
        if worlds.unknown > 0 {
            figures.push(
                Figure::count(
                    "left_out",
                    worlds.unknown,
                    "people whose worlds were neither counted nor drawn",
                )
                .descriptive(),
            );
            notes.push(match self.worlds {
                "sample" => {
                    format!(
                        "no world was found to begin with for {} people: their shares are left out",
                        worlds.unknown
                    )
                }
                _ => format!(
                    "the worlds of {} people are too many to count; `worlds=sample` draws some",
                    worlds.unknown
                ),
            });
        }
        if let Some(sampled) = &worlds.sampled {
            figures.push(
                Figure::count("sampled", sampled.people, "people whose worlds were drawn")
                    .descriptive(),
            );
            figures.push(
                Figure::count(
                    "believed",
                    sampled.believed,
                    "of them whose shares come from belief propagation, which the draws judge",
                )
                .descriptive(),
            );
            figures.push(
                Figure::count(
                    "unsettled",
                    sampled.unsettled,
                    "of them about whom neither draws nor beliefs are good enough",
                )
                .descriptive(),
            );
            figures.push(
                Figure::number(
                    "sampling_error",
                    sampled.largest_error,
                    "largest standard error of the others' shares",
                )
                .descriptive(),
            );
            figures.push(
                Figure::number(
                    "r_hat",
                    sampled.r_hat,
                    "split R̂ of the draws: near 1 if they can be trusted",
                )
                .descriptive(),
            );
            if sampled.unsettled > 0 {
                notes.push(format!(
                    "neither draws nor beliefs are good enough for {} people: their shares of worlds are left out; more steps may help \
                     (`steps={}`)",
                    sampled.unsettled,
                    self.steps.saturating_mul(10)
                ));
            }
        }
        (shares, figures)
    }
}

/// Whether an outcome of a kind is among some, which rise.
fn is_among(outcomes: &[u32], evidence: &Evidence, kind: usize) -> bool {
    let of_kind = evidence.outcomes_of(kind as u32);
    let first = outcomes.get(outcomes.partition_point(|&o| o < of_kind.start));
    first.is_some_and(|o| of_kind.contains(o))
}

/// Beliefs about the kinds of the register, in the values that are possible. Whoever may be in no
/// release may have any.
fn of_kinds<I: IntoIterator<Item = (u32, f64)>>(
    crowd: &Crowd,
    evidence: &Evidence,
    found: &Inference,
    values: impl Fn(u32) -> I,
) -> Beliefs {
    Beliefs::new((0..crowd.kinds.len() as u32).map(|kind| {
        let possible: Vec<u32> = found.forced.values(evidence, kind).collect();
        let known = values(kind).into_iter().filter(|(v, _)| possible.contains(v));
        known.collect::<Vec<_>>()
    }))
}

/// For everybody the belief that is surer of a value, and which it is.
fn stronger(crowd: &Crowd, entropy: &Beliefs, worlds: &Beliefs) -> (Beliefs, Vec<&'static str>) {
    let best = |beliefs: &Beliefs, kind: usize| beliefs.best(kind).map_or(0.0, |(_, p)| p);
    // What differs by rounding alone is no difference.
    let by_worlds = |kind: usize| best(worlds, kind) > best(entropy, kind) + 1e-9;
    let kinds = 0..crowd.kinds.len();
    let of_kind = |kind: usize| {
        let surer = if by_worlds(kind) { worlds } else { entropy };
        surer.of(kind).iter().copied().chain(surer.open[kind].then_some((Outcome::UNKNOWN, 0.0)))
    };
    let estimators =
        kinds.clone().map(|kind| if by_worlds(kind) { WORLDS } else { ENTROPY }).collect();
    (Beliefs::new(kinds.map(of_kind)), estimators)
}

/// There is no world: says why.
pub fn refused(
    scene: &Scene,
    evidence: &Evidence,
    Contradiction { facts, .. }: &Contradiction,
) -> Failure {
    let explainer = Explainer::new(evidence);
    let naming = Naming::new(scene);
    let witness = explainer.contradiction((!facts.is_empty()).then_some(facts));
    let why = witness.map(|w| explainer.sentences(&w, &naming).join("\n  "));
    let why = why.unwrap_or_else(|_| "no short reason was found".into());
    Failure::data("contradiction", format!("the releases contradict each other or the register:\n  {why}")).remedy(
        Remedy::words(
            "the same people must be meant everywhere: compare the register with the releases, or say ",
        )
        .and_give(Argument::RegisterIs)
        .then(" `population` or `some` if not everybody in it is in them"),
    )
}
