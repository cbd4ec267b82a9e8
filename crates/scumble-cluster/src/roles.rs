//! The roles of a cluster, run by our own binary, so that client, scheduler and executors are of
//! one version.

use crate::attentive::Attentive;
use crate::code;
use crate::stores::Stores;
use ballista_core::config::TaskSchedulingPolicy;
use ballista_core::extension::{
    ballista_aggregate_functions, ballista_scalar_functions, ballista_window_functions,
};
use ballista_core::registry::BallistaFunctionRegistry;
use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};
use ballista_scheduler::cluster::BallistaCluster;
use ballista_scheduler::config::SchedulerConfig;
use ballista_scheduler::scheduler_process::start_server;
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::SessionConfig;
use scumble::failure::{Argument, Failure, Failures, Remedy};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

/// The largest message between client, scheduler and executors.
pub(crate) const MESSAGE: u32 = 256 << 20;

/// Executors ask for work. Where the scheduler hands it out, a job waits for ever if an executor is
/// lost whose results are needed again: they are to be made again, and nobody is told to.
const POLICY: TaskSchedulingPolicy = TaskSchedulingPolicy::PullStaged;

/// An executor says so often that it is there, in seconds.
pub(crate) const HEARTBEAT: u64 = 2;

/// After so many seconds without a word it is taken for lost, and its work is given to others.
const LOST: u64 = 12;

/// A scheduler.
pub struct Scheduler {
    /// Where it listens.
    pub bind: SocketAddr,
    /// What others call this machine.
    pub host: Option<String>,
}

/// An executor.
pub struct Executor {
    /// The scheduler's host and port.
    pub scheduler: (String, u16),
    /// Where it listens.
    pub bind: IpAddr,
    /// The port for data.
    pub port: u16,
    /// The port for orders.
    pub orders: u16,
    /// What others call this machine.
    pub host: Option<String>,
    /// Tasks at a time; 0 for as many as there are cores.
    pub cores: usize,
    /// Bytes for all tasks.
    pub memory: Option<u64>,
    /// Where it spills and keeps what it hands on.
    pub folder: Option<PathBuf>,
}

/// Runs a scheduler until the process is ended.
pub fn schedule(role: &Scheduler) -> Result<(), Failures> {
    listen();
    let failed = |e: &dyn std::fmt::Display| {
        Failure::io("engine-failed", format!("the scheduler failed: {e}"))
    };
    let build = |config: SessionConfig| {
        let runtime = RuntimeEnvBuilder::new()
            .with_object_store_registry(Arc::new(Stores::default()))
            .build_arc()?;
        Ok(SessionStateBuilder::new()
            .with_default_features()
            .with_config(config)
            .with_runtime_env(runtime)
            .with_optimizer_rules(ballista_core::optimizer::ballista_default_optimizer_rules())
            .with_scalar_functions(
                ballista_scalar_functions()
                    .into_iter()
                    .chain([Arc::new(code::function())])
                    .collect(),
            )
            .with_aggregate_functions(ballista_aggregate_functions())
            .with_window_functions(ballista_window_functions())
            .build())
    };
    let config = SchedulerConfig {
        bind_host: role.bind.ip().to_string(),
        bind_port: role.bind.port(),
        external_host: role.host.clone().unwrap_or_else(|| role.bind.ip().to_string()),
        scheduling_policy: POLICY,
        executor_timeout_seconds: LOST,
        expire_dead_executor_interval_seconds: HEARTBEAT,
        no_executors_grace_period_seconds: 2 * LOST,
        grpc_server_max_decoding_message_size: MESSAGE,
        grpc_server_max_encoding_message_size: MESSAGE,
        grpc_client_max_message_size: MESSAGE,
        override_session_builder: Some(Arc::new(build)),
        ..SchedulerConfig::default()
    };
    runtime()?.block_on(async {
        let cluster = BallistaCluster::new_from_config(&config).await.map_err(|e| failed(&e))?;
        start_server(cluster, role.bind, Arc::new(config)).await.map_err(|e| failed(&e))
    })?;
    Ok(())
}

