//! scumble
pub mod problem;
