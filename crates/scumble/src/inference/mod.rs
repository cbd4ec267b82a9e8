//! What follows from everything that was published: the inference engine.
//!
//! [`Evidence`] says which people may have which values, and how often each value was published for
//! each group. [`forced`] finds what is impossible and what is certain, [`entropy`] the
//! maximum-entropy belief, [`worlds`] the share of consistent worlds, [`witness`] the published
//! facts that give an inference.

mod effort;
pub mod entropy;
mod even;
pub mod evidence;
pub mod forced;
mod infer;
pub mod lp;
mod network;
mod reasons;
mod search;
pub mod sentences;
mod simplex;
pub mod witness;
pub mod worlds;

pub use effort::{Effort, Exhausted};
pub use entropy::{Beliefs, NoBelief, WORK, maximum_entropy};
pub use evidence::{Component, Evidence, Fact, Kind, Known, Located, Outcome, Source};
pub use forced::{Forced, forced, forced_within};
pub use infer::{Inference, infer, infer_from};
pub use reasons::{Contradiction, Reasons};
