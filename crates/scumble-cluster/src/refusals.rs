//! What went wrong, in our own words.
//!
//! DataFusion quotes what it could not convert, an object store what it answered: values of the
//! data, names of keys. So of an error only its class is told, which is known by the types of the
//! errors here, and by the words of what comes from a cluster as text. Whoever wants the text says
//! `SCUMBLE_LOG=debug`.

use datafusion::arrow::error::ArrowError;
use datafusion::error::DataFusionError;
use datafusion::parquet::errors::ParquetError;
use scumble::failure::{Action, Argument, Failure, Remedy};
use std::error::Error;

/// Classes of errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// A value is not of the type of its column.
    Conversion,
    /// Files have other columns, or the same of other types.
    Columns,
    /// A file is not what its name says.
    Damaged,
    /// There is no such file or object.
    Missing,
    /// It may not be read.
    Forbidden,
    /// Nobody answers.
    Unreachable,
    /// Memory or disk are not enough.
    Exhausted,
    /// Executors do not know our function.
    Stranger,
    /// The source changed while it was read.
    Changed,
    /// Executors are gone.
    Alone,
    /// Somebody cancelled the job.
    Cancelled,
    /// Anything else.
    Other,
}

/// Words in the text of an error of a cluster, most telling first.
const WORDS: [(&str, Class); 31] = [
    ("a value is new: the source has changed", Class::Changed),
    (crate::code::NAME, Class::Stranger),
    ("no executors remain", Class::Alone),
    ("Cancelled", Class::Cancelled),
    ("ResourcesExhausted", Class::Exhausted),
    ("Resources exhausted", Class::Exhausted),
    ("No space left", Class::Exhausted),
    ("CastError", Class::Conversion),
    ("Cast error", Class::Conversion),
    ("ParseError", Class::Conversion),
    ("Parser error", Class::Conversion),
    ("Cannot cast", Class::Conversion),
    ("error parsing", Class::Conversion),
    ("PermissionDenied", Class::Forbidden),
    ("Permission denied", Class::Forbidden),
    ("Unauthenticated", Class::Forbidden),
    ("Forbidden", Class::Forbidden),
    ("NotFound", Class::Missing),
    ("not found", Class::Missing),
    ("No such file", Class::Missing),
    ("CsvError", Class::Damaged),
    ("Csv error", Class::Damaged),
    ("ParquetError", Class::Damaged),
    ("Parquet error", Class::Damaged),
    ("SchemaError", Class::Columns),
    ("schema", Class::Columns),
    ("transport", Class::Unreachable),
    ("Transport", Class::Unreachable),
    ("onnect", Class::Unreachable),
    ("broken pipe", Class::Unreachable),
    ("Connection", Class::Unreachable),
];

