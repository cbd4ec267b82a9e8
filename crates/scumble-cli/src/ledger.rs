//! `scumble ledger`: what was published.

use crate::show::{counted, grouped, table, warnings};
use crate::{Answer, LedgerArguments, dp, to_json, watch};
use clap::Subcommand;
use scumble::attack::Membership;
use scumble::failure::Failures;
use scumble_publisher::answer::{
    ExposedPeople, Headroom, Left, Listed, Listing, Noted, PaidFor, ShownRelease, VerifiedLedger,
};
use scumble_publisher::attack::REGISTERS;
use scumble_publisher::ledger::records::AddRequest;
use scumble_publisher::ledger::{Verdict, Whereabouts};
use scumble_publisher::policy_file::PolicyFile;
use scumble_publisher::publish::PublishRequest;
use scumble_publisher::publisher::Publisher;
use std::fmt::Write;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Subcommand)]
pub enum Command {
    /// List the releases
    List {
        #[command(flatten)]
        which: Which,
    },
    /// Show one release: what was measured, what the gate said, whom it shares people with
    Show {
        /// Number of an entry about it, or its name
        release: String,
        #[command(flatten)]
        which: Which,
    },
    /// Print an answer that was paid with `query --dp` again, as JSON; it costs nothing more
    Answer {
        /// Number of the entry, as `query --dp` told it
        entry: u64,
        #[command(flatten)]
        which: Which,
    },
    /// Check that nothing was changed: entries, the files that are kept, and releases that are
    /// where they were written
    ///
    /// Exit status: 0 if nothing was changed, 1 if something was.
    Verify {
        /// A hash that the last entry once had, noted elsewhere: it must still be in the chain
        #[arg(long, value_name = "HASH")]
        head: Option<String>,
        #[command(flatten)]
        which: Which,
    },
    /// Add a release that was made elsewhere, by you or by another publisher, so that the gate
    /// knows of it
    Add {
        /// The release's folder; or a table, with `--explained-by`
        release: PathBuf,
        /// A policy whose roles and taxonomies explain the columns of a table without a manifest
        #[arg(long, value_name = "POLICY")]
        explained_by: Option<PathBuf>,
        /// People who are in it, with its quasi-identifiers as columns: your own extract, or a
        /// register
        #[arg(long, value_name = "FILE")]
        people: PathBuf,
        /// The column that names them, as in your extracts
        #[arg(long, value_name = "COLUMN")]
        person: String,
        /// Whoever fits is in it (`members`), everybody in it is among the people (`population`),
        /// or neither (`some`)
        #[arg(long, value_name = "WHAT", default_value = "members", value_parser = ["members", "population", "some"])]
        register_is: String,
        /// Who was given it [default: what its manifest says; everybody, if it has none]
        #[arg(long, value_name = "A,B,…", value_delimiter = ',')]
        recipients: Option<Vec<String>>,
        /// Who published it
        #[arg(long, value_name = "NAME")]
        publisher: Option<String>,
        /// What to call it [default: the name of its folder]
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
        #[command(flatten)]
        which: Which,
    },
    /// Tell how many more releases by a policy pass the gate, and which columns and cohorts use the
    /// room up
    Headroom {
        /// The policy
        policy: PathBuf,
        /// Stop after so many releases
        #[arg(long, value_name = "N", default_value_t = 5)]
        most: u64,
        /// Reproducible randomness
        #[arg(long, value_name = "NUMBER")]
        seed: Option<u64>,
        #[command(flatten)]
        ledger: LedgerArguments,
    },
    /// Say that nobody has a release any more, or ever had it: the gate forgets it
    Withdraw {
        /// Number of an entry about it, or its name
        release: String,
        /// Why
        #[arg(long, value_name = "REASON")]
        because: String,
        #[command(flatten)]
        which: Which,
    },
}

/// Which ledger.
#[derive(clap::Args)]
pub struct Which {
    /// A policy whose ledger it is
    #[arg(long, value_name = "POLICY")]
    policy: Option<PathBuf>,
    #[command(flatten)]
    ledger: LedgerArguments,
}

impl Which {
    /// The ledger that is named, that of the policy, or the folder `ledger` here.
    pub fn find(&self) -> Result<Whereabouts, Failures> {
        let LedgerArguments { ledger, key, head_file } = &self.ledger;
        // The policy is not even read where a ledger is named.
        let policy = self.policy.as_deref().filter(|_| ledger.is_none());
        let policy = policy.map(PolicyFile::read).transpose()?;
        let (key, head) = (key.as_deref(), head_file.as_deref());
        Whereabouts::find(policy.as_ref(), ledger.as_deref(), key, head)
    }
}

