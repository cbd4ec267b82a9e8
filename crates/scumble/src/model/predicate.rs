//! # predicate
//!
//! A promise of your own: an expression about the sensitive values of a class that must be true in
//! every class.
//!
//! ## Definition
//! `expression` is written with these names and numbers:
//!
//! - `size`: records of the class; `distinct`: different values in it; `max`, `min`: the largest
//!   and the smallest count of a value that occurs in it; `rank(i)`: the i-th largest count, 0 if
//!   there are fewer values.
//! - `count('v')`, `share('v')`: how many records, or which share of the class, have the value;
//!   `table_share('v')`: the share in the whole table. Several values, `share('HIV', 'AIDS')`, are
//!   counted together, and a node of the taxonomy stands for all values under it. A quote within a
//!   value is written twice.
//! - decimal numbers, `+ - * /`, comparisons `< <= > >= = !=`, `and`, `or`, `not`, and brackets.
//!   `not` binds more than `and`, and `and` more than `or`.
//!
//! For example `distinct >= 3 and max / size <= 0.5 and share('HIV') <= 2 * table_share('HIV')`.
//! Everything is computed in exact fractions. A comparison in which something is divided by zero is
//! false. The measured value is 1 where the expression is true and 0 where it is not.
//!
//! Nothing is known about what happens when classes are merged, so that algorithms do not rely on
//! it: some refuse what others find. `monotone = "yes"` says, on your word, that two classes for
//! which the expression is true make one for which it is true. The release is judged at the end in
//! any case.
//!
//! ## Protects against
//! What the expression says, no more.
//!
//! ## Does not protect against
//! Everything else. An expression that no theory stands behind should accompany one of the other
//! models, not replace it.
//!
//! ## Reference
//! Machanavajjhala et al. 2006 leave room for further notions of diversity; this is that room.

use super::{Bound, Concern, Context, Leaves, Measured, Model, Promise, Verdict};
use crate::catalogue::{Entry, Kind, Parameter, did_you_mean};
use crate::class::{EquivalenceClass, Histogram};
use crate::exact::{Ratio, Rational};
use crate::failure::{Action, Failure, Remedy};
use std::cmp::Ordering;

pub(super) const ENTRY: Entry<Box<dyn Model>> = Entry {
    name: "predicate",
    summary: "an expression of your own about the values of a class is true in every class",
    source: include_str!("predicate.rs"),
    parameters: &[
        Parameter {
            name: "expression",
            kind: Kind::Text("distinct >= 3 and max / size <= 0.5"),
            default: None,
            about: "what must be true in every class",
        },
        Parameter {
            name: "monotone",
            kind: Kind::Choice(&["no", "yes"]),
            default: Some("no"),
            about: "whether it stays true when classes are merged, on your word",
        },
    ],
    build: |p| {
        let (truth, values) = parse(p.text("expression")).map_err(Fault::problem)?;
        Ok(Box::new(Predicate { truth, values, monotone: p.word("monotone") == "yes" }))
    },
};

struct Predicate {
    truth: Truth,
    /// Every value that it names.
    values: Vec<String>,
    monotone: bool,
}

impl Model for Predicate {
    fn judge(&self, cx: &Context<'_>, class: &EquivalenceClass) -> Verdict {
        let holds = Scene { cx, class }.is_true(&self.truth);
        Verdict { holds, measured: Measured::Exact(Ratio::whole(holds.into())) }
    }

    fn promise(&self) -> Promise {
        Promise {
            monotone: self.monotone,
            ..Promise::new(Ratio::whole(1), Bound::AtLeast, Concern::Sensitive)
        }
    }

    fn fits(&self, cx: &Context<'_>) -> Result<(), Failure> {
        cx.knows(ENTRY.name, &self.values)
    }
}

/// What is true or not.
enum Truth {
    Compare(Comparison, Term, Term),
    And(Box<Truth>, Box<Truth>),
    Or(Box<Truth>, Box<Truth>),
    Not(Box<Truth>),
}

