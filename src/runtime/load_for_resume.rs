//! Loads a run for resuming: from its stored state and the rows since, or from its whole journal.

use std::sync::Arc;

use synthdev_domain::ids::RunId;
use synthdev_domain::workflow::WorkflowProgram;
use synthdev_engine::input::Input;
use synthdev_engine::machine::Machine;
use synthdev_engine::pending_requests::PendingRequests;
use synthdev_engine::replay::{ReplayResult, StepwiseReplay};
use synthdev_ports::run_store::{RunStore, RunWithState, StoreError};

use super::journal_replay::{self, JournalEntry, JournaledRun};
use super::preview::RecentEvents;
use super::state_schedule::StateSchedule;
use super::state_snapshot::StateSnapshot;

/// A run before it is resumed.
pub(super) struct LoadedRun {
    /// Its journal; of a run with a stored state only what came after that.
    pub(super) journaled_run: JournaledRun,
    /// Anything had happened.
    pub(super) has_begun: bool,
    pub(super) machine: Machine,
    pub(super) requests: PendingRequests,
    pub(super) recent_events: RecentEvents,
    pub(super) state_schedule: StateSchedule,
}

/// What the caller needs of a run besides its machine.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LoadScope {
    /// Nothing.
    Machine,
    /// All inputs, or whole conversations: those of a stored machine are compacted.
    Journal,
}

impl LoadScope {
    /// For a run that continues under this definition, or under its own.
    pub(super) fn for_definition(program: Option<&WorkflowProgram>) -> Self {
        if program.is_some() { Self::Journal } else { Self::Machine }
    }
}

/// # Errors
/// Unknown id, unreadable rows, or a run of a newer program.
pub(super) fn load_for_resume(
    store: &dyn RunStore,
    run: &RunId,
    scope: LoadScope,
) -> Result<LoadedRun, StoreError> {
    if scope == LoadScope::Machine
        && let Some(loaded) = load_from_state(store.load_with_state(run)?)?
    {
        return Ok(loaded);
    }
    let journaled_run = journal_replay::load_journaled_run(store, run)?;
    let inputs = || journaled_run.entries.iter().map(|entry| &entry.input);
    let mut replay = StepwiseReplay::skipping_answered(Arc::clone(&journaled_run.spec), inputs());
    if scope == LoadScope::Machine && !inputs().any(changes_course) {
        replay.machine.compacts_history();
    }
    let mut recent_events = RecentEvents::default();
    let ReplayResult { machine, pending_requests: requests, .. } =
        feed_entries(replay, &journaled_run.entries, &mut recent_events);
    Ok(LoadedRun {
        has_begun: !journaled_run.entries.is_empty(),
        state_schedule: StateSchedule::of_journal(&journaled_run),
        journaled_run,
        machine,
        requests,
        recent_events,
    })
}

/// After a rewind or under another definition, old entries of conversations may be needed again.
fn changes_course(input: &Input) -> bool {
    matches!(input, Input::Rewound(_))
        || matches!(input, Input::Resumed(resumed) if resumed.program.is_some())
}

/// Events are not kept, but for the last ones.
fn feed_entries(
    mut replay: StepwiseReplay,
    entries: &[JournalEntry],
    recent_events: &mut RecentEvents,
) -> ReplayResult {
    for (at, entry) in entries.iter().enumerate() {
        let next = entries.get(at + 1).map(|next| &next.input);
        replay.feed_input(entry.at, entry.input.clone(), next);
        replay.events.drain(..).for_each(|(at, event)| recent_events.push_event(at, event));
    }
    replay.finish()
}

/// `None`: the run has no usable state.
fn load_from_state(loaded: RunWithState) -> Result<Option<LoadedRun>, StoreError> {
    let RunWithState { header, state, rows_since } = loaded;
    let Some(state) = state else { return Ok(None) };
    let Some(StateSnapshot { machine, requests, mut recent_events }) = StateSnapshot::decode(&state) else {
        return Ok(None);
    };
    let journal_bytes = rows_since.iter().map(|row| row.body.len() as u64).sum();
    let mut journaled_run = journal_replay::parse_rows(header, rows_since)?;
    let inputs = || journaled_run.entries.iter().map(|entry| &entry.input);
    if inputs().any(changes_course) {
        // a rewind discards inputs that are in the state
        return Ok(None);
    }
    let attempts_before = requests.attempts();
    let state_schedule = StateSchedule::of_state(state.len(), journaled_run.entries.len(), journal_bytes);
    let replay = StepwiseReplay::from_state(machine, requests, inputs());
    let ReplayResult { machine, pending_requests: requests, .. } =
        feed_entries(replay, &journaled_run.entries, &mut recent_events);
    for (call, attempts) in attempts_before {
        *journaled_run.attempts.entry(call).or_insert(0) += attempts;
    }
    Ok(Some(LoadedRun { journaled_run, has_begun: true, machine, requests, recent_events, state_schedule }))
}
