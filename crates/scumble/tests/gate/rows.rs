//! Series of releases that show several columns together, exactly, coarser, or not at all, against
//! the enumeration of all worlds.

use proptest::prelude::*;
use scumble::exact::Ratio;
use scumble::gate::{
    Cell, Counted, Gate, Memory, Panelist, Part, Remembered, Rows, Statement, What, judge,
};
use scumble::inference::Located;
use scumble::taxonomy::Decimal;
use std::collections::{BTreeMap, BTreeSet};

/// True values are 0, 1 and 2; 3 is one that nobody has.
const VALUES: u32 = 4;
/// The judged column is 0. Both columns may change between releases.
const COLUMNS: usize = 2;
const GROUPS: u32 = 2;

/// How a release shows a column.
#[derive(Clone, Copy, Debug, PartialEq)]
enum View {
    Hidden,
    Exact,
    /// As 0 to 1, or 2 to 3: a rounded or coded value.
    Coarse,
    /// 1 is blanked.
    Blanked,
    /// As a label over 0 and 1, or as 2.
    Label,
    /// In cells of two numbers, or of two days.
    Cells,
    /// With noise.
    Noise,
}

impl View {
    /// What it says of a value, and the possible true values; values are numbers or dates.
    fn cell(self, value: u32, dates: bool) -> (u32, Cell, Vec<u32>) {
        let number = |n: i64| Some(Decimal { mantissa: n, decimals: 0 });
        let text = |value: u32| text(value, dates);
        let label = |all: &[u32]| Cell::Among(all.iter().map(|&v| text(v)).collect());
        let coarse = if dates && self == View::Coarse { View::Cells } else { self };
        match coarse {
            View::Cells => {
                let first = value / 2 * 2;
                let (from, below) = (i64::from(first), i64::from(first) + 2);
                let cell = if dates {
                    Cell::Days(from, below)
                } else {
                    Cell::Numbers(number(from), number(below))
                };
                (first / 2, cell, vec![first, first + 1])
            }
            View::Hidden | View::Noise => (0, Cell::Anything, (0..VALUES).collect()),
            View::Exact => (value, Cell::Value(text(value)), vec![value]),
            View::Coarse if value < 2 => (0, Cell::Between(number(0), number(1)), vec![0, 1]),
            View::Coarse => (1, Cell::Between(number(2), number(3)), vec![2, 3]),
            // Whoever shows 0 and 2 elsewhere tells that a blank is neither.
            View::Blanked if value == 1 || value == 3 => (1, Cell::Rest, vec![1, 3]),
            View::Blanked => (value, Cell::Value(text(value)), vec![value]),
            View::Label if value < 2 => (0, label(&[0, 1]), vec![0, 1]),
            View::Label => (value, label(&[value]), vec![value]),
        }
    }

    /// Whether all values below what it shows stay possible, each by itself.
    fn generalizes(self, dates: bool) -> bool {
        matches!(self, View::Label | View::Cells) || dates && self == View::Coarse
    }

    fn says_something(self) -> bool {
        !matches!(self, View::Hidden | View::Noise)
    }
}

fn text(value: u32, dates: bool) -> String {
    if dates { format!("1970-01-0{}", value + 1) } else { value.to_string() }
}

#[derive(Clone, Debug)]
struct Release {
    place: Vec<u32>,
    views: [View; COLUMNS],
    /// Everybody's version of column 1.
    versions: Vec<u32>,
    /// Everybody's version of column 0; version 0 is judged.
    judged_versions: Vec<u32>,
    response: Option<f64>,
}

#[derive(Clone, Debug)]
struct Case {
    /// For everybody: column 0, column 1, and what column 1 and column 0 were in another version.
    truth: Vec<[u32; 4]>,
    releases: Vec<Release>,
    /// Who is judged.
    judged: Option<Vec<bool>>,
    secret: Option<Vec<u32>>,
    unprotected: bool,
    /// Whether values are dates.
    dates: bool,
}

fn case() -> impl Strategy<Value = Case> {
    let view = || {
        prop_oneof![
            3 => Just(View::Exact),
            2 => Just(View::Hidden),
            2 => Just(View::Coarse),
            1 => Just(View::Blanked),
            2 => Just(View::Label),
            2 => Just(View::Cells),
            1 => Just(View::Noise),
        ]
    };
    (2usize..=4, 1usize..=3, any::<bool>()).prop_flat_map(move |(people, releases, changes)| {
        let release = (
            prop::collection::vec(0u32..=GROUPS, people),
            [view(), view()],
            prop::collection::vec(0..=u32::from(changes), people),
            prop::collection::vec(0..=u32::from(changes), people),
            prop::option::of(prop_oneof![Just(1.5), Just(3.0)]),
        );
        let release = release
            .prop_map(|(place, views, versions, judged_versions, response)| Release {
                place,
                views,
                versions,
                judged_versions,
                response,
            })
            .prop_filter("it shows something", |r| r.views.iter().any(|v| *v != View::Hidden));
        (
            prop::collection::vec([0..3u32, 0..3u32, 0..3u32, 0..3u32], people),
            prop::collection::vec(release, releases),
            prop::option::of(prop_oneof![Just(vec![0]), Just(vec![0, 2]), Just(vec![1, 2])]),
            any::<bool>(),
            any::<bool>(),
            prop::option::of(prop::collection::vec(any::<bool>(), people)),
        )
            .prop_map(|(truth, releases, secret, unprotected, dates, judged)| Case {
                truth,
                releases,
                judged,
                secret,
                unprotected,
                dates,
            })
    })
}

