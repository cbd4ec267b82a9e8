//! What the values of a column look like, without showing them.

use super::role::{Hint, Sense, Suggestion};
use super::singling::Lane;
use crate::answer::{ColumnProfile, Kind, Values};
use crate::table::columns::Column;
use scumble::taxonomy::{Decimal, parse_date};

/// Texts that often mean "missing". An asterisk is how suppressed cells are shown.
const MARKERS: [&str; 16] = [
    "NA", "N/A", "n/a", "na", "NULL", "Null", "null", "NaN", "nan", "NAN", "None", "none", "?",
    "-", "--", "*",
];

/// A column with what was found out about it.
pub(super) struct Profile {
    pub name: String,
    pub hint: Option<&'static Hint>,
    /// A code for each record. Missing, however it is written, is one code: the last.
    pub codes: Vec<u32>,
    /// Records per code.
    pub counts: Vec<u64>,
    pub kind: Kind,
    pub distinct: u64,
    pub missing: u64,
    pub unique: u64,
    commonest_share: f64,
    pub effective: f64,
    pub shape: Shape,
    taxonomy: String,
    values: Option<Values>,
}

/// What the distinct values have in common.
#[derive(Clone, Debug, Default)]
pub(super) struct Shape {
    pub numbers: Option<Numbers>,
    /// First and last day, if all are dates that a taxonomy can read.
    pub days: Option<(i64, i64)>,
    /// All are dates, but not written as YYYY-MM-DD.
    pub other_dates: bool,
    /// Letters and digits of one length.
    pub even: Option<usize>,
    /// Single words, most with a digit in them.
    pub codes: bool,
    pub emails: bool,
    /// Most begin like a code of the ICD.
    pub icd: bool,
    /// Characters per value.
    pub mean_length: f64,
    /// Values that are no numbers although nearly all others are; 0 otherwise.
    pub odd: u64,
}

/// Numbers in units of 10^-decimals.
#[derive(Clone, Debug)]
pub(super) struct Numbers {
    pub decimals: u32,
    pub least: i64,
    pub greatest: i64,
    /// Distance between the 5th and the 95th percentile of the records.
    spread: u64,
    /// Some begin with a needless zero, so they are no quantities.
    zeros: bool,
}

/// The texts to take for "missing", and what to say about those that were detected.
pub(super) fn missing_texts(columns: &[Column], given: &[String]) -> (Vec<String>, Vec<String>) {
    let mut missing = given.to_vec();
    let mut warnings = Vec::new();
    for marker in MARKERS.iter().filter(|m| !given.iter().any(|g| g == *m)) {
        // Beside a plus, a minus is a value.
        let means = |c: &&Column| {
            c.values.find(marker).is_some() && !(*marker == "-" && c.values.find("+").is_some())
        };
        let names: Vec<String> =
            columns.iter().filter(means).map(|c| format!("`{}`", c.name)).collect();
        if !names.is_empty() {
            missing.push((*marker).to_owned());
            warnings.push(format!(
                "`{marker}` in {} is taken to mean that the value is missing; if it does not, take it out of `missing`",
                some(&names)
            ));
        }
    }
    (missing, warnings)
}

/// A list of names in a sentence, cut when it gets long.
pub(super) fn some(names: &[String]) -> String {
    match names.len() {
        0..=12 => names.join(", "),
        n => format!("{} and {} more", names[..10].join(", "), n - 10),
    }
}

impl Profile {
    pub fn of(
        column: Column,
        missing: &[String],
        hint: Option<&'static Hint>,
        show_values: bool,
    ) -> Profile {
        let Column { name, values, mut codes, .. } = column;
        let is_missing: Vec<bool> = values.iter().map(|v| missing.iter().any(|m| m == v)).collect();
        let present: Vec<&str> =
            values.iter().zip(&is_missing).filter(|(_, m)| !**m).map(|(v, _)| v).collect();
        let mut new = Vec::with_capacity(is_missing.len());
        let mut next = 0u32;
        for &gone in &is_missing {
            new.push(if gone { present.len() as u32 } else { next });
            next += u32::from(!gone);
        }
        let mut counts = vec![0u64; present.len() + usize::from(present.len() < is_missing.len())];
        for code in &mut codes {
            *code = new[*code as usize];
            counts[*code as usize] += 1;
        }
        let records = codes.len().max(1) as f64;
        let share = |n: &u64| *n as f64 / records;
        let entropy: f64 = counts.iter().map(share).map(|p| -p * p.ln()).sum();
        let shape = Shape::of(&present, &counts);
        let kind = kind(&shape, present.len(), present.len() < counts.len(), hint);
        Profile {
            taxonomy: taxonomy(&shape, kind, present.len(), hint),
            values: show_values.then(|| shape.values(&present, &counts)),
            kind,
            distinct: present.len() as u64,
            missing: counts.get(present.len()).copied().unwrap_or(0),
            unique: counts[..present.len()].iter().filter(|&&n| n == 1).count() as u64,
            commonest_share: counts.iter().max().map_or(0.0, share),
            effective: if codes.is_empty() { 0.0 } else { entropy.exp() },
            name,
            hint,
            codes,
            counts,
            shape,
        }
    }

