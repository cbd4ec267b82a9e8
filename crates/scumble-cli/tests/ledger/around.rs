//! Ordinary commands that once led around the gate: columns shown together, values changed before
//! they are published, and columns that come back in another role.

use super::place::Place;
use serde_json::Value;

const MODELS: &str = "[[models]]\nname = \"distinct-l-diversity\"\nl = 2\n";

/// A policy of these attributes and whatever else it says.
fn policy(source: &str, attributes: &str, rest: &str, to: &str) -> String {
    let gate = "[gate]\ncertain = 0\ncandidates = 2\n";
    format!(
        "source = \"{source}\"\n[attributes]\n{attributes}\n{rest}\n{gate}\n[release]\nto = \"{to}\"\n"
    )
}

const PERSON: &str = "id = { role = \"identifier\", person = true }\n";
const AGE: &str = "age = { role = \"quasi-identifier\", taxonomy = { number = true } }\n";
const MONDRIAN: &str = "[algorithm]\nname = \"mondrian\"\n";

fn reasons(answer: &Value) -> Vec<String> {
    let reasons = answer["reasons"].as_array().expect("reasons").iter();
    reasons.map(|r| r["message"].as_str().expect("a message").to_owned()).collect()
}

/// What the gate says of an attribute.
fn passage<'a>(answer: &'a Value, attribute: &str) -> &'a Value {
    let passages = answer["gate"].as_array().expect("what the gate says");
    passages
        .iter()
        .find(|p| p["attribute"] == attribute)
        .unwrap_or_else(|| panic!("nothing of {attribute}: {answer}"))
}

/// Rows of disease and cost, then cost alone for smaller groups: who has which disease follows from
/// her cost.
#[test]
fn a_column_tells_about_those_that_were_shown_with_it() {
    let place = Place::new("");
    let rows = "p1,21,flu,100\np2,22,flu,200\np3,23,cold,300\np4,24,cold,400\np5,51,flu,100\np6,52,cold,300\np7,53,cold,200\np8,54,flu,400\n";
    place.put("a.csv", format!("id,age,disease,cost\n{rows}"));
    let costs: String =
        rows.lines().map(|l| l.replace(",flu", "").replace(",cold", "") + "\n").collect();
    place.put("b.csv", format!("id,age,cost\n{costs}"));
    let k = |k: u32| format!("[[models]]\nname = \"k-anonymity\"\nk = {k}\n{MODELS}{MONDRIAN}");
    let (disease, cost) =
        ("disease = { role = \"sensitive\" }\n", "cost = { role = \"sensitive\" }\n");
    place.put("r1.toml", policy("a.csv", &format!("{PERSON}{AGE}{disease}{cost}"), &k(4), "rel1"));
    place.put("r2.toml", policy("b.csv", &format!("{PERSON}{AGE}{cost}"), &k(2), "rel2"));
    place.expect(0, &["publish", "r1.toml"]);
    let answer = place.answer(1, &["publish", "r2.toml"]);
    assert_eq!(passage(&answer, "disease")["newly"], 4, "{answer}");
    assert_eq!(passage(&answer, "cost")["newly"], 0);
    assert!(
        reasons(&answer).iter().any(|r| r.starts_with("`disease`") && r.contains("4 people")),
        "{answer}"
    );
    let told = place.expect(1, &["publish", "r2.toml", "--show-values"]);
    assert!(told.contains("certain: flu") && told.contains("agree in every column"), "{told}");
    // The rows of one release are no more than the columns by themselves.
    place.put("r3.toml", policy("a.csv", &format!("{PERSON}{AGE}{disease}{cost}"), &k(4), "rel3"));
    let answer = place.answer(0, &["publish", "r3.toml"]);
    assert_eq!(passage(&answer, "disease")["certain"], 0);
}

