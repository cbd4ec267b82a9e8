//! `publish`, `check` and `attack` for tables that do not fit into one process: Apache DataFusion
//! counts them, in this process with a memory limit and a disk to spill to, or on a Ballista
//! cluster.
//!
//! There is one code path. Everything asks a `SessionContext`, and only how that is made differs.
//! What comes back is the frequency set, distinct rows with their numbers, which is what the core
//! works on anyway; so every model and every algorithm is the one of the default engine. Nothing is
//! distributed by hand.
//!
//! - [`DataFusion`] is the engine that [`scumble_publisher::publish::engine::Engine`] asks for.
//! - `code.rs` is a function that executors must know, for tables whose distinct rows do not fit.
//! - `tables.rs` finds files, folders, globs and objects, and says how they are written.
//! - `stores.rs` opens object stores with what the environment holds.
//! - `refusals.rs` says what went wrong without what DataFusion quotes.
//! - `roles.rs` runs a scheduler or an executor; `attentive.rs` lets executors stop when a job is
//!   cancelled.
#![cfg(feature = "engine")]

mod attentive;
mod code;
mod datafusion_engine;
mod records;
mod refusals;
pub mod roles;
mod stores;
mod tables;

pub use datafusion_engine::{DataFusion, Settings, Stop};
