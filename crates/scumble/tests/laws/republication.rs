//! Laws of re-publication: series of releases about people who come, leave and return.

use super::algorithms::{Law, check, everybody_is_somewhere};
use super::cases::{algorithm, draws, k_anonymity, requirements};
use proptest::prelude::*;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use scumble::algorithm::Requirement;
use scumble::attack::{Knowledge, Membership, Scene};
use scumble::catalogue::ALGORITHMS;
use scumble::encode::{encode, encode_guard};
use scumble::failure::Failure;
use scumble::history::PastGroup;
use scumble::inference::entropy::entropy_of;
use scumble::inference::worlds::{self, worlds};
use scumble::inference::{Evidence, Located, WORK, infer};
use scumble::publish::{Outcome, judge, make};
use scumble::register::{Register, RegisterColumn};
use scumble::release::{Form, Member, Release};
use scumble::table::{Attribute, Table};
use scumble::taxonomy::Rule;
use std::collections::{BTreeMap, BTreeSet};

/// Number of sensitive values.
const VALUES: u32 = 7;

#[derive(Clone, Copy)]
struct Person {
    quasi: [u32; 2],
    value: u32,
}

/// What was published once, and who was where.
struct Published {
    group_of: BTreeMap<usize, u32>,
    /// The values of each group, with counts.
    values: Vec<Vec<(u32, u64)>>,
    counterfeits: Vec<u64>,
    release: Release,
}

/// A series of releases about some people.
#[derive(Default)]
struct Series {
    people: Vec<Person>,
    releases: Vec<Published>,
}

