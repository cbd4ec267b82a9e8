//! Between the Publisher and the ledger: what is remembered when a release is made, whether the gate lets it pass, and
//! that nothing is published without an entry.

use crate::answer::{Passage, Published, Reason, Record, exposed_lines};
use crate::headroom::Left;
use crate::ledger::Key;
use crate::ledger::{
    Access, Comparison, Counts, Described, Entry, Groups, Kept, Label, Ledger, New, Place, Pseudonym, Recollection,
    Shown, Shows, Verdict, Whereabouts, folded_pseudonyms, hex, machine, now, observed, pseudonyms, write_pseudonyms,
};
use crate::publisher::Options;
use crate::source::{Extract, Place as Column};
use crate::staging;
use crate::write::Rows;
use hashbrown::HashMap;
use scumble::attack::{ATTACKS, In, Knowledge, Membership, Scene};
use scumble::catalogue::Parameters;
use scumble::class::{EquivalenceClass, Run};
use scumble::exact::Ratio;
use scumble::freeform::{Specification, sensitivity};
use scumble::gate::{Gate, Memory, Panelist, Seen, Strongest, judge};
use scumble::perturb::decimals;
use scumble::policy::{AttributePolicy, Difference, Policy};
use scumble::problem::{Problem, Problems};
use scumble::publish::Made;
use scumble::register::{Register, RegisterColumn};
use scumble::release::{Release, Shape};
use scumble::table::{Attribute, Role, published};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
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

/// What everybody learns about a sensitive attribute.
pub(crate) struct Sight {
    memory: Memory,
    /// The number in it of everybody in the extract.
    number_of: Vec<u32>,
    seen: Vec<Seen>,
}

impl Sight {
    /// Finds reasons for what everybody learns. That takes longer than the verdict, which does not depend on it.
    pub fn explain(&mut self) {
        for seen in &mut self.seen {
            seen.explain(&self.memory);
        }
    }

    /// Everybody who is exposed, as lines of a CSV file.
    pub fn exposed_lines(&self, show_values: bool) -> String {
        self.seen.iter().map(|seen| exposed_lines(&self.memory, seen, show_values)).collect()
    }

    /// What everybody learns, as the answer tells it.
    pub fn passages<'a>(&'a self, gate: &'a Gate, show_values: bool) -> impl Iterator<Item = Passage> + 'a {
        self.seen.iter().map(move |seen| Passage::of(&self.memory, gate, seen, show_values))
    }
}

/// A release that was announced.
pub(crate) struct Announced {
    intent: u64,
}

impl Gatekeeper {
    /// Opens the ledger of a policy if there is one, and resolves what an earlier run left open.
    pub fn open(policy: &Policy, base: &Path, options: &Options<'_>) -> Result<Gatekeeper, Problems> {
        let named = options.ledger.as_deref().or(policy.ledger.as_deref());
        let place = named.map(|ledger| {
            // What is given on the command line is relative to where one stands.
            let base = if options.ledger.is_some() { Path::new("") } else { base };
            let (key, head) =
                (options.key.as_ref().or(policy.key.as_ref()), options.head.as_ref().or(policy.head.as_ref()));
            Whereabouts::new(base, ledger, key.map(String::as_str), head.map(String::as_str))
        });
        let mut keeper = Gatekeeper { place, ledger: None, recollection: None, given_back: None, warnings: Vec::new() };
        keeper.enter(if options.dry_run { Access::Read } else { Access::Write { wait: options.wait, make: false } })?;
        Ok(keeper)
    }

    fn enter(&mut self, access: Access) -> Result<(), Problems> {
        let Some(place) = &self.place else { return Ok(()) };
        self.ledger = Ledger::open(place, access)?;
        if let Some(ledger) = &self.ledger {
            self.warnings.extend(ledger.resolved.iter().cloned());
        }
        Ok(())
    }

    /// Gives the ledger back to others: what was read of it stays, and nothing more is asked of it until
    /// [`Gatekeeper::make`]. A refusal is final, so that reasons and remedies can be looked for meanwhile.
    pub fn give_back(&mut self) {
        if let Some(ledger) = self.ledger.take() {
            self.given_back = Some(ledger.head().to_owned());
        }
    }

