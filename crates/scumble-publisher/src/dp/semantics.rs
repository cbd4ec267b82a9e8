//! What a price or a finite mechanism means for an adversary's beliefs: `semantics`.
//!
//! A mechanism is a table with a column for each person's record, `transcript` and `probability`.
//! A prior is a table with the same columns for records and `probability`.

use crate::answer::{
    DataSetBelief, GameDistance, MechanismMeaning, Number, SemanticBound, SemanticPrice,
    SemanticsAnswer, SmallestDelta, TranscriptGames, VERSION,
};
use crate::publisher::{Publisher, Task};
use crate::table::columns::{Columns, ReadOptions};
use scumble::catalogue::did_you_mean;
use scumble::dp::semantics::{
    Finite, by_odds, lemma_19, proposition_15, random_record, smallest_delta,
    statistical_difference, theorem_16,
};
use scumble::exact::Fraction;
use scumble::failure::{Argument, Failure, Failures, Remedy};
use scumble::policy::Source;
use std::path::{Path, PathBuf};

/// More data sets than these are not played through: every game weighs each of them.
const MOST_DATA_SETS: usize = 1 << 12;

/// And no more pairs of data set and transcript.
const MOST_CELLS: usize = 1 << 18;

/// Columns that are not a person's record.
const TRANSCRIPT: &str = "transcript";
const PROBABILITY: &str = "probability";

/// What to find out: about a price (`epsilon`, `delta`), or about a mechanism.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SemanticsRequest {
    /// The table of a mechanism: a column for each person's record, `transcript`, `probability`.
    pub mechanism: Option<PathBuf>,
    /// Instead of a table: the sanitizer that publishes the record of one of so many people, chosen
    /// at random, with its owner.
    pub random_record: Option<usize>,
    /// The table of what the adversary believes before: a column for each person's record, and
    /// `probability`. Without one, every data set is as likely.
    pub prior: Option<PathBuf>,
    /// The record that replaces a person's own. Without one, the first value of the table.
    pub default: Option<String>,
    /// ε, as a decimal number or as `ln 3/2`.
    pub epsilon: Option<String>,
    /// δ of a price without a mechanism; without one, 0.
    pub delta: Option<String>,
    /// How many people the data are about, for the probability with which bounds fail; without
    /// one, the people of the mechanism, or 1.
    pub people: Option<u64>,
}

/// ε, and e^ε: exactly if it was given as a logarithm, otherwise rounded down.
struct Epsilon {
    value: f64,
    ratio: Fraction,
    exact: bool,
}

/// A mechanism with the names of its table.
struct Named {
    finite: Finite,
    people: Vec<String>,
    values: Vec<String>,
    transcripts: Vec<String>,
}

/// Answers the request.
pub(crate) fn semantics(task: Task<'_, SemanticsRequest>) -> Result<SemanticsAnswer, Failures> {
    let request = task.request;
    let mut problems = Failures::default();
    let epsilon = match request.epsilon.as_deref().map(Epsilon::parse).transpose() {
        Ok(epsilon) => epsilon,
        Err(problem) => {
            problems.push(problem);
            None
        }
    };
    let delta = match request.delta.as_deref().map_or(Ok(0.0), parse_delta) {
        Ok(delta) => delta,
        Err(problem) => {
            problems.push(problem);
            0.0
        }
    };
    if let Err(problem) = belong_together(request) {
        problems.push(problem);
    }
    problems.or(())?;
    let mechanism = match (&request.mechanism, request.random_record) {
        (Some(path), _) => Some(read_mechanism(path, task.publisher)?),
        (None, Some(people)) => Some(sanitizer(people)?),
        (None, None) => None,
    };
    let people = mechanism.as_ref().map_or(1, |m| m.people.len() as u64);
    let meaning = mechanism.map(|m| m.play(task, epsilon.as_ref())).transpose()?;
    // A mechanism has its own price: the ε that was asked for needs the δ that was found for it.
    let price = match (&meaning, &epsilon) {
        (None, Some(epsilon)) => Some((epsilon.value, delta)),
        (Some(meaning), None) => meaning.epsilon.map(|epsilon| (epsilon, 0.0)),
        (Some(meaning), Some(epsilon)) => {
            let smallest = meaning.smallest_delta.as_ref();
            smallest.map(|smallest| (epsilon.value, smallest.delta.to_f64()))
        }
        (None, None) => None,
    };
    let people = request.people.unwrap_or(people);
    let bounds = price.map_or_else(Vec::new, |(epsilon, delta)| bounds(epsilon, delta, people));
    let price = price.map(|(epsilon, delta)| SemanticPrice { epsilon, delta, people });
    Ok(SemanticsAnswer { version: VERSION, mechanism: meaning, price, bounds })
}

