//! The Publisher: from a policy file to a release on disk, or the reason why not.
//!
//! Nothing is believed: what the algorithm made is judged by the core, and what was written is read
//! back, compared with what was judged, and judged once more, before the folder gets its name.

pub mod compare;
pub(crate) mod durable;
pub mod engine;
pub(crate) mod gatekeeper;
pub mod headroom;
pub mod levels;
#[cfg(test)]
mod once;
mod register;
pub(crate) mod repair;
pub mod rows;
mod showing;
mod sight;
pub mod source;
pub mod staging;

use crate::answer::{self, Perturbed, Published, Reason, VERSION, exposed_header};
use crate::failure::broken_promise;
use crate::observer::{Observer, Phase, Timed};
use crate::policy_file::PolicyFile;
use crate::publish::gatekeeper::Gatekeeper;
use crate::publish::sight::Sight;
use crate::publish::staging::{Listing, Staging, must_be_free};
use crate::publisher::{Publisher, Task};
use crate::release::account::Account;
use crate::release::recipient::{self, nothing_else};
use crate::release::writer::{self, Job};
use crate::release::{manifest, own};
use engine::Engine;
use rows::Rows;
use scumble::algorithm::Stopped;
use scumble::failure::{Action, Argument, Failure, Failures, Kind, Remedy};
use scumble::picture;
use scumble::policy::Policy;
use scumble::publish::{Made, Outcome, judge, judged, make, measure};
use scumble::release::{Release, Shape};
use source::{Extract, Source, beside};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub use crate::publish::repair::Repair;

/// How to publish.
#[derive(Clone, Debug, PartialEq)]
pub struct PublishRequest {
    /// Makes the release reproducible, and marks it as one for testing.
    pub seed: Option<u64>,
    /// Do everything but write.
    pub dry_run: bool,
    /// Replace a release that is there already.
    pub replace: bool,
    /// Tell the publisher whom a witness is about.
    pub show_values: bool,
    /// Where to, instead of what the policy says.
    pub to: Option<PathBuf>,
    /// Draw the partitioning into this file, in these two quasi-identifiers (or the first two).
    pub picture: Option<(PathBuf, Option<(String, String)>)>,
    /// The ledger, instead of the policy's.
    pub ledger: Option<String>,
    /// The file of its key, instead of the policy's.
    pub key: Option<String>,
    /// The file of its head, instead of the policy's.
    pub head: Option<String>,
    /// How long to wait for others who publish with the same ledger.
    pub wait: Duration,
    /// What is done if the gate refuses.
    pub repair: Repair,
    /// Where to write everybody whom a refused release would expose.
    pub exposed: Option<PathBuf>,
}

impl Default for PublishRequest {
    fn default() -> PublishRequest {
        PublishRequest {
            seed: None,
            dry_run: false,
            replace: false,
            show_values: false,
            to: None,
            picture: None,
            ledger: None,
            key: None,
            head: None,
            wait: Duration::from_secs(60),
            repair: Repair::List,
            exposed: None,
        }
    }
}

/// Seconds per phase.
pub struct Clock {
    start: Instant,
    last: Instant,
    /// By name of the phase; `total` is everything so far.
    pub seconds: BTreeMap<String, f64>,
}

impl Clock {
    /// Starts counting.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Clock {
        Clock { start: Instant::now(), last: Instant::now(), seconds: BTreeMap::new() }
    }

    /// The time since the last lap was spent on this phase.
    pub fn lap(&mut self, name: &'static str) {
        *self.seconds.entry(name.to_owned()).or_insert(0.0) += self.last.elapsed().as_secs_f64();
        self.last = Instant::now();
        self.seconds.insert("total".to_owned(), self.start.elapsed().as_secs_f64());
    }
}

/// A policy that was carried out as far as a judged release; nothing is written yet.
pub(crate) struct Carried {
    pub policy: Policy,
    pub extract: Extract,
    /// The release, unless it was refused; the answer says why. Its judgements are those of `read`.
    pub made: Option<Box<Made>>,
    /// The release as its recipients will read it, if there is one.
    pub read: Option<Release>,
    /// What is to be answered. Its figures are put there by [`Carried::tell`], all at once.
    pub answer: Published,
    pub seed: u64,
    /// The records whose people the gate found exposed.
    pub exposed: Vec<u32>,
    /// What the gate saw, to be explained if it refuses.
    sights: Vec<Sight>,
}

