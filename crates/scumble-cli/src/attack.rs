//! `scumble attack` and `scumble why`: arguments, and the answers as text.

mod statistics;

use crate::show::{counted, counted_by, grouped, table};
use crate::{Answer, engine, to_json, watch};
use scumble::attack::Membership;
use scumble::failure::Failures;
use scumble_publisher::answer::{
    AttackOutcome, Attacked, Because, Believed, Better, Claimed, Explained, Figure, Number, Person,
    RegisterIs, Unit,
};
use scumble_publisher::attack::{AttackAnswer, AttackRequest, REGISTERS};
use scumble_publisher::policy_file::PolicyFile;
use scumble_publisher::publisher::Publisher;
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
    /// What the register says of its people: they are in the releases if they fit (`members`),
    /// everybody in the releases is among them (`population`), or neither (`some`)
    #[arg(long, value_name = "WHAT", default_value = "members", value_parser = ["members", "population", "some"])]
    register_is: String,
    /// A column of the register that says who is in the release (`yes`, `no`, or nothing); once per
    /// release, in their order
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
    /// What she believes beforehand (`bayes`): a table of people with quasi-identifiers and the
    /// sensitive attribute
    #[arg(long, value_name = "FILE")]
    reference: Option<PathBuf>,
    /// Go on with people whose values a taxonomy does not know
    #[arg(long)]
    allow_unknown: bool,
    /// Another seed for attacks that sample
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// How long `inference` or an explanation may take; then what was found out is told, and what
    /// was not [default: 300]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    seconds: Option<u64>,
}

/// What is attacked, and what is wanted of it.
#[derive(clap::Args)]
pub struct Arguments {
    /// Attacks; all that what is given suffices for, if none is named (`scumble explain` lists
    /// them)
    names: Vec<String>,
    #[command(flatten)]
    adversary: Adversary,
    /// Attack published counts, sums and means instead: a CSV file with the columns statistic, of,
    /// over, value
    #[arg(long, value_name = "FILE", conflicts_with = "releases")]
    statistics: Option<PathBuf>,
    /// Attack what a policy would publish, knowing how it is made (`minimality`): the algorithm is
    /// run again on other worlds. For `freeform`, a policy that says which values of the releases
    /// are sensitive and observable
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
    /// The person: a name, if `--name` says which column names people, or the number of the row in
    /// the register
    person: String,
    /// About this value only, whatever can be said of it
    #[arg(long, value_name = "VALUE")]
    value: Option<String>,
    #[command(flatten)]
    adversary: Adversary,
}

impl Adversary {
    fn request(self) -> AttackRequest {
        let membership = REGISTERS.iter().find(|(name, _)| *name == self.register_is);
        AttackRequest {
            releases: self.releases,
            attribute: self.attribute,
            register: self.register,
            membership: membership.map_or(Membership::Members, |(_, m)| *m),
            members: self.members,
            name: self.name,
            truth: self.truth,
            facts: self.facts,
            reference: self.reference,
            allow_unknown: self.allow_unknown,
            seed: self.seed,
            seconds: self.seconds,
            ..AttackRequest::default()
        }
    }
}

/// Carries attacks out.
pub fn run(arguments: Arguments) -> Result<Answer, Failures> {
    let observer = watch::Terminal::new();
    let engine = arguments.engine.open()?;
    let publisher =
        Publisher { engine: engine::asked(&engine), ..Publisher::observed_by(&observer) };
    if engine.is_some() {
        watch::also_stop(engine::stopper(&engine));
    }
    let request = AttackRequest {
        names: arguments.names,
        policy: arguments.policy.as_deref().map(PolicyFile::read).transpose()?,
        statistics: arguments.statistics,
        with: arguments.with,
        fail_on: arguments.fail_on,
        people: arguments.people,
        picture: arguments.picture,
        top: arguments.top,
        show_values: arguments.show_values,
        ..arguments.adversary.request()
    };
    let answer = publisher.attack(&request);
    observer.clear();
    let answer = answer?;
    answer.tests().write(arguments.junit.as_ref(), arguments.sarif.as_ref())?;
    let text = match &answer {
        AttackAnswer::Releases(answer) => shown(answer),
        AttackAnswer::Statistics(answer) => statistics::shown(answer),
    };
    Ok(Answer { text, json: to_json(&answer)?, yes: answer.failed().is_empty() })
}

