//! What a ledger remembers about the people of a new extract: for the gate, and for algorithms that
//! publish again.

use super::entry::{Shown, Verdict};
use super::files::{Counts, Groups, Members, read_pseudonyms};
use super::key::{Key, Pseudonym};
use super::open::{self, Openly};
use super::persons::Persons;
use super::shows::{Shows, View, guarded_cell};
use super::spelling::{Folded, fold};
use super::{Ledger, Recorded};
use hashbrown::HashMap;
use rayon::prelude::*;
use scumble::failure::Failures;
use scumble::gate::{Cell, Memory, Remembered, Rows};
use scumble::history::PastGroup;
use scumble::inference::Located;
use scumble::perturb::Texts;
use scumble::policy::HistoryPolicy;
use scumble::progress::Progress;
use scumble::release::Release;
use scumble::table::Attribute;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Every release that somebody may have and that says who is in it.
pub(crate) struct Recollection {
    releases: Vec<Past>,
    /// The people of releases about other attributes.
    others: Vec<Vec<Pseudonym>>,
    /// Protected columns of any release, as they were called.
    attributes: BTreeSet<String>,
    /// Columns that any release showed without protecting them, as they were called.
    open: BTreeSet<String>,
    /// Protected columns that earlier releases showed openly, or may have shown.
    pub openly: Vec<Openly>,
    /// Pseudonyms of folded names, of people whose names are not folded.
    folded: Folded,
    /// Releases that do not keep them, because they were recorded by an older version or added.
    pub unfolded: u64,
    /// What columns and values of earlier releases are called now.
    history: HistoryPolicy,
    key: Key,
}

/// A release of the ledger.
struct Past {
    name: String,
    recipients: Vec<String>,
    shows: Shows,
    members: Members,
    /// Where it is not known in which group somebody is; otherwise places are groups.
    places: Option<Vec<Located>>,
    /// People whose value it made certain when it was published: attribute, adversary, number.
    newly: Vec<(String, String, u64)>,
}

/// A release that is to be published.
pub(crate) struct New<'a> {
    pub name: String,
    pub recipients: Vec<String>,
    pub release: &'a Release,
    /// What it shows of protected columns.
    pub shows: Shows,
    /// The people of the extract, in the order of its rows.
    pub people: Arc<[Pseudonym]>,
    /// The group of everybody; [`New::NOWHERE`] for whoever is left out.
    pub groups: Vec<u32>,
    /// For each protected column that it shows the tag of everybody's true value.
    pub tags: Vec<Vec<u32>>,
    /// The column that names the people.
    pub persons: &'a Persons,
}

impl New<'_> {
    /// In no group.
    pub const NOWHERE: u32 = u32::MAX;

    /// Who is in it, for the ledger.
    pub fn members(&self) -> Members {
        let there: Vec<usize> =
            (0..self.people.len()).filter(|&i| self.groups[i] != New::NOWHERE).collect();
        let members = Members {
            people: there.iter().map(|&i| self.people[i]).collect(),
            places: there.iter().map(|&i| self.groups[i]).collect(),
            tags: self
                .tags
                .iter()
                .map(|tags| there.iter().map(|&i| Some(tags[i])).collect())
                .collect(),
        };
        members.sorted()
    }
}

/// A release that was made elsewhere, as it is about to be recorded.
pub(crate) struct Added<'a> {
    pub name: &'a str,
    pub recipients: &'a [String],
    pub attributes: &'a [String],
    pub members: Members,
    pub places: Vec<Located>,
    pub groups: Groups,
    pub tables: Vec<Counts>,
}

