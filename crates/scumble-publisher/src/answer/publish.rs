//! Answer of `publish`, and what it shares with other answers about one release.

use super::words;
use super::{Loss, Model, Number, Reason};
use crate::ledger::Verdict;
use schemars::JsonSchema;
use scumble::exact::Ratio;
use scumble::gate::{Breach, Gate, Memory, Seen, What};
use scumble::inference::Exhausted;
use scumble::perturb::Change;
use scumble::policy::Policy;
use scumble::release::{Release, Shape};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Answer of `publish`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Published {
    /// Version of the JSON answers.
    pub version: u32,
    /// What became of it.
    pub outcome: Outcome,
    /// The release's folder.
    pub release: String,
    /// Records published.
    pub rows: u64,
    /// Equivalence classes: records that show the same quasi-identifiers.
    pub classes: u64,
    /// The groups, if the release is anatomized.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub groups: Option<Groups>,
    /// Records left out.
    pub suppressed: u64,
    /// Every requirement with what was measured.
    pub models: Vec<Model>,
    /// Every metric by name.
    pub utility: BTreeMap<String, Loss>,
    /// What became of the columns that were perturbed.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub perturbed: Vec<Perturbed>,
    /// What every adversary learns from it together with earlier releases; empty where there are
    /// none and the policy has no gate.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub gate: Vec<Passage>,
    /// Adversaries on the gate's panel, if it judged.
    pub attacks: Vec<String>,
    /// The ledger that records it, and the number of its entry there.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub recorded: Option<Record>,
    /// Changes that the gate lets pass, those that keep most first; if they were looked for.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub remedies: Vec<Remedy>,
    /// Changes that were tried and do not pass, the nearest first.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub tried: Vec<Tried>,
    /// The file with everybody whom it would expose, if one was asked for.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub exposed_file: Option<String>,
    /// Everybody whom it would expose, as lines of a file; collected only if the file was asked
    /// for.
    #[serde(skip)]
    pub exposed: String,
    /// Why it was refused.
    pub reasons: Vec<Reason>,
    /// What the steward should know.
    pub warnings: Vec<String>,
    /// What an engine did, if one counted the source.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub engine: Option<EngineReport>,
    /// Seconds per phase.
    pub seconds: BTreeMap<String, f64>,
}

/// A change with which the gate lets a release pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Remedy {
    /// Names the change: the same for the same policy, wherever it stands in a list.
    pub number: u64,
    /// What is changed.
    pub what: String,
    /// Records that are published.
    pub records: u64,
    /// Records suppressed.
    pub suppressed: u64,
    /// Sensitive columns that are not published any more.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub sensitive_dropped: Vec<String>,
    /// Other columns that are not.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub columns_dropped: Vec<String>,
    /// Median relative error of random COUNT queries; a query that can no longer be asked counts as
    /// wholly wrong.
    pub loss: f64,
    /// Generalization loss, where the release has regions.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub gcp: Option<f64>,
    /// Why it is published only if it is chosen by its number; absent if it need not be.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub asks: Option<String>,
    /// The text of the changed policy, with all comments, which can be saved and published; absent
    /// if the change is one of the release and the policy stays as it is.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub policy: Option<String>,
    /// Whether this is what was published.
    pub applied: bool,
}

/// A change that was tried and does not pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tried {
    /// What was changed.
    pub what: String,
    /// People who would still be exposed.
    pub exposed: u64,
    /// Of them, those whose value would still become certain to somebody.
    pub certain: u64,
    /// What is in the way: of the gate, or of the policy's models.
    pub because: String,
}

impl Tried {
    /// How far it is from passing. Where nobody is exposed a model is broken, which is further.
    pub(crate) fn distance(&self) -> (bool, u64, u64) {
        (self.exposed == 0, self.certain, self.exposed)
    }

    /// What became of a change that was carried out.
    pub(crate) fn of(what: String, exposed: u64, answer: &Published) -> Tried {
        let refused = answer.gate.iter().filter(|p| !p.holds);
        Tried {
            what,
            exposed,
            certain: refused.map(|p| p.newly).max().unwrap_or(0),
            because: answer.reasons.first().map_or_else(String::new, |r| r.message.clone()),
        }
    }
}

