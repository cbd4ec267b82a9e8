//! `scumble attack` and `scumble why`: arguments, and the answers as text.

mod statistics;

use crate::show::{counted, counted_by, grouped, table};
use crate::{Answer, engine, to_json, watch};
use scumble::attack::{Figure, Membership, Unit};
use scumble::problem::{Problem, Problems};
use scumble_io::attack::{Attacked, Options, Outcome, Person, REGISTERS, attack};
use scumble_io::publisher::Watcher;
use scumble_io::staging::Slot;
use scumble_io::why::{Because, Believed, Explained};
use std::path::PathBuf;

/// What an adversary has and knows.
#[derive(clap::Args)]
pub struct Adversary {
    /// Folder of a release; several times for several
    #[arg(long = "release", value_name = "FOLDER")]
    releases: Vec<PathBuf>,
    /// The sensitive attribute, where the releases share several
    #[arg(long, value_name = "NAME")]
    attribute: Option<String>,
    /// People whom the adversary knows: a table with quasi-identifiers as columns
    #[arg(long, value_name = "FILE")]
    register: Option<PathBuf>,
    /// What the register says of its people: they are in the releases if they fit (`members`), everybody in the releases is
    /// among them (`population`), or neither (`some`)
    #[arg(long, value_name = "WHAT", default_value = "members", value_parser = ["members", "population", "some"])]
    register_is: String,
    /// A column of the register that says who is in the release (`yes`, `no`, or nothing); once per release, in their order
    #[arg(long = "in", value_name = "COLUMN")]
    members: Vec<String>,
    /// The column that names people, in the register and the truth
    #[arg(long, value_name = "COLUMN")]
    name: Option<String>,
    /// A table with people's true values, to score the attack; also the register, if none is given
    #[arg(long, value_name = "FILE")]
    truth: Option<PathBuf>,
    /// What else the adversary knows, one statement per line, such as `name = Alice: not Flu`
    #[arg(long, value_name = "FILE")]
    facts: Option<PathBuf>,
    /// What she believes beforehand (`bayes`): a table of people with quasi-identifiers and the sensitive attribute
    #[arg(long, value_name = "FILE")]
    reference: Option<PathBuf>,
    /// Go on with people whose values a taxonomy does not know
    #[arg(long)]
    allow_unknown: bool,
    /// Another seed for attacks that sample
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
}

/// What is attacked, and what is wanted of it.
#[derive(clap::Args)]
pub struct Arguments {
    /// Attacks; all that what is given suffices for, if none is named (`scumble explain` lists them)
    names: Vec<String>,
    #[command(flatten)]
    adversary: Adversary,
    /// Attack published counts, sums and means instead: a CSV file with the columns statistic, of, over, value
    #[arg(long, value_name = "FILE", conflicts_with = "releases")]
    statistics: Option<PathBuf>,
    /// Attack what a policy would publish, knowing how it is made (`minimality`): the algorithm is run again on other worlds.
    /// For `freeform`, a policy that says which values of the releases are sensitive and observable
    #[arg(long, value_name = "POLICY", conflicts_with = "statistics")]
    policy: Option<PathBuf>,
    /// A parameter of an attack (`scumble explain NAME` lists them)
    #[arg(long, value_name = "KEY=VALUE")]
    with: Vec<String>,
    /// Exit with 1 if a figure is beyond a limit, such as `pvp_100 > 0.01`
    #[arg(long, value_name = "CONDITION")]
    fail_on: Vec<String>,
    /// Write the conditions of `--fail-on` as tests in JUnit's format
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Write the conditions of `--fail-on` that are met in the SARIF format
    #[arg(long, value_name = "FILE")]
    sarif: Option<PathBuf>,
    /// Write what was found about everybody as CSV (personal data)
    #[arg(long, value_name = "FILE")]
    people: Option<PathBuf>,
    /// Draw what was found as SVG; of several attacks, one file each
    #[arg(long, value_name = "FILE")]
    picture: Option<PathBuf>,
    /// How many of the people most at risk are listed [default: 5]
    #[arg(long, value_name = "N")]
    top: Option<usize>,
    /// Show what is believed of them (personal data)
    #[arg(long)]
    show_values: bool,
    #[command(flatten)]
    engine: engine::Arguments,
}

