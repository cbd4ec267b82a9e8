//! # Minimality
//!
//! Asks of every world that a release allows whether the algorithm would have made this release of
//! it.
//!
//! ## What the adversary knows
//! The release, the quasi-identifiers of everybody in it, and how it was made: the algorithm, its
//! parameters and the requirements of the policy. She knows in which class everybody is. Of records
//! that were left out she is taken to know how often each sensitive value occurs among them all.
//!
//! ## What she does
//! A release allows every world that hands out the sensitive values of each class to its people.
//! Without more knowledge all are equally likely, and a value is believed with its share of the
//! class. But an algorithm that generalizes only where it must tells by generalizing that it had
//! to: she runs it on the table of each world, keeps the worlds of which it makes this very
//! release, and believes a value with its share of those.
//!
//! ## What it says
//! For everybody the share of each value in the worlds that are kept, and by how much it exceeds
//! the share in the class: the gain. Few worlds are all tried, and the shares are exact. Otherwise
//! worlds are drawn at random, and the answer says how many were tried and kept, and the standard
//! error. If none was kept, nothing was learnt: not that nothing can be.
//!
//! ## Limits
//! Drawn worlds are kept so rarely, where classes are many or large, that the attack needs very
//! many of them; to keep every world that has the person's own class again (`keep = "class"`) is
//! easier and says less. The algorithm runs with the seed of the publisher. Where several sensitive
//! attributes are published, their values stay together.
//!
//! ## Reference
//! Wong, Fu, Wang and Pei, "Minimality attack in privacy preserving data publishing", 2007;
//! Cormode, Li, Li and Srivastava, "Minimizing minimality and maximizing utility", 2010.

use crate::algorithm::{Algorithm, Requirement};
use crate::catalogue::{Entry, Kind as Written, Parameter};
use crate::class::EquivalenceClass;
use crate::exact::Fraction;
use crate::failure::Failure;
use crate::progress::{Progress, Watch};
use crate::publish::{Outcome, make};
use crate::release::{Form, Member, Release};
use crate::table::{Attribute, Table, number_tuples, published};
use dashu_int::UBig;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

/// In the catalogue. It attacks a policy and its data, not a release: the algorithm must be run
/// again.
pub const ENTRY: Entry<Options> = Entry {
    name: "minimality",
    summary: "which worlds the algorithm would have made this release of",
    source: include_str!("minimality.rs"),
    parameters: &[
        Parameter {
            name: "runs",
            kind: Written::Count(1, 1_000_000),
            default: Some("1000"),
            about: "all worlds are tried if they are not more than this; otherwise so many are drawn",
        },
        Parameter {
            name: "keep",
            kind: Written::Choice(&["release", "class"]),
            default: Some("release"),
            about: "whether the whole release must come out again, or only a person's class",
        },
    ],
    build: |p| {
        Ok(Options {
            attribute: 0,
            runs: p.count("runs"),
            whole: p.word("keep") == "release",
            seed: 1,
        })
    },
};

/// How a release is made.
pub struct Maker<'a> {
    /// The algorithm, with its parameters.
    pub algorithm: &'a dyn Algorithm,
    /// What the release must satisfy.
    pub requirements: &'a [Requirement],
    /// The seed it was made with.
    pub seed: u64,
}

impl Maker<'_> {
    /// What it makes of a table, if anything.
    fn release(&self, table: &Table, watch: &Watch<'_>) -> Option<Release> {
        let go_on = |_, _| watch.go_on();
        match make(table, self.algorithm, self.requirements, self.seed, &go_on) {
            Outcome::Made(made) => Some(made.release),
            Outcome::Refused(_) => None,
        }
    }
}

/// How many worlds are tried, and which are kept.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Index of the sensitive attribute.
    pub attribute: usize,
    /// All worlds are tried if they are not more than this; otherwise so many are drawn.
    pub runs: u64,
    /// Whether the whole release must come out again, or only a person's class.
    pub whole: bool,
    /// For drawing worlds.
    pub seed: u64,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Minimality {
    /// The people, by class and quasi-identifiers.
    pub people: Vec<Suspects>,
    /// Whether all worlds were tried, so that the posteriors are exact.
    pub exact: bool,
    /// Runs of the algorithm.
    pub runs: u64,
    /// Those that made the whole release again.
    pub reproduced: u64,
}

/// People who are alike to the adversary: in one class, with the same quasi-identifiers.
#[derive(Clone, Debug, PartialEq)]
pub struct Suspects {
    /// Index of their class.
    pub class: usize,
    /// Codes of their quasi-identifiers.
    pub codes: Vec<u32>,
    /// How many.
    pub people: u32,
    /// Worlds that were kept for them.
    pub kept: u64,
    /// The values of their class, rising.
    pub values: Vec<Belief>,
}

