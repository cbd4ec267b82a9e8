//! What is asked of a ledger: its releases, whether it was changed, and what was published
//! elsewhere.

use crate::answer::{
    ExposedPeople, Listed, Listing, Noted, PaidFor, SharedPeople, ShownRelease, VERSION,
    VerifiedLedger,
};
use crate::ledger::{
    Access, Added, Counts, Described, Entry, Groups, Kept, Ledger, Members, OpenColumn, Openly,
    Place, Recollection, Recorded, Shown, Standing, Whereabouts, folded_pseudonyms, hex, machine,
    now, pseudonyms, write_places, write_pseudonyms,
};
use crate::observer::Phase;
use crate::policy_file::PolicyFile;
use crate::publish::source::to_register;
use crate::publisher::Task;
use crate::release::manifest::Manifest;
use crate::release::reader;
use crate::release::{folder, manifest};
use crate::table::columns::{self, Column, Columns, ReadOptions};
use scumble::attack::{In, Knowledge, Membership, Scene};
use scumble::catalogue::{did_you_mean, did_you_mean_column};
use scumble::failure::{Action, Argument, Failure, Failures, Remedy};
use scumble::gate::{Gate, judge};
use scumble::inference::Located;
use scumble::policy::HistoryPolicy;
use scumble::release::Release;
use scumble::table::published;
use scumble::taxonomy::Rule;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A ledger that is to be looked at.
pub(crate) fn look(place: &Whereabouts) -> Result<Ledger, Failures> {
    Ledger::open(place, Access::Read)?.ok_or_else(|| nothing(place))
}

fn nothing(place: &Whereabouts) -> Failures {
    Failure::usage("no-ledger", format!("there is no ledger at `{}`", place.ledger))
        .file(&place.ledger)
        .remedy(
            Remedy::run(Action::Publish)
                .then(" makes one beside the policy; name it with ")
                .and_give(Argument::Ledger),
        )
        .into()
}

fn change(place: &Whereabouts, wait: Duration) -> Result<Ledger, Failures> {
    Ledger::open(place, Access::Write { wait, make: false })?.ok_or_else(|| nothing(place))
}

impl Listing {
    fn of(r: &Recorded) -> Listing {
        let d = &r.described;
        Listing {
            entry: r.number,
            at: d.at.clone(),
            name: d.name.clone(),
            standing: r.standing,
            publisher: d.publisher.clone(),
            recipients: d.recipients.clone(),
            method: d.method.clone(),
            rows: d.rows,
            attributes: d.attributes.clone(),
        }
    }
}

/// The releases of a ledger.
pub fn list(place: &Whereabouts) -> Result<Listed, Failures> {
    let ledger = look(place)?;
    Ok(Listed {
        version: VERSION,
        ledger: ledger.name(),
        entries: ledger.rows().len() as u64,
        head: ledger.head().to_owned(),
        releases: ledger.releases().iter().map(Listing::of).collect(),
        paid: paid(&ledger),
        warnings: ledger.resolved.clone(),
    })
}

/// What was paid, by data and recipient.
fn paid(ledger: &Ledger) -> Vec<PaidFor> {
    let mut counts: BTreeMap<(String, Option<String>), u64> = BTreeMap::new();
    for line in ledger.spent() {
        *counts.entry((line.dataset.clone(), line.recipient.clone())).or_default() += 1;
    }
    counts
        .into_iter()
        .map(|((dataset, recipient), prices)| PaidFor { dataset, recipient, prices })
        .collect()
}

/// An answer that was paid, as JSON.
pub fn answer(place: &Whereabouts, entry: u64) -> Result<serde_json::Value, Failures> {
    let bytes = look(place)?.answer(entry)?;
    serde_json::from_slice(&bytes).map_err(|e| {
        Failure::data("ledger-damaged", format!("the answer cannot be understood: {e}")).into()
    })
}

