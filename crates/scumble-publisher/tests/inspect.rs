//! Inspections: real data sets, hand-made tables, and what must never be in an answer or a draft.

use scumble_publisher::policy_file::PolicyFile;
use scumble_publisher::publisher::Publisher;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use scumble::policy::Policy;
use scumble::table::Role;
use scumble_publisher::answer::{ColumnProfile, Inspection, Kind, Outcome};
use scumble_publisher::inspect::{InspectRequest, draft};
use scumble_publisher::publish::{PublishRequest, Repair};
use scumble_publisher::table::columns::ReadOptions;

fn look(path: &Path, options: &InspectRequest) -> Inspection {
    Publisher::default()
        .inspect(&path.into(), options)
        .unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// A table in a folder of its own, with its inspection.
fn table(text: &str) -> (tempfile::TempDir, Inspection) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data.csv");
    std::fs::write(&path, text).unwrap();
    let found = look(&path, &InspectRequest::default());
    (folder, found)
}

/// The failure of an inspection, as text.
fn doubt(text: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data.csv");
    std::fs::write(&path, text).unwrap();
    let found = Publisher::default().inspect(&(&*path).into(), &InspectRequest::default());
    let problem = found.err().map_or_else(String::new, |e| {
        assert!(e.0.iter().all(|p| p.code == "wrong-header"), "{e}");
        e.to_string()
    });
    let sure = InspectRequest { header: true, ..InspectRequest::default() };
    let _ = look(&path, &sure);
    problem
}

/// Where a file has no header, the first person's values are no names of columns.
#[test]
fn the_first_person_is_not_shown_as_a_header() {
    let rows = [
        "Anna Smith,34,34101,1980-02-03,flu,anna@example.org",
        "Bert Jones,41,34102,1975-11-30,tb,bert@example.org",
        "Carl Brown,29,34101,1988-05-17,flu,carl@example.org",
        "Dora White,52,34105,1969-09-09,hd,dora@example.org",
    ];
    // Any one of its columns gives a person away.
    for column in 1..6 {
        let cut = |row: &str| {
            let cells: Vec<&str> = row.split(',').collect();
            format!("{},{}\n", cells[0], cells[column])
        };
        let text: String = rows.iter().map(|row| cut(row)).collect();
        let problem = doubt(&text);
        assert!(problem.contains("column 2"), "{column}: {problem}");
        assert!(!problem.contains("Anna") && !problem.contains("34") && !problem.contains("flu"));
    }
    let problem = doubt(&(rows.join("\n") + "\n"));
    assert!(problem.contains("columns 2, 3, 4, 5, 6"), "{problem}");
    let codes = doubt("P0042,x\nP0001,y\nP0002,z\n");
    assert!(codes.contains("column 1 ") && !codes.contains("0042"), "{codes}");
}

#[test]
fn honest_headers_are_believed() {
    let headers =
        ["name,age,zip", "Patient ID,q1,ICD10", "größe,x2,T-Score", "date,2nd visit,covid19"];
    for header in headers {
        assert_eq!(
            doubt(&format!("{header}\nAnna,34,A01\nBert,41,B02\nCarl,29,C7\n")),
            "",
            "{header}"
        );
    }
    // Years may be names, if the steward says so.
    assert!(doubt("town,2019,2020\nX,1,2\nY,3,4\n").contains("columns 2, 3"));
}

fn column<'a>(found: &'a Inspection, name: &str) -> &'a ColumnProfile {
    found.columns.iter().find(|c| c.name == name).unwrap_or_else(|| panic!("no column {name}"))
}

fn roles<'a>(found: &'a Inspection, role: &str) -> Vec<&'a str> {
    found.columns.iter().filter(|c| c.role.name() == role).map(|c| c.name.as_str()).collect()
}

fn sets(found: &Inspection) -> Vec<(Vec<&str>, u64)> {
    found
        .singling_out
        .iter()
        .map(|s| (s.columns.iter().map(String::as_str).collect(), s.people))
        .collect()
}