/// How a policy is carried out.
pub(crate) struct How<'a> {
    /// The policy's folder.
    pub base: &'a Path,
    pub seed: Option<u64>,
    /// Whether all metrics are wanted, for comparisons.
    pub all: bool,
    /// Who remembers what was published before.
    pub keeper: Option<&'a Gatekeeper>,
    /// Who counts the source, if not this process.
    pub engine: Option<&'a dyn Engine>,
    pub publisher: &'a Publisher<'a>,
}

/// Reads, anonymizes, judges and measures. The outcome stays `refused` until the caller knows
/// better.
pub(crate) fn carry_out(
    mut policy: Policy,
    how: &How<'_>,
    clock: &mut Clock,
) -> Result<Carried, Failures> {
    let source = read_source(&mut policy, how)?;
    carry_out_on(source, policy, how, clock)
}

/// Reads the source of a policy.
fn read_source(policy: &mut Policy, how: &How<'_>) -> Result<Source, Failures> {
    let observer = how.publisher.observer;
    observer.phase(if how.engine.is_some() { Phase::Count } else { Phase::Read });
    let elsewhere = how.engine.map(|engine| (engine, observer));
    Source::read(policy, how.base, elsewhere, how.publisher)
}

/// The same with a source that was read already.
pub(crate) fn carry_out_on(
    source: Source,
    mut policy: Policy,
    how: &How<'_>,
    clock: &mut Clock,
) -> Result<Carried, Failures> {
    let How { base, seed, all, keeper, engine, publisher } = *how;
    let observer = publisher.observer;
    let seed = seed.map_or_else(system_seed, Ok)?;
    let past = keeper.and_then(|k| k.past(&policy));
    let elsewhere = engine.map(|engine| (engine, observer));
    let mut extract = source.extract(&mut policy, seed, past)?;
    clock.lap("read");
    observer.phase(Phase::Anonymize);
    observer.go_on()?;
    let progress = Timed::new(observer, policy.algorithm.seconds);
    let source = policy.source.beside(base);
    let mut outcome = match elsewhere.filter(|_| matches!(extract.rows, Rows::Values { .. })) {
        None => make(
            &extract.table,
            &*policy.algorithm.algorithm,
            &policy.requirements,
            seed,
            &progress,
        ),
        Some(elsewhere) => {
            let path = crate::table::origin::file(&source)?.to_path_buf();
            match levels::divide(elsewhere, &policy, &path, &mut extract, &progress) {
                Ok(form) => judged(&extract.table, form, &policy.requirements),
                Err(Stopped::Refused(reasons)) => Outcome::Refused(reasons),
                Err(Stopped::Failed(problems)) => return Err(problems),
            }
        }
    };
    let passing = extract.rows.passing_quasi();
    if let (Some((engine, observer)), Outcome::Made(made), false) =
        (elsewhere, &mut outcome, passing.is_empty())
    {
        let options = source::read_options(&policy);
        let path = crate::table::origin::file(&source)?;
        let sizes = engine.sizes(path, &options, passing, observer)?;
        made.release.counted = Some(sizes);
    }
    // What a cancelled algorithm made is thrown away.
    observer.go_on()?;
    clock.lap("anonymize");
    let mut carried = Carried::new(policy, extract, outcome, seed, all, observer)?;
    observer.go_on()?;
    carried.answer.engine = engine.map(Engine::report);
    clock.lap("judge");
    carried.answer.seconds = clock.seconds.clone();
    Ok(carried)
}

/// Publishes, or says why not.
pub(crate) fn publish(
    file: &PolicyFile,
    options: Task<'_, PublishRequest>,
) -> Result<Published, Failures> {
    loop {
        // Again, if somebody else made the ledger and published first: it is there now, and this
        // run will wait for it.
        if let Some(answer) = attempt(file, options)? {
            return Ok(answer);
        }
    }
}

