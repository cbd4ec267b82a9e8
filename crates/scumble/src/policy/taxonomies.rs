//! How the values of a column generalize, as a policy says it.

use super::reader::{Reader, Section, scalar, shown};
use crate::catalogue::did_you_mean;
use crate::failure::{Failure, Failures};
use crate::table::Role;
use crate::taxonomy::{Decimal, Granularity, Intervals, Prefix, ROOT, Rule, Tree, Unit};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Reads a rule alone, written as the taxonomy of a column in a policy: `{ intervals = [5, 10], low
/// = 20 }`.
pub fn read_rule(column: &str, text: &str) -> Result<Rule, Failures> {
    let text = format!("taxonomy = {text}");
    let table = DeTable::parse(&text).map_err(|e| {
        Failure::policy(
            "not-toml",
            format!("the taxonomy of `{column}` cannot be read: {}", e.message()),
        )
    })?;
    let reader = Reader::new(None, &text);
    let root = Section { path: String::new(), table: table.get_ref(), at: 0 };
    let rule = root.get("taxonomy").and_then(|value| reader.rule(&root, column, value));
    reader.finish(rule)
}

impl<'a> Reader<'a> {
    /// Reports a quasi-identifier that comes without a taxonomy.
    pub(super) fn needs_taxonomy(&self, name: &str, role: Role, at: usize) -> Option<()> {
        if !role.is_generalized() {
            return Some(());
        }
        let kind = if role == Role::Freeform { "freeform" } else { "a quasi-identifier" };
        let problem = Failure::policy(
            "no-taxonomy",
            format!("column `{name}` is {kind} but has no taxonomy"),
        );
        let hint = "give one, for example `taxonomy = { number = true }`, `{ prefix = true }`, `{ flat = true }` or a file; \
                    or make it `insensitive`";
        self.report(at, problem.hint(hint));
        None
    }

    pub(super) fn rule(
        &self,
        of: &Section<'a>,
        column: &str,
        value: &'a Spanned<DeValue<'a>>,
    ) -> Option<Rule> {
        let at = value.span().start;
        if let Some(path) = value.get_ref().as_str() {
            return Some(Rule::File { path: path.into(), ordered: false, public: false });
        }
        let Some(table) = value.get_ref().as_table() else {
            let problem = Failure::policy(
                "wrong-value",
                format!(
                    "the taxonomy of `{column}` must be a file or a rule, not {}",
                    shown(value.get_ref())
                ),
            );
            self.report(
                at,
                problem.hint(
                    "for example `taxonomy = \"jobs.csv\"` or `taxonomy = { prefix = true }`",
                ),
            );
            return None;
        };
        let section = Section { path: of.path("taxonomy"), table, at };
        let kinds = ["file", "intervals", "number", "dates", "prefix", "flat", "nested"];
        self.only(
            &section,
            &[&kinds[..], &["ordered", "public", "low", "high", "unit", "length"]].concat(),
        );
        let chosen: Vec<&str> = kinds.into_iter().filter(|k| section.get(k).is_some()).collect();
        let [kind] = chosen[..] else {
            let problem = Failure::policy(
                "wrong-taxonomy-rule",
                format!(
                    "the taxonomy of `{column}` must name one rule, and names {}",
                    chosen.len()
                ),
            );
            self.report(at, problem.hint(format!("one of `{}`", kinds.join("`, `"))));
            return None;
        };
        if kind != "file" && section.get("ordered").is_some() {
            self.report(
                at,
                Failure::policy(
                    "useless-key",
                    format!("`ordered` belongs to a taxonomy file, not to `{kind}`"),
                ),
            );
        }
        if kind != "file" && section.get("public").is_some() {
            self.report(
                at,
                Failure::policy(
                    "useless-key",
                    format!("`public` belongs to a taxonomy file, not to `{kind}`"),
                ),
            );
        }
        if !matches!(kind, "intervals" | "number") {
            for key in ["low", "high", "unit"].into_iter().filter(|key| section.get(key).is_some())
            {
                let problem = Failure::policy(
                    "useless-key",
                    format!("`{key}` belongs to `intervals` and `number`, not to `{kind}`"),
                );
                self.report(at, problem);
            }
        }
        if kind != "prefix" && section.get("length").is_some() {
            self.report(
                at,
                Failure::policy(
                    "useless-key",
                    format!("`length` belongs to `prefix`, not to `{kind}`"),
                ),
            );
        }
        match kind {
            "file" => {
                let ordered = self.flag(&section, "ordered").unwrap_or(false);
                let public = self.flag(&section, "public").unwrap_or(false);
                Some(Rule::File { path: self.text_at(&section, "file")?, ordered, public })
            }
            "intervals" => {
                let array = self.array(&section, "intervals")?;
                let widths: Vec<Decimal> =
                    array.iter().filter_map(|v| self.decimal(&section, "intervals", v)).collect();
                (widths.len() == array.len()).then_some(())?;
                self.intervals(&section, column, widths)
            }
            "dates" => self.dates(&section, column),
            "prefix" => self.prefix(&section),
            "nested" => self.nested(&section),
            "number" => self
                .must_be_true(&section, kind)
                .and_then(|()| self.intervals(&section, column, Vec::new())),
            _ => self.must_be_true(&section, kind).map(|()| Rule::Flat),
        }
    }