/// Of whom an explanation is wanted.
#[derive(clap::Args)]
pub struct WhyArguments {
    /// The person: a name, if `--name` says which column names people, or the number of the row in the register
    person: String,
    /// About this value only, whatever can be said of it
    #[arg(long, value_name = "VALUE")]
    value: Option<String>,
    #[command(flatten)]
    adversary: Adversary,
}

fn options(adversary: Adversary, watcher: &dyn Watcher) -> Options<'_> {
    let membership = REGISTERS.iter().find(|(name, _)| *name == adversary.register_is);
    Options {
        releases: adversary.releases,
        attribute: adversary.attribute,
        register: adversary.register,
        membership: membership.map_or(Membership::Members, |(_, m)| *m),
        members: adversary.members,
        name: adversary.name,
        truth: adversary.truth,
        facts: adversary.facts,
        reference: adversary.reference,
        allow_unknown: adversary.allow_unknown,
        with: Vec::new(),
        fail_on: Vec::new(),
        people: None,
        picture: None,
        top: 0,
        show_values: false,
        seed: adversary.seed,
        engine: None,
        watcher,
    }
}

/// Carries attacks out.
pub fn run(arguments: Arguments) -> Result<Answer, Problems> {
    let watcher = watch::Terminal::new();
    let (junit, sarif) = (arguments.junit.clone(), arguments.sarif.clone());
    must_be_used(&arguments)?;
    let engine = arguments.engine.open()?;
    if engine.is_some() {
        must_be_releases(&arguments.names, &arguments.statistics, &arguments.policy)?;
        watch::clean_up_on_interrupt(&Slot::default(), engine::stopper(&engine));
    }
    if let Some(file) = arguments.statistics {
        let Arguments { names, with, fail_on, adversary: Adversary { register, name, .. }, .. } = arguments;
        let options =
            scumble_io::statistics::Options { statistics: file, register, name, with, fail_on, watcher: &watcher };
        let answer = scumble_io::statistics::attack(&names, &options);
        watcher.clear();
        let answer = answer?;
        answer.tests().write(junit.as_ref(), sarif.as_ref())?;
        return Ok(Answer { text: statistics::shown(&answer), json: to_json(&answer)?, yes: answer.failed.is_empty() });
    }
    if arguments.names == [scumble::catalogue::FREEFORM.name] {
        let options = scumble_io::freeform::Options {
            releases: &arguments.adversary.releases,
            policy: arguments.policy.as_deref(),
            with: &arguments.with,
            fail_on: &arguments.fail_on,
            engine: engine::asked(&engine),
            watcher: &watcher,
        };
        let answer = scumble_io::freeform::attack(&options);
        watcher.clear();
        let answer = answer?;
        answer.tests().write(junit.as_ref(), sarif.as_ref())?;
        return Ok(Answer { text: shown(&answer), json: to_json(&answer)?, yes: answer.failed.is_empty() });
    }
    if let Some(policy) = arguments.policy.clone() {
        if !arguments.adversary.releases.is_empty() {
            let problem = Problem::new("`--policy` and `--release` go together only for `freeform`");
            return Err(problem
                .hint("`minimality` attacks what the policy would publish; leave one of them out")
                .into());
        }
        let Arguments {
            names, with, fail_on, show_values, people, adversary: Adversary { attribute, seed, .. }, ..
        } = arguments;
        let watcher = &watcher;
        let options =
            scumble_io::minimality::Options { policy, attribute, with, fail_on, show_values, people, seed, watcher };
        let answer = minimality(&names, &options);
        watcher.clear();
        let answer = answer?;
        answer.tests().write(junit.as_ref(), sarif.as_ref())?;
        return Ok(Answer { text: shown(&answer), json: to_json(&answer)?, yes: answer.failed.is_empty() });
    }
    let options = Options {
        with: arguments.with,
        fail_on: arguments.fail_on,
        people: arguments.people,
        picture: arguments.picture,
        // Who was counted cannot be listed.
        top: arguments.top.unwrap_or(if engine.is_some() { 0 } else { 5 }),
        show_values: arguments.show_values,
        engine: engine::asked(&engine),
        ..options(arguments.adversary, &watcher)
    };
    let answer = attack(&arguments.names, &options);
    watcher.clear();
    let answer = answer?;
    answer.tests().write(junit.as_ref(), sarif.as_ref())?;
    Ok(Answer { text: shown(&answer), json: to_json(&answer)?, yes: answer.failed.is_empty() })
}

