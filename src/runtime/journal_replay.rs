//! A run read back from its rows: the machine in its last state, and the effects that were never answered.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::file_restore::{self, PendingRestore};
use super::{event_digest, journal};
use synthdev_domain::ids::{CallId, RunId, Timestamp};
use synthdev_domain::journal::{JournalRow, JournalRowKind, RunHeader};
use synthdev_domain::tool::PlannedFileEdit;
use synthdev_engine::event::StepEvent;
use synthdev_engine::input::Input;
use synthdev_engine::replay::{ReplayResult, StepwiseReplay, drop_rewound};
use synthdev_engine::run_spec::{MACHINE_VERSION, RunSpec};
use synthdev_ports::run_store::{RunStore, StoreError};

/// An input with its row's digest.
#[derive(Clone, Debug)]
pub(super) struct JournalEntry {
    pub(super) at: Timestamp,
    pub(super) input: Input,
    pub(super) digest: Option<u64>,
    /// What it led to, as it was written down: calls with their intents.
    pub(super) intents: Vec<(CallId, String)>,
    /// What makes it the same as another result, if a sub-agent gave it.
    pub(super) dedup_mark: Option<String>,
}

/// An input whose events are not those that were recorded.
pub(super) struct ReplayDivergence {
    pub(super) index: usize,
    pub(super) events: Vec<StepEvent>,
    /// What was asked for then, and what is now.
    pub(super) recorded: Vec<String>,
    pub(super) intents: Vec<String>,
}

/// The rows of a run, understood.
pub(super) struct JournaledRun {
    pub(super) header: RunHeader,
    pub(super) spec: Arc<RunSpec>,
    /// Without the inputs that a rewind discarded.
    pub(super) entries: Vec<JournalEntry>,
    /// How often each call was asked for.
    pub(super) attempts: BTreeMap<CallId, u32>,
    /// Effects with consequences that had begun.
    pub(super) begun_effects: BTreeMap<CallId, Option<PlannedFileEdit>>,
    /// Intents as they were written, for display.
    pub(super) intents: Vec<(CallId, String)>,
    /// Files that were on their way back and never arrived.
    pub(super) pending_restore: Option<PendingRestore>,
}

/// # Errors
/// Unknown id, unreadable rows, or a run of a newer program.
pub(super) fn load_journaled_run(store: &dyn RunStore, run: &RunId) -> Result<JournaledRun, StoreError> {
    let (header, rows) = store.load(run)?;
    parse_rows(header, rows)
}

/// # Errors
/// Unreadable rows, or a run of a newer program.
pub(super) fn parse_rows(header: RunHeader, rows: Vec<JournalRow>) -> Result<JournaledRun, StoreError> {
    let spec = load_definition(&header)?;
    let mut journaled_run =
        JournaledRun { entries: Vec::with_capacity(rows.len()), ..JournaledRun::without_rows(header, spec) };
    for row in rows {
        match (row.kind, row.call) {
            (JournalRowKind::Intent, Some(call)) => {
                *journaled_run.attempts.entry(call).or_insert(0) += 1;
                if let Some(entry) = journaled_run.entries.last_mut() {
                    entry.intents.push((call, row.body.clone()));
                }
                journaled_run.intents.push((call, row.body));
            }
            (JournalRowKind::Begun, Some(call)) => {
                journaled_run.begun_effects.insert(call, planned_edit(&row.body)?);
            }
            (JournalRowKind::Input, _) => {
                let input = parse_stored("journal", &row.body)?;
                if let Input::Rewound(returned) = &input {
                    // what had begun there is not what begins under the same ids from now on
                    journaled_run.attempts.retain(|call, _| returned.open.contains(call));
                    journaled_run.begun_effects.retain(|call, _| returned.open.contains(call));
                    journaled_run.intents.retain(|(call, _)| returned.open.contains(call));
                }
                let submitted = journal::mark_in(&row.body);
                journaled_run.entries.push(JournalEntry {
                    at: row.at,
                    input,
                    digest: row.digest,
                    intents: Vec::new(),
                    dedup_mark: submitted,
                });
            }
            (JournalRowKind::Begun, None) => {
                journaled_run.pending_restore =
                    file_restore::pending_restore(parse_stored("journal", &row.body)?)
            }
            (JournalRowKind::Intent, None) => {}
        }
    }
    journaled_run.entries = drop_rewound(journaled_run.entries, |entry| &entry.input);
    Ok(journaled_run)
}

