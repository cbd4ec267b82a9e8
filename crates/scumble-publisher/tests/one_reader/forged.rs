//! Edited releases, and small cases in which two readers disagreed.

use super::{checked, counted, publish, verified, write};
use scumble_publisher::answer::VerifyOutcome;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::path::{Path, PathBuf};

const POLICY: &str = r#"
source = "data.csv"
ledger = false
[attributes]
name = { role = "identifier", person = true }
age  = { role = "quasi-identifier", taxonomy = { number = true } }
zip  = { role = "quasi-identifier", taxonomy = { prefix = true } }
dis  = "sensitive"
ward = "insensitive"
[[models]]
name = "k-anonymity"
k = 3
[algorithm]
name = "mondrian"
[release]
to = "release"
"#;

/// An honest release of forty people.
fn honest() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut data = String::from("name,age,zip,dis,ward\n");
    for i in 0..40 {
        let _ = writeln!(
            data,
            "Person {i},{},{},{},w{}",
            20 + i % 7,
            43100 + i % 5,
            ["flu", "hiv", "tb"][i % 3],
            i % 4
        );
    }
    write(folder.path(), "data.csv", &data);
    write(folder.path(), "policy.toml", POLICY);
    publish(&folder.path().join("policy.toml"), false).unwrap_or_else(|e| panic!("{e}"));
    let release = folder.path().join("release");
    let answer = verified(&release).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(
        answer.outcome,
        VerifyOutcome::Verified,
        "{:?} {:?}",
        answer.checked,
        answer.unchecked
    );
    (folder, release)
}

pub(super) fn read(release: &Path, name: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(release.join(name)).unwrap()).unwrap()
}

/// Puts a note back and makes every hash right again, as a forger would.
pub(super) fn forge(release: &Path, mut edit: impl FnMut(&mut Value, &mut Value)) {
    let hash = |name: &str| {
        let bytes = std::fs::read(release.join(name)).unwrap_or_default();
        Sha256::digest(bytes).iter().fold(String::new(), |mut text, b| {
            let _ = write!(text, "{b:02x}");
            text
        })
    };
    let (mut manifest, mut certificate) =
        (read(release, "manifest.json"), read(release, "certificate.json"));
    for place in ["/data", "/anatomized", "/anatomized/counterfeits"] {
        if let Some(note) = manifest.pointer_mut(place).filter(|note| note.is_object()) {
            note["sha256"] = json!(hash(note["file"].as_str().unwrap_or_default()));
        }
    }
    edit(&mut manifest, &mut certificate);
    write(release, "manifest.json", &manifest.to_string());
    for (name, sha256) in certificate["files"].as_object_mut().unwrap() {
        if name.ends_with(".csv") || name.ends_with(".parquet") || name == "manifest.json" {
            *sha256 = json!(hash(name));
        }
    }
    write(release, "certificate.json", &certificate.to_string());
}

/// Whether `verify` refuses.
fn refused(release: &Path) -> bool {
    verified(release).is_err() || verified(release).is_ok_and(|v| !v.holds)
}

#[test]
fn two_texts_are_two_classes() {
    let (_folder, release) = honest();
    let text = std::fs::read_to_string(release.join("data.csv")).unwrap();
    let rewrite = |age: &dyn Fn(usize) -> String| {
        let mut lines = vec!["age,zip,dis,ward".to_owned()];
        for (i, line) in text.lines().skip(1).enumerate() {
            // A range has a comma too; what is behind it has none.
            let rest: Vec<&str> = line.rsplitn(3, ',').collect();
            lines.push(format!("{},*,{},{}", age(i), rest[1], rest[0]));
        }
        write(&release, "data.csv", &(lines.join("\n") + "\n"));
        forge(&release, |_, _| ());
    };
    rewrite(&|i| if i % 2 == 0 { "*".into() } else { "20".into() });
    let k = checked(&release, None, None).map(|c| (c.classes, c.k));
    assert_eq!(k, Ok((2, 20)), "a value and `*`, which nothing else is under, are told apart");
    assert!(refused(&release), "its figures are those of another table");
    // Texts that mean the same could say who is who.
    for other in ["020", "20.0", "[20, 20]"] {
        rewrite(&|i| if i % 2 == 0 { other.into() } else { "20".into() });
        assert!(checked(&release, None, None).is_err(), "{other}");
        assert!(refused(&release), "{other}");
    }
}

