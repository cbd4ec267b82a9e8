//! Re-publication of bucketized data (Wang et al. 2008): entropy of one and of two releases,
//! independently made or guided by history, against the people they share; and what the inference
//! costs.

use super::series::{Series, ten_releases};
use super::{Findings, Item, Laboratory, algorithm, percent};
use hashbrown::{HashMap, HashSet};
use scumble::attack::Chart;
use scumble::failure::{Failure, Failures};
use scumble::inference::entropy::entropy_of;
use scumble::inference::{Evidence, Inference, WORK, infer};
use std::time::Instant;

/// The notions of diversity that the paper looks at.
const DIVERSITIES: [u64; 3] = [2, 3, 5];

/// X6 to X9.
pub(super) fn republication(laboratory: &Laboratory<'_>) -> Result<Findings, Failures> {
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
            let pair = Pair::new(laboratory, people, shared, l)?;
            let independent = pair.independent(laboratory)?;
            let together = independent.entropy_of_second();
            line.push((shared as f64, together));
            if [steps[1], steps[3], steps[5]].contains(&shared) {
                let guided = pair.guided(laboratory)?;
                findings.items.extend(pair.items(laboratory, &independent, &guided));
                if shared == steps[1] {
                    bars[0].1.push((l as f64, independent.alone));
                    bars[1].1.push((l as f64, together));
                    bars[2].1.push((l as f64, guided.entropy_of_second()));
                }
            }
        }
        against_sharing.push((format!("ℓ = {l}"), line));
    }
    let y = "entropy of the second release's people, in nats";
    let chart = |title: &str, x: &str, y: &str, lines| Chart {
        title: title.into(),
        x: x.into(),
        y: y.into(),
        lines,
    };
    findings.draw(
        "entropy-diversity",
        &chart(
            &format!("One and two releases that share {} of {people} people", steps[1]),
            "ℓ",
            y,
            bars,
        ),
    );
    findings.draw(
        "entropy-sharing",
        &chart("Two independent releases", "people whom the releases share", y, against_sharing),
    );
    ten_releases(laboratory, people, &mut findings)?;
    cost(laboratory, people, &mut findings)?;
    Ok(findings)
}

/// Two sets of people, one after the other.
struct Pair {
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
    /// Entropy of these people if there were only the second release.
    alone: f64,
    /// People who could not be put into a group of different values.
    left_out: usize,
    /// Places of people who left that nobody filled.
    empty: usize,
}

impl Joint {
    fn new(series: &Series<'_>) -> Result<Joint, Failures> {
        let start = Instant::now();
        let (evidence, everybody) = series.evidence();
        let found = infer(&evidence, WORK, &|_, _| true).map_err(|_| {
            Failure::bug(
                "internal",
                "two releases of the same people contradict each other: this is a defect",
            )
        })?;
        let seconds = start.elapsed().as_secs_f64();
        let [_, published] = &series.releases[..] else {
            return Err(
                Failure::bug("internal", "there should be two releases: this is a defect").into()
            );
        };
        let places =
            (0u32..).zip(&everybody).filter_map(|(k, p)| Some((k, *published.group_of.get(p)?)));
        let (second, groups): (Vec<u32>, Vec<u32>) = places.unzip();
        let alone = |&group: &u32| {
            let values = &published.values[group as usize];
            let size: u64 = values.iter().map(|(_, n)| n).sum();
            values.iter().map(|&(_, n)| entropy_of(n as f64 / size as f64)).sum::<f64>()
        };
        let alone = groups.iter().map(alone).sum();
        Ok(Joint { evidence, found, seconds, second, alone, left_out: 0, empty: 0 })
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

impl Pair {
    fn new(
        laboratory: &Laboratory<'_>,
        people: usize,
        shared: usize,
        l: u64,
    ) -> Result<Pair, Failures> {
        let records = laboratory.shuffled(&mut laboratory.rng(6));
        let eligible = eligible(laboratory, &records, 2 * people - shared, l);
        if eligible.len() < 2 * people - shared {
            return Err(Failure::data(
                "too-uneven",
                format!("the data are too uneven for groups of {l} different values"),
            )
            .into());
        }
        // The second set stays the same whatever it shares with the first, as in the paper.
        let second = eligible[..people].to_vec();
        let first = eligible[people - shared..2 * people - shared].to_vec();
        Ok(Pair { people, shared, l, first, second, stream: 100 + l * 10_000 + shared as u64 })
    }

    /// Both releases, the second by this algorithm.
    fn publish<'a>(
        &self,
        laboratory: &'a Laboratory<'a>,
        second: &[u32],
        how: &str,
    ) -> Result<Series<'a>, Failures> {
        let l = self.l.to_string();
        let mut series = Series::new(laboratory, 0)?;
        series.publish(&self.first, &*algorithm("anatomy", &[("l", &l)])?, self.stream)?;
        series.publish(second, &*algorithm(how, &[("l", &l)])?, self.stream + 1)?;
        Ok(series)
    }

