//! # top-down
//!
//! Starts with everything at its root and makes values more special, everywhere at once, as long as
//! the models allow it.
//!
//! ## Method
//! Sub-tree generalization: every quasi-identifier has one cut through its taxonomy, so a value is
//! shown in the same way in all records, and a node that is shown stands for all values below it.
//! At first every quasi-identifier shows its root. A specialization replaces a node of a cut by its
//! children, in all records that show it. It is valid if all classes still keep the models. The
//! valid one with the best score is made, again and again, until none is left.
//!
//! - `score = "loss"`: by how much the certainty penalty (`gcp`) falls.
//! - `score = "information-gain"`: what the specialization says about the sensitive attributes, as
//!   in the paper: InfoGain / (AnonyLoss + 1). InfoGain is the entropy of the sensitive values
//!   among the records that show the node, less the mean entropy under its children; AnonyLoss is
//!   by how much the smallest class shrinks (the mean, where there are several sets of
//!   quasi-identifiers with the attribute). For releases from which a classifier is to be learned.
//!   It makes classes as pure as the models allow, so combine it with a model about the sensitive
//!   attribute, not with k-anonymity alone. Ties are broken by loss.
//!
//! Numbers, dates and ordered files whose taxonomy has no levels between the values and the root
//! (`number = true`) are cut anywhere: a range becomes two, at the place with the best score among
//! the valid ones. With levels, their nodes are used as for categories. Records without a value are
//! parted from the others before anything else.
//!
//! A requirement on some columns (`on`) is judged on the classes that these columns make by
//! themselves, so several quasi-identifier sets cost no more than they must.
//!
//! ## Guarantee
//! Every class keeps every model. If all models are monotone, no further specialization is valid:
//! the release is as special as it can be from there (a local optimum, not the best of all cuts). A
//! specialization found invalid is never tried again, which loses nothing with monotone models and
//! is a heuristic with others.
//!
//! ## Cost
//! A specialization visits the records that show its node, once per quasi-identifier; about O(n)
//! for each.
//!
//! ## Departures from the paper
//! The paper's sets of quasi-identifiers need k-anonymity only; here any model. It stops when no
//! candidate gains information; here it goes on while the release gets more special. Several
//! sensitive attributes: their gains are added. Numbers are cut at the best valid place, not only
//! at the best one. `score = "loss"` is not in the paper.
//!
//! ## Reference
//! Fung, Wang and Yu, "Top-down specialization for information and privacy preservation", 2005.

use super::cut::{Cuts, Refinement, View, Worth, piece_of, refinement};
use super::sibling::{self, Nesting};
use super::{Algorithm, Goal, Progress, Refusal};
use crate::catalogue::{self, Entry, Parameter};
use crate::class::Run;
use crate::release::Form;
use crate::table::{Table, Tally};
use std::cmp::Ordering;
use std::collections::BTreeMap;

pub(super) const ENTRY: Entry<Box<dyn Algorithm>> = Entry {
    name: "top-down",
    summary: "specializes from the root; one cut per quasi-identifier for all records",
    source: include_str!("top_down.rs"),
    parameters: &[SCORE],
    build: |p| Ok(Box::new(TopDown { score: Score::of(p.word("score")) })),
};

/// The parameter that says what a change is worth.
pub(super) const SCORE: Parameter = Parameter {
    name: "score",
    kind: catalogue::Kind::Choice(&["loss", "information-gain"]),
    default: Some("loss"),
    about: "prefer what keeps values special, or what tells most about the sensitive attributes",
};

/// What a change is worth.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Score {
    Loss,
    InformationGain,
}

impl Score {
    pub fn of(word: &str) -> Score {
        if word == "loss" { Score::Loss } else { Score::InformationGain }
    }
}

/// How to specialize.
#[derive(Clone, Copy)]
pub(super) struct How {
    pub score: Score,
    /// Whether a node may go on standing for the rest of its values when some are shown by
    /// themselves (by loss only).
    pub siblings: bool,
}

struct TopDown {
    score: Score,
}