    /// Whether the rows differ in it.
    pub fn varies(&self) -> bool {
        self.counts.len() > 1
    }

    pub fn lane(&self) -> Lane<'_> {
        Lane { codes: &self.codes, counts: &self.counts }
    }

    pub fn answer(self, suggestion: Suggestion, person: bool) -> ColumnProfile {
        ColumnProfile {
            name: self.name,
            kind: self.kind,
            distinct: self.distinct,
            missing: self.missing,
            unique_values: self.unique,
            commonest_share: self.commonest_share,
            effective_values: self.effective,
            role: suggestion.role,
            person,
            reason: suggestion.reason,
            taxonomy: self.taxonomy,
            values: self.values,
        }
    }
}

impl Shape {
    fn of(present: &[&str], counts: &[u64]) -> Shape {
        if present.is_empty() {
            return Shape::default();
        }
        let share = |test: &dyn Fn(&str) -> bool| {
            present.iter().filter(|v| test(v)).count() as f64 / present.len() as f64
        };
        let days: Option<Vec<i64>> = present.iter().map(|v| parse_date(v)).collect();
        let numeric = share(&|v| Decimal::parse(v).is_some());
        let odd = if (0.9..1.0).contains(&numeric) {
            present.len() as f64 * (1.0 - numeric)
        } else {
            0.0
        };
        let length = present[0].len();
        let even = present
            .iter()
            .all(|v| v.len() == length && v.bytes().all(|b| b.is_ascii_alphanumeric()));
        let word = |v: &str| !v.contains(char::is_whitespace);
        let digit = |v: &str| v.contains(|c: char| c.is_ascii_digit());
        Shape {
            numbers: Numbers::of(present, counts),
            other_dates: days.is_none() && present.iter().all(|v| is_other_date(v)),
            days: days.and_then(|d| Some((*d.iter().min()?, *d.iter().max()?))),
            even: even.then_some(length),
            codes: share(&word) == 1.0 && share(&digit) >= 0.8,
            emails: share(&is_email) >= 0.9,
            icd: present.len() >= 5 && share(&is_icd) >= 0.9,
            mean_length: present.iter().map(|v| v.chars().count() as f64).sum::<f64>()
                / present.len() as f64,
            odd: odd.round() as u64,
        }
    }

    fn values(&self, present: &[&str], counts: &[u64]) -> Values {
        let mut order: Vec<usize> = (0..present.len()).collect();
        order.sort_by(|&a, &b| counts[b].cmp(&counts[a]).then(present[a].cmp(present[b])));
        let place = |v: &str| match &self.numbers {
            Some(numbers) => Decimal::parse(v).and_then(|d| d.units(numbers.decimals)),
            None => None,
        };
        let by = |a: &&&str, b: &&&str| place(a).cmp(&place(b)).then(a.cmp(b));
        Values {
            commonest: order.iter().take(5).map(|&i| present[i].to_owned()).collect(),
            least: present.iter().min_by(by).map(|v| (*v).to_owned()),
            greatest: present.iter().max_by(by).map(|v| (*v).to_owned()),
        }
    }
}

impl Numbers {
    /// `None` unless the `number` rule of a policy would take every value.
    fn of(present: &[&str], counts: &[u64]) -> Option<Numbers> {
        let parsed: Vec<Decimal> =
            present.iter().map(|v| Decimal::parse(v)).collect::<Option<_>>()?;
        let decimals = parsed.iter().map(|d| d.decimals).max()?;
        let units = parsed.iter().map(|d| d.units(decimals)).collect::<Option<Vec<i64>>>()?;
        let mut placed: Vec<(i64, u64)> = units.into_iter().zip(counts.iter().copied()).collect();
        placed.sort_unstable();
        let total: u64 = placed.iter().map(|p| p.1).sum();
        let at = |rank: u64| {
            let mut before = 0;
            placed.iter().find(|(_, n)| {
                before += n;
                before > rank
            })
        };
        let (low, high) = (at(total / 20)?.0, at(total - 1 - total / 20)?.0);
        let needless = |v: &&str| {
            let bytes = v.trim().as_bytes();
            bytes.len() > 1 && bytes[0] == b'0' && bytes[1].is_ascii_digit()
        };
        Some(Numbers {
            decimals,
            least: placed.first()?.0,
            greatest: placed.last()?.0,
            spread: high.abs_diff(low),
            zeros: present.iter().any(needless),
        })
    }

