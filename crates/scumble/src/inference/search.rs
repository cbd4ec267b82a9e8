//! Worlds of small evidence, by search: which outcomes are possible at all.

use super::effort::Effort;
use super::evidence::Evidence;

/// How many choices a search for one world may take.
const CHOICES: usize = 2000;

/// For each outcome whether it is possible, as far as the search can say within its work; `None` if
/// there is no world.
pub(super) fn possible(evidence: &Evidence, effort: &Effort<'_>) -> Option<Vec<Option<bool>>> {
    let mut search = Search::new(evidence, effort);
    let count = evidence.outcomes().len();
    let mut verdicts = vec![None; count];
    let all = (0..search.constraints.len() as u32).collect();
    match search.propagate(all) {
        Some(true) => {}
        Some(false) => return None,
        None => return Some(verdicts),
    }
    if search.world() == Some(false) {
        return None;
    }
    for outcome in 0..count {
        search.note_world(&mut verdicts);
        if effort.is_spent() {
            break;
        }
        if verdicts[outcome].is_some() {
            continue;
        }
        let mark = search.trail.len();
        let found = match search.raise(outcome, 1) {
            Some(true) => search.world(),
            contradicted => contradicted,
        };
        search.undo(mark);
        verdicts[outcome] = found;
        if found == Some(false) && search.lower(outcome, 0) == Some(false) {
            return None;
        }
    }
    search.note_world(&mut verdicts);
    Some(verdicts)
}

/// At least and at most so many of some outcomes: people of a kind, or a fact.
struct Constraint {
    low: u64,
    high: u64,
    members: Vec<u32>,
    /// Sums of the bounds of its members.
    sums: (u64, u64),
}

/// A depth-first search for worlds. Answers are `None` where the work or the choices ran out.
struct Search<'a> {
    effort: &'a Effort<'a>,
    constraints: Vec<Constraint>,
    /// The constraints of each outcome.
    of: Vec<Vec<u32>>,
    /// How many people have each outcome: at least, at most.
    bounds: Vec<(u32, u32)>,
    /// Earlier bounds.
    trail: Vec<(u32, (u32, u32))>,
    /// The last world that was found.
    world: Vec<u32>,
    choices: usize,
}

