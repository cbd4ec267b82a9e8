//! Which folders are ours: only those may be replaced, because what is replaced is removed.
//!
//! A folder is ours if it says so and every file in it is one that was written with it, unchanged.
//! A folder that holds anything else was named by mistake, or somebody keeps something there.

use super::{certificate, folder, manifest};
use crate::table::columns;
use scumble::failure::{Argument, Failure, Failures, Remedy};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The files of a release by `publish`, the certificate last; or why the folder is not one. The
/// certificate has the hashes of all others, the manifest's among them.
pub fn release(folder: &Path) -> Result<Vec<PathBuf>, Failures> {
    #[derive(Deserialize)]
    struct Certified {
        made_by: String,
        files: BTreeMap<String, String>,
    }
    let certified: Certified = read(folder, certificate::FILE)?;
    if !certified.made_by.starts_with("scumble ") || !certified.files.contains_key(manifest::FILE) {
        return Err(not_ours(folder, "its certificate is not one of ours"));
    }
    listed(folder, &certified.files, certificate::FILE)
}

/// The files of a synthetic table by `synthesize`, the manifest last; or why the folder is not one.
pub fn synthetic(folder: &Path) -> Result<Vec<PathBuf>, Failures> {
    #[derive(Deserialize)]
    struct Synthetic {
        form: String,
        sha256: BTreeMap<String, String>,
    }
    let manifest: Synthetic = read(folder, manifest::FILE)?;
    if manifest.form != "synthetic" {
        return Err(not_ours(folder, "it is no synthetic table"));
    }
    listed(folder, &manifest.sha256, manifest::FILE)
}

fn read<T: for<'a> Deserialize<'a>>(folder: &Path, file: &str) -> Result<T, Failures> {
    let text = fs::read(folder.join(file))
        .map_err(|_| not_ours(folder, &format!("it has no `{file}`")))?;
    serde_json::from_slice(&text)
        .map_err(|_| not_ours(folder, &format!("its `{file}` is not one of ours")))
}

/// The files of a folder, all of which must have the hash that is listed for them; but for the one
/// with the list, which is the last.
fn listed(
    folder: &Path,
    hashes: &BTreeMap<String, String>,
    list: &str,
) -> Result<Vec<PathBuf>, Failures> {
    let mut files = Vec::new();
    for item in folder::items(folder)? {
        let name = item.name;
        if name == list {
            continue;
        }
        let Some(hash) = hashes.get(&name).filter(|_| item.is_file) else {
            return Err(not_ours(folder, &format!("`{name}` is not a part of one")));
        };
        if columns::sha256(&folder.join(&name), &|| true).ok().as_ref() != Some(hash) {
            return Err(not_ours(folder, &format!("`{name}` was changed since it was written")));
        }
        files.push(PathBuf::from(name));
    }
    files.push(PathBuf::from(list));
    Ok(files)
}

fn not_ours(folder: &Path, why: &str) -> Failures {
    Failure::usage(
        "exists-already",
        format!("`{}` is not a release that may be replaced: {why}", folder.display()),
    )
    .file(folder)
    .remedy(
        Remedy::words("publish to another folder with ")
            .and_give(Argument::To)
            .then(", or remove it yourself"),
    )
    .into()
}
