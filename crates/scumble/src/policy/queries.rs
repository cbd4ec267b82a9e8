//! The `[queries]` section: what may be asked under differential privacy, and how much in all.
//!
//! A policy may have it beside a release, or be about nothing else: `query --dp` reads the source,
//! the person column and this section only.

use super::reader::{Reader, Section, scalar, shown};
use super::{Rows, Source};
use crate::catalogue::did_you_mean;
use crate::dp::budget::Limit;
use crate::dp::query::{NoiseKind, Price, Scale};
use crate::exact::Fraction;
use crate::failure::{Action, Failure, Failures, Remedy};
use crate::taxonomy::Decimal;
use std::collections::BTreeMap;
use toml::Spanned;
use toml::de::DeValue;

/// What may be asked of a source.
#[derive(Clone, Debug)]
pub struct Queries {
    /// Where the data are, as written.
    pub source: Source,
    /// Who may ask; everybody if empty.
    pub recipients: Vec<String>,
    /// How the source is written, where detection is not wanted.
    pub delimiter: Option<u8>,
    /// The quote character of the source.
    pub quote: Option<u8>,
    /// Cell texts that mean that the value is missing.
    pub missing: Vec<String>,
    /// The column whose values name the persons.
    pub person: Option<String>,
    /// What questions call the table.
    pub table: String,
    /// Rows per person; more are left out at random.
    pub rows: u64,
    /// What is public about columns.
    pub columns: BTreeMap<String, ColumnRule>,
    /// What may be spent in all.
    pub budget: Limit,
    /// What each recipient may spend.
    pub each: Option<Limit>,
    /// Where spending is recorded: the ledger, as written; none if the policy does not want one.
    pub ledger: Option<String>,
    /// The file of its key, as written.
    pub key: Option<String>,
    /// The file in which its last entry is noted, as written.
    pub head: Option<String>,
    /// Questions asked together, with their prices.
    pub ask: Vec<Asked>,
    /// The synthetic table to make.
    pub synthetic: Option<SyntheticRule>,
}

/// A synthetic table.
#[derive(Clone, Debug)]
pub struct SyntheticRule {
    /// Its columns, each with public keys or bounds.
    pub columns: Vec<String>,
    /// Pairs of columns whose counts are measured in any case, by their places among the columns.
    pub pairs: Vec<(usize, usize)>,
    /// How wide the ranges of a column with bounds are, in its units; 1 where nothing is said.
    pub widths: BTreeMap<String, i64>,
    /// What it may cost.
    pub price: Price,
    /// Where it goes, as written.
    pub to: String,
}

/// What is public about a column.
#[derive(Clone, Debug, Default)]
pub struct ColumnRule {
    /// Unit and bounds of its numbers.
    pub scale: Option<Scale>,
    /// Its keys.
    pub keys: Option<Vec<String>>,
}

/// A question of a policy.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The text.
    pub sql: String,
    /// ε, unless the command says otherwise.
    pub epsilon: Option<Fraction>,
    /// δ.
    pub delta: Option<Fraction>,
    /// The noise.
    pub gaussian: Option<bool>,
}

impl Queries {
    /// Reads what a policy says about questions. `name` is the file's name, for messages.
    pub fn parse(name: &str, text: &str) -> Result<Queries, Failures> {
        let root = super::table_of(name, text)?;
        let reader = Reader::new(Some(name), text);
        let root = Section { path: String::new(), table: root.get_ref(), at: 0 };
        let queries = reader.queries(&root, reader.source(&root).as_ref());
        reader.finish(queries)
    }
}

