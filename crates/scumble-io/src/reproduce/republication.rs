//! Re-publication of bucketized data (Wang et al. 2008): entropy of one and of two releases, independently made or guided by
//! history, against the people they share; and what the inference costs.

use super::{Findings, Item, Laboratory, algorithm, percent, release, requirement};
use hashbrown::{HashMap, HashSet};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use scumble::attack::Chart;
use scumble::inference::entropy::entropy_of;
use scumble::inference::{Evidence, Inference, Located, infer};
use scumble::problem::{Problem, Problems};
use scumble::release::Form;
use std::time::Instant;

/// Groups of people.
type Groups = Vec<Vec<u32>>;

/// The notions of diversity that the paper looks at.
const DIVERSITIES: [u64; 3] = [2, 3, 5];

/// X6 to X9.
pub(super) fn republication(laboratory: &Laboratory<'_>) -> Result<Findings, Problems> {
    let all = laboratory.row_of.len();
    let people = if all >= 14_400 { 7200 } else { all * 2 / 5 };
    let mut findings = Findings::default();
    let mut against_sharing: Vec<(String, Vec<(f64, f64)>)> = Vec::new();
    let mut bars = ["one release", "two releases, independent", "two releases, guided by history"]
        .map(|n| (n.to_owned(), Vec::new()))
        .to_vec();
    let steps = [0, 1, 2, 3, 4, 5].map(|i| people * i / 6);
    for l in DIVERSITIES {
        let mut line = Vec::new();
        for shared in steps {
            let series = Series::new(laboratory, people, shared, l)?;
            let independent = series.independent(laboratory)?;
            let together = independent.entropy_of_second();
            line.push((shared as f64, together));
            let one = series.people as f64 * (l as f64).ln();
            if [steps[1], steps[3], steps[5]].contains(&shared) {
                let guided = series.guided(laboratory)?;
                findings.items.extend(series.items(laboratory, &independent, &guided, one));
                if shared == steps[1] {
                    bars[0].1.push((l as f64, one));
                    bars[1].1.push((l as f64, together));
                    bars[2].1.push((l as f64, guided.entropy_of_second()));
                }
            }
        }
        against_sharing.push((format!("ℓ = {l}"), line));
    }
    let y = "entropy of the second release's people, in nats";
    let chart = |title: &str, x: &str, y: &str, lines| Chart { title: title.into(), x: x.into(), y: y.into(), lines };
    findings.draw(
        "entropy-diversity",
        &chart(&format!("One and two releases that share {} of {people} people", steps[1]), "ℓ", y, bars),
    );
    findings.draw(
        "entropy-sharing",
        &chart("Two independent releases", "people whom the releases share", y, against_sharing),
    );
    cost(laboratory, people, &mut findings)?;
    Ok(findings)
}

/// Two sets of people, one after the other.
struct Series {
    people: usize,
    shared: usize,
    l: u64,
    first: Vec<u32>,
    second: Vec<u32>,
    /// Number of the random stream.
    stream: u64,
}

/// Two releases, and what follows from them.
struct Joint {
    evidence: Evidence,
    found: Inference,
    seconds: f64,
    /// Kinds of the people of the second release.
    second: Vec<u32>,
    /// People who could not be put into a group of different values.
    left_out: usize,
    /// Places of people who left that nobody filled.
    empty: usize,
}

impl Joint {
    fn new(laboratory: &Laboratory<'_>, first: &Groups, second: &Groups) -> Result<Joint, Problems> {
        let start = Instant::now();
        let histogram = |group: &Vec<u32>| {
            let mut values: Vec<u32> = group.iter().map(|&p| laboratory.sensitive(p)).collect();
            values.sort_unstable();
            values.chunk_by(|a, b| a == b).map(|v| (v[0], v.len() as u64)).collect::<Vec<(u32, u64)>>()
        };
        let place = |groups: &Groups| -> HashMap<u32, u32> {
            (0u32..).zip(groups).flat_map(|(g, people)| people.iter().map(move |&p| (p, g))).collect()
        };
        let (in_first, in_second) = (place(first), place(second));
        let mut everybody: Vec<u32> = in_first.keys().chain(in_second.keys()).copied().collect();
        everybody.sort_unstable();
        everybody.dedup();
        let located = |at: Option<&u32>| at.map_or_else(Located::absent, |&g| Located::at(g));
        let kinds = everybody.iter().map(|p| (1, vec![located(in_first.get(p)), located(in_second.get(p))]));
        let groups = [first.iter().map(histogram).collect(), second.iter().map(histogram).collect()];
        let evidence = Evidence::new(&groups, kinds);
        let found = infer(&evidence, &|_, _| ())
            .map_err(|_| Problem::new("two releases of the same people contradict each other: this is a defect"))?;
        let seconds = start.elapsed().as_secs_f64();
        let second = (0u32..).zip(&everybody).filter(|(_, p)| in_second.contains_key(*p)).map(|(k, _)| k).collect();
        Ok(Joint { evidence, found, seconds, second, left_out: 0, empty: 0 })
    }