/// Rounded, then exact: the same person's value, once as a range.
#[test]
fn a_rounded_value_is_a_set_of_values() {
    let place = Place::new("");
    place.put(
        "a.csv",
        "id,age,region,cost\np1,21,1,1040\np2,22,2,2010\np3,31,1,3010\np4,32,2,4020\n",
    );
    let ages = "age = { role = \"quasi-identifier\", taxonomy = { intervals = [10, 20], low = 20 } }\nregion = \"identifier\"\n";
    let regions = "age = \"identifier\"\nregion = { role = \"quasi-identifier\", taxonomy = { number = true } }\n";
    let rest = format!("{MODELS}{MONDRIAN}");
    let cost = |how: &str| format!("cost = {{ role = \"sensitive\"{how} }}\n");
    let rounded = cost(", perturb = { round = 1000 }");
    place.put("r1.toml", policy("a.csv", &format!("{PERSON}{ages}{rounded}"), &rest, "r1"));
    place.put("r2.toml", policy("a.csv", &format!("{PERSON}{regions}{}", cost("")), &rest, "r2"));
    let noisy = cost(", perturb = { noise = 0.1 }");
    place.put("n.toml", policy("a.csv", &format!("{PERSON}{regions}{noisy}"), &rest, "n"));
    place.expect(0, &["publish", "r1.toml"]);
    let answer = place.answer(1, &["publish", "r2.toml"]);
    assert_eq!(passage(&answer, "cost")["newly"], 4, "{answer}");
    // Noise is not judged, and that is said; it counts as a release.
    let answer = place.answer(0, &["publish", "n.toml"]);
    let passage = passage(&answer, "cost");
    assert_eq!(passage["releases"].as_array().map(Vec::len), Some(2));
    assert!(passage["notes"].to_string().contains("what that tells is not judged"), "{answer}");
    let answer = place.answer(1, &["publish", "r2.toml", "--dry-run"]);
    assert!(
        answer["gate"][0]["notes"].to_string().contains("`n` shows `cost` with noise"),
        "{answer}"
    );
}

/// Every release of randomized responses costs, and they add up.
#[test]
fn randomized_responses_add_up() {
    let place = Place::new("");
    let rows: String =
        (0..60).map(|i| format!("p{i},{},{}\n", 20 + i, ["flu", "cold", "hiv"][i % 3])).collect();
    place.put("a.csv", format!("id,age,disease\n{rows}"));
    let disease = "disease = { role = \"sensitive\", perturb = { keep = 0.6 } }\n";
    let k = format!("[[models]]\nname = \"k-anonymity\"\nk = 2\n{MONDRIAN}");
    let attributes = format!("{PERSON}{AGE}{disease}");
    let mut published = 0;
    for i in 0..15 {
        place.put("r.toml", policy("a.csv", &attributes, &k, &format!("r{i}")));
        let output = place.run(&["publish", "r.toml", "--json"]);
        let answer: Value = serde_json::from_slice(&output.stdout).expect("an answer");
        let spent = passage(&answer, "disease")["response"].as_f64().expect("an ε");
        assert!((spent - f64::from(published + 1) * 5.5f64.ln()).abs() < 1e-9, "{answer}");
        match output.status.code() {
            Some(0) => published += 1,
            _ => assert!(
                reasons(&answer)[0].contains("randomized responses about 60 people"),
                "{answer}"
            ),
        }
    }
    assert_eq!(published, 2, "two releases spend 3.41, three 5.11 of 4");
    // A policy that says so may spend more, and one that allows less refuses a single release.
    let limit = |x: &str| {
        policy("a.csv", &attributes, &k, "x")
            .replace("[gate]", &format!("[gate]\nresponse_epsilon = {x}"))
    };
    place.put("r.toml", limit("6"));
    place.expect(0, &["publish", "r.toml", "--dry-run"]);
    place.put("r.toml", limit("1.5").replace("source", "ledger = \"other\"\nsource"));
    let told = place.expect(1, &["publish", "r.toml"]);
    assert!(told.contains("at most 3/2 is allowed"), "{told}");
}

