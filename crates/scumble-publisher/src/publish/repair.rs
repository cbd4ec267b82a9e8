//! Remedies: changes with which the gate lets a refused release pass.
//!
//! A candidate changes the policy as data (another algorithm, a stronger parameter, a column not published)
//! or what was made (a column coarsened, groups merged, people suppressed). Each is carried out on
//! the source as it was read for the refused release, and judged by the models and by the gate. Those that pass are
//! ranked by what they keep: sensitive columns, people, other columns, then the error of random
//! COUNT queries, where a query about a column that is no longer there counts as wholly wrong.
//!
//! The candidates of a policy are numbered in a fixed order, and a number always means the same
//! change: the steward who chooses one from a list gets that one, or is told that it does not pass
//! any more. While neither the policy nor the ledger changes, the random choices of candidates are
//! the same too.

use crate::answer::{Reason, Remedy, Tried};
use crate::observer::Phase;
use crate::policy_file::PolicyFile;
use crate::publish::compare::RANDOM;
use crate::publish::gatekeeper::Gatekeeper;
use crate::publish::source::Source;
use crate::publish::{Carried, Clock, How, PublishRequest, carry_out_on};
use crate::publisher::Task;
use crate::table::write::Rows;
use hashbrown::HashSet;
use scumble::class::Run;
use scumble::failure::{Failure, Failures};
use scumble::model::Concern;
use scumble::policy::spec::{AlgorithmSpec, ModelSpec, Setting};
use scumble::policy::{Policy, PolicyDocument, PolicySpec};
use scumble::publish::{Made, Outcome, judged, make};
use scumble::query::{Query, errors};
use scumble::release::{Form, Generalized, Member, Members, Release, Shape};
use scumble::table::{Role, Table};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

/// What is done about a release that the gate refuses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Repair {
    /// Nothing: it is refused, and no remedy is looked for.
    Off,
    /// Remedies are looked for and listed.
    #[default]
    List,
    /// The best remedy is published that drops no column, suppresses nobody and shows no
    /// quasi-identifier more exactly.
    Best,
    /// The remedy with this number is published.
    Number(u64),
}

/// How long further candidates are begun, while no remedy was found and once one was.
const PATIENCE: [Duration; 2] = [Duration::from_secs(60), Duration::from_secs(20)];
/// How long if a remedy is to be published.
const THOROUGH: Duration = Duration::from_secs(600);

/// Rounds of merging groups, or of suppressing people, before it is given up.
const ROUNDS: usize = 6;

/// Random queries that measure the loss.
const QUERIES: usize = 300;

/// A change that passes.
pub(crate) struct Repaired {
    pub carried: Carried,
    pub remedy: Remedy,
}

/// A refused release and what it takes to make it again.
pub(crate) struct Job<'a> {
    pub policy: &'a PolicyFile,
    pub target: &'a Path,
    pub keeper: &'a Gatekeeper,
    pub options: Task<'a, PublishRequest>,
    /// The source as it was read, if remedies may be looked for.
    pub kept: Option<Source>,
}

/// Whether remedies may be looked for, should the gate refuse.
pub(crate) fn may_follow(
    policy: &Policy,
    keeper: &Gatekeeper,
    options: Task<'_, PublishRequest>,
) -> bool {
    keeper.judges() && is_wanted(policy, options)
}

fn is_wanted(policy: &Policy, options: Task<'_, PublishRequest>) -> bool {
    match options.repair {
        Repair::Off => false,
        Repair::List => policy.gate.remedies,
        Repair::Best | Repair::Number(_) => true,
    }
}

/// What became of a refused release.
pub(crate) enum Answer {
    /// This is published instead; all remedies that are known, this one among them.
    Publish(Box<Carried>, Vec<Remedy>),
    /// It stays refused: remedies, and what the steward should know.
    Refuse { remedies: Vec<Remedy>, tried: Vec<Tried>, reasons: Vec<Reason>, warnings: Vec<String> },
}

