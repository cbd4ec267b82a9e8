//! Laws of the policy parser: it never panics, and it names every mistake once.

use proptest::prelude::*;
use scumble::policy::{Policy, Queries, Rows, Source};

/// A right policy that uses most of what there is.
const RIGHT: &str = r#"publisher = "General Hospital"
source = "patients.csv"
recipients = ["university"]
delimiter = ";"
quote = '"'
missing = ["", "NA"]

[attributes]
ssn = { role = "identifier", person = true }
age = { role = "quasi-identifier", taxonomy = { intervals = [5, 10, 20], low = 10, high = 90 }, weight = 2 }
zip = { role = "quasi-identifier", taxonomy = { prefix = [4, 2] } }
born = { role = "quasi-identifier", taxonomy = { dates = ["month", "year"] } }
job = { role = "quasi-identifier", taxonomy = { file = "job.csv", ordered = true } }
town = { role = "quasi-identifier", taxonomy = { nested = { North = ["A", "B"], South = ["C"] } } }
disease = { role = "sensitive", taxonomy = "disease.csv" }
income = "sensitive"
note = "insensitive"

[[models]]
name = "k-anonymity"
k = 5
on = ["age", "zip"]

[[models]]
name = "entropy-l-diversity"
l = 2.5
attribute = "disease"

[[models]]
name = "t-closeness"
t = 0.2
distance = "ordered"
attribute = "income"

[algorithm]
name = "mondrian"
cut = "median"

[release]
to = "releases/1"
format = "parquet"
"#;

/// Mistakes: what is replaced by what, and words that the message must contain. Each is in a place
/// of its own.
const MISTAKES: &[(&str, &str, &[&str])] = &[
    ("publisher = \"General Hospital\"", "publisher = 5", &["`publisher`", "text in quotes"]),
    ("source = ", "sauce = ", &["`sauce`", "not known", "source"]),
    (
        "recipients = [\"university\"]",
        "recipients = \"university\"",
        &["`recipients`", "list of texts"],
    ),
    ("delimiter = \";\"", "delimiter = \";;\"", &["`delimiter`", "one character"]),
    ("missing = [\"\", \"NA\"]", "missing = [\"\", 0]", &["`missing`", "list of texts"]),
    ("ssn = { role = \"identifier\"", "ssn = { role = \"insensitive\"", &["`ssn`", "person"]),
    ("weight = 2", "weight = -2", &["weight", "at least 0"]),
    ("intervals = [5, 10, 20]", "intervals = [5, 12]", &["`age`", "do not nest"]),
    ("prefix = [4, 2]", "prefix = [2, 4]", &["prefix", "falling"]),
    (
        "dates = [\"month\", \"year\"]",
        "dates = [\"month\", \"yaer\"]",
        &["dates", "`yaer`", "year"],
    ),
    ("ordered = true", "ordered = 1", &["ordered", "`true` or `false`"]),
    ("file = \"job.csv\"", "file = \"job.csv\", flat = true", &["`job`", "one rule", "names 2"]),
    ("North = [\"A\", \"B\"]", "North = 1979-05-27", &["nested"]),
    (
        "income = \"sensitive\"",
        "income = \"sensitive\"\nheight = \"quasi-identifier\"",
        &["`height`", "no taxonomy"],
    ),
    ("note = \"insensitive\"", "note = \"insensitiv\"", &["`note`", "unknown role", "insensitive"]),
    ("k = 5", "k = 0", &["`k`", "from 1 to", "`0`"]),
    ("[\"age\", \"zip\"]", "[\"age\", \"zap\"]", &["`zap`", "no quasi-identifier", "zip"]),
    ("l = 2.5", "l = \"many\"", &["`l`", "`many`"]),
    ("attribute = \"disease\"", "atribute = \"disease\"", &["atribute", "attribute"]),
    ("t = 0.2", "t = 1.2", &["`t`", "from 0 to 1"]),
    (
        "attribute = \"income\"",
        "attribute = \"incme\"",
        &["`incme`", "no sensitive attribute", "income"],
    ),
    ("cut = \"median\"", "cut = \"medium\"", &["`cut`", "`medium`"]),
    ("name = \"mondrian\"", "name = \"mondrain\"", &["mondrain", "mondrian"]),
    ("to = \"releases/1\"", "too = \"releases/1\"", &["`release.too`", "not known"]),
    ("format = \"parquet\"", "format = 7", &["`release.format`"]),
];

