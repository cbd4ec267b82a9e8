//! SQL text to a [`Question`], restricted to what has a sensitivity.
//!
//! One SELECT of aggregates and grouping columns, FROM the table, WHERE, GROUP BY. Everything else
//! is refused with the reason. So that nothing is overlooked in a language of so many clauses, what
//! was understood is written out again and compared with what was parsed: a clause that was not
//! understood makes a difference.

use super::quantile::GRID;
use super::query::*;
use crate::catalogue::did_you_mean_column;
use crate::exact::Ratio;
use crate::failure::{Failure, Failures};
use crate::policy::Queries;
use crate::taxonomy::Decimal;
use sqlparser::ast::{
    BinaryOperator, DuplicateTreatment, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArguments, GroupByExpr, Query, Select, SelectItem, SetExpr, Statement, TableFactor,
    UnaryOperator, Value,
};
use sqlparser::dialect::GenericDialect;
use sqlparser::parser::Parser;
use std::cmp::Ordering;

const FORM: &str = "questions are `SELECT keys and aggregates FROM table WHERE … GROUP BY keys`";
const AGGREGATES: &str = "aggregates are COUNT(*), COUNT(column), COUNT(DISTINCT person), SUM, AVG, VARIANCE, STDDEV, \
                          MEDIAN, QUANTILE(column, 0.25), HISTOGRAM(column, width)";

/// Understands a question about a table with these columns.
pub fn parse(text: &str, queries: &Queries, columns: &[String]) -> Result<Question, Failures> {
    let text = text.trim().trim_end_matches(';').trim_end();
    let parsed = Parser::parse_sql(&GenericDialect {}, text).map_err(|e| {
        Failure::usage("not-sql", format!("`{text}` is no SQL: {}", plain(&e.to_string())))
            .hint(FORM)
    })?;
    let [Statement::Query(query)] = parsed.as_slice() else {
        return Err(refuse("one SELECT at a time is answered", FORM).into());
    };
    let SetExpr::Select(select) = query.body.as_ref() else {
        return Err(
            refuse("one SELECT at a time is answered, without UNION or the like", FORM).into()
        );
    };
    understood(query, select)?;
    let mut reader =
        Reader { queries, names: columns, problems: Failures::default(), columns: Vec::new() };
    let question = reader.question(text, select);
    reader.problems.or(())?;
    question.ok_or_else(|| refuse("this question is not understood", FORM).into())
}

fn refuse(message: impl Into<String>, hint: impl Into<String>) -> Failure {
    Failure::usage("sql-not-answered", message).hint(hint)
}

/// The parser's message without its own preamble.
fn plain(message: &str) -> String {
    message.trim_start_matches("sql parser error: ").to_owned()
}

/// Refuses every clause but SELECT, FROM, WHERE and GROUP BY.
fn understood(query: &Query, select: &Select) -> Result<(), Failure> {
    let list = |all: Vec<String>| all.join(", ");
    let mut written =
        format!("SELECT {}", list(select.projection.iter().map(ToString::to_string).collect()));
    if !select.from.is_empty() {
        written.push_str(&format!(
            " FROM {}",
            list(select.from.iter().map(ToString::to_string).collect())
        ));
    }
    if let Some(filter) = &select.selection {
        written.push_str(&format!(" WHERE {filter}"));
    }
    if let GroupByExpr::Expressions(keys, modifiers) = &select.group_by
        && !keys.is_empty()
        && modifiers.is_empty()
    {
        written.push_str(&format!(
            " GROUP BY {}",
            list(keys.iter().map(ToString::to_string).collect())
        ));
    }
    let parsed = query.to_string();
    if parsed == written {
        return Ok(());
    }
    let same = parsed.bytes().zip(written.bytes()).take_while(|(a, b)| a == b).count();
    let from = (0..=same).rev().find(|&i| parsed.is_char_boundary(i)).unwrap_or(0);
    let rest: String = parsed[from..].trim().chars().take(40).collect();
    let hint = "only SELECT, FROM, WHERE and GROUP BY have a known sensitivity; sort or limit the answer afterwards, \
                which costs nothing";
    Err(refuse(format!("`{rest}` is not answered"), hint))
}