    /// Makes the ledger if there is none yet, or takes it again after it was given back: only for a release that is about to
    /// be written. Whether nobody else was faster; if somebody was, the release was not judged against hers and must be made
    /// again.
    pub fn make(&mut self, options: &Options<'_>) -> Result<bool, Problems> {
        if self.ledger.is_some() || self.place.is_none() {
            return Ok(true);
        }
        self.enter(Access::Write { wait: options.wait, make: true })?;
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
    pub fn remember(&mut self, policy: &Policy, options: &Options<'_>) -> Result<(), Problems> {
        let persons = policy.attributes.iter().any(|a| a.person);
        let Some(ledger) = &mut self.ledger else {
            // Nothing was published yet; the gate may still look at the release alone.
            if persons && self.place.is_some() {
                self.recollection = Some(Recollection::nothing(Key::passing()?));
            }
            return Ok(());
        };
        if persons {
            options.watcher.phase("reading the ledger");
            let progress = |done, total| options.watcher.at(done, total);
            // What an earlier release protected stays protected, whatever its role is now.
            let earlier: Vec<String> = ledger
                .given()
                .flat_map(|r| &r.described.attributes)
                .map(|a| policy.history.column_now(a).to_owned())
                .collect();
            let shown = policy.attributes.iter().filter(|a| protects(a) || shows(a) && earlier.contains(&a.name));
            let attributes: Vec<String> = shown.map(|a| a.name.clone()).collect();
            self.recollection = Some(Recollection::load(ledger, attributes, &policy.history, &progress)?);
        } else if ledger.given().next().is_some() {
            self.warnings.push(
                "no column says `person = true`: what this release reveals together with earlier ones is not known"
                    .into(),
            );
        }
        Ok(())
    }

    /// Whether the people and values of an extract are recognised in earlier releases; what looks like another spelling of
    /// them is a problem, unless the policy means it.
    pub fn recognise(&mut self, policy: &Policy, extract: &Extract, show_values: bool) -> Result<(), Problems> {
        let (Some(recollection), Some(persons)) = (&self.recollection, &extract.persons) else { return Ok(()) };
        if recollection.unfolded > 0 && !policy.history.meant.contains(&Difference::Spelling) {
            let releases = recollection.unfolded;
            self.warnings.push(format!(
                "of {releases} earlier releases the ledger does not know how persons were written: another spelling of \
                 theirs may not be noticed"
            ));
        }
        let people = pseudonyms(recollection.key(), persons);
        let table = &extract.table;
        let attributes = table.published_sensitive();
        let tags: Vec<Vec<u32>> =
            (0..attributes.len()).map(|i| sensitive_tags(recollection, &people, extract, i)).collect();
        let values = |(i, a): (usize, &'_ Attribute)| -> BTreeSet<String> {
            let codes: BTreeSet<u32> = table.sensitive_codes[i].iter().copied().collect();
            codes.into_iter().map(|code| a.taxonomy.leaf(code).to_owned()).collect()
        };
        let values: Vec<BTreeSet<String>> = attributes.iter().enumerate().map(values).collect();
        let each = attributes.iter().zip(&values).zip(&tags);
        let comparison = Comparison {
            recollection,
            history: &policy.history,
            persons,
            attributes: each.map(|((a, values), tags)| (a.name.as_str(), values, &tags[..])).collect(),
            others: other_columns(extract),
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
    pub fn left(&self, new: &New<'_>) -> Result<Vec<Left>, Problems> {
        let Some(recollection) = &self.recollection else { return Ok(Vec::new()) };
        let mut all = Vec::new();
        for attribute in published(&new.release.sensitive) {
            let left = scumble::gate::left(&recollection.memory(new, &attribute.name).0)?;
            all.extend(left.into_iter().map(|(values, people)| Left {
                attribute: attribute.name.clone(),
                values,
                people,
            }));
        }
        Ok(all)
    }

    /// What is remembered, for an algorithm that publishes again.
    pub fn past(&self, policy: &Policy) -> Option<&Recollection> {
        self.recollection.as_ref().filter(|_| policy.algorithm.algorithm.remembers())
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
        let people = pseudonyms(recollection.key(), persons);
        let groups = Rows::new(extract, &made.form, &extract.layout, seed).class_of();
        let protected = |a: &&AttributePolicy| protects(a) || shows(a) && recollection.protector(&a.name).is_some();
        let columns = policy.attributes.iter().filter(protected);
        let showing = Showing { recollection, policy, extract, made, people: &people, groups: &groups };
        let (shows, tags) = showing.shows(columns);
        let (name, recipients) = (name_of(target), policy.recipients.clone());
        Some(New { name, recipients, release: &made.release, shows, people, groups, tags, persons })
    }

    /// Lets every adversary put the release together with what she has: whether it may pass, the records of the extract whose
    /// people it exposes, and what there is to explain.
    pub fn judge(
        &self,
        gate: &Gate,
        extract: &Extract,
        new: &New<'_>,
        options: &Options<'_>,
        answer: &mut Published,
    ) -> Result<(bool, Vec<u32>, Vec<Sight>), Problems> {
        let (mut passes, mut records) = (true, Vec::new());
        for column in self.in_the_open(gate, new) {
            passes = false;
            let message = format!("`{column}` is protected, and a release of this form shows every record's own value");
            let hint = "make it `sensitive` or an `identifier`, or publish by an algorithm that generalizes";
            answer.reasons.push(Reason { message, hint: Some(hint.into()) });
        }
        let sights = self.see(gate, extract, new, options)?;
        for sight @ Sight { memory, number_of, seen } in &sights {
            for seen in seen {
                passes &= seen.holds();
                answer.reasons.extend(reasons(&memory.attribute, seen, options.show_values));
            }
            answer.gate.extend(sight.passages(gate, options.show_values));
            answer.attacks = gate.panel.iter().map(|p| p.name().to_owned()).collect();
            let mut exposed = vec![false; memory.people];
            seen.iter().flat_map(|s| &s.breaches).flat_map(|b| &b.people).for_each(|&p| exposed[p as usize] = true);
            records.extend((0u32..).zip(number_of).filter(|(_, p)| exposed[**p as usize]).map(|(record, _)| record));
        }
        records.sort_unstable();
        records.dedup();
        Ok((passes, records, sights))
    }

    /// Protected columns that stand among the quasi-identifiers or pass through, in a release that does not generalize: what
    /// it shows of them is no region that could be judged.
    fn in_the_open<'a>(&self, gate: &Gate, new: &'a New<'_>) -> Vec<&'a str> {
        let Some(recollection) = self.recollection.as_ref().filter(|_| new.release.shape != Shape::Regions) else {
            return Vec::new();
        };
        if !gate.written && recollection.shared(&new.people) == 0 {
            return Vec::new();
        }
        let columns = new.shows.attributes.iter().zip(&new.shows.shown);
        columns.filter(|(_, shown)| shown.role != "sensitive").map(|(name, _)| name.as_str()).collect()
    }

    /// What everybody learns, attribute by attribute; nothing where there is nothing to judge.
    fn see(
        &self,
        gate: &Gate,
        extract: &Extract,
        new: &New<'_>,
        options: &Options<'_>,
    ) -> Result<Vec<Sight>, Problems> {
        let mut sights = Vec::new();
        let Some(recollection) = &self.recollection else { return Ok(sights) };
        if !gate.written && recollection.shared(&new.people) == 0 {
            return Ok(sights);
        }
        options.watcher.phase("attacking it together with earlier releases");
        for attribute in recollection.judged(new) {
            let (memory, number_of) = recollection.memory(new, &attribute);
            let asked = gate.panel.contains(&Panelist::DeFinetti);
            let learns = published(&new.release.sensitive).iter().any(|a| a.name == attribute);
            let definetti = (asked && learns).then(|| {
                let beliefs = definetti(extract, new, &attribute)?;
                let mut strongest: Strongest = vec![(0, 0.0); memory.people];
                for (record, belief) in beliefs.into_iter().enumerate() {
                    if let Some((code, p)) = belief.and_then(|(text, p)| Some((memory.find(&text)?, p))) {
                        strongest[number_of[record] as usize] = (code, p);
                    }
                }
                Ok::<_, Problems>(strongest)
            });
            let definetti = definetti.transpose()?;
            let progress = |done, total| options.watcher.at(done, total);
            let seen = judge(&memory, gate, definetti.as_ref(), &progress)?;
            sights.push(Sight { memory, number_of, seen });
        }
        Ok(sights)
    }

    /// The id of the next release, which is about to be written beside `target`; none without a ledger. See [`release_id`].
    pub fn next_id(&mut self, text: &str, target: &Path, seeded: bool) -> Result<Option<String>, Problems> {
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
        made: &Made,
        answer: &Published,
        target: &Path,
        (id, seeded): (&str, bool),
    ) -> Result<Option<Announced>, Problems> {
        let Some(ledger) = &mut self.ledger else { return Ok(None) };
        let members = new.map(|n| ledger.keep(&n.members().write()?)).transpose()?;
        let folded = new.map(|n| folded_pseudonyms(ledger.key(), n.persons));
        let folded = folded.map(|people| ledger.keep(&write_pseudonyms(&people)?)).transpose()?;
        let unnamed = new.is_none().then(|| unnamed(&made.release));
        let shows = new.map(|n| &n.shows).or(unnamed.as_ref()).ok_or_else(|| Problem::new("nothing is shown"))?;
        let kept = Kept {
            members,
            groups: ledger.keep(&shows.groups.write()?)?,
            counts: ledger.keep(&Counts::write(&shows.tables, shows.attributes.len())?)?,
            places: None,
            folded,
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
            shown: if shows.shown.iter().all(|s| *s == Shown::sensitive()) { Vec::new() } else { shows.shown.clone() },
            kept,
            models: answer.models.iter().map(|m| m.public()).collect(),
            gate: answer.gate.iter().map(Verdict::from).collect(),
            replaces,
            seeded,
        };
        let intent = ledger.append(&Entry::Intent(Box::new(described)))?;
        Ok(Some(Announced { intent }))
    }

    /// Refuses to go on if the ledger was lost while the release was made.
    pub fn must_hold(&mut self) -> Result<(), Problems> {
        self.ledger.as_mut().map_or(Ok(()), Ledger::must_hold)
    }

    /// Records that an announced release has its place; how people find it, which is by its announcement.
    pub fn confirm(&mut self, announced: &Announced, target: &Path) -> Result<Option<Record>, Problems> {
        let Some(ledger) = &mut self.ledger else { return Ok(None) };
        ledger.confirm(announced.intent, target)?;
        Ok(Some(Record { ledger: ledger.name(), entry: announced.intent, head: ledger.head().to_owned() }))
    }

    /// Records that an announced release was not written; whether it could be recorded. If not, the next run will.
    pub fn abandon(&mut self, announced: &Announced, because: &Problems) -> bool {
        let because = because.0.first().map_or("it failed", |p| p.message.as_str()).to_owned();
        self.ledger.as_mut().is_some_and(|ledger| ledger.abandon(announced.intent, &because).is_ok())
    }

    /// The randomness of remedies: the same as long as neither the policy nor the ledger changes, and known to nobody
    /// without the key. None without a ledger.
    pub fn remedy_seed(&self, policy: &str) -> Option<u64> {
        let ledger = self.ledger.as_ref()?;
        Some(ledger.key().number(&[b"remedies", policy.as_bytes(), ledger.head().as_bytes()]))
    }
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
}

/// Whether a column has values that are protected.
fn protects(a: &AttributePolicy) -> bool {
    a.role == Role::Sensitive || a.role == Role::Freeform && a.freeform.as_ref().is_some_and(Specification::guards)
}

/// Whether a column is published in any form.
fn shows(a: &AttributePolicy) -> bool {
    !matches!(a.role, Role::Identifier | Role::Guard)
}

/// What a release shows of its sensitive attributes, if no column names persons.
fn unnamed(release: &Release) -> Shows {
    let attributes: Vec<String> = published(&release.sensitive).iter().map(|a| a.name.clone()).collect();
    Shows {
        shown: vec![Shown::sensitive(); attributes.len()],
        tables: (0..attributes.len()).map(|i| Counts::of(release, i)).collect(),
        attributes,
        groups: Groups::of(release),
        leaves: HashMap::new(),
    }
}

/// The tags of everybody's true value of a sensitive attribute: before it was changed.
fn sensitive_tags(recollection: &Recollection, people: &[Pseudonym], extract: &Extract, at: usize) -> Vec<u32> {
    let (attribute, codes) = (&extract.table.sensitive[at], &extract.table.sensitive_codes[at]);
    match extract.truth.iter().find(|(name, _)| *name == attribute.name) {
        Some((name, truth)) => recollection.tags(people, name, |i| truth.values[truth.codes[i] as usize].as_str()),
        None => {
            recollection.tags(people, &attribute.name, |i| attribute.taxonomy.leaf(codes[extract.row_of[i] as usize]))
        }
    }
}

/// What is needed to say what a new release shows.
struct Showing<'a> {
    recollection: &'a Recollection,
    policy: &'a Policy,
    extract: &'a Extract,
    made: &'a Made,
    people: &'a [Pseudonym],
    groups: &'a [u32],
}

impl Showing<'_> {
    /// What the release shows of protected columns, and the tags of true values.
    fn shows<'b>(&self, columns: impl Iterator<Item = &'b AttributePolicy>) -> (Shows, Vec<Vec<u32>>) {
        let release = &self.made.release;
        let mut shows = Shows {
            attributes: Vec::new(),
            shown: Vec::new(),
            groups: Groups::of(release),
            tables: Vec::new(),
            leaves: HashMap::new(),
        };
        let (mut tags, mut tabled) = (Vec::new(), Vec::new());
        let (mut values, mut codes): (Vec<Vec<String>>, Vec<Vec<u32>>) = (Vec::new(), Vec::new());
        let mut labels = Vec::new();
        for a in columns {
            let Some(cell) = self.extract.layout.iter().find(|c| c.name == a.name) else { continue };
            let at = shows.attributes.len();
            tags.push(self.tags(a, cell.place));
            let mut shown = self.shown(a);
            let regions = release.shape == Shape::Regions;
            match cell.place {
                Column::Sensitive(i) => {
                    let taxonomy = &self.extract.table.sensitive[i].taxonomy;
                    values.push((0..taxonomy.leaves() as u32).map(|leaf| taxonomy.leaf(leaf).to_owned()).collect());
                    let of = &self.extract.table.sensitive_codes[i];
                    codes.push(self.extract.row_of.iter().map(|&row| of[row as usize]).collect());
                    tabled.push(at);
                }
                Column::Quasi(i) if regions => {
                    let (texts, code_of) = self.labels(i, &mut shows.leaves);
                    values.push(texts);
                    let code = |&g: &u32| if g == New::NOWHERE { 0 } else { code_of[g as usize] };
                    codes.push(self.groups.iter().map(code).collect());
                    tabled.push(at);
                    labels.push(i);
                }
                Column::Plain(i) if regions => {
                    let column = &self.extract.plain[i];
                    let missing = |v: &str| self.policy.missing.iter().any(|m| m == v);
                    let text = |v: &str| if missing(v) { String::new() } else { v.to_owned() };
                    values.push(column.values.iter().map(text).collect());
                    codes.push(column.codes.clone());
                    tabled.push(at);
                }
                _ => {}
            }
            if a.role == Role::Freeform {
                shown.guarded = self.guarded(a, cell.place, &mut shows.leaves);
            }
            shows.attributes.push(a.name.clone());
            shows.shown.push(shown);
        }
        shows.groups.rest = self.rest(&labels);
        shows.tables = match (&tabled[..], shows.attributes.len()) {
            ([], _) => Vec::new(),
            // Counted already, and with the values that stand for nobody.
            ([at], _) if shows.shown[*at].role == "sensitive" => {
                let mut only = Counts::of(release, 0);
                only.columns = vec![*at];
                vec![only]
            }
            _ => vec![Counts::of_rows(tabled, values, &codes, self.groups, release.classes.len())],
        };
        (shows, tags)
    }

