//! Series of releases about people who come, leave and return; and what ten of them tell, made in
//! three ways.

use super::{Findings, Item, Laboratory, Part, algorithm, percent, release};
use hashbrown::{HashMap, HashSet};
use rand::RngExt;
use scumble::algorithm::Algorithm;
use scumble::attack::Chart;
use scumble::failure::{Failure, Failures};
use scumble::history::PastGroup;
use scumble::inference::{Evidence, Located, WORK, forced, infer};
use scumble::query::{Bound, errors};
use scumble::release::{Form, Member};
use scumble_publisher::publish::compare::RANDOM;

/// What was published once, and who was where.
pub(super) struct Published {
    /// The group of every person.
    pub group_of: HashMap<u32, u32>,
    /// The values of each group, with counts.
    pub values: Vec<Vec<(u32, u64)>>,
    /// How many values of each stand for nobody.
    pub counterfeits: Vec<u64>,
    /// Median relative error of random queries.
    error: f64,
}

/// Releases one after another, as their publisher remembers them.
pub(super) struct Series<'a> {
    laboratory: &'a Laboratory<'a>,
    pub releases: Vec<Published>,
    /// The release and the group where a person was last seen.
    seen: HashMap<u32, (usize, u32)>,
    /// Random queries that every release is asked.
    queries: Vec<Bound>,
}

impl<'a> Series<'a> {
    /// Of nothing yet. `queries` random ones are asked of every release.
    pub fn new(laboratory: &'a Laboratory<'a>, queries: usize) -> Result<Series<'a>, Failures> {
        let (quasi, sensitive) = (&laboratory.table.quasi, &laboratory.table.sensitive);
        let all = |list: &'a [scumble::table::Attribute]| list.iter().collect::<Vec<_>>();
        let drawn = RANDOM.draw(&all(quasi), &all(sensitive), queries, laboratory.seed);
        let queries = drawn.iter().map(|q| q.bind(quasi, sensitive)).collect::<Result<_, _>>()?;
        Ok(Series { laboratory, releases: Vec::new(), seen: HashMap::new(), queries })
    }

    /// The table of some people, with what was published about them.
    fn part(&self, people: &[u32]) -> Part {
        let mut groups: Vec<PastGroup> = Vec::new();
        let mut number: HashMap<(usize, u32), u32> = HashMap::new();
        let mut past = |&seen: &(usize, u32)| {
            *number.entry(seen).or_insert_with(|| {
                let (published, group) = (&self.releases[seen.0], seen.1 as usize);
                let newest = seen.0 + 1 == self.releases.len();
                let values = published.values[group].clone();
                groups.push(PastGroup {
                    values,
                    counterfeits: published.counterfeits[group],
                    newest,
                });
                groups.len() as u32
            })
        };
        let group_of = people.iter().map(|p| self.seen.get(p).map_or(0, &mut past)).collect();
        self.laboratory.part_with_past(people, groups, group_of)
    }

    /// Publishes some people, who are in random order, or says why not.
    pub fn publish(
        &mut self,
        people: &[u32],
        how: &dyn Algorithm,
        seed: u64,
    ) -> Result<(), Failures> {
        let part = self.part(people);
        let made = release(&part, how, &[], seed)?;
        let Form::Anatomized(form) = &made.form else {
            return Err(Failure::bug(
                "internal",
                "an algorithm of re-publication makes groups: this is a defect",
            )
            .into());
        };
        // Who of the people with equal records is in which group is random already.
        let mut of_row: Vec<Vec<u32>> = vec![Vec::new(); part.table.rows()];
        for (&person, &row) in people.iter().zip(&part.row_of) {
            of_row[row as usize].push(person);
        }
        let mut group_of = HashMap::with_capacity(people.len());
        for (group, members) in (0u32..).zip(&form.groups) {
            let take = |m: &Member| {
                let queue = &mut of_row[m.row as usize];
                queue.split_off(queue.len() - m.count as usize)
            };
            group_of.extend(members.iter().flat_map(take).map(|person| (person, group)));
        }
        let number = self.releases.len();
        self.seen.extend(group_of.iter().map(|(&person, &group)| (person, (number, group))));
        let shown = &made.release;
        let values = shown.classes.iter().map(|c| c.histograms[0].0.clone()).collect();
        let counterfeits = (0..shown.classes.len()).map(|g| shown.counterfeits_in(g)).collect();
        let error = errors(&self.queries, &part.table, shown).median;
        self.releases.push(Published { group_of, values, counterfeits, error });
        Ok(())
    }

    /// What all releases say to somebody who knows everybody's groups, and the people: their kinds
    /// come first.
    pub fn evidence(&self) -> (Evidence, Vec<u32>) {
        let mut everybody: Vec<u32> = self.seen.keys().copied().collect();
        everybody.sort_unstable();
        let place = |r: &Published, p: &u32| {
            r.group_of.get(p).map_or_else(Located::absent, |&g| Located::at(g))
        };
        let mut kinds: Vec<(u32, Vec<Located>)> = everybody
            .iter()
            .map(|p| (1, self.releases.iter().map(|r| place(r, p)).collect()))
            .collect();
        for (i, published) in self.releases.iter().enumerate() {
            for (group, &n) in (0u32..).zip(&published.counterfeits).filter(|(_, n)| **n > 0) {
                let mut located = vec![Located::absent(); self.releases.len()];
                located[i] = Located::at(group);
                kinds.push((n as u32, located));
            }
        }
        let groups: Vec<Vec<Vec<(u32, u64)>>> =
            self.releases.iter().map(|r| r.values.clone()).collect();
        (Evidence::new(&groups, kinds), everybody)
    }
}