/// What is a number.
enum Term {
    Number(Ratio),
    Size,
    Distinct,
    Max,
    Min,
    Rank(usize),
    Count(Vec<String>),
    Share(Vec<String>),
    TableShare(Vec<String>),
    Negative(Box<Term>),
    Calculate(Operation, Box<Term>, Box<Term>),
}

#[derive(Clone, Copy)]
enum Operation {
    Plus,
    Minus,
    Times,
    Over,
}

#[derive(Clone, Copy)]
enum Comparison {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    NotEqual,
}

impl Comparison {
    fn is_met(self, order: Ordering) -> bool {
        match self {
            Comparison::Less => order.is_lt(),
            Comparison::LessOrEqual => order.is_le(),
            Comparison::Greater => order.is_gt(),
            Comparison::GreaterOrEqual => order.is_ge(),
            Comparison::Equal => order.is_eq(),
            Comparison::NotEqual => order.is_ne(),
        }
    }
}

impl Operation {
    /// Nothing where it would be divided by zero.
    fn of(self, a: &Rational, b: &Rational) -> Option<Rational> {
        Some(match self {
            Operation::Plus => a.plus(b),
            Operation::Minus => a.minus(b),
            Operation::Times => a.times(b),
            Operation::Over => return a.over(b),
        })
    }
}

/// Part of a whole; of nothing it is nothing.
fn share(part: u64, whole: u64) -> Rational {
    Ratio::new(part.into(), whole.max(1).into()).into()
}

/// A class, and the table that it is of.
struct Scene<'a> {
    cx: &'a Context<'a>,
    class: &'a EquivalenceClass,
}

impl Scene<'_> {
    fn is_true(&self, truth: &Truth) -> bool {
        match truth {
            Truth::Compare(comparison, a, b) => match (self.value(a), self.value(b)) {
                (Some(a), Some(b)) => comparison.is_met(a.cmp(&b)),
                _ => false,
            },
            Truth::And(a, b) => self.is_true(a) && self.is_true(b),
            Truth::Or(a, b) => self.is_true(a) || self.is_true(b),
            Truth::Not(a) => !self.is_true(a),
        }
    }

    fn histogram(&self) -> &Histogram {
        &self.class.histograms[self.cx.attribute]
    }

    fn count(&self, values: &[String]) -> u64 {
        let leaves: Leaves = self.cx.leaves_of(values);
        self.histogram().0.iter().filter(|(code, _)| leaves.contains(*code)).map(|(_, n)| n).sum()
    }

    fn table_share(&self, values: &[String]) -> Rational {
        let (leaves, table) =
            (self.cx.leaves_of(values), &self.cx.distributions[self.cx.attribute]);
        let counted = table.occurring.iter().filter(|&&code| leaves.contains(code));
        share(counted.map(|&code| table.counts[code as usize]).sum(), table.total)
    }

    /// The value of a term; nothing if something is divided by zero.
    fn value(&self, term: &Term) -> Option<Rational> {
        let counts = || self.histogram().0.iter().map(|&(_, n)| n);
        Some(match term {
            Term::Number(n) => (*n).into(),
            Term::Size => Rational::whole(self.class.count),
            Term::Distinct => Rational::whole(self.histogram().distinct() as u64),
            Term::Max => Rational::whole(counts().max().unwrap_or(0)),
            Term::Min => Rational::whole(counts().min().unwrap_or(0)),
            Term::Rank(i) => {
                let mut sorted: Vec<u64> = counts().collect();
                sorted.sort_unstable_by(|a, b| b.cmp(a));
                Rational::whole(sorted.get(i - 1).copied().unwrap_or(0))
            }
            Term::Count(values) => Rational::whole(self.count(values)),
            Term::Share(values) => share(self.count(values), self.histogram().total()),
            Term::TableShare(values) => self.table_share(values),
            Term::Negative(a) => self.value(a)?.negative(),
            Term::Calculate(operation, a, b) => {
                return operation.of(&self.value(a)?, &self.value(b)?);
            }
        })
    }
}