    fn shown(&self, a: &AttributePolicy) -> Shown {
        let role = Role::ALL.iter().find(|(_, role)| *role == a.role).map_or("", |(name, _)| name);
        let truth = self.extract.truth.iter().find(|(name, _)| *name == a.name);
        let change = self.extract.perturbed.iter().find(|(name, _)| *name == a.name);
        Shown {
            role: role.into(),
            perturbed: a.perturb.iter().map(|step| (step.name().into(), step.parameter())).collect(),
            decimals: truth.map_or(0, |(_, texts)| decimals(texts.values.iter().map(String::as_str))),
            epsilon: change.and_then(|(_, change)| change.epsilon),
            guarded: Vec::new(),
        }
    }

    /// The tags of everybody's true value: before it was changed.
    fn tags(&self, a: &AttributePolicy, place: Column) -> Vec<u32> {
        let Extract { table, row_of, plain, truth, .. } = self.extract;
        let (recollection, people, name) = (self.recollection, self.people, a.name.as_str());
        if let Some((_, truth)) = truth.iter().find(|(name, _)| *name == a.name) {
            return recollection.tags(people, name, |i| truth.values[truth.codes[i] as usize].as_str());
        }
        match place {
            Column::Sensitive(at) => sensitive_tags(recollection, people, self.extract, at),
            Column::Quasi(at) => {
                let (taxonomy, codes) = (&table.quasi[at].taxonomy, &table.quasi_codes[at]);
                recollection.tags(people, name, |i| taxonomy.leaf(codes[row_of[i] as usize]))
            }
            Column::Plain(at) => {
                let (column, missing) = (&plain[at], &self.policy.missing);
                recollection.tags(people, name, |i| {
                    let text = column.values.get(column.codes[i]);
                    if missing.iter().any(|m| m == text) { "" } else { text }
                })
            }
            Column::Group | Column::Count => Vec::new(),
        }
    }

