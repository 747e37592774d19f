//! All state of the screen. Changed by `update` only, read by `view`.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use ratatui::layout::Rect;

use crate::complete::{CompletionNames, CompletionPopup};
use crate::composer::InputComposer;
use crate::dialog::{DialogKind, QuestionDialog};
use crate::editor::EditorScreen;
use crate::file_work::PendingFileWork;
use crate::history_browser::HistoryBrowser;
use crate::key_help::KeyHelp;
use crate::keymap::KeyBindings;
use crate::layout::{self, LayoutSlot, PaneKind, WIDE};
use crate::mouse_selection::MouseSelection;
use crate::msg::UiCommand;
use crate::notification::NotificationState;
use crate::pane::PaneSet;
use crate::past_run::OpeningRun;
use crate::resume_picker::ResumePicker;
use crate::run_view::RunView;
use crate::setup::SetupDialog;
use crate::shell_commands::UserShellCommands;
use crate::text::{display_width, fit_to_columns};
use crate::theme::ColorTheme;
use crate::transcript::TranscriptList;
use crate::transcript::item::TranscriptItem;
use crate::wait_clock::WaitClock;
use synthdev_domain::approval::AllowRule;
use synthdev_domain::cost::{CostLedger, TokenUsage};
use synthdev_domain::ids::{RunId, Timestamp};
use synthdev_domain::journal::RunStatus;
use synthdev_service::run_steering::{BreakpointSet, RunCommand};
use synthdev_service::session::{PendingStart, StartPreparation, StatusFacts};

/// What stands before the text takes at most such a part of the columns.
pub const PREFIX_PART: u16 = 4;