/// How long changes wait for others.
const WAIT: Duration = Duration::from_secs(60);

pub fn run(command: Command) -> Result<Answer, Failures> {
    let observer = watch::Terminal::new();
    let publisher = Publisher::observed_by(&observer);
    match command {
        Command::List { which } => {
            let answer = publisher.list(&which.find()?)?;
            Ok(Answer { text: listed(&answer), json: to_json(&answer)?, yes: true })
        }
        Command::Show { release, which } => {
            let answer = publisher.show(&which.find()?, &release)?;
            Ok(Answer { text: shown(&answer), json: to_json(&answer)?, yes: true })
        }
        Command::Answer { entry, which } => {
            let json = publisher.paid_answer(&which.find()?, entry)?;
            let text = match serde_json::from_value(json.clone()) {
                Ok(answered) => dp::text(&answered),
                // Kept by a version with other answers: what was paid for is told all the same.
                Err(_) => {
                    format!("An answer of another version of scumble, as JSON:\n\n{json:#}\n")
                }
            };
            Ok(Answer { text, json, yes: true })
        }
        Command::Verify { head, which } => {
            let answer = publisher.verify_ledger(&which.find()?, head.as_deref())?;
            Ok(Answer { text: verified(&answer), json: to_json(&answer)?, yes: answer.sound })
        }
        Command::Add {
            release,
            explained_by,
            people,
            person,
            register_is,
            recipients,
            publisher: published_by,
            name,
            which,
        } => {
            let membership = REGISTERS.iter().find(|(name, _)| *name == register_is);
            let request = AddRequest {
                release,
                policy: explained_by.as_deref().map(PolicyFile::read).transpose()?,
                people,
                person,
                membership: membership.map_or(Membership::Members, |(_, m)| *m),
                recipients,
                publisher: published_by,
                name,
                wait: WAIT,
            };
            let answer = which.find().and_then(|ledger| publisher.add(&ledger, &request));
            observer.clear();
            let answer = answer?;
            Ok(Answer { text: added(&answer), json: to_json(&answer)?, yes: true })
        }
        Command::Headroom { policy, most, seed, ledger } => {
            let request = PublishRequest {
                seed,
                ledger: ledger.ledger,
                key: ledger.key,
                head: ledger.head_file,
                ..PublishRequest::default()
            };
            let answer =
                PolicyFile::read(&policy).and_then(|p| publisher.headroom(&p, most, &request));
            observer.clear();
            let answer = answer?;
            Ok(Answer { text: room(&answer), json: to_json(&answer)?, yes: true })
        }
        Command::Withdraw { release, because, which } => {
            let answer = publisher.withdraw(&which.find()?, &release, &because, WAIT)?;
            let text = format!(
                "Withdrew `{}` (entry {}).\n{}",
                answer.name,
                answer.entry,
                warnings(&answer.warnings)
            );
            Ok(Answer { text, json: to_json(&answer)?, yes: true })
        }
    }
}

fn room(a: &Headroom) -> String {
    let mut out = format!("{}: ", a.policy);
    let _ = match a.earlier {
        0 => writeln!(out, "nothing in the ledger is about these people\n"),
        n => writeln!(
            out,
            "{} about these people\n",
            counted(n, "release in the ledger is", "releases in the ledger are")
        ),
    };
    if !a.left.is_empty() {
        let head = ["possible values left", "of", "people"].map(str::to_owned).to_vec();
        let row = |l: &Left| vec![l.values.to_string(), l.attribute.clone(), grouped(l.people)];
        let _ = writeln!(
            out,
            "{}",
            table(&std::iter::once(head).chain(a.left.iter().map(row)).collect::<Vec<_>>())
        );
    }
    for r in &a.columns {
        let columns = r.attributes.join(", ");
        let releases = counted(r.releases, "more release", "more releases");
        if r.more {
            let _ = writeln!(out, "  {columns}: at least {releases} pass");
            continue;
        }
        let _ = writeln!(out, "  {columns}: {releases} pass, the next is refused");
        for because in &r.because {
            let _ = writeln!(out, "    {because}");
        }
        for c in &r.cohorts {
            let (exposed, people) = (grouped(c.exposed), grouped(c.people));
            let _ = writeln!(
                out,
                "    exposed among {} = {}: {exposed} of {people}",
                c.column, c.value
            );
        }
    }
    out.push_str(&warnings(&a.warnings));
    out
}

fn recipients(of: &[String]) -> String {
    if of.is_empty() { "everybody".into() } else { of.join(", ") }
}