impl Recollection {
    /// Reads what is remembered of these columns, and of those that releases show together with
    /// them.
    pub fn load(
        ledger: &mut Ledger,
        mut attributes: Vec<String>,
        history: &HistoryPolicy,
        progress: Progress<'_>,
    ) -> Result<Recollection, Failures> {
        let given: Vec<Recorded> = ledger.given().cloned().collect();
        let mut all = Recollection {
            history: history.clone(),
            ..Recollection::nothing(ledger.key().clone())
        };
        let called = |r: &Recorded| -> Vec<String> {
            r.described.attributes.iter().map(|a| history.column_now(a).to_owned()).collect()
        };
        let asked = attributes.clone();
        let mut told = vec![false; given.len()];
        let tells = |r: &Recorded, attributes: &[String]| {
            let open = open::names(r, history).unwrap_or_default();
            called(r).iter().chain(&open).any(|name| attributes.contains(name))
        };
        while let Some(at) = (0..given.len()).find(|&i| !told[i] && tells(&given[i], &attributes)) {
            attributes.extend(called(&given[at]));
            told[at] = true;
        }
        for (i, recorded) in given.iter().enumerate() {
            progress.step(i as u64, given.len() as u64)?;
            let described = &recorded.described;
            let protected = called(recorded);
            let Some((mut members, places)) = ledger.members(described)? else {
                let openly = open::shown_openly(recorded, &protected, &asked, history, None);
                all.openly.extend(openly);
                continue;
            };
            all.attributes.extend(described.attributes.iter().cloned());
            all.open.extend(described.open.iter().flatten().map(|c| c.name.clone()));
            match &described.kept.folded {
                Some(file) => all.folded.extend(read_pseudonyms(ledger.kept(file)?)?),
                None => all.unfolded += 1,
            }
            if !told[i] {
                let openly = open::shown_openly(recorded, &protected, &asked, history, None);
                all.openly.extend(openly);
                all.others.push(members.people);
                continue;
            }
            let groups = Groups::read(ledger.kept(&described.kept.groups)?)?;
            let columns = described.attributes.len();
            let tables =
                Counts::read(ledger.kept(&described.kept.counts)?, columns, groups.labels.len())?;
            let plain = || vec![Shown::sensitive(); columns];
            let shown =
                if described.shown.len() == columns { described.shown.clone() } else { plain() };
            let here = (&members, groups.labels.len());
            let taken = open::take(ledger, recorded, &attributes, history, here)?;
            let openly = open::shown_openly(recorded, &protected, &asked, history, taken.as_ref());
            all.openly.extend(openly);
            let leaves = HashMap::new();
            let mut shows = Shows { attributes: protected, shown, groups, tables, leaves };
            let apart = taken.and_then(|taken| taken.join(&mut shows, &mut members));
            shows.rename(history);
            let recipients = all.recipients(&described.recipients);
            let newly = |v: &Verdict| (v.attribute.clone(), v.adversary.clone(), v.newly);
            all.releases.push(Past {
                name: described.name.clone(),
                recipients: recipients.clone(),
                shows,
                members,
                places,
                newly: described.gate.iter().map(newly).collect(),
            });
            if let Some((mut shows, members)) = apart {
                shows.rename(history);
                let name = described.name.clone();
                let newly = Vec::new();
                all.releases.push(Past { name, recipients, shows, members, places: None, newly });
            }
        }
        Ok(all)
    }

    /// What the key makes of a value of a column, by the names that both had first.
    pub fn hide(&self, attribute: &str, text: &str) -> String {
        let value = self.history.earlier_value(attribute, text);
        self.key.value(self.history.earlier_column(attribute), value)
    }

    /// What a recipient is called in the first release that she was given. Case, blanks and accents
    /// make no other recipient: she would be judged by half of what she has.
    pub fn recipient<'a>(&'a self, name: &'a str) -> &'a str {
        let mut earlier = self.releases.iter().flat_map(|r| &r.recipients);
        earlier.find(|known| fold(known) == fold(name)).map_or(name, String::as_str)
    }

    /// Whether each of these recipients has a release that shows a column; without recipients,
    /// whether one that everybody has does.
    pub fn have_column(&self, recipients: &[String], column: &str) -> bool {
        let shown = |r: &&Past| r.shows.at(column).is_some();
        let to_all = self.releases.iter().filter(shown).any(|r| r.recipients.is_empty());
        let has = |name: &String| {
            let known = self.recipient(name);
            let mut given = self.releases.iter().filter(shown);
            given.any(|r| r.recipients.iter().any(|other| other == known))
        };
        to_all || !recipients.is_empty() && recipients.iter().all(has)
    }

