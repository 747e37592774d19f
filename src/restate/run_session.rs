//! One run while a worker drives it: begun from what the server has, until it ends, is suspended or is given up.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use tokio::sync::OwnedSemaphorePermit;

use super::journaled_step::{
    JournaledStep, ProjectPlace, ResumeAnswer, RunAnswer, RunSubmission, SharedFiles, StepRefusal,
};
pub use super::journaling_store::FilesKeeper;
use super::journaling_store::JournalingStore;
use super::local_copy;
use super::long_bodies::join_rows;
use super::run_outbox::RunOutbox;
use super::server_clock::{RunClock, ServerClock};
use super::transient_events::{TransientEvents, collect_events};
use synthdev_domain::ids::{RunId, Timestamp};
use synthdev_domain::journal::{JournalRow, RunHeader, RunProgress, RunStatus};
use synthdev_engine::event::RunEvent;
use synthdev_engine::run_spec::RunSpec;
use synthdev_ports::run_store::{RunStore, StoreError};
use synthdev_runtime::handle::{EventReceiver, RuntimeHandle};

/// How a worker presents itself.
#[derive(Clone, Debug)]
pub struct WorkerOptions {
    pub host_id: String,
    /// The address of the server, for people: refusals name it.
    pub server: String,
    /// Runs at the same time.
    pub slots: usize,
    /// The public key of the server whose calls are taken; `None`: of every program that reaches the address.
    pub identity_key: Option<String>,
    /// Drivers wait for the server on threads of this runtime. The worker serves the server's calls on another one: drivers
    /// that wait on all threads of their own are let go by it.
    pub drivers: tokio::runtime::Handle,
}

/// Puts something around the store of a runtime.
pub type StoreWrapper<'a> = &'a (dyn Fn(Arc<dyn RunStore>) -> Arc<dyn RunStore> + Sync);

/// What a worker needs of the program around it: one project, and the use cases of runs.
pub trait RunHost: Send + Sync + 'static {
    fn project(&self) -> &ProjectPlace;

    fn store(&self) -> Arc<dyn RunStore>;

    /// Distinguishes the history of this host from those of other machines, and of other places on this one.
    fn history(&self) -> String {
        String::new()
    }

    /// Reads runs.
    fn reader(&self) -> &RuntimeHandle;

    /// The directory in which the run works here; empty: its files are the same at all hosts.
    fn files_at(&self, run: &RunId) -> String {
        let _ = run;
        String::new()
    }

    /// Makes the files of a run that worked at another host; the header that it has here. `files`: where that host shared
    /// them last.
    ///
    /// # Errors
    /// They are not to be had.
    fn adopt_files(&self, header: RunHeader, files: Option<&SharedFiles>) -> Result<RunHeader, StepRefusal> {
        let _ = files;
        Ok(header)
    }

    /// Shares the files of a run that this host drives. `files`: where they were shared last, here or elsewhere.
    fn files_keeper(&self, run: &RunId, files: Option<SharedFiles>) -> FilesKeeper {
        let _ = (run, files);
        Box::new(|_| Ok(None))
    }

    /// Removes the shared files of a run that has ended for good.
    fn forget_files(&self, run: &RunId) {
        let _ = run;
    }

    /// The runtime of one run. `has_begun`: its store has rows of it.
    ///
    /// # Errors
    /// The run cannot be read.
    fn open_runtime(
        &self,
        run: &RunId,
        replies: Option<&str>,
        has_begun: bool,
        wrap: StoreWrapper<'_>,
    ) -> Result<RuntimeHandle, StepRefusal>;

    /// # Errors
    /// The run cannot be started here.
    fn start(&self, handle: &RuntimeHandle, run: RunId, spec: RunSpec) -> Result<(), StepRefusal>;

    /// Resumes a run; without an answer as after a crash.
    fn resume<'a>(
        &'a self,
        handle: &'a RuntimeHandle,
        run: &'a RunId,
        answer: Option<&'a ResumeAnswer>,
    ) -> BoxFuture<'a, Result<(), StepRefusal>>;

    /// Whether a suspended run would take the answer. Changes nothing.
    ///
    /// # Errors
    /// It would not.
    fn check_answer(&self, run: &RunId, answer: &ResumeAnswer) -> Result<(), StepRefusal>;

    /// Tells the driver to end the run for good.
    fn end_driven(&self, handle: &RuntimeHandle, run: &RunId);

    /// Ends a suspended run for good.
    fn cancel_suspended<'a>(
        &'a self,
        handle: &'a RuntimeHandle,
        run: &'a RunId,
    ) -> BoxFuture<'a, Result<(), StepRefusal>>;

    /// The driver stops between two inputs, and can be resumed.
    fn leave(&self, handle: &RuntimeHandle, run: &RunId);
}

