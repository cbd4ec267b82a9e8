//! The publisher's key: it turns the names of persons into pseudonyms that only its holder can make
//! again.

use super::entry::hex;
use crate::publish::durable;
use hmac::{Hmac, KeyInit, Mac};
use scumble::failure::{Failure, Failures};
use sha2::Sha256;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// 32 secret bytes, as the keys that are made of them.
#[derive(Clone)]
pub struct Key {
    people: Hmac<Sha256>,
    chain: Hmac<Sha256>,
}

/// What a person is called in a ledger.
pub type Pseudonym = u128;

/// Stands in the file, so that it is not taken for something else.
const TITLE: &str = "scumble ledger key: keep it secret, and keep it; without it earlier releases cannot be matched";

/// A new key, which is on the disk under a hidden name. It gets its own name when the first entry
/// of its ledger is written: a key of that name without entries has lost its ledger.
pub struct Draft {
    /// The key.
    pub key: Key,
    partial: PathBuf,
    path: PathBuf,
    /// Tells others that somebody is at it.
    _lock: File,
}

impl Key {
    /// Reads the key of a ledger whose first entry says `check`. If the run that made the ledger
    /// was killed before the key got its name, it gets it now.
    pub fn open(path: &Path, check: &str) -> Result<Key, Failures> {
        let found = fs::read_to_string(path).or_else(|e| {
            if e.kind() == ErrorKind::NotFound && recover(path, check) {
                fs::read_to_string(path)
            } else {
                Err(e)
            }
        });
        match found {
            Ok(text) => Key::parse(path, &text),
            Err(e) => Err(Failure::io("cannot-read", format!(
                "the key `{}` cannot be read: {}",
                path.display(),
                crate::describe(&e)
            ))
            .hint(
                "the key is made with the ledger and is needed to recognise people: restore it from where you keep it",
            )
            .into()),
        }
    }

    fn parse(path: &Path, text: &str) -> Result<Key, Failures> {
        let mode = fs::metadata(path).map_or(0, |m| m.permissions().mode());
        if mode & 0o077 != 0 {
            return Err(Failure::data(
                "ledger-key-exposed",
                format!("others may read the key `{}`", path.display()),
            )
            .hint(format!(
                "run `chmod 600 {}`, and think about who may have read it",
                path.display()
            ))
            .into());
        }
        let line = text
            .lines()
            .nth(1)
            .filter(|_| text.starts_with("scumble ledger key"))
            .unwrap_or("")
            .trim();
        let byte = |i: usize| u8::from_str_radix(line.get(2 * i..2 * i + 2)?, 16).ok();
        let bytes: Option<Vec<u8>> = (0..32).map(byte).collect();
        match bytes.filter(|_| line.len() == 64) {
            Some(bytes) => Ok(Key::of(&bytes)),
            None => Err(Failure::data(
                "not-a-ledger-key",
                format!("`{}` is not the key of a ledger", path.display()),
            )
            .hint("restore it from where you keep it; a new key would not recognise anybody")
            .into()),
        }
    }

    /// Makes a new key.
    pub fn draft(path: &Path) -> Result<Draft, Failures> {
        let mut bytes = [0u8; 32];
        getrandom::fill(&mut bytes).map_err(|e| {
            Failure::io("no-randomness", format!("the system gives no randomness: {e}"))
        })?;
        let partial = partial(path, &std::process::id().to_string());
        let write = || {
            durable::create_folders(durable::folder_of(path))?;
            remove_leftovers(path);
            let mut file = OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(true)
                .mode(0o600)
                .open(&partial)?;
            file.lock()?;
            file.write_all(format!("{TITLE}\n{}\n", hex(&bytes)).as_bytes())?;
            file.sync_all()?;
            durable::sync_folder(durable::folder_of(path))?;
            Ok(file)
        };
        match write() {
            Ok(lock) => {
                Ok(Draft { key: Key::of(&bytes), partial, path: path.to_path_buf(), _lock: lock })
            }
            Err(e) => {
                let _ = fs::remove_file(&partial);
                Err(unwritable(path, &e))
            }
        }
    }

    /// A key that is kept nowhere, for what is only tried out.
    pub fn passing() -> Result<Key, Failures> {
        let mut bytes = [0u8; 32];
        getrandom::fill(&mut bytes).map_err(|e| {
            Failure::io("no-randomness", format!("the system gives no randomness: {e}"))
        })?;
        Ok(Key::of(&bytes))
    }

    fn of(bytes: &[u8]) -> Key {
        let keyed = |bytes: &[u8]| {
            Hmac::new_from_slice(bytes)
                .unwrap_or_else(|_| unreachable!("a key of any length will do"))
        };
        let people: Hmac<Sha256> = keyed(bytes);
        // A key of its own: whoever is given it to check the chain cannot try out people with it.
        let chain = keyed(&mac(&people, &[b"scumble", b"chain"]));
        Key { people, chain }
    }

