//! `semantics`: what a price or a mechanism means for an adversary's beliefs.

use crate::{Answer, show, to_json, watch};
use scumble::failure::Failures;
use scumble_publisher::answer::{MechanismMeaning, SemanticBound, SemanticsAnswer};
use scumble_publisher::dp::semantics::SemanticsRequest;
use scumble_publisher::publisher::Publisher;
use std::fmt::Write as _;
use std::path::PathBuf;

/// Beliefs of so many data sets fit a terminal.
const MOST_SHOWN: usize = 16;

/// Arguments of `semantics`.
#[derive(clap::Args)]
pub struct Arguments {
    /// A table of a mechanism: a column for each person's record, `transcript` and `probability`
    #[arg(long, value_name = "FILE", conflicts_with = "random_record")]
    mechanism: Option<PathBuf>,
    /// Instead: the sanitizer that publishes the record of one of so many people with its owner
    #[arg(long, value_name = "PEOPLE")]
    random_record: Option<usize>,
    /// What the adversary believes before: records and `probability` [default: all alike]
    #[arg(long, value_name = "FILE")]
    prior: Option<PathBuf>,
    /// The record that replaces a person's own in the person's game [default: the first of the
    /// table]
    #[arg(long, value_name = "VALUE")]
    default: Option<String>,
    /// The ε, as `0.5` or `ln 3`: its bounds, and the smallest δ of the mechanism
    #[arg(long, value_name = "ε", allow_hyphen_values = true)]
    epsilon: Option<String>,
    /// The δ of the bounds [default: 0]
    #[arg(long, value_name = "δ", allow_hyphen_values = true)]
    delta: Option<String>,
    /// How many people the bounds are about [default: those of the mechanism, or 1]
    #[arg(long, value_name = "NUMBER")]
    people: Option<u64>,
}

/// Carries out `semantics`.
pub fn run(arguments: Arguments) -> Result<Answer, Failures> {
    let Arguments { mechanism, random_record, prior, default, epsilon, delta, people } = arguments;
    let request =
        SemanticsRequest { mechanism, random_record, prior, default, epsilon, delta, people };
    let observer = watch::Terminal::new();
    let answer = Publisher::observed_by(&observer).semantics(&request);
    observer.clear();
    let answer = answer?;
    Ok(Answer { text: text(&answer), json: to_json(&answer)?, yes: true })
}

fn text(answer: &SemanticsAnswer) -> String {
    let mut out = String::new();
    if let Some(mechanism) = &answer.mechanism {
        played(mechanism, &mut out);
    }
    match &answer.price {
        None => out.push_str("No price holds, so no bound does.\n"),
        Some(price) => {
            let people = show::counted(price.people, "person", "people");
            let _ = writeln!(
                out,
                "Beliefs with and without a person's record, at ε = {:.4} and δ = {}, {people}:\n",
                price.epsilon,
                small(price.delta),
            );
            out.push_str(&show::table(&bounds(&answer.bounds)));
        }
    }
    out
}

/// A number that may be very small.
fn small(number: f64) -> String {
    if number == 0.0 || number >= 0.001 {
        format!("{}", (number * 1e4).round() / 1e4)
    } else {
        format!("{number:.2e}")
    }
}

fn played(m: &MechanismMeaning, out: &mut String) {
    let _ = writeln!(
        out,
        "{} with {}, {} and {}; in a person's game the record is `{}`\n",
        show::counted(m.people.len() as u64, "person", "people"),
        show::counted(m.values.len() as u64, "value", "values"),
        show::counted(m.data_sets, "data set", "data sets"),
        show::counted(m.transcripts.len() as u64, "transcript", "transcripts"),
        m.default,
    );
    let mut rows = Vec::new();
    let price = match (&m.epsilon, &m.ratio) {
        (Some(epsilon), Some(ratio)) => {
            format!("{epsilon:.4}, the logarithm of {}", show::number(ratio))
        }
        _ => "none: a transcript is possible with one of two neighbours only".into(),
    };
    rows.push(vec!["ε".into(), price]);
    rows.push(vec![
        "total variation of neighbours".into(),
        format!("at most {}", show::number(&m.total_variation)),
    ]);
    if let Some(smallest) = &m.smallest_delta {
        let delta = show::number(&smallest.delta);
        rows.push(vec![format!("smallest δ at ε = {:.4}", smallest.epsilon), delta]);
    }
    rows.push(vec![
        "farthest belief from game 0".into(),
        format!(
            "{}, of {} after {}",
            show::number(&m.worst.distance),
            m.worst.person,
            m.worst.transcript
        ),
    ]);
    out.push_str(&show::table(&rows));
    out.push('\n');
    let mut head = vec!["transcript".into(), "chance".into()];
    head.extend(m.people.iter().map(|person| format!("distance, {person}")));
    let mut rows = vec![head];
    for game in &m.games {
        let mut row = vec![game.transcript.clone(), show::number(&game.chance)];
        row.extend(game.distances.iter().map(|d| show::number(&d.distance)));
        rows.push(row);
    }
    out.push_str(&show::table(&rows));
    out.push('\n');
    if m.data_sets as usize <= MOST_SHOWN {
        beliefs(m, out);
    }
}

/// The beliefs of every game, where there are few data sets.
fn beliefs(m: &MechanismMeaning, out: &mut String) {
    for game in &m.games {
        let mut head = vec![format!("after {}", game.transcript), "before".into(), "game 0".into()];
        head.extend(m.people.iter().map(|person| format!("game of {person}")));
        let mut rows = vec![head];
        for set in &game.posteriors {
            let mut row = vec![set.records.join(", "), show::number(&set.prior)];
            for belief in &set.beliefs {
                row.push(belief.as_ref().map_or("impossible".into(), show::number));
            }
            rows.push(row);
        }
        out.push_str(&show::table(&rows));
        out.push('\n');
    }
}

fn bounds(bounds: &[SemanticBound]) -> Vec<Vec<String>> {
    let head = ["result", "for", "differ by at most", "but with probability", "formula", ""];
    let mut rows = vec![head.map(String::from).to_vec()];
    for bound in bounds {
        rows.push(vec![
            bound.name.clone(),
            bound.about.clone(),
            format!("{:.4}", bound.at_most),
            small(bound.failing),
            bound.says.clone(),
            if bound.empty { "empty: says nothing" } else { "" }.into(),
        ]);
    }
    rows
}
