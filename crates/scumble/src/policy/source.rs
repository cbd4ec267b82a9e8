//! The `source` of a policy: where a table comes from.

use super::reader::{Reader, Section, shown};
use crate::failure::Failure;
use std::fmt;
use std::path::{Path, PathBuf};
use toml::Spanned;
use toml::de::DeValue;

/// Where a table comes from. Shown, it is what messages call it: never an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A file, or a folder of files.
    File(PathBuf),
    /// A PostgreSQL database at this address, which holds no password.
    Postgres {
        /// As in `postgres://user@host/database`.
        address: String,
        /// What of it.
        rows: Rows,
    },
    /// An SQLite database in this file.
    Sqlite {
        /// The file.
        file: PathBuf,
        /// What of it.
        rows: Rows,
    },
    /// A table in the memory of the process, by the name under which it was handed over.
    Memory(String),
}

/// How a policy or a request names a table in memory.
pub const MEMORY: &str = "memory:";

/// What is read of a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rows {
    /// A table or view with this name, with its schema where one is given.
    Table(String),
    /// What a query gives.
    Query(String),
}

impl Source {
    /// The same with paths relative to this folder.
    pub fn beside(&self, base: &Path) -> Source {
        // Without the dot of the current folder, which would only be noise in messages; an address
        // stays what it is.
        let is_address = |path: &PathBuf| path.to_str().is_some_and(|text| text.contains("://"));
        let join = |path: &PathBuf| {
            if base == Path::new(".") || is_address(path) { path.clone() } else { base.join(path) }
        };
        match self {
            Source::File(path) => Source::File(join(path)),
            Source::Sqlite { file, rows } => {
                Source::Sqlite { file: join(file), rows: rows.clone() }
            }
            Source::Postgres { .. } | Source::Memory(_) => self.clone(),
        }
    }

    /// The name of the file without its folder, or of the table without its schema; nothing for a
    /// query.
    pub fn name(&self) -> Option<String> {
        match self {
            Source::File(path) => Some(path.file_name()?.to_string_lossy().into_owned()),
            Source::Postgres { rows: Rows::Table(name), .. }
            | Source::Sqlite { rows: Rows::Table(name), .. } => {
                name.rsplit('.').next().map(str::to_owned)
            }
            Source::Postgres { .. } | Source::Sqlite { .. } => None,
            Source::Memory(name) => Some(name.clone()),
        }
    }
}

impl From<&Path> for Source {
    fn from(path: &Path) -> Source {
        match path.to_str().and_then(|text| text.strip_prefix(MEMORY)) {
            Some(name) => Source::Memory(name.to_owned()),
            None => Source::File(path.to_path_buf()),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::File(path) => path.display().fmt(f),
            Source::Postgres { rows, .. } | Source::Sqlite { rows, .. } => rows.fmt(f),
            Source::Memory(name) => write!(f, "{MEMORY}{name}"),
        }
    }
}

impl fmt::Display for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rows::Table(name) => f.write_str(name),
            Rows::Query(_) => f.write_str("the query"),
        }
    }
}

/// Whether a text is the address of a PostgreSQL database.
pub fn is_postgres(text: &str) -> bool {
    text.starts_with("postgres://") || text.starts_with("postgresql://")
}

/// What is wrong with the address of a database. Policies are read by many, and so are the
/// arguments of a process: no password may stand in them. The message does not repeat the address,
/// because one may.
pub fn check_address(address: &str) -> Result<(), Failure> {
    if !is_postgres(address) {
        return Err(Failure::usage(
            "wrong-address",
            "the address of a PostgreSQL database begins with `postgres://`",
        )
        .hint("write it as `postgres://user@host:5432/database`"));
    }
    if password(address).is_some() {
        return Err(Failure::usage(
            "password-in-address",
            "the address of the database holds a password",
        )
        .hint(
            "leave it out; give it in the environment variable `PGPASSWORD` or in a `.pgpass` file",
        ));
    }
    Ok(())
}

