//! Questions: what they measure, what they cost, and what is refused.

use proptest::prelude::*;
use scumble::dp::accountant::Spend;
use scumble::dp::query::*;
use scumble::dp::sql::parse;
use scumble::exact::Fraction;
use scumble::policy::Queries;

const POLICY: &str = r#"
source = "data/people.csv"
[attributes]
id = { role = "identifier", person = true }
[queries]
budget = { epsilon = 1, delta = 1e-6 }
rows_per_person = 2
[queries.columns]
age = { bounds = [0, 120] }
cost = { bounds = [-10, 50.5], unit = 0.5 }
sex = { keys = ["F", "M"] }
"#;

fn queries() -> Queries {
    Queries::parse("policy.toml", POLICY).unwrap()
}

fn columns() -> Vec<String> {
    ["id", "age", "cost", "sex", "job"].map(str::to_owned).to_vec()
}

fn price(epsilon: &str, delta: &str, noise: NoiseKind) -> Price {
    Price {
        epsilon: Fraction::parse(epsilon).unwrap(),
        delta: Fraction::parse(delta).unwrap(),
        noise,
    }
}

fn plan(sql: &str, price: &Price) -> Result<Plan, String> {
    let queries = queries();
    let question = parse(sql, &queries, &columns()).map_err(|p| p.to_string())?;
    question.plan(price, &queries).map_err(|p| p.to_string())
}

fn sum(spends: &[Spend]) -> Fraction {
    spends.iter().fold(Fraction::whole(0), |a, s| a.plus(&s.epsilon()))
}

#[test]
fn the_price_is_divided_among_what_is_measured() {
    let laplace = price("0.6", "0", NoiseKind::Laplace);
    for (sql, measures) in [
        ("SELECT COUNT(*) FROM people", 1),
        ("select count(*) from PEOPLE where age >= 18 and sex <> 'M';", 1),
        ("SELECT sex, COUNT(*), COUNT(id), COUNT(DISTINCT id) FROM people GROUP BY sex", 3),
        ("SELECT AVG(age) FROM people", 2),
        ("SELECT AVG(age), MEAN(age), VARIANCE(age), STDDEV(age) FROM people", 3),
        ("SELECT SUM(cost) AS total, MEDIAN(age), QUANTILE(age, 0.9) FROM people", 3),
        ("SELECT HISTOGRAM(age, 10) FROM people WHERE NOT (job IS NULL OR age BETWEEN 3 AND 4)", 1),
        ("SELECT HISTOGRAM(sex) FROM people", 1),
    ] {
        let plan = plan(sql, &laplace).unwrap_or_else(|e| panic!("{sql}: {e}"));
        assert_eq!(plan.question.measures.len(), measures, "{sql}");
        assert_eq!(sum(&plan.spends()), laplace.epsilon, "{sql}");
    }
}

#[test]
fn sensitivities_are_those_of_a_person() {
    let plan = plan(
        "SELECT sex, COUNT(*), SUM(cost), AVG(age), VARIANCE(age), COUNT(DISTINCT id) FROM people GROUP BY sex",
        &price("1", "0", NoiseKind::Laplace),
    )
    .unwrap();
    let found: Vec<u64> = plan
        .question
        .measures
        .iter()
        .map(|m| u64::try_from(m.sensitivity(2, true)).unwrap())
        .collect();
    // Two rows per person; costs in halves up to 101; ages at most 60 from the middle, and 60².
    assert_eq!(found, [2, 202, 120, 2, 7200, 2]);
}

#[test]
fn unknown_keys_are_paid_with_delta_and_counted_first() {
    let price = price("1", "1e-7", NoiseKind::Laplace);
    let plan = plan("SELECT job, AVG(age), COUNT(*) FROM people GROUP BY job", &price).unwrap();
    assert_eq!(plan.question.measures[0], Measure::Count(None));
    assert_eq!(plan.question.items[2].1, Item::Count(0));
    assert_eq!(plan.question.items[1].1, Item::Mean(1, 2));
    assert_eq!(plan.spends()[0].delta(), price.delta);
    assert_eq!(sum(&plan.spends()), price.epsilon);
    assert!(plan.threshold.unwrap().least() > 30);
}

