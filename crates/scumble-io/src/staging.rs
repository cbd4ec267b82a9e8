//! A folder that appears complete or not at all.
//!
//! A release is written into a hidden folder beside its destination and renamed at the end. Whatever goes wrong before
//! that, the hidden folder is removed: when the value is dropped, or by whoever holds the [`Slot`] when the user
//! interrupts the program.

use scumble::problem::{Problem, Problems};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Where an interrupt handler finds the folder that must go. [`Slot::abandon`] removes it and then blocks every further
/// step of the staging, so that a rename cannot slip in between.
#[derive(Clone, Default)]
pub struct Slot(Arc<Mutex<Option<PathBuf>>>);

impl Slot {
    /// Removes what is staged and calls `then`, which should end the process, before anybody else can go on.
    pub fn abandon(&self, then: impl FnOnce()) {
        let staged = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(path) = staged.as_ref() {
            let _ = fs::remove_dir_all(path);
        }
        then();
    }
}

/// A folder in the making.
pub struct Staging {
    path: PathBuf,
    target: PathBuf,
    slot: Slot,
    /// Parent folders that did not exist before, outermost first.
    created: Vec<PathBuf>,
    done: bool,
}

impl Staging {
    /// Makes the hidden folder beside `target`. A target that exists is refused unless it may be replaced.
    pub fn begin(target: &Path, replace: bool, slot: &Slot) -> Result<Staging, Problems> {
        if target.exists() && !replace {
            return Err(Problem::new(format!("`{}` exists already", target.display()))
                .hint("publish to another folder with `--to`, or replace it with `--replace`")
                .into());
        }
        let refuse = |e: std::io::Error, what: &Path| {
            Problem::new(format!("cannot write to `{}`: {}", what.display(), crate::describe(&e)))
                .hint("choose another folder with `to` in [release] or `--to`")
        };
        let name =
            target.file_name().ok_or_else(|| Problem::new(format!("`{}` is not a folder name", target.display())))?;
        let parent = target.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let created: Vec<PathBuf> = parent
            .ancestors()
            .take_while(|p| !p.as_os_str().is_empty() && !p.exists())
            .map(Path::to_path_buf)
            .collect::<Vec<_>>()
            .into_iter()
            .rev()
            .collect();
        fs::create_dir_all(parent).map_err(|e| refuse(e, parent))?;
        let path = parent.join(format!(".{}.partial-{}", name.to_string_lossy(), std::process::id()));
        let mut staged = slot.0.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = fs::remove_dir_all(&path);
        let made = fs::create_dir(&path);
        let staging =
            Staging { path: path.clone(), target: target.to_path_buf(), slot: slot.clone(), created, done: false };
        *staged = Some(path);
        drop(staged);
        // Dropping the value on failure removes parents that were made for nothing.
        made.map_err(|e| refuse(e, parent))?;
        Ok(staging)
    }

    /// The hidden folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Moves the folder to its place, over an old one if there is one.
    pub fn commit(mut self) -> Result<(), Problems> {
        let mut staged = self.slot.0.lock().unwrap_or_else(PoisonError::into_inner);
        let refuse = |e: std::io::Error| {
            Problem::new(format!("cannot move the release to `{}`: {}", self.target.display(), crate::describe(&e)))
        };
        let old = self.path.with_extension("replaced");
        let replacing = self.target.exists();
        if replacing {
            fs::rename(&self.target, &old).map_err(refuse)?;
        }
        if let Err(e) = fs::rename(&self.path, &self.target) {
            if replacing {
                let _ = fs::rename(&old, &self.target);
            }
            return Err(refuse(e).into());
        }
        *staged = None;
        drop(staged);
        self.done = true;
        if replacing {
            let _ = fs::remove_dir_all(&old);
        }
        // The rename is durable once the folder that holds the name is.
        if let Some(parent) = self.target.parent().filter(|p| !p.as_os_str().is_empty()) {
            let _ = fs::File::open(parent).and_then(|d| d.sync_all());
        }
        Ok(())
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if self.done {
            return;
        }
        *self.slot.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let _ = fs::remove_dir_all(&self.path);
        for parent in self.created.iter().rev() {
            // Only if nothing else is in it by now.
            let _ = fs::remove_dir(parent);
        }
    }
}
