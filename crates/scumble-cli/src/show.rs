//! Answers as text for a person.

use crate::remedy;
use crate::terminal::one_line;
use scumble::exact::Ratio;
use scumble::failure::Failure;
use scumble_publisher::answer::{
    Answered, Checked, ColumnProfile, Compared, ComparedPolicy, EngineReport, Estimate, Estimated,
    Exposed, Exposure, FreeformAttacks, Groups, Inspection, Limits, Loaded, LoadedTable, Model,
    Number, Outcome, Passage, Published, Reason, Remedy, SinglingOutSet, Tried, Verified,
    VerifyOutcome, Witness,
};
use std::borrow::Cow;
use std::fmt::Write as _;

/// 1234567 as 1 234 567.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(c);
    }
    out
}

/// A number with its noun.
pub fn counted(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(n), if n == 1 { one } else { many })
}

/// A number as people read it: whole, a short fraction with its decimal, or a decimal.
pub fn number(n: &Number) -> String {
    match (&n.value, &n.exact) {
        (None, _) => "∞".into(),
        (Some(value), Some(exact)) if exact.contains('/') && exact.len() <= 9 => {
            format!("{exact} ≈ {value:.4}")
        }
        (Some(_), Some(exact)) if !exact.contains('/') => exact.clone(),
        (Some(value), _) => format!("{value:.4}"),
    }
}

/// Answer of `estimate`.
pub fn estimated(a: &Estimated) -> String {
    let head = ["value", "shown", "estimated", "±"].map(str::to_owned).to_vec();
    let row = |v: &Estimate| {
        vec![
            v.value.clone(),
            grouped(v.shown),
            format!("{:.1}", v.estimated),
            format!("{:.1}", v.error),
        ]
    };
    let rows: Vec<Vec<String>> = std::iter::once(head).chain(a.values.iter().map(row)).collect();
    format!(
        "{} was randomized: a value was kept with probability {}. Of {}:\n\n{}\n\
         Estimates are right on average; ± is one standard error.\n",
        a.column,
        a.keep.exact.as_deref().unwrap_or_default(),
        counted(a.records, "record", "records"),
        table(&rows)
    )
}