/// A value that is told apart: what it may truly be.
type Token = Vec<u32>;

/// What a row would show in each release, and what that says about column 0.
type Choice = (Vec<Option<[u32; COLUMNS]>>, Option<BTreeSet<Token>>);

/// What is known of a person.
#[derive(Clone, Debug, Default)]
struct Known {
    /// The values that are possible.
    tokens: BTreeSet<Token>,
    /// Whether nothing may have been said.
    unknown: bool,
    /// The share of worlds of each.
    shares: BTreeMap<Token, f64>,
}

impl Case {
    /// The values of a release's columns for a person whose row is this.
    fn shown(&self, release: &Release, person: usize, row: &[u32; 4]) -> [u32; COLUMNS] {
        let judged = [row[0], row[3]][release.judged_versions[person] as usize];
        [judged, row[1 + release.versions[person] as usize]]
    }

    /// The values that nothing tells apart from this one: those between two places where a release
    /// begins to tell numbers apart. A value that a release names is one by itself.
    fn atom(&self, value: u32) -> Vec<u32> {
        let named = |v: u32| {
            let names = |view: View| match view {
                View::Exact | View::Label => true,
                View::Blanked => v == 0 || v == 2,
                _ => false,
            };
            self.releases.iter().any(|r| names(r.views[0]))
                || self.secret.as_ref().is_some_and(|s| s.contains(&v))
        };
        let cut = |v: u32| v.is_multiple_of(2) || named(v) || named(v - 1);
        let first = (0..=value).rev().find(|&v| cut(v)).unwrap_or(0);
        let end = (value + 1..VALUES).find(|&v| cut(v)).unwrap_or(VALUES);
        (first..end).collect()
    }

    fn memory(&self) -> Memory {
        let statements: Vec<Statement> = self.releases.iter().map(|r| self.statement(r)).collect();
        let secret = self.secret.as_ref();
        let value = |v: &u32| Cell::Value(text(*v, self.dates));
        let secret: Option<Vec<Cell>> = secret.map(|s| s.iter().map(value).collect());
        let (rows, groups) = Rows::new(COLUMNS, 0, secret.as_deref(), &statements);
        let remembered = |((i, release), groups): ((usize, &Release), Counted)| Remembered {
            name: format!("release {i}"),
            recipients: Vec::new(),
            labels: (1..=GROUPS).map(|g| format!("group {g}")).collect(),
            groups,
            spots: (0..GROUPS).map(Located::at).collect(),
            place: release.place.clone(),
            strangers: Vec::new(),
            newly: Vec::new(),
            versions: vec![(1, release.versions.clone()), (0, release.judged_versions.clone())],
            response: release.response,
        };
        Memory {
            attribute: "value".into(),
            values: Vec::new(),
            rows: Some(rows),
            unprotected: self.unprotected,
            notes: Vec::new(),
            releases: self.releases.iter().enumerate().zip(groups).map(remembered).collect(),
            people: self.truth.len(),
            judged: self.judged.clone(),
            name: Box::new(|p| p.to_string()),
        }
    }

    fn statement(&self, release: &Release) -> Statement {
        let shown: Vec<usize> =
            (0..COLUMNS).filter(|&c| release.views[c] != View::Hidden).collect();
        let part = |&column: &usize| {
            let view = release.views[column];
            let mut cells: Vec<Cell> = Vec::new();
            for value in 0..VALUES {
                let (code, cell, _) = view.cell(value, self.dates);
                cells.resize(cells.len().max(code as usize + 1), Cell::Anything);
                cells[code as usize] = cell;
            }
            Part { column, cells, generalized: view.generalizes(self.dates) }
        };
        let mut statement = Statement {
            parts: shown.iter().map(part).collect(),
            rows: Vec::new(),
            groups: vec![Vec::new(); GROUPS as usize],
        };
        let mut counts: BTreeMap<(u32, Vec<u32>), u64> = BTreeMap::new();
        for (person, row) in self.truth.iter().enumerate().filter(|(p, _)| release.place[*p] > 0) {
            let values = self.shown(release, person, row);
            let codes =
                shown.iter().map(|&c| release.views[c].cell(values[c], self.dates).0).collect();
            *counts.entry((release.place[person] - 1, codes)).or_default() += 1;
        }
        for ((group, row), count) in counts {
            statement.groups[group as usize].push((statement.rows.len() as u32, count));
            statement.rows.push(row);
        }
        statement
    }

