//! Events of a run that are in no journal, such as pieces of an answer that is being written: kept for a moment for those who
//! follow the run, and lost with the worker.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::Notify;

use synthdev_domain::ids::CallId;
use synthdev_engine::event::RunEvent;
use synthdev_runtime::handle::EventReceiver;

/// Pieces of this time are one.
const TOGETHER: Duration = Duration::from_millis(100);
/// Texts that are kept, in bytes: who follows later than that has missed some.
const MOST_BYTES: usize = 1 << 20;

#[derive(Default)]
pub(crate) struct TransientEvents {
    kept: Mutex<BufferedEvents>,
    event_arrived: Notify,
}

#[derive(Default)]
struct BufferedEvents {
    /// With their numbers, from one on.
    events: VecDeque<(u64, RunEvent)>,
    bytes: usize,
    /// All that there were.
    count: u64,
}

impl BufferedEvents {
    fn push(&mut self, event: RunEvent) {
        self.bytes += text_bytes(&event);
        self.count += 1;
        self.events.push_back((self.count, event));
        while self.bytes > MOST_BYTES {
            let Some((_, oldest)) = self.events.pop_front() else { break };
            self.bytes -= text_bytes(&oldest);
        }
    }

    /// The call has its answer, which is in the journal.
    fn drop_call(&mut self, call: CallId) {
        self.events.retain(|(_, event)| call_of(event) != Some(call));
        self.bytes = self.events.iter().map(|(_, event)| text_bytes(event)).sum();
    }
}

impl TransientEvents {
    fn lock(&self) -> MutexGuard<'_, BufferedEvents> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the run did: pieces are kept, and their answers end that.
    fn apply(&self, event: RunEvent) {
        match &event {
            RunEvent::Replied { call, .. }
            | RunEvent::ContextSummarized { call, .. }
            | RunEvent::ModelFailed { call, .. }
            | RunEvent::ModelStopped { call, .. }
            | RunEvent::ToolFinished { call, .. } => self.lock().drop_call(*call),
            event if is_transient(event) => self.lock().push(event.clone()),
            _ => {}
        }
    }

    /// Those after the first `seen`, and how many there were. Another worker has counted anew.
    pub(crate) fn since(&self, seen: u64) -> (Vec<RunEvent>, u64) {
        let kept = self.lock();
        let seen = if seen > kept.count { 0 } else { seen };
        let fresh = kept.events.iter().filter(|(number, _)| *number > seen);
        (fresh.map(|(_, event)| event.clone()).collect(), kept.count)
    }

    /// Until there are others than the first `seen`.
    pub(crate) async fn wait_beyond(&self, seen: u64) {
        loop {
            let arrived = self.event_arrived.notified();
            tokio::pin!(arrived);
            arrived.as_mut().enable();
            if !self.since(seen).0.is_empty() {
                return;
            }
            arrived.await;
        }
    }
}

/// Keeps what the driver of the run publishes beside its journal, until the session is gone.
pub(crate) async fn collect_events(mut events: EventReceiver, kept: Weak<TransientEvents>) {
    while let Some(published) = events.recv().await {
        let Some(kept) = kept.upgrade() else { return };
        let has_begun = is_transient(&published.event);
        kept.apply(published.event);
        if has_begun {
            // what comes meanwhile becomes one piece
            tokio::time::sleep(TOGETHER).await;
            while let Some(published) = events.try_recv() {
                kept.apply(published.event);
            }
            kept.event_arrived.notify_waiters();
        }
    }
}

fn call_of(event: &RunEvent) -> Option<CallId> {
    match event {
        RunEvent::Delta { call, .. }
        | RunEvent::ModelRetry { call, .. }
        | RunEvent::ToolProgress { call, .. } => Some(*call),
        _ => None,
    }
}

fn is_transient(event: &RunEvent) -> bool {
    matches!(
        event,
        RunEvent::Delta { .. }
            | RunEvent::ModelRetry { .. }
            | RunEvent::ToolProgress { .. }
            | RunEvent::SnapshotProgress { .. }
    )
}

fn text_bytes(event: &RunEvent) -> usize {
    /// Of one without a text.
    const LEAST: usize = 64;
    match event {
        RunEvent::Delta { text, .. } | RunEvent::ToolProgress { text, .. } => text.len() + LEAST,
        _ => LEAST,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use synthdev_domain::model::DeltaKind;

    fn piece(call: u64, text: &str) -> RunEvent {
        RunEvent::Delta { call: CallId(call), kind: DeltaKind::Text, text: text.to_owned() }
    }

    #[test]
    fn who_follows_gets_each_piece_once_and_from_another_worker_all_of_them() {
        let kept = TransientEvents::default();
        for text in ["a", "b", "c"] {
            kept.apply(piece(1, text));
        }
        let check = |seen: u64, expected: &[&str]| {
            let expected: Vec<RunEvent> = expected.iter().map(|text| piece(1, text)).collect();
            assert_eq!(kept.since(seen), (expected, 3), "{seen}");
        };
        check(0, &["a", "b", "c"]);
        check(2, &["c"]);
        check(3, &[]);
        check(7, &["a", "b", "c"]);
    }

    #[test]
    fn pieces_go_when_their_answer_is_there_and_old_ones_make_room() {
        let kept = TransientEvents::default();
        kept.apply(piece(1, "a"));
        kept.apply(piece(2, "b"));
        let failed = RunEvent::ModelFailed {
            call: CallId(1),
            agent: String::new(),
            code: String::new(),
            reason: String::new(),
            attempts: 1,
            spent: Vec::new(),
        };
        kept.apply(failed);
        assert_eq!(kept.since(0), (vec![piece(2, "b")], 2));
        for number in 0..20 {
            kept.apply(piece(3, &format!("{number}").repeat(100_000)));
        }
        let (left, count) = kept.since(0);
        let bytes: usize = left.iter().map(text_bytes).sum();
        assert!(bytes <= MOST_BYTES && left.len() > 3, "{} pieces", left.len());
        assert_eq!((left.last(), count), (Some(&piece(3, &"19".repeat(100_000))), 22));
    }
}