/// A release by its name, the last one of that name; or by the number of any entry about it.
fn find(ledger: &Ledger, which: &str) -> Result<Recorded, Failures> {
    let named: Vec<&Recorded> =
        ledger.releases().iter().filter(|r| r.described.name == which).collect();
    let counting: Vec<&Recorded> = named.iter().copied().filter(|r| r.standing.counts()).collect();
    if counting.len() > 1 {
        let numbers: Vec<String> = counting.iter().map(|r| r.number.to_string()).collect();
        let message =
            format!("the ledger `{}` has {} releases `{which}`", ledger.name(), counting.len());
        return Err(Failure::usage("ambiguous-release", message)
            .hint(format!("name one by its entry: {}", numbers.join(", ")))
            .into());
    }
    if let Some(found) = counting.first().or(named.last()) {
        return Ok((*found).clone());
    }
    if let Some(row) = which.parse().ok().and_then(|number| ledger.row(number)) {
        let about = row.entry().ok().and_then(|entry| entry.about(row.number));
        let found = ledger.releases().iter().find(|r| Some(r.number) == about);
        return found.cloned().ok_or_else(|| {
            Failure::usage(
                "no-such-release",
                format!("entry {which} of the ledger `{}` is not about a release", ledger.name()),
            )
            .remedy(Remedy::run(Action::ListLedger).then(" shows the entries of releases"))
            .into()
        });
    }
    let names = ledger.releases().iter().map(|r| r.described.name.as_str());
    Err(Failure::usage(
        "no-such-release",
        format!("the ledger `{}` has no release `{which}`", ledger.name()),
    )
    .hint(did_you_mean(which, names))
    .into())
}

/// One release.
pub fn show(place: &Whereabouts, which: &str) -> Result<ShownRelease, Failures> {
    let mut ledger = look(place)?;
    let release = find(&ledger, which)?;
    let d = release.described.clone();
    let members = ledger.members(&d)?.map(|(m, _)| m);
    let mut shares = Vec::new();
    let others: Vec<Recorded> =
        ledger.given().filter(|r| r.number != release.number).cloned().collect();
    for other in others {
        let (Some(here), Some((there, _))) = (&members, ledger.members(&other.described)?) else {
            continue;
        };
        let both =
            there.people.iter().filter(|p| here.people.binary_search(p).is_ok()).count() as u64;
        if both > 0 {
            let release = other.described.name.clone();
            shares.push(SharedPeople { release, people: both });
        }
    }
    Ok(ShownRelease {
        version: VERSION,
        listing: Listing::of(&release),
        id: d.id.clone(),
        folder: d.place.folder.clone(),
        machine: d.place.machine.clone(),
        sha256: release.sha256.clone(),
        policy: d.policy.clone(),
        suppressed: d.suppressed,
        people: members.map_or(0, |m| m.people.len() as u64),
        groups: Groups::read(ledger.kept(&d.kept.groups)?)?.labels.len() as u64,
        models: d.models.clone(),
        gate: d.gate.clone(),
        shares,
        warnings: ledger.resolved.clone(),
    })
}

/// Whether a ledger is as it was written. `head` is a hash that its last entry once had.
pub fn verify(place: &Whereabouts, head: Option<&str>) -> Result<VerifiedLedger, Failures> {
    let mut ledger = match look(place) {
        Ok(ledger) => ledger,
        Err(problems) if problems.0.iter().any(|p| p.message.contains("was changed")) => {
            return Ok(VerifiedLedger {
                version: VERSION,
                ledger: place.ledger.clone(),
                sound: false,
                entries: 0,
                files: 0,
                in_place: 0,
                head: String::new(),
                problems: problems.0.into_iter().map(|p| p.message).collect(),
                warnings: Vec::new(),
            });
        }
        Err(problems) => return Err(problems),
    };
    let mut answer = VerifiedLedger {
        version: VERSION,
        ledger: ledger.name(),
        sound: true,
        entries: ledger.rows().len() as u64,
        files: 0,
        in_place: 0,
        head: ledger.head().to_owned(),
        problems: Vec::new(),
        warnings: ledger.resolved.clone(),
    };
    if let Some(head) = head.filter(|h| !ledger.rows().iter().any(|r| r.hash == *h)) {
        answer.problems.push(format!(
            "no entry has the hash {head}: the ledger was cut short or written anew"
        ));
    }
    let releases: Vec<Recorded> = ledger.releases().to_vec();
    for r in releases.iter().filter(|r| r.standing != Standing::Abandoned) {
        for hash in r.described.kept.names() {
            match ledger.kept(hash) {
                Ok(_) => answer.files += 1,
                Err(problems) => answer.problems.extend(problems.0.into_iter().map(|p| p.message)),
            }
        }
        in_place(r, &releases, &mut answer);
    }
    answer.sound = answer.problems.is_empty();
    Ok(answer)
}

