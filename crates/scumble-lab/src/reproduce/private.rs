//! Differential privacy: worked examples, and the attacks on releases and on noisy answers side by
//! side.

use super::composition::{figure, intersect, people};
use super::examples::item;
use super::{Findings, Item, Laboratory, algorithm, percent, release, requirement};
use hashbrown::HashMap;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use scumble::dp::accountant::{Spend, bounds, total};
use scumble::dp::dice::Fair;
use scumble::dp::laplace::Laplace;
use scumble::dp::query::{NoiseKind, Price};
use scumble::dp::randomized_response::Survey;
use scumble::dp::semantics::{
    Finite, by_odds, lemma_19, proposition_15, random_record, smallest_delta,
    statistical_difference, theorem_16,
};
use scumble::dp::synthetic::Recipe;
use scumble::exact::Fraction;
use scumble::failure::Failures;
use scumble::query::{Bound, errors};
use scumble::release::Release;
use scumble::table::Table;
use std::collections::BTreeMap;

fn fraction(text: &str) -> Fraction {
    Fraction::parse(text).unwrap_or_else(|| Fraction::whole(0))
}

/// A value that must agree with the paper's digits.
fn digits(id: &'static str, what: &str, paper: &str, ours: f64, settings: &str) -> Item {
    let decimals = paper.split_once('.').map_or(0, |(_, d)| d.len());
    let shown = format!("{ours:.decimals$}");
    let holds = shown == paper;
    item(id, what, paper, shown, settings, holds)
}

/// G2.6, G3.2 to G3.5 and G5.7.
pub(super) fn worked() -> Vec<Item> {
    [coins(), meaning(), games(), compositions()].concat()
}

fn coins() -> Vec<Item> {
    let (survey, settings) = (Survey::two_coins(), "two coins; 1000 people, 300 of them yes");
    let epsilon = survey.factor().to_f64().ln();
    vec![
        digits("G2.6", "ε of two coins", "1.098612289", epsilon, settings),
        item(
            "G2.6",
            "estimate from 400 answers of yes",
            "300",
            survey.estimate(400, 1000).to_string(),
            settings,
            survey.estimate(400, 1000).to_string() == "300",
        ),
    ]
}

fn meaning() -> Vec<Item> {
    let settings = "Ganta et al. 2008, section 4.1";
    let empty = theorem_16(0.5, 0.0, 1).0;
    vec![
        digits(
            "G3.2",
            "Proposition 15 at ε = 0.1",
            "0.105170918",
            proposition_15(0.1).at_most,
            settings,
        ),
        digits(
            "G3.2",
            "Theorem 16 at ε = 0.1, δ = 1e-6",
            "0.351858808",
            theorem_16(0.1, 1e-6, 1).0.at_most,
            settings,
        ),
        digits("G3.2", "δ″ of Lemma 19 there", "0.001018097", lemma_19(0.1, 1e-6).2, settings),
        item(
            "G3.2",
            "Theorem 16 at ε = 0.5: empty; the odds form",
            "",
            format!("{:.2}; {:.4}", empty.at_most, by_odds(0.5).at_most),
            "a bound of 1 or more says nothing; that by odds never is",
            empty.empty && !by_odds(0.5).empty,
        ),
    ]
}

