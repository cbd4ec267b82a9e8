//! Tables that come from databases and folders, and releases that go into databases. What needs
//! PostgreSQL runs under `tests/postgres/run`; without a server it is skipped, with a word about
//! it.

#[path = "ledger/place.rs"]
#[allow(dead_code)]
mod place;

use place::{Place, Random, people, printed};
use postgres::Client;
use rusqlite::Connection;
use scumble::failure::Failures;
use scumble::policy::{Rows, Source};
use scumble_publisher::table::columns::{Columns, ReadOptions};
use scumble_publisher::table::memory::Tables;
use scumble_publisher::table::origin;
use std::fmt::Write as _;
use std::fs;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// A database of one's own on the server: its address, and a connection.
fn database() -> Option<(String, Client)> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let Ok(server) = std::env::var("SCUMBLE_TEST_POSTGRES") else {
        eprintln!(
            "skipped: SCUMBLE_TEST_POSTGRES names no server, as in postgres://user@127.0.0.1:5432"
        );
        return None;
    };
    let name = format!("source_{}_{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
    connect(&format!("{server}/postgres"))
        .batch_execute(&format!("CREATE DATABASE {name}"))
        .expect("a database");
    let address = format!("{server}/{name}");
    let client = connect(&address);
    Some((address, client))
}

fn connect(address: &str) -> Client {
    let mut config: postgres::Config = address.parse().expect("an address");
    config.password(std::env::var("PGPASSWORD").expect("PGPASSWORD"));
    config.connect(postgres::NoTls).expect("the server answers")
}

/// The people of `data.csv` as INSERTs, in commands that both databases understand.
fn inserts(table: &str, rows: usize) -> String {
    let mut out = String::new();
    for line in people(rows).lines().skip(1) {
        let cells: Vec<String> = line.split(',').map(|cell| format!("'{cell}'")).collect();
        let _ = writeln!(
            out,
            "INSERT INTO {table} (id, age, zip, illness) VALUES ({});",
            cells.join(", ")
        );
    }
    out
}

/// A place whose policy has this source, and no ledger.
fn from(source: &str) -> Place {
    let place = Place::new("ledger = false");
    take_from(&place, source);
    place
}

fn take_from(place: &Place, source: &str) {
    let policy = fs::read_to_string(place.path("policy.toml")).expect("the policy");
    let (before, rest) = policy.split_once("source = ").expect("a source");
    let (_, after) = rest.split_once('\n').expect("a line");
    place.put("policy.toml", format!("{before}source = {source}\n{after}"));
}

fn publish(place: &Place, to: &str) -> Vec<u8> {
    place.expect(0, &["publish", "policy.toml", "--seed", "1", "--to", to]);
    fs::read(place.path(to).join("data.csv")).expect("a release")
}

fn postgres_table(address: &str, table: &str) -> Source {
    Source::Postgres { address: address.to_owned(), rows: Rows::Table(table.to_owned()) }
}

fn postgres_query(address: &str, query: &str) -> Source {
    Source::Postgres { address: address.to_owned(), rows: Rows::Query(query.to_owned()) }
}

fn read(source: &Source) -> Result<Columns, Failures> {
    origin::read(&Tables::default(), source, &ReadOptions::default(), None, &|_, _| true)
}

fn rows(columns: &Columns) -> Vec<Vec<String>> {
    let row = |row: usize| {
        columns.columns.iter().map(|c| c.values.get(c.codes[row]).to_owned()).collect()
    };
    (0..columns.rows).map(row).collect()
}

/// What is told of a source that cannot be read.
fn told(source: &Source) -> String {
    read(source).expect_err("it cannot be read").to_string()
}

#[test]
fn the_same_release_from_a_table() {
    let Some((address, mut client)) = database() else { return };
    client
        .batch_execute(&format!(
            "CREATE SCHEMA clinic;
             CREATE DOMAIN code AS varchar(20);
             CREATE TABLE clinic.people (id text, age smallint, zip char(5), illness code);
             {}
             CREATE VIEW public.view AS SELECT * FROM clinic.people;",
            inserts("clinic.people", 150)
        ))
        .expect("a table");
    let expected = publish(&Place::new("ledger = false"), "out/csv");
    for rows in [
        "table = \"clinic.people\"",
        "table = \"view\"",
        "query = \"SELECT * FROM clinic.people -- all of it\"",
        "query = '''WITH p AS (TABLE clinic.people)\nSELECT * FROM p;\n'''",
    ] {
        let place = from(&format!("{{ postgres = \"{address}\", {rows} }}"));
        assert!(publish(&place, "out/table") == expected, "{rows}");
        // Nothing that is written says where it came from.
        let server =
            address.trim_start_matches("postgres://scumble@").split('/').next().expect("a server");
        for name in place.names("out/table") {
            let text = fs::read_to_string(place.path("out/table").join(&name)).unwrap_or_default();
            for secret in [server, "127.0.0.1", "postgres", "scumble@", "clinic"] {
                assert!(!text.contains(secret), "{name} tells {secret}");
            }
        }
    }
}

