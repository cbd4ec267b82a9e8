//! Tables in and out: files, folders and databases.

mod arrow;
pub mod columns;
mod csv;
pub mod dictionary;
pub mod guard;
pub mod load;
pub mod memory;
pub mod origin;
pub(crate) mod postgres;
pub(crate) mod sqlite;
pub mod write;
