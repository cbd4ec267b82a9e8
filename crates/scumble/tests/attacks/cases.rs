//! Small releases, and how they are attacked.

use rand::{Rng, RngExt};
use scumble::attack::{Attack, Knowledge, Membership, Report, Scene, on_releases};
use scumble::catalogue::Parameters;
use scumble::class::{EquivalenceClass, Histogram, Run};
use scumble::encode::encode;
use scumble::register::{Register, RegisterColumn};
use scumble::release::{GroupedRecords, Release, Shape};
use scumble::table::Attribute;
use scumble::taxonomy::Rule;

/// Somebody in a group, with the quasi-identifiers a and b.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Person {
    pub group: u32,
    pub a: u32,
    pub b: u32,
    pub value: u32,
}

/// A few people in groups; every group has somebody.
pub fn people(rng: &mut impl Rng, groups: u32, size: u32, values: u32) -> Vec<Person> {
    let mut people = Vec::new();
    for group in 0..groups {
        for _ in 0..rng.random_range(1..=size) {
            let (a, b) = (rng.random_range(0..2), rng.random_range(0..3));
            people.push(Person { group, a, b, value: rng.random_range(0..values) });
        }
    }
    people
}

/// An attribute with the values 0 to 9.
fn attribute(name: &str) -> Attribute {
    let values: Vec<String> = (0..10).map(|n| n.to_string()).collect();
    let values: Vec<&str> = values.iter().map(String::as_str).collect();
    let (taxonomy, leaves) = encode(name, &Rule::Flat, None, &values, &[]).expect("flat");
    assert!(leaves.into_iter().eq(0..10));
    Attribute::new(name, taxonomy)
}

fn histogram(people: &[Person], group: u32) -> Histogram {
    Histogram::of(people.iter().filter(|p| p.group == group).map(|p| (p.value, 1)))
}

/// Classes that show the group, and nothing of a and b.
pub fn generalized(people: &[Person]) -> Release {
    let quasi = vec![attribute("group"), attribute("a"), attribute("b")];
    let root = quasi[1].taxonomy.root();
    let groups = people.iter().map(|p| p.group).max().map_or(0, |most| most + 1);
    let class = |group: u32| {
        let histogram = histogram(people, group);
        let region = vec![Run::new(group, group), root, root];
        EquivalenceClass { region, count: histogram.total(), histograms: vec![histogram] }
    };
    Release {
        quasi,
        sensitive: vec![attribute("s")],
        classes: (0..groups).map(class).collect(),
        suppressed: 0,
        shape: Shape::Regions,
        records_by_group: Vec::new(),
        counterfeits: Vec::new(),
        counted: None,
    }
}

/// Groups that show a and b of everybody.
pub fn anatomized(people: &[Person]) -> Release {
    let generalized = generalized(people);
    let record = |p: &Person| GroupedRecords { group: p.group, codes: [p.a, p.b].into(), count: 1 };
    let root = generalized.quasi[1].taxonomy.root();
    let class = |c: EquivalenceClass| EquivalenceClass { region: vec![root, root], ..c };
    Release {
        quasi: generalized.quasi[1..].to_vec(),
        classes: generalized.classes.into_iter().map(class).collect(),
        shape: Shape::Groups,
        records_by_group: GroupedRecords::collapse(people.iter().map(record).collect()),
        counterfeits: Vec::new(),
        ..generalized
    }
}

/// A column of numbers.
pub fn column(name: &str, numbers: impl Iterator<Item = u32>) -> RegisterColumn {
    let texts = (0..10).map(|n| n.to_string()).collect();
    RegisterColumn { name: name.into(), texts, codes: numbers.collect() }
}

/// The people with their group, a and b.
pub fn register(people: &[Person]) -> Register {
    let columns = vec![
        column("group", people.iter().map(|p| p.group)),
        column("a", people.iter().map(|p| p.a)),
        column("b", people.iter().map(|p| p.b)),
    ];
    Register { columns, weights: Vec::new() }
}

/// What is before an adversary who knows these people, who are in the release.
pub fn scene(release: Release, register: Option<&Register>) -> Scene {
    let knowledge = register.map(|register| Knowledge {
        register,
        membership: Membership::Members,
        told: Vec::new(),
        apart: None,
    });
    Scene::new(vec![("r".into(), release)], None, knowledge.as_ref(), 7).expect("a scene")
}

pub fn attack(name: &str, given: &[(&str, &str)]) -> Box<dyn Attack> {
    let entry = on_releases().find(|e| e.name == name).expect("is in the catalogue");
    let given = given.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
    let parameters = Parameters::read(name, entry.parameters, &given).expect("right");
    (entry.build)(&parameters).expect("possible")
}

pub fn run(name: &str, given: &[(&str, &str)], scene: &Scene) -> Report {
    attack(name, given).run(scene, &|_, _| true).unwrap_or_else(|problem| panic!("{problem}"))
}

pub fn figure(report: &Report, name: &str) -> f64 {
    report.figures.iter().find(|f| f.name == name).unwrap_or_else(|| panic!("no {name}")).value
}

/// What is believed of a row of the register, by value; zeros where nothing is.
pub fn believed(scene: &Scene, report: &Report, row: usize) -> [f64; 10] {
    let crowd = report.crowd(scene).expect("people");
    let mut believed = [0.0; 10];
    for &(value, p) in report.beliefs.as_ref().expect("beliefs").of(crowd.kind_of[row] as usize) {
        believed[value as usize] = p;
    }
    believed
}

/// All orders of these values, without repetitions.
pub fn orders(mut values: Vec<u32>) -> Vec<Vec<u32>> {
    values.sort_unstable();
    if values.is_empty() {
        return vec![Vec::new()];
    }
    let mut orders = Vec::new();
    for i in (0..values.len()).filter(|&i| i == 0 || values[i] != values[i - 1]) {
        let mut rest = values.clone();
        let first = rest.remove(i);
        orders.extend(self::orders(rest).into_iter().map(|rest| [&[first][..], &rest].concat()));
    }
    orders
}

/// Whether two numbers are equal but for rounding.
pub fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-12
}