/// Whether there is something to answer, and nothing that would be ignored.
fn belong_together(request: &SemanticsRequest) -> Result<(), Failure> {
    let given = request.mechanism.is_some() || request.random_record.is_some();
    if request.mechanism.is_some() && request.random_record.is_some() {
        return Err(Failure::usage(
            "conflicting-arguments",
            "the mechanism is a table or the random record, not both",
        ));
    }
    if !given && (request.prior.is_some() || request.default.is_some()) {
        return Err(Failure::usage(
            "missing-argument",
            "a prior and a default record belong to a mechanism, and none was given",
        )
        .remedy(Remedy::default().and_give(Argument::Mechanism).then(" names its table")));
    }
    if given && request.delta.is_some() {
        return Err(Failure::usage(
            "conflicting-arguments",
            "the δ of a mechanism is found, not given",
        )
        .remedy(
            Remedy::leave_out(Argument::Delta)
                .then("; ")
                .and_give(Argument::Epsilon)
                .then(" asks for the smallest δ at an ε"),
        ));
    }
    if !given && request.epsilon.is_none() {
        return Err(Failure::usage("missing-argument", "neither a mechanism nor an ε was given")
            .remedy(
                Remedy::default()
                    .and_give(Argument::Mechanism)
                    .then(" names a table with the chance of every transcript, ")
                    .and_give(Argument::Epsilon)
                    .then(" a price"),
            ));
    }
    Ok(())
}

impl Epsilon {
    /// Reads a decimal number, or `ln` and a number.
    fn parse(text: &str) -> Result<Epsilon, Failure> {
        let text = text.trim();
        let wrong = || {
            Failure::usage("wrong-price", format!("`{text}` is not an ε"))
                .hint("write a number from 0 to 100, such as `0.5`, or the logarithm of one, such as `ln 3/2`")
        };
        if let Some(ratio) = text.strip_prefix("ln") {
            let ratio = ratio.trim().trim_start_matches('(').trim_end_matches(')');
            let ratio = Fraction::parse(ratio).ok_or_else(wrong)?;
            let value = ratio.to_f64().ln();
            if !(0.0..=100.0).contains(&value) {
                return Err(wrong());
            }
            return Ok(Epsilon { value, ratio, exact: true });
        }
        let value = Fraction::parse(text).ok_or_else(wrong)?.to_f64();
        if !(0.0..=100.0).contains(&value) {
            return Err(wrong());
        }
        // `exp` is off by less than two units in the last place: a ratio that is rounded down never
        // makes δ too small. e⁰ is exact.
        let exact = value == 0.0;
        let down = if exact { 1.0 } else { value.exp() * (1.0 - 8.0 * f64::EPSILON) };
        Ok(Epsilon { value, ratio: fraction(down.max(1.0)), exact })
    }
}

/// A finite number of at least 1 as the fraction that it is.
fn fraction(number: f64) -> Fraction {
    const MANTISSA: u64 = 52;
    let bits = number.to_bits();
    let exponent = (bits >> MANTISSA) as i32 - 1023 - MANTISSA as i32;
    let mantissa = Fraction::whole(bits & ((1 << MANTISSA) - 1) | 1 << MANTISSA);
    let power = Fraction::whole(2).power(exponent.unsigned_abs() as usize);
    if exponent < 0 { mantissa.over(&power) } else { mantissa.times(&power) }
}

