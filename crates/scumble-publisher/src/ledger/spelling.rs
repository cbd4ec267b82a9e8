//! Whether the people and values of an extract are recognised in earlier releases, or only written
//! differently.
//!
//! Persons and values are compared by their texts, so `Flu` is another value than `flu` and `P1`
//! another person than `p1`: to the gate everybody would be new, and nothing that is published
//! together with earlier releases would be judged. What looks like that is asked about before
//! anything is made. A steward who means it says so in the policy.

use super::key::{Key, Pseudonym};
use super::memory::Recollection;
use crate::table::columns::Column;
use hashbrown::HashSet;
use rayon::prelude::*;
use scumble::failure::{Failure, Failures};
use scumble::policy::{Difference, HistoryPolicy};
use std::collections::{BTreeMap, BTreeSet};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// The form that spellings of one text have in common: without case, accents, superfluous blanks,
/// leading zeros and the trailing zeros of decimals.
pub(crate) fn fold(text: &str) -> String {
    let mut folded = fold_once(text);
    // A few letters fold to something that can be folded again.
    loop {
        let again = fold_once(&folded);
        if again == folded {
            return folded;
        }
        folded = again;
    }
}

fn fold_once(text: &str) -> String {
    let plain: String = text.nfkd().filter(|c| !is_combining_mark(*c)).collect();
    // Through capitals, so that `ß` and `SS` are one.
    let folded = plain.to_lowercase().to_uppercase().to_lowercase();
    let folded = without_leading_zeros(&folded.split_whitespace().collect::<Vec<_>>().join(" "));
    without_trailing_zeros(folded)
}

/// Drops zeros at the end of the decimals of a text that is a number: `10.0` is 10.
fn without_trailing_zeros(text: String) -> String {
    let Some((whole, decimals)) = text.split_once('.') else { return text };
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole.trim_start_matches(['+', '-'])) || !digits(decimals) {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Drops zeros at the start of every whole number; those after a decimal point stay.
fn without_leading_zeros(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = None;
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let starts = !matches!(before, Some('0'..='9' | '.' | ','));
        if !(c == '0' && starts && rest.peek().is_some_and(char::is_ascii_digit)) {
            out.push(c);
            before = Some(c);
        }
    }
    out
}

/// The pseudonyms that folded names would have, of those whose names are not folded already,
/// rising.
pub(crate) fn folded_pseudonyms(key: &Key, persons: &Column) -> Vec<Pseudonym> {
    let names: Vec<&str> = persons.values.iter().collect();
    let mut folded: Vec<Pseudonym> =
        names.par_iter().filter_map(|name| folded(key, name)).collect();
    folded.par_sort_unstable();
    folded.dedup();
    folded
}

fn folded(key: &Key, name: &str) -> Option<Pseudonym> {
    let folded = fold(name);
    (folded != name.trim()).then(|| key.pseudonym(&folded))
}

/// What an extract has in common with what is remembered.
pub(crate) struct Comparison<'a> {
    pub recollection: &'a Recollection,
    pub history: &'a HistoryPolicy,
    pub persons: &'a Column,
    /// Name, the values that occur, and everybody's tag, of each published sensitive attribute.
    pub attributes: Vec<(&'a str, &'a BTreeSet<String>, &'a [u32])>,
    /// Every other column that is published.
    pub others: Vec<&'a str>,
    pub people: &'a [Pseudonym],
    /// Whether values may be shown.
    pub show_values: bool,
}

/// Less than this share of people who return is hardly anybody.
const HARDLY: usize = 10;
/// Fewer people who return say nothing about how many of them changed.
const FEW: usize = 3;