/// Two mistakes where the first hides what the second is about, or that stand in the same value.
const TOGETHER: &[(&str, &str)] =
    &[("cut = \"median\"", "name = \"mondrian\""), ("ordered = true", "file = \"job.csv\"")];

fn messages(text: &str) -> Vec<String> {
    Policy::parse("policy.toml", text)
        .err()
        .map(|p| p.0.iter().map(ToString::to_string).collect())
        .unwrap_or_default()
}

fn with_mistakes(chosen: &[&(&str, &str, &[&str])]) -> String {
    chosen.iter().fold(RIGHT.to_owned(), |text, (right, wrong, _)| {
        assert_eq!(text.matches(right).count(), 1, "`{right}` is there once");
        text.replace(right, wrong)
    })
}

#[test]
fn the_right_policy_is_right() {
    let policy =
        Policy::parse("policy.toml", RIGHT).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(
        (policy.quasi().count(), policy.sensitive().count(), policy.requirements.len()),
        (5, 2, 3)
    );
    assert_eq!(policy.k(), None, "the k-anonymity is on some columns only");
}

#[test]
fn every_single_mistake_is_named() {
    for mistake in MISTAKES {
        named_once(&[mistake], &with_mistakes(&[mistake])).unwrap_or_else(|e| panic!("{e}"));
    }
}

/// Every chosen mistake has its message; besides, `sauce` and `too` leave `source` and `to`
/// missing, and that is all.
fn named_once(chosen: &[&(&str, &str, &[&str])], text: &str) -> Result<(), TestCaseError> {
    let found = messages(text);
    for (_, wrong, words) in chosen {
        let named = found.iter().any(|m| words.iter().all(|w| m.contains(w)));
        prop_assert!(named, "`{}` is not named in\n{}", wrong, found.join("\n"));
    }
    let entailed = chosen
        .iter()
        .filter(|(right, ..)| ["source = ", "to = \"releases/1\""].contains(right))
        .count();
    prop_assert_eq!(
        found.len(),
        chosen.len() + entailed,
        "one message each, but\n{}\nof\n{}",
        found.join("\n"),
        text
    );
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn all_mistakes_are_named_together(chosen in prop::sample::subsequence(MISTAKES.to_vec(), 2..8)) {
        let chosen: Vec<_> = chosen.iter().collect();
        let has = |right: &str| chosen.iter().any(|(r, ..)| *r == right);
        prop_assume!(!TOGETHER.iter().any(|(a, b)| has(a) && has(b)));
        named_once(&chosen, &with_mistakes(&chosen))?;
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,200}") {
        prop_assert!(Policy::parse("p", &text).is_err());
    }

    #[test]
    fn no_structure_panics(lines in prop::collection::vec(
        "(\\[|\\[\\[)?(models|attributes|algorithm|release|source|age|name|k|on|taxonomy|nested|to)(\\]|\\]\\]| = (1|-1|0x1F|1_000|1e400|nan|inf|true|\"\"|\"é\"|\\[\\]|\\{\\}|\\[\\[1\\]\\]|\\{ role = \"sensitive\" \\}|1979-05-27|\\{ nested = \\[\\{ a = 1 \\}\\] \\}))", 0..12)) {
        let text = lines.join("\n");
        prop_assert!(Policy::parse("p", &text).is_err(), "{}", text);
    }

    /// A right policy with some characters changed is still right, or has problems that name the
    /// file.
    #[test]
    fn no_slip_panics(slips in prop::collection::vec((0usize..2000, prop::option::of("[\\[\\]{}=\"',.0-9a-zé\n-]")), 1..6)) {
        let mut chars: Vec<char> = RIGHT.chars().collect();
        for (at, with) in slips {
            let at = at % chars.len();
            chars.splice(at..=at, with.unwrap_or_default().chars());
        }
        let text: String = chars.into_iter().collect();
        if let Err(problems) = Policy::parse("policy.toml", &text) {
            prop_assert!(!problems.0.is_empty());
            prop_assert!(problems.0.iter().all(|p| p.message.contains("`policy.toml`")), "{}", problems);
        }
    }
}

