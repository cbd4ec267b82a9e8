//! Attacks: what an adversary finds out from releases.
//!
//! An attack sees releases and what the adversary knows, never the data: whether she is right is
//! found out afterwards, by [`score`].

use crate::catalogue::{Entry, Parameter};
use crate::failure::Failure;
use crate::inference::Outcome;
use crate::progress::Progress;
use crate::utility::Better;
use std::collections::BTreeMap;

mod attribute_linkage;
mod bayes;
mod definetti;
pub mod facts;
pub mod freeform;
mod implications;
mod inference;
mod intersection;
mod locate;
pub mod minimality;
mod naming;
mod negation;
mod record_linkage;
mod scene;
mod skyline;
pub mod statistics;
mod table_linkage;

pub use inference::refused;
pub use locate::{Candidate, Whereabouts, locate};
pub use naming::Naming;
pub use scene::{Alike, Crowd, In, Knowledge, Membership, Scene, View, attribute_of_all};

/// Every attack, whatever it is carried out on. A new one is a file and a line here (and its `mod`
/// line above).
pub const ATTACKS: &[AttackEntry] = &[
    AttackEntry::Releases(record_linkage::ENTRY),
    AttackEntry::Releases(attribute_linkage::ENTRY),
    AttackEntry::Releases(table_linkage::ENTRY),
    AttackEntry::Releases(bayes::ENTRY),
    AttackEntry::Releases(negation::ENTRY),
    AttackEntry::Releases(implications::ENTRY),
    AttackEntry::Releases(skyline::ENTRY),
    AttackEntry::Releases(definetti::ENTRY),
    AttackEntry::Releases(intersection::ENTRY),
    AttackEntry::Releases(inference::ENTRY),
    AttackEntry::Statistics(statistics::DIFFERENCING),
    AttackEntry::Statistics(statistics::AVERAGING),
    AttackEntry::Policy(minimality::ENTRY),
    AttackEntry::Values(freeform::ENTRY),
];

/// An attack in the catalogue, by what it is carried out on.
pub enum AttackEntry {
    /// On releases, by an adversary who may know people.
    Releases(Entry<Box<dyn Attack>>),
    /// On the values of one release: whoever knows some of a person's learns others.
    Values(Entry<freeform::Freeform>),
    /// On what a policy makes of its data.
    Policy(Entry<minimality::Options>),
    /// On published counts, sums and means.
    Statistics(Entry<statistics::Method>),
}

/// What an attack is carried out on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Releases.
    Releases,
    /// The values of each release by itself.
    Values,
    /// A policy and its data.
    Policy,
    /// Published statistics.
    Statistics,
}

impl AttackEntry {
    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            AttackEntry::Releases(e) => e.name,
            AttackEntry::Values(e) => e.name,
            AttackEntry::Policy(e) => e.name,
            AttackEntry::Statistics(e) => e.name,
        }
    }

    /// One line for lists.
    pub fn summary(&self) -> &'static str {
        match self {
            AttackEntry::Releases(e) => e.summary,
            AttackEntry::Values(e) => e.summary,
            AttackEntry::Policy(e) => e.summary,
            AttackEntry::Statistics(e) => e.summary,
        }
    }

    /// Its parameters.
    pub fn parameters(&self) -> &'static [Parameter] {
        match self {
            AttackEntry::Releases(e) => e.parameters,
            AttackEntry::Values(e) => e.parameters,
            AttackEntry::Policy(e) => e.parameters,
            AttackEntry::Statistics(e) => e.parameters,
        }
    }

    /// The file that implements it.
    pub fn source(&self) -> &'static str {
        match self {
            AttackEntry::Releases(e) => e.source,
            AttackEntry::Values(e) => e.source,
            AttackEntry::Policy(e) => e.source,
            AttackEntry::Statistics(e) => e.source,
        }
    }

    /// What it is carried out on.
    pub fn target(&self) -> Target {
        match self {
            AttackEntry::Releases(_) => Target::Releases,
            AttackEntry::Values(_) => Target::Values,
            AttackEntry::Policy(_) => Target::Policy,
            AttackEntry::Statistics(_) => Target::Statistics,
        }
    }
}

