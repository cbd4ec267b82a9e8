//! Why something can be inferred: the fewest published facts that give it, and how.
//!
//! A witness is a handful of facts and whole multiples of them that add up to the inference, so
//! that anybody can check it with pencil and paper ([`verify`]). It is found by linear programming
//! on the facts around a person, ever more of them until they are enough, and then fewer until none
//! can be spared. What follows only because people are whole is shown by trying all worlds of the
//! few facts, if there are not too many.
//!
//! Exact linear programs can take very long, so every question has a limit on its work, counted in
//! steps.

use super::effort::Effort;
use super::lp::{Certificate, Party, Program, Solution};
use super::{Evidence, Forced, Reasons};
use crate::exact::{Fraction, Ratio};
use crate::progress::Watch;
use dashu_int::IBig;
use hashbrown::HashSet;
use std::collections::VecDeque;

/// Something said about everybody of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// Nobody has this value, in any world.
    Impossible(u32),
    /// Everybody has this value, in every world.
    Certain(u32),
    /// Whoever believes all facts gives this value at most this probability, of each of these
    /// people.
    AtMost(u32, Ratio),
    /// Whoever believes all facts gives this value at least this probability, of each of these
    /// people.
    AtLeast(u32, Ratio),
}

impl Claim {
    /// Code of the value that it is about.
    pub fn value(self) -> u32 {
        match self {
            Claim::Impossible(v)
            | Claim::Certain(v)
            | Claim::AtMost(v, _)
            | Claim::AtLeast(v, _) => v,
        }
    }
}

/// What a witness shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conclusion {
    /// A claim about a kind.
    About {
        /// Number of the kind.
        kind: u32,
        /// The claim.
        claim: Claim,
    },
    /// The facts contradict each other: no world meets them all.
    NoWorld,
}

/// Facts that are enough for a conclusion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Witness {
    /// What they give.
    pub conclusion: Conclusion,
    /// The facts, rising.
    pub facts: Vec<u32>,
    /// How they give it.
    pub proof: Proof,
    /// Whether the proof fails without any one of the facts. If not, the work ran out before that
    /// was tried.
    pub irreducible: bool,
    /// Whether it was shown that no fewer facts give it this way. If not, there may be fewer.
    pub smallest: bool,
}

/// How facts give a conclusion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proof {
    /// By adding and subtracting them: the multiples are all different from zero.
    Combination(Certificate),
    /// Not by any sum: all ways to deal whole people were tried.
    Exhaustion,
}

/// Why there is no witness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unexplained {
    /// It does not follow from the evidence.
    Untrue,
    /// Neither a witness nor the opposite was found within the limits of the search.
    TooLarge,
}

/// Facts of the largest linear program whose bounds are told.
const BOUNDED_FACTS: usize = 150;
/// Facts of the largest linear program that is tried.
const MOST_FACTS: usize = 1024;
/// Sets of facts that are tried to prove that none is smaller.
const MOST_SETS: usize = 10_000;
/// Facts of the largest program that is asked for a proof by few.
const THRIFTY_FACTS: usize = 256;
/// From so many facts on, they are taken away in one order only.
const MANY_FACTS: usize = 48;
/// Steps when all worlds of a few facts are tried.
const MOST_STEPS: u64 = 300_000;
/// Work that one question may take, unless another limit is set: some twenty seconds.
const WORK: u64 = 1_000_000_000;

/// Finds witnesses in one evidence.
pub struct Explainer<'a> {
    program: Program<'a>,
    /// Work that each question may take.
    work: u64,
    /// Cancels the search.
    watch: Option<&'a Watch<'a>>,
}

/// A conclusion to be proved.
struct Goal<'e> {
    conclusion: Conclusion,
    /// The outcomes that have the value, if it is about a kind.
    outcomes: Vec<u32>,
    /// Whether worlds are tried instead of sums.
    whole: bool,
    /// What proving it may still cost.
    effort: &'e Effort<'e>,
}

