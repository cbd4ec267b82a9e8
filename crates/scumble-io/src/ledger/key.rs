//! The publisher's key: it turns the names of persons into pseudonyms that only its holder can make again.

use super::entry::hex;
use hmac::{Hmac, KeyInit, Mac};
use scumble::problem::{Problem, Problems};
use sha2::Sha256;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// 32 secret bytes.
#[derive(Clone)]
pub struct Key(Hmac<Sha256>);

/// What a person is called in a ledger.
pub type Pseudonym = u128;

/// Stands in the file, so that it is not taken for something else.
const HEAD: &str = "scumble ledger key: keep it secret, and keep it; without it earlier releases cannot be matched";

impl Key {
    /// Reads the key, or makes one if there is none and there may be one.
    pub fn open(path: &Path, make: bool) -> Result<Key, Problems> {
        if make {
            remove_leftovers(path);
        }
        match fs::read_to_string(path) {
            Ok(text) => Key::parse(path, &text),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound && make => Key::make(path),
            Err(e) => Err(Problem::new(format!(
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

    fn parse(path: &Path, text: &str) -> Result<Key, Problems> {
        let mode = fs::metadata(path).map_or(0, |m| m.permissions().mode());
        if mode & 0o077 != 0 {
            return Err(Problem::new(format!("others may read the key `{}`", path.display()))
                .hint(format!("run `chmod 600 {}`, and think about who may have read it", path.display()))
                .into());
        }
        let line = text.lines().nth(1).filter(|_| text.starts_with("scumble ledger key")).unwrap_or("").trim();
        let byte = |i: usize| u8::from_str_radix(line.get(2 * i..2 * i + 2)?, 16).ok();
        let bytes: Option<Vec<u8>> = (0..32).map(byte).collect();
        match bytes.filter(|_| line.len() == 64) {
            Some(bytes) => Ok(Key::of(&bytes)),
            None => Err(Problem::new(format!("`{}` is not the key of a ledger", path.display()))
                .hint("restore it from where you keep it; a new key would not recognise anybody")
                .into()),
        }
    }

    fn make(path: &Path) -> Result<Key, Problems> {
        let failed = |e: &std::io::Error| {
            Problems::from(Problem::new(format!(
                "the key `{}` cannot be written: {}",
                path.display(),
                crate::describe(e)
            )))
        };
        let mut bytes = [0u8; 32];
        getrandom::fill(&mut bytes).map_err(|e| Problem::new(format!("the system gives no randomness: {e}")))?;
        if let Some(parent) = path.parent().filter(|p| !p.as_os_str().is_empty()) {
            fs::create_dir_all(parent).map_err(|e| failed(&e))?;
        }
        // Complete or not there: a key of half a line would shut the ledger.
        let partial = partial(path, &std::process::id().to_string());
        let written = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&partial).and_then(
            |mut file| {
                file.lock()?;
                file.write_all(format!("{HEAD}\n{}\n", hex(&bytes)).as_bytes())?;
                file.sync_all()?;
                // Fails if somebody else was faster, whose key counts.
                fs::hard_link(&partial, path)
            },
        );
        let _ = fs::remove_file(&partial);
        match written {
            Ok(()) => Ok(Key::of(&bytes)),
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => Key::open(path, false),
            Err(e) => Err(failed(&e)),
        }
    }

    /// A key that is kept nowhere, for what is only tried out.
    pub fn passing() -> Result<Key, Problems> {
        let mut bytes = [0u8; 32];
        getrandom::fill(&mut bytes).map_err(|e| Problem::new(format!("the system gives no randomness: {e}")))?;
        Ok(Key::of(&bytes))
    }

    fn of(bytes: &[u8]) -> Key {
        Key(Hmac::new_from_slice(bytes).unwrap_or_else(|_| unreachable!("a key of any length will do")))
    }

    fn mac(&self, parts: &[&[u8]]) -> [u8; 32] {
        let mut mac = self.0.clone();
        for part in parts {
            // Lengths first, so that no two lists of parts are the same bytes.
            mac.update(&(part.len() as u64).to_le_bytes());
            mac.update(part);
        }
        mac.finalize().into_bytes().into()
    }

    /// A number that follows from these parts, and that nobody can know without the key.
    pub fn number(&self, parts: &[&[u8]]) -> u64 {
        let mac = self.mac(&[&[b"number".as_slice()], parts].concat());
        u64::from_be_bytes(mac[..8].try_into().unwrap_or_else(|_| unreachable!("32 bytes are more than 8")))
    }

    /// What this key makes of a known text.
    pub fn check(&self) -> String {
        hex(&self.mac(&[b"scumble", b"key check"])[..8])
    }

    /// The pseudonym of a person.
    pub fn pseudonym(&self, person: &str) -> Pseudonym {
        let mac = self.mac(&[b"person", person.trim().as_bytes()]);
        u128::from_be_bytes(mac[..16].try_into().unwrap_or_else(|_| unreachable!("32 bytes are more than 16")))
    }

    /// Tells whether a person's value is the one of an earlier release, and nothing else.
    pub fn tag(&self, person: Pseudonym, attribute: &str, value: &str) -> u32 {
        let mac = self.mac(&[b"value", &person.to_be_bytes(), attribute.as_bytes(), value.as_bytes()]);
        u32::from_be_bytes([mac[0], mac[1], mac[2], mac[3]])
    }
}

/// What a key is called until it is complete.
fn partial(path: &Path, by: &str) -> PathBuf {
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    path.with_file_name(format!(".{name}.partial-{by}"))
}

/// Removes keys that runs were making when they were killed: nobody holds their lock.
fn remove_leftovers(path: &Path) {
    let pattern = partial(path, "");
    let (Some(folder), Some(prefix)) = (pattern.parent(), pattern.file_name()) else { return };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    for file in fs::read_dir(folder).into_iter().flatten().flatten() {
        let ours = file.file_name().to_string_lossy().starts_with(&*prefix.to_string_lossy());
        if ours && fs::File::open(file.path()).is_ok_and(|f| f.try_lock().is_ok()) {
            let _ = fs::remove_file(file.path());
        }
    }
}
