//! Values of a policy's text with their places, and what is wrong with them.

use crate::catalogue::did_you_mean;
use crate::failure::{Failure, Failures, Kind};
use crate::taxonomy::Decimal;
use std::cell::RefCell;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

pub(super) fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes().iter().take(at).filter(|&&b| b == b'\n').count() + 1
}

/// The key that is written at a byte of the text, or whose value is, with its tables. Entries of
/// lists have numbers, from 1: `models.2.k`.
fn key_at(text: &str, at: usize) -> Option<String> {
    let root = DeTable::parse(text).ok()?;
    let mut keys = Vec::new();
    let mut table = Some(root.get_ref());
    while let Some(inside) = table.take() {
        for (key, value) in inside {
            let here = key.span().contains(&at) || value.span().contains(&at);
            // The span of a table is its heading; what stands below it is found in its entries.
            if !here && !below(value.get_ref(), at) {
                continue;
            }
            keys.push(key.get_ref().to_string());
            table = value.get_ref().as_table();
            if let Some(array) = value.get_ref().as_array() {
                let found = (1..)
                    .zip(array)
                    .find(|(_, v)| v.span().contains(&at) || below(v.get_ref(), at));
                if let Some((number, entry)) = found {
                    keys.push(number.to_string());
                    table = entry.get_ref().as_table();
                }
            }
            break;
        }
    }
    (!keys.is_empty()).then(|| keys.join("."))
}

/// Whether a key or value inside a table or list is written at a byte of the text.
fn below(value: &DeValue<'_>, at: usize) -> bool {
    let here = |v: &Spanned<DeValue<'_>>| v.span().contains(&at) || below(v.get_ref(), at);
    match value {
        DeValue::Table(table) => table.iter().any(|(k, v)| k.span().contains(&at) || here(v)),
        DeValue::Array(array) => array.iter().any(here),
        _ => false,
    }
}

/// A table of the policy with the way to it.
pub(super) struct Section<'a> {
    pub path: String,
    pub table: &'a DeTable<'a>,
    pub at: usize,
}

impl<'a> Section<'a> {
    pub(super) fn get(&self, key: &str) -> Option<&'a Spanned<DeValue<'a>>> {
        self.table.get(key)
    }

    pub(super) fn path(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }
}