impl<'a> Explainer<'a> {
    /// Prepares for questions about this evidence.
    pub fn new(evidence: &'a Evidence) -> Explainer<'a> {
        Explainer::within(evidence, WORK)
    }

    /// The same with another limit on the work of each question, in the steps of [`Effort`].
    pub fn within(evidence: &'a Evidence, work: u64) -> Explainer<'a> {
        Explainer { program: Program::new(evidence), work, watch: None }
    }

    /// The same, and finds nothing more once it is cancelled.
    pub fn watched(self, watch: &'a Watch<'a>) -> Explainer<'a> {
        Explainer { watch: Some(watch), ..self }
    }

    /// The evidence with an index.
    pub(super) fn program(&self) -> &Program<'a> {
        &self.program
    }

    /// The fewest facts that give a claim about a kind. If candidates are given, they are tried
    /// first. Evidence that contradicts itself around the person gives [`Conclusion::NoWorld`]
    /// instead.
    pub fn why(
        &self,
        kind: u32,
        claim: Claim,
        candidates: Option<&[u32]>,
    ) -> Result<Witness, Unexplained> {
        if self.program.evidence().outcomes_of(kind).is_empty() {
            return Ok(Witness::nobody(kind));
        }
        let effort = Effort::watched(self.work, self.watch);
        let goal = Goal::new(self.program.evidence(), Conclusion::About { kind, claim }, &effort);
        self.explain(&goal, &[kind], candidates)
    }

    /// The same; where too many facts have to do with the kind, among those that excluded what the
    /// claim excludes.
    pub fn because(
        &self,
        forced: &Forced,
        kind: u32,
        claim: Claim,
    ) -> Result<Witness, Unexplained> {
        match self.why(kind, claim, None) {
            Err(Unexplained::TooLarge) => {
                let mut reasons = Reasons::new(self.program.evidence(), forced);
                reasons.watch = self.watch;
                self.why(kind, claim, Some(&self.excluding(&reasons, kind, claim)))
            }
            found => found,
        }
    }

    /// Facts that together exclude what a claim excludes, as they were found: enough, and not
    /// always the fewest.
    pub fn excluding(&self, reasons: &Reasons<'_>, kind: u32, claim: Claim) -> Vec<u32> {
        let evidence = self.program.evidence();
        let gone = |o: &u32| {
            let value = evidence.outcomes()[*o as usize].value;
            match claim {
                Claim::Certain(v) => value != v,
                _ => value == claim.value(),
            }
        };
        let outcomes = evidence.outcomes_of(kind).filter(gone);
        let mut facts: Vec<u32> = outcomes.filter_map(|o| reasons.excluded(o)).flatten().collect();
        facts.sort_unstable();
        facts.dedup();
        facts
    }

    /// Whether it can be shown that nobody has this outcome, which is one of the kind's.
    pub(super) fn excludes(&self, kind: u32, outcome: u32, effort: &Effort<'_>) -> bool {
        let claim = Claim::Impossible(self.program.evidence().outcomes()[outcome as usize].value);
        let conclusion = Conclusion::About { kind, claim };
        let goal = Goal { conclusion, outcomes: vec![outcome], whole: false, effort };
        self.explain(&goal, &[kind], None).is_ok_and(|w| w.conclusion != Conclusion::NoWorld)
    }

    /// The least and the most probability that any belief can give a value of one person of a kind.
    /// Nothing if that takes too many facts, or too much work.
    ///
    /// Of n people who are alike, from L to U have the value (see [`Explainer::people_with`]). A
    /// belief may give all of U to one of them, up to 1, or all of L to the others, up to n − 1.
    pub fn bounds(&self, kind: u32, value: u32) -> Option<(Ratio, Ratio)> {
        let (least, most) = self.people_with(kind, value)?;
        let one = Fraction::whole(1);
        let others =
            Fraction::whole(u64::from(self.program.evidence().kinds()[kind as usize].people) - 1);
        let least = if least > others { least.less(&others) } else { Fraction::whole(0) };
        least.ratio().zip(if most < one { most } else { one }.ratio())
    }