    /// Recipients by what they were called first, each once.
    pub fn recipients(&self, names: &[String]) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        for name in names.iter().map(|name| self.recipient(name)) {
            if !found.iter().any(|known| fold(known) == fold(name)) {
                found.push(name.to_owned());
            }
        }
        found
    }

    /// The tags of everybody's true value. Renamed columns and values have the tags that they had
    /// before.
    pub fn tags<'a>(
        &self,
        people: &[Pseudonym],
        attribute: &str,
        text: impl Fn(usize) -> &'a str + Sync,
    ) -> Vec<u32> {
        let column = self.history.earlier_column(attribute);
        let tag = |(i, person): (usize, &Pseudonym)| {
            self.key.tag(*person, column, self.history.earlier_value(attribute, text(i)))
        };
        people.par_iter().enumerate().map(tag).collect()
    }

    /// Everybody in any release, rising.
    pub fn everybody(&self) -> Vec<Pseudonym> {
        let lists = self.releases.iter().map(|r| &r.members.people).chain(&self.others);
        let mut all: Vec<Pseudonym> = lists.flatten().copied().collect();
        all.par_sort_unstable();
        all.dedup();
        all
    }

    /// Protected columns of any release, as they were called.
    pub fn known_attributes(&self) -> &BTreeSet<String> {
        &self.attributes
    }

    /// Columns that any release showed without protecting them, as they were called.
    pub fn open_columns(&self) -> &BTreeSet<String> {
        &self.open
    }

    /// Pseudonyms of folded names.
    pub fn folded(&self) -> &Folded {
        &self.folded
    }

    /// How many of these people were in a release that tells of the attribute, and how many of
    /// those had another value in the last one.
    pub fn changed(&self, attribute: &str, people: &[Pseudonym], tags: &[u32]) -> (usize, usize) {
        let known: Vec<(&Past, usize)> = self
            .releases
            .iter()
            .rev()
            .filter_map(|past| Some((past, past.shows.at(attribute)?)))
            .collect();
        let same = |(person, tag): (&Pseudonym, &u32)| {
            known.iter().find_map(|(past, at)| {
                let member = past.members.people.binary_search(person).ok()?;
                Some(past.members.tags[*at][member]? == *tag)
            })
        };
        let found: Vec<bool> = people.par_iter().zip(tags).filter_map(same).collect();
        (found.len(), found.iter().filter(|same| !**same).count())
    }

    /// Remembers a release that was made elsewhere.
    pub fn add(&mut self, release: Added<'_>) {
        let Added { name, recipients, attributes, members, places, groups, tables } = release;
        let shown = vec![Shown::sensitive(); attributes.len()];
        self.releases.push(Past {
            name: name.to_owned(),
            recipients: self.recipients(recipients),
            shows: Shows {
                attributes: attributes.to_vec(),
                shown,
                groups,
                tables,
                leaves: HashMap::new(),
            },
            members,
            places: Some(places),
            newly: Vec::new(),
        });
    }

    /// The first release that protects a column, and how it shows it.
    pub fn protector(&self, attribute: &str) -> Option<(&str, &Shown)> {
        let find =
            |past: &'_ Past| past.shows.at(attribute).filter(|&at| !past.shows.shown[at].open);
        let (past, at) = self.releases.iter().find_map(|past| Some((past, find(past)?)))?;
        Some((&past.name, &past.shows.shown[at]))
    }

    /// Nothing is remembered yet.
    pub fn nothing(key: Key) -> Recollection {
        Recollection {
            releases: Vec::new(),
            others: Vec::new(),
            attributes: BTreeSet::new(),
            open: BTreeSet::new(),
            openly: Vec::new(),
            folded: Folded::new(),
            unfolded: 0,
            history: HistoryPolicy::default(),
            key,
        }
    }

    /// Remembers a release as if it were published.
    pub fn imagine(&mut self, new: New<'_>) {
        self.releases.push(Past {
            members: new.members(),
            name: new.name,
            recipients: new.recipients,
            shows: new.shows,
            places: None,
            newly: Vec::new(),
        });
    }

    /// The key that makes pseudonyms.
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// Number of releases that share people with these.
    pub fn shared(&self, people: &[Pseudonym]) -> usize {
        let mut people = people.to_vec();
        people.par_sort_unstable();
        let shares =
            |past: &&Past| past.members.people.iter().any(|p| people.binary_search(p).is_ok());
        self.releases.par_iter().filter(shares).count()
    }

    /// Values of an attribute that were ever published.
    pub fn values(&self, attribute: &str) -> Vec<&str> {
        let shown = self.releases.iter().filter_map(|r| r.shows.values(attribute));
        let mut values: Vec<&str> =
            shown.flat_map(|(_, _, values)| values.iter().map(String::as_str)).collect();
        values.sort_unstable();
        values.dedup();
        values
    }

    /// Where the people of an extract were last seen with the value that they have now: for each
    /// row 0, or 1 and the index of a group. `truth` is the column before it was changed.
    pub fn past(
        &self,
        persons: &Persons,
        attribute: &Attribute,
        leaves: &[u32],
        truth: Option<&Texts>,
    ) -> (Vec<PastGroup>, Vec<u32>) {
        let people = persons.pseudonyms(&self.key);
        let tags = self.tags(&people, &attribute.name, |i| match truth {
            Some(truth) => &truth.values[truth.codes[i] as usize],
            None => attribute.taxonomy.leaf(leaves[i]),
        });
        let mut seen: Vec<Option<(usize, u32)>> = vec![None; people.len()];
        let shows = |past: &Past| past.shows.values(&attribute.name).is_some();
        // Newest first: where somebody was seen last counts.
        for (r, past) in self.releases.iter().enumerate().rev().filter(|(_, p)| shows(p)) {
            let at = past.shows.at(&attribute.name).unwrap_or(0);
            seen.par_iter_mut().enumerate().filter(|(_, s)| s.is_none()).for_each(|(i, seen)| {
                let Ok(found) = past.members.people.binary_search(&people[i]) else { return };
                let same = past.members.tags[at][found].is_none_or(|tag| tag == tags[i]);
                *seen = past.group(found).filter(|_| same).map(|group| (r, group));
            });
        }
        let newest = self.releases.iter().rposition(shows);
        let mut index: HashMap<(usize, u32), u32> = HashMap::new();
        let mut groups: Vec<PastGroup> = Vec::new();
        let of_row = seen.into_iter().zip(leaves).map(|(seen, &leaf)| {
            let Some((r, group)) = seen else { return 0 };
            let number = *index.entry((r, group)).or_insert_with(|| {
                groups.push(self.releases[r].past_group(attribute, group, Some(r) == newest));
                groups.len() as u32
            });
            // A value that was changed at random is not among those of the group by itself.
            if truth.is_none() || groups[number as usize - 1].count(leaf) > 0 { number } else { 0 }
        });
        let of_row = of_row.collect();
        (groups, of_row)
    }

    /// The columns about which a new release may tell something: those that it shows, and those
    /// that earlier releases show together with them.
    pub fn judged(&self, new: &New<'_>) -> Vec<String> {
        let mut judged = new.shows.attributes.clone();
        for (at, attribute) in new.shows.attributes.iter().enumerate() {
            if !new.shows.shown[at].freeform() {
                judged.extend(self.connected(Some(new), attribute, |_| true));
            }
        }
        let mut seen: Vec<String> = Vec::new();
        judged.retain(|name| {
            let first = !seen.contains(name);
            seen.push(name.clone());
            first
        });
        // A column that is not shown again counts only if something about it is.
        let told = |name: &String| {
            new.shows.at(name).is_some()
                || self.kept(Some(new), name).iter().any(|kept| new.shows.at(kept).is_some())
        };
        judged.retain(told);
        judged
    }

    fn all<'a>(&'a self, new: Option<&'a New<'_>>) -> impl Iterator<Item = &'a Shows> {
        self.releases.iter().map(|p| &p.shows).chain(new.map(|n| &n.shows))
    }

    /// A column and those that releases show in rows with it, directly or through others, among
    /// those allowed. Of freeform columns an adversary may know the values that are not guarded:
    /// they are judged by themselves.
    fn connected(
        &self,
        new: Option<&New<'_>>,
        attribute: &str,
        allowed: impl Fn(&str) -> bool,
    ) -> Vec<String> {
        let mut found = vec![attribute.to_owned()];
        let mut i = 0;
        while i < found.len() {
            for shows in self
                .all(new)
                .filter(|s| s.at(&found[i]).is_some() && !s.apart())
                .collect::<Vec<_>>()
            {
                for (name, _) in
                    shows.attributes.iter().zip(&shows.shown).filter(|(_, s)| !s.freeform())
                {
                    if !found.contains(name) && allowed(name) {
                        found.push(name.clone());
                    }
                }
            }
            i += 1;
        }
        found
    }

    /// The columns that matter to a judged one, which is the first: a column that a single release
    /// shows tells nothing more.
    fn kept(&self, new: Option<&New<'_>>, attribute: &str) -> Vec<String> {
        let freeform = |s: &Shows| s.at(attribute).is_some_and(|at| s.shown[at].freeform());
        if self.all(new).any(freeform) {
            return vec![attribute.to_owned()];
        }
        let often = |name: &str| self.all(new).filter(|s| s.at(name).is_some()).count() > 1;
        self.connected(new, attribute, often)
    }

    /// Everything that is remembered of a protected column, with a release that is to be published;
    /// and the number in it of everybody in the extract. `age` 0 is about the newest values of
    /// everybody, a higher one about those that some people had before, as far as
    /// [`Memory::replaced`] of the newest goes.
    pub fn memory(&self, new: &New<'_>, attribute: &str, age: u32) -> (Memory, Vec<u32>) {
        self.put_together(Some(new), attribute, age)
    }

    /// Everything that is remembered of a column, the newest release last.
    pub fn recalled(&self, attribute: &str, age: u32) -> Memory {
        let (memory, _) = self.put_together(None, attribute, age);
        Memory { name: Box::new(|person| format!("person {}", person + 1)), ..memory }
    }

    /// The earlier releases that show one of some columns.
    fn about(&self, kept: &[String]) -> Vec<&Past> {
        let shows = |p: &&Past| kept.iter().any(|name| p.shows.at(name).is_some());
        self.releases.iter().filter(shows).collect()
    }

    fn put_together(&self, new: Option<&New<'_>>, attribute: &str, age: u32) -> (Memory, Vec<u32>) {
        let kept = self.kept(new, attribute);
        let earlier = self.about(&kept);
        // By itself, a value that changed is that of another person. In rows, what a release says
        // about a column that did not change also tells about one that did, before and after.
        let alone = kept.len() == 1;
        let mut people = number(&earlier, alone.then_some(attribute), new);
        let all: Vec<&Shows> =
            earlier.iter().map(|p| &p.shows).chain(new.map(|n| &n.shows)).collect();
        let exact = |s: &&Shows| s.at(attribute).is_some_and(|at| s.shown[at].exact());
        let plain = kept.len() == 1 && all.iter().all(exact);
        let views: Vec<View> = all.iter().map(|s| s.view(&kept)).collect();
        let mut values: Vec<String> = Vec::new();
        let (rows, groups) = if plain {
            let mut codes: HashMap<String, u32> = HashMap::new();
            (None, all.iter().map(|s| recoded(s, attribute, &mut values, &mut codes)).collect())
        } else {
            let leaves = self.leaves(&kept, &all);
            let statements: Vec<_> =
                all.iter().zip(&views).map(|(s, view)| s.statement(view, &leaves)).collect();
            let secret = secret(attribute, &all, &leaves);
            let (rows, groups) = Rows::new(kept.len(), 0, secret.as_deref(), &statements);
            (Some(rows), groups)
        };
        let mut versions = versions(&earlier, &kept, new, &people);
        let judged = (age > 0).then(|| aged(&mut versions, age, &mut people));
        let mut releases = Vec::new();
        for (i, ((groups, view), versions)) in
            groups.into_iter().zip(views).zip(versions).enumerate()
        {
            let response = all[i].at(attribute).and_then(|at| all[i].shown[at].epsilon);
            let of = Of { view, groups, versions, response };
            releases.extend(match earlier.get(i) {
                Some(past) => {
                    Some(past.remembered(attribute, of, people.number, &people.places[i]))
                }
                None => new.map(|new| remembered_new(new, of, &people)),
            });
        }
        let People { number, row_of, pseudonym_of, new: number_of, .. } = people;
        let name = move |person: u32| {
            let person = person as usize;
            match row_of[person] {
                Known::Row(row) => format!("row {}", row + 1),
                Known::Changed(row) => format!("row {} with an earlier value", row + 1),
                Known::Absent => format!(
                    "somebody who is not in this extract ({:06x}…)",
                    pseudonym_of[person] >> 104
                ),
            }
        };
        let memory = Memory {
            attribute: attribute.to_owned(),
            values,
            rows,
            unprotected: self.unprotected(new, attribute),
            notes: self.notes(new, attribute, &earlier),
            releases,
            people: number,
            judged,
            name: Box::new(name),
        };
        (memory, number_of)
    }

    /// What the key stands for in labels of some columns, as far as any release shows it.
    fn leaves(&self, kept: &[String], all: &[&Shows]) -> HashMap<String, String> {
        let mut leaves: HashMap<String, String> = HashMap::new();
        for attribute in kept {
            let labelled =
                |s: &&Shows| s.at(attribute).is_some_and(|at| s.shown[at].makes_groups());
            if !all.iter().any(labelled) {
                continue;
            }
            let values =
                all.iter().filter_map(|s| s.values(attribute)).flat_map(|(_, _, values)| values);
            leaves.extend(values.map(|text| (self.hide(attribute, text), text.clone())));
            let labels = all.iter().flat_map(|s| s.leaf_labels(attribute));
            leaves.extend(labels.map(|text| (self.hide(attribute, &text), text)));
        }
        for shows in all {
            leaves.extend(shows.leaves.iter().map(|(hidden, text)| (hidden.clone(), text.clone())));
        }
        leaves
    }

    /// Whether a new release shows a column that an earlier one protects, and protects it no
    /// longer, or less of it.
    fn unprotected(&self, new: Option<&New<'_>>, attribute: &str) -> bool {
        let Some(now) = new.and_then(|n| Some(&n.shows.shown[n.shows.at(attribute)?])) else {
            return false;
        };
        if now.role == "sensitive" {
            return false;
        }
        let earlier =
            self.releases.iter().filter_map(|p| Some(&p.shows.shown[p.shows.at(attribute)?]));
        let less = |was: &&Shown| {
            let all = was.guarded.iter().all(|value| now.guarded.contains(value));
            was.role == "sensitive" || was.freeform() && !(now.freeform() && all)
        };
        earlier.filter(|was| !was.open).any(|was| less(&was))
    }

    /// What should be known about how a column is judged.
    fn notes(&self, new: Option<&New<'_>>, attribute: &str, earlier: &[&Past]) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some((name, _)) =
            self.protector(attribute).filter(|_| self.unprotected(new, attribute))
        {
            notes.push(format!(
                "`{attribute}` is protected since `{name}`: its values count as shown"
            ));
        }
        let all =
            earlier.iter().map(|p| (&p.name, &p.shows)).chain(new.map(|n| (&n.name, &n.shows)));
        for (name, shows) in all {
            let step = shows.at(attribute).and_then(|at| shows.shown[at].unjudged());
            if let Some(step) = step {
                let how = if step == "noise" { "with noise" } else { "with swapped values" };
                notes.push(format!(
                    "`{name}` shows `{attribute}` {how}: what that tells is not judged"
                ));
            }
            let open = shows.at(attribute).map(|at| &shows.shown[at]).filter(|shown| shown.open);
            if let Some(shown) = open {
                let role = &shown.role;
                notes.push(format!(
                    "`{name}` showed `{attribute}` openly, as {role}: what it gave away counts as known before"
                ));
            }
            if shows.apart() {
                notes.push(format!(
                    "`{name}` is recorded without its rows: its columns are judged one by one"
                ));
            }
        }
        notes
    }
}

