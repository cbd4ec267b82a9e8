//! Between the Publisher and the ledger: what is remembered when a release is made, whether the
//! gate lets it pass, and that nothing is published without an entry.

use crate::answer::{Left, Passage, Published, Reason, Record};
use crate::ledger::{
    Access, Comparison, Counts, Described, Entry, Kept, Key, Ledger, New, OpenColumn, Openly,
    Place, Recollection, Shown, Shows, Verdict, Whereabouts, asked, folded_pseudonyms, hex,
    machine, now, write_pseudonyms,
};
use crate::observer::{Observer, Phase, Timed};
use crate::publish::PublishRequest;
use crate::publish::showing::{Showing, TrueValues, protects, shows, true_tags, unnamed};
use crate::publish::sight::Sight;
use crate::publish::source::{Earlier, Extract};
use crate::publish::staging;
use crate::publisher::Task;
use crate::table::write::Rows;
use scumble::failure::{Failure, Failures};
use scumble::gate::Gate;
use scumble::policy::{AttributePolicy, Difference, Policy};
use scumble::publish::Made;
use scumble::release::Shape;
use scumble::table::published;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Holds the ledger from before its history is read until the release is recorded.
pub(crate) struct Gatekeeper {
    place: Option<Whereabouts>,
    ledger: Option<Ledger>,
    recollection: Option<Recollection>,
    /// The last entry when the ledger was given back to others, if it was.
    given_back: Option<String>,
    /// What the steward should know.
    pub warnings: Vec<String>,
}

/// A release that was announced.
pub(crate) struct Announced {
    intent: u64,
}

impl Gatekeeper {
    /// Opens the ledger of a policy if there is one, and resolves what an earlier run left open.
    pub fn open(
        policy: &Policy,
        base: &Path,
        options: Task<'_, PublishRequest>,
    ) -> Result<Gatekeeper, Failures> {
        let named = options.ledger.as_deref().or(policy.ledger.as_deref());
        let place = named.map(|ledger| {
            // What is given on the command line is relative to where one stands.
            let base = if options.ledger.is_some() { Path::new("") } else { base };
            let (key, head) = (
                options.key.as_ref().or(policy.key.as_ref()),
                options.head.as_ref().or(policy.head.as_ref()),
            );
            Whereabouts::new(base, ledger, key.map(String::as_str), head.map(String::as_str))
        });
        let mut keeper = Gatekeeper {
            place,
            ledger: None,
            recollection: None,
            given_back: None,
            warnings: Vec::new(),
        };
        keeper.enter(
            if options.dry_run {
                Access::Read
            } else {
                Access::Write { wait: options.wait, make: false }
            },
            options.publisher.observer,
        )?;
        Ok(keeper)
    }

    fn enter(&mut self, access: Access, observer: &dyn Observer) -> Result<(), Failures> {
        let Some(place) = &self.place else { return Ok(()) };
        self.ledger = Ledger::open_unless(place, access, observer)?;
        if let Some(ledger) = &self.ledger {
            self.warnings.extend(ledger.resolved.iter().cloned());
        }
        Ok(())
    }

    /// Gives the ledger back to others: what was read of it stays, and nothing more is asked of it
    /// until [`Gatekeeper::make`]. A refusal is final, so that reasons and remedies can be looked
    /// for meanwhile.
    pub fn give_back(&mut self) {
        if let Some(ledger) = self.ledger.take() {
            self.given_back = Some(ledger.head().to_owned());
        }
    }

    /// Makes the ledger if there is none yet, or takes it again after it was given back: only for a
    /// release that is about to be written. Whether nobody else was faster; if somebody was, the
    /// release was not judged against hers and must be made again.
    pub fn make(&mut self, options: Task<'_, PublishRequest>) -> Result<bool, Failures> {
        if self.ledger.is_some() || self.place.is_none() {
            return Ok(true);
        }
        self.enter(Access::Write { wait: options.wait, make: true }, options.publisher.observer)?;
        let Some(ledger) = &self.ledger else { return Ok(true) };
        if let Some(head) = self.given_back.take() {
            return Ok(ledger.head() == head);
        }
        if ledger.given().next().is_some() {
            return Ok(false);
        }
        if let Some(recollection) = &mut self.recollection {
            *recollection = Recollection::nothing(ledger.key().clone());
        }
        Ok(true)
    }