/// The attacks on releases.
pub fn on_releases() -> impl Iterator<Item = &'static Entry<Box<dyn Attack>>> {
    ATTACKS.iter().filter_map(|entry| match entry {
        AttackEntry::Releases(entry) => Some(entry),
        _ => None,
    })
}

/// The attacks on statistics.
pub fn on_statistics() -> impl Iterator<Item = &'static Entry<statistics::Method>> {
    ATTACKS.iter().filter_map(|entry| match entry {
        AttackEntry::Statistics(entry) => Some(entry),
        _ => None,
    })
}

/// A way to find out something about people from releases.
pub trait Attack: Send + Sync {
    /// What must be given to it.
    fn needs(&self) -> Needs;

    /// Whether it tells something of single people, where there are people to look for.
    fn tells_of_people(&self) -> bool {
        true
    }

    /// Carries it out. `progress.at(done, all)` is told how far it is.
    fn run(&self, scene: &Scene, progress: Progress<'_>) -> Result<Report, Failure>;
}

/// What an attack needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// People to look for.
    pub people: bool,
    /// At least so many releases.
    pub releases: usize,
}

/// What came of an attack.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Numbers over all people, or over the release.
    pub figures: Vec<Figure>,
    /// The people, where the attack tells more kinds apart than the scene; see [`Report::crowd`].
    pub people: Option<Crowd>,
    /// What she believes of everybody, by kind; where the attack looks for people.
    pub beliefs: Option<Beliefs>,
    /// How much everybody is at risk, by kind, where that is not the belief in the likeliest value.
    pub risk: Option<Vec<f64>>,
    /// What the risk of a person is, or how the belief is come by: once for everybody, or by kind.
    pub estimators: Vec<&'static str>,
    /// Lines of a picture.
    pub chart: Option<Chart>,
    /// What was found, in words.
    pub findings: Vec<String>,
    /// What the reader must bear in mind.
    pub notes: Vec<String>,
}

impl Report {
    /// The people whose kinds the beliefs and the risk are about.
    pub fn crowd<'a>(&'a self, scene: &'a Scene) -> Option<&'a Crowd> {
        self.people.as_ref().or(scene.people.as_ref())
    }

    /// What the risk of a kind is, or how the belief about it is come by.
    pub fn estimator(&self, kind: usize) -> &'static str {
        self.estimators.get(kind).or(self.estimators.first()).copied().unwrap_or_default()
    }
}

/// A number that an attack comes to.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Stable name, as in `--fail-on`.
    pub name: String,
    /// The number.
    pub value: f64,
    /// What it counts.
    pub unit: Unit,
    /// Which direction is better for the people; `None` of figures that only describe.
    pub better: Option<Better>,
    /// In words.
    pub about: String,
}

/// What a figure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A share between 0 and 1.
    Share,
    /// A whole number.
    Count,
    /// Any other number.
    Number,
}

/// What an adversary finds out is better the less it is.
const LOWER: Option<Better> = Some(Better::Lower);

impl Figure {
    /// The same figure, of which more is better.
    pub fn higher_is_better(self) -> Figure {
        Figure { better: Some(Better::Higher), ..self }
    }

    /// The same figure, which says nothing about how well people are hidden.
    pub fn descriptive(self) -> Figure {
        Figure { better: None, ..self }
    }

    /// A share between 0 and 1.
    pub fn share(name: impl Into<String>, value: f64, about: impl Into<String>) -> Figure {
        Figure { name: name.into(), value, unit: Unit::Share, better: LOWER, about: about.into() }
    }

    /// A whole number.
    pub fn count(name: impl Into<String>, value: u64, about: impl Into<String>) -> Figure {
        Figure {
            name: name.into(),
            value: value as f64,
            unit: Unit::Count,
            better: LOWER,
            about: about.into(),
        }
    }