/// Where a release is recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Record {
    /// The ledger.
    pub ledger: String,
    /// Number of its entry, by which `ledger show` finds it.
    pub entry: u64,
    /// Hash of the last entry: noted elsewhere, it tells later whether the end of the ledger was
    /// cut off.
    pub head: String,
}

/// What an adversary learns from a release together with earlier ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Passage {
    /// The sensitive attribute.
    pub attribute: String,
    /// Whether it is about values that people had before they changed; otherwise about everybody's
    /// newest.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub replaced: bool,
    /// Who: a recipient, several of them, or everybody.
    pub adversary: String,
    /// The releases that she has, this one last.
    pub releases: Vec<String>,
    /// Whether the gate judges her; otherwise she is only told of.
    pub judged: bool,
    /// Whether what she learns may be published.
    pub holds: bool,
    /// People in any of the releases.
    pub people: u64,
    /// People whose value is certain to her.
    pub certain: u64,
    /// Of them, those whose value was certain without this release.
    pub already: u64,
    /// People whose value this release makes certain, as far as the gate counts them.
    pub newly: u64,
    /// People whose value earlier releases of the ledger made certain, as it was counted when they
    /// were published.
    #[serde(skip_serializing_if = "super::is_zero", default)]
    pub spent: u64,
    /// What is allowed.
    pub limits: Limits,
    /// The fewest possible values of anybody; absent if nothing was told of anybody's value.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub fewest: Option<u64>,
    /// The strongest belief about anybody; absent if nothing was told, or if no belief short of
    /// certainty was looked at.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub strongest: Option<f64>,
    /// Whose belief it is.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub by: Option<String>,
    /// The largest ε that randomized responses about one person add up to.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub response: Option<f64>,
    /// By confidence in per cent: the share of the release's people of whom it is reached newly.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub pvp: BTreeMap<String, f64>,
    /// What was used up before everything was found out; absent if nothing was.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub exhausted: Option<Exhausted>,
    /// People of whom it was not found out what becomes known: they count as exposed.
    #[serde(skip_serializing_if = "super::is_zero", default)]
    pub undecided: u64,
    /// Number of people whom it exposes beyond what is allowed.
    pub exposed: u64,
    /// The worst of them: people who are alike are told together.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub people_exposed: Vec<Exposure>,
    /// What must be borne in mind.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub notes: Vec<String>,
}

/// What the gate allows, as it was in force.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Limits {
    /// People whose value may become certain through all releases of the ledger together.
    pub certain: u64,
    /// Values that must stay possible for everybody.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub candidates: Option<u64>,
    /// The strongest belief in a value; absent if no belief short of certainty is judged.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub posterior: Option<Number>,
    /// Whether the policy gives `posterior`; otherwise it follows from what its models promise.
    pub posterior_given: bool,
}

/// People whom a release would expose.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Exposure {
    /// What would be known.
    pub what: Exposed,
    /// Who, as `row 17` of the extract.
    pub who: Vec<String>,
    /// How many they are.
    pub people: u64,
    /// Possible values, or strength of belief, before.
    pub before: f64,
    /// And with the release.
    pub after: f64,
    /// The releases that give it, where that was found out.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub releases: Vec<String>,
    /// The value; only if values were asked for.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub value: Option<String>,
    /// The published facts that give it; only if values were asked for.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub because: Vec<String>,
}

/// The groups of an anatomized release.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Groups {
    /// How many.
    pub number: u64,
    /// Records in the smallest.
    pub smallest: u64,
    /// Records in the largest.
    pub largest: u64,
    /// Sensitive values that stand for nobody; absent if there are none.
    #[serde(skip_serializing_if = "super::is_zero", default)]
    pub counterfeits: u64,
}

/// A column whose values were changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Perturbed {
    /// Its name.
    pub column: String,
    /// Methods with their parameters, in order.
    pub methods: Vec<String>,
    /// Share of records whose value changed.
    pub changed: f64,
    /// Total variation distance between the distributions before and after.
    pub distance: f64,
    /// Σ (new − old)² / Σ (old − mean)², for numbers.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sse: Option<f64>,
    /// ε of randomized response.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub epsilon: Option<f64>,
}