    /// The least and the most people of a kind who have a value, in any belief. Nothing if that
    /// takes too many facts, or too much work.
    pub fn people_with(&self, kind: u32, value: u32) -> Option<(Fraction, Fraction)> {
        let (facts, complete) = self.near(&[kind], None, BOUNDED_FACTS);
        if !complete {
            return None;
        }
        let evidence = self.program.evidence();
        let outcomes: Vec<u32> = evidence
            .outcomes_of(kind)
            .filter(|&o| evidence.outcomes()[o as usize].value == value)
            .collect();
        let effort = Effort::watched(self.work, self.watch);
        let bound = |solution: Solution| match solution {
            Solution::Bound(bound, _) => Some(bound),
            Solution::Contradiction(_) => None,
        };
        let least = bound(self.program.minimum(&facts, &outcomes, &effort)?)?;
        Some((least, bound(self.program.maximum(&facts, &outcomes, &effort)?)?))
    }

    /// The fewest facts that contradict each other. If candidates are given, they are tried first.
    pub fn contradiction(&self, candidates: Option<&[u32]>) -> Result<Witness, Unexplained> {
        let evidence = self.program.evidence();
        let effort = Effort::watched(self.work, self.watch);
        let goal = Goal::new(evidence, Conclusion::NoWorld, &effort);
        let kinds = 0..evidence.kinds().len() as u32;
        if let Some(kind) = kinds.clone().find(|&k| evidence.outcomes_of(k).is_empty()) {
            return Ok(Witness::nobody(kind));
        }
        if let Some(fact) = self.broken() {
            return self.finish(&goal, vec![fact]).ok_or(Unexplained::TooLarge);
        }
        if let Some(witness) = candidates.and_then(|c| self.finish(&goal, c.to_vec())) {
            return Ok(witness);
        }
        let mut met = HashSet::new();
        let mut verdict = Unexplained::Untrue;
        for kind in kinds {
            if effort.is_spent() {
                return Err(Unexplained::TooLarge);
            }
            if met.contains(&kind) {
                continue;
            }
            match self.explain(&goal, &[kind], None) {
                Ok(witness) => return Ok(witness),
                Err(Unexplained::TooLarge) => verdict = Unexplained::TooLarge,
                Err(Unexplained::Untrue) => {
                    // Its part was searched as a whole.
                    let (facts, _) = self.near(&[kind], None, usize::MAX);
                    met.extend(facts.iter().flat_map(|&f| self.program.kinds_of(f)));
                }
            }
        }
        Err(verdict)
    }

    /// A fact that cannot hold whatever the others say.
    fn broken(&self) -> Option<u32> {
        let evidence = self.program.evidence();
        let people = |kinds: &[u32]| {
            kinds.iter().map(|&k| u64::from(evidence.kinds()[k as usize].people)).sum::<u64>()
        };
        (0..evidence.facts().len() as u32).find(|&f| {
            let mut kinds = self.program.kinds_of(f);
            let most = people(&kinds);
            kinds.retain(|&k| evidence.outcomes_of(k).all(|o| evidence.facts_of(o).contains(&f)));
            most < evidence.facts()[f as usize].low
                || people(&kinds) > evidence.facts()[f as usize].high
        })
    }

    fn explain(
        &self,
        goal: &Goal,
        around: &[u32],
        candidates: Option<&[u32]>,
    ) -> Result<Witness, Unexplained> {
        if let Some(witness) = candidates.and_then(|c| self.finish(goal, c.to_vec())) {
            return Ok(witness);
        }
        let mut most = 0;
        loop {
            most = if most == 0 { 4 } else { most * 2 };
            // Facts about the same value are most often enough, and make a smaller program.
            if let Some(value) = goal.value() {
                let (facts, _) = self.near(around, Some(value), most);
                if let Some(witness) = self.finish(goal, facts) {
                    return Ok(witness);
                }
            }
            let (facts, complete) = self.near(around, None, most);
            if let Some(witness) = self.finish(goal, facts.clone()) {
                return Ok(witness);
            }
            if complete {
                return self.exhaust(goal, facts);
            }
            if most >= MOST_FACTS || goal.effort.is_spent() {
                return Err(Unexplained::TooLarge);
            }
        }
    }

