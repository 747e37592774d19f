//! The state of one run on the screen, folded from its events.

use std::collections::{HashMap, HashSet, VecDeque};

use crate::agent_identity::AgentRoster;
use crate::text::one_line;
use synthdev_domain::context::ConversationSide;
use synthdev_domain::cost::{CostEntry, CostLedger, TokenUsage};
use synthdev_domain::ids::{CallId, RunId, Timestamp};
use synthdev_domain::model::is_same_model;
use synthdev_domain::workflow::Budget;
use synthdev_service::event_description::stop_location;
use synthdev_service::model_windows::ModelWindows;
use synthdev_service::run_events::RunEvent;
use synthdev_service::run_steering::{Breakpoint, BreakpointSet, UserQuestion};

mod agent_lines;
pub mod branch_tree;
pub mod common_data;
mod elapsed_time;
pub mod pane_data;
pub mod pause_answers;
pub mod run_costs;
pub mod run_graph;
pub mod run_times;
pub mod running_commands;
pub mod snapshot_facts;
pub mod state_visits;
pub mod state_work;
pub mod timeline;
pub mod token_rate;
pub mod tool_calls;

use pane_data::RunPaneData;
use pause_answers::OpenPauses;
use run_costs::RunCostView;
use run_times::RunTimes;
use snapshot_facts::SnapshotFacts;
use state_work::StateWork;

/// An agent that has answered.
#[derive(Clone, PartialEq, Debug)]
pub struct AgentLine {
    pub name: String,
    pub side: ConversationSide,
    pub model: String,
    pub usage: TokenUsage,
    /// The requested model, if another one has answered.
    pub requested_model: Option<String>,
    pub activity: AgentActivity,
}

/// What an agent does now.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum AgentActivity {
    #[default]
    Nothing,
    Thinks,
    Writes,
    /// A tool.
    Runs(String),
    /// Waits for the user's approval of the tool.
    WaitsFor(String),
}

/// The agent of a model call.
#[derive(Clone, PartialEq, Debug)]
pub struct CallSpeaker {
    pub agent: String,
    pub side: ConversationSide,
    pub model: String,
    /// Path name of the state.
    pub state: String,
    /// The role in the event; empty in older runs.
    pub role: String,
    /// No server answers: what it calls its model is no other model than was asked for.
    pub is_scripted: bool,
}

/// A branch or item that runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BranchLine {
    /// Path name of the state that forked.
    pub owner: String,
    /// `alpha`, `[3]`
    pub name: String,
}

impl BranchLine {
    pub fn is_item(&self) -> bool {
        self.name.starts_with('[')
    }

    /// What the path names of its states begin with.
    pub fn state_prefix(&self) -> String {
        let dot = if self.is_item() { "" } else { "." };
        format!("{}{dot}{}/", self.owner, self.name)
    }
}

/// The line that replaces the entries before the first one on screen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EarlierEntries {
    /// Its position in the transcript.
    pub position: usize,
    /// The number of these entries.
    pub left_out_count: usize,
    /// They are being read.
    pub is_requested: bool,
}

/// A place where the run is stopped (`/break`, `/step`, `/pause`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoppedAt {
    pub call: CallId,
    /// Path name of the next state, or of the current one.
    pub state: String,
    /// Absent: step mode, or a pause.
    pub breakpoint: Option<Breakpoint>,
}

impl StoppedAt {
    /// `before review`, `at code: tool execute_terminal`, `interrupted in code`
    pub fn stop_location(&self) -> String {
        one_line(&stop_location(&self.state, self.breakpoint.as_ref()))
    }
}

/// A text that the run is asked to give back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MessageWithdrawal {
    pub text: String,
    /// It comes back to the input box; otherwise it is dropped.
    pub edit: bool,
}

/// States of the path that are kept; earlier ones are only counted.
const PATH: usize = 500;