/// Whether a release is where it was written, and the same.
fn in_place(r: &Recorded, all: &[Recorded], answer: &mut VerifiedLedger) {
    let d = &r.described;
    let by = |other: &Recorded| other.described.replaces.as_ref() == Some(&d.id);
    let replaced = all.iter().any(|other| by(other) && other.standing != Standing::Abandoned);
    if r.standing != Standing::Published || d.place.machine != machine() || replaced {
        return;
    }
    let folder = Path::new(&d.place.folder);
    let Ok(manifest) = manifest::read(folder) else {
        answer.warnings.push(format!("`{}` is no longer where it was written", d.name));
        return;
    };
    let same = |(name, hash): &(&str, &str)| {
        let found = folder::file(folder, name).and_then(|path| columns::sha256(&path, &|| true));
        found.is_ok_and(|found| found == *hash)
    };
    if manifest.id.as_deref() != Some(&d.id) {
        answer.warnings.push(format!("another release is where `{}` was written", d.name));
    } else if manifest::sha256(folder).ok() == r.sha256 && manifest.files().iter().all(same) {
        answer.in_place += 1;
    } else {
        answer.problems.push(format!("`{}` was changed after it was published", d.name));
    }
}

/// Whether the release of this id is in a folder.
fn is_there(folder: &Path, id: &str) -> bool {
    manifest::read(folder).is_ok_and(|m| m.id.as_deref() == Some(id))
}

/// Says that nobody has a release.
pub fn withdraw(
    place: &Whereabouts,
    which: &str,
    because: &str,
    wait: Duration,
) -> Result<Noted, Failures> {
    let mut ledger = change(place, wait)?;
    let release = find(&ledger, which)?;
    if !release.standing.counts() {
        let (name, word) = (&release.described.name, release.standing.word());
        return Err(
            Failure::usage("withdrawn-already", format!("`{name}` was {word} already")).into()
        );
    }
    ledger.append(&Entry::Withdrawn {
        release: release.number,
        at: now(),
        because: because.into(),
    })?;
    let d = &release.described;
    let mut warnings = ledger.resolved.clone();
    warnings.push(format!(
        "from now on `{}` counts as never given to anybody: what people who have it can infer is no longer looked at",
        d.name
    ));
    if is_there(Path::new(&d.place.folder), &d.id) {
        let there = format!(
            "`{}` is still in `{}`: whoever reads that folder has it",
            d.name, d.place.folder
        );
        warnings.push(there);
    }
    Ok(Noted {
        version: VERSION,
        ledger: ledger.name(),
        entry: release.number,
        name: release.described.name,
        people: 0,
        located: 0,
        exposed: Vec::new(),
        warnings,
    })
}

/// A release that was made elsewhere.
#[derive(Clone, Debug)]
pub struct AddRequest {
    /// Its folder; or a table, if a policy says what its columns mean.
    pub release: PathBuf,
    /// Roles and taxonomies of a table that has no manifest.
    pub policy: Option<PolicyFile>,
    /// The people in it, with quasi-identifiers and the column that names them.
    pub people: PathBuf,
    /// That column.
    pub person: String,
    /// What the people are to the release.
    pub membership: Membership,
    /// Who was given it; what its manifest says, if nothing is said here.
    pub recipients: Option<Vec<String>>,
    /// Who published it; what its manifest says, if nothing is said here.
    pub publisher: Option<String>,
    /// What to call it; the name of its folder, if nothing is said here.
    pub name: Option<String>,
    /// How long to wait for others.
    pub wait: Duration,
}

impl AddRequest {
    /// Adds a release with these people, whom this column names; whoever fits is in it.
    pub fn new(
        release: impl Into<PathBuf>,
        people: impl Into<PathBuf>,
        person: &str,
    ) -> AddRequest {
        AddRequest {
            release: release.into(),
            policy: None,
            people: people.into(),
            person: person.to_owned(),
            membership: Membership::Members,
            recipients: None,
            publisher: None,
            name: None,
            wait: Duration::from_secs(60),
        }
    }
}

