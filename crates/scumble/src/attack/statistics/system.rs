//! Which sums over people a list of sums over people determines, exactly.
//!
//! Statistics are the rows of a matrix of zeros and ones, people its columns. People who are in
//! exactly the same statistics are one column, an *atom*: nothing can tell them apart. The sum over
//! a set of atoms is determined if and only if the set's indicator is a combination of rows. A
//! basis of rows and columns is chosen in the field of 2⁶¹ − 1 elements, where arithmetic is fast;
//! with it
//!
//! - one random vector that all rows annihilate there names the candidates: a set whose entries do
//!   not sum to zero is not determined;
//! - the combination of a candidate is found by Dixon's p-adic lifting as rational numbers, and
//!   checked on every column.
//!
//! Nothing hangs on chance: that the basis is one over the rationals, too, is proved by the
//! combinations of the rows that are not in it, which are checked in the same way.

use crate::exact::Rational;
use dashu_int::ops::{Abs, BitTest};
use dashu_int::{IBig, UBig};
use hashbrown::HashMap;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeMap;

/// A combination of statistics: numbers of rows with their coefficients, none of them zero.
pub(super) type Combination = Vec<(usize, Rational)>;

/// The sums that are known, over atoms.
pub(super) struct System {
    /// The people of each atom.
    pub(super) atoms: Vec<Vec<u32>>,
    /// The atoms of each row, rising.
    pub(super) rows: Vec<Vec<u32>>,
    /// Rows that the others are combinations of, and as many atoms that tell them apart.
    independent: Vec<usize>,
    basis: Vec<usize>,
    /// The atoms of the basis in each independent row, by their place in the basis.
    within: Vec<Vec<usize>>,
    /// Inverse of the rows and columns of the basis modulo [`P`]: by column, then row.
    inverse: Vec<Vec<u64>>,
    /// A random vector that every row annihilates modulo [`P`].
    annihilated: Vec<u64>,
    /// Random numbers of atoms, and the rows by the sum of theirs: equal sets have equal sums.
    weights: Vec<u64>,
    row_weights: Vec<u64>,
    by_weight: HashMap<u64, usize>,
    /// Combinations of rows that are nothing.
    pub(super) relations: Vec<Combination>,
}

impl System {
    /// From the people of each statistic, rising. Rows that come first are preferred. Nothing if
    /// chance would have it that the basis could not be proved; the odds are those of a 61-bit
    /// number.
    pub(super) fn new(sets: &[&[u32]]) -> Option<System> {
        let (atoms, columns) = atoms(sets);
        let mut rows = vec![Vec::new(); sets.len()];
        for (atom, column) in columns.iter().enumerate() {
            column.iter().for_each(|&row| rows[row as usize].push(atom as u32));
        }
        let (independent, basis) = choose_basis(&columns, sets.len());
        let mut place = vec![usize::MAX; atoms.len()];
        basis.iter().enumerate().for_each(|(k, &atom)| place[atom] = k);
        let inside = |&row: &usize| -> Vec<usize> {
            rows[row]
                .iter()
                .map(|&atom| place[atom as usize])
                .filter(|&k| k != usize::MAX)
                .collect()
        };
        let within: Vec<Vec<usize>> = independent.iter().map(inside).collect();
        let inverse = invert(&within);
        let mut random = ChaCha8Rng::seed_from_u64(0);
        let weights: Vec<u64> = atoms.iter().map(|_| random.random_range(1..P)).collect();
        let annihilated = annihilated(&rows, &independent, &basis, &inverse, &weights);
        let mut system = System {
            atoms,
            rows,
            independent,
            basis,
            within,
            inverse,
            annihilated,
            weights,
            row_weights: Vec::new(),
            by_weight: HashMap::new(),
            relations: Vec::new(),
        };
        system.row_weights = system.rows.iter().map(|row| system.weight(row)).collect();
        system.by_weight = system.row_weights.iter().copied().zip(0..).collect();
        let mut is_independent = vec![false; sets.len()];
        system.independent.iter().for_each(|&row| is_independent[row] = true);
        for row in (0..sets.len()).filter(|&row| !is_independent[row]) {
            let mut relation = system.combine(&system.rows[row])?;
            relation.push((row, Rational::whole(-1)));
            system.relations.push(relation);
        }
        Some(system)
    }

