//! Tables that this process does not hold: an engine elsewhere counts them.
//!
//! The Publisher and `check` need of a table only its distinct rows with their numbers, which is
//! what [`Engine::count`] brings. Columns that pass through unchanged are the exception: they are
//! different in every record, so the engine brings the records ([`Engine::records`]), which are
//! shuffled on the disk and written.
//!
//! An engine remembers nothing between calls but what it reports: whatever a question builds on is
//! an argument of it. What an engine has brought of an extract is one type, [`Rows`].
//!
//! Everything between, from the taxonomies to the manifest, is the same code whether there is an
//! engine or not.

use crate::answer::EngineReport;
use crate::observer::Observer;
use crate::publish::levels::{Coded, Number, Question};
use crate::publish::rows::Brought;
#[cfg(doc)]
use crate::publish::rows::Rows;
use crate::table::columns::{Columns, ReadOptions};
use crate::table::format::one_of;
use arrow_array::RecordBatch;
use scumble::failure::{Argument, Failure, Failures, Remedy};
use scumble::policy::Policy;
use scumble::release::Form;
use std::path::{Path, PathBuf};

/// Counts tables.
pub trait Engine: Sync {
    /// Names of the formats that it reads (`table/format.rs`).
    fn formats(&self) -> &'static [&'static str];

    /// The names of the columns of a table.
    fn header(&self, table: &Path, options: &ReadOptions) -> Result<Vec<String>, Failures>;

    /// Finds out how much an extract is, and says it. Persons with several rows are an error.
    fn estimate(
        &self,
        asked: &Asked,
        passing: &Passing,
        observer: &dyn Observer,
    ) -> Result<Estimate, Failures>;

    /// Finds out how much some tables are, and says it. It is an error if their distinct rows are
    /// together more than may be here.
    fn estimate_all(&self, tables: &[Asked], observer: &dyn Observer) -> Result<(), Failures>;

    /// The distinct values of columns, each by itself; what stands in one row does not belong
    /// together.
    fn values(&self, asked: &Asked, observer: &dyn Observer) -> Result<Columns, Failures>;

    /// Counts parts of a table.
    fn parts(
        &self,
        question: &Question<'_>,
        observer: &dyn Observer,
        take: &mut dyn FnMut(Number<'_>) -> Result<(), Failures>,
    ) -> Result<(), Failures>;

    /// How many distinct rows of so many columns may be here at once.
    fn most_rows(&self, columns: usize) -> u64;

    /// What is wrong with so many distinct rows of so many columns, if they are too many to be here
    /// at once.
    fn fits(&self, rows: u64, columns: usize) -> Result<(), Failure>;

    /// About how many distinct rows a table has, by each coding of its columns.
    fn rows(
        &self,
        table: &Path,
        options: &ReadOptions,
        codings: &[Vec<Coded>],
        observer: &dyn Observer,
    ) -> Result<Vec<u64>, Failures>;

    /// How many combinations of columns occur so often: pairs of a number of records and a number
    /// of combinations.
    fn sizes(
        &self,
        table: &Path,
        options: &ReadOptions,
        columns: &[Coded],
        observer: &dyn Observer,
    ) -> Result<Vec<(u64, u64)>, Failures>;

    /// The distinct rows of a table with their numbers ([`Columns::weights`]), columns in the order
    /// of the table and rows in one that depends on nothing but the rows.
    fn count(
        &self,
        asked: &Asked,
        what: What,
        observer: &dyn Observer,
    ) -> Result<Columns, Failures>;

    /// The same of what is to be published, and what is needed to find the records again. The
    /// columns named by `plain` pass through: they stand between the others without rows.
    fn count_extract(
        &self,
        asked: &Asked,
        plain: &[String],
        observer: &dyn Observer,
    ) -> Result<(Columns, Found), Failures>;

    /// The records of an extract that was counted, some at a time, in an order that depends on
    /// nothing but the records and the seed. Which records of a line go to which class only the
    /// seed knows. The order is not that of the release: the caller shuffles.
    fn records(
        &self,
        found: &Found,
        shares: &[Share],
        seed: u64,
        observer: &dyn Observer,
        put: Put<'_>,
    ) -> Result<(), Failures>;

    /// Some columns of a file that this process wrote, some rows at a time.
    fn scan(
        &self,
        asked: &Asked,
        put: &mut dyn FnMut(&Columns) -> Result<(), Failures>,
    ) -> Result<(), Failures>;

    /// What was done so far.
    fn report(&self) -> EngineReport;
}

