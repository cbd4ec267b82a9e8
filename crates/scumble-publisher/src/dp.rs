//! Questions asked of the data themselves, answered with noise under a budget that lasts.
//!
//! The order of things is the guarantee: the policy is read, questions are understood and priced;
//! only then are the data read. What was measured is kept exact until the [`purse`] has recorded
//! the price durably, and only after that the first number is drawn. A crash in between costs the
//! price and answers nothing; there is no way to an answer that was not paid. An answer that was
//! paid is recorded before it is shown, so that one that could not be written is not lost.

use crate::answer::{
    Cell, Cost, Measurement, Mechanism, PrivateAnswer, PrivateOutcome, PrivatelyAnswered, Reason,
    VERSION,
};
use crate::observer::Phase;
use crate::policy_file::PolicyFile;
use crate::publish::Clock;
use crate::publisher::Task;
use crate::table::columns::ReadOptions;
use dashu_int::IBig;
use identity::Traits;
use measure::Measured;
use purse::{Caps, Purse, Tab};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use scumble::dp::accountant::{Spend, bounds, total};
use scumble::dp::budget::Limit;
use scumble::dp::dice::Fair;
use scumble::dp::parallel::bill;
use scumble::dp::query::{Item, Keys, Noise, NoiseKind, Plan, Price};
use scumble::dp::sql;
use scumble::exact::Fraction;
use scumble::failure::{Argument, Failure, Failures, Remedy};
use scumble::policy::{Asked, Queries};
use std::collections::BTreeMap;

pub mod identity;
mod measure;
pub mod purse;
pub mod semantics;
pub mod synthesize;

/// How to ask.
#[derive(Clone, Debug)]
pub struct PrivateQueryRequest {
    /// The question; without one, those of the policy.
    pub sql: Option<String>,
    /// ε of each question that does not say its own.
    pub epsilon: Option<String>,
    /// δ likewise.
    pub delta: Option<String>,
    /// Gaussian noise instead of Laplace.
    pub gaussian: Option<bool>,
    /// Who asks.
    pub recipient: Option<String>,
    /// Only tell the price.
    pub dry_run: bool,
    /// How sure intervals are.
    pub confidence: f64,
    /// Reproducible noise, for testing: only with a ledger that holds no real answers.
    pub seed: Option<u64>,
    /// Whether a budget larger than the ledger's is meant.
    pub raise: bool,
}

impl Default for PrivateQueryRequest {
    fn default() -> PrivateQueryRequest {
        PrivateQueryRequest {
            sql: None,
            epsilon: None,
            delta: None,
            gaussian: None,
            recipient: None,
            dry_run: false,
            confidence: 0.95,
            seed: None,
            raise: false,
        }
    }
}

/// Answers, or says why not.
pub(crate) fn ask(
    file: &PolicyFile,
    options: Task<'_, PrivateQueryRequest>,
) -> Result<PrivatelyAnswered, Failures> {
    let mut clock = Clock::new();
    let queries = file.queries()?;
    let source = queries.source.beside(&file.base);
    let read = ReadOptions {
        delimiter: queries.delimiter,
        quote: queries.quote,
        ..ReadOptions::default()
    };
    let names = options.publisher.header(&source, &read)?;
    check_columns(&queries, &names, options.recipient.as_deref())?;
    let plans = plans(&queries, &names, options)?;
    let bill = bill(&plans, queries.person.is_none());
    let purse = Purse::new(&file.base, &queries)?;
    let mut tab = tab(&queries, options.recipient.clone(), options.raise, options.seed.is_some());
    let all = bill.spends;
    let mut answered = PrivatelyAnswered {
        version: VERSION,
        outcome: PrivateOutcome::WouldAnswer,
        unit: unit(&queries),
        neighbours: NEIGHBOURS.into(),
        confidence: options.confidence,
        answers: plans.iter().map(described).collect(),
        cost: cost(&all, &queries.budget),
        together: bill
            .together
            .into_iter()
            .map(|set| set.into_iter().map(|i| i + 1).collect())
            .collect(),
        budgets: Vec::new(),
        recorded: None,
        test: options.seed.is_some(),
        reasons: Vec::new(),
        warnings: warnings(&queries, options.seed),
        seconds: BTreeMap::new(),
    };
    if options.dry_run {
        answered.warnings.push(UNREAD.into());
        let standing = purse.standing(&tab, &all)?;
        answered.settle(standing, PrivateOutcome::WouldAnswer);
        clock.lap("total");
        answered.seconds = clock.seconds;
        return Ok(answered);
    }
    // Asked before the data are read, so that what cannot be paid is not even computed.
    if let Err(refused) = purse.standing(&tab, &all)? {
        answered.settle(Err(refused), PrivateOutcome::Refused);
        answered.seconds = clock.seconds;
        return Ok(answered);
    }
    options.publisher.observer.phase(Phase::Read);
    let mut random = source_of_randomness(options.seed)?;
    let asked = (&queries, &plans[..]);
    let (measured, traits) =
        measure::measure((&source, &read), asked, &mut random, options.publisher)?;
    answered.warnings.extend(unrecognised(&traits));
    tab.traits = Some(traits);
    clock.lap("read");
    // From here on every path to an answer leads through the purse.
    // What is paid is answered: this is the last moment to cancel.
    options.publisher.observer.go_on()?;
    let receipt = purse.reserve(&tab, &all, options.publisher.observer)?;
    let paid = receipt.is_ok();
    answered.settle(receipt, PrivateOutcome::Answered);
    clock.lap("pay");
    if paid {
        options.publisher.observer.phase(Phase::Draw);
        let mut dice = Fair(random);
        for ((plan, measured), answer) in plans.iter().zip(measured).zip(&mut answered.answers) {
            answer.rows = draw(plan, measured, &mut dice, options.confidence);
        }
        clock.lap("draw");
        if let Some(entry) = answered.recorded {
            // Times differ from run to run and are no part of what was paid for.
            let text = serde_json::to_vec(&answered).map_err(|e| {
                Failure::bug("not-json", format!("the answer cannot be written as JSON: {e}"))
            })?;
            purse.keep(entry, &text)?;
        }
    }
    answered.seconds = clock.seconds;
    Ok(answered)
}

