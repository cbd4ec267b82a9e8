//! The records of a release: the source joined with a table that says which class a
//! distinct row goes to.

use crate::datafusion_engine::joined;
use crate::tables::quoted;
use datafusion::arrow::array::{
    ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array, UInt64Array,
};
use datafusion::arrow::compute::{concat_batches, take};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::parquet::arrow::ArrowWriter;
use scumble::failure::{Argument, Failure, Failures, Remedy};
use scumble_publisher::publish::engine::{Found, Share};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The table is written so many lines at a time.
const LINES: usize = 1 << 16;

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

/// The cells of distinct rows in the order of `places`, which are places in the batches: the first
/// so many columns of them.
pub fn cells(
    batches: &[RecordBatch],
    places: &[u32],
    keys: usize,
) -> Result<RecordBatch, Failures> {
    let failed = |e: &dyn std::fmt::Display| {
        Failures::from(Failure::bug("internal", format!("distinct rows cannot be ordered: {e}")))
    };
    let Some(first) = batches.first() else {
        return Ok(RecordBatch::new_empty(Arc::new(Schema::empty())));
    };
    let whole = concat_batches(&first.schema(), batches).map_err(|e| failed(&e))?;
    let whole = whole.project(&(0..keys).collect::<Vec<_>>()).map_err(|e| failed(&e))?;
    let places = UInt32Array::from_iter_values(places.iter().copied());
    let columns: Result<Vec<ArrayRef>, _> =
        whole.columns().iter().map(|column| take(column, &places, None)).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(places.len()));
    let columns = columns.map_err(|e| failed(&e))?;
    RecordBatch::try_new_with_options(whole.schema(), columns, &options).map_err(|e| failed(&e))
}

/// Whether the table of members has a line for every record: where the records of a distinct row go
/// to many classes, ranges of them would have to be compared with each other.
fn one_by_one(found: &Found, shares: &[Share]) -> bool {
    shares.len() > 4 * found.cells.num_rows()
}

/// Writes the table of members: the cells of a distinct row, which of its records, their class and
/// their row.
pub fn members(found: &Found, shares: &[Share], folder: &Path) -> Result<PathBuf, Failures> {
    let failed = |e: &dyn std::fmt::Display| {
        Failure::io("cannot-write", format!("the table of classes cannot be written: {e}"))
    };
    let keys = found
        .cells
        .schema()
        .fields()
        .iter()
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
    let mut writer = ArrowWriter::try_new(file, schema.clone(), None).map_err(|e| failed(&e))?;
    let mut used = vec![0u64; found.cells.num_rows()];
    let one_by_one = one_by_one(found, shares);
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
        let at = UInt32Array::from_iter_values(shares.iter().map(|s| s.line));
        let mut columns: Vec<ArrayRef> = Vec::new();
        for column in found.cells.columns() {
            columns.push(take(column, &at, None).map_err(|e| failed(&e))?);
        }
        // Records of one line may go to several classes: they are handed out one after the other.
        let above: Vec<u64> = shares
            .iter()
            .map(|s| {
                let used = &mut used[s.line as usize];
                *used += s.count;
                *used - s.count
            })
            .collect();
        let upto: Vec<u64> = above.iter().zip(shares).map(|(above, s)| above + s.count).collect();
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

/// The records by class, and within a class by a hash that only the seed knows: an order that does
/// not depend on who read which file first, so that a shuffle with a seed is the same again.
///
/// Where the records of a distinct row go to several classes, the same hash says which of them go
/// where. Records that are equal in everything that is read have the same hash, and it does not
/// matter which is which.
pub fn query(found: &Found, table: &str, members: &str, shares: &[Share], seed: u64) -> String {
    let (keys, plain) = (&found.asked.wanted, &found.plain);
    let mut lines: Vec<u32> = shares.iter().map(|s| s.line).collect();
    lines.sort_unstable();
    let divided = lines.len() < found.cells.num_rows()
        || lines.windows(2).any(|w| w[0] == w[1])
        || keys.is_empty();
    let all: Vec<String> = keys.iter().chain(plain).cloned().collect();
    let cell = |prefix: &'static str| {
        move |(i, name): (usize, &String)| format!("{} AS {prefix}{i}", quoted(name))
    };
    let cells: Vec<String> = keys
        .iter()
        .enumerate()
        .map(cell("k"))
        .chain(plain.iter().enumerate().map(cell("p")))
        .collect();
    let inner = format!(
        "SELECT {}, CAST(md5(concat('{seed}', '\u{1f}', {})) AS VARCHAR) AS h FROM {table}",
        cells.join(", "),
        joined(&all),
    );
    let names: Vec<String> = (0..keys.len()).map(|i| format!("k{i}")).collect();
    let by = if names.is_empty() {
        String::new()
    } else {
        format!("PARTITION BY {} ", names.join(", "))
    };
    let source = match divided {
        true => format!("SELECT *, ROW_NUMBER() OVER ({by}ORDER BY h) AS n FROM ({inner})"),
        false => inner,
    };
    let mut on: Vec<String> =
        names.iter().map(|k| format!("(s.{k} IS NOT DISTINCT FROM m.{k})")).collect();
    match (divided, one_by_one(found, shares)) {
        (true, true) => on.push("s.n = m.upto".into()),
        (true, false) => on.push("s.n > m.above AND s.n <= m.upto".into()),
        (false, _) => {}
    }
    let plain: String = (0..plain.len()).map(|i| format!(", s.p{i}")).collect();
    let on = on.join(" AND ");
    format!(
        "SELECT m.class, m.line{plain} FROM ({source}) s JOIN {members} m ON {on} ORDER BY m.class, s.h"
    )
}