/// Adds a release that was made elsewhere, so that the gate knows of it. The ledger is made if
/// there is none.
pub(crate) fn add(place: &Whereabouts, from: Task<'_, AddRequest>) -> Result<Noted, Failures> {
    let table = read_people(from)?;
    let person = column(&table, &from.person, &from.people)?;
    one_row_each(person)?;
    let register = to_register(&table, &[String::new()])?;
    let texts = |name: &str, _: Option<&Rule>, _: &[&str]| {
        let column = register.columns.iter().find(|c| c.name == name);
        column.map_or_else(Vec::new, |c| c.texts.clone())
    };
    let (release, mut warnings) = match &from.policy {
        Some(policy) => reader::open_table(&from.release, policy, &texts, from.publisher)?,
        None => reader::open(&from.release, &texts, from.publisher)?,
    };
    let attributes: Vec<String> =
        published(&release.sensitive).iter().map(|a| a.name.clone()).collect();
    if attributes.is_empty() {
        return Err(Failure::usage(
            "no-sensitive-attribute",
            "the release has no sensitive attribute, so there is nothing to remember",
        )
        .remedy(Remedy::give(Argument::Policy).then(" with the roles of its columns"))
        .into());
    }
    from.publisher.observer.phase(Phase::Locate);
    let name = from.name.clone().unwrap_or_else(|| called(&from.release));
    let knowledge = Knowledge {
        register: &register,
        membership: from.membership,
        told: Vec::new(),
        apart: None,
    };
    let scene = Scene::new(
        vec![(name.clone(), release.clone())],
        Some(&attributes[0]),
        Some(&knowledge),
        0,
    )?;
    let mut ledger = Ledger::open(place, Access::Write { wait: from.wait, make: true })?
        .ok_or_else(|| nothing(place))?;
    warnings.extend(ledger.resolved.iter().cloned());
    let (members, places) = located(&scene, &ledger, person, &table, &release, &attributes)?;
    let groups = Groups::of(&release);
    if members.people.is_empty() {
        return Err(Failure::data("nobody-meant", "nobody of these people is in the release")
            .hint(
                "the people must have the quasi-identifiers of the release as columns, as they were before it was made",
            )
            .into());
    }
    let sure =
        |&&p: &&u32| places[p as usize].groups.len() == 1 && !places[p as usize].may_be_absent;
    let (people, located) =
        (members.people.len() as u64, members.places.iter().filter(sure).count() as u64);
    must_fit(&members, &places, &groups)?;
    let told = manifest::read(&from.release).ok();
    let recipients =
        from.recipients.clone().or(told.as_ref().map(|m| m.recipients.clone())).unwrap_or_default();
    warnings.extend(unknown_attributes(&ledger, &attributes));
    let tables: Vec<Counts> = (0..attributes.len()).map(|i| Counts::of(&release, i)).collect();
    let added = Added {
        name: &name,
        recipients: &recipients,
        attributes: &attributes,
        members: members.clone(),
        places: places.clone(),
        groups: groups.clone(),
        tables: tables.clone(),
    };
    from.publisher.observer.phase(Phase::Gate);
    let (exposed, openly) = exposed(&mut ledger, added)?;
    warnings.extend(openly);
    let folded = ledger.keep(&write_pseudonyms(&folded_pseudonyms(ledger.key(), person))?)?;
    let kept = Kept {
        members: Some(ledger.keep(&members.write()?)?),
        groups: ledger.keep(&groups.write()?)?,
        counts: ledger.keep(&Counts::write(&tables, attributes.len())?)?,
        places: Some(ledger.keep(&write_places(&places)?)?),
        folded: Some(folded),
        open: None,
        open_members: None,
    };
    let folder = std::path::absolute(&from.release)
        .unwrap_or_else(|_| from.release.clone())
        .display()
        .to_string();
    let id = told.as_ref().and_then(|m| m.id.clone());
    let open = told.as_ref().map(|m| open_columns(m, &attributes));
    if let Some(known) = id.as_ref().and_then(|id| ledger.given().find(|r| r.described.id == *id)) {
        return Err(Failure::usage(
            "recorded-already",
            format!("`{}` is in the ledger already, as entry {}", name, known.number),
        )
        .into());
    }
    let described = Described {
        at: now(),
        id: id.unwrap_or_else(|| hex(&Sha256::digest(format!("{}\n{name}", ledger.head()))[..16])),
        name: name.clone(),
        place: Place { machine: machine(), folder },
        publisher: from
            .request
            .publisher
            .clone()
            .or(told.as_ref().and_then(|m| m.publisher.clone())),
        recipients,
        policy: None,
        method: told.as_ref().map_or_else(|| "not known".into(), |m| m.algorithm.name.clone()),
        rows: release.records(),
        suppressed: told.as_ref().map_or(0, |m| m.suppressed),
        attributes,
        shown: Vec::new(),
        open,
        kept,
        models: told.map_or_else(Vec::new, |m| m.models),
        gate: Vec::new(),
        replaces: None,
        seeded: false,
    };
    let entry = ledger.append(&Entry::Added(Box::new(described)))?;
    Ok(Noted {
        version: VERSION,
        ledger: ledger.name(),
        entry,
        name,
        people,
        located,
        exposed,
        warnings,
    })
}