    fn mac(&self, parts: &[&[u8]]) -> [u8; 32] {
        mac(&self.people, parts)
    }

    /// What chains an entry to the one before: without the key nobody can write or change an entry.
    pub fn link(&self, before: &str, number: u64, body: &str) -> String {
        hex(&mac(&self.chain, &[before.as_bytes(), number.to_string().as_bytes(), body.as_bytes()]))
    }

    /// A number that follows from these parts, and that nobody can know without the key.
    pub fn number(&self, parts: &[&[u8]]) -> u64 {
        let mac = self.mac(&[&[b"number".as_slice()], parts].concat());
        u64::from_be_bytes(
            mac[..8].try_into().unwrap_or_else(|_| unreachable!("32 bytes are more than 8")),
        )
    }

    /// What this key makes of a known text.
    pub fn check(&self) -> String {
        hex(&self.mac(&[b"scumble", b"key check"])[..8])
    }

    /// The pseudonym of a person.
    pub fn pseudonym(&self, person: &str) -> Pseudonym {
        let mac = self.mac(&[b"person", person.trim().as_bytes()]);
        u128::from_be_bytes(
            mac[..16].try_into().unwrap_or_else(|_| unreachable!("32 bytes are more than 16")),
        )
    }

    /// A value of a column that is not published: two are the same if these texts are.
    pub fn value(&self, attribute: &str, value: &str) -> String {
        hex(&self.mac(&[b"leaf", attribute.as_bytes(), value.as_bytes()])[..8])
    }

    /// Tells whether a person's value is the one of an earlier release, and nothing else.
    pub fn tag(&self, person: Pseudonym, attribute: &str, value: &str) -> u32 {
        let mac =
            self.mac(&[b"value", &person.to_be_bytes(), attribute.as_bytes(), value.as_bytes()]);
        u32::from_be_bytes([mac[0], mac[1], mac[2], mac[3]])
    }
}

fn mac(key: &Hmac<Sha256>, parts: &[&[u8]]) -> [u8; 32] {
    let mut mac = key.clone();
    for part in parts {
        // Lengths first, so that no two lists of parts are the same bytes.
        mac.update(&(part.len() as u64).to_le_bytes());
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}

impl Draft {
    /// Gives the key its name, durably. If that fails, the next run does it.
    pub fn settle(self) -> Result<(), Failures> {
        name(&self.partial, &self.path, &self.key.check()).map_err(|e| unwritable(&self.path, &e))
    }
}

fn unwritable(path: &Path, e: &std::io::Error) -> Failures {
    Failure::io(
        "cannot-write",
        format!("the key `{}` cannot be written: {}", path.display(), crate::describe(e)),
    )
    .into()
}

/// Gives a complete key its name, unless it has it already. Never over another key.
fn name(partial: &Path, path: &Path, check: &str) -> std::io::Result<()> {
    let is_named = || {
        fs::read_to_string(path)
            .is_ok_and(|t| Key::parse(path, &t).is_ok_and(|k| k.check() == check))
    };
    fs::hard_link(partial, path).or_else(|e| if is_named() { Ok(()) } else { Err(e) })?;
    durable::sync_folder(durable::folder_of(path))?;
    let _ = fs::remove_file(partial);
    Ok(())
}

/// Names the key that a killed run made for the ledger of this check; whether there was one.
fn recover(path: &Path, check: &str) -> bool {
    drafts(path).any(|draft| {
        let key = fs::read_to_string(&draft).ok().and_then(|text| Key::parse(&draft, &text).ok());
        key.is_some_and(|key| key.check() == check) && name(&draft, path, check).is_ok()
    })
}

/// What a key is called until it has its name.
fn partial(path: &Path, by: &str) -> PathBuf {
    durable::hidden(path, &format!("partial-{by}"))
}

/// Keys that are being made for a name, or were when a run was killed.
fn drafts(path: &Path) -> impl Iterator<Item = PathBuf> {
    let prefix =
        partial(path, "").file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let files = fs::read_dir(durable::folder_of(path)).into_iter().flatten().flatten();
    files.filter(move |f| f.file_name().to_string_lossy().starts_with(&prefix)).map(|f| f.path())
}

/// Removes keys that runs were making when they were killed: nobody holds their lock.
pub fn remove_leftovers(path: &Path) {
    for draft in drafts(path) {
        if File::open(&draft).is_ok_and(|f| f.try_lock().is_ok()) {
            let _ = fs::remove_file(draft);
        }
    }
}
