//! # specialize
//!
//! Sub-tree recoding, judged as whole tables where a model is: from the most general table down to
//! one that cannot be specialized any further, or to the best of all. Made for `ff-anonymity`.
//!
//! ## Method
//! Every attribute is shown by one cut through its taxonomy, the same for all records; at first by
//! its root. A specialization shows the children of a node instead of the node.
//!
//! - `search = "minimal"`: the specialization that saves most loss (GCP) is made if the table that
//!   it leads to keeps the models, otherwise it is given up; again and again, until none is left.
//! - `search = "optimal"`: the table of least loss of all that keep the models. Every node of a cut
//!   is decided in turn: it is specialized, or it is shown for good. A node that cannot be
//!   specialized now never can, so it is shown for good at once. A branch ends when what is shown
//!   for good loses as much as the best table known.
//!
//! For FF-anonymity a step is judged by the attacks that are new: those on a child, and those that
//! observe a child. The others were there before. Other models are judged class by class, on the
//! classes that their columns make.
//!
//! `repair = "suppress"` does something else, to be compared with: every value that FF-anonymity
//! could find attacked is replaced by the root, all others are shown as they are.
//!
//! ## Guarantee
//! Every model is kept. With monotone models, as FF-anonymity is for one cut per attribute,
//! `minimal` cannot be specialized further: it is a minimal FF-anonymization, though not always the
//! best one. `optimal` is the best, if the search ends within `nodes` and `seconds`; if not, the
//! best table found, made minimal, with a note of how much better another could be. With models
//! that are not monotone both are heuristics.
//!
//! `repair = "suppress"` refuses if other models are broken by what it shows. A suppressed cell
//! shows nothing, but who knows how the release was made knows that it hides one of the guarded
//! values: a note says so.
//!
//! ## Cost
//! `minimal` tries every node of the taxonomies at most once. For FF-anonymity a step visits the
//! sets of observable values that occur: with m attributes of d levels at most n · dᵖ · C(m, p)
//! rows for p `known` values, n distinct rows. `optimal` is exponential in the number of nodes.
//!
//! ## Departures from the paper
//! The paper leaves its algorithm to a full version that did not appear; it says that minimal
//! tables are found from the most general one down. The order by loss, the judgement by what is
//! new, the optimal search and the suppression of guarded values (its second table) are ours.
//! Numbers and dates are specialized along the levels of their taxonomy: give `intervals`, because
//! `number = true` has none.
//!
//! ## Reference
//! Wang, Xu, Fu and Wong, "FF-anonymity: when quasi-identifiers are missing", 2009.

use super::cut::{Cuts, Worth};
use super::{Algorithm, Goal, Progress, Refusal, Requirement};
use crate::catalogue::{Entry, Kind, Parameter};
use crate::class::{EquivalenceClass, Run};
use crate::failure::Failure;
use crate::freeform::cube::{Column, Cube, Thresholds};
use crate::model::exposure;
use crate::publish::{Judgement, judge};
use crate::release::{Form, Generalized, Member, Members, Release, project};
use crate::table::{Attribute, Table};
use hashbrown::HashMap;
use std::borrow::Cow;

pub(super) const ENTRY: Entry<Box<dyn Algorithm>> = Entry {
    name: "specialize",
    summary: "specializes from the root, judging whole tables; minimal or optimal cuts for FF-anonymity",
    source: include_str!("specialize.rs"),
    parameters: &[
        Parameter {
            name: "search",
            kind: Kind::Choice(&["minimal", "optimal"]),
            default: Some("minimal"),
            about: "a table that cannot be specialized further, or the one of least loss",
        },
        Parameter {
            name: "repair",
            kind: Kind::Choice(&["generalize", "suppress"]),
            default: Some("generalize"),
            about: "generalize what is attacked, or replace all guarded values by the root",
        },
        Parameter {
            name: "nodes",
            kind: Kind::Count(1, 1_000_000_000),
            default: Some("20000"),
            about: "the optimal search ends after so many nodes",
        },
    ],
    build: |p| {
        let (optimal, suppress) = (p.word("search") == "optimal", p.word("repair") == "suppress");
        Ok(Box::new(Specialize { optimal, suppress, nodes: p.count("nodes") }))
    },
};

struct Specialize {
    optimal: bool,
    suppress: bool,
    nodes: u64,
}