#[test]
fn a_role_is_a_word_of_the_policy() {
    for word in ["guard", "identifier", "x", "Sensitive", "insensitive ", ""] {
        let (_folder, release) = honest();
        forge(&release, |m, c| {
            for note in [m, c] {
                let columns = note["columns"].as_array_mut().unwrap();
                let ward = columns.iter_mut().find(|column| column["name"] == "ward").unwrap();
                ward["role"] = json!(word);
            }
        });
        assert!(refused(&release), "{word}");
        assert!(checked(&release, None, None).is_err(), "{word}");
        let query = scumble::query::Query::parse("dis = flu").expect("a query");
        assert!(super::Publisher::default().query(&release, &[query]).is_err(), "{word}");
    }
}

/// Rewrites manifest and certificate.
type Edit<'a> = dyn Fn(&mut Value, &mut Value) + 'a;

#[test]
fn claims_are_those_of_the_manifest_and_can_be_checked() {
    let more = json!({ "name": "t-closeness", "attribute": "dis", "parameters": { "t": "0.01", "distance": "equal" },
        "holds": true, "measured": { "value": 0.001, "exact": "1/1000" } });
    let register = json!({ "name": "k-map", "parameters": { "k": "5", "register": "people.csv" },
        "holds": true, "measured": { "value": 5.0, "exact": "5" } });
    let edits: [&Edit<'_>; 7] = [
        &|_, c| c["models"][0]["parameters"]["k"] = json!("30"),
        &|_, c| c["models"][0]["measured"] = json!({ "value": 30.0, "exact": "30" }),
        &|m, c| {
            for note in [m, c] {
                note["models"][0]["measured"] = json!({ "value": 30.0, "exact": "30" });
            }
        },
        &|m, c| {
            for note in [m, c] {
                note["models"][0]["parameters"]["k"] = json!("30");
            }
        },
        &|_, c| c["models"].as_array_mut().unwrap().push(more.clone()),
        &|_, c| c["models"] = json!([]),
        &|m, c| {
            for note in [m, c] {
                note["models"].as_array_mut().unwrap().push(register.clone());
            }
        },
    ];
    for (i, edit) in edits.iter().enumerate() {
        let (_folder, release) = honest();
        forge(&release, edit);
        assert!(refused(&release), "edit {i}");
    }
}

#[test]
fn roles_are_bound_and_names_are_not_vouched_for() {
    let (folder, release) = honest();
    forge(&release, |m, _| m["columns"][0]["role"] = json!("insensitive"));
    assert!(refused(&release), "the certificate is for other roles");
    // The table itself, with everything rewritten so that no figure looks at names.
    let (_other, release) = honest();
    std::fs::copy(folder.path().join("data.csv"), release.join("data.csv")).unwrap();
    let columns = json!([{ "name": "name", "role": "insensitive" }, { "name": "age", "role": "insensitive" },
        { "name": "zip", "role": "insensitive" }, { "name": "dis", "role": "sensitive" },
        { "name": "ward", "role": "insensitive" }]);
    forge(&release, |m, c| (m["columns"], c["columns"]) = (columns.clone(), columns.clone()));
    let found = verified(&release).unwrap_or_else(|e| panic!("{e}"));
    assert!(!found.holds);
    assert!(found.unchecked.iter().any(|claim| claim.contains("`name`")), "{:?}", found.unchecked);
}

#[test]
fn no_path_leads_out_of_the_folder() {
    let data = std::fs::read(honest().1.join("data.csv")).unwrap_or_default();
    for name in ["../outside.csv", "/dev/zero", "/etc/passwd", "link.csv", "pipe.csv", ""] {
        let (folder, release) = honest();
        std::fs::write(folder.path().join("outside.csv"), &data).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink("../outside.csv", release.join("link.csv")).unwrap();
        forge(&release, |m, _| m["data"]["file"] = json!(name));
        assert!(refused(&release), "{name}");
        assert!(checked(&release, None, None).is_err(), "{name}");
        let into = folder.path().join("x.db");
        let loaded = super::Publisher::default().load(&release, into.to_str().unwrap(), "t");
        assert!(loaded.is_err(), "{name}");
        let (_folder, release) = honest();
        forge(&release, |_, c| c["files"][name] = json!("x"));
        assert!(refused(&release), "{name}");
    }
}