/// What is believed of a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Belief {
    /// Code of the value.
    pub value: u32,
    /// Its share of the class: all worlds alike.
    pub random_worlds: Fraction,
    /// Its share of the worlds that were kept; `None` if none was.
    pub posterior: Option<Fraction>,
    /// The standard error of the posterior; 0 where it is exact.
    pub error: f64,
}

impl Belief {
    /// By how much the posterior exceeds the share of the class.
    pub fn gain(&self) -> f64 {
        self.posterior.as_ref().map_or(0.0, |p| p.to_f64() - self.random_worlds.to_f64())
    }
}

impl Minimality {
    /// The largest gain: whose, and of which of their values; the first if there are several.
    pub fn largest_gain(&self) -> Option<(&Suspects, &Belief)> {
        let all = self.people.iter().flat_map(|s| s.values.iter().map(move |b| (s, b)));
        let known = all.filter(|(_, b)| b.posterior.is_some());
        known.reduce(|best, next| if next.1.gain() > best.1.gain() { next } else { best })
    }
}

/// Carries out the attack on what a maker made of a table. Of the table only the quasi-identifiers
/// and what the form publishes are used.
pub fn minimality(
    table: &Table,
    form: &Form,
    maker: &Maker<'_>,
    options: &Options,
    progress: Progress<'_>,
) -> Result<Minimality, Failure> {
    let scene = Scene::new(table, form);
    let target = Shown::of(&Release::of(table, form));
    // Algorithms may follow the order of rows where all else is equal; worlds must not differ in
    // it.
    let running = Watch::new(progress, 0);
    let again = maker
        .release(&scene.table(&scene.truth), &running)
        .map(|release| Shown::of(&release).sorted());
    running.check()?;
    if again != Some(target.sorted()) {
        return Err(Failure::refused("not-repeatable", 
            "the algorithm does not make this release again of the same records in another order",
        )
        .hint("so nothing follows from what it makes of other worlds; choose an algorithm without chance"));
    }
    let all = scene.all_worlds(options.runs);
    let runs = all.as_ref().map_or(options.runs, |all| all.number);
    let watch = Watch::new(progress, runs);
    let run = |mut tally: Tally, number: u64| {
        if watch.stopped() {
            return tally;
        }
        let (world, ways) = match &all {
            Some(all) => all.world(number),
            None => (scene.draw(options.seed, number), UBig::ONE),
        };
        let shown =
            maker.release(&scene.table(&world), &watch).map(|release| Shown::of(&release).sorted());
        if let Some(shown) = shown {
            tally.count(&scene, &world, &ways, &target.found_in(&shown), options.whole);
        }
        watch.add(1);
        tally
    };
    let none = || Tally::new(&scene);
    let tally = (0..runs).into_par_iter().fold(none, run).reduce(none, Tally::merge);
    watch.check()?;
    let exact = all.is_some();
    let people = (0..scene.kinds.len()).filter(|&k| scene.kinds[k].class < target.classes.len());
    let people = people
        .map(|kind| scene.suspects(kind, &tally.kinds[kind], exact, options.attribute))
        .collect();
    Ok(Minimality { people, exact, runs, reproduced: tally.reproduced })
}

/// What a recipient sees of a release: comparable, whatever attributes its regions are written in.
struct Shown {
    classes: Vec<ShownClass>,
    suppressed: u64,
}

/// Labels, histograms of what is published, and records of a group with their codes.
type ShownClass = (Vec<String>, Vec<Vec<(u32, u64)>>, Vec<(Box<[u32]>, u64)>);

impl Shown {
    fn of(release: &Release) -> Shown {
        let attributes = published(&release.sensitive).len();
        let shown = |class: &EquivalenceClass| {
            let histograms = class.histograms[..attributes].iter().map(|h| h.0.clone()).collect();
            (release.labels(class), histograms, Vec::new())
        };
        let mut classes: Vec<ShownClass> = release.classes.iter().map(shown).collect();
        for record in &release.records_by_group {
            classes[record.group as usize].2.push((record.codes.clone(), record.count));
        }
        Shown { classes, suppressed: release.suppressed }
    }

    /// The classes in an order of their own; that of groups says nothing.
    fn sorted(&self) -> (Vec<ShownClass>, u64) {
        let mut classes = self.classes.clone();
        classes.sort_unstable();
        (classes, self.suppressed)
    }

