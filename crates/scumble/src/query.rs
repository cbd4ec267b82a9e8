//! COUNT queries: what a table answers exactly, and what a recipient estimates from a release.
//!
//! A query is a conjunction of conditions on quasi-identifiers and sensitive attributes, written
//!
//! ```text
//! COUNT age in [30, 40] and job in (Writer, Dancer) and disease = HIV
//! ```
//!
//! The recipient's estimate depends on what a release shows of the quasi-identifiers:
//!
//! - **regions**: the records of a class are taken to be spread evenly over the domain values of
//!   its region, one quasi-identifier independent of the other. A class of n records counts n · Π
//!   (share of the domain values of the cell that the condition admits) · (share of its records
//!   with an admitted sensitive value). On a number or date scale the domain is every multiple of
//!   the unit, as for [`Taxonomy::size`].
//! - **representatives**: the published value is taken as it is.
//! - **groups**: Σ over the groups of (records of the group that meet the conditions on
//!   quasi-identifiers) · (share of admitted sensitive values in the group); Xiao and Tao 2006.
//!   Values that stand for nobody count among the values, and not among the records.
//!
//! Conditions on several sensitive attributes are counted together where the release was made with
//! them joined ([`Table::join_sensitive`]); otherwise they are taken to be independent within a
//! class.

mod parse;
mod random;

use crate::class::{EquivalenceClass, Run};
use crate::failure::Failure;
use crate::release::{Release, Shape};
use crate::table::{Attribute, Hidden, Table, published};
use crate::taxonomy::{Decimal, Scale, Taxonomy, parse_date};
use rayon::prelude::*;
use std::fmt;
use std::sync::Arc;

pub use parse::parse_workload;
pub use random::Generator;

/// A conjunction of conditions; without any it counts every record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// All of them must be met.
    pub conditions: Vec<Condition>,
}

/// What the values of an attribute must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Name of the attribute.
    pub attribute: String,
    /// Which values are admitted.
    pub test: Test,
}

/// Which values a condition admits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Test {
    /// One of these values or nodes of the taxonomy.
    In(Vec<String>),
    /// Not below the first and not above the second, where they are given.
    Range(Option<End>, Option<End>),
}

