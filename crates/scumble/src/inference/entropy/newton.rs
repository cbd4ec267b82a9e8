//! The dual of maximum entropy: one multiplier for each fact, found by Newton's method.
//!
//! A person's probabilities are the softmax of the sums of her outcomes' multipliers, so that
//! everybody has exactly one outcome at every step. The gradient of the dual is by how much each
//! count is missed. In Newton's equations the near facts are eliminated cell by cell; the rest is
//! solved by conjugate gradients, preconditioned by the exact blocks of the facts of one group.
//! Directions that change no probability (all values of a group together) are harmless, because the
//! gradient has no part in them.

use super::super::effort::Effort;
use super::part::{BLOCK, Part};
use super::recession::{self, Proof};
use std::ops::Range;

/// How far off a count may be, for each person counted.
pub const TOLERANCE: f64 = 1e-10;
/// Outcomes less likely than this may be impossible.
pub const SUSPECT: f64 = 1e-5;
/// Logarithms of probabilities that change more in the last step have not settled.
const RESTLESS: f64 = 0.05;
/// Where outcomes are impossible, every step changes the logarithms of their probabilities by about
/// one.
const FALLING: f64 = 0.5;
/// Where errors are larger, steps may be as large for other reasons.
const SMALL: f64 = 1e-3;
/// Outcomes that fall in so many steps after each other vanish: what is only unlikely settles in
/// fewer.
const STREAK: u32 = 4;
const STEPS: u32 = 80;
/// Products with the Hessian in one step.
const PRODUCTS_PER_STEP: usize = 1000;
const SWEEPS: u32 = 4;

/// Where the method came to.
pub struct Point {
    /// Fact by fact.
    pub multiplier: Vec<f64>,
    /// Outcome by outcome: expected people.
    pub mass: Vec<f64>,
    /// Largest absolute violation of a fact.
    pub violation: f64,
    /// Largest error of a count, for each person counted.
    pub error: f64,
    /// Newton steps.
    pub steps: u32,
    /// Whether all facts are met and the probabilities have settled.
    pub end: End,
}

/// How the method ended.
pub enum End {
    /// All facts are met and the probabilities have settled.
    Converged,
    /// There is no optimum inside, as was proven.
    Proof(Proof),
    /// The probabilities of these outcomes fall steadily towards zero, but no proof was found that
    /// they are impossible.
    Vanishing(Vec<usize>),
    /// None of these: no step helps, or the work ran out.
    Stuck,
}

/// Work space of one part.
struct Solver<'a> {
    part: &'a Part,
    kind_of: Vec<u32>,
    /// Outcome by outcome.
    mass: Vec<f64>,
    flow: Vec<f64>,
    /// Fact by fact.
    multiplier: Vec<f64>,
    count: Vec<f64>,
    /// By how much the bound in question is missed; zero where a fact is met without being tight.
    gradient: Vec<f64>,
    /// Facts that stay as they are in this step.
    idle: Vec<bool>,
    /// Factors of the near blocks of the Hessian, cell by cell.
    near: Factors,
    /// Factors of the far blocks.
    far: Factors,
    /// Largest error of a count, for each person counted.
    error: f64,
    /// Work that is left.
    effort: &'a Effort<'a>,
    /// Work that the factors of the blocks take.
    factoring: u64,
}

/// Lower triangles, row by row, with the inverse of the diagonal (zero for what is left out).
struct Factors {
    rows: Vec<f64>,
    /// First place of each block, and the end.
    place: Vec<usize>,
}

impl Factors {
    fn new(sizes: impl Iterator<Item = usize>) -> Factors {
        let mut place = vec![0];
        for n in sizes {
            place.push(place[place.len() - 1] + n * (n + 1) / 2);
        }
        Factors { rows: vec![0.0; place[place.len() - 1]], place }
    }

    fn of(&self, block: usize) -> &[f64] {
        &self.rows[self.place[block]..self.place[block + 1]]
    }
}