/// What is wrong with an expression, and where: the number of the character.
struct Fault {
    at: usize,
    message: String,
    remedy: Remedy,
}

impl Fault {
    fn problem(self) -> Failure {
        Failure::policy(
            "wrong-expression",
            format!(
                "`expression` of `{}`, character {}: {}",
                ENTRY.name,
                self.at + 1,
                self.message
            ),
        )
        .remedy(self.remedy)
    }
}

#[derive(Clone, PartialEq)]
enum Token {
    Word(String),
    Number(String),
    Quoted(String),
    Symbol(&'static str),
    End,
}

impl Token {
    fn show(&self) -> String {
        match self {
            Token::Word(text) | Token::Number(text) => format!("`{text}`"),
            Token::Quoted(text) => format!("`'{text}'`"),
            Token::Symbol(text) => format!("`{text}`"),
            Token::End => "the end".into(),
        }
    }
}

/// Longer ones first, where one begins like another.
const SYMBOLS: [&str; 13] = ["<=", ">=", "!=", "<", ">", "=", "+", "-", "*", "/", "(", ")", ","];
const NAMES: [&str; 11] =
    ["size", "distinct", "max", "min", "rank", "count", "share", "table_share", "and", "or", "not"];
/// No sensible expression has more parts, and no thread's stack is too small for so many.
const MOST: usize = 400;

/// The parts of an expression with their places, in characters.
fn tokens(text: &str) -> Result<Vec<(usize, Token)>, Fault> {
    let chars: Vec<char> = text.chars().collect();
    let run = |from: usize, of: fn(char) -> bool| {
        from + chars[from..].iter().take_while(|c| of(**c)).count()
    };
    let (mut tokens, mut at) = (Vec::new(), 0);
    while let Some(&c) = chars.get(at) {
        let start = at;
        let token = if c.is_whitespace() {
            at += 1;
            continue;
        } else if c.is_alphabetic() || c == '_' {
            at = run(at, |c| c.is_alphanumeric() || c == '_');
            Token::Word(chars[start..at].iter().collect())
        } else if c.is_ascii_digit() || c == '.' {
            at = run(at, |c| c.is_ascii_digit() || c == '.');
            Token::Number(chars[start..at].iter().collect())
        } else if c == '\'' || c == '"' {
            let (value, end) = quoted(&chars, at)?;
            at = end;
            Token::Quoted(value)
        } else if let Some(&symbol) =
            SYMBOLS.iter().find(|s| chars[at..].starts_with(&s.chars().collect::<Vec<_>>()))
        {
            at += symbol.len();
            Token::Symbol(symbol)
        } else {
            let hint =
                format!("known are {}", [&SYMBOLS[..], &["and", "or", "not"]].concat().join(" "));
            return Err(Fault {
                at,
                message: format!("`{c}` means nothing here"),
                remedy: hint.into(),
            });
        };
        if tokens.len() == MOST {
            let message = format!("the expression has more than {MOST} parts");
            return Err(Fault {
                at: start,
                message,
                remedy: "ask for several predicates; all of them must hold".into(),
            });
        }
        tokens.push((start, token));
    }
    tokens.push((chars.len(), Token::End));
    Ok(tokens)
}

/// A value in quotes and where it ends; a quote within it is doubled.
fn quoted(chars: &[char], start: usize) -> Result<(String, usize), Fault> {
    let quote = chars[start];
    let (mut value, mut at) = (String::new(), start + 1);
    while let Some(&c) = chars.get(at) {
        match c {
            _ if c != quote => value.push(c),
            _ if chars.get(at + 1) == Some(&quote) => {
                value.push(c);
                at += 1;
            }
            _ => return Ok((value, at + 1)),
        }
        at += 1;
    }
    let hint = format!("close it with {quote}");
    Err(Fault {
        at: start,
        message: "a value that begins here has no end".into(),
        remedy: hint.into(),
    })
}

enum Parsed {
    Term(Term),
    Truth(Truth),
}

/// Reads an expression by the strength of its operators.
struct Parser {
    tokens: Vec<(usize, Token)>,
    next: usize,
    values: Vec<String>,
}

fn parse(text: &str) -> Result<(Truth, Vec<String>), Fault> {
    let mut parser = Parser { tokens: tokens(text)?, next: 0, values: Vec::new() };
    let parsed = parser.expression(0)?;
    match (parser.peek(), parsed) {
        (Token::End, Parsed::Truth(truth)) => Ok((truth, parser.values)),
        (Token::End, Parsed::Term(_)) => {
            let message = "the expression is a number, neither true nor false".into();
            Err(Fault {
                at: 0,
                message,
                remedy: "compare it with something, as in `distinct >= 3`".into(),
            })
        }
        _ => Err(parser.expected("an operator, `and`, `or` or the end")),
    }
}

/// How strongly an operator between two parts binds; the weakest is 1.
fn strength(token: &Token) -> Option<u8> {
    match token {
        Token::Word(word) if word == "or" => Some(1),
        Token::Word(word) if word == "and" => Some(2),
        Token::Symbol("<" | "<=" | ">" | ">=" | "=" | "!=") => Some(COMPARISON),
        Token::Symbol("+" | "-") => Some(5),
        Token::Symbol("*" | "/") => Some(PRODUCT),
        _ => None,
    }
}

const COMPARISON: u8 = 4;
const PRODUCT: u8 = 6;

impl Parser {
    fn peek(&self) -> &Token {
        &self.tokens[self.next].1
    }

