//! What commands answer, as JSON: small versioned structures, apart from the types they are made from.
//!
//! Names are stable; new ones may be added. [`VERSION`] rises when a name changes its meaning.

use crate::engine::Report;
use crate::ledger::Verdict;
use scumble::algorithm::Requirement;
use scumble::class::EquivalenceClass;
use scumble::exact::{Fraction, Ratio, Rational};
use scumble::gate::{Breach, Gate, Memory, Panelist, Seen, What};
use scumble::model::{Belief, Concern, Measured};
use scumble::perturb::Change;
use scumble::policy::Policy;
use scumble::problem::Problem;
use scumble::publish::Judgement;
use scumble::release::{Release, Shape};
use scumble::risk::{MaxAverage, Risk};
use scumble::table::Attribute;
use scumble::uniqueness::{Estimator, unique_share};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the JSON answers and of the manifest.
pub const VERSION: u32 = 1;

/// Answer of `publish`.
#[derive(Clone, Debug, Serialize)]
pub struct Published {
    /// [`VERSION`].
    pub version: u32,
    /// `published`, `refused`, or `would publish` for a dry run.
    pub outcome: &'static str,
    /// The release's folder.
    pub release: String,
    /// Records published.
    pub rows: u64,
    /// Equivalence classes: records that show the same quasi-identifiers.
    pub classes: u64,
    /// The groups, if the release is anatomized.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups: Option<Groups>,
    /// Records left out.
    pub suppressed: u64,
    /// Every requirement with what was measured.
    pub models: Vec<Model>,
    /// Every metric by name.
    pub utility: BTreeMap<&'static str, f64>,
    /// What became of the columns that were perturbed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub perturbed: Vec<Perturbed>,
    /// What every adversary learns from it together with earlier releases; empty where there are none and the policy has
    /// no gate.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gate: Vec<Passage>,
    /// Adversaries on the gate's panel, if it judged.
    pub attacks: Vec<String>,
    /// The ledger that records it, and the number of its entry there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recorded: Option<Record>,
    /// Changes that the gate lets pass, those that keep most first; if they were looked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remedies: Vec<Remedy>,
    /// The file with everybody whom it would expose, if one was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exposed_file: Option<String>,
    /// Everybody whom it would expose, as lines of a file; collected only if the file was asked for.
    #[serde(skip)]
    pub exposed: String,
    /// Why it was refused.
    pub reasons: Vec<Reason>,
    /// What the steward should know.
    pub warnings: Vec<String>,
    /// What an engine did, if one counted the source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine: Option<Report>,
    /// Seconds per phase.
    pub seconds: BTreeMap<&'static str, f64>,
}

/// A change with which the gate lets a release pass.
#[derive(Clone, Debug, Serialize)]
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
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sensitive_dropped: Vec<String>,
    /// Other columns that are not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub columns_dropped: Vec<String>,
    /// Median relative error of random COUNT queries; a query that can no longer be asked counts as wholly wrong.
    pub loss: f64,
    /// Generalization loss, where the release has regions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gcp: Option<f64>,
    /// Why it is published only if it is chosen by its number; absent if it need not be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asks: Option<String>,
    /// Whether this is what was published.
    pub applied: bool,
}

impl Remedy {
    /// The one that keeps more comes first: sensitive columns, people, other columns, counts, detail.
    pub(crate) fn rank(&self, other: &Remedy) -> std::cmp::Ordering {
        let dropped = |r: &Remedy| (r.sensitive_dropped.len(), r.suppressed, r.columns_dropped.len());
        let gcp = |r: &Remedy| r.gcp.unwrap_or(0.0);
        let by_loss = self.loss.total_cmp(&other.loss).then(gcp(self).total_cmp(&gcp(other)));
        dropped(self).cmp(&dropped(other)).then(by_loss).then(self.number.cmp(&other.number))
    }
}

/// Where a release is recorded.
#[derive(Clone, Debug, Serialize)]
pub struct Record {
    /// The ledger.
    pub ledger: String,
    /// Number of its entry, by which `ledger show` finds it.
    pub entry: u64,
    /// Hash of the last entry: noted elsewhere, it tells later whether the end of the ledger was cut off.
    pub head: String,
}

