//! Whether people who come and leave can be told from a class that keeps earlier groups together.
//!
//! An earlier group showed its values. If some of its people are in a class of the new release and
//! others have left, the class and the group differ by the values of those who left and of those
//! who came. Let a class hold whole earlier groups, as far as their people are here, and newcomers.
//! Somebody's value stays open if there is another way to give out values that shows the same:
//!
//! - Whoever left may have a value l′ that somebody of her group has who is here, if a newcomer has
//!   hers: that person and the newcomer then have her value and l′.
//! - She may have exchanged values with somebody else who left, if each one's value occurs in the
//!   other's group.
//! - A newcomer may have exchanged values with another newcomer, or takes part in the first way.
//! - Whoever is here may have exchanged values with another of her group who is here; if all of
//!   them have one value, she takes part in the first or second way.
//!
//! That is enough for nobody to become certain by the two releases together. More people in a class
//! give more ways, so it holds for a class if it holds for a part of it; and what holds for no
//! class with all people holds for no release of them, because every release tells at least how
//! often each value occurs in all.

use crate::history::History;
use crate::table::Table;
use hashbrown::{HashMap, HashSet};

/// Values with counts.
type Counts = HashMap<u32, u64>;

/// What of an earlier group is in a class.
#[derive(Default)]
struct Kept {
    here: Counts,
    left: Vec<u32>,
}

/// People of a class, or who left its groups, whose value is open in none of these ways though it
/// was before.
pub(super) fn told_apart(
    table: &Table,
    past: &History,
    rows: impl Iterator<Item = (usize, u64)>,
) -> u64 {
    let Some(values) = table.sensitive_codes.first() else { return 0 };
    let (mut groups, mut came): (HashMap<usize, Kept>, Counts) = Default::default();
    for (row, count) in rows {
        let counts = match past.group_of(row) {
            Some(group) => &mut groups.entry(group).or_default().here,
            None => &mut came,
        };
        *counts.entry(values[row]).or_default() += count;
    }
    for (group, kept) in &mut groups {
        let gone = |&&(value, n): &&(u32, u64)| n > kept.here.get(&value).copied().unwrap_or(0);
        kept.left =
            past.groups[*group].values.iter().filter(gone).map(|&(value, _)| value).collect();
    }
    // Of groups that somebody with the first value left, and somebody with the second is here.
    let mut exchanges: HashSet<(u32, u32)> = HashSet::new();
    for kept in groups.values() {
        exchanges.extend(kept.left.iter().flat_map(|&l| kept.here.keys().map(move |&h| (l, h))));
    }
    let mut open: HashSet<u32> = HashSet::new();
    let mut exposed = 0;
    for (group, kept) in &groups {
        // All of a group that showed one value were known before.
        if past.groups[*group].values.len() < 2 {
            continue;
        }
        if let (Some((here, count)), 1) = (kept.here.iter().next(), kept.here.len()) {
            let exchanged =
                |l: &u32| l != here && (came.contains_key(l) || exchanges.contains(&(*here, *l)));
            if !kept.left.is_empty() && !kept.left.iter().any(exchanged) {
                exposed += count;
            }
        }
        for &value in &kept.left {
            let mut others = kept.here.keys().filter(|&&h| h != value).peekable();
            let replaced = came.contains_key(&value) && others.peek().is_some();
            if replaced {
                open.insert(value);
            }
            let among_them = kept.left.len() > 1;
            if !replaced && !among_them && !others.any(|&other| exchanges.contains(&(other, value)))
            {
                exposed +=
                    past.groups[*group].count(value) - kept.here.get(&value).copied().unwrap_or(0);
            }
        }
    }
    match came.iter().next() {
        Some((value, count)) if came.len() == 1 && !open.contains(value) => exposed + count,
        _ => exposed,
    }
}
