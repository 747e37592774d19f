//! The history in front of everything else: the list of runs, one of them with its steps, and a page of text over both.
//!
//! Owns what is looked at and what is waited for. Refuses: keys, drawing, and reading the past: a
//! `HistoryRequest` asks for it.

use serde_json::{Map, Value};

use crate::agent_identity::AgentRoster;
use crate::editor::prompt_guard::{PromptChoice, PromptKeyGuard};
use crate::pane::PaneSearch;
use crate::pane::shown_graph::ShownGraph;
use crate::run_view::timeline::RunTimeline;
use crate::run_view::timeline::bar_choice::BarStep;
use crate::text::{display_width, fit_to_columns, one_line};
use crate::text_field::TextField;
use crate::transcript::TranscriptList;
use crate::transcript::item::{ItemTone, TranscriptItem};
use synthdev_domain::ids::{CallId, RunId, Timestamp};
use synthdev_domain::journal::RunStatus;
use synthdev_service::run_steering::ControlAction;
use synthdev_service::session::TimeTravelRequest;

pub mod browsed_graph;
pub mod run_action;
pub mod run_comparison;
pub mod run_list;
pub mod step_list;
pub mod workflow_trend;

pub use browsed_graph::{BrowsedGraph, RunGraphFacts};
pub use run_action::RunAction;
pub use run_comparison::{RunComparison, RunComparisonView};
use run_list::in_view;
pub use run_list::{HistoryRunFilter, HistoryRunList, RunListCursor, RunRow};
use step_list::StepLine;
pub use workflow_trend::{TrendCache, WorkflowTrend};

/// The whole view. The topmost part has the keys: a question, a page, a run, the list.
#[derive(Clone, Debug, Default)]
pub struct HistoryBrowser {
    pub list: HistoryRunList,
    pub run: Option<Box<BrowsedRun>>,
    pub page: Option<Box<HistoryTextView>>,
    pub question: Option<HistoryPrompt>,
    pub pending_wait: Option<HistoryWait>,
    /// The result of the last key, or why it had none.
    pub status_note: Option<(ItemTone, String)>,
    /// Words that are looked for in a run or a page.
    pub search: Option<PaneSearch>,
    /// The first of two runs to compare.
    pub compare_with: Option<RunId>,
    /// Two runs side by side, in front of the list or the run.
    pub comparison: Option<Box<RunComparisonView>>,
    pub trends: TrendCache,
    /// The store's change counter as it was seen last, and whether it is being asked for.
    pub seen_changes: Option<u64>,
    pub count_requested: bool,
    /// When a key asked for it last.
    pub count_requested_at: Timestamp,
    /// It shows one page about a run on screen; there is no list behind it.
    pub is_single_page: bool,
}

/// A run that is looked at.
#[derive(Clone, Debug)]
pub struct BrowsedRun {
    pub row: RunRow,
    /// `None`: it is being read.
    pub details: Option<RunDetails>,
    /// The number under which it was asked for.
    pub pending_query: Option<u64>,
    /// When it was read again last.
    pub read_at: Timestamp,
    /// It was changed since, and is read again later.
    pub is_outdated: bool,
    pub cursor: usize,
    pub top_row: usize,
    /// Rows of steps on screen.
    pub height: usize,
    /// The row of the timeline whose bar is chosen; the arrow keys are for the chart then.
    pub chosen_bar: Option<usize>,
    /// What its agents look like.
    pub roster: AgentRoster,
    /// Its graph, over the steps.
    pub graph: Option<Box<BrowsedGraph>>,
    /// The number under which the graph on screen was asked for again.
    pub pending_graph: Option<u64>,
    /// The run has changed since the graph was asked for.
    pub is_graph_outdated: bool,
}

/// What is known of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct RunDetails {
    pub row: RunRow,
    /// Name and text, a line each.
    pub facts: Vec<(String, String)>,
    pub steps: Vec<StepLine>,
    pub timeline: RunTimeline,
    /// Of its workflow, in their order.
    pub agents: Vec<String>,
}