    /// Three nesting widths, of which the first cuts the bulk of the records in about ten.
    fn widths(&self) -> Option<[String; 3]> {
        let wanted = self.spread as f64 / 10.0;
        let round = |power: u32| [1u64, 2, 5].map(|n| n.saturating_mul(10u64.pow(power)));
        // A width of one unit would be the value itself.
        let nice = (0..17).flat_map(round).filter(|&w| w > 1);
        let off = |w: &u64| (*w as f64 / wanted).ln().abs();
        let width = nice.min_by(|a, b| off(a).total_cmp(&off(b)))?;
        let show = |w: u64| {
            let text = Decimal::show(i64::try_from(w).ok()?, self.decimals);
            let short = if text.contains('.') {
                text.trim_end_matches('0').trim_end_matches('.')
            } else {
                &text
            };
            Some(short.to_owned())
        };
        (self.spread >= 8).then_some([show(width)?, show(2 * width)?, show(4 * width)?])
    }
}

/// `15.5.1952`, `05/15/1952`, `1952/05/15`: three numbers of which one is a year.
fn is_other_date(text: &str) -> bool {
    let day = text.trim().split([' ', 'T']).next().unwrap_or("");
    let parts: Vec<&str> = day.split(['.', '/', '-']).collect();
    let digits = |p: &&str| !p.is_empty() && p.len() <= 4 && p.bytes().all(|b| b.is_ascii_digit());
    parts.len() == 3
        && parts.iter().all(digits)
        && parts[1].len() <= 2
        && matches!((parts[0].len(), parts[2].len()), (4, 1 | 2) | (1 | 2, 4 | 2))
}

fn is_email(text: &str) -> bool {
    text.split_once('@')
        .is_some_and(|(user, host)| !user.is_empty() && host.contains('.') && !text.contains(' '))
}

/// A letter and two digits, then nothing, a point or a blank.
fn is_icd(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() >= 3
        && bytes[0].is_ascii_uppercase()
        && bytes[1..3].iter().all(u8::is_ascii_digit)
        && matches!(bytes.get(3), None | Some(b'.' | b' '))
}

fn kind(shape: &Shape, distinct: usize, missing: bool, hint: Option<&Hint>) -> Kind {
    let names_things = hint.is_some_and(|h| h.sense != Sense::Quantity);
    match &shape.numbers {
        _ if distinct == 0 => Kind::Empty,
        _ if distinct == 1 && !missing => Kind::Constant,
        _ if distinct + usize::from(missing) == 2 => Kind::Flag,
        _ if shape.days.is_some() || shape.other_dates => Kind::Date,
        Some(numbers) if names_things || numbers.zeros => Kind::Code,
        Some(_) => Kind::Number,
        None if shape.codes => Kind::Code,
        None => Kind::Text,
    }
}

/// A rule that covers every value.
fn taxonomy(shape: &Shape, kind: Kind, distinct: usize, hint: Option<&Hint>) -> String {
    let flat = || "{ flat = true }".to_owned();
    let sense = hint.map_or(Sense::Quantity, |h| h.sense);
    match (kind, &shape.numbers, shape.days) {
        (Kind::Date, _, Some((first, last))) => {
            let decade = if last - first > 20 * 365 { ", \"decade\"" } else { "" };
            format!("{{ dates = [\"month\", \"quarter\", \"year\"{decade}] }}")
        }
        (Kind::Number, Some(numbers), _) => match numbers.widths().filter(|_| distinct > 4) {
            Some(widths) => format!("{{ intervals = [{}] }}", widths.join(", ")),
            None => "{ number = true }".to_owned(),
        },
        // Codes of different lengths have no common prefixes to speak of; postal codes that lost
        // their zeros still have neighbours.
        (Kind::Code, numbers, _) => match shape.even.filter(|n| (3..=12).contains(n)) {
            Some(length) if sense != Sense::Name => {
                format!("{{ prefix = true, length = {length} }}")
            }
            _ if numbers.is_some() && sense == Sense::Postal => "{ number = true }".to_owned(),
            _ => flat(),
        },
        _ => flat(),
    }
}
