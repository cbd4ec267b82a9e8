//! The gate: what a new release reveals together with every earlier one, and whether that may be
//! published.
//!
//! The publisher remembers who was in which group of every release. The adversary of the gate knows
//! that too: she finds everybody in every release that she has, which is the most that
//! quasi-identifiers can tell. What she does not know is who has which value. [`judge`] lets every
//! [`Adversary`] put together what she was given, before and with the new release, and counts whom
//! it exposes beyond what the policy's [`Gate`] allows.
//!
//! The verdict comes first, and within a limit of work that is counted ([`Gate::work`]);
//! [`Seen::explain`] looks for reasons afterwards. A clock is the outer limit ([`Gate::seconds`]).
//! What could not be decided within these limits is judged like this, and [`Seen::exhausted`] says
//! which of them was reached:
//!
//! - for `certain` and `candidates`, a value that is neither proven possible nor excluded counts as
//!   possible, unless the belief of maximum entropy gives it next to nothing: then it counts as
//!   impossible, which it likely is;
//! - for a `posterior` that the policy gives, somebody about whom the belief of maximum entropy did
//!   not settle counts as exposed ([`What::Undecided`]), unless it had not settled before the
//!   release either. The default limit judges the belief so far;
//! - somebody of whom flows could not be followed to the end, and about whom no belief settled
//!   either, counts as exposed, and so does everybody about whom a belief that is judged had not
//!   settled when time was up. They are counted ([`Seen::undecided`]).
//!
//! What is judged is one attribute at a time; what is put together are rows. A release that shows
//! several columns says how often their combinations occur, and what another says about one of them
//! tells something about the others (`rows.rs`).
//!
//! A person is exposed only if the new release makes it worse for her: what earlier releases gave
//! away cannot be taken back, and would otherwise close the gate for ever. Those people are counted
//! apart.

mod learn;
mod memory;
mod reasons;
mod rows;
mod seen;

pub use memory::{Adversary, EVERYBODY, Memory, Remembered, adversaries};
pub use reasons::Reason;
pub use rows::{Cell, Counted, Part, Rows, Statement};
pub use seen::{Breach, Seen, What};

use crate::algorithm::Requirement;
use crate::exact::Ratio;
use crate::failure::Failure;
use crate::model::Concern;
use crate::progress::{Progress, Watch};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What the whole history may reveal.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    /// Whether the policy has a `[gate]`. Without one, only what releases reveal together counts:
    /// what the new release tells alone is the models' business.
    pub written: bool,
    /// People whose value may become certain through all releases of a ledger together.
    pub certain: u64,
    /// Everybody keeps at least so many possible values.
    pub candidates: Option<u64>,
    /// Nobody on the panel may believe in a value more than this. 1 allows every belief.
    pub posterior: Option<Ratio>,
    /// The same by attribute, where `posterior` is not given: what the policy's models promise
    /// ([`Gate::promise`]). It limits what releases tell together, so a belief that the new release
    /// allows alone does not break it.
    pub promised: BTreeMap<String, Ratio>,
    /// The default limit for attributes that the policy does not publish as sensitive and an
    /// earlier release protected.
    pub protected_before: Option<Ratio>,
    /// For a confidence: the share of the release's people of whom an intersection may reach it.
    pub pvp: Vec<(Ratio, Ratio)>,
    /// The ε that randomized responses about one person's value may add up to, those of a single
    /// release included. Without it, [`RESPONSE_EPSILON`] is the limit for several releases
    /// together.
    pub response_epsilon: Option<Ratio>,
    /// Whose beliefs count.
    pub panel: Vec<Panelist>,
    /// Recipients who may put together what they have.
    pub coalitions: usize,
    /// Whether all recipients together are judged, or only told.
    pub everybody: bool,
    /// Whether changes that would pass are looked for when a release is refused.
    pub remedies: bool,
    /// Work that flows, and a belief, may take: of what was published before, with the new release,
    /// and of that alone. Counted, so that every machine comes to the same verdict. A policy that
    /// gives `seconds` gives as many times [`WORK_PER_SECOND`].
    pub work: u64,
    /// Seconds that one judgement may take, of all attributes and adversaries together. What is not
    /// found out by then is treated as the module says; whoever holds a clock passes it as
    /// [`crate::progress::Report::is_late`].
    pub seconds: u64,
}