/// A text in front of the list or the run.
#[derive(Clone, Debug)]
pub struct HistoryTextView {
    pub title: String,
    pub text: TranscriptList,
    /// The step that it shows: its neighbours are a key away.
    pub step: Option<u32>,
    /// It says why this step was taken; so are its neighbours.
    pub explained_step: Option<u32>,
    /// The fork or rewound run that it tells of: Enter resumes it.
    pub resumable_run: Option<RunId>,
    /// For how long it takes no Enter after it has appeared.
    pub guard: PromptKeyGuard,
    /// All of it is on screen: a smaller one begins at its start.
    pub fits_screen: bool,
}

/// What the last line asks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HistoryPrompt {
    /// Other data for a new run: `name=value …`. `data`: what there is at that step, the answer to `query`; `None`: it is not
    /// known yet, or cannot be read.
    Fork { run: RunId, step: u32, typed_text: TextField, query: u64, data: Option<Map<String, Value>> },
    /// Where to.
    Export { run: RunId, typed_text: TextField },
    /// For good, after a yes.
    Cancel { run: RunId, choice: PromptChoice, guard: PromptKeyGuard },
    /// What would happen is on the page.
    Agree { travel: TimeTravelRequest, choice: PromptChoice, guard: PromptKeyGuard },
}

impl HistoryPrompt {
    /// For how long it takes no letters after it has appeared; `None`: it takes them at once.
    pub fn key_guard(&self) -> Option<PromptKeyGuard> {
        match self {
            Self::Agree { guard, .. } | Self::Cancel { guard, .. } => Some(*guard),
            Self::Fork { .. } | Self::Export { .. } => None,
        }
    }

    /// What letters have chosen.
    pub fn choice(&self) -> Option<PromptChoice> {
        match self {
            Self::Agree { choice, .. } | Self::Cancel { choice, .. } => Some(*choice),
            Self::Fork { .. } | Self::Export { .. } => None,
        }
    }

    /// For how long it takes no letters, to be changed.
    pub fn key_guard_mut(&mut self) -> Option<&mut PromptKeyGuard> {
        match self {
            Self::Agree { guard, .. } | Self::Cancel { guard, .. } => Some(guard),
            Self::Fork { .. } | Self::Export { .. } => None,
        }
    }
}

/// An answer that other keys wait for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HistoryWait {
    pub wait_kind: HistoryWaitKind,
    /// For the last line: `comparing`.
    pub label: String,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HistoryWaitKind {
    /// Under this number.
    Answer(u64),
    /// The effects of a rewind, an undo or a fork.
    Plan(TimeTravelRequest),
    Travel,
    /// The run is resumed, and the history closes.
    TakeUp(RunId),
}

/// What the history asks, as a `DisplayRequest`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HistoryRequest {
    /// Runs behind those that are known; the newest first.
    Page {
        filter: HistoryRunFilter,
        after_cursor: Option<RunListCursor>,
    },
    /// The store's change counter.
    Changes,
    /// The last runs of a workflow, in short.
    Trend {
        workflow: String,
    },
    /// `known_state`: how it was when it was read last; nothing is read again if it still is.
    Open {
        run: RunId,
        known_state: Option<(Timestamp, RunStatus)>,
    },
    Step {
        run: RunId,
        step: u32,
    },
    /// Where a run has been in its workflow.
    Graph {
        run: RunId,
    },
    Why {
        run: RunId,
        step: u32,
    },
    /// The data with which a fork before the step begins.
    Data {
        run: RunId,
        step: u32,
    },
    /// One call of a model or a tool, or a question, with all of its texts.
    Call {
        run: RunId,
        call: CallId,
    },
    Compare(RunId, RunId),
    Export {
        run: RunId,
        target_path: String,
    },
    /// Changes the run, wherever it is driven.
    Control {
        run: RunId,
        control: ControlAction,
    },
}