/// A column that was sensitive shows its values in every other role.
#[test]
fn what_was_protected_stays_protected() {
    let place = Place::new("");
    place.put(
        "a.csv",
        "id,age,disease\np1,21,flu\np2,22,cold\np3,23,hiv\np4,24,flu\np5,51,cold\np6,52,hiv\np7,53,cold\np8,54,flu\n",
    );
    let k = |k: u32| format!("[[models]]\nname = \"k-anonymity\"\nk = {k}\n");
    let sensitive = "disease = { role = \"sensitive\" }\n";
    let first = policy(
        "a.csv",
        &format!("{PERSON}{AGE}{sensitive}"),
        &format!("{}{MODELS}{MONDRIAN}", k(4)),
        "s1",
    );
    place.put("s1.toml", first);
    place.expect(0, &["publish", "s1.toml"]);
    let others = [
        (
            "disease = { role = \"quasi-identifier\", taxonomy = { flat = true } }\n",
            format!("{}{MONDRIAN}", k(1)),
        ),
        ("disease = { role = \"insensitive\" }\n", format!("{}{MONDRIAN}", k(1))),
        (
            "disease = { role = \"freeform\", taxonomy = { nested = { ANY = [\"flu\", \"cold\", \"hiv\"] } }, guarding = [\"hiv\"] }\n",
            format!(
                "{}[[models]]\nname = \"ff-anonymity\"\nobservability = 1\nthreat = 1\n[algorithm]\nname = \"specialize\"\n",
                k(1)
            ),
        ),
    ];
    for (column, rest) in others {
        for gate in [true, false] {
            let mut text = policy("a.csv", &format!("{PERSON}{AGE}{column}"), &rest, "s2");
            if !gate {
                text = text.replace("[gate]\ncertain = 0\ncandidates = 2\n", "");
            }
            place.put("s2.toml", text);
            let answer = place.answer(1, &["publish", "s2.toml"]);
            let found = passage(&answer, "disease");
            assert!(found["newly"].as_u64() > Some(0), "{column}: {answer}");
            assert!(
                found["notes"].to_string().contains("protected since `s1`"),
                "{column}: {answer}"
            );
        }
    }
    // Two in each class keep two diseases possible: as good as if it were sensitive.
    let plain = "disease = { role = \"insensitive\" }\n";
    place.put(
        "s3.toml",
        policy("a.csv", &format!("{PERSON}{AGE}{plain}"), &format!("{}{MONDRIAN}", k(2)), "s3"),
    );
    let answer = place.answer(0, &["publish", "s3.toml"]);
    assert_eq!(passage(&answer, "disease")["fewest"], 2, "{answer}");
    // Anatomy shows every record's own quasi-identifiers.
    let anatomy = "[algorithm]\nname = \"anatomy\"\nl = 2\n";
    let quasi = "disease = { role = \"quasi-identifier\", taxonomy = { flat = true } }\n";
    let attributes = format!("{PERSON}age = {{ role = \"sensitive\" }}\n{quasi}");
    let rest = format!("{MODELS}{anatomy}[history]\nmeant = [\"new-columns\"]\n");
    place.put("s4.toml", policy("a.csv", &attributes, &rest, "s4"));
    let told = place.expect(1, &["publish", "s4.toml"]);
    assert!(told.contains("shows every record's own value"), "{told}");
}

/// Guarded values of freeform columns are values to the gate: by income and sex, then by sex alone.
#[test]
fn guarded_values_are_put_together() {
    let place = Place::new("");
    place.put(
        "t.csv",
        "id,sex,income,disease\np1,F,190K,Flu\np2,F,90K,AIDS\np3,F,160K,TB\np4,F,80K,TB\np5,M,190K,AIDS\np6,M,160K,AIDS\np7,M,30K,E.Coli\np8,M,20K,E.Coli\n",
    );
    let tree = "{ \"any income\" = { High = [\"190K\", \"170K\", \"160K\"], Middle = [\"90K\", \"80K\", \"70K\"], Low = [\"30K\", \"20K\", \"10K\"] } }";
    let diseases =
        "{ \"any disease\" = { viral = [\"Flu\", \"AIDS\"], bacterial = [\"E.Coli\", \"TB\"] } }";
    let sex =
        "sex = { role = \"freeform\", taxonomy = { nested = { person = [\"F\", \"M\"] } } }\n";
    let disease = format!(
        "disease = {{ role = \"freeform\", taxonomy = {{ nested = {diseases} }}, guarding = [\"AIDS\", \"TB\"] }}\n"
    );
    let income = format!(
        "income = {{ role = \"freeform\", taxonomy = {{ nested = {tree} }}, guarding = [\"any income\"], observability = {{ belief = 0, alpha = 1 }} }}\n"
    );
    let rest = "[[models]]\nname = \"ff-anonymity\"\nobservability = 1\nthreat = 0.5\n[algorithm]\nname = \"specialize\"\n";
    place.put("a.toml", policy("t.csv", &format!("{PERSON}{sex}{income}{disease}"), rest, "a"));
    place.put(
        "c.toml",
        policy("t.csv", &format!("{PERSON}{sex}income = \"identifier\"\n{disease}"), rest, "c"),
    );
    place.expect(0, &["publish", "a.toml"]);
    let answer = place.answer(1, &["publish", "c.toml", "--show-values"]);
    let found = passage(&answer, "disease");
    assert_eq!(found["newly"], 2, "{answer}");
    assert_eq!(found["people_exposed"][0]["value"], "AIDS", "{answer}");
    // The other way round it is the same.
    place.put("first.toml", elsewhere(&place, "c.toml"));
    place.put("second.toml", elsewhere(&place, "a.toml"));
    place.expect(0, &["publish", "first.toml"]);
    place.expect(1, &["publish", "second.toml"]);
}

