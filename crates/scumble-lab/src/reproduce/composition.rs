//! Composition attacks on two k-anonymous releases that share people (Ganta, Kasiviswanathan and
//! Smith 2008).

use super::{Findings, Item, Laboratory, Part, algorithm, percent, read, release, requirement};
use scumble::algorithm::{Algorithm, Requirement};
use scumble::attack::{Chart, Knowledge, Membership, Report, Scene, locate, on_releases};
use scumble::failure::{Failure, Failures};
use scumble::progress::Watch;
use scumble::publish::Made;
use scumble::register::{Register, RegisterColumn};
use scumble::release::{Form, Release};

/// Two random samples that share people.
struct Samples {
    first: Part,
    second: Part,
    /// The people in both, as an adversary knows them.
    register: Register,
    words: String,
}

fn samples(laboratory: &Laboratory<'_>) -> Result<Samples, Failures> {
    let all = laboratory.row_of.len();
    let shared = if all > 20_000 { 5_000 } else { all / 6 };
    let size = (all + shared) / 2;
    let records = laboratory.shuffled(&mut laboratory.rng(1));
    let (first, second) = (&records[..size], &records[size - shared..2 * size - shared]);
    let register = people(laboratory, &records[size - shared..size])?;
    let words = format!("two samples of {size} records that share {shared}");
    Ok(Samples { first: laboratory.part(first), second: laboratory.part(second), register, words })
}

/// What an adversary knows of these people: their quasi-identifiers.
pub(super) fn people(laboratory: &Laboratory<'_>, records: &[u32]) -> Result<Register, Failures> {
    let table = &laboratory.table;
    let column = |(attribute, codes): (&scumble::table::Attribute, &Vec<u32>)| RegisterColumn {
        name: attribute.name.clone(),
        texts: (0..attribute.taxonomy.leaves() as u32)
            .map(|c| attribute.taxonomy.leaf(c).to_owned())
            .collect(),
        codes: records.iter().map(|&r| codes[laboratory.row_of[r as usize] as usize]).collect(),
    };
    Ok(Register::new(table.quasi.iter().zip(&table.quasi_codes).map(column).collect())?)
}

/// Intersects two releases, knowing people who are in both.
pub(super) fn intersect(
    first: Release,
    second: Release,
    register: &Register,
) -> Result<(Scene, Report), Failures> {
    let knowledge =
        Knowledge { register, membership: Membership::Members, told: Vec::new(), apart: None };
    let releases =
        vec![("the first release".to_owned(), first), ("the second release".to_owned(), second)];
    let scene = Scene::new(releases, None, Some(&knowledge), 1)?;
    let entry = on_releases().find(|e| e.name == "intersection");
    let entry =
        entry.ok_or_else(|| Failure::bug("internal", "there is no attack `intersection`"))?;
    let attack = (entry.build)(&read(entry.name, entry.parameters, &[])?)?;
    let report = attack.run(&scene, &|_, _| true)?;
    Ok((scene, report))
}

/// A figure by name.
pub(super) fn figure(report: &Report, name: &str) -> f64 {
    report.figures.iter().find(|f| f.name == name).map_or(f64::NAN, |f| f.value)
}

/// The sizes of classes that the paper looks at.
const SIZES: [u64; 5] = [5, 10, 15, 20, 25];

fn k_anonymity(k: u64) -> Result<Vec<Requirement>, Failures> {
    Ok(vec![requirement("k-anonymity", &[("k", k.to_string())])?])
}