    /// The shortest combination found that gives the sum over these atoms (rising), if it is
    /// determined.
    pub(super) fn combination(&self, atoms: &[u32]) -> Option<Combination> {
        if self.seems_free(atoms) {
            return None;
        }
        let long = self.combine(atoms)?;
        // Without relations it is the only one.
        if self.relations.is_empty() {
            return Some(long);
        }
        let short = (1..long.len().min(if self.rows.len() > 1000 { 3 } else { 4 }))
            .find_map(|n| self.short(atoms, n));
        Some(short.unwrap_or(long))
    }

    /// Sets of up to three atoms, none determined by itself, with fewer than so many people, that
    /// may be determined together.
    pub(super) fn candidates(&self, fewer_than: u64) -> Vec<Vec<u32>> {
        let z = |atom: u32| self.annihilated[atom as usize];
        let size = |atom: u32| self.atoms[atom as usize].len() as u64;
        let small: Vec<u32> =
            (0..self.atoms.len() as u32).filter(|&a| z(a) != 0 && size(a) < fewer_than).collect();
        let mut by_value: HashMap<u64, Vec<u32>> = HashMap::new();
        small.iter().for_each(|&a| by_value.entry(z(a)).or_default().push(a));
        let others = |sum: u64, after: u32, people: u64| {
            let found = by_value.get(&sub(0, sum)).map_or(&[][..], Vec::as_slice);
            found.iter().copied().filter(move |&a| a > after && size(a) + people < fewer_than)
        };
        let mut sets: Vec<Vec<u32>> = Vec::new();
        for &a in &small {
            sets.extend(others(z(a), a, size(a)).map(|b| vec![a, b]));
        }
        if small.len() <= TRIPLES {
            for (i, &a) in small.iter().enumerate() {
                for &b in small[i + 1..].iter().filter(|&&b| size(a) + size(b) < fewer_than) {
                    sets.extend(
                        others(add(z(a), z(b)), b, size(a) + size(b)).map(|c| vec![a, b, c]),
                    );
                }
                if sets.len() > SETS {
                    break;
                }
            }
        }
        sets.truncate(SETS);
        sets
    }

    /// Whether one row holds all atoms of another.
    pub(super) fn contains(&self, row: usize, other: usize) -> bool {
        let mut all = self.rows[row].iter();
        self.rows[other].iter().all(|atom| all.any(|a| a == atom))
    }

    /// Whether the sum over these atoms is surely not determined.
    fn seems_free(&self, atoms: &[u32]) -> bool {
        atoms.iter().fold(0, |sum, &a| add(sum, self.annihilated[a as usize])) != 0
    }

    fn weight(&self, atoms: &[u32]) -> u64 {
        atoms.iter().fold(0, |sum, &a| add(sum, self.weights[a as usize]))
    }

    /// A sum or difference of n rows that is the wanted set.
    fn short(&self, wanted: &[u32], n: usize) -> Option<Combination> {
        let terms = self.short_by_weight(self.weight(wanted), n, 0)?;
        let whole: Vec<(usize, IBig)> =
            terms.iter().map(|&(row, sign)| (row, sign.into())).collect();
        let is_it = self.gives(&whole, &IBig::ONE, wanted);
        is_it.then(|| whole.into_iter().map(|(row, sign)| (row, Rational::whole(sign))).collect())
    }

    /// Rows whose weights add up to the wanted one; all but the last stand in rising order, from
    /// this row on.
    fn short_by_weight(&self, wanted: u64, n: usize, from: usize) -> Option<Vec<(usize, i32)>> {
        if n == 1 {
            let plus = self.by_weight.get(&wanted).map(|&row| vec![(row, 1)]);
            return plus
                .or_else(|| self.by_weight.get(&sub(0, wanted)).map(|&row| vec![(row, -1)]));
        }
        for (row, &weight) in self.row_weights.iter().enumerate().skip(from) {
            for (sign, rest) in [(1, sub(wanted, weight)), (-1, add(wanted, weight))] {
                if let Some(mut terms) = self.short_by_weight(rest, n - 1, row + 1)
                    && terms.iter().all(|t| t.0 != row)
                {
                    terms.insert(0, (row, sign));
                    return Some(terms);
                }
            }
        }
        None
    }