/// The same; nothing if the release was overtaken by the first one of a new ledger.
fn attempt(
    file: &PolicyFile,
    options: Task<'_, PublishRequest>,
) -> Result<Option<Published>, Failures> {
    let mut clock = Clock::new();
    let (mut policy, text, base) = (file.policy()?, &file.text, &file.base);
    if let Some(engine) = options.publisher.engine {
        engine::must_fit(engine, &policy, options.ledger.is_some() || policy.ledger.is_some())?;
    }
    let target = options.to.clone().unwrap_or_else(|| beside(base, &policy.to));
    let target = durable::without_detours(&target);
    let mut keeper = Gatekeeper::open(&policy, base, options)?;
    if !options.dry_run {
        // Said before the work, not after it.
        must_be_free(&target, replaceable(options))?;
    }
    if let Some((_, names)) = &options.picture {
        axes(&policy, names.as_ref())?;
    }
    keeper.remember(&policy, options)?;
    let (publisher, seed) = (options.publisher, options.seed);
    let engine = publisher.engine;
    let how = How { base, seed, all: false, keeper: Some(&keeper), engine, publisher };
    let source = read_source(&mut policy, &how)?;
    // Remedies are looked for on what was read: the source may be a pipe, or change meanwhile.
    let kept = repair::may_follow(&policy, &keeper, options).then(|| source.clone());
    let mut carried = carry_out_on(source, policy, &how, &mut clock)?;
    keeper.recognise(&carried.policy, &carried.extract, options)?;
    options.publisher.observer.go_on()?;
    let mut notes = std::mem::take(&mut keeper.warnings);
    let passes = carried.pass(&keeper, &target, options)?;
    let mut exposed = None;
    clock.lap("attack");
    if carried.made.is_some() && !passes {
        // The decision is made: others need not wait for reasons and remedies.
        keeper.give_back();
        carried.explain(options)?;
        clock.lap("explain");
        // It has its name once the answer is there: a run that is cancelled leaves nothing.
        let written = options.exposed.as_ref().map(|file| {
            let text = exposed_header(options.show_values) + &carried.answer.exposed;
            carried.answer.exposed_file = Some(file.display().to_string());
            Whole::begin(file, &text)
        });
        exposed = written.transpose()?;
        let job = repair::Job { policy: file, target: &target, keeper: &keeper, options, kept };
        let answer = repair::repair(&job, &carried)?;
        options.publisher.observer.go_on()?;
        clock.lap("repair");
        match answer {
            repair::Answer::Publish(instead, remedies) => {
                carried = *instead;
                carried.answer.remedies = remedies;
            }
            repair::Answer::Refuse { remedies, tried, reasons, warnings } => {
                carried.answer.remedies = remedies;
                carried.answer.tried = tried;
                carried.answer.reasons.extend(reasons);
                carried.made = None;
                notes.extend(warnings);
            }
        }
    } else if carried.made.is_some() && matches!(options.repair, Repair::Number(_)) {
        notes.push("the gate lets the release pass as it is: no remedy was applied".into());
    }
    carried.answer.release = target.display().to_string();
    carried.answer.warnings.append(&mut notes);
    if carried.made.is_none() {
        exposed.map_or(Ok(()), Whole::finish)?;
        carried.answer.seconds = clock.seconds;
        return Ok(Some(carried.answer));
    }
    let answer = carried.finish(text, &target, &mut keeper, options, clock)?;
    exposed.map_or(Ok(()), Whole::finish)?;
    Ok(answer)
}

