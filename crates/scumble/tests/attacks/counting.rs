//! What an attack comes to depends on who is in a register, not on the order of its rows or on
//! whether equal rows are counted.

use super::cases::{Person, anatomized, generalized, people, register, scene};
use hashbrown::HashMap;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use scumble::attack::{Figure, on_releases, score};
use scumble::catalogue::Parameters;
use scumble::register::Register;
use scumble::release::Release;

/// The figures of every attack that is possible, with how right they are.
fn figures(
    release: &Release,
    register: &Register,
    values: &[u32],
) -> Vec<(&'static str, Vec<Figure>)> {
    let scene = scene(release.clone(), Some(register));
    let truth: Vec<Option<u32>> = values.iter().map(|&v| Some(v)).collect();
    let figures = |entry: &scumble::catalogue::Entry<_>| {
        let parameters =
            Parameters::read(entry.name, entry.parameters, &Default::default()).ok()?;
        let attack: Box<dyn scumble::attack::Attack> = (entry.build)(&parameters).ok()?;
        let report = attack.run(&scene, &|_, _| true).ok()?;
        let scored =
            report.crowd(&scene).zip(report.beliefs.as_ref()).map(|(c, b)| score(c, b, &truth));
        Some((entry.name, [report.figures.clone(), scored.unwrap_or_default()].concat()))
    };
    on_releases().filter_map(figures).collect()
}

/// The distinct people, in an order of their own, with how often they are there.
fn counted(people: &[Person]) -> (Vec<Person>, Vec<u64>) {
    let mut numbers: HashMap<[u32; 4], u64> = HashMap::new();
    people.iter().for_each(|p| *numbers.entry([p.group, p.a, p.b, p.value]).or_default() += 1);
    let mut all: Vec<([u32; 4], u64)> = numbers.into_iter().collect();
    all.sort_unstable_by(|x, y| y.cmp(x));
    all.into_iter().map(|([group, a, b, value], n)| (Person { group, a, b, value }, n)).unzip()
}

#[test]
fn the_order_of_rows_and_counting_change_no_figure() {
    let values = |people: &[Person]| people.iter().map(|p| p.value).collect::<Vec<u32>>();
    for seed in 0..20 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut people = people(&mut rng, 5, 12, 4);
        for release in [generalized(&people), anatomized(&people)] {
            let before = figures(&release, &register(&people), &values(&people));
            assert!(before.len() >= 4, "{before:?}");
            people.shuffle(&mut rng);
            assert_eq!(
                before,
                figures(&release, &register(&people), &values(&people)),
                "seed {seed}"
            );
            let (rows, weights) = counted(&people);
            let register = Register { weights, ..register(&rows) };
            assert_eq!(before, figures(&release, &register, &values(&rows)), "seed {seed}");
        }
    }
}