/// The three ways to publish again, and what their parameter is called.
const WAYS: [(&str, &str); 3] = [("anatomy", "l"), ("history-guided", "l"), ("m-invariance", "m")];

/// Different values of a group, in all of them.
const DIVERSITY: u64 = 5;

const RELEASES: usize = 10;

/// Who is in each of ten releases: every time one in ten leaves, one in ten of those who left
/// returns, and newcomers, no value of theirs more often than groups allow, make up the number.
fn crowds(laboratory: &Laboratory<'_>, people: usize) -> Vec<Vec<u32>> {
    let mut rng = laboratory.rng(12);
    let all = laboratory.shuffled(&mut rng);
    let mut next = people;
    let mut crowds = vec![super::republication::eligible(laboratory, &all, people, DIVERSITY)];
    let mut away: Vec<u32> = Vec::new();
    while crowds.len() < RELEASES {
        let before = &crowds[crowds.len() - 1];
        let (leave, mut present): (Vec<u32>, Vec<u32>) =
            before.iter().partition(|_| rng.random_bool(0.1));
        let (back, still): (Vec<u32>, Vec<u32>) =
            away.into_iter().partition(|_| rng.random_bool(0.1));
        let wanted = people.saturating_sub(present.len() + back.len()).min(all.len() - next);
        let new = super::republication::eligible(laboratory, &all[next..], wanted, DIVERSITY);
        next += wanted;
        present.extend(back.into_iter().chain(new));
        away = [still, leave].concat();
        crowds.push(present);
    }
    crowds
}

