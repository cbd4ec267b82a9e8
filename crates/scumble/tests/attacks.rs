//! Attacks against slow twins, brute force on small random releases, and on the worked examples of
//! the literature.

#[path = "attacks/background.rs"]
mod background;
#[path = "attacks/cases.rs"]
mod cases;
#[path = "attacks/counting.rs"]
mod counting;
mod data;
#[path = "attacks/definetti.rs"]
mod definetti;
#[path = "attacks/linkage.rs"]
mod linkage;
#[path = "attacks/made.rs"]
mod made;
#[path = "attacks/membership.rs"]
mod membership;
#[path = "attacks/minimality.rs"]
mod minimality;
#[path = "laws/worst.rs"]
mod worst;
