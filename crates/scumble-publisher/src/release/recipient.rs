//! What published texts mean to a recipient, who has the release and nothing else.
//!
//! Two texts are two values: whoever holds the release can tell them apart, whatever they stand
//! for. So a taxonomy is made from the texts in which each of them has a run of its own, and a
//! column for which there is none is refused.
//!
//! [`as_read`] gives the release that will be read from the files before they are written. What is
//! judged, estimated and said about a release is judged, estimated and said of it, so that a dry
//! run and a publication agree.

use super::anatomized;
use hashbrown::HashMap;
use scumble::algorithm::Requirement;
use scumble::class::{EquivalenceClass, Histogram, Run};
use scumble::encode::encode;
use scumble::failure::{Failure, Failures};
use scumble::freeform::{Specification, attach};
use scumble::release::{GroupedRecords, Release, Shape};
use scumble::table::{Attribute, Hidden, join, published};
use scumble::taxonomy::{ROOT, Rule, Taxonomy};
use std::collections::{BTreeMap, BTreeSet};

/// A column and how its values are to be understood.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub name: String,
    pub rule: Option<Rule>,
    /// Whether masked texts are all as long as the longest of them, as earlier builds wrote them.
    pub as_long_as_longest: bool,
    /// The rows of its taxonomy, if the rule names a file.
    pub rows: Option<Vec<Vec<String>>>,
    /// The rows of the whole file, where only a part of it is published and the values of a
    /// register must be placed.
    pub whole: Option<Vec<Vec<String>>>,
    /// Labels that do not stand for all below them, each with what is shown by itself.
    pub exceptions: BTreeMap<String, Vec<String>>,
    pub freeform: Option<Specification>,
}

impl Wanted {
    /// The same, with the length of masked texts where only the texts themselves tell it.
    fn with_masks_of(&self, labels: &[&str]) -> Wanted {
        let mut w = self.clone();
        if let (true, Some(Rule::Prefix(rule))) = (w.as_long_as_longest, &mut w.rule) {
            let masked = labels.iter().filter(|l| l.ends_with(ROOT) && **l != ROOT);
            rule.length = masked.map(|label| label.chars().count()).max();
        }
        w
    }

    /// A column of which only the name is known.
    pub fn named(name: &str) -> Wanted {
        Wanted {
            name: name.to_owned(),
            rule: None,
            as_long_as_longest: false,
            rows: None,
            whole: None,
            exceptions: BTreeMap::new(),
            freeform: None,
        }
    }
}

/// Which further values of a column must have a meaning, given its name, its rule and its labels.
pub(crate) type Named<'a> = &'a dyn Fn(&str, Option<&Rule>, &[&str]) -> Vec<String>;

/// No further values.
pub(crate) fn nothing_else(_: &str, _: Option<&Rule>, _: &[&str]) -> Vec<String> {
    Vec::new()
}

/// The texts that registers of the requirements have in a column.
fn registered(requirements: &[Requirement], name: &str) -> Vec<String> {
    let registers = requirements.iter().filter_map(|r| r.register.as_ref());
    let columns = registers.flat_map(|register| &register.columns).filter(|c| c.name == name);
    columns.flat_map(|c| c.texts.iter().cloned()).collect()
}

/// The taxonomy of a quasi-identifier in which every label has a run of its own, and those runs.
pub(crate) fn understand(
    w: &Wanted,
    labels: &[&str],
    requirements: &[Requirement],
    named: Named<'_>,
) -> Result<(Taxonomy, Vec<Run>), Failures> {
    let w = &w.with_masks_of(labels);
    let mut others = named(&w.name, w.rule.as_ref(), labels);
    others.extend(registered(requirements, &w.name));
    let known = others.clone();
    let found = attempt(w, labels, &others)?;
    if are_apart(&found.1) {
        return placed_by_whole(w, labels, &known, found);
    }
    // Something must be there that only the wider of two labels stands for, though no label names
    // it.
    let mut wider = w.clone();
    match &mut wider.rows {
        Some(rows) => rows.extend(elsewhere_in_file(rows, labels)),
        None => others.extend(elsewhere(w.rule.as_ref(), &found.0, labels)),
    }
    let found = attempt(&wider, labels, &others)?;
    if are_apart(&found.1) {
        return placed_by_whole(w, labels, &known, found);
    }
    Err(Failure::data(
        "broken-release",
        format!(
            "column `{}` writes one value in several ways, which a recipient can tell apart",
            w.name
        ),
    )
    .hint("no release is written so; take it from where it was published")
    .into())
}

