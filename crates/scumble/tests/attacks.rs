//! Attacks against brute force, and on the worked examples of the literature.

#[path = "attacks/linkage.rs"]
mod linkage;
#[path = "attacks/made.rs"]
mod made;
