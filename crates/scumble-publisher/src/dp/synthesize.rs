//! A synthetic table on disk: made-up records in the columns of the data, and the fitted counts
//! they come from.

use super::identity::Traits;
use super::measure::{KeyMap, NOWHERE, bound, key_map, texts};
use super::purse::Purse;
use super::{
    NEIGHBOURS, UNREAD, also_known, check_columns, cost, source_of_randomness, tab, unit,
    unrecognised, warnings,
};
use crate::answer::{Cost, Mechanism, Outcome, Reason, Synthesized, SyntheticForm, VERSION};
use crate::observer::Phase;
use crate::policy_file::PolicyFile;
use crate::publish::Clock;
use crate::publish::durable;
use crate::publish::source::beside;
use crate::publish::staging::{Listing, Staging, must_be_free};
use crate::publisher::{Publisher, Task};
use crate::release::own;
use crate::table::columns::{ReadOptions, hex};
use crate::table::write::quoted;
use rand::RngExt;
use rand_chacha::ChaCha20Rng;
use scumble::dp::dice::Fair;
use scumble::dp::query::{Keys, NoiseKind};
use scumble::dp::synthetic::{Marginal, Recipe, Synthetic};
use scumble::failure::{Failure, Failures};
use scumble::policy::{Queries, Source, SyntheticRule};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// How to make it.
#[derive(Clone, Debug, Default)]
pub struct SynthesizeRequest {
    /// Where to, instead of what the policy says.
    pub to: Option<PathBuf>,
    /// Replace a table that is there already.
    pub replace: bool,
    /// Who receives it.
    pub recipient: Option<String>,
    /// Only tell the price.
    pub dry_run: bool,
    /// Reproducible, for testing: only with a ledger that holds no real answers.
    pub seed: Option<u64>,
    /// Whether a budget larger than the ledger's is meant.
    pub raise: bool,
}

/// Names of the files.
const DATA: &str = "data.csv";
const MARGINALS: &str = "marginals.csv";

/// What became of a budget when the run is cancelled after it was paid.
const PAID: &str =
    "the privacy budget of this table is spent: it was recorded before noise was drawn";

/// Most keys of a column, and most pairs of keys of two columns.
const KEYS: usize = 100_000;
const CELLS: usize = 20_000_000;