#[derive(Clone, Debug, Default)]
pub struct UiModel {
    pub size: (u16, u16),
    pub theme: ColorTheme,
    pub facts: StatusFacts,
    pub transcript: TranscriptList,
    pub composer: InputComposer,
    pub popup: Option<CompletionPopup>,
    pub names: CompletionNames,
    pub dialogs: VecDeque<QuestionDialog>,
    /// How many questions there were.
    pub question_count: u64,
    /// A model is being set up.
    pub setup: Option<SetupDialog>,
    /// How many such dialogs there were.
    pub setups: u64,
    /// A workflow or role is edited, or chosen for that.
    pub edit: Option<EditorScreen>,
    /// How often that was asked for.
    pub edits: u64,
    /// The history is looked at.
    pub history_browser: Option<Box<HistoryBrowser>>,
    /// What it has asked so far.
    pub history_query_count: u64,
    /// What `/resume` can mean, to choose from.
    pub resume_picker: Option<ResumePicker>,
    /// The same where lines come and go: the runs behind the printed numbers.
    pub resume_choices: Vec<RunId>,
    /// A run whose failed state is retried when it is resumed.
    pub retrying_run: Option<RunId>,
    /// A last line for the terminal.
    pub exit_line: Option<String>,
    pub runs: Vec<RunView>,
    /// The conversation that plain text goes to.
    pub chat: Option<RunId>,
    /// The workflow that runs.
    pub workflow: Option<RunId>,
    /// The workflow that ended last: the panes show it until something new begins.
    pub finished_run: Option<RunId>,
    /// A workflow or a conversation that begins when it is prepared.
    pub pending_start: Option<PendingStart>,
    /// A workflow that waits for its input: the next text starts it.
    pub workflow_awaiting_input: Option<String>,
    /// Texts that were typed while a workflow ran; they come back when it is over.
    pub queued: Vec<String>,
    /// The role or workflow that the last text of the user on screen was for.
    pub last_addressed: Option<String>,
    /// The user has talked to several roles: the input line names the one that a text goes to.
    pub names_addressee: bool,
    /// A text that no run has read is in the input box again.
    pub returned_text: Option<String>,
    /// Words that look like a shell command: sent again, they are meant as words.
    pub shell_like_text: Option<String>,
    /// Breakpoints of the next workflow that starts or is resumed.
    pub breakpoints: BreakpointSet,
    /// What needs no approval until the user leaves.
    pub allowed: BTreeSet<AllowRule>,
    /// Those of them that this session has written into the settings.
    pub written_rules: BTreeSet<AllowRule>,
    /// The run that was left or rewound last: the default of `/resume` without an id.
    pub last_left_run: Option<RunId>,
    /// A run that is being read, and resumed afterwards.
    pub opening_run: Option<OpeningRun>,
    /// A text whose files or resources are looked for before it is sent.
    pub looked_up_text: Option<String>,
    /// Texts that were typed after that one, which go behind it.
    pub later_texts: VecDeque<String>,
    /// Lines that were typed for a run before it was resumed.
    pub held_lines: Vec<String>,
    /// Runs that are being resumed, each with the commands that it gets once a driver has it.
    pub resuming_runs: BTreeMap<RunId, Vec<RunCommand>>,
    /// Workflows that were running when the user left: name and id.
    pub runs_left: Vec<(String, RunId)>,
    /// A conversation was open when the user left.
    pub chat_left: bool,
    /// The project is removed at the end.
    pub is_demo: bool,
    /// What waits for the answer to the trust question, in its order.
    pub start: Vec<UiCommand>,
    pub panel: bool,
    pub panes: PaneSet,
    /// The keys of what is focused are shown.
    pub key_help: Option<KeyHelp>,
    /// What is selected with the mouse, while its button is down.
    pub mouse_selection: Option<MouseSelection>,
    /// When the terminal's own window is told of what needs the user.
    pub notifications: NotificationState,
    pub keymap: KeyBindings,
    /// The terminal knows links (OSC 8).
    pub hyperlinks: bool,
    /// The background as the terminal reports it.
    pub terminal_background: TerminalBackground,
    /// Shell commands of the user.
    pub shell: UserShellCommands,
    /// The pending query to a model outside of the runs.
    pub side_query: Option<PendingSideQuery>,
    /// Files outside of a run that are copied or stored.
    pub file_work: Option<PendingFileWork>,
    /// How often some were.
    pub file_work_count: u64,
    /// How often a model was asked outside of the runs.
    pub side_query_count: u64,
    /// What that has cost.
    pub side_query_costs: CostLedger,
    /// No screen: lines come and go, for screen readers and pipes.
    pub line_mode: bool,
    /// The run that the panes show, if the user chose one.
    pub watched_run: Option<RunId>,
    /// The last run with output while several workflows run, and the transcript's length by then.
    pub last_speaking_run: Option<(RunId, usize)>,
    /// The mouse scrolls and chooses panes.
    pub mouse: bool,
    /// Reduced motion: nothing on screen moves by itself.
    pub reduced_motion: bool,
    pub details: bool,
    /// A line above the input that the next key removes.
    pub hint: Option<String>,
    /// The last key had no effect: what the last row says of it, until a key has one.
    pub unused_key_text: Option<String>,
    pub now: Timestamp,
    /// What is waited for, and since when.
    pub wait_clock: WaitClock,
    pub last_key: Option<Timestamp>,
    /// The last letter while no question was open: one that comes then takes no key for a moment.
    pub last_letter: Option<Timestamp>,
    /// When a model's command came into the empty input box: an Enter that was on its way then does not run it.
    pub suggestion_offered_at: Option<Timestamp>,
    /// A question went away with its run.
    pub withdrawn_dialog: Option<WithdrawnDialog>,
    pub last_interrupt: Option<Timestamp>,
    /// What Ctrl+C is stopping: when it has ended, another Ctrl+C is asked for anew.
    pub stopping_run: Option<RunId>,
    /// The whole screen is written again with the next frame: another program wrote across it.
    pub needs_repaint: bool,
    pub is_leaving: bool,
    /// The first notices wait for the answer about trust.
    pub start_facts_wait: bool,
}

/// A question that went away with its run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WithdrawnDialog {
    pub at: Timestamp,
    /// The user was typing the answer; the input box has it.
    pub draft: bool,
}

/// The background colour, as far as the terminal reports it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TerminalBackground {
    /// The theme goes by it.
    pub follow_background: bool,
    /// What it answered.
    pub is_light: Option<bool>,
}

/// A question to a model that belongs to no run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PendingSideQuery {
    pub number: u64,
    /// The work in progress, for the status line.
    pub activity_text: String,
    pub since: Timestamp,
    /// How far it is, the longest form first; empty: it is not known.
    pub progress_forms: Vec<String>,
}

