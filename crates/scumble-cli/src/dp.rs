//! `query --dp` and `synthesize`: questions of the data, and made-up data, under a privacy budget.

use crate::{Answer, remedy, show, to_json, watch};
use scumble::failure::{Failure, Failures};
use scumble_publisher::answer::{
    Balance, Cell, Meaning, Measurement, Outcome, PrivateAnswer, PrivateOutcome, PrivatelyAnswered,
    Synthesized,
};
use scumble_publisher::dp::PrivateQueryRequest;
use scumble_publisher::dp::synthesize::SynthesizeRequest;
use scumble_publisher::policy_file::PolicyFile;
use scumble_publisher::publisher::Publisher;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Arguments of `query --dp`.
#[derive(clap::Args)]
pub struct Arguments {
    /// Answer SQL from the data of a policy, under differential privacy
    #[arg(long, conflicts_with = "workload")]
    pub dp: bool,
    /// What each question may cost
    #[arg(long, value_name = "ε", requires = "dp")]
    epsilon: Option<String>,
    /// The δ of questions whose keys are not public, or with Gaussian noise
    #[arg(long, value_name = "δ", requires = "dp")]
    delta: Option<String>,
    /// Noise of counts and sums [default: laplace]
    #[arg(long, value_name = "NAME", requires = "dp", value_parser = ["laplace", "gaussian"])]
    mechanism: Option<String>,
    /// Who asks
    #[arg(long, value_name = "NAME", requires = "dp")]
    recipient: Option<String>,
    /// Tell the price and the budget; read no data, pay nothing
    #[arg(long, requires = "dp")]
    dry_run: bool,
    /// How sure intervals are
    #[arg(long, value_name = "SHARE", requires = "dp", default_value_t = 0.95)]
    confidence: f64,
    /// Reproducible noise, for testing: not private; only with a ledger without real answers
    #[arg(long, value_name = "NUMBER", requires = "dp")]
    seed: Option<u64>,
    /// Allow a budget that is larger than the ledger's, and record it
    #[arg(long, requires = "dp")]
    raise_budget: bool,
}

pub fn run(policy: &Path, sql: Option<String>, arguments: Arguments) -> Result<Answer, Failures> {
    if !(arguments.confidence > 0.0 && arguments.confidence < 1.0) {
        return Err(Failure::usage(
            "wrong-value",
            "`--confidence` must be above 0 and below 1, such as 0.95",
        )
        .into());
    }
    let observer = watch::Terminal::new();
    let request = PrivateQueryRequest {
        sql,
        epsilon: arguments.epsilon,
        delta: arguments.delta,
        gaussian: arguments.mechanism.map(|m| m == "gaussian"),
        recipient: arguments.recipient,
        dry_run: arguments.dry_run,
        confidence: arguments.confidence,
        seed: arguments.seed,
        raise: arguments.raise_budget,
    };
    let publisher = Publisher::observed_by(&observer);
    let answer = PolicyFile::read(policy).and_then(|p| publisher.private_query(&p, &request));
    observer.clear();
    let answer = answer?;
    Ok(Answer {
        text: text(&answer),
        json: to_json(&answer)?,
        yes: answer.outcome != PrivateOutcome::Refused,
    })
}

/// Arguments of `synthesize`.
#[derive(clap::Args)]
pub struct SynthesizeArguments {
    /// A policy with a `[queries.synthetic]` section
    policy: PathBuf,
    /// Write the table to this folder instead of the policy's
    #[arg(long, value_name = "FOLDER")]
    to: Option<PathBuf>,
    /// Replace the table if it exists
    #[arg(long)]
    replace: bool,
    /// Who receives it
    #[arg(long, value_name = "NAME")]
    recipient: Option<String>,
    /// Tell the price and the budget; read no data, pay nothing
    #[arg(long)]
    dry_run: bool,
    /// Reproducible, for testing: not private; only with a ledger without real answers
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// Allow a budget that is larger than the ledger's, and record it
    #[arg(long)]
    raise_budget: bool,
}

