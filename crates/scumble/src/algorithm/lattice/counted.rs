//! The best combination of levels of a table that is counted elsewhere.
//!
//! At which combinations the table fits is found along chains, from the most general one downwards.
//! Where it does it is brought, and everything more general is searched as always. That leaves
//! combinations that are not comparable, and those that are too large; of these the most general
//! ones are refuted by the number of records in classes that are too small, which refutes
//! everything below. One that cannot be refuted like that might be the best, and then there is no
//! answer.

use super::{Findings, Optimal, Rank, Search, open};
use crate::algorithm::full_domain::{self, Frame, Lattice, Loss, Nodes};
use crate::algorithm::{Counter, Goal, Recode, Recoding, Stopped};
use crate::failure::{Failure, Failures};
use crate::progress::{Progress, Watch};
use crate::release::Form;
use crate::table::Table;
use std::sync::Arc;

impl Recode for Optimal {
    fn recode(
        &self,
        goal: &Goal<'_>,
        counts: Vec<Vec<u64>>,
        counter: &mut dyn Counter,
        progress: Progress<'_>,
    ) -> Result<(Table, Form), Stopped> {
        let records = goal.distributions.first().map(|d| d.counts.iter().sum());
        let records = records.or_else(|| counts.first().map(|c| c.iter().sum())).unwrap_or(0);
        let limit = full_domain::limit(&self.0, records);
        let frame = Arc::new(Frame::new(goal.quasi, counts, records, limit));
        let loss = Loss::new(self.0.word("metric"), goal.quasi, &frame);
        let nodes = frame.nodes()?;
        let mut found = Findings::new(&nodes);
        let mut stopped = false;
        let watch = Watch::new(progress, records);
        while let Some(next) = next(&loss, &frame, &nodes, &found).filter(|_| !stopped) {
            let chain = chain(&frame, &nodes, &found, next);
            let shown = |node: usize| frame.standing(goal.quasi, &nodes.levels(node));
            let base = match lowest(&chain, &shown, counter)? {
                Ok(base) => base,
                Err(too_many) => {
                    let sizes = counter.sizes(&shown(next))?;
                    if too_small(goal, &sizes) > limit {
                        found.settle_below(&nodes, next);
                        continue;
                    }
                    return Err(Stopped::Refused(vec![undecided(&nodes, next, goal, too_many)]));
                }
            };
            let table = counter.table(&shown(base))?;
            let lattice = Lattice::within(&table, goal, frame.clone());
            let mut search = Search::new((&lattice, &loss), &nodes, base, &mut found, &watch);
            search.run();
            stopped = search.stopped;
        }
        watch.check().map_err(|p| Stopped::Refused(vec![p]))?;
        let Some((_, _, best)) = found.best else {
            return Err(Stopped::Refused(vec![frame.nothing()]));
        };
        let levels = nodes.levels(best);
        let table = counter.table(&frame.standing(goal.quasi, &levels))?;
        let form = Lattice::within(&table, goal, frame).publish(&levels)?;
        Ok((table, form))
    }
}

/// One of the most general nodes that need a test.
fn next(loss: &Loss, frame: &Frame, nodes: &Nodes, found: &Findings) -> Option<usize> {
    let open: Vec<Rank> = open(loss, frame, nodes, found, 0);
    open.into_iter().max_by_key(|&(_, height, node)| (height, node)).map(|(_, _, node)| node)
}

/// Nodes that need a test, each below the one before, as long as there are some: on the way that
/// has fewest classes.
fn chain(frame: &Frame, nodes: &Nodes, found: &Findings, from: usize) -> Vec<usize> {
    let (mut chain, mut at) = (vec![from], from);
    let untested = |n: &usize| !found.known[*n].settled;
    while let Some(below) =
        nodes.below(at).filter(untested).min_by_key(|&n| frame.most_classes(&nodes.levels(n)))
    {
        chain.push(below);
        at = below;
    }
    chain
}

/// So many nodes of a chain are asked for at once.
const ASKED: usize = 4;

/// The lowest node of a chain at which the table fits; what is wrong if it fits at none.
fn lowest(
    chain: &[usize],
    shown: &dyn Fn(usize) -> Recoding,
    counter: &mut dyn Counter,
) -> Result<Result<usize, Failure>, Failures> {
    // Below `fits` it does, from `fails` on it does not.
    let (mut fits, mut fails, mut why) = (0, chain.len(), None);
    while fits < fails {
        // The first of those that are left decides whether there is one at all; the others divide
        // what is left.
        let mut places: Vec<usize> =
            (0..ASKED).map(|i| fits + (fails - fits) * i / ASKED).collect();
        places.dedup();
        let rows = counter.rows(&places.iter().map(|&at| shown(chain[at])).collect::<Vec<_>>())?;
        for (&at, &rows) in places.iter().zip(&rows) {
            match counter.fits(rows) {
                Ok(()) => fits = at + 1,
                Err(problem) => {
                    (fails, why) = (at, Some(problem));
                    break;
                }
            }
        }
    }
    Ok(match (fits.checked_sub(1), why) {
        (Some(at), _) => Ok(chain[at]),
        (None, why) => Err(why.unwrap_or_else(|| Failure::bug("internal", "nothing was counted"))),
    })
}

/// Records in classes that are too small for some model, whatever they hold.
fn too_small(goal: &Goal<'_>, sizes: &[(u64, u64)]) -> u64 {
    let all = goal.requirements.iter().filter(|r| r.on.is_none());
    let least = all.map(|r| r.model.promise().least).max().unwrap_or(1);
    sizes.iter().filter(|(size, _)| *size < least).map(|(size, classes)| size * classes).sum()
}

/// The node may be the best, and nobody can tell.
fn undecided(nodes: &Nodes, node: usize, goal: &Goal<'_>, why: Failure) -> Failure {
    let levels =
        goal.quasi.iter().zip(nodes.levels(node)).map(|(a, level)| format!("`{}` {level}", a.name));
    let levels: Vec<String> = levels.collect();
    let message = format!(
        "whether the levels {} keep the models cannot be found out here: {}",
        levels.join(", "),
        why.message
    );
    Failure { message, ..why }
}
