//! Worked examples about several releases, algorithms and statistics, which the pages of `papers/`
//! cannot tell: they have one table and one policy.

use super::composition::{figure, intersect};
use super::{Item, Part, algorithm, release, requirement};
use scumble::attack::minimality::{Maker, Options as Runs, minimality};
use scumble::attack::statistics::{Line, People, differencing, read};
use scumble::class::{EquivalenceClass, Histogram, Run};
use scumble::failure::{Failure, Failures};
use scumble::inference::witness::{Claim, Explainer, Proof, verify};
use scumble::inference::worlds::{Options as Draws, worlds};
use scumble::inference::{Evidence, Inference, Located, WORK, infer};
use scumble::register::{Register, RegisterColumn};
use scumble::release::{Release, Shape};
use scumble::table::{Attribute, Table};
use scumble::taxonomy::{Intervals, Rule, Taxonomy};

/// The values of the literature and ours.
pub fn examples() -> Result<Vec<Item>, Failures> {
    let mut items = composition()?;
    items.extend(republication()?);
    items.extend(not_bayesian()?);
    items.extend(minimal()?);
    items.extend(differences()?);
    items.extend(super::private::worked());
    Ok(items)
}

pub(super) fn item(
    id: &'static str,
    what: &str,
    paper: &str,
    ours: String,
    settings: &str,
    holds: bool,
) -> Item {
    Item {
        id: id.into(),
        what: what.into(),
        paper: paper.into(),
        ours,
        settings: settings.into(),
        holds: Some(holds),
    }
}

/// A value that must agree to nine digits.
fn value(
    id: &'static str,
    what: &str,
    paper: &str,
    expected: f64,
    ours: f64,
    settings: &str,
) -> Item {
    item(id, what, paper, format!("{ours:.9}"), settings, (ours - expected).abs() < 1e-9)
}

/// G3.1: Table 1 of Ganta et al.; ages in years.
fn composition() -> Result<Vec<Item>, Failures> {
    let first: [Class<'_>; 3] = [
        ((0, 29), &[("AIDS", 1), ("Heart disease", 1), ("Viral infection", 2)]),
        ((30, 39), &[("Cancer", 4)]),
        ((40, 99), &[("Cancer", 1), ("Heart disease", 1), ("Viral infection", 2)]),
    ];
    let second: [Class<'_>; 2] = [
        ((0, 34), &[("AIDS", 1), ("Cancer", 2), ("Flu", 1), ("Tuberculosis", 2)]),
        ((35, 99), &[("Cancer", 3), ("Tuberculosis", 1), ("Viral infection", 2)]),
    ];
    let column = RegisterColumn { name: "age".into(), texts: vec!["28".into()], codes: vec![0] };
    let register = Register::new(vec![column])?;
    let (scene, report) = intersect(by_age(&first)?, by_age(&second)?, &register)?;
    let figure = |name: &str| figure(&report, name);
    let beliefs = report.beliefs.as_ref().map_or(&[][..], |b| b.of(0));
    let left: Vec<&str> = beliefs.iter().map(|&(v, _)| scene.values[v as usize].as_str()).collect();
    let before = format!("{} and {}", figure("ea_1"), figure("ea_2"));
    let settings = "Ganta et al. 2008, Table 1: Alice, 28, is in both hospitals";
    Ok(vec![
        item(
            "G3.1",
            "values that Alice may have, by release",
            "3 and 4",
            before.clone(),
            settings,
            before == "3 and 4",
        ),
        item("G3.1", "in both", "AIDS", left.join(", "), settings, left == ["AIDS"]),
        item(
            "G3.1",
            "values lost",
            "2",
            figure("drop").to_string(),
            settings,
            figure("drop") == 2.0,
        ),
    ])
}

