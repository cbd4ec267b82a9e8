//! Queries as text: one per line, `#` starts a comment.

use super::{Condition, End, Query, Test};
use crate::failure::{Failure, Failures};

/// Reads a workload: a query on every line that is not empty. Failures name the line and the place
/// in it.
pub fn parse_workload(name: &str, text: &str) -> Result<Vec<Query>, Failures> {
    let (mut queries, mut problems) = (Vec::new(), Failures::default());
    for (i, line) in text.lines().enumerate() {
        if line.trim_start().is_empty() || line.trim_start().starts_with('#') {
            continue;
        }
        match parse(line, &format!("`{name}`, line {}", i + 1)) {
            Ok(query) => queries.push(query),
            Err(problem) => problems.push(problem),
        }
    }
    if queries.is_empty() && problems.0.is_empty() {
        problems.push(Failure::data("no-queries", format!("`{name}` has no queries")).hint(HINT));
    }
    problems.or(queries)
}

const HINT: &str =
    "write `age in [30, 40] and job = Artist and disease in (Flu, HIV)`; quote names with spaces";

impl Query {
    /// Reads one query.
    pub fn parse(text: &str) -> Result<Query, Failure> {
        parse(text, "the query")
    }
}

fn parse(line: &str, place: &str) -> Result<Query, Failure> {
    let tokens = tokens(line).map_err(|(at, what)| wrong(line, place, at, what))?;
    let mut reader = Reader { tokens: &tokens, at: 0 };
    reader.query().map_err(|what| {
        let at = tokens.get(reader.at).map_or(line.len(), |t| t.at);
        wrong(line, place, at, &what)
    })
}

fn wrong(line: &str, place: &str, at: usize, what: &str) -> Failure {
    Failure::usage(
        "wrong-query",
        format!("{place}, column {}: {what}", line[..at].chars().count() + 1),
    )
    .hint(HINT)
}

/// A word, a quoted text or a sign, and the byte where it begins.
struct Token {
    at: usize,
    text: String,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Word,
    Quoted,
    Sign,
}

const SIGNS: [&str; 10] = ["<=", ">=", "<", ">", "=", "[", "]", "(", ")", ","];

fn tokens(line: &str) -> Result<Vec<Token>, (usize, &'static str)> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(c) = line[at..].chars().next() {
        let rest = &line[at..];
        if c.is_whitespace() {
            at += c.len_utf8();
        } else if c == '#' {
            break;
        } else if c == '"' || c == '\'' {
            let end = rest[1..].find(c).ok_or((at, "a quote is not closed"))?;
            tokens.push(Token { at, text: rest[1..=end].into(), kind: Kind::Quoted });
            at += end + 2;
        } else if let Some(sign) = SIGNS.iter().find(|s| rest.starts_with(**s)) {
            tokens.push(Token { at, text: (*sign).into(), kind: Kind::Sign });
            at += sign.len();
        } else {
            let end = rest.find(ends_a_word).unwrap_or(rest.len());
            tokens.push(Token { at, text: rest[..end].into(), kind: Kind::Word });
            at += end;
        }
    }
    Ok(tokens)
}

fn ends_a_word(c: char) -> bool {
    c.is_whitespace() || "<>=[](),\"'#".contains(c)
}

/// A text as it must be written to be read back.
pub(super) fn quoted(text: &str) -> String {
    let keyword = ["and", "in", "count"].iter().any(|k| text.eq_ignore_ascii_case(k));
    if !text.is_empty() && !keyword && !text.contains(ends_a_word) {
        text.to_owned()
    } else if text.contains('"') {
        format!("'{text}'")
    } else {
        format!("\"{text}\"")
    }
}

struct Reader<'a> {
    tokens: &'a [Token],
    at: usize,
}

impl Reader<'_> {
    fn query(&mut self) -> Result<Query, String> {
        self.keyword("count");
        let mut conditions = Vec::new();
        if self.at == self.tokens.len() && self.at > 0 {
            return Ok(Query { conditions });
        }
        loop {
            conditions.push(self.condition()?);
            if self.at == self.tokens.len() {
                return Ok(Query { conditions });
            }
            if !self.keyword("and") {
                return Err("expected `and` or the end of the query".into());
            }
        }
    }

    fn condition(&mut self) -> Result<Condition, String> {
        let attribute = self.value("the name of an attribute")?;
        let test = if self.keyword("in") {
            self.range_or_list()?
        } else if self.sign("=") {
            Test::In(vec![self.value("a value")?])
        } else if let Some(sign) = [">=", ">", "<=", "<"].into_iter().find(|s| self.sign(s)) {
            let end = Some(End { value: self.value("a value")?, included: sign.len() == 2 });
            if sign.starts_with('>') { Test::Range(end, None) } else { Test::Range(None, end) }
        } else {
            return Err("expected `in`, `=`, `>=`, `>`, `<=` or `<`".into());
        };
        Ok(Condition { attribute, test })
    }

    /// `[30, 40]`, `[30, 40)`, `(30, 40]`: a range. `(Writer, Dancer)`: values.
    fn range_or_list(&mut self) -> Result<Test, String> {
        let open = if self.sign("[") {
            true
        } else if self.sign("(") {
            false
        } else {
            return Err("expected `[` before a range or `(` before values".into());
        };
        let mut values = vec![self.value("a value")?];
        while self.sign(",") {
            values.push(self.value("a value")?);
        }
        let close = if self.sign("]") {
            true
        } else if self.sign(")") {
            false
        } else {
            return Err("expected `,`, `]` or `)`".into());
        };
        if !open && !close {
            return Ok(Test::In(values));
        }
        let [low, high] = <[String; 2]>::try_from(values).map_err(|_| "a range has two ends")?;
        let end = |value, included| Some(End { value, included });
        Ok(Test::Range(end(low, open), end(high, close)))
    }

    fn keyword(&mut self, word: &str) -> bool {
        self.take(|t| t.kind == Kind::Word && t.text.eq_ignore_ascii_case(word)).is_some()
    }

    fn sign(&mut self, sign: &str) -> bool {
        self.take(|t| t.kind == Kind::Sign && t.text == sign).is_some()
    }

    fn value(&mut self, what: &str) -> Result<String, String> {
        self.take(|t| t.kind != Kind::Sign).ok_or_else(|| format!("expected {what}"))
    }

    fn take(&mut self, wanted: impl Fn(&Token) -> bool) -> Option<String> {
        let token = self.tokens.get(self.at).filter(|t| wanted(t))?;
        self.at += 1;
        Some(token.text.clone())
    }
}
