//! What a publisher remembers of releases, and who was given which of them.

use super::rows::Rows;
use crate::inference::{Evidence, Located};
use crate::progress::Watch;
use crate::table::number_tuples;
use std::collections::BTreeSet;

/// Kinds of people between two questions whether to go on: they may have many outcomes.
const KINDS: u64 = 256;

/// Releases about one sensitive attribute and the people in them.
pub struct Memory {
    /// The attribute.
    pub attribute: String,
    /// Its values in any of the releases; their places are their codes. Empty if there are `rows`.
    pub values: Vec<String>,
    /// What releases show besides exact values of this attribute alone: several columns of a row,
    /// values that stand for several, or nothing that can be judged. Without it, the groups of all
    /// releases count codes of `values`.
    pub rows: Option<Rows>,
    /// Whether what the new release tells alone counts even if the policy has no gate: none of its
    /// models protects the attribute.
    pub unprotected: bool,
    /// What the steward should know about what is judged.
    pub notes: Vec<String>,
    /// The releases, the new one last.
    pub releases: Vec<Remembered>,
    /// Number of people.
    pub people: usize,
    /// The people who are judged; everybody, if there is no list. The others only count.
    pub judged: Option<Vec<bool>>,
    /// What a person is called.
    pub name: Box<dyn Fn(u32) -> String + Send + Sync>,
}

/// A release as its publisher remembers it.
#[derive(Clone, Debug)]
pub struct Remembered {
    /// What it is called.
    pub name: String,
    /// Who was given it; everybody, if nobody is named.
    pub recipients: Vec<String>,
    /// What its groups are called.
    pub labels: Vec<String>,
    /// The values, or rows, of each group with their counts, rising.
    pub groups: Vec<Vec<(u32, u64)>>,
    /// Places where people are: several groups where it is not known in which of them somebody is.
    pub spots: Vec<Located>,
    /// Where everybody is: 0 for those who are not in it, otherwise 1 and the index of the spot.
    pub place: Vec<u32>,
    /// Records that are nobody's of these people, and counterfeits: so many, in this group, surely
    /// or perhaps.
    pub strangers: Vec<(u32, Located)>,
    /// People whose value it made certain when it was published, by adversary. Of the new release:
    /// those that were counted with other values of the same column, before or after they changed.
    pub newly: Vec<(String, u64)>,
    /// For columns of [`Rows`] that changed for somebody: everybody's version here. Releases say
    /// something about the same value of a person only if they show the same version. Of the judged
    /// column, version 0 is judged.
    pub versions: Vec<(usize, Vec<u32>)>,
    /// The ε of randomized response, if it shows the attribute so.
    pub response: Option<f64>,
}

impl Remembered {
    /// The slots of some columns of a person: the column itself for version 0.
    pub(super) fn slots(&self, shown: &[usize], person: u32, columns: usize) -> Vec<usize> {
        let slot = |&column: &usize| column + columns * self.version(column, person) as usize;
        shown.iter().map(slot).collect()
    }

    /// The version of a column that it shows of a person.
    fn version(&self, column: usize, person: u32) -> u32 {
        let of = self.versions.iter().find(|(c, _)| *c == column);
        of.map_or(0, |(_, versions)| versions[person as usize])
    }
}

/// Somebody who was given releases, or several who put together what they were given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Adversary {
    /// Its name.
    pub name: String,
    /// Indices of the releases, rising.
    pub releases: Vec<usize>,
    /// Whether it is everybody who was given anything.
    pub everybody: bool,
}

/// What everybody together is called.
pub const EVERYBODY: &str = "everybody";

/// Everybody who has the new release: each recipient, coalitions of up to so many of them, and all
/// together. Those who have the same releases are named once.
pub fn adversaries(memory: &Memory, coalitions: usize, everybody: bool) -> Vec<Adversary> {
    let Some(new) = memory.releases.len().checked_sub(1) else { return Vec::new() };
    let names: BTreeSet<&str> =
        memory.releases.iter().flat_map(|r| r.recipients.iter().map(String::as_str)).collect();
    let names: Vec<&str> = names.into_iter().collect();
    let everything: Vec<usize> = (0..=new).collect();
    let mut found =
        vec![Adversary { name: EVERYBODY.into(), releases: everything, everybody: true }];
    let mut coalition: Vec<usize> = Vec::new();
    let mut given = |members: &[usize]| {
        let has = |r: &Remembered| {
            r.recipients.is_empty()
                || members.iter().any(|&m| r.recipients.iter().any(|name| name == names[m]))
        };
        let releases: Vec<usize> = (0..=new).filter(|&r| has(&memory.releases[r])).collect();
        // Whoever has as much as everybody is judged with everybody, unless everybody is only told
        // of.
        let known = |a: &Adversary| a.releases == releases && (everybody || !a.everybody);
        if releases.last() != Some(&new) || found.iter().any(known) {
            return;
        }
        let name = match members {
            [] => "the public".into(),
            _ => members.iter().map(|&m| names[m]).collect::<Vec<_>>().join(" and "),
        };
        found.push(Adversary { name, releases, everybody: false });
    };
    given(&[]);
    for size in 1..=coalitions.min(names.len()) {
        combinations(names.len(), size, 0, &mut coalition, &mut given);
    }
    found
}

/// Calls `visit` with every choice of `size` of the first `n` numbers, from `from` on.
fn combinations(
    n: usize,
    size: usize,
    from: usize,
    chosen: &mut Vec<usize>,
    visit: &mut impl FnMut(&[usize]),
) {
    if chosen.len() == size {
        return visit(chosen);
    }
    for next in from..n {
        chosen.push(next);
        combinations(n, size, next + 1, chosen, visit);
        chosen.pop();
    }
}