    /// The labels of a column, and which of them each class has.
    fn labels(&self, column: usize, leaves: &mut HashMap<String, String>) -> (Vec<String>, Vec<u32>) {
        let release = &self.made.release;
        let mut texts: Vec<String> = Vec::new();
        let mut known: HashMap<Run, u32> = HashMap::new();
        let least = self.observable();
        let mut code_of = Vec::with_capacity(release.classes.len());
        for class in &release.classes {
            let run = class.region[column];
            code_of.push(*known.entry(run).or_insert_with(|| {
                texts.push(Label::of(self.recollection.key(), &release.quasi[column], run, least, leaves).write());
                texts.len() as u32 - 1
            }));
        }
        (texts, code_of)
    }

    /// How observable a value of a freeform column must be to be known to an adversary.
    fn observable(&self) -> Ratio {
        let asked = self.policy.requirements.iter().filter_map(|r| r.model.freeform());
        asked.map(|thresholds| thresholds.observability).min().unwrap_or(Ratio::whole(0))
    }

    /// What each class shows in the other columns, if some are protected.
    fn rest(&self, protected: &[usize]) -> Vec<String> {
        let release = &self.made.release;
        if protected.is_empty() {
            return Vec::new();
        }
        let least = self.observable();
        let rest = |class: &EquivalenceClass| {
            let columns = release.quasi.iter().zip(&class.region).enumerate();
            let others = columns.filter(|(i, _)| !protected.contains(i));
            others.map(|(_, (a, &run))| observed(a, run, least)).collect::<Vec<String>>().join(" · ")
        };
        release.classes.iter().map(rest).collect()
    }

