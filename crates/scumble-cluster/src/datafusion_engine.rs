//! The engine: estimates, counts, brings records.

use crate::code;
use crate::records;
use crate::refusals::{Class, with_text};
use crate::stores::Stores;
use crate::tables::{self, Opened, quoted};
use ballista::prelude::SessionContextExt;
use ballista_core::execution_plans::DistributedQueryExec;
use ballista_core::extension::SessionConfigExt;
use ballista_core::serde::protobuf::CancelJobParams;
use ballista_core::serde::protobuf::scheduler_grpc_client::SchedulerGrpcClient;
use datafusion::arrow::array::{Array, AsArray, RecordBatch};
use datafusion::arrow::datatypes::{Int64Type, Schema, UInt32Type, UInt64Type};
use datafusion::error::DataFusionError;
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion_proto::protobuf::LogicalPlanNode;
use futures::StreamExt;
use scumble::class::Run;
use scumble::failure::{Action, Argument, Failure, Failures, Remedy};
use scumble_publisher::answer::EngineReport;
use scumble_publisher::observer::{Observer, Phase};
use scumble_publisher::publish::engine::{
    Asked, Engine, Estimate, Found, Passing, Put, Share, What,
};
use scumble_publisher::publish::levels::{Coded, Number, Question};
use scumble_publisher::table::columns::{Column, Columns, Gathered, ReadOptions};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Less than this is no use to the engine.
const LEAST: u64 = 64 << 20;

/// Where the work is done and what it may use.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The scheduler of a cluster, as `df://host:port`; nothing for this process.
    pub cluster: Option<String>,
    /// Bytes that this process may use: half for the distinct rows and half for the engine.
    pub memory: u64,
    /// Distinct rows that may be in this process, instead of what the memory allows; for tests.
    pub rows: Option<u64>,
    /// Where to spill. On a cluster a folder that the executors see under the same path.
    pub spill: Option<PathBuf>,
}

/// DataFusion, in this process or on a cluster.
pub struct DataFusion {
    runtime: tokio::runtime::Runtime,
    /// Where tables are counted.
    context: SessionContext,
    /// Where what this process wrote is read back.
    here: SessionContext,
    settings: Settings,
    tables: AtomicU64,
    report: Mutex<EngineReport>,
    stop: Stop,
}

/// How long a batch is waited for before the stopper is asked.
const TICK: Duration = Duration::from_millis(100);

/// Ends what is under way, for an interrupt handler: the question is answered with a cancellation.
#[derive(Clone, Default)]
pub struct Stop(Arc<Mutex<Underway>>);

#[derive(Default)]
struct Underway {
    /// Whether everything that is asked from now on is cancelled.
    stopped: bool,
    scheduler: Option<String>,
    plan: Option<Arc<dyn ExecutionPlan>>,
    /// What was spilled and the distinct rows, which nobody else should find.
    folder: Option<PathBuf>,
}

impl Stop {
    fn lock(&self) -> MutexGuard<'_, Underway> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Cancels the job on the cluster, if there is one, and removes what the engine has written.
    pub fn stop(&self) {
        let mut underway = self.lock();
        underway.stopped = true;
        if let Some(folder) = underway.folder.take() {
            let _ = std::fs::remove_dir_all(folder);
        }
        let job = underway.plan.take().and_then(|plan| job_of(&plan));
        let (Some(job), Some(scheduler)) = (job, underway.scheduler.clone()) else { return };
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
            return;
        };
        let cancel = async {
            let mut client = SchedulerGrpcClient::connect(scheduler).await.ok()?;
            client.cancel_job(CancelJobParams { job_id: job }).await.ok()
        };
        // The scheduler may be what is gone.
        runtime.block_on(async { tokio::time::timeout(Duration::from_secs(3), cancel).await.ok() });
    }
}