    fn independent(&self, laboratory: &Laboratory<'_>) -> Result<Joint, Failures> {
        Joint::new(&self.publish(laboratory, &self.second, "anatomy")?)
    }

    /// Groups are kept; who left is replaced by a newcomer of the same value, if there is one; the
    /// other newcomers form new groups.
    fn guided(&self, laboratory: &Laboratory<'_>) -> Result<Joint, Failures> {
        let before: HashSet<u32> = self.first.iter().copied().collect();
        let (stay, new): (Vec<u32>, Vec<u32>) =
            self.second.iter().partition(|p| before.contains(*p));
        // Newcomers who are eligible by themselves can be placed in any case.
        let fitting = eligible(laboratory, &new, new.len(), self.l);
        let left_out = new.len() - fitting.len();
        let series = self.publish(laboratory, &[&stay[..], &fitting].concat(), "history-guided")?;
        let (first, second) = (&series.releases[0], &series.releases[1]);
        let kept: HashSet<u32> =
            stay.iter().filter_map(|p| first.group_of.get(p)).copied().collect();
        let staying: HashSet<u32> = stay.iter().copied().collect();
        let gone = |(p, group): &(&u32, &u32)| kept.contains(*group) && !staying.contains(*p);
        let with_others: HashSet<u32> =
            stay.iter().filter_map(|p| second.group_of.get(p)).copied().collect();
        let filled = fitting
            .iter()
            .filter(|p| second.group_of.get(*p).is_some_and(|g| with_others.contains(g)));
        let empty = first.group_of.iter().filter(gone).count().saturating_sub(filled.count());
        Ok(Joint { left_out, empty, ..Joint::new(&series)? })
    }

    fn items(&self, laboratory: &Laboratory<'_>, independent: &Joint, guided: &Joint) -> Vec<Item> {
        let settings = format!(
            "{} people in each release, {} in both, anatomy with ℓ = {}, attribute {}",
            self.people, self.shared, self.l, laboratory.table.sensitive[0].name
        );
        let below = |joint: &Joint, entropy: f64| {
            format!(
                "{entropy:.1} of {:.1} nats, {} below",
                joint.alone,
                percent(1.0 - entropy / joint.alone)
            )
        };
        let paper = |text: &str| {
            if self.shared == self.people / 6 { text.to_owned() } else { String::new() }
        };
        let together = independent.entropy_of_second();
        let history = guided.entropy_of_second();
        let mut history_settings = settings.clone();
        if guided.empty + guided.left_out > 0 {
            history_settings += &format!(
                "; {} places stayed empty, {} newcomers left out",
                guided.empty, guided.left_out
            );
        }
        vec![
            Item {
                id: "X6".into(),
                what: "entropy of two independent releases, below one".into(),
                paper: paper("20 to 25 % below (sharing not stated)"),
                ours: below(independent, together),
                settings: settings.clone(),
                holds: Some(together <= independent.alone + 1e-6),
            },
            Item {
                id: "X8".into(),
                what: "people whose value is certain".into(),
                paper: String::new(),
                ours: percent(independent.certain()),
                settings,
                holds: None,
            },
            Item {
                id: "X7".into(),
                what: "entropy guided by history, below one".into(),
                paper: paper("slightly below one release"),
                ours: below(guided, history),
                settings: history_settings,
                // Groups that keep all their values tell nothing new.
                holds: Some(history >= together - 1e-6 && history <= guided.alone + 1e-6),
            },
        ]
    }
}

/// As many of these people as wanted, the first ones, but no value more often than groups of ℓ
/// different values allow.
pub(super) fn eligible(
    laboratory: &Laboratory<'_>,
    people: &[u32],
    wanted: usize,
    l: u64,
) -> Vec<u32> {
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
fn cost(laboratory: &Laboratory<'_>, most: usize, findings: &mut Findings) -> Result<(), Failures> {
    let mut ours = Vec::new();
    for (people, minutes, variables, constraints) in PAPER {
        if people > most {
            continue;
        }
        let joint = Pair::new(laboratory, people, people * 5 / 6, 5)?.independent(laboratory)?;
        ours.push((people as f64, joint.seconds));
        findings.items.push(Item {
            id: "X9".into(),
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
    findings.draw(
        "cost",
        &Chart { title, x: "people in each release".into(), y: "seconds".into(), lines },
    );
    Ok(())
}
