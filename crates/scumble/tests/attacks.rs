//! Attacks against slow twins: brute force on small random releases.

#[path = "attacks/background.rs"]
mod background;
#[path = "attacks/cases.rs"]
mod cases;
#[path = "attacks/definetti.rs"]
mod definetti;
#[path = "laws/worst.rs"]
mod worst;