    /// The combination of independent rows that is the wanted set of atoms, if one is.
    fn combine(&self, wanted: &[u32]) -> Option<Combination> {
        let size = self.basis.len();
        let is_wanted = |atom: &usize| wanted.binary_search(&(*atom as u32)).is_ok();
        let mut rest: Vec<i128> = self.basis.iter().map(|atom| is_wanted(atom).into()).collect();
        let (mut digits, mut next) = (Vec::new(), 1);
        for n in 1..=digits_needed(size) {
            let mut x = vec![0u64; size];
            for (k, &part) in rest.iter().enumerate().filter(|(_, part)| **part != 0) {
                let factor = part.rem_euclid(P.into()) as u64;
                x.iter_mut().zip(&self.inverse[k]).for_each(|(x, &y)| *x = add(*x, mul(factor, y)));
            }
            for (row, &x) in x.iter().enumerate().filter(|(_, x)| **x != 0) {
                self.within[row].iter().for_each(|&k| rest[k] -= i128::from(x));
            }
            rest.iter_mut().for_each(|r| *r /= i128::from(P));
            digits.push(x);
            if n == next || n == digits_needed(size) {
                next *= 2;
                if let Some(found) = self.reconstruct(&digits, wanted) {
                    return Some(found);
                }
            }
        }
        None
    }

    /// The rational numbers with these digits, if they give the wanted set.
    fn reconstruct(&self, digits: &[Vec<u64>], wanted: &[u32]) -> Option<Combination> {
        let modulus = IBig::from(UBig::from(P).pow(digits.len()));
        let bound = IBig::ONE << (modulus.bit_len() / 2 - 1);
        let mut denominator = IBig::ONE;
        let mut found: Vec<(usize, IBig)> = Vec::new();
        for i in (0..self.independent.len()).filter(|&i| digits.iter().any(|x| x[i] != 0)) {
            let number = digits.iter().rev().fold(IBig::ZERO, |n, x| n * P + x[i]);
            let (num, den) = fraction(number * &denominator % &modulus, &modulus, &bound)?;
            if den != IBig::ONE {
                found.iter_mut().for_each(|(_, n)| *n *= &den);
                denominator *= den;
                if denominator > bound {
                    return None;
                }
            }
            found.push((self.independent[i], num));
        }
        found.retain(|(_, n)| *n != IBig::ZERO);
        if !self.gives(&found, &denominator, wanted) {
            return None;
        }
        found
            .into_iter()
            .map(|(row, n)| Some((row, Rational::new(n, denominator.clone())?)))
            .collect()
    }

    /// Whether these multiples of rows add up to so many times the wanted set.
    fn gives(&self, terms: &[(usize, IBig)], times: &IBig, wanted: &[u32]) -> bool {
        let mut sum = vec![IBig::ZERO; self.atoms.len()];
        for (row, n) in terms {
            self.rows[*row].iter().for_each(|&atom| sum[atom as usize] += n);
        }
        let mut wanted = wanted.iter().copied().peekable();
        let mut expected = |atom: usize| wanted.next_if_eq(&(atom as u32)).is_some();
        sum.iter()
            .enumerate()
            .all(|(atom, n)| if expected(atom) { n == times } else { *n == IBig::ZERO })
    }
}

/// People by the statistics that they are in: the people of each atom, and its statistics.
fn atoms(sets: &[&[u32]]) -> (Vec<Vec<u32>>, Vec<Vec<u32>>) {
    let mut statistics_of: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (row, set) in (0..).zip(sets) {
        set.iter().for_each(|&person| statistics_of.entry(person).or_default().push(row));
    }
    let mut number: HashMap<Vec<u32>, usize> = HashMap::new();
    let (mut atoms, mut columns): (Vec<Vec<u32>>, Vec<Vec<u32>>) = (Vec::new(), Vec::new());
    for (person, rows) in statistics_of {
        match number.get(&rows) {
            Some(&atom) => atoms[atom].push(person),
            None => {
                number.insert(rows.clone(), atoms.len());
                atoms.push(vec![person]);
                columns.push(rows);
            }
        }
    }
    (atoms, columns)
}

/// Limit on the sets of atoms that are tried.
const SETS: usize = 10_000;
/// Beyond so many small atoms only pairs of them are looked at, not triples.
const TRIPLES: usize = 2000;

/// The prime 2⁶¹ − 1.
const P: u64 = (1 << 61) - 1;

fn add(a: u64, b: u64) -> u64 {
    let sum = a + b;
    if sum >= P { sum - P } else { sum }
}

fn sub(a: u64, b: u64) -> u64 {
    if a >= b { a - b } else { a + P - b }
}

fn mul(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    add(product as u64 & P, (product >> 61) as u64)
}

/// 1 / a, which is a to the power of P − 2.
fn reciprocal(a: u64) -> u64 {
    let (mut result, mut square, mut power) = (1, a, P - 2);
    while power > 0 {
        if power & 1 == 1 {
            result = mul(result, square);
        }
        square = mul(square, square);
        power >>= 1;
    }
    result
}