    /// What no sum of all facts around a person gives may still hold of whole people.
    fn exhaust(&self, goal: &Goal, facts: Vec<u32>) -> Result<Witness, Unexplained> {
        let whole = Goal { whole: true, outcomes: goal.outcomes.clone(), ..*goal };
        match goal.conclusion {
            Conclusion::About { claim: Claim::AtMost(..) | Claim::AtLeast(..), .. } => {
                Err(Unexplained::Untrue)
            }
            _ => match no_world_against(&self.program, &whole, &facts) {
                Some(true) => self.finish(&whole, facts).ok_or(Unexplained::TooLarge),
                Some(false) => Err(Unexplained::Untrue),
                None => Err(Unexplained::TooLarge),
            },
        }
    }

    /// Facts around some kinds, the nearest first, and whether these are all that have to do with
    /// them; if a value is given, by way of it only.
    fn near(&self, kinds: &[u32], value: Option<u32>, most: usize) -> (Vec<u32>, bool) {
        let evidence = self.program.evidence();
        let mut queue: VecDeque<u32> = kinds.iter().copied().collect();
        let mut met: HashSet<u32> = kinds.iter().copied().collect();
        let (mut facts, mut seen) = (Vec::new(), HashSet::new());
        while let Some(kind) = queue.pop_front() {
            let of_value =
                |o: &u32| value.is_none_or(|v| evidence.outcomes()[*o as usize].value == v);
            for &fact in
                evidence.outcomes_of(kind).filter(of_value).flat_map(|o| evidence.facts_of(o))
            {
                if !seen.insert(fact) {
                    continue;
                }
                if facts.len() == most {
                    return (facts, false);
                }
                facts.push(fact);
                queue.extend(self.program.kinds_of(fact).into_iter().filter(|&k| met.insert(k)));
            }
        }
        (facts, true)
    }

    /// The proof of a goal by some facts.
    fn prove(&self, goal: &Goal, facts: &[u32]) -> Option<Proof> {
        if goal.whole {
            return (no_world_against(&self.program, goal, facts) == Some(true))
                .then_some(Proof::Exhaustion);
        }
        let solution = if goal.is_lower() {
            self.program.minimum(facts, &goal.outcomes, goal.effort)
        } else {
            self.program.maximum(facts, &goal.outcomes, goal.effort)
        };
        self.proof(goal, solution?)
    }

    /// A proof by few of some facts, if one is found.
    fn prove_thriftily(&self, goal: &Goal, facts: &[u32]) -> Option<Proof> {
        if goal.whole {
            return None;
        }
        let solution = if goal.is_lower() {
            self.program.thrifty_minimum(facts, &goal.outcomes, goal.effort)
        } else {
            self.program.thrifty_maximum(facts, &goal.outcomes, goal.effort)
        };
        self.proof(goal, solution?)
    }

    fn proof(&self, goal: &Goal, solution: Solution) -> Option<Proof> {
        let (Solution::Bound(_, certificate) | Solution::Contradiction(certificate)) = solution;
        goal.met(&certificate, self.program.evidence()).then_some(Proof::Combination(certificate))
    }

