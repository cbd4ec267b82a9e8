//! The records in the order of a release: the source joined with a table that says which class a
//! distinct row goes to.

use crate::datafusion_engine::joined;
use crate::tables::quoted;
use datafusion::arrow::array::{ArrayRef, RecordBatch, UInt32Array, UInt64Array};
use datafusion::arrow::compute::{concat_batches, take};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::parquet::arrow::ArrowWriter;
use scumble::failure::{Argument, Failure, Failures, Remedy};
use scumble_publisher::publish::engine::Share;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The table is written so many lines at a time.
const LINES: usize = 1 << 16;

/// What was counted, as the source writes it.
pub struct Counted {
    /// What queries call the source.
    pub table: String,
    /// The columns that were counted.
    pub keys: Vec<String>,
    /// The columns that pass through.
    pub plain: Vec<String>,
    /// The distinct rows as they came, each with its number behind.
    pub batches: Vec<RecordBatch>,
    /// For every line where it came.
    pub places: Vec<u32>,
}

/// A folder of our own, which nobody else may look into.
pub fn folder(under: Option<&Path>) -> Result<PathBuf, Failures> {
    let under = under.map_or_else(std::env::temp_dir, Path::to_path_buf);
    let nanos = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |d| d.as_nanos());
    let folder = under.join(format!(".scumble-{}-{nanos}", std::process::id()));
    let failed = |e: std::io::Error| {
        Failure::io(
            "cannot-write",
            format!("cannot write to `{}`: {}", under.display(), scumble_publisher::describe(&e)),
        )
        .remedy(Remedy::words("name another folder with ").and_give(Argument::Spill))
    };
    fs::create_dir_all(&under).and_then(|()| fs::create_dir(&folder)).map_err(failed)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).map_err(failed)?;
    }
    Ok(folder)
}

impl Counted {
    /// Whether the table has a line for every record: where the records of a distinct row go to
    /// many classes, ranges of them would have to be compared with each other.
    fn one_by_one(&self, shares: &[Share]) -> bool {
        shares.len() > 4 * self.places.len()
    }

    /// Writes the table: the cells of a distinct row, which of its records, their class and their
    /// row.
    pub fn members(&self, shares: &[Share], folder: &Path) -> Result<PathBuf, Failures> {
        let failed = |e: &dyn std::fmt::Display| {
            Failure::io("cannot-write", format!("the table of classes cannot be written: {e}"))
        };
        let first = self.batches.first().ok_or_else(|| failed(&"nothing was counted"))?;
        let whole = concat_batches(&first.schema(), &self.batches).map_err(|e| failed(&e))?;
        let keys = whole
            .schema()
            .fields()
            .iter()
            .take(self.keys.len())
            .enumerate()
            .map(|(i, f)| Field::new(format!("k{i}"), f.data_type().clone(), true))
            .collect::<Vec<_>>();
        let number = |name: &str, kind| Field::new(name, kind, false);
        let others = [
            number("above", DataType::UInt64),
            number("upto", DataType::UInt64),
            number("class", DataType::UInt32),
            number("line", DataType::UInt32),
        ];
        let schema = Arc::new(Schema::new(keys.into_iter().chain(others).collect::<Vec<_>>()));
        let path = folder.join("members.parquet");
        let file = File::create(&path).map_err(|e| failed(&scumble_publisher::describe(&e)))?;
        let mut writer =
            ArrowWriter::try_new(file, schema.clone(), None).map_err(|e| failed(&e))?;
        let mut used = vec![0u64; self.places.len()];
        let one_by_one = self.one_by_one(shares);
        let single = |s: &Share| std::iter::repeat_n(Share { count: 1, ..*s }, s.count as usize);
        for shares in shares.chunks(LINES) {
            let singles: Vec<Share>;
            let shares = match one_by_one {
                true => {
                    singles = shares.iter().flat_map(single).collect();
                    &singles[..]
                }
                false => shares,
            };
            let at =
                UInt32Array::from_iter_values(shares.iter().map(|s| self.places[s.line as usize]));
            let mut columns: Vec<ArrayRef> = Vec::new();
            for column in &whole.columns()[..self.keys.len()] {
                columns.push(take(column, &at, None).map_err(|e| failed(&e))?);
            }
            // Records of one line may go to several classes: they are handed out one after the
            // other.
            let above: Vec<u64> = shares
                .iter()
                .map(|s| {
                    let used = &mut used[s.line as usize];
                    *used += s.count;
                    *used - s.count
                })
                .collect();
            let upto: Vec<u64> =
                above.iter().zip(shares).map(|(above, s)| above + s.count).collect();
            columns.push(Arc::new(UInt64Array::from(above)));
            columns.push(Arc::new(UInt64Array::from(upto)));
            columns.push(Arc::new(UInt32Array::from_iter_values(shares.iter().map(|s| s.class))));
            columns.push(Arc::new(UInt32Array::from_iter_values(shares.iter().map(|s| s.row))));
            let batch = RecordBatch::try_new(schema.clone(), columns).map_err(|e| failed(&e))?;
            writer.write(&batch).map_err(|e| failed(&e))?;
        }
        writer.close().map_err(|e| failed(&e))?;
        Ok(path)
    }

    /// The records by class, and within a class by a hash that only the seed knows.
    ///
    /// Where the records of a distinct row go to several classes, the same hash says which of them
    /// go where. Records that are equal in everything that is read have the same hash, and it does
    /// not matter which is which.
    pub fn query(&self, members: &str, shares: &[Share], seed: u64) -> String {
        let mut lines: Vec<u32> = shares.iter().map(|s| s.line).collect();
        lines.sort_unstable();
        let divided = lines.len() < self.places.len()
            || lines.windows(2).any(|w| w[0] == w[1])
            || self.keys.is_empty();
        let all: Vec<String> = self.keys.iter().chain(&self.plain).cloned().collect();
        let cell = |prefix: &'static str| {
            move |(i, name): (usize, &String)| format!("{} AS {prefix}{i}", quoted(name))
        };
        let cells: Vec<String> = self
            .keys
            .iter()
            .enumerate()
            .map(cell("k"))
            .chain(self.plain.iter().enumerate().map(cell("p")))
            .collect();
        let inner = format!(
            "SELECT {}, CAST(md5(concat('{seed}', '\u{1f}', {})) AS VARCHAR) AS h FROM {}",
            cells.join(", "),
            joined(&all),
            self.table
        );
        let keys: Vec<String> = (0..self.keys.len()).map(|i| format!("k{i}")).collect();
        let by = if keys.is_empty() {
            String::new()
        } else {
            format!("PARTITION BY {} ", keys.join(", "))
        };
        let source = match divided {
            true => format!("SELECT *, ROW_NUMBER() OVER ({by}ORDER BY h) AS n FROM ({inner})"),
            false => inner,
        };
        let mut on: Vec<String> =
            keys.iter().map(|k| format!("(s.{k} IS NOT DISTINCT FROM m.{k})")).collect();
        match (divided, self.one_by_one(shares)) {
            (true, true) => on.push("s.n = m.upto".into()),
            (true, false) => on.push("s.n > m.above AND s.n <= m.upto".into()),
            (false, _) => {}
        }
        let plain: String = (0..self.plain.len()).map(|i| format!(", s.p{i}")).collect();
        let on = on.join(" AND ");
        format!(
            "SELECT m.class, m.line{plain} FROM ({source}) s JOIN {members} m ON {on} ORDER BY m.class, s.h"
        )
    }
}