/// Where a password stands in the address of a database.
pub(super) fn password(address: &str) -> Option<usize> {
    let (scheme, rest) =
        address.split_once("://").filter(|(scheme, _)| scheme.starts_with("postgres"))?;
    if let Some(at) = rest.find("password=") {
        return Some(scheme.len() + 3 + at);
    }
    let (user, _) = rest.split_once('@')?;
    user.find(':').map(|at| scheme.len() + 3 + at)
}

impl<'a> Reader<'a> {
    /// Where the policy's table comes from.
    pub(super) fn source(&self, root: &Section<'a>) -> Option<Source> {
        let Some(value) = root.get("source") else {
            self.report(
                0,
                Failure::policy("missing-key", "`source` is missing")
                    .hint("add `source = \"extract.csv\"` at the top"),
            );
            return None;
        };
        if let Some(text) = value.get_ref().as_str() {
            if is_postgres(text) {
                let problem = Failure::policy(
                    "no-table",
                    "`source` is the address of a database, without a table",
                );
                self.report(value.span().start, problem.hint(DATABASE));
                return None;
            }
            return Some(Source::from(Path::new(text)));
        }
        let Some(table) = value.get_ref().as_table() else {
            let message = format!(
                "`source` must be a path in quotes or a database, not {}",
                shown(value.get_ref())
            );
            self.report(value.span().start, Failure::policy("wrong-value", message).hint(DATABASE));
            return None;
        };
        for key in ["delimiter", "quote"] {
            if let Some(value) = root.get(key) {
                let problem = Failure::policy(
                    "useless-key",
                    format!("`{key}` is about CSV files, and `source` is a database"),
                );
                self.report(value.span().start, problem.hint("leave it out"));
            }
        }
        self.database(&Section { path: "source".into(), table, at: value.span().start })
    }

    fn database(&self, section: &Section<'a>) -> Option<Source> {
        self.only(section, &["postgres", "sqlite", "table", "query"]);
        let kind = self.one_of(section, ["postgres", "sqlite"]);
        let rows = self.one_of(section, ["table", "query"]);
        let text = |(key, value): (&'static str, &'a Spanned<DeValue<'a>>)| {
            let text = self.text_of(section, key, value)?;
            if text.trim().is_empty() {
                self.report(
                    value.span().start,
                    Failure::policy("wrong-value", format!("`source.{key}` is empty"))
                        .hint(DATABASE),
                );
                return None;
            }
            Some((key, value, text))
        };
        let (kind, rows) = (kind.and_then(text), rows.and_then(text));
        if let Some(("postgres", value, address)) = &kind
            && let Err(problem) = check_address(address)
        {
            self.report(value.span().start, problem);
            return None;
        }
        let rows = match rows? {
            ("table", _, name) => Rows::Table(name),
            (_, _, query) => Rows::Query(query),
        };
        Some(match kind? {
            ("postgres", _, address) => Source::Postgres { address, rows },
            (_, _, file) => Source::Sqlite { file: file.into(), rows },
        })
    }

    /// The one of two keys that is given; both or none are a mistake.
    fn one_of(
        &self,
        section: &Section<'a>,
        keys: [&'static str; 2],
    ) -> Option<(&'static str, &'a Spanned<DeValue<'a>>)> {
        let given: Vec<_> =
            keys.into_iter().filter_map(|key| Some((key, section.get(key)?))).collect();
        if let [one] = given[..] {
            return Some(one);
        }
        let [a, b] = keys;
        let problem = Failure::policy(
            "conflicting-keys",
            match given.is_empty() {
                true => format!("`source` has neither `{a}` nor `{b}`"),
                false => format!("`source` has both `{a}` and `{b}`"),
            },
        );
        self.report(section.at, problem.hint(DATABASE));
        None
    }
}

const DATABASE: &str = "write `source = { postgres = \"postgres://user@host/database\", table = \"patients\" }`, or \
                        `sqlite = \"file.db\"`, or `query = \"SELECT …\"` instead of `table`";
