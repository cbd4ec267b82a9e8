//! Random specs, valid and not: every key, with values of the right and of surprising forms.
//!
//! Strategies are boxed: as one type they would not fit on the stack of an unoptimised test.

use proptest::collection::{hash_map, vec};
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;
use scumble::catalogue::{ALGORITHMS, MODELS, PERTURBATIONS};
use scumble::gate::Panelist;
use scumble::policy::spec::*;
use scumble::policy::{Difference, PolicySpec};
use scumble::table::Role;
use scumble::taxonomy::Granularity;

/// Texts that need quotes, escapes, or none.
fn text() -> BoxedStrategy<String> {
    prop_oneof![
        4 => "[a-z]{1,6}",
        1 => "[ -~]{0,8}",
        1 => select(vec!["", "5", "true", "a.b", "é\n", "\"", "'", "\\", "#", "1/3", "\u{7f}"])
            .prop_map(str::to_owned),
    ]
    .boxed()
}

pub fn number() -> BoxedStrategy<Number> {
    prop_oneof![
        4 => (0i64..30).prop_map(Number::Whole),
        1 => any::<i64>().prop_map(Number::Whole),
        2 => (1u32..1000).prop_map(|n| Number::Decimal(f64::from(n) / 1000.0)),
        1 => any::<f64>().prop_filter("finite", |x| x.is_finite()).prop_map(Number::Decimal),
        1 => select(vec!["1/3", "0.20", "1e-9", "exact", "+5"]).prop_map(Number::read),
    ]
    .boxed()
}

pub fn setting() -> BoxedStrategy<Setting> {
    let leaf = prop_oneof![
        4 => number().prop_map(Setting::from),
        2 => text().prop_map(Setting::Text),
        1 => any::<bool>().prop_map(Setting::Flag),
    ];
    leaf.prop_recursive(2, 6, 3, |inner| vec(inner, 0..3).prop_map(Setting::List)).boxed()
}

/// A map with keys in random order.
fn map<V: std::fmt::Debug + 'static>(
    key: impl Strategy<Value = String> + 'static,
    value: impl Strategy<Value = V> + 'static,
) -> BoxedStrategy<indexmap::IndexMap<String, V>> {
    hash_map(key, value, 0..4).prop_map(|m| m.into_iter().collect()).boxed()
}

fn known<T: Clone + std::fmt::Debug + 'static>(
    all: &[(&'static str, T)],
) -> impl Strategy<Value = T> + use<T> {
    select(all.iter().map(|(_, value)| value.clone()).collect::<Vec<T>>())
}

fn nested() -> BoxedStrategy<NestedSpec> {
    let leaf = prop_oneof![text().prop_map(Setting::Text), number().prop_map(Setting::from)];
    leaf.prop_map(NestedSpec::Leaf)
        .prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                vec(inner.clone(), 0..3).prop_map(NestedSpec::List),
                map(text(), inner).prop_map(NestedSpec::Nodes),
            ]
        })
        .boxed()
}

fn taxonomy() -> BoxedStrategy<TaxonomySpec> {
    let file = (text(), of(any::<bool>()), of(any::<bool>()));
    let bounds = (of(number()), of(number()), of(number())).boxed();
    let widths = prop_oneof![
        vec(number(), 0..3),
        Just(vec![Number::Whole(5), Number::Whole(10)]),
        Just(vec![Number::read("0.10"), Number::read("0.5")]),
    ];
    let lengths = prop_oneof![
        Just(PrefixSpec::Every(True)),
        vec(number(), 0..3).prop_map(PrefixSpec::Lengths),
        Just(PrefixSpec::Lengths(vec![3.into(), 1.into()])),
    ];
    prop_oneof![
        file.prop_map(|(file, ordered, public)| TaxonomySpec::File { file, ordered, public }),
        (widths, bounds.clone()).prop_map(|(intervals, (low, high, unit))| {
            TaxonomySpec::Intervals { intervals, low, high, unit }
        }),
        bounds.prop_map(|(low, high, unit)| TaxonomySpec::Number { number: True, low, high, unit }),
        vec(known(&Granularity::ALL), 0..3).prop_map(TaxonomySpec::dates),
        (lengths, of(number()))
            .prop_map(|(prefix, length)| TaxonomySpec::Prefix { prefix, length }),
        Just(TaxonomySpec::flat()),
        nested().prop_map(|nested| TaxonomySpec::Nested { nested }),
    ]
    .boxed()
}