fn attribute(name: &str, values: u32) -> Attribute {
    let texts: Vec<String> = (0..values).map(|v| format!("{v:05}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let (taxonomy, leaves) = encode(name, &Rule::Flat, None, &texts, &[]).expect("flat");
    assert!(leaves.into_iter().eq(0..values));
    Attribute::new(name, taxonomy)
}

impl Series {
    fn arrive(&mut self, value: u32, rng: &mut ChaCha8Rng) -> usize {
        self.people.push(Person { quasi: [rng.random_range(0..4), rng.random_range(0..4)], value });
        self.people.len() - 1
    }

    /// The release and the group where a person was last seen.
    fn last_seen(&self, person: usize) -> Option<(usize, u32)> {
        (0..self.releases.len())
            .rev()
            .find_map(|r| Some((r, *self.releases[r].group_of.get(&person)?)))
    }

    /// The table of some people with what was published about them, and the row of each.
    fn table(&self, present: &[usize]) -> (Table, Vec<u32>) {
        let quasi = vec![attribute("a", 4), attribute("b", 4)];
        let column = |of: &dyn Fn(&Person) -> u32| {
            present.iter().map(|&p| of(&self.people[p])).collect::<Vec<u32>>()
        };
        let codes = vec![column(&|p| p.quasi[0]), column(&|p| p.quasi[1]), column(&|p| p.value)];
        let sensitive = vec![attribute("s", VALUES)];
        if self.releases.is_empty() {
            return Table::collapse(quasi, sensitive, codes);
        }
        let mut groups: Vec<PastGroup> = Vec::new();
        let mut number: BTreeMap<(usize, u32), u32> = BTreeMap::new();
        let mut past = |seen: (usize, u32)| {
            *number.entry(seen).or_insert_with(|| {
                let (release, group) = (&self.releases[seen.0], seen.1 as usize);
                let values = release.values[group].clone();
                let newest = seen.0 + 1 == self.releases.len();
                groups.push(PastGroup {
                    values,
                    counterfeits: release.counterfeits[group],
                    newest,
                });
                groups.len() as u32
            })
        };
        let group_of = present.iter().map(|&p| self.last_seen(p).map_or(0, &mut past)).collect();
        Table::collapse_with_past(quasi, sensitive, codes, groups, group_of)
    }

    /// Publishes some people, or says why not.
    fn publish(
        &mut self,
        present: &[usize],
        name: &str,
        given: &[(&str, &str)],
        seed: u64,
    ) -> Result<(), Vec<Failure>> {
        self.publish_with(present, &[], name, given, seed)
    }

    /// The same with promises.
    fn publish_with(
        &mut self,
        present: &[usize],
        requirements: &[Requirement],
        name: &str,
        given: &[(&str, &str)],
        seed: u64,
    ) -> Result<(), Vec<Failure>> {
        let (table, row_of) = self.table(present);
        let entry = ALGORITHMS.iter().find(|e| e.name == name).expect("is in the catalogue");
        let given = given.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let how = algorithm(entry, &given).expect("the parameters are right");
        let made = match make(&table, &*how, requirements, seed, &|_, _| true) {
            Outcome::Made(made) => made,
            Outcome::Refused(reasons) => return Err(reasons),
        };
        everybody_is_somewhere(&table, &made.form).expect("everybody once");
        let groups: Vec<&Vec<Member>> = match &made.form {
            Form::Anatomized(form) => form.groups.iter().collect(),
            Form::Generalized(form) => form.classes.iter().map(|class| &class.members).collect(),
        };
        let mut of_row: Vec<Vec<usize>> = vec![Vec::new(); table.rows()];
        present.iter().zip(&row_of).for_each(|(&p, &row)| of_row[row as usize].push(p));
        let mut group_of = BTreeMap::new();
        for (group, members) in (0u32..).zip(groups) {
            for m in members {
                let queue = &mut of_row[m.row as usize];
                group_of.extend(
                    queue.split_off(queue.len() - m.count as usize).into_iter().map(|p| (p, group)),
                );
            }
        }
        let release = made.release;
        let values = release.classes.iter().map(|c| c.histograms[0].0.clone()).collect();
        let counterfeits = (0..release.classes.len()).map(|g| release.counterfeits_in(g)).collect();
        self.releases.push(Published { group_of, values, counterfeits, release });
        Ok(())
    }

    /// What the releases say to somebody who knows everybody's groups; kinds of people first, then
    /// nobody's values.
    fn evidence(&self, releases: &[Published]) -> (Evidence, Vec<usize>) {
        let everybody: Vec<usize> = (0..self.people.len())
            .filter(|p| releases.iter().any(|r| r.group_of.contains_key(p)))
            .collect();
        let place = |r: &Published, p: &usize| {
            r.group_of.get(p).map_or_else(Located::absent, |&g| Located::at(g))
        };
        let mut kinds: Vec<(u32, Vec<Located>)> =
            everybody.iter().map(|p| (1, releases.iter().map(|r| place(r, p)).collect())).collect();
        for (i, r) in releases.iter().enumerate() {
            for (group, &n) in (0u32..).zip(&r.counterfeits).filter(|(_, n)| **n > 0) {
                let mut located = vec![Located::absent(); releases.len()];
                located[i] = Located::at(group);
                kinds.push((n as u32, located));
            }
        }
        let groups: Vec<Vec<Vec<(u32, u64)>>> = releases.iter().map(|r| r.values.clone()).collect();
        (Evidence::new(&groups, kinds), everybody)
    }

    /// What is believed of everybody's values after all releases.
    fn beliefs(&self) -> Vec<Vec<f64>> {
        let (evidence, everybody) = self.evidence(&self.releases);
        let found = infer(&evidence, WORK, &|_, _| true).expect("there is a world");
        let of = |kind: u32| {
            let mut beliefs = vec![0.0; VALUES as usize];
            found.beliefs.values(&evidence, kind).for_each(|(v, p)| beliefs[v as usize] = p);
            beliefs
        };
        (0..everybody.len() as u32).map(of).collect()
    }

    /// Who may be in the next release: some of the newest leave, some of those who left return, and
    /// some are new.
    fn next(&mut self, come: usize, rng: &mut ChaCha8Rng) -> (Vec<usize>, Vec<usize>) {
        let newest: BTreeSet<usize> = self
            .releases
            .last()
            .map_or_else(BTreeSet::new, |r| r.group_of.keys().copied().collect());
        let old = (0..self.people.len()).filter(|p| self.last_seen(*p).is_some());
        let present =
            old.filter(|p| rng.random_bool(if newest.contains(p) { 0.75 } else { 0.3 })).collect();
        let new = (0..come).map(|_| self.arrive(rng.random_range(0..VALUES), rng)).collect();
        (present, new)
    }
}

fn tally(values: impl IntoIterator<Item = u32>) -> Vec<u64> {
    let mut counts = vec![0; VALUES as usize];
    values.into_iter().for_each(|v| counts[v as usize] += 1);
    counts
}

fn eligible(counts: &[u64], m: u64) -> bool {
    counts.iter().all(|n| n * m <= counts.iter().sum())
}

/// What every bucket lacks of each value: signature and numbers.
fn lacking(series: &Series, present: &[usize]) -> Vec<(Vec<u32>, Vec<u64>)> {
    let mut buckets: BTreeMap<Vec<u32>, Vec<u64>> = BTreeMap::new();
    for &p in present {
        let (release, group) = series.last_seen(p).expect("was there");
        let signature: Vec<u32> =
            series.releases[release].values[group as usize].iter().map(|&(v, _)| v).collect();
        let at = signature.binary_search(&series.people[p].value).expect("her own value");
        buckets.entry(signature.clone()).or_insert_with(|| vec![0; signature.len()])[at] += 1;
    }
    let lacks = |(signature, n): (Vec<u32>, Vec<u64>)| {
        let most = *n.iter().max().expect("m values");
        (signature, n.iter().map(|n| most - n).collect())
    };
    buckets.into_iter().map(lacks).collect()
}

/// Counterfeits that the paper's balancing needs: place by place, a newcomer if the others stay
/// eligible without her.
fn straightforward(lacking: &[(Vec<u32>, Vec<u64>)], new: &[u64], m: u64) -> u64 {
    let (mut new, mut counterfeits) = (new.to_vec(), 0);
    for (signature, lacks) in lacking {
        for (&value, &n) in signature.iter().zip(lacks) {
            for _ in 0..n {
                let here = &mut new[value as usize];
                if *here == 0 {
                    counterfeits += 1;
                    continue;
                }
                *here -= 1;
                if !eligible(&new, m) {
                    new[value as usize] += 1;
                    counterfeits += 1;
                }
            }
        }
    }
    counterfeits
}

/// The fewest counterfeits of all ways to fill places that leave the others eligible; nothing if
/// there is no way.
fn fewest(lacking: &[(Vec<u32>, Vec<u64>)], new: &[u64], m: u64) -> Option<u64> {
    let mut places = vec![0u64; VALUES as usize];
    for (signature, lacks) in lacking {
        signature.iter().zip(lacks).for_each(|(&v, n)| places[v as usize] += n);
    }
    let mut ways: Vec<(Vec<u64>, u64)> = vec![(Vec::new(), 0)];
    for (&n, &open) in new.iter().zip(&places) {
        let more = |(left, filled): &(Vec<u64>, u64)| {
            let (left, filled) = (left.clone(), *filled);
            (0..=n.min(open)).map(move |fill| ([&left[..], &[n - fill]].concat(), filled + fill))
        };
        ways = ways.iter().flat_map(more).collect();
    }
    let most =
        ways.into_iter().filter(|(left, _)| eligible(left, m)).map(|(_, filled)| filled).max()?;
    Some(places.iter().sum::<u64>() - most)
}

#[test]
fn m_invariance_keeps_signatures_with_as_few_counterfeits_as_can_be() {
    check(60, (any::<u64>(), 2u64..5, any::<bool>()), |(seed, m, near)| {
        let rng = &mut ChaCha8Rng::seed_from_u64(seed);
        let mut series = Series::default();
        let (text, grouping) = (m.to_string(), if near { "near" } else { "random" });
        let given = [("m", text.as_str()), ("grouping", grouping)];
        for step in 0..10 {
            let (mut present, new) =
                series.next(if step == 0 { 30 } else { rng.random_range(0..12) }, rng);
            let lacking = lacking(&series, &present);
            let counts = tally(new.iter().map(|&p| series.people[p].value));
            let best = fewest(&lacking, &counts, m);
            let survivors = present.clone();
            present.extend(new);
            present.shuffle(rng);
            let made = series.publish(&present, "m-invariance", &given, seed + step);
            prop_assert_eq!(made.is_ok(), best.is_some(), "{:?}", made);
            prop_assert!(best.is_some() || !eligible(&counts, m));
            if let Err(reasons) = made {
                held_back(&reasons, &lacking, &counts, m)?;
                if survivors.is_empty() {
                    return Ok(());
                }
                // Those who were published before can always be again.
                prop_assert!(
                    series.publish(&survivors, "m-invariance", &given, seed + step).is_ok()
                );
            } else if let Some(best) = best {
                let published = series.releases.last().expect("just published");
                prop_assert_eq!(published.counterfeits.iter().sum::<u64>(), best);
                prop_assert!(
                    !eligible(&counts, m) || best <= straightforward(&lacking, &counts, m)
                );
            }
        }
        invariant(&series, m)
    });
}

/// The refusal says how many people would have to be held back, and no fewer suffice.
fn held_back(reasons: &[Failure], lacking: &[(Vec<u32>, Vec<u64>)], new: &[u64], m: u64) -> Law {
    let mut ways: Vec<(Vec<u64>, u64)> = vec![(Vec::new(), 0)];
    for &n in new {
        let fewer = |(kept, out): &(Vec<u64>, u64)| {
            let (kept, out) = (kept.clone(), *out);
            (0..=n).map(move |less| ([&kept[..], &[n - less]].concat(), out + less))
        };
        ways = ways.iter().flat_map(fewer).collect();
    }
    ways.sort_by_key(|way| way.1);
    let least =
        ways.iter().find(|(kept, _)| fewest(lacking, kept, m).is_some()).expect("nobody at all").1;
    let said = reasons[0].to_string();
    prop_assert!(said.contains(&format!("hold back {least} of the")), "{}: {}", least, said);
    let largest = (2..m).rev().find(|&m| fewest(lacking, new, m).is_some());
    prop_assert!(
        largest.is_none_or(|l| said.contains(&format!("at most m = {l}"))),
        "{:?}: {}",
        largest,
        said
    );
    Ok(())
}

/// Groups of at least m different values, one of each, and everybody always among the same ones.
fn invariant(series: &Series, m: u64) -> Law {
    let mut signatures: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
    for published in &series.releases {
        for (group, values) in (0u32..).zip(&published.values) {
            let members: Vec<usize> =
                published.group_of.iter().filter(|(_, g)| **g == group).map(|(p, _)| *p).collect();
            prop_assert!(
                values.len() as u64 >= m && values.iter().all(|&(_, n)| n == 1),
                "{:?}",
                values
            );
            prop_assert!(!members.is_empty(), "a group of counterfeits alone");
            prop_assert_eq!(
                members.len() as u64 + published.counterfeits[group as usize],
                values.len() as u64
            );
            let own: BTreeSet<u32> = members.iter().map(|&p| series.people[p].value).collect();
            prop_assert_eq!(own.len(), members.len());
            let signature: Vec<u32> = values.iter().map(|&(v, _)| v).collect();
            for p in members {
                prop_assert!(signature.contains(&series.people[p].value));
                let before = signatures.entry(p).or_insert_with(|| signature.clone());
                prop_assert_eq!(&signature, before, "another signature");
            }
        }
    }
    Ok(())
}

/// Nobody's value is believed with more than 1/m, whatever was published: by maximum entropy over
/// ten releases, and by the share of worlds.
#[test]
fn m_invariance_bounds_every_belief() {
    check(24, (any::<u64>(), 2u64..5), |(seed, m)| {
        let rng = &mut ChaCha8Rng::seed_from_u64(seed);
        let mut series = Series::default();
        let text = m.to_string();
        for step in 0..10 {
            let (mut present, new) = series.next(if step == 0 { 24 } else { 8 }, rng);
            let old = present.clone();
            present.extend(new);
            if series.publish(&present, "m-invariance", &[("m", &text)], seed).is_err()
                && !old.is_empty()
            {
                series
                    .publish(&old, "m-invariance", &[("m", &text)], seed)
                    .expect("possible without newcomers");
            }
        }
        if series.releases.is_empty() {
            return Ok(());
        }
        let (evidence, everybody) = series.evidence(&series.releases);
        let found = infer(&evidence, WORK, &|_, _| true).expect("there is a world");
        for (kind, &p) in everybody.iter().enumerate() {
            let (release, group) = series.last_seen(p).expect("was there");
            let even = 1.0 / series.releases[release].values[group as usize].len() as f64;
            for (_, belief) in found.beliefs.values(&evidence, kind as u32) {
                prop_assert!(
                    (belief - even).abs() < 1e-7 && even <= 1.0 / m as f64,
                    "{} is not {}",
                    belief,
                    even
                );
            }
        }
        let few = &series.releases[series.releases.len().saturating_sub(2)..];
        let (evidence, everybody) = series.evidence(few);
        let possible = vec![true; evidence.outcomes().len()];
        let options = worlds::Options { budget: 0, ..worlds::Options::default() };
        let shares =
            worlds(&evidence, &possible, &options, &|_, _| true).expect("there are worlds");
        for kind in 0..everybody.len() as u32 {
            let outcomes = evidence.outcomes_of(kind);
            let even = 1.0 / outcomes.len() as f64;
            for outcome in outcomes.filter(|&o| shares.knows(o)) {
                prop_assert!((shares.probability[outcome as usize] - even).abs() < 1e-9);
            }
        }
        Ok(())
    });
}

/// S4-15: if everybody who leaves is replaced by a newcomer of the same value, all releases
/// together tell what one tells.
#[test]
fn history_guided_with_every_place_filled_tells_nothing_new() {
    check(40, (any::<u64>(), 2u64..5), |(seed, l)| {
        let rng = &mut ChaCha8Rng::seed_from_u64(seed);
        let mut series = Series::default();
        let text = l.to_string();
        let given = [("l", text.as_str())];
        let first: Vec<usize> = (0..28).map(|i| series.arrive(i % VALUES, rng)).collect();
        prop_assert!(series.publish(&first, "history-guided", &given, seed).is_ok());
        for step in 1..6u64 {
            let before: Vec<usize> =
                series.releases[step as usize - 1].group_of.keys().copied().collect();
            let (mut present, left): (Vec<usize>, Vec<usize>) =
                before.iter().partition(|_| rng.random_bool(0.7));
            let newcomers: Vec<u32> = left.iter().map(|&p| series.people[p].value).collect();
            present.extend(newcomers.into_iter().map(|v| series.arrive(v, rng)));
            if step == 3 {
                // More than there are places: new groups.
                present.extend((0..VALUES).map(|v| series.arrive(v, rng)));
            }
            prop_assert!(series.publish(&present, "history-guided", &given, seed + step).is_ok());
        }
        // Groups that everybody left at once are gone and tell nothing; their replacements may form
        // groups elsewhere.
        let newest = series.releases.last().expect("six of them");
        let (all, everybody) = series.evidence(&series.releases);
        let together = infer(&all, WORK, &|_, _| true).expect("there is a world").beliefs;
        let (mut joint, mut alone) = (0.0, 0.0);
        for (kind, p) in (0u32..).zip(&everybody) {
            let Some(&group) = newest.group_of.get(p) else { continue };
            let values = &newest.values[group as usize];
            let size: u64 = values.iter().map(|(_, n)| n).sum();
            let expected: Vec<(u32, f64)> =
                values.iter().map(|&(v, n)| (v, n as f64 / size as f64)).collect();
            let found: Vec<(u32, f64)> = together.values(&all, kind).collect();
            for ((v, p), (w, q)) in found.iter().zip(&expected) {
                prop_assert!(v == w && (p - q).abs() < 1e-9, "{:?} is not {:?}", found, expected);
            }
            joint += found.iter().map(|&(_, p)| entropy_of(p)).sum::<f64>();
            alone += expected.iter().map(|&(_, p)| entropy_of(p)).sum::<f64>();
        }
        prop_assert!((joint - alone).abs() < 1e-7, "{} is not {}", joint, alone);
        Ok(())
    });
}

/// Whatever comes and goes: people of the newest release stay together, groups stay ℓ-diverse, and
/// nobody who replaces somebody has another value.
#[test]
fn history_guided_keeps_groups() {
    check(80, (any::<u64>(), 2u64..4, any::<bool>()), |(seed, l, near)| {
        let rng = &mut ChaCha8Rng::seed_from_u64(seed);
        let mut series = Series::default();
        let (text, grouping) = (l.to_string(), if near { "near" } else { "random" });
        let given = [("l", text.as_str()), ("grouping", grouping)];
        for step in 0..8u64 {
            let (mut present, new) =
                series.next(if step == 0 { 30 } else { rng.random_range(0..12) }, rng);
            present.extend(new);
            let (releases, before) =
                (series.releases.len(), series.releases.last().map(|r| r.group_of.clone()));
            if series.publish(&present, "history-guided", &given, seed + step).is_err() {
                continue;
            }
            let published = &series.releases[releases];
            for values in &published.values {
                let size: u64 = values.iter().map(|(_, n)| n).sum();
                prop_assert!(values.iter().all(|(_, n)| n * l <= size), "{:?}", values);
            }
            for (p, q) in before.iter().flatten().zip(before.iter().flatten().skip(1)) {
                let now = |p: &usize| published.group_of.get(p);
                if let (Some(a), Some(b)) = (now(p.0), now(q.0)) {
                    prop_assert!(p.1 != q.1 || a == b, "people of one group were parted");
                }
            }
        }
        Ok(())
    });
}

/// What an adversary with a register finds: values that stand for nobody are not hers to give away.
#[test]
fn counterfeits_are_strangers_to_an_adversary() {
    let rng = &mut ChaCha8Rng::seed_from_u64(1);
    let mut series = Series::default();
    let first: Vec<usize> = (0..3).map(|v| series.arrive(v, rng)).collect();
    // Told apart by their quasi-identifiers.
    (0..3).for_each(|p| series.people[p].quasi = [p as u32, 0]);
    series.publish(&first, "m-invariance", &[("m", "3")], 1).expect("three values");
    series.publish(&first[..2], "m-invariance", &[("m", "3")], 1).expect("with a counterfeit");
    let second = &series.releases[1];
    assert_eq!(
        (second.release.records(), &second.release.counterfeits[..], &second.values[0].len()),
        (2, &[1][..], &3)
    );
    let column = |name: &str, of: &dyn Fn(&Person) -> u32| RegisterColumn {
        name: name.into(),
        texts: (0..4).map(|v| format!("{v:05}")).collect(),
        codes: series.people.iter().map(of).collect(),
    };
    let columns = vec![column("a", &|p| p.quasi[0]), column("b", &|p| p.quasi[1])];
    let register = Register::new(columns).expect("columns of one length");
    for membership in [Membership::Members, Membership::Population] {
        let knowledge =
            Knowledge { register: &register, membership, told: Vec::new(), apart: None };
        let releases =
            series.releases.iter().map(|r| ("r".to_owned(), r.release.clone())).collect();
        let scene =
            Scene::new(releases, None, Some(&knowledge), 1).unwrap_or_else(|e| panic!("{e}"));
        let evidence = scene.evidence().expect("groups");
        let found = infer(&evidence, WORK, &|_, _| true).expect("there is a world");
        for kind in 0..3 {
            // In a population somebody may be in no release; here nobody is.
            let beliefs: Vec<f64> = found
                .beliefs
                .values(&evidence, kind)
                .map(|(_, p)| p)
                .filter(|p| *p > 0.0)
                .collect();
            assert!(
                beliefs.len() == 3 && beliefs.iter().all(|p| (p - 1.0 / 3.0).abs() < 1e-9),
                "{beliefs:?}"
            );
        }
    }
}

/// People of one earlier group stay together, whoever comes and leaves; if nobody does, nothing
/// more is learnt.
#[test]
fn mondrian_keeps_groups_together() {
    check(80, (any::<u64>(), 2u64..5), |(seed, k)| {
        let rng = &mut ChaCha8Rng::seed_from_u64(seed);
        let mut series = Series::default();
        let keep = [("keep", "groups")];
        let (_, present) = series.next(40, rng);
        series
            .publish_with(&present, &[k_anonymity(2)], "mondrian", &keep, seed)
            .expect("enough people");
        let alone = series.beliefs();
        series
            .publish_with(&present, &[k_anonymity(k)], "mondrian", &keep, seed)
            .expect("enough people");
        for (before, after) in alone.iter().zip(series.beliefs()) {
            prop_assert!(
                before.iter().zip(&after).all(|(a, b)| (a - b).abs() < 1e-7),
                "{:?} {:?}",
                before,
                after
            );
        }
        for _ in 0..3 {
            let (mut present, new) = series.next(10, rng);
            present.extend(new);
            let before: Vec<_> = present.iter().map(|&p| series.last_seen(p)).collect();
            if series.publish_with(&present, &[k_anonymity(k)], "mondrian", &keep, seed).is_err() {
                prop_assert!((present.len() as u64) < k);
                return Ok(());
            }
            let now = &series.releases.last().expect("just published").group_of;
            let mut place: BTreeMap<(usize, u32), u32> = BTreeMap::new();
            for (p, seen) in present.iter().zip(before) {
                let Some(seen) = seen else { continue };
                prop_assert_eq!(
                    *place.entry(seen).or_insert(now[p]),
                    now[p],
                    "a group was divided"
                );
            }
        }
        Ok(())
    });
}

/// With a past as without one: everything that is promised is kept, or it is refused.
#[test]
fn every_model_is_kept_or_refused_with_a_past() {
    check(160, (any::<u64>(), draws(), 2u64..4, any::<bool>()), |(seed, draws, m, guided)| {
        let rng = &mut ChaCha8Rng::seed_from_u64(seed);
        let (name, parameter) =
            if guided { ("history-guided", "l") } else { ("m-invariance", "m") };
        let mut series = Series::default();
        let (_, new) = series.next(24, rng);
        let text = m.to_string();
        if series.publish(&new, name, &[(parameter, &text)], seed).is_err() {
            return Ok(());
        }
        let (mut present, new) = series.next(14, rng);
        present.extend(new);
        let (mut table, _) = series.table(&present);
        let wishes: Vec<String> =
            (0..3).map(|v| format!("{v:05}")).chain([String::new()]).collect();
        let texts: Vec<&str> = wishes.iter().map(String::as_str).collect();
        let (guard, leaves) = encode_guard("guard", &texts, &[]);
        let codes = (0..table.rows()).map(|row| leaves[row % leaves.len()]).collect();
        table.sensitive.push(guard);
        table.sensitive_codes.push(codes);
        table.join_sensitive();
        let goal = requirements(&draws, &table);
        let entry = ALGORITHMS.iter().find(|e| e.name == name).expect("is in the catalogue");
        let how =
            algorithm(entry, &BTreeMap::from([(parameter.to_owned(), text)])).expect("a count");
        let Outcome::Made(made) = make(&table, &*how, &goal, seed, &|_, _| true) else {
            return Ok(());
        };
        everybody_is_somewhere(&table, &made.form)?;
        for judgement in judge(&made.release, &goal).expect("it was judged before") {
            prop_assert!(judgement.holds);
        }
        for (group, class) in made.release.classes.iter().enumerate() {
            let shown = class.count + made.release.counterfeits_in(group);
            prop_assert_eq!(class.histograms[0].total(), shown);
        }
        Ok(())
    });
}
