//! A folder that appears complete or not at all.
//!
//! A release is written into a hidden folder beside its destination and renamed at the end.
//! Whatever goes wrong before that, or when the run is cancelled, the hidden folder is emptied and
//! removed when the value is dropped. The hidden folder of a release that was announced in a ledger stays, empty, until the ledger knows that the
//! release was not written: it is the evidence of that, and its lock is the evidence that somebody
//! is still at it ([`found`]).
//!
//! Nothing is removed that is not ours: a new folder is renamed only to where nothing is, and an
//! old one is replaced only if a [`Listing`] knows every file in it. The old one stays beside the
//! new one until the caller says that the new one is recorded, and then only the listed files are
//! removed.

use crate::publish::durable::{
    self, create_folders, folder_of, hidden, is_at, sync_folder, sync_folders,
};
use crate::release::manifest;
use scumble::failure::{Argument, Failure, Failures, Remedy};
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Lists the files of a folder that may be replaced, or says why it may not be.
pub type Listing = fn(&Path) -> Result<Vec<PathBuf>, Failures>;

/// What is on disk that must not stay there.
#[derive(Default)]
enum Stage {
    /// Nothing is.
    #[default]
    Idle,
    /// The hidden folder.
    Staged {
        path: PathBuf,
        /// The parents made for it, outermost first.
        created: Vec<PathBuf>,
        /// Whether a ledger has announced what is written there.
        announced: bool,
    },
    /// Nothing is: the folder has its name.
    Done,
}

impl Stage {
    /// Removes what is staged, but for the empty folder of an announced release. Others may still
    /// be writing into the folder: files that appear while it is emptied are why one attempt may
    /// not be enough. Once the folder is gone nothing can be made in it.
    fn clear(&mut self) {
        let Stage::Staged { path, created, announced } = self else { return };
        for _ in 0..100 {
            let cleared = if *announced { empty(path) } else { fs::remove_dir_all(&*path) };
            if cleared.is_ok() || !path.exists() {
                break;
            }
        }
        if *announced {
            return;
        }
        for parent in created.iter().rev() {
            // Only if nothing else is in it by now.
            let _ = fs::remove_dir(parent);
        }
        *self = Stage::Idle;
    }
}

/// Removes everything in a folder.
fn empty(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }?;
    }
    Ok(())
}

/// What helps where a release cannot be.
fn elsewhere() -> Remedy {
    Remedy::words("choose another folder with `to` in [release] or ").and_give(Argument::To)
}

/// Refuses a target that exists, unless it may be replaced. What a killed run had moved aside is
/// put back first.
pub fn must_be_free(target: &Path, replace: Option<Listing>) -> Result<(), Failures> {
    put_back(target);
    let Ok(there) = fs::symlink_metadata(target) else { return Ok(()) };
    let Some(listing) = replace else {
        return Err(Failure::usage(
            "exists-already",
            format!("`{}` exists already", target.display()),
        )
        .file(target)
        .remedy(
            Remedy::words("publish to another folder with ")
                .and_give(Argument::To)
                .then(", or replace it with ")
                .and_give(Argument::Replace),
        )
        .into());
    };
    if !there.is_dir() {
        let what = if there.is_symlink() { "a link" } else { "a file" };
        return Err(Failure::usage(
            "exists-already",
            format!("`{}` is {what}, not a release", target.display()),
        )
        .file(target)
        .remedy(elsewhere())
        .into());
    }
    if is_empty(target) { Ok(()) } else { listing(target).map(drop) }
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}

/// A folder in the making.
pub struct Staging {
    path: PathBuf,
    target: PathBuf,
    replace: Option<Listing>,
    stage: Mutex<Stage>,
    /// The hidden folder, locked: others know by this that it belongs to somebody. The lock stays
    /// with the folder when it is renamed.
    _lock: File,
}

