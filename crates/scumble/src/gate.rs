//! The gate: what a new release reveals together with every earlier one, and whether that may be published.
//!
//! The publisher remembers who was in which group of every release. The adversary of the gate knows that too: she finds
//! everybody in every release that she has, which is the most that quasi-identifiers can tell. What she does not know is
//! who has which value. [`judge`] lets every [`Adversary`] put together what she was given, before and with the new
//! release, and counts whom it exposes beyond what the policy's [`Gate`] allows.
//!
//! A person is exposed only if the new release makes it worse for her: what earlier releases gave away cannot be taken
//! back, and would otherwise close the gate for ever. Those people are counted apart.

mod learn;
mod memory;
mod reasons;

pub use learn::{Breach, Seen, What};
pub use memory::{Adversary, Memory, Remembered, adversaries};
pub use reasons::Reason;

use crate::exact::Ratio;
use crate::problem::Problem;
use std::collections::BTreeMap;

/// What the whole history may reveal.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    /// Whether the policy has a `[gate]`. Without one, only what releases reveal together counts: what the new release
    /// tells alone is the models' business.
    pub written: bool,
    /// So many people's value may become certain.
    pub certain: u64,
    /// Everybody keeps at least so many possible values.
    pub candidates: Option<u64>,
    /// Nobody on the panel may believe in a value more than this.
    pub posterior: Option<Ratio>,
    /// For a confidence: the share of the release's people of whom an intersection may reach it.
    pub pvp: Vec<(Ratio, Ratio)>,
    /// Whose beliefs count.
    pub panel: Vec<Panelist>,
    /// Recipients who may put together what they have.
    pub coalitions: usize,
    /// Whether all recipients together are judged, or only told.
    pub everybody: bool,
}

impl Default for Gate {
    fn default() -> Gate {
        Gate {
            written: false,
            certain: 0,
            candidates: None,
            posterior: None,
            pvp: Vec::new(),
            panel: vec![Panelist::Intersection, Panelist::MaximumEntropy, Panelist::Worlds],
            coalitions: 1,
            everybody: true,
        }
    }
}

/// How an adversary comes to a belief.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Panelist {
    /// All values that everything published allows are equally likely.
    Intersection,
    /// The belief of maximum entropy.
    MaximumEntropy,
    /// The share of the worlds that agree with everything published, where it can be counted.
    Worlds,
    /// What the new release tells about how quasi-identifiers and values go together.
    DeFinetti,
}

impl Panelist {
    /// Everybody with the name in a policy.
    pub const ALL: [(&'static str, Panelist); 4] = [
        ("intersection", Panelist::Intersection),
        ("maximum-entropy", Panelist::MaximumEntropy),
        ("worlds", Panelist::Worlds),
        ("definetti", Panelist::DeFinetti),
    ];

    /// The name in a policy.
    pub fn name(self) -> &'static str {
        Panelist::ALL.iter().find(|(_, p)| *p == self).map_or("", |(name, _)| name)
    }
}

/// The strongest belief about everybody, by number of the person: a value and how much it is believed in; zero for
/// whoever it says nothing about.
pub type Strongest = Vec<(u32, f64)>;

/// How many values what was published before leaves possible for the people of the new release: so many people for each
/// number of values. Those of whom nothing was published are not counted.
pub fn left(memory: &Memory) -> Result<BTreeMap<u64, u64>, Problem> {
    learn::left(memory)
}

/// What everybody learns who has the new release, which is the memory's last. `definetti` is the belief of
/// [`Panelist::DeFinetti`], if she is on the panel.
pub fn judge(
    memory: &Memory,
    gate: &Gate,
    definetti: Option<&Strongest>,
    progress: &(dyn Fn(u64, u64) + Sync),
) -> Result<Vec<Seen>, Problem> {
    let who = adversaries(memory, gate.coalitions);
    let all = who.len() as u64;
    let look = |(i, adversary): (usize, Adversary)| {
        progress(i as u64, all);
        learn::look(memory, gate, definetti, adversary)
    };
    who.into_iter().enumerate().map(look).collect()
}