    fn at(&self) -> usize {
        self.tokens[self.next].0
    }

    /// Takes the next part; the end stays.
    fn take(&mut self) -> Token {
        let token = self.peek().clone();
        self.next = (self.next + 1).min(self.tokens.len() - 1);
        token
    }

    fn expected(&self, what: &str) -> Fault {
        let remedy = match self.peek() {
            Token::Word(word) if !NAMES.contains(&word.as_str()) => {
                Remedy::words(did_you_mean(word, NAMES))
            }
            Token::Quoted(_) => {
                Remedy::words("write `count('…')`, `share('…')` or `table_share('…')`")
            }
            _ => Remedy::run(Action::Explain { topic: ENTRY.name.into() })
                .then(" shows how expressions are written"),
        };
        Fault {
            at: self.at(),
            message: format!("expected {what}, not {}", self.peek().show()),
            remedy,
        }
    }

    fn symbol(&mut self, symbol: &'static str) -> Result<(), Fault> {
        if *self.peek() != Token::Symbol(symbol) {
            return Err(self.expected(&format!("`{symbol}`")));
        }
        self.take();
        Ok(())
    }

    /// What stands here, as far as operators bind more than `above`.
    fn expression(&mut self, above: u8) -> Result<Parsed, Fault> {
        let mut left = self.operand()?;
        while let Some(strength) = strength(self.peek()).filter(|&s| s > above) {
            let at = self.at();
            let operator = self.take();
            let right = self.expression(strength)?;
            left = join(left, &operator, right).ok_or_else(|| mixed(at, &operator))?;
        }
        Ok(left)
    }

    fn operand(&mut self) -> Result<Parsed, Fault> {
        let at = self.at();
        match self.peek().clone() {
            Token::Symbol("(") => {
                self.take();
                let inner = self.expression(0)?;
                self.symbol(")")?;
                Ok(inner)
            }
            Token::Symbol("-") => {
                self.take();
                match self.expression(PRODUCT)? {
                    Parsed::Term(term) => Ok(Parsed::Term(Term::Negative(Box::new(term)))),
                    Parsed::Truth(_) => Err(mixed(at, &Token::Symbol("-"))),
                }
            }
            Token::Number(text) => {
                let number = Ratio::parse(&text)
                    .ok_or_else(|| self.expected("a decimal number of at most 38 digits"))?;
                self.take();
                Ok(Parsed::Term(Term::Number(number)))
            }
            Token::Word(word) => self.named(&word),
            _ => Err(self.expected("a number, a name or `(`")),
        }
    }