/// # Errors
/// It is unreadable, or of a newer program.
pub(super) fn load_definition(header: &RunHeader) -> Result<Arc<RunSpec>, StoreError> {
    let spec: RunSpec = parse_stored("definition", &header.spec)?;
    if spec.machine_version > MACHINE_VERSION {
        return Err(StoreError {
            message: format!("run {} was made by a newer version of the program", header.id),
            hint: Some("update synthdev to look inside it".to_owned()),
        });
    }
    Ok(Arc::new(spec))
}

/// # Errors
/// It is unreadable.
pub(super) fn planned_edit(body: &str) -> Result<Option<PlannedFileEdit>, StoreError> {
    parse_stored("journal", body)
}

impl JournaledRun {
    /// Without a row.
    pub(super) fn without_rows(header: RunHeader, spec: Arc<RunSpec>) -> Self {
        Self {
            header,
            spec,
            entries: Vec::new(),
            attempts: BTreeMap::new(),
            begun_effects: BTreeMap::new(),
            intents: Vec::new(),
            pending_restore: None,
        }
    }

    /// Feeds all of it to a new machine. What was answered is not asked for again.
    pub(super) fn replay(&self) -> ReplayResult {
        self.replay_for_readers(false)
    }

    /// `asked_approvals`: also tells which approvals were asked for.
    pub(super) fn replay_for_readers(&self, asked_approvals: bool) -> ReplayResult {
        let replay = StepwiseReplay::skipping_answered(
            Arc::clone(&self.spec),
            self.entries.iter().map(|entry| &entry.input),
        );
        self.play_on(replay.with_asked_approvals(asked_approvals), self.entries.len(), |_, _, _| true)
    }

    /// The same as [`Self::replay`]; `told` gets the events of each input.
    pub(super) fn replay_with_events(
        &self,
        mut told: impl FnMut(usize, &[(Timestamp, StepEvent)]),
    ) -> ReplayResult {
        let inputs = self.entries.iter().map(|entry| &entry.input);
        let replay = StepwiseReplay::skipping_answered(Arc::clone(&self.spec), inputs);
        self.play_on(replay, self.entries.len(), |index, _, events| {
            told(index, events);
            true
        })
    }

    /// Feeds the first inputs; `told` gets each with the events that it caused, and may stop the replay.
    pub(super) fn replay_until(
        &self,
        end: usize,
        told: impl FnMut(usize, &JournalEntry, &[(Timestamp, StepEvent)]) -> bool,
    ) -> ReplayResult {
        self.play_on(StepwiseReplay::new(Arc::clone(&self.spec)), end, told)
    }

    fn play_on(
        &self,
        mut replay: StepwiseReplay,
        end: usize,
        mut told: impl FnMut(usize, &JournalEntry, &[(Timestamp, StepEvent)]) -> bool,
    ) -> ReplayResult {
        for (at, entry) in self.entries.iter().take(end).enumerate() {
            let next = self.entries.get(at + 1).map(|entry| &entry.input);
            let events = replay.feed_input(entry.at, entry.input.clone(), next);
            if !told(at, entry, events) {
                break;
            }
        }
        replay.finish()
    }

    /// The first input whose events are not those that were recorded.
    pub(super) fn first_divergence(&self) -> Option<ReplayDivergence> {
        let mut found = None;
        self.replay_until(self.entries.len(), |at, entry, events| {
            // a rewound run stops in the middle of the input before
            let cut = matches!(self.entries.get(at + 1).map(|next| &next.input), Some(Input::Rewound(_)));
            let now: Vec<StepEvent> = events.iter().map(|(_, event)| event.clone()).collect();
            if !cut && entry.digest.is_some_and(|recorded| recorded != event_digest::digest_events(&now)) {
                found = Some((at, now));
            }
            found.is_none()
        });
        let (index, events) = found?;
        let entry = self.entries.get(index)?;
        let mut machine = self.replay_until(index, |_, _, _| true).machine;
        // calls that were only made again were asked for by an earlier input
        let fresh = entry.intents.iter().filter(|(call, _)| !machine.awaits_call(*call));
        let recorded = fresh.map(|(_, body)| body.clone()).collect();
        let effects = machine.handle_input(entry.at, entry.input.clone()).effects;
        let intents =
            effects.iter().filter_map(|effect| Some(journal::intent_row(entry.at, effect, 1)?.body));
        Some(ReplayDivergence { index, events, recorded, intents: intents.collect() })
    }
}

pub(super) fn parse_stored<T: DeserializeOwned>(what: &str, text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|error| StoreError {
        message: format!("the run's {what} cannot be read: {error}"),
        hint: None,
    })
}
