//! The minimality attack: the toy of its paper, brute force, and algorithms that tell nothing.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use scumble::attack::minimality::{Maker, Minimality, Options, minimality};
use scumble::exact::Fraction;
use scumble::policy::Policy;
use scumble::publish::{Made, Outcome, make};
use scumble::table::{Attribute, Table};
use scumble::taxonomy::{Rule, Taxonomy};
use std::collections::BTreeSet;

const OPTIONS: Options = Options { attribute: 0, runs: 20_000, whole: true, seed: 1 };

/// A policy about the quasi-identifiers A, B, … and the sensitive S.
fn policy(quasi: usize, model: &str, algorithm: &str) -> Policy {
    let names = &["A", "B"][..quasi];
    let attributes: String = names
        .iter()
        .map(|n| format!("{n} = {{ role = \"quasi-identifier\", taxonomy = \"flat\" }}\n"))
        .collect();
    let text = format!(
        "source = \"x.csv\"\n[attributes]\n{attributes}S = \"sensitive\"\n[[models]]\n{model}\n[algorithm]\n\
         {algorithm}\n[release]\nto = \"x\"\n"
    );
    Policy::parse("test.toml", &text).unwrap_or_else(|p| panic!("{p}"))
}

/// A table of words; the last is the sensitive one.
fn table(records: &[Vec<&str>]) -> Table {
    let columns = records[0].len();
    let (mut attributes, mut codes) = (Vec::new(), Vec::new());
    for (i, name) in ["A", "B"][..columns - 1].iter().chain(&["S"]).enumerate() {
        let words: BTreeSet<&str> = records.iter().map(|r| r[i]).collect();
        let words: Vec<&str> = words.into_iter().collect();
        let taxonomy = Taxonomy::generate(&Rule::Flat, name, &words, false).expect("words");
        codes.push(records.iter().map(|r| taxonomy.find(r[i]).expect("a word")).collect());
        attributes.push(Attribute::new(name, taxonomy));
    }
    let sensitive = attributes.split_off(columns - 1);
    Table::collapse(attributes, sensitive, codes).0
}

fn made(table: &Table, policy: &Policy) -> Option<Box<Made>> {
    match make(table, &*policy.algorithm.algorithm, &policy.requirements, 1, &|_, _| true) {
        Outcome::Made(made) => Some(made),
        Outcome::Refused(_) => None,
    }
}

fn attack(table: &Table, made: &Made, policy: &Policy, options: &Options) -> Minimality {
    let maker = Maker {
        algorithm: &*policy.algorithm.algorithm,
        requirements: &policy.requirements,
        seed: 1,
    };
    minimality(table, &made.form, &maker, options, &|_, _| true).unwrap_or_else(|p| panic!("{p}"))
}

const HALF: &str = "name = \"alpha-k-anonymity\"\nalpha = 0.5\nk = 1\nvalues = [\"HIV\"]";

fn toy() -> Table {
    let records = ["q1 HIV", "q1 HIV", "q2 none", "q2 none", "q2 none", "q2 none", "q2 none"];
    table(&records.map(|r| r.split(' ').collect()))
}

/// What is believed of HIV by the people with this quasi-identifier in this class: random worlds,
/// and posterior.
fn hiv(found: &Minimality, class: usize, code: u32) -> (Fraction, Option<Fraction>) {
    let people =
        found.people.iter().find(|s| s.class == class && s.codes == [code]).expect("people");
    let belief = people.values.iter().find(|b| b.value == 0).expect("HIV is in the class");
    (belief.random_worlds.clone(), belief.posterior.clone())
}

