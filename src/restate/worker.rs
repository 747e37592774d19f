//! A worker: the runs that it drives.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, OnceCell, Semaphore};
use tokio::time::timeout;

use super::host_directory::HostDescription;
use super::journaled_step::{JournaledStep, RunAnswer, StepRefusal};
use super::run_handover::HandoverFinder;
use super::run_session::{ReplayedRun, RunSession, refusal};
pub use super::run_session::{RunHost, StoreWrapper, WorkerOptions};
use super::server_client::RestateClient;
use synthdev_domain::ids::RunId;

/// How long a worker that ends waits for its drivers to stop between two inputs.
const DRAIN_PATIENCE: Duration = Duration::from_secs(10);

/// A session, once it has begun.
pub(crate) type SessionCell = Arc<OnceCell<RunSession>>;

pub struct RunWorker {
    host: Arc<dyn RunHost>,
    pub(crate) options: WorkerOptions,
    slots: Arc<Semaphore>,
    sessions: Mutex<HashMap<RunId, SessionCell>>,
    session_begun: Notify,
    /// Runs that wait for a slot and were cancelled.
    withdrawn: Mutex<HashSet<RunId>>,
    run_withdrawn: Notify,
    /// Services that another host answers for from now on.
    left: Mutex<HashSet<String>>,
    service_left: Notify,
    /// Without one, runs wait here for a slot.
    handover: OnceLock<HandoverFinder>,
}

/// Why a run does not begin here.
enum UnbegunRun {
    Refused(StepRefusal),
    /// To this service.
    HandedOver(String),
}