    fn must_be_true(&self, section: &Section<'a>, key: &str) -> Option<()> {
        if self.flag(section, key)? {
            return Some(());
        }
        self.report(
            section.at,
            Failure::policy("wrong-value", format!("`{}` can only be `true`", section.path(key))),
        );
        None
    }

    fn intervals(&self, section: &Section<'a>, column: &str, widths: Vec<Decimal>) -> Option<Rule> {
        let bound = |key| match section.get(key) {
            None => Some(None),
            Some(value) => self.decimal(section, key, value).map(Some),
        };
        let (low, high, unit) = (bound("low")?, bound("high")?, self.unit(section)?);
        let rule = Intervals { widths, low, high, unit };
        let cell = rule.cell();
        let all = cell.iter().chain(&rule.widths).chain(&rule.low).chain(&rule.high);
        let decimals = all.map(|d| d.decimals).max().unwrap_or(0);
        let units =
            |list: &[Decimal]| list.iter().map(|d| d.units(decimals)).collect::<Option<Vec<i64>>>();
        let widths = units(&rule.widths);
        let nest = widths.is_some_and(|u| {
            u.iter().all(|&w| w > 0) && u.windows(2).all(|w| w[0] < w[1] && w[1] % w[0] == 0)
        });
        if !nest {
            let problem = Failure::policy(
                "wrong-taxonomy-rule",
                format!("the interval widths of `{column}` do not nest"),
            );
            self.report(
                section.at,
                problem
                    .hint("give rising widths, each a multiple of the one before: `[5, 10, 20]`"),
            );
            return None;
        }
        // Of bounds that cut through an interval only those of a unit are refused: a shorter
        // interval has ends too.
        let ends: Vec<Decimal> = rule.low.into_iter().chain(rule.high).collect();
        let whole = if rule.widths.is_empty() || unit != Unit::Finest { ends } else { Vec::new() };
        let cells =
            cell.map(|cell| units(&[cell]).zip(units(&[rule.widths.clone(), whole].concat())));
        let fits = |(cell, others): (Vec<i64>, Vec<i64>)| {
            cell[0] > 0 && others.iter().all(|o| o % cell[0] == 0)
        };
        if cells.is_some_and(|cells| !cells.is_some_and(fits)) {
            let problem = Failure::policy(
                "wrong-taxonomy-rule",
                format!("the widths or bounds of `{column}` are no multiples of its unit"),
            );
            self.report(section.at, problem.hint("give a `unit` above 0 that divides all of them"));
            return None;
        }
        if let Some([low, high]) =
            rule.low.zip(rule.high).and_then(|(l, h)| units(&[l, h])).as_deref()
            && low >= high
        {
            self.report(
                section.at,
                Failure::policy(
                    "wrong-taxonomy-rule",
                    format!("`low` of `{column}` is not below `high`"),
                ),
            );
            return None;
        }
        Some(Rule::Intervals(rule))
    }

    /// The finest unit that may be published: a width, or the word `exact`.
    fn unit(&self, section: &Section<'a>) -> Option<Unit> {
        match section.get("unit") {
            None => Some(Unit::Finest),
            Some(value) if value.get_ref().as_str() == Some("exact") => Some(Unit::Exact),
            Some(value) => self.decimal(section, "unit", value).map(Unit::Of),
        }
    }