/// Makes a synthetic table by a policy's `[queries.synthetic]`, or says why not.
pub(crate) fn synthesize(
    file: &PolicyFile,
    options: Task<'_, SynthesizeRequest>,
) -> Result<Synthesized, Failures> {
    let mut clock = Clock::new();
    let queries = file.queries()?;
    let rule = queries.synthetic.clone().ok_or_else(|| {
        Failure::policy("missing-key", "`[queries.synthetic]` is missing")
            .hint("add it with `columns = […]`, `epsilon = 1` and `to = \"releases/synthetic\"`")
    })?;
    let base = file.base.clone();
    let source = queries.source.beside(&base);
    let target = options.to.clone().unwrap_or_else(|| beside(&base, &rule.to));
    let target = crate::publish::durable::without_detours(&target);
    if !options.dry_run {
        must_be_free(&target, replaceable(options))?;
    }
    let read = ReadOptions {
        delimiter: queries.delimiter,
        quote: queries.quote,
        ..ReadOptions::default()
    };
    let names = options.publisher.header(&source, &read)?;
    check_columns(&queries, &names, options.recipient.as_deref())?;
    let keys = public_keys(&queries, &rule)?;
    let recipe = Recipe {
        sizes: keys.iter().map(|k| k.count() + 1).collect(),
        rows: queries.rows,
        price: rule.price.clone(),
        pairs: rule.pairs.clone(),
    };
    let spends = recipe.spends();
    let purse = Purse::new(&base, &queries)?;
    let mut tab = tab(&queries, options.recipient.clone(), options.raise, options.seed.is_some());
    let mut answer = describe(&queries, &rule, &target, cost(&spends, &queries.budget), options);
    let standing = purse.standing(&tab, &spends)?;
    let within = standing.is_ok();
    settle(&mut answer, standing, Outcome::WouldPublish);
    if options.dry_run || !within {
        answer.warnings.extend(options.dry_run.then(|| UNREAD.to_owned()));
        answer.seconds = clock.seconds;
        return Ok(answer);
    }
    options.publisher.observer.phase(Phase::Read);
    let mut random = source_of_randomness(options.seed)?;
    let (data, traits) =
        load(&source, &read, &queries, &rule, &keys, &mut random, options.publisher)?;
    answer.warnings.extend(unrecognised(&traits));
    tab.traits = Some(traits);
    // Paid only if the table can be written: a folder that is not free or cannot be made costs
    // nothing.
    let staging = Staging::begin(&target, replaceable(options), None)?;
    clock.lap("read");
    options.publisher.observer.go_on()?;
    let receipt = purse.reserve(&tab, &spends, options.publisher.observer)?;
    let paid = receipt.is_ok();
    settle(&mut answer, receipt, Outcome::Published);
    if !paid {
        answer.seconds = clock.seconds;
        return Ok(answer);
    }
    options.publisher.observer.phase(Phase::Fit);
    let mut dice = Fair(random);
    let data: Vec<&[u32]> = data.iter().map(Vec::as_slice).collect();
    let progress = |done, total| options.publisher.observer.at(done, total);
    let made = recipe.synthesize_unless(&data, &mut dice, &progress);
    clock.lap("synthesize");
    let written = made.map_err(Failures::from).and_then(|made| {
        options.publisher.observer.go_on()?;
        write(&mut answer, &rule, &keys, made, staging, dice.0, options)
    });
    if written.is_err() && options.publisher.observer.cancelled() {
        options.publisher.observer.note(PAID);
    }
    written?;
    clock.lap("write");
    answer.seconds = clock.seconds;
    Ok(answer)
}

fn settle(answer: &mut Synthesized, standing: super::purse::Outcome, outcome: Outcome) {
    match standing {
        Ok(receipt) => {
            (answer.outcome, answer.budgets) = (outcome, receipt.budgets);
            let known =
                also_known(&receipt.known_as).filter(|warning| !answer.warnings.contains(warning));
            answer.warnings.extend(known);
        }
        Err(refused) => {
            (answer.outcome, answer.budgets) = (Outcome::Refused, refused.budgets);
            answer.reasons = refused.reasons.iter().map(Reason::from).collect();
        }
    }
}

fn describe(
    queries: &Queries,
    rule: &SyntheticRule,
    target: &Path,
    cost: Cost,
    options: Task<'_, SynthesizeRequest>,
) -> Synthesized {
    let gaussian = rule.price.noise == NoiseKind::Gaussian;
    Synthesized {
        version: VERSION,
        outcome: Outcome::Refused,
        release: target.display().to_string(),
        form: SyntheticForm::Synthetic,
        rows: 0,
        columns: rule.columns.clone(),
        pairs: Vec::new(),
        unit: unit(queries),
        neighbours: NEIGHBOURS.into(),
        epsilon: rule.price.epsilon.to_f64(),
        delta: if gaussian { rule.price.delta.to_f64() } else { 0.0 },
        mechanism: if gaussian { Mechanism::Gaussian } else { Mechanism::Laplace },
        cost,
        budgets: Vec::new(),
        sha256: BTreeMap::new(),
        reasons: Vec::new(),
        warnings: warnings(queries, options.seed),
        seconds: BTreeMap::new(),
    }
}