    /// Entropy of the people of the second release, given both.
    fn entropy_of_second(&self) -> f64 {
        let entropy = |kind: u32| -> f64 {
            let values = self.found.beliefs.values(&self.evidence, kind);
            values.map(|(_, p)| entropy_of(p)).sum()
        };
        self.second.iter().map(|&k| entropy(k)).sum()
    }

    /// Share of these people whose value is certain.
    fn certain(&self) -> f64 {
        let certain = |k: &&u32| self.found.forced.certain(&self.evidence, **k).is_some();
        self.second.iter().filter(certain).count() as f64 / self.second.len().max(1) as f64
    }
}

impl Series {
    fn new(laboratory: &Laboratory<'_>, people: usize, shared: usize, l: u64) -> Result<Series, Problems> {
        let records = laboratory.shuffled(&mut laboratory.rng(6));
        let eligible = eligible(laboratory, &records, 2 * people - shared, l);
        if eligible.len() < 2 * people - shared {
            return Err(Problem::new(format!("the data are too uneven for groups of {l} different values")).into());
        }
        // The second set stays the same whatever it shares with the first, as in the paper.
        let second = eligible[..people].to_vec();
        let first = eligible[people - shared..2 * people - shared].to_vec();
        Ok(Series { people, shared, l, first, second, stream: 100 + l * 10_000 + shared as u64 })
    }

    fn independent(&self, laboratory: &Laboratory<'_>) -> Result<Joint, Problems> {
        let first = anatomize(laboratory, &self.first, self.l, self.stream)?;
        let second = anatomize(laboratory, &self.second, self.l, self.stream + 1)?;
        Joint::new(laboratory, &first, &second)
    }

    /// Groups are kept; who left is replaced by a newcomer of the same value, if there is one; the other newcomers form new
    /// groups.
    fn guided(&self, laboratory: &Laboratory<'_>) -> Result<Joint, Problems> {
        let first = anatomize(laboratory, &self.first, self.l, self.stream)?;
        let stays: HashSet<u32> = self.second.iter().copied().collect();
        let before: HashSet<u32> = self.first.iter().copied().collect();
        let mut newcomers: HashMap<u32, Vec<u32>> = HashMap::new();
        let mut rng = laboratory.rng(self.stream + 2);
        for &person in self.second.iter().filter(|p| !before.contains(*p)) {
            newcomers.entry(laboratory.sensitive(person)).or_default().push(person);
        }
        let mut second: Groups = Vec::new();
        let mut empty = 0;
        for group in &first {
            let mut kept = Vec::new();
            for person in group {
                if stays.contains(person) {
                    kept.push(*person);
                    continue;
                }
                match newcomers.get_mut(&laboratory.sensitive(*person)).and_then(|pool| draw(pool, &mut rng)) {
                    Some(newcomer) => kept.push(newcomer),
                    None => empty += 1,
                }
            }
            second.extend((!kept.is_empty()).then_some(kept));
        }
        let mut rest: Vec<u32> = newcomers.into_values().flatten().collect();
        rest.sort_unstable();
        let fitting = eligible(laboratory, &rest, rest.len(), self.l);
        let left_out = rest.len() - fitting.len();
        if !fitting.is_empty() {
            second.extend(anatomize(laboratory, &fitting, self.l, self.stream + 3)?);
        }
        Ok(Joint { left_out, empty, ..Joint::new(laboratory, &first, &second)? })
    }

    fn items(&self, laboratory: &Laboratory<'_>, independent: &Joint, guided: &Joint, one: f64) -> Vec<Item> {
        let settings = format!(
            "{} people in each release, {} in both, anatomy with ℓ = {}, attribute {}",
            self.people, self.shared, self.l, laboratory.table.sensitive[0].name
        );
        let below = |entropy: f64| percent(1.0 - entropy / one);
        let paper = |text: &str| if self.shared == self.people / 6 { text.to_owned() } else { String::new() };
        let together = independent.entropy_of_second();
        let history = guided.entropy_of_second();
        let mut history_settings = settings.clone();
        if guided.empty + guided.left_out > 0 {
            history_settings +=
                &format!("; {} places stayed empty, {} newcomers left out", guided.empty, guided.left_out);
        }
        vec![
            Item {
                id: "X6",
                what: "entropy of two independent releases, below one".into(),
                paper: paper("20 to 25 % below (sharing not stated)"),
                ours: format!("{together:.1} of {one:.1} nats, {} below", below(together)),
                settings: settings.clone(),
                holds: Some(together <= one + 1e-6),
            },
            Item {
                id: "X8",
                what: "people whose value is certain".into(),
                paper: String::new(),
                ours: percent(independent.certain()),
                settings,
                holds: None,
            },
            Item {
                id: "X7",
                what: "entropy guided by history, below one".into(),
                paper: paper("slightly below one release"),
                ours: format!("{history:.1} of {one:.1} nats, {} below", below(history)),
                settings: history_settings,
                // Groups that keep all their values tell nothing new.
                holds: Some(history >= together - 1e-6),
            },
        ]
    }
}

