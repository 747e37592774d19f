//! What happened when in a run, and how long it took: one short row an event, folded as events come.
//!
//! Owns at most `MOST` rows; earlier ones are only counted. Refuses texts of messages and results: other panes have them.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use super::branch_tree::agent_prefix;
use crate::text::{fit_to_columns, one_line};
use synthdev_domain::agent_team::SpawnedAgentStatus;
use synthdev_domain::ids::{CallId, Timestamp};
use synthdev_service::event_description::{EventDescription, EventKind, EventSeverity, describe_event};
use synthdev_service::run_events::RunEvent;

/// Rows that are kept.
pub const MOST: usize = 20_000;
/// Different texts that are shared; a loop over ten thousand items has as many.
const SHARED: usize = 10_000;
/// Columns of one text.
const TEXT: usize = 200;

/// How long something took.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimelineDuration {
    /// It has no length.
    Moment,
    /// In progress.
    Open,
    /// Milliseconds.
    Ms(u64),
    /// It will never end: the run was cut off.
    Never,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TimelineRow {
    pub at: Timestamp,
    pub duration: TimelineDuration,
    pub kind: EventKind,
    pub text: Arc<str>,
    pub severity: EventSeverity,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum TimelineKey {
    State(String),
    Call(CallId),
}

#[derive(Clone, Debug, Default)]
pub struct RunTimeline {
    rows: VecDeque<TimelineRow>,
    /// Rows before the first of `rows`.
    dropped_rows: u64,
    /// Row numbers of everything in progress.
    open_rows: HashMap<TimelineKey, u64>,
    texts: HashSet<Arc<str>>,
    /// When the first event came: times are shown from there.
    started_at: Option<Timestamp>,
}

impl RunTimeline {
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub fn dropped_count(&self) -> u64 {
        self.dropped_rows
    }

    pub fn row(&self, at: usize) -> Option<&TimelineRow> {
        self.rows.get(at)
    }

    pub fn start_time(&self) -> Timestamp {
        self.started_at.unwrap_or_default()
    }

    pub fn apply_event(&mut self, at: Timestamp, event: &RunEvent) {
        self.started_at.get_or_insert(at);
        match event {
            RunEvent::Returned { .. } | RunEvent::Finished { .. } => {
                self.close_all(at);
                self.add_moment(at, event);
            }
            RunEvent::StateEntered { state, .. } => {
                self.start_row(at, TimelineKey::State(state.clone()), event);
            }
            RunEvent::ModelCalled { call, .. }
            | RunEvent::SummaryCalled { call, .. }
            | RunEvent::ToolStarted { call, .. }
            | RunEvent::ApprovalAsked { call, .. }
            | RunEvent::PersonAsked { call, .. } => self.start_row(at, TimelineKey::Call(*call), event),
            RunEvent::Transitioned { from, .. } => self.end_row(at, &TimelineKey::State(from.clone()), false),
            RunEvent::Replied { call, .. }
            | RunEvent::ContextSummarized { call, .. }
            | RunEvent::ApprovalAnswered { call, .. }
            | RunEvent::PersonAnswered { call } => self.end_row(at, &TimelineKey::Call(*call), false),
            RunEvent::ModelFailed { call, .. } => self.end_row(at, &TimelineKey::Call(*call), true),
            RunEvent::ToolFinished { call, ok, .. } => self.end_row(at, &TimelineKey::Call(*call), !ok),
            RunEvent::Caught { state, target, .. } => {
                self.add_moment(at, event);
                if target.is_some() {
                    self.end_row(at, &TimelineKey::State(state.clone()), true);
                }
            }
            RunEvent::ChildFinished { state, workflow, .. } => {
                let parent = state.rfind('/').map_or("", |end| &state[..=end]);
                self.close_below(at, &format!("{parent}{workflow}/"));
            }
            RunEvent::BranchFinished { state, branch, error, .. } => {
                let dot = if branch.starts_with('[') { "" } else { "." };
                self.close_below(at, &format!("{state}{dot}{branch}/"));
                self.add_failure(at, event, error.is_none());
            }
            RunEvent::AgentEnded { state, agent, status, .. } => {
                self.close_below(at, &agent_prefix(state, agent));
                self.add_failure(at, event, *status == SpawnedAgentStatus::Completed);
            }
            RunEvent::Joined { state, .. } => {
                self.close_below(at, &format!("{state}["));
                self.close_below(at, &format!("{state}."));
            }
            RunEvent::Waiting { until, .. } => {
                let ms = u64::try_from(until.0.saturating_sub(at.0)).unwrap_or(0);
                self.push(at, &describe_event(at, event), TimelineDuration::Ms(ms));
            }
            RunEvent::RunStarted { .. }
            | RunEvent::Resumed { .. }
            | RunEvent::ModelRetry { .. }
            | RunEvent::ToolRefused { .. }
            | RunEvent::Retrying { .. }
            | RunEvent::SnapshotTaken { .. }
            | RunEvent::SnapshotFailed { .. }
            | RunEvent::Warning { .. }
            | RunEvent::BudgetWarning { .. } => self.add_moment(at, event),
            // what has no row of its own: parts of what has, and what other panes show
            _ => {}
        }
    }

    /// What went well shows in the rows of its states.
    fn add_failure(&mut self, at: Timestamp, event: &RunEvent, succeeded: bool) {
        if !succeeded {
            self.add_moment(at, event);
        }
    }

    fn add_moment(&mut self, at: Timestamp, event: &RunEvent) {
        self.push(at, &describe_event(at, event), TimelineDuration::Moment);
    }

    fn start_row(&mut self, at: Timestamp, key: TimelineKey, event: &RunEvent) {
        // what it is about is shown elsewhere
        let words = EventDescription { detail: "".into(), ..describe_event(at, event) };
        let number = self.push(at, &words, TimelineDuration::Open);
        self.open_rows.insert(key, number);
    }

    fn end_row(&mut self, at: Timestamp, key: &TimelineKey, bad: bool) {
        let Some(number) = self.open_rows.remove(key) else { return };
        self.finish_row(number, at, bad);
    }

    fn finish_row(&mut self, number: u64, at: Timestamp, bad: bool) {
        let place = number.checked_sub(self.dropped_rows).and_then(|place| usize::try_from(place).ok());
        if let Some(row) = place.and_then(|place| self.rows.get_mut(place)) {
            row.duration = TimelineDuration::Ms(u64::try_from(at.0.saturating_sub(row.at.0)).unwrap_or(0));
            if bad {
                row.severity = EventSeverity::Bad;
            }
        }
    }

    /// States whose path begins with this are over; checks only those in progress.
    fn close_below(&mut self, at: Timestamp, path: &str) {
        let inside = |key: &TimelineKey| matches!(key, TimelineKey::State(state) if state.starts_with(path));
        let ended: Vec<TimelineKey> = self.open_rows.keys().filter(|key| inside(key)).cloned().collect();
        ended.iter().for_each(|key| self.end_row(at, key, false));
    }

    /// The run has stopped: open states end now, and missing answers will not come.
    fn close_all(&mut self, at: Timestamp) {
        for (key, number) in std::mem::take(&mut self.open_rows) {
            match key {
                TimelineKey::State(_) => self.finish_row(number, at, false),
                TimelineKey::Call(_) => {
                    let place = number.checked_sub(self.dropped_rows).and_then(|at| usize::try_from(at).ok());
                    if let Some(row) = place.and_then(|place| self.rows.get_mut(place)) {
                        row.duration = TimelineDuration::Never;
                    }
                }
            }
        }
    }

    /// Returns the row's number, counted from the first of all.
    fn push(&mut self, at: Timestamp, words: &EventDescription<'_>, duration: TimelineDuration) -> u64 {
        let text = self.intern_text(&words.line());
        if self.rows.len() >= MOST {
            self.rows.pop_front();
            self.dropped_rows += 1;
        }
        let (kind, severity) = (words.kind, words.severity);
        self.rows.push_back(TimelineRow { at, duration, kind, text, severity });
        self.dropped_rows + self.rows.len() as u64 - 1
    }

    fn intern_text(&mut self, text: &str) -> Arc<str> {
        let line = one_line(text);
        let line = fit_to_columns(&line, TEXT);
        if let Some(known) = self.texts.get(&*line) {
            return Arc::clone(known);
        }
        if self.texts.len() >= SHARED {
            self.texts.clear();
        }
        let text: Arc<str> = Arc::from(&*line);
        self.texts.insert(Arc::clone(&text));
        text
    }
}