impl UiModel {
    /// Starts a query outside of the runs; returns the number of its reply.
    pub fn start_side_query(&mut self, what: &str) -> u64 {
        self.side_query_count += 1;
        let (number, what, since) = (self.side_query_count, what.to_owned(), self.now);
        let progress_forms = Vec::new();
        self.side_query = Some(PendingSideQuery { number, activity_text: what, since, progress_forms });
        number
    }

    /// Ends the query. `false`: it was cancelled before.
    pub fn finish_side_query(&mut self, number: u64) -> bool {
        let waits = self.side_query.as_ref().is_some_and(|aside| aside.number == number);
        if waits {
            self.side_query = None;
        }
        waits
    }

    /// Uses the theme for the background that the terminal reported.
    pub fn use_background(&mut self) {
        if self.terminal_background.follow_background && self.terminal_background.is_light == Some(true) {
            self.theme = self.theme.on_light_background();
        }
    }

    pub fn new(facts: StatusFacts, theme: ColorTheme) -> Self {
        Self { facts, theme, panel: true, mouse: true, size: (80, 24), ..Self::default() }
    }

    pub fn add_item(&mut self, item: TranscriptItem) -> usize {
        self.transcript.push(item)
    }

    /// An answer that may be longer than the screen: read from its beginning.
    pub fn show_answer(&mut self, title: &str, text: &str) {
        let at = self.transcript.push(TranscriptItem::report_item(title, text));
        self.transcript.read_from(at);
    }

    pub fn add_items(&mut self, items: impl IntoIterator<Item = TranscriptItem>) {
        for item in items {
            self.add_item(item);
        }
    }

    pub fn find_run(&self, id: &RunId) -> Option<&RunView> {
        self.runs.iter().find(|run| run.id == *id)
    }

    pub fn run_mut(&mut self, id: &RunId) -> Option<&mut RunView> {
        self.runs.iter_mut().find(|run| run.id == *id)
    }

    /// The run whose facts the panel and the status line show: the workflow, else the one that has just ended, else the
    /// chat, else the last workflow. A conversation that the user has left is not shown, and no run that was over when the
    /// user cleared the screen.
    pub fn shown_run(&self) -> Option<&RunView> {
        let id = self.workflow.as_ref().or(self.finished_run.as_ref()).or(self.chat.as_ref());
        let is_shown = |run: &&RunView| !run.is_over || !run.chat && (run.is_paused || !run.was_cleared);
        id.and_then(|id| self.find_run(id)).or_else(|| self.runs.last().filter(is_shown))
    }

    /// The run that the panes show: the one that was chosen, else the one whose facts are shown.
    pub fn watched_run(&self) -> Option<&RunView> {
        self.watched_run.as_ref().and_then(|id| self.find_run(id)).or_else(|| self.shown_run())
    }

    /// The areas between the header and the input box.
    pub fn place_slots(&self, area: Rect) -> Vec<(LayoutSlot, Rect)> {
        let graph = self.watched_run().is_some_and(|run| !run.chat);
        layout::place_slots(area, self.panes.layout_request(self.panel, graph))
    }

    /// Panes that are on screen, whatever its height.
    pub fn on_screen(&self) -> Vec<PaneKind> {
        let (width, height) = self.size;
        let area = Rect { x: 0, y: 0, width, height };
        let pane = |slot| match slot {
            LayoutSlot::Pane(pane) => Some(pane),
            LayoutSlot::Digest => None,
        };
        self.place_slots(area).into_iter().filter_map(|(slot, _)| pane(slot)).collect()
    }

    /// There is no column beside the conversation at this width.
    pub fn is_narrow(&self) -> bool {
        self.size.0 < WIDE
    }

    /// Workflows that are not over.
    pub fn live_runs(&self) -> impl Iterator<Item = &RunView> {
        self.runs.iter().filter(|run| !run.is_over && !run.chat)
    }

    /// More than one workflow is live: output names its run.
    pub fn has_several_live_runs(&self) -> bool {
        self.live_runs().nth(1).is_some()
    }

