//! The law over random tables, for every algorithm and every model that applies.

use super::{checked, publish, verified, write};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use scumble::catalogue::{ALGORITHMS, Kind, MODELS, Parameter};
use scumble_publisher::answer::{Outcome, VerifyOutcome};
use scumble_publisher::failure::FailureKind;
use std::fmt::Write;
use std::path::Path;

/// The rules of each quasi-identifier that are tried.
const AGES: [&str; 3] =
    ["{ number = true }", "{ intervals = [5, 10], high = 50 }", "{ intervals = [10] }"];
const ZIPS: [&str; 4] = [
    "{ prefix = true }",
    "{ prefix = [3] }",
    "{ prefix = true, length = 5 }",
    "{ prefix = [3], length = 9 }",
];
const JOBS: [&str; 3] = [
    "{ flat = true }",
    "\"jobs.csv\"",
    "{ nested = { Arts = [\"Writer\", \"Dancer\"], Law = [\"Judge\"] } }",
];
const DAYS: [&str; 2] = ["{ dates = [\"month\", \"year\"] }", "{ dates = [\"year\", \"decade\"] }"];

fn pick<'a>(random: &mut ChaCha8Rng, from: &[&'a str]) -> &'a str {
    from[random.random_range(0..from.len())]
}

/// An extract, a register and a reference.
fn tables(folder: &Path, random: &mut ChaCha8Rng) {
    let ages = ["17", "20", "22", "25", "30", "31", "48", "55", "61"];
    let zips = ["43101", "43107", "43210", "52001", "52002"];
    let jobs = ["Writer", "Dancer", "Judge"];
    let days = ["1961-03-05", "1961-03-06", "1961-11-30", "1970-05-01", "1983-12-31"];
    let diseases = ["flu", "hiv", "tb", "hd"];
    let missing = random.random_bool(0.3);
    let kinds = random.random_range(2..5);
    let (mut data, mut register, mut reference) = (
        "id,age,zip,job,day,dis,ward\n".to_owned(),
        "age,zip,job,people\n".to_owned(),
        "age,dis,people\n".to_owned(),
    );
    for i in 0..random.random_range(4..14) {
        let job = if missing && random.random_bool(0.2) { "" } else { pick(random, &jobs) };
        let (age, zip, day) = (pick(random, &ages[..6]), pick(random, &zips), pick(random, &days));
        let _ = writeln!(
            data,
            "p{i},{age},{zip},{job},{day},{},w{}",
            pick(random, &diseases[..kinds]),
            i % 3
        );
        let _ = writeln!(register, "{age},{zip},{job},{}", random.random_range(1..4));
    }
    for _ in 0..random.random_range(0..6) {
        let _ = writeln!(
            register,
            "{},{},{},{}",
            pick(random, &ages),
            pick(random, &zips),
            pick(random, &["Writer", "Judge", "Painter", "Notary", "Actor"]),
            random.random_range(1..50)
        );
    }
    for age in ages {
        diseases.iter().for_each(|d| {
            let _ = writeln!(reference, "{age},{d},{}", random.random_range(1..4));
        });
    }
    write(folder, "data.csv", &data);
    write(folder, "register.csv", &register);
    write(folder, "reference.csv", &reference);
    write(
        folder,
        "jobs.csv",
        "Writer;Arts;*\nDancer;Arts;*\nPainter;Arts;*\nJudge;Law;*\nNotary;Law;*\n",
    );
}

/// A value of a required parameter that is easily kept.
fn lenient(model: &str, p: &Parameter) -> String {
    match p.kind {
        // Of what an adversary knows the least, of what is asked a little.
        Kind::Count(least, _) if ["privacy-skyline", "negation-robustness"].contains(&model) => {
            least.to_string()
        }
        Kind::Count(least, _) => least.max(2).to_string(),
        Kind::Number(_, Some(_)) => "0.9".into(),
        Kind::Number(..) => "3".into(),
        Kind::Register if model == "bayes-optimal" => "\"reference.csv\"".into(),
        Kind::Register => "\"register.csv\"".into(),
        Kind::Values => "[\"flu\"]".into(),
        Kind::Guard => "\"guard\"".into(),
        Kind::Choice(words) => format!("\"{}\"", words[0]),
        Kind::Text(example) => {
            format!("\"{}\"", if model == "predicate" { "size >= 2" } else { example })
        }
        Kind::Sensitive => "\"dis\"".into(),
    }
}

