//! Taxonomies from published labels: what a recipient knows of an attribute.
//!
//! A recipient has the rule and the labels of a release, not the values below them. The taxonomy
//! made here gives every label a run, so that classes, registers and queries are understood from
//! what is published alone. No label but the root's is taken for everything: values that were
//! suppressed have no label, so there may be more than the labels name.

use crate::class::Run;
use crate::failure::{Failure, Failures};
use crate::rule::{
    Prefix, Rule, Unit, cells_of_labels, flat, longest, nested_rows, of_rows, prefix,
};
use crate::scale::Decimal;
use crate::taxonomy::{ROOT, Taxonomy};
use hashbrown::HashMap;
use std::collections::BTreeSet;

impl Taxonomy {
    /// A taxonomy in which every published label has a run. Its leaves are what the labels
    /// themselves name (the ends of ranges, unmasked values) and the values of others, such as the
    /// people of a register.
    ///
    /// A label that is no word of the rule has no run; [`Taxonomy::parse`] says so. In a file two
    /// nodes may have the same leaves.
    pub fn of_labels(
        column: &str,
        rule: &Rule,
        rows: Option<Vec<Vec<String>>>,
        labels: &[&str],
        others: &[&str],
    ) -> Result<Taxonomy, Failures> {
        let has_missing = labels.contains(&"") || others.contains(&"");
        let values = |texts: &[&'_ str]| -> Vec<String> {
            let mut values: Vec<String> = texts.iter().map(|t| (*t).to_owned()).collect();
            values.retain(|t| !t.is_empty() && (t != ROOT || !labels.contains(&ROOT)));
            values.sort_unstable();
            values.dedup();
            values
        };
        let taxonomy = match (rule, rows) {
            (Rule::File { path, ordered, .. }, Some(rows)) => {
                of_rows(path, rows, *ordered, has_missing, true)?
            }
            (Rule::File { path, .. }, None) => {
                return Err(
                    Failure::bug("internal", format!("taxonomy `{path}` was not read")).into()
                );
            }
            (Rule::Nested(tree), _) => of_rows(
                &format!("attributes.{column}.taxonomy.nested"),
                nested_rows(tree),
                false,
                has_missing,
                true,
            )?,
            (Rule::Intervals(_) | Rule::Dates(_), _) => {
                let exact = matches!(rule, Rule::Intervals(rule) if rule.unit == Unit::Exact);
                let named: Vec<&str> =
                    labels.iter().copied().filter(|l| !l.is_empty() && *l != ROOT).collect();
                let named = if exact {
                    named.iter().flat_map(|label| ends(label)).collect()
                } else {
                    named
                };
                cells_of_labels(rule, column, &named, others, has_missing)?
            }
            (Rule::Prefix(rule), _) => {
                let texts = unmasked(rule, labels, others);
                let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
                let values = values(&texts);
                let values: Vec<&str> = values.iter().map(String::as_str).collect();
                // By what is published alone: figures do not depend on whom a register knows.
                let named: Vec<&str> = labels.iter().copied().filter(|l| *l != ROOT).collect();
                prefix(rule, longest(&named), &values, has_missing, true)
                    .unambiguous(&format!("column `{column}`"))?
            }
            (Rule::Flat, _) => {
                let values = values(&[labels, others].concat());
                let values: Vec<&str> = values.iter().map(String::as_str).collect();
                flat(&values, has_missing, true).unambiguous(&format!("column `{column}`"))?
            }
        };
        Ok(taxonomy)
    }
}

impl Taxonomy {
    /// The lines of a file that tells a recipient what the published runs mean and nothing else:
    /// the runs with their ancestors. Where a leaf is not published something else stands in its
    /// place, `(other Africa)`.
    pub fn rows_of(&self, published: impl IntoIterator<Item = Run>) -> Vec<Vec<String>> {
        let shown: BTreeSet<Shown> =
            published.into_iter().flat_map(|run| self.shown(run)).collect();
        // A leaf, and the lowest level at which its ancestors are told.
        let mut lines: BTreeSet<(u32, usize)> = BTreeSet::new();
        if self.is_ordered() {
            // A range means what stands between its ends, so every leaf has a line at its place,
            // under its own name or not.
            lines.extend(
                (0..self.real() as u32).map(|code| (code, self.lowest_shown(code, &shown))),
            );
        }
        for of in shown.iter().filter(|_| !self.is_ordered()) {
            if of.level == 0 {
                lines.insert((of.run.first, 0));
            } else {
                lines.extend(apart(of.run, &shown).map(|code| (code, of.level)));
            }
        }
        let mut stand_ins: HashMap<String, usize> = HashMap::new();
        let mut rows = Vec::with_capacity(lines.len());
        for (code, lowest) in lines.into_iter().filter(|(code, _)| (*code as usize) < self.real()) {
            let mut row = self.row(code);
            if lowest == 0 {
                rows.push(row);
                continue;
            }
            // Two of them where nothing else stands beside it, because a node over one leaf would
            // be called by the leaf.
            let alone = !self.is_ordered() || self.at_level(code, lowest).width() == 1;
            for _ in 0..if alone { 2 } else { 1 } {
                let number = stand_ins.entry(row[lowest].clone()).or_default();
                *number += 1;
                let text = self.stand_in(&row[lowest], *number);
                row[..lowest].fill(text);
                rows.push(row.clone());
            }
        }
        rows
    }

