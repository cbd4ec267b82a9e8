//! What a ledger remembers about the people of a new extract: for the gate, and for algorithms that publish again.

use super::files::{Counts, Groups, Members, read_pseudonyms};
use super::key::{Key, Pseudonym};
use super::spelling::Folded;
use super::{Ledger, Recorded};
use crate::columns::Column;
use hashbrown::HashMap;
use rayon::prelude::*;
use scumble::gate::{Memory, Remembered};
use scumble::history::PastGroup;
use scumble::inference::Located;
use scumble::policy::HistoryPolicy;
use scumble::problem::Problems;
use scumble::release::Release;
use scumble::table::{Attribute, published};
use std::collections::{BTreeMap, BTreeSet};

/// Every release that somebody may have and that says who is in it.
pub(crate) struct Recollection {
    releases: Vec<Past>,
    /// The people of releases about other attributes.
    others: Vec<Vec<Pseudonym>>,
    /// Sensitive attributes of any release, as they were called.
    attributes: BTreeSet<String>,
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
    attributes: Vec<String>,
    members: Members,
    /// Where it is not known in which group somebody is; otherwise places are groups.
    places: Option<Vec<Located>>,
    groups: Groups,
    counts: BTreeMap<String, Counts>,
    /// People whose value it made certain when it was published: attribute, adversary, number.
    newly: Vec<(String, String, u64)>,
}

/// A release that is to be published.
pub(crate) struct New<'a> {
    pub name: String,
    pub recipients: Vec<String>,
    pub release: &'a Release,
    /// The people of the extract, in the order of its rows.
    pub people: Vec<Pseudonym>,
    /// The group of everybody; [`New::NOWHERE`] for whoever is left out.
    pub groups: Vec<u32>,
    /// For each published sensitive attribute the tag of everybody's value.
    pub tags: Vec<Vec<u32>>,
    /// The column that names the people.
    pub persons: &'a Column,
}