pub fn synthesize(arguments: SynthesizeArguments) -> Result<Answer, Failures> {
    let SynthesizeArguments { policy, to, replace, recipient, dry_run, seed, raise_budget } =
        arguments;
    let observer = watch::Terminal::new();
    let publisher = Publisher::observed_by(&observer);

    let request = SynthesizeRequest { to, replace, recipient, dry_run, seed, raise: raise_budget };
    let answer = PolicyFile::read(&policy).and_then(|p| publisher.synthesize(&p, &request));
    observer.clear();
    let answer = answer?;
    Ok(Answer {
        text: made(&answer),
        json: to_json(&answer)?,
        yes: answer.outcome != Outcome::Refused,
    })
}

fn made(a: &Synthesized) -> String {
    let mut out = String::new();
    match a.outcome {
        Outcome::Refused => out.push_str(&refused(&a.reasons)),
        Outcome::Published => {
            let _ = writeln!(out, "Published: {}\n", a.release);
            let records = show::counted(a.rows, "made-up record", "made-up records");
            let _ = writeln!(
                out,
                "  {records} in {}",
                show::counted(a.columns.len() as u64, "column", "columns")
            );
            let pairs: Vec<String> = a.pairs.iter().map(|[a, b]| format!("{a} + {b}")).collect();
            let _ =
                writeln!(out, "  counts kept, but for noise: every column; {}\n", pairs.join(", "));
        }
        Outcome::WouldPublish => {
            out.push_str("Nothing was drawn, nothing was paid. Afterwards it would be:\n")
        }
    }
    if a.outcome != Outcome::Refused {
        let delta = if a.delta > 0.0 { format!(", δ = {:e}", a.delta) } else { String::new() };
        let _ = writeln!(out, "Price: ε = {}{delta}, by {} noise.", number(a.epsilon), a.mechanism);
        let _ = writeln!(out, "Protected: {}; neighbours: {}.", a.unit, a.neighbours);
    }
    out.push_str(&budgets(&a.budgets));
    out.push_str(&show::warnings(&a.warnings));
    out
}

fn refused(reasons: &[scumble_publisher::answer::Reason]) -> String {
    let mut out = String::from("Refused: nothing was drawn, nothing was paid.\n\n");
    for reason in reasons {
        let told = remedy::told(&Failure::from(reason));
        let _ = writeln!(out, "  {}", told.replace('\n', "\n  "));
    }
    out.push('\n');
    out
}

pub fn text(a: &PrivatelyAnswered) -> String {
    let mut out = String::new();
    if a.outcome == PrivateOutcome::Refused {
        return refused(&a.reasons) + &budgets(&a.budgets);
    }
    for answer in &a.answers {
        let _ = writeln!(out, "{}\n", answer.query);
        if a.outcome == PrivateOutcome::Answered {
            out.push_str(&table(answer));
        }
        let delta =
            if answer.delta > 0.0 { format!(", δ = {:e}", answer.delta) } else { String::new() };
        let _ = writeln!(out, "  price: ε = {}{delta}", number(answer.epsilon));
        for m in &answer.measurements {
            let _ = writeln!(out, "  noise: {}", noise(m));
        }
        if let Some(least) = answer.threshold {
            let _ = writeln!(out, "  shown: groups with a noisy count of at least {least}");
        }
        out.push('\n');
    }
    let cost = a.cost.epsilon.map_or("no ε without a δ".into(), |e| format!("ε = {}", number(e)));
    let at =
        if a.cost.delta > 0.0 { format!(" at δ = {:e}", a.cost.delta) } else { String::new() };
    let _ = writeln!(out, "Protected: {}; neighbours: {}.", a.unit, a.neighbours);
    let _ = writeln!(
        out,
        "Cost of all: {cost}{at}{}.",
        a.cost.by.as_ref().map_or(String::new(), |by| format!(" ({by})"))
    );
    for set in &a.together {
        let numbers: Vec<String> = set.iter().map(ToString::to_string).collect();
        let _ = writeln!(
            out,
            "Paid once: questions {}, which are about different people.",
            numbers.join(", ")
        );
    }
    if a.outcome == PrivateOutcome::WouldAnswer {
        out.push_str("Nothing was drawn, nothing was paid. Afterwards it would be:\n");
    }
    out.push_str(&budgets(&a.budgets));
    if let Some(entry) = a.recorded {
        let _ = writeln!(
            out,
            "Recorded: `scumble ledger answer {entry}` prints this answer again; it is paid."
        );
    }
    out.push_str(&show::warnings(&a.warnings));
    out
}