impl Algorithm for Specialize {
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
        if self.suppress {
            return suppressed(table, goal);
        }
        let judge = Judge::new(table, goal);
        let mut cuts = Cuts::top_for(table, goal, |r| !is_freeform(r));
        judge.specialize(&mut cuts, progress);
        if !self.optimal {
            return Ok(Form::Generalized(cuts.form()));
        }
        let found = judge.optimum(shown(&cuts), self.nodes, progress);
        let mut cuts = Cuts::top_for(table, goal, |r| !is_freeform(r));
        for (dim, runs) in found.shown.iter().enumerate() {
            descend(&mut cuts, dim, table.quasi[dim].taxonomy.root(), runs);
        }
        if !found.finished {
            judge.specialize(&mut cuts, progress);
        }
        let loss = judge.loss(&shown(&cuts));
        let note = match found.bound {
            bound if found.finished || bound >= loss => {
                "no cuts lose less: the search for better ones ended".to_owned()
            }
            bound => {
                let gap = 100.0 * (loss - bound) / loss;
                format!("the search was ended: other cuts may lose up to {gap:.1} % less")
            }
        };
        Ok(Form::Generalized(cuts.form().noted(note)))
    }
}

fn is_freeform(r: &Requirement) -> bool {
    r.model.freeform().is_some()
}

/// What every leaf shows.
fn shown(cuts: &Cuts<'_>) -> Vec<Vec<Run>> {
    (0..cuts.table.quasi.len()).map(|dim| cuts.shown_by(dim).to_vec()).collect()
}

/// Specializes a node until its leaves show these runs.
fn descend(cuts: &mut Cuts<'_>, dim: usize, node: Run, runs: &[Run]) {
    if runs[node.first as usize] != node {
        let children = cuts.table.quasi[dim].taxonomy.children(node);
        cuts.split(dim, node, &children);
        children.into_iter().for_each(|child| descend(cuts, dim, child, runs));
    }
}

/// Judges tables and steps between them.
struct Judge<'a> {
    table: &'a Table,
    goal: &'a Goal<'a>,
    worth: Worth<'a>,
    counts: Vec<u64>,
    freeform: Vec<(Option<&'a [usize]>, Thresholds)>,
}

/// A node that may be specialized.
#[derive(Clone)]
struct Candidate {
    dim: usize,
    node: Run,
    children: Vec<Run>,
    /// What showing the children instead of the node saves.
    saves: f64,
}

impl<'a> Judge<'a> {
    fn new(table: &'a Table, goal: &'a Goal<'a>) -> Judge<'a> {
        let thresholds = |r: &'a Requirement| Some((r.on.as_deref(), r.model.freeform()?));
        Judge {
            table,
            goal,
            worth: Worth::new(table),
            counts: table.counts.iter().map(|&n| n.into()).collect(),
            freeform: goal.requirements.iter().filter_map(thresholds).collect(),
        }
    }

    /// How a node may be specialized, if it may and somebody shows it.
    fn candidate(&self, dim: usize, node: Run) -> Option<Candidate> {
        let children = self.table.quasi[dim].taxonomy.children(node);
        let below = || children.iter().map(|&child| self.worth.loss(dim, child)).sum::<f64>();
        let saves = self.worth.loss(dim, node) - below();
        (!children.is_empty() && self.worth.records(dim, node) > 0).then_some(Candidate {
            dim,
            node,
            children,
            saves,
        })
    }

    /// Makes valid specializations until none is left. The cuts keep the goal, before and after.
    fn specialize(&self, cuts: &mut Cuts<'_>, progress: Progress<'_>) {
        let nodes = (0..self.table.quasi.len())
            .flat_map(|dim| cuts.runs(dim).into_iter().map(move |run| (dim, run)));
        let nodes: Vec<(usize, Run)> = nodes.collect();
        let mut open: Vec<Candidate> =
            nodes.into_iter().filter_map(|(dim, run)| self.candidate(dim, run)).collect();
        let (all, mut done) = (self.table.records(), 0);
        loop {
            // Of equals the first.
            let best =
                |&a: &usize, &b: &usize| open[a].saves.total_cmp(&open[b].saves).then(b.cmp(&a));
            let Some(best) = (0..open.len()).max_by(best) else { break };
            let step = open.remove(best);
            if !progress.improves(all * done / (done + open.len() as u64 + 1), all) {
                break;
            }
            done += 1;
            let shown = |dim: usize| Cow::Borrowed(cuts.shown_by(dim));
            if cuts.admits(step.dim, step.node, &step.children) && self.is_harmless(&shown, &step) {
                cuts.split(step.dim, step.node, &step.children);
                open.extend(
                    step.children.iter().filter_map(|&child| self.candidate(step.dim, child)),
                );
            }
        }
        progress.at(all, all);
    }

    /// Whether a step breaches nothing, given that nothing is breached before it. `shown` is what
    /// leaves show before.
    fn is_harmless<'s>(&self, shown: &dyn Fn(usize) -> Cow<'s, [Run]>, step: &Candidate) -> bool {
        self.freeform.iter().filter(|(on, _)| on.is_none_or(|on| on.contains(&step.dim))).all(
            |(on, thresholds)| {
                let column = |dim: usize| {
                    let mut runs = shown(dim);
                    if dim == step.dim {
                        for child in &step.children {
                            runs.to_mut()[child.first as usize..=child.last as usize].fill(*child);
                        }
                    }
                    Column {
                        attribute: dim,
                        codes: Cow::Borrowed(&self.table.quasi_codes[dim]),
                        runs,
                    }
                };
                let dims =
                    (0..self.table.quasi.len()).filter(|dim| on.is_none_or(|on| on.contains(dim)));
                let columns: Vec<Column<'_>> = dims.map(column).collect();
                let cube = Cube::new(
                    &self.table.quasi,
                    &columns,
                    &self.counts,
                    thresholds,
                    thresholds.threat,
                );
                cube.is_some_and(|cube| {
                    !cube.breaks_at(thresholds.threat, step.dim, &step.children)
                })
            },
        )
    }

