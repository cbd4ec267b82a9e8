//! The tables of models, algorithms, attacks and metrics, and how their parameters are written in a
//! policy.
//!
//! Everything that lists or looks up a method reads these tables: the policy parser, `explain`, the
//! laws. A new method is one new file with its [`Entry`] and two lines that mount it.

use crate::exact::Ratio;
use crate::failure::Failure;
use std::collections::BTreeMap;
use toml::de::DeTable;

pub use crate::algorithm::ALGORITHMS;
pub use crate::attack::ATTACKS;
pub use crate::attack::freeform::ENTRY as FREEFORM;
pub use crate::attack::minimality::ENTRY as MINIMALITY;
pub use crate::dp::{MECHANISMS, PRICES};
pub use crate::model::MODELS;
pub use crate::perturb::METHODS as PERTURBATIONS;
pub use crate::utility::METRICS;

/// A method a policy can name: what it is called, its manual page, its parameters, and how to make
/// it.
pub struct Entry<T> {
    /// Name in policies and commands.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// The file that implements it; its `//!` comment is the manual page.
    pub source: &'static str,
    /// What a policy may say about it.
    pub parameters: &'static [Parameter],
    /// Makes it from checked parameters, or says which combination is impossible.
    pub build: fn(&Parameters) -> Result<T, Failure>,
}

impl<T> Entry<T> {
    /// The manual page: the file's leading comment, followed by the parameters.
    pub fn manual(&self) -> String {
        manual(self.source, self.parameters, "In a policy")
    }
}

/// The leading `//!` comment of a file as plain text, with its parameters listed.
pub fn manual(source: &str, parameters: &[Parameter], heading: &str) -> String {
    let comment = source.lines().map_while(|line| line.strip_prefix("//!"));
    let mut page: String =
        comment.map(|line| format!("{}\n", line.strip_prefix(' ').unwrap_or(line))).collect();
    if !parameters.is_empty() {
        page.push_str(&format!("\n# {heading}\n\n"));
        for p in parameters {
            let default = match p.default {
                None => "required".into(),
                Some("") => "optional".into(),
                Some(default) => format!("default {default}"),
            };
            page.push_str(&format!("{} ({}; {default}): {}\n", p.name, p.kind.describe(), p.about));
        }
    }
    page
}

/// One parameter of a method.
pub struct Parameter {
    /// Key in the policy.
    pub name: &'static str,
    /// What may be written there.
    pub kind: Kind,
    /// What holds if nothing is written; `None` if something must be.
    pub default: Option<&'static str>,
    /// One line for the manual.
    pub about: &'static str,
}

/// What may be written for a parameter.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A whole number between these. What a method allocates or repeats by it must be bearable at
    /// the upper end.
    Count(u64, u64),
    /// A non-negative decimal number between these bounds, given as decimal text; see
    /// [`Kind::DIGITS`].
    Number(&'static str, Option<&'static str>),
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A list of values, or nodes of the taxonomy, of the sensitive attribute that the model is
    /// about.
    Values,
    /// A column whose role is `guard`.
    Guard,
    /// A sensitive column; empty where none is named.
    Sensitive,
    /// A table beside the extract: a register of people, read for the model.
    Register,
    /// Text that the method itself parses; such as this.
    Text(&'static str),
}

/// Upper end of parameters that count people or records: more than there are.
pub const PEOPLE: u64 = 10_000_000_000;

impl Kind {
    /// Numerator and denominator of a number have at most so many digits, so that their products
    /// with counts fit into 128 bits.
    pub const DIGITS: u32 = 18;

    /// For messages and manuals.
    pub fn describe(self) -> String {
        match self {
            Kind::Count(least, most) => format!("a whole number from {least} to {most}"),
            Kind::Number(least, None) => {
                format!("a number of at least {least} with at most {} digits", Kind::DIGITS)
            }
            Kind::Number(least, Some(most)) => format!("a number from {least} to {most}"),
            Kind::Choice(words) => {
                let words: Vec<String> = words.iter().map(|w| format!("`{w}`")).collect();
                words.join(" or ")
            }
            Kind::Values => "a list of values or taxonomy nodes of the attribute".into(),
            Kind::Guard => "the name of a column with the role `guard`".into(),
            Kind::Sensitive => "the name of a sensitive column".into(),
            Kind::Register => "the path of a table".into(),
            Kind::Text(example) => format!("text such as `{example}`"),
        }
    }