    /// The values of a freeform column that are sensitive.
    fn guarded(&self, a: &AttributePolicy, place: Column, leaves: &mut HashMap<String, String>) -> Vec<String> {
        let Column::Quasi(at) = place else { return Vec::new() };
        let attribute = &self.extract.table.quasi[at];
        let sensitive = |leaf: &u32| sensitivity(attribute, Run::new(*leaf, *leaf)).num() > 0;
        let mut guarded = Vec::new();
        for leaf in (0..attribute.taxonomy.leaves() as u32).filter(sensitive) {
            let text = attribute.taxonomy.leaf(leaf);
            guarded.push(self.recollection.key().value(&a.name, text));
            leaves.insert(self.recollection.key().value(&a.name, text), text.to_owned());
        }
        guarded
    }
}

/// The id of a release: random, or the same whenever a seed was given. It is published, so it is not made of the seed, which
/// could be found by trying. Never the same twice in one ledger, which grows by an entry each time.
fn release_id(entries: usize, policy: &str, seeded: bool) -> Result<String, Problems> {
    if seeded {
        return Ok(hex(&Sha256::digest(format!("{entries}\n{policy}"))[..16]));
    }
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes).map_err(|e| Problem::new(format!("the system gives no randomness: {e}")))?;
    Ok(hex(&bytes))
}

