//! Files and folders that nobody but their owner may read, whatever the umask says: a ledger tells
//! who was in which group.

use crate::publish::durable::{folder_of, missing, sync_folder};
use std::fs::{DirBuilder, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// Makes a folder and those above it that are missing, durably.
pub fn make_folder(path: &Path) -> std::io::Result<()> {
    let made = missing(path);
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    made.iter().try_for_each(|folder| sync_folder(folder_of(folder)))
}

/// Opens a file for writing; one that is made is private.
pub fn writing() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    options
}

/// Writes a file, durably but for its name.
pub fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = writing().truncate(true).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}
