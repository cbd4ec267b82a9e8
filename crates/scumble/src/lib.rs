//! scumble publishes tables about people so that the people stay hidden and the table stays useful.
//!
//! This crate is the field itself: privacy models, algorithms, releases and how they are judged. It
//! is pure: it touches no file, clock, network or global randomness. Reading tables, writing
//! releases and the `Publisher` are `scumble-publisher`'s.
//!
//! A tour in reading order:
//!
//! - [`publish`]: anonymize, judge again, measure;
//! - [`table`]: the microdata as algorithms see it, [`taxonomy`]: how values generalize, [`class`]:
//!   what a release makes indistinguishable, [`release`]: what is made and what is given,
//!   [`history`]: what was given before, [`register`]: the people around it;
//! - [`policy`]: what a publisher promises, read from text;
//! - [`model`], [`algorithm`], [`utility`]: the methods, one file each, listed in [`catalogue`];
//! - [`gate`]: what a release reveals together with earlier ones, by the [`inference`] engine;
//! - [`query`]: what a table answers and a recipient estimates;
//! - [`dp`]: differential privacy: mechanisms with their prices, budgets, what a price means;
//! - [`risk`]: re-identification risk, [`uniqueness`]: uniques of the population, estimated,
//!   [`perturb`]: values changed before anything else, [`exact`]: the arithmetic of verdicts,
//!   [`picture`]: a partitioning drawn;
//! - [`glossary`]: the words of the field, explained.
//!
//! # Example
//!
//! Six records, two quasi-identifiers, 3-anonymity:
//!
//! ```
//! use scumble::encode::encode;
//! use scumble::policy::Policy;
//! use scumble::publish::{Outcome, make};
//! use scumble::table::{Attribute, Table};
//!
//! let policy = Policy::parse(
//!     "policy.toml",
//!     r#"
//!     source = "patients.csv"
//!     [attributes]
//!     zip = { role = "quasi-identifier", taxonomy = { prefix = true, length = 5 } }
//!     sex = { role = "quasi-identifier", taxonomy = { flat = true } }
//!     disease = "sensitive"
//!     [[models]]
//!     name = "k-anonymity"
//!     k = 3
//!     [algorithm]
//!     name = "mondrian"
//!     [release]
//!     to = "release"
//!     "#,
//! )?;
//! let columns = [
//!     ("zip", ["43101", "43102", "43102", "52001", "52001", "52009"]),
//!     ("sex", ["F", "M", "F", "F", "M", "M"]),
//!     ("disease", ["flu", "cold", "flu", "asthma", "flu", "cold"]),
//! ];
//! let (mut attributes, mut codes) = (Vec::new(), Vec::new());
//! for (column, texts) in &columns {
//!     let said = policy.attributes.iter().find(|a| a.name == *column).expect("every column has a role");
//!     let rule = said.taxonomy.clone().unwrap_or(scumble::taxonomy::Rule::Flat);
//!     let (taxonomy, leaves) = encode(column, &rule, None, texts, &policy.missing)?;
//!     attributes.push(Attribute::new(column, taxonomy));
//!     codes.push(leaves);
//! }
//! let sensitive = attributes.split_off(2);
//! let (table, _) = Table::collapse(attributes, sensitive, codes);
//!
//! let Outcome::Made(made) = make(&table, &*policy.algorithm.algorithm, &policy.requirements, 1, &|_, _| true) else {
//!     panic!("3-anonymity can be had of six records");
//! };
//! let labels: Vec<_> = made.release.classes.iter().map(|class| made.release.labels(class)).collect();
//! assert_eq!(labels, [["4310*", "*"], ["5200*", "*"]]);
//! assert!(made.judgements.iter().all(|judgement| judgement.holds));
//! # Ok::<(), scumble::failure::Failures>(())
//! ```

pub mod algorithm;
pub mod attack;
pub mod catalogue;
pub mod class;
pub mod dp;
pub mod encode;
pub mod exact;
pub mod failure;
pub mod freeform;
pub mod gate;
pub mod glossary;
pub mod history;
pub mod inference;
mod labels;
pub mod model;
pub mod perturb;
pub mod picture;
pub mod policy;
pub mod progress;
pub mod publish;
pub mod query;
pub mod register;
pub mod release;
pub mod risk;
mod rule;
mod scale;
pub mod table;
pub mod taxonomy;
pub mod uniqueness;
pub mod utility;