    /// Any other number.
    pub fn number(name: impl Into<String>, value: f64, about: impl Into<String>) -> Figure {
        Figure { name: name.into(), value, unit: Unit::Number, better: LOWER, about: about.into() }
    }
}

/// A picture of lines.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// What it shows.
    pub title: String,
    /// What is across.
    pub x: String,
    /// What is up.
    pub y: String,
    /// The lines: what each is called, and its points.
    pub lines: Vec<(String, Vec<(f64, f64)>)>,
}

/// What is believed of the value of everybody, kind by kind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Beliefs {
    /// Where the values of each kind begin, and the end of the last.
    first: Vec<u32>,
    /// Values with their probabilities; rising values. Those that are not there are impossible.
    pairs: Vec<(u32, f64)>,
    /// By kind: whether they may have any value, because they may be in no release.
    open: Vec<bool>,
}

impl Beliefs {
    /// From the values of each kind with their probabilities. [`Outcome::UNKNOWN`] is no value that
    /// is believed: it says that these people may be in no release.
    pub fn new<I: IntoIterator<Item = (u32, f64)>>(kinds: impl IntoIterator<Item = I>) -> Beliefs {
        let mut beliefs = Beliefs { first: vec![0], pairs: Vec::new(), open: Vec::new() };
        for kind in kinds {
            let start = beliefs.pairs.len();
            let mut open = false;
            let known = kind.into_iter().inspect(|&(value, _)| open |= value == Outcome::UNKNOWN);
            beliefs.pairs.extend(known.filter(|&(value, _)| value != Outcome::UNKNOWN));
            beliefs.open.push(open);
            beliefs.pairs[start..].sort_unstable_by_key(|&(value, _)| value);
            beliefs.first.push(beliefs.pairs.len() as u32);
        }
        beliefs
    }

    /// The possible values of a kind, with their probabilities; none if nothing is believed.
    pub fn of(&self, kind: usize) -> &[(u32, f64)] {
        &self.pairs[self.first[kind] as usize..self.first[kind + 1] as usize]
    }

    /// The same, of beliefs about people in case they are in a release: those who may be in none
    /// may have any value.
    pub fn given_presence(mut self, crowd: &Crowd) -> Beliefs {
        for (open, alike) in self.open.iter_mut().zip(&crowd.kinds) {
            *open |= alike.places.iter().all(|(_, is_in)| *is_in != In::Yes);
        }
        self
    }

    /// Whether a kind has one value, for certain.
    pub fn is_certain(&self, kind: usize) -> bool {
        self.of(kind).len() == 1 && !self.open[kind]
    }

    /// The likeliest value of a kind.
    pub fn best(&self, kind: usize) -> Option<(u32, f64)> {
        let better = |a: (u32, f64), &b: &(u32, f64)| if b.1 > a.1 { b } else { a };
        self.of(kind).split_first().map(|(&first, rest)| rest.iter().fold(first, better))
    }

    /// Number of kinds.
    pub fn kinds(&self) -> usize {
        self.first.len().saturating_sub(1)
    }

    /// Figures that every attack on people's values has: how many are certain, how sure she is of
    /// the others; and the curve of confidence. `by` says how the beliefs are come by.
    pub fn summary(&self, crowd: &Crowd, by: &str) -> (Vec<Figure>, Chart) {
        self.summary_of(&crowd.kinds.iter().map(|k| k.people).collect::<Vec<u64>>(), by)
    }

