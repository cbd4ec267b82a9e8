//! Releases and registers made by hand.

use scumble::attack::{Report, Scene, on_releases};
use scumble::catalogue::Parameters;
use scumble::class::{EquivalenceClass, Histogram, Run};
use scumble::register::{Register, RegisterColumn};
use scumble::release::{Release, Shape};
use scumble::table::Attribute;
use scumble::taxonomy::{Rule, Taxonomy};
use std::collections::BTreeMap;

/// Region and sensitive values of a class.
pub type Class<'a> = (&'a [(u32, u32)], &'a [(&'a str, u64)]);

/// A release of quasi-identifiers on the numbers 0, 1, … and a sensitive attribute `s`.
pub fn release(quasi: &[(&str, u32)], classes: &[Class<'_>]) -> Release {
    let number = |&(name, size): &(&str, u32)| {
        let values: Vec<String> = (0..size).map(|v| v.to_string()).collect();
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        let rule = Rule::Intervals(scumble::taxonomy::Intervals::default());
        Attribute::new(name, Taxonomy::generate(&rule, name, &values, false).expect("numbers"))
    };
    let mut values: Vec<&str> =
        classes.iter().flat_map(|(_, h)| h.iter().map(|(v, _)| *v)).collect();
    values.sort_unstable();
    values.dedup();
    let taxonomy = Taxonomy::generate(&Rule::Flat, "s", &values, false).expect("words");
    let class = |(region, histogram): &Class<'_>| EquivalenceClass {
        region: region.iter().map(|&(a, b)| Run::new(a, b)).collect(),
        count: histogram.iter().map(|(_, n)| n).sum(),
        histograms: vec![Histogram::of(
            histogram.iter().map(|&(v, n)| (taxonomy.find(v).expect("a value"), n)),
        )],
    };
    let classes = classes.iter().map(class).collect();
    let sensitive = vec![Attribute::new("s", taxonomy)];
    let quasi = quasi.iter().map(number).collect();
    Release {
        quasi,
        sensitive,
        classes,
        suppressed: 0,
        shape: Shape::Regions,
        records_by_group: Vec::new(),
        counterfeits: Vec::new(),
        counted: None,
    }
}

/// A register of people with these numbers.
pub fn crowd<const N: usize>(names: &[&str; N], people: &[[u32; N]]) -> Register {
    let column = |(i, name): (usize, &&str)| RegisterColumn {
        name: (*name).into(),
        texts: (0..200).map(|v| v.to_string()).collect(),
        codes: people.iter().map(|p| p[i]).collect(),
    };
    Register::new(names.iter().enumerate().map(column).collect()).expect("a register")
}

/// An attack with its default parameters.
pub fn run(name: &str, scene: &Scene) -> Report {
    let entry = on_releases().find(|e| e.name == name).expect("an attack");
    let parameters = Parameters::read(name, entry.parameters, &BTreeMap::new()).expect("defaults");
    (entry.build)(&parameters).expect("an attack").run(scene, &|_, _| true).expect("a report")
}

/// A figure of a report.
pub fn figure(report: &Report, name: &str) -> f64 {
    report
        .figures
        .iter()
        .find(|f| f.name == name)
        .unwrap_or_else(|| panic!("no figure {name}"))
        .value
}
