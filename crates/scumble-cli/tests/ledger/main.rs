//! The ledger when everything goes wrong: killed runs, two at once, damage, and places that cannot
//! be written to.

mod around;
mod certificate;
mod damage;
mod kills;
mod numbers;
// The tests of ledgers on a server use what these do not.
#[allow(dead_code)]
mod place;
mod repair;
mod roles;
mod spelling;
mod together;