/// Every published column that is not sensitive.
fn other_columns(extract: &Extract) -> Vec<&str> {
    let quasi = extract.table.quasi.iter().map(|a| a.name.as_str());
    quasi.chain(extract.plain.iter().map(|c| c.name.as_str())).collect()
}

/// A release is called by the name of its folder.
fn name_of(target: &Path) -> String {
    target.file_name().map_or_else(|| target.display().to_string(), |n| n.to_string_lossy().into_owned())
}

/// Why the gate refuses, and what would help.
fn reasons(attribute: &str, seen: &Seen, show_values: bool) -> Vec<Reason> {
    let hint = (!show_values).then(|| "`--show-values` tells the values and the reasons".to_owned());
    let reason = |broken: &String| Reason { message: format!("`{attribute}`: {broken}"), hint: None };
    let mut reasons: Vec<Reason> = seen.broken.iter().map(reason).collect();
    if let Some(last) = reasons.last_mut() {
        last.hint = hint;
    }
    reasons
}

/// What somebody believes of everybody who learns from the new release how quasi-identifiers and values go together: the
/// likeliest value of each record's person.
fn definetti(extract: &Extract, new: &New<'_>, attribute: &str) -> Result<Vec<Option<(String, f64)>>, Problems> {
    let column = |cell: &crate::source::Cell| {
        let Column::Quasi(i) = cell.place else { return None };
        let taxonomy = &extract.table.quasi[i].taxonomy;
        let codes = extract.row_of.iter().map(|&row| extract.table.quasi_codes[i][row as usize]).collect();
        let texts = (0..taxonomy.leaves() as u32).map(|leaf| taxonomy.leaf(leaf).to_owned()).collect();
        Some(RegisterColumn { name: cell.name.clone(), texts, codes })
    };
    let register = Register::new(extract.layout.iter().filter_map(column).collect())?;
    let told = new.groups.iter().map(|&g| if g == New::NOWHERE { In::No } else { In::Yes }).collect();
    let knowledge =
        Knowledge { register: &register, membership: Membership::Members, told: vec![Some(told)], apart: None };
    let scene = Scene::new(vec![(new.name.clone(), new.release.clone())], Some(attribute), Some(&knowledge), 0)?;
    let entry = ATTACKS.iter().find(|e| e.name == "definetti");
    let entry = entry.ok_or_else(|| Problem::new("there is no attack `definetti`"))?;
    let parameters = Parameters::read(entry.name, entry.parameters, &BTreeMap::new()).map_err(Problems)?;
    let report = (entry.build)(&parameters)?.run(&scene, &|_, _| ())?;
    let (Some(crowd), Some(beliefs)) = (report.crowd(&scene), &report.beliefs) else { return Ok(Vec::new()) };
    let best = |kind: &u32| beliefs.best(*kind as usize).map(|(v, p)| (scene.values[v as usize].clone(), p));
    Ok(crowd.kind_of.iter().map(best).collect())
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
