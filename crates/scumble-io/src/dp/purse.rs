//! Where spending is recorded, durably, before anything is answered: in the ledger.
//!
//! Whoever wants to spend locks the ledger, reads what was spent, judges, appends, and waits until the disk has it. Two
//! processes cannot overspend together because the second waits for the lock. A process that dies after appending has paid
//! for nothing.

use super::Balance;
use crate::ledger::{Access, Entry, Ledger, Whereabouts, now};
use scumble::dp::accountant::Spend;
use scumble::dp::budget::{Limit, Standing};
use scumble::exact::Fraction;
use scumble::policy::Queries;
use scumble::problem::{Problem, Problems};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::Duration;

/// Whose money is spent, and how much there is.
#[derive(Clone, Debug)]
pub struct Tab {
    /// Which data.
    pub dataset: String,
    /// Who asks, if that is known.
    pub recipient: Option<String>,
    /// What everybody may spend together.
    pub limit: Limit,
    /// What each recipient may spend.
    pub each: Option<Limit>,
}

/// Paid, with the balances after it; or refused, with those before.
pub type Outcome = Result<Vec<Balance>, Refused>;

/// Why nothing was paid.
#[derive(Clone, Debug)]
pub struct Refused {
    /// The budgets as they stand.
    pub budgets: Vec<Balance>,
    /// The reasons.
    pub reasons: Vec<Problem>,
}

/// A record of spending.
pub trait Purse {
    /// How it would stand if these prices were paid; nothing is recorded.
    fn standing(&self, tab: &Tab, spends: &[Spend]) -> Result<Outcome, Problems>;

    /// Records these prices if the budgets allow them. When this returns paid, the record survives a crash.
    fn reserve(&self, tab: &Tab, spends: &[Spend]) -> Result<Outcome, Problems>;
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
            Spend::Approximate { epsilon, delta } => Paid::Approximate { epsilon: text(epsilon), delta: text(delta) },
        }
    }
}

impl Paid {
    /// What was paid, if the texts are numbers.
    pub fn spend(&self) -> Option<Spend> {
        let read = |text: &String| Fraction::parse(text);
        Some(match self {
            Paid::Pure { epsilon } => Spend::Pure { epsilon: read(epsilon)? },
            Paid::Laplace { sensitivity, scale } => {
                Spend::Laplace { sensitivity: read(sensitivity)?, scale: read(scale).filter(|s| !s.is_zero())? }
            }
            Paid::Gaussian { rho, epsilon, delta } => {
                Spend::Gaussian { rho: read(rho)?, epsilon: read(epsilon)?, delta: read(delta)? }
            }
            Paid::Approximate { epsilon, delta } => Spend::Approximate { epsilon: read(epsilon)?, delta: read(delta)? },
        })
    }
}

/// The budgets of a tab judged on what was spent before and what is to be spent now.
pub fn judge(tab: &Tab, lines: &[Line], spends: &[Spend]) -> Result<Outcome, Problems> {
    let before = |recipient: Option<&str>| -> Option<Vec<Spend>> {
        let ours = |l: &&Line| l.dataset == tab.dataset && (recipient.is_none() || l.recipient.as_deref() == recipient);
        lines.iter().filter(ours).map(|l| l.spend.spend()).collect()
    };
    let mut wanted = vec![("all".to_owned(), None, tab.limit.clone())];
    if let (Some(each), Some(recipient)) = (&tab.each, &tab.recipient) {
        wanted.push((recipient.clone(), Some(recipient.as_str()), each.clone()));
    }
    let (mut after, mut now, mut reasons) = (Vec::new(), Vec::new(), Vec::new());
    for (of, recipient, limit) in wanted {
        let spent =
            before(recipient).ok_or_else(|| Problem::new("the record of spending holds a price that is no number"))?;
        let both: Vec<Spend> = spent.iter().chain(spends).cloned().collect();
        let (old, new) = (limit.judge(&spent), limit.judge(&both));
        now.push(balance(&of, &limit, &old, spent.len()));
        after.push(balance(&of, &limit, &new, both.len()));
        if !new.within {
            reasons.push(exceeds(&of, &limit, &old, &new));
        }
    }
    Ok(if reasons.is_empty() { Ok(after) } else { Err(Refused { budgets: now, reasons }) })
}

fn balance(of: &str, limit: &Limit, standing: &Standing, answers: usize) -> Balance {
    Balance {
        of: of.into(),
        epsilon: limit.epsilon.to_f64(),
        delta: limit.delta.to_f64(),
        spent: standing.epsilon,
        by: standing.way,
        answers: answers as u64,
    }
}

fn exceeds(of: &str, limit: &Limit, old: &Standing, new: &Standing) -> Problem {
    let whose = if of == "all" { "the budget".into() } else { format!("the budget of `{of}`") };
    let shown = |e: Option<f64>| e.map_or("more than any ε".into(), |e| format!("ε = {}", rounded(e)));
    if new.epsilon.is_none() && limit.delta.is_zero() {
        return Problem::new(format!("{whose} has no δ, and this question spends one"))
            .hint("list the keys under [queries.columns], ask with Laplace noise, or give the budget a `delta`");
    }
    if new.epsilon.is_none() {
        return Problem::new(format!("{whose} allows single answers a δ of {} in all, half of its own", half(limit)))
            .hint("ask with a smaller `--delta`, or list the keys under [queries.columns], which needs none");
    }
    let (limit, spent) = (rounded(limit.epsilon.to_f64()), shown(old.epsilon));
    Problem::new(format!(
        "{whose} is ε = {limit}, of which {spent} is spent; with this it would be {}",
        shown(new.epsilon)
    ))
    .hint("ask for less with a smaller `--epsilon`; what is spent does not come back")
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
pub struct LedgerPurse {
    place: Whereabouts,
}

/// Others spend quickly.
const WAIT: Duration = Duration::from_secs(60);

impl LedgerPurse {
    /// The ledger of a policy about questions; it need not exist yet.
    pub fn new(base: &Path, queries: &Queries) -> Result<LedgerPurse, Problems> {
        let ledger = queries.ledger.as_deref().ok_or_else(|| {
            Problem::new("questions need a ledger: without one nobody would know what was spent")
                .hint("leave `ledger = false` out of the policy")
        })?;
        Ok(LedgerPurse { place: Whereabouts::new(base, ledger, queries.key.as_deref(), queries.head.as_deref()) })
    }
}

impl Purse for LedgerPurse {
    fn standing(&self, tab: &Tab, spends: &[Spend]) -> Result<Outcome, Problems> {
        match Ledger::open(&self.place, Access::Read)? {
            Some(ledger) => judge(tab, ledger.spent(), spends),
            None => judge(tab, &[], spends),
        }
    }

    fn reserve(&self, tab: &Tab, spends: &[Spend]) -> Result<Outcome, Problems> {
        let ledger = Ledger::open(&self.place, Access::Write { wait: WAIT, make: true })?;
        let mut ledger = ledger.ok_or_else(|| Problem::new("the ledger could not be made"))?;
        let outcome = judge(tab, ledger.spent(), spends)?;
        if outcome.is_ok() {
            // One entry for all: a batch is paid or it is not.
            ledger.append(&Entry::Spent {
                at: now(),
                dataset: tab.dataset.clone(),
                recipient: tab.recipient.clone(),
                spends: spends.iter().map(Paid::from).collect(),
            })?;
        }
        Ok(outcome)
    }
}