/// What an engine was asked, and what it expected.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EngineReport {
    /// `datafusion` or `ballista`.
    pub name: String,
    /// Records of the source.
    pub rows: u64,
    /// About how many distinct rows were expected.
    pub expected: u64,
    /// How many there were; 0 if they were too many to be brought, and the table was divided level
    /// by level.
    pub distinct: u64,
    /// Bytes that they were expected to need in this process.
    pub bytes: u64,
    /// Bytes that this process may use for them, and as many again for the engine.
    pub allowed: u64,
    /// Queries that read the source.
    pub passes: u64,
    /// Bytes that did not fit and went to the disk of this process; executors of a cluster count
    /// theirs themselves.
    pub spilled: u64,
}

words! {
    /// What became of a policy.
    pub enum Outcome {
        /// It was published.
        Published = "published",
        /// It was refused: the reasons say why.
        Refused = "refused",
        /// It would be published: nothing was written.
        WouldPublish = "would publish",
    }
}

words! {
    /// What an exposure is about.
    pub enum Exposed {
        /// A value becomes certain.
        Certain = "certain",
        /// Too few values stay possible.
        Candidates = "candidates",
        /// A belief becomes too strong.
        Posterior = "posterior",
        /// The groups of several releases leave too few values.
        Intersection = "intersection",
        /// Certainty could be neither proven nor excluded.
        Undecided = "undecided",
        /// Randomized responses add up to too large an ε.
        Response = "response",
    }
}

impl Remedy {
    /// The one that keeps more comes first: sensitive columns, people, other columns, counts,
    /// detail.
    pub(crate) fn rank(&self, other: &Remedy) -> std::cmp::Ordering {
        let dropped =
            |r: &Remedy| (r.sensitive_dropped.len(), r.suppressed, r.columns_dropped.len());
        let gcp = |r: &Remedy| r.gcp.unwrap_or(0.0);
        let by_loss = self.loss.total_cmp(&other.loss).then(gcp(self).total_cmp(&gcp(other)));
        dropped(self).cmp(&dropped(other)).then(by_loss).then(self.number.cmp(&other.number))
    }
}

impl Limits {
    /// Those of an attribute.
    pub fn of(gate: &Gate, attribute: &str) -> Limits {
        let limit = gate.limit(attribute);
        Limits {
            certain: gate.certain,
            candidates: gate.candidates,
            posterior: limit.map(|l| l.most.into()),
            posterior_given: gate.posterior.is_some(),
        }
    }
}

/// So many kinds of exposed people are told, and so many people of a kind.
const TOLD: usize = 10;

impl Exposure {
    /// At most so many of the people of a breach, with values only if they were asked for.
    fn of(memory: &Memory, b: &Breach, most: usize, show_values: bool) -> Exposure {
        let name = |&r: &usize| memory.releases[r].name.clone();
        Exposure {
            what: match b.what {
                What::Certain => Exposed::Certain,
                What::Candidates => Exposed::Candidates,
                What::Posterior => Exposed::Posterior,
                What::Intersection => Exposed::Intersection,
                What::Undecided => Exposed::Undecided,
                What::Response => Exposed::Response,
            },
            who: b.people.iter().take(most).map(|&p| (memory.name)(p)).collect(),
            people: b.people.len() as u64,
            before: b.before,
            after: b.after,
            releases: b.reason.iter().flat_map(|r| r.releases.iter().map(name)).collect(),
            value: b.value.filter(|_| show_values).map(|v| memory.value(v)),
            because: b
                .reason
                .iter()
                .filter(|_| show_values)
                .flat_map(|r| r.sentences.clone())
                .collect(),
        }
    }
}