    /// A new question, behind those that wait.
    pub fn push_question(&mut self, mut dialog: QuestionDialog) {
        self.question_count += 1;
        dialog.number = self.question_count;
        self.dialogs.push_back(dialog);
    }

    /// Which of how many the question in front is, in the order in which they were asked.
    pub fn question_position(&self) -> Option<(usize, usize)> {
        let here = self.dialogs.front()?.number;
        let before = self.dialogs.iter().filter(|dialog| dialog.number < here).count();
        Some((before + 1, self.dialogs.len()))
    }

    /// Runs whose questions wait.
    pub fn questions(&self) -> usize {
        self.dialogs.iter().filter(|dialog| dialog.run_id().is_some()).count()
    }

    /// The run that the user would stop: the workflow, else a chat that is answering.
    pub fn busy_run(&self) -> Option<&RunView> {
        let busy =
            |id: &Option<RunId>| id.as_ref().and_then(|id| self.find_run(id)).filter(|run| run.is_busy());
        busy(&self.workflow).or_else(|| busy(&self.chat))
    }

    /// `role:coder`, `workflow:coder_reviewer`.
    pub fn mode(&self) -> String {
        let front = self.workflow.as_ref().and_then(|id| self.find_run(id));
        // the next text is the input of the one that waits for it
        match (&self.workflow_awaiting_input, front) {
            (Some(name), _) => format!("workflow:{name}"),
            // the run that typed text is for
            (None, Some(run)) if self.has_several_live_runs() => {
                format!("workflow:{} {}", run.workflow, run.id)
            }
            (None, Some(run)) => format!("workflow:{}", run.workflow),
            (None, None) => format!("role:{}", self.facts.role),
        }
    }

    /// Totals of the session.
    pub fn usage(&self) -> TokenUsage {
        let mut total = TokenUsage::default();
        for run in &self.runs {
            total.add(&run.session_costs.usage());
        }
        total.add(&self.side_query_costs.usage());
        total
    }

    /// Dollars of the session; `None` as soon as one price is unknown.
    pub fn cost_usd(&self) -> Option<f64> {
        let runs = self.runs.iter().map(|run| run.session_costs.cost_usd());
        runs.chain([self.side_query_costs.cost_usd()]).sum()
    }

    /// Every model call of the session.
    pub fn ledger(&self) -> CostLedger {
        let runs = self.runs.iter().flat_map(|run| run.session_costs.entries.iter());
        CostLedger { entries: runs.chain(self.side_query_costs.entries.iter()).collect() }
    }

    /// The workflow in front, else the conversation, if it has not read every text yet.
    pub fn unread_run(&self) -> Option<&RunView> {
        let front = self.workflow.as_ref().or(self.chat.as_ref()).and_then(|id| self.find_run(id));
        front.filter(|run| !run.is_over && !run.outbox.is_empty())
    }

    /// What stands before the text in the input line.
    pub fn input_prefix(&self) -> String {
        let usual = self.composer.prefix();
        if !self.names_addressee || self.is_answer_written() {
            return usual.to_owned();
        }
        let front = self.workflow.as_ref().and_then(|id| self.find_run(id)).filter(|run| !run.is_over);
        let name = self.workflow_awaiting_input.as_ref().or_else(|| front.map(|run| &run.workflow));
        // its part of what the prefix may take
        let room = usize::from(self.size.0 / PREFIX_PART).saturating_sub(display_width(usual) + 1);
        format!("{} {usual}", fit_to_columns(name.unwrap_or(&self.facts.role), room))
    }

    /// What a text that is sent now is for: a run in front, else the conversation.
    pub fn text_reader(&self) -> String {
        let front = self.workflow.as_ref().and_then(|id| self.find_run(id));
        match front.filter(|run| !run.is_over) {
            Some(run) => run.workflow.clone(),
            None => format!("the conversation with {}", self.facts.role),
        }
    }

    /// The active workflow is stopped, so that continuing it needs no read.
    pub fn is_workflow_stopped(&self) -> bool {
        self.workflow
            .as_ref()
            .and_then(|id| self.find_run(id))
            .is_some_and(|run| !run.is_over && !run.stopped_at.is_empty())
    }

