//! Tables that this process does not hold: an engine elsewhere counts them.
//!
//! The Publisher and `check` need of a table only its distinct rows with their numbers, which is what [`Engine::count`]
//! brings. Columns that pass through unchanged are the exception: they are different in every record, so the engine
//! brings the records in the order of the release ([`Engine::records`]) and they go straight to the file.
//!
//! Everything between, from the taxonomies to the manifest, is the same code whether there is an engine or not.

use crate::columns::{Columns, ReadOptions};
use crate::levels::{Coded, Number, Question};
use crate::publisher::Watcher;
use crate::source::Extract;
use scumble::policy::Policy;
use scumble::problem::{Problem, Problems};
use scumble::release::Form;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Counts tables.
pub trait Engine: Sync {
    /// The names of the columns of a table.
    fn header(&self, table: &Path, options: &ReadOptions) -> Result<Vec<String>, Problems>;

    /// Finds out how much an extract is, and says it; what is wrong if its distinct rows are more than may be here. Persons with
    /// several rows are an error.
    fn estimate(
        &self,
        table: &Path,
        options: &ReadOptions,
        wanted: &[String],
        passing: &Passing,
        watcher: &dyn Watcher,
    ) -> Result<Option<Problem>, Problems>;

    /// Finds out how much some tables are, and says it. It is an error if their distinct rows are together more than may be here.
    fn estimate_all(&self, tables: &[Asked], watcher: &dyn Watcher) -> Result<(), Problems>;

    /// The distinct values of columns, each by itself; what stands in one row does not belong together.
    fn values(
        &self,
        table: &Path,
        options: &ReadOptions,
        wanted: &[String],
        watcher: &dyn Watcher,
    ) -> Result<Columns, Problems>;

    /// Counts parts of a table.
    fn parts(
        &self,
        question: &Question<'_>,
        watcher: &dyn Watcher,
        take: &mut dyn FnMut(Number<'_>) -> Result<(), Problems>,
    ) -> Result<(), Problems>;

    /// How many distinct rows of so many columns may be here at once.
    fn most_rows(&self, columns: usize) -> u64;

    /// What is wrong with so many distinct rows of so many columns, if they are too many to be here at once.
    fn fits(&self, rows: u64, columns: usize) -> Result<(), Problem>;

    /// About how many distinct rows a table has, by each coding of its columns.
    fn rows(
        &self,
        table: &Path,
        options: &ReadOptions,
        codings: &[Vec<Coded>],
        watcher: &dyn Watcher,
    ) -> Result<Vec<u64>, Problems>;

    /// How many combinations of columns occur so often: pairs of a number of records and a number of combinations.
    fn sizes(
        &self,
        table: &Path,
        options: &ReadOptions,
        columns: &[Coded],
        watcher: &dyn Watcher,
    ) -> Result<Vec<(u64, u64)>, Problems>;

    /// The distinct rows of these columns with their numbers ([`Columns::weights`]), columns in the order of the table and rows
    /// in one that depends on nothing but the rows. Columns of an extract that pass through are there without rows.
    fn count(
        &self,
        table: &Path,
        options: &ReadOptions,
        wanted: &[String],
        what: What<'_>,
        watcher: &dyn Watcher,
    ) -> Result<Columns, Problems>;

    /// The records of the extract that was counted, in the order of their classes and within a class in one that only the
    /// seed knows, some at a time.
    fn records(&self, shares: &[Share], seed: u64, watcher: &dyn Watcher, put: Put<'_>) -> Result<(), Problems>;

    /// Some columns of a file that this process wrote, some rows at a time.
    fn scan(
        &self,
        table: &Path,
        options: &ReadOptions,
        wanted: &[String],
        put: &mut dyn FnMut(&Columns) -> Result<(), Problems>,
    ) -> Result<(), Problems>;

    /// What was done so far.
    fn report(&self) -> Report;
}

/// Takes records: the class and the distinct row of each, and the columns that pass through.
pub type Put<'a> = &'a mut dyn FnMut(&[u32], &[u32], &Columns) -> Result<(), Problems>;

/// What is counted.
pub enum What<'a> {
    /// What is to be published; its records will be asked for.
    Extract(&'a Passing),
    /// A table that is only looked at.
    Table,
    /// A file that this process wrote, which nobody else need see.
    Written,
}

/// A table of which some columns will be counted.
pub struct Asked {
    /// Where it is.
    pub table: PathBuf,
    /// How it is written.
    pub options: ReadOptions,
    /// The columns.
    pub wanted: Vec<String>,
}

/// Columns of an extract beside those that are counted.
#[derive(Default)]
pub struct Passing {
    /// Published as they are.
    pub plain: Vec<String>,
    /// Names the persons; nobody may have two rows.
    pub person: Option<String>,
}

/// Records of a line of what was counted that go to one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// The line.
    pub line: u32,
    /// The distinct row of the table that it became.
    pub row: u32,
    /// The class.
    pub class: u32,
    /// How many.
    pub count: u64,
}

/// What an engine was asked, and what it expected.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// `datafusion` or `ballista`.
    pub name: &'static str,
    /// Records of the source.
    pub rows: u64,
    /// About how many distinct rows were expected.
    pub expected: u64,
    /// How many there were; 0 if they were too many to be brought, and the table was divided level by level.
    pub distinct: u64,
    /// Bytes that they were expected to need in this process.
    pub bytes: u64,
    /// Bytes that this process may use for them, and as many again for the engine.
    pub allowed: u64,
    /// Queries that read the source.
    pub passes: u64,
    /// Bytes that did not fit and went to the disk of this process; executors of a cluster count theirs themselves.
    pub spilled: u64,
}