/// The values of a column that are protected; nothing if all are.
fn secret(attribute: &str, all: &[&Shows], leaves: &HashMap<String, String>) -> Option<Vec<Cell>> {
    let shown: Vec<&Shown> = all.iter().filter_map(|s| Some(&s.shown[s.at(attribute)?])).collect();
    if shown.iter().any(|s| s.role == "sensitive") || !shown.iter().any(|s| s.freeform()) {
        return None;
    }
    let guarded = shown.iter().flat_map(|s| &s.guarded);
    Some(guarded.map(|written| guarded_cell(written, leaves)).collect())
}

/// Makes the values of another version judged: swaps it with the newest. Returns who had one.
fn aged(versions: &mut [Vec<(usize, Vec<u32>)>], age: u32, people: &mut People) -> Vec<bool> {
    let mut concerned = vec![false; people.number];
    for (_, of) in versions.iter().flatten().filter(|(column, _)| *column == 0) {
        for (concerned, &version) in concerned.iter_mut().zip(of) {
            *concerned |= version == age;
        }
    }
    for versions in versions {
        let at = versions.iter().position(|(column, _)| *column == 0);
        let at = at.unwrap_or_else(|| {
            versions.push((0, vec![0; concerned.len()]));
            versions.len() - 1
        });
        for (&concerned, version) in concerned.iter().zip(&mut versions[at].1) {
            *version = match *version {
                0 if concerned => age,
                v if concerned && v == age => 0,
                v => v,
            };
        }
    }
    for (who, _) in people.row_of.iter_mut().zip(&concerned).filter(|(_, c)| **c) {
        if let Known::Row(row) = *who {
            *who = Known::Changed(row);
        }
    }
    concerned
}

