//! An outcome for everybody, right or not: what the counts are off by, and who could put them
//! right.

use super::graph::Graph;
use crate::inference::Evidence;

/// Everybody by herself, and which facts count her.
pub(super) struct Roster {
    /// Per outcome: where its facts are in `counted`.
    ends: Vec<u32>,
    counted: Vec<Counted>,
    /// Per person: her kind, and the first of her places.
    kind: Vec<u32>,
    first_place: Vec<u32>,
    /// Per fact: the first of its members. They are all who have an outcome that it counts.
    first_member: Vec<u32>,
    bounds: Vec<(u32, u32)>,
    /// Per kind: its outcomes.
    outcomes: Vec<(u32, u32)>,
    /// Per kind: where its facts are in `facts`.
    fact_ends: Vec<u32>,
    facts: Vec<u32>,
    /// The most facts that change when somebody gets another outcome, and the most outcomes that
    /// somebody may have.
    pub(super) breadth: usize,
    pub(super) most_outcomes: u32,
}

/// A fact that counts an outcome, and which of the facts of the kind it is.
#[derive(Clone, Copy)]
struct Counted {
    fact: u32,
    slot: u32,
}

impl Roster {
    pub(super) fn new(evidence: &Evidence, graph: &Graph) -> Roster {
        let clamp = |n: u64| n.min(u32::MAX.into()) as u32;
        let mut roster = Roster {
            ends: Vec::with_capacity(evidence.outcomes().len()),
            counted: Vec::new(),
            kind: Vec::new(),
            first_place: Vec::new(),
            first_member: vec![0; evidence.facts().len() + 1],
            bounds: evidence.facts().iter().map(|f| (clamp(f.low), clamp(f.high))).collect(),
            outcomes: Vec::with_capacity(evidence.kinds().len()),
            fact_ends: Vec::with_capacity(evidence.kinds().len()),
            facts: Vec::new(),
            breadth: 0,
            most_outcomes: 0,
        };
        let mut slot_of = vec![0; evidence.facts().len()];
        let mut places = 0;
        for (number, kind) in (0u32..).zip(evidence.kinds()) {
            let facts = graph.facts(number);
            for (slot, &fact) in (0u32..).zip(facts) {
                slot_of[fact as usize] = slot;
                roster.first_member[fact as usize + 1] += kind.people;
            }
            let mut most = [0; 2];
            for outcome in evidence.outcomes_of(number) {
                let counted = evidence.facts_of(outcome);
                roster.counted.extend(
                    counted.iter().map(|&fact| Counted { fact, slot: slot_of[fact as usize] }),
                );
                roster.ends.push(roster.counted.len() as u32);
                most = [most[0].max(counted.len()), most[1].max(most[0].min(counted.len()))];
            }
            roster.breadth = roster.breadth.max(most[0] + most[1]);
            for _ in 0..kind.people {
                roster.kind.push(number);
                roster.first_place.push(places);
                places += facts.len() as u32;
            }
            let outcomes = evidence.outcomes_of(number);
            roster.outcomes.push((outcomes.start, outcomes.end));
            roster.most_outcomes = roster.most_outcomes.max(outcomes.len() as u32);
            roster.facts.extend_from_slice(facts);
            roster.fact_ends.push(roster.facts.len() as u32);
        }
        for (fact, (low, high)) in roster.bounds.iter_mut().enumerate() {
            // What lies beyond everybody is as good as one beyond.
            let members = roster.first_member[fact + 1];
            (*low, *high) = ((*low).min(members + 1), (*high).min(members));
            roster.first_member[fact + 1] += roster.first_member[fact];
        }
        roster
    }

    pub(super) fn people(&self) -> usize {
        self.kind.len()
    }

    /// The outcomes that somebody may have.
    pub(super) fn outcomes(&self, person: u32) -> std::ops::Range<u32> {
        let (first, end) = self.outcomes[self.kind[person as usize] as usize];
        first..end
    }

    pub(super) fn all_outcomes(&self) -> usize {
        self.ends.len()
    }

    fn counted(&self, outcome: u32) -> &[Counted] {
        let start = if outcome == 0 { 0 } else { self.ends[outcome as usize - 1] };
        &self.counted[start as usize..self.ends[outcome as usize] as usize]
    }