fn games() -> Vec<Item> {
    let survey = Survey::two_coins();
    let mechanism = Finite::new(1, 2, |r| (0..2).map(|t| survey.chance(t, r[0] as u64)).collect());
    let prior = [fraction("1/2"), fraction("1/2")];
    let posteriors = mechanism.posteriors(&prior, 1, 0);
    let shown = |i: usize| posteriors[i].as_ref().map_or(String::new(), |p| p[1].to_string());
    let sanitizer = random_record(4, 2);
    let apart = |(a, b): &(usize, usize)| {
        statistical_difference(&sanitizer.chances[*a], &sanitizer.chances[*b])
    };
    let delta = |(a, b): &(usize, usize)| {
        smallest_delta(&sanitizer.chances[*a], &sanitizer.chances[*b], &Fraction::whole(1_000_000))
    };
    let neighbours = sanitizer.neighbours();
    let quarter = fraction("1/4");
    let both = neighbours.iter().all(|n| apart(n) == quarter && delta(n) == quarter)
        && sanitizer.factor().is_none();
    vec![
        item(
            "G3.5",
            "belief in yes after yes, with and without the record",
            "3/4 and 1/2",
            format!("{} and {}", shown(0), shown(1)),
            "two coins, prior 1/2",
            shown(0) == "0.75" && shown(1) == "0.5",
        ),
        item(
            "G3.4",
            "publish one of n records: total variation; ε",
            "1/n; none",
            format!(
                "{}; {}",
                if both { "1/n" } else { "?" },
                if sanitizer.factor().is_none() { "none" } else { "?" }
            ),
            "n = 4; δ stays 1/n however large ε is",
            both,
        ),
    ]
}

fn compositions() -> Vec<Item> {
    let spends = vec![Spend::Pure { epsilon: fraction("0.1") }; 100];
    let delta = fraction("1e-5");
    let settings = "100 answers of ε = 0.1, δ = 1e-5";
    let all = bounds(&spends, &delta);
    let of = |name: &str| {
        all.iter().find(|b| b.name == name).and_then(|b| b.epsilon).unwrap_or(f64::NAN)
    };
    let mut items: Vec<Item> = [
        ("basic", "10"),
        ("advanced", "5.850235"),
        ("zcdp", "5.298526"),
        ("kairouz", "5.298110"),
        ("optimal", "4.306791"),
    ]
    .iter()
    .map(|(name, paper)| digits("G5.7", &format!("{name} composition"), paper, of(name), settings))
    .collect();
    let ten = vec![Spend::Pure { epsilon: Fraction::whole(1) }; 10];
    let best = total(&ten, &fraction("1e-6")).and_then(|b| b.epsilon).unwrap_or(f64::NAN);
    items.push(digits(
        "G5.7",
        "the least bound",
        "9.999977",
        best,
        "10 answers of ε = 1, δ = 1e-6; advanced says 33.8",
    ));
    items
}

/// Attacks that work on exact answers and on k-anonymous releases, and fail on private ones.
pub(super) fn privacy(laboratory: &Laboratory<'_>) -> Result<Findings, Failures> {
    let mut findings = Findings::default();
    let mut dice = Fair(ChaCha20Rng::seed_from_u64(laboratory.seed));
    findings.items.extend(averaging(&mut dice));
    findings.items.push(differencing(&mut dice));
    findings.items.extend(intersection(laboratory, &mut dice)?);
    findings.items.extend(workload(laboratory, &mut dice)?);
    Ok(findings)
}

fn noisy(value: i64, sensitivity: u64, epsilon: &Fraction, dice: &mut Fair<ChaCha20Rng>) -> f64 {
    let noise = Laplace { sensitivity: sensitivity.into(), epsilon: epsilon.clone() };
    noise.draw(&value.into(), dice).to_f64().value()
}

/// The root mean square of some errors.
fn typical(errors: impl Iterator<Item = f64>) -> f64 {
    let (n, sum) = errors.fold((0.0, 0.0), |(n, sum), e| (n + 1.0, sum + e * e));
    (sum / f64::max(n, 1.0)).sqrt()
}

/// So often an experiment with a single draw is repeated.
const REPEATED: usize = 100;

