//! `scumble attack --statistics`: the answer as text.

use super::figures;
use crate::show::{counted, number};
use scumble_publisher::answer::{Averaged, Disclosed, Finding, Number, StatisticsAttacked};
use std::fmt::Write;

/// How many findings of a kind a person reads; `--json` has all of them.
const LISTED: usize = 20;
/// How many people are named.
const NAMED: usize = 6;

/// The answer.
pub fn shown(a: &StatisticsAttacked) -> String {
    let mut text = String::new();
    for outcome in &a.attacks {
        let _ = writeln!(text, "{}: {}\n", outcome.attack, a.statistics);
        text.push_str(&figures(&outcome.figures));
        for kind in [Finding::Value, Finding::Everybody, Finding::Nobody, Finding::SmallCount] {
            let found: Vec<&Disclosed> =
                outcome.disclosures.iter().filter(|d| d.finding == kind).collect();
            text.push_str(&listed(&found, disclosed));
        }
        text.push_str(&listed(&outcome.averages.iter().collect::<Vec<_>>(), averaged));
        text.push('\n');
    }
    for failed in &a.failed {
        let _ = writeln!(text, "FAILED {failed}");
    }
    text
}

/// The first findings, and how many more there are.
fn listed<T>(found: &[&T], tell: impl Fn(&T) -> String) -> String {
    let mut text: String =
        found.iter().take(LISTED).map(|d| format!("\n  {}\n", tell(d))).collect();
    if found.len() > LISTED {
        let _ = writeln!(text, "\n  and {} more (`--json` lists them)", found.len() - LISTED);
    }
    text
}

fn who(d: &Disclosed) -> String {
    match d.people.len() {
        0 => counted(d.size, "person", "people"),
        n if n <= NAMED => d.people.join(", "),
        n => format!("{} and {} more", d.people[..NAMED].join(", "), n - NAMED),
    }
}

fn disclosed(d: &Disclosed) -> String {
    let lines: Vec<String> = d.lines.iter().map(usize::to_string).collect();
    let lines = format!("{} {}", if lines.len() == 1 { "line" } else { "lines" }, lines.join(", "));
    let told = match d.finding {
        Finding::Value if d.size == 1 => format!("{}: {} is {}", who(d), d.of, exactly(d)),
        Finding::Value => format!("{}: {} together is {}", who(d), d.of, exactly(d)),
        Finding::Everybody => format!("{}: {} for certain", who(d), d.of),
        Finding::Nobody => format!("{}: not {} for certain", who(d), d.of),
        _ if d.of.is_empty() => format!("{}: counted apart, {}", who(d), exactly(d)),
        _ => format!(
            "{}: {} of {} {}",
            who(d),
            exactly(d),
            counted(d.size, "person", "people"),
            d.of
        ),
    };
    format!("{told}\n    {} ({lines})", d.formula)
}

/// The value with what rounding and noise leave of it.
fn exactly(d: &Disclosed) -> String {
    let mut text = number(&d.value);
    if d.within != (Number { value: Some(0.0), exact: Some("0".into()) }) {
        let _ = write!(text, " ± {} by rounding", number(&d.within));
    }
    if let Some(deviation) = d.deviation {
        let _ = write!(text, ", standard deviation {deviation:.1} by noise");
    }
    text
}

fn averaged(a: &Averaged) -> String {
    let of = if a.of.is_empty() { String::new() } else { format!(" of {}", a.of) };
    let noise = if a.noise_known { "" } else { ", its noise learnt from them" };
    let enough = match a.narrow {
        true => "enough to round to the true value".to_owned(),
        false => format!(
            "{} would tell it to half a unit of {}",
            counted(a.needed, "answer", "answers"),
            a.unit
        ),
    };
    format!(
        "{}{of} over {}: {:.4} from {}, standard error {:.4}{noise}\n    between {:.4} and {:.4} with 95 % confidence; {enough}",
        a.statistic,
        a.over,
        a.estimate,
        counted(a.answers, "answer", "answers"),
        a.error,
        a.low,
        a.high
    )
}
