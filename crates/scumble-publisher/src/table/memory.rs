//! Tables that a front end hands over in memory, as Arrow record batches.
//!
//! Policies and requests name them `memory:NAME`, so that everything else treats them like any
//! other source.

use crate::table::arrow;
use crate::table::columns::{Columns, Progress, ReadOptions};
use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};
use scumble::catalogue::did_you_mean;
use scumble::failure::{Failure, Failures};
use std::collections::BTreeMap;

/// A table in memory. Cloning it copies no data.
#[derive(Clone, Debug)]
pub struct MemoryTable {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl MemoryTable {
    /// The rows of these batches, which must have this schema.
    pub fn new(schema: SchemaRef, batches: Vec<RecordBatch>) -> Result<MemoryTable, ArrowError> {
        if batches.iter().any(|batch| batch.schema().fields() != schema.fields()) {
            let message = "the batches do not all have the columns of the schema";
            return Err(ArrowError::SchemaError(message.into()));
        }
        Ok(MemoryTable { schema, batches })
    }

    /// The columns.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The rows.
    pub fn batches(&self) -> &[RecordBatch] {
        &self.batches
    }
}

impl From<RecordBatch> for MemoryTable {
    fn from(batch: RecordBatch) -> MemoryTable {
        MemoryTable { schema: batch.schema(), batches: vec![batch] }
    }
}

/// The tables in memory that a publisher knows, by name.
#[derive(Clone, Debug, Default)]
pub struct Tables(BTreeMap<String, MemoryTable>);

impl Tables {
    /// Adds a table, in place of one that had the name.
    pub fn insert(&mut self, name: &str, table: MemoryTable) {
        self.0.insert(name.to_owned(), table);
    }

    fn find(&self, name: &str) -> Result<&MemoryTable, Failures> {
        self.0.get(name).ok_or_else(|| {
            Failure::usage("no-such-table", format!("there is no table `{name}` in memory"))
                .hint(did_you_mean(name, self.0.keys().map(String::as_str)))
                .into()
        })
    }

    /// The names of the columns of a table.
    pub(crate) fn header(&self, name: &str) -> Result<Vec<String>, Failures> {
        arrow::memory_header(name, &self.find(name)?.schema)
    }

    /// Reads the wanted columns of a table.
    pub(crate) fn read(
        &self,
        name: &str,
        options: &ReadOptions,
        wanted: Option<&[String]>,
        progress: Progress<'_>,
    ) -> Result<Columns, Failures> {
        let table = self.find(name)?;
        arrow::read_memory(name, (&table.schema, &table.batches), options, wanted, progress)
    }
}