/// A policy of the place with another ledger and another folder for its release.
fn elsewhere(place: &Place, name: &str) -> String {
    let text = std::fs::read_to_string(place.path(name)).expect("a policy");
    format!("ledger = \"other\"\n{}", text.replace("to = \"", "to = \"other-"))
}

/// Two extracts of six people whose groups cross: together four of them are certain.
const CROSSING: [&str; 2] = [
    "id,g,D\np1,a,flu\np2,a,hiv\np3,b,flu\np4,b,cold\np5,c,hiv\np6,c,cold\n",
    "id,g,D\np1,x,flu\np4,x,cold\np5,y,hiv\np6,y,cold\np2,z,hiv\np3,z,flu\n",
];

/// A policy that publishes the groups as they are.
fn as_grouped(recipients: &str, column: &str, gate: &str, n: usize) -> String {
    let g = "g = { role = \"quasi-identifier\", taxonomy = { flat = true } }\n";
    let model = "[[models]]\nname = \"k-anonymity\"\nk = 1\n[algorithm]\nname = \"lattice\"\n";
    format!(
        "source = \"d{n}.csv\"\nrecipients = {recipients}\n[attributes]\n{PERSON}{g}{column}\n{model}{gate}\n\
         [release]\nto = \"r{n}\"\n"
    )
}

/// Whoever was given everything is judged, also where everybody together is only told of.
#[test]
fn a_recipient_who_has_everything_is_not_everybody() {
    let column = "D = \"sensitive\"";
    let gate = "[gate]\neverybody = false\ncoalitions = 2\nposterior = 1\n";
    for [first, second] in
        [["[\"A\"]", "[\"A\"]"], ["[\"A\"]", "[\"B\"]"], ["[]", "[\"A\"]"], ["[\"A\"]", "[]"]]
    {
        let place = Place::new("");
        for (n, (text, recipients)) in CROSSING.iter().zip([first, second]).enumerate() {
            place.put(&format!("d{n}.csv"), *text);
            place.put(&format!("p{n}.toml"), as_grouped(recipients, column, gate, n));
        }
        place.expect(0, &["publish", "p0.toml"]);
        let answer = place.answer(1, &["publish", "p1.toml", "--no-remedies"]);
        assert!(
            reasons(&answer).iter().any(|r| r.contains("4 people")),
            "{first} {second}: {answer}"
        );
    }
}

/// Case, blanks and accents make no other recipient: what "A" and "a " have is put together.
#[test]
fn a_respelt_recipient_is_the_same() {
    let gate = "[gate]\neverybody = false\nposterior = 1\n";
    for (second, code) in [("[\"a \"]", 1), ("[\"B\"]", 0)] {
        let place = Place::new("");
        for (n, (text, recipients)) in CROSSING.iter().zip(["[\"A\"]", second]).enumerate() {
            place.put(&format!("d{n}.csv"), *text);
            place.put(&format!("p{n}.toml"), as_grouped(recipients, "D = \"sensitive\"", gate, n));
        }
        place.expect(0, &["publish", "p0.toml"]);
        let answer = place.answer(code, &["publish", "p1.toml", "--no-remedies"]);
        let warned = answer["warnings"].to_string().contains("is taken for `A`");
        assert_eq!(warned, code == 1, "{answer}");
    }
}

/// A policy that no longer names the persons stops where the ledger knows them.
#[test]
fn persons_are_not_dropped_in_silence() {
    let place = Place::new("");
    for (n, text) in CROSSING.iter().enumerate() {
        place.put(&format!("d{n}.csv"), *text);
        place.put(&format!("p{n}.toml"), as_grouped("[]", "D = \"sensitive\"", "", n));
    }
    place.expect(0, &["publish", "p0.toml"]);
    let without = |history: &str| {
        as_grouped("[]", "D = \"sensitive\"", history, 1).replace(PERSON, "id = \"identifier\"\n")
    };
    place.put("p1.toml", without(""));
    let told = place.expect(2, &["publish", "p1.toml"]);
    assert!(told.contains("`r0` of this ledger knows persons"), "{told}");
    assert!(told.contains("[history] meant = [\"no-persons\"]"), "{told}");
    place.put("p1.toml", without("[history]\nmeant = [\"no-persons\"]\n"));
    let told = place.expect(0, &["publish", "p1.toml"]);
    assert!(told.contains("together with `r0` and other releases is not judged"), "{told}");
}