impl Algorithm for TopDown {
    fn anonymize(
        &self,
        table: &Table,
        goal: &Goal<'_>,
        _seed: u64,
        progress: Progress<'_>,
    ) -> Result<Form, Refusal> {
        if let Some(answer) = Cuts::without_search(table, goal) {
            return answer;
        }
        let mut cuts = Cuts::top(table, goal);
        specialize(
            &mut cuts,
            &Worth::new(table),
            How { score: self.score, siblings: false },
            progress,
        );
        Ok(Form::Generalized(cuts.form()))
    }
}

/// Makes valid specializations until none is left. The cuts keep the goal, before and after.
pub(super) fn specialize(cuts: &mut Cuts<'_>, worth: &Worth<'_>, how: How, progress: Progress<'_>) {
    let smallest = cuts.views.iter().map(View::smallest).collect();
    let mut open = Open { how, smallest, candidates: BTreeMap::new() };
    for dim in 0..cuts.table.quasi.len() {
        cuts.runs(dim).into_iter().for_each(|run| open.add(cuts, worth, dim, run, None));
    }
    let (all, mut made) = (cuts.table.records(), 0);
    while let Some((dim, run, i)) = open.best() {
        if !progress.improves(all * made / (made + open.candidates.len() as u64), all) {
            break;
        }
        let pieces = open.candidates[&(dim, run)].ways[i].pieces.clone();
        if cuts.admits(dim, run, &pieces) {
            open.perform(cuts, worth, dim, run, &pieces);
            made += 1;
        } else {
            open.drop(dim, run, i);
        }
    }
    progress.at(all, all);
}

/// A way to refine a run.
pub(super) struct Specialization {
    pub pieces: Vec<Run>,
    /// Information gain, per record that shows the run.
    pub gain: f64,
    /// How much loss it saves, in cells.
    pub saved: f64,
    /// Per view: the smallest group it would leave of those that it divides.
    pub smallest: Vec<u64>,
    /// False once some group was found that it would divide too far.
    pub valid: bool,
}

/// The ways to refine a run.
pub(super) struct Candidate {
    pub ways: Vec<Specialization>,
    pub kind: Kind,
}

/// How the ways of a candidate are looked at together.
pub(super) enum Kind {
    /// There is one, into the children of a node or into values and missing ones.
    Pieces,
    /// Two ranges, by place from low to high.
    Places,
    /// Some values and the rest.
    Siblings(Nesting),
}

impl Candidate {
    fn is_open(&self) -> bool {
        self.ways.iter().any(|s| s.valid)
    }
}

/// The specializations that may still be made.
struct Open {
    how: How,
    /// Per view: the smallest group.
    smallest: Vec<u64>,
    /// By quasi-identifier and run of its cut.
    candidates: BTreeMap<(usize, Run), Candidate>,
}