    /// The facts that may count somebody.
    fn facts(&self, person: u32) -> &[u32] {
        let kind = self.kind[person as usize] as usize;
        let start = if kind == 0 { 0 } else { self.fact_ends[kind - 1] };
        &self.facts[start as usize..self.fact_ends[kind] as usize]
    }

    /// Everybody whom a fact may count.
    fn members(&self, fact: u32) -> std::ops::Range<usize> {
        self.first_member[fact as usize] as usize..self.first_member[fact as usize + 1] as usize
    }
}

/// A fact counts one too many, another one too few.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mistake {
    many: u32,
    few: u32,
}

impl Mistake {
    pub(super) fn reverse(self) -> Mistake {
        Mistake { many: self.few, few: self.many }
    }
}

/// Somebody who could mend a mistake by another outcome, and the mistake that is made instead.
#[derive(Clone, Copy)]
pub(super) struct Mender {
    pub(super) person: u32,
    pub(super) outcome: u32,
    pub(super) instead: Mistake,
}

/// Somebody whom a fact may count, and her place that says where in the list of the fact she is.
#[derive(Clone, Copy, Default)]
struct Member {
    person: u32,
    place: u32,
}

/// What a fact says, and how many it counts.
#[derive(Clone, Copy)]
struct Standing {
    count: u32,
    low: u32,
    high: u32,
}

impl Standing {
    /// By how much more it is wrong if it counts one more.
    fn worse(self) -> i32 {
        i32::from(self.count >= self.high) - i32::from(self.count < self.low)
    }

    fn is_many(self) -> bool {
        self.count > self.high
    }

    fn is_few(self) -> bool {
        self.count < self.low
    }
}

/// An outcome for everybody.
pub(super) struct Draft<'a> {
    pub(super) roster: &'a Roster,
    /// Per person: the outcome.
    pub(super) outcome: Vec<u32>,
    /// Per fact. What follows from it is behind while somebody's outcome is being
    /// [tried](Draft::attempt).
    standing: Vec<Standing>,
    /// Per fact: first those whom it counts, then the others whom it may count.
    members: Vec<Member>,
    /// Per place: the number of the member.
    place: Vec<u32>,
    /// By how much all counts are off together; 0 if this is a world.
    pub(super) wrong: u32,
    /// Facts that count too many, and too few.
    many: Facts,
    few: Facts,
}

