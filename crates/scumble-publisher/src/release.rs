//! A release on disk: its folder, manifest and certificate, the one reader and the one writer.

pub(crate) mod account;
pub(crate) mod anatomized;
pub mod certificate;
pub mod folder;
pub mod manifest;
pub mod memory;
pub mod own;
pub(crate) mod reader;
pub(crate) mod recipient;
pub mod verify;
pub(crate) mod writer;
