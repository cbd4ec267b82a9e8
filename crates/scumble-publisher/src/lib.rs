//! Sources and sinks, release folders, the ledger, and the [`Publisher`](publisher::Publisher) that
//! every front end calls.
//!
//! ```
//! use scumble_publisher::answer::Outcome;
//! use scumble_publisher::policy_file::PolicyFile;
//! use scumble_publisher::publish::PublishRequest;
//! use scumble_publisher::publisher::Publisher;
//!
//! # let folder = tempfile::tempdir().unwrap();
//! # let folder = folder.path();
//! let rows = "age,illness\n31,Flu\n34,Asthma\n35,Flu\n38,Asthma\n52,Flu\n58,Asthma\n";
//! std::fs::write(folder.join("patients.csv"), rows).unwrap();
//! let policy = r#"
//! source = "patients.csv"
//! [attributes]
//! age = { role = "quasi-identifier", taxonomy = { intervals = [10] } }
//! illness = "sensitive"
//! [[models]]
//! name = "k-anonymity"
//! k = 2
//! [algorithm]
//! name = "mondrian"
//! [release]
//! to = "release"
//! "#;
//! let policy = PolicyFile::of_text(policy, folder);
//! let publisher = Publisher::default();
//! let answer = publisher.publish(&policy, &PublishRequest::default()).unwrap();
//! assert_eq!(answer.outcome, Outcome::Published);
//! assert!(publisher.verify(&folder.join("release")).unwrap().holds);
//! ```

pub mod answer;
pub mod attack;
pub mod check;
pub mod dp;
pub mod failure;
pub mod inspect;
pub mod ledger;
pub mod observer;
pub mod policy_file;
pub mod publish;
pub mod publisher;
pub mod query;
pub mod release;
pub mod table;

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