/// What an adversary learns from a release together with earlier ones.
#[derive(Clone, Debug, Serialize)]
pub struct Passage {
    /// The sensitive attribute.
    pub attribute: String,
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
    /// People whose value earlier releases of the ledger made certain, as it was counted when they were published.
    #[serde(skip_serializing_if = "is_none")]
    pub spent: u64,
    /// What is allowed.
    pub limits: Limits,
    /// The fewest possible values of anybody.
    pub fewest: u64,
    /// The strongest belief about anybody.
    pub strongest: f64,
    /// Whose belief it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<&'static str>,
    /// The largest ε that randomized responses about one person add up to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response: Option<f64>,
    /// By confidence in per cent: the share of the release's people of whom it is reached newly.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub pvp: BTreeMap<String, f64>,
    /// Number of people whom it exposes beyond what is allowed.
    pub exposed: u64,
    /// The worst of them: people who are alike are told together.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub people_exposed: Vec<Exposure>,
    /// What must be borne in mind.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// What the gate allows, as it was in force.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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

/// People whom a release would expose.
#[derive(Clone, Debug, Serialize)]
pub struct Exposure {
    /// What would be known: `certain`, `candidates`, `posterior`, `intersection` or `response`.
    pub what: &'static str,
    /// Who, as `row 17` of the extract.
    pub who: Vec<String>,
    /// How many they are.
    pub people: u64,
    /// Possible values, or strength of belief, before.
    pub before: f64,
    /// And with the release.
    pub after: f64,
    /// The releases that give it, where that was found out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub releases: Vec<String>,
    /// The value; only if values were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// The published facts that give it; only if values were asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub because: Vec<String>,
}

/// So many kinds of exposed people are told, and so many people of a kind.
const TOLD: usize = 10;

impl Exposure {
    /// At most so many of the people of a breach, with values only if they were asked for.
    fn of(memory: &Memory, b: &Breach, most: usize, show_values: bool) -> Exposure {
        let name = |&r: &usize| memory.releases[r].name.clone();
        Exposure {
            what: match b.what {
                What::Certain => "certain",
                What::Candidates => "candidates",
                What::Posterior => "posterior",
                What::Intersection => "intersection",
                What::Undecided => "undecided",
                What::Response => "response",
            },
            who: b.people.iter().take(most).map(|&p| (memory.name)(p)).collect(),
            people: b.people.len() as u64,
            before: b.before,
            after: b.after,
            releases: b.reason.iter().flat_map(|r| r.releases.iter().map(name)).collect(),
            value: b.value.filter(|_| show_values).map(|v| memory.value(v)),
            because: b.reason.iter().filter(|_| show_values).flat_map(|r| r.sentences.clone()).collect(),
        }
    }
}

impl Passage {
    /// What an adversary learns, with values only if they were asked for.
    pub fn of(memory: &Memory, gate: &Gate, seen: &Seen, show_values: bool) -> Passage {
        let name = |&r: &usize| memory.releases[r].name.clone();
        let exposure = |b: &Breach| Exposure::of(memory, b, TOLD, show_values);
        let percent = |c: Ratio| (Ratio::new(c.num() * 100, c.den())).to_string();
        Passage {
            attribute: memory.attribute.clone(),
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
            fewest: seen.fewest,
            strongest: seen.strongest.0,
            by: seen.strongest.1.map(Panelist::name),
            response: seen.response,
            pvp: seen.pvp.iter().map(|&(c, share)| (percent(c), share)).collect(),
            exposed: seen.exposed(),
            people_exposed: seen.breaches.iter().take(TOLD).map(exposure).collect(),
            notes: seen.notes.clone(),
        }
    }
}

/// Everybody whom a release would expose to an adversary, as lines of a CSV file: one for each person and way.
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
            let cells = [&memory.attribute, &seen.adversary.name, who].map(|text| quoted(text)).join(",");
            let value = e.value.as_ref().map_or(String::new(), |v| format!(",{}", quoted(v)));
            lines.push_str(&format!("{cells},{},{before},{after},{}{value}\n", e.what, quoted(&releases)));
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
            by: p.by.unwrap_or("").to_owned(),
            response: p.response,
            pvp: p.pvp.clone(),
        }
    }
}

