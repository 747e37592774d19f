//! Carries the events of all runs to every subscriber.
//!
//! A subscriber that is slower than a model holds one piece of each answer, however many have streamed: pieces that it
//! has not taken yet are merged. Every other event is kept unchanged, in order.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

use synthdev_domain::ids::{RunId, Timestamp};
use synthdev_engine::event::{PublishedEvent, RunEvent, StepEvent};

#[derive(Default)]
pub(super) struct EventBus {
    watchers: Mutex<Vec<EventSubscriber>>,
}

struct EventSubscriber {
    queue: Arc<EventQueue>,
    deltas: bool,
    /// Only of this run.
    run: Option<RunId>,
}

/// The events of all runs, for one watcher.
pub struct EventReceiver {
    queue: Arc<EventQueue>,
}

/// What a watcher has not taken yet.
#[derive(Default)]
struct EventQueue {
    queued_events: Mutex<QueuedEvents>,
    event_arrived: Notify,
}

#[derive(Default)]
struct QueuedEvents {
    events: VecDeque<PublishedEvent>,
    /// One of both sides is gone.
    closed: bool,
}

impl EventBus {
    pub(super) fn subscribe(&self, deltas: bool) -> EventReceiver {
        self.add_subscriber(deltas, None)
    }

    /// All events of one run.
    pub(super) fn subscribe_run(&self, run: &RunId) -> EventReceiver {
        self.add_subscriber(true, Some(run.clone()))
    }

    fn add_subscriber(&self, deltas: bool, run: Option<RunId>) -> EventReceiver {
        let queue = Arc::<EventQueue>::default();
        let watcher = EventSubscriber { queue: Arc::clone(&queue), deltas, run };
        self.watchers.lock().unwrap_or_else(PoisonError::into_inner).push(watcher);
        EventReceiver { queue }
    }

    /// Whether a subscriber wants streamed pieces: headless runs without `--events` save that work.
    pub(super) fn has_delta_subscribers(&self) -> bool {
        self.watchers.lock().unwrap_or_else(PoisonError::into_inner).iter().any(|watcher| watcher.deltas)
    }

    pub(super) fn publish(&self, run: &RunId, at: Timestamp, event: impl Into<StepEvent>) {
        let StepEvent { at_step, event } = event.into();
        let delta = matches!(event, RunEvent::Delta { .. } | RunEvent::ToolProgress { .. });
        let published = PublishedEvent { run: run.clone(), at, at_step, event };
        self.watchers.lock().unwrap_or_else(PoisonError::into_inner).retain(|watcher| {
            let is_other = watcher.run.as_ref().is_some_and(|run| *run != published.run);
            (delta && !watcher.deltas) || is_other || watcher.queue.push(&published)
        });
    }
}

impl Drop for EventSubscriber {
    fn drop(&mut self) {
        self.queue.close_queue();
    }
}

impl Drop for EventReceiver {
    fn drop(&mut self) {
        self.queue.close_queue();
    }
}

impl EventReceiver {
    /// The next event; `None` when there will be no more.
    pub async fn recv(&mut self) -> Option<PublishedEvent> {
        loop {
            {
                let mut waiting = self.queue.lock();
                match waiting.events.pop_front() {
                    None if !waiting.closed => {}
                    next => return next,
                }
            }
            self.queue.event_arrived.notified().await;
        }
    }

    /// The next event that is there already.
    pub fn try_recv(&mut self) -> Option<PublishedEvent> {
        self.queue.lock().events.pop_front()
    }

    /// How many events wait.
    pub fn waiting_events(&self) -> usize {
        self.queue.lock().events.len()
    }
}

impl EventQueue {
    fn lock(&self) -> std::sync::MutexGuard<'_, QueuedEvents> {
        self.queued_events.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `false`: the watcher is gone.
    fn push(&self, published: &PublishedEvent) -> bool {
        let mut waiting = self.lock();
        if waiting.closed {
            return false;
        }
        if !waiting.merge_delta(published) && !waiting.replace_progress(published) {
            waiting.events.push_back(published.clone());
            drop(waiting);
            self.event_arrived.notify_one();
        }
        true
    }

