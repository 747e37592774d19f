//! A worker: the runs that it drives, its address, and its end.

use std::collections::HashMap;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use restate_sdk::prelude::{Endpoint, HttpServer, IntoServiceDefinition, ServiceOptions};
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::{OnceCell, Semaphore};

use super::journaled_step::{FollowAnswer, FollowRequest, JournaledStep, StepRefusal};
use super::run_session::{ReplayedRun, RunSession, refusal, store_refusal};
pub use super::run_session::{RunHost, StoreWrapper};
use super::workflow_service::SynthdevRun;
use synthdev_domain::ids::RunId;
use synthdev_engine::event::PublishedEvent;

/// A step lasts as long as the driver appends nothing: as long as a model call or a command. A step that is cut off is
/// taken up again with nothing lost, so the time only bounds how long a connection may be silent.
const LONGEST_STEP: Duration = Duration::from_secs(2 * 60 * 60);

/// The server calls a worker that is gone again so soon, and at least so often.
const FIRST_RETRY: Duration = Duration::from_millis(200);
const LONGEST_RETRY: Duration = Duration::from_secs(5);

/// How long a worker that ends waits for its drivers to stop between two inputs.
const DRAIN_PATIENCE: Duration = Duration::from_secs(10);

/// Connections that may wait to be accepted.
const BACKLOG: u32 = 1024;

/// A session, once it has begun.
type SessionCell = Arc<OnceCell<RunSession>>;

/// How a worker presents itself.
#[derive(Clone, Debug)]
pub struct WorkerOptions {
    pub host_id: String,
    /// Runs at the same time.
    pub slots: usize,
    /// The public key of the server whose calls are taken; `None`: of every program that reaches the address.
    pub identity_key: Option<String>,
}

pub struct RunWorker {
    host: Arc<dyn RunHost>,
    options: WorkerOptions,
    slots: Arc<Semaphore>,
    sessions: Mutex<HashMap<RunId, SessionCell>>,
}

impl RunWorker {
    pub fn new(host: Arc<dyn RunHost>, options: WorkerOptions) -> Self {
        let slots = Arc::new(Semaphore::new(options.slots));
        Self { host, options, slots, sessions: Mutex::default() }
    }