impl Staging {
    /// Makes the hidden folder beside `target`, durably. A target that exists is refused unless it
    /// may be replaced. The folder is named by the release's id, or by something random.
    pub fn begin(
        target: &Path,
        replace: Option<Listing>,
        id: Option<&str>,
    ) -> Result<Staging, Failures> {
        must_be_free(target, replace)?;
        if target.file_name().is_none() {
            return Err(Failure::usage(
                "not-a-folder",
                format!("`{}` is not a folder name", target.display()),
            )
            .into());
        }
        let parent = folder_of(target);
        remove_leftovers(target);
        let random = || getrandom::u64().map(|n| format!("{n:016x}"));
        let id = id.map_or_else(random, |id| Ok(id.to_owned()));
        let id = id.map_err(|e| {
            Failure::io("no-randomness", format!("the system gives no randomness: {e}"))
        })?;
        let path = partial(target, &id);
        // Said before anything is made, so that whatever part of it is made will be removed.
        let mut stage = Stage::Staged {
            path: path.clone(),
            created: durable::missing(parent),
            announced: false,
        };
        let made = create_folders(parent).and_then(|()| {
            fs::create_dir(&path)?;
            let lock = File::open(&path)?;
            lock.lock()?;
            sync_folder(parent)?;
            // Somebody who looked before it was locked may have taken it for a leftover.
            if is_at(&lock, &path) { Ok(lock) } else { Err(ErrorKind::NotFound.into()) }
        });
        match made {
            Ok(lock) => Ok(Staging {
                path,
                target: target.to_path_buf(),
                replace,
                stage: Mutex::new(stage),
                _lock: lock,
            }),
            Err(e) => {
                stage.clear();
                Err(Failure::io(
                    "cannot-write",
                    format!("cannot write to `{}`: {}", parent.display(), crate::describe(&e)),
                )
                .file(parent)
                .remedy(elsewhere())
                .into())
            }
        }
    }

    fn stage(&self) -> MutexGuard<'_, Stage> {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The hidden folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Says whether a ledger has announced what is written here: then the folder stays, empty, when
    /// writing fails.
    pub fn announced(&self, is: bool) {
        if let Stage::Staged { announced, .. } = &mut *self.stage() {
            *announced = is;
        }
    }

    /// Moves the folder to its place, durably. What was there before stays beside it until it is
    /// discarded.
    pub fn commit(&self) -> Result<Committed, Failures> {
        let refuse = |e: io::Error| {
            let problem = Failure::io(
                "cannot-write",
                format!(
                    "cannot move the release to `{}`: {}",
                    self.target.display(),
                    crate::describe(&e)
                ),
            );
            match e.kind() {
                ErrorKind::DirectoryNotEmpty
                | ErrorKind::AlreadyExists
                | ErrorKind::NotADirectory => problem.hint(
                    "something appeared there while the release was made, and it is not touched",
                ),
                _ => problem,
            }
        };
        sync_folders(&self.path).map_err(refuse)?;
        let old = match self.replace {
            Some(listing) if self.target.exists() && !is_empty(&self.target) => {
                Some((listing(&self.target)?, listing))
            }
            _ => None,
        };
        let replaced = match old {
            // Fails where anything but an empty folder is.
            None => fs::rename(&self.path, &self.target).map(|()| None),
            Some((files, listing)) => self.replace(files, listing).map(Some),
        };
        let replaced = replaced.map_err(refuse)?;
        *self.stage() = Stage::Done;
        // The rename is durable once the folder that holds the name is.
        let durable = sync_folder(folder_of(&self.target)).is_ok();
        Ok(Committed { replaced, durable })
    }

    /// Puts the folder in the place of another one, which is moved aside.
    fn replace(&self, files: Vec<PathBuf>, listing: Listing) -> io::Result<Replaced> {
        discard(&self.target, listing);
        let aside = aside(&self.target);
        let lock = File::open(&self.target)?;
        lock.lock()?;
        let moved = if exchange(&self.path, &self.target)? {
            // If this run is killed now, the hidden folder is the old one, and is removed as
            // leftovers are.
            fs::rename(&self.path, &aside).inspect_err(|_| {
                let _ = exchange(&self.path, &self.target);
            })
        } else {
            fs::rename(&self.target, &aside)?;
            fs::rename(&self.path, &self.target).inspect_err(|_| {
                let _ = fs::rename(&aside, &self.target);
            })
        };
        moved.map(|()| Replaced { target: self.target.clone(), files, _lock: lock })
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        self.stage().clear();
    }
}

