//! Executors that stop working on a job which was cancelled or has failed.
//!
//! A scheduler whose executors ask for work cannot tell them to stop, so that they would go on
//! until their tasks are done. So an executor asks now and then what has become of the jobs that it
//! works on, and ends what their tasks read from. Ending the tasks themselves would not be enough:
//! Ballista's writers go on without them.

use crate::roles::HEARTBEAT;
use ballista_core::JobId;
use ballista_core::serde::protobuf::GetJobStatusParams;
use ballista_core::serde::protobuf::job_status::Status;
use ballista_core::serde::protobuf::scheduler_grpc_client::SchedulerGrpcClient;
use ballista_executor::execution_engine::{
    DefaultExecutionEngine, ExecutionEngine, QueryStageExecutor,
};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use datafusion::prelude::SessionConfig;
use futures::StreamExt;
use std::collections::HashMap;
use std::fmt::Formatter;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

/// Whether a job has ended, for whoever works on it.
type Ended = AtomicBool;

/// The jobs that there are tasks of.
type Jobs = Arc<Mutex<HashMap<String, Weak<Ended>>>>;

/// Ballista's engine, with an eye on the scheduler.
pub struct Attentive {
    engine: DefaultExecutionEngine,
    jobs: Jobs,
}

impl Attentive {
    /// The engine of an executor of this scheduler, which is given as `http://host:port`.
    pub fn new(scheduler: String) -> Attentive {
        let jobs = Jobs::default();
        let seen = Arc::downgrade(&jobs);
        // In a thread of its own, because all others may be busy with rows.
        std::thread::spawn(move || {
            let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build()
            else {
                return;
            };
            while let Some(jobs) = seen.upgrade() {
                runtime.block_on(ask(&scheduler, &jobs));
                drop(jobs);
                std::thread::sleep(Duration::from_secs(HEARTBEAT) / 2);
            }
        });
        // Without a pool of connections between executors, which Ballista keeps to itself: each
        // read of a partition opens one.
        Attentive { engine: DefaultExecutionEngine::new(), jobs }
    }

    /// What tells whether a job has ended.
    fn ended(&self, job: &str) -> Arc<Ended> {
        let mut jobs = lock(&self.jobs);
        let known = jobs.get(job).and_then(Weak::upgrade);
        known.unwrap_or_else(|| {
            let ended = Arc::new(Ended::new(false));
            jobs.insert(job.to_owned(), Arc::downgrade(&ended));
            ended
        })
    }
}

fn lock(jobs: &Jobs) -> MutexGuard<'_, HashMap<String, Weak<Ended>>> {
    jobs.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Asks what has become of all jobs. A scheduler that does not answer says nothing of them.
async fn ask(scheduler: &str, jobs: &Jobs) {
    let asked: Vec<(String, Arc<Ended>)> = {
        let mut jobs = lock(jobs);
        jobs.retain(|_, ended| ended.strong_count() > 0);
        jobs.iter().filter_map(|(job, ended)| Some((job.clone(), ended.upgrade()?))).collect()
    };
    if asked.is_empty() {
        return;
    }
    let Ok(mut client) = SchedulerGrpcClient::connect(scheduler.to_owned()).await else { return };
    for (job_id, ended) in asked {
        let Ok(answer) = client.get_job_status(GetJobStatusParams { job_id }).await else {
            continue;
        };
        if let Some(Status::Failed(_)) = answer.into_inner().status.and_then(|s| s.status) {
            ended.store(true, Ordering::Relaxed);
        }
    }
}

impl ExecutionEngine for Attentive {
    fn create_query_stage_exec(
        &self,
        job: JobId,
        stage: usize,
        task: usize,
        partitions: Vec<usize>,
        plan: Arc<dyn ExecutionPlan>,
        folder: &str,
        config: &SessionConfig,
    ) -> Result<Arc<dyn QueryStageExecutor>> {
        let ended = self.ended(job.as_ref());
        // Where rows come in, and where they come out after a while.
        let wrap = |node: Arc<dyn ExecutionPlan>| {
            Ok(match node.children().is_empty() || node.downcast_ref::<SortExec>().is_some() {
                true => {
                    Transformed::yes(Arc::new(Until { input: node, ended: ended.clone() }) as _)
                }
                false => Transformed::no(node),
            })
        };
        let plan = plan.transform_up(wrap)?.data;
        self.engine.create_query_stage_exec(job, stage, task, partitions, plan, folder, config)
    }
}

/// Rows until the job has ended.
#[derive(Debug)]
struct Until {
    input: Arc<dyn ExecutionPlan>,
    ended: Arc<Ended>,
}

impl DisplayAs for Until {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl ExecutionPlan for Until {
    fn name(&self) -> &str {
        "Until"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let input = children
            .pop()
            .ok_or_else(|| DataFusionError::Internal("there is nothing to read".into()))?;
        Ok(Arc::new(Until { input, ended: self.ended.clone() }))
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let (rows, ended) = (self.input.execute(partition, context)?, self.ended.clone());
        let rows = rows.map(move |batch| match ended.load(Ordering::Relaxed) {
            true => Err(DataFusionError::Execution("Cancelled".into())),
            false => batch,
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows)))
    }
}
