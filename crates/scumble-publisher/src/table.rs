//! Tables in and out: files, folders and databases.

mod arrow;
pub mod columns;
pub mod dictionary;
pub mod format;
pub mod guard;
pub mod load;
pub mod memory;
pub mod origin;
pub(crate) mod postgres;
pub(crate) mod shuffle;
pub(crate) mod sqlite;
pub mod write;