fn budgets(all: &[Balance]) -> String {
    let line = |b: &Balance| {
        let of = if b.of == "all" { "Budget".into() } else { format!("Budget of {}", b.of) };
        let delta = if b.delta > 0.0 { format!(", δ = {:e}", b.delta) } else { String::new() };
        let spent = b.spent.map_or("–".into(), number);
        let answers = show::counted(b.answers, "measurement", "measurements");
        format!(
            "{of}: ε = {}{delta}; spent: ε = {spent} ({}) in {answers}.\n",
            number(b.epsilon),
            b.by
        )
    };
    let mut out: String = all.iter().map(line).collect();
    out.push_str(
        &all.iter().find(|b| b.of == "all").map(|b| meaning(&b.meaning)).unwrap_or_default(),
    );
    out
}

/// What everything spent so far means. Percentages are rounded up: a bound is not to be shown
/// smaller than it is.
fn meaning(m: &Meaning) -> String {
    let percent = |share: f64| (1000.0 * share).ceil() / 10.0;
    if m.half_becomes >= 1.0 || m.failing >= 0.5 {
        return "Meaning of all that is spent: no bound on what somebody may believe of a person.\n".into();
    }
    let half = percent(m.half_becomes);
    let but = match m.failing {
        0.0 => String::new(),
        failing => format!(", but with a probability of {failing:.1e}"),
    };
    format!(
        "Meaning of all that is spent: what somebody thought as likely as not of a person is at most {half:.1} % to them \
         now{but}.\n"
    )
}

fn noise(m: &Measurement) -> String {
    let change = format!("a person changes it by at most {}", number(m.sensitivity));
    match m.scale {
        Some(scale) => format!("{}: {} of scale {}; {change}", m.of, m.mechanism, number(scale)),
        None => format!("{}: drawn by {}", m.of, m.mechanism),
    }
}

fn table(answer: &PrivateAnswer) -> String {
    let mut rows = vec![answer.columns.clone()];
    for row in &answer.rows {
        rows.push(row.iter().map(cell).collect());
    }
    if answer.rows.is_empty() {
        return "  no group is large enough to be shown\n\n".into();
    }
    format!("{}\n", show::table(&rows))
}

fn cell(cell: &Cell) -> String {
    match cell {
        Cell::Key(key) => key.clone(),
        Cell::Number { value: None, .. } => "too few".into(),
        Cell::Number { value: Some(value), ranks: Some(ranks), .. } => {
            format!("{} (within {} ranks)", number(*value), number(ranks.ceil()))
        }
        Cell::Number { value: Some(value), low: Some(low), high: Some(high), .. } => {
            format!("{} [{}, {}]", number(*value), number(*low), number(*high))
        }
        Cell::Number { value: Some(value), .. } => number(*value),
    }
}

/// A number with no more digits than say something.
fn number(x: f64) -> String {
    if x == x.round() && x.abs() < 1e15 {
        return format!("{x}");
    }
    let digits = (5 - x.abs().log10().floor() as i32).clamp(0, 9) as usize;
    let text = format!("{x:.digits$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}