pub fn attribute() -> BoxedStrategy<AttributeSpec> {
    let perturbation = select(PERTURBATIONS.iter().map(|m| m.name.to_owned()).collect::<Vec<_>>());
    let sensitivity = prop_oneof![
        Just(SensitivitySpec::Aggregate),
        Just(SensitivitySpec::NonAggregate),
        map(text(), number()).prop_map(SensitivitySpec::Given),
    ];
    let beliefs = (number(), map(text(), number()), of(number()));
    let observability = prop_oneof![
        Just(ObservabilitySpec::Sensitivity),
        beliefs.prop_map(|(belief, beliefs, alpha)| {
            ObservabilitySpec::Believed(BeliefSpec { belief, beliefs, alpha })
        }),
    ];
    let usual = (known(&Role::ALL), of(taxonomy()))
        .prop_map(|(role, taxonomy)| AttributeSpec { taxonomy, ..AttributeSpec::new(role) })
        .boxed();
    let more = (
        of(any::<bool>()),
        of(number()),
        map(perturbation, setting()),
        of(vec(text(), 0..3)),
        of(sensitivity),
        of(observability),
    );
    prop_oneof![
        3 => usual.clone(),
        1 => (usual, more).prop_map(
            |(usual, (person, weight, perturb, guarding, sensitivity, observability))| {
                AttributeSpec {
                    person, weight, perturb, guarding, sensitivity, observability, ..usual
                }
            }
        ),
    ]
    .boxed()
}

/// A method of the catalogue or another, with parameters of its own and others.
fn method(
    catalogue: Vec<(String, Vec<String>)>,
) -> impl Strategy<Value = (String, indexmap::IndexMap<String, Setting>)> {
    select(catalogue).prop_flat_map(|(name, parameters)| {
        let known = if parameters.is_empty() { vec!["k".to_owned()] } else { parameters };
        (Just(name), map(prop_oneof![4 => select(known), 1 => "p[a-z]{0,3}"], setting()))
    })
}

fn catalogue<T>(entries: &[scumble::catalogue::Entry<T>]) -> Vec<(String, Vec<String>)> {
    let names = |e: &scumble::catalogue::Entry<T>| {
        (e.name.to_owned(), e.parameters.iter().map(|p| p.name.to_owned()).collect())
    };
    entries.iter().map(names).collect()
}

pub fn model() -> BoxedStrategy<ModelSpec> {
    let about = (of(text()), of(vec(text(), 0..3)));
    (method(catalogue(MODELS)), about)
        .prop_map(|((name, parameters), (attribute, on))| ModelSpec {
            name,
            attribute,
            on,
            parameters,
        })
        .boxed()
}

fn algorithm() -> BoxedStrategy<AlgorithmSpec> {
    (method(catalogue(ALGORITHMS)), of(number()))
        .prop_map(|((name, parameters), seconds)| AlgorithmSpec { name, seconds, parameters })
        .boxed()
}

fn gate() -> BoxedStrategy<GateSpec> {
    let numbers = (of(number()), of(number()), of(number()), of(number()), of(number()));
    let flags = (of(any::<bool>()), of(any::<bool>()), of(number()));
    let others = (of(map("[0-9]{1,3}", number())), of(vec(known(&Panelist::ALL), 0..3)));
    (numbers, flags, others)
        .prop_map(|(numbers, flags, (pvp, panel))| GateSpec {
            certain: numbers.0,
            candidates: numbers.1,
            posterior: numbers.2,
            response_epsilon: numbers.3,
            coalitions: numbers.4,
            everybody: flags.0,
            remedies: flags.1,
            seconds: flags.2,
            pvp,
            panel,
        })
        .boxed()
}