    /// Whether a table keeps what is judged class by class.
    fn keeps_others(&self, shown: &[Vec<Run>]) -> bool {
        let others: Vec<usize> = (0..self.goal.requirements.len())
            .filter(|&r| !is_freeform(&self.goal.requirements[r]))
            .collect();
        if others.is_empty() {
            return true;
        }
        let form = Form::Generalized(form(self.table, |dim, leaf| shown[dim][leaf as usize]));
        let classes = Release::of(self.table, &form).classes;
        others.into_iter().all(|r| {
            let projected = self.goal.requirements[r]
                .on
                .as_ref()
                .map(|on| project(&self.table.quasi, &classes, on));
            let judged: &[EquivalenceClass] = projected.as_deref().unwrap_or(&classes);
            judged.iter().all(|class| self.goal.keeps(r, class))
        })
    }

    /// What a table loses, in cells.
    fn loss(&self, shown: &[Vec<Run>]) -> f64 {
        let of = |(dim, runs): (usize, &Vec<Run>)| {
            let mut runs = runs.clone();
            runs.dedup();
            runs.iter().map(|&run| self.worth.loss(dim, run)).sum::<f64>()
        };
        shown.iter().enumerate().map(of).sum()
    }

    /// The best table, or the best that is found in time, beginning with one that keeps the goal.
    fn optimum(&self, known: Vec<Vec<Run>>, nodes: u64, progress: Progress<'_>) -> Optimum {
        let mut best = (self.loss(&known), known);
        let top: Vec<Vec<Run>> =
            self.table.quasi.iter().map(|a| vec![a.taxonomy.root(); a.taxonomy.leaves()]).collect();
        let roots = self.table.quasi.iter().enumerate();
        let open = roots.filter_map(|(dim, a)| self.candidate(dim, a.taxonomy.root())).collect();
        let mut states = vec![State { shown: top, open, loses: 0.0 }];
        let mut visited = 0;
        while let Some(mut state) = states.pop() {
            if visited >= nodes || !progress.improves(visited, nodes.max(visited + 1)) {
                let bound = states.iter().map(|s| s.loses).fold(state.loses, f64::min);
                return Optimum { shown: best.1, finished: bound >= best.0 - SLACK, bound };
            }
            visited += 1;
            self.decide(&mut state);
            if state.loses >= best.0 - SLACK {
                continue;
            }
            // The node that loses most is decided first: either way the bound moves.
            let weight = |i: &usize| self.worth.loss(state.open[*i].dim, state.open[*i].node);
            let Some(i) =
                (0..state.open.len()).max_by(|a, b| weight(a).total_cmp(&weight(b)).then(b.cmp(a)))
            else {
                best = (state.loses, state.shown);
                continue;
            };
            let step = state.open.remove(i);
            let mut kept = state.clone();
            kept.loses += self.worth.loss(step.dim, step.node);
            states.push(kept);
            step.show(&mut state.shown);
            state
                .open
                .extend(step.children.iter().filter_map(|&child| self.candidate(step.dim, child)));
            states.push(state);
        }
        Optimum { bound: best.0, shown: best.1, finished: true }
    }