/// People told apart by where they are in some of the releases.
#[derive(Debug)]
pub(super) struct Crowd {
    /// The kind of everybody.
    pub kind_of: Vec<u32>,
    /// Of each kind: how many people, and one of them.
    pub kinds: Vec<(u32, u32)>,
}

impl Memory {
    /// People whose value was made certain to an adversary by the earlier releases that she has,
    /// when they were published. Where a release was not judged for her, because she had the same
    /// releases as everybody, everybody's number counts.
    pub(super) fn spent(&self, adversary: &Adversary) -> u64 {
        let told = |release: &Remembered| {
            let by = |name: &str| {
                let mut told = release.newly.iter().filter(|(who, _)| who == name).peekable();
                told.peek().is_some().then(|| told.map(|(_, people)| *people).sum::<u64>())
            };
            by(&adversary.name).or_else(|| by(EVERYBODY)).unwrap_or(0)
        };
        adversary.releases.iter().map(|&r| told(&self.releases[r])).sum()
    }

    /// How many other values of the judged column somebody had at most, before or after the one that
    /// is judged, where releases show it in rows with other columns.
    pub fn replaced(&self) -> u32 {
        let Some(rows) = &self.rows else { return 0 };
        let versions = self.releases.iter().flat_map(|r| &r.versions);
        let judged = versions.filter(|(column, _)| *column == rows.judged());
        judged.flat_map(|(_, versions)| versions).max().copied().unwrap_or(0)
    }

    /// Whether a person is judged.
    pub(super) fn is_judged(&self, person: u32) -> bool {
        self.judged.as_ref().is_none_or(|judged| judged[person as usize])
    }

    /// People who are alike in these releases.
    pub(super) fn crowd(&self, releases: &[usize]) -> Crowd {
        let mut columns: Vec<&[u32]> =
            releases.iter().map(|&r| &self.releases[r].place[..]).collect();
        let mut sizes: Vec<u64> =
            releases.iter().map(|&r| self.releases[r].spots.len() as u64 + 1).collect();
        for (_, versions) in releases.iter().flat_map(|&r| &self.releases[r].versions) {
            columns.push(versions);
            sizes.push(u64::from(versions.iter().max().copied().unwrap_or(0)) + 1);
        }
        let judged: Option<Vec<u32>> =
            self.judged.as_ref().map(|judged| judged.iter().map(|&j| u32::from(j)).collect());
        if let Some(judged) = &judged {
            columns.push(judged);
            sizes.push(2);
        }
        if columns.is_empty() {
            let kinds = if self.people == 0 { Vec::new() } else { vec![(self.people as u32, 0)] };
            return Crowd { kind_of: vec![0; self.people], kinds };
        }
        let (kind_of, firsts) = number_tuples(&columns, &sizes);
        let mut kinds: Vec<(u32, u32)> = firsts.into_iter().map(|person| (0, person)).collect();
        kind_of.iter().for_each(|&k| kinds[k as usize].0 += 1);
        Crowd { kind_of, kinds }
    }

    /// What a value is called.
    pub fn value(&self, value: u32) -> String {
        match &self.rows {
            Some(rows) => rows.name(value),
            None => self.values[value as usize].clone(),
        }
    }

    /// The code of a value, if any release shows it.
    pub fn find(&self, text: &str) -> Option<u32> {
        match &self.rows {
            Some(rows) => rows.find(text),
            None => self.values.iter().position(|v| v == text).map(|v| v as u32),
        }
    }

    /// The ε of randomized response that a person's releases among these add up to, and how many
    /// they are.
    pub(super) fn response(&self, person: u32, releases: &[usize]) -> (f64, u64) {
        let judged = self.rows.as_ref().map_or(0, Rows::judged);
        let about =
            |r: &&Remembered| r.place[person as usize] != 0 && r.version(judged, person) == 0;
        let spent = releases.iter().map(|&r| &self.releases[r]).filter(about);
        spent.filter_map(|r| r.response).fold((0.0, 0), |(sum, n), epsilon| (sum + epsilon, n + 1))
    }

    /// Where a person is in these releases.
    pub(super) fn located(&self, person: u32, releases: &[usize]) -> Vec<Located> {
        let place = |&r: &usize| match self.releases[r].place[person as usize].checked_sub(1) {
            Some(spot) => self.releases[r].spots[spot as usize].clone(),
            None => Located::absent(),
        };
        releases.iter().map(place).collect()
    }

    /// What these releases say: the kinds of the crowd, then strangers.
    /// Once it is cancelled, people are missing.
    pub(super) fn evidence(
        &self,
        crowd: &Crowd,
        releases: &[usize],
        watch: &Watch<'_>,
    ) -> Evidence {
        if let Some(rows) = &self.rows {
            return rows.evidence(self, crowd, releases);
        }
        let groups: Vec<Vec<Vec<(u32, u64)>>> =
            releases.iter().map(|&r| self.releases[r].groups.clone()).collect();
        let kinds =
            crowd.kinds.iter().map(|&(people, person)| (people, self.located(person, releases)));
        let strangers = releases.iter().enumerate().flat_map(|(i, &r)| {
            self.releases[r].strangers.iter().map(move |(people, place)| {
                let mut located = vec![Located::absent(); releases.len()];
                located[i] = place.clone();
                (*people, located)
            })
        });
        let kinds =
            kinds.chain(strangers).take_while(|_| watch.work(1, KINDS) || watch.out_of_time());
        Evidence::new(&groups, kinds)
    }
}