impl Comparison<'_> {
    /// Says what is not recognised and looks like a mistake, unless the policy means it.
    pub fn check(&self) -> Result<(), Failures> {
        let mut problems = Failures::default();
        let known = self.recollection.everybody();
        if known.is_empty() {
            return Ok(());
        }
        let meant = |difference| self.history.meant.contains(&difference);
        let returning = self.people.par_iter().filter(|p| known.binary_search(p).is_ok()).count();
        if returning > 0 && !meant(Difference::NewColumns) {
            let renamed = || self.renamed_column().or_else(|| self.renamed_open_column());
            problems.0.extend(self.new_columns().or_else(renamed));
        }
        let respelt = if meant(Difference::Spelling) { 0 } else { self.respelt_people(&known) };
        if respelt > 0 {
            problems.push(asked(
                format!(
                    "{} from earlier releases only in case, blanks, accents or leading zeros",
                    several(
                        respelt,
                        "person of this extract differs",
                        "persons of this extract differ"
                    )
                ),
                "write persons as before",
                Difference::Spelling,
            ));
        } else if !meant(Difference::NewPeople) {
            problems.0.extend(self.strangers(returning, known.len()));
        }
        for (name, values, tags) in &self.attributes {
            let spelt =
                if meant(Difference::Spelling) { None } else { self.respelt_values(name, values) };
            let changed = if meant(Difference::Changed) { None } else { self.changed(name, tags) };
            // Respelt values are why people changed: one question is enough.
            problems.0.extend(spelt.or(changed));
        }
        problems.or(())
    }

    /// A sensitive attribute that no earlier release has, where one of the earlier ones is gone.
    fn new_columns(&self) -> Option<Failure> {
        let earlier = self.recollection.known_attributes();
        let here: Vec<&str> =
            self.attributes.iter().map(|(name, ..)| self.history.earlier_column(name)).collect();
        let gone: Vec<&str> =
            earlier.iter().map(String::as_str).filter(|name| !here.contains(name)).collect();
        let open = self.recollection.open_columns();
        let new = here.iter().find(|name| !earlier.contains(**name) && !open.contains(**name))?;
        let gone = (!gone.is_empty()).then(|| gone.join("`, `"))?;
        Some(asked(
            format!(
                "no earlier release has the sensitive attribute `{new}`, and `{gone}` of earlier ones is not here"
            ),
            &format!("if it was renamed, say so: `[history] columns = {{ {new} = \"…\" }}`"),
            Difference::NewColumns,
        ))
    }

    /// A published column that has the name of a protected one of earlier releases in another
    /// spelling.
    fn renamed_column(&self) -> Option<Failure> {
        let is_here = |name: &str| {
            let sensitive = self.attributes.iter().map(|(here, ..)| *here);
            let mut all = sensitive.chain(self.others.iter().copied());
            all.any(|here| self.history.earlier_column(here) == name)
        };
        for earlier in self.recollection.known_attributes().iter().filter(|name| !is_here(name)) {
            if let Some(name) = self.others.iter().find(|name| fold(name) == fold(earlier)) {
                return Some(asked(
                    format!(
                        "`{name}` looks like `{earlier}` of earlier releases, which is protected and not here under that name"
                    ),
                    &format!(
                        "if it was renamed, say so: `[history] columns = {{ {name} = \"{earlier}\" }}`"
                    ),
                    Difference::NewColumns,
                ));
            }
        }
        None
    }

    /// A protected column that has the name of one that earlier releases showed openly, in another
    /// spelling.
    fn renamed_open_column(&self) -> Option<Failure> {
        let (protected, open) =
            (self.recollection.known_attributes(), self.recollection.open_columns());
        let is_here = |earlier: &str| {
            let protected = self.attributes.iter().map(|(name, ..)| *name);
            let mut all = protected.chain(self.others.iter().copied());
            all.any(|name| self.history.earlier_column(name) == earlier)
        };
        let is_new = |name: &&str| {
            let earlier = self.history.earlier_column(name);
            !protected.contains(earlier) && !open.contains(earlier)
        };
        for name in self.attributes.iter().map(|(name, ..)| *name).filter(is_new) {
            let alike = open.iter().find(|o| fold(o) == fold(name) && !is_here(o));
            if let Some(earlier) = alike {
                return Some(asked(
                    format!(
                        "`{name}` is protected and looks like `{earlier}`, which earlier releases showed openly"
                    ),
                    &format!(
                        "if it was renamed, say so: `[history] columns = {{ {name} = \"{earlier}\" }}`"
                    ),
                    Difference::NewColumns,
                ));
            }
        }
        None
    }

    /// New persons who would be earlier ones in another spelling.
    fn respelt_people(&self, known: &[Pseudonym]) -> usize {
        let (key, earlier) = (self.recollection.key(), self.recollection.folded());
        let is_known = |p: &Pseudonym| known.binary_search(p).is_ok();
        let names: Vec<&str> = self.persons.values.iter().collect();
        let respelt = |name: &&&str| {
            if is_known(&key.pseudonym(name)) {
                return false;
            }
            let folded = key.pseudonym(&fold(name));
            is_known(&folded) || earlier.contains(&folded)
        };
        names.par_iter().filter(respelt).count()
    }

    /// Hardly anybody returns.
    fn strangers(&self, returning: usize, there: usize) -> Option<Failure> {
        let here = self.people.len();
        (HARDLY * returning < here.min(there)).then(|| {
            asked(
                format!("{returning} of {here} people are among the {there} of earlier releases of this ledger"),
                "write persons as before, or give other people a ledger of their own",
                Difference::NewPeople,
            )
        })
    }

    /// Values that differ from earlier ones in spelling alone.
    fn respelt_values(&self, name: &str, values: &BTreeSet<String>) -> Option<Failure> {
        let earlier: BTreeSet<&str> = self.recollection.values(name).into_iter().collect();
        let folded: BTreeMap<String, &str> = earlier.iter().map(|v| (fold(v), *v)).collect();
        let new = values.iter().filter(|v| !earlier.contains(v.as_str()));
        let pairs: Vec<(&str, &str)> =
            new.filter_map(|v| Some((v.as_str(), *folded.get(&fold(v))?))).collect();
        (!pairs.is_empty()).then(|| {
            let shown: Vec<String> = pairs.iter().map(|(now, before)| format!("`{now}`, before `{before}`")).collect();
            let shown = if self.show_values { format!(" ({})", shown.join("; ")) } else { String::new() };
            let values = several(pairs.len(), "value differs", "values differ");
            asked(
                format!(
                    "`{name}`: {values} from those of earlier releases only in case, blanks, accents or leading \
                     zeros{shown}"
                ),
                &format!(
                    "write values as before, or say which is which: `[history.values] {name} = {{ now = \"earlier\" }}`"
                ),
                Difference::Spelling,
            )
        })
    }

    /// Most of the people who return have another value.
    fn changed(&self, name: &str, tags: &[u32]) -> Option<Failure> {
        let (returning, changed) = self.recollection.changed(name, self.people, tags);
        (returning >= FEW && 2 * changed > returning).then(|| {
            asked(
                format!(
                    "`{name}`: {changed} of {returning} people who return have another value than in the last release \
                     that they are in"
                ),
                &format!(
                    "write values as before, or say which is which: `[history.values] {name} = {{ now = \"earlier\" }}`"
                ),
                Difference::Changed,
            )
        })
    }
}

