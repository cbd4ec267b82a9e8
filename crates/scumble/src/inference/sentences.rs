//! A witness in words.

use super::lp::{Certificate, Program};
use super::witness::{Claim, Conclusion, Explainer, Proof, Witness};
use super::{Fact, Located, Outcome, Source};
use dashu_int::IBig;
use dashu_int::ops::Abs;
use std::collections::{BTreeMap, BTreeSet};

/// How people, values and groups are called.
pub trait Names {
    /// A person of a kind, of whom there are as many as the kind has people: `14`.
    fn person(&self, kind: u32, number: u32) -> String;
    /// A value: `Flu`.
    fn value(&self, value: u32) -> String;
    /// A release: `release 2`.
    fn release(&self, release: u32) -> String;
    /// A group: `release 2, group 1`.
    fn group(&self, release: u32, group: u32) -> String;
    /// Something known, to stand after "It is known that".
    fn known(&self, statement: u32) -> String;
    /// Where the people of a kind are, for each release.
    fn located(&self, kind: u32) -> Vec<Located>;
    /// Who is named before whom: kinds by rising numbers.
    fn order(&self, kind: u32) -> u32 {
        kind
    }
}

/// People who are named one by one, before "and so many others".
const NAMED: usize = 8;

impl Explainer<'_> {
    /// A witness in sentences: the facts, what people cannot have and why, and what follows.
    pub fn sentences(&self, witness: &Witness, names: &dyn Names) -> Vec<String> {
        let teller = Teller { program: self.program(), names };
        let mut sentences: Vec<String> = witness.facts.iter().map(|&f| teller.fact(f)).collect();
        if let Proof::Combination(certificate) = &witness.proof {
            sentences.extend(teller.missing(certificate, witness.conclusion));
            sentences.extend(teller.one_value(certificate));
        }
        sentences.push(teller.conclusion(witness));
        sentences
    }
}

struct Teller<'a> {
    program: &'a Program<'a>,
    names: &'a dyn Names,
}