/// Runs an executor until the process is ended.
pub fn execute(role: &Executor) -> Result<(), Failures> {
    listen();
    let folder = role.folder.clone();
    let make = move |_: &SessionConfig| {
        let mut runtime =
            RuntimeEnvBuilder::new().with_object_store_registry(Arc::new(Stores::default()));
        if let Some(folder) = &folder {
            runtime = runtime.with_temp_file_path(folder);
        }
        runtime.build_arc()
    };
    let mut functions = BallistaFunctionRegistry::default();
    functions.scalar_functions.insert(code::NAME.into(), Arc::new(code::function()));
    let address = format!("http://{}:{}", role.scheduler.0, role.scheduler.1);
    let config = ExecutorProcessConfig {
        bind_host: role.bind.to_string(),
        external_host: Some(role.host.clone().unwrap_or_else(|| role.bind.to_string())),
        port: role.port,
        grpc_port: role.orders,
        scheduler_host: role.scheduler.0.clone(),
        scheduler_port: role.scheduler.1,
        scheduler_connect_timeout_seconds: 20,
        task_scheduling_policy: POLICY,
        vcores: role.cores,
        work_dir: role.folder.as_ref().map(|f| f.display().to_string()),
        memory_pool_size: role.memory,
        executor_heartbeat_interval_seconds: HEARTBEAT,
        grpc_max_decoding_message_size: MESSAGE,
        grpc_max_encoding_message_size: MESSAGE,
        override_runtime_producer: Some(Arc::new(make)),
        override_function_registry: Some(Arc::new(functions)),
        override_execution_engine: Some(Arc::new(Attentive::new(address))),
        ..ExecutorProcessConfig::default()
    };
    if let Some(folder) = &role.folder {
        std::fs::create_dir_all(folder).map_err(|e| {
            Failure::io(
                "cannot-write",
                format!(
                    "cannot write to `{}`: {}",
                    folder.display(),
                    scumble_publisher::describe(&e)
                ),
            )
            .remedy(Remedy::words("name another folder with ").and_give(Argument::Spill))
        })?;
    }
    runtime()?.block_on(start_executor_process(Arc::new(config))).map_err(|e| {
        Failure::io("engine-failed", format!("the executor failed: {e}"))
            .hint("is the scheduler running, and are the ports free? see its help")
            .into()
    })
}

/// What Ballista has to say, on standard error: warnings, or more with `SCUMBLE_LOG=info`. Queries
/// stand in `debug` only.
struct Log;

impl log::Log for Log {
    fn enabled(&self, about: &log::Metadata<'_>) -> bool {
        about.level() <= log::max_level()
    }

    fn log(&self, record: &log::Record<'_>) {
        if self.enabled(record.metadata()) {
            let text = record.args().to_string();
            eprintln!(
                "{}: {}",
                record.level().as_str().to_lowercase(),
                told(record.level(), &text)
            );
        }
    }

    fn flush(&self) {}
}

/// What may be told of a warning. Behind the first colon, or after "due to", stands the text of an
/// error, which may quote data.
fn told(level: log::Level, text: &str) -> &str {
    match level {
        log::Level::Error | log::Level::Warn if log::max_level() < log::LevelFilter::Debug => {
            text.split(':').next().and_then(|text| text.split(" due to ").next()).unwrap_or(text)
        }
        // Plans of queries are told in several lines.
        log::Level::Info if log::max_level() < log::LevelFilter::Debug => {
            text.lines().next().unwrap_or(text)
        }
        _ => text,
    }
}

fn listen() {
    let asked = std::env::var("SCUMBLE_LOG").ok().and_then(|level| level.parse().ok());
    log::set_max_level(asked.unwrap_or(log::LevelFilter::Warn));
    // Somebody else's logger is as good.
    let _ = log::set_logger(&Log);
}

fn runtime() -> Result<tokio::runtime::Runtime, Failures> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|e| Failure::io("engine-failed", format!("cannot start: {e}")).into())
}