/// For each release, the new one last: everybody's version of the columns that changed for
/// somebody. The newest is 0. The judged column, which is the first, has none where a person with
/// another value of it is another person.
fn versions(
    earlier: &[&Past],
    kept: &[String],
    new: Option<&New<'_>>,
    people: &People,
) -> Vec<Vec<(usize, Vec<u32>)>> {
    let mut found: Vec<Vec<(usize, Vec<u32>)>> = vec![Vec::new(); earlier.len() + 1];
    for (column, name) in kept.iter().enumerate() {
        let mut first: Vec<Option<u32>> = vec![None; people.number];
        let mut more: HashMap<u32, Vec<u32>> = HashMap::new();
        let mut version = |person: u32, tag: Option<u32>| -> u32 {
            let (Some(tag), known) = (tag, &mut first[person as usize]) else { return 0 };
            if known.is_none_or(|known| known == tag) {
                *known = Some(tag);
                return 0;
            }
            let others = more.entry(person).or_default();
            let at = others.iter().position(|t| *t == tag).unwrap_or_else(|| {
                others.push(tag);
                others.len() - 1
            });
            at as u32 + 1
        };
        let mut add = |r: usize, versions: Vec<u32>| {
            if versions.iter().any(|v| *v > 0) {
                found[r].push((column, versions));
            }
        };
        if let Some(tags) = new.and_then(|n| Some(&n.tags[n.shows.at(name)?])) {
            let mut of = vec![0; people.number];
            let there = people.new.iter().zip(tags);
            there.for_each(|(&person, &tag)| of[person as usize] = version(person, Some(tag)));
            add(earlier.len(), of);
        }
        for (r, past) in earlier.iter().enumerate().rev() {
            let Some(at) = past.shows.at(name) else { continue };
            let mut of = vec![0; people.number];
            let there = people.places[r].iter().zip(&past.members.tags[at]);
            there.for_each(|(&(person, _), &tag)| of[person as usize] = version(person, tag));
            add(r, of);
        }
    }
    found
}

