//! How much may still be published before the gate closes.
//!
//! The policy is carried out again and again with fresh randomness, as dry runs: each release that passes is remembered
//! beside those of the ledger, until the gate refuses one. Done for all sensitive attributes together and for each alone,
//! so that a steward sees which column uses the room up; and for the people whom the refused release would expose it is
//! told what they have in common.

use crate::answer::{Published, VERSION};
use crate::gatekeeper::Gatekeeper;
use crate::publisher::{Carried, Clock, How, Options, base_of, carry_out, read_policy};
use scumble::problem::{Problem, Problems};
use serde::Serialize;
use std::path::Path;

/// Answer of `ledger headroom`.
#[derive(Clone, Debug, Serialize)]
pub struct Headroom {
    /// [`VERSION`].
    pub version: u32,
    /// The policy.
    pub policy: String,
    /// Releases in the ledger that share people with the extract.
    pub earlier: u64,
    /// People of the extract by how many values are still possible for them, by what was published before: attribute,
    /// values, people. Those of whom nothing was published have no limit and are not counted.
    pub left: Vec<Left>,
    /// How many more releases pass, with all sensitive attributes and with each alone.
    pub columns: Vec<Room>,
    /// What the reader should know.
    pub warnings: Vec<String>,
}

/// How many people have how many possible values left.
#[derive(Clone, Debug, Serialize)]
pub struct Left {
    /// The sensitive attribute.
    pub attribute: String,
    /// Possible values.
    pub values: u64,
    /// People.
    pub people: u64,
}

/// How many more releases pass.
#[derive(Clone, Debug, Serialize)]
pub struct Room {
    /// The sensitive attributes that are published.
    pub attributes: Vec<String>,
    /// So many releases pass one after another.
    pub releases: u64,
    /// Whether it was stopped there without a refusal: there is room for more.
    pub more: bool,
    /// Why the next one is refused.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub because: Vec<String>,
    /// People whom the refused release would expose.
    pub exposed: u64,
    /// Cohorts that are exposed most: a column, its value as the coarsest level tells it, people of the cohort, exposed ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cohorts: Vec<Cohort>,
}

/// People who have a value in common.
#[derive(Clone, Debug, Serialize)]
pub struct Cohort {
    /// Quasi-identifier.
    pub column: String,
    /// Its value, generalized as far as it still tells people apart.
    pub value: String,
    /// People of the extract.
    pub people: u64,
    /// Of them, exposed.
    pub exposed: u64,
}

/// Cohorts that are told.
const COHORTS: usize = 5;

/// Finds out how much may still be published.
pub fn headroom(path: &Path, most: u64, options: &Options<'_>) -> Result<Headroom, Problems> {
    let policy = read_policy(path)?;
    if !policy.attributes.iter().any(|a| a.person) {
        return Err(Problem::new(
            "no column says `person = true`, so people cannot be recognised from release to release",
        )
        .hint("give `person = true` to the identifier that names the persons")
        .into());
    }
    let sensitive: Vec<String> = policy.sensitive().map(|a| a.name.clone()).collect();
    let mut sets = vec![sensitive.clone()];
    if sensitive.len() > 1 {
        sets.extend(sensitive.iter().map(|name| vec![name.clone()]));
    }
    let mut answer = Headroom {
        version: VERSION,
        policy: path.display().to_string(),
        earlier: 0,
        left: Vec::new(),
        columns: Vec::new(),
        warnings: Vec::new(),
    };
    for (i, set) in sets.into_iter().enumerate() {
        let mut keeper = Gatekeeper::open(&read_policy(path)?, &base_of(path), options)?;
        keeper.remember(&read_policy(path)?, options)?;
        let room = room(path, &set, most, &mut keeper, options, (i == 0).then_some(&mut answer))?;
        answer.columns.push(room);
        answer.warnings.append(&mut keeper.warnings);
    }
    answer.warnings.dedup();
    Ok(answer)
}

/// Publishes the attributes again and again, in thought.
fn room(
    path: &Path,
    attributes: &[String],
    most: u64,
    keeper: &mut Gatekeeper,
    options: &Options<'_>,
    mut told: Option<&mut Headroom>,
) -> Result<Room, Problems> {
    let mut room = Room {
        attributes: attributes.to_vec(),
        releases: 0,
        more: true,
        because: Vec::new(),
        exposed: 0,
        cohorts: Vec::new(),
    };
    while room.releases < most {
        let mut policy = read_policy(path)?;
        let others: Vec<String> =
            policy.sensitive().map(|a| a.name.clone()).filter(|n| !attributes.contains(n)).collect();
        if others.iter().any(|name| !policy.without(name)) {
            room.more = false;
            room.because.push("without the other attributes the policy promises nothing".into());
            return Ok(room);
        }
        let seed = options.seed.map(|s| s + room.releases);
        let (base, watcher) = (base_of(path), options.watcher);
        let how = How { base: &base, seed, all: false, keeper: Some(keeper), engine: None, watcher };
        let carried = carry_out(policy, &how, &mut Clock::new())?;
        let Carried { policy, extract, made, answer, seed, .. } = carried;
        let Some(made) = made else {
            room.more = false;
            room.because = answer.reasons.iter().map(|r| r.message.clone()).collect();
            return Ok(room);
        };
        let target = format!("the release after {}", room.releases);
        let new = keeper.new_release(&policy, &extract, &made, Path::new(&target), seed);
        let Some(new) = new else { return Ok(room) };
        if let Some(told) = told.take() {
            told.earlier = keeper.shared(&new) as u64;
            told.left = keeper.left(&new)?;
        }
        let mut verdict = Published { gate: Vec::new(), reasons: Vec::new(), ..answer };
        let (passes, exposed, _) = keeper.judge(&policy.gate, &extract, &new, options, &mut verdict)?;
        if !passes {
            room.more = false;
            room.because = verdict.reasons.iter().map(|r| r.message.clone()).collect();
            room.exposed = exposed.len() as u64;
            room.cohorts = cohorts(&extract, &exposed);
            return Ok(room);
        }
        keeper.imagine(new);
        room.releases += 1;
    }
    Ok(room)
}

/// What exposed people have in common: the cohorts with the largest share of them, of at least a few people.
fn cohorts(extract: &crate::source::Extract, exposed: &[u32]) -> Vec<Cohort> {
    let table = &extract.table;
    let mut is_exposed = vec![false; extract.row_of.len()];
    exposed.iter().for_each(|&r| is_exposed[r as usize] = true);
    let mut found = Vec::new();
    for (attribute, codes) in table.quasi.iter().zip(&table.quasi_codes) {
        // The coarsest groups below the root.
        let top = attribute.taxonomy.children(attribute.taxonomy.root());
        let mut counts = vec![(0u64, 0u64); top.len()];
        for (record, &row) in extract.row_of.iter().enumerate() {
            let code = codes[row as usize];
            let Some(at) = top.iter().position(|run| run.contains(code)) else { continue };
            counts[at].0 += 1;
            counts[at].1 += u64::from(is_exposed[record]);
        }
        for (run, (people, exposed)) in
            top.iter().zip(counts).filter(|(_, (people, exposed))| *people >= 5 && *exposed > 0)
        {
            let value = attribute.taxonomy.label(*run).into_owned();
            found.push(Cohort { column: attribute.name.clone(), value, people, exposed });
        }
    }
    let share = |c: &Cohort| c.exposed as f64 / c.people as f64;
    found.sort_by(|a, b| share(b).total_cmp(&share(a)).then(b.exposed.cmp(&a.exposed)));
    found.truncate(COHORTS);
    found
}
