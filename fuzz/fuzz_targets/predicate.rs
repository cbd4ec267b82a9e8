//! Any text is an expression that judges a class, or a problem with its place; never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use scumble::catalogue::{MODELS, Parameters};
use scumble::class::{EquivalenceClass, Histogram};
use scumble::encode::encode;
use scumble::model::Context;
use scumble::release::Shape;
use scumble::table::{Attribute, Distribution};
use scumble::taxonomy::Rule;
use std::collections::BTreeMap;

fuzz_target!(|text: &str| {
    let entry = MODELS.iter().find(|e| e.name == "predicate").expect("is in the catalogue");
    let given = BTreeMap::from([("expression".to_owned(), text.to_owned())]);
    let parameters = Parameters::read(entry.name, entry.parameters, &given).expect("any text is a text");
    match (entry.build)(&parameters) {
        Ok(model) => {
            let (taxonomy, _) = encode("s", &Rule::Flat, None, &["HIV", "a", "b"], &[]).expect("three values");
            let sensitive = [Attribute::new("s", taxonomy)];
            let distributions = [Distribution::new(sensitive[0].taxonomy.clone(), vec![3, 4, 1])];
            let (quasi, attribute, population, shape) = (&[][..], 0, None, Shape::Regions);
            let cx = Context { quasi, sensitive: &sensitive, distributions: &distributions, attribute, population, shape, on: None };
            let histograms = vec![Histogram::dense(&[1, 2])];
            let class = EquivalenceClass { region: Vec::new(), count: 3, histograms };
            assert_eq!(model.judge(&cx, &class), model.judge(&cx, &class));
        }
        Err(problem) => assert!(problem.message.contains("character ")),
    }
});
