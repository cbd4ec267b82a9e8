//! The simplex method on whole numbers: exact, sparse, and sure to end.

use dashu_int::IBig;
use dashu_int::ops::{Gcd, UnsignedAbs};
use std::cmp::Ordering;
use std::mem;

/// A rational number of any size and sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rational {
    /// Numerator.
    pub num: IBig,
    /// Denominator, above zero.
    pub den: IBig,
}

impl Rational {
    pub fn new(num: IBig, den: IBig) -> Rational {
        let divisor = IBig::from((&num).gcd(&den));
        let divisor = if den < IBig::ZERO { -divisor } else { divisor };
        Rational { num: num / &divisor, den: den / divisor }
    }

    pub fn whole(n: IBig) -> Rational {
        Rational { num: n, den: IBig::ONE }
    }

    pub fn is_zero(&self) -> bool {
        self.num.is_zero()
    }

    /// This less n times another.
    pub fn less(&self, n: &IBig, other: &Rational) -> Rational {
        Rational::new(&self.num * &other.den - n * &other.num * &self.den, &self.den * &other.den)
    }
}

/// `lead` · basic + Σ entry · variable = constant, where the basic variable is in no other row.
#[derive(Clone, Debug, Default)]
struct Row {
    basic: u32,
    lead: IBig,
    /// Rising variables, no zeros.
    entries: Vec<(u32, IBig)>,
    constant: IBig,
    /// The constant stands for itself and this many times something smaller than every number: without it nearly all
    /// constants were 0, and steps would lead nowhere.
    nudge: IBig,
}

impl Row {
    fn entry(&self, variable: u32) -> Option<&IBig> {
        let at = self.entries.binary_search_by_key(&variable, |e| e.0).ok()?;
        Some(&self.entries[at].1)
    }

    /// Makes a variable the basic one.
    fn enter(&mut self, variable: u32) {
        let Ok(at) = self.entries.binary_search_by_key(&variable, |e| e.0) else { return };
        let (_, lead) = self.entries.remove(at);
        let (basic, old) = (mem::replace(&mut self.basic, variable), mem::replace(&mut self.lead, lead));
        let at = self.entries.partition_point(|e| e.0 < basic);
        self.entries.insert(at, (basic, old));
        if self.lead < IBig::ZERO {
            let numbers = self.entries.iter_mut().map(|e| &mut e.1);
            numbers.chain([&mut self.lead, &mut self.constant, &mut self.nudge]).for_each(|n| *n = -mem::take(n));
        }
    }

    /// Takes the basic variable of another row out of this one.
    fn eliminate(&mut self, other: &Row) {
        let Ok(at) = self.entries.binary_search_by_key(&other.basic, |e| e.0) else { return };
        let (_, entry) = self.entries.remove(at);
        let divisor = IBig::from((&entry).gcd(&other.lead));
        let (mine, theirs) = (&other.lead / &divisor, entry / divisor);
        let old = mem::take(&mut self.entries);
        self.entries.reserve(old.len() + other.entries.len());
        let (mut a, mut b) = (old.into_iter().peekable(), other.entries.iter().peekable());
        loop {
            let order = match (a.peek(), b.peek()) {
                (Some(x), Some(y)) => x.0.cmp(&y.0),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => break,
            };
            let variable = if order == Ordering::Greater { b.peek().map(|e| e.0) } else { a.peek().map(|e| e.0) };
            let x = if order == Ordering::Greater { None } else { a.next() };
            let y = if order == Ordering::Less { None } else { b.next() };
            let sum = x.map_or(IBig::ZERO, |(_, n)| n * &mine) - y.map_or(IBig::ZERO, |(_, n)| n * &theirs);
            if let Some(variable) = variable.filter(|_| !sum.is_zero()) {
                self.entries.push((variable, sum));
            }
        }
        self.constant = &self.constant * &mine - &other.constant * &theirs;
        self.nudge = &self.nudge * &mine - &other.nudge * &theirs;
        self.lead *= mine;
        self.reduce();
    }

    /// Divides by what all numbers have in common.
    fn reduce(&mut self) {
        let mut common = (&self.lead).unsigned_abs();
        let numbers = [&self.constant, &self.nudge].into_iter().chain(self.entries.iter().map(|e| &e.1));
        for number in numbers.filter(|n| !n.is_zero()) {
            if common.is_one() {
                return;
            }
            common = common.gcd(number);
        }
        if !common.is_one() {
            let numbers = self.entries.iter_mut().map(|e| &mut e.1);
            numbers.chain([&mut self.lead, &mut self.constant, &mut self.nudge]).for_each(|n| *n /= &common);
        }
    }
}

/// A linear program in progress: the least cost over variables that are at least zero, or free.
#[derive(Clone, Debug)]
pub struct Tableau {
    cost: Row,
    rows: Vec<Row>,
    /// Rows whose basic variable is free: nothing limits it, so that they matter only for its value, at the end.
    settled: Vec<Row>,
    free: Vec<bool>,
}

