//! Why something can be inferred about a person: the published facts that give it.

use crate::answer::VERSION;
use crate::attack::{Material, Options, read};
use scumble::attack::{Naming, refused};
use scumble::catalogue::did_you_mean;
use scumble::exact::Ratio;
use scumble::inference::sentences::Names;
use scumble::inference::witness::{Claim, Conclusion, Explainer, Proof, Unexplained, Witness, verify};
use scumble::inference::{Evidence, Inference, Outcome, Source, infer};
use scumble::problem::{Problem, Problems};
use serde::Serialize;

/// Answer of `why`.
#[derive(Clone, Debug, Serialize)]
pub struct Explained {
    /// [`VERSION`].
    pub version: u32,
    /// The person.
    pub person: String,
    /// Row in the register, the first after the header being 1.
    pub row: u64,
    /// How many people are exactly like this one to the adversary, herself included.
    pub alike: u64,
    /// Values that are possible, likeliest first.
    pub values: Vec<Believed>,
    /// What was asked about, or everything that is certain or impossible, with reasons.
    pub inferences: Vec<Because>,
    /// What the reader should know.
    pub warnings: Vec<String>,
}

/// A value and how much it is believed.
#[derive(Clone, Debug, Serialize)]
pub struct Believed {
    /// The value.
    pub value: String,
    /// Probability by maximum entropy.
    pub probability: f64,
    /// The least and the most probability that any belief consistent with the facts can give it; exact fractions. Absent
    /// where it takes too long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bounds: Option<(String, String)>,
}

/// An inference and its reasons.
#[derive(Clone, Debug, Serialize)]
pub struct Because {
    /// The value.
    pub value: String,
    /// `certain`, `impossible`, `at least` or `at most`.
    pub claim: &'static str,
    /// Sentences: the facts, and what follows.
    pub sentences: Vec<String>,
    /// The published facts.
    pub facts: Vec<FactNote>,
    /// How often the left side of the inference is counted in the combination; absent if it is no sum.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times: Option<String>,
    /// Whether the combination was checked by plain arithmetic.
    pub verified: bool,
    /// Whether it was proven that no fewer facts suffice.
    pub smallest: bool,
}

/// A published fact in a proof.
#[derive(Clone, Debug, Serialize)]
pub struct FactNote {
    /// Number of the release, from 1; absent for something else that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub release: Option<u32>,
    /// The group.
    pub group: String,
    /// The value; empty for something else that is known.
    pub value: String,
    /// How many people at least.
    pub low: u64,
    /// How many people at most.
    pub high: u64,
    /// What it is multiplied by in the sum; absent if it is no sum.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times: Option<String>,
}

/// Explains what can be inferred about a person, named as in the register's column or by row. About one value, if one is
/// given.
pub fn why(person: &str, value: Option<&str>, options: &Options<'_>) -> Result<Explained, Problems> {
    let material = read(options)?;
    let scene = &material.scene;
    let crowd = scene.people()?;
    let row = find(person, &material)?;
    let kind = crowd.kind_of[row];
    options.watcher.phase("inferring");
    let evidence = scene.evidence()?;
    let found =
        infer(&evidence, &|done, all| options.watcher.at(done, all)).map_err(|f| refused(scene, &evidence, &f))?;
    options.watcher.phase("explaining");
    let teller =
        Teller { evidence: &evidence, found: &found, explainer: Explainer::new(&evidence), naming: Naming::new(scene) };
    let mut warnings = material.warnings.clone();
    let inferences = match value {
        Some(text) => {
            let code = scene.values.iter().position(|v| v == text).ok_or_else(|| {
                Problem::new(format!("`{text}` is no value of `{}` in any release", scene.attribute))
                    .hint(did_you_mean(text, scene.values.iter().map(String::as_str)))
            })?;
            teller.about(kind, code as u32, &mut warnings)
        }
        None => teller.everything(kind, &mut warnings),
    };
    Ok(Explained {
        version: VERSION,
        person: (scene.name)(row),
        row: row as u64 + 1,
        alike: crowd.kinds[kind as usize].people,
        values: teller.believed(kind),
        inferences,
        warnings,
    })
}

/// The row of a person.
fn find(person: &str, material: &Material) -> Result<usize, Problem> {
    let rows = material.scene.people()?.kind_of.len();
    if let Some(names) = &material.names {
        let code = names.values.iter().position(|n| n == person);
        let row = code.and_then(|c| names.codes.iter().position(|&code| code as usize == c));
        return row.ok_or_else(|| {
            Problem::new("the register names nobody like that").hint("names are written as in the column of `--name`")
        });
    }
    let row = person.parse::<usize>().ok().filter(|&n| 1 <= n && n <= rows);
    row.map(|n| n - 1).ok_or_else(|| {
        Problem::new(format!("`{person}` is no row of the register, which has {rows}"))
            .hint("give the number of the person's row, or `--name COLUMN` and the name")
    })
}

