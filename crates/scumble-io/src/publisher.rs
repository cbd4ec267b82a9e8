//! The Publisher: from a policy file to a release on disk, or the reason why not.
//!
//! Nothing is believed: what the algorithm made is judged by the core, and what was written is read back, compared with
//! what was judged, and judged once more, before the folder gets its name.

use crate::answer::{Perturbed, Published, Reason, VERSION, exposed_header};
use crate::engine::{self, Engine};
use crate::gatekeeper::{Gatekeeper, Sight};
use crate::levels;
use crate::release::account::Account;
use crate::release::recipient::{self, nothing_else};
use crate::release::writer::{self, Job};
use crate::release::{manifest, own};
use crate::repair;
use crate::source::{self, Extract, Source, beside};
use crate::staging::{Listing, Slot, Staging, must_be_free};
use scumble::algorithm::Stopped;
use scumble::picture;
use scumble::policy::Policy;
use scumble::problem::{Problem, Problems};
use scumble::publish::{Made, Outcome, judge, judged, make, measure};
use scumble::release::{Release, Shape};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub use crate::repair::Repair;

/// Told what is going on. The command shows it on a terminal.
pub trait Watcher: Sync {
    /// A phase begins.
    fn phase(&self, name: &'static str);
    /// So much of it is done. The total is 0 if it is not known.
    fn at(&self, done: u64, total: u64);
    /// Something that is worth knowing now and not only at the end.
    fn note(&self, _text: &str) {}
}

/// How to publish.
pub struct Options<'a> {
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
    /// Where an interrupt handler finds what must be cleaned up.
    pub slot: Slot,
    /// Who counts the source, if not this process.
    pub engine: Option<&'a dyn Engine>,
    /// Who wants to know.
    pub watcher: &'a dyn Watcher,
}

/// Reads a policy file.
pub fn read_policy(path: &Path) -> Result<Policy, Problems> {
    Ok(read_policy_text(path)?.0)
}

/// The same, with its text.
fn read_policy_text(path: &Path) -> Result<(Policy, String), Problems> {
    let name = path.file_name().map_or_else(|| path.display().to_string(), |n| n.to_string_lossy().into_owned());
    let bytes = std::fs::read(path)
        .map_err(|e| Problem::new(format!("policy `{}` cannot be read: {}", path.display(), crate::describe(&e))))?;
    let text = String::from_utf8(bytes)
        .map_err(|_| Problem::new(format!("policy `{name}` is not UTF-8")).hint("save it as UTF-8 text"))?;
    Ok((Policy::parse(&name, &text)?, text))
}

/// The folder that paths in a policy are relative to.
pub fn base_of(policy: &Path) -> PathBuf {
    policy.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_path_buf()
}

/// Seconds per phase.
pub(crate) struct Clock {
    start: Instant,
    last: Instant,
    pub seconds: BTreeMap<&'static str, f64>,
}

impl Clock {
    pub fn new() -> Clock {
        Clock { start: Instant::now(), last: Instant::now(), seconds: BTreeMap::new() }
    }