    /// Which classes are in another release, in order.
    fn found_in(&self, (classes, suppressed): &(Vec<ShownClass>, u64)) -> Found {
        let found: Vec<bool> =
            self.classes.iter().map(|c| classes.binary_search(c).is_ok()).collect();
        let whole = self.suppressed == *suppressed && self.sorted().0 == *classes;
        Found { whole, classes: found }
    }
}

/// What of the release comes out again in a world.
struct Found {
    whole: bool,
    classes: Vec<bool>,
}

/// What was counted in the worlds that are kept.
struct Tally {
    kinds: Vec<Counted>,
    reproduced: u64,
}

/// Worlds that are kept for a kind.
#[derive(Clone)]
struct Counted {
    kept: u64,
    /// All ways to hand out the values as in these worlds.
    ways: UBig,
    /// Over all ways: people who have each tuple of the class.
    people: Vec<UBig>,
}

impl Tally {
    fn new(scene: &Scene<'_>) -> Tally {
        let none = |k: &Kind| Counted {
            kept: 0,
            ways: UBig::ZERO,
            people: vec![UBig::ZERO; scene.tuples[k.class].len()],
        };
        Tally { kinds: scene.kinds.iter().map(none).collect(), reproduced: 0 }
    }

    fn count(&mut self, scene: &Scene<'_>, world: &World, ways: &UBig, found: &Found, whole: bool) {
        self.reproduced += u64::from(found.whole);
        for (i, counted) in self.kinds.iter_mut().enumerate() {
            let class = scene.kinds[i].class;
            if !(found.whole || !whole && found.classes.get(class) == Some(&true)) {
                continue;
            }
            counted.kept += 1;
            counted.ways += ways;
            let tuples = scene.tuples[class].len();
            let mine = &world[class][(i - scene.first[class]) * tuples..];
            counted.people.iter_mut().zip(mine).for_each(|(sum, &n)| *sum += ways * n);
        }
    }

    fn merge(mut self, other: Tally) -> Tally {
        self.reproduced += other.reproduced;
        for (a, b) in self.kinds.iter_mut().zip(other.kinds) {
            a.kept += b.kept;
            a.ways += b.ways;
            a.people.iter_mut().zip(b.people).for_each(|(a, b)| *a += b);
        }
        self
    }
}

/// Every world: each combination of a matrix per class.
struct AllWorlds {
    /// Per class: the matrices, with the ways to hand the values out so.
    classes: Vec<Vec<(UBig, Vec<u32>)>>,
    number: u64,
}

impl AllWorlds {
    fn world(&self, mut number: u64) -> (World, UBig) {
        let mut ways = UBig::ONE;
        let matrix = |class: &Vec<(UBig, Vec<u32>)>| {
            let (w, matrix) = &class[(number % class.len() as u64) as usize];
            number /= class.len() as u64;
            ways *= w;
            matrix.clone()
        };
        let world = self.classes.iter().map(matrix).collect();
        (world, ways)
    }
}

/// All matrices with these sums of rows and of columns, row by row; `None` if there are more than
/// `most`.
fn matrices(rows: &[u32], columns: &[u32], most: usize) -> Option<Vec<Vec<u32>>> {
    // Beginnings of matrices, cell by cell, with what is left of the row and of the columns.
    let mut found: Vec<(Vec<u32>, Vec<u32>)> = vec![(Vec::new(), columns.to_vec())];
    for &sum in rows {
        let mut left = vec![sum; found.len()];
        for column in 0..columns.len() {
            let (mut next, mut next_left) = (Vec::new(), Vec::new());
            for ((matrix, columns), left) in found.iter().zip(left) {
                // The columns to come must be able to take the rest of the row.
                let later: u32 = columns[column + 1..].iter().sum();
                for n in left.saturating_sub(later)..=left.min(columns[column]) {
                    let (mut matrix, mut columns) = (matrix.clone(), columns.clone());
                    matrix.push(n);
                    columns[column] -= n;
                    next.push((matrix, columns));
                    next_left.push(left - n);
                }
            }
            // Every beginning can be completed, so that there are at least as many matrices.
            if next.len() > most {
                return None;
            }
            (found, left) = (next, next_left);
        }
    }
    Some(found.into_iter().map(|(matrix, _)| matrix).collect())
}