/// Finds the multipliers, from a guess if there is one, within some work; `progress` hears the
/// error after every step.
pub fn solve(
    part: &Part,
    guess: Option<Vec<f64>>,
    effort: &Effort<'_>,
    progress: &dyn Fn(f64),
) -> Point {
    let mut solver = Solver::new(part, effort);
    match guess {
        Some(multiplier) => {
            solver.multiplier = multiplier;
            solver.evaluate();
        }
        None => solver.proportional_fitting(),
    }
    let mut step = vec![0.0; part.bounds.len()];
    let (mut steps, mut streak) = (0, 0);
    let end = loop {
        progress(solver.error);
        if effort.is_stopped() {
            break End::Stuck;
        }
        let (least, change) =
            if steps == 0 { (1.0, 0.0) } else { solver.largest_log_change(&step) };
        if solver.error <= TOLERANCE && (least > SUSPECT || change < RESTLESS) {
            break End::Converged;
        }
        let falling = least < SUSPECT && change > FALLING && solver.error < SMALL;
        let last = steps == STEPS || effort.is_spent();
        if let Some(proof) =
            if falling || last { recession::prove(part, &step, effort) } else { None }
        {
            break End::Proof(proof);
        }
        streak = if falling { streak + 1 } else { 0 };
        if last || streak == STREAK {
            let vanishing = solver.vanishing(&step);
            break if vanishing.is_empty() { End::Stuck } else { End::Vanishing(vanishing) };
        }
        let bounded = solver.newton_step(&mut step);
        if !bounded || !solver.line_search(&step) {
            break recession::prove(part, &step, effort).map_or(End::Stuck, End::Proof);
        }
        steps += 1;
    };
    let violation = solver.violation();
    let Solver { multiplier, mass, error, .. } = solver;
    Point { multiplier, mass, violation, error, steps, end }
}

