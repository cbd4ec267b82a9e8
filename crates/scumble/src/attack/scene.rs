//! What an adversary has before her: releases, and what she knows of the people in them.

use super::locate::{Candidate, Whereabouts, locate};
use crate::failure::{Argument, Failure, Failures, Remedy};
use crate::inference::{Evidence, Known, Located};
use crate::progress::{Progress, Watch};
use crate::register::Register;
use crate::release::{Release, Shape};
use crate::table::number_tuples;
use hashbrown::HashMap;
use rayon::prelude::*;
use std::cmp::Ordering;

/// The releases under attack and what the adversary knows besides.
pub struct Scene {
    /// Name of the sensitive attribute that she wants to know.
    pub attribute: String,
    /// Its values in any of the releases; their places here are the codes of values everywhere in
    /// an attack.
    pub values: Vec<String>,
    /// The releases, in the order they were given.
    pub releases: Vec<View>,
    /// The people she knows, if any.
    pub people: Option<Crowd>,
    /// Values of whom the register does not say whose they are, or that are nobody's: how many, and
    /// where.
    strangers: Vec<(u32, Vec<Located>)>,
    /// What else she knows of them.
    pub known: Vec<Known>,
    /// The same in words, one for each.
    pub statements: Vec<String>,
    /// What the person of a row of the register is called.
    pub name: Box<dyn Fn(usize) -> String + Send + Sync>,
    /// People with quasi-identifiers and the sensitive attribute: what she believes without the
    /// releases, if she does.
    pub reference: Option<Register>,
    /// Makes what is sampled reproducible.
    pub seed: u64,
}

/// A release as the adversary reads it.
pub struct View {
    /// What she calls it.
    pub name: String,
    /// The release.
    pub release: Release,
    /// For each class the values with their counts, rising: codes of the scene.
    pub groups: Vec<Vec<(u32, u64)>>,
}

impl View {
    /// What a class shows, in words.
    pub(super) fn shown(&self, group: usize) -> String {
        let labels = self.release.labels(&self.release.classes[group]);
        let pairs =
            self.release.quasi.iter().zip(labels).map(|(a, label)| format!("{} = {label}", a.name));
        pairs.collect::<Vec<_>>().join(", ")
    }
}

/// What a register says about membership in the releases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Membership {
    /// Whoever fits a release is in it.
    #[default]
    Members,
    /// Whoever is in a release is in the register; not everybody in the register need be in a
    /// release.
    Population,
    /// Some people, who may be in a release or not.
    Some,
}

/// What is known of one person's membership in one release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum In {
    /// She is in it.
    Yes,
    /// She is not.
    No,
    /// She may be.
    Maybe,
}

/// The people of a register, located in every release.
#[derive(Clone, Debug)]
pub struct Crowd {
    /// What the register says about membership.
    pub membership: Membership,
    /// The quasi-identifiers that it knows.
    pub known: Vec<String>,
    /// What the register says of them, and how many people each row stands for.
    pub register: Register,
    /// The kind of each row of the register.
    pub kind_of: Vec<u32>,
    /// People who are alike: the same candidates in every release. Their order does not depend on
    /// that of the rows.
    pub kinds: Vec<Alike>,
    /// Where everybody is, by release.
    pub whereabouts: Vec<Whereabouts>,
}

/// People who are alike to the adversary.
#[derive(Clone, Debug)]
pub struct Alike {
    /// How many.
    pub people: u64,
    /// By release: the number of their set of candidates, and whether they are in it.
    pub places: Vec<(u32, In)>,
    /// A row of the register that is one of them.
    pub row: u32,
}

/// A register and what it says.
pub struct Knowledge<'a> {
    /// The people, with quasi-identifiers.
    pub register: &'a Register,
    /// What it says about membership, where nothing is said of a person.
    pub membership: Membership,
    /// By release, of each row: whether she is in it; where it is known person by person.
    pub told: Vec<Option<Vec<In>>>,
    /// Rows that must stay kinds of their own because something is known about them: the number of
    /// the statement.
    pub apart: Option<Vec<u32>>,
}

impl Scene {
    /// Puts releases side by side. The sensitive attribute must be in all of them; without a name
    /// it must be the only one.
    pub fn new(
        releases: Vec<(String, Release)>,
        attribute: Option<&str>,
        knowledge: Option<&Knowledge<'_>>,
        seed: u64,
    ) -> Result<Scene, Failures> {
        Scene::watched(releases, attribute, knowledge, seed, &|_, _| true)
    }

