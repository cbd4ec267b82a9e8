//! A release in memory: its tables as Arrow batches, and its files as they would be in a folder.
//!
//! Nothing is taken on trust because it is in memory: the release is written into a private folder
//! of a file system in memory where there is one, read back from there and judged by the one
//! reader, recorded in the ledger, and only then handed over. The folder is gone afterwards.

use crate::publish::staging::Staging;
use crate::publish::system_seed;
use crate::release::writer::write_durably;
use crate::release::{folder, manifest};
use crate::table::columns::{self, Column, Columns};
use crate::table::memory::MemoryTable;
use crate::table::write;
use arrow_array::{ArrayRef, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use bytes::Bytes;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use scumble::failure::{Failure, Failures};
use std::collections::BTreeMap;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A release that is in no folder.
#[derive(Clone, Debug)]
pub struct MemoryRelease {
    /// Its tables by the stem of their files: `data`, and of an anatomized release `sensitive` and
    /// `counterfeits`. Columns of CSV files are texts.
    pub tables: BTreeMap<String, MemoryTable>,
    /// Every file with its bytes, manifest and certificate among them.
    pub files: BTreeMap<String, Bytes>,
}

impl MemoryRelease {
    /// Reads the release in a folder.
    pub fn read(release: &Path) -> Result<MemoryRelease, Failures> {
        let described = manifest::read(release)?;
        let mut files = BTreeMap::new();
        for item in folder::items(release)? {
            let path = folder::file(release, &item.name)?;
            let bytes = std::fs::read(&path).map_err(|e| columns::unreadable(&path, &e))?;
            files.insert(item.name, Bytes::from(bytes));
        }
        let mut tables = BTreeMap::new();
        for (name, _) in described.files() {
            let stem = name.split('.').next().unwrap_or(name).to_owned();
            let table = if name.ends_with(".parquet") {
                parquet(name, files.get(name).cloned().unwrap_or_default())?
            } else {
                let path = folder::file(release, name)?;
                let read = manifest::read_options(&described);
                texts(name, &columns::read(&path, &read, None, &|_, _| true)?)?
            };
            tables.insert(stem, table);
        }
        Ok(MemoryRelease { tables, files })
    }

    /// Writes the release into a folder that does not exist yet, whole or not at all, so that it
    /// can be attacked, verified or given away like any other.
    pub fn save(&self, to: &Path) -> Result<(), Failures> {
        let staging = Staging::begin(to, None, None)?;
        for (name, bytes) in &self.files {
            let path = staging.path().join(name);
            write_durably(&path, bytes).map_err(|e| write::failed(&path, &e))?;
        }
        staging.commit()?;
        Ok(())
    }
}

fn broken(name: &str) -> Failures {
    Failure::bug(
        "written-wrongly",
        format!("what was written to `{name}` cannot be read as a table"),
    )
    .into()
}

fn parquet(name: &str, bytes: Bytes) -> Result<MemoryTable, Failures> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(bytes)
        .and_then(ParquetRecordBatchReaderBuilder::build)
        .map_err(|_| broken(name))?;
    let schema = arrow_array::RecordBatchReader::schema(&reader);
    let batches = reader.collect::<Result<Vec<_>, _>>().map_err(|_| broken(name))?;
    MemoryTable::new(schema, batches).map_err(|_| broken(name))
}

fn texts(name: &str, read: &Columns) -> Result<MemoryTable, Failures> {
    let field = |c: &Column| Field::new(&c.name, DataType::Utf8, false);
    let schema = Schema::new(read.columns.iter().map(field).collect::<Vec<_>>());
    let array = |c: &Column| -> ArrayRef {
        let cells = c.codes.iter().map(|&code| c.values.get(code));
        Arc::new(StringArray::from_iter_values(cells))
    };
    let arrays = read.columns.iter().map(array).collect();
    let batch = RecordBatch::try_new(Arc::new(schema), arrays).map_err(|_| broken(name))?;
    Ok(batch.into())
}

/// A private folder in memory, or else among the temporary files; gone when it is dropped.
pub(crate) struct Scratch(pub PathBuf);

impl Scratch {
    pub fn new() -> Result<Scratch, Failures> {
        let name = format!("scumble-{:016x}", system_seed()?);
        let shared_memory = Path::new("/dev/shm");
        let make = |parent: &Path| {
            let path = parent.join(&name);
            DirBuilder::new().mode(0o700).create(&path).map(|()| Scratch(path))
        };
        make(shared_memory).or_else(|_| make(&std::env::temp_dir())).map_err(|e| {
            Failure::io(
                "cannot-write",
                format!("no temporary folder can be made: {}", crate::describe(&e)),
            )
            .into()
        })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