struct Reader<'a> {
    queries: &'a Queries,
    names: &'a [String],
    problems: Failures,
    columns: Vec<String>,
}

impl Reader<'_> {
    fn wrong(&mut self, message: impl Into<String>, hint: impl Into<String>) {
        self.problems.push(refuse(message, hint));
    }

    fn question(&mut self, text: &str, select: &Select) -> Option<Question> {
        self.from(select);
        let filter = select.selection.as_ref().map(|e| self.filter(e));
        let mut groups = Vec::new();
        if let GroupByExpr::Expressions(keys, _) = &select.group_by {
            for key in keys {
                groups.extend(self.key(key));
            }
        }
        let (mut items, mut measures) = (Vec::new(), Vec::new());
        for item in &select.projection {
            let (expr, heading) = match item {
                SelectItem::UnnamedExpr(expr) => (expr, expr.to_string()),
                SelectItem::ExprWithAlias { expr, alias } => (expr, alias.value.clone()),
                other => {
                    self.wrong(format!("`{other}` would show records"), AGGREGATES);
                    continue;
                }
            };
            if let Some(item) = self.item(expr, &mut groups, &mut measures, select) {
                match item {
                    // A histogram shows its ranges, and counts.
                    Item::Key(k) if matches!(expr, Expr::Function(_)) => {
                        items.push((self.columns[groups[k].column].clone(), Item::Key(k)));
                        items.push((
                            heading,
                            Item::Count(place(&mut measures, Measure::Count(None))),
                        ));
                    }
                    item => items.push((heading, item)),
                }
            }
        }
        if measures.is_empty() && self.problems.0.is_empty() {
            self.wrong("nothing is aggregated", AGGREGATES);
        }
        let filter = filter.map_or(Some(None), |f| f.map(Some));
        Some(Question {
            text: text.into(),
            columns: self.columns.clone(),
            groups,
            filter: filter?,
            items,
            measures,
        })
    }

    fn from(&mut self, select: &Select) {
        let table = &self.queries.table;
        let name = match select.from.as_slice() {
            [one] if one.joins.is_empty() => match &one.relation {
                TableFactor::Table { name, .. } if one.to_string() == name.to_string() => {
                    unquoted(&name.to_string())
                }
                _ => String::new(),
            },
            _ => String::new(),
        };
        if name.eq_ignore_ascii_case(table) {
            return;
        }
        let hint = format!(
            "write `FROM {table}`: a question is about one table, without joins or sub-queries"
        );
        self.wrong("the table of the question is not known", hint);
    }

    /// The index of a column.
    fn column(&mut self, expr: &Expr) -> Option<usize> {
        let Expr::Identifier(name) = expr else {
            self.wrong(
                format!("`{expr}` is not a column"),
                "name a column as it is; computed columns have no known bounds",
            );
            return None;
        };
        let exact = self.names.iter().find(|n| **n == name.value);
        let found =
            exact.or_else(|| self.names.iter().find(|n| n.eq_ignore_ascii_case(&name.value)));
        let Some(found) = found.cloned() else {
            let named = |n: &String| {
                self.queries.columns.contains_key(n) || self.queries.person.as_ref() == Some(n)
            };
            let familiar = self.names.iter().any(named);
            let hint = did_you_mean_column(&name.value, self.names, familiar);
            self.wrong(format!("there is no column `{}`", name.value), hint);
            return None;
        };
        Some(self.number(found))
    }

    fn number(&mut self, name: String) -> usize {
        self.columns.iter().position(|n| *n == name).unwrap_or_else(|| {
            self.columns.push(name);
            self.columns.len() - 1
        })
    }

    fn key(&mut self, expr: &Expr) -> Option<Group> {
        let column = self.column(expr)?;
        let keys = self.queries.columns.get(&self.columns[column]).and_then(|c| c.keys.clone());
        Some(Group { column, keys: keys.map_or(Keys::Unknown, Keys::Public) })
    }

    fn item(
        &mut self,
        expr: &Expr,
        groups: &mut Vec<Group>,
        measures: &mut Vec<Measure>,
        select: &Select,
    ) -> Option<Item> {
        let function = match expr {
            Expr::Function(function) => function,
            Expr::Identifier(_) => {
                let column = self.column(expr)?;
                let key = groups.iter().position(|g| g.column == column);
                if key.is_none() {
                    let name = self.columns[column].clone();
                    self.wrong(
                        format!("`{name}` would show records"),
                        format!("add it to GROUP BY; {AGGREGATES}"),
                    );
                }
                return key.map(Item::Key);
            }
            other => {
                self.wrong(format!("`{other}` is no aggregate of a column"), AGGREGATES);
                return None;
            }
        };
        let name = function.name.to_string().to_ascii_uppercase();
        let call = self.call(function)?;
        match name.as_str() {
            "COUNT" => self.count(&call, measures),
            "SUM" | "AVG" | "MEAN" | "VARIANCE" | "VAR_POP" | "VAR" | "STDDEV" | "STDDEV_POP" => {
                self.moment(&name, &call, measures)
            }
            "MEDIAN" | "QUANTILE" | "PERCENTILE" => self.quantile(&name, &call, measures),
            "HISTOGRAM" => {
                if select.projection.len() > 1 || !groups.is_empty() {
                    self.wrong(
                        "HISTOGRAM stands alone",
                        "write the keys into GROUP BY and select COUNT(*) instead",
                    );
                    return None;
                }
                let group = self.histogram(&call)?;
                groups.push(group);
                Some(Item::Key(0))
            }
            _ => {
                self.wrong(format!("`{name}` has no known sensitivity"), AGGREGATES);
                None
            }
        }
    }

    /// The arguments of a function, if it is a plain call.
    fn call(&mut self, function: &Function) -> Option<Call> {
        let mut call = Call { distinct: false, star: false, arguments: Vec::new() };
        let mut shown = Vec::new();
        if let FunctionArguments::List(list) = &function.args {
            call.distinct = list.duplicate_treatment == Some(DuplicateTreatment::Distinct);
            for argument in &list.args {
                shown.push(argument.to_string());
                match argument {
                    FunctionArg::Unnamed(FunctionArgExpr::Wildcard) => call.star = true,
                    FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => {
                        call.arguments.push(expr.clone())
                    }
                    _ => {}
                }
            }
        }
        let distinct = if call.distinct { "DISTINCT " } else { "" };
        let written = format!("{}({distinct}{})", function.name, shown.join(", "));
        if function.to_string() != written {
            self.wrong(format!("`{function}` is more than an aggregate"), AGGREGATES);
            return None;
        }
        Some(call)
    }

    fn count(&mut self, call: &Call, measures: &mut Vec<Measure>) -> Option<Item> {
        let measure = match call.arguments.as_slice() {
            [] if call.star && !call.distinct => Measure::Count(None),
            [column] => {
                let column = self.column(column)?;
                let name = &self.columns[column];
                if !call.distinct {
                    Measure::Count(Some(column))
                } else if self.queries.person.as_ref() == Some(name) {
                    Measure::Persons
                } else {
                    let name = name.clone();
                    self.wrong(
                        format!("distinct values of `{name}` are not counted"),
                        "persons can be: COUNT(DISTINCT person); of other columns, list the keys and GROUP BY",
                    );
                    return None;
                }
            }
            _ => {
                self.wrong("COUNT takes `*` or one column", AGGREGATES);
                return None;
            }
        };
        Some(Item::Count(place(measures, measure)))
    }

    fn moment(&mut self, name: &str, call: &Call, measures: &mut Vec<Measure>) -> Option<Item> {
        let [argument] = call.arguments.as_slice() else {
            self.wrong(format!("{name} takes one column"), AGGREGATES);
            return None;
        };
        if call.distinct {
            self.wrong(format!("{name}(DISTINCT …) is not answered"), "leave DISTINCT out");
        }
        let column = self.column(argument)?;
        let scale = self.scale(column, name)?;
        let sum = |center, power| Measure::Sum { column, scale, center, power };
        if name == "SUM" {
            return Some(Item::Sum(place(measures, sum(0, 1))));
        }
        let center = scale.middle();
        let total = place(measures, sum(center, 1));
        let count = place(measures, Measure::Numbers(column));
        if matches!(name, "AVG" | "MEAN") {
            return Some(Item::Mean(total, count));
        }
        let squares = place(measures, sum(center, 2));
        Some(Item::Variance(squares, total, count, name.starts_with("STDDEV")))
    }

    fn quantile(&mut self, name: &str, call: &Call, measures: &mut Vec<Measure>) -> Option<Item> {
        let at = match (name, call.arguments.as_slice()) {
            ("MEDIAN", [_]) => Some(Ratio::new(1, 2)),
            ("QUANTILE" | "PERCENTILE", [_, at]) => Ratio::parse(&at.to_string()),
            _ => None,
        };
        let at = at.filter(|at| *at <= Ratio::whole(1) && at.den() <= 10_000);
        let Some(at) = at else {
            self.wrong(
                format!(
                    "`{name}` takes a column and a number from 0 to 1 with at most four decimals"
                ),
                "write MEDIAN(age) or QUANTILE(age, 0.25)",
            );
            return None;
        };
        let column = self.column(&call.arguments[0])?;
        let scale = self.scale(column, name)?;
        if i128::from(scale.high) - i128::from(scale.low) >= i128::from(GRID) {
            let column = self.columns[column].clone();
            self.wrong(
                format!("the bounds of `{column}` are more than {GRID} units apart, too fine for a quantile"),
                "give the column a larger `unit` under [queries.columns]",
            );
            return None;
        }
        Some(Item::Quantile(place(measures, Measure::Quantile { column, scale, at })))
    }

    fn histogram(&mut self, call: &Call) -> Option<Group> {
        match call.arguments.as_slice() {
            [column] => self.key(column),
            [column, width] => {
                let column = self.column(column)?;
                let scale = self.scale(column, "HISTOGRAM")?;
                let number = Decimal::parse(&width.to_string()).filter(|w| w.mantissa > 0);
                let width =
                    number.and_then(|w| Scale { low: 0, high: i64::MAX, ..scale }.exactly(w));
                let Some(width) = width.filter(|w| *w > 0) else {
                    self.wrong(
                        "the width of a histogram is a whole number of units",
                        "write HISTOGRAM(age, 10)",
                    );
                    return None;
                };
                let span = i128::from(scale.high) - i128::from(scale.low);
                let count = usize::try_from(span / i128::from(width) + 1).ok()?;
                Some(Group { column, keys: Keys::Bins { low: scale.low, width, count, scale } })
            }
            _ => {
                self.wrong("HISTOGRAM takes a column, and a width if it is a number", AGGREGATES);
                None
            }
        }
    }

    /// The bounds of a column that is aggregated.
    fn scale(&mut self, column: usize, name: &str) -> Option<Scale> {
        let column = self.columns[column].clone();
        let scale = self.queries.columns.get(&column).and_then(|c| c.scale);
        if scale.is_none() {
            self.wrong(
                format!("`{column}` has no bounds, so one person could change {name} by any amount"),
                format!("add `{column} = {{ bounds = [0, 100] }}` under [queries.columns], not chosen from the data"),
            );
        }
        scale
    }

    fn filter(&mut self, expr: &Expr) -> Option<Filter> {
        match expr {
            Expr::Nested(inner) => self.filter(inner),
            Expr::UnaryOp { op: UnaryOperator::Not, expr } => {
                Some(Filter::Not(Box::new(self.filter(expr)?)))
            }
            Expr::BinaryOp { left, op: op @ (BinaryOperator::And | BinaryOperator::Or), right } => {
                let both = (self.filter(left), self.filter(right));
                let both = vec![both.0?, both.1?];
                Some(if *op == BinaryOperator::And { Filter::And(both) } else { Filter::Or(both) })
            }
            Expr::BinaryOp { left, op, right } => self.comparison(left, op, right),
            Expr::InList { expr, list, negated } => {
                let column = self.column(expr)?;
                let list: Option<Vec<Literal>> = list.iter().map(|e| self.literal(e)).collect();
                Some(negate(Filter::Test(Test { column, is: Is::In(list?) }), *negated))
            }
            Expr::Between { expr, negated, low, high } => {
                let column = self.column(expr)?;
                let (low, high) = (self.literal(low)?, self.literal(high)?);
                let test = |orders: &[Ordering], l| {
                    Filter::Test(Test { column, is: Is::Ordered(orders.to_vec(), l) })
                };
                let both = vec![
                    test(&[Ordering::Greater, Ordering::Equal], low),
                    test(&[Ordering::Less, Ordering::Equal], high),
                ];
                Some(negate(Filter::And(both), *negated))
            }
            Expr::IsNull(inner) => {
                Some(Filter::Test(Test { column: self.column(inner)?, is: Is::Missing }))
            }
            Expr::IsNotNull(inner) => Some(negate(
                Filter::Test(Test { column: self.column(inner)?, is: Is::Missing }),
                true,
            )),
            other => {
                self.wrong(
                    format!("`{other}` is no condition that is understood"),
                    "conditions compare a column with a value: =, <>, <, <=, >, >=, IN (…), BETWEEN, IS NULL; \
                     combine them with AND, OR, NOT",
                );
                None
            }
        }
    }

    fn comparison(&mut self, left: &Expr, op: &BinaryOperator, right: &Expr) -> Option<Filter> {
        use Ordering::{Equal, Greater, Less};
        let orders = match op {
            BinaryOperator::Eq => vec![Equal],
            BinaryOperator::NotEq => vec![Less, Greater],
            BinaryOperator::Lt => vec![Less],
            BinaryOperator::LtEq => vec![Less, Equal],
            BinaryOperator::Gt => vec![Greater],
            BinaryOperator::GtEq => vec![Greater, Equal],
            other => {
                self.wrong(format!("`{other}` is no comparison"), "use =, <>, <, <=, >, >=");
                return None;
            }
        };
        let turned = !matches!(left, Expr::Identifier(_)) && matches!(right, Expr::Identifier(_));
        let (column, literal) = if turned { (right, left) } else { (left, right) };
        let orders =
            if turned { orders.into_iter().map(Ordering::reverse).collect() } else { orders };
        let column = self.column(column);
        let literal = self.literal(literal);
        Some(Filter::Test(Test { column: column?, is: Is::Ordered(orders, literal?) }))
    }

    fn literal(&mut self, expr: &Expr) -> Option<Literal> {
        let literal = match expr {
            Expr::Value(value) => match &value.value {
                Value::Number(text, _) => Decimal::parse(text).map(Literal::Number),
                Value::SingleQuotedString(text) => Some(Literal::Text(text.clone())),
                _ => None,
            },
            Expr::UnaryOp { op: UnaryOperator::Minus, expr } => {
                Decimal::parse(&format!("-{expr}")).map(Literal::Number)
            }
            _ => None,
        };
        if literal.is_none() {
            self.wrong(
                format!("`{expr}` is no value"),
                "compare with a number or a text in single quotes",
            );
        }
        literal
    }
}

/// A function's arguments.
struct Call {
    distinct: bool,
    star: bool,
    arguments: Vec<Expr>,
}

/// The index of a measurement, which is added if it is new.
fn place(measures: &mut Vec<Measure>, measure: Measure) -> usize {
    measures.iter().position(|m| *m == measure).unwrap_or_else(|| {
        measures.push(measure);
        measures.len() - 1
    })
}

fn negate(filter: Filter, negated: bool) -> Filter {
    if negated { Filter::Not(Box::new(filter)) } else { filter }
}

fn unquoted(name: &str) -> String {
    name.trim_matches(['"', '`']).to_owned()
}

impl Scale {
    /// A number as whole units; nothing if it is not a whole number of them.
    pub fn exactly(&self, value: Decimal) -> Option<i64> {
        let power = |n: u32| 10i128.checked_pow(n);
        let num = i128::from(value.mantissa).checked_mul(power(self.unit.decimals)?)?;
        let den = i128::from(self.unit.mantissa).checked_mul(power(value.decimals)?)?;
        (num % den == 0).then(|| i64::try_from(num / den).ok()).flatten()
    }
}