fn parse_delta(text: &str) -> Result<f64, Failure> {
    let delta = Fraction::parse(text.trim()).map(|d| d.to_f64());
    delta.filter(|d| (0.0..1.0).contains(d)).ok_or_else(|| {
        Failure::usage("wrong-price", format!("`{text}` is not a δ"))
            .hint("write a number from 0 up to 1, such as `1e-6`")
    })
}

/// What the paper says of a price.
fn bounds(epsilon: f64, delta: f64, people: u64) -> Vec<SemanticBound> {
    let bound = |name: &str, about: &str, says: &str, at_most: f64, failing: f64| SemanticBound {
        name: name.into(),
        about: about.into(),
        says: says.into(),
        at_most,
        empty: at_most >= 1.0 || failing >= 1.0,
        failing: failing.min(1.0),
    };
    let (everybody, one) = ("everybody", "one person");
    let mut bounds = Vec::new();
    if delta == 0.0 {
        let at_most = proposition_15(epsilon).at_most;
        bounds.push(bound("proposition-15", everybody, "e^ε − 1", at_most, 0.0));
        bounds.push(bound("odds", everybody, "tanh(ε/2)", by_odds(epsilon).at_most, 0.0));
    }
    let general = "e^3ε − 1 + 2√δ";
    let (distance, failing) = theorem_16(epsilon, delta, people);
    bounds.push(bound("theorem-16", everybody, general, distance.at_most, failing.at_most));
    let (epsilons, deltas, failing) = lemma_19(epsilon, delta);
    bounds.push(bound("lemma-19", one, general, epsilons.exp_m1() + deltas, failing));
    bounds
}

impl Named {
    /// Plays every game after every transcript.
    fn play(
        &self,
        task: Task<'_, SemanticsRequest>,
        epsilon: Option<&Epsilon>,
    ) -> Result<MechanismMeaning, Failures> {
        let default = match &task.default {
            None => 0,
            Some(value) => self.values.iter().position(|v| v == value).ok_or_else(|| {
                Failure::usage("unknown-value", format!("no record of the mechanism is `{value}`"))
                    .hint(did_you_mean(value, self.values.iter().map(String::as_str)))
            })?,
        };
        let prior = match &task.prior {
            None => vec![
                Fraction::new(1u8, self.finite.chances.len() as u64);
                self.finite.chances.len()
            ],
            Some(path) => self.read_prior(path, task.publisher)?,
        };
        let mut games = Vec::new();
        for transcript in 0..self.transcripts.len() {
            task.publisher.observer.at(transcript as u64, self.transcripts.len() as u64);
            task.publisher.observer.go_on()?;
            games.extend(self.games(&prior, transcript, default));
        }
        // A prior and every row of the mechanism sum to one, so some transcript is possible.
        let distances = games.iter().flat_map(|game| &game.distances);
        let worst = distances.max_by(|a, b| a.distance.to_f64().total_cmp(&b.distance.to_f64()));
        let worst = worst.cloned().ok_or_else(|| {
            Failure::bug("internal", "no transcript of the mechanism is possible")
        })?;
        let neighbours = self.finite.neighbours();
        let chances = &self.finite.chances;
        let mut total_variation = Fraction::whole(0);
        let mut delta = Fraction::whole(0);
        for &(a, b) in &neighbours {
            let apart = statistical_difference(&chances[a], &chances[b]);
            total_variation = total_variation.max(apart);
            if let Some(epsilon) = epsilon {
                delta = delta.max(smallest_delta(&chances[a], &chances[b], &epsilon.ratio));
            }
        }
        let ratio = self.finite.factor();
        Ok(MechanismMeaning {
            people: self.people.clone(),
            values: self.values.clone(),
            transcripts: self.transcripts.clone(),
            data_sets: chances.len() as u64,
            default: self.values[default].clone(),
            epsilon: ratio.as_ref().map(|ratio| ratio.to_f64().ln()),
            ratio: ratio.as_ref().map(Number::from),
            total_variation: Number::from(&total_variation),
            smallest_delta: epsilon.map(|epsilon| SmallestDelta {
                epsilon: epsilon.value,
                delta: if epsilon.exact || delta.is_zero() {
                    Number::from(&delta)
                } else {
                    Number::real(delta.to_f64())
                },
            }),
            games,
            worst,
        })
    }