impl Teller<'_> {
    fn source(&self, fact: u32) -> Source {
        self.program.evidence().facts()[fact as usize].source
    }

    fn fact(&self, fact: u32) -> String {
        let Fact { low, high, source } = self.program.evidence().facts()[fact as usize];
        let (release, group, value) = match source {
            Source::Published { release, group, value } => (release, group, value),
            Source::Known(statement) => {
                return format!("It is known that {}.", self.names.known(statement));
            }
        };
        let (value, often, place) =
            (self.names.value(value), often(low, high), self.names.group(release, group));
        let sure =
            |k: &u32| self.names.located(*k).get(release as usize) == Some(&Located::at(group));
        let (sure, unsure): (Vec<u32>, Vec<u32>) =
            self.members(release, group).into_iter().partition(sure);
        if unsure.is_empty() {
            return format!(
                "{value} occurs {often} among {} ({place}).",
                self.people(&sure).listed(", ")
            );
        }
        let unsure = format!("{} may be", self.people(&unsure).listed(" and "));
        if sure.is_empty() {
            return format!("{value} occurs {often} in {place}, where {unsure}.");
        }
        let sure = self.people(&sure);
        format!(
            "{value} occurs {often} in {place}, where {} {} and {unsure}.",
            sure.listed(" and "),
            sure.are()
        )
    }

    /// The kinds that are or may be in a group, rising.
    fn members(&self, release: u32, group: u32) -> BTreeSet<u32> {
        let facts = self.program.evidence().facts();
        let first =
            facts.partition_point(|f| f.source < Source::Published { release, group, value: 0 });
        let here = |f: &u32| matches!(self.source(*f), Source::Published { release: r, group: g, .. } if (r, g) == (release, group));
        let facts = (first as u32..facts.len() as u32).take_while(here);
        facts.flat_map(|f| self.program.kinds_of(f)).collect()
    }

    /// Whether a group has a value.
    fn has(&self, release: u32, group: u32, value: u32) -> bool {
        let facts = self.program.evidence().facts();
        facts
            .binary_search_by_key(&Source::Published { release, group, value }, |f| f.source)
            .is_ok()
    }

    /// Who is in a group of the witness and cannot have its value, because another group of theirs
    /// lacks it. Only where the combination would not add up otherwise.
    fn missing(&self, certificate: &Certificate, conclusion: Conclusion) -> Vec<String> {
        // value, release and groups that lack it → kinds.
        let mut missing: BTreeMap<(u32, u32, Vec<u32>), Vec<u32>> = BTreeMap::new();
        let mut lacking = |kind: u32, value: u32| {
            let located = self.names.located(kind);
            let lacks = |(r, place): &(u32, &Located)| {
                !place.may_be_absent && !place.groups.iter().any(|&g| self.has(*r, g, value))
            };
            if let Some((release, place)) = (0..).zip(&located).find(lacks) {
                let kinds = missing.entry((value, release, place.groups.clone())).or_default();
                if !kinds.contains(&kind) {
                    kinds.push(kind);
                }
            }
        };
        for &(fact, _) in &certificate.facts {
            let Source::Published { release, group, value } = self.source(fact) else { continue };
            let counted = self.program.kinds_of(fact);
            for kind in self.members(release, group) {
                if counted.binary_search(&kind).is_err()
                    && !self.would_fit(certificate, kind, value)
                {
                    lacking(kind, value);
                }
            }
        }
        // A claim about a value that the person cannot have at all needs no fact.
        if let Conclusion::About { kind, claim } = conclusion {
            let outcomes = self.program.evidence().outcomes_of(kind);
            let evidence = self.program.evidence();
            if outcomes.into_iter().all(|o| evidence.outcomes()[o as usize].value != claim.value())
            {
                lacking(kind, claim.value());
            }
        }
        let sentence = |((value, release, groups), kinds): ((u32, u32, Vec<u32>), Vec<u32>)| {
            let (people, value) = (self.people(&kinds), self.names.value(value));
            let groups: Vec<String> =
                groups.iter().map(|&g| self.names.group(release, g)).collect();
            let place =
                if groups.is_empty() { self.names.release(release) } else { groups.join(" or ") };
            let (who, not) = (people.listed(" and "), people.have_not());
            format!("{who} {not} {value}: there is none in {place}, where {who} {}.", people.are())
        };
        missing.into_iter().map(sentence).collect()
    }

    /// Whether the combination would still hold if people of a kind could have a value: of the
    /// groups that they may be in, those that make it hardest.
    fn would_fit(&self, certificate: &Certificate, kind: u32, value: u32) -> bool {
        let multiple = |list: &[(u32, IBig)], i: u32| {
            list.binary_search_by_key(&i, |m| m.0).map_or(IBig::ZERO, |at| list[at].1.clone())
        };
        let mut sum = multiple(&certificate.kinds, kind);
        for (release, place) in (0..).zip(self.names.located(kind)) {
            let of_group = |group: u32| {
                let source = Source::Published { release, group, value };
                let found = certificate.facts.iter().find(|m| self.source(m.0) == source);
                found.map_or(IBig::ZERO, |m| m.1.clone())
            };
            let options = place
                .groups
                .iter()
                .map(|&g| of_group(g))
                .chain(place.may_be_absent.then_some(IBig::ZERO));
            sum +=
                if certificate.upper { options.min() } else { options.max() }.unwrap_or_default();
        }
        if certificate.upper { sum >= IBig::ZERO } else { sum <= IBig::ZERO }
    }

    /// Where the combination builds on people having a value, or only one.
    fn one_value(&self, certificate: &Certificate) -> Vec<String> {
        let (mut only_one, mut one_of) = (Vec::new(), Vec::new());
        for (kind, n) in &certificate.kinds {
            if (*n > IBig::ZERO) == certificate.upper {
                only_one.push(*kind)
            } else {
                one_of.push(*kind)
            }
        }
        let mut sentences: Vec<String> = one_of.into_iter().map(|k| self.choice(k)).collect();
        if !only_one.is_empty() {
            let people = self.people(&only_one);
            let each = if people.0.len() == 1 { "has one value" } else { "have one value each" };
            sentences.push(format!("{} {each}.", people.listed(" and ")));
        }
        sentences
    }

    /// The values that people of a kind can have.
    fn choice(&self, kind: u32) -> String {
        let evidence = self.program.evidence();
        let values: BTreeSet<u32> =
            evidence.outcomes_of(kind).map(|o| evidence.outcomes()[o as usize].value).collect();
        let people = self.people(&[kind]);
        let groups = (0..).zip(self.names.located(kind)).flat_map(|(r, place)| {
            place.groups.into_iter().map(|g| self.names.group(r, g)).collect::<Vec<_>>()
        });
        let groups = groups.collect::<Vec<_>>().join(" and ");
        if values.is_empty() {
            return format!("No value is in all groups of {}: {groups}.", people.listed(" and "));
        }
        let name = |&v: &u32| {
            if v == Outcome::UNKNOWN { "an unknown value".to_owned() } else { self.names.value(v) }
        };
        let values: Vec<String> = values.iter().map(name).collect();
        format!(
            "{} {} {}, no other: {groups}.",
            people.listed(" and "),
            people.have(),
            values.join(" or ")
        )
    }

    fn conclusion(&self, witness: &Witness) -> String {
        let moved = match &witness.proof {
            Proof::Combination(certificate) => self.moved(certificate, witness.conclusion),
            Proof::Exhaustion => None,
        };
        if let Some(sentence) = moved {
            return sentence;
        }
        let so = match &witness.proof {
            Proof::Exhaustion => "However the values are dealt to these people, ".to_owned(),
            Proof::Combination(_) => "So ".to_owned(),
        };
        let sum = match &witness.proof {
            Proof::Combination(certificate) => self.sum(certificate),
            Proof::Exhaustion => String::new(),
        };
        let Conclusion::About { kind, claim } = witness.conclusion else {
            return format!("These cannot all be true{sum}.");
        };
        let (people, value) = (self.people(&[kind]), self.names.value(claim.value()));
        let each = if people.0.len() == 1 {
            people.listed("")
        } else {
            format!("each of {}", people.listed(" and "))
        };
        match claim {
            Claim::Impossible(_) => format!("{so}{}{sum}.", people.none_has(&value)),
            Claim::Certain(_) => {
                format!("{so}{} {} {value}{sum}.", people.listed(" and "), people.have())
            }
            Claim::AtMost(_, share) => {
                format!("{so}{each} has {value} with a probability of at most {share}{sum}.")
            }
            Claim::AtLeast(_, share) => {
                let others = match self.program.evidence().kinds()[kind as usize].people {
                    1 => String::new(),
                    people => format!("; {} of them may have {value} whatever one has", people - 1),
                };
                format!(
                    "{so}{each} has {value} with a probability of at least {share}{sum}{others}."
                )
            }
        }
    }

    /// The conclusion where some counts of a value, less other counts of it, leave nothing, or less
    /// than nothing.
    fn moved(&self, certificate: &Certificate, conclusion: Conclusion) -> Option<String> {
        let one = |m: &(u32, IBig)| (&m.1).abs() == IBig::ONE;
        let values: Option<BTreeSet<u32>> =
            certificate.facts.iter().map(|m| self.value(m.0)).collect();
        let values = values?;
        let plain =
            certificate.upper && certificate.kinds.is_empty() && certificate.facts.iter().all(one);
        let value = *values.first().filter(|_| plain && values.len() == 1)?;
        let (most, least): (Vec<_>, Vec<_>) =
            certificate.facts.iter().partition(|m| m.1 > IBig::ZERO);
        let facts = self.program.evidence().facts();
        let high: u64 = most.iter().map(|m| facts[m.0 as usize].high).sum();
        let low: u64 = least.iter().map(|m| facts[m.0 as usize].low).sum();
        let counted: BTreeSet<u32> =
            least.iter().flat_map(|m| self.program.kinds_of(m.0)).collect();
        let counted = self.people(&counted.into_iter().collect::<Vec<_>>()).listed(", ");
        let name = self.names.value(value);
        if least.is_empty() || most.is_empty() {
            return None;
        }
        if conclusion == Conclusion::NoWorld {
            let (low, high) = (often(low, low), often(high, high));
            return Some(format!(
                "These cannot all be true: {name} occurs {low} among {counted}, but {high} where all of them are."
            ));
        }
        if high != low {
            return None;
        }
        let (who, are) = match high {
            1 => ("the one".to_owned(), "is"),
            2 => ("the two".to_owned(), "are"),
            n => (format!("the {n}"), "are"),
        };
        let place = self.places(&most.iter().map(|m| m.0).collect::<Vec<_>>());
        let none = self.excluded(certificate, value).none_has(&name);
        Some(format!("So {who} with {name} in {place} {are} among {counted}: {none}."))
    }

    /// The value of a published fact.
    fn value(&self, fact: u32) -> Option<u32> {
        match self.source(fact) {
            Source::Published { value, .. } => Some(value),
            Source::Known(_) => None,
        }
    }

    /// The groups of some facts, shortly.
    fn places(&self, facts: &[u32]) -> String {
        let groups: BTreeSet<(u32, u32)> = facts
            .iter()
            .filter_map(|&f| match self.source(f) {
                Source::Published { release, group, .. } => Some((release, group)),
                Source::Known(_) => None,
            })
            .collect();
        let releases: BTreeSet<u32> = groups.iter().map(|g| g.0).collect();
        match (groups.first(), releases.len()) {
            (Some(&(r, g)), _) if groups.len() == 1 => self.names.group(r, g),
            (Some(&(r, _)), 1) => format!("these groups of {}", self.names.release(r)),
            _ => "these groups".to_owned(),
        }
    }

    /// Everybody for whom a sum that is nothing excludes a value.
    fn excluded(&self, certificate: &Certificate, value: u32) -> People {
        let evidence = self.program.evidence();
        let multiple = |f: &u32| {
            certificate
                .facts
                .binary_search_by_key(f, |m| m.0)
                .ok()
                .map(|at| &certificate.facts[at].1)
        };
        let counted =
            |o: &u32| evidence.facts_of(*o).iter().filter_map(multiple).sum::<IBig>() > IBig::ZERO;
        let kinds: BTreeSet<u32> =
            certificate.facts.iter().flat_map(|m| self.program.kinds_of(m.0)).collect();
        let excluded = kinds.into_iter().filter(|&k| {
            evidence
                .outcomes_of(k)
                .filter(|&o| evidence.outcomes()[o as usize].value == value)
                .all(|o| counted(&o))
        });
        self.people(&excluded.collect::<Vec<_>>())
    }

    /// The combination as a sum, if it is one of several numbers and short.
    fn sum(&self, certificate: &Certificate) -> String {
        let evidence = self.program.evidence();
        let mut terms: Vec<(IBig, u64)> = Vec::new();
        for (fact, n) in &certificate.facts {
            let fact = evidence.facts()[*fact as usize];
            terms.push((
                n.clone(),
                if (*n > IBig::ZERO) == certificate.upper { fact.high } else { fact.low },
            ));
        }
        let mut people: BTreeMap<&IBig, u64> = BTreeMap::new();
        for (kind, n) in &certificate.kinds {
            *people.entry(n).or_default() += u64::from(evidence.kinds()[*kind as usize].people);
        }
        terms.extend(people.into_iter().map(|(n, people)| (n.clone(), people)));
        if terms.len() < 2 || terms.len() > NAMED {
            return String::new();
        }
        terms.sort_by_key(|t| t.0 < IBig::ZERO);
        let mut text = String::new();
        for (i, (n, count)) in terms.iter().enumerate() {
            text += match (i, *n < IBig::ZERO) {
                (0, false) => "",
                (0, true) => "−",
                (_, false) => " + ",
                (_, true) => " − ",
            };
            let times = n.abs();
            text +=
                &if times == IBig::ONE { count.to_string() } else { format!("{times}·{count}") };
        }
        let bound = certificate.bound(evidence);
        let bound = if bound < IBig::ZERO { format!("−{}", -bound) } else { bound.to_string() };
        match &certificate.times {
            times if times.is_zero() => format!(": {text} = {bound} would be at least 0"),
            times if *times == IBig::ONE => format!(": {text} = {bound}"),
            times => format!(": {text} = {bound}, for {times} times as many"),
        }
    }

    fn people(&self, kinds: &[u32]) -> People {
        let everybody =
            |&k: &u32| (0..self.program.evidence().kinds()[k as usize].people).map(move |i| (k, i));
        let mut kinds = kinds.to_vec();
        kinds.sort_by_key(|&kind| self.names.order(kind));
        let mut people = kinds.iter().flat_map(everybody);
        let named: Vec<String> =
            people.by_ref().take(NAMED + 1).map(|(k, i)| self.names.person(k, i)).collect();
        let others = people.count();
        People(named, others)
    }
}