/// The groups of an anatomized release.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Groups {
    /// How many.
    pub number: u64,
    /// Records in the smallest.
    pub smallest: u64,
    /// Records in the largest.
    pub largest: u64,
    /// Sensitive values that stand for nobody; absent if there are none.
    #[serde(skip_serializing_if = "is_none", default)]
    pub counterfeits: u64,
}

/// Whether there are none.
fn is_none(number: &u64) -> bool {
    *number == 0
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

/// A column whose values were changed.
#[derive(Clone, Debug, Serialize)]
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sse: Option<f64>,
    /// ε of randomized response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epsilon: Option<f64>,
}

/// A requirement over a whole release.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Model {
    /// Name in the catalogue.
    pub name: String,
    /// Sensitive attribute it is about.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub attribute: Option<String>,
    /// Quasi-identifiers it is about, if not all.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub on: Option<Vec<String>>,
    /// Its parameters as written.
    pub parameters: BTreeMap<String, String>,
    /// Whether it holds; absent where nothing was asked.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub holds: Option<bool>,
    /// The worst value over all classes.
    pub measured: Number,
    /// What was asked; absent where nothing was.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub required: Option<Number>,
    /// Whether `measured` must be `at least`, `at most` or `below` what is required.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub must_be: Option<String>,
    /// The class that measures worst.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub worst: Option<Worse>,
    /// Of whom it tells most, if the model can say so. For the publisher: never in a manifest.
    #[serde(skip_serializing_if = "Option::is_none", skip_deserializing)]
    pub witness: Option<Witness>,
}

/// The belief that a release changes most.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Witness {
    /// The sensitive value that it is about.
    pub value: String,
    /// What is believed without the release.
    pub prior: Number,
    /// And with it.
    pub posterior: Number,
    /// By how much it changes.
    pub change: Number,
    /// What is known of the person; only if values were asked for.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub person: BTreeMap<String, String>,
}

/// A class in an answer: what the release shows of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Worse {
    /// Records in it.
    pub size: u64,
    /// Published value of each quasi-identifier; absent for a group of an anatomized release, and for a table that was
    /// not published, where it would be a person's own values.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub region: BTreeMap<String, String>,
}

/// A number, exactly where it is rational.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Number {
    /// Nearest floating-point number; null if infinite.
    pub value: Option<f64>,
    /// The exact number, such as `8/21`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub exact: Option<String>,
}

/// Why something was refused.
#[derive(Clone, Debug, Serialize)]
pub struct Reason {
    /// What is wrong.
    pub message: String,
    /// What would help.
    pub hint: Option<String>,
}

/// Risk figures.
#[derive(Clone, Debug, Serialize)]
pub struct Risks {
    /// Knows that the person is in the table.
    pub prosecutor: Figures,
    /// Has a register of the population.
    pub journalist: Figures,
    /// Matches everybody.
    pub marketer: Figures,
    /// Whether a register was given; otherwise the table was taken for the population.
    pub register: bool,
    /// Estimated uniques of the population, if its size was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub population_uniques: Option<PopulationUniques>,
}

/// The share of records whose people are estimated to be unique in the population.
#[derive(Clone, Debug, Serialize)]
pub struct PopulationUniques {
    /// How many people the table was said to be a sample of.
    pub population: u64,
    /// By Dankar's rule, which chooses one of the others.
    pub share: f64,
    /// By every estimator.
    pub estimates: BTreeMap<&'static str, f64>,
}

impl PopulationUniques {
    /// From the number of classes of each size.
    pub fn of(sizes: &BTreeMap<u64, u64>, population: u64) -> PopulationUniques {
        let estimate = |(name, estimator)| (name, unique_share(sizes, population, estimator));
        let estimates: BTreeMap<&'static str, f64> = Estimator::ALL.into_iter().map(estimate).collect();
        PopulationUniques { population, share: unique_share(sizes, population, Estimator::Dankar), estimates }
    }
}

