//! Why something becomes known: the published facts, in words, and the releases that they are from.

use super::learn::Learnt;
use super::memory::{Crowd, Memory};
use super::seen::{Breach, What};
use crate::failure::{Action, Failure, Remedy};
use crate::inference::sentences::Names;
use crate::inference::witness::{Claim, Explainer, Proof, Witness};
use crate::inference::{Contradiction, Evidence, Located, Outcome, Reasons, Source};
use crate::progress::Watch;

/// Number of the worst breaches that are looked at,
const LOOKED_AT: usize = 50;
/// number of them that are explained in full,
const EXPLAINED: usize = 20;
/// where no more facts than this are needed,
const FACTS: usize = 12;
/// and the work for each of them: about a tenth of a second.
const WORK: u64 = 5_000_000;

/// The published facts that give an inference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// As sentences.
    pub sentences: Vec<String>,
    /// Indices of the releases that it rests on.
    pub releases: Vec<usize>,
}

impl Learnt {
    /// Gives reasons for the worst, in full where they are short: a steward reads a few, and long
    /// ones take long to find.
    pub(super) fn explain(
        &self,
        memory: &Memory,
        releases: &[usize],
        breaches: &mut [Breach],
        watch: &Watch<'_>,
    ) {
        let explainer = Explainer::within(&self.evidence, WORK).watched(watch);
        let reasons = Reasons::new(&self.evidence, &self.forced).watched(watch);
        let mut found: Vec<(usize, usize, Claim, Vec<u32>)> = Vec::new();
        let of_kinds = breaches.iter().enumerate().filter(|(_, breach)| breach.kind != u32::MAX);
        for (at, breach) in of_kinds.take(LOOKED_AT) {
            if !watch.go_on() {
                return;
            }
            let kind = breach.kind;
            let claim = match (breach.what, breach.value) {
                (What::Certain, Some(value)) => Claim::Certain(value),
                (What::Candidates | What::Posterior, _) => match self.excluded(kind) {
                    Some(value) => Claim::Impossible(value),
                    None => continue,
                },
                _ => continue,
            };
            let facts = explainer.excluding(&reasons, kind, claim);
            found.push((facts.len(), at, claim, facts));
        }
        found.sort_unstable_by_key(|(facts, at, ..)| (*facts, *at));
        let members = members(memory, releases);
        let names = Naming { memory, releases, learnt: &self.crowd };
        for (i, (_, at, claim, facts)) in found.into_iter().enumerate() {
            if !watch.go_on() {
                return;
            }
            let breach = &mut breaches[at];
            let told = i < EXPLAINED && facts.len() <= FACTS;
            let witness =
                told.then(|| explainer.why(breach.kind, claim, Some(&facts)).ok()).flatten();
            // Sentences about what people lack go by values; of rows, the facts and what follows
            // are told.
            let witness = witness.map(|w| {
                if memory.rows.is_some() { Witness { proof: Proof::Exhaustion, ..w } } else { w }
            });
            let used = witness.as_ref().map_or(&facts, |w| &w.facts);
            let person = self.crowd.kinds[breach.kind as usize].1;
            let contributing = self.contributing(memory, releases, &members, used, person);
            let sentences = match &witness {
                Some(Witness { facts, .. }) if facts.is_empty() && memory.rows.is_some() => {
                    vec![
                        "no other rows of the groups that the person is in agree in every column that they share"
                            .into(),
                    ]
                }
                Some(witness) if memory.rows.is_some() => {
                    let mut sentences = explainer.sentences(witness, &names);
                    // Without it the counts prove nothing: they are of rows, not of values.
                    sentences.insert(
                        sentences.len().saturating_sub(1),
                        "The rows of one person in several releases agree in every column that they share.".into(),
                    );
                    sentences
                }
                Some(witness) => explainer.sentences(witness, &names),
                // Where a search or beliefs excluded something, no facts are at hand.
                None if facts.is_empty() => vec!["no short reason was found".into()],
                None => vec![format!(
                    "no short reason was found: it takes {} published counts together",
                    facts.len()
                )],
            };
            breach.reason = Some(Reason { sentences, releases: contributing });
        }
    }

