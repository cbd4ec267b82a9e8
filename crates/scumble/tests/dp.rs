//! Differential privacy against slow twins: exact enumeration of samplers, brute-force composition,
//! finite games.

#[path = "dp/accounting.rs"]
mod accounting;
#[path = "dp/beliefs.rs"]
mod beliefs;
#[path = "dp/games.rs"]
mod games;
#[path = "dp/made_up.rs"]
mod made_up;
#[path = "dp/parallel.rs"]
mod parallel;
#[path = "dp/questions.rs"]
mod questions;
#[path = "dp/sampling.rs"]
mod sampling;