/// The public keys of every column, if there are not too many.
fn public_keys(queries: &Queries, rule: &SyntheticRule) -> Result<Vec<Keys>, Failures> {
    let keys = |name: &String| {
        let column = &queries.columns[name];
        match (&column.keys, column.scale) {
            (Some(keys), _) => Keys::Public(keys.clone()),
            (None, Some(scale)) => {
                let width = rule.widths.get(name).copied().unwrap_or(1);
                let count =
                    (i128::from(scale.high) - i128::from(scale.low)) / i128::from(width) + 1;
                let count = usize::try_from(count).unwrap_or(usize::MAX - 1);
                Keys::Bins { low: scale.low, width, count, scale }
            }
            (None, None) => Keys::Public(Vec::new()),
        }
    };
    let all: Vec<Keys> = rule.columns.iter().map(keys).collect();
    let mut problems = Failures::default();
    let hint = |name: &str| {
        format!("give it ranges: `widths = {{ {name} = 10 }}` under [queries.synthetic]")
    };
    for (name, keys) in rule.columns.iter().zip(&all) {
        if keys.count() > KEYS {
            problems.push(
                Failure::refused("too-many-keys", format!("`{name}` has more than {KEYS} keys"))
                    .hint(hint(name)),
            );
        }
    }
    let mut largest: Vec<(usize, &String)> =
        all.iter().map(Keys::count).zip(&rule.columns).collect();
    largest.sort();
    if let [.., (a, first), (b, second)] = largest.as_slice()
        && a.saturating_mul(*b) > CELLS
        && problems.0.is_empty()
    {
        problems.push(
            Failure::refused(
                "too-many-keys",
                format!("`{first}` and `{second}` have too many keys together"),
            )
            .hint(hint(second)),
        );
    }
    problems.or(all)
}

/// The key of every counted row, column by column; with what the data are recognised by.
fn load(
    source: &Source,
    read: &ReadOptions,
    queries: &Queries,
    rule: &SyntheticRule,
    keys: &[Keys],
    random: &mut ChaCha20Rng,
    publisher: &Publisher<'_>,
) -> Result<(Vec<Vec<u32>>, Traits), Failures> {
    let mut wanted: Vec<String> = rule.columns.clone();
    wanted.extend(queries.person.clone());
    let table = publisher.read(source, read, Some(&wanted))?;
    let find = |name: &str| table.columns.iter().find(|c| c.name == name);
    let mut counted = vec![true; table.rows];
    if let Some(person) = queries.person.as_deref().and_then(find) {
        bound(&mut counted, person, queries.rows, random);
    }
    let codes = |(name, keys): (&String, &Keys)| -> Result<Vec<u32>, Failures> {
        let column = find(name)
            .ok_or_else(|| Failure::bug("internal", format!("column `{name}` was not read")))?;
        let map: KeyMap<'_> = key_map(column, &texts(column, &queries.missing), keys);
        // Missing and other values have the last key.
        let other = keys.count() as u32;
        let code = |row: usize| {
            Some(map.of[column.codes[row] as usize]).filter(|&c| c != NOWHERE).unwrap_or(other)
        };
        Ok((0..table.rows).filter(|&row| counted[row]).map(code).collect())
    };
    publisher.observer.go_on()?;
    let all = rule.columns.iter().zip(keys).map(codes).collect::<Result<_, _>>()?;
    publisher.observer.go_on()?;
    Ok((all, Traits::of(source, queries.person.as_deref().and_then(find))?))
}

