//! What takes a run's time: its present activity, and the user.

use std::collections::HashSet;

use synthdev_domain::ids::{CallId, Timestamp};
use synthdev_service::run_events::RunEvent;

use crate::text::format_duration;

/// Shorter waits are not worth a word.
const WORTH_MS: u64 = 1_000;

/// How long the present activity of a run takes, and how long the run has waited for answers of the user.
#[derive(Clone, Debug, Default)]
pub struct RunTimes {
    activity_since: Option<Timestamp>,
    /// Milliseconds that the run had waited when its present activity began.
    waited_before: u64,
    open_questions: HashSet<CallId>,
    waiting_since: Option<Timestamp>,
    waited_ms: u64,
}

impl RunTimes {
    pub fn apply_event(&mut self, at: Timestamp, event: &RunEvent) {
        match event {
            RunEvent::ModelCalled { .. }
            | RunEvent::SummaryCalled { .. }
            | RunEvent::ToolStarted { .. }
            | RunEvent::StateEntered { .. } => {
                self.activity_since = Some(at);
                self.waited_before = self.waited_ms(at);
            }
            RunEvent::ApprovalAsked { call, .. }
            | RunEvent::NetworkAsked { call, .. }
            | RunEvent::UnsandboxedAsked { call, .. }
            | RunEvent::PersonAsked { call, .. } => {
                self.open_questions.insert(*call);
                self.waiting_since.get_or_insert(at);
            }
            RunEvent::ApprovalAnswered { call, .. }
            | RunEvent::PersonAnswered { call }
            | RunEvent::ToolFinished { call, .. } => {
                self.open_questions.remove(call);
                if self.open_questions.is_empty() {
                    self.stop_waiting(at);
                }
            }
            RunEvent::Finished { .. } => {
                self.open_questions.clear();
                self.stop_waiting(at);
                self.activity_since = None;
            }
            // questions are asked again; when the process ended is not known
            RunEvent::Resumed { .. } => {
                self.open_questions.clear();
                self.waiting_since = None;
            }
            _ => {}
        }
    }

    fn stop_waiting(&mut self, at: Timestamp) {
        self.waited_ms = self.waited_ms(at);
        self.waiting_since = None;
    }

    /// Milliseconds until `now` in which a question was open.
    pub fn waited_ms(&self, now: Timestamp) -> u64 {
        self.waited_ms + self.waiting_since.map_or(0, |since| milliseconds_between(since, now))
    }

    /// Milliseconds of the present activity, without those that the user took; `None`: there is none.
    pub fn activity_ms(&self, now: Timestamp) -> Option<u64> {
        let whole = milliseconds_between(self.activity_since?, now);
        Some(whole.saturating_sub(self.waited_ms(now).saturating_sub(self.waited_before)))
    }

    /// `4 m 10 s · 3 m waiting for you`: `elapsed_ms` contains the wait.
    pub fn describe_elapsed(&self, elapsed_ms: u64, now: Timestamp) -> String {
        let (whole, waited) = (format_duration(elapsed_ms), self.waited_ms(now));
        if waited < WORTH_MS {
            whole
        } else {
            format!("{whole} · {} waiting for you", format_duration(waited))
        }
    }
}

fn milliseconds_between(since: Timestamp, now: Timestamp) -> u64 {
    u64::try_from(now.0.saturating_sub(since.0)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_for_the_user_is_not_the_time_of_an_agent() {
        let asked = |call: u64| RunEvent::NetworkAsked {
            call: CallId(call),
            agent: "coder".into(),
            tool: "shell".into(),
            arguments: serde_json::Value::Null,
        };
        let answered = |call: u64| RunEvent::PersonAnswered { call: CallId(call) };
        let entered =
            || RunEvent::StateEntered { state: "code".into(), visit: 1, agent: None, context: None, step: 1 };
        let check = |events: Vec<(i64, RunEvent)>, now: i64, expected: (Option<u64>, u64, &str)| {
            let mut times = RunTimes::default();
            events.iter().for_each(|(at, event)| times.apply_event(Timestamp(*at), event));
            let (activity, waited, text) = expected;
            let now = Timestamp(now);
            assert_eq!((times.activity_ms(now), times.waited_ms(now)), (activity, waited));
            assert_eq!(times.describe_elapsed(10_000, now), text);
        };
        check(vec![], 9_000, (None, 0, "10 s"));
        check(vec![(1_000, entered())], 3_500, (Some(2_500), 0, "10 s"));
        let open = vec![(0, entered()), (1_000, asked(1))];
        check(open.clone(), 5_000, (Some(1_000), 4_000, "10 s · 4.0 s waiting for you"));
        let mut over = open.clone();
        over.extend([(2_000, asked(2)), (3_000, answered(1)), (5_000, answered(2))]);
        check(over.clone(), 7_000, (Some(3_000), 4_000, "10 s · 4.0 s waiting for you"));
        over.push((7_000, entered()));
        check(over, 8_000, (Some(1_000), 4_000, "10 s · 4.0 s waiting for you"));
    }
}