#[test]
fn the_toy_of_the_paper() {
    let table = toy();
    // Local recoding takes no more than two of q2 to hide the two of q1, as in the paper.
    let by_local = policy(1, HALF, "name = \"local\"");
    let release = made(&table, &by_local).expect("a release");
    let classes: Vec<_> =
        release.release.classes.iter().map(|c| (c.count, c.histograms[0].0.clone())).collect();
    assert_eq!(classes, [(4, vec![(0, 2), (1, 2)]), (3, vec![(1, 3)])]);
    let found = attack(&table, &release, &by_local, &OPTIONS);
    assert!(found.exact);
    assert_eq!((found.runs, found.reproduced), (3, 1));
    assert_eq!(hiv(&found, 0, 0), (Fraction::new(1u8, 2u8), Some(Fraction::whole(1))));
    assert_eq!(hiv(&found, 0, 1), (Fraction::new(1u8, 2u8), Some(Fraction::whole(0))));
    let (whose, of) = found.largest_gain().expect("a gain");
    assert_eq!((whose.codes[0], of.value, of.gain()), (0, 0, 0.5));
    // The others generalize everybody, and tell the same by it.
    for algorithm in [
        "mondrian",
        "lattice",
        "incognito",
        "samarati",
        "datafly",
        "top-down",
        "bottom-up",
        "sibling",
    ] {
        let policy = policy(1, HALF, &format!("name = \"{algorithm}\""));
        let release = made(&table, &policy).expect("a release");
        let found = attack(&table, &release, &policy, &OPTIONS);
        assert_eq!(
            hiv(&found, 0, 0),
            (Fraction::new(2u8, 7u8), Some(Fraction::whole(1))),
            "{algorithm}"
        );
    }
}

/// A class, quasi-identifiers, and the posterior of each value.
type Told = (usize, Vec<u32>, Vec<(u32, Fraction)>);

/// The posteriors by trying all permutations.
fn brute_force(table: &Table, made: &Made, policy: &Policy) -> Vec<Told> {
    let scumble::release::Form::Generalized(form) = &made.form else { panic!("generalized") };
    let mut records: Vec<(usize, Vec<u32>, u32)> = Vec::new();
    for (class, members) in form.classes.iter().enumerate() {
        for m in &members.members {
            let codes: Vec<u32> = table.quasi_codes.iter().map(|c| c[m.row as usize]).collect();
            let record = (class, codes, table.sensitive_codes[0][m.row as usize]);
            records.extend(std::iter::repeat_n(record, m.count as usize));
        }
    }
    let mut kept: Vec<Vec<u32>> = Vec::new();
    let mut values: Vec<u32> = records.iter().map(|r| r.2).collect();
    permute(&mut values, 0, &|i, j| records[i].0 == records[j].0, &mut |values| {
        // The order of rows must not tell worlds apart.
        let mut rows: Vec<Vec<u32>> = records
            .iter()
            .zip(values)
            .map(|(r, &v)| r.1.iter().copied().chain([v]).collect())
            .collect();
        rows.sort_unstable();
        let columns =
            (0..=table.quasi.len()).map(|c| rows.iter().map(|r| r[c]).collect()).collect();
        let (world, _) = Table::collapse(table.quasi.clone(), table.sensitive.clone(), columns);
        let again = self::made(&world, policy);
        if again.is_some_and(|again| again.release.classes == made.release.classes) {
            kept.push(values.to_vec());
        }
    });
    let kinds: BTreeSet<(usize, Vec<u32>)> = records.iter().map(|r| (r.0, r.1.clone())).collect();
    let posterior = |(class, codes): (usize, Vec<u32>)| {
        let mine: Vec<usize> = (0..records.len())
            .filter(|&i| records[i].0 == class && records[i].1 == codes)
            .collect();
        let values: BTreeSet<u32> = records.iter().filter(|r| r.0 == class).map(|r| r.2).collect();
        let share = |v: u32| {
            let count =
                kept.iter().map(|w| mine.iter().filter(|&&i| w[i] == v).count()).sum::<usize>();
            (v, Fraction::new(count, kept.len() * mine.len()))
        };
        let shares = values.into_iter().map(share).collect();
        (class, codes, shares)
    };
    kinds.into_iter().map(posterior).collect()
}

/// Every order of the values that only swaps those for which it is allowed; equal values count as
/// different.
fn permute(
    values: &mut [u32],
    at: usize,
    may: &dyn Fn(usize, usize) -> bool,
    see: &mut dyn FnMut(&[u32]),
) {
    if at == values.len() {
        return see(values);
    }
    for other in at..values.len() {
        if may(at, other) {
            values.swap(at, other);
            permute(values, at + 1, may, see);
            values.swap(at, other);
        }
    }
}

