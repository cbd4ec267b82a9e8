//! Columns that change their role from release to release, against the enumeration of all
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

    /// Whether any of the first releases protects the column.
    fn protected(&self, releases: usize) -> bool {
        let protects = |role: &Role| matches!(role, Role::Sensitive | Role::Rounded);
        self.roles[..releases].iter().any(protects)
    }

    /// Publishes everything; what the gate counts as certain must be so in all worlds, and nothing
    /// else.
    fn check(&self) {
        let place = Place::new("");
        place.put("d.csv", self.data());
        for release in 0..3 {
            place.put("p.toml", self.policy(release));
            let answer: Value = place.answer(0, &["publish", "p.toml"]);
            let passages = answer["gate"].as_array().cloned().unwrap_or_default();
            let Some(passage) = passages.iter().find(|p| p["attribute"] == "v") else {
                assert!(!self.protected(release + 1), "release {release} of {self:?}: {answer}");
                continue;
            };
            let told = answer["warnings"].to_string();
            for earlier in (0..release).filter(|r| !self.protected(r + 1)) {
                let openly = format!("in `r{earlier}` (entry {}) to everybody", 2 + 2 * earlier);
                assert!(told.contains(&openly), "release {release} of {self:?}: {answer}");
            }
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

/// What was open first is put together with what is protected later.
#[test]
fn open_columns_that_are_protected_later_agree_with_all_worlds() {
    let mut random = ChaCha8Rng::seed_from_u64(17);
    let open = [Role::Insensitive, Role::Cells, Role::RoundedCells];
    let mut judged = 0;
    while judged < 24 {
        let first = if judged % 2 == 0 { &open[..2] } else { &open[..] };
        let series = Series::random(&mut random, first);
        // The gate counts a rounded value as one value unless a release tells its values apart; the
        // worlds here are of exact values.
        let rounded = |role: &Role| matches!(role, Role::Rounded | Role::RoundedCells);
        let possible = series.roles[0] == Role::Insensitive || !series.roles.iter().any(rounded);
        if possible && series.protected(3) {
            series.check();
            judged += 1;
        }
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

/// Published openly by region, then protected by age: together everybody's value follows, and the
/// first release alone gives away nothing. The default limits refuse that.
#[test]
fn a_release_that_completes_an_open_one_is_refused() {
    for open in [Role::Insensitive, Role::Cells] {
        let series = Series {
            values: vec![10, 11, 30, 31],
            groups: vec![vec![0, 0, 1, 1], vec![0, 1, 0, 1], vec![0, 0, 0, 0]],
            roles: vec![open, Role::Sensitive, Role::Sensitive],
            dates: false,
        };
        let place = Place::new("");
        place.put("d.csv", series.data());
        place.put("p.toml", series.policy(0).replace("source", "recipients = [\"A\"]\nsource"));
        place.expect(0, &["publish", "p.toml"]);
        place.put("p.toml", series.policy(1).replace("certain = 1000\nposterior = 1\n", ""));
        let answer = place.answer(1, &["publish", "p.toml", "--no-remedies"]);
        let told = answer["warnings"].to_string();
        let expected =
            "in `r0` (entry 2) to `A`: what that release already gave away cannot be taken back";
        assert!(told.contains(expected) && !told.contains("not judged"), "{answer}");
        let passage = &answer["gate"][0];
        assert_eq!(passage["newly"], 4, "{answer}");
        assert!(passage["notes"].to_string().contains("counts as known before"), "{answer}");
        // Without its table the open release would not be seen.
        place.put("p.toml", series.policy(1).replace("source", "ledger = \"other\"\nsource"));
        assert_eq!(place.answer(0, &["publish", "p.toml"])["gate"][0]["certain"], 0);
    }
}

/// A column in another spelling is not taken for a new one.
#[test]
fn an_open_column_that_is_protected_under_another_spelling_is_asked_about() {
    let series = Series {
        values: vec![10, 30, 11, 31],
        groups: vec![vec![0, 0, 1, 1], vec![0, 1, 0, 1], vec![0, 0, 0, 0]],
        roles: vec![Role::Insensitive, Role::Sensitive, Role::Sensitive],
        dates: false,
    };
    let place = Place::new("");
    place.put("d.csv", series.data());
    place.put("p.toml", series.policy(0));
    place.expect(0, &["publish", "p.toml"]);
    place.put("d.csv", series.data().replace(",v\n", ",V\n"));
    let policy = series.policy(1).replace("\nv = ", "\nV = ");
    place.put("p.toml", &policy);
    let told = place.expect(2, &["publish", "p.toml"]);
    assert!(told.contains("looks like `v`, which earlier releases showed openly"), "{told}");
    let renamed = format!("{policy}[history]\ncolumns = {{ V = \"v\" }}\n");
    place.put("p.toml", renamed);
    assert_eq!(place.answer(0, &["publish", "p.toml"])["gate"][0]["certain"], 4);
}

/// An anatomized release shows everybody's own quasi-identifiers.
#[test]
fn an_anatomized_column_that_is_protected_later_agrees_with_all_worlds() {
    let mut random = ChaCha8Rng::seed_from_u64(18);
    for _ in 0..6 {
        let people = 2 * random.random_range(2..=3);
        let series = Series {
            values: (0..people).map(|_| random.random_range(0..3)).collect(),
            groups: (0..3)
                .map(|_| (0..people).map(|_| random.random_range(0..2)).collect())
                .collect(),
            roles: vec![Role::Insensitive, Role::Sensitive, Role::Sensitive],
            dates: false,
        };
        let place = Place::new("");
        let mut lines = series.data().lines().map(str::to_owned).collect::<Vec<_>>();
        for (i, line) in lines.iter_mut().enumerate() {
            line.push_str(match i {
                0 => ",d",
                _ if i % 2 == 0 => ",flu",
                _ => ",cold",
            });
        }
        place.put("d.csv", lines.join("\n") + "\n");
        let quasi = "{ role = \"quasi-identifier\", taxonomy = { flat = true } }";
        let first = series
            .policy(0)
            .replace("v = \"insensitive\"\n", &format!("v = {quasi}\nd = \"sensitive\"\n"))
            .replace("name = \"k-anonymity\"\nk = 1", "name = \"distinct-l-diversity\"\nl = 2")
            .replace("\"lattice\"", "\"anatomy\"\nl = 2");
        place.put("p.toml", first);
        place.expect(0, &["publish", "p.toml"]);
        let second = series.policy(1).replace("\nv = ", "\nd = \"identifier\"\nv = ");
        place.put("p.toml", second);
        let answer = place.answer(0, &["publish", "p.toml"]);
        let passages = answer["gate"].as_array().expect("what the gate says");
        let passage = passages.iter().find(|p| p["attribute"] == "v").expect("it is judged");
        assert_eq!(passage["certain"], series.certain(2), "{series:?}: {answer}");
    }
}

/// A column whose role changes, beside one that is always sensitive.
#[derive(Debug)]
struct Pairs {
    of: Series,
    diseases: Vec<u32>,
}

impl Pairs {
    /// Whether the column is a quasi-identifier of a release and was not protected before: then
    /// whoever is judged by the other column knows it.
    fn known(&self, release: usize) -> bool {
        self.of.roles[release] == Role::Cells && !self.of.protected(release)
    }

    fn shown(&self, release: usize, world: &[(u32, u32)]) -> BTreeMap<(u32, u32, u32), u32> {
        let mut counts = BTreeMap::new();
        for (&group, &(value, disease)) in self.of.groups[release].iter().zip(world) {
            let shown = (group, self.of.roles[release].shows(value), disease);
            *counts.entry(shown).or_default() += 1;
        }
        counts
    }

    /// People whose value of either column is the same in every world of the first releases.
    fn certain(&self, releases: usize) -> [usize; 2] {
        let truth: Vec<(u32, u32)> =
            self.of.values.iter().copied().zip(self.diseases.iter().copied()).collect();
        let published: Vec<_> = (0..releases).map(|r| self.shown(r, &truth)).collect();
        let values: BTreeSet<u32> = self.of.values.iter().copied().collect();
        let pairs: Vec<(u32, u32)> = values.iter().flat_map(|&v| [(v, 0), (v, 1)]).collect();
        let mut possible = [vec![BTreeSet::new(); truth.len()], vec![BTreeSet::new(); truth.len()]];
        for number in 0..pairs.len().pow(truth.len() as u32) {
            let digit = |p: usize| number / pairs.len().pow(p as u32) % pairs.len();
            let world: Vec<(u32, u32)> = (0..truth.len()).map(|p| pairs[digit(p)]).collect();
            if (0..releases).any(|r| self.shown(r, &world) != published[r]) {
                continue;
            }
            let known = |r: usize| {
                let shows = |&(value, _): &(u32, u32)| self.of.roles[r].shows(value);
                world.iter().map(shows).eq(truth.iter().map(shows))
            };
            let knows = (0..releases).filter(|&r| self.known(r)).all(known);
            for (p, &(value, disease)) in world.iter().enumerate() {
                possible[0][p].insert(value);
                if knows {
                    possible[1][p].insert(disease);
                }
            }
        }
        possible.map(|people| people.iter().filter(|values| values.len() == 1).count())
    }

    fn check(&self) {
        let place = Place::new("");
        let mut diseases = self.diseases.iter();
        let data = self.of.data();
        let mut row = |line: &str| match line.starts_with("id") {
            true => format!("{line},d\n"),
            false => format!("{line},d{}\n", diseases.next().expect("a disease")),
        };
        place.put("d.csv", data.lines().map(&mut row).collect::<String>());
        for release in 0..3 {
            let policy = self.of.policy(release).replace("\nv = ", "\nd = \"sensitive\"\nv = ");
            place.put("p.toml", policy);
            let answer = place.answer(0, &["publish", "p.toml"]);
            if !self.of.protected(release + 1) {
                continue;
            }
            let passages = answer["gate"].as_array().expect("what the gate says");
            for (name, certain) in ["v", "d"].iter().zip(self.certain(release + 1)) {
                let passage = passages.iter().find(|p| p["attribute"] == *name);
                let passage = passage.unwrap_or_else(|| panic!("{name} of {self:?}: {answer}"));
                assert_eq!(passage["certain"], certain, "{name}, {release} of {self:?}: {answer}");
            }
        }
    }
}

/// Rows of an open column and a sensitive one count as rows once the first is protected.
#[test]
fn open_columns_beside_sensitive_ones_agree_with_all_worlds() {
    let mut random = ChaCha8Rng::seed_from_u64(19);
    let roles = [Role::Insensitive, Role::Cells, Role::Sensitive];
    for case in 0..18 {
        let people = random.random_range(3..=4);
        let later = random.random_range(1..3);
        let mut of = Series {
            values: (0..people).map(|_| [5, 15, 25, 45][random.random_range(0..4)]).collect(),
            groups: (0..3)
                .map(|_| (0..people).map(|_| random.random_range(0..2)).collect())
                .collect(),
            roles: (0..3).map(|_| roles[random.random_range(0..3)]).collect(),
            dates: false,
        };
        of.roles[0] = roles[case % 2];
        of.roles[later] = Role::Sensitive;
        let diseases = (0..people).map(|_| random.random_range(0..2)).collect();
        Pairs { of, diseases }.check();
    }
}