    /// The same; locating people can be cancelled.
    pub fn watched(
        releases: Vec<(String, Release)>,
        attribute: Option<&str>,
        knowledge: Option<&Knowledge<'_>>,
        seed: u64,
        progress: Progress<'_>,
    ) -> Result<Scene, Failures> {
        let watch = Watch::new(progress, 0);
        let told = |(_, release): &(String, Release)| -> Vec<String> {
            release
                .sensitive
                .iter()
                .filter(|a| a.hidden.is_none())
                .map(|a| a.name.clone())
                .collect()
        };
        let attribute =
            attribute_of_all(&releases.iter().map(told).collect::<Vec<_>>(), attribute)?;
        let mut values: Vec<String> = Vec::new();
        let mut code: HashMap<String, u32> = HashMap::new();
        let mut views = Vec::new();
        for (name, release) in releases {
            let at = column(&release, &attribute);
            let taxonomy = &release.sensitive[at].taxonomy;
            let mut codes = Vec::new();
            for leaf in 0..taxonomy.leaves() as u32 {
                let text = taxonomy.leaf(leaf).to_owned();
                let next = values.len() as u32;
                codes.push(*code.entry(text.clone()).or_insert_with(|| {
                    values.push(text);
                    next
                }));
            }
            let group = |class: &crate::class::EquivalenceClass| {
                let counts = class.histograms[at].0.iter();
                let mut pairs: Vec<(u32, u64)> =
                    counts.map(|&(leaf, n)| (codes[leaf as usize], n)).collect();
                pairs.sort_unstable();
                pairs
            };
            let groups = release.classes.par_iter().map(group).collect();
            views.push(View { name, release, groups });
        }
        let people = knowledge.map(|k| Crowd::new(&views, k, &watch)).transpose()?;
        let strangers = people.as_ref().map_or_else(Vec::new, |crowd| strangers(&views, crowd));
        Ok(Scene {
            attribute,
            values,
            releases: views,
            people,
            strangers,
            known: Vec::new(),
            reference: None,
            statements: Vec::new(),
            name: Box::new(|row| format!("row {}", row + 1)),
            seed,
        })
    }

    /// The code of every value of the attribute in a release, by leaf.
    pub(super) fn codes(&self, release: usize) -> Vec<u32> {
        let known: HashMap<&str, u32> = self.values.iter().map(String::as_str).zip(0..).collect();
        let release = &self.releases[release].release;
        let taxonomy = &release.sensitive[self.column(release)].taxonomy;
        (0..taxonomy.leaves() as u32).map(|leaf| known[taxonomy.leaf(leaf)]).collect()
    }

    /// Where the attribute stands among the sensitive attributes of a release.
    pub(super) fn column(&self, release: &Release) -> usize {
        column(release, &self.attribute)
    }

    /// The people, or a problem that names who needs them.
    pub fn people(&self) -> Result<&Crowd, Failure> {
        self.people.as_ref().ok_or_else(|| {
            Failure::usage("needs-people", "this attack needs people to look for").remedy(
                Remedy::give(Argument::Register)
                    .then(", a table of people with quasi-identifiers, or ")
                    .and_give(Argument::Truth),
            )
        })
    }

    /// What the releases say about the people, for the inference engine. The first kinds are those
    /// of the register, in their order; after them stand the strangers: records of whom the
    /// register does not say whose they are.
    pub fn evidence(&self) -> Result<Evidence, Failure> {
        self.evidence_unless(&Watch::silent())
    }

