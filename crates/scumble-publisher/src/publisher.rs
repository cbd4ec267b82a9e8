//! The face of this crate: a [`Publisher`] has one method for each thing that a person does.
//!
//! The command, and every other front end, holds a `Publisher` and hands it requests: plain
//! structures with defaults. Answers are typed and can be written as JSON. Nothing here prints,
//! asks, or knows flags or buttons; what went wrong is a [`Failure`](scumble::failure::Failure)
//! with its remedy as data.

use crate::answer::{
    Answered, BuiltTaxonomy, Checked, CheckedTaxonomy, Compared, Estimated, Explained, Headroom,
    Inspection, Listed, Loaded, Noted, Outcome, PrivatelyAnswered, Published, SemanticsAnswer,
    ShownRelease, Synthesized, Verified, VerifiedLedger,
};
use crate::attack::why;
use crate::attack::{self, AttackAnswer, AttackRequest};
use crate::check::{self, CheckRequest};
use crate::dp::semantics::{self, SemanticsRequest};
use crate::dp::synthesize::{self, SynthesizeRequest};
use crate::dp::{self, PrivateQueryRequest};
use crate::inspect::taxonomies::{self, BuildTaxonomyRequest, CheckTaxonomyRequest};
use crate::inspect::{self, InspectRequest};
use crate::ledger::Whereabouts;
use crate::ledger::records::{self, AddRequest};
use crate::observer::{Observer, Silent};
use crate::policy_file::PolicyFile;
use crate::publish::compare::{self, CompareRequest};
use crate::publish::engine::Engine;
use crate::publish::headroom;
use crate::publish::{self, PublishRequest, Repair};
use crate::query;
use crate::query::estimate;
use crate::release::memory::{MemoryRelease, Scratch};
use crate::release::verify;
use crate::table::columns::{Choose, Columns, ReadOptions};
use crate::table::load;
use crate::table::memory::{MemoryTable, Tables};
use crate::table::origin;
use scumble::failure::Failures;
use scumble::policy::Source;
use scumble::query::Query;
use std::ops::Deref;
use std::path::Path;
use std::time::Duration;

/// Carries out requests: what a front end holds.
#[derive(Clone)]
pub struct Publisher<'a> {
    /// Receives progress events, and can cancel.
    pub observer: &'a dyn Observer,
    /// Counts tables that this process does not hold, if there is such an engine.
    pub engine: Option<&'a dyn Engine>,
    /// Tables in memory that requests and policies may name as `memory:NAME`.
    pub tables: Tables,
}

impl Default for Publisher<'_> {
    fn default() -> Self {
        Publisher { observer: &Silent, engine: None, tables: Tables::default() }
    }
}

impl<'a> Publisher<'a> {
    /// A publisher whose runs this observer watches and may cancel.
    pub fn observed_by(observer: &'a dyn Observer) -> Publisher<'a> {
        Publisher { observer, ..Publisher::default() }
    }

    /// Makes a table in memory known as `memory:NAME`, in place of one that had the name.
    pub fn with_table(mut self, name: &str, table: MemoryTable) -> Publisher<'a> {
        self.tables.insert(name, table);
        self
    }
}