    /// The witness that some facts contain, if they give the goal.
    fn finish(&self, goal: &Goal, facts: Vec<u32>) -> Option<Witness> {
        let proof = self.prove(goal, &facts)?;
        if matches!(&proof, Proof::Combination(c) if c.times.is_zero())
            && goal.conclusion != Conclusion::NoWorld
        {
            return self.finish(
                &Goal::new(self.program.evidence(), Conclusion::NoWorld, goal.effort),
                facts,
            );
        }
        let (mut facts, mut proof) = self.shrink(goal, facts, proof);
        let irreducible = !goal.effort.is_spent();
        let fewer = self.fewer(goal, facts.len());
        if let Some(Some((fewer, better))) = &fewer {
            (facts, proof) = (fewer.clone(), better.clone());
        }
        facts.sort_unstable();
        Some(Witness {
            conclusion: goal.conclusion,
            facts,
            proof,
            irreducible,
            smallest: fewer.is_some(),
        })
    }

    /// Takes away facts until none can be spared, in several orders; the smallest set that is left.
    fn shrink(&self, goal: &Goal, facts: Vec<u32>, proof: Proof) -> (Vec<u32>, Proof) {
        let facts = if facts.len() > THRIFTY_FACTS { proof.used(&facts) } else { facts };
        let proof = self.prove_thriftily(goal, &facts).unwrap_or(proof);
        let far_first = |facts: &[u32]| facts.iter().rev().copied().collect::<Vec<u32>>();
        let mut best = self.filter(goal, far_first(&proof.used(&facts)), proof.clone());
        if facts.len() < MANY_FACTS {
            let count = |f: &u32| self.program.evidence().facts()[*f as usize].high;
            let (mut large_first, mut small_first) = (far_first(&facts), far_first(&facts));
            large_first.sort_by_key(|f| std::cmp::Reverse(count(f)));
            small_first.sort_by_key(count);
            for order in [far_first(&facts), large_first, small_first, facts] {
                let other = self.filter(goal, order, proof.clone());
                if other.0.len() < best.0.len() {
                    best = other;
                }
            }
        }
        best
    }

    /// Takes away each fact that can be spared, one after another, from facts and a proof by them.
    fn filter(&self, goal: &Goal, mut facts: Vec<u32>, mut proof: Proof) -> (Vec<u32>, Proof) {
        let mut at = 0;
        while at < facts.len() && !goal.effort.is_spent() {
            let mut fewer = facts.clone();
            fewer.remove(at);
            match self.prove(goal, &fewer) {
                // Those before could not be spared, so that they are used.
                Some(better) => (facts, proof) = (better.used(&fewer), better),
                None => at += 1,
            }
        }
        (facts, proof)
    }

    /// The smallest set of fewer than `most` facts that gives the goal, if one does; `None` if
    /// there are too many sets to tell. Facts of a smallest set hang together and with the person:
    /// what does not adds nothing.
    #[allow(clippy::type_complexity)]
    fn fewer(&self, goal: &Goal, most: usize) -> Option<Option<(Vec<u32>, Proof)>> {
        let evidence = self.program.evidence();
        let facts_of =
            |kind: u32| evidence.outcomes_of(kind).flat_map(|o| evidence.facts_of(o)).copied();
        let mut tried = 0;
        let mut sets: HashSet<Vec<u32>> = HashSet::from([Vec::new()]);
        for size in 0..most {
            let mut sorted: Vec<&Vec<u32>> = sets.iter().collect();
            sorted.sort_unstable();
            if let Some(found) =
                sorted.into_iter().find_map(|set| Some((set.clone(), self.prove(goal, set)?)))
            {
                return Some(Some(found));
            }
            if goal.effort.is_spent() {
                return None;
            }
            if size + 1 == most {
                break;
            }
            let mut next = HashSet::new();
            for set in &sets {
                let mut around: Vec<u32> = match (set.is_empty(), goal.conclusion) {
                    (true, Conclusion::About { kind, .. }) => facts_of(kind).collect(),
                    (true, Conclusion::NoWorld) => (0..evidence.facts().len() as u32).collect(),
                    _ => set
                        .iter()
                        .flat_map(|&f| self.program.kinds_of(f))
                        .flat_map(facts_of)
                        .collect(),
                };
                around.sort_unstable();
                around.dedup();
                for fact in around.into_iter().filter(|f| !set.contains(f)) {
                    let mut larger = set.clone();
                    larger.insert(larger.partition_point(|&f| f < fact), fact);
                    next.insert(larger);
                    if tried + next.len() > MOST_SETS {
                        return None;
                    }
                }
            }
            tried += next.len();
            sets = next;
        }
        Some(None)
    }
}

