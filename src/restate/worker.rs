//! A worker: the runs that it drives.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, OnceCell, Semaphore};
use tokio::time::{Instant, sleep, timeout_at};

use super::beginning_runs::BeginningRuns;
use super::host_directory::HostDescription;
use super::journaled_step::{JournaledStep, RunAnswer, StepRefusal, awaits_answer};
use super::run_handover::HandoverFinder;
pub use super::run_session::{FilesKeeper, RunHost, StoreWrapper, WorkerOptions};
use super::run_session::{ReplayedRun, RunSession, load_suspended, refusal};
use super::server_client::RestateClient;
use super::server_clock::ServerClock;
use synthdev_domain::ids::RunId;
use synthdev_domain::journal::RunProgress;
use synthdev_ports::run_store::RunStore;

/// How long a worker that ends waits for its drivers to stop between two inputs.
const DRAIN_PATIENCE: Duration = Duration::from_secs(10);

/// A service that was left and still belongs to this host after so long is taken again.
const LONGEST_MOVE: Duration = Duration::from_secs(30);

/// How long a moved run may take to be loaded.
const LOADING_PATIENCE: Duration = Duration::from_secs(5);

/// Between two looks whether runs of a service that is left are about to begin.
const BEGINNING_LOOK: Duration = Duration::from_millis(10);

/// A session, once it has begun.
pub(crate) type SessionCell = Arc<OnceCell<RunSession>>;

pub struct RunWorker {
    host: Arc<dyn RunHost>,
    pub(crate) options: WorkerOptions,
    /// The time of all runs.
    clock: Arc<ServerClock>,
    slots: Arc<Semaphore>,
    sessions: Mutex<HashMap<RunId, SessionCell>>,
    session_begun: Notify,
    /// Runs that wait for a slot and were cancelled.
    withdrawn: Mutex<HashSet<RunId>>,
    run_withdrawn: Notify,
    /// Services that another host answers for from now on.
    left: Mutex<HashMap<String, Instant>>,
    service_left: Notify,
    beginning: BeginningRuns,
    /// Without one, runs wait here for a slot.
    handover: OnceLock<HandoverFinder>,
}

/// Why a run does not begin here.
enum UnbegunRun {
    Refused(StepRefusal),
    /// To this service.
    HandedOver(String),
    /// It cannot go on here, and was told to end.
    Cancelled,
}

impl From<StepRefusal> for UnbegunRun {
    fn from(refused: StepRefusal) -> Self {
        Self::Refused(refused)
    }
}

impl RunWorker {
    pub fn new(host: Arc<dyn RunHost>, options: WorkerOptions) -> Self {
        let slots = Arc::new(Semaphore::new(options.slots));
        let clock = Arc::new(ServerClock::new(host.reader().now()));
        Self {
            host,
            options,
            clock,
            slots,
            sessions: Mutex::default(),
            session_begun: Notify::new(),
            withdrawn: Mutex::default(),
            run_withdrawn: Notify::new(),
            left: Mutex::default(),
            service_left: Notify::new(),
            beginning: BeginningRuns::default(),
            handover: OnceLock::new(),
        }
    }

    /// From now on runs that wait for a slot here begin at another host that has one.
    pub fn enable_handover(&self, client: RestateClient, own: HostDescription) {
        // the first one stays
        let _ = self.handover.set(HandoverFinder::new(client, own));
    }