#[test]
fn what_has_no_sensitivity_is_refused_with_the_remedy() {
    let laplace = price("1", "0", NoiseKind::Laplace);
    for (sql, reason) in [
        ("SELECT * FROM people", "would show records"),
        ("SELECT age FROM people", "add it to GROUP BY"),
        ("SELECT AVG(salary) FROM people", "there is no column `salary`"),
        ("SELECT SUM(job) FROM people", "`job` has no bounds"),
        ("SELECT MAX(age) FROM people", "no known sensitivity"),
        ("SELECT COUNT(*) FROM others", "FROM people"),
        ("SELECT COUNT(*) FROM people, people", "FROM people"),
        ("SELECT COUNT(*) FROM people JOIN people ON age = age", "FROM people"),
        ("SELECT COUNT(*) FROM (SELECT * FROM people)", "FROM people"),
        ("SELECT COUNT(*) FROM people p", "FROM people"),
        ("SELECT COUNT(*) FROM people ORDER BY 1", "ORDER BY"),
        ("SELECT COUNT(*) FROM people LIMIT 1", "LIMIT 1"),
        ("SELECT DISTINCT COUNT(*) FROM people", "DISTINCT"),
        ("SELECT sex, COUNT(*) FROM people GROUP BY sex HAVING COUNT(*) > 1", "HAVING"),
        ("SELECT sex, COUNT(*) FROM people GROUP BY sex WITH ROLLUP", "ROLLUP"),
        ("SELECT COUNT(*) OVER () FROM people", "more than an aggregate"),
        ("SELECT COUNT(*) FILTER (WHERE age > 1) FROM people", "more than an aggregate"),
        ("SELECT COUNT(*) + 1 FROM people", "no aggregate of a column"),
        ("SELECT SUM(age * 2) FROM people", "is not a column"),
        ("SELECT COUNT(*) FROM people WHERE age IN (SELECT 1)", "no condition"),
        ("SELECT COUNT(*) FROM people WHERE age = cost", "no value"),
        ("SELECT COUNT(*) FROM people UNION SELECT COUNT(*) FROM people", "one SELECT"),
        ("WITH x AS (SELECT 1) SELECT COUNT(*) FROM people", "WITH x"),
        ("DELETE FROM people", "one SELECT"),
        ("SELECT COUNT(DISTINCT job) FROM people", "distinct values"),
        ("SELECT QUANTILE(age, 2) FROM people", "from 0 to 1"),
        ("SELECT job, COUNT(*) FROM people GROUP BY job", "not public"),
        ("SELECT HISTOGRAM(age, 10), COUNT(*) FROM people", "stands alone"),
        ("nonsense", "no SQL"),
    ] {
        let refused = plan(sql, &laplace).expect_err(sql);
        assert!(refused.contains(reason), "{sql}: {refused}");
    }
    let gaussian = price("1", "0", NoiseKind::Gaussian);
    assert!(plan("SELECT COUNT(*) FROM people", &gaussian).unwrap_err().contains("needs a δ"));
    let gaussian = price("1", "1e-6", NoiseKind::Gaussian);
    assert!(plan("SELECT MEDIAN(age) FROM people", &gaussian).unwrap_err().contains("quantile"));
    assert!(
        plan("SELECT job, COUNT(*) FROM people GROUP BY job", &gaussian)
            .unwrap_err()
            .contains("thresholds")
    );
    assert!(plan("SELECT COUNT(*) FROM people", &price("0", "0", NoiseKind::Laplace)).is_err());
}

#[test]
fn several_mistakes_are_told_together() {
    let refused = plan(
        "SELECT MAX(age), SUM(job) FROM people WHERE wage > 3",
        &price("1", "0", NoiseKind::Laplace),
    );
    let refused = refused.unwrap_err();
    for part in ["MAX", "`job`", "`wage`"] {
        assert!(refused.contains(part), "{refused}");
    }
}

