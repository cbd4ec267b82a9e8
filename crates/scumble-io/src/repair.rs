//! When the gate refuses: the cheapest change found that passes.
//!
//! A candidate is a change of the policy (another algorithm, a stronger parameter, a column not published) or of what was
//! made (a column coarsened, groups merged, people left out). Each is carried out, judged by the models and by the gate; those that pass are
//! ranked by what the recipient loses: how far estimates of random COUNT queries are from the truth, where a query about a
//! column that is no longer there counts as wholly wrong.

use crate::answer::Remedy;
use crate::compare::RANDOM;
use crate::gatekeeper::Gatekeeper;
use crate::publisher::{Carried, Clock, How, Options, carry_out};
use crate::write::Rows;
use hashbrown::HashSet;
use scumble::catalogue::{ALGORITHMS, Parameters};
use scumble::class::Run;
use scumble::policy::{AlgorithmChoice, Policy};
use scumble::problem::Problems;
use scumble::publish::{Made, Outcome, judge, make, measure};
use scumble::query::{Query, errors};
use scumble::release::{Form, Generalized, Member, Members, Release, Shape};
use scumble::table::{Role, Table};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

/// No further candidate is begun after so long, if nothing was found yet or something was;
const PATIENCE: [Duration; 2] = [Duration::from_secs(60), Duration::from_secs(20)];
/// or if the best is to be published.
const THOROUGH: Duration = Duration::from_secs(600);

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

/// Looks for changes that pass, the cheapest first; and what should be said of the search.
pub(crate) fn repair(job: &Job<'_>, refused: &Carried) -> Result<(Vec<Repaired>, Option<String>), Problems> {
    let begun = Instant::now();
    let queries = questions(&refused.extract.table);
    let mut found: Vec<Repaired> = Vec::new();
    let changes = changes(&refused.policy);
    let all = changes.len() as u64 + 3;
    job.options.watcher.phase("looking for a release that passes");
    let limit = |found: usize| if job.options.repair { THOROUGH } else { PATIENCE[usize::from(found > 0)] };
    let patient = |found: &[Repaired]| begun.elapsed() < limit(found.len());
    for (i, change) in (0u64..).zip(changes) {
        if !patient(&found) {
            break;
        }
        job.options.watcher.at(i, all);
        found.extend(job.policy_changed(&change, &queries)?);
    }
    let steps: [&Step<'_>; 3] = [
        &|found| job.coarsened(refused, &queries, &|| patient(found)),
        &|_| Ok(job.merged(refused, &queries)?.into_iter().collect()),
        &|_| Ok(job.left_out(refused, &queries)?.into_iter().collect()),
    ];
    for (i, step) in (all - 3..).zip(steps) {
        if patient(&found) {
            job.options.watcher.at(i, all);
            let more = step(&found)?;
            found.extend(more);
        }
    }
    let longer = if job.options.repair { "" } else { "; `--repair` looks for longer" };
    let seconds = limit(found.len()).as_secs();
    let note = match (found.is_empty(), patient(&found)) {
        (true, true) => Some("no change was found that passes".to_owned()),
        (true, false) => Some(format!("no change was found within {seconds} s that passes{longer}")),
        (false, false) => Some(format!("changes were looked for during {seconds} s{longer}")),
        (false, true) => None,
    };
    found.sort_by(|Repaired { remedy: a, .. }, Repaired { remedy: b, .. }| {
        let gcp = |r: &Remedy| r.gcp.unwrap_or(0.0);
        a.loss.total_cmp(&b.loss).then(a.suppressed.cmp(&b.suppressed)).then(gcp(a).total_cmp(&gcp(b)))
    });
    Ok((found, note))
}

