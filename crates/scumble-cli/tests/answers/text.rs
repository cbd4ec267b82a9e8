//! Whether JSON says everything that a text says: its numbers, and its names.

use scumble::catalogue::{ALGORITHMS, ATTACKS, METRICS, MODELS};
use serde_json::Value;
use std::collections::BTreeSet;

/// What a text may say that the JSON does not: the beginning of the command, the number or name,
/// and why.
const EXCEPTIONS: &[(&str, &[&str], &str)] =
    &[("compare", &["90"], "the per cent of a quantile, which is called `p90`")];

/// The numbers and names of a text that the JSON does not have.
pub fn missing(arguments: &str, text: &str, json: &Value) -> Vec<String> {
    let mut said = Said::default();
    said.gather(json);
    let excepted: BTreeSet<&str> = (EXCEPTIONS.iter())
        .filter(|(command, ..)| arguments.starts_with(command))
        .flat_map(|(_, tokens, _)| tokens.iter().copied())
        .collect();
    let lacks = |token: &String| !excepted.contains(token.as_str()) && !said.has(token);
    // The text is of one run and the JSON of another, which takes another time.
    let is_time =
        |line: &&str| ["time:", "seconds"].iter().any(|t| line.trim_start().starts_with(t));
    let lines = text.lines().filter(|line| !is_time(line));
    let timeless: String = lines.map(|line| format!("{line}\n")).collect();
    tokens(&joined(&timeless)).into_iter().filter(lacks).collect()
}

/// What a JSON value says.
#[derive(Default)]
struct Said {
    numbers: Vec<f64>,
    tokens: BTreeSet<String>,
    texts: Vec<String>,
}

impl Said {
    fn gather(&mut self, value: &Value) {
        match value {
            Value::Number(n) => self.numbers.extend(n.as_f64()),
            Value::String(text) => self.text(text),
            Value::Array(items) => {
                // How many there are is said by there being so many.
                self.numbers.push(items.len() as f64);
                items.iter().for_each(|item| self.gather(item));
            }
            Value::Object(fields) => {
                self.numbers.push(fields.len() as f64);
                for (name, field) in fields {
                    self.text(name);
                    self.gather(field);
                }
            }
            Value::Null | Value::Bool(_) => (),
        }
    }

    fn text(&mut self, text: &str) {
        self.tokens.extend(tokens(text));
        self.texts.push(text.to_owned());
    }

    /// Whether a number is said, rounded or as a percentage; or a name.
    fn has(&self, token: &str) -> bool {
        if self.tokens.contains(token) {
            return true;
        }
        if token.parse::<f64>().is_err() {
            return self.texts.iter().any(|text| text.contains(token));
        }
        if let Some((digits, _)) = token.split_once('e') {
            let decimals = digits.split_once('.').map_or(0, |(_, decimals)| decimals.len());
            return self.numbers.iter().any(|x| format!("{x:.decimals$e}") == token);
        }
        let decimals = token.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        let shown = |x: f64| format!("{:.decimals$}", x.abs()) == token;
        self.numbers.iter().any(|&x| shown(x) || shown(100.0 * x))
    }
}

/// A text with the digits of long numbers together: 1 234 as 1234.
fn joined(text: &str) -> String {
    let characters: Vec<char> = text.chars().collect();
    let is_digit = |i: usize| characters.get(i).is_some_and(char::is_ascii_digit);
    let groups = |i: usize| {
        characters[i] == ' '
            && i > 0
            && is_digit(i - 1)
            && (1..=3).all(|d| is_digit(i + d))
            && !is_digit(i + 4)
    };
    (0..characters.len()).filter(|&i| !groups(i)).map(|i| characters[i]).collect()
}

/// Numbers, and words that are names: of columns and figures with an underscore, of files, and
/// those of the catalogues.
fn tokens(text: &str) -> Vec<String> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '-');
    let words = text.split(|c: char| !is_part(c)).map(|word| word.trim_matches(['.', '-']));
    words.filter(|word| is_number(word) || is_name(word)).map(str::to_owned).collect()
}

fn is_number(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit())
        && word.parse::<f64>().is_ok()
        && !word.contains('e')
}

fn is_name(word: &str) -> bool {
    let letters = word.contains(char::is_alphabetic);
    let hash = word.len() >= 16 && word.chars().all(|c| c.is_ascii_hexdigit());
    let catalogued = MODELS.iter().any(|e| e.name == word)
        || ALGORITHMS.iter().any(|e| e.name == word)
        || ATTACKS.iter().any(|e| e.name() == word)
        || METRICS.iter().any(|m| m.name == word);
    letters && !hash && (word.contains('_') || word.contains('.') || catalogued)
}