/// The largest and the mean risk of a record.
#[derive(Clone, Debug, Serialize)]
pub struct Figures {
    /// The largest.
    pub max: Number,
    /// The mean.
    pub average: f64,
}

impl From<Ratio> for Number {
    fn from(r: Ratio) -> Number {
        Number { value: Some(r.to_f64()), exact: Some(r.to_string()) }
    }
}

impl From<&Rational> for Number {
    fn from(r: &Rational) -> Number {
        Number { value: Some(r.to_f64()), exact: Some(r.to_string()) }
    }
}

impl From<Measured> for Number {
    fn from(m: Measured) -> Number {
        match m {
            Measured::Exact(r) => r.into(),
            Measured::Real(x) => Number { value: Some(x), exact: None },
            Measured::Infinite => Number { value: None, exact: Some("infinite".into()) },
        }
    }
}

impl From<&Problem> for Reason {
    fn from(p: &Problem) -> Reason {
        Reason { message: p.message.clone(), hint: p.hint.clone() }
    }
}

impl From<MaxAverage> for Figures {
    fn from(f: MaxAverage) -> Figures {
        Figures { max: f.max.into(), average: f.average }
    }
}

impl From<&Risk> for Risks {
    fn from(r: &Risk) -> Risks {
        Risks {
            prosecutor: r.prosecutor.into(),
            journalist: r.journalist.into(),
            marketer: r.marketer.into(),
            register: r.register,
            population_uniques: None,
        }
    }
}

impl Perturbed {
    /// What became of a column.
    pub fn of(policy: &Policy, column: &str, change: &Change) -> Perturbed {
        let steps = policy.attributes.iter().find(|a| a.name == column).map_or(&[][..], |a| &a.perturb);
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

impl Model {
    /// A requirement and how it stands.
    pub fn of(release: &Release, r: &Requirement, j: &Judgement) -> Model {
        let on = r.on.as_ref().map(|on| on.iter().map(|&i| release.quasi[i].name.clone()).collect());
        Model {
            name: r.name.into(),
            attribute: r.attribute.map(|i| release.sensitive[i].name.clone()),
            parameters: r.parameters.texts(),
            holds: Some(j.holds),
            measured: j.measured.into(),
            required: Some(j.required.into()),
            must_be: Some(r.model.promise().must_be.words().into()),
            worst: j.worst.as_ref().map(|class| Worse::of(release, class, r)),
            witness: r.attribute.zip(j.witness.as_ref()).map(|(i, w)| Witness::of(&release.sensitive[i], &w.belief)),
            on,
        }
    }

    /// Tells what is known of the person whom the witness is about.
    pub fn show_person(&mut self, release: &Release, j: &Judgement) {
        if let (Some(shown), Some(witness)) = (&mut self.witness, &j.witness) {
            let words = witness.words(&release.quasi).into_iter();
            shown.person = words.map(|(name, value)| (name.to_owned(), value)).collect();
        }
    }

    /// What recipients may know of it.
    pub fn public(&self) -> Model {
        Model { witness: None, ..self.clone() }
    }
}

impl Witness {
    /// A witness that does not say who it is.
    fn of(sensitive: &Attribute, belief: &Belief) -> Witness {
        let number = |fraction: &Fraction| Number::from(Measured::from(fraction));
        Witness {
            value: belief.name(&sensitive.taxonomy).to_owned(),
            prior: number(&belief.prior),
            posterior: number(&belief.posterior),
            change: number(&belief.change()),
            person: BTreeMap::new(),
        }
    }
}

impl Worse {
    /// What the release shows of a class that was judged by the requirement: of a group no region, because its records
    /// show their own values.
    pub fn of(release: &Release, class: &EquivalenceClass, r: &Requirement) -> Worse {
        let labels = release.labels(class);
        let is_group = release.shape == Shape::Groups && r.model.promise().concerns != Concern::Identity;
        let shown = |i: &usize| !is_group && r.on.as_ref().is_none_or(|on| on.contains(i));
        let region = (0..labels.len()).filter(shown).map(|i| (release.quasi[i].name.clone(), labels[i].clone()));
        Worse { size: class.count, region: region.collect() }
    }
}