/// Looks for remedies of a refused release, and chooses one if the options say so.
pub(crate) fn repair(job: &Job<'_>, refused: &Carried) -> Result<Answer, Failures> {
    let none = Answer::Refuse {
        remedies: Vec::new(),
        tried: Vec::new(),
        reasons: Vec::new(),
        warnings: Vec::new(),
    };
    let wanted = job.options.repair;
    if !is_wanted(&refused.policy, job.options) {
        return Ok(none);
    }
    let search = job.search(refused)?;
    let mut reasons = Vec::new();
    if let Repair::Number(number) = wanted {
        let at = number
            .checked_sub(1)
            .and_then(|i| usize::try_from(i).ok())
            .filter(|&i| i < search.changes.len());
        let Some(at) = at else {
            let last = search.changes.len();
            let problem =
                Failure::usage("no-such-remedy", format!("this policy has no remedy {number}"));
            return Err(problem
                .hint(format!("remedies of this policy have numbers from 1 to {last}"))
                .into());
        };
        match search.try_change(at)? {
            Some(Repaired { carried, remedy }) => {
                return Ok(Answer::Publish(
                    Box::new(carried),
                    vec![Remedy { applied: true, ..remedy }],
                ));
            }
            None => {
                let change = search.changes[at].words(&refused.policy);
                let failure = Failure::refused(
                    "remedy-does-not-pass",
                    format!("remedy {number} ({change}) does not pass"),
                );
                reasons.push(Reason::from(
                    &failure.hint("choose from the remedies that are listed now"),
                ));
            }
        }
    }
    let (mut found, note) = search.all()?;
    let mut remedies: Vec<Remedy> = found.iter().map(|r| r.remedy.clone()).collect();
    let mut warnings: Vec<String> = note.into_iter().collect();
    if wanted == Repair::Best {
        if let Some(best) = found.iter().position(|r| r.remedy.asks.is_none()) {
            remedies[best].applied = true;
            let carried = Box::new(found.swap_remove(best).carried);
            return Ok(Answer::Publish(carried, remedies));
        }
        if !found.is_empty() {
            warnings.push(
                "every remedy changes something that is only changed if it is chosen by its number"
                    .into(),
            );
        }
    }
    Ok(Answer::Refuse { remedies, tried: search.nearest(), reasons, warnings })
}