/// What an engine can count.
fn must_be_releases(names: &[String], statistics: &Option<PathBuf>, policy: &Option<PathBuf>) -> Result<(), Problems> {
    let freeform = names == [scumble::catalogue::FREEFORM.name];
    let what = match (statistics, policy) {
        (Some(_), _) => "statistics are about single persons, and the engine brings only distinct rows",
        (None, Some(_)) if !freeform => {
            "`minimality` runs the algorithm many times, which needs the table in this process"
        }
        _ => return Ok(()),
    };
    Err(Problem::new(what).hint("leave out `--engine` and `--cluster`").into())
}

/// Refuses what was given and would have no effect: an attack that ignores it would look as if it had taken it into account.
fn must_be_used(given: &Arguments) -> Result<(), Problems> {
    let a = &given.adversary;
    let freeform = given.names == [scumble::catalogue::FREEFORM.name];
    let (what, used): (&str, &[&str]) = match (&given.statistics, &given.policy) {
        (Some(_), _) => ("statistics", &["--register", "--name"]),
        (None, _) if freeform => ("freeform values", &["--release", "--policy"]),
        // What is wrong with a release beside a policy is said elsewhere.
        (None, Some(_)) => {
            ("a policy", &["--policy", "--attribute", "--seed", "--people", "--show-values", "--release"])
        }
        (None, None) => return Ok(()),
    };
    let all = [
        ("--release", !a.releases.is_empty()),
        ("--policy", given.policy.is_some()),
        ("--attribute", a.attribute.is_some()),
        ("--register", a.register.is_some()),
        ("--in", !a.members.is_empty()),
        ("--name", a.name.is_some()),
        ("--truth", a.truth.is_some()),
        ("--facts", a.facts.is_some()),
        ("--reference", a.reference.is_some()),
        ("--allow-unknown", a.allow_unknown),
        ("--seed", a.seed.is_some()),
        ("--people", given.people.is_some()),
        ("--picture", given.picture.is_some()),
        ("--top", given.top.is_some()),
        ("--show-values", given.show_values),
    ];
    let mut problems = Problems::default();
    for (option, _) in all.iter().filter(|(option, is_given)| *is_given && !used.contains(option)) {
        problems.push(Problem::new(format!("the attack on {what} makes no use of `{option}`")).hint("leave it out"));
    }
    problems.or(())
}

/// The attack on a policy.
fn minimality(names: &[String], options: &scumble_io::minimality::Options<'_>) -> Result<Attacked, Problems> {
    if let Some(name) = names.iter().find(|n| *n != "minimality") {
        let problem = Problem::new(format!("`{name}` attacks releases, not a policy"));
        return Err(problem.hint("publish it and give `--release FOLDER`; `minimality` takes `--policy`").into());
    }
    scumble_io::minimality::attack(options)
}

/// Explains what can be inferred about a person.
pub fn why(arguments: WhyArguments) -> Result<Answer, Problems> {
    let watcher = watch::Terminal::new();
    let options = options(arguments.adversary, &watcher);
    let answer = scumble_io::why::why(&arguments.person, arguments.value.as_deref(), &options);
    watcher.clear();
    let answer = answer?;
    Ok(Answer { text: explained(&answer), json: to_json(&answer)?, yes: true })
}

fn explained(e: &Explained) -> String {
    let alike = match e.alike {
        1 => String::new(),
        n => format!(", who is like {} to the adversary", counted(n - 1, "other person", "others")),
    };
    let mut text = format!("{}{alike}\n\n", e.person);
    let row = |b: &Believed| {
        let bounds = b.bounds.as_ref().map_or(String::new(), |(low, high)| match low == high {
            true => "in every belief that fits what was published".to_owned(),
            false => format!("between {low} and {high} in every belief that fits"),
        });
        let of_alike = b.of_alike.as_ref().map_or(String::new(), |(low, high)| match low == high {
            true => format!("{low} of the {}", e.alike),
            false => format!("{low} to {high} of the {}", e.alike),
        });
        vec![b.value.clone(), format!("{:.4}", b.probability), bounds, of_alike]
    };
    text.push_str(&table(&e.values.iter().map(row).collect::<Vec<_>>()));
    for because in &e.inferences {
        let heading = match because.claim {
            "at least" | "at most" => format!("How likely {} is, {}", because.value, because.claim),
            claim => format!("{} is {claim}", because.value),
        };
        text.push_str(&format!("\n{heading}:\n"));
        for sentence in &because.sentences {
            text.push_str(&format!("  {sentence}\n"));
        }
        text.push_str(&format!("  ({})\n", standing(because)));
    }
    if e.inferences.is_empty() && e.values.len() > 1 {
        text.push_str("\nNo value of the person's groups is ruled out.\n");
    }
    for warning in &e.warnings {
        text.push_str(&format!("warning: {warning}\n"));
    }
    text
}