    /// The games after one transcript; nothing if the prior excludes it.
    fn games(
        &self,
        prior: &[Fraction],
        transcript: usize,
        default: usize,
    ) -> Option<TranscriptGames> {
        let posteriors = self.finite.posteriors(prior, transcript, default);
        let (first, others) = posteriors.split_first()?;
        let seen = first.as_ref()?;
        let chance = prior
            .iter()
            .zip(&self.finite.chances)
            .fold(Fraction::whole(0), |sum, (p, chances)| sum.plus(&p.times(&chances[transcript])));
        let mut distances = Vec::new();
        for (person, belief) in self.people.iter().zip(others) {
            let apart = match belief {
                Some(belief) => statistical_difference(seen, belief),
                None => Fraction::whole(1),
            };
            distances.push(GameDistance {
                person: person.clone(),
                transcript: self.transcripts[transcript].clone(),
                distance: Number::from(&apart),
            });
        }
        let mut beliefs = Vec::new();
        for (set, before) in prior.iter().enumerate() {
            // What the prior excludes stays excluded in every game.
            if !before.is_zero() {
                beliefs.push(DataSetBelief {
                    records: self.records(set),
                    prior: Number::from(before),
                    beliefs: posteriors
                        .iter()
                        .map(|game| game.as_ref().map(|belief| Number::from(&belief[set])))
                        .collect(),
                });
            }
        }
        Some(TranscriptGames {
            transcript: self.transcripts[transcript].clone(),
            chance: Number::from(&chance),
            distances,
            posteriors: beliefs,
        })
    }

    /// The records of a data set, in the order of the people.
    fn records(&self, mut set: usize) -> Vec<String> {
        let mut records = Vec::new();
        for _ in &self.people {
            records.push(self.values[set % self.values.len()].clone());
            set /= self.values.len();
        }
        records
    }

    /// The number of the data set of a line of a table; nothing if it has an unknown value.
    fn set(&self, table: &Sheet<'_>, row: usize) -> Option<usize> {
        let mut set = 0;
        for (person, &column) in table.records.iter().enumerate() {
            let text = table.text(column, row);
            let value = self.values.iter().position(|v| v == text)?;
            set += value * self.values.len().pow(person as u32);
        }
        Some(set)
    }

    /// Reads what the adversary believes before.
    fn read_prior(
        &self,
        path: &Path,
        publisher: &Publisher<'_>,
    ) -> Result<Vec<Fraction>, Failures> {
        let read = publisher.read(&Source::from(path), &ReadOptions::default(), None)?;
        let table = Sheet::of(&read, path, &[PROBABILITY])?;
        let mut problems = Failures::default();
        let same = table.people().eq(self.people.iter().map(String::as_str));
        if !same {
            problems.push(
                Failure::data(
                    "wrong-header",
                    format!("`{}` is not about the people of the mechanism", path.display()),
                )
                .file(path)
                .hint(format!("name its columns {}, {PROBABILITY}", self.people.join(", "))),
            );
            return Err(problems);
        }
        let mut prior = vec![None; self.finite.chances.len()];
        for row in 0..read.rows {
            match self.set(&table, row) {
                None => problems.push(table.wrong(row, "the mechanism knows no such data set")),
                Some(set) if prior[set].is_some() => {
                    problems.push(table.wrong(row, "the data set was named before"));
                }
                Some(set) => match table.probability(row) {
                    Ok(chance) => prior[set] = Some(chance),
                    Err(problem) => problems.push(problem),
                },
            }
        }
        let prior: Vec<Fraction> =
            prior.into_iter().map(|p| p.unwrap_or_else(|| Fraction::whole(0))).collect();
        let sum = prior.iter().fold(Fraction::whole(0), |sum, p| sum.plus(p));
        if problems.0.is_empty() && sum != Fraction::whole(1) {
            problems.push(
                Failure::data(
                    "wrong-distribution",
                    format!("`{}`: the probabilities sum to {sum}, not to 1", path.display()),
                )
                .file(path)
                .hint("probabilities may be written as fractions, such as `1/3`"),
            );
        }
        problems.or(prior)
    }
}

