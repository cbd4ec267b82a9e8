//! What an adversary knows besides the releases, as lines of text.
//!
//! A line is `WHO: WHAT`. WHO are conditions on columns of the register, as in `scumble query`;
//! WHAT says how many of these people have a value:
//!
//! ```text
//! name = Alice: not Flu
//! name = Bob: one of Flu, Pneumonia
//! sex = Male: no Breast cancer
//! age in [60, 90] and sex = Female: at least 3 Flu
//! job = Writer: at most 25% Flu, HIV
//! ```
//!
//! `not`, `no` and `none of` mean nobody, `one of` everybody, `at least`, `at most` and `exactly` a
//! number of people, or a share of those whom the conditions describe.

use super::Scene;
use super::scene::ordered;
use crate::catalogue::did_you_mean;
use crate::exact::Ratio;
use crate::failure::{Failure, Failures};
use crate::inference::Known;
use crate::query::Query;
use crate::register::Register;
use crate::table::number_tuples_of;

/// A statement about people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// As it was written.
    pub text: String,
    who: Query,
    amount: Amount,
    values: Vec<String>,
}

/// How many of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Amount {
    Nobody,
    Everybody,
    AtLeast(Number),
    AtMost(Number),
    Exactly(Number),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Number {
    People(u64),
    Share(Ratio),
}

/// Words that say how many, the longest first.
const AMOUNTS: [(&str, bool); 7] = [
    ("at least ", true),
    ("at most ", true),
    ("exactly ", true),
    ("none of ", false),
    ("one of ", false),
    ("not ", false),
    ("no ", false),
];

/// Reads statements, one per line; `#` starts a comment. All problems are told, with their lines.
pub fn parse(text: &str) -> Result<Vec<Statement>, Failures> {
    let mut problems = Failures::default();
    let mut statements = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        match parse_line(line) {
            Ok(statement) => statements.push(statement),
            Err(p) => problems.push(p.within(format_args!("line {number}: ")).line(number)),
        }
    }
    problems.or(statements)
}