    /// The releases that an inference rests on: those of its facts; those in which the person is
    /// herself; and those that say of somebody else in the group of a fact that she does not have
    /// its value.
    fn contributing(
        &self,
        memory: &Memory,
        releases: &[usize],
        members: &[Vec<Vec<u32>>],
        facts: &[u32],
        person: u32,
    ) -> Vec<usize> {
        let is_in = |r: usize, person: usize| memory.releases[r].place[person] != 0;
        let mut told: Vec<usize> =
            releases.iter().copied().filter(|&r| is_in(r, person as usize)).collect();
        for fact in facts {
            let Source::Published { release, group, value } =
                self.evidence.facts()[*fact as usize].source
            else {
                continue;
            };
            told.push(releases[release as usize]);
            for &other in &members[release as usize][group as usize] {
                let lacks = |r: &usize| {
                    let there = &memory.releases[*r];
                    let place = there.place[other as usize];
                    let spot = place.checked_sub(1).map(|spot| &there.spots[spot as usize]);
                    let fits = |v: u32| match &memory.rows {
                        Some(rows) => rows.agree((releases[release as usize], value), (*r, v)),
                        None => v == value,
                    };
                    let shows = |g: &u32| there.groups[*g as usize].iter().any(|&(v, _)| fits(v));
                    spot.is_some_and(|spot| !spot.may_be_absent && !spot.groups.iter().any(shows))
                };
                told.extend(releases.iter().copied().filter(|r| lacks(r)));
            }
        }
        told.sort_unstable();
        told.dedup();
        told
    }

    /// A value that the releases allow each by itself, and not together.
    fn excluded(&self, kind: u32) -> Option<u32> {
        let possible: Vec<u32> = self.forced.values(&self.evidence, kind).collect();
        let allowed =
            self.evidence.outcomes_of(kind).map(|o| self.evidence.outcomes()[o as usize].value);
        allowed.filter(|v| *v != Outcome::UNKNOWN).find(|v| !possible.contains(v))
    }
}

/// For each group of each of these releases, the people who may be in it.
fn members(memory: &Memory, releases: &[usize]) -> Vec<Vec<Vec<u32>>> {
    let of_release = |&r: &usize| {
        let release = &memory.releases[r];
        let mut members = vec![Vec::new(); release.groups.len()];
        for (person, place) in (0u32..).zip(&release.place) {
            let Some(spot) = place.checked_sub(1) else { continue };
            for &group in &release.spots[spot as usize].groups {
                members[group as usize].push(person);
            }
        }
        members
    };
    releases.iter().map(of_release).collect()
}

/// What the ledger holds contradicts itself: says why.
pub(super) fn contradiction(
    memory: &Memory,
    releases: &[usize],
    crowd: &Crowd,
    evidence: &Evidence,
    Contradiction { facts, .. }: &Contradiction,
) -> Failure {
    let explainer = Explainer::within(evidence, 20 * WORK);
    let names = Naming { memory, releases, learnt: crowd };
    let witness = explainer.contradiction((!facts.is_empty()).then_some(facts));
    let why = witness.map(|w| explainer.sentences(&w, &names).join("\n  "));
    let why = why.unwrap_or_else(|_| "no short reason was found".into());
    Failure::data(
        "ledger-contradiction",
        format!("what the ledger holds contradicts itself:\n  {why}"),
    )
    .remedy(
        Remedy::words(
            "a release that was added from elsewhere may be about other people: look at it with ",
        )
        .and_run(Action::ShowLedger)
        .then(", or take it back with ")
        .and_run(Action::WithdrawRelease),
    )
}

/// What people, values and groups are called.
struct Naming<'a> {
    memory: &'a Memory,
    releases: &'a [usize],
    learnt: &'a Crowd,
}

impl Names for Naming<'_> {
    fn person(&self, kind: u32, number: u32) -> String {
        if kind as usize >= self.learnt.kinds.len() {
            // With rows, also what is known of people apart from the attribute.
            let nobody = self.memory.rows.is_none();
            return if nobody {
                "a record that is nobody's we know".into()
            } else {
                "somebody".into()
            };
        }
        let mut alike = (0u32..).zip(&self.learnt.kind_of).filter(|(_, k)| **k == kind);
        alike
            .nth(number as usize)
            .map_or_else(|| "somebody".into(), |(person, _)| (self.memory.name)(person))
    }

    fn value(&self, value: u32) -> String {
        let text = self.memory.value(value);
        if text.is_empty() { "a missing value".into() } else { text }
    }

    fn release(&self, release: u32) -> String {
        format!("`{}`", self.memory.releases[self.releases[release as usize]].name)
    }

    fn group(&self, release: u32, group: u32) -> String {
        let label = &self.memory.releases[self.releases[release as usize]].labels[group as usize];
        format!("{}, {label}", self.release(release))
    }

    fn known(&self, _: u32) -> String {
        String::new()
    }

    fn located(&self, kind: u32) -> Vec<Located> {
        match self.learnt.kinds.get(kind as usize) {
            Some(&(_, person)) => self.memory.located(person, self.releases),
            None => Vec::new(),
        }
    }
}