impl Passage {
    /// What an adversary learns, with values only if they were asked for.
    pub fn of(memory: &Memory, gate: &Gate, seen: &Seen, show_values: bool) -> Passage {
        let name = |&r: &usize| memory.releases[r].name.clone();
        let exposure = |b: &Breach| Exposure::of(memory, b, TOLD, show_values);
        let percent = |c: Ratio| (Ratio::new(c.num() * 100, c.den())).to_string();
        let (strongest, by) = match seen.strongest {
            // What is certain is proven, whoever else was asked.
            (belief, by) if seen.certain > 0 => (Some(1.0), by.filter(|_| belief >= 1.0)),
            (belief, by) if seen.believed && seen.fewest > 0 => (Some(belief), by),
            _ => (None, None),
        };
        Passage {
            attribute: memory.attribute.clone(),
            replaced: memory.judged.is_some(),
            adversary: seen.adversary.name.clone(),
            releases: seen.adversary.releases.iter().map(name).collect(),
            judged: seen.judged,
            holds: seen.holds(),
            people: seen.people,
            certain: seen.certain,
            already: seen.already,
            newly: seen.newly,
            spent: seen.spent,
            limits: Limits::of(gate, &memory.attribute),
            fewest: Some(seen.fewest).filter(|&values| values > 0),
            strongest,
            by: by.map(|p| p.name().to_owned()),
            response: seen.response,
            pvp: seen.pvp.iter().map(|&(c, share)| (percent(c), share)).collect(),
            exhausted: seen.exhausted,
            undecided: seen.undecided,
            exposed: seen.exposed(),
            people_exposed: seen.breaches.iter().take(TOLD).map(exposure).collect(),
            notes: seen.notes.iter().map(|note| about(&memory.attribute, note)).collect(),
        }
    }
}

/// A note that names the attribute that it is about.
fn about(attribute: &str, note: &str) -> String {
    let named = format!("`{attribute}`");
    if note.contains(&named) { note.to_owned() } else { format!("{named}: {note}") }
}

/// Everybody whom a release would expose to an adversary, as lines of a CSV file: one for each
/// person and way.
pub(crate) fn exposed_lines(memory: &Memory, seen: &Seen, show_values: bool) -> String {
    let quoted = |text: &str| match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    };
    let mut lines = String::new();
    for breach in &seen.breaches {
        let e = Exposure::of(memory, breach, usize::MAX, show_values);
        let (before, after, releases) = (e.before, e.after, e.releases.join(" "));
        for who in &e.who {
            let cells =
                [&memory.attribute, &seen.adversary.name, who].map(|text| quoted(text)).join(",");
            let value = e.value.as_ref().map_or(String::new(), |v| format!(",{}", quoted(v)));
            lines.push_str(&format!(
                "{cells},{},{before},{after},{}{value}\n",
                e.what,
                quoted(&releases)
            ));
        }
    }
    lines
}

/// The header of such a file.
pub(crate) fn exposed_header(show_values: bool) -> String {
    let value = if show_values { ",value" } else { "" };
    format!("attribute,adversary,who,what,before,after,releases{value}\n")
}

impl From<&Passage> for Verdict {
    fn from(p: &Passage) -> Verdict {
        Verdict {
            attribute: p.attribute.clone(),
            adversary: p.adversary.clone(),
            releases: p.releases.len() as u64,
            people: p.people,
            certain: p.certain,
            newly: p.newly,
            fewest: p.fewest,
            strongest: p.strongest,
            by: p.by.clone().unwrap_or_default(),
            response: p.response,
            pvp: p.pvp.clone(),
        }
    }
}

impl Groups {
    /// Those of a release, if it has some.
    pub fn of(release: &Release) -> Option<Groups> {
        let sizes = || release.classes.iter().map(|c| c.count);
        (release.shape == Shape::Groups).then(|| Groups {
            number: release.classes.len() as u64,
            smallest: sizes().min().unwrap_or(0),
            largest: sizes().max().unwrap_or(0),
            counterfeits: release.counterfeits.iter().sum(),
        })
    }
}

impl Perturbed {
    /// What became of a column.
    pub fn of(policy: &Policy, column: &str, change: &Change) -> Perturbed {
        let steps =
            policy.attributes.iter().find(|a| a.name == column).map_or(&[][..], |a| &a.perturb);
        Perturbed {
            column: column.to_owned(),
            methods: steps.iter().map(|s| format!("{} {}", s.name(), s.parameter())).collect(),
            changed: change.changed,
            distance: change.distance,
            sse: change.sse,
            epsilon: change.epsilon,
        }
    }
}
