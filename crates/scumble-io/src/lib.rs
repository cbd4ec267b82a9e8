//! Tables in and out, release directories, and the [`publisher`] that the command, and later the web app and Python,
//! call.

pub mod answer;
mod arrow;
pub mod attack;
pub mod check;
pub mod columns;
pub mod compare;
mod csv;
pub mod dictionary;
pub mod dp;
mod durable;
pub mod engine;
pub mod estimate;
pub mod freeform;
mod gatekeeper;
pub mod guard;
pub mod headroom;
pub mod inspect;
pub mod ledger;
pub mod levels;
pub mod load;
pub mod minimality;
pub mod origin;
mod postgres;
pub mod publisher;
pub mod query;
pub mod records;
pub mod release;
mod repair;
pub mod reproduce;
pub mod source;
mod sqlite;
pub mod staging;
pub mod statistics;
pub mod why;
pub mod write;

/// The reason of an I/O error in plain words, without the operating system's number.
pub fn describe(e: &std::io::Error) -> String {
    match e.kind() {
        std::io::ErrorKind::NotFound => "no such file or folder".into(),
        std::io::ErrorKind::PermissionDenied => "permission denied".into(),
        std::io::ErrorKind::StorageFull => "the disk is full".into(),
        std::io::ErrorKind::ReadOnlyFilesystem => "the file system is read-only".into(),
        _ => {
            let text = e.to_string();
            text.split(" (os error").next().unwrap_or(&text).to_lowercase()
        }
    }
}
