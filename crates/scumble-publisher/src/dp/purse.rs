//! Where spending is recorded, durably, before anything is answered: in the ledger.
//!
//! Whoever wants to spend locks the ledger, reads what was spent, judges, appends, and waits until
//! the disk has it. Two processes cannot overspend together because the second waits for the lock.
//! A process that dies after appending has paid for nothing.

use super::identity::{Identity, Traits};
use crate::answer::{Balance, Meaning};
use crate::ledger::{Access, Entry, Ledger, Whereabouts, fold, now};
use crate::observer::{Observer, Silent};
use scumble::dp::accountant::Spend;
use scumble::dp::budget::{Limit, Standing};
use scumble::dp::semantics::rise;
use scumble::exact::Fraction;
use scumble::failure::{Argument, Failure, Failures, Remedy};
use scumble::policy::Queries;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::Duration;

/// Whose money is spent, and how much there is.
#[derive(Clone, Debug)]
pub struct Tab {
    /// Which data.
    pub dataset: String,
    /// By what they are recognised under another name; nothing as long as they were not read.
    pub traits: Option<Traits>,
    /// Who asks, if that is known.
    pub recipient: Option<String>,
    /// What the policy allows.
    pub caps: Caps,
    /// Whether a budget larger than any before is meant.
    pub raise: bool,
    /// Whether the noise comes from a seed.
    pub seeded: bool,
}

/// What may be spent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caps {
    /// By everybody together.
    pub limit: Limit,
    /// By each recipient.
    pub each: Option<Limit>,
}

/// A [`Limit`] as it is written: exact texts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct Cap {
    pub epsilon: String,
    pub delta: String,
}

impl From<&Limit> for Cap {
    fn from(limit: &Limit) -> Cap {
        Cap { epsilon: limit.epsilon.to_string(), delta: limit.delta.to_string() }
    }
}

impl Cap {
    /// The limit, if the texts are numbers.
    pub fn limit(&self) -> Option<Limit> {
        Some(Limit {
            epsilon: Fraction::parse(&self.epsilon)?,
            delta: Fraction::parse(&self.delta)?,
        })
    }
}

/// Paid, with the balances after it; or refused, with those before.
pub type Outcome = Result<Receipt, Refused>;

/// How it stands after paying.
#[derive(Clone, Debug)]
pub struct Receipt {
    /// The budgets.
    pub budgets: Vec<Balance>,
    /// Other names under which the data were asked before.
    pub known_as: Vec<String>,
    /// Number of the ledger's entry; nothing if nothing was recorded.
    pub entry: Option<u64>,
}

/// Why nothing was paid.
#[derive(Clone, Debug)]
pub struct Refused {
    /// The budgets as they stand.
    pub budgets: Vec<Balance>,
    /// The reasons.
    pub reasons: Vec<Failure>,
}

/// Something that was paid.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Which data.
    pub dataset: String,
    /// Who asked.
    pub recipient: Option<String>,
    /// What was paid.
    pub spend: Paid,
    /// Whether the noise came from a seed.
    pub seeded: bool,
}

/// A [`Spend`] as it is written: numbers are decimal or fraction texts, exact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
#[allow(missing_docs)]
pub enum Paid {
    Pure { epsilon: String },
    Laplace { sensitivity: String, scale: String },
    Gaussian { rho: String, epsilon: String, delta: String },
    Approximate { epsilon: String, delta: String },
}

impl From<&Spend> for Paid {
    fn from(spend: &Spend) -> Paid {
        let text = ToString::to_string;
        match spend {
            Spend::Pure { epsilon } => Paid::Pure { epsilon: text(epsilon) },
            Spend::Laplace { sensitivity, scale } => {
                Paid::Laplace { sensitivity: text(sensitivity), scale: text(scale) }
            }
            Spend::Gaussian { rho, epsilon, delta } => {
                Paid::Gaussian { rho: text(rho), epsilon: text(epsilon), delta: text(delta) }
            }
            Spend::Approximate { epsilon, delta } => {
                Paid::Approximate { epsilon: text(epsilon), delta: text(delta) }
            }
        }
    }
}

