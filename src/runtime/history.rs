//! Past runs, read from the store: lists as they are, one run by replaying its journal.

pub use super::file_restore::PendingRestore;
use std::sync::Arc;

use super::handle::RuntimeHandle;
pub use super::interrupted_restore::inconsistent_files_error;
use super::journal_replay::{self, JournaledRun};
use super::preview::RunPreview;
use super::read_history::{self, ReplayWishes, ReplayedHistory};
use synthdev_domain::context::statistics::ContextStatistics;
use synthdev_domain::cost::CostLedger;
use synthdev_domain::ids::{RunId, Timestamp};
use synthdev_domain::journal::{RunQuery, RunSummary};
use synthdev_domain::workflow::WorkflowProgram;
use synthdev_engine::effect::Effect;
use synthdev_engine::event::StepEvent;
use synthdev_engine::replay::ReplayResult;
use synthdev_ports::run_store::{RemoteRunAction, StoreError, remote_run_error};

/// One past run, rebuilt.
#[derive(Clone, Debug)]
pub struct RunRecord {
    pub summary: RunSummary,
    /// The definition of the run, as it was then.
    pub program: WorkflowProgram,
    pub events: Vec<(Timestamp, StepEvent)>,
    pub ledger: CostLedger,
    /// What had begun and never answered: what a crash left open.
    pub unanswered_intents: Vec<String>,
    /// Files that were on their way back when the program died.
    pub pending_restore: Option<PendingRestore>,
}

impl RuntimeHandle {
    /// The preview that was stored when the run last stopped, or shortly before its process was killed.
    pub fn load_preview(&self, run: &RunId) -> Option<RunPreview> {
        let (text, since) = self.ports().store.preview(run).ok().flatten()?;
        RunPreview::parse(&text, since)
    }