fn listed(a: &Listed) -> String {
    let head = ["entry", "recorded", "release", "", "for", "records", "by", "about"]
        .map(str::to_owned)
        .to_vec();
    let row = |r: &Listing| {
        vec![
            r.entry.to_string(),
            r.at.clone(),
            r.name.clone(),
            r.standing.to_string(),
            recipients(&r.recipients),
            grouped(r.rows),
            r.method.clone(),
            r.attributes.join(", "),
        ]
    };
    let rows: Vec<Vec<String>> = std::iter::once(head).chain(a.releases.iter().map(row)).collect();
    let releases = counted(a.releases.len() as u64, "release", "releases");
    let entries = counted(a.entries, "entry", "entries");
    let paid = |p: &PaidFor| {
        let by = p.recipient.as_ref().map_or(String::new(), |r| format!(" by {r}"));
        format!(
            "  paid{by} for answers about {}: {}\n",
            p.dataset,
            counted(p.prices, "price", "prices")
        )
    };
    let paid: String = a.paid.iter().map(paid).collect();
    let paid = if paid.is_empty() { paid } else { format!("\n{paid}") };
    let table = if a.releases.is_empty() { String::new() } else { format!("\n{}", table(&rows)) };
    format!("{releases} in {entries} of {}\n{table}{paid}{}", a.ledger, warnings(&a.warnings))
}

fn shown(a: &ShownRelease) -> String {
    let l = &a.listing;
    let mut out = format!("{} (entry {}, {} {})\n\n", l.name, l.entry, l.standing, l.at);
    let mut rows = vec![
        vec!["for".to_owned(), recipients(&l.recipients)],
        vec!["by".into(), l.method.clone()],
        vec![
            "records".into(),
            format!("{} in {}", grouped(l.rows), counted(a.groups, "group", "groups")),
        ],
        vec!["left out".into(), grouped(a.suppressed)],
        vec!["people known".into(), grouped(a.people)],
        vec!["written to".into(), format!("{} on {}", a.folder, a.machine)],
        vec!["id".into(), a.id.clone()],
    ];
    rows.extend(l.publisher.iter().map(|p| vec!["publisher".into(), p.clone()]));
    rows.extend(a.sha256.iter().map(|h| vec!["manifest".into(), format!("sha256 {h}")]));
    rows.extend(a.policy.iter().map(|h| vec!["policy".into(), format!("sha256 {h}")]));
    for shared in &a.shares {
        rows.push(vec![
            "shares".into(),
            format!("{} with {}", counted(shared.people, "person", "people"), shared.release),
        ]);
    }
    out.push_str(&table(&rows));
    if !a.gate.is_empty() {
        let head = [
            "seen by",
            "about",
            "releases",
            "certain",
            "newly",
            "fewest values",
            "strongest belief",
        ];
        let row = |v: &Verdict| {
            vec![
                v.adversary.clone(),
                v.attribute.clone(),
                v.releases.to_string(),
                grouped(v.certain),
                grouped(v.newly),
                v.fewest.map_or("nothing told".into(), grouped),
                v.strongest.map_or("not looked at".into(), |belief| format!("{belief:.4}")),
            ]
        };
        let rows = std::iter::once(head.map(str::to_owned).to_vec()).chain(a.gate.iter().map(row));
        let _ = write!(out, "\n{}", table(&rows.collect::<Vec<_>>()));
    }
    out.push_str(&warnings(&a.warnings));
    out
}

fn verified(a: &VerifiedLedger) -> String {
    let mut out = if a.sound {
        let (entries, files) =
            (counted(a.entries, "entry", "entries"), counted(a.files, "file", "files"));
        let there = counted(a.in_place, "release is", "releases are");
        format!(
            "Nothing was changed: {entries} of {} follow from each other, {files} and {there} as written.\n\n  head: {}\n",
            a.ledger, a.head
        )
    } else {
        format!("CHANGED: {} is not as it was written.\n\n", a.ledger)
    };
    for problem in &a.problems {
        let _ = writeln!(out, "  {problem}");
    }
    out.push_str(&warnings(&a.warnings));
    out
}

fn added(a: &Noted) -> String {
    let (people, sure) = (counted(a.people, "person", "people"), grouped(a.located));
    let exposed = |e: &ExposedPeople| {
        let people = counted(e.people, "person's value is", "people's values are");
        format!("{}: {people} certain to whoever has it and the other releases\n", e.attribute)
    };
    format!(
        "Added `{}` to {} as entry {}: {people} are or may be in it, {sure} of them in a known group.\n{}{}",
        a.name,
        a.ledger,
        a.entry,
        a.exposed.iter().map(exposed).collect::<String>(),
        warnings(&a.warnings)
    )
}
