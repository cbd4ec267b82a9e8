//! Laws of a policy text that is changed: it says what is wanted, and keeps what was written.

use super::{example, generate, texts};
use proptest::prelude::*;
use scumble::policy::spec::{ModelSpec, Setting, TaxonomySpec};
use scumble::policy::{PolicyDocument, PolicyKey, PolicySpec, Sweep};
use scumble::table::Role;

fn document(text: &str) -> PolicyDocument {
    PolicyDocument::parse("p", text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn key(text: &str) -> PolicyKey {
    PolicyKey::parse(text).unwrap_or_else(|e| panic!("{e}"))
}

/// The comments that stand in the sections of these names, or before them.
fn comments(text: &str, untouched: impl Fn(&str) -> bool) -> Vec<String> {
    let (mut section, mut found, mut waiting) = (String::new(), Vec::new(), Vec::new());
    for line in text.lines() {
        let line = line.trim();
        if line.starts_with('#') {
            // Whether it belongs to this section or the next is known at the next value or heading.
            waiting.push(line.to_owned());
            continue;
        }
        if let Some(heading) = line.strip_prefix('[') {
            let name = heading.trim_start_matches('[').split([']', '.']).next().unwrap_or("");
            section = name.trim().trim_matches('"').to_owned();
        } else if line.is_empty() {
            continue;
        }
        let top = if section.is_empty() {
            line.split(['=', '.']).next().unwrap_or("").trim()
        } else {
            &section
        };
        let mut here = std::mem::take(&mut waiting);
        if let Some((_, comment)) = line.split_once(" # ") {
            here.push(comment.to_owned());
        }
        if untouched(top) {
            found.extend(here);
        }
    }
    found
}

/// Applies a spec to a text, and checks what must hold.
fn check_apply(text: &str, wanted: &PolicySpec) {
    let mut document = document(text);
    let old = document.spec().clone();
    document.apply(&old).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(document.text(), text, "nothing was changed");
    document.apply(wanted).unwrap_or_else(|e| panic!("{e}\n{text}\nwanted:\n{wanted}"));
    let read = PolicySpec::parse("p", document.text());
    let read = read.unwrap_or_else(|e| panic!("{e}\n{document}"));
    assert_eq!(read, *wanted, "{document}");
    assert_eq!(read.to_string(), wanted.to_string(), "in the same order\n{document}");
    let tree = |spec: &PolicySpec| serde_json::to_value(spec).unwrap_or_else(|e| panic!("{e}"));
    let (before, after) = (tree(&old), tree(wanted));
    let printed = |tree: &serde_json::Value, key: &str| tree.get(key).map(ToString::to_string);
    let untouched = |key: &str| printed(&before, key) == printed(&after, key);
    let kept = document.text();
    for comment in comments(text, untouched) {
        assert!(kept.contains(&comment), "`{comment}` is gone from\n{text}\nnow\n{kept}");
    }
    // Back again: what the text says is what it said, whatever it looks like.
    document.apply(&old).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(document.spec().to_string(), old.to_string());
}

/// Every policy of the repository.
fn policies() -> Vec<(String, PolicySpec)> {
    let read = |(_, text): (String, String)| {
        let spec = PolicySpec::parse("p", &text).ok()?;
        (!spec.attributes.is_empty()).then_some((text, spec))
    };
    texts().into_iter().filter_map(read).collect()
}

/// Changes that a steward makes, one at a time.
fn changes(spec: &PolicySpec) -> Vec<PolicySpec> {
    let mut all = Vec::new();
    let mut change = |edit: &dyn Fn(&mut PolicySpec)| {
        let mut changed = spec.clone();
        edit(&mut changed);
        all.push(changed);
    };
    change(&|s| s.publisher = Some("Somebody \"else\"".into()));
    change(&|s| s.publisher = None);
    change(&|s| s.recipients.push("another".into()));
    change(&|s| s.models.insert(0, ModelSpec::new("t-closeness").with("t", 0.2)));
    change(&|s| s.models.reverse());
    change(&|s| s.models.truncate(1));
    change(&|s| s.gate.get_or_insert_default().candidates = Some(3.into()));
    change(&|s| s.gate = None);
    change(&|s| s.attributes.reverse());
    change(&|s| drop(s.attributes.shift_remove_index(0)));
    change(&|s| s.attributes.values_mut().for_each(|a| a.weight = Some(2.into())));
    change(&|s| {
        for attribute in s.attributes.values_mut() {
            attribute.taxonomy = Some(TaxonomySpec::flat());
        }
    });
    change(&|s| s.history.get_or_insert_default().columns.extend([("a".into(), "b".into())]));
    change(&|s| s.release = None);
    for model in &spec.models {
        for parameter in model.parameters.keys() {
            change(&|s| {
                for model in &mut s.models {
                    model.parameters.insert(parameter.clone(), 7.into());
                }
            });
        }
    }
    all
}

#[test]
fn every_policy_of_the_repository_can_be_changed_and_keeps_its_comments() {
    let all = policies();
    assert!(all.len() >= 60, "found {}", all.len());
    for (at, (text, spec)) in all.iter().enumerate() {
        for wanted in changes(spec) {
            check_apply(text, &wanted);
        }
        // And into quite another policy.
        check_apply(text, &all[(at + 1) % all.len()].1);
        check_apply(&text.replace('\n', "\r\n"), &all[(at + 1) % all.len()].1);
        check_apply(text.trim_end(), &example());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_text_is_changed_into_any_spec(from in generate::spec(), to in generate::spec()) {
        // A comment above every line, and one behind every value that stands alone.
        let mut text = String::from("# the head\n\n");
        let plain = from.to_string();
        // Inside a text of several lines it would be no comment.
        let several = plain.contains("\"\"\"") || plain.contains("'''");
        for (number, line) in plain.lines().enumerate() {
            if line.is_empty() || several {
                text += &format!("{line}\n");
            } else {
                text += &format!("# comment {number}\n{line} # behind {number}\n");
            }
        }
        text += "# the end\n";
        check_apply(&text, &to);
        let one = PolicySpec { gate: to.gate.clone(), ..from.clone() };
        check_apply(&text, &one);
        let one = PolicySpec { attributes: to.attributes.clone(), ..from.clone() };
        check_apply(&text, &one);
        let one = PolicySpec { models: to.models.clone(), ..from.clone() };
        check_apply(&text, &one);
    }
}

const TEXT: &str = r#"# Ward data for the registry.
# Ask Ms Ito before changing anything.

publisher = 'St. Elsewhere'   # as on the letterhead
source = "patients.csv"

# Who they are
[attributes]
id      = "identifier"                                   # never leaves
age     = { role = "quasi-identifier", taxonomy = { intervals = [5, 10, 20] } }
zip     = { role = "quasi-identifier", taxonomy = { prefix = true } } # five digits
disease = "sensitive"

# The board decided on 5 in May.
[[models]]
name = "k-anonymity"
k = 5      # not below 5

# and on this in June
[[models]]
l = 3
name = "distinct-l-diversity"

[algorithm]
name = "mondrian"

# Where it goes

[release]
to = "releases/1"
# the end
"#;

#[test]
fn only_what_changes_changes() {
    let mut policy = document(TEXT);
    policy.set(&key("k"), 11.into()).unwrap_or_else(|e| panic!("{e}"));
    let expected = TEXT.replace("k = 5      #", "k = 11      #");
    assert_eq!(policy.text(), expected);
    policy.set(&key("attributes.zip.weight"), 2.into()).unwrap_or_else(|e| panic!("{e}"));
    let expected = expected.replace(
        "taxonomy = { prefix = true } } #",
        "taxonomy = { prefix = true }, weight = 2 } #",
    );
    assert_eq!(policy.text(), expected);
    policy.set(&key("attributes.disease.weight"), 2.into()).unwrap_or_else(|e| panic!("{e}"));
    let expected = expected
        .replace("disease = \"sensitive\"", "disease = { role = \"sensitive\", weight = 2 }");
    assert_eq!(policy.text(), expected);
    let widths = Setting::List(vec![5.into(), 20.into()]);
    policy.set(&key("attributes.age.taxonomy.intervals"), widths).unwrap_or_else(|e| panic!("{e}"));
    let expected = expected.replace("[5, 10, 20]", "[5, 20]");
    assert_eq!(policy.text(), expected);
    policy.remove(&key("models.1")).unwrap_or_else(|e| panic!("{e}"));
    let gone = "# The board decided on 5 in May.\n[[models]]\nname = \"k-anonymity\"\n\
                k = 11      # not below 5\n\n";
    let expected = expected.replace(gone, "");
    assert_eq!(policy.text().replace("\n\n\n", "\n\n"), expected);
    policy.set(&key("gate.candidates"), 3.into()).unwrap_or_else(|e| panic!("{e}"));
    assert!(policy.text().contains("\n\n[gate]\ncandidates = 3\n"), "{policy}");
    assert!(policy.text().ends_with("# the end\n"), "{policy}");
    policy.remove(&key("publisher")).unwrap_or_else(|e| panic!("{e}"));
    assert!(policy.text().starts_with("# Ward data for the registry.\n"), "{policy}");
}

#[test]
fn a_key_is_named_as_people_say_it() {
    let policy = document(TEXT);
    let spec = policy.spec();
    for (said, full) in [
        ("k", "models.1.k"),
        ("k-anonymity.k", "models.1.k"),
        ("models.1.k", "models.1.k"),
        ("l", "models.2.l"),
        ("distinct-l-diversity.l", "models.2.l"),
        ("algorithm", "algorithm.name"),
        ("cut", "algorithm.cut"),
        ("mondrian.cut", "algorithm.cut"),
        ("gate.candidates", "gate.candidates"),
        ("publisher", "publisher"),
        ("attributes.\"a.b\".weight", "attributes.\"a.b\".weight"),
    ] {
        let found = key(said).resolve(spec).unwrap_or_else(|e| panic!("{said}: {e}"));
        assert_eq!(found.to_string(), full);
    }
    for (said, told) in [
        ("kk", "`kk` is no key of the policy"),
        ("k-anonymty.k", "no section, model or algorithm `k-anonymty`"),
        ("models.0.k", "the policy has no model `0`"),
        ("models.3.k", "the policy has no model `3`"),
        ("sauce", "`sauce` is no key"),
    ] {
        let failure = key(said).resolve(spec).expect_err(said);
        assert!(failure.message.contains(told), "{}", failure.message);
        assert!(failure.remedy.is_some(), "{said}");
    }
    let twice =
        PolicySpec { models: vec![ModelSpec::new("k-anonymity").with("k", 2); 2], ..spec.clone() };
    let failure = key("k").resolve(&twice).expect_err("two");
    assert!(failure.message.contains("`models.1.k` or `models.2.k`"), "{}", failure.message);
}

#[test]
fn what_a_policy_cannot_hold_is_refused_and_changes_nothing() {
    let mut policy = document(TEXT);
    for (said, value, told) in [
        ("gate.candidtes", "3", "`gate.candidtes` is not known"),
        ("attributes.age.role", "quasi", "unknown role `quasi`"),
        ("models.1.k.deeper", "1", "cannot be changed"),
    ] {
        let value = Setting::parse(value).unwrap_or_else(|| panic!("{value}"));
        let failures = policy.set(&key(said), value).expect_err(said).to_string();
        assert!(failures.contains(told), "{failures}");
    }
    let failures = policy.remove(&key("gate")).expect_err("there is none").to_string();
    assert!(failures.contains("does not have `gate`"), "{failures}");
    assert_eq!(policy.text(), TEXT);
}

#[test]
fn a_sweep_is_the_product_of_its_values() {
    let sweep = |text: &str| Sweep::parse(text).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(sweep("k=2,5").values, vec![Setting::Whole(2), Setting::Whole(5)]);
    let listed = sweep("models.1.on=[\"age\"],[\"age\", \"zip\"]").values;
    assert_eq!(listed.len(), 2);
    assert_eq!(listed[1], Setting::List(vec!["age".into(), "zip".into()]));
    assert_eq!(
        sweep("publisher=\"a, b\",c").values,
        vec!["a, b".into(), Setting::Text("c".into())]
    );
    assert_eq!(sweep("t=0.20").values, vec![Setting::Text("0.20".into())]);
    for wrong in ["k", "k=", "k=2,,5", "=2", "k=[1", "k={a = 1}"] {
        assert!(Sweep::parse(wrong).is_err(), "{wrong}");
    }
    let policy = document(TEXT);
    let all = policy.spec().sweep(&[sweep("k=2,5"), sweep("l=2,3,4")]);
    let all = all.unwrap_or_else(|e| panic!("{e}"));
    let chosen: Vec<String> = all
        .iter()
        .map(|(chosen, _)| chosen.iter().map(|c| format!("{}={} ", c.key, c.value)).collect())
        .collect();
    assert_eq!(chosen[1], "models.1.k=2 models.2.l=3 ");
    assert_eq!((all.len(), chosen[5].as_str()), (6, "models.1.k=5 models.2.l=4 "));
    assert_eq!(all[5].1.models[0].parameters["k"], Setting::Whole(5));
    assert!(all.iter().all(|(_, spec)| spec.attributes["age"].role == Role::QuasiIdentifier));
}

#[test]
fn a_misspelt_mechanism_is_refused_in_files_and_data() {
    let text = "source = \"a.csv\"\n[queries]\nbudget = { epsilon = 1, delta = 1e-6 }\n\
                [queries.columns]\na = { keys = [\"x\", \"y\"] }\n[queries.synthetic]\n\
                columns = [\"a\"]\nepsilon = 1\ndelta = 1e-9\nto = \"s\"\nmechanism = \"gausian\"\n";
    let told = scumble::policy::Queries::parse("p.toml", text).map(|_| ());
    let told = told.expect_err("it is misspelt");
    let named = "`queries.synthetic.mechanism` is `laplace` or `gaussian`, not `gausian`";
    assert!(told.to_string().contains(named), "{told}");
    assert!(told.to_string().contains("did you mean `gaussian`"), "{told}");
    let data = PolicySpec::parse("p.toml", text).map(|_| ()).expect_err("it is misspelt");
    assert_eq!(data.to_string(), told.to_string());
    let right = scumble::policy::Queries::parse("p", &text.replace("gausian", "gaussian"));
    right.unwrap_or_else(|e| panic!("{e}"));
}

/// A column is left out of the spec as it is left out of the policy.
#[test]
fn a_column_is_left_out_of_data_as_of_a_policy() {
    let told = |policy: &scumble::policy::Policy| {
        let roles: Vec<String> =
            policy.attributes.iter().map(|a| format!("{} {:?}", a.name, a.role)).collect();
        let promised: Vec<String> = policy
            .requirements
            .iter()
            .map(|r| format!("{} {:?} {:?} {:?}", r.name, r.parameters, r.attribute, r.on))
            .collect();
        (roles, promised)
    };
    let (mut left_out, mut kept) = (0, 0);
    for (text, spec) in policies() {
        for name in spec.attributes.keys() {
            let Ok(mut policy) = spec.policy() else { continue };
            if !policy.quasi().chain(policy.sensitive()).any(|a| a.name == *name) {
                continue;
            }
            let mut changed = spec.clone();
            let (by_policy, by_spec) = (policy.without(name), changed.without(name));
            // Data are validated again, so that less may be possible.
            assert!(by_policy || !by_spec, "{name}\n{text}");
            if by_spec {
                let again = changed.policy().unwrap_or_else(|e| panic!("{e}\n{changed}"));
                assert_eq!(told(&policy), told(&again), "{name}\n{text}");
                left_out += 1;
            } else if by_policy {
                kept += 1;
            }
        }
    }
    assert!(left_out >= 100 && kept * 20 < left_out, "{left_out} left out, {kept} not");
}