/// What the server knows of a run, as far as this attempt has read it.
pub(crate) struct ReplayedRun {
    pub(crate) submission: RunSubmission,
    header: Option<RunHeader>,
    rows: Vec<JournalRow>,
    /// Where the files of these rows are.
    files_at: String,
    /// The same for other hosts.
    files: Option<SharedFiles>,
    /// Of long bodies, by their hashes.
    parts: HashMap<String, String>,
    /// What of the steps cannot be read.
    damage: Option<StepRefusal>,
    /// When it was suspended last.
    progress: Option<RunProgress>,
    /// Steps that the server had in this attempt, as far as a session here may wait for them.
    pub(crate) unconfirmed: Vec<(u64, JournaledStep)>,
    /// Not in the rows yet.
    answer: Option<RunAnswer>,
    pub(crate) steps: u64,
}

impl ReplayedRun {
    pub(crate) fn new(submission: RunSubmission) -> Self {
        Self {
            submission,
            header: None,
            rows: Vec::new(),
            files_at: String::new(),
            files: None,
            parts: HashMap::new(),
            damage: None,
            progress: None,
            unconfirmed: Vec::new(),
            answer: None,
            steps: 0,
        }
    }

    pub(crate) fn set_answer(&mut self, answer: RunAnswer) {
        self.answer = Some(answer);
    }

    pub(crate) fn has_begun(&self) -> bool {
        self.header.is_some()
    }

    /// Rows at the server.
    pub(crate) fn row_count(&self) -> u64 {
        self.rows.len() as u64
    }

    /// What a suspended run waits for, if its host is only to load it.
    pub(crate) fn loaded_progress(&self) -> Option<RunProgress> {
        matches!(self.answer, Some(RunAnswer::Load)).then(|| self.progress.clone()).flatten()
    }

    /// As it ends for good where no host can go on with it.
    pub(crate) fn cancelled_progress(&self, at: Timestamp) -> RunProgress {
        let last = self.progress.clone().unwrap_or_else(|| RunProgress::new(at));
        RunProgress { status: RunStatus::Cancelled, pauses: Vec::new(), updated: at, ..last }
    }

    /// The next step is at the server.
    pub(crate) fn push_step(&mut self, step: &JournaledStep) {
        self.steps += 1;
        match step {
            JournaledStep::Part { hash, text, .. } => {
                self.parts.insert(hash.clone(), text.clone());
            }
            JournaledStep::Rows { header, rows, files_at, files, long_bodies, .. } => {
                self.files_at.clone_from(files_at);
                self.files = files.clone().or(self.files.take());
                if let Some(header) = header {
                    self.header.get_or_insert_with(|| (**header).clone());
                }
                match join_rows(rows, long_bodies, &self.parts) {
                    Ok(rows) => self.rows.extend(rows),
                    Err(refused) => self.damage = self.damage.take().or(Some(refused)),
                }
                self.answer = None;
            }
            JournaledStep::Ended { progress, .. } => {
                self.progress = Some((**progress).clone());
                self.answer = None;
            }
            JournaledStep::Refused { .. } | JournaledStep::HandedOver { .. } => self.answer = None,
        }
    }
}

/// How a session begins when the worker's store is complete.
struct PreparedSession {
    /// At the server.
    steps: u64,
    /// The newest time in the rows.
    latest: Option<Timestamp>,
    known_parts: HashSet<String>,
    files: Option<SharedFiles>,
    start: SessionStart,
    replies: Option<String>,
}