    /// Reads the text of a value, or `None` if it is not of this kind.
    pub fn parse(self, text: &str) -> Option<Value> {
        match self {
            Kind::Count(least, most) => {
                text.parse().ok().filter(|n| (least..=most).contains(n)).map(Value::Count)
            }
            Kind::Number(least, most) => {
                let largest = 10u128.pow(Kind::DIGITS);
                let number =
                    Ratio::parse(text).filter(|n| n.num() <= largest && n.den() <= largest)?;
                let in_range = Ratio::parse(least).is_some_and(|l| number >= l)
                    && most.is_none_or(|most| Ratio::parse(most).is_some_and(|m| number <= m));
                in_range.then(|| Value::Number(number, text.to_owned()))
            }
            Kind::Choice(words) => words.iter().find(|&&w| w == text).map(|&w| Value::Word(w)),
            Kind::Values => list(text).map(Value::List),
            Kind::Guard | Kind::Sensitive | Kind::Text(_) => Some(Value::Text(text.to_owned())),
            Kind::Register => Some(Value::Register(text.to_owned())),
        }
    }
}

/// The texts of a list as TOML writes it: `["a", "b"]`.
fn list(text: &str) -> Option<Vec<String>> {
    let document = format!("list = {text}");
    let table = DeTable::parse(&document).ok()?;
    let items = table.get_ref().get("list")?.get_ref().as_array()?;
    items.iter().map(|item| item.get_ref().as_str().map(str::to_owned)).collect()
}

/// The value of a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A whole number.
    Count(u64),
    /// An exact number, and its text.
    Number(Ratio, String),
    /// One of the words of a choice.
    Word(&'static str),
    /// Texts, in order.
    List(Vec<String>),
    /// Text.
    Text(String),
    /// Path of a register as written; empty if there is none.
    Register(String),
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Count(n) => write!(f, "{n}"),
            Value::Number(_, text) => f.write_str(text),
            Value::Word(word) => f.write_str(word),
            Value::Text(text) | Value::Register(text) => f.write_str(text),
            Value::List(texts) => {
                let quoted =
                    |t: &String| format!("\"{}\"", t.replace('\\', "\\\\").replace('"', "\\\""));
                write!(f, "[{}]", texts.iter().map(quoted).collect::<Vec<_>>().join(", "))
            }
        }
    }
}

/// Checked parameters: every parameter of the entry has a value of its kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parameters(pub BTreeMap<&'static str, Value>);

impl Parameters {
    /// A whole number. The entry's own parameter list guarantees that it is there.
    pub fn count(&self, name: &str) -> u64 {
        match self.0.get(name) {
            Some(Value::Count(n)) => *n,
            other => unreachable!("parameter `{name}` is not a count: {other:?}"),
        }
    }

    /// An exact number.
    pub fn number(&self, name: &str) -> Ratio {
        match self.0.get(name) {
            Some(Value::Number(r, _)) => *r,
            other => unreachable!("parameter `{name}` is not a number: {other:?}"),
        }
    }

    /// A word.
    pub fn word(&self, name: &str) -> &'static str {
        match self.0.get(name) {
            Some(Value::Word(w)) => w,
            other => unreachable!("parameter `{name}` is not a word: {other:?}"),
        }
    }

    /// Texts of a list.
    pub fn list(&self, name: &str) -> &[String] {
        match self.0.get(name) {
            Some(Value::List(texts)) => texts,
            other => unreachable!("parameter `{name}` is not a list: {other:?}"),
        }
    }

    /// A text.
    pub fn text(&self, name: &str) -> &str {
        match self.0.get(name) {
            Some(Value::Text(text)) => text,
            other => unreachable!("parameter `{name}` is not a text: {other:?}"),
        }
    }

    /// All of them as texts, as written and defaulted.
    pub fn texts(&self) -> BTreeMap<String, String> {
        self.0.iter().map(|(name, value)| ((*name).to_owned(), value.to_string())).collect()
    }

    /// The path of the register, if a parameter names one.
    pub fn register(&self) -> Option<&str> {
        self.0.values().find_map(|v| match v {
            Value::Register(path) if !path.is_empty() => Some(path.as_str()),
            _ => None,
        })
    }

    /// Fills in defaults for what is not given. `given` are texts by name; returns all problems.
    pub fn read(
        of: &str,
        parameters: &'static [Parameter],
        given: &BTreeMap<String, String>,
    ) -> Result<Parameters, Vec<Failure>> {
        let mut read = Parameters::default();
        let mut problems = Vec::new();
        for p in parameters {
            let Some(text) = given.get(p.name).map(String::as_str).or(p.default) else {
                problems.push(
                    Failure::usage(
                        "missing-parameter",
                        format!("`{of}` needs `{}`: {}", p.name, p.about),
                    )
                    .hint(format!(
                        "add `{} = …`, {}",
                        p.name,
                        p.kind.describe()
                    )),
                );
                continue;
            };
            match p.kind.parse(text) {
                Some(value) => drop(read.0.insert(p.name, value)),
                None => problems.push(Failure::usage(
                    "wrong-parameter",
                    format!("`{}` of `{of}` must be {}, not `{text}`", p.name, p.kind.describe()),
                )),
            }
        }
        if problems.is_empty() { Ok(read) } else { Err(problems) }
    }
}