/// An identifier's column is not asked for: its type is none that is read, and whoever reads need
/// not be allowed to.
#[test]
fn identifiers_are_not_read() {
    let Some((address, mut client)) = database() else { return };
    let create = "CREATE TABLE people (id text, age int, zip text, illness text, name jsonb DEFAULT '{\"a\": 1}')";
    client.batch_execute(&format!("{create}; {}", inserts("people", 150))).expect("a table");
    let place = from(&format!("{{ postgres = \"{address}\", table = \"people\" }}"));
    let text = place.expect(2, &["publish", "policy.toml"]);
    assert!(text.contains("column `name` of `people` has no role in the policy"), "{text}");
    let policy = fs::read_to_string(place.path("policy.toml")).expect("the policy");
    place.put(
        "policy.toml",
        policy.replace("[attributes]\n", "[attributes]\nname = \"identifier\"\n"),
    );
    assert!(publish(&place, "out/a") == publish(&Place::new("ledger = false"), "out/csv"));
    place.put(
        "policy.toml",
        policy.replace("[attributes]\n", "[attributes]\nname = \"insensitive\"\n"),
    );
    let text = place.expect(2, &["publish", "policy.toml"]);
    assert!(
        text.contains("column `name` of `people` has the type `jsonb`, which is not read"),
        "{text}"
    );
    assert!(text.contains("name::text AS name"), "{text}");
}

/// Who may read some columns only can publish from those, and who may read nothing is told what to
/// ask for.
#[test]
fn rights_to_some_columns_are_enough() {
    let Some((address, mut client)) = database() else { return };
    let reader = format!("reader_{}", address.rsplit('/').next().expect("a name"));
    let password = std::env::var("PGPASSWORD").expect("PGPASSWORD");
    let create =
        "CREATE TABLE people (id text, age int, zip text, illness text, name text DEFAULT 'Ann')";
    let rights = format!("CREATE ROLE {reader} LOGIN PASSWORD '{password}'");
    client
        .batch_execute(&format!("{create}; {rights}; {}", inserts("people", 150)))
        .expect("a table");
    let theirs = address.replace("scumble@", &format!("{reader}@"));
    let place = from(&format!("{{ postgres = \"{theirs}\", table = \"people\" }}"));
    let policy = fs::read_to_string(place.path("policy.toml")).expect("the policy");
    place.put(
        "policy.toml",
        policy.replace("[attributes]\n", "[attributes]\nname = \"identifier\"\n"),
    );
    let text = place.expect(2, &["publish", "policy.toml"]);
    assert!(
        text.contains("`people` cannot be read: permission denied")
            && text.contains("GRANT SELECT"),
        "{text}"
    );
    client
        .batch_execute(&format!("GRANT SELECT (id, age, zip, illness) ON people TO {reader}"))
        .expect("rights");
    assert!(publish(&place, "out/a") == publish(&Place::new("ledger = false"), "out/csv"));
    client.batch_execute(&format!("DROP OWNED BY {reader}; DROP ROLE {reader}")).expect("it goes");
}

#[test]
fn inspect_check_and_questions_of_a_table() {
    let Some((address, mut client)) = database() else { return };
    let create = "CREATE TABLE people (id text, age int, zip text, illness text)";
    client.batch_execute(&format!("{create}; {}", inserts("people", 150))).expect("a table");
    let place = Place::new("ledger = false");
    let found =
        place.answer(0, &["inspect", &address, "--table", "people", "--draft", "draft.toml"]);
    assert_eq!(found["rows"], 150);
    let draft = fs::read_to_string(place.path("draft.toml")).expect("a draft");
    assert!(
        draft.contains(&format!("source = {{ postgres = \"{address}\", table = \"people\" }}")),
        "{draft}"
    );
    place.expect(0, &["publish", "draft.toml", "--dry-run"]);
    let query = "SELECT age, illness FROM people WHERE age > 40";
    let found =
        place.answer(0, &["check", &address, "--query", query, "--quasi-identifiers", "age"]);
    let expected: i64 = client
        .query_one("SELECT count(*) FROM people WHERE age > 40", &[])
        .expect("an answer")
        .get(0);
    assert_eq!(found["rows"], expected);
    let text = place.expect(2, &["inspect", &address]);
    assert!(text.contains("which table of the database?"), "{text}");
    let policy = format!(
        "source = {{ postgres = \"{address}\", table = \"public.people\" }}\n\
         [queries]\nperson = \"id\"\nbudget = {{ epsilon = 100 }}\n"
    );
    place.put("questions.toml", policy);
    let ask = ["query", "--dp", "questions.toml", "SELECT COUNT(*) FROM people", "--epsilon", "50"];
    let answer = place.answer(0, &ask);
    let count = answer["answers"][0]["rows"][0]["values"][0]["value"].clone();
    assert!(
        answer.to_string().contains("15") && answer["outcome"] == "answered",
        "{answer} {count}"
    );
    place.expect(0, &ask);
    assert_eq!(place.answer(1, &ask)["outcome"], "refused", "the budget is the table's");
}

