//! The folder of a release, as somebody finds it who does not trust whoever made it.
//!
//! Manifest and certificate name files. Whatever they say, only regular files inside the folder are
//! opened: a name must be relative, without `..`, and lead through no symbolic link, device or
//! pipe.

use scumble::failure::{Failure, Failures};
use std::path::{Component, Path, PathBuf};

/// Folders within a release are not nested deeper than this.
const DEPTH: usize = 8;

/// Something in the folder of a release.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Item {
    /// Its name relative to the folder, with `/` between parts.
    pub name: String,
    /// Whether it is a regular file; folders are not listed, only what is in them.
    pub is_file: bool,
}

/// Whether a name may be that of a file of a release.
pub fn is_plain(name: &str) -> bool {
    let plain = |c: Component<'_>| matches!(c, Component::Normal(_));
    !name.is_empty() && !name.contains(['\0', '\\']) && Path::new(name).components().all(plain)
}

/// The path of a file of the release, if it is one: a regular file inside the folder.
pub fn file(folder: &Path, name: &str) -> Result<PathBuf, Failures> {
    let refuse = |why: &str| -> Failures {
        Failure::data("broken-release", format!("`{name}` is not opened: {why}"))
            .hint("a release has regular files inside its folder only; take it from where it was published")
            .into()
    };
    if !is_plain(name) {
        return Err(refuse("the name leads outside the folder of the release"));
    }
    let mut path = folder.to_path_buf();
    let parts: Vec<Component<'_>> = Path::new(name).components().collect();
    for (i, part) in parts.iter().enumerate() {
        path.push(part);
        // Not `metadata`, which would follow a link out of the folder.
        let found = std::fs::symlink_metadata(&path).map_err(|e| {
            Failure::io(
                "cannot-read",
                format!("`{}` cannot be read: {}", path.display(), crate::describe(&e)),
            )
            .hint("a file of the release is missing; take it from where it was published")
        })?;
        if found.is_symlink() {
            return Err(refuse("it is a symbolic link"));
        }
        if i + 1 == parts.len() && !found.is_file() {
            return Err(refuse("it is not a regular file"));
        }
    }
    Ok(path)
}

/// Everything in the folder, by name.
pub fn items(folder: &Path) -> Result<Vec<Item>, Failures> {
    let mut items = Vec::new();
    visit(folder, "", 0, &mut items).map_err(|e| {
        Failure::io(
            "cannot-read",
            format!("`{}` cannot be read: {}", folder.display(), crate::describe(&e)),
        )
    })?;
    items.sort_unstable();
    Ok(items)
}

fn visit(folder: &Path, prefix: &str, depth: usize, items: &mut Vec<Item>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        // The kind of the entry itself: a link to a folder is a link.
        let kind = entry.file_type()?;
        if kind.is_dir() && depth < DEPTH {
            visit(&entry.path(), &format!("{name}/"), depth + 1, items)?;
        } else {
            items.push(Item { name, is_file: kind.is_file() });
        }
    }
    Ok(())
}