/// What a policy asks for that only the default engine can do; said before anything is read.
pub fn must_fit(policy: &Policy, ledger: bool) -> Result<(), Problems> {
    let mut problems = Problems::default();
    let alone = "leave out `--engine` and `--cluster`";
    for a in policy.attributes.iter().filter(|a| !a.perturb.is_empty()) {
        let message = format!("`{}` is perturbed, record by record: the engine has only distinct rows", a.name);
        problems.push(Problem::new(message).hint(format!("{alone}, or leave out `perturb`")));
    }
    let name = policy.algorithm.name;
    if policy.algorithm.algorithm.remembers() {
        let message = format!("`{name}` must know every person, and the engine brings only distinct rows");
        problems.push(Problem::new(message).hint(format!("{alone}, or choose another algorithm")));
    }
    if ledger && policy.attributes.iter().any(|a| a.person) {
        let message = "the ledger must know every person, and the engine brings only distinct rows";
        let hint = format!(
            "{alone}, or say `ledger = false` in the policy: then nothing is recorded, and what this \
                            release reveals together with others is not judged"
        );
        problems.push(Problem::new(message).hint(hint));
    }
    problems.or(())
}

/// How the lines that were counted are spread over the classes of a form.
pub(crate) fn shares(extract: &Extract, form: &Form, weights: &[u64]) -> Vec<Share> {
    // The lines of each row: few rows are written in more than one way.
    let mut lines: Vec<(u32, u32)> = extract.row_of.iter().copied().zip(0..).collect();
    lines.sort_unstable();
    let mut first = vec![0usize; extract.table.rows() + 1];
    lines.iter().for_each(|&(row, _)| first[row as usize + 1] += 1);
    (1..first.len()).for_each(|i| first[i] += first[i - 1]);
    let mut left: Vec<u64> = lines.iter().map(|&(_, line)| weights[line as usize]).collect();
    let mut shares = Vec::with_capacity(lines.len());
    for class in 0..crate::write::class_count(form) {
        for m in crate::write::members(form, class) {
            let mut wanted = u64::from(m.count);
            let here = first[m.row as usize]..first[m.row as usize + 1];
            for (&(row, line), left) in lines[here.clone()].iter().zip(&mut left[here]) {
                let count = wanted.min(*left);
                if count > 0 {
                    shares.push(Share { line, row, class: class as u32, count });
                }
                (wanted, *left) = (wanted - count, *left - count);
            }
        }
    }
    shares
}

/// A sum over the texts of a column that does not depend on their order: the same texts equally often have the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sum(u128, u64);

impl Sum {
    /// The sums of all columns with those of some more rows.
    pub fn add(sums: &mut [Sum], rows: &Columns) {
        use sha2::{Digest, Sha256};
        for (sum, column) in sums.iter_mut().zip(&rows.columns) {
            let hash = |text: &str| {
                let hash = Sha256::digest(text);
                u128::from_le_bytes(std::array::from_fn(|i| hash[i]))
            };
            let hashes: Vec<u128> = column.values.iter().map(hash).collect();
            for &code in &column.codes {
                sum.0 = sum.0.wrapping_add(hashes[code as usize]);
                sum.1 += 1;
            }
        }
    }
}
