//! Why something can be inferred about a person: the published facts that give it.

use crate::answer::{
    Because, Believed, Between, Claimed, Explained, FactNote, LocatedIn, PossibleOutcome, Premise,
    ProofKind, VERSION,
};
use crate::attack::{AttackRequest, Material, SECONDS, read};
use crate::observer::{Phase, Timed};
use crate::publisher::Task;
use scumble::attack::{Naming, refused};
use scumble::catalogue::did_you_mean;
use scumble::exact::Ratio;
use scumble::failure::{Argument, Failure, Failures, Remedy};
use scumble::inference::sentences::Names;
use scumble::inference::witness::{
    Claim, Conclusion, Explainer, Proof, Unexplained, Witness, verify,
};
use scumble::inference::{Evidence, Exhausted, Inference, Located, Outcome, Source, WORK, infer};
use scumble::progress::Watch;

/// Explains what can be inferred about a person, named as in the register's column or by row. About
/// one value, if one is given.
pub(crate) fn why(
    person: &str,
    value: Option<&str>,
    options: Task<'_, AttackRequest>,
) -> Result<Explained, Failures> {
    let material = read(options)?;
    let scene = &material.scene;
    let crowd = scene.people()?;
    let row = find(person, &material)?;
    let kind = crowd.kind_of[row];
    options.publisher.observer.phase(Phase::Infer);
    let seconds = options.seconds.unwrap_or(SECONDS) as f64;
    let progress = Timed::new(options.publisher.observer, Some(seconds));
    let evidence = scene.evidence_unless(&Watch::new(&progress, 0))?;
    options.publisher.observer.go_on()?;
    let found = infer(&evidence, WORK, &progress);
    options.publisher.observer.go_on()?;
    let found = found.map_err(|c| refused(scene, &evidence, &c))?;
    options.publisher.observer.phase(Phase::Explain);
    let watch = Watch::timed(&progress, 0);
    let teller = Teller {
        evidence: &evidence,
        found: &found,
        explainer: Explainer::new(&evidence).watched(&watch),
        naming: Naming::new(scene),
    };
    let mut warnings = material.warnings.clone();
    warnings.extend(teller.limits(kind));
    let inferences = match value {
        Some(text) => {
            let code = scene.values.iter().position(|v| v == text).ok_or_else(|| {
                Failure::usage(
                    "unknown-value",
                    format!("`{text}` is no value of `{}` in any release", scene.attribute),
                )
                .hint(did_you_mean(text, scene.values.iter().map(String::as_str)))
            })?;
            teller.about(kind, code as u32, &mut warnings)
        }
        None => teller.everything(kind, &mut warnings),
    };
    options.publisher.observer.go_on()?;
    Ok(Explained {
        version: VERSION,
        person: (scene.name)(row),
        row: row as u64 + 1,
        alike: crowd.kinds[kind as usize].people,
        values: teller.believed(kind),
        inferences,
        warnings,
    })
}

/// The row of a person.
fn find(person: &str, material: &Material) -> Result<usize, Failure> {
    let rows = material.scene.people()?.kind_of.len();
    if let Some(names) = &material.names {
        let code = names.values.iter().position(|n| n == person);
        let row = code.and_then(|c| names.codes.iter().position(|&code| code as usize == c));
        return row.ok_or_else(|| {
            Failure::usage("unknown-person", "the register names nobody like that")
                .argument(Argument::Name)
                .remedy(
                    Remedy::words("names are written as in the column of ")
                        .and_give(Argument::Name),
                )
        });
    }
    let row = person.parse::<usize>().ok().filter(|&n| 1 <= n && n <= rows);
    row.map(|n| n - 1).ok_or_else(|| {
        Failure::usage(
            "unknown-person",
            format!("`{person}` is no row of the register, which has {rows}"),
        )
        .remedy(
            Remedy::words("give the number of the person's row, or ")
                .and_give(Argument::Name)
                .then(" and the name"),
        )
    })
}

struct Teller<'a> {
    evidence: &'a Evidence,
    found: &'a Inference,
    explainer: Explainer<'a>,
    naming: Naming<'a>,
}

