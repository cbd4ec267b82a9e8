//! Random tables and random requirements, drawn from the catalogue's own parameter lists.

use proptest::prelude::*;
use scumble::algorithm::{Algorithm, Requirement};
use scumble::catalogue::{Entry, Kind, MODELS, Parameter, Parameters, Value};
use scumble::encode::{encode, encode_guard};
use scumble::exact::Ratio;
use scumble::freeform::{Observability, Specification, attach};
use scumble::model::{Concern, Model};
use scumble::register::{Register, RegisterColumn};
use scumble::table::{Attribute, Table};
use scumble::taxonomy::{Decimal, Granularity, Intervals, Prefix, Rule, Taxonomy, Tree, Unit};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A kind of column: a rule, the lines of its file if it has one, and the texts that may occur.
pub struct Column {
    pub rule: Rule,
    pub rows: Option<Vec<Vec<String>>>,
    pub texts: &'static [&'static str],
}

/// Number of kinds of column.
pub const KINDS: usize = 8;

/// The columns: two number scales, dates, prefixes of unequal length, and four trees.
pub fn column(kind: usize) -> Column {
    let plain = |rule, texts| Column { rule, rows: None, texts };
    let decimal = |text| Decimal::parse(text);
    match kind % KINDS {
        0 => plain(exact(Intervals::default()), &["-2", "1", "2", "3", "5.5", "8", "40"]),
        1 => {
            let widths = ["5", "10"].into_iter().filter_map(decimal).collect();
            plain(
                exact(Intervals {
                    widths,
                    low: decimal("3"),
                    high: decimal("30"),
                    ..Intervals::default()
                }),
                &["1", "4", "7", "9", "12", "29", "30"],
            )
        }
        2 => {
            let days = &[
                "2023-12-31",
                "2024-01-01",
                "2024-02-29",
                "2024-03-01",
                "2024-05-05",
                "2025-01-01",
            ];
            plain(Rule::Dates(vec![Granularity::Day, Granularity::Month, Granularity::Year]), days)
        }
        3 => plain(Rule::Prefix(Prefix::default()), &["1", "10", "12", "123", "130", "2", "21"]),
        4 => plain(Rule::Flat, &["red", "green", "blue", "grey"]),
        5 => plain(Rule::Nested(tree()), &["Engineer", "Lawyer", "Writer", "Dancer", "None"]),
        6 => file(true, &["low;few;*", "mid;few;*", "high;many;*", "huge;many;*", "vast;many;*"]),
        _ => file(false, &["a;x;p;*", "d;y;p;*", "b;x;p;*", "e;z;q;*", "c;y;p;*"]),
    }
}

/// Numbers whose leaves are the values of the data, as the twins of the metrics count them. Cells
/// are the subject of `labels`.
fn exact(intervals: Intervals) -> Rule {
    Rule::Intervals(Intervals { unit: Unit::Exact, ..intervals })
}

fn tree() -> Tree {
    let leaf = |label: &str| Tree { label: label.into(), children: Vec::new() };
    let node = |label: &str, children| Tree { label: label.into(), children };
    let professional = node("Professional", vec![leaf("Engineer"), leaf("Lawyer")]);
    let artist = node("Artist", vec![leaf("Writer"), leaf("Dancer")]);
    node("*", vec![professional, artist, leaf("None")])
}

fn file(ordered: bool, lines: &[&str]) -> Column {
    let rows = lines.iter().map(|line| line.split(';').map(str::to_owned).collect()).collect();
    let texts: &[&str] =
        if ordered { &["low", "mid", "high", "huge", "vast"] } else { &["a", "b", "c", "d", "e"] };
    Column {
        rule: Rule::File { path: "file.csv".into(), ordered, public: false },
        rows: Some(rows),
        texts,
    }
}

/// A table as a reader would make it, and the same before equal rows were collapsed.
#[derive(Clone)]
pub struct Case {
    pub table: Table,
    /// One column of codes per attribute, quasi-identifiers first; one entry per record.
    pub records: Vec<Vec<u32>>,
}

impl std::fmt::Debug for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let attributes: Vec<_> = self.attributes().collect();
        for a in &attributes {
            writeln!(f, "{}: {:?}", a.name, a.taxonomy.rows())?;
        }
        for record in 0..self.records[0].len() {
            let texts = attributes
                .iter()
                .zip(&self.records)
                .map(|(a, codes)| a.taxonomy.leaf(codes[record]));
            writeln!(f, "{}", texts.collect::<Vec<_>>().join(","))?;
        }
        Ok(())
    }
}

impl Case {
    fn attributes(&self) -> impl Iterator<Item = &Attribute> {
        self.table.quasi.iter().chain(&self.table.sensitive)
    }