/// The names of the first few people, one more than are listed if there are more, and how many
/// there are besides.
struct People(Vec<String>, usize);

impl People {
    fn listed(&self, last: &str) -> String {
        match self.0.as_slice() {
            [] => "nobody".to_owned(),
            [one] => one.clone(),
            all if all.len() > NAMED => {
                format!(
                    "{} and {} others",
                    all[..NAMED - 1].join(", "),
                    all.len() + self.1 + 1 - NAMED
                )
            }
            [most @ .., one] => format!("{}{last}{one}", most.join(", ")),
        }
    }

    fn none_has(&self, value: &str) -> String {
        match self.0.as_slice() {
            [one] => format!("{one} does not have {value}"),
            [a, b] => format!("neither {a} nor {b} has {value}"),
            _ => format!("none of {} has {value}", self.listed(", ")),
        }
    }

    fn are(&self) -> &'static str {
        if self.0.len() == 1 { "is" } else { "are" }
    }

    fn have(&self) -> &'static str {
        if self.0.len() == 1 { "has" } else { "have" }
    }

    fn have_not(&self) -> &'static str {
        if self.0.len() == 1 { "does not have" } else { "do not have" }
    }
}

fn often(low: u64, high: u64) -> String {
    match (low, high) {
        (1, 1) => "once".to_owned(),
        (2, 2) => "twice".to_owned(),
        _ if low == high => format!("{low} times"),
        _ => format!("{low} to {high} times"),
    }
}
