//! Changes of a disk that survive a power cut.
//!
//! A file is durable once it is synced, its name once the folder that holds the name is synced too.
//! What is renamed, linked, created or removed without the second may be undone by a power cut.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};

/// The folder that holds the name of a file.
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A name beside a path: hidden, and derived from the name of the path.
pub(crate) fn hidden(path: &Path, suffix: &str) -> PathBuf {
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    path.with_file_name(format!(".{name}.{suffix}"))
}

/// Makes the names in a folder durable.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Makes the names in a folder and in all folders below it durable.
pub(crate) fn sync_folders(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync_folders(&entry.path())?;
        }
    }
    sync_folder(folder)
}

/// The folders above and including this one that are missing, outermost first.
pub(crate) fn missing(folder: &Path) -> Vec<PathBuf> {
    let is_missing = |p: &&Path| !p.as_os_str().is_empty() && !p.exists();
    let mut missing: Vec<PathBuf> =
        folder.ancestors().take_while(is_missing).map(Path::to_path_buf).collect();
    missing.reverse();
    missing
}

/// The path without `a/..` where there is no `a`: to make the folder of `a/../b` would make `a`. A
/// folder that exists is left in its place, because it may be a link.
pub(crate) fn without_detours(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        let back = part == Component::ParentDir
            && matches!(plain.components().next_back(), Some(Component::Normal(_)))
            && fs::symlink_metadata(&plain).is_err_and(|e| e.kind() == io::ErrorKind::NotFound);
        if back {
            plain.pop();
        } else {
            plain.push(part);
        }
    }
    plain
}

/// Makes a folder with those above it, durably.
pub(crate) fn create_folders(folder: &Path) -> io::Result<()> {
    let made = missing(folder);
    fs::create_dir_all(folder)?;
    made.iter().try_for_each(|folder| sync_folder(folder_of(folder)))
}

/// Writes a file, durably but for its name.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Gives a file this content, durably: after a power cut it has the new content or the old one. One
/// writer at a time.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let partial = hidden(path, "partial");
    let replaced = write(&partial, bytes).and_then(|()| fs::rename(&partial, path));
    if replaced.is_err() {
        let _ = fs::remove_file(&partial);
    }
    replaced.and_then(|()| sync_folder(folder_of(path)))
}

/// Whether an open file is the one of this path: not if it was removed, moved, or another one took
/// its place.
pub(crate) fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let (Ok(open), Ok(there)) = (file.metadata(), fs::symlink_metadata(path)) else { return false };
    (open.dev(), open.ino()) == (there.dev(), there.ino())
}