/// The data sets that must look alike.
pub(crate) const NEIGHBOURS: &str = "add or remove one person";

/// The data were not read, so nothing but their name is known of them.
pub(crate) const UNREAD: &str = "the data were not read: whether they are known to the ledger under another name shows only when they are";

/// Says so where the same data under another name could not be recognised.
pub(crate) fn unrecognised(traits: &Traits) -> Option<String> {
    let told = match (traits.is_telling(), traits.files.is_empty()) {
        (true, _) => return None,
        (false, true) => {
            "nothing tells whose data these are: the same table under another name would begin another budget"
        }
        (false, false) => {
            "no column names the persons: the same data under another name are recognised only if no byte of them changed"
        }
    };
    Some(told.into())
}

impl PrivatelyAnswered {
    fn settle(&mut self, standing: purse::Outcome, outcome: PrivateOutcome) {
        match standing {
            Ok(receipt) => {
                (self.outcome, self.budgets, self.recorded) =
                    (outcome, receipt.budgets, receipt.entry);
                self.warnings.extend(also_known(&receipt.known_as));
            }
            Err(refused) => {
                self.outcome = PrivateOutcome::Refused;
                self.budgets = refused.budgets;
                self.reasons = refused.reasons.iter().map(Reason::from).collect();
            }
        }
    }
}

/// Whose budgets pay for what is asked of a source.
fn tab(queries: &Queries, recipient: Option<String>, raise: bool, seeded: bool) -> Tab {
    Tab {
        dataset: queries.source.name().unwrap_or_default(),
        traits: None,
        recipient,
        caps: Caps { limit: queries.budget.clone(), each: queries.each.clone() },
        raise,
        seeded,
    }
}

/// The data were asked before under other names.
pub(crate) fn also_known(names: &[String]) -> Option<String> {
    let names: Vec<String> = names.iter().map(|n| format!("`{n}`")).collect();
    (!names.is_empty()).then(|| {
        format!(
            "these are data, or persons, that the ledger knows as {}: what was spent there counts here",
            names.join(", ")
        )
    })
}

fn check_columns(
    queries: &Queries,
    names: &[String],
    recipient: Option<&str>,
) -> Result<(), Failures> {
    let mut problems = Failures::default();
    let familiar = queries.columns.keys().chain(&queries.person).any(|name| names.contains(name));
    let named = queries
        .columns
        .keys()
        .map(|n| (n, "queries.columns"))
        .chain(queries.person.iter().map(|n| (n, "person")));
    for (name, place) in named {
        if !names.contains(name) {
            let hint = scumble::catalogue::did_you_mean_column(name, names, familiar);
            let message =
                format!("`{place}` names `{name}`, which is not a column of `{}`", queries.source);
            problems.push(Failure::policy("column-not-in-source", message).hint(hint));
        }
    }
    match recipient {
        Some(name)
            if !queries.recipients.is_empty() && !queries.recipients.iter().any(|r| r == name) =>
        {
            let hint = scumble::catalogue::did_you_mean(
                name,
                queries.recipients.iter().map(String::as_str),
            );
            problems.push(
                Failure::usage(
                    "unknown-recipient",
                    format!("`{name}` is no recipient of the policy"),
                )
                .hint(hint),
            );
        }
        None if queries.each.is_some() => {
            let failure =
                Failure::usage("needs-recipient", "the policy gives each recipient a budget");
            problems.push(
                failure.remedy(Remedy::words("say who asks with ").and_give(Argument::Recipient)),
            );
        }
        _ => {}
    }
    problems.or(())
}