impl Paid {
    /// What was paid, if the texts are numbers.
    pub fn spend(&self) -> Option<Spend> {
        let read = |text: &String| Fraction::parse(text);
        Some(match self {
            Paid::Pure { epsilon } => Spend::Pure { epsilon: read(epsilon)? },
            Paid::Laplace { sensitivity, scale } => Spend::Laplace {
                sensitivity: read(sensitivity)?,
                scale: read(scale).filter(|s| !s.is_zero())?,
            },
            Paid::Gaussian { rho, epsilon, delta } => {
                Spend::Gaussian { rho: read(rho)?, epsilon: read(epsilon)?, delta: read(delta)? }
            }
            Paid::Approximate { epsilon, delta } => {
                Spend::Approximate { epsilon: read(epsilon)?, delta: read(delta)? }
            }
        })
    }
}

/// What a ledger knows of spending.
#[derive(Clone, Copy, Default)]
pub struct Record<'a> {
    /// What was paid.
    pub lines: &'a [Line],
    /// What data of a name were recognised by.
    pub identities: &'a [(String, Identity)],
    /// Budgets that were set.
    pub caps: &'a [(String, Caps)],
}

impl<'a> Record<'a> {
    fn of(ledger: &'a Ledger) -> Record<'a> {
        Record { lines: ledger.spent(), identities: ledger.identities(), caps: ledger.caps() }
    }

    /// Every name of these data: their own, and those of data that are recognised as the same,
    /// directly or through others.
    fn names(&self, dataset: &str, identity: Option<&Identity>) -> Vec<String> {
        let mut names = vec![dataset.to_owned()];
        loop {
            let known = self
                .identities
                .iter()
                .filter(|(name, _)| names.contains(name))
                .map(|(_, i)| i)
                .chain(identity);
            let known: Vec<&Identity> = known.collect();
            let new = self
                .identities
                .iter()
                .find(|(name, i)| !names.contains(name) && known.iter().any(|k| k.matches(i)));
            match new {
                Some((name, _)) => names.push(name.clone()),
                None => return names,
            }
        }
    }

    /// The largest budgets ever set for data of these names.
    fn largest(&self, names: &[String]) -> Option<Caps> {
        let larger = |a: Limit, b: Limit| Limit {
            epsilon: a.epsilon.max(b.epsilon),
            delta: a.delta.max(b.delta),
        };
        let caps =
            self.caps.iter().filter(|(name, _)| names.contains(name)).map(|(_, caps)| caps.clone());
        caps.reduce(|a, b| Caps {
            limit: larger(a.limit, b.limit),
            each: match (a.each, b.each) {
                (Some(a), Some(b)) => Some(larger(a, b)),
                (a, b) => a.or(b),
            },
        })
    }
}

/// The budgets of a tab judged on what is known and what is to be spent now.
pub fn judge(
    tab: &Tab,
    identity: Option<&Identity>,
    record: &Record<'_>,
    spends: &[Spend],
) -> Result<Outcome, Failures> {
    let names = record.names(&tab.dataset, identity);
    let before = |recipient: Option<&str>| -> Option<Vec<Spend>> {
        let ours = |l: &&Line| {
            names.contains(&l.dataset)
                && recipient.is_none_or(|name| {
                    // Another spelling of her name is no further budget.
                    l.recipient.as_deref().is_some_and(|known| fold(known) == fold(name))
                })
        };
        record.lines.iter().filter(ours).map(|l| l.spend.spend()).collect()
    };
    let mut wanted = vec![("all".to_owned(), None, tab.caps.limit.clone())];
    if let (Some(each), Some(recipient)) = (&tab.caps.each, &tab.recipient) {
        wanted.push((recipient.clone(), Some(recipient.as_str()), each.clone()));
    }
    let (mut after, mut now, mut reasons) = (Vec::new(), Vec::new(), mixed(tab, record));
    for (of, recipient, limit) in wanted {
        let spent = before(recipient).ok_or_else(|| {
            Failure::data(
                "ledger-damaged",
                "the record of spending holds a price that is no number",
            )
        })?;
        let both: Vec<Spend> = spent.iter().chain(spends).cloned().collect();
        let (old, new) = (limit.judge(&spent), limit.judge(&both));
        now.push(balance(&of, &limit, &old, &spent));
        after.push(balance(&of, &limit, &new, &both));
        if !new.within {
            reasons.push(exceeds(&of, &limit, &old, &new));
        }
    }
    if let Some(largest) = record.largest(&names).filter(|_| !tab.raise) {
        reasons.extend(raised("the budget", &tab.caps.limit, &largest.limit));
        if let (Some(each), Some(largest)) = (&tab.caps.each, &largest.each) {
            reasons.extend(raised("the budget of each recipient", each, largest));
        }
    }
    let known_as = names.into_iter().skip(1).collect();
    Ok(match reasons.is_empty() {
        true => Ok(Receipt { budgets: after, known_as, entry: None }),
        false => Err(Refused { budgets: now, reasons }),
    })
}

/// Answers from a seed and others do not stand in one ledger: who knows the seed knows the truth,
/// whatever was paid.
fn mixed(tab: &Tab, record: &Record<'_>) -> Vec<Failure> {
    if tab.seeded && record.lines.iter().any(|line| !line.seeded) {
        let problem = Failure::refused(
            "mixed-seeds",
            "noise from a seed is known to whoever knows the seed, and this ledger holds real answers",
        );
        return vec![problem.hint(
            "for a test, name a ledger of its own in the policy: `ledger = \"test-ledger\"`",
        )];
    }
    if !tab.seeded && record.lines.iter().any(|line| line.seeded) {
        let problem = Failure::refused(
            "mixed-seeds",
            "this ledger is one for tests: it holds answers whose noise came from a seed",
        );
        return vec![problem.hint("name another ledger in the policy for real answers")];
    }
    Vec::new()
}

/// A policy allows more than was ever allowed.
fn raised(what: &str, wanted: &Limit, largest: &Limit) -> Option<Failure> {
    if wanted.epsilon <= largest.epsilon && wanted.delta <= largest.delta {
        return None;
    }
    let shown = |l: &Limit| {
        let delta = if l.delta.is_zero() {
            String::new()
        } else {
            format!(", δ = {:e}", l.delta.to_f64())
        };
        format!("ε = {}{delta}", rounded(l.epsilon.to_f64()))
    };
    let message = format!(
        "the policy raises {what} to {}, and the ledger has it as {}",
        shown(wanted),
        shown(largest)
    );
    Some(
        Failure::refused("budget-raised", message).remedy(
            Remedy::words("if that is meant, say so once with ")
                .and_give(Argument::RaiseBudget)
                .then("; it is recorded"),
        ),
    )
}

fn balance(of: &str, limit: &Limit, standing: &Standing, spends: &[Spend]) -> Balance {
    let learned = rise(spends, FAILING);
    Balance {
        of: of.into(),
        epsilon: limit.epsilon.to_f64(),
        delta: limit.delta.to_f64(),
        spent: standing.epsilon,
        by: standing.way.to_owned(),
        answers: spends.len() as u64,
        meaning: Meaning {
            half_becomes: learned.at_most,
            failing: learned.failing,
            by: learned.by.to_owned(),
        },
    }
}

fn exceeds(of: &str, limit: &Limit, old: &Standing, new: &Standing) -> Failure {
    let whose = if of == "all" { "the budget".into() } else { format!("the budget of `{of}`") };
    let shown =
        |e: Option<f64>| e.map_or("more than any ε".into(), |e| format!("ε = {}", rounded(e)));
    if new.epsilon.is_none() && limit.delta.is_zero() {
        return Failure::refused("budget-exceeded", format!("{whose} has no δ, and this question spends one"))
            .hint("list the keys under [queries.columns], ask with Laplace noise, or give the budget a `delta`");
    }
    if new.epsilon.is_none() {
        return Failure::refused(
            "budget-exceeded",
            format!("{whose} allows single answers a δ of {} in all, half of its own", half(limit)),
        )
        .remedy(
            Remedy::words("ask with a smaller ")
                .and_give(Argument::Delta)
                .then(", or list the keys under [queries.columns], which needs none"),
        );
    }
    let (limit, spent) = (rounded(limit.epsilon.to_f64()), shown(old.epsilon));
    Failure::refused(
        "budget-exceeded",
        format!(
            "{whose} is ε = {limit}, of which {spent} is spent; with this it would be {}",
            shown(new.epsilon)
        ),
    )
    .remedy(
        Remedy::words("ask for less with a smaller ")
            .and_give(Argument::Epsilon)
            .then("; what is spent does not come back"),
    )
}

fn half(limit: &Limit) -> String {
    let half = limit.delta.to_f64() / 2.0;
    format!("{half:e}")
}

/// A number with as many digits as mean something.
fn rounded(x: f64) -> String {
    let text = format!("{x:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The ledger, which remembers what was spent as it remembers what was published.
pub struct Purse {
    place: Whereabouts,
}

/// Others spend quickly.
const WAIT: Duration = Duration::from_secs(60);

/// What a belief means is told but for this probability, where it cannot be told in any case.
const FAILING: f64 = 1e-6;

impl Purse {
    /// The ledger of a policy about questions; it need not exist yet.
    pub fn new(base: &Path, queries: &Queries) -> Result<Purse, Failures> {
        let ledger = queries.ledger.as_deref().ok_or_else(|| {
            Failure::policy(
                "needs-ledger",
                "questions need a ledger: without one nobody would know what was spent",
            )
            .hint("leave `ledger = false` out of the policy")
        })?;
        Ok(Purse {
            place: Whereabouts::new(base, ledger, queries.key.as_deref(), queries.head.as_deref()),
        })
    }

    /// How it would stand if these prices were paid; nothing is recorded.
    pub fn standing(&self, tab: &Tab, spends: &[Spend]) -> Result<Outcome, Failures> {
        match Ledger::open(&self.place, Access::Read)? {
            Some(ledger) => {
                let identity = tab.traits.as_ref().map(|t| t.keyed(ledger.key()));
                judge(tab, identity.as_ref(), &Record::of(&ledger), spends)
            }
            None => judge(tab, None, &Record::default(), spends),
        }
    }

    /// Records these prices if the budgets allow them. When this returns paid, the record survives
    /// a crash.
    pub fn reserve(
        &self,
        tab: &Tab,
        spends: &[Spend],
        observer: &dyn Observer,
    ) -> Result<Outcome, Failures> {
        let mut ledger = self.open(observer)?;
        let identity = tab.traits.as_ref().map(|t| t.keyed(ledger.key()));
        let receipt = match judge(tab, identity.as_ref(), &Record::of(&ledger), spends)? {
            Ok(receipt) => receipt,
            Err(refused) => return Ok(Err(refused)),
        };
        let dataset = tab.dataset.clone();
        let known = |identity: &Identity| {
            ledger.identities().iter().any(|(n, i)| *n == dataset && i == identity)
        };
        if let Some(identity) = identity.filter(|identity| !known(identity)) {
            ledger.append(&Entry::Data { at: now(), dataset: dataset.clone(), identity })?;
        }
        let set = Record::of(&ledger).largest(std::slice::from_ref(&dataset));
        let larger = |set: &Caps| {
            let each = tab.caps.each.as_ref().zip(set.each.as_ref());
            raised("", &tab.caps.limit, &set.limit).is_some()
                || each.is_some_and(|(wanted, set)| raised("", wanted, set).is_some())
                || (tab.caps.each.is_some() && set.each.is_none())
        };
        if set.as_ref().is_none_or(larger) {
            let (limit, each) = (Cap::from(&tab.caps.limit), tab.caps.each.as_ref().map(Cap::from));
            ledger.append(&Entry::Budget { at: now(), dataset: dataset.clone(), limit, each })?;
        }
        // One entry for all: a batch is paid or it is not.
        let entry = ledger.append(&Entry::Spent {
            at: now(),
            dataset,
            recipient: tab.recipient.clone(),
            spends: spends.iter().map(Paid::from).collect(),
            seeded: tab.seeded,
        })?;
        Ok(Ok(Receipt { entry: Some(entry), ..receipt }))
    }

    /// Keeps an answer that was paid with this entry, so that it can be had again for the same
    /// price.
    pub fn keep(&self, spent: u64, answer: &[u8]) -> Result<(), Failures> {
        let mut ledger = self.open(&Silent)?;
        let answer = ledger.keep(answer)?;
        ledger.append(&Entry::Answered { spent, at: now(), answer }).map(drop)
    }

    fn open(&self, observer: &dyn Observer) -> Result<Ledger, Failures> {
        let access = Access::Write { wait: WAIT, make: true };
        let ledger = Ledger::open_unless(&self.place, access, observer)?;
        ledger
            .ok_or_else(|| Failure::io("cannot-use-ledger", "the ledger could not be made").into())
    }
}