impl<'a> Draft<'a> {
    /// Everybody has an outcome of her own.
    pub(super) fn new(roster: &'a Roster, outcome: Vec<u32>) -> Draft<'a> {
        let facts = roster.bounds.len();
        let mut draft = Draft {
            roster,
            outcome,
            standing: roster
                .bounds
                .iter()
                .map(|&(low, high)| Standing { count: 0, low, high })
                .collect(),
            members: vec![Member::default(); roster.first_member[facts] as usize],
            place: vec![0; roster.first_member[facts] as usize],
            wrong: 0,
            many: Facts::new(facts),
            few: Facts::new(facts),
        };
        let mut filled = roster.first_member.clone();
        for person in 0..roster.people() as u32 {
            let places = roster.first_place[person as usize]..;
            for (place, &fact) in places.zip(roster.facts(person)) {
                let at = &mut filled[fact as usize];
                draft.members[*at as usize] = Member { person, place };
                draft.place[place as usize] = *at;
                *at += 1;
            }
        }
        for person in 0..roster.people() as u32 {
            for &Counted { fact, slot } in roster.counted(draft.outcome[person as usize]) {
                let standing = &mut draft.standing[fact as usize];
                let to = roster.first_member[fact as usize] + standing.count;
                standing.count += 1;
                draft.swap(roster.first_place[person as usize] + slot, to);
            }
        }
        let off = |s: &Standing| s.low.saturating_sub(s.count) + s.count.saturating_sub(s.high);
        draft.wrong = draft.standing.iter().map(off).sum();
        (0..facts as u32).for_each(|fact| draft.file(fact));
        draft
    }

    /// Whether it is a world.
    pub(super) fn is_world(&self) -> bool {
        self.wrong == 0
    }

    /// Puts the member with this place where another one is.
    fn swap(&mut self, place: u32, to: u32) {
        let from = self.place[place as usize];
        self.members.swap(from as usize, to as usize);
        self.place[self.members[from as usize].place as usize] = from;
        self.place[place as usize] = to;
    }

    /// Writes down whether a fact counts too many or too few.
    fn file(&mut self, fact: u32) {
        let standing = self.standing[fact as usize];
        self.many.set(fact, standing.is_many());
        self.few.set(fact, standing.is_few());
    }

    /// How much would be wrong with each outcome that somebody may have.
    pub(super) fn preview(&mut self, person: u32, wrong: &mut Vec<u32>) {
        let roster = self.roster;
        let now = roster.counted(self.outcome[person as usize]);
        let mut without = self.wrong;
        for counted in now {
            let standing = &mut self.standing[counted.fact as usize];
            standing.count -= 1;
            without = without.wrapping_add_signed(-standing.worse());
        }
        wrong.clear();
        for outcome in roster.outcomes(person) {
            let worse: i32 = roster
                .counted(outcome)
                .iter()
                .map(|c| self.standing[c.fact as usize].worse())
                .sum();
            wrong.push(without.wrapping_add_signed(worse));
        }
        now.iter().for_each(|counted| self.standing[counted.fact as usize].count += 1);
    }

    /// Gives somebody another outcome.
    pub(super) fn change(&mut self, person: u32, outcome: u32) {
        let attempt = self.attempt(person, outcome);
        self.keep(attempt);
    }

    /// Gives somebody another outcome as far as counts go, to be [kept](Draft::keep) or [taken
    /// back](Draft::take_back) before anything else is done.
    pub(super) fn attempt(&mut self, person: u32, outcome: u32) -> Attempt {
        let mut attempt =
            Attempt { person, outcome, many: self.many.list.len(), few: self.few.list.len() };
        for counted in self.roster.counted(self.outcome[person as usize]) {
            let standing = &mut self.standing[counted.fact as usize];
            attempt.many -= usize::from(standing.is_many());
            attempt.few -= usize::from(standing.is_few());
            standing.count -= 1;
            attempt.many += usize::from(standing.is_many());
            attempt.few += usize::from(standing.is_few());
            self.wrong = self.wrong.wrapping_add_signed(-standing.worse());
        }
        for counted in self.roster.counted(outcome) {
            let standing = &mut self.standing[counted.fact as usize];
            attempt.many -= usize::from(standing.is_many());
            attempt.few -= usize::from(standing.is_few());
            self.wrong = self.wrong.wrapping_add_signed(standing.worse());
            standing.count += 1;
            attempt.many += usize::from(standing.is_many());
            attempt.few += usize::from(standing.is_few());
        }
        attempt
    }

    pub(super) fn take_back(&mut self, attempt: Attempt) {
        for counted in self.roster.counted(attempt.outcome) {
            let standing = &mut self.standing[counted.fact as usize];
            standing.count -= 1;
            self.wrong = self.wrong.wrapping_add_signed(-standing.worse());
        }
        for counted in self.roster.counted(self.outcome[attempt.person as usize]) {
            let standing = &mut self.standing[counted.fact as usize];
            self.wrong = self.wrong.wrapping_add_signed(standing.worse());
            standing.count += 1;
        }
    }

    pub(super) fn keep(&mut self, attempt: Attempt) {
        let roster = self.roster;
        let first_place = roster.first_place[attempt.person as usize];
        let before = roster.counted(std::mem::replace(
            &mut self.outcome[attempt.person as usize],
            attempt.outcome,
        ));
        let now = roster.counted(attempt.outcome);
        let among = |some: &[Counted], fact: u32| some.iter().any(|c| c.fact == fact);
        for &Counted { fact, slot } in before {
            if !among(now, fact) {
                self.swap(
                    first_place + slot,
                    roster.first_member[fact as usize] + self.standing[fact as usize].count,
                );
                self.file(fact);
            }
        }
        for &Counted { fact, slot } in now {
            if !among(before, fact) {
                self.swap(
                    first_place + slot,
                    roster.first_member[fact as usize] + self.standing[fact as usize].count - 1,
                );
                self.file(fact);
            }
        }
    }

    /// What another outcome of somebody would make wrong, if two facts count hers and two others
    /// that one.
    pub(super) fn mistakes(&self, person: u32, outcome: u32) -> Option<[Mistake; 2]> {
        let (before, now) =
            (self.roster.counted(self.outcome[person as usize]), self.roster.counted(outcome));
        let ([b0, b1], [n0, n1]) = (before, now) else { return None };
        let apart =
            b0.fact != n0.fact && b0.fact != n1.fact && b1.fact != n0.fact && b1.fact != n1.fact;
        apart.then_some([
            Mistake { many: n0.fact, few: b0.fact },
            Mistake { many: n1.fact, few: b1.fact },
        ])
    }

    /// Who could mend a mistake so that one other is made instead. Whoever made it can.
    pub(super) fn menders(&self, mistake: Mistake, menders: &mut Vec<Mender>) {
        menders.clear();
        let first = self.roster.members(mistake.many).start;
        for &Member { person, .. } in
            &self.members[first..first + self.standing[mistake.many as usize].count as usize]
        {
            for outcome in self.roster.outcomes(person) {
                let Some([a, b]) = self.mistakes(person, outcome) else { continue };
                if a == mistake.reverse() || b == mistake.reverse() {
                    let instead = if a == mistake.reverse() { b } else { a };
                    menders.push(Mender { person, outcome, instead });
                }
            }
        }
    }

    /// Somebody who could put something right: one whom a fact counts that counts too many, or
    /// could count that counts too few. Nobody if nothing is wrong; `pick` chooses one of so many.
    pub(super) fn suspect(&self, mut pick: impl FnMut(usize) -> usize) -> Option<u32> {
        let (many, few) = (self.many.list.len(), self.few.list.len());
        let at = (many + few > 0).then(|| pick(MANY * many + few))?;
        let (fact, members) = if at < MANY * many {
            let fact = self.many.list[at / MANY];
            (fact, self.standing[fact as usize].count as usize)
        } else {
            let fact = self.few.list[at - MANY * many];
            (fact, self.roster.members(fact).len())
        };
        Some(self.members[self.roster.members(fact).start + pick(members)].person)
    }

    /// How likely somebody is to be the [suspect](Draft::suspect).
    pub(super) fn suspicion(&self, person: u32) -> f64 {
        self.suspicion_of(
            person,
            self.outcome[person as usize],
            self.many.list.len(),
            self.few.list.len(),
        )
    }

    /// How likely she is to be the suspect once this is kept.
    pub(super) fn suspicion_after(&self, attempt: &Attempt) -> f64 {
        self.suspicion_of(attempt.person, attempt.outcome, attempt.many, attempt.few)
    }

    /// With this outcome, where so many facts count too many and too few.
    fn suspicion_of(&self, person: u32, outcome: u32, many: usize, few: usize) -> f64 {
        let mut chance = 0.0;
        if many > 0 {
            for counted in self.roster.counted(outcome) {
                let standing = self.standing[counted.fact as usize];
                if standing.is_many() {
                    chance += MANY as f64 / f64::from(standing.count);
                }
            }
        }
        if few > 0 {
            for &fact in self.roster.facts(person) {
                if self.standing[fact as usize].is_few() {
                    chance += 1.0 / self.roster.members(fact).len() as f64;
                }
            }
        }
        chance / (MANY * many + few).max(1) as f64
    }
}

/// Another outcome for somebody that counts and nothing else know of.
pub(super) struct Attempt {
    person: u32,
    outcome: u32,
    /// How many facts count too many, and too few.
    many: usize,
    few: usize,
}

/// How much more often somebody is looked for where too many are counted than where too few are: in
/// a group both go together, and there are fewer people of whom it is one too many than who could
/// be one more.
const MANY: usize = 8;

/// A set of facts.
struct Facts {
    list: Vec<u32>,
    /// Per fact: its place in the list and one, or 0.
    at: Vec<u32>,
}

impl Facts {
    fn new(facts: usize) -> Facts {
        Facts { list: Vec::new(), at: vec![0; facts] }
    }

    fn set(&mut self, fact: u32, there: bool) {
        let at = self.at[fact as usize];
        if (at > 0) == there {
            return;
        }
        if there {
            self.list.push(fact);
            self.at[fact as usize] = self.list.len() as u32;
        } else {
            self.list.swap_remove(at as usize - 1);
            self.at[fact as usize] = 0;
            if let Some(&moved) = self.list.get(at as usize - 1) {
                self.at[moved as usize] = at;
            }
        }
    }
}