    /// The lowest level at which a leaf is in a node that is shown, or that stands above one.
    fn lowest_shown(&self, code: u32, shown: &BTreeSet<Shown>) -> usize {
        let is_shown = |&level: &usize| {
            let node = self.at_level(code, level);
            shown.iter().any(|of| of.level <= level && node.covers(of.run))
        };
        (0..=self.levels()).find(is_shown).unwrap_or(self.levels())
    }

    /// The nodes that the label of a run names: itself, or the ends of a range.
    fn shown(&self, run: Run) -> Vec<Shown> {
        let lowest = || (0..=self.levels()).find(|&level| self.at_level(run.first, level) == run);
        match self
            .shown_level()
            .filter(|&level| self.at_level(run.first, level) == run)
            .or_else(lowest)
        {
            Some(level) => vec![Shown { run, level }],
            None => [run.first, run.last]
                .map(|code| Shown { run: Run::new(code, code), level: 0 })
                .to_vec(),
        }
    }

    /// A text that no label of the taxonomy has.
    fn stand_in(&self, label: &str, number: usize) -> String {
        let mut text = if number == 1 {
            format!("(other {label})")
        } else {
            format!("(other {label} {number})")
        };
        while self.parse(&text).is_some() || self.find(&text).is_some() {
            text = format!("({text})");
        }
        text
    }
}

/// A node that a release shows, and the level that it is shown at.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Shown {
    run: Run,
    level: usize,
}

/// A leaf of the run that lies in no smaller one that is shown, so that both can be told apart.
fn apart(run: Run, shown: &BTreeSet<Shown>) -> Option<u32> {
    let mut at = run.first;
    // In the order of their first leaves, and nested or disjoint.
    for of in shown.iter().filter(|of| of.run != run && run.covers(of.run)) {
        if of.run.first > at {
            break;
        }
        at = at.max(of.run.last + 1);
    }
    (at <= run.last).then_some(at)
}

/// Texts that masked labels may stand for, and those of others that are no longer than declared.
/// Texts are made up where fewer than two others are masked by a label, because what stands for one
/// text would be called by it.
fn unmasked(rule: &Prefix, labels: &[&str], others: &[&str]) -> Vec<String> {
    let known: BTreeSet<&str> = others.iter().copied().filter(|text| rule.admits(text)).collect();
    let mut texts: Vec<String> = known.iter().map(|text| (*text).to_owned()).collect();
    for label in labels {
        match rule.kept(label) {
            None => texts.push((*label).to_owned()),
            Some("") => {}
            Some(kept) => {
                let masked = known.range(kept..).take_while(|text| text.starts_with(kept));
                let fill = |c: &str| kept.to_owned() + &c.repeat(label.len() - kept.len());
                texts.extend(["?", "!"].iter().skip(masked.take(2).count()).map(|c| fill(c)));
            }
        }
    }
    texts
}