/// Rows with aligned columns; the last column is not padded.
pub fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    // A line end in a value would begin a line that nobody wrote.
    let rows: Vec<Vec<Cow<'_, str>>> =
        rows.iter().map(|row| row.iter().map(|cell| one_line(cell)).collect()).collect();
    let width = |c: usize| {
        rows.iter().filter_map(|r| r.get(c)).map(|t| t.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut out = String::new();
    for row in &rows {
        let mut line = String::from("  ");
        for (cell, w) in row.iter().zip(&widths) {
            let _ = write!(line, "{cell}{}  ", " ".repeat(w - cell.chars().count()));
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

fn name_of(m: &Model) -> String {
    match m.parameters.get("distance") {
        Some(distance) if distance != "equal" => format!("{}, {distance}", m.name),
        _ => m.name.clone(),
    }
}

fn about(m: &Model) -> String {
    let on = m.on.as_ref().map(|on| format!("on {}", on.join(", ")));
    [m.attribute.clone(), on].into_iter().flatten().collect::<Vec<_>>().join(" ")
}

fn promised(models: &[Model]) -> String {
    let head = ["model", "about", "asked", "measured", ""].map(str::to_owned).to_vec();
    let row = |m: &Model| {
        if m.name == "predicate" {
            let word = |n: &Number| (n.value == Some(1.0)).to_string();
            let kept = if m.holds == Some(true) { "kept" } else { "BROKEN" };
            return vec![name_of(m), about(m), "true".into(), word(&m.measured), kept.into()];
        }
        // As it is written in the policy, not as the fraction that it is.
        let exact = m.required.as_ref().and_then(|r| r.exact.as_deref());
        let same = |text: &&String| Ratio::parse(text).map(|r| r.to_string()).as_deref() == exact;
        let written =
            m.parameters.values().find(same).cloned().or_else(|| m.required.as_ref().map(number));
        let band =
            m.parameters.get("min").zip(m.parameters.get("max")).filter(|(min, _)| *min != "0");
        let asked = match (&m.must_be, written, band) {
            (_, _, Some((least, most))) => format!("{least} to {most}"),
            (Some(how), Some(text), None) => format!("{how} {text}"),
            _ => String::new(),
        };
        let rank = m.parameters.get("l").filter(|_| m.name == "recursive-l-diversity");
        let asked = rank.map_or_else(|| asked.clone(), |l| format!("{asked} (ℓ = {l})"));
        let kept = if m.holds == Some(true) { "kept" } else { "BROKEN" };
        vec![name_of(m), about(m), asked, number(&m.measured), kept.into()]
    };
    let witnesses: String =
        models.iter().filter_map(|m| Some(witness(m, m.witness.as_ref()?))).collect();
    table(&std::iter::once(head).chain(models.iter().map(row)).collect::<Vec<_>>()) + &witnesses
}

/// The belief that changes most, and whose it is if values were asked for.
fn witness(m: &Model, w: &Witness) -> String {
    let (prior, posterior, change) = (number(&w.prior), number(&w.posterior), number(&w.change));
    let shown =
        |text: &str| if text.is_empty() { "a missing value".to_owned() } else { text.to_owned() };
    let person: Vec<String> =
        w.person.iter().map(|(name, value)| format!("{name} {}", shown(value))).collect();
    let person = if person.is_empty() {
        "--show-values tells of whom".into()
    } else {
        format!("of a person with {}", person.join(", "))
    };
    format!(
        "\n  {}, {}: the belief in {} changes most, from {prior} to {posterior}, by {change}\n  ({person})\n",
        m.name,
        about(m),
        shown(&w.value)
    )
}

fn reasons(reasons: &[Reason]) -> String {
    let shown = |r: &Reason| remedy::told(&Failure::from(r));
    reasons.iter().map(|r| format!("  {}\n", shown(r).replace('\n', "\n  "))).collect()
}

/// The warnings, with an empty line before them; nothing if there are none.
pub fn warnings(list: &[String]) -> String {
    let lines: String = list.iter().map(|w| format!("warning: {w}\n")).collect();
    if lines.is_empty() { lines } else { format!("\n{lines}") }
}

/// How many groups, of how many records.
fn groups(g: &Groups) -> String {
    let number = counted(g.number, "group", "groups");
    let counterfeits = match g.counterfeits {
        0 => String::new(),
        n => format!(" with {}", counted(n, "counterfeit", "counterfeits")),
    };
    match g.smallest == g.largest {
        true => format!("{number} of {}{counterfeits}", counted(g.largest, "record", "records")),
        false => format!(
            "{number} of {} to {} records{counterfeits}",
            grouped(g.smallest),
            grouped(g.largest)
        ),
    }
}

/// How many losses stand on a line.
const PER_LINE: usize = 4;

/// The answer of `publish`.
pub fn published(a: &Published) -> String {
    if a.outcome == Outcome::Refused {
        let (reasons, warnings) = (reasons(&a.reasons), warnings(&a.warnings));
        let (gate, remedies) = (gate(&a.gate), remedies(&a.remedies) + &tried(&a.tried));
        let file = a
            .exposed_file
            .as_ref()
            .map_or(String::new(), |file| format!("\n  everybody exposed: {file}\n"));
        return format!(
            "Refused: nothing was published.\n\n{reasons}{gate}{file}{remedies}{warnings}"
        );
    }
    let mut out = String::new();
    let verb = if a.outcome == Outcome::Published {
        "Published"
    } else {
        "Would publish (dry run, nothing written)"
    };
    let _ = writeln!(out, "{verb}: {}\n", a.release);
    let suppressed = if a.suppressed == 0 { "none".into() } else { grouped(a.suppressed) };
    let (rows, classes) =
        (counted(a.rows, "record", "records"), counted(a.classes, "class", "classes"));
    let classes = a.groups.as_ref().map_or(classes, groups);
    let _ = writeln!(out, "  {rows} in {classes}, {suppressed} suppressed\n");
    out.push_str(&promised(&a.models));
    out.push_str(&gate(&a.gate));
    out.push_str(&remedies(&a.remedies));
    let loss: Vec<String> =
        a.utility.iter().map(|(name, loss)| format!("{name} {}", short(loss.value))).collect();
    let lines: Vec<String> = loss.chunks(PER_LINE).map(|line| line.join(" · ")).collect();
    let _ = writeln!(out, "\n  loss: {}", lines.join("\n        "));
    for p in &a.perturbed {
        let more = [
            p.sse.map(|x| format!("SSE/SST {}", short(x))),
            p.epsilon.map(|x| format!("ε {}", short(x))),
        ];
        let more: String = more.into_iter().flatten().map(|m| format!(", {m}")).collect();
        let methods = p.methods.join(", ");
        let changed = 100.0 * p.changed;
        let _ = writeln!(
            out,
            "  perturbed: {} ({methods}), {changed:.1} % of values changed, distribution moved by {}{more}",
            p.column,
            short(p.distance)
        );
    }
    let second = |name| a.seconds.get(name).copied().unwrap_or(0.0);
    let _ = write!(
        out,
        "  time: {:.2} s (read {:.2}, anonymize {:.2}",
        second("total"),
        second("read"),
        second("anonymize")
    );
    if a.outcome == Outcome::Published {
        let _ = write!(
            out,
            ", write {:.2}, read back and judge again {:.2}",
            second("write"),
            second("verify")
        );
    }
    out.push_str(")\n");
    if let Some(e) = &a.engine {
        let _ = writeln!(out, "  {}", counted_by(e));
    }
    if let Some(r) = &a.recorded {
        let _ = writeln!(out, "  recorded: entry {} of {}", r.entry, r.ledger);
    }
    out.push_str(&warnings(&a.warnings));
    out
}

/// What an engine did.
pub fn counted_by(e: &EngineReport) -> String {
    let (rows, passes) =
        (counted(e.rows, "record", "records"), counted(e.passes, "pass", "passes"));
    let spilled = if e.spilled == 0 {
        String::new()
    } else {
        format!(", {} MB spilled", e.spilled.div_ceil(1 << 20))
    };
    let distinct = match e.distinct {
        0 => format!("level by level (about {} distinct)", grouped(e.expected)),
        n => format!("{} distinct (about {} expected)", grouped(n), grouped(e.expected)),
    };
    format!("engine: {}, {rows} in {passes}, {distinct}{spilled}", e.name)
}

/// What would pass, or did.
fn remedies(list: &[Remedy]) -> String {
    if list.is_empty() {
        return String::new();
    }
    let head = ["", "what would pass", "records", "suppressed", "error of queries", "gcp", ""];
    let row = |r: &Remedy| {
        let gcp = r.gcp.map_or_else(|| "–".into(), short);
        let asks = r.asks.as_ref().map_or(String::new(), |why| format!("only by number: {why}"));
        let last = if r.applied { "published".into() } else { asks };
        let (records, suppressed) = (grouped(r.records), grouped(r.suppressed));
        vec![r.number.to_string(), r.what.clone(), records, suppressed, share(r.loss), gcp, last]
    };
    let rows = std::iter::once(head.map(str::to_owned).to_vec()).chain(list.iter().map(row));
    let best = list.iter().find(|r| r.asks.is_none());
    let next = match (list.iter().any(|r| r.applied), best) {
        (true, _) => String::new(),
        (false, Some(r)) => {
            format!(
                "\n  `--repair {}` publishes the first of these, `--repair` alone number {}.\n",
                list[0].number, r.number
            )
        }
        (false, None) => {
            format!("\n  `--repair {}` publishes the first of these.\n", list[0].number)
        }
    };
    format!("\n{}{next}", table(&rows.collect::<Vec<_>>()))
}

/// Changes that do not pass: so many of the nearest.
const TRIED: usize = 8;

/// What was tried and does not pass, and how near it came.
fn tried(list: &[Tried]) -> String {
    if list.is_empty() {
        return String::new();
    }
    let mut out = "\n  tried, and does not pass:\n".to_owned();
    for t in list.iter().take(TRIED) {
        let near = match (t.exposed, t.certain) {
            (0, _) => t.because.clone(),
            (exposed, 0) => format!("{} still exposed", counted(exposed, "person", "people")),
            (exposed, certain) if exposed == certain => {
                format!("{} still certain", counted(certain, "person", "people"))
            }
            (exposed, certain) => format!(
                "{} still exposed, {} certain",
                counted(exposed, "person", "people"),
                grouped(certain)
            ),
        };
        let _ = writeln!(out, "    {}: {near}", t.what);
    }
    if list.len() > TRIED {
        let _ = writeln!(out, "    … (`--json` tells all of them)");
    }
    out
}

/// The attribute that a passage is about, and which values of it.
fn passage_about(p: &Passage) -> String {
    if p.replaced { format!("{}, before it changed", p.attribute) } else { p.attribute.clone() }
}

/// What everybody learns from the release together with earlier ones.
fn gate(passages: &[Passage]) -> String {
    if passages.is_empty() {
        return String::new();
    }
    let head = [
        "seen by",
        "about",
        "releases",
        "people",
        "certain",
        "newly",
        "fewest values",
        "strongest belief",
        "",
    ];
    let row = |p: &Passage| {
        let by = p.by.as_ref().map_or(String::new(), |by| format!(" ({by})"));
        let verdict = match (p.holds, p.judged) {
            (_, false) => "not judged",
            (true, _) => "passes",
            (false, _) => "EXPOSED",
        };
        vec![
            p.adversary.clone(),
            passage_about(p),
            p.releases.len().to_string(),
            grouped(p.people),
            grouped(p.certain),
            grouped(p.newly),
            p.fewest.map_or("nothing told".into(), grouped),
            p.strongest.map_or("not looked at".into(), |belief| format!("{belief:.4}{by}")),
            verdict.into(),
        ]
    };
    let rows = std::iter::once(head.map(str::to_owned).to_vec()).chain(passages.iter().map(row));
    let mut out = format!("\n{}", table(&rows.collect::<Vec<_>>()));
    let mut told: Vec<&str> = Vec::new();
    for p in passages {
        if !told.contains(&p.attribute.as_str()) {
            told.push(&p.attribute);
            let _ = writeln!(out, "  allowed of {}: {}", p.attribute, limits(&p.limits));
        }
    }
    for p in passages {
        let exposed: String = p.people_exposed.iter().map(exposure).collect();
        if !exposed.is_empty() {
            let people = counted(p.exposed, "person", "people");
            let _ = write!(
                out,
                "\n  exposed to {}, {}: {people}\n{exposed}",
                p.adversary,
                passage_about(p)
            );
            if p.people_exposed.iter().map(|e| e.who.len() as u64).sum::<u64>() < p.exposed {
                let _ = writeln!(out, "    … (`--exposed FILE` writes all of them)");
            }
        }
        for note in &p.notes {
            let _ = writeln!(out, "  {}: {note}", p.adversary);
        }
    }
    out
}

/// What the gate allows, in words.
fn limits(l: &Limits) -> String {
    let certain = match l.certain {
        0 => "nobody certain".to_owned(),
        n => format!("{} certain over all releases", counted(n, "person", "people")),
    };
    let candidates =
        l.candidates.map_or(String::new(), |n| format!(", at least {n} possible values"));
    let belief = match (&l.posterior, l.posterior_given) {
        (Some(most), true) => format!(", belief up to {}", number(most)),
        (Some(most), false) => {
            format!(", belief by composition up to {} (default, from the models)", number(most))
        }
        (None, true) => ", every belief".into(),
        (None, false) => ", every belief, as no model protects it".into(),
    };
    certain + &candidates + &belief
}

/// People whom a release would expose, and why if that was asked for.
fn exposure(e: &Exposure) -> String {
    let who = e.who.join(", ");
    let more = e.people as usize - e.who.len();
    let who = if more > 0 { format!("{who} and {} more", grouped(more as u64)) } else { who };
    let value = e.value.as_ref().map(|v| if v.is_empty() { "a missing value" } else { v });
    let what = match (e.what, value) {
        (Exposed::Certain, Some(value)) => format!("certain: {value}"),
        (Exposed::Certain, None) => "the value is certain".into(),
        (Exposed::Posterior, value) => {
            let about = value.map_or(String::new(), |v| format!(" in {v}"));
            format!("belief{about} rises from {:.4} to {:.4}", e.before, e.after)
        }
        (Exposed::Response, _) => {
            format!("ε of randomized responses rises from {:.4} to {:.4}", e.before, e.after)
        }
        (_, _) if e.before == 0.0 => format!("{} possible values", e.after),
        (_, _) => format!("{} possible values, before {}", e.after, e.before),
    };
    let from = if e.releases.is_empty() {
        String::new()
    } else {
        format!("; given by {}", e.releases.join(", "))
    };
    let because: String = e.because.iter().map(|line| format!("      {line}\n")).collect();
    format!("    {who}: {what}{from}\n{because}")
}

/// The answer of `load`.
pub fn loaded(a: &Loaded) -> String {
    let mut out = format!("Loaded {} into {}\n\n", a.release, a.into);
    let head = ["table", "rows", "of"].map(str::to_owned).to_vec();
    let row = |t: &LoadedTable| vec![t.table.clone(), t.rows.to_string(), t.file.clone()];
    out.push_str(&table(&[vec![head], a.tables.iter().map(row).collect()].concat()));
    out
}

/// What the roles mean to somebody who verifies a release.
const ROLES: [(&str, &str); 5] = [
    ("quasi-identifier", "known to an adversary, judged"),
    ("freeform", "known in part and secret in part, judged"),
    ("sensitive", "secret, judged"),
    ("insensitive", "PUBLISHED UNCHANGED, judged by no model"),
    ("identifier", "NAMES PEOPLE"),
];

/// The answer of `verify`.
pub fn verified(a: &Verified) -> String {
    let m = &a.certificate.measured;
    let mut out = match a.outcome {
        VerifyOutcome::Verified => format!(
            "True: everything that is certified of {} is so, under these roles:\n\n",
            a.release
        ),
        VerifyOutcome::Incomplete => format!(
            "NOT VERIFIED: {} cannot be vouched for; the roles are said to be:\n\n",
            a.release
        ),
        VerifyOutcome::False => {
            format!("FALSE: {} is not as certified; the roles are said to be:\n\n", a.release)
        }
    };
    for (role, about) in ROLES {
        let names: Vec<&str> =
            a.columns.iter().filter(|c| c.role.name() == role).map(|c| c.name.as_str()).collect();
        if !names.is_empty() {
            let _ = writeln!(out, "  {about}: {}", names.join(", "));
        }
    }
    out.push('\n');
    let s = &m.singling_out;
    let mut rows = vec![
        ["in the words of WP216", "highest", "average", ""].map(str::to_owned).to_vec(),
        vec![
            "singling out".into(),
            number(&s.highest),
            number(&s.average),
            format!(
                "{} in {}",
                counted(s.records, "record", "records"),
                counted(s.classes, "class", "classes")
            ),
        ],
    ];
    for i in &m.inference {
        let fewest = i.possible.first().map_or(0, |p| p.values);
        let left = format!("at least {} possible", counted(fewest, "value is", "values are"));
        rows.push(vec![
            format!("inference, {}", i.attribute),
            number(&i.highest),
            number(&i.average),
            left,
        ]);
    }
    out.push_str(&table(&rows));
    let wrong: Vec<_> = a.checked.iter().filter(|c| !c.holds).collect();
    let _ = writeln!(
        out,
        "\n  {}, {} true",
        counted(a.checked.len() as u64, "claim", "claims"),
        a.checked.len() - wrong.len()
    );
    for c in wrong {
        let _ = writeln!(out, "  {}: certified {}, found {}", c.claim, c.said, c.found);
    }
    for claim in &a.unchecked {
        let _ = writeln!(out, "  NOT CHECKED: {claim}");
    }
    if !a.word.is_empty() {
        out.push_str("  not verifiable from the folder, the publisher's word:\n");
    }
    for word in &a.word {
        let _ = writeln!(out, "    {} ({})", word.about, word.path);
    }
    // A text that is not ours stands among the false claims, and nowhere else.
    if a.outcome != VerifyOutcome::False {
        let _ = writeln!(out, "\n  {}", a.certificate.statement);
    }
    out
}

/// Up to four digits that matter.
fn short(x: f64) -> String {
    if x == 0.0 || (x.fract() == 0.0 && x.abs() < 1e15) {
        return grouped(x as u64);
    }
    if x >= 1000.0 { format!("{x:.0}") } else { format!("{x:.4}") }
}

/// The answer of `compare`: a column for every policy.
pub fn compared(a: &Compared) -> String {
    let rows = &a.policies;
    let mut lines: Vec<Vec<String>> = Vec::new();
    let mut line = |name: String, cell: &dyn Fn(&ComparedPolicy) -> Option<String>| {
        let cells: Vec<Option<String>> = rows.iter().map(cell).collect();
        if cells.iter().any(Option::is_some) {
            let cells = cells.into_iter().map(|c| c.unwrap_or_else(|| "–".into()));
            lines.push(std::iter::once(name).chain(cells).collect());
        }
    };
    let made = |r: &ComparedPolicy, text: String| (r.outcome != Outcome::Refused).then_some(text);
    line("policy".into(), &|r| Some(r.policy.clone()));
    let mut keys: Vec<&str> = Vec::new();
    for chosen in rows.iter().flat_map(|r| &r.set) {
        if !keys.contains(&chosen.key.as_str()) {
            keys.push(&chosen.key);
        }
    }
    // The algorithm's name has a line of its own anyway.
    for key in keys.into_iter().filter(|key| *key != "algorithm.name") {
        line(key.to_owned(), &|r| Some(r.set.iter().find(|c| c.key == key)?.value.clone()));
    }
    line("algorithm".into(), &|r| Some(r.algorithm.clone()));
    line("outcome".into(), &|r| Some(r.outcome.to_string()));
    let mut named: Vec<String> = Vec::new();
    let title = |m: &Model| [name_of(m), about(m)].join(" ").trim_end().to_owned();
    for m in rows.iter().flat_map(|r| &r.models).map(title) {
        if !named.contains(&m) {
            named.push(m);
        }
    }
    for name in named {
        line(name.clone(), &|r| {
            Some(number(&r.models.iter().find(|m| title(m) == name)?.measured))
        });
    }
    line("classes".into(), &|r| made(r, grouped(r.classes)));
    line("suppressed".into(), &|r| made(r, grouped(r.suppressed)));
    line("risk, highest".into(), &|r| Some(number(&r.risk.as_ref()?.prosecutor.max)));
    line("risk, average".into(), &|r| {
        Some(format!("{:.4}", r.risk.as_ref()?.prosecutor.average.to_f64()))
    });
    for metric in scumble::catalogue::METRICS {
        line(metric.name.into(), &|r| r.utility.get(metric.name).map(|loss| short(loss.value)));
    }
    let asked = rows.iter().find_map(|r| r.queries.as_ref()).map_or(0, |q| q.number);
    line(format!("error of {asked} queries, median"), &|r| Some(share(r.queries.as_ref()?.median)));
    line("error, 90 % are below".into(), &|r| Some(share(r.queries.as_ref()?.p90)));
    line("seconds".into(), &|r| r.seconds.get("total").map(|s| format!("{s:.2}")));
    let mut out = table(&lines);
    for r in rows.iter().filter(|r| r.outcome == Outcome::Refused) {
        let _ = write!(out, "\n{} was refused:\n\n{}", r.label(), reasons(&r.reasons));
    }
    if let Some(file) = &a.picture {
        let _ = writeln!(out, "\nDrew {file}.");
    }
    out
}

/// The answer of `query`.
pub fn answered(a: &Answered) -> String {
    let mut lines = vec![vec!["about".to_owned(), "query".into()]];
    // An expectation of many records is not known to a tenth of one; one of a part of a record is.
    let decimals = |x: f64| if x >= 100.0 { 0 } else { 1 + 2 * usize::from(x < 1.0) };
    let shown = |x: f64| format!("{x:.*}", decimals(x));
    for c in &a.answers {
        let about = c.estimate.map_or_else(|| "unknown".to_owned(), shown);
        let why = match c.unknown[..] {
            [] => String::new(),
            _ => format!("  (the release does not tell of {})", c.unknown.join(", ")),
        };
        lines.push(vec![about, format!("{}{why}", c.query)]);
    }
    format!("{}{}", table(&lines), warnings(&a.warnings))
}

/// The answer of `check`.
pub fn checked(a: &Checked) -> String {
    let mut out = String::new();
    let (rows, classes) =
        (counted(a.rows, "record", "records"), counted(a.classes, "class", "classes"));
    let _ = writeln!(
        out,
        "{rows} in {classes}; the smallest class has {}",
        counted(a.k, "record", "records")
    );
    if let Some(g) = &a.groups {
        let _ = writeln!(out, "anatomized: sensitive values are those of {}", groups(g));
    }
    out.push('\n');
    let head = vec!["model".to_owned(), "about".into(), "measured".into()];
    let row = |m: &Model| {
        let rank = m.parameters.get("l").map(|l| format!(" at ℓ = {l}")).unwrap_or_default();
        let measured = match m.name.as_str() {
            "recursive-l-diversity" if m.measured.value.is_none() => format!("no c suffices{rank}"),
            "recursive-l-diversity" => format!("c above {}{rank}", number(&m.measured)),
            _ => number(&m.measured),
        };
        vec![name_of(m), about(m), measured]
    };
    // A rank that no class reaches says nothing more than the first such rank.
    let mut seen_infinite = std::collections::BTreeSet::new();
    let shown: Vec<&Model> = a
        .models
        .iter()
        .filter(|m| m.measured.value.is_some() || seen_infinite.insert(about(m)))
        .collect();
    out.push_str(&table(
        &std::iter::once(head).chain(shown.into_iter().map(row)).collect::<Vec<_>>(),
    ));
    let risk = |name: &str, f: &scumble_publisher::answer::RiskFigures| {
        vec![name.to_owned(), number(&f.max), format!("{:.4}", f.average.to_f64())]
    };
    out.push('\n');
    out.push_str(&table(&[
        vec!["risk of re-identification".into(), "highest".into(), "average".into()],
        risk("prosecutor: knows who is in it", &a.risk.prosecutor),
        risk("journalist: has a register", &a.risk.journalist),
        risk("marketer: matches everybody", &a.risk.marketer),
    ]));
    let _ = writeln!(out, "\n  alone in their class: {}", counted(a.uniques, "record", "records"));
    if let Some(u) = &a.risk.population_uniques {
        let others = u.estimates.iter().filter(|(name, _)| **name != "dankar");
        let others: Vec<String> = others.map(|(name, x)| format!("{name} {}", share(*x))).collect();
        let (people, all) = (grouped(u.population), others.join(", "));
        let _ = writeln!(
            out,
            "  alone among {people} people, estimated: {} of the records ({all})",
            share(u.share)
        );
    }
    out.push_str(&sizes(a));
    if let Some(keeps) = a.keeps {
        let _ = write!(
            out,
            "\n{}\n\n",
            if keeps { "Keeps its promises:" } else { "BREAKS its promises:" }
        );
        out.push_str(&promised(&a.promises));
        if !keeps {
            out.push('\n');
            out.push_str(&reasons(&a.reasons));
        }
    }
    a.freeform.iter().for_each(|f| out.push_str(&freeform(f)));
    out.push_str(&warnings(&a.warnings));
    out
}

/// The freeform attacks that break a promise.
fn freeform(f: &FreeformAttacks) -> String {
    let count = |name: &str| {
        f.figures.iter().find(|figure| figure.name == name).map_or(0, |figure| figure.value as u64)
    };
    let known = f.parameters.get("known").filter(|p| *p != "0");
    let values = |p: &str| if p == "1" { "one value".into() } else { format!("{p} values") };
    let known = known.map_or_else(String::new, |p| format!(", {} known at most", values(p)));
    let mut out = format!(
        "\nFreeform attacks{known}: {}, {} of them minimal, about {}\n",
        counted(count("breaches"), "breach", "breaches"),
        grouped(count("minimal")),
        counted(count("people"), "record", "records")
    );
    if f.words.is_empty() {
        out.push_str("  (--show-values lists them)\n");
    }
    f.words.iter().for_each(|words| out.push_str(&format!("  {words}\n")));
    out
}

/// How many records stand in classes of which size: a picture in characters.
fn sizes(a: &Checked) -> String {
    let bounds = [1, 2, 3, 5, 10, 20, 50, 100, 1000];
    let mut records = [0u64; 9];
    for (&size, &classes) in &a.sizes {
        records[bounds.partition_point(|&b| b <= size) - 1] += size * classes;
    }
    let most = records.iter().copied().max().unwrap_or(1).max(1);
    let mut rows = vec![vec!["class size".to_owned(), "records".into(), String::new()]];
    for (i, &n) in records.iter().enumerate().filter(|(_, n)| **n > 0) {
        let name = match bounds.get(i + 1) {
            Some(&next) if next == bounds[i] + 1 => bounds[i].to_string(),
            Some(&next) => format!("{}–{}", bounds[i], next - 1),
            None => format!("{} or more", grouped(bounds[i])),
        };
        rows.push(vec![name, grouped(n), "█".repeat((n * 40).div_ceil(most) as usize)]);
    }
    format!("\n{}", table(&rows))
}

/// How many minimal sets a person reads.
const SETS: usize = 12;

/// The answer of `inspect`.
pub fn inspected(a: &Inspection) -> String {
    let mut out = format!(
        "{} in {}\n\n",
        counted(a.rows, "record", "records"),
        counted(a.columns.len() as u64, "column", "columns")
    );
    let head = ["column", "kind", "distinct", "missing", "likely role", "because"]
        .map(str::to_owned)
        .to_vec();
    let row = |c: &ColumnProfile| {
        let role =
            if c.person { format!("{}, person", c.role.name()) } else { c.role.name().to_owned() };
        vec![
            c.name.clone(),
            c.kind.to_string(),
            grouped(c.distinct),
            grouped(c.missing),
            role,
            c.reason.clone(),
        ]
    };
    out.push_str(&table(
        &std::iter::once(head).chain(a.columns.iter().map(row)).collect::<Vec<_>>(),
    ));
    for (column, values) in a.columns.iter().filter_map(|c| Some((c, c.values.as_ref()?))) {
        let _ = writeln!(out, "  values of {}: {} …", column.name, values.commonest.join(", "));
    }
    if a.minimal_sets == 0 {
        let _ = writeln!(out, "\nNobody is singled out by up to {} columns.", a.max_columns);
    } else {
        let sets = counted(a.minimal_sets, "smallest set", "smallest sets");
        let _ = writeln!(out, "\nSingled out by up to {} columns ({sets}):\n", a.max_columns);
        let row =
            |s: &SinglingOutSet| vec![s.columns.join(" + "), grouped(s.people), share(s.share)];
        let head = vec!["columns".to_owned(), "people".into(), String::new()];
        out.push_str(&table(
            &std::iter::once(head)
                .chain(a.singling_out.iter().take(SETS).map(row))
                .collect::<Vec<_>>(),
        ));
        if a.singling_out.len() > SETS {
            let _ =
                writeln!(out, "  … and {} more (--json lists them)", a.singling_out.len() - SETS);
        }
    }
    if !a.together.columns.is_empty() {
        let (names, people) = (a.together.columns.join(" + "), grouped(a.together.people));
        let _ = writeln!(
            out,
            "\nAll likely quasi-identifiers together ({names}) single out {people} people, {}.",
            share(a.together.share)
        );
    }
    out.push_str(&warnings(&a.warnings));
    out
}

fn share(x: f64) -> String {
    format!("{:.1} %", 100.0 * x)
}
