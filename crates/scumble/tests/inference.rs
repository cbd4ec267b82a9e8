//! The inference engine against enumeration on small random evidence, and on the worked examples of
//! the literature.

#[path = "inference/entropy.rs"]
mod entropy;
#[path = "inference/even.rs"]
mod even;
#[path = "inference/forced.rs"]
mod forced;
#[path = "inference/limits.rs"]
mod limits;
#[path = "inference/lp.rs"]
mod lp;
#[path = "inference/naive.rs"]
mod naive;
#[path = "inference/parts.rs"]
mod parts;
#[path = "inference/witness.rs"]
mod witness;
#[path = "inference/worlds.rs"]
mod worlds;