impl Drop for DataFusion {
    fn drop(&mut self) {
        if let Some(folder) = self.stop.lock().folder.take() {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

/// What the scheduler calls the job of a plan.
fn job_of(plan: &Arc<dyn ExecutionPlan>) -> Option<String> {
    if let Some(query) = plan.downcast_ref::<DistributedQueryExec<LogicalPlanNode>>() {
        return query.job_id().map(|id| id.to_string());
    }
    plan.children().into_iter().find_map(job_of)
}

impl DataFusion {
    /// Makes the engine. Nothing is read, and no cluster is asked, before there is a question.
    pub fn new(settings: Settings) -> Result<DataFusion, Failures> {
        if settings.memory < LEAST {
            return Err(Failure::usage(
                "memory-limit",
                format!("{} of memory are not enough for the engine", size(settings.memory)),
            )
            .remedy(Remedy::give_value(Argument::Memory, size(LEAST)).then(" or more"))
            .into());
        }
        let failed = |e: DataFusionError| {
            let problem = Failure::io(
                "engine-failed",
                format!("the engine cannot start: {}", Class::of(&e).words()),
            );
            with_text(problem, &e.strip_backtrace())
        };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .map_err(|e| Failure::io("engine-failed", format!("the engine cannot start: {e}")))?;
        let stop = Stop::default();
        let folder = records::folder(settings.spill.as_deref())?;
        stop.lock().folder = Some(folder.clone());
        let here = local(&settings, &folder).map_err(failed)?;
        let (context, name) = match &settings.cluster {
            None => (here.clone(), "datafusion"),
            Some(address) => {
                stop.lock().scheduler = Some(address.replacen("df://", "http://", 1));
                (runtime.block_on(remote(address)).map_err(failed)?, "ballista")
            }
        };
        context.register_udf(code::function());
        let report = EngineReport {
            name: name.to_owned(),
            allowed: settings.memory / 2,
            ..EngineReport::default()
        };
        Ok(DataFusion {
            runtime,
            context,
            here,
            settings,
            tables: AtomicU64::new(0),
            report: Mutex::new(report),
            stop,
        })
    }

    /// For an interrupt handler.
    pub fn stopper(&self) -> Stop {
        self.stop.clone()
    }

    fn told(&self) -> MutexGuard<'_, EngineReport> {
        self.report.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(
        &self,
        context: &SessionContext,
        table: &Path,
        options: &ReadOptions,
    ) -> Result<Opened, Failures> {
        let name = format!("t{}", self.tables.fetch_add(1, Ordering::Relaxed));
        self.runtime.block_on(tables::open(context, name, table, options))
    }

    /// Asks, and takes the answer batch by batch.
    fn ask(
        &self,
        context: &SessionContext,
        sql: &str,
        take: &mut dyn FnMut(RecordBatch) -> Result<(), Failures>,
    ) -> Result<(), Failures> {
        let refuse = |e: DataFusionError| self.refused(&e);
        self.runtime.block_on(async {
            let frame = context.sql(sql).await.map_err(refuse)?;
            let plan = frame.create_physical_plan().await.map_err(refuse)?;
            self.stop.lock().plan = Some(plan.clone());
            let mut answer = execute_stream(plan.clone(), context.task_ctx()).map_err(refuse)?;
            loop {
                // The stopper may have cancelled the job, of which no batch would tell.
                let next = tokio::time::timeout(TICK, answer.next()).await;
                if self.stop.lock().stopped {
                    return Err(Failure::cancelled().into());
                }
                match next {
                    Err(_) => {}
                    Ok(None) => break,
                    Ok(Some(batch)) => take(batch.map_err(refuse)?)?,
                }
            }
            self.stop.lock().plan = None;
            self.told().spilled += spilled(&plan);
            Ok(())
        })
    }

    /// One row of numbers.
    fn numbers(&self, sql: &str) -> Result<Vec<u64>, Failures> {
        let mut numbers = Vec::new();
        self.ask(&self.context, sql, &mut |batch| {
            for column in batch.columns().iter().filter(|_| batch.num_rows() > 0) {
                let number = match column.as_primitive_opt::<Int64Type>() {
                    Some(signed) => signed.value(0).max(0) as u64,
                    None => column.as_primitive_opt::<UInt64Type>().map_or(0, |n| n.value(0)),
                };
                numbers.push(number);
            }
            Ok(())
        })?;
        Ok(numbers)
    }

    /// What went wrong, in words that say who has to do something.
    fn refused(&self, e: &DataFusionError) -> Failures {
        let class = Class::of(e);
        let (words, memory) = (class.words(), size(self.settings.memory));
        let (message, otherwise) = match (&self.settings.cluster, class) {
            (Some(cluster), Class::Unreachable) => (
                format!("the cluster at {cluster} does not answer"),
                Remedy::words("is ").and_run(Action::StartScheduler).then(
                    " running there, and may this machine connect to it and to its executors?",
                ),
            ),
            (Some(cluster), _) => (
                format!("the job failed on the cluster at {cluster}: {words}"),
                "nothing was published; executors must see the source under the same path or address"
                    .into(),
            ),
            (None, Class::Exhausted) => {
                (format!("the engine needs more than its half of {memory}: {words}"), Remedy::default())
            }
            (None, _) => (format!("the engine failed: {words}"), "nothing was published".into()),
        };
        let remedy = match class {
            Class::Other => otherwise.then("; `SCUMBLE_LOG=debug` tells more, and may tell data"),
            _ => class.remedy().unwrap_or(otherwise),
        };
        let problem = Failure::io("engine-failed", message).remedy(remedy);
        with_text(problem, &e.strip_backtrace()).into()
    }

    /// How many records there are, and about how many distinct rows of some columns.
    fn measured(&self, table: &Opened, wanted: &[String]) -> Result<(u64, u64), Failures> {
        let from = &table.name;
        match self
            .numbers(&format!("SELECT COUNT(*), approx_distinct({}) FROM {from}", joined(wanted)))?
            [..]
        {
            [rows, distinct] => Ok((rows, distinct.clamp(1, rows.max(1)))),
            _ => Err(Failure::bug("internal", "the engine gave no estimate").into()),
        }
    }

    /// Finds out how much there is to do, and says it.
    fn expect(
        &self,
        table: &Opened,
        wanted: &[String],
        passing: &Passing,
        observer: &dyn Observer,
    ) -> Result<Estimate, Failures> {
        let plain = !passing.plain.is_empty();
        observer.phase(Phase::Estimate);
        let begun = Instant::now();
        let (rows, distinct) = self.measured(table, wanted)?;
        // Codes of what was read, of the table and of the algorithm; numbers and places; cells, if
        // they are needed again.
        let columns = wanted.len() as u64;
        let bytes = distinct * each(columns, plain);
        let passes = 2 + u32::from(plain) + u32::from(passing.person.is_some());
        let seconds = begun.elapsed().as_secs_f64() * f64::from(passes);
        let allowed = {
            let mut report = self.told();
            (report.rows, report.expected, report.bytes, report.passes) =
                (rows, distinct, bytes, 1);
            report.allowed
        };
        observer.note(&format!(
            "{rows} records, about {distinct} distinct rows: {} of {} in this process, {passes} passes over the source, at \
             least {seconds:.0} s",
            size(bytes),
            size(allowed)
        ));
        Ok(Estimate { records: rows, allowed, too_much: self.too_many(distinct, bytes, allowed) })
    }

    /// What is wrong with so many distinct rows, if they are too many to be here.
    fn too_many(&self, distinct: u64, bytes: u64, allowed: u64) -> Option<Failure> {
        if self.settings.rows.map_or(bytes <= allowed, |rows| distinct <= rows) {
            return None;
        }
        let problem = Failure::refused(
            "memory-limit",
            format!(
                "there are about {distinct} distinct rows, which need about {} here; {} are allowed",
                size(bytes),
                size(allowed)
            ),
        );
        Some(
            problem.remedy(
                Remedy::give_value(Argument::Memory, size(2 * bytes + LEAST)).then(
                    " or more, or fewer or coarser quasi-identifiers and sensitive attributes",
                ),
            ),
        )
    }

    /// Columns that pass through are joined where the table is.
    fn must_share(&self, plain: &[String]) -> Result<(), Failures> {
        if plain.is_empty() || self.settings.cluster.is_none() || self.settings.spill.is_some() {
            return Ok(());
        }
        let message =
            "columns that pass through need a folder that this process and the executors share";
        let remedy = Remedy::words("name one with ")
            .and_give(Argument::Spill)
            .then(", or make the insensitive columns identifiers, which are not published");
        Err(Failure::usage("needs-spill", message).remedy(remedy).into())
    }

    /// Whether nobody has two rows.
    fn persons(&self, table: &Opened, person: &str) -> Result<(), Failures> {
        let column = quoted(person);
        let repeated =
            format!("SELECT {column} FROM {} GROUP BY {column} HAVING COUNT(*) > 1", table.name);
        self.told().passes += 1;
        match self.numbers(&format!("SELECT COUNT(*) FROM ({repeated})"))?[..] {
            [0] => Ok(()),
            [n, ..] => {
                let people =
                    if n == 1 { "one person has".into() } else { format!("{n} persons have") };
                Err(Failure::data("repeated-person", format!("column `{person}` names the persons, but {people} more than one row"))
                    .hint("give one row per person, or leave out `person = true` to protect rows instead of persons")
                    .into())
            }
            [] => Err(Failure::bug("internal", "the engine did not count the persons").into()),
        }
    }
}

/// The context of this process: a limit, and a disk.
fn local(settings: &Settings, folder: &Path) -> Result<SessionContext, DataFusionError> {
    let pool = (settings.memory / 2) as usize;
    // Every thread sorts for itself, and needs enough to merge what it has spilled.
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    let partitions = (pool >> 26).clamp(1, cores);
    let runtime = RuntimeEnvBuilder::new()
        .with_object_store_registry(Arc::new(Stores::default()))
        .with_temp_file_path(folder)
        .with_memory_pool(Arc::new(FairSpillPool::new(pool)));
    let config = SessionConfig::new()
        .with_target_partitions(partitions)
        .with_sort_spill_reservation_bytes((pool / (8 * partitions)).min(16 << 20))
        .with_batch_size(if pool < 1 << 28 { 2048 } else { 8192 })
        // What does not fit is sorted on the disk; a hash join would have to fit.
        .set_bool("datafusion.optimizer.prefer_hash_join", false)
        .set_bool("datafusion.execution.parquet.schema_force_view_types", false)
        .set_bool("datafusion.sql_parser.map_string_types_to_utf8view", false);
    Ok(SessionContext::new_with_config_rt(config, runtime.build_arc()?))
}

/// A context whose questions are answered by a cluster.
async fn remote(address: &str) -> Result<SessionContext, DataFusionError> {
    let runtime = RuntimeEnvBuilder::new()
        .with_object_store_registry(Arc::new(Stores::default()))
        .build_arc()?;
    let config = SessionConfig::new_with_ballista()
        .with_ballista_job_name("scumble")
        // A job of the adaptive planner waits for ever when an executor is lost in the middle of
        // it.
        .with_ballista_adaptive_query_planner(false)
        // Whoever waits to be told hears what the job is called only when it is over, and could not
        // cancel it.
        .set_bool("ballista.client.pull", true)
        .with_ballista_grpc_client_max_message_size(crate::roles::MESSAGE as usize);
    let state = SessionStateBuilder::new()
        .with_config(config)
        .with_runtime_env(runtime)
        .with_default_features()
        .build();
    SessionContext::remote_with_state(address, state).await
}

/// Bytes that a plan wrote because they did not fit.
fn spilled(plan: &Arc<dyn ExecutionPlan>) -> u64 {
    let here = plan.metrics().and_then(|m| m.spilled_bytes()).unwrap_or(0) as u64;
    here + plan.children().into_iter().map(spilled).sum::<u64>()
}

/// The columns as one text that tells rows apart, up to rare accidents.
pub(crate) fn joined(columns: &[String]) -> String {
    if columns.is_empty() {
        return "''".into();
    }
    let text = |c: &String| format!("coalesce(CAST({} AS VARCHAR), '\u{1}')", quoted(c));
    format!("concat_ws('\u{1f}', {})", columns.iter().map(text).collect::<Vec<_>>().join(", "))
}

/// Bytes that a distinct row needs here.
fn each(columns: u64, plain: bool) -> u64 {
    24 * columns + 48 + if plain { 24 * columns } else { 0 }
}

/// Bytes in words.
fn size(bytes: u64) -> String {
    match bytes {
        0..0x10_0000 => format!("{} KB", bytes.div_ceil(1 << 10)),
        0x10_0000..0x4000_0000 => format!("{} MB", bytes.div_ceil(1 << 20)),
        _ => format!("{:.1} GB", bytes as f64 / f64::from(1 << 30)),
    }
}

/// The question as a query: the number of the part, the codes, how many records.
fn by_parts(question: &Question<'_>, table: &str) -> String {
    let q: Vec<String> = (0..question.quasi.len()).map(|i| format!("q{i}")).collect();
    let s: Vec<String> = (0..question.sensitive.len()).map(|i| format!("s{i}")).collect();
    let coded = |columns: &[Coded], names: &[String]| -> Vec<String> {
        columns
            .iter()
            .zip(names)
            .map(|(column, name)| format!("{} AS {name}", code::of(column)))
            .collect()
    };
    let mut cells = coded(question.quasi, &q);
    cells.extend(coded(question.sensitive, &s));
    cells.push("1 AS one".into());
    let case = |(part, region): (usize, &&[Run])| {
        let runs = region
            .iter()
            .zip(&q)
            .map(|(run, q)| format!("{q} BETWEEN {} AND {}", run.first, run.last));
        let runs: Vec<String> = runs.collect();
        format!(
            "WHEN {} THEN {part}",
            if runs.is_empty() { "TRUE".into() } else { runs.join(" AND ") }
        )
    };
    let cases: Vec<String> = question.parts.iter().enumerate().map(case).collect();
    let all = [&["part".to_owned()], &q[..], &s[..]].concat().join(", ");
    let by = match question.by_itself {
        true => {
            let set = |q: &String| {
                format!("({})", [&["part".to_owned(), q.clone()], &s[..]].concat().join(", "))
            };
            format!("GROUPING SETS ({})", q.iter().map(set).collect::<Vec<_>>().join(", "))
        }
        false => all.clone(),
    };
    format!(
        "SELECT {all}, COUNT(*) FROM (SELECT arrow_cast(CASE {} END, 'UInt32') AS part, * FROM (SELECT {} FROM {table})) \
         WHERE part IS NOT NULL GROUP BY {by}",
        cases.join(" "),
        cells.join(", ")
    )
}

/// The codes of columns as one number, or one text if there are too many combinations for a number.
fn as_one(columns: &[Coded]) -> String {
    let code = |c: &Coded| format!("CAST({} AS BIGINT)", code::of(c));
    let size = |c: &Coded| c.codes.iter().map(|(_, code)| u64::from(*code) + 1).max().unwrap_or(1);
    let combinations = columns.iter().try_fold(1i64, |n, c| n.checked_mul(size(c) as i64));
    match combinations {
        Some(_) => columns
            .iter()
            .fold("0".into(), |number, c| format!("({number} * {} + {})", size(c), code(c))),
        None => {
            format!("concat_ws(',', {})", columns.iter().map(code).collect::<Vec<_>>().join(", "))
        }
    }
}

/// Refuses columns that have no text.
fn must_be_flat(table: &Opened, names: &[String]) -> Result<(), Failures> {
    let mut problems = Failures::default();
    for field in table.fields(names).into_iter().filter(|f| f.data_type().is_nested()) {
        problems.push(
            Failure::data("nested-column", format!("column `{}` is nested", field.name()))
                .hint("flatten it into columns of simple values, or leave it out"),
        );
    }
    problems.or(())
}

fn unwritable(column: &str) -> Failures {
    Failure::data(
        "unwritable-value",
        format!("column `{column}` has a value that cannot be written as text"),
    )
    .hint("convert the column to strings")
    .into()
}

impl DataFusion {
    /// The distinct rows of a table as texts in order, and as they came if they are wanted so: the
    /// batches, and for every row its place in them.
    fn distinct(
        &self,
        context: &SessionContext,
        opened: &Opened,
        wanted: &[String],
        keep: bool,
        observer: &dyn Observer,
    ) -> Result<(Columns, Vec<RecordBatch>, Vec<u32>), Failures> {
        must_be_flat(opened, wanted)?;
        let fields = opened.fields(wanted);
        observer.phase(Phase::Count);
        let list = fields.iter().map(|f| quoted(f.name())).collect::<Vec<_>>().join(", ");
        let from = &opened.name;
        let sql = match list.is_empty() {
            true => format!("SELECT COUNT(*) FROM {from}"),
            false => format!("SELECT {list}, COUNT(*) FROM {from} GROUP BY {list}"),
        };
        let schema = Arc::new(Schema::new(fields.into_iter().cloned().collect::<Vec<_>>()));
        let (mut gathered, mut kept, mut done) = (Gathered::new(&schema), Vec::new(), 0);
        let expected = self.told().expected;
        self.ask(context, &sql, &mut |batch| {
            let numbers = batch.columns().last().and_then(|c| c.as_primitive_opt::<Int64Type>());
            let numbers =
                numbers.ok_or_else(|| Failure::bug("internal", "the engine did not count"))?;
            let weights: Vec<u64> = numbers.values().iter().map(|&n| n.max(0) as u64).collect();
            gathered.add(&batch, Some(&weights)).map_err(|column| unwritable(&column))?;
            done += batch.num_rows() as u64;
            observer.at(done, expected.max(done));
            observer.go_on()?;
            if keep {
                kept.push(batch);
            }
            Ok(())
        })?;
        let (mut counted, places) = gathered.sorted();
        counted.dialect = opened.dialect;
        if opened.dialect.is_some() {
            counted.columns.iter_mut().for_each(|c| c.arrow = None);
        }
        Ok((counted, kept, places))
    }
}

impl Engine for DataFusion {
    fn formats(&self) -> &'static [&'static str] {
        tables::FORMATS
    }

    fn header(&self, table: &Path, options: &ReadOptions) -> Result<Vec<String>, Failures> {
        Ok(self.open(&self.here, table, options)?.names())
    }

    fn count(
        &self,
        asked: &Asked,
        what: What,
        observer: &dyn Observer,
    ) -> Result<Columns, Failures> {
        let context = match what {
            What::Written => &self.here,
            What::Table => &self.context,
        };
        let opened = self.open(context, &asked.table, &asked.options)?;
        let (counted, ..) = self.distinct(context, &opened, &asked.wanted, false, observer)?;
        if what == What::Table {
            let mut report = self.told();
            (report.distinct, report.passes) =
                (report.distinct + counted.rows as u64, report.passes + 1);
        }
        Ok(counted)
    }

    fn count_extract(
        &self,
        asked: &Asked,
        plain: &[String],
        observer: &dyn Observer,
    ) -> Result<(Columns, Found), Failures> {
        self.must_share(plain)?;
        let context = &self.context;
        let opened = self.open(context, &asked.table, &asked.options)?;
        let keep = !plain.is_empty();
        let (mut counted, kept, places) =
            self.distinct(context, &opened, &asked.wanted, keep, observer)?;
        {
            let mut report = self.told();
            (report.distinct, report.passes) = (counted.rows as u64, report.passes + 1);
        }
        let names = |of: &[String]| -> Vec<String> {
            opened.fields(of).into_iter().map(|f| f.name().clone()).collect()
        };
        let (keys, passing) = (names(&asked.wanted), names(plain));
        let cells = records::cells(&kept, &places, keys.len())?;
        for (i, field) in opened
            .schema
            .fields()
            .iter()
            .filter(|f| keys.contains(f.name()) || passing.contains(f.name()))
            .enumerate()
            .filter(|(_, f)| passing.contains(f.name()))
        {
            let (name, arrow) =
                (field.name().clone(), opened.dialect.is_none().then(|| field.data_type().clone()));
            let column = Column { name, values: Default::default(), codes: Vec::new(), arrow };
            counted.columns.insert(i, column);
        }
        let asked = Asked { wanted: keys, ..asked.clone() };
        Ok((counted, Found { asked, plain: passing, cells }))
    }

    fn estimate(
        &self,
        asked: &Asked,
        passing: &Passing,
        observer: &dyn Observer,
    ) -> Result<Estimate, Failures> {
        let opened = self.open(&self.context, &asked.table, &asked.options)?;
        must_be_flat(&opened, &asked.wanted)?;
        must_be_flat(&opened, &passing.plain)?;
        self.must_share(&passing.plain)?;
        let estimate = self.expect(&opened, &asked.wanted, passing, observer)?;
        if let Some(person) = &passing.person {
            self.persons(&opened, person)?;
        }
        Ok(estimate)
    }

    fn estimate_all(&self, tables: &[Asked], observer: &dyn Observer) -> Result<(), Failures> {
        observer.phase(Phase::Estimate);
        let (begun, mut all) = (Instant::now(), EngineReport::default());
        for Asked { table, options, wanted } in tables {
            let opened = self.open(&self.context, table, options)?;
            must_be_flat(&opened, wanted)?;
            let (rows, distinct) = self.measured(&opened, wanted)?;
            observer.note(&format!(
                "`{}`: {rows} records, about {distinct} distinct rows",
                table.display()
            ));
            (all.rows, all.expected, all.passes) =
                (all.rows + rows, all.expected + distinct, all.passes + 1);
            all.bytes += distinct * each(wanted.len() as u64, false);
        }
        let EngineReport { rows, expected, bytes, passes, .. } = all;
        let allowed = {
            let mut report = self.told();
            (report.rows, report.expected, report.bytes, report.passes) =
                (rows, expected, bytes, passes);
            report.allowed
        };
        let (needed, may) = (size(bytes), size(allowed));
        let seconds = 2.0 * begun.elapsed().as_secs_f64();
        observer.note(&format!(
            "together {needed} of {may} in this process, two passes over each, at least {seconds:.0} s"
        ));
        if self.settings.rows.map_or(bytes <= allowed, |rows| expected <= rows) {
            return Ok(());
        }
        Err(Failure::refused("memory-limit", format!(
            "the tables have {rows} records and about {expected} distinct rows, which need about {needed} here; {may} are allowed"
        ))
        .remedy(
            Remedy::give_value(Argument::Memory, size(2 * bytes + LEAST))
                .then(" or more, or people with fewer quasi-identifiers"),
        )
        .into())
    }

    fn values(&self, asked: &Asked, observer: &dyn Observer) -> Result<Columns, Failures> {
        observer.phase(Phase::ReadValues);
        let opened = self.open(&self.context, &asked.table, &asked.options)?;
        let mut all: Vec<Column> = Vec::new();
        for field in opened.fields(&asked.wanted) {
            let schema = Arc::new(Schema::new(vec![field.clone()]));
            let (mut gathered, column) = (Gathered::new(&schema), quoted(field.name()));
            self.ask(
                &self.context,
                &format!("SELECT {column} FROM {} GROUP BY {column}", opened.name),
                &mut |batch| gathered.add(&batch, None).map_err(|column| unwritable(&column)),
            )?;
            let mut column = gathered.sorted().0.columns.remove(0);
            column.arrow = column.arrow.filter(|_| opened.dialect.is_none());
            all.push(column);
        }
        // Together the queries have read what was wanted once.
        self.told().passes += 1;
        let rows = all.iter().map(|c| c.codes.len()).max().unwrap_or(0);
        all.iter_mut().filter(|c| !c.codes.is_empty()).for_each(|c| c.codes.resize(rows, 0));
        Ok(Columns {
            rows,
            columns: all,
            bytes: 0,
            dialect: opened.dialect,
            sha256: None,
            weights: None,
        })
    }

    fn most_rows(&self, columns: usize) -> u64 {
        self.settings.rows.unwrap_or(self.told().allowed / each(columns as u64, false)).max(1)
    }

    fn fits(&self, rows: u64, columns: usize) -> Result<(), Failure> {
        let allowed = self.told().allowed;
        self.too_many(rows, rows * each(columns as u64, false), allowed).map_or(Ok(()), Err)
    }

    fn rows(
        &self,
        table: &Path,
        options: &ReadOptions,
        codings: &[Vec<Coded>],
        observer: &dyn Observer,
    ) -> Result<Vec<u64>, Failures> {
        observer.phase(Phase::Estimate);
        let opened = self.open(&self.context, table, options)?;
        self.told().passes += 1;
        let number =
            |(i, c): (usize, &Vec<Coded>)| format!("approx_distinct({}) AS n{i}", as_one(c));
        let list: Vec<String> = codings.iter().enumerate().map(number).collect();
        let rows = self.numbers(&format!("SELECT {} FROM {}", list.join(", "), opened.name))?;
        if rows.len() != codings.len() {
            return Err(Failure::bug("internal", "the engine gave no estimate").into());
        }
        Ok(rows)
    }

    fn sizes(
        &self,
        table: &Path,
        options: &ReadOptions,
        columns: &[Coded],
        observer: &dyn Observer,
    ) -> Result<Vec<(u64, u64)>, Failures> {
        observer.phase(Phase::Count);
        let opened = self.open(&self.context, table, options)?;
        self.told().passes += 1;
        let names: Vec<String> = (0..columns.len()).map(|i| format!("q{i}")).collect();
        let cells: Vec<String> =
            columns.iter().zip(&names).map(|(c, q)| format!("{} AS {q}", code::of(c))).collect();
        let by =
            if names.is_empty() { String::new() } else { format!("GROUP BY {}", names.join(", ")) };
        let cells = if cells.is_empty() { "1 AS one".into() } else { cells.join(", ") };
        let sql = format!(
            "SELECT n, COUNT(*) FROM (SELECT COUNT(*) AS n FROM (SELECT {cells} FROM {}) {by}) GROUP BY n",
            opened.name
        );
        let mut sizes = Vec::new();
        self.ask(&self.context, &sql, &mut |batch| {
            let column = |i: usize| batch.column(i).as_primitive_opt::<Int64Type>();
            let (Some(size), Some(number)) = (column(0), column(1)) else {
                return Err(Failure::bug("internal", "the engine counted something else").into());
            };
            let pairs = size.values().iter().zip(number.values());
            sizes.extend(pairs.map(|(&size, &number)| (size.max(0) as u64, number.max(0) as u64)));
            Ok(())
        })?;
        sizes.sort_unstable();
        Ok(sizes)
    }

    fn parts(
        &self,
        question: &Question<'_>,
        observer: &dyn Observer,
        take: &mut dyn FnMut(Number<'_>) -> Result<(), Failures>,
    ) -> Result<(), Failures> {
        observer.phase(Phase::Divide);
        let opened = self.open(&self.context, question.table, question.options)?;
        self.told().passes += 1;
        let (dims, secrets) = (question.quasi.len(), question.sensitive.len());
        self.ask(&self.context, &by_parts(question, &opened.name), &mut |batch| {
            let columns: Option<Vec<_>> = batch.columns()[..1 + dims + secrets]
                .iter()
                .map(|c| c.as_primitive_opt::<UInt32Type>())
                .collect();
            let counts = batch.columns().last().and_then(|c| c.as_primitive_opt::<Int64Type>());
            let (Some(columns), Some(counts)) = (columns, counts) else {
                return Err(Failure::bug("internal", "the engine counted something else").into());
            };
            let (mut quasi, mut sensitive) = (Vec::new(), Vec::new());
            for row in 0..batch.num_rows() {
                quasi.clear();
                sensitive.clear();
                let present: Vec<usize> =
                    (0..dims).filter(|&d| columns[1 + d].is_valid(row)).collect();
                quasi.extend(present.iter().map(|&d| columns[1 + d].value(row)));
                sensitive.extend(columns[1 + dims..].iter().map(|c| c.value(row)));
                take(Number {
                    part: columns[0].value(row) as usize,
                    dim: present.first().copied().filter(|_| question.by_itself),
                    quasi: &quasi,
                    sensitive: &sensitive,
                    count: counts.value(row).max(0) as u64,
                })?;
            }
            Ok(())
        })
    }

    fn records(
        &self,
        found: &Found,
        shares: &[Share],
        seed: u64,
        observer: &dyn Observer,
        put: Put<'_>,
    ) -> Result<(), Failures> {
        let folder = self.stop.lock().folder.clone();
        let folder = folder.ok_or_else(Failure::cancelled)?;
        let members = records::members(found, shares, &folder)?;
        let members = self.open(&self.context, &members, &ReadOptions::default())?;
        let source = self.open(&self.context, &found.asked.table, &found.asked.options)?;
        let sql = records::query(found, &source.name, &members.name, shares, seed);
        if self.settings.cluster.is_none() {
            // A small table of classes is kept, which spares sorting the source for the join; a
            // large one is sorted as well.
            let keys = found.asked.wanted.len() as u64;
            let bytes = found.cells.num_rows() as u64 * each(keys, true);
            let small = bytes < self.settings.memory / 8;
            let set = format!("SET datafusion.optimizer.prefer_hash_join = {small}");
            self.ask(&self.context, &set, &mut |_| Ok(()))?;
        }
        self.told().passes += 1;
        observer.phase(Phase::Write);
        self.ask(&self.context, &sql, &mut |batch| {
            let number = |i: usize| batch.column(i).as_primitive_opt::<UInt32Type>();
            let (Some(classes), Some(rows)) = (number(0), number(1)) else {
                return Err(Failure::bug(
                    "internal",
                    "the engine brought records without their classes",
                )
                .into());
            };
            let plain = batch.project(&(2..batch.num_columns()).collect::<Vec<_>>());
            let plain = plain.map_err(|e| {
                Failure::bug("internal", format!("the engine brought other columns: {e}"))
            })?;
            let mut gathered = Gathered::new(&plain.schema());
            gathered.add(&plain, None).map_err(|column| unwritable(&column))?;
            put(classes.values(), rows.values(), &gathered.columns())
        })
    }

    fn scan(
        &self,
        asked: &Asked,
        put: &mut dyn FnMut(&Columns) -> Result<(), Failures>,
    ) -> Result<(), Failures> {
        let opened = self.open(&self.here, &asked.table, &asked.options)?;
        let list = asked.wanted.iter().map(|n| quoted(n)).collect::<Vec<_>>().join(", ");
        self.ask(&self.here, &format!("SELECT {list} FROM {}", opened.name), &mut |batch| {
            let mut gathered = Gathered::new(&batch.schema());
            gathered.add(&batch, None).map_err(|column| unwritable(&column))?;
            put(&gathered.columns())
        })
    }

    fn report(&self) -> EngineReport {
        self.told().clone()
    }
}