/// What it answers.
#[derive(Clone, Debug)]
pub enum HistoryResponse {
    Page(Result<HistoryRunPage, String>),
    Changes(Option<u64>),
    /// `None`: it is as it was.
    Opened(Result<Option<Box<RunDetails>>, String>),
    /// `None`: it cannot be read.
    Trend(Option<WorkflowTrend>),
    Graph(Result<Box<RunGraphFacts>, String>),
    Compared(Result<Box<RunComparison>, String>),
    Data(Result<Map<String, Value>, String>),
    /// A page of text.
    Text(Result<HistoryText, String>),
    /// What was done.
    Done(Result<String, String>),
}

#[derive(Clone, PartialEq, Debug)]
pub struct HistoryRunPage {
    pub rows: Vec<RunRow>,
    /// There are others behind them.
    pub has_more: bool,
    /// Now.
    pub at: Timestamp,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HistoryText {
    pub title: String,
    pub items: Vec<TranscriptItem>,
    pub step: Option<u32>,
    /// The step of which it says why it was taken.
    pub explained_step: Option<u32>,
}

/// Columns of a value: all of a longer one is on the page of the step.
const VALUE: usize = 40;

/// A variable as it can be typed; of a long value only the name.
pub fn fork_assignment(name: &str, value: &Value) -> String {
    let value = value.to_string();
    let is_short = display_width(&value) <= VALUE && one_line(&value) == value;
    format!("{name}={}", if is_short { value.as_str() } else { "" })
}

/// `limit=5 · plan="a b"`, each as it can be typed.
pub fn fork_data_text(data: &Map<String, Value>) -> String {
    if data.is_empty() {
        return "common_data is empty there".to_owned();
    }
    let value = |value: &Value| fit_to_columns(&one_line(&value.to_string()), VALUE).into_owned();
    let parts = data.iter().map(|(name, found)| format!("{}={}", one_line(name), value(found)));
    format!("there: {}", parts.collect::<Vec<_>>().join(" · "))
}

impl BrowsedRun {
    pub fn new(row: RunRow, asked: u64) -> Self {
        let (look, read_at) = (None, Timestamp::default());
        Self {
            row,
            details: look,
            pending_query: Some(asked),
            read_at,
            is_outdated: false,
            cursor: 0,
            top_row: 0,
            height: 0,
            chosen_bar: None,
            roster: AgentRoster::default(),
            graph: None,
            pending_graph: None,
            is_graph_outdated: false,
        }
    }

    pub fn timeline(&self) -> Option<&RunTimeline> {
        self.details.as_ref().map(|details| &details.timeline)
    }

    /// Its graph as it is drawn.
    pub fn shown_graph(&self) -> Option<ShownGraph<'_>> {
        let graph = self.graph.as_ref()?;
        Some(graph.shown(&self.roster, self.row.status != RunStatus::Running))
    }

    /// Shows the graph; what was seen of it before stays.
    pub fn show_graph(&mut self, facts: RunGraphFacts) {
        let seen = self.graph.take().map(|graph| graph.state);
        let graph = BrowsedGraph::new(facts, seen);
        self.roster.add_all(graph.agents().iter().map(String::as_str));
        self.graph = Some(Box::new(graph));
    }

    /// The call of the chosen bar.
    pub fn chosen_call(&self) -> Option<CallId> {
        self.timeline()?.bar(self.chosen_bar?)?.call
    }

    /// Chooses a bar of the chart; the first time the one nearest to the chosen step.
    pub fn choose_bar(&mut self, step: BarStep) {
        let Some(timeline) = self.timeline() else { return };
        self.chosen_bar = match (self.chosen_bar, self.steps().get(self.cursor)) {
            (Some(row), _) => timeline.bar_after_step(row, step),
            (None, Some(line)) => timeline.first_bar_from(line.at),
            (None, None) => timeline.nearest_bar(0),
        };
    }

    pub fn steps(&self) -> &[StepLine] {
        self.details.as_ref().map(|look| look.steps.as_slice()).unwrap_or_default()
    }

    /// The step under the cursor.
    pub fn selected_step(&self) -> Option<u32> {
        self.steps().get(self.cursor).map(|line| line.step)
    }

    pub fn select_row(&mut self, at: usize) {
        self.cursor = at.min(self.steps().len().saturating_sub(1));
        self.top_row = in_view(self.top_row, self.cursor, self.steps().len(), self.height);
    }