/// What ten releases tell together, in three ways.
pub(super) fn ten_releases(
    laboratory: &Laboratory<'_>,
    people: usize,
    findings: &mut Findings,
) -> Result<(), Failures> {
    let crowds = crowds(laboratory, people);
    let (mut disclosed, mut erring) = (Vec::new(), Vec::new());
    for (name, parameter) in WAYS {
        let how = algorithm(name, &[(parameter, &DIVERSITY.to_string())])?;
        let mut series = Series::new(laboratory, 300)?;
        let mut line = Vec::new();
        for (crowd, seed) in crowds.iter().zip(1..) {
            series.publish(crowd, &*how, seed)?;
            let (evidence, everybody) = series.evidence();
            let found = forced(&evidence).map_err(|_| contradiction())?;
            let kinds = 0..everybody.len() as u32;
            let certain = kinds.filter(|&k| found.certain(&evidence, k).is_some()).count();
            line.push((series.releases.len() as f64, certain as f64));
        }
        let errors =
            series.releases.iter().zip(1..).map(|(r, i)| (f64::from(i), 100.0 * r.error)).collect();
        findings.items.extend(items(&series, name, &crowds, line.last().map_or(0.0, |p| p.1))?);
        disclosed.push((name.to_owned(), line));
        erring.push((name.to_owned(), errors));
    }
    let chart = |title: &str, y: &str, lines| Chart {
        title: title.into(),
        x: "releases".into(),
        y: y.into(),
        lines,
    };
    let title = format!("People whose value is certain, {people} in each release");
    findings.draw("republication-disclosed", &chart(&title, "people disclosed so far", disclosed));
    let title = "What a recipient gets wrong, by release";
    findings.draw(
        "republication-queries",
        &chart(title, "median relative error of COUNT queries, %", erring),
    );
    Ok(())
}

fn contradiction() -> Failure {
    Failure::bug("internal", "releases of the same people contradict each other: this is a defect")
}

/// The line of a way in the table.
fn items(
    series: &Series<'_>,
    name: &str,
    crowds: &[Vec<u32>],
    certain: f64,
) -> Result<Vec<Item>, Failures> {
    let (evidence, everybody) = series.evidence();
    let highest = match certain {
        // Who is certain is believed with probability 1; ten crossing releases take long to solve
        // for no more than that.
        1.0.. => 1.0,
        _ => {
            let beliefs =
                infer(&evidence, WORK, &|_, _| true).map_err(|_| contradiction())?.beliefs;
            let believed =
                |kind: u32| beliefs.values(&evidence, kind).map(|(_, p)| p).fold(0.0, f64::max);
            (0..everybody.len() as u32).map(believed).fold(0.0, f64::max)
        }
    };
    let counterfeits: u64 = series.releases.iter().flat_map(|r| &r.counterfeits).sum();
    let shown: usize = series.releases.iter().map(|r| r.group_of.len()).sum();
    let mut errors: Vec<f64> = series.releases.iter().map(|r| r.error).collect();
    errors.sort_by(f64::total_cmp);
    let people: HashSet<u32> = crowds.iter().flatten().copied().collect();
    let settings = format!(
        "ten releases of {} people, {} in all; one in ten leaves, some return; groups of {DIVERSITY} different values",
        crowds[0].len(),
        people.len()
    );
    let item = |what: &str, paper: &str, ours: String, holds| Item {
        id: "X12".into(),
        what: format!("{name}: {what}"),
        paper: paper.into(),
        ours,
        settings: settings.clone(),
        holds,
    };
    let invariant = name == "m-invariance";
    let kept = || certain == 0.0 && highest <= 1.0 / DIVERSITY as f64 + 1e-6;
    Ok(vec![
        item(
            "people whose value is certain after ten releases",
            if invariant { "none" } else { "" },
            format!("{certain} ({})", percent(certain / everybody.len().max(1) as f64)),
            invariant.then(kept),
        ),
        item(
            "the highest belief",
            if invariant { "at most 1/m" } else { "" },
            format!("{highest:.4}"),
            invariant.then(kept),
        ),
        item(
            "counterfeits in all releases",
            "",
            format!("{counterfeits} beside {shown} records"),
            (!invariant).then_some(counterfeits == 0),
        ),
        item(
            "median relative error of 300 queries, median of the releases",
            "",
            percent(errors[errors.len() / 2]),
            None,
        ),
    ])
}