    /// Reads what the ledger remembers of the policy's sensitive attributes.
    pub fn remember(
        &mut self,
        policy: &Policy,
        options: Task<'_, PublishRequest>,
    ) -> Result<(), Failures> {
        let persons = policy.attributes.iter().any(|a| a.person);
        let Some(ledger) = &mut self.ledger else {
            // Nothing was published yet; the gate may still look at the release alone.
            if persons && self.place.is_some() {
                self.recollection = Some(Recollection::nothing(Key::passing()?));
            }
            return Ok(());
        };
        if persons {
            options.publisher.observer.phase(Phase::ReadLedger);
            let progress = |done, total| options.publisher.observer.at(done, total);
            // What an earlier release protected stays protected, whatever its role is now.
            let earlier: Vec<String> = ledger
                .given()
                .flat_map(|r| &r.described.attributes)
                .map(|a| policy.history.column_now(a).to_owned())
                .collect();
            let shown = policy
                .attributes
                .iter()
                .filter(|a| protects(a) || shows(a) && earlier.contains(&a.name));
            let attributes: Vec<String> = shown.map(|a| a.name.clone()).collect();
            let recollection = Recollection::load(ledger, attributes, &policy.history, &progress)?;
            self.warnings.extend(recollection.openly.iter().map(Openly::warning));
            for recipient in &policy.recipients {
                let known = recollection.recipient(recipient);
                if known != recipient {
                    self.warnings.push(format!(
                        "the recipient `{recipient}` is taken for `{known}` of earlier releases"
                    ));
                }
            }
            self.recollection = Some(recollection);
        } else if let Some(earlier) = ledger.given().find(|r| r.described.kept.members.is_some()) {
            let name = &earlier.described.name;
            if !policy.history.meant.contains(&Difference::NoPersons) {
                return Err(asked(
                    format!(
                        "no column says `person = true`, and `{name}` of this ledger knows persons: what this release \
                         reveals together with it could not be judged"
                    ),
                    "give `person = true` to the identifier that names the persons",
                    Difference::NoPersons,
                )
                .into());
            }
            self.warnings.push(format!(
                "no column says `person = true`: what this release reveals together with `{name}` and other releases \
                 is not judged"
            ));
        } else if ledger.given().next().is_some() {
            self.warnings.push(
                "no column says `person = true`: what this release reveals together with earlier ones is not known"
                    .into(),
            );
        }
        Ok(())
    }

    /// Whether the people and values of an extract are recognised in earlier releases; what looks
    /// like another spelling of them is a problem, unless the policy means it.
    pub fn recognise(
        &mut self,
        policy: &Policy,
        extract: &Extract,
        options: Task<'_, PublishRequest>,
    ) -> Result<(), Failures> {
        let show_values = options.show_values;
        let (Some(recollection), Some(persons)) = (&self.recollection, &extract.persons) else {
            return Ok(());
        };
        if recollection.unfolded > 0 && !policy.history.meant.contains(&Difference::Spelling) {
            let releases = recollection.unfolded;
            self.warnings.push(format!(
                "of {releases} earlier releases the ledger does not know how persons were written: another spelling of \
                 theirs may not be noticed"
            ));
        }
        let people = persons.pseudonyms(recollection.key());
        options.publisher.observer.go_on()?;
        let columns: Vec<&AttributePolicy> = protected(policy, recollection).collect();
        let values: Vec<BTreeSet<String>> = columns
            .iter()
            .map(|a| TrueValues::of(extract, policy, &a.name).map(|v| v.distinct()))
            .map(Option::unwrap_or_default)
            .collect();
        let tags: Vec<Vec<u32>> = columns
            .iter()
            .map(|a| true_tags(recollection, &people, (extract, policy), &a.name))
            .collect();
        let each = columns.iter().zip(&values).zip(&tags);
        let others = policy
            .attributes
            .iter()
            .filter(|a| shows(a) && !columns.iter().any(|c| c.name == a.name));
        let comparison = Comparison {
            recollection,
            history: &policy.history,
            persons: persons.column(),
            attributes: each
                .map(|((a, values), tags)| (a.name.as_str(), values, &tags[..]))
                .collect(),
            others: others.map(|a| a.name.as_str()).collect(),
            people: &people,
            show_values,
        };
        comparison.check()
    }