/// A policy with this model and algorithm.
fn policy(random: &mut ChaCha8Rng, model: usize, algorithm: usize) -> String {
    let (model, algorithm) = (&MODELS[model], &ALGORITHMS[algorithm]);
    let mut text = String::from("source = \"data.csv\"\nledger = false\n[attributes]\n");
    text += "id = { role = \"identifier\", person = true }\nward = \"insensitive\"\n";
    let rules =
        [("age", pick(random, &AGES)), ("zip", pick(random, &ZIPS)), ("job", pick(random, &JOBS))];
    for (name, rule) in rules.into_iter().chain([("day", pick(random, &DAYS))]) {
        let _ = writeln!(text, "{name} = {{ role = \"quasi-identifier\", taxonomy = {rule} }}");
    }
    text += "dis = \"sensitive\"\n";
    let _ = writeln!(text, "[[models]]\nname = \"{}\"", model.name);
    // A register is asked for where it may be.
    let wanted = |p: &&Parameter| p.default.is_none() || matches!(p.kind, Kind::Register);
    for p in model.parameters.iter().filter(wanted) {
        let _ = writeln!(text, "{} = {}", p.name, lenient(model.name, p));
    }
    let _ = writeln!(text, "[algorithm]\nname = \"{}\"", algorithm.name);
    for p in algorithm.parameters.iter().filter(|p| p.default.is_none()) {
        let _ = writeln!(text, "{} = {}", p.name, lenient(algorithm.name, p));
    }
    let format = if random.random_bool(0.2) { "parquet" } else { "csv" };
    let _ = writeln!(text, "[release]\nto = \"release\"\nformat = \"{format}\"");
    text
}

#[test]
fn what_is_certified_is_what_is_measured() {
    let mut published = vec![0u32; MODELS.len()];
    let mut wrong = Vec::new();
    for case in 0..(MODELS.len() * ALGORITHMS.len()) as u64 {
        let (model, algorithm) =
            (case as usize % MODELS.len(), case as usize / MODELS.len() % ALGORITHMS.len());
        let mut random = ChaCha8Rng::seed_from_u64(case);
        let folder = tempfile::tempdir().expect("a temporary folder");
        tables(folder.path(), &mut random);
        let text = policy(&mut random, model, algorithm);
        write(folder.path(), "policy.toml", &text);
        let path = folder.path().join("policy.toml");
        match agree(&path, &folder.path().join("release")) {
            Ok(made) => published[model] += u32::from(made),
            Err(difference) => wrong.push(format!("case {case}: {difference}\n{text}")),
        }
    }
    assert!(wrong.is_empty(), "{} cases, the first:\n{}", wrong.len(), wrong[0]);
    // The law says nothing of models that were never published. Those that are left out need
    // columns of their own.
    let needs_more = ["personalized-privacy", "ff-anonymity"];
    let never = MODELS
        .iter()
        .zip(published)
        .filter(|(entry, n)| *n == 0 && !needs_more.contains(&entry.name));
    let never: Vec<&str> = never.map(|(entry, _)| entry.name).collect();
    assert!(never.is_empty(), "never published: {never:?}");
}

/// Whether a release was made; an error if its figures are not the same for everybody.
fn agree(policy: &Path, release: &Path) -> Result<bool, String> {
    let dry = publish(policy, true);
    let answer = match publish(policy, false) {
        Err(problem) if problem.contains("please report") => return Err(problem),
        // The policy does not go with the method or the table.
        Err(_) => return Ok(false),
        Ok(answer) => answer,
    };
    // A mistake in the policy or the data is a failure, which nobody takes for an answer.
    if let Some(reason) = answer.reasons.iter().find(|r| r.kind != FailureKind::Refused) {
        return Err(format!("refused for a reason of kind {:?}: {}", reason.kind, reason.message));
    }
    if answer.outcome != Outcome::Published {
        return Ok(false);
    }
    let figures = |models: &[scumble_publisher::answer::Model]| {
        let shown = |m: &scumble_publisher::answer::Model| {
            let mut m = m.public();
            m.witness = None;
            format!("{m:?}")
        };
        models.iter().map(shown).collect::<Vec<_>>().join("\n")
    };
    let said = figures(&answer.models);
    let dry = dry.map(|dry| figures(&dry.models))?;
    if dry != said {
        return Err(format!("a dry run says\n{dry}\nand publishing\n{said}"));
    }
    let found = checked(release, Some(policy), None)?;
    if figures(&found.promises) != said {
        return Err(format!("certified\n{said}\nmeasured\n{}", figures(&found.promises)));
    }
    if (found.rows, found.classes) != (answer.rows, answer.classes) {
        return Err(format!(
            "{} in {}, not {} in {}",
            found.rows, found.classes, answer.rows, answer.classes
        ));
    }
    let verified = verified(release)?;
    let is_register = |claim: &String| claim.contains("takes a register or guards");
    if verified.outcome == VerifyOutcome::False || !verified.unchecked.iter().all(is_register) {
        let wrong: Vec<_> = verified.checked.iter().filter(|c| !c.holds).collect();
        return Err(format!("verify: {:?} {wrong:?}", verified.unchecked));
    }
    Ok(true)
}