#[test]
fn nothing_lies_beside_a_release() {
    let (folder, release) = honest();
    std::fs::copy(folder.path().join("data.csv"), release.join("original.csv")).unwrap();
    assert!(refused(&release));
    assert_eq!(checked(&release, None, None).map(|c| c.keeps), Ok(Some(false)));
    // A column that the manifest does not list.
    let (_folder, release) = honest();
    let text = std::fs::read_to_string(release.join("data.csv")).unwrap();
    let lines = text
        .lines()
        .enumerate()
        .map(|(i, line)| format!("{line},{}", if i == 0 { "ssn".into() } else { i.to_string() }));
    write(&release, "data.csv", &(lines.collect::<Vec<_>>().join("\n") + "\n"));
    forge(&release, |_, _| ());
    assert!(refused(&release));
    assert!(checked(&release, None, None).is_err());
}

/// Publishes a small table.
fn small(
    data: &str,
    attributes: &str,
    models: &str,
    algorithm: &str,
) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    write(folder.path(), "data.csv", data);
    let text = format!(
        "source = \"data.csv\"\nledger = false\n[attributes]\n{attributes}\n{models}\n[algorithm]\nname = \"{algorithm}\"\n\
         [release]\nto = \"release\"\n"
    );
    write(folder.path(), "policy.toml", &text);
    let release = folder.path().join("release");
    (folder, release)
}

#[test]
fn irrational_figures_are_certified_as_they_are_found() {
    let (folder, release) = small(
        "age,dis\n20,flu\n20,flu\n20,hiv\n",
        "age = { role = \"quasi-identifier\", taxonomy = { number = true } }\ndis = \"sensitive\"",
        "[[models]]\nname = \"entropy-l-diversity\"\nl = 1.5",
        "mondrian",
    );
    publish(&folder.path().join("policy.toml"), false).unwrap_or_else(|e| panic!("{e}"));
    let found = verified(&release).unwrap_or_else(|e| panic!("{e}"));
    assert!(found.holds, "{:?}", found.checked.iter().filter(|c| !c.holds).collect::<Vec<_>>());
}

#[test]
fn siblings_of_a_generated_taxonomy_mean_the_same_to_everybody() {
    let (folder, release) = small(
        "zip,dis\n43101,flu\n43102,flu\n43103,flu\n52001,hiv\n61002,hd\n77003,tb\n",
        "zip = { role = \"quasi-identifier\", taxonomy = { prefix = true } }\ndis = \"sensitive\"",
        "[[models]]\nname = \"k-anonymity\"\nk = 3",
        "sibling",
    );
    publish(&folder.path().join("policy.toml"), false).unwrap_or_else(|e| panic!("{e}"));
    let found = checked(&release, None, None).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((found.classes, found.k), (2, 3));
    assert_eq!(counted(&release, &["zip = 4310*"]), [Some(3.0)]);
    assert_eq!(
        counted(&release, &["dis = flu and zip = 4310*"]),
        [Some(3.0)],
        "three people certain of flu"
    );
}

#[test]
fn no_domain_is_invented_for_a_suppressed_value() {
    let (folder, release) = small(
        "age,sex,dis\n20,M,flu\n20,F,hiv\n21,M,flu\n30,M,flu\n30,M,hiv\n31,M,tb\n",
        "age = { role = \"quasi-identifier\", taxonomy = { number = true } }\n\
         sex = { role = \"quasi-identifier\", taxonomy = { flat = true } }\ndis = \"sensitive\"",
        "[[models]]\nname = \"k-anonymity\"\nk = 3",
        "mondrian",
    );
    publish(&folder.path().join("policy.toml"), false).unwrap_or_else(|e| panic!("{e}"));
    let text = std::fs::read_to_string(release.join("data.csv")).unwrap();
    let [m, f, q, both] =
        counted(&release, &["sex = M", "sex = F", "sex = Q", "sex in (M, F)"])[..]
    else {
        panic!()
    };
    assert_eq!(q, None, "{text}");
    let known = m.unwrap_or(0.0) + f.unwrap_or(0.0);
    assert!(known <= 6.0 + 1e-9, "{m:?} {f:?} {text}");
    assert_eq!(both.is_some(), m.is_some() && f.is_some());
}

