//! What happened when in a run, and how long it took: one short row an event, folded as events come, and a chart of the
//! calls and waits of each agent.
//!
//! Owns at most `MOST` rows; earlier ones are only counted, and stay in the chart. Refuses texts of messages and results:
//! other panes have them, and a page of one call.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use super::branch_tree::agent_prefix;
use crate::text::{fit_to_columns, one_line};
use chart_clock::ChartClock;
pub use rows::{BarKind, BarMark, StateSpan, TimelineBar, TimelineDuration, TimelineRow};
use rows::{BarStart, RowEnd};
use synthdev_domain::agent_team::SpawnedAgentStatus;
use synthdev_domain::ids::{CallId, Timestamp};
use synthdev_domain::tool::ASKED_BY;
use synthdev_service::event_description::{EventDescription, EventSeverity, describe_event};
use synthdev_service::run_events::RunEvent;
use synthdev_service::run_steering::{Breakpoint, UserQuestion};
use tracks::{TimelineTrack, TimelineTracks};

pub mod bar_choice;
pub mod busy_buckets;
pub mod chart_clock;
mod rows;
pub mod tracks;

/// Rows that are kept.
pub const MOST: usize = 20_000;
/// Visits of states that are kept for the chart.
const MOST_STATES: usize = 20_000;
/// Different texts that are shared; a loop over ten thousand items has as many.
const SHARED: usize = 10_000;
/// Columns of one text.
const TEXT: usize = 200;
/// The row of questions that no agent asks.
const USER_TRACK: &str = "you";

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum TimelineKey {
    State(String),
    Wait(String),
    Call(CallId),
    /// Of a tool that runs, about the network or the sandbox.
    ToolQuestion(CallId),
}

/// What is in progress.
#[derive(Clone, PartialEq, Debug)]
struct OpenRow {
    number: u64,
    /// When it began.
    at: Timestamp,
    bar: Option<TimelineBar>,
    /// Path name of its state, if known.
    state: String,
}