enum SessionStart {
    Fresh(Box<RunSpec>),
    Resumed(Option<ResumeAnswer>),
    Cancelled,
    /// Cancelled before it had rows.
    Withdrawn,
}

pub(crate) struct RunSession {
    run: RunId,
    /// Of the host that took it.
    pub(crate) service: String,
    pub(crate) outbox: Arc<RunOutbox>,
    pub(crate) handle: RuntimeHandle,
    pub(crate) transient: Arc<TransientEvents>,
    /// One that is only cancelled has none.
    _slot: Option<OwnedSemaphorePermit>,
}

impl RunSession {
    /// Begins to drive the run. Its steps come out of the outbox.
    ///
    /// # Errors
    /// The worker's store cannot be completed: another attempt may do better.
    pub(crate) async fn begin(
        host: Arc<dyn RunHost>,
        options: &WorkerOptions,
        clock: &Arc<ServerClock>,
        (service, run): (&str, RunId),
        replayed: Arc<Mutex<ReplayedRun>>,
        slot: Option<OwnedSemaphorePermit>,
    ) -> Result<Self, StepRefusal> {
        let (own_host, own, server) = (Arc::clone(&host), run.clone(), options.server.clone());
        let preparing = move || prepare_store(&*own_host, &own, &replayed, &server);
        let prepared = tokio::task::spawn_blocking(preparing).await;
        let PreparedSession { steps, latest, known_parts, files, start, replies } = match prepared {
            Ok(prepared) => prepared?,
            Err(broken) => return Err(refusal(format!("the run cannot be prepared: {broken}"))),
        };
        let outbox = Arc::new(RunOutbox::new(options.host_id.clone(), host.files_at(&run), steps));
        outbox.set_known_parts(known_parts);
        let begun = !matches!(start, SessionStart::Fresh(_) | SessionStart::Withdrawn);
        let wrap = |store| -> Arc<dyn RunStore> {
            let (outbox, server) = (Arc::clone(&outbox), options.server.clone());
            let keep_files = host.files_keeper(&run, files.clone());
            Arc::new(JournalingStore::new(store, outbox, server, keep_files))
        };
        let handle = host.open_runtime(&run, replies.as_deref(), begun, &wrap)?;
        let handle = handle.with_clock(Arc::new(RunClock::new(Arc::clone(clock), latest)));
        let events = handle.subscribe(false);
        let transient = Arc::default();
        tokio::spawn(collect_events(handle.subscribe_run(&run), Arc::downgrade(&transient)));
        options.drivers.spawn(watch_end(handle.clone(), run.clone(), events, Arc::clone(&outbox)));
        options.drivers.spawn(start_driver(host, handle.clone(), run.clone(), start, Arc::clone(&outbox)));
        let service = service.to_owned();
        Ok(Self { run, service, outbox, handle, transient, _slot: slot })
    }