/// A candidate.
enum Change {
    /// Other random choices.
    Again,
    /// Another algorithm, with these parameters.
    Algorithm(&'static str, BTreeMap<String, String>),
    /// The i-th model asks for so much.
    Stronger(usize, &'static str, u64),
    /// A quasi-identifier, by its index, is published no finer than at a level of its taxonomy: the
    /// lowest that passes.
    Coarser(usize),
    /// Groups of exposed people are merged with their neighbours.
    Merged,
    /// Exposed people are suppressed.
    Suppressed,
    /// A column is not published.
    Without(String),
}

/// Candidates of a policy, in the order in which they are numbered and tried. It depends on the
/// policy alone.
fn changes(policy: &Policy) -> Vec<Change> {
    let mut changes = vec![Change::Again];
    let own = policy.algorithm.parameters.texts();
    let number = |key: &str| whole(&own, key);
    let asked = policy.requirements.iter().filter_map(|r| whole(&r.parameters.texts(), "l")).max();
    let l = number("l").or(number("m")).or(asked).unwrap_or(2).max(2);
    if policy.sensitive().count() == 1 {
        for (name, key) in [("history-guided", "l"), ("m-invariance", "m")] {
            if policy.algorithm.name != name {
                changes.push(Change::Algorithm(
                    name,
                    BTreeMap::from([(key.to_owned(), l.to_string())]),
                ));
            }
        }
    }
    // Groups of earlier releases stay together: what a generalized release can do.
    let keeping = own.get("keep").is_some_and(|keep| keep == "groups");
    if policy.sensitive().next().is_some() && !(policy.algorithm.name == "mondrian" && keeping) {
        changes.push(Change::Algorithm(
            "mondrian",
            BTreeMap::from([("keep".to_owned(), "groups".to_owned())]),
        ));
    }
    if let Some((key, value)) = ["l", "m"].iter().find_map(|key| Some((key, number(key)?))) {
        for times in [2, 4] {
            let mut parameters = own.clone();
            parameters.insert((*key).to_string(), value.saturating_mul(times).to_string());
            changes.push(Change::Algorithm(policy.algorithm.name, parameters));
        }
    }
    for (i, requirement) in policy.requirements.iter().enumerate() {
        for key in ["k", "l"] {
            if let Some(n) = whole(&requirement.parameters.texts(), key) {
                changes
                    .extend([2, 4].map(|times| Change::Stronger(i, key, n.saturating_mul(times))));
            }
        }
    }
    changes.extend((0..policy.quasi().count()).map(Change::Coarser));
    changes.extend([Change::Merged, Change::Suppressed]);
    for role in [Role::QuasiIdentifier, Role::Sensitive] {
        let of_role = policy.attributes.iter().filter(|a| a.role == role);
        changes.extend(of_role.map(|a| Change::Without(a.name.clone())));
    }
    changes
}

/// A parameter that is a whole number.
fn whole(texts: &BTreeMap<String, String>, key: &str) -> Option<u64> {
    texts.get(key).and_then(|t| t.parse().ok())
}

impl Change {
    /// What is changed.
    fn words(&self, policy: &Policy) -> String {
        match self {
            Change::Again => "the same policy with other random choices".into(),
            Change::Algorithm(name, given) => {
                let given: Vec<String> =
                    given.iter().map(|(key, value)| format!("{key} = {value}")).collect();
                format!("algorithm `{name}` with {}", given.join(", "))
            }
            Change::Stronger(i, key, value) => {
                format!("`{}` with {key} = {value}", policy.requirements[*i].name)
            }
            Change::Coarser(i) => {
                let name = policy.quasi().nth(*i).map_or("", |a| &a.name);
                format!("the column `{name}` at a higher level of its taxonomy")
            }
            Change::Merged => "groups of exposed people merged with their neighbours".into(),
            Change::Suppressed => "exposed people suppressed".into(),
            Change::Without(name) => format!("without the column `{name}`"),
        }
    }

    /// Changes the policy as data; `None` if it would promise nothing then, or cannot be so.
    fn apply(&self, spec: &mut PolicySpec, policy: &Policy) -> Option<()> {
        match self {
            Change::Algorithm(name, given) => {
                let own = policy.algorithm.parameters.texts();
                let mut chosen = spec.algorithm.take()?;
                if chosen.name != *name {
                    let seconds = chosen.seconds;
                    chosen = AlgorithmSpec { seconds, ..AlgorithmSpec::new(*name) };
                    set_all(&mut chosen, given.iter());
                } else {
                    set_all(&mut chosen, given.iter().filter(|(key, v)| own.get(*key) != Some(v)));
                }
                spec.algorithm = Some(chosen);
            }
            Change::Stronger(i, key, value) => {
                let at = own_model(spec, policy, *i)?;
                let value = i64::try_from(*value).ok()?;
                spec.models[at].parameters.insert((*key).to_owned(), value.into());
            }
            Change::Without(name) => return spec.without(name).then_some(()),
            Change::Again | Change::Coarser(_) | Change::Merged | Change::Suppressed => (),
        }
        Some(())
    }
}

fn set_all<'a>(
    algorithm: &mut AlgorithmSpec,
    given: impl Iterator<Item = (&'a String, &'a String)>,
) {
    for (key, value) in given {
        algorithm.parameters.insert(key.clone(), Setting::read(value));
    }
}

/// The model of the spec that a requirement of the policy comes from. One that stands for all
/// sensitive attributes is split into one for each, so that the others stay as they are.
fn own_model(spec: &mut PolicySpec, policy: &Policy, requirement: usize) -> Option<usize> {
    let sensitive: Vec<String> = policy.sensitive().map(|a| a.name.clone()).collect();
    let mut first = 0;
    for at in 0..spec.models.len() {
        let concerns = policy.requirements.get(first)?.model.promise().concerns;
        let for_all = concerns == Concern::Sensitive && spec.models[at].attribute.is_none();
        let count = if for_all { sensitive.len() } else { 1 };
        if requirement < first + count {
            if count > 1 {
                let model = spec.models.remove(at);
                let about =
                    |name: &String| ModelSpec { attribute: Some(name.clone()), ..model.clone() };
                spec.models.splice(at..at, sensitive.iter().map(about));
            }
            return Some(at + requirement - first);
        }
        first += count;
    }
    None
}

/// A change that passes, or what does not.
type Passed = Result<Box<Repaired>, Box<Carried>>;

/// The search for remedies of one refused release.
struct Search<'a> {
    job: &'a Job<'a>,
    refused: &'a Carried,
    changes: Vec<Change>,
    source: &'a Source,
    /// The policy as it was written.
    document: PolicyDocument,
    /// The randomness of all candidates.
    seed: u64,
    /// The policy carried out with that randomness, and what the gate says.
    again: Carried,
    again_passes: bool,
    queries: Vec<Query>,
    /// What was carried out and does not pass.
    tried: RefCell<Vec<Tried>>,
}

