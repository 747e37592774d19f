//! What takes a run's time: its present activity, and what it waits for.
//!
//! One rule for all places: the time of a run is all of it, from its start to its end, and what of it was waiting is said.

use std::collections::HashSet;

use synthdev_domain::ids::{CallId, Timestamp};
use synthdev_service::run_events::RunEvent;

use crate::text::{format_duration, format_whole_seconds};

/// Shorter waits are not worth a word.
const WORTH_MS: u64 = 1_000;

/// How long the present activity of a run takes, and how long the run has waited: for answers of the user, and to be
/// resumed.
#[derive(Clone, Debug, Default)]
pub struct RunTimes {
    started_at: Option<Timestamp>,
    last_event_at: Option<Timestamp>,
    activity_since: Option<Timestamp>,
    /// Milliseconds that the run had waited when its present activity began.
    waited_before: u64,
    open_questions: HashSet<CallId>,
    waiting_since: Option<Timestamp>,
    waited_ms: u64,
    /// States that wait for a time, and until when.
    timed_waits: Vec<(String, Timestamp)>,
}

impl RunTimes {
    /// The events begin in the middle of a run that started then; the last event before them came at `last_event_at`.
    pub fn begin_later(&mut self, started_at: Timestamp, last_event_at: Timestamp) {
        (self.started_at, self.last_event_at) = (Some(started_at), Some(last_event_at));
    }

    pub fn apply_event(&mut self, at: Timestamp, event: &RunEvent) {
        self.started_at.get_or_insert(at);
        let last_event_at = self.last_event_at.replace(at).unwrap_or(at);
        self.note_timed_wait(event);
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
            | RunEvent::PersonAnswered { call, .. }
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
            // what comes before is the time of the run that it was made from
            RunEvent::Forked { .. } | RunEvent::Rewound { fork_of: Some(_), .. } => {
                *self = Self { started_at: Some(at), last_event_at: Some(at), ..Self::default() }
            }
            // questions are asked again; when the process ended is not known
            RunEvent::Resumed { .. } | RunEvent::Rewound { .. } => {
                self.open_questions.clear();
                self.stop_waiting(last_event_at);
                self.waited_ms += milliseconds_between(last_event_at, at);
            }
            _ => {}
        }
    }

    fn note_timed_wait(&mut self, event: &RunEvent) {
        match event {
            RunEvent::Waiting { state, until } => self.timed_waits.push((state.clone(), *until)),
            RunEvent::StateEntered { state, .. }
            | RunEvent::Transitioned { from: state, .. }
            | RunEvent::Stored { state, .. }
            | RunEvent::Caught { state, .. } => self.timed_waits.retain(|(waits, _)| waits != state),
            RunEvent::Finished { .. } | RunEvent::Resumed { .. } | RunEvent::Rewound { .. } => {
                self.timed_waits.clear();
            }
            _ => {}
        }
    }

    /// `waits until 12:00:30 UTC · 12 s left`: the wait that ends first; `None`: no state waits for a time. `calm`: what
    /// is left is not counted down.
    pub fn describe_timed_wait(&self, now: Timestamp, calm: bool) -> Option<String> {
        let until = self.timed_waits.iter().map(|(_, until)| *until).filter(|until| *until > now).min()?;
        let left = milliseconds_between(now, until).div_ceil(1_000) * 1_000;
        let left = if calm { String::new() } else { format!(" · {} left", format_whole_seconds(left)) };
        Some(format!("waits until {}{left}", until.format_utc_beside(now)))
    }

    /// `4 min 10 s, 3 min 00 s of it waiting`, to the second, then what is said where that has no room. Empty: nothing is
    /// worth a word. `stands`: nothing goes on until the user acts, and this is what it is called: the time is that
    /// until then, because nothing counts it further.
    pub fn describe_live(&self, now: Timestamp, stands: Option<&str>) -> Vec<String> {
        let Some(started_at) = self.started_at else { return Vec::new() };
        let until = self.waiting_since.filter(|_| stands.is_some()).unwrap_or(now);
        let whole = milliseconds_between(started_at, until);
        let waited = self.waited_ms(until).min(whole);
        let time = (whole >= WORTH_MS).then(|| format_whole_seconds(whole));
        match (stands, time) {
            (Some(stands), Some(time)) => vec![format!("{time}, {stands}"), stands.to_owned()],
            (Some(stands), None) => vec![stands.to_owned()],
            (None, Some(time)) if waited >= WORTH_MS => {
                vec![format!("{time}, {} of it waiting", format_whole_seconds(waited)), time]
            }
            (None, time) => time.into_iter().collect(),
        }
    }

    fn stop_waiting(&mut self, at: Timestamp) {
        self.waited_ms = self.waited_ms(at);
        self.waiting_since = None;
    }

    /// Milliseconds until `now` in which a question was open, or the run stood still until it was resumed.
    pub fn waited_ms(&self, now: Timestamp) -> u64 {
        self.waited_ms + self.waiting_since.map_or(0, |since| milliseconds_between(since, now))
    }

    /// Milliseconds of the present activity, without those in which the run waited; `None`: there is none.
    pub fn activity_ms(&self, now: Timestamp) -> Option<u64> {
        let whole = milliseconds_between(self.activity_since?, now);
        Some(whole.saturating_sub(self.waited_ms(now).saturating_sub(self.waited_before)))
    }

    /// `4 min 10 s, 3 min 00 s of it waiting`: all of the run's time until `now`; `None`: it has not begun.
    pub fn describe_until(&self, now: Timestamp) -> Option<String> {
        let whole = milliseconds_between(self.started_at?, now);
        Some(describe_time(whole, self.waited_ms(now).min(whole)))
    }
}