/// Takes records: the class and the distinct row of each, and the columns that pass through.
pub type Put<'a> = &'a mut dyn FnMut(&[u32], &[u32], &Columns) -> Result<(), Failures>;

/// Which table is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// One that is only looked at.
    Table,
    /// A file that this process wrote, which nobody else need see.
    Written,
}

/// A table of which some columns are counted.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Where it is.
    pub table: PathBuf,
    /// How it is written.
    pub options: ReadOptions,
    /// The columns.
    pub wanted: Vec<String>,
}

/// How much an extract is.
pub struct Estimate {
    /// How many records there are.
    pub records: u64,
    /// Bytes that distinct rows may take here.
    pub allowed: u64,
    /// What is wrong if the distinct rows are more than may be here.
    pub too_much: Option<Failure>,
}

/// The distinct rows of an extract as an engine found them, for finding their records again.
#[derive(Clone, Debug)]
pub struct Found {
    /// The table, with the columns that were counted, in its order.
    pub asked: Asked,
    /// The columns that pass through, in the order of the table.
    pub plain: Vec<String>,
    /// The cells of every line in types of the engine's own; nothing if no column passes through.
    pub cells: RecordBatch,
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

/// Advice to work without an engine.
pub fn without_engine() -> Remedy {
    Remedy::leave_out(Argument::Engine).then(" and ").and_leave_out(Argument::Cluster)
}

/// What a policy asks for that only the default engine can do; said before anything is read.
pub fn must_fit(engine: &dyn Engine, policy: &Policy, ledger: bool) -> Result<(), Failures> {
    let mut problems = Failures::default();
    let alone = |or: &str| without_engine().then(or);
    if !engine.formats().contains(&policy.format.as_str()) {
        let message = format!(
            "the engine reads back what was written, and not the format `{}`",
            policy.format
        );
        let known: Vec<String> = engine.formats().iter().map(|f| format!("`{f}`")).collect();
        problems.push(
            Failure::policy("not-with-engine", message)
                .key("release.format")
                .remedy(alone(&format!(", or choose {}", one_of(&known)))),
        );
    }
    for a in policy.attributes.iter().filter(|a| !a.perturb.is_empty()) {
        let message = format!(
            "`{}` is perturbed, record by record: the engine has only distinct rows",
            a.name
        );
        problems.push(
            Failure::policy("not-with-engine", message)
                .column(&a.name)
                .remedy(alone(", or leave out `perturb`")),
        );
    }
    let name = policy.algorithm.name;
    if policy.algorithm.algorithm.remembers() {
        let message =
            format!("`{name}` must know every person, and the engine brings only distinct rows");
        problems.push(
            Failure::policy("not-with-engine", message)
                .remedy(alone(", or choose another algorithm")),
        );
    }
    if ledger && policy.attributes.iter().any(|a| a.person) {
        let message = "the ledger must know every person, and the engine brings only distinct rows";
        let remedy = alone(", or say ").and_set("ledger", "false").then(
            " in the policy: then nothing is recorded, and what this release reveals together with others is not \
             judged",
        );
        problems.push(Failure::policy("not-with-engine", message).remedy(remedy));
    }
    problems.or(())
}

/// How the lines that were counted are spread over the classes of a form, which is of so many
/// distinct rows.
pub(crate) fn shares(brought: &Brought, rows: usize, form: &Form) -> Vec<Share> {
    // The lines of each row: few rows are written in more than one way.
    let mut lines: Vec<(u32, u32)> = brought.row_of.iter().copied().zip(0..).collect();
    lines.sort_unstable();
    let mut first = vec![0usize; rows + 1];
    lines.iter().for_each(|&(row, _)| first[row as usize + 1] += 1);
    (1..first.len()).for_each(|i| first[i] += first[i - 1]);
    let mut left: Vec<u64> =
        lines.iter().map(|&(_, line)| brought.weights[line as usize]).collect();
    let mut shares = Vec::with_capacity(lines.len());
    for class in 0..crate::table::write::class_count(form) {
        for m in crate::table::write::members(form, class) {
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

/// A sum over the texts of a column that does not depend on their order: the same texts equally
/// often have the same.
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