#[derive(Clone, Debug)]
pub struct RunView {
    pub id: RunId,
    pub workflow: String,
    pub chat: bool,
    pub state: String,
    /// States in order of their visits.
    pub path: Vec<String>,
    pub agents: Vec<AgentLine>,
    /// What its agents look like.
    pub roster: AgentRoster,
    /// The budget of the whole run, with increases.
    pub budget: Budget,
    /// Of the whole run.
    pub ledger: CostLedger,
    /// The part of it from this session.
    pub session_costs: CostLedger,
    pub snapshot: Option<String>,
    /// What its snapshots say of its files.
    pub snapshot_facts: SnapshotFacts,
    /// What its present state does.
    pub state_work: StateWork,
    /// What its `pause` states ask.
    pub open_pauses: OpenPauses,
    /// It works in a worktree: what to say about it when it ends.
    pub worktree_note: Option<String>,
    /// The work in progress (`coder asks m-1`, `runs execute_terminal`); empty: none.
    pub activity: String,
    /// When it began: for the elapsed time.
    pub busy_since: Option<Timestamp>,
    /// Milliseconds of work before it was resumed.
    pub worked_ms: u64,
    /// What takes its time.
    pub times: RunTimes,
    /// Of its last event: when a process died is not known better.
    pub last_event_at: Timestamp,
    /// It has ended here, and can be resumed.
    pub is_paused: bool,
    /// The user left a question of it open.
    pub question_left_open: bool,
    /// The run waits for a text (`UserQuestion::Message`).
    pub awaiting_text: Option<CallId>,
    /// Texts for the run that wait for its next question.
    pub outbox: VecDeque<String>,
    /// Texts among these that the user is withdrawing, until the run confirms it.
    pub withdrawals: Vec<MessageWithdrawal>,
    /// The agent of the last call: name, seat, model.
    pub speaker: Option<CallSpeaker>,
    /// The agents whose text is streaming, by call: several may stream at once.
    pub speakers: HashMap<CallId, CallSpeaker>,
    /// What runs at the same time, in the order in which it began.
    pub branches: Vec<BranchLine>,
    /// Of its models, as far as they are known.
    pub windows: ModelWindows,
    /// What the last answered request took of its model's window.
    pub window_use: Option<WindowUse>,
    /// The screen was cleared: what it has shown so far is gone from there.
    pub was_cleared: bool,
    /// What of its past is not on screen.
    pub earlier_entries: Option<EarlierEntries>,
    /// Positions in the transcript of unfinished items.
    pub replies: HashMap<CallId, usize>,
    pub tools: HashMap<CallId, usize>,
    /// Calls that summarize a conversation: their text belongs to no agent.
    pub summarizing_calls: HashSet<CallId>,
    /// Calls that are retried, and the position of the note about it.
    pub retry: HashMap<CallId, usize>,
    /// Where it is stopped, in the order of the stops.
    pub stopped_at: Vec<StoppedAt>,
    /// Where it will.
    pub breakpoints: BreakpointSet,
    /// `/pause` was given, and the run has not stopped for it yet.
    pub is_pause_requested: bool,
    /// Esc was pressed, and the run has not stopped yet.
    pub is_interrupting: bool,
    /// The user has cancelled it; a workflow cannot be resumed then.
    pub is_cancelling: bool,
    pub is_over: bool,
    /// What the panes show of it.
    pub pane_data: RunPaneData,
}

/// A request with its answer, in the window of its model.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WindowUse {
    pub model: String,
    pub tokens: u64,
}

/// The agent that a model answered as, and the model.
#[derive(Clone, Copy)]
pub struct ReplySpeaker<'a> {
    pub agent: &'a str,
    pub side: ConversationSide,
    pub model: &'a str,
}

/// What a call used.
#[derive(Clone, Copy)]
pub struct CallCost {
    pub usage: TokenUsage,
    pub cost_usd: Option<f64>,
    pub estimated: bool,
}

impl RunView {
    pub fn new(id: RunId, workflow: &str, chat: bool) -> Self {
        Self {
            id,
            workflow: workflow.to_owned(),
            chat,
            state: String::new(),
            path: Vec::new(),
            agents: Vec::new(),
            roster: AgentRoster::default(),
            ledger: CostLedger::default(),
            budget: Budget::default(),
            session_costs: CostLedger::default(),
            snapshot: None,
            snapshot_facts: SnapshotFacts::default(),
            state_work: StateWork::default(),
            open_pauses: OpenPauses::default(),
            worktree_note: None,
            activity: String::new(),
            busy_since: None,
            worked_ms: 0,
            times: RunTimes::default(),
            last_event_at: Timestamp::default(),
            is_paused: false,
            question_left_open: false,
            awaiting_text: None,
            outbox: VecDeque::new(),
            withdrawals: Vec::new(),
            speaker: None,
            speakers: HashMap::new(),
            branches: Vec::new(),
            windows: ModelWindows::new(),
            window_use: None,
            was_cleared: false,
            earlier_entries: None,
            replies: HashMap::new(),
            summarizing_calls: HashSet::new(),
            tools: HashMap::new(),
            retry: HashMap::new(),
            stopped_at: Vec::new(),
            breakpoints: BreakpointSet::default(),
            is_pause_requested: false,
            is_interrupting: false,
            is_cancelling: false,
            is_over: false,
            pane_data: RunPaneData::default(),
        }
    }