fn parse_line(line: &str) -> Result<Statement, Failure> {
    let shape = "write `WHO: WHAT`, as in `name = Alice: not Flu` or `sex = Male: at most 3 Flu`";
    // A value may hold a colon, a name may not: the first colon outside quotes ends WHO.
    let mut quoted = false;
    let colon = line.char_indices().find(|&(_, c)| {
        quoted ^= c == '"';
        c == ':' && !quoted
    });
    let (at, _) = colon
        .ok_or_else(|| Failure::data("wrong-fact", "a statement has two parts").hint(shape))?;
    let who = Query::parse(line[..at].trim())?;
    let what = line[at + 1..].trim();
    let found = AMOUNTS.iter().find(|(words, _)| what.starts_with(words));
    let &(words, counted) = found.ok_or_else(|| {
        Failure::data("wrong-fact", "the second part does not say how many").hint(shape)
    })?;
    let rest = what[words.len()..].trim();
    let (amount, rest) = if counted {
        let (number, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        let number = parse_number(number).ok_or_else(|| {
            Failure::data("wrong-fact", format!("`{number}` is not a number of people or a share"))
                .hint("write `3` or `25%`")
        })?;
        let amount = match words {
            "at least " => Amount::AtLeast(number),
            "at most " => Amount::AtMost(number),
            _ => Amount::Exactly(number),
        };
        (amount, rest)
    } else {
        (if words == "one of " { Amount::Everybody } else { Amount::Nobody }, rest)
    };
    let values: Vec<String> =
        rest.split(',').map(|v| v.trim().trim_matches('"').to_owned()).collect();
    if values.iter().any(String::is_empty) {
        return Err(Failure::data("wrong-fact", "the second part names no value").hint(shape));
    }
    Ok(Statement { text: line.to_owned(), who, amount, values })
}

fn parse_number(text: &str) -> Option<Number> {
    match text.strip_suffix('%') {
        Some(percent) => {
            let share = Ratio::parse(percent)?;
            let share = Ratio::new(share.num(), share.den().checked_mul(100)?);
            (share <= Ratio::whole(1)).then_some(Number::Share(share))
        }
        None => text.parse().ok().map(Number::People),
    }
}

/// The columns of a register that statements ask for.
pub fn columns(statements: &[Statement]) -> Vec<String> {
    let mut names: Vec<String> =
        statements.iter().flat_map(|s| &s.who.conditions).map(|c| c.attribute.clone()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Which rows of a register each statement is about.
pub fn rows(statements: &[Statement], register: &Register) -> Result<Vec<Vec<bool>>, Failures> {
    let mut problems = Failures::default();
    let mut all = Vec::new();
    for statement in statements {
        match register.meeting(&statement.who) {
            Ok(rows) if rows.iter().any(|r| *r) => all.push(rows),
            Ok(_) => problems.push(
                Failure::data(
                    "nobody-meant",
                    format!("nobody of the register is meant by `{}`", statement.text),
                )
                .hint("compare the conditions with the register's columns"),
            ),
            Err(p) => problems
                .push(Failure { message: format!("`{}`: {}", statement.text, p.message), ..p }),
        }
    }
    problems.or(all)
}

/// The number of the combination of statements that each row is meant by: rows of different numbers
/// are no longer alike.
pub fn apart(rows: &[Vec<bool>]) -> Option<Vec<u32>> {
    let people = rows.first()?.len();
    let (number_of, firsts) = number_tuples_of(people, &vec![2; rows.len()], |statement, row| {
        rows[statement][row].into()
    });
    let combination = |row: u32| rows.iter().map(move |statement| statement[row as usize]);
    Some(ordered(number_of, firsts, |a, b| combination(a).cmp(combination(b))).0)
}

/// The statements about the kinds of people of a scene, as the inference engine takes them.
pub fn known(
    statements: &[Statement],
    rows: &[Vec<bool>],
    scene: &Scene,
) -> Result<Vec<Known>, Failures> {
    let crowd = scene.people()?;
    let mut problems = Failures::default();
    let mut all = Vec::new();
    for (statement, rows) in statements.iter().zip(rows) {
        let kinds: Vec<u32> = (0..crowd.kinds.len() as u32)
            .filter(|&k| rows[crowd.kinds[k as usize].row as usize])
            .collect();
        let people = kinds.iter().map(|&k| crowd.kinds[k as usize].people).sum();
        let mut values = Vec::new();
        for name in &statement.values {
            match scene.values.iter().position(|v| v == name) {
                Some(code) => values.push(code as u32),
                None => problems.push(
                    Failure::data(
                        "unknown-value",
                        format!(
                            "`{}`: `{name}` is no value of `{}` in any release",
                            statement.text, scene.attribute
                        ),
                    )
                    .hint(did_you_mean(name, scene.values.iter().map(String::as_str))),
                ),
            }
        }
        values.sort_unstable();
        values.dedup();
        let (low, high) = statement.amount.bounds(people);
        if low > high {
            let text = &statement.text;
            problems.push(
                Failure::data("wrong-fact", format!("`{text}` can not be met by {people} people"))
                    .hint("say a whole number of people, or `at least` and `at most`"),
            );
        }
        all.push(Known { kinds, values, low, high });
    }
    problems.or(all)
}

impl Amount {
    /// The fewest and the most of so many people.
    fn bounds(self, people: u64) -> (u64, u64) {
        let up = |n: Number| match n {
            Number::People(n) => n,
            Number::Share(share) => {
                people - Ratio::new(share.den() - share.num(), share.den()).of(people)
            }
        };
        let down = |n: Number| match n {
            Number::People(n) => n.min(people),
            Number::Share(share) => share.of(people),
        };
        match self {
            Amount::Nobody => (0, 0),
            Amount::Everybody => (people, people),
            Amount::AtLeast(n) => (up(n), people),
            Amount::AtMost(n) => (0, down(n)),
            Amount::Exactly(n) => (up(n), down(n)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::register::RegisterColumn;

    #[test]
    fn statements_are_read() {
        let text = "# known\nname = Alice: not Flu\n\nage in [60, 90] and sex = F: at least 3 Flu, HIV\njob = x: at most 25% Flu\n";
        let statements = parse(text).unwrap();
        assert_eq!(statements.len(), 3);
        assert_eq!(statements[0].amount, Amount::Nobody);
        assert_eq!(statements[1].values, ["Flu", "HIV"]);
        assert_eq!(statements[1].amount.bounds(10), (3, 10));
        assert_eq!(statements[2].amount.bounds(10), (0, 2));
        assert_eq!(Amount::AtLeast(Number::Share(Ratio::new(1, 4))).bounds(10), (3, 10));
        assert_eq!(Amount::Exactly(Number::Share(Ratio::new(1, 4))).bounds(8), (2, 2));
        let problems = parse("Alice\nname = A: Flu\nname = A: at least some Flu\n").unwrap_err();
        assert_eq!(problems.0.len(), 3);
        assert!(problems.0[2].message.starts_with("line 3: `some`"), "{}", problems.0[2].message);
    }

    #[test]
    fn conditions_pick_rows() {
        let column = |name: &str, texts: &[&str]| RegisterColumn {
            name: name.into(),
            texts: texts.iter().map(|t| (*t).to_owned()).collect(),
            codes: (0..texts.len() as u32).collect(),
        };
        let register = Register::new(vec![
            column("name", &["A", "B", "C"]),
            column("age", &["30", "45", "60"]),
        ])
        .unwrap();
        let statements = parse("age >= 45: not Flu\nname = A: not Flu\n").unwrap();
        let rows = rows(&statements, &register).unwrap();
        assert_eq!(rows, [vec![false, true, true], vec![true, false, false]]);
        assert_eq!(apart(&rows).unwrap(), [0, 1, 1]);
        assert!(super::rows(&parse("age > 60: not Flu").unwrap(), &register).is_err());
    }
}