/// How a program ended.
#[derive(Clone, Debug)]
pub enum End {
    /// At the variables of least cost.
    Least(Vec<Rational>),
    /// The cost falls without end along this direction.
    Falling(Vec<Rational>),
}

impl Tableau {
    /// The least Σ cost · variable; some variables are free, the others at least zero.
    pub fn new(free: Vec<bool>, costs: Vec<(u32, IBig)>) -> Tableau {
        let entries = costs.into_iter().filter(|c| !c.1.is_zero()).map(|(v, c)| (v, -c)).collect();
        let cost = Row { basic: u32::MAX, lead: IBig::ONE, entries, ..Row::default() };
        Tableau { cost, rows: Vec::new(), settled: Vec::new(), free }
    }

    /// slack + Σ entry · variable = constant, where the slack is in no other row and the constant at least zero.
    pub fn push(&mut self, slack: u32, mut entries: Vec<(u32, IBig)>, constant: u32) {
        entries.sort_unstable_by_key(|e| e.0);
        entries.retain(|e| !e.1.is_zero());
        // Any numbers that differ: the same every time.
        let nudge = 1 + (self.rows.len() as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) % 8191;
        let (constant, nudge) = (constant.into(), nudge.into());
        self.rows.push(Row { basic: slack, lead: IBig::ONE, entries, constant, nudge });
    }

    /// Solves it.
    pub fn solve(mut self) -> End {
        let mut stalled = false;
        while let Some((variable, rises)) = self.entering(stalled) {
            let Some(row) = self.leaving(variable, rises) else {
                let direction = if rises { IBig::ONE } else { IBig::NEG_ONE };
                return End::Falling(self.values(Some((variable, direction))));
            };
            // Bland's rule while no step gets anywhere: it never returns to where it was.
            stalled = self.rows[row].constant.is_zero() && self.rows[row].nudge.is_zero();
            self.pivot(row, variable);
        }
        End::Least(self.values(None))
    }

    /// A variable whose change lowers the cost, and whether it rises.
    fn entering(&self, stalled: bool) -> Option<(u32, bool)> {
        let useful = |&&(v, ref n): &&(u32, IBig)| self.free[v as usize] || *n > IBig::ZERO;
        let mut candidates = self.cost.entries.iter().filter(useful);
        let rank = |&(v, ref n): &(u32, IBig)| (self.free[v as usize], n.unsigned_abs());
        let chosen = if stalled {
            candidates.next()?
        } else {
            candidates.reduce(|best, next| if rank(next) > rank(best) { next } else { best })?
        };
        Some((chosen.0, chosen.1 > IBig::ZERO))
    }

    /// The row that limits the change of a variable most.
    fn leaving(&self, variable: u32, rises: bool) -> Option<usize> {
        let mut best: Option<(usize, IBig)> = None;
        for (i, row) in self.rows.iter().enumerate() {
            let Some(entry) = row.entry(variable) else { continue };
            let entry = if rises { entry.clone() } else { -entry };
            if entry <= IBig::ZERO {
                continue;
            }
            let closer = best.as_ref().is_none_or(|(j, other)| {
                let order = |mine: &IBig, theirs: &IBig| (mine * other).cmp(&(theirs * &entry));
                let theirs = &self.rows[*j];
                let order = order(&row.constant, &theirs.constant).then_with(|| order(&row.nudge, &theirs.nudge));
                order.then(row.basic.cmp(&theirs.basic)).is_lt()
            });
            if closer {
                best = Some((i, entry));
            }
        }
        best.map(|b| b.0)
    }

    fn pivot(&mut self, row: usize, variable: u32) {
        let mut pivot = self.rows.swap_remove(row);
        pivot.enter(variable);
        self.cost.eliminate(&pivot);
        self.rows.iter_mut().for_each(|r| r.eliminate(&pivot));
        if self.free[variable as usize] {
            self.settled.push(pivot);
        } else {
            self.rows.push(pivot);
        }
    }

    /// The variables as they stand, or how they change along the direction of one.
    fn values(&self, along: Option<(u32, IBig)>) -> Vec<Rational> {
        let mut values = vec![Rational::whole(IBig::ZERO); self.free.len()];
        if let Some((variable, direction)) = &along {
            values[*variable as usize] = Rational::whole(direction.clone());
        }
        // A settled row may need the value of one that was settled later.
        for row in self.rows.iter().chain(self.settled.iter().rev()) {
            let start = if along.is_some() { IBig::ZERO } else { row.constant.clone() };
            let known = row.entries.iter().filter(|e| !values[e.0 as usize].is_zero());
            let rest = known.fold(Rational::whole(start), |sum, (v, n)| sum.less(n, &values[*v as usize]));
            values[row.basic as usize] = Rational::new(rest.num, rest.den * &row.lead);
        }
        values
    }
}