/// Writes data, marginals and manifest.
fn write(
    answer: &mut Synthesized,
    rule: &SyntheticRule,
    keys: &[Keys],
    made: Synthetic,
    staging: Staging,
    mut random: ChaCha20Rng,
    options: Task<'_, SynthesizeRequest>,
) -> Result<(), Failures> {
    options.publisher.observer.phase(Phase::Write);
    answer.rows = made.columns.first().map_or(0, |c| c.len() as u64);
    let name = |i: usize| rule.columns[i].clone();
    let pairs = made.marginals.iter().filter(|m| m.columns.len() == 2);
    answer.pairs = pairs.map(|m| [name(m.columns[0]), name(m.columns[1])]).collect();
    let files = [
        (DATA, data(rule, keys, &made, &mut random)),
        (MARGINALS, marginals(rule, keys, &made.marginals)),
    ];
    for (file, text) in &files {
        answer.sha256.insert((*file).to_owned(), hex(&Sha256::digest(text.as_bytes())));
        options.publisher.observer.go_on()?;
        put(&staging, file, text)?;
    }
    let manifest = Synthesized { budgets: Vec::new(), ..answer.clone() };
    let manifest = serde_json::to_string_pretty(&manifest).map_err(|e| {
        Failure::bug("not-json", format!("the manifest cannot be written as JSON: {e}"))
    })?;
    put(&staging, crate::release::manifest::FILE, &format!("{manifest}\n"))?;
    // The last moment to cancel: what has its name is finished.
    options.publisher.observer.go_on()?;
    let committed = staging.commit()?;
    if !committed.durable {
        answer
            .warnings
            .push(format!("the disk does not confirm that `{}` is durable", answer.release));
    }
    committed.discard_replaced();
    Ok(())
}

/// What may be replaced: nothing, unless it is asked for; then a synthetic table of ours.
fn replaceable(options: Task<'_, SynthesizeRequest>) -> Option<Listing> {
    options.replace.then_some(own::synthetic as Listing)
}

fn put(staging: &Staging, name: &str, text: &str) -> Result<(), Failures> {
    let path = staging.path().join(name);
    durable::write(&path, text.as_bytes()).map_err(|e| crate::table::write::failed(&path, &e))
}

/// The made-up records. A range is written as one of its numbers, drawn evenly.
fn data(rule: &SyntheticRule, keys: &[Keys], made: &Synthetic, random: &mut ChaCha20Rng) -> String {
    let head: Vec<String> = rule.columns.iter().map(|c| quoted(c, b',')).collect();
    let mut text = format!("{}\n", head.join(","));
    let names: Vec<Vec<String>> = keys.iter().map(shown).collect();
    for row in 0..made.columns.first().map_or(0, Vec::len) {
        for (i, keys) in keys.iter().enumerate() {
            let code = made.columns[i][row] as usize;
            if i > 0 {
                text.push(',');
            }
            match keys {
                Keys::Bins { low, width, count, scale } if code < *count => {
                    let first = low + width * code as i64;
                    let last = (first + width - 1).min(scale.high);
                    let units = random.random_range(first..=last);
                    text.push_str(&scale.value(units as f64).to_string());
                }
                _ => text.push_str(&names[i][code]),
            }
        }
        text.push('\n');
    }
    text
}

/// Every key as it is written in CSV; the last one is empty.
fn shown(keys: &Keys) -> Vec<String> {
    let mut names: Vec<String> = match keys {
        Keys::Public(list) => list.iter().map(|k| quoted(k, b',')).collect(),
        Keys::Bins { .. } => {
            (0..keys.count()).map(|n| quoted(&super::bin_text(keys, n), b',')).collect()
        }
        Keys::Unknown => Vec::new(),
    };
    names.push(String::new());
    names
}

/// The fitted counts, one line per combination of keys: the columns, the keys, the count.
fn marginals(rule: &SyntheticRule, keys: &[Keys], all: &[Marginal]) -> String {
    let names: Vec<Vec<String>> = keys.iter().map(shown).collect();
    let mut text = String::from("column,key,with_column,with_key,count\n");
    for marginal in all {
        let column = |i: usize| quoted(&rule.columns[i], b',');
        for (cell, count) in marginal.counts.iter().enumerate() {
            let (first, second) = match marginal.columns.as_slice() {
                [a, b] => {
                    let width = keys[*b].count() + 1;
                    ((*a, cell / width), Some((*b, cell % width)))
                }
                columns => ((columns[0], cell), None),
            };
            let with = second
                .map_or_else(|| ",".into(), |(c, k)| format!("{},{}", column(c), names[c][k]));
            text.push_str(&format!(
                "{},{},{with},{count:.3}\n",
                column(first.0),
                names[first.0][first.1]
            ));
        }
    }
    text
}