impl<'a> Solver<'a> {
    fn new(part: &'a Part, effort: &'a Effort<'a>) -> Solver<'a> {
        let outcomes = part.outcomes.len();
        let facts = part.bounds.len();
        let mut kind_of = vec![0; outcomes];
        (0..part.people.len())
            .for_each(|k| part.outcomes_of(k).for_each(|o| kind_of[o] = k as u32));
        let pairs = (0..part.people.len())
            .map(|k| 2 * (part.outcomes_of(k).len() as u64).pow(2))
            .sum::<u64>();
        let factoring =
            pairs + part.groups().map(|facts| (facts.len() as u64).pow(3) / 6).sum::<u64>();
        Solver {
            part,
            kind_of,
            mass: vec![0.0; outcomes],
            flow: vec![0.0; outcomes],
            multiplier: vec![0.0; facts],
            count: vec![0.0; facts],
            gradient: vec![0.0; facts],
            idle: vec![false; facts],
            near: Factors::new((0..part.cells()).map(|c| part.near_facts(c).len())),
            far: Factors::new((0..part.blocks()).map(|b| part.block(b).len())),
            error: f64::INFINITY,
            effort,
            factoring,
        }
    }

    /// Counts so many looks at every outcome as work.
    fn work(&self, looks: u64) -> Option<()> {
        self.effort.spend(looks * self.mass.len() as u64)
    }

    /// Proportional fitting, near and far facts in turns: from nothing to near the answer.
    fn proportional_fitting(&mut self) {
        let split = self.part.split();
        let width =
            (0..self.part.outcomes.len()).map(|o| self.part.far_of(o).len()).max().unwrap_or(0);
        for _ in 0..SWEEPS {
            for (facts, share) in
                [(0..split, 1.0), (split..self.count.len(), 1.0 / width.max(1) as f64)]
            {
                self.evaluate();
                if self.error <= TOLERANCE || self.effort.is_stopped() {
                    return;
                }
                for fact in facts {
                    let (low, high) = self.part.bounds[fact];
                    if low == high && low > 0.0 && self.count[fact] > 0.0 {
                        self.multiplier[fact] += share * (low / self.count[fact]).ln();
                    }
                }
            }
        }
        self.evaluate();
    }

    /// Evaluates the dual at the multipliers: masses, counts, gradient and error.
    fn evaluate(&mut self) {
        // A last look may cost more than is left.
        let _ = self.work(4);
        let (part, split) = (self.part, self.part.split());
        let (near, far) = self.multiplier.split_at(split);
        let (near_count, far_count) = self.count.split_at_mut(split);
        let (near_gradient, far_gradient) = self.gradient.split_at_mut(split);
        part.for_cells(
            &mut self.mass,
            [near_count, near_gradient],
            |cell, mass, [count, gradient]| {
                let facts = part.near_facts(cell);
                let mut multiplier = [0.0; BLOCK + 1];
                multiplier[..facts.len()].copy_from_slice(&near[facts.clone()]);
                let mut sums = [0.0; BLOCK + 1];
                let mut rest = mass;
                for kind in part.kinds_of(cell) {
                    let outcomes = part.outcomes_of(kind);
                    let (mass, others) = rest.split_at_mut(outcomes.len());
                    rest = others;
                    let mut top = f64::NEG_INFINITY;
                    for (mass, outcome) in mass.iter_mut().zip(outcomes.clone()) {
                        *mass = multiplier[part.place(outcome)] + part.far_sum(far, outcome);
                        top = top.max(*mass);
                    }
                    let mut total = 0.0;
                    for mass in mass.iter_mut() {
                        *mass = (*mass - top).exp();
                        total += *mass;
                    }
                    let scale = part.people[kind] / total;
                    for (mass, outcome) in mass.iter_mut().zip(outcomes) {
                        *mass *= scale;
                        sums[part.place(outcome)] += *mass;
                    }
                }
                for (i, fact) in facts.enumerate() {
                    count[i] = sums[i];
                    gradient[i] = missed(sums[i], part.bounds[fact], near[fact]);
                }
            },
        );
        let mass = &self.mass;
        part.for_blocks([far_count, far_gradient], |blocks, [count, gradient]| {
            let first = part.block(blocks.start).start;
            for i in 0..count.len() {
                count[i] = sum(mass, part.counts_of(first + i));
                gradient[i] = missed(count[i], part.bounds[split + first + i], far[first + i]);
            }
            0.0
        });
        let relative =
            self.gradient.iter().zip(&self.part.bounds).map(|(g, b)| g.abs() / b.1.max(1.0));
        self.error = relative.fold(0.0, f64::max);
    }

    /// Largest number of people by which a fact is broken.
    fn violation(&self) -> f64 {
        let broken = self
            .count
            .iter()
            .zip(&self.part.bounds)
            .map(|(c, &(low, high))| (low - c).max(c - high));
        broken.fold(0.0, f64::max)
    }

    /// The least probability, and the largest change that a step made to the logarithm of an
    /// unlikely one.
    fn largest_log_change(&self, step: &[f64]) -> (f64, f64) {
        let part = self.part;
        let (mut least, mut most) = (1.0f64, 0.0f64);
        for kind in 0..part.people.len() {
            let unlikely = SUSPECT * part.people[kind];
            let smallest =
                part.outcomes_of(kind).map(|o| self.mass[o]).fold(f64::INFINITY, f64::min);
            least = least.min(smallest / part.people[kind]);
            if smallest > unlikely {
                continue;
            }
            let change = |o: usize| part.facts_of(o).map(|f| step[f]).sum::<f64>();
            let mean = part.outcomes_of(kind).map(|o| self.mass[o] * change(o)).sum::<f64>()
                / part.people[kind];
            let changes = part
                .outcomes_of(kind)
                .filter(|&o| self.mass[o] <= unlikely)
                .map(|o| (change(o) - mean).abs());
            most = changes.fold(most, f64::max);
        }
        (least, most)
    }

    /// Unlikely outcomes whose logarithms fell in the last step as those of impossible ones do.
    fn vanishing(&self, step: &[f64]) -> Vec<usize> {
        let part = self.part;
        let of_kind = |kind: usize| {
            let change = |o: usize| part.facts_of(o).map(|f| step[f]).sum::<f64>();
            let mean = part.outcomes_of(kind).map(|o| self.mass[o] * change(o)).sum::<f64>()
                / part.people[kind];
            let unlikely = SUSPECT * part.people[kind];
            part.outcomes_of(kind)
                .filter(move |&o| self.mass[o] < unlikely && change(o) - mean < -FALLING)
        };
        (0..part.people.len()).flat_map(of_kind).collect()
    }

    /// Newton's step, for the facts that are not idle. False if the dual falls without end along
    /// it.
    fn newton_step(&mut self, step: &mut [f64]) -> bool {
        for (fact, &(low, high)) in self.part.bounds.iter().enumerate() {
            self.idle[fact] =
                low < high && self.multiplier[fact] == 0.0 && self.gradient[fact] == 0.0;
        }
        loop {
            self.factor();
            if !self.conjugate_gradients(step) {
                return false;
            }
            // A bound that holds with no multiplier may only push towards the inside.
            let mut again = false;
            for (fact, &(low, high)) in self.part.bounds.iter().enumerate() {
                let wrong = low < high
                    && self.multiplier[fact] == 0.0
                    && step[fact] * self.gradient[fact] > 0.0;
                again |= wrong;
                self.idle[fact] |= wrong;
            }
            if !again {
                return true;
            }
        }
    }

    /// Goes along a step until the slope is gone. The dual is convex: slopes say all that values
    /// would, and say it more precisely near the end. False if no way along the step is any good.
    fn line_search(&mut self, step: &[f64]) -> bool {
        let from = self.multiplier.clone();
        let slope = |g: &[f64]| g.iter().zip(step).map(|(g, s)| g * s).sum::<f64>();
        let before = slope(&self.gradient);
        let error = self.error;
        let mut length = 1.0;
        for _ in 0..30 {
            for fact in 0..from.len() {
                let to =
                    if self.idle[fact] { from[fact] } else { from[fact] + length * step[fact] };
                let (low, high) = self.part.bounds[fact];
                let crosses = low < high && from[fact] * to < 0.0;
                self.multiplier[fact] = if crosses { 0.0 } else { to };
            }
            self.evaluate();
            let after = slope(&self.gradient);
            if after <= -0.5 * before || self.error < 0.5 * error {
                return true;
            }
            length *= (before / (before - after)).clamp(0.1, 0.5);
        }
        false
    }

    /// The factors of the blocks of the Hessian on its diagonal.
    fn factor(&mut self) {
        let _ = self.effort.spend(self.factoring);
        let (part, mass, kind_of, split) =
            (self.part, &self.mass, &self.kind_of, self.part.split());
        let idle = &self.idle;
        part.for_factors(true, &mut self.near.rows, &self.near.place, |cell, rows| {
            rows.fill(0.0);
            let facts = part.near_facts(cell);
            for kind in part.kinds_of(cell) {
                for outcome in part.outcomes_of(kind) {
                    let i = part.place(outcome);
                    if i == facts.len() {
                        continue;
                    }
                    let row = &mut rows[i * (i + 1) / 2..][..=i];
                    row[i] += mass[outcome];
                    let share = mass[outcome] / part.people[kind];
                    for other in part.outcomes_of(kind) {
                        if let Some(entry) = row.get_mut(part.place(other)) {
                            *entry -= share * mass[other];
                        }
                    }
                }
            }
            cholesky(rows, &idle[facts]);
        });
        part.for_factors(false, &mut self.far.rows, &self.far.place, |block, rows| {
            rows.fill(0.0);
            let facts = part.block(block);
            for (i, fact) in facts.clone().enumerate() {
                let row = &mut rows[i * (i + 1) / 2..][..=i];
                for &outcome in part.counts_of(fact) {
                    let (outcome, kind) = (outcome as usize, kind_of[outcome as usize] as usize);
                    row[i] += mass[outcome];
                    let share = mass[outcome] / part.people[kind];
                    for other in part.outcomes_of(kind) {
                        for &f in part.far_of(other) {
                            if facts.start <= f as usize && f as usize <= fact {
                                row[f as usize - facts.start] -= share * mass[other];
                            }
                        }
                    }
                }
            }
            cholesky(rows, &idle[split + facts.start..split + facts.end]);
        });
    }

    /// Solves Newton's equations well enough for the error that is left. False if they have no
    /// solution: then `step` is a direction that changes no probability and yet falls.
    fn conjugate_gradients(&mut self, step: &mut [f64]) -> bool {
        let (part, split) = (self.part, self.part.split());
        let (near, x) = step.split_at_mut(split);
        let far = x.len();
        let (mut r, mut z, mut p, mut hp) =
            (vec![0.0; far], vec![0.0; far], vec![0.0; far], vec![0.0; far]);
        x.fill(0.0);
        self.eliminate_near(x, 1.0, near);
        let this = &*self;
        let start = part.for_blocks([&mut r, &mut z], |blocks, [r, z]| {
            let first = part.block(blocks.start).start;
            for (i, r) in r.iter_mut().enumerate() {
                *r = -this.gradient[split + first + i] - sum(&this.flow, part.counts_of(first + i));
            }
            this.precondition(blocks, r, z)
        });
        // What all of the gradient would weigh: with the near facts, there may be nothing left to
        // do for the far ones.
        let whole = start - near.iter().zip(&self.gradient).map(|(y, g)| y * g).sum::<f64>();
        // Superlinear, and no more than the tolerance asks for: rounding would be solved for.
        let relative = self.error.sqrt().max(0.03 * TOLERANCE / self.error).min(0.1);
        let enough = whole.max(0.0) * relative * relative;
        let mut rz = start;
        p.copy_from_slice(&z);
        for _ in 0..PRODUCTS_PER_STEP {
            // Where the work runs out, what was found so far is still a step down.
            if rz <= enough || rz.is_nan() || self.work(2).is_none() {
                break;
            }
            let curvature = self.hessian_product(&mut p, near, &mut hp);
            if curvature <= 1e-12 * rz {
                // Rounding leaves a trace of directions that change nothing.
                if rz < 1e-8 * whole || self.error < SMALL {
                    break;
                }
                x.copy_from_slice(&p);
                self.eliminate_near(x, 0.0, near);
                return false;
            }
            let alpha = rz / curvature;
            let this = &*self;
            let next = part.for_blocks(
                [&mut *x, &mut r, &mut p, &mut hp, &mut z],
                |blocks, [x, r, p, hp, z]| {
                    for i in 0..x.len() {
                        x[i] += alpha * p[i];
                        r[i] -= alpha * hp[i];
                    }
                    this.precondition(blocks, r, z)
                },
            );
            let beta = next / rz;
            rz = next;
            // Too little to be worth another thread.
            p.iter_mut().zip(&z).for_each(|(p, z)| *p = *z + beta * *p);
        }
        self.eliminate_near(x, 1.0, near);
        true
    }

    /// z = M⁻¹ r for some far blocks; r·z.
    fn precondition(&self, blocks: Range<usize>, r: &[f64], z: &mut [f64]) -> f64 {
        let first = self.part.block(blocks.start).start;
        let mut dot = 0.0;
        for block in blocks {
            let facts = self.part.block(block);
            let (r, z) = (
                &r[facts.start - first..facts.end - first],
                &mut z[facts.start - first..facts.end - first],
            );
            z.copy_from_slice(r);
            solve_block(self.far.of(block), z);
            dot += r.iter().zip(z).map(|(r, z)| r * *z).sum::<f64>();
        }
        dot
    }

    /// Eliminates the near facts: how they respond to a step of the far ones, and to `pull` times
    /// their own gradient; and how the masses flow from both.
    fn eliminate_near(&mut self, far: &[f64], pull: f64, near: &mut [f64]) {
        let (part, mass, gradient, factors) = (self.part, &self.mass, &self.gradient, &self.near);
        part.for_cells(&mut self.flow, [near], |cell, flow, [near]| {
            let facts = part.near_facts(cell);
            let n = facts.len();
            let mut y = [0.0; BLOCK + 1];
            facts.clone().enumerate().for_each(|(i, fact)| y[i] = -pull * gradient[fact]);
            let all = part.outcomes_in(cell);
            let (mass, places) = (&mass[all.clone()], &part.places[all.clone()]);
            for kind in part.kinds_of(cell) {
                let outcomes = part.outcomes_of(kind);
                let here = outcomes.start - all.start..outcomes.end - all.start;
                let (mass, flow, places) =
                    (&mass[here.clone()], &mut flow[here.clone()], &places[here]);
                let mut mean = 0.0;
                for ((flow, mass), outcome) in flow.iter_mut().zip(mass).zip(outcomes) {
                    *flow = part.far_sum(far, outcome);
                    mean += mass * *flow;
                }
                mean /= part.people[kind];
                for ((flow, mass), place) in flow.iter_mut().zip(mass).zip(places) {
                    *flow = mass * (*flow - mean);
                    y[usize::from(*place)] -= *flow;
                }
            }
            solve_block(factors.of(cell), &mut y[..n]);
            y[n] = 0.0;
            near.copy_from_slice(&y[..n]);
            for kind in part.kinds_of(cell) {
                let outcomes = part.outcomes_of(kind);
                let here = outcomes.start - all.start..outcomes.end - all.start;
                let (mass, flow, places) =
                    (&mass[here.clone()], &mut flow[here.clone()], &places[here]);
                let changes =
                    mass.iter().zip(places).map(|(mass, place)| mass * y[usize::from(*place)]);
                let mean = changes.sum::<f64>() / part.people[kind];
                for ((flow, mass), place) in flow.iter_mut().zip(mass).zip(places) {
                    *flow += mass * (y[usize::from(*place)] - mean);
                }
            }
        });
    }

    /// The product of the Hessian, near facts eliminated, with x; x·hx. `near` is work space.
    fn hessian_product(&mut self, x: &mut [f64], near: &mut [f64], hx: &mut [f64]) -> f64 {
        self.eliminate_near(x, 0.0, near);
        let (part, flow) = (self.part, &self.flow);
        part.for_blocks([x, hx], |blocks, [x, hx]| {
            let first = part.block(blocks.start).start;
            let mut dot = 0.0;
            for i in 0..x.len() {
                hx[i] = sum(flow, part.counts_of(first + i));
                dot += x[i] * hx[i];
            }
            dot
        })
    }
}

fn sum(of: &[f64], at: &[u32]) -> f64 {
    at.iter().map(|&i| of[i as usize]).sum()
}

/// By how much a count misses the bound that its multiplier is for; without one, the bound that it
/// breaks.
fn missed(count: f64, (low, high): (f64, f64), multiplier: f64) -> f64 {
    if low == high || multiplier > 0.0 {
        count - low
    } else if multiplier < 0.0 {
        count - high
    } else {
        (count - low).min(0.0) + (count - high).max(0.0)
    }
}

/// Cholesky's factor in place (rows of the lower triangle), leaving out what is idle or depends on
/// what came before.
fn cholesky(a: &mut [f64], idle: &[bool]) {
    for i in 0..idle.len() {
        let (above, row) = a.split_at_mut(i * (i + 1) / 2);
        let row = &mut row[..=i];
        let whole = row[i];
        for j in 0..i {
            let other = &above[j * (j + 1) / 2..][..=j];
            let dot: f64 = row[..j].iter().zip(other).map(|(a, b)| a * b).sum();
            row[j] = (row[j] - dot) * other[j];
        }
        let rest = whole - row[..i].iter().map(|l| l * l).sum::<f64>();
        row[i] = if idle[i] || rest <= 1e-10 * whole { 0.0 } else { 1.0 / rest.sqrt() };
    }
}

/// Solves in place.
fn solve_block(factor: &[f64], z: &mut [f64]) {
    let n = z.len();
    for i in 0..n {
        let row = &factor[i * (i + 1) / 2..][..=i];
        let dot: f64 = row[..i].iter().zip(&*z).map(|(l, z)| l * z).sum();
        z[i] = (z[i] - dot) * row[i];
    }
    for i in (0..n).rev() {
        let row = &factor[i * (i + 1) / 2..][..=i];
        z[i] *= row[i];
        for j in 0..i {
            z[j] -= row[j] * z[i];
        }
    }
}