/// Adds a multiple of one row to another.
fn add_times(row: &mut [u64], other: &[u64], factor: u64) {
    row.iter_mut().zip(other).for_each(|(x, &y)| *x = add(*x, mul(factor, y)));
}

/// As many rows and columns as are independent modulo [`P`].
fn choose_basis(columns: &[Vec<u32>], rows: usize) -> (Vec<usize>, Vec<usize>) {
    let (mut independent, mut basis, mut reduced) =
        (Vec::new(), Vec::new(), Vec::<Vec<u64>>::new());
    for (atom, column) in columns.iter().enumerate() {
        if basis.len() == rows {
            break;
        }
        let mut rest = vec![0u64; rows];
        column.iter().for_each(|&row| rest[row as usize] = 1);
        for (&pivot, other) in independent.iter().zip(&reduced) {
            if rest[pivot] != 0 {
                let factor = sub(0, rest[pivot]);
                add_times(&mut rest, other, factor);
            }
        }
        if let Some(pivot) = rest.iter().position(|&x| x != 0) {
            let scale = reciprocal(rest[pivot]);
            rest.iter_mut().for_each(|x| *x = mul(*x, scale));
            independent.push(pivot);
            basis.push(atom);
            reduced.push(rest);
        }
    }
    (independent, basis)
}

/// The inverse of a matrix of zeros and ones modulo [`P`], given by the places of the ones in each
/// row.
fn invert(ones: &[Vec<usize>]) -> Vec<Vec<u64>> {
    let size = ones.len();
    let mut rows: Vec<Vec<u64>> = Vec::new();
    for (i, ones) in ones.iter().enumerate() {
        let mut row = vec![0u64; 2 * size];
        ones.iter().for_each(|&k| row[k] = 1);
        row[size + i] = 1;
        rows.push(row);
    }
    for k in 0..size {
        let Some(pivot) = (k..size).find(|&i| rows[i][k] != 0) else { continue };
        rows.swap(k, pivot);
        let scale = reciprocal(rows[k][k]);
        rows[k].iter_mut().for_each(|x| *x = mul(*x, scale));
        let row = rows[k].clone();
        for (i, other) in rows.iter_mut().enumerate() {
            if i != k && other[k] != 0 {
                let factor = sub(0, other[k]);
                add_times(other, &row, factor);
            }
        }
    }
    rows.into_iter().map(|mut row| row.split_off(size)).collect()
}

/// Random outside the basis, and in it what makes every row sum to zero.
fn annihilated(
    rows: &[Vec<u32>],
    independent: &[usize],
    basis: &[usize],
    inverse: &[Vec<u64>],
    random: &[u64],
) -> Vec<u64> {
    let mut vector = random.to_vec();
    basis.iter().for_each(|&atom| vector[atom] = 0);
    let sum = |&row: &usize| rows[row].iter().fold(0, |sum, &atom| add(sum, vector[atom as usize]));
    let sums: Vec<u64> = independent.iter().map(sum).collect();
    for (&atom, inverse) in basis.iter().zip(inverse) {
        vector[atom] = inverse.iter().zip(&sums).fold(0, |x, (&y, &sum)| sub(x, mul(y, sum)));
    }
    vector
}

/// Digits to the base [`P`] that suffice for any solution: by Hadamard's bound on determinants of
/// zeros and ones.
fn digits_needed(size: usize) -> usize {
    let n = size as f64 + 1.0;
    ((n * n.log2() + 4.0) / 60.9).ceil() as usize + 1
}

/// The fraction with small terms that is this number modulo another, if there is one.
fn fraction(number: IBig, modulus: &IBig, bound: &IBig) -> Option<(IBig, IBig)> {
    let negative = &number - modulus;
    if number <= *bound {
        return Some((number, IBig::ONE));
    }
    if -&negative <= *bound {
        return Some((negative, IBig::ONE));
    }
    let (mut a, mut b) = ((modulus.clone(), IBig::ZERO), (number, IBig::ONE));
    while b.0 > *bound {
        let quotient = &a.0 / &b.0;
        let next = (&a.0 - &quotient * &b.0, &a.1 - quotient * &b.1);
        a = std::mem::replace(&mut b, next);
    }
    let den = b.1.clone().abs();
    if den > *bound || den == IBig::ZERO {
        return None;
    }
    Some((if b.1 < IBig::ZERO { -b.0 } else { b.0 }, den))
}