    /// What Esc is called: a line is typed for it where lines come and go.
    pub fn escape_word(&self) -> &'static str {
        if self.line_mode { "/esc" } else { "Esc" }
    }

    /// A page of the question in front; where all of it is on screen, of the conversation beside it.
    pub fn turn_question_page(&mut self, down: bool) {
        match self.dialogs.front_mut().filter(|dialog| dialog.has_overflow()) {
            Some(dialog) => dialog.turn_page(down),
            None if down => self.transcript.scroll_down(self.transcript.page_rows()),
            None => self.transcript.scroll_up(self.transcript.page_rows()),
        }
    }

    /// The question in front wants a text, which is typed into the input box.
    pub fn is_answer_written(&self) -> bool {
        self.dialogs.front().is_some_and(QuestionDialog::is_written)
    }

    /// The question on screen answers itself at some time.
    fn has_countdown(&self) -> bool {
        self.dialogs.front().is_some_and(|dialog| dialog.deadline.is_some())
    }

    /// The history is open and something that it shows works.
    fn history_moves(&self) -> bool {
        let Some(archive) = &self.history_browser else { return false };
        let open = archive.run.as_ref().is_some_and(|run| run.row.status == RunStatus::Running);
        open || archive.list.has_active_runs() || self.runs.iter().any(RunView::is_busy)
    }

    /// What it is called that nothing of a run goes on until the user acts; `None`: something does.
    fn standing_text(&self, run: &RunView) -> Option<&'static str> {
        let asks = || self.dialogs.iter().any(|dialog| dialog.run_id() == Some(&run.id));
        if run.is_stopped() {
            return Some("stopped");
        }
        (asks() && !run.is_working()).then_some("waits for you")
    }

    /// How long a workflow has run, for the screen: the longest form first. Without motion no time is shown that grows.
    pub fn live_time(&self, run: &RunView) -> Vec<String> {
        if self.reduced_motion { Vec::new() } else { run.live_time(self.now, self.standing_text(run)) }
    }

    /// What is waited for in front of the user, of which only the time is known.
    pub fn wait_text(&self) -> Option<String> {
        let setup = self.setup.as_ref().and_then(|setup| setup.waiting_for).map(str::to_owned);
        let history = || {
            let archive = self.history_browser.as_ref()?;
            archive.wait_text().or_else(|| archive.trend_wait_text())
        };
        let editor = || match &self.edit {
            Some(EditorScreen::Text(editor)) => editor.wait_text().map(str::to_owned),
            _ => None,
        };
        setup.or_else(history).or_else(editor).or_else(|| self.preparation_text())
    }

    /// What is waited for before a run begins or goes on.
    pub fn preparation_text(&self) -> Option<String> {
        // what begins waits for the answer
        if self.dialogs.front().is_some_and(|dialog| matches!(dialog.kind, DialogKind::Trust)) {
            return None;
        }
        if let Some(work) = self.file_work.as_ref().filter(|work| work.has_text()) {
            return work.wait_text();
        }
        if let Some(PendingStart { name, preparation, .. }) = &self.pending_start {
            return Some(match preparation {
                StartPreparation::Servers => format!("asking MCP servers for the tools of {name} …"),
                StartPreparation::Files => format!("copying the files for {name} …"),
                StartPreparation::Windows => format!("asking for the window of {name} …"),
                StartPreparation::Requirements => format!("checking what {name} requires …"),
            });
        }
        self.opening_run.as_ref().map(|opening| format!("reading run {} …", opening.run))
    }

    /// The text of a wait, with its time where something may move.
    pub fn with_wait_time(&self, text: &str) -> String {
        if self.reduced_motion { text.to_owned() } else { self.wait_clock.with_time(text, self.now) }
    }

    /// Work is in progress, so that the elapsed time on screen changes; or the history checks for changes. A run that
    /// only waits for the user needs no wake-up.
    pub fn needs_ticks(&self) -> bool {
        let moves = |run: &RunView| self.standing_text(run).is_none() || self.has_countdown();
        let waits = self.side_query.is_some() || self.wait_text().is_some();
        let works = waits || self.busy_run().is_some_and(moves);
        self.history_moves() || !self.reduced_motion && works
    }
}