    /// The same; once it is cancelled, people are missing from it.
    pub fn evidence_unless(&self, watch: &Watch<'_>) -> Result<Evidence, Failure> {
        let crowd = self.people()?;
        if let Some(view) = self.releases.iter().find(|v| v.release.shape == Shape::Representatives)
        {
            return Err(Failure::usage("attack-and-release", format!(
                "`{}` is microaggregated: nobody is sure to be in the nearest group",
                view.name
            ))
            .hint(
                "what follows for certain needs releases that contain people's values; `intersection` takes the risk",
            ));
        }
        let people = |alike: &Alike| u32::try_from(alike.people).unwrap_or(u32::MAX);
        let mut kinds: Vec<(u32, Vec<Located>)> = (0..crowd.kinds.len())
            .take_while(|_| watch.work(1, KINDS))
            .map(|kind| (people(&crowd.kinds[kind]), self.located(kind)))
            .collect();
        self.check_size(&kinds)?;
        kinds.extend(self.strangers.iter().cloned());
        let groups: Vec<Vec<Vec<(u32, u64)>>> =
            self.releases.iter().map(|view| view.groups.clone()).collect();
        let goes_on = |_: &(u32, Vec<Located>)| watch.work(1, KINDS);
        let evidence = Evidence::new(&groups, kinds.into_iter().take_while(goes_on));
        Ok(if self.known.is_empty() { evidence } else { evidence.knowing(&self.known) })
    }

    /// Where the people of a kind are in each release. The kinds after the register's are
    /// strangers.
    pub fn located(&self, kind: usize) -> Vec<Located> {
        let Some(crowd) = &self.people else { return Vec::new() };
        if let Some(stranger) = kind.checked_sub(crowd.kinds.len()) {
            return self
                .strangers
                .get(stranger)
                .map_or_else(Vec::new, |(_, located)| located.clone());
        }
        let place = |(release, &(_, is_in)): (usize, &(u32, In))| Located {
            groups: crowd.candidates(kind, release).iter().map(|c| c.group).collect(),
            may_be_absent: is_in != In::Yes,
        };
        crowd.kinds[kind].places.iter().enumerate().map(place).collect()
    }

    /// People who fit many groups of many releases have as many outcomes as there are ways to
    /// combine them.
    fn check_size(&self, kinds: &[(u32, Vec<Located>)]) -> Result<(), Failure> {
        let ways = |located: &[Located]| -> f64 {
            located.iter().map(|l| (l.groups.len() + usize::from(l.may_be_absent)) as f64).product()
        };
        let all: f64 = kinds.iter().map(|(_, located)| ways(located)).sum();
        if all <= OUTCOMES {
            return Ok(());
        }
        Err(Failure::refused("too-many-worlds", format!("people fit so many classes that there are {all:.1e} ways to place them")).hint(
            "the classes of these releases overlap; attack fewer releases at once, or give a register with more quasi-identifiers",
        ))
    }
}

/// Values of a group that are nobody's of the register: records of others, and values that stand
/// for nobody. How many records there are is known if everybody of the register who may be in the
/// group surely is; otherwise a stranger may be in it or not, as long as the counts are met.
fn strangers(views: &[View], crowd: &Crowd) -> Vec<(u32, Vec<Located>)> {
    let mut strangers = Vec::new();
    for (release, view) in views.iter().enumerate() {
        let mut push = |number: u64, group: usize, may_be_absent: bool| {
            if number > 0 {
                let mut located = vec![Located::absent(); views.len()];
                located[release] = Located { groups: vec![group as u32], may_be_absent };
                strangers.push((number as u32, located));
            }
        };
        // Nobody's, in this group of this release and nowhere else.
        (0..view.release.counterfeits.len())
            .for_each(|group| push(view.release.counterfeits_in(group), group, false));
        let Some(places) = crowd.places(release, view) else { continue };
        for (group, class) in view.release.classes.iter().enumerate() {
            push(class.count.saturating_sub(places.sure[group]), group, places.unsure[group]);
        }
    }
    strangers
}

/// Who is in the groups of a release.
struct Places {
    /// How many people surely are in each group.
    sure: Vec<u64>,
    /// Whether there are others who may be.
    unsure: Vec<bool>,
}

impl Crowd {
    /// Who is in the groups of a release; nothing if the people of the register fill it, so that
    /// nobody else is in it.
    fn places(&self, release: usize, view: &View) -> Option<Places> {
        let mut places =
            Places { sure: vec![0; view.groups.len()], unsure: vec![false; view.groups.len()] };
        let (mut members, mut doubt) = (0, false);
        for (kind, alike) in self.kinds.iter().enumerate() {
            let is_in = alike.places[release].1;
            members += if is_in == In::Yes { alike.people } else { 0 };
            doubt |= is_in == In::Maybe;
            match self.candidates(kind, release) {
                [only] if is_in == In::Yes => places.sure[only.group as usize] += alike.people,
                several => several.iter().for_each(|c| places.unsure[c.group as usize] = true),
            }
        }
        let filled = self.membership == Membership::Population
            || (!doubt && members >= view.release.records());
        (!filled).then_some(places)
    }
}