impl<'a> Reader<'a> {
    /// What the policy says about questions of its source, with every mistake in it.
    pub(super) fn queries(&self, root: &Section<'a>, source: Option<&Source>) -> Option<Queries> {
        let Some(section) = self.section(root, "queries") else {
            if root.get("queries").is_none() {
                let remedy = Remedy::words("add `[queries]` with `budget = { epsilon = 1 }`; ")
                    .and_run(Action::Explain { topic: "budget".into() })
                    .then(" tells what that is");
                self.report(
                    0,
                    Failure::policy(
                        "missing-key",
                        "`[queries]` is missing: the policy allows no questions",
                    )
                    .remedy(remedy),
                );
            }
            return None;
        };
        self.only(
            &section,
            &[
                "table",
                "person",
                "rows_per_person",
                "columns",
                "budget",
                "each",
                "ask",
                "synthetic",
            ],
        );
        if let Some(
            Source::Postgres { rows: Rows::Query(_), .. }
            | Source::Sqlite { rows: Rows::Query(_), .. },
        ) = source
        {
            // The next query would begin another budget for the same people.
            let problem = Failure::policy(
                "query-as-source",
                "a budget belongs to a table, and `source` is a query",
            );
            let at = root.get("source").map_or(0, |v| v.span().start);
            self.report(at, problem.hint("name a table or a view of the database with `table`"));
        }
        let person = self.text_at(&section, "person").or_else(|| self.person_column(root));
        let rows = section
            .get("rows_per_person")
            .map_or(Some(1), |v| self.rows(&section, v, person.is_some()));
        let columns =
            self.section(&section, "columns").map_or_else(BTreeMap::new, |c| self.column_rules(&c));
        let budget = self.limit(&section, "budget");
        if section.get("budget").is_none() {
            let hint = "add `budget = { epsilon = 1, delta = 1e-9 }`: what everybody may spend together, for ever";
            self.report(
                section.at,
                Failure::policy("missing-key", "`queries.budget` is missing").hint(hint),
            );
        }
        let each = section.get("each").and_then(|_| self.limit(&section, "each"));
        let table = self.text_at(&section, "table").or_else(|| source.and_then(called));
        let ask = self.asked(&section);
        let (ledger, key, head) =
            (self.ledger(root), self.text_at(root, "key"), self.text_at(root, "head"));
        let synthetic =
            self.section(&section, "synthetic").and_then(|s| self.synthetic(&s, &columns));
        let recipients = self.texts_at(root, "recipients").unwrap_or_default();
        let (delimiter, quote) = (self.byte(root, "delimiter"), self.byte(root, "quote"));
        let missing = self.texts_at(root, "missing").unwrap_or_else(|| vec![String::new()]);
        Some(Queries {
            source: source?.clone(),
            recipients,
            delimiter,
            quote,
            missing,
            person,
            table: table?,
            rows: rows?,
            columns,
            budget: budget?,
            each,
            ledger,
            key,
            head,
            ask,
            synthetic,
        })
    }

    /// The attribute that says `person = true`.
    fn person_column(&self, root: &Section<'a>) -> Option<String> {
        let attributes = root.get("attributes")?.get_ref().as_table()?;
        let person = |v: &DeValue<'_>| v.as_table()?.get("person")?.get_ref().as_bool();
        let found = attributes.iter().find(|(_, v)| person(v.get_ref()) == Some(true));
        found.map(|(name, _)| name.get_ref().to_string())
    }

    fn rows(
        &self,
        section: &Section<'a>,
        value: &Spanned<DeValue<'a>>,
        person: bool,
    ) -> Option<u64> {
        let rows = scalar(value.get_ref())
            .and_then(|t| t.parse().ok())
            .filter(|n| (1..=1_000_000).contains(n));
        let at = value.span().start;
        if rows.is_none() {
            let path = section.path("rows_per_person");
            self.report(
                at,
                Failure::policy(
                    "wrong-value",
                    format!("`{path}` must be a whole number from 1 to 1000000"),
                ),
            );
        } else if !person {
            let problem = Failure::policy(
                "useless-key",
                "`queries.rows_per_person` means nothing without a person column",
            );
            self.report(at, problem.hint("name it with `person = \"…\"`"));
        }
        rows
    }

    fn fraction(&self, section: &Section<'a>, key: &str, most: Option<u64>) -> Option<Fraction> {
        let value = section.get(key)?;
        let number = scalar(value.get_ref()).and_then(|t| Fraction::parse(&t));
        let number = number.filter(|n| most.is_none_or(|most| *n < Fraction::whole(most)));
        if number.is_none() {
            let range = most.map_or("at least 0".into(), |m| format!("at least 0 and below {m}"));
            let problem = format!(
                "`{}` must be a number of {range}, not {}",
                section.path(key),
                shown(value.get_ref())
            );
            self.report(value.span().start, Failure::policy("wrong-value", problem));
        }
        number
    }

    fn limit(&self, of: &Section<'a>, key: &str) -> Option<Limit> {
        let section = self.section(of, key)?;
        self.only(&section, &["epsilon", "delta"]);
        if section.get("epsilon").is_none() {
            let problem =
                Failure::policy("missing-key", format!("`{}` has no `epsilon`", section.path));
            self.report(section.at, problem.hint("add `epsilon = 1`, or less"));
        }
        let epsilon = self.fraction(&section, "epsilon", None);
        let delta = if section.get("delta").is_some() {
            self.fraction(&section, "delta", Some(1))?
        } else {
            Fraction::whole(0)
        };
        Some(Limit { epsilon: epsilon?, delta })
    }

