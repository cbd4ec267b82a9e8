//! The simplex method on whole numbers: exact, sparse, and sure to end.

use super::effort::Effort;
use crate::exact;
use dashu_int::IBig;
use dashu_int::ops::{Abs, Gcd};
use std::cmp::Ordering;
use std::convert::Infallible;
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

/// Whole numbers to compute with: those of the machine as long as they are large enough.
trait Number: Clone + Ord + Default {
    /// What happens if they are not.
    type Overflow;
    fn from_big(n: &IBig) -> Result<Self, Self::Overflow>;
    fn from_small(n: i32) -> Self;
    fn big(&self) -> IBig;
    fn negative(&self) -> Self;
    /// Greatest common divisor, above zero.
    fn common(&self, other: &Self) -> Self;
    /// The quotient, without remainder.
    fn over(&self, divisor: &Self) -> Self;
    /// a · b − c · d.
    fn combine(a: &Self, b: &Self, c: &Self, d: &Self) -> Result<Self, Self::Overflow>;
    /// How a · b compares with c · d.
    fn compare(a: &Self, b: &Self, c: &Self, d: &Self) -> Ordering;

    /// How many machine words it takes.
    fn words(&self) -> u64;

    fn magnitude(&self) -> Self {
        if *self < Self::default() { self.negative() } else { self.clone() }
    }
}

/// A number did not fit the machine's.
struct TooLarge;

/// Why a program was not solved.
enum Halt<O> {
    /// A number was too large.
    Overflow(O),
    /// It would take more work than is allowed.
    Spent,
}

impl Number for i64 {
    type Overflow = TooLarge;

    fn from_big(n: &IBig) -> Result<i64, TooLarge> {
        i64::try_from(n.clone()).ok().filter(|&n| n != i64::MIN).ok_or(TooLarge)
    }

    fn from_small(n: i32) -> i64 {
        n.into()
    }

    fn big(&self) -> IBig {
        (*self).into()
    }

    fn negative(&self) -> i64 {
        -self
    }

    fn common(&self, other: &i64) -> i64 {
        // At most the larger of the two, neither of which is i64::MIN.
        exact::gcd(self.unsigned_abs().into(), other.unsigned_abs().into()) as i64
    }

    fn over(&self, divisor: &i64) -> i64 {
        self / divisor
    }

    fn combine(a: &i64, b: &i64, c: &i64, d: &i64) -> Result<i64, TooLarge> {
        let (left, right) = (i128::from(*a) * i128::from(*b), i128::from(*c) * i128::from(*d));
        i64::try_from(left - right).ok().filter(|&n| n != i64::MIN).ok_or(TooLarge)
    }

    fn compare(a: &i64, b: &i64, c: &i64, d: &i64) -> Ordering {
        (i128::from(*a) * i128::from(*b)).cmp(&(i128::from(*c) * i128::from(*d)))
    }

    fn words(&self) -> u64 {
        1
    }
}

impl Number for IBig {
    type Overflow = Infallible;

    fn from_big(n: &IBig) -> Result<IBig, Infallible> {
        Ok(n.clone())
    }

    fn from_small(n: i32) -> IBig {
        n.into()
    }

    fn big(&self) -> IBig {
        self.clone()
    }

    fn negative(&self) -> IBig {
        -self
    }

    fn common(&self, other: &IBig) -> IBig {
        // dashu has no divisor for 0 and 0.
        if other.is_zero() { self.abs() } else { self.gcd(other).into() }
    }

    fn over(&self, divisor: &IBig) -> IBig {
        self / divisor
    }

    fn combine(a: &IBig, b: &IBig, c: &IBig, d: &IBig) -> Result<IBig, Infallible> {
        Ok(a * b - c * d)
    }

    fn compare(a: &IBig, b: &IBig, c: &IBig, d: &IBig) -> Ordering {
        (a * b).cmp(&(c * d))
    }

    fn words(&self) -> u64 {
        // Allocated, and with a slower greatest common divisor: several steps of the machine's own
        // numbers.
        4 + 2 * self.as_sign_words().1.len() as u64
    }
}

/// `lead` · basic + Σ entry · variable = constant, where the basic variable is in no other row.
#[derive(Default)]
struct Row<N> {
    basic: u32,
    lead: N,
    /// Rising variables, no zeros.
    entries: Vec<(u32, N)>,
    constant: N,
    /// Perturbation: the constant stands for itself and this many times an infinitesimal. Without it
    /// nearly all constants were 0, and most pivots degenerate.
    perturbation: N,
}

impl<N: Number> Row<N> {
    fn entry(&self, variable: u32) -> Option<&N> {
        let at = self.entries.binary_search_by_key(&variable, |e| e.0).ok()?;
        Some(&self.entries[at].1)
    }

    fn numbers(&mut self) -> impl Iterator<Item = &mut N> {
        let own = [&mut self.lead, &mut self.constant, &mut self.perturbation];
        own.into_iter().chain(self.entries.iter_mut().map(|e| &mut e.1))
    }