/// The values that a range or a single value names.
fn ends(label: &str) -> Vec<&str> {
    let is_number = |t: &str| Decimal::parse(t).is_some();
    match label.strip_prefix('[').and_then(|l| l.strip_suffix(']')).and_then(|l| l.split_once(", "))
    {
        Some((a, b)) if is_number(a) && is_number(b) => vec![a, b],
        _ => vec![label],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::Intervals;
    use crate::scale::Granularity;

    fn understood(rule: &Rule, labels: &[&str], others: &[&str]) -> Taxonomy {
        let t = Taxonomy::of_labels("c", rule, None, labels, others).unwrap();
        for label in labels {
            let run = t.parse(label).unwrap_or_else(|| panic!("{rule:?}: {label}"));
            assert_eq!(t.label(run), *label, "{rule:?}");
            assert_eq!(
                run == t.root(),
                *label == ROOT,
                "{rule:?}: only the root is everything, not {label}"
            );
        }
        t
    }

    #[test]
    fn every_label_has_a_run_of_its_own() {
        let number = Rule::Intervals(Intervals::default());
        let t = understood(&number, &["[20, 30]", "25", "*", ""], &["22"]);
        assert!(
            t.parse("[20, 30]")
                .is_some_and(|run| t.find("22").is_some_and(|leaf| run.contains(leaf)))
        );
        understood(&number, &["[20, 30]", "*"], &[]);
        understood(&number, &["20", "*"], &[]);
        understood(&number, &["*"], &[]);
        let low = Decimal::parse("20");
        let widths =
            vec![Decimal { mantissa: 5, decimals: 0 }, Decimal { mantissa: 10, decimals: 0 }];
        let fives = Rule::Intervals(Intervals {
            widths,
            low,
            high: Decimal::parse("90"),
            unit: Unit::Finest,
        });
        let t = understood(
            &fives,
            &["[20, 25)", "[25, 40)", "<45", ">=35", ">=90", "[30, 40)", "*"],
            &["97"],
        );
        assert!(
            t.parse(">=90").is_some_and(|run| t.find("97").is_some_and(|leaf| run.contains(leaf)))
        );
        assert_eq!(t.parse("[20, 24]"), None, "no word of the rule");
        let dates = Rule::Dates(vec![Granularity::Month, Granularity::Year]);
        understood(&dates, &["[1961-03, 1970-01]", "1961-03", "1961", "*"], &["1965-06-07"]);
        let t = Taxonomy::of_labels("c", &dates, None, &["[1961-03-05, 1970-01-01]"], &[]).unwrap();
        assert_eq!(
            t.parse("[1961-03-05, 1970-01-01]"),
            None,
            "days are no words of a rule of months"
        );
        let zip = Rule::Prefix(Prefix { keep: vec![3], length: Some(5) });
        let t = understood(&zip, &["431**", "52001", "*"], &["43107", "43107-1234"]);
        assert!(
            t.parse("431**")
                .is_some_and(|run| t.find("43107").is_some_and(|leaf| run.contains(leaf)))
        );
        assert_eq!(t.find("43107-1234"), None, "longer than declared");
        let zip = Rule::Prefix(Prefix { keep: vec![3], length: None });
        let t = understood(&zip, &["431*", "52001", "*"], &["43107", "43107-1234"]);
        let run = t.parse("431*").unwrap();
        assert!(
            ["43107", "43107-1234"].iter().all(|l| run.contains(t.find(l).unwrap())),
            "texts of any length"
        );
        assert_eq!(t.parse("431**"), None, "no word of the rule");
        understood(&Rule::Flat, &["M", "*"], &[]);
    }

    /// What a recipient makes of the lines is what was published, and no other leaf is among them.
    #[test]
    fn a_file_tells_what_is_published_and_no_more() {
        let lines =
            "Kenya;East;Africa;*\nUganda;East;Africa;*\nMali;West;Africa;*\nPeru;South;America;*";
        let rows: Vec<Vec<String>> =
            lines.lines().map(|l| l.split(';').map(str::to_owned).collect()).collect();
        let rule = Rule::File { path: "places.csv".into(), ordered: false, public: false };
        let t = of_rows("places.csv", rows, false, false, false).unwrap();
        for labels in [
            vec!["Africa"],
            vec!["Africa", "Kenya"],
            vec!["East", "Mali", "*"],
            vec!["Africa", "East", "Peru"],
        ] {
            let runs: Vec<Run> = labels.iter().map(|l| t.parse(l).unwrap()).collect();
            let told = t.rows_of(runs);
            let read = Taxonomy::of_labels("c", &rule, Some(told.clone()), &labels, &[]).unwrap();
            assert!(
                labels.iter().all(|l| read.parse(l).is_some_and(|run| read.label(run) == *l)),
                "{told:?}"
            );
            let leaves = ["Kenya", "Uganda", "Mali", "Peru"];
            let unpublished = leaves.iter().filter(|l| !labels.contains(l));
            assert!(
                unpublished.clone().all(|leaf| !told.iter().flatten().any(|text| text == leaf)),
                "{told:?}"
            );
        }
        let shown = t.shown_at(2);
        let told = shown.rows_of([shown.parse("America").unwrap()]);
        let line =
            |text: &str| vec![text.to_owned(), text.to_owned(), "America".into(), "*".into()];
        assert_eq!(
            told,
            [line("(other America)"), line("(other America 2)")],
            "at its level, without what is below"
        );
    }
}
