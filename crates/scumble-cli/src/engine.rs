//! Where a table is counted, and the roles of a cluster. A build without the feature `cluster` says
//! so.

use crate::Answer;
use scumble::failure::{Failure, Failures};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

/// Which engine counts, and what it may use.
#[derive(clap::Args)]
#[group(skip)]
pub struct Arguments {
    /// Count the source with DataFusion, which spills to the disk what does not fit
    #[arg(long, value_name = "ENGINE", value_parser = ["datafusion"], conflicts_with = "cluster")]
    engine: Option<String>,
    /// Count the source on the cluster with this scheduler
    #[arg(long, value_name = "df://HOST:PORT", value_parser = address)]
    cluster: Option<String>,
    /// What this process may use with `--engine` or `--cluster` [default: 2GB]
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    memory: Option<u64>,
    /// For tests: how many distinct rows may be in this process
    #[arg(long, value_name = "N", hide = true)]
    rows_at_once: Option<u64>,
    /// Where the engine puts what does not fit; with `--cluster` a folder that the executors see
    /// too
    #[arg(long, value_name = "FOLDER")]
    spill: Option<PathBuf>,
}

/// The roles.
#[derive(clap::Subcommand)]
pub enum Command {
    /// Hand out the work. Whoever can connect can run queries: there is no password
    Scheduler {
        /// Where to listen; other machines need an address that they can reach
        #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:50050")]
        bind: SocketAddr,
        /// What other machines call this one [default: the address]
        #[arg(long, value_name = "NAME")]
        host: Option<String>,
    },
    /// Do the work. Whoever can connect can fetch what it has counted: there is no password
    Executor {
        /// The scheduler
        #[arg(long, value_name = "df://HOST:PORT", default_value = "df://127.0.0.1:50050", value_parser = address)]
        scheduler: String,
        /// Where to listen
        #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
        bind: IpAddr,
        /// The port for data
        #[arg(long, value_name = "PORT", default_value_t = 50051)]
        port: u16,
        /// The port for orders of the scheduler
        #[arg(long, value_name = "PORT", default_value_t = 50052)]
        orders_port: u16,
        /// What other machines call this one [default: the address]
        #[arg(long, value_name = "NAME")]
        host: Option<String>,
        /// How many tasks at a time [default: as many as there are cores]
        #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
        cores: usize,
        /// What all tasks together may use [default: 70 % of the machine]
        #[arg(long, value_name = "SIZE", value_parser = bytes)]
        memory: Option<u64>,
        /// Where it puts what does not fit, and what others will fetch [default: a temporary
        /// folder]
        #[arg(long, value_name = "FOLDER")]
        spill: Option<PathBuf>,
    },
}

/// A number with `KB`, `MB`, `GB` or `TB`.
fn bytes(text: &str) -> Result<u64, String> {
    let wrong = || "must be a size, such as `512MB` or `2GB`".to_owned();
    let at = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(at);
    let unit = match unit.trim().to_ascii_uppercase().as_str() {
        "KB" | "K" => 1u64 << 10,
        "MB" | "M" => 1 << 20,
        "GB" | "G" => 1 << 30,
        "TB" | "T" => 1 << 40,
        _ => return Err(wrong()),
    };
    let number: f64 = number.parse().map_err(|_| wrong())?;
    Ok((number * unit as f64) as u64)
}

/// The address of a scheduler.
fn address(text: &str) -> Result<String, String> {
    let place = text.strip_prefix("df://").and_then(|t| t.trim_end_matches('/').rsplit_once(':'));
    match place {
        Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok() => {
            Ok(text.to_owned())
        }
        _ => Err("must be the address of a scheduler, such as `df://10.0.0.5:50050`".into()),
    }
}

#[cfg(feature = "cluster")]
mod with {
    use super::*;
    use scumble_cluster::roles::{self, Executor, Scheduler};
    use scumble_cluster::{DataFusion, Settings};
    use scumble_publisher::publish::engine::Engine;

    impl Arguments {
        /// The engine, if one is asked for.
        pub fn open(self) -> Result<Option<DataFusion>, Failures> {
            self.fits()?;
            let Arguments { engine, cluster, memory, rows_at_once: rows, spill } = self;
            if engine.is_none() && cluster.is_none() {
                return Ok(None);
            }
            DataFusion::new(Settings { cluster, memory: memory.unwrap_or(2 << 30), rows, spill })
                .map(Some)
        }
    }

    /// What the libraries ask.
    pub fn asked(engine: &Option<DataFusion>) -> Option<&dyn Engine> {
        engine.as_ref().map(|e| e as &dyn Engine)
    }

    /// Ends what the engine is doing.
    pub fn stopper(engine: &Option<DataFusion>) -> impl Fn() + Send + 'static {
        let stop = engine.as_ref().map(DataFusion::stopper);
        move || stop.iter().for_each(|s| s.stop())
    }

    pub fn run(command: Command) -> Result<Answer, Failures> {
        match command {
            Command::Scheduler { bind, host } => {
                eprintln!("scheduler on {bind}; anybody who can connect can run queries");
                roles::schedule(&Scheduler { bind, host })?;
            }
            Command::Executor {
                scheduler,
                bind,
                port,
                orders_port: orders,
                host,
                cores,
                memory,
                spill: folder,
            } => {
                let place = scheduler.trim_start_matches("df://").trim_end_matches('/');
                let (name, number) = place.rsplit_once(':').unwrap_or((place, "50050"));
                let scheduler = (name.to_owned(), number.parse().unwrap_or(50050));
                eprintln!("executor on {bind}:{port} for the scheduler at {place}");
                roles::execute(&Executor {
                    scheduler,
                    bind,
                    port,
                    orders,
                    host,
                    cores,
                    memory,
                    folder,
                })?;
            }
        }
        Ok(Answer { text: String::new(), json: serde_json::json!({}), yes: true })
    }
}

#[cfg(not(feature = "cluster"))]
mod without {
    use super::*;
    use scumble_publisher::publish::engine::Engine;

    fn missing() -> Failures {
        Failure::usage("no-engine", "this build of scumble has no engine beside its own")
            .hint("build one with `cargo build --release -p scumble-cli --features cluster`")
            .into()
    }

    impl Arguments {
        pub fn open(self) -> Result<Option<()>, Failures> {
            self.fits()?;
            if self.engine.is_none() && self.cluster.is_none() { Ok(None) } else { Err(missing()) }
        }
    }

    pub fn asked(_: &Option<()>) -> Option<&'static dyn Engine> {
        None
    }

    pub fn stopper(_: &Option<()>) -> impl Fn() + Send + 'static {
        || ()
    }

    pub fn run(_: Command) -> Result<Answer, Failures> {
        Err(missing())
    }
}

impl Arguments {
    /// Limits are for an engine.
    fn fits(&self) -> Result<(), Failures> {
        if self.engine.is_some()
            || self.cluster.is_some()
            || (self.memory.or(self.rows_at_once).is_none() && self.spill.is_none())
        {
            return Ok(());
        }
        Err(Failure::usage(
            "useless-argument",
            "`--memory` and `--spill` are for an engine that can spill",
        )
        .hint("add `--engine datafusion`, or `--cluster df://…`")
        .into())
    }
}

#[cfg(feature = "cluster")]
pub use with::{asked, run, stopper};
#[cfg(not(feature = "cluster"))]
pub use without::{asked, run, stopper};