impl New<'_> {
    /// In no group.
    pub const NOWHERE: u32 = u32::MAX;

    /// Who is in it, for the ledger.
    pub fn members(&self) -> Members {
        let there: Vec<usize> = (0..self.people.len()).filter(|&i| self.groups[i] != New::NOWHERE).collect();
        let members = Members {
            people: there.iter().map(|&i| self.people[i]).collect(),
            places: there.iter().map(|&i| self.groups[i]).collect(),
            tags: self.tags.iter().map(|tags| there.iter().map(|&i| Some(tags[i])).collect()).collect(),
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
    pub counts: Vec<Counts>,
}

/// The pseudonyms of a column that names people, row by row.
pub(crate) fn pseudonyms(key: &Key, persons: &Column) -> Vec<Pseudonym> {
    let names: Vec<&str> = persons.values.iter().collect();
    let of_code: Vec<Pseudonym> = names.par_iter().map(|name| key.pseudonym(name)).collect();
    persons.codes.iter().map(|&code| of_code[code as usize]).collect()
}

impl Recollection {
    /// Reads what is remembered of these sensitive attributes.
    pub fn load(
        ledger: &mut Ledger,
        attributes: &[String],
        history: &HistoryPolicy,
        progress: &dyn Fn(u64, u64),
    ) -> Result<Recollection, Problems> {
        let given: Vec<Recorded> = ledger.given().cloned().collect();
        let mut all = Recollection { history: history.clone(), ..Recollection::nothing(ledger.key().clone()) };
        for (i, Recorded { described, .. }) in given.iter().enumerate() {
            progress(i as u64, given.len() as u64);
            let Some((members, places)) = ledger.members(described)? else { continue };
            all.attributes.extend(described.attributes.iter().cloned());
            match &described.kept.folded {
                Some(file) => all.folded.extend(read_pseudonyms(ledger.kept(file)?)?),
                None => all.unfolded += 1,
            }
            let called: Vec<String> = described.attributes.iter().map(|a| all.called_now(a)).collect();
            if !called.iter().any(|a| attributes.contains(a)) {
                all.others.push(members.people);
                continue;
            }
            let groups = Groups::read(ledger.kept(&described.kept.groups)?)?;
            let file = ledger.kept(&described.kept.counts)?;
            let mut counts = BTreeMap::new();
            for (i, attribute) in (0u16..).zip(&called).filter(|(_, a)| attributes.contains(a)) {
                let mut read = Counts::read(file.clone(), i, groups.labels.len())?;
                read.values.iter_mut().for_each(|v| *v = all.history.value_now(attribute, v).to_owned());
                counts.insert(attribute.clone(), read);
            }
            all.releases.push(Past {
                name: described.name.clone(),
                recipients: described.recipients.clone(),
                attributes: called,
                members,
                places,
                groups,
                counts,
                newly: described.gate.iter().map(|v| (v.attribute.clone(), v.adversary.clone(), v.newly)).collect(),
            });
        }
        Ok(all)
    }

    /// Nothing is remembered yet.
    pub fn nothing(key: Key) -> Recollection {
        Recollection {
            releases: Vec::new(),
            others: Vec::new(),
            attributes: BTreeSet::new(),
            folded: Folded::new(),
            unfolded: 0,
            history: HistoryPolicy::default(),
            key,
        }
    }

    /// What a sensitive attribute of an earlier release is called now.
    fn called_now(&self, earlier: &str) -> String {
        let renamed = self.history.columns.iter().find(|(_, before)| *before == earlier);
        renamed.map_or(earlier, |(now, _)| now).to_owned()
    }

    /// The tags of everybody's value. Renamed columns and values have the tags that they had before.
    pub fn tags(&self, people: &[Pseudonym], attribute: &Attribute, leaf: impl Fn(usize) -> u32 + Sync) -> Vec<u32> {
        let column = self.history.earlier_column(&attribute.name);
        let tag = |(i, person): (usize, &Pseudonym)| {
            let value = attribute.taxonomy.leaf(leaf(i));
            self.key.tag(*person, column, self.history.earlier_value(&attribute.name, value))
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

    /// Sensitive attributes of any release, as they were called.
    pub fn known_attributes(&self) -> &BTreeSet<String> {
        &self.attributes
    }

    /// Pseudonyms of folded names.
    pub fn folded(&self) -> &Folded {
        &self.folded
    }

    /// How many of these people were in a release that tells of the attribute, and how many of those had another value in
    /// the last one.
    pub fn changed(&self, attribute: &str, people: &[Pseudonym], tags: &[u32]) -> (usize, usize) {
        let known: Vec<(&Past, usize)> = (self.releases.iter().rev())
            .filter_map(|past| Some((past, past.attributes.iter().position(|a| a == attribute)?)))
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
        let Added { name, recipients, attributes, members, places, groups, counts } = release;
        self.releases.push(Past {
            name: name.to_owned(),
            recipients: recipients.to_vec(),
            counts: attributes.iter().cloned().zip(counts).collect(),
            attributes: attributes.to_vec(),
            members,
            places: Some(places),
            groups,
            newly: Vec::new(),
        });
    }

    /// Everything that is remembered of an attribute, the newest release last.
    pub fn recalled(&self, attribute: &str) -> Memory {
        let known: Vec<&Past> = self.releases.iter().filter(|p| p.counts.contains_key(attribute)).collect();
        let people = number(&known, attribute, &[], &[]);
        let (mut values, mut codes) = (Vec::new(), HashMap::new());
        let releases = (known.iter().zip(&people.places))
            .map(|(past, places)| past.remembered(attribute, people.number, places, &mut values, &mut codes))
            .collect();
        let name = |person: u32| format!("person {}", person + 1);
        Memory { attribute: attribute.to_owned(), values, releases, people: people.number, name: Box::new(name) }
    }

    /// Remembers a release as if it were published.
    pub fn imagine(&mut self, new: &New<'_>) {
        let attributes: Vec<String> = published(&new.release.sensitive).iter().map(|a| a.name.clone()).collect();
        self.releases.push(Past {
            name: new.name.clone(),
            recipients: new.recipients.clone(),
            members: new.members(),
            places: None,
            groups: Groups::of(new.release),
            counts: attributes.iter().cloned().zip(Counts::of(new.release)).collect(),
            attributes,
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
        let shares = |past: &&Past| past.members.people.iter().any(|p| people.binary_search(p).is_ok());
        self.releases.par_iter().filter(shares).count()
    }

    /// Values of an attribute that were ever published.
    pub fn values(&self, attribute: &str) -> Vec<&str> {
        let counts = self.releases.iter().filter_map(|r| r.counts.get(attribute));
        let mut values: Vec<&str> = counts.flat_map(|c| c.values.iter().map(String::as_str)).collect();
        values.sort_unstable();
        values.dedup();
        values
    }

    /// Where the people of an extract were last seen with the value that they have now: for each row 0, or 1 and the index
    /// of a group.
    pub fn past(&self, persons: &Column, attribute: &Attribute, leaves: &[u32]) -> (Vec<PastGroup>, Vec<u32>) {
        let people = pseudonyms(&self.key, persons);
        let tags = self.tags(&people, attribute, |i| leaves[i]);
        let mut seen: Vec<Option<(usize, u32)>> = vec![None; people.len()];
        // Newest first: where somebody was seen last counts.
        for (r, past) in self.releases.iter().enumerate().rev().filter(|(_, p)| p.counts.contains_key(&attribute.name))
        {
            let at = past.attributes.iter().position(|a| *a == attribute.name).unwrap_or(0);
            seen.par_iter_mut().enumerate().filter(|(_, s)| s.is_none()).for_each(|(i, seen)| {
                let Ok(found) = past.members.people.binary_search(&people[i]) else { return };
                let same = past.members.tags[at][found].is_none_or(|tag| tag == tags[i]);
                *seen = past.group(found).filter(|_| same).map(|group| (r, group));
            });
        }
        let newest = self.releases.iter().rposition(|p| p.counts.contains_key(&attribute.name));
        let mut index: HashMap<(usize, u32), u32> = HashMap::new();
        let mut groups = Vec::new();
        let of_row = seen.into_iter().map(|seen| {
            let Some((r, group)) = seen else { return 0 };
            *index.entry((r, group)).or_insert_with(|| {
                groups.push(self.releases[r].past_group(attribute, group, Some(r) == newest));
                groups.len() as u32
            })
        });
        let of_row = of_row.collect();
        (groups, of_row)
    }

    /// Everything that is remembered of a sensitive attribute, with a release that is to be published; and the number in it
    /// of everybody in the extract.
    pub fn memory(&self, new: &New<'_>, index: usize) -> (Memory, Vec<u32>) {
        let attribute = &published(&new.release.sensitive)[index];
        let earlier: Vec<&Past> = self.releases.iter().filter(|p| p.counts.contains_key(&attribute.name)).collect();
        let people = number(&earlier, &attribute.name, &new.people, &new.tags[index]);
        let mut values: Vec<String> = Vec::new();
        let mut codes: HashMap<String, u32> = HashMap::new();
        let mut releases: Vec<Remembered> = (earlier.iter().zip(&people.places))
            .map(|(past, places)| past.remembered(&attribute.name, people.number, places, &mut values, &mut codes))
            .collect();
        releases.push(remembered_new(new, index, &people, &mut values, &mut codes));
        let People { number, row_of, pseudonym_of, new: number_of, .. } = people;
        let name = move |person: u32| {
            let person = person as usize;
            match row_of[person] {
                Known::Row(row) => format!("row {}", row + 1),
                Known::Changed(row) => format!("row {} with an earlier value", row + 1),
                Known::Absent => format!("somebody who is not in this extract ({:06x}…)", pseudonym_of[person] >> 104),
            }
        };
        let memory =
            Memory { attribute: attribute.name.clone(), values, releases, people: number, name: Box::new(name) };
        (memory, number_of)
    }
}

/// Who a person of the memory is in the new extract.
#[derive(Clone, Copy)]
enum Known {
    Row(u32),
    /// The person of a row, with a value that she no longer has.
    Changed(u32),
    Absent,
}

/// Everybody whom any release is about, numbered. A person with another value is another person.
struct People {
    number: usize,
    /// For each earlier release the numbers of its people, with their places.
    places: Vec<Vec<(u32, u32)>>,
    /// The number of everybody in the new extract.
    new: Vec<u32>,
    row_of: Vec<Known>,
    pseudonym_of: Vec<Pseudonym>,
}

/// Numbers the people of earlier releases and those of a new one, who have these tags.
fn number(earlier: &[&Past], attribute: &str, new: &[Pseudonym], tags: &[u32]) -> People {
    // Newest first, so that a value that is not known is the last one that is.
    let newest = earlier.len() as u32;
    let mut all: Vec<(Pseudonym, u32, u32)> = Vec::new();
    all.extend(new.iter().zip(0..).map(|(&person, row)| (person, 0, row)));
    for (r, past) in (0u32..).zip(earlier) {
        all.extend(past.members.people.iter().zip(0..).map(|(&person, i)| (person, newest - r, i)));
    }
    all.par_sort_unstable();
    let mut people = People {
        number: 0,
        places: earlier.iter().map(|p| Vec::with_capacity(p.members.people.len())).collect(),
        new: vec![0; new.len()],
        row_of: Vec::new(),
        pseudonym_of: Vec::new(),
    };
    let at: Vec<usize> =
        earlier.iter().map(|p| p.attributes.iter().position(|a| a == attribute).unwrap_or(0)).collect();
    let mut values: Vec<(Option<u32>, u32)> = Vec::new();
    for one in all.chunk_by(|a, b| a.0 == b.0) {
        values.clear();
        let row = (one[0].1 == 0).then_some(one[0].2);
        for &(person, age, i) in one {
            let r = (newest - age) as usize;
            let tag = if age == 0 { Some(tags[i as usize]) } else { earlier[r].members.tags[at[r]][i as usize] };
            let known = values.iter().find(|(t, _)| tag.is_none() || *t == tag || t.is_none()).map(|&(_, n)| n);
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

fn recoded(counts: &Counts, values: &mut Vec<String>, codes: &mut HashMap<String, u32>) -> Vec<Vec<(u32, u64)>> {
    let codes = recode(&counts.values, values, codes);
    let group = |pairs: &Vec<(u32, u64)>| {
        let mut pairs: Vec<(u32, u64)> = pairs.iter().map(|&(v, n)| (codes[v as usize], n)).collect();
        pairs.sort_unstable();
        pairs
    };
    counts.groups.par_iter().map(group).collect()
}

/// Records that are nobody's we know, and values that stand for nobody. `surely` says how many people are in each group for
/// sure, `perhaps` whether others may be.
fn strangers(groups: &Groups, surely: &[u64], perhaps: &[bool]) -> Vec<(u32, Located)> {
    let mut strangers = Vec::new();
    for (group, &size) in (0u32..).zip(&groups.sizes) {
        let at = group as usize;
        let left = size.saturating_sub(surely[at]);
        if left > 0 {
            strangers.push((left as u32, Located { groups: vec![group], may_be_absent: perhaps[at] }));
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

    /// What a group showed. Values that the table does not know are no leaves of it; none are, because they were added.
    fn past_group(&self, attribute: &Attribute, group: u32, newest: bool) -> PastGroup {
        let counts = &self.counts[&attribute.name];
        let leaf = |&(v, n): &(u32, u64)| Some((attribute.taxonomy.find(&counts.values[v as usize])?, n));
        let mut values: Vec<(u32, u64)> = counts.groups[group as usize].iter().filter_map(leaf).collect();
        values.sort_unstable();
        PastGroup { values, counterfeits: self.groups.counterfeits[group as usize], newest }
    }

    fn remembered(
        &self,
        attribute: &str,
        people: usize,
        places: &[(u32, u32)],
        values: &mut Vec<String>,
        codes: &mut HashMap<String, u32>,
    ) -> Remembered {
        let n = self.groups.labels.len();
        let spots = self.places.clone().unwrap_or_else(|| (0..n as u32).map(Located::at).collect());
        let (mut place, mut surely, mut perhaps) = (vec![0u32; people], vec![0u64; n], vec![false; n]);
        for &(person, at) in places {
            place[person as usize] = at + 1;
            match &spots[at as usize] {
                Located { groups, may_be_absent: false } if groups.len() == 1 => surely[groups[0] as usize] += 1,
                spot => spot.groups.iter().for_each(|&g| perhaps[g as usize] = true),
            }
        }
        Remembered {
            name: self.name.clone(),
            recipients: self.recipients.clone(),
            labels: self.groups.labels.clone(),
            groups: recoded(&self.counts[attribute], values, codes),
            spots,
            place,
            strangers: strangers(&self.groups, &surely, &perhaps),
            newly: (self.newly.iter().filter(|(about, ..)| about == attribute))
                .map(|(_, who, people)| (who.clone(), *people))
                .collect(),
        }
    }
}

fn remembered_new(
    new: &New<'_>,
    index: usize,
    people: &People,
    values: &mut Vec<String>,
    codes: &mut HashMap<String, u32>,
) -> Remembered {
    let groups = Groups::of(new.release);
    let mut place = vec![0u32; people.number];
    let mut surely = vec![0u64; groups.labels.len()];
    for (&person, &group) in people.new.iter().zip(&new.groups).filter(|(_, g)| **g != New::NOWHERE) {
        place[person as usize] = group + 1;
        surely[group as usize] += 1;
    }
    Remembered {
        name: new.name.clone(),
        recipients: new.recipients.clone(),
        groups: recoded(&Counts::of(new.release)[index], values, codes),
        spots: (0..groups.labels.len() as u32).map(Located::at).collect(),
        place,
        strangers: strangers(&groups, &surely, &vec![false; groups.labels.len()]),
        newly: Vec::new(),
        labels: groups.labels,
    }
}