impl Job<'_> {
    fn search<'a>(&'a self, refused: &'a Carried) -> Result<Search<'a>, Failures> {
        let observer = self.options.publisher.observer;
        observer.phase(Phase::Repair);
        let source = self.kept.as_ref().ok_or_else(|| {
            Failure::bug("internal", "the source of a refused release was not kept")
        })?;
        let document = self.policy.document()?;
        let policy = document.spec().policy()?;
        let seed = self
            .options
            .seed
            .or_else(|| self.keeper.remedy_seed(&self.policy.text))
            .unwrap_or(refused.seed);
        let mut again = carry_out_on(source.clone(), policy, &self.how(seed), &mut Clock::new())?;
        let again_passes =
            again.made.is_some() && again.pass(self.keeper, self.target, self.options)?;
        let changes = changes(&refused.policy);
        let queries = questions(&refused.extract.table);
        Ok(Search {
            job: self,
            refused,
            changes,
            source,
            document,
            seed,
            again,
            again_passes,
            queries,
            tried: RefCell::default(),
        })
    }

    fn how(&self, seed: u64) -> How<'_> {
        How {
            base: &self.policy.base,
            seed: Some(seed),
            all: false,
            keeper: Some(self.keeper),
            engine: None,
            publisher: self.options.publisher,
        }
    }
}