/// Kinds of people between two questions whether to go on: they may have many outcomes.
const KINDS: u64 = 256;

/// Limit on the ways to place people.
const OUTCOMES: f64 = 1e8;

/// Where a sensitive attribute that all releases have stands in one.
fn column(release: &Release, attribute: &str) -> usize {
    let at = release.sensitive.iter().position(|a| a.name == attribute && a.hidden.is_none());
    at.unwrap_or_else(|| unreachable!("`wanted` found it in every release"))
}

/// The sensitive attribute that all releases have, of which these are the sensitive attributes.
pub fn attribute_of_all(
    releases: &[Vec<String>],
    attribute: Option<&str>,
) -> Result<String, Failure> {
    let Some((first, others)) = releases.split_first() else {
        return Err(Failure::usage("no-release", "there is no release to attack")
            .remedy(Remedy::words("name one with ").and_give(Argument::Release)));
    };
    let shared: Vec<&String> =
        first.iter().filter(|n| others.iter().all(|names| names.contains(n))).collect();
    let all = || shared.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
    match (attribute, &shared[..]) {
        (Some(name), _) if shared.iter().any(|n| *n == name) => Ok(name.to_owned()),
        (Some(name), _) => Err(Failure::usage(
            "unknown-attribute",
            format!("`{name}` is not a sensitive attribute of every release"),
        )
        .hint(if shared.is_empty() {
            "they have none in common".into()
        } else {
            format!("in all of them: {}", all())
        })),
        (None, [one]) => Ok((*one).clone()),
        (None, []) => Err(Failure::data(
            "no-common-attribute",
            "the releases have no sensitive attribute in common",
        )
        .hint("attack releases that tell something about the same attribute")),
        (None, _) => {
            Err(Failure::usage("which-attribute", format!("which sensitive attribute: {}?", all()))
                .remedy(Remedy::words("say ").and_give(Argument::Attribute)))
        }
    }
}

/// Numbers of tuples and the first record of each, as [`number_tuples`] gives them, in an order of
/// the tuples instead of their first appearance: what comes of a register does not depend on the
/// order of its rows.
pub(super) fn ordered(
    mut number_of: Vec<u32>,
    firsts: Vec<u32>,
    compare: impl Fn(u32, u32) -> Ordering + Sync,
) -> (Vec<u32>, Vec<u32>) {
    let mut order: Vec<u32> = (0..firsts.len() as u32).collect();
    order.par_sort_unstable_by(|&a, &b| compare(firsts[a as usize], firsts[b as usize]));
    let mut number = vec![0u32; firsts.len()];
    order.iter().zip(0..).for_each(|(&old, new)| number[old as usize] = new);
    number_of.par_iter_mut().for_each(|n| *n = number[*n as usize]);
    (number_of, order.iter().map(|&old| firsts[old as usize]).collect())
}