/// A protected column does not come back under another name, in whatever role.
#[test]
fn a_renamed_column_stays_protected() {
    let second = "id,g,NAME\np1,x,flu\np2,y,hiv\np3,z,flu\np4,u,cold\np5,v,hiv\np6,w,cold\n";
    let roles = ["\"insensitive\"", "{ role = \"quasi-identifier\", taxonomy = { flat = true } }"];
    for name in ["d", "D "] {
        for role in roles {
            let place = Place::new("");
            place.put("d0.csv", CROSSING[0]);
            place.put("d1.csv", second.replace("NAME", name));
            place.put("p0.toml", as_grouped("[]", "D = \"sensitive\"", "", 0));
            let column = format!("\"{name}\" = {role}");
            place.put("p1.toml", as_grouped("[]", &column, "", 1));
            place.expect(0, &["publish", "p0.toml"]);
            let told = place.expect(2, &["publish", "p1.toml"]);
            assert!(told.contains("looks like `D` of earlier releases"), "{name} {role}: {told}");
            // Said to be the same, it is judged as what it is.
            let map = format!("[history]\ncolumns = {{ \"{name}\" = \"D\" }}\n");
            place.put("p1.toml", as_grouped("[]", &column, &map, 1));
            place.expect(1, &["publish", "p1.toml", "--no-remedies"]);
        }
    }
}

/// A name that two releases have does not choose between them.
#[test]
fn a_release_is_not_taken_for_another_of_its_name() {
    let place = Place::new("");
    place.put("d0.csv", CROSSING[0]);
    place.put("p0.toml", as_grouped("[]", "D = \"sensitive\"", "", 0));
    place.expect(0, &["publish", "p0.toml"]);
    place.expect(0, &["publish", "p0.toml", "--replace"]);
    let told = place.expect(2, &["ledger", "withdraw", "r0", "--because", "a test"]);
    assert!(told.contains("2 releases `r0`"), "{told}");
}

/// A person's cost changed between two releases that show rows of disease and cost; her disease,
/// which the first release gives away, tells which of the new costs is hers, and which of the old
/// ones was.
#[test]
fn a_changed_value_is_tied_to_what_did_not_change() {
    let first =
        "p1,20,flu,10\np2,20,flu,20\np3,20,flu,30\np4,30,hiv,10\np5,30,hiv,20\np6,30,hiv,30\n";
    let second = "p1,40,flu,50\np7,40,hiv,60\np8,40,cold,70\np2,20,flu,20\np3,20,flu,30\np9,20,flu,10\n\
                  p4,30,hiv,10\np5,30,hiv,20\np6,30,hiv,30\n";
    // The same people, and p1's row as it was in a group of other diseases.
    let turned =
        "p1,20,flu,10\np2,20,hiv,20\np3,20,cold,30\np4,30,hiv,10\np5,30,hiv,20\np6,30,hiv,30\n";
    let attributes = format!(
        "{PERSON}age = {{ role = \"quasi-identifier\", taxonomy = {{ intervals = [10] }} }}\ndis = \"sensitive\"\ncost = \"sensitive\"\n"
    );
    let models = "[[models]]\nname = \"distinct-l-diversity\"\nl = 3\nattribute = \"cost\"\n[algorithm]\nname = \"mondrian\"\n[history]\nmeant = [\"changed\"]\n";
    let publish = |place: &Place, rows: &str, name: &str, status: i32| {
        place.put(&format!("{name}.csv"), format!("id,age,dis,cost\n{rows}"));
        let text = policy(&format!("{name}.csv"), &attributes, models, name);
        let text = text.replace("[gate]\ncertain = 0\ncandidates = 2\n", "");
        place.put(&format!("{name}.toml"), text);
        place.answer(status, &["publish", &format!("{name}.toml"), "--no-remedies"])
    };
    let about = |answer: &Value, replaced: bool| {
        let passages = answer["gate"].as_array().expect("what the gate says").clone();
        let is = |p: &&Value| {
            p["attribute"] == "cost" && p["replaced"].as_bool().unwrap_or(false) == replaced
        };
        passages.iter().find(is).expect("a passage").clone()
    };
    // The new value follows from what the first release told of the other column.
    let place = Place::new("");
    publish(&place, first, "a", 0);
    let refused = publish(&place, second, "b", 1);
    assert_eq!(about(&refused, false)["certain"], 1);
    assert_eq!(about(&refused, false)["people_exposed"][0]["who"][0], "row 1");
    assert_eq!(about(&refused, true)["certain"], 0);
    // And the old one from what the second release tells of it.
    let place = Place::new("");
    publish(&place, turned, "a", 0);
    let again = "p1,40,flu,50\np7,40,flu,60\np8,40,flu,70\np2,20,hiv,20\np3,20,cold,30\np9,20,cold,10\n\
                 p4,30,hiv,10\np5,30,hiv,20\np6,30,hiv,30\n";
    let refused = publish(&place, again, "b", 1);
    assert_eq!(about(&refused, true)["certain"], 1, "{refused}");
    assert_eq!(about(&refused, true)["people_exposed"][0]["who"][0], "row 1 with an earlier value");
}