fn history() -> BoxedStrategy<HistorySpec> {
    (map(text(), text()), map(text(), map(text(), text())), vec(known(&Difference::ALL), 0..3))
        .prop_map(|(columns, values, meant)| HistorySpec { columns, values, meant })
        .boxed()
}

fn noise() -> BoxedStrategy<Option<NoiseSpec>> {
    of(select(vec![NoiseSpec::Laplace, NoiseSpec::Gaussian])).boxed()
}

fn queries() -> BoxedStrategy<QueriesSpec> {
    fn limit() -> BoxedStrategy<Option<LimitSpec>> {
        of((number(), of(number())).prop_map(|(epsilon, delta)| LimitSpec { epsilon, delta }))
            .boxed()
    }
    let question = (text(), of(number()), of(number()), noise()).prop_map(
        |(sql, epsilon, delta, mechanism)| QuestionSpec { sql, epsilon, delta, mechanism },
    );
    let column = (of(vec(number(), 0..3)), of(number()), of(vec(text(), 0..3)))
        .prop_map(|(bounds, unit, keys)| ColumnSpec { bounds, unit, keys });
    let columns = (vec(text(), 0..3), vec(vec(text(), 0..3), 0..2), map(text(), number()));
    let price = (number(), of(number()), noise(), text());
    let synthetic =
        (columns, price).prop_map(|((columns, pairs, widths), (epsilon, delta, mechanism, to))| {
            SyntheticSpec { columns, pairs, widths, epsilon, delta, mechanism, to }
        });
    let names = (of(text()), of(text()), of(number()));
    (names, limit(), limit(), vec(question, 0..3), map(text(), column), of(synthetic))
        .prop_map(|((table, person, rows_per_person), budget, each, ask, columns, synthetic)| {
            QueriesSpec { table, person, rows_per_person, budget, each, ask, columns, synthetic }
        })
        .boxed()
}

fn source() -> BoxedStrategy<SourceSpec> {
    let database = (of(text()), of(text()), of(text()), of(text())).prop_map(
        |(postgres, sqlite, table, query)| DatabaseSpec { postgres, sqlite, table, query },
    );
    prop_oneof![
        3 => text().prop_map(SourceSpec::File),
        1 => database.prop_map(SourceSpec::Database),
    ]
    .boxed()
}

pub fn spec() -> BoxedStrategy<PolicySpec> {
    let ledger =
        prop_oneof![any::<bool>().prop_map(LedgerSpec::Kept), text().prop_map(LedgerSpec::At)];
    let files = (of(text()), of(source()), of(text()), of(text()), of(ledger));
    let reading = (vec(text(), 0..3), of(text()), of(text()), of(vec(text(), 0..3)));
    let method = (map(text(), attribute()), vec(model(), 0..3), of(algorithm()));
    let release = (text(), of(select(vec!["csv".to_owned(), "parquet".to_owned()])))
        .prop_map(|(to, format)| ReleaseSpec { to, format });
    let sections = (of(gate()), of(history()), of(queries()), of(release));
    (files, reading, method, sections)
        .prop_map(|(files, reading, method, sections)| {
            let (publisher, source, key, head, ledger) = files;
            let (recipients, delimiter, quote, missing) = reading;
            let (attributes, models, algorithm) = method;
            let (gate, history, queries, release) = sections;
            PolicySpec {
                publisher,
                source,
                recipients,
                delimiter,
                quote,
                missing,
                ledger,
                key,
                head,
                attributes,
                models,
                algorithm,
                gate,
                history,
                queries,
                release,
            }
        })
        .boxed()
}