    /// The same, of so many people of each kind.
    fn summary_of(&self, people: &[u64], by: &str) -> (Vec<Figure>, Chart) {
        let all = people.iter().sum::<u64>().max(1);
        let mut sure: Vec<(f64, u64)> = Vec::new();
        let (mut certain, mut nothing, mut sum) = (0u64, 0u64, 0.0);
        for (kind, &people) in people.iter().enumerate() {
            let Some((_, p)) = self.best(kind) else {
                nothing += people;
                continue;
            };
            certain += if self.is_certain(kind) { people } else { 0 };
            sum += p * people as f64;
            sure.push((p, people));
        }
        let share = |people: u64| people as f64 / all as f64;
        let at_least = |c: f64| share(sure.iter().filter(|(p, _)| *p >= c).map(|(_, n)| n).sum());
        let most = sure.iter().map(|(p, _)| *p).fold(0.0, f64::max);
        let figures = vec![
            Figure::count("certain", certain, "people whose value is certain"),
            Figure::share("certain_share", share(certain), "of all people"),
            Figure::share(
                "believed_90",
                at_least(0.9),
                format!("of people: a value is believed with 90 % or more, {by}"),
            ),
            Figure::share(
                "believed_50",
                at_least(0.5),
                format!("of people: a value is believed with 50 % or more, {by}"),
            ),
            Figure::share("worst", most, format!("the strongest belief about anybody, {by}")),
            Figure::share(
                "mean",
                sum / (all - nothing).max(1) as f64,
                format!("mean belief in the likeliest value, {by}"),
            ),
            Figure::count("not_found", nothing, "people of whom nothing is learnt")
                .higher_is_better(),
        ];
        let steps = (0..=100).map(|i| f64::from(i) / 100.0);
        let curve = steps.map(|c| (c, at_least(c))).collect();
        let chart = Chart {
            title: String::new(),
            x: "probability".into(),
            y: "share of people whose likeliest value is believed with at least this probability"
                .into(),
            lines: vec![("".into(), curve)],
        };
        (figures, chart)
    }
}

/// How right the beliefs are: `truth` is the value of each row of the register, where it is known.
pub fn score(crowd: &Crowd, beliefs: &Beliefs, truth: &[Option<u32>]) -> Vec<Figure> {
    let (mut known, mut right, mut certain, mut wrong, mut excluded, mut sum) =
        (0u64, 0.0, 0u64, 0u64, 0u64, 0.0);
    let mut pairs: BTreeMap<(u32, u32), u64> = BTreeMap::new();
    for ((row, &kind), truth) in crowd.kind_of.iter().enumerate().zip(truth) {
        truth
            .iter()
            .for_each(|&truth| *pairs.entry((kind, truth)).or_default() += crowd.people_of(row));
    }
    for ((kind, truth), people) in pairs {
        let Some((_, p)) = beliefs.best(kind as usize) else { continue };
        known += people;
        let values = beliefs.of(kind as usize);
        let believed = values.iter().find(|(v, _)| *v == truth).map(|&(_, p)| p);
        // Values that are equally likely share the guess.
        let likeliest = values.iter().filter(|(_, q)| *q == p).count();
        right += if believed == Some(p) { people as f64 / likeliest as f64 } else { 0.0 };
        sum += people as f64 * believed.unwrap_or(0.0);
        match (beliefs.is_certain(kind as usize), believed) {
            (true, Some(_)) => certain += people,
            (true, None) => wrong += people,
            // Somebody who is in no release has a value that they do not speak of.
            (false, None) if !beliefs.open[kind as usize] => excluded += people,
            _ => (),
        }
    }
    let share = |x: f64| if known == 0 { 0.0 } else { x / known as f64 };
    vec![
        Figure::count("scored", known, "people whose value is known from the truth").descriptive(),
        Figure::share("right", share(right), "of them: the likeliest value is the true one"),
        Figure::share("belief_in_truth", share(sum), "mean belief in the true value"),
        Figure::count(
            "certain_and_right",
            certain,
            "people whose value is certain, and it is the true one",
        ),
        Figure::count(
            "certain_and_wrong",
            wrong,
            "people whose value seems certain, and it is another",
        )
        .descriptive(),
        Figure::count(
            "truth_excluded",
            excluded,
            "people whose true value was taken for impossible",
        )
        .descriptive(),
    ]
}
