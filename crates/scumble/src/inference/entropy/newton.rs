//! The dual of maximum entropy: one multiplier for each fact, found by Newton's method.
//!
//! A person's probabilities are the softmax of the sums of her outcomes' multipliers, so that everybody has exactly one
//! outcome at every step. The gradient of the dual is by how much each count is missed. Newton's equations are solved by
//! conjugate gradients, preconditioned by the exact blocks of the facts of one group. Directions that change no
//! probability (all values of a group together) never enter, because the gradient has no part in them.

use super::part::Part;
use super::recession::{self, Proof};

/// How far off a count may be, for each person counted.
pub const TOLERANCE: f64 = 1e-10;
/// Outcomes less likely than this may be impossible.
pub const SUSPECT: f64 = 1e-5;
/// An answer with outcomes less likely than this is not believed.
const INCREDIBLE: f64 = 1e-9;
/// Logarithms of probabilities that change more in the last step have not settled.
const RESTLESS: f64 = 0.05;
/// Where outcomes are impossible, every step changes the logarithms of their probabilities by about one.
const FALLING: f64 = 0.5;
/// Where errors are larger, steps may be as large for other reasons.
const SMALL: f64 = 1e-3;
const STEPS: u32 = 80;
const SWEEPS: u32 = 4;
#[doc(hidden)]
pub static PRODUCTS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);

/// Where the method came to.
pub struct Point {
    /// Fact by fact.
    pub multiplier: Vec<f64>,
    /// Outcome by outcome: expected people.
    pub mass: Vec<f64>,
    /// Largest absolute violation of a fact.
    pub violation: f64,
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
    /// Neither.
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
    /// Lower triangles of the blocks' factors, with the inverse of the diagonal (zero for what is left out).
    factors: Vec<f64>,
    /// First place of each block in `factors`, and the end.
    place: Vec<usize>,
    /// Largest error of a count, for each person counted.
    error: f64,
}

/// Finds the multipliers; `progress` hears the error after every step.
pub fn solve(part: &Part, progress: &dyn Fn(f64)) -> Point {
    let mut solver = Solver::new(part);
    solver.scale();
    let mut step = vec![0.0; part.bounds.len()];
    let mut steps = 0;
    let end = loop {
        progress(solver.error);
        let (least, change) = if steps == 0 { (1.0, 0.0) } else { solver.unrest(&step) };
        if solver.error <= TOLERANCE && least > INCREDIBLE && (least > SUSPECT || change < RESTLESS) {
            break End::Converged;
        }
        let falling = least < SUSPECT && change > FALLING && solver.error < SMALL;
        let last = steps == STEPS || solver.error <= TOLERANCE && least <= INCREDIBLE;
        if let Some(proof) = if falling || last { recession::prove(part, &step) } else { None } {
            break End::Proof(proof);
        }
        if last {
            break End::Stuck;
        }
        let bounded = solver.direction(&mut step);
        if !bounded || !solver.search(&step) {
            break recession::prove(part, &step).map_or(End::Stuck, End::Proof);
        }
        steps += 1;
    };
    let violation = solver.violation();
    let Solver { multiplier, mass, .. } = solver;
    Point { multiplier, mass, violation, steps, end }
}