    /// It was read, or read again: the cursor stays on its step.
    pub fn set_details(&mut self, look: RunDetails) {
        let first = self.details.is_none();
        self.row = look.row.clone();
        self.roster.add_all(look.agents.iter().map(String::as_str));
        self.roster.add_all(look.timeline.tracks().iter().map(|track| track.agent.as_str()));
        let last = look.steps.len().saturating_sub(1);
        self.details = Some(look);
        self.pending_query = None;
        // what a failed or paused run is opened for is its end
        let bad = self.steps().last().is_some_and(|step| step.outcome().is_some());
        self.select_row(if first && bad { last } else { self.cursor });
    }
}

impl HistoryTextView {
    pub fn new(text: HistoryText) -> Self {
        let mut page = Self {
            title: text.title,
            text: TranscriptList::default(),
            step: text.step,
            explained_step: text.explained_step,
            resumable_run: None,
            guard: PromptKeyGuard::default(),
            fits_screen: true,
        };
        for item in text.items {
            page.text.push(item);
        }
        page.text.to_start();
        page
    }
}

impl HistoryBrowser {
    /// The run that is meant: the open one, else the one under the cursor.
    pub fn target_run(&self) -> Option<&RunRow> {
        self.run.as_ref().map(|run| &run.row).or_else(|| self.list.chosen_run())
    }

    /// The step that is meant: that of the page, else the one under the cursor.
    pub fn selected_step(&self) -> Option<u32> {
        let page = self.page.as_ref().and_then(|page| page.step.or(page.explained_step));
        page.or_else(|| self.run.as_ref().and_then(|run| run.selected_step()))
    }

    /// What was typed is done; until then it stays, to be corrected.
    pub fn close_typed_line(&mut self) {
        self.question
            .take_if(|open| matches!(open, HistoryPrompt::Fork { .. } | HistoryPrompt::Export { .. }));
    }

    /// What a fork can change. It stays away if it cannot be read: the fork itself says why then.
    pub fn show_fork_data(&mut self, number: u64, found: Result<Map<String, Value>, String>) {
        if let Some(HistoryPrompt::Fork { query, data, .. }) = &mut self.question
            && *query == number
            && let Ok(found) = found
        {
            *data = Some(found);
        }
    }

    pub fn show_error(&mut self, why: &str) {
        self.status_note = Some((ItemTone::Bad, why.trim_end().to_owned()));
    }

    pub fn show_note(&mut self, text: &str) {
        self.status_note = Some((ItemTone::Dim, text.to_owned()));
    }

    /// The graph in front of the steps of a run.
    pub fn front_graph(&mut self) -> Option<&mut BrowsedGraph> {
        let is_covered = self.page.is_some() || self.comparison.is_some();
        self.run.as_mut().filter(|_| !is_covered)?.graph.as_deref_mut()
    }

    /// What is read or done in front of the user.
    pub fn wait_text(&self) -> Option<String> {
        if let Some(wait) = &self.pending_wait {
            return Some(format!("{} …", wait.label));
        }
        let text = match &self.run {
            _ if self.page.is_some() || self.comparison.is_some() => None,
            Some(run) => run.details.is_none().then_some("reading …"),
            None => self.list.wait_text(),
        };
        text.map(str::to_owned)
    }

    /// What is said below the list while the last runs of the chosen workflow are read.
    pub fn trend_wait_text(&self) -> Option<String> {
        let is_list = self.page.is_none() && self.comparison.is_none() && self.run.is_none();
        let workflow = &self.list.chosen_run().filter(|_| is_list)?.workflow;
        let is_read = self.trends.pending.as_ref().is_some_and(|(_, pending)| pending == workflow);
        (is_read && self.trends.get(workflow).is_none())
            .then(|| format!("{workflow}: reading its last runs …"))
    }

    /// Whether it waits for this.
    pub fn waits_for(&self, what: &HistoryWaitKind) -> bool {
        self.pending_wait.as_ref().is_some_and(|wait| wait.wait_kind == *what)
    }
}
