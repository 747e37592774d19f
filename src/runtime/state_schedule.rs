//! When the state of a driven run is stored.

use super::journal_replay::JournaledRun;
use super::preview::RecentEvents;
use super::state_snapshot::StateSnapshot;
use synthdev_engine::input::Input;
use synthdev_engine::machine::Machine;
use synthdev_engine::pending_requests::PendingRequests;

/// A state is stored after so many inputs, and after the journal has grown by as much as the
/// last state took: a state costs about as much to write as the journal since the one before.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StateSchedule {
    /// Inputs between two states, at least.
    interval: u32,
    inputs: u32,
    journal_bytes: u64,
    /// Of the last state.
    state_bytes: u64,
    /// The store has a state of the run.
    is_stored: bool,
    /// No state is stored any more. After a rewind, the machine does not have what the journal says of earlier answers.
    is_disabled: bool,
}

/// A run that stops is stored after a smaller part of that growth: the user does not wait for it.
const STOPPING_SHARE: u64 = 4;

impl StateSchedule {
    /// Of a run that was read from its whole journal.
    pub(super) fn of_journal(journaled_run: &JournaledRun) -> Self {
        let mut inputs = journaled_run.entries.iter().map(|entry| &entry.input);
        Self {
            inputs: u32::try_from(inputs.len()).unwrap_or(u32::MAX),
            is_disabled: inputs.any(|input| matches!(input, Input::Rewound(_))),
            ..Self::default()
        }
    }

    /// Of a run that was read from a state of so many bytes, and so much of its journal.
    pub(super) fn of_state(state_bytes: usize, inputs: usize, journal_bytes: u64) -> Self {
        Self {
            inputs: u32::try_from(inputs).unwrap_or(u32::MAX),
            journal_bytes,
            state_bytes: state_bytes as u64,
            is_stored: true,
            ..Self::default()
        }
    }

    #[must_use]
    pub(super) fn with_interval(self, interval: u32) -> Self {
        Self { interval, ..self }
    }

    /// Another input was recorded, in so many bytes of rows.
    pub(super) fn count_input(&mut self, journal_bytes: usize) {
        self.inputs = self.inputs.saturating_add(1);
        self.journal_bytes += journal_bytes as u64;
    }

    /// The state, if it should be stored now and can be. `is_stopping`: the run ends or waits after this input. Where a
    /// state is too large, this process makes no other one: such a run is replayed.
    pub(super) fn encode_if_due(
        &mut self,
        machine: &Machine,
        requests: &PendingRequests,
        recent_events: &RecentEvents,
        is_stopping: bool,
    ) -> Option<String> {
        if !self.is_due(is_stopping) || !requests.can_be_stored(machine) {
            return None;
        }
        let state = StateSnapshot::encode(machine, requests, recent_events);
        self.is_disabled |= state.is_none();
        state
    }

    fn is_due(&self, is_stopping: bool) -> bool {
        let share = if is_stopping { STOPPING_SHARE } else { 1 };
        !self.is_disabled && self.inputs >= self.interval && self.journal_bytes >= self.state_bytes / share
    }

    /// A state of so many bytes was stored, or could not be: the next one waits until the journal has grown again.
    pub(super) fn on_attempt(&mut self, stored_bytes: Option<usize>) {
        self.inputs = 0;
        self.journal_bytes = 0;
        if let Some(bytes) = stored_bytes {
            self.state_bytes = bytes as u64;
            self.is_stored = true;
        }
    }

    /// The store has a state of the run.
    pub(super) fn is_stored(&self) -> bool {
        self.is_stored
    }
}