    /// Until the driver is gone, no other may begin.
    pub(crate) async fn wait_until_left(&self) {
        while self.handle.running_runs().contains(&self.run) {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    }
}

/// Completes the store of this host with a suspended run, which waits on.
///
/// # Errors
/// It cannot be completed.
pub(crate) fn load_suspended(
    host: &dyn RunHost,
    run: &RunId,
    replayed: &Mutex<ReplayedRun>,
    server: &str,
    progress: &RunProgress,
) -> Result<(), StepRefusal> {
    prepare_store(host, run, replayed, server)?;
    let store = host.store();
    store.claim_remote(run).map_err(store_refusal)?;
    let written = store.append(run, &[], Some(progress));
    store.release(run);
    written.map_err(store_refusal)
}

fn prepare_store(
    host: &dyn RunHost,
    run: &RunId,
    replayed: &Mutex<ReplayedRun>,
    server: &str,
) -> Result<PreparedSession, StepRefusal> {
    let store = host.store();
    let store = &*store;
    let replayed = replayed.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(damage) = &replayed.damage {
        return Err(damage.clone());
    }
    let start = match (&replayed.header, &replayed.answer) {
        (None, answer) => {
            local_copy::discard_unjournaled(store, run).map_err(store_refusal)?;
            if matches!(answer, Some(RunAnswer::Cancel)) {
                return Ok(PreparedSession {
                    steps: replayed.steps,
                    latest: None,
                    known_parts: HashSet::new(),
                    files: None,
                    start: SessionStart::Withdrawn,
                    replies: None,
                });
            }
            SessionStart::Fresh(Box::new(replayed.submission.spec.clone()))
        }
        (Some(header), answer) => {
            let header = local_header(host, store, header, &replayed)?;
            local_copy::complete_from_server(store, &header, &replayed.rows, server)
                .map_err(store_refusal)?;
            match answer {
                Some(RunAnswer::Cancel) => SessionStart::Cancelled,
                Some(RunAnswer::Resume(answer)) => SessionStart::Resumed(Some(answer.clone())),
                Some(RunAnswer::Load) | None => SessionStart::Resumed(None),
            }
        }
    };
    let known_parts = replayed.parts.keys().cloned().collect();
    let replies = replayed.submission.replies.clone();
    let latest = replayed.rows.iter().map(|row| row.at).max();
    let files = replayed.files.clone();
    Ok(PreparedSession { steps: replayed.steps, latest, known_parts, files, start, replies })
}

/// As this host has the run, with the files that it had at the last one.
fn local_header(
    host: &dyn RunHost,
    store: &dyn RunStore,
    header: &RunHeader,
    replayed: &ReplayedRun,
) -> Result<RunHeader, StepRefusal> {
    if replayed.files_at != host.files_at(&header.id) {
        return host.adopt_files(header.clone(), replayed.files.as_ref());
    }
    Ok(match store.find(header.id.as_str()) {
        Ok(known) if known.id == header.id => {
            RunHeader { project: known.project, worktree: known.worktree, ..header.clone() }
        }
        _ => header.clone(),
    })
}

async fn start_driver(
    host: Arc<dyn RunHost>,
    handle: RuntimeHandle,
    run: RunId,
    start: SessionStart,
    outbox: Arc<RunOutbox>,
) {
    match start {
        SessionStart::Fresh(spec) => {
            if let Err(refused) = host.start(&handle, run, *spec) {
                outbox.refuse(refused);
            }
        }
        SessionStart::Resumed(Some(answer)) => {
            if let Err(refused) = host.resume(&handle, &run, Some(&answer)).await {
                outbox.refuse(refused);
            }
        }
        SessionStart::Resumed(None) => {
            if let Err(refused) = host.resume(&handle, &run, None).await {
                end_or_close(&handle, &run, &outbox, Some(&refused));
            }
        }
        SessionStart::Withdrawn => {
            outbox.refuse(refusal(format!("run {run} was cancelled before it began")));
        }
        SessionStart::Cancelled => match host.cancel_suspended(&handle, &run).await {
            Ok(()) => end_or_close(&handle, &run, &outbox, None),
            Err(refused) => outbox.refuse(refused),
        },
    }
}

/// A killed worker may have left a run that had ended already.
fn end_or_close(handle: &RuntimeHandle, run: &RunId, outbox: &RunOutbox, refused: Option<&StepRefusal>) {
    match (handle.summary(run.as_str()), refused) {
        (Ok(summary), _) if summary.progress.status.is_over() => outbox.end(summary.progress),
        (_, Some(refused)) => outbox.close_because(refused),
        (_, None) => outbox.close(),
    }
}

/// The driver publishes the end when it is recorded.
async fn watch_end(handle: RuntimeHandle, run: RunId, mut events: EventReceiver, outbox: Arc<RunOutbox>) {
    while let Some(published) = events.recv().await {
        let RunEvent::Finished { status, .. } = &published.event else { continue };
        if published.run != run {
            continue;
        }
        match handle.summary(run.as_str()) {
            Ok(summary) if *status != RunStatus::Interrupted => outbox.end(summary.progress),
            _ => outbox.close(),
        }
        return;
    }
    outbox.close();
}

pub(crate) fn store_refusal(error: StoreError) -> StepRefusal {
    StepRefusal { message: error.message, hint: error.hint }
}

pub(crate) fn refusal(message: String) -> StepRefusal {
    StepRefusal { message, hint: None }
}
