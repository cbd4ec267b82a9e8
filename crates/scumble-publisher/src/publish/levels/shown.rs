//! A table as it is shown at levels of generalization: every value is counted as the one that
//! stands for it there.

use super::{Coded, Levels};
use scumble::algorithm::{Counter, Recoding};
use scumble::failure::{Failure, Failures};
use scumble::table::Table;

impl Levels<'_> {
    /// The records of every value, per quasi-identifier.
    pub(super) fn marginals(&self) -> Result<Vec<Vec<u64>>, Failures> {
        let mut counts: Vec<Vec<u64>> =
            self.attributes.iter().map(|a| vec![0; a.taxonomy.leaves()]).collect();
        self.ask(&[&[]], true, &mut |n| {
            if let Some(dim) = n.dim {
                counts[dim][n.quasi[0] as usize] += n.count;
            }
            Ok(())
        })?;
        Ok(counts)
    }

    /// The quasi-identifiers, every value as the one that stands for it.
    fn recoded(&self, recoding: &Recoding) -> Vec<Coded> {
        let column = |(column, codes): (&Coded, &Vec<u32>)| Coded {
            name: column.name.clone(),
            codes: column
                .codes
                .iter()
                .map(|(text, code)| (text.clone(), codes[*code as usize]))
                .collect(),
        };
        self.quasi.iter().zip(recoding).map(column).collect()
    }
}

impl Counter for Levels<'_> {
    fn rows(&mut self, recodings: &[Recoding]) -> Result<Vec<u64>, Failures> {
        let coding = |recoding| {
            self.recoded(recoding).into_iter().chain(self.sensitive.iter().cloned()).collect()
        };
        let codings: Vec<Vec<Coded>> = recodings.iter().map(coding).collect();
        self.engine.rows(self.table, self.options, &codings, self.observer)
    }

    fn table(&mut self, recoding: &Recoding) -> Result<Table, Failures> {
        let quasi = self.recoded(recoding);
        let mut table = self.empty();
        self.ask_of(&quasi, &[&[]], false, &mut |n| {
            let tuple = self.tuple(n.sensitive)?;
            self.push(&mut table, n.quasi.iter().copied(), tuple, n.count)
        })?;
        Ok(table)
    }

    fn sizes(&mut self, recoding: &Recoding) -> Result<Vec<(u64, u64)>, Failures> {
        self.engine.sizes(self.table, self.options, &self.recoded(recoding), self.observer)
    }

    fn fits(&self, rows: u64) -> Result<(), Failure> {
        self.engine.fits(rows, self.quasi.len() + self.sensitive.len())
    }
}