    fn dates(&self, section: &Section<'a>, column: &str) -> Option<Rule> {
        let array = self.array(section, "dates")?;
        let mut units = Vec::new();
        for value in array {
            let text = value.get_ref().as_str().unwrap_or("");
            match Granularity::ALL.iter().find(|(name, _)| *name == text) {
                Some((_, unit)) => units.push(*unit),
                None => {
                    let problem = Failure::policy(
                        "wrong-value",
                        format!(
                            "`{}` does not know {}",
                            section.path("dates"),
                            shown(value.get_ref())
                        ),
                    );
                    let names = Granularity::ALL.map(|(name, _)| name);
                    self.report(value.span().start, problem.hint(did_you_mean(text, names)));
                }
            }
        }
        if array.is_empty() {
            let problem =
                Failure::policy("wrong-value", format!("`{}` is empty", section.path("dates")));
            self.report(
                section.at,
                problem.hint(
                    "name the finest unit that may be published, as in `[\"month\", \"year\"]`",
                ),
            );
            return None;
        }
        let rank = |u: &Granularity| Granularity::ALL.iter().position(|(_, g)| g == u);
        // A week consists of days and lies in no month.
        let after_week = units.iter().skip_while(|u| **u != Granularity::Week).nth(1).is_some();
        let week_inside =
            after_week || units.contains(&Granularity::Week) && units.contains(&Granularity::Month);
        if week_inside || !units.windows(2).all(|w| rank(&w[0]) < rank(&w[1])) {
            let problem = Failure::policy(
                "wrong-taxonomy-rule",
                format!("the date units of `{column}` do not nest"),
            );
            let hint = "go from fine to coarse, as in `[\"month\", \"quarter\", \"year\"]`; a week lies in no month and stands alone";
            self.report(section.at, problem.hint(hint));
            return None;
        }
        (units.len() == array.len()).then_some(Rule::Dates(units))
    }

    fn prefix(&self, section: &Section<'a>) -> Option<Rule> {
        let value = section.get("prefix")?;
        if value.get_ref().is_bool() {
            self.must_be_true(section, "prefix")?;
            return self.length(section, Vec::new());
        }
        let lengths: Option<Vec<usize>> = value.get_ref().as_array().and_then(|a| {
            a.iter().map(|v| scalar(v.get_ref())?.parse().ok().filter(|&n| n > 0)).collect()
        });
        match lengths.filter(|l| !l.is_empty() && l.windows(2).all(|w| w[0] > w[1])) {
            Some(lengths) => self.length(section, lengths),
            None => {
                let problem = Failure::policy(
                    "wrong-value",
                    format!(
                        "`{}` must be `true` or falling lengths to keep",
                        section.path("prefix")
                    ),
                );
                self.report(value.span().start, problem.hint("for example `prefix = [4, 3]`"));
                None
            }
        }
    }

    /// The rule of masked text, with the declared length of its values.
    fn length(&self, section: &Section<'a>, keep: Vec<usize>) -> Option<Rule> {
        let Some(value) = section.get("length") else {
            return Some(Rule::Prefix(Prefix { keep, length: None }));
        };
        let length: Option<usize> = scalar(value.get_ref()).and_then(|text| text.parse().ok());
        let longest_kept = keep.first().copied().unwrap_or(0);
        match length.filter(|&n| n > longest_kept && n <= Prefix::LONGEST) {
            Some(length) => Some(Rule::Prefix(Prefix { keep, length: Some(length) })),
            None => {
                let problem = Failure::policy(
                    "wrong-taxonomy-rule",
                    format!(
                        "`{}` must be a number of characters above {longest_kept}, at most {}",
                        section.path("length"),
                        Prefix::LONGEST
                    ),
                );
                let hint = "give the length of the longest code there may be: `length = 5`";
                self.report(value.span().start, problem.hint(hint));
                None
            }
        }
    }

    fn nested(&self, section: &Section<'a>) -> Option<Rule> {
        let value = section.get("nested")?;
        let mut children = tree(value)
            .map_err(|at| {
                let problem = Failure::policy(
                    "wrong-value",
                    "a nested taxonomy is made of tables and lists of values",
                );
                self.report(
                    at,
                    problem.hint("for example `nested = { Artist = [\"Writer\", \"Dancer\"] }`"),
                );
            })
            .ok()?;
        if children.is_empty() {
            self.report(
                value.span().start,
                Failure::policy("wrong-value", format!("`{}` is empty", section.path("nested"))),
            );
            return None;
        }
        // A single top entry is the root itself.
        let tree = if children.len() == 1 && !children[0].children.is_empty() {
            children.remove(0)
        } else {
            Tree { label: ROOT.into(), children }
        };
        Some(Rule::Nested(tree))
    }
}

/// The nodes of a nested taxonomy, or the place of what cannot be one.
fn tree(value: &Spanned<DeValue<'_>>) -> Result<Vec<Tree>, usize> {
    match value.get_ref() {
        DeValue::Array(items) => items
            .iter()
            .map(|item| match item.get_ref() {
                DeValue::Table(_) => match <[Tree; 1]>::try_from(tree(item)?) {
                    Ok([only]) => Ok(only),
                    Err(_) => Err(item.span().start),
                },
                other => scalar(other)
                    .map(|label| Tree { label, children: Vec::new() })
                    .ok_or(item.span().start),
            })
            .collect(),
        DeValue::Table(table) => table
            .iter()
            .map(|(key, value)| {
                Ok(Tree { label: key.get_ref().to_string(), children: tree(value)? })
            })
            .collect(),
        _ => Err(value.span().start),
    }
}