/// What a person does.
impl Publisher<'_> {
    /// Profiles a table: columns, likely roles, column sets that single people out.
    pub fn inspect(
        &self,
        table: &Source,
        request: &InspectRequest,
    ) -> Result<Inspection, Failures> {
        inspect::inspect(table, request, self)
    }

    /// A commented policy that follows from an inspection, as text. `source` is how the policy
    /// names the table.
    pub fn draft(&self, inspection: &Inspection, source: &Source) -> String {
        inspect::draft(inspection, source)
    }

    /// Makes a release by a policy, judges it, attacks it together with earlier ones, and writes it
    /// if it passes. A refusal is an answer.
    pub fn publish(
        &self,
        policy: &PolicyFile,
        request: &PublishRequest,
    ) -> Result<Published, Failures> {
        publish::publish(policy, self.task(request))
    }

    /// The same, with the release in memory and in no folder; none if the answer is a refusal or
    /// of a dry run. The ledger records it like any other.
    pub fn publish_to_memory(
        &self,
        policy: &PolicyFile,
        request: &PublishRequest,
    ) -> Result<(Published, Option<MemoryRelease>), Failures> {
        let scratch = Scratch::new()?;
        let named = match &request.to {
            Some(folder) => folder.clone(),
            None => policy.policy()?.to.into(),
        };
        let name = named.file_name().map_or_else(|| "release".into(), std::ffi::OsStr::to_owned);
        let request = PublishRequest { to: Some(scratch.0.join(name)), ..request.clone() };
        let mut answer = publish::publish(policy, self.task(&request))?;
        let written = answer.outcome == Outcome::Published;
        let release = written.then(|| MemoryRelease::read(Path::new(&answer.release)));
        answer.release = "memory".into();
        Ok((answer, release.transpose()?))
    }

    /// Measures what a table or a release satisfies, and whether it keeps its promises.
    pub fn check(&self, data: &Source, request: &CheckRequest) -> Result<Checked, Failures> {
        check::check(data, self.task(request))
    }

    /// Carries out policies as dry runs, and compares what they risk, lose and let be counted.
    pub fn compare(
        &self,
        policies: &[PolicyFile],
        request: &CompareRequest,
    ) -> Result<Compared, Failures> {
        compare::compare(policies, self.task(request))
    }

    /// Attacks releases, a policy, or published statistics.
    pub fn attack(&self, request: &AttackRequest) -> Result<AttackAnswer, Failures> {
        attack::attack(self.task(request))
    }

    /// Explains what can be inferred about a person from releases; about one value, if one is given.
    pub fn why(
        &self,
        person: &str,
        value: Option<&str>,
        request: &AttackRequest,
    ) -> Result<Explained, Failures> {
        why::why(person, value, self.task(request))
    }

    /// Estimates from a release how many records meet conditions.
    pub fn query(&self, release: &Path, queries: &[Query]) -> Result<Answered, Failures> {
        query::query(release, queries, self)
    }

    /// Estimates from a release how many records have each value of a randomized column.
    pub fn estimate(&self, release: &Path, column: &str) -> Result<Estimated, Failures> {
        estimate::estimate(release, column)
    }

    /// Answers questions of the data of a policy under its privacy budget.
    pub fn private_query(
        &self,
        policy: &PolicyFile,
        request: &PrivateQueryRequest,
    ) -> Result<PrivatelyAnswered, Failures> {
        dp::ask(policy, self.task(request))
    }

    /// Makes a synthetic table of the data of a policy under its privacy budget.
    pub fn synthesize(
        &self,
        policy: &PolicyFile,
        request: &SynthesizeRequest,
    ) -> Result<Synthesized, Failures> {
        synthesize::synthesize(policy, self.task(request))
    }

    /// Tells what a price, or a mechanism on few data sets, means for an adversary's beliefs.
    pub fn semantics(&self, request: &SemanticsRequest) -> Result<SemanticsAnswer, Failures> {
        semantics::semantics(self.task(request))
    }

    /// Checks the certificate of a release from its folder alone.
    pub fn verify(&self, release: &Path) -> Result<Verified, Failures> {
        verify::verify(release, self)
    }

    /// Copies the rows of a release into a new table of a database.
    pub fn load(&self, release: &Path, into: &str, table: &str) -> Result<Loaded, Failures> {
        load::load(release, into, table, self.observer)
    }

    /// Builds the taxonomy of a column by a rule. It lists the values of the data.
    pub fn build_taxonomy(
        &self,
        request: &BuildTaxonomyRequest,
    ) -> Result<BuiltTaxonomy, Failures> {
        taxonomies::build(self.task(request))
    }

    /// Checks a taxonomy file, by itself and against the values of a column.
    pub fn check_taxonomy(
        &self,
        request: &CheckTaxonomyRequest,
    ) -> Result<CheckedTaxonomy, Failures> {
        taxonomies::check(self.task(request))
    }

    /// Finds out how many more releases by a policy pass the gate, at most so many.
    pub fn headroom(
        &self,
        policy: &PolicyFile,
        most: u64,
        request: &PublishRequest,
    ) -> Result<Headroom, Failures> {
        let request = PublishRequest { dry_run: true, repair: Repair::Off, ..request.clone() };
        headroom::headroom(policy, most, self.task(&request))
    }

    /// Lists the releases of a ledger.
    pub fn list(&self, ledger: &Whereabouts) -> Result<Listed, Failures> {
        records::list(ledger)
    }

    /// Shows one release of a ledger, by the number of an entry about it or by its name.
    pub fn show(&self, ledger: &Whereabouts, release: &str) -> Result<ShownRelease, Failures> {
        records::show(ledger, release)
    }

    /// An answer that was paid, by the number of its entry.
    pub fn paid_answer(
        &self,
        ledger: &Whereabouts,
        entry: u64,
    ) -> Result<serde_json::Value, Failures> {
        records::answer(ledger, entry)
    }

    /// Checks that nothing in a ledger was changed; `head` is a hash that its last entry once had.
    pub fn verify_ledger(
        &self,
        ledger: &Whereabouts,
        head: Option<&str>,
    ) -> Result<VerifiedLedger, Failures> {
        records::verify(ledger, head)
    }

    /// Adds a release that was made elsewhere to a ledger.
    pub fn add(&self, ledger: &Whereabouts, request: &AddRequest) -> Result<Noted, Failures> {
        records::add(ledger, self.task(request))
    }

    /// Records that nobody has a release any more. Waits so long for others.
    pub fn withdraw(
        &self,
        ledger: &Whereabouts,
        release: &str,
        because: &str,
        wait: Duration,
    ) -> Result<Noted, Failures> {
        records::withdraw(ledger, release, because, wait)
    }

    fn task<'a, R>(&'a self, request: &'a R) -> Task<'a, R> {
        Task { publisher: self, request }
    }
}

impl Publisher<'_> {
    /// The names of the columns of a table, without reading the data.
    pub(crate) fn header(
        &self,
        source: &Source,
        options: &ReadOptions,
    ) -> Result<Vec<String>, Failures> {
        origin::header(&self.tables, source, options)
    }

    /// Reads the wanted columns of a table (all, if `None`), and reports progress.
    pub(crate) fn read(
        &self,
        source: &Source,
        options: &ReadOptions,
        wanted: Option<&[String]>,
    ) -> Result<Columns, Failures> {
        let progress = |done, total| self.observer.at(done, total);
        let read = origin::read(&self.tables, source, options, wanted, &progress)?;
        self.observer.go_on()?;
        Ok(read)
    }

    /// Reads the columns that are chosen once the header is known, and reports progress.
    pub(crate) fn read_chosen(
        &self,
        source: &Source,
        options: &ReadOptions,
        choose: Choose<'_>,
    ) -> Result<Columns, Failures> {
        let progress = |done, total| self.observer.at(done, total);
        let read = origin::read_chosen(&self.tables, source, options, choose, &progress)?;
        self.observer.go_on()?;
        Ok(read)
    }
}

/// A request on its way, with the publisher that carries it out. It can be read like the request.
pub(crate) struct Task<'a, R> {
    pub publisher: &'a Publisher<'a>,
    pub request: &'a R,
}

impl<R> Clone for Task<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Task<'_, R> {}

impl<R> Deref for Task<'_, R> {
    type Target = R;

    fn deref(&self) -> &R {
        self.request
    }
}
