//! From a path, a folder, a glob or the address of an object to a table of the engine.
//!
//! CSV is read as texts, by the dialect that the default engine would detect, so that both see the
//! same cells.

use crate::refusals::{Class, with_text};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::datasource::file_format::FileFormat;
use datafusion::datasource::file_format::csv::CsvFormat;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{
    ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl,
};
use datafusion::prelude::SessionContext;
use futures::TryStreamExt;
use scumble::failure::{Argument, Failure, Failures, Remedy};
use scumble_publisher::table::columns::{self, Dialect, ReadOptions};
use scumble_publisher::table::format;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Names of the formats that the engine reads.
pub const FORMATS: &[&str] = &["csv", "parquet"];

/// A table that queries can name.
pub struct Opened {
    /// What queries call it.
    pub name: String,
    pub schema: SchemaRef,
    /// How it is written, if it is CSV.
    pub dialect: Option<Dialect>,
}

impl Opened {
    /// The names of its columns.
    pub fn names(&self) -> Vec<String> {
        self.schema.fields().iter().map(|f| f.name().clone()).collect()
    }

    /// The fields with these names, in the order of the table.
    pub fn fields(&self, names: &[String]) -> Vec<&Field> {
        let fields = self.schema.fields().iter().map(|f| f.as_ref());
        fields.filter(|f| names.contains(f.name())).collect()
    }
}

/// Makes a table known under a name.
pub async fn open(
    context: &SessionContext,
    name: String,
    table: &Path,
    options: &ReadOptions,
) -> Result<Opened, Failures> {
    let shown = table.display();
    let refuse = |e: datafusion::error::DataFusionError| unreadable(table, &e);
    let url = ListingTableUrl::parse(address(table)?).map_err(refuse)?;
    let state = context.state();
    let store = state.runtime_env().object_store(&url).map_err(refuse)?;
    let listed = url.list_all_files(&state, store.as_ref(), "").await.map_err(refuse)?;
    let mut files: Vec<String> =
        listed.map_ok(|file| file.location.to_string()).try_collect().await.map_err(refuse)?;
    files.retain(|f| !f.rsplit('/').next().unwrap_or(f).starts_with(['.', '_']));
    files.sort();
    if files.is_empty() && url.scheme() != "file" {
        let missing = object_store::Error::NotFound {
            path: shown.to_string(),
            source: "no object begins so".into(),
        };
        return Err(refuse(missing.into()));
    }
    let Some(first) = files.first() else {
        return Err(Failure::data("no-files", format!("`{shown}` has no files"))
            .hint("give a Parquet or CSV file, a folder of them, or a pattern")
            .into());
    };
    let extension = Path::new(first).extension().map(|e| format!(".{}", e.to_string_lossy()));
    let local = (url.scheme() == "file").then(|| PathBuf::from(format!("/{first}")));
    let (format, dialect): (Arc<dyn FileFormat>, _) =
        match dialect_of(first, local.as_deref(), options)? {
            None => (Arc::new(ParquetFormat::default().with_force_view_types(false)), None),
            Some(dialect) => {
                let csv =
                    CsvFormat::default().with_has_header(true).with_delimiter(dialect.delimiter);
                // A quoted cell may hold a line end, so a file is not cut between lines.
                (
                    Arc::new(csv.with_quote(dialect.quote).with_newlines_in_values(true)),
                    Some(dialect),
                )
            }
        };
    let extension = if url.is_collection() { extension.unwrap_or_default() } else { String::new() };
    let listing = ListingOptions::new(format).with_file_extension(extension);
    let schema = match (&dialect, &local) {
        (Some(_), Some(first)) => texts(columns::header(first, options)?),
        (Some(_), None) => {
            let found = listing.infer_schema(&state, &url).await.map_err(refuse)?;
            texts(found.fields().iter().map(|f| f.name().clone()).collect())
        }
        (None, _) => listing.infer_schema(&state, &url).await.map_err(refuse)?,
    };
    let config =
        ListingTableConfig::new(url).with_listing_options(listing).with_schema(schema.clone());
    let listed = ListingTable::try_new(config).map_err(refuse)?;
    context.register_table(name.as_str(), Arc::new(listed)).map_err(refuse)?;
    Ok(Opened { name, schema, dialect })
}

/// The address of a table. A local one is told by its whole path, because executors stand
/// elsewhere.
fn address(table: &Path) -> Result<String, Failures> {
    let text = table.display().to_string();
    if text.contains("://") {
        return Ok(text);
    }
    let pattern = text.contains(['*', '?', '[']) && !table.exists();
    if pattern {
        return Ok(std::path::absolute(table).map_or(text, |p| p.display().to_string()));
    }
    let whole = table.canonicalize().map_err(|e| {
        Failure::io(
            "cannot-read",
            format!("`{text}` cannot be read: {}", scumble_publisher::describe(&e)),
        )
        .hint("check the path")
    })?;
    let slash = if whole.is_dir() { "/" } else { "" };
    Ok(format!("{}{slash}", whole.display()))
}

/// How the first file is written, if it is CSV.
fn dialect_of(
    first: &str,
    local: Option<&Path>,
    options: &ReadOptions,
) -> Result<Option<Dialect>, Failures> {
    let extension = first.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    let known = match local {
        Some(path) => Some(format::of_file(path)?),
        None => format::of_ending(Path::new(first)),
    };
    if let Some(other) = known.filter(|f| !FORMATS.contains(&f.name)) {
        return Err(Failure::usage(
            "not-with-engine",
            format!("the engine reads Parquet and CSV, not {} files", other.title),
        )
        .remedy(
            Remedy::words("convert them to Parquet, or leave out ")
                .and_leave_out(Argument::Engine)
                .then(" and ")
                .and_leave_out(Argument::Cluster),
        )
        .into());
    }
    match local {
        Some(path) => columns::dialect(path, options),
        None if known.is_some_and(|f| f.reader.dialect.is_none()) => Ok(None),
        // Nobody looks into an object before the engine does.
        None => {
            let delimiter =
                options.delimiter.unwrap_or(if extension == "tsv" { b'\t' } else { b',' });
            Ok(Some(Dialect { delimiter, quote: options.quote.unwrap_or(b'"') }))
        }
    }
}

fn texts(names: Vec<String>) -> SchemaRef {
    Arc::new(Schema::new(
        names.into_iter().map(|n| Field::new(n, DataType::Utf8, true)).collect::<Vec<_>>(),
    ))
}

/// A table that cannot be read.
fn unreadable(table: &Path, e: &datafusion::error::DataFusionError) -> Failures {
    let (class, shown) = (Class::of(e), table.display().to_string());
    let problem =
        Failure::io("cannot-read", format!("`{shown}` cannot be read: {}", class.words()));
    let problem = match (class, shown.contains("://")) {
        (Class::Missing, true) => problem.hint("check the bucket and the name; a prefix of several objects ends with `/`"),
        (Class::Forbidden | Class::Unreachable | Class::Other, true) => problem.hint(
            "credentials, region and endpoint come from the environment, such as AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, \
             AWS_REGION and AWS_ENDPOINT_URL",
        ),
        (Class::Missing | Class::Forbidden, false) => problem.hint("check the path"),
        _ => problem.remedy(
            class
                .remedy()
                .unwrap_or_else(|| "`SCUMBLE_LOG=debug` tells more, and may tell data".into()),
        ),
    };
    with_text(problem, &e.strip_backtrace()).into()
}

/// A column in a query.
pub fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