/// Places values that the published part of a file does not name: each stands at a leaf for which
/// exactly those labels stand that stand for it in the whole file.
///
/// Only who has the whole file can do that. Lines for the values of a register are not published
/// instead, because they would tell what is in the register, and neither is a hash of the file,
/// because it would confirm who guesses the values below what is shown.
fn placed_by_whole(
    w: &Wanted,
    labels: &[&str],
    values: &[String],
    (taxonomy, runs): (Taxonomy, Vec<Run>),
) -> Result<(Taxonomy, Vec<Run>), Failures> {
    let Some(rows) = &w.whole else { return Ok((taxonomy, runs)) };
    let other_file = || {
        let message = format!("the taxonomy file of `{}` is not the one of the release", w.name);
        Failures::from(Failure::data("other-taxonomy", message).column(&w.name))
    };
    let whole = Wanted { rows: Some(rows.clone()), whole: None, ..w.clone() };
    let (whole, whole_runs) = attempt(&whole, labels, values).map_err(|_| other_file())?;
    let mut leaf_with: HashMap<Vec<u32>, u32> = HashMap::new();
    for (leaf, over) in (0..).zip(labels_over(&taxonomy, labels, &runs)) {
        leaf_with.entry(over).or_insert(leaf);
    }
    let over = labels_over(&whole, labels, &whole_runs);
    let mut standing = HashMap::new();
    for value in values.iter().filter(|value| taxonomy.find(value).is_none()) {
        // Whom only the root stands for is outside of every label.
        let Some(of) = whole.find(value).map(|leaf| &over[leaf as usize]) else { continue };
        if !of.is_empty() {
            standing.insert(value.clone(), *leaf_with.get(of).ok_or_else(other_file)?);
        }
    }
    Ok((taxonomy.standing_for(standing), runs))
}

/// For each leaf the indices of the labels that stand for it, but the root's, rising.
fn labels_over(taxonomy: &Taxonomy, labels: &[&str], runs: &[Run]) -> Vec<Vec<u32>> {
    let mut over = vec![Vec::new(); taxonomy.leaves()];
    for (label, run) in (0..).zip(runs).filter(|(i, _)| labels[*i as usize] != ROOT) {
        over[run.first as usize..=run.last as usize].iter_mut().for_each(|o| o.push(label));
    }
    over
}

fn attempt(
    w: &Wanted,
    labels: &[&str],
    others: &[String],
) -> Result<(Taxonomy, Vec<Run>), Failures> {
    let others: Vec<&str> = others.iter().map(String::as_str).collect();
    let rule = w.rule.as_ref().unwrap_or(&Rule::Flat);
    let mut taxonomy = Taxonomy::of_labels(&w.name, rule, w.rows.clone(), labels, &others)?;
    if !w.exceptions.is_empty() {
        taxonomy = with_exceptions(&taxonomy, labels, &w.exceptions);
    }
    let runs: Vec<Option<Run>> = labels.iter().map(|label| taxonomy.parse(label)).collect();
    let unknown = runs.iter().filter(|r| r.is_none()).count();
    if unknown > 0 {
        let values =
            if unknown == 1 { "one value".into() } else { format!("{unknown} distinct values") };
        let message = format!("column `{}` has {values} that its taxonomy does not know", w.name);
        return Err(Failure::data("broken-release", message)
            .hint("take the release from where it was published")
            .into());
    }
    Ok((taxonomy, runs.into_iter().flatten().collect()))
}

/// Whether no two labels have the same run.
fn are_apart(runs: &[Run]) -> bool {
    let mut sorted = runs.to_vec();
    sorted.sort_unstable();
    sorted.windows(2).all(|pair| pair[0] != pair[1])
}

/// Values beyond all that are known: one that only `*` stands for, and one for every masked label.
/// On a number or date scale no two words of the rule stand for the same.
fn elsewhere(rule: Option<&Rule>, taxonomy: &Taxonomy, labels: &[&str]) -> Vec<String> {
    if taxonomy.scale().has_cells() {
        return Vec::new();
    }
    // As long as the longest label, and beginning like none: masked by nothing but `*`.
    let length = labels.iter().map(|l| l.chars().count()).max().unwrap_or(1).max(1);
    let free = |c: &char| !labels.iter().any(|label| label.starts_with(*c));
    let fill = ['?', '!', '~', '\u{1}', '\u{2}'].into_iter().find(free).unwrap_or('\u{3}');
    let mut values = vec![std::iter::repeat_n(fill, length).collect()];
    if let Some(Rule::Prefix(rule)) = rule {
        let masked = labels.iter().filter_map(|label| Some((label, rule.kept(label)?)));
        for (label, kept) in masked.filter(|(_, kept)| !kept.is_empty()) {
            values.push(kept.to_owned() + &"?".repeat(label.len() - kept.len()));
        }
    }
    values
}

