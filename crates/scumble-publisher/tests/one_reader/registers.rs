//! Models that count the people of a register, where only a part of a taxonomy file is published:
//! what is certified is what is measured, and both are what the whole file says.

use super::{checked, publish, write};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use scumble::catalogue::ALGORITHMS;
use scumble_publisher::answer::{Model, Outcome};
use scumble_publisher::release::manifest;
use std::collections::BTreeMap;
use std::path::Path;

/// A value with its ancestors.
const PLACES: [[&str; 4]; 9] = [
    ["Kenya", "East", "Africa", "*"],
    ["Uganda", "East", "Africa", "*"],
    ["Mali", "West", "Africa", "*"],
    ["Ghana", "West", "Africa", "*"],
    ["Benin", "West", "Africa", "*"],
    ["Peru", "South", "America", "*"],
    ["Chile", "South", "America", "*"],
    ["Cuba", "Islands", "America", "*"],
    ["Fiji", "Pacific", "Oceania", "*"],
];

/// An extract of some of the places, and a register of all of them.
struct Case {
    extract: Vec<(usize, usize)>,
    register: Vec<(usize, usize, u64)>,
}

const SEXES: [&str; 2] = ["F", "M"];

impl Case {
    fn random(random: &mut ChaCha8Rng) -> Case {
        let places = random.random_range(2..=6);
        let extract: Vec<(usize, usize)> = (0..random.random_range(4..14))
            .map(|_| (random.random_range(0..places), random.random_range(0..2)))
            .collect();
        let mut register: Vec<(usize, usize, u64)> =
            extract.iter().map(|&(place, sex)| (place, sex, 1)).collect();
        for _ in 0..random.random_range(0..20) {
            let (place, sex) = (random.random_range(0..PLACES.len()), random.random_range(0..2));
            register.push((place, sex, random.random_range(1..5)));
        }
        Case { extract, register }
    }

    fn write(&self, folder: &Path, algorithm: &str, (model, parameters): (&str, &str)) {
        let lines: Vec<String> = PLACES.iter().map(|row| row.join(";")).collect();
        write(folder, "places.csv", &(lines.join("\n") + "\n"));
        let row = |(i, &(place, sex)): (usize, &(usize, usize))| {
            format!("p{i},{},{},d{}\n", PLACES[place][0], SEXES[sex], i % 3)
        };
        let data: String = self.extract.iter().enumerate().map(row).collect();
        write(folder, "data.csv", &format!("id,place,sex,dis\n{data}"));
        let row = |&(place, sex, people): &(usize, usize, u64)| {
            format!("{},{},{people}\n", PLACES[place][0], SEXES[sex])
        };
        let register: String = self.register.iter().map(row).collect();
        write(folder, "register.csv", &format!("place,sex,people\n{register}"));
        let quasi = |rule: &str| format!("{{ role = \"quasi-identifier\", taxonomy = {rule} }}");
        let policy = format!(
            "source = \"data.csv\"\nledger = false\n[attributes]\n\
             id = {{ role = \"identifier\", person = true }}\nplace = {}\nsex = {}\ndis = \"sensitive\"\n\
             [[models]]\nname = \"k-anonymity\"\nk = 2\n\
             [[models]]\nname = \"{model}\"\n{parameters}\nregister = \"register.csv\"\n\
             [algorithm]\nname = \"{algorithm}\"\n[release]\nto = \"release\"\nformat = \"csv\"\n",
            quasi("\"places.csv\""),
            quasi("{ flat = true }"),
        );
        write(folder, "policy.toml", &policy);
    }

    /// For each class of a release its records, and the people of the register who fit it.
    fn classes(&self, folder: &Path) -> Vec<(u64, u64)> {
        let text = std::fs::read_to_string(folder.join("release/data.csv")).expect("the data");
        let mut lines = text.lines();
        let header: Vec<&str> = lines.next().expect("a header").split(',').collect();
        let at = |name: &str| header.iter().position(|h| *h == name).expect("a column");
        let (place, sex) = (at("place"), at("sex"));
        let mut classes: BTreeMap<(String, String), u64> = BTreeMap::new();
        for line in lines {
            let cells: Vec<&str> = line.split(',').collect();
            *classes.entry((cells[place].into(), cells[sex].into())).or_default() += 1;
        }
        let fitting = |((place, sex), records): ((String, String), u64)| {
            let fits = |(p, s, _): &&(usize, usize, u64)| {
                PLACES[*p].contains(&place.as_str()) && (sex == "*" || sex == SEXES[*s])
            };
            (records, self.register.iter().filter(fits).map(|(_, _, people)| people).sum())
        };
        classes.into_iter().map(fitting).collect()
    }
}