    /// The server's clock, which has to be asked before runs begin here.
    pub fn clock(&self) -> &ServerClock {
        &self.clock
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
        let beginning = self.beginning.note(service);
        // one that this host still drives goes on to the next place between two inputs
        if self.has_left(service) && self.session_cell(run).is_none() {
            return Err(self.left_service());
        }
        let number = {
            let replayed = replayed.lock().unwrap_or_else(PoisonError::into_inner);
            if replayed.submission.project.identity != self.host.project().identity {
                return Ok(JournaledStep::refuse(self.foreign_project(&replayed.submission.project.path)));
            }
            replayed.steps
        };
        let (unconfirmed, loaded) = {
            let mut replayed = replayed.lock().unwrap_or_else(PoisonError::into_inner);
            (std::mem::take(&mut replayed.unconfirmed), replayed.loaded_progress())
        };
        if let Some(session) = self.session_cell(run).as_ref().and_then(|cell| cell.get()) {
            session.outbox.mark_replayed(&unconfirmed);
        } else if let Some(progress) = loaded {
            return self.load_run(run, replayed, progress).await;
        }
        let cell = Arc::clone(self.lock().entry(run.clone()).or_default());
        let begun = cell.get_or_try_init(|| self.begin(service, run, replayed)).await;
        drop(beginning);
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
            Err(UnbegunRun::Cancelled) => {
                self.forget(run, &cell);
                let at = self.host.reader().now();
                let replayed = replayed.lock().unwrap_or_else(PoisonError::into_inner);
                let progress = Box::new(replayed.cancelled_progress(at));
                return Ok(JournaledStep::Ended { progress, session: String::new() });
            }
            Err(UnbegunRun::HandedOver(service)) => {
                self.forget(run, &cell);
                return Ok(JournaledStep::HandedOver { service });
            }
        };
        match step {
            Some(step) => Ok(step),
            None => Err(self.give_up(run, &cell).await),
        }
    }

    /// No step comes from this session any more; why.
    async fn give_up(&self, run: &RunId, cell: &SessionCell) -> StepRefusal {
        let mut why = None;
        if let Some(session) = cell.get() {
            session.outbox.close();
            // what it does takes no effect any more
            self.host.leave(&session.handle, run);
            session.wait_until_left().await;
            // the next session owns it
            self.host.store().release(run);
            why = session.outbox.reason();
        }
        self.forget(run, cell);
        let why = why.map_or_else(String::new, |why| format!(": {why}"));
        refusal(format!("worker {} has given the run up{why}", self.options.host_id))
    }

    async fn begin(
        &self,
        service: &str,
        run: &RunId,
        replayed: &Arc<Mutex<ReplayedRun>>,
    ) -> Result<RunSession, UnbegunRun> {
        let mut is_withdrawn = false;
        let slot = tokio::select! {
            biased;
            () = self.wait_until_left(service) => return Err(self.left_service().into()),
            () = self.wait_until_withdrawn(run) => {
                let mut replayed = replayed.lock().unwrap_or_else(PoisonError::into_inner);
                replayed.set_answer(RunAnswer::Cancel);
                is_withdrawn = true;
                None
            }
            slot = Arc::clone(&self.slots).acquire_owned() => {
                Some(slot.map_err(|_| refusal("this worker ends".to_owned()))?)
            }
            other = self.wait_for_place(service, replayed) => return Err(UnbegunRun::HandedOver(other)),
        };
        let (host, replayed) = (Arc::clone(&self.host), Arc::clone(replayed));
        let own = (service, run.clone());
        match RunSession::begin(host, &self.options, &self.clock, own, replayed, slot).await {
            Err(_) if is_withdrawn => Err(UnbegunRun::Cancelled),
            begun => Ok(begun?),
        }
    }

    /// A suspended run that another host drove is known here from now on, and waits on.
    async fn load_run(
        &self,
        run: &RunId,
        replayed: &Arc<Mutex<ReplayedRun>>,
        progress: RunProgress,
    ) -> Result<JournaledStep, StepRefusal> {
        let (host, own, server) = (Arc::clone(&self.host), run.clone(), self.options.server.clone());
        let (replayed, known) = (Arc::clone(replayed), progress.clone());
        let loading = move || load_suspended(&*host, &own, &replayed, &server, &known);
        match tokio::task::spawn_blocking(loading).await {
            Ok(loaded) => loaded?,
            Err(broken) => return Err(refusal(format!("the run cannot be loaded: {broken}"))),
        }
        Ok(JournaledStep::Ended { progress: Box::new(progress), session: String::new() })
    }

    /// The server had this step before the attempt. A session that waits for it is told when the next one is asked for.
    pub(crate) fn note_replayed(&self, run: &RunId, replayed: &mut ReplayedRun, step: &JournaledStep) {
        let number = replayed.steps;
        let Some(cell) = self.session_cell(run) else { return };
        let Some(session) = cell.get() else { return };
        if number < session.outbox.journaled() {
            return;
        }
        replayed.unconfirmed.push((number, step.clone()));
        if !step.is_of_driver() {
            // nothing is asked for before a user answers
            session.outbox.mark_replayed(&std::mem::take(&mut replayed.unconfirmed));
            session.outbox.close();
            self.forget(run, &cell);
        }
    }

    /// Whether the history of this host has so many rows of a run.
    pub(crate) fn has_rows(&self, run: &RunId, rows: u64) -> bool {
        self.host.store().row_count(run).is_ok_and(|count| count >= rows)
    }

    /// Until it has them, but not for long.
    pub(crate) async fn wait_for_rows(&self, run: &RunId, rows: u64) {
        let until = Instant::now() + LOADING_PATIENCE;
        while !self.has_rows(run, rows) && Instant::now() < until {
            sleep(BEGINNING_LOOK).await;
        }
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
        self.left.lock().unwrap_or_else(PoisonError::into_inner).contains_key(service)
    }

    /// Whether it was given up so long ago that the move did not come to its end.
    pub(crate) fn has_left_in_vain(&self, service: &str) -> bool {
        let left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        left.get(service).is_some_and(|since| since.elapsed() > LONGEST_MOVE)
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

    /// Leaves the runs of a service between two inputs, and begins none of it any more. Afterwards nothing that they did
    /// here is under way.
    ///
    /// # Errors
    /// Some still do something: this host keeps the service.
    pub(crate) async fn leave_service(&self, service: &str) -> Result<(), StepRefusal> {
        let late = self.stop_service(service).await;
        if late.is_empty() {
            return Ok(());
        }
        self.take_service(service);
        let late: Vec<&str> = late.iter().map(RunId::as_str).collect();
        Err(StepRefusal {
            message: format!(
                "worker {} could not stop {} within {} s",
                self.options.host_id,
                late.join(", "),
                DRAIN_PATIENCE.as_secs()
            ),
            hint: Some("move them when they have come further, or end that worker first".to_owned()),
        })
    }

    /// The same for runs that another host has already: the server takes no rows of them any more.
    pub(crate) async fn abandon_service(&self, service: &str) {
        self.stop_service(service).await;
        self.begun_sessions(service).iter().filter_map(|(_, cell)| cell.get()).for_each(|session| {
            session.outbox.close();
        });
    }

    /// Runs that have not stopped in time.
    async fn stop_service(&self, service: &str) -> Vec<RunId> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner).insert(service.to_owned(), Instant::now());
        self.service_left.notify_waiters();
        let until = Instant::now() + DRAIN_PATIENCE;
        while self.beginning.has_any_of(service) && Instant::now() < until {
            sleep(BEGINNING_LOOK).await;
        }
        let cells = self.begun_sessions(service);
        self.leave_sessions(&cells, until).await
    }

    fn begun_sessions(&self, service: &str) -> Vec<(RunId, SessionCell)> {
        let mut cells = self.all_sessions();
        cells.retain(|(_, cell)| cell.get().is_some_and(|session| session.service == service));
        cells
    }

    fn all_sessions(&self) -> Vec<(RunId, SessionCell)> {
        self.lock().iter().map(|(run, cell)| (run.clone(), Arc::clone(cell))).collect()
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
        if !session.outbox.mark_journaled(number, step) {
            return;
        }
        if !step.is_of_driver() {
            session.outbox.close();
            self.forget(run, &cell);
        }
        if let JournaledStep::Ended { progress, .. } = step
            && !awaits_answer(progress)
        {
            let (host, run) = (Arc::clone(&self.host), run.clone());
            tokio::task::spawn_blocking(move || host.forget_files(&run));
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
        let cells = self.all_sessions();
        self.leave_sessions(&cells, Instant::now() + DRAIN_PATIENCE).await;
        cells.iter().filter_map(|(_, cell)| cell.get()).for_each(|session| session.outbox.close());
    }

    /// Those that have not stopped until then.
    async fn leave_sessions(&self, cells: &[(RunId, SessionCell)], until: Instant) -> Vec<RunId> {
        let begun = || cells.iter().filter_map(|(run, cell)| Some((run, cell.get()?, cell)));
        begun().for_each(|(run, session, _)| self.host.leave(&session.handle, run));
        let leaving: Vec<_> = begun()
            .map(|(run, _, cell)| {
                (run, tokio::spawn(release_left(self.host.store(), run.clone(), cell.clone())))
            })
            .collect();
        let mut late = Vec::new();
        for (run, left) in leaving {
            if timeout_at(until, left).await.is_err() {
                late.push(run.clone());
            }
        }
        late
    }
}

/// Another process may own the run when its driver has left it.
async fn release_left(store: Arc<dyn RunStore>, run: RunId, cell: SessionCell) {
    if let Some(session) = cell.get() {
        session.wait_until_left().await;
        session.outbox.close();
        store.release(&run);
    }
}