    pub(crate) fn host(&self) -> &Arc<dyn RunHost> {
        &self.host
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RunId, SessionCell>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next step of a run, which this worker drives from here on.
    ///
    /// # Errors
    /// The run is given up: the server tries again.
    pub(crate) async fn next_step(
        &self,
        run: &RunId,
        replayed: &Arc<Mutex<ReplayedRun>>,
    ) -> Result<JournaledStep, StepRefusal> {
        let number = {
            let replayed = replayed.lock().unwrap_or_else(PoisonError::into_inner);
            if replayed.submission.project != self.host.project() {
                return Ok(JournaledStep::Refused(self.foreign_project(&replayed.submission.project)));
            }
            replayed.steps
        };
        let cell = Arc::clone(self.lock().entry(run.clone()).or_default());
        let begun = cell.get_or_try_init(|| self.begin(run, replayed)).await;
        let step = match begun {
            Ok(session) => session.outbox.step(number).await,
            Err(refused) => return Err(refused),
        };
        match step {
            Some(step) => Ok(step),
            None => {
                if let Some(session) = cell.get() {
                    session.outbox.close();
                    session.wait_until_left().await;
                }
                self.forget(run, &cell);
                Err(refusal(format!("worker {} has given the run up", self.options.host_id)))
            }
        }
    }

    async fn begin(
        &self,
        run: &RunId,
        replayed: &Arc<Mutex<ReplayedRun>>,
    ) -> Result<RunSession, StepRefusal> {
        let slot = Arc::clone(&self.slots).acquire_owned().await;
        let slot = slot.map_err(|_| refusal("this worker ends".to_owned()))?;
        let (host, replayed) = (Arc::clone(&self.host), Arc::clone(replayed));
        RunSession::begin(host, &self.options.host_id, run.clone(), replayed, slot).await
    }

    fn foreign_project(&self, project: &str) -> StepRefusal {
        StepRefusal {
            message: format!(
                "worker {} works in {}, and the run is one of {project}",
                self.options.host_id,
                self.host.project()
            ),
            hint: Some("start a worker in that directory".to_owned()),
        }
    }

    /// The step is at the server.
    pub(crate) fn mark_journaled(&self, run: &RunId, number: u64, step: &JournaledStep) {
        let Some(cell) = self.lock().get(run).cloned() else { return };
        let Some(session) = cell.get() else { return };
        if session.outbox.journaled() != number {
            return;
        }
        session.outbox.mark_journaled(number);
        if !matches!(step, JournaledStep::Rows { .. }) {
            session.outbox.close();
            self.forget(run, &cell);
        }
    }

    fn forget(&self, run: &RunId, cell: &SessionCell) {
        let mut sessions = self.lock();
        if sessions.get(run).is_some_and(|known| Arc::ptr_eq(known, cell)) {
            sessions.remove(run);
        }
    }

    /// What happened in a run since the caller last asked.
    ///
    /// # Errors
    /// The run cannot be read.
    pub(crate) fn follow(&self, run: &RunId, asked: FollowRequest) -> Result<FollowAnswer, StepRefusal> {
        let cell = self.lock().get(run).cloned();
        let session = cell.as_ref().and_then(|cell| cell.get());
        let version = session.map(|session| session.outbox.version());
        let unchanged = FollowAnswer { events: Vec::new(), version, progress: None, refused: None };
        if version.is_some() && version == asked.version || !self.is_known(run) {
            return Ok(unchanged);
        }
        let record = self.host.reader().load_record(run.as_str()).map_err(store_refusal)?;
        let events = record.events.into_iter().skip(asked.events).map(|(at, step)| PublishedEvent {
            run: run.clone(),
            at,
            at_step: step.at_step,
            event: step.event,
        });
        let progress = Some(record.summary.progress);
        Ok(FollowAnswer { events: events.collect(), version, progress, refused: None })
    }

    fn is_known(&self, run: &RunId) -> bool {
        self.host.store().find(run.as_str()).is_ok_and(|found| found.id == *run)
    }

    /// `false`: this worker does not drive it.
    pub(crate) fn cancel(&self, run: &RunId) -> bool {
        let cell = self.lock().get(run).cloned();
        let Some(session) = cell.as_ref().and_then(|cell| cell.get()) else { return false };
        self.host.end_driven(&session.handle, run);
        true
    }

    /// Leaves all runs between two inputs: the server goes on with them elsewhere, or here after a restart.
    async fn drain(&self) {
        self.slots.close();
        let cells: Vec<SessionCell> = self.lock().values().cloned().collect();
        let runs: Vec<RunId> = self.lock().keys().cloned().collect();
        for (run, cell) in runs.iter().zip(&cells) {
            if let Some(session) = cell.get() {
                self.host.leave(&session.handle, run);
            }
        }
        let left = async {
            for session in cells.iter().filter_map(|cell| cell.get()) {
                session.wait_until_left().await;
                session.outbox.close();
            }
        };
        let _ = tokio::time::timeout(DRAIN_PATIENCE, left).await;
        cells.iter().filter_map(|cell| cell.get()).for_each(|session| session.outbox.close());
    }
}

/// Opens the address of a worker.
///
/// # Errors
/// It is not of this machine alone and no key of a server is set, or it cannot be opened.
pub fn open_listener(address: SocketAddr, identity_key: Option<&str>) -> Result<TcpListener, StepRefusal> {
    if !address.ip().is_loopback() && identity_key.is_none() {
        return Err(StepRefusal {
            message: format!(
                "{address} can be reached from other machines: a program that reaches it could run commands here"
            ),
            hint: Some(
                "listen on 127.0.0.1, or name the key of your Restate server with --identity-key".to_owned(),
            ),
        });
    }
    let opened = || {
        let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
        // steps are small messages that wait for each other; accepted connections inherit it
        socket.set_nodelay(true)?;
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        socket.listen(BACKLOG)
    };
    opened().map_err(|error: std::io::Error| refusal(format!("{address} cannot be opened: {error}")))
}

/// Serves the calls of the Restate server until `stop`, then leaves all runs.
///
/// # Errors
/// The identity key is none.
pub async fn serve_runs(
    worker: Arc<RunWorker>,
    listener: TcpListener,
    stop: impl Future<Output = ()>,
) -> Result<(), StepRefusal> {
    let options = ServiceOptions::new()
        .inactivity_timeout(LONGEST_STEP)
        .abort_timeout(LONGEST_STEP)
        .retry_policy_initial_interval(FIRST_RETRY)
        .retry_policy_max_interval(LONGEST_RETRY)
        .metadata("host_id", worker.options.host_id.clone());
    let service = SynthdevRun { worker: Arc::clone(&worker) }.into_service_definition().options(options);
    let mut endpoint = Endpoint::builder().bind(service);
    if let Some(key) = &worker.options.identity_key {
        endpoint = endpoint
            .identity_key(key)
            .map_err(|error| refusal(format!("the identity key of the server is none: {error}")))?;
    }
    let stopped = async {
        stop.await;
        worker.drain().await;
    };
    HttpServer::new(endpoint.build()).serve_with_cancel(listener, stopped).await;
    Ok(())
}