impl<'a> Solver<'a> {
    fn new(part: &'a Part) -> Solver<'a> {
        let mut kind_of = vec![0; part.len()];
        (0..part.people.len()).for_each(|k| part.outcomes_of(k).for_each(|o| kind_of[o] = k as u32));
        let mut place = vec![0];
        for block in 0..part.blocks.len() - 1 {
            let n = part.block(block).len();
            place.push(place[block] + n * (n + 1) / 2);
        }
        let facts = part.bounds.len();
        Solver {
            part,
            kind_of,
            mass: vec![0.0; part.len()],
            flow: vec![0.0; part.len()],
            multiplier: vec![0.0; facts],
            count: vec![0.0; facts],
            gradient: vec![0.0; facts],
            idle: vec![false; facts],
            factors: vec![0.0; place[place.len() - 1]],
            place,
            error: f64::INFINITY,
        }
    }

    /// Proportional fitting, release by release: from nothing to near the answer.
    fn scale(&mut self) {
        let part = self.part;
        let releases = part.releases.iter().filter(|&&r| r != u32::MAX).max().map_or(0, |&r| r + 1);
        for _ in 0..SWEEPS {
            for release in 0..releases {
                self.believe();
                if self.error <= TOLERANCE {
                    return;
                }
                let count = &self.count;
                part.for_blocks([&mut self.multiplier], |blocks, [multiplier]| {
                    let first = part.blocks[blocks.start] as usize;
                    for fact in blocks.filter(|&b| part.releases[b] == release).flat_map(|b| part.block(b)) {
                        let (low, high) = part.bounds[fact];
                        if low == high && low > 0.0 && count[fact] > 0.0 {
                            multiplier[fact - first] += (low / count[fact]).ln();
                        }
                    }
                    0.0
                });
            }
        }
        self.believe();
    }

    /// What the multipliers say: masses, counts, gradient and error.
    fn believe(&mut self) {
        let (part, multiplier) = (self.part, &self.multiplier);
        part.for_kinds(&mut self.mass, |kind, mass| {
            let mut top = f64::NEG_INFINITY;
            for (mass, outcome) in mass.iter_mut().zip(part.outcomes_of(kind)) {
                *mass = part.facts_of(outcome).iter().map(|&f| multiplier[f as usize]).sum();
                top = top.max(*mass);
            }
            let mut sum = 0.0;
            for mass in mass.iter_mut() {
                *mass = (*mass - top).exp();
                sum += *mass;
            }
            let scale = part.people[kind] / sum;
            mass.iter_mut().for_each(|mass| *mass *= scale);
        });
        let mass = &self.mass;
        part.for_blocks([&mut self.count, &mut self.gradient], |blocks, [count, gradient]| {
            let first = part.blocks[blocks.start] as usize;
            for fact in first..part.blocks[blocks.end] as usize {
                let sum: f64 = part.counts_of(fact).iter().map(|&o| mass[o as usize]).sum();
                count[fact - first] = sum;
                gradient[fact - first] = missed(sum, part.bounds[fact], multiplier[fact]);
            }
            0.0
        });
        let relative = self.gradient.iter().zip(&self.part.bounds).map(|(g, b)| g.abs() / b.1.max(1.0));
        self.error = relative.fold(0.0, f64::max);
    }

    /// Largest number of people by which a fact is broken.
    fn violation(&self) -> f64 {
        let broken = self.count.iter().zip(&self.part.bounds).map(|(c, &(low, high))| (low - c).max(c - high));
        broken.fold(0.0, f64::max)
    }

    /// The least probability, and the largest change that a step made to the logarithm of an unlikely one.
    fn unrest(&mut self, step: &[f64]) -> (f64, f64) {
        let (part, mass) = (self.part, &self.mass);
        let probability = |o: usize| mass[o] / part.people[self.kind_of[o] as usize];
        let least = (0..part.len()).map(probability).fold(1.0, f64::min);
        if least > SUSPECT {
            return (least, 0.0);
        }
        part.for_kinds(&mut self.flow, |kind, flow| {
            let mean = gather(part, step, mass, kind, flow);
            flow.iter_mut().for_each(|t| *t -= mean);
        });
        let unlikely = (0..part.len()).filter(|&o| probability(o) <= SUSPECT);
        (least, unlikely.map(|o| self.flow[o].abs()).fold(0.0, f64::max))
    }

    /// Newton's step, for the facts that are not idle. False if the dual falls without end along it.
    fn direction(&mut self, step: &mut [f64]) -> bool {
        for (fact, &(low, high)) in self.part.bounds.iter().enumerate() {
            self.idle[fact] = low < high && self.multiplier[fact] == 0.0 && self.gradient[fact] == 0.0;
        }
        loop {
            self.factor();
            if !self.conjugate_gradients(step) {
                return false;
            }
            // A bound that holds with no multiplier may only push towards the inside.
            let mut again = false;
            for (fact, &(low, high)) in self.part.bounds.iter().enumerate() {
                let wrong = low < high && self.multiplier[fact] == 0.0 && step[fact] * self.gradient[fact] > 0.0;
                again |= wrong;
                self.idle[fact] |= wrong;
            }
            if !again {
                return true;
            }
        }
    }

    /// Goes along a step until the slope is gone. The dual is convex: slopes say all that values would, and say it more
    /// precisely near the end. False if no way along the step is any good.
    fn search(&mut self, step: &[f64]) -> bool {
        let from = self.multiplier.clone();
        let slope = |g: &[f64]| g.iter().zip(step).map(|(g, s)| g * s).sum::<f64>();
        let before = slope(&self.gradient);
        let error = self.error;
        let mut length = 1.0;
        for _ in 0..30 {
            for fact in 0..from.len() {
                let to = if self.idle[fact] { from[fact] } else { from[fact] + length * step[fact] };
                let (low, high) = self.part.bounds[fact];
                let crosses = low < high && from[fact] * to < 0.0;
                self.multiplier[fact] = if crosses { 0.0 } else { to };
            }
            self.believe();
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
        let (part, mass, kind_of, idle, place) = (self.part, &self.mass, &self.kind_of, &self.idle, &self.place);
        let work = |block: usize, factor: &mut [f64]| {
            let facts = part.block(block);
            factor.fill(0.0);
            for (i, fact) in facts.clone().enumerate() {
                let row = &mut factor[i * (i + 1) / 2..][..=i];
                for &outcome in part.counts_of(fact) {
                    let (outcome, kind) = (outcome as usize, kind_of[outcome as usize] as usize);
                    row[i] += mass[outcome];
                    let share = mass[outcome] / part.people[kind];
                    for other in part.outcomes_of(kind) {
                        for &f in part.facts_of(other) {
                            if facts.start <= f as usize && f as usize <= fact {
                                row[f as usize - facts.start] -= share * mass[other];
                            }
                        }
                    }
                }
            }
            cholesky(factor, &idle[facts]);
        };
        part.for_places(&mut self.factors, place, work);
    }

    /// Solves Newton's equations well enough for the error that is left. False if they have no solution: then `x` is a
    /// direction that changes no probability and yet falls.
    fn conjugate_gradients(&mut self, x: &mut [f64]) -> bool {
        let part = self.part;
        let facts = x.len();
        let (mut r, mut z, mut p, mut hp) =
            (self.gradient.iter().map(|g| -g).collect::<Vec<f64>>(), vec![0.0; facts], vec![0.0; facts], vec![0.0; facts]);
        x.fill(0.0);
        let start = self.precondition(&r, &mut z);
        let enough = start * self.error.sqrt().clamp(1e-6, 0.1).powi(2);
        let mut rz = start;
        p.copy_from_slice(&z);
        for _ in 0..2000 {
            if rz <= enough {
                break;
            }
            let curvature = self.product(&mut p, &mut hp);
            if curvature <= 1e-12 * rz {
                x.copy_from_slice(&p);
                return false;
            }
            let alpha = rz / curvature;
            let this = &*self;
            let next = part.for_blocks([&mut *x, &mut r, &mut p, &mut hp, &mut z], |blocks, [x, r, p, hp, z]| {
                for i in 0..x.len() {
                    x[i] += alpha * p[i];
                    r[i] -= alpha * hp[i];
                }
                this.precondition_blocks(blocks, r, z)
            });
            let beta = next / rz;
            rz = next;
            part.for_blocks([&mut p, &mut z], |_, [p, z]| {
                p.iter_mut().zip(z).for_each(|(p, z)| *p = *z + beta * *p);
                0.0
            });
        }
        true
    }

    fn precondition(&self, r: &[f64], z: &mut [f64]) -> f64 {
        self.part.for_blocks([z], |blocks, [z]| {
            let first = self.part.blocks[blocks.start] as usize;
            self.precondition_blocks(blocks, &r[first..first + z.len()], z)
        })
    }

    /// z = M⁻¹ r for some blocks; r·z.
    fn precondition_blocks(&self, blocks: std::ops::Range<usize>, r: &[f64], z: &mut [f64]) -> f64 {
        let first = self.part.blocks[blocks.start] as usize;
        let mut dot = 0.0;
        for block in blocks {
            let facts = self.part.block(block);
            let (r, z) = (&r[facts.start - first..facts.end - first], &mut z[facts.start - first..facts.end - first]);
            solve_block(&self.factors[self.place[block]..self.place[block + 1]], r, z);
            dot += r.iter().zip(z).map(|(r, z)| r * *z).sum::<f64>();
        }
        dot
    }

    /// hx = H x; x·hx.
    fn product(&mut self, x: &mut [f64], hx: &mut [f64]) -> f64 {
        PRODUCTS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let (part, mass) = (self.part, &self.mass);
        let from = &*x;
        part.for_kinds(&mut self.flow, |kind, flow| {
            let mean = gather(part, from, mass, kind, flow);
            let mass = &mass[part.outcomes_of(kind)];
            flow.iter_mut().zip(mass).for_each(|(t, m)| *t = m * (*t - mean));
        });
        let flow = &self.flow;
        part.for_blocks([x, hx], |blocks, [x, hx]| {
            let first = part.blocks[blocks.start] as usize;
            let mut dot = 0.0;
            for (i, (x, hx)) in x.iter().zip(hx).enumerate() {
                *hx = part.counts_of(first + i).iter().map(|&o| flow[o as usize]).sum();
                dot += *x * *hx;
            }
            dot
        })
    }
}

/// Sums of a vector over the facts of a kind's outcomes, and their mean.
fn gather(part: &Part, x: &[f64], mass: &[f64], kind: usize, sums: &mut [f64]) -> f64 {
    let mut mean = 0.0;
    for (sum, outcome) in sums.iter_mut().zip(part.outcomes_of(kind)) {
        *sum = part.facts_of(outcome).iter().map(|&f| x[f as usize]).sum();
        mean += mass[outcome] * *sum;
    }
    mean / part.people[kind]
}

/// By how much a count misses the bound that its multiplier is for; without one, the bound that it breaks.
fn missed(count: f64, (low, high): (f64, f64), multiplier: f64) -> f64 {
    if low == high || multiplier > 0.0 {
        count - low
    } else if multiplier < 0.0 {
        count - high
    } else {
        (count - low).min(0.0) + (count - high).max(0.0)
    }
}

/// Cholesky's factor in place (rows of the lower triangle), leaving out what is idle or depends on what came before.
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

fn solve_block(factor: &[f64], r: &[f64], z: &mut [f64]) {
    let n = r.len();
    for i in 0..n {
        let row = &factor[i * (i + 1) / 2..][..=i];
        let dot: f64 = row[..i].iter().zip(&*z).map(|(l, z)| l * z).sum();
        z[i] = (r[i] - dot) * row[i];
    }
    for i in (0..n).rev() {
        let row = &factor[i * (i + 1) / 2..][..=i];
        z[i] *= row[i];
        for j in 0..i {
            z[j] -= row[j] * z[i];
        }
    }
}
