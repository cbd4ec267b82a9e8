//! Classes in the making.

use super::axis::Cell;
use std::cmp::Reverse;

/// Some records of one unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Lot {
    pub unit: u32,
    pub count: u32,
}

/// A class in the making.
#[derive(Clone)]
pub(super) struct Group {
    pub lots: Vec<Lot>,
    pub region: Vec<Cell>,
    pub count: u64,
    /// Of one record: the sum over its quasi-identifiers.
    pub loss: f32,
    pub holds: bool,
}

impl Group {
    pub(super) fn cost(&self) -> f64 {
        self.count as f64 * f64::from(self.loss)
    }
}

pub(super) fn cost(groups: &[Group]) -> f64 {
    groups.iter().map(Group::cost).sum()
}

/// Groups with changes that are not made yet. A number behind the last group is a new one.
pub(super) struct Draft<'a> {
    pub base: &'a [Group],
    pub changed: Vec<(usize, Option<Group>)>,
}

impl Draft<'_> {
    pub(super) fn gain(&self) -> f64 {
        let before: f64 =
            self.changed.iter().filter_map(|(g, _)| self.base.get(*g)).map(Group::cost).sum();
        before - self.changed.iter().filter_map(|(_, g)| g.as_ref()).map(Group::cost).sum::<f64>()
    }

    pub(super) fn is_changed(&self, group: usize) -> bool {
        self.changed.iter().any(|(c, _)| *c == group)
    }
}

/// Makes the changes of a draft.
pub(super) fn commit(groups: &mut Vec<Group>, mut changed: Vec<(usize, Option<Group>)>) {
    // From behind, so that what is moved into a gap is not to be changed itself.
    changed.sort_unstable_by_key(|(g, _)| Reverse(*g));
    for (g, new) in changed {
        match new {
            Some(new) if g < groups.len() => groups[g] = new,
            Some(new) => groups.push(new),
            None => drop(groups.swap_remove(g)),
        }
    }
}

/// Lots of one unit become one.
pub(super) fn combine(mut lots: Vec<Lot>) -> Vec<Lot> {
    lots.sort_unstable_by_key(|l| l.unit);
    lots.dedup_by(|next, kept| {
        next.unit == kept.unit && {
            kept.count += next.count;
            true
        }
    });
    lots
}