impl From<StepRefusal> for UnbegunRun {
    fn from(refused: StepRefusal) -> Self {
        Self::Refused(refused)
    }
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
            left: Mutex::default(),
            service_left: Notify::new(),
            handover: OnceLock::new(),
        }
    }

    /// From now on runs that wait for a slot here begin at another host that has one.
    pub fn enable_handover(&self, client: RestateClient, own: HostDescription) {
        // the first one stays
        let _ = self.handover.set(HandoverFinder::new(client, own));
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
        service: &str,
        run: &RunId,
        replayed: &Arc<Mutex<ReplayedRun>>,
    ) -> Result<JournaledStep, StepRefusal> {
        // one that this host still drives goes on to the next place between two inputs
        if self.has_left(service) && self.session_cell(run).is_none() {
            return Err(self.left_service());
        }
        let number = {
            let replayed = replayed.lock().unwrap_or_else(PoisonError::into_inner);
            if replayed.submission.project.identity != self.host.project().identity {
                return Ok(JournaledStep::Refused(self.foreign_project(&replayed.submission.project.path)));
            }
            replayed.steps
        };
        let cell = Arc::clone(self.lock().entry(run.clone()).or_default());
        let begun = cell.get_or_try_init(|| self.begin(service, run, replayed)).await;
        self.session_begun.notify_waiters();
        let step = match begun {
            Ok(session) => {
                // it got a slot when it was cancelled
                if self.take_withdrawal(run) {
                    self.host.end_driven(&session.handle, run);
                }
                session.outbox.step(number).await
            }
            Err(UnbegunRun::Refused(refused)) => return Err(refused),
            Err(UnbegunRun::HandedOver(service)) => {
                self.forget(run, &cell);
                return Ok(JournaledStep::HandedOver { service });
            }
        };
        match step {
            Some(step) => Ok(step),
            None => {
                let mut why = None;
                if let Some(session) = cell.get() {
                    session.outbox.close();
                    session.wait_until_left().await;
                    why = session.outbox.reason();
                }
                self.forget(run, &cell);
                let why = why.map_or_else(String::new, |why| format!(": {why}"));
                Err(refusal(format!("worker {} has given the run up{why}", self.options.host_id)))
            }
        }
    }

    async fn begin(
        &self,
        service: &str,
        run: &RunId,
        replayed: &Arc<Mutex<ReplayedRun>>,
    ) -> Result<RunSession, UnbegunRun> {
        let slot = tokio::select! {
            biased;
            () = self.wait_until_left(service) => return Err(self.left_service().into()),
            slot = Arc::clone(&self.slots).acquire_owned() => {
                Some(slot.map_err(|_| refusal("this worker ends".to_owned()))?)
            }
            () = self.wait_until_withdrawn(run) => {
                let mut replayed = replayed.lock().unwrap_or_else(PoisonError::into_inner);
                replayed.set_answer(RunAnswer::Cancel);
                None
            }
            other = self.wait_for_place(service, replayed) => return Err(UnbegunRun::HandedOver(other)),
        };
        let (host, replayed) = (Arc::clone(&self.host), Arc::clone(replayed));
        let begun = RunSession::begin(host, &self.options, (service, run.clone()), replayed, slot).await;
        Ok(begun?)
    }

    /// A run that has begun stays at its host.
    async fn wait_for_place(&self, service: &str, replayed: &Mutex<ReplayedRun>) -> String {
        let mut had_it = {
            let replayed = replayed.lock().unwrap_or_else(PoisonError::into_inner);
            (!replayed.has_begun()).then(|| replayed.submission.handed_over_by.clone())
        };
        had_it.iter_mut().for_each(|had_it| had_it.push(service.to_owned()));
        match (self.handover.get(), had_it) {
            (Some(finder), Some(had_it)) => finder.wait_for_place(&had_it).await,
            _ => std::future::pending().await,
        }
    }

    /// Whether another host answers for the service.
    pub fn has_left(&self, service: &str) -> bool {
        self.left.lock().unwrap_or_else(PoisonError::into_inner).contains(service)
    }

    async fn wait_until_left(&self, service: &str) {
        loop {
            let left = self.service_left.notified();
            tokio::pin!(left);
            left.as_mut().enable();
            if self.has_left(service) {
                return;
            }
            left.await;
        }
    }

    fn left_service(&self) -> StepRefusal {
        refusal(format!("worker {} has given these runs to another host", self.options.host_id))
    }

    /// This host answers for the service, maybe again.
    pub(crate) fn take_service(&self, service: &str) {
        self.left.lock().unwrap_or_else(PoisonError::into_inner).remove(service);
    }

    /// Leaves the runs of a service between two inputs, and begins none of it any more.
    pub(crate) async fn leave_service(&self, service: &str) {
        self.left.lock().unwrap_or_else(PoisonError::into_inner).insert(service.to_owned());
        self.service_left.notify_waiters();
        self.leave_sessions(|session| session.service == service).await;
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
                self.host.project().path
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
        if !step.is_of_driver() {
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

    /// Of a session that has begun.
    pub(crate) fn session_cell(&self, run: &RunId) -> Option<SessionCell> {
        self.lock().get(run).filter(|cell| cell.get().is_some()).cloned()
    }

    pub(crate) async fn wait_for_session(&self, run: &RunId) -> SessionCell {
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

    pub(crate) fn is_known(&self, run: &RunId) -> bool {
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
        self.leave_sessions(|_| true).await;
    }

    async fn leave_sessions(&self, is_meant: impl Fn(&RunSession) -> bool) {
        let cells: Vec<(RunId, SessionCell)> =
            self.lock().iter().map(|(run, cell)| (run.clone(), Arc::clone(cell))).collect();
        let meant = || {
            let begun = cells.iter().filter_map(|(run, cell)| Some((run, cell.get()?)));
            begun.filter(|(_, session)| is_meant(session))
        };
        meant().for_each(|(run, session)| self.host.leave(&session.handle, run));
        let left = async {
            for (run, session) in meant() {
                session.wait_until_left().await;
                session.outbox.close();
                // another process may own it from here on
                self.host.store().release(run);
            }
        };
        let _ = timeout(DRAIN_PATIENCE, left).await;
        meant().for_each(|(_, session)| session.outbox.close());
    }
}