/// The columns of a release besides these, by its manifest: what it shows of them is not kept.
fn open_columns(manifest: &Manifest, protected: &[String]) -> Vec<OpenColumn> {
    let others = manifest.columns.iter().filter(|c| !protected.contains(&c.name));
    others
        .map(|c| OpenColumn {
            name: c.name.clone(),
            shown: Shown { role: c.role.name().to_owned(), ..Shown::sensitive() },
        })
        .collect()
}

/// Refuses people who cannot all be in the release: more in groups than those have records.
fn must_fit(members: &Members, places: &[Located], groups: &Groups) -> Result<(), Failures> {
    let mut surely = vec![0u64; groups.sizes.len()];
    for &place in &members.places {
        match &places[place as usize] {
            Located { groups, may_be_absent: false } if groups.len() == 1 => {
                surely[groups[0] as usize] += 1
            }
            _ => (),
        }
    }
    let full = surely.iter().zip(&groups.sizes).filter(|(people, size)| people > size);
    let (people, records) = full.fold((0, 0), |(p, r), (people, size)| (p + people, r + size));
    match people {
        0 => Ok(()),
        _ => Err(Failure::data(
            "contradiction",
            format!("{people} people are located in groups of {records} records"),
        )
        .hint(OTHERS)
        .into()),
    }
}

/// What may be wrong with a list of people.
const OTHERS: &str = "nothing was added; the people may be others than those in the release, or not all of them are in it: then \
                      say that the list is a register of which only some are";

/// How many people's values an added release makes certain, with what the ledger holds; a problem
/// if they contradict each other, because then nothing could be published any more.
fn exposed(
    ledger: &mut Ledger,
    added: Added<'_>,
) -> Result<(Vec<ExposedPeople>, Vec<String>), Failures> {
    let (name, attributes) = (added.name.to_owned(), added.attributes.to_vec());
    let mut recollection =
        Recollection::load(ledger, attributes.clone(), &HistoryPolicy::default(), &|_, _| true)?;
    recollection.add(added);
    let gate = Gate { written: true, certain: u64::MAX, ..Gate::default() };
    let mut exposed = Vec::new();
    for attribute in attributes {
        let newest = recollection.recalled(&attribute, 0);
        let replaced = newest.replaced();
        let mut people = 0;
        for age in 0..=replaced {
            let memory = recollection.recalled(&attribute, age);
            let seen = judge(&memory, &gate, None, &|_, _| true).map_err(|_| {
                let message = format!(
                    "`{name}` contradicts itself or what the ledger holds about `{attribute}`"
                );
                Failure::data("ledger-contradiction", message).hint(OTHERS)
            })?;
            people += seen.iter().map(|s| s.newly).max().unwrap_or(0);
        }
        exposed.push(ExposedPeople { attribute, people });
    }
    Ok((exposed, recollection.openly.iter().map(Openly::warning).collect()))
}

