//! What follows from everything that was published: the inference engine.
//!
//! [`Evidence`] says which people may have which values, and how often each value was published for each group.
//! [`forced`] finds what is impossible and what is certain, [`entropy`] the maximum-entropy belief, [`worlds`] the share
//! of consistent worlds, [`witness`] the published facts that give an inference.

pub mod evidence;
pub mod lp;
pub mod sentences;
mod simplex;
pub mod witness;

pub use evidence::{Component, Evidence, Fact, Kind, Known, Located, Outcome, Source};