/// Ages of a class, and its values.
type Class<'a> = ((u32, u32), &'a [(&'a str, u64)]);

fn by_age(classes: &[Class<'_>]) -> Result<Release, Failures> {
    let ages: Vec<String> = (0..100).map(|a| a.to_string()).collect();
    let ages: Vec<&str> = ages.iter().map(String::as_str).collect();
    let rule = Rule::Intervals(Intervals::default());
    let age = Attribute::new("age", Taxonomy::generate(&rule, "age", &ages, false)?);
    let mut names: Vec<&str> =
        classes.iter().flat_map(|(_, values)| values.iter().map(|v| v.0)).collect();
    names.sort_unstable();
    names.dedup();
    let taxonomy = Taxonomy::generate(&Rule::Flat, "condition", &names, false)?;
    let class = |&((from, to), values): &Class<'_>| EquivalenceClass {
        region: vec![Run::new(from, to)],
        count: values.iter().map(|v| v.1).sum(),
        histograms: vec![Histogram::of(
            values.iter().filter_map(|&(v, n)| Some((taxonomy.find(v)?, n))),
        )],
    };
    let classes = classes.iter().map(class).collect();
    let sensitive = vec![Attribute::new("condition", taxonomy)];
    let shape = Shape::Regions;
    Ok(Release {
        quasi: vec![age],
        sensitive,
        classes,
        suppressed: 0,
        shape,
        records_by_group: Vec::new(),
        counterfeits: Vec::new(),
        counted: None,
    })
}

/// Groups of people with the values of each, as letters.
type Groups<'a> = &'a [(&'a [u32], &'a str)];

fn evidence(people: u32, releases: &[Groups<'_>]) -> Evidence {
    let histogram = |values: &str| {
        let mut values: Vec<u32> = values.chars().map(u32::from).collect();
        values.sort_unstable();
        values.chunk_by(|a, b| a == b).map(|v| (v[0], v.len() as u64)).collect::<Vec<_>>()
    };
    let groups: Vec<Vec<Vec<(u32, u64)>>> =
        releases.iter().map(|r| r.iter().map(|(_, values)| histogram(values)).collect()).collect();
    let place = |person: u32, release: Groups<'_>| {
        let group = release.iter().position(|(people, _)| people.contains(&person));
        group.map_or_else(Located::absent, |g| Located::at(g as u32))
    };
    Evidence::new(
        &groups,
        (1..=people).map(|p| (1, releases.iter().map(|r| place(p, r)).collect())),
    )
}

fn inferred(evidence: &Evidence) -> Result<Inference, Failure> {
    infer(evidence, WORK, &|_, _| true)
        .map_err(|_| Failure::bug("internal", "a worked example has no world: this is a defect"))
}

const FIRST: Groups<'_> =
    &[(&[1, 2, 3, 4], "DFFP"), (&[5, 6, 7], "DFP"), (&[8, 9, 10], "FHL"), (&[11, 12, 13], "PDH")];
const SECOND: Groups<'_> =
    &[(&[1, 2, 14], "DFP"), (&[3, 4, 15], "DFP"), (&[5, 8, 11], "FHP"), (&[6, 9, 12], "FHP")];

/// G4.1, G4.2 and G4.5: Figure 1 of Wang et al.
fn republication() -> Result<Vec<Item>, Failures> {
    let settings = "Wang et al. 2008, Figure 1: two releases, 15 patients";
    let both = evidence(15, &[FIRST, SECOND]);
    let (one, all) = (inferred(&evidence(13, &[FIRST]))?, inferred(&both)?);
    let certain: Vec<String> = (0..15)
        .filter(|&k| all.forced.certain(&both, k).is_some())
        .map(|k| (k + 1).to_string())
        .collect();
    let counted = worlds(&both, &all.forced.possible, &Draws::default(), &|_, _| true)
        .map_err(|e| Failure::bug("internal", format!("the worlds of a worked example: {e}")))?;
    let ln2 = std::f64::consts::LN_2;
    let explainer = Explainer::new(&both);
    let witness = explainer.why(13, Claim::Impossible(u32::from('F')), None).ok();
    let sum = witness.as_ref().and_then(|w| match &w.proof {
        Proof::Combination(c) => {
            Some(c.facts.iter().map(|(_, n)| n.to_string()).collect::<Vec<_>>().join(", "))
        }
        Proof::Exhaustion => None,
    });
    let sound = witness.as_ref().is_some_and(|w| w.smallest && verify(&both, w));
    let n = 7200.0;
    let alone: Vec<String> =
        [2.0f64, 3.0, 5.0].iter().map(|l| format!("{:.2}", n * l.ln())).collect();
    Ok(vec![
        value(
            "G4.1",
            "entropy of the first release, nats",
            "not printed",
            14.046_393_681,
            one.beliefs.entropy,
            settings,
        ),
        value(
            "G4.1",
            "entropy of both, nats",
            "14 ln 2",
            14.0 * ln2,
            all.beliefs.entropy,
            settings,
        ),
        item(
            "G4.1",
            "patients whose disease is certain",
            "10 (erratum: 7 and 13, too)",
            certain.join(", "),
            settings,
            certain == ["7", "10", "13"],
        ),
        value("G4.1", "worlds", "not counted", 16.0, counted.log_worlds.exp(), settings),
        item(
            "G4.2",
            "facts that show that 14 has no Flu, and their multiples",
            "three",
            sum.clone().unwrap_or_default(),
            settings,
            sound && sum.as_deref() == Some("-1, 1, 1"),
        ),
        item(
            "G4.5",
            "entropy of one release, 7200 people, ℓ = 2, 3, 5",
            "4991, 7910, 11 588",
            alone.join(", "),
            "N ln ℓ; the axes of Figures 2 and 4",
            true,
        ),
    ])
}

/// G4.4: maximum entropy is not the share of worlds.
fn not_bayesian() -> Result<Vec<Item>, Failures> {
    let settings = "two releases of five people; 3 worlds";
    let first: Groups<'_> = &[(&[2, 3, 4], "abb"), (&[1, 5], "ab")];
    let second: Groups<'_> = &[(&[2, 3, 5], "abb"), (&[1, 4], "ab")];
    let evidence = evidence(5, &[first, second]);
    let found = inferred(&evidence)?;
    let belief = found
        .beliefs
        .values(&evidence, 0)
        .find(|(v, _)| *v == u32::from('a'))
        .map_or(0.0, |(_, p)| p);
    let counted = worlds(&evidence, &found.forced.possible, &Draws::default(), &|_, _| true)
        .map_err(|e| Failure::bug("internal", format!("the worlds of a worked example: {e}")))?;
    let share = counted.probability[evidence.outcomes_of(0).start as usize];
    // (1 − p)³ (2 − p) = p⁴.
    let residue = (1.0 - belief).powi(3) * (2.0 - belief) - belief.powi(4);
    Ok(vec![
        item(
            "G4.4",
            "belief of maximum entropy",
            "0.575049",
            format!("{belief:.6}"),
            settings,
            residue.abs() < 1e-9,
        ),
        value("G4.4", "share of worlds", "2/3", 2.0 / 3.0, share, settings),
    ])
}

/// G5.4: the toy of Wong et al.
fn minimal() -> Result<Vec<Item>, Failures> {
    let words = |name: &str, values: &[&str]| -> Result<Attribute, Failures> {
        Ok(Attribute::new(name, Taxonomy::generate(&Rule::Flat, name, values, false)?))
    };
    let (quasi, sensitive) = (words("q", &["q1", "q2"])?, words("disease", &["HIV", "none"])?);
    let columns = vec![vec![0, 0, 1, 1, 1, 1, 1], vec![0, 0, 1, 1, 1, 1, 1]];
    let (table, row_of) = Table::collapse(vec![quasi], vec![sensitive], columns);
    let part = Part { table, row_of };
    let half =
        [("alpha", "0.5".to_owned()), ("k", "1".to_owned()), ("values", "[\"HIV\"]".to_owned())];
    let requirements = [requirement("alpha-k-anonymity", &half)?];
    let how = algorithm("local", &[])?;
    let made = release(&part, &*how, &requirements, 1)?;
    let maker = Maker { algorithm: &*how, requirements: &requirements, seed: 1 };
    let runs = Runs { attribute: 0, runs: 10_000, whole: true, seed: 1 };
    let found = minimality(&part.table, &made.form, &maker, &runs, &|_, _| true)?;
    let show = |f: &scumble::exact::Fraction| f.ratio().map_or_else(String::new, |r| r.to_string());
    let of_q1 = found
        .people
        .iter()
        .find(|s| s.codes == [0])
        .and_then(|s| s.values.iter().find(|b| b.value == 0));
    let (before, after) = of_q1.map_or_else(Default::default, |b| {
        (show(&b.random_worlds), b.posterior.as_ref().map_or_else(String::new, show))
    });
    let settings =
        "after Wong et al. 2007: q1 twice, q2 five times, HIV at most half of a class; `local`";
    Ok(vec![
        item(
            "G5.4",
            "P(HIV | q1) from the class alone",
            "1/2",
            before.clone(),
            settings,
            before == "1/2",
        ),
        item(
            "G5.4",
            "knowing that it generalizes only where it must",
            "1",
            after.clone(),
            settings,
            after == "1",
        ),
    ])
}

/// G2.7: two means that differ by one person.
fn differences() -> Result<Vec<Item>, Failures> {
    let everybody: Vec<String> = (1..=50).map(|p| p.to_string()).collect();
    let (all, others) = (everybody.join(" "), everybody[..49].join(" "));
    let solved = |first: &str, second: &str| -> Result<String, Failures> {
        let line = |number, over, value| Line {
            number,
            statistic: "mean",
            of: "income",
            over,
            value,
            people: "",
            noise: "",
            unit: "0",
        };
        let published =
            read(&[line(1, &all, first), line(2, &others, second)], Some(&mut People::named()))?;
        let found = differencing(&published, 5)?;
        let one = found.disclosures.iter().find(|d| d.people.len() == 1);
        Ok(one.map_or_else(String::new, |d| d.formula(&published)))
    };
    let (exact, noisy) = (solved("732", "728")?, solved("735.4", "726.8")?);
    let settings = "mean incomes of 50 people and of 49 of them";
    Ok(vec![
        item(
            "G2.7",
            "the income of the fiftieth",
            "928 (the second mean is misprinted as 648)",
            exact.clone(),
            settings,
            exact.ends_with("= 928"),
        ),
        item(
            "G2.7",
            "with noise of 3.4 and −1.2",
            "1156.8",
            noisy.clone(),
            settings,
            noisy.ends_with("= 1156.8"),
        ),
    ])
}
