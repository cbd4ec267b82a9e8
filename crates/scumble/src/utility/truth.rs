//! Metrics that compare a release with the extract it was made from.

use super::Subject;
use crate::class::{EquivalenceClass, Run};
use crate::query::Selection;
use crate::release::{Form, Member, Members, Release, Shape};
use crate::table::{Attribute, Table, number_tuples, published};
use crate::taxonomy::{Scale, Taxonomy};
use hashbrown::HashMap;
use rayon::prelude::*;
use std::sync::Arc;

/// How many records have the values of an attribute.
pub(crate) struct Marginal {
    /// Records of all leaves before one.
    before: Vec<u64>,
}

impl Marginal {
    pub fn new(counts: &[u64]) -> Marginal {
        let sum = |sum: &mut u64, n: &u64| {
            *sum += n;
            Some(*sum)
        };
        Marginal { before: std::iter::once(0).chain(counts.iter().scan(0, sum)).collect() }
    }

    /// Records with a value under the run.
    pub fn under(&self, run: Run) -> u64 {
        self.before[run.last as usize + 1] - self.before[run.first as usize]
    }

    /// What a record under the run costs in non-uniform entropy, up to what the frequency of its
    /// own leaf takes off.
    pub fn bits(&self, run: Run) -> f64 {
        (self.under(run).max(1) as f64).log2()
    }
}

/// Records per leaf of a quasi-identifier.
fn counts(table: &Table, dim: usize) -> Vec<u64> {
    let mut counts = vec![0; table.quasi[dim].taxonomy.leaves()];
    table.quasi_codes[dim]
        .iter()
        .zip(&table.counts)
        .for_each(|(&c, &n)| counts[c as usize] += u64::from(n));
    counts
}

/// The leaf of another taxonomy of the attribute with the same text, for every leaf.
fn same_leaves(from: &Arc<Taxonomy>, to: &Arc<Taxonomy>) -> Vec<Option<u32>> {
    let leaves = 0..from.leaves() as u32;
    if Arc::ptr_eq(from, to) {
        leaves.map(Some).collect()
    } else {
        leaves.map(|l| to.find(from.leaf(l))).collect()
    }
}