/// In how many ways the people of each row can be given their columns so: Π (sum of the row)! / Π
/// cell!.
fn ways(matrix: &[u32], columns: usize) -> UBig {
    let factorial = |n: u32| (1..=n).fold(UBig::ONE, |product, i| product * i);
    let row =
        |row: &[u32]| row.iter().fold(factorial(row.iter().sum()), |ways, &n| ways / factorial(n));
    if columns == 0 {
        UBig::ONE
    } else {
        matrix.chunks(columns).fold(UBig::ONE, |product, r| product * row(r))
    }
}

/// People of one class with the same quasi-identifiers.
struct Kind {
    class: usize,
    /// A row of the table that has them.
    row: u32,
    people: u32,
}

/// The people and what is published of them.
struct Scene<'a> {
    table: &'a Table,
    kinds: Vec<Kind>,
    /// First kind of every class and the end of the last; the last class are those who were left
    /// out.
    first: Vec<usize>,
    /// Per class: tuples of sensitive values, each by a row of the table that has it, with their
    /// counts.
    tuples: Vec<Vec<(u32, u32)>>,
    truth: World,
}

/// Per class: how many people of each kind have each tuple, kind by kind.
type World = Vec<Vec<u32>>;

impl<'a> Scene<'a> {
    fn new(table: &'a Table, form: &Form) -> Scene<'a> {
        let columns =
            |columns: &'a [Vec<u32>]| columns.iter().map(Vec::as_slice).collect::<Vec<&[u32]>>();
        let sizes =
            |a: &[Attribute]| a.iter().map(|a| a.taxonomy.leaves() as u64).collect::<Vec<_>>();
        let number = |codes: &'a [Vec<u32>], attributes: &[Attribute]| {
            if codes.is_empty() {
                vec![0; table.rows()]
            } else {
                number_tuples(&columns(codes), &sizes(attributes)).0
            }
        };
        let quasi_of = number(&table.quasi_codes, &table.quasi);
        let tuple_of = number(&table.sensitive_codes, &table.sensitive);
        let mut scene = Scene {
            table,
            kinds: Vec::new(),
            first: vec![0],
            tuples: Vec::new(),
            truth: Vec::new(),
        };
        let classes: Vec<&[Member]> = match form {
            Form::Generalized(form) => form.classes.iter().map(|c| c.members.as_slice()).collect(),
            Form::Anatomized(form) => form.groups.iter().map(Vec::as_slice).collect(),
        };
        for members in classes.into_iter().chain([form.suppressed()]) {
            scene.add(members, &quasi_of, &tuple_of);
        }
        scene
    }

    /// Adds a class of these members.
    fn add(&mut self, members: &[Member], quasi_of: &[u32], tuple_of: &[u32]) {
        let class = self.tuples.len();
        let distinct = |of: &[u32]| {
            let mut rows: Vec<u32> = members.iter().map(|m| m.row).collect();
            rows.sort_by_key(|&row| of[row as usize]);
            rows.dedup_by_key(|row| of[*row as usize]);
            rows
        };
        let (kinds, tuples) = (distinct(quasi_of), distinct(tuple_of));
        let mut truth = vec![0; kinds.len() * tuples.len()];
        for member in members {
            let place = |rows: &[u32], of: &[u32]| {
                rows.partition_point(|&r| of[r as usize] < of[member.row as usize])
            };
            truth[place(&kinds, quasi_of) * tuples.len() + place(&tuples, tuple_of)] +=
                member.count;
        }
        let people =
            |kind: usize| truth[kind * tuples.len()..(kind + 1) * tuples.len()].iter().sum();
        self.kinds.extend(kinds.iter().enumerate().map(|(i, &row)| Kind {
            class,
            row,
            people: people(i),
        }));
        let count = |t: usize| (0..kinds.len()).map(|k| truth[k * tuples.len() + t]).sum();
        self.tuples.push(tuples.iter().enumerate().map(|(t, &row)| (row, count(t))).collect());
        self.first.push(self.kinds.len());
        self.truth.push(truth);
    }

    fn people(&self, class: usize) -> Vec<u32> {
        self.kinds[self.first[class]..self.first[class + 1]].iter().map(|k| k.people).collect()
    }