#[test]
fn wrong_policies_are_told() {
    for (from, to, reason) in [
        ("epsilon = 1,", "", "has no `epsilon`"),
        ("epsilon = 1", "epsilon = -1", "at least 0"),
        ("delta = 1e-6", "delta = 1", "below 1"),
        ("[0, 120]", "[120, 0]", "end before they begin"),
        ("unit = 0.5", "unit = 3", "whole numbers of units"),
        ("unit = 0.5", "unit = 0", "above 0"),
        ("[\"F\", \"M\"]", "[\"F\", \"F\"]", "each once"),
        ("rows_per_person = 2", "rows_per_person = 0", "from 1 to"),
        ("rows_per_person = 2", "rowsperperson = 2", "did you mean `rows_per_person`"),
        ("[queries]\nbudget", "[queries]\nallowance", "`queries.budget` is missing"),
    ] {
        let text = POLICY.replace(from, to);
        assert_ne!(text, POLICY);
        let refused = Queries::parse("policy.toml", &text).expect_err(to).to_string();
        assert!(refused.contains(reason), "{to}: {refused}");
    }
}

/// SQL's three-valued logic by its truth tables.
fn naive(filter: &Filter, value: Option<&str>) -> Option<bool> {
    match filter {
        Filter::Test(test) => test.holds(value),
        Filter::Not(f) => naive(f, value).map(|b| !b),
        Filter::And(all) => {
            let each: Vec<_> = all.iter().map(|f| naive(f, value)).collect();
            if each.contains(&Some(false)) {
                Some(false)
            } else {
                each.into_iter().collect::<Option<Vec<_>>>().map(|_| true)
            }
        }
        Filter::Or(all) => {
            let each: Vec<_> = all.iter().map(|f| naive(f, value)).collect();
            if each.contains(&Some(true)) {
                Some(true)
            } else {
                each.into_iter().collect::<Option<Vec<_>>>().map(|_| false)
            }
        }
    }
}

proptest! {
    #[test]
    fn conditions_follow_three_valued_logic(
        text in "(NOT )?\\(?age (<|<=|=|<>|>|>=) -?[0-3](\\.5)?\\)? (AND|OR) (NOT )?(age IS NULL|age IN \\(1, 2\\)|age = '2'|age NOT BETWEEN 1 AND 2)",
        value in prop::option::of("(x|-?[0-3]|[0-3]\\.50)"),
    ) {
        let balanced = text.matches('(').count() == text.matches(')').count();
        prop_assume!(balanced);
        let question = parse(&format!("SELECT COUNT(*) FROM people WHERE {text}"), &queries(), &columns());
        prop_assume!(question.is_ok());
        let filter = question.unwrap().filter.unwrap();
        let tests: Vec<Option<bool>> = filter.tests().iter().map(|t| t.holds(value.as_deref())).collect();
        let mut next = tests.into_iter();
        prop_assert_eq!(filter.holds(&mut || next.next().flatten()), naive(&filter, value.as_deref()));
    }

    #[test]
    fn units_are_the_nearest_within_bounds(mantissa in -100_000i64..100_000, decimals in 0u32..4) {
        let scale = queries().columns["cost"].scale.unwrap();
        let text = format!("{mantissa}e-{decimals}");
        let value = mantissa as f64 / 10f64.powi(decimals as i32);
        let written = if decimals == 0 { mantissa.to_string() } else { format!("{value:.*}", decimals as usize) };
        let units = scale.units(&written).unwrap() as f64;
        let clamped = value.clamp(-10.0, 50.5);
        prop_assert!((units * 0.5 - clamped).abs() <= 0.25 + 1e-9, "{text} {units}");
        prop_assert_eq!(scale.units("abc"), None);
    }

    #[test]
    fn intervals_hold_the_estimate(noisy in prop::collection::vec(-500i64..5000, 3), confidence in 0.5f64..0.99) {
        let plan = plan("SELECT VARIANCE(age), AVG(age), STDDEV(age) FROM people", &price("1", "0", NoiseKind::Laplace)).unwrap();
        let noisy: Vec<dashu_int::IBig> = noisy.into_iter().map(Into::into).collect();
        for (_, item) in &plan.question.items {
            let estimate = plan.estimate(item, &noisy, confidence);
            let (low, high) = estimate.interval.unwrap();
            prop_assert!(low <= high);
            if let Some(value) = estimate.value {
                prop_assert!(low - 1e-9 <= value && value <= high + 1e-9, "{low} {value} {high}");
            }
        }
    }
}
