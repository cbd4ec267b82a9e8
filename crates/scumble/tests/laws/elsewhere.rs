//! Algorithms on tables that are counted elsewhere, against the same algorithms on the tables
//! themselves.

use super::algorithms::{Law, check};
use super::cases::{algorithm, cases, combinations, draws, requirements};
use proptest::prelude::*;
use scumble::algorithm::{Counter, Elsewhere, Goal, Recoding, Stopped};
use scumble::catalogue::ALGORITHMS;
use scumble::failure::{Failure, Failures};
use scumble::release::{Form, Release};
use scumble::table::Table;
use std::collections::BTreeMap;

/// Counts a table row by row; at most so many rows may be here.
struct Counting<'a> {
    table: &'a Table,
    most: u64,
    brought: usize,
}

/// Quasi-identifiers and sensitive attributes of a row.
type Row = (Vec<u32>, Vec<u32>);

impl Counting<'_> {
    /// The rows as they are shown: quasi-identifiers, sensitive attributes, how many records.
    fn shown(&self, recoding: &Recoding, sensitive: bool) -> BTreeMap<Row, u32> {
        let mut rows = BTreeMap::new();
        for row in 0..self.table.rows() {
            let quasi = self
                .table
                .quasi_codes
                .iter()
                .zip(recoding)
                .map(|(c, codes)| codes[c[row] as usize])
                .collect();
            let told =
                self.table.sensitive_codes.iter().filter(|_| sensitive).map(|c| c[row]).collect();
            *rows.entry((quasi, told)).or_default() += self.table.counts[row];
        }
        rows
    }
}

impl Counter for Counting<'_> {
    fn rows(&mut self, recodings: &[Recoding]) -> Result<Vec<u64>, Failures> {
        Ok(recodings.iter().map(|r| self.shown(r, true).len() as u64).collect())
    }

    fn table(&mut self, recoding: &Recoding) -> Result<Table, Failures> {
        let rows = self.shown(recoding, true);
        assert!(
            rows.len() as u64 <= self.most,
            "{} rows were brought, {} fit",
            rows.len(),
            self.most
        );
        self.brought += 1;
        let (quasi, sensitive) = (self.table.quasi.len(), self.table.sensitive.len());
        let column = |of: &dyn Fn(&Row) -> u32| rows.keys().map(of).collect::<Vec<u32>>();
        Ok(Table {
            quasi_codes: (0..quasi).map(|d| column(&|(q, _)| q[d])).collect(),
            sensitive_codes: (0..sensitive).map(|i| column(&|(_, s)| s[i])).collect(),
            counts: rows.values().copied().collect(),
            ..self.table.clone()
        })
    }

    fn sizes(&mut self, recoding: &Recoding) -> Result<Vec<(u64, u64)>, Failures> {
        let mut sizes = BTreeMap::new();
        self.shown(recoding, false)
            .values()
            .for_each(|&n| *sizes.entry(u64::from(n)).or_default() += 1);
        Ok(sizes.into_iter().collect())
    }

    fn fits(&self, rows: u64) -> Result<(), Failure> {
        if rows <= self.most { Ok(()) } else { Err(Failure::refused("memory-limit", "too many")) }
    }
}

/// What two forms of the same data show must be the same.
fn same(a: (&Table, &Form), b: (&Table, &Form), what: &str) -> Law {
    let (a, b) = (Release::of(a.0, a.1), Release::of(b.0, b.1));
    prop_assert_eq!(a.classes, b.classes, "{}", what);
    prop_assert_eq!(a.suppressed, b.suppressed, "{}", what);
    Ok(())
}

/// The best levels are the best levels, however little of the table fits; or it says that they
/// cannot be found.
#[test]
fn levels_are_found_from_counts() {
    let entry = ALGORITHMS.iter().find(|e| e.name == "lattice").expect("is in the catalogue");
    let (found, open) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
    check(
        600,
        (cases(24), draws(), prop::array::uniform3(0u32..1000), 1u64..30),
        |(case, draws, params, most)| {
            let (table, requirements) = (&case.table, requirements(&draws, &case.table));
            let goal = Goal::new(table, &requirements);
            if !goal.unfit().is_empty() || table.rows() == 0 {
                return Ok(());
            }
            for given in combinations(entry.parameters, &params) {
                let Some(algorithm) = algorithm(entry, &given) else { continue };
                let Some(Elsewhere::Levels(recode)) = algorithm.elsewhere() else {
                    panic!("`lattice` works on counts")
                };
                let count = |dim: usize| {
                    let mut counts = vec![0u64; table.quasi[dim].taxonomy.leaves()];
                    let cells = table.quasi_codes[dim].iter().zip(&table.counts);
                    cells.for_each(|(&code, &n)| counts[code as usize] += u64::from(n));
                    counts
                };
                let counts = (0..table.quasi.len()).map(count).collect();
                let mut counting = Counting { table, most, brought: 0 };
                let here = algorithm.anonymize(table, &goal, 0, &|_, _| true);
                let what = format!("{given:?}, {most} rows fit");
                match (here, recode.recode(&goal, counts, &mut counting, &|_, _| true)) {
                    (Ok(here), Ok((other, there))) => {
                        found.set(found.get() + 1);
                        prop_assert!(counting.brought > 0);
                        same((table, &here), (&other, &there), &what)?;
                    }
                    // What cannot be looked at may be better, or worse.
                    (_, Err(Stopped::Refused(why)))
                        if why.iter().any(|p| p.message.contains("cannot be found out")) =>
                    {
                        open.set(open.get() + 1);
                    }
                    (Err(_), Err(Stopped::Refused(why))) => prop_assert!(!why.is_empty()),
                    (Ok(_), Err(_)) => prop_assert!(false, "refused: {}", what),
                    (Err(_), Ok(_)) => prop_assert!(false, "found: {}", what),
                    (Err(_), Err(Stopped::Failed(problems))) => prop_assert!(false, "{}", problems),
                }
            }
            Ok(())
        },
    );
    assert!(found.get() > 100 && open.get() > 10, "{} found, {} open", found.get(), open.get());
}