#[derive(Clone, PartialEq, Debug, Default)]
pub struct RunTimeline {
    rows: VecDeque<TimelineRow>,
    /// Rows before the first of `rows`.
    dropped_rows: u64,
    open_rows: HashMap<TimelineKey, OpenRow>,
    texts: HashSet<Arc<str>>,
    clock: ChartClock,
    tracks: TimelineTracks,
    states: Vec<StateSpan>,
    /// Model and tool calls in progress.
    working_count: usize,
    is_over: bool,
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
        self.clock.started_at()
    }

    pub fn clock(&self) -> &ChartClock {
        &self.clock
    }

    pub fn tracks(&self) -> &[TimelineTrack] {
        self.tracks.as_slice()
    }

    /// Visits of the states of the workflow itself, in order.
    pub fn states(&self) -> &[StateSpan] {
        &self.states
    }

    /// Bars in progress.
    pub fn open_bars(&self) -> impl Iterator<Item = &TimelineBar> {
        self.open_rows.values().filter_map(|open| open.bar.as_ref())
    }

    /// It grows with the time.
    pub fn is_live(&self) -> bool {
        !self.is_over
    }

    /// The end of the chart.
    pub fn now_ms(&self, now: Timestamp) -> u64 {
        if self.is_over { self.clock.last_ms() } else { self.clock.now_ms(now, self.working_count > 0) }
    }

    /// The run was read from its journal and is driven by no process: what is open has been cut off.
    pub fn end_cut_off(&mut self) {
        let at = self.clock.last_at();
        self.cut_off(at, |_, _| true);
        self.is_over = true;
    }

    pub fn apply_event(&mut self, at: Timestamp, event: &RunEvent) {
        if matches!(event, RunEvent::Resumed { .. }) {
            // its process was gone: what it did is not known any longer than until its last event
            let last = self.clock.last_at();
            self.cut_off(last, |key, _| !matches!(key, TimelineKey::State(_)));
        }
        self.clock.advance(at, self.working_count > 0);
        self.is_over = false;
        if !(self.begin_call(at, event) || self.end_call(at, event) || self.apply_branch(at, event)) {
            self.apply_state(at, event);
        }
    }

    /// A call or a question begins.
    fn begin_call(&mut self, at: Timestamp, event: &RunEvent) -> bool {
        let (key, start) = match event {
            RunEvent::ModelCalled { call, state, agent, .. } => {
                let track = self.tracks.track_of_agent(state, agent, "");
                self.tracks.begin_model_call(track, state);
                (TimelineKey::Call(*call), BarStart::new(track, BarKind::ModelCall, *call, state))
            }
            RunEvent::SummaryCalled { call, agent, .. } => {
                let track = self.tracks.track_of_name(agent);
                let track = track.unwrap_or_else(|| self.tracks.track_of_agent("", agent, ""));
                (TimelineKey::Call(*call), BarStart::new(track, BarKind::ModelCall, *call, ""))
            }
            RunEvent::ToolStarted { call, agent, tool, arguments } => {
                let (track, state) = self.tracks.track_of_tool(agent, tool, arguments, agent == ASKED_BY);
                (TimelineKey::Call(*call), BarStart::new(track, BarKind::ToolCall, *call, &state))
            }
            RunEvent::ApprovalAsked { call, state, agent, .. } => {
                let track = match self.tracks.track_of_name(agent).filter(|_| state.is_empty()) {
                    Some(track) => track,
                    None if agent == ASKED_BY => self.tracks.track_of_agent(state, "", "workflow"),
                    None => self.tracks.track_of_agent(state, agent, ""),
                };
                (TimelineKey::Call(*call), BarStart::new(track, BarKind::UserWait, *call, state))
            }
            RunEvent::NetworkAsked { call, agent, .. } | RunEvent::UnsandboxedAsked { call, agent, .. } => {
                let track = self.tracks.track_of_name(agent);
                let track = track.unwrap_or_else(|| self.tracks.track_of_agent("", "", USER_TRACK));
                (TimelineKey::ToolQuestion(*call), BarStart::new(track, BarKind::UserWait, *call, ""))
            }
            RunEvent::PersonAsked { call, question } => {
                if let UserQuestion::Break { state, point: Some(Breakpoint::Now) } = question {
                    self.cut_off_interrupted(at, state);
                }
                let track = self.tracks.track_of_agent("", "", USER_TRACK);
                (TimelineKey::Call(*call), BarStart::new(track, BarKind::UserWait, *call, ""))
            }
            _ => return false,
        };
        self.start_bar(at, key, start, event);
        true
    }

    /// A call or a question ends.
    fn end_call(&mut self, at: Timestamp, event: &RunEvent) -> bool {
        let (call, end) = match event {
            RunEvent::Replied { call, agent, tool_calls, usage, cost_usd, .. } => {
                let key = TimelineKey::Call(*call);
                let track = self.open_rows.get(&key).and_then(|open| open.bar.as_ref()).map(|bar| bar.track);
                if let Some(track) = track.filter(|_| !tool_calls.is_empty()) {
                    self.tracks.expect_tools(track, agent, tool_calls);
                }
                (call, RowEnd::answered(usage, *cost_usd))
            }
            RunEvent::ContextSummarized { call, usage, cost_usd, .. } => {
                (call, RowEnd::answered(usage, *cost_usd))
            }
            RunEvent::ApprovalAnswered { call, .. } | RunEvent::PersonAnswered { call, .. } => {
                self.end_row(at, &TimelineKey::ToolQuestion(*call), RowEnd::default());
                (call, RowEnd::default())
            }
            RunEvent::ModelFailed { call, spent, .. } => {
                (call, RowEnd { has_failed: true, ..RowEnd::of_entries(spent) })
            }
            RunEvent::ModelStopped { call, spent, .. } => {
                (call, RowEnd { is_cut_off: true, ..RowEnd::of_entries(spent) })
            }
            RunEvent::ToolFinished { call, ok, .. } => {
                self.end_row(at, &TimelineKey::ToolQuestion(*call), RowEnd::default());
                (call, RowEnd { has_failed: !ok, ..RowEnd::default() })
            }
            _ => return false,
        };
        self.end_row(at, &TimelineKey::Call(*call), end);
        true
    }

    /// Branches, called workflows and started agents.
    fn apply_branch(&mut self, at: Timestamp, event: &RunEvent) -> bool {
        match event {
            RunEvent::BranchStarted { state, branch, .. } => {
                self.tracks.open_scope(branch_prefix(state, branch));
            }
            RunEvent::ChildFinished { state, workflow, .. } => {
                let parent = state.rfind('/').map_or("", |end| &state[..=end]);
                self.close_below(at, &format!("{parent}{workflow}/"));
            }
            RunEvent::BranchFinished { state, branch, error, .. } => {
                let prefix = branch_prefix(state, branch);
                self.close_below(at, &prefix);
                self.tracks.close_scope(&prefix);
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
            _ => return false,
        }
        true
    }

    /// States, and everything that has no length.
    fn apply_state(&mut self, at: Timestamp, event: &RunEvent) {
        match event {
            RunEvent::Rewound { .. } | RunEvent::Finished { .. } => {
                self.close_all(at);
                self.add_moment(at, event);
                self.is_over = matches!(event, RunEvent::Finished { .. });
            }
            RunEvent::StateEntered { state, .. } => {
                self.tracks.enter_state(state);
                self.enter_root_state(state);
                self.start_row(at, TimelineKey::State(state.clone()), None, event);
            }
            RunEvent::Transitioned { from, .. } => self.leave_state(at, from, false),
            RunEvent::Caught { state, target, .. } => {
                self.add_moment(at, event);
                if target.is_some() {
                    self.leave_state(at, state, true);
                }
            }
            RunEvent::Waiting { state, .. } => {
                let track = self.tracks.track_of_agent(state, "", "waits");
                let start = BarStart { track, kind: BarKind::OtherWait, call: None, state: state.clone() };
                self.start_bar(at, TimelineKey::Wait(state.clone()), start, event);
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
        self.push(at, &describe_event(at, event), TimelineDuration::Moment, None);
    }

    fn enter_root_state(&mut self, state: &str) {
        if state.contains('/') || self.states.len() >= MOST_STATES {
            return;
        }
        let name = self.intern_text(state);
        self.states.push(StateSpan { start_ms: self.clock.last_ms(), name });
    }

    /// Its calls have no answer any more: a time limit has ended them.
    fn leave_state(&mut self, at: Timestamp, state: &str, has_failed: bool) {
        self.end_row(at, &TimelineKey::Wait(state.to_owned()), RowEnd::default());
        self.cut_off(at, |key, open| matches!(key, TimelineKey::Call(_)) && open.state == state);
        self.end_row(at, &TimelineKey::State(state.to_owned()), RowEnd { has_failed, ..RowEnd::default() });
    }

    fn start_bar(&mut self, at: Timestamp, key: TimelineKey, start: BarStart, event: &RunEvent) {
        self.working_count += usize::from(start.kind.is_work());
        let bar = TimelineBar {
            track: start.track,
            kind: start.kind,
            start_ms: self.clock.last_ms(),
            end_ms: None,
            call: start.call,
            tokens: 0,
            cost_usd: None,
        };
        self.start_row(at, key, Some((bar, start.state)), event);
    }

    fn start_row(
        &mut self,
        at: Timestamp,
        key: TimelineKey,
        bar: Option<(TimelineBar, String)>,
        event: &RunEvent,
    ) {
        // a call that is made again: the first one has no answer
        self.end_row(at, &key, RowEnd { is_cut_off: true, ..RowEnd::default() });
        // what it is about is shown elsewhere
        let words = EventDescription { detail: "".into(), ..describe_event(at, event) };
        let (bar, state) = bar.map_or((None, String::new()), |(bar, state)| (Some(bar), state));
        let number = self.push(at, &words, TimelineDuration::Open, bar.clone());
        if let (RunEvent::StateEntered { step, .. }, Some(row)) = (event, self.rows.back_mut()) {
            row.step = Some(*step);
        }
        self.open_rows.insert(key, OpenRow { number, at, bar, state });
    }

    fn end_row(&mut self, at: Timestamp, key: &TimelineKey, end: RowEnd) {
        let Some(open) = self.open_rows.remove(key) else { return };
        let took = u64::try_from(at.0.saturating_sub(open.at.0)).unwrap_or(0);
        let end_ms = self.clock.last_ms();
        if let Some(bar) = &open.bar {
            self.working_count -= usize::from(bar.kind.is_work()).min(self.working_count);
            if let Some(track) = self.tracks.get_mut(bar.track) {
                track.add_bar(bar.kind, bar.start_ms, end_ms, end.mark());
            }
        }
        let place = open.number.checked_sub(self.dropped_rows).and_then(|place| usize::try_from(place).ok());
        let Some(row) = place.and_then(|place| self.rows.get_mut(place)) else { return };
        row.duration =
            if end.is_cut_off { TimelineDuration::CutOff(took) } else { TimelineDuration::Ms(took) };
        if end.has_failed {
            row.severity = EventSeverity::Bad;
        }
        if let Some(bar) = &mut row.bar {
            (bar.end_ms, bar.tokens, bar.cost_usd) = (Some(end_ms), end.tokens, end.cost_usd);
        }
    }

    /// States whose path begins with this are over, and their calls have no answer; checks only what is in progress.
    fn close_below(&mut self, at: Timestamp, path: &str) {
        self.cut_off(at, |key, open| matches!(key, TimelineKey::Call(_)) && open.state.starts_with(path));
        let is_inside = |key: &TimelineKey| match key {
            TimelineKey::State(state) | TimelineKey::Wait(state) => state.starts_with(path),
            TimelineKey::Call(_) | TimelineKey::ToolQuestion(_) => false,
        };
        let ended: Vec<TimelineKey> = self.open_rows.keys().filter(|key| is_inside(key)).cloned().collect();
        ended.iter().for_each(|key| self.end_row(at, key, RowEnd::default()));
    }

    /// The user has interrupted the run: a model call without any usage gets no event of its own.
    fn cut_off_interrupted(&mut self, at: Timestamp, state: &str) {
        let is_model = |open: &OpenRow| {
            open.bar.as_ref().is_some_and(|bar| bar.kind == BarKind::ModelCall)
                && (open.state == state || open.state.is_empty() || state.is_empty())
        };
        self.cut_off(at, |_, open| is_model(open));
    }

    fn cut_off(&mut self, at: Timestamp, is_meant: impl Fn(&TimelineKey, &OpenRow) -> bool) {
        let meant = self.open_rows.iter().filter(|(key, open)| is_meant(key, open));
        let mut ended: Vec<(u64, TimelineKey)> =
            meant.map(|(key, open)| (open.number, key.clone())).collect();
        // the marks of a row of the chart are in order
        ended.sort_by_key(|(number, _)| *number);
        for (_, key) in ended {
            let is_cut_off = !matches!(key, TimelineKey::State(_));
            self.end_row(at, &key, RowEnd { is_cut_off, ..RowEnd::default() });
        }
    }

    /// The run has stopped: open states end now, and missing answers will not come.
    fn close_all(&mut self, at: Timestamp) {
        self.cut_off(at, |_, _| true);
    }

    /// Returns the row's number, counted from the first of all.
    fn push(
        &mut self,
        at: Timestamp,
        words: &EventDescription<'_>,
        duration: TimelineDuration,
        bar: Option<TimelineBar>,
    ) -> u64 {
        let text = self.intern_text(&words.line());
        if self.rows.len() >= MOST {
            self.rows.pop_front();
            self.dropped_rows += 1;
        }
        let (kind, severity, step) = (words.kind, words.severity, None);
        self.rows.push_back(TimelineRow { at, duration, kind, text, severity, bar, step });
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

/// What the path names of the states of a branch begin with.
fn branch_prefix(state: &str, branch: &str) -> String {
    let dot = if branch.starts_with('[') { "" } else { "." };
    format!("{state}{dot}{branch}/")
}
