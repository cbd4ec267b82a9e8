//! Who is counted with whom.

use crate::inference::Evidence;

/// Which facts count some outcome of a kind, and the kinds of each fact.
#[derive(Default)]
pub(super) struct Graph {
    facts: Lists,
    kinds: Lists,
}

/// Lists of numbers, one after another.
#[derive(Default)]
pub(super) struct Lists {
    ends: Vec<u32>,
    all: Vec<u32>,
}

impl Lists {
    /// Builds `lists` lists from pairs (list, number).
    pub(super) fn new(lists: usize, pairs: impl Iterator<Item = (u32, u32)> + Clone) -> Lists {
        let mut ends = vec![0; lists];
        pairs.clone().for_each(|(list, _)| ends[list as usize] += 1);
        let mut total = 0;
        for end in &mut ends {
            // Starts for now; they move to the ends as the lists are filled.
            (*end, total) = (total, total + *end);
        }
        let mut all = vec![0; total as usize];
        for (list, number) in pairs {
            all[ends[list as usize] as usize] = number;
            ends[list as usize] += 1;
        }
        Lists { ends, all }
    }

    pub(super) fn of(&self, list: u32) -> &[u32] {
        let start = if list == 0 { 0 } else { self.ends[list as usize - 1] };
        &self.all[start as usize..self.ends[list as usize] as usize]
    }
}

impl Graph {
    pub(super) fn new(evidence: &Evidence) -> Graph {
        let mut facts = Lists::default();
        // The last kind that was seen at a fact.
        let mut seen = vec![u32::MAX; evidence.facts().len()];
        for kind in 0..evidence.kinds().len() as u32 {
            for &fact in evidence.outcomes_of(kind).flat_map(|o| evidence.facts_of(o)) {
                if std::mem::replace(&mut seen[fact as usize], kind) != kind {
                    facts.all.push(fact);
                }
            }
            facts.ends.push(facts.all.len() as u32);
        }
        let kinds = 0..evidence.kinds().len() as u32;
        let pairs = kinds.flat_map(|kind| facts.of(kind).iter().map(move |&fact| (fact, kind)));
        let kinds = Lists::new(evidence.facts().len(), pairs);
        Graph { facts, kinds }
    }

    /// The facts that count some outcome of the kind.
    pub(super) fn facts(&self, kind: u32) -> &[u32] {
        self.facts.of(kind)
    }

    /// The kinds with an outcome that the fact counts, rising.
    pub(super) fn kinds(&self, fact: u32) -> &[u32] {
        self.kinds.of(fact)
    }

    /// The kinds in an order in which few facts are open at once: begun and not yet complete.
    /// `None` if more than `width` would be.
    pub(super) fn order(&self, width: usize) -> Option<Vec<u32>> {
        let n = self.facts.ends.len();
        let mut left: Vec<u32> =
            (0..self.kinds.ends.len() as u32).map(|f| self.kinds(f).len() as u32).collect();
        let mut is_open = vec![false; left.len()];
        let (mut open, mut order) = (0, Vec::with_capacity(n));
        // Neighbours of those that are placed; a kind is placed, or a neighbour, or neither.
        let mut near: Vec<u32> = Vec::new();
        let mut known = vec![false; n];
        let mut starts: Vec<u32> = (0..n as u32).collect();
        starts.sort_by_key(|&k| std::cmp::Reverse(self.facts(k).len()));
        while order.len() < n {
            let cost = |k: u32| {
                let facts = self.facts(k).iter();
                facts
                    .map(|&f| i32::from(!is_open[f as usize]) - i32::from(left[f as usize] == 1))
                    .sum::<i32>()
            };
            let kind = match (0..near.len()).min_by_key(|&i| (cost(near[i]), near[i])) {
                Some(best) => near.swap_remove(best),
                None => loop {
                    let kind = starts.pop()?;
                    if !known[kind as usize] {
                        break kind;
                    }
                },
            };
            known[kind as usize] = true;
            order.push(kind);
            for &fact in self.facts(kind) {
                if !is_open[fact as usize] {
                    is_open[fact as usize] = true;
                    open += 1;
                    for &other in self.kinds(fact) {
                        if !std::mem::replace(&mut known[other as usize], true) {
                            near.push(other);
                        }
                    }
                }
                left[fact as usize] -= 1;
                open -= usize::from(left[fact as usize] == 0);
            }
            if open > width {
                return None;
            }
        }
        Some(order)
    }
}