    fn column_rules(&self, columns: &Section<'a>) -> BTreeMap<String, ColumnRule> {
        let mut rules = BTreeMap::new();
        for (name, _) in columns.table.iter() {
            let name = name.get_ref();
            if let Some(section) = self.section(columns, name) {
                self.only(&section, &["bounds", "unit", "keys"]);
                let keys = self.texts_at(&section, "keys");
                if keys.as_ref().is_some_and(|k| {
                    k.is_empty() || k.iter().enumerate().any(|(i, x)| k[..i].contains(x))
                }) {
                    let problem = Failure::policy(
                        "wrong-value",
                        format!("`{}` must name keys, each once", section.path("keys")),
                    );
                    self.report(section.at, problem);
                }
                rules.insert(name.to_string(), ColumnRule { scale: self.scale(&section), keys });
            }
        }
        rules
    }

    /// Unit and bounds of a column.
    fn scale(&self, section: &Section<'a>) -> Option<Scale> {
        let unit = section.get("unit").map_or(Some(Decimal { mantissa: 1, decimals: 0 }), |v| {
            let unit = self.decimal(section, "unit", v)?;
            if unit.mantissa <= 0 {
                self.report(
                    v.span().start,
                    Failure::policy(
                        "wrong-value",
                        format!("`{}` must be above 0", section.path("unit")),
                    ),
                );
                return None;
            }
            Some(unit)
        })?;
        let bounds = self.array(section, "bounds")?;
        let path = section.path("bounds");
        let [low, high] = bounds else {
            let problem = Failure::policy("wrong-value", format!("`{path}` must be two numbers"));
            self.report(section.at, problem.hint("the least and the largest: `bounds = [0, 120]`"));
            return None;
        };
        let scale = Scale { unit, low: 0, high: 0 };
        let units = |v: &Spanned<DeValue<'a>>| {
            let found = self.decimal(section, "bounds", v).and_then(|d| scale.exactly(d));
            // Squares of a million million rows still fit into 128 bits.
            let found = found.filter(|n| n.unsigned_abs() < 1 << 40);
            if found.is_none() {
                let problem = Failure::policy(
                    "wrong-value",
                    format!("`{path}` must be whole numbers of units"),
                );
                self.report(
                    v.span().start,
                    problem.hint("give a `unit` that divides both, such as 0.01, and that they are at most 10^12 of"),
                );
            }
            found
        };
        let (low, high) = (units(low)?, units(high)?);
        if low > high {
            self.report(
                section.at,
                Failure::policy("wrong-value", format!("`{path}` end before they begin")),
            );
            return None;
        }
        Some(Scale { unit, low, high })
    }

    fn synthetic(
        &self,
        section: &Section<'a>,
        rules: &BTreeMap<String, ColumnRule>,
    ) -> Option<SyntheticRule> {
        self.only(section, &["columns", "pairs", "widths", "epsilon", "delta", "mechanism", "to"]);
        let needed = |key: &str, hint: &str| {
            if section.get(key).is_none() {
                self.report(
                    section.at,
                    Failure::policy("missing-key", format!("`{}` is missing", section.path(key)))
                        .hint(hint),
                );
            }
        };
        needed("columns", "name the columns of the synthetic table");
        needed("epsilon", "say what the table may cost: `epsilon = 1`");
        needed("to", "name the folder that the table goes to");
        let columns = self.texts_at(section, "columns")?;
        for name in &columns {
            if !rules.get(name).is_some_and(|r| r.keys.is_some() || r.scale.is_some()) {
                let problem = Failure::policy(
                    "values-not-public",
                    format!("the values of `{name}` are not public"),
                );
                let hint = format!(
                    "add `{name} = {{ keys = […] }}` or `{{ bounds = [0, 100] }}` under [queries.columns]"
                );
                self.report(section.at, problem.hint(hint));
            }
        }
        if columns.is_empty() || columns.iter().enumerate().any(|(i, c)| columns[..i].contains(c)) {
            self.report(
                section.at,
                Failure::policy(
                    "wrong-value",
                    format!("`{}` must name columns, each once", section.path("columns")),
                ),
            );
            return None;
        }
        let pairs = self.pairs(section, &columns);
        let widths =
            self.section(section, "widths").map_or_else(BTreeMap::new, |w| self.widths(&w, rules));
        let delta = if section.get("delta").is_some() {
            self.fraction(section, "delta", Some(1))
        } else {
            Some(Fraction::whole(0))
        };
        let epsilon = self.fraction(section, "epsilon", None);
        let gaussian = self.gaussian(section).unwrap_or(false);
        if gaussian && delta.as_ref().is_some_and(Fraction::is_zero) {
            self.report(
                section.at,
                Failure::policy("missing-key", "Gaussian noise needs a δ")
                    .hint("add `delta = 1e-9`"),
            );
        }
        if epsilon.as_ref().is_some_and(Fraction::is_zero) {
            self.report(
                section.at,
                Failure::policy(
                    "wrong-value",
                    format!("`{}` must be above 0", section.path("epsilon")),
                ),
            );
        }
        let noise = if gaussian { NoiseKind::Gaussian } else { NoiseKind::Laplace };
        let to = self.text_at(section, "to");
        Some(SyntheticRule {
            columns,
            pairs,
            widths,
            price: Price { epsilon: epsilon?, delta: delta?, noise },
            to: to?,
        })
    }

    /// Pairs of columns, which must not make a cycle.
    fn pairs(&self, section: &Section<'a>, columns: &[String]) -> Vec<(usize, usize)> {
        let mut part: Vec<usize> = (0..columns.len()).collect();
        let mut pairs = Vec::new();
        for value in self.array(section, "pairs").unwrap_or_default() {
            let names: Option<Vec<&str>> = value
                .get_ref()
                .as_array()
                .and_then(|a| a.iter().map(|v| v.get_ref().as_str()).collect());
            let place = |name: &str| columns.iter().position(|c| c == name);
            let pair = names
                .and_then(|n| if let [a, b] = n[..] { Some((place(a)?, place(b)?)) } else { None });
            match pair.filter(|(a, b)| part[*a] != part[*b]) {
                Some((a, b)) => {
                    let (from, to) = (part[a], part[b]);
                    part.iter_mut().filter(|p| **p == from).for_each(|p| *p = to);
                    pairs.push((a, b));
                }
                None => {
                    let problem = Failure::policy(
                        "wrong-value",
                        format!(
                            "`{}` must be pairs of its columns without a cycle",
                            section.path("pairs")
                        ),
                    );
                    self.report(
                        value.span().start,
                        problem.hint("write `pairs = [[\"age\", \"job\"]]`"),
                    );
                }
            }
        }
        pairs
    }

    fn widths(
        &self,
        section: &Section<'a>,
        rules: &BTreeMap<String, ColumnRule>,
    ) -> BTreeMap<String, i64> {
        let mut widths = BTreeMap::new();
        for (name, value) in section.table.iter() {
            let name = name.get_ref();
            let scale = rules.get(name.as_ref()).and_then(|r| r.scale);
            let width = self
                .decimal(section, name, value)
                .and_then(|d| scale?.exactly(d))
                .filter(|w| *w > 0);
            match width {
                Some(width) => drop(widths.insert(name.to_string(), width)),
                None => {
                    let problem = Failure::policy(
                        "wrong-value",
                        format!(
                            "`{}` must be a whole number of units of a column with bounds",
                            section.path(name)
                        ),
                    );
                    self.report(value.span().start, problem);
                }
            }
        }
        widths
    }

    fn asked(&self, section: &Section<'a>) -> Vec<Asked> {
        let mut all = Vec::new();
        for (i, value) in self.array(section, "ask").unwrap_or_default().iter().enumerate() {
            if let Some(sql) = value.get_ref().as_str() {
                all.push(Asked { sql: sql.into(), epsilon: None, delta: None, gaussian: None });
            } else if let Some(table) = value.get_ref().as_table() {
                let one =
                    Section { path: format!("queries.ask[{i}]"), table, at: value.span().start };
                self.only(&one, &["sql", "epsilon", "delta", "mechanism"]);
                let Some(sql) = self.text_at(&one, "sql") else {
                    self.report(
                        one.at,
                        Failure::policy("missing-key", format!("`{}` has no `sql`", one.path)),
                    );
                    continue;
                };
                let gaussian = self.gaussian(&one);
                let (epsilon, delta) =
                    (self.fraction(&one, "epsilon", None), self.fraction(&one, "delta", Some(1)));
                all.push(Asked { sql, epsilon, delta, gaussian });
            } else {
                let problem = Failure::policy(
                    "wrong-value",
                    "a question is SQL text, or a table with `sql` and `epsilon`",
                );
                self.report(value.span().start, problem);
            }
        }
        all
    }

    /// Whether a mechanism is chosen and is the Gaussian one.
    fn gaussian(&self, section: &Section<'a>) -> Option<bool> {
        let value = section.get("mechanism")?;
        let name = self.text_of(section, "mechanism", value)?;
        match name.as_str() {
            "laplace" => Some(false),
            "gaussian" => Some(true),
            _ => {
                let problem = Failure::policy(
                    "wrong-value",
                    format!(
                        "`{}` is `laplace` or `gaussian`, not `{name}`",
                        section.path("mechanism")
                    ),
                );
                let hint = did_you_mean(&name, ["laplace", "gaussian"]);
                self.report(value.span().start, problem.hint(hint));
                None
            }
        }
    }
}

/// What questions call a source: its table, or its file without extension.
fn called(source: &Source) -> Option<String> {
    let name = source.name()?;
    Some(match source {
        Source::File(_) => name.rsplit('\\').next()?.split('.').next()?.to_owned(),
        Source::Postgres { .. } | Source::Sqlite { .. } | Source::Memory(_) => name,
    })
}