/// Attributes that no other release has: what is about them is judged with nothing.
fn unknown_attributes(ledger: &Ledger, attributes: &[String]) -> Vec<String> {
    let known: BTreeSet<&str> =
        ledger.given().flat_map(|r| &r.described.attributes).map(String::as_str).collect();
    let known: Vec<&str> = known.into_iter().collect();
    let is_open = |name: &String| {
        ledger.given().flat_map(|r| r.described.open.iter().flatten()).any(|c| c.name == *name)
    };
    let unknown = attributes
        .iter()
        .filter(|a| !known.is_empty() && !known.contains(&a.as_str()) && !is_open(a));
    let warning = |name: &String| {
        let known = known.join("`, `");
        format!(
            "no other release of the ledger has an attribute `{name}`; they have `{known}`. If it is one of these, name it \
             so, or it is judged with none of them"
        )
    };
    unknown.map(warning).collect()
}

fn called(path: &Path) -> String {
    path.file_stem()
        .map_or_else(|| path.display().to_string(), |n| n.to_string_lossy().into_owned())
}

fn column<'a>(table: &'a Columns, name: &str, path: &Path) -> Result<&'a Column, Failures> {
    table.columns.iter().find(|c| c.name == name).ok_or_else(|| {
        let names: Vec<String> = table.columns.iter().map(|c| c.name.clone()).collect();
        let hint = did_you_mean_column(name, &names, false);
        Failure::usage("no-such-column", format!("`{}` has no column `{name}`", path.display()))
            .hint(hint)
            .into()
    })
}

fn read_people(from: Task<'_, AddRequest>) -> Result<Columns, Failures> {
    from.publisher.observer.phase(Phase::ReadRegister);
    from.publisher.read(&from.people.as_path().into(), &ReadOptions::default(), None)
}

fn one_row_each(person: &Column) -> Result<(), Failures> {
    let mut rows = vec![0u32; person.values.len()];
    person.codes.iter().for_each(|&code| rows[code as usize] += 1);
    match rows.iter().filter(|&&n| n > 1).count() {
        0 => Ok(()),
        repeated => Err(Failure::data(
            "repeated-person",
            format!("column `{}` names {repeated} persons more than once", person.name),
        )
        .hint("give one row per person")
        .into()),
    }
}

/// Who of the people is where in the release.
fn located(
    scene: &Scene,
    ledger: &Ledger,
    person: &Column,
    table: &Columns,
    release: &Release,
    attributes: &[String],
) -> Result<(Members, Vec<Located>), Failures> {
    let crowd = scene.people()?;
    let places: Vec<Located> = (0..crowd.kinds.len())
        .map(|kind| {
            let groups = crowd.candidates(kind, 0).iter().map(|c| c.group).collect();
            Located { groups, may_be_absent: crowd.kinds[kind].places[0].1 != In::Yes }
        })
        .collect();
    let people = pseudonyms(ledger.key(), person);
    let there: Vec<usize> = (0..people.len())
        .filter(|&row| !places[crowd.kind_of[row] as usize].groups.is_empty())
        .collect();
    let tags = |name: &String| -> Vec<Option<u32>> {
        let Some(column) = table.columns.iter().find(|c| c.name == *name) else {
            return vec![None; there.len()];
        };
        let taxonomy = release.sensitive.iter().find(|a| a.name == *name).map(|a| &a.taxonomy);
        // As the release writes the value; one that it does not know is not the person's value in
        // it.
        let leaf = |text: &str| taxonomy.and_then(|t| Some(t.leaf(t.find(text)?).to_owned()));
        let texts: Vec<Option<String>> = column.values.iter().map(leaf).collect();
        let tag = |&row: &usize| {
            let text = texts[column.codes[row] as usize].as_ref()?;
            Some(ledger.key().tag(people[row], name, text))
        };
        there.iter().map(tag).collect()
    };
    let members = Members {
        people: there.iter().map(|&row| people[row]).collect(),
        places: there.iter().map(|&row| crowd.kind_of[row]).collect(),
        tags: attributes.iter().map(tags).collect(),
    };
    Ok((members.sorted(), places))
}