/// Rows of a taxonomy file with a value of its own for every node that is published.
fn elsewhere_in_file(rows: &[Vec<String>], labels: &[&str]) -> Vec<Vec<String>> {
    let mut more: Vec<Vec<String>> = Vec::new();
    for (i, label) in labels.iter().enumerate() {
        let place = rows
            .iter()
            .find_map(|row| Some((row, row.iter().skip(1).rposition(|l| l == label)? + 1)));
        let root = rows.first().filter(|_| *label == ROOT).map(|row| (row, row.len() - 1));
        if let Some((row, level)) = place.or(root) {
            let own = format!("\u{1}{i}");
            more.push(
                (0..row.len())
                    .map(|l| if l < level { own.clone() } else { row[l].clone() })
                    .collect(),
            );
        }
    }
    more
}

/// The taxonomy of siblings: a value belongs to the narrowest label over it, so that a label does
/// not stand for what is shown by itself.
fn with_exceptions(
    base: &Taxonomy,
    labels: &[&str],
    exceptions: &BTreeMap<String, Vec<String>>,
) -> Taxonomy {
    let named = exceptions
        .iter()
        .flat_map(|(label, apart)| std::iter::once(label).chain(apart))
        .map(String::as_str);
    let nodes: BTreeSet<&str> = labels.iter().copied().chain(named).collect();
    let mut nodes: Vec<(Run, &str)> =
        nodes.into_iter().filter_map(|label| Some((base.parse(label)?, label))).collect();
    // Of two with the same run the one that keeps more of the text is the narrower; `*` is the
    // widest of all.
    let kept = |label: &str| label.trim_end_matches('*').len();
    nodes.sort_by_key(|(run, label)| {
        (run.width(), *label == ROOT, std::cmp::Reverse(kept(label)), *label)
    });
    let mut groups: Vec<(String, Vec<String>)> =
        nodes.iter().map(|(_, l)| ((*l).to_owned(), Vec::new())).collect();
    let mut alone = Vec::new();
    for leaf in 0..base.leaves() as u32 {
        let text = base.leaf(leaf).to_owned();
        match nodes.iter().position(|(run, _)| run.contains(leaf)) {
            Some(at) => groups[at].1.push(text),
            None => alone.push((text.clone(), vec![text])),
        }
    }
    for (at, (_, leaves)) in groups.iter_mut().enumerate() {
        if leaves.is_empty() {
            leaves.push(format!("\u{1}{at}"));
        }
    }
    groups.extend(alone);
    Taxonomy::of_groups(
        groups,
        exceptions.iter().map(|(l, apart)| (l.clone(), apart.clone())).collect(),
    )
    .written_as(base)
}

/// The columns of a release as its manifest describes them.
pub(crate) struct Described {
    pub quasi: Vec<Wanted>,
    pub sensitive: Vec<Wanted>,
    /// Whether the quasi-identifiers pass through and are not here.
    pub outside: bool,
}

/// The release that a recipient will read: the same classes in the taxonomies that follow from what
/// is published.
pub(crate) fn as_read(
    release: &Release,
    described: &Described,
    requirements: &[Requirement],
    named: Named<'_>,
) -> Result<Release, Failures> {
    let mut read = release.clone();
    if !described.outside {
        match release.shape {
            Shape::Groups => grouped_as_read(&mut read, described, requirements, named)?,
            Shape::Regions | Shape::Representatives => {
                regions_as_read(&mut read, described, requirements, named)?
            }
        }
    }
    sensitive_as_read(&mut read, &described.sensitive)?;
    if release.shape != Shape::Groups {
        read.classes.sort_unstable_by(|a, b| a.region.cmp(&b.region));
        // Classes that are written alike are one to a recipient.
        read.classes.dedup_by(|next, kept| {
            let same = next.region == kept.region;
            if same {
                *kept = kept.merge(next);
            }
            same
        });
    }
    Ok(read)
}

fn regions_as_read(
    read: &mut Release,
    described: &Described,
    requirements: &[Requirement],
    named: Named<'_>,
) -> Result<(), Failures> {
    for (i, w) in described.quasi.iter().enumerate() {
        let mut label_of: HashMap<Run, String> = HashMap::new();
        for class in &read.classes {
            let run = class.region[i];
            label_of.entry(run).or_insert_with(|| read.quasi[i].taxonomy.label(run).into_owned());
        }
        let labels: BTreeSet<&str> = label_of.values().map(String::as_str).collect();
        let labels: Vec<&str> = labels.into_iter().collect();
        let (taxonomy, runs) = understand(w, &labels, requirements, named)?;
        let run_of: HashMap<&str, Run> = labels.into_iter().zip(runs).collect();
        for class in &mut read.classes {
            class.region[i] = run_of[label_of[&class.region[i]].as_str()];
        }
        read.quasi[i] = attach(Attribute::new(&w.name, taxonomy), w.freeform.as_ref())?;
    }
    Ok(())
}