    /// The case of these columns: kind, whether values may be missing, and the texts of the records
    /// by index.
    pub fn of(quasi: &[(usize, bool)], sensitive: &[(usize, bool)], records: &[[u8; 6]]) -> Case {
        let (mut attributes, mut codes) = (Vec::new(), Vec::new());
        for (i, &(kind, may_miss)) in quasi.iter().chain(sensitive).enumerate() {
            let column = column(kind);
            let text = |r: &[u8; 6]| match usize::from(r[i]) {
                7 if may_miss => "NA",
                index => column.texts[index % column.texts.len()],
            };
            let texts: Vec<&str> = records.iter().map(text).collect();
            let mut distinct = texts.clone();
            distinct.sort_unstable();
            distinct.dedup();
            let name = format!("column {i} of kind {kind}");
            let (taxonomy, leaves) =
                encode(&name, &column.rule, column.rows, &distinct, &["NA".into()])
                    .expect("the columns are right");
            let leaf = |t: &&str| leaves[distinct.iter().position(|d| d == t).expect("is there")];
            codes.push(texts.iter().map(leaf).collect());
            let said = if i < quasi.len() { specification(kind, may_miss) } else { None };
            attributes.push(attach(Attribute::new(&name, taxonomy), said.as_ref()).expect("right"));
        }
        let mut sensitive = attributes.split_off(quasi.len());
        let (guard, wishes) = guard(&sensitive[0].taxonomy, records);
        sensitive.push(guard);
        codes.push(wishes);
        Case::from_records(attributes, sensitive, codes)
    }

    /// Collapsed, with what all sensitive attributes say together as the last of them.
    fn from_records(
        quasi: Vec<Attribute>,
        sensitive: Vec<Attribute>,
        records: Vec<Vec<u32>>,
    ) -> Case {
        let (mut table, _) = Table::collapse(quasi, sensitive, records.clone());
        table.join_sensitive();
        Case { table, records }
    }

    /// The numbers 1 to n, once each.
    pub fn line(n: u32) -> Case {
        let texts: Vec<String> = (1..=n).map(|i| i.to_string()).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let attribute = |name: &str, rule: &Rule| {
            let (taxonomy, codes) = encode(name, rule, None, &texts, &[]).expect("numbers");
            (Attribute::new(name, taxonomy), codes)
        };
        let (quasi, codes) = attribute("number", &exact(Intervals::default()));
        let (sensitive, values) = attribute("value", &Rule::Flat);
        let (guard, wishes) = guard(&sensitive.taxonomy, &vec![[0; 6]; n as usize]);
        Case::from_records(vec![quasi], vec![sensitive, guard], vec![codes, values, wishes])
    }

    /// The same records in the opposite order.
    pub fn reversed(&self) -> Case {
        let records: Vec<Vec<u32>> =
            self.records.iter().map(|c| c.iter().rev().copied().collect()).collect();
        let sensitive = self.table.sensitive[..records.len() - self.table.quasi.len()].to_vec();
        Case::from_records(self.table.quasi.clone(), sensitive, records)
    }

    /// Whether some cell of an ordered quasi-identifier is missing. A range cannot say "or
    /// missing", so such a class shows the root, and the laws of disjoint regions do not reach it.
    pub fn misses_ordered(&self) -> bool {
        self.table.quasi.iter().any(|a| a.taxonomy.is_ordered() && a.taxonomy.missing().is_some())
    }

    pub fn all_ordered(&self) -> bool {
        self.table.quasi.iter().all(|a| a.taxonomy.is_ordered())
    }
}

/// What is said of the values of a column whose taxonomy is given.
fn specification(kind: usize, other: bool) -> Option<Specification> {
    let number = |text| Ratio::parse(text).expect("a number");
    let believed = |belief, alpha| Observability::Believed {
        belief: number(belief),
        beliefs: Vec::new(),
        alpha: number(alpha),
    };
    let (guarding, observability): (&[&str], _) = match (kind % KINDS, other) {
        (5, false) => (&["Lawyer", "Artist"], Observability::BySensitivity),
        (5, true) => (&["*"], believed("0", "0.5")),
        (6, _) => (&["many"], believed("0.2", "0.4")),
        (7, true) => (&["a", "y"], Observability::BySensitivity),
        (7, false) => (&["p"], believed("0.1", "0.3")),
        _ => return None,
    };
    let guarding = guarding.iter().map(|g| (*g).to_owned()).collect();
    Some(Specification { guarding, observability, ..Specification::default() })
}