/// Whole lines gone: what is missing is said, and nothing that is there is complained of.
#[test]
fn what_is_missing_is_said() {
    for (gone, words) in [
        ("source = ", "`source` is missing"),
        ("to = ", "`release.to` is missing"),
        ("k = 5", "`k-anonymity` needs `k`"),
        ("name = \"mondrian\"", "`algorithm` has no `name`"),
        ("name = \"t-closeness\"", "`models[2]` has no `name`"),
    ] {
        let text: Vec<&str> = RIGHT.lines().filter(|line| !line.starts_with(gone)).collect();
        let found = messages(&text.join("\n"));
        assert!(found.len() == 1 && found[0].contains(words), "{gone}: {found:?}");
    }
}

/// A source may be a database: its address or file, and a table or a query of it.
#[test]
fn a_source_may_be_a_database() {
    let plain = RIGHT.replace("delimiter = \";\"\nquote = '\"'\n", "");
    let with = |source: &str| plain.replace("source = \"patients.csv\"", source);
    let table = Rows::Table("s.patients".into());
    for (source, read) in [
        (
            "source = { postgres = \"postgres://me@host:5432/db\", table = \"s.patients\" }",
            Source::Postgres { address: "postgres://me@host:5432/db".into(), rows: table.clone() },
        ),
        (
            "source.sqlite = \"x.db\"\nsource.query = \"SELECT 1 AS a\"",
            Source::Sqlite { file: "x.db".into(), rows: Rows::Query("SELECT 1 AS a".into()) },
        ),
    ] {
        let policy = Policy::parse("policy.toml", &with(source))
            .unwrap_or_else(|problems| panic!("{problems}"));
        assert_eq!(policy.source, read);
    }
    for (source, words) in [
        ("source = { postgres = \"postgres://h/db\" }", "`source` has neither `table` nor `query`"),
        (
            "source = { sqlite = \"x.db\", table = \"a\", query = \"b\" }",
            "`source` has both `table` and `query`",
        ),
        ("source = { table = \"a\" }", "`source` has neither `postgres` nor `sqlite`"),
        ("source = { postgres = \"host/db\", table = \"a\" }", "begins with `postgres://`"),
        ("source = { postgres = \"postgres://u:secret@h/db\", table = \"a\" }", "holds a password"),
        (
            "source = { postgres = \"postgres://h/db?password=secret\", table = \"a\" }",
            "holds a password",
        ),
        ("source = \"postgres://u:secret@h/db\"", "the address of a database, without a table"),
        ("source = { sqlite = \"x.db\", table = \"\" }", "`source.table` is empty"),
        ("source = { sqlite = \"x.db\", table = 5 }", "`source.table` must be text in quotes"),
        (
            "source = { sqlite = \"x.db\", tabel = \"a\", table = \"b\" }",
            "`source.tabel` is not known",
        ),
        ("source = 5", "`source` must be a path in quotes or a database"),
        (
            "source = { sqlite = \"x.db\", table = \"a\" }\nquote = \"'\"",
            "`quote` is about CSV files",
        ),
    ] {
        let found = messages(&with(source));
        assert!(found.len() == 1 && found[0].contains(words), "{source}: {found:?}");
        assert!(
            found[0].contains("`policy.toml`, line ") && !found[0].contains("secret"),
            "{found:?}"
        );
    }
    // A budget belongs to a table.
    let questions = "\n[queries]\nbudget = { epsilon = 1 }\n";
    let ask = |rows: &str| {
        Queries::parse("p", &format!("source = {{ sqlite = \"x.db\", {rows} }}{questions}"))
    };
    assert_eq!(ask("table = \"s.patients\"").map(|q| q.table).as_deref(), Ok("patients"));
    let refused = ask("query = \"SELECT 1 AS a\"").expect_err("a query").to_string();
    assert!(refused.contains("line 1: a budget belongs to a table"), "{refused}");
}

