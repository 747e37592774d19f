//! What happened when in a run, and how long it took: one short row an event, folded as events come.
//!
//! Owns at most `MOST` rows; earlier ones are only counted. Refuses texts of messages and results: other panes have them.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use crate::text::{fit_to_columns, one_line};
use synthdev_domain::ids::{CallId, Timestamp};
use synthdev_domain::journal::RunStatus;
use synthdev_engine::effect::UserQuestion;
use synthdev_engine::event::RunEvent;

/// Rows that are kept.
pub const MOST: usize = 20_000;
/// Different texts that are shared; a loop over ten thousand items has as many.
const SHARED: usize = 10_000;
/// Columns of one text.
const TEXT: usize = 200;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimelineKind {
    State,
    Model,
    Tool,
    Question,
    Approval,
    Wait,
    Retry,
    Snapshot,
    Problem,
    Begin,
    End,
}

impl TimelineKind {
    pub fn word(self) -> &'static str {
        match self {
            Self::State => "state",
            Self::Model => "model",
            Self::Tool => "tool",
            Self::Question => "question",
            Self::Approval => "approval",
            Self::Wait => "wait",
            Self::Retry => "retry",
            Self::Snapshot => "snapshot",
            Self::Problem => "problem",
            Self::Begin => "run",
            Self::End => "run",
        }
    }
}

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
    pub kind: TimelineKind,
    pub text: Arc<str>,
    /// It failed or was refused.
    pub is_failed: bool,
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

    #[expect(clippy::too_many_lines, reason = "one arm for each event")]
    pub fn apply_event(&mut self, at: Timestamp, event: &RunEvent) {
        self.started_at.get_or_insert(at);
        match event {
            RunEvent::RunStarted { workflow, .. } => {
                self.add_moment(at, TimelineKind::Begin, &format!("{workflow} begins"));
            }
            RunEvent::Resumed { .. } => self.add_moment(at, TimelineKind::Begin, "taken up again"),
            RunEvent::Returned { step, state, .. } => {
                self.close_all(at);
                self.add_moment(at, TimelineKind::Begin, &format!("back before step {step}: {state}"));
            }
            RunEvent::Finished { status, error, .. } => {
                self.close_all(at);
                let why = error.as_ref().map(|error| format!(": {}", error.title)).unwrap_or_default();
                let bad = !matches!(status, RunStatus::Completed | RunStatus::Paused);
                self.push(
                    at,
                    TimelineKind::End,
                    &format!("{}{why}", status.as_str()),
                    TimelineDuration::Moment,
                    bad,
                );
            }
            RunEvent::StateEntered { state, visit, .. } => {
                let text = if *visit > 1 { format!("{state} ×{visit}") } else { state.clone() };
                self.start_row(at, TimelineKey::State(state.clone()), TimelineKind::State, &text);
            }
            RunEvent::Transitioned { from, .. } => self.end_row(at, &TimelineKey::State(from.clone()), false),
            RunEvent::Caught { state, error, target, .. } => {
                self.add_failed_moment(at, TimelineKind::Problem, &format!("{state}: {}", error.title));
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
                if let Some(error) = error {
                    let text = format!("{state}{dot}{branch}: {}", error.title);
                    self.add_failed_moment(at, TimelineKind::Problem, &text);
                }
            }
            RunEvent::Joined { state, .. } => {
                self.close_below(at, &format!("{state}["));
                self.close_below(at, &format!("{state}."));
            }
            RunEvent::ModelCalled { call, agent, model, .. } => {
                self.start_row(
                    at,
                    TimelineKey::Call(*call),
                    TimelineKind::Model,
                    &format!("{agent} asks {model}"),
                );
            }
            RunEvent::SummaryCalled { call, agent, context, .. } => {
                self.start_row(
                    at,
                    TimelineKey::Call(*call),
                    TimelineKind::Model,
                    &format!("{agent} sums up {context}"),
                );
            }
            RunEvent::Replied { call, .. } | RunEvent::ContextSummarized { call, .. } => {
                self.end_row(at, &TimelineKey::Call(*call), false);
            }
            RunEvent::ModelFailed { call, .. } => self.end_row(at, &TimelineKey::Call(*call), true),
            RunEvent::ModelRetry { agent, attempt, reason, .. } => {
                self.add_moment(at, TimelineKind::Retry, &format!("{agent}, attempt {attempt}: {reason}"));
            }
            RunEvent::ToolStarted { call, agent, tool, .. } => {
                self.start_row(at, TimelineKey::Call(*call), TimelineKind::Tool, &format!("{agent} {tool}"));
            }
            RunEvent::ToolFinished { call, ok, .. } => self.end_row(at, &TimelineKey::Call(*call), !ok),
            RunEvent::ToolRefused { agent, tool, reason } => {
                let text = format!("{agent} {tool} refused: {reason}");
                self.add_failed_moment(at, TimelineKind::Tool, &text);
            }
            RunEvent::ApprovalAsked { call, agent, tool, .. } => {
                self.start_row(
                    at,
                    TimelineKey::Call(*call),
                    TimelineKind::Approval,
                    &format!("{agent} {tool}"),
                );
            }
            RunEvent::PersonAsked { call, question } => {
                self.start_row(at, TimelineKey::Call(*call), TimelineKind::Question, question_text(question));
            }
            RunEvent::ApprovalAnswered { call, .. } | RunEvent::PersonAnswered { call } => {
                self.end_row(at, &TimelineKey::Call(*call), false);
            }
            RunEvent::Waiting { state, until } => {
                let ms = u64::try_from(until.0.saturating_sub(at.0)).unwrap_or(0);
                self.push(at, TimelineKind::Wait, state, TimelineDuration::Ms(ms), false);
            }
            RunEvent::Retrying { state, attempt, max_attempts, error, .. } => {
                let text = format!("{state}, attempt {attempt} of {max_attempts}: {}", error.title);
                self.add_moment(at, TimelineKind::Retry, &text);
            }
            RunEvent::SnapshotTaken { label, .. } => self.add_moment(at, TimelineKind::Snapshot, label),
            RunEvent::SnapshotFailed { reason } => {
                self.add_failed_moment(at, TimelineKind::Snapshot, &format!("none: {reason}"));
            }
            RunEvent::Warning { text, .. } => self.add_failed_moment(at, TimelineKind::Problem, text),
            RunEvent::BudgetWarning { scope, what, .. } => {
                let text = format!("budget of {scope}: {what}");
                self.add_failed_moment(at, TimelineKind::Problem, &text);
            }
            // what has no row of its own: parts of what has, and what other panes show
            RunEvent::DataChanged { .. }
            | RunEvent::ScriptLog { .. }
            | RunEvent::ChildStarted { .. }
            | RunEvent::Forked { .. }
            | RunEvent::BranchStarted { .. }
            | RunEvent::Stored { .. }
            | RunEvent::BudgetRaised { .. }
            | RunEvent::Breakpoints { .. }
            | RunEvent::Queued { .. }
            | RunEvent::Heard { .. }
            | RunEvent::TakenBack { .. }
            | RunEvent::MessageAdded { .. }
            | RunEvent::Delta { .. }
            | RunEvent::ModelStopped { .. }
            | RunEvent::Decided { .. }
            | RunEvent::NetworkAsked { .. }
            | RunEvent::UnsandboxedAsked { .. } => {}
        }
    }

    fn add_moment(&mut self, at: Timestamp, kind: TimelineKind, text: &str) {
        self.push(at, kind, text, TimelineDuration::Moment, false);
    }

    fn add_failed_moment(&mut self, at: Timestamp, kind: TimelineKind, text: &str) {
        self.push(at, kind, text, TimelineDuration::Moment, true);
    }

    fn start_row(&mut self, at: Timestamp, key: TimelineKey, kind: TimelineKind, text: &str) {
        let number = self.push(at, kind, text, TimelineDuration::Open, false);
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
            row.is_failed |= bad;
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
    fn push(
        &mut self,
        at: Timestamp,
        kind: TimelineKind,
        text: &str,
        took: TimelineDuration,
        bad: bool,
    ) -> u64 {
        let text = self.intern_text(text);
        if self.rows.len() >= MOST {
            self.rows.pop_front();
            self.dropped_rows += 1;
        }
        self.rows.push_back(TimelineRow { at, duration: took, kind, text, is_failed: bad });
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

fn question_text(question: &UserQuestion) -> &str {
    match question {
        UserQuestion::Message => "the next message",
        UserQuestion::Limit { .. } => "continue past a limit?",
        UserQuestion::NoSnapshot { .. } => "continue without a snapshot?",
        UserQuestion::Pause { state, .. } => state,
        UserQuestion::Failed { .. } => "try it again?",
        UserQuestion::Break { state, .. } => state,
        UserQuestion::Uncertain { tool, .. } => tool,
    }
}
