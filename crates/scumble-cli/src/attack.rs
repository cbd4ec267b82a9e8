//! `scumble attack`: arguments, and the answer as text.

use crate::show::{counted, grouped, table};
use crate::{Answer, to_json, watch};
use scumble::attack::{Figure, Membership, Unit};
use scumble::problem::Problems;
use scumble_io::attack::{Attacked, Options, Outcome, Person, REGISTERS, attack};
use std::path::PathBuf;

/// What is attacked, by an adversary who knows what.
#[derive(clap::Args)]
pub struct Arguments {
    /// Attacks; all that what is given suffices for, if none is named (`scumble explain` lists them)
    names: Vec<String>,
    /// Folder of a release; several times for several
    #[arg(long = "release", value_name = "FOLDER", required = true)]
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
    /// Go on with people whose values a taxonomy does not know
    #[arg(long)]
    allow_unknown: bool,
    /// A parameter of an attack (`scumble explain NAME` lists them)
    #[arg(long, value_name = "KEY=VALUE")]
    with: Vec<String>,
    /// Exit with 1 if a figure is beyond a limit, such as `pvp_100 > 0.01`
    #[arg(long, value_name = "CONDITION")]
    fail_on: Vec<String>,
    /// Write what was found about everybody as CSV (personal data)
    #[arg(long, value_name = "FILE")]
    people: Option<PathBuf>,
    /// Draw what was found as SVG; of several attacks, one file each
    #[arg(long, value_name = "FILE")]
    picture: Option<PathBuf>,
    /// How many of the people most at risk are listed
    #[arg(long, value_name = "N", default_value_t = 5)]
    top: usize,
    /// Show what is believed of them (personal data)
    #[arg(long)]
    show_values: bool,
    /// Another seed for attacks that sample
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
}

/// Carries it out.
pub fn run(arguments: Arguments) -> Result<Answer, Problems> {
    let watcher = watch::Terminal::new();
    let membership = REGISTERS.iter().find(|(name, _)| *name == arguments.register_is);
    let options = Options {
        releases: arguments.releases,
        attribute: arguments.attribute,
        register: arguments.register,
        membership: membership.map_or(Membership::Members, |(_, m)| *m),
        members: arguments.members,
        name: arguments.name,
        truth: arguments.truth,
        facts: arguments.facts,
        allow_unknown: arguments.allow_unknown,
        with: arguments.with,
        fail_on: arguments.fail_on,
        people: arguments.people,
        picture: arguments.picture,
        top: arguments.top,
        show_values: arguments.show_values,
        seed: arguments.seed,
        watcher: &watcher,
    };
    let answer = attack(&arguments.names, &options);
    watcher.clear();
    let answer = answer?;
    Ok(Answer { text: shown(&answer), json: to_json(&answer)?, yes: answer.failed.is_empty() })
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
    for warning in &a.warnings {
        text.push_str(&format!("warning: {warning}\n"));
    }
    for failed in &a.failed {
        text.push_str(&format!("FAILED {failed}\n"));
    }
    text
}

fn one(o: &Outcome, attribute: &str) -> String {
    let mut text =
        format!("{}: {attribute}, {}\n", o.attack, counted(o.adversary.releases as u64, "release", "releases"));
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
    vec![who, format!("{:.3}", p.risk), values.join(", "), groups]
}