    /// Makes a variable the basic one.
    fn enter(&mut self, variable: u32) {
        let Ok(at) = self.entries.binary_search_by_key(&variable, |e| e.0) else { return };
        let (_, lead) = self.entries.remove(at);
        let (basic, old) =
            (mem::replace(&mut self.basic, variable), mem::replace(&mut self.lead, lead));
        let at = self.entries.partition_point(|e| e.0 < basic);
        self.entries.insert(at, (basic, old));
        if self.lead < N::default() {
            self.numbers().for_each(|n| *n = n.negative());
        }
    }

    /// Takes the basic variable of another row out of this one.
    fn eliminate(&mut self, other: &Row<N>, effort: &Effort) -> Result<(), Halt<N::Overflow>> {
        let Ok(at) = self.entries.binary_search_by_key(&other.basic, |e| e.0) else {
            return Ok(());
        };
        let numbers = (self.entries.len() + other.entries.len()) as u64 + 3;
        effort.spend(numbers * self.lead.words().max(other.lead.words())).ok_or(Halt::Spent)?;
        let (_, entry) = self.entries.remove(at);
        let (zero, common) = (N::default(), other.lead.common(&entry));
        let (mine, theirs) = (other.lead.over(&common), entry.over(&common));
        let old = mem::take(&mut self.entries);
        self.entries.reserve(old.len() + other.entries.len());
        let (mut a, mut b) = (old.as_slice(), other.entries.as_slice());
        while let Some(variable) = [a.first(), b.first()].into_iter().flatten().map(|e| e.0).min() {
            let x = a.split_off_first_if(variable);
            let y = b.split_off_first_if(variable);
            let sum = N::combine(x.unwrap_or(&zero), &mine, y.unwrap_or(&zero), &theirs)
                .map_err(Halt::Overflow)?;
            if sum != zero {
                self.entries.push((variable, sum));
            }
        }
        let combine = |a: &N, b: &N| N::combine(a, &mine, b, &theirs).map_err(Halt::Overflow);
        self.constant = combine(&self.constant, &other.constant)?;
        self.perturbation = combine(&self.perturbation, &other.perturbation)?;
        self.lead = combine(&self.lead, &zero)?;
        self.reduce();
        Ok(())
    }

    /// Divides by what all numbers have in common.
    fn reduce(&mut self) {
        let (zero, one) = (N::default(), N::from_small(1));
        let mut common = self.lead.clone();
        for number in self.numbers() {
            if common == one {
                return;
            }
            if *number != zero {
                common = common.common(number);
            }
        }
        if common != one {
            self.numbers().for_each(|n| *n = n.over(&common));
        }
    }
}

/// A sorted list that is walked through.
trait Walk<'a, N> {
    /// The number of this variable, if it is the next.
    fn split_off_first_if(&mut self, variable: u32) -> Option<&'a N>;
}

impl<'a, N> Walk<'a, N> for &'a [(u32, N)] {
    fn split_off_first_if(&mut self, variable: u32) -> Option<&'a N> {
        let (first, rest) = self.split_first()?;
        (first.0 == variable).then(|| {
            *self = rest;
            &first.1
        })
    }
}

/// A linear program: the least Σ cost · variable over variables that are at least zero, or free.
#[derive(Clone, Debug)]
pub struct LinearProgram {
    /// Which variables are free.
    pub free: Vec<bool>,
    /// The costs, by rising variables.
    pub costs: Vec<(u32, IBig)>,
    /// The conditions.
    pub conditions: Vec<Condition>,
}

/// slack + Σ entry · variable = constant, where the slack is at least zero and in no other
/// condition.
#[derive(Clone, Debug)]
pub struct Condition {
    /// The slack.
    pub slack: u32,
    /// The entries, by rising variables.
    pub entries: Vec<(u32, i32)>,
    /// The constant.
    pub constant: u32,
}

/// How a program ended.
#[derive(Clone, Debug)]
pub enum End {
    /// At the variables of least cost.
    Least(Vec<Rational>),
    /// The cost falls without end along this direction.
    Falling(Vec<Rational>),
}

impl LinearProgram {
    /// Solves it; `None` if that takes more work than is left.
    pub fn solve(&self, effort: &Effort) -> Option<End> {
        match Tableau::<i64>::new(self).map_err(Halt::Overflow).and_then(|t| t.solve(effort)) {
            Ok(end) => Some(end),
            Err(Halt::Spent) => None,
            Err(Halt::Overflow(TooLarge)) => {
                let Ok(tableau) = Tableau::<IBig>::new(self);
                tableau.solve(effort).ok()
            }
        }
    }
}

/// A program in progress.
struct Tableau<'a, N> {
    free: &'a [bool],
    cost: Row<N>,
    rows: Vec<Row<N>>,
    /// Rows whose basic variable is free: nothing limits it, so that they matter only for its
    /// value, at the end.
    settled: Vec<Row<N>>,
}