/// A column that says for every record which node of the sensitive attribute is to be guarded, or
/// nothing.
fn guard(of: &Taxonomy, records: &[[u8; 6]]) -> (Attribute, Vec<u32>) {
    let wishes: Vec<String> = (0..3)
        .map(|level| of.label(of.at_level(0, level.min(of.levels()))).into_owned())
        .chain([of.label(of.at_level(of.leaves() as u32 / 2, 0)).into_owned(), String::new()])
        .collect();
    let texts: Vec<&str> =
        records.iter().map(|r| wishes[usize::from(r[5] ^ r[0]) % 5].as_str()).collect();
    let mut distinct = texts.clone();
    distinct.sort_unstable();
    distinct.dedup();
    let (guard, leaves) = encode_guard("guard", &distinct, &[]);
    let codes =
        texts.iter().map(|t| leaves[distinct.binary_search(t).expect("is there")]).collect();
    (guard, codes)
}

/// The people of the table and some more like them, with what is sensitive.
fn register(table: &Table) -> Register {
    let columns = (table.quasi.iter().zip(&table.quasi_codes))
        .chain(table.sensitive.iter().zip(&table.sensitive_codes));
    let column = |(a, codes): (&Attribute, &Vec<u32>)| RegisterColumn {
        name: a.name.clone(),
        texts: (0..a.taxonomy.leaves() as u32).map(|c| a.taxonomy.leaf(c).to_owned()).collect(),
        codes: codes.clone(),
    };
    let weights = (0u64..).zip(&table.counts).map(|(i, &n)| u64::from(n) + i % 3).collect();
    Register { columns: columns.map(column).collect(), weights }
}

prop_compose! {
    /// Up to four quasi-identifiers of any kind, up to two sensitive attributes, up to `most`
    /// records.
    pub fn cases(most: usize)(
        quasi in prop::collection::vec((0..KINDS, any::<bool>()), 1..=4),
        sensitive in prop::collection::vec((0..KINDS, any::<bool>()), 1..=2),
        records in prop::collection::vec(prop::array::uniform6(0u8..8), 1..=most),
    ) -> Case {
        Case::of(&quasi, &sensitive, &records)
    }
}

prop_compose! {
    /// Only ordered quasi-identifiers, nothing missing.
    pub fn ordered_cases(most: usize)(
        quasi in prop::collection::vec(prop::sample::select(vec![0usize, 1, 2, 6]).prop_map(|k| (k, false)), 1..=3),
        records in prop::collection::vec(prop::array::uniform6(0u8..7), 1..=most),
    ) -> Case {
        Case::of(&quasi, &[(4, false)], &records)
    }
}

/// A text for a parameter, of its kind: `draw` chooses.
/// `values` are those of the attribute that a model is about.
fn text_of(kind: Kind, draw: u32, values: &[String]) -> String {
    match kind {
        Kind::Values => {
            let some = values.iter().enumerate().filter(|(i, _)| draw >> (i % 8) & 1 == 1);
            Value::List(some.map(|(_, v)| v.clone()).collect()).to_string()
        }
        Kind::Guard => "guard".into(),
        Kind::Register => "register".into(),
        Kind::Sensitive => String::new(),
        Kind::Text(example) => example.into(),
        Kind::Count(least, _) => (least + u64::from(draw % 4)).to_string(),
        Kind::Number(least, most) => {
            let least: f64 = least.parse().expect("a number");
            let most: f64 = most.map_or(least + 3.0, |m| m.parse().expect("a number"));
            format!("{:.2}", least + (most - least) * f64::from(draw % 21) / 20.0)
        }
        Kind::Choice(words) => words[draw as usize % words.len()].to_owned(),
    }
}

/// Checked parameters of an entry, drawn by its own list. A register that may be left out sometimes
/// is.
pub fn parameters(
    of: &str,
    list: &'static [Parameter],
    draws: &[u32],
    values: &[String],
) -> Parameters {
    let text = |p: &Parameter, draw: u32| match (p.kind, p.default) {
        (Kind::Register, Some(default)) if draw.is_multiple_of(3) => default.to_owned(),
        _ => text_of(p.kind, draw, values),
    };
    let given =
        list.iter().zip(draws.iter().cycle()).map(|(p, &d)| (p.name.to_owned(), text(p, d)));
    Parameters::read(of, list, &given.collect()).expect("drawn by kind")
}

/// A model with drawn parameters. If it finds their combination impossible, all are drawn as low as
/// may be.
fn model(
    entry: &Entry<Box<dyn Model>>,
    draws: &[u32],
    values: &[String],
) -> (Parameters, Box<dyn Model>) {
    let made = |draws: &[u32]| {
        let parameters = parameters(entry.name, entry.parameters, draws, values);
        (entry.build)(&parameters).map(|model| (parameters, model))
    };
    made(draws).or_else(|_| made(&[0])).expect("the lowest parameters are possible")
}