/// A table of probabilities that was read.
struct Sheet<'a> {
    read: &'a Columns,
    path: &'a Path,
    /// Columns of the people's records.
    records: Vec<usize>,
    transcript: Option<usize>,
    probability: usize,
}

impl<'a> Sheet<'a> {
    /// Finds the columns; `wanted` are those beside the people's records.
    fn of(read: &'a Columns, path: &'a Path, wanted: &[&str]) -> Result<Sheet<'a>, Failures> {
        let at = |name: &str| read.columns.iter().position(|c| c.name == name);
        let mut problems = Failures::default();
        for name in wanted.iter().filter(|name| at(name).is_none()) {
            problems.push(
                Failure::data("wrong-header", format!("`{}` has no column `{name}`", path.display()))
                    .file(path)
                    .hint("a mechanism has a column for each person's record, `transcript` and `probability`; a prior the same without `transcript`"),
            );
        }
        let records: Vec<usize> = (0..read.columns.len())
            .filter(|&i| !wanted.contains(&read.columns[i].name.as_str()))
            .collect();
        if problems.0.is_empty() && records.is_empty() {
            problems.push(
                Failure::data(
                    "wrong-header",
                    format!("`{}` has no column for a person's record", path.display()),
                )
                .file(path),
            );
        }
        let transcript = at(TRANSCRIPT);
        problems.or(())?;
        let probability = at(PROBABILITY).unwrap_or_default();
        Ok(Sheet { read, path, records, transcript, probability })
    }

    fn people(&self) -> impl Iterator<Item = &'a str> {
        let read = self.read;
        self.records.clone().into_iter().map(move |i| read.columns[i].name.as_str())
    }

    fn text(&self, column: usize, row: usize) -> &'a str {
        let column = &self.read.columns[column];
        column.values.get(column.codes[row])
    }

    fn probability(&self, row: usize) -> Result<Fraction, Failure> {
        let text = self.text(self.probability, row);
        Fraction::parse(text)
            .filter(|p| *p <= Fraction::whole(1))
            .ok_or_else(|| self.wrong(row, &format!("`{text}` is not a probability")))
    }

    fn wrong(&self, row: usize, what: &str) -> Failure {
        let line = row as u64 + 2;
        Failure::data(
            "wrong-distribution",
            format!("`{}`, line {line}: {what}", self.path.display()),
        )
        .file(self.path)
        .line(line)
    }
}

