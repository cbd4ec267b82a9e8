//! A policy as it was written, with the folder that its paths are relative to.

use crate::table::format;
use scumble::failure::{Failure, Failures};
use scumble::policy::{Policy, PolicyDocument, PolicySpec, Queries};
use std::path::{Path, PathBuf};

/// A policy as text: from a file, or from a front end that has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyFile {
    /// What messages and answers call it.
    pub name: String,
    /// The text, in TOML.
    pub text: String,
    /// The folder that paths in it are relative to.
    pub base: PathBuf,
}

impl PolicyFile {
    /// Reads a policy file.
    pub fn read(path: &Path) -> Result<PolicyFile, Failures> {
        let name = path.display().to_string();
        let bytes = std::fs::read(path).map_err(|e| {
            Failure::io(
                "cannot-read",
                format!("policy `{name}` cannot be read: {}", crate::describe(&e)),
            )
            .file(path)
        })?;
        let text = String::from_utf8(bytes).map_err(|_| {
            Failure::data("not-utf8", format!("policy `{}` is not UTF-8", file_name(path)))
                .file(path)
                .hint("save it as UTF-8 text")
        })?;
        Ok(PolicyFile { name, text, base: base_of(path) })
    }

    /// A policy that is in no file.
    pub fn of_text(text: impl Into<String>, base: impl Into<PathBuf>) -> PolicyFile {
        PolicyFile { name: "policy".into(), text: text.into(), base: base.into() }
    }

    /// A policy that a front end holds as data. `base` is the folder that its paths are relative
    /// to.
    pub fn of_spec(spec: &PolicySpec, base: impl Into<PathBuf>) -> PolicyFile {
        PolicyFile::of_text(spec.to_string(), base)
    }

    /// The policy as data.
    pub fn spec(&self) -> Result<PolicySpec, Failures> {
        PolicySpec::parse(&self.short_name(), &self.text)
    }

    /// The text with the policy as data, which can be changed and keeps the steward's comments.
    pub fn document(&self) -> Result<PolicyDocument, Failures> {
        PolicyDocument::parse(&self.short_name(), self.text.as_str())
    }

    /// The policy, if it is valid.
    pub fn policy(&self) -> Result<Policy, Failures> {
        Policy::parse_for(&self.short_name(), &self.text, Some(&format::written()))
    }

    /// What the policy says about questions of the data, if that is valid.
    pub fn queries(&self) -> Result<Queries, Failures> {
        Queries::parse(&self.short_name(), &self.text)
    }

    /// Its name without a folder, for messages that name a line.
    pub fn short_name(&self) -> String {
        file_name(Path::new(&self.name))
    }
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .map_or_else(|| path.display().to_string(), |n| n.to_string_lossy().into_owned())
}

/// The folder that paths in a policy are relative to.
pub fn base_of(policy: &Path) -> PathBuf {
    let parent = policy.parent().filter(|p| !p.as_os_str().is_empty());
    parent.unwrap_or(Path::new(".")).to_path_buf()
}