/// The questions with their prices; every problem of all of them.
fn plans(
    queries: &Queries,
    names: &[String],
    options: Task<'_, PrivateQueryRequest>,
) -> Result<Vec<Plan>, Failures> {
    let one = options.sql.as_ref().map(|sql| Asked {
        sql: sql.clone(),
        epsilon: None,
        delta: None,
        gaussian: None,
    });
    let asked: Vec<&Asked> =
        one.as_ref().map_or_else(|| queries.ask.iter().collect(), |one| vec![one]);
    if asked.is_empty() {
        let hint = "give a question, as in `SELECT COUNT(*) FROM patients`, or list some as `ask` under [queries]";
        return Err(Failure::usage("no-question", "what should be answered?").hint(hint).into());
    }
    let mut problems = Failures::default();
    let epsilon = number(options.epsilon.as_deref(), Argument::Epsilon, &mut problems);
    let delta = number(options.delta.as_deref(), Argument::Delta, &mut problems);
    let mut plans = Vec::new();
    for asked in asked {
        let gaussian = options.gaussian.or(asked.gaussian).unwrap_or(false);
        let price = Price {
            epsilon: epsilon
                .clone()
                .or_else(|| asked.epsilon.clone())
                .unwrap_or_else(|| Fraction::whole(0)),
            delta: delta
                .clone()
                .or_else(|| asked.delta.clone())
                .unwrap_or_else(|| Fraction::whole(0)),
            noise: if gaussian { NoiseKind::Gaussian } else { NoiseKind::Laplace },
        };
        if epsilon.is_none() && asked.epsilon.is_none() && options.epsilon.is_none() {
            problems.push(
                Failure::usage("needs-price", format!("what may be spent on `{}`?", asked.sql))
                    .argument(Argument::Epsilon)
                    .remedy(
                        Remedy::give_value(Argument::Epsilon, "0.1")
                            .then(", or `epsilon` beside `sql` in the policy"),
                    ),
            );
            continue;
        }
        match sql::parse(&asked.sql, queries, names)
            .and_then(|question| question.plan(&price, queries))
        {
            Ok(plan) => plans.push(plan),
            Err(more) => problems.0.extend(more.0),
        }
    }
    problems.or(plans)
}

fn number(text: Option<&str>, of: Argument, problems: &mut Failures) -> Option<Fraction> {
    let text = text?;
    let number = Fraction::parse(text);
    if number.is_none() {
        let message = format!("`{of}` must be a number of at least 0, not `{text}`");
        problems.push(Failure::usage("wrong-price", message).argument(of));
    }
    number
}

/// The system's randomness stretched by ChaCha20, or a seed's.
pub(crate) fn source_of_randomness(seed: Option<u64>) -> Result<ChaCha20Rng, Failures> {
    let Some(seed) = seed else {
        let mut key = [0u8; 32];
        getrandom::fill(&mut key).map_err(|e| {
            Failure::io("no-randomness", format!("the system gives no randomness: {e}"))
        })?;
        return Ok(ChaCha20Rng::from_seed(key));
    };
    Ok(ChaCha20Rng::seed_from_u64(seed))
}

fn unit(queries: &Queries) -> String {
    match &queries.person {
        Some(person) if queries.rows == 1 => {
            format!("a person (`{person}`), who counts with one row")
        }
        Some(person) => {
            format!("a person (`{person}`), who counts with at most {} rows", queries.rows)
        }
        None => "a row".into(),
    }
}

fn warnings(queries: &Queries, seed: Option<u64>) -> Vec<String> {
    let mut warnings = Vec::new();
    if queries.person.is_none() {
        warnings.push("no column names the persons: every row is taken for another person".into());
    }
    if seed.is_some() {
        warnings.push(
            "a test: the noise comes from a seed, and who knows the seed knows the truth".into(),
        );
    }
    let each = queries.each.iter();
    if let Some(large) =
        each.chain([&queries.budget]).map(|l| &l.delta).max().filter(|d| d.to_f64() > LARGE_DELTA)
    {
        warnings.push(format!(
            "δ = {:e} of the budget is large: with about that probability everything may be told of a person; choose it \
             far below one over the number of persons",
            large.to_f64()
        ));
    }
    warnings
}

