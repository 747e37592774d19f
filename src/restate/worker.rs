//! A worker: the runs that it drives.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, OnceCell, Semaphore};
use tokio::time::{Instant, timeout, timeout_at};

use super::journaled_step::{FollowAnswer, FollowRequest, JournaledStep, RunAnswer, StepRefusal};
use super::run_session::{ReplayedRun, RunSession, refusal, store_refusal};
pub use super::run_session::{RunHost, StoreWrapper, WorkerOptions};
use synthdev_domain::ids::RunId;
use synthdev_engine::event::PublishedEvent;

/// How long a worker that ends waits for its drivers to stop between two inputs.
const DRAIN_PATIENCE: Duration = Duration::from_secs(10);

/// Who follows a run and knows all of it is answered when there is more, or after this.
const FOLLOW_PATIENCE: Duration = Duration::from_secs(20);
/// The same while the worker does not drive the run: it may be over.
const BEGIN_PATIENCE: Duration = Duration::from_secs(1);
/// Those who follow read the whole journal: after they did, they wait so many times as long.
const READING_PAUSE: u32 = 10;

/// A session, once it has begun.
type SessionCell = Arc<OnceCell<RunSession>>;

pub struct RunWorker {
    host: Arc<dyn RunHost>,
    pub(crate) options: WorkerOptions,
    slots: Arc<Semaphore>,
    sessions: Mutex<HashMap<RunId, SessionCell>>,
    session_begun: Notify,
    /// Runs that wait for a slot and were cancelled.
    withdrawn: Mutex<HashSet<RunId>>,
    run_withdrawn: Notify,
}

impl RunWorker {
    pub fn new(host: Arc<dyn RunHost>, options: WorkerOptions) -> Self {
        let slots = Arc::new(Semaphore::new(options.slots));
        Self {
            host,
            options,
            slots,
            sessions: Mutex::default(),
            session_begun: Notify::new(),
            withdrawn: Mutex::default(),
            run_withdrawn: Notify::new(),
        }
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
        self.session_begun.notify_waiters();
        let step = match begun {
            Ok(session) => {
                // it got a slot when it was cancelled
                if self.take_withdrawal(run) {
                    self.host.end_driven(&session.handle, run);
                }
                session.outbox.step(number).await
            }
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
        let slot = tokio::select! {
            slot = Arc::clone(&self.slots).acquire_owned() => {
                Some(slot.map_err(|_| refusal("this worker ends".to_owned()))?)
            }
            () = self.wait_until_withdrawn(run) => {
                let mut replayed = replayed.lock().unwrap_or_else(PoisonError::into_inner);
                replayed.set_answer(RunAnswer::Cancel);
                None
            }
        };
        let (host, replayed) = (Arc::clone(&self.host), Arc::clone(replayed));
        RunSession::begin(host, &self.options, run.clone(), replayed, slot).await
    }

    /// A run that waits for a slot is cancelled without one.
    async fn wait_until_withdrawn(&self, run: &RunId) {
        loop {
            let withdrawn = self.run_withdrawn.notified();
            tokio::pin!(withdrawn);
            withdrawn.as_mut().enable();
            if self.take_withdrawal(run) {
                return;
            }
            withdrawn.await;
        }
    }

    fn take_withdrawal(&self, run: &RunId) -> bool {
        self.withdrawn.lock().unwrap_or_else(PoisonError::into_inner).remove(run)
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

    /// Until there is something new for who asks, but not for long.
    pub(crate) async fn wait_for_news(&self, run: &RunId, asked: FollowRequest) {
        let begun = timeout(BEGIN_PATIENCE, self.wait_for_session(run));
        let cell = match self.session_cell(run) {
            Some(cell) => cell,
            // it has left the run since, or the caller has read nothing yet
            None if asked.version.is_some() || asked.events == 0 && self.is_known(run) => return,
            None => match begun.await {
                Ok(cell) => cell,
                Err(_) => return,
            },
        };
        let Some(session) = cell.get() else { return };
        let news = async {
            if let Some(version) = asked.version {
                session.outbox.wait_for_news(version).await;
            }
            // the end is told at once
            let next = session.next_reading();
            let _ = timeout_at(next, session.outbox.wait_until_closed()).await;
        };
        let _ = timeout(FOLLOW_PATIENCE, news).await;
    }

    /// Of a session that has begun.
    fn session_cell(&self, run: &RunId) -> Option<SessionCell> {
        self.lock().get(run).filter(|cell| cell.get().is_some()).cloned()
    }

    async fn wait_for_session(&self, run: &RunId) -> SessionCell {
        loop {
            let begun = self.session_begun.notified();
            tokio::pin!(begun);
            begun.as_mut().enable();
            if let Some(cell) = self.session_cell(run) {
                return cell;
            }
            begun.await;
        }
    }

    /// What happened in a run since the caller last asked.
    ///
    /// # Errors
    /// The run cannot be read.
    pub(crate) fn follow(&self, run: &RunId, asked: FollowRequest) -> Result<FollowAnswer, StepRefusal> {
        let cell = self.session_cell(run);
        let session = cell.as_ref().and_then(|cell| cell.get());
        let version = session.map(|session| session.outbox.version());
        let unchanged = FollowAnswer { events: Vec::new(), version, progress: None, refused: None };
        if version.is_some() && version == asked.version || !self.is_known(run) {
            return Ok(unchanged);
        }
        let began = Instant::now();
        let record = self.host.reader().load_record(run.as_str()).map_err(store_refusal)?;
        if let Some(session) = session {
            session.set_next_reading(Instant::now() + began.elapsed() * READING_PAUSE);
        }
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
        let Some(cell) = self.lock().get(run).cloned() else { return false };
        match cell.get() {
            Some(session) => self.host.end_driven(&session.handle, run),
            None => {
                self.withdrawn.lock().unwrap_or_else(PoisonError::into_inner).insert(run.clone());
                self.run_withdrawn.notify_waiters();
            }
        }
        true
    }

    /// Leaves all runs between two inputs: the server goes on with them elsewhere, or here after a restart.
    pub(crate) async fn drain(&self) {
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
        let _ = timeout(DRAIN_PATIENCE, left).await;
        cells.iter().filter_map(|cell| cell.get()).for_each(|session| session.outbox.close());
    }
}
