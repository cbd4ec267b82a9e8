//! Taxonomies from published labels: what a recipient knows of an attribute.
//!
//! A recipient has the rule and the labels of a release, not the values below them. The taxonomy made here gives every label
//! a run, so that classes, registers and queries are understood from what is published alone.

use crate::problem::Problems;
use crate::rule::Rule;
use crate::scale::{Decimal, parse_date};
use crate::taxonomy::{ROOT, Taxonomy};

impl Taxonomy {
    /// A taxonomy in which every published label has a meaning. Its leaves are the values that the labels themselves name
    /// (the ends of ranges, unmasked values) and those of the register.
    pub fn of_labels(
        column: &str,
        rule: &Rule,
        rows: Option<Vec<Vec<String>>>,
        labels: &[&str],
        others: &[&str],
    ) -> Result<Taxonomy, Problems> {
        // A masked label stands for texts of its length, which only have to be ones that the label masks. They are made up where
        // no other text is such a one: two of them, because what stands for one text would be called by it.
        let mut known: Vec<(usize, &str)> = others.iter().map(|text| (text.len(), *text)).collect();
        known.sort_unstable();
        let masks = |label: &str| {
            let kept = label.trim_end_matches('*');
            let next = known.partition_point(|&(len, text)| (len, text) < (label.len(), kept));
            kept != label && known.get(next).is_some_and(|(len, text)| *len == label.len() && text.starts_with(kept))
        };
        let stand_in = |label: &&str| if masks(label) { Default::default() } else { unmask(label) };
        let stand_ins: Vec<[String; 2]> = labels.iter().map(stand_in).collect();
        let mut texts: Vec<&str> = others.to_vec();
        for (label, stand_in) in labels.iter().zip(&stand_ins) {
            match rule {
                Rule::File { .. } | Rule::Nested(_) => (),
                Rule::Intervals(_) | Rule::Dates(_) => texts.extend(ends(label)),
                Rule::Prefix(_) => texts.extend(stand_in.iter().map(String::as_str)),
                Rule::Flat => texts.push(label),
            }
        }
        let has_missing = labels.contains(&"") || others.contains(&"");
        let unmasked = |t: &&str| !t.is_empty() && (**t != *ROOT || !labels.contains(&ROOT));
        let mut values: Vec<&str> = texts.into_iter().filter(unmasked).collect();
        values.sort_unstable();
        values.dedup();
        match (rule, rows) {
            (Rule::File { path, ordered }, Some(rows)) => Taxonomy::from_rows(path, rows, *ordered, has_missing),
            (Rule::Nested(_), _) => Taxonomy::generate(rule, column, &[], has_missing),
            // A table in which every cell is suppressed has no leaf left; the root stands for itself.
            (rule, _) if values.is_empty() && !has_missing => Taxonomy::generate(&Rule::Flat, column, &[ROOT], false)
                .and_then(|t| if labels.is_empty() { Taxonomy::generate(rule, column, &[], true) } else { Ok(t) }),
            (rule, _) => Taxonomy::generate(rule, column, &values, has_missing),
        }
    }
}

/// Texts that a label with a mask may stand for; the text itself if there is no mask, nothing if all is masked.
fn unmask(label: &str) -> [String; 2] {
    let kept = label.trim_end_matches('*');
    let fill = |c: &str| kept.to_owned() + &c.repeat(label.len() - kept.len());
    if kept.is_empty() { Default::default() } else { ["?", "!"].map(fill) }
}

/// The values that a range or a single value names.
fn ends(label: &str) -> Vec<&str> {
    let place = |t: &str| Decimal::parse(t).is_some() || parse_date(t).is_some();
    match label.strip_prefix('[').and_then(|l| l.strip_suffix(']')).and_then(|l| l.split_once(", ")) {
        Some((a, b)) if place(a) && place(b) => vec![a, b],
        _ => vec![label],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scale::Granularity;

    #[test]
    fn every_label_has_a_run() {
        let number = Rule::Intervals(Default::default());
        let t = Taxonomy::of_labels("age", &number, None, &["[20, 30]", "25", "*", ""], &["22"]).unwrap();
        assert!(["[20, 30]", "25", "*", ""].iter().all(|label| t.parse(label).is_some()));
        assert!(t.parse("[20, 30]").is_some_and(|run| t.find("22").is_some_and(|leaf| run.contains(leaf))));
        let dates = Rule::Dates(vec![Granularity::Month]);
        let t = Taxonomy::of_labels("birth", &dates, None, &["[1961-03-05, 1970-01-01]"], &[]).unwrap();
        assert!(t.parse("[1961-03-05, 1970-01-01]").is_some());
        let t = Taxonomy::of_labels("zip", &Rule::Prefix(vec![3]), None, &["431**", "52001"], &["43107"]).unwrap();
        assert!(t.parse("431**").is_some_and(|run| t.find("43107").is_some_and(|leaf| run.contains(leaf))));
    }
}