struct Teller<'a> {
    evidence: &'a Evidence,
    found: &'a Inference,
    explainer: Explainer<'a>,
    naming: Naming<'a>,
}

impl Teller<'_> {
    fn believed(&self, kind: u32) -> Vec<Believed> {
        let mut values: Vec<(u32, f64)> =
            self.found.beliefs.values(self.evidence, kind).filter(|(_, p)| *p > 0.0).collect();
        values.sort_by(|a, b| b.1.total_cmp(&a.1));
        let one = |&(value, probability): &(u32, f64)| Believed {
            value: self.naming.value(value),
            probability,
            bounds: self.explainer.bounds(kind, value).map(|(low, high)| (low.to_string(), high.to_string())),
        };
        values.iter().map(one).collect()
    }

    /// Everything that is certain or impossible, though a release of the person shows the value.
    fn everything(&self, kind: u32, warnings: &mut Vec<String>) -> Vec<Because> {
        if let Some(value) = self.found.forced.certain(self.evidence, kind).filter(|&v| v != Outcome::UNKNOWN) {
            return self.because(kind, Claim::Certain(value), warnings).into_iter().collect();
        }
        let mut values: Vec<u32> =
            self.evidence.outcomes_of(kind).map(|o| self.evidence.outcomes()[o as usize].value).collect();
        values.dedup();
        let possible: Vec<u32> = self.found.forced.values(self.evidence, kind).collect();
        let gone = values.into_iter().filter(|v| *v != Outcome::UNKNOWN && !possible.contains(v));
        gone.filter_map(|v| self.because(kind, Claim::Impossible(v), warnings)).collect()
    }

    /// What can be said about one value.
    fn about(&self, kind: u32, value: u32, warnings: &mut Vec<String>) -> Vec<Because> {
        let possible: Vec<u32> = self.found.forced.values(self.evidence, kind).collect();
        let claims = if possible == [value] {
            vec![Claim::Certain(value)]
        } else if !possible.contains(&value) {
            vec![Claim::Impossible(value)]
        } else {
            let bounds = self.explainer.bounds(kind, value);
            let low = bounds.map(|(low, _)| low).filter(|low| *low > Ratio::whole(0));
            let high = bounds.map(|(_, high)| high).filter(|high| *high < Ratio::whole(1));
            low.map(|p| Claim::AtLeast(value, p)).into_iter().chain(high.map(|p| Claim::AtMost(value, p))).collect()
        };
        if claims.is_empty() {
            warnings.push(
                "nothing is forced: beliefs between impossible and certain are consistent with what was published"
                    .into(),
            );
        }
        claims.into_iter().filter_map(|claim| self.because(kind, claim, warnings)).collect()
    }

    fn because(&self, kind: u32, claim: Claim, warnings: &mut Vec<String>) -> Option<Because> {
        match self.explainer.because(&self.found.forced, kind, claim) {
            Ok(witness) => Some(self.told(&witness, claim)),
            Err(Unexplained::Untrue) => {
                warnings.push(format!("no reason was found for {}", self.naming.value(claim.value())));
                None
            }
            Err(Unexplained::TooLarge) => {
                let value = self.naming.value(claim.value());
                warnings.push(format!("the reason for {value} takes too many facts to be found"));
                None
            }
        }
    }

    fn told(&self, witness: &Witness, claim: Claim) -> Because {
        let multiple = |fact: u32| match &witness.proof {
            Proof::Combination(c) => c.facts.iter().find(|(f, _)| *f == fact).map(|(_, n)| n.to_string()),
            Proof::Exhaustion => None,
        };
        let note = |&fact: &u32| {
            let f = self.evidence.facts()[fact as usize];
            let (release, group, value) = match f.source {
                Source::Published { release, group, value } => {
                    (Some(release + 1), self.naming.group(release, group), self.naming.value(value))
                }
                Source::Known(statement) => (None, self.naming.known(statement), String::new()),
            };
            FactNote { release, group, value, low: f.low, high: f.high, times: multiple(fact) }
        };
        let times = match &witness.proof {
            Proof::Combination(c) => Some(c.times.to_string()),
            Proof::Exhaustion => None,
        };
        Because {
            value: self.naming.value(claim.value()),
            claim: match (witness.conclusion, claim) {
                (Conclusion::NoWorld, _) => "contradiction",
                (_, Claim::Certain(_)) => "certain",
                (_, Claim::Impossible(_)) => "impossible",
                (_, Claim::AtLeast(..)) => "at least",
                (_, Claim::AtMost(..)) => "at most",
            },
            sentences: self.explainer.sentences(witness, &self.naming),
            facts: witness.facts.iter().map(note).collect(),
            times,
            verified: verify(self.evidence, witness),
            smallest: witness.smallest,
        }
    }
}
