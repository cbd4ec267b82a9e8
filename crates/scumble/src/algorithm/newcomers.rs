//! People whom no earlier release knew, and the places of people who left: who fills one, and who
//! is left for new groups.
//!
//! A newcomer who fills a place of her value tells nothing new about the others of the group; but
//! those who are left must still be eligible: no value held by more than one in m of them. Both
//! together are a small problem of whole numbers that is solved exactly: with r of the n newcomers
//! of a value left, of which b find no place (b ≤ r ≤ n), the least Σ r such that every r ≤ ⌊Σ r /
//! m⌋. Call that bound q. It must be at least the largest b; and at least m · q people must be
//! left, which is possible if Σ min(n, q) ≥ m · q. The left side minus the right is concave in q
//! and 0 at 0, so that q may be anything up to a largest one; the least q at or above the largest
//! b, and at or above ⌊Σ b / m⌋, is the best.

use super::Refusal;
use crate::failure::Failure;
use crate::history::{History, PastGroup};
use crate::table::Table;

/// Newcomers and open places, by sensitive value.
pub(super) struct Newcomers {
    /// How many newcomers have each value.
    pub people: Vec<u64>,
    /// How many places are open to each.
    pub places: Vec<u64>,
}

impl Newcomers {
    /// How many newcomers of each value find no place.
    fn without_place(&self) -> impl Iterator<Item = u64> + '_ {
        self.people.iter().zip(&self.places).map(|(n, places)| n.saturating_sub(*places))
    }

    /// Whether m · q people can be left with no value more often than q.
    fn possible(&self, q: u64, m: u64) -> bool {
        self.people.iter().map(|&n| n.min(q)).sum::<u64>() >= m * q
    }

    /// How many newcomers of each value are left for new groups, as few as may be so that the new
    /// groups are possible; none if there is no way.
    pub fn left(&self, m: u64) -> Option<Vec<u64>> {
        let mut left: Vec<u64> = self.without_place().collect();
        let sum: u64 = left.iter().sum();
        let q = left.iter().copied().max().unwrap_or(0).max(sum / m);
        if !self.possible(q, m) {
            return None;
        }
        let mut more = (m * q).saturating_sub(sum);
        for (left, &n) in left.iter_mut().zip(&self.people) {
            let stay = more.min(n.min(q) - *left);
            *left += stay;
            more -= stay;
        }
        Some(left)
    }

    /// The largest m up to this one for which new groups are possible; 1 if for none.
    pub fn largest(&self, m: u64) -> u64 {
        (2..=m).rev().find(|&m| self.left(m).is_some()).unwrap_or(1)
    }

    /// The fewest newcomers that would have to be held back so that the new groups of the others
    /// are possible.
    pub fn too_many(&self, m: u64) -> u64 {
        let most = self.without_place().max().unwrap_or(0);
        let (mut low, mut high) = (0, most);
        while low < high {
            let q = low + (high - low).div_ceil(2);
            if self.possible(q, m) { low = q } else { high = q - 1 }
        }
        self.without_place().map(|b| b.saturating_sub(low)).sum()
    }

    /// Why new groups are not possible, and what could be had.
    pub fn problem(
        &self,
        algorithm: &str,
        parameter: &str,
        asked: u64,
        attribute: &str,
    ) -> Failure {
        let (all, placed) = (self.people.iter().sum::<u64>(), self.places.iter().any(|&n| n > 0));
        let who =
            if placed { "newcomers who do not take the place of somebody" } else { "records" };
        let message = format!(
            "`{algorithm}` with {parameter} = {asked} is not possible for `{attribute}`: of the {who}, one value is held by more \
             than one in {asked}"
        );
        let back = self.too_many(asked);
        let back = format!(
            "hold back {back} of the {all} {} until others come",
            if placed {
                "newcomers, with the commonest values,"
            } else {
                "records, with the commonest values,"
            }
        );
        Failure::refused("cannot-be-met", message).hint(match self.largest(asked) {
            1 => back,
            largest => {
                format!("at most {parameter} = {largest} can be asked of these data; or {back}")
            }
        })
    }
}

/// The only sensitive attribute that is published, which must be there.
pub(super) fn only_sensitive(algorithm: &str, table: &Table) -> Result<(), Failure> {
    match table.published_sensitive() {
        [_] => Ok(()),
        [] => Err(Failure::policy("no-sensitive-attribute", format!("`{algorithm}` needs a sensitive attribute, and there is none"))
            .hint("give a column `role = \"sensitive\"`, or use an algorithm that generalizes")),
        several => Err(Failure::policy("several-sensitive-attributes", format!(
            "`{algorithm}` keeps the values of one sensitive attribute together, and there are {}",
            several.len()
        ))
        .hint("publish one of them, and the others by another policy or not at all; or use `anatomy`, which knows no past")),
    }
}

/// The group in which the people of each row were last seen, if there are earlier releases; a
/// problem if they cannot have been there.
pub(super) fn past<'a>(algorithm: &str, table: &'a Table) -> Result<Option<&'a History>, Refusal> {
    let Some(past) = &table.past else { return Ok(None) };
    let fits = |row: usize| match past.group_of(row) {
        None => true,
        Some(group) => {
            past.groups.get(group).is_some_and(|g| g.count(table.sensitive_codes[0][row]) > 0)
        }
    };
    if past.of_row.len() == table.rows() && (0..table.rows()).all(fits) {
        return Ok(Some(past));
    }
    Err(Refusal(vec![
        Failure::refused("history-does-not-fit", format!(
            "`{algorithm}` cannot go on from the earlier releases: somebody was in a group without her value"
        ))
        .hint("the memory of earlier releases is not that of these people; restore it, or start a new series"),
    ]))
}

/// The different values that a group showed.
pub(super) fn signature(group: &PastGroup) -> Vec<u32> {
    group.values.iter().map(|&(value, _)| value).collect()
}