    fn close_queue(&self) {
        self.lock().closed = true;
        self.event_arrived.notify_one();
    }
}

impl QueuedEvents {
    /// Of a tool's reports only the last one counts.
    fn replace_progress(&mut self, published: &PublishedEvent) -> bool {
        let RunEvent::ToolProgress { call, text } = &published.event else { return false };
        let Some(PublishedEvent { run, event: RunEvent::ToolProgress { call: of, text: before }, .. }) =
            self.events.back_mut()
        else {
            return false;
        };
        let same = *run == published.run && of == call;
        if same {
            before.clone_from(text);
        }
        same
    }

    /// Merges a streamed piece into the pending one of the same answer, if only pieces of answers follow that one.
    fn merge_delta(&mut self, published: &PublishedEvent) -> bool {
        let RunEvent::Delta { call, kind, text } = &published.event else { return false };
        for earlier in self.events.iter_mut().rev() {
            let RunEvent::Delta { call: of, kind: same, text: before } = &mut earlier.event else { break };
            if earlier.run == published.run && of == call && same == kind {
                before.push_str(text);
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use synthdev_domain::ids::CallId;
    use synthdev_domain::model::DeltaKind;

    #[test]
    fn pieces_that_nobody_takes_become_one() {
        let bus = EventBus::default();
        let (mut all, mut calm) = (bus.subscribe(true), bus.subscribe(false));
        let run = RunId::from("r");
        let delta =
            |call, kind, text: &str| RunEvent::Delta { call: CallId(call), kind, text: text.to_owned() };
        let other = |text: &str| RunEvent::Warning { code: "x".to_owned(), text: text.to_owned() };
        let tell = |event| bus.publish(&run, Timestamp(0), event);
        tell(other("first"));
        for _ in 0..50_000 {
            tell(delta(1, DeltaKind::Reasoning, "r"));
            tell(delta(1, DeltaKind::Text, "a"));
            tell(delta(2, DeltaKind::Text, "b"));
        }
        assert_eq!((all.waiting_events(), calm.waiting_events()), (4, 1));
        tell(other("second"));
        tell(delta(1, DeltaKind::Text, "again"));
        let taken: Vec<RunEvent> = std::iter::from_fn(|| all.try_recv()).map(|one| one.event).collect();
        let expected = [
            other("first"),
            delta(1, DeltaKind::Reasoning, &"r".repeat(50_000)),
            delta(1, DeltaKind::Text, &"a".repeat(50_000)),
            delta(2, DeltaKind::Text, &"b".repeat(50_000)),
            other("second"),
            delta(1, DeltaKind::Text, "again"),
        ];
        assert!(taken == expected, "{} events", taken.len());
        assert_eq!(std::iter::from_fn(|| calm.try_recv()).count(), 2);
    }

    #[test]
    fn who_watches_one_run_hears_of_no_other() {
        let bus = EventBus::default();
        let (one, other) = (RunId::from("one"), RunId::from("other"));
        let mut events = bus.subscribe_run(&one);
        for run in [&other, &one, &other] {
            bus.publish(run, Timestamp(0), RunEvent::Warning { code: "x".to_owned(), text: String::new() });
        }
        let heard: Vec<RunId> = std::iter::from_fn(|| events.try_recv()).map(|one| one.run).collect();
        assert_eq!(heard, [one]);
    }

    #[tokio::test]
    async fn both_sides_may_go() {
        let bus = EventBus::default();
        let run = RunId::from("r");
        let event = || RunEvent::Warning { code: "x".to_owned(), text: String::new() };
        drop(bus.subscribe(true));
        bus.publish(&run, Timestamp(0), event());
        assert!(!bus.has_delta_subscribers(), "who has gone wants nothing");
        let mut events = bus.subscribe(true);
        bus.publish(&run, Timestamp(0), event());
        drop(bus);
        assert!(events.recv().await.is_some(), "what was told before is heard");
        assert!(events.recv().await.is_none());
    }
}
