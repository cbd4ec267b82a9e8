//! Ballista as it comes, for the tests: its scheduler and its executor with nothing of ours, and
//! what a scheduler says of a job.
//!
//! ```text
//! ballista scheduler PORT
//! ballista executor SCHEDULER-PORT DATA-PORT ORDERS-PORT FOLDER
//! ballista job SCHEDULER-PORT JOB
//! ```

use ballista_core::serde::protobuf::GetJobStatusParams;
use ballista_core::serde::protobuf::job_status::Status;
use ballista_core::serde::protobuf::scheduler_grpc_client::SchedulerGrpcClient;
use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};
use ballista_scheduler::cluster::BallistaCluster;
use ballista_scheduler::config::SchedulerConfig;
use ballista_scheduler::scheduler_process::start_server;
use std::error::Error;
use std::sync::Arc;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["scheduler", port] => {
            let config = SchedulerConfig { bind_port: port.parse()?, ..SchedulerConfig::default() };
            let cluster = BallistaCluster::new_from_config(&config).await?;
            start_server(cluster, format!("127.0.0.1:{port}").parse()?, Arc::new(config)).await?;
        }
        ["executor", scheduler, data, orders, folder] => {
            let config = ExecutorProcessConfig {
                scheduler_port: scheduler.parse()?,
                port: data.parse()?,
                grpc_port: orders.parse()?,
                work_dir: Some(folder.into()),
                ..ExecutorProcessConfig::default()
            };
            start_executor_process(Arc::new(config)).await?;
        }
        ["job", scheduler, job] => {
            let mut client =
                SchedulerGrpcClient::connect(format!("http://127.0.0.1:{scheduler}")).await?;
            let answer = client.get_job_status(GetJobStatusParams { job_id: job.into() }).await?;
            let status = answer.into_inner().status.and_then(|s| s.status);
            println!(
                "{}",
                match status {
                    None => "unknown".into(),
                    Some(Status::Queued(_)) => "queued".into(),
                    Some(Status::Running(_)) => "running".into(),
                    Some(Status::Failed(failed)) => format!("failed: {}", failed.error),
                    Some(Status::Successful(_)) => "successful".to_owned(),
                }
            );
        }
        _ => return Err("say `scheduler`, `executor` or `job`".into()),
    }
    Ok(())
}