impl Witness {
    /// People of a kind can have no value at all.
    fn nobody(kind: u32) -> Witness {
        let proof = Proof::Combination(Certificate::nobody(kind));
        Witness {
            conclusion: Conclusion::NoWorld,
            facts: Vec::new(),
            proof,
            irreducible: true,
            smallest: true,
        }
    }
}

impl<'e> Goal<'e> {
    fn new(evidence: &Evidence, conclusion: Conclusion, effort: &'e Effort<'e>) -> Goal<'e> {
        let outcomes = match conclusion {
            Conclusion::About { kind, claim } => {
                let has = |o: &u32| evidence.outcomes()[*o as usize].value == claim.value();
                evidence.outcomes_of(kind).filter(has).collect()
            }
            Conclusion::NoWorld => Vec::new(),
        };
        Goal { conclusion, outcomes, whole: false, effort }
    }

    /// Whether it is about how many people have an outcome at least.
    fn is_lower(&self) -> bool {
        matches!(
            self.conclusion,
            Conclusion::About { claim: Claim::Certain(_) | Claim::AtLeast(..), .. }
        )
    }

    fn value(&self) -> Option<u32> {
        match self.conclusion {
            Conclusion::About { claim, .. } => Some(claim.value()),
            Conclusion::NoWorld => None,
        }
    }

    /// Whether the bound of a certificate is enough. A contradiction is enough for everything.
    fn met(&self, certificate: &Certificate, evidence: &Evidence) -> bool {
        let (bound, times, upper) =
            (certificate.bound(evidence), &certificate.times, certificate.upper);
        if times.is_zero() {
            return upper && bound < IBig::ZERO;
        }
        let Conclusion::About { kind, claim } = self.conclusion else { return false };
        let people = IBig::from(evidence.kinds()[kind as usize].people);
        match claim {
            // Fewer than one person is nobody, and more than all but one is everybody.
            Claim::Impossible(_) => upper && bound < *times,
            Claim::Certain(_) => !upper && bound > (people - 1) * times,
            // A belief may give all of the bound to one of the people, or leave it to the others.
            Claim::AtMost(_, share) => upper && bound * share.den() <= times * share.num(),
            Claim::AtLeast(_, share) => {
                !upper && (bound - (people - 1) * times) * share.den() >= times * share.num()
            }
        }
    }
}

impl Proof {
    /// Those of some facts that it uses, in the same order.
    fn used(&self, facts: &[u32]) -> Vec<u32> {
        match self {
            Proof::Combination(c) => {
                let uses = |f: &&u32| c.facts.binary_search_by_key(*f, |m| m.0).is_ok();
                facts.iter().filter(uses).copied().collect()
            }
            Proof::Exhaustion => facts.to_vec(),
        }
    }
}

/// Checks a witness: a combination by plain arithmetic, without the program that found it;
/// otherwise by trying the worlds of its facts once more.
pub fn verify(evidence: &Evidence, witness: &Witness) -> bool {
    let effort = Effort::new(MOST_STEPS);
    let mut goal = Goal::new(evidence, witness.conclusion, &effort);
    match &witness.proof {
        Proof::Combination(certificate) => {
            let facts = certificate.facts.iter().map(|m| m.0);
            facts.eq(witness.facts.iter().copied())
                && (certificate.times.is_zero() == (witness.conclusion == Conclusion::NoWorld))
                && certificate.verify(evidence, &goal.outcomes)
                && goal.met(certificate, evidence)
        }
        Proof::Exhaustion => {
            goal.whole = true;
            no_world_against(&Program::new(evidence), &goal, &witness.facts) == Some(true)
        }
    }
}