/// The problem with its two remedies.
pub(crate) fn asked(message: String, remedy: &str, difference: Difference) -> Failure {
    let word = difference.name();
    Failure::refused("series-differs", message)
        .hint(format!("{remedy}; if it is meant, say so: `[history] meant = [\"{word}\"]`"))
}

fn several(n: usize, one: &str, many: &str) -> String {
    if n == 1 { format!("one {one}") } else { format!("{n} {many}") }
}

/// Pseudonyms of folded names that any release keeps.
pub(crate) type Folded = HashSet<Pseudonym>;

#[cfg(test)]
mod tests {
    use super::fold;
    use proptest::prelude::*;

    #[test]
    fn spellings_of_one_text_fold_to_the_same() {
        for (a, b) in [
            ("flu", "Flu"),
            ("Grippe  saisonnière ", "grippe saisonniere"),
            ("STRASSE", "Straße"),
            ("p007", "P7"),
            ("00", "0"),
            ("ﬁbrosis", "FIBROSIS"),
            ("2026-01-05", "2026-1-5"),
            ("10", "10.00"),
            ("1.5", "01.50"),
        ] {
            assert_eq!(fold(a), fold(b), "{a} and {b}");
        }
        for (a, b) in [("1.05", "1.5"), ("p70", "p7"), ("flu", "flue"), ("10", "1")] {
            assert_ne!(fold(a), fold(b), "{a} and {b}");
        }
    }

    proptest! {
        /// A folded text is folded, whatever it was; otherwise the pseudonym of one would not be
        /// found by the other.
        #[test]
        fn folding_twice_is_folding_once(text in "\\PC{0,12}") {
            prop_assert_eq!(fold(&fold(&text)), fold(&text));
        }
    }
}