    /// What each of a person's rows would show in each release, and what it says about column 0.
    fn choices(&self, person: usize, releases: &[usize]) -> Vec<Choice> {
        let mut found = BTreeMap::new();
        for number in 0..VALUES.pow(4) {
            let row = [0, 1, 2, 3].map(|i| number / VALUES.pow(i) % VALUES);
            let mut codes = Vec::new();
            let (mut set, mut informed, mut one): (Vec<u32>, bool, bool) =
                ((0..VALUES).collect(), false, false);
            for &r in releases {
                let release = &self.releases[r];
                let values = self.shown(release, person, &row);
                codes.push(
                    (release.place[person] > 0)
                        .then(|| [0, 1].map(|c| release.views[c].cell(values[c], self.dates).0)),
                );
                let other = release.judged_versions[person] > 0;
                if release.place[person] == 0 || other || !release.views[0].says_something() {
                    continue;
                }
                set.retain(|v| release.views[0].cell(values[0], self.dates).2.contains(v));
                informed = true;
                one |= !release.views[0].generalizes(self.dates);
            }
            let tokens = if one {
                BTreeSet::from([set.clone()])
            } else {
                set.iter().map(|&v| self.atom(v)).collect()
            };
            found.insert(codes, informed.then_some(tokens));
        }
        found.into_iter().collect()
    }

    /// What follows from some releases, by dealing everybody a row in every way that shows what
    /// they show.
    fn known(&self, releases: &[usize]) -> Vec<Known> {
        let mut left: BTreeMap<(usize, u32, [u32; COLUMNS]), i32> = BTreeMap::new();
        for (i, &r) in releases.iter().enumerate() {
            let release = &self.releases[r];
            for (person, row) in
                self.truth.iter().enumerate().filter(|(p, _)| release.place[*p] > 0)
            {
                let values = self.shown(release, person, row);
                let codes = [0, 1].map(|c| release.views[c].cell(values[c], self.dates).0);
                *left.entry((i, release.place[person], codes)).or_default() += 1;
            }
        }
        let choices: Vec<_> = (0..self.truth.len()).map(|p| self.choices(p, releases)).collect();
        let mut found = vec![Known::default(); self.truth.len()];
        let mut worlds = 0.0;
        self.deal(&choices, releases, &mut left, &mut Vec::new(), &mut found, &mut worlds);
        found.iter_mut().for_each(|k| k.shares.values_mut().for_each(|x| *x /= worlds));
        found
    }

    fn deal(
        &self,
        choices: &[Vec<Choice>],
        releases: &[usize],
        left: &mut BTreeMap<(usize, u32, [u32; COLUMNS]), i32>,
        dealt: &mut Vec<usize>,
        found: &mut [Known],
        worlds: &mut f64,
    ) {
        let person = dealt.len();
        if person == choices.len() {
            *worlds += 1.0;
            for ((known, choices), &i) in found.iter_mut().zip(choices).zip(dealt.iter()) {
                let Some(tokens) = &choices[i].1 else {
                    known.unknown = true;
                    continue;
                };
                for token in tokens {
                    known.tokens.insert(token.clone());
                    *known.shares.entry(token.clone()).or_default() += 1.0 / tokens.len() as f64;
                }
            }
            return;
        }
        for (i, (codes, _)) in choices[person].iter().enumerate() {
            let keys: Vec<_> = codes
                .iter()
                .enumerate()
                .filter_map(|(at, c)| Some((at, self.releases[releases[at]].place[person], (*c)?)))
                .collect();
            if keys.iter().any(|k| left.get(k).is_none_or(|n| *n == 0)) {
                continue;
            }
            keys.iter().for_each(|k| *left.get_mut(k).unwrap() -= 1);
            dealt.push(i);
            self.deal(choices, releases, left, dealt, found, worlds);
            dealt.pop();
            keys.iter().for_each(|k| *left.get_mut(k).unwrap() += 1);
        }
    }

    fn is_secret(&self, token: &Token) -> bool {
        self.secret.as_ref().is_none_or(|s| token.iter().all(|v| s.contains(v)))
    }

    /// Possible values, those that are not secret as one; none if there is nothing secret.
    fn candidates(&self, known: &Known) -> u64 {
        let secret = known.tokens.iter().filter(|t| self.is_secret(t)).count() as u64;
        if secret == 0 { 0 } else { secret + u64::from(known.tokens.len() as u64 > secret) }
    }

