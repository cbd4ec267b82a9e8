//! A folder that appears complete or not at all.
//!
//! A release is written into a hidden folder beside its destination and renamed at the end. Whatever goes wrong before
//! that, the hidden folder is removed: when the value is dropped, or by whoever holds the [`Slot`] when the user
//! interrupts the program.

use scumble::problem::{Problem, Problems};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What is on disk that must not stay there.
#[derive(Default)]
enum Stage {
    /// Nothing is.
    #[default]
    Idle,
    /// The hidden folder, and the parents made for it, outermost first.
    Staged(PathBuf, Vec<PathBuf>),
    /// Nothing is: the folder has its name.
    Done,
}

impl Stage {
    /// Removes what is staged. Others may still be writing into the folder: files that appear while it is emptied are
    /// why one attempt may not be enough. Once the folder is gone nothing can be made in it.
    fn clear(&mut self) {
        if let Stage::Staged(path, created) = self {
            for _ in 0..100 {
                if fs::remove_dir_all(&*path).is_ok() || !path.exists() {
                    break;
                }
            }
            for parent in created.iter().rev() {
                // Only if nothing else is in it by now.
                let _ = fs::remove_dir(parent);
            }
            *self = Stage::Idle;
        }
    }
}

/// Where an interrupt handler finds the folder that must go. [`Slot::abandon`] removes it and then blocks every further
/// step of the staging, so that a rename cannot slip in between.
#[derive(Clone, Default)]
pub struct Slot(Arc<Mutex<Stage>>);

impl Slot {
    /// Removes what is staged and calls `then`, which should end the process, before anybody else can go on. It is told
    /// whether the folder was complete and in its place already.
    pub fn abandon(&self, then: impl FnOnce(bool)) {
        let mut stage = self.lock();
        stage.clear();
        then(matches!(*stage, Stage::Done));
    }

    fn lock(&self) -> MutexGuard<'_, Stage> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Refuses a target that exists, unless it may be replaced.
pub fn must_be_free(target: &Path, replace: bool) -> Result<(), Problems> {
    if !target.exists() || replace {
        return Ok(());
    }
    Err(Problem::new(format!("`{}` exists already", target.display()))
        .hint("publish to another folder with `--to`, or replace it with `--replace`")
        .into())
}

/// A folder in the making.
pub struct Staging {
    path: PathBuf,
    target: PathBuf,
    slot: Slot,
    /// The hidden folder, locked: a later run knows by this that it belongs to somebody.
    _lock: Option<fs::File>,
}

impl Staging {
    /// Makes the hidden folder beside `target`. A target that exists is refused unless it may be replaced.
    pub fn begin(target: &Path, replace: bool, slot: &Slot) -> Result<Staging, Problems> {
        must_be_free(target, replace)?;
        if target.exists() && !target.is_dir() {
            return Err(Problem::new(format!("`{}` is a file, not a release", target.display()))
                .hint("choose another folder with `to` in [release] or `--to`")
                .into());
        }
        let name = target.file_name().map(|n| n.to_string_lossy().into_owned());
        let name = name.ok_or_else(|| Problem::new(format!("`{}` is not a folder name", target.display())))?;
        let parent = target.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        remove_leftovers(parent, &name);
        let mut created: Vec<PathBuf> = parent
            .ancestors()
            .take_while(|p| !p.as_os_str().is_empty() && !p.exists())
            .map(Path::to_path_buf)
            .collect();
        created.reverse();
        let path = parent.join(format!(".{name}.partial-{}", std::process::id()));
        let mut stage = slot.lock();
        // Said before anything is made, so that whatever part of it is made will be removed.
        *stage = Stage::Staged(path.clone(), created);
        if let Err(e) = fs::create_dir_all(parent).and_then(|()| fs::create_dir(&path)) {
            stage.clear();
            return Err(Problem::new(format!("cannot write to `{}`: {}", parent.display(), crate::describe(&e)))
                .hint("choose another folder with `to` in [release] or `--to`")
                .into());
        }
        let lock = fs::File::open(&path).ok().filter(|f| f.try_lock().is_ok());
        drop(stage);
        Ok(Staging { path, target: target.to_path_buf(), slot: slot.clone(), _lock: lock })
    }

    /// The hidden folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Moves the folder to its place, over an old one if there is one.
    pub fn commit(self) -> Result<(), Problems> {
        // Held to the end: an interrupt waits for these few steps.
        let mut stage = self.slot.lock();
        let refuse = |e: std::io::Error| {
            Problem::new(format!("cannot move the release to `{}`: {}", self.target.display(), crate::describe(&e)))
        };
        let old = aside(&self.target);
        let replacing = self.target.exists();
        if replacing {
            // What a run that was killed may have left; the target itself is there.
            let _ = fs::remove_dir_all(&old);
            fs::rename(&self.target, &old).map_err(refuse)?;
        }
        if let Err(e) = fs::rename(&self.path, &self.target) {
            if replacing {
                let _ = fs::rename(&old, &self.target);
            }
            return Err(refuse(e).into());
        }
        *stage = Stage::Done;
        if replacing {
            let _ = fs::remove_dir_all(&old);
        }
        // The rename is durable once the folder that holds the name is.
        if let Some(parent) = self.target.parent() {
            let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
            let _ = fs::File::open(parent).and_then(|d| d.sync_all());
        }
        Ok(())
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        self.slot.lock().clear();
    }
}

/// Puts a release back that a run had moved aside to replace it, and was killed before it could.
pub fn restore(target: &Path) {
    let Some(name) = target.file_name() else { return };
    let parent = target.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    remove_leftovers(parent, &name.to_string_lossy());
    let old = aside(target);
    if old.exists() && !target.exists() {
        let _ = fs::rename(&old, target);
    } else if target.exists() {
        let _ = fs::remove_dir_all(&old);
    }
}

/// Where a release waits while another takes its place.
fn aside(target: &Path) -> PathBuf {
    let name = target.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    target.with_file_name(format!(".{name}.replaced"))
}

/// Removes hidden folders of the same name whose run was killed: nobody holds their lock.
fn remove_leftovers(parent: &Path, name: &str) {
    let prefix = format!(".{name}.partial-");
    let Ok(entries) = fs::read_dir(parent) else { return };
    for path in entries.flatten().map(|e| e.path()) {
        let ours = path.file_name().is_some_and(|n| n.to_string_lossy().starts_with(&prefix));
        if ours && fs::File::open(&path).is_ok_and(|f| f.try_lock().is_ok()) {
            let _ = fs::remove_dir_all(&path);
        }
    }
}