/// Every combination of the words of the choices; the other parameters as drawn.
pub fn combinations(list: &'static [Parameter], draws: &[u32]) -> Vec<BTreeMap<String, String>> {
    let mut all = vec![BTreeMap::new()];
    for (p, &draw) in list.iter().zip(draws.iter().cycle()) {
        let texts: Vec<String> = match p.kind {
            Kind::Choice(words) => words.iter().map(|w| (*w).to_owned()).collect(),
            kind => vec![text_of(kind, draw, &[])],
        };
        let with = |given: &BTreeMap<String, String>, text: &String| {
            let mut given = given.clone();
            given.insert(p.name.to_owned(), text.clone());
            given
        };
        all = all.iter().flat_map(|given| texts.iter().map(move |t| with(given, t))).collect();
    }
    all
}

/// What a requirement is drawn from: which model, its parameters, which sensitive attribute, which
/// columns.
pub type Draw = (usize, [u32; 3], usize, u8);

/// Up to three of them.
pub fn draws() -> impl Strategy<Value = Vec<Draw>> {
    let one = (0..MODELS.len(), prop::array::uniform3(0u32..1000), 0usize..2, 0u8..32);
    prop::collection::vec(one, 1..=3)
}

/// The drawn requirements for a table. One in four k-anonymities is on some columns only.
pub fn requirements(draws: &[Draw], table: &Table) -> Vec<Requirement> {
    draws.iter().map(|draw| requirement(draw, table)).collect()
}

fn requirement(&(which, params, attribute, on): &Draw, table: &Table) -> Requirement {
    let columns: Vec<usize> = (0..table.quasi.len()).filter(|d| on & (1 << d) != 0).collect();
    let on = (on & 16 != 0 && !columns.is_empty()).then_some(columns);
    let mut looked_at =
        (0..table.quasi.len()).filter(|d| on.as_ref().is_none_or(|on| on.contains(d)));
    let guards = looked_at.any(|d| table.quasi[d].freeform.as_ref().is_some_and(|v| v.guards()));
    // FF-anonymity needs something to guard.
    let entry =
        if MODELS[which].name == "ff-anonymity" && !guards { &MODELS[0] } else { &MODELS[which] };
    let published = table.published_sensitive();
    // The wishes of the guard column are about the first one.
    let guards = entry.parameters.iter().any(|p| matches!(p.kind, Kind::Guard));
    let about = if guards { 0 } else { attribute % published.len() };
    let values = values(&published[about].taxonomy);
    let (parameters, model) = model(entry, &params, &values);
    required(entry, parameters, model, about, on, table)
}

/// A model as a requirement about a sensitive attribute, with the people of the table as its
/// register.
pub fn required(
    entry: &Entry<Box<dyn Model>>,
    parameters: Parameters,
    model: Box<dyn Model>,
    about: usize,
    on: Option<Vec<usize>>,
    table: &Table,
) -> Requirement {
    let attribute = match model.promise().concerns {
        Concern::Identity => None,
        Concern::Sensitive => Some(about),
        Concern::Joint => Some(table.sensitive.len() - 1),
    };
    let register = parameters.register().map(|_| Arc::new(register(table)));
    Requirement { name: entry.name, parameters, model, attribute, on, register }
}

/// The values of a taxonomy but the missing one.
pub fn values(of: &Taxonomy) -> Vec<String> {
    (0..of.leaves() as u32)
        .filter(|&c| Some(c) != of.missing())
        .map(|c| of.leaf(c).to_owned())
        .collect()
}

/// A model with its name.
pub fn build(entry: &Entry<Box<dyn Model>>, parameters: &Parameters) -> Box<dyn Model> {
    (entry.build)(parameters).expect("drawn by kind")
}

/// An algorithm of the catalogue with these parameters, unless it finds their combination
/// impossible.
pub fn algorithm(
    entry: &Entry<Box<dyn Algorithm>>,
    given: &BTreeMap<String, String>,
) -> Option<Box<dyn Algorithm>> {
    let parameters = Parameters::read(entry.name, entry.parameters, given).expect("drawn by kind");
    (entry.build)(&parameters).ok()
}

/// k-anonymity alone.
pub fn k_anonymity(k: u64) -> Requirement {
    let entry = MODELS.iter().find(|e| e.name == "k-anonymity").expect("is in the catalogue");
    let given = BTreeMap::from([("k".to_owned(), k.to_string())]);
    let parameters = Parameters::read(entry.name, entry.parameters, &given).expect("a count");
    let model = build(entry, &parameters);
    Requirement { name: entry.name, parameters, model, attribute: None, on: None, register: None }
}