impl Open {
    /// The best valid specialization: by score, then loss, then the first.
    fn best(&self) -> Option<(usize, Run, usize)> {
        let all = self.candidates.iter().flat_map(|(&(dim, run), c)| {
            c.ways.iter().enumerate().filter(|(_, s)| s.valid).map(move |(i, s)| ((dim, run, i), s))
        });
        let scored = all.map(|(place, s)| (place, (self.value(s), s.saved)));
        let better = |a: &(f64, f64), b: &(f64, f64)| {
            a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)) == Ordering::Greater
        };
        scored.reduce(|a, b| if better(&b.1, &a.1) { b } else { a }).map(|(place, _)| place)
    }

    fn value(&self, s: &Specialization) -> f64 {
        if self.how.score == Score::Loss {
            return s.saved;
        }
        // Views that do not look at the attribute are left out of the mean.
        let concerned =
            || self.smallest.iter().zip(&s.smallest).filter(|(_, then)| **then < u64::MAX);
        let shrunk: u64 = concerned().map(|(now, then)| now.saturating_sub(*then)).sum();
        s.gain / (shrunk as f64 / concerned().count().max(1) as f64 + 1.0)
    }

    /// Opens the ways to refine a run, if there are any and somebody shows it. `valid` are the only
    /// nodes that can still be shown by themselves, if that is known.
    fn add(
        &mut self,
        cuts: &Cuts<'_>,
        worth: &Worth<'_>,
        dim: usize,
        run: Run,
        valid: Option<&[Run]>,
    ) {
        let mut candidate = if self.how.siblings && !cuts.table.quasi[dim].taxonomy.is_ordered() {
            sibling::candidate(cuts, worth, dim, run, valid)
        } else {
            specializations(cuts, worth, dim, run, self.how.score)
        };
        for (v, view) in cuts.views.iter().enumerate().filter(|(_, view)| view.on.contains(&dim)) {
            view.under(dim, run).for_each(|i| inspect(cuts, v, i, dim, &mut candidate));
        }
        if candidate.is_open() {
            self.candidates.insert((dim, run), candidate);
        }
    }

    fn perform(
        &mut self,
        cuts: &mut Cuts<'_>,
        worth: &Worth<'_>,
        dim: usize,
        run: Run,
        pieces: &[Run],
    ) {
        let made = self.candidates.remove(&(dim, run));
        let changed = cuts.split(dim, run, pieces);
        for (v, groups) in changed.into_iter().enumerate() {
            for i in groups {
                let group = &cuts.views[v].groups[i];
                self.smallest[v] = self.smallest[v].min(group.count);
                for &d in cuts.views[v].on.iter().filter(|&&d| d != dim) {
                    let key = (d, group.region[d]);
                    let Some(candidate) = self.candidates.get_mut(&key) else { continue };
                    inspect(cuts, v, i, d, candidate);
                    if !candidate.is_open() {
                        self.candidates.remove(&key);
                    }
                }
            }
        }
        // What could not be shown by itself before cannot be now: with monotone models invalid
        // stays invalid.
        let valid: Option<Vec<Run>> =
            made.filter(|c| matches!(c.kind, Kind::Siblings(_))).map(|c| {
                c.ways
                    .iter()
                    .filter(|s| s.valid)
                    .flat_map(|s| &s.pieces)
                    .copied()
                    .filter(|&p| p != run)
                    .collect()
            });
        pieces.iter().for_each(|&piece| self.add(cuts, worth, dim, piece, valid.as_deref()));
    }

    fn drop(&mut self, dim: usize, run: Run, i: usize) {
        if let Some(candidate) = self.candidates.get_mut(&(dim, run)) {
            candidate.ways[i].valid = false;
        }
    }
}

/// The ways to refine a run; those of a range by place, from low to high.
fn specializations(
    cuts: &Cuts<'_>,
    worth: &Worth<'_>,
    dim: usize,
    run: Run,
    score: Score,
) -> Candidate {
    let records = worth.records(dim, run);
    let Some(how) = refinement(&cuts.table.quasi[dim].taxonomy, run).filter(|_| records > 0) else {
        return Candidate { ways: Vec::new(), kind: Kind::Pieces };
    };
    let informed = score == Score::InformationGain;
    let entropy = if informed { worth.entropy(dim, run) } else { 0.0 };
    let way = |pieces: Vec<Run>, after: f64| Specialization {
        // Rounded, so that equal gains are equal whatever the order of the sums.
        gain: ((entropy - after) / records as f64 * 1e9).round() / 1e9,
        saved: worth.loss(dim, run) - pieces.iter().map(|&p| worth.loss(dim, p)).sum::<f64>(),
        pieces,
        smallest: vec![u64::MAX; cuts.views.len()],
        valid: true,
    };
    match how {
        Refinement::Children(children) => {
            let after = |&child: &Run| if informed { worth.entropy(dim, child) } else { 0.0 };
            let after = children.iter().map(after).sum();
            Candidate { ways: vec![way(children, after)], kind: Kind::Pieces }
        }
        Refinement::Anywhere => {
            let after = if informed {
                worth.entropies(dim, run)
            } else {
                vec![0.0; run.width() as usize - 1]
            };
            let halves = |leaf| vec![Run::new(run.first, leaf), Run::new(leaf + 1, run.last)];
            let ways = (run.first..run.last)
                .zip(after)
                .map(|(leaf, after)| way(halves(leaf), after))
                .collect();
            Candidate { ways, kind: Kind::Places }
        }
    }
}