/// A larger δ would tell of somebody in a large table with a probability that nobody should accept.
const LARGE_DELTA: f64 = 1e-5;

fn cost(spends: &[Spend], limit: &Limit) -> Cost {
    let best = total(spends, &limit.delta);
    let all = bounds(spends, &limit.delta);
    let epsilon = best.as_ref().and_then(|b| b.epsilon);
    Cost {
        epsilon,
        delta: limit.delta.to_f64(),
        by: best.map(|b| b.name.to_owned()),
        bounds: all.into_iter().map(|b| (b.name.to_owned(), b.epsilon)).collect(),
    }
}

/// A plan as the reader sees it before there are answers.
fn described(plan: &Plan) -> PrivateAnswer {
    let question = &plan.question;
    let grouped = !question.groups.is_empty();
    let measurement = |(measure, noise): (&scumble::dp::query::Measure, &Noise)| Measurement {
        of: measure::words(measure, &question.columns),
        mechanism: match noise {
            Noise::Laplace(_) => Mechanism::Laplace,
            Noise::Gaussian(_) => Mechanism::Gaussian,
            Noise::Quantile(_) => Mechanism::PermuteAndFlip,
        },
        sensitivity: measure.sensitivity(plan.rows, grouped).to_f64().value(),
        scale: noise.scale(),
    };
    let used = plan.threshold.is_some() || plan.price.noise == NoiseKind::Gaussian;
    PrivateAnswer {
        query: question.text.clone(),
        epsilon: plan.price.epsilon.to_f64(),
        delta: if used { plan.price.delta.to_f64() } else { 0.0 },
        measurements: question.measures.iter().zip(&plan.noises).map(measurement).collect(),
        threshold: plan.threshold.as_ref().map(|t| t.least()),
        columns: question.items.iter().map(|(heading, _)| heading.clone()).collect(),
        rows: Vec::new(),
    }
}

/// Draws the noise and computes the answers.
fn draw(
    plan: &Plan,
    measured: Measured,
    dice: &mut Fair<ChaCha20Rng>,
    confidence: f64,
) -> Vec<Vec<Cell>> {
    let least = plan.threshold.as_ref().map(|t| t.least());
    let mut rows = Vec::new();
    for group in measured.groups {
        // The count decides whether a group is shown at all; nothing else is drawn for one that is
        // not.
        let mut noisy: Vec<IBig> = Vec::with_capacity(plan.noises.len());
        for (noise, value) in plan.noises.iter().zip(&group.values) {
            noisy.push(value.draw(noise, dice));
            if least.is_some_and(|least| noisy[0] < IBig::from(least)) {
                break;
            }
        }
        if noisy.len() < plan.noises.len()
            || least.is_some_and(|least| noisy[0] < IBig::from(least))
        {
            continue;
        }
        let cell = |(_, item): &(String, Item)| match item {
            Item::Key(k) => Cell::Key(key_text(plan, *k, &group.keys[*k])),
            item => {
                let estimate = plan.estimate(item, &noisy, confidence);
                let (low, high) = estimate.interval.unzip();
                Cell::Number { value: estimate.value, low, high, ranks: estimate.ranks }
            }
        };
        rows.push(plan.question.items.iter().map(cell).collect());
    }
    if least.is_some() {
        // Groups found in the data stand in the order of their keys, not of the data.
        let keys = |row: &Vec<Cell>| -> Vec<String> {
            row.iter()
                .filter_map(|c| if let Cell::Key(k) = c { Some(k.clone()) } else { None })
                .collect()
        };
        rows.sort_by_cached_key(keys);
    }
    rows
}

/// A key as it is shown: a value, or a range.
fn key_text(plan: &Plan, k: usize, key: &measure::Key) -> String {
    match key {
        measure::Key::Text(text) => text.clone(),
        measure::Key::Number(n) => bin_text(&plan.question.groups[k].keys, *n),
    }
}

/// The n-th range of a column.
fn bin_text(keys: &Keys, n: usize) -> String {
    let Keys::Bins { low, width, scale, .. } = keys else { return n.to_string() };
    let first = low + width * n as i64;
    let last = (first + width - 1).min(scale.high);
    if first == last {
        return scale.value(first as f64).to_string();
    }
    format!("[{}, {}]", scale.value(first as f64), scale.value(last as f64))
}