/// Reads the table of a mechanism.
fn read_mechanism(path: &Path, publisher: &Publisher<'_>) -> Result<Named, Failures> {
    let read = publisher.read(&Source::from(path), &ReadOptions::default(), None)?;
    let table = Sheet::of(&read, path, &[TRANSCRIPT, PROBABILITY])?;
    let people: Vec<String> = table.people().map(str::to_owned).collect();
    let mut values: Vec<String> = Vec::new();
    let mut transcripts: Vec<String> = Vec::new();
    let transcript_of = |row: usize| table.text(table.transcript.unwrap_or_default(), row);
    for row in 0..read.rows {
        for &column in &table.records {
            note(&mut values, table.text(column, row));
        }
        note(&mut transcripts, transcript_of(row));
    }
    let sets = u32::try_from(people.len()).ok().and_then(|n| values.len().checked_pow(n));
    let cells = sets.and_then(|sets| sets.checked_mul(transcripts.len()));
    let (Some(sets), Some(_)) =
        (sets.filter(|&n| n <= MOST_DATA_SETS), cells.filter(|&n| n <= MOST_CELLS))
    else {
        return Err(too_large(people.len(), values.len(), transcripts.len()).file(path).into());
    };
    if sets == 0 || read.rows == 0 {
        return Err(Failure::data("no-records", format!("`{}` has no lines", path.display()))
            .file(path)
            .into());
    }
    let finite = Finite { persons: people.len(), values: values.len(), chances: Vec::new() };
    let mut named = Named { finite, people, values, transcripts };
    let mut chances = vec![vec![None; named.transcripts.len()]; sets];
    let mut problems = Failures::default();
    for row in 0..read.rows {
        // Every value and transcript was noted above.
        let set = named.set(&table, row).unwrap_or_default();
        let text = transcript_of(row);
        let transcript = named.transcripts.iter().position(|t| t == text).unwrap_or_default();
        match table.probability(row) {
            Ok(_) if chances[set][transcript].is_some() => {
                problems.push(table.wrong(row, "data set and transcript were named before"));
            }
            Ok(chance) => chances[set][transcript] = Some(chance),
            Err(problem) => problems.push(problem),
        }
    }
    problems.or(())?;
    let mut problems = Failures::default();
    for (set, chances) in chances.into_iter().enumerate() {
        let chances: Vec<Fraction> =
            chances.into_iter().map(|c| c.unwrap_or_else(|| Fraction::whole(0))).collect();
        let sum = chances.iter().fold(Fraction::whole(0), |sum, c| sum.plus(c));
        if sum != Fraction::whole(1) {
            let records = named.records(set).join(", ");
            let sum = if sum.is_zero() {
                "is missing".into()
            } else {
                format!("sums to {sum}, not to 1")
            };
            problems.push(
                Failure::data(
                    "wrong-distribution",
                    format!("`{}`: the data set ({records}) {sum}", path.display()),
                )
                .file(path),
            );
        }
        named.finite.chances.push(chances);
    }
    if let Some(last) = problems.0.last_mut() {
        *last = last.clone().hint(
            "every combination of records needs probabilities that sum to 1; transcripts that are not named have 0",
        );
    }
    problems.or(named)
}

/// The sanitizer that publishes one record with its owner, for records that are 0 or 1.
fn sanitizer(people: usize) -> Result<Named, Failures> {
    let sets = u32::try_from(people).ok().and_then(|n| 2usize.checked_pow(n));
    if people == 0 || sets.is_none_or(|sets| sets > MOST_DATA_SETS) {
        return Err(too_large(people, 2, 2 * people).into());
    }
    let names: Vec<String> = (1..=people).map(|n| format!("person {n}")).collect();
    let transcripts = names.iter().flat_map(|name| (0..2).map(move |v| format!("{name} has {v}")));
    let transcripts = transcripts.collect();
    let finite = random_record(people, 2);
    Ok(Named { finite, people: names, values: vec!["0".into(), "1".into()], transcripts })
}

fn too_large(people: usize, values: usize, transcripts: usize) -> Failure {
    Failure::usage(
        "search-too-large",
        format!("{people} people with {values} values and {transcripts} transcripts are not played through"),
    )
    .hint(format!(
        "a mechanism may have from 1 to {MOST_DATA_SETS} data sets (values to the power of people), \
         and {MOST_CELLS} pairs of data set and transcript"
    ))
}

/// Adds a text to a list that lacks it.
fn note(list: &mut Vec<String>, text: &str) {
    if !list.iter().any(|known| known == text) {
        list.push(text.to_owned());
    }
}