    fn certain(&self, known: &Known) -> Option<Token> {
        let only = known.tokens.first().filter(|_| self.candidates(known) == 1 && !known.unknown);
        only.cloned()
    }

    fn strongest(&self, known: &Known) -> f64 {
        let secret = known.shares.iter().filter(|(t, _)| self.is_secret(t));
        secret.map(|(_, share)| *share).fold(0.0, f64::max)
    }

    fn spent(&self, person: usize, releases: &[usize]) -> (f64, usize) {
        let about = |r: &Release| r.place[person] > 0 && r.judged_versions[person] == 0;
        let spent = releases.iter().filter(|&&r| about(&self.releases[r]));
        let all: Vec<f64> = spent.filter_map(|&r| self.releases[r].response).collect();
        (all.iter().sum(), all.len())
    }
}

/// Whether somebody's values are told apart more finely now.
fn refined(was: &Known, now: &Known) -> bool {
    let within = |n: &Token, w: &Token| n.len() < w.len() && n.iter().all(|v| w.contains(v));
    now.tokens.iter().any(|n| was.tokens.iter().any(|w| within(n, w)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    /// Rows, coarser values and labels: who is certain, how few values are left and how strong
    /// beliefs are, before and with the new release.
    #[test]
    fn rows_agree_with_all_worlds(case in case()) {
        let gate = Gate {
            written: true,
            candidates: Some(2),
            posterior: Some(Ratio::new(1, 2)),
            panel: vec![Panelist::Worlds],
            ..Gate::default()
        };
        let seen = judge(&case.memory(), &gate, None, &|_, _| true).unwrap();
        prop_assert_eq!(seen.len(), 1);
        let seen = &seen[0];
        let new = case.releases.len() - 1;
        let (all, earlier): (Vec<usize>, Vec<usize>) = ((0..=new).collect(), (0..new).collect());
        let (before, after) = (case.known(&earlier), case.known(&all));
        let judged = |p: &usize| case.judged.as_ref().is_none_or(|judged| judged[*p]);
        let people = || (0..case.truth.len()).filter(judged);
        let there = people().filter(|&p| case.releases.iter().any(|r| r.place[p] > 0)).count();
        prop_assert_eq!(seen.people, there as u64);
        let certain: BTreeSet<usize> = people().filter(|&p| case.certain(&after[p]).is_some()).collect();
        let newly: BTreeSet<usize> =
            certain.iter().copied().filter(|&p| case.certain(&after[p]) != case.certain(&before[p])).collect();
        prop_assert_eq!(seen.certain, certain.len() as u64);
        prop_assert_eq!(super::people(seen, What::Certain), newly);
        let few = |p: &usize| {
            let (was, now) = (case.candidates(&before[*p]), case.candidates(&after[*p]));
            now > 0 && now < 2 && (was == 0 || now < was || refined(&before[*p], &after[*p]))
        };
        prop_assert_eq!(super::people(seen, What::Candidates), people().filter(few).collect::<BTreeSet<_>>());
        let sure = |p: &usize| {
            let was = if refined(&before[*p], &after[*p]) { 0.0 } else { case.strongest(&before[*p]) };
            let now = case.strongest(&after[*p]);
            now > 0.5 + 1e-9 && now > was + 1e-9
        };
        prop_assert_eq!(super::people(seen, What::Posterior), people().filter(sure).collect::<BTreeSet<_>>());
        let spent = |p: &usize| {
            let (sum, times) = case.spent(*p, &all);
            times > 1 && sum > 4.0 && case.spent(*p, &[new]).1 > 0
        };
        prop_assert_eq!(super::people(seen, What::Response), people().filter(spent).collect::<BTreeSet<_>>());
        prop_assert_eq!(seen.holds(), seen.breaches.is_empty());
    }

    /// Without a `[gate]`, what the release tells alone counts only if no model of it protects the
    /// column.
    #[test]
    fn alone_it_counts_only_if_nothing_protects_it(case in case()) {
        let quiet = Gate { panel: Vec::new(), ..Gate::default() };
        let seen = judge(&case.memory(), &quiet, None, &|_, _| true).unwrap();
        let new = case.releases.len() - 1;
        let (before, after) = (case.known(&(0..new).collect::<Vec<_>>()), case.known(&(0..=new).collect::<Vec<_>>()));
        let alone = case.known(&[new]);
        let exposed = |p: &usize| {
            let now = case.certain(&after[*p]);
            let excused = !case.unprotected && case.certain(&alone[*p]) == now;
            now.is_some() && now != case.certain(&before[*p]) && !excused
        };
        let judged = |p: &usize| case.judged.as_ref().is_none_or(|judged| judged[*p]);
        let exposed: BTreeSet<usize> =
            (0..case.truth.len()).filter(judged).filter(exposed).collect();
        prop_assert_eq!(super::people(&seen[0], What::Certain), exposed);
    }
}