/// An end of a range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// The value.
    pub value: String,
    /// Whether it is admitted itself.
    pub included: bool,
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("COUNT")?;
        for (i, Condition { attribute, test }) in self.conditions.iter().enumerate() {
            write!(f, "{} {}", if i > 0 { " and" } else { "" }, parse::quoted(attribute))?;
            match test {
                Test::In(values) if values.len() == 1 => {
                    write!(f, " = {}", parse::quoted(&values[0]))?
                }
                Test::In(values) => {
                    let values: Vec<String> = values.iter().map(|v| parse::quoted(v)).collect();
                    write!(f, " in ({})", values.join(", "))?;
                }
                // Round brackets on both sides would be a list of values.
                Test::Range(Some(low), Some(high)) if low.included || high.included => {
                    let (open, close) = (
                        if low.included { '[' } else { '(' },
                        if high.included { ']' } else { ')' },
                    );
                    write!(
                        f,
                        " in {open}{}, {}{close}",
                        parse::quoted(&low.value),
                        parse::quoted(&high.value)
                    )?;
                }
                Test::Range(Some(low), Some(high)) => {
                    let [name, low, high] =
                        [attribute, &low.value, &high.value].map(|t| parse::quoted(t));
                    write!(f, " > {low} and {name} < {high}")?;
                }
                Test::Range(low, high) => {
                    for (end, sign) in [(low, '>'), (high, '<')] {
                        if let Some(End { value, included }) = end {
                            write!(
                                f,
                                " {sign}{} {}",
                                if *included { "=" } else { "" },
                                parse::quoted(value)
                            )?;
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

/// The values of an attribute that are admitted, by their places in smallest steps
/// ([`Taxonomy::steps`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// From place to place, both included; rising and apart.
    spans: Vec<(i64, i64)>,
    missing: bool,
}

impl Selection {
    /// The places in these spans, and the missing value if it is wanted.
    pub fn new(mut spans: Vec<(i64, i64)>, missing: bool) -> Selection {
        spans.retain(|(first, last)| first <= last);
        spans.sort_unstable();
        spans.dedup_by(|next, kept| {
            let joined = next.0 <= kept.1.saturating_add(1);
            if joined {
                kept.1 = kept.1.max(next.1);
            }
            joined
        });
        Selection { spans, missing }
    }

    /// The leaves of a run, and every domain value between them.
    pub fn of_run(taxonomy: &Taxonomy, run: Run) -> Selection {
        let (real, missing) = parts(taxonomy, run);
        Selection::new(real.into_iter().collect(), missing)
    }

    /// What a test admits of an attribute.
    fn of(attribute: &Attribute, test: &Test) -> Result<Selection, Failure> {
        let taxonomy = &attribute.taxonomy;
        match test {
            Test::In(values) => {
                let mut all = Selection::new(Vec::new(), false);
                for value in values {
                    let one = named(taxonomy, value).ok_or_else(|| unknown(attribute, value))?;
                    all =
                        Selection::new([all.spans, one.spans].concat(), all.missing || one.missing);
                }
                Ok(all)
            }
            Test::Range(..) if !taxonomy.is_ordered() => Err(Failure::usage(
                "no-order",
                format!("`{}` has no order, so there are no ranges of it", attribute.name),
            )
            .hint("name values or groups of values, as in `job in (Writer, Dancer)`")),
            Test::Range(low, high) => {
                let place = |end: &End| {
                    place(taxonomy, &end.value).ok_or_else(|| unknown(attribute, &end.value))
                };
                let first = match low {
                    None => i64::MIN,
                    Some(end) => {
                        let (floor, exact) = place(end)?;
                        if exact && end.included { floor } else { floor.saturating_add(1) }
                    }
                };
                let last = match high {
                    None => i64::MAX,
                    Some(end) => {
                        let (floor, exact) = place(end)?;
                        if exact && !end.included { floor.saturating_sub(1) } else { floor }
                    }
                };
                Ok(Selection::new(vec![(first, last)], false))
            }
        }
    }

    fn and(&self, other: &Selection) -> Selection {
        let meet = |a: &(i64, i64), b: &(i64, i64)| (a.0.max(b.0), a.1.min(b.1));
        let spans =
            self.spans.iter().flat_map(|a| other.spans.iter().map(move |b| meet(a, b))).collect();
        Selection::new(spans, self.missing && other.missing)
    }

    /// Whether a leaf is admitted.
    pub fn contains(&self, taxonomy: &Taxonomy, leaf: u32) -> bool {
        if taxonomy.missing() == Some(leaf) {
            return self.missing;
        }
        // A cell that is cut counts where its middle lies.
        let Some((first, last)) = taxonomy.steps(Run::new(leaf, leaf)) else { return false };
        let place = first + (last - first) / 2;
        let after = self.spans.partition_point(|&(first, _)| first <= place);
        after > 0 && place <= self.spans[after - 1].1
    }

    /// Which share of the domain values under a published run is admitted.
    pub fn share(&self, taxonomy: &Taxonomy, run: Run) -> f64 {
        let run = taxonomy.cover(run);
        let (real, missing) = parts(taxonomy, run);
        let inside = real.map_or(0, |(first, last)| {
            let start = self.spans.partition_point(|span| span.1 < first);
            let meeting = self.spans[start..].iter().take_while(|span| span.0 <= last);
            meeting.map(|span| span.0.max(first).abs_diff(span.1.min(last)) + 1).sum::<u64>()
        });
        let all = real.map_or(0, |(first, last)| last.abs_diff(first) + 1) + u64::from(missing);
        (inside + u64::from(missing && self.missing)) as f64 / all.max(1) as f64
    }

    /// The same values in another taxonomy of the attribute: by their places on a number or date
    /// scale, otherwise by the texts of the leaves.
    pub fn translate(&self, from: &Taxonomy, to: &Taxonomy) -> Selection {
        match (from.scale(), to.scale()) {
            (Scale::Date(_), Scale::Date(_)) => self.clone(),
            (Scale::Number(from), Scale::Number(to)) => {
                let (a, b) = (&from.decimals, &to.decimals);
                let finer = 10i64.saturating_pow(b.saturating_sub(*a));
                let coarser = 10i64.saturating_pow(a.saturating_sub(*b));
                // Up to the next place: what lies between two places of a coarse scale belongs to
                // the lower one.
                let span = |&(first, last): &(i64, i64)| {
                    let next = last.saturating_add(1).saturating_mul(finer).saturating_sub(1);
                    (first.saturating_mul(finer).div_euclid(coarser), next.div_euclid(coarser))
                };
                Selection::new(self.spans.iter().map(span).collect(), self.missing)
            }
            _ => {
                let admitted = (0..from.leaves() as u32).filter(|&leaf| self.contains(from, leaf));
                let found = admitted
                    .filter_map(|leaf| to.find(from.leaf(leaf)))
                    .map(|code| to.position(code));
                Selection::new(found.map(|place| (place, place)).collect(), self.missing)
            }
        }
    }
}

/// The smallest steps from first to last of a run without the missing value, and whether it holds
/// that.
fn parts(taxonomy: &Taxonomy, run: Run) -> (Option<(i64, i64)>, bool) {
    (taxonomy.steps(run), taxonomy.missing().is_some_and(|missing| run.contains(missing)))
}

/// The place of a value on an ordered scale, rounded down, and whether it stands exactly there.
fn place(taxonomy: &Taxonomy, text: &str) -> Option<(i64, bool)> {
    match taxonomy.scale() {
        Scale::Number(grid) => {
            let number = Decimal::parse(text)?;
            match number.decimals.checked_sub(grid.decimals) {
                Some(more @ 1..) => {
                    let unit = 10i64.checked_pow(more)?;
                    Some((number.mantissa.div_euclid(unit), number.mantissa.rem_euclid(unit) == 0))
                }
                _ => {
                    let end = if number.mantissa < 0 { i64::MIN } else { i64::MAX };
                    Some((number.units(grid.decimals).unwrap_or(end), true))
                }
            }
        }
        Scale::Date(_) => parse_date(text).map(|day| (day, true)),
        Scale::Ordinal => taxonomy.find(text).map(|leaf| (i64::from(leaf), true)),
        Scale::Nominal => None,
    }
}

/// What a value or the label of a node stands for.
fn named(taxonomy: &Taxonomy, text: &str) -> Option<Selection> {
    if text.is_empty() {
        return Some(Selection::new(Vec::new(), true));
    }
    if let Some((floor, exact)) = place(taxonomy, text) {
        return Some(Selection::new(if exact { vec![(floor, floor)] } else { Vec::new() }, false));
    }
    if matches!(taxonomy.scale(), Scale::Date(_))
        && let Some(span) = month_or_year(text)
    {
        return Some(Selection::new(vec![span], false));
    }
    taxonomy.parse(text).map(|run| Selection::of_run(taxonomy, run))
}

/// The days of `2026-03` or `2026`, all of them and not only those that occur.
fn month_or_year(text: &str) -> Option<(i64, i64)> {
    let last = |suffixes: &[&str]| suffixes.iter().find_map(|s| parse_date(&format!("{text}{s}")));
    let month = parse_date(&format!("{text}-01")).zip(last(&["-31", "-30", "-29", "-28"]));
    month.or_else(|| parse_date(&format!("{text}-01-01")).zip(parse_date(&format!("{text}-12-31"))))
}

fn unknown(attribute: &Attribute, value: &str) -> Failure {
    let (what, hint) = match attribute.taxonomy.scale() {
        Scale::Number(_) => ("number", "write numbers such as `30` or `2.5`"),
        Scale::Date(_) => ("date", "write dates such as `2026-03-31`, `2026-03` or `2026`"),
        _ => (
            "value or group of values",
            "write it as the data or the taxonomy do, in quotes if it has spaces",
        ),
    };
    Failure::usage("unknown-value", format!("`{value}` is no {what} of `{}`", attribute.name))
        .hint(hint)
}

/// A query whose conditions are understood by the taxonomies of a table or a release.
#[derive(Clone, Debug)]
pub struct Bound {
    quasi: Vec<Admitted>,
    sensitive: Vec<Admitted>,
}

/// What is admitted of one attribute.
#[derive(Clone, Debug)]
struct Admitted {
    attribute: usize,
    selection: Selection,
    /// Whether each leaf is.
    leaves: Vec<bool>,
}

impl Admitted {
    fn new(attribute: usize, taxonomy: &Taxonomy, selection: Selection) -> Admitted {
        let leaves =
            (0..taxonomy.leaves() as u32).map(|leaf| selection.contains(taxonomy, leaf)).collect();
        Admitted { attribute, selection, leaves }
    }
}

impl Query {
    /// Takes out of the conditions the values that these attributes do not know, and returns them.
    /// A number or a date always has a place.
    pub fn take_unknown(&mut self, quasi: &[Attribute], sensitive: &[Attribute]) -> Vec<String> {
        let mut unknown = Vec::new();
        for condition in &mut self.conditions {
            let attribute =
                quasi.iter().chain(published(sensitive)).find(|a| a.name == condition.attribute);
            let (Some(attribute), Test::In(values)) = (attribute, &mut condition.test) else {
                continue;
            };
            let has_places = attribute.taxonomy.scale().has_cells();
            values.retain(|value| {
                let known = has_places || named(&attribute.taxonomy, value).is_some();
                if !known {
                    unknown.push(value.clone());
                }
                known
            });
        }
        unknown
    }

    /// Understands the conditions by these attributes. Only published attributes can be asked
    /// about.
    pub fn bind(&self, quasi: &[Attribute], sensitive: &[Attribute]) -> Result<Bound, Failure> {
        let mut bound = Bound { quasi: Vec::new(), sensitive: Vec::new() };
        for condition in &self.conditions {
            let place =
                |list: &[Attribute]| list.iter().position(|a| a.name == condition.attribute);
            let sensitive = published(sensitive);
            let (list, attributes, i) = match (place(quasi), place(sensitive)) {
                (Some(i), _) => (&mut bound.quasi, quasi, i),
                (None, Some(i)) => (&mut bound.sensitive, sensitive, i),
                (None, None) => {
                    let known = quasi.iter().chain(sensitive).map(|a| a.name.as_str());
                    let problem = Failure::usage(
                        "unknown-attribute",
                        format!(
                            "`{}` is no quasi-identifier and no sensitive attribute, so it cannot be asked about",
                            condition.attribute
                        ),
                    );
                    return Err(
                        problem.hint(crate::catalogue::did_you_mean(&condition.attribute, known))
                    );
                }
            };
            let mut selection = Selection::of(&attributes[i], &condition.test)?;
            if let Some(at) = list.iter().position(|a| a.attribute == i) {
                selection = selection.and(&list.swap_remove(at).selection);
            }
            list.push(Admitted::new(i, &attributes[i].taxonomy, selection));
        }
        Ok(bound)
    }
}

impl Bound {
    /// The number of records of the table that meet the conditions.
    pub fn count(&self, table: &Table) -> u64 {
        fn test<'a>(a: &'a Admitted, codes: &'a [Vec<u32>]) -> (&'a [bool], &'a [u32]) {
            (&a.leaves, &codes[a.attribute])
        }
        let quasi = self.quasi.iter().map(|a| test(a, &table.quasi_codes));
        let tests: Vec<_> =
            quasi.chain(self.sensitive.iter().map(|a| test(a, &table.sensitive_codes))).collect();
        let met = |row: &usize| tests.iter().all(|(leaves, codes)| leaves[codes[*row] as usize]);
        (0..table.rows()).filter(met).map(|row| u64::from(table.counts[row])).sum()
    }

    /// The same query for a release that was made from the table, whose regions may be written in
    /// other taxonomies.
    pub fn translate(&self, table: &Table, release: &Release) -> Bound {
        let quasi = |a: &Admitted| {
            let (from, to) =
                (&table.quasi[a.attribute].taxonomy, &release.quasi[a.attribute].taxonomy);
            if Arc::ptr_eq(from, to) {
                return a.clone();
            }
            Admitted::new(a.attribute, to, a.selection.translate(from, to))
        };
        Bound { quasi: self.quasi.iter().map(quasi).collect(), sensitive: self.sensitive.clone() }
    }

    /// What a recipient of the release estimates.
    pub fn estimate(&self, release: &Release) -> f64 {
        if release.shape == Shape::Groups {
            let shares: Vec<f64> =
                release.classes.iter().map(|c| self.sensitive_share(release, c)).collect();
            let met =
                |codes: &[u32]| self.quasi.iter().all(|a| a.leaves[codes[a.attribute] as usize]);
            let records = release.records_by_group.iter().filter(|r| met(&r.codes));
            return records.map(|r| r.count as f64 * shares[r.group as usize]).sum();
        }
        let class = |class: &EquivalenceClass| {
            let mut expected = class.count as f64;
            for a in &self.quasi {
                expected *= a
                    .selection
                    .share(&release.quasi[a.attribute].taxonomy, class.region[a.attribute]);
                if expected == 0.0 {
                    return 0.0;
                }
            }
            expected * self.sensitive_share(release, class)
        };
        release.classes.iter().map(class).sum()
    }

    /// Whether it has conditions on more than one sensitive attribute.
    pub fn joins_sensitive(&self) -> bool {
        self.sensitive.len() > 1
    }

    fn sensitive_share(&self, release: &Release, class: &EquivalenceClass) -> f64 {
        let counted = |i: usize, admitted: &dyn Fn(u32) -> bool| -> f64 {
            let met = class.histograms[i].0.iter().filter(|(code, _)| admitted(*code));
            met.map(|(_, n)| n).sum::<u64>() as f64 / class.histograms[i].total().max(1) as f64
        };
        if self.joins_sensitive()
            && let Some((i, Some(Hidden::Joint(tuples)))) =
                release.sensitive.iter().map(|a| a.hidden.as_ref()).enumerate().next_back()
        {
            let all = |code| {
                self.sensitive.iter().all(|a| a.leaves[tuples[code as usize][a.attribute] as usize])
            };
            return counted(i, &all);
        }
        self.sensitive
            .iter()
            .map(|a| counted(a.attribute, &|code| a.leaves[code as usize]))
            .product()
    }
}

/// How far the estimates of a workload are from the truth.
///
/// The relative error of a query is |estimate − true| / max(true, n / 1000), n the number of
/// records: an answer of a few records is not asked to be exact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Errors {
    /// Number of queries.
    pub queries: usize,
    /// Half of the queries have at most this error.
    pub median: f64,
    /// Nine tenths have at most this one.
    pub p90: f64,
    /// The mean.
    pub mean: f64,
}

/// The part of all records that a true answer is at least taken for: the sanity bound of the
/// relative error.
pub const SANITY: f64 = 0.001;

/// The relative error of an estimate.
pub fn relative_error(truth: u64, estimate: f64, records: u64) -> f64 {
    let apart = (estimate - truth as f64).abs();
    if apart == 0.0 { 0.0 } else { apart / (truth as f64).max(SANITY * records as f64) }
}

/// Asks the table and the release made from it every query.
pub fn errors(queries: &[Bound], table: &Table, release: &Release) -> Errors {
    let records = table.records();
    let one = |query: &Bound| {
        relative_error(
            query.count(table),
            query.translate(table, release).estimate(release),
            records,
        )
    };
    Errors::of(queries.par_iter().map(one).collect())
}

impl Errors {
    /// The summary of the errors of single queries.
    pub fn of(mut all: Vec<f64>) -> Errors {
        all.sort_unstable_by(f64::total_cmp);
        // The smallest error that so large a share of the queries keeps to.
        let quantile = |share: f64| match all.len() {
            0 => 0.0,
            n => all[((share * n as f64).ceil() as usize).clamp(1, n) - 1],
        };
        let mean = all.iter().sum::<f64>() / all.len().max(1) as f64;
        Errors { queries: all.len(), median: quantile(0.5), p90: quantile(0.9), mean }
    }
}