/// Whether no world meets these facts and yet not the goal; `None` if there are too many ways to
/// tell.
fn no_world_against(program: &Program, goal: &Goal, facts: &[u32]) -> Option<bool> {
    let evidence = program.evidence();
    let mut parties = program.parties(facts, &goal.outcomes);
    // The opposite of the goal is one more fact, that counts what is asked for.
    parties
        .iter_mut()
        .flat_map(|p| &mut p.columns)
        .filter(|c| c.1)
        .for_each(|c| c.0.push(facts.len() as u32));
    let opposite = match goal.conclusion {
        Conclusion::NoWorld => (0, u64::MAX),
        Conclusion::About { claim: Claim::Impossible(_), .. } => (1, u64::MAX),
        Conclusion::About { kind, .. } => {
            (0, u64::from(evidence.kinds()[kind as usize].people) - 1)
        }
    };
    let limits = facts
        .iter()
        .map(|&f| (evidence.facts()[f as usize].low, evidence.facts()[f as usize].high));
    let mut dealing = Dealing {
        limits: limits.chain([opposite]).collect(),
        counts: vec![0; facts.len() + 1],
        reach: vec![0; facts.len() + 1],
        steps: 0,
    };
    parties.iter().for_each(|p| dealing.reachable(p, |reach, n| *reach += n));
    let left = parties.first().map_or(0, |p| p.people);
    let found = dealing.deal(&parties, 0, left);
    // A last search that takes more than is left is still an answer.
    let _ = goal.effort.spend(dealing.steps);
    found.map(|found| !found)
}

/// A world in the making.
struct Dealing {
    /// Least and most of every fact.
    limits: Vec<(u64, u64)>,
    counts: Vec<u64>,
    /// People of the parties to come whom each fact may count.
    reach: Vec<u64>,
    steps: u64,
}

impl Dealing {
    fn reachable(&mut self, party: &Party, change: impl Fn(&mut u64, u64)) {
        let mut facts: Vec<u32> = party.columns.iter().flat_map(|c| c.0.iter().copied()).collect();
        facts.sort_unstable();
        facts.dedup();
        facts.iter().for_each(|&f| change(&mut self.reach[f as usize], party.people));
    }

    /// Whether the last `left` people of the first party, from a column on, and all of the others
    /// can be dealt outcomes.
    fn deal(&mut self, parties: &[Party], column: usize, left: u64) -> Option<bool> {
        self.steps += 1;
        if self.steps > MOST_STEPS {
            return None;
        }
        let Some(party) = parties.first() else {
            return Some(self.limits.iter().zip(&self.counts).all(|(l, &n)| l.0 <= n && n <= l.1));
        };
        let Some((facts, _)) = party.columns.get(column) else {
            if left > 0 {
                return Some(false);
            }
            self.reachable(party, |reach, n| *reach -= n);
            let short =
                (0..self.limits.len()).any(|f| self.counts[f] + self.reach[f] < self.limits[f].0);
            let rest = &parties[1..];
            let found = if short {
                Some(false)
            } else {
                self.deal(rest, 0, rest.first().map_or(0, |p| p.people))
            };
            self.reachable(party, |reach, n| *reach += n);
            return found;
        };
        let room = facts
            .iter()
            .map(|&f| self.limits[f as usize].1.saturating_sub(self.counts[f as usize]))
            .min();
        let most = room.map_or(left, |r| r.min(left));
        let least = if column + 1 == party.columns.len() { left } else { 0 };
        for n in (least..=most).rev() {
            facts.iter().for_each(|&f| self.counts[f as usize] += n);
            let found = self.deal(parties, column + 1, left - n);
            facts.iter().for_each(|&f| self.counts[f as usize] -= n);
            if found != Some(false) {
                return found;
            }
        }
        Some(false)
    }
}
