//! # microaggregation
//!
//! Puts similar records into groups of at least k and publishes the average of the group for each
//! of them.
//!
//! ## Method
//! The quasi-identifiers become places in a space: numbers, dates and ordered categories by their
//! place on the scale, other categories so that the squared distance of two is the loss of what
//! covers both in their taxonomy. Every attribute is scaled to variance 1, times its `weight`. k is
//! the size that the models ask of a class.
//!
//! - `method = "mdav"` (maximum distance to average vector): take the record r that is farthest
//!   from the average of all, and the record s that is farthest from r; each forms a group with its
//!   k − 1 nearest. Go on with the others while 3k are left; from 2k to 3k − 1 give a last group
//!   around the farthest and a group of the rest.
//! - `method = "best"` starts from these groups and anneals them: records move to a neighbour's
//!   group or change places with one of its members, groups dissolve into their neighbours and form
//!   anew around a record, always with k to 2k − 1 records. A step that raises the sum of squares
//!   is allowed now and then, ever more rarely. More `effort` takes longer and finds better groups.
//!   A single ordered quasi-identifier needs no search: its best groups are neighbours on the scale
//!   and are found exactly, as a shortest path.
//!
//! A group shows the mean of a number, rounded to `decimals` digits more than the data have; the
//! median of dates and ordered categories; the most frequent of other categories. It shows
//! "missing" where most of its records do. A group that breaks a model is merged with a near one,
//! if possible one with which the model holds, until all hold.
//!
//! ## Guarantee
//! Every class keeps the models. Values are averages: no cell need be the value of any of its
//! records, and a table about a class is true only on average. `sse` measures how far the values
//! have moved.
//!
//! ## Cost
//! `mdav` looks its neighbours up in a k-d tree: 100 000 records with ten numbers take about five
//! seconds on one core; "best" takes a second per 10 000 records and effort, divided by the cores.
//!
//! ## Departures from the paper
//! The centroid of categories, while groups are formed, is the share of each value and not the most
//! frequent one. Taxonomies with more than 32 nodes are projected to 32 coordinates. Ties go to the
//! lowest value, so the groups do not depend on the order of the table.
//!
//! ## Reference
//! Domingo-Ferrer and Mateo-Sanz, "Practical data-oriented microaggregation for statistical
//! disclosure control", 2002; Domingo-Ferrer and Torra, "Ordinal, continuous and heterogeneous
//! k-anonymity through microaggregation", 2005; Hansen and Mukherjee, "A polynomial algorithm for
//! optimal univariate microaggregation", 2003.

mod anneal;
mod mdav;
mod path;
mod points;
mod repair;
mod represent;
mod space;
mod tree;

#[cfg(test)]
mod tests;

use super::{Algorithm, Goal, Progress, Refusal};
use crate::catalogue::{Entry, Kind, Parameter};
use crate::failure::Failure;
use crate::progress::Watch;
use crate::release::{Form, Generalized, Member, Members, Shape};
use crate::table::Table;
use points::{Group, Points};
use repair::Part;
use space::Space;

pub(super) const ENTRY: Entry<Box<dyn Algorithm>> = Entry {
    name: "microaggregation",
    summary: "groups similar records and publishes their averages",
    source: include_str!("microaggregation.rs"),
    parameters: &[
        Parameter {
            name: "method",
            kind: Kind::Choice(&["best", "mdav"]),
            default: Some("best"),
            about: "search for the best groups, or take those of MDAV",
        },
        Parameter {
            name: "effort",
            kind: Kind::Count(1, 1000),
            default: Some("2"),
            about: "how long to search: twice the effort takes twice the time",
        },
        Parameter {
            name: "decimals",
            kind: Kind::Count(0, 18),
            default: Some("2"),
            about: "how many digits more than the data the mean of a number has",
        },
    ],
    build: |p| {
        let decimals = p.count("decimals") as u32;
        Ok(Box::new(Microaggregation {
            search: p.word("method") == "best",
            effort: p.count("effort"),
            decimals,
        }))
    },
};

struct Microaggregation {
    search: bool,
    effort: u64,
    decimals: u32,
}

impl Algorithm for Microaggregation {
    fn anonymize(
        &self,
        table: &Table,
        goal: &Goal<'_>,
        seed: u64,
        progress: Progress<'_>,
    ) -> Result<Form, Refusal> {
        if let Some(r) = goal.requirements.iter().find(|r| r.model.promise().region) {
            let message =
                format!("`{}` looks at regions, but microaggregation publishes averages", r.name);
            let hint = "use an algorithm that generalizes, such as `mondrian`";
            return Err(Refusal(vec![
                Failure::refused("models-and-algorithm", message).hint(hint),
            ]));
        }
        if table.rows() == 0 {
            return Ok(Form::Generalized(Generalized::new(Vec::new(), Vec::new())));
        }
        let space = Space::of(table);
        let everybody = (0u32..).zip(&table.counts).map(|(row, &count)| Member { row, count });
        let whole = Part::new(table, &space, everybody.clone().collect());
        let impossible = goal.impossible(&whole.class);
        if goal.is_monotone() && !impossible.is_empty() {
            return Err(Refusal(impossible));
        }
        let watch = Watch::new(progress, 0);
        let groups = self.group(&space.points, goal.least(), seed, (progress, &watch));
        watch.check().map_err(|p| Refusal(vec![p]))?;
        let mut parts: Vec<Part> =
            space.deal(table, &groups).into_iter().map(|m| Part::new(table, &space, m)).collect();
        loop {
            parts = match repair::merge_failing(goal, parts, &watch) {
                Some(parts) => parts,
                None if watch.stopped() => return Err(Refusal(vec![Failure::cancelled()])),
                // One class may keep what is judged on the whole, though it would not do its part
                // among others.
                None if impossible.is_empty() => {
                    vec![Part::new(table, &space, everybody.clone().collect())]
                }
                None => return Err(Refusal(impossible)),
            };
            let shown =
                represent::represent(table, &parts, self.decimals).map_err(|p| Refusal(p.0))?;
            // What shows the same is one class, which a model that is not monotone may reject.
            let before = parts.len();
            let (joined, regions) = repair::join_equal(parts, shown.regions);
            parts = joined;
            if parts.len() == before || parts.iter().all(|part| goal.holds(&part.class)) {
                let classes = parts.into_iter().zip(regions);
                let classes = classes
                    .map(|(part, region)| Members { region, members: part.members })
                    .collect();
                let form = Generalized::new(classes, Vec::new())
                    .written_in(shown.quasi, Shape::Representatives);
                let form = Form::Generalized(form);
                // Classes that some columns alone do not tell apart were not tested together.
                return if goal.is_monotone() { Ok(form) } else { goal.confirm(table, form) };
            }
        }
    }
}

impl Microaggregation {
    /// Groups of at least k records.
    fn group(
        &self,
        points: &Points,
        k: u64,
        seed: u64,
        (progress, watch): (Progress<'_>, &Watch<'_>),
    ) -> Vec<Group> {
        let k = k.min(points.records());
        if !self.search {
            return mdav::mdav(points, k, watch);
        }
        if points.dims() == 1 {
            let mut order: Vec<u32> = (0..points.len() as u32).collect();
            order.sort_by(|&a, &b| points.at(a)[0].total_cmp(&points.at(b)[0]));
            return path::cut(points, &order, k as usize, watch);
        }
        let (rest, mut groups) = points.set_aside(k);
        let first = mdav::mdav(&rest, k, watch);
        groups.extend(anneal::improve(&rest, first, k as usize, self.effort, seed, progress));
        groups
    }
}