/// A fraction in lowest terms, as figures write it.
fn fraction(over: u128, under: u128) -> String {
    let (mut a, mut b) = (over, under);
    while b > 0 {
        (a, b) = (b, a % b);
    }
    match under / a {
        1 => (over / a).to_string(),
        under => format!("{}/{under}", over / a),
    }
}

fn expected(model: &str, classes: &[(u64, u64)]) -> String {
    match model {
        "k-map" => classes.iter().map(|(_, people)| *people).min().unwrap_or(0).to_string(),
        "delta-presence" => {
            let most = classes.iter().max_by(|a, b| (a.0 * b.1).cmp(&(b.0 * a.1)));
            most.map_or_else(String::new, |&(n, people)| fraction(n.into(), people.into()))
        }
        _ => {
            let under: u128 = classes.iter().map(|(_, people)| u128::from(*people)).product();
            let over: u128 = classes
                .iter()
                .map(|(n, people)| u128::from(*n) * under / u128::from(*people))
                .sum();
            let records: u128 = classes.iter().map(|(n, _)| u128::from(*n)).sum();
            fraction(over, under * records)
        }
    }
}

const REGISTER_MODELS: [(&str, &str); 3] =
    [("k-map", "k = 1"), ("delta-presence", "max = 1"), ("average-risk", "threshold = 1")];

#[test]
fn register_models_say_what_the_whole_file_says() {
    let (mut compared, mut unshipped) = ([0; 3], 0);
    for (a, algorithm) in ALGORITHMS.iter().enumerate() {
        for seed in 0..6 {
            let mut random = ChaCha8Rng::seed_from_u64(100 * a as u64 + seed);
            let at = seed as usize % 3;
            let case = Case::random(&mut random);
            let folder = tempfile::tempdir().expect("a temporary folder");
            case.write(folder.path(), algorithm.name, REGISTER_MODELS[at]);
            let policy = folder.path().join("policy.toml");
            let answer = match publish(&policy, false) {
                Err(problem) if problem.contains("please report") => panic!("{problem}"),
                Ok(answer) if answer.outcome == Outcome::Published => answer,
                // The algorithm does not go with the policy or the table.
                _ => continue,
            };
            let told = format!("{} of seed {seed}", algorithm.name);
            let of = |models: &[Model]| {
                let model = models.iter().find(|m| m.name == REGISTER_MODELS[at].0);
                model.and_then(|m| m.measured.exact.clone()).expect("a figure")
            };
            let release = folder.path().join("release");
            let found =
                checked(&release, Some(&policy), None).unwrap_or_else(|e| panic!("{told}: {e}"));
            assert_eq!(of(&answer.models), of(&found.promises), "{told}");
            let manifest = manifest::read(&release).expect("a manifest");
            let plain = manifest.shape.as_deref() == Some("regions");
            if !plain || manifest.columns.iter().any(|c| !c.exceptions.is_empty()) {
                continue;
            }
            let classes = case.classes(folder.path());
            assert_eq!(of(&answer.models), expected(REGISTER_MODELS[at].0, &classes), "{told}");
            compared[at] += 1;
            let shipped = std::fs::read_dir(&release).expect("a folder").flatten();
            let shipped: String = (shipped.filter(|f| f.file_name() != "data.csv"))
                .map(|f| std::fs::read_to_string(f.path()).unwrap_or_default())
                .collect();
            unshipped += u32::from(!shipped.contains("Fiji"));
            assert!(manifest.notes.iter().any(|n| n.contains("whole taxonomy file of `place`")));
        }
    }
    assert!(compared.iter().all(|n| *n >= 5), "{compared:?}");
    assert!(unshipped > 0, "every file was published whole");
}

/// Another file than that of the release is noticed.
#[test]
fn another_file_is_not_taken_for_the_whole_one() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let case = Case {
        extract: vec![(0, 0), (0, 0), (2, 1), (3, 1)],
        register: (0..9).map(|place| (place, place % 2, 3)).collect(),
    };
    case.write(folder.path(), "mondrian", REGISTER_MODELS[0]);
    let policy = folder.path().join("policy.toml");
    assert_eq!(publish(&policy, false).expect("an answer").outcome, Outcome::Published);
    let release = folder.path().join("release");
    checked(&release, Some(&policy), None).expect("it is checked");
    write(folder.path(), "places.csv", "Kenya;K;*\nMali;M;*\nGhana;M;*\n");
    let problem = checked(&release, Some(&policy), None).expect_err("another file");
    assert!(problem.contains("is not the one of the release"), "{problem}");
}