/// A step of the search, which knows what was found so far.
type Step<'a> = dyn Fn(&[Repaired]) -> Result<Vec<Repaired>, Problems> + 'a;

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
    // Groups of earlier releases stay together: what a generalized release can do.
    let keeping = own.get("keep").is_some_and(|keep| keep == "groups");
    if policy.sensitive().next().is_some() && !(policy.algorithm.name == "mondrian" && keeping) {
        changes.push(Change::Algorithm("mondrian", BTreeMap::from([("keep".to_owned(), "groups".to_owned())])));
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
        let Ok(carried) = carry_out(policy, &self.how(seed), &mut Clock::new()) else {
            return Ok(None);
        };
        Ok(self.passes(carried, what, queries)?.ok().map(|repaired| *repaired))
    }

    /// Publishes a column of the refused release no finer than at a level of its taxonomy: the lowest that passes, for each
    /// column. An anatomized release has the same groups whatever its columns say.
    fn coarsened(
        &self,
        refused: &Carried,
        queries: &[Query],
        patience: &dyn Fn() -> bool,
    ) -> Result<Vec<Repaired>, Problems> {
        let mut found = Vec::new();
        let made = refused.made.as_deref().map(|made| &made.form);
        let Some(Form::Generalized(form)) = made.filter(|form| has_regions(form)) else { return Ok(found) };
        let table = &refused.extract.table;
        for (column, attribute) in table.quasi.iter().enumerate() {
            let mut spare = None;
            // The highest level says nothing.
            for level in (1..attribute.taxonomy.levels()).take_while(|_| patience()) {
                let classes = coarsen(table, form, column, level);
                if classes.classes.len() == form.classes.len() {
                    continue;
                }
                let mut carried = match spare.take() {
                    Some(carried) => carried,
                    None => self.again(refused)?,
                };
                if !self.remake(&mut carried, Form::Generalized(classes)) {
                    spare = Some(carried);
                    continue;
                }
                let what = format!("the column `{}` no finer than level {level} of its taxonomy", attribute.name);
                match self.passes(carried, what, queries)? {
                    Ok(repaired) => {
                        found.push(*repaired);
                        break;
                    }
                    Err(refused) => spare = Some(*refused),
                }
            }
        }
        Ok(found)
    }

    /// Merges the groups of the people who are exposed with their neighbours until the gate is content.
    fn merged(&self, refused: &Carried, queries: &[Query]) -> Result<Option<Repaired>, Problems> {
        let mut carried = self.again(refused)?;
        carried.exposed.clone_from(&refused.exposed);
        let mut merged = 0;
        for _ in 0..ROUNDS {
            let Some(made) = carried.made.take() else { return Ok(None) };
            let class_of = Rows::new(&carried.extract, &made.form, &carried.extract.layout, carried.seed).class_of();
            let exposed = carried.exposed.iter().map(|&r| class_of[r as usize]).collect();
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
        carried.exposed.clone_from(&refused.exposed);
        let mut gone: HashSet<u32> = HashSet::new();
        for _ in 0..ROUNDS {
            let before = gone.len();
            gone.extend(carried.exposed.iter().copied());
            // More than a tenth is no repair.
            if gone.len() == before || 10 * gone.len() > carried.extract.row_of.len() {
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
        carry_out(policy, &self.how(seed), &mut Clock::new())
    }

    fn how(&self, seed: Option<u64>) -> How<'_> {
        let watcher = self.options.watcher;
        How { base: self.base, seed, all: false, keeper: Some(self.keeper), engine: None, watcher }
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
        let passes = carried.made.is_some() && carried.pass(self.keeper, self.target, self.options)?;
        let Some(made) = carried.made.as_ref().filter(|_| passes) else { return Ok(Err(Box::new(carried))) };
        let remedy = Remedy {
            what,
            loss: loss(&carried.extract.table, &made.release, queries),
            gcp: carried.answer.utility.get("gcp").copied(),
            suppressed: carried.answer.suppressed,
            applied: false,
        };
        Ok(Ok(Box::new(Repaired { carried, remedy })))
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

/// Whether it tells regions of the table's own attributes, which can be made larger.
fn has_regions(form: &Form) -> bool {
    matches!(form, Form::Generalized(form) if form.shape == Shape::Regions && form.quasi.is_none())
}

/// The same classes with a column no finer than at a level of its taxonomy.
fn coarsen(table: &Table, form: &Generalized, column: usize, level: usize) -> Generalized {
    let taxonomy = &table.quasi[column].taxonomy;
    let coarser = |class: &Members| {
        let mut class = class.clone();
        let run = class.region[column];
        let (first, last) = (taxonomy.at_level(run.first, level), taxonomy.at_level(run.last, level));
        class.region[column] = taxonomy.cover(Run::new(first.first.min(last.first), first.last.max(last.last)));
        class
    };
    let classes = form.classes.iter().map(coarser).collect();
    Generalized { notes: form.notes.clone(), ..Generalized::new(classes, form.suppressed.clone()) }
}

/// Merges these groups with the ones beside them; how many, or `None` if none can be.
fn merge(table: &Table, form: Form, groups: &HashSet<u32>) -> Option<(Form, usize)> {
    let has_regions = has_regions(&form);
    let (form, merged) = match form {
        Form::Generalized(form) if has_regions => {
            let (kept, merged) = join_neighbours(form.classes, groups, |last, next| {
                last.region = union(table, &last.region, &next.region);
                last.members.extend(next.members);
            });
            (Form::Generalized(Generalized { notes: form.notes, ..Generalized::new(kept, form.suppressed) }), merged)
        }
        Form::Anatomized(mut form) if form.counterfeits.is_empty() => {
            let (kept, merged) = join_neighbours(form.groups, groups, |last, next| last.extend(next));
            form.groups = kept;
            (Form::Anatomized(form), merged)
        }
        _ => return None,
    };
    (merged > 0).then_some((form, merged))
}

/// Joins the groups with these numbers to the ones before them; the first, which has nobody before it, to the next.
fn join_neighbours<T>(all: Vec<T>, numbers: &HashSet<u32>, join: impl Fn(&mut T, T)) -> (Vec<T>, usize) {
    let (mut kept, mut merged, mut pending): (Vec<T>, _, _) = (Vec::new(), 0, false);
    for (i, group) in (0u32..).zip(all) {
        let exposed = numbers.contains(&i);
        match kept.last_mut().filter(|_| exposed || pending) {
            Some(last) => {
                join(last, group);
                merged += 1;
                pending = false;
            }
            None => {
                pending = exposed;
                kept.push(group);
            }
        }
    }
    (kept, merged)
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
        answer.classes = made.release.sizes().iter().map(|(_, n)| n).sum();
        answer.suppressed = made.release.suppressed;
        answer.utility = measure(Some(&self.extract.table), made, self.policy.k(), false).into_iter().collect();
    }
}