    /// Newest first; `limit` 0 means all.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn list_runs(&self, limit: usize) -> Result<Vec<RunSummary>, StoreError> {
        self.ports().store.list(&RunQuery::newest(limit))
    }

    /// The runs that a query asks for, newest first.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn find_runs(&self, query: &RunQuery) -> Result<Vec<RunSummary>, StoreError> {
        self.ports().store.list(query)
    }

    /// Grows with each write to the history, by any process; `None` if it cannot be read.
    pub fn history_changes(&self) -> Option<u64> {
        self.ports().store.change_counter().ok()
    }

    /// Whether this process has claimed a run: it drives the run, is about to, or has just ceased to.
    pub fn has_claimed_run(&self, run: &RunId) -> bool {
        self.ports().store.is_driver_of(run)
    }

    /// Makes this process the owner of a run, to resume it. Not on a thread of the runtime: the commands of a killed owner are waited for.
    pub(super) async fn claim_run(&self, run: &RunId) -> Result<RunSummary, StoreError> {
        self.ensure_not_remote(run, RemoteRunAction::Resume)?;
        let (store, own) = (Arc::clone(&self.ports().store), run.clone());
        let claimed = tokio::task::spawn_blocking(move || store.claim(&own)).await;
        claimed.unwrap_or_else(|broken| {
            let message = format!("taking over run {run} was broken off: {broken}");
            Err(StoreError { message, hint: None })
        })
    }

    /// Refuses to change a run of which a server keeps the journal.
    ///
    /// # Errors
    /// One does, or the store cannot be read.
    pub fn ensure_not_remote(&self, run: &RunId, action: RemoteRunAction) -> Result<(), StoreError> {
        let keeper = self.ports().store.keeper(run)?;
        keeper.map_or(Ok(()), |server| Err(remote_run_error(run, &server, action)))
    }

    /// The process that drives a run, if the history tells.
    pub fn driver_pid(&self, run: &RunId) -> Option<u32> {
        self.ports().store.driver_pid(run)
    }

    /// Waits for the commands of a run whose process was killed: they may still change files.
    ///
    /// # Errors
    /// They have not ended after three seconds, or the history cannot be read.
    pub fn wait_for_commands(&self, run: &RunId) -> Result<(), StoreError> {
        self.ports().store.wait_for_commands(run)
    }

    /// What lists know of one run; accepts a unique prefix of the id.
    ///
    /// # Errors
    /// Unknown or ambiguous id.
    pub fn summary(&self, id: &str) -> Result<RunSummary, StoreError> {
        self.ports().store.find(id)
    }

    /// Rebuilds one run from its journal; accepts a unique prefix of the id.
    ///
    /// # Errors
    /// Unknown id, unreadable rows, or a run of a newer program.
    pub fn load_record(&self, id: &str) -> Result<RunRecord, StoreError> {
        let tell = |events: &mut Vec<_>, at, event| events.push((at, event));
        let (record, events) = self.replay_record(id, ReplayWishes::default(), Vec::new, tell)?;
        Ok(RunRecord { events, ..record })
    }

    /// The same, but passes on each event instead of keeping it: a long run has a million of them. The record has none.
    /// The sink from `begin` gets all events in order and is returned; `begin` may be called more than once.
    ///
    /// # Errors
    /// As `run`.
    pub fn replay_events<T>(
        &self,
        id: &str,
        begin: impl Fn() -> T,
        tell: impl FnMut(&mut T, Timestamp, StepEvent),
    ) -> Result<(RunRecord, T), StoreError> {
        self.replay_record(id, ReplayWishes::default(), begin, tell)
    }

    /// The same, with each approval that was asked for: without them a wait for one has no beginning.
    ///
    /// # Errors
    /// The run is unknown, or its journal cannot be read.
    pub fn replay_events_and_approvals<T>(
        &self,
        id: &str,
        begin: impl Fn() -> T,
        tell: impl FnMut(&mut T, Timestamp, StepEvent),
    ) -> Result<(RunRecord, T), StoreError> {
        let wishes = ReplayWishes { tells_approvals: true };
        self.replay_record(id, wishes, begin, tell)
    }

    /// How much is in each conversation of a run, as it stands; accepts a unique prefix of its id.
    ///
    /// # Errors
    /// The run is unknown, or its journal cannot be read.
    pub fn context_statistics(&self, id: &str) -> Result<(RunSummary, Vec<ContextStatistics>), StoreError> {
        let store = &*self.ports().store;
        let summary = store.find(id)?;
        let seen = read_history::replay_history(store, &summary.id, ReplayWishes::default(), &mut |_, _| {})?;
        let machine = match seen {
            Some(looked) => looked.machine,
            None => replay_history(&journal_replay::load_journaled_run(store, &summary.id)?, false).0.machine,
        };
        Ok((summary, machine.context_statistics()))
    }

    fn replay_record<T>(
        &self,
        id: &str,
        wishes: ReplayWishes,
        begin: impl Fn() -> T,
        mut tell: impl FnMut(&mut T, Timestamp, StepEvent),
    ) -> Result<(RunRecord, T), StoreError> {
        let summary = self.ports().store.find(id)?;
        let store = &*self.ports().store;
        let mut listener = begin();
        let seen = read_history::replay_history(store, &summary.id, wishes, &mut |at, event| {
            tell(&mut listener, at, event)
        })?;
        let ReplayedHistory { machine, unanswered_intents: open, pending_restore: restoring } = match seen {
            Some(looked) => looked,
            None => {
                let journaled = journal_replay::load_journaled_run(store, &summary.id)?;
                let (looked, events) = replay_history(&journaled, wishes.tells_approvals);
                listener = begin();
                events.into_iter().for_each(|(at, event)| tell(&mut listener, at, event));
                looked
            }
        };
        let program = machine.spec().program.clone();
        // frees a long run's conversations on the thread that allocated them, so that the next reader reuses the memory
        let (ledger, _) = machine.into_ledger();
        let record = RunRecord {
            summary,
            program,
            events: Vec::new(),
            ledger,
            unanswered_intents: open,
            pending_restore: restoring,
        };
        Ok((record, listener))
    }
}

/// Replays the whole journal at once, for a rewound run and the like.
fn replay_history(
    journaled_run: &JournaledRun,
    asked_approvals: bool,
) -> (ReplayedHistory, Vec<(Timestamp, StepEvent)>) {
    let ReplayResult { machine, events, pending_requests } =
        journaled_run.replay_for_readers(asked_approvals);
    let waits = pending_requests.effects(&machine).filter_map(Effect::call).collect::<Vec<_>>();
    let open = journaled_run
        .intents
        .iter()
        .filter(|(call, _)| !machine.is_over_or_suspended() && waits.contains(call));
    let open = open.map(|(_, body)| body.clone()).collect();
    (
        ReplayedHistory {
            machine,
            unanswered_intents: open,
            pending_restore: journaled_run.pending_restore.clone(),
        },
        events,
    )
}