#[test]
fn a_table_with_names_or_several_rows_per_person_keeps_nothing() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    write(folder.path(), "data.csv", "id,age,dis\n1,30,flu\n1,30,hiv\n2,40,tb\n2,40,flu\n");
    let text = "source = \"data.csv\"\n[attributes]\nid = { role = \"identifier\", person = true }\n\
                age = { role = \"quasi-identifier\", taxonomy = { number = true } }\ndis = \"sensitive\"\n\
                [[models]]\nname = \"k-anonymity\"\nk = 2\n[algorithm]\nname = \"mondrian\"\n[release]\nto = \"r\"\n";
    write(folder.path(), "policy.toml", text);
    let (data, policy) = (folder.path().join("data.csv"), folder.path().join("policy.toml"));
    let found = checked(&data, Some(&policy), None).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(found.keeps, Some(false));
    let persons = found.persons.expect("they are named");
    assert_eq!((persons.number, persons.repeated, persons.smallest), (2, 2, 1));
    assert!(found.reasons.iter().any(|r| r.message.contains("identifiers")), "{:?}", found.reasons);
}

#[test]
fn a_register_counts_its_people() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    write(folder.path(), "register.csv", "q,people\nx,50\n");
    let (other, release) = small(
        "q,dis\nx,a\nx,b\n",
        "q = { role = \"quasi-identifier\", taxonomy = { flat = true } }\ndis = \"sensitive\"",
        "[[models]]\nname = \"k-anonymity\"\nk = 2",
        "mondrian",
    );
    publish(&other.path().join("policy.toml"), false).unwrap_or_else(|e| panic!("{e}"));
    let found = checked(&release, None, Some(&folder.path().join("register.csv")))
        .unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(found.risk.journalist.max.exact.as_deref(), Some("1/50"));
}

#[test]
fn guards_and_joint_values_do_not_disturb_each_other() {
    let (folder, release) = small(
        "age,dis,guard\n20,flu,flu\n20,hiv,\n30,tb,v\n30,flu,\n",
        "age = { role = \"quasi-identifier\", taxonomy = { number = true } }\n\
         dis = { role = \"sensitive\", taxonomy = \"dis.csv\" }\nguard = \"guard\"",
        "[[models]]\nname = \"multi-attribute-l-diversity\"\nl = 2",
        "mondrian",
    );
    write(folder.path(), "dis.csv", "flu;v;*\nhiv;v;*\ntb;b;*\n");
    let policy = folder.path().join("policy.toml");
    publish(&policy, false).unwrap_or_else(|e| panic!("{e}"));
    let found = checked(&release, Some(&policy), None).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(found.keeps, Some(true));
    let found = verified(&release).unwrap_or_else(|e| panic!("{e}"));
    assert!(found.holds, "{:?}", found.unchecked);
}

#[test]
fn a_reference_may_have_values_that_the_extract_lacks() {
    let (folder, _) = small(
        "age,dis\n20,flu\n21,flu\n",
        "age = { role = \"quasi-identifier\", taxonomy = { number = true } }\ndis = \"sensitive\"",
        "[[models]]\nname = \"bayes-optimal\"\ntheta = 0.9\nreference = \"ref.csv\"",
        "mondrian",
    );
    write(folder.path(), "ref.csv", "age,dis,people\n20,flu,1\n20,hiv,2\n21,flu,1\n21,hiv,2\n");
    let answer =
        publish(&folder.path().join("policy.toml"), true).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(answer.models[0].measured.exact.as_deref(), Some("2/3"), "{:?}", answer.reasons);
}