/// Explains what can be inferred about a person.
pub fn why(arguments: WhyArguments) -> Result<Answer, Failures> {
    let observer = watch::Terminal::new();
    let publisher = Publisher::observed_by(&observer);
    let request = arguments.adversary.request();
    let answer = publisher.why(&arguments.person, arguments.value.as_deref(), &request);
    observer.clear();
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
        let bounds = b.bounds.as_ref().map_or(String::new(), |b| match b.low == b.high {
            true => "in every belief that fits what was published".to_owned(),
            false => format!(
                "between {} and {} in every belief that fits",
                exact(&b.low),
                exact(&b.high)
            ),
        });
        let of_alike = b.of_alike.as_ref().map_or(String::new(), |b| match b.low == b.high {
            true => format!("{} of the {}", exact(&b.low), e.alike),
            false => format!("{} to {} of the {}", exact(&b.low), exact(&b.high), e.alike),
        });
        vec![b.value.clone(), format!("{:.4}", b.probability), bounds, of_alike]
    };
    text.push_str(&table(&e.values.iter().map(row).collect::<Vec<_>>()));
    for because in &e.inferences {
        let heading = match because.claim {
            Claimed::AtLeast | Claimed::AtMost => {
                format!("How likely {} is, {}", because.value, because.claim)
            }
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

fn one(o: &AttackOutcome, attribute: &str) -> String {
    let releases = counted(o.adversary.releases as u64, "release", "releases");
    let mut text = match o.attack == scumble::catalogue::FREEFORM.name {
        true => format!("{}: {releases}\n", o.attack),
        false => format!("{}: {attribute}, {releases}\n", o.attack),
    };
    text.push_str(&format!("  The adversary {}.\n\n", adversary(o)));
    text.push_str(&figures(&o.figures));
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
fn adversary(o: &AttackOutcome) -> String {
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
    let knows = format!(
        "knows {} of {}",
        o.adversary.knows.join(", "),
        counted(people, "person", "people")
    );
    let membership = match o.adversary.register_is {
        Some(RegisterIs::Members) => "who are in the releases that they fit",
        Some(RegisterIs::Population) => "who are everybody that may be in the releases",
        _ => "who may be in the releases or not",
    };
    match o.adversary.facts {
        0 => format!("{knows}, {membership}"),
        n => {
            format!("{knows}, {membership}, and {}", counted(n as u64, "other fact", "other facts"))
        }
    }
}

/// A number as the fraction that it is.
fn exact(n: &Number) -> &str {
    n.exact.as_deref().unwrap_or_default()
}

/// A table of figures. Lower is better unless it says otherwise.
fn figures(all: &[Figure]) -> String {
    let row = |f: &Figure| {
        let better = match f.better {
            Some(Better::Higher) => " (higher is better)",
            Some(Better::Lower) | None => "",
        };
        vec![value(f), format!("{}{better}", f.about), f.name.clone()]
    };
    table(&all.iter().map(row).collect::<Vec<_>>())
}

fn value(f: &Figure) -> String {
    match f.unit {
        Unit::Share => format!("{:.1} %", 100.0 * f.value),
        Unit::Count => grouped(f.value as u64),
        Unit::Number => format!("{:.4}", f.value),
    }
}

fn person(p: &Person) -> Vec<String> {
    let who = p
        .name
        .clone()
        .map_or_else(|| format!("row {}", p.row), |name| format!("{name} (row {})", p.row));
    let groups: Vec<String> = p.groups.iter().map(u64::to_string).collect();
    let groups = if p.groups.iter().all(|&n| n == 1) {
        String::new()
    } else {
        format!("groups {}", groups.join(", "))
    };
    let values: Vec<String> =
        p.values.iter().map(|v| format!("{} {:.3}", v.value, v.probability)).collect();
    vec![who, format!("{:.3}", p.risk), p.estimator.to_owned(), values.join(", "), groups]
}
