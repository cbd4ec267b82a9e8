//! Publishing again under k-anonymity while people come and leave: `mondrian` with `keep =
//! "groups"` against the gate.

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use scumble::algorithm::Requirement;
use scumble::catalogue::{ALGORITHMS, MODELS, Parameters};
use scumble::encode::encode;
use scumble::gate::{Gate, Memory, Remembered, judge};
use scumble::history::PastGroup;
use scumble::inference::Located;
use scumble::publish::{Outcome, make};
use scumble::release::Form;

use scumble::table::{Attribute, Table};
use scumble::taxonomy::{Intervals, Rule};
use std::cell::Cell;
use std::collections::BTreeMap;

/// A person: age, illness, and whether she is in the first and in the second release.
type Person = (u32, u32, bool, bool);

const VALUES: u32 = 4;

fn people() -> impl Strategy<Value = Vec<Person>> {
    let person = (0u32..24, 0..VALUES, 0u32..100).prop_map(|(age, illness, churn)| {
        // 12 % leave and as many come.
        (age, illness, churn >= 12, !(12..24).contains(&churn))
    });
    prop::collection::vec(person, 8..=28)
}

fn given(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

/// The table of some people, and where each of them was before.
fn table(people: &[&Person], past: Option<(Vec<PastGroup>, Vec<u32>)>) -> Table {
    let texts: Vec<String> = (0..24).map(|age: u32| age.to_string()).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let (ages, code) =
        encode("age", &Rule::Intervals(Intervals::default()), None, &texts, &[]).expect("numbers");
    let illnesses: Vec<String> = (0..VALUES).map(|v| format!("illness {v}")).collect();
    let illnesses: Vec<&str> = illnesses.iter().map(String::as_str).collect();
    let (illness, leaf) = encode("illness", &Rule::Flat, None, &illnesses, &[]).expect("texts");
    let records = vec![
        people.iter().map(|p| code[p.0 as usize]).collect(),
        people.iter().map(|p| leaf[p.1 as usize]).collect(),
    ];
    let (quasi, sensitive) =
        (vec![Attribute::new("age", ages)], vec![Attribute::new("illness", illness)]);
    match past {
        Some((groups, of)) => Table::collapse_with_past(quasi, sensitive, records, groups, of).0,
        None => Table::collapse(quasi, sensitive, records).0,
    }
}

/// The class of every person, what each class shows, and the number of notes.
type Publication = (Vec<u32>, Vec<Vec<(u32, u64)>>, usize);

/// What `mondrian` makes of a table under 2-anonymity.
/// People who are alike in everything take the places of their row in turn.
fn publish(table: &Table, rows: &[u32], keep: &str) -> Option<Publication> {
    let entry = MODELS.iter().find(|e| e.name == "k-anonymity").expect("is in the catalogue");
    let parameters =
        Parameters::read(entry.name, entry.parameters, &given(&[("k", "2")])).expect("a count");
    let model = (entry.build)(&parameters).expect("k = 2");
    let requirement = Requirement {
        name: entry.name,
        parameters,
        model,
        attribute: None,
        on: None,
        register: None,
    };
    let entry = ALGORITHMS.iter().find(|e| e.name == "mondrian").expect("is in the catalogue");
    let parameters =
        Parameters::read(entry.name, entry.parameters, &given(&[("keep", keep)])).expect("a word");
    let algorithm = (entry.build)(&parameters).expect("fits");
    let Outcome::Made(made) = make(table, &*algorithm, &[requirement], 1, &|_, _| true) else {
        return None;
    };
    let Form::Generalized(form) = &made.form else { panic!("it generalizes") };
    let mut class_of_row = vec![0; table.rows()];
    for (class, members) in (0u32..).zip(&form.classes) {
        members.members.iter().for_each(|m| class_of_row[m.row as usize] = class);
    }
    let classes = made.release.classes.iter().map(|c| c.histograms[0].0.clone()).collect();
    Some((rows.iter().map(|&row| class_of_row[row as usize]).collect(), classes, form.notes.len()))
}

/// The row of everybody: strict `mondrian` never divides a row.
fn rows(table: &Table, people: &[&Person], of: Option<&[u32]>) -> Vec<u32> {
    let find = |(i, p): (usize, &&Person)| {
        let past = |row: usize| table.past.as_ref().map_or(0, |past| past.of_row[row]);
        let same = |row: &usize| {
            table.quasi[0].taxonomy.leaf(table.quasi_codes[0][*row]) == p.0.to_string()
                && table.sensitive[0].taxonomy.leaf(table.sensitive_codes[0][*row])
                    == format!("illness {}", p.1)
                && of.is_none_or(|of| past(*row) == of[i])
        };
        (0..table.rows()).find(same).expect("everybody has a row") as u32
    };
    people.iter().enumerate().map(find).collect()
}

fn remembered(
    name: &str,
    all: &[Person],
    there: &[usize],
    class: &[u32],
    classes: Vec<Vec<(u32, u64)>>,
) -> Remembered {
    let mut place = vec![0; all.len()];
    there.iter().zip(class).for_each(|(&person, &class)| place[person] = class + 1);
    Remembered {
        name: name.into(),
        recipients: Vec::new(),
        labels: (0..classes.len()).map(|c| format!("class {c}")).collect(),
        spots: (0..classes.len() as u32).map(Located::at).collect(),
        groups: classes,
        place,
        strangers: Vec::new(),
        newly: Vec::new(),
        versions: Vec::new(),
        response: None,
    }
}

/// Whether the gate lets the second pass; `alone` says whether what it tells alone counts.
fn passes(all: &[Person], first: &Remembered, second: &Remembered, alone: bool) -> bool {
    let memory = Memory {
        rows: None,
        unprotected: false,
        notes: Vec::new(),
        attribute: "illness".into(),
        values: (0..VALUES).map(|v| v.to_string()).collect(),
        releases: vec![first.clone(), second.clone()],
        people: all.len(),
        judged: None,
        name: Box::new(|p| p.to_string()),
    };
    let gate = Gate { written: alone, ..Gate::default() };
    judge(&memory, &gate, None, &|_, _| true)
        .expect("true releases")
        .iter()
        .all(|seen| seen.holds())
}

/// Nobody becomes certain by the new release, unless it says that every release does that; and what
/// it says is so where one class of everybody is refused too.
#[test]
fn kept_groups_pass_the_gate_while_people_come_and_leave() {
    let (cut, refused) = (Cell::new(0), Cell::new(0));
    let law = |all: Vec<Person>| {
        let there = |which: fn(&Person) -> bool| -> Vec<usize> {
            (0..all.len()).filter(|&i| which(&all[i])).collect()
        };
        let (before, now) = (there(|p| p.2), there(|p| p.3));
        prop_assume!(before.len() >= 4 && now.len() >= 4 && before != now);
        let of = |some: &[usize]| -> Vec<&Person> { some.iter().map(|&i| &all[i]).collect() };
        let table_before = table(&of(&before), None);
        let rows_before = rows(&table_before, &of(&before), None);
        let Some((class_before, classes_before, _)) =
            publish(&table_before, &rows_before, "nothing")
        else {
            return Ok(());
        };
        let group = |values: &Vec<(u32, u64)>| PastGroup {
            values: values.clone(),
            counterfeits: 0,
            newest: true,
        };
        let groups: Vec<PastGroup> = classes_before.iter().map(group).collect();
        let was =
            |i: &usize| before.iter().position(|b| b == i).map_or(0, |at| class_before[at] + 1);
        let past: Vec<u32> = now.iter().map(was).collect();
        let table_now = table(&of(&now), Some((groups, past.clone())));
        let rows_now = rows(&table_now, &of(&now), Some(&past));
        let Some((class_now, classes_now, notes)) = publish(&table_now, &rows_now, "groups") else {
            return Ok(());
        };
        let mut total: BTreeMap<u32, u64> = BTreeMap::new();
        classes_now.iter().flatten().for_each(|&(value, n)| *total.entry(value).or_default() += n);
        let number = classes_now.len();
        let first = remembered("first", &all, &before, &class_before, classes_before);
        let second = remembered("second", &all, &now, &class_now, classes_now);
        let passed = passes(&all, &first, &second, false);
        prop_assert!(
            passed || notes > 0,
            "{} classes expose somebody, and nothing was said",
            number
        );
        let one = vec![total.into_iter().collect()];
        let one = remembered("whole", &all, &now, &vec![0; now.len()], one);
        let whole = passes(&all, &first, &one, false);
        let tells_more = !passes(&all, &first, &second, true) || passes(&all, &first, &one, true);
        prop_assert!(tells_more, "every release tells at least the totals");
        prop_assert!(whole || notes > 0, "even one class exposes somebody, and nothing was said");
        cut.set(cut.get() + u32::from(passed && number > 1));
        refused.set(refused.get() + u32::from(!whole));
        Ok(())
    };
    let config = ProptestConfig { max_global_rejects: 20_000, ..ProptestConfig::with_cases(120) };
    TestRunner::new(config).run(&people(), law).unwrap_or_else(|e| panic!("{e}"));
    assert!(
        cut.get() > 3 && refused.get() > 3,
        "{} cut and {} impossible",
        cut.get(),
        refused.get()
    );
}
