//! Replays a run for readers: a thread of its own reads and parses the rows, while the machine is fed with those before
//! them.
//!
//! Owns the way from the store to the events. Refuses to resume the run: for that, see `load_for_resume`.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::{mem, panic, thread};

use super::file_restore::{self, PendingRestore};
use super::journal_replay;
use synthdev_domain::ids::{CallId, RunId, Timestamp};
use synthdev_domain::journal::{JournalRowKind, RunHeader};
use synthdev_engine::input::Input;
use synthdev_engine::machine::Machine;
use synthdev_engine::run_spec::RunSpec;
use synthdev_engine::streaming_replay::{NeedsFullReplay, ReplayEventSink, StreamingReplay};
use synthdev_ports::run_store::{JournalRowRef, RunReader, RunStore, StoreError};

/// Inputs that are handed over at once, and how often that can be ahead of the machine.
const TOGETHER: usize = 256;
const AHEAD: usize = 4;

/// What there is to see.
pub(super) struct ReplayedHistory {
    pub(super) machine: Machine,
    /// Intents without an outcome, as they were written.
    pub(super) unanswered_intents: Vec<String>,
    /// Files that were on their way back.
    pub(super) pending_restore: Option<PendingRestore>,
}

/// What a reader wants besides the events of the machine.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct ReplayWishes {
    /// Approvals that were asked for are told, too.
    pub(super) tells_approvals: bool,
}

/// A message of the reading thread.
enum HistoryChunk {
    Definition(Arc<RunSpec>),
    Inputs(Vec<(Timestamp, Input)>),
}

/// `None` for a run that must be read as a whole: events that the sink got by then are void.
///
/// # Errors
/// Unknown id, unreadable rows, or a run of a newer program.
pub(super) fn replay_history(
    store: &dyn RunStore,
    run: &RunId,
    wanted: ReplayWishes,
    told: ReplayEventSink<'_>,
) -> Result<Option<ReplayedHistory>, StoreError> {
    let (hand_over, parts) = sync_channel(AHEAD);
    thread::scope(|scope| {
        let reading = move || {
            let mut rows = HistoryRowReader::new(hand_over);
            let read = store.read(run, &mut rows);
            rows.into_intents(read)
        };
        let Ok(reading) = thread::Builder::new().name("read".to_owned()).spawn_scoped(scope, reading) else {
            return Ok(None);
        };
        let seen = feed_replay(&parts, wanted, told);
        // without a receiver the reading thread stops
        drop(parts);
        let intents = reading.join().unwrap_or_else(|panicked| panic::resume_unwind(panicked))?;
        Ok(seen.and_then(|machine| intents.into_replayed_history(machine)))
    })
}

fn feed_replay(
    parts: &Receiver<HistoryChunk>,
    wanted: ReplayWishes,
    told: ReplayEventSink<'_>,
) -> Option<Machine> {
    let Ok(HistoryChunk::Definition(spec)) = parts.recv() else { return None };
    let mut look = StreamingReplay::new(spec);
    if wanted.tells_approvals {
        look = look.with_asked_approvals();
    }
    while let Ok(HistoryChunk::Inputs(inputs)) = parts.recv() {
        for (at, input) in inputs {
            if look.feed_input(at, input, told) == Err(NeedsFullReplay) {
                return None;
            }
        }
    }
    Some(look.finish(told))
}

/// Rows become inputs; runs on the reading thread.
struct HistoryRowReader {
    chunk_sender: SyncSender<HistoryChunk>,
    inputs: Vec<(Timestamp, Input)>,
    intents: OpenIntents,
    store_error: Option<StoreError>,
}

impl HistoryRowReader {
    fn new(to: SyncSender<HistoryChunk>) -> Self {
        Self {
            chunk_sender: to,
            inputs: Vec::with_capacity(TOGETHER),
            intents: OpenIntents::default(),
            store_error: None,
        }
    }

    fn send_chunk(&self, part: HistoryChunk) -> ControlFlow<()> {
        if self.chunk_sender.send(part).is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }

    fn fail_reading(&mut self, error: StoreError) -> ControlFlow<()> {
        self.store_error = Some(error);
        ControlFlow::Break(())
    }

    fn read_row(&mut self, row: JournalRowRef<'_>) -> Result<(), StoreError> {
        match (row.kind, row.call) {
            (JournalRowKind::Intent, Some(call)) => {
                self.intents.open_intents.push((call, row.body.to_owned()))
            }
            (JournalRowKind::Begun, Some(_)) => {
                // a replay does not need it, but damage is reported
                journal_replay::planned_edit(row.body)?;
            }
            (JournalRowKind::Input, _) => {
                let input: Input = journal_replay::parse_stored("journal", row.body)?;
                self.intents.settle_intent(&input);
                self.inputs.push((row.at, input));
            }
            (JournalRowKind::Begun, None) => {
                self.intents.pending_restore =
                    file_restore::pending_restore(journal_replay::parse_stored("journal", row.body)?);
            }
            (JournalRowKind::Intent, None) => {}
        }
        Ok(())
    }

    fn into_intents(mut self, read: Result<(), StoreError>) -> Result<OpenIntents, StoreError> {
        read?;
        if let Some(failed) = self.store_error {
            return Err(failed);
        }
        let rest = mem::take(&mut self.inputs);
        let _ = self.send_chunk(HistoryChunk::Inputs(rest));
        Ok(self.intents)
    }
}

impl RunReader for HistoryRowReader {
    fn header(&mut self, header: RunHeader) -> ControlFlow<()> {
        match journal_replay::load_definition(&header) {
            Ok(spec) => self.send_chunk(HistoryChunk::Definition(spec)),
            Err(error) => self.fail_reading(error),
        }
    }

    fn row(&mut self, row: JournalRowRef<'_>) -> ControlFlow<()> {
        if let Err(error) = self.read_row(row) {
            return self.fail_reading(error);
        }
        if self.inputs.len() < TOGETHER {
            return ControlFlow::Continue(());
        }
        let inputs = mem::replace(&mut self.inputs, Vec::with_capacity(TOGETHER));
        self.send_chunk(HistoryChunk::Inputs(inputs))
    }
}

/// Intents without an answer so far, by call.
#[derive(Default)]
struct OpenIntents {
    open_intents: Vec<(CallId, String)>,
    /// Calls with an answer in the journal. Nearly every answer was accepted.
    answered_calls: Vec<CallId>,
    /// The pending restore of the last mark of the project's files.
    pending_restore: Option<PendingRestore>,
}

impl OpenIntents {
    fn settle_intent(&mut self, input: &Input) {
        if let Input::Rewound(returned) = input {
            // after the rewind the same ids mean other calls
            self.open_intents.retain(|(call, _)| returned.open.contains(call));
            self.answered_calls.clear();
        }
        let Some(call) = input.answered_call() else { return };
        let before = self.open_intents.len();
        self.open_intents.retain(|(open, _)| *open != call);
        if self.open_intents.len() < before {
            self.answered_calls.push(call);
        }
    }

    fn into_replayed_history(self, machine: Machine) -> Option<ReplayedHistory> {
        if machine.is_over_or_suspended() {
            return Some(ReplayedHistory {
                machine,
                unanswered_intents: Vec::new(),
                pending_restore: self.pending_restore,
            });
        }
        if self.answered_calls.iter().any(|call| machine.awaits_call(*call)) {
            return None;
        }
        let open = self.open_intents.into_iter().filter(|(call, _)| machine.awaits_call(*call));
        let open = open.map(|(_, body)| body).collect();
        Some(ReplayedHistory { machine, unanswered_intents: open, pending_restore: self.pending_restore })
    }
}