/// Who a person of the memory is in the new extract.
#[derive(Clone, Copy)]
enum Known {
    Row(u32),
    /// The person of a row, with a value that she no longer has.
    Changed(u32),
    Absent,
}

/// Everybody whom any release is about, numbered.
struct People {
    number: usize,
    /// For each earlier release the numbers of its people, with their places.
    places: Vec<Vec<(u32, u32)>>,
    /// The number of everybody in the new extract.
    new: Vec<u32>,
    row_of: Vec<Known>,
    pseudonym_of: Vec<Pseudonym>,
}

/// Numbers the people of earlier releases and of a new one. A person with another value of `apart`
/// is another person.
fn number(earlier: &[&Past], apart: Option<&str>, new: Option<&New<'_>>) -> People {
    let here = new.map_or(&[][..], |n| &n.people[..]);
    // Newest first, so that a value that is not known is the last one that is.
    let newest = earlier.len() as u32;
    let mut all: Vec<(Pseudonym, u32, u32)> = Vec::new();
    all.extend(here.iter().zip(0..).map(|(&person, row)| (person, 0, row)));
    for (r, past) in (0u32..).zip(earlier) {
        all.extend(past.members.people.iter().zip(0..).map(|(&person, i)| (person, newest - r, i)));
    }
    all.par_sort_unstable();
    let mut people = People {
        number: 0,
        places: earlier.iter().map(|p| Vec::with_capacity(p.members.people.len())).collect(),
        new: vec![0; here.len()],
        row_of: Vec::new(),
        pseudonym_of: Vec::new(),
    };
    let at: Vec<Option<&Vec<Option<u32>>>> =
        earlier.iter().map(|p| p.shows.at(apart?).map(|at| &p.members.tags[at])).collect();
    let tags = new.and_then(|n| Some(&n.tags[n.shows.at(apart?)?]));
    let mut values: Vec<(Option<u32>, u32)> = Vec::new();
    for one in all.chunk_by(|a, b| a.0 == b.0) {
        values.clear();
        let row = (one[0].1 == 0).then_some(one[0].2);
        for &(person, age, i) in one {
            let r = (newest - age) as usize;
            let tag = match age {
                0 => tags.map(|tags| tags[i as usize]),
                _ => at[r].and_then(|tags| tags[i as usize]),
            };
            let known = values.iter_mut().find(|(t, _)| tag.is_none() || *t == tag || t.is_none());
            let known = known.map(|(t, number)| {
                // From now on it is known.
                *t = t.or(tag);
                *number
            });
            let number = known.unwrap_or_else(|| {
                let number = people.number as u32;
                people.number += 1;
                people.pseudonym_of.push(person);
                people.row_of.push(match row {
                    Some(row) if age == 0 => Known::Row(row),
                    Some(row) => Known::Changed(row),
                    None => Known::Absent,
                });
                values.push((tag, number));
                number
            });
            match age {
                0 => people.new[i as usize] = number,
                _ => people.places[r].push((number, earlier[r].members.places[i as usize])),
            }
        }
    }
    people.in_order()
}