/// S2-23: the same count asked a thousand times, each for ε = 1, or all for ε = 1 together.
fn averaging(dice: &mut Fair<ChaCha20Rng>) -> Vec<Item> {
    let times = 1000u64;
    let mut mean = |epsilon: &Fraction| {
        (0..times).map(|_| noisy(500, 1, epsilon, dice)).sum::<f64>() / times as f64 - 500.0
    };
    let without = typical((0..REPEATED).map(|_| mean(&Fraction::whole(1))));
    let within = typical((0..REPEATED).map(|_| mean(&Fraction::new(1u8, times))));
    let settings = "one count asked 1000 times and averaged; 100 times";
    vec![
        item(
            "S2-23",
            "error without a budget, ε = 1 each time",
            "noise averages out",
            format!("{without:.3}, so the count is known"),
            settings,
            without < 0.5,
        ),
        item(
            "S2-23",
            "error within a budget of ε = 1",
            "the budget refuses",
            format!("{within:.1}: as many answers as fit tell no more than one"),
            settings,
            within > 10.0,
        ),
    ]
}

/// G2.7 with calibrated noise: incomes up to 10 000, of 50 people and of 49.
fn differencing(dice: &mut Fair<ChaCha20Rng>) -> Item {
    let half = fraction("1/2");
    let (all, others) = (50 * 732i64, 49 * 728i64);
    let exact = all - others;
    let mut guess = || noisy(all, 10_000, &half, dice) - noisy(others, 10_000, &half, dice);
    let error = typical((0..REPEATED).map(|_| guess() - exact as f64));
    item(
        "G2.7",
        "income of the tutor from two sums, exact; error of the noisy ones",
        "928; far off",
        format!("{exact}; {error:.0}"),
        "incomes within [0, 10 000], ε = 1/2 for each sum; 100 times",
        exact == 928 && error > 10_000.0,
    )
}

/// A synthetic table of the same attributes.
fn made_up(table: &Table, epsilon: &str, dice: &mut Fair<ChaCha20Rng>) -> Table {
    let attributes = || table.quasi.iter().chain(&table.sensitive);
    let spread = |codes: &Vec<u32>| -> Vec<u32> {
        codes
            .iter()
            .zip(&table.counts)
            .flat_map(|(&c, &n)| std::iter::repeat_n(c, n as usize))
            .collect()
    };
    let data: Vec<Vec<u32>> =
        table.quasi_codes.iter().chain(&table.sensitive_codes).map(spread).collect();
    let data: Vec<&[u32]> = data.iter().map(Vec::as_slice).collect();
    let price =
        Price { epsilon: fraction(epsilon), delta: fraction("1e-9"), noise: NoiseKind::Gaussian };
    let sizes: Vec<usize> = attributes().map(|a| a.taxonomy.leaves()).collect();
    let made = Recipe { sizes, rows: 1, price, pairs: Vec::new() }.synthesize(&data, dice);
    Table::collapse(table.quasi.clone(), table.sensitive.clone(), made.columns).0
}

/// Two releases that share people, intersected: 5-anonymous ones, and synthetic ones.
fn intersection(
    laboratory: &Laboratory<'_>,
    dice: &mut Fair<ChaCha20Rng>,
) -> Result<Vec<Item>, Failures> {
    let records = laboratory.shuffled(&mut laboratory.rng(20));
    let third = records.len() / 3;
    // The middle part of the first two thirds is in both samples, the last third in none.
    let (first, second) = (&records[..third * 4 / 3], &records[third * 2 / 3..third * 2]);
    let (shared, absent) = (&records[third * 2 / 3..third * 4 / 3], &records[third * 2..]);
    let (first, second) = (laboratory.part(first), laboratory.part(second));
    let k = [requirement("k-anonymity", &[("k", "5".into())])?];
    let how = algorithm("mondrian", &[])?;
    let made = [release(&first, &*how, &k, 1)?, release(&second, &*how, &k, 2)?];
    let [a, b] = made.map(|m| m.release);
    let (_, report) = intersect(a, b, &people(laboratory, shared)?)?;
    let tables = [made_up(&first.table, "1", dice), made_up(&second.table, "1", dice)];
    let guesses = commonest(&tables);
    let found = |people: &[u32]| {
        let right = |r: &&u32| {
            let row = laboratory.row_of[**r as usize] as usize;
            let person: Vec<u32> = laboratory.table.quasi_codes.iter().map(|c| c[row]).collect();
            guesses.get(&person) == Some(&laboratory.sensitive(**r))
        };
        people.iter().filter(right).count() as f64 / people.len().max(1) as f64
    };
    let (members, strangers) = (found(shared), found(absent));
    let settings = format!(
        "two samples that share {} people; the adversary knows their quasi-identifiers",
        shared.len()
    );
    Ok(vec![
        Item {
            id: "S3-11".into(),
            what: "two 5-anonymous releases: people whose value is certain".into(),
            paper: "above 0".into(),
            ours: percent(figure(&report, "pvp_100")),
            settings: settings.clone(),
            holds: None,
        },
        Item {
            id: "S3-11".into(),
            what: "two synthetic tables: values guessed right, of people in both and of people in none".into(),
            paper: "the same".into(),
            ours: format!("{} and {}", percent(members), percent(strangers)),
            settings: format!("{settings}; ε = 1, δ = 1e-9 each; the commonest value among matching records"),
            holds: Some((members - strangers).abs() < 0.05),
        },
    ])
}