/// X1, X2 and X4.
pub(super) fn composition(laboratory: &Laboratory<'_>) -> Result<Findings, Failures> {
    let samples = samples(laboratory)?;
    let mondrian = || algorithm("mondrian", &[]);
    let groups = || algorithm("microaggregation", &[("method", "mdav")]);
    let mut findings = Findings::default();
    let mut perfect: Vec<(String, Vec<(f64, f64)>)> = [
        "Mondrian / Mondrian",
        "microaggregation / microaggregation",
        "Mondrian / microaggregation",
    ]
    .map(|n| (n.to_owned(), Vec::new()))
    .to_vec();
    let mut partial = Vec::new();
    let mut values: Vec<(String, Vec<(f64, f64)>)> =
        ["one release", "both releases"].map(|n| (n.to_owned(), Vec::new())).to_vec();
    for (step, k) in SIZES.into_iter().enumerate() {
        laboratory.observer.at(step as u64, SIZES.len() as u64);
        let requirements = k_anonymity(k)?;
        let both = |how: &dyn Algorithm| -> Result<(Made, Made), Failures> {
            Ok((
                release(&samples.first, how, &requirements, 1)?,
                release(&samples.second, how, &requirements, 2)?,
            ))
        };
        let (cut, grouped) = (both(&*mondrian()?)?, both(&*groups()?)?);
        let reports = [
            intersect(cut.0.release.clone(), cut.1.release.clone(), &samples.register)?.1,
            intersect(grouped.0.release.clone(), grouped.1.release.clone(), &samples.register)?.1,
            intersect(cut.0.release.clone(), grouped.1.release.clone(), &samples.register)?.1,
        ];
        for (line, report) in perfect.iter_mut().zip(&reports) {
            line.1.push((k as f64, figure(report, "pvp_100")));
        }
        let report = &reports[0];
        let before = (figure(report, "ea_1") + figure(report, "ea_2")) / 2.0;
        values[0].1.push((k as f64, before));
        values[1].1.push((k as f64, figure(report, "ea_after")));
        if let Some(chart) = &report.chart {
            partial.push((format!("k = {k}"), chart.lines[0].1.clone()));
        }
        findings.items.extend(at_size(laboratory, &samples, k, &reports, before));
    }
    let falls = perfect[0].1.windows(2).all(|w| w[1].1 <= w[0].1 + 0.005);
    findings.items.push(Item {
        id: "X1".into(),
        what: "perfect breach falls with k".into(),
        paper: "it falls".into(),
        ours: if falls { "it falls".into() } else { "it does not".into() },
        settings: samples.words.clone(),
        holds: Some(falls),
    });
    let chart = |title: &str, x: &str, y: &str, lines| Chart {
        title: title.into(),
        x: x.into(),
        y: y.into(),
        lines,
    };
    findings.draw(
        "perfect-breach",
        &chart(
            "Perfect breach of two k-anonymous releases",
            "k",
            "share of shared people whose value is certain",
            perfect,
        ),
    );
    findings.draw(
        "partial-breach",
        &chart(
            "Partial breach, Mondrian / Mondrian",
            "confidence",
            "share of shared people whose value is found with at least this confidence",
            partial,
        ),
    );
    findings.draw(
        "effective-anonymity",
        &chart(
            "Effective anonymity, Mondrian / Mondrian",
            "k",
            "mean number of values that a shared person may have",
            values,
        ),
    );
    Ok(findings)
}