impl People {
    /// The same, numbered by their rows; those without one stand last.
    fn in_order(mut self) -> People {
        let key = |&i: &u32| match self.row_of[i as usize] {
            Known::Row(row) => (0, row),
            Known::Changed(row) => (1, row),
            Known::Absent => (2, i),
        };
        let mut order: Vec<u32> = (0..self.number as u32).collect();
        order.par_sort_unstable_by_key(key);
        let mut number = vec![0u32; self.number];
        (0u32..).zip(&order).for_each(|(new, &old)| number[old as usize] = new);
        self.row_of = order.iter().map(|&old| self.row_of[old as usize]).collect();
        self.pseudonym_of = order.iter().map(|&old| self.pseudonym_of[old as usize]).collect();
        self.new.iter_mut().for_each(|n| *n = number[*n as usize]);
        self.places.iter_mut().flatten().for_each(|(n, _)| *n = number[*n as usize]);
        self
    }
}

/// The codes of values among all values.
fn recode(of: &[String], values: &mut Vec<String>, codes: &mut HashMap<String, u32>) -> Vec<u32> {
    let code = |text: &String| {
        *codes.entry(text.clone()).or_insert_with(|| {
            values.push(text.clone());
            values.len() as u32 - 1
        })
    };
    of.iter().map(code).collect()
}

/// The counts of a column that is shown as it is, in codes among all values.
fn recoded(
    shows: &Shows,
    attribute: &str,
    values: &mut Vec<String>,
    codes: &mut HashMap<String, u32>,
) -> Vec<Vec<(u32, u64)>> {
    let Some((column, counts, of)) = shows.values(attribute) else { return Vec::new() };
    let codes = recode(of, values, codes);
    let group = |group: usize| {
        let counted = counts.of_column(column, group).unwrap_or_default();
        let mut pairs: Vec<(u32, u64)> =
            counted.into_iter().map(|(v, n)| (codes[v as usize], n)).collect();
        pairs.sort_unstable();
        pairs
    };
    (0..counts.groups.len()).into_par_iter().map(group).collect()
}

