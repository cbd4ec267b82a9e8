//! Numbers and dates that change their role from release to release, against the enumeration of all
//! worlds: who has which value is dealt in every way that shows what was published.

use super::place::Place;
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// How a release shows the column.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Role {
    Sensitive,
    Insensitive,
    /// Sensitive, rounded to tens.
    Rounded,
    /// A quasi-identifier in cells of twenty, or in months.
    Cells,
    /// The same of rounded numbers.
    RoundedCells,
}

impl Role {
    fn text(self, dates: bool) -> &'static str {
        match (self, dates) {
            (Role::Sensitive, _) => "\"sensitive\"",
            (Role::Insensitive, _) => "\"insensitive\"",
            (Role::Rounded, _) => "{ role = \"sensitive\", perturb = { round = 10 } }",
            (Role::Cells, true) => {
                "{ role = \"quasi-identifier\", taxonomy = { dates = [\"month\", \"year\"] } }"
            }
            (Role::Cells, false) => {
                "{ role = \"quasi-identifier\", taxonomy = { intervals = [20, 100], low = 0 } }"
            }
            (Role::RoundedCells, _) => {
                "{ role = \"quasi-identifier\", perturb = { round = 10 }, \
                 taxonomy = { intervals = [20, 100], low = 0 } }"
            }
        }
    }

    /// What it shows of a value.
    fn shows(self, value: u32) -> u32 {
        match self {
            Role::Sensitive | Role::Insensitive => value,
            Role::Rounded => (value + 5) / 10,
            Role::Cells => value / 20,
            Role::RoundedCells => (value + 5) / 10 / 2,
        }
    }
}

/// A value of the column. A month is as long as a cell of numbers is wide.
fn written(value: u32, dates: bool) -> String {
    if dates {
        format!("2020-{:02}-{:02}", 1 + value / 20, 1 + value % 20)
    } else {
        value.to_string()
    }
}

/// People with a value and a group in each release, and how each shows the column.
#[derive(Debug)]
struct Series {
    values: Vec<u32>,
    groups: Vec<Vec<u32>>,
    roles: Vec<Role>,
    dates: bool,
}

impl Series {
    fn random(random: &mut impl Rng, first: &[Role]) -> Series {
        let (people, dates) = (random.random_range(3..=6), random.random_bool(0.4));
        let roles: &[Role] = match dates {
            true => &[Role::Sensitive, Role::Insensitive, Role::Cells],
            false => &[
                Role::Sensitive,
                Role::Insensitive,
                Role::Rounded,
                Role::Cells,
                Role::RoundedCells,
            ],
        };
        let first = first[random.random_range(0..first.len())];
        let mut of = vec![first];
        of.extend((0..2).map(|_| roles[random.random_range(0..roles.len())]));
        if first == Role::Insensitive {
            of[1] = Role::Sensitive;
        }
        Series {
            values: (0..people).map(|_| random.random_range(0..60)).collect(),
            groups: (0..3)
                .map(|_| (0..people).map(|_| random.random_range(0..2)).collect())
                .collect(),
            roles: of,
            dates,
        }
    }

    /// How often each group of a release shows what, if people had these values.
    fn shown(&self, release: usize, values: &[u32]) -> BTreeMap<(u32, u32), u32> {
        let mut counts = BTreeMap::new();
        for (&group, &value) in self.groups[release].iter().zip(values) {
            *counts.entry((group, self.roles[release].shows(value))).or_default() += 1;
        }
        counts
    }

    /// People whose value is the same in every world of the first releases.
    fn certain(&self, releases: usize) -> usize {
        let published: Vec<_> = (0..releases).map(|r| self.shown(r, &self.values)).collect();
        let mut possible: Vec<BTreeSet<u32>> = vec![BTreeSet::new(); self.values.len()];
        let mut rest = self.values.clone();
        permute(&mut rest, 0, &mut |world| {
            if (0..releases).all(|r| self.shown(r, world) == published[r]) {
                possible.iter_mut().zip(world).for_each(|(p, v)| _ = p.insert(*v));
            }
        });
        possible.iter().filter(|values| values.len() == 1).count()
    }

    fn policy(&self, release: usize) -> String {
        let groups: String = (0..3)
            .map(|g| match g == release {
                true => format!(
                    "g{g} = {{ role = \"quasi-identifier\", taxonomy = {{ flat = true }} }}\n"
                ),
                false => format!("g{g} = \"identifier\"\n"),
            })
            .collect();
        format!(
            "source = \"d.csv\"\n[attributes]\nid = {{ role = \"identifier\", person = true }}\n{groups}v = {}\n\
             [[models]]\nname = \"k-anonymity\"\nk = 1\n[algorithm]\nname = \"lattice\"\n\
             [gate]\ncertain = 1000\nposterior = 1\n[release]\nto = \"r{release}\"\n",
            self.roles[release].text(self.dates)
        )
    }

    fn data(&self) -> String {
        let row = |p: usize| {
            let groups: String = self.groups.iter().map(|g| format!("{},", g[p])).collect();
            format!("p{p},{groups}{}\n", written(self.values[p], self.dates))
        };
        format!("id,g0,g1,g2,v\n{}", (0..self.values.len()).map(row).collect::<String>())
    }

    /// Publishes everything; what the gate counts as certain must be so in all worlds, and nothing
    /// else.
    fn check(&self) {
        let place = Place::new("");
        place.put("d.csv", self.data());
        for release in 0..3 {
            place.put("p.toml", self.policy(release));
            let answer: Value = place.answer(0, &["publish", "p.toml"]);
            let passages = answer["gate"].as_array().expect("what the gate says");
            let Some(passage) = passages.iter().find(|p| p["attribute"] == "v") else {
                assert!(
                    self.roles[..=release].iter().all(|r| *r == Role::Insensitive),
                    "release {release} of {self:?}: {answer}"
                );
                continue;
            };
            assert_eq!(
                passage["people"],
                self.values.len(),
                "release {release} of {self:?}: {answer}"
            );
            let certain = self.certain(release + 1);
            assert_eq!(passage["certain"], certain, "release {release} of {self:?}: {answer}");
        }
    }
}

/// Calls `visit` with every order of the values.
fn permute(values: &mut [u32], from: usize, visit: &mut impl FnMut(&[u32])) {
    if from == values.len() {
        return visit(values);
    }
    for i in from..values.len() {
        values.swap(from, i);
        permute(values, from + 1, visit);
        values.swap(from, i);
    }
}

#[test]
fn roles_that_change_agree_with_all_worlds() {
    let mut random = ChaCha8Rng::seed_from_u64(16);
    for _ in 0..24 {
        Series::random(&mut random, &[Role::Sensitive]).check();
    }
}

/// The smallest case: costs by region, then in cells by age.
#[test]
fn a_cell_is_a_set_of_values() {
    Series {
        values: vec![10, 30, 11, 31],
        groups: vec![vec![0, 0, 1, 1], vec![0, 1, 0, 1], vec![0, 0, 0, 0]],
        roles: vec![Role::Sensitive, Role::Cells, Role::Insensitive],
        dates: false,
    }
    .check();
}
