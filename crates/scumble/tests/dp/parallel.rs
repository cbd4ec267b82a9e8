//! Questions about different people.

use proptest::prelude::*;
use scumble::dp::accountant::Spend;
use scumble::dp::parallel::{bill, disjoint};
use scumble::dp::query::{NoiseKind, Plan, Price, Question};
use scumble::dp::sql::parse;
use scumble::exact::Fraction;
use scumble::policy::Queries;

const POLICY: &str = "source = \"people.csv\"\n[queries]\ntable = \"people\"\nbudget = { epsilon = 9, delta = 1e-6 }\n\
                      [queries.columns]\nage = { bounds = [0, 9] }\n";

fn question(condition: &str) -> Question {
    let queries = Queries::parse("policy.toml", POLICY).expect("a policy");
    let columns = ["age", "job"].map(str::to_owned);
    let sql = format!("SELECT COUNT(*), AVG(age) FROM people WHERE {condition}");
    parse(&sql, &queries, &columns).unwrap_or_else(|e| panic!("{sql}: {e}"))
}

fn plan(condition: &str, epsilon: &str) -> Plan {
    let price = Price {
        epsilon: Fraction::parse(epsilon).expect("a number"),
        delta: Fraction::whole(0),
        noise: NoiseKind::Laplace,
    };
    question(condition)
        .plan(&price, &Queries::parse("policy.toml", POLICY).expect("a policy"))
        .expect("a plan")
}

#[test]
fn what_is_seen_to_be_apart() {
    for (a, b) in [
        ("job = 'a'", "job = 'b'"),
        ("job = 'a' AND age > 3", "age < 9 AND job IN ('b', 'c')"),
        ("age < 4", "age >= 4"),
        ("age <= 4", "age > 4.0"),
        ("age BETWEEN 1 AND 3", "age BETWEEN 3.5 AND 5"),
        ("age = 3", "age > 3"),
        ("age IN (1, 2)", "age IN (3, 4)"),
        ("age IS NULL", "age = 2"),
        ("job < 'm'", "job >= 'm'"),
    ] {
        assert!(
            disjoint(&question(a), &question(b)) && disjoint(&question(b), &question(a)),
            "{a} and {b}"
        );
    }
    for (a, b) in [
        ("job = 'a'", "age = 3"),
        ("job = 'a' OR age = 1", "job = 'b'"),
        ("NOT job = 'a'", "job = 'b'"),
        ("age <= 4", "age >= 4"),
        ("age = 3", "age = 3.0"),
        ("job = '3'", "job = 3"),
        ("job < '5'", "job > 4"),
    ] {
        assert!(
            !disjoint(&question(a), &question(b)) && !disjoint(&question(b), &question(a)),
            "{a} and {b}"
        );
    }
}

fn condition() -> impl Strategy<Value = String> {
    let literal = prop_oneof!["[0-4]", "[0-4]\\.5", "'[0-4]'", "'[0-4]\\.0'", "'[a-c]'"];
    let operator = prop::sample::select(vec!["=", "<>", "<", "<=", ">", ">="]);
    let column = prop::sample::select(vec!["age", "job"]);
    let compared =
        (column.clone(), operator, literal.clone()).prop_map(|(c, o, l)| format!("{c} {o} {l}"));
    let listed = (column.clone(), prop::collection::vec(literal, 1..3))
        .prop_map(|(c, l)| format!("{c} IN ({})", l.join(", ")));
    let missing = column.prop_map(|c| format!("{c} IS NULL"));
    let test = prop_oneof![4 => compared, 2 => listed, 1 => missing];
    prop::collection::vec((test, any::<bool>()), 1..3).prop_map(|all| {
        let one = |(test, not): (String, bool)| if not { format!("NOT ({test})") } else { test };
        all.into_iter().map(one).collect::<Vec<_>>().join(" AND ")
    })
}

/// Whether a row meets a question.
fn meets(question: &Question, row: &[Option<&str>; 2]) -> bool {
    let Some(filter) = &question.filter else { return true };
    let value = |name: &String| if name == "age" { row[0] } else { row[1] };
    let mut answers = filter
        .tests()
        .into_iter()
        .map(|t| t.holds(value(&question.columns[t.column])))
        .collect::<Vec<_>>()
        .into_iter();
    filter.holds(&mut || answers.next().flatten()) == Some(true)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]
    #[test]
    fn no_row_meets_both_of_what_is_called_disjoint(a in condition(), b in condition()) {
        let (a, b) = (question(&a), question(&b));
        if disjoint(&a, &b) {
            let values: Vec<Option<&str>> = [None].into_iter()
                .chain(["0", "1", "1.0", "1.5", "2", "2.0", "02", "2.5", "3", "3.0", "3.5", "4", "4.0", "5", "", "a", "b", "c", "d"].map(Some))
                .collect();
            for &age in &values {
                for &job in &values {
                    prop_assert!(!(meets(&a, &[age, job]) && meets(&b, &[age, job])), "{:?} {:?}", age, job);
                }
            }
        }
    }
}

#[test]
fn the_dearest_is_paid() {
    let plans = [
        plan("job = 'a'", "0.5"),
        plan("job = 'b'", "1"),
        plan("age < 5", "0.25"),
        plan("age >= 5", "0.25"),
    ];
    let sum =
        |spends: &[Spend]| spends.iter().fold(Fraction::whole(0), |a, s| a.plus(&s.epsilon()));
    let found = bill(&plans, true);
    assert_eq!(found.together, [vec![0, 1], vec![2, 3]]);
    assert_eq!(sum(&found.spends), Fraction::parse("1.25").expect("a number"));
    // Several rows of a person may meet different questions.
    let apart = bill(&plans, false);
    assert!(apart.together.is_empty());
    assert_eq!(sum(&apart.spends), Fraction::whole(2));
}
