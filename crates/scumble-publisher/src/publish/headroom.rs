//! How much may still be published before the gate closes.
//!
//! The policy is carried out again and again with fresh randomness, as dry runs: each release that
//! passes is remembered beside those of the ledger, until the gate refuses one. Done for all
//! sensitive attributes together and for each alone, so that a steward sees which column uses the
//! room up; and for the people whom the refused release would expose it is told what they have in
//! common.

use crate::answer::{Cohort, Headroom, Published, Room, VERSION};
use crate::policy_file::PolicyFile;
use crate::publish::gatekeeper::Gatekeeper;
use crate::publish::{Carried, Clock, How, PublishRequest, carry_out};
use crate::publisher::Task;
use scumble::failure::{Failure, Failures};
use std::path::Path;

/// Cohorts that are told.
const COHORTS: usize = 5;

/// Finds out how much may still be published.
pub(crate) fn headroom(
    file: &PolicyFile,
    most: u64,
    options: Task<'_, PublishRequest>,
) -> Result<Headroom, Failures> {
    let policy = file.policy()?;
    if !policy.attributes.iter().any(|a| a.person) {
        return Err(Failure::policy("needs-person", 
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
        policy: file.name.clone(),
        earlier: 0,
        left: Vec::new(),
        columns: Vec::new(),
        warnings: Vec::new(),
    };
    for (i, set) in sets.into_iter().enumerate() {
        let mut keeper = Gatekeeper::open(&file.policy()?, &file.base, options)?;
        keeper.remember(&file.policy()?, options)?;
        let room = room(file, &set, most, &mut keeper, options, (i == 0).then_some(&mut answer))?;
        answer.columns.push(room);
        answer.warnings.append(&mut keeper.warnings);
    }
    answer.warnings.dedup();
    Ok(answer)
}

/// Publishes the attributes again and again, in thought.
fn room(
    file: &PolicyFile,
    attributes: &[String],
    most: u64,
    keeper: &mut Gatekeeper,
    options: Task<'_, PublishRequest>,
    mut told: Option<&mut Headroom>,
) -> Result<Room, Failures> {
    let mut room = Room {
        attributes: attributes.to_vec(),
        releases: 0,
        more: true,
        because: Vec::new(),
        exposed: 0,
        cohorts: Vec::new(),
    };
    while room.releases < most {
        let mut policy = file.policy()?;
        let others: Vec<String> = policy
            .sensitive()
            .map(|a| a.name.clone())
            .filter(|n| !attributes.contains(n))
            .collect();
        if others.iter().any(|name| !policy.without(name)) {
            room.more = false;
            room.because.push("without the other attributes the policy promises nothing".into());
            return Ok(room);
        }
        let seed = options.seed.map(|s| s + room.releases);
        let (base, publisher) = (&file.base, options.publisher);
        let how = How { base, seed, all: false, keeper: Some(keeper), engine: None, publisher };
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
            told.left = keeper.left(&new, options.publisher.observer)?;
        }
        let mut verdict = Published { gate: Vec::new(), reasons: Vec::new(), ..answer };
        let (passes, exposed, _) =
            keeper.judge(&policy.gate, &extract, &new, options, &mut verdict)?;
        if !passes {
            room.more = false;
            room.because = verdict.reasons.iter().map(|r| r.message.clone()).collect();
            room.exposed = exposed.len() as u64;
            room.cohorts = cohorts(&extract, &exposed);
            return Ok(room);
        }
        options.publisher.observer.go_on()?;
        keeper.imagine(new);
        room.releases += 1;
    }
    Ok(room)
}

/// What exposed people have in common: the cohorts with the largest share of them, of at least a
/// few people.
fn cohorts(extract: &crate::publish::source::Extract, exposed: &[u32]) -> Vec<Cohort> {
    let table = &extract.table;
    let mut is_exposed = vec![false; extract.rows.of_records().len()];
    exposed.iter().for_each(|&r| is_exposed[r as usize] = true);
    let mut found = Vec::new();
    for (attribute, codes) in table.quasi.iter().zip(&table.quasi_codes) {
        // The coarsest groups below the root.
        let top = attribute.taxonomy.children(attribute.taxonomy.root());
        let mut counts = vec![(0u64, 0u64); top.len()];
        for (record, &row) in extract.rows.of_records().iter().enumerate() {
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