/// What the three scenarios come to at one k.
fn at_size(
    laboratory: &Laboratory<'_>,
    samples: &Samples,
    k: u64,
    reports: &[Report; 3],
    before: f64,
) -> Vec<Item> {
    let settings = format!("{}, k = {k}", samples.words);
    let item = |id: &str, what: &str, paper: &str, ours: String, holds| Item {
        id: id.into(),
        what: what.into(),
        paper: paper.into(),
        ours,
        settings: settings.clone(),
        holds,
    };
    let [cut, grouped, mixed] = reports;
    let perfect = figure(cut, "pvp_100");
    let quarter = figure(cut, "pvp_25");
    let first = k == 5;
    let on_adult = |test: bool| laboratory.adult.then_some(test);
    let paper = |text: &'static str| if first && laboratory.adult { text } else { "" };
    let mut items = vec![
        item(
            "X1",
            "perfect breach (C = 100 %), Mondrian / Mondrian",
            paper("about 12 %"),
            percent(perfect),
            on_adult(!first || (0.02..=0.15).contains(&perfect)).filter(|_| first),
        ),
        item(
            "X1",
            "perfect breach, microaggregation / microaggregation",
            "",
            percent(figure(grouped, "pvp_100")),
            None,
        ),
        item(
            "X1",
            "perfect breach, Mondrian / microaggregation",
            "",
            percent(figure(mixed, "pvp_100")),
            None,
        ),
        item(
            "X2",
            "partial breach (C = 25 %), Mondrian / Mondrian",
            paper("above 60 %"),
            percent(quarter),
            on_adult(quarter > 0.6).filter(|_| first),
        ),
        item(
            "X4",
            "effective anonymity before → after",
            "",
            format!("{before:.2} → {:.2}", figure(cut, "ea_after")),
            Some(figure(cut, "ea_after") <= before),
        ),
        item("X4", "vulnerable population", "", percent(figure(cut, "vp_share")), None),
        item(
            "X4",
            "mean class of a shared person",
            "",
            format!("{:.1} records", figure(cut, "class")),
            None,
        ),
    ];
    if !first {
        items.truncate(5);
    }
    items
}

/// X3: the rule for cuts is a choice that changes the risk by a factor.
pub(super) fn cuts(laboratory: &Laboratory<'_>) -> Result<Findings, Failures> {
    let samples = samples(laboratory)?;
    let requirements = k_anonymity(5)?;
    let mut findings = Findings::default();
    let variants: [(&str, &[(&str, &str)]); 3] = [
        ("median given up if not allowable", &[("cut", "median")]),
        ("nearest allowable cut", &[]),
        ("relaxed (classes overlap, so that a person fits several)", &[("partition", "relaxed")]),
    ];
    for (name, parameters) in variants {
        let how = algorithm("mondrian", parameters)?;
        let first = release(&samples.first, &*how, &requirements, 1)?;
        let second = release(&samples.second, &*how, &requirements, 2)?;
        let (_, report) = intersect(first.release, second.release, &samples.register)?;
        findings.items.push(Item {
            id: "X3".into(),
            what: format!("{name}: mean class, PVP_100, PVP_25"),
            paper: String::new(),
            ours: format!(
                "{:.1} records, {}, {}",
                figure(&report, "class"),
                percent(figure(&report, "pvp_100")),
                percent(figure(&report, "pvp_25"))
            ),
            settings: format!("{}, Mondrian, k = 5", samples.words),
            holds: None,
        });
    }
    Ok(findings)
}