/// How good the proof is.
fn standing(b: &Because) -> String {
    let facts = counted(b.facts.len() as u64, "fact", "facts");
    let smallest = match (b.smallest, b.irreducible) {
        (true, _) => "no fewer suffice",
        (false, true) => "none can be left out",
        (false, false) => "perhaps fewer suffice",
    };
    let checked = if b.verified { "the combination was checked" } else { "not checked" };
    format!("{facts}, {smallest}; {checked}")
}

fn shown(a: &Attacked) -> String {
    let mut text = String::new();
    if a.attacks.is_empty() {
        text.push_str("No attack could be carried out with what was given.\n");
    }
    for outcome in &a.attacks {
        text.push_str(&one(outcome, &a.attribute));
        text.push('\n');
    }
    if let Some(e) = &a.engine {
        text.push_str(&format!("{}\n", counted_by(e)));
    }
    for warning in &a.warnings {
        text.push_str(&format!("warning: {warning}\n"));
    }
    for failed in &a.failed {
        text.push_str(&format!("FAILED {failed}\n"));
    }
    text
}

fn one(o: &Outcome, attribute: &str) -> String {
    let releases = counted(o.adversary.releases as u64, "release", "releases");
    let mut text = match o.attack == scumble::catalogue::FREEFORM.name {
        true => format!("{}: {releases}\n", o.attack),
        false => format!("{}: {attribute}, {releases}\n", o.attack),
    };
    text.push_str(&format!("  The adversary {}.\n\n", adversary(o)));
    let row = |f: &Figure| vec![value(f), f.about.clone(), f.name.clone()];
    text.push_str(&table(&o.told.iter().map(row).collect::<Vec<_>>()));
    for finding in &o.findings {
        text.push_str(&format!("\n  {finding}"));
    }
    if !o.findings.is_empty() {
        text.push('\n');
    }
    if !o.top.is_empty() {
        text.push_str("\n  Most at risk:\n");
        text.push_str(&table(&o.top.iter().map(person).collect::<Vec<_>>()));
    }
    for note in &o.notes {
        text.push_str(&format!("\n  Note: {note}\n"));
    }
    text
}

/// What the adversary knows, in words.
fn adversary(o: &Outcome) -> String {
    if o.attack == scumble::catalogue::FREEFORM.name {
        let known = o.adversary.parameters.get("known").filter(|p| *p != "0");
        let values = match known.map(String::as_str) {
            None => "any observable values".to_owned(),
            Some("1") => "at most one observable value".into(),
            Some(p) => format!("at most {p} observable values"),
        };
        return format!("knows {values} of {}", o.adversary.knows.join(", "));
    }
    let Some(people) = o.people else { return "has nothing but what was published".into() };
    let knows = format!("knows {} of {}", o.adversary.knows.join(", "), counted(people, "person", "people"));
    let membership = match o.adversary.register_is {
        Some("members") => "who are in the releases that they fit",
        Some("population") => "who are everybody that may be in the releases",
        _ => "who may be in the releases or not",
    };
    match o.adversary.facts {
        0 => format!("{knows}, {membership}"),
        n => format!("{knows}, {membership}, and {}", counted(n as u64, "other fact", "other facts")),
    }
}

fn value(f: &Figure) -> String {
    match f.unit {
        Unit::Share => format!("{:.1} %", 100.0 * f.value),
        Unit::Count => grouped(f.value as u64),
        Unit::Number => format!("{:.4}", f.value),
    }
}

fn person(p: &Person) -> Vec<String> {
    let who = p.name.clone().map_or_else(|| format!("row {}", p.row), |name| format!("{name} (row {})", p.row));
    let groups: Vec<String> = p.groups.iter().map(u64::to_string).collect();
    let groups = if p.groups.iter().all(|&n| n == 1) { String::new() } else { format!("groups {}", groups.join(", ")) };
    let values: Vec<String> = p.values.iter().map(|(v, p)| format!("{v} {p:.3}")).collect();
    vec![who, format!("{:.3}", p.risk), p.estimator.to_owned(), values.join(", "), groups]
}