/// A time, and what of it was waiting.
fn describe_time(whole_ms: u64, waited_ms: u64) -> String {
    let whole = format_duration(whole_ms);
    if waited_ms < WORTH_MS {
        whole
    } else {
        format!("{whole}, {} of it waiting", format_duration(waited_ms))
    }
}

fn milliseconds_between(since: Timestamp, now: Timestamp) -> u64 {
    u64::try_from(now.0.saturating_sub(since.0)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_for_a_time_says_until_when() {
        let waits = |until: i64| RunEvent::Waiting { state: "nap".into(), until: Timestamp(until) };
        let left =
            || RunEvent::Transitioned { from: "nap".into(), to: "code".into(), guard: 0, tried: Vec::new() };
        let check = |events: Vec<RunEvent>, now: i64, calm: bool, expected: Option<&str>| {
            let mut times = RunTimes::default();
            events.iter().for_each(|event| times.apply_event(Timestamp(0), event));
            assert_eq!(times.describe_timed_wait(Timestamp(now), calm).as_deref(), expected);
        };
        check(vec![], 0, false, None);
        check(vec![waits(90_000)], 30_000, false, Some("waits until 00:01:30 UTC · 1 min 00 s left"));
        check(vec![waits(90_000)], 77_500, false, Some("waits until 00:01:30 UTC · 13 s left"));
        check(vec![waits(90_000)], 77_500, true, Some("waits until 00:01:30 UTC"));
        check(vec![waits(90_000), waits(60_000)], 50_000, true, Some("waits until 00:01:00 UTC"));
        check(vec![waits(90_000)], 90_000, false, None);
        check(vec![waits(90_000), left()], 30_000, false, None);
        check(vec![waits(90_000_000)], 0, true, Some("waits until 1970-01-02 01:00:00 UTC"));
    }

    #[test]
    fn waiting_for_the_user_is_not_the_time_of_an_agent() {
        let asked = |call: u64| RunEvent::NetworkAsked {
            call: CallId(call),
            agent: "coder".into(),
            tool: "shell".into(),
            arguments: serde_json::Value::Null,
        };
        let answered = |call: u64| RunEvent::question_withdrawn(CallId(call));
        let entered =
            || RunEvent::StateEntered { state: "code".into(), visit: 1, agent: None, context: None, step: 1 };
        let resumed_event =
            || RunEvent::Resumed { present: true, again: Vec::new(), definition: None, notes: Vec::new() };
        let check = |events: Vec<(i64, RunEvent)>, now: i64, expected: (Option<u64>, u64, &str)| {
            let mut times = RunTimes::default();
            events.iter().for_each(|(at, event)| times.apply_event(Timestamp(*at), event));
            let (activity, waited, text) = expected;
            let now = Timestamp(now);
            assert_eq!((times.activity_ms(now), times.waited_ms(now)), (activity, waited));
            assert_eq!(times.describe_until(now).unwrap_or_default(), text);
        };
        check(vec![], 9_000, (None, 0, ""));
        check(vec![(1_000, entered())], 3_500, (Some(2_500), 0, "2.5 s"));
        let open = vec![(0, entered()), (1_000, asked(1))];
        check(open.clone(), 5_000, (Some(1_000), 4_000, "5.0 s, 4.0 s of it waiting"));
        let mut over = open.clone();
        over.extend([(2_000, asked(2)), (3_000, answered(1)), (5_000, answered(2))]);
        check(over.clone(), 7_000, (Some(3_000), 4_000, "7.0 s, 4.0 s of it waiting"));
        over.push((7_000, entered()));
        check(over, 8_000, (Some(1_000), 4_000, "8.0 s, 4.0 s of it waiting"));
        // a night until it was resumed is no work
        let mut resumed = open;
        resumed.extend([(61_000, resumed_event()), (62_000, entered())]);
        check(resumed, 63_000, (Some(1_000), 60_000, "1 min 03 s, 1 min 00 s of it waiting"));
    }
}