impl Carried {
    /// What came of a policy. Everything that the answer says about the release is measured on this
    /// release, as its recipients will read it.
    pub(crate) fn new(
        policy: Policy,
        extract: Extract,
        outcome: Outcome,
        seed: u64,
        all: bool,
        observer: &dyn Observer,
    ) -> Result<Carried, Failures> {
        let answer = Published {
            version: VERSION,
            outcome: answer::Outcome::Refused,
            release: String::new(),
            rows: 0,
            classes: 0,
            groups: None,
            suppressed: 0,
            models: Vec::new(),
            utility: BTreeMap::new(),
            perturbed: extract
                .perturbed
                .iter()
                .map(|(name, change)| Perturbed::of(&policy, name, change))
                .collect(),
            gate: Vec::new(),
            attacks: Vec::new(),
            recorded: None,
            remedies: Vec::new(),
            tried: Vec::new(),
            exposed_file: None,
            exposed: String::new(),
            reasons: Vec::new(),
            warnings: [extract.warnings.clone(), register::unreadable(&policy, &extract)].concat(),
            engine: None,
            seconds: BTreeMap::new(),
        };
        let (made, read, exposed, sights) = (None, None, Vec::new(), Vec::new());
        let mut carried = Carried { policy, extract, made, read, answer, seed, exposed, sights };
        match outcome {
            Outcome::Made(made) => carried.take(made, observer)?,
            Outcome::Refused(mut reasons) => {
                // A mistake in the policy or the data is a failure, not an answer.
                if reasons.iter().any(|reason| reason.kind != Kind::Refused) {
                    reasons.retain(|reason| reason.kind != Kind::Refused);
                    return Err(Failures(reasons));
                }
                carried.answer.reasons = reasons.iter().map(Reason::from).collect()
            }
        }
        observer.go_on()?;
        carried.tell(all);
        Ok(carried)
    }

    /// Takes what was made for the release, if it keeps every promise as its recipients will read
    /// it; otherwise the answer says which it breaks. A label may stand for more than the records
    /// under it, so this may be told apart from what the algorithm saw.
    fn take(&mut self, mut made: Box<Made>, observer: &dyn Observer) -> Result<(), Failures> {
        (self.made, self.read) = (None, None);
        let described = manifest::described(&self.policy, &self.extract, &made.release)?;
        let requirements = &self.policy.requirements;
        let read = recipient::as_read(&made.release, &described, requirements, &nothing_else)?;
        observer.go_on()?;
        let judgements = judge(&read, requirements).map_err(Failures)?;
        let broken = requirements.iter().zip(&judgements).filter(|(_, j)| !j.holds);
        self.answer.reasons = broken.map(|(r, j)| broken_promise(&j.words(r.name))).collect();
        self.answer.warnings.extend_from_slice(made.form.notes());
        self.answer.warnings.extend(writer::exact_ends(&self.policy));
        if self.answer.reasons.is_empty() {
            made.judgements = judgements;
            (self.made, self.read) = (Some(made), Some(read));
        }
        Ok(())
    }

    /// Puts the figures of the release into the answer, in place of any that are there; with
    /// metrics that take long if `all` are wanted.
    fn tell(&mut self, all: bool) {
        let Some((made, read)) = self.made.as_ref().zip(self.read.as_ref()) else { return };
        // Metrics that compare with the truth need the table here.
        let truth = self.extract.rows.has_truth().then_some(&self.extract.table);
        let measured = measure(truth, made, self.policy.k(), all).into_iter();
        let mut utility: BTreeMap<String, f64> =
            measured.map(|(name, value)| (name.to_owned(), value)).collect();
        // What recipients are told is what they would measure. But `gcp` counts the values of
        // whole taxonomy files, of which they may have a part.
        for (name, value) in Account::losses(read, self.policy.k()).filter(|(n, _)| *n != "gcp") {
            utility.insert(name.to_owned(), value);
        }
        Account::of(&self.policy, (read, &made.judgements), utility).tell(&mut self.answer);
    }

    /// Whether the gate lets it pass; the answer says what it saw.
    pub(crate) fn pass(
        &mut self,
        keeper: &Gatekeeper,
        target: &Path,
        options: Task<'_, PublishRequest>,
    ) -> Result<bool, Failures> {
        let Some(made) = &self.made else { return Ok(false) };
        let new = keeper.new_release(&self.policy, &self.extract, made, target, self.seed);
        let Some(new) = new else { return Ok(true) };
        self.answer.gate.clear();
        self.answer.reasons.clear();
        let judged =
            keeper.judge(&self.policy.gate, &self.extract, &new, options, &mut self.answer)?;
        let (passes, exposed, sights) = judged;
        self.exposed = exposed;
        self.sights = sights;
        Ok(passes)
    }