    /// Remembers a release as if it were published.
    pub fn imagine(&mut self, new: New<'_>) {
        if let Some(recollection) = &mut self.recollection {
            recollection.imagine(new);
        }
    }

    /// Number of earlier releases that share people with a new one.
    pub fn shared(&self, new: &New<'_>) -> usize {
        self.recollection.as_ref().map_or(0, |r| r.shared(&new.people))
    }

    /// How many values what was published before leaves possible for the people of a new release.
    pub fn left(&self, new: &New<'_>, observer: &dyn Observer) -> Result<Vec<Left>, Failures> {
        let Some(recollection) = &self.recollection else { return Ok(Vec::new()) };
        let mut all = Vec::new();
        for attribute in published(&new.release.sensitive) {
            let memory = recollection.memory(new, &attribute.name, 0).0;
            let progress = |done, total| observer.at(done, total);
            let left = scumble::gate::left(&memory, &progress)?;
            all.extend(left.into_iter().map(|(values, people)| Left {
                attribute: attribute.name.clone(),
                values,
                people,
            }));
        }
        Ok(all)
    }

    /// What earlier releases mean for the extract of a policy.
    pub fn past(&self, policy: &Policy) -> Option<Earlier<'_>> {
        let recollection = self.recollection.as_ref()?;
        let again = policy.algorithm.algorithm.remembers().then_some(recollection);
        // A column that nothing protects yet may be protected by a later release.
        let tagged =
            policy.attributes.iter().filter(|a| shows(a)).map(|a| a.name.clone()).collect();
        Some(Earlier { again, tagged })
    }

    /// Whether releases are judged together with earlier ones.
    pub fn judges(&self) -> bool {
        self.recollection.is_some()
    }

    /// What the release adds to the memory; nothing without persons or without a ledger.
    pub fn new_release<'a>(
        &self,
        policy: &Policy,
        extract: &'a Extract,
        made: &'a Made,
        target: &Path,
        seed: u64,
    ) -> Option<New<'a>> {
        let recollection = self.recollection.as_ref()?;
        let persons = extract.persons.as_ref()?;
        let people = persons.pseudonyms(recollection.key());
        let groups = Rows::new(extract, &made.form, &extract.layout, seed).class_of();
        let columns = protected(policy, recollection);
        let showing =
            Showing { recollection, policy, extract, made, people: &people, groups: &groups };
        let (shows, tags) = showing.shows(columns);
        let (name, recipients) = (name_of(target), recollection.recipients(&policy.recipients));
        Some(New { name, recipients, release: &made.release, shows, people, groups, tags, persons })
    }

    /// Lets every adversary put the release together with what she has: whether it may pass, the
    /// records of the extract whose people it exposes, and what there is to explain.
    pub fn judge(
        &self,
        gate: &Gate,
        extract: &Extract,
        new: &New<'_>,
        options: Task<'_, PublishRequest>,
        answer: &mut Published,
    ) -> Result<(bool, Vec<u32>, Vec<Sight>), Failures> {
        let (mut passes, mut records) = (true, Vec::new());
        for column in self.in_the_open(gate, new) {
            passes = false;
            let message = format!(
                "`{column}` is protected, and a release of this form shows every record's own value"
            );
            let hint = "make it `sensitive` or an `identifier`, or publish by an algorithm that generalizes";
            let failure = Failure::refused("protected-shown", message).column(column).hint(hint);
            answer.reasons.push(Reason::from(&failure));
        }
        let sights = self.see(gate, extract, new, options)?;
        for sight in &sights {
            passes &= sight.holds();
            answer.reasons.extend(sight.reasons(options.show_values));
            answer.gate.extend(sight.passages(gate, options.show_values));
            answer.attacks = gate.panel.iter().map(|p| p.name().to_owned()).collect();
            records.extend(sight.records());
        }
        records.sort_unstable();
        records.dedup();
        Ok((passes, records, sights))
    }

    /// Protected columns that stand among the quasi-identifiers or pass through, in a release that
    /// does not generalize: what it shows of them is no region that could be judged.
    fn in_the_open<'a>(&self, gate: &Gate, new: &'a New<'_>) -> Vec<&'a str> {
        let Some(recollection) =
            self.recollection.as_ref().filter(|_| new.release.shape != Shape::Regions)
        else {
            return Vec::new();
        };
        if !gate.written && recollection.shared(&new.people) == 0 {
            return Vec::new();
        }
        let columns = new.shows.attributes.iter().zip(&new.shows.shown);
        columns
            .filter(|(_, shown)| shown.role != "sensitive")
            .map(|(name, _)| name.as_str())
            .collect()
    }

    /// What everybody learns, attribute by attribute; nothing where there is nothing to judge.
    fn see(
        &self,
        gate: &Gate,
        extract: &Extract,
        new: &New<'_>,
        options: Task<'_, PublishRequest>,
    ) -> Result<Vec<Sight>, Failures> {
        let Some(recollection) = &self.recollection else { return Ok(Vec::new()) };
        if !gate.written && recollection.shared(&new.people) == 0 {
            return Ok(Vec::new());
        }
        let observer = options.publisher.observer;
        observer.phase(Phase::Gate);
        // One clock for all attributes: it bounds the judgement.
        let progress = Timed::new(observer, Some(gate.seconds as f64));
        let mut sights = Vec::new();
        for attribute in recollection.judged(new) {
            sights.extend(Sight::all_of(recollection, gate, extract, new, &attribute, &progress)?);
        }
        Ok(sights)
    }

    /// The id of the next release, which is about to be written beside `target`; none without a
    /// ledger. See [`release_id`].
    pub fn next_id(
        &mut self,
        text: &str,
        target: &Path,
        seeded: bool,
    ) -> Result<Option<String>, Failures> {
        let Some(ledger) = &mut self.ledger else { return Ok(None) };
        let id = release_id(ledger.rows().len(), text, seeded)?;
        ledger.will_write(&absolute(&staging::partial(target, &id)))?;
        Ok(Some(id))
    }

    /// Announces the release of an id, durably, before a byte of it exists.
    pub fn announce(
        &mut self,
        (policy, text): (&Policy, &str),
        new: Option<&New<'_>>,
        (extract, made): (&Extract, &Made),
        answer: &Published,
        target: &Path,
        (id, seeded): (&str, bool),
    ) -> Result<Option<Announced>, Failures> {
        let recollection = self.recollection.as_ref();
        let open = new.zip(recollection).map(|(new, recollection)| {
            let (people, groups) = (&new.people[..], &new.groups[..]);
            Showing { recollection, policy, extract, made, people, groups }.open(&new.shows)
        });
        let Some(ledger) = &mut self.ledger else { return Ok(None) };
        let members = new.map(|n| ledger.keep(&n.members().write()?)).transpose()?;
        let folded = new.map(|n| folded_pseudonyms(ledger.key(), n.persons.column()));
        let folded = folded.map(|people| ledger.keep(&write_pseudonyms(&people)?)).transpose()?;
        let unnamed = new.is_none().then(|| unnamed(&made.release));
        let shows = new
            .map(|n| &n.shows)
            .or(unnamed.as_ref())
            .ok_or_else(|| Failure::bug("internal", "nothing is shown"))?;
        let kept = Kept {
            members,
            groups: ledger.keep(&shows.groups.write()?)?,
            counts: ledger.keep(&Counts::write(&shows.tables, shows.attributes.len())?)?,
            places: None,
            folded,
            open: open.as_ref().map(|open| ledger.keep(&open.write(shows)?)).transpose()?,
            open_members: open
                .as_ref()
                .map(|open| ledger.keep(&open.members.write_open()?))
                .transpose()?,
        };
        let folder = absolute(target).display().to_string();
        let replaces = crate::release::manifest::read(target).ok().and_then(|m| m.id);
        let described = Described {
            at: now(),
            id: id.to_owned(),
            name: name_of(target),
            place: Place { machine: machine(), folder },
            publisher: policy.publisher.clone(),
            recipients: policy.recipients.clone(),
            policy: Some(hex(&Sha256::digest(text))),
            method: policy.algorithm.name.into(),
            rows: answer.rows,
            suppressed: answer.suppressed,
            attributes: shows.attributes.clone(),
            shown: if shows.shown.iter().all(|s| *s == Shown::sensitive()) {
                Vec::new()
            } else {
                shows.shown.clone()
            },
            open: Some(open.map_or_else(|| roles(policy, shows), |open| open.columns)),
            kept,
            models: answer.models.iter().map(|m| m.public()).collect(),
            gate: answer.gate.iter().map(Verdict::from).collect(),
            replaces,
            seeded,
        };
        let intent = ledger.append(&Entry::Intent(Box::new(described)))?;
        Ok(Some(Announced { intent }))
    }

    /// What the gate said, as far as recipients of the release may read it in its certificate: about
    /// columns that it shows, or that another release shows which all of them have. The others
    /// would tell them what somebody else was given.
    pub fn told_to_recipients(
        &self,
        policy: &Policy,
        new: Option<&New<'_>>,
        passages: &[Passage],
    ) -> Vec<Passage> {
        let here = |name: &str| policy.attributes.iter().any(|a| a.name == name && shows(a));
        let recipients = new.map_or(&[][..], |new| &new.recipients[..]);
        let had = |name: &str| {
            self.recollection.as_ref().is_some_and(|r| r.have_column(recipients, name))
        };
        passages.iter().filter(|p| here(&p.attribute) || had(&p.attribute)).cloned().collect()
    }

    /// Refuses to go on if the ledger was lost while the release was made.
    pub fn must_hold(&mut self) -> Result<(), Failures> {
        self.ledger.as_mut().map_or(Ok(()), Ledger::must_hold)
    }

    /// Records that an announced release has its place; how people find it, which is by its
    /// announcement.
    pub fn confirm(
        &mut self,
        announced: &Announced,
        target: &Path,
    ) -> Result<Option<Record>, Failures> {
        let Some(ledger) = &mut self.ledger else { return Ok(None) };
        ledger.confirm(announced.intent, target)?;
        Ok(Some(Record {
            ledger: ledger.name(),
            entry: announced.intent,
            head: ledger.head().to_owned(),
        }))
    }

    /// Records that an announced release was not written; whether it could be recorded. If not, the
    /// next run will.
    pub fn abandon(&mut self, announced: &Announced, because: &Failures) -> bool {
        let because = because.0.first().map_or("it failed", |p| p.message.as_str()).to_owned();
        self.ledger
            .as_mut()
            .is_some_and(|ledger| ledger.abandon(announced.intent, &because).is_ok())
    }

    /// The randomness of remedies: the same as long as neither the policy nor the ledger changes,
    /// and known to nobody without the key. None without a ledger.
    pub fn remedy_seed(&self, policy: &str) -> Option<u64> {
        let ledger = self.ledger.as_ref()?;
        Some(ledger.key().number(&[b"remedies", policy.as_bytes(), ledger.head().as_bytes()]))
    }
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
}