fn random(seed: u64, records: usize) -> Table {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut word = |words: &[&'static str]| words[rng.random_range(0..words.len())];
    let mut records: Vec<Vec<&str>> = (0..records)
        .map(|_| vec![word(&["a", "b", "c"]), word(&["x", "y"]), word(&["1", "2", "3"])])
        .collect();
    records.sort_unstable();
    table(&records)
}

#[test]
fn posteriors_equal_brute_force() {
    let models = [
        "name = \"distinct-l-diversity\"\nl = 2",
        "name = \"alpha-k-anonymity\"\nalpha = 0.6\nk = 2",
        "name = \"entropy-l-diversity\"\nl = 1.7",
    ];
    let algorithms = ["mondrian", "lattice", "local", "top-down", "datafly"];
    let (mut tried, mut gained) = (0, 0);
    for seed in 0..40u64 {
        let table = random(seed, 6);
        let policy = policy(
            2,
            models[seed as usize % 3],
            &format!("name = \"{}\"", algorithms[seed as usize % 5]),
        );
        let Some(made) = made(&table, &policy).filter(|m| m.form.suppressed().is_empty()) else {
            continue;
        };
        let found = attack(&table, &made, &policy, &OPTIONS);
        assert!(found.exact);
        let mut told: Vec<_> = found
            .people
            .iter()
            .map(|s| {
                let values = s
                    .values
                    .iter()
                    .map(|b| (b.value, b.posterior.clone().expect("the truth is kept")));
                (s.class, s.codes.clone(), values.collect::<Vec<_>>())
            })
            .collect();
        told.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
        assert_eq!(told, brute_force(&table, &made, &policy), "seed {seed}");
        tried += 1;
        gained += usize::from(found.largest_gain().is_some_and(|(_, b)| b.gain() > 0.0));
    }
    assert!(tried > 20 && gained > 5, "{tried} {gained}");
}

#[test]
fn who_does_not_look_at_sensitive_values_tells_nothing() {
    for (seed, algorithm) in (0..).zip([
        "mondrian",
        "lattice",
        "incognito",
        "samarati",
        "datafly",
        "k-optimize",
        "bottom-up",
    ]) {
        let table = random(seed, 7);
        let policy = policy(2, "name = \"k-anonymity\"\nk = 2", &format!("name = \"{algorithm}\""));
        let Some(made) = made(&table, &policy) else { continue };
        let found = attack(&table, &made, &policy, &OPTIONS);
        assert!(found.exact && found.reproduced == found.runs, "{algorithm}");
        for belief in found.people.iter().flat_map(|s| &s.values) {
            assert_eq!(belief.posterior.as_ref(), Some(&belief.random_worlds), "{algorithm}");
        }
    }
}

#[test]
fn drawn_worlds_come_near_and_say_how_near() {
    let mut compared = 0;
    for seed in 0..30 {
        let table = random(seed, 10);
        let policy = policy(2, "name = \"distinct-l-diversity\"\nl = 2", "name = \"mondrian\"");
        let Some(made) = made(&table, &policy) else { continue };
        let exact = attack(&table, &made, &policy, &OPTIONS);
        if !exact.exact || exact.runs < 10 {
            continue;
        }
        for whole in [true, false] {
            let options = Options { whole, runs: exact.runs - 1, ..OPTIONS };
            let drawn = attack(&table, &made, &policy, &options);
            assert!(!drawn.exact && drawn.runs == exact.runs - 1);
            for (a, b) in drawn.people.iter().zip(&exact.people).filter(|_| whole) {
                for (a, b) in a.values.iter().zip(&b.values) {
                    let (Some(p), Some(q)) = (&a.posterior, &b.posterior) else { continue };
                    assert!((p.to_f64() - q.to_f64()).abs() < 5.0 * a.error, "seed {seed}");
                    compared += 1;
                }
            }
            assert_eq!(drawn, attack(&table, &made, &policy, &options));
        }
    }
    assert!(compared > 20, "{compared}");
}