impl Search<'_> {
    /// All remedies, those that keep most first; and what should be said of the search.
    fn all(&self) -> Result<(Vec<Repaired>, Option<String>), Failures> {
        let (begun, options) = (Instant::now(), self.job.options);
        let listing = matches!(options.repair, Repair::List);
        let limit =
            |found: usize| if listing { PATIENCE[usize::from(found > 0)] } else { THOROUGH };
        let most = limit(0).as_secs();
        options.publisher.observer.note(&format!(
            "refused by the gate; looking for changes that pass, for {most} s at most"
        ));
        let mut found: Vec<Repaired> = Vec::new();
        let mut finished = true;
        for at in 0..self.changes.len() {
            finished = begun.elapsed() < limit(found.len());
            if !finished {
                break;
            }
            options.publisher.observer.at(at as u64, self.changes.len() as u64);
            options.publisher.observer.go_on()?;
            found.extend(self.try_change(at)?);
        }
        let seconds = limit(found.len()).as_secs();
        let note = match (found.is_empty(), finished) {
            (true, true) => Some("no change was found that passes".to_owned()),
            (true, false) => Some(format!("no change was found within {seconds} s that passes")),
            (false, false) => {
                Some(format!("changes were looked for during {seconds} s: there may be more"))
            }
            (false, true) => None,
        };
        found.sort_by(|a, b| a.remedy.rank(&b.remedy));
        Ok((found, note))
    }

    /// What was tried and does not pass, the nearest first. Of a change that goes in steps the
    /// nearest step is told.
    fn nearest(&self) -> Vec<Tried> {
        let mut tried = self.tried.borrow().clone();
        tried.sort_by_key(Tried::distance);
        tried
    }

    /// Carries a candidate out; nothing if it does not pass.
    fn try_change(&self, at: usize) -> Result<Option<Repaired>, Failures> {
        let change = &self.changes[at];
        let before = self.tried.borrow().len();
        let repaired = match change {
            Change::Again if !self.again_passes => None,
            Change::Coarser(column) => self.coarsened(*column)?,
            Change::Merged => self.merged()?,
            Change::Suppressed => self.suppressed()?,
            _ => self.policy_changed(change)?,
        };
        let mut steps = self.tried.borrow_mut().split_off(before);
        steps.sort_by_key(Tried::distance);
        if repaired.is_none() {
            self.tried.borrow_mut().extend(steps.into_iter().next());
        }
        Ok(repaired.map(|mut repaired| {
            repaired.remedy.number = at as u64 + 1;
            repaired
        }))
    }

    fn policy_changed(&self, change: &Change) -> Result<Option<Repaired>, Failures> {
        let what = change.words(&self.refused.policy);
        let mut spec = self.document.spec().clone();
        if change.apply(&mut spec, &self.refused.policy).is_none() {
            return Ok(None);
        }
        let Ok(policy) = spec.policy() else { return Ok(None) };
        // A change that the data do not allow is none.
        let carried =
            carry_out_on(self.source.clone(), policy, &self.job.how(self.seed), &mut Clock::new());
        self.job.options.publisher.observer.go_on()?;
        let Ok(carried) = carried else { return Ok(None) };
        let Ok(mut repaired) = self.passes(carried, what)? else { return Ok(None) };
        if spec != *self.document.spec() {
            let mut changed = self.document.clone();
            changed.apply(&spec)?;
            repaired.remedy.policy = Some(changed.text().to_owned());
        }
        Ok(Some(*repaired))
    }

    /// Publishes a column no finer than at a level of its taxonomy: the lowest that passes. An
    /// anatomized release has the same groups whatever its columns say.
    fn coarsened(&self, column: usize) -> Result<Option<Repaired>, Failures> {
        let Some(Form::Generalized(form)) = self.form().filter(|form| has_regions(form)) else {
            return Ok(None);
        };
        let table = &self.again.extract.table;
        let attribute = &table.quasi[column];
        // The highest level says nothing.
        for level in 1..attribute.taxonomy.levels() {
            let classes = coarsen(table, form, column, level);
            if classes.classes.len() == form.classes.len() {
                continue;
            }
            let what = format!(
                "the column `{}` no finer than level {level} of its taxonomy",
                attribute.name
            );
            let Some(carried) = self.with_form(Form::Generalized(classes), Vec::new())? else {
                continue;
            };
            if let Ok(repaired) = self.passes(carried, what)? {
                return Ok(Some(*repaired));
            }
        }
        Ok(None)
    }

    /// Merges the groups of exposed people with their neighbours until the gate is content.
    fn merged(&self) -> Result<Option<Repaired>, Failures> {
        let (extract, mut merged) = (&self.again.extract, 0);
        let Some(form) = self.form() else { return Ok(None) };
        let (mut form, mut exposed) = (form.clone(), self.again.exposed.clone());
        for _ in 0..ROUNDS {
            let class_of = Rows::new(extract, &form, &extract.layout, self.seed).class_of();
            let groups =
                exposed.iter().filter_map(|&r| class_of.get(r as usize).copied()).collect();
            let Some((larger, n)) = merge(&extract.table, form, &groups) else { return Ok(None) };
            merged += n;
            let Some(carried) = self.with_form(larger, Vec::new())? else { return Ok(None) };
            let groups = if merged == 1 { "one group".into() } else { format!("{merged} groups") };
            match self.passes(carried, format!("{groups} merged with neighbours"))? {
                Ok(repaired) => return Ok(Some(*repaired)),
                Err(refused) => match refused.made {
                    Some(made) => (form, exposed) = (made.form, refused.exposed),
                    None => return Ok(None),
                },
            }
        }
        Ok(None)
    }

    /// Suppresses the people who are exposed, and whoever is exposed then, until the gate is
    /// content.
    fn suppressed(&self) -> Result<Option<Repaired>, Failures> {
        let mut exposed = self.again.exposed.clone();
        let mut gone: HashSet<u32> = HashSet::new();
        for _ in 0..ROUNDS {
            let before = gone.len();
            gone.extend(exposed.iter().copied());
            // More than a tenth is no repair.
            if gone.len() == before || 10 * gone.len() > self.again.extract.rows.of_records().len()
            {
                return Ok(None);
            }
            let mut left_out: Vec<u32> = gone.iter().copied().collect();
            left_out.sort_unstable();
            let Some(form) = without(&self.again, &gone, self.seed) else { return Ok(None) };
            let Some(carried) = self.with_form(form, left_out)? else { return Ok(None) };
            let people = gone.len();
            let people = if people == 1 {
                "one exposed person".into()
            } else {
                format!("{people} exposed people")
            };
            let what =
                format!("{people} suppressed (that somebody is not in it may itself be a hint)");
            match self.passes(carried, what)? {
                Ok(repaired) => return Ok(Some(*repaired)),
                Err(refused) => exposed = refused.exposed,
            }
        }
        Ok(None)
    }

    /// What the policy's algorithm made.
    fn form(&self) -> Option<&Form> {
        self.again.made.as_deref().map(|made: &Made| &made.form)
    }

    /// The policy with this form in place of what its algorithm made; nothing if it breaks a
    /// promise.
    fn with_form(&self, form: Form, left_out: Vec<u32>) -> Result<Option<Carried>, Failures> {
        let mut policy = self.document.spec().policy()?;
        let past = self.job.keeper.past(&policy);
        let mut extract = self.source.clone().extract(&mut policy, self.seed, past)?;
        extract.left_out = left_out;
        let outcome = judged(&extract.table, form, &policy.requirements);
        let observer = self.job.options.publisher.observer;
        observer.go_on()?;
        let carried = Carried::new(policy, extract, outcome, self.seed, false, observer)?;
        Ok(carried.made.is_some().then_some(carried))
    }

    /// The change, if the gate lets it pass; otherwise what was given.
    fn passes(&self, mut carried: Carried, what: String) -> Result<Passed, Failures> {
        let passes = carried.made.is_some()
            && carried.pass(self.job.keeper, self.job.target, self.job.options)?;
        let Some(made) = carried.made.as_ref().filter(|_| passes) else {
            let exposed = carried.exposed.len() as u64;
            self.tried.borrow_mut().push(Tried::of(what, exposed, &carried.answer));
            return Ok(Err(Box::new(carried)));
        };
        let sensitive: Vec<String> = self.lost(&carried.policy, Role::Sensitive);
        let quasi = self.lost(&carried.policy, Role::QuasiIdentifier);
        let asks = self.asks(&sensitive, &quasi, &carried.answer, made.release.shape);
        let remedy = Remedy {
            number: 0,
            what,
            records: carried.answer.rows,
            suppressed: carried.answer.suppressed,
            sensitive_dropped: sensitive,
            columns_dropped: quasi,
            loss: loss(&carried.extract.table, &made.release, &self.queries),
            gcp: carried.answer.utility.get("gcp").map(|loss| loss.value),
            asks,
            policy: None,
            applied: false,
        };
        Ok(Ok(Box::new(Repaired { carried, remedy })))
    }

    /// Columns of a role that the policy publishes and the changed one does not.
    fn lost(&self, changed: &Policy, role: Role) -> Vec<String> {
        let kept = |name: &str| changed.attributes.iter().any(|a| a.name == name && a.role == role);
        let of_role = self.refused.policy.attributes.iter().filter(|a| a.role == role);
        of_role.filter(|a| !kept(&a.name)).map(|a| a.name.clone()).collect()
    }

    /// Why a remedy is published only if the steward chooses it by its number.
    fn asks(
        &self,
        sensitive: &[String],
        quasi: &[String],
        answer: &crate::answer::Published,
        shape: Shape,
    ) -> Option<String> {
        let shape_of = |carried: &Carried| carried.made.as_ref().map(|made| made.release.shape);
        if let Some(name) = sensitive.first() {
            return Some(format!("drops the sensitive column `{name}`"));
        }
        if let Some(name) = quasi.first() {
            return Some(format!("drops the column `{name}`"));
        }
        if answer.rows == 0 || answer.suppressed > self.refused.answer.suppressed {
            return Some("suppresses people".into());
        }
        let exact = shape == Shape::Groups && shape_of(self.refused) != Some(Shape::Groups);
        exact.then(|| "publishes quasi-identifiers as they are".into())
    }
}