/// The id of a release: random, or the same whenever a seed was given. It is published, so it is
/// not made of the seed, which could be found by trying. Never the same twice in one ledger, which
/// grows by an entry each time.
fn release_id(entries: usize, policy: &str, seeded: bool) -> Result<String, Failures> {
    if seeded {
        return Ok(hex(&Sha256::digest(format!("{entries}\n{policy}"))[..16]));
    }
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes).map_err(|e| {
        Failure::io("no-randomness", format!("the system gives no randomness: {e}"))
    })?;
    Ok(hex(&bytes))
}

/// The columns of a policy that are judged: those that it protects, and those that it shows and an
/// earlier release protects.
fn protected<'a>(
    policy: &'a Policy,
    recollection: &'a Recollection,
) -> impl Iterator<Item = &'a AttributePolicy> {
    let earlier = |a: &AttributePolicy| shows(a) && recollection.protector(&a.name).is_some();
    policy.attributes.iter().filter(move |a| protects(a) || earlier(a))
}

/// The columns that a release shows besides these, where it does not know persons: then nothing
/// but their roles is kept.
fn roles(policy: &Policy, shown: &Shows) -> Vec<OpenColumn> {
    let others = policy.attributes.iter().filter(|a| shows(a) && shown.at(&a.name).is_none());
    others.map(|a| OpenColumn { name: a.name.clone(), shown: Shown::in_role(a.role) }).collect()
}

/// A release is called by the name of its folder.
fn name_of(target: &Path) -> String {
    target
        .file_name()
        .map_or_else(|| target.display().to_string(), |n| n.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every small seed gives the same id, so none can be told from it.
    #[test]
    fn an_id_says_nothing_about_the_seed() {
        let id = |entries, seeded| release_id(entries, "policy", seeded).expect("an id");
        assert_eq!(id(1, true), id(1, true));
        assert_ne!(id(1, true), id(2, true));
        assert_ne!(id(1, false), id(1, false));
    }
}