/// Records that are nobody's we know, and values that stand for nobody. `surely` says how many
/// people are in each group for sure, `perhaps` whether others may be.
fn strangers(groups: &Groups, surely: &[u64], perhaps: &[bool]) -> Vec<(u32, Located)> {
    let mut strangers = Vec::new();
    for (group, &size) in (0u32..).zip(&groups.sizes) {
        let at = group as usize;
        let left = size.saturating_sub(surely[at]);
        if left > 0 {
            strangers
                .push((left as u32, Located { groups: vec![group], may_be_absent: perhaps[at] }));
        }
        if groups.counterfeits[at] > 0 {
            strangers.push((groups.counterfeits[at] as u32, Located::at(group)));
        }
    }
    strangers
}

impl Past {
    /// The group of a member, if it is known.
    fn group(&self, member: usize) -> Option<u32> {
        let place = self.members.places[member];
        match &self.places {
            None => Some(place),
            Some(places) => match &places[place as usize] {
                Located { groups, may_be_absent: false } if groups.len() == 1 => Some(groups[0]),
                _ => None,
            },
        }
    }

    /// What a group showed. Values that the table does not know are no leaves of it; none are,
    /// because they were added.
    fn past_group(&self, attribute: &Attribute, group: u32, newest: bool) -> PastGroup {
        let shown = self.shows.values(&attribute.name);
        let counted = shown.and_then(|(column, counts, values)| {
            Some((counts.of_column(column, group as usize)?, values))
        });
        let (counted, texts) = counted.unwrap_or_default();
        let leaf = |&(v, n): &(u32, u64)| Some((attribute.taxonomy.find(&texts[v as usize])?, n));
        let mut values: Vec<(u32, u64)> = counted.iter().filter_map(leaf).collect();
        values.sort_unstable();
        PastGroup { values, counterfeits: self.shows.groups.counterfeits[group as usize], newest }
    }

    fn remembered(
        &self,
        attribute: &str,
        of: Of,
        people: usize,
        places: &[(u32, u32)],
    ) -> Remembered {
        let Of { view: View { groups, group_of, .. }, groups: counts, versions, response } = of;
        let n = groups.labels.len();
        let mut spots = match &self.places {
            Some(places) => places.clone(),
            None => (0..self.shows.groups.labels.len() as u32).map(Located::at).collect(),
        };
        if let Some(group_of) = &group_of {
            for spot in &mut spots {
                spot.groups.iter_mut().for_each(|g| *g = group_of[*g as usize]);
                spot.groups.sort_unstable();
                spot.groups.dedup();
            }
        }
        let (mut place, mut surely, mut perhaps) =
            (vec![0u32; people], vec![0u64; n], vec![false; n]);
        for &(person, at) in places {
            place[person as usize] = at + 1;
            match &spots[at as usize] {
                Located { groups, may_be_absent: false } if groups.len() == 1 => {
                    surely[groups[0] as usize] += 1
                }
                spot => spot.groups.iter().for_each(|&g| perhaps[g as usize] = true),
            }
        }
        Remembered {
            name: self.name.clone(),
            recipients: self.recipients.clone(),
            groups: counts,
            spots,
            place,
            strangers: strangers(&groups, &surely, &perhaps),
            newly: (self.newly.iter().filter(|(about, ..)| about == attribute))
                .map(|(_, who, people)| (who.clone(), *people))
                .collect(),
            labels: groups.labels,
            versions,
            response,
        }
    }
}

/// What a release says about a column.
struct Of {
    view: View,
    groups: Vec<Vec<(u32, u64)>>,
    versions: Vec<(usize, Vec<u32>)>,
    response: Option<f64>,
}

fn remembered_new(new: &New<'_>, of: Of, people: &People) -> Remembered {
    let Of { view: View { groups, group_of, .. }, groups: counts, versions, response } = of;
    let mut place = vec![0u32; people.number];
    let mut surely = vec![0u64; groups.labels.len()];
    for (&person, &group) in people.new.iter().zip(&new.groups).filter(|(_, g)| **g != New::NOWHERE)
    {
        let group = group_of.as_ref().map_or(group, |g| g[group as usize]);
        place[person as usize] = group + 1;
        surely[group as usize] += 1;
    }
    Remembered {
        name: new.name.clone(),
        recipients: new.recipients.clone(),
        groups: counts,
        spots: (0..groups.labels.len() as u32).map(Located::at).collect(),
        place,
        strangers: strangers(&groups, &surely, &vec![false; groups.labels.len()]),
        newly: Vec::new(),
        labels: groups.labels,
        versions,
        response,
    }
}