/// Counted work of flows, and of a belief, for each second that a judgement may take. With the
/// default of 120 seconds it is some ten seconds on one core for each of them, so that the clock
/// decides only on slow machines and in long series.
pub const WORK_PER_SECOND: u64 = 16_000_000;

/// Seconds that one judgement may take by default.
pub const SECONDS: u64 = 120;

/// The ε that randomized responses of several releases about one person's value may add up to,
/// unless the policy says something else. The odds between any two values change by a factor of at
/// most e⁴ ≈ 55: who thought two values equally likely ends at 98 % at most.
pub const RESPONSE_EPSILON: u32 = 4;

impl Default for Gate {
    fn default() -> Gate {
        Gate {
            written: false,
            certain: 0,
            candidates: None,
            posterior: None,
            promised: BTreeMap::new(),
            protected_before: None,
            pvp: Vec::new(),
            response_epsilon: None,
            panel: vec![Panelist::Intersection, Panelist::MaximumEntropy, Panelist::Worlds],
            coalitions: 1,
            everybody: true,
            remedies: true,
            work: SECONDS * WORK_PER_SECOND,
            seconds: SECONDS,
        }
    }
}

/// The strongest belief in a value that is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The belief.
    pub most: Ratio,
    /// Whether the policy gives it; otherwise it follows from the policy's models, and a belief
    /// that the new release allows alone does not break it.
    pub given: bool,
}

impl Gate {
    /// Derives the default limit of every sensitive attribute from the policy's models: a half, or
    /// the belief that a model allows itself if that is more. A sensitive attribute that no model
    /// protects has none, because nothing was promised; one that only earlier releases protected
    /// keeps a half, so that dropping a column drops no protection.
    pub(crate) fn promise(&mut self, attributes: &[&str], requirements: &[Requirement]) {
        // Up to a half, a value is not more likely than all others together.
        let even = Ratio::new(1, 2);
        self.protected_before = Some(even);
        for (i, name) in attributes.iter().enumerate() {
            let about = |r: &&Requirement| {
                r.model.promise().concerns == Concern::Sensitive
                    && r.attribute.is_none_or(|attribute| attribute == i)
            };
            let promised = requirements.iter().filter(about).map(|r| {
                let promise = r.model.promise();
                if promise.belief { promise.required.max(even) } else { even }
            });
            self.promised.insert((*name).to_owned(), promised.min().unwrap_or(Ratio::whole(1)));
        }
    }

    /// The strongest belief in a value of an attribute that is allowed, if that is limited.
    pub fn limit(&self, attribute: &str) -> Option<Limit> {
        let given = self.posterior.map(|most| Limit { most, given: true });
        let promised = self.promised.get(attribute).copied().or(self.protected_before);
        let promised = promised.map(|most| Limit { most, given: false });
        given.or(promised).filter(|limit| limit.most < Ratio::whole(1))
    }
}

/// How an adversary comes to a belief.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Panelist {
    /// All values that everything published allows are equally likely.
    Intersection,
    /// The belief of maximum entropy.
    MaximumEntropy,
    /// The share of the worlds that agree with everything published, where it can be counted.
    Worlds,
    /// What the new release tells about how quasi-identifiers and values go together.
    #[serde(rename = "definetti")]
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

/// The strongest belief about everybody, by number of the person: a value and how much it is
/// believed in; zero for whoever it says nothing about.
pub type Strongest = Vec<(u32, f64)>;

/// How many values what was published before leaves possible for the people of the new release: so
/// many people for each number of values. Those of whom nothing was published are not counted.
pub fn left(memory: &Memory, progress: Progress<'_>) -> Result<BTreeMap<u64, u64>, Failure> {
    learn::left(memory, &Watch::timed(progress, 0))
}

/// What everybody learns who has the new release, which is the memory's last. `definetti` is the
/// belief of [`Panelist::DeFinetti`], if she is on the panel.
pub fn judge(
    memory: &Memory,
    gate: &Gate,
    definetti: Option<&Strongest>,
    progress: Progress<'_>,
) -> Result<Vec<Seen>, Failure> {
    let who = adversaries(memory, gate.coalitions, gate.everybody);
    let watch = Watch::timed(progress, who.len() as u64);
    let mut all = Vec::with_capacity(who.len());
    for adversary in who {
        watch.go_on();
        all.push(seen::look(memory, gate, definetti, adversary, &watch)?);
        watch.add(1);
        watch.check()?;
    }
    Ok(all)
}