/// The commonest value among the made-up records with the same quasi-identifiers, for those that
/// occur.
fn commonest(tables: &[Table; 2]) -> HashMap<Vec<u32>, u32> {
    let mut counts: HashMap<Vec<u32>, BTreeMap<u32, u64>> = HashMap::new();
    for table in tables {
        for row in 0..table.rows() {
            let person = table.quasi_codes.iter().map(|c| c[row]).collect();
            let values = counts.entry(person).or_default();
            *values.entry(table.sensitive_codes[0][row]).or_insert(0) +=
                u64::from(table.counts[row]);
        }
    }
    let best = |values: BTreeMap<u32, u64>| {
        values.into_iter().max_by_key(|&(_, n)| n).map_or(0, |(value, _)| value)
    };
    counts.into_iter().map(|(person, values)| (person, best(values))).collect()
}

/// Random COUNT queries asked of a synthetic table, of Mondrian and of anatomy.
fn workload(
    laboratory: &Laboratory<'_>,
    dice: &mut Fair<ChaCha20Rng>,
) -> Result<Vec<Item>, Failures> {
    let part = laboratory.part(&(0..laboratory.row_of.len() as u32).collect::<Vec<_>>());
    let table = &part.table;
    let (quasi, sensitive): (Vec<_>, Vec<_>) =
        (table.quasi.iter().collect(), table.sensitive.iter().collect());
    let queries =
        scumble_publisher::publish::compare::RANDOM.draw(&quasi, &sensitive, 500, laboratory.seed);
    let bound: Vec<Bound> =
        queries.iter().map(|q| q.bind(&table.quasi, &table.sensitive)).collect::<Result<_, _>>()?;
    let median = |release: &Release| errors(&bound, table, release).median;
    let k = [requirement("k-anonymity", &[("k", "5".into())])?];
    let l = [requirement("distinct-l-diversity", &[("l", "3".into())])?];
    let mondrian = median(&release(&part, &*algorithm("mondrian", &[])?, &k, 1)?.release);
    let anatomy =
        release(&part, &*algorithm("anatomy", &[("l", "3")])?, &l, 1).map(|m| median(&m.release));
    let settings = "500 random COUNT queries, median relative error";
    let mut items = vec![format!("Mondrian, k = 5: {}", percent(mondrian))];
    items.extend(anatomy.ok().map(|e| format!("anatomy, ℓ = 3: {}", percent(e))));
    for epsilon in ["1", "10"] {
        let made = Release::unchanged(&made_up(table, epsilon, dice));
        items.push(format!("synthetic, ε = {epsilon}: {}", percent(median(&made))));
    }
    Ok(vec![Item {
        id: "use".into(),
        what: "error of counts".into(),
        paper: String::new(),
        ours: items.join("; "),
        settings: settings.into(),
        holds: None,
    }])
}