impl Class {
    /// The class of an error: by what it is, and of an error that came as text by its words.
    pub fn of(e: &DataFusionError) -> Class {
        let mut cause: Option<&(dyn Error + 'static)> = Some(e);
        let mut class = Class::Other;
        while let Some(error) = cause {
            // The innermost that is known says most.
            class = Class::of_one(error).unwrap_or(class);
            cause = error.source();
        }
        if class != Class::Other {
            return class;
        }
        let text = e.to_string();
        WORDS
            .iter()
            .find(|(words, _)| text.contains(words))
            .map_or(Class::Other, |(_, class)| *class)
    }

    fn of_one(error: &(dyn Error + 'static)) -> Option<Class> {
        if let Some(e) = error.downcast_ref::<object_store::Error>() {
            return match e {
                object_store::Error::NotFound { .. } => Some(Class::Missing),
                object_store::Error::PermissionDenied { .. }
                | object_store::Error::Unauthenticated { .. } => Some(Class::Forbidden),
                // What a bucket answers when it is listed.
                object_store::Error::Generic { source, .. } => {
                    let text = source.to_string();
                    let answered = |status: &str| text.contains(&format!("status code: {status}"));
                    Some(match (answered("404"), answered("401") || answered("403")) {
                        (true, _) => Class::Missing,
                        (_, true) => Class::Forbidden,
                        _ => Class::Unreachable,
                    })
                }
                _ => None,
            };
        }
        if let Some(e) = error.downcast_ref::<ArrowError>() {
            return Class::of_arrow(e);
        }
        if let Some(ParquetError::EOF(_) | ParquetError::General(_)) = error.downcast_ref() {
            return Some(Class::Damaged);
        }
        if let Some(e) = error.downcast_ref::<std::io::Error>() {
            return match e.kind() {
                std::io::ErrorKind::NotFound => Some(Class::Missing),
                std::io::ErrorKind::PermissionDenied => Some(Class::Forbidden),
                std::io::ErrorKind::StorageFull => Some(Class::Exhausted),
                _ => None,
            };
        }
        match error.downcast_ref::<DataFusionError>()? {
            DataFusionError::ResourcesExhausted(_) => Some(Class::Exhausted),
            DataFusionError::SchemaError(..) => Some(Class::Columns),
            DataFusionError::ArrowError(e, _) => Class::of_arrow(e),
            DataFusionError::ObjectStore(e) => Class::of_one(e.as_ref()),
            DataFusionError::ParquetError(e) => Class::of_one(e.as_ref()),
            _ => None,
        }
    }

    fn of_arrow(e: &ArrowError) -> Option<Class> {
        match e {
            ArrowError::CastError(_)
            | ArrowError::ParseError(_)
            | ArrowError::InvalidArgumentError(_) => Some(Class::Conversion),
            ArrowError::SchemaError(_) => Some(Class::Columns),
            ArrowError::CsvError(_) | ArrowError::ParquetError(_) | ArrowError::IpcError(_) => {
                Some(Class::Damaged)
            }
            _ => None,
        }
    }

    /// What it means, without data.
    pub fn words(self) -> &'static str {
        match self {
            Class::Conversion => "a value cannot be converted to the type of its column",
            Class::Columns => "its files have not the same columns",
            Class::Damaged => "a file is damaged, or not written as it should be",
            Class::Missing => "it is not there",
            Class::Forbidden => "it may not be read with these credentials and permissions",
            Class::Unreachable => "nobody answers there",
            Class::Exhausted => "memory or disk are not enough",
            Class::Stranger => "the executors do not know a function of ours, `scumble_code`",
            Class::Changed => "the source has changed since it was first read",
            Class::Alone => "no executor is left",
            Class::Cancelled => "the job was cancelled",
            Class::Other => "something that is not expected",
        }
    }

    /// What can be done.
    pub fn remedy(self) -> Option<Remedy> {
        Some(match self {
            Class::Conversion | Class::Columns => Remedy::words(
                "the files of one source must have the same columns of the same types; convert those that differ",
            ),
            Class::Damaged => Remedy::words("compare the files with where they came from"),
            Class::Exhausted => Remedy::words("give more with ")
                .and_give(Argument::Memory)
                .then(", or a larger disk with ")
                .and_give(Argument::Spill),
            Class::Stranger => Remedy::words("start the executors with ")
                .and_run(Action::StartExecutor)
                .then(" and the scheduler with ")
                .and_run(Action::StartScheduler)
                .then(
                    "; Ballista's own do not suffice for a table that is divided level by level. Or give more with ",
                )
                .and_give(Argument::Memory),
            Class::Changed => Remedy::words("publish when nobody writes to it"),
            Class::Alone => Remedy::words("start executors with ").and_run(Action::StartExecutor),
            _ => return None,
        })
    }
}

/// A problem with an error of this text, which is told only to whoever asked for it.
pub fn with_text(problem: Failure, e: &dyn std::fmt::Display) -> Failure {
    let message = match debugging() {
        true => format!(
            "{}: {}",
            problem.message,
            e.to_string().split_whitespace().collect::<Vec<_>>().join(" ")
        ),
        false => problem.message,
    };
    Failure { message, ..problem }
}

/// Whether texts that may quote data are wanted.
pub fn debugging() -> bool {
    std::env::var("SCUMBLE_LOG")
        .is_ok_and(|level| matches!(level.to_ascii_lowercase().as_str(), "debug" | "trace"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::prelude::SessionContext;

    const SECRET: &str = "Zebedee-4711";

    /// What DataFusion says of a query.
    fn error(sql: &str) -> DataFusionError {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let asked = async { SessionContext::new().sql(sql).await?.collect().await };
        runtime.block_on(asked).expect_err("it fails")
    }

    #[test]
    fn a_value_that_cannot_be_cast_is_not_told() {
        let failed =
            error(&format!("SELECT CAST(x AS INT) FROM (VALUES ('1'), ('{SECRET}')) AS t (x)"));
        assert!(failed.to_string().contains(SECRET), "otherwise this shows nothing: {failed}");
        assert_eq!(Class::of(&failed), Class::Conversion);
        // As a cluster tells it, which is as a text.
        let text = format!(
            "Job abc failed: DataFusionError(ArrowError(CastError(\"Cannot cast string '{SECRET}'\")))"
        );
        let told = DataFusionError::Execution(text);
        assert_eq!(Class::of(&told), Class::Conversion);
        for e in [failed, told] {
            let problem = with_text(Failure::io("engine-failed", Class::of(&e).words()), &e);
            assert!(!problem.message.contains(SECRET), "{}", problem.message);
        }
    }

    #[test]
    fn what_is_not_known_is_told_by_its_kind() {
        let other = DataFusionError::Execution(format!("{SECRET} is strange"));
        assert_eq!(Class::of(&other), Class::Other);
        assert!(!Class::Other.words().contains(SECRET));
        let wrapped =
            DataFusionError::ResourcesExhausted("1 KB".into()).context("sorting").context("all");
        assert_eq!(Class::of(&wrapped), Class::Exhausted);
        let inside = std::io::Error::new(std::io::ErrorKind::NotFound, SECRET);
        assert_eq!(Class::of(&DataFusionError::External(Box::new(inside))), Class::Missing);
    }
}