#[test]
fn all_types() {
    let Some((address, mut client)) = database() else { return };
    client
        .batch_execute(
            "CREATE TYPE mood AS ENUM ('sad', 'so-so');
             CREATE DOMAIN year AS integer CHECK (VALUE > 1900);
             CREATE TABLE types (t text, v varchar(20), c char(4), n name, i2 int2, i4 int4, i8 int8, f4 float4,
               f8 float8, d numeric, d2 numeric(12, 2), b bool, day date, at timestamp, moment timestamptz, u uuid,
               e mood, y year);
             INSERT INTO types VALUES
               ('say \"no\", O''Neil', 'ünïcødé', 'ab', 'x', -32768, -2147483648, -9223372036854775808, 0.1, 1e300,
                -123456789012345678901234567890.000123, 3.5, true, '2020-02-29', '2020-02-29 12:30:00',
                '2020-02-29 12:30:00.25+02', 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11', 'so-so', 1999),
               ('', E'tab\\tline\\nend', '', '', 0, 0, 0, -0.5, 'NaN', 'NaN', 0, false, '0044-03-15',
                '1969-12-31 23:59:59.999999', '1970-01-01 00:00:00Z', '00000000-0000-0000-0000-000000000000', 'sad', 2000);
             INSERT INTO types DEFAULT VALUES",
        )
        .expect("a table");
    let columns = read(&postgres_table(&address, "types")).expect("a table");
    let texts = rows(&columns);
    assert_eq!(
        texts[0],
        [
            "say \"no\", O'Neil",
            "ünïcødé",
            "ab",
            "x",
            "-32768",
            "-2147483648",
            "-9223372036854775808",
            "0.1",
            "1e300",
            "-123456789012345678901234567890.000123",
            "3.50",
            "true",
            "2020-02-29",
            "2020-02-29T12:30:00",
            "2020-02-29T10:30:00.250Z",
            "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
            "so-so",
            "1999"
        ]
    );
    assert_eq!(
        texts[1],
        [
            "",
            "tab\tline\nend",
            "",
            "",
            "0",
            "0",
            "0",
            "-0.5",
            "NaN",
            "NaN",
            "0.00",
            "false",
            "0044-03-15",
            "1969-12-31T23:59:59.999999",
            "1970-01-01T00:00:00Z",
            "00000000-0000-0000-0000-000000000000",
            "sad",
            "2000"
        ]
    );
    assert_eq!(texts[2], [""; 18]);
    for (make, kind) in [
        ("'{}'::jsonb", "jsonb"),
        ("ARRAY[1]", "_int4"),
        ("'1 day'::interval", "interval"),
        ("'\\x00'::bytea", "bytea"),
        ("'12:00'::time", "time"),
    ] {
        let text = told(&postgres_query(&address, &format!("SELECT 1 AS a, {make} AS odd")));
        assert!(
            text.contains(&format!("column `odd` of `the query` has the type `{kind}`")),
            "{text}"
        );
        assert!(text.contains("odd::text AS odd"), "{text}");
        let cast = format!("SELECT 1 AS a, ({make})::text AS odd");
        assert_eq!(read(&postgres_query(&address, &cast)).expect("a cast").rows, 1);
    }
    for endless in ["'infinity'::date", "'-infinity'::timestamp", "'infinity'::timestamptz"] {
        let text = told(&postgres_query(&address, &format!("SELECT {endless} AS x")));
        assert!(
            text.contains("column `x` of `the query` has an infinite or very distant date"),
            "{text}"
        );
    }
}

/// Random tables read as the server itself writes them as text.
#[test]
fn random_tables() {
    let Some((address, mut client)) = database() else { return };
    let mut random = Random(11);
    for round in 0..25 {
        let mut value = |kind: &str| match (random.below(6), kind) {
            (0, _) => "NULL".to_owned(),
            (n, "text") => {
                ["'a'", "'A, \"b\"'", "E'x\\ny'", "'é'", "''", "' '"][n as usize].to_owned()
            }
            (_, "bool") => (random.below(2) == 0).to_string(),
            (_, "smallint") => (random.below(65_536) as i64 - 32_768).to_string(),
            (_, "bigint") => {
                (random.below(1 << 31) as i64 * random.below(1 << 31) as i64).to_string()
            }
            (_, "numeric") => {
                let (whole, part) = (random.below(1 << 31), random.below(1_000_000));
                format!(
                    "{}{whole}.{part}e{}",
                    ["", "-"][random.below(2) as usize],
                    random.below(40) as i64 - 20
                )
            }
            (_, "numeric(10, 3)") => format!("{}.{}", random.below(100), random.below(1000)),
            (_, "date") => format!("DATE '1700-01-01' + {}", random.below(200_000)),
            (_, _) => format!("md5('{}')::uuid", random.below(1000)),
        };
        let kinds =
            ["text", "bool", "smallint", "bigint", "numeric", "numeric(10, 3)", "date", "uuid"];
        let table = format!("t{round}");
        let columns: Vec<String> =
            kinds.iter().enumerate().map(|(i, kind)| format!("\"c {i}\" {kind}")).collect();
        let mut commands = format!("CREATE TABLE {table} ({});", columns.join(", "));
        for _ in 0..round * 3 {
            let values: Vec<String> = kinds.iter().map(|kind| value(kind)).collect();
            let _ = write!(commands, "INSERT INTO {table} VALUES ({});", values.join(", "));
        }
        client.batch_execute(&commands).expect("a table");
        let casts: Vec<String> =
            (0..kinds.len()).map(|i| format!("coalesce(\"c {i}\"::text, '')")).collect();
        let answer =
            client.query(&format!("SELECT {} FROM {table}", casts.join(", ")), &[]).expect("rows");
        let expected: Vec<Vec<String>> =
            answer.iter().map(|row| (0..kinds.len()).map(|i| row.get(i)).collect()).collect();
        assert_eq!(rows(&read(&postgres_table(&address, &table)).expect("a table")), expected);
    }
}

#[test]
fn what_cannot_be_read_from_a_server() {
    let Some((address, mut client)) = database() else { return };
    let text = told(&postgres_table(&address, "people"));
    assert!(text.contains("the database has no tables"), "{text}");
    client
        .batch_execute(
            "CREATE SCHEMA s; CREATE TABLE s.patients (a text); CREATE TABLE visits (a text, b int);
             INSERT INTO visits VALUES ('Ann Smith', 1); CREATE SEQUENCE numbers;
             CREATE TABLE \"Odd \"\"name\"\"\" (\"a \"\"b\"\", c\" int)",
        )
        .expect("tables");
    for (table, hint) in [
        ("patient", "did you mean `s.patients`?"),
        ("x", "known are `Odd \"name\"`, `visits`, `s.patients`"),
        ("visit", "did you mean `visits`?"),
        ("s.patint", "did you mean `s.patients`?"),
    ] {
        let text = told(&postgres_table(&address, table));
        assert!(
            text.contains(&format!("there is no table `{table}`")) && text.contains(hint),
            "{text}"
        );
        assert!(!text.contains("scumble@"), "{text}");
    }
    assert_eq!(
        read(&postgres_table(&address, "Odd \"name\"")).expect("it is quoted").columns[0].name,
        "a \"b\", c"
    );
    let query = |text: &str| told(&postgres_query(&address, text));
    assert!(query("SELECT nothing FROM visits").contains("column \"nothing\" does not exist"));
    assert!(query("SELECT 1 AS a, 2 AS a").contains("have the same name"));
    assert!(query("SELECT nextval('numbers') AS n").contains("in a read-only transaction"));
    assert!(query("DELETE FROM visits RETURNING a").contains("cannot be read"));
    assert!(query("SELECT 1 AS a) AS t; DROP TABLE visits; --").contains("cannot be read"));
    // Whose value it is that the server cannot work with is not told.
    let text = query("SELECT a::int AS a FROM visits");
    assert!(
        text.contains("cannot work with some value (error 22P02)") && !text.contains("Ann"),
        "{text}"
    );
    client
        .batch_execute(
            "CREATE FUNCTION loud(t text) RETURNS text LANGUAGE plpgsql AS
             $$ BEGIN RAISE EXCEPTION 'what about %?', t; END $$",
        )
        .expect("a function");
    let text = query("SELECT loud(a) AS a FROM visits");
    assert!(text.contains("error P0001") && !text.contains("Ann"), "{text}");
    let text = query("SELECT b / (b - 1) AS a FROM visits");
    assert!(text.contains("22012"), "{text}");
    assert_eq!(read(&postgres_table(&address, "visits")).expect("it is there still").rows, 1);
    let wrong = address.replace("scumble@", "nobody@");
    assert!(told(&postgres_table(&wrong, "visits")).contains("cannot be reached"));
    let text = told(&postgres_table("postgres://scumble@127.0.0.1:1/x", "visits"));
    assert!(text.contains("the database `postgres://127.0.0.1:1/x` cannot be reached"), "{text}");
}

#[test]
fn a_password_in_an_address() {
    let place = Place::new("ledger = false");
    for address in
        ["postgres://me:hunter2@127.0.0.1:1/x", "postgresql://127.0.0.1:1/x?password=hunter2"]
    {
        take_from(&place, &format!("{{ postgres = \"{address}\", table = \"people\" }}"));
        let text = place.expect(2, &["publish", "policy.toml"]);
        assert!(
            text.contains("`policy.toml`, line 2: the address of the database holds a password"),
            "{text}"
        );
        assert!(text.contains("PGPASSWORD") && !text.contains("hunter2"), "{text}");
        for arguments in [
            &["inspect", address, "--table", "people"][..],
            &["check", address, "--table", "people", "--quasi-identifiers", "age"],
            &["load", "out", "--into", address, "--table", "people"],
        ] {
            let text = place.expect(2, arguments);
            assert!(text.contains("holds a password") && !text.contains("hunter2"), "{text}");
        }
    }
}

/// A release with columns of many types, as CSV or Parquet.
fn released(format: &str, rows: usize) -> Place {
    let place = Place::new("ledger = false");
    let types = "id INTEGER, age INTEGER, zip TEXT, illness TEXT, seen TEXT, dose REAL, note TEXT";
    let database = Connection::open(place.path("data.db")).expect("a database");
    database
        .execute_batch(&format!(
            "CREATE TABLE people ({types}); BEGIN; {}",
            inserts("people", rows)
        ))
        .expect("rows");
    let more = "UPDATE people SET id = rowid, seen = date('2020-01-01', '+' || (rowid % 90) || ' days'),
                dose = CASE WHEN rowid % 7 = 0 THEN NULL ELSE (rowid % 13) / 10.0 END,
                note = CASE rowid % 4 WHEN 0 THEN 'say \"hello\", O''Neil' WHEN 1 THEN 'ünï' || char(10) || 'cødé' END;
                COMMIT";
    database.execute_batch(more).expect("more columns");
    take_from(&place, "{ sqlite = \"data.db\", table = \"people\" }");
    let policy = fs::read_to_string(place.path("policy.toml")).expect("the policy");
    let plain = "seen = \"insensitive\"\ndose = \"insensitive\"\nnote = \"insensitive\"\n";
    let policy = policy.replace("[[models]]", &format!("{plain}[[models]]"));
    place.put(
        "policy.toml",
        policy.replace("[release]\n", &format!("[release]\nformat = \"{format}\"\n")),
    );
    place.expect(0, &["publish", "policy.toml"]);
    place
}

fn data_file(place: &Place, format: &str) -> Columns {
    read(&Source::File(place.path("out/release").join(format!("data.{format}"))))
        .expect("a release")
}

#[test]
fn a_release_into_a_server() {
    let Some((address, mut client)) = database() else { return };
    for format in ["csv", "parquet"] {
        let place = released(format, 150);
        let long = "x".repeat(64);
        let load = |table| ["load", "out/release", "--into", address.as_str(), "--table", table];
        let answer = place.answer(0, &load(format));
        assert_eq!(
            answer["tables"],
            serde_json::json!([{ "table": format, "file": format!("data.{format}"), "rows": 150 }])
        );
        assert!(!answer["into"].as_str().expect("a database").contains('@'), "{answer}");
        let (loaded, given) =
            (read(&postgres_table(&address, format)).expect("a table"), data_file(&place, format));
        assert_eq!(rows(&loaded), rows(&given));
        let ask = "SELECT string_agg(data_type, ' ' ORDER BY ordinal_position) FROM information_schema.columns
                   WHERE table_name = $1";
        let kinds: String = client.query_one(ask, &[&format]).expect("types").get(0);
        let dose = if format == "csv" { "text" } else { "double precision" };
        assert_eq!(kinds, format!("text text text text {dose} text"));
        let nulls: i64 = client
            .query_one(&format!("SELECT count(*) FROM {format} WHERE dose IS NULL"), &[])
            .expect("a count")
            .get(0);
        assert_eq!(nulls, 21);
        // Once is enough.
        let text = place.expect(2, &load(format));
        assert!(text.contains(&format!("there is a table `{format}` already")), "{text}");
        for (table, message) in [
            ("no_schema.x", "names a schema that is not there"),
            ("a.b.c", "is not the name of a table"),
            (&long, "PostgreSQL has no names as long as"),
        ] {
            let text = place.expect(2, &load(table));
            assert!(text.contains(message), "{text}");
        }
        let tables: i64 = client
            .query_one("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'", &[])
            .expect("a count")
            .get(0);
        assert_eq!(tables, if format == "csv" { 1 } else { 2 });
        // What is not the release any more is not loaded.
        let file = place.path("out/release").join(format!("data.{format}"));
        let mut bytes = fs::read(&file).expect("the data");
        bytes.extend(b"\n");
        if format == "csv" {
            fs::write(&file, bytes).expect("it is changed");
            assert!(place.expect(2, &load("other")).contains("is not the file that was published"));
        }
    }
    let text = Place::new("").expect(2, &["load", ".", "--into", &address, "--table", "x"]);
    assert!(text.contains("is not the folder of a release"), "{text}");
}

#[test]
fn an_anatomized_release_into_a_server() {
    let Some((address, mut client)) = database() else { return };
    let place = Place::new("ledger = false");
    let policy = fs::read_to_string(place.path("policy.toml")).expect("the policy");
    place.put("policy.toml", policy.replace("name = \"mondrian\"", "name = \"anatomy\"\nl = 3"));
    place.expect(0, &["publish", "policy.toml"]);
    place.expect(0, &["load", "out/release", "--into", &address, "--table", "people"]);
    let ask =
        "SELECT (SELECT count(*) FROM people), (SELECT sum(count)::bigint FROM people_sensitive)";
    let row = client.query_one(ask, &[]).expect("two tables");
    assert_eq!((row.get::<_, i64>(0), row.get::<_, i64>(1)), (150, 150));
}

/// Whatever stops it, and whenever: the table is there whole, or not at all.
#[test]
fn a_load_that_fails() {
    let Some((address, mut client)) = database() else { return };
    let place = released("parquet", 20_000);
    let load = ["load", "out/release", "--into", &address, "--table", "people"];
    let there = |client: &mut Client| -> Option<i64> {
        let there: bool = client
            .query_one("SELECT to_regclass('people') IS NOT NULL", &[])
            .expect("an answer")
            .get(0);
        there.then(|| client.query_one("SELECT count(*) FROM people", &[]).expect("a count").get(0))
    };
    // The server gives up in the middle of the copy.
    let name = address.rsplit('/').next().expect("a name");
    for timeout in [1, 3, 10] {
        client
            .batch_execute(&format!("ALTER DATABASE {name} SET statement_timeout = {timeout}"))
            .expect("it is set");
        let output = place.run(&load);
        if output.status.code() == Some(2) {
            assert_eq!(there(&mut client), None, "{}", printed(&output));
        } else {
            assert_eq!(there(&mut client), Some(20_000));
            client.batch_execute("DROP TABLE people").expect("it goes");
        }
    }
    client
        .batch_execute(&format!("ALTER DATABASE {name} RESET statement_timeout"))
        .expect("it is reset");
    let begun = Instant::now();
    place.expect(0, &load);
    let (typical, mut random, mut stopped) = (begun.elapsed(), Random(5), 0);
    client.batch_execute("DROP TABLE people").expect("it goes");
    let others = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";
    for _ in 0..20 {
        let mut child = place.start(&load);
        std::thread::sleep(typical * (100 + random.below(1000)) as u32 / 1_000);
        let _ = child.kill();
        child.wait().expect("it ends");
        let begun = Instant::now();
        while client.query_one(others, &[]).expect("a count").get::<_, i64>(0) > 0 {
            assert!(begun.elapsed() < Duration::from_secs(60), "the server sees that it is gone");
            std::thread::sleep(Duration::from_millis(5));
        }
        match there(&mut client) {
            None => stopped += 1,
            Some(rows) => {
                assert_eq!(rows, 20_000);
                client.batch_execute("DROP TABLE people").expect("it goes");
            }
        }
    }
    assert!(stopped > 0, "some were stopped in time");
    place.expect(0, &load);
    assert_eq!(there(&mut client), Some(20_000));
}

fn sqlite(place: &Place, rows: Rows) -> Source {
    Source::Sqlite { file: place.path("data.db"), rows }
}

#[test]
fn the_same_release_from_sqlite_and_from_a_folder() {
    let expected = publish(&Place::new("ledger = false"), "out/csv");
    let place = Place::new("ledger = false");
    let database = Connection::open(place.path("data.db")).expect("a database");
    let create = "CREATE TABLE People (id TEXT, age INTEGER, zip TEXT, illness TEXT); CREATE VIEW v AS SELECT * FROM People";
    database
        .execute_batch(&format!("{create}; BEGIN; {}; COMMIT", inserts("People", 150)))
        .expect("a table");
    let before = fs::read(place.path("data.db")).expect("the database");
    for (i, rows) in
        ["table = \"People\"", "table = \"v\"", "query = \"SELECT * FROM People -- all\""]
            .iter()
            .enumerate()
    {
        take_from(&place, &format!("{{ sqlite = \"data.db\", {rows} }}"));
        assert!(publish(&place, &format!("out/{i}")) == expected, "{rows}");
    }
    assert!(
        fs::read(place.path("data.db")).expect("the database") == before
            && place.names(".").len() == 4
    );
    // The same in files of a folder, one of them deeper.
    let all = people(150);
    let lines: Vec<&str> = all.lines().collect();
    fs::create_dir_all(place.path("parts/2021")).expect("folders");
    let part = |range: &[&str]| format!("{}\n{}\n", lines[0], range.join("\n"));
    place.put("parts/2020.csv", part(&lines[1..60]));
    place.put("parts/2021/a.csv", part(&lines[60..61]));
    place.put("parts/2021/b.csv", part(&lines[61..]));
    place.put("parts/_SUCCESS", "");
    place.put("parts/.b.csv.crc", "crc");
    take_from(&place, "\"parts\"");
    assert!(publish(&place, "out/parts") == expected);
    let found = place.answer(0, &["inspect", "parts"]);
    assert_eq!(found["rows"], 150);
    place.put("parts/2021/c.csv", "id,age,zip\n1,2,3\n");
    let text = place.expect(2, &["publish", "policy.toml", "--to", "out/x"]);
    assert!(
        text.contains("`parts/2021/c.csv` does not have the columns of `parts/2020.csv`"),
        "{text}"
    );
}

#[test]
fn a_folder_of_parquet() {
    let place = released("parquet", 150);
    fs::create_dir(place.path("parts")).expect("a folder");
    for name in ["1.parquet", "2.parquet"] {
        fs::copy(place.path("out/release/data.parquet"), place.path("parts").join(name))
            .expect("a copy");
    }
    place.put("parts/_metadata", "");
    let (one, both) =
        (data_file(&place, "parquet"), read(&Source::File(place.path("parts"))).expect("a folder"));
    assert_eq!(rows(&both), [rows(&one), rows(&one)].concat());
    assert!(both.columns.iter().zip(&one.columns).all(|(a, b)| a.arrow == b.arrow));
}

#[test]
fn values_of_sqlite() {
    let place = Place::new("");
    let database = Connection::open(place.path("data.db")).expect("a database");
    database
        .execute_batch(
            "CREATE TABLE t (\"a \"\"b\"\"\", i INTEGER, r REAL, x TEXT);
             INSERT INTO t VALUES (1, 9223372036854775807, 0.1, 'é'), (2.5, NULL, 3, ''), ('x', -1, 1e300, NULL);
             CREATE TABLE b (k TEXT, d); INSERT INTO b VALUES ('a', x'00ff'), ('b', 'text')",
        )
        .expect("tables");
    let columns = read(&sqlite(&place, Rows::Table("t".into()))).expect("a table");
    let expected = [
        ["1", "9223372036854775807", "0.1", "é"],
        ["2.5", "", "3.0", ""],
        ["x", "-1", "1e300", ""],
    ];
    assert_eq!(rows(&columns), expected);
    let kinds: Vec<String> = columns.columns.iter().map(|c| format!("{:?}", c.arrow)).collect();
    assert_eq!(kinds, ["None", "Some(Int64)", "Some(Float64)", "None"]);
    assert_eq!(columns.columns[0].name, "a \"b\"");
    assert!(
        told(&sqlite(&place, Rows::Table("b".into())))
            .contains("column `d` of `b` has a value that is a blob")
    );
    let only = origin::read(
        &Tables::default(),
        &sqlite(&place, Rows::Table("b".into())),
        &ReadOptions::default(),
        Some(&["k".into()]),
        &|_, _| true,
    );
    assert_eq!(only.expect("the other column").rows, 2);
    let hex = Rows::Query("SELECT k, hex(d) AS d FROM b".into());
    assert_eq!(rows(&read(&sqlite(&place, hex)).expect("a query"))[0], ["a", "00FF"]);
    let text = told(&sqlite(&place, Rows::Table("other".into())));
    assert!(
        text.contains("there is no table `other`") && text.contains("known are `t`, `b`"),
        "{text}"
    );
    for query in [
        "SELECT nothing FROM t",
        "DELETE FROM t RETURNING 1",
        "SELECT 1 AS a) AS t; DROP TABLE t; --",
    ] {
        assert!(
            told(&sqlite(&place, Rows::Query(query.into()))).contains("`the query` cannot be read"),
            "{query}"
        );
    }
    let text = place.expect(2, &["inspect", "data.db"]);
    assert!(text.contains("is an SQLite database") && text.contains("`--table`"), "{text}");
    let text = place.expect(2, &["inspect", "data.csv", "--table", "t"]);
    assert!(text.contains("`data.csv` is not an SQLite database"), "{text}");
    let text = place.expect(2, &["inspect", "none.db", "--table", "t"]);
    assert!(text.contains("`none.db` does not exist"), "{text}");
    assert!(!place.path("none.db").exists());
}

/// Random tables are read as they were written.
#[test]
fn random_tables_of_sqlite() {
    let place = Place::new("");
    let database = Connection::open(place.path("data.db")).expect("a database");
    let mut random = Random(12);
    for round in 0..30 {
        let (columns, mut expected) = (1 + random.below(4) as usize, Vec::new());
        let names: Vec<String> = (0..columns).map(|i| format!("\"c, {i}\"")).collect();
        let table = format!("t{round}");
        database
            .execute_batch(&format!("CREATE TABLE {table} ({})", names.join(", ")))
            .expect("a table");
        for _ in 0..random.below(60) {
            let row: Vec<(rusqlite::types::Value, String)> = (0..columns)
                .map(|_| match random.below(4) {
                    0 => (rusqlite::types::Value::Null, String::new()),
                    1 => {
                        let number =
                            random.below(1 << 31) as i64 * random.below(1 << 31) as i64 - (1 << 60);
                        (number.into(), number.to_string())
                    }
                    2 => {
                        let number = random.below(2_000) as f64 / 8.0 - 100.0;
                        (number.into(), format!("{number:?}"))
                    }
                    _ => {
                        let text = ["", "a", "A, \"b\"", "x\ny", "é", "007", "NULL"]
                            [random.below(7) as usize];
                        (text.to_owned().into(), text.to_owned())
                    }
                })
                .collect();
            let places = vec!["?"; columns].join(", ");
            let values = rusqlite::params_from_iter(row.iter().map(|(value, _)| value));
            database
                .execute(&format!("INSERT INTO {table} VALUES ({places})"), values)
                .expect("a row");
            expected.push(row.into_iter().map(|(_, text)| text).collect::<Vec<String>>());
        }
        assert_eq!(rows(&read(&sqlite(&place, Rows::Table(table))).expect("a table")), expected);
    }
}

#[test]
fn a_release_into_sqlite() {
    for format in ["csv", "parquet"] {
        let place = released(format, 150);
        let load = |table| ["load", "out/release", "--into", "new.db", "--table", table];
        place.expect(0, &load("a table"));
        place.expect(0, &load("again"));
        let text = place.expect(2, &load("AGAIN"));
        assert!(text.contains("there is a table `AGAIN` already"), "{text}");
        for table in ["a table", "again"] {
            let source =
                Source::Sqlite { file: place.path("new.db"), rows: Rows::Table(table.into()) };
            assert_eq!(rows(&read(&source).expect("a table")), rows(&data_file(&place, format)));
        }
        let text = place.expect(2, &["load", "out/release", "--into", "data.csv", "--table", "x"]);
        assert!(text.contains("`data.csv` is not an SQLite database"), "{text}");
        let text =
            place.expect(2, &["load", "out/release", "--into", "no/folder/x.db", "--table", "x"]);
        assert!(text.contains("no such folder"), "{text}");
        // A new file that nothing could be written to does not stay.
        let text = place
            .expect(2, &["load", "out/release", "--into", "other.db", "--table", "sqlite_mine"]);
        assert!(text.contains("reserved for internal use"), "{text}");
        assert!(!place.path("other.db").exists());
    }
}

#[test]
fn a_load_into_sqlite_that_is_killed() {
    let place = released("parquet", 20_000);
    let load = ["load", "out/release", "--into", "new.db", "--table", "people"];
    let begun = Instant::now();
    place.expect(0, &load);
    let (typical, mut random, mut stopped) = (begun.elapsed(), Random(6), 0);
    for _ in 0..20 {
        let _ = fs::remove_file(place.path("new.db"));
        let mut child = place.start(&load);
        std::thread::sleep(typical * (100 + random.below(1000)) as u32 / 1_000);
        let _ = child.kill();
        child.wait().expect("it ends");
        // Whoever opens the file next finds all of it or nothing.
        let database = Connection::open(place.path("new.db")).expect("a database");
        match database.query_row("SELECT count(*) FROM people", [], |r| r.get::<_, i64>(0)) {
            Ok(rows) => assert_eq!(rows, 20_000),
            Err(e) => {
                assert!(e.to_string().contains("no such table"), "{e}");
                stopped += 1;
            }
        }
    }
    assert!(stopped > 0, "some were stopped in time");
    let _ = fs::remove_file(place.path("new.db"));
    place.expect(0, &load);
}