/// Reads sections and collects what is wrong.
pub(super) struct Reader<'a> {
    /// The file, if there is one; then problems tell their lines.
    name: Option<&'a str>,
    pub text: &'a str,
    problems: RefCell<Vec<Failure>>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(name: Option<&'a str>, text: &'a str) -> Reader<'a> {
        Reader { name, text, problems: RefCell::default() }
    }

    /// What was read, unless something is wrong.
    pub(super) fn finish<T>(self, read: Option<T>) -> Result<T, Failures> {
        let problems = Failures(self.problems.into_inner());
        match read {
            Some(read) => problems.or(read),
            None => Err(problems),
        }
    }

    /// Takes what is wrong at a byte of the text. Whatever it is elsewhere, here the policy is wrong.
    pub(super) fn report(&self, at: usize, mut problem: Failure) {
        problem.kind = Kind::Policy;
        if let Some(name) = self.name {
            let line = line_of(self.text, at);
            problem = problem
                .within(format_args!("`{name}`, line {line}: "))
                .file(name)
                .line(line as u64);
        }
        if let Some(key) = key_at(self.text, at) {
            problem = problem.key(key);
        }
        self.problems.borrow_mut().push(problem);
    }

    pub(super) fn at_least_0(
        &self,
        section: &Section<'a>,
        key: &str,
        value: &Spanned<DeValue<'a>>,
    ) -> Option<f64> {
        let number = scalar(value.get_ref())
            .and_then(|t| t.parse::<f64>().ok())
            .filter(|w| w.is_finite() && *w >= 0.0);
        if number.is_none() {
            let problem = Failure::policy(
                "wrong-value",
                format!("`{}` must be a number of at least 0", section.path(key)),
            );
            self.report(value.span().start, problem);
        }
        number
    }

    pub(super) fn decimal(
        &self,
        section: &Section<'a>,
        key: &str,
        value: &Spanned<DeValue<'a>>,
    ) -> Option<Decimal> {
        let number = scalar(value.get_ref()).and_then(|t| Decimal::parse(&t));
        if number.is_none() {
            let problem = Failure::policy(
                "wrong-value",
                format!(
                    "`{}` must be a decimal number, not {}",
                    section.path(key),
                    shown(value.get_ref())
                ),
            );
            self.report(value.span().start, problem);
        }
        number
    }

    /// Reports keys that mean nothing here.
    pub(super) fn only(&self, section: &Section<'a>, known: &[&str]) {
        for (key, _) in section.table.iter() {
            if !known.contains(&key.get_ref().as_ref()) {
                let problem = Failure::policy(
                    "unknown-key",
                    format!("`{}` is not known", section.path(key.get_ref())),
                );
                self.report(
                    key.span().start,
                    problem.hint(did_you_mean(key.get_ref(), known.iter().copied())),
                );
            }
        }
    }

    pub(super) fn section(&self, of: &Section<'a>, key: &str) -> Option<Section<'a>> {
        let value = of.get(key)?;
        match value.get_ref().as_table() {
            Some(table) => Some(Section { path: of.path(key), table, at: value.span().start }),
            None => {
                self.report(
                    value.span().start,
                    Failure::policy(
                        "wrong-value",
                        format!("`{}` must be a section `[{key}]`", of.path(key)),
                    ),
                );
                None
            }
        }
    }

    pub(super) fn text_at(&self, section: &Section<'a>, key: &str) -> Option<String> {
        self.text_of(section, key, section.get(key)?)
    }

    pub(super) fn text_of(
        &self,
        section: &Section<'a>,
        key: &str,
        value: &Spanned<DeValue<'a>>,
    ) -> Option<String> {
        let text = value.get_ref().as_str().map(str::to_owned);
        if text.is_none() {
            let problem = Failure::policy(
                "wrong-value",
                format!(
                    "`{}` must be text in quotes, not {}",
                    section.path(key),
                    shown(value.get_ref())
                ),
            );
            self.report(value.span().start, problem);
        }
        text
    }

    pub(super) fn array(
        &self,
        section: &Section<'a>,
        key: &str,
    ) -> Option<&'a [Spanned<DeValue<'a>>]> {
        let value = section.get(key)?;
        let array = value.get_ref().as_array();
        if array.is_none() {
            let problem = Failure::policy(
                "wrong-value",
                format!("`{}` must be a list, not {}", section.path(key), shown(value.get_ref())),
            );
            self.report(value.span().start, problem);
        }
        array.map(|a| &a[..])
    }

    pub(super) fn texts_at(&self, section: &Section<'a>, key: &str) -> Option<Vec<String>> {
        self.texts_of(section, key, section.get(key)?)
    }

    pub(super) fn texts_of(
        &self,
        section: &Section<'a>,
        key: &str,
        value: &Spanned<DeValue<'a>>,
    ) -> Option<Vec<String>> {
        let texts: Option<Vec<String>> = value
            .get_ref()
            .as_array()
            .and_then(|a| a.iter().map(|v| v.get_ref().as_str().map(str::to_owned)).collect());
        if texts.is_none() {
            self.report(
                value.span().start,
                Failure::policy(
                    "wrong-value",
                    format!("`{}` must be a list of texts", section.path(key)),
                ),
            );
        }
        texts
    }

    pub(super) fn flag(&self, section: &Section<'a>, key: &str) -> Option<bool> {
        let value = section.get(key)?;
        let flag = value.get_ref().as_bool();
        if flag.is_none() {
            let problem = Failure::policy(
                "wrong-value",
                format!(
                    "`{}` must be `true` or `false`, not {}",
                    section.path(key),
                    shown(value.get_ref())
                ),
            );
            self.report(value.span().start, problem);
        }
        flag
    }

    pub(super) fn byte(&self, section: &Section<'a>, key: &str) -> Option<u8> {
        let text = self.text_at(section, key)?;
        match text.as_bytes() {
            [b] if b.is_ascii() && !b.is_ascii_alphanumeric() && !matches!(b, b'\n' | b'\r') => {
                Some(*b)
            }
            _ => {
                self.report(
                    section.at,
                    Failure::policy(
                        "wrong-value",
                        format!("`{}` must be one character, such as `;`", section.path(key)),
                    ),
                );
                None
            }
        }
    }
}

/// The text of a number, word or flag, as written.
pub(super) fn scalar(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(s) => Some(s.to_string()),
        DeValue::Integer(i) if i.radix() == 10 => Some(i.as_str().to_owned()),
        DeValue::Float(f) => Some(f.as_str().to_owned()),
        DeValue::Boolean(b) => Some(b.to_string()),
        _ => None,
    }
}

/// A value in a message. Policies hold no personal data, so what was written is shown.
pub(super) fn shown(value: &DeValue<'_>) -> String {
    match value {
        DeValue::Array(_) => "a list".into(),
        DeValue::Table(_) => "a table".into(),
        other => scalar(other).map_or_else(|| "that".into(), |text| format!("`{text}`")),
    }
}