/// Looks at what the specializations of a run would make of one group that shows it.
fn inspect(cuts: &Cuts<'_>, v: usize, i: usize, dim: usize, candidate: &mut Candidate) {
    match &candidate.kind {
        Kind::Pieces => {
            candidate.ways.iter_mut().for_each(|way| inspect_pieces(cuts, v, i, dim, way))
        }
        Kind::Places => inspect_places(cuts, v, i, dim, &mut candidate.ways),
        Kind::Siblings(nesting) => sibling::inspect(cuts, v, i, dim, nesting, &mut candidate.ways),
    }
}

fn inspect_pieces(cuts: &Cuts<'_>, v: usize, i: usize, dim: usize, way: &mut Specialization) {
    let (view, codes) = (&cuts.views[v], &cuts.table.quasi_codes[dim]);
    let group = &view.groups[i];
    let mut counts = vec![0u64; way.pieces.len()];
    for &row in &group.rows {
        counts[piece_of(&way.pieces, codes[row as usize])] +=
            u64::from(cuts.table.counts[row as usize]);
    }
    let smallest = counts.iter().copied().filter(|&n| n > 0).min().unwrap_or(u64::MAX);
    way.smallest[v] = way.smallest[v].min(smallest);
    way.valid &= smallest >= view.least;
    if !way.valid || view.size_decides {
        return;
    }
    way.valid =
        way.pieces.iter().zip(&counts).filter(|(_, count)| **count > 0).all(|(&piece, &count)| {
            let rows: Vec<u32> = group
                .rows
                .iter()
                .copied()
                .filter(|&row| piece.contains(codes[row as usize]))
                .collect();
            let mut region = group.region.clone();
            region[dim] = piece;
            cuts.keeps(view, region, &rows, count)
        });
}

/// The same for a range, in one sweep: between two neighbouring values of the group all places
/// divide it in the same way.
fn inspect_places(cuts: &Cuts<'_>, v: usize, i: usize, dim: usize, ways: &mut [Specialization]) {
    let view = &cuts.views[v];
    let group = &view.groups[i];
    let codes = &cuts.table.quasi_codes[dim];
    let mut order: Vec<(u32, u32)> =
        group.rows.iter().map(|&row| (codes[row as usize], row)).collect();
    order.sort_unstable();
    let count = |row: u32| u64::from(cuts.table.counts[row as usize]);
    let mut sides = (!view.size_decides).then(|| (Tally::new(cuts.table), Tally::new(cuts.table)));
    if let Some((_, right)) = &mut sides {
        order.iter().for_each(|&(_, row)| right.add(row, count(row)));
    }
    let first = group.region[dim].first;
    let mut below = 0;
    for (at, &(code, row)) in order.iter().enumerate() {
        below += count(row);
        if let Some((left, right)) = &mut sides {
            left.add(row, count(row));
            right.remove(row, count(row));
        }
        let Some(&(next, _)) = order.get(at + 1) else { break };
        if next == code {
            continue;
        }
        let places = &mut ways[(code - first) as usize..(next - first) as usize];
        let smallest = below.min(group.count - below);
        let mut holds = smallest >= view.least;
        if let Some((left, right)) =
            sides.as_ref().filter(|_| holds && places.iter().any(|s| s.valid))
        {
            let side = |tally: &Tally<'_>, run| {
                let mut region = group.region.clone();
                region[dim] = run;
                view.judge(cuts.goal, &tally.class(region))
            };
            let above = Run::new(code + 1, group.region[dim].last);
            holds = side(left, Run::new(first, code)) && side(right, above);
        }
        for s in places {
            s.smallest[v] = s.smallest[v].min(smallest);
            s.valid &= holds;
        }
    }
}