    /// Takes an event into what the panes show; what else it means is for `update` to say.
    pub fn apply_event(&mut self, at: Timestamp, event: &RunEvent) {
        self.pane_data.apply_event(at, event);
        self.times.apply_event(at, event);
        self.note_agent(event);
        self.state_work.apply_event(event);
        self.open_pauses.apply_event(event);
        let doing = match event {
            RunEvent::ModelCalled { agent, side, .. } => {
                self.agent_mut(&one_line(agent), *side);
                Some((one_line(agent), AgentActivity::Thinks))
            }
            RunEvent::Delta { call, .. } => {
                let speaker = self.speakers.get(call).filter(|_| !self.summarizing_calls.contains(call));
                let thinks = |name: &String| {
                    self.agents
                        .iter()
                        .any(|agent| agent.name == *name && agent.activity == AgentActivity::Thinks)
                };
                speaker
                    .map(|speaker| &speaker.agent)
                    .filter(|name| thinks(name))
                    .map(|name| (name.clone(), AgentActivity::Writes))
            }
            RunEvent::Replied { agent, .. }
            | RunEvent::ModelFailed { agent, .. }
            | RunEvent::ModelStopped { agent, .. }
            | RunEvent::ToolFinished { agent, .. }
            | RunEvent::ToolRefused { agent, .. } => Some((one_line(agent), AgentActivity::Nothing)),
            RunEvent::ToolStarted { agent, tool, .. } => {
                Some((one_line(agent), AgentActivity::Runs(one_line(tool))))
            }
            RunEvent::ApprovalAsked { agent, tool, .. } => {
                Some((one_line(agent), AgentActivity::WaitsFor(one_line(tool))))
            }
            RunEvent::Finished { .. } => {
                self.set_agents_idle();
                None
            }
            // an agent that was interrupted before any usage gets no event of its own
            RunEvent::PersonAsked {
                question: UserQuestion::Break { point: Some(Breakpoint::Now), .. },
                ..
            } if self.branches.is_empty() => {
                self.set_agents_idle();
                None
            }
            _ => None,
        };
        if let Some((name, doing)) = doing
            && let Some(agent) = self.agents.iter_mut().find(|agent| agent.name == name)
        {
            agent.activity = doing;
            self.pane_data.agents += 1;
        }
    }

    /// What its calls cost is known from elsewhere.
    pub fn set_ledger(&mut self, ledger: CostLedger) {
        self.pane_data.run_costs = RunCostView::from_entries(ledger.entries.iter());
        self.pane_data.agents += 1;
        self.ledger = ledger;
    }

    /// Replaces the lines of a long past by their sums.
    pub fn collapse_ledger(&mut self) {
        if self.ledger.entries.len() > 1 {
            let (usage, cost_usd) = (self.ledger.usage(), self.ledger.cost_usd());
            self.ledger =
                CostLedger { entries: vec![CostEntry { usage, cost_usd, ..CostEntry::default() }].into() };
        }
    }

