//! When the gate refuses: the cheapest change found that passes.
//!
//! A candidate is a change of the policy (another algorithm, a stronger parameter, a column not published) or of what was
//! made (groups merged, people left out). Each is carried out, judged by the models and by the gate; those that pass are
//! ranked by what the recipient loses: how far estimates of random COUNT queries are from the truth, where a query about a
//! column that is no longer there counts as wholly wrong.

use crate::answer::{Published, Remedy};
use crate::compare::RANDOM;
use crate::gatekeeper::Gatekeeper;
use crate::publisher::{Carried, Clock, Options, carry_out};
use hashbrown::HashSet;
use scumble::catalogue::{ALGORITHMS, Parameters};
use scumble::class::Run;
use scumble::gate::Gate;
use scumble::policy::{AlgorithmChoice, Policy};
use scumble::problem::Problems;
use scumble::publish::{Made, Outcome, judge, make, measure};
use scumble::query::{Query, errors};
use scumble::release::{Form, Generalized, Member, Members, Release, Shape};
use scumble::table::{Role, Table};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

/// No further candidate is begun after so long; more time is taken if the best is to be published.
const PATIENCE: [Duration; 2] = [Duration::from_secs(60), Duration::from_secs(600)];

/// Groups are merged, and people left out, so often before it is given up.
const ROUNDS: usize = 6;

/// So many random queries tell what is lost.
const QUERIES: usize = 300;

/// A change that passes.
pub(crate) struct Repaired {
    pub carried: Carried,
    pub remedy: Remedy,
}

/// A change that passes, or what does not.
type Passed = Result<Box<Repaired>, Box<Carried>>;

/// What is to be repaired.
pub(crate) struct Job<'a> {
    /// Name and text of the policy.
    pub policy: (&'a str, &'a str),
    pub base: &'a Path,
    pub target: &'a Path,
    pub keeper: &'a Gatekeeper,
    pub options: &'a Options<'a>,
}

/// Looks for changes that pass, the cheapest first.
pub(crate) fn repair(job: &Job<'_>, refused: &Carried) -> Result<Vec<Repaired>, Problems> {
    let begun = Instant::now();
    let queries = questions(&refused.extract.table);
    let mut found: Vec<Repaired> = Vec::new();
    let changes = changes(&refused.policy);
    let all = changes.len() as u64 + 2;
    job.options.watcher.phase("looking for a release that passes");
    let patience = || begun.elapsed() < PATIENCE[usize::from(job.options.repair)];
    for (i, change) in changes.into_iter().enumerate() {
        if !patience() {
            break;
        }
        job.options.watcher.at(i as u64, all);
        found.extend(job.policy_changed(&change, &queries)?);
    }
    if patience() {
        job.options.watcher.at(all - 2, all);
        found.extend(job.merged(refused, &queries)?);
    }
    if patience() {
        job.options.watcher.at(all - 1, all);
        found.extend(job.left_out(refused, &queries)?);
    }
    found.sort_by(|a, b| a.remedy.loss.total_cmp(&b.remedy.loss).then(a.remedy.suppressed.cmp(&b.remedy.suppressed)));
    Ok(found)
}

