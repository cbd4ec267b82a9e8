//! What reproduces the literature: worked examples of the papers, their experiments, and the
//! generators of example data.

pub mod example;
pub mod papers;
pub mod reproduce;