    /// A hard end of the run's budget was moved.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "amounts are positive and small"
    )]
    pub fn raise_budget(&mut self, what: &str, hard: f64) {
        match what {
            "cost_usd" => self.budget.cost_usd.hard = Some(hard),
            "duration" => self.budget.duration_ms.hard = Some(hard as u64),
            _ => self.budget.tokens.hard = Some(hard as u64),
        }
    }

    /// Positions of what still grows count from elsewhere; `None`: it is not shown there.
    pub fn remap_positions(&mut self, to: impl Fn(usize) -> Option<usize>) {
        for places in [&mut self.replies, &mut self.tools, &mut self.retry] {
            *places = places.drain().filter_map(|(call, at)| Some((call, to(at)?))).collect();
        }
        self.earlier_entries = self
            .earlier_entries
            .take()
            .and_then(|earlier| Some(EarlierEntries { position: to(earlier.position)?, ..earlier }));
    }

    /// A call was answered: what it took of the window of the model that was asked. Call before its speaker is gone.
    pub fn record_window_use(&mut self, call: CallId, usage: &TokenUsage) {
        if let Some(speaker) = self.speakers.get(&call).filter(|_| usage.prompt > 0) {
            self.window_use = Some(WindowUse { model: speaker.model.clone(), tokens: usage.total() });
        }
    }

    /// The conversation takes so many tokens less from now on.
    pub fn reduce_window_use(&mut self, saved_tokens: u64) {
        if let Some(used) = &mut self.window_use {
            used.tokens = used.tokens.saturating_sub(saved_tokens);
        }
    }

    /// Tokens that are used of the window, and all of it; `None`: nothing was asked yet, or the window is not known.
    pub fn window_fill(&self) -> Option<(u64, u64)> {
        let used = self.window_use.as_ref()?;
        self.windows.get(&used.model).filter(|window| **window > 0).map(|window| (used.tokens, *window))
    }

    /// Adds a state to the path.
    pub fn add_to_path(&mut self, state: &str) {
        if self.path.len() >= 2 * PATH {
            self.path.drain(..PATH);
        }
        self.path.push(state.to_owned());
    }

    /// The branch that a state belongs to, the innermost one.
    pub fn branch_for_state(&self, state: &str) -> Option<&BranchLine> {
        self.branches
            .iter()
            .filter(|line| state.starts_with(&line.state_prefix()))
            .max_by_key(|line| line.owner.len())
    }

    /// `3 branches`, `8 items`; `None` while there is only one branch.
    pub fn concurrency_label(&self) -> Option<String> {
        let items = self.branches.iter().filter(|line| line.is_item()).count();
        match (self.branches.len(), items) {
            (0 | 1, _) => None,
            (all, items) if items == all => Some(format!("{all} items")),
            (all, _) => Some(format!("{all} branches")),
        }
    }

    /// It is stopped, and no agent works.
    pub fn is_stopped(&self) -> bool {
        !self.is_over && !self.stopped_at.is_empty() && !self.agents_work()
    }

    /// The user has interrupted an agent, which waits for guidance.
    pub fn is_interrupted(&self) -> bool {
        self.stopped_at.iter().any(|stand| stand.breakpoint == Some(Breakpoint::Now))
    }

    /// An agent, a model or a tool is at work.
    pub fn is_working(&self) -> bool {
        self.agents_work() || !self.speakers.is_empty() || !self.tools.is_empty()
    }

    fn agents_work(&self) -> bool {
        self.agents
            .iter()
            .any(|agent| !matches!(agent.activity, AgentActivity::Nothing | AgentActivity::WaitsFor(_)))
    }

    /// Work is in progress that the user may want to stop.
    pub fn is_busy(&self) -> bool {
        !self.is_over && self.awaiting_text.is_none()
    }

    /// Adds what a call used to its agent and its state.
    pub fn charge_call(&mut self, call: CallId, speaker: ReplySpeaker<'_>, cost: CallCost) {
        let ReplySpeaker { agent, side, model } = speaker;
        let CallCost { usage, cost_usd, estimated } = cost;
        let speaker = self.speakers.get(&call);
        let state = speaker.map_or(&self.state, |speaker| &speaker.state).clone();
        let role = speaker.map(|speaker| speaker.role.clone()).unwrap_or_default();
        let asked = speaker.filter(|speaker| !speaker.is_scripted).map(|speaker| speaker.model.clone());
        let line = self.agent_mut(agent, side);
        line.requested_model = asked.filter(|asked| !is_same_model(asked, model));
        model.clone_into(&mut line.model);
        line.usage.add(&usage);
        let (agent, model, at) = (agent.to_owned(), model.to_owned(), self.last_event_at);
        let entry = CostEntry { agent, role, state, model, usage, cost_usd, at, estimated };
        self.pane_data.run_costs.add_entry(&entry);
        self.pane_data.agents += 1;
        self.session_costs.entries.push(&entry);
        self.ledger.entries.push(&entry);
    }

    /// Adds what a call used of which no answer came.
    pub fn charge_all(&mut self, call: CallId, spent: &[CostEntry]) {
        let side = self.speakers.get(&call).map_or(ConversationSide::Assistant, |speaker| speaker.side);
        for entry in spent {
            let (agent, model) = (one_line(&entry.agent), one_line(&entry.model));
            let CostEntry { usage, cost_usd, estimated, .. } = *entry;
            let cost = CallCost { usage, cost_usd, estimated };
            self.charge_call(call, ReplySpeaker { agent: &agent, side, model: &model }, cost);
        }
    }
}