/// X5: ℓ-diversity and t-closeness inside Mondrian.
pub(super) fn diversity(laboratory: &Laboratory<'_>) -> Result<Findings, Failures> {
    let samples = samples(laboratory)?;
    let mut findings = Findings::default();
    let mut lines = vec![("k = 10 and entropy ℓ-diversity".to_owned(), Vec::new())];
    let mut classes = Vec::new();
    let how = algorithm("mondrian", &[])?;
    let mut try_one =
        |what: String, more: Option<Requirement>| -> Result<Option<(f64, f64)>, Failures> {
            let mut requirements = k_anonymity(10)?;
            requirements.extend(more);
            let made = release(&samples.first, &*how, &requirements, 1)
                .and_then(|first| Ok((first, release(&samples.second, &*how, &requirements, 2)?)));
            let settings = format!("{}, Mondrian", samples.words);
            let Ok((first, second)) = made else {
                findings.items.push(Item {
                    id: "X5".into(),
                    what,
                    paper: String::new(),
                    ours: "cannot be met by the whole table".into(),
                    settings,
                    holds: None,
                });
                return Ok(None);
            };
            let (_, report) = intersect(first.release, second.release, &samples.register)?;
            let (class, quarter) = (figure(&report, "class"), figure(&report, "pvp_25"));
            findings.items.push(Item {
                id: "X5".into(),
                what: format!("{what}: mean class, PVP_25, PVP_100, vulnerable"),
                paper: String::new(),
                ours: format!(
                    "{class:.0} records, {}, {}, {}",
                    percent(quarter),
                    percent(figure(&report, "pvp_100")),
                    percent(figure(&report, "vp_share"))
                ),
                settings,
                holds: None,
            });
            Ok(Some((class, quarter)))
        };
    try_one("k = 10".into(), None)?;
    for l in 2..=5u32 {
        let more = requirement("entropy-l-diversity", &[("l", l.to_string())])?;
        if let Some((class, quarter)) =
            try_one(format!("k = 10 and entropy {l}-diversity"), Some(more))?
        {
            lines[0].1.push((f64::from(l), quarter));
            classes.push((f64::from(l), class));
        }
    }
    for t in ["0.6", "0.4", "0.2"] {
        let more = requirement("t-closeness", &[("t", t.to_owned())])?;
        try_one(format!("k = 10 and {t}-closeness"), Some(more))?;
    }
    let y = "share of shared people whose value is found with a confidence of 25 %";
    let chart = Chart {
        title: "Partial breach with ℓ-diversity".into(),
        x: "ℓ".into(),
        y: y.into(),
        lines,
    };
    findings.draw("diversity-breach", &chart);
    let lines = vec![("k = 10 and entropy ℓ-diversity".to_owned(), classes)];
    let y = "mean number of records that fit a shared person".to_owned();
    findings.draw(
        "diversity-classes",
        &Chart { title: "Class sizes with ℓ-diversity".into(), x: "ℓ".into(), y, lines },
    );
    Ok(findings)
}

/// X11: the share of people whose nearest centroid is their own group's.
pub(super) fn locating(laboratory: &Laboratory<'_>) -> Result<Findings, Failures> {
    let records: Vec<u32> = (0..laboratory.row_of.len() as u32).collect();
    let part = laboratory.part(&records);
    let register = people(laboratory, &records)?;
    let mut findings = Findings::default();
    let mut line = Vec::new();
    for k in SIZES {
        let made = release(
            &part,
            &*algorithm("microaggregation", &[("method", "mdav")])?,
            &k_anonymity(k)?,
            1,
        )?;
        let Form::Generalized(form) = &made.form else { continue };
        // Which classes the records of each row are in, and how many of them.
        let mut classes_of: Vec<Vec<(u32, u32)>> = vec![Vec::new(); part.table.rows()];
        for (class, members) in (0u32..).zip(&form.classes) {
            members.members.iter().for_each(|m| classes_of[m.row as usize].push((class, m.count)));
        }
        let found = locate(&made.release, &register, &Watch::silent());
        let right: f64 = part
            .row_of
            .iter()
            .enumerate()
            .map(|(record, &row)| {
                let candidates = &found.sets[found.set_of[record] as usize];
                let all: u32 = classes_of[row as usize].iter().map(|(_, n)| n).sum();
                let there = |class: u32| candidates.iter().any(|c| c.group == class);
                let hits: u32 = classes_of[row as usize]
                    .iter()
                    .filter(|(c, _)| there(*c))
                    .map(|(_, n)| n)
                    .sum();
                f64::from(hits) / f64::from(all) / candidates.len().max(1) as f64
            })
            .sum::<f64>()
            / part.row_of.len() as f64;
        line.push((k as f64, right));
        findings.items.push(Item {
            id: "X11".into(),
            what: format!("people whose nearest centroid is their group's, k = {k}"),
            paper: if k == 5 { "about 70 % (census data)".into() } else { String::new() },
            ours: percent(right),
            settings: "MDAV on all records; numbers in standard deviations, words 0 or 1".into(),
            holds: None,
        });
    }
    let lines = vec![("MDAV".to_owned(), line)];
    let y = "share of people located right".to_owned();
    findings.draw(
        "locating",
        &Chart { title: "Locating people by the nearest centroid".into(), x: "k".into(), y, lines },
    );
    Ok(findings)
}