    /// What begins with a word.
    fn named(&mut self, word: &str) -> Result<Parsed, Fault> {
        let at = self.at();
        let values =
            |make: fn(Vec<String>) -> Term| move |parser: &mut Parser| Ok(make(parser.list()?));
        let term = match word {
            "not" => {
                self.take();
                // Weaker than a comparison, so that `not a = b` is about the comparison.
                return match self.expression(COMPARISON - 1)? {
                    Parsed::Truth(truth) => Ok(Parsed::Truth(Truth::Not(Box::new(truth)))),
                    Parsed::Term(_) => Err(mixed(at, &Token::Word("not".into()))),
                };
            }
            "size" => Term::Size,
            "distinct" => Term::Distinct,
            "max" => Term::Max,
            "min" => Term::Min,
            "rank" | "count" | "share" | "table_share" => {
                self.take();
                return match word {
                    "rank" => self.rank(),
                    "count" => values(Term::Count)(self),
                    "share" => values(Term::Share)(self),
                    _ => values(Term::TableShare)(self),
                }
                .map(Parsed::Term);
            }
            _ => return Err(self.expected("a number, a name or `(`")),
        };
        self.take();
        Ok(Parsed::Term(term))
    }

    /// `(i)`.
    fn rank(&mut self) -> Result<Term, Fault> {
        self.symbol("(")?;
        let rank = match self.peek() {
            Token::Number(text) => text.parse::<usize>().ok().filter(|&i| i > 0),
            _ => None,
        };
        let rank = rank.ok_or_else(|| self.expected("a rank, counted from 1"))?;
        self.take();
        self.symbol(")")?;
        Ok(Term::Rank(rank))
    }

    /// `('a', 'b')`.
    fn list(&mut self) -> Result<Vec<String>, Fault> {
        self.symbol("(")?;
        let mut list = Vec::new();
        loop {
            let Token::Quoted(value) = self.peek().clone() else {
                return Err(self.expected("a value in quotes"));
            };
            self.take();
            self.values.push(value.clone());
            list.push(value);
            if *self.peek() != Token::Symbol(",") {
                self.symbol(")")?;
                return Ok(list);
            }
            self.take();
        }
    }
}

/// Two parts with an operator between them, if it is for such parts.
fn join(left: Parsed, operator: &Token, right: Parsed) -> Option<Parsed> {
    let compare = |comparison, a, b| Some(Parsed::Truth(Truth::Compare(comparison, a, b)));
    let calculate =
        |operation, a, b| Some(Parsed::Term(Term::Calculate(operation, Box::new(a), Box::new(b))));
    match (left, operator, right) {
        (Parsed::Truth(a), Token::Word(word), Parsed::Truth(b)) => {
            let join = if word == "and" { Truth::And } else { Truth::Or };
            Some(Parsed::Truth(join(Box::new(a), Box::new(b))))
        }
        (Parsed::Term(a), Token::Symbol(symbol), Parsed::Term(b)) => match *symbol {
            "<" => compare(Comparison::Less, a, b),
            "<=" => compare(Comparison::LessOrEqual, a, b),
            ">" => compare(Comparison::Greater, a, b),
            ">=" => compare(Comparison::GreaterOrEqual, a, b),
            "=" => compare(Comparison::Equal, a, b),
            "!=" => compare(Comparison::NotEqual, a, b),
            "+" => calculate(Operation::Plus, a, b),
            "-" => calculate(Operation::Minus, a, b),
            "*" => calculate(Operation::Times, a, b),
            _ => calculate(Operation::Over, a, b),
        },
        _ => None,
    }
}

/// An operator among parts that it is not for.
fn mixed(at: usize, operator: &Token) -> Fault {
    let shown = operator.show();
    let (message, hint) = match operator {
        Token::Word(_) => (
            format!("{shown} is for what is true or false, not for a number"),
            "compare the number first",
        ),
        _ => (
            format!("{shown} is for numbers, not for what is true or false"),
            "join comparisons with `and` or `or`",
        ),
    };
    Fault { at, message, remedy: hint.into() }
}