/// Numbers may be written as TOML writes them.
#[test]
fn numbers_are_read_as_toml_writes_them() {
    for (wrong, k) in [("k = 1_000", 1000), ("k = +7", 7), ("k = \"9\"", 9)] {
        let text = RIGHT.replace("k = 5\non = [\"age\", \"zip\"]", wrong);
        let policy =
            Policy::parse("p", &text).unwrap_or_else(|problems| panic!("{wrong}: {problems}"));
        assert_eq!(policy.k(), Some(k));
    }
}

/// `low` and `high` mean nothing without widths, so they are not silently dropped.
#[test]
fn the_length_of_codes_is_checked() {
    let wrong = [
        ("prefix = [4, 2], length = 4", "characters above 4"),
        ("prefix = true, length = \"five\"", "number of characters"),
        ("prefix = true, length = 65", "at most 64"),
        ("flat = true, length = 5", "`length` belongs to `prefix`, not to `flat`"),
    ];
    for (rule, message) in wrong {
        let found = messages(&RIGHT.replace("prefix = [4, 2]", rule));
        assert!(found.iter().any(|found| found.contains(message)), "{found:?}");
    }
    let right = messages(&RIGHT.replace("prefix = [4, 2]", "prefix = [4, 2], length = 5"));
    assert!(right.is_empty(), "{right:?}");
}

#[test]
fn bounds_belong_to_numbers() {
    let found = messages(&RIGHT.replace("intervals = [5, 10, 20]", "prefix = true"));
    assert!(
        !found.is_empty()
            && found.iter().all(|m| m.contains("belongs to `intervals` and `number`")),
        "{found:?}"
    );
    let found =
        messages(&RIGHT.replace("intervals = [5, 10, 20]", "intervals = [5, 10, 20], unit = 2"));
    assert!(found.len() == 1 && found[0].contains("no multiples of its unit"), "{found:?}");
}

/// A fraction has one bar; `1/2/3` could mean two numbers.
#[test]
fn a_fraction_has_one_bar() {
    assert_eq!(scumble::exact::Ratio::parse("1/2/3"), None);
    let long = vec!["1"; 200_000].join("/");
    assert_eq!(messages(&RIGHT.replace("t = 0.2", &format!("t = \"{long}\""))).len(), 1);
}

/// A policy about one sensitive column, with a model of every name that is about all of them
/// together.
#[test]
fn without_the_last_sensitive_column_no_model_is_left_about_it() {
    let text = "source = \"d.csv\"\n[attributes]\nage = { role = \"quasi-identifier\", taxonomy = { intervals = [5] } }\n\
                illness = \"sensitive\"\nwish = \"guard\"\n[[models]]\nname = \"k-anonymity\"\nk = 2\n[[models]]\n\
                name = \"multi-attribute-l-diversity\"\nl = 2\n[[models]]\nname = \"distinct-l-diversity\"\nl = 2\n\
                [algorithm]\nname = \"mondrian\"\n[release]\nto = \"r\"\n";
    let mut policy = Policy::parse("policy.toml", text).unwrap_or_else(|p| panic!("{p}"));
    assert!(policy.joins_sensitive() && policy.without("illness"));
    assert!(!policy.joins_sensitive());
    assert_eq!(policy.requirements.iter().map(|r| r.name).collect::<Vec<_>>(), ["k-anonymity"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]

    /// What no sensitive attribute says together is one combination of every row, and no algorithm
    /// trips over it.
    #[test]
    fn nothing_sensitive_together_is_one_value(case in super::cases::cases(12)) {
        let quasi = case.table.quasi.clone();
        let records = case.records[..quasi.len()].to_vec();
        let (mut table, _) = scumble::table::Table::collapse(quasi, Vec::new(), records);
        table.join_sensitive();
        prop_assert_eq!(&table.sensitive_codes, &vec![vec![0; table.rows()]]);
        let goal = [super::cases::k_anonymity(2)];
        for entry in scumble::catalogue::ALGORITHMS {
            for given in super::cases::combinations(entry.parameters, &[1]) {
                if let Some(algorithm) = super::cases::algorithm(entry, &given) {
                    let _ = scumble::publish::make(&table, algorithm.as_ref(), &goal, 1, &|_, _| true);
                }
            }
        }
    }
}