    /// The table of a world, its rows in order.
    fn table(&self, world: &World) -> Table {
        let mut rows: Vec<(u32, u32, u32)> = Vec::new();
        for (class, matrix) in world.iter().enumerate() {
            let tuples = &self.tuples[class];
            for (i, &n) in matrix.iter().enumerate().filter(|(_, n)| **n > 0) {
                let kind = &self.kinds[self.first[class] + i / tuples.len()];
                rows.push((kind.row, tuples[i % tuples.len()].0, n));
            }
        }
        let key = |&(quasi, tuple, _): &(u32, u32, u32)| {
            let quasi = self.table.quasi_codes.iter().map(move |c| c[quasi as usize]);
            quasi
                .chain(self.table.sensitive_codes.iter().map(move |c| c[tuple as usize]))
                .collect::<Vec<u32>>()
        };
        rows.sort_by_cached_key(key);
        rows.dedup_by(|next, kept| {
            let same = key(next) == key(kept);
            kept.2 += if same { next.2 } else { 0 };
            same
        });
        let column = |c: &Vec<u32>, row: fn(&(u32, u32, u32)) -> u32| {
            rows.iter().map(|r| c[row(r) as usize]).collect()
        };
        Table {
            quasi: self.table.quasi.clone(),
            sensitive: self.table.sensitive.clone(),
            quasi_codes: self.table.quasi_codes.iter().map(|c| column(c, |r| r.0)).collect(),
            sensitive_codes: self
                .table
                .sensitive_codes
                .iter()
                .map(|c| column(c, |r| r.1))
                .collect(),
            counts: rows.iter().map(|r| r.2).collect(),
            past: None,
        }
    }

    /// All worlds, if they are not more than `most`.
    fn all_worlds(&self, most: u64) -> Option<AllWorlds> {
        let mut number = 1u64;
        let mut classes = Vec::with_capacity(self.tuples.len());
        for (class, tuples) in self.tuples.iter().enumerate() {
            let margins: Vec<u32> = tuples.iter().map(|t| t.1).collect();
            let matrices = matrices(&self.people(class), &margins, most as usize)?;
            number = number.checked_mul(matrices.len() as u64).filter(|&n| n <= most)?;
            classes.push(matrices.into_iter().map(|m| (ways(&m, tuples.len()), m)).collect());
        }
        Some(AllWorlds { classes, number })
    }

    /// A world at random: the values of every class shuffled among its people.
    fn draw(&self, seed: u64, number: u64) -> World {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(number);
        let draw = |class: usize| {
            let tuples = &self.tuples[class];
            let mut hand: Vec<u32> = (0u32..)
                .zip(tuples)
                .flat_map(|(t, &(_, n))| std::iter::repeat_n(t, n as usize))
                .collect();
            hand.shuffle(&mut rng);
            let people = self.people(class);
            let mut matrix = vec![0; people.len() * tuples.len()];
            let owners =
                people.iter().enumerate().flat_map(|(k, &n)| std::iter::repeat_n(k, n as usize));
            hand.into_iter()
                .zip(owners)
                .for_each(|(t, kind)| matrix[kind * tuples.len() + t as usize] += 1);
            matrix
        };
        (0..self.tuples.len()).map(draw).collect()
    }

    /// The values of an attribute in a class, rising.
    fn values(&self, class: usize, attribute: usize) -> Vec<u32> {
        let codes = &self.table.sensitive_codes[attribute];
        let mut values: Vec<u32> = self.tuples[class].iter().map(|t| codes[t.0 as usize]).collect();
        values.sort_unstable();
        values.dedup();
        values
    }

    fn suspects(&self, kind: usize, counted: &Counted, exact: bool, attribute: usize) -> Suspects {
        let &Kind { class, row, people } = &self.kinds[kind];
        let codes = &self.table.sensitive_codes[attribute];
        let tuples = &self.tuples[class];
        let all: u32 = tuples.iter().map(|t| t.1).sum();
        let belief = |value: u32| {
            let mine = |t: &usize| codes[tuples[*t].0 as usize] == value;
            let places: Vec<usize> = (0..tuples.len()).filter(mine).collect();
            let count: u32 = places.iter().map(|&t| tuples[t].1).sum();
            let found = places.iter().fold(UBig::ZERO, |sum, &t| sum + &counted.people[t]);
            let posterior =
                (counted.kept > 0).then(|| Fraction::new(found, &counted.ways * people));
            let error = match &posterior {
                Some(p) if !exact => standard_error(p.to_f64(), counted.kept as f64),
                _ => 0.0,
            };
            Belief { value, random_worlds: Fraction::new(count, all), posterior, error }
        };
        let values = self.values(class, attribute).into_iter().map(belief).collect();
        let codes = self.table.quasi_codes.iter().map(|c| c[row as usize]).collect();
        Suspects { class, codes, people, kept: counted.kept, values }
    }
}

/// The standard error of a share among so many independent draws, which is not nothing where all
/// were alike.
fn standard_error(share: f64, draws: f64) -> f64 {
    let p = (share * draws + 1.0) / (draws + 2.0);
    (p * (1.0 - p) / draws).sqrt()
}