/// The draft parses and lists every column once, in order, with the suggested role.
fn parsed(found: &Inspection, source: &str) -> Policy {
    let text = draft(found, &Path::new(source).into());
    let policy = Policy::parse("draft", &text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let listed: Vec<(&str, Role)> =
        policy.attributes.iter().map(|a| (a.name.as_str(), a.role)).collect();
    let suggested: Vec<(&str, Role)> =
        found.columns.iter().map(|c| (c.name.as_str(), c.role)).collect();
    assert_eq!(listed, suggested);
    assert_eq!(policy.source, Path::new(source).into());
    policy
}

/// Publishes the draft as it is, and reads it back as publishing does.
fn publishes(found: &Inspection, data: &Path) {
    let folder = tempfile::tempdir().unwrap();
    let policy = folder.path().join("policy.toml");
    parsed(found, data.to_str().unwrap());
    std::fs::write(&policy, draft(found, &data.into())).unwrap();
    let request = PublishRequest { seed: Some(1), repair: Repair::Off, ..Default::default() };
    let answer = PolicyFile::read(&policy)
        .and_then(|policy| Publisher::default().publish(&policy, &request))
        .unwrap_or_else(|e| panic!("{}: {e}", data.display()));
    assert_eq!(answer.outcome, Outcome::Published, "{:?}", answer.reasons);
    assert!(folder.path().join("releases/first").is_dir());
}

/// A file of the repository or beside it; `None`, with a message, where it is absent.
fn data(path: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    if !path.exists() {
        eprintln!("skipped: {} is absent", path.display());
    }
    path.canonicalize().ok()
}

#[test]
fn adult() {
    let Some(path) = data("../shared/data/adult/adult.csv") else { return };
    let found = look(&path, &InspectRequest::default());
    assert_eq!(found.rows, 30162);
    assert_eq!(roles(&found, "sensitive"), ["salary-class"]);
    let quasi = [
        "sex",
        "age",
        "race",
        "marital-status",
        "education",
        "native-country",
        "workclass",
        "occupation",
    ];
    assert_eq!(roles(&found, "quasi-identifier"), quasi);
    assert_eq!(column(&found, "age").taxonomy, "{ intervals = [5, 10, 20] }");
    assert_eq!(column(&found, "race").taxonomy, "{ flat = true }");
    assert_eq!(
        (column(&found, "sex").kind, column(&found, "age").kind),
        (Kind::Flag, Kind::Number)
    );
    assert_eq!(found.dialect.as_ref().map(|d| d.delimiter.as_str()), Some(";"));
    assert_eq!(found.together.columns, quasi);
    assert!(found.together.share > 0.3);
    publishes(&found, &path);
}

#[test]
fn cup() {
    let Some(path) = data("../shared/data/cup/cup.csv") else { return };
    let found = look(&path, &InspectRequest::default());
    assert_eq!(roles(&found, "sensitive"), ["INCOME"]);
    for name in ["ZIP", "AGE", "GENDER", "STATE", "RAMNTALL"] {
        assert_eq!(column(&found, name).role, Role::QuasiIdentifier, "{name}");
    }
    assert_eq!(column(&found, "ZIP").taxonomy, "{ prefix = true, length = 5 }");
    assert_eq!(column(&found, "ZIP").kind, Kind::Code);
    publishes(&found, &path);
}

#[test]
fn fars() {
    let Some(path) = data("../shared/data/fars/fars.csv") else { return };
    let found = look(&path, &InspectRequest::default());
    assert_eq!(roles(&found, "sensitive"), ["iinjury"]);
    assert_eq!(roles(&found, "quasi-identifier").len(), 7);
    assert_eq!(
        column(&found, "istatenum").taxonomy,
        "{ flat = true }",
        "state numbers are no quantities"
    );
    assert!(column(&found, "iage").taxonomy.contains("intervals"));
    publishes(&found, &path);
}

#[test]
fn hospital() {
    let Some(path) = data("examples/hospital/patients.csv") else { return };
    let found = look(&path, &InspectRequest::default());
    assert_eq!(roles(&found, "identifier"), ["name", "ssn"]);
    let quasi = [
        "zip",
        "birth_date",
        "sex",
        "nationality",
        "occupation",
        "admission_date",
        "length_of_stay",
    ];
    assert_eq!(roles(&found, "quasi-identifier"), quasi);
    assert_eq!(roles(&found, "sensitive"), ["diagnosis", "cost"]);
    assert!(column(&found, "ssn").person && !column(&found, "name").person);
    assert_eq!(column(&found, "zip").taxonomy, "{ prefix = true, length = 5 }");
    assert_eq!(
        column(&found, "birth_date").taxonomy,
        "{ dates = [\"month\", \"quarter\", \"year\", \"decade\"] }"
    );
    assert!(found.together.share > 0.9);
    publishes(&found, &path);
}

#[test]
fn known_minimal_sets() {
    // Everybody shares each value with somebody, but a and b together single out the first row, and
    // c with b the last.
    let text =
        "colour,size,shape\n1,1,1\n1,2,1\n1,2,1\n2,1,1\n2,1,1\n2,2,1\n2,2,1\n2,1,2\n2,1,2\n2,2,2\n";
    let (folder, found) = table(text);
    assert_eq!(sets(&found), [(vec!["colour", "size"], 1), (vec!["size", "shape"], 1)]);
    assert_eq!(found.together.people, 2);
    assert_eq!(roles(&found, "quasi-identifier"), ["colour", "size", "shape"]);
    publishes(&found, &folder.path().join("data.csv"));
    let one = look(
        &folder.path().join("data.csv"),
        &InspectRequest { max_columns: 1, ..InspectRequest::default() },
    );
    assert!(one.singling_out.is_empty());
    assert_eq!(roles(&one, "quasi-identifier").len(), 1, "a policy needs one");
}

fn brute_force(rows: &[Vec<u8>], max: usize) -> Vec<(Vec<usize>, u64)> {
    let width = rows[0].len();
    let alone = |set: &[usize]| {
        let mut counts: HashMap<Vec<u8>, u64> = HashMap::new();
        for row in rows {
            *counts.entry(set.iter().map(|&c| row[c]).collect()).or_default() += 1;
        }
        counts.values().filter(|&&n| n == 1).count() as u64
    };
    let mut found: Vec<(Vec<usize>, u64)> = Vec::new();
    let mut masks: Vec<u32> = (1..1 << width).collect();
    masks.sort_by_key(|m| m.count_ones());
    for mask in masks.into_iter().filter(|m| m.count_ones() as usize <= max) {
        let set: Vec<usize> = (0..width).filter(|i| mask >> i & 1 == 1).collect();
        let minimal = !found.iter().any(|(other, _)| other.iter().all(|c| set.contains(c)));
        let people = alone(&set);
        if minimal && people > 0 {
            found.push((set, people));
        }
    }
    found.sort_by(|a, b| a.0.len().cmp(&b.0.len()).then(b.1.cmp(&a.1)).then(a.0.cmp(&b.0)));
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Minimal sets are those found by trying all subsets, and every draft can be published. A 0 is
    /// a missing value.
    #[test]
    fn any_small_table(rows in prop::collection::vec(prop::collection::vec(0u8..4, 5), 2..60), max in 1usize..6) {
        let cell = |v: &u8| if *v == 0 { String::new() } else { v.to_string() };
        let line = |row: &Vec<u8>| row.iter().map(cell).collect::<Vec<_>>().join(",") + "\n";
        let text = format!("c0,c1,c2,c3,c4\n{}", rows.iter().map(line).collect::<String>());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data.csv");
        std::fs::write(&path, text).unwrap();
        let found = look(&path, &InspectRequest { max_columns: max, ..InspectRequest::default() });
        let name = |set: &[usize]| set.iter().map(|c| format!("c{c}")).collect::<Vec<_>>();
        let got: Vec<_> = found.singling_out.iter().map(|s| (s.columns.clone(), s.people)).collect();
        let expected: Vec<_> = brute_force(&rows, max).iter().map(|(set, people)| (name(set), *people)).collect();
        prop_assert_eq!(got, expected);
        publishes(&found, &path);
    }
}

#[test]
fn weird_column_names_are_quoted() {
    let names = [
        "a b",
        "say \"\"hi\"\"",
        "a.b",
        "größe",
        "role",
        "person",
        "with'quote",
        "#x",
        "[y]",
        "=",
        "back\\slash",
    ];
    let header = names.map(|n| format!("\"{n}\"")).join(",");
    let row = |i: usize| {
        (0..names.len()).map(|c| ((i + c) % 4).to_string()).collect::<Vec<_>>().join(",") + "\n"
    };
    let (folder, found) = table(&format!("{header}\n{}", (0..40).map(row).collect::<String>()));
    assert_eq!(found.columns[1].name, "say \"hi\"");
    publishes(&found, &folder.path().join("data.csv"));
    let (folder, found) =
        table("\"two\nlines\",\"tab\there\",diagnosis\n1,2,x\n3,4,y\n1,2,z\n3,4,x\n1,2,y\n");
    publishes(&found, &folder.path().join("data.csv"));
    parsed(&found, "a \"path\"\\with\ttrouble.csv");
}

#[test]
fn tiny_and_empty_tables() {
    let (folder, found) = table("age,city,disease\n41,Bonn,flu\n");
    assert_eq!(sets(&found), [], "a single row is told from no other");
    let policy = parsed(&found, "x.csv");
    assert_eq!(policy.k(), Some(1));
    assert!(draft(&found, &Path::new("x.csv").into()).contains("The table has 1 row"));
    publishes(&found, &folder.path().join("data.csv"));

    let (folder, found) = table(&format!("age,colour,disease\n{}", "41,red,flu\n".repeat(9)));
    assert!(found.columns.iter().all(|c| c.kind == Kind::Constant));
    assert_eq!((found.together.people, found.minimal_sets), (0, 0));
    assert!(found.warnings.iter().any(|w| w.contains("no model can hide it")));
    publishes(&found, &folder.path().join("data.csv"));

    let (folder, found) = table("a,b,c\n,,1\n,,2\n,,\n,,2\n,,1\n,,1\n");
    assert_eq!((column(&found, "a").kind, column(&found, "a").missing), (Kind::Empty, 6));
    assert_eq!(sets(&found), [(vec!["c"], 1)], "who has no value may be the only one");
    publishes(&found, &folder.path().join("data.csv"));

    let (_folder, found) = table("age,disease\n");
    assert_eq!(found.rows, 0);
    parsed(&found, "x.csv");
    let (folder, found) =
        table(&format!("name\n{}", (0..9).map(|i| format!("n{i}\n")).collect::<String>()));
    assert_eq!(roles(&found, "quasi-identifier"), ["name"], "there is nothing else");
    publishes(&found, &folder.path().join("data.csv"));
}

#[test]
fn missing_markers_are_found_and_said() {
    let rows: String = (0..30)
        .map(|i| {
            format!(
                "{},{}\n",
                if i % 7 == 0 { "NA".into() } else { (20 + i).to_string() },
                if i % 2 == 0 { "+" } else { "-" }
            )
        })
        .collect();
    let (folder, found) = table(&format!("age,rhesus\n{rows}"));
    assert_eq!(found.missing, ["", "NA"]);
    assert_eq!((column(&found, "age").kind, column(&found, "age").missing), (Kind::Number, 5));
    assert_eq!((column(&found, "rhesus").kind, column(&found, "rhesus").missing), (Kind::Flag, 0));
    assert!(found.warnings.iter().any(|w| w.starts_with("`NA` in `age`")), "{:?}", found.warnings);
    assert_eq!(parsed(&found, "x.csv").missing, ["", "NA"]);
    publishes(&found, &folder.path().join("data.csv"));
    let path = folder.path().join("data.csv");
    let own = InspectRequest {
        missing: vec!["".into(), "21".into(), "\"".into()],
        ..InspectRequest::default()
    };
    assert_eq!(parsed(&look(&path, &own), "x.csv").missing, ["", "21", "\"", "NA"]);
}

#[test]
fn roles_by_content() {
    let uuid = |i: u64| format!("{:08x}-aa", i.wrapping_mul(2_654_435_761) as u32);
    let row = |i: u64| {
        let icd = ["J44", "S52", "E11", "I21", "C18.1"][i as usize % 5];
        let word = ["alpha", "beta"][i as usize % 2];
        format!(
            "{},{},u{i}@example.org,{icd},20{:02}-0{}-1{},{}.5,{word},{}.{}.19{}\n",
            uuid(i),
            1000 + i,
            i % 20,
            i % 9 + 1,
            i % 10,
            (i * 37) % 101,
            i % 28 + 1,
            i % 12 + 1,
            50 + i % 40
        )
    };
    let (folder, found) =
        table(&format!("a,b,c,d,e,f,g,h\n{}", (0..100).map(row).collect::<String>()));
    assert_eq!(roles(&found, "identifier"), ["a", "b", "c"]);
    assert_eq!(roles(&found, "sensitive"), ["d"]);
    assert_eq!(
        (column(&found, "e").kind, column(&found, "e").role),
        (Kind::Date, Role::QuasiIdentifier)
    );
    assert_eq!(
        (column(&found, "f").kind, column(&found, "f").role),
        (Kind::Number, Role::QuasiIdentifier)
    );
    assert_eq!(
        (column(&found, "h").kind, column(&found, "h").taxonomy.as_str()),
        (Kind::Date, "{ flat = true }")
    );
    assert!(found.warnings.iter().any(|w| w.contains("`h` holds dates that are not written")));
    assert_eq!(found.columns.iter().filter(|c| c.person).count(), 1);
    publishes(&found, &folder.path().join("data.csv"));
}

#[test]
fn no_value_leaks() {
    let row = |i: usize| {
        format!(
            "Zq{i}xn,Zq{}city,9{:04}7,19{:02}-0{}-1{},Zq{}dis,Zq{}odd,8{}.25\n",
            i % 5,
            i * 13 % 9000,
            i % 60 + 20,
            i % 9 + 1,
            i % 10,
            i % 7,
            i % 3,
            i * 7919 % 1000
        )
    };
    let rows: Vec<String> = (0..200).map(row).collect();
    let (folder, found) =
        table(&format!("name,city,zip,birth_date,diagnosis,x,measure\n{}", rows.concat()));
    let json = serde_json::to_string(&found).unwrap();
    let text = draft(&found, &Path::new("data.csv").into());
    let cells = || rows.iter().flat_map(|r| r.trim().split(',')).filter(|c| c.len() > 3);
    for cell in cells() {
        assert!(!json.contains(cell), "{cell} in the answer");
        assert!(!text.contains(cell), "{cell} in the draft");
    }
    assert!(!json.contains("Zq") && !text.contains("Zq") && !json.contains("\"values\""));
    let path = folder.path().join("data.csv");
    let shown = look(&path, &InspectRequest { show_values: true, ..InspectRequest::default() });
    let values = column(&shown, "city").values.clone().unwrap();
    assert_eq!(values.commonest.len(), 5);
    assert_eq!(
        (values.least.as_deref(), values.greatest.as_deref()),
        (Some("Zq0city"), Some("Zq4city"))
    );
    assert_eq!(
        draft(&shown, &Path::new("data.csv").into()),
        text,
        "the draft shows none even then"
    );
}

#[test]
fn harmless_columns_may_be_harmful_together() {
    // All numbers below 64 by their bits: three columns never single out, all six always do.
    let row =
        |i: u32| (0..6).map(|c| (i >> c & 1).to_string()).collect::<Vec<_>>().join(",") + ",a\n";
    let rows: String = (0..64).map(row).collect();
    let (_folder, found) = table(&format!("c0,c1,c2,c3,c4,c5,sex\n{rows}"));
    assert_eq!(roles(&found, "insensitive").len(), 6);
    let said = found
        .warnings
        .iter()
        .any(|w| w.starts_with("published unchanged") && w.ends_with("single out 64 rows"));
    assert!(said, "{:?}", found.warnings);
}

#[test]
fn figures_of_a_column() {
    let (_folder, found) = table("flag,n\nx,1\nx,10\ny,9\ny,\n");
    let flag = column(&found, "flag");
    assert_eq!(
        (flag.distinct, flag.missing, flag.unique_values, flag.commonest_share),
        (2, 0, 0, 0.5)
    );
    assert!((flag.effective_values - 2.0).abs() < 1e-12);
    let n = column(&found, "n");
    assert_eq!((n.distinct, n.missing, n.unique_values), (3, 1, 3));
    assert!((n.effective_values - 4.0).abs() < 1e-12);
    assert_eq!(sets(&found), [(vec!["n"], 4)]);
}

#[test]
fn what_the_user_said_about_the_file_stands_in_the_draft() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data.csv");
    std::fs::write(&path, "age|sex\n1|f\n2|m\n1|f\n2|m\n1|m\n2|f\n").unwrap();
    let read = ReadOptions { delimiter: Some(b'|'), quote: Some(b'\''), ..ReadOptions::default() };
    let found = look(&path, &InspectRequest { read, ..InspectRequest::default() });
    let policy = parsed(&found, "data.csv");
    assert_eq!((policy.delimiter, policy.quote), (Some(b'|'), Some(b'\'')));
    publishes(&found, &path);
}

#[test]
fn a_file_that_is_not_there() {
    let problems = Publisher::default()
        .inspect(&Path::new("/no/such.csv").into(), &InspectRequest::default())
        .unwrap_err();
    assert!(problems.to_string().contains("does not exist"));
}