    pub fn lap(&mut self, name: &'static str) {
        *self.seconds.entry(name).or_insert(0.0) += self.last.elapsed().as_secs_f64();
        self.last = Instant::now();
        self.seconds.insert("total", self.start.elapsed().as_secs_f64());
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
    pub watcher: &'a dyn Watcher,
}

/// Reads, anonymizes, judges and measures. The outcome stays `refused` until the caller knows better.
pub(crate) fn carry_out(mut policy: Policy, how: &How<'_>, clock: &mut Clock) -> Result<Carried, Problems> {
    let watcher = how.watcher;
    watcher.phase(if how.engine.is_some() { "counting" } else { "reading" });
    let elsewhere = how.engine.map(|engine| (engine, watcher));
    let source = Source::read(&mut policy, how.base, elsewhere, &|done, total| watcher.at(done, total))?;
    carry_out_on(source, policy, how, clock)
}

/// The same with a source that was read already.
pub(crate) fn carry_out_on(
    source: Source,
    mut policy: Policy,
    how: &How<'_>,
    clock: &mut Clock,
) -> Result<Carried, Problems> {
    let How { base, seed, all, keeper, engine, watcher } = *how;
    let seed = seed.map_or_else(system_seed, Ok)?;
    let past = keeper.and_then(|k| k.past(&policy));
    let elsewhere = engine.map(|engine| (engine, watcher));
    let mut extract = source.extract(&mut policy, seed, past)?;
    clock.lap("read");
    watcher.phase("anonymizing");
    let begun = Instant::now();
    let progress = |done, total| {
        watcher.at(done, total);
        policy.algorithm.seconds.is_none_or(|seconds| begun.elapsed().as_secs_f64() < seconds)
    };
    let source = policy.source.beside(base);
    let mut outcome = match elsewhere.filter(|_| extract.large.is_some()) {
        None => make(&extract.table, &*policy.algorithm.algorithm, &policy.requirements, seed, &progress),
        Some(elsewhere) => {
            let path = crate::origin::file(&source)?.to_path_buf();
            match levels::divide(elsewhere, &policy, &path, &mut extract, &progress) {
                Ok(form) => judged(&extract.table, form, &policy.requirements),
                Err(Stopped::Refused(reasons)) => Outcome::Refused(reasons),
                Err(Stopped::Failed(problems)) => return Err(problems),
            }
        }
    };
    if let (Some((engine, watcher)), Outcome::Made(made), false) = (elsewhere, &mut outcome, extract.outside.is_empty())
    {
        let options = source::read_options(&policy);
        let sizes = engine.sizes(crate::origin::file(&source)?, &options, &extract.outside, watcher)?;
        made.release.counted = Some(sizes);
    }
    clock.lap("anonymize");
    let mut carried = Carried::new(policy, extract, outcome, seed, all)?;
    carried.answer.engine = engine.map(Engine::report);
    clock.lap("judge");
    carried.answer.seconds = clock.seconds.clone();
    Ok(carried)
}

/// Publishes, or says why not.
pub fn publish(path: &Path, options: &Options<'_>) -> Result<Published, Problems> {
    loop {
        // Again, if somebody else made the ledger and published first: it is there now, and this run will wait for it.
        if let Some(answer) = attempt(path, options)? {
            return Ok(answer);
        }
    }
}

/// The same; nothing if the release was overtaken by the first one of a new ledger.
fn attempt(path: &Path, options: &Options<'_>) -> Result<Option<Published>, Problems> {
    let mut clock = Clock::new();
    let (policy, text) = read_policy_text(path)?;
    let base = base_of(path);
    if options.engine.is_some() {
        engine::must_fit(&policy, options.ledger.is_some() || policy.ledger.is_some())?;
    }
    let target = options.to.clone().unwrap_or_else(|| beside(&base, &policy.to));
    let mut keeper = Gatekeeper::open(&policy, &base, options)?;
    if !options.dry_run {
        // Said before the work, not after it.
        must_be_free(&target, replaceable(options))?;
    }
    if let Some((_, names)) = &options.picture {
        axes(&policy, names.as_ref())?;
    }
    keeper.remember(&policy, options)?;
    let (engine, watcher) = (options.engine, options.watcher);
    let how = How { base: &base, seed: options.seed, all: false, keeper: Some(&keeper), engine, watcher };
    let mut carried = carry_out(policy, &how, &mut clock)?;
    keeper.recognise(&carried.policy, &carried.extract, options.show_values)?;
    let mut notes = std::mem::take(&mut keeper.warnings);
    let passes = carried.pass(&keeper, &target, options)?;
    clock.lap("attack");
    if carried.made.is_some() && !passes {
        // The decision is made: others need not wait for reasons and remedies.
        keeper.give_back();
        carried.explain(options);
        clock.lap("explain");
        if let Some(file) = &options.exposed {
            let text = exposed_header(options.show_values) + &carried.answer.exposed;
            write_whole(file, &text)?;
            carried.answer.exposed_file = Some(file.display().to_string());
        }
        let name = path.display().to_string();
        let job = repair::Job { policy: (&name, &text), base: &base, target: &target, keeper: &keeper, options };
        let answer = repair::repair(&job, &carried)?;
        clock.lap("repair");
        match answer {
            repair::Answer::Publish(instead, remedies) => {
                carried = *instead;
                carried.answer.remedies = remedies;
            }
            repair::Answer::Refuse { remedies, reasons, warnings } => {
                carried.answer.remedies = remedies;
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
        carried.answer.seconds = clock.seconds;
        return Ok(Some(carried.answer));
    }
    carried.finish(&text, &target, &mut keeper, options, clock)
}

impl Carried {
    /// What came of a policy. Everything that the answer says about the release is measured on this release,
    /// as its recipients will read it.
    pub(crate) fn new(
        policy: Policy,
        extract: Extract,
        outcome: Outcome,
        seed: u64,
        all: bool,
    ) -> Result<Carried, Problems> {
        let answer = Published {
            version: VERSION,
            outcome: "refused",
            release: String::new(),
            rows: 0,
            classes: 0,
            groups: None,
            suppressed: 0,
            models: Vec::new(),
            utility: BTreeMap::new(),
            perturbed: extract.perturbed.iter().map(|(name, change)| Perturbed::of(&policy, name, change)).collect(),
            gate: Vec::new(),
            attacks: Vec::new(),
            recorded: None,
            remedies: Vec::new(),
            exposed_file: None,
            exposed: String::new(),
            reasons: Vec::new(),
            warnings: extract.warnings.clone(),
            engine: None,
            seconds: BTreeMap::new(),
        };
        let (made, read, exposed, sights) = (None, None, Vec::new(), Vec::new());
        let mut carried = Carried { policy, extract, made, read, answer, seed, exposed, sights };
        match outcome {
            Outcome::Made(made) => carried.take(made)?,
            Outcome::Refused(reasons) => carried.answer.reasons = reasons.iter().map(Reason::from).collect(),
        }
        carried.tell(all);
        Ok(carried)
    }

    /// Takes what was made for the release, if it keeps every promise as its recipients will read it; otherwise the answer
    /// says which it breaks. A label may stand for more than the records under it, so this may be told apart from what
    /// the algorithm saw.
    fn take(&mut self, mut made: Box<Made>) -> Result<(), Problems> {
        (self.made, self.read) = (None, None);
        let described = manifest::described(&self.policy, &self.extract, &made.release)?;
        let requirements = &self.policy.requirements;
        let read = recipient::as_read(&made.release, &described, requirements, &nothing_else)?;
        let judgements = judge(&read, requirements).map_err(Problems)?;
        let broken = requirements.iter().zip(&judgements).filter(|(_, j)| !j.holds);
        self.answer.reasons = broken.map(|(r, j)| Reason { message: j.words(r.name), hint: None }).collect();
        self.answer.warnings.extend_from_slice(made.form.notes());
        self.answer.warnings.extend(writer::exact_ends(&self.policy));
        if self.answer.reasons.is_empty() {
            made.judgements = judgements;
            (self.made, self.read) = (Some(made), Some(read));
        }
        Ok(())
    }

    /// Puts the figures of the release into the answer, in place of any that are there; with metrics that take long if
    /// `all` are wanted.
    fn tell(&mut self, all: bool) {
        let Some((made, read)) = self.made.as_ref().zip(self.read.as_ref()) else { return };
        // Metrics that compare with the truth need the table here.
        let here = self.extract.large.is_none() && self.extract.outside.is_empty();
        let truth = here.then_some(&self.extract.table);
        let utility = measure(truth, made, self.policy.k(), all).into_iter().collect();
        Account::of(&self.policy, (read, &made.judgements), utility).tell(&mut self.answer);
    }

    /// Whether the gate lets it pass; the answer says what it saw.
    pub(crate) fn pass(&mut self, keeper: &Gatekeeper, target: &Path, options: &Options<'_>) -> Result<bool, Problems> {
        let Some(made) = &self.made else { return Ok(false) };
        let new = keeper.new_release(&self.policy, &self.extract, made, target, self.seed);
        let Some(new) = new else { return Ok(true) };
        self.answer.gate.clear();
        self.answer.reasons.clear();
        let judged = keeper.judge(&self.policy.gate, &self.extract, &new, options, &mut self.answer)?;
        let (passes, exposed, sights) = judged;
        self.exposed = exposed;
        self.sights = sights;
        Ok(passes)
    }

    /// Finds the reasons of a refusal; the answer tells them.
    fn explain(&mut self, options: &Options<'_>) {
        options.watcher.phase("looking for the reasons");
        self.answer.gate.clear();
        self.answer.exposed.clear();
        for mut sight in std::mem::take(&mut self.sights) {
            sight.explain();
            if options.exposed.is_some() {
                self.answer.exposed.push_str(&sight.exposed_lines(options.show_values));
            }
            self.answer.gate.extend(sight.passages(&self.policy.gate, options.show_values));
        }
    }

    /// Announces, writes and confirms a release that passed; nothing if it was overtaken.
    fn finish(
        self,
        text: &str,
        target: &Path,
        keeper: &mut Gatekeeper,
        options: &Options<'_>,
        mut clock: Clock,
    ) -> Result<Option<Published>, Problems> {
        let Carried { policy, extract, made, read, mut answer, seed, .. } = self;
        let Some((made, mut read)) = made.zip(read) else { return Ok(Some(answer)) };
        let mut judgements = made.judgements.clone();
        answer.outcome = if options.dry_run { "would publish" } else { "published" };
        let picture = options.picture.as_ref().map(|(file, names)| draw(&policy, &made.release, file, names.as_ref()));
        let picture = picture.transpose()?;
        if !options.dry_run {
            if !keeper.make(options)? {
                return Ok(None);
            }
            let new = keeper.new_release(&policy, &extract, &made, target, seed);
            let id = keeper.next_id(text, target, options.seed.is_some())?;
            let staging = Staging::begin(target, replaceable(options), &options.slot, id.as_deref())?;
            let named = (id.as_deref().unwrap_or_default(), options.seed.is_some());
            // Before the announcement: if that fails or is interrupted, it may be in the ledger all the same.
            staging.announced(id.is_some());
            let announced = keeper.announce((&policy, text), new.as_ref(), &made, &answer, target, named)?;
            let (gate, utility) = (&answer.gate, &answer.utility);
            let job =
                Job { policy: &policy, extract: &extract, made: &made, expected: &read, utility, gate, id, options };
            let written = job.write(staging.path(), seed, &mut clock);
            let committed = written.and_then(|written| {
                keeper.must_hold()?;
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
                answer.warnings.push(format!("the disk does not confirm that `{}` is durable", target.display()));
            }
            if let Some(announced) = &announced {
                answer.recorded =
                    keeper.confirm(announced, target).map_err(|problems| unconfirmed(target, problems))?;
            }
            committed.discard_replaced();
        }
        if options.show_values {
            answer.models.iter_mut().zip(&judgements).for_each(|(m, j)| m.show_person(&read, j));
        }
        picture.map_or(Ok(()), Whole::finish)?;
        answer.engine = options.engine.map(Engine::report);
        clock.lap("write");
        answer.seconds = clock.seconds;
        Ok(Some(answer))
    }
}

/// The release is there, and the ledger could not be told.
fn unconfirmed(target: &Path, mut problems: Problems) -> Problems {
    problems.push(
        Problem::new(format!(
            "`{}` is complete and counts as published; only its confirmation is missing",
            target.display()
        ))
        .hint("`scumble ledger list` adds it once the ledger can be written"),
    );
    problems
}

/// What may be replaced: nothing, unless it is asked for; then a release of ours.
fn replaceable(options: &Options<'_>) -> Option<Listing> {
    options.replace.then_some(own::release as Listing)
}

fn system_seed() -> Result<u64, Problems> {
    getrandom::u64().map_err(|e| Problem::new(format!("the system gives no randomness: {e}")).into())
}

/// The indices of the two quasi-identifiers of a picture: those named, or the first two.
fn axes(policy: &Policy, names: Option<&(String, String)>) -> Result<(usize, usize), Problems> {
    let quasi: Vec<&str> = policy.quasi().map(|a| a.name.as_str()).collect();
    picture_axes(&quasi, names)
}

/// The places of the two names among the quasi-identifiers, or what is wrong with them.
pub fn picture_axes(quasi: &[&str], names: Option<&(String, String)>) -> Result<(usize, usize), Problems> {
    if quasi.len() < 2 {
        return Err(Problem::new("a picture needs two quasi-identifiers").into());
    }
    let Some((x, y)) = names else { return Ok((0, 1)) };
    let mut problems = Problems::default();
    let mut find = |name: &str| {
        let found = quasi.iter().position(|n| *n == name);
        if found.is_none() {
            let hint = scumble::catalogue::did_you_mean(name, quasi.iter().copied());
            problems.push(Problem::new(format!("`{name}` is no quasi-identifier and cannot be an axis")).hint(hint));
        }
        found.unwrap_or(0)
    };
    let found = (find(x), find(y));
    problems.or(found)
}

/// Draws the picture into its partial file: the release should not be written if the picture cannot be.
fn draw(policy: &Policy, release: &Release, file: &Path, names: Option<&(String, String)>) -> Result<Whole, Problems> {
    can_be_drawn(release)?;
    let (x, y) = axes(policy, names)?;
    let title = policy.publisher.clone().unwrap_or_else(|| "Release".into());
    Whole::begin(file, &picture::partitioning(release, x, y, &title))
}

/// Refuses a release that has no regions to be drawn.
fn can_be_drawn(release: &Release) -> Result<(), Problems> {
    if release.shape != Shape::Groups {
        return Ok(());
    }
    Err(Problem::new("an anatomized release has no regions that could be drawn").hint("leave out `--picture`").into())
}

/// Draws the classes in two quasi-identifiers and writes the picture, whole or not at all.
pub fn write_picture(release: &Release, x: usize, y: usize, title: &str, file: &Path) -> Result<(), Problems> {
    can_be_drawn(release)?;
    write_whole(file, &picture::partitioning(release, x, y, title))
}

/// Writes a file whole or not at all.
pub fn write_whole(file: &Path, text: &str) -> Result<(), Problems> {
    Whole::begin(file, text)?.finish()
}

/// A file that has its content but not yet its name; dropped, it is removed.
struct Whole {
    partial: PathBuf,
    file: PathBuf,
}

impl Whole {
    fn begin(file: &Path, text: &str) -> Result<Whole, Problems> {
        let mut partial = file.as_os_str().to_owned();
        partial.push(".partial");
        let whole = Whole { partial: partial.into(), file: file.to_path_buf() };
        std::fs::write(&whole.partial, text).map_err(|e| whole.refuse(&e))?;
        Ok(whole)
    }

    fn finish(self) -> Result<(), Problems> {
        std::fs::rename(&self.partial, &self.file).map_err(|e| self.refuse(&e))
    }

    fn refuse(&self, e: &std::io::Error) -> Problems {
        Problem::new(format!("cannot write `{}`: {}", self.file.display(), crate::describe(e))).into()
    }
}

impl Drop for Whole {
    fn drop(&mut self) {
        // Gone already if it was finished.
        let _ = std::fs::remove_file(&self.partial);
    }
}