/// Every name that `explain` knows, with its one line.
pub fn everything() -> Vec<(&'static str, &'static str, &'static str)> {
    let models = MODELS.iter().map(|e| ("model", e.name, e.summary));
    let algorithms = ALGORITHMS.iter().map(|e| ("algorithm", e.name, e.summary));
    let attacks = ATTACKS.iter().map(|e| ("attack", e.name(), e.summary()));
    let metrics = METRICS.iter().map(|e| ("metric", e.name, e.summary));
    let perturbations = PERTURBATIONS.iter().map(|m| ("perturbation", m.name, m.summary));
    let private = MECHANISMS.iter().chain(PRICES).map(|p| (p.kind, p.name, p.summary));
    let methods = models.chain(algorithms).chain(attacks);
    methods.chain(metrics).chain(perturbations).chain(private).collect()
}

/// The heading of an attack's parameters.
const GIVEN: &str = "Parameters, as `key=value`";

/// The manual page of a name, if there is one.
pub fn explain(name: &str) -> Option<String> {
    let models = MODELS.iter().map(|e| (e.name, e.manual()));
    let algorithms = ALGORITHMS.iter().map(|e| (e.name, e.manual()));
    let attacks = ATTACKS.iter().map(|e| (e.name(), manual(e.source(), e.parameters(), GIVEN)));
    let metrics = METRICS.iter().map(|e| (e.name, e.about));
    let metrics = metrics.map(|(name, about)| (name, format!("# {name}\n\n{about}\n")));
    let perturbations =
        PERTURBATIONS.iter().map(|m| (m.name, format!("# {}\n\n{}\n", m.name, m.about)));
    let private = MECHANISMS.iter().chain(PRICES).map(|p| (p.name, p.manual()));
    let all =
        models.chain(algorithms).chain(attacks).chain(metrics).chain(perturbations).chain(private);
    all.into_iter().find(|(n, _)| *n == name).map(|(_, page)| page)
}

/// The candidate nearest to what was written, if it is near enough to be a slip.
pub fn nearest<'a>(
    written: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let written = written.to_lowercase();
    candidates
        .into_iter()
        .map(|c| (strsim::jaro_winkler(&written, &c.to_lowercase()), c))
        .filter(|&(score, _)| score > 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, c)| c)
}

/// `hint` text for an unknown word: the nearest candidate, or all of them.
pub fn did_you_mean<'a>(written: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    let candidates: Vec<&str> = candidates.into_iter().collect();
    match nearest(written, candidates.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if candidates.is_empty() => "there is nothing to choose from".into(),
        None => format!(
            "known are {}",
            candidates.iter().map(|c| format!("`{c}`")).collect::<Vec<_>>().join(", ")
        ),
    }
}

/// `hint` text for a column that a table does not have. `familiar` says that some other column was
/// found by its name.
///
/// Where none was, the first line of the file may be a person's record and no header: then names
/// are not listed, and one is suggested only if no name has a digit, as records do.
pub fn did_you_mean_column(wanted: &str, names: &[String], familiar: bool) -> String {
    let candidates = || names.iter().map(String::as_str);
    if familiar {
        return did_you_mean(wanted, candidates());
    }
    let words = names.iter().all(|name| !name.contains(|c: char| c.is_ascii_digit() || c == '@'));
    match nearest(wanted, candidates()).filter(|_| words) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("it has {} columns; does its first line name them?", names.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_not_taken_for_names() {
        let names = |texts: &[&str]| texts.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>();
        let record = names(&["Anna Kowalska", "078-05-1120", "aged", "flu"]);
        let hint = did_you_mean_column("age", &record, false);
        assert!(record.iter().all(|cell| !hint.contains(cell)), "{hint}");
        assert_eq!(
            did_you_mean_column("age", &names(&["agee", "sex"]), false),
            "did you mean `agee`?"
        );
        assert!(did_you_mean_column("zip", &names(&["age", "sex"]), true).contains("`sex`"));
        assert!(!did_you_mean_column("zip", &names(&["Anna", "F"]), false).contains("Anna"));
    }
}