/// Swaps two folders in one step, so that there is no moment without either; `false` if the file
/// system cannot.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn exchange(a: &Path, b: &Path) -> io::Result<bool> {
    use nix::errno::Errno;
    use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};
    match renameat2(AT_FDCWD, a, AT_FDCWD, b, RenameFlags::RENAME_EXCHANGE) {
        Ok(()) => Ok(true),
        Err(Errno::EINVAL | Errno::ENOSYS | Errno::EOPNOTSUPP) => Ok(false),
        Err(e) => Err(e.into()),
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn exchange(_: &Path, _: &Path) -> io::Result<bool> {
    Ok(false)
}

/// A folder that has its place.
pub struct Committed {
    replaced: Option<Replaced>,
    /// Whether the disk says that it will be there after a power cut.
    pub durable: bool,
}

impl Committed {
    /// Removes the folder that was replaced, once the new one is recorded.
    pub fn discard_replaced(self) {
        // Where the new name may not be durable, the old folder stays until the next run.
        if let Some(Replaced { target, files, .. }) = self.replaced.filter(|_| self.durable) {
            remove_listed(&target, &files);
        }
    }
}

/// A folder that was moved aside for another one.
struct Replaced {
    /// Where it was.
    target: PathBuf,
    files: Vec<PathBuf>,
    /// Tells others that it is not forgotten.
    _lock: File,
}

/// Removes these files of the folder that was moved aside, and the folder with those in it if
/// nothing else is there. It gets another name first, so that what is left of it is never put back.
fn remove_listed(target: &Path, files: &[PathBuf]) {
    let folder = discarded(target);
    let _ = fs::rename(aside(target), &folder);
    // The list of all files is the last, and stays as long as another is there: by it what is left
    // is known to be ours.
    for file in files {
        if fs::remove_file(folder.join(file)).is_err_and(|e| e.kind() != ErrorKind::NotFound) {
            return;
        }
    }
    remove_if_empty(&folder);
}

/// Removes the empty folders of a folder, and the folder itself if nothing else is in it; whether
/// it is gone.
fn remove_if_empty(folder: &Path) -> bool {
    for sub in fs::read_dir(folder).into_iter().flatten().flatten() {
        // Fails for a file, and for a folder in which something is.
        let _ = fs::remove_dir(sub.path());
    }
    fs::remove_dir(folder).is_ok()
}

/// Removes what was replaced at a target and could not be removed then, if it is ours and nobody
/// holds it.
pub fn discard(target: &Path, listing: Listing) {
    for folder in [discarded(target), aside(target)] {
        if !remove_if_empty(&folder)
            && is_unlocked(&folder)
            && let Ok(files) = listing(&folder)
        {
            remove_listed(target, &files);
        }
    }
}

/// Puts a folder back that a run had moved aside to replace it, if it was killed before the new one
/// was there.
fn put_back(target: &Path) {
    let old = aside(target);
    // Fails where anything but an empty folder is.
    if is_unlocked(&old)
        && fs::symlink_metadata(target).is_err()
        && fs::rename(&old, target).is_ok()
    {
        let _ = sync_folder(folder_of(target));
    }
}

/// What there is of a release that was announced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// It has its place.
    Complete,
    /// It is being written.
    Unfinished,
    /// It was being written by a run that ended.
    Abandoned,
    /// Nothing is to be seen of it.
    Nothing,
}

/// Looks for a release that was announced. What it finds stays true as long as the caller holds the
/// ledger: nobody else resolves, and a run that ended writes no more.
pub fn found(target: &Path, id: &str) -> Found {
    put_back(target);
    let path = partial(target, id);
    if manifest::read(target).is_ok_and(|m| m.id.as_deref() == Some(id)) {
        // The run may have ended before the disk had it.
        let _ = sync_folder(folder_of(target));
        return Found::Complete;
    }
    match File::open(&path) {
        Ok(folder) if folder.try_lock().is_ok() && is_at(&folder, &path) => Found::Abandoned,
        Ok(_) => Found::Unfinished,
        Err(_) => Found::Nothing,
    }
}

/// Removes the hidden folder of a release that was resolved.
pub fn sweep(target: &Path, id: &str) {
    let path = partial(target, id);
    if is_unlocked(&path) {
        let _ = fs::remove_dir_all(&path);
    }
}

/// Removes a hidden folder in which nothing was written, unless somebody holds it; whether it is
/// gone.
pub fn remove_unused(folder: &Path) -> bool {
    if is_unlocked(folder) {
        // Fails if anything is in it.
        let _ = fs::remove_dir(folder);
    }
    !folder.exists()
}

fn is_unlocked(folder: &Path) -> bool {
    File::open(folder).is_ok_and(|f| f.try_lock().is_ok())
}

/// Where a release waits while another takes its place.
fn aside(target: &Path) -> PathBuf {
    hidden(target, "replaced")
}

/// Where it is removed.
fn discarded(target: &Path) -> PathBuf {
    hidden(target, "discarded")
}

/// What the folder of a release is called in the making.
pub fn partial(target: &Path, id: &str) -> PathBuf {
    hidden(target, &format!("partial-{id}"))
}

/// Removes hidden folders of the same name whose run was killed: nobody holds their lock.
fn remove_leftovers(target: &Path) {
    let prefix = partial(target, "")
        .file_name()
        .map(|n| n.to_string_lossy().into_owned())
        .unwrap_or_default();
    for path in fs::read_dir(folder_of(target)).into_iter().flatten().flatten().map(|e| e.path()) {
        let ours = path.file_name().is_some_and(|n| n.to_string_lossy().starts_with(&prefix));
        if ours && is_unlocked(&path) {
            let _ = fs::remove_dir_all(&path);
        }
    }
}
