//! The script port: worlds on threads of their own, and a watchdog over them.
//!
//! Two workers: scripts take microseconds, so one would do, and the second keeps other runs going while one is stuck.
//! A worker serves one job at a time and waits on a channel in between. One that does not answer in time is in a
//! native call that nothing can stop: it is abandoned, ends by itself when the call returns, and is replaced.
//! A worker without a job for ten seconds ends: a run that waits for its user keeps no engine.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::{Semaphore, oneshot};

use super::isolate::ScriptIsolate;
use super::job_state::ScriptFileReader;
use super::limits::ScriptLimits;
use synthdev_domain::ids::ScriptIx;
use synthdev_domain::script::{ScriptError, ScriptErrorKind, ScriptJob, ScriptOutcome};
use synthdev_ports::script::ScriptPort;

const WORKERS: usize = 2;
/// Threads that may exist at all, abandoned ones included.
const THREADS: usize = 8;
/// How long after the limit a worker may take to answer before it counts as stuck.
const GRACE: Duration = Duration::from_secs(1);
/// How long a worker waits for its next job.
const LONGEST_IDLE: Duration = Duration::from_secs(10);

type ScriptJobResult = Result<ScriptOutcome, ScriptError>;
type JobWithAnswer = (ScriptJob, oneshot::Sender<ScriptJobResult>);

/// Evaluates script jobs off the async threads. Needs a tokio runtime with time.
pub struct ScriptWorkerPool {
    limits: ScriptLimits,
    file_reader: Option<ScriptFileReader>,
    grace_period: Duration,
    longest_idle: Duration,
    free_slots: Semaphore,
    idle_workers: Arc<IdleWorkers>,
    /// Every living thread holds one.
    alive_token: Arc<()>,
}

/// Workers that wait for a job.
#[derive(Default)]
struct IdleWorkers(Mutex<Vec<ScriptWorker>>);

impl IdleWorkers {
    fn lock_list(&self) -> MutexGuard<'_, Vec<ScriptWorker>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `false`: a job has just taken it.
    fn remove_worker(&self, token: &Arc<()>) -> bool {
        let mut list = self.lock_list();
        let at = list.iter().position(|worker| Arc::ptr_eq(&worker.token, token));
        at.map(|at| list.swap_remove(at)).is_some()
    }
}

struct ScriptWorker {
    jobs: mpsc::Sender<JobWithAnswer>,
    /// Its thread has it, too.
    token: Arc<()>,
    /// The frame of its last job: its world may still hold that frame's data.
    last_frame: u64,
}

impl ScriptWorkerPool {
    /// Starts no thread: the first job does.
    pub fn new(limits: ScriptLimits) -> Self {
        Self::with_grace(limits, GRACE)
    }

    fn with_grace(limits: ScriptLimits, grace: Duration) -> Self {
        Self {
            limits,
            file_reader: None,
            grace_period: grace,
            longest_idle: LONGEST_IDLE,
            free_slots: Semaphore::new(WORKERS),
            idle_workers: Arc::default(),
            alive_token: Arc::new(()),
        }
    }

    /// With `readFile` for its scripts.
    pub fn with_file_reader(limits: ScriptLimits, file_reader: ScriptFileReader) -> Self {
        Self { file_reader: Some(file_reader), ..Self::new(limits) }
    }

    async fn ask_worker(&self, job: ScriptJob) -> ScriptJobResult {
        let _turn = self.free_slots.acquire().await;
        // This future owns the worker: dropping it drops the worker, and the thread ends after the job.
        let mut worker = self.worker(job.scope.frame)?;
        worker.last_frame = job.scope.frame;
        let (answer, answered) = oneshot::channel();
        if worker.jobs.send((job, answer)).is_err() {
            return Err(broken_worker_error("the script thread ended unexpectedly; try again"));
        }
        match tokio::time::timeout(self.limits.time + self.grace_period, answered).await {
            Ok(Ok(answer)) => {
                self.idle_workers.lock_list().push(worker);
                answer
            }
            Ok(Err(_)) => Err(broken_worker_error("the script thread ended unexpectedly; try again")),
            Err(_) => Err(broken_worker_error(
                "stuck in a call that cannot be interrupted, and was abandoned; search or fill smaller values",
            )),
        }
    }

    /// An idle worker, best the one that served this frame before, or a new one.
    fn worker(&self, frame: u64) -> Result<ScriptWorker, ScriptError> {
        let mut idle = self.idle_workers.lock_list();
        let at = idle.iter().position(|worker| worker.last_frame == frame);
        if let Some(at) = at.or_else(|| idle.len().checked_sub(1)) {
            return Ok(idle.swap_remove(at));
        }
        drop(idle);
        if Arc::strong_count(&self.alive_token) > THREADS {
            return Err(broken_worker_error(
                "too many scripts are stuck in calls that cannot be interrupted; restart the program",
            ));
        }
        let (jobs, queue) = mpsc::channel();
        let token = Arc::new(());
        let idle = IdleWatch {
            limit: self.longest_idle,
            workers: Arc::downgrade(&self.idle_workers),
            token: Arc::clone(&token),
        };
        let (limits, alive) = (self.limits, Arc::clone(&self.alive_token));
        let file_reader = self.file_reader.clone();
        let serve = move || {
            let mut world = ScriptIsolate::new(limits).with_file_reader(file_reader);
            while let Some((job, answer)) = idle.next_job(&queue) {
                // A cancelled job has no receiver.
                let _ = answer.send(world.evaluate_job(job));
            }
            drop(world);
            drop(alive);
        };
        let thread = std::thread::Builder::new().name("scripts".to_owned());
        // Rust's own frames come on top of what JavaScript may use.
        thread.stack_size(limits.stack + 2 * 1024 * 1024).spawn(serve).map_err(|error| {
            broken_worker_error(&format!("no thread for scripts could be started: {error}"))
        })?;
        Ok(ScriptWorker { jobs, token, last_frame: frame })
    }
}

/// What ends a worker that no job asks for.
struct IdleWatch {
    limit: Duration,
    /// The thread keeps no pool alive.
    workers: Weak<IdleWorkers>,
    token: Arc<()>,
}

impl IdleWatch {
    /// `None`: the worker ends. One that a job has taken meanwhile waits on: the job is about to come.
    fn next_job(&self, queue: &mpsc::Receiver<JobWithAnswer>) -> Option<JobWithAnswer> {
        loop {
            match queue.recv_timeout(self.limit) {
                Ok(job) => return Some(job),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => {
                    if self.workers.upgrade()?.remove_worker(&self.token) {
                        return None;
                    }
                }
            }
        }
    }
}

impl Default for ScriptWorkerPool {
    fn default() -> Self {
        Self::new(ScriptLimits::default())
    }
}

impl ScriptPort for ScriptWorkerPool {
    fn evaluate(&self, job: ScriptJob) -> BoxFuture<'_, ScriptJobResult> {
        let script = super::isolate::first_script(&job.task);
        async move {
            self.ask_worker(job).await.map_err(|mut error| {
                if error.kind == ScriptErrorKind::Host && error.script == NOWHERE {
                    error.script = script;
                }
                error
            })
        }
        .boxed()
    }
}

/// Means "not yet known" between `ask_worker` and `evaluate`.
const NOWHERE: ScriptIx = ScriptIx(usize::MAX);

fn broken_worker_error(message: &str) -> ScriptError {
    let message = message.to_owned();
    ScriptError { kind: ScriptErrorKind::Host, message, script: NOWHERE, library: None, line: 0, column: 0 }
}

#[cfg(test)]
mod tests;