pub(super) fn entropy(of: &Subject<'_>) -> Option<f64> {
    let (release, (table, form)) = (of.release, of.truth?);
    if release.shape == Shape::Representatives {
        return None;
    }
    let one = |dim: usize| -> (f64, f64) {
        let counts = counts(table, dim);
        let own: f64 =
            counts.iter().filter(|&&n| n > 0).map(|&n| n as f64 * (n as f64).log2()).sum();
        let all = table.records() as f64;
        let most = all * all.max(1.0).log2() - own;
        let lost = match release.shape {
            Shape::Groups => {
                let bits = |m: &Member| {
                    let n = counts[table.quasi_codes[dim][m.row as usize] as usize];
                    f64::from(m.count) * (all / n as f64).log2()
                };
                form.suppressed().iter().map(bits).sum::<f64>()
            }
            _ => {
                let (from, to) = (&table.quasi[dim].taxonomy, &release.quasi[dim].taxonomy);
                let mut shown = vec![0; to.leaves()];
                let places = same_leaves(from, to).into_iter().zip(&counts);
                places.for_each(|(leaf, n)| {
                    leaf.into_iter().for_each(|leaf| shown[leaf as usize] += n)
                });
                let shown = Marginal::new(&shown);
                let cells: f64 = release
                    .classes
                    .iter()
                    .map(|c| c.count as f64 * shown.bits(c.region[dim]))
                    .sum();
                cells + release.suppressed as f64 * all.max(1.0).log2() - own
            }
        };
        (lost, most)
    };
    let parts: Vec<(f64, f64)> = (0..table.quasi.len()).into_par_iter().map(one).collect();
    let (lost, most) =
        parts.into_iter().fold((0.0, 0.0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
    // What is left of equal sums is rounding.
    Some(if lost <= most * 1e-12 { 0.0 } else { (lost / most).min(1.0) })
}

pub(super) fn distribution(of: &Subject<'_>) -> Option<f64> {
    let (release, (table, form)) = (of.release, of.truth?);
    let (all, given) = (table.records() as f64, release.records() as f64);
    if release.shape == Shape::Representatives || table.quasi.is_empty() || all == 0.0 {
        return None;
    }
    if given == 0.0 {
        return Some(1.0);
    }
    let one = |dim: usize| -> f64 {
        let (from, to) = (&table.quasi[dim].taxonomy, &release.quasi[dim].taxonomy);
        let counts = counts(table, dim);
        let mut shown = vec![0.0; to.leaves() + 1];
        if release.shape == Shape::Groups {
            shown.iter_mut().zip(&counts).for_each(|(shown, &n)| *shown = n as f64);
            let out =
                form.suppressed().iter().map(|m| (table.quasi_codes[dim][m.row as usize], m.count));
            out.for_each(|(code, n)| shown[code as usize] -= f64::from(n));
        } else {
            // Every leaf of a run gets as much; the steps at its ends are summed up afterwards.
            for class in &release.classes {
                let run = to.cover(class.region[dim]);
                let each = class.count as f64 / to.size(run) as f64;
                shown[run.first as usize] += each;
                shown[run.last as usize + 1] -= each;
            }
            let mut level = 0.0;
            for step in &mut shown {
                level += *step;
                *step = level;
            }
        }
        let mut found = 0.0;
        let mut apart = 0.0;
        for (leaf, &n) in same_leaves(from, to).into_iter().zip(&counts) {
            let q = leaf.map_or(0.0, |leaf| shown[leaf as usize].max(0.0)) / given;
            found += q;
            apart += (n as f64 / all - q).abs();
        }
        // The rest lies on domain values that do not occur.
        ((apart + (1.0 - found).max(0.0)) / 2.0).clamp(0.0, 1.0)
    };
    let sum: f64 =
        (0..table.quasi.len()).into_par_iter().map(one).collect::<Vec<_>>().into_iter().sum();
    let mean = sum / table.quasi.len() as f64;
    Some(if mean < 1e-12 { 0.0 } else { mean })
}

pub(super) fn sse(of: &Subject<'_>) -> Option<f64> {
    let (table, form) = of.truth?;
    let shares: Vec<Option<f64>> =
        (0..table.quasi.len()).into_par_iter().map(|i| moved(table, form, i)).collect();
    let shares: Vec<f64> = shares.into_iter().flatten().collect();
    (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
}

/// The squared errors of one quasi-identifier, relative to its variance; nothing if it has none or
/// is no number.
fn moved(table: &Table, form: &Form, i: usize) -> Option<f64> {
    let taxonomy = &table.quasi[i].taxonomy;
    let value = |row: u32| {
        middle(
            taxonomy,
            Run::new(table.quasi_codes[i][row as usize], table.quasi_codes[i][row as usize]),
        )
    };
    let known =
        || (0u32..).zip(&table.counts).filter_map(|(row, &n)| Some((value(row)?, f64::from(n))));
    let total: f64 = known().map(|(_, n)| n).sum();
    let mean = known().map(|(x, n)| x * n).sum::<f64>() / total;
    let all: f64 = known().map(|(x, n)| n * (x - mean).powi(2)).sum();
    if total == 0.0 || all <= 0.0 {
        return None;
    }
    let error = |m: &Member, shown: f64| {
        value(m.row).map_or(0.0, |x| f64::from(m.count) * (x - shown).powi(2))
    };
    let kept: f64 = match form {
        Form::Anatomized(_) => 0.0,
        Form::Generalized(form) => {
            let written_in = form.quasi.as_ref().map_or(taxonomy, |quasi| &quasi[i].taxonomy);
            let class = |class: &Members| {
                let shown = middle(written_in, class.region[i]).unwrap_or(mean);
                class.members.iter().map(|m| error(m, shown)).sum::<f64>()
            };
            form.classes.iter().map(class).sum()
        }
    };
    Some((kept + form.suppressed().iter().map(|m| error(m, mean)).sum::<f64>()) / all)
}

/// The middle of a range of numbers or dates; nothing for what has no place on a scale.
fn middle(taxonomy: &Taxonomy, run: Run) -> Option<f64> {
    let unit = match taxonomy.scale() {
        Scale::Number(grid) => 10f64.powi(grid.decimals as i32),
        Scale::Date(_) => 1.0,
        Scale::Nominal | Scale::Ordinal => return None,
    };
    let (first, last) = taxonomy.steps(run)?;
    Some((first as f64 + last as f64) / 2.0 / unit)
}

pub(super) fn kl(of: &Subject<'_>) -> Option<f64> {
    let (release, (table, form)) = (of.release, of.truth?);
    let all = table.records() as f64;
    if release.shape == Shape::Representatives || all == 0.0 {
        return None;
    }
    // Rows by what a recipient may see of them: their quasi-identifiers, their sensitive values,
    // both.
    let number = |attributes: &[Attribute], columns: &[Vec<u32>]| -> Vec<u32> {
        let sizes: Vec<u64> = attributes.iter().map(|a| a.taxonomy.leaves() as u64).collect();
        let columns: Vec<&[u32]> = columns[..attributes.len()].iter().map(Vec::as_slice).collect();
        if columns.is_empty() { vec![0; table.rows()] } else { number_tuples(&columns, &sizes).0 }
    };
    let point = number(&table.quasi, &table.quasi_codes);
    let value = number(published(&table.sensitive), &table.sensitive_codes);
    let (seen, firsts) = number_tuples(&[&point, &value], &[table.rows() as u64; 2]);
    let mut expected = vec![0.0; firsts.len()];
    let mut given: HashMap<u32, u64> = HashMap::new();
    for (i, members) in classes(form) {
        let values = tally(members, &value);
        let (points, even) = match release.shape {
            Shape::Groups => {
                let shown = release.classes[i].count + release.counterfeits_in(i);
                (tally(members, &point), 1.0 / shown.max(1) as f64)
            }
            _ => (HashMap::new(), 1.0 / volume(release, &release.classes[i].region)),
        };
        for &shown in tally(members, &seen).keys() {
            let row = firsts[shown as usize] as usize;
            let here = points.get(&point[row]).map_or(1.0, |&n| n as f64);
            let nobodys = nobodys(form, i)
                .iter()
                .filter(|&&code| code == table.sensitive_codes[0][row])
                .count();
            expected[shown as usize] += (values[&value[row]] + nobodys as u64) as f64 * here * even;
        }
        values.into_iter().for_each(|(value, n)| *given.entry(value).or_default() += n);
    }
    let mut records = vec![0u64; firsts.len()];
    seen.iter().zip(&table.counts).for_each(|(&shown, &n)| records[shown as usize] += u64::from(n));
    // Of those left out a recipient knows the number, and how the sensitive values of the others
    // are spread: with one more of each, because a value may have been left out altogether.
    let roots: Vec<Run> = release.quasi.iter().map(|a| a.taxonomy.root()).collect();
    let values = f64::from(value.iter().copied().max().unwrap_or(0) + 1);
    let out =
        release.suppressed as f64 / (volume(release, &roots) * (release.records() as f64 + values));
    let one = |shown: usize| {
        let like_it = given.get(&value[firsts[shown] as usize]).map_or(1.0, |&n| n as f64 + 1.0);
        let (p, q) = (records[shown] as f64, expected[shown] + out * like_it);
        p / all * (p / q).log2()
    };
    Some((0..firsts.len()).map(one).sum::<f64>().max(0.0))
}

/// The number of points in a region.
fn volume(release: &Release, region: &[Run]) -> f64 {
    release.quasi.iter().zip(region).map(|(a, &run)| a.taxonomy.size(run) as f64).product()
}

/// The members of each class, with its index in the release.
fn classes(form: &Form) -> Box<dyn Iterator<Item = (usize, &[Member])> + '_> {
    match form {
        Form::Generalized(form) => {
            Box::new(form.classes.iter().map(|c| &c.members[..]).enumerate())
        }
        Form::Anatomized(form) => Box::new(form.groups.iter().map(Vec::as_slice).enumerate()),
    }
}

/// The values of a class that stand for nobody, of the only sensitive attribute that is published.
fn nobodys(form: &Form, class: usize) -> &[u32] {
    match form {
        Form::Generalized(_) => &[],
        Form::Anatomized(form) => form.counterfeits.get(class).map_or(&[], Vec::as_slice),
    }
}

fn tally(members: &[Member], of: &[u32]) -> HashMap<u32, u64> {
    let mut tally = HashMap::new();
    members
        .iter()
        .for_each(|m| *tally.entry(of[m.row as usize]).or_default() += u64::from(m.count));
    tally
}

/// So many groups of values at most.
const GROUPS: usize = 8;

pub(super) fn correlation(of: &Subject<'_>) -> Option<f64> {
    let (release, (table, _)) = (of.release, of.truth?);
    let quasi = table.quasi.iter().zip(&release.quasi).zip(&table.quasi_codes);
    let mut columns: Vec<Column<'_>> = quasi
        .map(|((a, shown), codes)| Column::new(&a.taxonomy, codes, table, &shown.taxonomy))
        .collect();
    let sensitive = published(&table.sensitive).iter().zip(&table.sensitive_codes);
    columns.extend(sensitive.map(|(a, codes)| Column::new(&a.taxonomy, codes, table, &a.taxonomy)));
    let quasi = table.quasi.len();
    let shares = |(i, column): (usize, &Column<'_>)| match i.checked_sub(quasi) {
        None => column.quasi_shares(release, i),
        Some(attribute) => column.sensitive_shares(release, attribute),
    };
    let shares: Vec<Vec<Shares>> = columns.par_iter().enumerate().map(shares).collect();
    let pairs: Vec<(usize, usize)> =
        (0..quasi).flat_map(|a| (a + 1..columns.len()).map(move |b| (a, b))).collect();
    let change = |&(a, b): &(usize, usize)| -> Option<f64> {
        let least = columns[a].groups.len().min(columns[b].groups.len()) - 1;
        let mut truth = Counts::default();
        for ((&i, &j), &n) in
            columns[a].group_of.iter().zip(&columns[b].group_of).zip(&table.counts)
        {
            truth.0[usize::from(i)][usize::from(j)] += f64::from(n);
        }
        let mut shown = Counts::default();
        if release.shape == Shape::Groups {
            for (i, r) in release.records_by_group.iter().enumerate() {
                // Within a record the quasi-identifiers belong together; the sensitive values are
                // the group's.
                let with = if b < quasi { i } else { r.group as usize };
                shown.add(r.count, &shares[a][i], &shares[b][with]);
            }
        } else {
            let classes = release.classes.iter().zip(shares[a].iter().zip(&shares[b]));
            classes.for_each(|(class, (x, y))| shown.add(class.count, x, y));
        }
        (least > 0).then(|| (truth.cramers_v(least) - shown.cramers_v(least)).abs())
    };
    let changes: Vec<f64> =
        pairs.par_iter().map(change).collect::<Vec<_>>().into_iter().flatten().collect();
    let mean = changes.iter().sum::<f64>() / changes.len() as f64;
    (!changes.is_empty()).then_some(if mean < 1e-12 { 0.0 } else { mean })
}

/// The groups of values that a cell may lie in, with the share of each.
type Shares = Vec<(usize, f64)>;

/// A column in groups of neighbouring values.
struct Column<'a> {
    /// Of the release.
    shown: &'a Taxonomy,
    /// What each group admits, in the release's taxonomy.
    groups: Vec<Selection>,
    /// Of each row of the table.
    group_of: Vec<u8>,
}

impl<'a> Column<'a> {
    fn new(
        t: &Arc<Taxonomy>,
        codes: &[u32],
        table: &Table,
        shown: &'a Arc<Taxonomy>,
    ) -> Column<'a> {
        let mut counts = vec![0u64; t.leaves()];
        codes.iter().zip(&table.counts).for_each(|(&c, &n)| counts[c as usize] += u64::from(n));
        let all: u64 = counts.iter().sum();
        let (mut starts, mut before) = (vec![0u32], 0u64);
        for (leaf, &n) in (0u32..).zip(&counts) {
            // A new group where the next eighth begins, and none without records.
            let eighth = |n: u64| u128::from(n) * GROUPS as u128 / u128::from(all.max(1));
            if n > 0
                && before > 0
                && eighth(before) as usize >= starts.len()
                && starts.len() < GROUPS
            {
                starts.push(leaf);
            }
            before += n;
        }
        let group = |leaf: u32| starts.partition_point(|&s| s <= leaf) - 1;
        let missing = t.missing();
        let selection = |i: usize| {
            let last = starts.get(i + 1).map_or(t.leaves() as u32, |&next| next) - 1;
            let holds_missing = missing == Some(last);
            let real = if holds_missing {
                last.checked_sub(1).filter(|&l| starts[i] <= l)
            } else {
                Some(last)
            };
            // Values that do not occur belong to the group before them, so that none is in no
            // group.
            let steps = |leaf: u32| t.steps(Run::new(leaf, leaf)).unwrap_or((0, 0));
            let end = |last: u32| match starts.get(i + 1) {
                Some(&next) if missing != Some(next) => steps(next).0.saturating_sub(1),
                _ => steps(last).1,
            };
            let span = real.map(|last| (steps(starts[i]).0, end(last)));
            let selection = Selection::new(span.into_iter().collect(), holds_missing);
            if Arc::ptr_eq(t, shown) { selection } else { selection.translate(t, shown) }
        };
        Column {
            shown,
            groups: (0..starts.len()).map(selection).collect(),
            group_of: codes.iter().map(|&c| group(c) as u8).collect(),
        }
    }

    fn shares(&self, run: Run) -> Shares {
        let shares = self.groups.iter().map(|g| g.share(self.shown, run)).enumerate();
        shares.filter(|&(_, share)| share > 0.0).collect()
    }

    /// Of every class, or of every kind of record where records show their own values.
    fn quasi_shares(&self, release: &Release, dim: usize) -> Vec<Shares> {
        let mut known: HashMap<Run, Shares> = HashMap::new();
        let mut of = |run: Run| known.entry(run).or_insert_with(|| self.shares(run)).clone();
        if release.shape == Shape::Groups {
            return release
                .records_by_group
                .iter()
                .map(|r| of(Run::new(r.codes[dim], r.codes[dim])))
                .collect();
        }
        release.classes.iter().map(|c| of(c.region[dim])).collect()
    }

    fn sensitive_shares(&self, release: &Release, attribute: usize) -> Vec<Shares> {
        let group: Vec<usize> = (0..self.shown.leaves() as u32)
            .map(|leaf| self.groups.iter().position(|g| g.contains(self.shown, leaf)).unwrap_or(0))
            .collect();
        let class = |c: &EquivalenceClass| {
            let mut shares = [0.0; GROUPS];
            // Not the number of records: some values may stand for nobody.
            let shown = c.histograms[attribute].total().max(1) as f64;
            for &(code, n) in &c.histograms[attribute].0 {
                shares[group[code as usize]] += n as f64 / shown;
            }
            shares.into_iter().enumerate().filter(|&(_, share)| share > 0.0).collect()
        };
        release.classes.iter().map(class).collect()
    }
}

/// Records by the groups of two columns.
#[derive(Default)]
struct Counts([[f64; GROUPS]; GROUPS]);

impl Counts {
    fn add(&mut self, n: u64, x: &Shares, y: &Shares) {
        for &(i, p) in x {
            y.iter().for_each(|&(j, q)| self.0[i][j] += n as f64 * p * q);
        }
    }

    /// `least` is the smaller number of groups − 1.
    fn cramers_v(&self, least: usize) -> f64 {
        let rows = self.0.map(|row| row.iter().sum::<f64>());
        let columns: [f64; GROUPS] = std::array::from_fn(|j| self.0.iter().map(|row| row[j]).sum());
        let cell = |i: usize, j: usize| {
            let expected = rows[i] * columns[j];
            if expected > 0.0 { self.0[i][j].powi(2) / expected } else { 0.0 }
        };
        let sum: f64 = (0..GROUPS)
            .flat_map(|i| (0..GROUPS).map(move |j| (i, j)))
            .map(|(i, j)| cell(i, j))
            .sum();
        ((sum - 1.0).max(0.0) / least as f64).sqrt().min(1.0)
    }
}
