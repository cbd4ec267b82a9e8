//! Questions never panic, and what is understood has a price that adds up to what was asked.

#![no_main]

use libfuzzer_sys::fuzz_target;
use scumble::dp::query::{NoiseKind, Price};
use scumble::dp::sql::parse;
use scumble::exact::Fraction;
use scumble::policy::Queries;

const POLICY: &str = r#"
source = "people.csv"
[queries]
person = "id"
budget = { epsilon = 1, delta = 1e-6 }
[queries.columns]
age = { bounds = [0, 120] }
sex = { keys = ["F", "M"] }
"#;

fuzz_target!(|text: &str| {
    let Ok(queries) = Queries::parse("policy.toml", POLICY) else { return };
    let columns = ["id", "age", "sex", "job"].map(str::to_owned);
    let Ok(question) = parse(text, &queries, &columns) else { return };
    let price = Price { epsilon: Fraction::whole(1), delta: Fraction::new(1u8, 1000u16), noise: NoiseKind::Laplace };
    let Ok(plan) = question.plan(&price, &queries) else { return };
    let sum = plan.spends().iter().map(|s| s.epsilon()).fold(Fraction::whole(0), |a, e| a.plus(&e));
    assert_eq!(sum, Fraction::whole(1));
});
