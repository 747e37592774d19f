//! Hands the events of a driven run to its subscribers and to the log.

use std::sync::Arc;

use crate::progress_log::log_event;
use crate::runtime_context::RuntimeContext;
use synthdev_domain::ids::{RunId, Timestamp};
use synthdev_domain::journal::RunProgress;
use synthdev_engine::event::{DEFINITION_WARNING, RunEvent, StepEvent};

pub(crate) struct EventPublisher {
    run: RunId,
    context: Arc<RuntimeContext>,
}

impl EventPublisher {
    pub(crate) fn new(run: RunId, context: Arc<RuntimeContext>) -> Self {
        Self { run, context }
    }

    pub(crate) fn publish_events(&self, at: Timestamp, events: Vec<StepEvent>) {
        for event in events {
            log_event(&self.run, &event);
            self.context.bus.publish(&self.run, at, event);
        }
    }

    /// Warnings of the definition come after the event that starts or resumes the run.
    pub(crate) fn publish_opening(&self, at: Timestamp, mut events: Vec<StepEvent>, warnings: Vec<String>) {
        let opens =
            |event: &StepEvent| matches!(event.event, RunEvent::RunStarted { .. } | RunEvent::Resumed { .. });
        let rest = events.split_off(events.iter().rposition(opens).map_or(0, |at| at + 1));
        self.publish_events(at, events);
        warnings.into_iter().for_each(|text| self.publish_warning(DEFINITION_WARNING, text));
        self.publish_events(at, rest);
    }

    pub(crate) fn publish_warning(&self, code: &str, text: String) {
        let now = self.context.ports.clock.now();
        self.context.bus.publish(&self.run, now, RunEvent::Warning { code: code.into(), text });
    }

    /// Subscribers stop reading at the end event, so it comes last. Its sums include calls that the end has stopped.
    pub(crate) fn publish_end(&self, at: Timestamp, events: Vec<StepEvent>, progress: &RunProgress) {
        let (mut ends, others): (Vec<StepEvent>, Vec<StepEvent>) =
            events.into_iter().partition(|event| matches!(event.event, RunEvent::Finished { .. }));
        for end in &mut ends {
            if let RunEvent::Finished { usage, cost_usd, .. } = &mut end.event {
                (*usage, *cost_usd) = (progress.usage, progress.cost_usd);
            }
        }
        self.publish_events(at, others);
        self.publish_events(at, ends);
    }
}
