//! Why something can be inferred about a person: the published facts that give it.

use crate::answer::VERSION;
use crate::attack::{Material, Options, read};
use scumble::attack::{Naming, refused};
use scumble::catalogue::did_you_mean;
use scumble::exact::Ratio;
use scumble::inference::sentences::Names;
use scumble::inference::witness::{Claim, Conclusion, Explainer, Proof, Unexplained, Witness, verify};
use scumble::inference::{Evidence, Inference, Located, Outcome, Source, WORK, infer};
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
    /// The least and the most probability that any belief consistent with the facts can give it, of this one person; exact
    /// fractions. Absent where it takes too long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bounds: Option<(String, String)>,
    /// The least and the most of the people who are alike who have it, herself included; absent if she is alone, or where it
    /// takes too long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of_alike: Option<(String, String)>,
}

/// An inference and its reasons.
#[derive(Clone, Debug, Serialize)]
pub struct Because {
    /// The value.
    pub value: String,
    /// `certain`, `impossible`, `at least` or `at most`.
    pub claim: &'static str,
    /// The probability that is bounded, an exact fraction; absent for what is certain or impossible.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound: Option<String>,
    /// Sentences: the facts, and what follows.
    pub sentences: Vec<String>,
    /// How the facts give it: by a `sum` of multiples of them, or by `trying` all ways to deal values to these people.
    pub proof: &'static str,
    /// The published facts.
    pub facts: Vec<FactNote>,
    /// Everybody whom the facts count or may count, and what can be true of them.
    pub premises: Vec<Premise>,
    /// How often the left side of the inference is counted in the combination; absent if it is no sum.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times: Option<String>,
    /// Whether the combination was checked by plain arithmetic.
    pub verified: bool,
    /// Whether the proof fails without any one of the facts.
    pub irreducible: bool,
    /// Whether it was proven that no fewer facts suffice.
    pub smallest: bool,
}

/// People who are alike to the adversary, and what can be true of one of them.
#[derive(Clone, Debug, Serialize)]
pub struct Premise {
    /// How many.
    pub people: u64,
    /// Their rows in the register, from 1; none if they are not in it.
    pub rows: Vec<u64>,
    /// Whether the inference is about them.
    pub asked: bool,
    /// By release: the groups that they may be in, as the facts name them, and whether they may be in none.
    pub located: Vec<Place>,
    /// Everything that can be true of one of them, by what their groups show.
    pub outcomes: Vec<Possible>,
    /// What "each of them has one outcome" is multiplied by in the sum; absent if it is no sum.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times: Option<String>,
}

/// Where people are in a release.
#[derive(Clone, Debug, Serialize)]
pub struct Place {
    /// Names of the groups.
    pub groups: Vec<String>,
    /// Whether they may be in none of them.
    pub may_be_absent: bool,
}

/// One thing that can be true of a person.
#[derive(Clone, Debug, Serialize)]
pub struct Possible {
    /// The value; absent if the person is in no release, so that nothing is said of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// The facts that count a person of whom it is true: places in the list of facts, from 0.
    pub counted_by: Vec<usize>,
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
    let found = infer(&evidence, WORK, &|done, all| options.watcher.at(done, all))
        .map_err(|c| refused(scene, &evidence, &c))?;
    options.watcher.phase("explaining");
    let teller =
        Teller { evidence: &evidence, found: &found, explainer: Explainer::new(&evidence), naming: Naming::new(scene) };
    let mut warnings = material.warnings.clone();
    if teller.is_unsettled(kind) {
        warnings.push(format!(
            "the maximum-entropy belief did not settle within its limit of work: what is told is the belief so far, which misses \
             a count by {:.2e} people at most",
            found.beliefs.violation
        ));
    }
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
    fn is_unsettled(&self, kind: u32) -> bool {
        self.evidence.outcomes_of(kind).any(|o| self.found.beliefs.unsettled.binary_search(&o).is_ok())
    }

    /// Everybody whom the facts of a witness count or may count, and whom it is about.
    fn premises(&self, witness: &Witness) -> Vec<Premise> {
        let touched = |kind: u32| {
            let about = matches!(witness.conclusion, Conclusion::About { kind: k, .. } if k == kind);
            let mut facts = self.evidence.outcomes_of(kind).flat_map(|o| self.evidence.facts_of(o));
            about || facts.any(|f| witness.facts.binary_search(f).is_ok())
        };
        let multiple = |kind: u32| match &witness.proof {
            Proof::Combination(c) => c.kinds.iter().find(|(k, _)| *k == kind).map(|(_, n)| n.to_string()),
            Proof::Exhaustion => None,
        };
        let impossible = |kind: u32| self.evidence.outcomes_of(kind).is_empty() && multiple(kind).is_some();
        let kinds = (0..self.evidence.kinds().len() as u32).filter(|&kind| touched(kind) || impossible(kind));
        kinds.map(|kind| self.premise(kind, witness, multiple(kind))).collect()
    }

    fn premise(&self, kind: u32, witness: &Witness, times: Option<String>) -> Premise {
        let place = |(release, place): (u32, Located)| Place {
            groups: place.groups.iter().map(|&g| self.naming.group(release, g)).collect(),
            may_be_absent: place.may_be_absent,
        };
        let outcome = |o: u32| {
            let value = self.evidence.outcomes()[o as usize].value;
            let counted = self.evidence.facts_of(o).iter();
            Possible {
                value: (value != Outcome::UNKNOWN).then(|| self.naming.value(value)),
                counted_by: counted.filter_map(|f| witness.facts.binary_search(f).ok()).collect(),
            }
        };
        let by_sum = matches!(witness.proof, Proof::Combination(_));
        Premise {
            people: u64::from(self.evidence.kinds()[kind as usize].people),
            rows: self.naming.rows(kind).iter().map(|&row| u64::from(row) + 1).collect(),
            asked: matches!(witness.conclusion, Conclusion::About { kind: k, .. } if k == kind),
            located: (0..).zip(self.naming.located(kind)).map(place).collect(),
            outcomes: self.evidence.outcomes_of(kind).map(outcome).collect(),
            times: times.or_else(|| by_sum.then(|| "0".to_owned())),
        }
    }

    fn believed(&self, kind: u32) -> Vec<Believed> {
        let mut values: Vec<(u32, f64)> =
            self.found.beliefs.values(self.evidence, kind).filter(|(_, p)| *p > 0.0).collect();
        values.sort_by(|a, b| b.1.total_cmp(&a.1));
        let one = |&(value, probability): &(u32, f64)| Believed {
            value: self.naming.value(value),
            probability,
            bounds: self.explainer.bounds(kind, value).map(|(low, high)| (low.to_string(), high.to_string())),
            of_alike: (self.evidence.kinds()[kind as usize].people > 1)
                .then(|| self.explainer.people_with(kind, value))
                .flatten()
                .map(|(low, high)| (low.to_string(), high.to_string())),
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
            bound: match claim {
                Claim::AtMost(_, share) | Claim::AtLeast(_, share) => Some(share.to_string()),
                Claim::Certain(_) | Claim::Impossible(_) => None,
            },
            sentences: self.explainer.sentences(witness, &self.naming),
            proof: match &witness.proof {
                Proof::Combination(_) => "sum",
                Proof::Exhaustion => "trying",
            },
            facts: witness.facts.iter().map(note).collect(),
            premises: self.premises(witness),
            times,
            verified: verify(self.evidence, witness),
            irreducible: witness.irreducible,
            smallest: witness.smallest,
        }
    }
}