    /// Finds the reasons of a refusal; the answer tells them.
    fn explain(&mut self, options: Task<'_, PublishRequest>) -> Result<(), Failures> {
        options.publisher.observer.phase(Phase::Explain);
        // Reasons are found within the same time as the verdict; those that are not are left out.
        let progress =
            Timed::new(options.publisher.observer, Some(self.policy.gate.seconds as f64));
        self.answer.gate.clear();
        self.answer.exposed.clear();
        for mut sight in std::mem::take(&mut self.sights) {
            sight.explain(&progress);
            options.publisher.observer.go_on()?;
            if options.exposed.is_some() {
                self.answer.exposed.push_str(&sight.exposed_lines(options.show_values));
            }
            self.answer.gate.extend(sight.passages(&self.policy.gate, options.show_values));
        }
        Ok(())
    }

    /// Announces, writes and confirms a release that passed; nothing if it was overtaken.
    fn finish(
        self,
        text: &str,
        target: &Path,
        keeper: &mut Gatekeeper,
        options: Task<'_, PublishRequest>,
        mut clock: Clock,
    ) -> Result<Option<Published>, Failures> {
        let Carried { policy, extract, made, read, mut answer, seed, .. } = self;
        let Some((made, mut read)) = made.zip(read) else { return Ok(Some(answer)) };
        let mut judgements = made.judgements.clone();
        answer.outcome = if options.dry_run {
            answer::Outcome::WouldPublish
        } else {
            answer::Outcome::Published
        };
        let picture = options
            .picture
            .as_ref()
            .map(|(file, names)| draw(&policy, &made.release, file, names.as_ref()));
        let picture = picture.transpose()?;
        let observer = options.publisher.observer;
        observer.go_on()?;
        if !options.dry_run {
            if !keeper.make(options)? {
                return Ok(None);
            }
            let new = keeper.new_release(&policy, &extract, &made, target, seed);
            let id = keeper.next_id(text, target, options.seed.is_some())?;
            let staging = Staging::begin(target, replaceable(options), id.as_deref())?;
            let named = (id.as_deref().unwrap_or_default(), options.seed.is_some());
            observer.go_on()?;
            // Before the announcement: if that fails or is interrupted, it may be in the ledger all
            // the same.
            staging.announced(id.is_some());
            let whole = (&extract, &*made);
            let announced =
                keeper.announce((&policy, text), new.as_ref(), whole, &answer, target, named)?;
            let gate = &keeper.told_to_recipients(&policy, new.as_ref(), &answer.gate);
            let utility: BTreeMap<String, f64> =
                answer.utility.iter().map(|(name, loss)| (name.clone(), loss.value)).collect();
            let job = Job {
                policy: &policy,
                extract: &extract,
                made: &made,
                expected: &read,
                utility: &utility,
                gate,
                id,
                options,
            };
            let written = job.write(staging.path(), seed, &mut clock);
            let committed = written.and_then(|written| {
                keeper.must_hold()?;
                // The last moment to cancel: a release that has its name is finished.
                observer.go_on()?;
                Ok((staging.commit()?, written))
            });
            if let (Err(problems), Some(announced)) = (&committed, &announced) {
                // What cannot be recorded leaves its hidden folder, by which the next run knows.
                staging.announced(!keeper.abandon(announced, problems));
            }
            let (committed, written) = committed?;
            written.account.tell(&mut answer);
            (read, judgements) = (written.release, written.judgements);
            if !committed.durable {
                answer.warnings.push(format!(
                    "the disk does not confirm that `{}` is durable",
                    target.display()
                ));
            }
            if let Some(announced) = &announced {
                answer.recorded = keeper
                    .confirm(announced, target)
                    .map_err(|problems| unconfirmed(target, problems))?;
            }
            committed.discard_replaced();
        }
        if options.show_values {
            answer.models.iter_mut().zip(&judgements).for_each(|(m, j)| m.show_person(&read, j));
        }
        picture.map_or(Ok(()), Whole::finish)?;
        answer.engine = options.publisher.engine.map(Engine::report);
        clock.lap("write");
        answer.seconds = clock.seconds;
        Ok(Some(answer))
    }
}

/// The release is there, and the ledger could not be told.
fn unconfirmed(target: &Path, mut problems: Failures) -> Failures {
    problems.push(
        Failure::io(
            "unconfirmed",
            format!(
                "`{}` is complete and counts as published; only its confirmation is missing",
                target.display()
            ),
        )
        .file(target)
        .remedy(Remedy::run(Action::ListLedger).then(" adds it once the ledger can be written")),
    );
    problems
}

