//! scumble publishes tables about people so that the people stay hidden and the table stays useful.
//!
//! This crate is the field itself: privacy models, algorithms, releases and how they are judged. It is pure: it touches
//! no file, clock, network or global randomness. Reading tables, writing releases and the `Publisher` are
//! `scumble-io`'s.
//!
//! A tour in reading order:
//!
//! - [`publish`]: anonymize, judge again, measure;
//! - [`table`]: the microdata as algorithms see it, [`taxonomy`]: how values generalize, [`class`]: what a release makes
//!   indistinguishable, [`release`]: what is made and what is given, [`history`]: what
//!   was given before, [`register`]: the people around it;
//! - [`policy`]: what a publisher promises, read from text;
//! - [`model`], [`algorithm`], [`utility`]: the methods, one file each, listed in [`catalogue`];
//! - [`gate`]: what a release reveals together with earlier ones, by the [`inference`] engine;
//! - [`query`]: what a table answers and a recipient estimates;
//! - [`dp`]: differential privacy: mechanisms with their prices, budgets, what a price means;
//! - [`risk`]: re-identification risk, [`uniqueness`]: uniques of the population, estimated,
//!   [`perturb`]: values changed before anything else, [`exact`]: the arithmetic of verdicts,
//!   [`picture`]: a partitioning drawn.

pub mod algorithm;
pub mod attack;
pub mod catalogue;
pub mod class;
pub mod dp;
pub mod encode;
pub mod exact;
pub mod freeform;
pub mod gate;
pub mod history;
pub mod inference;
mod labels;
pub mod model;
pub mod papers;
pub mod perturb;
pub mod picture;
pub mod policy;
pub mod problem;
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