fn grouped_as_read(
    read: &mut Release,
    described: &Described,
    requirements: &[Requirement],
    named: Named<'_>,
) -> Result<(), Failures> {
    for (i, w) in described.quasi.iter().enumerate() {
        let codes: BTreeSet<u32> = read.records_by_group.iter().map(|r| r.codes[i]).collect();
        let labels: Vec<&str> =
            codes.iter().map(|&code| read.quasi[i].taxonomy.leaf(code)).collect();
        let (taxonomy, runs) = understand(w, &labels, requirements, named)?;
        let code_of: HashMap<u32, u32> =
            codes.into_iter().zip(runs.iter().map(|run| run.first)).collect();
        read.records_by_group.iter_mut().for_each(|r| r.codes[i] = code_of[&r.codes[i]]);
        read.quasi[i] = attach(Attribute::new(&w.name, taxonomy), w.freeform.as_ref())?;
    }
    read.records_by_group = GroupedRecords::collapse(std::mem::take(&mut read.records_by_group));
    for records in read.records_by_group.chunk_by(|a, b| a.group == b.group) {
        read.classes[records[0].group as usize].region = anatomized::region(&read.quasi, records);
    }
    Ok(())
}

fn sensitive_as_read(read: &mut Release, wanted: &[Wanted]) -> Result<(), Failures> {
    let count = published(&read.sensitive).len();
    let mut code_of: Vec<HashMap<u32, u32>> = Vec::new();
    for (i, w) in wanted.iter().enumerate() {
        let codes: BTreeSet<u32> =
            read.classes.iter().flat_map(|c| c.histograms[i].0.iter().map(|p| p.0)).collect();
        let texts: Vec<&str> =
            codes.iter().map(|&code| read.sensitive[i].taxonomy.leaf(code)).collect();
        let rule = w.rule.as_ref().unwrap_or(&Rule::Flat);
        let (taxonomy, leaves) = encode(&w.name, rule, w.rows.clone(), &texts, &[])?;
        code_of.push(codes.into_iter().zip(leaves).collect());
        read.sensitive[i] = Attribute::new(&w.name, taxonomy);
    }
    let translate = |h: &Histogram, codes: &HashMap<u32, u32>| {
        Histogram::of(h.0.iter().map(|(c, n)| (codes[c], *n)))
    };
    for class in &mut read.classes {
        for (histogram, codes) in class.histograms.iter_mut().zip(&code_of) {
            *histogram = translate(histogram, codes);
        }
    }
    let last = read.sensitive.len() - 1.min(read.sensitive.len());
    let Some(Some(Hidden::Joint(tuples))) = read.sensitive.get(last).map(|a| a.hidden.clone())
    else {
        return Ok(());
    };
    // A counterfeit stands in the joint histogram only if somebody has its value, but a recipient
    // sees it all the same. There is only one sensitive attribute then, and what it says together
    // is what it says.
    let alone = count == 1;
    let old: BTreeSet<u32> = match alone {
        true => BTreeSet::new(),
        false => {
            read.classes.iter().flat_map(|c| c.histograms[last].0.iter().map(|p| p.0)).collect()
        }
    };
    let columns: Vec<Vec<u32>> = match alone {
        true => {
            let codes: BTreeSet<u32> =
                read.classes.iter().flat_map(|c| c.histograms[0].0.iter().map(|p| p.0)).collect();
            vec![codes.into_iter().collect()]
        }
        false => (0..count)
            .map(|i| old.iter().map(|&t| code_of[i][&tuples[t as usize][i]]).collect())
            .collect(),
    };
    let slices: Vec<&[u32]> = columns.iter().map(Vec::as_slice).collect();
    let (attribute, codes) = join(published(&read.sensitive), &slices);
    let from: Vec<u32> = if alone { columns[0].clone() } else { old.into_iter().collect() };
    let joint_of: HashMap<u32, u32> = from.into_iter().zip(codes).collect();
    for class in &mut read.classes {
        let source = if alone { 0 } else { last };
        class.histograms[last] = translate(&class.histograms[source], &joint_of);
    }
    read.sensitive[last] = attribute;
    Ok(())
}

/// How classes differ, in words for the publisher; nothing if they do not.
pub(crate) fn difference(read: &Release, expected: &Release) -> Option<&'static str> {
    let count = published(&expected.sensitive).len();
    let same = |(a, b): (&EquivalenceClass, &EquivalenceClass)| {
        a.region == b.region && a.count == b.count && a.histograms[..count] == b.histograms[..count]
    };
    if read.records() != expected.records() {
        Some("another number of records")
    } else if read.classes.len() != expected.classes.len()
        || !read.classes.iter().zip(&expected.classes).all(same)
    {
        Some("other classes")
    } else if read.records_by_group != expected.records_by_group {
        Some("other records of a group")
    } else if read.counterfeits != expected.counterfeits {
        Some("other counterfeits")
    } else {
        None
    }
}