/// What may be replaced: nothing, unless it is asked for; then a release of ours.
fn replaceable(options: Task<'_, PublishRequest>) -> Option<Listing> {
    options.replace.then_some(own::release as Listing)
}

/// A number that nobody can foresee.
pub(crate) fn system_seed() -> Result<u64, Failures> {
    getrandom::u64().map_err(|e| {
        Failure::io("no-randomness", format!("the system gives no randomness: {e}")).into()
    })
}

/// The indices of the two quasi-identifiers of a picture: those named, or the first two.
fn axes(policy: &Policy, names: Option<&(String, String)>) -> Result<(usize, usize), Failures> {
    let quasi: Vec<&str> = policy.quasi().map(|a| a.name.as_str()).collect();
    picture_axes(&quasi, names)
}

/// The places of the two names among the quasi-identifiers, or what is wrong with them.
pub fn picture_axes(
    quasi: &[&str],
    names: Option<&(String, String)>,
) -> Result<(usize, usize), Failures> {
    if quasi.len() < 2 {
        return Err(Failure::usage("no-picture", "a picture needs two quasi-identifiers").into());
    }
    let Some((x, y)) = names else { return Ok((0, 1)) };
    let mut problems = Failures::default();
    let mut find = |name: &str| {
        let found = quasi.iter().position(|n| *n == name);
        if found.is_none() {
            let hint = scumble::catalogue::did_you_mean(name, quasi.iter().copied());
            problems.push(
                Failure::usage(
                    "not-a-quasi-identifier",
                    format!("`{name}` is no quasi-identifier and cannot be an axis"),
                )
                .hint(hint),
            );
        }
        found.unwrap_or(0)
    };
    let found = (find(x), find(y));
    problems.or(found)
}

/// Draws the picture into its partial file: the release should not be written if the picture cannot
/// be.
fn draw(
    policy: &Policy,
    release: &Release,
    file: &Path,
    names: Option<&(String, String)>,
) -> Result<Whole, Failures> {
    can_be_drawn(release)?;
    let (x, y) = axes(policy, names)?;
    let title = policy.publisher.clone().unwrap_or_else(|| "Release".into());
    Whole::begin(file, &picture::partitioning(release, x, y, &title))
}

/// Refuses a release that has no regions to be drawn.
fn can_be_drawn(release: &Release) -> Result<(), Failures> {
    if release.shape != Shape::Groups {
        return Ok(());
    }
    Err(Failure::usage("no-picture", "an anatomized release has no regions that could be drawn")
        .remedy(Remedy::leave_out(Argument::Picture))
        .into())
}

/// Draws the classes in two quasi-identifiers and writes the picture, whole or not at all.
pub fn write_picture(
    release: &Release,
    x: usize,
    y: usize,
    title: &str,
    file: &Path,
) -> Result<(), Failures> {
    can_be_drawn(release)?;
    write_whole(file, &picture::partitioning(release, x, y, title))
}

/// Writes a file whole or not at all.
pub fn write_whole(file: &Path, text: &str) -> Result<(), Failures> {
    Whole::begin(file, text)?.finish()
}

/// A file that has its content but not yet its name; dropped, it is removed.
struct Whole {
    partial: PathBuf,
    file: PathBuf,
}

impl Whole {
    fn begin(file: &Path, text: &str) -> Result<Whole, Failures> {
        let mut partial = file.as_os_str().to_owned();
        partial.push(".partial");
        let whole = Whole { partial: partial.into(), file: file.to_path_buf() };
        std::fs::write(&whole.partial, text).map_err(|e| whole.refuse(&e))?;
        Ok(whole)
    }

    fn finish(self) -> Result<(), Failures> {
        std::fs::rename(&self.partial, &self.file).map_err(|e| self.refuse(&e))
    }

    fn refuse(&self, e: &std::io::Error) -> Failures {
        Failure::io(
            "cannot-write",
            format!("cannot write `{}`: {}", self.file.display(), crate::describe(e)),
        )
        .into()
    }
}

impl Drop for Whole {
    fn drop(&mut self) {
        // Gone already if it was finished.
        let _ = std::fs::remove_file(&self.partial);
    }
}