impl Teller<'_> {
    fn is_unsettled(&self, kind: u32) -> bool {
        self.evidence
            .outcomes_of(kind)
            .any(|o| self.found.beliefs.unsettled.binary_search(&o).is_ok())
    }

    /// What was not found out about a kind, and why.
    fn limits(&self, kind: u32) -> Vec<String> {
        let within = |exhausted: Option<Exhausted>| match exhausted {
            Some(Exhausted::Time) => "before time was up",
            _ => "within its limit of work",
        };
        let mut told = Vec::new();
        let undecided = &self.found.forced.undecided;
        let open = self.evidence.outcomes_of(kind).filter(|o| undecided.binary_search(o).is_ok());
        let open = open.count();
        if self.found.forced.exhausted.is_some() && open > 0 {
            let within = within(self.found.forced.exhausted);
            told.push(format!(
                "{open} possibilities of this person were neither proven nor excluded {within}, and count as possible"
            ));
        }
        if self.is_unsettled(kind) {
            let (within, violation) =
                (within(self.found.beliefs.exhausted), self.found.beliefs.violation);
            told.push(format!(
                "the maximum-entropy belief did not settle {within}: what is told is the belief so far, which misses a count \
                 by {violation:.2e} people at most"
            ));
        }
        told
    }

    /// Everybody whom the facts of a witness count or may count, and whom it is about.
    fn premises(&self, witness: &Witness) -> Vec<Premise> {
        let touched = |kind: u32| {
            let about =
                matches!(witness.conclusion, Conclusion::About { kind: k, .. } if k == kind);
            let mut facts = self.evidence.outcomes_of(kind).flat_map(|o| self.evidence.facts_of(o));
            about || facts.any(|f| witness.facts.binary_search(f).is_ok())
        };
        let multiple = |kind: u32| match &witness.proof {
            Proof::Combination(c) => {
                c.kinds.iter().find(|(k, _)| *k == kind).map(|(_, n)| n.to_string())
            }
            Proof::Exhaustion => None,
        };
        let impossible =
            |kind: u32| self.evidence.outcomes_of(kind).is_empty() && multiple(kind).is_some();
        let kinds = (0..self.evidence.kinds().len() as u32)
            .filter(|&kind| touched(kind) || impossible(kind));
        kinds.map(|kind| self.premise(kind, witness, multiple(kind))).collect()
    }

    fn premise(&self, kind: u32, witness: &Witness, times: Option<String>) -> Premise {
        let place = |(release, place): (u32, Located)| LocatedIn {
            groups: place.groups.iter().map(|&g| self.naming.group(release, g)).collect(),
            may_be_absent: place.may_be_absent,
        };
        let outcome = |o: u32| {
            let value = self.evidence.outcomes()[o as usize].value;
            let counted = self.evidence.facts_of(o).iter();
            PossibleOutcome {
                value: (value != Outcome::UNKNOWN).then(|| self.naming.value(value)),
                counted_by: counted.filter_map(|f| witness.facts.binary_search(f).ok()).collect(),
            }
        };
        let by_sum = matches!(witness.proof, Proof::Combination(_));
        Premise {
            people: u64::from(self.evidence.kinds()[kind as usize].people),
            rows: self.naming.rows(kind).iter().map(|&row| u64::from(row) + 1).collect(),
            asked: matches!(witness.conclusion, Conclusion::About { kind: k, .. } if k == kind),
            located: (0..).zip(self.naming.located(kind)).map(place).collect(),
            outcomes: self.evidence.outcomes_of(kind).map(outcome).collect(),
            times: times.or_else(|| by_sum.then(|| "0".to_owned())),
        }
    }

    fn believed(&self, kind: u32) -> Vec<Believed> {
        let mut values: Vec<(u32, f64)> =
            self.found.beliefs.values(self.evidence, kind).filter(|(_, p)| *p > 0.0).collect();
        values.sort_by(|a, b| b.1.total_cmp(&a.1));
        let one = |&(value, probability): &(u32, f64)| Believed {
            value: self.naming.value(value),
            probability,
            bounds: self
                .explainer
                .bounds(kind, value)
                .map(|(low, high)| Between { low: low.into(), high: high.into() }),
            of_alike: (self.evidence.kinds()[kind as usize].people > 1)
                .then(|| self.explainer.people_with(kind, value))
                .flatten()
                .map(|(low, high)| Between { low: (&low).into(), high: (&high).into() }),
        };
        values.iter().map(one).collect()
    }

    /// Everything that is certain or impossible, though a release of the person shows the value.
    fn everything(&self, kind: u32, warnings: &mut Vec<String>) -> Vec<Because> {
        if let Some(value) =
            self.found.forced.certain(self.evidence, kind).filter(|&v| v != Outcome::UNKNOWN)
        {
            return self.because(kind, Claim::Certain(value), warnings).into_iter().collect();
        }
        let mut values: Vec<u32> = self
            .evidence
            .outcomes_of(kind)
            .map(|o| self.evidence.outcomes()[o as usize].value)
            .collect();
        values.dedup();
        let possible: Vec<u32> = self.found.forced.values(self.evidence, kind).collect();
        let gone = values.into_iter().filter(|v| *v != Outcome::UNKNOWN && !possible.contains(v));
        gone.filter_map(|v| self.because(kind, Claim::Impossible(v), warnings)).collect()
    }

    /// What can be said about one value.
    fn about(&self, kind: u32, value: u32, warnings: &mut Vec<String>) -> Vec<Because> {
        let possible: Vec<u32> = self.found.forced.values(self.evidence, kind).collect();
        let claims = if possible == [value] {
            vec![Claim::Certain(value)]
        } else if !possible.contains(&value) {
            vec![Claim::Impossible(value)]
        } else {
            let bounds = self.explainer.bounds(kind, value);
            let low = bounds.map(|(low, _)| low).filter(|low| *low > Ratio::whole(0));
            let high = bounds.map(|(_, high)| high).filter(|high| *high < Ratio::whole(1));
            low.map(|p| Claim::AtLeast(value, p))
                .into_iter()
                .chain(high.map(|p| Claim::AtMost(value, p)))
                .collect()
        };
        if claims.is_empty() {
            warnings.push(
                "nothing is forced: beliefs between impossible and certain are consistent with what was published"
                    .into(),
            );
        }
        claims.into_iter().filter_map(|claim| self.because(kind, claim, warnings)).collect()
    }

    fn because(&self, kind: u32, claim: Claim, warnings: &mut Vec<String>) -> Option<Because> {
        match self.explainer.because(&self.found.forced, kind, claim) {
            Ok(witness) => Some(self.told(&witness, claim)),
            Err(Unexplained::Untrue) => {
                warnings
                    .push(format!("no reason was found for {}", self.naming.value(claim.value())));
                None
            }
            Err(Unexplained::TooLarge) => {
                let value = self.naming.value(claim.value());
                warnings.push(format!("the reason for {value} takes too many facts to be found"));
                None
            }
        }
    }

    fn told(&self, witness: &Witness, claim: Claim) -> Because {
        let multiple = |fact: u32| match &witness.proof {
            Proof::Combination(c) => {
                c.facts.iter().find(|(f, _)| *f == fact).map(|(_, n)| n.to_string())
            }
            Proof::Exhaustion => None,
        };
        let note = |&fact: &u32| {
            let f = self.evidence.facts()[fact as usize];
            let (release, group, value) = match f.source {
                Source::Published { release, group, value } => {
                    (Some(release + 1), self.naming.group(release, group), self.naming.value(value))
                }
                Source::Known(statement) => (None, self.naming.known(statement), String::new()),
            };
            FactNote { release, group, value, low: f.low, high: f.high, times: multiple(fact) }
        };
        let times = match &witness.proof {
            Proof::Combination(c) => Some(c.times.to_string()),
            Proof::Exhaustion => None,
        };
        Because {
            value: self.naming.value(claim.value()),
            claim: match (witness.conclusion, claim) {
                (Conclusion::NoWorld, _) => Claimed::Contradiction,
                (_, Claim::Certain(_)) => Claimed::Certain,
                (_, Claim::Impossible(_)) => Claimed::Impossible,
                (_, Claim::AtLeast(..)) => Claimed::AtLeast,
                (_, Claim::AtMost(..)) => Claimed::AtMost,
            },
            bound: match claim {
                Claim::AtMost(_, share) | Claim::AtLeast(_, share) => Some(share.into()),
                Claim::Certain(_) | Claim::Impossible(_) => None,
            },
            sentences: self.explainer.sentences(witness, &self.naming),
            proof: match &witness.proof {
                Proof::Combination(_) => ProofKind::Sum,
                Proof::Exhaustion => ProofKind::Trying,
            },
            facts: witness.facts.iter().map(note).collect(),
            premises: self.premises(witness),
            times,
            verified: verify(self.evidence, witness),
            irreducible: witness.irreducible,
            smallest: witness.smallest,
        }
    }
}