impl<'a> Search<'a> {
    fn new(evidence: &Evidence, effort: &'a Effort<'a>) -> Search<'a> {
        let kinds = (0u32..).zip(evidence.kinds());
        let mut constraints: Vec<Constraint> = Vec::new();
        let mut bounds = Vec::new();
        for (number, kind) in kinds {
            let (people, members) =
                (u64::from(kind.people), evidence.outcomes_of(number).collect());
            bounds.extend(evidence.outcomes_of(number).map(|_| (0, kind.people)));
            constraints.push(Constraint { low: people, high: people, members, sums: (0, 0) });
        }
        let first = constraints.len();
        for fact in evidence.facts() {
            constraints.push(Constraint {
                low: fact.low,
                high: fact.high,
                members: Vec::new(),
                sums: (0, 0),
            });
        }
        for outcome in 0..evidence.outcomes().len() as u32 {
            for &fact in evidence.facts_of(outcome) {
                constraints[first + fact as usize].members.push(outcome);
            }
        }
        let mut of = vec![Vec::new(); bounds.len()];
        for (number, constraint) in (0u32..).zip(&mut constraints) {
            for &outcome in &constraint.members {
                of[outcome as usize].push(number);
                constraint.sums.1 += u64::from(bounds[outcome as usize].1);
            }
        }
        let world = vec![0; bounds.len()];
        Search { effort, constraints, of, bounds, trail: Vec::new(), world, choices: 0 }
    }

    /// Notes the outcomes of the last world that was found: they are possible.
    fn note_world(&self, verdicts: &mut [Option<bool>]) {
        for (people, verdict) in self.world.iter().zip(verdicts) {
            if *people > 0 {
                *verdict = Some(true);
            }
        }
    }

    fn set(&mut self, outcome: usize, bounds: (u32, u32)) {
        let before = std::mem::replace(&mut self.bounds[outcome], bounds);
        for &c in &self.of[outcome] {
            let sums = &mut self.constraints[c as usize].sums;
            sums.0 = sums.0 + u64::from(bounds.0) - u64::from(before.0);
            sums.1 = sums.1 + u64::from(bounds.1) - u64::from(before.1);
        }
    }

    fn undo(&mut self, mark: usize) {
        while self.trail.len() > mark {
            if let Some((outcome, before)) = self.trail.pop() {
                self.set(outcome as usize, before);
            }
        }
    }

    fn narrow(&mut self, outcome: usize, bounds: (u32, u32)) {
        self.trail.push((outcome as u32, self.bounds[outcome]));
        self.set(outcome, bounds);
    }

    /// At least so many have an outcome; whether that can be.
    fn raise(&mut self, outcome: usize, low: u32) -> Option<bool> {
        self.restrict(outcome, low, u32::MAX)
    }

    /// At most so many have an outcome; whether that can be.
    fn lower(&mut self, outcome: usize, high: u32) -> Option<bool> {
        self.restrict(outcome, 0, high)
    }

    fn restrict(&mut self, outcome: usize, low: u32, high: u32) -> Option<bool> {
        let (before_low, before_high) = self.bounds[outcome];
        let (low, high) = (low.max(before_low), high.min(before_high));
        if low > high {
            return Some(false);
        }
        self.narrow(outcome, (low, high));
        self.propagate(self.of[outcome].clone())
    }

    /// What follows from these constraints for the bounds; whether they can be met.
    fn propagate(&mut self, mut queue: Vec<u32>) -> Option<bool> {
        while let Some(number) = queue.pop() {
            let Constraint { low, high, sums, .. } = self.constraints[number as usize];
            self.effort.spend(1 + self.constraints[number as usize].members.len() as u64)?;
            if sums.0 > high || sums.1 < low {
                return Some(false);
            }
            let (add, spare) = (high - sums.0, sums.1 - low);
            for i in 0..self.constraints[number as usize].members.len() {
                let outcome = self.constraints[number as usize].members[i] as usize;
                let (from, to) = self.bounds[outcome];
                let width = u64::from(to - from);
                if width <= add && width <= spare {
                    continue;
                }
                let new_to = if width > add { from + add as u32 } else { to };
                let new_from = if width > spare { to - spare as u32 } else { from };
                if new_from > new_to {
                    return Some(false);
                }
                self.narrow(outcome, (new_from, new_to));
                queue.extend(self.of[outcome].iter().filter(|&&c| c != number));
            }
            // Its own sums changed: once more, unless nothing is open.
            let after = self.constraints[number as usize].sums;
            if after != sums && after.0 != after.1 {
                queue.push(number);
            }
            if after.0 > high || after.1 < low {
                return Some(false);
            }
        }
        Some(true)
    }

    /// Looks for a world within the bounds: whether there is one, if the search could say.
    fn world(&mut self) -> Option<bool> {
        self.choices = 0;
        let mark = self.trail.len();
        let found = self.choose();
        self.undo(mark);
        found
    }

    /// Decides an outcome of the constraint that leaves least to choose, as the last world has it
    /// if that can be.
    fn choose(&mut self) -> Option<bool> {
        let Some(outcome) = self.tightest() else {
            self.world.clear();
            self.world.extend(self.bounds.iter().map(|b| b.0));
            return Some(true);
        };
        self.choices += 1;
        if self.choices > CHOICES {
            return None;
        }
        // What `tightest` looked at.
        self.effort.spend(self.of.iter().map(|of| of.len() as u64).sum())?;
        let (low, high) = self.bounds[outcome];
        let like = self.world[outcome].clamp(low, high);
        let ranges = [(like, like), (low, like.wrapping_sub(1)), (like + 1, high)];
        for (from, to) in ranges {
            if from > to || to == u32::MAX {
                continue;
            }
            let mark = self.trail.len();
            let found = match self.restrict(outcome, from, to) {
                Some(true) => self.choose(),
                contradicted => contradicted,
            };
            self.undo(mark);
            if found != Some(false) {
                return found;
            }
        }
        Some(false)
    }

    fn tightest(&self) -> Option<usize> {
        let open = |c: &Constraint| c.members.iter().filter(|&&o| self.is_open(o)).count();
        let tight =
            self.constraints.iter().filter(|c| c.sums.0 < c.sums.1).min_by_key(|c| open(c))?;
        let open = || tight.members.iter().copied().filter(|&o| self.is_open(o));
        open()
            .max_by_key(|&o| (self.world[o as usize], self.of[o as usize].len()))
            .map(|o| o as usize)
    }

    fn is_open(&self, outcome: u32) -> bool {
        let (low, high) = self.bounds[outcome as usize];
        low < high
    }
}