impl<'a, N: Number> Tableau<'a, N> {
    fn new(program: &'a LinearProgram) -> Result<Tableau<'a, N>, N::Overflow> {
        let row = |basic, entries| Row {
            basic,
            lead: N::from_small(1),
            entries,
            constant: N::default(),
            perturbation: N::default(),
        };
        let mut costs = Vec::with_capacity(program.costs.len());
        for (variable, cost) in program.costs.iter().filter(|c| !c.1.is_zero()) {
            costs.push((*variable, N::from_big(cost)?.negative()));
        }
        let rows = program.conditions.iter().zip(1u32..).map(|(condition, i)| Row {
            constant: N::from_small(condition.constant as i32),
            // Any numbers that differ, the same every time.
            perturbation: N::from_small(1 + (i.wrapping_mul(0x9e37_79b9) >> 19) as i32),
            ..row(
                condition.slack,
                condition.entries.iter().map(|&(v, n)| (v, N::from_small(n))).collect(),
            )
        });
        let rows = rows.collect();
        Ok(Tableau { free: &program.free, cost: row(u32::MAX, costs), rows, settled: Vec::new() })
    }

    fn solve(mut self, effort: &Effort) -> Result<End, Halt<N::Overflow>> {
        let mut stalled = false;
        while let Some((variable, rises)) = self.entering(stalled) {
            // Looking at every row once is work, too.
            effort.spend(self.rows.len() as u64).ok_or(Halt::Spent)?;
            let Some(row) = self.leaving(variable, rises) else {
                let direction = if rises { IBig::ONE } else { IBig::NEG_ONE };
                return Ok(End::Falling(self.values(Some((variable, direction)))));
            };
            // Bland's rule while no step gets anywhere: it never returns to where it was.
            stalled = self.rows[row].constant == N::default()
                && self.rows[row].perturbation == N::default();
            self.pivot(row, variable, effort)?;
        }
        Ok(End::Least(self.values(None)))
    }

    /// A variable whose change lowers the cost, and whether it rises.
    fn entering(&self, stalled: bool) -> Option<(u32, bool)> {
        let useful = |e: &&(u32, N)| self.free[e.0 as usize] || e.1 > N::default();
        let mut candidates = self.cost.entries.iter().filter(useful);
        let rank = |e: &(u32, N)| (self.free[e.0 as usize], e.1.magnitude());
        let chosen = if stalled {
            candidates.next()?
        } else {
            candidates.reduce(|best, next| if rank(next) > rank(best) { next } else { best })?
        };
        Some((chosen.0, chosen.1 > N::default()))
    }

    /// The row that limits the change of a variable most.
    fn leaving(&self, variable: u32, rises: bool) -> Option<usize> {
        let mut best: Option<(usize, N)> = None;
        for (i, row) in self.rows.iter().enumerate() {
            let Some(entry) = row.entry(variable) else { continue };
            let entry = if rises { entry.clone() } else { entry.negative() };
            if entry <= N::default() {
                continue;
            }
            let closer = best.as_ref().is_none_or(|(j, other)| {
                let theirs = &self.rows[*j];
                let by_constant = N::compare(&row.constant, other, &theirs.constant, &entry);
                let by_perturbation =
                    || N::compare(&row.perturbation, other, &theirs.perturbation, &entry);
                by_constant.then_with(by_perturbation).then(row.basic.cmp(&theirs.basic)).is_lt()
            });
            if closer {
                best = Some((i, entry));
            }
        }
        best.map(|b| b.0)
    }

    fn pivot(
        &mut self,
        row: usize,
        variable: u32,
        effort: &Effort,
    ) -> Result<(), Halt<N::Overflow>> {
        let mut pivot = self.rows.swap_remove(row);
        pivot.enter(variable);
        self.cost.eliminate(&pivot, effort)?;
        self.rows.iter_mut().try_for_each(|r| r.eliminate(&pivot, effort))?;
        if self.free[variable as usize] {
            self.settled.push(pivot);
        } else {
            self.rows.push(pivot);
        }
        Ok(())
    }

    /// The variables as they stand, or how they change along the direction of one.
    fn values(&self, along: Option<(u32, IBig)>) -> Vec<Rational> {
        let mut values = vec![Rational::whole(IBig::ZERO); self.free.len()];
        if let Some((variable, direction)) = &along {
            values[*variable as usize] = Rational::whole(direction.clone());
        }
        // A settled row may need the value of one that was settled later.
        for row in self.rows.iter().chain(self.settled.iter().rev()) {
            let start = if along.is_some() { IBig::ZERO } else { row.constant.big() };
            let known = row.entries.iter().filter(|e| !values[e.0 as usize].is_zero());
            let rest = known.fold(Rational::whole(start), |sum, (v, n)| {
                sum.less(&n.big(), &values[*v as usize])
            });
            values[row.basic as usize] = Rational::new(rest.num, rest.den * row.lead.big());
        }
        values
    }
}