/// A change of the policy.
enum Change {
    /// Another algorithm, with these parameters.
    Algorithm(&'static str, BTreeMap<String, String>),
    /// The i-th model asks for so much.
    Stronger(usize, &'static str, u64),
    /// A column is not published.
    Without(String),
}

/// Changes worth trying.
fn changes(policy: &Policy) -> Vec<Change> {
    let mut changes = Vec::new();
    let whole = |texts: &BTreeMap<String, String>, key: &str| texts.get(key).and_then(|t| t.parse::<u64>().ok());
    let own = policy.algorithm.parameters.texts();
    let number = |key: &str| whole(&own, key);
    let asked = policy.requirements.iter().filter_map(|r| whole(&r.parameters.texts(), "l")).max();
    let l = number("l").or(number("m")).or(asked).unwrap_or(2).max(2);
    if policy.sensitive().count() == 1 {
        for (name, key) in [("history-guided", "l"), ("m-invariance", "m")] {
            if policy.algorithm.name != name {
                changes.push(Change::Algorithm(name, BTreeMap::from([(key.to_owned(), l.to_string())])));
            }
        }
    }
    if let Some((key, value)) = ["l", "m"].iter().find_map(|key| Some((key, number(key)?))) {
        for times in [2, 4] {
            let mut parameters = own.clone();
            parameters.insert((*key).to_string(), (value * times).to_string());
            changes.push(Change::Algorithm(policy.algorithm.name, parameters));
        }
    }
    for (i, requirement) in policy.requirements.iter().enumerate() {
        for key in ["k", "l"] {
            let whole = whole(&requirement.parameters.texts(), key);
            changes.extend(
                whole.into_iter().flat_map(|n| [Change::Stronger(i, key, 2 * n), Change::Stronger(i, key, 4 * n)]),
            );
        }
    }
    let published = policy.attributes.iter().filter(|a| matches!(a.role, Role::QuasiIdentifier | Role::Sensitive));
    changes.extend(published.map(|a| Change::Without(a.name.clone())));
    changes
}

impl Change {
    /// Makes the change; `None` if the policy would promise nothing then, or cannot be so.
    fn apply(&self, policy: &mut Policy) -> Option<String> {
        match self {
            Change::Algorithm(name, given) => {
                let entry = ALGORITHMS.iter().find(|e| e.name == *name)?;
                let parameters = Parameters::read(entry.name, entry.parameters, given).ok()?;
                let algorithm = (entry.build)(&parameters).ok()?;
                let seconds = policy.algorithm.seconds;
                policy.algorithm = AlgorithmChoice { name: entry.name, parameters, algorithm, seconds };
                let given: Vec<String> = given.iter().map(|(key, value)| format!("{key} = {value}")).collect();
                Some(format!("algorithm `{name}` with {}", given.join(", ")))
            }
            Change::Stronger(i, key, value) => {
                let requirement = policy.requirements.get_mut(*i)?;
                let entry = scumble::catalogue::MODELS.iter().find(|e| e.name == requirement.name)?;
                let mut texts = requirement.parameters.texts();
                texts.insert((*key).to_owned(), value.to_string());
                requirement.parameters = Parameters::read(entry.name, entry.parameters, &texts).ok()?;
                requirement.model = (entry.build)(&requirement.parameters).ok()?;
                Some(format!("`{}` with {key} = {value}", entry.name))
            }
            Change::Without(name) => policy.without(name).then(|| format!("without the column `{name}`")),
        }
    }
}

impl Job<'_> {
    fn policy_changed(&self, change: &Change, queries: &[Query]) -> Result<Option<Repaired>, Problems> {
        let mut policy = Policy::parse(self.policy.0, self.policy.1)?;
        let Some(what) = change.apply(&mut policy) else { return Ok(None) };
        let seed = self.options.seed;
        // A change that the data do not allow is none.
        let Ok(carried) =
            carry_out(policy, self.base, seed, false, Some(self.keeper), self.options.watcher, &mut Clock::new())
        else {
            return Ok(None);
        };
        Ok(self.passes(carried, what, queries)?.ok().map(|repaired| *repaired))
    }

    /// Merges the groups of the people who are exposed with their neighbours until the gate is content.
    fn merged(&self, refused: &Carried, queries: &[Query]) -> Result<Option<Repaired>, Problems> {
        let mut carried = self.again(refused)?;
        let mut merged = 0;
        for _ in 0..ROUNDS {
            let exposed = self.exposed_groups(&carried)?;
            let Some(made) = carried.made.take() else { return Ok(None) };
            let Some((form, n)) = merge(&carried.extract.table, made.form, &exposed) else { return Ok(None) };
            merged += n;
            if !self.remake(&mut carried, form) {
                return Ok(None);
            }
            let groups = if merged == 1 { "one group".into() } else { format!("{merged} groups") };
            match self.passes(carried, format!("{groups} merged with neighbours"), queries)? {
                Ok(repaired) => return Ok(Some(*repaired)),
                Err(refused) => carried = *refused,
            }
        }
        Ok(None)
    }

    /// Leaves the people out who are exposed, and whoever is exposed then, until the gate is content.
    fn left_out(&self, refused: &Carried, queries: &[Query]) -> Result<Option<Repaired>, Problems> {
        let mut carried = self.again(refused)?;
        let mut gone: HashSet<u32> = HashSet::new();
        for _ in 0..ROUNDS {
            let exposed = self.exposed_records(&carried)?;
            if exposed.iter().all(|record| gone.contains(record)) {
                return Ok(None);
            }
            gone.extend(exposed);
            // More than a tenth is no repair.
            if 10 * gone.len() > carried.extract.row_of.len() {
                return Ok(None);
            }
            carried.extract.left_out = gone.iter().copied().collect();
            carried.extract.left_out.sort_unstable();
            let Some(form) = without(&carried, &gone, self.options.seed.unwrap_or(1)) else { return Ok(None) };
            if !self.remake(&mut carried, form) {
                return Ok(None);
            }
            let people = gone.len();
            let people = if people == 1 { "one person".into() } else { format!("{people} people") };
            let what = format!("{people} left out (who they are depends on their values, which may itself be a hint)");
            match self.passes(carried, what, queries)? {
                Ok(repaired) => return Ok(Some(*repaired)),
                Err(refused) => carried = *refused,
            }
        }
        Ok(None)
    }

    /// What was refused, once more: it is the same with the same randomness.
    fn again(&self, refused: &Carried) -> Result<Carried, Problems> {
        let policy = Policy::parse(self.policy.0, self.policy.1)?;
        let seed = Some(refused.seed);
        carry_out(policy, self.base, seed, false, Some(self.keeper), self.options.watcher, &mut Clock::new())
    }

    /// Judges a form in place of what was made; whether it keeps every promise.
    fn remake(&self, carried: &mut Carried, form: Form) -> bool {
        let release = Release::of(&carried.extract.table, &form);
        let Ok(judgements) = judge(&release, &carried.policy.requirements) else { return false };
        if judgements.iter().any(|j| !j.holds) {
            return false;
        }
        carried.made = Some(Box::new(Made { form, release, judgements }));
        carried.tell();
        true
    }

    /// The change, if the gate lets it pass; otherwise what was given.
    fn passes(&self, mut carried: Carried, what: String, queries: &[Query]) -> Result<Passed, Problems> {
        let Some(made) = &carried.made else { return Ok(Err(Box::new(carried))) };
        let new = self.keeper.new_release(&carried.policy, &carried.extract, made, self.target, carried.seed);
        let Some(new) = new else { return Ok(Err(Box::new(carried))) };
        let mut answer = Published { gate: Vec::new(), reasons: Vec::new(), ..carried.answer.clone() };
        if !self.keeper.judge(&carried.policy.gate, &carried.extract, &new, self.options, &mut answer)? {
            return Ok(Err(Box::new(carried)));
        }
        let remedy = Remedy {
            what,
            loss: loss(&carried.extract.table, &made.release, queries),
            gcp: answer.utility.get("gcp").copied(),
            suppressed: answer.suppressed,
            applied: false,
        };
        carried.answer = answer;
        Ok(Ok(Box::new(Repaired { carried, remedy })))
    }

    /// The groups of those who are exposed.
    fn exposed_groups(&self, carried: &Carried) -> Result<HashSet<u32>, Problems> {
        let Some(made) = &carried.made else { return Ok(HashSet::new()) };
        let new = self.keeper.new_release(&carried.policy, &carried.extract, made, self.target, carried.seed);
        let records = self.exposed_records(carried)?;
        Ok(new.map_or_else(HashSet::new, |n| records.iter().map(|&r| n.groups[r as usize]).collect()))
    }

    fn exposed_records(&self, carried: &Carried) -> Result<Vec<u32>, Problems> {
        let Some(made) = &carried.made else { return Ok(Vec::new()) };
        let gate: &Gate = &carried.policy.gate;
        match self.keeper.new_release(&carried.policy, &carried.extract, made, self.target, carried.seed) {
            Some(new) => self.keeper.exposed(gate, &carried.extract, &new, self.options),
            None => Ok(Vec::new()),
        }
    }
}

/// Questions about what the policy publishes.
fn questions(table: &Table) -> Vec<Query> {
    let quasi: Vec<_> = table.quasi.iter().collect();
    let sensitive: Vec<_> = table.published_sensitive().iter().collect();
    if quasi.is_empty() { Vec::new() } else { RANDOM.draw(&quasi, &sensitive, QUERIES, 1) }
}

/// How far the answers of a release are from the truth, in the median; a question that it cannot be asked is wholly wrong.
fn loss(table: &Table, release: &Release, queries: &[Query]) -> f64 {
    let bound: Vec<_> = queries.iter().filter_map(|q| q.bind(&table.quasi, table.published_sensitive()).ok()).collect();
    if queries.is_empty() || bound.is_empty() {
        return 1.0;
    }
    let answered = bound.len() as f64 / queries.len() as f64;
    answered * errors(&bound, table, release).median + (1.0 - answered)
}

/// Merges these groups with the ones beside them; how many, or `None` if none can be.
fn merge(table: &Table, form: Form, groups: &HashSet<u32>) -> Option<(Form, usize)> {
    match form {
        Form::Generalized(form) if form.shape == Shape::Regions && form.quasi.is_none() => {
            let mut kept: Vec<Members> = Vec::new();
            let (mut merged, mut pending) = (0, false);
            for (i, class) in (0u32..).zip(form.classes) {
                let exposed = groups.contains(&i);
                match kept.last_mut().filter(|_| exposed || pending) {
                    Some(last) => {
                        last.region = union(table, &last.region, &class.region);
                        last.members.extend(class.members);
                        merged += 1;
                        pending = false;
                    }
                    None => {
                        // The first has nobody before it.
                        pending = exposed;
                        kept.push(class);
                    }
                }
            }
            let form = Generalized { notes: form.notes, ..Generalized::new(kept, form.suppressed) };
            (merged > 0).then_some((Form::Generalized(form), merged))
        }
        Form::Anatomized(mut form) if form.counterfeits.is_empty() => {
            let mut kept: Vec<Vec<Member>> = Vec::new();
            let (mut merged, mut pending) = (0, false);
            for (i, group) in (0u32..).zip(form.groups) {
                let exposed = groups.contains(&i);
                match kept.last_mut().filter(|_| exposed || pending) {
                    Some(last) => {
                        last.extend(group);
                        merged += 1;
                        pending = false;
                    }
                    None => {
                        pending = exposed;
                        kept.push(group);
                    }
                }
            }
            form.groups = kept;
            (merged > 0).then_some((Form::Anatomized(form), merged))
        }
        _ => None,
    }
}

/// The least region that can be published and covers both.
fn union(table: &Table, a: &[Run], b: &[Run]) -> Box<[Run]> {
    let cover = |((x, y), attribute): ((&Run, &Run), &scumble::table::Attribute)| {
        attribute.taxonomy.cover(Run::new(x.first.min(y.first), x.last.max(y.last)))
    };
    a.iter().zip(b).zip(&table.quasi).map(cover).collect()
}

/// What the policy's algorithm makes of everybody else; those who are gone are left out.
fn without(carried: &Carried, gone: &HashSet<u32>, seed: u64) -> Option<Form> {
    let table = &carried.extract.table;
    let mut counts = table.counts.clone();
    let mut left_out: BTreeMap<u32, u32> = BTreeMap::new();
    for &record in gone {
        let row = carried.extract.row_of[record as usize];
        counts[row as usize] -= 1;
        *left_out.entry(row).or_default() += 1;
    }
    let rows: Vec<u32> = (0..counts.len() as u32).filter(|&row| counts[row as usize] > 0).collect();
    let some = |codes: &Vec<u32>| rows.iter().map(|&row| codes[row as usize]).collect();
    let fewer = Table {
        quasi: table.quasi.clone(),
        sensitive: table.sensitive.clone(),
        quasi_codes: table.quasi_codes.iter().map(some).collect(),
        sensitive_codes: table.sensitive_codes.iter().map(some).collect(),
        counts: rows.iter().map(|&row| counts[row as usize]).collect(),
        past: table
            .past
            .as_ref()
            .map(|past| scumble::history::History { groups: past.groups.clone(), of_row: some(&past.of_row) }),
    };
    let policy = &carried.policy;
    let made = make(&fewer, &*policy.algorithm.algorithm, &policy.requirements, seed, &|_, _| true);
    let Outcome::Made(made) = made else { return None };
    let back = |members: &mut Vec<Member>| members.iter_mut().for_each(|m| m.row = rows[m.row as usize]);
    let left_out = left_out.into_iter().map(|(row, count)| Member { row, count });
    let mut form = made.form;
    match &mut form {
        Form::Generalized(form) => {
            form.classes.iter_mut().for_each(|class| back(&mut class.members));
            back(&mut form.suppressed);
            form.suppressed.extend(left_out);
        }
        Form::Anatomized(form) => {
            form.groups.iter_mut().for_each(back);
            back(&mut form.suppressed);
            form.suppressed.extend(left_out);
        }
    }
    Some(form)
}

/// Measures what was made again, for the answer.
impl Carried {
    pub(crate) fn tell(&mut self) {
        let Some(made) = &self.made else { return };
        let answer = &mut self.answer;
        answer.rows = made.release.records();
        answer.classes = made.release.identities().len() as u64;
        answer.suppressed = made.release.suppressed;
        answer.utility = measure(Some(&self.extract.table), made, self.policy.k(), false).into_iter().collect();
    }
}