    /// Shows for good what cannot be specialized.
    fn decide(&self, state: &mut State) {
        let State { shown, open, loses } = state;
        open.retain(|step| {
            let before = |dim: usize| Cow::Borrowed(&shown[dim][..]);
            let mut after = shown.clone();
            step.show(&mut after);
            let valid = self.is_harmless(&before, step) && self.keeps_others(&after);
            *loses += if valid { 0.0 } else { self.worth.loss(step.dim, step.node) };
            valid
        });
    }
}

/// Sums of the same losses in another order may differ by this.
const SLACK: f64 = 1e-9;

impl Candidate {
    fn show(&self, shown: &mut [Vec<Run>]) {
        for child in &self.children {
            shown[self.dim][child.first as usize..=child.last as usize].fill(*child);
        }
    }
}

/// Tables that are not told apart yet: some nodes are shown for good, the others may be
/// specialized.
#[derive(Clone)]
struct State {
    shown: Vec<Vec<Run>>,
    open: Vec<Candidate>,
    /// What is lost by what is shown for good.
    loses: f64,
}

struct Optimum {
    shown: Vec<Vec<Run>>,
    finished: bool,
    /// No table loses less.
    bound: f64,
}

/// The classes if every leaf shows this.
fn form(table: &Table, shown: impl Fn(usize, u32) -> Run) -> Generalized {
    let mut classes: Vec<Members> = Vec::new();
    let mut place: HashMap<Box<[Run]>, usize> = HashMap::new();
    for row in 0..table.rows() {
        let region: Box<[Run]> =
            (0..table.quasi.len()).map(|dim| shown(dim, table.quasi_codes[dim][row])).collect();
        let class = *place.entry(region).or_insert_with_key(|region| {
            classes.push(Members { region: region.clone(), members: Vec::new() });
            classes.len() - 1
        });
        classes[class].members.push(Member { row: row as u32, count: table.counts[row] });
    }
    Generalized::new(classes, Vec::new())
}

/// Every value as it is, or the root where it could be attacked.
fn suppressed(table: &Table, goal: &Goal<'_>) -> Result<Form, Refusal> {
    let attacked = |dim: usize, attribute: &Attribute, leaf: u32| {
        goal.requirements.iter().filter_map(|r| Some((r, r.model.freeform()?))).any(
            |(r, thresholds)| {
                let on = r.on.as_ref().is_none_or(|on| on.contains(&dim));
                on && exposure(attribute, Run::new(leaf, leaf), &thresholds) > thresholds.threat
            },
        )
    };
    let of_attribute = |(dim, a): (usize, &Attribute)| -> Vec<Run> {
        let leaf =
            |leaf| if attacked(dim, a, leaf) { a.taxonomy.root() } else { Run::new(leaf, leaf) };
        (0..a.taxonomy.leaves() as u32).map(leaf).collect()
    };
    let shown: Vec<Vec<Run>> = table.quasi.iter().enumerate().map(of_attribute).collect();
    let hides = |(a, runs): (&Attribute, &Vec<Run>)| {
        let root = a.taxonomy.root();
        (root.width() > 1 && runs.contains(&root)).then(|| format!("`{}`", a.name))
    };
    let hidden: Vec<String> = table.quasi.iter().zip(&shown).filter_map(hides).collect();
    let mut made = form(table, |dim, leaf| shown[dim][leaf as usize]);
    if !hidden.is_empty() {
        made = made.noted(format!(
            "guarded values of {} are suppressed; who knows that, knows that such a cell hides one of them",
            hidden.join(", ")
        ));
    }
    let form = Form::Generalized(made);
    let judgements = judge(&Release::of(table, &form), goal.requirements).map_err(Refusal)?;
    let broken = goal.requirements.iter().zip(&judgements).filter(|(_, j)| !j.holds);
    let reason = |(r, j): (&Requirement, &Judgement)| {
        Failure::refused("promise-broken", format!("{}{}", j.words(r.name), r.about(goal.sensitive)))
            .hint("suppression hides what is guarded and changes nothing else; `repair = \"generalize\"` does")
    };
    let reasons: Vec<Failure> = broken.map(reason).collect();
    if reasons.is_empty() { Ok(form) } else { Err(Refusal(reasons)) }
}