impl Crowd {
    fn new(
        views: &[View],
        knowledge: &Knowledge<'_>,
        watch: &Watch<'_>,
    ) -> Result<Crowd, Failures> {
        let register = knowledge.register;
        let rows = register.columns.first().map_or(0, |c| c.codes.len());
        let mut names: Vec<String> = Vec::new();
        let mut problems = Failures::default();
        for view in views {
            let known = view
                .release
                .quasi
                .iter()
                .filter(|a| register.columns.iter().any(|c| c.name == a.name));
            let known: Vec<String> = known.map(|a| a.name.clone()).collect();
            if known.is_empty() {
                let quasi: Vec<String> =
                    view.release.quasi.iter().map(|a| format!("`{}`", a.name)).collect();
                let message =
                    format!("the register has no quasi-identifier of `{}` as a column", view.name);
                problems.push(
                    Failure::data("register-lacks-columns", message)
                        .hint(format!("it should have some of {}", quasi.join(", "))),
                );
            }
            known
                .into_iter()
                .filter(|n| !names.contains(n))
                .collect::<Vec<_>>()
                .into_iter()
                .for_each(|n| names.push(n));
        }
        problems.or(())?;
        let whereabouts: Vec<Whereabouts> =
            views.iter().map(|view| locate(&view.release, register, watch)).collect();
        watch.go_on();
        watch.check()?;
        let is_in = |release: usize, row: usize| {
            let told = knowledge.told.get(release).and_then(Option::as_ref);
            let fits = whereabouts[release].set_of[row] != 0;
            match told.map(|t| t[row]) {
                Some(told) => told,
                None if !fits => In::No,
                None if knowledge.membership == Membership::Members => In::Yes,
                None => In::Maybe,
            }
        };
        let mut columns: Vec<Vec<u32>> = Vec::new();
        let mut sizes: Vec<u64> = Vec::new();
        for (release, whereabouts) in whereabouts.iter().enumerate() {
            columns.push(whereabouts.set_of.clone());
            sizes.push(whereabouts.sets.len() as u64);
            columns.push((0..rows).map(|row| is_in(release, row) as u32).collect());
            sizes.push(3);
        }
        if let Some(apart) = &knowledge.apart {
            sizes.push(apart.iter().max().map_or(1, |&most| u64::from(most) + 1));
            columns.push(apart.clone());
        }
        let slices: Vec<&[u32]> = columns.iter().map(Vec::as_slice).collect();
        let (kind_of, firsts) = number_tuples(&slices, &sizes);
        let tuple = |row: u32| slices.iter().map(move |column| column[row as usize]);
        let (kind_of, firsts) = ordered(kind_of, firsts, |a, b| tuple(a).cmp(tuple(b)));
        let places = |&row: &u32| {
            (0..views.len())
                .map(|r| (whereabouts[r].set_of[row as usize], is_in(r, row as usize)))
                .collect()
        };
        let kinds =
            firsts.iter().map(|row| Alike { people: 0, places: places(row), row: *row }).collect();
        let columns =
            register.columns.iter().filter(|c| names.contains(&c.name)).cloned().collect();
        let register = Register { columns, weights: register.weights.clone() };
        let membership = knowledge.membership;
        Ok(Crowd { membership, known: names, register, kind_of, kinds, whereabouts }.counted())
    }

    /// The same, with the people of every kind counted.
    fn counted(mut self) -> Crowd {
        for (row, &kind) in self.kind_of.iter().enumerate() {
            self.kinds[kind as usize].people += self.people_of(row);
        }
        self
    }

    /// The same people, those who differ in any quasi-identifier told apart: for attacks that draw
    /// conclusions from quasi-identifiers inside a group.
    pub fn told_apart(&self) -> Crowd {
        let columns = &self.register.columns;
        let slices: Vec<&[u32]> =
            [&self.kind_of[..]].into_iter().chain(columns.iter().map(|c| &c.codes[..])).collect();
        let sizes: Vec<u64> = [self.kinds.len() as u64]
            .into_iter()
            .chain(columns.iter().map(|c| c.texts.len() as u64))
            .collect();
        let (kind_of, firsts) = number_tuples(&slices, &sizes);
        let tuple = |row: u32| {
            let texts =
                columns.iter().map(move |c| c.texts[c.codes[row as usize] as usize].as_str());
            (self.kind_of[row as usize], texts)
        };
        let (kind_of, firsts) = ordered(kind_of, firsts, |a, b| {
            let ((a, mine), (b, theirs)) = (tuple(a), tuple(b));
            a.cmp(&b).then_with(|| mine.cmp(theirs))
        });
        let kind = |&row: &u32| {
            let places = self.kinds[self.kind_of[row as usize] as usize].places.clone();
            Alike { people: 0, places, row }
        };
        let kinds = firsts.iter().map(kind).collect();
        let (known, register, whereabouts) =
            (self.known.clone(), self.register.clone(), self.whereabouts.clone());
        Crowd { membership: self.membership, known, register, kind_of, kinds, whereabouts }
            .counted()
    }

    /// How many people a row of the register stands for.
    pub fn people_of(&self, row: usize) -> u64 {
        self.register.people_of(row)
    }

    /// Number of people.
    pub fn people(&self) -> u64 {
        self.kinds.iter().map(|k| k.people).sum()
    }

    /// The groups that people of a kind may be in; none if they are known not to be in the release.
    pub fn candidates(&self, kind: usize, release: usize) -> &[Candidate] {
        let (set, is_in) = self.kinds[kind].places[release];
        if is_in == In::No { &[] } else { &self.whereabouts[release].sets[set as usize] }
    }
}