/// Questions about what the policy publishes.
fn questions(table: &Table) -> Vec<Query> {
    let quasi: Vec<_> = table.quasi.iter().collect();
    let sensitive: Vec<_> = table.published_sensitive().iter().collect();
    if quasi.is_empty() { Vec::new() } else { RANDOM.draw(&quasi, &sensitive, QUERIES, 1) }
}

/// How far the answers of a release are from the truth, in the median; a question that it cannot be
/// asked is wholly wrong.
fn loss(table: &Table, release: &Release, queries: &[Query]) -> f64 {
    let bound: Vec<_> = queries
        .iter()
        .filter_map(|q| q.bind(&table.quasi, table.published_sensitive()).ok())
        .collect();
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
        let (first, last) =
            (taxonomy.at_level(run.first, level), taxonomy.at_level(run.last, level));
        class.region[column] =
            taxonomy.cover(Run::new(first.first.min(last.first), first.last.max(last.last)));
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
            (
                Form::Generalized(Generalized {
                    notes: form.notes,
                    ..Generalized::new(kept, form.suppressed)
                }),
                merged,
            )
        }
        Form::Anatomized(mut form) if form.counterfeits.is_empty() => {
            let (kept, merged) =
                join_neighbours(form.groups, groups, |last, next| last.extend(next));
            form.groups = kept;
            (Form::Anatomized(form), merged)
        }
        _ => return None,
    };
    (merged > 0).then_some((form, merged))
}

/// Joins the groups with these numbers to the ones before them; the first, which has nobody before
/// it, to the next.
fn join_neighbours<T>(
    all: Vec<T>,
    numbers: &HashSet<u32>,
    join: impl Fn(&mut T, T),
) -> (Vec<T>, usize) {
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

/// What the policy's algorithm makes of everybody else; those who are gone are suppressed.
fn without(carried: &Carried, gone: &HashSet<u32>, seed: u64) -> Option<Form> {
    let table = &carried.extract.table;
    let mut counts = table.counts.clone();
    let mut left_out: BTreeMap<u32, u32> = BTreeMap::new();
    for &record in gone {
        let row = carried.extract.rows.of_records()[record as usize];
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
        past: table.past.as_ref().map(|past| scumble::history::History {
            groups: past.groups.clone(),
            of_row: some(&past.of_row),
        }),
    };
    let policy = &carried.policy;
    let made = make(&fewer, &*policy.algorithm.algorithm, &policy.requirements, seed, &|_, _| true);
    let Outcome::Made(made) = made else { return None };
    let back =
        |members: &mut Vec<Member>| members.iter_mut().for_each(|m| m.row = rows[m.row as usize]);
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
