//! Where spending is recorded, durably, before anything is answered.
//!
//! The record is a file with one JSON line per answer, beside the data. Whoever wants to spend locks it, reads what was
//! spent, judges, appends, and waits until the disk has it. Two processes cannot overspend together because the second waits
//! for the lock. A process that dies after appending has paid for nothing; one that dies while appending leaves a line
//! without an end, for which nothing can have been answered, and which the next one removes.

use super::Balance;
use scumble::dp::accountant::Spend;
use scumble::dp::budget::{Limit, Standing};
use scumble::exact::Fraction;
use scumble::problem::{Problem, Problems};
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

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

/// One line of the record. Numbers are decimal or fraction texts, exact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Which data.
    pub dataset: String,
    /// Who asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recipient: Option<String>,
    /// What was paid.
    pub spend: Paid,
}

/// A [`Spend`] as it is written.
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

/// A record in a file.
pub struct FilePurse {
    path: PathBuf,
}

impl FilePurse {
    /// The record at this path; it need not exist yet.
    pub fn new(path: PathBuf) -> FilePurse {
        FilePurse { path }
    }

    fn failed(&self, doing: &str, e: &std::io::Error) -> Problems {
        Problem::new(format!(
            "the record of spending `{}` cannot be {doing}: {}",
            self.path.display(),
            crate::describe(e)
        ))
        .hint("without it nothing is answered; name another with `file` under [queries]")
        .into()
    }

    /// Every line, and how many bytes they have: a last line without an end does not count.
    fn lines(&self, file: &mut File) -> Result<(Vec<Line>, u64), Problems> {
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(|e| self.failed("read", &e))?;
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        let mut lines = Vec::new();
        for (i, line) in text[..whole].lines().enumerate() {
            let line: Line = serde_json::from_str(line).map_err(|_| self.broken(i + 1))?;
            if line.spend.spend().is_none() {
                return Err(self.broken(i + 1));
            }
            lines.push(line);
        }
        Ok((lines, whole as u64))
    }

    fn broken(&self, line: usize) -> Problems {
        Problem::new(format!("line {line} of the record of spending `{}` cannot be understood", self.path.display()))
            .hint("restore the file: as long as it is unknown what was spent, nothing is answered")
            .into()
    }
}

impl Purse for FilePurse {
    fn standing(&self, tab: &Tab, spends: &[Spend]) -> Result<Outcome, Problems> {
        let lines = match File::open(&self.path) {
            Ok(mut file) => {
                file.lock_shared().map_err(|e| self.failed("locked", &e))?;
                self.lines(&mut file)?.0
            }
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(e) => return Err(self.failed("read", &e)),
        };
        judge(tab, &lines, spends)
    }

    fn reserve(&self, tab: &Tab, spends: &[Spend]) -> Result<Outcome, Problems> {
        let new = !self.path.exists();
        let open = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&self.path);
        let mut file = open.map_err(|e| self.failed("opened", &e))?;
        file.lock().map_err(|e| self.failed("locked", &e))?;
        let (lines, end) = self.lines(&mut file)?;
        let outcome = judge(tab, &lines, spends)?;
        if outcome.is_err() {
            return Ok(outcome);
        }
        let mut text = String::new();
        for spend in spends {
            let line = Line { dataset: tab.dataset.clone(), recipient: tab.recipient.clone(), spend: spend.into() };
            let line = serde_json::to_string(&line).map_err(|e| self.failed("written", &e.into()))?;
            text.push_str(&line);
            text.push('\n');
        }
        let write = |file: &mut File| {
            file.set_len(end)?;
            file.seek(SeekFrom::Start(end))?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            if new { sync_folder(&self.path) } else { Ok(()) }
        };
        write(&mut file).map_err(|e| self.failed("written", &e))?;
        Ok(outcome)
    }
}

/// A new file is there after a crash only if its folder was written too.
fn sync_folder(path: &Path) -> std::io::Result<()> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match File::open(folder) {
        Ok(folder) => folder.sync_all(),
        // Some systems do not open folders; there is nothing to wait for.
        Err(_) => Ok(()),
    }
}