/// Who was given cost alone reads nothing about disease in her certificate; the steward is told of
/// it, and so is whoever has both.
#[test]
fn a_certificate_tells_nothing_of_columns_that_were_never_given() {
    for (first, mentioned) in [("[\"B\"]", false), ("[\"A\", \"B\"]", true), ("[]", true)] {
        let place = Place::new("");
        let rows = "p1,21,flu,100\np2,22,flu,200\np3,23,cold,300\np4,24,cold,400\n";
        place.put("a.csv", format!("id,age,disease,cost\n{rows}"));
        place.put("b.csv", "id,age,cost\np1,21,100\np2,22,200\np3,23,300\np4,24,400\n");
        let policy = |source: &str, recipients: &str, disease: &str, to: &str| {
            format!(
                "source = \"{source}\"\nrecipients = {recipients}\n[attributes]\n{PERSON}{AGE}{disease}\
                 cost = \"sensitive\"\n[[models]]\nname = \"k-anonymity\"\nk = 2\n{MONDRIAN}\
                 [gate]\ncertain = 1000\nposterior = 1\n[release]\nto = \"{to}\"\n"
            )
        };
        place.put("r1.toml", policy("a.csv", first, "disease = \"sensitive\"\n", "rel1"));
        place.put("r2.toml", policy("b.csv", "[\"A\"]", "", "rel2"));
        place.expect(0, &["publish", "r1.toml"]);
        let answer = place.answer(0, &["publish", "r2.toml"]);
        passage(&answer, "disease");
        let read = |name: &str| std::fs::read_to_string(place.path(name)).expect("a file");
        let certificate = read("rel2/certificate.json");
        assert_eq!(certificate.contains("disease"), mentioned, "{first}: {certificate}");
        assert!(certificate.contains("\"linkability\"") && certificate.contains("cost"));
        assert!(!read("rel2/manifest.json").contains("disease"));
    }
}

/// A refusal tells what was tried and how near it came.
#[test]
fn what_was_tried_is_told() {
    let place = Place::new("");
    for (n, text) in CROSSING.iter().enumerate() {
        place.put(&format!("d{n}.csv"), *text);
        let gate = "[gate]\ncertain = 0\ncandidates = 3\n";
        place.put(&format!("p{n}.toml"), as_grouped("[]", "D = \"sensitive\"", gate, n));
    }
    place.put("p0.toml", as_grouped("[]", "D = \"sensitive\"", "", 0));
    place.expect(0, &["publish", "p0.toml"]);
    let answer = place.answer(1, &["publish", "p1.toml"]);
    let tried = answer["tried"].as_array().unwrap_or_else(|| panic!("{answer}"));
    assert!(!tried.is_empty(), "{answer}");
    let distance = |t: &Value| (t["exposed"] == 0, t["certain"].as_u64(), t["exposed"].as_u64());
    assert!(tried.is_sorted_by_key(distance), "the nearest first: {answer}");
    for t in tried {
        assert!(t["exposed"].as_u64() > Some(0) || t["because"] != "", "{t}");
    }
    let told = place.expect(1, &["publish", "p1.toml"]);
    assert!(told.contains("tried, and does not pass:"), "{told}");
    assert!(told.contains(" still "), "{told}");
    let notes = answer["gate"].as_array().expect("what the gate says").iter();
    for note in notes.flat_map(|p| p["notes"].as_array().cloned().unwrap_or_default()) {
        assert!(note.as_str().is_some_and(|n| n.contains("`D`")), "{note}");
    }
}