/// Takes one at random.
fn draw(pool: &mut Vec<u32>, rng: &mut ChaCha8Rng) -> Option<u32> {
    (!pool.is_empty()).then(|| pool.swap_remove(rng.random_range(0..pool.len())))
}

/// As many of these people as wanted, the first ones, but no value more often than groups of ℓ different values allow.
fn eligible(laboratory: &Laboratory<'_>, people: &[u32], wanted: usize, l: u64) -> Vec<u32> {
    let mut chosen: Vec<u32> = people.iter().copied().take(wanted).collect();
    loop {
        let most = chosen.len() / l as usize;
        let mut count: HashMap<u32, usize> = HashMap::new();
        let before = chosen.len();
        chosen.retain(|&p| {
            let n = count.entry(laboratory.sensitive(p)).or_default();
            *n += 1;
            *n <= most
        });
        if chosen.len() == before {
            return chosen;
        }
    }
}

/// Random groups of ℓ different values, by the catalogue's anatomy.
fn anatomize(laboratory: &Laboratory<'_>, people: &[u32], l: u64, seed: u64) -> Result<Groups, Problems> {
    let part = laboratory.part(people);
    let how = algorithm("anatomy", &[("l", &l.to_string())])?;
    let diverse = [requirement("distinct-l-diversity", &[("l", l.to_string())])?];
    let made = release(&part, &*how, &diverse, seed)?;
    let Form::Anatomized(form) = &made.form else { return Ok(Vec::new()) };
    // Who of the people with equal records is in which group is random already: the people are in random order.
    let mut of_row: Vec<Vec<u32>> = vec![Vec::new(); part.table.rows()];
    for (&person, &row) in people.iter().zip(&part.row_of) {
        of_row[row as usize].push(person);
    }
    let take = |m: &scumble::release::Member, of_row: &mut Vec<Vec<u32>>| {
        let queue = &mut of_row[m.row as usize];
        queue.split_off(queue.len() - m.count as usize)
    };
    Ok(form.groups.iter().map(|g| g.iter().flat_map(|m| take(m, &mut of_row)).collect()).collect())
}

/// What the paper's solver took: records, minutes, variables, constraints (its Figure 5).
const PAPER: [(usize, u32, u32, u32); 6] = [
    (1200, 32, 11_237, 2_921),
    (2400, 43, 30_437, 5_841),
    (3600, 49, 49_637, 9_036),
    (4800, 57, 23_617, 12_101),
    (6000, 233, 29_575, 15_601),
    (7200, 221, 34_852, 19_121),
];

/// X9: what the inference costs.
fn cost(laboratory: &Laboratory<'_>, most: usize, findings: &mut Findings) -> Result<(), Problems> {
    let mut ours = Vec::new();
    for (people, minutes, variables, constraints) in PAPER {
        if people > most {
            continue;
        }
        let joint = Series::new(laboratory, people, people * 5 / 6, 5)?.independent(laboratory)?;
        ours.push((people as f64, joint.seconds));
        findings.items.push(Item {
            id: "X9",
            what: format!("{people} people twice: seconds, unknowns, counts"),
            paper: format!("{minutes} min, {variables}, {constraints}"),
            ours: format!(
                "{:.3} s, {}, {}",
                joint.seconds,
                joint.evidence.outcomes().len(),
                joint.evidence.facts().len() + joint.evidence.kinds().len()
            ),
            settings: "ℓ = 5, five sixths in both releases, independent; largest distance from a count below 1e-9"
                .into(),
            holds: Some(joint.found.beliefs.violation < 1e-9),
        });
    }
    let title = "Seconds that the inference takes (the paper: a Pentium D)".to_owned();
    let lines = vec![("here".to_owned(), ours)];
    findings.draw("cost", &Chart { title, x: "people in each release".into(), y: "seconds".into(), lines });
    Ok(())
}
